/* SPDX-License-Identifier: Apache-2.0
 * Fixed patterns (Raganato, Scherrer, Tiedemann 2020): attention weights given by position alone.
 * With n units (tokens, or words), i, j from 0:
 *
 *     current    w_ij = [j = i]
 *     previous   w_ij = [j = i−1]
 *     next       w_ij = [j = i+1]
 *     last       w_ij = [j = n−1]
 *     left       w_ij = (j+1)³/Z, j ≤ i−2
 *     right      w_ij = (n−j)³/Z, j ≥ i+2
 *     end        w_ij = (j+1)³/Z
 *     start      w_ij = (n−j)³/Z; causal: (i+1−j)³/Z for j ≤ i
 *
 * where Z makes a row sum to 1: a sum of cubes, 1 + 8 + … + m³ = (m(m+1)/2)². Rows without a key
 * (edges) have weight 0, or 1 on themselves, or 1 on the nearest valid unit (enum oa_edge). Over
 * words, w_ij = ξ(word of i, word of j)/c_j with c_j the number of tokens of j's word: values are
 * averaged within words, the pattern ξ runs over the words, and every token gets its word's result.
 *
 * O = W V in O(n·V): shifts and prefix sums. The causal start is a sum with cubic weights of the
 * distance; for m = i+1−j,  m³ = 6·C(m+1, 3) + m,  and Σ_j C(m+p−1, p) v_j is a (p+1)-fold prefix
 * sum, so with S² the twofold and S⁴ the fourfold one, Σ_j m³ v_j = 6·S⁴_{i−1} + S²_i: positive
 * terms only, where an expansion in moments of j would cancel (at n = 500 it has lost all of f32).
 * Backward, dV = Wᵀ dO, is the same with the sums in the other direction.
 *
 * Decoding: the tokens are those from position `first`. The state has, in doubles, what their rows
 * need of earlier tokens: sums, and the last one or two values. The rows of x then begin with these
 * values, so that row numbers are relative to the same positions.
 *
 * Rows are doubles here: weights reach n³, and the work is small. They are padded with zeros to a
 * multiple of LANES, so that the compiler knows the trip count of the inner loops. Shifts of tokens
 * are copies. [B·S, H·V] → [B·T, H·V]; an item is a (b,h); memory per worker O(n·V). */
#include "device/cpu/cpu.h"

#include <string.h>

enum { LANES = 8 };

struct pattern_call {
    struct oa_device *d;
    const struct oa_pattern_attention *a;
};

/* One (b,h): x [units, V] → y [units, V], or the transposed map. */
struct pattern_rows {
    struct oa_device *d;
    const struct oa_pattern_attention *a;
    long b, h, tokens, units;
    long first, history;  /* position of the first unit; rows of x before it */
    long values, width;   /* V; V filled up to a multiple of LANES */
    const int32_t *words; /* of this batch item; NULL: units are tokens */
    double *x, *y;        /* [units, V] */
    double *sums[4];      /* [V] */
    void *real;           /* real [V] */
};

/* ---- rows of doubles ---- */

static void add_scaled(long n, double factor, const double *restrict x, double *restrict y)
{
    for (long i = 0; i < n; i += LANES)
        for (long e = 0; e < LANES; e++)
            y[i + e] += factor * x[i + e];
}

/* x may be y. */
static void scale_to(long n, double factor, const double *x, double *y)
{
    for (long i = 0; i < n; i += LANES) {
        double lanes[LANES];
        for (long e = 0; e < LANES; e++)
            lanes[e] = factor * x[i + e];
        memcpy(y + i, lanes, sizeof lanes);
    }
}

/* The row of the unit at position i; of x also of the last ones before the first. */
static double *unit_row(const struct pattern_rows *r, double *x, long i)
{
    return x + (i - r->first) * r->width;
}

static double cube_of(long m)
{
    return (double)m * (double)m * (double)m;
}

/* 1 + 8 + … + m³ */
static double sum_of_cubes(long m)
{
    double triangle = (double)m * (double)(m + 1) / 2;
    return triangle * triangle;
}

static void *pattern_act_row(const struct pattern_rows *r, const void *x, long ld, long length,
                             long i)
{
    return oa_act_at(r->d, x, (r->b * length + i) * ld + r->h * r->values);
}

static void add_floats(long n, const float *restrict x, double *restrict y)
{
    for (long i = 0; i < n; i += LANES)
        for (long e = 0; e < LANES; e++)
            y[i + e] += (double)x[i + e];
}

static void to_floats(long n, const double *restrict x, float *restrict y)
{
    for (long i = 0; i < n; i += LANES)
        for (long e = 0; e < LANES; e++)
            y[i + e] = (float)x[i + e];
}

