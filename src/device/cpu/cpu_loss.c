/* SPDX-License-Identifier: Apache-2.0
 * Output layer and loss in one: the logits of a block of rows exist in scratch memory only, so the
 * vocabulary times the batch never does. With dlogits = softmax − q, or 2 (logit − value) of a
 * squared error, times scale:
 *
 *     dx = dlogits·W        dW += dlogitsᵀ·x        dbias += column sums of dlogits
 *
 * With a teacher dlogits = (hard + soft)·softmax − hard·q − soft·p, p its probabilities.
 *
 * dW is read and written once a block. The gradient of a row takes the memory of its logits. Where
 * products read packed operands, W is packed once for all blocks, and rows of logits are whole
 * panels, which products then read in place. */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum { MOST_LOGITS = 64 << 20 }; /* of a block, or one row */

/* One block of rows. */
struct loss_rows {
    struct oa_device *d;
    const struct oa_linear_loss *a;
    const struct oa_loss_plan *plan;
    long first;    /* row of the input where the block starts */
    void *logits;  /* real [rows, ld]; their gradient, act, overwrites the beginning of each row */
    void *teacher; /* logits of the teacher, or NULL */
    double *loss;  /* [rows] */
};

static struct oa_gemm logits_product(const struct oa_linear_loss *a, long rows)
{
    return (struct oa_gemm){ .m = rows,
                             .n = a->vocabulary,
                             .k = a->width,
                             .lda = a->width,
                             .ldb = a->width,
                             .tb = true,
                             .real_out = true };
}

static struct oa_gemm dx_product(const struct oa_linear_loss *a, long rows)
{
    return (struct oa_gemm){
        .m = rows, .n = a->width, .k = a->vocabulary, .ldb = a->width, .ldc = a->width
    };
}

struct oa_loss_plan oa_loss_plan_of(struct oa_device *d, const struct oa_linear_loss *a)
{
    struct oa_loss_plan p = { .ld = a->vocabulary };
    long most = oa_max(1, oa_min(a->rows, MOST_LOGITS / a->vocabulary));
    p.rows = oa_blocks(a->rows, oa_max(1, oa_blocks(a->rows, most)));
    p.rows = oa_max(1, oa_min(most, oa_round_up(p.rows, OA_PANEL)));
    struct oa_gemm logits = logits_product(a, p.rows), dx = dx_product(a, p.rows);
    if (!oa_packed_bytes(d, &logits) || !oa_packed_bytes(d, &dx))
        return p;
    p.ld = oa_round_up(a->vocabulary, OA_PANEL);
    p.logits_weights = oa_cpu_weights_bytes(d, &logits);
    p.dx_weights = a->dx ? oa_cpu_weights_bytes(d, &dx) : 0;
    return p;
}

/* The loss of capped logits: their gradient times the derivative of the cap. */
static double capped_loss(const struct loss_rows *r, int32_t target, void *logits, void *dlogits,
                          const struct oa_worker *worker)
{
    const struct oa_linear_loss *a = r->a;
    const struct oa_kernels *k = &r->d->cpu->kernels;
    void *slope =
        dlogits ? oa_arena_take(worker->scratch, (size_t)a->vocabulary * k->real_size) : NULL;
    if (dlogits && !slope)
        return NAN;
    k->soft_cap(a->vocabulary, 1, a->cap, logits, slope);
    double loss = k->cross_entropy(a->vocabulary, logits, target, a->smoothing, a->scale, dlogits);
    if (dlogits)
        k->multiply(a->vocabulary, slope, dlogits, dlogits);
    return loss;
}

/* logits become those of the student, teacher those less these. p − q of the teacher, q at the
 * target, is computed as the gradient of a cross-entropy of its own. */
