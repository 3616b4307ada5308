/* SPDX-License-Identifier: Apache-2.0
 * The part of vector_template.h for some mechanisms only: exact GELU and gates, features of kernel
 * attention. As there, f_lanes handles at most W elements at `at`. */

/* ---- exact GELU, gates ---- */

#define GELU_EXACT_FLAT 20.0f /* beyond, the density is 0 in float */

/* ½·erfc(|x|/√2) = ½·t·P(t)·e^{−x²/2}, t = 1/(1 + 0.3275911·|x|/√2) (Hastings; Abramowitz &
 * Stegun 7.1.26, absolute error 8·10⁻⁸); *e receives e^{−x²/2}. |x| ≤ GELU_EXACT_FLAT. */
INLINE v_float upper_tail(v_float x, v_float *e)
{
    *e = v_exp2(v_mul(v_mul(x, x), v_set((float)(-0.5 * LOG2_E))));
    v_float t =
        v_inverse(v_fma(v_abs(x), v_set((float)(0.3275911 * 0.70710678118654752440)), v_set(1)));
    v_float p = v_fma(v_set(0.5307027145f), t, v_set(-0.726576013f));
    p = v_fma(p, t, v_set(0.7107068705f));
    p = v_fma(p, t, v_set(-0.142248368f));
    p = v_fma(p, t, v_set(0.127414796f));
    return v_mul(v_mul(p, t), *e);
}

/* Φ(x) */
INLINE v_float normal_below(v_float x, v_float *e)
{
    v_float tail = upper_tail(x, e);
    return v_select(v_less(x, v_set(0)), tail, v_sub(v_set(1), tail));
}

INLINE v_float gelu_exact_cut(v_float x)
{
    return v_max(v_set(-GELU_EXACT_FLAT), v_min(v_set(GELU_EXACT_FLAT), x)); /* NaN stays */
}

INLINE void gelu_exact_lanes(long at, long lanes, const ACT *x, ACT *y)
{
    v_float v = act_load(x + at, lanes), e;
    act_store(y + at, v_mul(v, normal_below(gelu_exact_cut(v), &e)), lanes);
}

static void gelu_exact(long n, const void *x, void *y){ EACH(n, gelu_exact_lanes, x, y) }

INLINE void gelu_exact_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, ACT *dx)
{
    v_float in = gelu_exact_cut(act_load(x + at, lanes)), e;
    v_float below = normal_below(in, &e);
    v_float slope = v_fma(v_mul(in, v_set(0.39894228040143267794f)), e, below);
    act_store(dx + at, v_mul(act_load(dy + at, lanes), slope), lanes);
}

static void gelu_exact_gradient(long n, const void *x, const void *dy,
                                void *dx){ EACH(n, gelu_exact_gradient_lanes, x, dy, dx) }

/* 1/(1 + q) with q = e^{−|x|}: σ(|x|), and σ'(x) = q σ². */
INLINE v_float sigmoid_above(v_float x, v_float *q)
{
    *q = v_exp(v_sub(v_set(0), v_abs(x)));
    return v_inverse(v_add(v_set(1), *q));
}

INLINE v_float sigmoid_of(v_float x, v_float above, v_float q)
{
    return v_mul(v_select(v_less(x, v_set(0)), q, v_set(1)), above);
}

INLINE void gate_lanes(long at, long lanes, const ACT *a, const ACT *b, ACT *y)
{
    v_float x = act_load(b + at, lanes), q, above = sigmoid_above(x, &q);
    act_store(y + at, v_mul(act_load(a + at, lanes), sigmoid_of(x, above, q)), lanes);
}

static void gate(long n, const void *a, const void *b, void *y){ EACH(n, gate_lanes, a, b, y) }

INLINE void gate_gradient_lanes(long at, long lanes, const ACT *a, const ACT *b, const ACT *dy,
                                ACT *da, ACT *db)
{
    v_float x = act_load(b + at, lanes), g = act_load(dy + at, lanes), q,
            above = sigmoid_above(x, &q);
    v_float slope = v_mul(v_mul(q, above), above);
    v_float value = act_load(a + at, lanes);
    act_store(da + at, v_mul(g, sigmoid_of(x, above, q)), lanes);
    act_store(db + at, v_mul(v_mul(g, value), slope), lanes);
}

