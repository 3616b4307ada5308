/* SPDX-License-Identifier: Apache-2.0
 * Training as a whole, looping over the registry of mechanisms: same bits for any number of threads, going on equals
 * never having stopped, nothing allocates in the loop, the plan is exact, losses fall, numbers that are not finite stop
 * the run by name, and models that share a tensor share its first value. */
#include "testing.h"

#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text_file[] = "test_train_text.txt";

/* A page of text with structure enough to learn from in a few dozen steps. */
static int make_text(void **state)
{
    (void)state;
    FILE *f = fopen(text_file, "w");
    for (int i = 0; i < 400; i++)
        fprintf(f, "the %s %s over the %s dog; ", i % 3 ? "quick" : "slow", i % 2 ? "fox jumps" : "cat leaps",
                i % 5 ? "lazy" : "tired");
    return fclose(f);
}

static struct oa_options options(const char *attention, const char *precision, long steps)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    snprintf(o.train_precision, sizeof o.train_precision, "%s", precision);
    snprintf(o.data_train, sizeof o.data_train, "%s", text_file);
    o.model_layers = 2;
    o.model_width = 32;
    o.model_heads = 2;
    o.model_context = 24;
    o.model_dropout = 0.1;
    o.train_batch = 4;
    o.train_steps = steps;
    o.train_warmup = 5;
    o.train_lr = 3e-3;
    o.train_eval_every = 0;
    o.train_log_every = 1000000;
    return o;
}

/* The attention to train for the i-th mechanism, NULL past the end; those that need components get some, and those that
 * a language model refuses have a stand-in. After those, attentions that training moves without a gradient. */
static const char *spec_of(int i)
{
    static const char *const more[] = { "performer(kernel=aderf, features=9)", "performer(redraw=3)", NULL };
    int mechanisms = 0;
    while (oa_mechanism_at(mechanisms))
        mechanisms++;
    if (i >= mechanisms)
        return more[i - mechanisms];
    const struct oa_mechanism *m = oa_mechanism_at(i);
    if (!(m->can & OA_CAN_CAUSAL))
        return "softmax";
    return strcmp(m->name, "mix") == 0 ? "mix(softmax, random, dense)" : m->name;
}

struct outcome {
    enum oa_error error;
    struct oa_run run;
    oa_context *c;
    int lines;        /* progress lines: the first comes after step 1, the last after the last step */
    long first, last; /* allocations at these two */
    char sentence[512];
};

static void count_allocations(void *argument, int level, const char *line)
{
    (void)line;
    struct outcome *out = argument;
    if (level != 1 || !out->c)
        return;
    out->last = oa_allocations(out->c);
    if (out->lines++ == 0)
        out->first = out->last;
}

static struct outcome train(const struct oa_options *o, int threads, const char *folder, bool resume)
{
    struct outcome out = { 0 };
    struct oa_workload w;
    oa_context *c =
        oa_open(&(struct oa_settings){ .threads = threads, .log = count_allocations, .log_argument = &out });
    assert_int_equal(oa_workload_open(c, o, &w), OA_OK);
    out.c = c;
    struct oa_train_request r = {
        .options = o, .workload = &w, .folder = folder, .resume = resume, .keep = true, .title = "test"
    };
    out.error = oa_train_run(c, &r, &out.run);
    const char *why;
    oa_last_error(c, &why);
    snprintf(out.sentence, sizeof out.sentence, "%s", why ? why : "");
    oa_run_free(&out.run);
    oa_workload_close(&w);
    oa_close(c);
    return out;
}

