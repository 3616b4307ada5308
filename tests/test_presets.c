/* SPDX-License-Identifier: Apache-2.0
 * The options that suit a task: they hold where nobody chose others, in whatever order options are
 * given.
 */
#include "testing.h"

#include "orthant/orthant.h"
#include "tasks/tasks.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG "presets-test.yaml"
#define RUN "presets-test"
static oa_context *context;
static oa_config *config;

static int open_config(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 1 });
    config = context ? oa_config_new(context) : NULL;
    return config ? 0 : -1;
}

static int close_config(void **state)
{
    (void)state;
    oa_config_free(config);
    oa_close(context);
    unlink(CONFIG);
    unlink(RUN "/config.json");
    rmdir(RUN);
    return 0;
}

static void anew(void)
{
    close_config(NULL);
    assert_int_equal(open_config(NULL), 0);
}

static void set(const char *key, const char *value)
{
    assert_int_equal(oa_config_set(config, key, value), OA_OK);
}

static void take(void *argument, const char *text, size_t length)
{
    char *into = argument;
    assert_true(strlen(into) + length < 1024);
    strncat(into, text, length);
}

static bool equal(const char *key, const char *a, const char *b)
{
    struct oa_options x, y;
    oa_options_default(&x);
    oa_options_default(&y);
    assert_int_equal(oa_options_set(context, &x, key, a), OA_OK);
    assert_int_equal(oa_options_set(context, &y, key, b), OA_OK);
    return memcmp(&x, &y, sizeof x) == 0;
}

static void expect(const char *key, const char *value)
{
    char text[1024] = "";
    assert_int_equal(
        oa_config_get(config, key, &(struct oa_output){ .sink = take, .argument = text }), OA_OK);
    text[strcspn(text, "\n")] = 0;
    assert_true(equal(key, text, value));
}

/* A row that is no option, or says what holds anyway, would do nothing. */
static void every_row_says_something(void **state)
{
    (void)state;
    const struct oa_task *t;
    int rows = 0;
    for (int i = 0; (t = oa_task_at(i)); i++) {
        for (const struct oa_preset *p = t->preset; p && p->key; p++, rows++) {
            int n = oa_option_number(p->key);
            assert_true(n >= 0);
            assert_false(equal(p->key, p->value, oa_option_at(n)->fallback));
            assert_true(!p->unless || oa_option_number(p->unless) >= 0);
            anew();
            set("data.task", t->name);
            expect(p->key, p->value);
            anew();
            set(p->key, oa_option_at(n)->fallback);
            set("data.task", t->name);
            expect(p->key, oa_option_at(n)->fallback);
        }
    }
    assert_true(rows > 20);
}

static void a_choice_holds_in_any_order(void **state)
{
    (void)state;
    set("data.task", "translate");
    expect("data.tokenizer", "bpe");
    expect("train.batch_tokens", "2048");
    set("data.tokenizer", "char");
    set("train.batch", "12"); /* a choice, though it is what holds anyway; tokens would hide it */
    expect("data.tokenizer", "char");
    expect("train.batch_tokens", "0");
    expect("train.label_smoothing", "0.1");
    set("data.task", "lm");
    expect("data.tokenizer", "char");
    expect("train.label_smoothing", "0");
    set("data.task", "dialogue");
    expect("model.source_context", "256");
    set("model.context", "100");
    expect("model.source_context", "0");
}

/* The tokenizer of the run that it starts from is the default then. */
static void a_start_brings_its_tokenizer(void **state)
{
    (void)state;
    set("data.task", "classify");
    set("train.init", "somewhere");
    expect("data.tokenizer", "char");
    expect("model.context", "256");
}

static void what_a_file_has_was_chosen(void **state)
{
    (void)state;
    static const char yaml[] = "model: {context: 64}\ndata: {task: classify}\n";
    assert_int_equal(oa_file_write(context, CONFIG, yaml, strlen(yaml)), OA_OK);
    assert_int_equal(oa_config_read(config, CONFIG), OA_OK);
    expect("model.context", "64");
    expect("model.pool", "mean");
    set("data.task", "translate");
    expect("model.context", "64");
    expect("model.pool", "cls");
}

