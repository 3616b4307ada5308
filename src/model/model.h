/* SPDX-License-Identifier: Apache-2.0
 * model: Transformers made of stacks (stack.h), and their files. Forms:
 *
 *     language model         ids → embedding (+ position, segment) → decoder → tied output
 *     masked language model  ids → embedding … → encoder → tied output
 *     classifier, regressor  ids → embedding … → encoder or decoder → pool → linear
 *     encoder-decoder        source → embedding … → encoder → memory of the decoder;
 *                            target → embedding … → decoder → tied output
 *
 * Input and output share the embedding (Press & Wolf 2017) unless model.tie_output is false, and so
 * does the source unless model.share_embeddings is. Image patches are embedded by a linear map of
 * their pixels (Dosovitskiy et al. 2021), with the embedding of their id as its bias. Parameter
 * names: embedding.weight, source_embedding.weight, segment.weight, patch.weight, position.weight,
 * rotary.cosine, rotary.sine, rotary.local.cosine, rotary.local.sine, those of the stacks,
 * head.weight, head.bias, head.norm.weight, head.norm.bias (model.head), output.weight, output.bias
 * of models of tokens that have them, classifier.weight, classifier.bias of others. With two
 * stacks, position tables are prefixed with the role: encoder.position.weight. */
#ifndef ORTHANT_MODEL_H
#define ORTHANT_MODEL_H

#include "data/examples.h"
#include "model/stack.h"

/* Architecture and output of a model (form.c). */
enum oa_model_output {
    OA_OUTPUT_TOKENS,
    OA_OUTPUT_CLASSES,
    OA_OUTPUT_NUMBER,
    OA_OUTPUT_STATES /* imported encoders without an output layer */
};
struct oa_model_form {
    bool encoder, decoder;       /* both: with cross-attention */
    enum oa_model_output output; /* encoder only with OA_OUTPUT_TOKENS: a masked LM */
    long vocabulary;     /* of the tokenizer, with special tokens; shared by source and target */
    long classes;        /* OA_OUTPUT_CLASSES */
    char *const *labels; /* [classes] names of the classes, borrowed; NULL: unknown */
    bool segments;       /* pairs of texts: at least two segments (model.segments) */
    long patch;          /* image encoder: numbers per patch, of all channels; else 0 */
    long channels, image_height, image_width; /* 0: those of data.h's pictures, in grey */
};
/* What an image encoder reads: its patches are squares. */
struct oa_image {
    long channels, height, width, side; /* side: of a patch */
};
struct oa_image oa_form_image(const struct oa_model_form *f);
struct oa_model_form oa_language_model_form(long vocabulary);
bool oa_is_language_model(const struct oa_model_form *f); /* decoder only, tokens */
/* "decoder", "encoder", "encoder-decoder" */
const char *oa_architecture_name(const struct oa_model_form *f);
/* "tokens", "classes", "number", "states" */
const char *oa_output_name(enum oa_model_output output);
/* Sets encoder and decoder. */
bool oa_architecture_parse(const char *name, struct oa_model_form *out);
bool oa_output_parse(const char *name, enum oa_model_output *out);
/* OA_STACK(OA_STACK_ENCODER) | … */
unsigned oa_form_stacks(const struct oa_model_form *f);
/* Refuses impossible forms, and options that have no effect on this one. */
enum oa_error oa_check_form(oa_context *c, const struct oa_model_form *f,
                            const struct oa_options *o);
/* Whether heads have a width: model.head_width, or model.heads divides model.width. */
enum oa_error oa_check_heads(oa_context *c, const struct oa_options *o);
long oa_head_width(const struct oa_options *o);
long oa_ffn_width(const struct oa_options *o); /* of the hidden layer */

/* Standard deviation of initial embeddings and learned positions: GPT-2's, or D^(−1/2) with
 * model.scale_embedding (Vaswani et al. 2017: embeddings times √D). */
#define OA_EMBEDDING_DEVIATION 0.02
double oa_embedding_deviation(const struct oa_options *o);
double oa_embedding_factor(const struct oa_options *o); /* of the tokens' */

/* positions.c: model.position; all NULL for none. */
struct oa_positions {
    struct oa_parameter *table;                     /* [N, D], added to the embeddings */
    struct oa_parameter *cosine, *sine;             /* rotary angles [N, width/2] */
    struct oa_parameter *local_cosine, *local_sine; /* of local layers, where they differ */
    bool interleaved;                               /* their pairs */
};
/* local: of a layer all of whose heads are `local`. */
struct oa_rotary oa_positions_rotary(const struct oa_positions *p, bool local);
/* length: N; prefix: of the parameter names. */
enum oa_error oa_positions_open(oa_context *c, const struct oa_options *o, long length,
                                const char *prefix, struct oa_store *s, struct oa_positions *out);

