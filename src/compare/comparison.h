/* SPDX-License-Identifier: Apache-2.0
 *
 * comparison: N attentions × S seeds under one budget, and what they measured. Read comparison.c
 * first.
 *
 *     oa_train_run (train.h) for each cell  ──>  struct oa_comparison, plain data  ──>  report
 *
 * Statistics over it (means, intervals, paired tests) belong to report/. Of the measures of its
 * task (train/run.h) a comparison is about one, its metric.
 */
#ifndef ORTHANT_COMPARISON_H
#define ORTHANT_COMPARISON_H

#include "compare/grid.h"
#include "compare/threshold.h"
#include "train/train.h"

/* A run of another comparison that a run starts from (train.init names that comparison;
 * initial_runs.h). */
struct oa_initial_run {
    long seed;
    char folder[OA_OPTION_TEXT];
    struct oa_digest model; /* of its model file */
};

/* What one tuning of an attention tried and chose: that of one seed of the comparison, or the one
 * that all its seeds share. */
struct oa_tuned {
    struct oa_grid grid;   /* compare.tune's, with the values that were added to it */
    struct oa_run *trials; /* [cells of the grid][seeds of the tuning] without curves; NULL: none */
    int chosen;            /* the cell whose values the runs have; -1: none yet */
};

/* One attention over all seeds; runs[s].seed is the same for every entry: runs of one column are
 * paired. The runs that were made are the first ones. */
struct oa_entry {
    char *attention;          /* canonical form */
    double trainable, frozen; /* parameters */
    long ffn;                 /* feed-forward width; 0: not known */
    bool uniform;             /* the uniform baseline, which is compared and not ranked */
    struct oa_run *runs;      /* [seeds] */
    struct oa_tuned *tuned;   /* [oa_tunings()]; NULL: not tuned */
    struct oa_initial_run *initial_runs; /* of the same attention, by seed; NULL: none */
    int initial_run_count;
    double *step_seconds; /* [rounds] a training step in each; NULL: not measured */
    int started, tensors; /* of so many tensors so many have values of train.init; 0, 0: none */
};

/* How options were tuned before the comparison (tune.c): the runs of an attention have the values
 * that were best for it. */
struct oa_tuning {
    struct oa_grid grid; /* of compare.tune; no options: nothing was tuned */
    bool per_seed;       /* each seed of the comparison has a tuning of its own, in whose trials the
                            luck of the choice varies; else all share one */
    bool older;          /* begun by a program that knew neither per_seed nor extend */
    int extend;          /* so many values may be added to an option */
    int seeds;           /* trials of each cell */
    double fraction;     /* of the training text that judged them; they trained on the rest */
    double train_tokens, valid_tokens;
};

/* A run in which one source of randomness has another seed than in the first run of its attention.
 */
struct oa_varied {
    uint64_t seed; /* of that source */
    double score;  /* in what the comparison is about; NaN: the run diverged */
};
struct oa_vary {
    int values; /* of each source; 0: nothing was varied alone */
    bool varied[OA_CHANCES],
        idle[OA_CHANCES];   /* idle: asked for, and without effect in these models */
    struct oa_varied *runs; /* [entries, OA_CHANCES, values]; the first is the shared run */
};
/* The runs of an entry and a source. */
struct oa_varied *oa_varied_of(const struct oa_vary *v, int entry, enum oa_chance source);

/* The run of that attention with that seed, both from 0. */
struct oa_cell {
    int entry, seed;
};

/* How a comparison that adds seeds only where it is not resolved yet (compare.until_resolved)
 * ended. */
enum oa_ending { OA_ENDING_NONE, OA_ENDING_RESOLVED, OA_ENDING_SEEDS, OA_ENDING_BUDGET };
struct oa_until {
    enum oa_ending ending; /* NONE: every attention has the number of seeds that was asked for */
    int least, most;       /* seeds of an attention */
    int rounds;            /* that trained something, or would have, had it not been there */
    double budget, spent;  /* seconds of the clock, over all calls; budget 0: none */
};

