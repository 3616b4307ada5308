/* SPDX-License-Identifier: Apache-2.0
 * Correlations, as SciPy 1.17.1. */
#include "metrics/metrics_parts.h"

#include <math.h>
#include <stdlib.h>

static bool is_constant(const double *x, long n)
{
    for (long i = 1; i < n; i++)
        if (x[i] != x[0])
            return false;
    return true;
}

static double plain_mean(const double *x, long n)
{
    return oa_numpy_mean(x, n, false);
}

static double largest_distance(const double *x, long n, double from)
{
    double most = 0;
    for (long i = 0; i < n; i++)
        most = fmax(most, fabs(x[i] - from));
    return most;
}

/* Σ (x − x̄)(y − ȳ), each factor divided by its largest absolute value so that no square overflows.
 */
static double scaled_product(const double *x, const double *y, long n)
{
    double mx = plain_mean(x, n), my = plain_mean(y, n), sum = 0;
    double far_x = largest_distance(x, n, mx), far_y = largest_distance(y, n, my);
    for (long i = 0; i < n; i++)
        sum += (x[i] - mx) / far_x * ((y[i] - my) / far_y);
    return sum;
}

static enum oa_error check_pair_count(oa_context *c, long n)
{
    if (n >= 2)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT, "a correlation needs at least 2 pairs of numbers, not %ld", n);
}

/* NaN where a side is constant. */
static double pearson(const double *x, const double *y, long n)
{
    if (n < 2 || is_constant(x, n) || is_constant(y, n))
        return (double)NAN;
    double r =
        scaled_product(x, y, n) / (sqrt(scaled_product(x, x, n)) * sqrt(scaled_product(y, y, n)));
    r = fmin(fmax(r, -1), 1);
    return n == 2 ? round(r) : r;
}

enum oa_error oa_pearson(oa_context *c, const double *x, const double *y, long n, double *r)
{
    OA_TRY(check_pair_count(c, n));
    *r = pearson(x, y, n);
    return OA_OK;
}

/* ---- ranks ---- */

struct ranked_value {
    double value;
    long at;
};

static int compare_places(const void *a, const void *b)
{
    double x = ((const struct ranked_value *)a)->value, y = ((const struct ranked_value *)b)->value;
    return (x > y) - (x < y);
}

/* Ranks from 1; equal values share the mean of theirs. */
static void assign_ranks(const double *x, long n, struct ranked_value *place, double *out)
{
    for (long i = 0; i < n; i++)
        place[i] = (struct ranked_value){ x[i], i };
    qsort(place, (size_t)n, sizeof *place, compare_places);
    for (long i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && place[end].value == place[i].value;)
            end++;
        for (long k = i; k < end; k++)
            out[place[k].at] = 0.5 * (double)(i + 1 + end);
    }
}

static double spearman(const double *x, const double *y, long n, struct ranked_value *place,
                       double *ranks)
{
    assign_ranks(x, n, place, ranks);
    assign_ranks(y, n, place, ranks + n);
    return pearson(ranks, ranks + n, n);
}

enum oa_error oa_spearman(oa_context *c, const double *x, const double *y, long n, double *r)
{
    OA_TRY(check_pair_count(c, n));
    struct ranked_value *place = oa_alloc(c, (size_t)n * sizeof *place);
    double *ranks = oa_alloc(c, 2 * (size_t)n * sizeof *ranks);
    enum oa_error e = place && ranks ? OA_OK : OA_NO_MEMORY;
    if (e == OA_OK)
        *r = spearman(x, y, n, place, ranks);
    oa_free(place);
    oa_free(ranks);
    return e;
}

/* ---- resampling ---- */

static double *pair_columns(const double *const *row, long count, struct oa_arena *scratch)
{
    double *x = oa_arena_take(scratch, 2 * (size_t)count * sizeof *x);
    for (long i = 0; x && i < count; i++) {
        x[i] = row[i][0];
        x[count + i] = row[i][1];
    }
    return x;
}

static double pearson_of_rows(const struct oa_metric_options *o, const double *const *row,
                              long count, struct oa_arena *scratch)
{
    const double *x = pair_columns(row, count, scratch);
    (void)o;
    return x ? pearson(x, x + count, count) : (double)NAN;
}

static double spearman_of_rows(const struct oa_metric_options *o, const double *const *row,
                               long count, struct oa_arena *scratch)
{
    const double *x = pair_columns(row, count, scratch);
    struct ranked_value *place = oa_arena_take(scratch, (size_t)count * sizeof *place);
    double *ranks = oa_arena_take(scratch, 2 * (size_t)count * sizeof *ranks);
    (void)o;
    return x && place && ranks ? spearman(x, x + count, count, place, ranks) : (double)NAN;
}

const struct oa_metric oa_pearson_of_rows = { .name = "pearson", .score_of_rows = pearson_of_rows };
const struct oa_metric oa_spearman_of_rows = { .name = "spearman",
                                               .score_of_rows = spearman_of_rows };

enum oa_error oa_number_statistics(oa_context *c, const struct oa_metric *m, const double *x,
                                   const double *y, long n, struct oa_statistics *out)
{
    *out = (struct oa_statistics){ .metric = m, .count = n, .numbers = 2 };
    OA_TRY(check_pair_count(c, n));
    out->row = oa_alloc(c, 2 * (size_t)n * sizeof *out->row);
    if (!out->row)
        return OA_NO_MEMORY;
    for (long i = 0; i < n; i++) {
        out->row[2 * i] = x[i];
        out->row[2 * i + 1] = y[i];
    }
    return oa_statistics_of_rows(c, out);
}
