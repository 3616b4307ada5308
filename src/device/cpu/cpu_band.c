/* SPDX-License-Identifier: Apache-2.0
 * Weights over a band of keys around each query, given by position (hard-coded Gaussian heads: You,
 * Sun, Iyyer 2020) or by filters (light and dynamic convolutions: Wu et al. 2019). Tap k of row i
 * is key j = i + k − before:
 *
 *     O_i = Σ_k w_ik v_{i+k−before} over the taps on real keys,   w_i = softmax of the logits ℓ_i
 *
 * The softmax is over all taps, so that taps outside the sequence have their share of the weight,
 * or with `renormalise` over those on real keys. The logits of a filter are one row for each head,
 * or one for each token and head. A Gaussian has ℓ_ij = −(j − c)²/2σ² with c = i + offset, and
 * without `renormalise` w_ij = e^ℓ/(σ√2π).
 *
 * Width of a Gaussian: with j' the visible key nearest to c, at the distance δ, a key m places
 * further away has a logit lower by ((δ + m)² − δ²)/2σ² ≥ m²/2σ²: beyond m = 9.2σ a weight is below
 * 5e-19 of the largest of its row, and all of them together below the resolution of a double. The
 * band is centred on j', not c, so this also holds for rows whose centre is outside the sequence.
 *
 * Backward, with dw_ik = dO_i·v_j on real keys and 0 elsewhere:
 *
 *     dv_j = Σ_i w_ij dO_i,      dℓ_ik = w_ik (dw_ik − Σ_l w_il dw_il),
 *
 * and a row of logits that all tokens share gets Σ_bi dℓ_i: one sum for each (b,h), added in the
 * order of b.
 *
 * [B·S, H·V] → [B·T, H·V]; 2·T·taps·V FLOPs a (b,h), which is an item; memory a worker O(S·V). */
#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

struct band_call {
    struct oa_device *d;
    const struct oa_band *a;
    double *shared; /* [B, H, taps]: Σ_i dℓ_i; NULL when not wanted */
};

enum { FILTER_ROWS = 64 }; /* whose filters are computed at a time */

/* One (b,h), and the current row: w[k] is of key first + k, visible for begin ≤ k < end. */
struct band_rows {
    struct oa_device *d;
    const struct oa_band *a;
    long b, h, queries, keys;
    long first, count, begin, end;
    double *exact;              /* [taps]: weights that are not those of a token */
    void *w;                    /* real [taps]: of the current row */
    void *row, *dw, *dv;        /* real [V], [taps], [keys, V] */
    void *filters;              /* real [FILTER_ROWS, taps]: weights of tokens */
    void *top, *mass, *rescale; /* real [FILTER_ROWS] */
    int32_t *low, *high;        /* [FILTER_ROWS]: taps that have a share */
};

static long clamp_index(long x, long low, long high)
{
    return oa_max(low, oa_min(x, high));
}

/* ---- the weights of a row ---- */

/* Sets the keys of the band of row i. True if they are those of the row before, shifted by one. */
static bool place_band(struct band_rows *r, long i)
{
    const struct oa_band *a = r->a;
    long p = a->shape.first + i, first = p - a->before, count = a->taps;
    long keys = a->shape.causal ? oa_min(r->keys, p + 1) : r->keys;
    if (a->taps == 0) {
        long near = clamp_index(lround((double)p + a->offset), 0, oa_max(0, keys - 1)),
             reach = oa_band_reach(a->sigma);
        first = oa_max(0, near - reach);
        count = oa_max(0, oa_min(keys, near + reach + 1) - first);
    }
    long begin = oa_max(0, -first), end = clamp_index(keys - first, begin, oa_max(begin, count));
    bool same =
        i > 0 && first == r->first + 1 && count == r->count && begin == r->begin && end == r->end;
    r->first = first;
    r->count = count;
    r->begin = begin;
    r->end = end;
    return same;
}

