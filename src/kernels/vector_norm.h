/* SPDX-License-Identifier: Apache-2.0
 * Norms by vectors; a part of vector_template.h. */

/* ---- norms ---- */

/* Some rows at a time, each with the bits that it has alone, so that one row is computed while
 * another waits for its sums. */
enum { NORM_ROWS = W / 4 };

INLINE float sum_of_four(const v_float sum[4])
{
    return v_sum(v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3])));
}

INLINE void row_means(int rows, long n, const ACT *x, float *mean)
{
    v_float sum[NORM_ROWS][4];
    long i = 0;
    for (int r = 0; r < rows; r++)
        for (int u = 0; u < 4; u++)
            sum[r][u] = v_set(0);
    for (; i + 4 * W <= n; i += 4 * W)
        for (int r = 0; r < rows; r++)
            for (int u = 0; u < 4; u++)
                sum[r][u] = v_add(sum[r][u], act_load(x + r * n + i + u * W, W));
    for (; i + W <= n; i += W)
        for (int r = 0; r < rows; r++)
            sum[r][0] = v_add(sum[r][0], act_load(x + r * n + i, W));
    for (int r = 0; i < n && r < rows; r++)
        sum[r][1] = v_add(sum[r][1], act_load(x + r * n + i, n - i));
    for (int r = 0; r < rows; r++)
        mean[r] = sum_of_four(sum[r]) / (float)n;
}

INLINE v_float squares_lanes(const ACT *x, v_float centre, long lanes, v_float sum)
{
    v_float d = v_sub(act_load(x, lanes), centre);
    if (lanes != W)
        d = v_keep(v_first(lanes), d);
    return v_fma(d, d, sum);
}

INLINE void row_variances(int rows, long n, const ACT *x, const float *mean, float *variance)
{
    v_float sum[NORM_ROWS][4], centre[NORM_ROWS];
    long i = 0;
    for (int r = 0; r < rows; r++) {
        centre[r] = v_set(mean[r]);
        for (int u = 0; u < 4; u++)
            sum[r][u] = v_set(0);
    }
    for (; i + 4 * W <= n; i += 4 * W)
        for (int r = 0; r < rows; r++)
            for (int u = 0; u < 4; u++)
                sum[r][u] = squares_lanes(x + r * n + i + u * W, centre[r], W, sum[r][u]);
    for (; i + W <= n; i += W)
        for (int r = 0; r < rows; r++)
            sum[r][0] = squares_lanes(x + r * n + i, centre[r], W, sum[r][0]);
    for (int r = 0; i < n && r < rows; r++)
        sum[r][1] = squares_lanes(x + r * n + i, centre[r], n - i, sum[r][1]);
    for (int r = 0; r < rows; r++)
        variance[r] = sum_of_four(sum[r]) / (float)n;
}

INLINE void norm_lanes(long at, long lanes, const ACT *x, v_float centre, v_float rstd,
                       const float *gain, const float *bias, ACT *y)
{
    v_float h = v_mul(v_sub(act_load(x + at, lanes), centre), rstd);
    v_float g = gain ? v_load(gain + at, lanes) : v_set(1);
    act_store(y + at, bias ? v_fma(h, g, v_load(bias + at, lanes)) : v_mul(h, g), lanes);
}

INLINE void norm_some_rows(int rows, long cols, const ACT *x, const float *gain, const float *bias,
                           float epsilon, ACT *y, float *mean, float *rstd)
{
    float centre[NORM_ROWS] = { 0 }, variance[NORM_ROWS];
    if (mean)
        row_means(rows, cols, x, centre);
    row_variances(rows, cols, x, centre, variance);
    for (int i = 0; i < rows; i++) {
        if (mean)
            mean[i] = centre[i];
        rstd[i] = 1 / sqrtf(variance[i] + epsilon);
    }
    for (int i = 0; i < rows; i++) {
        v_float vc = v_set(centre[i]), vr = v_set(rstd[i]);
        EACH(cols, norm_lanes, x + i * cols, vc, vr, gain, bias, y + i * cols)
    }
}

