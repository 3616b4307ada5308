/* SPDX-License-Identifier: Apache-2.0
 * How many runs at once. Threads of one run wait for each other some hundred times a step, those of
 * two runs never: so runs side by side win while a step is small. On two cores, two runs of one
 * thread each took 1/1.8 of the time of two runs of two threads one after another at 13 MFLOP a
 * step, and 1/1.5 at 0.7 GFLOP (docs/speed-log.md). A step of large matrices keeps all threads
 * busy, and then memory, caches and their bandwidth are better left to one run. */
#include "compare/jobs.h"

#include <math.h>
#include <string.h>

static const double work_of_a_thread =
    10e9; /* FLOPs of a step that give a thread enough to do between two waits */
static const double part_of_memory =
    0.75; /* that runs may fill; the rest is for texts, file caches and others */

int oa_jobs_fastest(int threads, double work)
{
    int threads_a_run = (int)fmax(1, fmin(threads, floor(work / work_of_a_thread)));
    return threads / threads_a_run;
}

int oa_jobs_that_fit(double need, double memory)
{
    return (int)fmax(1, fmin(1e6, floor(part_of_memory * memory / need)));
}

/* ---- what runs need ---- */

struct need {
    double work, memory; /* the most of a step's FLOPs, and of a run's bytes */
};

/* Seeds and what is said of a run decide neither. */
static bool same_plan(const struct oa_run_order *a, const struct oa_run_order *b)
{
    struct oa_options x = a->options, y = b->options;
    x.train_seed = y.train_seed = 0;
    return memcmp(&x, &y, sizeof x) == 0;
}

static bool planned_before(const struct oa_jobs *j, long order)
{
    for (long i = 0; i < order; i++)
        if (same_plan(&j->orders[i], &j->orders[order]))
            return true;
    return false;
}

static enum oa_error needs(oa_context *c, const struct oa_jobs *j, struct need *out)
{
    *out = (struct need){ 0 };
    for (long i = 0; i < j->count; i++) {
        struct oa_plan plan;
        if (planned_before(j, i))
            continue;
        OA_TRY(oa_plan_workload(c, &j->orders[i].options, j->orders[i].workload, &plan));
        out->work = fmax(out->work, plan.flops);
        out->memory = fmax(out->memory,
                           plan.memory_parameters + plan.memory_activations + plan.memory_scratch);
    }
    return OA_OK;
}

/* ---- the choice ---- */

static int at_most(int jobs, long limit)
{
    return limit < jobs ? (int)limit : jobs;
}

static void say_less(oa_context *c, long asked, int jobs, int fit)
{
    if (jobs == fit)
        oa_log(c, 0,
               "compare.jobs is %ld, and this machine has memory for %d at once: %d at a time",
               asked, fit, jobs);
    else
        oa_log(c, 0,
               "compare.jobs is %ld, and there are %d threads: %d runs at a time; --threads gives "
               "more",
               asked, jobs, jobs);
}

enum oa_error oa_jobs_choose(oa_context *c, const struct oa_jobs *j, long asked, int *jobs)
{
    struct need need;
    int threads = oa_thread_count(c);
    *jobs = 1;
    if (j->cluster && asked > 1)
        oa_log(c, 0, "compare.jobs is %ld, and there are %d ranks: each has one run at a time",
               asked, j->cluster->size);
    if (j->place->clocked || j->cluster)
        return OA_OK;
    OA_TRY(needs(c, j, &need));
    int fit = oa_jobs_that_fit(need.memory, (double)oa_context_cpu(c)->memory);
    *jobs = asked ? at_most((int)asked, threads) : oa_jobs_fastest(threads, need.work);
    *jobs = at_most(at_most(*jobs, fit), j->count);
    if (*jobs < asked && *jobs < j->count)
        say_less(c, asked, *jobs, fit);
    return OA_OK;
}
