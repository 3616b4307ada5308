/* SPDX-License-Identifier: Apache-2.0
 * Parses the command line into a struct call. Unknown options are refused with the most similar
 * known one; nothing is silently ignored. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 256, NAME = 96 };

enum oa_error wrong_use(struct call *call, const char *format, ...)
{
    char sentence[1024], line[1280];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "%s (see 'orthant %s --help')", sentence, call->command->name);
    if (!call->context || oa_rank(call->context) == 0)
        print_error(line);
    call->reported = true;
    return OA_ARGUMENT;
}

/* ---- options of a command ---- */

bool has_section(const struct command *c, const char *section)
{
    size_t n = strlen(section);
    for (const char *s = c->sections; s && (s = strstr(s, section)); s += n)
        if ((s == c->sections || s[-1] == ' ') && (s[n] == 0 || s[n] == ' '))
            return true;
    return false;
}

static const struct flag *find_flag_in(const struct flag *f, const char *name, size_t length)
{
    for (; f && f->name; f++)
        if (strlen(f->name) == length && memcmp(f->name, name, length) == 0)
            return f;
    return NULL;
}

bool takes_common(const struct command *c, const struct flag *f)
{
    return c->sections || !strstr(f->name, "config");
}

static const struct flag *find_flag(const struct command *c, const char *name, size_t length)
{
    const struct flag *f = find_flag_in(c->flags, name, length),
                      *common = find_flag_in(common_flags(), name, length);
    return f ? f : common && takes_common(c, common) ? common : NULL;
}

/* The row of the table of options that "section.name" means, if the command takes its section. */
static bool find_option(const struct command *c, const char *name, size_t length,
                        struct oa_option *out)
{
    for (int i = 0; oa_option_describe(i, out); i++) {
        char key[NAME];
        snprintf(key, sizeof key, "%s.%s", out->section, out->name);
        const char *former = out->former ? out->former : key;
        if ((strlen(key) == length && memcmp(key, name, length) == 0) ||
            (strlen(former) == length && memcmp(former, name, length) == 0))
            return has_section(c, out->section);
    }
    return false;
}

/* ---- unknown options ---- */

struct option_names {
    char name[MOST_NAMES][NAME];
    const char *pointer[MOST_NAMES];
    int count;
};

static void collect_option_name(void *argument, const struct shown_option *s)
{
    struct option_names *n = argument;
    if (n->count == MOST_NAMES)
        return;
    snprintf(n->name[n->count], NAME, "%s", s->name);
    n->pointer[n->count] = n->name[n->count];
    n->count++;
}

/* "layers" alone is taken for model.layers. */
static const char *with_section(const struct option_names *n, const char *name)
{
    for (int i = 0; i < n->count; i++) {
        const char *dot = strchr(n->name[i], '.');
        if (dot && strcmp(dot + 1, name) == 0)
            return n->name[i];
    }
    return NULL;
}

static bool unknown_option(struct call *call, const char *name, size_t length)
{
    char word[NAME];
    struct option_names *n = want_memory(1, sizeof *n);
    snprintf(word, sizeof word, "%.*s", length < NAME ? (int)length : NAME - 1, name);
    visit_options(call->command, collect_option_name, n);
    const char *near = with_section(n, word);
    if (!near)
        near = oa_nearest(word, n->pointer, n->count);
    if (near)
        wrong_use(call, "%s has no option --%s; did you mean --%s?", call->command->name, word,
                  near);
    else
        wrong_use(call, "%s has no option --%s", call->command->name, word);
    free(n);
    return false;
}

/* ---- parsing ---- */

static void record_given(struct call *call, const char *name, const char *value)
{
    call->given[call->givens++] = (struct given_option){ name, .value = value };
}

/* The value of an option at argv[*i], after = or in the next word. NULL after an error. */
static const char *option_value(struct call *call, const char *equals, int argc, char **argv,
                                int *i)
{
    if (equals)
        return equals + 1;
    if (*i + 1 >= argc) {
        wrong_use(call, "%s needs a value", argv[*i]);
        return NULL;
    }
    if (strncmp(argv[*i + 1], "--", 2) == 0 && argv[*i + 1][2]) {
        wrong_use(
            call,
            "%s needs a value, but %s follows; a value that begins with -- is written %s=VALUE",
            argv[*i], argv[*i + 1], argv[*i]);
        return NULL;
    }
    return argv[++*i];
}

