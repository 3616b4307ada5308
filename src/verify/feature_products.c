/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/feature_products.h"
#include "attention/layer/single_layer.h"

#include <math.h>
#include <string.h>

/* One draw of Ω and the features of the first rows of q and k. */
struct omega_draw {
    const struct oa_feature_draws *f;
    struct oa_single_layer single;
    struct oa_arena arena, memory; /* the host's, the device's */
    const void *omega;             /* [OA_DRAW, K], the device's */
    double *features[2];           /* [rows, outputs] */
    double *top[2];                /* [rows] */
    double log_constant;           /* of a product: factors that attentions cancel */
};

static enum oa_error open_omega_draw(oa_context *c, struct omega_draw *w, uint64_t seed)
{
    char text[160];
    struct oa_layer_shape shape = oa_equal_heads_shape(w->f->width, 1, 1);
    snprintf(text, sizeof text, "performer(features=%d, %s)", OA_DRAW, w->f->draw);
    oa_arena_init(&w->arena, c, false);
    OA_TRY(oa_single_layer_open(c, text, OA_PRECISION_F64, false, &w->single));
    oa_device_arena(&w->memory, w->single.device);
    OA_TRY(oa_single_layer_layer(&w->single, 0, &shape));
    OA_TRY(oa_store_allocate(&w->single.store, seed, false));
    const struct oa_parameter *omega = oa_store_find(&w->single.store, "features.omega");
    if (!omega)
        return oa_fail(c, OA_INTERNAL, "a performer layer has no features.omega");
    w->omega = omega->value;
    return OA_OK;
}

/* In f64 reals and acts are doubles. */
static void *device_array(struct omega_draw *w, long count)
{
    return oa_arena_take(&w->memory, (size_t)count * sizeof(double));
}

static const void *device_copy(struct omega_draw *w, const double *x, long count)
{
    void *there = device_array(w, count);
    if (there)
        oa_reals_write(w->single.device, count, x, there);
    return there;
}

static double *host_copy(struct omega_draw *w, const void *x, long count)
{
    double *here = oa_arena_take(&w->arena, (size_t)count * sizeof *here);
    if (here && oa_status(w->single.device->context) == OA_OK)
        oa_reals_read(w->single.device, count, x, here);
    return here;
}

static void make_side_features(struct omega_draw *w, int side, const struct oa_random_features *how)
{
    const struct oa_feature_draws *f = w->f;
    bool twice = f->kind == OA_RANDOM_TRIG || f->kind == OA_RANDOM_HYPERBOLIC;
    long rows = side ? f->keys : f->queries;
    struct oa_random_features a = *how;
    a.kind = f->kind;
    a.batch = a.heads = 1;
    a.length = rows;
    a.width = f->width;
    a.count = OA_DRAW;
    a.scale = 1;
    a.half_norm = f->half_norm;
    a.x = device_copy(w, side ? f->k : f->q, rows * f->width);
    a.y = device_array(w, rows * OA_DRAW * (twice ? 2 : 1));
    a.top = device_array(w, rows);
    if (a.x && a.y && a.top)
        w->single.device->ops->random_features(w->single.device, &a);
    w->features[side] = host_copy(w, a.y, rows * OA_DRAW * (twice ? 2 : 1));
    w->top[side] = host_copy(w, a.top, rows);
}

static enum oa_error fit_features(struct omega_draw *w, struct oa_random_features how[2])
{
    const struct oa_feature_draws *f = w->f;
    long K = f->width;
    void *bias = device_array(w, OA_DRAW);
    struct oa_random_statistics s = { .kind = (enum oa_random_fit)f->fit,
                                      .batch = 1,
                                      .queries = f->queries,
                                      .keys = f->keys,
                                      .heads = 1,
                                      .width = K,
                                      .count = OA_DRAW,
                                      .scale = 1,
                                      .q = device_copy(w, f->q, f->queries * K),
                                      .k = device_copy(w, f->k, f->keys * K),
                                      .omega = w->omega,
                                      .turned = { device_array(w, OA_DRAW * K),
                                                  device_array(w, OA_DRAW * K) },
                                      .metric = { device_array(w, K * K), device_array(w, K * K) },
                                      .bias = bias };
    OA_TRY(oa_status(w->single.context));
    w->single.device->ops->random_statistics(w->single.device, &s);
    for (int side = 0; side < 2; side++)
        how[side] = (struct oa_random_features){
            .each = true, .omega = s.turned[side], .bias = bias, .metric = s.metric[side]
        };
    return oa_status(w->single.context);
}

