/* SPDX-License-Identifier: Apache-2.0
 * Pages for man(1). */
#include "cli.h"

#include <ctype.h>
#include <string.h>

/* Text that roff prints as it is: a line must not begin with a point or a quote, minus signs stay
 * minus signs. */
static void roff_escaped(FILE *f, const char *text)
{
    if (text[0] == '.' || text[0] == '\'')
        fputs("\\&", f);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", f);
        else if (*text == '-')
            fputs("\\-", f);
        else
            fputc(*text, f);
    }
}

static void roff_title(FILE *f, const struct command *c)
{
    fprintf(f, ".TH \"ORTHANT%s", c->name[0] ? "-" : "");
    for (const char *s = c->name; *s; s++)
        fputc(toupper((unsigned char)*s), f);
    fprintf(f, "\" 1 \"\" \"orthant %s\" \"Orthant\"\n.SH NAME\northant%s%s \\- ", oa_version(),
            c->name[0] ? "\\-" : "", c->name);
    roff_escaped(f, c->sentence);
    fputc('\n', f);
}

static void roff_heading(FILE *f, const char *text)
{
    fprintf(f, ".SH ");
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), f);
    fputc('\n', f);
}

static void roff_paragraph(FILE *f, const char *text)
{
    fprintf(f, ".PP\n");
    roff_escaped(f, text);
    fputc('\n', f);
}

static void roff_code(FILE *f, const char *line)
{
    fprintf(f, ".nf\n");
    roff_escaped(f, line);
    fprintf(f, "\n.fi\n");
}

static void roff_item(FILE *f, const char *term, const char *text)
{
    fprintf(f, ".TP\n.B ");
    roff_escaped(f, term);
    fputc('\n', f);
    roff_escaped(f, text);
    fputc('\n', f);
}

const struct writer roff_writer = { .title = roff_title,
                                    .heading = roff_heading,
                                    .paragraph = roff_paragraph,
                                    .code = roff_code,
                                    .item = roff_item };
