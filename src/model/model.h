/* SPDX-License-Identifier: Apache-2.0
 *
 * model: Transformers made of stacks, and their files. A form says which:
 *
 *     ids → embedding (+ position, segment) → decoder (stack.h) → tied output               a
 * language model ids → embedding …                     → encoder           → tied output a masked
 * language model ids → embedding …                     → either            → pool → classifier
 * classes, or a number source → embedding … → encoder → memory of the decoder: target → embedding …
 * → decoder → tied output
 *
 * One embedding for input and output (Press & Wolf 2017), of the source too unless
 * model.share_embeddings says no. Tokens that are patches of pictures also have their pixels by a
 * linear map (Dosovitskiy et al. 2021); the embedding of their id is its bias. Parameter names:
 * embedding.weight, source_embedding.weight, segment.weight, patch.weight, position.weight,
 * rotary.cosine, rotary.sine, those of the stacks, classifier.weight, classifier.bias. With two
 * stacks the tables of positions have their role in front: encoder.position.weight.
 */
#ifndef ORTHANT_MODEL_H
#define ORTHANT_MODEL_H

#include "data/examples.h"
#include "model/stack.h"

/* What a model is for (form.c). */
enum oa_model_output { OA_OUTPUT_TOKENS, OA_OUTPUT_CLASSES, OA_OUTPUT_NUMBER };
struct oa_model_form {
    bool encoder, decoder;       /* both: the decoder attends to what the encoder made */
    enum oa_model_output output; /* encoder alone with OA_OUTPUT_TOKENS: a masked LM (targets at
                                    places of the input) */
    long vocabulary; /* ids of the tokenizer, special tokens included; one tokenizer for source and
                        target */
    long classes;    /* OA_OUTPUT_CLASSES */
    char *const *labels; /* [classes] how these are called, borrowed; NULL: not known */
    bool segments;       /* a segment embedding (pairs) */
    long patch;          /* pixels of a token, of an encoder of patches; 0: tokens are ids alone */
};
struct oa_model_form oa_language_model_form(long vocabulary);
bool oa_is_language_model(const struct oa_model_form *f); /* a decoder of tokens without a source */
const char *
oa_architecture_name(const struct oa_model_form *f); /* "decoder", "encoder", "encoder-decoder" */
const char *oa_output_name(enum oa_model_output output); /* "tokens", "classes", "number" */
bool oa_architecture_parse(const char *name,
                           struct oa_model_form *out); /* sets encoder and decoder */
bool oa_output_parse(const char *name, enum oa_model_output *out);
unsigned oa_form_stacks(
    const struct oa_model_form *f); /* the attentions it has: OA_STACK(OA_STACK_ENCODER) | … */
/* Refuses forms that make no model, and options that say nothing about this one. */
enum oa_error oa_check_form(oa_context *c, const struct oa_model_form *f,
                            const struct oa_options *o);

/* Deviation of the first values of embeddings and learned positions: GPT-2's, or D^(−1/2) where
 * they enter times √D. */
#define OA_EMBEDDING_DEVIATION 0.02
double oa_embedding_deviation(const struct oa_options *o);

/* positions.c: model.position. All NULL: the model has none. */
struct oa_positions {
    struct oa_parameter *table;         /* [N, D], added to the embeddings */
    struct oa_parameter *cosine, *sine; /* rotary angles [N, K/2] */
};
/* length: N; prefix: of their names. */
enum oa_error oa_positions_open(oa_context *c, const struct oa_options *o, long length,
                                const char *prefix, struct oa_store *s, struct oa_positions *out);

struct oa_model {
    oa_context *context;
    struct oa_device *device;  /* borrowed */
    struct oa_options options; /* model.* describe it */
    struct oa_model_form form;
    struct oa_stack_specs attention;
    struct oa_store store;
    struct oa_stack encoder, decoder; /* zeros: there is none */
    long vocabulary;                  /* rows of the embedding; also form.vocabulary */
    struct oa_parameter *embedding, *segment;
    struct oa_parameter *patch;            /* [D, pixels] of an encoder of patches, else NULL */
    struct oa_parameter *source_embedding; /* `embedding` itself where it is shared */
    struct oa_positions positions, source_positions;
    struct oa_parameter *classifier,
        *classifier_bias; /* [classes or 1, D]; NULL: tokens are the output */
    const struct oa_attention_watch
        *watch; /* told what attention layers do in forward passes; NULL: nobody looks */
};