static void remove_folder(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void assert_same_file(const char *a, const char *b)
{
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    char *x, *y;
    size_t nx, ny;
    assert_int_equal(oa_file_read(c, a, &x, &nx), OA_OK);
    assert_int_equal(oa_file_read(c, b, &y, &ny), OA_OK);
    assert_int_equal(nx, ny);
    assert_memory_equal(x, y, nx);
    oa_free(x);
    oa_free(y);
    oa_close(c);
}

static void test_threads_give_the_same_bits(void **state)
{
    (void)state;
    static const char *const precisions[] = { "f32", "bf16" };
    static const int threads[] = { 2, 3, 7 };
    for (int i = 0; spec_of(i); i++)
        for (int p = 0; p < 2; p++) {
            struct oa_options o = options(spec_of(i), precisions[p], 4);
            remove_folder("test_train_one");
            assert_int_equal(train(&o, 1, "test_train_one", false).error, OA_OK);
            for (int t = 0; t < 3; t++) {
                remove_folder("test_train_many");
                assert_int_equal(train(&o, threads[t], "test_train_many", false).error, OA_OK);
                assert_same_file("test_train_one/model.safetensors", "test_train_many/model.safetensors");
            }
        }
}

static void test_going_on_gives_the_same_bits(void **state)
{
    (void)state;
    struct oa_options o = options("random + softmax ; local(window=8) | performer(saderf)", "bf16", 12);
    o.train_checkpoint_every = 4;
    o.train_log_every = 1;
    remove_folder("test_train_one");
    remove_folder("test_train_many");
    assert_int_equal(train(&o, 2, "test_train_one", false).error, OA_OK);
    assert_int_equal(train(&o, 2, "test_train_many", false).error, OA_OK);
    /* lose the newest: go on from step 8 */
    assert_int_equal(unlink("test_train_many/checkpoint-000000012.safetensors"), 0);
    assert_int_equal(unlink("test_train_many/model.safetensors"), 0);
    assert_int_equal(train(&o, 1, "test_train_many", true).error, OA_OK);
    assert_same_file("test_train_one/model.safetensors", "test_train_many/model.safetensors");
}

/* A damaged checkpoint is passed over for the one before; two damaged ones are an error that names the file. */
static void test_damaged_checkpoints(void **state)
{
    (void)state;
    struct oa_options o = options("softmax", "f32", 12);
    o.train_checkpoint_every = 6;
    remove_folder("test_train_one");
    remove_folder("test_train_many");
    assert_int_equal(train(&o, 2, "test_train_one", false).error, OA_OK);
    assert_int_equal(train(&o, 2, "test_train_many", false).error, OA_OK);
    assert_int_equal(truncate("test_train_many/checkpoint-000000012.safetensors", 5000), 0);
    assert_int_equal(train(&o, 2, "test_train_many", true).error, OA_OK);
    assert_same_file("test_train_one/model.safetensors", "test_train_many/model.safetensors");

    FILE *f = fopen("test_train_many/checkpoint-000000012.safetensors", "r+b");
    fseek(f, -9, SEEK_END);
    int byte = fgetc(f);
    fseek(f, -9, SEEK_END);
    fputc(byte ^ 1, f);
    fclose(f);
    assert_int_equal(unlink("test_train_many/checkpoint-000000006.safetensors"), 0);
    struct outcome altered = train(&o, 2, "test_train_many", true);
    assert_int_equal(altered.error, OA_FORMAT);
    assert_non_null(strstr(altered.sentence, "checkpoint-000000012.safetensors"));
    assert_non_null(strstr(altered.sentence, "altered"));
}

static void test_nothing_allocates_in_the_loop(void **state)
{
    (void)state;
    for (int i = 0; spec_of(i); i++) {
        struct oa_options o = options(spec_of(i), "bf16", 20);
        o.data_valid_fraction = 0;
        for (int threads = 1; threads <= 3; threads++) {
            struct outcome out = train(&o, threads, NULL, false);
            assert_int_equal(out.error, OA_OK);
            assert_true(out.lines >= 2);
            if (out.first != out.last)
                fail_msg("%s, %d threads: %ld allocations after the first step", spec_of(i), threads,
                         out.last - out.first);
        }
    }
}

/* Gradients and gathered statistics of `parts` micro-batches: equal shares of 4 rows. */
static void gather(struct oa_model *m, oa_tape *t, int parts)
{
    enum { ROWS = 4, LENGTH = 24 };
    int32_t tokens[ROWS * LENGTH];
    long rows = ROWS / parts;
    for (int i = 0; i < ROWS * LENGTH; i++)
        tokens[i] = (7 * i + i * i / 5) % 27;
    oa_store_zero_gradients(&m->store);
    for (int part = 0; part < parts; part++) {
        int32_t *own = tokens + part * rows * LENGTH;
        struct oa_batch batch = { (int)rows, LENGTH, own, own };
        oa_tape_reset(t, true, true, oa_stream_named(1, "dropout"));
        oa_model_loss(t, m, &batch, 1.0 / (ROWS * LENGTH));
        oa_tape_backward(t);
    }
}

/* Statistics that are kept stand still within a step, and the move after it does not depend on how the batch was cut.
 */
static void test_statistics_move_once_a_step(void **state)
{
    (void)state;
    static const char *const names[] = { "mean", "square", "seen" };
    struct oa_options o = options("performer(kernel=sderf, features=9)", "f64", 1);
    o.model_dropout = 0;
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    struct oa_model *m[2];
    oa_tape t;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F64, false, &d), OA_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(oa_model_open(d, &o, 27, true, &m[i]), OA_OK);
        oa_tape_init(&t, d);
        for (long step = 1; step <= 3; step++) {
            gather(m[i], &t, i + 1);
            double *seen = oa_store_find(&m[i]->store, "decoder.layers.1.attention.features.seen")->value;
            assert_true(*seen == (double)(step - 1));
            assert_int_equal(oa_model_after_step(m[i], step), OA_OK);
            assert_true(*seen == (double)step);
        }
        oa_tape_free(&t);
    }
    for (int i = 0; i < 3; i++) {
        char name[80];
        snprintf(name, sizeof name, "decoder.layers.1.attention.features.%s", names[i]);
        const struct oa_parameter *p = oa_store_find(&m[0]->store, name), *q = oa_store_find(&m[1]->store, name);
        for (long k = 0; k < p->count; k++)
            assert_true(fabs(((double *)p->value)[k] - ((double *)q->value)[k]) < 1e-12);
    }
    oa_model_close(m[0]);
    oa_model_close(m[1]);
    oa_device_close(d);
    oa_close(c);
}

