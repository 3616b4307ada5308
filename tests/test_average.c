/* SPDX-License-Identifier: Apache-2.0
 * The mean of the weights at the last validations (train.average), against models of the same run
 * that ended at these steps, added up here; that it is the same after stops and kills and with any
 * number of threads; what is validated, what is kept, what is refused. */
#include "base/safetensors.h"
#include "setups.h"

#include "compare/comparison.h"

#include <dirent.h>
#include <math.h>
#include <string.h>

static char *own;

static int make_text(void **state)
{
    (void)state;
    own = enter_own_folder();
    return own ? write_foxes_and_cats("text.txt", 120) : -1;
}

static int remove_text(void **state)
{
    (void)state;
    return leave_own_folder(own);
}

/* The learning rate knows nothing of the end: a shorter run is the beginning of a longer one. */
static struct oa_options options(long steps)
{
    struct oa_options o = small_model("text.txt", steps);
    o.train_schedule = OA_SCHEDULE_CONSTANT;
    o.model_dropout = 0.1;
    o.train_batch = 4;
    o.train_lr = 1e-2;
    o.train_eval_every = 6;
    o.train_average = 3;
    return o;
}

static volatile int stop;
struct watching {
    int lines, stop_at;
    char last[512], error[1024];
};
static struct watching seen;

static void watch(void *argument, int level, const char *line)
{
    struct watching *s = argument;
    if (level == 0)
        snprintf(s->last, sizeof s->last, "%s", line);
    if (level == 1 && strstr(line, ": step ") && ++s->lines == s->stop_at)
        stop = 2;
}

static enum oa_error try_train(const struct oa_options *o, const char *folder, int threads,
                               bool resume, int stop_at, struct oa_run *run)
{
    struct oa_workload w = { 0 };
    seen = (struct watching){ .stop_at = stop_at };
    stop = 0;
    *run = (struct oa_run){ 0 };
    oa_context *c = oa_open(&(struct oa_settings){
        .threads = threads, .log = watch, .log_argument = &seen, .stop = &stop });
    struct oa_train_request r = { .options = o,
                                  .workload = &w,
                                  .folder = folder,
                                  .resume = resume,
                                  .keep = true,
                                  .title = "test" };
    enum oa_error e = oa_workload_open(c, o, &w);
    if (e == OA_OK)
        e = oa_train_run(c, &r, run);
    const char *why;
    if (oa_last_error(c, &why) != OA_OK)
        snprintf(seen.error, sizeof seen.error, "%s", why);
    oa_workload_close(&w);
    oa_close(c);
    return e;
}

static struct oa_run train(const struct oa_options *o, const char *folder)
{
    struct oa_run run;
    if (try_train(o, folder, 2, false, 0, &run) != OA_OK)
        fail_msg("%s: %s", folder, seen.error);
    return run;
}

static void train_only(const struct oa_options *o, const char *folder)
{
    struct oa_run run = train(o, folder);
    oa_run_free(&run);
}

static void expect_refusal(const struct oa_options *o, const char *folder, bool resume,
                           const char *part)
{
    struct oa_run run;
    assert_int_not_equal(try_train(o, folder, 1, resume, 0, &run), OA_OK);
    oa_run_free(&run);
    if (!strstr(seen.error, part))
        fail_msg("\"%s\" does not say \"%s\"", seen.error, part);
}

static struct oa_tensors *open_model(oa_context *c, const char *folder)
{
    char path[256];
    struct oa_tensors *f;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(oa_tensors_open(c, path, &f), OA_OK);
    return f;
}

/* What training changes otherwise than by a gradient, and what it does not change. */
static bool of_the_last_step(const char *name)
{
    return strstr(name, "features.") || strstr(name, "query.weight") || strstr(name, "key.weight");
}

/* A run of o whose model is the mean of its weights at these steps: against runs that ended there.
 */
