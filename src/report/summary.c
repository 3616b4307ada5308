/* SPDX-License-Identifier: Apache-2.0
 *
 * The summary of a contest: means over the seeds, paired differences to the attention with the lowest loss, verdicts.
 *
 * The reference is chosen from the same data that test the others against it. What that costs, simulated with normal
 * losses, 3 to 10 seeds and up to twelve attentions (tests/test_statistics.c repeats a part): the truly best attention
 * is called worse in 3 % of the contests at most, anything in truth better than the reference in 4 % at most. But of
 * attentions that are exactly equal, one is called worse more often than in 5 %: in 6 to 9 % of the contests between
 * six, in 9 to 14 % between twelve. Correcting over all pairs would mend that and halve the power at three seeds, to
 * protect from errors that cost nobody anything.
 *
 * An attention with a failed run takes no part in the tests: the seeds it survived are not a fair sample.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

static const double level = 0.05;

const char *oa_verdict_name(enum oa_verdict v)
{
    static const char *const names[] = { "best",         "lowest loss",           "worse",
                                         "not resolved", "one seed: no interval", "failed" };
    return names[v];
}

const char *oa_budget_name(const char *equal)
{
    static const char *const names[][2] = { { "tokens", "number of training tokens" },
                                            { "time", "training time" },
                                            { "params", "number of trainable parameters and training tokens" },
                                            { "flops", "training FLOPs" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(equal, names[i][0]) == 0)
            return names[i][1];
    return "budget";
}

static bool finished(const struct oa_run *r)
{
    return !r->failed && isfinite(r->valid_loss);
}

/* ---- one attention ---- */

/* The mean of the double at `offset` of the runs that finished. */
static double mean_over_runs(const struct oa_entry *e, int seeds, size_t offset)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (finished(&e->runs[i])) {
            sum += *(const double *)((const char *)&e->runs[i] + offset);
            n++;
        }
    return n ? sum / n : NAN;
}

static double mean_steps(const struct oa_entry *e, int seeds)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (finished(&e->runs[i])) {
            sum += (double)e->runs[i].steps;
            n++;
        }
    return n ? sum / n : NAN;
}

static void fill_means(const struct oa_entry *e, int seeds, struct oa_standing *s)
{
#define MEAN(field) s->field = mean_over_runs(e, seeds, offsetof(struct oa_run, field))
    MEAN(bits_per_character);
    MEAN(bits_per_byte);
    MEAN(seconds);
    MEAN(seconds_per_step);
    MEAN(tokens_per_second);
    MEAN(tokens);
    MEAN(flops);
    MEAN(flops_per_step);
    MEAN(peak_memory);
#undef MEAN
    s->steps = mean_steps(e, seeds);
    s->perplexity = exp(s->loss.mean);
}

/* `scratch` has room for one number a seed, here and below. */
static void describe(const struct oa_entry *e, int seeds, double *scratch, struct oa_standing *s)
{
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (finished(&e->runs[i]))
            scratch[n++] = e->runs[i].valid_loss;
    s->loss = oa_estimate_of(scratch, n);
    s->failed = seeds - n;
    s->difference = oa_estimate_of(scratch, 0);
    s->percent = s->p = s->holm = NAN;
    fill_means(e, seeds, s);
}

/* ---- the order ---- */

static bool before(const struct oa_standing *a, const struct oa_standing *b)
{
    if ((a->failed > 0) != (b->failed > 0))
        return b->failed > 0;
    if (isnan(b->loss.mean) || isnan(a->loss.mean))
        return !isnan(a->loss.mean) && isnan(b->loss.mean);
    return a->loss.mean < b->loss.mean;
}

static void sort_by_loss(struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++) { /* insertion keeps equal entries in the order they were given */
        int j = i;
        for (; j > 0 && before(&s->entries[i], &s->entries[s->order[j - 1]]); j--)
            s->order[j] = s->order[j - 1];
        s->order[j] = i;
    }
    s->reference = s->count && s->entries[s->order[0]].failed == 0 ? s->order[0] : -1;
}

/* ---- comparisons ---- */

static struct oa_estimate paired(const struct oa_entry *a, const struct oa_entry *b, int seeds, double *scratch)
{
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (finished(&a->runs[i]) && finished(&b->runs[i]))
            scratch[n++] = a->runs[i].valid_loss - b->runs[i].valid_loss;
    return oa_estimate_of(scratch, n);
}

static void set_differences(const struct oa_contest *k, double *scratch, struct oa_summary *s)
{
    const struct oa_entry *best = &k->entries[s->reference];
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        e->difference = paired(&k->entries[i], best, s->seeds, scratch);
        double theirs = 0; /* the reference's loss on the shared seeds */
        for (int r = 0; r < s->seeds; r++)
            if (finished(&k->entries[i].runs[r]))
                theirs += best->runs[r].valid_loss / e->difference.n;
        e->percent = 100 * e->difference.mean / theirs;
    }
}

