/* SPDX-License-Identifier: Apache-2.0
 * Normalisers that look at one character at a time: Nmt (SentencePiece's blanks and control
 * characters), StripAccents, and the parts of BertNormalizer. */
#include "tokenizers/character_tables.h"
#include "tokenizers/tokenizer_parts.h"

/* The ranges are in order. */
static bool in_table(uint32_t code, const uint32_t (*range)[2], size_t count)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code > range[middle][1])
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && code >= range[low][0];
}
#define IN_TABLE(code, table) in_table(code, table, sizeof(table) / sizeof *(table))

void oa_add_punctuation_set(struct oa_text *out)
{
    oa_text_add(out, "[", 1);
    for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++)
        oa_text_printf(out, "\\x{%X}-\\x{%X}", (unsigned)punctuation[i][0],
                       (unsigned)punctuation[i][1]);
    oa_text_add(out, "]", 1);
}

static bool is_ideograph(uint32_t code)
{
    static const uint32_t ranges[][2] = { { 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },
                                          { 0xf900, 0xfaff },   { 0x20000, 0x2a6df },
                                          { 0x2a700, 0x2b81f }, { 0x2b920, 0x2ceaf },
                                          { 0x2f800, 0x2fa1f } };
    return OA_CODE_IN(code, ranges);
}

static bool is_nmt_dropped(uint32_t code)
{
    static const uint32_t ranges[][2] = { { 0x01, 0x08 }, { 0x0b, 0x0b }, { 0x0e, 0x1f },
                                          { 0x7f, 0x7f }, { 0x8f, 0x8f }, { 0x9f, 0x9f } };
    return OA_CODE_IN(code, ranges);
}

static bool is_nmt_blank(uint32_t code)
{
    static const uint32_t ranges[][2] = { { 0x09, 0x0a },     { 0x0c, 0x0d },
                                          { 0x1680, 0x1680 }, { 0x200b, 0x200f },
                                          { 0x2028, 0x2029 }, { 0x2581, 0x2581 },
                                          { 0xfeff, 0xfeff }, { 0xfffd, 0xfffd } };
    return OA_CODE_IN(code, ranges);
}

void oa_normal_characters(enum oa_normal kind, const char *text, size_t n, struct oa_text *out)
{
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code = 0;
        bool drop = false, blank = false, apart = false;
        length = (size_t)oa_utf8_decode(text + i, n - i, &code);
        if (kind == OA_NORMAL_NMT) {
            drop = is_nmt_dropped(code);
            blank = is_nmt_blank(code);
        } else if (kind == OA_NORMAL_MARKS) {
            drop = IN_TABLE(code, combining_marks);
        } else if (kind == OA_NORMAL_NONSPACING) {
            drop = IN_TABLE(code, nonspacing_marks);
        } else if (kind == OA_NORMAL_CLEAN) {
            drop = IN_TABLE(code, unclean);
            blank = oa_is_space(code);
        } else {
            apart = is_ideograph(code);
        }
        if (drop)
            continue;
        oa_text_add(out, " ", apart);
        oa_text_add(out, blank ? " " : text + i, blank ? 1 : length);
        oa_text_add(out, " ", apart);
    }
}
