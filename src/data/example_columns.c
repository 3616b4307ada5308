/* SPDX-License-Identifier: Apache-2.0
 * Which columns of a table are labels and texts: by data.columns, else by the names in line 1, else
 * by the number of columns. */
#include "data/example_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct column_planning {
    oa_context *context;
    const struct oa_rows *rows;
    const char *file;
    const struct oa_cells *first; /* the first record, which may be a header */
    bool keys;                    /* of JSON objects: always names */
    bool texts; /* unlabelled texts: the number of columns is checked line by line */
    struct oa_column_plan *out;
};

/* ---- by name ---- */

static bool plan_reads(const struct oa_column_plan *plan, int at)
{
    for (int i = 0; i < plan->count; i++)
        for (int k = 0; k < plan->column[i].joined; k++)
            if (plan->column[i].at[k] == at)
                return true;
    return false;
}

/* A name of a header, without blanks around it. */
static struct oa_cell header_name(struct oa_cell cell)
{
    for (; cell.length && cell.s[cell.length - 1] == ' '; cell.length--)
        ;
    for (; cell.length && *cell.s == ' '; cell.length--)
        cell.s++;
    return cell;
}

/* The first column of that name, preferring one that the plan does not read yet; -1: none. */
static int find_column(const struct oa_cells *first, const struct oa_column_plan *plan,
                       const char *name, size_t n)
{
    int at = -1;
    for (int i = 0; i < (int)first->count; i++) {
        struct oa_cell cell = header_name(first->cell[i]);
        bool named = cell.length == n && strncasecmp(cell.s, name, n) == 0;
        if (named && (at < 0 || plan_reads(plan, at)))
            at = i;
    }
    return at;
}

static int find_column_name(const struct oa_cells *first, const char *name)
{
    static const struct oa_column_plan none;
    return find_column(first, &none, name, strlen(name));
}

static void plan_column(struct oa_column_plan *plan, int at)
{
    plan->column[plan->count++] = (struct oa_column){ .joined = 1, .at = { at } };
}

static const char *const class_names[] = { "label",    "class",     "quality",      "gold_label",
                                           "category", "sentiment", "is_duplicate", NULL };
static const char *const number_names[] = {
    "score", "similarity", "value", "label", "rating", NULL
};
struct two_names {
    const char *first, *second;
};
static const struct two_names text_names[] = {
    { "sentence1", "sentence2" }, { "#1 String", "#2 String" },
    { "premise", "hypothesis" },  { "question1", "question2" },
    { "question", "sentence" },   { "text1", "text2" },
    { "text_a", "text_b" },       { "text", NULL },
    { "sentence", NULL },         { "review", NULL },
    { "title", "description" },
};
static const struct two_names answer_names[] = {
    { "source", "target" },    { "dialogue", "summary" },   { "dialog", "summary" },
    { "document", "summary" }, { "article", "highlights" }, { "text", "summary" },
    { "question", "answer" },  { "prompt", "response" },    { "context", "response" },
    { "src", "tgt" },          { "input", "output" },
};
static const struct two_names turn_names[] = {
    { "prompt", "answer" },      { "tokens", "targets" },       { "prompt", "completion" },
    { "instruction", "output" }, { "instruction", "response" },
};
enum { TURN_NAMES = sizeof turn_names / sizeof *turn_names };
enum { TEXT_NAMES = sizeof text_names / sizeof *text_names };
enum { ANSWER_NAMES = sizeof answer_names / sizeof *answer_names };

/* label, text, text */
static bool guess_labelled(const struct oa_cells *first, const char *const *labels,
                           struct oa_column_plan *plan)
{
    int label = -1;
    for (; *labels && label < 0; labels++)
        label = find_column_name(first, *labels);
    for (int i = 0; i < TEXT_NAMES && label >= 0; i++) {
        int a = find_column_name(first, text_names[i].first);
        int b = text_names[i].second ? find_column_name(first, text_names[i].second) : 0;
        if (a < 0 || b < 0)
            continue;
        plan_column(plan, label);
        plan_column(plan, a);
        if (text_names[i].second)
            plan_column(plan, b);
        return true;
    }
    return false;
}

