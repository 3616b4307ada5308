/* SPDX-License-Identifier: Apache-2.0
 * Forget gates in the logits (Lin et al. 2025, arXiv 2503.02130):
 *
 *     c_i = Σ_{l≤i} ln σ(z_l),   S_ij += c_i − c_j
 *     dc_t = Σ_j dS_tj − Σ_i dS_it,   dz_l = (1 − σ(z_l)) Σ_{t≥l} dc_t
 *
 * Sums are of doubles. A tile adds c_i − c_r to its rows and c_r − c_j to its columns, r being its
 * first row, so that the large part of c is never rounded to a real. */
#include "device/cpu/cpu_logits_gradient.h"

#include <string.h>

/* ---- sums along the sequence: an item is a sequence ---- */

struct forget_call {
    struct oa_device *d;
    const struct oa_forget_sums *a;
};

static double log_sigmoid(double z)
{
    return z < 0 ? z - log1p(exp(z)) : -log1p(exp(-z));
}

/* x as two reals. */
static void put_forget_sum(const struct oa_device *d, void *pair, double x)
{
    oa_real_set(d, pair, 0, x);
    oa_real_set(d, pair, 1, x - oa_real_get(d, pair, 0));
}

static double forget_sum(const struct oa_device *d, const void *sums, long row, long heads, long h)
{
    const void *pair = oa_real_at(d, sums, (row * heads + h) * 2);
    return oa_real_get(d, pair, 0) + oa_real_get(d, pair, 1);
}

static void forget_sums_item(void *argument, long b, const struct oa_worker *w)
{
    const struct forget_call *f = argument;
    const struct oa_device *d = f->d;
    const struct oa_forget_sums *a = f->a;
    long H = a->heads;
    double *c = oa_arena_take(w->scratch, (size_t)H * sizeof *c);
    void *z = oa_arena_take(w->scratch, (size_t)H * d->numbers.real_size);
    for (long h = 0; c && h < H; h++)
        c[h] = a->total ? forget_sum(d, a->total, 0, H, h) : 0;
    for (long i = b * a->length; c && z && i < (b + 1) * a->length; i++) {
        d->cpu->kernels.real_from_act(H, oa_act_at(d, a->z, i * H), z);
        for (long h = 0; h < H; h++) {
            c[h] += log_sigmoid(oa_real_get(d, z, h));
            put_forget_sum(d, oa_real_at(d, a->sums, (i * H + h) * 2), c[h]);
        }
    }
    for (long h = 0; c && a->total && h < H; h++)
        put_forget_sum(d, oa_real_at(d, a->total, 2 * h), c[h]);
}

static void forget_gradient_item(void *argument, long b, const struct oa_worker *w)
{
    const struct forget_call *f = argument;
    const struct oa_device *d = f->d;
    const struct oa_forget_sums *a = f->a;
    long H = a->heads;
    double *dc = oa_arena_take(w->scratch, (size_t)H * sizeof *dc);
    void *z = oa_arena_take(w->scratch, (size_t)H * d->numbers.real_size);
    for (long h = 0; dc && h < H; h++)
        dc[h] = 0;
    for (long i = (b + 1) * a->length - 1; dc && z && i >= b * a->length; i--) {
        d->cpu->kernels.real_from_act(H, oa_act_at(d, a->z, i * H), z);
        for (long h = 0; h < H; h++) {
            dc[h] += oa_real_get(d, a->dsums, i * H + h);
            oa_real_set(d, z, h, dc[h] / (1 + exp(oa_real_get(d, z, h))));
        }
        d->cpu->kernels.act_from_real(H, z, oa_act_at(d, a->dz, i * H));
    }
}

void oa_cpu_forget_sums(struct oa_device *d, const struct oa_forget_sums *a)
{
    struct forget_call f = { d, a };
    oa_parallel(d->context, a->batch, forget_sums_item, &f);
}

void oa_cpu_forget_sums_gradient(struct oa_device *d, const struct oa_forget_sums *a)
{
    struct forget_call f = { d, a };
    oa_parallel(d->context, a->batch, forget_gradient_item, &f);
}

/* ---- rows of logits ---- */

static double query_sum(const struct oa_device *d, const struct oa_logits *a, long b, long h,
                        long i)
{
    const struct oa_forgetting *f = &a->forgetting;
    return forget_sum(d, f->query, b * f->query_rows + i, a->shape.heads, h);
}

static double key_sum(const struct oa_device *d, const struct oa_logits *a, long b, long h, long j)
{
    const struct oa_forgetting *f = &a->forgetting;
    return forget_sum(d, f->key, b * f->key_rows + j, a->shape.heads, h);
}

void oa_forgetting_row(struct oa_device *d, const struct oa_logits *a, long b, long h, long begin,
                       long n, void *s)
{
    double c = query_sum(d, a, b, h, 0);
    for (long j = 0; j < n; j++)
        oa_real_set(d, s, j, oa_real_get(d, s, j) + c - key_sum(d, a, b, h, begin + j));
}

void oa_tiles_add_forgetting(struct oa_tiles *t, double factor)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long cols = oa_bounds_length(t->cols);
    void *columns = t->part, *ones = oa_real_at(t->d, t->part, t->padded_cols);
    if (!t->a->forgetting.query)
        return;
    double first = query_sum(t->d, t->a, t->b, t->h, t->rows.begin);
    for (long j = 0; j < cols; j++)
        oa_real_set(t->d, columns, j,
                    factor * (first - key_sum(t->d, t->a, t->b, t->h, t->cols.begin + j)));
    oa_real_fill(t->d, cols, 1, ones);
    for (long i = 0; i < oa_bounds_length(t->rows); i++) {
        double own = query_sum(t->d, t->a, t->b, t->h, t->rows.begin + i) - first;
        void *row = oa_real_at(t->d, t->s, i * t->padded_cols);
        k->axpy(cols, 1, columns, row);
        if (own != 0)
            k->axpy(cols, factor * own, ones, row);
    }
}

/* ---- gradient ---- */

/* Row `row` of head h of dquery or dkey += x. */
static void add_forget_gradient(const struct oa_tiles *t, void *sums, long row, double x)
{
    long at = row * t->a->shape.heads + t->h;
    oa_real_set(t->d, sums, at, oa_real_get(t->d, sums, at) + x);
}

void oa_tiles_forgetting_gradient(struct oa_tiles *t, const struct oa_gradients *g)
{
    const struct oa_forgetting *f = &t->a->forgetting;
    const struct oa_kernels *k = &t->d->cpu->kernels;
    long rows = oa_bounds_length(t->rows), cols = oa_bounds_length(t->cols);
    if (g->f->sides & OA_QUERY_SIDE) {
        k->row_dots(rows, cols, g->ds, t->padded_cols, g->ones, 0, g->sums);
        for (long i = 0; i < rows; i++)
            add_forget_gradient(t, f->dquery, t->b * f->query_rows + t->rows.begin + i,
                                oa_real_get(t->d, g->sums, i));
    }
    if (g->f->sides & OA_KEY_SIDE) {
        oa_real_fill(t->d, cols, 0, g->sums);
        k->column_sums(rows, cols, g->ds, t->padded_cols, g->sums);
        for (long j = 0; j < cols; j++)
            add_forget_gradient(t, f->dkey, t->b * f->key_rows + t->cols.begin + j,
                                -oa_real_get(t->d, g->sums, j));
    }
}
