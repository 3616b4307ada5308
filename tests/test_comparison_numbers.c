/* SPDX-License-Identifier: Apache-2.0
 * Every number that a comparison prints: its runs against the same runs trained alone, its
 * statistics against closed forms for three seeds and against scipy 1.17.1 (stats.t.interval,
 * stats.ttest_rel) for five, its budgets against parameters and FLOPs counted by hand. Attentions
 * are looked up by name: which others take part does not matter. */
#include "printed.h"

#include "report/report.h"

static const char text_file[] = "test_comparison_numbers_text.txt",
                  folder[] = "test_comparison_numbers";

static int make_text(void **state)
{
    (void)state;
    FILE *f = fopen(text_file, "w");
    for (int i = 0; i < 200; i++)
        fprintf(f, "the %s %s; ", i % 3 ? "quick" : "slow", i % 2 ? "fox jumps" : "cat leaps");
    return fclose(f);
}

enum { WIDTH = 16, HEADS = 2, LAYERS = 1, CONTEXT = 24, BATCH = 2, FFN = 32, SEEDS = 3 };

static oa_config *config_of(oa_context *c, const char *const *more)
{
    static const char *const pairs[] = { "model.layers",
                                         "1",
                                         "model.width",
                                         "16",
                                         "model.heads",
                                         "2",
                                         "model.context",
                                         "24",
                                         "model.ffn",
                                         "32",
                                         "data.train",
                                         text_file,
                                         "train.batch",
                                         "2",
                                         "train.steps",
                                         "6",
                                         "train.seed",
                                         "11",
                                         "train.warmup",
                                         "1",
                                         "compare.seeds",
                                         "3",
                                         "compare.test",
                                         "paired",
                                         "train.lr",
                                         "0.01",
                                         "train.eval_every",
                                         "0",
                                         NULL };
    oa_config *config = oa_config_new(c);
    set_options(config, pairs);
    set_options(config, more);
    return config;
}

static json_t *compare(oa_context *c, const char *first, const char *second,
                       const char *const *more)
{
    const char *const attentions[] = { first, second };
    oa_config *config = config_of(c, more);
    remove_folder(folder);
    assert_int_equal(oa_compare(config, attentions, 2, folder, &as_json), OA_OK);
    oa_config_free(config);
    remove_folder(folder);
    return printed_json();
}

static json_t *entry_of(json_t *root, const char *attention)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(root, "entries"), i, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "attention")), attention) == 0)
            return entry;
    }
    fail_msg("%s is not in the results", attention);
    return NULL;
}

static json_t *run_of(json_t *entry, size_t seed)
{
    json_t *run = json_array_get(json_object_get(entry, "runs"), seed);
    assert_non_null(run);
    return run;
}

/* ---- the runs */

/* Seeds differ, and so do the runs; each is the one that train makes with that seed. */
static void runs_are_those_of_their_seeds(void **state)
{
    static const char *const nothing[] = { NULL };
    (void)state;
    oa_context *c = open_context();
    json_t *root = compare(c, "softmax", "random", nothing);
    for (int a = 0; a < 2; a++) {
        const char *attention = a ? "random" : "softmax";
        json_t *entry = entry_of(root, attention);
        for (size_t s = 0; s < SEEDS; s++) {
            json_t *run = run_of(entry, s);
            char seed[16];
            snprintf(seed, sizeof seed, "%zu", 11 + s);
            assert_true(number_at(run, "seed") == 11 + (double)s && number_at(run, "steps") == 6);
            assert_true(number_at(run, "tokens") == 6.0 * BATCH * CONTEXT);
            oa_config *config = config_of(
                c, (const char *const[]){ "model.attention", attention, "train.seed", seed, NULL });
            struct oa_scores alone;
            assert_int_equal(oa_train(config, folder, 0, &alone, NULL), OA_OK);
            oa_config_free(config);
            remove_folder(folder);
            assert_true(number_at(run, "valid_loss") == alone.loss);
            close_to("perplexity", number_at(run, "perplexity"), exp(alone.loss), 1e-12);
            assert_true(number_at(run, "bits_per_character") == alone.bits_per_character);
            assert_true(s == 0 || number_at(run, "valid_loss") !=
                                      number_at(run_of(entry, s - 1), "valid_loss"));
            close_to("speed",
                     number_at(run, "tokens_per_second") * number_at(run, "seconds_per_step"),
                     BATCH * CONTEXT, 1e-9);
            close_to("FLOPs", number_at(run, "flops"), 6 * number_at(run, "flops_per_step"), 1e-12);
        }
    }
    json_decref(root);
    oa_close(c);
}