static enum oa_error make_both_features(struct omega_draw *w)
{
    struct oa_random_features how[2] = { { .omega = w->omega }, { .omega = w->omega } };
    if (w->f->fit != OA_NO_FIT)
        OA_TRY(fit_features(w, how));
    make_side_features(w, 0, &how[0]);
    make_side_features(w, 1, &how[1]);
    return oa_status(w->single.context);
}

/* f(ω_r, x) f(ω_r, y) with mean e^{x·y}, where the kind has that mean. */
static double feature_product(const struct omega_draw *w, long r)
{
    const double *x = w->features[0], *y = w->features[1];
    double scale = exp(w->top[0][0] + w->top[1][0] + w->log_constant);
    switch (w->f->kind) {
    case OA_RANDOM_TRIG:
        return scale * OA_DRAW * (x[r] * y[r] + x[r + OA_DRAW] * y[r + OA_DRAW]);
    case OA_RANDOM_HYPERBOLIC:
        return scale / 2 * (x[r] * y[r] + x[r + OA_DRAW] * y[r + OA_DRAW]);
    case OA_RANDOM_RELU: /* each feature has 10⁻³ added */
        return OA_DRAW * (x[r] - 1e-3) * (y[r] - 1e-3);
    default:
        return scale * x[r] * y[r];
    }
}

double oa_log_determinant(long n, const double *matrix, double *l)
{
    double sum = 0;
    for (long i = 0; i < n; i++) {
        for (long j = 0; j <= i; j++) {
            double s = matrix[i * n + j];
            for (long k = 0; k < j; k++)
                s -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
        }
        sum += 2 * log(l[i * n + i]);
    }
    return sum;
}

static void add_row_moments(long n, const double *x, long rows, double *mean, double *square)
{
    for (long i = 0; i < rows; i++) {
        for (long j = 0; j < n; j++)
            mean[j] += x[i * n + j] / (double)rows;
        for (long j = 0; j < n * n; j++)
            square[j] += x[i * n + j / n] * x[i * n + j % n] / (double)rows;
    }
}

enum oa_error oa_feature_moments(oa_context *c, const struct oa_feature_draws *f,
                                 struct oa_moments *m, struct oa_exponents *e)
{
    long n = f->width, nn = n * n;
    double *p = oa_alloc(c, (size_t)(2 * n + (7 + OA_FIT_WORK) * nn) * sizeof *p), *s = p + 2 * n;
    if (!p)
        return OA_NO_MEMORY;
    *m = (struct oa_moments){ n, { p, p + n }, { s, s + nn } };
    *e = (struct oa_exponents){
        s + 2 * nn, { s + 3 * nn, s + 4 * nn }, { s + 5 * nn, s + 6 * nn }, s + 7 * nn
    };
    add_row_moments(n, f->q, f->queries, m->mean[0], m->square[0]);
    add_row_moments(n, f->k, f->keys, m->mean[1], m->square[1]);
    if (f->fit != OA_NO_FIT)
        oa_fit_exponents((enum oa_random_fit)f->fit, m, e);
    return OA_OK;
}

/* Fitted features leave out D² = det(I − 4A)^{½} of a product. */
static enum oa_error find_log_constant(oa_context *c, struct omega_draw *w)
{
    struct oa_moments m;
    struct oa_exponents e;
    long n = w->f->width;
    if (w->f->fit == OA_NO_FIT)
        return OA_OK;
    OA_TRY(oa_feature_moments(c, w->f, &m, &e));
    for (long i = 0; i < n * n; i++)
        e.a[i] = (i / n == i % n) - 4 * e.a[i];
    w->log_constant = 0.5 * oa_log_determinant(n, e.a, e.work);
    oa_free(m.mean[0]);
    return OA_OK;
}

enum oa_error oa_feature_products(oa_context *c, const struct oa_feature_draws *f, long count,
                                  double *out)
{
    for (long first = 0; first < count && !oa_stop_requested(c); first += OA_DRAW) {
        struct omega_draw w = { .f = f };
        enum oa_error e = open_omega_draw(c, &w, (uint64_t)(1 + first / OA_DRAW));
        e = e == OA_OK ? make_both_features(&w) : e;
        e = e == OA_OK ? find_log_constant(c, &w) : e;
        for (long r = 0; e == OA_OK && r < OA_DRAW && first + r < count; r++)
            out[first + r] = feature_product(&w, r);
        oa_arena_free(&w.arena);
        oa_arena_free(&w.memory);
        oa_single_layer_close(&w.single);
        OA_TRY(e);
    }
    return OA_OK;
}
