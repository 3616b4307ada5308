/* SPDX-License-Identifier: Apache-2.0
 * Pages for a terminal, 80 columns. */
#include "cli.h"

#include <string.h>

enum { WIDTH = 80, TERM = 28 };

/* Columns of the first `bytes` bytes of UTF-8 text. */
static int utf8_columns(const char *text, size_t bytes)
{
    int n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Words of a text from column `at` on; further lines begin at column `indent`. */
static void text_wrap(FILE *f, const char *text, int at, int indent)
{
    bool first = true;
    while (*text) {
        size_t n = strcspn(text, " ");
        int wide = utf8_columns(text, n);
        if (!first && at + 1 + wide > WIDTH) {
            fprintf(f, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', f);
            at++;
        }
        fprintf(f, "%.*s", (int)n, text);
        at += wide;
        first = false;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', f);
}

static void text_title(FILE *f, const struct command *c)
{
    fprintf(f, "orthant%s%s: ", c->name[0] ? " " : "", c->name);
    text_wrap(f, c->sentence, utf8_columns(c->name, strlen(c->name)) + 10, 2);
}

static void text_heading(FILE *f, const char *text)
{
    fprintf(f, "\n%s\n", text);
}

static void text_paragraph(FILE *f, const char *text)
{
    fprintf(f, "  ");
    text_wrap(f, text, 2, 2);
}

static void text_code(FILE *f, const char *line)
{
    fprintf(f, "  %s\n", line);
}

static void text_item(FILE *f, const char *term, const char *text)
{
    int wide = utf8_columns(term, strlen(term)) + 2;
    fprintf(f, "  %s", term);
    if (wide + 2 > TERM)
        fprintf(f, "\n%*s", TERM, "");
    else
        fprintf(f, "%*s", TERM - wide, "");
    text_wrap(f, text, TERM, TERM);
}

const struct writer text_writer = { .title = text_title,
                                    .heading = text_heading,
                                    .paragraph = text_paragraph,
                                    .code = text_code,
                                    .item = text_item };
