/* SPDX-License-Identifier: Apache-2.0
 * Positions as angles: features of cosFormer (Qin et al. 2022). Items are blocks of tokens. */
#include "device/cpu/cpu.h"

#include <math.h>

#define PI 3.14159265358979323846

struct placed_rows {
    struct oa_device *d;
    long tokens, length, heads, width, first;
    double limit;
    const void *x, *dy;
    void *y, *dx; /* one of them */
    long block;   /* tokens per item */
};

static void place_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct placed_rows *f = argument;
    const struct oa_kernels *k = &f->d->cpu->kernels;
    long cols = f->heads * f->width;
    for (long i = item * f->block; i < oa_min(f->tokens, (item + 1) * f->block); i++) {
        double angle = PI * (double)(f->first + i % f->length) / (2 * f->limit);
        const void *x = oa_act_at(f->d, f->x, i * cols);
        if (f->dx)
            k->place_gradient(f->heads, f->width, cos(angle), sin(angle), x,
                              oa_act_at(f->d, f->dy, 2 * i * cols),
                              oa_act_at(f->d, f->dx, i * cols));
        else
            k->place(f->heads, f->width, cos(angle), sin(angle), x,
                     oa_act_at(f->d, f->y, 2 * i * cols));
    }
}

static void run_placed_rows(struct placed_rows f)
{
    f.block = oa_item_rows(2 * f.heads * f.width);
    oa_parallel(f.d->context, oa_blocks(f.tokens, f.block), place_item, &f);
}

void oa_cpu_place(struct oa_device *d, long tokens, long length, long heads, long width, long first,
                  double limit, const void *x, void *y)
{
    run_placed_rows(
        (struct placed_rows){ d, tokens, length, heads, width, first, limit, x, .y = y });
}

void oa_cpu_place_gradient(struct oa_device *d, long tokens, long length, long heads, long width,
                           long first, double limit, const void *x, const void *dy, void *dx)
{
    run_placed_rows(
        (struct placed_rows){ d, tokens, length, heads, width, first, limit, x, dy, .dx = dx });
}