struct oa_model {
    oa_context *context;
    struct oa_device *device;  /* borrowed */
    struct oa_options options; /* model.* */
    struct oa_model_form form;
    struct oa_stack_specs attention;
    struct oa_store store;
    struct oa_stack encoder, decoder; /* zero if absent */
    long vocabulary;                  /* rows of the embedding; also form.vocabulary */
    struct oa_parameter *embedding, *segment;
    struct oa_parameter *patch;            /* [D, pixels], image encoders; else NULL */
    struct oa_parameter *source_embedding; /* `embedding` if shared */
    struct oa_positions positions, source_positions;
    struct oa_parameter *head, *head_bias; /* [D, D], [D] (model.head), or NULL */
    struct oa_norm head_norm;              /* model.head_norm */
    struct oa_parameter *output;           /* [outputs, D]; `embedding` if tied; NULL: states */
    struct oa_parameter *output_bias;      /* or NULL */
};

/* A model initialised from the seed of OA_CHANCE_INIT; training: with gradients and moments. The
 * embedding has form->vocabulary rows, or options.model_vocabulary if larger (smaller is refused).
 * On the plan device only sizes are computed. */
enum oa_error oa_model_open(struct oa_device *d, const struct oa_options *options,
                            const struct oa_model_form *form, bool training, struct oa_model **out);
/* The same for sharded training: moments by oa_store_allocate_moments. */
enum oa_error oa_model_open_sharded(struct oa_device *d, const struct oa_options *options,
                                    const struct oa_model_form *form, struct oa_model **out);
/* The same without values: parameter names and shapes. */
enum oa_error oa_model_describe(struct oa_device *d, const struct oa_options *options,
                                const struct oa_model_form *form, struct oa_model **out);
/* Before it is allocated: adds the adapters of train.lora (adapters.c), and excludes from training
 * the parameters that train.only does not name (train_only.c). */
enum oa_error oa_model_hold_others(struct oa_model *m);
enum oa_error oa_model_add_adapters(struct oa_model *m);
/* Puts all adapters into their matrices; the model is then used, not trained. */
enum oa_error oa_model_merge_adapters(struct oa_model *m);
/* The matrix with its adapter, real [p->count], on the host; p has one. */
enum oa_error oa_model_merge_adapter(const struct oa_model *m, const struct oa_parameter *p,
                                     void *out);
void oa_model_close(struct oa_model *m);
/* The stack of the output: the decoder, if any. */
const struct oa_stack *oa_model_stack(const struct oa_model *m);
/* Longest source of an encoder-decoder. */
long oa_model_source_context(const struct oa_options *o);

/* ---- forward (forward.c) ---- */

/* Rows of tokens, on the host, padded at the end with any ids of the vocabulary. */
struct oa_sequences {
    long rows, length;
    const int32_t *ids;      /* [rows, length] */
    const int32_t *lengths;  /* [rows] true lengths; NULL: no padding */
    const int32_t *segments; /* [rows, length], or NULL: all 0 */
    const int32_t *words;    /* [rows, length] word numbers, or NULL */
    const uint8_t *pixels;   /* [rows, length, form.patch]; with form.patch */
    const double *values;    /* the same as numbers, in place of pixels; where id ≠ 0, 0 */
};
/* Output of an encoder. */
struct oa_memory {
    oa_tensor *x;
    long length;
    const int32_t *lengths;
};
/* Hidden states [rows·length, D] of the encoder of an encoder-decoder. */
oa_tensor *oa_model_encode(oa_tape *t, struct oa_model *m, const struct oa_sequences *source);
/* Hidden states [rows·length, D] of oa_model_stack. memory: of the encoder, or NULL. state:
 * decoding state of a single row; NULL: whole sequences. */
oa_tensor *oa_model_hidden(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                           const struct oa_memory *memory, const struct oa_stack_state *state);
/* The same for a decoding batch: rows [in->rows] have the states, the numbers of tokens, whose ids
 * are one after the other (in->length has no meaning), and, at the first call, the memories;
 * without memories sequences may have different lengths. Batch invariant: a sequence has the same
 * bits as alone. */
oa_tensor *oa_model_hidden_rows(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                                const struct oa_stack_state *rows);
/* The last hidden states, or pooled rows of them, as the output layer reads them: times the factor
 * of model.scale_output, and through the layer of model.head, if there is one. */
