/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments: what a prediction says of an answer, of records made by hand; comparisons between
 * comparisons against scipy 1.17.1 (ttest_1samp, two one-sided tests by stats.t); speeds against
 * signed ranks of which all 2^n patterns were enumerated (Python); what is refused; what pages
 * hold.
 */
#include "testing.h"

#include "base/checksum.h"
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

static json_t *answer(const char *verdict, double mean, double half)
{
    return json_pack("{s:s, s:{s:i, s:f, s:f, s:f, s:f}, s:f, s:f, s:n, s:{s:f, s:f, s:f}}",
                     "verdict", verdict, "difference", "n", 5, "mean", mean, "sd", half, "low",
                     mean - half, "high", mean + half, "p", 0.01, "p_holm", 0.02, "p_equivalence",
                     "interval", "confidence", 0.95, "low", mean - half, "high", mean + half);
}

/* softmax is the baseline, random is worse than it; dense against random, a pair, is better; the
 * floor is worse than softmax by much. */
static json_t *record_of(const double *softmax, const double *random, int seeds)
{
    json_t *entries = json_array();
    static const double others[] = { 1.5, 1.5, 1.5, 1.5, 1.5 };
    json_array_append_new(
        entries, json_pack("{s:s, s:b, s:i, s:i, s:{s:n, s:o}, s:o}", "attention", "softmax",
                           "floor", 0, "trainable", 100, "frozen", 0, "statistics", "baseline",
                           "floor", answer("better", -0.7, 0.1), "runs", runs(softmax, seeds)));
    json_array_append_new(entries, json_pack("{s:s, s:b, s:i, s:i, s:{s:o, s:n}, s:o}", "attention",
                                             "random", "floor", 0, "trainable", 90, "frozen", 0,
                                             "statistics", "baseline", answer("worse", 0.2, 0.03),
                                             "floor", "runs", runs(random, seeds)));
    json_array_append_new(
        entries, json_pack("{s:s, s:b, s:i, s:i, s:{s:o, s:n}, s:o}", "attention", "dense", "floor",
                           0, "trainable", 90, "frozen", 0, "statistics", "baseline",
                           answer("as good", 0.01, 0.02), "floor", "runs", runs(others, seeds)));
    json_array_append_new(entries, json_pack("{s:s, s:b, s:i, s:i, s:{s:n, s:n}, s:o}", "attention",
                                             "random(x)", "floor", 1, "trainable", 80, "frozen", 0,
                                             "statistics", "baseline", "floor", "runs",
                                             runs(others, seeds)));
    json_t *pair = answer("worse", 0.19, 0.04);
    json_object_set_new(pair, "a", json_integer(1));
    json_object_set_new(pair, "b", json_integer(2));
    return json_pack("{s:i, s:i, s:[i,i,i,i], s:o, s:[o], s:{s:s, s:s}, s:s}", "baseline", 0,
                     "seeds", seeds, "order", 0, 2, 1, 3, "entries", entries, "pairs", pair,
                     "machine", "processor", "A <Processor>", "isa", "ref", "conclusion",
                     "softmax is best.");
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
        { OA_AGAINST_NONE, NAN, NAN, "uuuu" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int r = 0; r <= OA_AT_LEAST_AS_GOOD_AS; r++) { /* those about scores */
            struct oa_against a = { .verdict = cases[i].verdict,
                                    .difference = {
                                        .n = 5, .mean = cases[i].mean, .half = cases[i].half } };
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
        double mean;
    } cases[] = { { "random worse than softmax", OA_CLAIM_HOLDS, 0.2 },
                  { "softmax better than random", OA_CLAIM_HOLDS, -0.2 },
                  { "dense better than random", OA_CLAIM_HOLDS, -0.19 },
                  { "random better than dense", OA_CLAIM_FAILS, 0.19 },
                  { "dense as good as softmax", OA_CLAIM_HOLDS, 0.01 },
                  { "random at least as good as softmax", OA_CLAIM_FAILS, 0.2 },
                  { "floor worse than softmax", OA_CLAIM_HOLDS, 0.7 },
                  { "random better than floor", OA_CLAIM_UNTESTABLE, NAN } };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("contest", record_of(small_softmax, small_random, 5));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_claim(&e, cases[i].prediction, ""), OA_OK);
        assert_int_equal(judge(&e, &j), OA_OK);
        assert_int_equal(j.count, 1);
        if (j.verdict != cases[i].verdict)
            fail_msg("%s: %s", cases[i].prediction, oa_claim_verdict_code(j.verdict));
        assert_true(isnan(cases[i].mean) ||
                    fabs(j.findings[0].against.difference.mean - cases[i].mean) < 1e-12);
        oa_judged_free(&j);
        oa_experiment_free(&e);
    }
}

