/* SPDX-License-Identifier: Apache-2.0
 * Training as a whole, looping over the registry of mechanisms: same bits for any number of
 * threads, going on equals never having stopped, nothing allocates in the loop, the plan is exact,
 * losses fall, numbers that are not finite stop the run by name, and models that share a tensor
 * share its first value. */
#include "base/safetensors.h"
#include "setups.h"

#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text_file[] = "test_train_text.txt";

static int make_text(void **state)
{
    (void)state;
    return write_foxes_and_cats(text_file, short_form() ? 100 : 400);
}

static struct oa_options options(const char *attention, const char *precision, long steps)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    set_option(&o, "train.precision", precision);
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

/* Mechanisms that are not trained by their bare names: components are wanted, the default sees
 * nothing but the token itself, or sees all of so short a context. */
static const struct {
    const char *name, *spec;
} stand_ins[] = { { "mix", "mix(softmax, random, dense)" },
                  { "pattern", "pattern(previous)" },
                  { "local", "local(window=6)" },
                  { "block-local", "block-local(size=8)" },
                  { "block-sparse", "block-sparse(block=6, from=local)" },
                  { "longformer", "longformer(window=6)" },
                  { "bigbird", "bigbird(block=4, random=1)" } };

/* The attention to train for the i-th mechanism, NULL past the end; softmax stands in for those
 * that a language model refuses. After those, attentions that training moves without a gradient. */
static const char *spec_of(int i)
{
    static const char *const more[] = { "performer(kernel=aderf, features=9)",
                                        "performer(redraw=3)", NULL };
    int mechanisms = 0;
    while (oa_mechanism_at(mechanisms))
        mechanisms++;
    if (i >= mechanisms)
        return more[i - mechanisms];
    const struct oa_mechanism *m = oa_mechanism_at(i);
    for (size_t k = 0; k < sizeof stand_ins / sizeof *stand_ins; k++)
        if (strcmp(m->name, stand_ins[k].name) == 0)
            return stand_ins[k].spec;
    return m->can & OA_CAN_CAUSAL ? m->name : "softmax";
}

struct outcome {
    enum oa_error error;
    struct oa_run run;
    oa_context *c;
    int lines; /* progress lines: the first comes after step 1, the last after the last step */
    long first, last; /* allocations at these two */
    double rate;      /* tokens/s of the newest */
    char sentence[512];
};

static void note_line(void *argument, int level, const char *line)
{
    struct outcome *out = argument;
    if (level != 1 || !out->c)
        return;
    const char *loss = strstr(line, "loss ");
    if (loss)
        sscanf(loss, "loss %*f, %lf tokens/s", &out->rate);
    out->last = oa_allocations(out->c);
    if (out->lines++ == 0)
        out->first = out->last;
}

static struct outcome train(const struct oa_options *o, int threads, const char *folder,
                            bool resume)
{
    struct outcome out = { 0 };
    struct oa_workload w;
    oa_context *c = oa_open(
        &(struct oa_settings){ .threads = threads, .log = note_line, .log_argument = &out });
    assert_int_equal(oa_workload_open(c, o, &w), OA_OK);
    out.c = c;
    struct oa_train_request r = { .options = o,
                                  .workload = &w,
                                  .folder = folder,
                                  .resume = resume,
                                  .keep = true,
                                  .title = "test" };
    out.error = oa_train_run(c, &r, &out.run);
    const char *why;
    oa_last_error(c, &why);
    snprintf(out.sentence, sizeof out.sentence, "%s", why ? why : "");
    oa_run_free(&out.run);
    oa_workload_close(&w);
    oa_close(c);
    return out;
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
    static const int threads[] = { 3, 2, 7 };
    bool no_bits =
        only_threads() || only_memory(); /* one thread touches nothing that several do not */
    for (int i = 0; spec_of(i); i++)
        for (int p = 0; p < 2; p++) {
            struct oa_options o = options(spec_of(i), precisions[p], 4);
            remove_folder("test_train_one");
            if (!no_bits)
                assert_int_equal(train(&o, 1, "test_train_one", false).error, OA_OK);
            for (int t = 0; t < (no_bits ? 1 : 3); t++) {
                remove_folder("test_train_many");
                assert_int_equal(train(&o, threads[t], "test_train_many", false).error, OA_OK);
                if (!no_bits)
                    assert_same_file("test_train_one/model.safetensors",
                                     "test_train_many/model.safetensors");
            }
        }
}

