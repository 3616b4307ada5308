/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison while it runs: what its parts share. Private to compare/.
 *
 *     comparison.c        the sequence of these steps; the runs
 *     comparison_setup.c  checks of options and limits; entries; what is recorded next to the runs
 *     initial_runs.c      the run of another comparison that each run starts from
 *     budgets.c           equal budgets; the options of a run
 *     tune.c              trials, and the values that each attention takes from them
 *     tune_options.c      what is tuned, on which part of the text
 *     trial_specs.c       the runs of a tuning as they are planned
 *     run_spec.c          trains runs in their folders, or reads those that ended
 *     jobs.c              runs in parallel
 *     vary.c              more runs, in which one source of randomness varies alone
 *     speed.c             steps of all attentions, timed in turn after the runs
 */
#ifndef ORTHANT_COMPARISON_SESSION_H
#define ORTHANT_COMPARISON_SESSION_H

#include "compare/comparison.h"
#include "compare/comparison_file.h"
#include "compare/overall.h"
#include "compare/run_spec.h"

struct comparison_session {
    oa_context *c;
    const struct oa_comparison_request *r;
    struct oa_comparison *out;
    struct oa_options asked; /* the request's; where train.init names a comparison, with the first
                                run there instead */
    struct oa_workload workload;
    struct oa_workload tuning; /* borrows from it: what trials train on and are validated by */
    struct oa_workplace here;
    long *steps, *ffn;        /* [entries] steps and feed-forward width that make budgets equal */
    int *place;               /* [entries] among the comparison's members; -1: it is new */
    bool *ended;              /* [entries][seeds]: the folder has the result of that run */
    json_t *shared, *members; /* of contest.json */
    struct oa_overall overall;
    bool dispatching; /* other ranks wait for commands until they are dismissed */
};

/* Spec of a run of the entry in `folder`, which is below that of the comparison. */
enum oa_error oa_comparison_spec(const struct comparison_session *t, int entry,
                                 const struct oa_options *options, const struct oa_workload *w,
                                 const char *folder, struct oa_run_spec *out);
/* Trains the runs, as many at once as compare.jobs allows; ended, argument: as in run_spec.h. */
enum oa_error oa_comparison_train(struct comparison_session *t, const struct oa_run_spec *specs,
                                  long count, struct oa_workplace *place,
                                  enum oa_error (*ended)(void *, long, struct oa_run *),
                                  void *argument);

/* ---- comparison_setup.c ---- */

/* Checks the options before anything is opened; reads compare.tune. */
enum oa_error oa_comparison_check_options(struct comparison_session *t);
/* Fills what of t->out is known when the data are open: the options that all runs share, machine,
 * sizes; the entries, the uniform baseline last; the baseline; limits on seeds and time. */
enum oa_error oa_comparison_set_up(struct comparison_session *t);
/* Entries without the uniform baseline. */
int oa_comparison_attention_count(const struct comparison_session *t);

/* ---- initial_runs.c, where train.init names a comparison ---- */

/* The first run there for t->asked. */
enum oa_error oa_comparison_name_initial_run(struct comparison_session *t);
/* Those of each entry. */
enum oa_error oa_comparison_read_initial_runs(struct comparison_session *t);
/* Sets train.init of a run of the entry with o->train_seed. */
void oa_comparison_set_initial_run(const struct comparison_session *t, int entry,
                                   struct oa_options *o);

/* ---- budgets.c ---- */

/* Members that the comparison has already (place >= 0) keep their budgets. */
enum oa_error oa_comparison_equalise(struct comparison_session *t);
/* Logs which attentions have feed-forward layers of a width that is far from the first one's. */
void oa_comparison_log_widths(const struct comparison_session *t);
bool oa_comparison_by_time(const struct comparison_session *t);
/* Equal time is known when the first attention's run of that seed is; that must not have failed. */
bool oa_comparison_budget_known(const struct comparison_session *t, int entry, int seed);
enum oa_error oa_comparison_check_budget(struct comparison_session *t, int entry, int seed);
struct oa_options oa_comparison_options(const struct comparison_session *t, int entry, int seed);

/* ---- tune.c, tune_options.c and trial_specs.c, in this order; without compare.tune they do
 * nothing ---- */

/* Reads the options, and what the comparison in the folder began with, before anything is opened.
 */
enum oa_error oa_comparison_tune_read(struct comparison_session *t);
/* Splits the text, allocates the tunings. */
enum oa_error oa_comparison_tune_open(struct comparison_session *t);
void oa_comparison_tune_fingerprint(const struct comparison_session *t, json_t *shared);
/* Checks the trials that are there, and takes choices of earlier calls; writes nothing. */
enum oa_error oa_comparison_tune_check(struct comparison_session *t);
/* Adds the trials of all tunings to t->overall, unless seeds are added to the comparison while it
 * runs. */
void oa_comparison_tune_expect(struct comparison_session *t);
/* Logs how many trials are planned, and what they and the comparison cost. */
enum oa_error oa_comparison_tune_announce(struct comparison_session *t);
/* Trains the trials that these runs have their values from, and chooses. */
enum oa_error oa_comparison_tune(struct comparison_session *t, const struct oa_cell *cells,
                                 int count);
bool oa_comparison_tuned(const struct comparison_session *t);
/* The seed of trials number 0, 1, …: none that a comparison with this train.seed can have, however
 * many seeds are added. */
long oa_trial_seed(long train_seed, int number);

/* ---- vary.c ---- */

/* Reads compare.vary into out->vary, and refuses what cannot be varied. Writes nothing. */
enum oa_error oa_comparison_vary_read(struct comparison_session *t);
/* Adds all these runs to t->overall. */
void oa_comparison_vary_expect(struct comparison_session *t);
/* Trains the runs of compare.vary, or reads them; after the others. */
enum oa_error oa_comparison_vary(struct comparison_session *t);

#endif
