/* SPDX-License-Identifier: Apache-2.0
 * A timeout for calls without one: MPI's start and end wait for all ranks, however long. After the
 * timeout the process reports it and exits, and mpirun or srun ends the others. */
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

/* Between the two the calling thread does `what`, which is borrowed. No limit where a thread cannot
 * be started. */
void oa_deadline_begin(struct oa_deadline *d, double seconds, const char *what);
void oa_deadline_end(struct oa_deadline *d);

#endif