static void read_band_logits(struct band_rows *r, long i)
{
    const struct oa_band *a = r->a;
    for (long k = 0; k < r->count && a->taps == 0; k++) {
        double z = ((double)(r->first + k - a->shape.first - i) - a->offset) / a->sigma;
        r->exact[k] = -z * z / 2;
    }
    for (long k = 0; k < a->taps; k++)
        r->exact[k] = oa_real_get(r->d, a->logits, r->h * a->taps + k);
}

/* e^ℓ over its sum over begin ≤ k < end; nothing elsewhere. */
static void softmax_range(double *w, long count, long begin, long end)
{
    double top = -INFINITY, sum = 0;
    for (long k = begin; k < end; k++)
        top = fmax(top, w[k]);
    for (long k = 0; k < count; k++) {
        w[k] = k >= begin && k < end ? exp(w[k] - top) : 0;
        sum += w[k];
    }
    for (long k = begin; k < end; k++)
        w[k] /= sum;
}

/* Rows i … of the filters of tokens; row i is the current row. */
static void make_filters(struct band_rows *r, long i)
{
    const struct oa_band *a = r->a;
    const struct oa_kernels *k = &r->d->cpu->kernels;
    long rows = oa_min(FILTER_ROWS, r->queries - i), taps = a->taps,
         at = (r->b * a->shape.queries + i) * a->ldlogits + r->h * taps;
    for (long n = 0; n < rows; n++) {
        if (n > 0)
            place_band(r, i + n);
        r->low[n] = a->renormalise ? (int32_t)r->begin : 0;
        r->high[n] = (int32_t)(a->renormalise ? r->end : taps);
    }
    place_band(r, i);
    oa_real_fill(r->d, rows, -INFINITY, r->top);
    oa_real_fill(r->d, rows, 0, r->mass);
    k->tile_to_real(rows, taps, oa_act_at(r->d, a->logits, at), a->ldlogits, r->filters, taps);
    k->softmax_tile(rows, taps, 1, r->low, r->high, r->filters, taps, r->top, r->mass, r->rescale);
    for (long n = 0; n < rows; n++) {
        double sum = oa_real_get(r->d, r->mass, n);
        oa_real_set(r->d, r->mass, n, sum == 0 ? 0 : 1 / sum);
    }
    k->scale_rows(rows, taps, r->mass, r->filters, taps);
}

/* Weights of a row that depend on its position only, or are the same for all rows. */
static void weigh_by_position(struct band_rows *r, long i)
{
    const struct oa_band *a = r->a;
    read_band_logits(r, i);
    if (a->renormalise)
        softmax_range(r->exact, r->count, r->begin, r->end);
    else if (a->taps > 0)
        softmax_range(r->exact, r->count, 0, r->count);
    for (long k = 0; k < r->count && a->taps == 0 && !a->renormalise; k++)
        r->exact[k] = exp(r->exact[k]) / (a->sigma * sqrt(2 * acos(-1)));
    for (long k = 0; k < r->count; k++)
        oa_real_set(r->d, r->w, k, r->exact[k]);
}

static void weigh_band_row(struct band_rows *r, long i)
{
    bool same = place_band(r, i);
    if (!r->a->tokens) {
        if (!same)
            weigh_by_position(r, i);
        return;
    }
    if (i % FILTER_ROWS == 0)
        make_filters(r, i);
    r->w = oa_real_at(r->d, r->filters, i % FILTER_ROWS * r->a->taps);
}

/* ---- rows of values ---- */

static void *band_act_row(const struct band_rows *r, const void *x, long ld, long length, long i)
{
    return oa_act_at(r->d, x, (r->b * length + i) * ld + r->h * r->a->shape.value_width);
}

static void *band_real_row(const struct band_rows *r, void *x, long j)
{
    return oa_real_at(r->d, x, j * r->a->shape.value_width);
}

static void clear_band_row(const struct band_rows *r, void *x)
{
    memset(x, 0, (size_t)r->a->shape.value_width * r->d->numbers.real_size);
}

