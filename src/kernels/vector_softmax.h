/* SPDX-License-Identifier: Apache-2.0
 * Softmax over tiles of logits, by vectors; a part of vector_template.h. */

/* The largest scale·x, at least `least`; NaN is ignored (the sum of exponentials is then NaN). */
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

/* x ← 2^{factor·x + shift}; returns the sum. log₂ e is part of the scale of the logits: it costs
 * nothing, and the rounding of the shift is the same for the whole row. */
INLINE float row_exp(long n, float *x, v_float factor, float shift)
{
    v_float sum = v_set(0), all = v_set(shift);
    EACH(n, exp_lanes, x, factor, all, &sum)
    return v_sum(sum);
}

INLINE void exp_to_act_lanes(long at, long lanes, const float *x, v_float factor, v_float shift,
                             ACT *p, v_float *sum)
{
    v_float e = v_exp2(v_fma(factor, v_load(x + at, lanes), shift));
    act_store(p + at, e, lanes);
    *sum = v_add(*sum, lanes == W ? e : v_keep(v_first(lanes), e));
}

INLINE void clear_acts(long n, ACT *x)
{
    if (n > 0)
        memset(x, 0, (size_t)n * sizeof *x);
}

INLINE float row_weights_to_act(struct span see, long cols, v_float factor, float shift,
                                const float *row, ACT *p)
{
    v_float sum = v_set(0), all = v_set(shift);
    const float *from = row + see.begin;
    ACT *to = p + see.begin;
    clear_acts(see.begin, p);
    EACH(see.end - see.begin, exp_to_act_lanes, from, factor, all, to, &sum)
    clear_acts(cols - see.end, p + see.end);
    return v_sum(sum);
}

INLINE float row_weights(struct span see, long cols, v_float factor, float shift, float *row)
{
    clear_reals(see.begin, row);
    clear_reals(cols - see.end, row + see.end);
    return row_exp(see.end - see.begin, row + see.begin, factor, shift);
}

/* The running maximum and sum of at most W rows, so that operations per row are operations on one
 * vector. */
struct online {
    v_float old, factor;
    float shift[W], sum[W];
};

