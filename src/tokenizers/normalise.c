/* SPDX-License-Identifier: Apache-2.0
 * Normalisers of a loaded tokenizer.json: the four normalisation forms (Unicode Annex 15) and lower
 * case, with the tables of utf8proc, replacing, prepending and stripping. The library itself never
 * adds one, since decoding would not restore the text.
 *
 * utf8proc_map sorts combining marks in quadratic time and expands the whole text to code points.
 * Here marks are sorted by counting and long texts are split before ASCII characters, which compose
 * with nothing before them. Linear in the text. */
#include "tokenizers/tokenizer_parts.h"

#include <utf8proc.h>

const char *const oa_normal_names[OA_NORMALS] = { "NFC", "NFD", "NFKC", "NFKD", "Lowercase" };

enum {
    MOST_SEGMENT = 65536, /* bytes, up to the next ASCII character */
    MOST_EXPANSION = 18,  /* most code points of a decomposition (U+FDFA) */
};

static const utf8proc_option_t form_options[OA_NORMAL_LOWERCASE] = {
    UTF8PROC_STABLE | UTF8PROC_COMPOSE,
    UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
    UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
};

/* Code points of a segment, and room to order marks. */
struct codes {
    utf8proc_int32_t *code, *ordered;
    size_t count, capacity, ordered_capacity;
};

static int combining_class(utf8proc_int32_t code)
{
    return (int)utf8proc_get_property(code)->combining_class;
}

/* Sorts n consecutive marks by combining class, stably. */
static bool order_marks(oa_context *c, struct codes *s, size_t first, size_t n)
{
    size_t place[257] = { 0 };
    if (n < 2)
        return true;
    if (!oa_reserve(c, &s->ordered, &s->ordered_capacity, n, sizeof *s->ordered))
        return false;
    for (size_t i = 0; i < n; i++)
        place[combining_class(s->code[first + i]) + 1]++;
    for (int i = 1; i < 257; i++)
        place[i] += place[i - 1];
    for (size_t i = 0; i < n; i++)
        s->ordered[place[combining_class(s->code[first + i])]++] = s->code[first + i];
    memcpy(s->code + first, s->ordered, n * sizeof *s->code);
    return true;
}

/* Compatibility decompositions newer than Unicode 12.0, which the reference lacks. */
static bool is_newer(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        { 0x32ff, 0x32ff },   { 0xa7f1, 0xa7f4 },   { 0xab69, 0xab69 },   { 0x105c9, 0x105e4 },
        { 0x10781, 0x107ba }, { 0x11383, 0x11391 }, { 0x113c5, 0x113c8 }, { 0x11938, 0x11938 },
        { 0x16121, 0x16128 }, { 0x16d68, 0x16d6a }, { 0x1ccd6, 0x1ccf9 }, { 0x1e030, 0x1e06d },
        { 0x1f16c, 0x1f16c }, { 0x1fbf0, 0x1fbf9 }
    };
    return OA_CODE_IN(code, ranges);
}

static bool decompose_segment(oa_context *c, struct codes *s, utf8proc_option_t options,
                              const char *text, size_t n)
{
    size_t first = 0; /* start of the current run of marks */
    if (options & UTF8PROC_COMPOSE)
        options = (utf8proc_option_t)((options & ~UTF8PROC_COMPOSE) | UTF8PROC_DECOMPOSE);
    s->count = 0;
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t code;
        int bound = 0;
        i += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(n - i),
                                      &code);
        if (!oa_reserve(c, &s->code, &s->capacity, s->count + MOST_EXPANSION, sizeof *s->code))
            return false;
        size_t parts = 1;
        if (is_newer((uint32_t)code))
            s->code[s->count] = code;
        else
            parts = (size_t)utf8proc_decompose_char(code, s->code + s->count, MOST_EXPANSION,
                                                    options, &bound);
        for (size_t k = 0; k < parts; k++, s->count++)
            if (combining_class(s->code[s->count]) == 0) {
                if (!order_marks(c, s, first, s->count - first))
                    return false;
                first = s->count + 1;
            }
    }
    return order_marks(c, s, first, s->count - first);
}

