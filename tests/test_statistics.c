/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics against values from elsewhere. The tables of t come from mpmath (40 digits: betainc
 * and a root of it), the powers from mpmath's quad over the noncentral t and, independently, from
 * scipy.stats.nct, the sizes of samples from scipy.stats.nct by trying n = 2, 3, …, the paired
 * tests from scipy.stats.ttest_rel, Holm's from the definition in Python. The last two tests
 * simulate comparisons of which the truth is known.
 */
#include "testing.h"

#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * fmax(fabs(expected), 1e-300)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void t_distribution(void **state)
{
    static const double cases[][3] = { /* t, df, P(T <= t) */
                                       { 0, 3, 0.5 },
                                       { 1, 1, 0.75 },
                                       { -2.5, 2, 0.064805860110755405 },
                                       { 4.302652729911275, 2, 0.97500000000174168 },
                                       { 0.001, 7, 0.50038499137750058 },
                                       { 12, 4, 0.99986178572574851 },
                                       { -40, 2, 0.00031220733609237032 },
                                       { 2, 0.5, 0.77724255490843438 },
                                       { 1.96, 1000, 0.97486340752212564 },
                                       { -6, 30, 6.9713843836023714e-7 },
                                       { 0.3, 250, 0.6177867754919752 },
                                       { -1e5, 1, 3.1830988617318034e-6 },
                                       { 1e-9, 5, 0.50000000037960669 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near(oa_t_cdf(cases[i][0], cases[i][1]), cases[i][2], 1e-12);
    near(oa_t_cdf(INFINITY, 3), 1, 0);
    near(oa_t_cdf(-1e300, 3), 0, 0);
    assert_true(isnan(oa_t_cdf(NAN, 3)) && isnan(oa_t_cdf(1, 0)));
}

static void t_quantiles(void **state)
{
    static const double cases[][3] = {
        /* p, df, t */
        { 0.975, 1, 12.706204736174693 },   { 0.975, 2, 4.3026527297494618 },
        { 0.975, 3, 3.1824463052837084 },   { 0.975, 4, 2.7764451051977935 },
        { 0.975, 9, 2.262157162798205 },    { 0.975, 29, 2.0452296421327039 },
        { 0.975, 999, 1.9623414611334496 }, { 0.95, 5, 2.0150483733330235 },
        { 0.995, 2, 9.9248432009182886 },   { 0.9983333333333333, 2, 17.277176700043731 },
        { 0.025, 7, -2.3646242515927853 },  { 0.6, 12, 0.259032745676887 },
        { 1e-6, 2, -707.10572052593382 },   { 0.9999, 1, 3183.0987571185015 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near(oa_t_quantile(cases[i][0], cases[i][1]), cases[i][2], 1e-11);
    assert_true(oa_t_quantile(0.5, 4) == 0);
    assert_true(isnan(oa_t_quantile(0, 4)) && isnan(oa_t_quantile(1, 4)) &&
                isnan(oa_t_quantile(0.9, 0)));
}

static void power(void **state)
{
    static const double cases[][4] = { /* noncentrality, df, critical, power */
                                       { 0, 2, 4.302652729911275, 0.0499999999965166 },
                                       { 3, 2, 4.302652729911275, 0.38740012850548 },
                                       { 30, 2, 17.27, 0.950253481501621 },
                                       { 2.9, 9, 2.2621571628, 0.733030336771342 },
                                       { 3.2, 99, 1.98, 0.887446340604577 },
                                       { 1.5, 1, 12.706, 0.0973646700574825 },
                                       { 200, 1, 190.98, 0.704999903685699 },
                                       { 2.8, 999, 1.9623414611, 0.798801174467741 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near(oa_t_power(cases[i][0], cases[i][1], cases[i][2]), cases[i][3], 1e-10);
}

static void seeds_needed(void **state)
{
    static const double cases[][4] = {
        /* mean, sd, level, n */
        { 1, 1, 0.05, 10 },    { 0.5, 1, 0.05, 34 },    { -0.2, 1, 0.05, 199 },
        { 0.1, 1, 0.05, 787 }, { 0.05, 1, 0.05, 1001 }, { 3, 1, 0.05, 4 },
        { 10, 1, 0.05, 3 },    { 1, 1, 0.05 / 15, 19 }, { 0.5, 1, 0.01, 51 },
        { 100, 1, 0.05, 2 },   { 0, 1, 0.05, 1001 },    { 0, 0, 0.05, 1001 },
        { 1e-9, 0, 0.05, 2 }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(oa_seeds_needed(cases[i][0], cases[i][1], cases[i][2]), (int)cases[i][3]);
}

static void estimates(void **state)
{
    static const double differences[] = { 1.6411 - 1.6377, 1.6502 - 1.6391, 1.6387 - 1.6325,
                                          1.6620 - 1.6602, 1.6455 - 1.6299 };
    struct oa_estimate e = oa_estimate_of(differences, 5);
    (void)state;
    near(e.mean, 0.00762, 1e-12);
    near(e.sd, 0.0056896397073979855, 1e-12);
    near(e.half, 0.0070646207874266774, 1e-11);
    near(oa_t_test(&e), 0.040150843786645386, 1e-11);
}

static void small_samples(void **state)
{
    static const double equal[] = { 0.1, 0.1, 0.1 }, zeros[] = { 0, 0, 0 };
    struct oa_estimate none = oa_estimate_of(equal, 0), one = oa_estimate_of(equal, 1);
    (void)state;
    assert_true(isnan(none.mean) && isnan(none.sd) && isnan(none.half) && isnan(oa_t_test(&none)));
    assert_true(one.mean == 0.1 && isnan(one.sd) && isnan(one.half) && isnan(oa_t_test(&one)));
    struct oa_estimate same = oa_estimate_of(equal, 3), zero = oa_estimate_of(zeros, 3);
    assert_true(same.mean == 0.1 && same.sd == 0 && same.half == 0 && isnan(oa_t_test(&same)));
    assert_true(zero.mean == 0 && zero.sd == 0 && isnan(oa_t_test(&zero)));
}

static void holm(void **state)
{
    static const double p[] = { 0.04, NAN, 0.01, 0.03, 0.01 };
    static const double expected[] = { 0.06, NAN, 0.04, 0.06, 0.04 };
    static const int factors[] = { 1, 0, 4, 2, 3 };
    double adjusted[5];
    int factor[5];
    (void)state;
    oa_holm(p, 5, adjusted, factor);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(factor[i], factors[i]);
        if (isnan(expected[i]))
            assert_true(isnan(adjusted[i]));
        else
            near(adjusted[i], expected[i], 1e-14);
    }
    static const double large[] = { 0.9, 0.8 };
    oa_holm(large, 2, adjusted, NULL);
    assert_true(adjusted[0] == 1 && adjusted[1] == 1);
    oa_holm(NULL, 0, NULL, NULL);
}

/* ---- whole comparisons ---- */

enum { MOST_ENTRIES = 12, MOST_SEEDS = 10 };

/* A comparison with nothing but losses in it; a loss of -1 is a run that failed. */
struct losses {
    struct oa_comparison comparison;
    struct oa_entry entries[MOST_ENTRIES];
    struct oa_run runs[MOST_ENTRIES][MOST_SEEDS];
    char names[MOST_ENTRIES][2];
};

static void set_losses(struct losses *l, int count, int seeds, const double *losses)
{
    memset(l, 0, sizeof *l);
    l->comparison = (struct oa_comparison){ .entries = l->entries, .count = count, .seeds = seeds };
    for (int i = 0; i < count; i++) {
        l->names[i][0] = (char)('a' + i);
        l->entries[i] =
            (struct oa_entry){ .attention = l->names[i], .trainable = 100, .runs = l->runs[i] };
        for (int s = 0; s < seeds; s++) {
            l->runs[i][s].seed = (uint64_t)s;
            l->runs[i][s].valid_loss = losses[i * seeds + s];
            l->runs[i][s].failed = losses[i * seeds + s] < 0;
            l->runs[i][s].tokens_per_second = 1000;
        }
    }
}

static struct oa_summary summarise(struct losses *l, int count, int seeds, const double *losses)
{
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    set_losses(l, count, seeds, losses);
    assert_int_equal(oa_summary_make(c, &l->comparison, &s), OA_OK);
    oa_close(c);
    return s;
}

static void a_whole_summary(void **state)
{
    static const double losses[] = { 1.50,  1.52,  1.47,  1.55,  1.56, 1.585, 1.525, 1.612,
                                     1.512, 1.519, 1.493, 1.551, 1.70, 1.71,  1.66,  1.76 };
    static const double holm_p[] = { NAN, 0.00018407431997744848, 0.21257296315232402,
                                     9.401563467562815e-05 };
    static struct losses l;
    struct oa_summary s = summarise(&l, 4, 4, losses);
    (void)state;
    assert_int_equal(s.reference, 0);
    assert_int_equal(s.order[1], 2);
    for (int i = 1; i < 4; i++)
        near(s.entries[i].holm, holm_p[i], 1e-9);
    near(s.entries[2].p, 0.21257296315232402, 1e-9);
    near(s.entries[1].difference.mean, 0.0605, 1e-12);
    near(s.entries[1].difference.half, 0.006688186835500468, 1e-10);
    near(s.entries[1].percent, 4.006622516556291, 1e-12);
    assert_int_equal(s.entries[0].verdict, OA_VERDICT_LOWEST);
    assert_int_equal(s.entries[1].verdict, OA_VERDICT_WORSE);
    assert_int_equal(s.entries[2].verdict, OA_VERDICT_UNRESOLVED);
    assert_int_equal(s.entries[2].seeds_needed, 15);
    assert_int_equal(s.entries[2].seeds_range.low, 6); /* scipy.stats.nct; above 1000 */
    assert_int_equal(s.entries[2].seeds_range.high, 1001);
    assert_int_equal(s.entries[1].seeds_needed, 0);
    assert_string_equal(
        s.conclusion,
        "a has the lowest loss, but c shows no significant difference to it at the level of 5 % "
        "with 4 seeds; 6 or more seeds are needed to tell it from the best. b and d are worse, by "
        "0.060 to 0.20 nats a token (Holm-corrected p < 0.05).");
    oa_summary_free(&s);
}

static void verdicts(void **state)
{
    static struct losses l;
    static const struct {
        int count, seeds;
        double losses[9];
        enum oa_verdict verdict[3];
        const char *conclusion;
    } cases[] = {
        { 2,
          3,
          { 1, 1.1, 1.2, 2, 2.11, 2.2 },
          { OA_VERDICT_BEST, OA_VERDICT_WORSE },
          "a is best: b is worse, by 1.0 nats a token (Holm-corrected p < 0.05)." },
        { 2,
          3,
          { 1, 1.1, 1.2, 1.1, 1.1, 1.1 },
          { OA_VERDICT_LOWEST, OA_VERDICT_UNRESOLVED },
          "a and b share the lowest loss, but b shows no significant difference to a at the level "
          "of 5 % with 3 seeds; 17 or more seeds are needed to tell it from the best." },
        /* The same models, also where neither is the best: said, not tested. */
        { 2,
          3,
          { 1, 1.1, 1.2, 1, 1.1, 1.2 },
          { OA_VERDICT_LOWEST, OA_VERDICT_IDENTICAL },
          "a reached a validation loss of 1.1000 nats a token; there is nothing to compare it "
          "with. b is identical to a: bitwise the same loss with every seed." },
        { 3,
          3,
          { 1, 1.1, 1.2, 1.1, 1.1, 1.1, 1, 1.1, 1.2 },
          { OA_VERDICT_LOWEST, OA_VERDICT_UNRESOLVED, OA_VERDICT_IDENTICAL },
          "a and b share the lowest loss, but b shows no significant difference to a at the level "
          "of 5 % with 3 seeds; 17 or more seeds are needed to tell it from the best. c is "
          "identical to a: bitwise the same loss with every seed." },
        { 3,
          3,
          { 2, 2.11, 2.2, 1, 1.1, 1.2, 2, 2.11, 2.2 },
          { OA_VERDICT_WORSE, OA_VERDICT_BEST, OA_VERDICT_IDENTICAL },
          "b is best: a is worse, by 1.0 nats a token (Holm-corrected p < 0.05). c is identical to "
          "a: bitwise the same loss with every seed." },
        { 2,
          1,
          { 2, 2 },
          { OA_VERDICT_LOWEST, OA_VERDICT_IDENTICAL },
          "a reached a validation loss of 2.0000 nats a token; there is nothing to compare it "
          "with. b is identical to a: bitwise the same loss with every seed." },
        /* Seeds that change nothing, or nothing beyond rounding: no p, however far apart. */
        { 2,
          3,
          { 1, 1, 1, 2, 2, 2 },
          { OA_VERDICT_LOWEST, OA_VERDICT_UNJUDGED },
          "a has the lowest loss. b cannot be tested: the difference to a is the same with every "
          "seed, so there is no variance to test against." },
        { 3,
          3,
          { 1, 1.1, 1.2, 2, 2.1, 2.2, 3, 3.01, 3 },
          { OA_VERDICT_LOWEST, OA_VERDICT_UNJUDGED, OA_VERDICT_WORSE },
          "a has the lowest loss. c is worse, by 1.9 nats a token (Holm-corrected p < 0.05). b "
          "cannot be tested: the difference to a is the same with every seed, so there is no "
          "variance to test against." },
        { 2,
          1,
          { 2, 1 },
          { OA_VERDICT_ONE_SEED, OA_VERDICT_LOWEST },
          "b has the lowest loss, but one seed gives no verdict: the variance between seeds is "
          "unknown. Use at least 3 seeds (--seeds 3)." },
        { 1,
          3,
          { 1, 1, 1 },
          { OA_VERDICT_LOWEST },
          "a reached a validation loss of 1.0000 nats a token; there is nothing to compare it "
          "with." },
        { 2,
          2,
          { -1, 1, -1, -1 },
          { OA_VERDICT_FAILED, OA_VERDICT_FAILED },
          "No attention finished all its runs: nothing can be compared." },
        { 3,
          3,
          { 0.5, 0.6, -1, 2, 2, 2, 3, 3.1, 3 },
          { OA_VERDICT_FAILED, OA_VERDICT_BEST, OA_VERDICT_WORSE },
          "b is best: c is worse, by 1.0 nats a token (Holm-corrected p < 0.05). a did not finish "
          "every run and cannot be compared." },
        { 0, 3, { 0 }, { 0 }, "Nothing was compared." },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_summary s = summarise(&l, cases[i].count, cases[i].seeds, cases[i].losses);
        for (int e = 0; e < cases[i].count; e++)
            assert_int_equal(s.entries[e].verdict, cases[i].verdict[e]);
        for (int e = 0; e < cases[i].count; e++)
            assert_true(s.entries[e].verdict < OA_VERDICT_FAILED || isnan(s.entries[e].p));
        assert_string_equal(s.conclusion, cases[i].conclusion);
        oa_summary_free(&s);
    }
}

static void failures_take_no_part(void **state)
{
    static struct losses l;
    static const double losses[] = { 1, 1.1, -1, 2, 2.1, 2.2 };
    struct oa_summary s = summarise(&l, 2, 3, losses);
    (void)state;
    assert_int_equal(s.reference, 1);
    assert_int_equal(s.order[0], 1);
    assert_int_equal(s.entries[0].failed, 1);
    assert_int_equal(s.entries[0].difference.n, 2);
    near(s.entries[0].difference.mean, -1, 1e-12);
    assert_true(isnan(s.entries[0].p) && isnan(s.entries[0].holm));
    assert_false(s.entries[0].front_speed);
    assert_true(s.entries[1].front_speed && s.entries[1].front_parameters);
    oa_summary_free(&s);
}

static void fronts(void **state)
{
    static struct losses l;
    static const double losses[] = { 1, 2, 3, 2, 1.5 }, speeds[] = { 10, 20, 15, 20, 5 },
                        sizes[] = { 5, 4, 3, 2, 9 };
    struct oa_summary s;
    oa_context *c = oa_open(NULL);
    (void)state;
    set_losses(&l, 5, 1, losses);
    for (int i = 0; i < 5; i++) {
        l.runs[i][0].tokens_per_second = speeds[i];
        l.entries[i].trainable = sizes[i];
    }
    assert_int_equal(oa_summary_make(c, &l.comparison, &s), OA_OK);
    static const bool speed[] = { true, true, false, true, false },
                      size[] = { true, false, false, true, false };
    for (int i = 0; i < 5; i++) {
        assert_int_equal(s.entries[i].front_speed, speed[i]);
        assert_int_equal(s.entries[i].front_parameters, size[i]);
    }
    oa_summary_free(&s);
    oa_close(c);
}

/* Comparisons of `count` attentions with true losses 5 + shift[i] and deviation 0.01 over the
 * seeds. Counts those that call anything worse, that name a winner, and that call something worse
 * which is in truth better than the reference.
 */
struct mistakes {
    int worse, winner, reversed, best; /* best: the truly best attention is called worse */
};

static int truly_best(const struct oa_summary *s, const double *shift)
{
    int best = 0;
    for (int e = 1; e < s->count; e++)
        if (shift[e] < shift[best])
            best = e;
    return best;
}

static void judge_one(const struct oa_summary *s, const double *shift, struct mistakes *m)
{
    bool worse = false, reversed = false;
    for (int e = 0; e < s->count; e++) {
        worse |= s->entries[e].verdict == OA_VERDICT_WORSE;
        reversed |= s->entries[e].verdict == OA_VERDICT_WORSE && shift[e] < shift[s->reference];
    }
    m->best += s->entries[truly_best(s, shift)].verdict == OA_VERDICT_WORSE;
    m->worse += worse;
    m->reversed += reversed;
    m->winner += s->entries[s->reference].verdict == OA_VERDICT_BEST;
}

static struct mistakes simulate(const char *name, int comparisons, int count, int seeds,
                                const double *shift)
{
    static struct losses l;
    struct oa_stream stream = oa_stream_named(1, name);
    struct mistakes m = { 0 };
    for (int i = 0; i < comparisons; i++) {
        double losses[MOST_ENTRIES * MOST_SEEDS];
        for (int j = 0; j < count * seeds; j++)
            losses[j] = 5 + shift[j / seeds] +
                        0.01 * oa_random_normal(stream, (uint64_t)(i * count * seeds + j));
        struct oa_summary s = summarise(&l, count, seeds, losses);
        judge_one(&s, shift, &m);
        oa_summary_free(&s);
    }
    print_message("%s, %d attentions, %d seeds: of %d comparisons %d with \"worse\", %d with a "
                  "winner, %d reversed, %d with the best called worse\n",
                  name, count, seeds, comparisons, m.worse, m.winner, m.reversed, m.best);
    return m;
}

/* Of so many comparisons at most the share that the bound is of 400; of fewer, with three
 * deviations. */
static bool rare(int found, int bound, int comparisons)
{
    double expected = (double)bound * comparisons / 400;
    return found <= expected + (comparisons < 400 ? 3 * sqrt(expected) : 0);
}

static void equal_attentions(void **state)
{
    static const double shift[12] = { 0 };
    int comparisons = tries(400);
    struct mistakes m = simulate("equal attentions", comparisons, 6, 4, shift);
    (void)state;
    assert_true(m.winner <= 2);
    assert_true(rare(m.worse, 48, comparisons) && m.worse >= comparisons * 3 / 100); /* 6 to 9 % */
    m = simulate("equal attentions", tries(100), 12, 4, shift);
    assert_true(rare(m.worse, 100, tries(100)) && m.worse >= tries(100) * 3 / 100); /* 9 to 14 % */
}

/* The first is better by a hair: no data of this size can tell, and it must not be called worse. */
static void hardly_different_attentions(void **state)
{
    static const double two[6] = { 0, 1e-9, 1, 1, 1, 1 },
                        ladder[6] = { 0, 0.001, 0.002, 0.003, 0.004, 0.005 };
    (void)state;
    int n = tries(400);
    struct mistakes close = simulate("two at the top", n, 6, 3, two),
                    apart = simulate("a ladder", n, 6, 4, ladder);
    assert_true(rare(close.reversed, 20, n) &&
                rare(close.winner, 33, n)); /* 20 and three deviations: 5 % of 400 */
    assert_true(rare(apart.reversed, 20, n) && rare(close.best, 24, n) && rare(apart.best, 24, n));
}

/* The rates that docs/statistics.md has: test_statistics table COMPARISONS. */
static int print_rates(int comparisons)
{
    static const double equal[12] = { 0 }, two[12] = { 0, 1e-9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    static const double ladder[12] = { 0,     0.001, 0.002, 0.003, 0.004, 0.005,
                                       0.006, 0.007, 0.008, 0.009, 0.010, 0.011 };
    static const int counts[] = { 2, 6, 12 }, seeds[] = { 3, 5, 10 };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            simulate("equal", comparisons, counts[i], seeds[j], equal);
            simulate("two at the top", comparisons, counts[i], seeds[j], two);
            simulate("a ladder", comparisons, counts[i], seeds[j], ladder);
        }
    return 0;
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "table") == 0)
        return print_rates(atoi(words[2]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_distribution),
        cmocka_unit_test(t_quantiles),
        cmocka_unit_test(power),
        cmocka_unit_test(seeds_needed),
        cmocka_unit_test(estimates),
        cmocka_unit_test(small_samples),
        cmocka_unit_test(holm),
        cmocka_unit_test(a_whole_summary),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(failures_take_no_part),
        cmocka_unit_test(fronts),
        cmocka_unit_test(equal_attentions),
        cmocka_unit_test(hardly_different_attentions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
