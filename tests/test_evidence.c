/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments: what a prediction says of an answer, of records made by hand; differences and shares
 * against SciPy 1.17.1 (ttest_1samp, two one-sided tests by stats.t, roots by brentq) at 0.05
 * divided by the number of findings; speeds against signed ranks of which all 2^n patterns were
 * enumerated (Python); what is refused; what pages hold.
 */
#include "testing.h"

#include "base/checksum.h"
#include "evidence/pages.h"

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

#define TEXTS                                                                                      \
    "  title: A <claim> | with marks\n  question: Is it so?\n  source: Somebody 2020, Table 2\n"   \
    "  published: [\"38.21 against 40.60\"]\n"                                                     \
    "  data: {name: Some text, get: from somewhere, licence: free}\n  scale: a small one\n"
#define COMPARISON                                                                                 \
    "compare: {baseline: softmax, margin: 0.05, seeds: 5, attentions: [softmax, random, dense]}\n" \
    "data: {train: absent/text.txt}\n"
#define VARIANTS                                                                                   \
    "  axis: width\n  variants: [{name: small, at: 32, set: {model.width: 32}}, "                  \
    "{name: large, at: 64, set: {model.width: 64}}]\n"

/* b, with what is given. */
#define STARTING(member, set)                                                                      \
    "  variants: [{name: a, set: {data.task: mlm}}, {name: b, " member ", set: {" set "}}]\n"

static enum oa_error read_claim(struct oa_experiment *e, const char *predicts, const char *more)
{
    struct oa_text text;
    oa_text_init(&text, context);
    oa_text_printf(&text, "claim:\n" TEXTS "  predicts: [%s]\n%s" COMPARISON, predicts, more);
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
    assert_int_equal(oa_checksummed_write(context, name, record), OA_OK);
    json_decref(record);
}

/* What orthant evidence would have written into the record of a variant. */
static void claim(const struct oa_experiment *e, const struct oa_variant *v)
{
    char name[128];
    struct oa_options o = v->options;
    struct oa_digest declared;
    struct oa_text text;
    json_t *record;
    snprintf(name, sizeof name, FOLDER "/%.60s.json", v->name);
    if (!oa_file_exists(name))
        return;
    if (v->from >= 0)
        snprintf(o.train_init, sizeof o.train_init, FOLDER "/%.60s", e->variants[v->from].name);
    oa_text_init(&text, context);
    oa_options_json(&o, &text);
    assert_int_equal(oa_checksummed_read(context, name, "", &record), OA_OK);
    assert_int_equal(oa_digest_of_file(context, FOLDER "/declared.json", &declared), OA_OK);
    json_object_set_new(record, "options", json_loads(text.s, 0, NULL));
    json_object_set_new(record, "declared", json_sprintf("sha256:%s", declared.hex));
    assert_int_equal(oa_checksummed_write(context, name, record), OA_OK);
    oa_text_free(&text);
    json_decref(record);
}

/* The records in the folder are those of the experiment. */
static enum oa_error judge(const struct oa_experiment *e, struct oa_judged *j)
{
    assert_int_equal(system("rm -f " FOLDER "/declared.json"), 0);
    assert_int_equal(oa_declare(context, e, FOLDER, FOLDER), OA_OK);
    for (int v = 0; v < e->variant_count; v++)
        claim(e, &e->variants[v]);
    return oa_judge(context, e, FOLDER, j);
}

static json_t *runs(const double *losses, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:i, s:b, s:f, s:f, s:f}", "seed", i + 1, "failed",
                                              isnan(losses[i]), "valid_loss",
                                              isnan(losses[i]) ? 0 : losses[i], "flops", 1e9,
                                              "processor_seconds", 2.0));
    return list;
}

static json_t *entry(const char *attention, bool uniform, int trainable, const double *losses,
                     int seeds)
{
    return json_pack("{s:s, s:b, s:i, s:i, s:o}", "attention", attention, "floor", uniform,
                     "trainable", trainable, "frozen", 0, "runs", runs(losses, seeds));
}

/* Of four attentions, the uniform baseline last, and softmax the baseline. */
static json_t *record_of_four(const double *softmax, const double *random, const double *dense,
                              const double *uniform, int seeds)
{
    return json_pack(
        "{s:i, s:i, s:[i,i,i,i], s:[o,o,o,o], s:{s:s, s:s}, s:s}", "baseline", 0, "seeds", seeds,
        "order", 0, 2, 1, 3, "entries", entry("softmax", false, 100, softmax, seeds),
        entry("random", false, 90, random, seeds), entry("dense", false, 90, dense, seeds),
        entry("random(x)", true, 80, uniform, seeds), "machine", "processor", "A <Processor>",
        "isa", "ref", "conclusion", "softmax is best.");
}

static const double uniform_losses[] = { 2.60, 2.66, 2.58, 2.63, 2.61 };

/* dense is 0.01 above softmax but for little. */
static json_t *record_of(const double *softmax, const double *random, int seeds)
{
    static const double above[] = { 0.012, 0.004, 0.015, 0.009, 0.010 };
    double dense[5];
    for (int i = 0; i < 5; i++)
        dense[i] = i < seeds ? softmax[i] + above[i] : 0;
    return record_of_four(softmax, random, dense, uniform_losses, seeds);
}

static const double small_softmax[] = { 1.90, 1.93, 1.88, 1.95, 1.91 };
static const double small_random[] = { 2.10, 2.15, 2.05, 2.18, 2.11 };
static const double large_softmax[] = { 1.885, 1.94, 1.89, 1.93, 1.915 };
static const double large_random[] = { 1.99, 2.01, 1.97, 2.06, 1.98 };

/* ---- verdicts ---- */

static void answers_and_relations(void **state)
{
    static const char letters[] = { [OA_CLAIM_HOLDS] = 'h',
                                    [OA_CLAIM_FAILS] = 'f',
                                    [OA_CLAIM_INCONCLUSIVE] = 'o',
                                    [OA_CLAIM_UNTESTABLE] = 'u' };
    static const struct {
        enum oa_against_verdict verdict;
        double mean, half;
        const char *letters_of; /* better than, worse than, as good as, at least as good as */
    } cases[] = {
        { OA_AGAINST_BETTER, -0.3, 0.1, "hffh" },   { OA_AGAINST_WORSE, 0.3, 0.1, "fhff" },
        { OA_AGAINST_BETTER, -0.08, 0.05, "hfoh" }, /* found, and perhaps within the margin */
        { OA_AGAINST_WORSE, 0.08, 0.05, "fhoo" },   { OA_AGAINST_EQUIVALENT, 0.01, 0.02, "ffhh" },
        { OA_AGAINST_IDENTICAL, 0, 0, "ffhh" },     { OA_AGAINST_UNRESOLVED, 0.3, 0.4, "oooo" },
        { OA_AGAINST_UNJUDGED, 0.3, 0, "uuuu" },    { OA_AGAINST_ONE_SEED, 0.3, NAN, "uuuu" },
        { OA_AGAINST_FEW_SEEDS, 0.3, 0.1, "uuuu" }, { OA_AGAINST_NONE, NAN, NAN, "uuuu" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int r = 0; r <= OA_AT_LEAST_AS_GOOD_AS; r++) { /* those about scores */
            struct oa_against a = { .verdict = cases[i].verdict,
                                    .difference = { .n = 5, .mean = cases[i].mean },
                                    .half = cases[i].half };
            if (letters[oa_claim_verdict_of((enum oa_relation)r, &a, 0.05)] !=
                cases[i].letters_of[r])
                fail_msg("case %zu, %s", i, oa_relation_words((enum oa_relation)r));
        }
}

static void within_a_comparison(void **state)
{
    static const struct {
        const char *prediction;
        enum oa_claim_verdict verdict;
        double mean, half;
    } cases[] = { { "random worse than softmax", OA_CLAIM_HOLDS, 0.204, 0.028585251909870327 },
                  { "softmax better than random", OA_CLAIM_HOLDS, -0.204, 0.028585251909870327 },
                  { "dense better than random", OA_CLAIM_HOLDS, -0.194, 0.03276911023981627 },
                  { "random better than dense", OA_CLAIM_FAILS, 0.194, 0.03276911023981627 },
                  { "dense as good as softmax", OA_CLAIM_HOLDS, 0.01, 0.005043663003530609 },
                  { "random at least as good as softmax", OA_CLAIM_FAILS, 0.204,
                    0.028585251909870327 },
                  { "floor worse than softmax", OA_CLAIM_HOLDS, 0.702, 0.022211560841582465 },
                  { "random better than floor", OA_CLAIM_HOLDS, -0.498, 0.03662382628097151 } };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("comparison", record_of(small_softmax, small_random, 5));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_claim(&e, cases[i].prediction, ""), OA_OK);
        assert_int_equal(judge(&e, &j), OA_OK);
        assert_int_equal(j.count, 1);
        if (j.verdict != cases[i].verdict)
            fail_msg("%s: %s", cases[i].prediction, oa_claim_verdict_words(j.verdict));
        assert_true(fabs(j.findings[0].against.difference.mean - cases[i].mean) < 1e-12);
        assert_true(fabs(j.findings[0].against.half - cases[i].half) < 1e-9);
        oa_judged_free(&j);
        oa_experiment_free(&e);
    }
}

