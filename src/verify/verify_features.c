/* SPDX-License-Identifier: Apache-2.0
 * Means and variances of random features against closed forms. (The variance of a sample would
 * underestimate a heavy tail.) One direction ω gives f = f(ω, x) f(ω, y); S = |x + y|²,
 * K = e^{x·y}, d the width:
 *
 *     mean     E f = K (favor+, hyperbolic, trig; independent or orthogonal rows), within 5σ
 *     decay    the squared error of r independent directions is Var f/r
 *     block    d orthogonal rows: Var f/d − (d − 1)/d · e^{−|x|²−|y|²}(e^S − C_d(S)), which is less
 *              than Var f/d
 *     smreg    rows of length √d: E f = e^{−(|x|²+|y|²)/2} ₀F₁(d/2; dS/4), and not K
 *     relu     E relu(ω·x) relu(ω·y) = |x||y|(sin θ + (π − θ) cos θ)/2π (Cho, Saul 2009)
 *
 *     C_d(S) = Σ_{p,q} (S/2)^{p+q}/(p! q!) · (d/2)_p (d/2)_q/(d/2)_{p+q}
 *
 * x + y has negative entries, so that directions of a QR without the signs of R, which prefer a
 * half-space, fail. */
#include "statistics/statistics.h"
#include "verify/feature_products.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

enum { WIDTH = 8, BLOCK = WIDTH };

struct feature_pair {
    double x[WIDTH], y[WIDTH], xx, yy, xy, sum, difference,
        kernel; /* |x|², |y|², x·y, |x + y|², |x − y|², e^{x·y} */
};

/* x + y = −√(S/d)(1, …), x − y = ½(1, −1, …). */
static struct feature_pair make_feature_pair(double s)
{
    struct feature_pair p = { 0 };
    for (int i = 0; i < WIDTH; i++) {
        double z = -sqrt(s / WIDTH), delta = i % 2 ? -0.5 : 0.5;
        p.x[i] = (z + delta) / 2;
        p.y[i] = (z - delta) / 2;
        p.xx += p.x[i] * p.x[i];
        p.yy += p.y[i] * p.y[i];
        p.xy += p.x[i] * p.y[i];
    }
    p.sum = p.xx + p.yy + 2 * p.xy;
    p.difference = p.xx + p.yy - 2 * p.xy;
    p.kernel = exp(p.xy);
    return p;
}

static struct oa_feature_draws pair_features(const struct feature_pair *p, const char *draw,
                                             enum oa_random_feature kind)
{
    return (struct oa_feature_draws){ .draw = draw,
                                      .kind = kind,
                                      .half_norm = kind == OA_RANDOM_RELU   ? 0
                                                   : kind == OA_RANDOM_TRIG ? 0.5
                                                                            : -0.5,
                                      .fit = OA_NO_FIT,
                                      .width = WIDTH,
                                      .q = p->x,
                                      .k = p->y,
                                      .queries = 1,
                                      .keys = 1 };
}

/* ---- moments of one direction ---- */

static double positive_variance(const struct feature_pair *p)
{
    return p->kernel * p->kernel * (exp(p->sum) - 1);
}

static double hyperbolic_variance(const struct feature_pair *p)
{
    return 0.5 * (1 - exp(-p->sum)) * positive_variance(p);
}

static double trig_variance(const struct feature_pair *p)
{
    double rest = 1 - exp(-p->difference);
    return 0.5 * exp(p->xx + p->yy) * rest * rest;
}

/* favor++: E f² = exp(d ln(1 − 4a) − (d/2) ln(1 − 8a) + S/(1 − 8a) + 2x·y), a as
 * the device fits it. */
static double fitted_variance(oa_context *c, const struct oa_feature_draws *f,
                              const struct feature_pair *p)
{
    struct oa_moments m;
    struct oa_exponents e;
    if (oa_feature_moments(c, f, &m, &e) != OA_OK)
        return NAN;
    double a = e.a[0], second = WIDTH * log(1 - 4 * a) - WIDTH / 2.0 * log(1 - 8 * a);
    oa_free(m.mean[0]);
    return exp(second + p->sum / (1 - 8 * a) + 2 * p->xy) - p->kernel * p->kernel;
}

