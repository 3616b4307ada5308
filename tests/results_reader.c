/* SPDX-License-Identifier: Apache-2.0
 *
 * results.json back into a comparison, so that tests can hold one to the other. Every field that
 * the comparison has must be there and have its type; a refusal names the field. Statistics in the
 * file are passed over.
 */
#include "results_reader.h"

#include "compare/comparison.h"
#include "report/until.h"
#include "results_fields.h"
#include "train/run_scores.h"

#include <math.h>

/* ---- curves ---- */

static enum oa_error curve_column(oa_context *c, const json_t *curve, const char *place,
                                  const char *key, int points, const json_t **out)
{
    OA_TRY(get_array(c, curve, place, key, out));
    if (json_array_size(*out) != (size_t)points)
        return oa_fail(c, OA_FORMAT, "results: %s.%s has %zu points where \"step\" has %d", place,
                       key, json_array_size(*out), points);
    for (int i = 0; i < points; i++) {
        const json_t *value = json_array_get(*out, (size_t)i);
        if (!json_is_number(value) && !json_is_null(value))
            return refuse(c, place, key, "numbers or null", value);
    }
    return OA_OK;
}

static double curve_value(const json_t *column, int i)
{
    const json_t *value = json_array_get(column, (size_t)i);
    return json_is_null(value) ? NAN : json_number_value(value);
}

static enum oa_error read_curve_scores(oa_context *c, const json_t *curve, const char *place,
                                       const struct oa_comparison *k, struct oa_run *r)
{
    const json_t *scores, *column;
    const struct oa_measure *m;
    char below[PLACE];
    for (int i = 0; i < r->points; i++)
        oa_scores_clear(r->curve[i].scores);
    if (!oa_comparison_measure(k, 1))
        return OA_OK;
    snprintf(below, sizeof below, "%.85s.scores", place);
    OA_TRY(get_object(c, curve, place, "scores", &scores));
    for (int i = 1; (m = oa_comparison_measure(k, i)); i++) {
        OA_TRY(curve_column(c, scores, below, m->name, r->points, &column));
        for (int p = 0; p < r->points; p++)
            r->curve[p].scores[i] = curve_value(column, p);
    }
    return OA_OK;
}

