/* SPDX-License-Identifier: Apache-2.0
 * Functions shared by the tasks on examples. Private to tasks/. */
#ifndef ORTHANT_TASKS_EXAMPLE_TASK_H
#define ORTHANT_TASKS_EXAMPLE_TASK_H

#include "metrics/metrics.h"
#include "tasks/details.h"

/* Preset of encoders with a class or a number. */
extern const struct oa_preset oa_answer_preset[];
/* Rows of the presets of models that write, without lengths. */
#define OA_WRITING_PRESET                                                                          \
    { .key = "data.tokenizer", .value = "bpe", .unless = "train.init" },                           \
        { .key = "model.dropout", .value = "0.1" },                                                \
        { .key = "train.batch_tokens", .value = "2048", .unless = "train.batch" },                 \
        { .key = "train.label_smoothing", .value = "0.1", .unless = "distil.teacher" },            \
    {                                                                                              \
        .key = "train.lr", .value = "0.003"                                                        \
    }

/* Reads data.train, data.valid and data.test; sets the limits of the layout from the options. */
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

/* Outputs of an encoder for all rows of a side: out [rows][width] in batch order, and the reference
 * label or value [rows]. Free with oa_outputs_free, also after an error. */
struct oa_outputs {
    long rows, width;
    double *out, *value;
    int32_t *label;
    uint32_t *row; /* [rows] which example of the side it is */
};
enum oa_error oa_example_outputs(const struct oa_scoring *j, long width, struct oa_outputs *out);
void oa_outputs_free(struct oa_outputs *o);

/* Outputs of an encoder-decoder for all rows of a side (writing.c): text [count]. Free with
 * oa_written_free. */
struct oa_written {
    long count;
    char **text;
};
enum oa_error oa_write_side(const struct oa_scoring *j, struct oa_written *out);
void oa_written_free(struct oa_written *w);
/* scores[measure]: of such texts against all references of each row, times `factor`; also of the
 * items, where it is a mean over rows. bleu_order: longest n-gram. */
enum oa_error oa_written_score(const struct oa_scoring *j, const struct oa_written *w,
                               const struct oa_metric *metric, int bleu_order, double factor,
                               int measure, double scores[OA_MEASURES]);
/* Adds scores by length and sample outputs to j->details, unless NULL. */
enum oa_error oa_written_details(const struct oa_scoring *j, const struct oa_written *w,
                                 const struct oa_metric *metric, double factor,
                                 const char *measure);

#endif
