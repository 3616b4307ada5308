/* SPDX-License-Identifier: Apache-2.0
 * Intervals and tests by resampling, digit for digit those of sacreBLEU 2.6.0 with NumPy 2: the
 * same draws in the same order, and sums and scores in float where its arrays are. Draws are
 * sequential; the resamples are scored in parallel. */
#include "metrics/metrics_parts.h"

#include "base/compare_doubles.h"

#include <math.h>
#include <stdlib.h>

enum {
    DRAWN = 16,      /* resamples per batch */
    MOST_EXACT = 13, /* differing segments, up to which p is exact */
    PARTS = 64,      /* parallel items of an exact test */
    KINDS = 3
};

/* Resamples of several systems. score [KINDS][systems][samples] of the bootstrap: rounded as in
 * sacreBLEU, scratch space, in double; of randomisation: the baseline's and the system's score. */
struct resampling {
    oa_context *context;
    const struct oa_statistics *system;
    int systems;
    long samples, first; /* first: of the current batch */
    uint32_t *draw; /* [DRAWN, segments]: segment index, or 1 to keep sides and 0 to exchange */
    double *score[KINDS];
};

static double *scores_of(const struct resampling *r, int kind, int system)
{
    return r->score[kind] + system * r->samples;
}

/* ---- bootstrap ---- */

static void add_drawn_row(const struct oa_statistics *s, uint32_t i, bool single, double *sum)
{
    const double *row = s->row + (size_t)i * (size_t)s->numbers;
    for (int k = 0; k < s->numbers; k++)
        sum[k] = oa_rounded(sum[k] + oa_rounded(row[k], single), single);
}

/* Score of a metric of rows on the drawn rows of s; with `other`, on rows of s where draw is 1 and
 * of `other` where it is 0. */
static double score_drawn_rows(const struct oa_statistics *s, const struct oa_statistics *other,
                               const uint32_t *draw, struct oa_arena *scratch)
{
    size_t mark = oa_arena_mark(scratch);
    const double **row = oa_arena_take(scratch, (size_t)s->count * sizeof *row);
    for (long i = 0; row && i < s->count; i++) {
        const struct oa_statistics *from = other && !draw[i] ? other : s;
        row[i] = from->row + (other ? i : (long)draw[i]) * s->numbers;
    }
    double score = row ? s->metric->score_of_rows(s->options, row, s->count, scratch) : (double)NAN;
    oa_arena_release(scratch, mark);
    return score;
}

static void bootstrap_scores(const struct oa_statistics *s, const uint32_t *draw,
                             struct oa_arena *scratch, double *rounded, double *exact)
{
    double sum[2][OA_MOST_STATISTICS] = { { 0 } };
    bool single = s->metric->resampled != OA_RESAMPLED_DOUBLE;
    if (s->metric->score_of_rows) {
        *rounded = *exact = score_drawn_rows(s, NULL, draw, scratch);
        return;
    }
    for (long i = 0; i < s->count; i++) {
        add_drawn_row(s, draw[i], single, sum[0]);
        add_drawn_row(s, draw[i], false, sum[1]);
    }
    *rounded = s->metric->score(s->options, sum[0], single);
    *exact = s->metric->score(s->options, sum[1], false);
}

static void bootstrap_one(void *argument, long item, const struct oa_worker *worker)
{
    struct resampling *r = argument;
    const uint32_t *draw = r->draw + item * r->system->count;
    for (int k = 0; k < r->systems; k++)
        bootstrap_scores(&r->system[k], draw, worker->scratch, &scores_of(r, 0, k)[r->first + item],
                         &scores_of(r, 2, k)[r->first + item]);
}

static void draw_segments(struct oa_numpy_random *random, uint32_t *draw, long segments, long count)
{
    for (long i = 0; i < count * segments; i++)
        draw[i] = oa_numpy_below(random, (uint32_t)segments);
}

/* ---- randomisation ---- */

/* Scores of both systems after exchanging the segments whose draw is 0. */
static void exchanged_scores(const struct oa_statistics *baseline,
                             const struct oa_statistics *system, const uint32_t *draw,
                             struct oa_arena *scratch, double *a, double *b)
{
    double sum[2][2][OA_MOST_STATISTICS] = { { { 0 } } }; /* [system][draw] */
    if (system->metric->score_of_rows) {
        *a = score_drawn_rows(baseline, system, draw, scratch);
        *b = score_drawn_rows(system, baseline, draw, scratch);
        return;
    }
    for (long i = 0; i < system->count; i++) {
        add_drawn_row(baseline, (uint32_t)i, false, sum[0][draw[i]]);
        add_drawn_row(system, (uint32_t)i, false, sum[1][draw[i]]);
    }
    for (int k = 0; k < system->numbers; k++) {
        double mine = sum[0][1][k] + sum[1][0][k], others = sum[0][0][k] + sum[1][1][k];
        sum[0][0][k] = mine;
        sum[1][0][k] = others;
    }
    *a = system->metric->score(system->options, sum[0][0], false);
    *b = system->metric->score(system->options, sum[1][0], false);
}