/* ---- the statistics */

struct three {
    double mean, sd, half, p;
};

/* Of three numbers: 4.3027 is the 97.5 % point of t with two degrees of freedom, whose distribution
 * has a closed form: P(|T| > t) = 1 − t/√(2 + t²). */
static struct three three_of(const double x[SEEDS])
{
    struct three t = { .mean = (x[0] + x[1] + x[2]) / 3 };
    for (int i = 0; i < SEEDS; i++)
        t.sd += (x[i] - t.mean) * (x[i] - t.mean) / 2;
    t.sd = sqrt(t.sd);
    t.half = 4.302652729911275 * t.sd / sqrt(3);
    double ratio = fabs(t.mean) / (t.sd / sqrt(3));
    t.p = 1 - ratio / sqrt(2 + ratio * ratio);
    return t;
}

static void check_estimate(json_t *statistics, const char *what, const struct three *t)
{
    json_t *estimate = json_object_get(statistics, what);
    assert_true(number_at(estimate, "n") == SEEDS);
    close_to("mean", number_at(estimate, "mean"), t->mean, 1e-9);
    close_to("sd", number_at(estimate, "sd"), t->sd, 1e-7);
    close_to("low", number_at(estimate, "low"), t->mean - t->half, 1e-7);
    close_to("high", number_at(estimate, "high"), t->mean + t->half, 1e-7);
}

static void losses_of(json_t *entry, double x[SEEDS])
{
    for (size_t s = 0; s < SEEDS; s++)
        x[s] = number_at(run_of(entry, s), "valid_loss");
}

static double mean_over_runs(json_t *entry, const char *key)
{
    double sum = 0;
    for (size_t s = 0; s < SEEDS; s++)
        sum += number_at(run_of(entry, s), key);
    return sum / SEEDS;
}

/* What is judged has an interval; three seeds give no p and no verdict. */
static bool is_judged(json_t *entry)
{
    const json_t *statistics = json_object_get(entry, "statistics");
    bool judged = json_is_object(json_object_get(statistics, "interval"));
    const char *verdict = json_string_value(json_object_get(statistics, "verdict"));
    assert_true(json_is_null(json_object_get(statistics, "p")));
    assert_true((strcmp(verdict, "estimate only") == 0) == judged);
    return judged;
}

/* Speeds are not those of the runs: of the rounds as many are below the middle as above. */
static void check_speed(json_t *entry)
{
    json_t *rounds = json_object_get(entry, "step_seconds"), *seconds;
    double middle = number_at(entry, "statistics.seconds_per_step"), tokens = BATCH * CONTEXT;
    size_t i;
    int below = 0, above = 0;
    json_array_foreach(rounds, i, seconds)
    {
        below += json_number_value(seconds) < middle;
        above += json_number_value(seconds) > middle;
    }
    /* The median, also where rounds took equally long. */
    assert_true(json_array_size(rounds) >= 7);
    assert_true(2 * below <= (int)json_array_size(rounds) &&
                2 * above <= (int)json_array_size(rounds));
    close_to("speed", number_at(entry, "statistics.tokens_per_second") * middle, tokens, 1e-9);
    close_to("step", number_at(entry, "statistics.step.value"), middle, 0);
}

static void check_standing(json_t *entry, json_t *best)
{
    static const char *const means[] = { "bits_per_character", "steps",       "tokens",
                                         "flops_per_step",     "peak_memory", "seconds" };
    double x[SEEDS], reference[SEEDS];
    json_t *statistics = json_object_get(entry, "statistics");
    losses_of(entry, x);
    losses_of(best, reference);
    struct three loss = three_of(x);
    check_estimate(statistics, "loss", &loss);
    close_to("perplexity", number_at(statistics, "perplexity"), exp(loss.mean), 1e-9);
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        close_to(means[i], number_at(statistics, means[i]), mean_over_runs(entry, means[i]), 1e-9);
    check_speed(entry);
    if (entry == best)
        return;
    for (int i = 0; i < SEEDS; i++)
        x[i] -= reference[i];
    struct three difference = three_of(x), theirs = three_of(reference);
    check_estimate(statistics, "difference", &difference);
    if (is_judged(entry)) { /* of three pairs; t of 2 degrees of freedom in closed form */
        double level = 0.05 / 3, inside = 1 - level;
        double half = inside * sqrt(2 / (1 - inside * inside)) * difference.sd / sqrt(SEEDS);
        close_to("low", number_at(statistics, "interval.low"), difference.mean - half, 1e-7);
        close_to("high", number_at(statistics, "interval.high"), difference.mean + half, 1e-7);
        close_to("confidence", number_at(statistics, "interval.confidence"), inside, 1e-12);
    }
    close_to("percent", number_at(statistics, "difference_percent"),
             100 * difference.mean / theirs.mean, 1e-7);
}

