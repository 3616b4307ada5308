/* SPDX-License-Identifier: Apache-2.0
 *
 * The attention language, lowest floor: words and marks of a text, and errors that point at a
 * character.
 */
#include "attention/language/language.h"

#include <ctype.h>
#include <string.h>

static bool language_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

char oa_peek(struct oa_reader *r)
{
    while (language_is_space(r->text[r->at]))
        r->at++;
    return r->text[r->at];
}

bool oa_accept(struct oa_reader *r, char mark)
{
    if (oa_peek(r) != mark)
        return false;
    r->at++;
    return true;
}

static bool is_letter(const struct oa_reader *r, char c)
{
    if (c == '+' || c == '#')
        return r->inside > 0;
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* A word longer than any name is cut: it is refused all the same. */
struct oa_word oa_read_word(struct oa_reader *r)
{
    oa_peek(r);
    struct oa_word w = { .at = r->at };
    size_t n = 0;
    for (; is_letter(r, r->text[r->at]); r->at++) {
        if (n + 1 < sizeof w.text)
            w.text[n++] = r->text[r->at];
    }
    return w;
}

struct oa_word oa_read_value(struct oa_reader *r, char *value, size_t size)
{
    oa_peek(r);
    struct oa_word w = { .at = r->at };
    size_t n = strcspn(r->text + r->at, ",()");
    r->at += n;
    while (n > 0 && language_is_space(r->text[w.at + n - 1]))
        n--;
    if (n >= size)
        n = 0;
    memcpy(value, r->text + w.at, n);
    value[n] = 0;
    return w;
}

void oa_found_here(struct oa_reader *r, char *out, size_t size)
{
    char c = oa_peek(r);
    struct oa_reader ahead = *r;
    struct oa_word w = oa_read_word(&ahead);
    if (c == 0)
        snprintf(out, size, "the text ends here");
    else if (w.text[0])
        snprintf(out, size, "found \"%s\"", w.text);
    else if (isprint((unsigned char)c))
        snprintf(out, size, "found \"%c\"", c);
    else
        snprintf(out, size, "found byte 0x%02x", (unsigned char)c);
}

/* ---- errors ---- */

#define LINE 100 /* bytes of the text that are shown around the place */

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Control characters would break the two lines apart; they are shown as ?. */
static char showable(char c)
{
    unsigned char u = (unsigned char)c;
    return u == '\t' || u == '\n' || u == '\r' ? ' ' : u < 0x20 || u == 0x7f ? '?' : c;
}

/* The text and a caret under byte `at`; of a long text only the neighbourhood. Columns count UTF-8
 * characters. */
static void language_draw_line(const char *text, size_t at, char *out, size_t size)
{
    size_t first = at > LINE / 2 ? at - LINE / 2 : 0, length = strlen(text);
    size_t last = first + LINE < length ? first + LINE : length;
    while (first > 0 && continues_character(text[first]))
        first--;
    char line[LINE + 8], caret[LINE + 8];
    size_t n = 0, column = 0;
    for (size_t i = first; i < last && n < sizeof line - 1; i++) {
        line[n++] = showable(text[i]);
        if (i < at && !continues_character(text[i]))
            caret[column++] = ' ';
    }
    line[n] = caret[column] = 0;
    snprintf(out, size, "\n  %s%s%s\n  %s%s^", first ? "… " : "", line, last < length ? " …" : "",
             first ? "  " : "", caret);
}

static enum oa_error language_point_at(const struct oa_reader *r, size_t at, enum oa_error code,
                                       const char *problem)
{
    char picture[2 * LINE + 64];
    for (; r->alias; r = r->alias)
        at = r->alias_at;
    language_draw_line(r->text, at, picture, sizeof picture);
    return oa_fail_with_excerpt(r->context, code, picture, "attention, character %zu: %s", at + 1,
                                problem);
}

enum oa_error oa_refuse(const struct oa_reader *r, size_t at, const char *format, ...)
{
    char problem[2600];
    va_list arguments;
    va_start(arguments, format);
    oa_format(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return language_point_at(r, at, OA_ARGUMENT, problem);
}

enum oa_error oa_refuse_mode(const struct oa_reader *r, size_t at, const char *sentence)
{
    return language_point_at(r, at, OA_UNSUPPORTED, sentence);
}
