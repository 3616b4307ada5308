/* SPDX-License-Identifier: Apache-2.0
 * Optimiser updates (update.cl). */
#include "device/gpu/gpu.h"

#include <math.h>

void oa_gpu_adamw(struct oa_device *d, long n, const struct oa_adamw *h, void *w, void *m, void *v,
                  const void *g, void *copy)
{
    const struct { /* adamw_rates of update.cl */
        double step, beta1, beta2, root, epsilon, shrink, gradient_scale;
    } rates = { h->lr / h->correction1,   h->beta1,   h->beta2,
                1 / sqrt(h->correction2), h->epsilon, 1 - h->lr * h->weight_decay,
                h->gradient_scale };
    OA_GPU_EACH(d, adamw, n, OA_GPU_LONG(n), OA_GPU_STRUCT(rates), OA_GPU_AT(w), OA_GPU_AT(m),
                OA_GPU_AT(v), OA_GPU_AT(g), OA_GPU_AT(copy));
}

void oa_gpu_sgd(struct oa_device *d, long n, double lr, double momentum, double weight_decay,
                double gradient_scale, void *w, void *m, const void *g)
{
    OA_GPU_EACH(d, sgd, n, OA_GPU_LONG(n), OA_GPU_DOUBLE(lr), OA_GPU_DOUBLE(momentum),
                OA_GPU_DOUBLE(weight_decay), OA_GPU_DOUBLE(gradient_scale), OA_GPU_AT(w),
                OA_GPU_AT(m), OA_GPU_AT(g));
}

void oa_gpu_lion(struct oa_device *d, long n, const struct oa_lion *h, void *w, void *m,
                 const void *g)
{
    OA_GPU_EACH(d, lion, n, OA_GPU_LONG(n), OA_GPU_STRUCT(*h), OA_GPU_AT(w), OA_GPU_AT(m),
                OA_GPU_AT(g));
}

void oa_gpu_adafactor(struct oa_device *d, const struct oa_adafactor *a)
{
    const struct { /* adafactor_shape of update.cl */
        long rows, cols;
        double lr, decay, weight_decay, gradient_scale;
    } shape = { a->rows, a->cols, a->lr, a->decay, a->weight_decay, a->gradient_scale };
    size_t mark = oa_gpu_mark(d);
    void *mean = oa_gpu_take(d, sizeof(double)),
         *squares = oa_gpu_take(d, (size_t)a->rows * sizeof(double));
    if (!mean || !squares)
        return;
    if (a->factored) {
        OA_GPU_GROUPS(d, adafactor_rows, a->rows, 1, OA_GPU_STRUCT(shape), OA_GPU_AT(a->g),
                      OA_GPU_AT(a->v));
        OA_GPU_EACH(d, adafactor_cols, a->cols, OA_GPU_STRUCT(shape), OA_GPU_AT(a->g),
                    OA_GPU_AT(a->v));
    }
    OA_GPU_GROUPS(d, adafactor_mean, 1, 1, OA_GPU_STRUCT(shape), OA_GPU_LONG(a->factored),
                  OA_GPU_AT(a->v), OA_GPU_AT(mean));
    OA_GPU_GROUPS(d, adafactor_directions, a->rows, 1, OA_GPU_STRUCT(shape),
                  OA_GPU_LONG(a->factored), OA_GPU_AT(mean), OA_GPU_AT(a->g), OA_GPU_AT(a->v),
                  OA_GPU_AT(a->update), OA_GPU_AT(squares));
    OA_GPU_GROUPS(d, adafactor_total, 1, 1, OA_GPU_STRUCT(shape), OA_GPU_AT(squares));
    OA_GPU_EACH(d, adafactor_move, a->rows * a->cols, OA_GPU_STRUCT(shape), OA_GPU_AT(squares),
                OA_GPU_AT(a->update), OA_GPU_AT(a->w));
    oa_gpu_give_back(d, mark);
}