static void statistics_follow_from_the_losses(void **state)
{
    static const char *const nothing[] = { NULL };
    size_t i, tested = 0;
    json_t *entry;
    (void)state;
    oa_context *c = open_context();
    json_t *root = compare(c, "softmax", "random", nothing),
           *entries = json_object_get(root, "entries");
    json_t *best = json_array_get(entries, (size_t)number_at(root, "reference"));
    json_array_foreach(entries, i, entry)
    {
        check_standing(entry, best);
        if (!is_judged(entry))
            continue;
        tested++;
        assert_true(number_at(entry, "statistics.loss.mean") >=
                    number_at(best, "statistics.loss.mean"));
    }
    assert_int_equal(tested, 2);
    json_decref(root);
    oa_close(c);
}

/* ---- five seeds, by scipy */

static struct oa_comparison five_seeds(struct oa_entry entries[3], struct oa_run runs[3][5])
{
    static const double losses[3][5] = { { 1.6377, 1.6391, 1.6325, 1.6602, 1.6299 },
                                         { 1.6411, 1.6502, 1.6387, 1.6620, 1.6455 },
                                         { 1.6601, 1.6588, 1.6571, 1.6794, 1.6533 } };
    static char names[3][2] = { "a", "b", "c" };
    for (int i = 0; i < 3; i++) {
        entries[i] = (struct oa_entry){
            .attention = names[i], .trainable = 123456, .frozen = 789, .runs = runs[i]
        };
        for (int s = 0; s < 5; s++)
            runs[i][s] = (struct oa_run){ .seed = (uint64_t)s + 1,
                                          .steps = 10,
                                          .valid_loss = losses[i][s],
                                          .bits_per_character = losses[i][s] / log(2),
                                          .seconds_per_step = 0.0125,
                                          .tokens_per_second = 61440,
                                          .flops = 1.25e9,
                                          .peak_memory = 7.5 * 1048576 };
    }
    return (struct oa_comparison){ .entries = entries, .count = 3, .seeds = 5 };
}

static void expect_cells(const char *row, const char *const *cells)
{
    for (; *cells; cells++)
        if (!strstr(row, *cells))
            fail_msg("there is no \"%s\" in \"%s\"", *cells, row);
}

