/* SPDX-License-Identifier: Apache-2.0
 * Features fitted to the data (device/cpu/cpu_random_statistics.c), by exact second moments instead
 * of draws:
 *
 *     log E f² = log det(I − 4A) − ½ log det(I − 8A) + 2uᵀ(I − 8A)^{-1}u − xᵀP_1x − yᵀP_2y,
 *     u = B_1x + B_2y
 *
 *     order        the mean of log E f² over all pairs: sderf ≤ favor++ ≤ favor+,
 *                  aderf ≤ saderf ≤ favor++; equal where the larger family has no better member
 *     mean         E f = e^{x·y} for every fit, within 5σ of that moment
 *     stationary   d/da of favor++'s log E f² is 0 at the fitted a, and a ≈ −φ/2 for small φ = S/d
 */
#include "statistics/statistics.h"
#include "verify/feature_products.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 6, POINTS = 16, CLOUDS = 20 };

static const char *const fit_names[] = { "favor++", "sderf", "aderf", "saderf" };

/* Gaussian points with a mean, and a scale for each coordinate and side. */
struct point_clouds {
    double q[POINTS * WIDTH], k[POINTS * WIDTH];
};

static void fill_point_clouds(struct point_clouds *c, int number, double scale)
{
    struct oa_stream s = oa_stream_child(oa_stream_named(3, "verify/clouds"), (uint64_t)number);
    for (int i = 0; i < POINTS * WIDTH; i++) {
        int l = i % WIDTH;
        uint64_t at = (uint64_t)(2 * i), spread = (uint64_t)(1000000 + 2 * l);
        c->q[i] = scale * exp(0.5 * oa_random_normal(s, spread)) * (0.3 + oa_random_normal(s, at));
        c->k[i] = scale * exp(0.5 * oa_random_normal(s, spread + 1)) *
                  (0.2 + oa_random_normal(s, at + 1));
    }
}

static struct oa_feature_draws cloud_features(const struct point_clouds *c, int fit)
{
    return (struct oa_feature_draws){ .draw = "draw=iid",
                                      .kind = OA_RANDOM_EXP,
                                      .half_norm = -0.5,
                                      .fit = fit,
                                      .width = WIDTH,
                                      .q = c->q,
                                      .k = c->k,
                                      .queries = POINTS,
                                      .keys = POINTS };
}

/* ---- second moments ---- */

static double quadratic_form(const double *m, const double *x)
{
    double sum = 0;
    for (int i = 0; i < WIDTH * WIDTH; i++)
        sum += x[i / WIDTH] * m[i] * x[i % WIDTH];
    return sum;
}

/* log det(I − t·A), its Cholesky factor into l. */
static double shifted_log_determinant(const double *a, double t, double *l)
{
    double m[WIDTH * WIDTH];
    for (int i = 0; i < WIDTH * WIDTH; i++)
        m[i] = (i / WIDTH == i % WIDTH) - t * a[i];
    return oa_log_determinant(WIDTH, m, l);
}

static double log_second_moment(const struct oa_exponents *e, const double *x, const double *y)
{
    double l[WIDTH * WIDTH], u[WIDTH], sum = shifted_log_determinant(e->a, 4, l), norm = 0;
    sum -= 0.5 * shifted_log_determinant(e->a, 8, l);
    for (int i = 0; i < WIDTH; i++) {
        u[i] = 0;
        for (int j = 0; j < WIDTH; j++)
            u[i] += e->b[0][i * WIDTH + j] * x[j] + e->b[1][i * WIDTH + j] * y[j];
        for (int j = 0; j < i; j++)
            u[i] -= l[i * WIDTH + j] * u[j];
        u[i] /= l[i * WIDTH + i];
        norm += u[i] * u[i];
    }
    return sum + 2 * norm - quadratic_form(e->p[0], x) - quadratic_form(e->p[1], y);
}

/* Mean of log E f² over all pairs; favor+ with OA_NO_FIT. */
static double mean_log_second_moment(oa_context *c, const struct point_clouds *cloud, int fit)
{
    struct oa_feature_draws f = cloud_features(cloud, fit);
    struct oa_moments m;
    struct oa_exponents e;
    double sum = 0;
    if (oa_feature_moments(c, &f, &m, &e) != OA_OK)
        return NAN;
    for (int i = 0; i < WIDTH && fit == OA_NO_FIT; i++)
        e.b[0][i * WIDTH + i] = e.b[1][i * WIDTH + i] = e.p[0][i * WIDTH + i] =
            e.p[1][i * WIDTH + i] = 1;
    for (int i = 0; i < POINTS * POINTS; i++)
        sum += log_second_moment(&e, cloud->q + i / POINTS * WIDTH, cloud->k + i % POINTS * WIDTH);
    oa_free(m.mean[0]);
    return sum / (POINTS * POINTS);
}

/* ---- checks ---- */