/* Rows, weights and moments of several items of work each: those of the small models above are one.
 */
static void test_threads_share_long_arrays(void **state)
{
    (void)state;
    struct oa_options o = options("softmax", "f32", 2);
    o.model_width = 128;
    o.model_heads = 4;
    o.train_batch = 16;
    o.train_clip = 0.1;
    remove_folder("test_train_one");
    remove_folder("test_train_many");
    assert_int_equal(train(&o, 1, "test_train_one", false).error, OA_OK);
    assert_int_equal(train(&o, 3, "test_train_many", false).error, OA_OK);
    assert_same_file("test_train_one/model.safetensors", "test_train_many/model.safetensors");
}

static void test_going_on_gives_the_same_bits(void **state)
{
    (void)state;
    struct oa_options o =
        options("random + softmax ; local(window=8) | performer(saderf)", "bf16", 12);
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

/* A damaged checkpoint is passed over for the one before; two damaged ones are an error that names
 * the file. */
/* Of the steps that this sitting took, whatever those before a stop took. */
static void test_speed_is_of_this_sitting(void **state)
{
    (void)state;
    struct oa_options o = small_model(text_file, 40);
    struct oa_run run = { 0 };
    remove_folder("speed");
    o.train_log_every = 1;
    assert_int_equal(train(&o, 1, "speed", false).error, OA_OK);
    o.train_steps = 60;
    struct outcome later = train(&o, 1, "speed", true);
    assert_int_equal(later.error, OA_OK);
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    assert_int_equal(oa_log_read(c, "speed", oa_task_find("lm")->measures, &run), OA_OK);
    assert_int_equal(run.points, 60);
    const struct oa_curve_point *end = &run.curve[59], *stop = &run.curve[39];
    double rate = (end->tokens - stop->tokens) / (end->seconds - stop->seconds);
    assert_true(fabs(later.rate - rate) <= 2e-3 * rate);
    oa_run_free(&run);
    oa_close(c);
    remove_folder("speed");
}

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
        struct oa_options o = options(spec_of(i), "bf16", short_form() ? 5 : 20);
        o.data_valid_fraction = 0;
        for (int threads = only_memory() ? 2 : 1; threads <= (only_memory() ? 2 : 3); threads++) {
            struct outcome out = train(&o, threads, NULL, false);
            assert_int_equal(out.error, OA_OK);
            assert_true(out.lines >= 2);
            if (out.first != out.last)
                fail_msg("%s, %d threads: %ld allocations after the first step", spec_of(i),
                         threads, out.last - out.first);
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
        struct oa_batch batch = {
            .rows = (int)rows, .length = LENGTH, .input = own, .target = own
        };
        oa_tape_reset(t, true, true, oa_stream_named(1, "dropout"));
        oa_model_loss(t, m, &batch, 1.0 / (ROWS * LENGTH));
        oa_tape_backward(t);
    }
}

/* Statistics that are kept stand still within a step, and the move after it does not depend on how
 * the batch was cut.
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
        assert_int_equal(oa_model_open(d, &o,
                                       (struct oa_model_form[]){ oa_language_model_form(27) }, true,
                                       &m[i]),
                         OA_OK);
        oa_tape_init(&t, d);
        for (long step = 1; step <= 3; step++) {
            gather(m[i], &t, i + 1);
            double *seen =
                oa_store_find(&m[i]->store, "decoder.layers.1.attention.features.seen")->value;
            assert_true(*seen == (double)(step - 1));
            assert_int_equal(oa_model_after_step(m[i], step), OA_OK);
            assert_true(*seen == (double)step);
        }
        oa_tape_free(&t);
    }
    for (int i = 0; i < 3; i++) {
        char name[80];
        snprintf(name, sizeof name, "decoder.layers.1.attention.features.%s", names[i]);
        const struct oa_parameter *p = oa_store_find(&m[0]->store, name),
                                  *q = oa_store_find(&m[1]->store, name);
        for (long k = 0; k < p->count; k++)
            assert_true(fabs(((double *)p->value)[k] - ((double *)q->value)[k]) < 1e-12);
    }
    oa_model_close(m[0]);
    oa_model_close(m[1]);
    oa_device_close(d);
    oa_close(c);
}

static void check_plan(const struct oa_options *o)
{
    struct oa_plan plan;
    oa_context *c = oa_open(NULL);
    struct oa_workload w;
    assert_int_equal(oa_workload_open(c, o, &w), OA_OK);
    assert_int_equal(oa_plan_workload(c, o, &w, &plan), OA_OK);
    oa_workload_close(&w);
    oa_close(c);
    if (only_memory() && strcmp(o->data_task, "lm") == 0) /* the other tests here train them all */
        return;
    struct outcome real = train(o, 1, NULL, false);
    assert_int_equal(real.error, OA_OK);
    double planned = plan.memory_parameters + plan.memory_activations + plan.memory_scratch;
    if (real.run.peak_memory != planned)
        fail_msg("%s %s, precision %d: planned %.0f bytes, took %.0f", o->data_task,
                 o->model_attention, (int)o->train_precision, planned, real.run.peak_memory);
}

