/* SPDX-License-Identifier: Apache-2.0
 * Sentences about the options that were tuned for each attention before the comparison.
 */
#include "report/metric_words.h"
#include "report/tuning.h"

#include <math.h>
#include <string.h>

/* The values of an option that were chosen, each once, the most frequent ones first. */
struct chosen_values {
    const char *value[OA_GRID_VALUES + OA_MOST_ADDED];
    int seeds[OA_GRID_VALUES + OA_MOST_ADDED];
    int count;
};

static void count_chosen(const char *value, struct chosen_values *out)
{
    int i = 0;
    while (i < out->count && strcmp(out->value[i], value) != 0)
        i++;
    if (i == out->count) {
        out->value[out->count] = value;
        out->seeds[out->count++] = 0;
    }
    int seeds = out->seeds[i] + 1;
    const char *kept = out->value[i];
    for (; i > 0 && out->seeds[i - 1] < seeds; i--) {
        out->seeds[i] = out->seeds[i - 1];
        out->value[i] = out->value[i - 1];
    }
    out->seeds[i] = seeds;
    out->value[i] = kept;
}

static void chosen_of_option(const struct oa_comparison *k, int entry, int option,
                             struct chosen_values *out)
{
    out->count = 0;
    for (int g = 0; g < oa_tunings(k); g++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, g);
        if (u->chosen >= 0)
            count_chosen(oa_grid_value(&u->grid, u->chosen, option), out);
    }
}

void oa_tuned_values(const struct oa_comparison *k, int entry, struct oa_text *out)
{
    const struct oa_grid *g = &k->tuning.grid;
    bool several = false;
    for (int i = 0; i < g->options; i++) {
        struct chosen_values chosen;
        chosen_of_option(k, entry, i, &chosen);
        oa_text_printf(out, "%s%s=",
                       i == 0    ? ""
                       : several ? "; "
                                 : " ",
                       strchr(g->option[i].key, '.') + 1); /* "lr" of "train.lr" */
        several = chosen.count > 1;
        for (int v = 0; v < chosen.count; v++) {
            oa_text_printf(out, "%s%s", v ? ", " : "", chosen.value[v]);
            if (several)
                oa_text_printf(out, " (%d)", chosen.seeds[v]);
        }
    }
}

static struct oa_trial_cost cost_of_all(const struct oa_comparison *k)
{
    struct oa_trial_cost cost = { 0 };
    for (int i = 0; i < k->count; i++)
        oa_trial_cost_sum(k, i, &cost);
    return cost;
}

static double flops_of_runs(const struct oa_comparison *k)
{
    double sum = 0;
    for (int i = 0; i < k->count; i++)
        for (int s = 0; s < k->seeds; s++)
            sum += k->entries[i].runs[s].flops;
    return sum;
}

static const char shared_luck[] =
    "All seeds of an attention share its choice, so the luck of that choice is in no interval.";

/* Cells of the smallest and of the largest grid, and values that were added, over all tunings. */
static int count_cells(const struct oa_comparison *k, int *least, int *most)
{
    int added = 0;
    *least = *most = k->tuning.grid.cells;
    for (int i = 0; i < k->count; i++)
        for (int g = 0; g < oa_tunings(k); g++) {
            const struct oa_tuned *u = oa_tuned_of(k, i, g);
            if (u->chosen < 0)
                continue;
            *most = u->grid.cells > *most ? u->grid.cells : *most;
            for (int o = 0; o < u->grid.options; o++)
                added += u->grid.option[o].count - k->tuning.grid.option[o].count;
        }
    return added;
}

void oa_tuning_sentence(const struct oa_comparison *k, struct oa_text *out)
{
    const struct oa_grid *g = &k->tuning.grid;
    char flops[OA_NUMBER], runs[OA_NUMBER];
    int least, most;
    if (!g->options)
        return;
    struct oa_trial_cost cost = cost_of_all(k);
    count_cells(k, &least, &most);
    oa_text_printf(out, " Tuned for each attention%s: ", k->tuning.per_seed ? " and seed" : "");
    for (int i = 0; i < g->options; i++)
        oa_text_printf(out, "%s%s",
                       i == 0                ? ""
                       : i + 1 == g->options ? " and "
                                             : ", ",
                       g->option[i].key);
    oa_text_printf(out, ", the best of %d", least);
    if (most > least)
        oa_text_printf(out, " to %d", most);
    oa_text_printf(out,
                   " settings on a held-out part of the training text (%d runs "
                   "with %s FLOPs, in addition to the %s of the comparison).",
                   cost.runs, oa_number_si(flops, cost.flops),
                   oa_number_si(runs, flops_of_runs(k)));
    if (!k->tuning.per_seed)
        oa_text_printf(out, " %s", shared_luck);
}

