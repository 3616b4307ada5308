/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments: what a prediction says of an answer, of records made by hand; comparisons between contests against scipy
 * 1.17.1 (ttest_1samp, two one-sided tests by stats.t) and Holm's correction of statsmodels 0.15.0; what is refused;
 * what pages hold.
 */
#include "testing.h"

#include "base/seal.h"
#include "evidence/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "evidence-test"
static const char path[] = FOLDER ".yaml";
static oa_context *context;

static int open_all(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 1 });
    return context ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    oa_close(context);
    return system("rm -rf " FOLDER " evidence-test.yaml") ? -1 : 0;
}

static void expect_error(enum oa_error code, const char *part)
{
    const char *sentence;
    assert_int_equal(oa_last_error(context, &sentence), code);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not contain \"%s\"", sentence, part);
    oa_clear_error(context);
}

/* ---- experiments and records made by hand ---- */

#define TEXTS                                                                                                          \
    "  title: A <claim> | with marks\n  question: Is it so?\n  source: Somebody 2020, Table 2\n"                       \
    "  published: [\"38.21 against 40.60\"]\n"                                                                         \
    "  data: {name: Some text, get: from somewhere, licence: free}\n  scale: a small one\n"
#define CONTEST                                                                                                        \
    "compare: {baseline: softmax, margin: 0.05, seeds: 5, attentions: [softmax, random, dense]}\n"                     \
    "data: {train: absent/text.txt}\n"
#define VARIANTS                                                                                                       \
    "  axis: width\n  variants: [{name: small, at: 32, set: {model.width: 32}}, "                                      \
    "{name: large, at: 64, set: {model.width: 64}}]\n"

static enum oa_error read_claim(struct oa_experiment *e, const char *predicts, const char *more)
{
    struct oa_text text;
    oa_text_init(&text, context);
    oa_text_printf(&text, "claim:\n" TEXTS "  predicts: [%s]\n%s" CONTEST, predicts, more);
    assert_int_equal(oa_file_write(context, path, text.s, text.length), OA_OK);
    oa_text_free(&text);
    return oa_experiment_read(context, path, e);
}

static void keep(const char *variant, json_t *record)
{
    char name[64];
    assert_non_null(record);
    assert_int_equal(oa_directory_make(context, FOLDER), OA_OK);
    snprintf(name, sizeof name, FOLDER "/%s.json", variant);
    assert_int_equal(oa_sealed_write(context, name, record), OA_OK);
    json_decref(record);
}

static json_t *runs(const double *losses, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:i, s:b, s:f, s:f, s:f}", "seed", i + 1, "failed", isnan(losses[i]),
                                              "valid_loss", isnan(losses[i]) ? 0 : losses[i], "flops", 1e9,
                                              "processor_seconds", 2.0));
    return list;
}

static json_t *answer(const char *verdict, double mean, double half)
{
    return json_pack("{s:s, s:{s:i, s:f, s:f, s:f, s:f}, s:f, s:f, s:n}", "verdict", verdict, "difference", "n", 5,
                     "mean", mean, "sd", half, "low", mean - half, "high", mean + half, "p", 0.01, "p_holm", 0.02,
                     "p_equivalence");
}

/* softmax is the baseline, random is worse than it; dense against random, a pair, is better; the floor is worse than
 * softmax by much. */
static json_t *record_of(const double *softmax, const double *random, int seeds)
{
    json_t *entries = json_array();
    static const double others[] = { 1.5, 1.5, 1.5, 1.5, 1.5 };
    json_array_append_new(entries, json_pack("{s:s, s:b, s:i, s:i, s:{s:n, s:o}, s:o}", "attention", "softmax", "floor",
                                             0, "trainable", 100, "frozen", 0, "statistics", "baseline", "floor",
                                             answer("better", -0.7, 0.1), "runs", runs(softmax, seeds)));
    json_array_append_new(entries, json_pack("{s:s, s:b, s:i, s:i, s:{s:o, s:n}, s:o}", "attention", "random", "floor",
                                             0, "trainable", 90, "frozen", 0, "statistics", "baseline",
                                             answer("worse", 0.2, 0.03), "floor", "runs", runs(random, seeds)));
    json_array_append_new(entries, json_pack("{s:s, s:b, s:i, s:i, s:{s:o, s:n}, s:o}", "attention", "dense", "floor",
                                             0, "trainable", 90, "frozen", 0, "statistics", "baseline",
                                             answer("as good", 0.01, 0.02), "floor", "runs", runs(others, seeds)));
    json_array_append_new(entries, json_pack("{s:s, s:b, s:i, s:i, s:{s:n, s:n}, s:o}", "attention", "random(x)",
                                             "floor", 1, "trainable", 80, "frozen", 0, "statistics", "baseline",
                                             "floor", "runs", runs(others, seeds)));
    json_t *pair = answer("worse", 0.19, 0.04);
    json_object_set_new(pair, "a", json_integer(1));
    json_object_set_new(pair, "b", json_integer(2));
    return json_pack("{s:i, s:i, s:[i,i,i,i], s:o, s:[o], s:{s:s, s:s}, s:s}", "baseline", 0, "seeds", seeds, "order",
                     0, 2, 1, 3, "entries", entries, "pairs", pair, "machine", "processor", "A <Processor>", "isa",
                     "ref", "conclusion", "softmax is best.");
}

