/* SPDX-License-Identifier: Apache-2.0
 *
 * A contest while it is held: what its parts share. Private to contest/.
 *
 *     contest_options.c  what is asked for         (refused where a contest cannot do it)
 *     entries.c    who takes part                     (attentions in canonical form, the floor, the baseline)
 *     parents.c    which run of another contest each starts from
 *     budgets.c    what each run may spend            (plans, equal budgets, the options of a run)
 *     contest_describe.c  what is said of it beside its runs
 *     limits.c     what may be spent on it            (seeds and time, where it stops by itself)
 *     tune.c       options of each attention's own    (trials, and what they choose)
 *     run_order.c  one run to be made: in its folder, to its end, or read from there
 *     jobs.c       runs side by side
 *     vary.c       more runs, in which one source of chance varies alone
 *     speed.c      steps of all attentions in turn, timed when the runs have ended
 *     contest.c    the order of all this
 */
#ifndef ORTHANT_CONTEST_PARTS_H
#define ORTHANT_CONTEST_PARTS_H

#include "contest/contest.h"
#include "contest/contest_file.h"
#include "contest/overall.h"
#include "contest/run_order.h"

struct contest {
    oa_context *c;
    const struct oa_contest_request *r;
    struct oa_contest *out;
    struct oa_options asked; /* the request's; where train.init names a contest, with the first run there instead */
    struct oa_workload workload;
    struct oa_workload held; /* borrowed from it: what trials train on and are judged by */
    struct oa_workplace here;
    long *steps, *ffn;        /* of each attention: what makes the budgets equal */
    int *place;               /* of each attention among the contest's members; -1: it is new */
    bool *there;              /* [entries][seeds]: whether the folder has the end of that run */
    json_t *shared, *members; /* of contest.json */
    struct oa_overall overall;
    bool served; /* other ranks wait for orders, until they are dismissed */
};

/* contest_options.c: refuses what a contest cannot do, before anything is opened; reads compare.tune. */
enum oa_error oa_contest_check_options(struct contest *t);

/* entries.c: allocates what has a place for each attention; the floor is the last. */
enum oa_error oa_contest_entries(struct contest *t);
enum oa_error oa_contest_baseline(struct contest *t);
int oa_contest_contestants(const struct contest *t); /* all but the floor */

/* parents.c, where train.init names a contest: the first run there for t->asked; then those of each attention. */
enum oa_error oa_contest_parents_named(struct contest *t);
enum oa_error oa_contest_parents(struct contest *t);
const struct oa_parent *oa_contest_parent(const struct contest *t, int entry, long seed); /* NULL: there is none */
/* Options of a run, with train.seed, begin from its parent, if it has one. */
void oa_contest_begin_from(const struct contest *t, int entry, struct oa_options *o);

/* contest_describe.c: what of t->out is known when the texts are open. */
enum oa_error oa_contest_describe(struct contest *t);

/* limits.c: refuses what says nothing or contradicts itself, and fills what of t->out->until is known beforehand. */
enum oa_error oa_contest_limits(struct contest *t);

/* budgets.c. Members that the contest has already (place >= 0) keep their budgets. */
enum oa_error oa_contest_equalise(struct contest *t);
bool oa_contest_by_time(const struct contest *t);
/* Equal time is known when the first attention's run of that seed is; that must not have failed. */
bool oa_contest_budget_known(const struct contest *t, int entry, int seed);
enum oa_error oa_contest_check_budget(struct contest *t, int entry, int seed);
struct oa_options oa_contest_options(const struct contest *t, int entry, int seed); /* of that run */

/* tune_request.c and tune.c, in the order of a contest; without compare.tune they do nothing. */
enum oa_error oa_contest_tune_read(struct contest *t); /* the options: before anything is opened */
enum oa_error oa_contest_tune_open(struct contest *t); /* the split of the text, room for trials */
void oa_contest_tune_fingerprint(const struct contest *t, json_t *shared);
int oa_contest_tune_recorded(const struct contest *t, int place); /* cell chosen by an earlier call; -1: none */
enum oa_error oa_contest_tune_look(struct contest *t);            /* at trials that are there; writes nothing */
void oa_contest_tune_expect(struct contest *t);                   /* all trials, in t->overall */
enum oa_error oa_contest_tune(struct contest *t);                 /* makes them and chooses */
bool oa_contest_tuned(const struct contest *t);
/* The seed of trials number 0, 1, …: none that a contest with this train.seed can have, however many seeds are added.
 */
long oa_trial_seed(long train_seed, int number);

#endif
