/* SPDX-License-Identifier: Apache-2.0
 * The tokenizer: making, freeing, lookup, decoding. Encoding is in encode.c. */
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

/* ---- making ---- */

#define FRAME(pre_tokenizer, decoder, model)                                                       \
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],"               \
    "\"normalizer\":null,"                                                                         \
    "\"pre_tokenizer\":" pre_tokenizer ",\"post_processor\":null,\"decoder\":" decoder             \
    ",\"model\":" model "}"
#define BYTE_LEVEL(prefix, regex)                                                                  \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":" prefix                                         \
    ",\"trim_offsets\":true,\"use_regex\":" regex "}"
#define BPE_MODEL                                                                                  \
    "{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,"    \
    "\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":"    \
    "false,\"vocab\":{},"                                                                          \
    "\"merges\":[]}"
#define WORD_MODEL "{\"type\":\"WordLevel\",\"vocab\":{},\"unk_token\":\"<unk>\"}"

/* By kind, of those that the library makes. char names an unk_token that is not in the vocabulary,
 * so Hugging Face rejects unknown characters too. */
static const char *const frames[] = {
    FRAME("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[\\\\s\\\\S]\"},\"behavior\":\"Isolated\","
          "\"invert\":false}",
          "{\"type\":\"Fuse\"}", WORD_MODEL),
    FRAME(BYTE_LEVEL("false", "true"), BYTE_LEVEL("true", "true"), BPE_MODEL),
    FRAME(BYTE_LEVEL("false", "true"), BYTE_LEVEL("true", "true"), BPE_MODEL),
    FRAME("{\"type\":\"WhitespaceSplit\"}", "null", WORD_MODEL),
    FRAME(BYTE_LEVEL("false", "true"), BYTE_LEVEL("true", "true"), WORD_MODEL),
};
static const char *const kind_names[] = { "char", "byte",      "bpe",     "ids",
                                          "word", "wordpiece", "unigram", "marian" };

static void init_parts(struct oa_tokenizer *tok, oa_context *c, enum oa_tokenizer_kind kind)
{
    *tok = (struct oa_tokenizer){ .context = c, .kind = kind, .unknown = -1 };
    oa_vocabulary_init(&tok->vocabulary, c);
    oa_splitter_init(&tok->splitter, c);
    oa_splitter_init(&tok->words, c);
    oa_bpe_init(&tok->bpe, c);
    oa_trie_init(&tok->wordpiece.pieces, c);
    oa_text_init(&tok->wordpiece.prefix, c);
    oa_trie_init(&tok->unigram.pieces, c);
    oa_text_init(&tok->scratch, c);
    oa_words_init(&tok->added_contents, c);
    oa_added_init(&tok->raw, c);
    oa_added_init(&tok->normalised, c);
}

enum oa_error oa_tokenizer_new(oa_context *c, enum oa_tokenizer_kind kind,
                               struct oa_tokenizer **out)
{
    struct oa_tokenizer *tok = *out = oa_alloc(c, sizeof *tok);
    if (!tok)
        return OA_NO_MEMORY;
    init_parts(tok, c, kind);
    tok->frame = json_loads(frames[kind], 0, NULL);
    if (!tok->frame)
        return oa_fail(c, OA_NO_MEMORY, "out of memory for a tokenizer");
    return OA_OK;
}

void oa_tokenizer_close(struct oa_tokenizer *tok)
{
    if (!tok)
        return;
    oa_vocabulary_free(&tok->vocabulary);
    oa_splitter_free(&tok->splitter);
    oa_splitter_free(&tok->words);
    oa_bpe_free(&tok->bpe);
    oa_trie_free(&tok->wordpiece.pieces);
    oa_text_free(&tok->wordpiece.prefix);
    oa_trie_free(&tok->unigram.pieces);
    oa_free(tok->unigram.score);
    oa_free(tok->unigram.best);
    oa_free(tok->unigram.chosen);
    for (int i = 0; i < tok->normals; i++)
        oa_normaliser_free(&tok->normal[i]);
    oa_decoder_free(&tok->decoder);
    oa_text_free(&tok->scratch);
    oa_added_free(&tok->raw);
    oa_added_free(&tok->normalised);
    for (size_t i = 0; i < tok->added_count; i++)
        oa_free(tok->added[i].content);
    oa_free(tok->added);
    oa_free(tok->special);
    oa_words_free(&tok->added_contents);
    oa_free(tok->char_id);
    json_decref(tok->frame);
    oa_tokenizer_close(tok->target);
    oa_free(tok);
}

