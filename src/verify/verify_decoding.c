/* SPDX-License-Identifier: Apache-2.0
 * Decoding token by token and in chunks gives the rows of the whole sequence; a copy of the state
 * continues like the original. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* Sums in another order, times what the mechanism can enlarge a rounding by. */
static double decoding_bound(const struct oa_attention_case *a)
{
    static const double each[] = {
        [OA_PRECISION_F32] = 2e-5, [OA_PRECISION_BF16] = 3e-2, [OA_PRECISION_F64] = 1e-12
    };
    double rounding = 1;
    for (int g = 0; g < a->single.layer.groups; g++)
        rounding = fmax(rounding, a->single.layer.group[g].mechanism->rounding);
    return rounding * each[a->setup.precision];
}

struct decoding {
    struct oa_attention_case *a;
    struct oa_state *state;
    double *whole, *y; /* [B, T, D] */
    double *condition; /* [B, T] */
};

static bool decode_chunks(const struct decoding *d, struct oa_state *s, long b, long from, long to,
                          long chunk)
{
    for (long t = from; t < to; t += chunk) {
        double *y = d->y + (b * d->a->T + t) * d->a->D;
        if (oa_case_step(d->a, s, b, t, oa_min(chunk, to - t), y) != OA_OK)
            return false;
    }
    return true;
}

static void compare_with_whole(struct oa_proof *p, const struct decoding *d, const char *how)
{
    const struct oa_attention_case *a = d->a;
    double bound = decoding_bound(a);
    for (long b = 0; b < a->B; b++) {
        long at = b * a->T * a->D;
        struct oa_row_set rows = { d->whole + at, d->y + at, d->condition + b * a->T, a->T, a->D };
        oa_proof_measure(p, a, oa_row_set_difference(&rows, bound), bound,
                         "%s against the whole sequence, item %ld%s", how, b,
                         a->setup.rotary ? ", rotary" : "");
    }
}

static void check_chunk_sizes(struct oa_proof *p, const struct decoding *d)
{
    static const long chunks[] = { 1, 2, 5, 64 };
    for (size_t c = 0; c < sizeof chunks / sizeof chunks[0]; c++) {
        char how[64];
        for (long b = 0; b < d->a->B; b++) {
            oa_layer_state_reset(&d->a->single.layer, d->state);
            if (!decode_chunks(d, d->state, b, 0, d->a->T, chunks[c]))
                return;
        }
        snprintf(how, sizeof how, "%ld token%s at a time", chunks[c], oa_plural(chunks[c]));
        compare_with_whole(p, d, how);
    }
}

/* The copy continues after the first half; what the original reads then does not change it. */
static void check_state_copy(struct oa_proof *p, const struct decoding *d)
{
    struct oa_attention_case *a = d->a;
    struct oa_state *copy;
    long half = a->T / 2;
    if (a->memory || oa_layer_state_open(&a->single.layer, a->T, &copy) != OA_OK)
        return;
    bool done = true;
    for (long b = 0; b < a->B && done; b++) {
        oa_layer_state_reset(&a->single.layer, d->state);
        done = decode_chunks(d, d->state, b, 0, half, 1) &&
               oa_layer_state_copy(&a->single.layer, d->state, copy) == OA_OK &&
               decode_chunks(d, d->state, b, half, half + 1, 1) &&
               decode_chunks(d, copy, b, half, a->T, 1);
    }
    if (done)
        compare_with_whole(p, d, "a copied state");
    oa_layer_state_close(&a->single.layer, copy);
}

static void decoding_matches_whole_sequence(struct oa_proof *p, struct oa_attention_case *a)
{
    long count = a->B * a->T * a->D;
    struct decoding d = { .a = a,
                          .whole = oa_case_array(a, count),
                          .y = oa_case_normals(a, "", count) };
    a->no_gradients = true;
    if (oa_layer_needs_all_tokens(&a->single.layer) || oa_status(p->context) != OA_OK ||
        !oa_proof_run(p, a))
        return;
    memcpy(d.whole, a->y, (size_t)count * sizeof *d.whole);
    d.condition = oa_case_conditions(a);
    for (long b = 0; d.condition && b < a->B; b++)
        oa_proof_report_inconclusive(p, a, d.condition + b * a->T, decoding_bound(a), b);
    if (d.condition && oa_layer_state_open(&a->single.layer, a->T, &d.state) == OA_OK) {
        check_chunk_sizes(p, &d);
        check_state_copy(p, &d);
        oa_layer_state_close(&a->single.layer, d.state);
    }
    oa_proof_error(p, a);
}

static void verify_decoding(struct oa_proof *p, const char *spec)
{
    struct oa_setup
        exact = { .precision = OA_PRECISION_F64, .queries = 23, .keys = 7, .length = 25 },
        padded = exact, rotary = exact,
        single = { .precision = OA_PRECISION_F32, .queries = 75, .keys = 70, .length = 80 },
        half = { .precision = OA_PRECISION_BF16, .queries = 20, .keys = 9, .length = 20 };
    padded.padding = padded.bias = true;
    padded.batch = 3;
    rotary.rotary = true;
    oa_proof_check_modes(p, spec, &exact, OA_MODE_CAUSAL, OA_MODE_CAUSAL,
                         decoding_matches_whole_sequence);
    oa_proof_check_modes(p, spec, &padded, OA_MODE_CROSS, OA_MODE_CROSS,
                         decoding_matches_whole_sequence);
    oa_proof_check_modes(p, spec, &half, OA_MODE_CAUSAL, OA_MODE_CROSS,
                         decoding_matches_whole_sequence);
    if (p->quick)
        return;
    oa_proof_check_modes(p, spec, &rotary, OA_MODE_CAUSAL, OA_MODE_CAUSAL,
                         decoding_matches_whole_sequence);
    oa_proof_check_modes(p, spec, &single, OA_MODE_CAUSAL, OA_MODE_CROSS,
                         decoding_matches_whole_sequence);
}

const struct oa_subject oa_subject_decoding = { "decoding", 15, verify_decoding, NULL };
