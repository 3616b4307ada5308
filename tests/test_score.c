/* SPDX-License-Identifier: Apache-2.0
 * What `score` prints as JSON, of files, against what is true of them: vectors in tests/metrics,
 * made by the scripts there, which say with what versions of what packages. */
#include "setups.h"

#include "orthant/orthant.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

static char *own;
static oa_context *context;

static int enter(void **state)
{
    (void)state;
    own = enter_own_folder();
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    return own && context ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    oa_close(context);
    return leave_own_folder(own);
}

static json_t *vectors(const char *name)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, SOURCE_DIR "/tests/metrics/%s", name);
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s: %s", path, error.text);
    return root;
}

/* ---- a request
 * ---------------------------------------------------------------------------------------------------
 */

static void write_lines(const char *path, const json_t *lines)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < json_array_size(lines); i++)
        fprintf(f, "%s\n", json_string_value(json_array_get(lines, i)));
    assert_int_equal(fclose(f), 0);
}

static void collect(void *argument, const char *text, size_t length)
{
    json_error_t error;
    json_t **root = argument;
    *root = json_loadb(text, length, 0, &error);
    if (!*root)
        fail_msg("%s in %.*s", error.text, (int)length, text);
}

/* The answer to r of one metric, which is to be freed. */
static json_t *score(struct oa_score_request r, const char *metric)
{
    json_t *root = NULL;
    struct oa_output out = { .sink = collect, .argument = &root, .json = 1 };
    r.metric = &metric;
    r.metrics = 1;
    if (oa_score(context, &r, &out) != OA_OK) {
        const char *text;
        oa_last_error(context, &text);
        fail_msg("%s: %s", metric, text);
    }
    return root;
}

static void near(const char *what, const json_t *found, const json_t *expected, double bound)
{
    double x = json_number_value(found), y = json_number_value(expected);
    if (json_is_number(found) != json_is_number(expected) || !(fabs(x - y) <= bound))
        fail_msg("%s is %.17g, not %.17g", what, x, y);
}

/* ---- paired tests
 * ------------------------------------------------------------------------------------------------
 */

static const char *const system_files[] = { "0", "1", "2", "3" };

static struct oa_score_request paired_request(const json_t *of, const char *test)
{
    static const char *const references[] = { "reference" };
    const json_t *systems = json_object_get(of, "systems");
    write_lines("reference", json_object_get(of, "reference"));
    for (size_t k = 0; k < json_array_size(systems); k++)
        write_lines(system_files[k], json_array_get(systems, k));
    return (struct oa_score_request){ .reference = references,
                                      .references = 1,
                                      .hypothesis = system_files,
                                      .hypotheses = (int)json_array_size(systems),
                                      .resample = test,
                                      .seed = 12345 };
}

/* The member of a system that has the numbers of the one metric that was asked for. */
static const json_t *numbers_of(const json_t *root, size_t system)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_array_get(root, system), key, value)
    {
        if (json_is_object(value))
            return value;
    }
    fail_msg("system %zu has no numbers", system);
    return NULL;
}

/* Exchanges are enumerated, so they are equal; of resamples so many are drawn that they are near.
 */
static void check_truth(const json_t *c, size_t number)
{
    const char *metric, *test = json_string_value(json_object_get(c, "test"));
    bool exact = strcmp(test, "paired-ar") == 0;
    struct oa_score_request r = paired_request(c, test);
    json_t *p;
    r.samples = exact ? 100 : tries(20000);
    json_object_foreach(json_object_get(c, "p"), metric, p)
    {
        char what[64];
        snprintf(what, sizeof what, "case %zu, p of %s", number, metric);
        r.f1_average = strcmp(metric, "f1") == 0 ? "macro" : NULL;
        json_t *root = score(r, metric);
        const json_t *found = numbers_of(root, 1);
        double true_p = json_number_value(p),
               sigma = sqrt(true_p * (1 - true_p) / (double)r.samples);
        near(what, json_object_get(found, "p_with_ties"), p, exact ? 1e-12 : 5 * sigma + 1e-4);
        if (fabs(true_p - 0.05) > 0.02)
            assert_int_equal(json_is_true(json_object_get(found, "significant")), true_p < 0.05);
        assert_true(json_is_null(json_object_get(numbers_of(root, 0), "p_with_ties")));
        json_decref(root);
    }
}

