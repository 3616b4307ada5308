/* SPDX-License-Identifier: Apache-2.0
 *
 * What tasks on examples have in common: how they read, cut and batch. Private to tasks/.
 */
#ifndef ORTHANT_TASKS_EXAMPLE_TASK_H
#define ORTHANT_TASKS_EXAMPLE_TASK_H

#include "metrics/metrics.h"
#include "tasks/details.h"

/* What suits encoders that answer with a class or a number. */
extern const struct oa_preset oa_answer_preset[];
/* What suits models that write, beside the lengths of what they read and write: rows of a preset.
 */
#define OA_WRITING_PRESET                                                                          \
    { .key = "data.tokenizer", .value = "bpe", .unless = "train.init" },                           \
        { .key = "model.dropout", .value = "0.1" },                                                \
        { .key = "train.batch_tokens", .value = "2048", .unless = "train.batch" },                 \
        { .key = "train.label_smoothing", .value = "0.1" },                                        \
    {                                                                                              \
        .key = "train.lr", .value = "0.003"                                                        \
    }

/* Reads data.train, data.valid and data.test; the limits of `layout` are filled in from the
 * options. */
enum oa_error oa_example_task_open(oa_context *c, const struct oa_options *o,
                                   struct oa_workload *out);
enum oa_error oa_example_task_open_measured(oa_context *c, const struct oa_options *o,
                                            const struct oa_measured_data *data,
                                            struct oa_workload *out, enum oa_side *side);
enum oa_error oa_example_task_hold_out(const struct oa_workload *w, double fraction,
                                       struct oa_workload *out);
enum oa_error oa_example_task_batches(oa_context *c, const struct oa_options *o,
                                      const struct oa_workload *w, enum oa_side side, uint64_t seed,
                                      struct oa_batches **out);
enum oa_error oa_example_task_shape(oa_context *c, const struct oa_options *o,
                                    const struct oa_workload *w, struct oa_step_shape *out);

/* What an encoder with a classifier says of all rows of a side: out [rows][width], in the order of
 * the batches, and beside it what was right: label or value [rows], NULL where it is not asked for.
 * Freed by oa_free; also after an error. */
struct oa_outputs {
    long rows, width;
    double *out, *value;
    int32_t *label;
    uint32_t *row; /* [rows] which example of the side it is */
};
enum oa_error oa_example_outputs(const struct oa_judging *j, long width, struct oa_outputs *out);
void oa_outputs_free(struct oa_outputs *o);

/* What an encoder with a decoder writes for every row of a side (writing.c): texts [count], freed
 * by oa_texts_free. */
struct oa_written {
    long count;
    char **text;
};
enum oa_error oa_write_side(const struct oa_judging *j, struct oa_written *out);
void oa_written_free(struct oa_written *w);
/* Scores of such texts by a metric of segments, against all references of each row, times `factor`.
 * bleu_order: the longest n-gram of BLEU. */
enum oa_error oa_written_score(const struct oa_judging *j, const struct oa_written *w,
                               const struct oa_metric *metric, int bleu_order, double factor,
                               double *score);
/* Parts by length, in that measure, and examples, where they are asked for. */
enum oa_error oa_written_details(const struct oa_judging *j, const struct oa_written *w,
                                 const struct oa_metric *metric, double factor,
                                 const char *measure);

#endif
