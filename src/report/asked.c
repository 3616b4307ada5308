/* SPDX-License-Identifier: Apache-2.0
 * Of each attention the difference, interval and verdict that charts and tables show. */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/page.h"

#include <math.h>

void oa_asked_of(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                 struct oa_asked *out, oa_context *c)
{
    int fixed = oa_compared_to(k, s);
    *out = (struct oa_asked){ .difference = oa_estimate_of(NULL, 0),
                              .style = s->entries[entry].verdict,
                              .p = NAN,
                              .level = NAN,
                              .itself = entry == fixed };
    oa_text_init(&out->verdict, c);
    oa_add_verdict(k, s, entry, &out->verdict);
    if (out->itself || fixed < 0 || s->entries[entry].failed || s->entries[fixed].failed)
        return;
    const struct oa_against *a = oa_compared_pair(s, entry, fixed);
    bool pairs = oa_family_kind_of(k) == OA_FAMILY_PAIRS;
    out->difference = oa_shown(k, pairs ? oa_to_reference(k, s, entry) : oa_against_interval(a));
    out->p = a->verdict == OA_AGAINST_EQUIVALENT ? a->equivalence : a->adjusted;
    out->level = isfinite(out->difference.half) ? a->level : NAN;
}
