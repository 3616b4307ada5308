/* SPDX-License-Identifier: Apache-2.0
 * Options: every row set and read back, as text, YAML and JSON; what is wrong is refused with a
 * sentence that helps. */
#include "testing.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static oa_context *context;
static struct oa_options options;

static int open_defaults(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 1 });
    oa_options_default(&options);
    return context ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    oa_close(context);
    unlink("options-test.yaml");
    return 0;
}

static void expect_error(enum oa_error code, const char *part)
{
    const char *sentence;
    assert_int_equal(oa_last_error(context, &sentence), code);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not contain \"%s\"", sentence, part);
    oa_clear_error(context);
}

static enum oa_error load(const char *yaml)
{
    assert_int_equal(oa_file_write(context, "options-test.yaml", yaml, strlen(yaml)), OA_OK);
    return oa_options_load(context, &options, "options-test.yaml", NULL);
}

static enum oa_error set(const char *key, const char *value)
{
    return oa_options_set(context, &options, key, value);
}

/* ---- the table
 * -----------------------------------------------------------------------------------------------
 */

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    assert_string_equal(options.model_attention, "softmax");
    assert_int_equal(options.model_layers, 4);
    assert_true(options.train_lr == 1e-3 && options.train_epsilon == 1e-8 &&
                options.train_min_lr == 0.1);
    assert_true(options.train_beta1 == 0.9 && options.train_beta2 == 0.99 &&
                options.train_weight_decay == 0.1);
    assert_true(options.train_clip == 1 && options.train_warmup == 100 &&
                options.generate_top_p == 1);
    assert_false(options.model_bias);
    assert_int_equal(options.train_optimizer, OA_OPTIMIZER_ADAMW);
}

static enum oa_error set_number(const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    enum oa_error e = set(key, text);
    oa_clear_error(context);
    return e;
}

/* Both ends of every range are in it, and what lies just beyond is not. */
static void ranges_hold_their_ends(void **state)
{
    struct oa_option o;
    (void)state;
    for (int i = 0; oa_option_describe(i, &o); i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", o.section, o.name);
        if (o.kind != OA_KIND_INT && o.kind != OA_KIND_REAL)
            continue;
        double beyond = o.kind == OA_KIND_INT ? 1 : 1e-9 * (o.high - o.low);
        assert_int_equal(set_number(key, o.low), OA_OK);
        assert_int_equal(set_number(key, o.high), OA_OK);
        assert_int_equal(set_number(key, o.low - beyond), OA_ARGUMENT);
        assert_int_equal(set_number(key, o.high + beyond), OA_ARGUMENT);
    }
}

/* A row whose default its own parser refuses would stay zero unnoticed. */
static void every_default_is_in_its_range(void **state)
{
    (void)state;
    const struct oa_option_row *r;
    int rows = 0;
    for (; (r = oa_option_at(rows)); rows++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", r->section, r->name);
        assert_int_equal(set(key, r->fallback), OA_OK);
        assert_true(strlen(r->help) > 0);
    }
    assert_true(rows > 30);
    assert_null(oa_option_at(-1));
}

static void values_come_back(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        { "model.layers", "12", "12" },
        { "train.lr", "3e-4", "0.0003" },
        { "model.bias", "yes", "true" },
        { "model.bias", "off", "false" },
        { "model.bias", "1", "true" },
        { "train.optimizer", "sgd", "sgd" },
        { "train.seed", "9007199254740991", "9007199254740991" },
        { "model.attention", "local(window=64) ; softmax", "local(window=64) ; softmax" },
        { "generate.prompt", "Grüße, \"you\"\n", "Grüße, \"you\"\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct oa_text t;
        oa_text_init(&t, context);
        assert_int_equal(set(cases[i][0], cases[i][1]), OA_OK);
        assert_int_equal(oa_options_get(context, &options, cases[i][0], &t), OA_OK);
        assert_string_equal(t.s, cases[i][2]);
        oa_text_free(&t);
    }
}

static void wrong_values_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        { "model.layer", "3", "unknown option \"model.layer\"; did you mean \"model.layers\"?" },
        { "layers", "3", "did you mean \"model.layers\"?" },
        { "modle.layers", "3", "did you mean \"model.layers\"?" },
        { "colour", "3", "options are written section.name" },
        { "model.layers", "0", "model.layers is \"0\"; give a whole number from 1 to 1024" },
        { "model.layers", "4x", "model.layers is \"4x\"" },
        { "model.layers", " 4", "whole number" },
        { "model.layers", "1e1", "whole number" },
        { "model.layers", "", "whole number" },
        { "model.layers", "99999999999999999999", "whole number" },
        { "model.dropout", "0.96", "model.dropout is \"0.96\"; give a number from 0 to 0.95" },
        { "model.dropout", "nan", "give a number" },
        { "model.dropout", "0.1%", "give a number" },
        { "model.scale_embedding", "maybe", "give true or false" },
        { "train.optimizer", "adam",
          "did you mean \"adamw\"? choose one of adamw|sgd|adafactor|muon|lion" },
        { "train.optimizer", "", "choose one of" },
        { "train.optimizer", "sgd|adafactor", "choose one of" },
        { "generate.prompt", "\xff", "UTF-8" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(set(cases[i][0], cases[i][1]), OA_ARGUMENT);
        expect_error(OA_ARGUMENT, cases[i][2]);
    }
    struct oa_options untouched;
    oa_options_default(&untouched);
    assert_memory_equal(&options, &untouched, sizeof options);
}

