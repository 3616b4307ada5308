/* SPDX-License-Identifier: Apache-2.0
 *
 * verify: the proof, on the machine where it counts, that every attention does what it claims.
 *
 *     subjects (gradients, causality, …) × attentions (verify_cases.c: every mechanism of the
 * registry with every value of every option) × modes × precisions  →  measured error and its bound
 * →  a table, or JSON
 *
 * A subject is a const table in its own file and one line of SUBJECTS below. It looks at each
 * attention of the list
 * (`each`), or at relations between given ones and at laws of estimators (`once`). What it measures
 * it hands to oa_proof_measure, which keeps the worst of each mechanism, and every failure in full.
 * That the checks can fail is proved too: tests/bugs.
 */
#ifndef ORTHANT_VERIFY_H
#define ORTHANT_VERIFY_H

#include "verify/attention_case.h"

/* ---- what was found
 * -----------------------------------------------------------------------------------------------
 */

enum { OA_PROOF_TEXT = 200 };
/* One thing that was measured. A finding fails unless error ≤ bound (so NaN fails). */
struct oa_check {
    const char *subject;
    char spec[OA_PROOF_TEXT]; /* the attention, or the law */
    const char *mode;         /* "" where it has no meaning */
    const char *precision;    /* "f64", …; "" where it has no meaning */
    char what[OA_PROOF_TEXT];
    double error, bound; /* not judged: bound is what rounding alone can give, `what` says why */
};
/* All that a subject measured of one mechanism. */
struct oa_proof_line {
    const char *subject;
    char mechanism[48];
    long checks, failed,
        unjudged; /* the rest passed. unjudged: rounding alone can be as large as the result */
    long refused; /* the mechanism says in a sentence that it has no such form */
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
    const char *subject;      /* at hand */
    char (*specs)[OA_PROOF_TEXT];
    int spec_count;
    struct oa_proof_line *line;
    struct oa_check *failure, *unjudged;
    struct oa_refusal *refusal; /* kept with `only` */
    int lines, failures, unjudgeds, refusals;
    long checks, of_cases; /* all; those that are no laws */
    double largest_bound;  /* of all checks: a bound of 1 could not fail */
    double seconds;
    oa_context *other[2]; /* with other numbers of threads (verify_threads.c) */
};

/* ---- running
 * ------------------------------------------------------------------------------------------------------
 */

/* spec: one attention, or NULL for all. quick: fewer variants and draws. subject: only the one of
 * that name, or NULL. An error means that the proof could not be made, not that it failed: look at
 * `failures`. Free in any case. */
enum oa_error oa_proof_make(oa_context *c, const char *spec, bool quick, const char *subject,
                            struct oa_proof *out);
void oa_proof_free(struct oa_proof *p);
void oa_proof_text(const struct oa_proof *p, int width,
                   struct oa_text *out); /* 0 = as wide as it needs */
void oa_proof_json(const struct oa_proof *p, struct oa_text *out);

/* ---- subjects
 * -----------------------------------------------------------------------------------------------------
 */