/* A comparison in which the uniform average is as good as softmax for all that is shown. */
static json_t *blind(void)
{
    static const double uniform[] = { 1.93, 1.91, 1.92, 1.90, 1.92 },
                        dense[] = { 1.912, 1.934, 1.895, 1.959, 1.92 };
    return record_of_four(small_softmax, small_random, dense, uniform, 5);
}

/* As good as each other and no better than the floor: equality says nothing there, but a difference
 * still does. */
static void without_an_effect_nothing_is_equal(void **state)
{
    static const struct {
        const char *prediction;
        enum oa_claim_verdict verdict;
    } cases[] = { { "dense as good as softmax", OA_CLAIM_UNTESTABLE },
                  { "dense better than softmax", OA_CLAIM_UNTESTABLE },
                  { "random worse than softmax", OA_CLAIM_HOLDS } };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("comparison", blind());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_claim(&e, cases[i].prediction, ""), OA_OK);
        assert_int_equal(judge(&e, &j), OA_OK);
        assert_int_equal(j.verdict, cases[i].verdict);
        oa_judged_free(&j);
        oa_experiment_free(&e);
    }
    assert_int_equal(read_claim(&e, "softmax @ small as good as softmax @ large", VARIANTS), OA_OK);
    keep("small", blind());
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_HOLDS); /* one of them attends */
    oa_judged_free(&j);
    keep("large", blind());
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_UNTESTABLE);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void between_comparisons(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e,
                                "random @ small worse than random @ large, softmax @ small as good "
                                "as softmax @ large, random worse than softmax",
                                VARIANTS),
                     OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK); /* the other comparison has not ended */
    assert_int_equal(j.verdict, OA_CLAIM_NOT_RUN);
    assert_int_equal(oa_judged_count(&j, OA_CLAIM_NOT_RUN), 3);
    oa_judged_free(&j);
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.count, 4);
    assert_int_equal(j.verdict, OA_CLAIM_HOLDS);
    near(j.findings[0].against.difference.mean, 0.116);
    near(j.findings[0].against.half, 0.04442210286491033); /* one of four findings */
    near(j.findings[0].against.p, 0.0003535580073321956);
    near(j.findings[0].against.adjusted, 0.0014142320293287823);
    near(j.findings[1].against.difference.mean, 0.002);
    near(j.findings[1].against.half, 0.027795227252859243);
    near(j.findings[1].against.adjusted, 1);
    near(j.findings[1].against.equivalence, 0.006932850132079011);
    near(j.findings[2].against.half, 0.044422102864910336);
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
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.findings[0].against.difference.n, 3);
    near(j.findings[0].against.difference.mean, 0.11);
    assert_int_equal(j.verdict, OA_CLAIM_HOLDS);
    oa_judged_free(&j);
    keep("large",
         record_of(large_softmax, failed, 5)); /* the seeds that survive are no fair sample */
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_UNTESTABLE);
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
    json_object_set_new(record, "measures",
                        json_pack("[{s:s, s:s, s:i, s:b}]", "name", "accuracy", "unit", "%",
                                  "decimals", 2, "higher_is_better", 1));
    return record;
}

/* Of scores that are better when they are higher, the difference that is shown keeps its direction.
 */
static void directions_between_comparisons(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random @ small worse than random @ large", VARIANTS), OA_OK);
    keep("small", with_accuracy(small_random, 60, 0.5));
    keep("large", with_accuracy(large_random, 70, 0.4));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_HOLDS);
    near(j.findings[0].against.difference.mean, -9.8); /* 0, 1, 4, 4, 1 have the mean 2 */
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* Both are right about everything with every seed, and differ in their losses; without that the
 * score is the best one there is nothing to tell. */
static void equal_at_the_best_score(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random @ small as good as random @ large", VARIANTS), OA_OK);
    for (int best = 0; best < 2; best++) {
        json_t *records[] = { with_accuracy(small_random, 100, 0),
                              with_accuracy(large_random, 100, 0) };
        for (int i = 0; i < 2; i++) {
            json_t *m = json_array_get(json_object_get(records[i], "measures"), 0);
            if (best)
                json_object_set_new(m, "best", json_real(100));
            keep(i ? "large" : "small", records[i]);
        }
        assert_int_equal(judge(&e, &j), OA_OK);
        assert_int_equal(j.findings[0].against.verdict,
                         best ? OA_AGAINST_EQUIVALENT : OA_AGAINST_UNJUDGED);
        oa_judged_free(&j);
    }
    oa_experiment_free(&e);
}

static void one_that_fails_decides(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    static const double failed[] = { 2.60, 2.66, NAN, 2.63, 2.61 };
    keep("comparison", record_of_four(small_softmax, small_random, small_softmax, failed, 5));
    assert_int_equal(
        read_claim(&e,
                   "random worse than softmax, random better than dense, random better than floor",
                   ""),
        OA_OK);
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_FAILS);
    assert_int_equal(oa_judged_count(&j, OA_CLAIM_HOLDS), 1);
    assert_int_equal(oa_judged_count(&j, OA_CLAIM_UNTESTABLE), 1);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* ---- speeds ---- */

static const double softmax_steps[] = { 0.021, 0.0202, 0.0219, 0.0205, 0.0210, 0.0222, 0.0201 };
static const double random_steps[] = { 0.0302, 0.0290, 0.0311, 0.0297, 0.0295, 0.0330, 0.0291 };
static const double dense_steps[] = { 0.0212, 0.0201, 0.0221, 0.0203, 0.0213, 0.0220, 0.0202 };

static void add_rounds(json_t *record, size_t entry, const double *seconds, int rounds)
{
    json_t *list = json_array();
    for (int i = 0; i < rounds; i++)
        json_array_append_new(list, json_real(seconds[i]));
    json_object_set_new(json_array_get(json_object_get(record, "entries"), entry), "step_seconds",
                        list);
}

static json_t *timed(int rounds)
{
    json_t *record = record_of(small_softmax, small_random, 5);
    add_rounds(record, 0, softmax_steps, rounds);
    add_rounds(record, 1, random_steps, 7);
    add_rounds(record, 2, dense_steps, rounds);
    return record;
}