static void test_p_is_the_share_of_all_exchanges_and_resamples(void **state)
{
    (void)state;
    json_t *root = vectors("paired.json"), *c;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, c) check_truth(c, i);
    assert_int_equal(i, 19);
    json_decref(root);
}

static void check_sacrebleu(const json_t *of, const json_t *c, const char *metric,
                            const char *heading)
{
    struct oa_score_request r = paired_request(of, json_string_value(json_object_get(c, "test")));
    r.samples = (long)json_integer_value(json_object_get(c, "samples"));
    json_t *root = score(r, metric), *system;
    size_t k;
    json_array_foreach(json_object_get(c, "json"), k, system)
    {
        const json_t *numbers = json_object_get(json_array_get(root, k), heading);
        const char *key;
        json_t *value;
        json_object_foreach(json_object_get(system, heading), key, value)
        {
            near(key, json_object_get(numbers, key), value, 1e-12);
        }
    }
    assert_int_equal(k, json_array_size(root));
    json_decref(root);
}

static void test_paired_json_is_sacrebleus(void **state)
{
    (void)state;
    json_t *root = vectors("paired.json"), *of = json_object_get(root, "sacrebleu"), *c;
    size_t i;
    json_array_foreach(json_object_get(of, "cases"), i, c)
    {
        check_sacrebleu(of, c, "bleu", "BLEU");
        check_sacrebleu(of, c, "chrf", "chrF2");
        check_sacrebleu(of, c, "ter", "TER");
    }
    assert_int_equal(i, 2);
    json_decref(root);
}

/* Two copies, in many lines, so that nothing is enumerated: no figure calls them different. */
static void test_identical_outputs_are_not_significant(void **state)
{
    static const char *const metrics[] = { "bleu", "chrf", "ter", "rouge2" }, *const tests[] = {
        "paired-ar", "paired-bs"
    };
    (void)state;
    json_t *root = vectors("paired.json"), *of = json_object_get(root, "sacrebleu");
    json_array_set(json_object_get(of, "systems"), 1,
                   json_array_get(json_object_get(of, "systems"), 0));
    for (int i = 0; i < 8; i++) {
        struct oa_score_request r = paired_request(of, tests[i / 4]);
        r.samples = 50;
        json_t *answer = score(r, metrics[i % 4]);
        assert_true(json_number_value(json_object_get(numbers_of(answer, 1), "p_value")) == 1);
        assert_true(json_number_value(json_object_get(numbers_of(answer, 1), "p_with_ties")) == 1);
        assert_true(json_is_false(json_object_get(numbers_of(answer, 1), "significant")));
        json_decref(answer);
    }
    json_decref(root);
}

/* Too many lines differ to try all exchanges. Of accuracy they are tosses of a coin for every line
 * that one system alone has right: p is that of the binomial distribution (McNemar's exact test).
 */
static void many_exchanges_of_labels_follow_a_binomial_distribution(void **state)
{
    enum { FIRST = 14, SECOND = 26, BOTH = 20, DISCORDANT = FIRST + SECOND };
    (void)state;
    double p = 0, ways = 1; /* C(DISCORDANT, i) */
    for (int i = 0; i <= DISCORDANT; ways = ways * (DISCORDANT - i) / (i + 1), i++)
        p += i <= FIRST || i >= SECOND ? ways * pow(0.5, DISCORDANT) : 0;
    json_t *of = json_pack("{s:[], s:[[], []]}", "reference", "systems");
    json_t *systems = json_object_get(of, "systems");
    for (int i = 0; i < DISCORDANT + BOTH; i++) {
        json_array_append_new(json_object_get(of, "reference"), json_string("x"));
        json_array_append_new(json_array_get(systems, 0),
                              json_string(i < FIRST || i >= DISCORDANT ? "x" : "y"));
        json_array_append_new(json_array_get(systems, 1), json_string(i < FIRST ? "y" : "x"));
    }
    struct oa_score_request r = paired_request(of, "paired-ar");
    r.samples = tries(20000);
    json_t *root = score(r, "accuracy"), *truth = json_real(p);
    near("p", json_object_get(numbers_of(root, 1), "p_with_ties"), truth,
         5 * sqrt(p * (1 - p) / (double)r.samples));
    json_decref(truth);
    json_decref(root);
    json_decref(of);
}

