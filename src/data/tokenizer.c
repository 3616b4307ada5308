/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokenizer: making and freeing one, looking ids up, encoding and decoding. Encoding is a chain, each link handing
 * stretches of text to the next one:
 *
 *     added tokens found in the raw text → normaliser → added tokens found in the normalised text → char | byte | bpe |
 * ids
 */
#include "data/tokenizer_parts.h"

#include <stdlib.h>

/* ---- making -------------------------------------------------------------------------------------------------- */

#define FRAME(pre_tokenizer, decoder, model)                                                                           \
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\"normalizer\":null,"               \
    "\"pre_tokenizer\":" pre_tokenizer ",\"post_processor\":null,\"decoder\":" decoder ",\"model\":" model "}"
#define BYTE_LEVEL(prefix, regex)                                                                                      \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":" prefix ",\"trim_offsets\":true,\"use_regex\":" regex "}"
#define BPE_MODEL                                                                                                      \
    "{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,"                        \
    "\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{},"     \
    "\"merges\":[]}"

/* By kind. char names an unk_token that is not in the vocabulary: Hugging Face then refuses unknown characters too. */
static const char *const frames[] = {
    FRAME("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[\\\\s\\\\S]\"},\"behavior\":\"Isolated\",\"invert\":false}",
          "{\"type\":\"Fuse\"}", "{\"type\":\"WordLevel\",\"vocab\":{},\"unk_token\":\"<unk>\"}"),
    FRAME(BYTE_LEVEL("false", "true"), BYTE_LEVEL("true", "true"), BPE_MODEL),
    FRAME(BYTE_LEVEL("false", "true"), BYTE_LEVEL("true", "true"), BPE_MODEL),
    FRAME("{\"type\":\"WhitespaceSplit\"}", "null", "{\"type\":\"WordLevel\",\"vocab\":{},\"unk_token\":\"<unk>\"}"),
};
static const char *const kind_names[] = { "char", "byte", "bpe", "ids" };

static void init_parts(struct oa_tokenizer *tok, oa_context *c, enum oa_tokenizer_kind kind)
{
    *tok = (struct oa_tokenizer){ .context = c, .kind = kind, .char_unknown = -1 };
    oa_vocabulary_init(&tok->vocabulary, c);
    oa_splitter_init(&tok->splitter, c);
    oa_bpe_init(&tok->bpe, c);
    oa_text_init(&tok->scratch, c);
}

enum oa_error oa_tokenizer_new(oa_context *c, enum oa_tokenizer_kind kind, struct oa_tokenizer **out)
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
    oa_bpe_free(&tok->bpe);
    oa_text_free(&tok->scratch);
    oa_added_free(&tok->raw);
    oa_added_free(&tok->normalised);
    for (size_t i = 0; i < tok->added_count; i++)
        oa_free(tok->added[i].content);
    oa_free(tok->added);
    oa_free(tok->char_id);
    json_decref(tok->frame);
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
            continue; /* "<unk>" and the like: no character spells it */
        size_t known = tok->char_codes;
        if (!oa_reserve(tok->context, &tok->char_id, &tok->char_codes, (size_t)code + 1, sizeof *tok->char_id))
            return OA_NO_MEMORY;
        for (; known < tok->char_codes; known++)
            tok->char_id[known] = -1;
        tok->char_id[code] = v->id_of[i];
    }
    return OA_OK;
}

static bool every_byte_is_its_id(const struct oa_tokenizer *tok)
{
    bool is = tok->bpe.merge_count == 0 && tok->vocabulary.model_size == 256 && !tok->prefix_space;
    for (int i = 0; i < 256; i++)
        is = is && tok->bpe.byte_id[i] == i;
    return is;
}

static void byte_table(struct oa_tokenizer *tok)
{
    for (int i = 0; i < 256; i++) {
        char spelt[4];
        size_t n = (size_t)oa_utf8_encode(oa_byte_to_code((uint8_t)i), spelt);
        tok->bpe.byte_id[i] = oa_vocabulary_find(&tok->vocabulary, spelt, n);
    }
}

