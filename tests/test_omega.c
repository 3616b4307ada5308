/* SPDX-License-Identifier: Apache-2.0
 * Ω of random features: orthogonal rows in blocks, blocks independent of each other, lengths as of
 * Gaussian rows and independent of directions, or √K; drawn again from a stream of its own.
 * Statistics within five standard errors. */
#include "testing.h"

#include "attention/projections/omega.h"

#include <math.h>
#include <string.h>

enum { K = 8, BLOCKS = 2500, COUNT = K * BLOCKS - 3 }; /* the last block is cut */

struct drawn {
    oa_context *c;
    struct oa_device *d;
    struct oa_store store;
    struct oa_parameter *p;
    const double *row; /* [COUNT, K] */
};

static struct drawn draw(enum oa_projection ensemble, enum oa_omega_norms norms)
{
    struct drawn w = { .c = oa_open(&(struct oa_settings){ .threads = 1 }) };
    assert_int_equal(oa_device_open(w.c, OA_PRECISION_F64, false, &w.d), OA_OK);
    oa_store_init(&w.store, w.d);
    struct oa_group g = { .store = &w.store, .context = w.c };
    struct oa_omega o = { .count = COUNT, .width = K, .ensemble = ensemble, .norms = norms };
    w.p = oa_omega_parameter(&g, &o);
    assert_non_null(w.p);
    assert_int_equal(oa_store_allocate(&w.store, 3, false), OA_OK);
    w.row = w.p->value;
    return w;
}

static void drop(struct drawn *w)
{
    oa_store_free(&w->store);
    oa_device_close(w->d);
    oa_close(w->c);
}

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < K; i++)
        sum += x[i] * y[i];
    return sum;
}

static double length(const double *x)
{
    return sqrt(dot(x, x));
}

static double cosine(const double *x, const double *y)
{
    return dot(x, y) / length(x) / length(y);
}

static void rows_of_a_block_are_orthogonal(void **state)
{
    (void)state;
    static const enum oa_projection ensembles[] = { OA_PROJECTION_HAAR, OA_PROJECTION_GIVENS,
                                                    OA_PROJECTION_HD3 };
    for (int e = 0; e < 3; e++) {
        struct drawn w = draw(ensembles[e], OA_NORMS_CHI);
        double worst = 0;
        for (long r = 0; r < COUNT; r++) {
            for (long s = r / K * K; s < r; s++)
                worst = fmax(worst, fabs(cosine(w.row + r * K, w.row + s * K)));
        }
        assert_true(worst < 1e-12);
        drop(&w);
    }
}

/* Rows of unit length in two blocks: the mean of their product is 0 and that of its square 1/K. */
static void blocks_are_independent(void **state)
{
    (void)state;
    struct drawn w = draw(OA_PROJECTION_HAAR, OA_NORMS_CHI);
    long n = COUNT - K;
    double sum = 0, squares = 0;
    for (long r = 0; r < n; r++) {
        double x = cosine(w.row + r * K, w.row + (r + K) * K);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / (double)n) < 5 / sqrt((double)K * (double)n));
    assert_true(fabs(squares / (double)n - 1.0 / K) <
                5 * sqrt(2.0 * (K - 1) / (K * K * (K + 2.0)) / (double)n *
                         K)); /* rows of a pair of blocks hang together */
    drop(&w);
}

/* |ω|² is χ² with K degrees: mean K, variance 2K, fourth central moment 12K² + 48K. */
static void norms_follow_the_chi_distribution(void **state)
{
    (void)state;
    struct drawn w = draw(OA_PROJECTION_HAAR, OA_NORMS_CHI);
    double n = COUNT, mean = 0, variance = 0;
    for (long r = 0; r < COUNT; r++)
        mean += dot(w.row + r * K, w.row + r * K) / n;
    for (long r = 0; r < COUNT; r++)
        variance += pow(dot(w.row + r * K, w.row + r * K) - K, 2) / n;
    assert_true(fabs(mean - K) < 5 * sqrt(2 * K / n));
    assert_true(fabs(variance - 2 * K) < 5 * sqrt((8 * K * K + 48 * K) / n));
    drop(&w);
}

/* Neither where a row points nor the length of its neighbour in the block. */
static void norms_are_independent_of_directions(void **state)
{
    (void)state;
    struct drawn w = draw(OA_PROJECTION_HAAR, OA_NORMS_CHI);
    double n = COUNT, first = 0, square = 0, next = 0;
    for (long r = 0; r < COUNT; r++) {
        const double *x = w.row + r * K;
        double z = (dot(x, x) - K) / sqrt(2 * K), u = x[0] / length(x);
        first += z * u * sqrt(K);
        square += z * (u * u * K - 1) / sqrt(2.0 * (K - 1) / (K + 2));
        if (r % K)
            next += z * (dot(x - K, x - K) - K) / sqrt(2 * K);
    }
    assert_true(fabs(first) < 5 * sqrt(n));
    assert_true(fabs(square) < 5 * sqrt(n));
    assert_true(fabs(next) < 5 * sqrt(n));
    drop(&w);
}

/* Regularised rows; and (H D)³, whose rows have that length whatever is asked for. */
static void regularised_rows_have_length_root_k(void **state)
{
    (void)state;
    struct drawn w[] = { draw(OA_PROJECTION_HAAR, OA_NORMS_ROOT),
                         draw(OA_PROJECTION_HD3, OA_NORMS_CHI) };
    for (int i = 0; i < 2; i++) {
        for (long r = 0; r < COUNT; r++)
            assert_true(fabs(length(w[i].row + r * K) - sqrt(K)) < 1e-12);
        drop(&w[i]);
    }
}

static void redraws_depend_on_seed_and_number_only(void **state)
{
    (void)state;
    static const enum oa_projection ensembles[] = { OA_PROJECTION_HAAR, OA_PROJECTION_GAUSSIAN };
    for (int e = 0; e < 2; e++) {
        static double kept[3][COUNT * K];
        static const uint64_t number[] = { 1, 2, 1 };
        struct drawn w = draw(ensembles[e], OA_NORMS_CHI);
        double first = w.row[0];
        for (int i = 0; i < 3; i++) {
            assert_int_equal(oa_store_redraw(&w.store, w.p, number[i]), OA_OK);
            memcpy(kept[i], w.row, sizeof kept[i]);
        }
        assert_memory_equal(kept[0], kept[2], sizeof kept[0]);
        assert_true(kept[0][0] != kept[1][0] && kept[0][0] != first);
        double sum = 0;
        for (long r = 0; r < COUNT; r++)
            sum += cosine(kept[0] + r * K, kept[1] + r * K);
        assert_true(fabs(sum) < 5 * sqrt(COUNT / (double)K));
        drop(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_block_are_orthogonal),
        cmocka_unit_test(blocks_are_independent),
        cmocka_unit_test(norms_follow_the_chi_distribution),
        cmocka_unit_test(norms_are_independent_of_directions),
        cmocka_unit_test(regularised_rows_have_length_root_k),
        cmocka_unit_test(redraws_depend_on_seed_and_number_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
