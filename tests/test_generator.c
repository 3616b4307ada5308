/* SPDX-License-Identifier: Apache-2.0
 * Random projections: orthonormal to the last digits, Haar in law, the same on any number of
 * threads, and refused where a kind does not exist. */
#include "testing.h"

#include "attention/attention.h"
#include "attention/projections/orthonormal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static oa_context *context, *one_thread;

static int open_contexts(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 3 });
    one_thread = oa_open(&(struct oa_settings){ .threads = 1 });
    return context && one_thread ? 0 : -1;
}

static int close_contexts(void **state)
{
    (void)state;
    oa_close(context);
    oa_close(one_thread);
    return 0;
}

static double *draw(oa_context *c, const char *kind, long d, long heads, long width,
                    const char *name)
{
    struct oa_projection_shape p = {
        .kind = oa_projection_of(kind), .d = d, .heads = heads, .width = width, .layer_heads = heads
    };
    double *u = calloc((size_t)(d * heads * width), sizeof *u);
    assert_non_null(u);
    enum oa_error e = oa_generate_projection(c, &p, oa_stream_named(7, name), u);
    const char *sentence;
    oa_last_error(c, &sentence);
    if (e != OA_OK)
        fail_msg("%s %ld×%ld: %s", kind, d, width, sentence);
    return u;
}

static double dot(long n, const double *x, const double *y)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Largest element of |UᵀU − I| over the columns first … first + count − 1. */
static double defect(const double *u, long d, long first, long count)
{
    double worst = 0;
    for (long a = first; a < first + count; a++) {
        for (long b = first; b <= a; b++)
            worst = fmax(worst, fabs(dot(d, u + a * d, u + b * d) - (a == b)));
    }
    return worst;
}

static const char *const orthonormal_kinds[] = { "haar", "gram-schmidt", "slice",  "srht",
                                                 "hd3",  "block",        "givens", "permutation" };
#define KINDS (sizeof orthonormal_kinds / sizeof orthonormal_kinds[0])

/* ---- orthonormal
 * -------------------------------------------------------------------------------------------------
 */

static void columns_are_orthonormal(void **state)
{
    (void)state;
    static const long shapes[][3] = { { 8, 2, 4 },   { 12, 3, 4 },   { 15, 5, 3 },
                                      { 96, 2, 48 }, { 128, 4, 32 }, { 150, 3, 50 },
                                      { 7, 1, 7 },   { 64, 1, 64 },  { 1, 1, 1 } };
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            long d = shapes[s][0], heads = shapes[s][1], width = shapes[s][2];
            double *u = draw(context, orthonormal_kinds[k], d, heads, width, "orthonormal");
            for (long h = 0; h < heads; h++) {
                double error = defect(u, d, h * width, width);
                if (!(error <= 1e-12))
                    fail_msg("%s %ld×%ld: |UᵀU − I| is %g", orthonormal_kinds[k], d, width, error);
            }
            free(u);
        }
    }
}

static void gaussian_is_the_control(void **state)
{
    (void)state;
    double *u = draw(context, "gaussian", 512, 1, 64, "gaussian");
    double error = defect(u, 512, 0, 64), norm = dot(512 * 64, u, u) / 64;
    assert_true(error > 0.05 && error < 0.5);
    assert_true(fabs(norm - 1) < 5 * sqrt(2.0 / (512 * 64)));
    free(u);
}

/* The rotations of a QR are sums in another order than Gram–Schmidt's, on the same draws. */
static void qr_agrees_with_gram_schmidt(void **state)
{
    (void)state;
    static const long shapes[][2] = { { 5, 5 }, { 40, 7 }, { 97, 33 }, { 130, 66 }, { 768, 64 } };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        long d = shapes[s][0], k = shapes[s][1];
        double *q = draw(context, "haar", d, 1, k, "same"),
               *m = draw(context, "gram-schmidt", d, 1, k, "same");
        for (long i = 0; i < d * k; i++)
            assert_true(fabs(q[i] - m[i]) <= 1e-10);
        free(q);
        free(m);
    }
}

