/* SPDX-License-Identifier: Apache-2.0
 * Random features fitted to the data of each (b,h): FAVOR++ (Likhosherstov et al., Chefs' Random
 * Tables, 2022, arXiv 2205.15317) and dense-exponential features (Likhosherstov et al. 2023, arXiv
 * 2302.00787). With x = s·q, y = s·k and constants left out, which cancel,
 *
 *     log f(ω, x) = ωᵀAω + ωᵀB x − ½ xᵀP x   (B_1, P_1 for queries, B_2, P_2 for keys)
 *
 * is unbiased for e^{x·y} when B_1ᵀ(I − 4A)^{-1}B_2 = I and P_k = B_kᵀ(I − 4A)^{-1}B_k. With M_1,
 * M_2 the means of xxᵀ, yyᵀ and m_1, m_2 those of x, y over real positions, and a(φ) the minimiser
 * of the mean logarithm of the variance:
 *
 *     favor++   φ = (tr M_1 + tr M_2 + 2 m_1·m_2)/d
 *               A = a(φ) I,   B = √(1 − 4a) I,   P = I
 *     sderf     M_1 + M_2 + m_1m_2ᵀ + m_2m_1ᵀ = Q diag(λ) Qᵀ
 *               A = Q diag(a(λ)) Qᵀ,   B = Q diag(√(1 − 4a(λ))) Qᵀ,   P = I
 *     aderf     R = (M_1^½ M_2 M_1^½)^½,   G = M_1^{-½} R M_1^{-½},   φ = 2(tr R + m_1·m_2)/d
 *               A = a I,   B_1 = √(1 − 4a) G^½,   B_2 = √(1 − 4a) G^{-½},   P_1 = G,   P_2 = G^{-1}
 *               M_k with a ridge of 10⁻⁶ tr/d
 *     saderf    aderf with diagonals: ψ = (M_2,ll/M_1,ll)^¼ in [10⁻³, 10³]
 *               φ = 2(Σ √(M_1,ll M_2,ll) + m_1·m_2)/d
 *               B_1 = √(1 − 4a) ψ,   B_2 = √(1 − 4a)/ψ,   P_1 = ψ²,   P_2 = ψ^{-2}
 *
 * All in double; roots by cyclic Jacobi. The statistics are constants for the gradient. With those
 * of the data the features of a token depend on all others; with given ones (cpu_moments.c) they do
 * not. An item is a (b,h). */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

/* ---- symmetric matrices ---- */

static void rotate_pair(long n, double *m, double *q, long i, long j)
{
    double off = m[i * n + j];
    if (fabs(off) < 1e-300)
        return;
    double theta = (m[j * n + j] - m[i * n + i]) / (2 * off);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)),
           c = 1 / sqrt(t * t + 1), s = t * c;
    for (long r = 0; r < n; r++) {
        double a = m[r * n + i], b = m[r * n + j], u = q[r * n + i], v = q[r * n + j];
        m[r * n + i] = c * a - s * b;
        m[r * n + j] = s * a + c * b;
        q[r * n + i] = c * u - s * v;
        q[r * n + j] = s * u + c * v;
    }
    for (long r = 0; r < n; r++) {
        double a = m[i * n + r], b = m[j * n + r];
        m[i * n + r] = c * a - s * b;
        m[j * n + r] = s * a + c * b;
    }
}

static void set_scaled_identity(long n, double x, double *out)
{
    for (long i = 0; i < n * n; i++)
        out[i] = i / n == i % n ? x : 0;
}

static bool is_diagonal(long n, const double *m)
{
    double off = 0, all = 0;
    for (long i = 0; i < n * n; i++) {
        all += m[i] * m[i];
        off += i / n == i % n ? 0 : m[i] * m[i];
    }
    return off <= 1e-30 * all;
}

/* m = Q diag(λ) Qᵀ, symmetric; work has 2n² doubles: a matrix with λ on its diagonal, then Q. */
static void decompose_symmetric(long n, const double *m, double *work)
{
    double *d = work, *q = work + n * n;
    memcpy(d, m, (size_t)(n * n) * sizeof *d);
    set_scaled_identity(n, 1, q);
    for (int sweep = 0; sweep < 60 && !is_diagonal(n, d); sweep++) {
        for (long i = 0; i < n; i++) {
            for (long j = i + 1; j < n; j++)
                rotate_pair(n, d, q, i, j);
        }
    }
}

/* out = Q diag(f(λ)) Qᵀ of what was decomposed into `work`. */
static void compose_matrix(long n, const double *work, double (*f)(double), double *out)
{
    const double *d = work, *q = work + n * n;
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (long l = 0; l < n; l++) {
        double value = f(d[l * n + l]);
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++)
                out[i * n + j] += q[i * n + l] * value * q[j * n + l];
    }
}

static void multiply_square(long n, const double *a, const double *b, double *out)
{
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++) {
            double sum = 0;
            for (long l = 0; l < n; l++)
                sum += a[i * n + l] * b[l * n + j];
            out[i * n + j] = sum;
        }
    }
}

static void scale_matrix(long n, double x, double *m)
{
    for (long i = 0; i < n * n; i++)
        m[i] *= x;
}

