/* SPDX-License-Identifier: Apache-2.0
 * The conclusion of a comparison: a few sentences, made from the verdicts alone. */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/notes.h"
#include "report/tuning.h"
#include "report/until.h"

#include <math.h>
#include <string.h>

enum { NAMED = 3 }; /* attentions named in a list; of others only the number is given */

/* ---- lists ---- */

/* The entries of a list: those with a verdict, without the one they are compared with, or those
 * that are identical to one. */
struct listed {
    enum oa_verdict verdict;
    int except, twin; /* twin -1: by the verdict */
};

static bool is_listed(const struct oa_summary *s, const struct listed *l, int i)
{
    const struct oa_standing *e = &s->entries[i];
    return i != l->except && (l->twin >= 0 ? e->twin == l->twin : e->verdict == l->verdict);
}

static int count_listed(const struct oa_summary *s, const struct listed *l)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += is_listed(s, l, i);
    return n;
}

static struct listed with_verdict(const struct oa_comparison *k, const struct oa_summary *s,
                                  enum oa_verdict v)
{
    return (struct listed){ .verdict = v, .except = oa_compared_to(k, s), .twin = -1 };
}

static int count_with(const struct oa_comparison *k, const struct oa_summary *s, enum oa_verdict v)
{
    struct listed l = with_verdict(k, s, v);
    return count_listed(s, &l);
}

/* "softmax"; "the uniform baseline", which begins a sentence after ". ". */
static void add_name(const struct oa_comparison *k, int entry, struct oa_text *out)
{
    const struct oa_entry *e = &k->entries[entry];
    bool first = out->length > 1 && out->s && out->s[out->length - 2] == '.';
    oa_text_printf(out, "%s%s", !e->uniform ? "" : first ? "The " : "the ", oa_entry_name(e));
}

/* "a", "a and b", "a, b and c", "a, b, c and 4 others": by rising cost. */
static void add_listed(const struct oa_comparison *k, const struct oa_summary *s,
                       const struct listed *l, struct oa_text *out)
{
    int total = count_listed(s, l), shown = 0;
    for (int i = 0; i < s->count && shown < NAMED; i++) {
        if (!is_listed(s, l, s->order[i]))
            continue;
        oa_text_printf(out, "%s", shown == 0 ? "" : shown + 1 == total ? " and " : ", ");
        add_name(k, s->order[i], out);
        shown++;
    }
    if (total > shown)
        oa_text_printf(out, " and %d other%s", total - shown, oa_plural(total - shown));
}

static void add_names(const struct oa_comparison *k, const struct oa_summary *s, enum oa_verdict v,
                      struct oa_text *out)
{
    struct listed l = with_verdict(k, s, v);
    add_listed(k, s, &l, out);
}

/* The first ranked attention in the order; there is one if there is a reference. */
static int first_ranked(const struct oa_summary *s)
{
    int o = 0;
    while (!oa_is_ranked(s, s->order[o]))
        o++;
    return s->order[o];
}

/* "it"; the baseline or the uniform baseline by name. */
static void add_compared(const struct oa_comparison *k, const struct oa_summary *s,
                         struct oa_text *out)
{
    enum oa_family_kind kind = oa_family_kind_of(k);
    const char *name = oa_entry_name(&k->entries[oa_compared_to(k, s)]);
    oa_text_printf(out,
                   kind == OA_FAMILY_BASELINE  ? "the baseline, %s"
                   : kind == OA_FAMILY_UNIFORM ? "the %s, an average of the visible tokens"
                                               : "%s",
                   name);
}

/* ---- sentences ---- */

/* ", by 0.05 nats a token" or ", by 1.2 to 3.4 % points": differences of costs. Nothing where an
 * entry that is worse than another has a lower adjusted cost than the leader. */
