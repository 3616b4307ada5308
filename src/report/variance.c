/* SPDX-License-Identifier: Apache-2.0 */
#include "report/variance.h"

#include <math.h>

static const struct oa_spread unknown = { 0, NAN, NAN, NAN, NAN, NAN };

/* The interval of a deviation whose variance has so many degrees of freedom. */
static void add_interval(struct oa_spread *s, double df)
{
    s->sd = sqrt(s->variance);
    s->low = s->sd * sqrt(df / oa_chi_square_quantile(0.975, df));
    s->high = s->sd * sqrt(df / oa_chi_square_quantile(0.025, df));
}

struct oa_spread oa_spread_of(const double *x, int n)
{
    struct oa_spread s = unknown;
    double sd = oa_deviation(x, n);
    s.n = n;
    s.variance = sd * sd;
    if (n >= 2)
        add_interval(&s, n - 1);
    return s;
}

/* Runs that failed leave no fair sample. */
static struct oa_spread spread_of_source(const struct oa_vary *v, int entry, enum oa_chance source)
{
    const struct oa_varied *runs = oa_varied_of(v, entry, source);
    double scores[1000];
    for (int i = 0; i < v->values; i++) {
        if (!isfinite(runs[i].score))
            return unknown;
        scores[i] = runs[i].score;
    }
    return oa_spread_of(scores, v->values);
}

/* Over the seeds that were made. */
static struct oa_spread spread_together(const struct oa_comparison *k, int entry)
{
    double scores[1000];
    int made = oa_runs_made(&k->entries[entry], k->seeds);
    for (int i = 0; i < made; i++) {
        if (!oa_run_finished(k, &k->entries[entry].runs[i]))
            return unknown;
        scores[i] = oa_run_score(k, &k->entries[entry].runs[i]);
    }
    return oa_spread_of(scores, made);
}

bool oa_variance_known(const struct oa_vary *v, enum oa_chance s)
{
    return v->varied[s] || v->idle[s];
}

/* Shares of the sum over all sources that were varied; the split is no part of what varied
 * together. */
static void add_sums(const struct oa_vary *v, struct oa_variances *out)
{
    double all = 0;
    out->sum = 0;
    for (int s = 0; s < OA_CHANCES; s++) {
        if (oa_variance_known(v, s))
            all += out->source[s].variance;
        if (s != OA_CHANCE_SPLIT)
            out->sum += out->source[s].variance;
    }
    for (int s = 0; s < OA_CHANCES; s++)
        out->source[s].share =
            oa_variance_known(v, s) && all > 0 ? out->source[s].variance / all : (double)NAN;
    out->ratio = out->together.variance > 0 ? out->sum / out->together.variance : (double)NAN;
}

bool oa_variances_of(const struct oa_comparison *k, int entry, struct oa_variances *out)
{
    const struct oa_vary *v = &k->vary;
    if (!v->values || k->entries[entry].uniform)
        return false;
    for (int s = 0; s < OA_CHANCES; s++) {
        out->source[s] = unknown;
        if (v->varied[s])
            out->source[s] = spread_of_source(v, entry, s);
        else if (v->idle[s])
            out->source[s] = (struct oa_spread){ v->values, 0, 0, 0, 0, 0 };
    }
    out->together = spread_together(k, entry);
    add_sums(v, out);
    return true;
}

/* ---- pooled ---- */

/* A spread whose variance is the mean of those added, and is known as well as the one with the
 * fewest values. */
struct pool {
    double sum;
    int count, n;
};

static void pool_add(struct pool *p, const struct oa_spread *s)
{
    p->sum += s->variance;
    p->n = p->count && p->n < s->n ? p->n : s->n;
    p->count++;
}

static struct oa_spread pool_spread(const struct pool *p)
{
    struct oa_spread s = unknown;
    s.n = p->n;
    s.variance = p->sum / p->count;
    if (p->n >= 2)
        add_interval(&s, p->n - 1);
    return s;
}

static bool is_whole(const struct oa_vary *v, const struct oa_variances *x)
{
    for (int s = 0; s < OA_CHANCES; s++)
        if (oa_variance_known(v, s) && isnan(x->source[s].variance))
            return false;
    return x->together.n > 0;
}

bool oa_variances_pooled(const struct oa_comparison *k, struct oa_variances *out)
{
    struct pool source[OA_CHANCES] = { { 0 } }, together = { 0 };
    for (int i = 0; i < k->count; i++) {
        struct oa_variances one;
        if (!oa_variances_of(k, i, &one) || !is_whole(&k->vary, &one))
            continue;
        for (int s = 0; s < OA_CHANCES; s++)
            pool_add(&source[s], &one.source[s]);
        pool_add(&together, &one.together);
    }
    if (!together.count)
        return false;
    for (int s = 0; s < OA_CHANCES; s++)
        out->source[s] = oa_variance_known(&k->vary, s) ? pool_spread(&source[s]) : unknown;
    out->together = pool_spread(&together);
    add_sums(&k->vary, out);
    return true;
}
