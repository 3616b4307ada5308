/* SPDX-License-Identifier: Apache-2.0
 * A recommendation in words: what to do, and why. */
#include "report/adjusted.h"
#include "report/metric_words.h"

#include <math.h>

static const char *named(const struct oa_comparison *k, int entry)
{
    return oa_entry_name(&k->entries[entry]);
}

/* "about 40 minutes" */
static void add_time(double seconds, struct oa_text *out)
{
    static const struct {
        const char *unit;
        double seconds, below;
    } units[] = { { "second", 1, 90 },
                  { "minute", 60, 90 * 60 },
                  { "hour", 3600, 36 * 3600 },
                  { "day", 86400, INFINITY } };
    int u = 0;
    while (seconds >= units[u].below)
        u++;
    double n = fmax(1, round(seconds / units[u].seconds));
    oa_text_printf(out, "about %.0f %s%s", n, units[u].unit, oa_plural((long)n));
}

/* "is 1.4 times as fast", "takes 2.0 times as long" */
static void add_relative_speed(double ratio, struct oa_text *out)
{
    char number[OA_NUMBER];
    oa_text_printf(out, "%s %s times as %s", ratio < 1 ? "takes" : "is",
                   oa_number(number, ratio < 1 ? 1 / ratio : ratio, 2),
                   ratio < 1 ? "long" : "fast");
}

/* The option that sets the number of seeds or the time. */
static void add_seeds_option(const struct oa_comparison *k, const struct oa_recommendation *r,
                             struct oa_text *out)
{
    if (k->imported)
        return;
    if (k->until.ending == OA_ENDING_BUDGET)
        oa_text_printf(out, " (--budget %.0fmin)", ceil((k->until.spent + r->seconds) / 60));
    else if (k->until.ending == OA_ENDING_SEEDS)
        oa_text_printf(out, " (--compare.max_seeds %d)", r->seeds);
    else
        oa_text_printf(out, " (--seeds %d)", r->seeds);
}

/* "5 attentions with 12 seeds, about 40 minutes (--seeds 12)"; where the comparisons need different
 * numbers "12 seeds for random, 824 for all 5 attentions, about 3 hours (--seeds 824)". */
static void add_seeds_wanted(const struct oa_comparison *k, const struct oa_recommendation *r,
                             struct oa_text *out)
{
    const char *kind = oa_entry_kind(k), *plural = oa_plural(r->open), *run = oa_run_kind(k);
    if (r->nearest < 0 || r->fewest == r->seeds)
        oa_text_printf(out, "%d %s%s with %d %ss", r->open, kind, plural, r->seeds, run);
    else
        oa_text_printf(out, "%d %ss for %s, %d for all %d %s%s", r->fewest, run,
                       named(k, r->nearest), r->seeds, r->open, kind, plural);
    if (r->seconds > 0) {
        oa_text_printf(out, ", ");
        add_time(r->seconds, out);
    }
    add_seeds_option(k, r, out);
}

/* ---- what to do ---- */

static void say_seeds(const struct oa_comparison *k, const struct oa_recommendation *r,
                      struct oa_text *out)
{
    if (r->open > 0) {
        oa_text_printf(out, "More seeds are needed: ");
        add_seeds_wanted(k, r, out);
        oa_text_printf(out, ".");
    } else /* each has enough, but of others than the next one */
        oa_text_printf(out,
                       "More of the same seeds are needed: every %s with the same %d or more; or "
                       "judge the runs as independent ones (--unpaired).",
                       oa_entry_kind(k), r->seeds);
}

static void say_repair(const struct oa_comparison *k, const struct oa_recommendation *r,
                       struct oa_text *out)
{
    oa_text_printf(out, "No recommendation: ");
    if (r->outcome == OA_OUTCOME_BASELINE_FAILED)
        oa_text_printf(out, "the baseline, %s, did not finish all its runs.",
                       named(k, k->baseline - 1));
    else
        oa_text_printf(out, "no %s finished all its runs.", oa_entry_kind(k));
    if (!k->imported)
        oa_text_printf(out, " A lower train.lr may help.");
}

