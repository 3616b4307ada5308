/* SPDX-License-Identifier: Apache-2.0
 *
 * evidence: published claims tested by comparisons. An experiment is a YAML file: the
 * configuration of a comparison (as `orthant compare --config` reads it) and a section `claim`
 * with what was published and what it predicts here (docs/evidence-experiments.md describes it).
 * The predictions are declared before anything is run (declared.c). The results of the comparisons
 * are stored without curves in files with checksums (record.c), from which verdicts (judge.c) and
 * pages (evidence_page.c, evidence_json.c) are made.
 *
 *     experiment.c: file ──> struct oa_experiment ┐
 *     record.c: results.json ──> record ──────────┴─ judge.c ──> struct oa_judged ──> pages
 *
 * Nothing here trains: api/api_evidence.c does, by oa_compare.
 */
#ifndef ORTHANT_EVIDENCE_H
#define ORTHANT_EVIDENCE_H

#include "compare/comparison.h"
#include "print/print.h"
#include "statistics/family.h"
#include "statistics/fieller.h"

#include <jansson.h>

/* ---- experiments (experiment.c, prediction.c) ---- */

/* The first four are about scores. */
enum oa_relation {
    OA_BETTER_THAN,
    OA_WORSE_THAN,
    OA_AS_GOOD_AS,
    OA_AT_LEAST_AS_GOOD_AS,
    OA_FASTER_THAN,    /* a training step, in rounds of one comparison */
    OA_SAME_AS,        /* the rankings of two comparisons */
    OA_KEEPS_AT_LEAST, /* of what the baseline or softmax gains over the uniform baseline */
    OA_AS_STABLE_AS,   /* the largest places of the axis up to which training works */
    OA_RELATIONS
};
const char *oa_relation_words(enum oa_relation r); /* "better than" */

#define OA_CLAIMED_UNIFORM "floor"
#define OA_CLAIMED_RANKING "ranking"
struct oa_claimed {
    char *attention; /* canonical, or one of the words above */
    int variant;     /* -1: each */
};
struct oa_prediction {
    char *text; /* as it was written */
    enum oa_relation relation;
    struct oa_claimed left, right; /* both or none name a variant */
    double share;                  /* of OA_KEEPS_AT_LEAST, whose right side is this as text */
};
#define OA_ONLY_VARIANT "comparison"
#define OA_ONLY_VARIANT_FORMER "contest" /* of earlier versions, whose files are still read */
struct oa_variant {
    char *name; /* OA_ONLY_VARIANT where the file has no variants */
    bool only;  /* the file has no variants */
    double at;  /* NaN: not given */
    int from;   /* number of the variant whose runs its own start from; -1: none */
    struct oa_options
        options;      /* files as the experiment names them, relative to the folder of the data */
    char **attention; /* canonical; [attentions] */
    int attentions;
};
struct oa_experiment {
    char *name, *path; /* the file, and its name without folder and .yaml */
    json_t *claim;     /* the section */
    struct oa_variant *variants;
    int variant_count;
    struct oa_prediction *predictions;
    int prediction_count;
    double order; /* its place on the page: `order` of the claim, INFINITY without one */
};
/* An error names file and line: of a missing or unknown key, an attention that is not in the
 * comparison, a prediction that needs a margin. Free it also after an error. */
enum oa_error oa_experiment_read(oa_context *c, const char *path, struct oa_experiment *out);
void oa_experiment_free(struct oa_experiment *e);
/* "title", "source" …, or a member of `data`; "" where it was not given. */
const char *oa_claim_text(const struct oa_experiment *e, const char *key);
const char *oa_claim_data(const struct oa_experiment *e, const char *key);
const char *oa_claim_published(const struct oa_experiment *e, int i); /* NULL past the end */
bool oa_experiment_plain(const struct oa_experiment *e); /* one comparison, no variants */
/* The options of a variant with its files in the folder `data`; names that begin with / or data/
 * stay. OA_IO when one does not exist: the message tells where to get it. */
