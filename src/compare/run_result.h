/* SPDX-License-Identifier: Apache-2.0
 *
 * What a comparison stores of a run in its folder, with checksums (base/checksum.h), so that it can
 * be resumed after an interruption:
 *
 *     run.json      at the start: the fingerprint and the machine
 *     result.json   at the end: the fingerprint and everything that was measured
 */
#ifndef ORTHANT_RUN_RESULT_H
#define ORTHANT_RUN_RESULT_H

#include "train/fingerprint.h"

/* Before a run is trained or resumed: writes run.json, or checks the one that is there against the
 * fingerprint. OA_ARGUMENT when checkpoints in the folder belong to another run; where there are
 * none, the run begins anew. begun: room for a machine (struct oa_run), the one on which the run
 * was begun. */
enum oa_error oa_run_begin(oa_context *c, const char *folder, json_t *fingerprint,
                           const char *machine, char *begun);
/* Checks run.json, if there is one, against the fingerprint; writes nothing. */
enum oa_error oa_run_check_begun(oa_context *c, const char *folder, const json_t *fingerprint);
/* measures: of the run's task. */
enum oa_error oa_run_save(oa_context *c, const char *folder, json_t *fingerprint,
                          const struct oa_measure *measures, const struct oa_run *run);
/* *found: there is a result.json, and `run` is read from it. Refused by name: a wrong checksum,
 * another fingerprint, numbers that cannot be those of a run with these options, a log, pace, model
 * or run.json in the folder that contradicts it, and a result without the metric of the options. */
enum oa_error oa_run_load(oa_context *c, const char *folder, const json_t *fingerprint,
                          const struct oa_options *o, const struct oa_task *task,
                          struct oa_run *run, bool *found);
/* Fills run->weights from the model.safetensors of the folder. */
enum oa_error oa_run_weights(oa_context *c, const char *folder, struct oa_run *run);
/* A result, a model or a checkpoint is in the folder or up to `depth` levels below it. */
bool oa_run_trained(oa_context *c, const char *folder, int depth);

/* run_check.c: checks that these can be the numbers of a finished run with these options. `path` is
 * for the message. */
enum oa_error oa_run_check(oa_context *c, const char *path, const struct oa_options *o,
                           const struct oa_task *task, const struct oa_run *run);

#endif