static void say_nothing(const struct oa_comparison *k, const struct oa_recommendation *r,
                        struct oa_text *out)
{
    if (r->outcome == OA_OUTCOME_UNIFORM)
        oa_text_printf(out, "No recommendation: only differences to the uniform baseline were "
                            "judged; --compare.family pairs judges those between attentions.");
    else if (r->outcome == OA_OUTCOME_UNJUDGED)
        oa_text_printf(out,
                       "No recommendation: the differences are the same with every %s, so "
                       "there is no variance to test against.",
                       oa_run_kind(k));
    else
        oa_text_printf(out, "No recommendation: there is nothing to compare %s with.",
                       named(k, r->entry));
}

static void say_keep(const struct oa_comparison *k, const struct oa_recommendation *r,
                     struct oa_text *out)
{
    oa_text_printf(out, "Keep %s: no %s was shown to be better", named(k, r->entry),
                   oa_entry_kind(k));
    if (r->outcome == OA_OUTCOME_FAR)
        oa_text_printf(out,
                       ", and more than %d %ss would be needed to resolve the other differences if "
                       "they are as observed",
                       OA_SEEDS_CAP, oa_run_kind(k));
    oa_text_printf(out, ".");
}

static void say_change(const struct oa_comparison *k, const struct oa_summary *s,
                       const struct oa_recommendation *r, struct oa_text *out)
{
    char number[OA_NUMBER];
    const struct oa_estimate *d = &oa_compared_pair(s, r->entry, k->baseline - 1)->difference;
    oa_text_printf(out, "Change to %s: it was shown to be better than %s, by %s",
                   named(k, r->entry), named(k, k->baseline - 1), oa_number(number, -d->mean, 2));
    oa_add_unit(oa_difference_unit(k), out);
    if (r->cheaper < 0 && isfinite(r->speed) && r->saving != OA_SAVING_TIMED) {
        oa_text_printf(out, ", and ");
        add_relative_speed(r->speed, out);
    }
    oa_text_printf(out, ".");
}

static void say_take(const struct oa_comparison *k, const struct oa_summary *s,
                     const struct oa_recommendation *r, struct oa_text *out)
{
    bool all_tested = true;
    int identical = 0;
    oa_text_printf(out, "Take %s", named(k, r->entry));
    for (int i = 0; i < s->count; i++) {
        enum oa_against_verdict v = oa_compared_pair(s, i, r->entry)->verdict;
        all_tested = all_tested && v != OA_AGAINST_UNJUDGED;
        if (v == OA_AGAINST_IDENTICAL && i != s->uniform) {
            oa_text_printf(out, "%s%s", identical ? " or " : ", or ", named(k, i));
            identical++;
        }
    }
    oa_text_printf(out, "%s: ",
                   identical == 0   ? ""
                   : identical == 1 ? ", which is identical"
                                    : ", which are identical");
    if (r->outcome == OA_OUTCOME_BEST)
        oa_text_printf(out, "every other %s%s was shown to be worse.", oa_entry_kind(k),
                       all_tested ? "" : " that could be tested");
    else if (r->outcome == OA_OUTCOME_FAR_LOWEST)
        oa_text_printf(out,
                       "it has the %s %s, and more than %d %ss would be needed to resolve the "
                       "other differences if they are as observed.",
                       oa_metric_best(k), oa_metric_word(k), OA_SEEDS_CAP, oa_run_kind(k));
    else
        oa_text_printf(out, "no %s was shown to be better.", oa_entry_kind(k));
}

/* "equivalent to softmax within 0.5 % points", "identical to softmax" */
static void add_likeness(const struct oa_comparison *k, const struct oa_summary *s,
                         const struct oa_recommendation *r, bool of_whom, struct oa_text *out)
{
    bool same = s->entries[r->cheaper].twin >= 0 &&
                s->pairs[r->cheaper * s->count + r->entry].difference.sd == 0;
    oa_text_printf(out, same ? "identical" : "equivalent");
    if (of_whom)
        oa_text_printf(out, " to %s", named(k, r->entry));
    if (same)
        return;
    oa_text_printf(out, " within ");
    oa_add_margin(k, out);
}

