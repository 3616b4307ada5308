/* SPDX-License-Identifier: Apache-2.0
 * Factors of the columns of heads: temperatures and diagonals (operations.h has the formulas). */
#include "device/cpu/cpu.h"

static double factor_at(const struct oa_device *d, const void *x, long i)
{
    return x ? oa_real_get(d, x, i) : 1;
}

static void add_factor_gradient(const struct oa_device *d, void *x, long i, double addend)
{
    if (x)
        oa_real_set(d, x, i, oa_real_get(d, x, i) + addend);
}

void oa_cpu_head_factors(struct oa_device *d, const struct oa_head_factors *a)
{
    for (long i = 0; i < a->cols; i++)
        oa_real_set(d, a->factor, i,
                    a->scale * factor_at(d, a->temperature, i / a->width) *
                        factor_at(d, a->diagonal, i));
}

void oa_cpu_head_factors_gradient(struct oa_device *d, const struct oa_head_factors *a)
{
    for (long i = 0; i < a->cols; i++) {
        double g = a->scale * oa_real_get(d, a->dfactor, i);
        add_factor_gradient(d, a->dtemperature, i / a->width, g * factor_at(d, a->diagonal, i));
        add_factor_gradient(d, a->ddiagonal, i, g * factor_at(d, a->temperature, i / a->width));
    }
}
