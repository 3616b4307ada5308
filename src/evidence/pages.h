/* SPDX-License-Identifier: Apache-2.0
 * What the pages of evidence share. Private to evidence/. */
#ifndef ORTHANT_EVIDENCE_PAGES_H
#define ORTHANT_EVIDENCE_PAGES_H

#include "evidence/evidence.h"

/* "+0.0123 ±0.0045": of a difference, with a sign; "–" where there is none. */
void oa_add_difference(const struct oa_estimate *e, int decimals, struct oa_text *out);
/* The comparison that a finding is read from, "small", or "small, large"; "" where there are no
 * variants. */
void oa_add_variants(const struct oa_judged *j, const struct oa_finding *f, struct oa_text *out);
struct oa_record_measure oa_finding_measure(const struct oa_judged *j, const struct oa_finding *f);
/* evidence_map.c: the share of the baseline's gain over the uniform baseline that an attention
 * retains, with its 95 % interval; false: it is not bounded, or does not apply. */
bool oa_evidence_share(const json_t *record, const char *attention, struct oa_fieller *out);
/* evidence_tables.c */
void oa_evidence_predictions(const struct oa_judged *j, struct oa_text *out);
void oa_evidence_numbers(const struct oa_judged *j, struct oa_text *out);
void oa_evidence_runs(const struct oa_judged *j,
                      struct oa_text *out); /* what was run: data, shape, budget, seeds */

#endif
