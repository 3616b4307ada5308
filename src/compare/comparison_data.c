/* SPDX-License-Identifier: Apache-2.0
 * What is asked of a comparison's data everywhere. */
#include "compare/comparison.h"

#include <math.h>

const char *oa_entry_name(const struct oa_entry *e)
{
    return e->floor ? "uniform baseline" : e->attention;
}

bool oa_run_finished(const struct oa_comparison *k, const struct oa_run *r)
{
    return !r->absent && !r->failed && isfinite(r->valid_loss) && isfinite(oa_run_score(k, r));
}

int oa_runs_made(const struct oa_entry *e, int seeds)
{
    int made = 0;
    while (made < seeds && !e->runs[made].absent)
        made++;
    return made;
}

struct oa_varied *oa_varied_of(const struct oa_vary *v, int entry, enum oa_chance source)
{
    return v->runs + ((size_t)entry * OA_CHANCES + source) * (size_t)v->values;
}

void oa_comparison_free(struct oa_comparison *comparison)
{
    for (int i = 0; i < comparison->count; i++) {
        for (int s = 0; comparison->entries[i].runs && s < comparison->seeds; s++)
            oa_run_free(&comparison->entries[i].runs[s]);
        oa_free(comparison->entries[i].runs);
        oa_free(comparison->entries[i].trials);
        oa_free(comparison->entries[i].parents);
        oa_free(comparison->entries[i].step_seconds);
        oa_free(comparison->entries[i].attention);
    }
    oa_free(comparison->entries);
    oa_free(comparison->vary.runs);
    oa_free(comparison->measures);
    oa_free(comparison->parent);
    oa_free(comparison->options_json);
    oa_free(comparison->machine_json);
    *comparison = (struct oa_comparison){ 0 };
}
