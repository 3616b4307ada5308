/* SPDX-License-Identifier: Apache-2.0
 *
 * data: text → tokens → batches. Read in this order: text, tokenizers, corpus, batches. A run does
 *
 *     oa_tokenizer_open(c, "bpe:1000", train_files, valid_files, &tok);
 *     oa_corpus_open(c, tok, train_files, valid_files, 0.1, &corpus);
 *     oa_batches_open(c, &corpus.train, 12, 64, seed, &train);           for each step, micro-batch:
 *     oa_batches_random(train, step, micro, &batch);
 *     oa_batches_open(c, &corpus.valid, 12, 64, 0, &valid);
 *     oa_batches_cover(valid, tok, eval_tokens, &cover);                 for i in 0 … cover.batches-1:
 *     oa_batches_window(valid, i, &batch);
 *
 * Lists of files are written with commas between, read as if by cat (end to end, nothing in between); gzip is unpacked.
 * Text is bytes. Nothing is normalised, no newline is translated, no byte is lost: decode(encode(text)) = text for
 * every kind that the library makes. docs/tokenizers.md says what equals Hugging Face and how that was measured.
 */
#ifndef ORTHANT_DATA_H
#define ORTHANT_DATA_H

#include "base/base.h"

/* ---- text ---------------------------------------------------------------------------------------------------- */

/* Reads a list of files in pieces, in bounded memory. */
struct oa_reader;
enum oa_error oa_reader_open(oa_context *c, const char *files, struct oa_reader **out);
/* The same over a text in memory, which is borrowed. */
enum oa_error oa_reader_open_text(oa_context *c, const char *text, size_t length, struct oa_reader **out);
/* The next piece, valid until the next call; *length is 0 at the end of the last file. */
enum oa_error oa_reader_next(struct oa_reader *r, const char **piece, size_t *length);
void oa_reader_close(struct oa_reader *r);
/* All files of a list in one buffer with a 0 behind it; oa_free it. */
enum oa_error oa_files_read(oa_context *c, const char *files, char **data, size_t *length);

/* Characters of a text: bytes that do not continue a UTF-8 sequence (so invalid text has a count as well). */
uint64_t oa_text_characters(const char *text, size_t length);
/* Code point at text[0 … length-1] and its length in bytes, 0 where the bytes are not UTF-8 (RFC 3629). */
int oa_utf8_decode(const char *text, size_t length, uint32_t *code);
int oa_utf8_encode(uint32_t code, char out[4]);

/* ---- tokenizers ---------------------------------------------------------------------------------------------- */

/* Kinds.
 * char  one token a character (code point), ids in order of code points, as nanoGPT: tiny Shakespeare has ids 0 … 64.
 *       A character that is not in the vocabulary is refused by name and position, and so is text that is not UTF-8;
 *       a loaded file may map it to its unk_token instead.
 * byte  256 tokens, id = byte.
 * bpe   byte-level byte-pair encoding with the GPT-2 split into words. Bytes that are not UTF-8 are encoded as they
 *       are: each maximal invalid stretch is a word of its own.
 * ids   no text: id n is written "n", with blanks between.
 * word  the words of the same split that the training text has most often, each with the blank before it; every other
 *       one is "<unk>", which decoding does not undo.
 * One tokenizer is used from one thread at a time (encoding keeps a cache). */
enum oa_tokenizer_kind { OA_TOKENIZER_CHAR, OA_TOKENIZER_BYTE, OA_TOKENIZER_BPE, OA_TOKENIZER_IDS, OA_TOKENIZER_WORD };
struct oa_tokenizer;

/* A growable array of token ids. */
struct oa_ids {
    oa_context *context;
    int32_t *id;
    size_t count, capacity;
};
void oa_ids_init(struct oa_ids *ids, oa_context *c);
void oa_ids_free(struct oa_ids *ids);
enum oa_error oa_ids_add(struct oa_ids *ids, int32_t id);

/* spec: "char", "byte", "bpe:N" (N tokens in all, at least 256), "word:N" (N with <unk>, at least 2), "ids", "ids:N" or
 * the path of a tokenizer.json. char collects the characters of both lists; bpe and word are trained on train_files
 * alone; ids takes the largest id of both lists of *.bin. Either list may be empty or NULL. */
enum oa_error oa_tokenizer_open(oa_context *c, const char *spec, const char *train_files, const char *valid_files,
                                struct oa_tokenizer **out);
/* The same from texts in memory; no ids without their number. valid may be NULL. */
enum oa_error oa_tokenizer_open_texts(oa_context *c, const char *spec, const struct oa_text *train,
                                      const struct oa_text *valid, struct oa_tokenizer **out);
/* tokenizer.json of the Hugging Face tokenizers library: byte-level BPE, or the WordLevel forms that save writes for
 * char, word and ids. Whatever would change the ids and is not known here is refused by name; padding, truncation and
 * post-processor are kept for saving and not applied (as add_special_tokens=False), which is logged. */
enum oa_error oa_tokenizer_load(oa_context *c, const char *path, struct oa_tokenizer **out);
enum oa_error oa_tokenizer_parse(oa_context *c, const char *name, const char *json, size_t length,
                                 struct oa_tokenizer **out); /* the same from memory; name is for messages */
