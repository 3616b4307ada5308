/* SPDX-License-Identifier: Apache-2.0
 * Adafactor (Shazeer & Stern, ICML 2018, arXiv 1804.04235) without momentum and with a given
 * learning rate. For a matrix the second moment is kept as row and column means R, C:
 *
 *     G² = (s·g)² + 1e-30     R ← βR + (1−β) rowmean(G²)     C ← βC + (1−β) colmean(G²)
 *     u = s·g / √(R_i C_j / mean(R))       vectors: V ← βV + (1−β)G²,  u = s·g/√V
 *     w ← w − lr·(u / max(1, rms(u)) + weight_decay·w)
 *
 * A tensor of more dimensions is taken as the matrix whose columns are its last one: [H, N, k] has
 * H·N rows. One item: the whole update of a parameter is a few passes bound by memory, in an order
 * that does not depend on the threads. R and C are the first rows + cols elements of `v`. */
#include "device/cpu/cpu.h"

#include <math.h>

#define TINY 1e-30

static double scaled_gradient(const struct oa_device *d, const struct oa_adafactor *a, long i)
{
    return a->gradient_scale * oa_real_get(d, a->g, i);
}

static void update_moment(const struct oa_device *d, const struct oa_adafactor *a, long i,
                          double square)
{
    oa_real_set(d, a->v, i, a->decay * oa_real_get(d, a->v, i) + (1 - a->decay) * square);
}

/* Updates R and C; returns mean(R). */
static double update_factors(const struct oa_device *d, const struct oa_adafactor *a)
{
    double mean = 0;
    for (long i = 0; i < a->rows; i++) {
        double sum = 0;
        for (long j = 0; j < a->cols; j++)
            sum += scaled_gradient(d, a, i * a->cols + j) * scaled_gradient(d, a, i * a->cols + j) +
                   TINY;
        update_moment(d, a, i, sum / (double)a->cols);
        mean += oa_real_get(d, a->v, i);
    }
    for (long j = 0; j < a->cols; j++) {
        double sum = 0;
        for (long i = 0; i < a->rows; i++)
            sum += scaled_gradient(d, a, i * a->cols + j) * scaled_gradient(d, a, i * a->cols + j) +
                   TINY;
        update_moment(d, a, a->rows + j, sum / (double)a->rows);
    }
    return mean / (double)a->rows;
}

/* Writes u and returns Σu². */
static double update_directions(const struct oa_device *d, const struct oa_adafactor *a)
{
    double mean = a->factored ? update_factors(d, a) : 1, squares = 0;
    for (long i = 0; i < a->rows; i++)
        for (long j = 0; j < a->cols; j++) {
            long at = i * a->cols + j;
            double g = scaled_gradient(d, a, at), v;
            if (a->factored) {
                v = oa_real_get(d, a->v, i) * oa_real_get(d, a->v, a->rows + j) / mean;
            } else {
                update_moment(d, a, at, g * g + TINY);
                v = oa_real_get(d, a->v, at);
            }
            double u = g / sqrt(v);
            oa_real_set(d, a->update, at, u);
            squares += u * u;
        }
    return squares;
}

static void adafactor_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)item, (void)worker;
    const struct oa_adafactor *a = ((void **)argument)[0];
    const struct oa_device *d = ((void **)argument)[1];
    long n = a->rows * a->cols;
    double shrink = 1 / fmax(1, sqrt(update_directions(d, a) / (double)n));
    for (long i = 0; i < n; i++) {
        double w = oa_real_get(d, a->w, i);
        oa_real_set(d, a->w, i,
                    w - a->lr * (shrink * oa_real_get(d, a->update, i) + a->weight_decay * w));
    }
}

void oa_cpu_adafactor(struct oa_device *d, const struct oa_adafactor *a)
{
    void *argument[2] = { (void *)(uintptr_t)a, d };
    oa_parallel(d->context, 1, adafactor_item, argument);
}
