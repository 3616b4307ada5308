/* SPDX-License-Identifier: Apache-2.0
 * data: tokens → batches. A run does
 *
 *     oa_tokenizer_open(c, "bpe:1000", train_files, valid_files, &tok);
 *     oa_corpus_open(c, tok, train_files, valid_files, 0.1, &corpus);
 *     oa_batches_open(c, &corpus.train, 12, 64, seed, &train);
 *     oa_batches_random(train, step, accumulate, micro, &batch);      for each micro-batch
 *     oa_batches_open(c, &corpus.valid, 12, 64, 0, &valid);
 *     oa_batches_cover(valid, tok, eval_tokens, &cover);
 *     oa_batches_window(valid, i, &batch);                            i = 0 … cover.batches - 1
 *
 * Lists of files are separated by commas and read like `cat` does; gzip is unpacked. */
#ifndef ORTHANT_DATA_H
#define ORTHANT_DATA_H

#include "data/token_store.h"

/* ---- tokens (tokens.c) ---- */

/* Ids from … from + count - 1 of an array or of a store; of the other the pointer is NULL. */
struct oa_token_span {
    int32_t *ids;
    struct oa_token_store *store;
    uint64_t from, count;
};
/* Of several corpora; of one, before and after a held-out block. */
enum { OA_CORPORA = 16, OA_SPANS = 2 * OA_CORPORA };

/* A corpus of a mixture (data.mix): its tokens within the text, and its weight. */
struct oa_corpus_part {
    char name[64];
    uint64_t from, count;
    long weight; /* rows of it among as many as the weights of all add up to */
};

/* The training, validation or test text: its token ids, and what they were made from. The ids are
 * in memory or, where they would take much of it, in files. */
struct oa_tokens {
    int32_t *ids; /* NULL: in spans, one after another */
    struct oa_token_span span[OA_SPANS];
    int spans;
    struct oa_corpus_part part[OA_CORPORA]; /* one after another: all tokens. None: no mixture */
    int parts;
    size_t count;
    uint64_t characters, bytes; /* 0: token ids without text, or not counted */
    bool marked;                /* special tokens are between documents: they are no text */
    const char *name;           /* "training text", "validation text": for messages */
    /* SHA-256 of this part of the text, unpacked, or of the ids (int32) where there is none; of ids
     * in files: of a sample. Checkpoints and comparisons detect changed data by it. */
    struct oa_digest digest;
};

/* Ids at … at + n - 1, which exist. Any thread, with a context of its own. */
enum oa_error oa_tokens_read(oa_context *c, const struct oa_tokens *t, uint64_t at, size_t n,
                             int32_t *out);
/* n tokens from `at`, borrowed: ids or spans, without parts, counts of text and digest. */
struct oa_tokens oa_tokens_part(const struct oa_tokens *t, uint64_t at, uint64_t n,
                                const char *name);
/* Appends n tokens of `from`, borrowed, as spans. At most OA_SPANS fit. */
void oa_tokens_append(struct oa_tokens *t, const struct oa_tokens *from, uint64_t at, uint64_t n);
/* Moves `count` texts, at most OA_CORPORA of at most two spans, into one, in their order. Counts of
 * characters are added; 0 if one is unknown. The digest is that of their digests and weights. part:
 * their names and weights in a mixture; NULL: no mixture. */
enum oa_error oa_tokens_join(oa_context *c, struct oa_tokens *text, int count,
                             const struct oa_corpus_part *part, struct oa_tokens *out);
/* Sets t->digest from at most OA_SAMPLE_BLOCKS blocks of OA_SAMPLE_IDS ids, evenly spaced, and the
 * count: of a text in files, in a time that does not grow with it. */
enum { OA_SAMPLE_BLOCKS = 1024, OA_SAMPLE_IDS = 1024 };
enum oa_error oa_tokens_sample_digest(oa_context *c, struct oa_tokens *t);

/* ---- corpus ---- */

struct oa_corpus {
    struct oa_tokens train, valid, test; /* count 0: there is none */
};

