/* SPDX-License-Identifier: Apache-2.0
 * Tasks. What the table says is what opens; a class, a number and a reversed word are learnt by models that could not
 * know them otherwise; scores are those that the rows give when they are counted one by one; a run that goes on, and
 * with another number of threads, makes the same bits. */
#include "setups.h"

#include "tasks/example_task.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

static char *own;

static const char *sentence(const oa_context *c)
{
    const char *text;
    oa_last_error(c, &text);
    return text;
}

static const char *const colours[] = { "red", "blue", "green", "black" };
static const char *const things[] = { "car", "house", "tree", "stone", "river", "cloud" };

/* Row i of a side: sentences of which one word in the middle decides. */
static void write_sentences(const char *path, int count, int seed, const char *kind)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; i < count; i++) {
        const char *more = &" so so"[3 * (i % 3)]; /* lengths differ */
        int k = i * 7919 + seed * 104729, colour = (k >> 3) % 4, a = (k >> 5) % 6, b = (k >> 8) % 6;
        if (strcmp(kind, "class") == 0)
            fprintf(f, "%s\ta %s and a %s %s\n", colour == 1 || colour == 2 ? "cold" : "warm", things[a],
                    colours[colour], things[b]);
        else if (strcmp(kind, "number") == 0)
            fprintf(f, "%d.5\ta %s and a %s %s\n", colour, things[a], colours[colour], things[b]);
        else if (strcmp(kind, "source") == 0)
            fprintf(f, "one %s %s %s%s\n", things[a], colours[colour], things[b], more);
        else
            fprintf(f, "%s %s %s one%s\n", things[b], colours[colour], things[a], more);
    }
    assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
    static const char *const kinds[] = { "class", "number", "source", "target" };
    (void)state;
    own = enter_own_folder();
    for (int i = 0; own && i < 4; i++) {
        char path[64];
        snprintf(path, sizeof path, "train.%s%s", kinds[i], i < 2 ? ".tsv" : "");
        write_sentences(path, 400, 1, kinds[i]);
        snprintf(path, sizeof path, "valid.%s%s", kinds[i], i < 2 ? ".tsv" : "");
        write_sentences(path, 60, 2, kinds[i]);
    }
    return own ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    return leave_own_folder(own);
}

static struct oa_options options(const char *task, long steps)
{
    bool writes = strcmp(task, "translate") == 0 || strcmp(task, "summarize") == 0;
    const char *kind = strcmp(task, "regress") == 0 ? "number" : "class";
    struct oa_options o = small_model("", steps);
    snprintf(o.data_task, sizeof o.data_task, "%s", task);
    snprintf(o.data_tokenizer, sizeof o.data_tokenizer, "bpe:300");
    snprintf(o.data_train, sizeof o.data_train, writes ? "train.source,train.target" : "train.%s.tsv", kind);
    snprintf(o.data_valid, sizeof o.data_valid, writes ? "valid.source,valid.target" : "valid.%s.tsv", kind);
    o.model_width = 32;
    o.model_context = 40;
    o.train_batch = 32;
    o.train_lr = 1e-2;
    o.train_eval_every = 0;
    return o;
}

static void train(const struct oa_options *o, const char *folder, int threads, struct oa_run *run)
{
    oa_context *c = oa_open(&(struct oa_settings){ .threads = threads });
    struct oa_workload w;
    if (oa_workload_open(c, o, &w) != OA_OK)
        fail_msg("%s", sentence(c));
    struct oa_train_request r = { .options = o, .workload = &w, .folder = folder, .resume = true, .keep = true };
    if (oa_train_run(c, &r, run) != OA_OK)
        fail_msg("%s", sentence(c));
    oa_workload_close(&w);
    oa_close(c);
}

/* ---- the table ---- */

static void test_the_table_is_what_opens(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    const struct oa_task *task;
    for (int i = 0; (task = oa_task_at(i)); i++) {
        struct oa_options o = options(task->name, 1);
        struct oa_workload w;
        int metric = task->metric == NULL;
        assert_ptr_equal(oa_task_find(task->name), task);
        assert_string_equal(task->measures[0].name, "loss");
        assert_false(task->measures[0].higher);
        for (int k = 0; task->measures[k].name; k++)
            metric += task->metric && strcmp(task->measures[k].name, task->metric) == 0;
        assert_int_equal(metric, 1);
        if (oa_workload_open(c, &o, &w) != OA_OK)
            fail_msg("%s: %s", task->name, sentence(c));
        assert_int_equal(oa_form_stacks(&w.form), task->stacks);
        assert_int_equal(oa_options_stacks(&o), task->stacks);
        assert_true(oa_workload_side(&w, OA_TRAINING).targets > oa_workload_side(&w, OA_VALIDATION).targets);
        assert_true(oa_workload_side(&w, OA_TEST).targets == 0);
        oa_workload_close(&w);
    }
    struct oa_options o = options("sing", 1);
    struct oa_workload w;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_ARGUMENT);
    expect_failure(c, OA_ARGUMENT, "there is no task \"sing\"; there are: lm, ");
    oa_close(c);
}

/* ---- learning ---- */

