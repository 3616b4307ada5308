/* SPDX-License-Identifier: Apache-2.0
 * What `score` prints as JSON, of files, against what is true of them: vectors in tests/metrics, made by the scripts
 * there, which say with what versions of what packages. */
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

/* ---- a request --------------------------------------------------------------------------------------------------- */

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

/* ---- paired tests ------------------------------------------------------------------------------------------------ */

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

/* Exchanges are enumerated, so they are equal; of resamples so many are drawn that they are near. */
static void check_truth(const json_t *c, size_t number)
{
    const char *metric, *test = json_string_value(json_object_get(c, "test"));
    bool exact = strcmp(test, "paired-ar") == 0;
    struct oa_score_request r = paired_request(c, test);
    json_t *p;
    r.samples = exact ? 100 : 20000;
    json_object_foreach(json_object_get(c, "p"), metric, p)
    {
        char what[64];
        snprintf(what, sizeof what, "case %zu, p of %s", number, metric);
        r.f1_average = strcmp(metric, "f1") == 0 ? "macro" : NULL;
        json_t *root = score(r, metric);
        const json_t *found = numbers_of(root, 1);
        double true_p = json_number_value(p), sigma = sqrt(true_p * (1 - true_p) / (double)r.samples);
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

static void check_sacrebleu(const json_t *of, const json_t *c, const char *metric, const char *heading)
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
    static const char *const metrics[] = { "bleu", "chrf", "ter", "rouge2" }, *const tests[] = { "paired-ar",
                                                                                                 "paired-bs" };
    (void)state;
    json_t *root = vectors("paired.json"), *of = json_object_get(root, "sacrebleu");
    json_array_set(json_object_get(of, "systems"), 1, json_array_get(json_object_get(of, "systems"), 0));
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

/* Too many lines differ to try all exchanges. Of accuracy they are tosses of a coin for every line that one system
 * alone has right: p is that of the binomial distribution (McNemar's exact test). */
static void test_many_exchanges_of_labels_are_tosses_of_coins(void **state)
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
        json_array_append_new(json_array_get(systems, 0), json_string(i < FIRST || i >= DISCORDANT ? "x" : "y"));
        json_array_append_new(json_array_get(systems, 1), json_string(i < FIRST ? "y" : "x"));
    }
    struct oa_score_request r = paired_request(of, "paired-ar");
    r.samples = 20000;
    json_t *root = score(r, "accuracy"), *truth = json_real(p);
    near("p", json_object_get(numbers_of(root, 1), "p_with_ties"), truth, 5 * sqrt(p * (1 - p) / 20000));
    json_decref(truth);
    json_decref(root);
    json_decref(of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_p_is_the_share_of_all_exchanges_and_resamples),
        cmocka_unit_test(test_paired_json_is_sacrebleus),
        cmocka_unit_test(test_many_exchanges_of_labels_are_tosses_of_coins),
        cmocka_unit_test(test_identical_outputs_are_not_significant),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
