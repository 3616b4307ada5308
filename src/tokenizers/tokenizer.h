/* SPDX-License-Identifier: Apache-2.0
 * tokenizers: text → ids, and back.
 *
 *     oa_tokenizer_open(c, "bpe:1000", train_files, valid_files, &tok);
 *     oa_tokenizer_encode(tok, text, length, &ids);
 *
 * Text is bytes, without normalisation or newline translation: decode(encode(text)) = text for all
 * kinds that the library makes, except unknown words of word:N. Compatibility with Hugging Face:
 * docs/tokenizers.md. */
#ifndef ORTHANT_TOKENIZER_H
#define ORTHANT_TOKENIZER_H

#include "tokenizers/text.h"

/* Kinds:
 *
 *     char  a token per character (code point), ids in order of code points, as nanoGPT. Characters
 *           that are not in the vocabulary and invalid UTF-8 are errors, unless a loaded file has
 *           an unk_token.
 *     byte  256 tokens, id = byte
 *     bpe   byte-level byte-pair encoding with GPT-2's split into words; each maximal invalid
 *           stretch of bytes is a word
 *     ids   no text: id n is written "n", separated by blanks
 *     word  the most frequent words of the same split, each with the blank before it; others are
 *           "<unk>"
 *     wordpiece, unigram, marian, and bpe over characters: of loaded files only
 *
 * A tokenizer is not thread-safe: encoding uses a cache. */
enum oa_tokenizer_kind {
    OA_TOKENIZER_CHAR,
    OA_TOKENIZER_BYTE,
    OA_TOKENIZER_BPE,
    OA_TOKENIZER_IDS,
    OA_TOKENIZER_WORD,
    OA_TOKENIZER_WORDPIECE,
    OA_TOKENIZER_UNIGRAM,
    OA_TOKENIZER_MARIAN
};
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
enum oa_error oa_ids_append(struct oa_ids *ids, const int32_t *id, size_t count);

/* spec: "char", "byte", "bpe:N" (N tokens with the 256 bytes), "bpe" (N by the size of the text),
 * "word:N" (N with <unk>, at least 2), "ids", "ids:N" or the path of a tokenizer.json. char
 * collects the characters of both lists; bpe and word are trained on train_files only; ids takes
 * the largest id of both lists of *.bin. Either list may be empty or NULL. */
enum oa_error oa_tokenizer_open(oa_context *c, const char *spec, const char *train_files,
                                const char *valid_files, struct oa_tokenizer **out);
/* The same from texts in memory, without "ids". valid may be NULL. */
enum oa_error oa_tokenizer_open_texts(oa_context *c, const char *spec, const struct oa_text *train,
                                      const struct oa_text *valid, struct oa_tokenizer **out);
/* tokenizer.json of Hugging Face tokenizers: BPE, WordPiece, Unigram, or WordLevel as saved for
 * char, word and ids; or *.model and *.spm of SentencePiece. Unsupported parts that would change
 * ids are rejected by name; padding, truncation and post-processor are kept for saving but not
 * applied (as add_special_tokens=False). */
enum oa_error oa_tokenizer_load(oa_context *c, const char *path, struct oa_tokenizer **out);
/* Logs which of these the file has, unless they have no effect. */
void oa_tokenizer_note_unapplied(const struct oa_tokenizer *tok, const char *name);
/* The same from memory. name: for messages. */
enum oa_error oa_tokenizer_parse(oa_context *c, const char *name, const char *json, size_t length,
                                 struct oa_tokenizer **out);
/* marian_tokenizer.c: reads source.spm, target.spm and vocab.json of a folder; whether it has one
 * of the first two; writes the three. */
enum oa_error oa_tokenizer_load_marian(oa_context *c, const char *folder,
                                       struct oa_tokenizer **out);
bool oa_marian_files_exist(oa_context *c, const char *folder);
enum oa_error oa_tokenizer_save_marian(oa_context *c, const struct oa_tokenizer *tok,
                                       const char *folder);
/* The tokenizer for texts that a decoder writes: another one for Marian, owned by tok. */
struct oa_tokenizer *oa_tokenizer_of_targets(struct oa_tokenizer *tok);
enum oa_error oa_tokenizer_save(oa_context *c, const struct oa_tokenizer *tok, const char *path);
/* SHA-256 of the bytes that oa_tokenizer_save writes. */
enum oa_error oa_tokenizer_digest(oa_context *c, const struct oa_tokenizer *tok,
                                  struct oa_digest *out);
/* Trains on the text of the reader, with the merges of Hugging Face's BpeTrainer (ByteLevel
 * alphabet). size 0: by the size of the text. */
enum oa_error oa_tokenizer_train_bpe(oa_context *c, struct oa_reader *text, long size,
                                     struct oa_tokenizer **out);
void oa_tokenizer_close(struct oa_tokenizer *tok);
/* Whether both encode every text the same, without regard to added tokens. */
bool oa_tokenizers_agree(const struct oa_tokenizer *a, const struct oa_tokenizer *b);

