/* SPDX-License-Identifier: Apache-2.0
 * verify: checks on this machine that every attention does what it claims.
 *
 *     subjects (gradients, causality, …) × attentions (verify_specs.c) × modes × precisions
 *         →  measured error and its bound  →  a table, or JSON
 *
 * A subject is a const table and one line of OA_SUBJECTS below. It checks each attention (`each`),
 * or relations between given attentions and properties of estimators (`once`). It reports its
 * measurements to oa_proof_measure, which stores the worst of each mechanism, and all failures.
 * That the checks find known bugs is tested too (tests/bugs). */
#ifndef ORTHANT_VERIFY_H
#define ORTHANT_VERIFY_H

#include "verify/attention_case.h"

/* ---- results ---- */

enum { OA_PROOF_TEXT = 200 };
/* One measurement. It fails unless error ≤ bound (so NaN fails). */
struct oa_check {
    const char *subject;
    char spec[OA_PROOF_TEXT]; /* the attention, or the mechanism */
    const char *mode;         /* "" for a mechanism */
    const char *precision;    /* "f64", …; "" for a mechanism */
    char what[OA_PROOF_TEXT]; /* what was measured; if inconclusive, why it could not be */
    double error, bound;      /* inconclusive: error NaN, bound what rounding alone can give */
};
/* The checks of one subject on one mechanism. Inconclusive: rounding errors can be as large as the
 * result. The others passed or failed. */
struct oa_proof_line {
    const char *subject;
    char mechanism[48];
    long checks, failed, inconclusive;
    long refused;          /* cases skipped, since the mechanism does not support the mode */
    struct oa_check worst; /* the largest error ÷ bound */
};
struct oa_refusal {
    char spec[OA_PROOF_TEXT];
    const char *mode;
    char sentence[OA_PROOF_TEXT];
};

struct oa_proof {
    oa_context *context;
    bool quick;
    const char *only;         /* one attention; NULL = the registry */
    struct oa_spec only_spec; /* parsed */
    const char *subject;      /* the current one */
    char (*specs)[OA_PROOF_TEXT];
    int spec_count;
    struct oa_proof_line *line;
    struct oa_check *failure, *inconclusive;
    struct oa_refusal *refusal; /* stored with `only` */
    int lines, failures, inconclusives, refusals;
    long checks, of_cases; /* all; those of a struct oa_attention_case */
    double largest_bound;  /* of all checks; a relative error with bound 1 could not fail */
    double seconds;
    oa_context *other_threads[2]; /* contexts with other numbers of threads */
};

/* ---- running ---- */

/* spec: one attention, or NULL for all. quick: fewer variants and draws. subject: only the one of
 * that name, or NULL. Failed checks are no error: see `failures`. Free in any case. */
enum oa_error oa_proof_make(oa_context *c, const char *spec, bool quick, const char *subject,
                            struct oa_proof *out);
void oa_proof_free(struct oa_proof *p);
/* width: columns, or 0 for as many as needed (verify_report.c). */
void oa_proof_text(const struct oa_proof *p, int width, struct oa_text *out);
void oa_proof_json(const struct oa_proof *p, struct oa_text *out);

/* ---- subjects ---- */

struct oa_subject {
    const char *name; /* "gradients" */
    double work;      /* approximate percentage of a full run, for progress */
    void (*each)(struct oa_proof *p, const char *spec);
    void (*once)(struct oa_proof *p);
};

#define OA_SUBJECTS(X)                                                                             \
    X(gradients)                                                                                   \
    X(causality)                                                                                   \
    X(padding)                                                                                     \
    X(batches)                                                                                     \
    X(oracles)                                                                                     \
    X(decoding)                                                                                    \
    X(lengths)                                                                                     \
    X(order)                                                                                       \
    X(threads)                                                                                     \
    X(models)                                                                                      \
    X(beams)                                                                                       \
    X(targets)                                                                                     \
    X(claims)                                                                                      \
    X(identities)                                                                                  \
    X(counts)                                                                                      \
    X(features)                                                                                    \
    X(fits)                                                                                        \
    X(projections)                                                                                 \
    X(estimates)
#define OA_SUBJECT_DECLARE(name) extern const struct oa_subject oa_subject_##name;
OA_SUBJECTS(OA_SUBJECT_DECLARE)
#undef OA_SUBJECT_DECLARE

/* ---- for subjects ---- */

/* Fills p->specs, the attentions to verify (verify_specs.c). */
enum oa_error oa_proof_collect(struct oa_proof *p);
/* Is the mechanism verified? (With `only`, those of that attention alone.) */
bool oa_proof_includes(const struct oa_proof *p, const char *mechanism);

