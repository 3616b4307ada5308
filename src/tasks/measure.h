/* SPDX-License-Identifier: Apache-2.0
 * The measures of tasks and their values. */
#ifndef ORTHANT_TASKS_MEASURE_H
#define ORTHANT_TASKS_MEASURE_H

#include <stdbool.h>

enum { OA_MEASURES = 8 }; /* most measures of a task */

struct oa_measure {
    const char *name;  /* in files and options: "loss", "accuracy", "bleu"; less than 24 bytes */
    const char *title; /* "valid loss" */
    const char *unit;  /* "nats a token", "%", "BLEU" */
    int decimals;      /* printed */
    bool higher;       /* higher is better */
    double best;       /* best possible value: two that have it with every seed are equivalent */
};

/* The score on a part of the evaluated data, such as a class or a range of lengths. Parts of one
 * kind are adjacent. */
struct oa_breakdown {
    char by[32];      /* kind: "class", "length" */
    char name[64];    /* of the part */
    char measure[24]; /* name of the task's measure that `value` is in */
    double value;
    double n; /* examples in the part */
};

/* A sample output. Texts are owned; NULL: none. */
struct oa_specimen {
    long row; /* of the evaluated data, the same in every run */
    char *source, *reference, *output;
};

/* Details of an evaluation besides its scores. */
struct oa_details {
    struct oa_breakdown *parts;
    struct oa_specimen *examples; /* by rising row */
    int part_count, example_count;
    struct oa_confusion *confusion; /* NULL: no classes */
};
void oa_details_free(struct oa_details *d);

#endif
