/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in parallel: what jobs.c and jobs_ranks.c share. Private to compare/.
 */
#ifndef ORTHANT_JOBS_PARTS_H
#define ORTHANT_JOBS_PARTS_H

#include "base/concurrent.h"
#include "compare/jobs.h"

struct worker {
    struct jobs *jobs;
    oa_context *c; /* its own */
    pthread_t thread;
    const struct oa_run_spec *spec; /* being trained; NULL: none */
    double done;                    /* share of it */
    /* Of another rank (jobs_ranks.c), which has neither context nor thread here: */
    int rank;                 /* 0: of this one */
    long number;              /* of the run in the batch */
    struct oa_wait silent;    /* since its last message */
    double ended;             /* clock: when it reported the end of the run; 0: not yet */
    bool asked_to_stop, gone; /* it gets no more runs */
};

/* A run that ended, or a notice; in the order in which they came. */
struct worker_event {
    struct worker_event *next;
    long number; /* of the run; -1: a notice */
    struct oa_run run;
    int level;
    char *line;
};

struct jobs {
    oa_context *c; /* the caller's */
    const struct oa_run_batch *batch;
    const long *todo; /* [count] numbers of runs that have not ended */
    long count;
    struct worker *workers, *others; /* of this rank, and the other ranks */
    int started, distant;            /* how many */
    double logged;                   /* clock, of the last progress line */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock: */
    long next;   /* of todo: the one to be taken */
    int working; /* workers that have not left */
    struct worker_event *first, **last;
    oa_context *failed;         /* of the worker whose failure is the result */
    bool stopping, interrupted; /* interrupted: another rank was stopped before its run had ended */
    char first_stopped[1280];   /* its message, if that came before all were told to stop; or "" */
};

/* Takes over what `e` owns. */
void oa_jobs_add_event(struct jobs *j, const struct worker_event *e);
/* Number of the next run for this worker; -1: none is left, or all must stop. */
long oa_jobs_take(struct worker *w);
/* Counts a worker out. failed: its context if it failed, else NULL. */
void oa_jobs_leave(struct worker *w, oa_context *failed);

/* jobs_ranks.c: the workers that are other ranks; groups of them with compare.ranks above 1. */
void oa_ranks_start(struct jobs *j);
int oa_ranks_others(const struct jobs *j); /* how many workers they are */
/* In a worker's thread: where this rank leads a group, the others of it get the run too;
 * spec->group is the group then. */
enum oa_error oa_ranks_share(struct worker *w, struct oa_run_spec *spec);
/* Hands out runs and reads messages; a failure is recorded in j->c. */
enum oa_error oa_ranks_poll(struct jobs *j);
void oa_ranks_stop(struct jobs *j); /* all ranks that train a run */

#endif
