/* SPDX-License-Identifier: Apache-2.0
 * Parts of tokenizers. Private to tokenizers/. */
#ifndef ORTHANT_TOKENIZER_PARTS_H
#define ORTHANT_TOKENIZER_PARTS_H

#include "base/reserve.h"
#include "tokenizers/text.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/word_table.h"

#include <jansson.h>
#include <string.h>

#define OA_MOST_IDS 4194304 /* the largest vocabulary that a model can have (model.vocabulary) */
#define OA_SPACE_PIECE "\xe2\x96\x81" /* "▁", a blank in pieces of SentencePiece */
#define OA_TRAINING_MARGIN 64 /* bytes: the GPT-2 pattern looks at most two characters ahead */

/* ---- the byte alphabet ---- */

/* The GPT-2 alphabet represents each byte by one printable character: 0x20 is "Ġ" (U+0120). */
uint32_t oa_byte_to_code(uint8_t byte);
int oa_code_to_byte(uint32_t code); /* -1: not in the alphabet */
void oa_byte_spell(struct oa_text *out, const char *bytes, size_t n);
/* The bytes of a piece in the alphabet; false: a character is not in it. */
bool oa_byte_unspell(struct oa_text *out, const char *piece, size_t n);

/* ---- vocabulary ---- */

/* id ↔ piece, and the bytes of each id. Ids may have holes. */
struct oa_vocabulary {
    oa_context *context;
    struct oa_words pieces;
    int32_t *id_of; /* by index in pieces */
    size_t id_of_capacity;
    int32_t *number_of; /* index in pieces, by id; -1: hole */
    size_t number_of_capacity;
    int32_t size;        /* largest id + 1 */
    int32_t model_size;  /* pieces of the model, which precede the added ones */
    struct oa_text pool; /* bytes, by index in pieces: pool.s[start[n] … start[n + 1] - 1] */
    size_t *start;
    size_t start_capacity;
};
void oa_vocabulary_init(struct oa_vocabulary *v, oa_context *c);
void oa_vocabulary_free(struct oa_vocabulary *v);
/* OA_FORMAT: the piece or the id is there already. where: for messages. */
enum oa_error oa_vocabulary_add(struct oa_vocabulary *v, const char *where, const char *piece,
                                size_t n, int32_t id, const char *bytes, size_t byte_count);
int32_t oa_vocabulary_find(const struct oa_vocabulary *v, const char *piece, size_t n);
/* The same without added tokens. */
int32_t oa_vocabulary_model_find(const struct oa_vocabulary *v, const char *piece, size_t n);
const char *oa_vocabulary_piece(const struct oa_vocabulary *v, int32_t id);
const char *oa_vocabulary_bytes(const struct oa_vocabulary *v, int32_t id, size_t *length);

/* ---- split into words ---- */

extern const char oa_gpt2_pattern[];

/* What a split does with matches (names of tokenizer.json): each is a word; dropped; part of the
 * word before or after; consecutive matches are one word. */
enum oa_split_behaviour {
    OA_SPLIT_ISOLATED,
    OA_SPLIT_REMOVED,
    OA_SPLIT_MERGED_WITH_PREVIOUS,
    OA_SPLIT_MERGED_WITH_NEXT,
    OA_SPLIT_CONTIGUOUS
};

/* A sequence of patterns, each applied to the words of the previous one. Empty: the text is one
 * word. */
struct oa_splitter {
    oa_context *context;
    struct oa_pattern *pattern;
    int count;
    bool prefix_space; /* of the split added next: prepend a blank to texts without one */
    bool inside;       /* the next text is not the beginning of the input (OA_PREPEND_FIRST) */
};
typedef enum oa_error oa_word_sink(void *argument, const char *word, size_t length);
void oa_splitter_init(struct oa_splitter *s, oa_context *c);
void oa_splitter_free(struct oa_splitter *s);
/* pattern: Oniguruma syntax (regex.h); NULL: no search. where: for messages. The first one has
 * OA_SPLIT_ISOLATED. */
enum oa_error oa_splitter_add(struct oa_splitter *s, const char *where, const char *pattern);
enum oa_error oa_splitter_add_split(struct oa_splitter *s, const char *where, const char *pattern,
                                    enum oa_split_behaviour behaviour, bool invert);
/* Metaspace: blanks become `space` (a character), which is put before texts without one at their
 * beginning: never, always, or at the beginning of the input. split: each space begins a word. */
