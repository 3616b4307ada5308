/* SPDX-License-Identifier: Apache-2.0
 *
 * What a comparison's runs are given and what is said of it, held against numbers that do not come
 * from the comparison: FLOPs of `plan`, parameters counted by hand, clocks that the test makes up,
 * a uniform average that the test computes. */
#include "setups.h"

#include "base/checksum.h"

#include "api/api.h"
#include "device/device.h"
#include "report/report.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text_file[] = "test_budgets_text.txt", folder[] = "test_budgets_comparison";
enum { WIDTH = 32, HEADS = 2, LENGTH = 24, LAYERS = 2, STEPS = 40 };
#define FLOOR "random(frozen, init=normal, sigma=0)"

static int make_text(void **state)
{
    (void)state;
    return write_foxes_and_cats(text_file, 400);
}

static struct oa_options options(const char *equal)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.data_train, sizeof o.data_train, "%s", text_file);
    set_option(&o, "compare.equal", equal);
    o.compare_seeds = 2;
    o.model_layers = LAYERS;
    o.model_width = WIDTH;
    o.model_heads = HEADS;
    o.model_context = LENGTH;
    o.train_batch = 4;
    o.train_steps = STEPS;
    o.train_warmup = 5;
    o.train_eval_every = 10;
    o.train_eval_tokens = 100;
    return o;
}

/* ---- comparisons ---- */

struct held {
    oa_context *c;
    struct oa_comparison k;
    enum oa_error error;
    char sentence[512];
};

static struct held hold(const struct oa_options *o, const char *const *attentions, int count,
                        bool resume)
{
    struct held h = { .c = oa_open(&(struct oa_settings){ .threads = 1 }) };
    struct oa_comparison_request r = {
        .options = o, .attentions = attentions, .count = count, .folder = folder
    };
    if (!resume)
        assert_int_equal(system("rm -rf test_budgets_comparison"), 0);
    h.error = oa_comparison_run(h.c, &r, &h.k);
    const char *why;
    oa_last_error(h.c, &why);
    snprintf(h.sentence, sizeof h.sentence, "%s", why ? why : "");
    return h;
}

static void let_go(struct held *h)
{
    oa_comparison_free(&h->k);
    oa_close(h->c);
}

static struct oa_plan plan_of(const struct held *h, struct oa_options o, const char *attention)
{
    struct oa_workload w;
    struct oa_plan plan;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    assert_int_equal(oa_workload_open(h->c, &o, &w), OA_OK);
    assert_int_equal(oa_plan_workload(h->c, &o, &w, &plan), OA_OK);
    oa_workload_close(&w);
    return plan;
}

static const char *const three[] = { "softmax", "random", "performer(features=8)" };

static void equal_steps(void **state)
{
    (void)state;
    struct oa_options o = options("tokens");
    struct held h = hold(&o, three, 3, false);
    assert_int_equal(h.error, OA_OK);
    for (int e = 0; e < h.k.count; e++)
        for (int s = 0; s < 2; s++) {
            assert_int_equal(h.k.entries[e].runs[s].steps, STEPS);
            assert_true(h.k.entries[e].runs[s].tokens == STEPS * 4.0 * LENGTH);
        }
    let_go(&h);
}

static void equal_flops(void **state)
{
    (void)state;
    struct oa_options o = options("flops");
    struct held h = hold(&o, three, 3, false);
    assert_int_equal(h.error, OA_OK);
    double budget = STEPS * plan_of(&h, o, "softmax").flops;
    for (int e = 0; e < h.k.count; e++) {
        double step = plan_of(&h, o, h.k.entries[e].attention).flops;
        for (int s = 0; s < 2; s++) {
            const struct oa_run *run = &h.k.entries[e].runs[s];
            assert_true(run->flops == step * (double)run->steps);
            assert_true(fabs(run->flops - budget) <= 0.5 * step);
        }
    }
    assert_true(h.k.entries[1].runs[0].steps >
                STEPS); /* random has no products of queries and keys */
    assert_true(h.k.entries[2].runs[0].steps < STEPS); /* features cost more at this length */
    let_go(&h);
}

/* Embedding, positions, norms; a layer: value and output, what the attention has of its own, two
 * norms, feed-forward.
 */
