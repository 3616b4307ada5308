/* SPDX-License-Identifier: Apache-2.0
 * Measuring speeds: a slot is a short training without a folder, so the timed step is that of the
 * runs (batch, forward, backward, update), after a first one that fills caches and makes
 * primitives. Every slot opens the model anew: only one is in memory at a time, and effects of the
 * addresses of its arrays differ from slot to slot. */
#include "compare/speed.h"

#include "base/checksum.h"
#include "base/json_write.h"
#include "compare/dispatch.h"
#include "statistics/statistics.h"

#include <math.h>
#include <string.h>

/* From 7 rounds on an interval of ratios is shorter than their range (statistics/rounds.c); more
 * are made as long as they take no more than a twentieth of what the training took. */
enum { LEAST_ROUNDS = 7, ENOUGH_ROUNDS = 24, LEAST_STEPS = 3, MOST_STEPS = 64 };
static const double slot_seconds = 0.05;  /* of a slot's steps, as far as their numbers allow */
static const double share_of_time = 0.05; /* of the runs' training time */

struct speed_rounds {
    struct comparison_session *t;
    struct oa_bar bar;
    double began, budget; /* clock; seconds for all rounds */
    double training;      /* seconds that all runs took */
    double *rounds;       /* [ENOUGH_ROUNDS][entries] seconds a step */
    int count;            /* rounds that are whole */
};

/* Mean over the runs that did not fail; NaN: all failed. */
static double mean_step_in_runs(const struct oa_entry *e, int seeds)
{
    double sum = 0;
    int n = 0;
    for (int s = 0; s < seeds; s++)
        if (!e->runs[s].failed) {
            sum += e->runs[s].seconds_per_step;
            n++;
        }
    return n ? sum / n : (double)NAN;
}

/* ---- a slot ---- */

long oa_speed_steps(double training, int count, double step)
{
    double slot = fmin(slot_seconds, training / (LEAST_ROUNDS * count));
    return (long)fmax(LEAST_STEPS, fmin(MOST_STEPS, ceil(slot / step)));
}

/* step: seconds of one in the runs. Gives seconds a step; NaN when the training diverges, which the
 * runs did not. */
static enum oa_error time_slot(struct speed_rounds *m, int entry, double step, double *seconds)
{
    const struct comparison_session *t = m->t;
    struct oa_run run;
    struct oa_options o = oa_comparison_options(t, entry, m->count % t->out->seeds);
    struct oa_train_request r = { .options = &o, .workload = &t->workload, .unjudged = true };
    o.train_steps = 1 + oa_speed_steps(m->training, t->out->count, step);
    o.train_seconds = 0;
    o.train_average = 0;
    o.train_init[0] = 0; /* the values do not matter */
    enum oa_error e = oa_train_run(t->c, &r, &run);
    *seconds = e == OA_OK ? run.seconds_per_step : (double)NAN;
    oa_run_free(&run);
    if (e != OA_DIVERGED)
        return e;
    oa_clear_error(t->c);
    return OA_OK;
}

/* ---- rounds ---- */

int oa_speed_turn(int place, int round, int count)
{
    int forwards = (place + round / 2) % count;
    return round % 2 ? count - 1 - forwards : forwards;
}

static enum oa_error time_round(struct speed_rounds *m)
{
    const struct oa_comparison *k = m->t->out;
    double *seconds = m->rounds + (size_t)m->count * (size_t)k->count;
    for (int place = 0; place < k->count; place++) {
        int i = oa_speed_turn(place, m->count, k->count);
        long slots = (long)k->count * LEAST_ROUNDS, done = (long)k->count * m->count + place;
        oa_bar_log(&m->bar, done < slots ? done : slots, slots);
        oa_dispatch_receive_stops(m->t->r->cluster);
        if (oa_stop_requested(m->t->c))
            return oa_fail(m->t->c, OA_INTERRUPTED,
                           "stopped by signal %d while speeds were measured; all runs have ended; "
                           "run the same command again to continue",
                           oa_stop_requested(m->t->c));
        double step = mean_step_in_runs(&k->entries[i], k->seeds);
        seconds[i] = (double)NAN;
        if (!isnan(step))
            OA_TRY(time_slot(m, i, step, &seconds[i]));
    }
    m->count++;
    return OA_OK;
}

static bool needs_round(const struct speed_rounds *m)
{
    double used = oa_clock() - m->began;
    return m->count < LEAST_ROUNDS ||
           (m->count < ENOUGH_ROUNDS && used * (m->count + 1) / m->count <= m->budget);
}

/* An attention has a speed when it has one in every round. Where none has, nothing was measured. */
static enum oa_error store_rounds(struct speed_rounds *m)
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

/* ---- speed.json ---- */

static const char speed_remedy[] = "remove the file to measure speeds again";