/* y += a row of acts. r->real is 0 beyond V. */
static void add_act_row(const struct pattern_rows *r, const void *x, double *y)
{
    r->d->cpu->kernels.real_from_act(r->values, x, r->real);
    if (r->d->cpu->kernels.real == OA_F64)
        add_scaled(r->width, 1, r->real, y);
    else
        add_floats(r->width, r->real, y);
}

static void store_act_row(const struct pattern_rows *r, const double *x, void *y)
{
    if (r->d->cpu->kernels.real == OA_F64)
        scale_to(r->width, 1, x, r->real);
    else
        to_floats(r->width, x, r->real);
    r->d->cpu->kernels.act_from_real(r->values, r->real, y);
}

/* ---- units ---- */

/* The first token after the unit that begins at token i. */
static long unit_end(const struct pattern_rows *r, long i)
{
    long e = i + 1;
    while (r->words && e < r->tokens && r->words[e] == r->words[i])
        e++;
    return e;
}

/* Sums of the tokens of each unit, or their means. */
static void gather_units(struct pattern_rows *r, const void *x, long ld, long length, bool means)
{
    long unit = 0, end;
    for (long i = 0; i < r->tokens; i = end, unit++) {
        double *to = unit_row(r, r->x, r->first + unit);
        end = unit_end(r, i);
        for (long e = i; e < end; e++)
            add_act_row(r, pattern_act_row(r, x, ld, length, e), to);
        if (means && end - i > 1)
            scale_to(r->width, 1 / (double)(end - i), to, to);
    }
}

/* Gives each token the row of its unit, or its share of it; tokens that are padding get zeros. */
static void scatter_units(struct pattern_rows *r, void *y, long ld, long length, bool shares)
{
    long unit = 0, end;
    for (long i = 0; i < r->tokens; i = end, unit++) {
        double *from = unit_row(r, r->y, r->first + unit);
        end = unit_end(r, i);
        if (shares && end - i > 1)
            scale_to(r->width, 1 / (double)(end - i), from, from);
        for (long e = i; e < end; e++)
            store_act_row(r, from, pattern_act_row(r, y, ld, length, e));
    }
    for (long i = r->tokens; i < length; i++)
        memset(pattern_act_row(r, y, ld, length, i), 0, (size_t)r->values * r->d->numbers.act_size);
}

/* ---- the patterns, W: y += W x, and their transposes, y += Wᵀ x ---- */

/* The unit with all the weight of row i if the row has no key; −1: none. */
static long edge_unit(const struct pattern_rows *r, long i, long nearest)
{
    return r->a->edge == OA_EDGE_ZERO ? -1 : r->a->edge == OA_EDGE_SELF ? i : nearest;
}

/* y_i += x_j, or the transpose y_j += x_i; nothing for j < 0. */
static void add_unit(struct pattern_rows *r, bool transposed, long i, long j)
{
    if (j >= 0)
        add_scaled(r->width, 1, unit_row(r, r->x, transposed ? i : j),
                   unit_row(r, r->y, transposed ? j : i));
}

/* Units from the beginning of the sequence to the last current one. */
static long unit_count(const struct pattern_rows *r)
{
    return r->first + r->units;
}

/* current, previous, next: shifts. */
static void apply_shift(struct pattern_rows *r, bool transposed, long offset)
{
    for (long i = r->first; i < unit_count(r); i++) {
        long j = i + offset, nearest = j < 0 ? 0 : unit_count(r) - 1;
        add_unit(r, transposed, i, j >= 0 && j < unit_count(r) ? j : edge_unit(r, i, nearest));
    }
}

/* The unit at place i counted from the side where the weights begin with 1. */
static double *from_side(const struct pattern_rows *r, double *x, bool mirrored, long i)
{
    return unit_row(r, x, mirrored ? r->units - 1 - i : i);
}

/* left, and mirrored: right. y_i = Σ_{j ≤ i−2} (j+1)³ x_j / Z_i, a running sum. */
static void apply_context_forward(struct pattern_rows *r, bool mirrored)
{
    double *sum = r->sums[0];
    for (long i = oa_max(2, r->first); i < unit_count(r); i++) {
        add_scaled(r->width, cube_of(i - 1), from_side(r, r->x, mirrored, i - 2), sum);
        scale_to(r->width, 1 / sum_of_cubes(i - 1), sum, from_side(r, r->y, mirrored, i));
    }
}

/* y_j = (j+1)³ Σ_{i ≥ j+2} x_i / Z_i */
static void apply_context_transposed(struct pattern_rows *r, bool mirrored)
{
    double *sum = r->sums[0];
    for (long j = r->units - 3; j >= 0; j--) {
        add_scaled(r->width, 1 / sum_of_cubes(j + 1), from_side(r, r->x, mirrored, j + 2), sum);
        scale_to(r->width, cube_of(j + 1), sum, from_side(r, r->y, mirrored, j));
    }
}