static enum oa_error char_table(struct oa_tokenizer *tok)
{
    const struct oa_vocabulary *v = &tok->vocabulary;
    for (int32_t i = 0; i < tok->vocabulary.model_size; i++) {
        size_t n;
        uint32_t code;
        const char *piece = oa_words_at(&v->pieces, i, &n);
        if (n == 0 || oa_utf8_decode(piece, n, &code) != (int)n)
            continue; /* not a single character, e.g. "<unk>" */
        size_t known = tok->char_codes;
        if (!oa_reserve(tok->context, &tok->char_id, &tok->char_codes, (size_t)code + 1,
                        sizeof *tok->char_id))
            return OA_NO_MEMORY;
        for (; known < tok->char_codes; known++)
            tok->char_id[known] = -1;
        tok->char_id[code] = v->id_of[i];
    }
    return OA_OK;
}

/* Ids of "<0x00>" … "<0xFF>". */
static void find_byte_pieces(const struct oa_tokenizer *tok, int32_t id[256])
{
    for (int i = 0; i < 256; i++) {
        char piece[8];
        snprintf(piece, sizeof piece, "<0x%02X>", (unsigned)i);
        id[i] = oa_vocabulary_find(&tok->vocabulary, piece, 6);
    }
}

static enum oa_error piece_trie(const struct oa_tokenizer *tok, const char *where,
                                struct oa_trie *pieces)
{
    const struct oa_vocabulary *v = &tok->vocabulary;
    for (int32_t i = 0; i < v->model_size; i++) {
        size_t n;
        const char *piece = oa_words_at(&v->pieces, i, &n);
        if (n > OA_MOST_PIECE)
            return oa_fail(tok->context, OA_UNSUPPORTED,
                           "%s: the piece with id %d has %zu bytes; at most %d are read", where,
                           (int)v->id_of[i], n, OA_MOST_PIECE);
        OA_TRY(oa_trie_add(pieces, where, piece, n, v->id_of[i]));
    }
    return OA_OK;
}

static enum oa_error finish_pieces(struct oa_tokenizer *tok, const char *where)
{
    struct oa_wordpiece *w = &tok->wordpiece;
    struct oa_unigram *u = &tok->unigram;
    if (tok->kind == OA_TOKENIZER_WORDPIECE) {
        OA_TRY(piece_trie(tok, where, &w->pieces));
        w->inner = oa_trie_walk(&w->pieces, w->prefix.s, w->prefix.length);
        return OA_OK;
    }
    find_byte_pieces(tok, u->byte_id);
    for (int32_t id = 0; id < tok->vocabulary.size; id++)
        u->least = id == 0 || u->score[id] < u->least ? u->score[id] : u->least;
    return piece_trie(tok, where, &u->pieces);
}

enum oa_error oa_tokenizer_finish(struct oa_tokenizer *tok, const char *where)
{
    tok->vocabulary.model_size = tok->vocabulary.pieces.count;
    if (tok->vocabulary.model_size == 0)
        return oa_fail(tok->context, OA_FORMAT, "%s: the vocabulary is empty", where);
    if (tok->kind == OA_TOKENIZER_CHAR)
        return char_table(tok);
    if (tok->kind == OA_TOKENIZER_IDS || tok->kind == OA_TOKENIZER_WORD ||
        tok->kind == OA_TOKENIZER_MARIAN)
        return OA_OK;
    if (tok->kind == OA_TOKENIZER_WORDPIECE || tok->kind == OA_TOKENIZER_UNIGRAM)
        return finish_pieces(tok, where);
    if (tok->bpe.characters) {
        find_byte_pieces(tok, tok->bpe.byte_id);
        return OA_OK;
    }
    bool bytes =
        tok->bpe.merge_count == 0 && tok->vocabulary.model_size == 256 && !tok->prefix_space;
    for (int i = 0; i < 256; i++) {
        char spelt[4];
        size_t n = (size_t)oa_utf8_encode(oa_byte_to_code((uint8_t)i), spelt);
        tok->bpe.byte_id[i] = oa_vocabulary_find(&tok->vocabulary, spelt, n);
        bytes = bytes && tok->bpe.byte_id[i] == i;
    }
    tok->kind = bytes ? OA_TOKENIZER_BYTE : OA_TOKENIZER_BPE;
    return OA_OK;
}

/* ---- added tokens ---- */

/* A token that is not in the model gets the next id after the model and all added tokens. Its bytes
 * are, as in the reference, what it matches: its content, normalised if it is matched in normalised
 * text. */
