/* SPDX-License-Identifier: Apache-2.0
 *
 * Which columns of a table have the systems, seeds, steps and the metric. There are three forms:
 *
 *     long    system, seed, step, metric   a row for each value
 *     runs    Step, a-seed1 - loss, …      a column for each run, as W&B exports charts
 *     wide    seed, a, b                   a column for each system
 */
#include "import/observations.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const char *const system_names[] = { "system",   "model",     "method",    "name",
                                            "group",    "config",    "variant",   "algorithm",
                                            "arm",      "optimizer", "optimiser", "attention",
                                            "run_name", NULL };
static const char *const seed_names[] = { "seed",  "rep", "repeat",      "replicate",
                                          "trial", "run", "random_seed", NULL };
static const char *const step_names[] = { "step",      "global_step", "trainer/global_step",
                                          "iteration", "iter",        "update",
                                          "epoch",     NULL };
/* Columns that loggers add. */
static const char *const logger_names[] = { "_runtime",  "_timestamp", "wall time",
                                            "wall_time", "runtime",    "relative time (process)",
                                            "timestamp", "created_at", NULL };

struct columns {
    int32_t system, seed, step; /* -1: none */
    int32_t metric;             /* of the long form; -1: the other forms */
};

static const char *without_underscore(const char *name)
{
    return name + (*name == '_' && name[1]);
}

static void add_column_name(const struct oa_sheet *s, int32_t column, bool first,
                            struct oa_text *out)
{
    oa_text_printf(out, "%s'%s'", first ? "" : ", ", oa_sheet_name(s, column));
}

static enum oa_error refuse_columns(const struct oa_sheet *s, struct oa_text *list,
                                    const char *before, const char *after)
{
    enum oa_error e = oa_status(s->context);
    if (e == OA_OK)
        e = oa_fail(s->context, OA_ARGUMENT, "%s: %s%s%s", s->path, before,
                    list->s ? list->s : "none", after);
    oa_text_free(list);
    return e;
}

/* ---- what columns hold ---- */

/* Whether every cell that is not empty is a number or NaN, and at least one is not empty. */
static bool is_numeric(const struct oa_sheet *s, int32_t column)
{
    bool some = false;
    double x;
    for (size_t r = 0; r < s->rows; r++) {
        enum oa_cell_kind kind = oa_cell_number(oa_sheet_text(s, r, column), &x);
        if (kind == OA_CELL_TEXT)
            return false;
        some |= kind != OA_CELL_EMPTY;
    }
    return some;
}

static enum oa_error list_columns(const struct oa_sheet *s, struct oa_text *list)
{
    oa_text_init(list, s->context);
    for (int32_t i = 0; i < s->names.count; i++)
        add_column_name(s, i, i == 0, list);
    return oa_status(s->context);
}

static enum oa_error find_given(const struct oa_sheet *s, const char *option, const char *name,
                                int32_t *out)
{
    struct oa_text list;
    *out = oa_words_find(&s->names, name, strlen(name));
    for (int32_t i = 0; *out < 0 && i < s->names.count; i++)
        if (strcasecmp(oa_sheet_name(s, i), name) == 0)
            *out = i;
    if (*out >= 0)
        return OA_OK;
    OA_TRY(list_columns(s, &list));
    char before[600];
    snprintf(before, sizeof before, "no column is named '%.256s' (--%s); the columns are ", name,
             option);
    return refuse_columns(s, &list, before, "");
}

/* ---- systems, seeds, steps ---- */

/* The one column with a usual name; the first name before all others where `first_wins`. */
static enum oa_error find_usual(const struct oa_sheet *s, const char *option,
                                const char *const *usual, bool first_wins, int32_t *out)
{
    struct oa_text list;
    int found = 0;
    *out = -1;
    for (int u = 0; usual[u]; u++)
        for (int32_t i = 0; i < s->names.count; i++) {
            if (strcasecmp(without_underscore(oa_sheet_name(s, i)), usual[u]) != 0)
                continue;
            if (first_wins && found)
                return OA_OK;
            *out = i;
            found++;
        }
    if (found < 2)
        return OA_OK;
    oa_text_init(&list, s->context);
    for (int32_t i = 0, first = 1; i < s->names.count; i++)
        if (oa_is_listed(without_underscore(oa_sheet_name(s, i)), usual)) {
            add_column_name(s, i, first, &list);
            first = 0;
        }
    char before[160], after[80];
    snprintf(before, sizeof before, "several columns may be the %s: ", option);
    snprintf(after, sizeof after, "; choose one with --%s", option);
    return refuse_columns(s, &list, before, after);
}