/* Without valid_files the last valid_fraction of the training text is held out for validation: of L
 * characters the first ⌊L·(1 − fraction)⌋ train. The text is split before encoding, at the same
 * character for every tokenizer, so that bits per character are comparable. Encoding takes the
 * memory of the text and 4 bytes per token. Files named *.bin contain token ids (nanoGPT, llm.c:
 * id_files.c) and are split between tokens; an id that the tokenizer lacks is rejected with its
 * position. Where they have more than OA_IDS_IN_MEMORY bytes, they stay in their files. */
enum oa_error oa_corpus_open(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                             const char *valid_files, double valid_fraction, struct oa_corpus *out);
/* The same with a validation block of as many characters (ids) at a uniformly random position, a
 * function of split_seed alone; 0: at the end. The text before and after it trains, encoded
 * separately and concatenated: a row may span the gap. OA_ARGUMENT: a split_seed where nothing is
 * held out. */
enum oa_error oa_corpus_open_split(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                                   const char *valid_files, double valid_fraction,
                                   uint64_t split_seed, struct oa_corpus *out);
/* OA_ARGUMENT: nothing is held out with these options, or no training text is given. */
enum oa_error oa_corpus_check_holdout(oa_context *c, const char *train_files,
                                      const char *valid_files, double valid_fraction,
                                      uint64_t split_seed);
/* corpora.c: the same of several corpora. Where the list has a packed corpus, or there is a mix
 * (data.mix; "": none), each file or folder of it is a corpus, at most OA_CORPORA, and the end of
 * each is held out; otherwise they are one. */
enum oa_error oa_corpora_open(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                              const char *mix, const char *valid_files, double valid_fraction,
                              uint64_t split_seed, struct oa_corpus *out);
/* Reads the test text, which is never used for a vocabulary. */
enum oa_error oa_corpus_open_test(struct oa_tokenizer *tok, const char *files,
                                  struct oa_corpus *out);
void oa_corpus_close(struct oa_corpus *corpus);
/* Splits n tokens: the first ⌊n·(1 − fraction)⌋ are out->train, the others out->valid. The ids are
 * borrowed from `whole`: do not close *out. */
enum oa_error oa_corpus_hold_out(oa_context *c, const struct oa_tokenizer *tok,
                                 const struct oa_tokens *whole, double fraction,
                                 struct oa_corpus *out);

/* corpus_overlap.c: cuts the validation text into consecutive pieces of OA_OVERLAP_TOKENS tokens
 * and counts those that occur in the training text. At most OA_OVERLAP_VALIDATION tokens are
 * searched for in at most OA_OVERLAP_TRAINING, in evenly spaced blocks: a piece that occurs once in
 * the training text is found with the probability `searched`. */
enum { OA_OVERLAP_TOKENS = 64, OA_OVERLAP_TRAINING = 1 << 25, OA_OVERLAP_VALIDATION = 1 << 20 };
struct oa_text_overlap {
    uint64_t pieces, found;
    double searched; /* share of the training text */
    bool sampled;    /* not all tokens of both sides were compared */
};
enum oa_error oa_corpus_overlap(oa_context *c, const struct oa_corpus *corpus,
                                struct oa_text_overlap *out);

/* ---- batches ---- */

#define OA_IGNORED (-1) /* a missing target: no loss, no gradient */

/* A batch: row-major arrays on the host, valid until the next call; NULL where the task has none.
 * Language models have input and target only, and rows of one length. */
struct oa_batch {
    int rows, length;
    const int32_t *input;          /* [rows, length] */
    const int32_t *target;         /* [rows, length]; NULL: rows have a class or a number instead */
    const int32_t *lengths;        /* [rows] lengths without padding; NULL: no padding */
    const int32_t *segments;       /* [rows, length] 0 or 1: first or second text of a pair */
    const int32_t *words;          /* [rows, length] word index of each token, from 0 */
    int source_length;             /* of the encoder's input for a decoder; 0: none */
    const int32_t *source;         /* [rows, source_length] */
    const int32_t *source_lengths; /* [rows] without padding; NULL: no padding */
    const int32_t *source_words;   /* [rows, source_length] word indices */
    const uint8_t *pixels;         /* [rows, length, P·P] of patches (patches.c) */
    const int32_t *label;          /* [rows] class, from 0 */
    const double *value;           /* [rows] number */
    bool chosen;                   /* of a decoder alone: few tokens have a target */
    long planned_targets; /* plan device, without arrays: positions with a target; 0: all */
    bool planned_padding; /* likewise: the rows have lengths */
};

