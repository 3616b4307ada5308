/* SPDX-License-Identifier: Apache-2.0
 *
 * Which runs come next in a comparison that adds seeds until its differences are resolved. Each
 * entry has one difference, to what the family compares it with: the baseline, the uniform
 * baseline, or, in a family of all pairs, the entry with the lowest cost. It is unresolved while
 * its anytime-valid interval lies neither within the margin nor outside it. The next runs depend on
 * the finished runs alone.
 *
 * The intervals are those of the family, which in a family of all pairs has every pair: the entry
 * with the lowest cost is found in the same data and may change from round to round, and the
 * verdicts on the others must be valid whichever it is. So with a probability of 95 % all
 * statements at all interim analyses are true, for normal differences. */
#include "report/until.h"

#include <math.h>

bool oa_question_open(const struct oa_summary *s, int entry)
{
    return s->entries[entry].verdict == OA_VERDICT_UNRESOLVED;
}

static bool failed(const struct oa_comparison *k, const struct oa_entry *e, int made)
{
    for (int i = 0; i < made; i++)
        if (!oa_run_finished(k, &e->runs[i]))
            return true;
    return false;
}

/* Of an unresolved comparison: one more seed for the entry that has fewer, or for both. */
static void want_pair(const struct oa_comparison *k, int entry, int fixed, bool *wanted)
{
    int one = oa_runs_made(&k->entries[entry], k->seeds),
        other = oa_runs_made(&k->entries[fixed], k->seeds);
    int both = one < other ? one : other;
    wanted[entry] = wanted[entry] || one == both;
    wanted[fixed] = wanted[fixed] || other == both;
}

/* Seed by seed, as comparisons are made. */
static int collect_wanted_cells(const struct oa_comparison *k, const bool *wanted,
                                struct oa_cell *cells)
{
    int n = 0;
    for (int seed = 0; seed < k->until.most; seed++)
        for (int i = 0; i < k->count; i++)
            if (wanted[i] && oa_runs_made(&k->entries[i], k->seeds) == seed)
                cells[n++] = (struct oa_cell){ .entry = i, .seed = seed };
    return n;
}

enum oa_error oa_until_wanted(oa_context *c, const struct oa_comparison *k,
                              const struct oa_summary *s, struct oa_cell *cells, int *count)
{
    bool *wanted = oa_alloc(c, ((size_t)k->count + 1) * sizeof *wanted);
    if (!wanted)
        return OA_NO_MEMORY;
    int lacking = 0;
    /* every attention gets the least number of seeds, also the uniform baseline, unless a run of it
     * diverged */
    for (int i = 0; i < k->count; i++) {
        int made = oa_runs_made(&k->entries[i], k->seeds);
        wanted[i] = made < k->until.least && !failed(k, &k->entries[i], made);
        lacking += wanted[i];
    }
    for (int i = 0; i < k->count && !lacking; i++)
        if (oa_question_open(s, i))
            want_pair(k, i, oa_compared_to(k, s), wanted);
    *count = collect_wanted_cells(k, wanted, cells);
    oa_free(wanted);
    return OA_OK;
}

enum oa_ending oa_until_ending(const struct oa_comparison *k, const struct oa_summary *s)
{
    for (int i = 0; i < k->count; i++)
        if (oa_question_open(s, i))
            return OA_ENDING_SEEDS;
    return OA_ENDING_RESOLVED;
}

const char *oa_ending_name(enum oa_ending ending)
{
    static const char *const names[] = { [OA_ENDING_NONE] = "",
                                         [OA_ENDING_RESOLVED] = "resolved",
                                         [OA_ENDING_SEEDS] = "seeds used up",
                                         [OA_ENDING_BUDGET] = "budget used up" };
    return names[ending];
}

/* ---- intervals as seeds were added ---- */

int oa_trajectory(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                  double *scratch, struct oa_estimate *out)
{
    int fixed = oa_compared_to(k, s), n = 0;
    if (!k->sequential || fixed < 0 || entry == fixed || s->entries[entry].failed ||
        s->entries[fixed].failed)
        return 0;
    for (int seeds = 2; seeds <= s->seeds; seeds++) {
        struct oa_estimate e = oa_paired(k, entry, fixed, seeds, scratch);
        if (e.n < seeds)
            break; /* one of them has no more */
        e.half = oa_anytime_half(&e, oa_family_level(k) / oa_family_size(k));
        out[n++] = e;
    }
    return n;
}