/* A comparison in which nothing was found better than the uniform average. */
static json_t *blind(void)
{
    json_t *record = record_of(small_softmax, small_random, 5),
           *entries = json_object_get(record, "entries");
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(json_object_get(json_array_get(entries, i), "statistics"), "floor",
                            answer("not resolved", -0.01, 0.1));
    return record;
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
    keep("contest", blind());
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
    near(j.findings[0].against.difference.half, 0.028585251909870314);
    near(j.findings[0].against.p, 0.0003535580073321956);
    near(j.findings[0].against.adjusted, 0.0007071160146643912);
    near(j.findings[1].against.difference.mean, 0.002);
    assert_true(j.findings[1].against.adjusted == 1);
    near(j.findings[1].against.equivalence, 2 * 0.0017332125330197527);
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

static void one_that_fails_decides(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("contest", record_of(small_softmax, small_random, 5));
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
        { "dense faster than softmax", "not resolved", OA_CLAIM_INCONCLUSIVE, NAN, NAN, NAN },
        { "softmax faster than dense", "not resolved", OA_CLAIM_INCONCLUSIVE, NAN, NAN, NAN },
        { "floor faster than softmax", "not timed", OA_CLAIM_UNTESTABLE, NAN, NAN, NAN }
    };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    keep("contest", timed(7));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_claim(&e, cases[i].prediction, ""), OA_OK);
        assert_int_equal(judge(&e, &j), OA_OK);
        if (j.verdict != cases[i].verdict)
            fail_msg("%s: %s", cases[i].prediction, oa_claim_verdict_code(j.verdict));
        assert_string_equal(oa_finding_code(&j, &j.findings[0]), cases[i].says);
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
    assert_int_equal(read_claim(&e, "softmax faster than random, softmax faster than dense", ""),
                     OA_OK);
    keep("contest", timed(5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.findings[0].speed.n, 0);
    assert_int_equal(j.findings[1].speed.n, 5);
    assert_int_equal(oa_judged_count(&j, OA_CLAIM_UNTESTABLE), 2);
    oa_judged_free(&j);
    oa_experiment_free(&e);
}

/* ---- rankings ---- */

/* The comparison with other verdicts: of random and of dense against softmax, of random against
 * dense. */
static json_t *ranked(const char *random, const char *dense, const char *pair)
{
    json_t *record = record_of(small_softmax, small_random, 5),
           *entries = json_object_get(record, "entries");
    json_object_set_new(json_object_get(json_array_get(entries, 1), "statistics"), "baseline",
                        answer(random, 0.1, 0.1));
    json_object_set_new(json_object_get(json_array_get(entries, 2), "statistics"), "baseline",
                        answer(dense, 0.1, 0.1));
    json_object_set_new(json_array_get(json_object_get(record, "pairs"), 0), "verdict",
                        json_string(pair));
    return record;
}

