/* SPDX-License-Identifier: Apache-2.0
 * Causal layers: a later token changes no output before it, bit for bit, and no other item of the
 * batch. */
#include "verify/verify.h"

#include <string.h>

/* Numbers that differ in a bit. */
static double changed(const double *a, const double *b, long count)
{
    double n = 0;
    for (long i = 0; i < count; i++)
        n += memcmp(&a[i], &b[i], sizeof *a) != 0;
    return n;
}

bool oa_count_leaks(struct oa_proof *p, struct oa_case *a, double *leaks, double *meets)
{
    long row = a->D, item = a->T * row, all = a->B * item;
    double *before = oa_case_room(a, all);
    *leaks = *meets = 0;
    a->no_gradients = true;
    if (!before || !oa_proof_run(p, a))
        return false;
    memcpy(before, a->y, (size_t)all * sizeof *before);
    for (long t = 1; t < a->T; t++) {
        for (long i = 0; i < row; i++)
            a->x[t * row + i] += 3; /* of the first item */
        if (!oa_proof_run(p, a))
            return false;
        *leaks += changed(before, a->y, t * row);
        *meets += changed(before + item, a->y + item, all - item);
        memcpy(before, a->y, (size_t)all * sizeof *before);
    }
    return true;
}

void oa_later_tokens_change_nothing(struct oa_proof *p, struct oa_case *a)
{
    double leaks, meets;
    if (!oa_count_leaks(p, a, &leaks, &meets))
        return;
    oa_proof_measure(p, a, leaks, 0, "numbers that a later token changes, %ld tokens", a->T);
    oa_proof_measure(p, a, meets, 0, "numbers that a token of another item changes, %ld tokens",
                     a->T);
}

static void each(struct oa_proof *p, const char *spec)
{
    struct oa_setup small = { .precision = OA_PRECISION_F64 },
                    tiles = { .precision = OA_PRECISION_F32, .queries = 70, .length = 70 },
                    half = { .precision = OA_PRECISION_BF16, .queries = 9, .length = 9 };
    oa_proof_modes(p, spec, &small, OA_MODE_CAUSAL, OA_MODE_CAUSAL, oa_later_tokens_change_nothing);
    oa_proof_modes(p, spec, &half, OA_MODE_CAUSAL, OA_MODE_CAUSAL, oa_later_tokens_change_nothing);
    oa_proof_modes(p, spec, &tiles, OA_MODE_CAUSAL, OA_MODE_CAUSAL, oa_later_tokens_change_nothing);
}

const struct oa_subject oa_subject_causality = {
    .name = "causality",
    .claim = "in a causal layer no output depends on a later token, bit for bit",
    .work = 4,
    .each = each,
};
