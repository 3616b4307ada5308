/* SPDX-License-Identifier: Apache-2.0
 * Gated feed-forward layers (Shazeer 2020): y = f(g)·u. Backward, with t = f(g) recomputed:
 *
 *     du = dy·t        dg = (dy·u)·f'(g)
 *
 * Runs of RUN elements, so that intermediate results stay in the L1 cache. */
#include "device/cpu/cpu.h"

enum { RUN = 2048, RUNS = 8 /* an item */ };

typedef void gated_kernel(long n, const void *x, void *y);
typedef void gated_slope(long n, const void *x, const void *dy, void *dx);

struct gated_call {
    struct oa_device *d;
    long n;
    gated_kernel *f;
    gated_slope *slope;
    const void *g, *u, *dy;
    void *y, *dg, *du;
};

static void gated_run(const struct gated_call *c, long first, long n, void *t)
{
    const struct oa_kernels *k = &c->d->cpu->kernels;
    const void *g = oa_act_at(c->d, c->g, first), *u = oa_act_at(c->d, c->u, first);
    c->f(n, g, t);
    if (!c->dy) {
        k->product(n, 1, t, u, oa_act_at(c->d, c->y, first));
        return;
    }
    const void *dy = oa_act_at(c->d, c->dy, first);
    if (c->du)
        k->product(n, 1, dy, t, oa_act_at(c->d, c->du, first));
    k->product(n, 1, dy, u, t);
    if (c->dg)
        c->slope(n, g, t, oa_act_at(c->d, c->dg, first));
}

static void gated_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct gated_call *c = argument;
    void *t = oa_arena_take(worker->scratch, RUN * c->d->numbers.act_size);
    long begin = item * RUNS * RUN, end = oa_min(c->n, begin + RUNS * RUN);
    for (long first = begin; t && first < end; first += RUN)
        gated_run(c, first, oa_min(RUN, end - first), t);
}

static void run_gated(struct gated_call *c, enum oa_unary kind)
{
#define KIND(id, name) c->d->cpu->kernels.name,
    gated_kernel *const f[] = { OA_UNARY_KINDS(KIND) };
#undef KIND
#define KIND(id, name) c->d->cpu->kernels.name##_gradient,
    gated_slope *const slope[] = { OA_UNARY_KINDS(KIND) };
#undef KIND
    c->f = f[kind];
    c->slope = slope[kind];
    oa_parallel(c->d->context, oa_blocks(c->n, RUNS * RUN), gated_item, c);
}

void oa_cpu_gated(struct oa_device *d, enum oa_unary kind, long n, const void *g, const void *u,
                  void *y)
{
    run_gated(&(struct gated_call){ .d = d, .n = n, .g = g, .u = u, .y = y }, kind);
}

void oa_cpu_gated_gradient(struct oa_device *d, enum oa_unary kind, long n, const void *g,
                           const void *u, const void *dy, void *dg, void *du)
{
    run_gated(&(struct gated_call){ .d = d, .n = n, .g = g, .u = u, .dy = dy, .dg = dg, .du = du },
              kind);
}