/* aderf is within 1e-4, because of its ridge. */
static void check_fit_order(struct oa_proof *p, const struct point_clouds *c, int number)
{
    double plain = mean_log_second_moment(p->context, c, OA_NO_FIT),
           favor = mean_log_second_moment(p->context, c, OA_FIT_FAVOR),
           sderf = mean_log_second_moment(p->context, c, OA_FIT_SDERF),
           aderf = mean_log_second_moment(p->context, c, OA_FIT_ADERF),
           saderf = mean_log_second_moment(p->context, c, OA_FIT_SADERF);
    oa_proof_measure_mechanism(p, "performer", fmax(0, favor - plain), 1e-9,
                               "cloud %d: favor++ %.4f ≤ favor+ %.4f", number, favor, plain);
    oa_proof_measure_mechanism(p, "performer", fmax(0, sderf - favor), 1e-9,
                               "cloud %d: sderf %.4f ≤ favor++ %.4f", number, sderf, favor);
    oa_proof_measure_mechanism(p, "performer", fmax(0, saderf - favor), 1e-9,
                               "cloud %d: saderf %.4f ≤ favor++ %.4f", number, saderf, favor);
    oa_proof_measure_mechanism(p, "performer", fmax(0, aderf - saderf), 1e-4,
                               "cloud %d: aderf %.4f ≤ saderf %.4f", number, aderf, saderf);
}

static void check_equal_fits(struct oa_proof *p, struct point_clouds *c)
{
    memcpy(c->k, c->q, sizeof c->k); /* the same second moments on both sides */
    oa_proof_measure_mechanism(p, "performer",
                               fabs(mean_log_second_moment(p->context, c, OA_FIT_SADERF) -
                                    mean_log_second_moment(p->context, c, OA_FIT_FAVOR)),
                               1e-12, "equal second moments: saderf is favor++");
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 2 * WIDTH;
         i++) /* ± unit vectors: a multiple of I (the other points are 0) */
        c->q[i * WIDTH + i / 2] = c->k[i * WIDTH + i / 2] = i % 2 ? -1 : 1;
    oa_proof_measure_mechanism(p, "performer",
                               fabs(mean_log_second_moment(p->context, c, OA_FIT_SDERF) -
                                    mean_log_second_moment(p->context, c, OA_FIT_FAVOR)),
                               1e-12, "round clouds: sderf is favor++");
}

static void check_fitted_mean(struct oa_proof *p, const struct point_clouds *c, int fit, long count,
                              double *f)
{
    struct oa_feature_draws draws = cloud_features(c, fit);
    struct oa_moments m;
    struct oa_exponents e;
    double xy = 0;
    if (oa_feature_products(p->context, &draws, count, f) != OA_OK ||
        oa_feature_moments(p->context, &draws, &m, &e) != OA_OK)
        return;
    double mean = oa_mean(f, (int)count);
    for (int i = 0; i < WIDTH; i++)
        xy += c->q[i] * c->k[i];
    double variance = exp(log_second_moment(&e, c->q, c->k)) - exp(2 * xy);
    oa_proof_measure_mechanism(
        p, "performer", fabs(mean / exp(xy) - 1), 5 * sqrt(variance / (double)count) / exp(xy),
        "%s: mean %.5f, expected %.5f; bound 5σ", fit_names[fit], mean, exp(xy));
    oa_free(m.mean[0]);
}

/* a of favor++ for S = |x + y|² in width d. */
static double fitted_favor(struct oa_proof *p, long d, double s)
{
    double x[64] = { 0 };
    struct oa_feature_draws f = {
        .fit = OA_FIT_FAVOR, .width = d, .q = x, .k = x, .queries = 1, .keys = 1
    };
    struct oa_moments m;
    struct oa_exponents e;
    x[0] = sqrt(s) / 2;
    if (oa_feature_moments(p->context, &f, &m, &e) != OA_OK)
        return NAN;
    double a = e.a[0];
    oa_free(m.mean[0]);
    return a;
}

static void check_favor_minimum(struct oa_proof *p)
{
    static const struct {
        long d;
        double s;
    } at[] = { { 4, 1 }, { 8, 1 }, { 8, 4 }, { 16, 4 }, { 64, 4 }, { 64, 16 }, { 64, 1000 } };
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        double a = fitted_favor(p, at[i].d, at[i].s), d = (double)at[i].d, rest = 1 - 8 * a;
        double slope = -4 * d / (1 - 4 * a) + 4 * d / rest + 8 * at[i].s / (rest * rest);
        oa_proof_measure_mechanism(p, "performer", fabs(slope) / d, 1e-9,
                                   "favor++: slope of log E f² at a = %.10f, d = %ld, S = %g", a,
                                   at[i].d, at[i].s);
    }
    double a = fitted_favor(p, 8, 8e-8);
    oa_proof_measure_mechanism(p, "performer", fabs(a / -0.5e-8 - 1), 1e-6,
                               "favor++: a = %.3g for φ = 10⁻⁸, expected −φ/2", a);
}

static void verify_fits(struct oa_proof *p)
{
    struct point_clouds c;
    long count = p->quick ? 1 << 15 : 1 << 18;
    double *f =
        oa_proof_includes(p, "performer") ? oa_alloc(p->context, (size_t)count * sizeof *f) : NULL;
    if (!f)
        return;
    for (int i = 0; i < CLOUDS && !oa_proof_stopped(p); i++) {
        fill_point_clouds(&c, i, 0.5);
        check_fit_order(p, &c, i);
    }
    check_equal_fits(p, &c);
    check_favor_minimum(p);
    fill_point_clouds(&c, CLOUDS, 0.25);
    for (int fit = OA_FIT_FAVOR; fit <= OA_FIT_SADERF && !oa_proof_stopped(p); fit++)
        check_fitted_mean(p, &c, fit, count, f);
    oa_free(f);
}

const struct oa_subject oa_subject_fits = { "fits", 5, NULL, verify_fits };
