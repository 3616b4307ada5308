/* SPDX-License-Identifier: Apache-2.0
 * The runs of one attention, their means, and their differences to those of another with the same
 * seeds. */
#include "report/standing.h"

#include "report/columns.h"

#include <math.h>

/* Of each quantity over the runs that finished; NaN when none did. */
static void set_quantity_means(const struct oa_comparison *k, const struct oa_entry *e,
                               struct oa_standing *s)
{
    for (int q = OA_FIRST_QUANTITY; q < OA_COLUMNS; q++) {
        double sum = 0;
        int n = 0;
        for (int i = 0; i < k->seeds; i++)
            if (oa_run_finished(k, &e->runs[i])) {
                sum += oa_quantity_of_run(q, &e->runs[i]);
                n++;
            }
        *oa_quantity_mean(q, s) = n ? sum / n : (double)NAN;
    }
    s->perplexity = exp(s->loss.mean); /* of the mean loss, not the mean perplexity */
}

/* `scratch` has room for one number a seed, here and below. */
static struct oa_estimate estimate_measure(const struct oa_comparison *k, const struct oa_entry *e,
                                           int measure, double *scratch)
{
    int n = 0;
    for (int i = 0; i < k->seeds; i++)
        if (oa_run_finished(k, &e->runs[i]) && isfinite(oa_run_measured(&e->runs[i], measure)))
            scratch[n++] = oa_run_measured(&e->runs[i], measure);
    return oa_estimate_of(scratch, n);
}

void oa_standing_of(const struct oa_comparison *k, const struct oa_entry *e, double *scratch,
                    struct oa_standing *s)
{
    s->loss = estimate_measure(k, e, 0, scratch);
    for (int i = 1; i < OA_MEASURES; i++)
        s->scores[i] = oa_comparison_measure(k, i) ? estimate_measure(k, e, i, scratch)
                                                   : oa_estimate_of(NULL, 0);
    s->made = oa_runs_made(e, k->seeds);
    s->failed = s->made - s->loss.n;
    s->percent = NAN;
    s->twin = s->worse_than = -1;
    set_quantity_means(k, e, s);
}

const struct oa_estimate *oa_standing_measured(const struct oa_standing *e, int measure)
{
    return measure ? &e->scores[measure] : &e->loss;
}

const struct oa_estimate *oa_standing_score(const struct oa_comparison *k,
                                            const struct oa_standing *e)
{
    return oa_standing_measured(e, k->metric);
}

/* Differences that spread no more than rounding does have no spread. */
static struct oa_estimate without_rounding(struct oa_estimate e, double cost)
{
    if (e.sd <= 1e-13 * fabs(cost))
        e.sd = e.half = 0;
    return e;
}

static double run_cost(const struct oa_comparison *k, const struct oa_run *r)
{
    return oa_cost(oa_compared_measure(k), oa_run_score(k, r));
}

/* Of the first `seeds` runs, as far as they finished. */
static struct oa_estimate estimate_cost(const struct oa_comparison *k, int entry, int seeds,
                                        double *scratch)
{
    const struct oa_run *runs = k->entries[entry].runs;
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (oa_run_finished(k, &runs[i]))
            scratch[n++] = run_cost(k, &runs[i]);
    return oa_estimate_of(scratch, n);
}

struct oa_standard_error oa_unpaired_error(const struct oa_comparison *k, int a, int b,
                                           double *scratch)
{
    struct oa_estimate x = estimate_cost(k, a, k->seeds, scratch),
                       y = estimate_cost(k, b, k->seeds, scratch);
    return oa_welch(&x, &y);
}

struct oa_estimate oa_paired(const struct oa_comparison *k, int a, int b, int seeds,
                             double *scratch)
{
    const struct oa_run *x = k->entries[a].runs, *y = k->entries[b].runs;
    struct oa_estimate mine = estimate_cost(k, a, seeds, scratch),
                       theirs = estimate_cost(k, b, seeds, scratch);
    int n = 0;
    if (k->unpaired && a != b)
        return without_rounding(oa_unpaired_difference(&mine, &theirs), mine.mean);
    for (int i = 0; i < seeds; i++)
        if (oa_run_finished(k, &x[i]) && oa_run_finished(k, &y[i]))
            scratch[n++] = run_cost(k, &x[i]) - run_cost(k, &y[i]);
    return without_rounding(oa_estimate_of(scratch, n), mine.mean);
}