static void gate_gradient(long n, const void *a, const void *b, const void *dy, void *da,
                          void *db){ EACH(n, gate_gradient_lanes, a, b, dy, da, db) }

INLINE void gate_swish_lanes(long at, long lanes, const ACT *a, const ACT *b, ACT *y)
{
    v_float x = act_load(b + at, lanes), q, above = sigmoid_above(x, &q);
    v_float swish = v_mul(x, sigmoid_of(x, above, q));
    act_store(y + at, v_mul(act_load(a + at, lanes), swish), lanes);
}

static void gate_swish(long n, const void *a, const void *b,
                       void *y){ EACH(n, gate_swish_lanes, a, b, y) }

INLINE void gate_swish_gradient_lanes(long at, long lanes, const ACT *a, const ACT *b,
                                      const ACT *dy, ACT *da, ACT *db)
{
    v_float x = act_load(b + at, lanes), g = act_load(dy + at, lanes), q,
            above = sigmoid_above(x, &q), s = sigmoid_of(x, above, q);
    v_float slope = v_add(s, v_mul(x, v_mul(v_mul(q, above), above)));
    v_float value = act_load(a + at, lanes);
    act_store(da + at, v_mul(g, v_mul(x, s)), lanes);
    act_store(db + at, v_mul(v_mul(g, value), slope), lanes);
}

static void gate_swish_gradient(long n, const void *a, const void *b, const void *dy, void *da,
                                void *db){ EACH(n, gate_swish_gradient_lanes, a, b, dy, da, db) }

/* ---- weights that are no softmax ---- */

INLINE v_float weight_of(enum oa_weighing w, v_float t, v_float r)
{
    if (w == OA_WEIGH_SIGMOID) {
        v_float q, x = v_sub(t, r), above = sigmoid_above(x, &q);
        return sigmoid_of(x, above, q);
    }
    v_float half = w == OA_WEIGH_ENTMAX ? v_mul(t, v_set(0.5f)) : t;
    v_float above = v_max(v_set(0), v_sub(half, r));
    return w == OA_WEIGH_ENTMAX ? v_mul(above, above) : above;
}

INLINE void weigh_tile_lanes(long at, long lanes, enum oa_weighing w, v_float scale, v_float r,
                             float *x)
{
    v_store(x + at, weight_of(w, v_mul(scale, v_load(x + at, lanes)), r), lanes);
}

INLINE void weigh_tile_by(enum oa_weighing w, long rows, long cols, double scale,
                          const int32_t *low, const int32_t *high, const float *r, float *s,
                          long lds)
{
    v_float factor = v_set((float)scale);
    for (long i = 0; i < rows; i++, s += lds) {
        struct span see = span_of(low, high, i, cols);
        v_float shift = v_set(r[i]);
        float *seen = s + see.begin;
        clear_reals(see.begin, s);
        EACH(see.end - see.begin, weigh_tile_lanes, w, factor, shift, seen)
        clear_reals(cols - see.end, s + see.end);
    }
}

static void weigh_tile(enum oa_weighing w, long rows, long cols, double scale, const int32_t *low,
                       const int32_t *high, const void *r, void *s, long lds)
{
    if (w == OA_WEIGH_SIGMOID)
        weigh_tile_by(OA_WEIGH_SIGMOID, rows, cols, scale, low, high, r, s, lds);
    else if (w == OA_WEIGH_SPARSEMAX)
        weigh_tile_by(OA_WEIGH_SPARSEMAX, rows, cols, scale, low, high, r, s, lds);
    else
        weigh_tile_by(OA_WEIGH_ENTMAX, rows, cols, scale, low, high, r, s, lds);
}

/* g of a weight p that is not 0. */
INLINE v_float weight_slope(enum oa_weighing w, v_float p)
{
    if (w == OA_WEIGH_SIGMOID)
        return v_mul(p, v_sub(v_set(1), p));
    return w == OA_WEIGH_ENTMAX ? v_sqrt(p) : v_set(1);
}

