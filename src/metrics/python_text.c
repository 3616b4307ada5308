/* SPDX-License-Identifier: Apache-2.0
 * Python's str methods isspace, split, rstrip and lower, on which the scores of the reference
 * packages depend. */
#include "data/data.h"
#include "metrics/metrics_parts.h"

#include <utf8proc.h>

/* ---- white space ---- */

bool oa_python_space(uint32_t code)
{
    if (code < 0x80)
        return code == 0x20 || (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f);
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

struct oa_line oa_next_point(struct oa_line *rest, uint32_t *code)
{
    struct oa_line point = { .s = rest->s };
    if (rest->length == 0)
        return point;
    int n = oa_utf8_decode(rest->s, rest->length, code);
    point.length = n ? (size_t)n : 1; /* an invalid byte */
    if (n == 0)
        *code = 0xfffd;
    rest->s += point.length;
    rest->length -= point.length;
    return point;
}

/* The bytes of the last code point, and its value; 0 if it is not valid. */
static size_t last_point(struct oa_line text, uint32_t *code)
{
    size_t n = 1;
    while (n < text.length && n < 4 && ((uint8_t)text.s[text.length - n] & 0xc0) == 0x80)
        n++;
    struct oa_line end = { text.s + text.length - n, n };
    *code = 0;
    oa_next_point(&end, code);
    return n;
}

struct oa_line oa_python_rstrip(struct oa_line text)
{
    while (text.length) {
        uint32_t code;
        size_t n = last_point(text, &code);
        if (!oa_python_space(code))
            break;
        text.length -= n;
    }
    return text;
}

/* The next word, past which *rest is advanced; length 0 at the end. */
static struct oa_line next_python_word(struct oa_line *rest)
{
    uint32_t code;
    struct oa_line word = { .s = NULL }, point;
    while ((point = oa_next_point(rest, &code)).length) {
        bool space = oa_python_space(code);
        if (space && word.length)
            break;
        if (!space && !word.length)
            word.s = point.s;
        if (!space)
            word.length += point.length;
    }
    return word;
}

bool oa_python_split(struct oa_arena *a, struct oa_line text, struct oa_word_list *out)
{
    struct oa_line rest = text, word;
    *out = (struct oa_word_list){ .count = 0 };
    while (next_python_word(&rest).length)
        out->count++;
    out->word = oa_arena_take(a, ((size_t)out->count + 1) * sizeof *out->word);
    if (!out->word)
        return false;
    out->count = 0;
    for (rest = text; (word = next_python_word(&rest)).length;)
        out->word[out->count++] = word;
    return true;
}

/* ---- lower case ---- */

/* Unicode's Case_Ignorable: marks, formats, modifiers, and word-internal punctuation. */
static bool is_case_ignorable(uint32_t code)
{
    static const uint32_t inside_words[][2] = {
        { 0x27, 0x27 },     { 0x2e, 0x2e },     { 0x3a, 0x3a },     { 0xb7, 0xb7 },
        { 0x387, 0x387 },   { 0x55f, 0x55f },   { 0x5f4, 0x5f4 },   { 0x2018, 0x2019 },
        { 0x2024, 0x2024 }, { 0x2027, 0x2027 }, { 0xfe13, 0xfe13 }, { 0xfe52, 0xfe52 },
        { 0xfe55, 0xfe55 }, { 0xff07, 0xff07 }, { 0xff0e, 0xff0e }, { 0xff1a, 0xff1a },
    };
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return OA_CODE_IN(code, inside_words);
    }
}

/* Unicode's Cased: letters with case, and Other_Lowercase and Other_Uppercase. */
static bool is_cased(uint32_t code)
{
    static const uint32_t others[][2] = {
        { 0xaa, 0xaa },       { 0xba, 0xba },       { 0x2160, 0x217f },   { 0x24b6, 0x24e9 },
        { 0x1f130, 0x1f149 }, { 0x1f150, 0x1f169 }, { 0x1f170, 0x1f189 },
    };
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
        return true;
    default:
        return OA_CODE_IN(code, others);
    }
}

static bool cased_follows(struct oa_line rest)
{
    uint32_t code;
    while (oa_next_point(&rest, &code).length)
        if (!is_case_ignorable(code))
            return is_cased(code);
    return false;
}

static bool cased_before(struct oa_line text)
{
    while (text.length) {
        uint32_t code;
        size_t n = last_point(text, &code);
        if (!is_case_ignorable(code))
            return is_cased(code);
        text.length -= n;
    }
    return false;
}

static char *put_code(char *out, uint32_t code)
{
    return out + oa_utf8_encode(code, out);
}

struct oa_line oa_python_lower(struct oa_arena *a, struct oa_line text)
{
    uint32_t code;
    struct oa_line rest = text, point, lower = { .s = NULL };
    char *out = oa_arena_take(a, 2 * text.length + 1), *start = out;
    if (!out)
        return lower;
    while ((point = oa_next_point(&rest, &code)).length) {
        if (code < 0x80)
            *out++ = (char)(code >= 'A' && code <= 'Z' ? code + 32 : code);
        else if (point.length == 1)
            *out++ = *point.s;
        else if (code == 0x130) /* the only letter with a lower case of two code points */
            out = put_code(put_code(out, 'i'), 0x307);
        else if (code == 0x3a3) { /* Unicode's Final_Sigma */
            struct oa_line before = { text.s, text.length - rest.length - 2 };
            bool final = cased_before(before) && !cased_follows(rest);
            out = put_code(out, final ? 0x3c2 : 0x3c3);
        } else
            out = put_code(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code));
    }
    lower.s = start;
    lower.length = (size_t)(out - start);
    return lower;
}
