/* SPDX-License-Identifier: Apache-2.0
 * train: from options and text to a trained model. Read trainer.c first: it is the life of a
 * training step.
 *
 *     oa_workload (tokenizer + data)    ──>  oa_train_run (one run)  ──>  struct oa_run
 *     oa_plan_make: the same step on the plan device, before anything runs
 */
#ifndef ORTHANT_TRAIN_H
#define ORTHANT_TRAIN_H

#include "cluster/tree_sum.h"
#include "tasks/tasks.h"
#include "train/pace.h"
#include "train/run.h"
#include "train/shards.h"

/* Learning rate of step 1, 2, …: linear warm-up to lr, then the schedule; min_lr is a share of lr.
 */
double oa_learning_rate(const struct oa_options *o, long step);

/* The same where the schedule after the warm-up has come to x, from 0 to 1. */
double oa_learning_rate_at(const struct oa_options *o, long step, double x);

/* Refuses options that an update rule cannot work with. */
enum oa_error oa_optimizer_check(oa_context *c, const struct oa_options *o);

/* One optimiser step on the gradients in the store; gradient_scale is the factor of clipping.
 * oa_optimizer_step_at takes the learning rate from the caller, the other from the options. Where
 * `sum` is scattered, oa_optimizer_update updates this rank's shards alone; it returns from which
 * element on the copies that products read are to be made. */
void oa_optimizer_step_at(struct oa_store *s, const struct oa_options *o, long step, double lr,
                          double gradient_scale);
long oa_optimizer_update(struct oa_store *s, const struct oa_tree_sum *sum,
                         const struct oa_options *o, long step, double lr, double gradient_scale);
void oa_optimizer_step(struct oa_store *s, const struct oa_options *o, long step,
                       double gradient_scale);

/* A model on a side of the data, in batches that cover it (data.h: oa_batches_cover). */
struct oa_evaluation {
    oa_tape *tape; /* used up */
    struct oa_model *model;
    struct oa_cluster
        *cluster; /* NULL, or all its ranks evaluate this together: the loss has the same bits */
    const struct oa_workload *workload;
    enum oa_side side;
    struct oa_batches *batches;
    struct oa_cover cover;
    const char *title; /* of its progress lines */
    bool judged;       /* all measures of the task, not the loss alone */
    bool detailed;     /* and parts and examples, which are the run's (oa_run_free) */
    bool itemised;     /* and the measures of each item, likewise */
};
/* Mean loss (nats a token), perplexity, bits, and where they are wanted the measures of the task.
 * When a stop is asked for it ends after the batch at hand, and all scores are NaN. */
enum oa_error oa_evaluate(const struct oa_evaluation *e, struct oa_run *out);

/* bar.c: progress lines of work whose size is known, a few a second. The title is borrowed. */
struct oa_bar {
    oa_context *context;
    const char *title;
    double began, logged; /* clock */
};
void oa_bar_open(struct oa_bar *b, oa_context *c, const char *title);
void oa_bar_log(struct oa_bar *b, long done, long all);

/* run.c: the number of the measure that comparisons are about: `name`, or "" for the task's
 * own choice. A name that does not exist is refused with those that do. */
enum oa_error oa_metric_choose(oa_context *c, const struct oa_task *task, const char *name,
                               int *out);
/* The same of the measure that an option names. */
enum oa_error oa_measure_find(oa_context *c, const char *option, const struct oa_task *task,
                              const char *wanted, int *out);

/* remarks.c: notices about options without effect. */
void oa_remarks(oa_context *c, const struct oa_options *o);

struct oa_train_request {
    const struct oa_options *options;
    const struct oa_workload *workload;
    const char *folder; /* receives model.safetensors, config.json, tokenizer.json, log.jsonl; NULL
                           = nothing is kept */
    struct oa_cluster *cluster; /* the ranks that train it together; NULL: this one alone */
    bool resume;       /* go on from the newest good checkpoint in the folder, if there is one */
    bool overwrite;    /* remove the run in the folder before anything is written */
    bool unjudged;     /* without validations, also at the end: only the steps are wanted */
    bool exact;        /* go on only with a checkpoint of the same schedule (oa_equal_options) */
    bool keep;         /* keep the last checkpoint after the end (to go on with more steps) */
    bool itemised;     /* the measures of each item in the result (tasks/items.h) */
    const char *title; /* for progress lines; NULL: there are none of steps */
    long run, runs; /* "run 3 of 18" in progress lines, of a command that goes on without --resume;
                     * 0 = a single run */
    /* Called with each progress line, with the share of the steps that is done, 0 to 1; or NULL. It
     * may rewrite what progress_prefix points to, with which the line begins (NULL: nothing). */
    void (*on_progress)(void *argument, double done);
    void *progress_argument;
    const char *progress_prefix;
};
/* Trains. Stops with OA_INTERRUPTED after saving when a signal asked for it, with OA_DIVERGED when
 * a number is not finite (step, tensor and batch are named). out->curve belongs to the caller
 * (oa_run_free). */
