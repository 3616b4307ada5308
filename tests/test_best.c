/* SPDX-License-Identifier: Apache-2.0
 * The model with the lowest validation loss, and stopping early: which is kept, that it is the one
 * that had the loss, that a run that was stopped and gone on with makes the same choice, and what
 * is refused. */
#include "setups.h"

#include "train/best.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const char text_file[] = "test_best_text.txt";
static const char folder[] = "test_best_folder", other[] = "test_best_other";

/* What is validated has another order than what is trained on: the loss falls, and rises again. */
static int make_text(void **state)
{
    (void)state;
    FILE *f = fopen(text_file, "w");
    for (int i = 0; i < 400; i++)
        fprintf(f, "abc abd ");
    for (int i = 0; i < 50; i++)
        fprintf(f, "%s", i % 3 ? "abd " : "abc ");
    return fclose(f);
}

static struct oa_options options(long steps)
{
    struct oa_options o = small_model(text_file, steps);
    o.train_schedule = OA_SCHEDULE_CONSTANT;
    o.data_valid_fraction = 200.0 / 3400;
    o.train_batch = 4;
    o.train_lr = 3e-2;
    o.train_eval_every = 4;
    o.train_log_every = 7;
    o.train_keep_best = true;
    return o;
}

static volatile int stop;

struct stopping {
    int lines, stop_at; /* stop is asked for at this progress line; 0: never */
    char last[512];     /* notice */
};

static void watch(void *argument, int level, const char *line)
{
    struct stopping *s = argument;
    if (level == 0)
        snprintf(s->last, sizeof s->last, "%s", line);
    if (level == 1 && ++s->lines == s->stop_at)
        stop = 2;
}

static struct stopping seen;

static enum oa_error train(const struct oa_options *o, const char *into, bool resume, int stop_at,
                           struct oa_run *run)
{
    struct oa_workload w;
    seen = (struct stopping){ .stop_at = stop_at };
    stop = 0;
    oa_context *c = oa_open(
        &(struct oa_settings){ .threads = 1, .log = watch, .log_argument = &seen, .stop = &stop });
    assert_int_equal(oa_workload_open(c, o, &w), OA_OK);
    struct oa_train_request r = { .options = o,
                                  .workload = &w,
                                  .folder = into,
                                  .resume = resume,
                                  .keep = true,
                                  .title = "test" };
    enum oa_error e = oa_train_run(c, &r, run);
    if (e != OA_OK) {
        const char *why;
        oa_last_error(c, &why);
        snprintf(seen.last, sizeof seen.last, "%s", why);
    }
    oa_workload_close(&w);
    oa_close(c);
    return e;
}

static void assert_same_file(const char *name)
{
    char command[256];
    snprintf(command, sizeof command, "cmp %s/%s %s/%s", folder, name, other, name);
    assert_int_equal(system(command), 0);
}

static const struct oa_curve_point *lowest(const struct oa_run *run)
{
    const struct oa_curve_point *best = NULL;
    for (int i = 0; i < run->points; i++)
        if (!isnan(run->curve[i].valid_loss) &&
            (!best || run->curve[i].valid_loss < best->valid_loss))
            best = &run->curve[i];
    return best;
}

static int best_files(const char *in)
{
    int count = 0;
    DIR *d = opendir(in);
    for (struct dirent *e; (e = readdir(d));)
        count += strncmp(e->d_name, "best-", 5) == 0;
    closedir(d);
    return count;
}

/* The lowest of the curve is in the middle, its model is kept, and the result is its loss, bit for
 * bit. The model is that of a run that ended there. */
static void test_the_lowest_is_kept(void **state)
{
    (void)state;
    struct oa_options o = options(60);
    struct oa_run run, short_run;
    shell("rm -rf %s %s", folder, other);
    assert_int_equal(train(&o, folder, false, 0, &run), OA_OK);
    const struct oa_curve_point *best = lowest(&run);
    assert_true(best->step > 4 && best->step < 60 && best->step % 4 == 0);
    assert_int_equal(run.best_step, best->step);
    assert_int_equal(run.steps, 60);
    assert_true(run.valid_loss == best->valid_loss);
    assert_non_null(strstr(seen.last, "the final model is that of step"));
    assert_int_equal(best_files(folder), 1); /* to go on with */

    o.train_steps = best->step;
    o.train_keep_best = false;
    assert_int_equal(train(&o, other, false, 0, &short_run), OA_OK);
    assert_int_equal(short_run.best_step, 0);
    assert_true(short_run.valid_loss == run.valid_loss);
    assert_same_file("model.safetensors");
    oa_run_free(&run);
    oa_run_free(&short_run);
}

