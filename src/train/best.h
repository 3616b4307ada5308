/* SPDX-License-Identifier: Apache-2.0
 * The best of the validations every train.eval_every steps: the model that had it
 * (train.keep_best), and when to stop waiting for a better one (train.patience). Best is the lowest
 * loss, or the best score in the measure that comparisons on the task are about (compare.metric).
 * The model is in best-STEP.safetensors, with a checksum, until the run ends; which one it is
 * is in the checkpoint, so that a resumed run makes the same choice. Files that neither of
 * the two checkpoints names are removed. The best of many scores is better than what the same model
 * reaches on other data. */
#ifndef ORTHANT_TRAIN_BEST_H
#define ORTHANT_TRAIN_BEST_H

#include "train/train.h"

struct oa_best_files {
    const char *folder;
    long saved; /* step of the best model that the newest checkpoint names; 0: none */
};

bool oa_best_wanted(const struct oa_options *o); /* either of the two options */
/* Refuses runs without validations to select by, without a folder, or with a time budget. */
enum oa_error oa_best_check(oa_context *c, const struct oa_options *o, bool validated,
                            const char *folder);
/* Checks that a run that was begun with `before` and has the best model of best->step can be
 * resumed. */
enum oa_error oa_best_accept(oa_context *c, const struct oa_options *o,
                             const struct oa_options *before, const struct oa_best *best,
                             const char *folder);
/* Records a validation. True: its score in the measure is the best so far, by the measure's
 * direction. */
bool oa_best_note(struct oa_best *best, long step, double score, const struct oa_measure *m);
bool oa_best_over(const struct oa_best *best,
                  const struct oa_options *o); /* train.patience is exhausted */

/* Saves the model as that of step best->step. `before`: step of the one it replaces. */
enum oa_error oa_best_save(const struct oa_best_files *f, const struct oa_model *m,
                           const struct oa_tokenizer *tok, const struct oa_best *best, long before);
enum oa_error oa_best_open(const struct oa_best_files *f, const struct oa_model *like,
                           const struct oa_tokenizer *tok, const struct oa_best *best,
                           struct oa_model **out);
/* After a checkpoint: removes all but the models that it and the one before it name. */
void oa_best_settle(oa_context *c, struct oa_best_files *f, const struct oa_best *best);
void oa_best_forget(oa_context *c, const char *folder); /* removes them all */

#endif
