/* SPDX-License-Identifier: Apache-2.0
 * compare.tune parsed into cells. */
#include "compare/grid.h"

#include "base/compare_doubles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

int oa_grid_at(const struct oa_grid *g, int cell, int option)
{
    for (int i = g->options - 1; i > option; i--)
        cell /= g->option[i].count;
    return cell % g->option[option].count;
}

const char *oa_grid_value(const struct oa_grid *g, int cell, int option)
{
    return g->option[option].value[oa_grid_at(g, cell, option)];
}

enum oa_error oa_grid_apply(oa_context *c, const struct oa_grid *g, int cell, struct oa_options *o)
{
    for (int i = 0; i < g->options; i++)
        OA_TRY(oa_options_set(c, o, g->option[i].key, oa_grid_value(g, cell, i)));
    return OA_OK;
}

const char *oa_grid_name(const struct oa_grid *g, int cell, char out[OA_GRID_NAME])
{
    int length = 0;
    out[0] = 0;
    for (int i = 0; i < g->options; i++)
        length += snprintf(out + length, (size_t)(OA_GRID_NAME - length), "%s%s=%s", i ? "," : "",
                           g->option[i].key, oa_grid_value(g, cell, i));
    return out;
}

void oa_grid_text(const struct oa_grid *g, struct oa_text *out)
{
    for (int i = 0; i < g->options; i++) {
        oa_text_printf(out, "%s%s=", i ? ";" : "", g->option[i].key);
        for (int v = 0; v < g->option[i].count; v++)
            oa_text_printf(out, "%s%s", v ? "," : "", g->option[i].value[v]);
    }
}

int oa_grid_with(const struct oa_grid *g, int cell, int option, int value)
{
    int stride = 1;
    for (int i = option + 1; i < g->options; i++)
        stride *= g->option[i].count;
    return cell + (value - oa_grid_at(g, cell, option)) * stride;
}

/* ---- more values ---- */

/* The value after, or before, n rising ones. Rates are tried as 0.001, 0.003, 0.01, so ratios may
 * alternate: the ratio over two steps is continued. Two values of a ratio below 2 count as
 * arithmetic. */
static double next_number(const double *v, int n, bool upwards)
{
    static const double rounding = 1e-9;
    bool arithmetic = n > 2 || v[n - 1] < 2 * v[0];
    for (int i = 2; i < n; i++)
        arithmetic =
            arithmetic && fabs((v[i] - v[i - 1]) - (v[1] - v[0])) < rounding * (v[n - 1] - v[0]);
    if (v[0] <= 0 || arithmetic)
        return upwards ? v[n - 1] + (v[n - 1] - v[n - 2]) : v[0] - (v[1] - v[0]);
    if (n == 2)
        return upwards ? v[1] * (v[1] / v[0]) : v[0] * (v[0] / v[1]);
    return upwards ? v[n - 2] * (v[n - 1] / v[n - 3]) : v[1] * (v[0] / v[2]);
}

bool oa_grid_next(oa_context *c, const struct oa_grid *g, int option, bool upwards,
                  char out[OA_GRID_VALUE])
{
    const struct oa_grid_option *o = &g->option[option];
    const struct oa_option_row *row = oa_option_at(oa_option_number(o->key));
    double v[OA_GRID_VALUES];
    if (!o->number || o->count == OA_GRID_VALUES ||
        g->cells / o->count * (o->count + 1) > OA_GRID_CELLS)
        return false;
    for (int i = 0; i < o->count; i++)
        if (!oa_parse_real(o->value[i], &v[i]))
            return false;
    qsort(v, (size_t)o->count, sizeof *v, oa_compare_doubles);
    double next = next_number(v, o->count, upwards);
    struct oa_text digits;
    char six[OA_GRID_VALUE];
    snprintf(six, sizeof six, "%.6g", row->kind == OA_OPTION_INT ? round(next) : next);
    oa_parse_real(six, &next); /* 0.01, not 0.010000000000000002 */
    if (!(next >= o->low && next <= o->high) || (next >= v[0] && next <= v[o->count - 1]))
        return false;
    oa_text_init(&digits, c);
    oa_text_real(&digits, next);
    snprintf(out, OA_GRID_VALUE, "%s", digits.s ? digits.s : "");
    oa_text_free(&digits);
    return *out;
}

void oa_grid_add(struct oa_grid *g, int option, const char *value)
{
    struct oa_grid_option *o = &g->option[option];
    g->cells = g->cells / o->count * (o->count + 1);
    snprintf(o->value[o->count++], OA_GRID_VALUE, "%s", value);
}

/* ---- which options ---- */

/* Why compare.tune may not vary an option; NULL: it may. Options that change the number of
 * parameters are found by plans (trial_specs.c). */
static const char *why_untunable(const struct oa_option_row *row)
{
    if (row->role & OA_SHARED_BUDGET)
        return "is the budget, which a comparison makes equal";
    if (row->role & OA_SHARED_STEP_SIZE)
        return "changes the tokens of a step, and so the budget";
    if (row->role & OA_SHARED_SEED)
        return "pairs the runs of all attentions: give compare.seeds";
    if (row->role & OA_SHARED_MEASUREMENT)
        return "only affects what is measured";
    if (!(row->role & OA_DECIDES_NUMBERS))
        return "is the same for all runs, or does not affect their results";
    if (row->kind == OA_OPTION_WORDS || row->kind == OA_OPTION_BOOL)
        return "is neither a number nor a choice of several";
    return NULL;
}

/* ---- reading ---- */