static enum oa_error give_id(struct oa_tokenizer *tok, const char *where,
                             struct oa_added_token *token, const struct oa_text *found)
{
    int32_t there = oa_vocabulary_find(&tok->vocabulary, token->content, token->length);
    int32_t next =
        tok->next_added > tok->vocabulary.model_size ? tok->next_added : tok->vocabulary.model_size;
    int32_t id = there >= 0 ? there : next;
    if (token->id >= 0 && token->id != id)
        return oa_fail(tok->context, OA_FORMAT,
                       "%s: the added token \"%s\" has id %d but by its position must have %d",
                       where, token->content, (int)token->id, (int)id);
    token->id = id;
    tok->next_added = id >= next ? id + 1 : next;
    if (there >= 0)
        return OA_OK;
    return oa_vocabulary_add(&tok->vocabulary, where, token->content, token->length, id,
                             found->s ? found->s : "", found->length);
}

static enum oa_error check_added(struct oa_tokenizer *tok, const char *where,
                                 const struct oa_added_token *token)
{
    if (tok->added_count == OA_MOST_ADDED || token->length > OA_MOST_ADDED_BYTES)
        return oa_fail(tok->context, OA_UNSUPPORTED,
                       "%s: more than %d added tokens, or one of more than %d bytes", where,
                       OA_MOST_ADDED, OA_MOST_ADDED_BYTES);
    if (oa_words_find(&tok->added_contents, token->content, token->length) >= 0)
        return oa_fail(tok->context, OA_FORMAT, "%s: duplicate added token \"%s\"", where,
                       token->content);
    return oa_words_add(&tok->added_contents, token->content, token->length) < 0 ? OA_NO_MEMORY
                                                                                 : OA_OK;
}

static enum oa_error insert_added(struct oa_tokenizer *tok, const char *where,
                                  const struct oa_added_token *token, struct oa_text *found)
{
    struct oa_added_token copy = *token;
    oa_text_add(found, token->content, token->length);
    if (copy.normalized)
        OA_TRY(oa_normalise(tok->context, tok->normal, tok->normals, found, NULL));
    OA_TRY(give_id(tok, where, &copy, found));
    size_t marked = tok->special_capacity;
    if (!oa_reserve(tok->context, &tok->special, &tok->special_capacity, (size_t)copy.id + 1,
                    sizeof *tok->special))
        return OA_NO_MEMORY;
    memset(tok->special + marked, 0, tok->special_capacity - marked);
    tok->special[copy.id] = copy.special;
    if (!oa_reserve(tok->context, &tok->added, &tok->added_capacity, tok->added_count + 1,
                    sizeof *tok->added))
        return OA_NO_MEMORY;
    copy.content = oa_copy_text(tok->context, token->content);
    if (!copy.content)
        return OA_NO_MEMORY;
    tok->added[tok->added_count++] = copy;
    copy.content = found->s;
    copy.length = found->length;
    return copy.length ? oa_added_insert(copy.normalized ? &tok->normalised : &tok->raw, &copy)
                       : OA_OK;
}

enum oa_error oa_tokenizer_add_token(struct oa_tokenizer *tok, const char *where,
                                     const struct oa_added_token *token)
{
    struct oa_text found;
    OA_TRY(check_added(tok, where, token));
    oa_text_init(&found, tok->context);
    enum oa_error error = insert_added(tok, where, token, &found);
    oa_text_free(&found);
    return error;
}

/* BERT's special tokens have other names in the tokenizers of RoBERTa. */
static const char *special_name(const struct oa_tokenizer *tok, const char *content)
{
    static const char *const names[][2] = { { "[CLS]", "<s>" },
                                            { "[SEP]", "</s>" },
                                            { "[MASK]", "<mask>" } };
    const char *name = content;
    bool there = oa_tokenizer_find(tok, content) >= 0;
    for (int i = 0; i < 3; i++) {
        if (!oa_tokenizer_is_special(tok, oa_tokenizer_find(tok, names[i][1])))
            return content;
        name = !there && strcmp(content, names[i][0]) == 0 ? names[i][1] : name;
    }
    return name;
}

int32_t oa_tokenizer_find_special(const struct oa_tokenizer *tok, const char *content)
{
    return oa_tokenizer_find(tok, special_name(tok, content));
}

int oa_tokenizer_separators(const struct oa_tokenizer *tok, const char *content)
{
    return strcmp(special_name(tok, content), content) == 0 ? 1 : 2;
}