oa_tensor *oa_model_head(oa_tape *t, const struct oa_model *m, oa_tensor *hidden);
/* A row for each sequence (model.pool). lengths NULL: no padding. */
oa_tensor *oa_model_pool(oa_tape *t, const struct oa_model *m, oa_tensor *hidden, long rows,
                         long length, const int32_t *lengths);
/* Sum over the batch of −log p(target), −log p(class) in nats, or of squared errors. If the tape
 * records, also the gradient of scale times it up to the last hidden states; oa_tape_backward does
 * the rest. In training with train.label_smoothing. Models with an encoder compute logits only for
 * rows with a target. */
double oa_model_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch, double scale);
/* The same of tokens, with the probabilities of a teacher as further targets: its hidden states are
 * soft->x, of all positions (oa_model_batch_hidden). */
double oa_model_taught_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            double scale, const struct oa_soft_targets *soft);
/* Hidden states of all positions of a batch; NULL after a failure. */
oa_tensor *oa_model_batch_hidden(oa_tape *t, struct oa_model *m, const struct oa_batch *b);
/* oa_model_loss in an evaluation, bit for bit, and the share of each row: out [batch->rows]. */
struct oa_row_loss {
    double sum, targets; /* targets: how many it is the sum over */
};
double oa_model_row_losses(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                           struct oa_row_loss *out);
/* Inputs of the output layer at the positions with a target, and the targets [rows]. NULL: none,
 * or a failure. */
oa_tensor *oa_model_targets(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            const int32_t **targets);
/* Logits of the classes [rows, classes], or the numbers [rows]. */
enum oa_error oa_model_outputs(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                               double *out);
/* Batch invariant: each row has the same bits as alone in a batch of the same length. */
enum oa_error oa_model_outputs_batch_invariant(oa_tape *t, struct oa_model *m,
                                               const struct oa_batch *batch, double *out);

/* ---- scoring (scoring.c) ---- */

/* Logits of tokens, real [rows, vocabulary], or classifier outputs, real [rows, classes or 1], of
 * `rows` outputs of oa_model_head from row `first` on; in the tape's memory. NULL after a failure.
 */
const void *oa_model_logits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden,
                            long first, long rows);
/* The same to memory of the device; nothing to NULL. */
void oa_model_write_logits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden,
                           long first, long rows, void *logits);
/* hit [number of targets in the batch], in their order: 1 where the target is the most likely token
 * (ties: the lowest id). Resets the tape. */
enum oa_error oa_model_hits(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            uint8_t *hit);
/* log Σ e^logit = top + rest, and −log p of a token of which this is the logit, in nats: log-odds
 * that are equal have equal numbers. */
struct oa_log_sum {
    double top, rest;
};
struct oa_log_sum oa_log_sum_of(const double *logits, long count);
double oa_token_nats(const struct oa_log_sum *s, double logit);
/* The logits [vocabulary] of the token after each of ids [n] from position `first` on, n at most
 * the context, in order; of a decoder of tokens without an encoder. Resets the tape. */
struct oa_logits_visitor {
    void (*visit)(void *argument, long position, const double *logits);
    void *argument;
    long first;
};
enum oa_error oa_model_visit_logits(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                                    const struct oa_logits_visitor *visitor);
/* The same of last hidden states, whose row 0 is that of the token at `position`. */
enum oa_error oa_model_visit_hidden(oa_tape *t, const struct oa_model *m, oa_tensor *hidden,
                                    long position, const struct oa_logits_visitor *visitor);
/* nats [n - 1]: negative log-likelihood of each token but the first, in consecutive windows of the
 * context, as in validation. Resets the tape. OA_INTERRUPTED when a stop is requested. */
enum oa_error oa_model_score(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                             double *nats);
/* nats [n - first]: of ids[first … n - 1] alone, each after all ids before it; 1 <= first, and
 * n - 1 is at most the context. Otherwise as oa_model_score. */
enum oa_error oa_model_score_from(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                                  long first, double *nats);

/* ---- decoding, token by token (decoding.c) ---- */

/* Concatenated sources for an encoder. */
struct oa_source {
    struct oa_ids ids, words; /* words: word numbers of all ids, or empty */
};

enum {
    OA_DECODING_CHUNK = 128,  /* tokens that oa_decoding_read reads in a forward pass */
    OA_DECODING_TOGETHER = 32 /* most that are read with those of others */
};
struct oa_decoding {
    struct oa_model *model; /* borrowed; must outlive this */
    struct oa_stack_state state;
    oa_tape tape, *shared;   /* of one call; shared: used instead, or NULL */
    long tokens;             /* in the states */
    long end;                /* tokens of the text read so far */
    struct oa_source source; /* encoded with the first token */
};
/* OA_UNSUPPORTED if the model cannot decode token by token: it is no decoder of tokens, or has an
 * attention that needs the whole sequence, which the message names. */
