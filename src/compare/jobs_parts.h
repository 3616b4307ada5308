/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs side by side, while they are: what jobs.c and jobs_ranks.c share. Private to compare/.
 */
#ifndef ORTHANT_JOBS_PARTS_H
#define ORTHANT_JOBS_PARTS_H

#include "base/concurrent.h"
#include "compare/jobs.h"

struct worker {
    struct jobs *all;
    oa_context *c; /* its own */
    pthread_t thread;
    const struct oa_run_order *order; /* at hand; NULL: none */
    double share;                     /* of it that is done */
    /* Of another rank (jobs_ranks.c), which has neither context nor thread here: */
    int rank;                 /* 0: of this one */
    long number;              /* of the order */
    struct oa_wait silent;    /* since it last said something */
    double ended;             /* clock: when it said that the run had ended; 0: not yet */
    bool asked_to_stop, gone; /* it gets no more orders */
};

/* A run that ended, or a notice; in the order in which they came. */
struct news {
    struct news *next;
    long order; /* -1: a notice */
    struct oa_run run;
    int level;
    char *line;
};

struct jobs {
    oa_context *c; /* the caller's */
    const struct oa_jobs *r;
    long *todo, count;               /* orders that have not ended */
    struct worker *workers, *others; /* of this rank, and the other ranks */
    int started, distant;            /* how many */
    double said;                     /* clock */
    char whole[OA_OVERALL + 2];      /* "3 of 24 runs, 0:12 left; ": of one run after another */
    pthread_mutex_t lock;
    pthread_cond_t something;
    /* under the lock: */
    long next;   /* of todo: the one to be taken */
    int working; /* workers that have not left */
    struct news *first, **last;
    oa_context *failed;         /* of the worker whose failure is the result */
    bool stopping, interrupted; /* interrupted: another rank was stopped before its run had ended */
    char first_stopped[1280]; /* what it said, if that came before all were told to stop; "": it did
                                 not */
};

/* Takes over what `n` owns. */
void oa_jobs_tell(struct jobs *j, const struct news *n);
/* The next order for this worker; -1: none is left, or all are to end. */
long oa_jobs_take(struct worker *w);
/* One worker less; `failed`: why, its context, or NULL. */
void oa_jobs_leave(struct worker *w, oa_context *failed);

/* jobs_ranks.c: the workers that are other ranks. attend: hands out orders, and takes in what is
 * said; a failure is recorded in j->c. stop: whoever has an order is told to end it. */
void oa_ranks_start(struct jobs *j);
int oa_ranks_others(
    const struct jobs *j); /* how many there are: groups, where ranks work in groups */
/* In a worker's thread: the other ranks of its group, if there is one, get the order too;
 * order->group is it then. */
enum oa_error oa_ranks_share(struct worker *w, struct oa_run_order *order);
enum oa_error oa_ranks_attend(struct jobs *j);
void oa_ranks_stop(struct jobs *j);

#endif
