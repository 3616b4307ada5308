/* SPDX-License-Identifier: Apache-2.0
 * Tokens → text by the decoder of a tokenizer.json, as in the reference: each step changes, joins
 * or splits the tokens of a list, which are then concatenated. Byte-level tokenizers, whose tokens
 * are bytes, do not need it. */
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

/* A list of tokens: their texts concatenated, and the end of each. */
struct token_texts {
    struct oa_text text;
    size_t *end;
    size_t count, capacity;
};

static void token_texts_free(struct token_texts *t)
{
    oa_text_free(&t->text);
    oa_free(t->end);
}

static const char *token_at(const struct token_texts *t, size_t i, size_t *n)
{
    size_t from = i ? t->end[i - 1] : 0;
    *n = t->end[i] - from;
    return t->text.s + from;
}

/* Ends the token whose text was added last. */
static enum oa_error end_token(struct token_texts *t)
{
    if (!oa_reserve(t->text.context, &t->end, &t->capacity, t->count + 1, sizeof *t->end))
        return OA_NO_MEMORY;
    t->end[t->count++] = t->text.length;
    return OA_OK;
}

/* ---- steps on one token ---- */

static bool starts_with(const char *s, size_t n, const struct oa_text *mark)
{
    return mark->length && n >= mark->length && memcmp(s, mark->s, mark->length) == 0;
}

/* Blanks before punctuation and contractions, as BERT's tokenizer removes them, one rule after the
 * other. */
static void clean_up(struct oa_text *text)
{
    static const char *const rules[][2] = {
        { " .", "." },   { " ?", "?" },     { " !", "!" },    { " ,", "," },
        { " ' ", "'" },  { " n't", "n't" }, { " 'm", "'m" },  { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" }
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct oa_text out, old = { .s = (char *)rules[i][0], .length = strlen(rules[i][0]) },
                            new = { .s = (char *)rules[i][1], .length = strlen(rules[i][1]) };
        oa_text_init(&out, text->context);
        oa_replace_literal(text->s ? text->s : "", text->length, &old, &new, &out);
        oa_text_free(text);
        *text = out;
    }
}

static void strip_marks(const struct oa_decoding_step *step, const char *s, size_t n,
                        struct oa_text *out)
{
    const char *end = s + n;
    for (long i = 0; i < step->start && starts_with(s, (size_t)(end - s), &step->mark); i++)
        s += step->mark.length;
    for (long i = 0; i < step->stop && (size_t)(end - s) >= step->mark.length &&
                     starts_with(end - step->mark.length, step->mark.length, &step->mark);
         i++)
        end -= step->mark.length;
    oa_text_add(out, s, (size_t)(end - s));
}

static enum oa_error wordpiece_text(const struct oa_decoding_step *step, bool first, const char *s,
                                    size_t n, struct oa_text *out)
{
    struct oa_text token;
    bool inner = !first && starts_with(s, n, &step->mark);
    oa_text_init(&token, out->context);
    if (!first && !inner)
        oa_text_add(&token, " ", 1);
    oa_text_add(&token, inner ? s + step->mark.length : s, inner ? n - step->mark.length : n);
    if (step->clean)
        clean_up(&token);
    oa_text_add(out, token.s, token.length);
    oa_text_free(&token);
    return oa_status(out->context);
}

static const struct oa_text blank_text = { .s = (char *)" ", .length = 1 }, no_text;

/* Appends the result of a step for token i of `count`. */
static enum oa_error decode_token(const struct oa_decoding_step *step, size_t i, size_t count,
                                  const char *s, size_t n, struct oa_text *out)
{
    switch (step->kind) {
    case OA_DECODE_METASPACE:
        oa_replace_literal(s, n, &step->mark, i || !step->drop_first ? &blank_text : &no_text, out);
        break;
    case OA_DECODE_REPLACE:
        if (step->replace.literal.length)
            oa_replace_literal(s, n, &step->replace.literal, &step->replace.content, out);
        else
            return oa_splitter_replace(&step->replace.pattern, s, oa_utf8_valid_length(s, n),
                                       &step->replace.content, out);
        return oa_status(out->context);
    case OA_DECODE_STRIP:
        strip_marks(step, s, n, out);
        break;
    case OA_DECODE_SUFFIX:
        oa_replace_literal(s, n, &step->mark, i + 1 < count ? &blank_text : &no_text, out);
        break;
    case OA_DECODE_WORDPIECE:
        return wordpiece_text(step, i == 0, s, n, out);
    default:
        oa_text_add(out, s, n);
    }
    return oa_status(out->context);
}

/* ---- steps on all tokens ---- */

int oa_byte_piece(const char *piece, size_t n)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    if (n != 6 || memcmp(piece, "<0x", 3) != 0 || piece[5] != '>' || !piece[3] || !piece[4] ||
        !strchr(digits, piece[3]) || !strchr(digits, piece[4]))
        return -1;
    return (int)strtol(piece + 3, NULL, 16);
}

/* Ends a run of bytes: its text, or U+FFFD for each byte if it is not UTF-8. */
static enum oa_error end_bytes(struct token_texts *out, struct oa_text *run)
{
    enum oa_error e = OA_OK;
    bool valid = oa_utf8_valid_length(run->s ? run->s : "", run->length) == run->length;
    for (size_t i = 0; i < run->length && !valid && e == OA_OK; i++) {
        oa_text_add(&out->text, "\xef\xbf\xbd", 3);
        e = end_token(out);
    }
    if (valid && run->length) {
        oa_text_add(&out->text, run->s, run->length);
        e = end_token(out);
    }
    run->length = 0;
    return e;
}

