/* SPDX-License-Identifier: Apache-2.0
 * What must not change an output or a gradient: a later token in a causal layer, the contents of
 * padding (NaN, infinity, invalid word numbers), the other items of a batch, and the number of
 * threads. Bit for bit, so the bound is 0, except where a shorter sequence or a smaller batch may
 * sum in another order. */
#include "base/concurrent.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* Values that are not equal bit for bit. */
static double count_bit_differences(const double *a, const double *b, long count)
{
    double n = 0;
    for (long i = 0; i < count; i++)
        n += memcmp(&a[i], &b[i], sizeof *a) != 0;
    return n;
}

/* ---- causality ---- */

bool oa_count_changed_outputs(struct oa_proof *p, struct oa_attention_case *a, double *earlier,
                              double *other_items)
{
    long row = a->D, item = a->T * row, all = a->B * item;
    double *before = oa_case_array(a, all);
    *earlier = *other_items = 0;
    a->no_gradients = true;
    if (!before || !oa_proof_run(p, a))
        return false;
    memcpy(before, a->y, (size_t)all * sizeof *before);
    for (long t = 1; t < a->T; t++) {
        for (long i = 0; i < row; i++)
            a->x[t * row + i] += 3; /* of the first item */
        if (!oa_proof_run(p, a))
            return false;
        *earlier += count_bit_differences(before, a->y, t * row);
        *other_items += count_bit_differences(before + item, a->y + item, all - item);
        memcpy(before, a->y, (size_t)all * sizeof *before);
    }
    return true;
}

void oa_later_tokens_change_nothing(struct oa_proof *p, struct oa_attention_case *a)
{
    double earlier, other_items;
    if (!oa_count_changed_outputs(p, a, &earlier, &other_items))
        return;
    oa_proof_measure(p, a, earlier, 0, "outputs changed by a later token, %ld tokens", a->T);
    oa_proof_measure(p, a, other_items, 0, "outputs changed by a token of another item, %ld tokens",
                     a->T);
}

static void verify_causality(struct oa_proof *p, const char *spec)
{
    static const struct oa_setup setups[] = {
        { .precision = OA_PRECISION_F64 },
        { .precision = OA_PRECISION_BF16, .queries = 9, .length = 9 },
        { .precision = OA_PRECISION_F32, .queries = 70, .length = 70 } /* more than one tile */
    };
    for (int i = 0; i < 3; i++)
        oa_proof_check_modes(p, spec, &setups[i], OA_MODE_CAUSAL, OA_MODE_CAUSAL,
                             oa_later_tokens_change_nothing);
}

const struct oa_subject oa_subject_causality = { "causality", 4, verify_causality, NULL };

/* ---- padding ---- */

static void fill_case_padding(struct oa_attention_case *a)
{
    double *padded = a->memory ? a->memory : a->x;
    for (long b = 0; b < a->B; b++) {
        for (long i = a->lengths[b] * a->D; i < a->S * a->D; i++) {
            padded[b * a->S * a->D + i] = i % 3 ? NAN : INFINITY;
            if (!a->memory)
                a->dy[b * a->T * a->D + i] = NAN;
        }
        for (long i = a->lengths[b]; !a->memory && i < a->T; i++)
            a->words[b * a->T + i] = -7;
    }
}

static void padding_changes_nothing(struct oa_proof *p, struct oa_attention_case *a)
{
    long count;
    double infinite = 0, largest = 0;
    if (!oa_proof_run(p, a))
        return;
    const double *before = oa_case_results(a, &count);
    fill_case_padding(a);
    if (!before || !oa_proof_run(p, a))
        return;
    const double *after = oa_case_results(a, &count);
    for (long i = 0; after && i < count; i++)
        infinite += !isfinite(before[i]);
    for (long b = 0; b < a->B && !a->memory; b++) {
        for (long i = a->lengths[b] * a->D; i < a->T * a->D; i++) {
            double y = fabs(a->y[b * a->T * a->D + i]);
            largest = y <= largest ? largest : y; /* NaN stays */
        }
    }
    oa_proof_measure(p, a, after ? count_bit_differences(before, after, count) : 0, 0,
                     "values changed by the contents of padding");
    oa_proof_measure(p, a, infinite, 0, "values that are not finite, with an empty item");
    oa_proof_measure(p, a, largest, 0, "largest output of a padded row");
}

/* The second item, whose last two keys are padding, and the same item without them. */
static void padding_is_as_if_absent(struct oa_proof *p, struct oa_attention_case *a)
{
    struct oa_attention_case alone;
    struct oa_setup setup = a->setup;
    long unpadded = a->lengths[1];
    setup.batch = 1;
    setup.padding = false;
    setup.queries = a->memory ? a->T : unpadded;
    setup.keys = unpadded;
    a->no_gradients = true;
    if (!oa_proof_run(p, a) || !oa_proof_open(p, setup.spec, setup.mode, &setup, &alone))
        return;
    memcpy(alone.x, a->x + a->T * a->D, (size_t)(alone.T * alone.D) * sizeof *alone.x);
    memcpy(alone.words, a->words + a->T, (size_t)alone.T * sizeof *alone.words);
    if (alone.memory)
        memcpy(alone.memory, a->memory + a->S * a->D,
               (size_t)(alone.S * alone.D) * sizeof *alone.memory);
    oa_case_copy_values(a, &alone); /* parameters that a pass in training has moved */
    alone.no_gradients = true;
    if (oa_proof_run(p, &alone))
        oa_proof_measure(p, a, oa_proof_difference(alone.y, a->y + a->T * a->D, alone.T * a->D),
                         1e-11, "outputs of an item with and without padding");
    oa_case_close(&alone);
}