static void say_method(const struct oa_comparison *k, struct oa_text *out)
{
    const struct oa_tuning *t = &k->tuning;
    char valid[OA_NUMBER];
    oa_text_printf(
        out, "Tuned for each attention%s: ", t->per_seed ? " and each seed of the comparison" : "");
    for (int i = 0; i < t->grid.options; i++) {
        const struct oa_grid_option *o = &t->grid.option[i];
        oa_text_printf(out, "%s%s of", i ? "; " : "", o->key);
        for (int v = 0; v < o->count; v++)
            oa_text_printf(out, "%s %s", v ? "," : "", o->value[v]);
    }
    oa_text_printf(out,
                   "; chosen by the mean %s over %d seed%s%s, other than those of the comparison, "
                   "on the last %.3g %% of the training text (%s tokens), after training on the "
                   "rest.",
                   oa_metric_word(k), t->seeds, oa_plural(t->seeds),
                   t->per_seed ? " of its own" : "", 100 * t->fraction,
                   oa_number_si(valid, t->valid_tokens));
    if (!t->per_seed)
        oa_text_printf(out, " %s", shared_luck);
}

/* The most steps of a run that did not fail; trials of the tunings of the attention, or its runs.
 */
static long most_steps(const struct oa_run *runs, int count)
{
    long most = 0;
    for (int i = 0; i < count; i++)
        if (!runs[i].failed && !runs[i].absent && runs[i].steps > most)
            most = runs[i].steps;
    return most;
}

/* Of the first attention: compare.tune_steps is for it. */
static void say_shorter(const struct oa_comparison *k, struct oa_text *out)
{
    const struct oa_tuned *u = oa_tuned_of(k, 0, 0);
    long trial = u->chosen < 0 ? 0 : most_steps(u->trials, u->grid.cells * k->tuning.seeds);
    long run = most_steps(k->entries[0].runs, k->seeds);
    if (trial && trial < run)
        oa_text_printf(out,
                       " Tuning runs were shorter than those of the comparison, %ld steps instead "
                       "of %ld, which favours large learning rates.",
                       trial, run);
}

static void say_edges(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out)
{
    for (int i = 0; i < s->count; i++) {
        struct oa_text edges;
        oa_text_init(&edges, out->context);
        oa_trial_remarks(k, s->order[i], &edges);
        if (edges.length)
            oa_text_printf(out, "%s\n", edges.s);
        oa_text_free(&edges);
    }
}

/* In so many tunings of the attention the cell of that name diverged; *first: number of the first
 * of them. */
static int times_diverged(const struct oa_comparison *k, int entry, const char *cell_name,
                          int *first)
{
    int times = 0;
    for (int g = 0; g < oa_tunings(k); g++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, g);
        char name[OA_GRID_NAME];
        for (int cell = 0; u->chosen >= 0 && cell < u->grid.cells; cell++)
            if (strcmp(oa_grid_name(&u->grid, cell, name), cell_name) == 0 &&
                isnan(oa_trial_mean(k, u, cell, k->metric)) && times++ == 0)
                *first = g;
    }
    return times;
}

static void say_diverged_of(const struct oa_comparison *k, int entry, const char **before,
                            struct oa_text *out)
{
    for (int g = 0; g < oa_tunings(k); g++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, g);
        for (int cell = 0; u->chosen >= 0 && cell < u->grid.cells; cell++) {
            char name[OA_GRID_NAME];
            int first = -1,
                times = times_diverged(k, entry, oa_grid_name(&u->grid, cell, name), &first);
            if (first != g)
                continue;
            oa_text_printf(out, "%s %s with %s", *before, oa_entry_name(&k->entries[entry]), name);
            if (k->tuning.per_seed)
                oa_text_printf(out, " (%d seed%s)", times, oa_plural(times));
            *before = ";";
        }
    }
}

void oa_tuning_notes(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (!k->tuning.grid.options)
        return;
    say_method(k, out);
    say_shorter(k, out);
    int least, most, added = count_cells(k, &least, &most);
    if (added)
        oa_text_printf(out,
                       " Where the best value was the smallest or largest, more were tried, at "
                       "most %d of an option: %d in all.",
                       k->tuning.extend, added);
    struct oa_trial_cost cost = cost_of_all(k);
    char steps[OA_NUMBER], flops[OA_NUMBER], processor[OA_NUMBER];
    oa_text_printf(out, " Cost of tuning: %d runs, %s steps, %s FLOPs, %s of processor time.",
                   cost.runs, oa_number_si(steps, cost.steps), oa_number_si(flops, cost.flops),
                   oa_number_seconds(processor, cost.processor_seconds));
    oa_text_printf(out, "\n");
    say_edges(k, s, out);
    const char *before = "Diverged in tuning:";
    for (int o = 0; o < s->count; o++)
        say_diverged_of(k, s->order[o], &before, out);
    if (*before == ';')
        oa_text_printf(out, ".\n");
}