enum oa_error oa_tokenizer_save(oa_context *c, const struct oa_tokenizer *tok, const char *path);
/* Of the bytes that oa_tokenizer_save writes: what tells two tokenizers apart. */
enum oa_error oa_tokenizer_digest(oa_context *c, const struct oa_tokenizer *tok, struct oa_digest *out);
/* Trains on what the reader gives. Same text, same merges as BpeTrainer with the ByteLevel alphabet. */
enum oa_error oa_tokenizer_train_bpe(oa_context *c, struct oa_reader *text, long size, struct oa_tokenizer **out);
void oa_tokenizer_close(struct oa_tokenizer *tok);
/* Both read every text alike, with the same ids, tokens that were added apart (same_tokens.c). */
bool oa_tokenizers_agree(const struct oa_tokenizer *a, const struct oa_tokenizer *b);

const char *oa_tokenizer_kind_name(const struct oa_tokenizer *tok); /* "char", "byte", "bpe", "ids", "word" */
int32_t oa_tokenizer_size(const struct oa_tokenizer *tok);          /* largest id + 1: rows of an embedding */
/* The spelling of an id in the file ("Ġthe"), NULL for an id without a token; and back, -1 when there is none. */
const char *oa_tokenizer_piece(const struct oa_tokenizer *tok, int32_t id);
int32_t oa_tokenizer_find(const struct oa_tokenizer *tok, const char *piece);
/* The bytes that an id stands for; they may be part of a character. Streaming output is one call a token. */
const char *oa_tokenizer_bytes(const struct oa_tokenizer *tok, int32_t id, size_t *length);
/* Adds a special token such as "</s>" (found in the text before anything else), or finds it. */
enum oa_error oa_tokenizer_add_special(struct oa_tokenizer *tok, const char *content, int32_t *id);
bool oa_tokenizer_is_special(const struct oa_tokenizer *tok, int32_t id);

/* patches.c: "patch:P", the tokenizer of pictures whose tokens are squares of P x P pixels. All have one id; the pixels
 * stand beside the ids (struct oa_batch). */
#define OA_PATCHES "patch:"
enum { OA_PATCH_ID = 0, OA_PICTURE_SIDE = 32 };
enum oa_error oa_tokenizer_make_patches(oa_context *c, const char *spec, struct oa_tokenizer **out);
long oa_tokenizer_patch(const struct oa_tokenizer *tok); /* P; 0: its tokens are no patches */

/* Appends the ids of a text; appends the bytes of ids. An id out of range is an error that names it. */
enum oa_error oa_tokenizer_encode(struct oa_tokenizer *tok, const char *text, size_t length, struct oa_ids *ids);
/* The same for what a user wrote: special tokens in it are text like any other. name: FILE, line N, for messages.
 * words: NULL, or gets a number for each id, that of its word: from 0, or one more than the last number there, rising
 * by 0 or 1. Words are those of the tokenizer's split (char and byte: of the split of bpe:N), so the blank before a
 * word is of it, and signs stand alone; white space that is a word to the split is of the word before it, at the
 * beginning of the text of the one behind. Added tokens are words of their own, and so is every id of a tokenizer of
 * ids. */
enum oa_error oa_tokenizer_encode_text(struct oa_tokenizer *tok, const char *name, const char *text, size_t length,
                                       struct oa_ids *ids, struct oa_ids *words);
enum oa_error oa_tokenizer_decode(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                                  struct oa_text *out);

/* ---- corpus -------------------------------------------------------------------------------------------------- */

/* One side of a corpus: token ids end to end, and what they were made from. */
struct oa_tokens {
    int32_t *ids;
    size_t count;
    uint64_t characters, bytes; /* 0: there is no text, only ids */
    const char *name;           /* "training text", "validation text": for messages */
    /* SHA-256 of the text, unpacked and cut, or of the ids (int32) that came without it: checkpoints and contests
     * notice another text */
    struct oa_digest digest;
};

struct oa_corpus {
    struct oa_tokens train, valid; /* valid.count is 0 when nothing was kept */
};

/* Without valid_files the last valid_fraction of the training text is kept for validation: of L characters the first
 * ⌊L·(1 − fraction)⌋ train. The cut is made in the text before encoding and is the same for every tokenizer, so that
 * bits per character compare. Encoding takes the memory of the text and four bytes a token.
 * Files named *.bin hold token ids (nanoGPT, llm.c: id_files.c) and are cut between tokens; an id that the tokenizer
 * does not have is refused with its place. */
enum oa_error oa_corpus_open(oa_context *c, struct oa_tokenizer *tok, const char *train_files, const char *valid_files,
                             double valid_fraction, struct oa_corpus *out);
/* The same with the validation text taken from another place: as many characters (ids), beginning at a uniform one of
 * those that leave room, a function of split_seed alone; 0: the end. The two ends that are left train, encoded apart
 * and joined, so that a row may run over the seam. Refused where nothing is cut. */
