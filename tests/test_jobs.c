/* SPDX-License-Identifier: Apache-2.0
 * Runs side by side: the same files for any number of jobs and threads, after a stop, and next to
 * runs that fail. */
#include "compare/comparison.h"
#include "setups.h"

#include "base/concurrent.h"
#include "compare/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text_file[] = "test_jobs_text.txt";

static int make_text(void **state)
{
    (void)state;
    return write_foxes(text_file, 200);
}

/* Under a sanitizer runs are long that are short elsewhere, and nothing is compared. */
static bool sanitized(void)
{
    return only_threads() || only_memory();
}

static struct oa_options options(void)
{
    struct oa_options o = small_model(text_file, 12);
    o.model_dropout = 0.1;
    o.train_batch = 4;
    o.train_eval_every = 6;
    o.train_log_every = 3;
    o.compare_seeds = 2;
    return o;
}

/* ---- comparisons ---- */

/* Everything that is logged comes from the caller's thread; a stop is asked for when `enough` runs
 * are said to be done.
 */
struct listener {
    pthread_t thread;
    int progress;
    char notice[512];
    long enough;
    volatile int stop;
};

static void listen(void *argument, int level, const char *line)
{
    struct listener *l = argument;
    long done, all;
    assert_true(pthread_equal(pthread_self(), l->thread));
    if (level == 0 && !strstr(line, "verbatim")) /* the text says one sentence again and again */
        snprintf(l->notice, sizeof l->notice, "%.500s", line);
    bool alone =
        strstr(line, ": step ") != NULL; /* a run that has nobody next to it speaks for itself */
    if (level != 1 || sscanf(line, "%ld of %ld runs", &done, &all) != 2 || alone)
        return;
    l->progress++;
    if (l->enough && done >= l->enough)
        l->stop = 2;
}

static oa_context *open_context(int threads, struct listener *l)
{
    l->thread = pthread_self();
    return oa_open(&(struct oa_settings){
        .threads = threads, .log = listen, .log_argument = l, .stop = &l->stop, .isa = "ref" });
}

static enum oa_error comparison(const struct oa_options *o, int threads, const char *folder,
                                struct listener *l, char sentence[512])
{
    static const char *const attentions[] = { "softmax", "random" };
    struct oa_comparison_request r = {
        .options = o, .attentions = attentions, .count = 2, .folder = folder
    };
    struct oa_comparison k;
    const char *why;
    oa_context *c = open_context(threads, l);
    enum oa_error e = oa_comparison_run(c, &r, &k);
    oa_last_error(c, &why);
    if (sentence)
        snprintf(sentence, 512, "%.500s", why);
    oa_comparison_free(&k);
    oa_close(c);
    return e;
}

/* Times and machines differ, and the checksums over them, and `also`, "" or "NAME|"; nothing else
 * does.
 */
static void assert_same_folders(const char *a, const char *b, const char *also)
{
    shell("rm -rf test_jobs_x test_jobs_y; cp -r %s test_jobs_x; cp -r %s test_jobs_y; rm -f "
          "test_jobs_?/speed.json",
          a, b);
    shell("for f in $(find test_jobs_x test_jobs_y -name '*.json*'); do sed -i -E "
          "'s/\"(%s(processor_)?seconds|seconds_per_step|tokens_per_second|machine|seal)\": "
          "?(\"[^\"]*\"|[0-9.e+-]+)//g; "
          "s/(\\[[0-9]+),[0-9.e-]+,/\\1,/g' $f; done",
          also);
    shell("diff -r test_jobs_x test_jobs_y && rm -rf test_jobs_x test_jobs_y");
}

static bool succeeds(const char *command)
{
    return system(command) == 0;
}