/* Comparisons of an experiment have the defaults of the table: what reads its file does not add
 * what a task has of its own, and no other number of warm-up steps. */
static void an_experiment_is_complete(void **state)
{
    (void)state;
    static const char yaml[] = "claim: {title: It is}\ndata: {task: classify}\n"
                               "train: {steps: 50}\ncompare: {seeds: 4}\n";
    assert_int_equal(oa_file_write(context, CONFIG, yaml, strlen(yaml)), OA_OK);
    set("data.task", "classify");
    set("model.width", "32");
    expect("model.dropout", "0.1");
    assert_int_equal(oa_config_read(config, CONFIG), OA_OK);
    expect("model.dropout", "0");
    expect("model.context", "64");
    expect("train.warmup", "100");
    expect("train.steps", "50");
    expect("model.width", "32"); /* given before */
    set("model.context", "16");  /* and after */
    expect("model.context", "16");
    expect("model.dropout", "0");
}

/* Epsilons of norms: layer_norm_epsilon of GPT2Config, rms_norm_eps of Llama 2 and 3,
 * layer_norm_eps of BertConfig and ViTConfig (transformers 5.24.0); nanochat gives rms_norm of
 * PyTorch none, which is then that of float, 2^−23. Activations: GPT-2 has gelu_new, the
 * approximation. */
static void presets_have_the_norms_of_their_models(void **state)
{
    static const struct {
        const char *preset, *kind, *place, *epsilon, *activation;
    } models[] = {
        { "gpt2", "layer", "pre", "1e-5", "gelu" },
        { "llama", "rms", "pre", "1e-5", "silu" },
        { "nanochat", "rms", "pre", "1.1920929e-7", "relu2" },
        { "bert", "layer", "post", "1e-12", "gelu-exact" },
        { "vit", "layer", "pre", "1e-12", "gelu-exact" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        anew();
        set("model.preset", models[i].preset);
        expect("model.norm_kind", models[i].kind);
        expect("model.norm", models[i].place);
        expect("model.norm_epsilon", models[i].epsilon);
        expect("model.activation", models[i].activation);
    }
}

/* Options that are read back from a run were chosen then, whatever its task has now. */
static void a_run_keeps_its_options(void **state)
{
    (void)state;
    struct oa_options plain;
    struct oa_text text;
    oa_options_default(&plain);
    oa_text_init(&text, context);
    assert_int_equal(oa_options_set(context, &plain, "data.task", "classify"), OA_OK);
    oa_text_printf(
        &text,
        "{\"orthant\": \"1\", \"architecture\": \"encoder\", \"vocabulary\": 3, \"options\": ");
    oa_options_json(&plain, &text);
    oa_text_add(&text, "}", 1);
    mkdir(RUN, 0777);
    assert_int_equal(oa_file_write(context, RUN "/config.json", text.s, text.length), OA_OK);
    oa_text_free(&text);
    assert_int_equal(oa_config_read_run(config, RUN), OA_OK);
    set("train.seed", "2");
    expect("model.context", "64");
    expect("data.tokenizer", "char");
    expect("data.task", "classify");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_row_says_something, open_config, close_config),
        cmocka_unit_test_setup_teardown(a_choice_holds_in_any_order, open_config, close_config),
        cmocka_unit_test_setup_teardown(a_start_brings_its_tokenizer, open_config, close_config),
        cmocka_unit_test_setup_teardown(what_a_file_has_was_chosen, open_config, close_config),
        cmocka_unit_test_setup_teardown(an_experiment_is_complete, open_config, close_config),
        cmocka_unit_test_setup_teardown(presets_have_the_norms_of_their_models, open_config,
                                        close_config),
        cmocka_unit_test_setup_teardown(a_run_keeps_its_options, open_config, close_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
