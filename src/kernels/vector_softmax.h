/* SPDX-License-Identifier: Apache-2.0
 * Softmax over tiles of logits, by vectors; a part of vector_template.h. */

/* The largest scale·x, at least `least`; NaN is passed over (it shows in the sum of exponentials).
 */
INLINE float row_largest(long n, const float *x, float scale, float least)
{
    v_float top[4], factor = v_set(scale), floor = v_set(least);
    long i = 0;
    for (int u = 0; u < 4; u++)
        top[u] = floor;
    for (; i + 4 * W <= n; i += 4 * W)
        for (int u = 0; u < 4; u++)
            top[u] = v_max(v_mul(factor, v_load(x + i + u * W, W)), top[u]);
    for (; i + W <= n; i += W)
        top[0] = v_max(v_mul(factor, v_load(x + i, W)), top[0]);
    if (i < n) {
        v_float end = v_mul(factor, v_load(x + i, n - i));
        top[1] = v_max(v_select(v_first(n - i), end, floor), top[1]);
    }
    return v_largest(v_max(v_max(top[0], top[1]), v_max(top[2], top[3])));
}

INLINE void exp_lanes(long at, long lanes, float *x, v_float factor, v_float shift, v_float *sum)
{
    v_float e = v_exp2(v_fma(factor, v_load(x + at, lanes), shift));
    v_store(x + at, e, lanes);
    *sum = v_add(*sum, lanes == W ? e : v_keep(v_first(lanes), e));
}

/* x ← 2^{factor·x + shift}; returns the sum. log₂ e is part of the factor that logits are
 * multiplied by anyway: it costs nothing, and the rounding of the shift is the same for the whole
 * row. */
INLINE float row_exp(long n, float *x, v_float factor, float shift)
{
    v_float sum = v_set(0), all = v_set(shift);
    EACH(n, exp_lanes, x, factor, all, &sum)
    return v_sum(sum);
}

INLINE float row_weights(struct span see, long cols, v_float factor, float shift, float *row)
{
    clear_reals(see.begin, row);
    clear_reals(cols - see.end, row + see.end);
    return row_exp(see.end - see.begin, row + see.begin, factor, shift);
}

/* The running maximum and sum of at most W rows, so that what is done once a row is done in one
 * vector for all. */
struct online {
    v_float old, factor;
    float shift[W], sum[W];
};

INLINE void online_begin(struct online *o, long rows, const float top[W], float *m, const float *z,
                         float *rescale)
{
    v_float before = v_load(m, rows), after = v_load(top, rows);
    v_float origin = v_keep(v_less(v_set(-INFINITY), after),
                            after); /* −∞ − 0 gives weight 0; a NaN still shows */
    o->old = v_load(z, rows);
    o->factor = v_select(v_less(before, after), v_exp(v_sub(before, after)), v_set(1));
    v_store(m, after, rows);
    v_store(rescale, o->factor, rows);
    v_store(o->shift, v_mul(origin, v_set((float)-LOG2_E)), W);
}

INLINE void online_end(const struct online *o, long rows, float *z)
{
    v_store(z, v_fma(o->old, o->factor, v_load(o->sum, rows)), rows);
}

INLINE void softmax_rows(long rows, long cols, double scale, const int32_t *low,
                         const int32_t *high, float *s, long lds, float *m, float *z,
                         float *rescale)
{
    float top[W];
    struct online o;
    for (long i = 0; i < rows; i++) {
        struct span see = span_of(low, high, i, cols);
        top[i] = row_largest(see.end - see.begin, s + i * lds + see.begin, (float)scale, m[i]);
    }
    online_begin(&o, rows, top, m, z, rescale);
    for (long i = 0; i < rows; i++)
        o.sum[i] = row_weights(span_of(low, high, i, cols), cols, v_set((float)(scale * LOG2_E)),
                               o.shift[i], s + i * lds);
    online_end(&o, rows, z);
}

static void softmax_tile(long rows, long cols, double scale, const int32_t *low,
                         const int32_t *high, void *s, long lds, void *m, void *z, void *rescale)
{
    for (long i = 0; i < rows; i += W)
        softmax_rows(lanes_left(rows, i), cols, scale, low + i, high + i, (float *)s + i * lds, lds,
                     (float *)m + i, (float *)z + i, (float *)rescale + i);
}

static void softmax_again(long rows, long cols, double scale, const int32_t *low,
                          const int32_t *high, const void *lse, void *s, long lds)
{
    v_float factor = v_set((float)(scale * LOG2_E));
    for (long i = 0; i < rows; i++) {
        float *row = (float *)s + i * lds, l = ((const float *)lse)[i];
        struct span see = span_of(low, high, i, cols);
        if (l == -INFINITY)
            see.begin = see.end = 0;
        clear_reals(see.begin, row);
        (void)row_exp(see.end - see.begin, row + see.begin, factor, (float)(-l * LOG2_E));
        clear_reals(cols - see.end, row + see.end);
    }
}

INLINE void softmax_gradient_lanes(long at, long lanes, v_float scale, const float *p,
                                   const float *dp, v_float delta, ACT *ds)
{
    v_float prob = v_load(p + at, lanes);
    v_float d = v_mul(v_mul(scale, prob), v_sub(v_load(dp + at, lanes), delta));
    act_store(ds + at, v_keep(v_not_equal(prob, v_set(0)), d), lanes);
}

