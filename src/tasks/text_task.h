/* SPDX-License-Identifier: Apache-2.0
 * Functions shared by the tasks on running text. Private to tasks/. */
#ifndef ORTHANT_TASKS_TEXT_TASK_H
#define ORTHANT_TASKS_TEXT_TASK_H

#include "tasks/tasks.h"

/* Makes the tokenizer, adds special tokens (ended by NULL) and sentinels, and reads the text. A
 * special token that is spelled out in the text is encoded as that token, as by other readers of
 * tokenizer.json. */
enum oa_error oa_text_task_open(oa_context *c, const struct oa_options *o,
                                const char *const *special, long sentinels,
                                struct oa_workload *out);
/* data.tokenizer, or that of the first packed corpus of data.train. */
enum oa_error oa_text_task_tokenizer(oa_context *c, const struct oa_options *o,
                                     struct oa_tokenizer **out);
enum oa_error oa_text_task_open_measured(oa_context *c, const struct oa_options *o,
                                         const struct oa_measured_data *data,
                                         struct oa_workload *out, enum oa_side *side);
/* Which batches have rows that are not full: of epochs one, of separate documents most. */
void oa_text_task_plan_padding(const struct oa_options *o, struct oa_step_shape *shape);
enum oa_error oa_text_task_hold_out(const struct oa_workload *w, double fraction,
                                    struct oa_workload *out);
const struct oa_tokens *oa_text_task_side(const struct oa_workload *w, enum oa_side side);
/* scores[1]: percentage of targets that are the most probable token. */
enum oa_error oa_text_task_accuracy(const struct oa_scoring *j, double scores[OA_MEASURES]);

#endif
