/* SPDX-License-Identifier: Apache-2.0
 * The text of a token as an argument in a shell. */
#include "families/stop_text.h"

#include "tokenizers/text.h"

#include <string.h>

/* The first of two equal tokens may lack the blank that it has within a text. */
static void add_written_token(oa_context *c, const struct oa_tokenizer *tokenizer, int32_t id,
                              struct oa_text *out)
{
    const int32_t twice[2] = { id, id };
    struct oa_text one, two;
    oa_text_init(&one, c);
    oa_text_init(&two, c);
    if (oa_tokenizer_decode(tokenizer, twice, 1, &one) == OA_OK &&
        oa_tokenizer_decode(tokenizer, twice, 2, &two) == OA_OK && two.length > one.length)
        oa_text_add(out, two.s + one.length, two.length - one.length);
    else
        oa_text_printf(out, "%s", oa_tokenizer_piece(tokenizer, id));
    oa_text_free(&one);
    oa_text_free(&two);
}

static bool is_control(unsigned char byte)
{
    return byte < ' ' || byte == 0x7f;
}

/* In octal, of three digits, so that a digit may follow. */
static void add_shell_escape(const char *s, size_t length, struct oa_text *out)
{
    bool valid = oa_utf8_valid_length(s, length) == length;
    oa_text_printf(out, "$'");
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)s[i];
        if (byte == '\n')
            oa_text_printf(out, "\\n");
        else if (is_control(byte) || (byte >= 0x80 && !valid))
            oa_text_printf(out, "\\%03o", byte);
        else
            oa_text_printf(out, "%s%c", byte == '\'' || byte == '\\' ? "\\" : "", byte);
    }
    oa_text_printf(out, "'");
}

void oa_stop_text_quoted(oa_context *c, const struct oa_tokenizer *tokenizer, int32_t id,
                         struct oa_text *out)
{
    struct oa_text text;
    oa_text_init(&text, c);
    add_written_token(c, tokenizer, id, &text);
    bool escapes = text.length && oa_utf8_valid_length(text.s, text.length) < text.length;
    for (size_t i = 0; i < text.length && !escapes; i++)
        escapes = is_control((unsigned char)text.s[i]);
    if (escapes) {
        add_shell_escape(text.s, text.length, out);
    } else {
        oa_text_printf(out, "'");
        for (size_t i = 0; i < text.length; i++)
            oa_text_printf(out, text.s[i] == '\'' ? "'\\''" : "%c", text.s[i]);
        oa_text_printf(out, "'");
    }
    oa_text_free(&text);
}