static void test_a_class_is_learnt(void **state)
{
    (void)state;
    struct oa_options o = options("classify", 60);
    struct oa_run run;
    train(&o, "class", 2, &run);
    assert_true(run.scores[1] >= 98); /* half of the rows are warm */
    assert_true(run.scores[2] >= 97 && run.scores[2] <= 100);
    assert_true(run.scores[3] >= 95 && run.scores[3] <= 100);
    assert_true(run.valid_loss < 0.2);
    oa_run_free(&run);
}

static void test_a_number_is_learnt(void **state)
{
    (void)state;
    struct oa_options o = options("regress", 120);
    struct oa_run run;
    train(&o, "number", 2, &run);
    assert_true(run.scores[1] > 95 && run.scores[2] > 90);
    assert_true(run.valid_loss < 0.2); /* the numbers' variance is 1.25 */
    oa_run_free(&run);
}

static void test_words_are_reversed(void **state)
{
    (void)state;
    struct oa_options o = options("translate", 500);
    o.train_lr = 5e-3;
    struct oa_run run;
    train(&o, "words", 2, &run);
    assert_true(run.scores[1] > 95); /* of a copy of the source it is 0: no four words stand alike */
    assert_true(run.scores[2] > 95);
    oa_run_free(&run);
}

/* ---- scores ---- */

/* The rows one by one, in batches of one without padding, counted by hand. */
static void test_scores_are_those_of_the_rows(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_options o = options("classify", 4);
    struct oa_workload w;
    struct oa_device *d;
    struct oa_model *m;
    struct oa_run run = { 0 };
    oa_tape t;
    int right = 0;
    double nats = 0;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_device_open(c, OA_PRECISION_F64, false, &d), OA_OK);
    assert_int_equal(oa_model_open(d, &o, &w.form, false, &m), OA_OK);
    oa_tape_init(&t, d);
    struct oa_evaluation e = {
        .tape = &t, .model = m, .workload = &w, .side = OA_VALIDATION, .title = "test", .judged = true
    };
    assert_int_equal(w.task->batches(c, &o, &w, OA_VALIDATION, 0, &e.batches), OA_OK);
    assert_int_equal(oa_batches_cover(e.batches, w.tokenizer, 0, &e.cover), OA_OK);
    assert_int_equal(oa_evaluate(&e, &run), OA_OK);
    for (size_t i = 0; i < w.valid.count; i++) {
        int32_t n = (int32_t)(w.valid.source.start[i + 1] - w.valid.source.start[i]);
        double out[2];
        struct oa_batch one = { .rows = 1,
                                .length = n,
                                .input = w.valid.source.ids + w.valid.source.start[i],
                                .lengths = &n,
                                .label = &w.valid.label[i] };
        oa_tape_reset(&t, false, false, (struct oa_stream){ 0 });
        assert_int_equal(oa_model_outputs(&t, m, &one, out), OA_OK);
        right += (out[1] > out[0]) == w.valid.label[i];
        nats += log(exp(out[0]) + exp(out[1])) - out[w.valid.label[i]];
    }
    assert_int_equal(w.valid.count, 60);
    assert_true(fabs(run.scores[1] - 100 * right / 60.0) < 1e-9);
    assert_true(fabs(run.valid_loss - nats / 60) < 1e-9);
    oa_batches_close(e.batches);
    oa_tape_free(&t);
    oa_model_close(m);
    oa_device_close(d);
    oa_workload_close(&w);
    oa_close(c);
}

/* ---- the same bits ---- */

static void same_weights(const char *a, const char *b)
{
    shell("cmp '%s/model.safetensors' '%s/model.safetensors'", a, b);
}

static void test_runs_go_on(void **state)
{
    static const char *const names[] = { "classify", "translate" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct oa_options o = options(names[i], 20);
        struct oa_run run;
        o.model_dropout = 0.1;
        o.train_schedule = OA_SCHEDULE_CONSTANT;
        o.train_accumulate = 2;
        train(&o, "whole", 2, &run);
        oa_run_free(&run);
        o.train_steps = 7;
        train(&o, "parts", 1, &run);
        oa_run_free(&run);
        o.train_steps = 20;
        train(&o, "parts", 1, &run);
        oa_run_free(&run);
        same_weights("whole", "parts");
        remove_folder("whole");
        remove_folder("parts");
    }
}

/* ---- held out ---- */

/* Every training row is in one of the parts, and in no other; labels stay what they were. */
static void test_examples_are_held_out(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_options o = options("classify", 1);
    struct oa_workload w, held;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(w.task->hold_out(&w, 0.25, &held), OA_OK);
    assert_int_equal(held.train.count, 300);
    assert_int_equal(held.valid.count, 100);
    long warm = 0, all = 0;
    for (size_t i = 0; i < w.train.count; i++)
        all += w.train.label[i];
    for (size_t i = 0; i < 300; i++)
        warm += held.train.label[i];
    for (size_t i = 0; i < 100; i++)
        warm += held.valid.label[i];
    assert_int_equal(warm, all);
    assert_int_equal(held.texts.classes.count, 2);
    oa_workload_close(&held);
    oa_workload_close(&w);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_is_what_opens),      cmocka_unit_test(test_a_class_is_learnt),
        cmocka_unit_test(test_a_number_is_learnt),           cmocka_unit_test(test_words_are_reversed),
        cmocka_unit_test(test_scores_are_those_of_the_rows), cmocka_unit_test(test_runs_go_on),
        cmocka_unit_test(test_examples_are_held_out),
    };
    threads_only("test_runs_*");
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