static void test_plan_is_exact(void **state)
{
    (void)state;
    static const char *const precisions[] = { "f32", "bf16" };
    for (int i = 0; spec_of(i); i++)
        for (int p = 0; p < 2; p++) {
            struct oa_options o = options(spec_of(i), precisions[p], 2);
            check_plan(&o);
        }
}

/* Of masked text the output layer sees hidden tokens alone: here 4 rows of round(0.15 · 22). */
static void test_plan_of_masked_text_is_exact(void **state)
{
    (void)state;
    struct oa_options o = options("softmax", "f32", 2), few = o;
    struct oa_plan plan[2];
    snprintf(o.data_task, sizeof o.data_task, "mlm");
    check_plan(&o);
    few = o;
    few.data_mask_share = 0.05;
    for (int i = 0; i < 2; i++) {
        struct oa_workload w;
        oa_context *c = oa_open(NULL);
        assert_int_equal(oa_workload_open(c, i ? &few : &o, &w), OA_OK);
        assert_int_equal(oa_plan_workload(c, i ? &few : &o, &w, &plan[i]), OA_OK);
        oa_workload_close(&w);
        oa_close(c);
    }
    /* round(0.05 · 22) are two less a row: three products over the width, and five operations a
     * logit of the softmax */
    assert_true(plan[0].flops - plan[1].flops == (3 * 2 * 32 + 5) * (2.0 * 4) * plan[0].vocabulary);
}

/* ---- learning: a task that attention is needed for, and what is reached without it ---- */

static const char chain_file[] = "test_train_chain.txt";
enum { LETTERS = 16, CHAIN = 16000, CHAIN_VALID = CHAIN / 10 };
#define CHAIN_NOISE 0.2

/* Each letter follows the one before the last (… a · b · c …), or is any letter at all, once in
 * five times. The letter that a token is says nothing of the next one: who does not see the one
 * before can only guess. */
static void make_chain(char text[CHAIN])
{
    struct oa_stream s = oa_stream_named(5, "chain");
    for (uint64_t i = 0; i < CHAIN; i++) {
        bool any = i < 2 || oa_random_uniform(s, 2 * i) < CHAIN_NOISE;
        text[i] = (char)(any ? 'a' + (int)(LETTERS * oa_random_uniform(s, 2 * i + 1))
                             : 'a' + (text[i - 2] - 'a' + 1) % LETTERS);
    }
    FILE *f = fopen(chain_file, "w");
    assert_int_equal(fwrite(text, 1, CHAIN, f), CHAIN);
    assert_int_equal(fclose(f), 0);
}

/* What is reached on the validation text, in nats a letter: by guessing from the token alone (the
 * least that any function of it can cost, as the counts of pairs are taken from that very text); by
 * a model with a uniform map, in the same training; and by the law of the chain. */
struct floors {
    double alone, uniform, law;
};

static double cost_alone(const char *text, long n)
{
    double count[LETTERS][LETTERS] = { { 0 } }, all[LETTERS] = { 0 }, sum = 0;
    for (long i = 1; i < n; i++) {
        count[text[i - 1] - 'a'][text[i] - 'a']++;
        all[text[i - 1] - 'a']++;
    }
    for (int a = 0; a < LETTERS; a++)
        for (int b = 0; b < LETTERS; b++)
            sum -= count[a][b] > 0 ? count[a][b] * log(count[a][b] / all[a]) : 0;
    return sum / (double)(n - 1);
}

static double cost_of_law(const char *text, long n)
{
    double sum = 0, any = CHAIN_NOISE / LETTERS;
    for (long i = 2; i < n; i++)
        sum -=
            log(text[i] - 'a' == (text[i - 2] - 'a' + 1) % LETTERS ? 1 - CHAIN_NOISE + any : any);
    return sum / (double)(n - 2);
}