struct oa_comparison {
    struct oa_entry *entries;
    int count, seeds; /* seeds: the most that an entry has */
    int rounds; /* in each of which the steps of every attention were timed, in turn; 0: none */
    char speed_machine[256];                /* where: "processor, instruction set, threads" */
    enum oa_equal equal;                    /* the budget that all runs have equal */
    double characters, bytes, valid_tokens; /* of the validation text */
    double test_targets;                    /* of the test data; 0: there are none */
    bool examples; /* these are all targets of examples; else tokens, the first of which is none */
    double eval_tokens; /* predicted by each validation during the training */
    int baseline;       /* number from 1 of the entry that all others are compared with; 0: none */
    enum oa_family_kind family;  /* which comparisons are judged (report/against.h) */
    enum oa_error_estimate test; /* how standard errors of differences are estimated */
    bool sequential;             /* verdicts hold with any number of interim analyses */
    double level;                /* that any of the judged intervals misses; 0: 0.05 */
    double margin;               /* of practical equivalence, in the metric's unit; 0: none */
    bool random_items; /* verdicts are over seeds and items, which every run has in the metric */
    struct oa_measure *measures;   /* of the task, ended by name NULL; NULL: the loss alone, nats */
    int metric;                    /* number of the one that the comparison is about */
    struct oa_threshold threshold; /* of a solved task */
    struct oa_tuning tuning;
    struct oa_until until;
    struct oa_vary vary;
    struct {
        bool fixed; /* the source is the same in all runs, by train.seed_init and the like */
        long seed;
    } source[OA_CHANCES];
    double attention_dropout; /* of all runs; 0 also where it was tuned */
    bool imported; /* runs of another program (import/): of them only seeds, steps and the metric
                      are known, and their entries are called systems */
    bool unpaired; /* runs of one column have nothing in common; each entry's are a sample */
    char *remarks; /* sentences about how they were read, each after a blank; or NULL */
    char *initial_comparison; /* folder of the comparison that this one starts from; or NULL */
    char *teacher;            /* the one run that all start from, if it is a model of the task;
                                 or NULL */
    double teacher_score, teacher_loss; /* of that run, in the metric, before any training */
    char *options_json; /* the options all runs share: without those that were tuned */
    char *machine_json; /* processor, isa, threads, memory, kernels, versions, date */
};

/* What its entries are called: "attention", of imported runs "system"; and with the article. */
const char *oa_entry_kind(const struct oa_comparison *k);
const char *oa_an_entry(const struct oa_comparison *k);
/* "seed"; where runs are not paired by it, "run". */
const char *oa_run_kind(const struct oa_comparison *k);
/* Its name in reports and messages: its attention, or "uniform baseline". */
const char *oa_entry_name(const struct oa_entry *e);
/* Trained to its end, with a finite loss and a finite score in the metric. */
bool oa_run_finished(const struct oa_comparison *k, const struct oa_run *r);
int oa_runs_made(const struct oa_entry *e, int seeds);
void oa_comparison_free(struct oa_comparison *comparison);

/* ---- measures ---- */

/* The measure that the comparison is about. Borrowed from it. */
const struct oa_measure *oa_compared_measure(const struct oa_comparison *k);
/* Borrowed; NULL past the end. */
const struct oa_measure *oa_comparison_measure(const struct oa_comparison *k, int i);
/* Tunings of each attention: one for each seed, or one. */
int oa_tunings(const struct oa_comparison *k);
/* The one that the run of that attention and seed (from 0) has its values from. */
struct oa_tuned *oa_tuned_of(const struct oa_comparison *k, int entry, int seed);
/* The score of a run in the metric. */
double oa_run_score(const struct oa_comparison *k, const struct oa_run *r);
/* Gives the comparison a copy of a task's measures. */
enum oa_error oa_comparison_set_measures(oa_context *c, struct oa_comparison *k,
                                         const struct oa_measure *measures, int metric);

/* ---- trials of an attention (trials.c) ---- */

