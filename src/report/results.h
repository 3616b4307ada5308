/* SPDX-License-Identifier: Apache-2.0
 * What the writer of results.json shares with the reader of the tests. Private to report/. */
#ifndef ORTHANT_REPORT_RESULTS_H
#define ORTHANT_REPORT_RESULTS_H

#include "print/print.h"
#include "report/summary.h"

#include <jansson.h>

#define OA_RESULTS_SCHEMA "orthant.results/2"

/* The numbers of a run and of a curve that are written and read alike, in the order of the file. */
#define OA_RUN_NUMBERS(X)                                                                          \
    X(tokens)                                                                                      \
    X(valid_loss)                                                                                  \
    X(valid_tokens)                                                                                \
    X(perplexity)                                                                                  \
    X(bits_per_character)                                                                          \
    X(bits_per_byte)                                                                               \
    X(seconds)                                                                                     \
    X(processor_seconds)                                                                           \
    X(seconds_per_step)                                                                            \
    X(tokens_per_second)                                                                           \
    X(flops)                                                                                       \
    X(flops_per_step)                                                                              \
    X(peak_memory)
/* Of a trial (comparison.h: struct oa_tuning), which has no curve. */
#define OA_TRIAL_NUMBERS(X)                                                                        \
    X(valid_loss)                                                                                  \
    X(flops)                                                                                       \
    X(processor_seconds)                                                                           \
    X(seconds)
#define OA_CURVE_NUMBERS(X)                                                                        \
    X(seconds)                                                                                     \
    X(tokens)                                                                                      \
    X(train_loss)                                                                                  \
    X(valid_loss)

/* results_tuning.c: the members "tuning" of the comparison and "trials" of an entry; null where
 * nothing was tuned. */
json_t *oa_results_tuning(oa_context *c, const struct oa_comparison *k);
json_t *oa_results_trials(oa_context *c, const struct oa_comparison *k, int entry);
/* results_write.c: an interval cost->mean ± half, in the direction of the score, and its confidence
 * 1 - level; null where half is NaN. */
json_t *oa_interval_json(oa_context *c, const struct oa_comparison *k,
                         const struct oa_estimate *cost, double half, double level);
/* results_measures.c: "metric" and "measures", where the task has more of these than the loss. */
void oa_results_measures(const struct oa_comparison *k, json_t *root);

#endif