/* NAME and further ones NAME2, NAME3 …, or NAME1, NAME2 … */
static void add_targets(const struct oa_cells *first, const char *name, struct oa_column_plan *plan)
{
    char numbered[64];
    int at = find_column_name(first, name);
    if (at >= 0)
        plan_column(plan, at);
    for (int i = at < 0 ? 1 : 2; plan->count < OA_MOST_COLUMNS; i++) {
        snprintf(numbered, sizeof numbered, "%s%d", name, i);
        if ((at = find_column_name(first, numbered)) < 0)
            return;
        plan_column(plan, at);
    }
}

static bool guess_answered(const struct oa_cells *first, struct oa_column_plan *plan)
{
    for (int i = 0; i < ANSWER_NAMES; i++) {
        int source = find_column_name(first, answer_names[i].first);
        plan->count = 0;
        if (source < 0)
            continue;
        plan_column(plan, source);
        add_targets(first, answer_names[i].second, plan);
        if (plan->count > 1)
            return true;
    }
    plan->count = 0;
    return false;
}

/* Prompt and answer, tokens and targets, or the names of source and target. */
static bool guess_turns(const struct oa_cells *first, struct oa_column_plan *plan)
{
    for (int i = 0; i < TURN_NAMES; i++) {
        int a = find_column_name(first, turn_names[i].first),
            b = find_column_name(first, turn_names[i].second);
        if (a < 0 || b < 0)
            continue;
        plan_column(plan, a);
        plan_column(plan, b);
        return true;
    }
    bool found = guess_answered(first, plan);
    plan->count = found ? 2 : 0;
    return found;
}

static bool guess_names(const struct oa_cells *first, enum oa_answer answer,
                        struct oa_column_plan *plan)
{
    if (answer == OA_ANSWER_TOKENS)
        return guess_turns(first, plan);
    if (answer == OA_ANSWER_TEXT)
        return guess_answered(first, plan);
    return guess_labelled(first, answer == OA_ANSWER_CLASS ? class_names : number_names, plan);
}

/* ---- by the number of columns ---- */

static const struct {
    size_t width;
    bool more; /* further columns are ignored */
    int count, column[3];
} layouts[] = {
    { 2, false, 2, { 0, 1 } },   { 3, false, 3, { 0, 1, 2 } },
    { 4, false, 2, { 1, 3 } },   /* CoLA: source, label, the author's label, sentence */
    { 7, true, 3, { 4, 5, 6 } }, /* STS benchmark: genre, file, year, number, score, sentence,
                                    sentence, licences */
    { 9, true, 3, { 4, 5, 6 } },
};

static bool guess_labelled_width(struct oa_column_plan *plan, size_t width)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].width == width) {
            for (int k = 0; k < layouts[i].count; k++)
                plan_column(plan, layouts[i].column[k]);
            plan->width = layouts[i].more ? 0 : width;
            return true;
        }
    return false;
}

/* Source and target; further columns of a test set are further references. */
static bool guess_width(const struct column_planning *p)
{
    size_t width = p->first->count;
    bool turns = p->rows->answer == OA_ANSWER_TOKENS;
    if (p->rows->answer != OA_ANSWER_TEXT && !turns)
        return guess_labelled_width(p->out, width);
    if (width < 2 || (turns && width > 2) || width > (p->rows->whole ? OA_MOST_COLUMNS : 2))
        return false;
    for (size_t i = 0; i < width; i++)
        plan_column(p->out, (int)i);
    p->out->width = width;
    return true;
}

/* ---- by data.columns ---- */