static void add_margin(const struct oa_comparison *k, const struct oa_summary *s, enum oa_verdict v,
                       struct oa_text *out)
{
    double least = INFINITY, most = 0, sign = v == OA_VERDICT_BETTER ? -1 : 1;
    bool pairs = oa_family_kind_of(k) == OA_FAMILY_PAIRS;
    for (int i = 0; i < s->count; i++) {
        if (s->entries[i].verdict != v)
            continue;
        double apart = pairs ? oa_to_reference(k, s, i).mean
                             : oa_compared_pair(s, i, oa_compared_to(k, s))->difference.mean;
        least = fmin(least, sign * apart);
        most = fmax(most, sign * apart);
    }
    if (!(least >= 0))
        return;
    char low[OA_NUMBER], high[OA_NUMBER];
    oa_text_printf(out, ", by %s", oa_number(low, least, 2));
    if (strcmp(oa_number(high, most, 2), low) != 0)
        oa_text_printf(out, " to %s", high);
    oa_add_unit(oa_difference_unit(k), out);
}

static void conclude_best(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    int worse = count_with(k, s, OA_VERDICT_WORSE);
    oa_text_printf(out, "%s is best: ", k->entries[s->reference].attention);
    bool every = worse > NAMED && worse == s->count - 1;
    if (every)
        oa_text_printf(out, "every other %s", oa_entry_kind(k));
    else
        add_names(k, s, OA_VERDICT_WORSE, out);
    oa_text_printf(out, worse == 1 || every ? " is worse" : " are worse");
    add_margin(k, s, OA_VERDICT_WORSE, out);
    oa_text_printf(out, ".");
}

/* "; about 5 to 115 seeds are needed to tell random from it": for the unresolved entry that needs
 * the fewest. */
static void conclusion_add_seeds_needed(const struct oa_comparison *k, const struct oa_summary *s,
                                        struct oa_text *out)
{
    int nearest = -1;
    for (int o = 0; o < s->count; o++) {
        const struct oa_standing *e = &s->entries[s->order[o]];
        if (e->verdict == OA_VERDICT_UNRESOLVED && e->seeds_range.low &&
            (nearest < 0 || e->seeds_needed < s->entries[nearest].seeds_needed))
            nearest = s->order[o];
    }
    if (nearest < 0)
        return;
    struct oa_seeds_range range = s->entries[nearest].seeds_range;
    if (range.low > OA_SEEDS_CAP)
        oa_text_printf(out, "; more than %d", OA_SEEDS_CAP);
    else if (range.high > OA_SEEDS_CAP)
        oa_text_printf(out, "; %d or more", range.low);
    else if (range.high > range.low)
        oa_text_printf(out, "; about %d to %d", range.low, range.high);
    else
        oa_text_printf(out, "; about %d", range.low);
    oa_text_printf(out, " %ss are needed to tell ", oa_run_kind(k));
    if (count_with(k, s, OA_VERDICT_UNRESOLVED) > 1)
        add_name(k, nearest, out);
    else
        oa_text_printf(out, "it");
    oa_text_printf(out, " from ");
    add_name(k, oa_compared_to(k, s), out);
}

/* " a and b are worse than the baseline, softmax, by 0.1 to 0.2 nats a token." In a family of all
 * pairs an entry may be worse than another one than the reference. */
static void conclude_differences(const struct oa_comparison *k, const struct oa_summary *s,
                                 enum oa_verdict v, struct oa_text *out)
{
    int n = count_with(k, s, v);
    if (n == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, v, out);
    oa_text_printf(out, n == 1 ? " is %s" : " are %s",
                   oa_against_words(v == OA_VERDICT_BETTER ? OA_AGAINST_BETTER : OA_AGAINST_WORSE,
                                    oa_is_practical(k)));
    if (oa_family_kind_of(k) != OA_FAMILY_PAIRS || v == OA_VERDICT_BETTER) {
        oa_text_printf(out, " than ");
        add_compared(k, s, out);
    }
    add_margin(k, s, v, out);
    oa_text_printf(out, ".");
}

/* Whether the entry has the leader's cost to the last bit. Not so for entries identical to the
 * leader, which have a sentence of their own. */
static bool is_tied(const struct oa_comparison *k, const struct oa_summary *s, int i)
{
    const struct oa_standing *e = &s->entries[i];
    return i != s->reference && oa_is_ranked(s, i) &&
           e->adjusted == s->entries[s->reference].adjusted && !oa_same_runs(k, i, s->reference);
}

