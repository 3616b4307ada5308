/* SPDX-License-Identifier: Apache-2.0
 *
 * data: tokens → batches. A run does
 *
 *     oa_tokenizer_open(c, "bpe:1000", train_files, valid_files, &tok);
 *     oa_corpus_open(c, tok, train_files, valid_files, 0.1, &corpus);
 *     oa_batches_open(c, &corpus.train, 12, 64, seed, &train);           for each step,
 * micro-batch: oa_batches_random(train, step, micro, &batch); oa_batches_open(c, &corpus.valid, 12,
 * 64, 0, &valid); oa_batches_cover(valid, tok, eval_tokens, &cover);                 for i in 0 …
 * cover.batches-1: oa_batches_window(valid, i, &batch);
 *
 * Lists of files are written with commas between, read as if by cat (end to end, nothing in
 * between); gzip is unpacked.
 */
#ifndef ORTHANT_DATA_H
#define ORTHANT_DATA_H

#include "tokenizers/tokenizer.h"

/* ---- corpus ---- */

/* One side of a corpus: token ids end to end, and what they were made from. */
struct oa_tokens {
    int32_t *ids;
    size_t count;
    uint64_t characters, bytes; /* 0: there is no text, only ids */
    const char *name;           /* "training text", "validation text": for messages */
    /* SHA-256 of the text, unpacked and cut, or of the ids (int32) that came without it:
     * checkpoints and comparisons notice another text */
    struct oa_digest digest;
};

struct oa_corpus {
    struct oa_tokens train, valid; /* valid.count is 0 when nothing was kept */
    struct oa_tokens test;         /* count 0: there is none */
};

/* Without valid_files the last valid_fraction of the training text is kept for validation: of L
 * characters the first ⌊L·(1 − fraction)⌋ train. The cut is made in the text before encoding and is
 * the same for every tokenizer, so that bits per character compare. Encoding takes the memory of
 * the text and four bytes a token. Files named *.bin hold token ids (nanoGPT, llm.c: id_files.c)
 * and are cut between tokens; an id that the tokenizer does not have is refused with its place. */
enum oa_error oa_corpus_open(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                             const char *valid_files, double valid_fraction, struct oa_corpus *out);
/* The same with the validation text taken from another place: as many characters (ids), beginning
 * at a uniform one of those that leave room, a function of split_seed alone; 0: the end. The two
 * ends that are left train, encoded apart and joined, so that a row may run over the seam. Refused
 * where nothing is cut. */
enum oa_error oa_corpus_open_split(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                                   const char *valid_files, double valid_fraction,
                                   uint64_t split_seed, struct oa_corpus *out);
/* Reads the test side alone, which no vocabulary is made of. */
enum oa_error oa_corpus_open_test(struct oa_tokenizer *tok, const char *files,
                                  struct oa_corpus *out);
void oa_corpus_close(struct oa_corpus *corpus);
/* Cuts one side into two: of n tokens the first ⌊n·(1 − fraction)⌋ are out->train, the others
 * out->valid, which has no token in common with them. The ids are borrowed from `whole`: *out is
 * not to be closed. */
void oa_corpus_hold_out(const struct oa_tokenizer *tok, const struct oa_tokens *whole,
                        double fraction, struct oa_corpus *out);

/* corpus_overlap.c: the validation side in pieces of OA_OVERLAP_TOKENS tokens, end to end, and how
 * many of them stand somewhere in the training side. Time grows with the sum of both; memory with
 * the validation side, one to two bytes a token. OA_NO_MEMORY. */
enum { OA_OVERLAP_TOKENS = 64 };
struct oa_text_overlap {
    uint64_t pieces, found;
};
enum oa_error oa_corpus_overlap(oa_context *c, const struct oa_corpus *corpus,
                                struct oa_text_overlap *out);

/* ---- batches ---- */

#define OA_IGNORED (-1) /* a target that is not there: no loss, no gradient */

/* What a model is given at once: row-major arrays on the host, valid until the next call. Language
 * models have rows of one length and nothing else than input and target. */