/* random takes 1.44 times as long; dense about as long as softmax; the floor was not timed. */
static void speeds_by_rounds(void **state)
{
    static const struct {
        const char *prediction, *says;
        enum oa_claim_verdict verdict;
        double value, low, high;
    } cases[] = {
        { "softmax faster than random", "faster", OA_CLAIM_HOLDS, 1.4398913214170228,
          1.4200913242009132, 1.4669960635887587 },
        { "random faster than softmax", "slower", OA_CLAIM_FAILS, 0.69449685898230307,
          0.68166508746701648, 0.70418006430868163 },
        { "dense faster than softmax", "inconclusive", OA_CLAIM_INCONCLUSIVE, NAN, NAN, NAN },
        { "softmax faster than dense", "inconclusive", OA_CLAIM_INCONCLUSIVE, NAN, NAN, NAN },
        { "floor faster than softmax", "not timed", OA_CLAIM_UNTESTABLE, NAN, NAN, NAN }
    };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("comparison", timed(7));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_claim(&e, cases[i].prediction, ""), OA_OK);
        assert_int_equal(judge(&e, &j), OA_OK);
        if (j.verdict != cases[i].verdict)
            fail_msg("%s: %s", cases[i].prediction, oa_claim_verdict_words(j.verdict));
        assert_string_equal(oa_finding_words(&j, &j.findings[0]), cases[i].says);
        if (isfinite(cases[i].value)) {
            near(j.findings[0].speed.value, cases[i].value);
            near(j.findings[0].speed.low, cases[i].low);
            near(j.findings[0].speed.high, cases[i].high);
        }
        oa_judged_free(&j);
        oa_experiment_free(&e);
    }
}

/* Rounds that only one of them has are no rounds, and too few say nothing. */
static void speeds_need_rounds(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e,
                                "softmax faster than random, softmax faster than dense, random "
                                "worse than softmax",
                                ""),
                     OA_OK);
    keep("comparison", timed(5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.findings[0].speed.n, 0);
    assert_int_equal(j.findings[1].speed.n, 5);
    assert_int_equal(oa_judged_count(&j, OA_CLAIM_UNTESTABLE), 2);
    near(j.findings[2].against.adjusted, 3.827396659498181e-05); /* alone in its family */
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* ---- rankings ---- */

/* random and dense so far from softmax, with a spread over the seeds. */
struct arms {
    double random, dense, spread;
};

static json_t *ranked(struct arms a)
{
    static const double wobble[] = { 1, -1, 0.5, -1.2, 0.7 }, other[] = { 0.3, 1, -1, -0.7, 0.4 };
    double random[5], dense[5];
    for (int i = 0; i < 5; i++) {
        random[i] = small_softmax[i] + a.random + a.spread * wobble[i];
        dense[i] = a.dense == 0 && a.spread == 0 ? small_softmax[i]
                                                 : small_softmax[i] + a.dense + 0.003 * other[i];
    }
    return record_of_four(small_softmax, random, dense, uniform_losses, 5);
}

static void rankings(void **state)
{
    static const struct {
        struct arms small, large;
        const char *says;
        enum oa_claim_verdict verdict;
        struct oa_ranking pairs;
    } cases[] = {
        { { 0.2, 0.001, 0.003 },
          { 0.2, 0.001, 0.003 },
          "the same order",
          OA_CLAIM_HOLDS,
          { 3, 0, 0 } },
        { { 0.2, 0.2, 0.003 }, /* random and dense as good as each other */
          { 0.3, 0.3, 0.003 },
          "the same order",
          OA_CLAIM_HOLDS,
          { 3, 0, 0 } },
        { { 0.2, 0.4, 0.003 }, /* both worse, in another order */
          { 0.4, 0.2, 0.003 },
          "another order",
          OA_CLAIM_FAILS,
          { 2, 1, 0 } },
        { { 0.2, -0.2, 0.003 },
          { 0.0, 0.3, 0.05 }, /* random open against softmax, and better than dense */
          "another order",
          OA_CLAIM_FAILS,
          { 0, 2, 1 } },
        { { 0.2, -0.2, 0.003 },
          { 0.2, 0.001, 0.003 },
          "inconclusive",
          OA_CLAIM_INCONCLUSIVE,
          { 2, 0, 1 } },
        { { 0.0, -0.3, 0.05 },
          { 0.0, -0.3, 0.05 },
          "inconclusive",
          OA_CLAIM_INCONCLUSIVE,
          { 2, 0, 1 } },
        { { 0.2, -0.2, 0 }, /* the same difference to softmax with every seed */
          { 0.2, -0.2, 0.003 },
          "inconclusive",
          OA_CLAIM_INCONCLUSIVE,
          { 2, 0, 1 } },
        { { 0.2, 0, 0 }, /* dense is softmax, so random has the same difference to both */
          { 0.2, 0.001, 0.003 },
          "inconclusive",
          OA_CLAIM_INCONCLUSIVE,
          { 1, 0, 2 } },
        /* t = 4.40 of random and softmax: significant among three pairs, t(1 - 0.05/6, 4) = 3.96,
         * and not among those of both comparisons, t(1 - 0.05/12, 4) = 4.85 */
        { { 0.2, 0.5, 0.0994 },
          { 0.2, 0.5, 0.0994 },
          "inconclusive",
          OA_CLAIM_INCONCLUSIVE,
          { 2, 0, 1 } },
    };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "ranking @ small same as ranking @ large", VARIANTS), OA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        keep("small", ranked(cases[i].small));
        keep("large", ranked(cases[i].large));
        assert_int_equal(judge(&e, &j), OA_OK);
        if (j.verdict != cases[i].verdict ||
            memcmp(&j.findings[0].ranking, &cases[i].pairs, sizeof cases[i].pairs) != 0)
            fail_msg("case %zu: %s, %d alike, %d opposed, %d open", i,
                     oa_claim_verdict_words(j.verdict), j.findings[0].ranking.alike,
                     j.findings[0].ranking.opposed, j.findings[0].ranking.open);
        assert_string_equal(oa_finding_words(&j, &j.findings[0]), cases[i].says);
        oa_judged_free(&j);
    }
    oa_experiment_free(&e);
}

/* Before both comparisons have ended there is nothing to rank; a ranking is one member of the
 * family. */