static int count_tied(const struct oa_comparison *k, const struct oa_summary *s)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += is_tied(k, s, i);
    return n;
}

/* "a has the lowest loss", "a and b share the lowest loss", or "a leads" where an entry that was
 * shown to be worse than another has a lower adjusted one. */
static void conclude_leader(const struct oa_comparison *k, const struct oa_summary *s,
                            struct oa_text *out)
{
    const char *name = k->entries[s->reference].attention;
    if (s->entries[s->reference].verdict == OA_VERDICT_LEADS)
        oa_text_printf(out, "%s leads", name);
    else {
        int left = count_tied(k, s);
        bool tied = left > 0;
        oa_text_printf(out, "%s", name);
        for (int o = 0; o < s->count && tied; o++)
            if (is_tied(k, s, s->order[o]))
                oa_text_printf(out, "%s%s", --left ? ", " : " and ",
                               k->entries[s->order[o]].attention);
        oa_text_printf(
            out, " %s the %s %s%s%s", tied ? "share" : "has", oa_metric_best(k),
            s->uneven ? "adjusted " : "", oa_metric_word(k),
            s->uneven && !tied && s->entries[s->reference].loss.n == 1 ? ", of only one run" : "");
    }
}

/* " show no significant difference"; " have an undecided difference" where an interval that
 * excludes 0 may be one. */
static void add_undecided(const struct oa_comparison *k, int n, struct oa_text *out)
{
    if (oa_is_practical(k))
        oa_text_printf(out, "%s an undecided difference", n == 1 ? " has" : " have");
    else
        oa_text_printf(out, "%s no significant difference", n == 1 ? " shows" : " show");
}

static void conclude_unresolved(const struct oa_comparison *k, const struct oa_summary *s,
                                struct oa_text *out)
{
    int n = count_with(k, s, OA_VERDICT_UNRESOLVED);
    if (n == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_UNRESOLVED, out);
    add_undecided(k, n, out);
    oa_text_printf(out, " to ");
    add_compared(k, s, out);
    oa_text_printf(out, ", at the level of %s with ", oa_percent_text(oa_family_level(k)).s);
    oa_add_seeds(k, s, false, out);
    conclusion_add_seeds_needed(k, s, out);
    oa_text_printf(out, ".");
}

static void conclude_few_seeds(const struct oa_comparison *k, const struct oa_summary *s,
                               struct oa_text *out)
{
    if (s->seeds == 1 && count_with(k, s, OA_VERDICT_ONE_SEED) > 0) {
        oa_text_printf(out,
                       " One %s gives no verdict: the variance between %ss is unknown. Use at "
                       "least %d %ss",
                       oa_run_kind(k), oa_run_kind(k), OA_VERDICT_SEEDS, oa_run_kind(k));
        oa_add_seeds_option(k, out);
        oa_text_printf(out, ".");
    }
    int few = count_with(k, s, OA_VERDICT_FEW_SEEDS);
    if (few == 0)
        return;
    if (s->seeds < OA_VERDICT_SEEDS) {
        oa_text_printf(out, " %d %ss give estimates and no verdicts: use at least %d", s->seeds,
                       oa_run_kind(k), OA_VERDICT_SEEDS);
        oa_add_seeds_option(k, out);
        oa_text_printf(out, ".");
        return;
    }
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_FEW_SEEDS, out);
    oa_text_printf(out, " %s fewer than %d %ss", few == 1 ? "has" : "have", OA_VERDICT_SEEDS,
                   oa_run_kind(k));
    if (oa_fewest_seeds(s, true) >= OA_VERDICT_SEEDS) {
        oa_text_printf(out, " in common with ");
        add_compared(k, s, out);
    }
    oa_text_printf(out, ": an estimate and no verdict.");
}

