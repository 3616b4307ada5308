/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison while it is held: what its parts share. Private to compare/.
 *
 *     comparison_options.c  what is asked for         (refused where a comparison cannot do it)
 *     entries.c    who takes part                     (attentions in canonical form, the floor, the
 * baseline) parents.c    which run of another comparison each starts from budgets.c    what each
 * run may spend            (plans, equal budgets, the options of a run) comparison_describe.c  what
 * is said of it beside its runs limits.c     what may be spent on it            (seeds and time,
 * where it stops by itself) tune.c       options of each attention's own    (trials, and what they
 * choose) run_order.c  one run to be made: in its folder, to its end, or read from there jobs.c
 * runs side by side vary.c       more runs, in which one source of chance varies alone speed.c
 * steps of all attentions in turn, timed when the runs have ended comparison.c    the order of all
 * this
 */
#ifndef ORTHANT_COMPARISON_PARTS_H
#define ORTHANT_COMPARISON_PARTS_H

#include "compare/comparison.h"
#include "compare/comparison_file.h"
#include "compare/overall.h"
#include "compare/run_order.h"

struct comparison {
    oa_context *c;
    const struct oa_comparison_request *r;
    struct oa_comparison *out;
    struct oa_options asked; /* the request's; where train.init names a comparison, with the first
                                run there instead */
    struct oa_workload workload;
    struct oa_workload held; /* borrowed from it: what trials train on and are judged by */
    struct oa_workplace here;
    long *steps, *ffn;        /* of each attention: what makes the budgets equal */
    int *place;               /* of each attention among the comparison's members; -1: it is new */
    bool *there;              /* [entries][seeds]: whether the folder has the end of that run */
    json_t *shared, *members; /* of contest.json */
    struct oa_overall overall;
    bool served; /* other ranks wait for orders, until they are dismissed */
};

/* comparison_options.c: refuses what a comparison cannot do, before anything is opened; reads
 * compare.tune. */
enum oa_error oa_comparison_check_options(struct comparison *t);

/* entries.c: allocates what has a place for each attention; the floor is the last. */
enum oa_error oa_comparison_entries(struct comparison *t);
enum oa_error oa_comparison_baseline(struct comparison *t);
int oa_comparison_contenders(const struct comparison *t); /* all but the floor */

/* parents.c, where train.init names a comparison: the first run there for t->asked; then those of
 * each attention. */
enum oa_error oa_comparison_parents_named(struct comparison *t);
enum oa_error oa_comparison_parents(struct comparison *t);
const struct oa_parent *oa_comparison_parent(const struct comparison *t, int entry,
                                             long seed); /* NULL: there is none */
/* Options of a run, with train.seed, begin from its parent, if it has one. */
void oa_comparison_begin_from(const struct comparison *t, int entry, struct oa_options *o);

/* comparison_describe.c: what of t->out is known when the texts are open. */
enum oa_error oa_comparison_describe(struct comparison *t);

/* limits.c: refuses what says nothing or contradicts itself, and fills what of t->out->until is
 * known beforehand. */
enum oa_error oa_comparison_limits(struct comparison *t);

/* budgets.c. Members that the comparison has already (place >= 0) keep their budgets. */
enum oa_error oa_comparison_equalise(struct comparison *t);
bool oa_comparison_by_time(const struct comparison *t);
/* Equal time is known when the first attention's run of that seed is; that must not have failed. */
bool oa_comparison_budget_known(const struct comparison *t, int entry, int seed);
enum oa_error oa_comparison_check_budget(struct comparison *t, int entry, int seed);
struct oa_options oa_comparison_options(const struct comparison *t, int entry,
                                        int seed); /* of that run */

/* tune_request.c and tune.c, in the order of a comparison; without compare.tune they do nothing. */
enum oa_error
oa_comparison_tune_read(struct comparison *t); /* the options: before anything is opened */
enum oa_error
oa_comparison_tune_open(struct comparison *t); /* the split of the text, room for trials */
void oa_comparison_tune_fingerprint(const struct comparison *t, json_t *shared);
int oa_comparison_tune_recorded(const struct comparison *t,
                                int place); /* cell chosen by an earlier call; -1: none */
enum oa_error
oa_comparison_tune_look(struct comparison *t);        /* at trials that are there; writes nothing */
void oa_comparison_tune_expect(struct comparison *t); /* all trials, in t->overall */
enum oa_error oa_comparison_tune(struct comparison *t); /* makes them and chooses */
bool oa_comparison_tuned(const struct comparison *t);
/* The seed of trials number 0, 1, …: none that a comparison with this train.seed can have, however
 * many seeds are added.
 */
long oa_trial_seed(long train_seed, int number);

#endif
