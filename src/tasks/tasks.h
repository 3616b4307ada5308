/* SPDX-License-Identifier: Apache-2.0
 *
 * tasks: what models learn, and how it is measured. Read this first, then lm.c.
 *
 *     options ── task->open ──> struct oa_workload ── task->batches ──> struct oa_batches ──> the training loop
 *
 * A task is a const table in its own file and one line of tasks.def. Training, contests, reports and files ask the
 * table, and know no task by name.
 */
#ifndef ORTHANT_TASKS_H
#define ORTHANT_TASKS_H

#include "data/data.h"
#include "model/model.h"
#include "tasks/measure.h"

enum oa_side { OA_TRAINING, OA_VALIDATION };

struct oa_workload;

struct oa_task {
    const char *name;     /* data.task */
    const char *what;     /* a line for people: what is read, what is predicted */
    const char *citation; /* authors, year, arXiv number */
    /* Ended by name = NULL. The first is the loss; contests are about it unless compare.metric names another, or the
     * task has a `metric` of its own. */
    const struct oa_measure *measures;
    const char *metric; /* what contests are about; NULL: the loss */
    /* Reads the data: tokenizer and sides. Closed by oa_workload_close, also after an error. */
    enum oa_error (*open)(oa_context *c, const struct oa_options *o, struct oa_workload *out);
    /* Batches of a side. Refuses what is too small. seed: of their order. */
    enum oa_error (*batches)(oa_context *c, const struct oa_options *o, const struct oa_workload *w, enum oa_side side,
                             uint64_t seed, struct oa_batches **out);
    /* Cuts the training side in two, for trials: *out borrows everything and is not to be closed. */
    void (*hold_out)(const struct oa_workload *w, double fraction, struct oa_workload *out);
};

const struct oa_task *oa_task_at(int i);              /* in the order of tasks.def; NULL past the end */
const struct oa_task *oa_task_find(const char *name); /* NULL: there is none of that name */

/* What runs read: all those of a contest share one. */
struct oa_workload {
    const struct oa_task *task;
    struct oa_tokenizer *tokenizer;
    struct oa_corpus corpus; /* tasks on running text */
};
/* By data.task; a name that does not exist is refused with those that do. */
enum oa_error oa_workload_open(oa_context *c, const struct oa_options *o, struct oa_workload *out);
void oa_workload_close(struct oa_workload *w);
/* The side as it was read; count 0: there is none. */
const struct oa_tokens *oa_workload_side(const struct oa_workload *w, enum oa_side side);

#endif
