/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts as codes in results.json, which never change, and as words for people. In a sequential
 * comparison with a margin, better and worse mean beyond the margin, and a difference that is
 * neither beyond nor within it is undecided: its interval may exclude 0.
 */
#include "report/metric_words.h"

bool oa_is_practical(const struct oa_comparison *k)
{
    return k->sequential && k->margin > 0;
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
                                         [OA_VERDICT_UNIFORM] = "floor",
                                         [OA_VERDICT_EQUIVALENT] = "as good",
                                         [OA_VERDICT_LEADS] = "leads",
                                         [OA_VERDICT_BETTER] = "better",
                                         [OA_VERDICT_FEW_SEEDS] = "estimate only",
                                         [OA_VERDICT_BASELINE] = "baseline",
                                         [OA_VERDICT_NONE] = "not compared" };
    if (v != OA_VERDICT_LOWEST)
        return codes[v];
    snprintf(out, OA_VERDICT, "%s %s", oa_metric_best(k), oa_metric_word(k));
    return out;
}

const char *oa_verdict_words(const struct oa_comparison *k, enum oa_verdict v, char out[OA_VERDICT])
{
    switch (v) {
    case OA_VERDICT_BETTER:
        return oa_against_words(OA_AGAINST_BETTER, oa_is_practical(k));
    case OA_VERDICT_WORSE:
        return oa_against_words(OA_AGAINST_WORSE, oa_is_practical(k));
    case OA_VERDICT_UNRESOLVED:
        return oa_against_words(OA_AGAINST_UNRESOLVED, oa_is_practical(k));
    case OA_VERDICT_ONE_SEED:
        return "one seed";
    case OA_VERDICT_UNIFORM:
        return "uniform baseline";
    case OA_VERDICT_EQUIVALENT:
        return "equivalent";
    case OA_VERDICT_UNJUDGED:
        return "not testable";
    default:
        return oa_verdict_code(k, v, out);
    }
}

const char *oa_against_code(enum oa_against_verdict v)
{
    static const char *const names[] = { [OA_AGAINST_NONE] = "",
                                         [OA_AGAINST_BETTER] = "better",
                                         [OA_AGAINST_WORSE] = "worse",
                                         [OA_AGAINST_EQUIVALENT] = "as good",
                                         [OA_AGAINST_IDENTICAL] = "identical",
                                         [OA_AGAINST_UNRESOLVED] = "not resolved",
                                         [OA_AGAINST_UNJUDGED] = "cannot be judged",
                                         [OA_AGAINST_ONE_SEED] = "one seed",
                                         [OA_AGAINST_FEW_SEEDS] = "estimate only" };
    return names[v];
}

const char *oa_against_words(enum oa_against_verdict v, bool practical)
{
    switch (v) {
    case OA_AGAINST_BETTER:
        return practical ? "practically better" : "better";
    case OA_AGAINST_WORSE:
        return practical ? "practically worse" : "worse";
    case OA_AGAINST_EQUIVALENT:
        return "equivalent";
    case OA_AGAINST_UNRESOLVED:
        return practical ? "undecided" : "no significant difference";
    case OA_AGAINST_UNJUDGED:
        return "not testable";
    default:
        return oa_against_code(v);
    }
}

/* In a family of all pairs an attention may be worse than another one than the reference, to which
 * its difference is. */
void oa_add_verdict(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                    struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[entry];
    char words[OA_VERDICT];
    oa_text_printf(out, "%s", oa_verdict_words(k, e->verdict, words));
    if (e->verdict == OA_VERDICT_FAILED)
        oa_text_printf(out, " %d of %d", e->failed, e->made);
    if (e->verdict == OA_VERDICT_WORSE && e->worse_than >= 0 &&
        s->pairs[entry * s->count + s->reference].verdict != OA_AGAINST_WORSE)
        oa_text_printf(out, " than %s", oa_entry_name(&k->entries[e->worse_than]));
}