static void long_texts_are_refused(void **state)
{
    (void)state;
    char text[OA_OPTION_TEXT + 1];
    memset(text, 'a', sizeof text);
    text[OA_OPTION_TEXT] = 0;
    assert_int_equal(set("generate.prompt", text), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "generate.prompt has 1024 bytes; give at most 1023");
    text[OA_OPTION_TEXT - 1] = 0;
    assert_int_equal(set("generate.prompt", text), OA_OK);
    assert_string_equal(options.generate_prompt, text);
}

/* ---- YAML
 * ----------------------------------------------------------------------------------------------------
 */

static void yaml_is_read(void **state)
{
    (void)state;
    assert_int_equal(load("# a run\n"
                          "model: {layers: 6, attention: \"local(window=8) ; softmax\"}\n"
                          "train.lr: 2e-3\n"
                          "train:\n  optimizer: sgd\n  steps: 7\n"
                          "generate:\n  prompt: |\n    two\n    lines\n"),
                     OA_OK);
    assert_int_equal(options.model_layers, 6);
    assert_string_equal(options.model_attention, "local(window=8) ; softmax");
    assert_true(options.train_lr == 2e-3);
    assert_int_equal(options.train_optimizer, OA_OPTIMIZER_SGD);
    assert_string_equal(options.generate_prompt, "two\nlines\n");
    assert_int_equal(load("# nothing\n"), OA_OK);
    assert_int_equal(load(""), OA_OK);
}

static void wrong_yaml_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        enum oa_error code;
        const char *part;
    } cases[] = {
        { "model:\n  layers: 4\n  layer: 3\n", OA_ARGUMENT,
          "options-test.yaml:3:3: unknown option \"model.layer\"; did you mean \"model.layers\"?" },
        { "model:\n  layers: many\n", OA_ARGUMENT,
          "options-test.yaml:2:11: model.layers is \"many\"" },
        { "model:\n  layers: 1\n  layers: 2\n", OA_ARGUMENT,
          "options-test.yaml:3:3: model.layers is given a second time; the first is in line 2" },
        { "model: {layers: 1}\nmodel.layers: 2\n", OA_ARGUMENT,
          "2:1: model.layers is given a second time" },
        { "model:\n  layers: [1, 2]\n", OA_FORMAT, "options-test.yaml:2:11: a value is" },
        { "model: {layers: {a: 1}}\n", OA_FORMAT, "a value is" },
        { "model: {[a]: 1}\n", OA_FORMAT, "the name of an option" },
        { "- a\n", OA_FORMAT, "options-test.yaml:1:1: options are written as a map" },
        { "model: 3\n", OA_ARGUMENT, "unknown option \"model\"" },
        { "model: {layers: 1\n", OA_FORMAT, "not valid YAML" },
        { "a: b: c\n", OA_FORMAT, "options-test.yaml:1:5: not valid YAML" },
        { "model: &m {layers: *m}\n", OA_FORMAT, "a value is" },
        { "model: {layers: 1}\n---\nmodel: {layers: 2}\n", OA_FORMAT,
          "options-test.yaml:3:1: a second YAML document" },
        { "generate: {prompt: \"a\\0b\"}\n", OA_FORMAT, "a value is" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(load(cases[i].yaml), cases[i].code);
        expect_error(cases[i].code, cases[i].part);
    }
    assert_int_equal(oa_options_load(context, &options, "absent.yaml", NULL), OA_IO);
    expect_error(OA_IO, "cannot read absent.yaml");
}

static void change_a_few(void)
{
    assert_int_equal(set("model.layers", "17"), OA_OK);
    assert_int_equal(set("train.lr", "0.30000000000000004"), OA_OK);
    assert_int_equal(set("model.bias", "true"), OA_OK);
    assert_int_equal(set("train.schedule", "inverse-sqrt"), OA_OK);
    assert_int_equal(set("generate.prompt", "a: \"b\" # ü\n\t\\"), OA_OK);
}

static void yaml_round_trips(void **state)
{
    (void)state;
    struct oa_text t;
    change_a_few();
    struct oa_options before = options;
    oa_text_init(&t, context);
    oa_options_yaml(&options, &t);
    oa_options_default(&options);
    assert_int_equal(load(t.s), OA_OK);
    assert_memory_equal(&options, &before, sizeof options);
    oa_text_free(&t);
}