static enum oa_error read_curve(oa_context *c, const json_t *run, const char *run_place,
                                const struct oa_comparison *k, struct oa_run *r)
{
    const json_t *curve, *column;
    char place[PLACE];
    snprintf(place, sizeof place, "%.80s.curve", run_place);
    OA_TRY(get_object(c, run, run_place, "curve", &curve));
    OA_TRY(get_array(c, curve, place, "step", &column));
    int points = (int)json_array_size(column);
    r->curve = oa_alloc(c, ((size_t)points + 1) * sizeof *r->curve);
    if (!r->curve)
        return OA_NO_MEMORY;
    r->points = points;
    for (int i = 0; i < points; i++) {
        const json_t *step = json_array_get(column, (size_t)i);
        if (!json_is_integer(step))
            return refuse(c, place, "step", "whole numbers", step);
        r->curve[i].step = (long)json_integer_value(step);
    }
#define COLUMN(field)                                                                              \
    OA_TRY(curve_column(c, curve, place, #field, points, &column));                                \
    for (int i = 0; i < points; i++)                                                               \
        r->curve[i].field = curve_value(column, i);
    OA_CURVE_NUMBERS(COLUMN)
#undef COLUMN
    return read_curve_scores(c, curve, place, k, r);
}

/* ---- runs and entries ---- */

static enum oa_error read_failure(oa_context *c, const json_t *run, const char *place,
                                  struct oa_run *r)
{
    const json_t *failed = json_object_get(run, "failed");
    const char *sentence;
    if (!json_is_boolean(failed))
        return refuse(c, place, "failed", "true or false", failed);
    r->failed = json_is_true(failed);
    if (!r->failed)
        return OA_OK;
    OA_TRY(get_text(c, run, place, "failure", &sentence));
    snprintf(r->failure, sizeof r->failure, "%s", sentence);
    return OA_OK;
}

/* Text that older files lack. */
static void read_optional(const json_t *object, const char *key, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    snprintf(out, size, "%s", value ? value : "");
}

/* Every measure that the comparison has, and none where it has the loss alone. */
static enum oa_error read_scores(oa_context *c, const json_t *run, const char *place,
                                 const struct oa_comparison *k, struct oa_run *r)
{
    const json_t *scores;
    const struct oa_measure *m;
    oa_scores_clear(r->scores);
    if (!oa_comparison_measure(k, 1))
        return OA_OK;
    OA_TRY(get_object(c, run, place, "scores", &scores));
    for (int i = 1; (m = oa_comparison_measure(k, i)); i++)
        OA_TRY(get_number(c, scores, place, m->name, &r->scores[i]));
    return OA_OK;
}

static enum oa_error read_run(oa_context *c, const json_t *run, const char *place,
                              const struct oa_comparison *k, struct oa_run *r)
{
    long seed;
    if (!json_is_object(run))
        return oa_fail(c, OA_FORMAT, "results: %s: expected an object, found %s", place,
                       type_name(run));
    OA_TRY(get_count(c, run, place, "seed", &seed));
    r->seed = (uint64_t)seed;
    OA_TRY(read_failure(c, run, place, r));
    read_optional(run, "machine", r->machine, sizeof r->machine);
    read_optional(run, "weights", r->weights, sizeof r->weights);
    OA_TRY(get_count(c, run, place, "steps", &r->steps));
#define NUMBER(field) OA_TRY(get_number(c, run, place, #field, &r->field));
    OA_RUN_NUMBERS(NUMBER)
#undef NUMBER
    OA_TRY(read_scores(c, run, place, k, r));
    OA_TRY(oa_parts_read(c, "results", run, r));
    return read_curve(c, run, place, k, r);
}

/* The runs of one column are paired: they must have the same seed in every entry that has them. */
static enum oa_error check_pairing(oa_context *c, const struct oa_comparison *k, int entry, int run)
{
    for (int i = 0; i < entry; i++)
        if (!k->entries[i].runs[run].absent &&
            k->entries[entry].runs[run].seed != k->entries[i].runs[run].seed)
            return oa_fail(c, OA_FORMAT,
                           "results: entries[%d].runs[%d] has seed %llu where entries[%d] has %llu",
                           entry, run, (unsigned long long)k->entries[entry].runs[run].seed, i,
                           (unsigned long long)k->entries[i].runs[run].seed);
    return OA_OK;
}

/* Only where the comparison decided by itself may an attention have fewer seeds than others. */
static enum oa_error check_runs(oa_context *c, const char *place, int runs,
                                const struct oa_comparison *k)
{
    if (runs == k->seeds || (k->until.ending != OA_ENDING_NONE && runs > 0 && runs < k->seeds))
        return OA_OK;
    return oa_fail(c, OA_FORMAT, "results: %s has %d runs where \"seeds\" says %d", place, runs,
                   k->seeds);
}

/* ---- tuning ---- */

/* Files from before there was tuning have none. */
static enum oa_error read_tuning(oa_context *c, const json_t *root, struct oa_comparison *k)
{
    const json_t *tuning = json_object_get(root, "tuning");
    const char *grid;
    long seeds;
    if (!tuning || json_is_null(tuning))
        return OA_OK;
    OA_TRY(get_text(c, tuning, "tuning", "grid", &grid));
    if (oa_grid_parse(c, grid, &k->tuning.grid) == OA_ARGUMENT) {
        oa_clear_error(c);
        return oa_fail(c, OA_FORMAT,
                       "results: tuning.grid: \"%.200s\" is nothing that compare.tune takes", grid);
    }
    OA_TRY(get_count(c, tuning, "tuning", "seeds", &seeds));
    if (seeds < 1 || seeds > 100 || !k->tuning.grid.cells)
        return oa_fail(c, OA_FORMAT, "results: tuning: %ld seeds of \"%s\" are no trials", seeds,
                       grid);
    k->tuning.seeds = (int)seeds;
    const char *per = json_string_value(json_object_get(tuning, "per")); /* older files have none */
    long extend = 0;
    k->tuning.per_seed = per && strcmp(per, "seed") == 0;
    if (per)
        OA_TRY(get_count(c, tuning, "tuning", "extend", &extend));
    if (extend > OA_MOST_ADDED)
        return oa_fail(c, OA_FORMAT, "results: tuning.extend is %ld; it is at most %d", extend,
                       OA_MOST_ADDED);
    k->tuning.extend = (int)extend;
    OA_TRY(get_number(c, tuning, "tuning", "fraction", &k->tuning.fraction));
    OA_TRY(get_number(c, tuning, "tuning", "train_tokens", &k->tuning.train_tokens));
    return get_number(c, tuning, "tuning", "valid_tokens", &k->tuning.valid_tokens);
}

static enum oa_error read_trial(oa_context *c, const json_t *trial, const char *place,
                                const struct oa_comparison *k, struct oa_run *r)
{
    long seed;
    OA_TRY(get_count(c, trial, place, "seed", &seed));
    r->seed = (uint64_t)seed;
    OA_TRY(read_failure(c, trial, place, r));
    OA_TRY(get_count(c, trial, place, "steps", &r->steps));
#define NUMBER(field) OA_TRY(get_number(c, trial, place, #field, &r->field));
    OA_TRIAL_NUMBERS(NUMBER)
#undef NUMBER
    return read_scores(c, trial, place, k, r);
}

static enum oa_error read_cell(oa_context *c, const json_t *cell, const char *place,
                               const struct oa_comparison *k, struct oa_run *trials)
{
    const json_t *runs;
    int seeds = k->tuning.seeds;
    OA_TRY(get_array(c, cell, place, "runs", &runs));
    if (json_array_size(runs) != (size_t)seeds)
        return oa_fail(c, OA_FORMAT, "results: %s has %zu runs where tuning.seeds says %d", place,
                       json_array_size(runs), seeds);
    for (int s = 0; s < seeds; s++)
        OA_TRY(read_trial(c, json_array_get(runs, (size_t)s), place, k, &trials[s]));
    return OA_OK;
}

/* Values that were added to compare.tune's grid; older files have none. */
static enum oa_error read_added(oa_context *c, const json_t *tuning, const char *place,
                                const struct oa_comparison *k, struct oa_grid *g)
{
    const json_t *added = json_object_get(tuning, "added");
    for (int i = 0; added && i < g->options; i++) {
        const json_t *values = json_object_get(added, g->option[i].key);
        size_t count = json_array_size(values);
        if (count > (size_t)k->tuning.extend || g->option[i].count + count > OA_GRID_VALUES ||
            g->cells / g->option[i].count * (g->option[i].count + (long)count) > OA_GRID_CELLS)
            return oa_fail(c, OA_FORMAT, "results: %s.added has %zu values of %s", place, count,
                           g->option[i].key);
        for (size_t v = 0; v < count; v++) {
            struct oa_text value;
            oa_text_init(&value, c);
            oa_text_real(&value, json_number_value(json_array_get(values, v)));
            oa_grid_add(g, i, value.s ? value.s : "");
            oa_text_free(&value);
        }
    }
    return OA_OK;
}

static enum oa_error read_tuned(oa_context *c, const json_t *tuning, const char *place,
                                const struct oa_comparison *k, struct oa_tuned *u)
{
    const json_t *cells;
    char cell_place[PLACE];
    long chosen;
    int seeds = k->tuning.seeds;
    u->grid = k->tuning.grid;
    OA_TRY(read_added(c, tuning, place, k, &u->grid));
    OA_TRY(get_count(c, tuning, place, "chosen", &chosen));
    OA_TRY(get_array(c, tuning, place, "cells", &cells));
    if (json_array_size(cells) != (size_t)u->grid.cells || chosen >= u->grid.cells)
        return oa_fail(c, OA_FORMAT, "results: %s: cell %ld of %zu is chosen, and the grid has %d",
                       place, chosen, json_array_size(cells), u->grid.cells);
    u->chosen = (int)chosen;
    u->trials = oa_alloc(c, (size_t)u->grid.cells * (size_t)seeds * sizeof *u->trials);
    for (int i = 0; i < u->grid.cells && u->trials; i++) {
        snprintf(cell_place, sizeof cell_place, "%.60s.cells[%d]", place, i);
        OA_TRY(read_cell(c, json_array_get(cells, (size_t)i), cell_place, k,
                         u->trials + (long)i * seeds));
    }
    return oa_status(c);
}

static enum oa_error read_trials(oa_context *c, const json_t *entry, int number,
                                 struct oa_comparison *k)
{
    struct oa_entry *e = &k->entries[number];
    const json_t *tuning, *by_seed;
    char place[PLACE];
    if (!k->tuning.grid.cells)
        return OA_OK;
    e->tuned = oa_alloc(c, ((size_t)oa_tunings(k) + 1) * sizeof *e->tuned);
    for (int g = 0; e->tuned && g < oa_tunings(k); g++)
        e->tuned[g] = (struct oa_tuned){ .grid = k->tuning.grid, .chosen = -1 };
    OA_TRY(oa_status(c));
    snprintf(place, sizeof place, "entries[%d]", number);
    OA_TRY(get_object(c, entry, place, "tuning", &tuning));
    snprintf(place, sizeof place, "entries[%d].tuning", number);
    if (!k->tuning.per_seed)
        return read_tuned(c, tuning, place, k, e->tuned);
    OA_TRY(get_array(c, tuning, place, "by_seed", &by_seed));
    int made = oa_runs_made(e, k->seeds);
    if (json_array_size(by_seed) != (size_t)made)
        return oa_fail(c, OA_FORMAT, "results: %s.by_seed has %zu tunings, and there are %d runs",
                       place, json_array_size(by_seed), made);
    for (int s = 0; s < made; s++) {
        snprintf(place, sizeof place, "entries[%d].tuning.by_seed[%d]", number, s);
        OA_TRY(read_tuned(c, json_array_get(by_seed, (size_t)s), place, k, &e->tuned[s]));
    }
    return OA_OK;
}

/* Seconds of a step in each round of measuring speeds. Files from before there were rounds have
 * none. */
static enum oa_error read_step_seconds(oa_context *c, const json_t *entry, const char *place,
                                       struct oa_comparison *k, struct oa_entry *e)
{
    const json_t *list = json_object_get(entry, "step_seconds");
    if (!list || json_is_null(list))
        return OA_OK;
    if (json_array_size(list) != (size_t)k->rounds)
        return oa_fail(c, OA_FORMAT,
                       "results: %s.step_seconds has %zu numbers where \"speed_rounds\" says %d",
                       place, json_array_size(list), k->rounds);
    e->step_seconds = oa_alloc(c, ((size_t)k->rounds + 1) * sizeof *e->step_seconds);
    for (int r = 0; e->step_seconds && r < k->rounds; r++) {
        const json_t *value = json_array_get(list, (size_t)r);
        e->step_seconds[r] = json_number_value(value);
        if (!(e->step_seconds[r] > 0))
            return refuse(c, place, "step_seconds", "numbers above 0", value);
    }
    return oa_status(c);
}

static enum oa_error read_entry(oa_context *c, const json_t *entry, int number,
                                struct oa_comparison *k)
{
    struct oa_entry *e = &k->entries[number];
    const json_t *runs;
    const char *attention;
    char place[PLACE];
    snprintf(place, sizeof place, "entries[%d]", number);
    OA_TRY(get_text(c, entry, place, "attention", &attention));
    e->attention = oa_copy_text(c, attention);
    e->uniform = json_is_true(
        json_object_get(entry, "floor")); /* files from before there were floors have none */
    OA_TRY(get_number(c, entry, place, "trainable", &e->trainable));
    OA_TRY(get_number(c, entry, place, "frozen", &e->frozen));
    e->ffn = (long)json_integer_value(json_object_get(entry, "ffn")); /* older files have none */
    OA_TRY(read_step_seconds(c, entry, place, k, e));
    OA_TRY(get_array(c, entry, place, "runs", &runs));
    OA_TRY(check_runs(c, place, (int)json_array_size(runs), k));
    e->runs = oa_alloc(c, ((size_t)k->seeds + 1) * sizeof *e->runs);
    for (int r = (int)json_array_size(runs); r < k->seeds && e->runs; r++)
        e->runs[r].absent = true;
    for (int r = 0; r < (int)json_array_size(runs) && e->runs; r++) {
        snprintf(place, sizeof place, "entries[%d].runs[%d]", number, r);
        OA_TRY(read_run(c, json_array_get(runs, (size_t)r), place, k, &e->runs[r]));
        OA_TRY(check_pairing(c, k, number, r));
    }
    OA_TRY(read_trials(c, entry, number, k));
    return oa_status(c);
}

/* ---- the file ---- */

static char *embedded(oa_context *c, const json_t *value)
{
    if (!value || json_is_null(value))
        return NULL;
    struct oa_text t;
    oa_text_init(&t, c);
    oa_json_text(value, &t);
    return t.s;
}

/* The older one has no declared family. */
static const char older_schema[] = "orthant.results/1";

static enum oa_error check_schema(oa_context *c, const json_t *root)
{
    const char *schema;
    OA_TRY(get_text(c, root, "", "schema", &schema));
    if (strcmp(schema, OA_RESULTS_SCHEMA) != 0 && strcmp(schema, older_schema) != 0)
        return oa_fail(c, OA_FORMAT,
                       "results: schema \"%s\" is not known; this version reads \"%s\"", schema,
                       OA_RESULTS_SCHEMA);
    return OA_OK;
}

static enum oa_error read_rounds(oa_context *c, const json_t *root, struct oa_comparison *k)
{
    long rounds = 0;
    if (json_object_get(root, "speed_rounds"))
        OA_TRY(get_count(c, root, "", "speed_rounds", &rounds));
    if (rounds > OA_MOST_ROUNDS)
        return oa_fail(c, OA_FORMAT, "results: speed_rounds is %ld; it is at most %d", rounds,
                       OA_MOST_ROUNDS);
    k->rounds = (int)rounds;
    read_optional(root, "speed_machine", k->speed_machine, sizeof k->speed_machine);
    return OA_OK;
}

static enum oa_error read_equal(oa_context *c, const char *word, enum oa_equal *out)
{
    int choice = oa_option_choice("compare.equal", word);
    if (choice < 0)
        return oa_fail(c, OA_FORMAT,
                       "results: equal is \"%.40s\"; it is one of tokens, time, params and flops",
                       word);
    *out = (enum oa_equal)choice;
    return OA_OK;
}

static enum oa_error read_head(oa_context *c, const json_t *root, struct oa_comparison *k)
{
    const json_t *valid;
    const char *equal;
    long seeds;
    OA_TRY(get_text(c, root, "", "equal", &equal));
    OA_TRY(read_equal(c, equal, &k->equal));
    OA_TRY(get_count(c, root, "", "seeds", &seeds));
    k->seeds =
        seeds < 1000000 ? (int)seeds : 1000000; /* what is wrong shows when the runs are counted */
    OA_TRY(get_object(c, root, "", "validation", &valid));
    OA_TRY(get_number(c, valid, "validation", "characters", &k->characters));
    OA_TRY(get_number(c, valid, "validation", "bytes", &k->bytes));
    OA_TRY(get_number(c, valid, "validation", "tokens", &k->valid_tokens));
    OA_TRY(get_number(c, valid, "validation", "used_during_training", &k->eval_tokens));
    OA_TRY(read_rounds(c, root, k));
    k->options_json = embedded(c, json_object_get(root, "options"));
    k->machine_json = embedded(c, json_object_get(root, "machine"));
    return oa_status(c);
}

/* Files from before there were baselines have none. */
static enum oa_error read_baseline(oa_context *c, const json_t *root, struct oa_comparison *k)
{
    const json_t *value = json_object_get(root, "baseline");
    const char *looks = json_string_value(json_object_get(root, "looks"));
    const char *kind = json_string_value(json_object_get(json_object_get(root, "family"), "kind"));
    int family = kind ? oa_option_choice("compare.family", kind) : OA_FAMILY_AUTO;
    k->family = family < 0 ? OA_FAMILY_AUTO : (enum oa_family_kind)family;
    const char *test = json_string_value(json_object_get(json_object_get(root, "family"), "test"));
    k->test = test && strcmp(test, "two-way") == 0 ? OA_TWO_WAY_ERRORS : OA_PAIRED_ERRORS;
    k->sequential = looks && strcmp(looks, "any") == 0;
    if (json_object_get(root, "margin"))
        OA_TRY(get_number(c, root, "", "margin", &k->margin));
    if (!value || json_is_null(value))
        return OA_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) >= k->count)
        return refuse(c, "", "baseline", "the number of an entry, or null", value);
    k->baseline = 1 + (int)json_integer_value(value);
    return OA_OK;
}