static void context_edges(struct pattern_rows *r, bool mirrored, bool transposed)
{
    for (long e = r->first; e < 2 && e < unit_count(r); e++) {
        long i = mirrored ? r->units - 1 - e : e;
        add_unit(r, transposed, i, edge_unit(r, i, mirrored ? r->units - 1 : 0));
    }
}

/* end, and mirrored: start. The same weights for every row. */
static void apply_whole(struct pattern_rows *r, bool mirrored, bool transposed)
{
    double *sum = r->sums[0], z = sum_of_cubes(r->units);
    for (long j = 0; j < r->units; j++)
        add_scaled(r->width, transposed ? 1 : cube_of(j + 1) / z, from_side(r, r->x, mirrored, j),
                   sum);
    for (long i = 0; i < r->units; i++)
        scale_to(r->width, transposed ? cube_of(i + 1) / z : 1, sum,
                 from_side(r, r->y, mirrored, i));
}

/* Row i of Σ_j m³ x_j with m = 1 + (distance of i and j), given the sums up to the row before. */
static void step_cubic(struct pattern_rows *r, double factor, const double *x, double *y)
{
    double *s1 = r->sums[0], *s2 = r->sums[1], *s3 = r->sums[2], *s4 = r->sums[3];
    add_scaled(r->width, factor, x, s1);
    add_scaled(r->width, 1, s1, s2);
    add_scaled(r->width, 1, s2, s3);
    scale_to(r->width, 6, s4, y);
    add_scaled(r->width, 1, s2, y);
    add_scaled(r->width, 1, s3, s4);
}

static void causal_start(struct pattern_rows *r, bool transposed)
{
    for (long step = 0; step < r->units; step++) {
        long i = transposed ? r->units - 1 - step : r->first + step;
        double *y = unit_row(r, r->y, i);
        step_cubic(r, transposed ? 1 / sum_of_cubes(i + 1) : 1, unit_row(r, r->x, i), y);
        if (!transposed)
            scale_to(r->width, 1 / sum_of_cubes(i + 1), y, y);
    }
}

static void apply_context(struct pattern_rows *r, bool mirrored, bool transposed)
{
    (transposed ? apply_context_transposed : apply_context_forward)(r, mirrored);
    context_edges(r, mirrored, transposed);
}

static void apply_pattern(struct pattern_rows *r, bool transposed)
{
    switch (r->a->pattern) {
    case OA_PATTERN_CURRENT:
    case OA_PATTERN_PREVIOUS:
    case OA_PATTERN_NEXT:
        apply_shift(r, transposed,
                    r->a->pattern == OA_PATTERN_NEXT       ? 1
                    : r->a->pattern == OA_PATTERN_PREVIOUS ? -1
                                                           : 0);
        break;
    case OA_PATTERN_LEFT:
    case OA_PATTERN_RIGHT:
        apply_context(r, r->a->pattern == OA_PATTERN_RIGHT, transposed);
        break;
    case OA_PATTERN_END:
        apply_whole(r, false, transposed);
        break;
    case OA_PATTERN_START:
        if (r->a->shape.causal)
            causal_start(r, transposed);
        else
            apply_whole(r, true, transposed);
        break;
    case OA_PATTERN_LAST:
        for (long i = 0; i < r->units; i++)
            add_unit(r, transposed, i, r->units - 1);
        break;
    }
}

/* ---- the state between calls: values of the last units, then running sums ---- */

static int kept_values(enum oa_pattern_kind p)
{
    return p == OA_PATTERN_PREVIOUS ? 1 : p == OA_PATTERN_LEFT ? 2 : 0;
}

int oa_pattern_state(enum oa_pattern_kind p)
{
    int sums = p == OA_PATTERN_LEFT ? 1 : p == OA_PATTERN_START ? 4 : 0;
    return kept_values(p) + sums;
}

static double *kept_row(const struct pattern_rows *r, int i)
{
    int each = oa_pattern_state(r->a->pattern);
    return r->a->state + ((r->b * r->a->shape.heads + r->h) * each + i) * r->values;
}

static void copy_kept(const struct pattern_rows *r, bool to_state)
{
    int values = kept_values(r->a->pattern), all = oa_pattern_state(r->a->pattern);
    size_t bytes = (size_t)r->values * sizeof(double);
    for (int i = 0; r->a->state && i < all; i++) {
        long from = (to_state ? unit_count(r) : r->first) - values + i;
        double *row = i < values ? unit_row(r, r->x, from) : r->sums[i - values];
        memcpy(to_state ? kept_row(r, i) : row, to_state ? row : kept_row(r, i), bytes);
    }
}

