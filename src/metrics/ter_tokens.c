/* SPDX-License-Identifier: Apache-2.0
 * Words for TER, by Tercom's normaliser as in sacreBLEU. Its rules for kana match only at the very
 * beginning, where normalisation has put a blank, and its rule for 's only at the very end: they
 * never match and are left out. The other Asian rules put blanks around single characters. */
#include "metrics/metrics_parts.h"
#include "tokenizers/text.h"

static bool asian_punctuation(uint32_t code)
{
    static const uint32_t marks[][2] = {
        { 0x3001, 0x3002 }, { 0x3008, 0x3011 }, { 0x3014, 0x301f }, { 0xff61, 0xff65 },
        { 0x30fb, 0x30fb }, { 0xff0e, 0xff0e }, { 0xff0c, 0xff0c }, { 0xff1f, 0xff1f },
        { 0xff1a, 0xff1b }, { 0xff01, 0xff02 }, { 0xff08, 0xff09 },
    };
    return OA_CODE_IN(code, marks);
}

/* Ideographs, strokes, radicals, compatibility forms; U+3200 to U+3F22 as in sacreBLEU. */
static bool is_asian_separate(uint32_t code)
{
    static const uint32_t signs[][2] = {
        { 0x4e00, 0x9fff }, { 0x3400, 0x4dbf }, { 0x31c0, 0x31ef }, { 0x2e80, 0x2eff },
        { 0x3200, 0x3f22 }, { 0xf900, 0xfaff }, { 0xfe30, 0xfe4f },
    };
    return OA_CODE_IN(code, signs) || asian_punctuation(code);
}

static char *asian_apart(char *out, const char *s, const char *end)
{
    struct oa_line rest = { s, (size_t)(end - s) }, point;
    uint32_t code;
    while ((point = oa_next_point(&rest, &code)).length) {
        bool apart = is_asian_separate(code);
        if (apart)
            *out++ = ' ';
        out = (char *)mempcpy(out, point.s, point.length);
        if (apart)
            *out++ = ' ';
    }
    return out;
}

static char *without_punctuation(char *out, const char *s, const char *end)
{
    for (; s < end; s++)
        if (!*s || !strchr(".,?:;!\"()", *s))
            *out++ = *s;
    return out;
}

static char *without_asian_punctuation(char *out, const char *s, const char *end)
{
    struct oa_line rest = { s, (size_t)(end - s) }, point;
    uint32_t code;
    while ((point = oa_next_point(&rest, &code)).length)
        if (!asian_punctuation(code))
            out = (char *)mempcpy(out, point.s, point.length);
    return out;
}

static bool normalise_tercom(struct oa_arena *a, struct oa_line *text)
{
    return oa_replace(a, text, "\n-", "") && oa_replace(a, text, "\n", " ") &&
           oa_unescape(a, text) && oa_split_punctuation(a, text, true);
}

bool oa_ter_words(const struct oa_metric_options *o, struct oa_arena *a, struct oa_line text,
                  struct oa_word_list *out)
{
    text = oa_python_rstrip(text);
    if (!o->ter_case_sensitive)
        text = oa_python_lower(a, text);
    return text.s && (!o->ter_normalized || normalise_tercom(a, &text)) &&
           (!o->ter_normalized || !o->ter_asian || oa_rewrite(a, &text, 3, asian_apart)) &&
           (!o->ter_no_punctuation || oa_rewrite(a, &text, 1, without_punctuation)) &&
           (!o->ter_no_punctuation || !o->ter_asian ||
            oa_rewrite(a, &text, 1, without_asian_punctuation)) &&
           oa_python_split(a, text, out);
}