static void conclude_alone(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    char number[OA_NUMBER];
    const struct oa_measure *m = oa_compared_measure(k);
    const char *name = k->entries[s->reference].attention;
    oa_number(number, s->entries[s->reference].adjusted, 5);
    if (oa_about_loss(k))
        oa_text_printf(out, "%s reached a validation loss of %s", name, number);
    else
        oa_text_printf(out, "%s reached this %s: %s", name, m->title, number);
    oa_add_unit(strcmp(m->unit, m->title) == 0 ? "" : m->unit, out);
    oa_text_printf(out, "; there is %s to compare it with.",
                   s->uniform < 0 ? "nothing" : "only the uniform baseline");
}

/* Why another one with a lower adjusted cost does not lead. */
static void conclude_undercut(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    if (s->entries[s->reference].verdict != OA_VERDICT_LEADS)
        return;
    oa_text_printf(
        out,
        " %s has a %s adjusted %s, but was shown to be worse than another %s on the seeds "
        "that both have.",
        k->entries[first_ranked(s)].attention, oa_metric_better(k), oa_metric_word(k),
        oa_entry_kind(k));
}

static void conclude_identical(const struct oa_comparison *k, const struct oa_summary *s,
                               struct oa_text *out)
{
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o];
        struct listed same = { .except = -1, .twin = i };
        int twins = count_listed(s, &same);
        if (twins == 0)
            continue;
        oa_text_printf(out, " ");
        add_listed(k, s, &same, out);
        oa_text_printf(out, " %s identical to %s: bitwise the same %s with every %s.",
                       twins == 1 ? "is" : "are", oa_entry_name(&k->entries[i]), oa_metric_word(k),
                       oa_run_kind(k));
    }
}

static void conclude_unjudged(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    int unjudged = count_with(k, s, OA_VERDICT_UNJUDGED);
    if (unjudged == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_UNJUDGED, out);
    oa_text_printf(out,
                   " cannot be tested: the difference%s to %s %s the same with every seed, so "
                   "there is no variance to test against.",
                   oa_plural(unjudged), oa_entry_name(&k->entries[oa_compared_to(k, s)]),
                   unjudged == 1 ? "is" : "are");
}

static void conclude_equivalent(const struct oa_comparison *k, const struct oa_summary *s,
                                struct oa_text *out)
{
    int equivalent = count_with(k, s, OA_VERDICT_EQUIVALENT), fixed = oa_compared_to(k, s);
    bool all_at_best = true; /* of two with the best possible scores there is no interval */
    if (equivalent == 0)
        return;
    for (int i = 0; i < s->count; i++)
        if (s->entries[i].verdict == OA_VERDICT_EQUIVALENT && i != fixed &&
            isfinite(oa_compared_pair(s, i, fixed)->half))
            all_at_best = false;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_EQUIVALENT, out);
    oa_text_printf(out, " %s equivalent to ", equivalent == 1 ? "is" : "are");
    add_compared(k, s, out);
    if (all_at_best) {
        oa_text_printf(out, ": the best possible %s with every seed.", oa_metric_word(k));
        return;
    }
    oa_text_printf(out, ": within ");
    oa_add_margin(k, out);
    oa_text_printf(out, ".");
}

/* Why no more seeds were added. */
static void conclude_ending(const struct oa_comparison *k, const struct oa_summary *s,
                            struct oa_text *out)
{
    char budget[OA_NUMBER];
    int open = 0;
    for (int i = 0; i < s->count; i++)
        open += oa_question_open(s, i);
    if (k->until.ending == OA_ENDING_RESOLVED) {
        oa_text_printf(out, " All %scomparisons are resolved after ",
                       count_with(k, s, OA_VERDICT_UNJUDGED) ? "other " : "");
        oa_add_seeds(k, s, false, out);
        oa_text_printf(out, ".");
    }
    if (k->until.ending == OA_ENDING_SEEDS)
        oa_text_printf(
            out, " %d comparison%s unresolved after %d seeds, the limit set by compare.max_seeds.",
            open, open == 1 ? " is" : "s are", k->until.most);
    if (k->until.ending == OA_ENDING_BUDGET)
        oa_text_printf(
            out, " %d comparison%s unresolved: another round would exceed the budget of %s.", open,
            open == 1 ? " is" : "s are", oa_number_seconds(budget, k->until.budget));
}

