/* SPDX-License-Identifier: Apache-2.0
 * Text → ids, and on request their word indices. A pipeline:
 *
 *     added tokens in the raw text → normaliser → added tokens in the normalised text →
 *     char | byte | bpe | word | ids | wordpiece | unigram | marian
 */
#include "tokenizers/tokenizer_parts.h"

struct encoding {
    struct oa_tokenizer *tok;
    const struct oa_text_source *source;
    struct oa_ids *ids;
    struct oa_ids *words; /* word indices; NULL: not wanted */
    size_t first;         /* length of `words` at the beginning */
    int32_t word;         /* index of the current word */
    bool begun;           /* the current word has more than white space */
    bool plain;           /* special tokens are not matched */
    bool inside;          /* the text is not the beginning of the input */
};
typedef enum oa_error encode_link(struct encoding *e, const char *text, size_t n);

/* ---- word indices ---- */

/* Gives the new ids the word index `word`. */
static enum oa_error number_ids(struct encoding *e, int32_t word)
{
    while (e->words->count < e->ids->count)
        OA_TRY(oa_ids_add(e->words, word));
    return OA_OK;
}

/* White space belongs to the previous word, at the beginning of the text to the next one. */
static enum oa_error number_stretch(struct encoding *e, const char *text, size_t n)
{
    if (!e->words || e->words->count == e->ids->count)
        return OA_OK;
    bool begins = !oa_is_blank(text, n);
    if (begins && e->begun)
        e->word++;
    e->begun = e->begun || begins;
    return number_ids(e, e->word);
}

/* Pieces with "▁" begin a word; a piece "▁" alone belongs to the next word. */
static enum oa_error number_pieces(struct encoding *e)
{
    while (e->words && e->words->count < e->ids->count) {
        const char *piece = oa_tokenizer_piece(e->tok, e->ids->id[e->words->count]);
        bool begins = strncmp(piece, OA_SPACE_PIECE, strlen(OA_SPACE_PIECE)) == 0 &&
                      strcmp(piece, OA_SPACE_PIECE) != 0;
        e->word += begins && e->begun;
        e->begun = e->begun || strcmp(piece, OA_SPACE_PIECE) != 0;
        OA_TRY(oa_ids_add(e->words, e->word));
    }
    return OA_OK;
}

/* "FILE:LINE (byte N)" for bytes of the source, only the name for normalised text. */
static void print_place(const struct encoding *e, const char *text, struct oa_text *out)
{
    const struct oa_text_source *s = e->source;
    long line = 1;
    oa_text_printf(out, "%s", s->name);
    if ((uintptr_t)text < (uintptr_t)s->text || (uintptr_t)text >= (uintptr_t)s->text + s->length)
        return;
    for (const char *p = s->text; p < text; p++)
        line += *p == '\n';
    oa_text_printf(out, ":%ld (byte %zu)", line, (size_t)(text - s->text));
}

/* OA_FORMAT: the text at `at` cannot be encoded. what: the text and the reason; freed. */
static enum oa_error refuse_text(const struct encoding *e, const char *at, struct oa_text *what)
{
    struct oa_text place;
    oa_text_init(&place, e->tok->context);
    print_place(e, at, &place);
    enum oa_error error = oa_fail(e->tok->context, OA_FORMAT, "%s: %s", place.s ? place.s : "",
                                  what->s ? what->s : "");
    oa_text_free(&place);
    oa_text_free(what);
    return error;
}

static enum oa_error refuse_character(const struct encoding *e, const char *text, size_t n)
{
    struct oa_text what;
    oa_text_init(&what, e->tok->context);
    oa_print_character(&what, text, n);
    if (e->tok->kind == OA_TOKENIZER_CHAR)
        oa_text_printf(&what,
                       " is not among the %d characters of the vocabulary; use byte or bpe:N, "
                       "which accept any text, or a char vocabulary from text with it",
                       (int)e->tok->vocabulary.model_size);
    else
        oa_text_printf(&what, " is in no piece of the vocabulary and the tokenizer has no "
                              "unk_token; use a tokenizer with one, or remove the character");
    return refuse_text(e, text, &what);
}

static enum oa_error refuse_byte(const struct encoding *e, const char *byte)
{
    struct oa_text what;
    oa_text_init(&what, e->tok->context);
    oa_text_printf(&what,
                   "byte 0x%02X is not in the vocabulary and the tokenizer has no unk_token; use a "
                   "tokenizer with all 256 bytes, such as bpe:N",
                   (unsigned)(uint8_t)*byte);
    return refuse_text(e, byte, &what);
}

static enum oa_error refuse_word(const struct encoding *e, const char *word, size_t n)
{
    struct oa_text what;
    oa_text_init(&what, e->tok->context);
    oa_text_printf(&what,
                   "the word \"%.*s\" is not in the vocabulary and the tokenizer has no unk_token; "
                   "use a tokenizer with one, such as word:N",
                   (int)(n < 100 ? n : 100), word);
    return refuse_text(e, word, &what);
}

