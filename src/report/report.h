/* SPDX-License-Identifier: Apache-2.0
 *
 * report: what was measured, made readable. Numbers go in as plain structs, text comes out: a
 * terminal table, Markdown, JSON, SVG, HTML. Nothing here measures, trains or touches a file; the
 * caller writes the text where it belongs.
 *
 *     struct oa_summary s;
 *     OA_TRY(oa_summary_make(c, &comparison, &s));
 *     oa_report_table(&comparison, &s, 132, &text);
 *     oa_report_json(&comparison, &s, &text);
 *     oa_report_html(&comparison, &s, &text);
 *     oa_summary_free(&s);
 *
 * Functions that add to a struct oa_text record a failure (out of memory) in its context and
 * otherwise cannot fail.
 */
#ifndef ORTHANT_REPORT_H
#define ORTHANT_REPORT_H

#include "compare/comparison.h"
#include "print/print.h"
#include "report/recommendation.h"
#include "statistics/statistics.h"

/* ---- the summary of a comparison (summary.c, adjusted.c, against.c, pairs.c, conclusion.c) ----
 */

enum oa_verdict {
    OA_VERDICT_BEST,   /* lowest cost, and every other attention without failures is worse */
    OA_VERDICT_LOWEST, /* lowest cost, but not everything else can be told from it (or there is
                          nothing else) */
    OA_VERDICT_WORSE,  /* Holm-corrected p < 0.05, and the interval of the difference excludes 0 */
    OA_VERDICT_UNRESOLVED, /* the data do not say */
    OA_VERDICT_ONE_SEED,   /* no interval can be given */
    OA_VERDICT_FAILED,     /* a run of this attention failed; it takes no part in the tests */
    OA_VERDICT_IDENTICAL,  /* every run has exactly the loss of another attention's: the same model;
                              not tested */
    OA_VERDICT_UNJUDGED,   /* the difference is the same with every seed, as no luck makes it; not
                              tested */
    OA_VERDICT_FLOOR,      /* the uniform average: shown, and no contender */
    OA_VERDICT_EQUIVALENT, /* within the margin of the lowest cost (only where any number of looks
                              is allowed) */
    OA_VERDICT_LEADS /* in the place of the two above where one that was shown to be worse than
                      * another on the seeds of both has a lower adjusted cost */
};
enum { OA_VERDICT = 64 };
/* The word of results.json: "best", "lowest loss" ("highest accuracy" and the like about another
 * measure), "worse", "not resolved", … And the words that people read: "no significant difference",
 * … (verdict_words.c) */
const char *oa_verdict_code(const struct oa_comparison *k, enum oa_verdict v, char out[OA_VERDICT]);
const char *oa_verdict_words(const struct oa_comparison *k, enum oa_verdict v,
                             char out[OA_VERDICT]);
const char *
oa_budget_name(enum oa_equal equal); /* what the runs had the same of: "training tokens", … */

/* Where an interval lies to a margin, declared beforehand, within which a difference does not
 * matter. */
enum oa_relevance {
    OA_RELEVANCE_OPEN,
    OA_RELEVANCE_BETTER,
    OA_RELEVANCE_WORSE,
    OA_RELEVANCE_EQUIVALENT
};
enum oa_relevance oa_relevance_of(double mean, double half,
                                  double margin); /* costs: below 0 is better */

struct oa_summary;

/* An attention against one that was named before anything was measured: the floor (is attending to
 * anything worth more than the plain average?) or a baseline (is it worth changing?). */
enum oa_against_verdict {
    OA_AGAINST_NONE,   /* there is none, or a run of either failed, or this is it */
    OA_AGAINST_BETTER, /* Holm-corrected p < 0.05, and the interval of the difference excludes 0 */
    OA_AGAINST_WORSE,
    OA_AGAINST_EQUIVALENT, /* the difference is within the margin: Holm-corrected p of equivalence <
                              0.05 */
    OA_AGAINST_IDENTICAL,  /* the same model with every seed */
    OA_AGAINST_UNRESOLVED,
    OA_AGAINST_UNJUDGED, /* the same difference with every seed, as no luck makes it */
    OA_AGAINST_ONE_SEED
};
const char *oa_against_code(
    enum oa_against_verdict v); /* of results.json: "better", "as good", "not resolved", … */
/* "equivalent", "no significant difference", …; practical: better and worse mean beyond the margin,
 * which never holds against the uniform baseline. */
