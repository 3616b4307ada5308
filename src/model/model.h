/* SPDX-License-Identifier: Apache-2.0
 *
 * model: the decoder-only Transformer language model, and its files.
 *
 *     ids → embedding (+ position) → decoder (stack.h) → tied output
 *
 * One embedding for input and output (Press & Wolf 2017). Parameter names: embedding.weight, position.weight,
 * rotary.cosine, rotary.sine, and those of the stack.
 */
#ifndef ORTHANT_MODEL_H
#define ORTHANT_MODEL_H

#include "data/data.h"
#include "model/stack.h"

/* Deviation of the first values of embeddings and learned positions (GPT-2). */
#define OA_EMBEDDING_DEVIATION 0.02

/* positions.c: model.position. All NULL: the model has none. */
struct oa_positions {
    struct oa_parameter *table;         /* [N, D], added to the embeddings */
    struct oa_parameter *cosine, *sine; /* rotary angles [N, K/2] */
};
enum oa_error oa_positions_open(oa_context *c, const struct oa_options *o, struct oa_store *s,
                                struct oa_positions *out);

struct oa_model {
    oa_context *context;
    struct oa_device *device;  /* borrowed */
    struct oa_options options; /* model.* describe it */
    struct oa_spec spec;
    struct oa_store store;
    struct oa_stack decoder;
    long vocabulary; /* rows of the embedding */
    struct oa_parameter *embedding;
    struct oa_positions positions;
};

/* A model with first values from the seed of OA_CHANCE_INIT; `training` makes room for gradients and moments.
 * vocabulary: ids of the tokenizer; the embedding has that many rows, or options.model_vocabulary when that is more
 * (less is refused). On the plan device nothing is computed and only sizes are right. */
enum oa_error oa_model_open(struct oa_device *d, const struct oa_options *options, long vocabulary, bool training,
                            struct oa_model **out);
/* The same without values: what parameters there are, and their shapes. */
enum oa_error oa_model_describe(struct oa_device *d, const struct oa_options *options, long vocabulary,
                                struct oa_model **out);
void oa_model_close(struct oa_model *m);
/* Sum of −log p(target) over the batch's targets, in nats. When the tape records, the gradient of scale times it flows
 * to the output layer, and oa_tape_backward does the rest. */
double oa_model_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch, double scale);
/* Hidden states [rows·length, D] after the last norm. state: of a single row that goes on; NULL: rows are whole. */
oa_tensor *oa_model_hidden(oa_tape *t, struct oa_model *m, const int32_t *ids, long rows, long length,
                           const struct oa_stack_state *state);

/* ---- what it expects (scoring.c) ---- */

/* Log-odds of the next token after each of `rows` rows of hidden states from `first` on: real [rows, vocabulary], in
 * the tape's memory until it is reset. NULL after a failure. */
const void *oa_model_logits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden, long first, long rows);
/* nats [n - 1]: −log p of each token but the first, in windows of the context end to end, as validation has them. The
 * tape is used up. OA_INTERRUPTED when a stop was asked for. */
enum oa_error oa_model_score(oa_tape *t, struct oa_model *m, const int32_t *ids, long n, double *nats);

/* ---- reading on, token by token (decoding.c) ---- */

struct oa_decoding {
    struct oa_model *model; /* borrowed; must outlive this */
    struct oa_stack_state state;
    oa_tape tape; /* of one call */
    long tokens;  /* in the states */
    long end;     /* tokens of the text that were read */
};
enum oa_error oa_decoding_open(struct oa_model *m, struct oa_decoding *out); /* close also after an error */
void oa_decoding_close(struct oa_decoding *r);
void oa_decoding_reset(struct oa_decoding *r); /* forgets all tokens; memory stays */
/* The same tokens in another decoding of the same model: both then go on independently. */
enum oa_error oa_decoding_copy(const struct oa_decoding *from, struct oa_decoding *to);
/* n more tokens, no more than the context has room for; logits [vocabulary]: log-odds of the next one (may be NULL).
 * After the first calls, one token at a time, nothing allocates. */
enum oa_error oa_decoding_read(struct oa_decoding *r, const int32_t *ids, long n, float *logits);
/* The same with ids[0 … n-1] the whole text, of which it reads what is new; a full context starts again from
 * its last half. */
enum oa_error oa_decoding_continue(struct oa_decoding *r, const int32_t *ids, long n, float *logits);

/* What mechanisms do after optimiser step number `step` (features drawn again). */
enum oa_error oa_model_after_step(const struct oa_model *m, long step);

/* ---- files ---- a run's folder holds model.safetensors, config.json, tokenizer.json, log.jsonl, and checkpoints. */

/* Every parameter as F32 (f64: F64) under its name, sealed (base.h). frozen = false: those that the seed gives again
 * are left out. metadata: format=pt, orthant=<version>, attention=<canonical>, parameters trainable and frozen, and
 * what the model is beside its tensors (model_identity.h). */
enum oa_error oa_model_save(const struct oa_model *m, const struct oa_tokenizer *tokenizer, const char *path,
                            bool frozen);
/* A model with the values of such a file. Options, vocabulary and tokenizer that are not those it was trained with, and
 * missing, unknown or misshapen tensors, are refused by name; a file of another program lacks the metadata, and then
 * the shapes decide. */
enum oa_error oa_model_open_saved(struct oa_device *d, const char *path, const struct oa_options *options,
                                  long vocabulary, const struct oa_tokenizer *tokenizer, struct oa_model **out);
/* config.json: {"orthant": version, "architecture": "decoder", "vocabulary": …, "options": {…}}. */
enum oa_error oa_model_save_config(const struct oa_model *m, const char *path);
enum oa_error oa_config_load(oa_context *c, const char *path, struct oa_options *options, long *vocabulary);

/* What a run was begun with, told apart by its bytes: it must be the same when the run goes on. */
struct oa_origin {
    struct oa_digest training_text, validation_text, tokenizer; /* of tokenizer.json */
};

/* The best validation of a run so far. */
struct oa_best {
    long step;    /* of the model that had it; 0: there was no validation yet */
    double score; /* in the measure that the best model is chosen by (train/best.h) */
    long stale;   /* validations since */
};

/* Everything that training needs to go on bit for bit: parameters and moments as they are in memory, and a few numbers.
 * Written durably and atomically, and sealed; a file without a whole seal is no checkpoint. */
struct oa_progress {
    long step;        /* optimiser steps done */
    double seconds;   /* of training so far, on the clock on the wall */
    double processor; /* the same in processor time of all threads */
    double tokens;
    struct oa_best best;
    struct oa_origin origin;
    struct oa_options options; /* of the run that wrote the checkpoint; loading only: what is saved are the model's */
};
enum oa_error oa_checkpoint_save(const struct oa_model *m, const struct oa_progress *p, const char *path);
/* `accept` is asked, with what the checkpoint says of its run, before anything in the model changes. */
typedef enum oa_error oa_accept(void *argument, const struct oa_progress *p);
enum oa_error oa_checkpoint_load(struct oa_model *m, struct oa_progress *p, const char *path, oa_accept *accept,
                                 void *argument);

#endif
