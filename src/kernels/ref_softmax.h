/* SPDX-License-Identifier: Apache-2.0
 * Softmax and other weights over tiles of logits in plain C; a part of ref_template.h. */
/* ---- softmax over tiles ---- */

/* Writes zeros where columns are not visible. */
static void clear_unseen(long cols, long begin, long end, REAL *row)
{
    if (begin >= end)
        begin = end = cols;
    for (long j = 0; j < begin; j++)
        row[j] = 0;
    for (long j = end; j < cols; j++)
        row[j] = 0;
}

static void softmax_tile(long rows, long cols, double scale, const int32_t *low,
                         const int32_t *high, void *s, long lds, void *m, void *z, void *rescale)
{
    for (long i = 0; i < rows; i++) {
        REAL *row = (REAL *)s + i * lds;
        REAL old = ((REAL *)m)[i], top = old, sum = 0;
        long begin = first_seen(low, i), end = end_seen(high, i, cols);
        for (long j = begin; j < end; j++)
            if ((REAL)scale * row[j] > top)
                top = (REAL)scale * row[j];
        bool empty = top == -(REAL)INFINITY;
        REAL origin = empty ? 0 : top; /* −∞ − 0 gives weight 0; NaN stays NaN */
        for (long j = begin; j < end; j++) {
            row[j] = FN(exp)((REAL)scale * row[j] - origin);
            sum += row[j];
        }
        clear_unseen(cols, begin, end, row);
        REAL factor = empty ? 1 : FN(exp)(old - top);
        ((REAL *)m)[i] = top;
        ((REAL *)z)[i] = ((REAL *)z)[i] * factor + sum;
        ((REAL *)rescale)[i] = factor;
    }
}

static void softmax_to_act(long rows, long cols, double scale, const int32_t *low,
                           const int32_t *high, const void *s, long lds, void *m, void *z,
                           void *rescale, void *p, long ldp)
{
    for (long i = 0; i < rows; i++) {
        const REAL *row = (const REAL *)s + i * lds;
        ACT *to = (ACT *)p + i * ldp;
        REAL old = ((REAL *)m)[i], top = old, sum = 0;
        long begin = first_seen(low, i), end = end_seen(high, i, cols);
        for (long j = begin; j < end; j++)
            if ((REAL)scale * row[j] > top)
                top = (REAL)scale * row[j];
        bool empty = top == -(REAL)INFINITY;
        for (long j = 0; j < cols; j++) {
            bool seen = j >= begin && j < end;
            REAL weight = seen ? FN(exp)((REAL)scale * row[j] - (empty ? 0 : top)) : 0;
            to[j] = STORE(weight);
            sum += weight;
        }
        REAL factor = empty ? 1 : FN(exp)(old - top);
        ((REAL *)m)[i] = top;
        ((REAL *)z)[i] = ((REAL *)z)[i] * factor + sum;
        ((REAL *)rescale)[i] = factor;
    }
}

static void softmax_again(long rows, long cols, double scale, const int32_t *low,
                          const int32_t *high, const void *lse, void *s, long lds)
{
    for (long i = 0; i < rows; i++) {
        REAL *row = (REAL *)s + i * lds, l = ((const REAL *)lse)[i];
        long begin = first_seen(low, i), end = end_seen(high, i, cols);
        if (l == -(REAL)INFINITY)
            end = begin;
        for (long j = begin; j < end; j++)
            row[j] = FN(exp)((REAL)scale * row[j] - l);
        clear_unseen(cols, begin, end, row);
    }
}

static void softmax_gradient(long rows, long cols, double scale, const void *p, long ldp,
                             const void *dp, long lddp, const void *delta, void *ds, long ldds)
{
    for (long i = 0; i < rows; i++) {
        const REAL *prob = (const REAL *)p + i * ldp, *gradient = (const REAL *)dp + i * lddp;
        REAL shift = ((const REAL *)delta)[i];
        ACT *to = (ACT *)ds + i * ldds;
        for (long j = 0; j < cols; j++)
            to[j] = STORE(prob[j] == 0 ? 0 : (REAL)scale * prob[j] * (gradient[j] - shift));
    }
}