INLINE void weigh_gradient_lanes(long at, long lanes, enum oa_weighing w, const float *p,
                                 const float *dp, v_float delta, ACT *ds)
{
    v_float weight = v_load(p + at, lanes);
    v_float d = v_mul(weight_slope(w, weight), v_sub(v_load(dp + at, lanes), delta));
    act_store(ds + at, v_keep(v_not_equal(weight, v_set(0)), d), lanes);
}

static void weigh_gradient(enum oa_weighing w, long rows, long cols, const void *p, long ldp,
                           const void *dp, long lddp, const void *delta, void *ds, long ldds)
{
    for (long i = 0; i < rows; i++) {
        const float *weight = (const float *)p + i * ldp, *gradient = (const float *)dp + i * lddp;
        ACT *to = (ACT *)ds + i * ldds;
        v_float shift = v_set(w == OA_WEIGH_SIGMOID ? 0 : ((const float *)delta)[i]);
        if (w == OA_WEIGH_SIGMOID)
            EACH(cols, weigh_gradient_lanes, OA_WEIGH_SIGMOID, weight, gradient, shift, to)
        else if (w == OA_WEIGH_SPARSEMAX)
            EACH(cols, weigh_gradient_lanes, OA_WEIGH_SPARSEMAX, weight, gradient, shift, to)
        else
            EACH(cols, weigh_gradient_lanes, OA_WEIGH_ENTMAX, weight, gradient, shift, to)
    }
}

INLINE void weigh_sums_lanes(long at, long lanes, enum oa_weighing w, const float *p,
                             const float *dp, v_float *above, v_float *below)
{
    v_float weight = v_load(p + at, lanes);
    v_float g = v_keep(v_not_equal(weight, v_set(0)), weight_slope(w, weight));
    v_float d = v_keep(v_not_equal(weight, v_set(0)), v_load(dp + at, lanes));
    *above = v_fma(g, d, *above);
    *below = v_add(*below, g);
}

static void weigh_sums(enum oa_weighing w, long rows, long cols, const void *p, long ldp,
                       const void *dp, long lddp, void *above, void *below)
{
    for (long i = 0; i < rows; i++) {
        const float *weight = (const float *)p + i * ldp, *gradient = (const float *)dp + i * lddp;
        v_float over = v_set(0), under = v_set(0);
        if (w == OA_WEIGH_ENTMAX)
            EACH(cols, weigh_sums_lanes, OA_WEIGH_ENTMAX, weight, gradient, &over, &under)
        else
            EACH(cols, weigh_sums_lanes, OA_WEIGH_SPARSEMAX, weight, gradient, &over, &under)
        ((float *)above)[i] += v_sum(over);
        ((float *)below)[i] += v_sum(under);
    }
}
#define SILU_LEAST (-80.0f) /* below, −x·e^x is less than 2·10⁻³³ */

INLINE void silu_lanes(long at, long lanes, const ACT *x, ACT *y)
{
    v_float v = v_max(v_set(SILU_LEAST), act_load(x + at, lanes)); /* NaN stays */
    v_float e = v_exp(v_sub(v_set(0), v));
    act_store(y + at, v_mul(v, v_inverse(v_add(v_set(1), e))), lanes);
}

static void silu(long n, const void *x, void *y)
{
    EACH(n, silu_lanes, x, y)
}

#define SILU_FLAT 100.0f /* beyond, the slope is 0 or 1 in float */

/* σ(x) + x·q σ(|x|)², q = e^{−|x|}. */
INLINE void silu_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, ACT *dx)
{
    v_float v = act_load(x + at, lanes);
    v_float in = v_max(v_set(-SILU_FLAT), v_min(v_set(SILU_FLAT), v)), q, /* NaN stays */
        above = sigmoid_above(in, &q);
    v_float bend = v_mul(in, v_mul(v_mul(q, above), above));
    act_store(dx + at, v_mul(act_load(dy + at, lanes), v_add(sigmoid_of(in, above, q), bend)),
              lanes);
}

static void silu_gradient(long n, const void *x, const void *dy,
                          void *dx){ EACH(n, silu_gradient_lanes, x, dy, dx) }

/* ---- positions as angles, polynomials ---- */

