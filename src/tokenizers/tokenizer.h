/* SPDX-License-Identifier: Apache-2.0
 *
 * tokenizers: text → ids, and back.
 *
 *     oa_tokenizer_open(c, "bpe:1000", train_files, valid_files, &tok);
 *     oa_tokenizer_encode(tok, text, length, &ids);
 *
 * Text is bytes. Nothing is normalised, no newline is translated, no byte is lost:
 * decode(encode(text)) = text for every kind that the library makes, but for the unknown words of
 * word:N. docs/tokenizers.md says what equals Hugging Face and how that was measured.
 */
#ifndef ORTHANT_TOKENIZER_H
#define ORTHANT_TOKENIZER_H

#include "tokenizers/text.h"

/* Kinds.
 * char  one token a character (code point), ids in order of code points, as nanoGPT: tiny
 * Shakespeare has ids 0 … 64. A character that is not in the vocabulary is refused by name and
 * position, and so is text that is not UTF-8; a loaded file may map it to its unk_token instead.
 * byte  256 tokens, id = byte.
 * bpe   byte-level byte-pair encoding with the GPT-2 split into words. Bytes that are not UTF-8 are
 * encoded as they are: each maximal invalid stretch is a word of its own. ids   no text: id n is
 * written "n", with blanks between. word  the words of the same split that the training text has
 * most often, each with the blank before it; every other one is "<unk>", which decoding does not
 * undo. One tokenizer is used from one thread at a time (encoding keeps a cache). */