static void same_bits(void **state)
{
    (void)state;
    static const int ways[][2] = { { 1, 1 }, { 1, 3 }, { 2, 2 }, { 3, 3 }, { 2, 3 }, { 3, 5 } };
    for (size_t i = sanitized() ? 4 : 0; i < sizeof ways / sizeof *ways; i++) {
        struct oa_options o = options();
        struct listener l = { 0 };
        char folder[64];
        o.compare_jobs = ways[i][0];
        snprintf(folder, sizeof folder, "test_jobs_%d_%d", ways[i][0], ways[i][1]);
        shell("rm -rf %s", folder);
        assert_int_equal(comparison(&o, ways[i][1], folder, &l, NULL), OA_OK);
        assert_string_equal(l.notice, "");
        assert_true((l.progress > 0) == (ways[i][0] > 1));
        if (i > 0 && !sanitized())
            assert_same_folders("test_jobs_1_1", folder, "");
    }
    if (sanitized())
        return;
    shell("grep -q ', ref, 1 of 2 threads' test_jobs_2_2/runs/attention-01/seed-1/result.json");
    shell("grep -q ', ref, 3 threads' test_jobs_1_3/runs/attention-01/seed-1/result.json");
}

/* A line of progress of all runs every 0.2 s at most, however often a run ends or logs. */
static void progress_is_logged_now_and_then(void **state)
{
    (void)state;
    struct oa_options o = options();
    struct listener l = { 0 };
    o.train_steps = 2;
    o.train_warmup = 1;
    o.train_eval_every = 0;
    o.compare_seeds = 12;
    o.compare_jobs = 2;
    shell("rm -rf test_jobs_often");
    double began = oa_clock();
    assert_int_equal(comparison(&o, 2, "test_jobs_often", &l, NULL), OA_OK);
    double most = 1 + (oa_clock() - began) / 0.2;
    if (l.progress > most)
        fail_msg("%d lines in the time of %.1f", l.progress, most);
    shell("rm -rf test_jobs_often");
}

/* Three of five threads have two, two and one of them. The last may come late, and find all runs
 * taken. */
static void threads_are_shared_out(void **state)
{
    (void)state;
    struct oa_options o = options();
    o.compare_jobs = 3;
    for (int attempt = 0;; attempt++) {
        struct listener l = { 0 };
        shell("rm -rf test_jobs_shares");
        assert_int_equal(comparison(&o, 5, "test_jobs_shares", &l, NULL), OA_OK);
        shell("! cat test_jobs_shares/runs/*/*/result.json | grep -o '[0-9]* of [0-9]* threads' | "
              "grep -vx '[12] of 5 "
              "threads'");
        if (succeeds("cat test_jobs_shares/runs/*/*/result.json | grep -q '2 of 5 threads' && "
                     "cat test_jobs_shares/runs/*/*/result.json | grep -q '1 of 5 threads'"))
            break;
        assert_true(attempt < 20);
    }
    shell("rm -rf test_jobs_shares");
}

/* Whether the stop met runs at work, one being done: all may have ended before it came. */
static bool stopped_amid(struct oa_options *o, char sentence[512])
{
    struct listener l = { .enough = 1 };
    shell("rm -rf test_jobs_parts");
    o->compare_jobs = 3;
    enum oa_error e = comparison(o, 3, "test_jobs_parts", &l, sentence);
    assert_true(e == OA_INTERRUPTED || e == OA_OK);
    return e == OA_INTERRUPTED &&
           succeeds("ls test_jobs_parts/runs/*/*/checkpoint-*.safetensors >/dev/null && "
                    "ls test_jobs_parts/runs/*/*/result.json >/dev/null");
}

/* Stopped when a run has ended and others have begun; then gone on with by another number of jobs.
 */
static void same_bits_after_a_stop(void **state)
{
    (void)state;
    struct oa_options o = options();
    struct listener whole = { 0 }, rest = { 0 };
    char sentence[512];
    for (o.train_steps = sanitized() ? 40 : 150; !stopped_amid(&o, sentence); o.train_steps *= 2)
        assert_true(o.train_steps < 10000);
    assert_non_null(strstr(sentence, "stopped by signal 2 after step "));
    o.compare_jobs = 1;
    shell("rm -rf test_jobs_whole");
    assert_int_equal(comparison(&o, 1, "test_jobs_whole", &whole, NULL), OA_OK);
    o.compare_jobs = 2;
    assert_int_equal(comparison(&o, 2, "test_jobs_parts", &rest, NULL), OA_OK);
    assert_string_equal(strrchr(rest.notice, ';') ? "" : rest.notice,
                        ""); /* only "resuming after step …; …" */
    /* a run that was stopped when all its steps were done needs less memory for what is left */
    assert_same_folders("test_jobs_whole", "test_jobs_parts", "peak_memory|");
    shell("rm -rf test_jobs_whole test_jobs_parts");
}