enum oa_prepend { OA_PREPEND_NEVER, OA_PREPEND_ALWAYS, OA_PREPEND_FIRST };
enum oa_error oa_splitter_add_metaspace(struct oa_splitter *s, const char *where, const char *space,
                                        enum oa_prepend prepend, bool split);
enum oa_error oa_splitter_words(const struct oa_splitter *s, const char *text, size_t length,
                                oa_word_sink *sink, void *argument);
/* Appends the text, which is UTF-8, with `content` in place of the matches of the only pattern. */
enum oa_error oa_splitter_replace(const struct oa_splitter *s, const char *text, size_t length,
                                  const struct oa_text *content, struct oa_text *out);
/* For streamed text: only words that end at or before `settled`; *consumed: where the first
 * deferred word begins. At most one pattern. */
enum oa_error oa_splitter_settled(const struct oa_splitter *s, const char *text, size_t length,
                                  size_t settled, oa_word_sink *sink, void *argument,
                                  size_t *consumed);
bool oa_splitter_streams(const struct oa_splitter *s); /* the words of a streamed text are those of
                                                          the whole text */

/* ---- words with their counts ---- */

#define OA_MOST_WORDS (1 << 21) /* distinct words counted at a time */
struct oa_tally {
    oa_context *context;
    const char *kind; /* "bpe", "word": begins the messages */
    struct oa_splitter splitter;
    struct oa_words words;
    int64_t *count; /* by index in words */
    size_t capacity;
    int32_t most_words;
    uint64_t bytes;          /* of the text */
    long dropped;            /* words dropped so far */
    int64_t dropped_at_most; /* the highest count of a dropped word */
};
void oa_tally_init(struct oa_tally *t, oa_context *c, const char *kind, int32_t most_words);
void oa_tally_free(struct oa_tally *t);
/* Counts the words of a text, which is consumed. OA_ARGUMENT: no words. */
enum oa_error oa_tally_text(struct oa_tally *t, struct oa_reader *text);

/* ---- added tokens ---- */

struct oa_added_token {
    char *content;
    size_t length;
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
};
enum { OA_MOST_AFFIX = 32 };   /* bytes of a prefix or suffix of BPE */
enum { OA_MOST_PIECE = 1024 }; /* bytes of a piece of WordPiece, Unigram and SentencePiece */
enum { OA_MOST_ADDED = 100000, OA_MOST_ADDED_BYTES = 1024 }; /* tokens of a file; bytes of one */
/* A trie of added tokens. */
struct oa_added_set {
    oa_context *context;
    struct oa_added_token *token;
    size_t count, capacity;
    struct oa_added_node *node; /* [0] is the root */
    size_t nodes, node_capacity;
    struct oa_pairs children; /* (node, byte) → node */
    bool linked;              /* suffix links are up to date */
};
void oa_added_init(struct oa_added_set *set, oa_context *c);
void oa_added_free(struct oa_added_set *set);
enum oa_error oa_added_insert(struct oa_added_set *set, const struct oa_added_token *token);
/* The next match at or after *from: [*start, *stop), and *from moves past it; *token NULL: none.
 * settled: the end of the last match, before which white space belongs to it. plain: ignore special
 * tokens. */
enum oa_error oa_added_next(struct oa_added_set *set, const char *text, size_t length,
                            size_t settled, bool plain, size_t *from, size_t *start, size_t *stop,
                            const struct oa_added_token **token);

/* Where the white space that ends at `at` begins, and where that at `at` ends. */
size_t oa_spaces_before(const char *text, size_t at);
size_t oa_spaces_after(const char *text, size_t length, size_t at);

/* ---- tries ---- */

/* Byte strings with a value each, found byte by byte from node 0. */
struct oa_trie {
    oa_context *context;
    struct oa_pairs children; /* (node, byte) → node */
    int32_t *value;           /* by node; -1: no string ends here */
    size_t nodes, capacity;
};
void oa_trie_init(struct oa_trie *t, oa_context *c);
void oa_trie_free(struct oa_trie *t);
/* OA_UNSUPPORTED: the strings are too long together. where: for messages. */
enum oa_error oa_trie_add(struct oa_trie *t, const char *where, const char *s, size_t n,
                          int32_t value);
int32_t oa_trie_step(const struct oa_trie *t, int32_t node, uint8_t byte); /* -1: no child */
/* The node of a string, -1 when none begins so. */
int32_t oa_trie_walk(const struct oa_trie *t, const char *s, size_t n);

