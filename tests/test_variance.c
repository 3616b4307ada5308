/* SPDX-License-Identifier: Apache-2.0
 * Sources of variance: chi-square and the shares against SciPy 1.17.1 and NumPy 2.4.6, and
 * what is said where runs failed or a source has no effect. */
#include "compare/comparison.h"
#include "results_reader.h"
#include "testing.h"

#include "report/variance.h"
#include "synthetic_comparison.h"

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
    if (!(fabs(found - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g", found, expected);
}

/* ---- chi-square ---- */

/* scipy.stats.chi2.ppf */
static const double quantiles[][3] = {
    { 0.025, 1, 0.00098206911717525552 }, { 0.025, 2, 0.050635615968579753 },
    { 0.025, 3, 0.21579528262389785 },    { 0.025, 4, 0.48441855708792991 },
    { 0.025, 9, 2.7003894999803584 },     { 0.025, 29, 16.047071695364892 },
    { 0.025, 100, 74.221927474923731 },   { 0.025, 999, 913.30099830211338 },
    { 0.5, 1, 0.454936423119572 },        { 0.5, 2, 1.386294361119891 },
    { 0.5, 9, 8.342832692252955 },        { 0.5, 999, 998.33341248258796 },
    { 0.975, 1, 5.0238861873148881 },     { 0.975, 2, 7.3777589082278707 },
    { 0.975, 3, 9.3484036044961485 },     { 0.975, 4, 11.143286781877796 },
    { 0.975, 9, 19.022767798641631 },     { 0.975, 29, 45.722285804174518 },
    { 0.975, 100, 129.56119718583659 },   { 0.975, 999, 1088.4870677259353 },
    { 1e-6, 1, 1.5707963267957187e-12 },  { 1e-6, 3, 0.00024181048720124264 },
    { 1e-6, 100, 46.50133071589314 },     { 1e-6, 999, 800.73065323405444 },
};
/* scipy.stats.chi2.cdf */
static const double probabilities[][3] = {
    { 0.1, 1, 0.24817036595415076 },
    { 1, 1, 0.68268949213708585 },
    { 3, 4, 0.44217459962892519 },
    { 10, 4, 0.95957231800548726 },
    { 50, 9, 0.9999998922761798 },
    { 1000, 999, 0.51486851072509854 },
    { 1100, 999, 0.9861815324744676 },
    { 1e-8, 1, 7.9788455947305724e-05 },
    { 200, 3, 1 },
};

static void test_chi_square(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        close_to(oa_chi_square_quantile(quantiles[i][0], quantiles[i][1]), quantiles[i][2], 1e-11);
    for (size_t i = 0; i < sizeof probabilities / sizeof *probabilities; i++)
        close_to(oa_chi_square_cdf(probabilities[i][0], probabilities[i][1]), probabilities[i][2],
                 1e-12);
    for (double x = 0.5; x < 40;
         x += 0.5) /* two degrees of freedom are an exponential distribution */
        close_to(oa_chi_square_cdf(x, 2), 1 - exp(-x / 2), 1e-14);
    assert_true(oa_chi_square_cdf(0, 3) == 0 && oa_chi_square_cdf(-1, 3) == 0);
    assert_true(isnan(oa_chi_square_quantile(0, 3)) && isnan(oa_chi_square_quantile(1, 3)));
    assert_true(isnan(oa_chi_square_quantile(0.5, 0)) && isnan(oa_chi_square_cdf(1, 0)));
}

static void test_intervals_of_deviations(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 3, 4, 5 };
    struct oa_spread s = oa_spread_of(x, 5);
    assert_int_equal(s.n, 5);
    close_to(s.variance, 2.5, 1e-15);
    close_to(s.sd, sqrt(2.5), 1e-15);
    close_to(s.low, sqrt(4 * 2.5 / 11.143286781877796), 1e-12);
    close_to(s.high, sqrt(4 * 2.5 / 0.48441855708792991), 1e-12);
    s = oa_spread_of(x, 1);
    assert_true(isnan(s.variance) && isnan(s.sd) && isnan(s.low) && isnan(s.high));
}

/* ---- simulated: how often an interval holds the deviation, and how far shares lie from the truth
 * ---- */

enum noise { NORMAL, HEAVY, SKEWED };

/* Deviation 1: normal, Student's t with 5 degrees of freedom, exponential. */
static double draw(struct oa_stream s, uint64_t i, enum noise noise)
{
    double sum = 0;
    if (noise == NORMAL)
        return oa_random_normal(s, i);
    if (noise == SKEWED)
        return -log1p(-oa_random_uniform(s, i));
    for (uint64_t k = 1; k <= 5; k++)
        sum += pow(oa_random_normal(s, 6 * i + k), 2);
    return oa_random_normal(s, 6 * i) / sqrt(sum / 5) * sqrt(0.6);
}

/* Share of `trials` samples of n values whose interval holds the deviation 1. */
static double coverage(int n, enum noise noise, int trials)
{
    struct oa_stream stream = oa_stream_named((uint64_t)noise + 1, "deviations");
    int held = 0;
    for (int t = 0; t < trials; t++) {
        double x[10];
        for (int i = 0; i < n; i++)
            x[i] = draw(stream, (uint64_t)(t * n + i), noise);
        struct oa_spread s = oa_spread_of(x, n);
        held += s.low <= 1 && s.high >= 1;
    }
    return (double)held / trials;
}

static void test_simulated_intervals(void **state)
{
    (void)state;
    static const int sizes[] = { 3, 5, 10 };
    static const char *const names[] = { "normal", "heavy-tailed", "skewed" };
    static const double least[] = { 0.94, 0.80, 0.65 }, most[] = { 0.96, 0.94, 0.92 };
    for (int noise = NORMAL; noise <= SKEWED; noise++)
        for (int i = 0; i < 3; i++) {
            double held =
                coverage(sizes[i], (enum noise)noise, 10000); /* three deviations: 0.0065 */
            print_message("%s, %d values: %.1f %% of the intervals hold the deviation\n",
                          names[noise], sizes[i], 100 * held);
            assert_true(held > least[noise] && held < most[noise]);
        }
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Three sources with the same variance, five values of each: the share of the first is a third in
 * truth. */
static void test_simulated_shares(void **state)
{
    (void)state;
    enum { TRIALS = 4000 };
    static double share[TRIALS];
    struct oa_stream stream = oa_stream_named(1, "shares");
    double mean = 0;
    for (int t = 0; t < TRIALS; t++) {
        double variance[3], x[5];
        for (int s = 0; s < 3; s++) {
            for (int i = 0; i < 5; i++)
                x[i] = oa_random_normal(stream, (uint64_t)((t * 3 + s) * 5 + i));
            variance[s] = oa_spread_of(x, 5).variance;
        }
        share[t] = variance[0] / (variance[0] + variance[1] + variance[2]);
        mean += share[t] / TRIALS;
    }
    qsort(share, TRIALS, sizeof *share, rising);
    double low = share[TRIALS / 10], high = share[TRIALS - TRIALS / 10];
    print_message("a share of a third, five values: mean %.3f, 80 %% between %.3f and %.3f\n", mean,
                  low, high);
    /* Dirichlet with all parameters (5 - 1)/2: its parts are beta(2, 4); quantiles by beta.ppf of
     * scipy 1.17.1 */
    close_to(mean, 1.0 / 3, 0.026);
    close_to(low, 0.11223496, 0.08);
    close_to(high, 0.58389037, 0.03);
}

/* ---- shares ---- */

enum { VALUES = 4 };
static const double varied[2][OA_CHANCES][VALUES] = { { { 1.50, 1.53, 1.47, 1.51 },
                                                        { 1.50, 1.52, 1.505, 1.49 },
                                                        { 1.50, 1.50, 1.51, 1.495 },
                                                        { 1.50, 1.60, 1.45, 1.55 } },
                                                      { { 1.60, 1.61, 1.65, 1.58 },
                                                        { 1.60, 1.59, 1.595, 1.62 },
                                                        { 1.60, 1.603, 1.598, 1.601 },
                                                        { 1.60, 1.71, 1.54, 1.66 } } };
static const double together[2][3] = { { 1.50, 1.54, 1.46 }, { 1.60, 1.63, 1.57 } };

/* numpy.var(ddof=1) and scipy.stats.chi2: variance, deviation, low, high, share of init, order,
 * dropout, split and together, of each of the two and pooled. */
static const double expected[3][OA_CHANCES + 1][5] = {
    { { 0.00062500000000000110, 0.025, 0.014162238665056165, 0.093213681895693679,
        0.12531328320802007 },
      { 0.00015625000000000017, 0.0125, 0.00708111933252808, 0.046606840947846825,
        0.031328320802004997 },
      { 3.9583333333332938e-05, 0.0062915286960589269, 0.0035640852384654421, 0.023458262180482591,
        0.0079365079365078459 },
      { 0.0041666666666666735, 0.06454972243679033, 0.036566742996518187, 0.24067669174713163,
        0.83542188805346707 },
      { 0.0016, 0.04, 0.020826330667952715, 0.2513893878594155, NAN } },
    { { 0.00086666666666666229, 0.029439202887759416, 0.016677000696218365, 0.10976545972969563,
        0.13397400389039851 },
      { 0.00017291666666666744, 0.013149778198382946, 0.0074492118895220548, 0.04902956967931979,
        0.026730390199286497 },
      { 4.3333333333331188e-06, 0.002081665999466081, 0.0011792420282148517, 0.0077615900914924955,
        0.00066987001945196286 },
      { 0.0054249999999999923, 0.073654599313281124, 0.041724560570150726, 0.27462465562171839,
        0.83862573589086309 },
      { 0.0009, 0.03, 0.015619748000964478, 0.18854204089456095, NAN } },
    { { 0.00074583333333333164, 0.027309949346956533, 0.015470800823287714, 0.10182643724058846,
        0.13020359769270473 },
      { 0.0001645833333333338, 0.012829003598617229, 0.007267496431939257, 0.047833546419208589,
        0.028732078820457335 },
      { 2.1958333333333028e-05, 0.004685971973169817, 0.0026545541384718021, 0.017471868035167482,
        0.0038333684907293068 },
      { 0.0047958333333333325, 0.069251955447722433, 0.039230508842899227, 0.25820918983034979,
        0.83723095499610867 },
      { 0.00125, 0.035355339059327362, 0.018408049553178381, 0.22219892609215952, NAN } }
};
static const double sums[3] = { 0.00082083333333333422, 0.0010439166666666628,
                                0.00093237499999999853 };
static const double ratios[3] = { 0.51302083333333293, 1.1599074074074096, 0.74589999999999945 };

/* Two attentions and the floor, of which nothing varied alone. */
static void make_varied(struct oa_comparison *k)
{
    make_comparison(c, six_attentions, 3, 3, k);
    k->entries[2].uniform = true;
    k->vary.values = VALUES;
    k->vary.runs = oa_alloc(c, sizeof(struct oa_varied) * 3 * OA_CHANCES * VALUES);
    for (int i = 0; i < 2; i++) {
        for (int r = 0; r < 3; r++)
            k->entries[i].runs[r].valid_loss = together[i][r];
        for (int s = 0; s < OA_CHANCES; s++)
            for (int v = 0; v < VALUES; v++)
                oa_varied_of(&k->vary, i, s)[v] =
                    (struct oa_varied){ (uint64_t)(10 * s + v), varied[i][s][v] };
    }
    for (int s = 0; s < OA_CHANCES; s++)
        k->vary.varied[s] = true;
}

static void expect_spread(const struct oa_spread *s, int n, const double *e)
{
    assert_int_equal(s->n, n);
    close_to(s->variance, e[0], 1e-10);
    close_to(s->sd, e[1], 1e-10);
    close_to(s->low, e[2], 1e-10);
    close_to(s->high, e[3], 1e-10);
    if (isnan(e[4]))
        assert_true(isnan(s->share));
    else
        close_to(s->share, e[4], 1e-10);
}

static void expect_variances(const struct oa_comparison *k)
{
    for (int i = 0; i < 3; i++) {
        struct oa_variances x;
        assert_true(i < 2 ? oa_variances_of(k, i, &x) : oa_variances_pooled(k, &x));
        for (int s = 0; s < OA_CHANCES; s++)
            expect_spread(&x.source[s], VALUES, expected[i][s]);
        expect_spread(&x.together, 3, expected[i][OA_CHANCES]);
        close_to(x.sum, sums[i], 1e-10);
        close_to(x.ratio, ratios[i], 1e-10);
    }
}

static void test_shares(void **state)
{
    (void)state;
    struct oa_comparison k;
    struct oa_variances x;
    make_varied(&k);
    expect_variances(&k);
    assert_false(oa_variances_of(&k, 2, &x));
    oa_comparison_free(&k);
}

static void test_what_failed_is_not_judged(void **state)
{
    (void)state;
    struct oa_comparison k;
    struct oa_variances x;
    make_varied(&k);
    oa_varied_of(&k.vary, 1, OA_CHANCE_ORDER)[2].score = NAN;
    assert_true(oa_variances_of(&k, 1, &x));
    assert_true(isnan(x.source[OA_CHANCE_ORDER].sd) && isnan(x.sum) && isnan(x.ratio));
    assert_int_equal(x.source[OA_CHANCE_ORDER].n, 0); /* of no values is anything known */
    assert_true(isnan(x.source[OA_CHANCE_INIT].share));
    close_to(x.source[OA_CHANCE_INIT].sd, expected[1][OA_CHANCE_INIT][1], 1e-10);
    assert_true(oa_variances_pooled(&k, &x)); /* of the other one alone */
    expect_spread(&x.source[OA_CHANCE_ORDER], VALUES, expected[0][OA_CHANCE_ORDER]);
    k.entries[0].runs[1].failed = true;
    assert_true(oa_variances_of(&k, 0, &x));
    assert_true(isnan(x.together.sd) && isnan(x.ratio) && !isnan(x.sum));
    assert_false(oa_variances_pooled(&k, &x));
    oa_comparison_free(&k);
}

/* No dropout: its variance is 0, without runs; and what was not asked for is not known. */
static void test_sources_that_did_not_vary(void **state)
{
    (void)state;
    struct oa_comparison k;
    struct oa_variances x;
    make_varied(&k);
    k.vary.varied[OA_CHANCE_DROPOUT] = k.vary.varied[OA_CHANCE_SPLIT] = false;
    k.vary.idle[OA_CHANCE_DROPOUT] = true;
    assert_true(oa_variances_of(&k, 0, &x));
    assert_true(x.source[OA_CHANCE_DROPOUT].sd == 0 && x.source[OA_CHANCE_DROPOUT].share == 0);
    assert_true(isnan(x.source[OA_CHANCE_SPLIT].sd) && isnan(x.source[OA_CHANCE_SPLIT].share));
    close_to(x.sum, 0.000625 + 0.00015625, 1e-10);
    close_to(x.source[OA_CHANCE_INIT].share, 0.8, 1e-10);
    assert_true(oa_variances_pooled(&k, &x));
    assert_true(x.source[OA_CHANCE_DROPOUT].variance == 0);
    k.vary.idle[OA_CHANCE_DROPOUT] = false;
    assert_true(oa_variances_of(&k, 0, &x));
    assert_true(isnan(x.sum) && isnan(x.ratio)); /* of dropout nothing is known */
    oa_comparison_free(&k);
}

/* ---- what is written ---- */

static void expect_text(const struct oa_text *t, const char *part)
{
    if (!strstr(t->s, part))
        fail_msg("\"%s\" is not in:\n%s", part, t->s);
}

static void test_reports_say_it(void **state)
{
    (void)state;
    struct oa_comparison k;
    struct oa_summary s;
    struct oa_text t;
    make_varied(&k);
    assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
    oa_text_init(&t, c);
    oa_report_table(&k, &s, 132, &t);
    expect_text(&t, "pooled            initial values        0.0273  0.0155 … 0.1018      13 %     "
                    "       –       4\n");
    expect_text(&t, "softmax           batch order           0.0125  0.0071 … 0.0466       3 %     "
                    "       –       4\n");
    expect_text(&t, "softmax           all sources           0.0400  0.0208 … 0.2514         –     "
                    "    0.51       3\n");
    expect_text(&t, "4 runs that vary it alone");
    expect_text(&t, "interactions");
    oa_text_free(&t);
    oa_report_markdown(&k, &s, &t);
    expect_text(&t, "| pooled | split of the text | 0.0693 | 0.0392 … 0.2582 | 84 % | – | 4 |");
    oa_text_free(&t);
    oa_report_html(&k, &s, &t);
    expect_text(&t, "<section id=\"spread\">");
    expect_text(&t, "<td class=\"num\">0.0693</td>");
    /* the axis goes to twice the largest deviation, 0.0737, over 786 pixels */
    expect_text(&t,
                "<rect class=\"share c0\" x=\"150.0\" y=\"38.0\" width=\"145.7\" height=\"14\"/>");
    oa_text_free(&t);
    k.vary.values = 0;
    oa_report_html(&k, &s, &t);
    assert_null(strstr(t.s, "id=\"spread\""));
    oa_text_free(&t);
    oa_summary_free(&s);
    oa_comparison_free(&k);
}

static void test_results_come_back(void **state)
{
    (void)state;
    struct oa_comparison k, back;
    struct oa_summary s;
    struct oa_text first, second;
    make_varied(&k);
    k.vary.varied[OA_CHANCE_DROPOUT] = false;
    k.vary.idle[OA_CHANCE_DROPOUT] = true;
    oa_varied_of(&k.vary, 1, OA_CHANCE_ORDER)[2].score = NAN;
    oa_text_init(&first, c);
    oa_text_init(&second, c);
    assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
    oa_report_json(&k, &s, &first);
    oa_summary_free(&s);
    assert_int_equal(oa_comparison_from_json(c, first.s, &back), OA_OK);
    assert_int_equal(oa_varied_of(&back.vary, 1, OA_CHANCE_SPLIT)[3].seed, 33);
    assert_int_equal(oa_summary_make(c, &back, &s), OA_OK);
    oa_report_json(&back, &s, &second);
    assert_string_equal(first.s, second.s);
    oa_summary_free(&s);
    oa_comparison_free(&back);

    static const char *const damage[] = { "\"values\": 4", "\"values\": 5", "\"values\": 4",
                                          "\"values\": 1", "\"idle\": [",   "\"idle\": [7, " };
    for (int i = 0; i < 6; i += 2) {
        char *at = strstr(first.s, damage[i]);
        assert_non_null(at);
        struct oa_text edited;
        oa_text_init(&edited, c);
        oa_text_printf(&edited, "%.*s%s%s", (int)(at - first.s), first.s, damage[i + 1],
                       at + strlen(damage[i]));
        assert_int_equal(oa_comparison_from_json(c, edited.s, &back), OA_FORMAT);
        oa_clear_error(c);
        oa_text_free(&edited);
    }
    oa_text_free(&first);
    oa_text_free(&second);
    oa_comparison_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chi_square),
        cmocka_unit_test(test_intervals_of_deviations),
        cmocka_unit_test(test_simulated_intervals),
        cmocka_unit_test(test_simulated_shares),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_what_failed_is_not_judged),
        cmocka_unit_test(test_sources_that_did_not_vary),
        cmocka_unit_test(test_reports_say_it),
        cmocka_unit_test(test_results_come_back),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
