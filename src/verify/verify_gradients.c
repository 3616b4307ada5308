/* SPDX-License-Identifier: Apache-2.0
 * Derivatives against central differences in double, along a random direction of the input, of the
 * memory, and of each trainable parameter. Frozen parameters have no gradient.
 *
 * Bound 1e-6 of 1 + |gradient| + |derivative|: a step h = 1e-6 rounds the difference to about 1e-10
 * and truncates it by h²f'''/6. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static const double step = 1e-6, tolerance = 1e-6;

static double case_loss(struct oa_proof *p, struct oa_attention_case *a)
{
    double sum = 0;
    a->no_gradients = true;
    bool done = oa_proof_run(p, a);
    a->no_gradients = false;
    for (long i = 0; i < a->B * a->T * a->D; i++)
        sum += a->y[i] * a->dy[i];
    return done ? sum : NAN;
}

/* Makes values that the host has written visible to the device; view NULL: of an input. */
static void store_changed_values(struct oa_attention_case *a, const struct oa_view *view)
{
    if (view)
        oa_view_store(view);
    oa_store_refresh(&a->single.store);
}

/* (loss(values + h·direction) − loss(values − h·direction))/2h */
static double central_difference(struct oa_proof *p, struct oa_attention_case *a, double *values,
                                 const struct oa_view *view, const double *direction, long count,
                                 double h)
{
    double *saved = oa_case_array(a, count), side[2];
    if (!saved)
        return NAN;
    memcpy(saved, values, (size_t)count * sizeof *saved);
    for (int s = 0; s < 2; s++) {
        for (long i = 0; i < count; i++)
            values[i] = saved[i] + (s ? -h : h) * direction[i];
        store_changed_values(a, view);
        side[s] = case_loss(p, a);
    }
    memcpy(values, saved, (size_t)count * sizeof *saved);
    store_changed_values(a, view);
    return (side[0] - side[1]) / (2 * h);
}

/* The derivative of the loss along a random direction against the gradient. `values` are doubles
 * that the case reads, in the store through a view. Near a denominator of 0 the truncation error
 * h²f'''/6 can exceed the bound; a second step removes it (Richardson). */
static void check_gradient_along_direction(struct oa_proof *p, struct oa_attention_case *a,
                                           const char *what, double *values,
                                           const struct oa_view *view, const double *gradient,
                                           long count)
{
    size_t mark = oa_arena_mark(&a->arena);
    double *direction = oa_case_normals(a, what, count), analytic = 0, size = 0;
    if (!direction)
        return;
    for (long i = 0; i < count; i++) {
        analytic += gradient[i] * direction[i];
        size += gradient[i] * gradient[i];
    }
    double numeric = central_difference(p, a, values, view, direction, count, step);
    double scale = 1 + sqrt(size) + fabs(numeric);
    if (fabs(analytic - numeric) > tolerance * scale)
        numeric =
            (100 * central_difference(p, a, values, view, direction, count, step / 10) - numeric) /
            99;
    oa_proof_measure(p, a, fabs(analytic - numeric) / scale, tolerance,
                     "gradient of %s: %.9g, central difference %.9g%s%s%s", what, analytic, numeric,
                     a->setup.bias ? ", bias" : "", a->setup.padding ? ", padding" : "",
                     a->setup.rotary ? ", rotary" : "");
    oa_arena_release(&a->arena, mark);
}

static bool fits_its_inputs(const struct oa_attention_case *a)
{
    bool fitted = false;
    for (int i = 0; i < a->single.layer.groups; i++) {
        const struct oa_group *g = &a->single.layer.group[i];
        fitted |= g->mechanism->fitted && g->mechanism->fitted(g);
    }
    return fitted;
}

static double *copy_doubles(struct oa_attention_case *a, const double *x, long count)
{
    double *out = oa_case_array(a, count);
    if (out && x)
        memcpy(out, x, (size_t)count * sizeof *out);
    return out;
}

static void check_parameter_gradients(struct oa_proof *p, struct oa_attention_case *a)
{
    struct oa_device *d = a->single.device;
    const struct oa_store *store = &a->single.store;
    double *all = oa_case_array(a, store->updated);
    if (all)
        oa_reals_read(d, store->updated, store->gradients, all);
    for (int i = 0; all && i < store->count; i++) {
        const struct oa_parameter *w = store->parameter[i];
        if (w->trainable != (w->gradient != NULL))
            oa_proof_measure(p, a, INFINITY, 0, "%s: frozen parameter has a gradient", w->name);
        if (!w->trainable)
            continue;
        struct oa_view v;
        const double *gradient = all + ((double *)w->gradient - (double *)store->gradients);
        double *values = oa_view_open(&v, d, w->value, (size_t)w->count * d->numbers.real_size,
                                      OA_VIEW_READ | OA_VIEW_WRITE);
        if (values)
            check_gradient_along_direction(p, a, w->name, values, &v, gradient, w->count);
        oa_view_close(&v);
    }
}

void oa_gradients_match_differences(struct oa_proof *p, struct oa_attention_case *a)
{
    a->no_gradients = false;
    if (fits_its_inputs(a) || !oa_proof_run(p, a))
        return;
    long n = a->B * a->T * a->D, m = a->B * a->S * a->D;
    double *dx = copy_doubles(a, a->dx, n),
           *dmemory = a->memory ? copy_doubles(a, a->dmemory, m) : NULL;
    if (oa_status(p->context) != OA_OK)
        return;
    check_parameter_gradients(p, a);
    check_gradient_along_direction(p, a, "x", a->x, NULL, dx, n);
    if (dmemory)
        check_gradient_along_direction(p, a, "memory", a->memory, NULL, dmemory, m);
}

static void verify_gradients(struct oa_proof *p, const char *spec)
{
    struct oa_setup plain = { .precision = OA_PRECISION_F64 }, padded = plain, rotary = plain,
                    token = plain;
    token.queries = token.keys = 1;
    padded.bias = padded.padding = true;
    padded.batch = 3;
    rotary.rotary = rotary.padding = true;
    oa_proof_check_modes(p, spec, &padded, OA_MODE_BOTH, OA_MODE_CROSS,
                         oa_gradients_match_differences);
    oa_proof_check_modes(p, spec, &rotary, p->quick ? OA_MODE_CAUSAL : OA_MODE_BOTH, OA_MODE_CAUSAL,
                         oa_gradients_match_differences);
    oa_proof_check_modes(p, spec, &token, OA_MODE_BOTH, OA_MODE_CROSS,
                         oa_gradients_match_differences);
    if (!p->quick)
        oa_proof_check_modes(p, spec, &plain, OA_MODE_BOTH, OA_MODE_CROSS,
                             oa_gradients_match_differences);
}

const struct oa_subject oa_subject_gradients = { "gradients", 20, verify_gradients, NULL };
