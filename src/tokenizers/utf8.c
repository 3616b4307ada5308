/* SPDX-License-Identifier: Apache-2.0
 * UTF-8 (RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF), character classes,
 * and the GPT-2 alphabet, which represents every byte by one printable character. */
#include "tokenizers/tokenizer_parts.h"

#include <utf8proc.h>

/* ---- UTF-8 ---- */

int oa_utf8_decode(const char *text, size_t length, uint32_t *code)
{
    utf8proc_int32_t value;
    utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &value);
    if (n <= 0)
        return 0;
    *code = (uint32_t)value;
    return (int)n;
}

size_t oa_utf8_mark_length(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

int oa_utf8_encode(uint32_t code, char out[4])
{
    return (int)utf8proc_encode_char((utf8proc_int32_t)code, (utf8proc_uint8_t *)out);
}

size_t oa_utf8_valid_length(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        uint32_t code;
        uint64_t eight = UINT64_MAX;
        if (length - i >= 8)
            memcpy(&eight, text + i, sizeof eight);
        if ((eight & 0x8080808080808080u) == 0) { /* ASCII */
            i += 8;
            continue;
        }
        int n = oa_utf8_decode(text + i, length - i, &code);
        if (n == 0)
            break;
        i += (size_t)n;
    }
    return i;
}

size_t oa_utf8_invalid_length(const char *text, size_t length)
{
    uint32_t code;
    size_t i = 0;
    while (i < length && oa_utf8_decode(text + i, length - i, &code) == 0)
        i++;
    return i;
}

uint64_t oa_text_characters(const char *text, size_t length)
{
    uint64_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((uint8_t)text[i] & 0xc0) != 0x80; /* not a continuation */
    return count;
}

size_t oa_character_offset(const char *text, size_t length, uint64_t count)
{
    size_t at = 0;
    for (uint64_t seen = 0; at < length; at++) {
        seen += ((uint8_t)text[at] & 0xc0) != 0x80;
        if (seen > count)
            break;
    }
    return at;
}

void oa_print_character(struct oa_text *out, const char *text, size_t length)
{
    uint32_t code = 0;
    int n = oa_utf8_decode(text, length, &code);
    if (n == 0)
        oa_text_printf(out, "byte 0x%02X (not UTF-8)", (unsigned)(uint8_t)text[0]);
    else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
        oa_text_printf(out, "character U+%04X", (unsigned)code);
    else
        oa_text_printf(out, "character '%.*s' (U+%04X)", n, text, (unsigned)code);
}

/* ---- classes ---- */

bool oa_code_in(uint32_t code, const uint32_t (*range)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= range[i][0] && code <= range[i][1])
            return true;
    return false;
}

bool oa_is_given(const char *option)
{
    return option && option[strspn(option, " ")];
}

bool oa_is_space(uint32_t code)
{
    if (code < 0x80)
        return code == 0x20 || (code >= 0x09 && code <= 0x0d);
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool oa_is_blank(const char *text, size_t n)
{
    uint32_t code;
    for (size_t i = 0; i < n;) {
        int length = oa_utf8_decode(text + i, n - i, &code);
        if (length == 0 || !oa_is_space(code))
            return false;
        i += (size_t)length;
    }
    return true;
}

bool oa_is_word(uint32_t code)
{
    static const uint32_t enclosed_letters[][2] = { /* Alphabetic symbols */
                                                    { 0x24b6, 0x24e9 },
                                                    { 0x1f130, 0x1f149 },
                                                    { 0x1f150, 0x1f169 },
                                                    { 0x1f170, 0x1f189 }
    };
    /* of Unicode 16, which utf8proc 2.8 does not have yet */
    static const uint32_t newer[][2] = {
        { 0x897, 0x897 },     { 0x1c89, 0x1c8a },   { 0xa7cb, 0xa7cd },   { 0xa7da, 0xa7dc },
        { 0x105c0, 0x105f3 }, { 0x10d40, 0x10d65 }, { 0x10d69, 0x10d6d }, { 0x10d6f, 0x10d85 },
        { 0x10ec2, 0x10ec4 }, { 0x10efc, 0x10efc }, { 0x11380, 0x11389 }, { 0x1138b, 0x1138b },
        { 0x1138e, 0x1138e }, { 0x11390, 0x113b5 }, { 0x113b7, 0x113c0 }, { 0x113c2, 0x113c2 },
        { 0x113c5, 0x113c5 }, { 0x113c7, 0x113ca }, { 0x113cc, 0x113d3 }, { 0x113e1, 0x113e2 },
        { 0x116d0, 0x116e3 }, { 0x11bc0, 0x11be0 }, { 0x11bf0, 0x11bf9 }, { 0x11f5a, 0x11f5a },
        { 0x13460, 0x143fa }, { 0x16100, 0x16139 }, { 0x16d40, 0x16d6c }, { 0x16d70, 0x16d79 },
        { 0x18cff, 0x18cff }, { 0x1ccf0, 0x1ccf9 }, { 0x1e5d0, 0x1e5fa }, { 0x2ebf0, 0x2ee5d }
    };
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default:
        return code == 0x200c || code == 0x200d || OA_CODE_IN(code, enclosed_letters) ||
               OA_CODE_IN(code, newer);
    }
}

/* ---- the byte alphabet ---- */

/* Printable Latin-1 bytes represent themselves; the other 68 are U+0100 … in increasing order: 0x00
 * … 0x20 (33), 0x7F … 0xA0 (34), 0xAD. */
uint32_t oa_byte_to_code(uint8_t byte)
{
    if (byte <= 0x20)
        return 0x100u + byte;
    if (byte >= 0x7f && byte <= 0xa0)
        return 0x100u + 33 + (byte - 0x7fu);
    return byte == 0xad ? 0x100u + 67 : byte;
}

int oa_code_to_byte(uint32_t code)
{
    if (code >= 0x100)
        return code <= 0x120   ? (int)code - 0x100
               : code <= 0x142 ? (int)code - 0x121 + 0x7f
               : code == 0x143 ? 0xad
                               : -1;
    return oa_byte_to_code((uint8_t)code) == code ? (int)code : -1;
}

void oa_byte_spell(struct oa_text *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char spelt[4];
        oa_text_add(out, spelt, (size_t)oa_utf8_encode(oa_byte_to_code((uint8_t)bytes[i]), spelt));
    }
}

bool oa_byte_unspell(struct oa_text *out, const char *piece, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        int length = oa_utf8_decode(piece + i, n - i, &code);
        int byte = length ? oa_code_to_byte(code) : -1;
        if (byte < 0)
            return false;
        oa_text_add(out, &(char){ (char)byte }, 1);
        i += (size_t)length;
    }
    return true;
}