enum oa_error oa_tokenizer_finish(struct oa_tokenizer *tok, const char *where)
{
    tok->vocabulary.model_size = tok->vocabulary.pieces.count;
    if (tok->vocabulary.model_size == 0)
        return oa_fail(tok->context, OA_FORMAT, "%s: the vocabulary is empty", where);
    if (tok->kind == OA_TOKENIZER_CHAR)
        return char_table(tok);
    if (tok->kind == OA_TOKENIZER_IDS)
        return OA_OK;
    byte_table(tok);
    tok->kind = every_byte_is_its_id(tok) ? OA_TOKENIZER_BYTE : OA_TOKENIZER_BPE;
    return OA_OK;
}

/* ---- added tokens -------------------------------------------------------------------------------------------- */

/* The id that Hugging Face gives to a token that is not in the model: behind the model, or behind the last added. */
static int32_t next_added_id(const struct oa_tokenizer *tok)
{
    int32_t next = tok->vocabulary.model_size;
    for (size_t i = 0; i < tok->added_count; i++)
        if (tok->added[i].id >= next)
            next = tok->added[i].id + 1;
    return next;
}

static enum oa_error give_id(struct oa_tokenizer *tok, const char *where, struct oa_added_token *token)
{
    int32_t there = oa_vocabulary_find(&tok->vocabulary, token->content, token->length);
    int32_t id = there >= 0 ? there : next_added_id(tok);
    if (token->id >= 0 && token->id != id)
        return oa_fail(tok->context, OA_FORMAT,
                       "%s: the added token \"%s\" is listed with id %d but its place gives %d", where, token->content,
                       (int)token->id, (int)id);
    token->id = id;
    if (there >= 0)
        return OA_OK;
    return oa_vocabulary_add(&tok->vocabulary, where, token->content, token->length, id, token->content, token->length);
}

/* What a token of the second pass looks like after the normaliser. */
static enum oa_error insert_normalised(struct oa_tokenizer *tok, const struct oa_added_token *token)
{
    struct oa_text content;
    oa_text_init(&content, tok->context);
    oa_text_add(&content, token->content, token->length);
    enum oa_error error = oa_normalise(tok->context, tok->normal, tok->normals, &content);
    struct oa_added_token copy = *token;
    copy.content = content.s;
    copy.length = content.length;
    if (error == OA_OK && copy.length)
        error = oa_added_insert(tok->context, &tok->normalised, &copy);
    oa_text_free(&content);
    return error;
}

enum oa_error oa_tokenizer_add_token(struct oa_tokenizer *tok, const char *where, const struct oa_added_token *token)
{
    for (size_t i = 0; i < tok->added_count; i++)
        if (strcmp(tok->added[i].content, token->content) == 0)
            return oa_fail(tok->context, OA_FORMAT, "%s: the added token \"%s\" is listed twice", where,
                           token->content);
    struct oa_added_token copy = *token;
    OA_TRY(give_id(tok, where, &copy));
    if (!oa_reserve(tok->context, &tok->added, &tok->added_capacity, tok->added_count + 1, sizeof *tok->added))
        return OA_NO_MEMORY;
    copy.content = oa_copy_text(tok->context, token->content);
    if (!copy.content)
        return OA_NO_MEMORY;
    tok->added[tok->added_count++] = copy;
    return copy.normalized ? insert_normalised(tok, &copy) : oa_added_insert(tok->context, &tok->raw, &copy);
}

enum oa_error oa_tokenizer_add_special(struct oa_tokenizer *tok, const char *content, int32_t *id)
{
    for (size_t i = 0; i < tok->added_count; i++)
        if (strcmp(tok->added[i].content, content) == 0) {
            *id = tok->added[i].id;
            return OA_OK;
        }
    size_t length = strlen(content);
    if (length == 0 || oa_utf8_valid_length(content, length) < length)
        return oa_fail(tok->context, OA_ARGUMENT, "a special token is some UTF-8 text, not \"%s\"", content);
    struct oa_added_token token = { .content = (char *)content, .length = length, .id = -1, .special = true };
    OA_TRY(oa_tokenizer_add_token(tok, "special token", &token));
    *id = tok->added[tok->added_count - 1].id;
    return OA_OK;
}