static enum oa_verdict verdict_of(const struct oa_standing *e)
{
    if (e->failed)
        return OA_VERDICT_FAILED;
    if (e->difference.n < 2)
        return OA_VERDICT_ONE_SEED;
    bool excludes_zero = fabs(e->difference.mean) > e->difference.half;
    return e->holm < level && excludes_zero ? OA_VERDICT_WORSE : OA_VERDICT_UNRESOLVED;
}

/* p[i], holm[i], factor[i] belong to entry i against the reference. */
static void judge(struct oa_summary *s, const double *p, const double *holm, const int *factor)
{
    int others = 0, worse = 0;
    for (int i = 0; i < s->count; i++) {
        struct oa_standing *e = &s->entries[i];
        if (i == s->reference)
            continue;
        e->p = p[i];
        e->holm = holm[i];
        e->verdict = verdict_of(e);
        if (e->verdict == OA_VERDICT_UNRESOLVED)
            e->seeds_needed = oa_seeds_needed(e->difference.mean, e->difference.sd, level / factor[i]);
        others += !e->failed;
        worse += e->verdict == OA_VERDICT_WORSE;
    }
    bool alone_at_the_top = others > 0 && worse == others;
    s->entries[s->reference].verdict = alone_at_the_top ? OA_VERDICT_BEST : OA_VERDICT_LOWEST;
}

static enum oa_error compare_all(oa_context *c, const struct oa_contest *k, double *scratch, struct oa_summary *s)
{
    size_t count = (size_t)s->count;
    double *p = oa_alloc(c, count * sizeof *p), *holm = oa_alloc(c, count * sizeof *holm);
    int *factor = oa_alloc(c, count * sizeof *factor);
    if (p && holm && factor) {
        set_differences(k, scratch, s);
        for (int i = 0; i < s->count; i++)
            p[i] = i == s->reference || s->entries[i].failed ? NAN : oa_t_test(&s->entries[i].difference);
        oa_holm(p, s->count, holm, factor);
        judge(s, p, holm, factor);
    }
    oa_free(p);
    oa_free(holm);
    oa_free(factor);
    return oa_status(c);
}

static void all_failed(struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++)
        s->entries[i].verdict = OA_VERDICT_FAILED;
}

/* ---- Pareto fronts ---- */

/* Is a at least as good as b in loss and in gain, and better in one? */
static bool dominates(double loss_a, double gain_a, double loss_b, double gain_b)
{
    return loss_a <= loss_b && gain_a >= gain_b && (loss_a < loss_b || gain_a > gain_b);
}

static double gain(const struct oa_contest *k, const struct oa_summary *s, int entry, bool speed)
{
    return speed ? s->entries[entry].tokens_per_second : -k->entries[entry].trainable;
}

static bool on_front(const struct oa_contest *k, const struct oa_summary *s, int entry, bool speed)
{
    for (int i = 0; i < s->count; i++)
        if (!s->entries[i].failed && dominates(s->entries[i].loss.mean, gain(k, s, i, speed),
                                               s->entries[entry].loss.mean, gain(k, s, entry, speed)))
            return false;
    return !s->entries[entry].failed && isfinite(gain(k, s, entry, speed));
}

/* ---- all of it ---- */

static enum oa_error fill(oa_context *c, const struct oa_contest *k, double *scratch, struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++)
        describe(&k->entries[i], s->seeds, scratch, &s->entries[i]);
    sort_by_loss(s);
    if (s->reference >= 0)
        OA_TRY(compare_all(c, k, scratch, s));
    else
        all_failed(s);
    for (int i = 0; i < s->count; i++) {
        s->entries[i].front_speed = on_front(k, s, i, true);
        s->entries[i].front_parameters = on_front(k, s, i, false);
    }
    s->conclusion = oa_conclusion(c, k, s);
    return oa_status(c);
}

enum oa_error oa_summary_make(oa_context *c, const struct oa_contest *contest, struct oa_summary *out)
{
    *out = (struct oa_summary){ .count = contest->count, .seeds = contest->seeds, .reference = -1 };
    size_t count = (size_t)contest->count + 1, seeds = (size_t)contest->seeds + 1; /* + 1: none of them is empty */
    double *scratch = oa_alloc(c, seeds * sizeof *scratch);
    out->entries = oa_alloc(c, count * sizeof *out->entries);
    out->order = oa_alloc(c, count * sizeof *out->order);
    if (scratch && out->entries && out->order)
        fill(c, contest, scratch, out);
    oa_free(scratch);
    if (oa_status(c) != OA_OK)
        oa_summary_free(out);
    return oa_status(c);
}

void oa_summary_free(struct oa_summary *s)
{
    oa_free(s->entries);
    oa_free(s->order);
    oa_free(s->conclusion);
    *s = (struct oa_summary){ .reference = -1 };
}