static double taught_loss(const struct loss_rows *r, int32_t target, void *logits, void *teacher,
                          void *dlogits, const struct oa_worker *worker)
{
    const struct oa_linear_loss *a = r->a;
    const struct oa_kernels *k = &r->d->cpu->kernels;
    long n = a->vocabulary;
    void *slope = oa_arena_take(worker->scratch, (size_t)n * k->real_size),
         *excess = oa_arena_take(worker->scratch, (size_t)n * k->act_size),
         *real = oa_arena_take(worker->scratch, (size_t)n * k->real_size);
    if (!slope || !excess || !real)
        return NAN;
    if (a->cap > 0)
        k->soft_cap(n, 1, a->cap, logits, slope);
    if (a->soft_bias)
        k->axpy(n, 1, a->soft_bias, teacher);
    if (a->soft_cap > 0)
        k->soft_cap(n, 1, a->soft_cap, teacher, NULL);
    double sums = k->log_sum(n, logits) - k->log_sum(n, teacher);
    k->cross_entropy(n, teacher, target, 0, 1, excess);
    k->axpy(n, -1, logits, teacher);
    k->real_from_act(n, excess, real);
    double divergence = k->dot(n, real, teacher) + oa_real_get(r->d, teacher, target) + sums;
    double loss = k->cross_entropy(n, logits, target, 0, a->scale * (a->hard + a->soft), dlogits);
    if (dlogits)
        k->add_scaled(n, -a->scale * a->soft, dlogits, excess, dlogits);
    if (dlogits && a->cap > 0)
        k->multiply(n, slope, dlogits, dlogits);
    return a->hard * loss + a->soft * divergence;
}

static double logits_loss(const struct loss_rows *r, long i, int32_t target, void *logits,
                          void *dlogits, const struct oa_worker *worker)
{
    const struct oa_linear_loss *a = r->a;
    if (a->bias)
        r->d->cpu->kernels.axpy(a->vocabulary, 1, a->bias, logits);
    if (a->value) { /* one logit; act_from_real rounds its gradient like all others */
        double error = oa_real_get(r->d, logits, 0) - a->value[r->first + i];
        oa_real_set(r->d, logits, 0, 2 * a->scale * error);
        if (dlogits)
            r->d->cpu->kernels.act_from_real(1, logits, dlogits);
        return error * error;
    }
    if (r->teacher)
        return taught_loss(r, target, logits, oa_real_at(r->d, r->teacher, i * r->plan->ld),
                           dlogits, worker);
    if (a->cap > 0)
        return capped_loss(r, target, logits, dlogits, worker);
    return r->d->cpu->kernels.cross_entropy(a->vocabulary, logits, target, a->smoothing, a->scale,
                                            dlogits);
}

static void loss_row_item(void *argument, long i, const struct oa_worker *worker)
{
    const struct loss_rows *r = argument;
    const struct oa_linear_loss *a = r->a;
    int32_t target = a->value ? 0 : a->target[r->first + i];
    void *logits = oa_real_at(r->d, r->logits, i * r->plan->ld), *dlogits = a->dx ? logits : NULL;
    size_t act = r->d->numbers.act_size;
    r->loss[i] = target < 0 ? 0 : logits_loss(r, i, target, logits, dlogits, worker);
    if (dlogits) { /* zeros in ignored rows and in the padding of the last panel */
        long from = target < 0 ? 0 : a->vocabulary;
        memset((char *)dlogits + (size_t)from * act, 0, (size_t)(r->plan->ld - from) * act);
    }
}

/* dx, dw and dbias of a block from its gradients of logits. */
static void loss_block_gradient(const struct loss_rows *r, long rows, const void *weights)
{
    struct oa_device *d = r->d;
    const struct oa_linear_loss *a = r->a;
    long v = a->vocabulary, w = a->width;
    long ld = r->plan->ld * (long)(d->numbers.real_size / d->numbers.act_size);
    struct oa_gemm dx = dx_product(a, rows);
    dx.lda = ld;
    if (weights) {
        dx.k = r->plan->ld;
        dx.packed = true;
    }
    oa_cpu_gemm(d, &dx, r->logits, weights ? weights : a->w, oa_act_at(d, a->dx, r->first * w));
    oa_cpu_gemm(d,
                &(struct oa_gemm){ .m = v,
                                   .n = w,
                                   .k = rows,
                                   .lda = ld,
                                   .ldb = w,
                                   .ldc = w,
                                   .ta = true,
                                   .real_out = true,
                                   .accumulate = true },
                r->logits, oa_act_at(d, a->x, r->first * w), a->dw);
    if (a->dbias)
        oa_cpu_column_sums(d, rows, v, r->logits, ld, a->dbias);
}