static double counted(double vocabulary, double own, double ffn)
{
    double layer = 2 * WIDTH * WIDTH + own + 2 * WIDTH + 2 * WIDTH * ffn;
    return vocabulary * WIDTH + LENGTH * WIDTH + WIDTH + LAYERS * layer;
}

static long ffn_of(const struct held *h, int entry)
{
    char path[256];
    struct oa_model_form form;
    struct oa_options o;
    oa_options_default(&o);
    snprintf(path, sizeof path, "%s/runs/attention-%02d/seed-1/config.json", folder, entry + 1);
    assert_int_equal(oa_config_load(h->c, path, &o, &form), OA_OK);
    return o.model_ffn;
}

static void equal_parameters(void **state)
{
    (void)state;
    struct oa_options o = options("params");
    struct held h = hold(&o, three, 2, false);
    assert_int_equal(h.error, OA_OK);
    double vocabulary = (double)plan_of(&h, o, "softmax").vocabulary;
    static const double own[] = { 2 * WIDTH * WIDTH, HEADS * LENGTH * LENGTH, 0 };
    double wanted = counted(vocabulary, own[0], 4 * WIDTH);
    for (int e = 0; e < 3; e++) {
        assert_true(h.k.entries[e].trainable == counted(vocabulary, own[e], (double)ffn_of(&h, e)));
        assert_true(fabs(h.k.entries[e].trainable - wanted) <=
                    LAYERS * WIDTH); /* half a unit of every layer */
        assert_int_equal(h.k.entries[e].runs[0].steps, STEPS);
        assert_int_equal(h.k.entries[e].ffn, ffn_of(&h, e));
    }
    assert_int_equal(ffn_of(&h, 0), 4 * WIDTH);
    assert_true(ffn_of(&h, 1) > 4 * WIDTH);
    let_go(&h);
}

/* What the pace of a run says that it was given. */
static double budget_of(const struct held *h, int entry, int seed)
{
    char path[256];
    json_t *root;
    snprintf(path, sizeof path, "%s/runs/attention-%02d/seed-%d/pace.json", folder, entry + 1,
             seed + 1);
    assert_int_equal(oa_checksummed_read(h->c, path, "", &root), OA_OK);
    double seconds = json_real_value(json_object_get(root, "seconds"));
    json_decref(root);
    return seconds;
}

/* Everyone but the first trains until it has had what the first one's run of the same seed took, to
 * half a step, and the last step may be a long one. How many steps that are is the machine's
 * affair. */
static void equal_time(void **state)
{
    (void)state;
    static const char *const two[] = { "random", "performer(features=256)" };
    struct oa_options o = options("time");
    o.train_steps = 150;
    struct held h = hold(&o, two, 2, false);
    assert_int_equal(h.error, OA_OK);
    for (int s = 0; s < 2; s++) {
        assert_int_equal(h.k.entries[0].runs[s].steps, 150);
        assert_true(h.k.entries[0].runs[s].processor_seconds > 0);
        for (int e = 1; e < 3; e++) {
            const struct oa_run *run = &h.k.entries[e].runs[s];
            double given = budget_of(&h, e, s), got = run->processor_seconds / given;
            assert_true(given == h.k.entries[0].runs[s].processor_seconds);
            if (!(got * (1 + 0.5 / (double)run->steps) > 1 - 1e-9 && got < 1.4))
                fail_msg("%s, seed %d: %.2f of the first one's processor time",
                         h.k.entries[e].attention, s + 1, got);
        }
    }
    let_go(&h);
}

static void seconds_need_equal_time(void **state)
{
    (void)state;
    struct oa_options o = options("tokens");
    o.train_seconds = 1;
    struct held h = hold(&o, three, 2, false);
    assert_int_equal(h.error, OA_ARGUMENT);
    assert_non_null(strstr(h.sentence, "--equal time"));
    let_go(&h);
}

/* ---- the pace of a run by the clock ---- */

static double rate_at(const struct oa_pace *p, const struct oa_options *o, long step)
{
    return oa_pace_rate(p, o, step);
}

/* 1,000 steps of a clock that the test makes up: the second half of the run is three times as slow
 * as the first. */