/* In a family of all pairs: attentions no better than the uniform baseline are all named. */
static int add_names_to_uniform(const struct oa_comparison *k, const struct oa_summary *s,
                                enum oa_against_verdict v, struct oa_text *out)
{
    int shown = 0, total = 0;
    for (int i = 0; i < s->count; i++)
        total += oa_compared_pair(s, i, s->uniform)->verdict == v;
    for (int o = 0; o < s->count && total; o++)
        if (oa_compared_pair(s, s->order[o], s->uniform)->verdict == v) {
            oa_text_printf(out, "%s", shown == 0 ? " " : shown + 1 == total ? " and " : ", ");
            add_name(k, s->order[o], out);
            shown++;
        }
    return total;
}

static void conclude_uniform_baseline(const struct oa_comparison *k, const struct oa_summary *s,
                                      struct oa_text *out)
{
    if (s->uniform >= 0 &&
        oa_adjusted_cost(k, s, s->uniform) < oa_adjusted_cost(k, s, first_ranked(s)))
        oa_text_printf(out, " The uniform baseline has a %s %s than all of them.",
                       oa_metric_better(k), oa_metric_word(k));
    if (s->uniform < 0 || oa_family_kind_of(k) != OA_FAMILY_PAIRS)
        return;
    int open = add_names_to_uniform(k, s, OA_AGAINST_UNRESOLVED, out);
    if (open) {
        add_undecided(k, open, out);
        oa_text_printf(out, " to the uniform baseline, an average of the visible tokens.");
    }
    int worse = add_names_to_uniform(k, s, OA_AGAINST_WORSE, out);
    if (worse)
        oa_text_printf(out, " %s %s than the uniform baseline%s.", worse == 1 ? "is" : "are",
                       oa_against_words(OA_AGAINST_WORSE, oa_is_practical(k)),
                       open ? "" : ", an average of the visible tokens");
}

static bool has_others(const struct oa_comparison *k, const struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++)
        if (i != s->reference && oa_is_ranked(s, i))
            return true;
    return oa_family_kind_of(k) == OA_FAMILY_UNIFORM && !s->entries[s->uniform].failed;
}

static void conclude_verdicts(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    int fixed = oa_compared_to(k, s);
    if (s->entries[s->reference].verdict == OA_VERDICT_BEST) {
        conclude_best(k, s, out);
    } else if (!has_others(k, s)) {
        conclude_alone(k, s, out);
        return;
    } else {
        conclude_leader(k, s, out);
        oa_text_printf(out, ".");
        if (!s->entries[fixed].failed) {
            conclude_differences(k, s, OA_VERDICT_BETTER, out);
            conclude_equivalent(k, s, out);
            conclude_unresolved(k, s, out);
            conclude_differences(k, s, OA_VERDICT_WORSE, out);
        }
    }
    conclude_few_seeds(k, s, out);
    conclude_undercut(k, s, out);
    conclude_unjudged(k, s, out);
}

char *oa_conclusion(oa_context *c, const struct oa_comparison *k, const struct oa_summary *s)
{
    struct oa_text out;
    oa_text_init(&out, c);
    if (s->count == 0)
        oa_text_printf(&out, "Nothing was compared.");
    else if (s->reference < 0)
        oa_text_printf(&out, "No %s finished all its runs: nothing can be compared.",
                       oa_entry_kind(k));
    else {
        conclude_verdicts(k, s, &out);
        conclude_identical(k, s, &out);
        if (count_with(k, s, OA_VERDICT_FAILED) > 0) {
            oa_text_printf(&out, " ");
            add_names(k, s, OA_VERDICT_FAILED, &out);
            oa_text_printf(&out, " did not finish every run and cannot be compared.");
        }
        conclude_uniform_baseline(k, s, &out);
        oa_solved_sentence(k, s, &out);
        oa_fixed_sources_sentence(k, s, &out);
        oa_tuning_sentence(k, &out);
    }
    conclude_ending(k, s, &out);
    oa_machines_sentence(k, &out);
    return out.s;
}
