/* SPDX-License-Identifier: Apache-2.0
 * Random features and the moments that some are fitted to (formulas: cpu_random_features.c,
 * cpu_moments.c). A row is that of a token and a head: number (b·T + t)·H + h, or with fitted
 * matrices (b·H + h)·T + t. */

/* The kinds of oa_random_feature, in their order. */
enum { EXP, HYPERBOLIC, TRIG, RECTIFIED };

typedef struct {
    long kind, first, by_head, same, length, heads, width, count;
    double scale, half_norm;
    ulong lengths, bias, metric, x, y, top, dy, dx;
    ulong u, du, sums, products; /* scratch, from the first row on: Ω x; its gradient; Σ g; Ωᵀ du */
} random_rows;

typedef struct {
    long b, h, t, outputs;
    bool padding;
} random_row;

FUNCTION random_row row_of(random_rows a, long row)
{
    random_row r;
    r.b = row / (a.length * a.heads);
    r.h = a.by_head ? row / a.length % a.heads : row % a.heads;
    r.t = a.by_head ? row % a.length : row / a.heads % a.length;
    r.outputs = a.kind == HYPERBOLIC || a.kind == TRIG ? 2 * a.count : a.count;
    r.padding = r.t >= real_length(AT(const int, a.lengths), r.b, a.length);
    return r;
}

/* Where the row begins in [B·T, H·width]. */
FUNCTION long row_place(random_rows a, random_row r, long width)
{
    return ((r.b * a.length + r.t) * a.heads + r.h) * width;
}

FUNCTION long fitted_head(random_rows a, random_row r)
{
    return a.same ? r.h : r.b * a.heads + r.h;
}

/* Element j of P x, or of x. */
FUNCTION real in_metric(random_rows a, random_row r, long j)
{
    long x = row_place(a, r, a.width), metric = fitted_head(a, r) * a.width * a.width + j;
    real sum = 0;
    if (!a.metric)
        return load(AT(const act, a.x), x + j);
    for (long i = 0; i < a.width; i++)
        sum +=
            load(AT(const act, a.x), x + i) * load(AT(const act, a.metric), metric + i * a.width);
    return rounded(sum);
}

/* t = scale·u + bias of feature j. */
FUNCTION real argument_of(random_rows a, random_row r, long j)
{
    real t = (real)a.scale * AT(const real, a.u)[GROUP(0) * a.count + j];
    return a.bias ? t + AT(const real, a.bias)[fitted_head(a, r) * a.count + j] : t;
}

FUNCTION void store_features(random_rows a, random_row r, real top)
{
    long at = row_place(a, r, r.outputs);
    real root = (real)(1 / sqrt((double)a.count));
    GLOBAL act *y = AT(act, a.y);
    for (long j = THREAD; j < a.count; j += GROUP_SIZE) {
        real t = argument_of(a, r, j);
        if (a.kind == RECTIFIED)
            store(y, at + j, root * (t <= 0 ? 0 : t) + (real)1e-3);
        else
            store(y, at + j, a.kind == TRIG ? root * cos(t) : exp(t - top));
        if (a.kind == TRIG || a.kind == HYPERBOLIC)
            store(y, at + a.count + j, a.kind == TRIG ? root * sin(t) : exp(-t - top));
    }
}

/* Features of u = Ω x and the logarithm of their scale. A group has a row. */
KERNEL void random_features(random_rows a)
{
    SHARED real room[GROUP_SIZE];
    random_row r = row_of(a, a.first + GROUP(0));
    real top = -INFINITY, square = 0;
    if (r.padding) {
        for (long j = THREAD; j < r.outputs; j += GROUP_SIZE)
            store(AT(act, a.y), row_place(a, r, r.outputs) + j, 0);
        if (THREAD == 0)
            AT(real, a.top)[(r.b * a.heads + r.h) * a.length + r.t] = 0;
        return;
    }
    for (long j = THREAD; j < a.count; j += GROUP_SIZE) {
        real t = argument_of(a, r, j);
        if (a.kind == HYPERBOLIC && t < 0)
            t = -t;
        top = top >= t ? top : t;
    }
    top = group_max(room, top);
    if (a.kind > HYPERBOLIC)
        top = 0;
    store_features(a, r, top);
    for (long j = THREAD; j < a.width; j += GROUP_SIZE)
        square += load(AT(const act, a.x), row_place(a, r, a.width) + j) * in_metric(a, r, j);
    square = group_sum(room, square);
    if (THREAD == 0)
        AT(real, a.top)
    [(r.b * a.heads + r.h) * a.length + r.t] =
        top + (real)(a.half_norm * a.scale * a.scale) * square;
}