static void qr_of_rank_deficient_matrices(void **state)
{
    (void)state;
    double x[12] = { 0 }, *work = calloc(oa_qr_work(4, 3), sizeof *work);
    assert_non_null(work);
    x[5] = x[9] = 2; /* a zero column and two that are parallel */
    oa_orthonormal_qr(NULL, 4, 3, x, work);
    assert_true(defect(x, 4, 0, 3) <= 1e-12);
    free(work);
}

/* Heads that are slices of one matrix keep the norm: Σ_h |x U_h|² = |x|²; independent heads do not.
 */
static double heads_norm(const char *kind, long d, long heads)
{
    double *u = draw(context, kind, d, heads, d / heads, "parseval"),
           *x = calloc((size_t)d, sizeof *x), sum = 0;
    assert_non_null(x);
    for (long i = 0; i < d; i++)
        x[i] = oa_random_normal(oa_stream_named(3, "x"), (uint64_t)i);
    for (long l = 0; l < d; l++)
        sum += pow(dot(d, x, u + l * d), 2);
    double ratio = sum / dot(d, x, x);
    free(u);
    free(x);
    return ratio;
}

static void slices_keep_the_norm(void **state)
{
    (void)state;
    assert_true(fabs(heads_norm("slice", 96, 4) - 1) < 1e-12);
    assert_true(fabs(heads_norm("haar", 96, 4) - 1) > 1e-3);
}

/* Groups take their columns of the layer's one matrix. */
static void slices_of_groups_are_one_matrix(void **state)
{
    (void)state;
    double *whole = draw(context, "slice", 24, 4, 6, "groups"), part[24 * 12];
    struct oa_projection_shape p = { OA_PROJECTION_SLICE, 24, 2, 6, .first_head = 2,
                                     .layer_heads = 4 };
    assert_int_equal(oa_generate_projection(context, &p, oa_stream_named(7, "groups"), part),
                     OA_OK);
    assert_memory_equal(part, whole + 24 * 12, sizeof part);
    free(whole);
}

/* ---- laws
 * ---------------------------------------------------------------------------------------------------------
 */

/* Without the sign correction E[Q_11] is −0.2026 at d = 16. 10⁴ draws: the standard error is
 * 1/√(16·10⁴) = 0.0025. */
static void first_entry_has_mean_zero(void **state)
{
    (void)state;
    enum { D = 16, DRAWS = 10000 };
    double sum = 0, squares = 0, *u = draw(context, "haar", D, DRAWS, 1, "sign");
    for (long h = 0; h < DRAWS; h++) {
        sum += u[h * D];
        squares += u[h * D] * u[h * D];
    }
    assert_true(fabs(sum / DRAWS) < 5 / sqrt((double)D * DRAWS));
    assert_true(fabs(squares / DRAWS - 1.0 / D) <
                5 * sqrt(2.0 * (D - 1) / (D * D * (D + 2.0)) / DRAWS));
    free(u);
    double square[3] = { 0 }, work[2000];
    assert_true(oa_qr_work(3, 3) <= sizeof work / sizeof *work);
    for (int i = 0; i < 4000; i++) { /* and of a square matrix, through the QR itself */
        double g[9];
        for (int j = 0; j < 9; j++)
            g[j] = oa_random_normal(oa_stream_named(5, "square"), (uint64_t)(9 * i + j));
        oa_orthonormal_qr(NULL, 3, 3, g, work);
        square[0] += g[0];
        square[1] += g[4];
        square[2] += g[8];
    }
    for (int j = 0; j < 3; j++)
        assert_true(fabs(square[j] / 4000) < 5 / sqrt(3.0 * 4000));
}

/* |xU|²/|x|² ~ Beta(k/2, (d − k)/2): mean k/d, variance 2k(d − k)/(d²(d + 2)). The Gaussian control
 * has 2k/d². */
static void squared_length(const char *kind, long d, long k, long draws, double *mean,
                           double *variance)
{
    double *u = draw(context, kind, d, draws, k, "beta"), sum = 0, squares = 0;
    for (long h = 0; h < draws; h++) {
        double r = 0; /* x = (1, …, 1)/√d */
        for (long l = 0; l < k; l++) {
            double s = 0;
            for (long i = 0; i < d; i++)
                s += u[(h * k + l) * d + i];
            r += s * s / (double)d;
        }
        sum += r;
        squares += r * r;
    }
    *mean = sum / (double)draws;
    *variance = squares / (double)draws - *mean * *mean;
    free(u);
}

