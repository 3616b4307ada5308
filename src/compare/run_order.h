/* SPDX-License-Identifier: Apache-2.0
 *
 * One run that a comparison wants: made in its folder to its end, gone on with where it stopped, or
 * read where it ended. Nothing of another run is used: files carry checksums and fingerprints
 * (run_result.h, fingerprint.h).
 */
#ifndef ORTHANT_RUN_ORDER_H
#define ORTHANT_RUN_ORDER_H

#include "compare/comparison.h"

#include <stdatomic.h>

/* Where runs are made: shared by all that are made side by side. */
struct oa_workplace {
    int threads;           /* of all runs at once */
    bool clocked;          /* times are budgets, so that a run of another machine is another run */
    atomic_bool elsewhere; /* a run of another machine is used, and that was said */
};
enum { OA_MACHINE = sizeof((struct oa_run *)0)->machine };
/* What computes, and so what rounds and takes the time: "processor, instruction set, matrix
 * products, 2 threads", or "…, 1 of 2 threads" beside other runs. Which instructions a library uses
 * for products its environment may decide. */
void oa_machine_name(oa_context *c, const struct oa_workplace *place, enum oa_precision precision,
                     char out[OA_MACHINE]);

struct oa_run_order {
    struct oa_options
        options; /* everything that decides the run: its attention, seed and budget among them */
    const struct oa_workload *workload;
    const struct oa_parent *parent; /* the run that it starts from, where those of this comparison
                                     * have one each; NULL: it is the workload's. Borrowed */
    double held; /* share of the training side that this workload judges by (trials); 0: none, it is
                    the options' own */
    const char *title;        /* for progress lines */
    double trainable, frozen; /* parameters: a part of the fingerprint */
    char folder[OA_PATH];
    long number, count;       /* "run 3 of 18" */
    struct oa_cluster *group; /* ranks that train it together (farm.h); NULL: one */
    void (*share)(void *argument, double done); /* as in struct oa_train_request */
    void *share_argument;
    const char *whole; /* as in struct oa_train_request */
};

/* Its workload with the model that it starts from. Borrows all; it is not to be closed. */
struct oa_workload oa_run_order_workload(const struct oa_run_order *order);
/* Is what lies in the folder this run, begun or ended? Ended, it is *run (*found). Writes nothing.
 */
enum oa_error oa_run_order_look(oa_context *c, const struct oa_run_order *order, struct oa_run *run,
                                bool *found);
/* The same where it is to be used: that it comes from another machine is said once, or refused. */
enum oa_error oa_run_order_read(oa_context *c, const struct oa_run_order *order,
                                struct oa_workplace *place, struct oa_run *run, bool *found);
/* Trains a run that has not ended, on all threads of `c`. One that diverges is a result
 * (run->failed); any other failure is an error. */
enum oa_error oa_run_order_train(oa_context *c, const struct oa_run_order *order,
                                 struct oa_workplace *place, struct oa_run *run);
/* On the other ranks of its group, which write nothing. */
enum oa_error oa_run_order_help(oa_context *c, const struct oa_run_order *order,
                                struct oa_run *run);

#endif
