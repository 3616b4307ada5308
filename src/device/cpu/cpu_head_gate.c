/* SPDX-License-Identifier: Apache-2.0
 * Gates of the outputs of heads (operations.h has the formulas). Runs of rows are items.
 *
 *     HEAD   y = x σ(z_h)   ⇒   dx = dy σ(z_h),   dz_h = σ(z_h)(1 − σ(z_h)) Σ_c dy_c x_c */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum { GATE_RUN = 64 }; /* channels of a head that are handled together */

struct head_gate_rows {
    struct oa_device *d;
    const struct oa_head_gate *a;
    bool backward;
    long run;
};

/* σ(z), and as many reals of it as a run of channels needs. */
static double head_gate_opening(const struct oa_device *d, const struct oa_head_gate *a,
                                const void *z, void *factor)
{
    double value[1];
    d->cpu->kernels.real_from_act(1, z, value);
    double opening = 1 / (1 + exp(-oa_real_get(d, value, 0)));
    for (long c = 0; c < oa_min(a->width, GATE_RUN); c++)
        oa_real_set(d, factor, c, opening);
    return opening;
}

static void head_gate_head(const struct oa_device *d, const struct oa_head_gate *a, const void *z,
                           const void *x, void *y)
{
    double factor[GATE_RUN];
    head_gate_opening(d, a, z, factor);
    for (long c = 0; c < a->width; c += GATE_RUN)
        d->cpu->kernels.multiply(oa_min(GATE_RUN, a->width - c), factor, oa_act_at(d, x, c),
                                 oa_act_at(d, y, c));
}

static void head_gate_head_gradient(const struct oa_device *d, const struct oa_head_gate *a,
                                    const void *z, const void *x, const void *dy, void *dx,
                                    void *dz)
{
    const struct oa_kernels *k = &d->cpu->kernels;
    double factor[GATE_RUN], dfactor[GATE_RUN] = { 0 }, sum = 0;
    double opening = head_gate_opening(d, a, z, factor);
    for (long c = 0; c < a->width; c += GATE_RUN) {
        long n = oa_min(GATE_RUN, a->width - c);
        const void *gradient = oa_act_at(d, dy, c);
        k->multiply_gradient(n, oa_act_at(d, x, c), gradient, dfactor);
        k->multiply(n, factor, gradient, oa_act_at(d, dx, c));
    }
    for (long c = 0; c < oa_min(a->width, GATE_RUN); c++)
        sum += oa_real_get(d, dfactor, c);
    oa_real_set(d, dfactor, 0, opening * (1 - opening) * sum);
    k->act_from_real(1, dfactor, dz);
}

static void head_gate_row(const struct head_gate_rows *g, long i)
{
    const struct oa_device *d = g->d;
    const struct oa_head_gate *a = g->a;
    const struct oa_kernels *k = &d->cpu->kernels;
    bool heads = a->kind == OA_HEAD_GATE_HEAD, swish = a->kind == OA_HEAD_GATE_SWISH;
    long n = a->heads * a->width, openings = heads ? a->heads : n;
    const void *x = oa_act_at(d, a->x, i * a->ldx), *z = oa_act_at(d, a->z, i * openings),
               *dy = oa_act_at(d, a->dy, i * a->ldy);
    void *y = oa_act_at(d, a->y, i * a->ldy), *dx = oa_act_at(d, a->dx, i * a->ldx),
         *dz = oa_act_at(d, a->dz, i * openings);
    for (long h = 0; heads && h < a->heads; h++) {
        long c = h * a->width;
        if (g->backward)
            head_gate_head_gradient(d, a, oa_act_at(d, z, h), oa_act_at(d, x, c),
                                    oa_act_at(d, dy, c), oa_act_at(d, dx, c), oa_act_at(d, dz, h));
        else
            head_gate_head(d, a, oa_act_at(d, z, h), oa_act_at(d, x, c), oa_act_at(d, y, c));
    }
    if (heads)
        return;
    if (g->backward)
        (swish ? k->gate_swish_gradient : k->gate_gradient)(n, x, z, dy, dx, dz);
    else
        (swish ? k->gate_swish : k->gate)(n, x, z, y);
}

static void head_gate_item(void *argument, long number, const struct oa_worker *worker)
{
    const struct head_gate_rows *g = argument;
    (void)worker;
    for (long i = number * g->run; i < oa_min((number + 1) * g->run, g->a->rows); i++)
        head_gate_row(g, i);
}

static void run_head_gate(struct oa_device *d, const struct oa_head_gate *a, bool backward)
{
    struct head_gate_rows g = {
        .d = d, .a = a, .backward = backward, .run = oa_item_rows(2 * a->heads * a->width)
    };
    oa_parallel(d->context, oa_blocks(a->rows, g.run), head_gate_item, &g);
}

void oa_cpu_head_gate(struct oa_device *d, const struct oa_head_gate *a)
{
    run_head_gate(d, a, false);
}

void oa_cpu_head_gate_gradient(struct oa_device *d, const struct oa_head_gate *a)
{
    run_head_gate(d, a, true);
}