enum oa_tokenizer_kind oa_tokenizer_kind_of(const struct oa_tokenizer *tok);
/* Whether an id written after the text would be read as more digits of its last one. */
bool oa_ids_are_joined(const struct oa_tokenizer *tok, const char *text, size_t length);
oa_context *oa_tokenizer_context(const struct oa_tokenizer *tok);
const char *
oa_tokenizer_kind_name(const struct oa_tokenizer *tok); /* "char", "bpe", … or "patch:8" */
int32_t
oa_tokenizer_size(const struct oa_tokenizer *tok); /* largest id + 1: rows of an embedding */
/* The token of an id as in tokenizer.json ("Ġthe"), NULL: none; and the id of a token, -1: none. */
const char *oa_tokenizer_piece(const struct oa_tokenizer *tok, int32_t id);
int32_t oa_tokenizer_find(const struct oa_tokenizer *tok, const char *piece);
/* The bytes of an id, which may be part of a character. */
const char *oa_tokenizer_bytes(const struct oa_tokenizer *tok, int32_t id, size_t *length);
/* Finds or adds a special token such as "</s>". "[CLS]", "[SEP]" and "[MASK]" are "<s>", "</s>" and
 * "<mask>" where a tokenizer has these three as special tokens, and not the first (RoBERTa). */
enum oa_error oa_tokenizer_add_special(struct oa_tokenizer *tok, const char *content, int32_t *id);
int32_t oa_tokenizer_find_special(const struct oa_tokenizer *tok, const char *content); /* or -1 */
/* How many of the token that ends a text are between two: RoBERTa has "</s></s>". */
int oa_tokenizer_separators(const struct oa_tokenizer *tok, const char *content);
bool oa_tokenizer_is_special(const struct oa_tokenizer *tok, int32_t id);
/* Sets mark [oa_tokenizer_size] to 1 for each special token. */
void oa_tokenizer_mark_special(const struct oa_tokenizer *tok, uint8_t *mark);
int32_t oa_tokenizer_unknown(const struct oa_tokenizer *tok); /* the id of unk_token; -1: none */

/* patches.c: "patch:P", the tokenizer of pictures in patches of P x P pixels. All patches have the
 * same id; their pixels are passed separately (struct oa_batch). */
#define OA_PATCHES "patch:"
enum { OA_PATCH_ID = 0, OA_PICTURE_SIDE = 32 };
enum oa_error oa_tokenizer_make_patches(oa_context *c, const char *spec, struct oa_tokenizer **out);
long oa_tokenizer_patch(const struct oa_tokenizer *tok); /* P; 0: not a tokenizer of patches */
/* Appends the ids and pixels of the patches of a picture, in row-major order. name: for messages.
 */
enum oa_error oa_patches_encode(const struct oa_tokenizer *tok, const char *name,
                                const char *picture, size_t length, struct oa_ids *ids,
                                struct oa_text *pixels);

/* Encode and decode append to *ids and *out. */
enum oa_error oa_tokenizer_encode(struct oa_tokenizer *tok, const char *text, size_t length,
                                  struct oa_ids *ids);
/* The same for user text, in which special tokens are plain text. name: "FILE, line N", for
 * messages. words: NULL, or gets the word index of each id, from 0 or one more than its last
 * element, rising by 0 or 1. Words are those of the tokenizer's split (char and byte: of bpe:N),
 * with the blank before a word; other white space belongs to the previous word, at the beginning to
 * the next one. Added tokens are words, and so is each id of a tokenizer of ids. */
enum oa_error oa_tokenizer_encode_text(struct oa_tokenizer *tok, const char *name, const char *text,
                                       size_t length, struct oa_ids *ids, struct oa_ids *words);
/* Appends the ids of a text, or of two (pair not NULL), with the special tokens around them that
 * the post_processor of a loaded file has, and to types (not NULL) which text each is of. */
enum oa_error oa_tokenizer_add_specials(const struct oa_tokenizer *tok, const struct oa_ids *text,
                                        const struct oa_ids *pair, struct oa_ids *out,
                                        struct oa_ids *types);
enum oa_error oa_tokenizer_decode(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                                  struct oa_text *out);
/* The ids of a part of a text; messages name the source and its line. */
struct oa_text_source {
    const char *name, *text;
    size_t length;
};
enum oa_error oa_tokenizer_encode_part(struct oa_tokenizer *tok,
                                       const struct oa_text_source *source, const char *text,
                                       size_t length, struct oa_ids *ids);
/* Whether a text can be encoded piece by piece with the ids that it has as a whole: not with a
 * normaliser, several splits, or added tokens that take white space with them. */
bool oa_tokenizer_streams(const struct oa_tokenizer *tok);
/* Encodes as oa_tokenizer_encode_part what no later text can change; *consumed: where the rest
 * begins, which is passed again with the text after it. last: no text follows. */
enum oa_error oa_tokenizer_encode_settled(struct oa_tokenizer *tok, const char *name,
                                          const char *text, size_t length, bool last,
                                          struct oa_ids *ids, size_t *consumed);

#endif