static enum oa_error write_speeds(struct comparison_session *t)
{
    char path[OA_PATH];
    const struct oa_comparison *k = t->out;
    OA_TRY(oa_path(t->c, path, t->r->folder, "speed.json"));
    json_t *root = json_object(), *steps = json_object();
    for (int i = 0; i < k->count; i++)
        json_object_set_new(steps, k->entries[i].attention,
                            oa_json_numbers(t->c, k->entries[i].step_seconds,
                                            k->entries[i].step_seconds ? k->rounds : 0));
    json_object_set(root, "fingerprint", t->shared);
    json_object_set_new(root, "machine", json_string(k->speed_machine));
    json_object_set_new(root, "rounds", json_integer(k->rounds));
    json_object_set_new(root, "step_seconds", steps);
    enum oa_error e = oa_checksummed_write(t->c, path, root);
    json_decref(root);
    return e;
}

static enum oa_error bad_speeds(oa_context *c, const char *path, const char *what)
{
    return oa_fail(c, OA_FORMAT, "%s: %.200s; %s", path, what, speed_remedy);
}

/* An attention that was not measured has an empty list. */
static enum oa_error read_entry_speeds(oa_context *c, const char *path, const json_t *list,
                                       int rounds, struct oa_entry *e)
{
    if (json_array_size(list) == 0)
        return OA_OK;
    if (json_array_size(list) != (size_t)rounds)
        return bad_speeds(c, path, "the number of steps of an attention is not that of the rounds");
    e->step_seconds = oa_alloc(c, (size_t)rounds * sizeof *e->step_seconds);
    if (!e->step_seconds)
        return OA_NO_MEMORY;
    for (int r = 0; r < rounds; r++) {
        e->step_seconds[r] = json_number_value(json_array_get(list, (size_t)r));
        if (!(e->step_seconds[r] > 0))
            return bad_speeds(c, path, "seconds of a step must be numbers above 0");
    }
    return OA_OK;
}

static enum oa_error read_speed_rounds(struct comparison_session *t, const char *path,
                                       const json_t *root)
{
    struct oa_comparison *k = t->out;
    json_int_t rounds = json_integer_value(json_object_get(root, "rounds"));
    if (rounds < 1 || rounds > OA_MOST_ROUNDS)
        return bad_speeds(t->c, path, "the number of rounds is out of range");
    for (int i = 0; i < k->count; i++)
        OA_TRY(read_entry_speeds(
            t->c, path,
            json_object_get(json_object_get(root, "step_seconds"), k->entries[i].attention),
            (int)rounds, &k->entries[i]));
    k->rounds = (int)rounds;
    return OA_OK;
}

/* Of this machine, with all attentions of the comparison. */
static bool speeds_apply(const struct comparison_session *t, const json_t *root)
{
    const char *machine = json_string_value(json_object_get(root, "machine"));
    const json_t *steps = json_object_get(root, "step_seconds");
    bool all = machine && strcmp(machine, t->out->speed_machine) == 0;
    for (int i = 0; i < t->out->count; i++)
        all = all && json_is_array(json_object_get(steps, t->out->entries[i].attention));
    return all;
}

static enum oa_error read_speeds(struct comparison_session *t, bool *found)
{
    char path[OA_PATH];
    json_t *root;
    *found = false;
    OA_TRY(oa_path(t->c, path, t->r->folder, "speed.json"));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_checksummed_read(t->c, path, speed_remedy, &root));
    enum oa_error e = oa_fingerprint_check(t->c, path, json_object_get(root, "fingerprint"),
                                           t->shared, speed_remedy);
    *found = e == OA_OK && speeds_apply(t, root);
    if (*found)
        e = read_speed_rounds(t, path, root);
    json_decref(root);
    return e;
}

/* ---- measuring, or reading ---- */

static enum oa_error measure_speeds(struct comparison_session *t)
{
    double training = 0; /* seconds of all runs */
    for (int i = 0; i < t->out->count; i++)
        for (int s = 0; s < t->out->seeds; s++)
            training += t->out->entries[i].runs[s].seconds;
    struct speed_rounds m = {
        .t = t, .began = oa_clock(), .budget = share_of_time * training, .training = training
    };
    size_t numbers = (size_t)ENOUGH_ROUNDS * (size_t)t->out->count;
    m.rounds = oa_alloc(t->c, numbers * sizeof *m.rounds);
    oa_bar_open(&m.bar, t->c, "measuring speeds");
    enum oa_error e = m.rounds ? OA_OK : OA_NO_MEMORY;
    while (e == OA_OK && needs_round(&m))
        e = time_round(&m);
    if (e == OA_OK)
        e = store_rounds(&m);
    oa_free(m.rounds);
    return e == OA_OK && t->out->rounds ? write_speeds(t) : e;
}

enum oa_error oa_comparison_speeds(struct comparison_session *t)
{
    bool found;
    oa_machine_name(t->c, &t->here, t->r->options->train_precision, t->out->speed_machine);
    OA_TRY(read_speeds(t, &found));
    return found ? OA_OK : measure_speeds(t);
}
