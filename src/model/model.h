/* SPDX-License-Identifier: Apache-2.0
 *
 * model: the decoder-only Transformer language model, and its files.
 *
 *     ids → embedding (+ position) → [ norm → attention → + → norm → feed-forward → + ] × layers → norm → tied output
 *
 * Pre-norm (Xiong et al. 2020), GELU feed-forward, one embedding for input and output (Press & Wolf 2017). Parameter
 * names: embedding.weight, position.weight, decoder.layers.L.{attention_norm,ffn_norm}.weight (.bias),
 * decoder.layers.L.attention.… (contract of the attention layer), decoder.layers.L.ffn.{in,out}.weight (.bias),
 * decoder.norm.weight (.bias).
 */
#ifndef ORTHANT_MODEL_H
#define ORTHANT_MODEL_H

#include "attention/attention.h"
#include "data/data.h"

struct oa_block {
    struct oa_layer attention;
    struct oa_parameter *attention_norm, *attention_norm_bias, *ffn_norm, *ffn_norm_bias;
    struct oa_parameter *in, *in_bias, *out, *out_bias;
};

struct oa_model {
    oa_context *context;
    struct oa_device *device;  /* borrowed */
    struct oa_options options; /* model.* describe it */
    struct oa_spec spec;
    struct oa_store store;
    struct oa_block *block;
    long vocabulary; /* rows of the embedding */
    struct oa_parameter *embedding, *position, *norm, *norm_bias, *cosine, *sine;
};

/* A model with first values from options.train_seed; `training` makes room for gradients and moments. vocabulary: ids
 * of the tokenizer; the embedding has that many rows, or options.model_vocabulary when that is more (less is refused).
 * On the plan device nothing is computed and only sizes are right. */
enum oa_error oa_model_open(struct oa_device *d, const struct oa_options *options, long vocabulary, bool training,
                            struct oa_model **out);
void oa_model_close(struct oa_model *m);
/* Sum of −log p(target) over the batch's targets, in nats. When the tape records, the gradient of scale times it flows
 * to the output layer, and oa_tape_backward does the rest. */
double oa_model_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch, double scale);
/* Hidden states [rows·length, D] after the last norm. layer: decoding states, one a layer, of a single row that goes on
 * (attention.h); NULL: rows are whole. */
oa_tensor *oa_model_hidden(oa_tape *t, struct oa_model *m, const int32_t *ids, long rows, long length,
                           struct oa_state *const *layer);

/* ---- reading on, token by token (decoding.c) ---- */

struct oa_decoding {
    struct oa_model *model;  /* borrowed; must outlive this */
    struct oa_state **layer; /* of each layer */
    oa_tape tape;            /* of one call */
    long tokens;             /* in the states */
    long end;                /* tokens of the text that were read */
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

/* Trainable parameters as F32 (f64: F64) under their names; frozen ones too when asked, else they are made again from
 * the seed. metadata: format=pt, orthant=<version>, attention=<canonical>, parameters trainable and frozen. */
enum oa_error oa_model_save(const struct oa_model *m, const char *path, bool frozen);
/* Reads every trainable parameter (and frozen ones that are there); missing, unknown or misshapen tensors are refused
 * by name. */
enum oa_error oa_model_load(struct oa_model *m, const char *path);
/* config.json: {"orthant": version, "architecture": "decoder", "vocabulary": …, "options": {…}}. */
enum oa_error oa_model_save_config(const struct oa_model *m, const char *path);
enum oa_error oa_config_load(oa_context *c, const char *path, struct oa_options *options, long *vocabulary);

/* Everything that training needs to go on bit for bit: parameters and moments as they are in memory, and a few numbers.
 * Written durably and atomically, with a checksum of the contents in the metadata. */
struct oa_progress {
    long step;      /* optimiser steps done */
    double seconds; /* of training so far */
    double tokens;
    uint64_t data; /* fingerprint of the training tokens */
};
enum oa_error oa_checkpoint_save(const struct oa_model *m, const struct oa_progress *p, const char *path);
enum oa_error oa_checkpoint_load(struct oa_model *m, struct oa_progress *p, const char *path);

#endif
