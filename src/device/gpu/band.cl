/* SPDX-License-Identifier: Apache-2.0
 * Weights over a band of keys (formulas: cpu_band.c). The largest logit of each row and the sum of
 * its exponentials are made first (2 reals a row); a weight is then e^(ℓ − top)/sum wherever it is
 * needed. Outputs, and the gradients of values, are tiles of 16 rows × 64 columns of a (b,h), which
 * a group makes by steps of 16 of the rows that they are sums of. */
enum { TILE = 16, COLS = 64, OWN = 8 }; /* OWN: rows of a thread, of which two share a column */

typedef struct {
    long batch, queries, keys, heads, values, causal, first;
    long taps, before, reach, renormalise, tokens;
    double offset, sigma;
    ulong query_lengths, key_lengths, logits, dlogits, v, dv, o, d_o, rows, sums;
    long ldlogits, ldv, ldo, run;
} band_weights;

/* Taps of a row: tap k is key first + k; it is seen if begin ≤ k < end. */
typedef struct {
    long first, count, begin, end;
} band_row;

FUNCTION long band_keys(band_weights a, long b)
{
    return real_length(AT(const int, a.key_lengths), b, a.keys);
}

FUNCTION long band_queries(band_weights a, long b)
{
    return real_length(AT(const int, a.query_lengths), b, a.queries);
}

FUNCTION band_row place_row(band_weights a, long keys, long i)
{
    band_row r;
    long p = a.first + i, n = a.causal ? least(keys, p + 1) : keys;
    r.first = p - a.before;
    r.count = a.taps;
    if (a.taps == 0) {
        long near = most(0, least((long)round((double)p + a.offset), n - 1));
        r.first = most(0, near - a.reach);
        r.count = most(0, least(n, near + a.reach + 1) - r.first);
    }
    r.begin = most(0, -r.first);
    r.end = most(r.begin, least(n - r.first, most(r.begin, r.count)));
    return r;
}

FUNCTION real band_logit(band_weights a, long b, long h, long i, band_row r, long k)
{
    if (a.taps > 0 && a.tokens)
        return load(AT(const act, a.logits), (b * a.queries + i) * a.ldlogits + h * a.taps + k);
    if (a.taps > 0)
        return AT(const real, a.logits)[h * a.taps + k];
    real z = (real)(((double)(r.first + k - a.first - i) - a.offset) / a.sigma);
    return -z * z / 2;
}

/* rows real [2][B·H·T]: a thread has a row. */
KERNEL void band_statistics(band_weights a)
{
    long i = ITEM % a.queries, h = ITEM / a.queries % a.heads, b = ITEM / a.queries / a.heads;
    long all = a.batch * a.heads * a.queries;
    real top = -INFINITY, sum = 0;
    if (b >= a.batch || i >= band_queries(a, b))
        return;
    band_row r = place_row(a, band_keys(a, b), i);
    long begin = a.renormalise ? r.begin : 0, end = a.renormalise ? r.end : r.count;
    for (long k = begin; k < end; k++)
        top = fmax(top, band_logit(a, b, h, i, r, k));
    for (long k = begin; k < end; k++)
        sum += exp(band_logit(a, b, h, i, r, k) - top);
    if (a.taps == 0 && !a.renormalise) {
        top = 0;
        sum = (real)(a.sigma * 2.50662827463100050242);
    }
    AT(real, a.rows)[ITEM] = top;
    AT(real, a.rows)[all + ITEM] = sum;
}

/* The weight of key j for row i; 0 outside the band. */
FUNCTION real band_weight(band_weights a, long b, long h, long i, long keys, long j)
{
    long at = (b * a.heads + h) * a.queries + i;
    band_row r = place_row(a, keys, i);
    long k = j - r.first;
    if (k < r.begin || k >= r.end)
        return 0;
    return exp(band_logit(a, b, h, i, r, k) - AT(const real, a.rows)[at]) /
           AT(const real, a.rows)[a.batch * a.heads * a.queries + at];
}

/* ---- values ---- */

