/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalisers that a loaded tokenizer.json may ask for: the four normalisation forms (Unicode Annex 15) and lower case,
 * character by character, through utf8proc. The library itself never makes one: decoding could not give the text back.
 */
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>
#include <utf8proc.h>

const char *const oa_normal_names[OA_NORMALS] = { "NFC", "NFD", "NFKC", "NFKD", "Lowercase" };

static const utf8proc_option_t form_options[OA_NORMAL_LOWERCASE] = {
    UTF8PROC_STABLE | UTF8PROC_COMPOSE,
    UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
    UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
};

static enum oa_error add_form(struct oa_text *out, enum oa_normal form, const char *text, size_t n)
{
    utf8proc_uint8_t *mapped = NULL;
    utf8proc_ssize_t length =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &mapped, form_options[form]);
    if (length < 0)
        return oa_fail(out->context, OA_NO_MEMORY, "normalising %zu bytes of text to %s: %s", n, oa_normal_names[form],
                       utf8proc_errmsg(length));
    oa_text_add(out, (const char *)mapped, (size_t)length);
    free(mapped);
    return OA_OK;
}

static void add_lower(struct oa_text *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        char lower[4];
        i += (size_t)oa_utf8_decode(text + i, n - i, &code);
        if (code == 0x130) /* İ, the only capital whose lower case is two characters: i and a dot above */
            oa_text_add(out, "i\xcc\x87", 3);
        else
            oa_text_add(out, lower, (size_t)oa_utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)code), lower));
    }
}

static enum oa_error apply(enum oa_normal step, const struct oa_text *in, struct oa_text *out)
{
    for (size_t at = 0; at < in->length;) {
        size_t valid = oa_utf8_valid_length(in->s + at, in->length - at);
        if (step == OA_NORMAL_LOWERCASE)
            add_lower(out, in->s + at, valid);
        else if (valid)
            OA_TRY(add_form(out, step, in->s + at, valid));
        at += valid;
        size_t invalid = oa_utf8_invalid_length(in->s + at, in->length - at);
        oa_text_add(out, in->s + at, invalid);
        at += invalid;
    }
    return oa_status(in->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}

enum oa_error oa_normalise(oa_context *c, const enum oa_normal *steps, int count, struct oa_text *text)
{
    for (int i = 0; i < count; i++) {
        struct oa_text out;
        oa_text_init(&out, c);
        enum oa_error error = apply(steps[i], text, &out);
        oa_text_free(text);
        *text = out;
        OA_TRY(error);
    }
    return OA_OK;
}
