/* SPDX-License-Identifier: Apache-2.0
 *
 * What models are measured by: plain data that tasks name and fill, and comparisons are about.
 */
#ifndef ORTHANT_TASKS_MEASURE_H
#define ORTHANT_TASKS_MEASURE_H

#include <stdbool.h>

enum { OA_MEASURES = 8 }; /* of a task, at most */

struct oa_measure {
    const char *name;  /* in files and options: "loss", "accuracy", "bleu"; less than 24 bytes */
    const char *title; /* "valid loss" */
    const char *unit;  /* "nats a token", "%", "BLEU" */
    int decimals;      /* that people are shown */
    bool higher;       /* is more better? */
};

/* A part of what a run was validated on: a class, the sentences of some lengths. Parts of one kind
 * follow each other.
 */
struct oa_breakdown {
    char by[32];      /* what tells the parts apart: "class", "length" */
    char name[64];    /* of the part */
    char measure[24]; /* name of the task's measure that `value` is in */
    double value;
    double n; /* examples in the part */
};

/* What a run answered to one example. Texts are the run's; NULL: there is none. */
struct oa_specimen {
    long row; /* of the validation side: the same example has the same number in every run */
    char *source, *reference, *output;
};

/* What a task says of a model beside its scores. */
struct oa_details {
    struct oa_breakdown *parts;
    struct oa_specimen *examples; /* by rising row */
    int part_count, example_count;
    struct oa_confusion *confusion; /* of classes; NULL: the task has none */
};
void oa_details_free(struct oa_details *d);

#endif