static void one_at_a_time_by_the_clock(void **state)
{
    (void)state;
    struct oa_options o = options();
    struct listener l = { 0 };
    o.compare_equal = OA_EQUAL_TIME;
    o.compare_jobs = 2;
    shell("rm -rf test_jobs_clock");
    assert_int_equal(comparison(&o, 2, "test_jobs_clock", &l, NULL), OA_OK);
    assert_string_equal(
        l.notice,
        "compare.jobs = 2 has no effect with --equal time, which trains one run at a time");
    assert_int_equal(l.progress, 0);
    shell("! grep -r 'of 2 threads' test_jobs_clock/runs");
    shell("rm -rf test_jobs_clock");
}

static void more_jobs_than_threads(void **state)
{
    (void)state;
    struct oa_options o = options();
    struct listener l = { 0 };
    o.compare_jobs = 5;
    shell("rm -rf test_jobs_many");
    assert_int_equal(comparison(&o, 2, "test_jobs_many", &l, NULL), OA_OK);
    assert_string_equal(
        l.notice,
        "compare.jobs = 5, but there are 2 threads: 2 runs at a time; --threads gives more");
    shell("rm -rf test_jobs_many");
}

/* ---- batches of runs ---- */

enum { RUNS = 6 };

struct outcomes {
    struct oa_run runs[RUNS];
    int ended[RUNS], count, fail_at; /* the callback fails at that one, counted from 1; 0: never */
    oa_context *c;
};

static enum oa_error note(void *argument, long number, struct oa_run *run)
{
    struct outcomes *o = argument;
    o->runs[number] = *run;
    o->ended[number]++;
    if (++o->count == o->fail_at)
        return oa_fail(o->c, OA_INTERNAL, "the caller refuses");
    return OA_OK;
}

struct given {
    struct oa_workload workload;
    struct oa_workplace place;
    struct oa_overall overall;
    struct oa_run_spec specs[RUNS];
};

static void fill_specs(oa_context *c, const struct oa_options *o, struct given *g)
{
    *g = (struct given){ .place.threads = oa_thread_count(c) };
    assert_int_equal(oa_workload_open(c, o, &g->workload), OA_OK);
    shell("rm -rf test_jobs_runs");
    for (int i = 0; i < RUNS; i++) {
        struct oa_run_spec *spec = &g->specs[i];
        *spec = (struct oa_run_spec){
            .options = *o, .workload = &g->workload, .title = "test", .number = i + 1, .count = RUNS
        };
        spec->options.train_seed = i + 1;
        snprintf(spec->folder, sizeof spec->folder, "test_jobs_runs/%d", i);
    }
}

static enum oa_error train(oa_context *c, struct given *g, struct outcomes *out, int jobs)
{
    struct oa_run_batch b = { .specs = g->specs,
                              .count = RUNS,
                              .place = &g->place,
                              .overall = &g->overall,
                              .ended = note,
                              .argument = out };
    out->c = c;
    return oa_run_batch_train(c, &b, jobs);
}

static void take_back(struct given *g, struct outcomes *out)
{
    for (int i = 0; i < RUNS; i++)
        oa_run_free(&out->runs[i]);
    oa_workload_close(&g->workload);
}

/* What is left is to what was made in this call as their times are: runs that were there took none
 * of it, longer runs count more, and what is done of runs at hand counts. */
static void time_left_of_all_runs(void **state)
{
    (void)state;
    char text[OA_OVERALL];
    struct oa_overall all = { .began = 1000 };
    struct oa_options trial = { .train_steps = 100 }, run = { .train_steps = 300 };
    oa_overall_expect(&all, 6, oa_overall_weight(&all, &trial));
    oa_overall_expect(&all, 4, oa_overall_weight(&all, &run));
    oa_overall_text(&all, 0, 1000.5, text);
    assert_string_equal(text, "0 of 10 runs");
    for (int i = 0; i < 5; i++)
        oa_overall_ended(&all, oa_overall_weight(&all, &trial), i < 2);
    oa_overall_text(&all, 0, 1060, text); /* 300 steps in 60 s, 1300 to go */
    assert_string_equal(text, "5 of 10 runs, 4:20 left");
    oa_overall_text(&all, 100, 1060, text); /* 400 in 60 s, 1200 to go */
    assert_string_equal(text, "5 of 10 runs, 3:00 left");
    oa_overall_text(&all, 0, 2800, text); /* 300 in 30 min */
    assert_string_equal(text, "5 of 10 runs, 2:10:00 left");
    all.by_time = true;
    assert_true(oa_overall_weight(&all, &run) == 1);
}