/* The mechanism with its defaults as a text. */
const char *oa_proof_default_spec(const struct oa_mechanism *m);
/* The line that this attention counts in: the name of its mechanism, or "side by side"; "" after a
 * recorded failure. */
const char *oa_proof_line_name(struct oa_proof *p, const char *spec);

/* A measurement of a case; `what` names the quantity. */
void oa_proof_measure(struct oa_proof *p, const struct oa_attention_case *a, double error,
                      double bound, const char *what, ...) OA_PRINTF(5, 6);
/* A measurement of a mechanism that belongs to no case. `what` has its parameters. */
void oa_proof_measure_mechanism(struct oa_proof *p, const char *mechanism, double error,
                                double bound, const char *what, ...) OA_PRINTF(5, 6);
/* A part of a case that cannot be checked: `rounding`, at least 1, is the relative error that
 * rounding alone can give. */
void oa_proof_inconclusive(struct oa_proof *p, const struct oa_attention_case *a, double rounding,
                           const char *why, ...) OA_PRINTF(4, 5);

/* ---- rounding errors (verify_rounding.c) ---- */

/* Condition numbers of the rows of a case, [B·T] that live as long as it; NULL after a recorded
 * failure. */
double *oa_case_conditions(struct oa_attention_case *a);
/* Raises row[queries] to the condition numbers of the map [H][queries][keys] of a group. */
void oa_raise_conditions(const struct oa_group *g, const double *map, long queries, long keys,
                         double *row);
/* Is an error of `bound` times the condition number smaller than the value? */
bool oa_row_is_well_conditioned(double condition, double bound);
/* ‖want − got‖/‖want‖ over the well-conditioned rows, each divided by its condition number. */
struct oa_row_set {
    const double *want, *got, *condition; /* [rows, width] twice, [rows] */
    long rows, width;
};
double oa_row_set_difference(const struct oa_row_set *r, double bound);
/* Records the rows of an item that are ill-conditioned as inconclusive. */
void oa_proof_report_inconclusive(struct oa_proof *p, const struct oa_attention_case *a,
                                  const double *condition, double bound, long item);

/* ---- cases ---- */

/* Opens a case of the setup with this spec and mode. False, with nothing to close: the mode is
 * unsupported, which is counted, or opening failed, which is a failed check. */
bool oa_proof_open(struct oa_proof *p, const char *spec, enum oa_mode mode,
                   const struct oa_setup *setup, struct oa_attention_case *a);
/* Runs it; false after an error, which is recorded as a failed check. */
bool oa_proof_run(struct oa_proof *p, struct oa_attention_case *a);
/* Records the error in the context, if any, as a failed check or an unsupported mode. Out of memory
 * stays an error. */
void oa_proof_error(struct oa_proof *p, const struct oa_attention_case *a);
/* Checks the attention in every mode first … last that it supports. */
typedef void oa_property(struct oa_proof *p, struct oa_attention_case *a);
void oa_proof_check_modes(struct oa_proof *p, const char *spec, const struct oa_setup *setup,
                          enum oa_mode first, enum oa_mode last, oa_property *check);
/* Must the run end early: was a stop requested, or is memory out? */
bool oa_proof_stopped(const struct oa_proof *p);
/* max |a − b| / (1 + |a|) */
double oa_proof_difference(const double *a, const double *b, long count);

/* ---- properties that several subjects or tests check ---- */

/* How many outputs a later token changes, and a token of another item (verify_invariance.c); false
 * after an error. */
bool oa_count_changed_outputs(struct oa_proof *p, struct oa_attention_case *a, double *earlier,
                              double *other_items);
/* The largest change of an output, moved with its token, when two tokens are swapped
 * (verify_positions.c). */
double oa_order_difference(struct oa_proof *p, struct oa_attention_case *a);
/* Checks every claim of a mechanism's table, which may be a changed copy of one in the registry
 * (verify_claims.c). */
void oa_check_mechanism_claims(struct oa_proof *p, const struct oa_mechanism *m);

oa_property oa_gradients_match_differences; /* verify_gradients.c */
oa_property oa_later_tokens_change_nothing; /* verify_invariance.c */
oa_property oa_outputs_match_oracle;        /* verify_oracles.c */
oa_property oa_attention_matches_claims;    /* verify_claims.c */
/* verify_positions.c: of a case of more tokens than N */
oa_property oa_longer_is_rejected_or_equal;

#endif