/* Stopped at many places, and gone on with each time: the same choice and the same bits. */
static void test_going_on_makes_the_same_choice(void **state)
{
    (void)state;
    struct oa_options o = options(60);
    struct oa_run run, whole;
    shell("rm -rf %s %s", folder, other);
    o.train_patience = 4;
    o.train_eval_tokens = 150;
    o.train_checkpoint_every = 3;
    assert_int_equal(train(&o, folder, false, 0, &whole), OA_OK);
    enum oa_error e = OA_INTERRUPTED;
    int sittings = 0;
    for (; e == OA_INTERRUPTED && sittings < 200; sittings++) {
        e = train(&o, other, sittings > 0, 1 + sittings % 3, &run);
        if (e == OA_INTERRUPTED)
            oa_run_free(&run);
        assert_true(best_files(other) <= 2);
    }
    assert_int_equal(e, OA_OK);
    assert_true(sittings > 3);
    assert_int_equal(run.best_step, whole.best_step);
    assert_int_equal(run.steps, whole.steps);
    assert_true(run.valid_loss == whole.valid_loss);
    assert_same_file("model.safetensors");
    oa_run_free(&run);
    oa_run_free(&whole);
}

/* A run that lost its newest checkpoint, as by a kill, makes the same choice from the one before.
 */
static void lose_the_newest_checkpoint(const struct oa_options *o)
{
    struct oa_run run, whole;
    shell("rm -rf %s %s", folder, other);
    assert_int_equal(train(o, folder, false, 0, &whole), OA_OK);
    assert_int_equal(train(o, other, false, 0, &run), OA_OK);
    oa_run_free(&run);
    shell("rm %s/checkpoint-%09ld.safetensors %s/model.safetensors", other, o->train_steps, other);
    assert_int_equal(train(o, other, true, 0, &run), OA_OK);
    assert_int_equal(run.best_step, whole.best_step);
    assert_true(run.valid_loss == whole.valid_loss);
    assert_same_file("model.safetensors");
    oa_run_free(&run);
    oa_run_free(&whole);
}

static void test_after_a_kill(void **state)
{
    (void)state;
    struct oa_options o = options(40);
    o.train_checkpoint_every = 9;
    lose_the_newest_checkpoint(&o);
}

/* The last checkpoint has a new best model, and the one before it still has its own. */
static void test_after_a_kill_while_the_loss_falls(void **state)
{
    (void)state;
    struct oa_options o = options(12);
    o.train_checkpoint_every = 4;
    o.train_lr = 3e-3;
    lose_the_newest_checkpoint(&o);
    assert_int_equal(access("test_best_folder/best-000000008.safetensors", F_OK), 0);
    assert_int_equal(access("test_best_folder/best-000000012.safetensors", F_OK), 0);
}

static void test_the_best_model_must_be_there(void **state)
{
    (void)state;
    struct oa_options o = options(20);
    struct oa_run run;
    shell("rm -rf %s %s", folder, other);
    assert_int_equal(train(&o, folder, false, 0, &run), OA_OK);
    oa_run_free(&run);
    o.train_steps = 24;
    o.train_eval_tokens = 50;
    assert_int_equal(train(&o, folder, true, 0, &run), OA_ARGUMENT);
    assert_non_null(strstr(seen.last, "train.eval_tokens = 0, but it is 50 now"));
    o.train_eval_tokens = 0;
    assert_int_equal(
        system(
            "cp test_best_folder/best-*.safetensors test_best_saved; "
            "for f in test_best_folder/best-*; do printf X | dd of=$f bs=1 seek=900 conv=notrunc "
            "status=none; done"),
        0);
    o.train_lr = 3e-2;
    enum oa_error e = train(&o, folder, true, 0, &run);
    if (e == OA_OK) /* a later one was lower: then the damaged one was not needed */
        assert_int_equal(run.best_step, 24);
    else
        assert_int_equal(e, OA_FORMAT);
    oa_run_free(&run);
    assert_int_equal(system("rm test_best_folder/best-*"), 0);
    o.train_steps = 28;
    assert_int_equal(train(&o, folder, true, 0, &run), OA_ARGUMENT);
    assert_non_null(strstr(seen.last, "the best model so far, is missing"));
    unlink("test_best_saved");
}

/* The run ends at the first validation that is the fourth in a row without a new lowest; the
 * schedule knows nothing. */
static void test_patience(void **state)
{
    (void)state;
    struct oa_options o = options(400);
    struct oa_run run, whole;
    shell("rm -rf %s %s", folder, other);
    o.train_keep_best = false;
    o.train_schedule = OA_SCHEDULE_COSINE;
    assert_int_equal(train(&o, folder, false, 0, &whole), OA_OK);
    o.train_patience = 4;
    assert_int_equal(train(&o, other, false, 0, &run), OA_OK);
    long end = 0, stale = 0;
    double least = INFINITY;
    for (int i = 0; i < whole.points && !end; i++) {
        double loss = whole.curve[i].valid_loss;
        if (isnan(loss))
            continue;
        stale = loss < least ? 0 : stale + 1;
        least = fmin(least, loss);
        if (stale == 4)
            end = whole.curve[i].step;
    }
    assert_true(end > 0 && end < 400);
    assert_int_equal(run.steps, end);
    assert_int_equal(run.best_step, 0);
    const struct oa_curve_point *last = &run.curve[run.points - 1];
    assert_int_equal(last->step, end);
    assert_true(run.valid_loss == last->valid_loss);
    assert_non_null(strstr(seen.last, "of 400: 4 validations without a new lowest loss"));
    oa_run_free(&run);
    assert_int_equal(train(&o, other, true, 0, &run), OA_OK); /* it is over */
    assert_int_equal(run.steps, end);
    oa_run_free(&run);
    o.train_patience = 5; /* and may be given more of it */
    assert_int_equal(train(&o, other, true, 0, &run), OA_OK);
    assert_true(run.steps > end);
    for (int i = 0; i < run.points && run.curve[i].step < run.steps; i++) {
        assert_int_equal(run.curve[i].step, whole.curve[i].step);
        assert_true(run.curve[i].train_loss == whole.curve[i].train_loss);
    }
    oa_run_free(&run);
    oa_run_free(&whole);
}

