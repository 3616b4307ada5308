/* SPDX-License-Identifier: Apache-2.0
 *
 * train: from options and text to a trained model. Read trainer.c first: it is the life of a training step.
 *
 *     oa_workload (tokenizer + corpus)  ──>  oa_train_run (one run)  ──>  struct oa_run
 *                                       ──>  oa_contest_run (N attentions × S seeds)  ──>  struct oa_contest
 *     oa_plan_make: the same step on the plan device, before anything runs
 */
#ifndef ORTHANT_TRAIN_H
#define ORTHANT_TRAIN_H

#include "data/data.h"
#include "model/model.h"
#include "train/contest.h"

/* What runs of a contest share: tokenizer and token ids. */
struct oa_workload {
    struct oa_tokenizer *tokenizer;
    struct oa_corpus corpus;
};
enum oa_error oa_workload_open(oa_context *c, const struct oa_options *o, struct oa_workload *out);
void oa_workload_close(struct oa_workload *w);

/* Learning rate of step 1, 2, …: linear warm-up to lr, then the schedule; min_lr is a share of lr. */
double oa_learning_rate(const struct oa_options *o, long step);

/* One optimiser step on the gradients in the store; gradient_scale is the factor of clipping. */
void oa_optimizer_step(struct oa_store *s, const struct oa_options *o, long step, double gradient_scale);

/* Mean loss (nats a token), perplexity and bits over windows that cover a text (data.h: oa_batches_cover). */
enum oa_error oa_evaluate_tokens(oa_tape *t, struct oa_model *m, struct oa_batches *batches,
                                 const struct oa_cover *cover, struct oa_run *out);

struct oa_train_request {
    const struct oa_options *options;
    const struct oa_workload *workload;
    const char *folder; /* receives model.safetensors, config.json, tokenizer.json, log.jsonl; NULL = nothing is kept */
    bool resume;        /* go on from the newest good checkpoint in the folder, if there is one */
    bool keep;          /* keep the last checkpoint after the end (to go on with more steps) */
    const char *title;  /* for progress lines */
    long run, runs;     /* "run 3 of 18" in progress lines; 0 = a single run */
};
/* Trains. Stops with OA_INTERRUPTED after saving when a signal asked for it, with OA_DIVERGED when a number is not
 * finite (step, tensor and batch are named). out->curve belongs to the caller (oa_run_free). */
enum oa_error oa_train_run(oa_context *c, const struct oa_train_request *r, struct oa_run *out);
void oa_run_free(struct oa_run *run);

/* What a run will cost, from one step on the plan device. */
struct oa_plan {
    long vocabulary;          /* rows of the embedding */
    double trainable, frozen; /* parameters */
    double flops, bytes;      /* of one optimiser step */
    double computed;          /* FLOPs with the invisible pairs of tiles */
    double tokens;            /* of one step */
    /* Bytes: the store (values, gradients, moments), activations with their gradients, and the device's scratch. */
    double memory_parameters, memory_activations, memory_scratch;
};
enum oa_error oa_plan_make(oa_context *c, const struct oa_options *o, long vocabulary, struct oa_plan *out);

struct oa_contest_request {
    const struct oa_options *options; /* compare.seeds, compare.equal and all the rest */
    const char *const *attentions;
    int count;
    const char *folder; /* runs/NAME/seed-N/ below it; a contest that was interrupted goes on where it was */
};
enum oa_error oa_contest_run(oa_context *c, const struct oa_contest_request *r, struct oa_contest *out);

/* run_result.c: a finished run as JSON, and back. */
enum oa_error oa_run_save(oa_context *c, const struct oa_run *run, const char *path);
enum oa_error oa_run_load(oa_context *c, struct oa_run *run, const char *path);

/* run_folder.c: files of a run. */
enum { OA_PATH = 4096 };
enum oa_error oa_path(oa_context *c, char out[OA_PATH], const char *folder, const char *name);
/* The newest checkpoint that loads; notices about those that do not. *found is false when there is none at all. */
enum oa_error oa_folder_resume(struct oa_model *m, struct oa_progress *p, const char *folder, bool *found);
/* Saves checkpoint-STEP.safetensors and removes all but the two newest. */
enum oa_error oa_folder_checkpoint(const struct oa_model *m, const struct oa_progress *p, const char *folder);
void oa_folder_forget(oa_context *c, const char *folder); /* removes every checkpoint */

/* run_log.c: log.jsonl and the loss curve. */
struct oa_log_line {
    long step;
    double loss, valid_loss, lr, gradient_norm, seconds, tokens; /* valid_loss NaN: none */
};
enum oa_error oa_curve_reserve(oa_context *c, struct oa_run *run, int capacity); /* room for so many points */
enum oa_error oa_log_add(oa_context *c, const char *folder, const struct oa_log_line *line, struct oa_run *run);
/* Reads the log back up to `step`, rewrites it without what came later, and fills the curve. */
enum oa_error oa_log_rewind(oa_context *c, const char *folder, long step, struct oa_run *run);

#endif