static void zero_band_acts(const struct band_rows *r, void *x)
{
    memset(x, 0, (size_t)r->a->shape.value_width * r->d->numbers.act_size);
}

static void *take_band_reals(const struct band_rows *r, const struct oa_worker *w, long n,
                             bool *failed)
{
    void *x = oa_arena_take(w->scratch, (size_t)oa_max(1, n) * r->d->numbers.real_size);
    *failed |= !x;
    return x;
}

static bool open_band_rows(struct band_rows *r, const struct band_call *f, long item,
                           const struct oa_worker *w)
{
    const struct oa_band *a = f->a;
    const struct oa_attention_shape *s = &a->shape;
    long taps = oa_max(1, oa_band_taps(a)), filters = a->tokens ? FILTER_ROWS : 0;
    bool failed = false;
    *r = (struct band_rows){ .d = f->d, .a = a, .b = item / s->heads, .h = item % s->heads };
    r->queries = oa_real_length(s->query_lengths, r->b, s->queries);
    r->keys = oa_real_length(s->key_lengths, r->b, s->keys);
    r->exact = oa_arena_take(w->scratch, (size_t)taps * sizeof *r->exact);
    r->low = oa_arena_take(w->scratch, FILTER_ROWS * sizeof *r->low);
    r->high = oa_arena_take(w->scratch, FILTER_ROWS * sizeof *r->high);
    r->w = take_band_reals(r, w, taps, &failed);
    r->dw = take_band_reals(r, w, taps, &failed);
    r->row = take_band_reals(r, w, s->value_width, &failed);
    r->filters = take_band_reals(r, w, filters * taps, &failed);
    r->top = take_band_reals(r, w, filters, &failed);
    r->mass = take_band_reals(r, w, filters, &failed);
    r->rescale = take_band_reals(r, w, filters, &failed);
    return !failed && r->exact && r->low && r->high;
}

/* The first value visible to the current row. */
static const void *seen_values(const struct band_rows *r)
{
    return band_act_row(r, r->a->v, r->a->ldv, r->a->shape.keys, r->first + r->begin);
}

/* ---- forward ---- */

static void band_item(void *argument, long item, const struct oa_worker *w)
{
    const struct band_call *f = argument;
    const struct oa_band *a = f->a;
    const struct oa_kernels *k = &f->d->cpu->kernels;
    struct band_rows r;
    if (!open_band_rows(&r, f, item, w))
        return;
    for (long i = 0; i < r.queries; i++) {
        weigh_band_row(&r, i);
        clear_band_row(&r, r.row);
        k->weigh_rows(r.end - r.begin, a->shape.value_width, oa_real_at(r.d, r.w, r.begin),
                      seen_values(&r), a->ldv, r.row);
        k->act_from_real(a->shape.value_width, r.row,
                         band_act_row(&r, a->o, a->ldo, a->shape.queries, i));
    }
    for (long i = r.queries; i < a->shape.queries; i++)
        zero_band_acts(&r, band_act_row(&r, a->o, a->ldo, a->shape.queries, i));
}

void oa_cpu_band(struct oa_device *d, const struct oa_band *a)
{
    struct band_call f = { .d = d, .a = a };
    oa_parallel(d->context, a->shape.batch * a->shape.heads, band_item, &f);
}

/* ---- backward ---- */

/* dℓ of the row into r->dw. */
static void band_logits_gradient(struct band_rows *r, const void *d_o)
{
    double mean = 0;
    oa_real_fill(r->d, r->count, 0, r->dw);
    r->d->cpu->kernels.row_dots(r->end - r->begin, r->a->shape.value_width, seen_values(r),
                                r->a->ldv, d_o, 0, oa_real_at(r->d, r->dw, r->begin));
    for (long k = r->begin; k < r->end; k++)
        mean += oa_real_get(r->d, r->w, k) * oa_real_get(r->d, r->dw, k);
    for (long k = 0; k < r->count; k++)
        oa_real_set(r->d, r->dw, k,
                    oa_real_get(r->d, r->w, k) * (oa_real_get(r->d, r->dw, k) - mean));
}

