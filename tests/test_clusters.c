/* SPDX-License-Identifier: Apache-2.0
 *
 * Two clusters: what is found, and how often they are found where there is one mode only.
 * `test_clusters table N` prints rates of N samples each.
 */
#include "statistics/clusters.h"

#include "base/base.h"
#include "testing.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 12 * 20 };

static struct oa_clusters find(int groups, int each, const double *x, double resolution)
{
    struct oa_grouped_value v[MOST];
    for (int i = 0; i < groups * each; i++)
        v[i] = (struct oa_grouped_value){ .x = x[i], .group = i / each };
    return oa_find_clusters(v, groups * each, resolution);
}

static void runs_on_a_plateau(void **state)
{
    static const double x[] = { 97.1, 43.2, 96.8, 97.4, 42.9, 97.0, 96.5, 97.2, 96.9, 97.3 };
    struct oa_clusters found = find(2, 5, x, 0);
    (void)state;
    assert_int_equal(found.below, 2);
    assert_true(fabs(found.cut - (43.2 + 96.5) / 2) < 1e-12);
    assert_true(fabs(found.gap - (96.5 - 43.2)) < 1e-12);
}

static void one_run_on_a_plateau(void **state)
{
    static const double plateau[] = { 97.1, 96.2, 96.8, 97.4, 43.2, 97.0, 96.5, 97.2, 96.9, 97.3 },
                        outlier[] = { 97.1, 96.2, 96.8, 97.4, 92.0, 97.0, 96.5, 97.2, 96.9, 97.3 };
    (void)state;
    assert_int_equal(find(2, 5, plateau, 0).below, 1);
    assert_int_equal(find(2, 5, outlier, 0).below, 0);
}

/* One attention is worse with every seed. */
static void groups_that_differ_are_no_clusters(void **state)
{
    static const double apart[] = { 97.1, 96.2, 96.8, 97.4, 96.6, 43.0, 43.5, 42.2, 43.9, 42.3 },
                        mixed[] = { 97.1, 96.2, 96.8, 97.4, 43.1, 43.0, 43.5, 42.2, 43.9, 42.3 };
    (void)state;
    assert_int_equal(find(2, 5, apart, 0).below, 0);
    assert_int_equal(find(2, 5, mixed, 0).below, 6);
}

static void no_spread(void **state)
{
    static const double ceiling[] = { 100, 100, 100, 99.9, 100, 100 },
                        plateau[] = { 100, 100, 100, 50, 100, 100 }, same[] = { 5, 5, 5, 5, 5, 5 };
    (void)state;
    assert_int_equal(find(2, 3, ceiling, 1).below, 0);
    assert_int_equal(find(2, 3, plateau, 1).below, 1);
    assert_int_equal(find(2, 3, plateau, 0).below, 1);
    assert_int_equal(find(2, 3, same, 0).below, 0);
    assert_int_equal(find(1, 3, ceiling, 0).below, 0);
}

/* ---- simulation ---- */

enum shape { NORMAL, STUDENT, SKEWED, LOGNORMAL, UNEQUAL, SHAPES };
static const char *const shapes[SHAPES] = { "normal", "t, 3 degrees", "exponential", "lognormal",
                                            "normal, one group 5 times as wide" };

static double drawn(enum shape shape, struct oa_stream s, uint64_t i, int group)
{
    double z = oa_random_normal(s, 4 * i), squares = 0;
    for (int j = 1; j < 4; j++)
        squares += pow(oa_random_normal(s, 4 * i + (uint64_t)j), 2);
    return shape == STUDENT     ? z / sqrt(squares / 3)
           : shape == SKEWED    ? -log(oa_random_uniform(s, i))
           : shape == LOGNORMAL ? exp(z)
           : shape == UNEQUAL   ? z * (group == 0 ? 5 : 1)
                                : z;
}

/* The share of samples in which two clusters are reported. `failing`: so large a share of all but
 * the last group is 54 lower. */
static double found_in(enum shape shape, int samples, int groups, int each, double failing)
{
    struct oa_stream s = oa_stream_named((uint64_t)(100 * groups + each), shapes[shape]),
                     fails = oa_stream_named((uint64_t)each, "fails");
    double x[MOST], found = 0;
    for (int i = 0; i < samples; i++) {
        for (int j = 0; j < groups * each; j++) {
            uint64_t at = (uint64_t)(i * groups * each + j);
            bool failed = j / each < groups - 1 && oa_random_uniform(fails, at) < failing;
            x[j] = drawn(shape, s, at, j / each) - (failed ? 54 : 0);
        }
        found += find(groups, each, x, 0).below > 0;
    }
    return found / samples;
}

static void one_mode(void **state)
{
    static const int sizes[][2] = { { 2, 3 }, { 2, 5 }, { 2, 10 }, { 4, 5 }, { 6, 10 }, { 12, 3 } };
    int samples = tries(1000);
    (void)state;
    for (enum shape shape = NORMAL; shape <= SKEWED; shape++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            double found = found_in(shape, samples, sizes[i][0], sizes[i][1], 0);
            if (found > 0.012 + 3 * sqrt(0.012 / samples))
                fail_msg("%s, %d × %d: %g", shapes[shape], sizes[i][0], sizes[i][1], found);
        }
}

/* A quarter of the runs fails; in the sample at least one does with probability 1 - 0.75^n. */
static void failing_runs_are_found(void **state)
{
    int samples = tries(1000);
    (void)state;
    for (int n = 5; n <= 20; n *= 2)
        assert_true(found_in(NORMAL, samples, 2, n, 0.25) >
                    1 - pow(0.75, n) - 0.02 - 3 * sqrt(0.18 / samples));
}

static int print_table(int samples)
{
    static const int sizes[][2] = { { 2, 3 },  { 2, 5 },  { 2, 10 }, { 2, 20 }, { 4, 5 },
                                    { 6, 10 }, { 12, 3 }, { 12, 5 }, { 12, 20 } };
    for (enum shape shape = NORMAL; shape < SHAPES; shape++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            printf("%s, %d × %d: %.2f %%; with 25 %% failing %.1f %%\n", shapes[shape], sizes[i][0],
                   sizes[i][1], 100 * found_in(shape, samples, sizes[i][0], sizes[i][1], 0),
                   100 * found_in(shape, samples, sizes[i][0], sizes[i][1], 0.25));
    return 0;
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "table") == 0)
        return print_table(atoi(words[2]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_on_a_plateau),
        cmocka_unit_test(one_run_on_a_plateau),
        cmocka_unit_test(groups_that_differ_are_no_clusters),
        cmocka_unit_test(no_spread),
        cmocka_unit_test(one_mode),
        cmocka_unit_test(failing_runs_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
