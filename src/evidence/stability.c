/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest value on an axis up to which training works, such as the largest learning rate that
 * does not diverge. A run works when it did not fail and did not end worse than the run of the same
 * seed at the first value: with clipped gradients losses stay finite long after a model has stopped
 * learning. Each seed has a limit: the last value before the first one at which its run does not
 * work.
 *
 * Two attentions are compared seed by seed. They are equally stable when every seed has the same
 * limit for both; they are not when the sign test over the seeds with different limits is
 * significant at 5 %, for which six seeds are needed. Where a run fails at the first value, or all
 * work at all values, the axis does not contain the limits, and nothing was tested.
 */
#include "evidence/stability.h"

#include <math.h>

/* NaN: it failed, or there is none. */
static double cost_with_seed(const json_t *record, const char *attention, json_int_t seed)
{
    int entry = oa_record_entry(record, attention);
    for (int r = 0; r < oa_record_runs(record, entry); r++) {
        json_int_t of;
        double score = oa_record_run(record, entry, r, &of);
        if (of == seed)
            return oa_record_measure_of(record).higher ? -score : score;
    }
    return NAN;
}

/* How many values, from the first on, work with a seed. */
static int limit_of(const struct oa_judged *j, const char *attention, json_int_t seed)
{
    double first = cost_with_seed(j->record[0], attention, seed);
    int v = 0;
    while (v < j->experiment->variant_count &&
           cost_with_seed(j->record[v], attention, seed) <= first) /* false for NaN */
        v++;
    return v;
}

struct oa_stability oa_recorded_stability(const struct oa_judged *j, const char *left,
                                          const char *right)
{
    struct oa_stability s = { .left_limit = NAN, .right_limit = NAN };
    int entry = oa_record_entry(j->record[0], left), most = j->experiment->variant_count,
        least_left = most, least_right = most;
    s.seeds = oa_record_runs(j->record[0], entry);
    for (int r = 0; r < s.seeds; r++) {
        json_int_t seed;
        oa_record_run(j->record[0], entry, r, &seed);
        int a = limit_of(j, left, seed), b = limit_of(j, right, seed);
        s.left_larger += a > b;
        s.right_larger += b > a;
        s.unlimited += a == most && b == most;
        least_left = a < least_left ? a : least_left;
        least_right = b < least_right ? b : least_right;
    }
    const struct oa_variant *v = j->experiment->variants;
    s.left_limit = least_left > 0 ? v[least_left - 1].at : NAN;
    s.right_limit = least_right > 0 ? v[least_right - 1].at : NAN;
    return s;
}

/* Two-sided sign test: the probability that so many or more of n fair signs are alike. */
static double sign_test(int a, int b)
{
    int n = a + b, least = a < b ? a : b;
    double term = pow(0.5, n), sum = 0;
    for (int k = 0; k <= least; k++) {
        sum += term;
        term *= (double)(n - k) / (k + 1);
    }
    return fmin(1, 2 * sum);
}

enum oa_claim_verdict oa_stability_verdict(const struct oa_stability *s)
{
    if (s->seeds < 2 || s->unlimited == s->seeds || isnan(s->left_limit) || isnan(s->right_limit))
        return OA_CLAIM_UNTESTABLE;
    if (s->left_larger + s->right_larger == 0)
        return OA_CLAIM_HOLDS;
    return sign_test(s->left_larger, s->right_larger) < 0.05 ? OA_CLAIM_FAILS
                                                             : OA_CLAIM_INCONCLUSIVE;
}