static void test_plan_is_exact(void **state)
{
    (void)state;
    static const char *const precisions[] = { "f32", "bf16" };
    for (int i = 0; spec_of(i); i++)
        for (int p = 0; p < 2; p++) {
            struct oa_options o = options(spec_of(i), precisions[p], 2);
            struct oa_plan plan;
            oa_context *c = oa_open(NULL);
            struct oa_workload w;
            assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
            assert_int_equal(oa_plan_make(c, &o, oa_tokenizer_size(w.tokenizer), &plan), OA_OK);
            oa_workload_close(&w);
            oa_close(c);
            struct outcome real = train(&o, 1, NULL, false);
            assert_int_equal(real.error, OA_OK);
            double planned = plan.memory_parameters + plan.memory_activations + plan.memory_scratch;
            if (real.run.peak_memory != planned)
                fail_msg("%s %s: planned %.0f bytes, took %.0f", spec_of(i), precisions[p], planned,
                         real.run.peak_memory);
        }
}

/* A text of n equally likely letters costs ln n; this one has about 25 letters (3.2 nats) and much structure. */
static void test_every_mechanism_learns(void **state)
{
    (void)state;
    for (int i = 0; spec_of(i); i++) {
        struct oa_options o = options(spec_of(i), "f32", 120);
        o.model_dropout = 0;
        struct outcome out = train(&o, 2, NULL, false);
        assert_int_equal(out.error, OA_OK);
        if (!(out.run.valid_loss < 2.2))
            fail_msg("%s: validation loss %.4f after 120 steps", spec_of(i), out.run.valid_loss);
    }
}