enum oa_error oa_variant_options(oa_context *c, const struct oa_experiment *e,
                                 const struct oa_variant *v, const char *data,
                                 struct oa_options *out);
/* Adds the SHA-256 of each existing file of its data to the JSON object `out`, by the name in the
 * experiment: {"text.txt": "sha256:…"}; of a run that others start from, that of its model. */
enum oa_error oa_experiment_digests(oa_context *c, const struct oa_experiment *e, const char *data,
                                    json_t *out);

/* All files *.yaml of a folder, by name. */
struct oa_experiments {
    struct oa_experiment *at;
    int count;
};
enum oa_error oa_experiments_read(oa_context *c, const char *folder, struct oa_experiments *out);
void oa_experiments_free(struct oa_experiments *e);

/* ---- what was declared before the first run (declared.c) ---- */

/* Writes folder/declared.json, or compares it with the experiment: predictions, options that
 * decide a number or a verdict, and contents of the data must be as they were declared.
 * data: the folder of the data. */
enum oa_error oa_declare(oa_context *c, const struct oa_experiment *e, const char *data,
                         const char *folder);
struct oa_declared {
    char date[16];   /* when, "2025-01-31"; "": nothing was declared */
    json_t *changed; /* names of the claim's texts that are not as they were declared, as JSON;
                        NULL: nothing was */
};
/* The same without writing, and without data. json_decref out->changed, also after an error. */
enum oa_error oa_declared_check(oa_context *c, const struct oa_experiment *e, const char *folder,
                                struct oa_declared *out);

/* OA_FORMAT: the folder has no declaration, though the result at the path `result` exists. */
enum oa_error oa_declared_at_all(oa_context *c, const struct oa_experiment *e, const char *folder,
                                 const char *result);

/* ---- records of comparisons (record.c, whose.c) ---- */

/* folder/NAME and the ending: "" is the folder of the comparison, ".json" its record. Where only
 * files of earlier versions are there, their name. */
enum oa_error oa_variant_path(oa_context *c, const char *folder, const struct oa_variant *v,
                              const char *ending, char out[OA_PATH]);
/* Writes folder/NAME.json: folder/NAME/results.json without curves, texts and trials, with a
 * checksum; it names its variant (whose.c). */
enum oa_error oa_record_write(oa_context *c, const char *folder, const struct oa_variant *v);
/* *out NULL: there is none. OA_FORMAT: it is of another variant, of other options or of another
 * declaration, or nothing was declared. */
enum oa_error oa_record_read(oa_context *c, const char *folder, const struct oa_experiment *e,
                             const struct oa_variant *v, json_t **out);
/* Has it as many seeds as the options ask for, or did it end because all was resolved? */
bool oa_record_complete(const json_t *record, const struct oa_options *o);
int oa_record_entry(
    const json_t *record,
    const char *attention); /* -1: there is none; OA_CLAIMED_UNIFORM: the uniform baseline */

/* The measure that the comparison ranks by. */
struct oa_record_measure {
    const char *name, *unit; /* unit of a difference: "nats a token", "% points" */
    int decimals;
    bool higher;
    double best; /* the best possible value; NaN: not recorded */
};
struct oa_record_measure oa_record_measure_of(const json_t *record);
struct oa_estimate oa_record_score(const json_t *record, int entry);
/* The score of a run; NaN when it failed. *seed is set. */
double oa_record_run(const json_t *record, int entry, int run, json_int_t *seed);
int oa_record_runs(const json_t *record, int entry);
double oa_record_loss(const json_t *record, int entry, int run, json_int_t *seed); /* likewise */
/* The entry whose gain over the uniform baseline is 1: the baseline, or softmax. -1: there is none.
 */
int oa_record_whole(const json_t *record);
/* The speed of a training step of entry a over that of entry b, by the rounds in which the
 * comparison timed both; n is 0 where it did not. */
struct oa_range oa_record_speed(const json_t *record, int a, int b);
struct oa_record_cost {
    double runs, flops, processor_seconds; /* with those of the tuning */
};
struct oa_record_cost oa_record_cost_of(const json_t *record);