INLINE void place_lanes(long at, long lanes, long width, v_float cosine, v_float sine, const ACT *x,
                        ACT *y)
{
    v_float r = relu_of(act_load(x + at, lanes));
    act_store(y + at, v_mul(sine, r), lanes);
    act_store(y + width + at, v_mul(cosine, r), lanes);
}

static void place(long heads, long width, double cosine, double sine, const void *x, void *y)
{
    v_float c = v_set((float)cosine), s = v_set((float)sine);
    for (long h = 0; h < heads; h++) {
        const ACT *from = (const ACT *)x + h * width;
        ACT *to = (ACT *)y + 2 * h * width;
        EACH(width, place_lanes, width, c, s, from, to)
    }
}

INLINE void place_gradient_lanes(long at, long lanes, long width, v_float cosine, v_float sine,
                                 const ACT *x, const ACT *dy, ACT *dx)
{
    v_float sum =
        v_fma(sine, act_load(dy + at, lanes), v_mul(cosine, act_load(dy + width + at, lanes)));
    act_store(dx + at, v_keep(v_less(v_set(0), act_load(x + at, lanes)), sum), lanes);
}

static void place_gradient(long heads, long width, double cosine, double sine, const void *x,
                           const void *dy, void *dx)
{
    v_float c = v_set((float)cosine), s = v_set((float)sine);
    for (long h = 0; h < heads; h++) {
        const ACT *from = (const ACT *)x + h * width, *gradient = (const ACT *)dy + 2 * h * width;
        ACT *to = (ACT *)dx + h * width;
        EACH(width, place_gradient_lanes, width, c, s, from, gradient, to)
    }
}

INLINE void times_lanes(long at, long lanes, v_float factor, const ACT *x, ACT *y)
{
    act_store(y + at, v_mul(factor, act_load(x + at, lanes)), lanes);
}

/* Columns at … at + lanes − 1 of all rows of pairs that contain any of them, from the last row to
 * the first: lanes before the beginning of a row are stored too, and overwritten by the row above.
 * Row a begins at a·width − a(a−1)/2, with its square. */
INLINE void quadratic_lanes(long at, long lanes, long width, float square, float cross,
                            const ACT *x, ACT *pairs)
{
    v_float own = act_load(x + at, lanes), squares = v_mul(v_mul(v_set(square), own), own);
    for (long first = at; first >= 0; first -= W) {
        float factor[W];
        long rows = lanes_left(width, first), a = first + rows - 1;
        ACT *to = pairs + a * width - a * (a - 1) / 2 - a + at;
        v_store(factor, v_mul(v_set(cross), act_load(x + first, rows)), W);
        for (long l = rows - 1; l >= 0; to -= width - first - l, l--) {
            v_float y = v_mul(v_set(factor[l]), own);
            act_store(to, first == at ? v_select(v_first(l + 1), squares, y) : y, lanes);
        }
    }
}

#ifdef act_tiles
enum { ROW_NUMBERS = 2 * W, ROW_PAIRS = ROW_NUMBERS * (ROW_NUMBERS + 1) / 2 };

/* The pairs a ≤ b of a row that fits in two registers, as two numbers picked from it and a factor.
 */
struct row_pairs {
    long count;
    int32_t left[ROW_PAIRS + ROW_NUMBERS], right[ROW_PAIRS + ROW_NUMBERS];
    float factor[ROW_PAIRS + ROW_NUMBERS];
    float least; /* products of larger numbers are not denormal */
};

INLINE void list_row_pairs(long width, float square, float cross, struct row_pairs *p)
{
    long n = 0;
    for (int32_t a = 0; a < width; n += width - a, a++) {
        for (int32_t b = 0; b < ROW_NUMBERS;
             b++) { /* those of the next rows are overwritten later */
            p->left[n + b] = a;
            p->right[n + b] = (a + b) % ROW_NUMBERS;
            p->factor[n + b] = cross;
        }
        p->factor[n] = square;
    }
    p->count = n;
    p->least = sqrtf(0x1p-125f / fminf(1, fminf(fabsf(square), fabsf(cross))));
}

