/* SPDX-License-Identifier: Apache-2.0
 * The conclusion of a comparison: a few sentences, made from the verdicts alone. */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/notes.h"
#include "report/tuning.h"
#include "report/until.h"

#include <math.h>
#include <string.h>

enum { NAMED = 3 }; /* so many attentions are named; of more only the number is given */

/* ---- lists ---- */

static const int anyone = -1; /* for twin, below */

static bool is_of(const struct oa_standing *e, enum oa_verdict v, int twin)
{
    return e->verdict == v && (twin == anyone || e->twin == twin);
}

/* The reference is not counted. */
static int count_of(const struct oa_summary *s, enum oa_verdict v, int twin)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += i != s->reference && is_of(&s->entries[i], v, twin);
    return n;
}

static int count_with(const struct oa_summary *s, enum oa_verdict v)
{
    return count_of(s, v, anyone);
}

/* "a", "a and b", "a, b and c", "a, b, c and 4 others": the attentions with this verdict, by rising
 * cost; with a twin, those that are identical with it. */
static void add_names_of(const struct oa_comparison *k, const struct oa_summary *s,
                         enum oa_verdict v, int twin, struct oa_text *out)
{
    int total = count_of(s, v, twin), shown = 0;
    for (int i = 0; i < s->count && shown < NAMED; i++) {
        if (s->order[i] == s->reference || !is_of(&s->entries[s->order[i]], v, twin))
            continue;
        const char *between = shown == 0 ? "" : shown + 1 == total ? " and " : ", ";
        oa_text_printf(out, "%s%s", between, oa_entry_name(&k->entries[s->order[i]]));
        shown++;
    }
    if (total > shown)
        oa_text_printf(out, " and %d other%s", total - shown, oa_plural(total - shown));
}

static void add_names(const struct oa_comparison *k, const struct oa_summary *s, enum oa_verdict v,
                      struct oa_text *out)
{
    add_names_of(k, s, v, anyone, out);
}

static void add_amount(double x, struct oa_text *out)
{
    char number[OA_NUMBER];
    oa_text_printf(out, "%s", oa_number(number, x, 2));
}

/* The first ranked attention in the order; there is one if there is a reference. */
static int first_ranked(const struct oa_summary *s)
{
    int o = 0;
    while (!oa_is_ranked(s, s->order[o]))
        o++;
    return s->order[o];
}

/* ---- sentences ---- */

/* ", by 0.05 nats a token" or ", by 1.2 to 3.4 % points": differences of costs, so that worse is
 * above 0. Not where what is worse than another has a lower adjusted cost than the leader. */
static void add_margin(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < s->count; i++)
        if (s->entries[i].verdict == OA_VERDICT_WORSE) {
            least = fmin(least, oa_to_reference(k, s, i).mean);
            most = fmax(most, oa_to_reference(k, s, i).mean);
        }
    if (least >= 0) {
        oa_text_printf(out, ", by ");
        add_amount(least, out);
        if (most > least) {
            oa_text_printf(out, " to ");
            add_amount(most, out);
        }
        oa_add_unit(oa_difference_unit(k), out);
    }
    oa_text_printf(out, " (%s)",
                   k->sequential ? "95 % intervals of all pairs, at any number of interim analyses"
                                 : "Holm-corrected p < 0.05");
}

static void conclude_best(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    int worse = count_with(s, OA_VERDICT_WORSE);
    oa_text_printf(out, "%s is best: ", k->entries[s->reference].attention);
    bool every = worse > NAMED && worse == s->count - 1;
    if (every)
        oa_text_printf(out, "every other attention");
    else
        add_names(k, s, OA_VERDICT_WORSE, out);
    oa_text_printf(out, worse == 1 || every ? " is worse" : " are worse");
    add_margin(k, s, out);
    oa_text_printf(out, ".");
}

/* "; about 5 to 115 seeds are needed to tell random from the best": for the unresolved entry that
 * needs the fewest. */
