/* SPDX-License-Identifier: Apache-2.0
 * Of results.json: what each attention's own values of options were chosen from. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "report/results.h"
#include "train/run_scores.h"

static json_t *trial_cost_json(oa_context *c, const struct oa_trial_cost *cost)
{
    json_t *object = json_object();
    oa_json_set(c, object, "runs", json_integer(cost->runs));
    oa_json_set(c, object, "failed", json_integer(cost->failed));
    oa_json_set(c, object, "steps", oa_json_number(cost->steps));
    oa_json_set(c, object, "flops", oa_json_number(cost->flops));
    oa_json_set(c, object, "processor_seconds", oa_json_number(cost->processor_seconds));
    oa_json_set(c, object, "seconds", oa_json_number(cost->seconds));
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
    oa_json_set(c, object, "grid", oa_json_string(grid.s));
    oa_json_set(c, object, "per", oa_json_string(t->per_seed ? "seed" : "once"));
    oa_json_set(c, object, "extend", json_integer(t->extend));
    oa_json_set(c, object, "seeds", json_integer(t->seeds));
    oa_json_set(c, object, "fraction", oa_json_number(t->fraction));
    oa_json_set(c, object, "train_tokens", oa_json_number(t->train_tokens));
    oa_json_set(c, object, "valid_tokens", oa_json_number(t->valid_tokens));
    oa_json_set(c, object, "cost", trial_cost_json(c, &cost));
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
        oa_json_set(c, values, g->option[i].key,
                    is_number ? oa_json_number(x) : oa_json_string(value));
    }
    return values;
}

static json_t *trial_json(oa_context *c, const struct oa_comparison *k, const struct oa_run *r)
{
    json_t *trial = json_object();
    oa_json_set(c, trial, "seed", json_integer((json_int_t)r->seed));
    oa_json_set(c, trial, "failed", json_boolean(r->failed));
    oa_json_set(c, trial, "failure", r->failed ? oa_json_string(r->failure) : json_null());
    oa_json_set(c, trial, "steps", json_integer(r->steps));
#define NUMBER(field) oa_json_set(c, trial, #field, oa_json_number(r->field));
    OA_TRIAL_NUMBERS(NUMBER)
#undef NUMBER
    if (oa_comparison_measure(k, 1))
        oa_json_set(c, trial, "scores", oa_run_scores_json(k->measures, r->scores));
    return trial;
}

static json_t *cell_json(oa_context *c, const struct oa_comparison *k, const struct oa_tuned *u,
                         int cell)
{
    json_t *object = json_object(), *runs = json_array();
    oa_json_set(c, object, "values", values_json(c, &u->grid, cell));
    oa_json_set(c, object, "loss", oa_json_number(oa_trial_mean(k, u, cell, 0)));
    if (k->metric)
        oa_json_set(c, object, "score", oa_json_number(oa_trial_mean(k, u, cell, k->metric)));
    for (int s = 0; s < k->tuning.seeds; s++)
        oa_json_append(c, runs, trial_json(c, k, &u->trials[cell * k->tuning.seeds + s]));
    oa_json_set(c, object, "runs", runs);
    return object;
}

static json_t *edges_json(oa_context *c, const struct oa_comparison *k, const struct oa_tuned *u)
{
    json_t *edges = json_object();
    for (int i = 0; i < u->grid.options; i++) {
        int edge = oa_trial_edge(k, u, u->chosen, i);
        if (edge)
            oa_json_set(c, edges, u->grid.option[i].key,
                        oa_json_string(edge > 0 ? "largest" : "smallest"));
    }
    return edges;
}

/* Values that were added to the grid, in the order in which they were. */
static json_t *added_json(oa_context *c, const struct oa_comparison *k, const struct oa_tuned *u)
{
    json_t *added = json_object();
    for (int i = 0; i < u->grid.options; i++) {
        const struct oa_grid_option *o = &u->grid.option[i];
        json_t *values = json_array();
        for (int v = k->tuning.grid.option[i].count; v < o->count; v++) {
            double x = 0;
            oa_parse_real(o->value[v], &x);
            oa_json_append(c, values, oa_json_number(x));
        }
        if (json_array_size(values))
            oa_json_set(c, added, o->key, values);
        else
            json_decref(values);
    }
    return added;
}

/* Fields of a tuning: of the attention, or of a seed of it. */
static void set_tuned(oa_context *c, const struct oa_comparison *k, const struct oa_tuned *u,
                      json_t *object)
{
    json_t *cells = json_array();
    oa_json_set(c, object, "chosen", json_integer(u->chosen));
    oa_json_set(c, object, "values", values_json(c, &u->grid, u->chosen));
    oa_json_set(c, object, "edges", edges_json(c, k, u));
    oa_json_set(c, object, "added", added_json(c, k, u));
    for (int cell = 0; cell < u->grid.cells; cell++)
        oa_json_append(c, cells, cell_json(c, k, u, cell));
    oa_json_set(c, object, "cells", cells);
}

/* The seeds that have the values of each choice, in the order of their first seeds. */
static json_t *choices_json(oa_context *c, const struct oa_comparison *k, int entry)
{
    json_t *choices = json_array();
    int made = oa_runs_made(&k->entries[entry], k->seeds);
    for (int s = 0; s < made; s++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, s);
        json_t *values = values_json(c, &u->grid, u->chosen), *choice = NULL;
        json_int_t seed = (json_int_t)k->entries[entry].runs[s].seed;
        size_t i;
        json_array_foreach(choices, i,
                           choice) if (json_equal(json_object_get(choice, "values"), values)) break;
        if (i == json_array_size(choices)) {
            choice = json_object();
            oa_json_set(c, choice, "values", values);
            oa_json_set(c, choice, "seeds", json_array());
            oa_json_append(c, choices, choice);
        } else {
            json_decref(values);
        }
        oa_json_append(c, json_object_get(choice, "seeds"), json_integer(seed));
    }
    return choices;
}

json_t *oa_results_trials(oa_context *c, const struct oa_comparison *k, int entry)
{
    struct oa_trial_cost cost = { 0 };
    if (!k->tuning.grid.options)
        return json_null();
    json_t *object = json_object(), *by_seed = json_array();
    oa_trial_cost_sum(k, entry, &cost);
    if (!k->tuning.per_seed)
        set_tuned(c, k, oa_tuned_of(k, entry, 0), object);
    oa_json_set(c, object, "choices", choices_json(c, k, entry));
    oa_json_set(c, object, "cost", trial_cost_json(c, &cost));
    for (int s = 0; k->tuning.per_seed && s < oa_runs_made(&k->entries[entry], k->seeds); s++) {
        json_t *own = json_object();
        oa_json_set(c, own, "seed", json_integer((json_int_t)k->entries[entry].runs[s].seed));
        set_tuned(c, k, oa_tuned_of(k, entry, s), own);
        oa_json_append(c, by_seed, own);
    }
    if (k->tuning.per_seed)
        oa_json_set(c, object, "by_seed", by_seed);
    else
        json_decref(by_seed);
    return object;
}
