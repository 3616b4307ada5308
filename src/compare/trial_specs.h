/* SPDX-License-Identifier: Apache-2.0
 * Trials before they run (trial_specs.c). Private to compare/. */
#ifndef ORTHANT_TRIAL_SPECS_H
#define ORTHANT_TRIAL_SPECS_H

#include "compare/comparison_session.h"

/* compare.tune_steps is for the first attention; the others have more or fewer as in the
 * comparison. */
long oa_trial_steps(const struct comparison_session *t, int entry);
/* Trial number 0, 1, … of a cell. cell -1: the values that the comparison's options have. */
struct oa_options oa_trial_options(const struct comparison_session *t, int entry, int tuning,
                                   int cell, int number);
/* Without a title. */
enum oa_error oa_trial_spec(const struct comparison_session *t, int entry, int tuning, int cell,
                            int number, struct oa_run_spec *out);
/* Refuses a grid whose cells are not all the same model at the same cost. Opens the first tuning of
 * each entry. */
enum oa_error oa_trial_check_plans(struct comparison_session *t);
/* To be called when a trial ended: once, after one tuning of each attention, the time of all. */
void oa_tuning_log_times(struct comparison_session *t);

#endif