static void rankings_wait(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(
        read_claim(
            &e, "ranking @ small same as ranking @ large, random @ small worse than random @ large",
            VARIANTS),
        OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    assert_int_equal(system("rm -f " FOLDER "/large.json"), 0);
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(oa_judged_count(&j, OA_CLAIM_NOT_RUN), 2);
    assert_string_equal(oa_finding_words(&j, &j.findings[0]), "");
    oa_judged_free(&j);
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_HOLDS);
    near(j.findings[1].against.adjusted, 0.0007071160146643912);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* ---- stability along an axis ---- */

/* The first `failed` of six seeds fail, the others end at the loss. */
static void six(double loss, int failed, double out[6])
{
    for (int i = 0; i < 6; i++)
        out[i] = i < failed ? NAN : loss + 0.01 * i;
}

/* At the second place softmax and random fail with so many seeds; the first place has 2 and 2.1. Of
 * the sign test: 2/64 with six seeds, 2/32 with five. */
static void stability_along_the_axis(void **state)
{
    static const struct {
        int softmax, random;
        double random_loss;
        const char *says;
        enum oa_claim_verdict verdict;
        double left, right;
    } cases[] = {
        { 0, 0, 2, "limits outside the axis", OA_CLAIM_UNTESTABLE, 64, 64 },
        { 6, 6, 2, "the same limits", OA_CLAIM_HOLDS, 32, 32 },
        { 6, 0, 3, "the same limits", OA_CLAIM_HOLDS, 32, 32 }, /* ends, and has not learned */
        { 1, 1, 2, "the same limits", OA_CLAIM_HOLDS, 32, 32 },
        { 0, 6, 2, "other limits", OA_CLAIM_FAILS, 64, 32 },
        { 6, 0, 2, "other limits", OA_CLAIM_FAILS, 32, 64 },
        { 0, 5, 2, "inconclusive", OA_CLAIM_INCONCLUSIVE, 64, 32 },
    };
    struct oa_experiment e;
    struct oa_judged j;
    double softmax[6], random[6], uniform[6];
    (void)state;
    assert_int_equal(read_claim(&e, "softmax as stable as random", VARIANTS), OA_OK);
    six(2.5, 0, uniform);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        six(2, 0, softmax);
        six(2.1, 0, random);
        keep("small", record_of_four(softmax, random, random, uniform, 6));
        six(1.9, cases[i].softmax, softmax);
        six(cases[i].random_loss, cases[i].random, random);
        keep("large", record_of_four(softmax, random, random, uniform, 6));
        assert_int_equal(judge(&e, &j), OA_OK);
        assert_int_equal(j.count, 1);
        if (j.verdict != cases[i].verdict)
            fail_msg("case %zu: %s", i, oa_claim_verdict_words(j.verdict));
        assert_string_equal(oa_finding_words(&j, &j.findings[0]), cases[i].says);
        near(j.findings[0].stability.left_limit, cases[i].left);
        near(j.findings[0].stability.right_limit, cases[i].right);
        if (cases[i].random == 5) {
            struct oa_text text;
            oa_text_init(&text, context);
            oa_evidence_markdown(&j, 1, "charts", &text);
            assert_non_null(
                strstr(text.s, "| up to 64.0 against 32.0; of 6 seeds 5 further, 0 less far |"));
            oa_text_free(&text);
        }
        oa_judged_free(&j);
    }
    six(2, 1, softmax); /* fails at the first place */
    keep("small", record_of_four(softmax, random, random, uniform, 6));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_string_equal(oa_finding_words(&j, &j.findings[0]), "limits outside the axis");
    oa_judged_free(&j);
    assert_int_equal(system("rm " FOLDER "/large.json"), 0);
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_NOT_RUN); /* before all places have ended */
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* ---- retained shares ---- */

static void shares_are_judged(void **state)
{
    static const struct {
        const char *prediction, *says;
        enum oa_claim_verdict verdict;
    } cases[] = { { "random keeps at least 0.6", "at least as much", OA_CLAIM_HOLDS },
                  { "random keeps at least 0.7", "inconclusive", OA_CLAIM_INCONCLUSIVE },
                  { "random keeps at least 0.8", "less", OA_CLAIM_FAILS },
                  { "dense keeps at least 0.975", "at least as much", OA_CLAIM_HOLDS } };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("comparison", record_of(small_softmax, small_random, 5));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_claim(&e, cases[i].prediction, ""), OA_OK);
        assert_int_equal(judge(&e, &j), OA_OK);
        if (j.verdict != cases[i].verdict)
            fail_msg("%s: %s", cases[i].prediction, oa_claim_verdict_words(j.verdict));
        assert_string_equal(oa_finding_words(&j, &j.findings[0]), cases[i].says);
        oa_judged_free(&j);
        oa_experiment_free(&e);
    }
    assert_int_equal(read_claim(&e, "random keeps at least 0.6", ""), OA_OK);
    assert_int_equal(judge(&e, &j), OA_OK);
    near(j.findings[0].share.value, 0.7094017094017093);
    near(j.findings[0].share.low, 0.6670947856631169);
    near(j.findings[0].share.high, 0.7510635731123312);
    oa_judged_free(&j);
    oa_experiment_free(&e);
    assert_int_equal(read_claim(&e,
                                "random keeps at least 0.65, random worse than softmax, dense "
                                "keeps at least 0.97",
                                ""),
                     OA_OK);
    assert_int_equal(judge(&e, &j), OA_OK); /* three in the family: wider */
    near(j.findings[0].share.low, 0.6488181534565514);
    near(j.findings[0].share.high, 0.768671143809514);
    near(j.findings[2].share.low, 0.9748390863860982);
    assert_int_equal(j.findings[0].verdict, OA_CLAIM_INCONCLUSIVE);
    assert_int_equal(j.findings[2].verdict, OA_CLAIM_HOLDS);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static void shares_that_cannot_be_judged(void **state)
{
    static const double failed[] = { 2.10, 2.15, NAN, 2.18, 2.11 };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random keeps at least 0.6", ""), OA_OK);
    json_t *records[] = { blind(), record_of(small_softmax, failed, 5),
                          record_of(small_softmax, small_random, 1) };
    static const char *const says[] = { "not bounded", "not testable", "not testable" };
    for (int i = 0; i < 3; i++) {
        keep("comparison", records[i]);
        assert_int_equal(judge(&e, &j), OA_OK);
        assert_int_equal(j.verdict, OA_CLAIM_UNTESTABLE);
        assert_string_equal(oa_finding_words(&j, &j.findings[0]), says[i]);
        oa_judged_free(&j);
    }
    oa_experiment_free(&e);
}

/* Without a baseline the share is of what softmax gains; scores that are better when they are
 * higher give the same one. */
