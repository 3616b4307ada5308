/* SPDX-License-Identifier: Apache-2.0
 * What a contest says, in one to three sentences, made from the verdicts alone. */
#include "report/report.h"

#include <math.h>
#include <string.h>

enum { NAMED = 3 }; /* so many attentions are named; of more only the number is given */

/* ---- lists ---- */

static int count_with(const struct oa_summary *s, enum oa_verdict v)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += s->entries[i].verdict == v;
    return n;
}

/* "a", "a and b", "a, b and c", "a, b, c and 4 others": the attentions with this verdict, by rising loss. */
static void add_names(const struct oa_contest *k, const struct oa_summary *s, enum oa_verdict v, struct oa_text *out)
{
    int total = count_with(s, v), shown = 0;
    for (int i = 0; i < s->count && shown < NAMED; i++) {
        if (s->entries[s->order[i]].verdict != v)
            continue;
        const char *between = shown == 0 ? "" : shown + 1 == total ? " and " : ", ";
        oa_text_printf(out, "%s%s", between, k->entries[s->order[i]].attention);
        shown++;
    }
    if (total > shown)
        oa_text_printf(out, " and %d other%s", total - shown, total - shown == 1 ? "" : "s");
}

static void add_nats(double x, struct oa_text *out)
{
    char number[OA_NUMBER];
    oa_text_printf(out, "%s", oa_number(number, x, 2));
}

/* ---- sentences ---- */

/* ", by 0.05 nats a token" or ", by 0.05 to 0.3 nats a token". */
static void add_margin(const struct oa_summary *s, struct oa_text *out)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < s->count; i++)
        if (s->entries[i].verdict == OA_VERDICT_WORSE) {
            least = fmin(least, s->entries[i].difference.mean);
            most = fmax(most, s->entries[i].difference.mean);
        }
    oa_text_printf(out, ", by ");
    add_nats(least, out);
    if (most > least) {
        oa_text_printf(out, " to ");
        add_nats(most, out);
    }
    oa_text_printf(out, " nats a token (Holm-corrected p < 0.05)");
}

static void say_best(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    int worse = count_with(s, OA_VERDICT_WORSE);
    oa_text_printf(out, "%s is best: ", k->entries[s->reference].attention);
    if (worse <= NAMED)
        add_names(k, s, OA_VERDICT_WORSE, out);
    else
        oa_text_printf(out, "every other attention");
    oa_text_printf(out, worse == 1 || worse > NAMED ? " is worse" : " are worse");
    add_margin(s, out);
    oa_text_printf(out, ".");
}

/* The unresolved entry that the fewest more seeds would resolve. */
static int nearest_to_resolved(const struct oa_summary *s)
{
    int nearest = -1;
    for (int i = 0; i < s->count; i++) {
        bool open = s->entries[s->order[i]].verdict == OA_VERDICT_UNRESOLVED;
        if (open && (nearest < 0 || s->entries[s->order[i]].seeds_needed < s->entries[nearest].seeds_needed))
            nearest = s->order[i];
    }
    return nearest;
}

static void add_seeds_needed(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    int nearest = nearest_to_resolved(s), seeds = s->entries[nearest].seeds_needed;
    if (seeds > OA_SEEDS_CAP)
        oa_text_printf(out, "; not even %d seeds would", OA_SEEDS_CAP);
    else if (count_with(s, OA_VERDICT_UNRESOLVED) == 1)
        oa_text_printf(out, "; about %d seeds would", seeds);
    else
        oa_text_printf(out, "; about %d seeds would resolve %s", seeds, k->entries[nearest].attention);
}

static void say_unresolved(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    int worse = count_with(s, OA_VERDICT_WORSE);
    oa_text_printf(out, "%s has the lowest loss, but ", k->entries[s->reference].attention);
    add_names(k, s, OA_VERDICT_UNRESOLVED, out);
    oa_text_printf(out, " cannot be told from it with %d seeds", s->seeds);
    add_seeds_needed(k, s, out);
    oa_text_printf(out, ".");
    if (worse == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_WORSE, out);
    oa_text_printf(out, worse == 1 ? " is worse" : " are worse");
    add_margin(s, out);
    oa_text_printf(out, ".");
}

static void say_one_seed(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_text_printf(out,
                   "%s has the lowest loss, but one seed cannot tell quality from luck: no verdict. "
                   "Three seeds are the least that give an interval worth reading.",
                   k->entries[s->reference].attention);
}

static void say_alone(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    char number[OA_NUMBER];
    const struct oa_standing *e = &s->entries[s->reference];
    oa_text_printf(out, "%s reached a validation loss of %s nats a token; there is nothing to compare it with.",
                   k->entries[s->reference].attention, oa_number(number, e->loss.mean, 5));
}

static void say_failures(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    if (count_with(s, OA_VERDICT_FAILED) == 0)
        return;
    oa_text_printf(out, " ");
    add_names(k, s, OA_VERDICT_FAILED, out);
    oa_text_printf(out, " did not finish every run and cannot be judged.");
}

char *oa_conclusion(oa_context *c, const struct oa_contest *k, const struct oa_summary *s)
{
    struct oa_text out;
    oa_text_init(&out, c);
    if (s->count == 0)
        oa_text_printf(&out, "Nothing was compared.");
    else if (s->reference < 0)
        oa_text_printf(&out, "No attention finished all its runs: nothing can be compared.");
    else if (s->entries[s->reference].verdict == OA_VERDICT_BEST)
        say_best(k, s, &out);
    else if (count_with(s, OA_VERDICT_UNRESOLVED) > 0)
        say_unresolved(k, s, &out);
    else if (count_with(s, OA_VERDICT_ONE_SEED) > 0)
        say_one_seed(k, s, &out);
    else
        say_alone(k, s, &out);
    if (s->reference >= 0)
        say_failures(k, s, &out);
    return out.s;
}
