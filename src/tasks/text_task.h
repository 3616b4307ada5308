/* SPDX-License-Identifier: Apache-2.0
 *
 * What tasks on running text have in common. Private to tasks/.
 */
#ifndef ORTHANT_TASKS_TEXT_TASK_H
#define ORTHANT_TASKS_TEXT_TASK_H

#include "tasks/tasks.h"

/* The tokenizer with these special tokens (ended by NULL) and so many sentinels, then the text.
 * What the text itself spells like one of them is that token, as in every program that reads
 * tokenizer.json. */
enum oa_error oa_text_task_open(oa_context *c, const struct oa_options *o,
                                const char *const *special, long sentinels,
                                struct oa_workload *out);
enum oa_error oa_text_task_open_measured(oa_context *c, const struct oa_options *o,
                                         const struct oa_measured_data *data,
                                         struct oa_workload *out, enum oa_side *side);
enum oa_error oa_text_task_hold_out(const struct oa_workload *w, double fraction,
                                    struct oa_workload *out);
const struct oa_tokens *oa_text_task_side(const struct oa_workload *w, enum oa_side side);
/* scores[1]: of 100 targets, how many the model thinks the likeliest token of all. */
enum oa_error oa_text_task_accuracy(const struct oa_judging *j, double scores[OA_MEASURES]);

#endif