static void learning_rate_follows_time(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_pace p, again;
    struct oa_options o = options("time");
    o.train_seconds = 10;
    o.train_warmup = 0;
    o.train_lr = 1;
    o.train_min_lr = 0;
    o.train_schedule = OA_SCHEDULE_LINEAR;
    assert_int_equal(oa_pace_open(c, &o, &p), OA_OK);
    long step = 0;
    double used = 0;
    while (!oa_pace_ended(&p, step)) {
        double share = used / 10;
        step++;
        if (fabs(rate_at(&p, &o, step) - (1 - share)) > 2.0 / OA_PACE_LEVELS)
            fail_msg("step %ld at %.3f of the time has the rate %.4f", step, share,
                     rate_at(&p, &o, step));
        used += used < 5 ? 0.01 : 0.03;
        oa_pace_advance(&p, step, used);
        assert_true(step < 2000);
    }
    assert_true(fabs(used - 10) < 0.03);
    assert_in_range(step, 500 + 165, 500 + 169);
    assert_true(rate_at(&p, &o, 1) == 1 && rate_at(&p, &o, step) == 0);

    /* The file gives the same rates again, and no other number of steps. */
    assert_int_equal(oa_pace_save(c, &p, "processor", "test_budgets_pace.json"), OA_OK);
    o.train_seconds = 0;
    snprintf(o.train_pace, sizeof o.train_pace, "test_budgets_pace.json");
    assert_int_equal(oa_pace_open(c, &o, &again), OA_OK);
    for (long i = 1; i <= step; i++) {
        assert_true(rate_at(&again, &o, i) == rate_at(&p, &o, i));
        assert_true(oa_pace_ended(&again, i) == (i == step));
    }
    oa_close(c);
}

static void warmup_is_in_steps(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_pace p;
    struct oa_options o = options("time");
    o.train_seconds = 1;
    o.train_warmup = 50;
    o.train_lr = 1;
    assert_int_equal(oa_pace_open(c, &o, &p), OA_OK);
    for (long step = 1; step < 100; step++)
        oa_pace_advance(&p, step, 0.01 * (double)step);
    assert_true(fabs(oa_pace_rate(&p, &o, 25) - 0.5) < 1e-12);
    assert_true(fabs(oa_pace_rate(&p, &o, 50) - 1) < 1e-12);
    assert_true(fabs(oa_pace_rate(&p, &o, 75) - 0.55) < 0.02); /* cosine, half-way from 1 to 0.1 */
    oa_close(c);
}

/* A pace that is newer than the checkpoint: what came after step 50 is forgotten, what came before
 * stays. */
static void going_on_forgets_what_came_later(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_pace p, again;
    struct oa_options o = options("time");
    o.train_seconds = 1;
    assert_int_equal(oa_pace_open(c, &o, &p), OA_OK);
    for (long step = 1; step <= 100; step++)
        oa_pace_advance(&p, step, 0.01 * (double)step);
    assert_true(oa_pace_ended(&p, 100));
    assert_int_equal(oa_pace_save(c, &p, "processor", "test_budgets_pace.json"), OA_OK);
    assert_int_equal(oa_pace_open(c, &o, &again), OA_OK);
    assert_int_equal(oa_pace_resume(c, &again, "test_budgets_pace.json", 50), OA_OK);
    assert_int_equal(again.levels, OA_PACE_LEVELS / 2 + 1);
    assert_int_equal(again.began[again.levels - 1], 51);
    assert_false(oa_pace_ended(&again, 100));
    for (long step = 1; step <= 51; step++)
        assert_true(oa_pace_rate(&again, &o, step) == oa_pace_rate(&p, &o, step));
    oa_close(c);
}

/* With a checksum, where it is JSON at all. */
/* A run of 100 steps in 1 s that is given 2 s goes on to step 200, at the rates of a run that was
 * to last 2 s; with the rates of a cosine from 1 to 0.1 without a warm-up. What is not its own pace
 * any more is not repeated. */