static void shares_of_scores(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    json_t *record = record_of(small_softmax, small_random, 5);
    size_t i, r;
    json_t *one, *run;
    json_array_foreach(json_object_get(record, "entries"), i, one)
    {
        json_array_foreach(json_object_get(one, "runs"), r, run)
        {
            double loss = json_number_value(json_object_get(run, "valid_loss"));
            json_object_set_new(run, "scores", json_pack("{s:f}", "accuracy", 100 - 10 * loss));
        }
    }
    json_object_set_new(record, "baseline", json_null());
    json_object_set_new(record, "metric", json_string("accuracy"));
    json_object_set_new(record, "measures",
                        json_pack("[{s:s, s:s, s:i, s:b}]", "name", "accuracy", "unit", "%",
                                  "decimals", 2, "higher_is_better", 1));
    keep("comparison", record);
    assert_int_equal(read_claim(&e, "random keeps at least 0.6", ""), OA_OK);
    assert_int_equal(judge(&e, &j), OA_OK);
    near(j.findings[0].share.low, 0.6670947856631169);
    near(j.findings[0].share.high, 0.7510635731123312);
    struct oa_judged twice[] = { j, j }; /* every experiment has its lines: 4 attentions, 5 seeds */
    struct oa_text csv;
    int lines = 0;
    oa_text_init(&csv, context);
    oa_evidence_csv(twice, 2, &csv);
    assert_non_null(strstr(csv.s, ",softmax,1,accuracy,81,1.8999999999999999\n"));
    for (const char *p = csv.s; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 1 + 2 * 4 * 5);
    oa_text_free(&csv);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* ---- what is refused ---- */

static void change(const char *name, const char *remove, const char *key, json_t *value)
{
    json_t *object;
    assert_int_equal(oa_checksummed_read(context, name, "", &object), OA_OK);
    json_object_del(object, remove);
    json_object_set_new(object, key, value);
    assert_int_equal(oa_checksummed_write(context, name, object), OA_OK);
    json_decref(object);
}

static void wrong_predictions_are_refused(void **state)
{
    static const struct {
        const char *predicts, *more, *says;
    } cases[] = {
        { "linear better than softmax", "",
          "\"linear\" is not in the comparison: compare.attentions does not" },
        { "random beats softmax", "", "\"random beats softmax\" is not a prediction" },
        { "random @ small better than softmax", VARIANTS, "only one side names a variant" },
        { "random @ tiny better than softmax @ small", VARIANTS,
          "there is no variant named \"tiny\"" },
        { "random @ comparison better than softmax @ comparison", "",
          "there is no variant named \"comparison\"" },
        { "random better than random", "", "\"random\" is on both sides" },
        { "random as good as floor", "", "floor has no margin" },
        { "nothing better than softmax", "", "nothing" },
        { "softmax @ small faster than softmax @ large", VARIANTS,
          "name the same variant on both sides" },
        { "ranking same as ranking", "", "write ranking @ ONE same as ranking @ ANOTHER" },
        { "ranking @ small same as ranking @ small", VARIANTS, "\"ranking\" is on both sides" },
        { "ranking @ small better than ranking @ large", VARIANTS, "write ranking @ ONE" },
        { "ranking @ small same as softmax @ large", VARIANTS, "write ranking @ ONE" },
        { "softmax @ small same as softmax @ large", VARIANTS, "write ranking @ ONE" },
        { "random worse than softmax, random worse than softmax", "",
          "\"random worse than softmax\" repeats" },
        { "random worse than softmax, softmax better than random", "",
          "repeats \"random worse than softmax\"" },
        { "random worse than softmax, random better than softmax", "", "cannot both hold" },
        { "random as good as softmax, softmax as good as random", "", "repeats" },
        { "random as good as softmax, softmax better than random", "", "cannot both hold" },
        { "random at least as good as softmax, softmax better than random", "",
          "cannot both hold" },
        { "random faster than softmax, softmax faster than random", "", "cannot both hold" },
        { "random worse than softmax, random @ small better than softmax @ small", VARIANTS,
          "cannot both hold" },
        { "random @ small worse than softmax @ small, random worse than softmax", VARIANTS,
          "repeats" },
        { "random @ small worse than random @ large, random @ large better than random @ small",
          VARIANTS, "repeats" },
        { "ranking @ small same as ranking @ large, ranking @ large same as ranking @ small",
          VARIANTS, "repeats" },
        { "random worse than softmax", "  proof: none\n",
          "the section claim: unknown key \"proof\"; known keys: title, question, source, scale, "
          "published, data, predicts, variants, axis" },
        { "random worse than softmax", "  variants: [{name: a, set: {model.widht: 3}}]\n",
          ":9: unknown option" },
        { "random worse than softmax", "  variants: [{name: a/b, set: {model.width: 32}}]\n",
          "needs a name" },
        { "random worse than softmax",
          "  variants: [{name: a, set: {model.width: 32}}, {name: a, set: {}}]\n",
          "two variants are named a" },
        { "random @ a worse than random @ b",
          "  variants: [{name: a, set: {compare.margin: 0.1}}, {name: b, set: {model.width: "
          "32}}]\n",
          "need the same compare.margin" },
        { "random as stable as softmax", "", "whose `at` on the axis must rise" },
        { "random @ small as stable as softmax @ small", VARIANTS, "name none of them" },
        { "random as stable as softmax, softmax as stable as random", VARIANTS, "repeats" },
        { "random keeps at least much", "", "\"much\" is not a share; write a number" },
        { "random keeps at least 0.8 of it", "", "\"0.8 of it\" is not a share" },
        { "softmax keeps at least 0.8", "", "the share of \"softmax\" is 1 or 0 by definition" },
        { "floor keeps at least 0.8", "", "the share of \"floor\" is 1 or 0 by definition" },
        { "ranking keeps at least 0.8", "", "a ranking keeps no share" },
        { "linear keeps at least 0.8", "", "\"linear\" is not in the comparison" },
        { "random keeps at least 0.8, random keeps at least 0.80", "", "repeats" },
        { "random keeps at least 0.8",
          "  variants: [{name: a, set: {compare.uniform_baseline: no}}]\n",
          "needs the uniform baseline" },
        { "random keeps at least 0.8",
          "  variants: [{name: a, set: {compare.baseline: '', compare.attentions: [random, "
          "dense]}}]\n",
          "name a baseline or add softmax" },
        { "random as good as softmax", "  variants: [{name: a, set: {compare.margin: 0}}]\n",
          "needs compare.margin" },
        { "random worse than softmax", STARTING("from: c", ""),
          ":9: variant b starts from \"c\", which is not the name of an earlier" },
        { "random worse than softmax", STARTING("from: b", ""),
          "variant b starts from \"b\", which is not the name of an earlier" },
        { "random worse than softmax", STARTING("from: a", "train.init: there"),
          "b starts from a, so it cannot set train" },
        { "random worse than softmax",
          STARTING("from: a", "compare.attentions: [softmax, random, linear]"),
          "variant b starts from a, which does not contain \"linear\"" },
        { "random worse than softmax",
          "  variants: [{name: a, set: {compare.uniform_baseline: no}}, {name: b, from: a, set: "
          "{model.width: "
          "32}}]\n",
          "variant b starts from a, which has no uniform baseline" },
    };
    struct oa_experiment e;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_not_equal(read_claim(&e, cases[i].predicts, cases[i].more), OA_OK);
        expect_error(OA_ARGUMENT, cases[i].says);
        oa_experiment_free(&e);
    }
}

static void predictions_beside_each_other(void **state)
{
    struct oa_experiment e;
    (void)state;
    assert_int_equal(
        read_claim(
            &e,
            "random worse than softmax, dense   worse   than softmax, random faster than softmax, "
            "softmax @ small better than random @ large, softmax @ large better than random @ "
            "small, dense at least as good as random, dense better than random",
            VARIANTS),
        OA_OK);
    assert_int_equal(e.prediction_count, 7);
    oa_experiment_free(&e);
}

static void changes_after_the_declaration_are_refused(void **state)
{
    struct oa_experiment e;
    struct oa_declared declared;
    (void)state;
    assert_int_equal(system("rm -f " FOLDER "/declared.json"), 0);
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    assert_int_equal(oa_declared_check(context, &e, FOLDER, &declared), OA_OK);
    assert_string_equal(declared.date, "");
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_OK);
    assert_int_equal(oa_declared_check(context, &e, FOLDER, &declared), OA_OK);
    assert_int_equal(strlen(declared.date), 10);
    assert_int_equal(json_array_size(declared.changed), 0);
    json_decref(declared.changed);
    e.variants[0].options.compare_max_seeds = 99; /* says how long to go on */
    e.variants[0].options.compare_ranks = 2;      /* what makes the runs */
    e.variants[0].options.cluster_timeout = 30;
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_OK);
    change(FOLDER "/declared.json", "",
           "variants", /* as it was, and by a version that had it otherwise */
           json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:s}}", OA_ONLY_VARIANT_FORMER, "compare.seeds",
                     "5", "compare.baseline", "softmax", "compare.margin", "0.05",
                     "compare.attentions", "softmax\nrandom\ndense", "data.train",
                     "absent/text.txt", "cluster.timeout", "90"));
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_OK);
    e.variants[0].options.compare_margin = 0.2;
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_ARGUMENT);
    expect_error(
        OA_ARGUMENT,
        "compare.margin of the comparison was declared as 0.05 before the runs, and now it is 0.2");
    oa_experiment_free(&e);
    assert_int_equal(read_claim(&e, "random better than softmax", ""), OA_OK);
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "prediction 1 was declared as \"random worse than softmax\"");
    oa_experiment_free(&e);
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    snprintf(e.variants[0].options.compare_attentions, OA_OPTION_TEXT, "random\nsoftmax");
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "compare.attentions of the comparison was declared as softmax, "
                              "random, dense before the runs, and now it is random, softmax");
    oa_experiment_free(&e);
}

static void declare_init(const char *value)
{
    json_t *object;
    assert_int_equal(oa_checksummed_read(context, FOLDER "/declared.json", "", &object), OA_OK);
    json_t *options = json_object_get(json_object_get(object, "variants"), "b");
    assert_int_equal(json_object_set_new(options, "train.init", json_string(value)), 0);
    assert_int_equal(oa_checksummed_write(context, FOLDER "/declared.json", object), OA_OK);
    json_decref(object);
}

