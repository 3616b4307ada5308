/* SPDX-License-Identifier: Apache-2.0
 * How long a run is, and how far it has come: a number of steps, or seconds of a clock.
 *
 * A run by the clock cannot know its number of steps before it ends, and its learning rate must
 * follow the time. So the budget is cut into OA_PACE_LEVELS equal parts, and the rate depends on
 * the part that a step began in. The steps with which the parts began are all that a clock has put
 * into the weights: they are in pace.json, and a run that reads them repeats the other bit for
 * bit, on a machine of any speed. */
#ifndef ORTHANT_TRAIN_PACE_H
#define ORTHANT_TRAIN_PACE_H

#include "base/base.h"

enum { OA_PACE_LEVELS = 256 };
#define OA_PACE_FILE "pace.json"

struct oa_pace {
    bool timed;    /* the learning rate follows levels, measured or read; otherwise steps */
    double budget; /* seconds; 0: nothing is measured */
    long steps;    /* of the whole run; -1: not known yet */
    long began[OA_PACE_LEVELS]; /* the step with which each level began, as far as they have */
    int levels;                 /* that have begun */
    long changed; /* the step after which the budget became another one, at last; 0: never */
};

/* From train.seconds, train.pace (a pace.json to repeat) and train.steps. A pace whose budget
 * changed on the way is not repeated: the rates of the steps before followed another one. */
enum oa_error oa_pace_open(oa_context *c, const struct oa_options *o, struct oa_pace *out);
/* After step `step`, `used` seconds of the budget being gone: a level may begin with the next step,
 * or the run may end. It ends with the step whose end is nearest to the budget, as far as the mean
 * step tells. */
void oa_pace_advance(struct oa_pace *p, long step, double used);
bool oa_pace_ended(const struct oa_pace *p, long step);
double oa_pace_rate(const struct oa_pace *p, const struct oa_options *o,
                    long step); /* learning rate */
double oa_pace_total(const struct oa_pace *p, long step,
                     double used); /* steps, known or estimated */

/* pace.json in a folder, with a checksum (base/checksum.h); nothing is written or read for a run
 * that is not measured. A run that goes on at `step` forgets what came later; with another budget
 * than in the file its levels become parts of that. */
enum oa_error oa_pace_save(oa_context *c, const struct oa_pace *p, const char *clock,
                           const char *path);
enum oa_error oa_pace_resume(oa_context *c, struct oa_pace *p, const char *path, long step);
enum oa_error oa_pace_steps(oa_context *c, const char *path,
                            long *steps); /* that such a file is about; -1: not ended */

#endif
