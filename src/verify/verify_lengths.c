/* SPDX-License-Identifier: Apache-2.0
 * A sequence shorter than N gives what a layer with tables cut to its length gives. A longer one is
 * refused where tables end, and gives what a layer of a larger N gives where none do. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* Copies the leading part of a larger parameter. */
static void copy_leading(const struct oa_case *from, const struct oa_parameter *w,
                         struct oa_case *to, struct oa_parameter *cut)
{
    for (long i = 0; w && i < cut->count; i++) {
        long rest = i, at = 0, stride = 1;
        for (int d = cut->dims - 1; d >= 0; d--) {
            at += rest % cut->dim[d] * stride;
            rest /= cut->dim[d];
            stride *= w->dim[d];
        }
        oa_real_write(to->rig.device, cut->value, i, oa_real_read(from->rig.device, w->value, at));
    }
}

static bool length_counts(const struct oa_group *groups, int count)
{
    bool counts = false;
    for (const struct oa_group *g = groups; g < groups + count; g++)
        counts |= (g->mechanism->length_counts && g->mechanism->length_counts(g)) ||
                  length_counts(g->component, g->components);
    return counts;
}

static void shorter_is_cut(struct oa_proof *p, struct oa_case *a)
{
    struct oa_case cut;
    struct oa_setup setup = a->setup;
    setup.length = a->T;
    if (length_counts(a->rig.layer.group, a->rig.layer.groups) ||
        !oa_proof_open(p, setup.spec, setup.mode, &setup, &cut))
        return;
    for (int i = 0; i < cut.rig.store.count; i++)
        copy_leading(a, oa_store_find(&a->rig.store, cut.rig.store.parameter[i]->name), &cut,
                     cut.rig.store.parameter[i]);
    oa_store_refresh(&cut.rig.store);
    a->no_gradients = cut.no_gradients = true;
    if (oa_proof_run(p, a) && oa_proof_run(p, &cut))
        oa_proof_measure(p, a, oa_proof_difference(cut.y, a->y, a->B * a->T * a->D), 1e-12,
                         "6 tokens of 11 and tables cut to 6");
    oa_case_close(&cut);
}

static void longer_is_refused(struct oa_proof *p, struct oa_case *a)
{
    enum oa_error e = oa_case_run(a);
    if (e != OA_NO_MEMORY)
        oa_clear_error(p->context);
    oa_proof_measure(p, a, e != OA_SHAPE, 0,
                     "a sequence longer than the tables is taken (0: refused)");
}

/* The parameters of both have the same values, as their names decide. */
static void longer_is_the_same(struct oa_proof *p, struct oa_case *a)
{
    struct oa_case longer;
    struct oa_setup setup = a->setup;
    setup.length = a->T;
    if (length_counts(a->rig.layer.group, a->rig.layer.groups) ||
        !oa_proof_open(p, setup.spec, setup.mode, &setup, &longer))
        return;
    longer.no_gradients = true;
    if (oa_proof_run(p, a) && oa_proof_run(p, &longer))
        oa_proof_measure(p, a, oa_proof_difference(longer.y, a->y, a->B * a->T * a->D), 1e-12,
                         "more tokens than N, and as many as N of another layer");
    oa_case_close(&longer);
}

void oa_longer_is_refused_or_the_same(struct oa_proof *p, struct oa_case *a)
{
    bool bound = false;
    for (int i = 0; i < a->rig.layer.groups; i++)
        bound |= (oa_atom_capabilities(a->rig.layer.group[i].atom) & OA_BOUND_LENGTH) != 0;
    a->no_gradients = true;
    if (bound)
        longer_is_refused(p, a);
    else
        longer_is_the_same(p, a);
}

static void each(struct oa_proof *p, const char *spec)
{
    struct oa_setup shorter = { .precision = OA_PRECISION_F64, .length = 11 },
                    longer = { .precision = OA_PRECISION_F64, .queries = 8, .length = 7 };
    oa_proof_modes(p, spec, &shorter, OA_MODE_BOTH, OA_MODE_CROSS, shorter_is_cut);
    oa_proof_modes(p, spec, &longer, OA_MODE_BOTH, OA_MODE_CROSS, oa_longer_is_refused_or_the_same);
}

const struct oa_subject oa_subject_lengths = {
    .name = "lengths",
    .claim = "a shorter sequence is that of tables cut to it; a longer one is refused, or that of "
             "a larger N",
    .work = 1,
    .each = each,
};