enum oa_tokenizer_kind {
    OA_TOKENIZER_CHAR,
    OA_TOKENIZER_BYTE,
    OA_TOKENIZER_BPE,
    OA_TOKENIZER_IDS,
    OA_TOKENIZER_WORD
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

/* spec: "char", "byte", "bpe:N" (N tokens in all, at least 256), "bpe" (N by the size of
 * the text), "word:N" (N with <unk>, at least 2), "ids", "ids:N" or
 * the path of a tokenizer.json. char collects the characters of both lists; bpe and word are
 * trained on train_files alone; ids takes the largest id of both lists of *.bin. Either list may be
 * empty or NULL. */
enum oa_error oa_tokenizer_open(oa_context *c, const char *spec, const char *train_files,
                                const char *valid_files, struct oa_tokenizer **out);
/* The same from texts in memory; no ids without their number. valid may be NULL. */
enum oa_error oa_tokenizer_open_texts(oa_context *c, const char *spec, const struct oa_text *train,
                                      const struct oa_text *valid, struct oa_tokenizer **out);
/* tokenizer.json of the Hugging Face tokenizers library: byte-level BPE, or the WordLevel forms
 * that save writes for char, word and ids. Whatever would change the ids and is not known here is
 * refused by name; padding, truncation and post-processor are kept for saving and not applied (as
 * add_special_tokens=False), which is logged. */
enum oa_error oa_tokenizer_load(oa_context *c, const char *path, struct oa_tokenizer **out);
enum oa_error
oa_tokenizer_parse(oa_context *c, const char *name, const char *json, size_t length,
                   struct oa_tokenizer **out); /* the same from memory; name is for messages */
enum oa_error oa_tokenizer_save(oa_context *c, const struct oa_tokenizer *tok, const char *path);
/* Of the bytes that oa_tokenizer_save writes: what tells two tokenizers apart. */
enum oa_error oa_tokenizer_digest(oa_context *c, const struct oa_tokenizer *tok,
                                  struct oa_digest *out);
/* Trains on what the reader gives; size 0: as many tokens as suit the size of the text
 * (bpe_train.c). Same text, same merges as BpeTrainer with the ByteLevel alphabet. */
enum oa_error oa_tokenizer_train_bpe(oa_context *c, struct oa_reader *text, long size,
                                     struct oa_tokenizer **out);
void oa_tokenizer_close(struct oa_tokenizer *tok);
/* Both read every text alike, with the same ids, tokens that were added apart (same_tokens.c). */
bool oa_tokenizers_agree(const struct oa_tokenizer *a, const struct oa_tokenizer *b);

enum oa_tokenizer_kind oa_tokenizer_kind(const struct oa_tokenizer *tok);
oa_context *oa_tokenizer_context(const struct oa_tokenizer *tok);
const char *
oa_tokenizer_kind_name(const struct oa_tokenizer *tok); /* "char", "bpe", … or "patch:8" */
int32_t
oa_tokenizer_size(const struct oa_tokenizer *tok); /* largest id + 1: rows of an embedding */
/* The spelling of an id in the file ("Ġthe"), NULL for an id without a token; and back, -1 when
 * there is none. */
const char *oa_tokenizer_piece(const struct oa_tokenizer *tok, int32_t id);
int32_t oa_tokenizer_find(const struct oa_tokenizer *tok, const char *piece);
/* The bytes that an id stands for; they may be part of a character. Streaming output is one call a
 * token. */
const char *oa_tokenizer_bytes(const struct oa_tokenizer *tok, int32_t id, size_t *length);
/* Adds a special token such as "</s>" (found in the text before anything else), or finds it. */
enum oa_error oa_tokenizer_add_special(struct oa_tokenizer *tok, const char *content, int32_t *id);
bool oa_tokenizer_is_special(const struct oa_tokenizer *tok, int32_t id);
/* mark [oa_tokenizer_size]: 1 for each special token; others stay as they are. */
void oa_tokenizer_mark_special(const struct oa_tokenizer *tok, uint8_t *mark);
int32_t oa_tokenizer_unknown(
    const struct oa_tokenizer *tok); /* the token of what the vocabulary lacks; -1: none */

/* patches.c: "patch:P", the tokenizer of pictures whose tokens are squares of P x P pixels. All
 * have one id; the pixels stand beside the ids (struct oa_batch). */
#define OA_PATCHES "patch:"
enum { OA_PATCH_ID = 0, OA_PICTURE_SIDE = 32 };
enum oa_error oa_tokenizer_make_patches(oa_context *c, const char *spec, struct oa_tokenizer **out);
long oa_tokenizer_patch(const struct oa_tokenizer *tok); /* P; 0: its tokens are no patches */
/* Appends the patches of a picture, row by row: an id for each, and behind one another their
 * pixels, each patch row by row. name: for messages. */
enum oa_error oa_patches_encode(const struct oa_tokenizer *tok, const char *name,
                                const char *picture, size_t length, struct oa_ids *ids,
                                struct oa_text *pixels);

/* Appends the ids of a text; appends the bytes of ids. An id out of range is an error that names
 * it. */
enum oa_error oa_tokenizer_encode(struct oa_tokenizer *tok, const char *text, size_t length,
                                  struct oa_ids *ids);
/* The same for what a user wrote: special tokens in it are text like any other. name: FILE, line N,
 * for messages. words: NULL, or gets a number for each id, that of its word: from 0, or one more
 * than the last number there, rising by 0 or 1. Words are those of the tokenizer's split (char and
 * byte: of the split of bpe:N), so the blank before a word is of it, and signs stand alone; white
 * space that is a word to the split is of the word before it, at the beginning of the text of the
 * one behind. Added tokens are words of their own, and so is every id of a tokenizer of ids. */
enum oa_error oa_tokenizer_encode_text(struct oa_tokenizer *tok, const char *name, const char *text,
                                       size_t length, struct oa_ids *ids, struct oa_ids *words);
enum oa_error oa_tokenizer_decode(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                                  struct oa_text *out);
/* The ids of a part of a text; messages name the source and count lines from its beginning. */
struct oa_text_source {
    const char *name, *text;
    size_t length;
};
enum oa_error oa_tokenizer_encode_part(struct oa_tokenizer *tok,
                                       const struct oa_text_source *source, const char *text,
                                       size_t length, struct oa_ids *ids);

#endif
