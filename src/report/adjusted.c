/* SPDX-License-Identifier: Apache-2.0
 *
 * One estimate for each attention where they have different numbers of seeds. A plain mean then
 * depends on which seeds an attention has, and differences over the seeds that two have in common
 * need not be transitive: a can be lower than b, b than c, and c than a. So order, leader and all
 * numbers that are compared come from the adjusted mean: what an attention would have with every
 * seed of the comparison, by least squares of
 *
 *     score[attention, seed] = a[attention] + b[seed],    mean of b over the seeds that any
 * ranked attention has = 0
 *
 * (statistics/two_way.c has the source) over the finished runs of the ranked attentions.
 * Identical attentions count as one, the one with the most seeds. The uniform baseline and
 * attentions with failures, which take no part in the fit, have the mean of score - b over their
 * own seeds. Where all have the same seeds the adjusted mean is the plain one, to the bit, and
 * differences are the paired ones.
 *
 * Verdicts do not use it: they are those of pairs, over the seeds that both have (against.c).
 */
#include "report/adjusted.h"

#include "report/metric_words.h"

#include <math.h>

struct fit {
    const struct oa_comparison *k;
    struct oa_summary *s;
    double *y, *a, *b; /* [rows][seeds], [rows], [seeds] */
    int *row;          /* of each entry: its row of y; -1: none */
    int rows;
};

static int seeds_of(const struct oa_summary *s, int entry)
{
    return s->entries[entry].loss.n;
}

static bool has_row(const struct oa_summary *s, int i)
{
    return oa_is_ranked(s, i) && seeds_of(s, i) > 0;
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
            (best < 0 || seeds_of(s, j) > seeds_of(s, best)))
            best = j;
    return best;
}

/* ---- whether there is anything to adjust ---- */

static bool has_most_seeds(const struct oa_summary *s, int i)
{
    for (int j = 0; j < s->count; j++)
        if (has_row(s, j) && seeds_of(s, j) > seeds_of(s, i))
            return false;
    return true;
}

/* Imported runs of two attentions may be as many and of other seeds. */
static bool uneven(const struct oa_comparison *k, const struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++)
        if (has_row(s, i) && (!has_most_seeds(s, representative(s, i)) ||
                              (k->imported && s->entries[i].made < s->seeds)))
            return true;
    return false;
}

/* What survived of an attention with failures is shown as it is where nothing else needs to be
 * adjusted. */
static bool mark(const struct oa_comparison *k, struct oa_summary *s)
{
    bool any = false;
    s->uneven = !k->unpaired && uneven(k, s);
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        e->plain = k->unpaired || (!s->uneven && (e->failed || has_most_seeds(s, i)));
        any = any || !e->plain;
    }
    return any;
}

/* ---- the fit ---- */

static void fit_add_row(struct fit *f, int entry)
{
    double *y = f->y + f->rows * f->k->seeds;
    for (int r = 0; r < f->k->seeds; r++) {
        const struct oa_run *run = &f->k->entries[entry].runs[r];
        y[r] = oa_run_finished(f->k, run) ? oa_run_score(f->k, run) : NAN;
    }
    f->row[entry] = f->rows++;
}

static void fit_collect_rows(struct fit *f)
{
    for (int i = 0; i < f->s->count; i++) {
        f->row[i] = -1;
        if (has_row(f->s, i) && representative(f->s, i) == i)
            fit_add_row(f, i);
    }
    for (int i = 0; i < f->s->count; i++)
        if (has_row(f->s, i))
            f->row[i] = f->row[representative(f->s, i)];
}

/* Of an entry that is not in the fit, over its seeds that a ranked attention has too; NaN: there is
 * none.
 */
static double mean_outside_fit(const struct fit *f, int entry)
{
    double sum = 0;
    int n = 0;
    for (int r = 0; r < f->k->seeds; r++) {
        const struct oa_run *run = &f->k->entries[entry].runs[r];
        if (oa_run_finished(f->k, run) && !isnan(f->b[r])) {
            sum += oa_run_score(f->k, run) - f->b[r];
            n++;
        }
    }
    return n ? sum / n : NAN;
}

static enum oa_error adjust(oa_context *c, struct fit *f)
{
    fit_collect_rows(f);
    if (f->rows == 0)
        return OA_OK;
    OA_TRY(oa_fit_two_way(c, f->y, f->rows, f->k->seeds, f->a, f->b));
    for (int i = 0; i < f->s->count; i++)
        if (!f->s->entries[i].plain)
            f->s->entries[i].adjusted = f->row[i] < 0 ? mean_outside_fit(f, i) : f->a[f->row[i]];
    return OA_OK;
}

enum oa_error oa_adjust_means(oa_context *c, const struct oa_comparison *k, struct oa_summary *s)
{
    size_t count = (size_t)s->count + 1, seeds = (size_t)k->seeds + 1;
    for (int i = 0; i < s->count; i++)
        s->entries[i].adjusted = oa_standing_score(k, &s->entries[i])->mean;
    if (!mark(k, s))
        return OA_OK;
    struct fit f = { .k = k, .s = s };
    f.y = oa_alloc(c, (count * seeds + count + seeds) * sizeof *f.y);
    f.row = oa_alloc(c, count * sizeof *f.row);
    if (f.y && f.row) {
        f.a = f.y + count * seeds;
        f.b = f.a + count;
        adjust(c, &f);
    }
    oa_free(f.y);
    oa_free(f.row);
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

static bool any_adjusted(const struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++)
        if (!s->entries[i].plain)
            return true;
    return false;
}

void oa_adjusted_sentences(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    const char *word = oa_metric_long(k);
    if (s->uneven)
        oa_text_printf(out,
                       " Not all have the same number of seeds: their %s is adjusted for "
                       "missing seeds (least-squares mean of the model %s + seed); order "
                       "and differences to the %s are those of the adjusted means. Intervals of "
                       "differences are those of pairs, over the seeds that both have.",
                       word, oa_entry_kind(k), oa_best_word(k, s));
    else if (any_adjusted(s))
        oa_text_printf(out,
                       " Where %s has fewer seeds, its %s is adjusted for missing seeds "
                       "(least-squares mean of the model %s + seed).",
                       oa_an_entry(k), word, oa_entry_kind(k));
}