static void lengthened_pace(void **state)
{
    static const double pi = 3.14159265358979323846;
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_options o = options("time");
    struct oa_pace p, longer, again;
    o.train_lr = 1;
    o.train_warmup = 0;
    o.train_seconds = 1;
    assert_int_equal(oa_pace_open(c, &o, &p), OA_OK);
    for (long step = 1; step <= 100; step++)
        oa_pace_advance(&p, step, 0.01 * (double)step);
    assert_true(oa_pace_ended(&p, 100));
    assert_int_equal(oa_pace_save(c, &p, "processor", "test_budgets_pace.json"), OA_OK);
    o.train_seconds = 2;
    assert_int_equal(oa_pace_open(c, &o, &longer), OA_OK);
    assert_int_equal(oa_pace_resume(c, &longer, "test_budgets_pace.json", 100), OA_OK);
    for (long step = 100; step <= 200; step++) {
        double now = 0.1 + 0.9 * 0.5 * (1 + cos(pi * (double)step / 200));
        assert_true(fabs(oa_pace_rate(&longer, &o, step) - now) < 0.02);
        assert_int_equal(oa_pace_ended(&longer, step - 1), false);
        oa_pace_advance(&longer, step, 0.01 * (double)step);
    }
    assert_true(oa_pace_ended(&longer, 200));
    assert_int_equal(longer.changed, 100);
    for (int i = 1; i < longer.levels; i++)
        assert_true(longer.began[i] >= longer.began[i - 1]);
    assert_int_equal(oa_pace_save(c, &longer, "processor", "test_budgets_pace.json"), OA_OK);
    assert_int_equal(oa_pace_open(c, &o, &again), OA_OK);
    assert_int_equal(oa_pace_resume(c, &again, "test_budgets_pace.json", 200),
                     OA_OK); /* the same budget: no change */
    assert_int_equal(again.levels, longer.levels);
    assert_int_equal(again.changed, 100);
    o.train_seconds = 0;
    snprintf(o.train_pace, sizeof o.train_pace, "test_budgets_pace.json");
    assert_int_equal(oa_pace_open(c, &o, &again), OA_ARGUMENT);
    oa_close(c);
}

static void write_pace(oa_context *c, const char *path, const char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(root ? oa_checksummed_write(c, path, root)
                          : oa_file_write(c, path, text, strlen(text)),
                     OA_OK);
    json_decref(root);
}

static void bad_paces(void **state)
{
    (void)state;
    static const char *const bad[] = { "",
                                       "{}",
                                       "{\"began\": []}",
                                       "{\"began\": [2], \"steps\": 3}",
                                       "{\"began\": [1, 5, 4], \"steps\": 9}",
                                       "{\"began\": [1, 2.5], \"steps\": 9}" };
    struct oa_options o = options("time");
    struct oa_pace p;
    snprintf(o.train_pace, sizeof o.train_pace, "test_budgets_pace.json");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        oa_context *c = oa_open(NULL);
        write_pace(c, o.train_pace, bad[i]);
        assert_int_equal(oa_pace_open(c, &o, &p), OA_FORMAT);
        oa_close(c);
    }
    oa_context *c = oa_open(NULL);
    const char *unended = "{\"began\": [1, 5], \"steps\": null}";
    write_pace(c, o.train_pace, unended);
    assert_int_equal(oa_pace_open(c, &o, &p), OA_ARGUMENT);
    oa_clear_error(c);
    /* one that was changed after it was written */
    write_pace(c, o.train_pace, "{\"began\": [1, 5], \"steps\": 9}");
    assert_int_equal(oa_pace_open(c, &o, &p), OA_OK);
    char *text;
    size_t length;
    assert_int_equal(oa_file_read(c, o.train_pace, &text, &length), OA_OK);
    *strchr(text, '9') = '8';
    assert_int_equal(oa_file_write(c, o.train_pace, text, length), OA_OK);
    oa_free(text);
    assert_int_equal(oa_pace_open(c, &o, &p), OA_FORMAT);
    oa_close(c);
}

/* ---- runs by the clock ---- */

static struct oa_run train(const struct oa_options *o, const char *out, bool resume)
{
    struct oa_workload w;
    struct oa_run run;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    assert_int_equal(oa_workload_open(c, o, &w), OA_OK);
    struct oa_train_request r = {
        .options = o, .workload = &w, .folder = out, .resume = resume, .keep = true, .title = "test"
    };
    assert_int_equal(oa_train_run(c, &r, &run), OA_OK);
    oa_run_free(&run);
    oa_workload_close(&w);
    oa_close(c);
    return run;
}