static void squared_norms_follow_the_beta_distribution(void **state)
{
    (void)state;
    enum { D = 24, K = 6, DRAWS = 4000 };
    static const char *const kinds[] = { "haar", "gram-schmidt", "hd3" };
    double mean, variance, haar = 2.0 * K * (D - K) / (D * D * (D + 2.0));
    for (size_t i = 0; i < 3; i++) {
        squared_length(kinds[i], D, K, DRAWS, &mean, &variance);
        assert_true(fabs(mean - (double)K / D) < 5 * sqrt(haar / DRAWS));
        if (i < 2) /* hd3 has the mean only */
            assert_true(fabs(variance / haar - 1) < 5 * sqrt(2.5 / DRAWS));
    }
    squared_length("gaussian", D, K, DRAWS, &mean, &variance);
    assert_true(fabs(mean - (double)K / D) < 5 * sqrt(2.0 * K / D / D / DRAWS));
    assert_true(fabs(variance * D * D / (2.0 * K) - 1) < 5 * sqrt(6.0 / DRAWS));
}

/* ---- repeatable, and different where it must be
 * -------------------------------------------------------------------
 */

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const all[] = { "haar", "gram-schmidt", "gaussian", "slice",      "srht",
                                       "hd3",  "block",        "givens",   "permutation" };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        double *a = draw(context, all[k], 96, 3, 32, "threads"),
               *b = draw(one_thread, all[k], 96, 3, 32, "threads");
        double *other = draw(context, all[k], 96, 3, 32, "other layer");
        assert_memory_equal(a, b, 96 * 96 * sizeof *a);
        assert_memory_not_equal(a, other, 96 * 32 * sizeof *a);
        assert_memory_not_equal(a, a + 96 * 32, 96 * 32 * sizeof *a); /* heads */
        free(a);
        free(b);
        free(other);
    }
}

static void large_matrices_are_orthonormal(void **state)
{
    (void)state;
    const char *const kinds[] = { "haar", "slice" };
    for (int i = 0; i < 2; i++) {
        double begin = oa_clock(), *u = draw(context, kinds[i], 768, 12, 64, "large");
        print_message("%s, 768×768 for 12 heads: %.3f s\n", kinds[i], oa_clock() - begin);
        assert_true(defect(u, 768, 0, i == 0 ? 64 : 96) <=
                    1e-12); /* the heads of a slice are of one matrix */
        free(u);
    }
}

/* ---- refused
 * --------------------------------------------------------------------------------------------------------
 */

static void assert_refused(const struct oa_projection_shape *p, const char *part)
{
    const char *sentence;
    assert_int_equal(oa_projection_check(context, p), OA_SHAPE);
    oa_last_error(context, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" is not in: %s", part, sentence);
    oa_clear_error(context);
}

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    assert_refused(&(struct oa_projection_shape){ OA_PROJECTION_SLICE, 12, 2, 4, 0, 2 },
                   "2 heads of width 4 have 8 columns");
    assert_refused(&(struct oa_projection_shape){ OA_PROJECTION_BLOCK, 14, 2, 4, 0, 2 },
                   "that divides the model width 14");
    assert_refused(&(struct oa_projection_shape){ OA_PROJECTION_HAAR, 4, 1, 5, 0, 1 },
                   "5 orthonormal columns of length 4");
    struct oa_projection_shape wide = { OA_PROJECTION_GAUSSIAN, 4, 1, 5, 0, 1 };
    assert_int_equal(oa_projection_check(context, &wide), OA_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_orthonormal),
        cmocka_unit_test(gaussian_is_the_control),
        cmocka_unit_test(qr_agrees_with_gram_schmidt),
        cmocka_unit_test(qr_of_rank_deficient_matrices),
        cmocka_unit_test(slices_keep_the_norm),
        cmocka_unit_test(slices_of_groups_are_one_matrix),
        cmocka_unit_test(first_entry_has_mean_zero),
        cmocka_unit_test(squared_norms_follow_the_beta_distribution),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(large_matrices_are_orthonormal),
        cmocka_unit_test(impossible_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, open_contexts, close_contexts);
}