static void *token_dlogits(const struct band_rows *r, long i)
{
    const struct oa_band *a = r->a;
    return oa_act_at(r->d, a->dlogits,
                     (r->b * a->shape.queries + i) * a->ldlogits + r->h * a->taps);
}

static void store_band_logits(struct band_rows *r, long i, double *shared)
{
    for (long k = 0; k < r->count && shared; k++)
        shared[k] += oa_real_get(r->d, r->dw, k);
    if (!shared)
        r->d->cpu->kernels.act_from_real(r->count, r->dw, token_dlogits(r, i));
}

static void add_band_gradients(struct band_rows *r, double *shared)
{
    const struct oa_band *a = r->a;
    const struct oa_kernels *kernels = &r->d->cpu->kernels;
    long V = a->shape.value_width;
    for (long i = 0; i < r->queries; i++) {
        const void *d_o = band_act_row(r, a->d_o, a->ldo, a->shape.queries, i);
        weigh_band_row(r, i);
        kernels->real_from_act(V, d_o, r->row);
        for (long k = r->begin; k < r->end && a->dv; k++)
            kernels->axpy(V, oa_real_get(r->d, r->w, k), r->row,
                          band_real_row(r, r->dv, r->first + k));
        if (a->dlogits) {
            band_logits_gradient(r, d_o);
            store_band_logits(r, i, shared);
        }
    }
}

static void band_gradient_item(void *argument, long item, const struct oa_worker *w)
{
    const struct band_call *f = argument;
    const struct oa_band *a = f->a;
    const struct oa_attention_shape *s = &a->shape;
    struct band_rows r;
    bool failed = false;
    if (!open_band_rows(&r, f, item, w))
        return;
    r.dv = take_band_reals(&r, w, r.keys * s->value_width, &failed);
    if (failed)
        return;
    for (long j = 0; j < r.keys; j++)
        clear_band_row(&r, band_real_row(&r, r.dv, j));
    add_band_gradients(&r, f->shared ? f->shared + item * a->taps : NULL);
    for (long j = 0; j < r.keys && a->dv; j++)
        f->d->cpu->kernels.act_from_real(s->value_width, band_real_row(&r, r.dv, j),
                                         band_act_row(&r, a->dv, a->ldv, s->keys, j));
    for (long j = r.keys; j < s->keys && a->dv; j++)
        zero_band_acts(&r, band_act_row(&r, a->dv, a->ldv, s->keys, j));
    for (long i = r.queries; i < s->queries && a->dlogits && a->tokens; i++)
        memset(token_dlogits(&r, i), 0, (size_t)a->taps * f->d->numbers.act_size);
}

static void add_shared_logits(const struct band_call *f)
{
    const struct oa_attention_shape *s = &f->a->shape;
    long each = s->heads * f->a->taps;
    for (long at = 0; f->shared && at < each; at++) {
        double sum = 0;
        for (long b = 0; b < s->batch; b++)
            sum += f->shared[b * each + at];
        oa_real_set(f->d, f->a->dlogits, at, oa_real_get(f->d, f->a->dlogits, at) + sum);
    }
}

void oa_cpu_band_gradient(struct oa_device *d, const struct oa_band *a)
{
    struct band_call f = { .d = d, .a = a };
    size_t mark = oa_arena_mark(&d->scratch), bytes = oa_band_shared_bytes(a);
    if (bytes)
        f.shared = oa_arena_take(&d->scratch, bytes);
    if (f.shared)
        memset(f.shared, 0, bytes);
    if ((a->dv || a->dlogits) && (f.shared || !bytes)) {
        oa_parallel(d->context, a->shape.batch * a->shape.heads, band_gradient_item, &f);
        add_shared_logits(&f);
    }
    oa_arena_release(&d->scratch, mark);
}