enum oa_error oa_train_run(oa_context *c, const struct oa_train_request *r, struct oa_run *out);

/* A training step by itself, with one batch for each micro-batch and the learning rate of step 1:
 * what plans count and profiles time. scale: of the loss; teacher: NULL, or what it learns from. */
struct oa_teacher;
#define OA_OPTIMISER "optimiser" /* where a meter finds what is done once a step */
void oa_step_once(struct oa_model *m, const struct oa_options *o, const struct oa_batch *batch,
                  double scale, oa_tape *t, struct oa_teacher *teacher, struct oa_shards *shards);

/* Where the time of training steps goes (profile.c). Steps of the first batches are made, some to
 * warm up, then for two seconds, but 5 to 50 of them. Seconds are medians over the steps; counts
 * are means over the same steps on the plan device. */
struct oa_metered;
struct oa_profile {
    int steps;
    double seconds, tokens; /* of a step */
    double
        wall; /* of a step on average, by the clock on the wall, whatever clock the others are of */
    double held_up; /* the share of that in which something else had the processor (step_side.h) */
    struct oa_metered *row; /* [rows] operations at places, in the order of their first call */
    int rows;
    bool stopped; /* before there were as many steps as wanted */
};
/* clock: seconds. A stop that is asked for ends it early; OA_INTERRUPTED where nothing was measured
 * yet. To be closed. */
enum oa_error oa_profile_make(oa_context *c, const struct oa_options *o,
                              const struct oa_workload *w, double (*clock)(void),
                              struct oa_profile *out);
void oa_profile_close(struct oa_profile *p);

/* The cost of a run, from one step on the plan device. */
struct oa_plan {
    long vocabulary;          /* rows of the embedding */
    double trainable, frozen; /* parameters */
    double flops, bytes;      /* of one optimiser step */
    double computed;          /* FLOPs with the invisible pairs of tiles */
    double tokens;            /* of one step */
    /* Bytes: the store (values, gradients, moments; a teacher and its activations), activations
     * with their gradients, and the device's scratch. */
    double memory_parameters, memory_activations, memory_scratch;
    struct oa_traffic traffic; /* of one of several ranks, a step */
};
/* Memory is that of the largest step, the rest that of a typical one. A model that cannot do what
 * its task (data.task) measures is refused (oa_task_check_model). */
enum oa_error oa_plan_make(oa_context *c, const struct oa_options *o,
                           const struct oa_model_form *form, const struct oa_step_shape *shape,
                           struct oa_plan *out);
/* The same for one of so many ranks: its micro-batches, its memory, what it exchanges; tokens are
 * still those of all. */
enum oa_error oa_plan_rank(oa_context *c, const struct oa_options *o,
                           const struct oa_model_form *form, const struct oa_step_shape *shape,
                           long ranks, struct oa_plan *out);
enum oa_error oa_plan_workload(oa_context *c, const struct oa_options *o,
                               const struct oa_workload *w, struct oa_plan *out);

/* divergence_advice.c: what to change after numbers were not finite, from what these options are: a
 * sentence without a full stop, in `out`, which is returned. */
enum { OA_ADVICE = 256 };
const char *oa_divergence_advice(const struct oa_options *o, char out[OA_ADVICE]);

/* same_run.c: checks that a resumed run is the one that was begun. The first difference is refused
 * by name. */
enum oa_error oa_same_options(oa_context *c, const char *folder, const struct oa_options *before,
                              const struct oa_options *now);
/* The same for a run of a comparison, in which nothing that affects results may differ, not even
 * how long and how often. */
enum oa_error oa_equal_options(oa_context *c, const char *folder, const struct oa_options *before,
                               const struct oa_options *now);
enum oa_error oa_origin_of(oa_context *c, const struct oa_workload *w, struct oa_origin *out);
enum oa_error oa_same_origin(oa_context *c, const char *folder, const struct oa_origin *before,
                             const struct oa_origin *now);

/* same_everywhere.c: are these ranks of one program on processors that round alike, and do they
 * have the options and texts of the first? OA_ARGUMENT on every rank when not, with a sentence that
 * names the rank, what differs, both values and the remedy. */
/* The command of a rank, besides its options. */
struct oa_work {
    const char *command, *folder; /* "train", --out */
    bool resume, overwrite;
    const char *const *attentions; /* of a comparison, as they were given */
    int count;
};
/* Before anything else that ranks do together: checks that they are one program with one command.
 * From then on the timeout is that of the options. */