static void softmax_gradient(long rows, long cols, double scale, const void *p, long ldp,
                             const void *dp, long lddp, const void *delta, void *ds, long ldds)
{
    v_float factor = v_set((float)scale);
    for (long i = 0; i < rows; i++) {
        const float *prob = (const float *)p + i * ldp, *gradient = (const float *)dp + i * lddp;
        ACT *to = (ACT *)ds + i * ldds;
        v_float shift = v_set(((const float *)delta)[i]);
        EACH(cols, softmax_gradient_lanes, factor, prob, gradient, shift, to)
    }
}

static void tile_to_act(long rows, long cols, const void *x, long ldx, void *y, long ldy)
{
    for (long i = 0; i < rows; i++)
        act_from_real(cols, (const float *)x + i * ldx, (ACT *)y + i * ldy);
}

static void tile_to_real(long rows, long cols, const void *x, long ldx, void *y, long ldy)
{
    for (long i = 0; i < rows; i++)
        real_from_act(cols, (const ACT *)x + i * ldx, (float *)y + i * ldy);
}

INLINE void mask_lanes(long at, long lanes, const float *x, ACT *y, v_float *sum)
{
    v_float v = v_load(x + at, lanes);
    *sum = v_add(*sum, v);
    act_store(y + at, v, lanes);
}

static void mask_tile(long rows, long cols, const int32_t *low, const int32_t *high, const void *x,
                      long ldx, void *y, long ldy, void *sums)
{
    for (long i = 0; i < rows; i++) {
        struct span see = span_of(low, high, i, cols);
        const float *from = (const float *)x + i * ldx + see.begin;
        ACT *row = (ACT *)y + i * ldy, *to = row + see.begin;
        v_float sum = v_set(0);
        EACH(see.end - see.begin, mask_lanes, from, to, &sum)
        if (see.begin > 0)
            memset(row, 0, (size_t)see.begin * sizeof(ACT));
        if (see.end < cols)
            memset(row + see.end, 0, (size_t)(cols - see.end) * sizeof(ACT));
        if (sums)
            ((float *)sums)[i] += v_sum(sum);
    }
}

enum { DOT_ROWS = 4 };

/* sum[r] += the products of row r of x with row r of y, or all with the same one. */
INLINE void row_dots_lanes(long at, long lanes, int rows, const ACT *x, long ldx, const ACT *y,
                           long ldy, bool same, v_float *sum)
{
    v_float right = act_load(y + at, lanes);
    for (int r = 0; r < rows; r++) {
        if (!same)
            right = act_load(y + r * ldy + at, lanes);
        sum[r] = v_fma(act_load(x + r * ldx + at, lanes), right, sum[r]);
    }
}

INLINE void row_dots_with(long rows, long cols, const ACT *x, long ldx, const ACT *y, long ldy,
                          bool same, float *out)
{
    long i = 0;
    for (; i + DOT_ROWS <= rows; i += DOT_ROWS) {
        v_float sum[DOT_ROWS] = { v_set(0), v_set(0), v_set(0), v_set(0) };
        EACH(cols, row_dots_lanes, DOT_ROWS, x + i * ldx, ldx, y + i * ldy, ldy, same, sum)
        memset(out + i, 0, sizeof(float[DOT_ROWS]));
        v_add_four_sums(sum, out + i);
    }
    for (; i < rows; i++) {
        v_float sum = v_set(0);
        EACH(cols, row_dots_lanes, 1, x + i * ldx, ldx, y + i * ldy, ldy, same, &sum)
        out[i] = v_sum(sum);
    }
}

static void row_dots(long rows, long cols, const void *x, long ldx, const void *y, long ldy,
                     void *out)
{
    if (ldy == 0)
        row_dots_with(rows, cols, x, ldx, y, 0, true, out);
    else
        row_dots_with(rows, cols, x, ldx, y, ldy, false, out);
}

enum { WEIGHED = 64 / W }; /* vectors of sums that stay in registers */

/* The columns of so many vectors, of which the last has `lanes`. */
INLINE void weigh_columns(long rows, int vectors, long lanes, const float *w, const ACT *x,
                          long ldx, float *y)
{
    v_float sum[WEIGHED];
    for (int u = 0; u < vectors; u++)
        sum[u] = v_load(y + u * W, u + 1 < vectors ? W : lanes);
    for (long i = 0; i < rows; i++, x += ldx) {
        if (w[i] == 0)
            continue;
        v_float weight = v_set(w[i]);
        for (int u = 0; u < vectors; u++)
            sum[u] = v_fma(weight, act_load(x + u * W, u + 1 < vectors ? W : lanes), sum[u]);
    }
    for (int u = 0; u < vectors; u++)
        v_store(y + u * W, sum[u], u + 1 < vectors ? W : lanes);
}

static void weigh_rows(long rows, long cols, const void *w, const void *x, long ldx, void *y)
{
    const ACT *from = x;
    float *to = y;
    long j = 0;
    for (; j + WEIGHED * W <= cols; j += WEIGHED * W)
        weigh_columns(rows, WEIGHED, W, w, from + j, ldx, to + j);
#define REST(n)                                                                                    \
    case n:                                                                                        \
        weigh_columns(rows, n < WEIGHED ? n : 1, W, w, from + j, ldx, to + j);                     \
        break;
    switch ((cols - j) / W) { /* heads of 32 or 48: as many sums at a time as there are */
        REST(1)
        REST(2)
        REST(3)
        REST(4)
        REST(5)
        REST(6)
        REST(7)
    }
#undef REST
    j += (cols - j) / W * W;
    if (j < cols)
        weigh_columns(rows, 1, cols - j, w, from + j, ldx, to + j);
}
