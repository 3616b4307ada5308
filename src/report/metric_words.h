/* SPDX-License-Identifier: Apache-2.0
 *
 * Where costs become what people read. Statistics compare costs, of which lower is better
 * (compare/comparison.h: oa_cost); reports show scores in the unit and the direction of the measure
 * that the comparison is about, and name both. Nothing else in report/ asks which direction that
 * is. Private to report/, but for its tests.
 */
#ifndef ORTHANT_REPORT_METRIC_WORDS_H
#define ORTHANT_REPORT_METRIC_WORDS_H

#include "print/print.h"
#include "report/summary.h"

/* A difference of costs as the difference of scores: the mean negated where higher is better, the
 * width the same. */
struct oa_estimate oa_shown(const struct oa_comparison *k, struct oa_estimate cost);

bool oa_about_loss(const struct oa_comparison *k);
const char *
oa_metric_word(const struct oa_comparison *k); /* within a sentence: "loss", "accuracy" */
const char *oa_metric_long(
    const struct oa_comparison *k); /* at the head of something: "validation loss", "accuracy" */
const char *oa_metric_best(const struct oa_comparison *k);   /* "lowest", "highest" */
const char *oa_metric_better(const struct oa_comparison *k); /* "lower", "higher" */
int oa_decimals(const struct oa_comparison *k);

/* Of a difference: "nats a token"; "% points" where scores are in %. */
const char *oa_difference_unit(const struct oa_comparison *k);
void oa_add_unit(const char *unit, struct oa_text *out); /* " nats a token"; nothing for "" */
void oa_add_margin(const struct oa_comparison *k, struct oa_text *out); /* "0.01 nats a token" */

enum { OA_LABEL = 128 };
const char *oa_unit(const struct oa_measure *m,
                    char out[OA_LABEL]); /* "nats/token"; "" where the title has it */
/* "valid loss\nnats/token": two lines of a heading, or one where the unit is in the title. */
const char *oa_heading(const struct oa_measure *m, const char *title, char out[OA_LABEL]);
/* "validation loss, nats/token": an axis. */
const char *oa_axis_of(const struct oa_measure *m, const char *what, char out[OA_LABEL]);
const char *oa_axis_of_difference(const struct oa_comparison *k,
                                  char out[OA_LABEL]); /* "difference, nats/token" */
/* What differences are to: "lowest", "highest", or "leader", where another one has a lower adjusted
 * cost. */
const char *oa_best_word(const struct oa_comparison *k, const struct oa_summary *s);
/* "difference\nto the baseline", "… lowest": of the declared family. */
const char *oa_to_the_compared(const struct oa_comparison *k, const struct oa_summary *s,
                               char out[OA_LABEL]);
/* "difference\nto the lowest" */
const char *oa_to_the_best(const struct oa_comparison *k, const struct oa_summary *s,
                           char out[OA_LABEL]);

#endif
