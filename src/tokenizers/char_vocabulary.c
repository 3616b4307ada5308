/* SPDX-License-Identifier: Apache-2.0
 * Tokenizers without training: char, the characters of the texts in order of code points (as
 * nanoGPT), and byte, whose ids are the bytes. */
#include "tokenizers/tokenizer_parts.h"

#define CODES 0x110000

struct character_collection {
    oa_context *context;
    const char *name; /* of the text */
    uint64_t read;    /* bytes before this piece */
    uint8_t *seen;    /* by code point */
};

static enum oa_error refuse_vocabulary_character(const struct character_collection *job,
                                                 const char *text, size_t n, size_t at)
{
    struct oa_text character;
    oa_text_init(&character, job->context);
    oa_print_character(&character, text + at, n - at);
    enum oa_error error =
        oa_fail(job->context, OA_FORMAT,
                "%s: %s at byte %llu is not allowed in a char vocabulary; use byte or bpe:N, which "
                "accept any text",
                job->name, character.s ? character.s : "", (unsigned long long)(job->read + at));
    oa_text_free(&character);
    return error;
}

/* A character split between pieces is left for the next piece. U+0000 is rejected: many JSON
 * libraries do not allow it in a key. */
static enum oa_error collect_characters(void *argument, const char *text, size_t n, bool last,
                                        size_t *consumed)
{
    struct character_collection *job = argument;
    size_t at = 0;
    while (at < n) {
        uint32_t code = 0;
        int length = oa_utf8_decode(text + at, n - at, &code);
        if (length == 0 && !last && n - at < 4)
            break;
        if (length == 0 || code == 0)
            return refuse_vocabulary_character(job, text, n, at);
        job->seen[code] = 1;
        at += (size_t)length;
    }
    job->read += at;
    *consumed = at;
    return OA_OK;
}

static enum oa_error collect_text(struct character_collection *job, struct oa_reader *text)
{
    job->name = text ? oa_reader_name(text) : NULL;
    job->read = 0;
    return text ? oa_reader_feed(text, collect_characters, job) : OA_OK;
}

static enum oa_error add_characters(struct oa_tokenizer *tok, const uint8_t *seen)
{
    int32_t id = 0;
    for (uint32_t code = 0; code < CODES; code++) {
        char piece[5] = { 0 };
        if (!seen[code])
            continue;
        size_t n = (size_t)oa_utf8_encode(code, piece);
        OA_TRY(oa_vocabulary_add(&tok->vocabulary, "char", piece, n, id++, piece, n));
    }
    return OA_OK;
}

static enum oa_error make_char(oa_context *c, const uint8_t *seen, const char *name,
                               struct oa_tokenizer **out)
{
    struct oa_tokenizer *tok;
    enum oa_error error = oa_tokenizer_new(c, OA_TOKENIZER_CHAR, &tok);
    if (error == OA_OK)
        error = add_characters(tok, seen);
    if (error == OA_OK && tok->vocabulary.size == 0)
        error = oa_fail(c, OA_ARGUMENT, "no text in \"%s\" to make a char vocabulary from", name);
    if (error == OA_OK)
        error = oa_tokenizer_finish(tok, "char");
    if (error != OA_OK)
        oa_tokenizer_close(tok);
    else
        *out = tok;
    return error;
}

enum oa_error oa_tokenizer_train_char(oa_context *c, struct oa_reader *train,
                                      struct oa_reader *valid, struct oa_tokenizer **out)
{
    struct character_collection job = { .context = c, .seen = oa_alloc(c, CODES) };
    *out = NULL;
    if (!job.seen)
        return OA_NO_MEMORY;
    enum oa_error error = collect_text(&job, train);
    if (error == OA_OK)
        error = collect_text(&job, valid);
    if (error == OA_OK)
        error = make_char(c, job.seen, oa_reader_name(train), out);
    oa_free(job.seen);
    return error;
}

static enum oa_error add_bytes(struct oa_tokenizer *tok)
{
    for (int i = 0; i < 256; i++) {
        char piece[5] = { 0 };
        size_t n = (size_t)oa_utf8_encode(oa_byte_to_code((uint8_t)i), piece);
        OA_TRY(oa_vocabulary_add(&tok->vocabulary, "byte", piece, n, i, &(char){ (char)i }, 1));
    }
    return oa_splitter_add(&tok->splitter, "byte", oa_gpt2_pattern);
}

enum oa_error oa_tokenizer_make_byte(oa_context *c, struct oa_tokenizer **out)
{
    struct oa_tokenizer *tok;
    *out = NULL;
    enum oa_error error = oa_tokenizer_new(c, OA_TOKENIZER_BYTE, &tok);
    if (error == OA_OK)
        error = add_bytes(tok);
    if (error == OA_OK)
        error = oa_tokenizer_finish(tok, "byte");
    if (error != OA_OK)
        oa_tokenizer_close(tok);
    else
        *out = tok;
    return error;
}
