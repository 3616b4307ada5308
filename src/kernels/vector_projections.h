/* SPDX-License-Identifier: Apache-2.0
 * Structured projections, by vectors; a part of vector_template.h. */

/* Tiles of W columns are transposed in a buffer, so that rows are read and written as vectors. */
static void lanes_in(long rows, long n, const int32_t *index, const void *x, long ldx, void *y)
{
    const ACT *from = x;
    float *to = y, tile[OA_LANES][W];
    memset(tile, 0, sizeof tile);
    for (long i = 0; i < n; i += W) {
        long lanes = lanes_left(n, i);
        for (long t = 0; t < rows; t++)
            v_store(tile[t], act_load(from + t * ldx + i, lanes), W);
        for (long c = 0; c < lanes; c++) {
            float *row = to + (index ? index[i + c] : i + c) * OA_LANES;
            for (long t = 0; t < OA_LANES; t++)
                row[t] = tile[t][c];
        }
    }
}

#ifdef v_turn
static void lanes_out(long rows, long n, const int32_t *index, const void *factor, const void *x,
                      void *y, long ldy)
{
    const float *from = x, *f = factor;
    for (long i = 0; i < n; i += W) {
        long lanes = lanes_left(n, i);
        v_float tile[W];
        for (long c = 0; c < W; c++) {
            long r = c >= lanes ? 0 : index ? index[i + c] : i + c;
            tile[c] = v_mul(v_set(f ? f[r] : 1), v_load(from + r * OA_LANES, W));
        }
        v_turn(tile);
        for (long t = 0; t < rows; t++)
            act_store((ACT *)y + t * ldy + i, tile[t], lanes);
    }
}
#else
static void lanes_out(long rows, long n, const int32_t *index, const void *factor, const void *x,
                      void *y, long ldy)
{
    const float *from = x, *f = factor;
    ACT *to = y;
    float tile[OA_LANES][W];
    memset(tile, 0, sizeof tile);
    for (long i = 0; i < n; i += W) {
        long lanes = lanes_left(n, i);
        for (long c = 0; c < lanes; c++) {
            long r = index ? index[i + c] : i + c;
            float scale = f ? f[r] : 1;
            for (long t = 0; t < OA_LANES; t++)
                tile[t][c] = scale * from[r * OA_LANES + t];
        }
        for (long t = 0; t < rows; t++)
            act_store(to + t * ldy + i, v_load(tile[t], W), lanes);
    }
}
#endif

/* `rows` rows of lanes, `step` apart, through the stages that mix them: 2, 4 or 8 rows make one,
 * two or three. */
INLINE void butterflies(int rows, long step, const float *factor, const float *x, float *y)
{
    for (long at = 0; at < OA_LANES; at += W) {
        v_float a[8];
        for (int i = 0; i < rows; i++) {
            a[i] = v_load(x + i * step * OA_LANES + at, W);
            a[i] = factor ? v_mul(a[i], v_set(factor[i * step])) : a[i];
        }
        for (int stage = 1; stage < rows; stage *= 2)
            for (int i = 0; i < rows; i++)
                if (!(i & stage)) {
                    v_float sum = v_add(a[i], a[i + stage]);
                    a[i + stage] = v_sub(a[i], a[i + stage]);
                    a[i] = sum;
                }
        for (int i = 0; i < rows; i++)
            v_store(y + i * step * OA_LANES + at, a[i], W);
    }
}

INLINE void hadamard_pass(int rows, long n, long step, const float *factor, const float *x,
                          float *y)
{
    for (long first = 0; first < n; first += rows * step)
        for (long r = first; r < first + step; r++)
            butterflies(rows, step, factor ? factor + r : NULL, x + r * OA_LANES, y + r * OA_LANES);
}

/* Three stages a pass, since the stores determine the time of a pass; the first pass also
 * multiplies the factors, and has the remaining stages. */
static void hadamard(long n, long unit, const void *factor, const void *x, void *y)
{
    int stages = 0;
    for (long step = unit; step < n; step *= 2)
        stages++;
    int first = stages ? (stages - 1) % 3 + 1 : 0;
    if (first == 0)
        hadamard_pass(1, n, unit, factor, x, y);
    else if (first == 1)
        hadamard_pass(2, n, unit, factor, x, y);
    else if (first == 2)
        hadamard_pass(4, n, unit, factor, x, y);
    else
        hadamard_pass(8, n, unit, factor, x, y);
    for (long step = unit << first; step < n; step *= 8)
        hadamard_pass(8, n, step, NULL, y, y);
}

static void mix_runs(long n, long b, bool transposed, const void *q, const void *x, void *y)
{
    const float *m = q, *from = x;
    float *to = y;
    long along = transposed ? 1 : b, across = transposed ? b : 1;
    for (long run = 0; run < n; run += b)
        for (long i = 0; i < b; i++)
            for (long at = 0; at < OA_LANES; at += W) {
                v_float sum = v_set(0);
                for (long j = 0; j < b; j++)
                    sum = v_fma(v_set(m[i * across + j * along]),
                                v_load(from + (run + j) * OA_LANES + at, W), sum);
                v_store(to + (run + i) * OA_LANES + at, sum, W);
            }
}
