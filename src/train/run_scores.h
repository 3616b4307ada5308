/* SPDX-License-Identifier: Apache-2.0
 * Scores of a run in the measures of its task, with breakdowns and examples, as JSON and back: in
 * result.json of a run and results.json of a comparison. */
#ifndef ORTHANT_RUN_SCORES_H
#define ORTHANT_RUN_SCORES_H

#include "train/run.h"

#include <jansson.h>

/* {"accuracy": 81.25, …}: the measures after the loss; null where not measured. */
json_t *oa_run_scores_json(const struct oa_measure *measures, const double scores[OA_MEASURES]);
/* What is missing was not measured; what is there and no number is none. */
void oa_run_scores_read(const struct oa_measure *measures, const json_t *object,
                        double scores[OA_MEASURES]);
/* {"tokens": 9000, "loss": 1.5, …, "scores": {…}}; null and back: there was no test. */
json_t *oa_run_test_json(const struct oa_measure *measures, const struct oa_tested *test);
void oa_run_test_read(const struct oa_measure *measures, const json_t *object,
                      struct oa_tested *out);
/* Adds "breakdown" and "examples" to the object of a run where there are any. */
void oa_parts_write(const struct oa_run *run, json_t *object);
/* OA_FORMAT, with `path` in the sentence, for what no run writes. They are the run's (oa_run_free),
 * also then. */
enum oa_error oa_parts_read(oa_context *c, const char *path, const json_t *object,
                            struct oa_run *run);

#endif