/* du, and Σ y·dy. A group has a row. */
KERNEL void random_features_gradient(random_rows a)
{
    SHARED real room[GROUP_SIZE];
    random_row r = row_of(a, a.first + GROUP(0));
    long at = row_place(a, r, r.outputs);
    GLOBAL const act *y = AT(const act, a.y), *dy = AT(const act, a.dy);
    real scale = (real)a.scale, root = (real)(a.scale / sqrt((double)a.count)), sum = 0;
    for (long j = THREAD; j < a.count; j += GROUP_SIZE) {
        real du = 0;
        if (!r.padding) {
            bool two = r.outputs > a.count;
            real first = load(y, at + j), dfirst = load(dy, at + j),
                 second = two ? load(y, at + a.count + j) : 0,
                 dsecond = two ? load(dy, at + a.count + j) : 0;
            if (a.kind == RECTIFIED)
                du = first > rounded((real)1e-3) ? root * dfirst : 0;
            else {
                sum += first * dfirst + second * dsecond;
                du = scale * (a.kind == TRIG ? first * dsecond - second * dfirst
                                             : first * dfirst - second * dsecond);
            }
        }
        store(AT(act, a.du), GROUP(0) * a.count + j, du);
    }
    sum = group_sum(room, sum);
    if (THREAD == 0)
        AT(real, a.sums)[GROUP(0)] = sum;
}

/* dx = Ωᵀ du + 2c·s²·(Σ g)·P x; a thread has an element of `rows` rows. */
KERNEL void random_features_input(random_rows a, long rows)
{
    long j = ITEM % a.width, row = ITEM / a.width;
    if (row >= rows)
        return;
    random_row r = row_of(a, a.first + row);
    real factor = (real)(2 * a.half_norm * a.scale * a.scale) * AT(const real, a.sums)[row];
    real dx = r.padding ? 0 : AT(const real, a.products)[ITEM] + factor * in_metric(a, r, j);
    store(AT(act, a.dx), row_place(a, r, a.width) + j, dx);
}

/* ---- moments ---- */

typedef struct {
    long batch, heads, length, all, chunks, size; /* all: of all batch items together */
    double factor;
    ulong lengths, parts; /* real [B·H, chunks, size]: sums over the rows of chunks */
} moment_parts;

/* How many rows there are, of one batch item or of all. */
FUNCTION long moment_rows(moment_parts a, long pair)
{
    long rows = 0;
    for (long b = a.all ? 0 : pair / a.heads; b < (a.all ? a.batch : pair / a.heads + 1); b++)
        rows += real_length(AT(const int, a.lengths), b, a.length);
    return rows;
}

/* factor/rows Σ of number e of the parts, in double. */
FUNCTION double moment_mean(moment_parts a, long pair, long e)
{
    double sum = 0;
    for (long p = pair; p < (a.all ? a.batch * a.heads : pair + 1); p += a.heads)
        for (long c = 0; c < a.chunks; c++)
            sum += (double)AT(const real, a.parts)[(p * a.chunks + c) * a.size + e];
    return a.factor * sum / (double)moment_rows(a, pair);
}

/* to [B·H, size], 0 without rows. A thread has a number. */
KERNEL void moment_means(moment_parts a, GLOBAL double *to)
{
    long pair = ITEM / a.size;
    if (pair < a.batch * a.heads)
        to[ITEM] = moment_rows(a, pair) ? moment_mean(a, pair, ITEM % a.size) : 0;
}

/* change [H, size] += mean − average, where there are rows. A thread has a number. */
KERNEL void moment_changes(moment_parts a, GLOBAL const real *average, GLOBAL real *change)
{
    long h = ITEM / a.size;
    if (h < a.heads && moment_rows(a, h))
        change[ITEM] = (real)((double)change[ITEM] +
                              (moment_mean(a, h, ITEM % a.size) - (double)average[ITEM]));
}

/* The averages move by a share of the changes; counts are one number each. */
KERNEL void moments_moved(long n, double least_share, GLOBAL const real *seen,
                          GLOBAL const real *batches, GLOBAL const real *change,
                          GLOBAL real *average)
{
    double steps = (double)seen[0] + 1, share = 1 / steps > least_share ? 1 / steps : least_share;
    if (ITEM < n && batches[0] != 0)
        average[ITEM] += (real)(share / (double)batches[0]) * change[ITEM];
}

/* count += 1, unless `other`, if there is one, is 0. */
KERNEL void count_step(GLOBAL const real *other, GLOBAL real *count)
{
    if (ITEM == 0 && (!other || other[0] != 0))
        count[0] += 1;
}