static double learn(const char *attention, const char *optimizer, double lr)
{
    struct oa_options o = options(attention, "f32", 180);
    snprintf(o.data_train, sizeof o.data_train, "%s", chain_file);
    set_option(&o, "train.optimizer", optimizer);
    o.model_dropout = 0;
    o.train_lr = lr;
    struct outcome out = train(&o, 2, NULL, false);
    assert_int_equal(out.error, OA_OK);
    return out.run.valid_loss;
}

#define CHAIN_RATE 1e-2

static struct floors make_floors(void)
{
    static char text[CHAIN];
    static struct floors f;
    if (f.law > 0) /* made already */
        return f;
    make_chain(text);
    const char *valid = text + CHAIN - CHAIN_VALID;
    f = (struct floors){ .alone = cost_alone(valid, CHAIN_VALID),
                         .uniform =
                             learn("random(frozen, init=uniform, sigma=0)", "adamw", CHAIN_RATE),
                         .law = cost_of_law(valid, CHAIN_VALID) };
    assert_true(f.law < 1.1 && f.uniform > f.law + 1 && f.alone > f.uniform &&
                f.alone < log(LETTERS));
    return f;
}

/* A third of the way, or more, from what a uniform map reaches to the law of the chain. Two are
 * slow and must be better than a uniform map only: token mixing, which starts as a small perceptron
 * along the length, and the sketched polynomial, whose way through so short a training depends on
 * rounding. And nobody is better than the law, which only one who sees the letter that is to be
 * guessed could be. */
static void assert_learnt(const char *what, double loss, const struct floors *f)
{
    bool slow = strcmp(what, "mixer") == 0 || strcmp(what, "polysketch") == 0;
    double way = slow ? 0.2 : (f->uniform - f->law) / 3;
    if (!(loss < f->uniform - way))
        fail_msg("%s: validation loss %.4f; a uniform map reaches %.4f", what, loss, f->uniform);
    if (!(loss > f->law - 0.01))
        fail_msg("%s: validation loss %.4f, less than the %.4f that the text allows", what, loss,
                 f->law);
}

static void test_every_mechanism_learns(void **state)
{
    (void)state;
    struct floors f = make_floors();
    for (int i = 0; spec_of(i); i++)
        assert_learnt(spec_of(i), learn(spec_of(i), "adamw", CHAIN_RATE), &f);
}

/* Exceptions by construction: a token that sees itself alone costs what a guess from it costs, and
 * the frozen Random Synthesizer stays near the uniform map that it starts from. */
static void test_what_sees_nothing_learns_nothing(void **state)
{
    (void)state;
    struct floors f = make_floors();
    double alone = learn("pattern(current)", "adamw", CHAIN_RATE);
    double frozen = learn("fixed-random", "adamw", CHAIN_RATE);
    if (!(alone > f.alone && alone < f.alone + 0.1))
        fail_msg("pattern(current): %.4f, but a guess from the token alone costs %.4f", alone,
                 f.alone);
    if (!(fabs(frozen - f.uniform) < 0.15))
        fail_msg("fixed-random: %.4f, but a uniform map reaches %.4f", frozen, f.uniform);
}

static void test_optimizers_learn(void **state)
{
    (void)state;
    struct floors f = make_floors();
    assert_learnt("adamw", learn("softmax", "adamw", CHAIN_RATE), &f);
    assert_learnt("sgd", learn("softmax", "sgd", 0.3), &f);
    assert_learnt("adafactor", learn("softmax", "adafactor", 1e-2), &f);
    assert_learnt("muon", learn("softmax", "muon", CHAIN_RATE), &f);
    assert_learnt("lion", learn("softmax", "lion", 1e-3), &f);
}

static void test_divergence_is_named(void **state)
{
    (void)state;
    struct oa_options o = options("softmax", "f32", 50);
    o.train_lr = 1e3;
    o.train_clip = 0;
    o.train_optimizer = OA_OPTIMIZER_SGD;
    struct outcome out = train(&o, 2, NULL, false);
    assert_int_equal(out.error, OA_DIVERGED);
    assert_non_null(strstr(out.sentence, "step "));
    assert_non_null(strstr(out.sentence, "train.lr"));
}

