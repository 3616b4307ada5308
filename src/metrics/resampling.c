/* SPDX-License-Identifier: Apache-2.0
 *
 * Intervals and tests by resampling, digit for digit those of sacreBLEU 2.6.0 with NumPy 2: the same draws in the same
 * order, and sums and scores in float where its arrays are. Draws come one after another from one stream; what is made
 * of them is spread over the threads.
 */
#include "metrics/metrics_parts.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWN = 16 }; /* resamples that are drawn before they are summed */

/* Resamples of several systems; score [systems][samples], and of a second kind where segments change sides. */
struct resampling {
    oa_context *context;
    const struct oa_statistics *system;
    int systems;
    long samples, first; /* the first of those that are drawn */
    uint32_t *draw;      /* [DRAWN, segments]: which segment, or which side */
    double *score[2];
};

static double *scores_of(const struct resampling *r, int kind, int system)
{
    return r->score[kind] + system * r->samples;
}

/* ---- bootstrap --------------------------------------------------------------------------------------------------- */

static void add_row(const struct oa_statistics *s, uint32_t i, bool single, double *sum)
{
    const double *row = s->row + (size_t)i * (size_t)s->numbers;
    for (int k = 0; k < s->numbers; k++)
        sum[k] = oa_rounded(sum[k] + oa_rounded(row[k], single), single);
}

static double bootstrap_score(const struct oa_statistics *s, const uint32_t *draw)
{
    double sum[OA_MOST_STATISTICS] = { 0 };
    bool single = s->metric->resampled != OA_RESAMPLED_DOUBLE;
    for (long i = 0; i < s->count; i++)
        add_row(s, draw[i], single, sum);
    return s->metric->score(s->options, sum, single);
}

static void bootstrap_one(void *argument, long item, const struct oa_worker *worker)
{
    struct resampling *r = argument;
    const uint32_t *draw = r->draw + item * r->system->count;
    (void)worker;
    for (int k = 0; k < r->systems; k++)
        scores_of(r, 0, k)[r->first + item] = bootstrap_score(&r->system[k], draw);
}

static void draw_segments(struct oa_numpy_random *random, uint32_t *draw, long segments, long count)
{
    for (long i = 0; i < count * segments; i++)
        draw[i] = oa_numpy_below(random, (uint32_t)segments);
}

/* ---- changing sides ---------------------------------------------------------------------------------------------- */

