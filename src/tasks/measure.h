/* SPDX-License-Identifier: Apache-2.0
 *
 * What models are measured by: plain data that tasks name and contests are about.
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

#endif