struct oa_subject {
    const char *name;  /* "gradients" */
    const char *claim; /* what holds if no check fails */
    double work;       /* its share of a full run, in percent or so: progress goes by it */
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

/* ---- for subjects
 * -------------------------------------------------------------------------------------------------
 */

/* Fills p->specs: all attentions that are looked at (verify_cases.c). */
enum oa_error oa_proof_collect(struct oa_proof *p);
/* Does the proof look at this mechanism? (With `only`, those of that attention alone.) */
bool oa_proof_wants(const struct oa_proof *p, const char *mechanism);

/* The mechanism with its defaults as a text. */
const char *oa_proof_plain(const struct oa_mechanism *m);
/* The name of the line that this attention is counted in: that of its mechanism; "" after a
 * recorded failure. */
const char *oa_proof_row(struct oa_proof *p, const char *spec);

/* A measurement of a case; `what` names the quantity. */
void oa_proof_measure(struct oa_proof *p, const struct oa_case *a, double error, double bound,
                      const char *what, ...) OA_PRINTF(5, 6);
/* A measurement that belongs to a mechanism but to no case. `law` says what was measured, with its
 * parameters. */
void oa_proof_law(struct oa_proof *p, const char *mechanism, double error, double bound,
                  const char *law, ...) OA_PRINTF(5, 6);

/* Part of a case that cannot be judged: `number`, at least 1, is the relative error that rounding
 * alone can give. */
void oa_proof_unjudged(struct oa_proof *p, const struct oa_case *a, double number, const char *why,
                       ...) OA_PRINTF(4, 5);

/* verify_rounding.c: what rounding does on the way through an attention. */

/* Conditions of the rows of a case, [B·T] that live as long as it; NULL after a recorded failure.
 */
double *oa_case_conditions(struct oa_case *a);
/* Raises row[queries] to the conditions that the map [H][queries][keys] of a group has. */
void oa_raise_conditions(const struct oa_group *g, const double *map, long queries, long keys,
                         double *row);
/* Is an error of `bound` times the condition still smaller than the value? */
bool oa_row_is_judged(double condition, double bound);
/* ‖want − got‖/‖want‖ over the rows that are judged at that bound, each divided by its condition.
 */
struct oa_row_set {
    const double *want, *got, *condition; /* [rows, width] twice, [rows] */
    long rows, width;
};
double oa_row_set_difference(const struct oa_row_set *r, double bound);
/* Says which rows of an item are not judged, if there are any. */
void oa_proof_leave_out(struct oa_proof *p, const struct oa_case *a, const double *condition,
                        double bound, long item);

/* Opens a case of the setup with this spec and mode. False: it was refused (which is counted), or
 * failed (which is a failure of the check); nothing is to be closed then. */
bool oa_proof_open(struct oa_proof *p, const char *spec, enum oa_mode mode,
                   const struct oa_setup *setup, struct oa_case *a);
/* Runs it; false after an error, which is noted as a failure. */
bool oa_proof_run(struct oa_proof *p, struct oa_case *a);
/* Notes the error that the case left in the context, if there is one. */
void oa_proof_error(struct oa_proof *p, const struct oa_case *a);
/* Looks at the attention in every mode first … last that it has. */
typedef void oa_property(struct oa_proof *p, struct oa_case *a);
void oa_proof_modes(struct oa_proof *p, const char *spec, const struct oa_setup *setup,
                    enum oa_mode first, enum oa_mode last, oa_property *check);
/* Is the run to end early: a stop was asked for, or memory is out? */
bool oa_proof_stopped(const struct oa_proof *p);
double oa_proof_difference(const double *a, const double *b,
                           long count); /* max |a − b| / (1 + |a|) */

/* Outputs that a later token, and that a token of another item, changes (verify_causality.c); false
 * after an error. */
bool oa_count_leaks(struct oa_proof *p, struct oa_case *a, double *leaks, double *meets);
/* The largest change of an output, moved with its token, when two tokens change places
 * (verify_order.c). */
double oa_order_difference(struct oa_proof *p, struct oa_case *a);
/* Measures every claim of a mechanism's table, which may be a changed copy of one in the registry
 * (verify_claims.c). */
void oa_claims_are_true(struct oa_proof *p, const struct oa_mechanism *m);

/* The properties themselves, for cases that tests open. */
oa_property oa_gradients_are_differences;     /* verify_gradients.c */
oa_property oa_later_tokens_change_nothing;   /* verify_causality.c */
oa_property oa_outputs_are_the_map_of_values; /* verify_oracles.c */
oa_property oa_attention_is_as_claimed;       /* verify_claims.c */
oa_property
    oa_longer_is_refused_or_the_same; /* verify_lengths.c: of a case of more tokens than N */

#endif