/* ---- the best a ---- */

/* (1 − 2φ − √((2φ + 1)² + 8φ))/16, without cancellation; in (−∞, 0]. */
static double best_a(double phi)
{
    phi = fmax(phi, 0);
    double root = sqrt(4 * phi * phi + 12 * phi + 1);
    double a = phi < 0.5 ? -phi / (1 - 2 * phi + root) : (1 - 2 * phi - root) / 16;
    return a;
}

static double best_factor(double phi)
{
    return sqrt(1 - 4 * best_a(phi));
}

static double clamped_root(double x)
{
    return sqrt(fmax(x, 0));
}

static double clamped_inverse_root(double x)
{
    return 1 / sqrt(fmax(x, 1e-300));
}

static double clamped_inverse(double x)
{
    return 1 / fmax(x, 1e-300);
}

/* ---- the kinds ---- */

static double trace_of(const struct oa_moments *m, const double *x)
{
    double sum = 0;
    for (long i = 0; i < m->width; i++)
        sum += x[i * m->width + i];
    return sum;
}

static double mean_dot(const struct oa_moments *m)
{
    double sum = 0;
    for (long i = 0; i < m->width; i++)
        sum += m->mean[0][i] * m->mean[1][i];
    return sum;
}

static void fit_favor(const struct oa_moments *m, struct oa_exponents *e)
{
    double phi = (trace_of(m, m->square[0]) + trace_of(m, m->square[1]) + 2 * mean_dot(m)) /
                 (double)m->width;
    set_scaled_identity(m->width, best_a(phi), e->a);
    for (int side = 0; side < 2; side++) {
        set_scaled_identity(m->width, best_factor(phi), e->b[side]);
        set_scaled_identity(m->width, 1, e->p[side]);
    }
}

static void fit_sderf(const struct oa_moments *m, struct oa_exponents *e)
{
    long n = m->width;
    double *sum = e->work;
    for (long i = 0; i < n * n; i++)
        sum[i] = m->square[0][i] + m->square[1][i] + m->mean[0][i / n] * m->mean[1][i % n] +
                 m->mean[1][i / n] * m->mean[0][i % n];
    decompose_symmetric(n, sum, e->work + n * n);
    compose_matrix(n, e->work + n * n, best_a, e->a);
    for (int side = 0; side < 2; side++) {
        compose_matrix(n, e->work + n * n, best_factor, e->b[side]);
        set_scaled_identity(n, 1, e->p[side]);
    }
}

static void fit_aderf(const struct oa_moments *m, struct oa_exponents *e)
{
    long n = m->width, nn = n * n;
    double *work = e->work, *one = work + 2 * nn, *two = one + nn, *r = two + nn, *t = r + nn;
    memcpy(one, m->square[0], (size_t)nn * sizeof *one);
    memcpy(two, m->square[1], (size_t)nn * sizeof *two);
    double ridge[2] = { 1e-6 * trace_of(m, one) / (double)n, 1e-6 * trace_of(m, two) / (double)n };
    for (long i = 0; i < n; i++) {
        one[i * n + i] += ridge[0];
        two[i * n + i] += ridge[1];
    }
    decompose_symmetric(n, one, work);
    compose_matrix(n, work, clamped_root, e->p[0]);
    compose_matrix(n, work, clamped_inverse_root, e->p[1]);
    multiply_square(n, e->p[0], two, t);
    multiply_square(n, t, e->p[0], two);
    decompose_symmetric(n, two, work);
    compose_matrix(n, work, clamped_root, r);
    multiply_square(n, e->p[1], r, t);
    multiply_square(n, t, e->p[1], one); /* G */
    double phi = 2 * (trace_of(m, r) + mean_dot(m)) / (double)n;
    set_scaled_identity(n, best_a(phi), e->a);
    decompose_symmetric(n, one, work);
    compose_matrix(n, work, clamped_root, e->b[0]);
    compose_matrix(n, work, clamped_inverse_root, e->b[1]);
    memcpy(e->p[0], one, (size_t)nn * sizeof *one);
    compose_matrix(n, work, clamped_inverse, e->p[1]);
    for (int side = 0; side < 2; side++)
        scale_matrix(n, best_factor(phi), e->b[side]);
}

static void fit_saderf(const struct oa_moments *m, struct oa_exponents *e)
{
    long n = m->width;
    double sum = mean_dot(m);
    for (long i = 0; i < n; i++)
        sum += sqrt(m->square[0][i * n + i] * m->square[1][i * n + i]);
    double phi = 2 * sum / (double)n, factor = best_factor(phi);
    set_scaled_identity(n, best_a(phi), e->a);
    for (int side = 0; side < 2; side++) {
        set_scaled_identity(n, 0, e->b[side]);
        set_scaled_identity(n, 0, e->p[side]);
    }
    for (long i = 0; i < n * n; i += n + 1) {
        double ratio = m->square[0][i] > 0 ? m->square[1][i] / m->square[0][i] : 1e12;
        double psi = fmin(fmax(pow(ratio, 0.25), 1e-3), 1e3);
        e->b[0][i] = factor * psi;
        e->b[1][i] = factor / psi;
        e->p[0][i] = psi * psi;
        e->p[1][i] = 1 / (psi * psi);
    }
}

