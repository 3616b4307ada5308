/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the spread of scores comes from: statistics over the runs in which one source of chance
 * varied alone (compare/vary.c). Private to report/, but for its tests.
 */
#ifndef ORTHANT_REPORT_VARIANCE_H
#define ORTHANT_REPORT_VARIANCE_H

#include "print/print.h"
#include "report/summary.h"

#include <jansson.h>

/* A standard deviation with its 95 % interval. */
struct oa_spread {
    int n;                          /* values; 0: not known */
    double variance, sd, low, high; /* NaN when n < 2 */
    double share;                   /* of the sum of variances; NaN: not known */
};
struct oa_spread oa_spread_of(const double *x, int n); /* share NaN */

/* Of one attention, or of all (pooled). */
struct oa_variances {
    struct oa_spread
        source[OA_CHANCES]; /* each alone; n 0: not varied; idle ones have a variance of 0 */
    struct oa_spread
        together; /* the comparison's own runs: init, order and dropout vary, the split does not */
    double
        sum; /* of the variances of init, order and dropout, NaN where one of them is not known */
    double ratio; /* sum / together.variance: 1 where nothing interacts, up to sampling error */
};
/* Of an entry: all NaN where one of the runs it needs failed. Nothing was varied, or the uniform
 * baseline: false. */
bool oa_variances_of(const struct oa_comparison *k, int entry, struct oa_variances *out);
/* The means of the variances of the entries that have all of them. Runs of several attentions share
 * seeds, so that their variances are no independent ones: the interval is as wide as that of one.
 * false: there is none. */
bool oa_variances_pooled(const struct oa_comparison *k, struct oa_variances *out);

/* Whether the source was varied, or has variance 0 because it has no effect. */
bool oa_variance_known(const struct oa_vary *v, enum oa_chance source);

/* variance_json.c: the member "vary" of results.json; NULL where nothing was varied. */
json_t *oa_variances_json(const struct oa_comparison *k);

/* variance_section.c */
void oa_variances_table(const struct oa_comparison *k, int limit, struct oa_text *out);
void oa_variances_markdown(const struct oa_comparison *k, struct oa_text *out);

#endif