static void same_model(const char *a, const char *b)
{
    char command[256];
    snprintf(command, sizeof command, "cmp %s/model.safetensors %s/model.safetensors", a, b);
    assert_int_equal(system(command), 0);
}

/* A run by the clock, repeated from its pace; and gone on with from an older checkpoint, by which
 * its past stays. */
static void timed_runs_repeat(void **state)
{
    (void)state;
    struct oa_options o = options("tokens");
    o.train_seconds = 0.2;
    o.train_checkpoint_every = 7;
    assert_int_equal(system("rm -rf test_budgets_a test_budgets_b"), 0);
    struct oa_run first = train(&o, "test_budgets_a", false);
    assert_true(first.processor_seconds > 0.1 && first.steps > 1);

    struct oa_options repeat = o;
    repeat.train_seconds = 0;
    snprintf(repeat.train_pace, sizeof repeat.train_pace, "test_budgets_a/pace.json");
    struct oa_run second = train(&repeat, "test_budgets_b", false);
    assert_int_equal(second.steps, first.steps);
    same_model("test_budgets_a", "test_budgets_b");

    /* The newest checkpoint is that of the end; without it the run goes on from the one before. */
    char command[256];
    snprintf(command, sizeof command,
             "rm -f test_budgets_a/checkpoint-%09ld.safetensors test_budgets_b/pace.json",
             first.steps);
    assert_int_equal(system(command), 0);
    long older = first.steps % 7 ? first.steps / 7 * 7 : first.steps - 7;
    struct oa_run third = train(&o, "test_budgets_a", older > 0);
    assert_true(third.steps >= older);
    assert_int_equal(system("rm -rf test_budgets_b"), 0);
    assert_int_equal(train(&repeat, "test_budgets_b", false).steps, third.steps);
    same_model("test_budgets_a", "test_budgets_b");
}

/* ---- what was validated ---- */

static void final_loss_is_on_all_of_the_text(void **state)
{
    (void)state;
    struct oa_options o = options("tokens");
    struct held h = hold(&o, three, 1, false);
    assert_int_equal(h.error, OA_OK);
    const struct oa_run *run = &h.k.entries[0].runs[0];
    assert_true(run->valid_tokens == h.k.valid_tokens - 1);
    assert_true(h.k.eval_tokens == 100);
    struct oa_scores scores;
    char path[256];
    snprintf(path, sizeof path, "%s/runs/attention-01/seed-1", folder);
    assert_int_equal(oa_eval(h.c, path, NULL, &scores, NULL), OA_OK);
    assert_true(scores.tokens == run->valid_tokens);
    assert_true(fabs(scores.loss - run->valid_loss) < 1e-6 * scores.loss);
    double on_a_part = run->curve[run->points - 2]
                           .valid_loss; /* the validation before the last was of 100 tokens */
    assert_true(isnan(on_a_part) || on_a_part != run->valid_loss);
    let_go(&h);

    o.train_final_tokens = 50;
    h = hold(&o, three, 1, false);
    assert_int_equal(h.error, OA_OK);
    assert_true(h.k.entries[0].runs[0].valid_tokens == 50);
    struct oa_summary s;
    struct oa_text t;
    assert_int_equal(oa_summary_make(h.c, &h.k, &s), OA_OK);
    oa_text_init(&t, h.c);
    oa_report_table(&h.k, &s, 0, &t);
    join_lines(t.s);
    assert_non_null(strstr(t.s, "Losses are measured on 50 of the 1"));
    oa_text_cut(&t, 0);
    oa_report_html(&h.k, &s, &t);
    assert_non_null(strstr(t.s, "Losses are measured on 50 of the 1"));
    oa_text_cut(&t, 0);
    oa_report_json(&h.k, &s, &t);
    assert_non_null(strstr(t.s, "\"used\": 50"));
    assert_non_null(strstr(t.s, "\"valid_tokens\": 50"));
    oa_text_free(&t);
    oa_summary_free(&s);
    let_go(&h);
}

