/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs side by side: several orders (run_order.h) are carried out at once, each with its share of
 * the threads. What a run computes does not depend on its number of threads, so of all that is
 * written only times tell how many there were.
 *
 *     jobs.c         the workers, and what goes on between them and the caller
 *     jobs_ranks.c   other ranks among these
 *     jobs_choice.c  how many at once
 */
#ifndef ORTHANT_JOBS_H
#define ORTHANT_JOBS_H

#include "compare/overall.h"
#include "compare/run_order.h"

struct oa_jobs {
    const struct oa_run_order
        *orders; /* they are begun in this order; none waits for another one */
    long count;
    struct oa_workplace *place;
    struct oa_overall
        *overall; /* of the comparison, for progress lines; the runs are counted in it */
    struct oa_cluster
        *cluster; /* other ranks that take orders as well (farm.h); NULL: there are none */
    /* Called in the caller's thread for each run that ended (read, trained or diverged), whichever
     * comes first. The run is the callee's from then on. A failure that it returns stops the
     * others. */
    enum oa_error (*ended)(void *argument, long order, struct oa_run *run);
    void *argument;
};
/* Reads the runs that have ended already, in order, then trains the others, `jobs` at once (at
 * least 1). When a stop is asked for, or one of them fails, all save and end. All calls of the log
 * of `c` come from the caller's thread. */
enum oa_error oa_jobs_carry_out(oa_context *c, const struct oa_jobs *j, int jobs);

/* How many at once: `asked` (compare.jobs; 0: as many as is fastest), but not more than there are
 * orders and threads, than fit into the memory; what is less than was asked is said. One where
 * times are budgets. */
enum oa_error oa_jobs_choose(oa_context *c, const struct oa_jobs *j, long asked, int *jobs);

/* The same from numbers alone: `work` FLOPs of the dearest step, `need` bytes of the largest run,
 * `memory` bytes of the machine. */
int oa_jobs_fastest(int threads, double work);
int oa_jobs_that_fit(double need, double memory);

#endif