/* null, or missing in files from before comparisons could decide by themselves: every attention has
 * all seeds. */
static enum oa_error read_until(oa_context *c, const json_t *root, struct oa_until *u)
{
    static const char place[] = "until_resolved";
    const json_t *object = json_object_get(root, place);
    const char *ending;
    long least, most, rounds;
    if (!object || json_is_null(object))
        return OA_OK;
    OA_TRY(get_object(c, root, "", place, &object));
    OA_TRY(get_text(c, object, place, "ending", &ending));
    OA_TRY(get_count(c, object, place, "least_seeds", &least));
    OA_TRY(get_count(c, object, place, "most_seeds", &most));
    OA_TRY(get_count(c, object, place, "rounds", &rounds));
    OA_TRY(get_number(c, object, place, "budget_seconds", &u->budget));
    OA_TRY(get_number(c, object, place, "spent_seconds", &u->spent));
    u->budget = isnan(u->budget) ? 0 : u->budget;
    u->least = (int)least;
    u->most = (int)most;
    u->rounds = (int)rounds;
    for (u->ending = OA_ENDING_BUDGET; u->ending != OA_ENDING_NONE; u->ending--)
        if (strcmp(ending, oa_ending_name(u->ending)) == 0)
            return OA_OK;
    return refuse(c, place, "ending", "\"resolved\", \"seeds used up\" or \"budget used up\"",
                  json_object_get(object, "ending"));
}

