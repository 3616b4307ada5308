/* SPDX-License-Identifier: Apache-2.0
 * Pages for man(1). */
#include "cli.h"

#include <ctype.h>
#include <string.h>

/* Text that roff prints as it is: a line must not begin with a point or a quote, minus signs stay
 * minus signs. */
static void escaped(FILE *f, const char *text)
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

static void title(FILE *f, const struct command *c)
{
    fprintf(f, ".TH \"ORTHANT%s", c->name[0] ? "-" : "");
    for (const char *s = c->name; *s; s++)
        fputc(toupper((unsigned char)*s), f);
    fprintf(f, "\" 1 \"\" \"orthant %s\" \"Orthant\"\n.SH NAME\northant%s%s \\- ", oa_version(),
            c->name[0] ? "\\-" : "", c->name);
    escaped(f, c->sentence);
    fputc('\n', f);
}

static void heading(FILE *f, const char *text)
{
    fprintf(f, ".SH ");
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), f);
    fputc('\n', f);
}

static void paragraph(FILE *f, const char *text)
{
    fprintf(f, ".PP\n");
    escaped(f, text);
    fputc('\n', f);
}

static void code(FILE *f, const char *line)
{
    fprintf(f, ".nf\n");
    escaped(f, line);
    fprintf(f, "\n.fi\n");
}

static void item(FILE *f, const char *term, const char *text)
{
    fprintf(f, ".TP\n.B ");
    escaped(f, term);
    fputc('\n', f);
    escaped(f, text);
    fputc('\n', f);
}

const struct writer roff_writer = {
    .title = title, .heading = heading, .paragraph = paragraph, .code = code, .item = item
};