struct oa_batch {
    int rows, length;
    const int32_t *input,
        *target; /* [rows, length]; target NULL: the rows have a class or a number instead */
    const int32_t *lengths; /* [rows] true lengths, the rest is padding; NULL: all rows are whole */
    const int32_t
        *segments; /* [rows, length] 0 or 1: which text of a pair; NULL: there are no pairs */
    const int32_t
        *words; /* [rows, length] word numbers, from 0, rising by 0 or 1; NULL: nobody asked */
    int source_length;             /* of what an encoder reads for a decoder; 0: there is none */
    const int32_t *source;         /* [rows, source_length] */
    const int32_t *source_lengths; /* [rows]; NULL: all are whole */
    const int32_t *source_words;   /* [rows, source_length]; NULL: nobody asked */
    const uint8_t
        *pixels; /* [rows, length, P·P] of tokens that are patches (patches.c); NULL: none are */
    const int32_t *label; /* [rows] class, from 0; NULL: none */
    const double *value;  /* [rows] number; NULL: none */
    long planned_targets; /* without arrays, for the plan device: places that have a target; 0: all
                             have */
};

/* What an optimiser step has, all its micro-batches together. */
struct oa_amount {
    double targets; /* the divisor of a mean loss */
    double tokens;  /* that are read, padding apart */
};

/* Validation: every target exactly once. */
struct oa_cover {
    long batches;
    uint64_t targets; /* predicted tokens, classes or numbers: the divisor of a mean loss */
    uint64_t characters, bytes; /* of the predicted tokens: bits/character = nats · targets /
                                   characters / ln 2. 0: no text */
};

/* Batches of one side of the data, of which there are kinds: rows of a text (below), and those that
 * tasks make. */
struct oa_batches_kind {
    void (*amount)(void *self, uint64_t step, long accumulate, struct oa_amount *out);
    /* Micro-batch number micro, from 0, of step `step`, from 1: a function of both and of the seed
     * alone. */
    enum oa_error (*random)(void *self, uint64_t step, long accumulate, long micro,
                            struct oa_batch *out);
    enum oa_error (*cover)(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                           struct oa_cover *out);
    enum oa_error (*window)(void *self, long i, struct oa_batch *out);
    const uint32_t *(*examples)(
        const void *self, long i); /* of window i, the example of each row; NULL: there are none */
    void (*close)(void *self);
};
struct oa_batches {
    const struct oa_batches_kind *kind;
    void *self; /* of the kind */
};
enum oa_error oa_batches_wrap(oa_context *c, const struct oa_batches_kind *kind, void *self,
                              struct oa_batches **out);
void oa_batches_close(struct oa_batches *b);
void oa_batches_amount(struct oa_batches *b, uint64_t step, long accumulate, struct oa_amount *out);
enum oa_error oa_batches_random(struct oa_batches *b, uint64_t step, long accumulate, long micro,
                                struct oa_batch *out);
/* limit: at most so many targets, 0 = all. */
enum oa_error oa_batches_cover(struct oa_batches *b, const struct oa_tokenizer *tok, uint64_t limit,
                               struct oa_cover *out);
/* i in 0 … batches-1 of the last oa_batches_cover. */
enum oa_error oa_batches_window(struct oa_batches *b, long i, struct oa_batch *out);
/* The numbers of the examples that the rows of that batch are, valid until the next cover; NULL:
 * they are none. */
const uint32_t *oa_batches_examples(const struct oa_batches *b, long i);

/* Rows of a text. Training: random crops as nanoGPT, each from a uniform position 0 …
 * count-length-1, a function of (seed, step, micro·rows + row) alone: free of history, and equal
 * for 4 micro-batches of 8 rows and for 1 of 32. Validation: windows end to end in text order, so
 * each token but the first is a target exactly once. The last window is filled with input 0 and
 * target OA_IGNORED; the last batch may have fewer rows. The tokens are borrowed. After this call
 * nothing allocates. Fewer than 2 tokens are refused here, fewer than length + 1 by
 * oa_batches_random. */
enum oa_error oa_batches_open(oa_context *c, const struct oa_tokens *tokens, int rows, int length,
                              uint64_t seed, struct oa_batches **out);

#endif
