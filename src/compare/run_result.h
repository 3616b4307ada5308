/* SPDX-License-Identifier: Apache-2.0
 *
 * What a comparison keeps of a run in its folder, with a checksum (base/checksum.h), so that it can
 * go on after an interruption:
 *
 *     run.json      at the start: the fingerprint and the machine
 *     result.json   at the end: the fingerprint and everything that was measured
 */
#ifndef ORTHANT_RUN_RESULT_H
#define ORTHANT_RUN_RESULT_H

#include "train/fingerprint.h"

/* Before a run is trained or goes on: writes run.json, or holds the one that is there to the
 * fingerprint. OA_ARGUMENT when checkpoints in the folder belong to another one; where there are
 * none, nothing stands against beginning anew. begun: room for a machine (struct oa_run), the one
 * on which the run was begun. */
enum oa_error oa_run_begin(oa_context *c, const char *folder, json_t *fingerprint,
                           const char *machine, char *begun);
/* run.json, where it is, against the fingerprint; writes nothing. */
enum oa_error oa_run_check_begun(oa_context *c, const char *folder, const json_t *fingerprint);
/* measures: of the run's task. */
enum oa_error oa_run_save(oa_context *c, const char *folder, json_t *fingerprint,
                          const struct oa_measure *measures, const struct oa_run *run);
/* *found: whether there is a result.json, and then it is `run`. Refused by name: a wrong checksum,
 * another fingerprint, numbers that cannot be those of a run with these options, and what lies
 * beside it and tells another story: the log, the pace, the model, run.json; and a result that says
 * nothing of the measure that the options' comparison is about. */
enum oa_error oa_run_load(oa_context *c, const char *folder, const json_t *fingerprint,
                          const struct oa_options *o, const struct oa_task *task,
                          struct oa_run *run, bool *found);
/* Fills run->weights from the model.safetensors of the folder. */
enum oa_error oa_run_weights(oa_context *c, const char *folder, struct oa_run *run);
/* Whether a result or a checkpoint lies in the folder or up to `depth` levels below it. */
bool oa_run_trained(oa_context *c, const char *folder, int depth);

/* run_check.c: whether these can be the numbers of a finished run with these options. `path` is for
 * the sentence. */
enum oa_error oa_run_check(oa_context *c, const char *path, const struct oa_options *o,
                           const struct oa_task *task, const struct oa_run *run);

#endif
