/* SPDX-License-Identifier: Apache-2.0
 * Help and manual pages, from the table of commands and the table of options. What is written is
 * decided here, how it looks in help_text.c and help_roff.c. */
#include "cli.h"

#include <stdarg.h>
#include <string.h>

/* ---- options ---- */

static void append_help(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append_help(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

static void show_flag(const struct flag *f, void (*visit)(void *, const struct shown_option *),
                      void *argument)
{
    struct shown_option s = { .words = f->words, .group = "Options", .help = f->help };
    snprintf(s.name, sizeof s.name, "%s", f->name);
    snprintf(s.argument, sizeof s.argument, "%s", f->argument ? f->argument : "");
    snprintf(s.text, sizeof s.text, "%s", f->help);
    if (f->key)
        append_help(s.text, sizeof s.text, "; short for --%s", f->key);
    else if (f->fallback)
        append_help(s.text, sizeof s.text, " (default %s)", f->fallback);
    visit(argument, &s);
}

static void show_option(const struct oa_option *o,
                        void (*visit)(void *, const struct shown_option *), void *argument)
{
    static const char *const placeholder[] = { [OA_KIND_INT] = "N",
                                               [OA_KIND_REAL] = "X",
                                               [OA_KIND_BOOL] = "true|false",
                                               [OA_KIND_TEXT] = "TEXT",
                                               [OA_KIND_CHOICE] = "NAME" };
    struct shown_option s = { .group = o->section, .help = o->help };
    s.words = o->kind == OA_KIND_BOOL ? "true|false" : o->choices;
    snprintf(s.name, sizeof s.name, "%s.%s", o->section, o->name);
    snprintf(s.argument, sizeof s.argument, "%s", placeholder[o->kind]);
    snprintf(s.text, sizeof s.text, "%s", o->help);
    if (o->choices)
        append_help(s.text, sizeof s.text, ": %s", o->choices);
    bool number = o->kind == OA_KIND_INT || o->kind == OA_KIND_REAL;
    if (number && o->high >= 1e6) /* no limit worth a word */
        append_help(s.text, sizeof s.text, "; at least %.9g", o->low);
    else if (number)
        append_help(s.text, sizeof s.text, "; %.9g to %.9g", o->low, o->high);
    if (o->fallback[0])
        append_help(s.text, sizeof s.text, " (default %s)", o->fallback);
    visit(argument, &s);
}

void visit_options(const struct command *c,
                   void (*visit)(void *argument, const struct shown_option *s), void *argument)
{
    struct oa_option o;
    for (const struct flag *f = c->flags; f && f->name; f++)
        if (!f->hidden)
            show_flag(f, visit, argument);
    for (const struct flag *f = common_flags(); f->name; f++)
        if (takes_common(c, f))
            show_flag(f, visit, argument);
    for (int i = 0; oa_option_describe(i, &o); i++)
        if (has_section(c, o.section))
            show_option(&o, visit, argument);
}

/* ---- pages ---- */

/* Calls `write` for each piece of a text between "\n". */
static void each_line(FILE *f, const char *text, void (*write)(FILE *, const char *))
{
    char line[1024];
    for (const char *end; text && *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
        write(f, line);
    }
}

struct option_list {
    const struct writer *w;
    FILE *f;
    const char *group;
};

static void write_option(void *argument, const struct shown_option *s)
{
    struct option_list *list = argument;
    char term[192];
    if (!list->group || strcmp(list->group, s->group) != 0) {
        char heading[64];
        bool section = strcmp(s->group, "Options") != 0;
        snprintf(heading, sizeof heading, section ? "Options of the section %s" : "%s", s->group);
        list->w->heading(list->f, heading);
    }
    list->group = s->group;
    snprintf(term, sizeof term, "--%s%s%s", s->name, s->argument[0] ? " " : "", s->argument);
    list->w->item(list->f, term, s->text);
}

static void write_usage(const struct writer *w, FILE *f, const struct command *c)
{
    char line[1024];
    const char *usage = c->usage ? c->usage : "";
    w->heading(f, "Usage");
    for (;;) {
        size_t n = strcspn(usage, "\n");
        snprintf(line, sizeof line, "orthant %s%s%.*s", c->name, n ? " " : "", (int)n, usage);
        w->code(f, line);
        if (!usage[n])
            return;
        usage += n + 1;
    }
}

static void write_exit_codes(const struct writer *w, FILE *f)
{
    w->heading(f, "Exit codes");
    w->item(f, "0", "success");
    w->item(f, "1", "failure; the reason is on standard error");
    w->item(f, "2", "usage error: wrong option or value; nothing was done");
    w->item(f, "4", "training diverged: a value is not finite");
    w->item(f, "5", "a check of verify failed");
    w->item(f, "129, 130, 141, 143",
            "stopped by SIGHUP, SIGINT, SIGPIPE or SIGTERM, after saving or printing the work "
            "done so far");
}

static void write_see(const struct writer *w, FILE *f, const struct command *c)
{
    char words[256], text[512] = "";
    if (!c->see)
        return;
    snprintf(words, sizeof words, "%s", c->see);
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        append_help(text, sizeof text, "%sorthant-%s(1)", text[0] ? ", " : "", word);
    w->heading(f, "See also");
    w->paragraph(f, text);
}

void write_command(const struct writer *w, FILE *f, const struct command *c)
{
    struct option_list list = { .w = w, .f = f };
    w->title(f, c);
    write_usage(w, f, c);
    if (c->text) {
        w->heading(f, "What it does");
        each_line(f, c->text, w->paragraph);
    }
    if (c->examples) {
        w->heading(f, "Example");
        each_line(f, c->examples, w->code);
    }
    visit_options(c, write_option, &list);
    write_exit_codes(w, f);
    write_see(w, f, c);
}

void write_overview(const struct writer *w, FILE *f)
{
    static const struct command orthant = {
        .name = "", .sentence = "trains and compares Transformers with any attention"
    };
    w->title(f, &orthant);
    w->heading(f, "Usage");
    w->code(f, "orthant COMMAND [--option VALUE]...");
    w->code(f, "orthant COMMAND --help");
    w->code(f, "orthant --version");
    w->heading(f, "Commands");
    for (int i = 0; command_at(i); i++)
        if (!command_at(i)->hidden)
            w->item(f, command_at(i)->name, command_at(i)->sentence);
    w->heading(f, "Options");
    w->paragraph(
        f, "Every command takes --help. Options --section.key VALUE have the names of the "
           "configuration file, and all have defaults. Results go to standard output, progress to "
           "standard error.");
    write_exit_codes(w, f);
}
