/* SPDX-License-Identifier: Apache-2.0
 * Measuring speeds: a slot is a short training that keeps nothing, so what is timed is the very
 * step of the runs (batch, forward, backward, update), after a first one that fills caches and
 * makes primitives. Every slot opens the model anew: only one is in memory at a time, and where its
 * arrays happen to lie is luck of the slot, too. */
#include "compare/speed.h"

#include "compare/farm.h"

#include <math.h>
#include <string.h>

/* From 7 rounds on an interval of ratios is shorter than their range (statistics/rounds.c); more
 * are made as long as they take no more than a twentieth of what the training took. */
enum { LEAST_ROUNDS = 7, ENOUGH_ROUNDS = 24, LEAST_STEPS = 3, MOST_STEPS = 64 };
static const double slot_seconds =
    0.05; /* that a slot's steps take at most, as far as their numbers allow */
static const double share_of_time = 0.05; /* of the runs' training time */

struct measuring {
    struct comparison *t;
    struct oa_bar bar;
    double began, budget; /* clock; seconds for all rounds */
    double training;      /* seconds that all runs took */
    double *rounds;       /* [ENOUGH_ROUNDS][entries] seconds a step */
    int count;            /* rounds that are whole */
};

static bool finished_any(const struct oa_entry *e, int seeds)
{
    for (int s = 0; s < seeds; s++)
        if (!e->runs[s].failed)
            return true;
    return false;
}

/* Means over the runs that were finished. */
static double step_in_runs(const struct oa_entry *e, int seeds)
{
    double sum = 0;
    int n = 0;
    for (int s = 0; s < seeds; s++)
        if (!e->runs[s].failed) {
            sum += e->runs[s].seconds_per_step;
            n++;
        }
    return sum / n;
}

static double training_time(const struct oa_comparison *k)
{
    double sum = 0;
    for (int i = 0; i < k->count; i++)
        for (int s = 0; s < k->seeds; s++)
            sum += k->entries[i].runs[s].seconds;
    return sum;
}

/* ---- a slot ---- */

long oa_speed_steps(double training, int count, double step)
{
    double slot = fmin(slot_seconds, training / (LEAST_ROUNDS * count));
    return (long)fmax(LEAST_STEPS, fmin(MOST_STEPS, ceil(slot / step)));
}

static struct oa_options slot_options(const struct measuring *m, int entry, int round)
{
    const struct comparison *t = m->t;
    struct oa_options o = oa_comparison_options(t, entry, round % t->out->seeds);
    double step = step_in_runs(&t->out->entries[entry], t->out->seeds);
    o.train_steps = 1 + oa_speed_steps(m->training, t->out->count, step);
    o.train_seconds = 0;
    o.train_average = 0;
    o.train_init[0] = 0; /* which values a step has is no matter, and nothing is kept */
    return o;
}

/* Seconds a step; NaN when the training diverges, which the runs then did not. */
static enum oa_error time_steps(struct measuring *m, int entry, int round, double *seconds)
{
    struct oa_run run;
    oa_context *c = m->t->c;
    struct oa_options o = slot_options(m, entry, round);
    struct oa_train_request r = { .options = &o, .workload = &m->t->workload, .unjudged = true };
    enum oa_error e = oa_train_run(c, &r, &run);
    *seconds = e == OA_OK ? run.seconds_per_step : (double)NAN;
    oa_run_free(&run);
    if (e != OA_DIVERGED)
        return e;
    oa_clear_error(c);
    return OA_OK;
}

/* ---- rounds ---- */

int oa_speed_turn(int place, int round, int count)
{
    int forwards = (place + round / 2) % count;
    return round % 2 ? count - 1 - forwards : forwards;
}

static enum oa_error one_round(struct measuring *m)
{
    const struct oa_comparison *k = m->t->out;
    double *seconds = m->rounds + (size_t)m->count * (size_t)k->count;
    for (int place = 0; place < k->count; place++) {
        int i = oa_speed_turn(place, m->count, k->count);
        long slots = (long)k->count * LEAST_ROUNDS, done = (long)k->count * m->count + place;
        oa_bar_say(&m->bar, done < slots ? done : slots, slots);
        oa_farm_hear_stops(m->t->r->cluster);
        if (oa_stop_requested(m->t->c))
            return oa_fail(m->t->c, OA_INTERRUPTED,
                           "stopped by signal %d while speeds were measured; all runs are there, "
                           "and the same command "
                           "goes on from here",
                           oa_stop_requested(m->t->c));
        seconds[i] = (double)NAN;
        if (finished_any(&k->entries[i], k->seeds))
            OA_TRY(time_steps(m, i, m->count, &seconds[i]));
    }
    m->count++;
    return OA_OK;
}

static bool go_on(const struct measuring *m)
{
    double used = oa_clock() - m->began;
    return m->count < LEAST_ROUNDS ||
           (m->count < ENOUGH_ROUNDS && used * (m->count + 1) / m->count <= m->budget);
}

/* An attention has a speed when it has one in every round. Where none has, nothing was measured. */
static enum oa_error keep(struct measuring *m)
{
    struct oa_comparison *k = m->t->out;
    for (int i = 0; i < k->count; i++) {
        double *x = k->entries[i].step_seconds = oa_alloc(m->t->c, (size_t)m->count * sizeof *x),
               sum = 0;
        if (!x)
            return OA_NO_MEMORY;
        for (int r = 0; r < m->count; r++)
            sum += x[r] = m->rounds[r * k->count + i];
        if (isfinite(sum) && sum > 0) {
            k->rounds = m->count;
            continue;
        }
        oa_free(x);
        k->entries[i].step_seconds = NULL;
    }
    return OA_OK;
}

static enum oa_error measure(struct comparison *t)
{
    double training = training_time(t->out);
    struct measuring m = {
        .t = t, .began = oa_clock(), .budget = share_of_time * training, .training = training
    };
    size_t numbers = (size_t)ENOUGH_ROUNDS * (size_t)t->out->count;
    m.rounds = oa_alloc(t->c, numbers * sizeof *m.rounds);
    oa_bar_open(&m.bar, t->c, "measuring speeds");
    enum oa_error e = m.rounds ? OA_OK : OA_NO_MEMORY;
    while (e == OA_OK && go_on(&m))
        e = one_round(&m);
    if (e == OA_OK)
        e = keep(&m);
    oa_free(m.rounds);
    return e == OA_OK && t->out->rounds ? oa_speed_write(t) : e;
}

enum oa_error oa_comparison_speeds(struct comparison *t)
{
    bool found;
    oa_machine_name(t->c, &t->here, t->r->options->train_precision, t->out->speed_machine);
    OA_TRY(oa_speed_read(t, t->out->speed_machine, &found));
    return found ? OA_OK : measure(t);
}