enum oa_error oa_tokenizer_add_special(struct oa_tokenizer *tok, const char *content, int32_t *id)
{
    content = special_name(tok, content);
    size_t length = strlen(content);
    int32_t known = oa_words_find(&tok->added_contents, content, length);
    if (known >= 0) {
        *id = tok->added[known].id;
        return OA_OK;
    }
    if (length == 0 || oa_utf8_valid_length(content, length) < length)
        return oa_fail(tok->context, OA_ARGUMENT, "special token \"%s\" is empty or not UTF-8",
                       content);
    struct oa_added_token token = {
        .content = (char *)content, .length = length, .id = -1, .special = true
    };
    OA_TRY(oa_tokenizer_add_token(tok, "special token", &token));
    *id = tok->added[tok->added_count - 1].id;
    return OA_OK;
}

bool oa_tokenizer_is_special(const struct oa_tokenizer *tok, int32_t id)
{
    return id >= 0 && (size_t)id < tok->special_capacity && tok->special[id];
}

void oa_tokenizer_mark_special(const struct oa_tokenizer *tok, uint8_t *mark)
{
    for (size_t i = 0; i < tok->added_count; i++)
        if (tok->added[i].special)
            mark[tok->added[i].id] = 1;
}

int32_t oa_tokenizer_unknown(const struct oa_tokenizer *tok)
{
    return tok->unknown >= 0 ? tok->unknown : tok->bpe.unknown;
}

/* ---- lookup ---- */

enum oa_tokenizer_kind oa_tokenizer_kind_of(const struct oa_tokenizer *tok)
{
    return tok->kind;
}

bool oa_ids_are_joined(const struct oa_tokenizer *tok, const char *text, size_t length)
{
    return oa_tokenizer_kind_of(tok) == OA_TOKENIZER_IDS && length > 0 && text[length - 1] >= '0' &&
           text[length - 1] <= '9';
}

oa_context *oa_tokenizer_context(const struct oa_tokenizer *tok)
{
    return tok->context;
}

const char *oa_tokenizer_kind_name(const struct oa_tokenizer *tok)
{
    return oa_tokenizer_patch(tok) ? oa_patches_name(tok) : kind_names[tok->kind];
}

int32_t oa_tokenizer_size(const struct oa_tokenizer *tok)
{
    return tok->vocabulary.size;
}

const char *oa_tokenizer_piece(const struct oa_tokenizer *tok, int32_t id)
{
    return oa_vocabulary_piece(&tok->vocabulary, id);
}

int32_t oa_tokenizer_find(const struct oa_tokenizer *tok, const char *piece)
{
    return oa_vocabulary_find(&tok->vocabulary, piece, strlen(piece));
}

const char *oa_tokenizer_bytes(const struct oa_tokenizer *tok, int32_t id, size_t *length)
{
    return oa_vocabulary_bytes(&tok->vocabulary, id, length);
}

/* ---- decoding ---- */

enum oa_error oa_refuse_id(const struct oa_tokenizer *tok, int32_t id, size_t index)
{
    return oa_fail(tok->context, OA_ARGUMENT,
                   "id %d at index %zu is not a token; the tokenizer has ids 0 to %d", (int)id,
                   index, (int)tok->vocabulary.size - 1);
}

enum oa_error oa_tokenizer_decode(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                                  struct oa_text *out)
{
    if (tok->pieces_are_decoded)
        return oa_decoder_text(tok, ids, count, out);
    for (size_t i = 0; i < count; i++) {
        size_t n;
        const char *bytes = oa_tokenizer_bytes(tok, ids[i], &n);
        if (!bytes)
            return oa_refuse_id(tok, ids[i], i);
        oa_text_add(out, bytes, n);
    }
    return oa_status(out->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}

/* ---- comparison ---- */

static bool same_pieces(const struct oa_vocabulary *a, const struct oa_vocabulary *b)
{
    if (a->model_size != b->model_size)
        return false;
    for (int32_t i = 0; i < a->model_size; i++) {
        size_t n, m;
        const char *s = oa_words_at(&a->pieces, i, &n), *t = oa_words_at(&b->pieces, i, &m);
        if (n != m || memcmp(s, t, n) != 0 || a->id_of[i] != b->id_of[i])
            return false;
    }
    return true;
}

bool oa_tokenizers_agree(const struct oa_tokenizer *a, const struct oa_tokenizer *b)
{
    return a->kind == b->kind && json_equal(a->frame, b->frame) &&
           same_pieces(&a->vocabulary, &b->vocabulary) &&
           (a->kind != OA_TOKENIZER_UNIGRAM ||
            memcmp(a->unigram.score, b->unigram.score,
                   (size_t)a->vocabulary.model_size * sizeof *a->unigram.score) == 0) &&
           a->bpe.merge_count == b->bpe.merge_count &&
           (a->bpe.merge_count == 0 ||
            memcmp(a->bpe.merge, b->bpe.merge, a->bpe.merge_count * sizeof *a->bpe.merge) == 0);
}
