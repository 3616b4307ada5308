/* SPDX-License-Identifier: Apache-2.0
 * Feature maps of kernel attention that go element by element or row by row. Items are blocks of
 * rows. */
#include "device/cpu/cpu.h"

#include <math.h>

#define PI 3.14159265358979323846

struct features {
    struct oa_device *d;
    long rows, length, heads, width, block; /* block: rows an item */
    long first;                             /* position of the first row of a sequence */
    double a; /* factor of a product; of positions, where the angle is π/2 */
    const void *x, *dy;
    void *y, *dx;
};

/* Runs `task` on blocks of rows that have `cols` elements each on the wider side. */
static void by_rows(struct features *f, long cols, oa_task *task)
{
    f->block = oa_item_rows(cols);
    oa_parallel(f->d->context, oa_blocks(f->rows, f->block), task, f);
}

/* ---- positions as angles
 * -------------------------------------------------------------------------------------- */

static void place(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct features *f = argument;
    long cols = f->heads * f->width;
    for (long i = item * f->block; i < oa_min(f->rows, (item + 1) * f->block); i++) {
        double angle = PI * (double)(f->first + i % f->length) / (2 * f->a);
        const void *x = oa_act_at(f->d, f->x, i * cols);
        if (f->dx)
            f->d->cpu->kernels.place_gradient(f->heads, f->width, cos(angle), sin(angle), x,
                                              oa_act_at(f->d, f->dy, 2 * i * cols),
                                              oa_act_at(f->d, f->dx, i * cols));
        else
            f->d->cpu->kernels.place(f->heads, f->width, cos(angle), sin(angle), x,
                                     oa_act_at(f->d, f->y, 2 * i * cols));
    }
}

void oa_cpu_place(struct oa_device *d, long tokens, long length, long heads, long width, long first,
                  double limit, const void *x, void *y)
{
    struct features f = { d,          tokens, length, heads, width, .first = first,
                          .a = limit, .x = x, .y = y };
    by_rows(&f, 2 * heads * width, place);
}

void oa_cpu_place_gradient(struct oa_device *d, long tokens, long length, long heads, long width,
                           long first, double limit, const void *x, const void *dy, void *dx)
{
    struct features f = { d,          tokens, length,   heads,   width, .first = first,
                          .a = limit, .x = x, .dy = dy, .dx = dx };
    by_rows(&f, 2 * heads * width, place);
}

/* ---- products
 * ---------------------------------------------------------------------------------------------------
 */

static void product(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct features *f = argument;
    long first = item * f->block;
    f->d->cpu->kernels.product(oa_min(f->block, f->rows - first), f->a,
                               oa_act_at(f->d, f->x, first), oa_act_at(f->d, f->dy, first),
                               oa_act_at(f->d, f->y, first));
}

void oa_cpu_product(struct oa_device *d, long n, double a, const void *x, const void *y, void *z)
{
    struct features f = { d, n, .a = a, .x = x, .dy = y, .y = z };
    by_rows(&f, 1, product);
}