/* ---- the uniform baseline ---- */

/* One layer of uniform attention in f64 against sums that are written out here. */
static void uniform_baseline_averages_the_visible_tokens(void **state)
{
    (void)state;
    struct oa_options o = options("tokens");
    snprintf(o.model_attention, sizeof o.model_attention, FLOOR);
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    struct oa_model *m;
    struct oa_model_form form = oa_language_model_form(27);
    oa_tape tape;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F64, false, &d), OA_OK);
    assert_int_equal(oa_model_open(d, &o, &form, true, &m), OA_OK);
    oa_tape_init(&tape, d);
    oa_tape_reset(&tape, false, false, (struct oa_stream){ 0 });
    double x[LENGTH][WIDTH], average[LENGTH][WIDTH];
    for (int i = 0; i < LENGTH; i++)
        for (int j = 0; j < WIDTH; j++)
            x[i][j] = oa_random_normal(oa_stream_named(1, "x"), (uint64_t)(i * WIDTH + j));
    struct oa_layer_input in = { .x = oa_tensor_from(&tape, x, LENGTH, WIDTH, WIDTH, false),
                                 .batch = 1,
                                 .queries = LENGTH,
                                 .keys = LENGTH };
    const double *y = oa_layer_forward(&tape, &m->decoder.block[1].attention, &in)->data;
    const double *value =
        oa_store_find(&m->store, "decoder.layers.1.attention.value.weight")->value;
    const double *output =
        oa_store_find(&m->store, "decoder.layers.1.attention.output.weight")->value;
    for (int i = 0; i < LENGTH; i++)
        for (int a = 0; a < WIDTH; a++) {
            average[i][a] = 0;
            for (int j = 0; j <= i; j++)
                for (int b = 0; b < WIDTH; b++)
                    average[i][a] += value[a * WIDTH + b] * x[j][b] / (i + 1);
        }
    for (int i = 0; i < LENGTH; i++)
        for (int a = 0; a < WIDTH; a++) {
            double want = 0;
            for (int b = 0; b < WIDTH; b++)
                want += output[a * WIDTH + b] * average[i][b];
            assert_true(fabs(y[i * WIDTH + a] - want) < 1e-12);
        }
    oa_tape_free(&tape);
    oa_model_close(m);
    oa_device_close(d);
    oa_close(c);
}

static void uniform_baseline_is_added_once(void **state)
{
    (void)state;
    static const char *const listed[] = { "random( frozen,sigma=0 , init=normal )", "softmax" };
    struct oa_options o = options("tokens");
    o.train_steps = 5;
    struct held h = hold(&o, listed, 2, false);
    assert_int_equal(h.k.count, 2);
    assert_true(h.k.entries[0].uniform && !h.k.entries[1].uniform);
    let_go(&h);
    h = hold(&o, &listed[1], 1, false);
    assert_int_equal(h.k.count, 2);
    assert_true(!h.k.entries[0].uniform && h.k.entries[1].uniform);
    assert_string_equal(h.k.entries[1].attention, FLOOR);
    assert_int_equal(h.k.entries[1].runs[1].steps, 5);
    let_go(&h);
    o.compare_uniform_baseline = false;
    h = hold(&o, listed, 2, false);
    assert_int_equal(h.k.count, 2);
    assert_true(!h.k.entries[0].uniform && !h.k.entries[1].uniform);
    let_go(&h);
}