static void softmax_again_gradient(long rows, long cols, double scale, const int32_t *low,
                                   const int32_t *high, const void *lse, const void *s, long lds,
                                   const void *dp, long lddp, const void *delta, void *p, long ldp,
                                   void *ds, long ldds)
{
    for (long i = 0; i < rows; i++) {
        const REAL *row = (const REAL *)s + i * lds, *gradient = (const REAL *)dp + i * lddp;
        REAL l = ((const REAL *)lse)[i], shift = ((const REAL *)delta)[i];
        long begin = first_seen(low, i), end = end_seen(high, i, cols);
        for (long j = 0; j < cols; j++) {
            bool seen = j >= begin && j < end && l != -(REAL)INFINITY;
            REAL prob = seen ? FN(exp)((REAL)scale * row[j] - l) : 0;
            ((ACT *)p)[i * ldp + j] = STORE(prob);
            ((ACT *)ds)[i * ldds + j] = STORE(prob == 0 ? 0 : prob * (gradient[j] - shift));
        }
    }
}

/* ---- Kronecker products a row ---- */

static void fold_tile(const struct oa_fold *f, bool add, double factor, long rows, long cols,
                      const int32_t *low, const int32_t *high, void *s, long lds)
{
    for (long i = 0; i < rows; i++) {
        const ACT *q = (const ACT *)f->q + i * f->ldq, *k = (const ACT *)f->k + i * f->ldk;
        REAL *row = (REAL *)s + i * lds;
        for (long j = first_seen(low, i); j < end_seen(high, i, cols); j++) {
            long l = f->first + j;
            REAL x = (REAL)(factor * LOAD(k[l / f->width])) * LOAD(q[l % f->width]);
            row[j] = add ? row[j] + x : x;
        }
    }
}

static void fold_gradient(const struct oa_fold *f, long rows, long cols, const int32_t *low,
                          const int32_t *high, const void *ds, long ldds, void *dq, void *dk,
                          long lddk)
{
    for (long i = 0; i < rows; i++) {
        const ACT *q = (const ACT *)f->q + i * f->ldq, *k = (const ACT *)f->k + i * f->ldk;
        for (long j = first_seen(low, i); j < end_seen(high, i, cols); j++) {
            long p = (f->first + j) % f->width, fold = (f->first + j) / f->width;
            REAL g = LOAD(((const ACT *)ds)[i * ldds + j]);
            ((REAL *)dq)[i * f->width + p] += g * LOAD(k[fold]);
            ((REAL *)dk)[i * lddk + fold] += g * LOAD(q[p]);
        }
    }
}

/* ---- weights that are no softmax ---- */

static REAL weight_of(enum oa_weighing w, REAL t, REAL r)
{
    REAL above = w == OA_WEIGH_ENTMAX ? t / 2 - r : t - r;
    if (w == OA_WEIGH_SIGMOID)
        return sigmoid(above);
    above = above > 0 ? above : 0;
    return w == OA_WEIGH_ENTMAX ? above * above : above;
}

static void weigh_tile(enum oa_weighing w, long rows, long cols, double scale, const int32_t *low,
                       const int32_t *high, const void *r, void *s, long lds)
{
    for (long i = 0; i < rows; i++) {
        REAL *row = (REAL *)s + i * lds;
        long begin = first_seen(low, i), end = end_seen(high, i, cols);
        for (long j = begin; j < end; j++)
            row[j] = weight_of(w, (REAL)scale * row[j], ((const REAL *)r)[i]);
        clear_unseen(cols, begin, end, row);
    }
}

/* g of a weight. */
static REAL weight_slope(enum oa_weighing w, REAL p)
{
    if (w == OA_WEIGH_SIGMOID)
        return p * (1 - p);
    return w == OA_WEIGH_ENTMAX ? FN(sqrt)(p) : p > 0;
}

static void weigh_gradient(enum oa_weighing w, long rows, long cols, const void *p, long ldp,
                           const void *dp, long lddp, const void *delta, void *ds, long ldds)
{
    for (long i = 0; i < rows; i++) {
        const REAL *weight = (const REAL *)p + i * ldp, *gradient = (const REAL *)dp + i * lddp;
        REAL shift = w == OA_WEIGH_SIGMOID ? 0 : ((const REAL *)delta)[i];
        ACT *to = (ACT *)ds + i * ldds;
        for (long j = 0; j < cols; j++)
            to[j] = STORE(weight[j] == 0 ? 0 : weight_slope(w, weight[j]) * (gradient[j] - shift));
    }
}

static void weigh_sums(enum oa_weighing w, long rows, long cols, const void *p, long ldp,
                       const void *dp, long lddp, void *above, void *below)
{
    for (long i = 0; i < rows; i++) {
        const REAL *weight = (const REAL *)p + i * ldp, *gradient = (const REAL *)dp + i * lddp;
        for (long j = 0; j < cols; j++) {
            if (weight[j] == 0)
                continue;
            REAL g = weight_slope(w, weight[j]);
            ((REAL *)above)[i] += g * gradient[j];
            ((REAL *)below)[i] += g;
        }
    }
}