static void exchange_one(void *argument, long item, const struct oa_worker *worker)
{
    struct resampling *r = argument;
    const uint32_t *draw = r->draw + item * r->system->count;
    for (int k = 1; k < r->systems; k++)
        exchanged_scores(&r->system[0], &r->system[k], draw, worker->scratch,
                         &scores_of(r, 0, k)[r->first + item],
                         &scores_of(r, 1, k)[r->first + item]);
}

static void draw_sides(struct oa_numpy_random *random, uint32_t *draw, long segments, long count)
{
    for (long i = 0; i < count * segments; i++)
        draw[i] = oa_numpy_bit(random);
}

/* ---- all resamples ---- */

typedef void draw_some(struct oa_numpy_random *random, uint32_t *draw, long segments, long count);

static void resampling_end(struct resampling *r)
{
    oa_free(r->draw);
    for (int kind = 0; kind < KINDS; kind++)
        oa_free(r->score[kind]);
}

static enum oa_error resampling_begin(struct resampling *r)
{
    const struct oa_statistics *s = r->system;
    if (r->samples < 1)
        return oa_fail(r->context, OA_ARGUMENT,
                       "the number of resamples is %ld; it must be at least 1", r->samples);
    for (int k = 1; k < r->systems; k++)
        if (s[k].count != s->count || s[k].metric != s->metric)
            return oa_fail(r->context, OA_SHAPE,
                           "the systems have different numbers of segments: %ld and %ld", s->count,
                           s[k].count);
    r->draw = oa_alloc(r->context, (size_t)DRAWN * (size_t)s->count * sizeof *r->draw);
    for (int kind = 0; kind < KINDS; kind++)
        r->score[kind] =
            oa_alloc(r->context, (size_t)r->systems * (size_t)r->samples * sizeof **r->score);
    return r->draw && r->score[0] && r->score[1] && r->score[2] ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error draw_resamples(struct resampling *r, uint64_t seed, draw_some *draw,
                                    oa_task *task)
{
    struct oa_numpy_random random;
    OA_TRY(resampling_begin(r));
    oa_numpy_seed(&random, seed);
    for (r->first = 0; r->first < r->samples; r->first += DRAWN) {
        long count = r->samples - r->first < DRAWN ? r->samples - r->first : DRAWN;
        if (oa_stop_requested(r->context))
            return oa_fail(r->context, OA_INTERRUPTED,
                           "stopped by signal %d after %ld of %ld resamples",
                           oa_stop_requested(r->context), r->first, r->samples);
        draw(&random, r->draw, r->system->count, count);
        oa_parallel(r->context, count, task, r);
    }
    return oa_status(r->context);
}

/* ---- intervals ---- */

static bool in_floats(const struct oa_statistics *s)
{
    return s->metric->resampled == OA_RESAMPLED_FLOAT;
}

/* Half the width of the central 95 % of the scores, which are sorted; NaN: a score is undefined. */
static double half_interval(double *score, long n, bool single)
{
    for (long i = 0; i < n; i++)
        if (isnan(score[i]))
            return (double)NAN;
    qsort(score, (size_t)n, sizeof *score, oa_compare_doubles);
    return oa_rounded(0.5 * oa_rounded(score[n - 1 - n / 40] - score[n / 40], single), single);
}

/* As Python's statistics.mean, which rounds once: Neumaier's sum. */
static double exact_mean(const double *x, long n, bool single)
{
    double sum = 0, lost = 0;
    for (long i = 0; i < n; i++) {
        double next = sum + x[i];
        lost += fabs(sum) >= fabs(x[i]) ? sum - next + x[i] : x[i] - next + sum;
        sum = next;
    }
    return oa_rounded((sum + lost) / (double)n, single);
}

/* ---- p-values ---- */

/* sacreBLEU's p: share of differences above the observed one, without ties; plus 1 so that no p is
 * 0. */
static double strict_p(const double *difference, long n, double seen)
{
    long above = 0;
    for (long i = 0; i < n; i++)
        above += difference[i] > seen;
    return (double)(above + 1) / (double)(n + 1);
}

/* The observed difference less rounding error: differences from here on count as at least as large.
 */
static double least_tie(const struct oa_statistics *a, const struct oa_statistics *b)
{
    double x = oa_statistics_score(a), y = oa_statistics_score(b);
    return fabs(x - y) - 1e-9 * fmax(fabs(x), fabs(y)) - 1e-13;
}

/* Share of differences at least as large; undefined ones count. */
static double tied_p(const double *difference, long n, double least)
{
    long below = 0;
    for (long i = 0; i < n; i++)
        below += difference[i] < least;
    return (double)(n - below + 1) / (double)(n + 1);
}

/* The number of segments with different statistics; the first MOST_EXACT of them in `unlike`. */
static long unlike_segments(const struct oa_statistics *a, const struct oa_statistics *b,
                            long unlike[MOST_EXACT])
{
    long count = 0;
    size_t bytes = (size_t)a->numbers * sizeof *a->row;
    for (long i = 0; i < a->count; i++)
        if (memcmp(a->row + i * a->numbers, b->row + i * b->numbers, bytes) != 0) {
            if (count < MOST_EXACT)
                unlike[count] = i;
            count++;
        }
    return count;
}

/* All exchanges of the differing segments, up to swapping both systems: the last one is never
 * exchanged. */
struct all_exchanges {
    const struct oa_statistics *baseline, *system;
    long unlike[MOST_EXACT], count;
    double same[OA_MOST_STATISTICS]; /* sum over the equal segments */
    double least;
    unsigned long exchanges, below[PARTS]; /* below: differences less than `least`, per part */
};

static double summed_difference(const struct all_exchanges *e, unsigned long exchange)
{
    const struct oa_statistics *a = e->baseline, *b = e->system;
    double sum[2][OA_MOST_STATISTICS];
    for (int side = 0; side < 2; side++)
        memcpy(sum[side], e->same, sizeof e->same);
    for (long i = 0; i < e->count; i++) {
        add_drawn_row(a, (uint32_t)e->unlike[i], false, sum[exchange >> i & 1]);
        add_drawn_row(b, (uint32_t)e->unlike[i], false, sum[!(exchange >> i & 1)]);
    }
    return fabs(a->metric->score(a->options, sum[0], false) -
                a->metric->score(a->options, sum[1], false));
}

static double rows_difference(const struct all_exchanges *e, unsigned long exchange,
                              struct oa_arena *scratch)
{
    size_t mark = oa_arena_mark(scratch);
    uint32_t *own = oa_arena_take(scratch, (size_t)e->baseline->count * sizeof *own);
    double a = (double)NAN, b = a;
    for (long i = 0; own && i < e->baseline->count; i++)
        own[i] = 1;
    for (long i = 0; own && i < e->count; i++)
        own[e->unlike[i]] = !(exchange >> i & 1);
    if (own)
        exchanged_scores(e->baseline, e->system, own, scratch, &a, &b);
    oa_arena_release(scratch, mark);
    return fabs(a - b);
}

static void try_exchanges(void *argument, long part, const struct oa_worker *worker)
{
    struct all_exchanges *e = argument;
    bool rows = e->baseline->metric->score_of_rows != NULL;
    for (unsigned long x = (unsigned long)part; x < e->exchanges; x += PARTS)
        e->below[part] +=
            (rows ? rows_difference(e, x, worker->scratch) : summed_difference(e, x)) < e->least;
}

static double exact_p(oa_context *c, struct all_exchanges *e)
{
    unsigned long below = 0;
    const struct oa_statistics *a = e->baseline;
    for (long i = 0, at = 0; i < a->count && !a->metric->score_of_rows; i++)
        if (at < e->count && e->unlike[at] == i)
            at++;
        else
            add_drawn_row(a, (uint32_t)i, false, e->same);
    e->exchanges = 1UL << (e->count - 1);
    oa_parallel(c, PARTS, try_exchanges, e);
    for (int i = 0; i < PARTS; i++)
        below += e->below[i];
    return (double)(e->exchanges - below) / (double)e->exchanges;
}

/* ---- tests ---- */

static struct oa_resample unsampled_score(const struct oa_statistics *s)
{
    double none = (double)NAN;
    return (struct oa_resample){
        .score = oa_statistics_score(s), .mean = none, .half = none, .p = none, .strict_p = none
    };
}

enum oa_error oa_bootstrap(oa_context *c, const struct oa_statistics *s, long samples,
                           uint64_t seed, struct oa_resample *out)
{
    struct resampling r = { .context = c, .system = s, .systems = 1, .samples = samples };
    *out = unsampled_score(s);
    enum oa_error e = draw_resamples(&r, seed, draw_segments, bootstrap_one);
    if (e == OA_OK) {
        out->half = half_interval(r.score[0], samples, in_floats(s));
        out->mean = exact_mean(r.score[0], samples, in_floats(s));
    }
    resampling_end(&r);
    return e;
}

/* sacreBLEU's p of system k: how often |difference to the baseline| exceeds its mean by more than
 * `seen`. */
static double strict_bootstrap_p(const struct resampling *r, int k, double seen)
{
    bool single = in_floats(r->system);
    const double *baseline = scores_of(r, 0, 0), *system = scores_of(r, 0, k);
    double *difference = r->score[1];
    for (long i = 0; i < r->samples; i++)
        difference[i] = fabs(oa_rounded(system[i] - baseline[i], single));
    double mean = oa_numpy_mean(difference, r->samples, single);
    for (long i = 0; i < r->samples; i++)
        difference[i] = oa_rounded(difference[i] - mean, single);
    return strict_p(difference, r->samples, oa_rounded(seen, single));
}

/* Two-sided p by shifting the bootstrap distribution (Noreen, 1989). */
static double shifted_bootstrap_p(const struct resampling *r, int k, double seen)
{
    const double *baseline = scores_of(r, 2, 0), *system = scores_of(r, 2, k);
    double *difference = r->score[1];
    for (long i = 0; i < r->samples; i++)
        difference[i] = fabs(system[i] - baseline[i] - seen);
    return tied_p(difference, r->samples, least_tie(&r->system[0], &r->system[k]));
}

enum oa_error oa_paired_bootstrap(oa_context *c, const struct oa_statistics *system, int count,
                                  long samples, uint64_t seed, struct oa_resample *out)
{
    struct resampling r = { .context = c, .system = system, .systems = count, .samples = samples };
    enum oa_error e = draw_resamples(&r, seed, draw_segments, bootstrap_one);
    for (int k = 0; e == OA_OK && k < count; k++) {
        out[k] = unsampled_score(&system[k]);
        if (k == 0)
            continue;
        long unlike[MOST_EXACT];
        double seen = out[k].score - oa_statistics_score(&system[0]);
        out[k].p = out[k].strict_p = isnan(seen) ? (double)NAN : 1;
        if (isnan(seen) || unlike_segments(&system[0], &system[k], unlike) == 0)
            continue;
        out[k].strict_p = strict_bootstrap_p(&r, k, fabs(seen));
        out[k].p = shifted_bootstrap_p(&r, k, seen);
    }
    for (int k = 0; e == OA_OK && k < count; k++) { /* last, since it sorts the scores */
        out[k].half = half_interval(scores_of(&r, 0, k), samples, in_floats(system));
        out[k].mean = oa_numpy_mean(scores_of(&r, 0, k), samples, in_floats(system));
    }
    resampling_end(&r);
    return e;
}

static void exchange_test(const struct resampling *r, int k, struct oa_resample *out)
{
    struct all_exchanges e = { .baseline = &r->system[0], .system = &r->system[k] };
    double *a = scores_of(r, 0, k), *b = scores_of(r, 1, k);
    e.count = unlike_segments(e.baseline, e.system, e.unlike);
    e.least = least_tie(e.baseline, e.system);
    double seen = out->score - oa_statistics_score(e.baseline);
    out->p = out->strict_p = isnan(seen) ? (double)NAN : 1;
    if (isnan(seen) || e.count == 0)
        return;
    for (long i = 0; i < r->samples; i++)
        a[i] = fabs(a[i] - b[i]);
    out->strict_p = strict_p(a, r->samples, fabs(seen));
    out->p = e.count <= MOST_EXACT ? exact_p(r->context, &e) : tied_p(a, r->samples, e.least);
}

enum oa_error oa_paired_randomisation(oa_context *c, const struct oa_statistics *system, int count,
                                      long trials, uint64_t seed, struct oa_resample *out)
{
    struct resampling r = { .context = c, .system = system, .systems = count, .samples = trials };
    enum oa_error e = draw_resamples(&r, seed, draw_sides, exchange_one);
    for (int k = 0; e == OA_OK && k < count; k++) {
        out[k] = unsampled_score(&system[k]);
        if (k > 0)
            exchange_test(&r, k, &out[k]);
    }
    resampling_end(&r);
    return e;
}
