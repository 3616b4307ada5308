/* SPDX-License-Identifier: Apache-2.0
 * Sampling: frequencies are the probabilities, cuts cut, and a draw is a function of seed and index alone. */
#include "testing.h"

#include "decode/decode.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 6, DRAWS = 60000 };
static const float logits[TOKENS] = { 1.0f, -INFINITY, 2.0f, 0.0f, 2.0f, -3.0f };

static struct oa_sampler *sampler(oa_context *c, double temperature, long top_k, double top_p, uint64_t seed)
{
    struct oa_sampling how = { .temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed };
    struct oa_sampler *s;
    assert_int_equal(oa_sampler_open(c, &how, TOKENS, &s), OA_OK);
    return s;
}

static void count_draws(struct oa_sampler *s, long count[TOKENS])
{
    memset(count, 0, TOKENS * sizeof *count);
    for (uint64_t i = 0; i < DRAWS; i++) {
        int32_t token;
        assert_int_equal(oa_sample(s, logits, i, &token), OA_OK);
        assert_in_range(token, 0, TOKENS - 1);
        count[token]++;
    }
}

/* Frequencies against probabilities, within five standard deviations. */
static void check_frequencies(const long count[TOKENS], const double p[TOKENS])
{
    for (int i = 0; i < TOKENS; i++)
        assert_true(fabs((double)count[i] - DRAWS * p[i]) <= 5 * sqrt(DRAWS * p[i] * (1 - p[i])));
}

static void expected(double temperature, const bool kept[TOKENS], double p[TOKENS])
{
    double sum = 0;
    for (int i = 0; i < TOKENS; i++)
        sum += p[i] = kept[i] ? exp((double)logits[i] / temperature) : 0;
    for (int i = 0; i < TOKENS; i++)
        p[i] /= sum;
}

static void test_frequencies(void **state)
{
    static const struct {
        double temperature;
        long top_k;
        double top_p;
        bool kept[TOKENS];
    } cases[] = {
        { 1, 0, 1, { true, false, true, true, true, true } },
        { 0.5, 0, 1, { true, false, true, true, true, true } },
        { 3, 0, 1, { true, false, true, true, true, true } },
        { 1, 3, 1, { true, false, true, false, true, false } },
        { 1, 2, 1, { false, false, true, false, true, false } },
        { 1, 100, 1, { true, false, true, true, true, true } },
        { 1, 0, 0.80, { false, false, true, false, true, false } }, /* the two best have 0.799… of it */
        { 1, 0, 0.5, { false, false, true, false, true, false } },
        { 1, 0, 0.3, { false, false, true, false, false, false } }, /* of equals the lower id comes first */
        { 1, 3, 0.99, { true, false, true, false, true, false } },
    };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double p[TOKENS];
        long count[TOKENS];
        if (i == 6) /* just below the share of the two best */
            expected(1, cases[0].kept, p);
        double top_p = i == 6 ? p[2] + p[4] - 1e-6 : cases[i].top_p;
        struct oa_sampler *s = sampler(c, cases[i].temperature, cases[i].top_k, top_p, 7 + i);
        count_draws(s, count);
        expected(cases[i].temperature, cases[i].kept, p);
        check_frequencies(count, p);
        oa_sampler_close(s);
    }
    oa_close(c);
}

static void test_greedy(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    int32_t token;
    struct oa_sampler *s = sampler(c, 0, 0, 1, 1);
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(oa_sample(s, logits, i, &token), OA_OK);
        assert_int_equal(token, 2);
    }
    oa_sampler_close(s);
    oa_close(c);
}

static void test_same_draws(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct oa_sampler *a = sampler(c, 1, 0, 1, 5), *b = sampler(c, 1, 0, 1, 5), *other = sampler(c, 1, 0, 1, 6);
    int differ = 0;
    for (uint64_t i = 0; i < 200; i++) {
        int32_t x, y, z;
        assert_int_equal(oa_sample(a, logits, i, &x), OA_OK);
        assert_int_equal(oa_sample(b, logits, 199 - i, &y), OA_OK); /* in another order */
        assert_int_equal(oa_sample(b, logits, i, &y), OA_OK);
        assert_int_equal(oa_sample(other, logits, i, &z), OA_OK);
        assert_int_equal(x, y);
        differ += x != z;
    }
    assert_true(differ > 50);
    oa_sampler_close(a);
    oa_sampler_close(b);
    oa_sampler_close(other);
    oa_close(c);
}

static void test_nonsense(void **state)
{
    static const float bad[3][TOKENS] = { { 0, 0, NAN },
                                          { 0, INFINITY },
                                          { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY } };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct oa_sampler *s = sampler(c, 1, 0, 1, 1);
    for (int i = 0; i < 3; i++) {
        int32_t token;
        assert_int_equal(oa_sample(s, bad[i], 0, &token), OA_DIVERGED);
        oa_clear_error(c);
    }
    float huge[TOKENS] = { 3e38f, -3e38f, 0, 0, 0, 0 };
    int32_t token;
    assert_int_equal(oa_sample(s, huge, 0, &token), OA_OK);
    assert_int_equal(token, 0);
    long before = oa_allocations(c);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(oa_sample(s, logits, i, &token), OA_OK);
    assert_int_equal(oa_allocations(c), before);
    oa_sampler_close(s);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frequencies),
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_same_draws),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