static void is_the_mean_at(struct oa_options o, const long *steps, int count)
{
    oa_context *c = oa_open(NULL);
    struct oa_tensors *part[8];
    bool frozen = strstr(o.model_attention, "haar") || strstr(o.model_attention, "performer");
    struct oa_run run = train(&o, "mean");
    assert_int_equal(run.averaged, count);
    oa_run_free(&run);
    o.train_average = 0;
    for (int i = 0; i < count; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "at-%ld", steps[i]);
        o.train_steps = steps[i];
        train_only(&o, folder);
        part[i] = open_model(c, folder);
    }
    struct oa_tensors *mean = open_model(c, "mean");
    assert_int_equal(oa_tensors_count(mean), oa_tensors_count(part[0]));
    for (int t = 0; t < oa_tensors_count(mean); t++) {
        const struct oa_array *a = oa_tensors_at(mean, t);
        bool last = frozen && of_the_last_step(a->name), differs = false;
        for (size_t k = 0; k < a->bytes / oa_type_size(a->type); k++) {
            double sum = 0, end = oa_array_value(oa_tensors_find(part[count - 1], a->name), k);
            for (int i = 0; i < count; i++)
                sum += oa_array_value(oa_tensors_find(part[i], a->name), k);
            sum /= count;
            double expected = last ? end : a->type == OA_F64 ? sum : (double)(float)sum;
            if (oa_array_value(a, k) != expected)
                fail_msg("%s[%zu] is %.17g, not %.17g", a->name, k, oa_array_value(a, k), expected);
            differs = differs || expected != end;
        }
        assert_true(differs || last || count == 1);
    }
    oa_tensors_close(mean);
    for (int i = 0; i < count; i++)
        oa_tensors_close(part[i]);
    oa_close(c);
    shell("rm -rf mean at-*");
}

static void the_mean_of_the_last_ones(void **state)
{
    (void)state;
    is_the_mean_at(options(30), (const long[]){ 18, 24, 30 }, 3);
    is_the_mean_at(options(32), (const long[]){ 24, 30, 32 }, 3); /* the end is one of them */
    is_the_mean_at(options(7), (const long[]){ 6, 7 }, 2);        /* there are no more */
    is_the_mean_at(options(6), (const long[]){ 6 }, 1);
    struct oa_options o = options(30);
    o.train_average = 5;
    is_the_mean_at(o, (const long[]){ 6, 12, 18, 24, 30 }, 5);
}

static void in_every_precision(void **state)
{
    (void)state;
    struct oa_options o = options(20);
    o.train_precision = OA_PRECISION_F64;
    is_the_mean_at(o, (const long[]){ 12, 18, 20 }, 3);
    o.train_precision = OA_PRECISION_BF16;
    is_the_mean_at(o, (const long[]){ 12, 18, 20 }, 3);
}

static void what_no_gradient_changes_is_of_the_last_step(void **state)
{
    (void)state;
    struct oa_options o = options(20);
    set_option(&o, "model.attention", "performer(kernel=sderf, features=6, redraw=4, qk=haar)");
    is_the_mean_at(o, (const long[]){ 12, 18, 20 }, 3);
}

/* The result is about the mean; the curve is about the weights on the way. */
static void validated_in(enum oa_precision precision)
{
    struct oa_options o = options(32);
    o.train_precision = precision;
    o.train_eval_tokens = 100;
    struct oa_run run = train(&o, "mean");
    assert_non_null(
        strstr(seen.last, "the mean of the weights at the last 3 validations, every 6 steps"));
    assert_int_equal(run.averaged, 3);
    assert_true(run.valid_tokens > 300); /* all of them, at the end */
    assert_true(run.curve[run.points - 1].step == 32 &&
                !isnan(run.curve[run.points - 1].valid_loss));
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    struct oa_model *m;
    struct oa_workload w;
    struct oa_run again = { 0 };
    oa_tape tape;
    assert_int_equal(oa_device_open(c, precision, false, &d), OA_OK);
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_model_open_saved(d, "mean/model.safetensors", &o, &w.form, w.tokenizer, &m),
                     OA_OK);
    oa_tape_init(&tape, d);
    struct oa_evaluation e = { .tape = &tape,
                               .model = m,
                               .workload = &w,
                               .side = OA_VALIDATION,
                               .title = "again",
                               .judged = true };
    assert_int_equal(w.task->batches(c, &o, &w, OA_VALIDATION, 0, &e.batches), OA_OK);
    assert_int_equal(oa_batches_cover(e.batches, w.tokenizer, 0, &e.cover), OA_OK);
    assert_int_equal(oa_evaluate(&e, &again), OA_OK);
    assert_true(again.valid_loss == run.valid_loss);
    oa_batches_close(e.batches);
    oa_tape_free(&tape);
    oa_model_close(m);
    oa_workload_close(&w);
    oa_device_close(d);
    oa_close(c);
    oa_run_free(&run);
    shell("rm -rf mean");
}