static double *take_zero_doubles(const struct oa_worker *w, long n, bool *failed)
{
    double *x = oa_arena_take(w->scratch, (size_t)n * sizeof *x);
    *failed |= !x;
    return x ? memset(x, 0, (size_t)n * sizeof *x) : NULL;
}

static bool open_pattern_rows(struct pattern_rows *r, const struct pattern_call *f, long item,
                              const struct oa_worker *w)
{
    const struct oa_attention_shape *s = &f->a->shape;
    bool failed = false;
    *r = (struct pattern_rows){
        .d = f->d,
        .a = f->a,
        .b = item / s->heads,
        .h = item % s->heads,
    };
    r->values = s->value_width;
    r->width = oa_blocks(r->values, LANES) * LANES;
    r->tokens = oa_min(oa_real_length(s->key_lengths, r->b, s->keys),
                       oa_real_length(s->query_lengths, r->b, s->keys));
    r->words = f->a->words ? f->a->words + r->b * s->keys : NULL;
    for (long i = 0; i < r->tokens; i = unit_end(r, i))
        r->units++;
    r->first = s->first;
    r->history = f->a->state ? kept_values(f->a->pattern) : 0;
    if (!w) /* no rows of doubles */
        return true;
    r->x = take_zero_doubles(w, (r->history + r->units) * r->width, &failed);
    r->y = take_zero_doubles(w, r->units * r->width, &failed);
    for (int i = 0; i < 4; i++)
        r->sums[i] = take_zero_doubles(w, r->width, &failed);
    r->real = take_zero_doubles(w, r->width, &failed);
    if (!failed)
        r->x += r->history * r->width;
    return !failed;
}

/* The offset of a shift of tokens without edges; false for other patterns. */
static bool plain_shift(const struct oa_pattern_attention *a, long *offset)
{
    *offset = a->pattern == OA_PATTERN_NEXT ? 1 : a->pattern == OA_PATTERN_PREVIOUS ? -1 : 0;
    if (*offset && a->state)
        return false;
    return !a->words && (a->pattern == OA_PATTERN_CURRENT || (*offset && a->edge == OA_EDGE_ZERO));
}

/* y_i = x_{i + offset}, zeros where there is none. */
static void copy_shifted_rows(const struct pattern_rows *r, const void *x, long ldx, void *y,
                              long ldy, long offset)
{
    size_t bytes = (size_t)r->values * r->d->numbers.act_size;
    long length = r->a->shape.keys;
    for (long i = 0; i < length; i++) {
        void *to = pattern_act_row(r, y, ldy, length, i);
        if (i < r->tokens && i + offset >= 0 && i + offset < r->tokens)
            memcpy(to, pattern_act_row(r, x, ldx, length, i + offset), bytes);
        else
            memset(to, 0, bytes);
    }
}

static void pattern_item(void *argument, long item, const struct oa_worker *w)
{
    const struct pattern_call *f = argument;
    const struct oa_pattern_attention *a = f->a;
    struct pattern_rows r;
    long offset;
    bool copies = plain_shift(a, &offset);
    if (!open_pattern_rows(&r, f, item, copies ? NULL : w))
        return;
    if (copies) {
        copy_shifted_rows(&r, a->v, a->ldv, a->o, a->ldo, offset);
        return;
    }
    copy_kept(&r, false);
    gather_units(&r, a->v, a->ldv, a->shape.keys, true);
    apply_pattern(&r, false);
    copy_kept(&r, true);
    scatter_units(&r, a->o, a->ldo, a->shape.queries, false);
}

static void pattern_gradient_item(void *argument, long item, const struct oa_worker *w)
{
    const struct pattern_call *f = argument;
    const struct oa_pattern_attention *a = f->a;
    struct pattern_rows r;
    long offset;
    bool copies = plain_shift(a, &offset);
    if (!open_pattern_rows(&r, f, item, copies ? NULL : w))
        return;
    if (copies) {
        copy_shifted_rows(&r, a->d_o, a->ldo, a->dv, a->ldv, -offset);
        return;
    }
    gather_units(&r, a->d_o, a->ldo, a->shape.queries, false);
    apply_pattern(&r, true);
    scatter_units(&r, a->dv, a->ldv, a->shape.keys, true);
}

void oa_cpu_pattern(struct oa_device *d, const struct oa_pattern_attention *a)
{
    struct pattern_call f = { d, a };
    oa_parallel(d->context, a->shape.batch * a->shape.heads, pattern_item, &f);
}

void oa_cpu_pattern_gradient(struct oa_device *d, const struct oa_pattern_attention *a)
{
    struct pattern_call f = { d, a };
    if (a->dv)
        oa_parallel(d->context, a->shape.batch * a->shape.heads, pattern_gradient_item, &f);
}