static enum oa_error join_bytes(const struct token_texts *in, struct token_texts *out)
{
    struct oa_text run;
    enum oa_error e = OA_OK;
    oa_text_init(&run, in->text.context);
    for (size_t i = 0; i < in->count && e == OA_OK; i++) {
        size_t n;
        const char *s = token_at(in, i, &n);
        int byte = oa_byte_piece(s, n);
        if (byte >= 0) {
            oa_text_add(&run, &(char){ (char)byte }, 1);
            continue;
        }
        e = end_bytes(out, &run);
        oa_text_add(&out->text, s, n);
        if (e == OA_OK)
            e = end_token(out);
    }
    if (e == OA_OK)
        e = end_bytes(out, &run);
    oa_text_free(&run);
    return e;
}

/* Joins all tokens into one. alphabet: decodes those that are in the byte alphabet. */
static enum oa_error join_all(const struct token_texts *in, bool alphabet, struct token_texts *out)
{
    for (size_t i = 0; i < in->count; i++) {
        size_t n, before = out->text.length;
        const char *s = token_at(in, i, &n);
        if (alphabet && oa_byte_unspell(&out->text, s, n))
            continue;
        oa_text_cut(&out->text, before);
        oa_text_add(&out->text, s, n);
    }
    return end_token(out);
}

static enum oa_error decode_step(const struct oa_decoding_step *step, const struct token_texts *in,
                                 struct token_texts *out)
{
    if (step->kind == OA_DECODE_BYTE_FALLBACK)
        return join_bytes(in, out);
    if (step->kind == OA_DECODE_FUSE || step->kind == OA_DECODE_BYTE_LEVEL)
        return join_all(in, step->kind == OA_DECODE_BYTE_LEVEL, out);
    for (size_t i = 0; i < in->count; i++) {
        size_t n;
        const char *s = token_at(in, i, &n);
        OA_TRY(decode_token(step, i, in->count, s, n, &out->text));
        OA_TRY(end_token(out));
    }
    return OA_OK;
}

static enum oa_error decode_steps(const struct oa_decoder *d, struct token_texts *t)
{
    enum oa_error e = OA_OK;
    for (int i = 0; i < d->count && t->count && e == OA_OK; i++) {
        struct token_texts out = { .count = 0 };
        oa_text_init(&out.text, t->text.context);
        e = decode_step(&d->step[i], t, &out);
        token_texts_free(t);
        *t = out;
    }
    return e;
}

/* The texts of tokens: pieces of the model, contents of added tokens. */
static enum oa_error collect_tokens(const struct oa_tokenizer *tok, const int32_t *ids,
                                    size_t count, struct token_texts *t)
{
    for (size_t i = 0; i < count; i++) {
        size_t n;
        const char *piece = oa_tokenizer_piece(tok, ids[i]);
        if (!piece)
            return oa_refuse_id(tok, ids[i], i);
        bool model = tok->vocabulary.number_of[ids[i]] < tok->vocabulary.model_size;
        const char *bytes = oa_tokenizer_bytes(tok, ids[i], &n);
        oa_text_add(&t->text, model ? piece : bytes, model ? strlen(piece) : n);
        OA_TRY(end_token(t));
        if (tok->decoder.count == 0 && i + 1 < count)
            oa_text_add(&t->text, " ", 1);
    }
    return OA_OK;
}

enum oa_error oa_decoder_text(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                              struct oa_text *out)
{
    struct token_texts t = { .count = 0 };
    oa_text_init(&t.text, tok->context);
    enum oa_error e = collect_tokens(tok, ids, count, &t);
    if (e == OA_OK)
        e = decode_steps(&tok->decoder, &t);
    if (e == OA_OK)
        oa_text_add(out, t.text.s, t.text.length);
    token_texts_free(&t);
    return e == OA_OK && oa_status(out->context) == OA_NO_MEMORY ? OA_NO_MEMORY : e;
}

/* ---- one token ---- */

enum oa_error oa_decoder_bytes(oa_context *c, const struct oa_decoder *d, const char *piece,
                               size_t n, struct oa_text *out)
{
    enum oa_error e = OA_OK;
    bool fused = false;
    oa_text_add(out, piece, n);
    if (d->count == 0) { /* tokens are separated by blanks */
        oa_text_cut(out, 0);
        oa_text_add(out, " ", 1);
        oa_text_add(out, piece, n);
    }
    for (int i = 0; i < d->count && e == OA_OK; i++) {
        const struct oa_decoding_step *step = &d->step[i];
        struct oa_text next;
        int byte = oa_byte_piece(out->s ? out->s : "", out->length);
        fused = fused || step->kind == OA_DECODE_FUSE;
        if (fused && step->kind == OA_DECODE_STRIP) /* of the whole text */
            continue;
        oa_text_init(&next, c);
        if (step->kind == OA_DECODE_BYTE_FALLBACK && byte >= 0)
            oa_text_add(&next, &(char){ (char)byte }, 1);
        else if (step->kind != OA_DECODE_BYTE_LEVEL || !oa_byte_unspell(&next, out->s, out->length))
            e = decode_token(step, 1, 3, out->s ? out->s : "", out->length, &next);
        oa_text_free(out);
        *out = next;
    }
    return e;
}

void oa_decoder_free(struct oa_decoder *d)
{
    for (int i = 0; i < d->count; i++) {
        oa_text_free(&d->step[i].mark);
        oa_normaliser_free(&d->step[i].replace);
    }
    d->count = 0;
}
