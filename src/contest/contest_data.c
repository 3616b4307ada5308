/* SPDX-License-Identifier: Apache-2.0
 * What is asked of a contest's data everywhere. */
#include "contest/contest.h"

#include <math.h>

const char *oa_entry_name(const struct oa_entry *e)
{
    return e->floor ? "uniform baseline" : e->attention;
}

bool oa_run_finished(const struct oa_contest *k, const struct oa_run *r)
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

void oa_contest_free(struct oa_contest *contest)
{
    for (int i = 0; i < contest->count; i++) {
        for (int s = 0; contest->entries[i].runs && s < contest->seeds; s++)
            oa_run_free(&contest->entries[i].runs[s]);
        oa_free(contest->entries[i].runs);
        oa_free(contest->entries[i].trials);
        oa_free(contest->entries[i].parents);
        oa_free(contest->entries[i].step_seconds);
        oa_free(contest->entries[i].attention);
    }
    oa_free(contest->entries);
    oa_free(contest->vary.runs);
    oa_free(contest->measures);
    oa_free(contest->parent);
    oa_free(contest->options_json);
    oa_free(contest->machine_json);
    *contest = (struct oa_contest){ 0 };
}
