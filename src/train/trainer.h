/* SPDX-License-Identifier: Apache-2.0
 * State of a training run. Private to train/.
 *
 *     trainer_open.c   opens everything and checks it against the folder before writing
 *     trainer.c        the steps; logs, validations and checkpoints between them
 *     trainer_ranks.c  what the ranks of a cluster exchange
 *     trainer_end.c    validations, and the end: measurements, final model
 */
#ifndef ORTHANT_TRAINER_H
#define ORTHANT_TRAINER_H

#include "cluster/tree_sum.h"
#include "train/average.h"
#include "train/best.h"
#include "train/handout.h"
#include "train/initial.h"
#include "train/teacher.h"
#include "train/train.h"

enum { OA_TIMES = 4096 }; /* newest step times, for the median */

/* What ranks exchange in each step. */
struct oa_ranks {
    struct rank_report *mine, *all; /* NULL: alone */
    size_t bytes;                   /* of one */
    double in_steps;                /* seconds that were spent in waits within steps */
    /* That, in messages that were under way meanwhile, in steps, and in these: when the newest line
     * of the log was written. */
    double waited, hidden, seconds, tokens;
    bool save; /* the first rank's clock asks for a checkpoint after this step */
};

struct trainer {
    oa_context *c;
    const struct oa_train_request *r;
    const struct oa_options *o;
    const char *folder; /* that this rank writes to: the first only; NULL on the others */
    struct oa_device *d;
    struct oa_model *m;
    oa_tape tape;
    struct oa_batches *train, *valid, *test; /* NULL: there are no such data */
    struct oa_stream stream;                 /* of dropout */
    struct oa_progress p;
    struct oa_pace pace;
    struct oa_best_files best;
    struct oa_origin origin;   /* of this session's texts, tokenizer and model to start from */
    struct oa_initial initial; /* that model, until the run has begun */
    struct oa_teacher teacher;
    double age; /* seconds since the checkpoint that was resumed was written; -1: none */
    struct oa_plan plan;
    double started, logged; /* clock: of this session, of the last progress line */
    double saved;           /* clock: of the newest checkpoint of this session, or its start */
    double cost;            /* seconds that the checkpoint took */
    long first;             /* step, tokens and seconds at which this session began */
    double first_tokens, first_seconds;
    char title[OA_OPTION_TEXT + 64]; /* of progress lines: "[3/18] softmax" */
    double times[OA_TIMES];
    double loss, norm; /* of the newest step */
    double *losses;    /* of its micro-batches [train.accumulate], each as a share of the step's */
    struct oa_tree_sum sum; /* of gradients, over the micro-batches of all ranks */
    struct oa_handout handout;
    struct oa_shards shards;
    struct oa_ranks ranks;
    struct oa_amount amount;
    int metric; /* number of the task's measure that the best model is chosen by */
    struct oa_run *run;
};

void oa_trainer_name(struct trainer *t); /* the title of progress lines */
enum oa_error oa_trainer_open(struct trainer *t);
void oa_trainer_close(struct trainer *t);        /* also after a failed open */
double oa_trainer_used(const struct trainer *t); /* seconds of the clock that measures the run */

/* Evaluates m on `tokens` tokens of the validation text (0: all); slow measures only if `last`.
 * NaN if a stop was requested. */
enum oa_error oa_trainer_evaluate(struct trainer *t, struct oa_model *m, long tokens, bool last);
bool oa_trainer_complete(const struct trainer *t); /* the newest validation ended, or none is due */
/* OA_INTERRUPTED, with the step and how to continue. */
enum oa_error oa_trainer_stopped(struct trainer *t);
/* Whether the run ends with averaged or best weights, not those of the last step. */
bool oa_trainer_ends_otherwise(const struct trainer *t);
enum oa_error oa_trainer_save_pace(struct trainer *t);
bool oa_trainer_time_to_save(const struct trainer *t); /* by the clock */
enum oa_error oa_ranks_open(struct trainer *t);
/* Sends values and position of the first rank, which alone reads and writes files, to all. */
enum oa_error oa_ranks_begin(struct trainer *t);
enum oa_error oa_ranks_after_gradients(struct trainer *t); /* losses of all micro-batches; stops */
/* With train.seconds, gives all ranks the first one's clock. waited: seconds that the cluster's
 * waits had taken before the step. */
enum oa_error oa_ranks_after_step(struct trainer *t, double waited);
/* Speed and waits of all ranks since the line before. */
void oa_ranks_log(struct trainer *t, struct oa_log_line *line);
/* Sends the values of m on the first rank to the others. */
enum oa_error oa_ranks_send_model(struct trainer *t, struct oa_model *m);
void oa_ranks_close(struct trainer *t);
/* Fills t->run with steps, tokens and times so far, also after divergence. */
void oa_trainer_account(struct trainer *t);
enum oa_error oa_trainer_finish(struct trainer *t); /* after the last step, on the first rank */
/* Of the model that the run ends with: on the first rank m, whose values the others get; then the
 * test, if there are data for it. */
enum oa_error oa_trainer_last_validation(struct trainer *t, struct oa_model *m);

#endif
