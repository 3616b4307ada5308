/* SPDX-License-Identifier: Apache-2.0
 * How an anytime-valid interval went as seeds were added: the intervals that each look saw, made
 * again from the runs.
 */
#include "report/report.h"

#include <math.h>

int oa_comparison_family(const struct oa_comparison *k, const struct oa_summary *s)
{
    return k->baseline ? s->count - (s->floor >= 0) - 1 : oa_pairs_of(s);
}

int oa_compared_to(const struct oa_comparison *k, const struct oa_summary *s)
{
    return k->baseline ? k->baseline - 1 : s->reference;
}

int oa_trajectory(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                  double *scratch, struct oa_estimate *out)
{
    int fixed = oa_compared_to(k, s), n = 0;
    if (!k->any_looks || fixed < 0 || entry == fixed || entry == s->floor ||
        s->entries[entry].failed || s->entries[fixed].failed)
        return 0;
    for (int seeds = 2; seeds <= s->seeds; seeds++) {
        struct oa_estimate e = oa_paired(k, entry, fixed, seeds, scratch);
        if (e.n < seeds)
            break; /* one of them has no more */
        e.half = oa_anytime_half(&e, 0.05 / oa_comparison_family(k, s));
        out[n++] = e;
    }
    return n;
}
