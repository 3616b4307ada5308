/* SPDX-License-Identifier: Apache-2.0
 * Derivatives against central differences in double, along a random direction of the input, of the
 * memory, and of each trainable parameter; frozen parameters have not even a place for a gradient.
 */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static const double step = 1e-6, tolerance = 1e-6;

static double loss(struct oa_proof *p, struct oa_case *a)
{
    double sum = 0;
    a->no_gradients = true;
    bool done = oa_proof_run(p, a);
    a->no_gradients = false;
    for (long i = 0; i < a->B * a->T * a->D; i++)
        sum += a->y[i] * a->dy[i];
    return done ? sum : NAN;
}

/* What the host has written, of a parameter if there is a view. */
static void changed(struct oa_case *a, const struct oa_view *view)
{
    if (view)
        oa_view_store(view);
    oa_store_refresh(&a->rig.store);
}

/* (loss(values + h·direction) − loss(values − h·direction))/2h */
static double difference(struct oa_proof *p, struct oa_case *a, double *values,
                         const struct oa_view *view, const double *direction, long count, double h)
{
    double *kept = oa_case_room(a, count), side[2];
    if (!kept)
        return NAN;
    memcpy(kept, values, (size_t)count * sizeof *kept);
    for (int s = 0; s < 2; s++) {
        for (long i = 0; i < count; i++)
            values[i] = kept[i] + (s ? -h : h) * direction[i];
        changed(a, view);
        side[s] = loss(p, a);
    }
    memcpy(values, kept, (size_t)count * sizeof *kept);
    changed(a, view);
    return (side[0] - side[1]) / (2 * h);
}

/* The derivative of the loss along a random direction, both ways. `values` are doubles that the
 * case reads, of the store in a view of it. Where features of both signs make a denominator near 0
 * the loss is so curved that the error of a difference, h²·f'''/6, shows; a second step takes it
 * out (Richardson). */
static void check_direction(struct oa_proof *p, struct oa_case *a, const char *what, double *values,
                            const struct oa_view *view, const double *gradient, long count)
{
    size_t mark = oa_arena_mark(&a->arena);
    double *direction = oa_case_numbers(a, what, count), analytic = 0, size = 0;
    if (!direction)
        return;
    for (long i = 0; i < count; i++) {
        analytic += gradient[i] * direction[i];
        size += gradient[i] * gradient[i];
    }
    double numeric = difference(p, a, values, view, direction, count, step);
    double scale = 1 + sqrt(size) + fabs(numeric);
    if (fabs(analytic - numeric) > tolerance * scale)
        numeric =
            (100 * difference(p, a, values, view, direction, count, step / 10) - numeric) / 99;
    oa_proof_measure(p, a, fabs(analytic - numeric) / scale, tolerance,
                     "gradient of %s: %.9g, by differences %.9g%s%s%s", what, analytic, numeric,
                     a->setup.bias ? ", bias" : "", a->setup.padding ? ", padding" : "",
                     a->setup.rotary ? ", rotary" : "");
    oa_arena_release(&a->arena, mark);
}

static bool is_fitted(const struct oa_case *a)
{
    bool fitted = false;
    for (int i = 0; i < a->rig.layer.groups; i++) {
        const struct oa_group *g = &a->rig.layer.group[i];
        fitted |= g->mechanism->fitted && g->mechanism->fitted(g);
    }
    return fitted;
}

static double *copied(struct oa_case *a, const double *x, long count)
{
    double *out = oa_case_room(a, count);
    if (out && x)
        memcpy(out, x, (size_t)count * sizeof *out);
    return out;
}

static void check_parameter(struct oa_proof *p, struct oa_case *a, const struct oa_parameter *w,
                            const double *gradient)
{
    struct oa_view v;
    size_t bytes = (size_t)w->count * a->rig.device->numbers.real_size;
    double *values = oa_view_open(&v, a->rig.device, w->value, bytes, OA_VIEW_READ | OA_VIEW_WRITE);
    if (values)
        check_direction(p, a, w->name, values, &v, gradient, w->count);
    oa_view_close(&v);
}

static void check_parameters(struct oa_proof *p, struct oa_case *a)
{
    double *all = oa_case_room(a, a->rig.store.updated);
    if (all)
        oa_reals_read(a->rig.device, a->rig.store.updated, a->rig.store.gradients, all);
    for (int i = 0; all && i < a->rig.store.count; i++) {
        const struct oa_parameter *w = a->rig.store.parameter[i];
        if (w->trainable != (w->gradient != NULL))
            oa_proof_measure(p, a, INFINITY, 0, "%s is frozen and has a gradient", w->name);
        if (w->trainable)
            check_parameter(p, a, w,
                            all + ((double *)w->gradient - (double *)a->rig.store.gradients));
    }
}

void oa_gradients_are_differences(struct oa_proof *p, struct oa_case *a)
{
    a->no_gradients = false;
    if (is_fitted(a) || !oa_proof_run(p, a))
        return;
    long n = a->B * a->T * a->D, m = a->B * a->S * a->D;
    double *dx = copied(a, a->dx, n), *dmemory = a->memory ? copied(a, a->dmemory, m) : NULL;
    if (oa_status(p->context) != OA_OK)
        return;
    check_parameters(p, a);
    check_direction(p, a, "x", a->x, NULL, dx, n);
    if (dmemory)
        check_direction(p, a, "memory", a->memory, NULL, dmemory, m);
}

static void each(struct oa_proof *p, const char *spec)
{
    struct oa_setup plain = { .precision = OA_PRECISION_F64 }, padded = plain, rotary = plain,
                    token = plain;
    token.queries = token.keys = 1;
    padded.bias = padded.padding = true;
    padded.batch = 3;
    rotary.rotary = rotary.padding = true;
    oa_proof_modes(p, spec, &padded, OA_MODE_BOTH, OA_MODE_CROSS, oa_gradients_are_differences);
    oa_proof_modes(p, spec, &rotary, p->quick ? OA_MODE_CAUSAL : OA_MODE_BOTH, OA_MODE_CAUSAL,
                   oa_gradients_are_differences);
    oa_proof_modes(p, spec, &token, OA_MODE_BOTH, OA_MODE_CROSS, oa_gradients_are_differences);
    if (!p->quick)
        oa_proof_modes(p, spec, &plain, OA_MODE_BOTH, OA_MODE_CROSS, oa_gradients_are_differences);
}

const struct oa_subject oa_subject_gradients = {
    .name = "gradients",
    .claim = "derivatives are those of central differences in double",
    .work = 20,
    .each = each,
};