static void tile_to_act(long rows, long cols, const void *x, long ldx, void *y, long ldy)
{
    for (long i = 0; i < rows; i++)
        act_from_real(cols, (const REAL *)x + i * ldx, (ACT *)y + i * ldy);
}

static void softmax_to_tiles(long rows, long cols, double scale, const int32_t *low,
                             const int32_t *high, void *s, long lds, void *m, void *z,
                             void *rescale, void *p)
{
    long steps = (cols + 31) / 32;
    softmax_tile(rows, cols, scale, low, high, s, lds, m, z, rescale);
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < 32 * steps; j++)
            ((ACT *)p)[(i / 16 * steps + j / 32) * 512 + i % 16 * 32 + j % 32] =
                STORE(j < cols ? ((const REAL *)s)[i * lds + j] : 0);
}

/* P of element (i, j) as in softmax_again. */
static REAL weight_again(const struct oa_softmax_pairs *x, long i, long j)
{
    REAL l = ((const REAL *)x->lse)[i];
    bool seen = j + x->first >= x->low[i] && j + x->first < x->high[i] && l != -(REAL)INFINITY;
    return seen ? FN(exp)((REAL)x->scale * ((const REAL *)x->s)[i * x->lds + j] - l) : 0;
}

static void softmax_pairs(const struct oa_softmax_pairs *x)
{
    for (long i = 0; i < x->rows; i++)
        for (long j = 0; j < 32; j++) {
            bool there = j < x->cols;
            REAL p = there ? weight_again(x, i, j) : 0, factor = 1;
            if (there && x->factor)
                factor = ((const REAL *)x->factor)[i * 32 + j];
            REAL dp = factor != 0 ? ((const REAL *)x->dp)[i * 32 + j] * factor : 0;
            ACT ds = STORE(p == 0 ? 0 : p * (dp - ((const REAL *)x->delta)[i]));
            long pair = (i / 2 * 32 + j) * 2 + i % 2;
            ((ACT *)x->p_pairs)[pair] = STORE(p * factor);
            ((ACT *)x->ds_pairs)[pair] = ds;
            if (x->ds)
                ((ACT *)x->ds)[i / 16 * x->tile + i % 16 * x->row + j] = ds;
        }
}

static void tile_to_real(long rows, long cols, const void *x, long ldx, void *y, long ldy)
{
    for (long i = 0; i < rows; i++)
        real_from_act(cols, (const ACT *)x + i * ldx, (REAL *)y + i * ldy);
}

static void mask_tile(long rows, long cols, const int32_t *low, const int32_t *high, const void *x,
                      long ldx, void *y, long ldy, void *sums)
{
    for (long i = 0; i < rows; i++) {
        const REAL *from = (const REAL *)x + i * ldx;
        ACT *to = (ACT *)y + i * ldy;
        long begin = first_seen(low, i), end = end_seen(high, i, cols);
        REAL sum = 0;
        for (long j = 0; j < cols; j++) {
            bool seen = j >= begin && j < end;
            to[j] = STORE(seen ? from[j] : 0);
            sum += seen ? from[j] : 0;
        }
        if (sums)
            ((REAL *)sums)[i] += sum;
    }
}

static void row_dots(long rows, long cols, const void *x, long ldx, const void *y, long ldy,
                     void *out)
{
    for (long i = 0; i < rows; i++) {
        const ACT *a = (const ACT *)x + i * ldx, *b = (const ACT *)y + i * ldy;
        REAL sum = 0;
        for (long j = 0; j < cols; j++)
            sum += LOAD(a[j]) * LOAD(b[j]);
        ((REAL *)out)[i] = sum;
    }
}

static void row_dots_real(long rows, long cols, const void *x, long ldx, const void *y, void *out)
{
    for (long i = 0; i < rows; i++) {
        const ACT *row = (const ACT *)x + i * ldx;
        REAL sum = 0;
        for (long j = 0; j < cols; j++)
            sum += LOAD(row[j]) * ((const REAL *)y)[j];
        ((REAL *)out)[i] = sum;
    }
}

static void weigh_rows(long rows, long cols, const void *w, const void *x, long ldx, void *y)
{
    const REAL *weight = w;
    for (long i = 0; i < rows; i++)
        if (weight[i] != 0)
            for (long j = 0; j < cols; j++)
                ((REAL *)y)[j] += weight[i] * LOAD(((const ACT *)x)[i * ldx + j]);
}
