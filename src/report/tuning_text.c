/* SPDX-License-Identifier: Apache-2.0
 * Sentences about the options that were tuned for each attention before the comparison.
 */
#include "report/metric_words.h"
#include "report/tuning.h"

#include <math.h>
#include <string.h>

const char *oa_tuned_values(const struct oa_comparison *k, int entry, char out[OA_GRID_NAME])
{
    const struct oa_grid *g = &k->tuning.grid;
    int length = 0;
    out[0] = 0;
    for (int i = 0; i < g->options; i++)
        length += snprintf(out + length, (size_t)(OA_GRID_NAME - length), "%s%s=%s", i ? " " : "",
                           strchr(g->option[i].key, '.') + 1, /* "lr" of "train.lr" */
                           oa_grid_value(g, k->entries[entry].chosen, i));
    return out;
}

/* "train.lr and train.clip" */
static void add_options(const struct oa_grid *g, struct oa_text *out)
{
    for (int i = 0; i < g->options; i++)
        oa_text_printf(out, "%s%s",
                       i == 0                ? ""
                       : i + 1 == g->options ? " and "
                                             : ", ",
                       g->option[i].key);
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

void oa_tuning_sentence(const struct oa_comparison *k, struct oa_text *out)
{
    const struct oa_grid *g = &k->tuning.grid;
    struct oa_trial_cost cost = cost_of_all(k);
    char flops[OA_NUMBER], runs[OA_NUMBER];
    if (!g->options)
        return;
    oa_text_printf(out, " Tuned for each attention: ");
    add_options(g, out);
    oa_text_printf(out,
                   ", the best of %d settings on a held-out part of the training text (%d runs "
                   "with %s FLOPs, in addition to the %s of the comparison).",
                   g->cells, cost.runs, oa_number_si(flops, cost.flops),
                   oa_number_si(runs, flops_of_runs(k)));
}

static void say_method(const struct oa_comparison *k, struct oa_text *out)
{
    const struct oa_tuning *t = &k->tuning;
    char valid[OA_NUMBER];
    oa_text_printf(out, "Tuned for each attention: ");
    for (int i = 0; i < t->grid.options; i++) {
        const struct oa_grid_option *o = &t->grid.option[i];
        oa_text_printf(out, "%s%s of", i ? "; " : "", o->key);
        for (int v = 0; v < o->count; v++)
            oa_text_printf(out, "%s %s", v ? "," : "", o->value[v]);
    }
    oa_text_printf(out,
                   "; chosen by the mean %s over %d seed%s, other than those of the comparison, on "
                   "the last %.3g %% of the training text (%s tokens), after training on the rest.",
                   oa_metric_word(k), t->seeds, oa_plural(t->seeds), 100 * t->fraction,
                   oa_number_si(valid, t->valid_tokens));
}

static void say_cost(const struct oa_comparison *k, struct oa_text *out)
{
    struct oa_trial_cost cost = cost_of_all(k);
    char steps[OA_NUMBER], flops[OA_NUMBER], processor[OA_NUMBER];
    oa_text_printf(out, " Cost of tuning: %d runs, %s steps, %s FLOPs, %s of processor time.",
                   cost.runs, oa_number_si(steps, cost.steps), oa_number_si(flops, cost.flops),
                   oa_number_seconds(processor, cost.processor_seconds));
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

static void say_diverged(const struct oa_comparison *k, const struct oa_summary *s,
                         struct oa_text *out)
{
    const char *before = "Diverged in tuning:";
    char name[OA_GRID_NAME];
    for (int o = 0; o < s->count; o++)
        for (int cell = 0; cell < k->tuning.grid.cells; cell++)
            if (isnan(oa_trial_mean(k, s->order[o], cell, k->metric))) {
                oa_text_printf(out, "%s %s with %s", before,
                               oa_entry_name(&k->entries[s->order[o]]),
                               oa_grid_name(&k->tuning.grid, cell, name));
                before = ";";
            }
    if (*before == ';')
        oa_text_printf(out, ".\n");
}

void oa_tuning_notes(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    if (!k->tuning.grid.options)
        return;
    say_method(k, out);
    say_cost(k, out);
    oa_text_printf(out, "\n");
    say_edges(k, s, out);
    say_diverged(k, s, out);
}
