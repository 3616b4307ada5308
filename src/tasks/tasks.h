/* SPDX-License-Identifier: Apache-2.0
 * tasks: what models learn, and how they are evaluated. Read this first, then lm.c.
 *
 *     options ── task->open ──> struct oa_workload ── task->batches ──> struct oa_batches
 *
 * A task is a const table in its own file and a line of tasks.def. Training, comparisons, reports
 * and files use the table and know no task by name. */
#ifndef ORTHANT_TASKS_H
#define ORTHANT_TASKS_H

#include "data/examples.h"
#include "model/model.h"
#include "tasks/items.h"

enum oa_side { OA_TRAINING, OA_VALIDATION, OA_TEST };

struct oa_workload;

/* An evaluation: a model and the data to evaluate it on. */
struct oa_scoring {
    oa_context *context;
    struct oa_tape *tape; /* reset by the evaluation */
    struct oa_model *model;
    const struct oa_workload *workload;
    enum oa_side side;
    struct oa_batches *batches; /* of the side, covered */
    const struct oa_cover *cover;
    /* Called with the progress, may be NULL. Returns true to stop with OA_INTERRUPTED. */
    bool (*progress)(void *argument, long done, long all);
    void *argument;
    struct oa_details *details; /* filled also on errors; NULL: not wanted */
    struct oa_items *items;     /* opened; receives measures that are means over items. NULL: not
                                   wanted */
};

/* Sizes of training steps: batches without contents. */
struct oa_step_shape {
    struct oa_batch typical, largest;
    double tokens; /* of an optimiser step, on average */
};

/* The data to evaluate a trained model on. */
struct oa_measured_data {
    const char *files;   /* NULL: the test data of the run, or else its validation data */
    const char *columns; /* data.columns of these files; NULL: those of the run */
};

/* A task's default of an option, used unless the user sets it or the alternative option `unless`.
 */
struct oa_preset {
    const char *key, *value;
    const char *unless; /* NULL: none */
};

struct oa_task {
    const char *name;     /* data.task */
    const char *what;     /* one-line description: input and prediction */
    const char *citation; /* authors, year, arXiv number */
    unsigned stacks;      /* of its models: OA_STACK(OA_STACK_ENCODER) | … */
    /* Ended by name = NULL. The first is the loss. */
    const struct oa_measure *measures;
    const char *metric;     /* default of compare.metric; NULL: the loss */
    unsigned item_measures; /* 1 << m: measure m is a mean over items (items.h), as the loss is */
    const struct oa_preset *preset; /* ended by key = NULL; NULL: the defaults of options.def */
    const struct oa_example_layout *layout; /* without limits; NULL: running text */
    /* Makes the tokenizer and reads the data. Close with oa_workload_close, also after an error. */
    enum oa_error (*open)(oa_context *c, const struct oa_options *o, struct oa_workload *out);
    /* The same for a trained model, whose tokenizer and form are in *out. *side: which data were
     * read. */
    enum oa_error (*open_measured)(oa_context *c, const struct oa_options *o,
                                   const struct oa_measured_data *data, struct oa_workload *out,
                                   enum oa_side *side);
    /* Batches of a side. OA_SHAPE: too little data. seed: of their order. */
    enum oa_error (*batches)(oa_context *c, const struct oa_options *o, const struct oa_workload *w,
                             enum oa_side side, uint64_t seed, struct oa_batches **out);
    /* Splits the training data for tuning trials: the held-out part is the validation data of *out,
     * which borrows the tokenizer and the ids of a text. Close with oa_workload_close, also after
     * an error. */
    enum oa_error (*hold_out)(const struct oa_workload *w, double fraction,
                              struct oa_workload *out);
    /* The form of the models without reading the data. NULL: the data are needed. */
    enum oa_error (*form)(oa_context *c, const struct oa_options *o, struct oa_model_form *out);
    /* Sizes of the mean and the largest step; w is NULL if the task has `form`. */
    enum oa_error (*shape)(oa_context *c, const struct oa_options *o, const struct oa_workload *w,
                           struct oa_step_shape *out);
    /* Computes all measures but the loss: scores[1] … NULL: the loss is the only measure. */
    enum oa_error (*score)(const struct oa_scoring *j, double scores[OA_MEASURES]);
    enum oa_answer answer;
    bool dialogues; /* files that are not tables are dialogues, one per line */
    bool slow;      /* score is slow: call it only at the end, unless a choice depends on it */
};

const struct oa_task *oa_task_at(int i); /* in the order of tasks.def; NULL past the end */
const struct oa_task *oa_task_find(const char *name); /* NULL: unknown */

/* Sets options that the user did not set to the preset of model.preset, that of data.task, or to
 * their default. */