/* ---- and what comes with it ---- */

static void say_saving(const struct oa_comparison *k, const struct oa_summary *s,
                       const struct oa_recommendation *r, struct oa_text *out)
{
    if (k->imported) /* nothing is known of speeds */
        return;
    if (r->saving == OA_SAVING_SOME) {
        oa_text_printf(out, " Fastest that is ");
        add_likeness(k, s, r, false, out);
        oa_text_printf(out, ": %s, which ", named(k, r->cheaper));
        add_relative_speed(r->speed, out);
        oa_text_printf(out, ".");
    } else if (r->saving == OA_SAVING_TIMED) {
        oa_text_printf(out, " Every run had the same training time, so speed is part of the %s.",
                       oa_metric_word(k));
    } else if (r->saving == OA_SAVING_NONE) {
        oa_text_printf(out, " No equivalent attention was shown to be faster.");
    }
}

/* Which more seeds would resolve what the recommendation leaves open. */
static void say_open(const struct oa_comparison *k, const struct oa_recommendation *r,
                     struct oa_text *out)
{
    if (r->action == OA_ACTION_SEEDS || r->open == 0)
        return;
    oa_text_printf(out, " To resolve the other comparisons: ");
    add_seeds_wanted(k, r, out);
    oa_text_printf(out, ".");
}

static void say_uniform(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                        struct oa_text *out)
{
    if (s->uniform < 0)
        return;
    enum oa_against_verdict v = oa_compared_pair(s, entry, s->uniform)->verdict;
    if (v != OA_AGAINST_UNRESOLVED && v != OA_AGAINST_WORSE && v != OA_AGAINST_IDENTICAL &&
        v != OA_AGAINST_EQUIVALENT)
        return;
    if (v == OA_AGAINST_EQUIVALENT)
        oa_text_printf(out, " But %s is equivalent to the uniform baseline.", named(k, entry));
    else
        oa_text_printf(out, " But %s was %s than the uniform baseline.", named(k, entry),
                       v == OA_AGAINST_WORSE ? "shown to be worse" : "not shown to be better");
}

char *oa_recommendation_text(oa_context *c, const struct oa_comparison *k,
                             const struct oa_summary *s, const struct oa_recommendation *r)
{
    struct oa_text out;
    oa_text_init(&out, c);
    switch (r->action) {
    case OA_ACTION_REPAIR:
        say_repair(k, r, &out);
        break;
    case OA_ACTION_NONE:
        say_nothing(k, r, &out);
        break;
    case OA_ACTION_SEEDS:
        say_seeds(k, r, &out);
        if (k->baseline)
            oa_text_printf(&out, " Until then keep %s: no %s was shown to be better.",
                           named(k, r->entry), oa_entry_kind(k));
        break;
    case OA_ACTION_KEEP:
        say_keep(k, r, &out);
        break;
    case OA_ACTION_CHANGE:
        say_change(k, s, r, &out);
        break;
    case OA_ACTION_TAKE:
        say_take(k, s, r, &out);
        break;
    case OA_ACTION_TAKE_CHEAPER:
        oa_text_printf(&out, "Take %s: it is ", named(k, r->cheaper));
        add_likeness(k, s, r, true, &out);
        oa_text_printf(&out, ", and ");
        add_relative_speed(r->speed, &out);
        oa_text_printf(&out, ".");
        break;
    }
    if (r->action >= OA_ACTION_KEEP) {
        if (r->action != OA_ACTION_TAKE_CHEAPER)
            say_saving(k, s, r, &out);
        say_open(k, r, &out);
        say_uniform(k, s, r->action == OA_ACTION_TAKE_CHEAPER ? r->cheaper : r->entry, &out);
    }
    return out.s;
}