/* ---- scores of files
 * --------------------------------------------------------------------------------------------- */

static const char *const reference_files[] = { "r0", "r1", "r2" };

static struct oa_score_request plain_request(const json_t *reference, const json_t *system)
{
    write_lines("r0", reference);
    write_lines("0", system);
    return (struct oa_score_request){ .reference = reference_files,
                                      .references = 1,
                                      .hypothesis = system_files,
                                      .hypotheses = 1,
                                      .decimals = 12 };
}

static void expect_score(struct oa_score_request r, const char *metric, const json_t *expected)
{
    json_t *root = score(r, metric);
    near(metric, json_object_get(root, "score"), expected,
         2e-12 * (1 + fabs(json_number_value(expected))));
    json_decref(root);
}

static void test_all_of_several_references_count(void **state)
{
    (void)state;
    json_t *root = vectors("files.json"), *of = json_object_get(root, "several"), *c;
    const json_t *references = json_object_get(of, "references");
    struct oa_score_request r =
        plain_request(json_array_get(references, 0), json_object_get(of, "system"));
    size_t i;
    write_lines("r1", json_array_get(references, 1));
    write_lines("r2", json_array_get(references, 2));
    r.references = 3;
    json_array_foreach(json_object_get(of, "scores"), i, c)
    {
        const json_t *options = json_array_get(c, 1);
        r.bleu_tokenize = json_string_value(json_object_get(options, "tokenize"));
        r.bleu_order = (int)json_integer_value(json_object_get(options, "order"));
        expect_score(r, json_string_value(json_array_get(c, 0)), json_array_get(c, 2));
    }
    assert_int_equal(i, 10);
    json_decref(root);
}

/* Ten words are the most that Tercom shifts, and 50 places the farthest. */
static void test_ter_shifts_blocks_as_tercom(void **state)
{
    (void)state;
    json_t *root = vectors("files.json"), *of = json_object_get(root, "blocks");
    const json_t *lines = json_object_get(of, "lines");
    struct oa_score_request r =
        plain_request(json_object_get(of, "reference"), json_object_get(of, "system"));
    expect_score(r, "ter", json_object_get(of, "score"));
    r.sentence_level = 1;
    json_t *answer = score(r, "ter");
    assert_int_equal(json_array_size(json_object_get(answer, "scores")), json_array_size(lines));
    for (size_t i = 0; i < json_array_size(lines); i++)
        near("a line's TER", json_array_get(json_object_get(answer, "scores"), i),
             json_array_get(lines, i), 1e-9);
    json_decref(answer);
    json_decref(root);
}

static bool tokenized_by(const json_t *answer, const char *name)
{
    const char *found = json_string_value(json_object_get(answer, "tok"));
    return found && strcmp(found, name) == 0;
}

/* Japanese without spaces is scored by characters; an explicit choice is kept; a few such words
 * among others change nothing, nor do segmented text and a single word of a script with spaces. */
static void test_bleu_of_text_without_spaces_is_of_characters(void **state)
{
    (void)state;
    json_t *root = vectors("files.json"), *of = json_object_get(root, "japanese");
    json_t *reference = json_object_get(of, "reference");
    struct oa_score_request r = plain_request(reference, json_object_get(of, "system"));
    expect_score(r, "bleu", json_object_get(of, "char"));
    r = plain_request(reference, reference);
    json_t *answer = score(r, "bleu");
    assert_true(json_number_value(json_object_get(answer, "score")) > 99.999999);
    assert_true(tokenized_by(answer, "char"));
    json_decref(answer);
    r.bleu_tokenize = "13a";
    answer = score(r, "bleu");
    assert_true(json_number_value(json_object_get(answer, "score")) == 0 &&
                tokenized_by(answer, "13a"));
    json_decref(answer);
    const struct {
        const char *text, *tokens;
    } cases[] = {
        { "我们在 Google 工作了三年，很喜欢这里的环境。", "char" },
        { "ฉันชอบกินข้าวผัดกับไก่ และดื่มน้ำชาเย็นทุกวัน", "char" },
        { "我们 在 谷歌 工作 了 三 年 ， 很 喜欢 这里 的 环境 。", "13a" },
        { "서울에서 한국어를 공부하고 있습니다.", "13a" },
        { "Die Donaudampfschifffahrtsgesellschaft 東京 fährt heute nicht mehr auf dem Fluss.",
          "13a" },
        { "Ja.", "13a" },
        { "東京。", "char" }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *line = json_pack("[s]", cases[i].text);
        answer = score(plain_request(line, line), "bleu");
        if (!tokenized_by(answer, cases[i].tokens))
            fail_msg("\"%s\" is not scored by %s", cases[i].text, cases[i].tokens);
        json_decref(answer);
        json_decref(line);
    }
    json_decref(root);
}