static void conclusion_add_seeds_needed(const struct oa_comparison *k, const struct oa_summary *s,
                                        struct oa_text *out)
{
    int nearest = -1;
    for (int o = 0; o < s->count; o++) {
        const struct oa_standing *e = &s->entries[s->order[o]];
        if (e->verdict == OA_VERDICT_UNRESOLVED &&
            (nearest < 0 || e->seeds_needed < s->entries[nearest].seeds_needed))
            nearest = s->order[o];
    }
    struct oa_seeds_range range = s->entries[nearest].seeds_range;
    if (range.low == 0)
        return;
    if (range.low > OA_SEEDS_CAP)
        oa_text_printf(out, "; more than %d", OA_SEEDS_CAP);
    else if (range.high > OA_SEEDS_CAP)
        oa_text_printf(out, "; %d or more", range.low);
    else if (range.high > range.low)
        oa_text_printf(out, "; about %d to %d", range.low, range.high);
    else
        oa_text_printf(out, "; about %d", range.low);
    oa_text_printf(out, " seeds are needed to tell %s from the best",
                   count_with(s, OA_VERDICT_UNRESOLVED) > 1 ? k->entries[nearest].attention : "it");
}

/* "3 seeds", "3 to 12 seeds": how many the attentions have. */
static void conclusion_add_seeds(const struct oa_summary *s, struct oa_text *out)
{
    int least = oa_fewest_seeds(s, false);
    if (least < s->seeds)
        oa_text_printf(out, "%d to ", least);
    oa_text_printf(out, "%d seeds", s->seeds);
}

static void conclude_worse(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out)
{
    int worse = count_with(s, OA_VERDICT_WORSE);
    if (worse == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_WORSE, out);
    oa_text_printf(out, worse == 1 ? " is worse" : " are worse");
    add_margin(k, s, out);
    oa_text_printf(out, ".");
}

/* Has the leader's cost, to the last bit. Of those that are identical with it more is said than
 * that. */
static bool is_tied(const struct oa_summary *s, int i)
{
    const struct oa_standing *e = &s->entries[i];
    return i != s->reference && i != s->uniform && !e->failed &&
           e->verdict != OA_VERDICT_IDENTICAL && e->adjusted == s->entries[s->reference].adjusted;
}

static int count_tied(const struct oa_summary *s)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += is_tied(s, i);
    return n;
}

/* "a and b share the lowest loss" */
static void conclude_tied(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    int left = count_tied(s);
    oa_text_printf(out, "%s", k->entries[s->reference].attention);
    for (int o = 0; o < s->count; o++)
        if (is_tied(s, s->order[o]))
            oa_text_printf(out, "%s%s", --left ? ", " : " and ", k->entries[s->order[o]].attention);
    oa_text_printf(out, " share the %s %s%s", oa_metric_best(k), s->uneven ? "adjusted " : "",
                   oa_metric_word(k));
}

/* "a has the lowest loss", or "a leads" where what was shown to be worse than another has a lower
 * adjusted one. */
static void conclude_leader(const struct oa_comparison *k, const struct oa_summary *s,
                            struct oa_text *out)
{
    const char *name = k->entries[s->reference].attention;
    if (s->entries[s->reference].verdict == OA_VERDICT_LEADS)
        oa_text_printf(out, "%s leads", name);
    else if (count_tied(s))
        conclude_tied(k, s, out);
    else
        oa_text_printf(out, "%s has the %s %s%s", name, oa_metric_best(k),
                       s->uneven ? "adjusted " : "", oa_metric_word(k));
}

/* " show no significant difference"; " have an undecided difference" where an interval that
 * excludes 0 may be one. */
static void add_undecided(const struct oa_comparison *k, int n, struct oa_text *out)
{
    const char *words = oa_against_words(OA_AGAINST_UNRESOLVED, oa_is_practical(k));
    if (strcmp(words, "undecided") == 0)
        oa_text_printf(out,
                       n == 1 ? " has an undecided difference" : " have an undecided difference");
    else
        oa_text_printf(out, "%s %s", n == 1 ? " shows" : " show", words);
}

static void conclude_unresolved(const struct oa_comparison *k, const struct oa_summary *s,
                                struct oa_text *out)
{
    conclude_leader(k, s, out);
    oa_text_printf(out, ", but ");
    add_names(k, s, OA_VERDICT_UNRESOLVED, out);
    add_undecided(k, count_with(s, OA_VERDICT_UNRESOLVED), out);
    oa_text_printf(out, " to %s at the level of 5 %% with ",
                   count_tied(s) ? k->entries[s->reference].attention : "it");
    conclusion_add_seeds(s, out);
    conclusion_add_seeds_needed(k, s, out);
    oa_text_printf(out, ".");
    conclude_worse(k, s, out);
}