const char *oa_against_words(enum oa_against_verdict v, bool practical);
bool oa_is_practical(const struct oa_comparison *k); /* sequential, and with a margin */
struct oa_against {
    enum oa_against_verdict verdict;
    struct oa_estimate difference; /* its cost minus the other's, paired: below 0 is better */
    /* The interval that belongs to the verdict, difference.mean ± half, which misses with the
     * probability `level`: better and worse exactly where it excludes 0 (any looks and a margin:
     * where it lies beyond the margin), equivalent exactly where it lies within the margin. NaN:
     * nothing was judged. */
    double half, level;
    double p, holm; /* two-sided paired t test; Holm-corrected over all that were compared with the
                       same one */
    double equivalence; /* two one-sided tests, Holm-corrected likewise; NaN: there is no margin */
    double equivalence_level; /* of each of the two: the level of the step at which Holm's procedure
                                 judged them */
};
struct oa_against oa_against_nothing(void); /* of what was not compared */
struct oa_estimate
oa_against_interval(const struct oa_against *a); /* the difference with the verdict's interval */
/* Judges n comparisons, of which `difference` is set, as one family. any_look 0: t tests,
 * Holm-corrected over those that have one. Otherwise anytime-valid intervals (anytime.c) at
 * 0.05/any_look each: `half` of the differences changes, there are no p-values, and better and
 * worse are by more than the margin. margin: within which a difference of costs does not matter; 0:
 * none. */
enum oa_error oa_judge_family(oa_context *c, struct oa_against *a, int n, double margin,
                              int any_look);
/* Two models may answer as many questions rightly with every seed and be different ones: where
 * entries i and j were called identical by such a score, they cannot be judged. */
void oa_check_identical(const struct oa_comparison *k, int i, int j, struct oa_against *a);
/* out [entries]: every contender against the entry `fixed` (-1, or one that failed: OA_AGAINST_NONE
 * throughout). */
enum oa_error oa_compare_against(oa_context *c, const struct oa_comparison *k,
                                 const struct oa_summary *s, int fixed, double margin,
                                 bool any_looks, struct oa_against *out);
/* out [entries][entries]: the row's cost minus the column's, for every two contenders, by the
 * margin and the looks of the comparison. */
enum oa_error oa_compare_pairs(oa_context *c, const struct oa_comparison *k,
                               const struct oa_summary *s, struct oa_against *out);
int oa_pairs_of(const struct oa_summary *s); /* so many pairs of contenders there are */

/* What is said about one attention. Means are over its runs that did not fail, NaN when there are
 * none. What of it is read beside other attentions: adjusted.h. */
struct oa_standing {
    enum oa_verdict verdict;
    int twin; /* the first entry with exactly the same losses (verdict identical); -1: none */
    int made, failed; /* runs */
    double adjusted;  /* its mean in what the comparison is about, were all seeds its own
                         (adjusted.c) */
    bool plain; /* it has all of them: adjusted is the mean, and its difference is the adjusted one
                 */
    struct oa_estimate loss;                /* validation loss */
    struct oa_estimate scores[OA_MEASURES]; /* the task's other measures, in their own direction;
                                               [0] is not used */
    struct oa_estimate
        difference; /* of costs, to the reference, over the seeds that both finished; n = 0: none */
    double half, level; /* of that difference, the interval of the verdict: see struct oa_against */
    int worse_than;     /* at any look: the first that it was shown to be worse than; -1: none */
    double
        percent; /* the difference of scores in percent of the reference's score on those seeds */
    double p,
        holm; /* two-sided paired t test against the reference; Holm-corrected. NaN: not tested */
    struct oa_against floor, baseline;
    int seeds_needed; /* of an unresolved entry, to have it resolved; 0: does not apply */
    struct oa_seeds_range seeds_range; /* of seeds_needed; low 0: does not apply */
    double perplexity;                 /* exp(loss.mean) */
    double bits_per_character, bits_per_byte;
    double seconds, processor_seconds, seconds_per_step, tokens_per_second, tokens, steps;
    double flops, flops_per_step, peak_memory;
    /* Where speeds were measured apart, seconds_per_step and tokens_per_second are from there. */
    struct oa_range step;  /* seconds a step, over the rounds */
    struct oa_range speed; /* how many times as fast as the first contender, round by round */
    bool front_speed, front_parameters; /* no other beats it in cost and tokens/s (trainable
                                           parameters): pareto.c */
};

struct oa_summary {
    struct oa_standing *entries; /* in the order of the comparison's entries */
    int *order; /* entry numbers by rising adjusted cost; entries with failures come last */
    struct oa_against *pairs; /* [entries][entries]: the row against the column */
    int count, seeds;
    bool uneven;   /* contenders have different numbers of seeds */
    int reference; /* the contender with the lowest adjusted cost of those without failures; -1: all
                    * failed. Where any number of looks is allowed, of those not shown to be worse
                    * than another, if there are any */
    int floor;     /* the entry that is the floor, or -1 */
    char *conclusion; /* one or two sentences of plain text */
    struct oa_recommendation advice;
    char *recommendation; /* the same in words: what to do, and why */
};
enum oa_error oa_summary_make(oa_context *c, const struct oa_comparison *comparison,
                              struct oa_summary *out);
