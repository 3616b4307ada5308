/* SPDX-License-Identifier: Apache-2.0
 * Operations on rows of a matrix. Items are blocks of rows; sums over rows are cut by columns
 * instead, so that no two items add to the same place. */
#include "device/cpu/cpu.h"

#include <string.h>

enum { COLUMN_BLOCK = 64 }; /* columns summed by an item: one or more cache lines of every type */

struct rows_call {
    struct oa_device *d;
    long rows, cols, block; /* block: rows an item */
    const void *x, *y, *factor;
    long ldx, ldy, ldout, length;
    void *out;
    const int32_t *lengths, *index;
    bool back; /* rows go to their index, not from there */
    enum oa_feature feature;
    int degree;
};

/* Runs `task` on blocks of rows. */
static void run_by_rows(struct rows_call *r, oa_task *task)
{
    r->block = oa_item_rows(r->cols);
    oa_parallel(r->d->context, oa_blocks(r->rows, r->block), task, r);
}

static void run_by_columns(struct rows_call *r, oa_task *task)
{
    oa_parallel(r->d->context, oa_blocks(r->cols, COLUMN_BLOCK), task, r);
}

static void add_bias_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct rows_call *r = argument;
    long first = item * r->block;
    r->d->cpu->kernels.add_bias(oa_min(r->block, r->rows - first), r->cols, r->factor,
                                oa_act_at(r->d, r->out, first * r->ldout), r->ldout);
}

void oa_cpu_add_bias(struct oa_device *d, long rows, long cols, const void *bias, void *y, long ldy)
{
    struct rows_call r = {
        .d = d, .rows = rows, .cols = cols, .factor = bias, .out = y, .ldout = ldy
    };
    run_by_rows(&r, add_bias_item);
}

static void column_sums_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct rows_call *r = argument;
    long first = item * COLUMN_BLOCK;
    r->d->cpu->kernels.column_sums(r->rows, oa_min(COLUMN_BLOCK, r->cols - first),
                                   oa_act_at(r->d, r->x, first), r->ldx,
                                   oa_real_at(r->d, r->out, first));
}

void oa_cpu_column_sums(struct oa_device *d, long rows, long cols, const void *x, long ldx,
                        void *sums)
{
    struct rows_call r = { .d = d, .rows = rows, .cols = cols, .x = x, .ldx = ldx, .out = sums };
    run_by_columns(&r, column_sums_item);
}

static void feature_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct rows_call *r = argument;
    long first = item * r->block;
    r->d->cpu->kernels.feature(r->feature, r->degree, oa_min(r->block, r->rows - first), r->cols,
                               oa_act_at(r->d, r->x, first * r->ldx), r->ldx,
                               oa_act_at(r->d, r->out, first * r->ldout), r->ldout);
}

void oa_cpu_feature(struct oa_device *d, enum oa_feature f, int degree, long rows, long width,
                    const void *x, long ldx, void *y, long ldy)
{
    struct rows_call r = { .d = d,
                           .rows = rows,
                           .cols = width,
                           .x = x,
                           .ldx = ldx,
                           .out = y,
                           .ldout = ldy,
                           .feature = f,
                           .degree = degree };
    run_by_rows(&r, feature_item);
}

static void feature_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct rows_call *r = argument;
    long first = item * r->block;
    r->d->cpu->kernels.feature_gradient(r->feature, r->degree, oa_min(r->block, r->rows - first),
                                        r->cols, oa_act_at(r->d, r->x, first * r->ldx), r->ldx,
                                        oa_act_at(r->d, r->y, first * r->ldy), r->ldy,
                                        oa_act_at(r->d, r->out, first * r->ldout), r->ldout);
}

void oa_cpu_feature_gradient(struct oa_device *d, enum oa_feature f, int degree, long rows,
                             long width, const void *x, long ldx, const void *dy, long lddy,
                             void *dx, long lddx)
{
    struct rows_call r = { .d = d,
                           .rows = rows,
                           .cols = width,
                           .x = x,
                           .ldx = ldx,
                           .y = dy,
                           .ldy = lddy,
                           .out = dx,
                           .ldout = lddx,
                           .feature = f,
                           .degree = degree };
    run_by_rows(&r, feature_gradient_item);
}

static bool is_real_row(const struct rows_call *r, long i)
{
    return !r->lengths || i % r->length < r->lengths[i / r->length];
}

static void select_rows_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct rows_call *r = argument;
    size_t bytes = (size_t)r->cols * r->d->numbers.act_size;
    for (long i = item * r->block; i < oa_min(r->rows, (item + 1) * r->block); i++) {
        void *out = oa_act_at(r->d, r->out, i * r->ldout);
        if (is_real_row(r, i))
            memcpy(out, oa_act_at(r->d, r->x, i * r->ldx), bytes);
        else
            memset(out, 0, bytes);
    }
}

