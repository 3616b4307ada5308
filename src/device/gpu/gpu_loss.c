/* SPDX-License-Identifier: Apache-2.0
 * The output layer and its loss (loss.cl). Logits exist for a block of rows only, and the gradient
 * is made in the same pass. */
#include "device/gpu/gpu.h"

#include <math.h>

enum {
    LOGITS_AT_ONCE = 1L << 28, /* elements */
    BYTES_OF_A_LOGIT = 64,     /* of the card: logits, gradients and a teacher's take 12 in f32 */
    ROW_MULTIPLE = 64 /* rows of logits begin at multiples: matrix units read no others at speed */
};

struct logit_rows { /* of loss.cl */
    long vocabulary, ld;
    double cap, smoothing, scale;
    const void *bias, *target, *value, *logits;
    void *dlogits, *loss;
    double soft_cap, hard, soft;
    const void *soft_bias, *teacher;
};

static void loss_gradients(struct oa_device *d, const struct oa_linear_loss *a, long first,
                           long rows, const void *dlogits)
{
    long v = a->vocabulary, w = a->width, ld = oa_round_up(v, ROW_MULTIPLE);
    oa_gpu_gemm(d, &(struct oa_gemm){ .m = rows, .n = w, .k = v, .lda = ld, .ldb = w, .ldc = w },
                dlogits, a->w, oa_act_at(d, a->dx, first * w));
    oa_gpu_gemm(d,
                &(struct oa_gemm){ .m = v,
                                   .n = w,
                                   .k = rows,
                                   .lda = ld,
                                   .ldb = w,
                                   .ldc = w,
                                   .ta = true,
                                   .real_out = true,
                                   .accumulate = true },
                dlogits, oa_act_at(d, a->x, first * w), a->dw);
    if (a->dbias)
        oa_gpu_column_sums(d, rows, v, dlogits, ld, a->dbias);
}

/* Rows first … of x [·, k] times w [n, k] transposed; real [rows, ld]. */
static void make_logits(struct oa_device *d, const void *x, const void *w, long first, long rows,
                        long n, long k, long ld, void *logits)
{
    oa_gpu_gemm(d,
                &(struct oa_gemm){ .m = rows,
                                   .n = n,
                                   .k = k,
                                   .lda = k,
                                   .ldb = k,
                                   .ldc = ld,
                                   .tb = true,
                                   .real_out = true },
                oa_act_at(d, x, first * k), w, logits);
}

/* loss: the device's doubles [a->rows]. */
static void card_loss_block(struct oa_device *d, const struct oa_linear_loss *a, long first,
                            long rows, void *loss)
{
    long v = a->vocabulary, w = a->width, ld = oa_round_up(v, ROW_MULTIPLE);
    void *logits = oa_gpu_take_reals(d, rows * ld),
         *dlogits = a->dx ? oa_gpu_take_acts(d, rows * ld) : NULL;
    if (!logits || (a->dx && !dlogits))
        return;
    void *teacher = a->soft_x ? oa_gpu_take_reals(d, rows * ld) : NULL;
    if (a->soft_x && !teacher)
        return;
    make_logits(d, a->x, a->w, first, rows, v, w, ld, logits);
    if (teacher)
        make_logits(d, a->soft_x, a->soft_w, first, rows, v, a->soft_width, ld, teacher);
    struct logit_rows r = { .vocabulary = v,
                            .ld = ld,
                            .cap = a->cap,
                            .smoothing = a->smoothing,
                            .scale = a->scale,
                            .bias = a->bias,
                            .target = oa_at(a->target, sizeof(int32_t), first),
                            .value = oa_at(a->value, sizeof(double), first),
                            .logits = logits,
                            .dlogits = dlogits,
                            .loss = oa_at(loss, sizeof(double), first),
                            .soft_cap = a->soft_cap,
                            .hard = a->hard,
                            .soft = a->soft,
                            .soft_bias = a->soft_bias,
                            .teacher = teacher };
    if (teacher)
        OA_GPU_INDIRECT(d, taught_rows, rows, 1, OA_GPU_STRUCT(r));
    else
        OA_GPU_INDIRECT(d, loss_rows, rows, 1, OA_GPU_STRUCT(r));
    if (dlogits)
        loss_gradients(d, a, first, rows, dlogits);
}

/* Rows whose logits are in memory together. A card of 16 GiB or more has LOGITS_AT_ONCE. */
static long rows_of_a_block(const struct oa_device *d, const struct oa_linear_loss *a)
{
    long logits = LOGITS_AT_ONCE;
    if (oa_gpu_of(d)->facts.memory) /* else it is unknown */
        logits = oa_min(logits, (long)(oa_gpu_of(d)->facts.memory / BYTES_OF_A_LOGIT));
    return oa_max(1, oa_min(a->rows, logits / a->vocabulary));
}

double oa_gpu_linear_loss(struct oa_device *d, const struct oa_linear_loss *a)
{
    long block = rows_of_a_block(d, a);
    size_t mark = oa_gpu_mark(d);
    void *loss = oa_gpu_take(d, (size_t)a->rows * sizeof(double));
    for (long first = 0; loss && first < a->rows; first += block) {
        size_t inner = oa_gpu_mark(d);
        card_loss_block(d, a, first, oa_min(block, a->rows - first), loss);
        oa_gpu_give_back(d, inner);
    }
    oa_gpu_give_back(d, mark);
    if (loss && a->losses)
        oa_gpu_download(d, (size_t)a->rows * sizeof(double), loss, a->losses);
    return loss ? oa_gpu_sum_doubles(d, a->rows, loss) : NAN;
}

void oa_gpu_log_sums(struct oa_device *d, long rows, long cols, const void *x, double *sums)
{
    size_t mark = oa_gpu_mark(d), bytes = (size_t)rows * sizeof *sums;
    void *on_device = oa_gpu_take(d, bytes);
    if (!on_device)
        return;
    OA_GPU_GROUPS(d, log_sums, rows, 1, OA_GPU_LONG(cols), OA_GPU_AT(x), OA_GPU_AT(on_device));
    oa_gpu_download(d, bytes, on_device, sums);
    oa_gpu_give_back(d, mark);
}