/* Run 1 diverges: that is a result, and the others have the bits that they have alone. */
static void same_bits_beside_one_that_diverges(void **state)
{
    (void)state;
    static struct given g;
    struct oa_options o = options();
    struct listener l = { 0 };
    struct outcomes outcomes[2] = { 0 };
    oa_context *c = open_context(3, &l);
    for (int k = 0; k < 2; k++) {
        fill_specs(c, &o, &g);
        g.specs[1].options.train_lr = 1e3;
        g.specs[1].options.train_clip = 0;
        g.specs[1].options.train_steps = 400;
        assert_int_equal(train(c, &g, &outcomes[k], k ? 3 : 1), OA_OK);
        assert_non_null(strstr(l.notice, "test, seed 2: "));
        oa_workload_close(&g.workload);
    }
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(outcomes[1].ended[i], 1);
        assert_int_equal(outcomes[1].runs[i].failed, i == 1);
        assert_string_equal(outcomes[0].runs[i].failure, outcomes[1].runs[i].failure);
        assert_string_equal(outcomes[0].runs[i].weights, outcomes[1].runs[i].weights);
    }
    for (int i = 0; i < 2 * RUNS; i++)
        oa_run_free(&outcomes[i / RUNS].runs[i % RUNS]);
    oa_close(c);
}

/* Run 1 cannot be trained: its message is the result, the run under way saves, and no further one
 * begins. Returns whether the other had begun to work. */
static bool error_meets_another(void)
{
    static struct given g;
    struct oa_options o = options();
    struct listener l = { 0 };
    struct outcomes out = { 0 };
    const char *why;
    o.train_steps = 20000;
    oa_context *c = open_context(2, &l);
    fill_specs(c, &o, &g);
    shell("mkdir -p test_jobs_runs; : >test_jobs_runs/1"); /* a file where its folder should be */
    assert_int_equal(train(c, &g, &out, 2), OA_IO);
    oa_last_error(c, &why);
    assert_non_null(strstr(why, "test_jobs_runs/1"));
    assert_int_equal(out.count, 0);
    shell("[ ! -e test_jobs_runs/2 ]");
    take_back(&g, &out);
    oa_close(c);
    return succeeds("ls test_jobs_runs/0/checkpoint-*.safetensors >/dev/null 2>&1");
}

static void an_error_in_one_run_stops_the_others(void **state)
{
    (void)state;
    int attempt = 0;
    while (!error_meets_another())
        assert_true(attempt++ < 20);
}

static void a_refusal_of_the_caller_stops_all(void **state)
{
    (void)state;
    static struct given g;
    struct oa_options o = options();
    struct listener l = { 0 };
    for (int jobs = 1; jobs <= 2; jobs++) {
        struct outcomes out = { .fail_at = 2 };
        const char *why;
        oa_context *c = open_context(2, &l);
        fill_specs(c, &o, &g);
        assert_int_equal(train(c, &g, &out, jobs), OA_INTERNAL);
        oa_last_error(c, &why);
        assert_string_equal(why, "the caller refuses");
        assert_int_equal(out.count, 2);
        take_back(&g, &out);
        oa_close(c);
    }
    shell("rm -rf test_jobs_runs");
}

/* ---- contexts next to each other ---- */

static void spin(void *argument, long item, const struct oa_worker *w)
{
    (void)argument, (void)item, (void)w;
    double end = oa_processor_clock() + 0.05;
    while (oa_processor_clock() < end)
        ;
}

static void *spin_elsewhere(void *argument)
{
    spin(argument, 0, NULL);
    return NULL;
}

