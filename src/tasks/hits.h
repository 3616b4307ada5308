/* SPDX-License-Identifier: Apache-2.0
 * Accuracy of predicted tokens. Private to tasks/. */
#ifndef ORTHANT_TASKS_HITS_H
#define ORTHANT_TASKS_HITS_H

#include "tasks/tasks.h"

/* A row of a batch: the number of its targets, and how many of them are the most likely token, each
 * given the right tokens before it. item: for oa_items_add. */
typedef void oa_hits_visit(void *argument, long item, long hits, long targets);
/* Visits all rows of the evaluation. */
enum oa_error oa_visit_hits(const struct oa_scoring *j, oa_hits_visit *visit, void *argument);

#endif
