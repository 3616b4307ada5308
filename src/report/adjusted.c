/* SPDX-License-Identifier: Apache-2.0
 *
 * One estimate for each attention where they have different numbers of seeds. A plain mean then
 * depends on which seeds an attention has, and differences over the seeds that two have in common
 * need not be transitive: a can be lower than b, b than c, and c than a. So order, leader and all
 * numbers that are compared come from the adjusted mean: what an attention would have with every
 * seed of the comparison, by least squares of
 *
 *     score[attention, seed] = a[attention] + b[seed]
 *
 * over the finished runs of the ranked attentions, where b has mean 0 over the seeds that any of
 * them has (statistics/two_way.c cites the source). Identical attentions count as one, the one with
 * the most seeds. The uniform baseline and attentions with failures take no part in the fit; their
 * adjusted mean is that of score - b over their own seeds. Where all have the same seeds the
 * adjusted mean is the plain one, to the bit, and differences are the paired ones.
 *
 * Verdicts do not use it: they are about pairs, over the seeds that both have (against.c).
 */
#include "report/adjusted.h"

#include "report/metric_words.h"

#include <math.h>

static bool has_row(const struct oa_summary *s, int i)
{
    return oa_is_ranked(s, i) && s->entries[i].loss.n > 0;
}

/* The first of those that are identical with it. */
static int first_of(const struct oa_summary *s, int i)
{
    return s->entries[i].twin < 0 ? i : s->entries[i].twin;
}

/* Of a ranked attention and those identical with it, the first with the most seeds. */
static int representative(const struct oa_summary *s, int i)
{
    int best = -1;
    for (int j = 0; j < s->count; j++)
        if (has_row(s, j) && first_of(s, j) == first_of(s, i) &&
            (best < 0 || s->entries[j].loss.n > s->entries[best].loss.n))
            best = j;
    return best;
}

/* ---- whether there is anything to adjust ---- */

static bool has_most_seeds(const struct oa_summary *s, int i)
{
    for (int j = 0; j < s->count; j++)
        if (has_row(s, j) && s->entries[j].loss.n > s->entries[i].loss.n)
            return false;
    return true;
}

/* Sets `uneven` and `plain`: is any entry adjusted? The seeds that an attention with failures
 * finished are shown as they are where nothing else needs to be adjusted. */
static bool mark_adjusted(const struct oa_comparison *k, struct oa_summary *s)
{
    bool any = false;
    s->uneven = false;
    for (int i = 0; i < s->count && !k->unpaired; i++)
        if (has_row(s, i) &&
            (!has_most_seeds(s, representative(s, i)) ||
             (k->imported && s->entries[i].made < s->seeds))) /* as many, but other seeds */
            s->uneven = true;
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        e->plain = k->unpaired || (!s->uneven && (e->failed || has_most_seeds(s, i)));
        any = any || !e->plain;
    }
    return any;
}

/* ---- the fit ---- */

/* Of an entry that is not in the fit, over its seeds that a ranked attention has too; NaN: none.
 * b [seeds]: effects of the seeds. */
static double mean_outside_fit(const struct oa_comparison *k, int entry, const double *b)
{
    double sum = 0;
    int n = 0;
    for (int r = 0; r < k->seeds; r++) {
        const struct oa_run *run = &k->entries[entry].runs[r];
        if (oa_run_finished(k, run) && !isnan(b[r])) {
            sum += oa_run_score(k, run) - b[r];
            n++;
        }
    }
    return n ? sum / n : NAN;
}

/* y [rows][seeds], a [rows], b [seeds]; row [entries]: the row of each entry, -1: none. */
static enum oa_error fit_means(oa_context *c, const struct oa_comparison *k, struct oa_summary *s,
                               double *y, double *a, double *b, int *row)
{
    int rows = 0;
    for (int i = 0; i < s->count; i++) {
        row[i] = -1;
        if (!has_row(s, i) || representative(s, i) != i)
            continue;
        for (int r = 0; r < k->seeds; r++) {
            const struct oa_run *run = &k->entries[i].runs[r];
            y[rows * k->seeds + r] = oa_run_finished(k, run) ? oa_run_score(k, run) : NAN;
        }
        row[i] = rows++;
    }
    if (rows == 0)
        return OA_OK;
    OA_TRY(oa_fit_two_way(c, y, rows, k->seeds, a, b));
    for (int i = 0; i < s->count; i++) {
        int at = has_row(s, i) ? row[representative(s, i)] : -1;
        if (!s->entries[i].plain)
            s->entries[i].adjusted = at < 0 ? mean_outside_fit(k, i, b) : a[at];
    }
    return OA_OK;
}