/* ---- labels and numbers
 * ------------------------------------------------------------------------------------------ */

static void check_classes(const json_t *answer, const json_t *c)
{
    static const char *const columns[] = { "precision", "recall", "f1", "support" };
    const json_t *labels = json_object_get(c, "labels"),
                 *classes = json_object_get(answer, "by_class");
    assert_true(json_equal(json_object_get(answer, "labels"), labels));
    assert_true(json_equal(json_object_get(answer, "confusion"), json_object_get(c, "matrix")));
    assert_int_equal(json_array_size(classes), json_array_size(labels));
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const json_t *one = json_array_get(classes, i);
        assert_true(json_equal(json_object_get(one, "label"), json_array_get(labels, i)));
        for (int k = 0; k < 4; k++)
            near(columns[k], json_object_get(one, columns[k]),
                 json_array_get(json_object_get(c, columns[k]), i), 1e-12);
    }
}

static void test_classes_are_scikit_learns(void **state)
{
    (void)state;
    json_t *root = vectors("files.json"), *c, *means;
    size_t i;
    json_array_foreach(json_object_get(root, "labels"), i, c)
    {
        struct oa_score_request r =
            plain_request(json_object_get(c, "reference"), json_object_get(c, "hypothesis"));
        json_t *answer = score(r, "confusion");
        const char *average;
        check_classes(answer, c);
        json_decref(answer);
        expect_score(r, "accuracy", json_object_get(c, "accuracy"));
        expect_score(r, "mcc", json_object_get(c, "mcc"));
        json_object_foreach(json_object_get(c, "average"), average, means)
        {
            r.f1_average = average;
            answer = score(r, "f1");
            near("precision", json_object_get(answer, "precision"), json_array_get(means, 0),
                 1e-11);
            near("recall", json_object_get(answer, "recall"), json_array_get(means, 1), 1e-11);
            near(average, json_object_get(answer, "score"), json_array_get(means, 2), 1e-11);
            json_decref(answer);
        }
    }
    assert_int_equal(i, 5);
    json_decref(root);
}

static void test_ranks_are_not_values(void **state)
{
    (void)state;
    json_t *root = vectors("files.json"), *c;
    size_t i;
    json_array_foreach(json_object_get(root, "numbers"), i, c)
    {
        struct oa_score_request r =
            plain_request(json_object_get(c, "reference"), json_object_get(c, "hypothesis"));
        expect_score(r, "pearson", json_object_get(c, "pearson"));
        expect_score(r, "spearman", json_object_get(c, "spearman"));
    }
    assert_int_equal(i, 4);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_p_is_the_share_of_all_exchanges_and_resamples),
        cmocka_unit_test(test_paired_json_is_sacrebleus),
        cmocka_unit_test(many_exchanges_of_labels_follow_a_binomial_distribution),
        cmocka_unit_test(test_identical_outputs_are_not_significant),
        cmocka_unit_test(test_all_of_several_references_count),
        cmocka_unit_test(test_ter_shifts_blocks_as_tercom),
        cmocka_unit_test(test_bleu_of_text_without_spaces_is_of_characters),
        cmocka_unit_test(test_classes_are_scikit_learns),
        cmocka_unit_test(test_ranks_are_not_values),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