/* What is set already is not advised. */
static void test_advice_fits_the_options(void **state)
{
    (void)state;
    char advice[OA_ADVICE];
    struct oa_options o = options("softmax", "f32", 1000);
    o.train_warmup = 100;
    o.train_lr = 0.5;
    assert_string_equal(oa_divergence_advice(&o, advice), "Lower train.lr (it is 0.5)");
    o.train_precision = OA_PRECISION_BF16;
    assert_string_equal(oa_divergence_advice(&o, advice),
                        "Lower train.lr (it is 0.5), or train with train.precision f32");
    o.train_precision = OA_PRECISION_F64;
    o.train_optimizer = OA_OPTIMIZER_SGD;
    o.train_clip = 0;
    o.train_warmup = 3;
    assert_string_equal(oa_divergence_advice(&o, advice),
                        "Lower train.lr (it is 0.5), clip the gradients (train.clip is 0), raise "
                        "train.warmup (it is "
                        "3), or use another train.optimizer than sgd");
    o.train_lr = 1.2345678e-300;
    o.train_warmup = 99999;
    o.train_steps = 1000000000;
    o.train_precision = OA_PRECISION_BF16;
    assert_true(strlen(oa_divergence_advice(&o, advice)) < OA_ADVICE - 1);
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
    assert_int_equal(
        oa_model_open(d, &o, (struct oa_model_form[]){ oa_language_model_form(27) }, false, &a),
        OA_OK);
    for (int i = 1; spec_of(i); i++) {
        o = options(spec_of(i), "f32", 1);
        int shared = 0;
        assert_int_equal(
            oa_model_open(d, &o, (struct oa_model_form[]){ oa_language_model_form(27) }, false, &b),
            OA_OK);
        for (int k = 0; k < b->store.count; k++) {
            const struct oa_parameter *q = b->store.parameter[k],
                                      *p = oa_store_find(&a->store, q->name);
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

/* ---- a step as a whole ---- */

static double *weights_after(const struct oa_options *o, long *count)
{
    oa_context *c = oa_open(NULL);
    struct oa_tensors *f;
    remove_folder("test_train_one");
    assert_int_equal(train(o, 2, "test_train_one", false).error, OA_OK);
    assert_int_equal(oa_tensors_open(c, "test_train_one/model.safetensors", &f), OA_OK);
    double *all = NULL;
    *count = 0;
    for (int i = 0; i < oa_tensors_count(f); i++) {
        const struct oa_array *a = oa_tensors_at(f, i);
        long n = (long)(a->bytes / oa_type_size(a->type));
        all = realloc(all, (size_t)(*count + n) * sizeof *all);
        assert_non_null(all);
        for (long k = 0; k < n; k++)
            all[(*count)++] = oa_array_value(a, (size_t)k);
    }
    oa_tensors_close(f);
    oa_close(c);
    return all;
}

static double distance(const double *a, const double *b, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* How far one step of plain gradient descent goes: lr times the gradient's norm, or lr times the
 * clip. */
static double length_of_a_step(double clip, double lr)
{
    struct oa_options o = options("softmax", "f64", 0);
    o.train_optimizer = OA_OPTIMIZER_SGD;
    o.train_schedule = OA_SCHEDULE_CONSTANT;
    o.train_warmup = 0;
    o.train_weight_decay = 0;
    o.train_lr = lr;
    o.train_clip = clip;
    long n;
    double *before = weights_after(&o, &n);
    o.train_steps = 1;
    double *after = weights_after(&o, &n), length = distance(before, after, n);
    free(before);
    free(after);
    return length;
}

static void test_clipping_bounds_the_step(void **state)
{
    (void)state;
    double norm = length_of_a_step(0, 1e-3) / 1e-3;
    assert_true(norm > 0.5);
    assert_true(fabs(length_of_a_step(norm / 3, 1e-3) / (1e-3 * norm / 3) - 1) < 1e-9);
    assert_true(fabs(length_of_a_step(norm / 3, 2e-3) / (2e-3 * norm / 3) - 1) < 1e-9);
    assert_true(fabs(length_of_a_step(norm * 1.01, 1e-3) / (1e-3 * norm) - 1) < 1e-9);
}

/* Rows are numbered through, so that 6 rows are the same 6 however they are cut. Plain descent,
 * without clipping: it goes another way when gradients have another size. */
static void test_micro_batches_add_up_to_a_batch(void **state)
{
    (void)state;
    static const long cuts[][2] = { { 6, 1 }, { 3, 2 }, { 2, 3 }, { 1, 6 } };
    struct oa_options o = options("softmax", "f64", 5);
    o.train_optimizer = OA_OPTIMIZER_SGD;
    o.train_clip = 0;
    o.train_lr = 0.1;
    o.model_dropout = 0;
    double *whole = NULL;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        long n;
        o.train_batch = cuts[i][0];
        o.train_accumulate = cuts[i][1];
        double *cut = weights_after(&o, &n);
        if (!whole) {
            whole = cut;
            continue;
        }
        assert_true(distance(whole, cut, n) < 1e-9);
        free(cut);
    }
    free(whole);
}

/* Numbers of which no two are equal, each under its name in the file and again when it is read. */
static void log_lines_have_numbers_under_their_names(void **state)
{
    static const struct oa_measure measures[] = {
        { .name = "loss" }, { .name = "bleu" }, { .name = "chrf" }, { .name = NULL }
    };
    static const struct oa_log_line line = { 7,    2.5,           3.25,  0.125,
                                             0.75, 12.5,          640,   measures,
                                             4096, 0.25,          0.375, { 0, 31.5, 62.5 },
                                             2,    { 0.25, 17.5 } };
    static const struct {
        const char *key;
        double value;
    } wanted[] = { { "step", 7 },
                   { "loss", 2.5 },
                   { "valid_loss", 3.25 },
                   { "bleu", 31.5 },
                   { "chrf", 62.5 },
                   { "lr", 0.125 },
                   { "gradient_norm", 0.75 },
                   { "seconds", 12.5 },
                   { "tokens", 640 },
                   { "tokens_per_second", 4096 },
                   { "communication", 0.25 },
                   { "communication_hidden", 0.375 } };
    struct oa_run run = { 0 }, again = { 0 };
    char *text;
    size_t length;
    (void)state;
    oa_context *c = oa_open(NULL);
    assert_int_equal(oa_directory_make(c, "test_train_log"), OA_OK);
    assert_int_equal(oa_log_add(c, "test_train_log", &line, &run), OA_OK);
    assert_int_equal(oa_file_read(c, "test_train_log/log.jsonl", &text, &length), OA_OK);
    json_t *root = json_loadb(text, length, 0, NULL);
    assert_int_equal(json_object_size(root), sizeof wanted / sizeof *wanted + 1);
    const json_t *epochs = json_object_get(root, "epochs");
    assert_int_equal(json_array_size(epochs), 2);
    assert_true(json_number_value(json_array_get(epochs, 0)) == 0.25 &&
                json_number_value(json_array_get(epochs, 1)) == 17.5);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (json_number_value(json_object_get(root, wanted[i].key)) != wanted[i].value)
            fail_msg("%s is wrong in %s", wanted[i].key, text);
    assert_int_equal(oa_log_read(c, "test_train_log", measures, &again), OA_OK);
    assert_int_equal(again.points, 1);
    assert_memory_equal(&again.curve[0].scores[1], &line.scores[1], 2 * sizeof *line.scores);
    assert_true(again.curve[0].step == 7 && again.curve[0].train_loss == 2.5 &&
                again.curve[0].valid_loss == 3.25 && again.curve[0].seconds == 12.5 &&
                again.curve[0].tokens == 640);
    json_decref(root);
    oa_free(text);
    oa_run_free(&run);
    oa_run_free(&again);
    oa_close(c);
    unlink("test_train_log/log.jsonl");
    rmdir("test_train_log");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clipping_bounds_the_step),
        cmocka_unit_test(test_micro_batches_add_up_to_a_batch),
        cmocka_unit_test(test_shared_tensors_start_equal),
        cmocka_unit_test(test_plan_is_exact),
        cmocka_unit_test(test_plan_of_masked_text_is_exact),
        cmocka_unit_test(test_nothing_allocates_in_the_loop),
        cmocka_unit_test(test_statistics_move_once_a_step),
        cmocka_unit_test(test_threads_give_the_same_bits),
        cmocka_unit_test(test_threads_share_long_arrays),
        cmocka_unit_test(test_going_on_gives_the_same_bits),
        cmocka_unit_test(test_speed_is_of_this_sitting),
        cmocka_unit_test(test_damaged_checkpoints),
        cmocka_unit_test(log_lines_have_numbers_under_their_names),
        cmocka_unit_test(test_divergence_is_named),
        cmocka_unit_test(test_advice_fits_the_options),
        cmocka_unit_test(test_optimizers_learn),
        cmocka_unit_test(test_what_sees_nothing_learns_nothing),
        cmocka_unit_test(test_every_mechanism_learns),
    };
    threads_only("test_threads_*");
    memory_without("*learn*"); /* longer runs of what has run with threads */
    return cmocka_run_group_tests(tests, make_text, NULL);
}