/* ---- normaliser ---- */

/* Steps, in the order of the file. A BertNormalizer is up to five of them. */
enum oa_normal {
    OA_NORMAL_NFC,
    OA_NORMAL_NFD,
    OA_NORMAL_NFKC,
    OA_NORMAL_NFKD,
    OA_NORMAL_LOWERCASE,
    OA_NORMALS, /* those above have names and no parameters */
    OA_NORMAL_NMT = OA_NORMALS,
    OA_NORMAL_MARKS,      /* StripAccents: drops combining marks */
    OA_NORMAL_CLEAN,      /* of BertNormalizer: drops control characters, white space is a blank */
    OA_NORMAL_IDEOGRAPHS, /* the same: blanks around CJK ideographs */
    OA_NORMAL_NONSPACING, /* the same: drops nonspacing marks */
    OA_NORMAL_PRECOMPILED,
    OA_NORMAL_REPLACE,
    OA_NORMAL_PREPEND,
    OA_NORMAL_STRIP,
    OA_NORMAL_SENTENCEPIECE /* of Marian: what SentencePiece does itself */
};
extern const char *const oa_normal_names[OA_NORMALS];
enum { OA_MOST_NORMALISERS = 8, OA_MOST_NORMAL_STEPS = 5 * OA_MOST_NORMALISERS };

/* SentencePiece's compiled table of rewritings: a double-array trie of byte strings, each with the
 * place of its replacement in a pool of 0-terminated strings. */
struct oa_charsmap {
    uint32_t *unit;
    size_t units;
    char *pool;
    size_t length;
};
/* blob: the table in base64, or its bytes. where: for messages. */
enum oa_error oa_charsmap_read(oa_context *c, const char *where, const char *base64,
                               struct oa_charsmap *out);
enum oa_error oa_charsmap_parse(oa_context *c, const char *where, const char *blob, size_t n,
                                struct oa_charsmap *out);
void oa_charsmap_free(struct oa_charsmap *m);
/* Decodes base64 and appends the bytes. Returns the index of the first invalid letter, or n. */
size_t oa_base64_bytes(const char *text, size_t n, struct oa_text *out);
/* The replacement of the longest prefix that has one; *taken: its length in bytes. NULL: none. */
const char *oa_charsmap_longest(const struct oa_charsmap *m, const char *text, size_t n,
                                size_t *taken);
/* Appends valid UTF-8 rewritten grapheme by grapheme, as the reference does. */
void oa_charsmap_apply(const struct oa_charsmap *m, const char *text, size_t n,
                       struct oa_text *out);

struct oa_text_normaliser {
    enum oa_normal kind;
    bool left, right;           /* of OA_NORMAL_STRIP */
    struct oa_text literal;     /* of OA_NORMAL_REPLACE: the replaced text; empty: see pattern */
    struct oa_splitter pattern; /* of OA_NORMAL_REPLACE: matches the replaced text */
    struct oa_text content;     /* of OA_NORMAL_REPLACE and _PREPEND */
    struct oa_charsmap map;     /* of OA_NORMAL_PRECOMPILED and _SENTENCEPIECE */
    bool dummy_prefix, single_blanks; /* of OA_NORMAL_SENTENCEPIECE (struct oa_sentencepiece) */
};
void oa_normaliser_init(struct oa_text_normaliser *n, oa_context *c, enum oa_normal kind);
void oa_normaliser_free(struct oa_text_normaliser *n);
/* Normalises the text in place; bytes that are not UTF-8 are kept. *cut: its first characters were
 * dropped; may be NULL. */
enum oa_error oa_normalise(oa_context *c, const struct oa_text_normaliser *steps, int count,
                           struct oa_text *text, bool *cut);
/* Appends what OA_NORMAL_SENTENCEPIECE makes of a text. */
void oa_normal_sentencepiece(const struct oa_text_normaliser *step, const char *text, size_t n,
                             struct oa_text *out);
/* The steps that look at one character at a time. */
void oa_normal_characters(enum oa_normal kind, const char *text, size_t n, struct oa_text *out);
/* Appends a pattern of a character that is punctuation to BertPreTokenizer and Punctuation. */
void oa_add_punctuation_set(struct oa_text *out);
/* Appends the text with every `old` replaced. */
void oa_replace_literal(const char *text, size_t n, const struct oa_text *old,
                        const struct oa_text *content, struct oa_text *out);