/* C_d(s): E of products of two orthogonal directions, over e^{−|x|²−|y|²}. */
static double orthogonal_series(double d, double s)
{
    double sum = 0, outer = 1; /* (s/2)^p/p! */
    for (int p = 0; p < 80; p++) {
        double term = outer; /* times (s/2)^q/q! (d/2)_p (d/2)_q/(d/2)_{p+q}; at q = 0: 1 */
        for (int q = 0; q < 80; q++) {
            sum += term;
            term *= s / 2 / (q + 1) * (d / 2 + q) / (d / 2 + p + q);
        }
        outer *= s / 2 / (p + 1);
    }
    return sum;
}

/* ₀F₁(a; z) */
static double bessel_series(double a, double z)
{
    double sum = 0, term = 1;
    for (int n = 0; n < 200; n++) {
        sum += term;
        term *= z / ((a + n) * (n + 1));
    }
    return sum;
}

/* ---- statistics ---- */

/* Mean squared error around `target` of the means of blocks of `size`; *error: its standard error.
 */
static double block_error(const double *x, long n, long size, double target, double *error)
{
    double second = 0, fourth = 0;
    long blocks = n / size;
    for (long b = 0; b < blocks; b++) {
        double off = oa_mean(x + b * size, (int)size) - target;
        second += off * off / (double)blocks;
        fourth += off * off * off * off / (double)blocks;
    }
    *error = sqrt((fourth - second * second) / (double)blocks);
    return second;
}

/* ---- checks ---- */

struct feature_checks {
    struct oa_proof *p;
    long count;
    double *f;
};

static bool draw_products(struct feature_checks *l, const struct oa_feature_draws *f)
{
    return !oa_proof_stopped(l->p) &&
           oa_feature_products(l->p->context, f, l->count, l->f) == OA_OK;
}

static void check_feature_mean(struct feature_checks *l, const char *what, double want,
                               double variance)
{
    double mean = oa_mean(l->f, (int)l->count), sigma = sqrt(variance / (double)l->count);
    oa_proof_measure_mechanism(l->p, "performer", fabs(mean / want - 1), 5 * sigma / want,
                               "%s: mean %.5f, expected %.5f; bound 5σ", what, mean, want);
}

static void check_feature_means(struct feature_checks *l)
{
    static const struct {
        const char *name;
        enum oa_random_feature kind;
        double (*variance)(const struct feature_pair *p);
    } kinds[] = { { "favor+", OA_RANDOM_EXP, positive_variance },
                  { "hyperbolic", OA_RANDOM_HYPERBOLIC, hyperbolic_variance },
                  { "trig", OA_RANDOM_TRIG, trig_variance } };
    static const char *const draws[] = { "draw=iid", "draw=orthogonal" };
    struct feature_pair pair = make_feature_pair(1.5);
    for (int i = 0; i < 6; i++) {
        char what[64];
        struct oa_feature_draws f = pair_features(&pair, draws[i % 2], kinds[i / 2].kind);
        snprintf(what, sizeof what, "%s, %s", kinds[i / 2].name, draws[i % 2]);
        if (draw_products(l, &f))
            check_feature_mean(l, what, pair.kernel, kinds[i / 2].variance(&pair));
    }
}

static void check_error_decay(struct feature_checks *l)
{
    static const long sizes[] = { 8, 32, 128 };
    struct feature_pair pair = make_feature_pair(1);
    struct oa_feature_draws f = pair_features(&pair, "draw=iid", OA_RANDOM_EXP);
    double at[3], error;
    if (!draw_products(l, &f))
        return;
    for (int i = 0; i < 3; i++) {
        at[i] = block_error(l->f, l->count, sizes[i], pair.kernel, &error);
        double ratio = at[i] * (double)sizes[i] / positive_variance(&pair);
        oa_proof_measure_mechanism(
            l->p, "performer", fabs(ratio - 1), l->p->quick ? 0.2 : 0.1,
            "favor+, draw=iid: squared error of %ld features × %ld ÷ variance: %.3f", sizes[i],
            sizes[i], ratio);
    }
    double slope = log(at[2] / at[0]) / log(128.0 / 8) / 2;
    oa_proof_measure_mechanism(l->p, "performer", fabs(slope + 0.5), 0.05,
                               "favor+, draw=iid: error ~ r^%.3f, expected −0.5", slope);
}

