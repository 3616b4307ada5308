/* SPDX-License-Identifier: Apache-2.0
 * The mean of the weights at the last train.average validations, as the model of the run (Vaswani
 * et al. 2017, section 6.1, average their last checkpoints; Izmailov et al. 2018 explain why it
 * helps). Checkpoints come by the clock, so that their mean would be another one each time;
 * validations are at every multiple of train.eval_every and at the end.
 *
 * Weights at a multiple are in average-STEP.safetensors, with a checksum, written before a
 * checkpoint of that step: those that the mean may need, from the newest step and from each
 * checkpoint that is there. What is learnt by gradients is averaged, in f64 from the oldest step to
 * the newest, and rounded once; what training changes otherwise (features drawn again, kept
 * statistics) is that of the last step, and what is frozen stays. */
#ifndef ORTHANT_TRAIN_AVERAGE_H
#define ORTHANT_TRAIN_AVERAGE_H

#include "train/train.h"

bool oa_average_wanted(const struct oa_options *o); /* of two or more */
int oa_average_count(const struct oa_options *o,
                     long end); /* weights in the mean of a run of so many steps */
/* Refuses options without steps to average at or with another selection of the model, and runs
 * without a folder. */
enum oa_error oa_average_check(oa_context *c, const struct oa_options *o, const char *folder);
/* Checks that a run that was begun with `before` and has done `step` steps can be resumed: the
 * weights of its mean must be in the folder. */
enum oa_error oa_average_accept(oa_context *c, const struct oa_options *o,
                                const struct oa_options *before, long step, const char *folder);
/* After a step: saves its weights if it is a multiple, and removes those that no mean can need any
 * more. */
enum oa_error oa_average_note(const struct oa_model *m, long step, const char *folder);
/* After the last step `end`: the model gets the mean. *count: of so many steps' weights. */
enum oa_error oa_average_take(struct oa_model *m, long end, const char *folder, int *count);
void oa_average_forget(oa_context *c, const char *folder); /* removes all weights */

#endif
