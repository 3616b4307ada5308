/* SPDX-License-Identifier: Apache-2.0
 * The mean of the real rows of each sequence; a sequence is an item. */
#include "device/cpu/cpu.h"

#include <string.h>

struct mean_call {
    struct oa_device *d;
    const struct oa_row_means *a;
};

static long averaged_rows(const struct oa_row_means *a, long b)
{
    return a->lengths ? a->lengths[b] : a->length;
}

static void mean_item(void *argument, long b, const struct oa_worker *worker)
{
    const struct mean_call *m = argument;
    const struct oa_row_means *a = m->a;
    const struct oa_kernels *k = &m->d->cpu->kernels;
    long rows = averaged_rows(a, b);
    void *sum = oa_arena_take(worker->scratch, (size_t)a->cols * k->real_size);
    if (!sum)
        return;
    memset(sum, 0, (size_t)a->cols * k->real_size);
    for (long i = 0; i < rows; i++)
        k->add_to_real(a->cols, 1 / (double)rows,
                       oa_act_at(m->d, a->x, (b * a->length + i) * a->cols), sum);
    k->act_from_real(a->cols, sum, oa_act_at(m->d, a->y, b * a->cols));
}

void oa_cpu_mean_rows(struct oa_device *d, const struct oa_row_means *a)
{
    struct mean_call m = { d, a };
    oa_parallel(d->context, a->batch, mean_item, &m);
}

/* One row of gradient, the same for all real rows. */
static void mean_gradient_item(void *argument, long b, const struct oa_worker *worker)
{
    const struct mean_call *m = argument;
    const struct oa_row_means *a = m->a;
    const struct oa_kernels *k = &m->d->cpu->kernels;
    long rows = averaged_rows(a, b);
    size_t bytes = (size_t)a->cols * k->act_size;
    void *share = oa_arena_take(worker->scratch, (size_t)a->cols * k->real_size);
    char *to = oa_act_at(m->d, a->dx, b * a->length * a->cols);
    if (!share)
        return;
    memset(share, 0, (size_t)a->cols * k->real_size);
    k->add_to_real(a->cols, 1 / (double)rows, oa_act_at(m->d, a->dy, b * a->cols), share);
    for (long i = 0; i < rows; i++)
        k->act_from_real(a->cols, share, to + (size_t)i * bytes);
    memset(to + (size_t)rows * bytes, 0, (size_t)(a->length - rows) * bytes);
}

void oa_cpu_mean_rows_gradient(struct oa_device *d, const struct oa_row_means *a)
{
    struct mean_call m = { d, a };
    oa_parallel(d->context, a->batch, mean_gradient_item, &m);
}