/* Totals of an optimiser step, over its micro-batches. */
struct oa_amount {
    double targets; /* the divisor of a mean loss */
    double tokens;  /* input tokens without padding */
};

/* How much of a running text the steps of a training have read. */
struct oa_corpus_reading {
    char name[64]; /* "": the only corpus */
    uint64_t tokens, rows;
    double epochs;
};
struct oa_reading {
    int corpora; /* 0: no running text */
    struct oa_corpus_reading corpus[OA_CORPORA];
    double padding; /* expected fraction of padding in all rows */
};

/* Validation: every target exactly once. */
struct oa_cover {
    long batches;
    uint64_t targets; /* predicted tokens, classes or numbers: the divisor of a mean loss */
    /* Of the predicted tokens: bits/character = nats · targets / characters / ln 2. 0: no text. */
    uint64_t characters, bytes;
};

/* Batches of the training, validation or test data. Kinds: rows of a text (below), examples
 * (examples.h), partly hidden text (masking.h). */
struct oa_batches_kind {
    void (*amount)(void *self, uint64_t step, long accumulate, struct oa_amount *out);
    /* Micro-batch `micro`, from 0, of step `step`, from 1: a function of (seed, step, micro). */
    enum oa_error (*random)(void *self, uint64_t step, long accumulate, long micro,
                            struct oa_batch *out);
    enum oa_error (*cover)(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                           struct oa_cover *out);
    enum oa_error (*window)(void *self, long i, struct oa_batch *out);
    /* The example of each row of window i; NULL: the rows are no examples. */
    const uint32_t *(*examples)(const void *self, long i);
    void (*close)(void *self);
    /* NULL: no running text. */
    void (*reading)(const void *self, uint64_t steps, long accumulate, struct oa_reading *out);
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
void oa_batches_reading(const struct oa_batches *b, uint64_t steps, long accumulate,
                        struct oa_reading *out);
/* limit: the most targets; 0: all. */
enum oa_error oa_batches_cover(struct oa_batches *b, const struct oa_tokenizer *tok, uint64_t limit,
                               struct oa_cover *out);
/* i in 0 … batches-1 of the last oa_batches_cover. */
enum oa_error oa_batches_window(struct oa_batches *b, long i, struct oa_batch *out);
/* The example of each row of that batch, valid until the next cover; NULL: the rows are no
 * examples. */
const uint32_t *oa_batches_examples(const struct oa_batches *b, long i);

/* Rows of a text for language models. Training, OA_ORDER_RANDOM: random crops as in nanoGPT, each
 * from a uniform position 0 … count-length-1, a function of (seed, step, micro·rows + row):
 * stateless, and the same for 4 micro-batches of 8 rows as for 1 of 32. OA_ORDER_EPOCH: every row
 * once an epoch (training_rows.h). Validation: consecutive windows, so that each token but the
 * first is a target exactly once. Rows end with their document for OA_BORDERS_SEPARATE. A row that
 * is not full is padded with input 0 and target OA_IGNORED, and the batch has lengths; the last
 * batch of a validation may have fewer rows. The tokens are borrowed. Nothing is allocated after
 * this call. Needs 2 tokens; random crops need length + 1. */
struct oa_text_batching {
    int rows, length;
    uint64_t seed;
    enum oa_data_order order;
    enum oa_document_borders borders;
};
enum oa_error oa_text_batches_open(oa_context *c, const struct oa_tokens *tokens,
                                   const struct oa_text_batching *how, struct oa_batches **out);
/* The same, in random order and across documents. */
enum oa_error oa_batches_open(oa_context *c, const struct oa_tokens *tokens, int rows, int length,
                              uint64_t seed, struct oa_batches **out);

#endif