enum oa_error oa_model_check_decoding(const struct oa_model *m);
/* Close also after an error. */
enum oa_error oa_decoding_open(struct oa_model *m, struct oa_decoding *out);
void oa_decoding_close(struct oa_decoding *r);
/* Its calls use this tape, which several decodings of a device may share, since the activations of
 * a chunk take more memory than short states. The tape must outlive them. */
void oa_decoding_share_tape(struct oa_decoding *r, oa_tape *t);
/* Removes all tokens; keeps the source and allocated memory. */
void oa_decoding_reset(struct oa_decoding *r);
/* Encoder-decoders: sets the source and removes all tokens. words [n]: word numbers, or NULL. */
enum oa_error oa_decoding_source(struct oa_decoding *r, const int32_t *ids, const int32_t *words,
                                 long n);
/* Copies source and tokens to another decoding of the same model; both then continue independently.
 */
enum oa_error oa_decoding_copy(const struct oa_decoding *from, struct oa_decoding *to);
/* Appends n tokens, within the context; logits [vocabulary] of the next one, or NULL. Token by
 * token nothing is allocated after the first calls, but caches that double. */
enum oa_error oa_decoding_read(struct oa_decoding *r, const int32_t *ids, long n, float *logits);
/* The same of one chunk, n <= OA_DECODING_CHUNK, with a visit to the logits after each token (NULL:
 * none). Read in chunks that begin at multiples of the length, a text has the bits that it has
 * after oa_decoding_copy from another that began with the same chunks. */
enum oa_error oa_decoding_read_chunk(struct oa_decoding *r, const int32_t *ids, long n,
                                     float *logits, const struct oa_logits_visitor *visitor);
size_t oa_decoding_bytes(const struct oa_decoding *r); /* allocated for its states */
/* Bytes that decodings can take, counted by the plan device: the states of one whose text is as
 * long as the context, and the activations and logits of a chunk or of a pass over so many
 * decodings. */
struct oa_decoding_memory {
    size_t state, pass;
};
enum oa_error oa_decoding_plan_memory(const struct oa_model *m, int sequences,
                                      struct oa_decoding_memory *out);
/* The same, with ids[0 … n-1] the whole text, of which new tokens are read; when the context is
 * full, restarts from its last half. Not with a source. */
enum oa_error oa_decoding_continue(struct oa_decoding *r, const int32_t *ids, long n,
                                   float *logits);

/* A part of a chunk, or a token, for each of several decodings of a model, of any lengths, without
 * sources, in one pass. Each has the bits that oa_decoding_read_chunk gives it. t: of this call. */
struct oa_decoding_piece {
    struct oa_decoding *decoding;
    const int32_t *ids;
    long count;    /* of ids: 1 to OA_DECODING_TOGETHER */
    float *logits; /* [vocabulary] of the token after the last one, or NULL */
    const struct oa_logits_visitor *visitor; /* to the logits after each token, or NULL */
};
enum oa_error oa_decodings_read(oa_tape *t, const struct oa_decoding_piece *piece, int pieces);

/* ---- batched decoding (decoding_batch.c): beams, or several sentences ---- */

/* A step is one matrix product over all rows in each linear map. Every row has its own states; rows
 * with the same source share its cross-attention state. Batch invariant. */

struct oa_decoding_batch {
    struct oa_model *model;            /* borrowed; must outlive this */
    int most, rows;                    /* capacity; number of rows */
    long tokens;                       /* of each row */
    struct oa_stack_state *slot, *row; /* [most] owned states; the rows' views of them */
    int *self, *cross;                 /* [most] slots of each row's two attention states */
    int *next;                         /* [most] scratch */
    struct oa_source source;           /* of all rows, concatenated */
    long *source_length;               /* [most] */
    void *memory; /* act, device: encoder output of all sources, concatenated */
    size_t memory_bytes;
    oa_tape tape;
};
enum oa_error oa_decoding_batch_open(struct oa_model *m, int most,
                                     struct oa_decoding_batch *out); /* close also after an error */
void oa_decoding_batch_close(struct oa_decoding_batch *r);
/* Starts `rows` empty sequences, one for each source; source NULL without an encoder. */
enum oa_error oa_decoding_batch_begin(struct oa_decoding_batch *r, int rows,
                                      const struct oa_sequences *source);
