/* SPDX-License-Identifier: Apache-2.0
 *
 * Another comparison that train.init names: runs start from the runs there, each from that of the
 * same attention, by its canonical text, and of the same seed; where there is none of that seed,
 * from the first one there.
 */
#ifndef ORTHANT_INITIAL_RUNS_H
#define ORTHANT_INITIAL_RUNS_H

#include "compare/comparison.h"

/* The folder contains a comparison, and not a run. */
bool oa_is_comparison_folder(const char *folder);
/* Puts the first run of the comparison that o->train_init names in its place: all runs there have
 * one tokenizer. OA_FORMAT when its file was changed, OA_ARGUMENT when it has not ended. */
enum oa_error oa_initial_runs_first(oa_context *c, struct oa_options *o);
/* OA_ARGUMENT when the attention, canonical, has no run there; the message lists those that do and
 * ends with `advice`. */
enum oa_error oa_initial_runs_check(oa_context *c, const char *folder, const char *attention,
                                    const char *advice);
/* All runs of the attention there, by seed, without their models' digests. OA_ARGUMENT as above,
 * and when one of them has not ended or diverged; OA_FORMAT when its result or its model was
 * changed. oa_free(*out), also after an error. */
enum oa_error oa_initial_runs_read(oa_context *c, const char *folder, const char *attention,
                                   const char *advice, struct oa_initial_run **out, int *count);
/* Which of them a run with that seed starts from; NULL: there are none. */
const struct oa_initial_run *oa_initial_run_of(const struct oa_entry *e, long seed);
struct comparison_session;
/* Evaluates the one run that train.init names on the validation data of the comparison, if its
 * tensors are all of a model of the task with the attention that it has; sets t->out->teacher. */
enum oa_error oa_comparison_evaluate_teacher(struct comparison_session *t);
/* Which run starts from which, in a sentence about the first `seeds` runs of each attention, or
 * those of them that were made; nothing where train.init names no comparison. */
void oa_initial_runs_sentence(const struct oa_comparison *k, int seeds, struct oa_text *out);

#endif