void oa_fit_exponents(enum oa_random_fit kind, const struct oa_moments *m, struct oa_exponents *e)
{
    static void (*const fits[])(const struct oa_moments *,
                                struct oa_exponents *) = { [OA_FIT_FAVOR] = fit_favor,
                                                           [OA_FIT_SDERF] = fit_sderf,
                                                           [OA_FIT_ADERF] = fit_aderf,
                                                           [OA_FIT_SADERF] = fit_saderf };
    fits[trace_of(m, m->square[0]) > 0 && trace_of(m, m->square[1]) > 0 ? kind : OA_FIT_FAVOR](m,
                                                                                               e);
}

/* ---- a (b, h) ---- */

struct random_statistics_call {
    struct oa_device *d;
    const struct oa_random_statistics *a;
};

/* Adds the moments of one side: rows of `x`. */
static void add_side_moments(const struct random_statistics_call *c, const void *x, long b, long h,
                             long length, long real, double *row, double *mean, double *square)
{
    long K = c->a->width, ld = c->a->heads * K;
    void *reals = row + K;
    for (long i = 0; i < real; i++) {
        c->d->cpu->kernels.real_from_act(K, oa_act_at(c->d, x, (b * length + i) * ld + h * K),
                                         reals);
        for (long j = 0; j < K; j++) {
            row[j] = c->a->scale * oa_real_get(c->d, reals, j);
            mean[j] += row[j] / (double)real;
        }
        for (long j = 0; j < K * K; j++)
            square[j] += row[j / K] * row[j % K] / (double)real;
    }
}

/* Row r of Ω B and, with `bias`, ωᵀAω. */
static void store_fitted_side(const struct random_statistics_call *c, const struct oa_exponents *e,
                              int side, long pair, double *row)
{
    long K = c->a->width, count = c->a->count;
    void *reals = row + K;
    for (long r = 0; r < count; r++) {
        double bias = 0;
        for (long j = 0; j < K; j++) {
            double sum = 0, square = 0;
            for (long i = 0; i < K; i++) {
                double w = oa_real_get(c->d, c->a->omega, r * K + i);
                sum += w * e->b[side][i * K + j];
                square += w * e->a[i * K + j];
            }
            bias += square * oa_real_get(c->d, c->a->omega, r * K + j);
            oa_real_set(c->d, reals, j, sum);
        }
        c->d->cpu->kernels.act_from_real(
            K, reals, oa_act_at(c->d, c->a->turned[side], (pair * count + r) * K));
        oa_real_set(c->d, c->a->bias, pair * count + r, bias);
    }
    for (long i = 0; i < K; i++) {
        for (long j = 0; j < K; j++)
            oa_real_set(c->d, reals, j, e->p[side][i * K + j]);
        c->d->cpu->kernels.act_from_real(K, reals,
                                         oa_act_at(c->d, c->a->metric[side], (pair * K + i) * K));
    }
}

static long statistics_rows(const int32_t *lengths, long b, long length)
{
    return oa_real_length(lengths, b, length);
}

static void random_statistics_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct random_statistics_call *c = argument;
    const struct oa_random_statistics *a = c->a;
    long K = a->width, KK = K * K, b = item / a->heads, h = item % a->heads;
    double *room =
        oa_arena_take(worker->scratch, (size_t)(4 * K + (7 + OA_FIT_WORK) * KK) * sizeof *room);
    if (!room)
        return;
    memset(room, 0, (size_t)(4 * K + 7 * KK) * sizeof *room);
    double *row = room, *mean = room + 2 * K, *m = room + 4 * K;
    struct oa_moments moments = { K, { mean, mean + K }, { m, m + KK } };
    struct oa_exponents e = {
        m + 2 * KK, { m + 3 * KK, m + 4 * KK }, { m + 5 * KK, m + 6 * KK }, m + 7 * KK
    };
    for (int side = 0; side < 2 && a->mean; side++) {
        long head = side * a->heads + h;
        for (long i = 0; i < K; i++)
            mean[side * K + i] = oa_real_get(c->d, a->mean, head * K + i);
        for (long i = 0; i < KK; i++)
            m[side * KK + i] = oa_real_get(c->d, a->square, head * KK + i);
    }
    if (!a->mean) {
        add_side_moments(c, a->q, b, h, a->queries,
                         statistics_rows(a->query_lengths, b, a->queries), row, mean, m);
        add_side_moments(c, a->k, b, h, a->keys, statistics_rows(a->key_lengths, b, a->keys), row,
                         mean + K, m + KK);
    }
    oa_fit_exponents(a->kind, &moments, &e);
    for (int side = 0; side < 2; side++)
        store_fitted_side(c, &e, side, item, row);
}

void oa_cpu_random_statistics(struct oa_device *d, const struct oa_random_statistics *a)
{
    struct random_statistics_call c = { d, a };
    oa_parallel(d->context, a->batch * a->heads, random_statistics_item, &c);
}