/* Sets the padded queries of the second item in x, y or dy. Their outputs have no meaning, so they
 * are set to 0 before a comparison, and their gradients too. */
static void set_padded_queries(struct oa_attention_case *a, double *rows, double value)
{
    for (long i = a->query_lengths[1] * a->D; i < a->T * a->D; i++)
        rows[a->T * a->D + i] = value;
}

static void padded_queries_change_nothing(struct oa_proof *p, struct oa_attention_case *a)
{
    long count;
    set_padded_queries(a, a->dy, 0);
    if (!oa_proof_run(p, a))
        return;
    set_padded_queries(a, a->y, 0);
    const double *before = oa_case_results(a, &count);
    set_padded_queries(a, a->x, 3);
    if (!before || !oa_proof_run(p, a))
        return;
    set_padded_queries(a, a->y, 0);
    const double *after = oa_case_results(a, &count);
    oa_proof_measure(p, a, after ? count_bit_differences(before, after, count) : 0, 0,
                     "values changed by padded queries");
}

static void verify_padding(struct oa_proof *p, const char *spec)
{
    struct oa_setup exact = { .precision = OA_PRECISION_F64,
                              .padding = true,
                              .bias = true,
                              .batch = 3 },
                    single = { .precision = OA_PRECISION_F32, .padding = true, .batch = 3 },
                    half = { .precision = OA_PRECISION_BF16, .padding = true, .batch = 3 };
    oa_proof_check_modes(p, spec, &exact, OA_MODE_BOTH, OA_MODE_CROSS, padding_changes_nothing);
    oa_proof_check_modes(p, spec, &exact, OA_MODE_BOTH, OA_MODE_CROSS, padding_is_as_if_absent);
    oa_proof_check_modes(p, spec, &single, OA_MODE_BOTH, OA_MODE_CROSS, padding_changes_nothing);
    oa_proof_check_modes(p, spec, &half, OA_MODE_BOTH, OA_MODE_CROSS, padding_changes_nothing);
    exact.query_padding = true;
    oa_proof_check_modes(p, spec, &exact, OA_MODE_CROSS, OA_MODE_CROSS,
                         padded_queries_change_nothing);
}

const struct oa_subject oa_subject_padding = { "padding", 6, verify_padding, NULL };

/* ---- batches ---- */

/* The first item alone, and in a batch. */
static void other_items_change_nothing(struct oa_proof *p, struct oa_attention_case *a)
{
    struct oa_attention_case alone;
    struct oa_setup setup = a->setup;
    setup.batch = 1;
    if (!oa_proof_run(p, a) || !oa_proof_open(p, setup.spec, setup.mode, &setup, &alone))
        return;
    oa_case_copy_values(a, &alone); /* parameters that a pass in training has moved */
    if (oa_proof_run(p, &alone))
        oa_proof_measure(p, a, oa_proof_difference(a->y, alone.y, a->T * a->D), 1e-12,
                         "outputs of an item alone and in a batch");
    oa_case_close(&alone);
}

static void verify_batches(struct oa_proof *p, const char *spec)
{
    struct oa_setup setup = { .precision = OA_PRECISION_F64, .padding = true, .batch = 3 };
    oa_proof_check_modes(p, spec, &setup, OA_MODE_BOTH, OA_MODE_CROSS, other_items_change_nothing);
}

const struct oa_subject oa_subject_batches = { "batches", 1, verify_batches, NULL };

/* ---- threads ---- */

static void threads_change_nothing(struct oa_proof *p, struct oa_attention_case *a)
{
    long count;
    if (!oa_proof_run(p, a))
        return;
    const double *results = oa_case_results(a, &count);
    for (int i = 0; results && i < 2; i++) {
        oa_context *c = p->other_threads[i];
        struct oa_attention_case other;
        enum oa_error e = oa_case_open(c, &a->setup, &other);
        e = e == OA_OK ? oa_case_run(&other) : e;
        const double *others = e == OA_OK ? oa_case_results(&other, &count) : NULL;
        if (oa_status(c) == OA_NO_MEMORY)
            oa_fail_as(p->context, c); /* not run, so not a failed check */
        else
            oa_proof_measure(p, a,
                             others ? count_bit_differences(results, others, count) : INFINITY, 0,
                             "values that differ with %d threads", oa_thread_count(c));
        oa_case_close(&other);
        oa_clear_error(c);
    }
}

/* Long enough for several items of work in every engine. */
static void verify_threads(struct oa_proof *p, const char *spec)
{
    struct oa_setup single = { .precision = OA_PRECISION_F32,
                               .padding = true,
                               .batch = 3,
                               .queries = 70,
                               .keys = 66,
                               .length = 70 },
                    half = single;
    half.precision = OA_PRECISION_BF16;
    oa_proof_check_modes(p, spec, &single, OA_MODE_BOTH, OA_MODE_CROSS, threads_change_nothing);
    if (!p->quick)
        oa_proof_check_modes(p, spec, &half, OA_MODE_CAUSAL, OA_MODE_CAUSAL,
                             threads_change_nothing);
}

const struct oa_subject oa_subject_threads = { "threads", 8, verify_threads, NULL };