/* Made-up losses: the uniform baseline is lowest, one attention is equal to it and one above. */
static void uniform_baseline_is_not_ranked(void **state)
{
    (void)state;
    enum { OF_FLOOR = 5 };
    struct oa_run runs[4][OF_FLOOR] = { 0 };
    static const double loss[4][OF_FLOOR] = { { 2.10, 2.20, 2.30, 2.10, 2.20 },
                                              { 1.50, 1.61, 1.70, 1.50, 1.61 },
                                              { 2.01, 2.10, 2.22, 2.00, 2.11 },
                                              { 2.00, 2.11, 2.21, 2.00, 2.11 } };
    struct oa_entry entries[4] = { { .attention = "far above" },
                                   { .attention = "below" },
                                   { .attention = "beside" },
                                   { .attention = FLOOR, .uniform = true } };
    for (int e = 0; e < 4; e++)
        for (int r = 0; r < OF_FLOOR; r++) {
            runs[e][r] =
                (struct oa_run){ .seed = (uint64_t)r, .valid_loss = loss[e][r], .valid_tokens = 9 };
            entries[e].runs = runs[e];
        }
    struct oa_comparison k = {
        .entries = entries, .count = 4, .seeds = OF_FLOOR, .valid_tokens = 10
    };
    oa_context *c = oa_open(NULL);
    struct oa_summary s;
    assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
    assert_int_equal(s.reference, 1);
    assert_int_equal(s.uniform, 3);
    assert_int_equal(s.entries[1].verdict, OA_VERDICT_BEST);
    assert_int_equal(s.entries[3].verdict, OA_VERDICT_WORSE);
    assert_int_equal(oa_compared_pair(&s, 0, 3)->verdict, OA_AGAINST_WORSE);
    assert_int_equal(oa_compared_pair(&s, 1, 3)->verdict, OA_AGAINST_BETTER);
    assert_int_equal(oa_compared_pair(&s, 2, 3)->verdict, OA_AGAINST_UNRESOLVED);
    assert_int_equal(oa_compared_pair(&s, 3, 3)->verdict, OA_AGAINST_NONE);
    /* differences 0.10, 0.09, 0.09, 0.10, 0.09: mean 0.094, s 0.01 sqrt(0.3), t = 0.094 / (0.01
     * sqrt(0.06)) with 4 degrees of freedom, of which the distribution is a closed form */
    double of_t = 0.094 / (0.01 * sqrt(0.06)), u = of_t / sqrt(4 + of_t * of_t);
    double p = 1 - u * (1 + 0.5 * (1 - u * u));
    assert_true(fabs(oa_compared_pair(&s, 0, 3)->difference.mean - 0.094) < 1e-12);
    assert_true(fabs(oa_compared_pair(&s, 0, 3)->p / p - 1) < 1e-6);
    assert_true(fabs(oa_compared_pair(&s, 0, 3)->adjusted / (6 * p) - 1) < 1e-6); /* of all pairs */
    assert_non_null(
        strstr(s.conclusion, "beside shows no significant difference to the uniform baseline"));
    assert_non_null(strstr(s.conclusion, "far above is worse than the uniform baseline."));
    oa_summary_free(&s);

    for (int r = 0; r < OF_FLOOR; r++) /* below everything, it still does not win */
        runs[3][r].valid_loss -= 1;
    assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
    assert_int_equal(s.order[0], 3);
    assert_int_equal(s.reference, 1);
    assert_int_equal(s.entries[1].verdict, OA_VERDICT_LOWEST); /* not of all that were compared */
    assert_int_equal(s.entries[3].verdict, OA_VERDICT_BETTER);
    assert_int_equal(oa_compared_pair(&s, 1, 3)->verdict, OA_AGAINST_WORSE);
    assert_false(s.entries[3].front_speed || s.entries[3].front_parameters);
    struct oa_text t;
    oa_text_init(&t, c);
    oa_report_table(&k, &s, 0, &t);
    oa_report_html(&k, &s, &t);
    assert_non_null(strstr(t.s, "uniform baseline  1."));
    oa_text_free(&t);
    oa_summary_free(&s);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_steps),
        cmocka_unit_test(equal_flops),
        cmocka_unit_test(equal_parameters),
        cmocka_unit_test(equal_time),
        cmocka_unit_test(seconds_need_equal_time),
        cmocka_unit_test(learning_rate_follows_time),
        cmocka_unit_test(warmup_is_in_steps),
        cmocka_unit_test(going_on_forgets_what_came_later),
        cmocka_unit_test(lengthened_pace),
        cmocka_unit_test(bad_paces),
        cmocka_unit_test(timed_runs_repeat),
        cmocka_unit_test(final_loss_is_on_all_of_the_text),
        cmocka_unit_test(uniform_baseline_averages_the_visible_tokens),
        cmocka_unit_test(uniform_baseline_is_added_once),
        cmocka_unit_test(uniform_baseline_is_not_ranked),
    };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
