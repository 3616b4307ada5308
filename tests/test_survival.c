/* SPDX-License-Identifier: Apache-2.0
 *
 * Censored times. Medians against lifelines 0.30.3 (KaplanMeierFitter; in the last three samples
 * its share at one time is 1/2 and 1e-16 by rounding, where it gives the next time and not this
 * one), the log-rank statistic against lifelines (logrank_test) and SciPy 1.17.1 (stats.logrank), p
 * against an enumeration of all permutations in NumPy, and error rates by simulation:
 * `test_survival table N` prints more. */
#include "statistics/survival.h"

#include "testing.h"

#include <math.h>
#include <stdio.h>

static oa_context *c;

static int open_context(void **state)
{
    (void)state;
    c = oa_open(&(struct oa_settings){ .threads = 1 });
    return c == NULL;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(c);
    return 0;
}

static void close_to(double found, double expected, double relative)
{
    if (!(found == expected || fabs(found - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g", found, expected);
}

static const struct {
    int n;
    double time[13];
    int event[13], group[13];
    double chi_square, expected, p; /* expected: of the first group */
    double median[2];
} known[] = {
    { .n = 10,
      .time = { 300, 400, 200, 300, 100, 1000, 100, 1000, 900, 500 },
      .event = { 1, 1, 1, 1, 1, 0, 1, 0, 1, 1 },
      .group = { 0, 0, 0, 0, 0, 1, 1, 1, 1, 1 },
      .chi_square = 4.7263698568632,
      .expected = 2.55714285714286,
      .p = 0.0634920634920635,
      .median = { 300, 900 } },
    { .n = 10,
      .time = { 163, 94, 270, 323, 566, 156, 1000, 516, 244, 619 },
      .event = { 1, 1, 1, 1, 1, 1, 0, 1, 1, 1 },
      .group = { 0, 0, 0, 0, 0, 1, 1, 1, 1, 1 },
      .chi_square = 1.42825255686066,
      .expected = 3.35634920634921,
      .p = 0.277777777777778,
      .median = { 270, 516 } },
    { .n = 9,
      .time = { 50, 50, 250, 700, 1000, 450, 500, 1000, 500 },
      .event = { 1, 1, 1, 1, 0, 1, 1, 0, 1 },
      .group = { 0, 0, 0, 1, 1, 1, 1, 1, 1 },
      .chi_square = 9.38359201773836,
      .expected = 0.809523809523809,
      .p = 0.0476190476190476,
      .median = { 50, 500 } },
    { .n = 11,
      .time = { 250, 250, 750, 500, 750, 250, 750, 250, 250, 1000, 1000 },
      .event = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1 },
      .group = { 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1 },
      .chi_square = 1.8270557353031,
      .expected = 4.42727272727273,
      .p = 0.261904761904762,
      .median = { 250, 750 } },
    { .n = 13,
      .time = { 1900, 900, 1200, 100, 200, 200, 600, 2000, 400, 1000, 2000, 200, 300 },
      .event = { 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1 },
      .group = { 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1 },
      .chi_square = 1.14258114499335,
      .expected = 5.28766788766789,
      .p = 0.294289044289044,
      .median = { 600, 400 } },
};
enum { KNOWN = sizeof known / sizeof *known };

static int fill(int i, int group, struct oa_time *times)
{
    int n = 0;
    for (int j = 0; j < known[i].n; j++)
        if (group < 0 || known[i].group[j] == group)
            times[n++] = (struct oa_time){ .time = known[i].time[j],
                                           .event = known[i].event[j],
                                           .group = known[i].group[j] };
    return n;
}

static void log_rank(void **state)
{
    struct oa_time times[13];
    struct oa_log_rank r;
    (void)state;
    for (int i = 0; i < KNOWN; i++) {
        int n = fill(i, -1, times);
        assert_int_equal(oa_log_rank_test(c, times, n, &r), OA_OK);
        assert_true(r.counted);
        close_to(r.chi_square, known[i].chi_square, 1e-12);
        close_to(r.expected[0], known[i].expected, 1e-12);
        close_to(r.expected[0] + r.expected[1], r.events[0] + r.events[1], 1e-12);
        close_to(r.p, known[i].p, 1e-12);
    }
}

static void nothing_to_test(void **state)
{
    struct oa_time never[] = { { 10, false, 0 }, { 10, false, 1 }, { 10, false, 1 } };
    struct oa_time alone[] = { { 10, true, 0 }, { 20, true, 0 } };
    struct oa_log_rank r;
    (void)state;
    assert_int_equal(oa_log_rank_test(c, never, 3, &r), OA_OK);
    assert_true(isnan(r.p));
    assert_int_equal(oa_log_rank_test(c, alone, 2, &r), OA_OK);
    assert_true(isnan(r.p));
    assert_int_equal(oa_log_rank_test(c, alone, 0, &r), OA_OK);
    assert_true(isnan(r.p));
}

static void medians(void **state)
{
    struct oa_time times[20];
    (void)state;
    for (int i = 0; i < KNOWN; i++)
        for (int g = 0; g < 2; g++)
            close_to(oa_median_time(times, fill(i, g, times)).value, known[i].median[g], 0);
    for (int i = 0; i < 20; i++) /* R. A. Fisher's sign test: of 20 between the 6th and the 15th */
        times[i] = (struct oa_time){ .time = i < 14 ? 100 * (i + 1) : 2000, .event = i < 14 };
    struct oa_range r = oa_median_time(times, 20);
    assert_true(r.value == 1000 && r.low == 600 && r.high == INFINITY);
    for (int i = 0; i < 20; i++) /* ten of twenty never */
        times[i] = (struct oa_time){ .time = i < 9 ? 100 * (i + 1) : 2000, .event = i < 9 };
    assert_true(oa_median_time(times, 20).value == INFINITY);
    for (int i = 0; i < 6; i++) /* one was observed for less time than an event took */
        times[i] = (struct oa_time){ .time = 100 * (i + 1), .event = i != 2 };
    assert_true(isnan(oa_median_time(times, 6).low));
    assert_true(isnan(oa_median_time(times, 0).value));
}

/* What is censored at a time was still observed then: of three 1/3 has the event at 100, and the
 * median is 200, in any order of the samples. */
static void censored_after_the_events_of_its_time(void **state)
{
    static const struct oa_time sample[] = { { 100, false, 0 },
                                             { 100, true, 0 },
                                             { 200, true, 0 } };
    (void)state;
    for (int first = 0; first < 3; first++) {
        struct oa_time times[3];
        for (int i = 0; i < 3; i++)
            times[i] = sample[(first + i) % 3];
        assert_true(oa_median_time(times, 3).value == 200);
    }
}

/* Where too many permutations are left to count p is from the normal distribution. In groups of
 * this size both are near to the chi-squared approximation. */
static void many_runs(void **state)
{
    struct oa_stream stream = oa_stream_named(3, "times");
    struct oa_time times[80];
    struct oa_log_rank r;
    (void)state;
    for (int i = 0; i < 80; i++) {
        double t = -log(oa_random_uniform(stream, (uint64_t)i)) * (i < 40 ? 1 : 1.6);
        times[i] = (struct oa_time){ .time = t, .event = true, .group = i >= 40 };
    }
    for (int whole = 0; whole < 2; whole++) {
        for (int i = 0; whole && i < 80; i++)
            times[i].time = ceil(times[i].time);
        assert_int_equal(oa_log_rank_test(c, times, 80, &r), OA_OK);
        assert_int_equal(r.counted, whole);
        assert_true(r.p > 0.001 && r.p < 0.3);
        assert_true(fabs(log(r.p / (1 - oa_chi_square_cdf(r.chi_square, 1)))) < 0.2);
    }
}

/* ---- simulation ---- */

/* Of so many pairs of groups of n runs with the same distribution of times, the share that each
 * test calls different: a quarter never reaches the threshold, the others by validations at `ticks`
 * times of the run. */
static void simulate(int pairs, int n, int ticks, double slower, double found[2])
{
    struct oa_stream stream = oa_stream_named((uint64_t)(n + 100 * ticks), "log-rank");
    struct oa_time times[2 * OA_SEEDS_CAP];
    struct oa_log_rank r;
    uint64_t at = 0;
    found[0] = found[1] = 0;
    for (int i = 0; i < pairs; i++) {
        for (int j = 0; j < 2 * n; j++) {
            double t = -log(oa_random_uniform(stream, at++)) * 0.7 * (j < n ? 1 : slower);
            bool event = t <= 1;
            times[j] = (struct oa_time){ .time = event ? ceil(t * ticks) / ticks : 1,
                                         .event = event,
                                         .group = j >= n };
        }
        assert_int_equal(oa_log_rank_test(c, times, 2 * n, &r), OA_OK);
        found[0] += r.p < 0.05;
        found[1] += oa_chi_square_cdf(r.chi_square, 1) > 0.95;
    }
    found[0] /= pairs;
    found[1] /= pairs;
}

static void equal_times_are_called_different_in_5_percent(void **state)
{
    double found[2];
    int pairs = tries(1000);
    (void)state;
    for (int n = 5; n <= 10; n += 5) {
        simulate(pairs, n, 20, 1, found);
        print_message("%d seeds: by permutation %.3f, chi-squared %.3f\n", n, found[0], found[1]);
        assert_true(found[0] < 0.05 + 3 * sqrt(0.05 * 0.95 / pairs));
        simulate(pairs, n, 20, 6, found);
        assert_true(found[0] > 0.3);
    }
}

static int print_table(int pairs)
{
    static const int seeds[] = { 5, 7, 10, 15, 20 };
    open_context(NULL);
    for (int i = 0; i < 5; i++)
        for (int slower = 1; slower <= 4; slower += 3) {
            double found[2];
            simulate(pairs, seeds[i], 20, slower, found);
            printf("%2d seeds, %d times as slow: by permutation %.3f, chi-squared %.3f\n", seeds[i],
                   slower, found[0], found[1]);
        }
    return close_context(NULL);
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "table") == 0)
        return print_table(atoi(words[2]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_rank),
        cmocka_unit_test(nothing_to_test),
        cmocka_unit_test(medians),
        cmocka_unit_test(censored_after_the_events_of_its_time),
        cmocka_unit_test(many_runs),
        cmocka_unit_test(equal_times_are_called_different_in_5_percent),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
