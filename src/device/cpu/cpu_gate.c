/* SPDX-License-Identifier: Apache-2.0
 * The gated linear unit (Dauphin et al. 2017, arXiv 1612.08083) of rows x = [a | b]:
 *
 *     y = a σ(b)   ⇒   da = dy σ(b),   db = dy a σ(b)(1 − σ(b))
 *
 * [rows, 2·cols] → [rows, cols], contiguous; runs of rows are items. */
#include "device/cpu/cpu.h"

struct gate_rows {
    struct oa_device *d;
    long rows, cols, run;
    const void *x, *dy;
    void *out;
};

static void gate_item(void *argument, long number, const struct oa_worker *worker)
{
    (void)worker;
    const struct gate_rows *g = argument;
    const struct oa_kernels *k = &g->d->cpu->kernels;
    long first = number * g->run, rows = oa_min(g->run, g->rows - first);
    for (long i = first; i < first + rows; i++) {
        const void *a = oa_act_at(g->d, g->x, i * 2 * g->cols), *b = oa_act_at(g->d, a, g->cols);
        void *out = oa_act_at(g->d, g->out, (g->dy ? 2 : 1) * i * g->cols);
        if (g->dy)
            k->gate_gradient(g->cols, a, b, oa_act_at(g->d, g->dy, i * g->cols), out,
                             oa_act_at(g->d, out, g->cols));
        else
            k->gate(g->cols, a, b, out);
    }
}

static void run_gate(struct gate_rows *g)
{
    g->run = oa_item_rows(2 * g->cols);
    oa_parallel(g->d->context, oa_blocks(g->rows, g->run), gate_item, g);
}

void oa_cpu_gate(struct oa_device *d, long rows, long cols, const void *x, void *y)
{
    run_gate(&(struct gate_rows){ .d = d, .rows = rows, .cols = cols, .x = x, .out = y });
}

void oa_cpu_gate_gradient(struct oa_device *d, long rows, long cols, const void *x, const void *dy,
                          void *dx)
{
    run_gate(
        &(struct gate_rows){ .d = d, .rows = rows, .cols = cols, .x = x, .dy = dy, .out = dx });
}
