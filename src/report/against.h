/* SPDX-License-Identifier: Apache-2.0
 * The family of comparisons that a report judges, and what it describes. */
#ifndef ORTHANT_REPORT_AGAINST_H
#define ORTHANT_REPORT_AGAINST_H

#include "compare/comparison.h"
#include "statistics/family.h"

struct oa_summary;

/* The declared family; never OA_FAMILY_AUTO. */
enum oa_family_kind oa_family_kind_of(const struct oa_comparison *k);
/* "baseline", "uniform", "pairs": the words of compare.family. */
const char *oa_family_name(enum oa_family_kind kind);
double oa_family_level(const struct oa_comparison *k);
/* 0.05 as "5 %". */
struct oa_number_text oa_percent_text(double share);
/* The comparisons that share the level: as many as were declared, whatever failed. */
int oa_family_size(const struct oa_comparison *k);
bool oa_in_family(const struct oa_comparison *k, int a, int b);
/* What every entry is compared with in tables and charts: the baseline, the uniform baseline, or,
 * in a family of all pairs, the reference. -1: nothing. */
int oa_compared_to(const struct oa_comparison *k, const struct oa_summary *s);
/* out [entries][entries]: the row's cost minus the column's. Those of the family are judged; of the
 * others, and where a run of either failed, there is only the difference. */
enum oa_error oa_compare_all(oa_context *c, const struct oa_comparison *k,
                             const struct oa_summary *s, struct oa_against *out);
/* The row against the column. */
const struct oa_against *oa_compared_pair(const struct oa_summary *s, int a, int b);

#endif