static void test_optimizers_learn(void **state)
{
    (void)state;
    static const char *const names[] = { "adamw", "sgd", "adafactor" };
    static const double rates[] = { 3e-3, 0.3, 1e-2 };
    for (int i = 0; i < 3; i++) {
        struct oa_options o = options("softmax", "f32", 120);
        snprintf(o.train_optimizer, sizeof o.train_optimizer, "%s", names[i]);
        o.train_lr = rates[i];
        struct outcome out = train(&o, 2, NULL, false);
        assert_int_equal(out.error, OA_OK);
        if (!(out.run.valid_loss < 2.4))
            fail_msg("%s: validation loss %.4f after 120 steps", names[i], out.run.valid_loss);
    }
}

static void test_divergence_is_named(void **state)
{
    (void)state;
    struct oa_options o = options("softmax", "f32", 50);
    o.train_lr = 1e3;
    o.train_clip = 0;
    snprintf(o.train_optimizer, sizeof o.train_optimizer, "sgd");
    struct outcome out = train(&o, 2, NULL, false);
    assert_int_equal(out.error, OA_DIVERGED);
    assert_non_null(strstr(out.sentence, "step "));
    assert_non_null(strstr(out.sentence, "train.lr"));
}

/* Tensors that two models share by name and shape have the same first values. */
static void test_shared_tensors_start_equal(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    struct oa_model *a, *b;
    struct oa_options o = options("softmax", "f32", 1);
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    assert_int_equal(oa_model_open(d, &o, 27, false, &a), OA_OK);
    for (int i = 1; spec_of(i); i++) {
        o = options(spec_of(i), "f32", 1);
        int shared = 0;
        assert_int_equal(oa_model_open(d, &o, 27, false, &b), OA_OK);
        for (int k = 0; k < b->store.count; k++) {
            const struct oa_parameter *q = b->store.parameter[k], *p = oa_store_find(&a->store, q->name);
            if (!p || !p->trainable || !q->trainable || p->count != q->count)
                continue;
            assert_memory_equal(p->value, q->value, (size_t)p->count * sizeof(float));
            shared++;
        }
        assert_true(shared > 10);
        oa_model_close(b);
    }
    oa_model_close(a);
    oa_device_close(d);
    oa_close(c);
}

static void test_schedules(void **state)
{
    (void)state;
    struct oa_options o = options("softmax", "f32", 100);
    o.train_lr = 1;
    o.train_min_lr = 0.1;
    o.train_warmup = 10;
    assert_true(fabs(oa_learning_rate(&o, 5) - 0.5) < 1e-12);
    assert_true(fabs(oa_learning_rate(&o, 10) - 1) < 1e-12);
    assert_true(fabs(oa_learning_rate(&o, 55) - 0.55) < 1e-12);
    assert_true(fabs(oa_learning_rate(&o, 100) - 0.1) < 1e-12);
    snprintf(o.train_schedule, sizeof o.train_schedule, "linear");
    assert_true(fabs(oa_learning_rate(&o, 100) - 0.1) < 1e-12);
    snprintf(o.train_schedule, sizeof o.train_schedule, "inverse-sqrt");
    assert_true(fabs(oa_learning_rate(&o, 40) - 0.5) < 1e-12);
    snprintf(o.train_schedule, sizeof o.train_schedule, "constant");
    assert_true(fabs(oa_learning_rate(&o, 99) - 1) < 1e-12);
    o.train_warmup = 0;
    assert_true(fabs(oa_learning_rate(&o, 1) - 1) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_shared_tensors_start_equal),
        cmocka_unit_test(test_plan_is_exact),
        cmocka_unit_test(test_nothing_allocates_in_the_loop),
        cmocka_unit_test(test_statistics_move_once_a_step),
        cmocka_unit_test(test_threads_give_the_same_bits),
        cmocka_unit_test(test_going_on_gives_the_same_bits),
        cmocka_unit_test(test_damaged_checkpoints),
        cmocka_unit_test(test_divergence_is_named),
        cmocka_unit_test(test_optimizers_learn),
        cmocka_unit_test(test_every_mechanism_learns),
    };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