/* A model with first values from the seed of OA_CHANCE_INIT; `training` makes room for gradients
 * and moments. The embedding has form->vocabulary rows, or options.model_vocabulary when that is
 * more (less is refused). On the plan device nothing is computed and only sizes are right. */
enum oa_error oa_model_open(struct oa_device *d, const struct oa_options *options,
                            const struct oa_model_form *form, bool training, struct oa_model **out);
/* The same for training, where the store has no moments yet: oa_store_allocate_moments. */
enum oa_error oa_model_open_sharded(struct oa_device *d, const struct oa_options *options,
                                    const struct oa_model_form *form, struct oa_model **out);
/* The same without values: what parameters there are, and their shapes. */
enum oa_error oa_model_describe(struct oa_device *d, const struct oa_options *options,
                                const struct oa_model_form *form, struct oa_model **out);
void oa_model_close(struct oa_model *m);
const struct oa_stack *
oa_model_stack(const struct oa_model *m); /* whose rows are the output: the decoder, if any */
long oa_model_source_context(
    const struct oa_options *o); /* the longest source of an encoder beside a decoder */

/* ---- forward (forward.c) ---- */

/* Rows of tokens, on the host; padding is behind the true lengths, with any ids of the vocabulary.
 */
struct oa_sequences {
    long rows, length;
    const int32_t *ids;      /* [rows, length] */
    const int32_t *lengths;  /* [rows]; NULL: all are whole */
    const int32_t *segments; /* [rows, length]; with form.segments */
    const int32_t *words;    /* [rows, length] word numbers; NULL: nobody asks */
    const uint8_t *pixels;   /* [rows, length, form.patch]; with form.patch */
};
/* What an encoder made of them. */
struct oa_memory {
    oa_tensor *x;
    long length;
    const int32_t *lengths;
};
/* Hidden states [rows·length, D] of the encoder beside a decoder. */
oa_tensor *oa_model_encode(oa_tape *t, struct oa_model *m, const struct oa_sequences *source);
/* Hidden states [rows·length, D] of oa_model_stack. memory: of an encoder, NULL without one. state:
 * of a single row that goes on; NULL: rows are whole. */
oa_tensor *oa_model_hidden(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                           const struct oa_memory *memory, const struct oa_stack_state *state);
/* The same of sequences side by side: rows [in->rows] are their states and, at the first call,
 * their memories. A row has the bits that it would have alone. */
oa_tensor *oa_model_hidden_rows(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                                const struct oa_stack_state *rows);
/* Sum over the batch of −log p(target), −log p(class), in nats, or of squared errors. When the tape
 * records, the gradient of scale times it flows to the output layer, and oa_tape_backward does the
 * rest. When it trains, labels are smoothed (train.label_smoothing). A model with an encoder
 * computes logits of the rows that have a target alone. */
double oa_model_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch, double scale);
/* Hidden states of the places that have a target, and in *targets, [rows], these. NULL: none has,
 * or a failure. */
oa_tensor *oa_model_targets(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            const int32_t **targets);
/* Log-odds of the classes [rows, classes], or the numbers [rows]. */
enum oa_error oa_model_outputs(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                               double *out);
/* The same: each row has the bits that it has alone in a batch of the same length. */
enum oa_error oa_model_outputs_batch_invariant(oa_tape *t, struct oa_model *m,
                                               const struct oa_batch *batch, double *out);

/* ---- what it expects (scoring.c) ---- */

/* Outputs of `rows` rows of hidden states from `first` on: log-odds of tokens (the next ones, of a
 * decoder), real [rows, vocabulary], or what the classifier says, real [rows, classes or 1]; in the
 * tape's memory until it is reset. NULL after a failure. */
const void *oa_model_logits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden,
                            long first, long rows);
/* Adds to *hits the targets of a batch that are the likeliest token (of equals the first). The tape
 * is used up. */