static const double small_softmax[] = { 1.90, 1.93, 1.88, 1.95, 1.91 };
static const double small_random[] = { 2.10, 2.15, 2.05, 2.18, 2.11 };
static const double large_softmax[] = { 1.885, 1.94, 1.89, 1.93, 1.915 };
static const double large_random[] = { 1.99, 2.01, 1.97, 2.06, 1.98 };

/* ---- verdicts ---- */

static void answers_and_relations(void **state)
{
    static const char letters[] = {
        [OA_HELD_HOLDS] = 'h', [OA_HELD_FAILS] = 'f', [OA_HELD_OPEN] = 'o', [OA_HELD_UNJUDGED] = 'u'
    };
    static const struct {
        enum oa_against_verdict verdict;
        double mean, half;
        const char *held; /* better than, worse than, as good as, at least as good as */
    } cases[] = {
        { OA_AGAINST_BETTER, -0.3, 0.1, "hffh" },   { OA_AGAINST_WORSE, 0.3, 0.1, "fhff" },
        { OA_AGAINST_BETTER, -0.08, 0.05, "hfoh" }, /* found, and perhaps within the margin */
        { OA_AGAINST_WORSE, 0.08, 0.05, "fhoo" },   { OA_AGAINST_EQUIVALENT, 0.01, 0.02, "ffhh" },
        { OA_AGAINST_IDENTICAL, 0, 0, "ffhh" },     { OA_AGAINST_UNRESOLVED, 0.3, 0.4, "oooo" },
        { OA_AGAINST_UNJUDGED, 0.3, 0, "uuuu" },    { OA_AGAINST_ONE_SEED, 0.3, NAN, "uuuu" },
        { OA_AGAINST_NONE, NAN, NAN, "uuuu" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int r = 0; r < OA_RELATIONS; r++) {
            struct oa_against a = { .verdict = cases[i].verdict,
                                    .difference = { .n = 5, .mean = cases[i].mean, .half = cases[i].half } };
            if (letters[oa_held_of((enum oa_relation)r, &a, 0.05)] != cases[i].held[r])
                fail_msg("case %zu, %s", i, oa_relation_words((enum oa_relation)r));
        }
}

static void within_a_contest(void **state)
{
    static const struct {
        const char *prediction;
        enum oa_held held;
        double mean;
    } cases[] = { { "random worse than softmax", OA_HELD_HOLDS, 0.2 },
                  { "softmax better than random", OA_HELD_HOLDS, -0.2 },
                  { "dense better than random", OA_HELD_HOLDS, -0.19 },
                  { "random better than dense", OA_HELD_FAILS, 0.19 },
                  { "dense as good as softmax", OA_HELD_HOLDS, 0.01 },
                  { "random at least as good as softmax", OA_HELD_FAILS, 0.2 },
                  { "floor worse than softmax", OA_HELD_HOLDS, 0.7 },
                  { "random better than floor", OA_HELD_UNJUDGED, NAN } };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("contest", record_of(small_softmax, small_random, 5));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_claim(&e, cases[i].prediction, ""), OA_OK);
        assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
        assert_int_equal(j.count, 1);
        if (j.held != cases[i].held)
            fail_msg("%s: %s", cases[i].prediction, oa_held_name(j.held));
        assert_true(isnan(cases[i].mean) || fabs(j.findings[0].against.difference.mean - cases[i].mean) < 1e-12);
        oa_judged_free(&j);
        oa_experiment_free(&e);
    }
}

/* A contest in which nothing was found better than the uniform average. */
static json_t *blind(void)
{
    json_t *record = record_of(small_softmax, small_random, 5), *entries = json_object_get(record, "entries");
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(json_object_get(json_array_get(entries, i), "statistics"), "floor",
                            answer("not resolved", -0.01, 0.1));
    return record;
}

