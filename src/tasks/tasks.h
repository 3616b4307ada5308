/* SPDX-License-Identifier: Apache-2.0
 *
 * tasks: what models learn, and how it is measured. Read this first, then lm.c.
 *
 *     options ── task->open ──> struct oa_workload ── task->batches ──> struct oa_batches ──> the
 * training loop
 *
 * A task is a const table in its own file and one line of tasks.def. Training, comparisons, reports
 * and files ask the table, and know no task by name.
 */
#ifndef ORTHANT_TASKS_H
#define ORTHANT_TASKS_H

#include "data/examples.h"
#include "model/model.h"
#include "tasks/measure.h"

enum oa_side { OA_TRAINING, OA_VALIDATION, OA_TEST };

struct oa_workload;

/* A model and what it is to be measured on, in batches or row by row. */
struct oa_judging {
    oa_context *context;
    struct oa_tape *tape; /* used up */
    struct oa_model *model;
    const struct oa_workload *workload;
    enum oa_side side;
    struct oa_batches *batches; /* of the side, covered */
    const struct oa_cover *cover;
    /* Told how far it is, in parts of the whole; true: a stop is asked for, and OA_INTERRUPTED the
     * answer. May be NULL.
     */
    bool (*progress)(void *argument, long done, long all);
    void *argument;
    struct oa_details *
        details; /* gets parts and examples, also where judge fails; NULL: they are not asked for */
};

/* What a training step is made of: a batch without contents. */
struct oa_step_shape {
    struct oa_batch typical, largest;
    double tokens; /* of an optimiser step, on average */
};

/* What a model that is there is measured on. */
struct oa_measured_data {
    const char *files;   /* NULL: what the run was tested on, or else validated on */
    const char *columns; /* of these files, as data.columns; NULL: those of the run */
};

/* The value of an option that suits a task where nobody chose one, nor the option `unless`, which
 * stands for it. */
struct oa_preset {
    const char *key, *value;
    const char *unless; /* NULL: there is no such option */
};

struct oa_task {
    const char *name;     /* data.task */
    const char *what;     /* a line for people: what is read, what is predicted */
    const char *citation; /* authors, year, arXiv number */
    unsigned
        stacks; /* of its models: OA_STACK(OA_STACK_ENCODER) | …, as the form of open has them */
    /* Ended by name = NULL. The first is the loss; comparisons are about it unless compare.metric
     * names another, or the task has a `metric` of its own. */
    const struct oa_measure *measures;
    const char *metric;             /* what comparisons are about; NULL: the loss */
    const struct oa_preset *preset; /* ended by key = NULL; NULL: the defaults of options.def */
    const struct oa_example_layout
        *layout; /* what stands around the texts, without limits; NULL: running text */
    /* Reads the data: tokenizer and sides. Closed by oa_workload_close, also after an error. */
    enum oa_error (*open)(oa_context *c, const struct oa_options *o, struct oa_workload *out);
    /* The same for a model that is there, with its tokenizer and its form in *out already; *side
     * says where the data are. */
    enum oa_error (*open_measured)(oa_context *c, const struct oa_options *o,
                                   const struct oa_measured_data *data, struct oa_workload *out,
                                   enum oa_side *side);
    /* Batches of a side. Refuses what is too small. seed: of their order. */
    enum oa_error (*batches)(oa_context *c, const struct oa_options *o, const struct oa_workload *w,
                             enum oa_side side, uint64_t seed, struct oa_batches **out);
    /* Cuts the training side in two, for trials: the held-out part is the validation side of *out,
     * which borrows the tokenizer, and of a text the ids. Closed by oa_workload_close, also after
     * an error. */
    enum oa_error (*hold_out)(const struct oa_workload *w, double fraction,
                              struct oa_workload *out);
    /* The form of the models from the options alone, where no data need be read for it. NULL: they
     * must. */
    enum oa_error (*form)(oa_context *c, const struct oa_options *o, struct oa_model_form *out);
    /* What a step is like on average, and the largest one; w is NULL where `form` was asked. */
    enum oa_error (*shape)(oa_context *c, const struct oa_options *o, const struct oa_workload *w,
                           struct oa_step_shape *out);
    /* Scores of the measures but the first, by their number. NULL: there are none. */
    enum oa_error (*judge)(const struct oa_judging *j, double scores[OA_MEASURES]);
    enum oa_answer answer;
    bool dialogues; /* files that are no tables are dialogues, one a line */
    bool slow; /* judge takes long: it is asked at the end alone, unless a choice depends on it */
};

const struct oa_task *oa_task_at(int i); /* in the order of tasks.def; NULL past the end */
const struct oa_task *oa_task_find(const char *name); /* NULL: there is none of that name */

