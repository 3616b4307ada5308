/* SPDX-License-Identifier: Apache-2.0
 * Order: swapping two tokens only swaps their outputs if no part of the attention claims to depend
 * on positions; otherwise it must change an output.
 *
 * Lengths: a sequence shorter than N gives the same as a layer with tables of its length. A longer
 * one is rejected if the layer has tables of length N, and else gives the same as with a larger N.
 */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* ---- order ---- */

static void swap_token_rows(double *x, long a, long b, long width)
{
    for (long i = 0; i < width; i++) {
        double saved = x[a * width + i];
        x[a * width + i] = x[b * width + i];
        x[b * width + i] = saved;
    }
}

static bool has_relative_positions(const struct oa_group *g)
{
    return oa_group_relative(g).kind != OA_RELATIVE_NONE;
}

static bool order_matters(const struct oa_group *g)
{
    unsigned can = g->mechanism->can_with ? oa_atom_capabilities(g->atom) : g->mechanism->can;
    bool matters = can & OA_ORDER || has_relative_positions(g);
    for (int i = 0; i < g->components; i++)
        matters |= order_matters(&g->component[i]);
    return matters;
}

/* Does every token attend to itself only? */
static bool sees_only_itself(struct oa_attention_case *a, const struct oa_group *g)
{
    long rows = g->shape.heads * a->T;
    struct oa_oracle in = oa_case_oracle(a, 0);
    double *w = oa_case_array(a, rows * a->S), others = 0;
    if (!g->mechanism->weights || !w || g->mechanism->weights(g, &in, w) != OA_OK)
        return false;
    for (long r = 0; r < rows; r++) {
        for (long j = 0; j < a->S; j++)
            others += j != r % a->T && w[r * a->S + j] != 0;
    }
    return others == 0;
}

/* Order cannot matter where a token attends to itself only, or, without relative positions, to all
 * tokens. */
static bool order_can_matter(struct oa_attention_case *a)
{
    bool can = false;
    for (int i = 0; i < a->single.layer.groups; i++) {
        const struct oa_group *g = &a->single.layer.group[i];
        bool sees_all = g->support.form != OA_SUPPORT_ALL &&
                        oa_visible_pairs(g, a->T, a->T) == (double)(g->shape.heads * a->T * a->T);
        can |= !sees_only_itself(a, g) &&
               (has_relative_positions(g) || (order_matters(g) && !sees_all));
    }
    return can;
}

/* Of several pairs, since both tokens of a pair may see the same keys. */
double oa_order_difference(struct oa_proof *p, struct oa_attention_case *a)
{
    static const long pairs[][2] = { { 0, 3 }, { 1, 5 }, { 0, 5 }, { 2, 3 } };
    double difference = 0, *before = oa_case_array(a, a->B * a->T * a->D);
    a->no_gradients = true;
    if (!before || !oa_proof_run(p, a))
        return NAN;
    memcpy(before, a->y, (size_t)(a->B * a->T * a->D) * sizeof *before);
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        long i = pairs[k][0], j = pairs[k][1];
        swap_token_rows(a->x, i, j, a->D);
        bool done = oa_proof_run(p, a);
        swap_token_rows(a->x, i, j, a->D);
        swap_token_rows(a->y, i, j, a->D); /* outputs moved with their tokens */
        double change = done ? oa_proof_difference(before, a->y, a->T * a->D) : NAN;
        difference = fmax(difference, change);
    }
    return difference;
}

static void swapped_tokens_swap_outputs(struct oa_proof *p, struct oa_attention_case *a)
{
    bool matters = false;
    double difference = oa_order_difference(p, a);
    for (int i = 0; i < a->single.layer.groups; i++)
        matters |= order_matters(&a->single.layer.group[i]);
    if (isnan(difference))
        return;
    if (!matters)
        oa_proof_measure(p, a, difference, 1e-8, "change of outputs by swapping two tokens");
    else if (order_can_matter(a)) /* after a run, which reads a layout of blocks */
        oa_proof_measure(p, a, difference <= 1e-8, 0,
                         "order of tokens has no effect, but is claimed to (0: it has)");
}