enum oa_error oa_same_program(struct oa_cluster *cluster, const struct oa_options *o,
                              const struct oa_work *work);
/* opened: how opening the workload went here. */
enum oa_error oa_same_everywhere(struct oa_cluster *cluster, const struct oa_options *o,
                                 const struct oa_workload *w, enum oa_error opened);

/* run_folder.c: files of a run. */
/* folder/PREFIX-000000100.safetensors, weights of a step; and the step of a file name, -1: it is no
 * such name. */
enum oa_error oa_step_file_path(oa_context *c, char out[OA_PATH], const char *folder,
                                const char *prefix, long step);
long oa_step_file_step(const char *prefix, const char *name);
/* Steps of the checkpoints in the folder, newest first; how many, −1 after a recorded failure. */
enum { OA_CHECKPOINTS = 64 };
int oa_folder_checkpoints(oa_context *c, const char *folder, long steps[OA_CHECKPOINTS]);
bool oa_folder_has_checkpoint(oa_context *c, const char *folder); /* or a failure was recorded */
/* Has training left anything in it: a log, a checkpoint, a model? Options and tokenizer alone are
 * no run. */
bool oa_folder_has_run(oa_context *c, const char *folder);
/* The newest checkpoint that loads; notices about those that are damaged. *age: seconds since it
 * was written, -1 when there is none at all. Nothing is written. accept: as in oa_checkpoint_load;
 * what it refuses is not passed over. */
enum oa_error oa_folder_resume(struct oa_model *m, struct oa_progress *p, const char *folder,
                               oa_accept *accept, void *argument, double *age);
/* Seconds from one checkpoint to the next by time: train.checkpoint_minutes, but at least a hundred
 * times as long as the newest one took, so that they cost less than a hundredth of the time. */
double oa_checkpoint_wait(double minutes, double cost);
/* Saves checkpoint-STEP.safetensors and removes all but the two newest. */
enum oa_error oa_folder_checkpoint(const struct oa_model *m, const struct oa_progress *p,
                                   const char *folder);
/* A whole moment of the checkpoint of that step, to the host (model.h: oa_checkpoint_moment). */
enum oa_error oa_folder_moment(const struct oa_model *m, const struct oa_progress *p,
                               const char *folder, int moment, void *out);
void oa_folder_forget(oa_context *c, const char *folder); /* removes every checkpoint */

/* run_log.c: log.jsonl and the loss curve. */
struct oa_log_line {
    long step;
    double loss, valid_loss, lr, gradient_norm, seconds, tokens; /* valid_loss NaN: none */
    const struct oa_measure *measures; /* of the task; NULL: the loss alone */
    /* Of several ranks since the line before: tokens a second, and shares of the time: waited for
     * others, and computed while messages were under way. 0: one rank. */
    double rate, waiting, hidden;
    double scores[OA_MEASURES]; /* as in struct oa_run; NaN: not measured */
    int corpora;                /* of the training text with data.order = epoch; otherwise 0 */
    double epochs[OA_CORPORA];  /* of each corpus, read so far */
};
enum oa_error oa_curve_reserve(oa_context *c, struct oa_run *run,
                               int capacity); /* room for so many points */
enum oa_error oa_log_add(oa_context *c, const char *folder, const struct oa_log_line *line,
                         struct oa_run *run);
/* Adds the validation that the newest line lacks because a stop came in the middle of it:
 * valid_loss, measures and scores of `validated`. */
enum oa_error oa_log_complete(oa_context *c, const char *folder,
                              const struct oa_log_line *validated, struct oa_run *run);
/* The whole log into the curve. measures: of the task, by whose names scores are found; NULL: the
 * loss alone. */
enum oa_error oa_log_read(oa_context *c, const char *folder, const struct oa_measure *measures,
                          struct oa_run *run);
/* Renames a log of steps without a checkpoint to log.jsonl.1, .2 … the first that is free, with a
 * notice. */
enum oa_error oa_log_put_aside(oa_context *c, const char *folder);
/* Reads the log back up to `step`, rewrites it without what came later, and fills the curve. */
enum oa_error oa_log_rewind(oa_context *c, const char *folder, long step,
                            const struct oa_measure *measures, struct oa_run *run);

/* event_file.c: the same lines for TensorBoard, in events.out.tfevents.orthant. Numbers that are
 * NaN are left out. */
enum oa_error oa_events_add(oa_context *c, const char *folder, const struct oa_log_line *line);
enum oa_error oa_events_rewind(oa_context *c, const char *folder,
                               long step); /* cuts away what came later */
enum { OA_EVENT = 1024 };                  /* room for a record */
size_t oa_event_print(double wall_time, const struct oa_log_line *line,
                      uint8_t out[OA_EVENT]); /* its bytes */

#endif
