/* SPDX-License-Identifier: Apache-2.0
 *
 * Every ranked attention against every other: paired differences over the seeds that both finished,
 * judged as one family, so that 5 % is the chance of any wrong "better" or "worse" among all of
 * them. Nothing in it was chosen from the data, and so it holds for every pair, also for the one
 * with the lowest loss.
 */
#include "report/against.h"
#include "report/summary.h"

#include <math.h>

/* The pairs i < j, row after row. */
static int pairs_fill(const struct oa_comparison *k, const struct oa_summary *s, double *scratch,
                      struct oa_against *family)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        for (int j = i + 1; j < s->count; j++, n++) {
            family[n] = oa_against_nothing();
            if (oa_is_ranked(s, i) && oa_is_ranked(s, j))
                family[n].difference = oa_paired(k, i, j, s->seeds, scratch);
        }
    return n;
}

/* The pairs in the order of `fill`. */
static void check_identical(const struct oa_comparison *k, struct oa_against *family)
{
    for (int i = 0, n = 0; i < k->count; i++)
        for (int j = i + 1; j < k->count; j++, n++)
            oa_check_identical(k, i, j, &family[n]);
}

struct oa_against oa_against_reversed(struct oa_against a)
{
    a.difference.mean = -a.difference.mean;
    if (a.verdict == OA_AGAINST_BETTER || a.verdict == OA_AGAINST_WORSE)
        a.verdict = a.verdict == OA_AGAINST_BETTER ? OA_AGAINST_WORSE : OA_AGAINST_BETTER;
    return a;
}

static void pairs_spread(const struct oa_against *family, int count, struct oa_against *out)
{
    for (int i = 0, n = 0; i < count; i++) {
        out[i * count + i] = oa_against_nothing();
        for (int j = i + 1; j < count; j++, n++) {
            out[i * count + j] = family[n];
            out[j * count + i] = oa_against_reversed(family[n]);
        }
    }
}

int oa_pairs_of(const struct oa_summary *s)
{
    int attentions = s->count - (s->uniform >= 0);
    return attentions * (attentions - 1) / 2;
}

enum oa_error oa_compare_pairs(oa_context *c, const struct oa_comparison *k,
                               const struct oa_summary *s, struct oa_against *out)
{
    size_t most = (size_t)s->count * (size_t)s->count + 1;
    double *scratch = oa_alloc(c, ((size_t)s->seeds + 1) * sizeof *scratch);
    struct oa_against *family = oa_alloc(c, most * sizeof *family);
    if (scratch && family) {
        int n = pairs_fill(k, s, scratch, family);
        if (oa_judge_family(c, family, n, k->margin, k->sequential ? oa_pairs_of(s) : 0) == OA_OK) {
            check_identical(k, family);
            pairs_spread(family, s->count, out);
        }
    }
    oa_free(scratch);
    oa_free(family);
    return oa_status(c);
}