/* Scores of both sides when segments with a 0 are exchanged between the baseline and the system. */
static void exchanged_scores(const struct oa_statistics *baseline, const struct oa_statistics *system,
                             const uint32_t *draw, double *a, double *b)
{
    double sum[2][2][OA_MOST_STATISTICS] = { { { 0 } } }; /* [system][draw] */
    for (long i = 0; i < system->count; i++) {
        add_row(baseline, (uint32_t)i, false, sum[0][draw[i]]);
        add_row(system, (uint32_t)i, false, sum[1][draw[i]]);
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
    (void)worker;
    for (int k = 1; k < r->systems; k++)
        exchanged_scores(&r->system[0], &r->system[k], draw, &scores_of(r, 0, k)[r->first + item],
                         &scores_of(r, 1, k)[r->first + item]);
}

static void draw_sides(struct oa_numpy_random *random, uint32_t *draw, long segments, long count)
{
    for (long i = 0; i < count * segments; i++)
        draw[i] = oa_numpy_bit(random);
}

/* ---- all resamples ----------------------------------------------------------------------------------------------- */

typedef void draw_some(struct oa_numpy_random *random, uint32_t *draw, long segments, long count);

static void resampling_end(struct resampling *r)
{
    oa_free(r->draw);
    oa_free(r->score[0]);
    oa_free(r->score[1]);
}

static enum oa_error resampling_begin(struct resampling *r)
{
    const struct oa_statistics *s = r->system;
    if (r->samples < 1)
        return oa_fail(r->context, OA_ARGUMENT, "%ld resamples are asked for; give 1 at least", r->samples);
    for (int k = 1; k < r->systems; k++)
        if (s[k].count != s->count || s[k].metric != s->metric)
            return oa_fail(r->context, OA_SHAPE, "systems that are compared have %ld and %ld segments", s->count,
                           s[k].count);
    r->draw = oa_alloc(r->context, (size_t)DRAWN * (size_t)s->count * sizeof *r->draw);
    for (int kind = 0; kind < 2; kind++)
        r->score[kind] = oa_alloc(r->context, (size_t)r->systems * (size_t)r->samples * sizeof **r->score);
    return r->draw && r->score[0] && r->score[1] ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error resample(struct resampling *r, uint64_t seed, draw_some *draw, oa_task *task)
{
    struct oa_numpy_random random;
    OA_TRY(resampling_begin(r));
    oa_numpy_seed(&random, seed);
    for (r->first = 0; r->first < r->samples; r->first += DRAWN) {
        long count = r->samples - r->first < DRAWN ? r->samples - r->first : DRAWN;
        if (oa_stop_requested(r->context))
            return oa_fail(r->context, OA_INTERRUPTED, "stopped by signal %d after %ld of %ld resamples",
                           oa_stop_requested(r->context), r->first, r->samples);
        draw(&random, r->draw, r->system->count, count);
        oa_parallel(r->context, count, task, r);
    }
    return oa_status(r->context);
}

/* ---- what they say ----------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool in_floats(const struct oa_statistics *s)
{
    return s->metric->resampled == OA_RESAMPLED_FLOAT;
}

/* Sorts the scores; half of what lies between the 2.5th and the 97.5th per cent of them. */
static double half_interval(double *score, long n, bool single)
{
    qsort(score, (size_t)n, sizeof *score, ascending);
    return oa_rounded(0.5 * oa_rounded(score[n - 1 - n / 40] - score[n / 40], single), single);
}

/* As Python's statistics.mean: exact, then rounded once (Neumaier's sum). */
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

/* Share of differences above the one that was seen; 1 is added so that no p is 0. */
static double p_value(const double *difference, long n, double seen)
{
    long above = 0;
    for (long i = 0; i < n; i++)
        above += difference[i] > seen;
    return (double)(above + 1) / (double)(n + 1);
}

static struct oa_resample plain(const struct oa_statistics *s)
{
    return (struct oa_resample){ .score = oa_statistics_score(s), .mean = NAN, .half = NAN, .p = NAN };
}

enum oa_error oa_bootstrap(oa_context *c, const struct oa_statistics *s, long samples, uint64_t seed,
                           struct oa_resample *out)
{
    struct resampling r = { .context = c, .system = s, .systems = 1, .samples = samples };
    *out = plain(s);
    enum oa_error e = resample(&r, seed, draw_segments, bootstrap_one);
    if (e == OA_OK) {
        out->half = half_interval(r.score[0], samples, in_floats(s));
        out->mean = exact_mean(r.score[0], samples, in_floats(s));
    }
    resampling_end(&r);
    return e;
}

/* p of system k: how often the difference to the baseline strays from its mean by more than it is. */
static double bootstrap_p(const struct resampling *r, int k, double seen)
{
    bool single = in_floats(r->system);
    const double *baseline = scores_of(r, 0, 0), *system = scores_of(r, 0, k);
    double *difference = r->score[1];
    for (long i = 0; i < r->samples; i++)
        difference[i] = fabs(oa_rounded(system[i] - baseline[i], single));
    double mean = oa_numpy_mean(difference, r->samples, single);
    for (long i = 0; i < r->samples; i++)
        difference[i] = oa_rounded(difference[i] - mean, single);
    return p_value(difference, r->samples, oa_rounded(seen, single));
}

enum oa_error oa_paired_bootstrap(oa_context *c, const struct oa_statistics *system, int count, long samples,
                                  uint64_t seed, struct oa_resample *out)
{
    struct resampling r = { .context = c, .system = system, .systems = count, .samples = samples };
    enum oa_error e = resample(&r, seed, draw_segments, bootstrap_one);
    for (int k = 0; e == OA_OK && k < count; k++) {
        out[k] = plain(&system[k]);
        if (k > 0)
            out[k].p = bootstrap_p(&r, k, fabs(out[k].score - out[0].score));
    }
    for (int k = 0; e == OA_OK && k < count; k++) { /* sorts: at last */
        out[k].half = half_interval(scores_of(&r, 0, k), samples, in_floats(system));
        out[k].mean = oa_numpy_mean(scores_of(&r, 0, k), samples, in_floats(system));
    }
    resampling_end(&r);
    return e;
}

enum oa_error oa_paired_randomisation(oa_context *c, const struct oa_statistics *system, int count, long trials,
                                      uint64_t seed, struct oa_resample *out)
{
    struct resampling r = { .context = c, .system = system, .systems = count, .samples = trials };
    enum oa_error e = resample(&r, seed, draw_sides, exchange_one);
    for (int k = 0; e == OA_OK && k < count; k++) {
        out[k] = plain(&system[k]);
        double *a = scores_of(&r, 0, k), *b = scores_of(&r, 1, k);
        for (long i = 0; i < trials; i++)
            a[i] = fabs(a[i] - b[i]);
        if (k > 0)
            out[k].p = p_value(a, trials, fabs(out[k].score - out[0].score));
    }
    resampling_end(&r);
    return e;
}
