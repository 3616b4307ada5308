/* SPDX-License-Identifier: Apache-2.0
 * The number of parallel runs. Threads of one run wait for each other some hundred times a step,
 * those of two runs never: so parallel runs are faster while a step is small. On two cores, two
 * runs of one thread each took 1/1.8 of the time of two runs of two threads one after another at 13
 * MFLOP a step, and 1/1.5 at 0.7 GFLOP (docs/history/speed-decoding.md). A step of large matrices
 * keeps all threads busy, and then memory, caches and their bandwidth are better left to one run.
 */
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

/* Does a run of the same options but for the seed come before this one? */
static bool planned_before(const struct oa_run_batch *b, long number)
{
    struct oa_options x = b->specs[number].options;
    x.train_seed = 0;
    for (long i = 0; i < number; i++) {
        struct oa_options y = b->specs[i].options;
        y.train_seed = 0;
        if (memcmp(&x, &y, sizeof x) == 0)
            return true;
    }
    return false;
}

/* work: FLOPs of the most expensive step; memory: bytes of the largest run. */
static enum oa_error largest_plan(oa_context *c, const struct oa_run_batch *b, double *work,
                                  double *memory)
{
    *work = *memory = 0;
    for (long i = 0; i < b->count; i++) {
        struct oa_plan plan;
        if (planned_before(b, i))
            continue;
        OA_TRY(oa_plan_workload(c, &b->specs[i].options, b->specs[i].workload, &plan));
        *work = fmax(*work, plan.flops);
        *memory =
            fmax(*memory, plan.memory_parameters + plan.memory_activations + plan.memory_scratch);
    }
    return OA_OK;
}

enum oa_error oa_jobs_choose(oa_context *c, const struct oa_run_batch *b, long asked, int *jobs)
{
    double work, memory;
    int threads = oa_thread_count(c);
    *jobs = 1;
    if (b->cluster && asked > 1)
        oa_log(c, 0,
               "compare.jobs = %ld has no effect: each of the %d ranks trains one run at a "
               "time",
               asked, b->cluster->size);
    if (b->place->clocked || b->cluster)
        return OA_OK;
    OA_TRY(largest_plan(c, b, &work, &memory));
    int fit = oa_jobs_that_fit(memory, (double)oa_context_cpu(c)->memory);
    double most = asked ? fmin((double)asked, threads) : oa_jobs_fastest(threads, work);
    *jobs = (int)fmin(fmin(most, fit), (double)b->count);
    if (*jobs >= asked || *jobs >= b->count)
        return OA_OK;
    if (*jobs == fit)
        oa_log(c, 0, "compare.jobs = %ld, but memory suffices for %d: %d runs at a time", asked,
               fit, *jobs);
    else
        oa_log(c, 0,
               "compare.jobs = %ld, but there are %d threads: %d runs at a time; --threads gives "
               "more",
               asked, *jobs, *jobs);
    return OA_OK;
}
