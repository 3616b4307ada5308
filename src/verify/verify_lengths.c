/* SPDX-License-Identifier: Apache-2.0
 * A sequence shorter than N gives what a layer with tables cut to its length gives, and a longer one is refused. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* Copies the leading part of a larger parameter. */
static void copy_leading(const struct oa_case *from, const struct oa_parameter *w, struct oa_case *to,
                         struct oa_parameter *cut)
{
    for (long i = 0; w && i < cut->count; i++) {
        long rest = i, at = 0, stride = 1;
        for (int d = cut->dims - 1; d >= 0; d--) {
            at += rest % cut->dim[d] * stride;
            rest /= cut->dim[d];
            stride *= w->dim[d];
        }
        oa_real_set(to->device, cut->value, i, oa_real_get(from->device, w->value, at));
    }
}

/* Where N is more than the size of tables, a layer with another N is another attention. */
static bool length_has_a_meaning(const struct oa_case *a)
{
    const char *spec = a->setup.spec, *cosformer = strstr(spec, "cosformer");
    return (cosformer && !strstr(cosformer, "length=")) ||                  /* N is its unit of angles */
           (strncmp(spec, "sparse", 6) == 0 && !strstr(spec, "stride=")) || /* the default stride is ⌈√N⌉ */
           strstr(spec, "factorized-dense") ||                              /* which pair of numbers a position has */
           (a->setup.mode == OA_MODE_CAUSAL && strstr(spec, "mixer"));      /* which time a hidden unit has */
}

static void shorter_is_cut(struct oa_proof *p, struct oa_case *a)
{
    struct oa_case cut;
    struct oa_setup setup = a->setup;
    setup.length = a->T;
    if (length_has_a_meaning(a) || !oa_proof_open(p, setup.spec, setup.mode, &setup, &cut))
        return;
    for (int i = 0; i < cut.store.count; i++)
        copy_leading(a, oa_store_find(&a->store, cut.store.parameter[i]->name), &cut, cut.store.parameter[i]);
    oa_store_refresh(&cut.store);
    a->no_gradients = cut.no_gradients = true;
    if (oa_proof_run(p, a) && oa_proof_run(p, &cut))
        oa_proof_measure(p, a, oa_proof_difference(cut.y, a->y, a->B * a->T * a->D), 1e-12,
                         "6 tokens of 11 and tables cut to 6");
    oa_case_close(&cut);
}

static bool bound_length(const struct oa_group *g)
{
    bool bound = g->mechanism->can & OA_BOUND_LENGTH;
    for (int i = 0; i < g->components; i++)
        bound |= bound_length(&g->component[i]);
    return bound;
}

static void longer_is_refused(struct oa_proof *p, struct oa_case *a)
{
    bool bound = false;
    for (int i = 0; i < a->layer.groups; i++)
        bound |= bound_length(&a->layer.group[i]);
    if (!bound)
        return;
    a->no_gradients = true;
    enum oa_error e = oa_case_run(a);
    if (e != OA_NO_MEMORY)
        oa_clear_error(p->context);
    oa_proof_measure(p, a, e != OA_SHAPE, 0, "a sequence longer than the tables is taken (0: refused)");
}

static void each(struct oa_proof *p, const char *spec)
{
    struct oa_setup shorter = { .precision = OA_PRECISION_F64, .length = 11 },
                    longer = { .precision = OA_PRECISION_F64, .queries = 8, .length = 7 };
    oa_proof_modes(p, spec, &shorter, OA_MODE_BOTH, OA_MODE_CROSS, shorter_is_cut);
    oa_proof_modes(p, spec, &longer, OA_MODE_BOTH, OA_MODE_CROSS, longer_is_refused);
}

const struct oa_subject oa_subject_lengths = {
    .name = "lengths",
    .claim = "a shorter sequence is that of tables cut to it; a longer one is refused",
    .work = 1,
    .each = each,
};
