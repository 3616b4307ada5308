/* SPDX-License-Identifier: Apache-2.0
 * The logits engine with weights that are no softmax. Each row has a number that is found before
 * its first weight, in a walk over the tiles of its block:
 *
 *     SIGMOID     P_ij = σ(S_ij − r_i),           r_i = ln |V_i|, +∞ for an empty row
 *     SPARSEMAX   P_ij = max(0, S_ij − r_i),      r_i = τ_i with Σ_j P_ij = 1
 *     ENTMAX      P_ij = max(0, S_ij/2 − r_i)²,   the same
 *
 * τ needs all logits of a row: a buffer of a block of queries × all keys visible to it. f(τ) = Σ_j
 * max(0, x_j − τ)^k − 1, k = 1 or 2, falls and is convex, f(max x − 1) ≥ 0, so that Newton's method
 * from there rises to the zero and never passes it. The logits are computed again for the weights,
 * as for the gradients.
 *
 * Backward, with g = 1 where P > 0, or √P:
 *
 *     SIGMOID             dS_ij = P_ij (1 − P_ij) dP_ij
 *     SPARSEMAX, ENTMAX   dS_ij = g_ij (dP_ij − δ_i),   δ_i = Σ_j g_ij dP_ij / Σ_j g_ij
 *
 * δ_i is a sum over all keys of the row and is computed in a separate pass, whose items are blocks
 * of queries of a (b,h). */
#include "device/cpu/cpu_logits_gradient.h"

#include <string.h>

/* ---- numbers of the rows ---- */

static long count_visible_keys(const struct oa_tiles *t, long i)
{
    const struct oa_support_functions *f = t->support;
    const struct oa_attention_shape *s = &t->a->shape;
    long low = t->low[i], high = t->high[i], row = s->first + t->rows.begin + i, count = 0;
    if (!f || f->row || !f->visible)
        return oa_max(0, high - low);
    for (long j = low, end; j < high; j = end) {
        end = f->alike ? f->alike(&t->a->support, s, t->h, row, j, high) : j + 1;
        count += f->visible(&t->a->support, s, t->h, row, j) ? end - j : 0;
    }
    return count;
}

static void count_block_keys(struct oa_tiles *t, void *numbers)
{
    for (long i = 0; i < t->padded_rows; i++) {
        long count = i < oa_bounds_length(t->rows) ? count_visible_keys(t, i) : 0;
        oa_real_set(t->d, numbers, i, count ? log((double)count) : INFINITY);
    }
}

/* Σ max(0, x_j − τ)^k and Σ k max(0, x_j − τ)^{k−1} of n logits, scaled and shifted. */
static void threshold_sums(const double *x, long n, int k, double tau, double *f, double *slope)
{
    *f = *slope = 0;
    for (long j = 0; j < n; j++) {
        double above = x[j] - tau;
        if (above <= 0)
            continue;
        *f += k == 1 ? above : above * above;
        *slope += k == 1 ? 1 : 2 * above;
    }
}

/* τ + top of logits x − top, of which the largest is 0. */
static double find_threshold(double *x, long n, int k)
{
    double tau = -1, f, slope;
    long kept = 0;
    for (long j = 0; j < n; j++) /* others are below every τ of the iteration */
        if (x[j] > -1)
            x[kept++] = x[j];
    for (int step = 0; step < 100; step++) {
        threshold_sums(x, kept, k, tau, &f, &slope);
        double next = tau + (f - 1) / slope;
        if (!(next > tau))
            break;
        tau = next;
    }
    return tau;
}

double oa_row_threshold(const struct oa_device *d, const struct oa_logits *a, const void *row,
                        long n, double factor, double *x)
{
    bool entmax = a->normaliser == OA_NORMALISE_ENTMAX;
    double top = -INFINITY, scale = entmax ? factor / 2 : factor;
    for (long j = 0; j < n; j++) {
        x[j] = scale * oa_real_get(d, row, j);
        top = fmax(top, x[j]);
    }
    for (long j = 0; j < n; j++)
        x[j] -= top;
    return isfinite(top) ? top + find_threshold(x, n, entmax ? 2 : 1) : INFINITY;
}

/* Copies the visible logits of the current tile to their places in rows of `width`. */
static void keep_tile_logits(struct oa_tiles *t, long width, void *rows)
{
    size_t real = t->d->numbers.real_size;
    for (long i = 0; i < oa_bounds_length(t->rows); i++) {
        long low = t->tile_low[i], n = t->tile_high[i] - low;
        if (n > 0)
            memcpy(oa_real_at(t->d, rows, i * width + t->cols.begin - t->seen.begin + low),
                   oa_real_at(t->d, t->s, i * t->padded_cols + low), (size_t)n * real);
    }
}