/* sum[r] += Σ_m w(i0 + r, m) x_m over begin ≤ m < end, for column c, with rows r = OWN·(half of the
 * group) + 0 … OWN − 1. Transposed: w(m, i0 + r). */
FUNCTION void add_band_tile(band_weights a, LOCAL real *w, long b, long h, int transposed, long i0,
                            long rows, long begin, long end, GLOBAL const act *x, long ldx, long c,
                            real *sum)
{
    long keys = band_keys(a, b);
    int half_group = THREAD / COLS;
    for (long m0 = begin; m0 < end; m0 += TILE) {
        for (int e = THREAD; e < TILE * TILE; e += GROUP_SIZE) {
            long i = i0 + e / TILE, m = m0 + e % TILE;
            bool there = i < rows && m < end;
            w[e] = !there ? 0 : band_weight(a, b, h, transposed ? m : i, keys, transposed ? i : m);
        }
        BARRIER;
        for (int m = 0; c < a.values && m < least(TILE, end - m0); m++) {
            real v = load(x, (m0 + m) * ldx + c);
            for (int r = 0; r < OWN; r++)
                sum[r] += w[(half_group * OWN + r) * TILE + m] * v;
        }
        BARRIER;
    }
}

/* GROUP(0): (b,h), a block of rows, a block of columns. */
KERNEL void band_outputs(band_weights a)
{
    SHARED real w[TILE * TILE];
    long across = (a.values + COLS - 1) / COLS, down = (a.queries + TILE - 1) / TILE;
    long bh = GROUP(0) / across / down, b = bh / a.heads, h = bh % a.heads,
         i0 = GROUP(0) / across % down * TILE, c = GROUP(0) % across * COLS + THREAD % COLS;
    long queries = band_queries(a, b), keys = band_keys(a, b), begin = 0, end = 0;
    real sum[OWN];
    for (int r = 0; r < OWN; r++)
        sum[r] = 0;
    if (i0 < queries) { /* bands move to the right with their rows */
        band_row top = place_row(a, keys, i0),
                 bottom = place_row(a, keys, least(queries, i0 + TILE) - 1);
        begin = top.first + top.begin;
        end = bottom.first + bottom.end;
    }
    add_band_tile(a, w, b, h, 0, i0, queries, begin, end,
                  AT(const act, a.v) + b * a.keys * a.ldv + h * a.values, a.ldv, c, sum);
    for (int r = 0; r < OWN; r++) {
        long i = i0 + THREAD / COLS * OWN + r;
        if (i < a.queries && c < a.values)
            store(AT(act, a.o), (b * a.queries + i) * a.ldo + h * a.values + c, sum[r]);
    }
}

/* The first row whose band ends after key j; or, of their beginnings, whose band begins after it.
 */