static double loss_block(struct loss_rows *r, long rows, const void *logits_weights,
                         const void *dx_weights)
{
    struct oa_device *d = r->d;
    const struct oa_linear_loss *a = r->a;
    size_t bytes = (size_t)(rows * r->plan->ld) * d->numbers.real_size;
    r->logits = oa_arena_take(&d->scratch, bytes);
    r->loss = oa_arena_take(&d->scratch, (size_t)rows * sizeof *r->loss);
    r->teacher = a->soft_x ? oa_arena_take(&d->scratch, bytes) : NULL;
    if (!r->logits || !r->loss || (a->soft_x && !r->teacher))
        return NAN;
    struct oa_gemm g = logits_product(a, rows);
    g.ldc = r->plan->ld;
    g.packed = logits_weights;
    oa_cpu_gemm(d, &g, oa_act_at(d, a->x, r->first * a->width),
                logits_weights ? logits_weights : a->w, r->logits);
    if (r->teacher) {
        g.k = g.lda = g.ldb = a->soft_width;
        g.packed = false;
        oa_cpu_gemm(d, &g, oa_act_at(d, a->soft_x, r->first * a->soft_width), a->soft_w,
                    r->teacher);
    }
    oa_parallel(d->context, rows, loss_row_item, r);
    if (a->dx)
        loss_block_gradient(r, rows, dx_weights);
    if (a->losses)
        memcpy(a->losses + r->first, r->loss, (size_t)rows * sizeof *r->loss);
    double sum = 0;
    for (long i = 0; i < rows; i++)
        sum += r->loss[i];
    return sum;
}

/* W packed for products with the n and k of g; NULL if none is packed, or without memory. */
static void *packed_weights(struct oa_device *d, struct oa_gemm g, const void *w, size_t bytes)
{
    void *packed = bytes ? oa_arena_take(&d->scratch, bytes) : NULL;
    if (packed)
        oa_cpu_pack_weights(d, &g, w, packed);
    return packed;
}

double oa_cpu_linear_loss(struct oa_device *d, const struct oa_linear_loss *a)
{
    struct oa_loss_plan p = oa_loss_plan_of(d, a);
    size_t begin = oa_arena_mark(&d->scratch);
    const void *logits_weights =
        packed_weights(d, logits_product(a, p.rows), a->w, p.logits_weights);
    const void *dx_weights = packed_weights(d, dx_product(a, p.rows), a->w, p.dx_weights);
    double sum = (p.logits_weights && !logits_weights) || (p.dx_weights && !dx_weights) ? NAN : 0;
    for (long first = 0; first < a->rows && sum == sum; first += p.rows) {
        size_t mark = oa_arena_mark(&d->scratch);
        struct loss_rows r = { .d = d, .a = a, .plan = &p, .first = first };
        sum += loss_block(&r, oa_min(p.rows, a->rows - first), logits_weights, dx_weights);
        oa_arena_release(&d->scratch, mark);
    }
    oa_arena_release(&d->scratch, begin);
    return sum;
}

/* ---- rows of logits alone ---- */

struct log_sums_call {
    struct oa_device *d;
    long cols;
    const void *x;
    double *sums;
};

static void log_sum_item(void *argument, long i, const struct oa_worker *worker)
{
    (void)worker;
    const struct log_sums_call *l = argument;
    l->sums[i] = l->d->cpu->kernels.log_sum(l->cols, oa_real_at(l->d, l->x, i * l->cols));
}

void oa_cpu_log_sums(struct oa_device *d, long rows, long cols, const void *x, double *sums)
{
    struct log_sums_call l = { d, cols, x, sums };
    oa_parallel(d->context, rows, log_sum_item, &l);
}

void oa_cpu_soft_cap(struct oa_device *d, long n, double cap, void *x)
{
    d->cpu->kernels.soft_cap(n, 1, cap, x, NULL);
}