static void rankings(void **state)
{
    static const struct {
        const char *small[3], *large[3], *says;
        enum oa_claim_verdict verdict;
        struct oa_ranking pairs;
    } cases[] = {
        { { "worse", "as good", "worse" },
          { "worse", "as good", "worse" },
          "the same order",
          OA_CLAIM_HOLDS,
          { 3, 0, 0 } },
        { { "worse", "identical", "worse" },
          { "worse", "as good", "worse" },
          "the same order",
          OA_CLAIM_HOLDS,
          { 3, 0, 0 } },
        { { "worse", "better", "worse" },
          { "worse", "better", "better" },
          "another order",
          OA_CLAIM_FAILS,
          { 2, 1, 0 } },
        { { "worse", "better", "worse" },
          { "not resolved", "worse", "worse" },
          "another order",
          OA_CLAIM_FAILS,
          { 1, 1, 1 } },
        { { "worse", "better", "worse" },
          { "worse", "as good", "worse" },
          "not resolved",
          OA_CLAIM_INCONCLUSIVE,
          { 2, 0, 1 } },
        { { "not resolved", "better", "worse" },
          { "not resolved", "better", "worse" },
          "not resolved",
          OA_CLAIM_INCONCLUSIVE,
          { 2, 0, 1 } },
        { { "worse", "better", "cannot be judged" },
          { "worse", "better", "worse" },
          "not resolved",
          OA_CLAIM_INCONCLUSIVE,
          { 2, 0, 1 } },
    };
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "ranking @ small same as ranking @ large", VARIANTS), OA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        keep("small", ranked(cases[i].small[0], cases[i].small[1], cases[i].small[2]));
        keep("large", ranked(cases[i].large[0], cases[i].large[1], cases[i].large[2]));
        assert_int_equal(judge(&e, &j), OA_OK);
        if (j.verdict != cases[i].verdict)
            fail_msg("case %zu: %s", i, oa_claim_verdict_code(j.verdict));
        assert_string_equal(oa_finding_code(&j, &j.findings[0]), cases[i].says);
        assert_memory_equal(&j.findings[0].ranking, &cases[i].pairs, sizeof cases[i].pairs);
        oa_judged_free(&j);
    }
    oa_experiment_free(&e);
}

/* Before both comparisons have ended there is nothing to rank, and a ranking is no member of the
 * family of differences. */
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
    assert_string_equal(oa_finding_code(&j, &j.findings[0]), "");
    oa_judged_free(&j);
    keep("large", record_of(large_softmax, large_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    assert_int_equal(j.verdict, OA_CLAIM_HOLDS);
    near(j.findings[1].against.adjusted, 0.0003535580073321956); /* as p: alone in its family */
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
        { "random @ a worse than random @ b, softmax @ b better than softmax @ c",
          "  variants: [{name: a, set: {model.width: 32}}, {name: b, set: {model.width: 64}}, "
          "{name: c, set: {compare.margin: 0.1}}]\n",
          "need the same compare.margin" },
        { "random @ a worse than random @ b, softmax @ c better than softmax @ d",
          "  variants: [{name: a, set: {model.width: 32}}, {name: b, set: {model.width: 64}}, "
          "{name: c, set: {compare.margin: 0.1}}, {name: d, set: {compare.margin: 0.1}}]\n",
          "need the same compare.margin" },
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
           json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:s}}", "contest", "compare.seeds", "5",
                     "compare.baseline", "softmax", "compare.margin", "0.05", "compare.attentions",
                     "softmax\nrandom\ndense", "data.train", "absent/text.txt", "cluster.timeout",
                     "90"));
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
    has(&text, "| random worse than softmax | small | +0.2000 ±0.0300 nats a token | worse, p "
               "0.020 | holds here |");
    has(&text, "| random @ small worse than random @ large | small, large | +0.1160 ±0.0286 nats a "
               "token | worse, p 0.00035 | holds here |");
    has(&text, "Data: Some text; from somewhere; licence: free.");
    has(&text, "`small`: model.width = 32; `large`: model.width = 64");
    has(&text, "Cost, tuning included: 40 runs, 80.0 s of processor time, 40.0GFLOPs.");
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
    has(&text, "Not run. Run it with `orthant evidence evidence-test --data FOLDER`.");
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
    keep("large", ranked("better", "as good", "worse"));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_text_init(&text, context);
    oa_evidence_markdown(&j, 1, "charts", &text);
    has(&text, "| softmax @ small faster than random @ small | small | 1.44 times as fast (1.42 to "
               "1.47) | faster | holds here |");
    has(&text, "| ranking @ small same as ranking @ large | small, large | pairs: 2 alike, 1 "
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
        json_integer_value(json_object_get(json_object_get(second, "pairs"), "opposed")), 1);
    assert_null(json_object_get(second, "speed"));
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
        "seeds; for differences, of the interval at the corrected level of the verdict.\n");
    oa_text_free(&text);
    json_t *root = oa_evidence_json(&j, 1),
           *comparisons = json_object_get(json_array_get(json_object_get(root, "experiments"), 0),
                                          "contests"); /* the key of earlier pages */
    assert_true(json_is_null(json_object_get(json_array_get(comparisons, 0), "from")));
    assert_string_equal(json_string_value(json_object_get(json_array_get(comparisons, 1), "from")),
                        "a");
    json_decref(root);
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