void oa_cpu_select_rows(struct oa_device *d, long rows, long cols, long length,
                        const int32_t *lengths, const void *x, long ldx, void *y, long ldy)
{
    struct rows_call r = { .d = d,
                           .rows = rows,
                           .cols = cols,
                           .length = length,
                           .lengths = lengths,
                           .x = x,
                           .ldx = ldx,
                           .out = y,
                           .ldout = ldy };
    run_by_rows(&r, select_rows_item);
}

enum { PUTS = 4 }; /* of an item */

struct put_heads_call {
    const struct oa_device *d;
    long count;
    const struct oa_head_put *const *a;
};

static void put_heads_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct put_heads_call *f = argument;
    for (long i = item * PUTS; i < oa_min(f->count, (item + 1) * PUTS); i++) {
        const struct oa_head_put *a = f->a[i];
        for (long h = 0; h < a->heads; h++)
            memcpy(oa_act_at(f->d, a->y, h * a->step), oa_act_at(f->d, a->x, h * a->width),
                   (size_t)a->width * f->d->numbers.act_size);
    }
}

void oa_cpu_put_heads(struct oa_device *d, long n, const struct oa_head_put *const *a)
{
    struct put_heads_call f = { d, n, a };
    oa_parallel(d->context, oa_blocks(n, PUTS), put_heads_item, &f);
}

/* ---- rows of a sequence ---- */

static void choose_row_item(void *argument, long i, const struct oa_worker *worker)
{
    (void)worker;
    const struct rows_call *r = argument;
    size_t bytes = (size_t)r->cols * r->d->numbers.act_size;
    long from = r->back ? i : r->index[i], to = r->back ? r->index[i] : i;
    memcpy(oa_act_at(r->d, r->out, to * r->cols), oa_act_at(r->d, r->x, from * r->cols), bytes);
}

void oa_cpu_choose_rows(struct oa_device *d, const struct oa_row_choice *a)
{
    struct rows_call r = { .d = d, .cols = a->cols, .x = a->x, .out = a->y, .index = a->index };
    oa_parallel(d->context, a->count, choose_row_item, &r);
}

void oa_cpu_choose_rows_gradient(struct oa_device *d, const struct oa_row_choice *a)
{
    struct rows_call r = {
        .d = d, .cols = a->cols, .x = a->dy, .out = a->dx, .index = a->index, .back = true
    };
    oa_cpu_zero(d, (size_t)(a->rows * a->cols) * d->numbers.act_size, a->dx);
    oa_parallel(d->context, a->count, choose_row_item, &r);
}

static void scale_columns_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct rows_call *r = argument;
    for (long i = item * r->block; i < oa_min(r->rows, (item + 1) * r->block); i++)
        r->d->cpu->kernels.multiply(r->cols, r->factor, oa_act_at(r->d, r->x, i * r->ldx),
                                    oa_act_at(r->d, r->out, i * r->ldout));
}

void oa_cpu_scale_columns(struct oa_device *d, long rows, long cols, const void *factor,
                          const void *x, long ldx, void *y, long ldy)
{
    struct rows_call r = { .d = d,
                           .rows = rows,
                           .cols = cols,
                           .factor = factor,
                           .x = x,
                           .ldx = ldx,
                           .out = y,
                           .ldout = ldy };
    run_by_rows(&r, scale_columns_item);
}

static void scale_columns_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct rows_call *r = argument;
    long first = item * COLUMN_BLOCK, n = oa_min(COLUMN_BLOCK, r->cols - first);
    for (long i = 0; i < r->rows; i++)
        r->d->cpu->kernels.multiply_gradient(n, oa_act_at(r->d, r->x, i * r->ldx + first),
                                             oa_act_at(r->d, r->y, i * r->ldy + first),
                                             oa_real_at(r->d, r->out, first));
}

void oa_cpu_scale_columns_gradient(struct oa_device *d, long rows, long cols, const void *x,
                                   long ldx, const void *dy, long lddy, void *dfactor)
{
    struct rows_call r = {
        .d = d, .rows = rows, .cols = cols, .x = x, .ldx = ldx, .y = dy, .ldy = lddy, .out = dfactor
    };
    run_by_columns(&r, scale_columns_gradient_item);
}

/* ---- rotary positions ---- */

struct rotate_call {
    struct oa_device *d;
    const struct oa_rotated_rows *a;
    long block;
};

static void rotate_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct rotate_call *r = argument;
    const struct oa_rotated_rows *a = r->a;
    struct oa_rotation turn = a->rotation;
    for (long i = item * r->block; i < oa_min(a->tokens, (item + 1) * r->block); i++) {
        long position = i % a->length * (turn.turned / 2);
        turn.cosine = oa_real_at(r->d, a->rotation.cosine, position);
        turn.sine = oa_real_at(r->d, a->rotation.sine, position);
        r->d->cpu->kernels.rotate(&turn, a->sign, oa_act_at(r->d, a->x, i * a->ldx));
    }
}

void oa_cpu_rotate(struct oa_device *d, const struct oa_rotated_rows *a)
{
    struct rotate_call r = { d, a, oa_item_rows(a->rotation.heads * a->rotation.width) };
    oa_parallel(d->context, oa_blocks(a->tokens, r.block), rotate_item, &r);
}
