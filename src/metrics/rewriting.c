/* SPDX-License-Identifier: Apache-2.0
 * Substitutions over a text, and the ones for Western punctuation that mteval-v13a and Tercom
 * share. Each regular expression of the original is a left-to-right pass over bytes, without
 * overlapping matches; all match ASCII only. */
#include "metrics/metrics_parts.h"

bool oa_rewrite(struct oa_arena *a, struct oa_line *text, int growth, oa_pass *pass)
{
    char *out = oa_arena_take(a, (size_t)growth * text->length + 1);
    if (!out)
        return false;
    char *end = pass(out, text->s, text->s + text->length);
    *text = (struct oa_line){ out, (size_t)(end - out) };
    return true;
}

/* ---- replacing ---- */

bool oa_replace(struct oa_arena *a, struct oa_line *text, const char *from, const char *to)
{
    size_t n = strlen(from), m = strlen(to);
    const char *s = text->s, *end = s + text->length, *next;
    if (text->length < n || !memmem(s, text->length, from, n))
        return true;
    char *start = oa_arena_take(a, text->length + 1), *out = start;
    if (!start)
        return false;
    for (; (next = memmem(s, (size_t)(end - s), from, n)); s = next + n) {
        out = (char *)mempcpy(out, s, (size_t)(next - s));
        out = (char *)mempcpy(out, to, m);
    }
    out = (char *)mempcpy(out, s, (size_t)(end - s));
    *text = (struct oa_line){ start, (size_t)(out - start) };
    return true;
}

bool oa_unescape(struct oa_arena *a, struct oa_line *text)
{
    return oa_replace(a, text, "&quot;", "\"") && oa_replace(a, text, "&amp;", "&") &&
           oa_replace(a, text, "&lt;", "<") && oa_replace(a, text, "&gt;", ">");
}

/* ---- punctuation ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_stop(char c)
{
    return c == '.' || c == ',';
}

/* [{-~[-` -&(-+:-@/]: ASCII punctuation and the blank, but for ' , - . */
static bool is_separated(char c)
{
    return (c >= ' ' && c <= '/' && c != '\'' && c != ',' && c != '-' && c != '.') ||
           (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static char *pad_byte(char *out, char c)
{
    *out++ = ' ';
    *out++ = c;
    *out++ = ' ';
    return out;
}

/* s/([{-~[-` -&(-+:-@\/])/ $1 /g, and a blank before and after the text */
static char *pad_punctuation(char *out, const char *s, const char *end)
{
    *out++ = ' ';
    for (; s < end; s++) {
        if (is_separated(*s))
            out = pad_byte(out, *s);
        else
            *out++ = *s;
    }
    *out++ = ' ';
    return out;
}

/* s/'s / 's /g */
static char *possessives_apart(char *out, const char *s, const char *end)
{
    for (; s < end; s++) {
        if (end - s >= 3 && memcmp(s, "'s ", 3) == 0)
            *out++ = ' ';
        *out++ = *s;
    }
    return out;
}

/* s/([^0-9])([.,])/$1 $2 /g */
static char *stop_after_no_digit(char *out, const char *s, const char *end)
{
    for (; s < end; s++) {
        bool match = s + 1 < end && !is_digit(s[0]) && is_stop(s[1]);
        *out++ = *s;
        if (match)
            out = pad_byte(out, *++s);
    }
    return out;
}

/* s/([.,])([^0-9])/ $1 $2/g */
static char *stop_before_no_digit(char *out, const char *s, const char *end)
{
    for (; s < end; s++) {
        bool match = s + 1 < end && is_stop(s[0]) && !is_digit(s[1]);
        if (match) {
            out = pad_byte(out, *s++);
        }
        *out++ = *s;
    }
    return out;
}

/* s/([0-9])(-)/$1 $2 /g */
static char *dash_after_digit(char *out, const char *s, const char *end)
{
    for (; s < end; s++) {
        bool match = s + 1 < end && is_digit(s[0]) && s[1] == '-';
        *out++ = *s;
        if (match)
            out = pad_byte(out, *++s);
    }
    return out;
}

bool oa_split_punctuation(struct oa_arena *a, struct oa_line *text, bool possessives)
{
    struct oa_line padded = *text;
    char *out = oa_arena_take(a, 3 * text->length + 3);
    if (!out)
        return false;
    padded.s = out;
    padded.length = (size_t)(pad_punctuation(out, text->s, text->s + text->length) - out);
    *text = padded;
    return (!possessives || oa_rewrite(a, text, 2, possessives_apart)) &&
           oa_rewrite(a, text, 2, stop_after_no_digit) &&
           oa_rewrite(a, text, 2, stop_before_no_digit) && oa_rewrite(a, text, 2, dash_after_digit);
}