static void the_mean_is_validated(void **state)
{
    (void)state;
    struct oa_options o = options(6);
    train_only(&o, "mean");
    assert_non_null(strstr(seen.last, "train.average has no effect: the run ended before step 7"));
    shell("rm -rf mean");
    validated_in(OA_PRECISION_F32);
    validated_in(OA_PRECISION_BF16); /* whose products read copies */
}

static int weights_in(const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        count += strncmp(e->d_name, "average-", 8) == 0;
    closedir(d);
    return count;
}

/* Stopped after every step, each time with another number of threads; killed, so that it goes on
 * from an older checkpoint; and given more steps, after which the mean is that of the longer run.
 */
static void goes_on_with_the_same_bits(void **state)
{
    (void)state;
    struct oa_options o = options(44);
    struct oa_run run;
    o.train_checkpoint_every = 9;
    train_only(&o, "whole");
    enum oa_error e = OA_INTERRUPTED;
    int sittings = 0;
    for (; e == OA_INTERRUPTED && sittings < 90; sittings++) {
        e = try_train(&o, "parts", 1 + sittings % 3, sittings > 0, 1, &run);
        oa_run_free(&run);
        assert_true(weights_in("parts") <= 9);
    }
    if (e != OA_OK)
        fail_msg("%s", seen.error);
    assert_true(sittings > 10);
    shell("cmp whole/model.safetensors parts/model.safetensors");
    shell("cp -r whole killed && rm killed/model.safetensors "
          "killed/checkpoint-000000044.safetensors");
    assert_int_equal(try_train(&o, "killed", 3, true, 0, &run), OA_OK); /* from step 36 */
    assert_int_equal(run.averaged, 3);
    oa_run_free(&run);
    shell("cmp whole/model.safetensors killed/model.safetensors");
    o.train_steps = 50;
    train_only(&o, "longer");
    assert_int_equal(try_train(&o, "whole", 1, true, 0, &run), OA_OK);
    oa_run_free(&run);
    shell("cmp whole/model.safetensors longer/model.safetensors");
    shell("rm -rf whole parts killed longer");
}

/* Few files, however many validations there are between two checkpoints, or without any. */
static void weights_do_not_pile_up(void **state)
{
    (void)state;
    struct oa_options o = options(60);
    struct oa_run run;
    o.train_eval_every = 2;
    o.train_average = 2;
    o.train_checkpoint_every = 0;
    train_only(&o, "mean");
    assert_true(weights_in("mean") <= 2);
    shell("rm -rf mean");
    o.train_checkpoint_every = 25;
    train_only(&o, "mean");
    assert_true(weights_in("mean") <=
                6); /* of step 60, and of the checkpoints of steps 50 and 25 */
    shell(
        "test -e mean/average-000000048.safetensors && test -e mean/average-000000050.safetensors");
    shell("test ! -e mean/average-000000052.safetensors");
    shell("cp mean/model.safetensors before && rm mean/model.safetensors "
          "mean/checkpoint-000000060.safetensors");
    assert_int_equal(try_train(&o, "mean", 1, true, 0, &run), OA_OK);
    oa_run_free(&run);
    shell("cmp before mean/model.safetensors && rm -rf mean before");
}

static void weights_must_be_there_and_whole(void **state)
{
    (void)state;
    struct oa_options o = options(30);
    train_only(&o, "mean");
    o.train_steps = 36;
    shell("cp mean/average-000000024.safetensors kept && rm mean/average-000000024.safetensors");
    expect_refusal(
        &o, "mean", true,
        "mean/average-000000024.safetensors is missing: train.average needs its weights");
    shell("cp mean/average-000000018.safetensors mean/average-000000024.safetensors");
    expect_refusal(&o, "mean", true, "does not contain the weights of step 24");
    shell("cp kept mean/average-000000024.safetensors && printf X | dd "
          "of=mean/average-000000024.safetensors bs=1 "
          "seek=900 conv=notrunc status=none");
    expect_refusal(&o, "mean", true, "mean/average-000000024.safetensors");
    shell("cp kept mean/average-000000024.safetensors");
    o.train_eval_every = 3;
    expect_refusal(&o, "mean", true, "was begun with train.eval_every = 6, but it is 3 now");
    o.train_eval_every = 6;
    o.train_average = 2;
    o.train_steps = 30;
    struct oa_options before = options(30);
    oa_context *c = oa_open(NULL);
    assert_int_equal(oa_same_options(c, "mean", &before, &o), OA_ARGUMENT);
    expect_failure(c, OA_ARGUMENT, "train.average = 3, but it is 2 now");
    oa_close(c);
    shell("rm -rf mean kept");
}

