/* SPDX-License-Identifier: Apache-2.0
 * train.only: with plain gradient descent the tensors that are named make the step that they make
 * when all are trained, bit for bit, and all others keep theirs, whatever the mechanism. Runs go
 * on with the same bits. */
#include "attention/attention.h"
#include "base/safetensors.h"
#include "setups.h"
#include "train/train.h"

#include <fnmatch.h>
#include <string.h>

static char *own;
static char error[1024];

static int make_text(void **state)
{
    (void)state;
    own = enter_own_folder();
    return own && write_foxes_and_cats("text.txt", 60) == 0 ? 0 : -1;
}

static int remove_text(void **state)
{
    (void)state;
    return leave_own_folder(own);
}

static struct oa_options descent(const char *attention, bool causal, long steps)
{
    struct oa_options o = small_model("text.txt", steps);
    set_option(&o, "data.task", causal ? "lm" : "mlm");
    set_option(&o, "model.attention", attention);
    set_option(&o, "model.bias", "true");
    set_option(&o, "train.schedule", "constant");
    set_option(&o, "train.optimizer", "sgd");
    o.model_layers = 2;
    o.model_heads = 2;
    o.train_batch = 2;
    o.train_warmup = 0;
    o.train_beta1 = o.train_weight_decay = o.train_clip = 0;
    o.train_lr = 0.1;
    o.train_eval_every = 0;
    o.train_final_tokens = 100;
    o.train_save_frozen = false;
    return o;
}

static enum oa_error try_train(const struct oa_options *o, const char *folder, bool resume)
{
    struct oa_workload w = { 0 };
    struct oa_run run = { 0 };
    oa_context *c = oa_open(NULL);
    struct oa_train_request r = {
        .options = o, .workload = &w, .folder = folder, .resume = resume, .keep = true
    };
    enum oa_error e = oa_workload_open(c, o, &w);
    if (e == OA_OK)
        e = oa_train_run(c, &r, &run);
    const char *why;
    oa_last_error(c, &why);
    snprintf(error, sizeof error, "%s", e == OA_OK ? "" : why);
    oa_run_free(&run);
    oa_workload_close(&w);
    oa_close(c);
    return e;
}

static void train(const struct oa_options *o, const char *folder, bool resume)
{
    if (try_train(o, folder, resume) != OA_OK)
        fail_msg("%s, %s: %s", o->model_attention, o->train_only, error);
}

static struct oa_tensors *open_model(oa_context *c, const char *folder)
{
    char path[300];
    struct oa_tensors *f;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(oa_tensors_open(c, path, &f), OA_OK);
    return f;
}

/* Tensors of "only" that match are those of `trained`, the others those of `initial`. How many
 * match, and are not as they were. */
static int compare_models(const char *attention, const char *pattern)
{
    oa_context *c = oa_open(NULL);
    struct oa_tensors *initial = open_model(c, "initial"), *all = open_model(c, "all"),
                      *only = open_model(c, "only");
    int changed = 0;
    for (int i = 0; i < oa_tensors_count(initial); i++) {
        const char *name = oa_tensors_at(initial, i)->name;
        const struct oa_array *was = oa_tensors_at(initial, i), *is = oa_tensors_find(only, name);
        bool named = fnmatch(pattern, name, 0) == 0;
        const struct oa_array *wanted = named ? oa_tensors_find(all, name) : was;
        assert_non_null(is);
        if (memcmp(is->data, wanted->data, is->bytes) != 0)
            fail_msg("%s, %s: %s is not that of the %s", attention, pattern, name,
                     named ? "run that trains all" : "start");
        changed += named && memcmp(is->data, was->data, is->bytes) != 0;
    }
    oa_tensors_close(initial);
    oa_tensors_close(all);
    oa_tensors_close(only);
    oa_close(c);
    return changed;
}

/* What mechanisms move without a gradient moves on. */
static void check_only(const char *attention, bool causal)
{
    static const char *const patterns[] = { "embedding.weight", "*.layers.0.*", "*norm*" };
    struct oa_options o = descent(attention, causal, 0);
    train(&o, "initial", false);
    o.train_steps = 1;
    train(&o, "all", false);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        set_option(&o, "train.only", patterns[i]);
        train(&o, "only", false);
        if (!compare_models(attention, patterns[i]))
            fail_msg("%s, %s: nothing was trained", attention, patterns[i]);
        remove_folder("only");
    }
    remove_folder("initial");
    remove_folder("all");
}

