/* SPDX-License-Identifier: Apache-2.0
 *
 * A mean over seeds and items, both random samples, so that its interval is about other seeds and
 * other validation data of the same kind. Every seed has a value for every item (crossed random
 * effects), so
 *
 *     variance of the mean = seeds/n + items/m + interaction/(n m)
 *
 * The mean square of the seeds' means estimates seeds + interaction/m, that of the items' means
 * items + interaction/n, and the residual one the interaction: the sum of the first two counts it
 * twice, so it is subtracted, but never below the larger of them. Degrees of freedom are those of
 * Satterthwaite ("An approximate distribution of estimates of variance components", Biometrics
 * Bulletin 2 (1946), 110-114). Items have unequal numbers of targets, and the mean is a ratio of
 * sums: it is linearised, seed by seed. docs/statistics-items.md has the simulated coverage, also
 * of alternatives.
 */
#include "statistics/statistics.h"

#include <math.h>

struct crossed_table {
    const double *sums; /* [seeds][items] */
    const double *weights;
    double *means; /* [seeds] */
    double weight, per_item;
    int n;
    long m;
};

/* Deviation of seed s at item i from its mean, in the unit of the mean. */
static double linearised(const struct crossed_table *t, int s, long i, long items)
{
    return (t->sums[s * items + i] - t->means[s] * t->weights[i]) / t->per_item;
}

static void add_item(const struct crossed_table *t, long i, long items, struct oa_crossed *x)
{
    double mean = 0;
    for (int s = 0; s < t->n; s++)
        mean += linearised(t, s, i, items) / t->n;
    x->item += mean * mean;
    for (int s = 0; s < t->n; s++)
        x->interaction += pow(linearised(t, s, i, items) - mean, 2);
}

/* From variances of the mean. */
static void combine_variances(struct oa_crossed *x)
{
    double n = x->seeds - 1, m = (double)x->items - 1;
    if (isnan(x->seed) || isnan(x->item)) {
        x->variance = x->df = NAN;
        return;
    }
    x->variance = fmax(x->seed + x->item - x->interaction, fmax(x->seed, x->item));
    x->df = x->variance * x->variance /
            (x->seed * x->seed / x->seed_df + x->item * x->item / m +
             x->interaction * x->interaction / (n * m));
}

enum oa_error oa_crossed_of(oa_context *c, const double *sums, const double *weights, int seeds,
                            long items, struct oa_crossed *out)
{
    struct crossed_table t = { .sums = sums, .weights = weights, .n = seeds };
    *out = (struct oa_crossed){ .seeds = seeds, .mean = NAN };
    for (long i = 0; i < items; i++) {
        t.weight += weights[i];
        out->items += weights[i] > 0;
    }
    t.per_item = t.weight / (double)out->items;
    t.means = oa_alloc(c, ((size_t)seeds + 1) * sizeof *t.means);
    if (!t.means)
        return OA_NO_MEMORY;
    for (int s = 0; s < seeds; s++)
        for (long i = 0; i < items; i++)
            t.means[s] += sums[s * items + i] / t.weight;
    struct oa_estimate over_seeds = oa_estimate_of(t.means, seeds);
    out->mean = over_seeds.mean;
    out->seed = over_seeds.sd * over_seeds.sd / seeds;
    out->seed_df = seeds - 1;
    for (long i = 0; i < items; i++)
        if (weights[i] > 0)
            add_item(&t, i, items, out);
    double n = seeds, m = (double)out->items;
    out->item /= (m - 1) * m; /* NaN of a single item, whose linearised value is 0 */
    out->interaction /= (n - 1) * (m - 1) * n * m;
    combine_variances(out);
    oa_free(t.means);
    return OA_OK;
}

void oa_crossed_set_seeds(struct oa_crossed *x, double se, double df)
{
    x->seed = se * se;
    x->seed_df = df;
    combine_variances(x);
}

void oa_crossed_error(const struct oa_crossed *x, double level, double *se, double *df)
{
    double seeds = oa_t_quantile(1 - level / 2, x->seed_df) * sqrt(x->seed),
           both = x->variance > 0 ? oa_t_quantile(1 - level / 2, x->df) * sqrt(x->variance) : 0;
    bool wider = seeds > both;
    *se = isnan(x->variance) ? NAN : sqrt(wider ? x->seed : x->variance);
    *df = isnan(x->variance) ? NAN : wider ? x->seed_df : x->df;
}