static enum oa_error add_normal_form(struct oa_text *out, struct codes *s, enum oa_normal form,
                                     const char *text, size_t n)
{
    oa_context *c = out->context;
    for (size_t at = 0, length; at < n; at += length) {
        int signal = oa_stop_requested(c);
        if (signal)
            return oa_fail(c, OA_INTERRUPTED, "stopped by signal %d while normalising text",
                           signal);
        length = n - at < MOST_SEGMENT ? n - at : MOST_SEGMENT;
        while (at + length < n && (uint8_t)text[at + length] >= 0x80)
            length++;
        if (!decompose_segment(c, s, form_options[form], text + at, length))
            return OA_NO_MEMORY;
        utf8proc_ssize_t count = (utf8proc_ssize_t)s->count;
        if (form_options[form] & UTF8PROC_COMPOSE)
            count = utf8proc_normalize_utf32(s->code, count, form_options[form]);
        for (utf8proc_ssize_t i = 0; i < count; i++) {
            char bytes[4];
            oa_text_add(out, bytes, (size_t)oa_utf8_encode((uint32_t)s->code[i], bytes));
        }
    }
    return OA_OK;
}

/* Lower case, with pairs added after Unicode 14: the reference has Unicode 17. */
static uint32_t lower_of(uint32_t code)
{
    static const struct {
        uint32_t first, last, lower; /* of the first */
    } newer[] = { { 0x1c89, 0x1c89, 0x1c8a },    { 0xa7cb, 0xa7cb, 0x264 },
                  { 0xa7cc, 0xa7cc, 0xa7cd },    { 0xa7ce, 0xa7ce, 0xa7cf },
                  { 0xa7d2, 0xa7d2, 0xa7d3 },    { 0xa7d4, 0xa7d4, 0xa7d5 },
                  { 0xa7da, 0xa7da, 0xa7db },    { 0xa7dc, 0xa7dc, 0x19b },
                  { 0x10d50, 0x10d65, 0x10d70 }, { 0x16ea0, 0x16eb8, 0x16ebb } };
    for (size_t i = 0; code >= 0x1c89 && i < sizeof newer / sizeof *newer; i++)
        if (code >= newer[i].first && code <= newer[i].last)
            return newer[i].lower + code - newer[i].first;
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)code);
}

static void add_lower(struct oa_text *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        char lower[4];
        i += (size_t)oa_utf8_decode(text + i, n - i, &code);
        if (code ==
            0x130) /* İ, the only capital whose lower case is two characters: i and a dot above */
            oa_text_add(out, "i\xcc\x87", 3);
        else
            oa_text_add(out, lower, (size_t)oa_utf8_encode(lower_of(code), lower));
    }
}