/* ---- JSON
 * ----------------------------------------------------------------------------------------------------
 */

static void json_round_trips(void **state)
{
    (void)state;
    struct oa_text t;
    change_a_few();
    struct oa_options before = options;
    oa_text_init(&t, context);
    oa_options_json(&options, &t);
    oa_options_default(&options);
    assert_int_equal(oa_options_from_json(context, &options, "config.json", t.s), OA_OK);
    assert_memory_equal(&options, &before, sizeof options);
    oa_text_free(&t);
}

/* ---- former names ---- */

/* Files and scripts of earlier versions: every former key is read from the command line, YAML and
 * JSON, and JSON files are written as before. */
static void former_keys_are_read_and_written_to_json(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        /* former key, value; key, value */
        { "compare.floor", "false", "compare.uniform_baseline", "false" },
        { "compare.looks", "any", "compare.sequential", "true" },
        { "compare.most_seeds", "7", "compare.max_seeds", "7" },
        { "cluster.patience", "30", "cluster.timeout", "30" },
        { "decode.patient", "true", "decode.optimal_stopping", "true" },
    };
    int renamed = 0;
    for (int i = 0; oa_option_at(i); i++)
        renamed += oa_option_at(i)->former != NULL;
    assert_int_equal(renamed, sizeof cases / sizeof cases[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const *k = cases[i];
        char yaml[128], member[128];
        struct oa_text t;
        struct oa_options changed;
        assert_int_equal(oa_option_number(k[0]), oa_option_number(k[2]));
        assert_string_equal(oa_option_at(oa_option_number(k[2]))->key, k[2]);
        assert_int_equal(set(k[0], k[1]), OA_OK);
        changed = options;
        oa_text_init(&t, context);
        assert_int_equal(oa_options_get(context, &options, k[2], &t), OA_OK);
        assert_string_equal(t.s, k[3]);
        oa_text_cut(&t, 0);
        assert_int_equal(oa_options_get(context, &options, k[0], &t), OA_OK);
        assert_string_equal(t.s, k[1]);

        oa_options_default(&options);
        snprintf(yaml, sizeof yaml, "%s: %s\n", k[0], k[1]);
        assert_int_equal(load(yaml), OA_OK);
        assert_memory_equal(&options, &changed, sizeof options);

        oa_text_cut(&t, 0);
        oa_options_json(&options, &t);
        const char *quote = strcmp(k[1], "any") == 0 ? "\"" : "";
        snprintf(member, sizeof member, "\"%s\": %s%s%s", strchr(k[0], '.') + 1, quote, k[1],
                 quote);
        assert_non_null(strstr(t.s, member));
        oa_options_default(&options);
        assert_int_equal(oa_options_from_json(context, &options, "config.json", t.s), OA_OK);
        assert_memory_equal(&options, &changed, sizeof options);
        oa_text_free(&t);
        oa_options_default(&options);
    }
    assert_int_equal(load("compare: {floor: false, uniform_baseline: false}\n"), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "compare.uniform_baseline is given a second time");
}

static void wrong_json_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        enum oa_error code;
        const char *part;
    } cases[] = {
        { "{\"model\": {\"layer\": 3}}", OA_ARGUMENT,
          "c.json: unknown option \"model.layer\"; did you mean" },
        { "{\"model\": {\"layers\": 3.5}}", OA_ARGUMENT, "c.json: model.layers is \"3.5\"" },
        { "{\"model\": {\"layers\": null}}", OA_FORMAT,
          "c.json: the option model.layers is not a text" },
        { "{\"model\": {\"layers\": [3]}}", OA_FORMAT,
          "c.json: the option model.layers is not a text" },
        { "{\"model\": 3}", OA_FORMAT, "\"model\" is not a section" },
        { "[]", OA_FORMAT, "a JSON object of sections" },
        { "{\"model\": {}, \"model\": {}}", OA_FORMAT, "c.json:1:" },
        { "{", OA_FORMAT, "not valid JSON" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(oa_options_from_json(context, &options, "c.json", cases[i].json),
                         cases[i].code);
        expect_error(cases[i].code, cases[i].part);
    }
}

#define FROM_DEFAULTS(test) cmocka_unit_test_setup_teardown(test, open_defaults, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FROM_DEFAULTS(defaults_are_those_of_the_table),
        FROM_DEFAULTS(ranges_hold_their_ends),
        FROM_DEFAULTS(every_default_is_in_its_range),
        FROM_DEFAULTS(values_come_back),
        FROM_DEFAULTS(wrong_values_are_refused),
        FROM_DEFAULTS(long_texts_are_refused),
        FROM_DEFAULTS(yaml_is_read),
        FROM_DEFAULTS(wrong_yaml_is_refused_with_its_line),
        FROM_DEFAULTS(yaml_round_trips),
        FROM_DEFAULTS(json_round_trips),
        FROM_DEFAULTS(wrong_json_is_refused),
        FROM_DEFAULTS(former_keys_are_read_and_written_to_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
