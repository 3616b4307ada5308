/* SPDX-License-Identifier: Apache-2.0
 * Statistics of the trials of a tuning. */
#include "compare/comparison.h"

#include <math.h>

double oa_trial_mean(const struct oa_comparison *k, int entry, int cell, int measure)
{
    const struct oa_run *trial = &k->entries[entry].trials[cell * k->tuning.seeds];
    double sum = 0;
    for (int s = 0; s < k->tuning.seeds; s++) {
        if (trial[s].failed || !isfinite(oa_run_measured(&trial[s], measure)))
            return NAN;
        sum += oa_run_measured(&trial[s], measure);
    }
    return sum / k->tuning.seeds;
}

int oa_trial_best(const struct oa_comparison *k, int entry)
{
    int best = -1;
    double lowest = INFINITY; /* no cell that diverged is below it */
    for (int cell = 0; cell < k->tuning.grid.cells; cell++) {
        double cost = oa_cost(oa_compared_measure(k), oa_trial_mean(k, entry, cell, k->metric));
        if (cost < lowest) {
            lowest = cost;
            best = cell;
        }
    }
    return best;
}

static double grid_number(const struct oa_grid_option *o, int value)
{
    double x = NAN;
    oa_parse_real(o->value[value], &x);
    return x;
}

/* The cell that differs from this one in the value of the option alone. */
static int cell_with_value(const struct oa_grid *g, int cell, int option, int value)
{
    int stride = 1;
    for (int i = option + 1; i < g->options; i++)
        stride *= g->option[i].count;
    return cell + (value - oa_grid_at(g, cell, option)) * stride;
}

/* Infinite when any trial diverged. */
static double trial_loss(const struct oa_comparison *k, int entry, int cell)
{
    double mean = oa_trial_mean(k, entry, cell, 0);
    return isnan(mean) ? INFINITY : mean;
}

bool oa_trial_idle(const struct oa_comparison *k, int entry, int option)
{
    const struct oa_grid *g = &k->tuning.grid;
    for (int cell = 0; cell < g->cells; cell++)
        if (trial_loss(k, entry, cell) != trial_loss(k, entry, cell_with_value(g, cell, option, 0)))
            return false;
    return true;
}

int oa_trial_edge(const struct oa_comparison *k, int entry, int option)
{
    const struct oa_grid *g = &k->tuning.grid;
    const struct oa_grid_option *o = &g->option[option];
    if (!o->number || oa_trial_idle(k, entry, option))
        return 0;
    double chosen = grid_number(o, oa_grid_at(g, k->entries[entry].chosen, option)), least = chosen,
           most = chosen;
    for (int v = 0; v < o->count; v++) {
        least = fmin(least, grid_number(o, v));
        most = fmax(most, grid_number(o, v));
    }
    if (chosen == most)
        return chosen < o->high;
    return chosen == least && chosen > o->low ? -1 : 0;
}

void oa_trial_remarks(const struct oa_comparison *k, int entry, struct oa_text *out)
{
    const struct oa_entry *e = &k->entries[entry];
    const struct oa_grid *g = &k->tuning.grid;
    for (int i = 0; i < g->options; i++) {
        int edge = oa_trial_edge(k, entry, i);
        const char *blank = out->length ? " " : "", *key = g->option[i].key;
        if (edge)
            oa_text_printf(out, "%sThe best %s of %s, %s, is the %s that was tried: try %s ones.",
                           blank, key, oa_entry_name(e), oa_grid_value(g, e->chosen, i),
                           edge > 0 ? "largest" : "smallest", edge > 0 ? "larger" : "smaller");
        else if (oa_trial_idle(k, entry, i))
            oa_text_printf(out,
                           "%s%s makes no difference to %s: the loss is the same with every value.",
                           blank, key, oa_entry_name(e));
    }
}

void oa_trial_cost_sum(const struct oa_comparison *k, int entry, struct oa_trial_cost *sum)
{
    int count = k->tuning.grid.cells * k->tuning.seeds;
    for (int i = 0; i < count; i++) {
        const struct oa_run *trial = &k->entries[entry].trials[i];
        sum->runs++;
        sum->failed += trial->failed;
        sum->steps += (double)trial->steps;
        sum->flops += trial->flops;
        sum->processor_seconds += trial->processor_seconds;
        sum->seconds += trial->seconds;
    }
}