enum oa_error oa_model_hits(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            long *hits);
/* nats [n - 1]: −log p of each token but the first, in windows of the context end to end, as
 * validation has them. The tape is used up. OA_INTERRUPTED when a stop was asked for. */
enum oa_error oa_model_score(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                             double *nats);

/* ---- reading on, token by token (decoding.c) ---- */

/* What an encoder is to read: sources end to end. */
struct oa_source {
    struct oa_ids ids, words; /* words: a number for each id, or none at all */
};

struct oa_decoding {
    struct oa_model *model; /* borrowed; must outlive this */
    struct oa_stack_state state;
    oa_tape tape;            /* of one call */
    long tokens;             /* in the states */
    long end;                /* tokens of the text that were read */
    struct oa_source source; /* read by the encoder with the first token; then the states have what
                                they need of it */
};
/* Can it be read on? OA_UNSUPPORTED otherwise: no decoder of tokens, or an attention in it that
 * needs all at once; the sentence names it. Training need not be over: this is about what the model
 * is. */
enum oa_error oa_model_reads_on(const struct oa_model *m);
enum oa_error oa_decoding_open(struct oa_model *m,
                               struct oa_decoding *out); /* close also after an error */
void oa_decoding_close(struct oa_decoding *r);
void oa_decoding_reset(
    struct oa_decoding *r); /* forgets all tokens; memory stays, and so does the source */
/* What the encoder reads, in a model that has one beside its decoder; forgets all tokens. words
 * [n]: the word number of each id; NULL: nobody asks. */
enum oa_error oa_decoding_source(struct oa_decoding *r, const int32_t *ids, const int32_t *words,
                                 long n);
/* The same source and tokens in another decoding of the same model: both then go on independently.
 */
enum oa_error oa_decoding_copy(const struct oa_decoding *from, struct oa_decoding *to);
/* n more tokens, no more than the context has room for; logits [vocabulary]: log-odds of the next
 * one (may be NULL). After the first calls, one token at a time, nothing allocates. */
enum oa_error oa_decoding_read(struct oa_decoding *r, const int32_t *ids, long n, float *logits);
/* The same with ids[0 … n-1] the whole text, of which it reads what is new; a full context starts
 * again from its last half. Not with a source. */
enum oa_error oa_decoding_continue(struct oa_decoding *r, const int32_t *ids, long n,
                                   float *logits);

/* ---- several at once (decodings.c): beams, or sentences side by side ---- a step is one product
 * over all rows in each linear map but those that make queries and keys, and every row has its own
 * states; what was made of a source is shared by the rows that read it. A row's numbers do not
 * depend on which rows there are, bit for bit. */

struct oa_decodings {
    struct oa_model *model;            /* borrowed; must outlive this */
    int most, rows;                    /* rows that fit; that there are */
    long tokens;                       /* of each row */
    struct oa_stack_state *slot, *row; /* [most] owned; those of each row, in slots */
    int *self, *cross,
        *kept; /* [most] slots of each row's own states, of those of its source; work */
    struct oa_source source; /* of all rows, end to end */
    long *source_length;     /* [most] */
    void *memory; /* act, of the device: what the encoder made of the sources, end to end */
    size_t memory_bytes;
    oa_tape tape;
};
enum oa_error oa_decodings_open(struct oa_model *m, int most,
                                struct oa_decodings *out); /* close also after an error */
void oa_decodings_close(struct oa_decodings *r);
/* `rows` new sequences without tokens, one for each source; of a decoder alone, without (source
 * NULL). */
enum oa_error oa_decodings_begin(struct oa_decodings *r, int rows,
                                 const struct oa_sequences *source);
/* One more token of each row, ids [rows]; logits [rows, vocabulary], and sums [rows], log Σ e^logit
 * of each row (both may be NULL; sums only with logits). */
enum oa_error oa_decodings_read(struct oa_decodings *r, const int32_t *ids, float *logits,
                                double *sums);
/* Row i becomes what row from[i] is, for i = 0 … rows−1; a row may go on as several, or not at all.
 */
