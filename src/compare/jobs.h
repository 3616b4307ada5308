/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in parallel (run_spec.h), each with its share of the threads. The results of a run do not
 * depend on its number of threads; only its times do.
 *
 *     jobs.c         the workers, and their events for the caller
 *     jobs_ranks.c   other ranks as workers
 *     jobs_choice.c  how many at once
 */
#ifndef ORTHANT_JOBS_H
#define ORTHANT_JOBS_H

#include "compare/run_spec.h"

/* Trains the `count` runs of the batch whose numbers are in todo, `jobs` at once here, and others
 * on the batch's cluster. */
enum oa_error oa_jobs_side_by_side(oa_context *c, const struct oa_run_batch *b, const long *todo,
                                   long count, int jobs);

/* How many at once: `asked` (compare.jobs; 0: as many as is fastest), but not more than there are
 * runs and threads, nor than fit into memory; a notice is logged if that is less than asked. 1
 * if times are budgets. */
enum oa_error oa_jobs_choose(oa_context *c, const struct oa_run_batch *b, long asked, int *jobs);

/* The same from numbers alone: `work` FLOPs of the most expensive step, `need` bytes of the largest
 * run, `memory` bytes of the machine. */
int oa_jobs_fastest(int threads, double work);
int oa_jobs_that_fit(double need, double memory);

#endif