/* As good as each other and no better than the floor: equality says nothing there, but a difference still does. */
static void without_an_effect_nothing_is_equal(void **state)
{
    static const struct {
        const char *prediction;
        enum oa_held held;
    } cases[] = { { "dense as good as softmax", OA_HELD_UNJUDGED },
                  { "dense better than softmax", OA_HELD_UNJUDGED },
                  { "random worse than softmax", OA_HELD_HOLDS } };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("contest", blind());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_claim(&e, cases[i].prediction, ""), OA_OK);
        assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
        assert_int_equal(j.held, cases[i].held);
        oa_judged_free(&j);
        oa_experiment_free(&e);
    }
    assert_int_equal(read_claim(&e, "softmax @ small as good as softmax @ large", VARIANTS), OA_OK);
    keep("small", blind());
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    assert_int_equal(j.held, OA_HELD_HOLDS); /* one of them attends */
    oa_judged_free(&j);
    keep("large", blind());
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    assert_int_equal(j.held, OA_HELD_UNJUDGED);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void between_contests(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e,
                                "random @ small worse than random @ large, softmax @ small as good as softmax @ large, "
                                "random worse than softmax",
                                VARIANTS),
                     OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK); /* the other contest has not ended */
    assert_int_equal(j.held, OA_HELD_NOT_RUN);
    assert_int_equal(oa_judged_count(&j, OA_HELD_NOT_RUN), 3);
    oa_judged_free(&j);
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    assert_int_equal(j.count, 4);
    assert_int_equal(j.held, OA_HELD_HOLDS);
    near(j.findings[0].against.difference.mean, 0.116);
    near(j.findings[0].against.difference.half, 0.028585251909870314);
    near(j.findings[0].against.p, 0.0003535580073321956);
    near(j.findings[0].against.holm, 0.0007071160146643912);
    near(j.findings[1].against.difference.mean, 0.002);
    near(j.findings[1].against.holm, 0.7717151268489639);
    near(j.findings[1].against.equivalence, 0.0017332125330197527);
    near(oa_judged_cost(&j).processor_seconds, 2 * 4 * 5 * 2.0);
    near(oa_judged_cost(&j).flops, 2 * 4 * 5 * 1e9);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static void seeds_are_paired(void **state)
{
    static const double fewer[] = { 1.99, 2.01, 1.97 };
    static const double failed[] = { 1.99, 2.01, NAN, 2.06, 1.98 };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random @ small worse than random @ large", VARIANTS), OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    keep("large", record_of(large_softmax, fewer, 3));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    assert_int_equal(j.findings[0].against.difference.n, 3);
    near(j.findings[0].against.difference.mean, 0.11);
    oa_judged_free(&j);
    keep("large", record_of(large_softmax, failed, 5)); /* the seeds that survive are no fair sample */
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    assert_int_equal(j.held, OA_HELD_UNJUDGED);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static json_t *with_accuracy(const double *loss, double first, double step)
{
    json_t *record = record_of(small_softmax, loss, 5);
    json_t *list = json_object_get(json_array_get(json_object_get(record, "entries"), 1), "runs");
    for (size_t i = 0; i < 5; i++)
        json_object_set_new(json_array_get(list, i), "scores",
                            json_pack("{s:f}", "accuracy", first + step * (double)((i * i) % 5)));
    json_object_set_new(record, "metric", json_string("accuracy"));
    json_object_set_new(
        record, "measures",
        json_pack("[{s:s, s:s, s:i, s:b}]", "name", "accuracy", "unit", "%", "decimals", 2, "higher_is_better", 1));
    return record;
}

/* Of scores that are better when they are higher, the difference that is shown keeps its direction. */
static void directions_between_contests(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random @ small worse than random @ large", VARIANTS), OA_OK);
    keep("small", with_accuracy(small_random, 60, 0.5));
    keep("large", with_accuracy(large_random, 70, 0.4));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    assert_int_equal(j.held, OA_HELD_HOLDS);
    near(j.findings[0].against.difference.mean, -9.8); /* 0, 1, 4, 4, 1 have the mean 2 */
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static void one_that_fails_decides(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("contest", record_of(small_softmax, small_random, 5));
    assert_int_equal(
        read_claim(&e, "random worse than softmax, random better than dense, random better than floor", ""), OA_OK);
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    assert_int_equal(j.held, OA_HELD_FAILS);
    assert_int_equal(oa_judged_count(&j, OA_HELD_HOLDS), 1);
    assert_int_equal(oa_judged_count(&j, OA_HELD_UNJUDGED), 1);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* ---- what is refused ---- */

static void wrong_predictions_are_refused(void **state)
{
    static const struct {
        const char *predicts, *more, *says;
    } cases[] = {
        { "linear better than softmax", "", "\"linear\" takes no part in the contest: compare.attentions does not" },
        { "random beats softmax", "", "\"random beats softmax\" is no prediction" },
        { "random @ small better than softmax", VARIANTS, "one side names a variant" },
        { "random @ tiny better than softmax @ small", VARIANTS, "there is no variant named \"tiny\"" },
        { "random @ contest better than softmax @ contest", "", "there is no variant named \"contest\"" },
        { "random better than random", "", "\"random\" is on both sides" },
        { "random as good as floor", "", "against the floor there are better than and worse than" },
        { "nothing better than softmax", "", "nothing" },
        { "random worse than softmax", "  proof: none\n", "has no member \"proof\"" },
        { "random worse than softmax", "  variants: [{name: a, set: {model.widht: 3}}]\n", ":9: unknown option" },
        { "random worse than softmax", "  variants: [{name: a/b, set: {model.width: 32}}]\n", "needs a name" },
        { "random worse than softmax", "  variants: [{name: a, set: {model.width: 32}}, {name: a, set: {}}]\n",
          "two variants are named a" },
        { "random @ a worse than random @ b",
          "  variants: [{name: a, set: {compare.margin: 0.1}}, {name: b, set: {model.width: 32}}]\n",
          "one compare.margin" },
        { "random as good as softmax", "  variants: [{name: a, set: {compare.margin: 0}}]\n", "needs compare.margin" },
    };
    struct oa_experiment e;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_not_equal(read_claim(&e, cases[i].predicts, cases[i].more), OA_OK);
        expect_error(OA_ARGUMENT, cases[i].says);
        oa_experiment_free(&e);
    }
}

static void changes_after_the_declaration_are_refused(void **state)
{
    struct oa_experiment e;
    char date[16];
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    assert_int_equal(oa_declared_check(context, &e, FOLDER, date), OA_OK);
    assert_string_equal(date, "");
    assert_int_equal(oa_declare(context, &e, FOLDER), OA_OK);
    assert_int_equal(oa_declared_check(context, &e, FOLDER, date), OA_OK);
    assert_int_equal(strlen(date), 10);
    e.variants[0].options.compare_most_seeds = 99; /* says how long to go on */
    assert_int_equal(oa_declare(context, &e, FOLDER), OA_OK);
    e.variants[0].options.compare_margin = 0.2;
    assert_int_equal(oa_declare(context, &e, FOLDER), OA_ARGUMENT);
    expect_error(OA_ARGUMENT,
                 "compare.margin of the contest contest was declared as 0.05 before the runs, and now it is "
                 "0.2");
    oa_experiment_free(&e);
    assert_int_equal(read_claim(&e, "random better than softmax", ""), OA_OK);
    assert_int_equal(oa_declare(context, &e, FOLDER), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "prediction 1 was declared as \"random worse than softmax\"");
    oa_experiment_free(&e);
}

static void missing_data_are_said(void **state)
{
    struct oa_experiment e;
    struct oa_options o;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    assert_int_equal(oa_variant_options(context, &e, &e.variants[0], "/there", &o), OA_IO);
    expect_error(OA_IO, "/there/absent/text.txt does not exist. It needs Some text: from somewhere (licence: free)");
    snprintf(e.variants[0].options.data_train, 64, "one.txt,%s", "two.txt");
    assert_int_equal(oa_directory_make(context, FOLDER), OA_OK);
    assert_int_equal(oa_file_write(context, FOLDER "/one.txt", "1", 1), OA_OK);
    assert_int_equal(oa_variant_options(context, &e, &e.variants[0], FOLDER, &o), OA_IO);
    expect_error(OA_IO, FOLDER "/two.txt");
    assert_int_equal(oa_file_write(context, FOLDER "/two.txt", "2", 1), OA_OK);
    assert_int_equal(oa_variant_options(context, &e, &e.variants[0], FOLDER, &o), OA_OK);
    assert_string_equal(o.data_train, FOLDER "/one.txt," FOLDER "/two.txt");
    oa_experiment_free(&e);
}

/* ---- when is a contest at its end ---- */

static void complete_contests(void **state)
{
    static const struct {
        const char *record;
        long seeds, most;
        bool complete;
    } cases[] = { { "{\"seeds\": 5, \"until_resolved\": null}", 5, 30, true },
                  { "{\"seeds\": 4, \"until_resolved\": null}", 5, 30, false },
                  { "{\"seeds\": 7, \"until_resolved\": {\"ending\": \"resolved\"}}", 5, 30, true },
                  { "{\"seeds\": 9, \"until_resolved\": {\"ending\": \"seeds used up\"}}", 5, 30, false },
                  { "{\"seeds\": 9, \"until_resolved\": {\"ending\": \"seeds used up\"}}", 5, 9, true },
                  { "{\"seeds\": 9, \"until_resolved\": {\"ending\": \"budget used up\"}}", 5, 9, false } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_options o = { .compare_seeds = cases[i].seeds, .compare_most_seeds = cases[i].most };
        json_t *record = json_loads(cases[i].record, 0, NULL);
        assert_int_equal(oa_record_complete(record, &o), cases[i].complete);
        json_decref(record);
    }
}

/* ---- pages ---- */

static void has(const struct oa_text *text, const char *part)
{
    if (!text->s || !strstr(text->s, part))
        fail_msg("the page does not contain \"%s\":\n%s", part, text->s ? text->s : "");
}

static void pages_say_it(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    struct oa_text text;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax, random @ small worse than random @ large", VARIANTS),
                     OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    oa_text_init(&text, context);
    oa_evidence_markdown(&j, 1, "charts", &text);
    has(&text, "| A \\<claim\\> \\| with marks (`evidence-test`) | holds here | 2 hold of 2 | 2 of 2 | 80.0 s |");
    has(&text, "| random worse than softmax | small | +0.2000 ±0.0300 nats a token | worse, p 0.020 | holds here |");
    has(&text, "| random @ small worse than random @ large | small, large | +0.1160 ±0.0286 nats a token | worse, p "
               "0.00035 | holds here |");
    has(&text, "Data: Some text; from somewhere; licence: free.");
    has(&text, "`small`: model.width = 32; `large`: model.width = 64");
    has(&text, "Cost, with the tuning: 40 runs, 80.0 s of processor time, 40.0GFLOPs.");
    has(&text, "](charts/evidence-test.svg)");
    has(&text, "](charts/evidence-test-over.svg)");
    oa_text_cut(&text, 0);
    assert_true(oa_evidence_intervals(&j, &text));
    has(&text, "holds here");
    has(&text, "+0.1160 ±0.0286");
    assert_null(strstr(text.s, "<claim>"));
    oa_text_free(&text);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static void what_was_not_run_is_said(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    struct oa_text text;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    assert_int_equal(oa_judge(context, &e, FOLDER "/none", &j), OA_OK);
    oa_text_init(&text, context);
    oa_evidence_markdown(&j, 1, "charts", &text);
    has(&text, "| not run | 1 not run of 1 | 0 of 1 | – |");
    has(&text, "Not run. `orthant evidence evidence-test --data FOLDER` runs it.");
    assert_null(strstr(text.s, ".svg"));
    assert_false(oa_evidence_intervals(&j, &text));
    json_t *root = oa_evidence_json(&j, 1);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(json_object_get(root, "experiments"), 0), "verdict")),
        "not run");
    json_decref(root);
    oa_text_free(&text);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* A record whose numbers were edited is not judged. */
static void edited_records_are_refused(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    keep("contest", record_of(small_softmax, small_random, 5));
    assert_int_equal(system("sed -i 's/\"worse\"/\"better\"/' " FOLDER "/contest.json"), 0);
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_FORMAT);
    expect_error(OA_FORMAT, "contest.json was changed after it was written");
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_relations),
        cmocka_unit_test_setup_teardown(within_a_contest, open_all, close_all),
        cmocka_unit_test_setup_teardown(without_an_effect_nothing_is_equal, open_all, close_all),
        cmocka_unit_test_setup_teardown(between_contests, open_all, close_all),
        cmocka_unit_test_setup_teardown(seeds_are_paired, open_all, close_all),
        cmocka_unit_test_setup_teardown(directions_between_contests, open_all, close_all),
        cmocka_unit_test_setup_teardown(one_that_fails_decides, open_all, close_all),
        cmocka_unit_test_setup_teardown(wrong_predictions_are_refused, open_all, close_all),
        cmocka_unit_test_setup_teardown(changes_after_the_declaration_are_refused, open_all, close_all),
        cmocka_unit_test_setup_teardown(missing_data_are_said, open_all, close_all),
        cmocka_unit_test(complete_contests),
        cmocka_unit_test_setup_teardown(pages_say_it, open_all, close_all),
        cmocka_unit_test_setup_teardown(what_was_not_run_is_said, open_all, close_all),
        cmocka_unit_test_setup_teardown(edited_records_are_refused, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