/* Of equal scores the first is the best, and none after it is a new best: patience goes on, as the
 * options say ("no new lowest"). With a learning rate of 0 all validations say the same. A score
 * that does not exist is never one. */
static void test_equal_scores(void **state)
{
    (void)state;
    struct oa_options o = options(60);
    struct oa_run run;
    o.train_lr = 0;
    o.train_patience = 2;
    shell("rm -rf %s %s", folder, other);
    assert_int_equal(train(&o, folder, false, 0, &run), OA_OK);
    assert_int_equal(run.best_step, 4);
    assert_int_equal(run.steps, 12);
    oa_run_free(&run);
    const struct oa_measure measures[] = { { "loss", "loss", "", 2, false, 0 },
                                           { "accuracy", "accuracy", "%", 2, true, 100 } };
    for (int m = 0; m < 2; m++) {
        double better = m ? 60 : 40;
        struct oa_best best = { 0 };
        assert_false(oa_best_note(&best, 1, (double)NAN, &measures[m]));
        assert_true(oa_best_note(&best, 2, 50, &measures[m]) && best.step == 2 && best.stale == 0);
        assert_false(oa_best_note(&best, 3, 50, &measures[m]));
        assert_false(oa_best_note(&best, 4, (double)NAN, &measures[m]));
        assert_true(best.step == 2 && best.score == 50 && best.stale == 2);
        o.train_patience = 2;
        assert_true(oa_best_over(&best, &o));
        assert_true(oa_best_note(&best, 5, better, &measures[m]) && best.step == 5 &&
                    best.stale == 0);
    }
}

/* Chosen by few tokens, reported on all of them. */
static void test_the_result_is_of_the_final_tokens(void **state)
{
    (void)state;
    struct oa_options o = options(24);
    struct oa_run run;
    shell("rm -rf %s %s", folder, other);
    o.train_eval_tokens = 40;
    assert_int_equal(train(&o, folder, false, 0, &run), OA_OK);
    assert_true(run.valid_tokens == 199);
    assert_int_equal(run.best_step, lowest(&run)->step);
    assert_true(run.valid_loss != lowest(&run)->valid_loss);
    oa_run_free(&run);
}

static void expect_refusal(const struct oa_options *o, const char *into, const char *sentence)
{
    struct oa_run run;
    assert_int_equal(train(o, into, false, 0, &run), OA_ARGUMENT);
    if (!strstr(seen.last, sentence))
        fail_msg("\"%s\" does not say \"%s\"", seen.last, sentence);
}

static void test_refusals(void **state)
{
    (void)state;
    struct oa_options o = options(8);
    shell("rm -rf %s %s", folder, other);
    o.data_valid_fraction = 0;
    expect_refusal(&o, folder, "train.keep_best: there is no validation text to select by");
    o = options(8);
    o.train_eval_every = 0;
    expect_refusal(&o, folder, "train.keep_best: the best model is selected at validations");
    expect_refusal(&o, folder, "give train.eval_every > 0");
    o = options(8);
    expect_refusal(&o, NULL, "the run has no folder");
    o.train_keep_best = false;
    o.train_patience = 2;
    o.train_seconds = 3;
    expect_refusal(&o, folder, "train.patience cannot be combined with train.seconds");
    o.train_seconds = 0;
    snprintf(o.train_pace, sizeof o.train_pace, "pace.json");
    expect_refusal(&o, folder, "train.patience cannot be combined with train.pace");
    assert_int_not_equal(access(folder, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_lowest_is_kept),
        cmocka_unit_test(test_going_on_makes_the_same_choice),
        cmocka_unit_test(test_after_a_kill),
        cmocka_unit_test(test_after_a_kill_while_the_loss_falls),
        cmocka_unit_test(test_the_best_model_must_be_there),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_equal_scores),
        cmocka_unit_test(test_the_result_is_of_the_final_tokens),
        cmocka_unit_test(test_refusals),
    };
    int failed = cmocka_run_group_tests(tests, make_text, NULL);
    shell("rm -rf %s %s", folder, other);
    remove(text_file);
    return failed;
}