/* The processor time of a context is that of its own threads. */
static void a_context_has_its_own_clock(void **state)
{
    (void)state;
    struct listener l = { 0 };
    oa_context *c = open_context(2, &l), *beside = oa_context_clone(c, 1, listen, &l);
    double mine = oa_context_clock(c), program = oa_processor_clock();
    oa_parallel(c, 8, spin, NULL);
    mine = oa_context_clock(c) - mine;
    program = oa_processor_clock() - program;
    assert_true(mine > 0.9 * program && mine < 1.1 * program);
    assert_true(program >= 0.2);
    pthread_t thread;
    double before = oa_context_clock(c);
    assert_int_equal(oa_thread_start(&thread, spin_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(oa_context_clock(c) - before < 0.02);
    assert_int_equal(oa_stop_requested(beside), 0);
    l.stop = 15;
    assert_int_equal(oa_stop_requested(beside), 0);
    oa_stop(beside, 15);
    assert_int_equal(oa_stop_requested(beside), 15);
    oa_fail(beside, OA_FORMAT, "said here");
    assert_int_equal(oa_status(c), OA_OK);
    assert_int_equal(oa_fail_as(c, beside), OA_FORMAT);
    const char *why;
    assert_int_equal(oa_last_error(c, &why), OA_FORMAT);
    assert_string_equal(why, "said here");
    oa_close(beside);
    oa_close(c);
}

/* ---- how many ---- */

static void how_many(void **state)
{
    (void)state;
    assert_int_equal(oa_jobs_fastest(2, 1e9), 2);
    assert_int_equal(oa_jobs_fastest(1, 1e9), 1);
    assert_int_equal(oa_jobs_fastest(64, 1e6), 64);
    assert_int_equal(oa_jobs_fastest(2, 1e15), 1);
    assert_int_equal(oa_jobs_fastest(64, 1e15), 1);
    for (double work = 1e6; work < 1e15; work *= 1.5)
        assert_true(oa_jobs_fastest(16, work) >= oa_jobs_fastest(16, 1.5 * work));
    static const struct {
        int threads;
        double work;
        int jobs;
    } steps[] = {
        /* a second thread has enough to do from twice 10 GFLOP a step on, a third from three times
           on */
        { 2, 0, 2 },        { 2, 10e9, 2 },       { 2, 20e9 - 1, 2 },  { 2, 20e9, 1 },
        { 3, 20e9 - 1, 3 }, { 3, 20e9, 1 },       { 4, 20e9, 2 },      { 4, 30e9 - 1, 2 },
        { 4, 30e9, 1 },     { 16, 20e9 - 1, 16 }, { 16, 20e9, 8 },     { 16, 30e9 - 1, 8 },
        { 16, 30e9, 5 },    { 16, 80e9, 2 },      { 16, 90e9 - 1, 2 }, { 16, 90e9, 1 },
        { 16, 160e9, 1 },   { 1, 160e9, 1 },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        assert_int_equal(oa_jobs_fastest(steps[i].threads, steps[i].work), steps[i].jobs);
    assert_int_equal(oa_jobs_that_fit(1e9, 8e9), 6); /* three quarters of the memory */
    assert_int_equal(oa_jobs_that_fit(1e9, 8e9 - 2), 5);
    assert_int_equal(oa_jobs_that_fit(6e9, 8e9), 1);
    assert_int_equal(oa_jobs_that_fit(3e9, 8e9), 2);
    assert_int_equal(oa_jobs_that_fit(3e9 + 1, 8e9), 1);
    assert_int_equal(oa_jobs_that_fit(1e12, 8e9), 1);
    assert_int_equal(oa_jobs_that_fit(1, 8e12), 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(progress_is_logged_now_and_then),
        cmocka_unit_test(threads_are_shared_out),
        cmocka_unit_test(same_bits_after_a_stop),
        cmocka_unit_test(one_at_a_time_by_the_clock),
        cmocka_unit_test(more_jobs_than_threads),
        cmocka_unit_test(time_left_of_all_runs),
        cmocka_unit_test(same_bits_beside_one_that_diverges),
        cmocka_unit_test(an_error_in_one_run_stops_the_others),
        cmocka_unit_test(a_refusal_of_the_caller_stops_all),
        cmocka_unit_test(a_context_has_its_own_clock),
        cmocka_unit_test(how_many),
    };
    threads_only("same_bits*");
    memory_without("threads_are_shared_out"); /* comparisons again, until one is seen to have shares
                                                 of all sizes */
    return cmocka_run_group_tests(tests, make_text, NULL);
}
