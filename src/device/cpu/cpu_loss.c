/* SPDX-License-Identifier: Apache-2.0
 * Output layer and loss in one: the logits of a block of rows exist in scratch memory only, so the
 * vocabulary times the batch never does. With dlogits = softmax − q, or 2 (logit − value) of a
 * squared error, times scale:
 *
 *     dx = dlogits·W        dW += dlogitsᵀ·x        dbias += column sums of dlogits
 *
 * With a teacher dlogits = (hard + soft)·softmax − hard·q − soft·p, p its probabilities.
 *
 * A block is as tall as oa_loss_rows allows: dW is read and written once a block, logits once each
 * way. */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

struct loss_rows {
    struct oa_device *d;
    const struct oa_linear_loss *a;
    long first;    /* row of the input where the block starts */
    void *logits;  /* real [rows, vocabulary] */
    void *teacher; /* the same of the teacher, or NULL */
    void *dlogits; /* act, NULL without gradient */
    double *loss;  /* [rows] */
};

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
        return taught_loss(r, target, logits, oa_real_at(r->d, r->teacher, i * a->vocabulary),
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
    void *dlogits = r->dlogits ? oa_act_at(r->d, r->dlogits, i * a->vocabulary) : NULL;
    if (target < 0) {
        r->loss[i] = 0;
        if (dlogits)
            memset(dlogits, 0, (size_t)a->vocabulary * r->d->numbers.act_size);
        return;
    }
    r->loss[i] =
        logits_loss(r, i, target, oa_real_at(r->d, r->logits, i * a->vocabulary), dlogits, worker);
}

static double loss_block(struct oa_device *d, const struct oa_linear_loss *a, long first, long rows)
{
    struct oa_arena *scratch = &d->scratch;
    size_t cells = (size_t)(rows * a->vocabulary);
    void *logits = oa_arena_take(scratch, cells * d->numbers.real_size);
    void *dlogits = a->dx ? oa_arena_take(scratch, cells * d->numbers.act_size) : NULL;
    double *loss = oa_arena_take(scratch, (size_t)rows * sizeof *loss);
    void *teacher = a->soft_x ? oa_arena_take(scratch, cells * d->numbers.real_size) : NULL;
    if (!logits || !loss || (a->dx && !dlogits) || (a->soft_x && !teacher))
        return NAN;
    const void *x = oa_act_at(d, a->x, first * a->width);
    long v = a->vocabulary, w = a->width;
    oa_cpu_gemm(
        d,
        &(struct oa_gemm){
            .m = rows, .n = v, .k = w, .lda = w, .ldb = w, .ldc = v, .tb = true, .real_out = true },
        x, a->w, logits);
    long e = a->soft_width;
    if (teacher)
        oa_cpu_gemm(d,
                    &(struct oa_gemm){ .m = rows,
                                       .n = v,
                                       .k = e,
                                       .lda = e,
                                       .ldb = e,
                                       .ldc = v,
                                       .tb = true,
                                       .real_out = true },
                    oa_act_at(d, a->soft_x, first * e), a->soft_w, teacher);
    struct loss_rows r = { d, a, first, logits, teacher, dlogits, loss };
    oa_parallel(d->context, rows, loss_row_item, &r);
    if (dlogits) {
        oa_cpu_gemm(d, &(struct oa_gemm){ .m = rows, .n = w, .k = v, .lda = v, .ldb = w, .ldc = w },
                    dlogits, a->w, oa_act_at(d, a->dx, first * w));
        oa_cpu_gemm(d,
                    &(struct oa_gemm){ .m = v,
                                       .n = w,
                                       .k = rows,
                                       .lda = v,
                                       .ldb = w,
                                       .ldc = w,
                                       .ta = true,
                                       .real_out = true,
                                       .accumulate = true },
                    dlogits, x, a->dw);
        if (a->dbias)
            oa_cpu_column_sums(d, rows, v, dlogits, v, a->dbias);
    }
    if (a->losses)
        memcpy(a->losses + first, loss, (size_t)rows * sizeof *loss);
    double sum = 0;
    for (long i = 0; i < rows; i++)
        sum += loss[i];
    return sum;
}

double oa_cpu_linear_loss(struct oa_device *d, const struct oa_linear_loss *a)
{
    long rows = oa_loss_rows(a);
    double sum = 0;
    for (long first = 0; first < a->rows; first += rows) {
        size_t mark = oa_arena_mark(&d->scratch);
        sum += loss_block(d, a, first, oa_min(rows, a->rows - first));
        oa_arena_release(&d->scratch, mark);
    }
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
