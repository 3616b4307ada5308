/* SPDX-License-Identifier: Apache-2.0
 * Tokens of the attention language, and errors that point at a character. */
#include "attention/language/language.h"

#include <ctype.h>
#include <string.h>

static bool language_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

char oa_peek(struct oa_language_reader *r)
{
    while (language_is_space(r->text[r->at]))
        r->at++;
    return r->text[r->at];
}

bool oa_accept(struct oa_language_reader *r, char mark)
{
    if (oa_peek(r) != mark)
        return false;
    r->at++;
    return true;
}

/* A word longer than any name is truncated, and then refused. */
struct oa_word oa_read_word(struct oa_language_reader *r)
{
    oa_peek(r);
    struct oa_word w = { .at = r->at };
    size_t n = 0;
    for (char c; (c = r->text[r->at]) != 0; r->at++) {
        /* + and # are letters inside of parentheses only: kernel=favor+ */
        if (c == '+' || c == '#' ? r->inside <= 0
                                 : !isalnum((unsigned char)c) && c != '-' && c != '_' && c != '.')
            break;
        if (n + 1 < sizeof w.text)
            w.text[n++] = c;
    }
    return w;
}

struct oa_word oa_read_value(struct oa_language_reader *r, char *value, size_t size)
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

void oa_describe_next(struct oa_language_reader *r, char *out, size_t size)
{
    char c = oa_peek(r);
    struct oa_language_reader ahead = *r;
    struct oa_word w = oa_read_word(&ahead);
    if (c == 0)
        snprintf(out, size, "unexpected end of the text");
    else if (w.text[0])
        snprintf(out, size, "unexpected \"%s\"", w.text);
    else if (isprint((unsigned char)c))
        snprintf(out, size, "unexpected \"%c\"", c);
    else
        snprintf(out, size, "unexpected byte 0x%02x", (unsigned char)c);
}

/* ---- errors ---- */

#define LINE 100 /* bytes of the text shown in an error */

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The text around byte `at`, with a caret below it. Columns count UTF-8 characters; control
 * characters are shown as ?. */
static void language_draw_line(const char *text, size_t at, char *out, size_t size)
{
    size_t first = at > LINE / 2 ? at - LINE / 2 : 0, length = strlen(text);
    size_t last = first + LINE < length ? first + LINE : length;
    while (first > 0 && continues_character(text[first]))
        first--;
    char line[LINE + 8], caret[LINE + 8];
    size_t n = 0, column = 0;
    for (size_t i = first; i < last && n < sizeof line - 1; i++) {
        unsigned char u = (unsigned char)text[i];
        bool space = u == '\t' || u == '\n' || u == '\r';
        line[n++] = space ? ' ' : u < 0x20 || u == 0x7f ? '?' : text[i];
        if (i < at && !continues_character(text[i]))
            caret[column++] = ' ';
    }
    line[n] = caret[column] = 0;
    snprintf(out, size, "\n  %s%s%s\n  %s%s^", first ? "… " : "", line, last < length ? " …" : "",
             first ? "  " : "", caret);
}

static enum oa_error language_point_at(const struct oa_language_reader *r, size_t at,
                                       enum oa_error code, const char *problem)
{
    char picture[2 * LINE + 64];
    for (; r->alias; r = r->alias)
        at = r->alias_at;
    language_draw_line(r->text, at, picture, sizeof picture);
    return oa_fail_with_excerpt(r->context, code, picture, "attention, character %zu: %s", at + 1,
                                problem);
}

enum oa_error oa_syntax_error(const struct oa_language_reader *r, size_t at, const char *format,
                              ...)
{
    char problem[2600];
    va_list arguments;
    va_start(arguments, format);
    oa_format(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return language_point_at(r, at, OA_ARGUMENT, problem);
}

enum oa_error oa_mode_error(const struct oa_language_reader *r, size_t at, const char *sentence)
{
    return language_point_at(r, at, OA_UNSUPPORTED, sentence);
}
