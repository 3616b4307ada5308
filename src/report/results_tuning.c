/* SPDX-License-Identifier: Apache-2.0
 * Of results.json: what each attention's own values of options were chosen from. */
#include "report/results.h"
#include "report/results_values.h"
#include "train/run_scores.h"

static json_t *trial_cost_json(oa_context *c, const struct oa_trial_cost *cost)
{
    json_t *object = json_object();
    set(c, object, "runs", json_integer(cost->runs));
    set(c, object, "failed", json_integer(cost->failed));
    set(c, object, "steps", oa_json_number(cost->steps));
    set(c, object, "flops", oa_json_number(cost->flops));
    set(c, object, "processor_seconds", oa_json_number(cost->processor_seconds));
    set(c, object, "seconds", oa_json_number(cost->seconds));
    return object;
}

json_t *oa_results_tuning(oa_context *c, const struct oa_comparison *k)
{
    const struct oa_tuning *t = &k->tuning;
    struct oa_trial_cost cost = { 0 };
    struct oa_text grid;
    if (!t->grid.options)
        return json_null();
    json_t *object = json_object();
    oa_text_init(&grid, c);
    oa_grid_text(&t->grid, &grid);
    for (int i = 0; i < k->count; i++)
        oa_trial_cost_sum(k, i, &cost);
    set(c, object, "grid", oa_json_string(grid.s));
    set(c, object, "seeds", json_integer(t->seeds));
    set(c, object, "fraction", oa_json_number(t->fraction));
    set(c, object, "train_tokens", oa_json_number(t->train_tokens));
    set(c, object, "valid_tokens", oa_json_number(t->valid_tokens));
    set(c, object, "cost", trial_cost_json(c, &cost));
    oa_text_free(&grid);
    return object;
}

/* Numbers as numbers, choices as text. */
static json_t *values_json(oa_context *c, const struct oa_grid *g, int cell)
{
    json_t *values = json_object();
    for (int i = 0; i < g->options; i++) {
        double x = 0;
        const char *value = oa_grid_value(g, cell, i);
        bool is_number = g->option[i].number && oa_parse_real(value, &x);
        set(c, values, g->option[i].key, is_number ? oa_json_number(x) : oa_json_string(value));
    }
    return values;
}

static json_t *trial_json(oa_context *c, const struct oa_comparison *k, const struct oa_run *r)
{
    json_t *trial = json_object();
    set(c, trial, "seed", json_integer((json_int_t)r->seed));
    set(c, trial, "failed", json_boolean(r->failed));
    set(c, trial, "failure", r->failed ? oa_json_string(r->failure) : json_null());
    set(c, trial, "steps", json_integer(r->steps));
#define NUMBER(field) set(c, trial, #field, oa_json_number(r->field));
    OA_TRIAL_NUMBERS(NUMBER)
#undef NUMBER
    if (oa_comparison_measure(k, 1))
        set(c, trial, "scores", oa_run_scores_json(k->measures, r->scores));
    return trial;
}

static json_t *cell_json(oa_context *c, const struct oa_comparison *k, int entry, int cell)
{
    json_t *object = json_object(), *runs = json_array();
    set(c, object, "values", values_json(c, &k->tuning.grid, cell));
    set(c, object, "loss", oa_json_number(oa_trial_mean(k, entry, cell, 0)));
    if (k->metric)
        set(c, object, "score", oa_json_number(oa_trial_mean(k, entry, cell, k->metric)));
    for (int s = 0; s < k->tuning.seeds; s++)
        append(c, runs, trial_json(c, k, &k->entries[entry].trials[cell * k->tuning.seeds + s]));
    set(c, object, "runs", runs);
    return object;
}

json_t *oa_results_trials(oa_context *c, const struct oa_comparison *k, int entry)
{
    const struct oa_grid *g = &k->tuning.grid;
    struct oa_trial_cost cost = { 0 };
    if (!g->options)
        return json_null();
    json_t *object = json_object(), *edges = json_object(), *cells = json_array();
    set(c, object, "chosen", json_integer(k->entries[entry].chosen));
    set(c, object, "values", values_json(c, g, k->entries[entry].chosen));
    for (int i = 0; i < g->options; i++)
        if (oa_trial_edge(k, entry, i))
            set(c, edges, g->option[i].key,
                oa_json_string(oa_trial_edge(k, entry, i) > 0 ? "largest" : "smallest"));
    set(c, object, "edges", edges);
    oa_trial_cost_sum(k, entry, &cost);
    set(c, object, "cost", trial_cost_json(c, &cost));
    for (int cell = 0; cell < g->cells; cell++)
        append(c, cells, cell_json(c, k, entry, cell));
    set(c, object, "cells", cells);
    return object;
}
