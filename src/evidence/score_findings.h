/* SPDX-License-Identifier: Apache-2.0
 * Differences, shares and rankings of recorded runs. Private to evidence/. */
#ifndef ORTHANT_EVIDENCE_SCORE_FINDINGS_H
#define ORTHANT_EVIDENCE_SCORE_FINDINGS_H

#include "evidence/evidence.h"

/* An attention in a comparison. */
struct oa_recorded {
    const json_t *record;
    int entry;
};
/* Costs of the left one minus those of the right one over the seeds that both have, with the 95 %
 * interval of one comparison; n 0: a run of either failed. */
struct oa_estimate oa_recorded_difference(const struct oa_recorded *left,
                                          const struct oa_recorded *right);
/* The same, judged as one member of the family. */
struct oa_against oa_recorded_against(const struct oa_recorded *left,
                                      const struct oa_recorded *right, const struct oa_family *f);
/* (uniform - entry) / (uniform - whole) with its interval as one member of the family. */
struct oa_fieller oa_recorded_share(const json_t *record, int entry, int whole, int uniform,
                                    const struct oa_family *f);
/* Counts the pairs of the `count` attentions, canonical, which are all in both comparisons.
 * f: the family that the ranking is one member of. */
struct oa_ranking oa_recorded_rankings(const json_t *left, const json_t *right,
                                       char *const *attention, int count, struct oa_family f);

#endif