bool oa_tokenizer_is_special(const struct oa_tokenizer *tok, int32_t id)
{
    for (size_t i = 0; i < tok->added_count; i++)
        if (tok->added[i].id == id)
            return tok->added[i].special;
    return false;
}

/* ---- looking up ---------------------------------------------------------------------------------------------- */

const char *oa_tokenizer_kind_name(const struct oa_tokenizer *tok)
{
    return kind_names[tok->kind];
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

/* ---- encoding ------------------------------------------------------------------------------------------------ */

struct encoding {
    struct oa_tokenizer *tok;
    const struct oa_source *source;
    struct oa_ids *ids;
};
typedef enum oa_error encode_link(struct encoding *e, const char *text, size_t n);

/* "FILE:LINE" where the bytes are of the source; normalised text has only the name. */
static void print_place(const struct encoding *e, const char *text, struct oa_text *out)
{
    const struct oa_source *s = e->source;
    long line = 1;
    oa_text_printf(out, "%s", s->name);
    if ((uintptr_t)text < (uintptr_t)s->text || (uintptr_t)text >= (uintptr_t)s->text + s->length)
        return;
    for (const char *p = s->text; p < text; p++)
        line += *p == '\n';
    oa_text_printf(out, ":%ld (byte %zu)", line, (size_t)(text - s->text));
}

static enum oa_error refuse_character(const struct encoding *e, const char *text, size_t n)
{
    struct oa_text place, character;
    oa_text_init(&place, e->tok->context);
    oa_text_init(&character, e->tok->context);
    print_place(e, text, &place);
    oa_print_character(&character, text, n);
    enum oa_error error =
        oa_fail(e->tok->context, OA_FORMAT,
                "%s: %s is not among the %d characters of the vocabulary; use byte or bpe:N, which take any text, or "
                "a char vocabulary made from text that has it",
                place.s ? place.s : "", character.s ? character.s : "", (int)e->tok->vocabulary.model_size);
    oa_text_free(&place);
    oa_text_free(&character);
    return error;
}

static enum oa_error encode_chars(struct encoding *e, const char *text, size_t n)
{
    const struct oa_tokenizer *tok = e->tok;
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        int length = oa_utf8_decode(text + i, n - i, &code);
        int32_t id = length && code < tok->char_codes ? tok->char_id[code] : -1;
        if (id < 0)
            id = tok->char_unknown;
        if (id < 0)
            return refuse_character(e, text + i, n - i);
        OA_TRY(oa_ids_add(e->ids, id));
        i += length ? (size_t)length : 1;
    }
    return OA_OK;
}

static enum oa_error encode_bytes(struct encoding *e, const char *text, size_t n)
{
    struct oa_ids *ids = e->ids;
    if (!oa_reserve(ids->context, &ids->id, &ids->capacity, ids->count + n, sizeof *ids->id))
        return OA_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        ids->id[ids->count++] = (uint8_t)text[i];
    return OA_OK;
}

static enum oa_error refuse_byte(const struct encoding *e, const char *byte)
{
    struct oa_text place;
    oa_text_init(&place, e->tok->context);
    print_place(e, byte, &place);
    enum oa_error error = oa_fail(e->tok->context, OA_FORMAT,
                                  "%s: byte 0x%02X has no token in the vocabulary, and the tokenizer has no unk_token; "
                                  "use one that was trained with all 256 bytes (bpe:N makes one)",
                                  place.s ? place.s : "", (unsigned)(uint8_t)*byte);
    oa_text_free(&place);
    return error;
}