static void print_names(const struct column_planning *p, struct oa_text *out)
{
    enum { SHOWN = 12, LONGEST = 40 };
    for (size_t i = 0; i < p->first->count && i < SHOWN; i++) {
        const struct oa_cell *cell = &p->first->cell[i];
        oa_text_printf(out, "%s\"%.*s\"", i ? ", " : "",
                       (int)(cell->length < LONGEST ? cell->length : LONGEST), cell->s);
    }
    oa_text_printf(out, "%s", p->first->count > SHOWN ? " …" : "");
}

static enum oa_error refuse_name(const struct column_planning *p, const char *name, size_t n)
{
    struct oa_text names;
    oa_text_init(&names, p->context);
    print_names(p, &names);
    enum oa_error error =
        oa_fail(p->context, OA_ARGUMENT, "data.columns: %s has no column \"%.*s\", only %s%s",
                p->file, (int)n, name, names.s ? names.s : "",
                p->keys ? "" : "; if it has no names, give column numbers, from 1");
    oa_text_free(&names);
    return error;
}

/* Rejects a header with several columns of a name of which not all are read: a text would be
 * ignored silently. Numbers are unambiguous, and keys are distinct. */
static enum oa_error check_column_names(const struct column_planning *p)
{
    if (!p->out->header || p->out->numbered || p->keys)
        return OA_OK;
    for (int i = 0; i < p->out->count; i++)
        for (int k = 0; k < p->out->column[i].joined; k++) {
            struct oa_cell cell = header_name(p->first->cell[p->out->column[i].at[k]]);
            int other = find_column(p->first, p->out, cell.s, cell.length);
            if (!plan_reads(p->out, other))
                return oa_fail(p->context, OA_ARGUMENT,
                               "%s has several columns \"%.*s\"; repeat the name in data.columns "
                               "to read them all, or give column numbers",
                               p->file, (int)cell.length, cell.s);
        }
    return OA_OK;
}

/* One part of one item: a number or a name. */
static enum oa_error plan_part(const struct column_planning *p, const char *s, size_t n,
                               struct oa_column *out)
{
    while (n && s[n - 1] == ' ')
        n--;
    bool number = n > 0 && n < 6 && strspn(s, "0123456789") >= n && !p->keys;
    int at = number ? atoi(s) - 1 : find_column(p->first, p->out, s, n);
    if (out->joined == OA_MOST_JOINED)
        return oa_fail(p->context, OA_ARGUMENT, "data.columns joins more than %d columns",
                       OA_MOST_JOINED);
    if (!number && at < 0)
        return refuse_name(p, s, n);
    if (number && (at < 0 || (!p->texts && (size_t)at >= p->first->count)))
        return oa_fail(p->context, OA_ARGUMENT,
                       "data.columns names column %.*s, but %s has %zu columns", (int)n, s, p->file,
                       p->first->count);
    if (plan_reads(p->out, at))
        return oa_fail(p->context, OA_ARGUMENT, "data.columns names column \"%.*s\" of %s twice",
                       (int)n, s, p->file);
    p->out->header = p->out->header || !number;
    p->out->numbered = p->out->numbered || number;
    out->at[out->joined++] = at;
    return OA_OK;
}

/* "title+text": up to the next comma. */
static enum oa_error plan_item(const struct column_planning *p, const char *s, size_t n)
{
    if (p->out->count == OA_MOST_COLUMNS)
        return oa_fail(p->context, OA_ARGUMENT, "data.columns has more than %d columns",
                       OA_MOST_COLUMNS);
    struct oa_column *column = &p->out->column[p->out->count++];
    for (size_t from = 0, to; from <= n; from = to + 1) {
        from += strspn(s + from, " ");
        for (to = from; to < n && s[to] != '+'; to++)
            ;
        OA_TRY(plan_part(p, s + from, to - from, column));
    }
    return OA_OK;
}

