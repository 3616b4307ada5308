/* SPDX-License-Identifier: Apache-2.0
 * Pages for a terminal, 80 columns. */
#include "cli.h"

#include <string.h>

enum { WIDTH = 80, TERM = 28 };

static void file_add(void *f, const char *text, size_t length)
{
    fwrite(text, 1, length, f);
}

static void text_title(FILE *f, const struct command *c)
{
    fprintf(f, "orthant%s%s: ", c->name[0] ? " " : "", c->name);
    oa_wrap(file_add, f, c->sentence, oa_text_width(c->name) + 10, 2, WIDTH);
    fputc('\n', f);
}

static void text_heading(FILE *f, const char *text)
{
    fprintf(f, "\n%s\n", text);
}

static void text_paragraph(FILE *f, const char *text)
{
    fprintf(f, "  ");
    oa_wrap(file_add, f, text, 2, 2, WIDTH);
    fputc('\n', f);
}

static void text_code(FILE *f, const char *line)
{
    fprintf(f, "  %s\n", line);
}

static void text_item(FILE *f, const char *term, const char *text)
{
    int wide = oa_text_width(term) + 2;
    fprintf(f, "  %s", term);
    if (wide + 2 > TERM)
        fprintf(f, "\n%*s", TERM, "");
    else
        fprintf(f, "%*s", TERM - wide, "");
    oa_wrap(file_add, f, text, TERM, TERM, WIDTH);
    fputc('\n', f);
}

const struct writer text_writer = { .title = text_title,
                                    .heading = text_heading,
                                    .paragraph = text_paragraph,
                                    .code = text_code,
                                    .item = text_item };