INLINE void online_begin(struct online *o, long rows, const float top[W], float *m, const float *z,
                         float *rescale)
{
    v_float before = v_load(m, rows), after = v_load(top, rows);
    v_float origin =
        v_keep(v_less(v_set(-INFINITY), after), after); /* −∞ − 0 gives weight 0; NaN stays NaN */
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

enum { TABLE_AHEAD = 2 };

/* Prefetches the row of a tile TABLE_AHEAD rows further: in a table of logits, which is read in
 * place, rows are far apart. */
INLINE void fetch_table_row(struct span see, const float *row, long ld)
{
    const float *x = row + TABLE_AHEAD * ld;
    for (long j = see.begin; j < see.end; j += OA_ALIGN / (long)sizeof *x)
        __builtin_prefetch(x + j);
}

/* The largest of at most W rows, and what online sums begin with. */
INLINE void softmax_begin(struct online *o, long rows, long cols, double scale, const int32_t *low,
                          const int32_t *high, const float *s, long lds, float *m, const float *z,
                          float *rescale)
{
    float top[W];
    for (long i = 0; i < rows; i++) {
        struct span see = span_of(low, high, i, cols);
        fetch_table_row(see, s + i * lds, lds);
        top[i] = row_largest(see.end - see.begin, s + i * lds + see.begin, (float)scale, m[i]);
    }
    online_begin(o, rows, top, m, z, rescale);
}

INLINE void softmax_rows(long rows, long cols, double scale, const int32_t *low,
                         const int32_t *high, float *s, long lds, float *m, float *z,
                         float *rescale)
{
    struct online o;
    softmax_begin(&o, rows, cols, scale, low, high, s, lds, m, z, rescale);
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

INLINE void softmax_rows_to_act(long rows, long cols, double scale, const int32_t *low,
                                const int32_t *high, const float *s, long lds, float *m, float *z,
                                float *rescale, ACT *p, long ldp)
{
    struct online o;
    softmax_begin(&o, rows, cols, scale, low, high, s, lds, m, z, rescale);
    for (long i = 0; i < rows; i++)
        o.sum[i] =
            row_weights_to_act(span_of(low, high, i, cols), cols, v_set((float)(scale * LOG2_E)),
                               o.shift[i], s + i * lds, p + i * ldp);
    online_end(&o, rows, z);
}

static void softmax_to_act(long rows, long cols, double scale, const int32_t *low,
                           const int32_t *high, const void *s, long lds, void *m, void *z,
                           void *rescale, void *p, long ldp)
{
    for (long i = 0; i < rows; i += W)
        softmax_rows_to_act(lanes_left(rows, i), cols, scale, low + i, high + i,
                            (const float *)s + i * lds, lds, (float *)m + i, (float *)z + i,
                            (float *)rescale + i, (ACT *)p + i * ldp, ldp);
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

INLINE void softmax_again_gradient_lanes(long at, long lanes, v_float factor, v_float shift,
                                         const float *s, const float *dp, v_float delta, ACT *p,
                                         ACT *ds)
{
    v_float prob = v_exp2(v_fma(factor, v_load(s + at, lanes), shift));
    v_float d = v_mul(prob, v_sub(v_load(dp + at, lanes), delta));
    act_store(p + at, prob, lanes);
    act_store(ds + at, v_keep(v_not_equal(prob, v_set(0)), d), lanes);
}

static void softmax_again_gradient(long rows, long cols, double scale, const int32_t *low,
                                   const int32_t *high, const void *lse, const void *s, long lds,
                                   const void *dp, long lddp, const void *delta, void *p, long ldp,
                                   void *ds, long ldds)
{
    v_float factor = v_set((float)(scale * LOG2_E));
    for (long i = 0; i < rows; i++) {
        struct span see = span_of(low, high, i, cols);
        float l = ((const float *)lse)[i];
        if (l == -INFINITY)
            see.begin = see.end = 0;
        const float *row = (const float *)s + i * lds + see.begin,
                    *gradient = (const float *)dp + i * lddp + see.begin;
        v_float shift = v_set((float)(-l * LOG2_E)), mean = v_set(((const float *)delta)[i]);
        fetch_table_row(see, (const float *)s + i * lds, lds);
        ACT *weights = (ACT *)p + i * ldp, *slopes = (ACT *)ds + i * ldds,
            *to = weights + see.begin, *more = slopes + see.begin;
        clear_acts(see.begin, weights);
        clear_acts(see.begin, slopes);
        EACH(see.end - see.begin, softmax_again_gradient_lanes, factor, shift, row, gradient, mean,
             to, more)
        clear_acts(cols - see.end, weights + see.end);
        clear_acts(cols - see.end, slopes + see.end);
    }
}

/* ---- Kronecker products a row ---- */

INLINE void fold_lanes(long at, long lanes, bool add, v_float factor, const ACT *q, float *s)
{
    v_float x = act_load(q + at, lanes);
    v_store(s + at, add ? v_fma(factor, x, v_load(s + at, lanes)) : v_mul(factor, x), lanes);
}

/* Columns j … j + n − 1 of a row that belong to one fold, from its column `at` on. */
struct fold_run {
    long j, n, fold, at;
};

INLINE void fold_run_begin(const struct oa_fold *f, struct span see, struct fold_run *r)
{
    long l = f->first + see.begin;
    *r = (struct fold_run){ .j = see.begin, .fold = l / f->width, .at = l % f->width };
    r->n = f->width - r->at < see.end - r->j ? f->width - r->at : see.end - r->j;
}

/* Skips the run, and `more` whole folds after it. */
INLINE void fold_run_next(const struct oa_fold *f, struct span see, long more, struct fold_run *r)
{
    r->j += r->n + more * f->width;
    r->fold += 1 + more;
    r->at = 0;
    r->n = f->width < see.end - r->j ? f->width : see.end - r->j;
}

INLINE void fold_row(const struct oa_fold *f, bool add, double factor, struct span see,
                     const ACT *q, const ACT *k, float *s)
{
    struct fold_run r;
    for (fold_run_begin(f, see, &r); r.n > 0; fold_run_next(f, see, 0, &r)) {
        v_float x = v_set((float)(factor * LOAD(k[r.fold])));
        const ACT *from = q + r.at;
        float *to = s + r.j;
        EACH(r.n, fold_lanes, add, x, from, to)
    }
}

static void fold_tile(const struct oa_fold *f, bool add, double factor, long rows, long cols,
                      const int32_t *low, const int32_t *high, void *s, long lds)
{
    for (long i = 0; i < rows; i++) {
        struct span see = span_of(low, high, i, cols);
        const ACT *q = (const ACT *)f->q + i * f->ldq, *k = (const ACT *)f->k + i * f->ldk;
        if (add)
            fold_row(f, true, factor, see, q, k, (float *)s + i * lds);
        else
            fold_row(f, false, factor, see, q, k, (float *)s + i * lds);
    }
}

enum { FOLDS = 4 };

/* Folds of `width` columns next to each other: dq is read and written once for all. */
INLINE void fold_gradient_lanes(long at, long lanes, int folds, long width, const ACT *ds,
                                const ACT *q, const v_float *k, float *dq, v_float *sum)
{
    v_float x = act_load(q + at, lanes), d = v_load(dq + at, lanes);
    for (int u = 0; u < folds; u++) {
        v_float g = act_load(ds + u * width + at, lanes);
        d = v_fma(k[u], g, d);
        sum[u] = v_fma(g, x, sum[u]);
    }
    v_store(dq + at, d, lanes);
}

INLINE void fold_gradient_row(const struct oa_fold *f, struct span see, const ACT *q, const ACT *k,
                              const ACT *ds, float *dq, float *dk)
{
    struct fold_run r;
    long width = f->width, more = 0;
    for (fold_run_begin(f, see, &r); r.n > 0; fold_run_next(f, see, more, &r)) {
        v_float sum[FOLDS], x[FOLDS];
        const ACT *g = ds + r.j, *from = q + r.at;
        float *to = dq + r.at;
        more = r.n == width && r.j + FOLDS * width <= see.end ? FOLDS - 1 : 0;
        for (int u = 0; u <= more; u++) {
            x[u] = v_set(LOAD(k[r.fold + u]));
            sum[u] = v_set(0);
        }
        if (more) {
            EACH(width, fold_gradient_lanes, FOLDS, width, g, from, x, to, sum)
            v_add_four_sums(sum, dk + r.fold);
        } else {
            EACH(r.n, fold_gradient_lanes, 1, width, g, from, x, to, sum)
            dk[r.fold] += v_sum(sum[0]);
        }
    }
}

static void fold_gradient(const struct oa_fold *f, long rows, long cols, const int32_t *low,
                          const int32_t *high, const void *ds, long ldds, void *dq, void *dk,
                          long lddk)
{
    for (long i = 0; i < rows; i++)
        fold_gradient_row(f, span_of(low, high, i, cols), (const ACT *)f->q + i * f->ldq,
                          (const ACT *)f->k + i * f->ldk, (const ACT *)ds + i * ldds,
                          (float *)dq + i * f->width, (float *)dk + i * lddk);
}

static void tile_to_act(long rows, long cols, const void *x, long ldx, void *y, long ldy)
{
    for (long i = 0; i < rows; i++) {
        ACT *to = (ACT *)y + i * ldy;
        fetch_row(cols, to, ldy);
        act_from_real(cols, (const float *)x + i * ldx, to);
    }
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

INLINE void row_dots_real_lanes(long at, long lanes, int rows, const ACT *x, long ldx,
                                const float *y, v_float *sum)
{
    v_float right = v_load(y + at, lanes);
    for (int r = 0; r < rows; r++)
        sum[r] = v_fma(act_load(x + r * ldx + at, lanes), right, sum[r]);
}

static void row_dots_real(long rows, long cols, const void *x, long ldx, const void *y, void *out)
{
    const ACT *row = x;
    const float *with = y;
    float *to = out;
    for (; rows >= DOT_ROWS; rows -= DOT_ROWS, row += DOT_ROWS * ldx, to += DOT_ROWS) {
        v_float sum[DOT_ROWS] = { v_set(0), v_set(0), v_set(0), v_set(0) };
        EACH(cols, row_dots_real_lanes, DOT_ROWS, row, ldx, with, sum)
        memset(to, 0, sizeof(float[DOT_ROWS]));
        v_add_four_sums(sum, to);
    }
    for (; rows > 0; rows--, row += ldx, to++) {
        v_float sum = v_set(0);
        EACH(cols, row_dots_real_lanes, 1, row, ldx, with, &sum)
        *to = v_sum(sum);
    }
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
