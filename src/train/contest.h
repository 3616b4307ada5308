/* SPDX-License-Identifier: Apache-2.0
 *
 * What a contest between attentions measured: plain data, made by train/contest.c, read by report/. Statistics over it
 * (means, intervals, paired tests) belong to report/statistics.c.
 */
#ifndef ORTHANT_TRAIN_CONTEST_H
#define ORTHANT_TRAIN_CONTEST_H

#include "base/base.h"

/* One point of a loss curve. valid_loss is NaN where no validation was made. Losses are nats a token. */
struct oa_curve_point {
    long step;
    double seconds, tokens; /* since the start of the run: training time, training tokens */
    double train_loss, valid_loss;
};

/* One training run: one attention, one seed. */
struct oa_run {
    uint64_t seed;
    long steps;
    double tokens;     /* training tokens seen */
    double valid_loss; /* nats a token, at the end, on the whole validation text */
    double perplexity; /* exp(valid_loss); the unit is the tokeniser's token */
    double bits_per_character, bits_per_byte;
    double seconds;           /* training time without validation */
    double seconds_per_step;  /* median */
    double tokens_per_second; /* tokens a step / median time */
    double flops;             /* of the whole training, forward + backward */
    double flops_per_step;
    double peak_memory; /* bytes of all arenas and parameters */
    bool failed;
    char failure[512]; /* why, when failed: the sentence of the error */
    struct oa_curve_point *curve;
    int points, capacity; /* of the curve */
};

/* One attention over all seeds; runs[s].seed is the same for every entry: runs of one column are paired. */
struct oa_entry {
    char *attention;          /* canonical form */
    double trainable, frozen; /* parameters */
    struct oa_run *runs;
};

struct oa_contest {
    struct oa_entry *entries;
    int count, seeds;
    char equal[16];                         /* tokens, time, params, flops */
    double characters, bytes, valid_tokens; /* of the validation text */
    char *options_json;                     /* the options all runs share */
    char *machine_json; /* what ran where: processor, isa, threads, memory, kernels, versions, date */
};

void oa_contest_free(struct oa_contest *contest);

#endif
