/* SPDX-License-Identifier: Apache-2.0
 * masking: batches in which a part of a text is hidden. Training rows are random crops, validation
 * rows consecutive windows, as for language models (data.h). The hidden tokens are a function of
 * (seed, step, row) in training and of the number of the window in validation, independent of the
 * batch size.
 *
 * The number of hidden tokens follows from the length of a row alone, unlike BERT's independent
 * draw per token: the divisor of a step's mean loss must be known before its first micro-batch. */
#ifndef ORTHANT_DATA_MASKING_H
#define ORTHANT_DATA_MASKING_H

#include "data/training_rows.h"

/* ---- crops: where rows are taken from ---- */

struct oa_crop {
    const int32_t *ids;
    long count;
    struct oa_stream noise; /* draws what is hidden */
};
struct oa_crops;
/* How crops become rows. `b` is the struct of the batches, whose first member is its crops. */
struct oa_hiding {
    long least; /* tokens of the shortest window */
    long (*targets)(const struct oa_crops *b, long tokens);
    void (*fill_row)(const struct oa_crops *b, int row, const struct oa_crop *crop);
    struct oa_batch (*batch_of)(const struct oa_crops *b, int rows);
};
struct oa_crops {
    oa_context *context;
    const struct oa_hiding *how;
    const struct oa_tokens *tokens; /* borrowed */
    int rows;                       /* of a batch */
    long length;                    /* tokens of a row */
    int32_t *text;                  /* [length] of the row that is being made */
    struct oa_text_rows *cut;
    uint64_t windows; /* of the last cover */
    struct oa_stream noise;
};
/* rows and length: at least 1. `how` and the tokens are borrowed. oa_crops_close, also after an
 * error. */
enum oa_error oa_crops_open(oa_context *c, const struct oa_hiding *how,
                            const struct oa_tokens *tokens, const struct oa_text_batching *rows,
                            struct oa_crops *out);
void oa_crops_close(struct oa_crops *c);
/* Text tokens of a row of training. */
long oa_crops_units(struct oa_crops *c, uint64_t step, long accumulate, uint64_t row);
void oa_crops_reading(const void *self, uint64_t steps, long accumulate, struct oa_reading *out);

/* Functions for struct oa_batches_kind; self begins with its crops. Training: training_rows.h; the
 * text must have at least a row. Validation: consecutive windows; the last one may be shorter and
 * is left out where it has fewer than `least` tokens. A limit below the targets of one row means
 * one row. Characters are not counted: bits per character is undefined for hidden tokens. */
enum oa_error oa_crops_random(void *self, uint64_t step, long accumulate, long micro,
                              struct oa_batch *out);
enum oa_error oa_crops_cover(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                             struct oa_cover *out);
enum oa_error oa_crops_window(void *self, long i, struct oa_batch *out);

/* Draws `count` of 0 … n-1 uniformly without replacement (Fisher and Yates) into the first elements
 * of place [n]. */
void oa_choose_places(struct oa_stream s, long n, long count, int32_t *place);

/* The id of a token; OA_FORMAT if the tokenizer lacks it. */
enum oa_error oa_find_special(oa_context *c, const struct oa_tokenizer *tok, const char *piece,
                              int32_t *id);

/* ---- masked tokens (Devlin et al. 2019, arXiv 1810.04805) ---- */

/* Rows "[CLS] text [SEP]", as for classification. Of n text tokens oa_masked_count(share, n) are
 * targets; each becomes "[MASK]" with probability 0.8, a random ordinary token with 0.1, or stays.
 */
struct oa_masking {
    int rows;
    long length; /* of a row, with "[CLS]" and "[SEP]" */
    double share;
    uint64_t seed;
    enum oa_data_order order;
    enum oa_document_borders borders;
    const struct oa_tokenizer *tokenizer; /* has the three special tokens */
};
long oa_masked_count(double share, long tokens); /* round(share·n), ties to even, at least 1 */
/* Targets of a full row of that length, with "[CLS]" and "[SEP]". */
long oa_masked_targets(double share, long length);
/* length: at least 3. The tokens are borrowed. OA_FORMAT: the tokenizer lacks a special token. */
enum oa_error oa_masked_batches_open(oa_context *c, const struct oa_tokens *tokens,
                                     const struct oa_masking *how, struct oa_batches **out);

/* ---- corrupted spans (Raffel et al. 2020, arXiv 1910.10683, section 3.1.4) ---- */

/* The encoder reads the text with each hidden span replaced by a sentinel of its own, then "</s>";
 * the decoder reads "<s>" and predicts sentinel, span, sentinel, span, … and a final sentinel. The
 * numbers of hidden tokens and spans follow from the length by the rule of random_spans_noise_mask
 * (t5/data/preprocessors.py), so rows of the same length have sources and targets of the same
 * length. */
struct oa_span_counts {
    long hidden, spans;
    long source, target; /* tokens, with sentinels and "</s>" */
};
/* tokens: at least 2. share: of hidden tokens. mean: length of a span. Rounds halves to even. */
struct oa_span_counts oa_span_count(double share, double mean, long tokens);
/* The largest number of tokens whose source and target fit; 0: none. */
long oa_span_tokens(double share, double mean, long source, long target);
/* mark [tokens]: 1 where a token is hidden. Text and hidden spans alternate, beginning with text
 * and ending with a span; their lengths are uniform random compositions. work [2 · tokens]. */
void oa_mark_spans(struct oa_stream s, const struct oa_span_counts *counts, long tokens,
                   uint8_t *mark, int32_t *work);
enum { OA_SENTINEL = 32 };
void oa_sentinel_name(long i, char out[OA_SENTINEL]); /* "<extra_id_0>" */

struct oa_spanning {
    int rows;
    long tokens; /* of a row of text */
    double share, mean;
    uint64_t seed;
    enum oa_data_order order;
    enum oa_document_borders borders;
    const struct oa_tokenizer *tokenizer; /* has "<s>", "</s>" and spans + 1 sentinels */
};
enum oa_error oa_span_batches_open(oa_context *c, const struct oa_tokens *tokens,
                                   const struct oa_spanning *how, struct oa_batches **out);

#endif
