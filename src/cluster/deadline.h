/* SPDX-License-Identifier: Apache-2.0
 *
 * An end for calls that have none of their own: MPI's beginning and end wait for all ranks, however
 * long. If one takes longer than it may, the process says so and ends, and mpirun or srun ends the
 * others.
 */
#ifndef ORTHANT_CLUSTER_DEADLINE_H
#define ORTHANT_CLUSTER_DEADLINE_H

#include "base/concurrent.h"

struct oa_deadline {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    double seconds;
    const char *what; /* "MPI_Init, which joins the ranks" */
    bool over, running;
};

/* Between the two the calling thread does `what`, which is borrowed. Without a thread to be had it
 * has no limit. */
void oa_deadline_begin(struct oa_deadline *d, double seconds, const char *what);
void oa_deadline_end(struct oa_deadline *d);

#endif