/* Declarations once had no digests of the data, and records did not say their declaration: of these
 * the dates tell. */
static void records_of_older_versions(void **state)
{
    struct oa_experiment e;
    struct oa_judged j;
    (void)state;
    assert_int_equal(read_claim(&e, "random worse than softmax", ""), OA_OK);
    keep("contest", record_of(small_softmax, small_random, 5));
    assert_int_equal(judge(&e, &j), OA_OK);
    oa_judged_free(&j);
    change(FOLDER "/contest.json", "declared", "machine",
           json_pack("{s:s}", "date", "2026-11-20T05:45:18Z"));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j),
                     OA_FORMAT); /* the declaration is of this version */
    expect_error(OA_FORMAT, "contest.json does not belong to the declared.json next to it");
    oa_judged_free(&j);
    change(FOLDER "/declared.json", "data", "date", json_string("2026-11-20"));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_OK);
    oa_judged_free(&j);
    change(FOLDER "/declared.json", "data", "date", json_string("2026-11-21"));
    assert_int_equal(oa_judge(context, &e, FOLDER, &j), OA_FORMAT);
    expect_error(OA_FORMAT, "contest.json does not belong to");
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

/* Of the records that are kept, some were made before intervals belonged to verdicts; none of them
 * may contradict one: with plain 95 % intervals four "not resolved" ones excluded 0. */
static void intervals_of_records(void **state)
{
    static const char *const names[] = { "masked", "mrpc", "sst2", "stsb-alone", "stsb" };
    int judged = 0, plain = 0;
    (void)state;
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        char file[512];
        snprintf(file, sizeof file, SOURCE_DIR "/experiments/records/pretraining/%s.json",
                 names[f]);
        json_t *record = json_load_file(file, 0, NULL);
        assert_non_null(record);
        int count = (int)json_array_size(json_object_get(record, "entries"));
        for (int a = 0; a < count; a++)
            for (int b = 0; b < count; b++) {
                struct oa_against x = oa_record_against(record, a, b);
                bool excludes = fabs(x.difference.mean) > x.half,
                     open = x.verdict == OA_AGAINST_UNRESOLVED;
                if (open || x.verdict == OA_AGAINST_BETTER || x.verdict == OA_AGAINST_WORSE) {
                    assert_true(excludes == !open);
                    judged++;
                    plain += (fabs(x.difference.mean) > x.difference.half) != !open;
                }
            }
        json_decref(record);
    }
    assert_true(judged > 50 && plain > 0);
    printf("%d judged, of %d the plain interval says otherwise\n", judged, plain);
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
        cmocka_unit_test_setup_teardown(one_that_fails_decides, open_all, close_all),
        cmocka_unit_test_setup_teardown(speeds_by_rounds, open_all, close_all),
        cmocka_unit_test_setup_teardown(speeds_need_rounds, open_all, close_all),
        cmocka_unit_test_setup_teardown(rankings, open_all, close_all),
        cmocka_unit_test_setup_teardown(rankings_wait, open_all, close_all),
        cmocka_unit_test_setup_teardown(wrong_predictions_are_refused, open_all, close_all),
        cmocka_unit_test_setup_teardown(predictions_beside_each_other, open_all, close_all),
        cmocka_unit_test_setup_teardown(changes_after_the_declaration_are_refused, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(what_starts_from_what_is_declared, open_all, close_all),
        cmocka_unit_test_setup_teardown(pages_say_what_starts_from_what, open_all, close_all),
        cmocka_unit_test_setup_teardown(missing_data_are_said, open_all, close_all),
        cmocka_unit_test(intervals_of_records),
        cmocka_unit_test(complete_comparisons),
        cmocka_unit_test_setup_teardown(pages_say_it, open_all, close_all),
        cmocka_unit_test_setup_teardown(pages_say_speeds_and_orders, open_all, close_all),
        cmocka_unit_test_setup_teardown(what_was_not_run_is_said, open_all, close_all),
        cmocka_unit_test_setup_teardown(edited_records_are_refused, open_all, close_all),
        cmocka_unit_test_setup_teardown(records_of_older_versions, open_all, close_all),
        cmocka_unit_test_setup_teardown(records_are_of_the_declared_options, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