/* ---- decoder ---- */

enum oa_decoding_kind {
    OA_DECODE_BYTE_FALLBACK,
    OA_DECODE_BYTE_LEVEL,
    OA_DECODE_FUSE,
    OA_DECODE_METASPACE,
    OA_DECODE_REPLACE,
    OA_DECODE_STRIP,
    OA_DECODE_SUFFIX, /* BPEDecoder */
    OA_DECODE_WORDPIECE
};
struct oa_decoding_step {
    enum oa_decoding_kind kind;
    struct oa_text_normaliser replace; /* of OA_DECODE_REPLACE */
    struct oa_text mark;               /* replacement, suffix, prefix or stripped character */
    long start, stop;                  /* of OA_DECODE_STRIP: at most so many characters */
    bool drop_first;                   /* of OA_DECODE_METASPACE: no blanks in the first token */
    bool clean;                        /* of OA_DECODE_WORDPIECE: no blank before punctuation */
};
enum { OA_MOST_DECODERS = 16 };
/* Steps from tokens to text. None: tokens are separated by blanks. */
struct oa_decoder {
    struct oa_decoding_step step[OA_MOST_DECODERS];
    int count;
};
void oa_decoder_free(struct oa_decoder *d);
/* Appends the text of a token in the middle of others. */
enum oa_error oa_decoder_bytes(oa_context *c, const struct oa_decoder *d, const char *piece,
                               size_t n, struct oa_text *out);
enum oa_error oa_decoder_text(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                              struct oa_text *out);
int oa_byte_piece(const char *piece, size_t n); /* the byte of "<0x0A>", -1: another piece */

/* ---- BPE ---- */

struct oa_merge {
    int32_t left, right;
};
struct oa_bpe {
    oa_context *context;
    int32_t byte_id[256]; /* -1: no token; with `characters` of "<0x00>" … */
    int32_t unknown;      /* id of unk_token, -1 without */
    bool fuse_unknown, ignore_merges;
    bool characters;               /* symbols are characters, not bytes */
    bool byte_fallback;            /* unknown characters are their bytes */
    struct oa_text prefix, suffix; /* of symbols that do not begin, and that end, a word */
    struct oa_text spelt;          /* the current character with them */
    struct oa_merge *merge;        /* in order of rank, for saving */
    size_t merge_count, merge_capacity;
    struct oa_pairs merges; /* → rank, id of the result */
    struct oa_symbol *symbol;
    size_t symbol_capacity;
    struct oa_candidate *heap;
    size_t heap_capacity, heap_count;
    struct oa_cached *cache;
};
void oa_bpe_init(struct oa_bpe *b, oa_context *c);
void oa_bpe_free(struct oa_bpe *b);
enum oa_error oa_bpe_add_merge(struct oa_bpe *b, int32_t left, int32_t right, int32_t result);
/* Appends the ids of a word. OA_FORMAT, not recorded: the byte at *bad has no token. */
enum oa_error oa_bpe_encode_word(struct oa_bpe *b, const struct oa_vocabulary *v, const char *word,
                                 size_t n, struct oa_ids *ids, size_t *bad);

/* ---- WordPiece ---- */

struct oa_wordpiece {
    struct oa_trie pieces;
    struct oa_text prefix;
    int32_t inner;        /* node of the prefix of pieces that do not begin a word, -1: none */
    long most_characters; /* longer words are unknown */
};
/* Appends the ids of a word, or `unknown`. OA_FORMAT, not recorded: it is unknown and `unknown` is
 * -1. */
enum oa_error oa_wordpiece_encode(const struct oa_wordpiece *w, const char *word, size_t n,
                                  int32_t unknown, struct oa_ids *ids);

/* ---- Unigram ---- */

struct oa_unigram {
    struct oa_trie pieces;
    double *score; /* by id */
    size_t score_capacity;
    double least;              /* score */
    bool byte_fallback;        /* unknown characters are their bytes */
    int32_t byte_id[256];      /* of "<0x00>" …, -1: none */
    struct oa_best_path *best; /* by end of a piece in the current word */
    size_t best_capacity;
    struct oa_best_path *chosen; /* pieces of the best path, last one first */
    size_t chosen_capacity;
    const struct oa_vocabulary *by_spelling; /* of Marian: ids by the spelling of pieces, whose
                                                scores are by number; NULL: the number is the id */
    int32_t spelling_unknown;                /* the id of a spelling that is not there */
};
/* Appends the ids of the best pieces. OA_FORMAT, not recorded: the character at *bad is in none,
 * and `unknown` is -1. */