static bool parse_long(struct call *call, int argc, char **argv, int *i)
{
    char *name = argv[*i] + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct flag *flag = find_flag(call->command, name, length);
    struct oa_option option;
    if (flag && !flag->argument) {
        if (equals)
            return wrong_use(call, "--%s takes no value", flag->name) == OA_OK;
        record_given(call, flag->name, "");
        return true;
    }
    if (!flag && !find_option(call->command, name, length, &option))
        return unknown_option(call, name, length);
    const char *value = option_value(call, equals, argc, argv, i);
    if (!value)
        return false;
    name[length] = 0;
    record_given(call, flag ? flag->name : name, value);
    return true;
}

static bool parse_short(struct call *call, const char *word)
{
    if (strcmp(word, "-h") == 0)
        record_given(call, "help", "");
    else if (strcmp(word, "-q") == 0)
        record_given(call, "quiet", "");
    else
        return wrong_use(call, "unknown option %.60s; options are written --name", word) == OA_OK;
    return true;
}

bool parse_arguments(struct call *call, int argc, char **argv)
{
    bool options = true;
    call->word = want_memory((size_t)argc + 1, sizeof *call->word);
    call->given = want_memory((size_t)argc + 1, sizeof *call->given);
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && strncmp(argv[i], "--", 2) == 0) {
            if (!parse_long(call, argc, argv, &i))
                return false;
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            if (!parse_short(call, argv[i]))
                return false;
        } else
            call->word[call->words++] = argv[i];
    }
    return true;
}

void free_arguments(struct call *call)
{
    free(call->word);
    free(call->given);
}

/* ---- access to what was given ---- */

const char *flag_value(const struct call *call, const char *name)
{
    for (int i = call->givens; i-- > 0;)
        if (strcmp(call->given[i].name, name) == 0)
            return call->given[i].value;
    const struct flag *flag = find_flag(call->command, name, strlen(name));
    return flag ? flag->fallback : NULL;
}

bool flag_given(const struct call *call, const char *name)
{
    for (int i = 0; i < call->givens; i++)
        if (strcmp(call->given[i].name, name) == 0)
            return true;
    return false;
}

int flag_values(const struct call *call, const char *name, const char **values)
{
    int count = 0;
    for (int i = 0; i < call->givens; i++)
        if (strcmp(call->given[i].name, name) == 0)
            values[count++] = call->given[i].value;
    return count;
}

bool allow_none(struct call *call, const char *names, const char *because)
{
    char words[256];
    snprintf(words, sizeof words, "%s", names);
    for (char *rest = NULL, *name = strtok_r(words, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest))
        if (flag_given(call, name)) {
            wrong_use(call, "--%s has no effect: %s", name, because);
            return false;
        }
    return true;
}

bool flag_number(struct call *call, const char *name, long low, long high, long *out)
{
    const char *text = flag_value(call, name);
    if (!text)
        return true;
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < low || n > high) {
        wrong_use(call, "--%s is \"%.40s\"; give a whole number from %ld to %ld", name, text, low,
                  high);
        return false;
    }
    *out = n;
    return true;
}

bool want_words(struct call *call, int least, int most, const char *what)
{
    if (call->words < least)
        wrong_use(call, "%s needs %s", call->command->name, what);
    else if (call->words > most)
        wrong_use(call, "unexpected argument \"%.60s\": %s takes %s", call->word[most],
                  call->command->name, what);
    return !call->reported;
}

/* ---- options of the table ---- */

static enum oa_error read_files(struct call *call)
{
    for (int i = 0; i < call->givens; i++) {
        if (strcmp(call->given[i].name, "config") != 0)
            continue;
        enum oa_error e = oa_config_read(call->config, call->given[i].value);
        if (e != OA_OK)
            return e;
    }
    return OA_OK;
}

/* The option that was given, and its value: a switch turns it on. */
static const char *given_key(const struct call *call, const struct given_option *given,
                             const char **value)
{
    const struct flag *flag = find_flag(call->command, given->name, strlen(given->name));
    *value = flag && !flag->argument ? "on" : given->value;
    return flag ? flag->key : given->name;
}

enum oa_error apply_options_like(struct call *call)
{
    enum oa_error e = call->words ? oa_config_like_run(call->config, call->word[0]) : OA_OK;
    return e == OA_OK ? apply_options(call) : e;
}

enum oa_error apply_options(struct call *call)
{
    enum oa_error e = read_files(call);
    for (int i = 0; e == OA_OK && i < call->givens; i++) {
        const char *value, *key = given_key(call, &call->given[i], &value);
        if (key)
            e = oa_config_set(call->config, key, value);
    }
    return e;
}