/* The same for one row. */
INLINE void put_row_pairs(const struct row_pairs *p, v_row row, ACT *to)
{
    v_float x[2];
    v_row_floats(row, x);
    bool normal = fminf(v_least_size(x[0]), v_least_size(x[1])) >= p->least;
    for (long n = 0; n < p->count; n += ROW_NUMBERS) {
        v_float y[2];
        for (int u = 0; u < 2; u++)
            y[u] =
                v_mul(v_mul(v_load(p->factor + n + u * W, W), v_pick_float(x, p->left + n + u * W)),
                      v_pick_float(x, p->right + n + u * W));
        if (normal && p->count - n >= ROW_NUMBERS) {
            v_store_two_bf16(to + n, y[0], y[1]);
            continue;
        }
        act_store(to + n, y[0], lanes_left(p->count, n));
        if (p->count - n > W)
            act_store(to + n + W, y[1], lanes_left(p->count, n + W));
    }
}
#endif

/* The pairs of all rows. */
INLINE void quadratic_pairs(long rows, long width, float square, float cross, const ACT *x,
                            long ldx, ACT *y, long ldy)
{
#ifdef act_tiles
    if (width <= ROW_NUMBERS) {
        struct row_pairs p;
        list_row_pairs(width, square, cross, &p);
        for (long i = 0; i < rows; i++)
            put_row_pairs(&p, v_load_row(x + i * ldx, width), y + i * ldy);
        return;
    }
#endif
    for (long i = 0; i < rows; i++, x += ldx, y += ldy)
        EACH(width, quadratic_lanes, width, square, cross, x, y)
}

static void quadratic(long rows, long width, const double c[3], const void *x, long ldx, void *y,
                      long ldy)
{
    v_float linear = v_set((float)c[1]);
    long ones = c[0] != 0, before = ones + (c[1] != 0 ? width : 0);
    for (long i = 0; i < rows && before; i++) {
        const ACT *from = (const ACT *)x + i * ldx;
        ACT *to = (ACT *)y + i * ldy;
        if (ones)
            *to++ = STORE((float)c[0]);
        if (c[1] != 0)
            EACH(width, times_lanes, linear, from, to)
    }
    quadratic_pairs(rows, width, (float)c[2], (float)(c[2] * sqrt(2.0)), x, ldx, (ACT *)y + before,
                    ldy);
}

/* Σ_j x_j y_j of acts, lane by lane. */
INLINE v_float dot_acts(long n, const ACT *x, const ACT *y)
{
    v_float sum = v_set(0);
    for (long j = 0; j < n; j += W)
        sum = v_fma(act_load(x + j, lanes_left(n, j)), act_load(y + j, lanes_left(n, j)), sum);
    return sum;
}

/* W elements of dx at once: the pairs (b, a) with b before all of them are contiguous for each b;
 * for b among them and after, each element reads its own row. pairs: row a begins at a·width −
 * a(a−1)/2, with its square. */
INLINE void quadratic_gradient_lanes(long at, long lanes, long width, float linear, float square,
                                     float cross, const ACT *x, const ACT *first, const ACT *pairs,
                                     ACT *dx)
{
    v_float sum = v_set(0), among = v_set(0), own = act_load(x + at, lanes);
    v_float part[4] = { v_set(0), v_set(0), v_set(0), v_set(0) };
    float after[W] = { 0 }, squares[W] = { 0 };
    for (long b = 0, row = 0; b < at; row += width - b, b++)
        sum = v_fma(v_set(LOAD(x[b])), act_load(pairs + row + at - b, lanes), sum);
    for (long l = 0; l < lanes; l++) {
        long a = at + l, row = a * width - a * (a - 1) / 2;
        v_float more = v_mul(act_load(pairs + row - l, lanes), v_set(LOAD(x[a])));
        part[l % 4] = dot_acts(width - a - 1, pairs + row + 1, x + a + 1);
        if (l % 4 == 3 || l == lanes - 1)
            v_add_four_sums(part, after + l / 4 * 4);
        among = v_select(v_first(l + 1), among, v_add(among, more));
        squares[l] = LOAD(pairs[row]);
    }
    sum = v_mul(v_set(cross), v_add(sum, v_add(among, v_load(after, W))));
    sum = v_add(sum, v_mul(v_mul(v_set(square), v_load(squares, W)), own));
    if (linear != 0)
        sum = v_fma(v_set(linear), act_load(first + at, lanes), sum);
    act_store(dx + at, sum, lanes);
}

