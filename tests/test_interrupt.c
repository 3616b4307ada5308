/* SPDX-License-Identifier: Apache-2.0
 * A stop that is asked for in the middle of a validation: noticed at once, the step before it is
 * saved, and going on gives the weights and the log of a run that was never stopped. */
#include "setups.h"

#include "train/train.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text_file[] = "test_interrupt_text.txt";

static int make_text(void **state)
{
    (void)state;
    return write_foxes(text_file, 300);
}

static struct oa_options options(void)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.data_train, sizeof o.data_train, "%s", text_file);
    o.model_layers = 1;
    o.model_width = 16;
    o.model_heads = 2;
    o.model_context = 8;
    o.train_batch = 2;
    o.train_steps = 6;
    o.train_warmup = 2;
    o.train_eval_every = 3;
    o.train_log_every = 2;
    return o;
}

/* Asks for a stop at the first progress line of validation number `which`; 0: never. */
struct watch {
    int which, seen;
    volatile int stop;
};

static void look(void *argument, int level, const char *line)
{
    struct watch *w = argument;
    if (level != 1 || !strstr(line, "[....................] 0 %"))
        return;
    if (++w->seen == w->which)
        w->stop = 2;
}

struct outcome {
    enum oa_error error;
    struct oa_run run;
    char sentence[256];
};

static struct outcome train(const char *folder, int which, bool resume)
{
    struct outcome out = { 0 };
    struct watch w = { .which = which };
    struct oa_options o = options();
    struct oa_workload work;
    oa_context *c = oa_open(
        &(struct oa_settings){ .threads = 1, .log = look, .log_argument = &w, .stop = &w.stop });
    assert_int_equal(oa_workload_open(c, &o, &work), OA_OK);
    struct oa_train_request r = { .options = &o,
                                  .workload = &work,
                                  .folder = folder,
                                  .resume = resume,
                                  .keep = true,
                                  .title = "test" };
    out.error = oa_train_run(c, &r, &out.run);
    const char *why;
    oa_last_error(c, &why);
    snprintf(out.sentence, sizeof out.sentence, "%s", why ? why : "");
    oa_workload_close(&work);
    oa_close(c);
    return out;
}

static char *contents(const char *folder, const char *name, size_t *length)
{
    char path[256], *data;
    oa_context *c = oa_open(NULL);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(oa_file_read(c, path, &data, length), OA_OK);
    oa_close(c);
    return data;
}

static void assert_same_model(const char *a, const char *b)
{
    size_t nx, ny;
    char *x = contents(a, "model.safetensors", &nx), *y = contents(b, "model.safetensors", &ny);
    assert_int_equal(nx, ny);
    assert_memory_equal(x, y, nx);
    oa_free(x);
    oa_free(y);
}

/* Times differ between two runs: they are taken out. */
static void cut_times(char *log)
{
    for (char *at = log; (at = strstr(at, "\"seconds\": "));) {
        char *end = strchr(at, ',');
        memmove(at, end, strlen(end) + 1);
    }
}

static void assert_same_log(const char *a, const char *b)
{
    size_t n;
    char *x = contents(a, "log.jsonl", &n), *y = contents(b, "log.jsonl", &n);
    cut_times(x);
    cut_times(y);
    assert_string_equal(x, y);
    oa_free(x);
    oa_free(y);
}

static void assert_same_curve(const struct oa_run *a, const struct oa_run *b)
{
    assert_int_equal(a->points, b->points);
    assert_true(a->valid_loss == b->valid_loss);
    for (int i = 0; i < a->points; i++) {
        const struct oa_curve_point *p = &a->curve[i], *q = &b->curve[i];
        assert_int_equal(p->step, q->step);
        assert_true(p->train_loss == q->train_loss);
        assert_memory_equal(&p->valid_loss, &q->valid_loss,
                            sizeof p->valid_loss); /* NaN where there is none */
    }
}

/* Validations are made at steps 3 and 6, the last. The second sitting is stopped in the same
 * validation once more. */
static void stopped_in(int validation, const char *sentence)
{
    struct outcome whole, first, again, rest;
    char name[64];
    size_t n;
    remove_folder("test_interrupt_whole");
    remove_folder("test_interrupt_parts");
    whole = train("test_interrupt_whole", 0, false);
    assert_int_equal(whole.error, OA_OK);
    first = train("test_interrupt_parts", validation, false);
    assert_int_equal(first.error, OA_INTERRUPTED);
    assert_string_equal(first.sentence, sentence);
    snprintf(name, sizeof name, "checkpoint-%09d.safetensors", 3 * validation);
    oa_free(contents("test_interrupt_parts", name, &n));
    assert_int_equal(access("test_interrupt_parts/model.safetensors", F_OK), -1);
    again = train("test_interrupt_parts", 1, true);
    assert_int_equal(again.error, OA_INTERRUPTED);
    assert_string_equal(again.sentence, sentence);
    rest = train("test_interrupt_parts", 0, true);
    assert_int_equal(rest.error, OA_OK);
    assert_same_model("test_interrupt_whole", "test_interrupt_parts");
    assert_same_log("test_interrupt_whole", "test_interrupt_parts");
    assert_same_curve(&whole.run, &rest.run);
    oa_run_free(&whole.run);
    oa_run_free(&first.run);
    oa_run_free(&again.run);
    oa_run_free(&rest.run);
}

static void test_training_is_stopped_in_a_validation(void **state)
{
    (void)state;
    stopped_in(1, "stopped by signal 2 after step 3; run it again with --resume to continue");
    stopped_in(2, "stopped by signal 2 after step 6; run it again with --resume to continue");
}

static void test_eval_is_stopped(void **state)
{
    (void)state;
    struct watch w = { .which = 1 };
    struct oa_scores scores;
    const char *why;
    remove_folder("test_interrupt_whole");
    struct outcome whole = train("test_interrupt_whole", 0, false);
    oa_context *c = oa_open(
        &(struct oa_settings){ .threads = 1, .log = look, .log_argument = &w, .stop = &w.stop });
    assert_int_equal(oa_eval(c, "test_interrupt_whole", NULL, &scores, NULL), OA_INTERRUPTED);
    oa_last_error(c, &why);
    assert_string_equal(why, "stopped by signal 2 before the whole text was read");
    oa_clear_error(c);
    w.stop = 0;
    assert_int_equal(oa_eval(c, "test_interrupt_whole", NULL, &scores, NULL), OA_OK);
    assert_true(scores.loss == whole.run.valid_loss);
    oa_run_free(&whole.run);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_is_stopped_in_a_validation),
        cmocka_unit_test(test_eval_is_stopped),
    };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
