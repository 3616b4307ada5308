/* SPDX-License-Identifier: Apache-2.0
 * What the writer and the reader of results.json share. Private to report/. */
#ifndef ORTHANT_REPORT_RESULTS_H
#define ORTHANT_REPORT_RESULTS_H

#include "report/report.h"

#include <jansson.h>

#define OA_RESULTS_SCHEMA "orthant.results/1"

/* The numbers of a run and of a curve that are written and read alike, in the order of the file. */
#define OA_RUN_NUMBERS(X)                                                                                              \
    X(tokens)                                                                                                          \
    X(valid_loss)                                                                                                      \
    X(valid_tokens)                                                                                                    \
    X(perplexity)                                                                                                      \
    X(bits_per_character)                                                                                              \
    X(bits_per_byte)                                                                                                   \
    X(seconds)                                                                                                         \
    X(processor_seconds)                                                                                               \
    X(seconds_per_step)                                                                                                \
    X(tokens_per_second)                                                                                               \
    X(flops)                                                                                                           \
    X(flops_per_step)                                                                                                  \
    X(peak_memory)
/* Of a trial (contest.h: struct oa_tuning), which has no curve. */
#define OA_TRIAL_NUMBERS(X)                                                                                            \
    X(valid_loss)                                                                                                      \
    X(flops)                                                                                                           \
    X(processor_seconds)                                                                                               \
    X(seconds)
#define OA_CURVE_NUMBERS(X)                                                                                            \
    X(seconds)                                                                                                         \
    X(tokens)                                                                                                          \
    X(train_loss)                                                                                                      \
    X(valid_loss)

/* results_measures.c: of a contest whose task has more measures than the loss. */
void oa_measures_write(const struct oa_contest *k, json_t *root);                        /* "metric", "measures" */
enum oa_error oa_measures_read(oa_context *c, const json_t *root, struct oa_contest *k); /* before the entries */

#endif