enum oa_error oa_adjust_means(oa_context *c, const struct oa_comparison *k, struct oa_summary *s)
{
    size_t count = (size_t)s->count + 1, seeds = (size_t)k->seeds + 1;
    for (int i = 0; i < s->count; i++)
        s->entries[i].adjusted = oa_standing_score(k, &s->entries[i])->mean;
    if (!mark_adjusted(k, s))
        return OA_OK;
    double *y = oa_alloc(c, (count * seeds + count + seeds) * sizeof *y);
    int *row = oa_alloc(c, count * sizeof *row);
    if (y && row)
        fit_means(c, k, s, y, y + count * seeds, y + count * seeds + count, row);
    oa_free(y);
    oa_free(row);
    return oa_status(c);
}

/* ---- what is shown ---- */

/* The number alone: no interval has been made for it. */
static struct oa_estimate without_interval(int n, double mean)
{
    return (struct oa_estimate){ .n = isnan(mean) ? 0 : n, .mean = mean, .sd = NAN, .half = NAN };
}

struct oa_estimate oa_shown_score(const struct oa_comparison *k, const struct oa_standing *e)
{
    return e->plain ? *oa_standing_score(k, e) : without_interval(e->loss.n, e->adjusted);
}

double oa_adjusted_cost(const struct oa_comparison *k, const struct oa_summary *s, int entry)
{
    return oa_cost(oa_compared_measure(k), s->entries[entry].adjusted);
}

struct oa_estimate oa_to_reference(const struct oa_comparison *k, const struct oa_summary *s,
                                   int entry)
{
    const struct oa_standing *e = &s->entries[entry];
    if (s->reference < 0)
        return oa_estimate_of(NULL, 0);
    if (e->plain)
        return oa_against_interval(oa_compared_pair(s, entry, s->reference));
    return without_interval(e->loss.n,
                            oa_adjusted_cost(k, s, entry) - oa_adjusted_cost(k, s, s->reference));
}

double oa_percent_to_reference(const struct oa_summary *s, int entry)
{
    const struct oa_standing *e = &s->entries[entry];
    if (e->plain || s->reference < 0)
        return e->percent;
    double theirs = s->entries[s->reference].adjusted;
    return 100 * (e->adjusted - theirs) / fabs(theirs);
}

double oa_shown_perplexity(const struct oa_standing *e)
{
    return e->plain ? e->perplexity : exp(e->adjusted);
}

/* All runs divide the same loss by the same characters. */
double oa_shown_bits(const struct oa_standing *e)
{
    return e->plain ? e->bits_per_character : e->bits_per_character * e->adjusted / e->loss.mean;
}

/* ---- in words ---- */

void oa_adjusted_sentences(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    const char *word = oa_metric_long(k);
    bool adjusted = false;
    for (int i = 0; i < s->count; i++)
        adjusted = adjusted || !s->entries[i].plain;
    if (s->uneven)
        oa_text_printf(out,
                       " Not all have the same number of seeds: their %s is adjusted for "
                       "missing seeds (least-squares mean of the model %s + seed); order "
                       "and differences to the %s are those of the adjusted means. Intervals of "
                       "differences are those of pairs, over the seeds that both have.",
                       word, oa_entry_kind(k), oa_best_word(k, s));
    else if (adjusted)
        oa_text_printf(out,
                       " Where %s has fewer seeds, its %s is adjusted for missing seeds "
                       "(least-squares mean of the model %s + seed).",
                       oa_an_entry(k), word, oa_entry_kind(k));
}