/* A tuning with the grid of compare.tune, no trial of which is made yet. */
enum oa_error oa_tuned_open(oa_context *c, const struct oa_comparison *k, struct oa_tuned *out);
/* True: all trials of the grid are made. */
bool oa_tuned_made(const struct oa_comparison *k, const struct oa_tuned *u);
/* Mean of the measure over the seeds of a cell; NaN when any of its trials diverged. */
double oa_trial_mean(const struct oa_comparison *k, const struct oa_tuned *u, int cell,
                     int measure);
/* The cell with the best mean of the metric, the first of equal ones; -1: every cell diverged. */
int oa_trial_best(const struct oa_comparison *k, const struct oa_tuned *u);
/* Adds to each option whose best value is at an edge the next one outward (oa_grid_next), unless
 * tuning.extend or the grid allows no more: *added of them. Every combination with it becomes a
 * cell, whose trials are not made yet. To be called until none is added, with all trials made. */
enum oa_error oa_trial_extend(oa_context *c, const struct oa_comparison *k, struct oa_tuned *u,
                              int *added);
/* True: the loss is the same with all values of the option, whatever the others are. */
bool oa_trial_idle(const struct oa_comparison *k, const struct oa_tuned *u, int option);
/* Sentences, with a blank between, about options that are idle or whose chosen value is at an edge;
 * nothing when there are none. */
void oa_trial_remarks(const struct oa_comparison *k, int entry, struct oa_text *out);
/* 1: the value that the cell has of the option is the largest that was tried, -1: the smallest; 0:
 * neither, or the option allows no larger or smaller one, or its values are not numbers. */
int oa_trial_edge(const struct oa_comparison *k, const struct oa_tuned *u, int cell, int option);
struct oa_trial_cost {
    int runs, failed;
    double steps, flops, processor_seconds, seconds; /* of diverged ones up to where they did */
};
/* Adds the trials of all tunings of the attention. */
void oa_trial_cost_sum(const struct oa_comparison *k, int entry, struct oa_trial_cost *sum);

/* ---- running one (comparison.c) ---- */

struct oa_comparison_request {
    const struct oa_options *options; /* compare.seeds, compare.equal and all the rest */
    const char *const *attentions;
    int count;
    struct oa_cluster *cluster; /* ranks that train runs as well (only the first runs the
                                   comparison); NULL: none */
    const char *folder;         /* of runs: runs/attention-NN/seed-N/ below it */
    bool overwrite;             /* remove the comparison in the folder before anything is written */
    /* Called when all was checked, before anything is trained; NULL: nothing. */
    void (*announce)(oa_context *c, const struct oa_comparison *k, const char *folder);
};
/* Trains what is not in the folder yet. Finished runs in it are used when their fingerprints
 * (fingerprint.h) are those of this request; OA_ARGUMENT when anything in it belongs to another
 * comparison, OA_FORMAT when a file was changed. Runs that diverge are results (oa_run.failed).
 * OA_INTERNAL when two seeds gave the same model, bit for bit. */
enum oa_error oa_comparison_run(oa_context *c, const struct oa_comparison_request *r,
                                struct oa_comparison *out);
/* The checks that oa_comparison_run makes before its first run: options, attentions, texts,
 * models that cannot be made, another comparison in the folder. Trains nothing, and writes nothing.
 */
enum oa_error oa_comparison_check(oa_context *c, const struct oa_comparison_request *r);

/* The same in pieces, for callers that decide from the runs so far which ones to make next: open
 * (all runs are absent), make, finish, close. Request and comparison stay where they are until the
 * end; after a failed open, too, both the comparison and the session (it may be NULL) are to be
 * freed. The seeds of an attention are to be made in their order. */
struct comparison_session;
enum oa_error oa_comparison_open(oa_context *c, const struct oa_comparison_request *r,
                                 struct oa_comparison *out, struct comparison_session **session);
enum oa_error oa_comparison_make(struct comparison_session *s, const struct oa_cell *cells,
                                 int count);
/* True: the run has ended already. */
bool oa_comparison_has(const struct comparison_session *s, const struct oa_cell *cell);
/* After the runs: trains those of compare.vary, which share the first seed's, and times steps. */
enum oa_error oa_comparison_finish(struct comparison_session *s);
void oa_comparison_close(struct comparison_session *s);

#endif