/* ---- verdicts (judge.c, score_findings.c) ---- */

/* Pairs of attentions, by what was found of each pair in both comparisons. */
struct oa_ranking {
    int alike;   /* the same one is better in both, or they are equivalent in both */
    int opposed; /* the one that is better here is worse there */
    int open;    /* inconclusive in at least one */
};
/* Seeds, by which of two attentions works up to a larger value on the axis (stability.c). */
struct oa_stability {
    int seeds, left_larger, right_larger;
    int unlimited;                  /* both work at all values */
    double left_limit, right_limit; /* the largest value at which all seeds work; NaN: none */
};
enum oa_claim_verdict {
    OA_CLAIM_NOT_RUN,
    OA_CLAIM_HOLDS,
    OA_CLAIM_FAILS,
    OA_CLAIM_INCONCLUSIVE,
    OA_CLAIM_UNTESTABLE
};
const char *oa_claim_verdict_words(enum oa_claim_verdict v); /* "holds here", … */

/* A prediction in one variant, or between two. */
struct oa_finding {
    int prediction, left, right; /* variants */
    enum oa_claim_verdict verdict;
    struct oa_against against; /* the left one against the right one; the difference is of scores */
    struct oa_range speed;     /* of OA_FASTER_THAN: how many times as fast the left one was */
    struct oa_fieller share;   /* of OA_KEEPS_AT_LEAST */
    struct oa_ranking ranking; /* of OA_SAME_AS */
    struct oa_stability stability; /* of OA_AS_STABLE_AS */
};
struct oa_judged {
    const struct oa_experiment *experiment;
    json_t **record; /* [variants]; NULL: that comparison is not finished */
    struct oa_finding *findings;
    int count;
    enum oa_claim_verdict verdict; /* of all predictions together */
    struct oa_declared declared;
};
/* The verdict on a prediction about scores; margin: the largest difference that does not matter. */
enum oa_claim_verdict oa_claim_verdict_of(enum oa_relation relation, const struct oa_against *a,
                                          double margin);
/* From the records in the folder. Free it also after an error. */
enum oa_error oa_judge(oa_context *c, const struct oa_experiment *e, const char *folder,
                       struct oa_judged *out);
enum oa_claim_verdict oa_prediction_verdict(const struct oa_judged *j, int prediction);
/* "worse", "slower", … */
const char *oa_finding_words(const struct oa_judged *j, const struct oa_finding *f);
int oa_judged_count(const struct oa_judged *j, enum oa_claim_verdict verdict); /* predictions */
int oa_judged_records(const struct oa_judged *j); /* finished comparisons */
/* As oa_claim_verdict_words; "not finished" if some of its runs exist. */
const char *oa_judged_words(const struct oa_judged *j);
struct oa_record_cost oa_judged_cost(const struct oa_judged *j);
void oa_judged_free(struct oa_judged *j);

/* ---- pages ---- */

/* Markdown; charts: the folder of the charts as the page names it. */
void oa_evidence_markdown(const struct oa_judged *j, int count, const char *charts,
                          struct oa_text *out);
json_t *oa_evidence_json(const struct oa_judged *j, int count); /* NULL: no memory */
/* A row for each prediction with its difference; false: there is nothing to draw. */
bool oa_evidence_intervals(const struct oa_judged *j, struct oa_text *out);
/* Scores over `at`, a line for each attention; false: the experiment has no axis, or fewer than
 * two finished comparisons. */
bool oa_evidence_lines(const struct oa_judged *j, struct oa_text *out);
/* Retained shares, a row for each attention and a column for each variant; false: the experiment
 * has an axis, one variant, variants with other attentions, or no finished comparison. */
bool oa_evidence_map(const struct oa_judged *j, struct oa_text *out);
/* Every run: a header and a line each; docs/evidence-experiments.md has the columns. */
void oa_evidence_csv(const struct oa_judged *j, int count, struct oa_text *out);

#endif
