/* SPDX-License-Identifier: Apache-2.0
 * What stands in padding (NaN, infinity, words that are none) changes no output and no gradient,
 * bit for bit; rows of padding and of empty items give exactly 0; and the items of a batch do not
 * meet. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static void fill_padding(struct oa_case *a)
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

/* Outputs of padded rows, which are 0; the largest otherwise. */
static double padded_rows(const struct oa_case *a)
{
    double worst = 0;
    for (long b = 0; b < a->B && !a->memory; b++) {
        for (long i = a->lengths[b] * a->D; i < a->T * a->D; i++) {
            double y = fabs(a->y[b * a->T * a->D + i]);
            worst = y <= worst ? worst : y;
        }
    }
    return worst;
}

static void garbage_changes_nothing(struct oa_proof *p, struct oa_case *a)
{
    long count;
    double different = 0, strange = 0;
    if (!oa_proof_run(p, a))
        return;
    const double *before = oa_case_results(a, &count);
    fill_padding(a);
    if (!before || !oa_proof_run(p, a))
        return;
    const double *after = oa_case_results(a, &count);
    for (long i = 0; after && i < count; i++) {
        different += memcmp(&before[i], &after[i], sizeof *before) != 0;
        strange += !isfinite(before[i]);
    }
    oa_proof_measure(p, a, different, 0, "numbers that change with what stands in padding");
    oa_proof_measure(p, a, strange, 0, "numbers that are not finite, with an item that is empty");
    oa_proof_measure(p, a, padded_rows(a), 0, "largest output of a padded row");
}

static void copy_item(const struct oa_case *from, long b, struct oa_case *to)
{
    memcpy(to->x, from->x + b * from->T * from->D, (size_t)(to->T * to->D) * sizeof *to->x);
    memcpy(to->words, from->words + b * from->T, (size_t)to->T * sizeof *to->words);
    if (to->memory)
        memcpy(to->memory, from->memory + b * from->S * from->D,
               (size_t)(to->S * to->D) * sizeof *to->memory);
}

/* The second item, whose last two keys are padding, and the same without them. */
static void padding_is_as_if_absent(struct oa_proof *p, struct oa_case *a)
{
    struct oa_case alone;
    struct oa_setup setup = a->setup;
    long real = a->lengths[1];
    setup.batch = 1;
    setup.padding = false;
    setup.queries = a->memory ? a->T : real;
    setup.keys = real;
    a->no_gradients = true;
    if (!oa_proof_run(p, a) || !oa_proof_open(p, setup.spec, setup.mode, &setup, &alone))
        return;
    copy_item(a, 1, &alone);
    /* the same past, as below */
    oa_case_copy_values(a, &alone);
    alone.no_gradients = true;
    if (oa_proof_run(p, &alone))
        oa_proof_measure(p, a, oa_proof_difference(alone.y, a->y + a->T * a->D, alone.T * a->D),
                         1e-11, "an item with padding and without");
    oa_case_close(&alone);
}

/* ---- queries that end early
 * -------------------------------------------------------------------------------------------
 */

/* What the padded queries of the second item give is set apart: it means nothing, and so no
 * gradient comes from it. */
static void set_queries(struct oa_case *a, double *of, double value)
{
    for (long i = a->query_lengths[1] * a->D; i < a->T * a->D; i++)
        of[a->T * a->D + i] = value;
}

static void padded_queries_change_nothing(struct oa_proof *p, struct oa_case *a)
{
    long count;
    double different = 0;
    set_queries(a, a->dy, 0);
    if (!oa_proof_run(p, a))
        return;
    set_queries(a, a->y, 0);
    const double *before = oa_case_results(a, &count);
    set_queries(a, a->x, 3);
    if (!before || !oa_proof_run(p, a))
        return;
    set_queries(a, a->y, 0);
    const double *after = oa_case_results(a, &count);
    for (long i = 0; after && i < count; i++)
        different += memcmp(&before[i], &after[i], sizeof *before) != 0;
    oa_proof_measure(p, a, different, 0, "numbers that change with queries behind their end");
}

static void each(struct oa_proof *p, const char *spec)
{
    struct oa_setup exact = { .precision = OA_PRECISION_F64,
                              .padding = true,
                              .bias = true,
                              .batch = 3 },
                    single = { .precision = OA_PRECISION_F32, .padding = true, .batch = 3 },
                    half = { .precision = OA_PRECISION_BF16, .padding = true, .batch = 3 };
    oa_proof_modes(p, spec, &exact, OA_MODE_BOTH, OA_MODE_CROSS, garbage_changes_nothing);
    oa_proof_modes(p, spec, &exact, OA_MODE_BOTH, OA_MODE_CROSS, padding_is_as_if_absent);
    oa_proof_modes(p, spec, &single, OA_MODE_BOTH, OA_MODE_CROSS, garbage_changes_nothing);
    oa_proof_modes(p, spec, &half, OA_MODE_BOTH, OA_MODE_CROSS, garbage_changes_nothing);
    exact.query_padding = true;
    oa_proof_modes(p, spec, &exact, OA_MODE_CROSS, OA_MODE_CROSS, padded_queries_change_nothing);
}

const struct oa_subject oa_subject_padding = {
    .name = "padding",
    .claim = "NaN and infinity in padding change nothing, bit for bit; empty items give zeros",
    .work = 6,
    .each = each,
};

/* ---- items of a batch
 * ----------------------------------------------------------------------------------------------
 */

/* The first item alone gives what it gave among others. */
static void items_do_not_meet(struct oa_proof *p, struct oa_case *a)
{
    struct oa_case alone;
    struct oa_setup setup = a->setup;
    setup.batch = 1;
    if (!oa_proof_run(p, a) || !oa_proof_open(p, setup.spec, setup.mode, &setup, &alone))
        return;
    /* the same past: what training moves remembers the items it has seen */
    oa_case_copy_values(a, &alone);
    if (oa_proof_run(p, &alone))
        oa_proof_measure(p, a, oa_proof_difference(a->y, alone.y, a->T * a->D), 1e-12,
                         "an item alone and among others");
    oa_case_close(&alone);
}

static void each_batch(struct oa_proof *p, const char *spec)
{
    struct oa_setup setup = { .precision = OA_PRECISION_F64, .padding = true, .batch = 3 };
    oa_proof_modes(p, spec, &setup, OA_MODE_BOTH, OA_MODE_CROSS, items_do_not_meet);
}

const struct oa_subject oa_subject_batches = {
    .name = "batches",
    .claim = "an item gives the same alone and in a batch",
    .work = 1,
    .each = each_batch,
};