static void all_mechanisms(void **state)
{
    (void)state;
    static const char *const more[] = {
        "softmax(normalise=sink, relative=t5, temperature, diagonal, qknorm=layer)",
        "softmax(forget, gate=channel, kv=1)",
        "hedgehog",
        "retention",
        "gla",
        "gated-deltanet",
        "kda",
        "random + softmax",
        "factorized-random",
        "orthogonal(temperature)",
    };
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)); i++)
        check_only(m->plain ? m->plain : m->name, m->can & OA_CAN_CAUSAL);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        check_only(more[i], true);
}

static void memory_and_counts(void **state)
{
    (void)state;
    struct oa_options o = descent("softmax", true, 1);
    struct oa_workload w = { 0 };
    struct oa_plan all, few;
    oa_context *c = oa_open(NULL);
    o.model_width = 64;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_plan_workload(c, &o, &w, &all), OA_OK);
    set_option(&o, "train.only", "*.query.weight, *.key.weight");
    assert_int_equal(oa_plan_workload(c, &o, &w, &few), OA_OK);
    assert_true(few.trainable == 2 * 2 * 64 * 64);
    assert_true(few.trainable + few.frozen == all.trainable + all.frozen);
    /* of what is not trained there are no two moments, and of blocks no gradients */
    double blocks = 2 * (2 + 8) * 64 * 64, saved = all.memory_parameters - few.memory_parameters;
    assert_true(saved >= 4 * (2 * (all.trainable - few.trainable) + blocks));
    assert_true(few.flops < all.flops);
    oa_workload_close(&w);
    oa_close(c);
}

static void check_start(const char *name)
{
    oa_context *c = oa_open(NULL);
    struct oa_tensors *a = open_model(c, "first"), *b = open_model(c, "whole");
    const struct oa_array *x = oa_tensors_find(a, name), *y = oa_tensors_find(b, name);
    assert_memory_equal(x->data, y->data, x->bytes);
    oa_tensors_close(a);
    oa_tensors_close(b);
    oa_close(c);
}

/* Also where the values that stay are those of another run. */
static void a_resumed_run_has_the_same_bits(void **state)
{
    (void)state;
    struct oa_options o = descent("softmax", true, 3);
    set_option(&o, "train.optimizer", "adamw");
    o.train_lr = 1e-3;
    train(&o, "first", false);
    for (int from = 0; from < 2; from++) {
        set_option(&o, "train.init", from ? "first" : "");
        set_option(&o, "train.only", "*.attention.*,output.bias*, *norm.weight");
        assert_int_equal(try_train(&o, "part", false), OA_ARGUMENT); /* there is no such bias */
        set_option(&o, "train.only", "*.attention.*, *norm.weight");
        o.train_seed_init = 5;
        o.train_steps = 6;
        train(&o, "whole", false);
        o.train_steps = 2;
        train(&o, "part", false);
        o.train_steps = 6;
        train(&o, "part", true);
        shell("cmp whole/model.safetensors part/model.safetensors");
        if (from)
            check_start("embedding.weight");
        remove_folder("whole");
        o.train_steps = 7;
        set_option(&o, "train.only", "*.attention.*");
        assert_int_not_equal(try_train(&o, "part", true), OA_OK);
        assert_non_null(strstr(error, "train.only"));
        remove_folder("part");
    }
}

static void only_refusals(void **state)
{
    (void)state;
    struct oa_options o = descent("orthogonal", true, 1);
    set_option(&o, "train.only", "*.attention.*, *.querry.*");
    assert_int_equal(try_train(&o, "x", false), OA_ARGUMENT);
    assert_non_null(strstr(error, "no parameter has a name like \"*.querry.*\""));
    set_option(&o, "train.only", "*.query.weight");
    assert_int_equal(try_train(&o, "x", false), OA_ARGUMENT);
    assert_non_null(strstr(error, "its attention has it frozen"));
    set_option(&o, "train.only", " , ");
    assert_int_equal(try_train(&o, "x", false), OA_ARGUMENT);
    assert_non_null(strstr(error, "names no parameter"));
    assert_int_not_equal(access("x", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_mechanisms),
        cmocka_unit_test(memory_and_counts),
        cmocka_unit_test(a_resumed_run_has_the_same_bits),
        cmocka_unit_test(only_refusals),
    };
    return cmocka_run_group_tests(tests, make_text, remove_text);
}