static enum oa_error encode_chars(struct encoding *e, const char *text, size_t n)
{
    const struct oa_tokenizer *tok = e->tok;
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        int length = oa_utf8_decode(text + i, n - i, &code);
        int32_t id = length && code < tok->char_codes ? tok->char_id[code] : -1;
        if (id < 0)
            id = tok->unknown;
        if (id < 0)
            return refuse_character(e, text + i, n - i);
        OA_TRY(oa_ids_add(e->ids, id));
        i += length ? (size_t)length : 1;
    }
    return OA_OK;
}

static enum oa_error encode_whole(struct encoding *e, const char *word, size_t n)
{
    struct oa_text *spelt = &e->tok->scratch;
    spelt->length = 0;
    oa_byte_spell(spelt, word, n);
    if (!spelt->s)
        return OA_NO_MEMORY;
    int32_t id = oa_vocabulary_find(&e->tok->vocabulary, spelt->s, spelt->length);
    if (id < 0)
        id = e->tok->unknown;
    return id < 0 ? refuse_word(e, word, n) : oa_ids_add(e->ids, id);
}

static enum oa_error check_stop(const struct encoding *e)
{
    int signal = oa_stop_requested(e->tok->context);
    return signal ? oa_fail(e->tok->context, OA_INTERRUPTED,
                            "stopped by signal %d while encoding %s", signal, e->source->name)
                  : OA_OK;
}

static enum oa_error encode_word(void *argument, const char *word, size_t n)
{
    struct encoding *e = argument;
    struct oa_tokenizer *tok = e->tok;
    size_t bad = 0;
    enum oa_error error;
    OA_TRY(check_stop(e));
    switch (tok->kind) {
    case OA_TOKENIZER_WORD:
        OA_TRY(encode_whole(e, word, n));
        break;
    case OA_TOKENIZER_WORDPIECE:
        error = oa_wordpiece_encode(&tok->wordpiece, word, n, tok->unknown, e->ids);
        OA_TRY(error == OA_FORMAT ? refuse_word(e, word, n) : error);
        break;
    case OA_TOKENIZER_UNIGRAM:
    case OA_TOKENIZER_MARIAN:
        error = oa_unigram_encode(&tok->unigram, word, n, tok->unknown, e->ids, &bad);
        OA_TRY(error == OA_FORMAT ? refuse_character(e, word + bad, n - bad) : error);
        return number_pieces(e);
    default:
        error = oa_bpe_encode_word(&tok->bpe, &tok->vocabulary, word, n, e->ids, &bad);
        if (error == OA_FORMAT)
            error = tok->bpe.characters ? refuse_character(e, word + bad, n - bad)
                                        : refuse_byte(e, word + bad);
        OA_TRY(error);
        if (tok->bpe.characters)
            return number_pieces(e);
    }
    return number_stretch(e, word, n);
}

/* Characters and bytes; splitting into words would not change their ids. */
static enum oa_error encode_stretch(void *argument, const char *text, size_t n)
{
    struct encoding *e = argument;
    struct oa_ids *ids = e->ids;
    if (e->tok->kind == OA_TOKENIZER_CHAR) {
        OA_TRY(encode_chars(e, text, n));
        return number_stretch(e, text, n);
    }
    if (!oa_reserve(ids->context, &ids->id, &ids->capacity, ids->count + n, sizeof *ids->id))
        return OA_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        ids->id[ids->count++] = (uint8_t)text[i];
    return number_stretch(e, text, n);
}

static enum oa_error encode_model(struct encoding *e, const char *text, size_t n)
{
    struct oa_splitter *splitter = &e->tok->words;
    if (e->tok->kind == OA_TOKENIZER_CHAR || e->tok->kind == OA_TOKENIZER_BYTE) {
        if (!e->words)
            return encode_stretch(e, text, n);
        if (splitter->count == 0) /* word indices are of the words of bpe:N */
            OA_TRY(oa_splitter_add(splitter, "words", oa_gpt2_pattern));
        return oa_splitter_words(splitter, text, n, encode_stretch, e);
    }
    if (e->tok->kind == OA_TOKENIZER_IDS) {
        OA_TRY(oa_encode_numbers(e->tok, e->source->name, text, n, e->ids));
        while (e->words && e->words->count < e->ids->count) {
            OA_TRY(oa_ids_add(e->words, e->word += e->begun));
            e->begun = true;
        }
        return OA_OK;
    }
    e->tok->splitter.inside = e->inside;
    return oa_splitter_words(&e->tok->splitter, text, n, encode_word, e);
}

/* A token that is a word of its own. */
static enum oa_error add_token_word(struct encoding *e, int32_t id)
{
    OA_TRY(oa_ids_add(e->ids, id));
    if (!e->words)
        return OA_OK;
    e->word += e->words->count > e->first;
    e->begun = true;
    return number_ids(e, e->word);
}

