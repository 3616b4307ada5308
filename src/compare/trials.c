/* SPDX-License-Identifier: Apache-2.0
 * Statistics of the trials of a tuning. */
#include "compare/comparison.h"

#include <math.h>

/* ---- finished and missing trials ---- */

static struct oa_run *new_trials(oa_context *c, const struct oa_comparison *k,
                                 const struct oa_grid *g)
{
    size_t count = (size_t)(g->cells * k->tuning.seeds);
    struct oa_run *trials = oa_alloc(c, count * sizeof *trials);
    for (size_t i = 0; trials && i < count; i++)
        trials[i] = (struct oa_run){ .absent = true };
    return trials;
}

enum oa_error oa_tuned_open(oa_context *c, const struct oa_comparison *k, struct oa_tuned *out)
{
    oa_free(out->trials);
    *out = (struct oa_tuned){ .grid = k->tuning.grid, .chosen = -1 };
    out->trials = new_trials(c, k, &out->grid);
    return out->trials ? OA_OK : OA_NO_MEMORY;
}

bool oa_tuned_made(const struct oa_comparison *k, const struct oa_tuned *u)
{
    for (int i = 0; i < u->grid.cells * k->tuning.seeds; i++)
        if (u->trials[i].absent)
            return false;
    return true;
}

/* ---- the choice ---- */

double oa_trial_mean(const struct oa_comparison *k, const struct oa_tuned *u, int cell, int measure)
{
    const struct oa_run *trial = &u->trials[cell * k->tuning.seeds];
    double sum = 0;
    for (int s = 0; s < k->tuning.seeds; s++) {
        if (trial[s].failed || trial[s].absent || !isfinite(oa_run_measured(&trial[s], measure)))
            return NAN;
        sum += oa_run_measured(&trial[s], measure);
    }
    return sum / k->tuning.seeds;
}