static enum oa_error find_role(const struct oa_sheet *s, const char *option, const char *given,
                               const char *const *usual, bool first_wins, int32_t *out)
{
    return given ? find_given(s, option, given, out)
                 : find_usual(s, option, usual, first_wins, out);
}

/* ---- the metric ---- */

static bool may_be_metric(const struct oa_sheet *s, const struct columns *k, int32_t i)
{
    return i != k->system && i != k->seed && i != k->step &&
           !oa_is_listed(oa_sheet_name(s, i), logger_names) &&
           !oa_is_listed(without_underscore(oa_sheet_name(s, i)), step_names) &&
           strncasecmp(oa_sheet_name(s, i), "unnamed: ", 9) != 0 && is_numeric(s, i);
}

/* Names the first cell that is no number, in the last column that has one. */
static enum oa_error refuse_texts(const struct oa_sheet *s, const struct columns *k)
{
    double x;
    for (int32_t i = s->names.count; i-- > 0;) {
        if (i == k->system || i == k->seed || i == k->step)
            continue;
        for (size_t r = 0; r < s->rows; r++)
            if (oa_cell_number(oa_sheet_text(s, r, i), &x) == OA_CELL_TEXT)
                return oa_fail(s->context, OA_FORMAT,
                               "%s:%lu: no column is left that has only numbers, as the metric "
                               "must: '%.64s' in the column %s (decimals have a point)",
                               s->path, s->row[r].line, oa_sheet_text(s, r, i),
                               oa_sheet_name(s, i));
    }
    return oa_fail(s->context, OA_FORMAT, "%s: no column has numbers that may be the metric",
                   s->path);
}

/* The only numeric column that is left. */
static enum oa_error find_metric(const struct oa_sheet *s, const char *given, struct columns *k)
{
    struct oa_text list;
    int found = 0;
    if (given)
        return find_given(s, "metric", given, &k->metric);
    oa_text_init(&list, s->context);
    for (int32_t i = 0; i < s->names.count; i++)
        if (may_be_metric(s, k, i)) {
            add_column_name(s, i, found++ == 0, &list);
            k->metric = i;
        }
    if (found == 0)
        return refuse_texts(s, k);
    if (found > 1)
        return refuse_columns(s, &list,
                              "several columns may be the metric: ", "; choose one with --metric");
    oa_text_free(&list);
    return OA_OK;
}

/* ---- a row for each value ---- */

/* Adds the values of k->metric. An empty cell is a run without a value; it is ignored if `sparse`,
 * or if rows have steps. system: used if no column has it. */
static enum oa_error observe_rows(struct oa_observations *o, const struct oa_sheet *s, int path,
                                  const struct columns *k, const char *system, bool sparse)
{
    for (size_t r = 0; r < s->rows; r++) {
        double value, step = NAN;
        unsigned long line = s->row[r].line;
        const char *text = oa_sheet_text(s, r, k->metric),
                   *named = k->system < 0 ? system : oa_sheet_text(s, r, k->system);
        enum oa_cell_kind kind = oa_cell_number(text, &value);
        if (kind == OA_CELL_EMPTY && (sparse || k->step >= 0))
            continue;
        if (kind == OA_CELL_TEXT)
            return oa_fail(s->context, OA_FORMAT,
                           "%s:%lu: '%.64s' in the column %s is not a number; decimals have a "
                           "point",
                           s->path, line, text, oa_sheet_name(s, k->metric));
        if (k->step >= 0) {
            const char *at = oa_sheet_text(s, r, k->step);
            if (oa_cell_number(at, &step) != OA_CELL_NUMBER)
                return oa_fail(s->context, OA_FORMAT, "%s:%lu: '%.64s' is not a step", s->path,
                               line, at);
        }
        if (!*named)
            return oa_fail(s->context, OA_FORMAT, "%s:%lu: the column %s is empty", s->path, line,
                           oa_sheet_name(s, k->system));
        OA_TRY(oa_observe(o, named, k->seed < 0 ? NULL : oa_sheet_text(s, r, k->seed), step,
                          kind == OA_CELL_NUMBER ? value : NAN, path, line));
    }
    return OA_OK;
}

/* ---- a column for each system or run ---- */

/* The length of "adam-seed1" in "adam-seed1 - val_loss"; 0: the name has no such form. */
static size_t run_part(const char *name)
{
    const char *found = NULL;
    for (const char *at = name; (at = strstr(at, " - ")); at += 3)
        found = at;
    return found ? (size_t)(found - name) : 0;
}

static bool is_run_column(const struct oa_sheet *s, const struct columns *k, int32_t i)
{
    const char *name = oa_sheet_name(s, i);
    size_t part = run_part(name), n = strlen(name);
    /* W&B also exports the smallest and the largest value of each point. */
    bool bound =
        n > 5 && (strcmp(name + n - 5, "__MIN") == 0 || strcmp(name + n - 5, "__MAX") == 0);
    return i != k->step && i != k->seed && part && name[part + 3] != '_' && !bound;
}