static void five_seeds_as_scipy(void **state)
{
    static const double expected[2][4] = {
        { 0.00762, 0.0056896397073979855, 0.040150843786645386, 3 * 0.040150843786645386 },
        { 0.02186, 0.00234051276433174, 3.1063153939123165e-05, 3 * 3.1063153939123165e-05 }
    };
    static const double low[2] = { 0.0005553792125733278, 0.018953869563192942 };
    struct oa_entry entries[3];
    struct oa_run runs[3][5];
    struct oa_summary s;
    struct oa_text t;
    (void)state;
    oa_context *c = open_context();
    struct oa_comparison comparison = five_seeds(entries, runs);
    assert_int_equal(oa_summary_make(c, &comparison, &s), OA_OK);
    oa_text_init(&t, c);
    oa_report_json(&comparison, &s, &t);
    json_t *root = json_loads(t.s, 0, NULL);
    close_to("sd", number_at(entry_of(root, "a"), "statistics.loss.sd"), 0.011961688843971795,
             1e-9);
    close_to("low", number_at(entry_of(root, "a"), "statistics.loss.low"), 1.6250276016047245,
             1e-9);
    close_to("high", number_at(entry_of(root, "a"), "statistics.loss.high"), 1.654732398395275,
             1e-9);
    for (int i = 0; i < 2; i++) {
        json_t *statistics = json_object_get(entry_of(root, i ? "c" : "b"), "statistics");
        close_to("mean", number_at(statistics, "difference.mean"), expected[i][0], 1e-9);
        close_to("sd", number_at(statistics, "difference.sd"), expected[i][1], 1e-9);
        close_to("low", number_at(statistics, "difference.low"), low[i], 1e-8);
        close_to("p", number_at(statistics, "p"), expected[i][2], 1e-8);
        close_to("adjusted p", number_at(statistics, "p_adjusted"), expected[i][3], 1e-8);
    }
    json_decref(root);
    oa_text_free(&t);
    /* the same, as people read it: loss ± half, bits, parameters, speed, MiB, FLOPs */
    oa_report_table(&comparison, &s, 0, &t);
    char *results = strstr(t.s, "\nc "), *costs = results ? strstr(results + 1, "\nc ") : NULL;
    assert_true(results && costs);
    *strchr(results + 1, '\n') = *strchr(costs + 1, '\n') = 0;
    expect_cells(results + 1, (const char *[]){ "1.6617 ±0.0127 ", " 2.397 ", "+0.0219 ±0.0041 ",
                                                " <1e-4 ", " worse", NULL });
    expect_cells(costs + 1, (const char *[]){ " 123k ", " 789 ", " 1.25G ", " 61.4k ", " 12.5 ",
                                              " 7.50", NULL });
    oa_text_free(&t);
    oa_summary_free(&s);
    oa_close(c);
}

/* ---- equal budgets */

/* Parameters of the model by hand, with so many for the attention of a layer and a feed-forward
 * layer of this width. */
static double parameters(double vocabulary, double attention, double ffn)
{
    return vocabulary * WIDTH + CONTEXT * WIDTH +
           LAYERS * (2 * WIDTH + attention + 2 * WIDTH * ffn) + WIDTH;
}

/* The feed-forward width makes up for what the tables have more, to the nearest that a width can.
 */
static void equal_parameters(void **state)
{
    static const char *const equal[] = { "compare.equal", "params", "train.steps", "2", NULL };
    const double softmax = 4 * WIDTH * WIDTH,
                 random = HEADS * CONTEXT * CONTEXT + 2 * WIDTH * WIDTH;
    (void)state;
    oa_context *c = open_context();
    json_t *root = compare(c, "softmax", "random", equal);
    double wanted = number_at(entry_of(root, "softmax"), "trainable"),
           got = number_at(entry_of(root, "random"), "trainable");
    double vocabulary = (wanted - parameters(0, softmax, FFN)) / WIDTH;
    assert_true(vocabulary == round(vocabulary) && vocabulary > 10 && vocabulary < 30);
    double ffn = round(FFN + (softmax - random) / (2 * WIDTH));
    assert_true(ffn >= 1 && ffn != FFN);
    assert_true(got == parameters(vocabulary, random, ffn));
    assert_true(fabs(got - wanted) <= WIDTH);
    assert_true(number_at(run_of(entry_of(root, "random"), 0), "steps") == 2);
    json_decref(root);
    oa_close(c);
}

/* The dearer attention gets fewer steps: as many as come nearest to the FLOPs of the first. */
static void equal_flops(void **state)
{
    static const char *const equal[] = { "compare.equal", "flops", "train.steps", "40",
                                         "compare.seeds", "1",     NULL };
    (void)state;
    oa_context *c = open_context();
    json_t *root = compare(c, "softmax", "polysketch(sketch=16)", equal);
    json_t *first = run_of(entry_of(root, "softmax"), 0),
           *other = run_of(entry_of(root, "polysketch(sketch=16)"), 0);
    double cost = number_at(other, "flops_per_step"),
           budget = 40 * number_at(first, "flops_per_step");
    assert_true(number_at(first, "steps") == 40);
    assert_true(cost > 1.2 * number_at(first, "flops_per_step"));
    assert_true(number_at(other, "steps") < 36);
    assert_true(fabs(number_at(other, "steps") * cost - budget) <= cost / 2);
    assert_true(number_at(other, "flops") == number_at(other, "steps") * cost);
    json_decref(root);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_those_of_their_seeds),
        cmocka_unit_test(statistics_follow_from_the_losses),
        cmocka_unit_test(five_seeds_as_scipy),
        cmocka_unit_test(equal_parameters),
        cmocka_unit_test(equal_flops),
    };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