static void norm(long rows, long cols, const void *x, const void *gain, const void *bias,
                 double epsilon, void *y, void *mean, void *rstd)
{
    const ACT *from = x;
    ACT *to = y;
    float *m = mean, *r = rstd;
    long i = 0;
    for (; i + NORM_ROWS <= rows; i += NORM_ROWS)
        norm_some_rows(NORM_ROWS, cols, from + i * cols, gain, bias, (float)epsilon, to + i * cols,
                       m ? m + i : NULL, r + i);
    for (; i < rows; i++)
        norm_some_rows(1, cols, from + i * cols, gain, bias, (float)epsilon, to + i * cols,
                       m ? m + i : NULL, r + i);
}

/* One or four rows of the gradient: sums over rows are loaded and stored once for all of them. */
struct norm_rows {
    v_float centre[4], rstd[4], sum_e[4], sum_eh[4];
};

INLINE void norm_sums_lanes(long at, long lanes, int rows, struct norm_rows *r, const ACT *x,
                            const ACT *dy, long cols, const float *gain, float *dgain, float *dbias)
{
    v_float g = gain ? v_load(gain + at, lanes) : v_set(1);
    v_float dg = dgain ? v_load(dgain + at, lanes) : v_set(0);
    v_float db = dbias ? v_load(dbias + at, lanes) : v_set(0);
    for (int i = 0; i < rows; i++) {
        v_float h = v_mul(v_sub(act_load(x + i * cols + at, lanes), r->centre[i]), r->rstd[i]);
        v_float d = act_load(dy + i * cols + at, lanes), e = v_mul(d, g);
        r->sum_e[i] = v_add(r->sum_e[i], e); /* beyond the row's end d, and so e, is 0 */
        r->sum_eh[i] = v_fma(e, h, r->sum_eh[i]);
        dg = v_fma(d, h, dg);
        db = v_add(db, d);
    }
    if (dgain)
        v_store(dgain + at, dg, lanes);
    if (dbias)
        v_store(dbias + at, db, lanes);
}

INLINE void norm_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, const float *gain,
                                v_float centre, v_float rstd, v_float e, v_float eh, ACT *dx)
{
    v_float h = v_mul(v_sub(act_load(x + at, lanes), centre), rstd);
    v_float g = gain ? v_load(gain + at, lanes) : v_set(1);
    v_float d = v_fma(act_load(dy + at, lanes), g, v_fnma(h, eh, e));
    act_store(dx + at, v_mul(rstd, d), lanes);
}

INLINE void norm_gradient_rows(int rows, long cols, const ACT *x, const float *gain,
                               const float *mean, const float *rstd, const ACT *dy, ACT *dx,
                               float *dgain, float *dbias)
{
    struct norm_rows r;
    for (int i = 0; i < rows; i++) {
        r.centre[i] = v_set(mean ? mean[i] : 0);
        r.rstd[i] = v_set(rstd[i]);
        r.sum_e[i] = r.sum_eh[i] = v_set(0);
    }
    EACH(cols, norm_sums_lanes, rows, &r, x, dy, cols, gain, dgain, dbias)
    for (int i = 0; i < rows; i++, x += cols, dy += cols, dx += cols) {
        v_float e = v_set(mean ? -v_sum(r.sum_e[i]) / (float)cols : 0),
                eh = v_set(v_sum(r.sum_eh[i]) / (float)cols);
        EACH(cols, norm_gradient_lanes, x, dy, gain, r.centre[i], r.rstd[i], e, eh, dx)
    }
}

static void norm_gradient(long rows, long cols, const void *x, const void *gain, const void *mean,
                          const void *rstd, const void *dy, void *dx, void *dgain, void *dbias)
{
    const ACT *from = x, *gradient = dy;
    const float *centre = mean, *r = rstd;
    ACT *to = dx;
    long i = 0;
    for (; i + 4 <= rows; i += 4)
        norm_gradient_rows(4, cols, from + i * cols, gain, centre ? centre + i : NULL, r + i,
                           gradient + i * cols, to + i * cols, dgain, dbias);
    for (; i < rows; i++)
        norm_gradient_rows(1, cols, from + i * cols, gain, centre ? centre + i : NULL, r + i,
                           gradient + i * cols, to + i * cols, dgain, dbias);
}