#ifdef act_tiles
/* Columns [0, n) of up to W rows: out[j] has column j, a lane for each row. */
INLINE void turn_acts(long rows, long n, const ACT *x, long ldx, v_float *out)
{
    for (long j = 0; j < n; j += ROW_NUMBERS) {
        v_row row[W];
        for (long i = 0; i < W; i++)
            row[i] = v_load_row(x + i * ldx + j,
                                i < rows ? n - j < ROW_NUMBERS ? n - j : ROW_NUMBERS : 0);
        v_turned_rows(row, out + j);
    }
}

/* dx[a] of W rows, which are lanes, from their pairs: the terms of a pair go to both its numbers.
 */
INLINE void add_pair_gradients(long width, float square, float cross, const v_float *x,
                               const v_float *pairs, v_float *dx)
{
    for (long a = 0; a < width; pairs += width - a, a++) {
        v_float own = x[a], sum = dx[a], other = v_set(0);
        long b = a + 1;
        for (; b + 1 < width; b += 2) {
            sum = v_fma(pairs[b - a], x[b], sum);
            other = v_fma(pairs[b + 1 - a], x[b + 1], other);
            dx[b] = v_fma(pairs[b - a], own, dx[b]);
            dx[b + 1] = v_fma(pairs[b + 1 - a], own, dx[b + 1]);
        }
        if (b < width) {
            sum = v_fma(pairs[b - a], x[b], sum);
            dx[b] = v_fma(pairs[b - a], own, dx[b]);
        }
        dx[a] = v_fma(v_set(cross), v_add(sum, other), v_mul(v_mul(v_set(square), pairs[0]), own));
    }
}

/* quadratic_gradient of up to W rows that fit in two registers each. */
INLINE void quadratic_gradient_turned(long rows, long width, const float c[3], const ACT *x,
                                      long ldx, const ACT *first, long lddy, ACT *dx, long lddx)
{
    v_float own[ROW_NUMBERS], sum[ROW_NUMBERS], y[ROW_PAIRS + ROW_NUMBERS];
    const ACT *pairs = first + (c[0] != 0 ? width : 0);
    turn_acts(rows, width, x, ldx, own);
    turn_acts(rows, width * (width + 1) / 2, pairs, lddy, y);
    for (long a = 0; a < ROW_NUMBERS; a++)
        sum[a] = v_set(0);
    add_pair_gradients(width, c[1], c[2], own, y, sum);
    if (c[0] != 0) {
        turn_acts(rows, width, first, lddy, y);
        for (long a = 0; a < width; a++)
            sum[a] = v_fma(v_set(c[0]), y[a], sum[a]);
    }
    for (long half = 0; half < width; half += W) {
        v_turned(sum + half);
        for (long i = 0; i < rows; i++)
            act_store(dx + i * lddx + half, sum[half + i], lanes_left(width, half));
    }
}
#endif

static void quadratic_gradient(long rows, long width, const double c[3], const void *x, long ldx,
                               const void *dy, long lddy, void *dx, long lddx)
{
    const float linear = (float)c[1], square = (float)(2 * c[2]), cross = (float)(c[2] * sqrt(2.0));
#ifdef act_tiles
    if (width <= ROW_NUMBERS) {
        for (long i = 0; i < rows; i += W)
            quadratic_gradient_turned(lanes_left(rows, i), width,
                                      (float[]){ linear, square, cross }, (const ACT *)x + i * ldx,
                                      ldx, (const ACT *)dy + i * lddy + (c[0] != 0), lddy,
                                      (ACT *)dx + i * lddx, lddx);
        return;
    }
#endif
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * ldx,
                  *first = (const ACT *)dy + i * lddy + (c[0] != 0);
        const ACT *pairs = first + (c[1] != 0 ? width : 0);
        ACT *to = (ACT *)dx + i * lddx;
        EACH(width, quadratic_gradient_lanes, width, linear, square, cross, from, first, pairs, to)
    }
}

INLINE void product_lanes(long at, long lanes, v_float a, const ACT *x, const ACT *y, ACT *z)
{
    act_store(z + at, v_mul(v_mul(a, act_load(x + at, lanes)), act_load(y + at, lanes)), lanes);
}

