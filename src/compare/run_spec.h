/* SPDX-License-Identifier: Apache-2.0
 *
 * Run specs: what a comparison wants trained, one spec for each run. A run is trained in its folder
 * to its end, resumed from its newest checkpoint, or read where it has ended. Files of other runs
 * are never used: each carries a checksum and a fingerprint (run_result.h, fingerprint.h).
 */
#ifndef ORTHANT_RUN_SPEC_H
#define ORTHANT_RUN_SPEC_H

#include "compare/comparison.h"
#include "compare/overall.h"

#include <stdatomic.h>

/* Where runs are trained: shared by all that are trained in parallel. */
struct oa_workplace {
    int threads;           /* of all runs at once */
    bool clocked;          /* times are budgets, so that a run of another machine is another run */
    atomic_bool elsewhere; /* a run of another machine is used, and that was logged */
};
enum { OA_MACHINE = sizeof((struct oa_run *)0)->machine };
/* What determines rounding and speed: "processor, instruction set, matrix
 * products, 2 threads", or "…, 1 of 2 threads" next to other runs. The environment may decide which
 * instructions a library uses for products. */
void oa_machine_name(oa_context *c, const struct oa_workplace *place, enum oa_precision precision,
                     char out[OA_MACHINE]);

struct oa_run_spec {
    struct oa_options options; /* all that decides the run: attention, seed and budget among them */
    const struct oa_workload *workload;
    const struct oa_initial_run *initial; /* borrowed; NULL: the workload's own, if any */
    double held_out;   /* share of the training data that the workload validates on (trials); 0: the
                          options decide */
    const char *title; /* for progress lines */
    double trainable, frozen; /* parameters: a part of the fingerprint */
    bool itemised;            /* items.safetensors is wanted (run_items.h) */
    char folder[OA_PATH];
    long number, count;       /* "run 3 of 18" */
    struct oa_cluster *group; /* ranks that train it together (dispatch.h); NULL: one */
    void (*on_progress)(void *argument, double done); /* as in struct oa_train_request */
    void *progress_argument;
    const char *progress_prefix; /* as in struct oa_train_request */
};

/* The workload with the model that the run starts from. Borrows all; it is not to be closed. */
struct oa_workload oa_run_spec_workload(const struct oa_run_spec *spec);
/* Reads the result in the folder (*found) and checks that the folder, begun or ended, is of this
 * run. A result of another machine is logged once, or refused where times are budgets; place NULL:
 * not checked. Writes nothing. */
enum oa_error oa_run_spec_read(oa_context *c, const struct oa_run_spec *spec,
                               struct oa_workplace *place, struct oa_run *run, bool *found);
/* Trains a run that has not ended, on all threads of `c`. One that diverges is a result
 * (run->failed); any other failure is an error. */
enum oa_error oa_run_spec_train(oa_context *c, const struct oa_run_spec *spec,
                                struct oa_workplace *place, struct oa_run *run);
/* The same on the other ranks of its group, which write nothing. */
enum oa_error oa_run_spec_follow(oa_context *c, const struct oa_run_spec *spec, struct oa_run *run);

struct oa_run_batch {
    const struct oa_run_spec *specs; /* begun in this order; none waits for another one */
    long count;
    struct oa_workplace *place;
    struct oa_overall *overall; /* of the comparison, for progress lines; counts the runs */
    struct oa_cluster *cluster; /* other ranks that take runs as well (dispatch.h); NULL: none */
    /* Called in the caller's thread for each run that ended (read, trained or diverged), whichever
     * comes first. The run is the callee's from then on. A failure that it returns stops the
     * others. */
    enum oa_error (*ended)(void *argument, long number, struct oa_run *run);
    void *argument;
};
/* Reads the runs that have ended already, in order, then trains the others, `jobs` at once (at
 * least 1; jobs.h). When a stop is asked for, or one of them fails, all save and end. All calls of
 * the log of `c` come from the caller's thread. */
enum oa_error oa_run_batch_train(oa_context *c, const struct oa_run_batch *b, int jobs);
/* Takes a run that ended over from `number`: counts it and passes it on to b->ended. */
enum oa_error oa_run_batch_ended(const struct oa_run_batch *b, long number, struct oa_run *run,
                                 bool was_there);

#endif