static enum oa_error encode_word(void *argument, const char *word, size_t n)
{
    struct encoding *e = argument;
    size_t bad = 0;
    int signal = oa_stop_requested(e->tok->context);
    if (signal)
        return oa_fail(e->tok->context, OA_INTERRUPTED, "stopped by signal %d while %s was encoded", signal,
                       e->source->name);
    enum oa_error error = oa_bpe_encode_word(&e->tok->bpe, &e->tok->vocabulary, word, n, e->ids, &bad);
    return error == OA_FORMAT ? refuse_byte(e, word + bad) : error;
}

static enum oa_error encode_prefixed(struct encoding *e, const char *text, size_t n)
{
    struct oa_text prefixed;
    oa_text_init(&prefixed, e->tok->context);
    oa_text_add(&prefixed, " ", 1);
    oa_text_add(&prefixed, text, n);
    enum oa_error error = oa_status(e->tok->context);
    if (error == OA_OK)
        error = oa_splitter_words(&e->tok->splitter, prefixed.s, prefixed.length, encode_word, e);
    oa_text_free(&prefixed);
    return error;
}

static enum oa_error encode_model(struct encoding *e, const char *text, size_t n)
{
    if (e->tok->kind == OA_TOKENIZER_CHAR)
        return encode_chars(e, text, n);
    if (e->tok->kind == OA_TOKENIZER_BYTE)
        return encode_bytes(e, text, n);
    if (e->tok->kind == OA_TOKENIZER_IDS)
        return oa_encode_numbers(e->tok, text, n, e->ids);
    if (e->tok->prefix_space && text[0] != ' ')
        return encode_prefixed(e, text, n);
    return oa_splitter_words(&e->tok->splitter, text, n, encode_word, e);
}

static enum oa_error encode_around(struct encoding *e, const struct oa_added_set *set, const char *text, size_t n,
                                   encode_link *next)
{
    const struct oa_added_token *token;
    size_t from = 0, settled = 0, start, stop;
    while ((token = oa_added_next(set, text, n, settled, &from, &start, &stop))) {
        if (start > settled)
            OA_TRY(next(e, text + settled, start - settled));
        OA_TRY(oa_ids_add(e->ids, token->id));
        settled = stop;
    }
    return settled < n ? next(e, text + settled, n - settled) : OA_OK;
}

static enum oa_error encode_normalised(struct encoding *e, const char *text, size_t n)
{
    if (e->tok->normals == 0)
        return encode_around(e, &e->tok->normalised, text, n, encode_model);
    struct oa_text normal;
    oa_text_init(&normal, e->tok->context);
    oa_text_add(&normal, text, n);
    enum oa_error error = oa_normalise(e->tok->context, e->tok->normal, e->tok->normals, &normal);
    if (error == OA_OK && normal.length)
        error = encode_around(e, &e->tok->normalised, normal.s, normal.length, encode_model);
    oa_text_free(&normal);
    return error;
}

enum oa_error oa_tokenizer_encode_part(struct oa_tokenizer *tok, const struct oa_source *source, const char *text,
                                       size_t length, struct oa_ids *ids)
{
    struct encoding e = { tok, source, ids };
    return encode_around(&e, &tok->raw, text, length, encode_normalised);
}

enum oa_error oa_tokenizer_encode(struct oa_tokenizer *tok, const char *text, size_t length, struct oa_ids *ids)
{
    struct oa_source source = { "text", text, length };
    return oa_tokenizer_encode_part(tok, &source, text, length, ids);
}

/* ---- decoding ------------------------------------------------------------------------------------------------ */

enum oa_error oa_tokenizer_decode(const struct oa_tokenizer *tok, const int32_t *ids, size_t count, struct oa_text *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t n;
        const char *bytes = oa_tokenizer_bytes(tok, ids[i], &n);
        if (!bytes)
            return oa_fail(tok->context, OA_ARGUMENT, "id %d at place %zu has no token; this tokenizer has ids 0 … %d",
                           (int)ids[i], i, (int)tok->vocabulary.size - 1);
        oa_text_add(out, bytes, n);
    }
    return oa_status(out->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}