/* What starts from what is declared, too; and nothing but that is there where nothing starts from
 * anything. */
static void what_starts_from_what_is_declared(void **state)
{
    struct oa_experiment e;
    char *text;
    size_t length;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", STARTING("from: a", "")), OA_OK);
    assert_int_equal(e.variants[0].from, -1);
    assert_int_equal(e.variants[1].from, 0);
    assert_int_equal(system("rm -f " FOLDER "/declared.json"), 0);
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_OK);
    assert_int_equal(oa_file_read(context, FOLDER "/declared.json", &text, &length), OA_OK);
    assert_int_equal(strstr(text, "\"train.init\":\"the comparison a\"") != NULL, 1);
    oa_free(text);
    declare_init("the contest a");
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_OK); /* as older versions had it */
    e.variants[1].from = -1;
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "train.init of the comparison b was declared as the comparison a "
                              "before the runs, and now it is its default");
    assert_int_equal(system("rm " FOLDER "/declared.json"), 0);
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_OK);
    assert_int_equal(oa_file_read(context, FOLDER "/declared.json", &text, &length), OA_OK);
    assert_null(strstr(text, "train.init"));
    oa_free(text);
    oa_experiment_free(&e);
}

static void missing_data_are_said(void **state)
{
    struct oa_experiment e;
    struct oa_options o;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    assert_int_equal(oa_variant_options(context, &e, &e.variants[0], "/there", &o), OA_IO);
    expect_error(OA_IO, "/there/absent/text.txt does not exist. It needs Some text: from somewhere "
                        "(licence: free)");
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

/* ---- when is a comparison at its end ---- */

static void complete_comparisons(void **state)
{
    static const struct {
        const char *record;
        long seeds, most;
        bool complete;
    } cases[] = {
        { "{\"seeds\": 5, \"until_resolved\": null}", 5, 30, true },
        { "{\"seeds\": 4, \"until_resolved\": null}", 5, 30, false },
        { "{\"seeds\": 7, \"until_resolved\": {\"ending\": \"resolved\"}}", 5, 30, true },
        { "{\"seeds\": 9, \"until_resolved\": {\"ending\": \"seeds used up\"}}", 5, 30, false },
        { "{\"seeds\": 9, \"until_resolved\": {\"ending\": \"seeds used up\"}}", 5, 9, true },
        { "{\"seeds\": 9, \"until_resolved\": {\"ending\": \"budget used up\"}}", 5, 9, false }
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_options o = { .compare_seeds = cases[i].seeds,
                                .compare_max_seeds = cases[i].most };
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
    assert_int_equal(
        read_claim(&e, "random worse than softmax, random @ small worse than random @ large",
                   VARIANTS),
        OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_text_init(&text, context);
    oa_evidence_markdown(&j, 1, "charts", &text);
    has(&text, "| A \\<claim\\> \\| with marks (`evidence-test`) | holds here | 2 hold of 2 | 2 of "
               "2 | 80.0 s |");
    has(&text, "| random worse than softmax | small | +0.2040 ±0.0408 nats a token | worse, p "
               "0.00011 | holds here |");
    has(&text, "| random @ small worse than random @ large | small, large | +0.1160 ±0.0408 nats a "
               "token | worse, p 0.0011 | holds here |");
    has(&text, "| small | random | – | +0.2040 ±0.0286 | −0.4980 ±0.0366 | 5 |");
    has(&text, "Data: Some text; from somewhere; licence: free.");
    has(&text, "`small`: model.width = 32; `large`: model.width = 64");
    has(&text, "Cost, tuning included: 40 runs, 80.0 s of processor time, 40.0GFLOPs.");
    has(&text, "](charts/evidence-test.svg)");
    has(&text, "](charts/evidence-test-over.svg)");
    oa_text_cut(&text, 0);
    assert_true(oa_evidence_intervals(&j, &text));
    has(&text, "holds here");
    has(&text, "+0.1160 ±0.0408");
    assert_null(strstr(text.s, "<claim>"));
    oa_text_free(&text);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
        n++;
    return n;
}

/* The middle of the n-th text whose content is `part`. */
static double middle_of(const char *svg, const char *part, int n)
{
    const char *p = strstr(svg, part);
    while (n-- > 0 && p)
        p = strstr(p + 1, part);
    assert_non_null(p);
    while (p > svg && strncmp(p, "<text", 5) != 0)
        p--;
    const char *x = strstr(p, " x=\"");
    assert_non_null(x);
    return strtod(x + 4, NULL);
}

static void cells_are_in_their_columns(const char *svg)
{
    double small = middle_of(svg, ">small<", 0), large = middle_of(svg, ">large<", 0);
    assert_true(small < large);
    near(middle_of(svg, ">71 %<", 0), small);
    near(middle_of(svg, ">–<", 0), large);
    near(middle_of(svg, ">99 %<", 0), small);
    near(middle_of(svg, ">99 %<", 1), large);
}

/* Ratios and ends computed apart from the definition (numpy 2, scipy's t). */
static void a_map_has_retained_shares(void **state)
{
    static const double diverged[] = { 2.10, 2.15, NAN, 2.18, 2.11 };
    struct oa_experiment e;
    struct oa_judged j;
    struct oa_text text;
    (void)state;
    assert_int_equal(
        read_claim(
            &e, "random @ small worse than softmax @ small",
            "  variants: [{name: small, set: {model.width: 32}}, {name: large, set: {model.width: "
            "64}}, {name: never, set: {model.width: 96}}]\n"),
        OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    keep("large", record_of(large_softmax, diverged, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_text_init(&text, context);
    assert_true(oa_evidence_map(&j, &text));
    assert_int_equal(count_of(text.s, ">100 %<"), 2); /* softmax, of itself */
    has(&text, ">71 %<");
    has(&text, ">67 to 75<");
    assert_int_equal(count_of(text.s, ">99 %<"), 2); /* dense */
    assert_int_equal(count_of(text.s, ">98 to 99<"), 2);
    has(&text, "fill-opacity:0.35");
    assert_int_equal(count_of(text.s, ">–<"), 1); /* random, which diverged */
    has(&text, ">not run yet: never<");
    cells_are_in_their_columns(text.s);
    oa_text_cut(&text, 0);
    oa_evidence_markdown(&j, 1, "charts", &text);
    has(&text, "![Retained shares](charts/evidence-test-map.svg)");
    oa_text_cut(&text, 0);
    oa_evidence_csv(&j, 1, &text);
    has(&text, "experiment,comparison,attention,seed,metric,score,loss\n"
               "evidence-test,small,softmax,1,loss,1.8999999999999999,1.8999999999999999\n");
    has(&text, "evidence-test,large,random,3,loss,,\n");
    has(&text, "evidence-test,small,floor,2,loss,2.6600000000000001,2.6600000000000001\n");
    assert_int_equal(count_of(text.s, "\n"), 1 + 2 * 4 * 5);
    json_t *root = oa_evidence_json(&j, 1),
           *all = json_object_get(json_array_get(json_object_get(root, "experiments"), 0),
                                  "comparisons"),
           *small = json_object_get(json_array_get(all, 0), "entries"),
           *large = json_object_get(json_array_get(all, 1), "entries");
    json_t *share = json_object_get(json_array_get(small, 1), "retained");
    near(json_number_value(json_object_get(share, "value")), 0.7094017094017093);
    near(json_number_value(json_object_get(share, "low")), 0.6670947856631156);
    near(json_number_value(json_object_get(share, "high")), 0.7510635731123323);
    assert_int_equal(json_integer_value(json_object_get(share, "n")), 5);
    assert_true(json_is_null(json_object_get(json_array_get(large, 1), "retained")));
    assert_true(json_is_null(json_object_get(json_array_get(small, 3), "retained")));
    json_decref(root);
    oa_text_free(&text);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* A gain with p = 0.04 alone and 0.12 in the family of three: no cell has a share, and neither has
 * the JSON. With fewer seeds than a verdict takes the family does not judge it. */
static void a_map_has_no_share_of_an_insignificant_gain(void **state)
{
    static const double softmax[] = { 2.598, 2.633, 2.549, 2.624, 2.592 },
                        few[] = { 2.59, 2.63, 2.565, 2.6 };
    struct oa_fieller share;
    (void)state;
    json_t *record = record_of(softmax, small_random, 5);
    assert_false(oa_evidence_share(record, "dense", &share));
    assert_int_equal(share.form, OA_FIELLER_BOUNDED);
    json_object_set_new(record, "family", json_pack("{s:i}", "comparisons", 1));
    assert_true(oa_evidence_share(record, "dense", &share));
    json_decref(record);
    record = record_of(few, small_random, 4);
    assert_true(oa_evidence_share(record, "dense", &share));
    json_decref(record);
}

/* An axis, one comparison, or none that ended. */
static void a_map_needs_tasks(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    struct oa_text text;
    (void)state;
    oa_text_init(&text, context);
    assert_int_equal(read_claim(&e, "random worse than softmax", VARIANTS), OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_false(oa_evidence_map(&j, &text));
    oa_judged_free(&j);
    oa_experiment_free(&e);
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    keep(e.variants[0].name, record_of(small_softmax, small_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_false(oa_evidence_map(&j, &text));
    oa_judged_free(&j);
    oa_experiment_free(&e);
    assert_int_equal(
        read_claim(&e, "random @ small worse than softmax @ small",
                   "  variants: [{name: small, set: {model.width: 32}}, {name: large, set: "
                   "{compare.attentions: [softmax, random, dense, linear]}}]\n"),
        OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_false(oa_evidence_map(&j, &text));
    oa_judged_free(&j);
    oa_experiment_free(&e);
    assert_int_equal(text.length, 0);
    oa_text_free(&text);
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
    has(&text, "- random worse than softmax\n\n"
               "Run it with `orthant evidence evidence-test --data FOLDER`.");
    assert_null(strstr(text.s, ".svg"));
    assert_false(oa_evidence_intervals(&j, &text));
    json_t *root = oa_evidence_json(&j, 1);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(root, "experiments"), 0), "verdict")),
                        "not run");
    json_decref(root);
    oa_text_free(&text);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static void pages_say_speeds_and_orders(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    struct oa_text text;
    (void)state;
    assert_int_equal(
        read_claim(
            &e,
            "softmax @ small faster than random @ small, ranking @ small same as ranking @ large",
            VARIANTS),
        OA_OK);
    keep("small", timed(7));
    keep("large", ranked((struct arms){ -0.2, 0.01, 0.003 }));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_text_init(&text, context);
    oa_evidence_markdown(&j, 1, "charts", &text);
    has(&text, "| softmax @ small faster than random @ small | small | 1.44 times as fast (1.42 to "
               "1.47) | faster | holds here |");
    has(&text, "| ranking @ small same as ranking @ large | small, large | pairs: 1 alike, 2 "
               "opposed, 0 inconclusive | another order | fails here |");
    assert_null(strstr(text.s, "](charts/evidence-test.svg)")); /* no differences to draw */
    json_t *root = oa_evidence_json(&j, 1);
    const json_t *list =
        json_object_get(json_array_get(json_object_get(root, "experiments"), 0), "predictions");
    const json_t *first = json_array_get(json_object_get(json_array_get(list, 0), "findings"), 0);
    const json_t *second = json_array_get(json_object_get(json_array_get(list, 1), "findings"), 0);
    near(json_number_value(json_object_get(json_object_get(first, "speed"), "low")),
         1.4200913242009132);
    assert_string_equal(json_string_value(json_object_get(first, "found")), "faster");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(second, "pairs"), "opposed")), 2);
    assert_null(json_object_get(second, "speed"));
    json_decref(root);
    oa_text_free(&text);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

static void pages_say_shares(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    struct oa_text text;
    (void)state;
    assert_int_equal(read_claim(&e, "random keeps at least 0.6, random worse than softmax", ""),
                     OA_OK);
    keep("comparison", record_of(small_softmax, small_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_text_init(&text, context);
    oa_evidence_markdown(&j, 1, "charts", &text);
    has(&text, "| random keeps at least 0.6 |  | keeps 0.71 (0.66 to 0.76) | at least as much | "
               "holds here |");
    json_t *root = oa_evidence_json(&j, 1);
    const json_t *list =
        json_object_get(json_array_get(json_object_get(root, "experiments"), 0), "predictions");
    const json_t *first = json_array_get(json_object_get(json_array_get(list, 0), "findings"), 0);
    const json_t *second = json_array_get(json_object_get(json_array_get(list, 1), "findings"), 0);
    near(json_number_value(json_object_get(json_object_get(first, "retained"), "value")),
         0.7094017094017093);
    assert_true(json_is_null(json_object_get(first, "interval")));
    const json_t *interval = json_object_get(second, "interval");
    near(json_number_value(json_object_get(interval, "confidence")), 0.975);
    near(json_number_value(json_object_get(interval, "high")), 0.204 + 0.035987406673801126);
    near(json_number_value(json_object_get(second, "p_adjusted")), 2 * 3.827396659498181e-05);
    json_decref(root);
    oa_text_free(&text);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* Where comparisons are about different things, it is said which about which; and what starts from
 * what. */
static void pages_say_what_starts_from_what(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    struct oa_text text;
    (void)state;
    assert_int_equal(
        read_claim(&e, "random @ b worse than softmax @ b, softmax @ b better than softmax @ c",
                   "  variants: [{name: a, set: {data.task: mlm, compare.margin: 0.3}}, {name: b, "
                   "from: a, set: {}}, {name: c, set: {}}]\n"),
        OA_OK); /* what is compared with no other may have a margin of its own */
    keep("a", record_of(small_softmax, small_random, 5));
    json_t *accuracy = record_of(large_softmax, large_random, 5);
    json_object_set_new(accuracy, "metric", json_string("accuracy"));
    json_object_set_new(accuracy, "measures",
                        json_pack("[{s:s, s:s, s:b, s:i}]", "name", "accuracy", "unit", "%",
                                  "higher_is_better", 1, "decimals", 2));
    keep("b", accuracy);
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_text_init(&text, context);
    oa_evidence_markdown(&j, 1, "charts", &text);
    has(&text, "Comparisons: `a`: data.task = mlm, compare.margin = 0.3; `b`: runs start from "
               "those of `a`; `c`: .");
    has(&text,
        "Scores: `a`: loss, differences in nats a token, lower is better; `b`: accuracy, "
        "differences in % points, higher is better; ±: half-width of the 95 % interval over the "
        "seeds, of each number alone; the predictions above are judged by wider, simultaneous "
        "ones.\n");
    oa_text_free(&text);
    json_t *root = oa_evidence_json(&j, 1),
           *comparisons = json_object_get(json_array_get(json_object_get(root, "experiments"), 0),
                                          "comparisons");
    assert_true(json_is_null(json_object_get(json_array_get(comparisons, 0), "from")));
    assert_string_equal(json_string_value(json_object_get(json_array_get(comparisons, 1), "from")),
                        "a");
    json_decref(root);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* Files of versions that named the only comparison of an experiment "contest"; what is written is
 * named as today, and next to a file of today an earlier one is not read. */
static void former_names_are_read(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    char at[OA_PATH];
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    assert_int_equal(system("rm -f " FOLDER "/comparison.json"), 0);
    keep("contest", record_of(small_softmax, small_random, 5));
    strcpy(e.variants[0].name,
           OA_ONLY_VARIANT_FORMER); /* claim() writes to the file of this name */
    assert_int_equal(system("rm -f " FOLDER "/declared.json"), 0);
    assert_int_equal(oa_declare(context, &e, FOLDER, FOLDER), OA_OK);
    claim(&e, &e.variants[0]);
    change(FOLDER "/contest.json", "", "variant", json_string(OA_ONLY_VARIANT_FORMER));
    strcpy(e.variants[0].name, OA_ONLY_VARIANT);
    assert_int_equal(oa_variant_path(context, FOLDER, &e.variants[0], ".json", at), OA_OK);
    assert_string_equal(at, FOLDER "/contest.json");
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_HOLDS);
    json_t *root = oa_evidence_json(&j, 1);
    char *dumped = json_dumps(root, 0);
    assert_null(strstr(dumped, "contest"));
    free(dumped);
    json_decref(root);
    oa_judged_free(&j);
    keep("comparison", record_of(small_softmax, small_random, 5));
    assert_int_equal(oa_variant_path(context, FOLDER, &e.variants[0], ".json", at), OA_OK);
    assert_string_equal(at, FOLDER "/comparison.json");
    assert_int_equal(system("rm -f " FOLDER "/contest.json " FOLDER "/comparison.json"), 0);
    oa_experiment_free(&e);
    assert_int_equal(read_claim(&e, "random worse than softmax", VARIANTS), OA_OK);
    keep("small", record_of(small_softmax, small_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_judged_free(&j);
    change(FOLDER "/small.json", "", "variant", json_string(OA_ONLY_VARIANT_FORMER));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_FORMAT);
    expect_error(OA_FORMAT, "small.json belongs to the comparison contest");
    oa_judged_free(&j);
    assert_int_equal(system("rm -f " FOLDER "/small.json"), 0);
    oa_experiment_free(&e);
}

/* A record whose numbers were edited is not judged. */
static void edited_records_are_refused(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    keep("comparison", record_of(small_softmax, small_random, 5));
    assert_int_equal(system("sed -i 's/2.18/2.19/' " FOLDER "/comparison.json"), 0);
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_FORMAT);
    expect_error(OA_FORMAT, "comparison.json was changed after it was written");
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* Declarations once had no digests of the data, and records did not say their declaration: of these
 * the dates tell. */
static void records_of_older_versions(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    keep("comparison", record_of(small_softmax, small_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_judged_free(&j);
    change(FOLDER "/comparison.json", "declared", "machine",
           json_pack("{s:s}", "date", "2026-11-20T05:45:18Z"));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j),
                     OA_FORMAT); /* the declaration is of this version */
    expect_error(OA_FORMAT, "comparison.json does not belong to the declared.json next to it");
    oa_judged_free(&j);
    change(FOLDER "/declared.json", "data", "date", json_string("2026-11-20"));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    oa_judged_free(&j);
    change(FOLDER "/declared.json", "data", "date", json_string("2026-11-21"));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_FORMAT);
    expect_error(OA_FORMAT, "comparison.json does not belong to");
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* Options are held against those that were declared, whatever folder the files are in, but for
 * those that are tuned. */
static void records_are_of_the_declared_options(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax",
                                "  variants: [{name: a, set: {data.train: 'one.txt,two.txt', "
                                "compare.tune: \"train.lr=1e-3,3e-3\"}}]\n"),
                     OA_OK);
    keep("a", record_of(small_softmax, small_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_judged_free(&j);
    static const struct {
        const char *section, *name, *value;
        enum oa_error code;
    } cases[] = { { "data", "train", "\"there/one.txt,/else/two.txt\"", OA_OK },
                  { "data", "train", "\"there/one.txt\"", OA_FORMAT },
                  { "data", "train", "\"one.txt,stwo.txt\"", OA_FORMAT },
                  { "data", "train", "\"one.txt,two.txt\"", OA_OK },
                  { "train", "lr", "0.5", OA_OK },
                  { "compare", "jobs", "3", OA_OK },
                  { "train", "steps", "7", OA_FORMAT },
                  { "train", "steps", "null", OA_FORMAT } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *record, *value = json_loads(cases[i].value, JSON_DECODE_ANY, NULL);
        assert_int_equal(oa_checksummed_read(context, FOLDER "/a.json", "", &record), OA_OK);
        json_object_set_new(json_object_get(json_object_get(record, "options"), cases[i].section),
                            cases[i].name, value);
        assert_int_equal(oa_checksummed_write(context, FOLDER "/a.json", record), OA_OK);
        json_decref(record);
        if (oa_judge(context, &e, FOLDER, &j) != cases[i].code)
            fail_msg("case %zu", i);
        if (cases[i].code != OA_OK)
            expect_error(OA_FORMAT, "a.json: its comparison has another");
        oa_judged_free(&j);
    }
    oa_experiment_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_relations),
        cmocka_unit_test_setup_teardown(within_a_comparison, open_all, close_all),
        cmocka_unit_test_setup_teardown(without_an_effect_nothing_is_equal, open_all, close_all),
        cmocka_unit_test_setup_teardown(between_comparisons, open_all, close_all),
        cmocka_unit_test_setup_teardown(seeds_are_paired, open_all, close_all),
        cmocka_unit_test_setup_teardown(directions_between_comparisons, open_all, close_all),
        cmocka_unit_test_setup_teardown(equal_at_the_best_score, open_all, close_all),
        cmocka_unit_test_setup_teardown(one_that_fails_decides, open_all, close_all),
        cmocka_unit_test_setup_teardown(speeds_by_rounds, open_all, close_all),
        cmocka_unit_test_setup_teardown(speeds_need_rounds, open_all, close_all),
        cmocka_unit_test_setup_teardown(rankings, open_all, close_all),
        cmocka_unit_test_setup_teardown(rankings_wait, open_all, close_all),
        cmocka_unit_test_setup_teardown(stability_along_the_axis, open_all, close_all),
        cmocka_unit_test_setup_teardown(shares_are_judged, open_all, close_all),
        cmocka_unit_test_setup_teardown(shares_that_cannot_be_judged, open_all, close_all),
        cmocka_unit_test_setup_teardown(shares_of_scores, open_all, close_all),
        cmocka_unit_test_setup_teardown(wrong_predictions_are_refused, open_all, close_all),
        cmocka_unit_test_setup_teardown(predictions_beside_each_other, open_all, close_all),
        cmocka_unit_test_setup_teardown(changes_after_the_declaration_are_refused, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(what_starts_from_what_is_declared, open_all, close_all),
        cmocka_unit_test_setup_teardown(pages_say_shares, open_all, close_all),
        cmocka_unit_test_setup_teardown(pages_say_what_starts_from_what, open_all, close_all),
        cmocka_unit_test_setup_teardown(missing_data_are_said, open_all, close_all),
        cmocka_unit_test(complete_comparisons),
        cmocka_unit_test_setup_teardown(pages_say_it, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_map_has_retained_shares, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_map_has_no_share_of_an_insignificant_gain, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_map_needs_tasks, open_all, close_all),
        cmocka_unit_test_setup_teardown(pages_say_speeds_and_orders, open_all, close_all),
        cmocka_unit_test_setup_teardown(what_was_not_run_is_said, open_all, close_all),
        cmocka_unit_test_setup_teardown(former_names_are_read, open_all, close_all),
        cmocka_unit_test_setup_teardown(edited_records_are_refused, open_all, close_all),
        cmocka_unit_test_setup_teardown(records_of_older_versions, open_all, close_all),
        cmocka_unit_test_setup_teardown(records_are_of_the_declared_options, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