/* Options that were not given get the preset of the task (data.task), or their default. */
enum oa_error oa_task_preset(oa_context *c, const struct oa_given *given, struct oa_options *o);
/* Those of the preset that hold beside what was given: "data.tokenizer bpe, model.context 256". */
void oa_task_print_preset(const struct oa_task *task, const struct oa_given *given,
                          struct oa_text *out);

/* The stacks of the models that these options train; of a task that there is not, those of a
 * language model. */
unsigned oa_options_stacks(const struct oa_options *o);

/* Is it judged by what the model writes, token by token? */
bool oa_task_writes(const struct oa_task *task);
/* Can the model learn its task (data.task), and then do what the task measures? Asked of plans, so
 * before anything is trained; the sentence names the attention that stands in the way. */
enum oa_error oa_task_check_model(const struct oa_model *m);

/* What runs read: all those of a comparison share one. */
struct oa_workload {
    const struct oa_task *task;
    struct oa_tokenizer *tokenizer;
    bool lent, lent_ids;       /* the tokenizer, the ids of a text are another's */
    struct oa_model_form form; /* of the models that learn it */
    struct oa_digest start;    /* of the model file that train.init names; "": it names none */
    struct oa_corpus corpus;   /* tasks on running text */
    struct oa_example_layout layout;
    enum oa_bleu_tokenize bleu_tokenize; /* of tasks that write texts, never AUTO; of others AUTO */
    struct oa_example_texts texts;       /* tasks on examples: what was read, and its ids */
    struct oa_examples train, valid, test;
};
/* By data.task; a name that does not exist is refused with those that do. With train.init the
 * tokenizer is that of the run it names, and another one is refused. */
/* What is trained names its data. Plans and timings of language models are made with the sample
 * text otherwise. */
enum oa_error oa_check_training_data(oa_context *c, const struct oa_options *o);
enum oa_error oa_workload_open(oa_context *c, const struct oa_options *o, struct oa_workload *out);
/* The same data with the run that train.init names now: its tokenizer must be the same, and
 * w->start becomes that of its model. Without train.init nothing. */
enum oa_error oa_workload_start(oa_context *c, const struct oa_options *o, struct oa_workload *w);
/* For measuring a model: its tokenizer, and the labels of its form, are borrowed. A side without
 * data is refused, and so are classes without labels. */
enum oa_error oa_workload_open_measured(oa_context *c, const struct oa_options *o,
                                        struct oa_tokenizer *tokenizer,
                                        const struct oa_model_form *form,
                                        const struct oa_measured_data *data,
                                        struct oa_workload *out, enum oa_side *side);
/* What stands around the texts of a task on examples, with the limits of the options. */
struct oa_example_layout oa_example_layout_of(const struct oa_options *o,
                                              const struct oa_task *task);
/* Which of n log-odds is the largest; the first of equal ones. */
long oa_likeliest(const double *x, long n);
/* The sentence of whoever needs the labels of a run that was made before there were any. */
#define OA_NO_LABELS                                                                               \
    "config.json has no \"labels\": the run was made by an older program; train it again, or "     \
    "write the names of the "                                                                      \
    "classes there, in the order of the labels of the training data sorted, as \"labels\": "       \
    "[\"…\", …]"
void oa_workload_close(struct oa_workload *w);
/* The special tokens that the training text of a language model has, which it learns to write;
 * freed by oa_labels_free. name NULL: other models, and tokenizers without special tokens. */
enum oa_error oa_workload_specials(oa_context *c, const struct oa_workload *w,
                                   struct oa_labels *out);

const struct oa_examples *oa_workload_examples(const struct oa_workload *w, enum oa_side side);

/* *o with what the data decided where it leaves that to them (data.bleu_tokenize). */
void oa_workload_settle(const struct oa_workload *w, struct oa_options *o);
/* How a measure of the task is computed on a side, as `score` prints it: "nrefs:1|case:mixed|…";
 * false: it is no metric of texts. */
bool oa_measure_signature(const struct oa_workload *w, enum oa_side side, const char *measure,
                          struct oa_text *out);

/* What there is of a side. */
struct oa_extent {
    double targets;           /* that its batches have; 0: the side is not there */
    double characters, bytes; /* of the text of the targets; 0: there is none */
    struct oa_digest digest;  /* of what was read */
};
struct oa_extent oa_workload_side(const struct oa_workload *w, enum oa_side side);
/* What models and steps these options lead to: no more is read than it takes. */
enum oa_error oa_task_sketch(oa_context *c, const struct oa_options *o, struct oa_model_form *form,
                             struct oa_step_shape *shape);
/* Of a language model on the options alone, without a text. */
struct oa_step_shape oa_language_model_shape(const struct oa_options *o);

#endif