static enum oa_error read_root(oa_context *c, const json_t *root, struct oa_comparison *k)
{
    const json_t *entries;
    OA_TRY(check_schema(c, root));
    OA_TRY(read_head(c, root, k));
    OA_TRY(oa_measures_read(c, root, k));
    OA_TRY(read_until(c, root, &k->until));
    OA_TRY(read_tuning(c, root, k));
    OA_TRY(get_array(c, root, "", "entries", &entries));
    k->entries = oa_alloc(c, (json_array_size(entries) + 1) * sizeof *k->entries);
    if (!k->entries)
        return OA_NO_MEMORY;
    k->count = (int)json_array_size(entries);
    for (int i = 0; i < k->count; i++)
        OA_TRY(read_entry(c, json_array_get(entries, (size_t)i), i, k));
    OA_TRY(oa_variances_read(c, root, k));
    return read_baseline(c, root, k);
}

enum oa_error oa_comparison_from_json(oa_context *c, const char *json, struct oa_comparison *out)
{
    *out = (struct oa_comparison){ 0 };
    json_error_t error;
    json_t *root = json_loads(json, 0, &error);
    if (!root)
        return oa_fail(c, OA_FORMAT, "results: line %d, column %d: %s", error.line, error.column,
                       error.text);
    enum oa_error code = read_root(c, root, out);
    json_decref(root);
    if (code != OA_OK)
        oa_comparison_free(out);
    return code;
}