static void product(long n, double a, const void *x, const void *y, void *z)
{
    v_float factor = v_set((float)a);
    EACH(n, product_lanes, factor, x, y, z)
}

INLINE v_float whole_power(v_float x, int degree)
{
    v_float power = v_set(1);
    for (; degree > 0; degree /= 2, x = v_mul(x, x))
        if (degree % 2)
            power = v_mul(power, x);
    return power;
}

INLINE void whole_power_lanes(long at, long lanes, int degree, float *x)
{
    v_store(x + at, whole_power(v_load(x + at, lanes), degree), lanes);
}

static void power(long n, int degree, void *x){ EACH(n, whole_power_lanes, degree, x) }

INLINE void whole_power_gradient_lanes(long at, long lanes, int degree, const float *g, float *x)
{
    v_float slope = v_mul(v_set((float)degree), whole_power(v_load(x + at, lanes), degree - 1));
    v_store(x + at, v_mul(slope, v_load(g + at, lanes)), lanes);
}

static void power_gradient(long n, int degree, const void *g, void *x)
{
    EACH(n, whole_power_gradient_lanes, degree, g, x)
}

/* ---- random features ---- */

#define RELU_FLOOR 1e-3f

struct random_row {
    float scale;
    const float *bias, *u; /* bias NULL = 0 */
};

INLINE v_float random_argument(const struct random_row *r, long at, long lanes)
{
    v_float u = v_load(r->u + at, lanes), scale = v_set(r->scale);
    return r->bias ? v_fma(scale, u, v_load(r->bias + at, lanes)) : v_mul(scale, u);
}

INLINE void random_top_lanes(long at, long lanes, const struct random_row *r, bool both,
                             v_float *top)
{
    v_float t = random_argument(r, at, lanes), least = v_set(-INFINITY);
    t = both ? v_abs(t) : t;
    *top = v_max(lanes == W ? t : v_select(v_first(lanes), t, least), *top);
}

INLINE float random_top(long width, const struct random_row *r, bool both)
{
    v_float top = v_set(-INFINITY);
    EACH(width, random_top_lanes, r, both, &top)
    return v_largest(top);
}

INLINE void random_exp_lanes(long at, long lanes, const struct random_row *r, v_float top, ACT *y)
{
    act_store(y + at, v_exp(v_sub(random_argument(r, at, lanes), top)), lanes);
}

INLINE void random_hyperbolic_lanes(long at, long lanes, const struct random_row *r, v_float top,
                                    long width, ACT *y)
{
    v_float t = random_argument(r, at, lanes), minus = v_sub(v_set(0), top);
    act_store(y + at, v_exp(v_sub(t, top)), lanes);
    act_store(y + width + at, v_exp(v_sub(minus, t)), lanes);
}

INLINE void random_trig_lanes(long at, long lanes, const struct random_row *r, v_float root,
                              long width, ACT *y)
{
    v_float t = random_argument(r, at, lanes);
    act_store(y + at, v_mul(root, v_sine(t, 1)), lanes);
    act_store(y + width + at, v_mul(root, v_sine(t, 0)), lanes);
}

INLINE void random_relu_lanes(long at, long lanes, const struct random_row *r, v_float root, ACT *y)
{
    v_float t = relu_of(random_argument(r, at, lanes));
    act_store(y + at, v_fma(root, t, v_set(RELU_FLOOR)), lanes);
}

static void random_features(enum oa_random_feature f, long rows, long width, double scale,
                            const void *bias, const void *u, long ldu, void *y, long ldy, void *top)
{
    v_float root = v_set((float)(1 / sqrt((double)width)));
    for (long i = 0; i < rows; i++) {
        struct random_row row = { (float)scale, bias, (const float *)u + i * ldu };
        ACT *to = (ACT *)y + i * ldy;
        fetch_row(width, to, ldy);
        float most =
            f <= OA_RANDOM_HYPERBOLIC ? random_top(width, &row, f == OA_RANDOM_HYPERBOLIC) : 0;
        v_float all = v_set(most);
        if (f == OA_RANDOM_EXP)
            EACH(width, random_exp_lanes, &row, all, to)
        else if (f == OA_RANDOM_HYPERBOLIC)
            EACH(width, random_hyperbolic_lanes, &row, all, width, to)
        else if (f == OA_RANDOM_TRIG)
            EACH(width, random_trig_lanes, &row, root, width, to)
        else
            EACH(width, random_relu_lanes, &row, root, to)
        ((float *)top)[i] = most;
    }
}

