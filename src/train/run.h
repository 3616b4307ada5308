/* SPDX-License-Identifier: Apache-2.0
 * The measurements of a run: plain data.
 *
 * A task has measures (tasks/measure.h), of which the first is the validation loss. Arrays of
 * OA_MEASURES numbers have one of each, in the order of the task; place 0 is not used: the loss has
 * its own field. NaN: not measured. */
#ifndef ORTHANT_TRAIN_RUN_H
#define ORTHANT_TRAIN_RUN_H

#include "base/base.h"
#include "data/data.h"
#include "tasks/items.h"

/* One point of a loss curve. valid_loss is NaN where no validation was made. Losses are nats a
 * token. */
struct oa_curve_point {
    long step;
    double seconds, tokens; /* since the start of the run: training time, training tokens */
    double train_loss, valid_loss;
    double scores[OA_MEASURES];
};

/* Scores of the final model on the test data, made once, after all selection. */
struct oa_tested {
    bool made;
    double loss, targets; /* mean over so many tokens, classes or numbers */
    double perplexity, bits_per_character, bits_per_byte;
    double scores[OA_MEASURES];
};

/* One training run: one attention, one seed. */
struct oa_run {
    uint64_t seed;
    long steps;
    long best_step; /* the model, and with it the loss, is that of this step (train.keep_best); 0:
                       of the last */
    int averaged;   /* the model is the mean of the weights at so many steps (train.average); 0: of
                       one */
    double tokens;  /* training tokens seen */
    double valid_loss; /* in the unit of the task's loss, at the end, mean over valid_tokens */
    double scores[OA_MEASURES]; /* at the end */
    double valid_tokens;        /* so many tokens of the validation text were predicted for it */
    double perplexity;          /* exp(valid_loss); the unit is the tokeniser's token */
    double bits_per_character, bits_per_byte;
    struct oa_tested test;    /* made false: there are no test data */
    double seconds;           /* training time without validation, on the clock on the wall */
    double processor_seconds; /* the same in processor time of all threads */
    double seconds_per_step;  /* median */
    double tokens_per_second; /* tokens a step / median time */
    double flops;             /* of the whole training, forward + backward */
    double flops_per_step;
    /* Of a first stage that learned the outputs of attention (distil.teacher), not in the numbers
     * above: tokens, 0 where there was none, and the loss after it. */
    double attention_tokens, attention_loss;
    double peak_memory; /* bytes of all arenas and parameters */
    char weights[65];   /* SHA-256 of the final tensors' bytes, in the order of the file; "": not
                           known */
    char machine[256];  /* what trained it: "processor, instruction set, threads", and where it was
                         * begun; "": not known */
    bool
        absent; /* not trained, since the comparison did not need it; only the seed is valid then */
    bool failed;
    char failure[512]; /* why, when failed: the sentence of the error */
    struct oa_curve_point *curve;
    int points, capacity;              /* of the curve */
    struct oa_reading reading;         /* of the training text, by all steps */
    struct oa_details details;         /* of the model at the end */
    struct oa_items items, test_items; /* likewise, of the validation and of the test data */
};

void oa_run_free(struct oa_run *run);

/* ---- measures ---- */

/* Those of a task; NULL: the loss alone, in nats a token. Ended by name NULL. */
const struct oa_measure *oa_measures_or_loss(const struct oa_measure *measures);
int oa_measures_count(const struct oa_measure *measures); /* NULL: 1, the loss */
double oa_run_measured(const struct oa_run *r, int measure);
double oa_point_measured(const struct oa_curve_point *p, int measure);
/* Statistics and choices know one direction only: of costs, lower is better. A score as a cost, and
 * a cost as a score: the number itself, or where more is better its negative. */
double oa_cost(const struct oa_measure *m, double score);
void oa_scores_clear(double scores[OA_MEASURES]); /* nothing was measured */

#endif