/* Steps that apply to valid UTF-8 only; other bytes are copied. */
static enum oa_error apply_to_valid(const struct oa_text_normaliser *step, const struct oa_text *in,
                                    struct codes *s, struct oa_text *out)
{
    for (size_t at = 0; at < in->length;) {
        const char *text = in->s + at;
        size_t valid = oa_utf8_valid_length(text, in->length - at);
        if (step->kind == OA_NORMAL_LOWERCASE)
            add_lower(out, text, valid);
        else if (step->kind == OA_NORMAL_PRECOMPILED)
            oa_charsmap_apply(&step->map, text, valid, out);
        else if (step->kind == OA_NORMAL_REPLACE && valid)
            OA_TRY(oa_splitter_replace(&step->pattern, text, valid, &step->content, out));
        else if (step->kind >= OA_NORMALS)
            oa_normal_characters(step->kind, text, valid, out);
        else if (valid)
            OA_TRY(add_normal_form(out, s, step->kind, text, valid));
        at += valid;
        size_t invalid = oa_utf8_invalid_length(in->s + at, in->length - at);
        oa_text_add(out, in->s + at, invalid);
        at += invalid;
    }
    return oa_status(in->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}

void oa_replace_literal(const char *text, size_t n, const struct oa_text *old,
                        const struct oa_text *content, struct oa_text *out)
{
    const char *end = text + n, *found;
    while ((found = memmem(text, (size_t)(end - text), old->s, old->length))) {
        oa_text_add(out, text, (size_t)(found - text));
        oa_text_add(out, content->s, content->length);
        text = found + old->length;
    }
    oa_text_add(out, text, (size_t)(end - text));
}

static enum oa_error apply_step(const struct oa_text_normaliser *step, const struct oa_text *in,
                                struct codes *s, struct oa_text *out)
{
    if (in->length == 0)
        return OA_OK;
    if (step->kind == OA_NORMAL_PREPEND) {
        oa_text_add(out, step->content.s, step->content.length);
        oa_text_add(out, in->s, in->length);
    } else if (step->kind == OA_NORMAL_STRIP) {
        size_t from = step->left ? oa_spaces_after(in->s, in->length, 0) : 0,
               to = step->right ? oa_spaces_before(in->s, in->length) : in->length;
        oa_text_add(out, in->s + from, to > from ? to - from : 0);
    } else if (step->kind == OA_NORMAL_SENTENCEPIECE) {
        oa_normal_sentencepiece(step, in->s, in->length, out);
    } else if (step->kind == OA_NORMAL_REPLACE && step->literal.length) {
        oa_replace_literal(in->s, in->length, &step->literal, &step->content, out);
    } else {
        return apply_to_valid(step, in, s, out);
    }
    return oa_status(in->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}

/* Whether a step deletes the first character. */
static bool cuts_beginning(const struct oa_text_normaliser *step, const struct oa_text *in)
{
    uint32_t code;
    int first = in->length ? oa_utf8_decode(in->s, in->length, &code) : 0;
    struct oa_text out, begin = { .context = in->context, .s = in->s, .length = (size_t)first };
    bool one = step->kind >= OA_NORMALS && step->kind != OA_NORMAL_PREPEND &&
               (step->kind != OA_NORMAL_STRIP || step->left);
    if (first == 0 || !one)
        return false;
    oa_text_init(&out, in->context);
    if (step->kind == OA_NORMAL_REPLACE && step->literal.length)
        begin.length = step->literal.length < in->length ? step->literal.length : in->length;
    (void)apply_step(step, &begin, NULL, &out);
    bool cut = out.length == 0;
    oa_text_free(&out);
    return cut;
}

enum oa_error oa_normalise(oa_context *c, const struct oa_text_normaliser *steps, int count,
                           struct oa_text *text, bool *cut)
{
    struct codes codes = { 0 };
    enum oa_error error = OA_OK;
    for (int i = 0; i < count && error == OA_OK; i++) {
        struct oa_text out;
        oa_text_init(&out, c);
        if (cut)
            *cut = *cut || cuts_beginning(&steps[i], text);
        error = apply_step(&steps[i], text, &codes, &out);
        oa_text_free(text);
        *text = out;
    }
    oa_free(codes.code);
    oa_free(codes.ordered);
    return error;
}

void oa_normaliser_init(struct oa_text_normaliser *n, oa_context *c, enum oa_normal kind)
{
    *n = (struct oa_text_normaliser){ .kind = kind };
    oa_text_init(&n->literal, c);
    oa_text_init(&n->content, c);
    oa_splitter_init(&n->pattern, c);
}

void oa_normaliser_free(struct oa_text_normaliser *n)
{
    oa_text_free(&n->literal);
    oa_text_free(&n->content);
    oa_splitter_free(&n->pattern);
    oa_charsmap_free(&n->map);
}
