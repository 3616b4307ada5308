/* SPDX-License-Identifier: Apache-2.0
 * Private to verify: one claim while it is judged (callable.c), and the claims
 * (callable_claims.c). */
#ifndef ORTHANT_VERIFY_CALLABLE_CHECKS_H
#define ORTHANT_VERIFY_CALLABLE_CHECKS_H

#include "base/base.h"
#include "verify/callable.h"

enum { OA_CLAIM_TEXT = 512 };

struct oa_call_list {
    struct oa_callable_call *call;
    long count, capacity, next;
};

/* A claim is a function that asks for calls and notes errors. It is run twice with the same random
 * numbers: first its calls are collected and answered by zeros, then it gets the results. */
struct oa_claim_check {
    const struct oa_claim *claim;
    const struct oa_callable *f;
    oa_context *context;
    struct oa_arena arena; /* of inputs and results */
    struct oa_stream stream;
    uint64_t drawn; /* numbers of the stream */
    bool judging, causal;
    struct oa_call_list list[2]; /* of two runs: deterministic compares processes */
    /* The largest error ÷ bound; below 0: nothing was noted, infinite: it cannot hold. */
    double worst, error, bound; /* error and bound NaN: it could not be judged */
    char where[OA_CLAIM_TEXT];
};

struct oa_claim {
    const char *name, *sentence;
    bool causal; /* its calls ask for causal attention */
    void (*check)(struct oa_claim_check *s);
};
extern const struct oa_claim oa_claims[];
extern const int oa_claim_count;

/* A copy of this call with its results; of a failed one, which is noted, zeros. NULL: no memory. */
const struct oa_callable_call *oa_claim_call(struct oa_claim_check *s,
                                             const struct oa_callable_call *call, int run);
double oa_claim_normal(struct oa_claim_check *s);
long oa_claim_below(struct oa_claim_check *s, long n); /* 0 … n-1 */
void oa_claim_note(struct oa_claim_check *s, double error, double bound, const char *where, ...)
    OA_PRINTF(4, 5);
void oa_claim_fail(struct oa_claim_check *s, const char *why, ...) OA_PRINTF(2, 3);

#endif
