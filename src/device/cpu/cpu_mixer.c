/* SPDX-License-Identifier: Apache-2.0
 * Operations of the token mixer (ops/mixer_op.c) besides matrix products:
 *
 *     masked copy of a weight   y_ij = x_ij for j < high_i, else 0
 *                               dx_ij += dy_ij for j < high_i
 *     bias of each position     y_{b,i,c} += bias_i,   dbias_i += Σ_{b,c} dy_{b,i,c}
 *
 * Items are rows; the item that owns a position sums the gradient of its bias in the order of b
 * and c. */
#include "device/cpu/cpu.h"

struct mixer_rows {
    struct oa_device *d;
    long rows, cols, run, length, ld;
    const int32_t *high;
    const void *x;
    void *y;
};

static void run_mixer_rows(struct mixer_rows *m, oa_task *task, long rows)
{
    m->run = oa_item_rows(m->cols);
    oa_parallel(m->d->context, oa_blocks(rows, m->run), task, m);
}

static void mask_rows_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    static const int32_t none = 0;
    const struct mixer_rows *m = argument;
    for (long i = item * m->run; i < oa_min(m->rows, (item + 1) * m->run); i++)
        m->d->cpu->kernels.mask_tile(1, m->cols, &none, &m->high[i],
                                     oa_real_at(m->d, m->x, i * m->cols), m->cols,
                                     oa_act_at(m->d, m->y, i * m->cols), m->cols, NULL);
}

void oa_cpu_mask_rows(struct oa_device *d, long rows, long cols, const int32_t *high, const void *x,
                      void *y)
{
    run_mixer_rows(
        &(struct mixer_rows){ .d = d, .rows = rows, .cols = cols, .high = high, .x = x, .y = y },
        mask_rows_item, rows);
}

static void mask_rows_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct mixer_rows *m = argument;
    for (long i = item * m->run; i < oa_min(m->rows, (item + 1) * m->run); i++)
        m->d->cpu->kernels.axpy(oa_min(m->cols, m->high[i]), 1, oa_real_at(m->d, m->x, i * m->cols),
                                oa_real_at(m->d, m->y, i * m->cols));
}

void oa_cpu_mask_rows_gradient(struct oa_device *d, long rows, long cols, const int32_t *high,
                               const void *dy, void *dx)
{
    run_mixer_rows(
        &(struct mixer_rows){ .d = d, .rows = rows, .cols = cols, .high = high, .x = dy, .y = dx },
        mask_rows_gradient_item, rows);
}

/* One row of the bias, written out, for the kernel that adds a row to rows. */
static void position_bias_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct mixer_rows *m = argument;
    void *row = oa_arena_take(worker->scratch, (size_t)m->cols * m->d->numbers.real_size);
    for (long i = item * m->run; row && i < oa_min(m->rows, (item + 1) * m->run); i++) {
        double bias = oa_real_get(m->d, m->x, i % m->length);
        for (long c = 0; c < m->cols; c++)
            oa_real_set(m->d, row, c, bias);
        m->d->cpu->kernels.add_bias(1, m->cols, row, oa_act_at(m->d, m->y, i * m->ld), m->ld);
    }
}

void oa_cpu_add_position_bias(struct oa_device *d, long rows, long cols, long length,
                              const void *bias, void *y, long ldy)
{
    run_mixer_rows(
        &(struct mixer_rows){
            .d = d, .rows = rows, .cols = cols, .length = length, .x = bias, .y = y, .ld = ldy },
        position_bias_item, rows);
}

static void position_sums_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct mixer_rows *m = argument;
    void *row = oa_arena_take(worker->scratch, (size_t)m->cols * m->d->numbers.real_size);
    for (long i = item * m->run; row && i < oa_min(m->length, (item + 1) * m->run); i++) {
        double sum = oa_real_get(m->d, m->y, i);
        for (long at = i; at < m->rows; at += m->length) {
            m->d->cpu->kernels.real_from_act(m->cols, oa_act_at(m->d, m->x, at * m->ld), row);
            for (long c = 0; c < m->cols; c++)
                sum += oa_real_get(m->d, row, c);
        }
        oa_real_set(m->d, m->y, i, sum);
    }
}

void oa_cpu_position_sums(struct oa_device *d, long rows, long cols, long length, const void *x,
                          long ldx, void *sums)
{
    run_mixer_rows(
        &(struct mixer_rows){
            .d = d, .rows = rows, .cols = cols, .length = length, .x = x, .y = sums, .ld = ldx },
        position_sums_item, length);
}