/* Appends a token to each row, ids [rows]; logits [rows, vocabulary] and sums [rows] = log Σ
 * e^logit of each row (NULL allowed; sums only with logits). */
enum oa_error oa_decoding_batch_read(struct oa_decoding_batch *r, const int32_t *ids, float *logits,
                                     double *sums);
/* Row i becomes a copy of row from[i], for i = 0 … rows−1; rows may be duplicated or dropped. */
enum oa_error oa_decoding_batch_choose(struct oa_decoding_batch *r, const int *from, int rows);
/* Logits [rows, vocabulary] of the hidden states from row `first` on, and sums [rows] = log Σ
 * e^logit of each row (or NULL). */
enum oa_error oa_decoding_logits(oa_tape *t, const struct oa_model *m, oa_tensor *hidden,
                                 long first, long rows, float *logits, double *sums);

/* Updates of mechanisms after optimiser step number `step` (redrawn features). */
enum oa_error oa_model_after_step(const struct oa_model *m, long step);

/* ---- files of a run's folder: model.safetensors, config.json, checkpoints ---- */

/* Every parameter as F32 (f64: F64) under its name, with a checksum (safetensors.h). frozen =
 * false: without those reproducible from the seed, unless train.init may have replaced them.
 * Metadata: format=pt, orthant=<version>, attention=<canonical>, numbers of trainable and frozen
 * parameters, identity of the model (model_identity.h). */
enum oa_error oa_model_save(const struct oa_model *m, const struct oa_tokenizer *tokenizer,
                            const char *path, bool frozen);
/* A model with the values of such a file. Refuses by name: options, vocabulary or tokenizer other
 * than in training; missing, unknown or misshapen tensors. Files of other programs lack the
 * metadata; then only names and shapes are checked. */
enum oa_error oa_model_open_saved(struct oa_device *d, const char *path,
                                  const struct oa_options *options,
                                  const struct oa_model_form *form,
                                  const struct oa_tokenizer *tokenizer, struct oa_model **out);
/* config.json: {"orthant": version, "architecture": …, "output": …, "classes": …, "segments": true,
 * "vocabulary": …, "options": {…}}; output, classes and segments unless tokens, 0 and false.
 * specials: list of special tokens in the training text of a language model; NULL: unknown. */
enum oa_error oa_model_save_config(const struct oa_model *m, const struct oa_labels *specials,
                                   const char *path);
enum oa_error oa_config_load(oa_context *c, const char *path, struct oa_options *options,
                             struct oa_model_form *form);
/* Class names; sets form->labels. oa_labels_free them. count 0: a file of an old version. */
enum oa_error oa_config_labels(oa_context *c, const char *path, struct oa_model_form *form,
                               struct oa_labels *out);
/* oa_labels_free it. name NULL: unknown. */
enum oa_error oa_config_specials(oa_context *c, const char *path, struct oa_labels *out);

/* Digests of the inputs of a run, which must not change on resume. */
struct oa_origin {
    struct oa_digest training_text, validation_text, tokenizer; /* of tokenizer.json */
    struct oa_digest start, teacher; /* of the models of train.init and distil.teacher, or "" */
};

/* The best validation of a run so far. */
struct oa_best {
    long step;    /* 0: no validation yet */
    double score; /* in the measure of train/best.h */
    long stale;   /* validations since */
};

/* Checkpoint: with parameters and moments, all that training needs to resume bit for bit. Written
 * durably and atomically, with a checksum, which is required. */
struct oa_progress {
    long step;        /* optimiser steps done */
    double seconds;   /* of training so far, wall-clock time */
    double processor; /* processor time of all threads */
    double tokens;
    struct oa_best best;
    struct oa_origin origin;
    char arithmetic[200];      /* what rounded (train/arithmetic.h); "": not known */
    struct oa_options options; /* loading only: of the run that wrote it */
};
enum oa_error oa_checkpoint_save(const struct oa_model *m, const struct oa_progress *p,
                                 const char *path);
/* accept: called with the progress before the model is changed; an error rejects the checkpoint. */
typedef enum oa_error oa_accept(void *argument, const struct oa_progress *p);
enum oa_error oa_checkpoint_load(struct oa_model *m, struct oa_progress *p, const char *path,
                                 oa_accept *accept, void *argument);
/* Moment 0 or 1, unsharded, of a checkpoint that was loaded into a sharded model; host memory. */
enum oa_error oa_checkpoint_moment(const struct oa_model *m, const char *path, int moment,
                                   void *out);

#endif
