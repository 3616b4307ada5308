/* SPDX-License-Identifier: Apache-2.0
 * Feature maps of kernel attention that go element by element or row by row. Items are blocks of rows. */
#include "device/cpu.h"

#include <math.h>

struct features {
    struct oa_device *d;
    long rows, length, heads, width, block; /* block: rows an item */
    const double *angles, *c;
    double a;
    const void *x, *dy;
    void *y, *dx;
};

/* Runs `task` on blocks of rows that have `cols` elements each on the wider side. */
static void by_rows(struct features *f, long cols, oa_task *task)
{
    f->block = oa_item_rows(cols);
    oa_parallel(f->d->context, oa_blocks(f->rows, f->block), task, f);
}

/* ---- positions as angles -------------------------------------------------------------------------------------- */

static void place(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct features *f = argument;
    long cols = f->heads * f->width;
    for (long i = item * f->block; i < oa_min(f->rows, (item + 1) * f->block); i++) {
        double angle = f->angles[i % f->length];
        const void *x = oa_act_at(f->d, f->x, i * cols);
        if (f->dx)
            f->d->kernels.place_gradient(f->heads, f->width, cos(angle), sin(angle), x,
                                         oa_act_at(f->d, f->dy, 2 * i * cols), oa_act_at(f->d, f->dx, i * cols));
        else
            f->d->kernels.place(f->heads, f->width, cos(angle), sin(angle), x, oa_act_at(f->d, f->y, 2 * i * cols));
    }
}

void oa_cpu_place(struct oa_device *d, long tokens, long length, long heads, long width, const double *angles,
                  const void *x, void *y)
{
    struct features f = { d, tokens, length, heads, width, .angles = angles, .x = x, .y = y };
    by_rows(&f, 2 * heads * width, place);
}

void oa_cpu_place_gradient(struct oa_device *d, long tokens, long length, long heads, long width, const double *angles,
                           const void *x, const void *dy, void *dx)
{
    struct features f = { d, tokens, length, heads, width, .angles = angles, .x = x, .dy = dy, .dx = dx };
    by_rows(&f, 2 * heads * width, place);
}

/* ---- polynomials of degree 2 ------------------------------------------------------------------------------------ */

static long quadratic_width(const struct features *f)
{
    return (f->c[0] != 0) + (f->c[1] != 0) * f->width + f->width * (f->width + 1) / 2;
}

static void quadratic(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct features *f = argument;
    long first = item * f->block, rows = oa_min(f->block, f->rows - first), out = quadratic_width(f);
    const void *x = oa_act_at(f->d, f->x, first * f->width);
    if (f->dx)
        f->d->kernels.quadratic_gradient(rows, f->width, f->c, x, f->width, oa_act_at(f->d, f->dy, first * out), out,
                                         oa_act_at(f->d, f->dx, first * f->width), f->width);
    else
        f->d->kernels.quadratic(rows, f->width, f->c, x, f->width, oa_act_at(f->d, f->y, first * out), out);
}

void oa_cpu_quadratic(struct oa_device *d, long rows, long width, const double c[3], const void *x, void *y)
{
    struct features f = { d, rows, .width = width, .c = c, .x = x, .y = y };
    by_rows(&f, quadratic_width(&f), quadratic);
}

void oa_cpu_quadratic_gradient(struct oa_device *d, long rows, long width, const double c[3], const void *x,
                               const void *dy, void *dx)
{
    struct features f = { d, rows, .width = width, .c = c, .x = x, .dy = dy, .dx = dx };
    by_rows(&f, quadratic_width(&f), quadratic);
}

/* ---- products --------------------------------------------------------------------------------------------------- */

static void product(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct features *f = argument;
    long first = item * f->block;
    f->d->kernels.product(oa_min(f->block, f->rows - first), f->a, oa_act_at(f->d, f->x, first),
                          oa_act_at(f->d, f->dy, first), oa_act_at(f->d, f->y, first));
}

void oa_cpu_product(struct oa_device *d, long n, double a, const void *x, const void *y, void *z)
{
    struct features f = { d, n, .a = a, .x = x, .dy = y, .y = z };
    by_rows(&f, 1, product);
}