/* The columns of one metric: the requested one, or the only one. */
static enum oa_error observe_runs(struct oa_observations *o, const struct oa_sheet *s, int path,
                                  const struct columns *k)
{
    const char *metric = o->request->metric;
    for (int32_t i = 0; i < s->names.count; i++) {
        const char *name = oa_sheet_name(s, i), *theirs = name + run_part(name) + 3;
        struct oa_text run;
        if (!is_run_column(s, k, i))
            continue;
        if (o->request->metric && strcmp(theirs, metric) != 0)
            continue;
        if (metric && strcmp(theirs, metric) != 0)
            return oa_fail(s->context, OA_ARGUMENT,
                           "%s: the columns have several metrics, '%s' and '%s'; choose one with "
                           "--metric",
                           s->path, metric, theirs);
        metric = theirs;
        oa_text_init(&run, s->context);
        name += strncmp(name, "Group: ", 7) == 0 ? 7 : 0;
        oa_text_add(&run, name, run_part(name));
        struct columns one = { -1, k->seed, k->step, i };
        enum oa_error e = run.s ? observe_rows(o, s, path, &one, run.s, true) : OA_NO_MEMORY;
        oa_text_free(&run);
        OA_TRY(e);
    }
    if (!o->count)
        return oa_fail(s->context, OA_ARGUMENT, "%s: no column has the metric '%.256s'", s->path,
                       metric ? metric : "");
    return oa_observe_metric(o, metric);
}

static enum oa_error refuse_without_systems(const struct oa_sheet *s)
{
    struct oa_text list;
    OA_TRY(list_columns(s, &list));
    return refuse_columns(s, &list,
                          "no column tells which system a row is of; name it with --system COLUMN. "
                          "The columns are ",
                          "");
}

/* Columns with names of metrics are not systems but metrics of one system. */
static enum oa_error observe_wide(struct oa_observations *o, const struct oa_sheet *s, int path,
                                  const struct columns *k)
{
    int systems = 0;
    for (int32_t i = 0; i < s->names.count; i++) {
        if (!may_be_metric(s, k, i))
            continue;
        if (oa_metric_direction(oa_sheet_name(s, i)))
            return refuse_without_systems(s);
        struct columns one = { -1, k->seed, k->step, i };
        OA_TRY(observe_rows(o, s, path, &one, oa_sheet_name(s, i), true));
        systems++;
    }
    if (systems < 2)
        return refuse_without_systems(s);
    return oa_observe_metric(o, o->request->metric ? o->request->metric : "value");
}

/* ---- all of it ---- */

static enum oa_error observe_long(struct oa_observations *o, const struct oa_sheet *s, int path,
                                  struct columns *k)
{
    struct oa_text file;
    OA_TRY(find_metric(s, o->request->metric, k));
    OA_TRY(oa_observe_metric(o, oa_sheet_name(s, k->metric)));
    oa_text_init(&file, s->context);
    const char *slash = strrchr(s->path, '/'), *base = slash ? slash + 1 : s->path,
               *dot = strchr(base, '.'); /* the system is the name of the file */
    oa_text_add(&file, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    enum oa_error e = file.s ? observe_rows(o, s, path, k, file.s, false) : OA_NO_MEMORY;
    oa_text_free(&file);
    return e;
}

enum oa_error oa_observe_sheet(struct oa_observations *o, const struct oa_sheet *s, int path)
{
    const struct oa_import_request *r = o->request;
    struct columns k = { -1, -1, -1, -1 };
    if (!s->rows)
        return oa_fail(s->context, OA_FORMAT, "%s has no rows", s->path);
    OA_TRY(find_role(s, "step", r->step, step_names, true, &k.step));
    OA_TRY(find_role(s, "seed", r->seed, seed_names, true, &k.seed));
    OA_TRY(find_role(s, "system", r->system, system_names, false, &k.system));
    if (k.system < 0 && !r->seed && k.seed >= 0 && !is_numeric(s, k.seed) &&
        strcasecmp(without_underscore(oa_sheet_name(s, k.seed)), "run") == 0) {
        k.system = k.seed; /* names of runs, which have the seeds */
        k.seed = -1;
    }
    for (int32_t i = 0; k.system < 0 && i < s->names.count; i++)
        if (is_run_column(s, &k, i))
            return observe_runs(o, s, path, &k);
    if (k.system < 0 && r->count == 1)
        return observe_wide(o, s, path, &k);
    return observe_long(o, s, path, &k);
}