static enum oa_error encode_around(struct encoding *e, struct oa_added_set *set, const char *text,
                                   size_t n, encode_link *next)
{
    const struct oa_added_token *token;
    const bool inside = e->inside;
    size_t from = 0, settled = 0, start, stop;
    for (;;) {
        OA_TRY(oa_added_next(set, text, n, settled, e->plain, &from, &start, &stop, &token));
        e->inside = inside || settled > 0;
        if (!token)
            return settled < n ? next(e, text + settled, n - settled) : OA_OK;
        OA_TRY(check_stop(e));
        if (start > settled)
            OA_TRY(next(e, text + settled, start - settled));
        OA_TRY(add_token_word(e, token->id));
        settled = stop;
    }
}

static enum oa_error encode_normalised(struct encoding *e, const char *text, size_t n)
{
    if (e->tok->normals == 0)
        return encode_around(e, &e->tok->normalised, text, n, encode_model);
    struct oa_text normal;
    size_t code = e->tok->kind == OA_TOKENIZER_MARIAN ? oa_marian_code_length(text, n) : 0;
    if (code)
        OA_TRY(add_token_word(e, oa_marian_code_id(e->tok, text, code)));
    oa_text_init(&normal, e->tok->context);
    oa_text_add(&normal, text + code, n - code);
    enum oa_error error =
        oa_normalise(e->tok->context, e->tok->normal, e->tok->normals, &normal, &e->inside);
    if (error == OA_OK && normal.length)
        error = encode_around(e, &e->tok->normalised, normal.s, normal.length, encode_model);
    oa_text_free(&normal);
    return error;
}

enum oa_error oa_tokenizer_encode_part(struct oa_tokenizer *tok,
                                       const struct oa_text_source *source, const char *text,
                                       size_t length, struct oa_ids *ids)
{
    struct encoding e = { .tok = tok, .source = source, .ids = ids };
    return encode_around(&e, &tok->raw, text, length, encode_normalised);
}

enum oa_error oa_tokenizer_encode(struct oa_tokenizer *tok, const char *text, size_t length,
                                  struct oa_ids *ids)
{
    struct oa_text_source source = { "text", text, length };
    return oa_tokenizer_encode_part(tok, &source, text, length, ids);
}

enum oa_error oa_tokenizer_encode_text(struct oa_tokenizer *tok, const char *name, const char *text,
                                       size_t length, struct oa_ids *ids, struct oa_ids *words)
{
    struct oa_text_source source = { .name = name };
    struct encoding e = {
        .tok = tok, .source = &source, .ids = ids, .words = words, .plain = true
    };
    e.first = words ? words->count : 0;
    e.word = e.first ? words->id[e.first - 1] + 1 : 0;
    return encode_around(&e, &tok->raw, text, length, encode_normalised);
}

/* ---- text that comes in pieces ---- */

/* Bytes after a word or an added token that may decide where it ends. */
enum { SETTLED_MARGIN = OA_MOST_ADDED_BYTES + 2 * OA_TRAINING_MARGIN };

static bool set_streams(const struct oa_added_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->token[i].lstrip || set->token[i].rstrip || set->token[i].single_word)
            return false;
    return true;
}

bool oa_tokenizer_streams(const struct oa_tokenizer *tok)
{
    bool split = tok->kind == OA_TOKENIZER_CHAR || tok->kind == OA_TOKENIZER_BYTE ||
                 ((tok->kind == OA_TOKENIZER_BPE || tok->kind == OA_TOKENIZER_WORD) &&
                  oa_splitter_streams(&tok->splitter));
    return split && tok->normals == 0 && (!tok->raw.count || !tok->normalised.count) &&
           set_streams(&tok->raw) && set_streams(&tok->normalised);
}

enum oa_error oa_tokenizer_encode_settled(struct oa_tokenizer *tok, const char *name,
                                          const char *text, size_t length, bool last,
                                          struct oa_ids *ids, size_t *consumed)
{
    struct oa_text_source source = { .name = name };
    struct encoding e = { .tok = tok, .source = &source, .ids = ids };
    struct oa_added_set *set = tok->raw.count ? &tok->raw : &tok->normalised;
    size_t limit = last ? length : length > SETTLED_MARGIN ? length - SETTLED_MARGIN : 0;
    size_t from = 0, at = 0, start, stop, used = 0;
    const struct oa_added_token *token;
    for (;; at = stop) {
        OA_TRY(oa_added_next(set, text, length, at, false, &from, &start, &stop, &token));
        size_t end = token ? start : length;
        if (end > limit)
            break;
        if (end > at)
            OA_TRY(encode_model(&e, text + at, end - at));
        if (!token) {
            *consumed = end;
            return OA_OK;
        }
        OA_TRY(oa_ids_add(ids, token->id));
    }
    *consumed = at;
    if (at >= limit)
        return OA_OK;
    if (tok->kind != OA_TOKENIZER_CHAR && tok->kind != OA_TOKENIZER_BYTE) {
        OA_TRY(oa_splitter_settled(&tok->splitter, text + at, (token ? start : length) - at,
                                   limit - at, encode_word, &e, &used));
        *consumed += used;
        return OA_OK;
    }
    for (int i = 0; i < 3 && limit > at && limit < (token ? start : length) &&
                    ((uint8_t)text[limit] & 0xc0) == 0x80;
         i++)
        limit--;
    *consumed = limit;
    return encode_model(&e, text + at, limit - at);
}