struct random_gradient {
    const ACT *y, *dy;
    ACT *du;
    long width;
    v_float scale, sum;
};

INLINE void random_exp_gradient_lanes(long at, long lanes, struct random_gradient *g)
{
    v_float t = v_mul(act_load(g->y + at, lanes), act_load(g->dy + at, lanes));
    g->sum = v_add(g->sum, t);
    act_store(g->du + at, v_mul(g->scale, t), lanes);
}

INLINE void random_hyperbolic_gradient_lanes(long at, long lanes, struct random_gradient *g)
{
    v_float plus = v_mul(act_load(g->y + at, lanes), act_load(g->dy + at, lanes));
    v_float minus =
        v_mul(act_load(g->y + g->width + at, lanes), act_load(g->dy + g->width + at, lanes));
    g->sum = v_add(g->sum, v_add(plus, minus));
    act_store(g->du + at, v_mul(g->scale, v_sub(plus, minus)), lanes);
}

INLINE void random_trig_gradient_lanes(long at, long lanes, struct random_gradient *g)
{
    v_float c = act_load(g->y + at, lanes), s = act_load(g->y + g->width + at, lanes);
    v_float dc = act_load(g->dy + at, lanes), ds = act_load(g->dy + g->width + at, lanes);
    g->sum = v_add(g->sum, v_fma(c, dc, v_mul(s, ds)));
    act_store(g->du + at, v_mul(g->scale, v_fnma(s, dc, v_mul(c, ds))), lanes);
}

INLINE void random_relu_gradient_lanes(long at, long lanes, struct random_gradient *g,
                                       v_float factor, v_float floor)
{
    v_mask on = v_less(floor, act_load(g->y + at, lanes));
    act_store(g->du + at, v_keep(on, v_mul(factor, act_load(g->dy + at, lanes))), lanes);
}

static void random_features_gradient(enum oa_random_feature f, long rows, long width, double scale,
                                     const void *y, long ldy, const void *dy, long lddy, void *du,
                                     long lddu, void *sums)
{
    v_float factor = v_set((float)(scale / sqrt((double)width))),
            floor = v_set(LOAD(STORE(RELU_FLOOR)));
    for (long i = 0; i < rows; i++) {
        struct random_gradient g = { (const ACT *)y + i * ldy, (const ACT *)dy + i * lddy,
                                     (ACT *)du + i * lddu,     width,
                                     v_set((float)scale),      v_set(0) };
        fetch_row(width, g.y, ldy);
        fetch_row(width, g.dy, lddy);
        if (f == OA_RANDOM_EXP)
            EACH(width, random_exp_gradient_lanes, &g)
        else if (f == OA_RANDOM_HYPERBOLIC)
            EACH(width, random_hyperbolic_gradient_lanes, &g)
        else if (f == OA_RANDOM_TRIG)
            EACH(width, random_trig_gradient_lanes, &g)
        else
            EACH(width, random_relu_gradient_lanes, &g, factor, floor)
        ((float *)sums)[i] = v_sum(g.sum);
    }
}

INLINE void decay_lanes(long at, long lanes, const float *column, v_float row, float *x)
{
    v_float factor = v_exp(v_sub(v_load(column + at, lanes), row));
    v_store(x + at, v_mul(v_load(x + at, lanes), factor), lanes);
}

static void decay_tile(long rows, long cols, const int32_t *low, const int32_t *high,
                       const void *column, const void *row, void *x, long ldx)
{
    for (long i = 0; i < rows; i++) {
        struct span see = span_of(low, high, i, cols);
        const float *from = (const float *)column + see.begin;
        float *to = (float *)x + i * ldx + see.begin;
        v_float own = v_set(((const float *)row)[i]);
        EACH(see.end - see.begin, decay_lanes, from, own, to)
    }
}
