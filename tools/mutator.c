/* SPDX-License-Identifier: Apache-2.0
 * mutator: small mistakes in C source, made by operators. tools/mutants.sh compiles and calls it.
 *
 *     mutator list N SEED FILE[:FIRST-LAST]...   N mutants of these files or lines, drawn by SEED:
 *                                                "FILE INDEX LINE: what is replaced by what"
 *     mutator apply FILE INDEX                   FILE with that mutant, on standard output
 *
 * Operators: comparisons and their neighbours, + and -, * and /, && and ||, conditions negated or
 * without their !, true and false, oa_min and oa_max, integers plus one, two neighbouring arguments
 * swapped, a statement dropped. Source is taken to be laid out by clang-format: binary operators
 * stand between blanks, and a statement that is dropped is a line. Whether a mutant compiles is the
 * caller's question. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 400 };

struct mutant {
    const char *file;
    long index, line;
    char *text; /* what the caller prints: "old -> new" */
    uint64_t rank;
};

struct scan {
    char *source;     /* the file */
    char *code;       /* the same with blanks for comments, literals and preprocessor lines */
    long at, line;    /* the byte that is looked at, and its line from 1 */
    long index;       /* of the next mutant */
    long first, last; /* list: the lines that are asked for */
    long wanted;      /* apply: an index */
    void (*each)(const struct scan *, long at, long length, const char *replacement);
};

static struct mutant *mutants;
static size_t count;
static const char *current_file;
static uint64_t seed;

static void fail(const char *what, const char *file)
{
    fprintf(stderr, "mutator: %s%s\n", what, file);
    exit(2);
}

static char *read_source(const char *name)
{
    long size;
    FILE *f = fopen(name, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0)
        fail("cannot read ", name);
    rewind(f);
    char *text = calloc((size_t)size + 2, 1);
    if (!text || fread(text, 1, (size_t)size, f) != (size_t)size)
        fail("cannot read ", name);
    fclose(f);
    return text;
}

static void blank(char *code, long from, long to)
{
    for (long i = from; i < to; i++)
        if (code[i] != '\n')
            code[i] = ' ';
}

static long literal_end(const char *s, long i, char quote)
{
    for (i++; s[i] && s[i] != quote && s[i] != '\n'; i++)
        if (s[i] == '\\' && s[i + 1])
            i++;
    return s[i] ? i + 1 : i;
}

static long line_end(const char *s, long i)
{
    while (s[i] && (s[i] != '\n' || (i > 0 && s[i - 1] == '\\')))
        i++;
    return i;
}

