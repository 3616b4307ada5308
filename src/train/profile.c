/* SPDX-License-Identifier: Apache-2.0
 * Runs steps on the real device for their times, and on the plan device for their counts. */
#include "statistics/statistics.h"
#include "train/step_side.h"

enum { WARM_UP = 2, LEAST_STEPS = 5, MOST_STEPS = 50 };
static const double enough = 2; /* seconds of measured steps */

struct profiling {
    oa_context *context;
    const struct oa_options *options;
    const struct oa_workload *workload;
    struct oa_batches *batches;
    double (*clock)(void);
    struct oa_step_side real, plan;
    struct oa_step_clocks sum;             /* of the measured steps */
    double step[MOST_STEPS];               /* seconds */
    double sample[OA_METERED][MOST_STEPS]; /* seconds of each row of the real meter */
    int steps;
    double tokens;
};

static double profile_no_clock(void)
{
    return 0;
}

static void add_profile_sample(struct profiling *p, double seconds,
                               const struct oa_step_clocks *taken)
{
    p->sum.wall += taken->wall;
    p->sum.processor += taken->processor;
    p->sum.caller += taken->caller;
    for (int i = 0; i < p->real.meter.rows; i++)
        p->sample[i][p->steps] = p->real.meter.row[i].seconds;
    p->step[p->steps++] = seconds;
}

static enum oa_error time_profile_step(struct profiling *p, long number, bool measured)
{
    struct oa_batch batch;
    struct oa_amount amount;
    struct oa_step_clocks taken;
    const struct oa_options *o = p->options;
    if (oa_stop_requested(p->context))
        return oa_fail(p->context, OA_INTERRUPTED, "stopped by signal %d",
                       oa_stop_requested(p->context));
    oa_batches_amount(p->batches, (uint64_t)number, o->train_accumulate, &amount);
    OA_TRY(oa_batches_random(p->batches, (uint64_t)number, o->train_accumulate, 0, &batch));
    oa_meter_clear(&p->real.meter);
    double start = p->clock();
    oa_step_side_run(&p->real, o, &batch, 1 / amount.targets, &taken);
    double seconds = p->clock() - start;
    OA_TRY(oa_status(p->context));
    if (!measured)
        return OA_OK;
    add_profile_sample(p, seconds, &taken);
    p->tokens += amount.tokens;
    oa_step_once(p->plan.model, o, &batch, 1, &p->plan.tape, NULL, &p->plan.shards);
    return oa_status(p->context);
}

static enum oa_error profile_steps(struct profiling *p)
{
    struct oa_bar bar;
    double used = 0;
    oa_bar_open(&bar, p->context, "timing steps");
    for (long i = 0; i < WARM_UP; i++) {
        OA_TRY(time_profile_step(p, i + 1, false));
        oa_device_settle(p->real.device);
    }
    while (p->steps < LEAST_STEPS || (p->steps < MOST_STEPS && used < enough)) {
        OA_TRY(time_profile_step(p, WARM_UP + 1 + p->steps, true));
        used += p->step[p->steps - 1];
        oa_bar_log(&bar, p->steps, p->steps < LEAST_STEPS ? LEAST_STEPS : p->steps + 1);
    }
    return OA_OK;
}

/* ---- the result ---- */

static enum oa_error fill_profile(const struct profiling *p, struct oa_profile *out)
{
    const struct oa_meter *real = &p->real.meter;
    double steps = p->steps;
    *out = (struct oa_profile){ .steps = p->steps,
                                .seconds = oa_median_of(p->step, p->steps).value,
                                .tokens = p->tokens / steps,
                                .wall = p->sum.wall / steps,
                                .held_up = oa_step_held_up(&p->sum),
                                .rows = real->rows };
    out->row = oa_alloc(p->context, (size_t)real->rows * sizeof *out->row);
    for (int i = 0; out->row && i < real->rows; i++) {
        struct oa_metered *row = &out->row[i];
        *row = real->row[i];
        row->seconds = oa_median_of(p->sample[i], p->steps).value;
        for (int k = 0; k < p->plan.meter.rows; k++) { /* counts of the plan device */
            const struct oa_metered *counted = &p->plan.meter.row[k];
            if (counted->op != row->op || counted->stack != row->stack ||
                counted->place != row->place || counted->backward != row->backward)
                continue;
            row->flops = counted->flops;
            row->computed = counted->computed;
            row->bytes = counted->bytes;
        }
        row->flops /= steps;
        row->computed /= steps;
        row->bytes /= steps;
    }
    return oa_status(p->context);
}

static enum oa_error profile_devices(struct profiling *p, struct oa_profile *out)
{
    const struct oa_options *o = p->options;
    OA_TRY(oa_step_side_open(p->context, o, &p->workload->form, false, p->clock, &p->real));
    OA_TRY(oa_task_check_model(p->real.model));
    OA_TRY(oa_step_side_open(p->context, o, &p->workload->form, true, profile_no_clock, &p->plan));
    OA_TRY(p->workload->task->batches(p->context, o, p->workload, OA_TRAINING,
                                      oa_chance_seed(o, OA_CHANCE_ORDER), &p->batches));
    enum oa_error e = profile_steps(p);
    bool stopped = e == OA_INTERRUPTED && p->steps;
    if (e != OA_OK && !stopped)
        return e;
    oa_clear_error(p->context);
    OA_TRY(fill_profile(p, out));
    out->stopped = stopped;
    return OA_OK;
}

enum oa_error oa_profile_make(oa_context *c, const struct oa_options *o,
                              const struct oa_workload *w, double (*clock)(void),
                              struct oa_profile *out)
{
    *out = (struct oa_profile){ 0 };
    struct profiling *p = oa_alloc(c, sizeof *p);
    if (!p)
        return OA_NO_MEMORY;
    p->context = c;
    p->options = o;
    p->workload = w;
    p->clock = clock;
    enum oa_error e = profile_devices(p, out);
    oa_batches_close(p->batches);
    oa_step_side_close(&p->real);
    oa_step_side_close(&p->plan);
    oa_free(p);
    return e;
}

void oa_profile_close(struct oa_profile *p)
{
    oa_free(p->row);
    *p = (struct oa_profile){ 0 };
}