static enum oa_error check_column_count(const struct column_planning *p)
{
    bool text = p->rows->answer == OA_ANSWER_TEXT, turns = p->rows->answer == OA_ANSWER_TOKENS;
    int count = p->out->count;
    if (turns ? count == 2 : count >= 2 && (text || count <= 3))
        return OA_OK;
    return oa_fail(p->context, OA_ARGUMENT, "data.columns has %d column%s; %s", count,
                   oa_plural(count),
                   turns  ? "expected prompt,answer or tokens,targets"
                   : text ? "expected source,target and optionally further references"
                          : "expected label,text or, for pairs, label,text,text");
}

static enum oa_error plan_items(const struct column_planning *p, const char *columns)
{
    for (const char *s = columns; s;) {
        size_t n = strcspn(s, ",");
        OA_TRY(plan_item(p, s, n));
        s = s[n] ? s + n + 1 : NULL;
    }
    return OA_OK;
}

static enum oa_error refuse_guess(const struct column_planning *p)
{
    struct oa_text names;
    bool text = p->rows->answer == OA_ANSWER_TEXT, turns = p->rows->answer == OA_ANSWER_TOKENS;
    oa_text_init(&names, p->context);
    print_names(p, &names);
    enum oa_error error = oa_fail(
        p->context, OA_ARGUMENT,
        "%s: line 1 has %zu %s (%s); cannot tell which are %s: name them, e.g. data.columns=%s",
        p->file, p->first->count, p->keys ? "keys" : "columns", names.s ? names.s : "",
        turns  ? "prompt and answer"
        : text ? "source and target"
               : "label and text",
        turns     ? "prompt,answer"
        : text    ? "source,target"
        : p->keys ? "label,text"
                  : "1,2 or label,text");
    oa_text_free(&names);
    return error;
}

static enum oa_error plan_columns(const struct column_planning *p, const char *columns)
{
    if (oa_is_given(columns)) {
        OA_TRY(plan_items(p, columns));
        struct oa_column_plan unused = { 0 };
        p->out->header = p->out->header || guess_names(p->first, p->rows->answer, &unused);
        p->out->width = p->out->header ? p->first->count : 0;
        OA_TRY(check_column_names(p));
        return check_column_count(p);
    }
    p->out->guessed = true;
    p->out->header = guess_names(p->first, p->rows->answer, p->out);
    p->out->width = p->first->count;
    return p->out->header || (!p->keys && guess_width(p)) ? check_column_names(p) : refuse_guess(p);
}

enum oa_error oa_columns_plan(oa_context *c, const struct oa_rows *rows, const char *file,
                              const char *columns, const struct oa_cells *first, bool keys,
                              struct oa_column_plan *out)
{
    struct column_planning p = { c, rows, file, first, keys, false, out };
    *out = (struct oa_column_plan){ 0 };
    OA_TRY(plan_columns(&p, columns));
    int tokens = find_column_name(p.first, "tokens"),
        targets = find_column_name(p.first, "targets");
    out->aligned = p.out->header && p.out->count == 2 && p.out->column[0].at[0] == tokens &&
                   p.out->column[1].at[0] == targets;
    return OA_OK;
}

enum oa_error oa_columns_plan_texts(oa_context *c, const char *place, const char *columns,
                                    enum oa_answer answer, int texts, const struct oa_cells *first,
                                    struct oa_column_plan *out)
{
    struct oa_rows rows = { .answer = answer };
    struct column_planning p = { c, &rows, place, first, false, true, out };
    struct oa_column_plan unused = { 0 };
    *out = (struct oa_column_plan){ 0 };
    OA_TRY(plan_items(&p, columns));
    out->header = out->header || guess_names(first, answer, &unused);
    if (out->count == texts)
        return check_column_names(&p);
    return oa_fail(c, OA_ARGUMENT, "--columns has %d column%s, but the model reads %s", out->count,
                   oa_plural(out->count), texts > 1 ? "pairs of texts" : "single texts");
}