static void verify_order(struct oa_proof *p, const char *spec)
{
    struct oa_setup setup = { .precision = OA_PRECISION_F64 };
    oa_proof_check_modes(p, spec, &setup, OA_MODE_BOTH, OA_MODE_BOTH, swapped_tokens_swap_outputs);
}

const struct oa_subject oa_subject_order = { "order", 1, verify_order, NULL };

/* ---- lengths ---- */

/* Copies the leading part of a parameter with larger dimensions. */
static void copy_leading_values(const struct oa_attention_case *from, const struct oa_parameter *w,
                                struct oa_attention_case *to, struct oa_parameter *cut)
{
    for (long i = 0; w && i < cut->count; i++) {
        long rest = i, at = 0, stride = 1;
        for (int d = cut->dims - 1; d >= 0; d--) {
            at += rest % cut->dim[d] * stride;
            rest /= cut->dim[d];
            stride *= w->dim[d];
        }
        oa_real_write(to->single.device, cut->value, i,
                      oa_real_read(from->single.device, w->value, at));
    }
}

static bool depends_on_maximum_length(const struct oa_group *groups, int count)
{
    bool counts = false;
    for (const struct oa_group *g = groups; g < groups + count; g++)
        counts |= (g->mechanism->length_counts && g->mechanism->length_counts(g)) ||
                  depends_on_maximum_length(g->component, g->components);
    return counts;
}

/* Compares a case with one of N = its number of tokens; sums may have another order. Parameters of
 * the same name have the same values, and smaller tables the leading part. */
static void compare_with_exact_length(struct oa_proof *p, struct oa_attention_case *a,
                                      const char *what)
{
    struct oa_attention_case exact;
    struct oa_setup setup = a->setup;
    setup.length = a->T;
    if (depends_on_maximum_length(a->single.layer.group, a->single.layer.groups) ||
        !oa_proof_open(p, setup.spec, setup.mode, &setup, &exact))
        return;
    for (int i = 0; a->N > a->T && i < exact.single.store.count; i++) {
        struct oa_parameter *w = exact.single.store.parameter[i];
        copy_leading_values(a, oa_store_find(&a->single.store, w->name), &exact, w);
    }
    oa_store_refresh(&exact.single.store);
    a->no_gradients = exact.no_gradients = true;
    if (oa_proof_run(p, a) && oa_proof_run(p, &exact))
        oa_proof_measure(p, a, oa_proof_difference(exact.y, a->y, a->B * a->T * a->D), 1e-12, "%s",
                         what);
    oa_case_close(&exact);
}

static void shorter_equals_shorter_tables(struct oa_proof *p, struct oa_attention_case *a)
{
    compare_with_exact_length(p, a, "6 tokens with N = 11, against tables cut to N = 6");
}

void oa_longer_is_rejected_or_equal(struct oa_proof *p, struct oa_attention_case *a)
{
    bool bound = false;
    for (int i = 0; i < a->single.layer.groups; i++)
        bound |= (oa_atom_capabilities(a->single.layer.group[i].atom) & OA_BOUND_LENGTH) != 0;
    if (!bound) {
        compare_with_exact_length(p, a, "more tokens than N, against a layer with larger N");
        return;
    }
    a->no_gradients = true;
    enum oa_error e = oa_case_run(a);
    if (e != OA_NO_MEMORY)
        oa_clear_error(p->context);
    oa_proof_measure(p, a, e != OA_SHAPE, 0, "sequence longer than N is accepted (0: rejected)");
}

static void verify_lengths(struct oa_proof *p, const char *spec)
{
    struct oa_setup shorter = { .precision = OA_PRECISION_F64, .length = 11 },
                    longer = { .precision = OA_PRECISION_F64, .queries = 8, .length = 7 };
    oa_proof_check_modes(p, spec, &shorter, OA_MODE_BOTH, OA_MODE_CROSS,
                         shorter_equals_shorter_tables);
    oa_proof_check_modes(p, spec, &longer, OA_MODE_BOTH, OA_MODE_CROSS,
                         oa_longer_is_rejected_or_equal);
}

const struct oa_subject oa_subject_lengths = { "lengths", 1, verify_lengths, NULL };