struct grid_reader {
    oa_context *c;
    struct oa_grid *grid;
    struct oa_options scratch; /* checks values and prints them */
};

static char *trimmed(char *text)
{
    text += strspn(text, " \t\n");
    size_t n = strlen(text);
    while (n && strchr(" \t\n", text[n - 1]))
        text[--n] = 0;
    return text;
}

/* The recorded error, of an option or value, with "compare.tune" before it. */
static enum oa_error refuse_with_context(oa_context *c)
{
    const char *sentence;
    oa_last_error(c, &sentence);
    char *copy = oa_copy_text(c, sentence);
    oa_clear_error(c);
    oa_fail(c, OA_ARGUMENT, "compare.tune: %s", copy ? copy : "");
    oa_free(copy);
    return OA_ARGUMENT;
}

static enum oa_error store_value(struct grid_reader *r, struct oa_grid_option *o,
                                 const char *printed)
{
    for (int i = 0; i < o->count; i++)
        if (strcmp(o->value[i], printed) == 0)
            return oa_fail(r->c, OA_ARGUMENT, "compare.tune: %s has the value %s twice", o->key,
                           printed);
    if (o->count == OA_GRID_VALUES)
        return oa_fail(r->c, OA_ARGUMENT, "compare.tune: %s has more than %d values", o->key,
                       OA_GRID_VALUES);
    snprintf(o->value[o->count++], OA_GRID_VALUE, "%s", printed);
    return OA_OK;
}

static enum oa_error add_grid_value(struct grid_reader *r, struct oa_grid_option *o,
                                    const char *value)
{
    struct oa_text printed;
    if (oa_options_set(r->c, &r->scratch, o->key, value) != OA_OK)
        return refuse_with_context(r->c);
    oa_text_init(&printed, r->c);
    enum oa_error e = oa_options_get(r->c, &r->scratch, o->key, &printed);
    if (e == OA_OK)
        e = store_value(r, o, printed.s ? printed.s : "");
    oa_text_free(&printed);
    return e;
}

static enum oa_error check_tunable(struct grid_reader *r, const struct oa_option_row *row,
                                   const char *key)
{
    const struct oa_grid *g = r->grid;
    if (!row) {
        oa_options_set(r->c, &r->scratch, key, ""); /* its message lists the options */
        return refuse_with_context(r->c);
    }
    if (why_untunable(row))
        return oa_fail(r->c, OA_ARGUMENT, "compare.tune: %s cannot be tuned: it %s", key,
                       why_untunable(row));
    for (int i = 0; i < g->options; i++)
        if (strcmp(g->option[i].key, key) == 0)
            return oa_fail(r->c, OA_ARGUMENT,
                           "compare.tune names %s twice: write all its values in one list", key);
    if (g->options == OA_GRID_OPTIONS)
        return oa_fail(r->c, OA_ARGUMENT, "compare.tune has more than %d options", OA_GRID_OPTIONS);
    return OA_OK;
}

static enum oa_error read_grid_values(struct grid_reader *r, struct oa_grid_option *o, char *list)
{
    for (char *value = list, *next; value; value = next) {
        next = strchr(value, ',');
        if (next)
            *next++ = 0;
        OA_TRY(add_grid_value(r, o, trimmed(value)));
    }
    if (o->count < 2)
        return oa_fail(r->c, OA_ARGUMENT,
                       "compare.tune: %s has only one value: give more, or --%s %s instead", o->key,
                       o->key, o->value[0]);
    return OA_OK;
}

/* "train.lr = 1e-3, 3e-3" */
static enum oa_error read_grid_option(struct grid_reader *r, char *text)
{
    char *list = strchr(text, '=');
    if (!list)
        return oa_fail(r->c, OA_ARGUMENT,
                       "compare.tune: \"%.80s\" is not an option with values; write "
                       "\"train.lr=3e-4,1e-3,3e-3\"",
                       trimmed(text));
    *list++ = 0;
    const char *key = trimmed(text);
    const struct oa_option_row *row = oa_option_at(oa_option_number(key));
    OA_TRY(check_tunable(r, row, key));
    struct oa_grid_option *o = &r->grid->option[r->grid->options++];
    *o = (struct oa_grid_option){ .number = row->kind != OA_OPTION_CHOICE,
                                  .low = row->low,
                                  .high = row->high };
    snprintf(o->key, OA_GRID_KEY, "%s", key);
    return read_grid_values(r, o, list);
}

static enum oa_error read_grid(struct grid_reader *r, char *text)
{
    long cells = 1;
    for (char *option = text, *next; option; option = next) {
        next = strchr(option, ';');
        if (next)
            *next++ = 0;
        OA_TRY(read_grid_option(r, option));
    }
    for (int i = 0; i < r->grid->options; i++)
        cells *= r->grid->option[i].count;
    if (cells > OA_GRID_CELLS)
        return oa_fail(r->c, OA_ARGUMENT,
                       "compare.tune: %ld combinations exceed the limit of %d; give fewer values",
                       cells, OA_GRID_CELLS);
    r->grid->cells = (int)cells;
    return OA_OK;
}

enum oa_error oa_grid_parse(oa_context *c, const char *text, struct oa_grid *out)
{
    struct grid_reader r = { .c = c, .grid = out };
    *out = (struct oa_grid){ 0 };
    if (!text[strspn(text, " \t\n")])
        return OA_OK;
    oa_options_default(&r.scratch);
    char *copy = oa_copy_text(c, text);
    enum oa_error e = copy ? read_grid(&r, copy) : OA_NO_MEMORY;
    oa_free(copy);
    return e;
}
