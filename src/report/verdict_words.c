/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of verdicts. results.json has words that stay as they are; people read those of the
 * field. Where any number of looks is allowed and a margin is given, better and worse are by more
 * than the margin, and what is neither that nor within it is undecided: its interval may exclude 0.
 */
#include "report/metric_words.h"

static bool by_the_margin(const struct oa_comparison *k)
{
    return k && k->any_looks && k->margin > 0;
}

static const char *lowest_words(const struct oa_comparison *k, char out[OA_VERDICT])
{
    snprintf(out, OA_VERDICT, "%s %s", oa_metric_best(k), oa_metric_word(k));
    return out;
}

const char *oa_verdict_code(const struct oa_comparison *k, enum oa_verdict v, char out[OA_VERDICT])
{
    static const char *const codes[] = { [OA_VERDICT_BEST] = "best",
                                         [OA_VERDICT_WORSE] = "worse",
                                         [OA_VERDICT_UNRESOLVED] = "not resolved",
                                         [OA_VERDICT_ONE_SEED] = "one seed: no interval",
                                         [OA_VERDICT_FAILED] = "failed",
                                         [OA_VERDICT_IDENTICAL] = "identical",
                                         [OA_VERDICT_UNJUDGED] = "cannot be judged",
                                         [OA_VERDICT_FLOOR] = "floor",
                                         [OA_VERDICT_EQUIVALENT] = "as good",
                                         [OA_VERDICT_LEADS] = "leads" };
    return v == OA_VERDICT_LOWEST ? lowest_words(k, out) : codes[v];
}

const char *oa_verdict_says(const struct oa_comparison *k, enum oa_verdict v, char out[OA_VERDICT])
{
    switch (v) {
    case OA_VERDICT_WORSE:
        return by_the_margin(k) ? "practically worse" : "worse";
    case OA_VERDICT_UNRESOLVED:
        return oa_against_says(k, OA_AGAINST_UNRESOLVED);
    case OA_VERDICT_ONE_SEED:
        return "one seed";
    case OA_VERDICT_FLOOR:
        return "uniform baseline";
    case OA_VERDICT_EQUIVALENT:
        return "equivalent";
    default:
        return oa_verdict_code(k, v, out);
    }
}

const char *oa_against_name(enum oa_against_verdict v)
{
    static const char *const names[] = { [OA_AGAINST_NONE] = "",
                                         [OA_AGAINST_BETTER] = "better",
                                         [OA_AGAINST_WORSE] = "worse",
                                         [OA_AGAINST_EQUIVALENT] = "as good",
                                         [OA_AGAINST_IDENTICAL] = "identical",
                                         [OA_AGAINST_UNRESOLVED] = "not resolved",
                                         [OA_AGAINST_UNJUDGED] = "cannot be judged",
                                         [OA_AGAINST_ONE_SEED] = "one seed" };
    return names[v];
}

const char *oa_against_says(const struct oa_comparison *k, enum oa_against_verdict v)
{
    switch (v) {
    case OA_AGAINST_BETTER:
        return by_the_margin(k) ? "practically better" : "better";
    case OA_AGAINST_WORSE:
        return by_the_margin(k) ? "practically worse" : "worse";
    case OA_AGAINST_EQUIVALENT:
        return "equivalent";
    case OA_AGAINST_UNRESOLVED:
        return by_the_margin(k) ? "undecided" : "no significant difference";
    default:
        return oa_against_name(v);
    }
}

/* At any look what is worse may be so than another one than the reference, to which its difference
 * is. */
void oa_add_verdict(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                    struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[entry];
    char says[OA_VERDICT];
    oa_text_printf(out, "%s", oa_verdict_says(k, e->verdict, says));
    if (e->verdict == OA_VERDICT_FAILED)
        oa_text_printf(out, " %d of %d", e->failed, e->made);
    if (e->verdict == OA_VERDICT_WORSE && e->worse_than >= 0 &&
        s->pairs[entry * s->count + s->reference].verdict != OA_AGAINST_WORSE)
        oa_text_printf(out, " than %s", oa_entry_name(&k->entries[e->worse_than]));
}
