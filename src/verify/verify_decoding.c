/* SPDX-License-Identifier: Apache-2.0
 * Decoding: token by token, and in chunks of several sizes, a layer with a state gives the rows
 * that it gives for the whole sequence; a state that is copied half way goes on like the first; and
 * a table that ends is not read beyond. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static bool needs_all(const struct oa_layer *l)
{
    bool all = false;
    for (int g = 0; g < l->groups; g++)
        all |= l->group[g].needs_all != NULL;
    return all;
}

static double bound_of(const struct oa_case *a)
{
    static const double each[] = {
        [OA_PRECISION_F32] = 2e-5, [OA_PRECISION_BF16] = 3e-2, [OA_PRECISION_F64] = 1e-12
    };
    double rounding = 1;
    for (int g = 0; g < a->rig.layer.groups; g++)
        rounding = fmax(rounding, a->rig.layer.group[g].mechanism->rounding);
    return rounding * each[a->setup.precision];
}

struct decoding {
    struct oa_case *a;
    struct oa_state *state;
    double *whole, *y; /* [B, T, D] */
    double *condition; /* [B, T] */
};

static bool steps(const struct decoding *d, struct oa_state *s, long b, long from, long to,
                  long chunk)
{
    for (long t = from; t < to; t += chunk) {
        double *y = d->y + (b * d->a->T + t) * d->a->D;
        if (oa_case_step(d->a, s, b, t, oa_min(chunk, to - t), y) != OA_OK)
            return false;
    }
    return true;
}

static void compare(struct oa_proof *p, const struct decoding *d, const char *how)
{
    const struct oa_case *a = d->a;
    double bound = bound_of(a);
    for (long b = 0; b < a->B; b++) {
        long at = b * a->T * a->D;
        struct oa_row_set rows = { d->whole + at, d->y + at, d->condition + b * a->T, a->T, a->D };
        oa_proof_measure(p, a, oa_row_set_difference(&rows, bound), bound,
                         "%s, and the whole sequence, item %ld%s", how, b,
                         a->setup.rotary ? ", rotary" : "");
    }
}

static void in_chunks(struct oa_proof *p, const struct decoding *d)
{
    static const long chunks[] = { 1, 2, 5, 64 };
    for (size_t c = 0; c < sizeof chunks / sizeof chunks[0]; c++) {
        char how[64];
        for (long b = 0; b < d->a->B; b++) {
            oa_layer_state_reset(&d->a->rig.layer, d->state);
            if (!steps(d, d->state, b, 0, d->a->T, chunks[c]))
                return;
        }
        snprintf(how, sizeof how, "%ld token%s at a time", chunks[c], oa_plural(chunks[c]));
        compare(p, d, how);
    }
}

/* The copy takes over after the first half, and what the first does then does not reach it. */
static void from_a_copy(struct oa_proof *p, const struct decoding *d)
{
    struct oa_case *a = d->a;
    struct oa_state *copy;
    long half = a->T / 2;
    if (a->memory || oa_layer_state_open(&a->rig.layer, a->T, &copy) != OA_OK)
        return;
    bool done = true;
    for (long b = 0; b < a->B && done; b++) {
        oa_layer_state_reset(&a->rig.layer, d->state);
        done = steps(d, d->state, b, 0, half, 1) &&
               oa_layer_state_copy(&a->rig.layer, d->state, copy) == OA_OK &&
               steps(d, d->state, b, half, half + 1, 1) && steps(d, copy, b, half, a->T, 1);
    }
    if (done)
        compare(p, d, "a copied state");
    oa_layer_state_close(&a->rig.layer, copy);
}

static void decoding_is_the_whole(struct oa_proof *p, struct oa_case *a)
{
    long count = a->B * a->T * a->D;
    struct decoding d = { .a = a,
                          .whole = oa_case_room(a, count),
                          .y = oa_case_numbers(a, "", count) };
    a->no_gradients = true;
    if (needs_all(&a->rig.layer) || oa_status(p->context) != OA_OK || !oa_proof_run(p, a))
        return;
    memcpy(d.whole, a->y, (size_t)count * sizeof *d.whole);
    d.condition = oa_case_conditions(a);
    for (long b = 0; d.condition && b < a->B; b++)
        oa_proof_leave_out(p, a, d.condition + b * a->T, bound_of(a), b);
    if (d.condition && oa_layer_state_open(&a->rig.layer, a->T, &d.state) == OA_OK) {
        in_chunks(p, &d);
        from_a_copy(p, &d);
        oa_layer_state_close(&a->rig.layer, d.state);
    }
    oa_proof_error(p, a);
}

static void each(struct oa_proof *p, const char *spec)
{
    struct oa_setup
        exact = { .precision = OA_PRECISION_F64, .queries = 23, .keys = 7, .length = 25 },
        padded = exact, rotary = exact,
        single = { .precision = OA_PRECISION_F32, .queries = 75, .keys = 70, .length = 80 },
        half = { .precision = OA_PRECISION_BF16, .queries = 20, .keys = 9, .length = 20 };
    padded.padding = padded.bias = true;
    padded.batch = 3;
    rotary.rotary = true;
    oa_proof_modes(p, spec, &exact, OA_MODE_CAUSAL, OA_MODE_CAUSAL, decoding_is_the_whole);
    oa_proof_modes(p, spec, &padded, OA_MODE_CROSS, OA_MODE_CROSS, decoding_is_the_whole);
    oa_proof_modes(p, spec, &half, OA_MODE_CAUSAL, OA_MODE_CROSS, decoding_is_the_whole);
    if (p->quick)
        return;
    oa_proof_modes(p, spec, &rotary, OA_MODE_CAUSAL, OA_MODE_CAUSAL, decoding_is_the_whole);
    oa_proof_modes(p, spec, &single, OA_MODE_CAUSAL, OA_MODE_CROSS, decoding_is_the_whole);
}

const struct oa_subject oa_subject_decoding = {
    .name = "decoding",
    .claim = "token by token and in chunks, a state gives the rows of the whole sequence",
    .work = 15,
    .each = each,
};
