/* SPDX-License-Identifier: Apache-2.0
 *
 * masking: batches that hide a part of a text. Rows are crops of it in training and windows end to
 * end in validation, as language models have them (data.h); what is hidden is a function of (seed,
 * step, row) in training and of the window's number alone in validation, whatever the rows of a
 * batch.
 *
 * How much of a row is hidden follows from its length alone: the divisor of a step's mean loss must
 * be known before its first micro-batch is made. A coin for each token, as BERT tosses it, would
 * leave it to chance.
 */
#ifndef ORTHANT_DATA_MASKING_H
#define ORTHANT_DATA_MASKING_H

#include "data/data.h"

/* ---- crops: where rows are taken from ---- */

struct oa_crop {
    const int32_t *ids;
    long count;
    struct oa_stream noise; /* of what is hidden in it */
};
struct oa_crops;
/* What becomes of crops. `b` is the batches' own struct, whose first member is its crops. */
struct oa_hiding {
    long least; /* tokens that a window must have */
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
    uint64_t windows;               /* of the last cover */
    struct oa_stream places, noise;
};
/* rows and length: at least 1. `how` and the tokens are borrowed. */
enum oa_error oa_crops_open(oa_context *c, const struct oa_hiding *how,
                            const struct oa_tokens *tokens, int rows, long length, uint64_t seed,
                            struct oa_crops *out);

/* As a kind of batches has them (struct oa_batches_kind); self begins with its crops. Training:
 * crops from anywhere, which a text of less than a row is refused for. Covering: windows end to
 * end; the last one may be shorter, and is left out where it has fewer than `least` tokens. Rows
 * are whole: a limit below the targets of one row means one row. Characters are not counted: bits
 * of hidden tokens are no bits of a text. */
enum oa_error oa_crops_random(void *self, uint64_t step, long accumulate, long micro,
                              struct oa_batch *out);
enum oa_error oa_crops_cover(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                             struct oa_cover *out);
enum oa_error oa_crops_window(void *self, long i, struct oa_batch *out);

/* `count` of the places 0 … n-1, without replacement, each set as likely: the first `count` of
 * place [n], in the order of drawing (Fisher and Yates). */
void oa_choose_places(struct oa_stream s, long n, long count, int32_t *place);

/* The id of a token that the tokenizer must have. */
enum oa_error oa_find_special(oa_context *c, const struct oa_tokenizer *tok, const char *piece,
                              int32_t *id);

/* ---- masked tokens (Devlin et al. 2019, arXiv 1810.04805) ---- */

/* Rows "[CLS] text [SEP]", as classification reads them. Of the text's n tokens masked(n) are
 * chosen; of these 80 in 100 become "[MASK]", 10 any ordinary token, 10 stay, each by a draw of its
 * own; all chosen ones are targets. */
struct oa_masking {
    int rows;
    long length; /* of a row, "[CLS]" and "[SEP]" in it */
    double share;
    uint64_t seed;
    const struct oa_tokenizer *tokenizer; /* has the three special tokens */
};
long oa_masked_count(double share, long tokens); /* round(share·n), ties to even, at least 1 */
/* Hidden tokens of a whole row of that length, "[CLS]" and "[SEP]" in it. */
long oa_masked_targets(double share, long length);
/* Fewer than 3 tokens in a row, and a tokenizer without the special tokens, are refused. The tokens
 * are borrowed. */
enum oa_error oa_masked_batches_open(oa_context *c, const struct oa_tokens *tokens,
                                     const struct oa_masking *how, struct oa_batches **out);

/* ---- corrupted spans (Raffel et al. 2020, arXiv 1910.10683, section 3.1.4) ---- */

/* An encoder reads the text with each hidden span replaced by a sentinel of its own, and "</s>";
 * the decoder reads
 * "<s>" and writes sentinel, span, sentinel, span, …, and a last sentinel, which is the end. How
 * many tokens and spans are hidden follows from the length by the rule of the authors' program
 * (random_spans_noise_mask of t5/data/preprocessors.py), so all rows of a length have the same
 * lengths. */
struct oa_span_counts {
    long hidden, spans;
    long source, target; /* what is read and what is written of it, with all sentinels and "</s>" */
};
/* tokens: at least 2. share: of hidden tokens; mean: of the length of a span. Halves are rounded to
 * even. */
struct oa_span_counts oa_span_count(double share, double mean, long tokens);
/* The most tokens whose source and target fit; 0: none do. */
long oa_span_tokens(double share, double mean, long source, long target);
/* mark [tokens]: 1 where a token is hidden. Text and hidden spans alternate, beginning with text
 * and ending with a span; their lengths are two random compositions, each as likely. work [2 ·
 * tokens]. */
void oa_mark_spans(struct oa_stream s, const struct oa_span_counts *counts, long tokens,
                   uint8_t *mark, int32_t *work);
enum { OA_SENTINEL = 32 };
void oa_sentinel_name(long i, char out[OA_SENTINEL]); /* "<extra_id_0>" */

struct oa_spanning {
    int rows;
    long tokens; /* of a row of text */
    double share, mean;
    uint64_t seed;
    const struct oa_tokenizer
        *tokenizer; /* has "<s>", "</s>" and one sentinel more than there are spans */
};
enum oa_error oa_span_batches_open(oa_context *c, const struct oa_tokens *tokens,
                                   const struct oa_spanning *how, struct oa_batches **out);

#endif