void oa_summary_free(struct oa_summary *s);
/* The words of an entry's verdict: "failed 1 of 3", "worse than a", … (verdict_words.c) */
void oa_add_verdict(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                    struct oa_text *out);
int oa_fewest_seeds(const struct oa_summary *s, bool floor_too); /* that an attention has */
/* What a comparison compares, its measures as costs (compare/comparison.h): a's minus b's over the
 * first `seeds` seeds that both finished; scratch has room for one number a seed. a and b: numbers
 * of entries. */
struct oa_estimate oa_paired(const struct oa_comparison *k, int a, int b, int seeds,
                             double *scratch);
/* Do the two have the same loss and score with every seed that both have? No two models that differ
 * do. */
bool oa_same_runs(const struct oa_comparison *k, int a, int b);
/* Estimates of the measure with that number, in its own direction; the second: of what the
 * comparison is about. */
const struct oa_estimate *oa_standing_measured(const struct oa_standing *e, int measure);
const struct oa_estimate *oa_standing_score(const struct oa_comparison *k,
                                            const struct oa_standing *e);
/* ---- adding seeds until questions are answered (until.c, trajectory.c) ---- */

/* Is it open how the entry stands to the baseline, or, where there is none, to the reference? */
bool oa_question_open(const struct oa_comparison *k, const struct oa_summary *s, int entry);
/* The runs to make next, one at most of each entry (cells has room for them); none: all questions
 * are answered, or the seeds used up. s is not read while an entry has fewer seeds than each gets
 * at least; it may be NULL then. */
enum oa_error oa_until_wanted(oa_context *c, const struct oa_comparison *k,
                              const struct oa_summary *s, struct oa_cell *cells, int *count);
enum oa_ending oa_until_ending(const struct oa_comparison *k,
                               const struct oa_summary *s); /* when no run is wanted */
const char *
oa_ending_name(enum oa_ending ending); /* "resolved", "seeds used up", "budget used up" */

/* At any number of looks: what an attention is held against (the baseline, or the reference; -1:
 * nothing is), and the number of comparisons that share the level. */
int oa_compared_to(const struct oa_comparison *k, const struct oa_summary *s);
int oa_comparison_family(const struct oa_comparison *k, const struct oa_summary *s);
/* The intervals of differences of costs after 2, 3, … seeds; how many. out and scratch have room
 * for one each a seed. None where not any number of looks is allowed, and for what is not compared.
 */
int oa_trajectory(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                  double *scratch, struct oa_estimate *out);

/* "12–60", "12 or more" (the upper end is beyond OA_SEEDS_CAP), "more than 1000". */
void oa_seeds_text(struct oa_seeds_range range, struct oa_text *out);
void oa_pareto_fronts(const struct oa_comparison *k, struct oa_summary *s,
                      double *scratch); /* the last two of above */
char *oa_conclusion(oa_context *c, const struct oa_comparison *k,
                    const struct oa_summary *s); /* from the verdicts */

/* ---- what was validated (validation.c)
 * ----------------------------------------------------------------------- */

double oa_validation_used(const struct oa_comparison
                              *k); /* tokens that the final losses are means over; NaN: no losses */
const char *
oa_validation_unit(const struct oa_comparison *k); /* "validation tokens", "validation examples" */
/* "all 111539 tokens of the validation text that have one before them", "20000 of the 111539 tokens
 * …". */
void oa_validation_text(const struct oa_comparison *k, double used, struct oa_text *out);
/* " The same with every seed: …" of a source of chance that was held (fixed_sources.c), and which
 * runs of another comparison the runs start from; nothing where neither is. */
void oa_fixed_sources_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                               struct oa_text *out);
/* " The runs were trained on 2 machines: …" (machines.c); nothing where one trained them all. */
void oa_machines_sentence(const struct oa_comparison *k, struct oa_text *out);
void oa_validation_sentence(const struct oa_comparison *k,
                            struct oa_text *out); /* " Losses are on …"; none: nothing */

/* ---- a comparison as text (comparison_table.c, results_write.c, comparison_page.c)
 * -------------------- */

/* A line for each attention that has no weights for the comparison's attention dropout to drop;
 * nothing when it is 0. */
void oa_report_dropout(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out);

void oa_report_table(const struct oa_comparison *k, const struct oa_summary *s, int limit,
                     struct oa_text *out);
void oa_report_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out);
/* docs/results.md describes the file. The same comparison gives the same bytes. */
void oa_report_json(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
void oa_report_html(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);
/* The differences to the reference with their intervals, as a file of its own. */
void oa_report_svg(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);

#endif