/* The run ends where patience does, and its model is the mean of the last ones before. */
static void patience_ends_it(void **state)
{
    (void)state;
    struct oa_options o = options(400), shorter;
    o.train_eval_every = 2;
    o.train_patience = 1;
    struct oa_run run = train(&o, "mean");
    assert_true(run.steps < 400 && run.steps >= 4);
    assert_int_equal(run.averaged, run.steps >= 6 ? 3 : 2);
    shorter = o;
    shorter.train_patience = 0;
    shorter.train_steps = run.steps;
    train_only(&shorter, "shorter");
    shell("cmp mean/model.safetensors shorter/model.safetensors && rm -rf mean shorter");
    oa_run_free(&run);
}

static void refusals(void **state)
{
    (void)state;
    struct oa_options o = options(8);
    o.train_eval_every = 0;
    expect_refusal(&o, "mean", false, "train.average = 3: weights are averaged at validations");
    o = options(8);
    o.train_keep_best = true;
    expect_refusal(&o, "mean", false, "train.keep_best selects the final model, too");
    o = options(8);
    expect_refusal(&o, NULL, false, "train.average = 3: the run has no folder to save weights in");
    assert_int_not_equal(access("mean", F_OK), 0);
}

static enum oa_error hold(const struct oa_options *o, struct oa_comparison *k)
{
    static const char *const attentions[] = { "softmax", "uniform" };
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 2 });
    struct oa_comparison_request r = {
        .options = o, .attentions = attentions, .count = 1, .folder = "comparison"
    };
    enum oa_error e = oa_comparison_run(c, &r, k);
    const char *why;
    if (oa_last_error(c, &why) != OA_OK)
        snprintf(seen.error, sizeof seen.error, "%s", why);
    oa_close(c);
    return e;
}

/* A comparison of means: trials too, nothing left behind, and read back as it was. */
static void comparisons_of_means(void **state)
{
    (void)state;
    struct oa_options o = options(20);
    struct oa_comparison k, again;
    o.compare_seeds = 2;
    o.compare_uniform_baseline = false;
    set_option(&o, "compare.tune", "train.average=0,3");
    if (hold(&o, &k) != OA_OK)
        fail_msg("%s", seen.error);
    shell("rm -rf comparison");
    oa_comparison_free(&k);
    set_option(&o, "compare.tune", "");
    if (hold(&o, &k) != OA_OK)
        fail_msg("%s", seen.error);
    assert_int_equal(k.entries[0].runs[1].averaged, 3);
    shell("grep -q '\"averaged\": *3' comparison/runs/attention-01/seed-1/result.json");
    shell("test -z \"$(find comparison -name 'average-*')\"");
    assert_int_equal(hold(&o, &again), OA_OK);
    assert_int_equal(again.entries[0].runs[1].averaged, 3);
    assert_true(k.entries[0].runs[1].valid_loss == again.entries[0].runs[1].valid_loss);
    oa_comparison_free(&k);
    oa_comparison_free(&again);
    o.train_eval_every = 0;
    assert_int_equal(hold(&o, &k), OA_ARGUMENT);
    assert_non_null(strstr(seen.error, "train.average = 3: weights are averaged"));
    oa_comparison_free(&k);
    shell("rm -rf comparison");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_of_the_last_ones),
        cmocka_unit_test(in_every_precision),
        cmocka_unit_test(what_no_gradient_changes_is_of_the_last_step),
        cmocka_unit_test(the_mean_is_validated),
        cmocka_unit_test(goes_on_with_the_same_bits),
        cmocka_unit_test(weights_do_not_pile_up),
        cmocka_unit_test(weights_must_be_there_and_whole),
        cmocka_unit_test(patience_ends_it),
        cmocka_unit_test(refusals),
        cmocka_unit_test(comparisons_of_means),
    };
    threads_only("goes_on_*");
    return cmocka_run_group_tests(tests, make_text, remove_text);
}