enum oa_error oa_decodings_choose(struct oa_decodings *r, const int *from, int rows);
/* For those who read on: logits [rows, vocabulary] of the hidden states from row `first` on, and
 * sums [rows], log Σ e^logit of each row (may be NULL). */
enum oa_error oa_decoding_logits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden,
                                 long first, long rows, float *logits, double *sums);

/* What mechanisms do after optimiser step number `step` (features drawn again). */
enum oa_error oa_model_after_step(const struct oa_model *m, long step);

/* ---- files ---- a run's folder holds model.safetensors, config.json, tokenizer.json, log.jsonl,
 * and checkpoints. */

/* Every parameter as F32 (f64: F64) under its name, with a checksum (safetensors.h). frozen =
 * false: those that the seed gives again are left out, unless other values may have taken their
 * place (train.init). metadata: format=pt, orthant=<version>, attention=<canonical>, parameters
 * trainable and frozen, and what the model is beside its tensors (model_identity.h).
 */
enum oa_error oa_model_save(const struct oa_model *m, const struct oa_tokenizer *tokenizer,
                            const char *path, bool frozen);
/* A model with the values of such a file. Options, vocabulary and tokenizer that are not those it
 * was trained with, and missing, unknown or misshapen tensors, are refused by name; a file of
 * another program lacks the metadata, and then the shapes decide. */
enum oa_error oa_model_open_saved(struct oa_device *d, const char *path,
                                  const struct oa_options *options,
                                  const struct oa_model_form *form,
                                  const struct oa_tokenizer *tokenizer, struct oa_model **out);
/* config.json: {"orthant": version, "architecture": …, "output": …, "classes": …, "segments": true,
 * "vocabulary": …, "options": {…}}; output, classes and segments only where they are not tokens, 0
 * and false. specials: special tokens that the training text of a language model has, a list of the
 * same name; NULL: not told. */
enum oa_error oa_model_save_config(const struct oa_model *m, const struct oa_labels *specials,
                                   const char *path);
enum oa_error oa_config_load(oa_context *c, const char *path, struct oa_options *options,
                             struct oa_model_form *form);
/* The labels of a model with form->classes, which is then told of them; closed by oa_labels_free.
 * count 0: the file is of before there were any. */
enum oa_error oa_config_labels(oa_context *c, const char *path, struct oa_model_form *form,
                               struct oa_labels *out);
/* Closed by oa_labels_free. name NULL: the file does not tell. */
enum oa_error oa_config_specials(oa_context *c, const char *path, struct oa_labels *out);

/* What a run was begun with, told apart by its bytes: it must be the same when the run goes on. */
struct oa_origin {
    struct oa_digest training_text, validation_text, tokenizer; /* of tokenizer.json */
    struct oa_digest
        start; /* of the model that it took its first values from; "": there was none */
};

/* The best validation of a run so far. */
struct oa_best {
    long step;    /* of the model that had it; 0: there was no validation yet */
    double score; /* in the measure that the best model is chosen by (train/best.h) */
    long stale;   /* validations since */
};

/* Everything that training needs to go on bit for bit: parameters and moments as they are in
 * memory, and a few numbers. Written durably and atomically, with a checksum; a file without a
 * valid one is no checkpoint. */
struct oa_progress {
    long step;        /* optimiser steps done */
    double seconds;   /* of training so far, on the clock on the wall */
    double processor; /* the same in processor time of all threads */
    double tokens;
    struct oa_best best;
    struct oa_origin origin;
    struct oa_options options; /* of the run that wrote the checkpoint; loading only: what is saved
                                  are the model's */
};
enum oa_error oa_checkpoint_save(const struct oa_model *m, const struct oa_progress *p,
                                 const char *path);
/* `accept` is asked, with what the checkpoint says of its run, before anything in the model
 * changes. */
typedef enum oa_error oa_accept(void *argument, const struct oa_progress *p);
enum oa_error oa_checkpoint_load(struct oa_model *m, struct oa_progress *p, const char *path,
                                 oa_accept *accept, void *argument);
/* A whole moment, 0 or 1, of a checkpoint that was loaded into a model whose moments are apart; to
 * the host. */
enum oa_error oa_checkpoint_moment(const struct oa_model *m, const char *path, int moment,
                                   void *out);

#endif