enum oa_error oa_corpus_open_split(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                                   const char *valid_files, double valid_fraction, uint64_t split_seed,
                                   struct oa_corpus *out);
void oa_corpus_close(struct oa_corpus *corpus);
/* Cuts one side into two: of n tokens the first ⌊n·(1 − fraction)⌋ are out->train, the others out->valid, which has no
 * token in common with them. The ids are borrowed from `whole`: *out is not to be closed. */
void oa_corpus_hold_out(const struct oa_tokenizer *tok, const struct oa_tokens *whole, double fraction,
                        struct oa_corpus *out);

/* corpus_overlap.c: the validation side in pieces of OA_OVERLAP_TOKENS tokens, end to end, and how many of them stand
 * somewhere in the training side. Time grows with the sum of both; memory with the validation side, one to two bytes a
 * token. OA_NO_MEMORY. */
enum { OA_OVERLAP_TOKENS = 64 };
struct oa_text_overlap {
    uint64_t pieces, found;
};
enum oa_error oa_corpus_overlap(oa_context *c, const struct oa_corpus *corpus, struct oa_text_overlap *out);

/* ---- batches ------------------------------------------------------------------------------------------------- */

#define OA_IGNORED (-1) /* a target that is not there: no loss, no gradient */

/* What a model is given at once: row-major arrays on the host, valid until the next call. Language models have rows of
 * one length and nothing else than input and target. */
struct oa_batch {
    int rows, length;
    const int32_t *input, *target; /* [rows, length]; target NULL: the rows have a class or a number instead */
    const int32_t *lengths;        /* [rows] true lengths, the rest is padding; NULL: all rows are whole */
    const int32_t *segments;       /* [rows, length] 0 or 1: which text of a pair; NULL: there are no pairs */
    const int32_t *words;          /* [rows, length] word numbers, from 0, rising by 0 or 1; NULL: nobody asked */
    int source_length;             /* of what an encoder reads for a decoder; 0: there is none */
    const int32_t *source;         /* [rows, source_length] */
    const int32_t *source_lengths; /* [rows]; NULL: all are whole */
    const int32_t *source_words;   /* [rows, source_length]; NULL: nobody asked */
    const uint8_t *pixels;         /* [rows, length, P·P] of tokens that are patches (patches.c); NULL: none are */
    const int32_t *label;          /* [rows] class, from 0; NULL: none */
    const double *value;           /* [rows] number; NULL: none */
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
    uint64_t characters,
        bytes; /* of the predicted tokens: bits/character = nats · targets / characters / ln 2. 0: no text */
};

/* Batches of one side of the data, of which there are kinds: rows of a text (below), and those that tasks make. */
struct oa_batches_kind {
    void (*amount)(void *self, uint64_t step, long accumulate, struct oa_amount *out);
    /* Micro-batch number micro, from 0, of step `step`, from 1: a function of both and of the seed alone. */
    enum oa_error (*random)(void *self, uint64_t step, long accumulate, long micro, struct oa_batch *out);
    enum oa_error (*cover)(void *self, const struct oa_tokenizer *tok, uint64_t limit, struct oa_cover *out);
    enum oa_error (*window)(void *self, long i, struct oa_batch *out);
    const uint32_t *(*examples)(const void *self,
                                long i); /* of window i, the example of each row; NULL: there are none */
    void (*close)(void *self);
};
struct oa_batches {
    const struct oa_batches_kind *kind;
    void *self; /* of the kind */
};
enum oa_error oa_batches_wrap(oa_context *c, const struct oa_batches_kind *kind, void *self, struct oa_batches **out);
void oa_batches_close(struct oa_batches *b);
void oa_batches_amount(struct oa_batches *b, uint64_t step, long accumulate, struct oa_amount *out);
enum oa_error oa_batches_random(struct oa_batches *b, uint64_t step, long accumulate, long micro, struct oa_batch *out);
/* limit: at most so many targets, 0 = all. */
enum oa_error oa_batches_cover(struct oa_batches *b, const struct oa_tokenizer *tok, uint64_t limit,
                               struct oa_cover *out);
/* i in 0 … batches-1 of the last oa_batches_cover. */
enum oa_error oa_batches_window(struct oa_batches *b, long i, struct oa_batch *out);
/* The numbers of the examples that the rows of that batch are, valid until the next cover; NULL: they are none. */
const uint32_t *oa_batches_examples(const struct oa_batches *b, long i);

/* Rows of a text. Training: random crops as nanoGPT, each from a uniform position 0 … count-length-1, a function of
 * (seed, step, micro·rows + row) alone: free of history, and equal for 4 micro-batches of 8 rows and for 1 of 32.
 * Validation: windows end to end in text order, so each token but the first is a target exactly once. The last window
 * is filled with input 0 and target OA_IGNORED; the last batch may have fewer rows. The tokens are borrowed. After this
 * call nothing allocates. Fewer than 2 tokens are refused here, fewer than length + 1 by oa_batches_random. */
enum oa_error oa_batches_open(oa_context *c, const struct oa_tokens *tokens, int rows, int length, uint64_t seed,
                              struct oa_batches **out);

#endif