static void find_block_thresholds(struct oa_tiles *t, void *numbers)
{
    long n = oa_bounds_length(t->seen), rows = oa_bounds_length(t->rows);
    void *logits = oa_tiles_take(t, rows * n, t->d->numbers.real_size);
    double *x = oa_tiles_take(t, n, sizeof *x), factor = 1;
    if (t->failed)
        return;
    oa_real_fill(t->d, rows * n, -INFINITY, logits);
    while (oa_tiles_next(t)) {
        factor = oa_tiles_logits(t);
        keep_tile_logits(t, n, logits);
    }
    oa_real_fill(t->d, t->padded_rows, INFINITY, numbers);
    for (long i = 0; i < rows; i++)
        oa_real_set(t->d, numbers, i,
                    oa_row_threshold(t->d, t->a, oa_real_at(t->d, logits, i * n), n, factor, x));
}

void oa_weights_open_block(struct oa_tiles *t, struct oa_bounds within, void *numbers)
{
    if (!oa_weighs_sums(t->a)) {
        count_block_keys(t, numbers);
        return;
    }
    size_t mark = oa_arena_mark(t->scratch);
    find_block_thresholds(t, numbers);
    oa_arena_release(t->scratch, mark);
    oa_tiles_block(t, t->rows.begin, within);
}

void oa_weights_tile(struct oa_tiles *t, double factor, const void *numbers)
{
    t->d->cpu->kernels.weigh_tile(oa_weighing_of(t->a), t->padded_rows, t->padded_cols, factor,
                                  t->tile_low, t->tile_high, numbers, t->s, t->padded_cols);
}

/* ---- δ ---- */

static void delta_block(struct oa_tiles *t, struct oa_gradients *g, long i0)
{
    const struct oa_attention_shape *s = &t->a->shape;
    struct oa_device *d = t->d;
    if (!oa_tiles_block(t, i0, (struct oa_bounds){ 0, s->keys }))
        return;
    long rows = oa_bounds_length(t->rows);
    void *above = oa_tiles_take(t, t->padded_rows, d->numbers.real_size),
         *below = oa_tiles_take(t, t->padded_rows, d->numbers.real_size);
    if (t->failed)
        return;
    oa_gradient_load_rows(t, g);
    oa_real_fill(d, t->padded_rows, 0, above);
    oa_real_fill(d, t->padded_rows, 0, below);
    while (oa_tiles_next(t))
        oa_gradient_tile_sums(t, g, above, below);
    void *delta = oa_real_at(d, g->f->delta, (t->b * s->heads + t->h) * s->queries + i0);
    for (long i = 0; i < rows; i++) {
        double sum = oa_real_get(d, below, i);
        oa_real_set(d, delta, i, sum > 0 ? oa_real_get(d, above, i) / sum : 0);
    }
}

static void delta_item(void *argument, long item, const struct oa_worker *w)
{
    const struct oa_logits_backward *f = argument;
    const struct oa_attention_shape *s = &f->a->shape;
    long block = oa_tiles_query_block(f->d, f->a, f->d->cpu->kernels.key_block),
         blocks = oa_blocks(s->queries, block), head = item / blocks, i0 = item % blocks * block;
    struct oa_tiles t;
    struct oa_gradients g;
    oa_tiles_open(&t, f->d, f->a, w, f->d->cpu->kernels.key_block);
    oa_gradient_open(&t, &g, f);
    oa_tiles_head(&t, head / s->heads, head % s->heads);
    struct oa_bounds rows = { i0, oa_min(i0 + t.query_block, s->queries) };
    if (t.failed || i0 >= t.queries)
        return;
    oa_tiles_pack_queries(&t, rows, true);
    oa_tiles_pack_keys(&t, oa_tiles_seen(&t, i0, oa_min(rows.end, t.queries)), true);
    if (!t.failed)
        delta_block(&t, &g, i0);
}

void oa_weights_deltas(struct oa_logits_backward *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    long block = oa_tiles_query_block(f->d, f->a, f->d->cpu->kernels.key_block);
    f->sides = OA_QUERY_SIDE | OA_KEY_SIDE;
    oa_parallel(f->d->context, s->batch * s->heads * oa_blocks(s->queries, block), delta_item, f);
}