static void conclude_one_seed(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    conclude_leader(k, s, out);
    oa_text_printf(out, ", but one seed gives no verdict: the variance between seeds is unknown. "
                        "Use at least 3 seeds (--seeds 3).");
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

static void conclude_lowest(const struct oa_comparison *k, const struct oa_summary *s,
                            struct oa_text *out)
{
    conclude_leader(k, s, out);
    oa_text_printf(out, ".");
    conclude_worse(k, s, out);
}

/* Why another one with a lower adjusted cost does not lead. */
static void conclude_undercut(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    if (s->entries[s->reference].verdict != OA_VERDICT_LEADS)
        return;
    oa_text_printf(out,
                   " %s has a %s adjusted %s, but was shown to be worse than another attention on "
                   "the seeds that both have.",
                   k->entries[first_ranked(s)].attention, oa_metric_better(k), oa_metric_word(k));
}

static void conclude_identical(const struct oa_comparison *k, const struct oa_summary *s,
                               struct oa_text *out)
{
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o], twins = count_of(s, OA_VERDICT_IDENTICAL, i);
        if (twins == 0)
            continue;
        oa_text_printf(out, " ");
        add_names_of(k, s, OA_VERDICT_IDENTICAL, i, out);
        oa_text_printf(out, " %s identical to %s: bitwise the same loss with every seed.",
                       twins == 1 ? "is" : "are", oa_entry_name(&k->entries[i]));
    }
}

static void conclude_unjudged(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    int unjudged = count_with(s, OA_VERDICT_UNJUDGED);
    if (unjudged == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_UNJUDGED, out);
    oa_text_printf(out,
                   " cannot be tested: the difference%s to %s %s the same with every seed, so "
                   "there is no variance to test against.",
                   oa_plural(unjudged), k->entries[s->reference].attention,
                   unjudged == 1 ? "is" : "are");
}

