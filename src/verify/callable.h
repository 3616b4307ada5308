/* SPDX-License-Identifier: Apache-2.0
 * Claims about an attention of another program, judged by what it computes. Whoever calls it is a
 * function that runs a list of calls: a command with files (foreign.h), or a callback of Python.
 *
 *     a claim  →  calls with random tensors  →  results  →  largest error and its bound
 *
 * tools/python_binding.py reads this header too. */
#ifndef ORTHANT_VERIFY_CALLABLE_H
#define ORTHANT_VERIFY_CALLABLE_H

#include "orthant/orthant.h"

enum oa_callable_mode { OA_CALL_WHOLE, OA_CALL_STEPS, OA_CALL_GRADIENT };

/* One call. Values are double also where float32 is asked for, which then has them exactly. */
struct oa_callable_call {
    const char *claim;
    enum oa_callable_mode mode;
    int is_double; /* 1: float64, 0: float32 */
    int causal;    /* 1: no token may see a later one */
    int arrays;    /* 1: x [batch, tokens, width]; 3: q, k, v [batch, heads, tokens, width] */
    long batch, heads, tokens, width;
    const double *input[3];
    const int32_t *lengths; /* [batch] tokens without padding; NULL: no padding */
    const double *dy;       /* OA_CALL_GRADIENT: of the shape of y */
    /* To be filled. */
    double *y;        /* of the shape of x or v; not of OA_CALL_GRADIENT */
    double *slope[3]; /* OA_CALL_GRADIENT: of the shapes of the inputs */
    int changed;      /* 1: the arguments are no longer what they were */
    char type[16];    /* of y: "float32", "float64" … */
    char name[64];    /* what messages call the result; "": nothing */
    char why[400];    /* a sentence: the call failed */
};

struct oa_callable {
    /* Runs calls [count]; not 0: the work must end (a failure in the context, or a stop). */
    int (*run)(void *argument, struct oa_callable_call *calls, long count);
    void *argument;
    const char *title;        /* in the results; NULL: none */
    const char *claims;       /* names of claims, separated by commas */
    int arrays;               /* 1 or 3 */
    long batch, heads, width; /* width: of x; a head has width / heads */
    const long *tokens;       /* [lengths] sequence lengths to try */
    int lengths;
    int copies; /* 1: it gets copies of its arguments, so that no claim is "pure" */
    uint64_t seed;
};

/* Judges the claims and writes text or JSON. OA_DISPROVED, after that, if one does not hold. */
OA_API enum oa_error oa_callable_verify(oa_context *c, const struct oa_callable *f,
                                        const struct oa_output *out);
/* Elements of an input and of y. */
size_t oa_call_elements(const struct oa_callable_call *call);

#endif
