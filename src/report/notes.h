/* SPDX-License-Identifier: Apache-2.0
 * Sentences of a report about what was run. */
#ifndef ORTHANT_REPORT_NOTES_H
#define ORTHANT_REPORT_NOTES_H

#include "report/summary.h"

/* What the runs had equal: "number of training tokens", … */
const char *oa_budget_name(enum oa_equal equal);
/* "12–60", "12 or more" (the upper end is beyond OA_SEEDS_CAP), "more than 1000". */
void oa_seeds_text(struct oa_seeds_range range, struct oa_text *out);
double oa_validation_used(const struct oa_comparison
                              *k); /* tokens that the final losses are means over; NaN: no losses */
const char *
oa_validation_unit(const struct oa_comparison *k); /* "validation tokens", "validation examples" */
/* "all 111539 tokens of the validation text that have one before them", "20000 of the 111539 tokens
 * …". */
void oa_validation_text(const struct oa_comparison *k, double used, struct oa_text *out);
/* "Judged: 3 comparisons with the baseline, softmax, …", and what these seeds can show. */
void oa_family_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out);
/* " (--seeds 5)", the least for a verdict; nothing where runs are imported. */
void oa_add_seeds_option(const struct oa_comparison *k, struct oa_text *out);
/* "3 seeds", "3 to 12 seeds": how many there are of each. */
void oa_add_seeds(const struct oa_comparison *k, const struct oa_summary *s, bool with_uniform,
                  struct oa_text *out);
/* " Fixed for all seeds: …" of a source of chance with a seed of its own, and which
 * runs of another comparison the runs start from; nothing where neither is. */
void oa_fixed_sources_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                               struct oa_text *out);
/* " The runs were trained on 2 machines: …"; nothing where one trained them all. */
void oa_machines_sentence(const struct oa_comparison *k, struct oa_text *out);
void oa_validation_sentence(const struct oa_comparison *k,
                            struct oa_text *out); /* " Losses are measured on …"; none: nothing */
/* A line about the widths of feed-forward layers, where --equal params made them differ. */
void oa_report_widths(const struct oa_comparison *k, struct oa_text *out);
/* A line for each attention that has no weights for the comparison's attention dropout to drop;
 * nothing when it is 0. */
void oa_report_dropout(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out);

#endif