enum oa_error oa_task_preset(oa_context *c, const struct oa_given *given, struct oa_options *o);
/* The rows of the preset that apply: "data.tokenizer bpe, model.context 256". */
void oa_task_print_preset(const struct oa_task *task, const struct oa_given *given,
                          struct oa_text *out);
/* The same of model.preset. */
void oa_model_print_preset(const struct oa_options *o, const struct oa_given *given,
                           struct oa_text *out);

/* The stacks of the models that these options train; of an unknown task, those of a language model.
 */
unsigned oa_options_stacks(const struct oa_options *o);

/* Whether measure number m is a mean over items: score then records them. */
bool oa_task_has_items(const struct oa_task *task, int m);

/* Whether the task is evaluated on generated text. */
bool oa_task_writes(const struct oa_task *task);
/* The token that ends the answers of a task of prompts and answers; −1: there is none. task may be
 * NULL. */
int32_t oa_task_answer_end(const struct oa_task *task, const struct oa_tokenizer *tokenizer);
/* Rejects a model that cannot be trained or evaluated on data.task, before training; the message
 * names the attention responsible. */
enum oa_error oa_task_check_model(const struct oa_model *m);

/* The data of runs, shared by the runs of a comparison. */
struct oa_workload {
    const struct oa_task *task;
    struct oa_tokenizer *tokenizer;
    bool lent, lent_ids;       /* the tokenizer, the ids of a text are borrowed */
    struct oa_model_form form; /* of the models */
    struct oa_digest start;    /* of the model file of train.init; "": none */
    struct oa_corpus corpus;   /* tasks on running text */
    struct oa_example_layout layout;
    enum oa_bleu_tokenize bleu_tokenize; /* resolved for tasks that write texts, else AUTO */
    struct oa_example_texts texts;       /* tasks on examples: texts and ids */
    struct oa_examples train, valid, test;
};
/* Rejects an empty data.train. Plans and timings of language models use a sample text instead. */
enum oa_error oa_check_training_data(oa_context *c, const struct oa_options *o);
/* The workload of data.task. With train.init the tokenizer must be that of the initial run. */
enum oa_error oa_workload_open(oa_context *c, const struct oa_options *o, struct oa_workload *out);
/* Checks that the run of train.init, if any, has the tokenizer of w, and sets w->start. */
enum oa_error oa_workload_start(oa_context *c, const struct oa_options *o, struct oa_workload *w);
/* For evaluating a model; borrows its tokenizer and the labels of its form. Rejects missing data
 * and classes without labels. */
enum oa_error oa_workload_open_measured(oa_context *c, const struct oa_options *o,
                                        struct oa_tokenizer *tokenizer,
                                        const struct oa_model_form *form,
                                        const struct oa_measured_data *data,
                                        struct oa_workload *out, enum oa_side *side);
/* The layout of a task on examples with the limits of the options. */
struct oa_example_layout oa_example_layout_of(const struct oa_options *o,
                                              const struct oa_task *task);
/* Index of the first largest of n logits. */
long oa_likeliest(const double *x, long n);
/* Error message for a run without labels. */
#define OA_NO_LABELS                                                                               \
    "config.json has no \"labels\", since an older version wrote it; train again, or add the "     \
    "sorted labels of the training data as \"labels\": [\"…\", …]"
void oa_workload_close(struct oa_workload *w);
/* The special tokens in the training text of a language model, which it learns to write. Free with
 * oa_labels_free. name NULL: other models, or no special tokens. */
enum oa_error oa_workload_specials(oa_context *c, const struct oa_workload *w,
                                   struct oa_labels *out);

const struct oa_examples *oa_workload_examples(const struct oa_workload *w, enum oa_side side);

/* Stores what was resolved from the data in *o (data.bleu_tokenize). */
void oa_workload_settle(const struct oa_workload *w, struct oa_options *o);
/* The signature of a measure, as `orthant score` prints it: "nrefs:1|case:mixed|…"; false: not a
 * metric of texts. */
bool oa_measure_signature(const struct oa_workload *w, enum oa_side side, const char *measure,
                          struct oa_text *out);

/* Amount of data of a side. */
struct oa_extent {
    double targets;           /* 0: no data */
    double characters, bytes; /* of the targets; 0: no text */
    struct oa_digest digest;  /* of the data */
};
struct oa_extent oa_workload_side(const struct oa_workload *w, enum oa_side side);
/* The form of the models and the sizes of steps, reading data only if necessary. */
enum oa_error oa_task_sketch(oa_context *c, const struct oa_options *o, struct oa_model_form *form,
                             struct oa_step_shape *shape);
/* The same of a language model, from options alone. */
struct oa_step_shape oa_language_model_step_shape(const struct oa_options *o);

#endif