int oa_trial_best(const struct oa_comparison *k, const struct oa_tuned *u)
{
    int best = -1;
    double lowest = INFINITY; /* no cell that diverged is below it */
    for (int cell = 0; cell < u->grid.cells; cell++) {
        double cost = oa_cost(oa_compared_measure(k), oa_trial_mean(k, u, cell, k->metric));
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

/* Infinite when any trial diverged. */
static double trial_loss(const struct oa_comparison *k, const struct oa_tuned *u, int cell)
{
    double mean = oa_trial_mean(k, u, cell, 0);
    return isnan(mean) ? INFINITY : mean;
}

bool oa_trial_idle(const struct oa_comparison *k, const struct oa_tuned *u, int option)
{
    for (int cell = 0; cell < u->grid.cells; cell++)
        if (trial_loss(k, u, cell) != trial_loss(k, u, oa_grid_with(&u->grid, cell, option, 0)))
            return false;
    return true;
}

int oa_trial_edge(const struct oa_comparison *k, const struct oa_tuned *u, int cell, int option)
{
    const struct oa_grid_option *o = &u->grid.option[option];
    if (!o->number || oa_trial_idle(k, u, option))
        return 0;
    double chosen = grid_number(o, oa_grid_at(&u->grid, cell, option)), least = chosen,
           most = chosen;
    for (int v = 0; v < o->count; v++) {
        least = fmin(least, grid_number(o, v));
        most = fmax(most, grid_number(o, v));
    }
    if (chosen == most)
        return chosen < o->high;
    return chosen == least && chosen > o->low ? -1 : 0;
}

/* ---- more values ---- */

/* Copies the trials of cells of the old grid; the new one only appends values. */
static void copy_trials(const struct oa_comparison *k, const struct oa_grid *old,
                        const struct oa_run *from, const struct oa_grid *g, struct oa_run *to)
{
    int seeds = k->tuning.seeds;
    for (int cell = 0; cell < old->cells; cell++) {
        int now = 0;
        for (int i = 0; i < g->options; i++)
            now = oa_grid_with(g, now, i, oa_grid_at(old, cell, i));
        for (int s = 0; s < seeds; s++)
            to[now * seeds + s] = from[cell * seeds + s];
    }
}

enum oa_error oa_trial_extend(oa_context *c, const struct oa_comparison *k, struct oa_tuned *u,
                              int *added)
{
    struct oa_grid g = u->grid;
    int best = oa_trial_best(k, u);
    *added = 0;
    for (int i = 0; best >= 0 && i < g.options; i++) {
        char value[OA_GRID_VALUE];
        int edge = oa_trial_edge(k, u, best, i);
        if (!edge || g.option[i].count >= k->tuning.grid.option[i].count + k->tuning.extend ||
            !oa_grid_next(c, &g, i, edge > 0, value))
            continue;
        oa_grid_add(&g, i, value);
        ++*added;
    }
    if (!*added)
        return oa_status(c);
    struct oa_run *trials = new_trials(c, k, &g);
    if (!trials)
        return OA_NO_MEMORY;
    copy_trials(k, &u->grid, u->trials, &g, trials);
    oa_free(u->trials);
    u->trials = trials;
    u->grid = g;
    return OA_OK;
}

/* ---- over all tunings ---- */

static void count_edges(const struct oa_comparison *k, int entry, int option, int *below,
                        int *above, int *idle, int *made)
{
    *below = *above = *idle = *made = 0;
    for (int g = 0; g < oa_tunings(k); g++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, g);
        if (u->chosen < 0)
            continue;
        int edge = oa_trial_edge(k, u, u->chosen, option);
        ++*made;
        *above += edge > 0;
        *below += edge < 0;
        *idle += oa_trial_idle(k, u, option);
    }
}

/* Of a tuning that all seeds share. */
static void add_edge_remark(const struct oa_comparison *k, int entry, int option, int edge,
                            struct oa_text *out)
{
    const struct oa_tuned *u = oa_tuned_of(k, entry, 0);
    oa_text_printf(out, "The best %s of %s, %s, is the %s that was tried: try %s ones.",
                   u->grid.option[option].key, oa_entry_name(&k->entries[entry]),
                   oa_grid_value(&u->grid, u->chosen, option), edge > 0 ? "largest" : "smallest",
                   edge > 0 ? "larger" : "smaller");
}

void oa_trial_remarks(const struct oa_comparison *k, int entry, struct oa_text *out)
{
    const char *name = oa_entry_name(&k->entries[entry]);
    for (int i = 0; i < k->tuning.grid.options; i++) {
        const char *key = k->tuning.grid.option[i].key;
        int below, above, idle, made;
        count_edges(k, entry, i, &below, &above, &idle, &made);
        if (out->length && (below || above || (made && idle == made)))
            oa_text_printf(out, " ");
        if (made && idle == made)
            oa_text_printf(out,
                           "%s makes no difference to %s: the loss is the same with every value.",
                           key, name);
        else if (!k->tuning.per_seed && (below || above))
            add_edge_remark(k, entry, i, above - below, out);
        else if (below || above)
            oa_text_printf(out,
                           "The best %s of %s is the %s that was tried with %d of %d seeds: try "
                           "%s ones.",
                           key, name,
                           !below   ? "largest"
                           : !above ? "smallest"
                                    : "smallest or the largest",
                           below + above, made,
                           !below   ? "larger"
                           : !above ? "smaller"
                                    : "smaller and larger");
    }
}

void oa_trial_cost_sum(const struct oa_comparison *k, int entry, struct oa_trial_cost *sum)
{
    for (int g = 0; g < oa_tunings(k); g++) {
        const struct oa_tuned *u = oa_tuned_of(k, entry, g);
        int count = u->trials ? u->grid.cells * k->tuning.seeds : 0;
        for (int i = 0; i < count; i++) {
            const struct oa_run *trial = &u->trials[i];
            sum->runs += !trial->absent;
            sum->failed += trial->failed;
            sum->steps += (double)trial->steps;
            sum->flops += trial->flops;
            sum->processor_seconds += trial->processor_seconds;
            sum->seconds += trial->seconds;
        }
    }
}
