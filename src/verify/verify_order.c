/* SPDX-License-Identifier: Apache-2.0
 * Permutation laws: swapping two tokens swaps their outputs exactly when no part of the attention
 * claims to look at positions; one that claims to must make a difference. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static void swap_rows(double *x, long a, long b, long width)
{
    for (long i = 0; i < width; i++) {
        double kept = x[a * width + i];
        x[a * width + i] = x[b * width + i];
        x[b * width + i] = kept;
    }
}

static bool is_relative(const struct oa_group *g)
{
    return oa_group_relative(g).kind != OA_RELATIVE_NONE;
}

static bool order_matters(const struct oa_group *g)
{
    bool matters = g->mechanism->can & OA_ORDER || is_relative(g);
    for (int i = 0; i < g->components; i++)
        matters |= order_matters(&g->component[i]);
    return matters;
}

/* Does every token see itself alone? */
static bool sees_itself(struct oa_case *a, const struct oa_group *g)
{
    long rows = g->shape.heads * a->T;
    struct oa_oracle in = oa_case_oracle(a, 0);
    double *w = oa_case_room(a, rows * a->S), others = 0;
    if (!g->mechanism->weights || !w || g->mechanism->weights(g, &in, w) != OA_OK)
        return false;
    for (long r = 0; r < rows; r++) {
        for (long j = 0; j < a->S; j++)
            others += j != r % a->T && w[r * a->S + j] != 0;
    }
    return others == 0;
}

static bool sees_all(const struct oa_case *a, const struct oa_group *g)
{
    return g->support.form != OA_SUPPORT_ALL &&
           oa_visible_pairs(g, a->T, a->T) == (double)(g->shape.heads * a->T * a->T);
}

/* A token that sees itself only, or everything, has no order, though the mechanism has. Relative
 * positions make one of whatever is seen beside the token itself. */
static bool order_shows(struct oa_case *a)
{
    bool shows = false;
    for (int i = 0; i < a->rig.layer.groups; i++) {
        const struct oa_group *g = &a->rig.layer.group[i];
        shows |= !sees_itself(a, g) && (is_relative(g) || (order_matters(g) && !sees_all(a, g)));
    }
    return shows;
}

/* The largest change of an output of the first item, moved with its token, when tokens i and j
 * change places. */
static double swapped(struct oa_proof *p, struct oa_case *a, const double *before, long i, long j)
{
    swap_rows(a->x, i, j, a->D);
    bool done = oa_proof_run(p, a);
    swap_rows(a->x, i, j, a->D);
    swap_rows(a->y, i, j, a->D);
    return done ? oa_proof_difference(before, a->y, a->T * a->D) : NAN;
}

/* Not every pair shows that order matters: both may see the same keys. */
double oa_order_difference(struct oa_proof *p, struct oa_case *a)
{
    static const long pairs[][2] = { { 0, 3 }, { 1, 5 }, { 0, 5 }, { 2, 3 } };
    double difference = 0, *before = oa_case_room(a, a->B * a->T * a->D);
    a->no_gradients = true;
    if (!before || !oa_proof_run(p, a))
        return NAN;
    memcpy(before, a->y, (size_t)(a->B * a->T * a->D) * sizeof *before);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        difference = fmax(difference, swapped(p, a, before, pairs[i][0], pairs[i][1]));
    return difference;
}

static void swapped_tokens(struct oa_proof *p, struct oa_case *a)
{
    bool matters = false;
    double difference = oa_order_difference(p, a);
    for (int i = 0; i < a->rig.layer.groups; i++)
        matters |= order_matters(&a->rig.layer.group[i]);
    if (isnan(difference))
        return;
    if (!matters)
        oa_proof_measure(p, a, difference, 1e-8, "outputs after swapping two tokens");
    else if (order_shows(a)) /* after a run: a layout of blocks is read */
        oa_proof_measure(p, a, difference <= 1e-8, 0,
                         "tokens are told from each other only by content (0: no)");
}

static void each(struct oa_proof *p, const char *spec)
{
    struct oa_setup setup = { .precision = OA_PRECISION_F64 };
    oa_proof_modes(p, spec, &setup, OA_MODE_BOTH, OA_MODE_BOTH, swapped_tokens);
}

const struct oa_subject oa_subject_order = {
    .name = "order",
    .claim = "swapped tokens swap their outputs, unless the mechanism looks at positions, and then "
             "they do not",
    .work = 1,
    .each = each,
};