FUNCTION long first_row_after(band_weights a, long queries, long keys, long j, int beginnings)
{
    long low = 0, high = queries;
    while (low < high) {
        long middle = (low + high) / 2;
        band_row r = place_row(a, keys, middle);
        if (r.first + (beginnings ? r.begin : r.end) > j)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

KERNEL void band_value_gradient(band_weights a)
{
    SHARED real w[TILE * TILE];
    long across = (a.values + COLS - 1) / COLS, down = (a.keys + TILE - 1) / TILE;
    long bh = GROUP(0) / across / down, b = bh / a.heads, h = bh % a.heads,
         j0 = GROUP(0) / across % down * TILE, c = GROUP(0) % across * COLS + THREAD % COLS;
    long queries = band_queries(a, b), keys = band_keys(a, b);
    long begin = first_row_after(a, queries, keys, j0, 0),
         end = first_row_after(a, queries, keys, least(keys, j0 + TILE) - 1, 1);
    real sum[OWN];
    for (int r = 0; r < OWN; r++)
        sum[r] = 0;
    add_band_tile(a, w, b, h, 1, j0, keys, begin, j0 < keys ? end : begin,
                  AT(const act, a.d_o) + b * a.queries * a.ldo + h * a.values, a.ldo, c, sum);
    for (int r = 0; r < OWN; r++) {
        long j = j0 + THREAD / COLS * OWN + r;
        if (j < a.keys && c < a.values)
            store(AT(act, a.dv), (b * a.keys + j) * a.ldv + h * a.values + c, sum[r]);
    }
}

/* ---- logits ---- */

/* dO_i·v_j of tap k of row i; 0 off the sequence. */
FUNCTION real tap_gradient(band_weights a, long b, long h, long i, band_row r, long k)
{
    GLOBAL const act *d = AT(const act, a.d_o) + (b * a.queries + i) * a.ldo + h * a.values,
                     *v = AT(const act, a.v) + (b * a.keys + r.first + k) * a.ldv + h * a.values;
    real sum = 0;
    for (long c = 0; k >= r.begin && k < r.end && c < a.values; c++)
        sum += load(d, c) * load(v, c);
    return sum;
}

FUNCTION real tap_weight(band_weights a, long b, long h, long i, band_row r, long k)
{
    long at = (b * a.heads + h) * a.queries + i;
    if (a.renormalise && (k < r.begin || k >= r.end))
        return 0;
    return exp(band_logit(a, b, h, i, r, k) - AT(const real, a.rows)[at]) /
           AT(const real, a.rows)[a.batch * a.heads * a.queries + at];
}

/* dℓ_ik = w_ik (dw_ik − Σ_l w_il dw_il) of filters. A group has `run` rows of a (b,h), some at a
 * time: `wide` threads have one, the least power of 2 that is enough for its taps. The sums of rows
 * whose logits are those of all tokens go to sums, doubles [groups][rows at a time][taps]. */
KERNEL void band_logit_gradient(band_weights a)
{
    SHARED real room[GROUP_SIZE];
    int wide = 1;
    while (wide < GROUP_SIZE && wide < a.taps)
        wide *= 2;
    int at_once = GROUP_SIZE / wide, lane = THREAD % wide;
    long blocks = (a.queries + a.run - 1) / a.run, bh = GROUP(0) / blocks, b = bh / a.heads,
         h = bh % a.heads, i0 = GROUP(0) % blocks * a.run, queries = band_queries(a, b),
         keys = band_keys(a, b);
    GLOBAL double *sums = AT(double, a.sums) + (GROUP(0) * at_once + THREAD / wide) * a.taps;
    for (long k = lane; !a.tokens && k < a.taps; k += wide)
        sums[k] = 0;
    for (long block = i0; block < least(a.queries, i0 + a.run); block += at_once) {
        long i = block + THREAD / wide;
        bool there = i < least(queries, i0 + a.run);
        band_row r = place_row(a, keys, i);
        real mean = 0, own = 0;
        for (long k = lane; there && k < a.taps; k += wide) {
            real g = tap_gradient(a, b, h, i, r, k);
            own = k == lane ? g : own;
            mean += tap_weight(a, b, h, i, r, k) * g;
        }
        room[THREAD] = mean;
        BARRIER;
        for (int width = wide / 2; width > 0; width /= 2) {
            if (lane < width)
                room[THREAD] += room[THREAD + width];
            BARRIER;
        }
        mean = room[THREAD - lane];
        BARRIER;
        for (long k = lane; k < a.taps; k += wide) {
            real g = k == lane || !there ? own : tap_gradient(a, b, h, i, r, k);
            real d = there ? tap_weight(a, b, h, i, r, k) * (g - mean) : 0;
            if (!a.tokens)
                sums[k] += (double)d;
            else if (i < least(a.queries, i0 + a.run))
                store(AT(act, a.dlogits), (b * a.queries + i) * a.ldlogits + h * a.taps + k, d);
        }
    }
}

/* dlogits [H, taps] += the sums of `each` parts of every (b,h). */
KERNEL void add_band_logits(band_weights a, long each)
{
    long h = ITEM / a.taps, k = ITEM % a.taps;
    double sum = 0;
    if (h >= a.heads)
        return;
    for (long b = 0; b < a.batch; b++)
        for (long part = 0; part < each; part++)
            sum += AT(const double, a.sums)[((b * a.heads + h) * each + part) * a.taps + k];
    AT(real, a.dlogits)[ITEM] = (real)((double)AT(real, a.dlogits)[ITEM] + sum);
}
