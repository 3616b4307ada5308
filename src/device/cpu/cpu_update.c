/* SPDX-License-Identifier: Apache-2.0
 * Optimiser updates, other moves of parameters and the gradient norm, over flat arrays. */
#include "device/cpu/cpu.h"

#include <math.h>

enum {
    RUN = 16384, /* elements an item; for sums OA_SQUARES_RUN, which fixes their order */
    PART = 1024  /* elements rounded at a time, while they are in the L1 cache */
};

struct update_call {
    struct oa_device *d;
    long n;
    const struct oa_adamw *adamw;
    const struct oa_lion *lion;
    double lr, momentum, weight_decay, gradient_scale; /* axpy, axpby: lr is a, momentum b */
    void *w, *m, *v, *copy;
    const void *g;
    double *partial;
};

static void adamw_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct update_call *u = argument;
    const struct oa_kernels *k = &u->d->cpu->kernels;
    long end = oa_min((item + 1) * RUN, u->n);
    for (long i = item * RUN; i < end; i += PART) {
        long n = oa_min(PART, end - i);
        void *w = oa_real_at(u->d, u->w, i);
        k->adamw(n, u->adamw, w, oa_real_at(u->d, u->m, i), oa_real_at(u->d, u->v, i),
                 oa_real_at(u->d, u->g, i));
        if (u->copy)
            k->act_from_real(n, w, oa_act_at(u->d, u->copy, i));
    }
}

void oa_cpu_adamw(struct oa_device *d, long n, const struct oa_adamw *h, void *w, void *m, void *v,
                  const void *g, void *copy)
{
    struct update_call u = {
        .d = d, .n = n, .adamw = h, .w = w, .m = m, .v = v, .g = g, .copy = copy
    };
    oa_parallel(d->context, oa_blocks(n, RUN), adamw_item, &u);
}

static void sgd_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct update_call *u = argument;
    long i = item * RUN;
    u->d->cpu->kernels.sgd(oa_min(RUN, u->n - i), u->lr, u->momentum, u->weight_decay,
                           u->gradient_scale, oa_real_at(u->d, u->w, i), oa_real_at(u->d, u->m, i),
                           oa_real_at(u->d, u->g, i));
}

void oa_cpu_sgd(struct oa_device *d, long n, double lr, double momentum, double weight_decay,
                double gradient_scale, void *w, void *m, const void *g)
{
    struct update_call u = { .d = d,
                             .n = n,
                             .lr = lr,
                             .momentum = momentum,
                             .weight_decay = weight_decay,
                             .gradient_scale = gradient_scale,
                             .w = w,
                             .m = m,
                             .g = g };
    oa_parallel(d->context, oa_blocks(n, RUN), sgd_item, &u);
}

static void lion_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct update_call *u = argument;
    const struct oa_lion *h = u->lion;
    for (long i = item * RUN; i < oa_min((item + 1) * RUN, u->n); i++) {
        double g = h->gradient_scale * oa_real_get(u->d, u->g, i), m = oa_real_get(u->d, u->m, i),
               w = oa_real_get(u->d, u->w, i), c = h->beta1 * m + (1 - h->beta1) * g;
        double sign = (double)(c > 0) - (double)(c < 0);
        oa_real_set(u->d, u->w, i, w - h->lr * (sign + h->weight_decay * w));
        oa_real_set(u->d, u->m, i, h->beta2 * m + (1 - h->beta2) * g);
    }
}

void oa_cpu_lion(struct oa_device *d, long n, const struct oa_lion *h, void *w, void *m,
                 const void *g)
{
    struct update_call u = { .d = d, .n = n, .lion = h, .w = w, .m = m, .g = g };
    oa_parallel(d->context, oa_blocks(n, RUN), lion_item, &u);
}

static void axpby_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct update_call *u = argument;
    long at = item * RUN, n = oa_min(RUN, u->n - at);
    const void *x = oa_real_at(u->d, u->g, at);
    void *y = oa_real_at(u->d, u->w, at);
    double a = u->lr, b = u->momentum;
    if (u->d->numbers.real == OA_F64)
        for (long i = 0; i < n; i++)
            ((double *)y)[i] = a * ((const double *)x)[i] + (b == 0 ? 0 : b * ((double *)y)[i]);
    else
        for (long i = 0; i < n; i++)
            ((float *)y)[i] =
                (float)a * ((const float *)x)[i] + (b == 0 ? 0 : (float)b * ((float *)y)[i]);
}

void oa_cpu_axpby(struct oa_device *d, long n, double a, const void *x, double b, void *y)
{
    struct update_call u = { .d = d, .n = n, .lr = a, .momentum = b, .w = y, .g = x };
    oa_parallel(d->context, oa_blocks(n, RUN), axpby_item, &u);
}

static void round_bf16_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct update_call *u = argument;
    for (long i = item * RUN; i < oa_min((item + 1) * RUN, u->n); i++)
        oa_real_set(u->d, u->w, i,
                    (double)oa_bf16_to_float(oa_float_to_bf16((float)oa_real_get(u->d, u->w, i))));
}

void oa_cpu_round_bf16(struct oa_device *d, long n, void *x)
{
    struct update_call u = { .d = d, .n = n, .w = x };
    oa_parallel(d->context, oa_blocks(n, RUN), round_bf16_item, &u);
}

static void axpy_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct update_call *u = argument;
    long i = item * RUN;
    u->d->cpu->kernels.axpy(oa_min(RUN, u->n - i), u->lr, oa_real_at(u->d, u->g, i),
                            oa_real_at(u->d, u->w, i));
}

void oa_cpu_axpy(struct oa_device *d, long n, double a, const void *x, void *y)
{
    struct update_call u = { .d = d, .n = n, .lr = a, .w = y, .g = x };
    oa_parallel(d->context, oa_blocks(n, RUN), axpy_item, &u);
}

static void sum_squares_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct update_call *u = argument;
    long i = item * OA_SQUARES_RUN;
    u->partial[item] =
        u->d->cpu->kernels.sum_squares(oa_min(OA_SQUARES_RUN, u->n - i), oa_real_at(u->d, u->g, i));
}

double oa_cpu_sum_squares(struct oa_device *d, long n, const void *x)
{
    long items = oa_blocks(n, OA_SQUARES_RUN);
    size_t mark = oa_arena_mark(&d->scratch);
    struct update_call u = { .d = d,
                             .n = n,
                             .g = x,
                             .partial =
                                 oa_arena_take(&d->scratch, (size_t)items * sizeof(double)) };
    if (!u.partial)
        return NAN;
    oa_parallel(d->context, items, sum_squares_item, &u);
    double sum = 0;
    for (long i = 0; i < items; i++)
        sum += u.partial[i];
    oa_arena_release(&d->scratch, mark);
    return sum;
}