/* Leaves code only. */
static void blank_the_rest(const char *s, char *code)
{
    bool line_begins = true;
    for (long i = 0; s[i];) {
        long end = i + 1;
        if (strncmp(s + i, "/*", 2) == 0) {
            const char *close = strstr(s + i + 2, "*/");
            end = close ? close + 2 - s : (long)strlen(s);
        } else if (strncmp(s + i, "//", 2) == 0 || (line_begins && s[i] == '#')) {
            end = line_end(s, i);
        } else if (s[i] == '"' || s[i] == '\'') {
            end = literal_end(s, i, s[i]);
        }
        line_begins = s[i] == '\n' || (line_begins && isblank((unsigned char)s[i]));
        if (end > i + 1)
            blank(code, i, end);
        i = end;
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void offer(struct scan *s, long at, long length, const char *replacement)
{
    s->each(s, at, length, replacement);
    s->index++;
}

static bool word_here(const struct scan *s, const char *word)
{
    size_t n = strlen(word);
    return strncmp(s->code + s->at, word, n) == 0 && !is_word(s->code[s->at + (long)n]) &&
           !is_word(s->code[s->at - 1]);
}

static void replace_tokens(struct scan *s)
{
    static const char *const spaced[][2] = {
        { " < ", " <= " },  { " <= ", " < " },  { " > ", " >= " },  { " >= ", " > " },
        { " == ", " != " }, { " != ", " == " }, { " + ", " - " },   { " - ", " + " },
        { " * ", " / " },   { " / ", " * " },   { " && ", " || " }, { " || ", " && " },
        { " += ", " -= " }, { " -= ", " += " },
    };
    static const char *const words[][2] = {
        { "true", "false" }, { "false", "true" }, { "oa_min", "oa_max" }, { "oa_max", "oa_min" }
    };
    const char *here = s->code + s->at;
    for (size_t i = 0; i < sizeof spaced / sizeof *spaced; i++)
        if (strncmp(here, spaced[i][0], strlen(spaced[i][0])) == 0)
            offer(s, s->at, (long)strlen(spaced[i][0]), spaced[i][1]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word_here(s, words[i][0]))
            offer(s, s->at, (long)strlen(words[i][0]), words[i][1]);
    if (*here == '!' && here[1] != '=' && strchr(" (", here[-1]))
        offer(s, s->at, 1, "");
}

static void next_integer(struct scan *s)
{
    char text[32], *end;
    const char *here = s->code + s->at;
    if (!isdigit((unsigned char)*here) || is_word(here[-1]) || here[-1] == '.')
        return;
    long value = strtol(here, &end, 10);
    if (is_word(*end) || *end == '.' || end - here > 9 || (*here == '0' && end - here > 1))
        return;
    snprintf(text, sizeof text, "%ld", value + 1);
    offer(s, s->at, (long)(end - here), text);
}

/* The end of a simple argument: names, members, elements, numbers, addresses. */
static long argument_end(const char *code, long i)
{
    while (is_word(code[i]) || (code[i] && strchr(".*&[]", code[i])) ||
           strncmp(code + i, "->", 2) == 0)
        i += code[i] == '-' ? 2 : 1;
    return i;
}

static void swap_arguments(struct scan *s)
{
    char text[MAX_LINE];
    const char *code = s->code;
    if (code[s->at - 1] != '(' && strncmp(code + s->at - 2, ", ", 2) != 0)
        return;
    long first = s->at, first_end = argument_end(code, first);
    if (first_end == first || strncmp(code + first_end, ", ", 2) != 0)
        return;
    long second = first_end + 2, second_end = argument_end(code, second);
    bool complete = code[second_end] == ')' || code[second_end] == ',';
    int n = (int)(first_end - first), m = (int)(second_end - second);
    if (!complete || m == 0 || n + m > 200 ||
        (n == m && strncmp(code + first, code + second, (size_t)n) == 0))
        return;
    snprintf(text, sizeof text, "%.*s, %.*s", m, code + second, n, code + first);
    offer(s, first, second_end - first, text);
}

/* "if (condition)" on one line. */
static void negate_condition(struct scan *s)
{
    char text[MAX_LINE];
    if (!word_here(s, "if") || strncmp(s->code + s->at, "if (", 4) != 0)
        return;
    long from = s->at + 4, to = from;
    for (int depth = 1; s->code[to] && s->code[to] != '\n'; to++) {
        depth += (s->code[to] == '(') - (s->code[to] == ')');
        if (depth == 0)
            break;
    }
    if (s->code[to] != ')' || to - from > 300)
        return;
    snprintf(text, sizeof text, "!(%.*s)", (int)(to - from), s->source + from);
    offer(s, from, to - from, text);
}

/* What comes before code[at] ends a statement or a header, so that a statement begins there. */
static bool statement_begins(const char *code, long at)
{
    while (at > 0 && isspace((unsigned char)code[at - 1]))
        at--;
    return at > 0 && strchr(";{})", code[at - 1]);
}

/* A call or an assignment that is a line of its own. */
static void drop_statement(struct scan *s)
{
    const char *code = s->code;
    if (code[s->at - 1] != '\n')
        return;
    long from = s->at, to = line_end(code, s->at);
    while (isblank((unsigned char)code[from]))
        from++;
    while (to > from && isspace((unsigned char)code[to - 1]))
        to--;
    long name = argument_end(code, from);
    bool call = code[name] == '(',
         assignment = code[name] == ' ' && code[name + 1] && strchr("=+-*/|&", code[name + 1]);
    int depth = 0;
    for (long i = from; i < to; i++)
        depth += (code[i] == '(' || code[i] == '{') - (code[i] == ')' || code[i] == '}');
    if (from > s->at && name > from && to > from && code[to - 1] == ';' && (call || assignment) &&
        depth == 0 && strncmp(code + from, "return", 6) != 0 && statement_begins(code, from))
        offer(s, from, to - from, ";");
}

static void scan_file(struct scan *s)
{
    s->code = strdup(s->source);
    if (!s->code)
        fail("no memory", "");
    blank_the_rest(s->source, s->code);
    /* Operators look up to two bytes back; a file begins with its licence. */
    long size = (long)strlen(s->source);
    for (s->at = size < 2 ? size : 2, s->line = 1; s->code[s->at]; s->at++) {
        drop_statement(s);
        replace_tokens(s);
        next_integer(s);
        swap_arguments(s);
        negate_condition(s);
        s->line += s->code[s->at] == '\n';
    }
    free(s->code);
}

/* ---- list ---- */

/* FNV-1a, then a finaliser: neighbouring indices get ranks that have nothing in common. */
static uint64_t hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ (h >> 33);
}

static void collect(const struct scan *s, long at, long length, const char *replacement)
{
    char text[2 * MAX_LINE], place[MAX_LINE];
    if (s->line < s->first || s->line > s->last)
        return;
    if ((count & (count - 1)) == 0)
        mutants = realloc(mutants, (count ? 2 * count : 1) * sizeof *mutants);
    snprintf(text, sizeof text, "%.*s -> %s", (int)length, s->source + at, replacement);
    snprintf(place, sizeof place, "%s %ld", current_file, s->index);
    if (!mutants || !(mutants[count].text = strdup(text)))
        fail("no memory", "");
    mutants[count].file = current_file;
    mutants[count].index = s->index;
    mutants[count].line = s->line;
    mutants[count++].rank = hash(seed, place);
}

static int by_rank(const void *a, const void *b)
{
    uint64_t x = ((const struct mutant *)a)->rank, y = ((const struct mutant *)b)->rank;
    return (x > y) - (x < y);
}

static void list_file(char *argument)
{
    char *colon = strrchr(argument, ':');
    struct scan s = { .first = 1, .last = 1L << 40, .each = collect };
    if (colon) {
        *colon = '\0';
        s.first = strtol(colon + 1, &colon, 10);
        s.last = strtol(colon + 1, NULL, 10);
    }
    current_file = argument;
    s.source = read_source(argument);
    scan_file(&s);
    free(s.source);
}

static int list(int argc, char **argv)
{
    size_t n = (size_t)strtoul(argv[2], NULL, 10);
    seed = hash(UINT64_C(0xcbf29ce484222325), argv[3]);
    for (int i = 4; i < argc; i++)
        list_file(argv[i]);
    if (count > 0)
        qsort(mutants, count, sizeof *mutants, by_rank);
    for (size_t i = 0; i < count && i < n; i++)
        printf("%s %ld %ld: %s\n", mutants[i].file, mutants[i].index, mutants[i].line,
               mutants[i].text);
    for (size_t i = 0; i < count; i++)
        free(mutants[i].text);
    free(mutants);
    return 0;
}

/* ---- apply ---- */

static void write_wanted(const struct scan *s, long at, long length, const char *replacement)
{
    if (s->index != s->wanted)
        return;
    fwrite(s->source, 1, (size_t)at, stdout);
    fputs(replacement, stdout);
    fputs(s->source + at + length, stdout);
}

static int apply(char **argv)
{
    struct scan s = { .wanted = strtol(argv[3], NULL, 10), .each = write_wanted };
    s.source = read_source(argv[2]);
    scan_file(&s);
    free(s.source);
    return s.wanted < s.index ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc > 4 && strcmp(argv[1], "list") == 0)
        return list(argc, argv);
    if (argc == 4 && strcmp(argv[1], "apply") == 0)
        return apply(argv);
    fail("list N SEED FILE[:FIRST-LAST]... or apply FILE INDEX", "");
}
