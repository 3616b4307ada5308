/* SPDX-License-Identifier: Apache-2.0
 * The tokenizers of sacreBLEU: 13a (mteval-v13a.pl of WMT), intl (mteval-v14.pl: Unicode
 * punctuation and symbols), char (single characters), none (white space only). */
#include "metrics/metrics_parts.h"
#include "tokenizers/text.h"

#include <utf8proc.h>

static bool tokenize_13a(struct oa_arena *a, struct oa_line *text)
{
    return oa_replace(a, text, "<skipped>", "") && oa_replace(a, text, "-\n", "") &&
           oa_replace(a, text, "\n", " ") && oa_unescape(a, text) &&
           oa_split_punctuation(a, text, false);
}

/* ---- international ---- */

/* First letter of the general category: 'P' punctuation, 'S' symbol, 'N' number … */
static char category_letter(uint32_t code)
{
    return utf8proc_category_string((utf8proc_int32_t)code)[0];
}

static char *append_point(char *out, struct oa_line point)
{
    return (char *)mempcpy(out, point.s, point.length);
}

static char *append_blank(char *out)
{
    *out++ = ' ';
    return out;
}

/* s/(\P{N})(\p{P})/$1 $2 /g */
static char *punctuation_after_no_number(char *out, const char *s, const char *end)
{
    struct oa_line rest = { s, (size_t)(end - s) }, first, second;
    uint32_t x, y;
    while ((first = oa_next_point(&rest, &x)).length) {
        struct oa_line after = rest;
        second = oa_next_point(&after, &y);
        out = append_point(out, first);
        if (second.length && category_letter(x) != 'N' && category_letter(y) == 'P') {
            out = append_blank(append_point(append_blank(out), second));
            rest = after;
        }
    }
    return out;
}

/* s/(\p{P})(\P{N})/ $1 $2/g */
static char *punctuation_before_no_number(char *out, const char *s, const char *end)
{
    struct oa_line rest = { s, (size_t)(end - s) }, first, second;
    uint32_t x, y;
    while ((first = oa_next_point(&rest, &x)).length) {
        struct oa_line after = rest;
        second = oa_next_point(&after, &y);
        if (second.length && category_letter(x) == 'P' && category_letter(y) != 'N') {
            out = append_point(append_blank(append_point(append_blank(out), first)), second);
            rest = after;
        } else {
            out = append_point(out, first);
        }
    }
    return out;
}

/* s/(\p{S})/ $1 /g */
static char *split_symbols(char *out, const char *s, const char *end)
{
    struct oa_line rest = { s, (size_t)(end - s) }, point;
    uint32_t code;
    while ((point = oa_next_point(&rest, &code)).length)
        out = category_letter(code) == 'S' ? append_blank(append_point(append_blank(out), point))
                                           : append_point(out, point);
    return out;
}

static bool tokenize_intl(struct oa_arena *a, struct oa_line *text)
{
    return oa_rewrite(a, text, 3, punctuation_after_no_number) &&
           oa_rewrite(a, text, 3, punctuation_before_no_number) &&
           oa_rewrite(a, text, 3, split_symbols);
}

/* ---- characters ---- */

static char *characters(char *out, const char *s, const char *end)
{
    struct oa_line rest = { s, (size_t)(end - s) }, point;
    uint32_t code;
    while ((point = oa_next_point(&rest, &code)).length)
        out = append_blank(append_point(out, point));
    return out;
}

bool oa_bleu_words(const struct oa_metric_options *o, struct oa_arena *a, struct oa_line text,
                   struct oa_word_list *out)
{
    if (o->bleu_lowercase)
        text = oa_python_lower(a, text);
    if (!text.s)
        return false;
    text = oa_python_rstrip(text);
    bool done = o->bleu_tokens == OA_TOKENS_13A    ? tokenize_13a(a, &text)
                : o->bleu_tokens == OA_TOKENS_INTL ? tokenize_intl(a, &text)
                : o->bleu_tokens == OA_TOKENS_CHAR ? oa_rewrite(a, &text, 2, characters)
                                                   : true;
    return done && oa_python_split(a, text, out);
}

/* ---- scripts without spaces ---- */

/* Scripts without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, Tai scripts, Javanese;
 * Han, Hiragana, Katakana, Bopomofo with CJK punctuation. */
static bool is_of_unspaced_script(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        { 0x0e00, 0x0fff }, { 0x1000, 0x109f }, { 0x1780, 0x17ff }, { 0x1950, 0x19ff },
        { 0x1a20, 0x1aaf }, { 0x2e80, 0x312f }, { 0x31a0, 0x9fff }, { 0xa980, 0xa9ff },
        { 0xaa60, 0xaa7f }, { 0xf900, 0xfaff }, { 0xff66, 0xff9f }, { 0x20000, 0x3ffff },
    };
    return OA_CODE_IN(code, ranges);
}

static bool is_read_by_rouge(uint32_t code)
{
    return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
           (code >= 'A' && code <= 'Z');
}

/* The length of the next run of characters without white space, 0 at the end. *script: those of
 * scripts without spaces. */
static long next_unspaced_run(struct oa_spacing *s, struct oa_line *rest, long *script)
{
    uint32_t code;
    long count = 0;
    *script = 0;
    while (oa_next_point(rest, &code).length) {
        if (oa_python_space(code) && count > 0)
            break;
        if (oa_python_space(code))
            continue;
        count++;
        *script += is_of_unspaced_script(code);
        s->ascii += is_read_by_rouge(code);
    }
    s->all += (double)count;
    return count;
}

/* A run is not a word where it is too long, or, in a script without spaces, the whole line: there,
 * segmented text has words of up to 5 characters. */
void oa_spacing_add(struct oa_spacing *s, struct oa_line line)
{
    enum { LONG_WORD = 15, LONG_SEGMENT = 5 };
    long count, script, unspaced = 0, first_script = 0, all = 0;
    int runs = 0;
    for (; (count = next_unspaced_run(s, &line, &script)) > 0; runs++) {
        if (count > (2 * script > count ? LONG_SEGMENT : LONG_WORD))
            unspaced += count;
        first_script = runs ? 0 : script;
        all += count;
    }
    s->unspaced += (double)(runs == 1 && 2 * first_script > all ? all : unspaced);
}

bool oa_is_unspaced(const struct oa_spacing *s)
{
    return s->unspaced > 0.5 * s->all;
}

bool oa_is_unread_by_rouge(const struct oa_spacing *s)
{
    return s->ascii < 0.5 * s->all;
}