static void conclude_equivalent(const struct oa_comparison *k, const struct oa_summary *s,
                                struct oa_text *out)
{
    int equivalent = count_with(s, OA_VERDICT_EQUIVALENT);
    if (equivalent == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_EQUIVALENT, out);
    oa_text_printf(out, " %s equivalent to %s: within ", equivalent == 1 ? "is" : "are",
                   k->entries[s->reference].attention);
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
        open += oa_question_open(k, s, i);
    if (k->until.ending == OA_ENDING_RESOLVED) {
        oa_text_printf(out, " All %scomparisons are resolved after ",
                       count_with(s, OA_VERDICT_UNJUDGED) ? "other " : "");
        conclusion_add_seeds(s, out);
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

static void conclude_failures(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    if (count_with(s, OA_VERDICT_FAILED) == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_FAILED, out);
    oa_text_printf(out, " did not finish every run and cannot be compared.");
}

static const struct oa_against *verdict_against(const struct oa_standing *e, bool baseline)
{
    return baseline ? &e->baseline : &e->uniform;
}

/* " a, b and c": all attentions with this verdict against the baseline or the uniform baseline, by
 * rising cost; how many. */
static int conclusion_add_verdicts(const struct oa_comparison *k, const struct oa_summary *s,
                                   enum oa_against_verdict v, bool baseline, struct oa_text *out)
{
    int shown = 0, total = 0;
    for (int i = 0; i < s->count; i++)
        total += verdict_against(&s->entries[i], baseline)->verdict == v;
    for (int i = 0; i < s->count && total; i++)
        if (verdict_against(&s->entries[s->order[i]], baseline)->verdict == v) {
            oa_text_printf(out, "%s%s",
                           shown == 0           ? " "
                           : shown + 1 == total ? " and "
                                                : ", ",
                           k->entries[s->order[i]].attention);
            shown++;
        }
    return total;
}

/* Does it answer "is X better than what I have"? Every attention is named, with its verdict. */
static void conclude_baseline(const struct oa_comparison *k, const struct oa_summary *s,
                              struct oa_text *out)
{
    if (!k->baseline || s->seeds < 2)
        return;
    const char *name = oa_entry_name(&k->entries[k->baseline - 1]);
    int n = conclusion_add_verdicts(k, s, OA_AGAINST_BETTER, true, out);
    if (n)
        oa_text_printf(out, " %s %s than the baseline, %s.", n == 1 ? "is" : "are",
                       oa_against_words(OA_AGAINST_BETTER, oa_is_practical(k)), name);
    n = conclusion_add_verdicts(k, s, OA_AGAINST_EQUIVALENT, true, out);
    if (n) {
        oa_text_printf(out, " %s equivalent to the baseline, %s: within ", n == 1 ? "is" : "are",
                       name);
        oa_add_margin(k, out);
        oa_text_printf(out, ".");
    }
    n = conclusion_add_verdicts(k, s, OA_AGAINST_WORSE, true, out);
    if (n)
        oa_text_printf(out, " %s %s than the baseline, %s.", n == 1 ? "is" : "are",
                       oa_against_words(OA_AGAINST_WORSE, oa_is_practical(k)), name);
    n = conclusion_add_verdicts(k, s, OA_AGAINST_UNRESOLVED, true, out);
    if (n) {
        add_undecided(k, n, out);
        oa_text_printf(out, " to the baseline, %s.", name);
    }
}

/* Attentions no better than the uniform baseline are all named. */
static void conclude_uniform_baseline(const struct oa_comparison *k, const struct oa_summary *s,
                                      struct oa_text *out)
{
    if (s->uniform >= 0 &&
        oa_adjusted_cost(k, s, s->uniform) < oa_adjusted_cost(k, s, first_ranked(s)))
        oa_text_printf(out, " The uniform baseline has a %s %s than all of them.",
                       oa_metric_better(k), oa_metric_word(k));
    if (s->uniform < 0 || s->seeds < 2)
        return;
    int open = conclusion_add_verdicts(k, s, OA_AGAINST_UNRESOLVED, false, out);
    if (open)
        oa_text_printf(out,
                       " %s no significant difference to the uniform baseline, an average of the "
                       "visible tokens.",
                       open == 1 ? "shows" : "show");
    int worse = conclusion_add_verdicts(k, s, OA_AGAINST_WORSE, false, out);
    if (worse)
        oa_text_printf(out,
                       worse == 1 ? " is worse than the uniform baseline%s."
                                  : " are worse than the uniform baseline%s.",
                       open ? "" : ", an average of the visible tokens");
}

char *oa_conclusion(oa_context *c, const struct oa_comparison *k, const struct oa_summary *s)
{
    struct oa_text out;
    oa_text_init(&out, c);
    if (s->count == 0)
        oa_text_printf(&out, "Nothing was compared.");
    else if (s->reference < 0)
        oa_text_printf(&out, "No attention finished all its runs: nothing can be compared.");
    else if (s->entries[s->reference].verdict == OA_VERDICT_BEST)
        conclude_best(k, s, &out);
    else if (count_with(s, OA_VERDICT_UNRESOLVED) > 0)
        conclude_unresolved(k, s, &out);
    else if (count_with(s, OA_VERDICT_ONE_SEED) > 0)
        conclude_one_seed(k, s, &out);
    else if (count_with(s, OA_VERDICT_UNJUDGED) + count_with(s, OA_VERDICT_WORSE) +
                 count_with(s, OA_VERDICT_EQUIVALENT) >
             0)
        conclude_lowest(k, s, &out);
    else
        conclude_alone(k, s, &out);
    if (s->reference >= 0) {
        conclude_undercut(k, s, &out);
        conclude_equivalent(k, s, &out);
        conclude_identical(k, s, &out);
        conclude_unjudged(k, s, &out);
        conclude_failures(k, s, &out);
        conclude_baseline(k, s, &out);
        conclude_uniform_baseline(k, s, &out);
        oa_fixed_sources_sentence(k, s, &out);
        oa_tuning_sentence(k, &out);
    }
    conclude_ending(k, s, &out);
    oa_machines_sentence(k, &out);
    return out.s;
}
