/* SPDX-License-Identifier: Apache-2.0
 * What is asked of each attention: one difference, one interval, one verdict; of chart and table
 * alike. */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/page.h"
#include "report/until.h"

#include <math.h>

static int style_of(enum oa_against_verdict v)
{
    static const enum oa_verdict styles[] = { [OA_AGAINST_NONE] = OA_VERDICT_LOWEST,
                                              [OA_AGAINST_BETTER] = OA_VERDICT_BEST,
                                              [OA_AGAINST_WORSE] = OA_VERDICT_WORSE,
                                              [OA_AGAINST_EQUIVALENT] = OA_VERDICT_EQUIVALENT,
                                              [OA_AGAINST_IDENTICAL] = OA_VERDICT_IDENTICAL,
                                              [OA_AGAINST_UNRESOLVED] = OA_VERDICT_UNRESOLVED,
                                              [OA_AGAINST_UNJUDGED] = OA_VERDICT_UNJUDGED,
                                              [OA_AGAINST_ONE_SEED] = OA_VERDICT_ONE_SEED };
    return (int)styles[v];
}

/* The judged difference of `a`; `sign` -1: reversed. */
static void take_judged(const struct oa_comparison *k, const struct oa_against *a, int sign,
                        struct oa_asked *out)
{
    struct oa_estimate d = oa_against_interval(a);
    d.mean *= sign;
    out->difference = oa_shown(k, d);
    out->level = a->level;
    out->p = a->verdict == OA_AGAINST_EQUIVALENT ? a->equivalence : a->holm;
}

static void find_against_baseline(const struct oa_comparison *k, const struct oa_summary *s,
                                  int entry, struct oa_asked *out)
{
    const struct oa_standing *e = &s->entries[entry];
    if (out->itself) {
        oa_text_printf(&out->verdict, "baseline");
    } else if (entry == s->uniform) {
        take_judged(k, &s->entries[k->baseline - 1].uniform, -1, out);
        oa_add_verdict(k, s, entry, &out->verdict);
    } else if (e->baseline.verdict == OA_AGAINST_NONE) {
        oa_text_printf(&out->verdict, e->failed ? "failed %d of %d" : "not compared", e->failed,
                       e->made);
    } else {
        take_judged(k, &e->baseline, 1, out);
        out->style = style_of(e->baseline.verdict);
        oa_text_printf(&out->verdict, "%s",
                       oa_against_words(e->baseline.verdict, oa_is_practical(k)));
    }
}

void oa_asked_of(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                 struct oa_asked *out, oa_context *c)
{
    const struct oa_standing *e = &s->entries[entry];
    *out = (struct oa_asked){ .difference = oa_estimate_of(NULL, 0),
                              .style = e->verdict,
                              .p = NAN,
                              .level = NAN,
                              .itself = entry == oa_compared_to(k, s) };
    oa_text_init(&out->verdict, c);
    if (k->baseline) {
        find_against_baseline(k, s, entry, out);
        return;
    }
    oa_add_verdict(k, s, entry, &out->verdict);
    out->p = e->holm;
    if (out->itself)
        return;
    out->difference = oa_shown(k, oa_to_reference(k, s, entry));
    out->level = isfinite(out->difference.half) ? e->level : NAN;
}