/* Blocks of orthogonal rows against the closed form and against independent rows. */
static void check_orthogonal_blocks(struct feature_checks *l, const char *name,
                                    enum oa_random_feature kind, int fit, double s)
{
    struct feature_pair pair = make_feature_pair(s);
    struct oa_feature_draws f = pair_features(&pair, "draw=orthogonal", kind);
    bool trig = kind == OA_RANDOM_TRIG;
    f.fit = fit;
    double one = trig               ? trig_variance(&pair)
                 : fit != OA_NO_FIT ? fitted_variance(l->p->context, &f, &pair)
                                    : positive_variance(&pair);
    double z = trig ? -pair.difference : pair.sum,
           scale = exp(trig ? pair.xx + pair.yy : -pair.xx - pair.yy);
    double gain = (BLOCK - 1.0) / BLOCK * scale * (exp(z) - orthogonal_series(WIDTH, z));
    double want = one / BLOCK - gain, error;
    if (!draw_products(l, &f))
        return;
    double got = block_error(l->f, l->count, BLOCK, pair.kernel, &error);
    oa_proof_measure_mechanism(
        l->p, "performer", fabs(got / want - 1), 5 * error / want,
        "%s: variance of a block of orthogonal rows %.5g, expected %.5g; bound 5σ", name, got,
        want);
    oa_proof_measure_mechanism(
        l->p, "performer", got < one / BLOCK ? 0 : 1, 0,
        "%s: variance of orthogonal rows not below %.5g of independent ones (0: below)", name,
        one / BLOCK);
}

static void check_smreg(struct feature_checks *l)
{
    struct feature_pair pair = make_feature_pair(1.5);
    struct oa_feature_draws f = pair_features(&pair, "kernel=smreg", OA_RANDOM_EXP);
    double scale = exp(-(pair.xx + pair.yy) / 2), half = WIDTH / 2.0;
    double mean = scale * bessel_series(half, WIDTH * pair.sum / 4);
    double variance = scale * scale * bessel_series(half, WIDTH * pair.sum) - mean * mean;
    if (!draw_products(l, &f))
        return;
    check_feature_mean(l, "smreg", mean, variance);
    double off =
        fabs(oa_mean(l->f, (int)l->count) - pair.kernel) / sqrt(variance / (double)l->count);
    oa_proof_measure_mechanism(l->p, "performer", off > 5 ? 0 : 1, 0,
                               "smreg: mean equals e^{x·y}, %.1f σ from it (0: differs)", off);
}

static void check_relu(struct feature_checks *l)
{
    struct feature_pair pair = make_feature_pair(1.5);
    struct oa_feature_draws f = pair_features(&pair, "draw=iid", OA_RANDOM_RELU);
    double lengths = sqrt(pair.xx * pair.yy), angle = acos(pair.xy / lengths), s = sin(angle),
           c = cos(angle);
    double mean = lengths * (s + (PI - angle) * c) / (2 * PI);
    double second = lengths * lengths * (3 * s * c + (PI - angle) * (1 + 2 * c * c)) / (2 * PI);
    if (draw_products(l, &f))
        check_feature_mean(l, "relu, draw=iid", mean, second - mean * mean);
}

static void verify_features(struct oa_proof *p)
{
    struct feature_checks l = { .p = p, .count = p->quick ? 1 << 17 : 1 << 20 };
    if (!oa_proof_includes(p, "performer"))
        return;
    l.f = oa_alloc(p->context, (size_t)l.count * sizeof *l.f);
    if (!l.f)
        return;
    check_feature_means(&l);
    check_error_decay(&l);
    check_orthogonal_blocks(&l, "favor+", OA_RANDOM_EXP, OA_NO_FIT, 0.5);
    check_orthogonal_blocks(&l, "favor++", OA_RANDOM_EXP, OA_FIT_FAVOR, 1);
    check_orthogonal_blocks(&l, "trig", OA_RANDOM_TRIG, OA_NO_FIT, 1);
    check_smreg(&l);
    check_relu(&l);
    oa_free(l.f);
}

const struct oa_subject oa_subject_features = { "features", 14, NULL, verify_features };