enum oa_error oa_unigram_encode(struct oa_unigram *u, const char *word, size_t n, int32_t unknown,
                                struct oa_ids *ids, size_t *bad);

/* ---- the tokenizer ---- */

struct oa_tokenizer {
    oa_context *context;
    enum oa_tokenizer_kind kind;
    struct oa_vocabulary vocabulary;
    struct oa_added_set raw, normalised; /* added tokens, by the text in which they are matched */
    struct oa_added_token *added;        /* in the order of the file */
    size_t added_count, added_capacity;
    struct oa_words added_contents; /* in the same order */
    int32_t next_added;             /* id of the next added token that is not in the model */
    bool *special;                  /* by id: an added token that is special */
    size_t special_capacity;
    struct oa_text_normaliser normal[OA_MOST_NORMAL_STEPS];
    int normals;
    bool prefix_space;
    bool pieces_are_decoded; /* by `decoder`; others are joined (byte-level and our own kinds) */
    struct oa_decoder decoder;
    struct oa_splitter splitter;
    struct oa_splitter words; /* of char and byte, for word indices; empty until needed */
    struct oa_bpe bpe;
    struct oa_wordpiece wordpiece;
    struct oa_unigram unigram;
    int32_t *char_id; /* by code point; -1 = none */
    size_t char_codes;
    int32_t unknown;             /* of all but bpe: id of unk_token, -1: none */
    struct oa_tokenizer *target; /* of Marian: for texts of the other side; NULL: the same */
    bool code_reported;          /* of Marian: that a text began with an unknown code */
    json_t *frame;               /* tokenizer.json without vocab, merges and added tokens */
    struct oa_text scratch;      /* of word: the current word in the byte alphabet */
};

/* OA_ARGUMENT: an id, at an index of a list, that is no token. */
enum oa_error oa_refuse_id(const struct oa_tokenizer *tok, int32_t id, size_t index);
/* An empty tokenizer of a kind. */
enum oa_error oa_tokenizer_new(oa_context *c, enum oa_tokenizer_kind kind,
                               struct oa_tokenizer **out);
/* Makes the tables for encoding, after the vocabulary is complete. */
enum oa_error oa_tokenizer_finish(struct oa_tokenizer *tok, const char *where);
enum oa_error oa_tokenizer_add_token(struct oa_tokenizer *tok, const char *where,
                                     const struct oa_added_token *token);
/* The characters of both; either may be NULL. */
enum oa_error oa_tokenizer_train_char(oa_context *c, struct oa_reader *train,
                                      struct oa_reader *valid, struct oa_tokenizer **out);
enum oa_error oa_tokenizer_make_byte(oa_context *c, struct oa_tokenizer **out);
/* spec "ids": the largest id of the files + 1; "ids:N": N. */
enum oa_error oa_tokenizer_make_ids(oa_context *c, const char *spec, const char *train_files,
                                    const char *valid_files, struct oa_tokenizer **out);
enum oa_error oa_encode_numbers(const struct oa_tokenizer *tok, const char *name, const char *text,
                                size_t n, struct oa_ids *ids);

/* word:N: <unk> and the most frequent words that occur at least twice, N tokens in all. */
enum oa_error oa_tokenizer_train_words(oa_context *c, struct oa_reader *text, long size,
                                       struct oa_tokenizer **out);
/* oa_tokenizer_train_bpe with a bound on distinct words, for tests. */
enum oa_error oa_tokenizer_train_bounded(oa_context *c, struct oa_reader *text, long size,
                                         int32_t most_words, struct oa_tokenizer **out);

/* tokenizer_save.c: the ids of pieces, as a vocab.json. */
enum oa_error oa_vocabulary_write(oa_context *c, const struct oa_tokenizer *tok, const char *path);

/* marian_tokenizer.c: the bytes of a code such as ">>fr<<" at the beginning; 0: none. */
size_t oa_marian_code_length(const char *text, size_t n);
/* The id of a code. A code that is not in the vocabulary is the unknown token, and the first such
 * code is logged. */
int32_t oa_marian_code_id(struct oa_tokenizer *tok, const char *code, size_t n);

/* patches.c: "patch:P", of a tokenizer whose tokens are patches. */
const char *oa_patches_name(const struct oa_tokenizer *tok);

#endif
