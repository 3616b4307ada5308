/* SPDX-License-Identifier: Apache-2.0
 * Comparisons that start from another comparison: which run starts from which, tensor by tensor,
 * where the other comparison has its attentions in another order and fewer seeds; trials of a
 * tuning; what is refused before anything is trained. That a run of such a comparison is the run
 * that `train --init RUN` makes, and that it goes on, says tests/cli/initial_runs.sh. */
#include "base/safetensors.h"
#include "compare/initial_runs.h"
#include "setups.h"

#include <string.h>

static char *own;
static oa_context *context;
static char notices[8192];

static void keep_notice(void *argument, int level, const char *line)
{
    (void)argument;
    size_t n = strlen(notices);
    if (level == 0)
        snprintf(notices + n, sizeof notices - n, "%s\n", line);
}

static struct oa_options options(const char *task, long steps, long seeds)
{
    struct oa_options o = small_model("text.txt", steps);
    snprintf(o.data_task, sizeof o.data_task, "%s", task);
    if (strcmp(task, "classify") == 0)
        set_option(&o, "data.train", "class.tsv");
    o.model_context = 24;
    o.train_batch = 4;
    o.train_eval_every = 0;
    o.compare_seeds = seeds;
    return o;
}

static enum oa_error hold(const struct oa_options *o, const char *const *attentions, int count,
                          const char *folder, struct oa_comparison *k)
{
    struct oa_comparison_request r = {
        .options = o, .attentions = attentions, .count = count, .folder = folder
    };
    *notices = 0;
    enum oa_error e = oa_comparison_run(context, &r, k);
    if (e == OA_OK)
        shell("echo {} > %s/results.json", folder); /* which the report writes */
    return e;
}

static int make_files(void **state)
{
    (void)state;
    static const char *const first[] = { "softmax", "random" };
    own = enter_own_folder();
    context = oa_open(&(struct oa_settings){ .threads = 1, .log = keep_notice });
    if (!own || !context || write_foxes_and_cats("text.txt", 100) != 0)
        return -1;
    FILE *f = fopen("class.tsv", "w");
    for (int i = 0; i < 60; i++)
        fprintf(f, "%s\tthe %s fox over the dog\n", i * 7 / 3 % 4 < 2 ? "fast" : "late",
                i % 2 ? "quick" : "tired");
    if (fclose(f) != 0)
        return -1;
    struct oa_options o = options("mlm", 6, 2);
    struct oa_comparison k;
    enum oa_error e = hold(&o, first, 2, "pre", &k);
    oa_comparison_free(&k);
    return e == OA_OK ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    oa_close(context);
    return leave_own_folder(own);
}

/* ---- which run starts from which ---- */

static struct oa_tensors *open_model(const char *format, const char *comparison, int attention,
                                     long seed)
{
    char path[256];
    struct oa_tensors *f;
    snprintf(path, sizeof path, format, comparison, attention, seed);
    if (oa_tensors_open(context, path, &f) != OA_OK)
        fail_msg("no model %s", path);
    return f;
}

/* How many tensors of a run of no steps are those of the other one; all that both have. */
static int tensors_alike(const char *comparison, int attention, long seed, int attention_there,
                         long seed_there)
{
    static const char name[] = "%s/runs/attention-%02d/seed-%ld/model.safetensors";
    struct oa_tensors *now = open_model(name, comparison, attention, seed),
                      *there = open_model(name, "pre", attention_there, seed_there);
    int alike = 0;
    for (int i = 0; i < oa_tensors_count(now); i++) {
        const struct oa_array *a = oa_tensors_at(now, i), *b = oa_tensors_find(there, a->name);
        alike += b && a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
    }
    assert_int_equal(oa_tensors_count(now), oa_tensors_count(there) + 2); /* the classifier */
    oa_tensors_close(now);
    oa_tensors_close(there);
    return alike;
}

static int tensors_of(int attention)
{
    struct oa_tensors *f =
        open_model("%s/runs/attention-%02d/seed-%ld/model.safetensors", "pre", attention, 1);
    int count = oa_tensors_count(f);
    oa_tensors_close(f);
    return count;
}

/* The other comparison has softmax, random and the floor as 1, 2, 3, with the seeds 1 and 2. */
static void each_starts_from_its_own(void **state)
{
    (void)state;
    static const char *const attentions[] = { "random", "softmax" };
    static const int there[] = { 2, 1, 3 };
    static const long from[] = { 1, 2, 1 };
    struct oa_options o = options("classify", 0, 3);
    struct oa_comparison k;
    set_option(&o, "train.init", "pre");
    assert_int_equal(hold(&o, attentions, 2, "fine", &k), OA_OK);
    for (int i = 0; i < 3; i++)
        for (long seed = 1; seed <= 3; seed++) {
            long right = from[seed - 1], wrong = 3 - right;
            assert_int_equal(tensors_alike("fine", i + 1, seed, there[i], right),
                             tensors_of(there[i]));
            assert_true(tensors_alike("fine", i + 1, seed, there[i], wrong) <
                        tensors_of(there[i]) / 2);
            const struct oa_initial_run *p = oa_initial_run_of(&k.entries[i], seed);
            char path[300];
            snprintf(path, sizeof path, "pre/runs/attention-%02d/seed-%ld", there[i], right);
            assert_int_equal(p->seed, right);
            assert_string_equal(p->folder, path);
            shell("grep -q '\"from\": \"%s\"' fine/runs/attention-%02d/seed-%ld/init.json", path,
                  i + 1, seed);
            shell("grep -q \"$(sha256sum < %s/model.safetensors | cut -d ' ' -f 1)\" "
                  "fine/runs/attention-%02d/"
                  "seed-%ld/init.json",
                  path, i + 1, seed);
            shell("echo '%s  %s/model.safetensors' | sha256sum -c --status", p->model.hex, path);
        }
    assert_string_equal(k.initial_comparison, "pre");
    oa_comparison_free(&k);
    shell("rm -r fine");
}

static void said_once(const char *sentence)
{
    const char *first = strstr(notices, sentence);
    if (!first || strstr(first + 1, sentence))
        fail_msg("\"%s\" is not said once in\n%s", sentence, notices);
}

/* What attentions do not have alike is said of each. */
static void the_sentence_tells_what_starts_from_what(void **state)
{
    (void)state;
    struct oa_run runs[3] = { { .seed = 4, .absent = true },
                              { .seed = 5, .absent = true },
                              { .seed = 6, .absent = true } };
    struct oa_initial_run two[] = { { .seed = 4 }, { .seed = 5 } },
                          three[] = { { .seed = 4 }, { .seed = 5 }, { .seed = 6 } };
    struct oa_entry entries[] = {
        { .attention = "softmax", .runs = runs, .initial_runs = two, .initial_run_count = 2 },
        { .attention = "random", .runs = runs, .initial_runs = three, .initial_run_count = 3 },
        { .attention = "dense", .runs = runs, .initial_runs = two, .initial_run_count = 1 },
    };
    struct oa_comparison k = {
        .entries = entries, .count = 3, .seeds = 3, .initial_comparison = "there"
    };
    struct oa_text text;
    oa_text_init(&text, context);
    oa_initial_runs_sentence(&k, 3, &text);
    assert_string_equal(text.s, "Every run starts from the run of the same attention in there, and "
                                "of the same seed where there "
                                "is one, else of the first (softmax: of 6 from that of 4; "
                                "dense: of 5, 6 from that of 4): "
                                "runs that share an initial run show less spread.");
    oa_text_cut(&text, 0);
    entries[2].initial_run_count = 2; /* the first and the last are alike */
    oa_initial_runs_sentence(&k, 3, &text);
    assert_non_null(strstr(text.s, "(softmax: of 6 from that of 4; dense: of 6 from that of 4)"));
    oa_text_cut(&text, 0);
    k.count = 1;
    oa_initial_runs_sentence(&k, 2, &text);
    assert_string_equal(text.s,
                        "Every run starts from the run of the same attention and seed in there.");
    oa_text_cut(&text, 0);
    runs[0].absent = runs[1].absent = false; /* two were made of three that were asked for */
    runs[2].absent = true;
    k.tuning.grid.options = 1;
    oa_initial_runs_sentence(&k, 3, &text);
    assert_string_equal(
        text.s,
        "Every run starts from the run of the same attention and seed in there. Trials of the "
        "tuning start from the first one, too.");
    oa_text_cut(&text, 0);
    k.initial_comparison = NULL;
    oa_initial_runs_sentence(&k, 3, &text);
    assert_int_equal(text.length, 0);
    oa_text_free(&text);
}

/* Trials have seeds of their own, and runs of one source of chance the first seed's start; a split
 * is another text. */
static void trials_and_sources_of_chance(void **state)
{
    (void)state;
    static const char *const attentions[] = { "random", "softmax" };
    struct oa_options o = options("classify", 2, 2);
    struct oa_comparison k;
    set_option(&o, "train.init", "pre");
    set_option(&o, "compare.tune", "train.lr=1e-3,1e-2");
    o.compare_tune_extend = 0;
    set_option(&o, "compare.vary", "order,split");
    o.compare_vary_seeds = 2;
    assert_int_equal(hold(&o, attentions, 2, "fine", &k), OA_OK);
    said_once("Every run starts from the run of the same attention and seed in pre. Trials of the "
              "tuning of a seed start from the same run as that seed's.");
    shell("for s in 1 2; do [ $(grep -l \"pre/runs/attention-02/seed-$s\\\"\" "
          "fine/tune/attention-01/*/seed-100000$s/init.json | wc -l) = 2 ] || exit 1; done");
    shell("[ $(grep -l 'pre/runs/attention-03/seed-1\"' fine/tune/attention-03/*/*/init.json | wc "
          "-l) = 2 ]");
    shell("[ $(grep -l 'pre/runs/attention-01/seed-1\"' fine/vary/attention-02/*/init.json | wc "
          "-l) = 2 ]");
    shell("[ $(find fine -name init.json | wc -l) = $((12 + 6 + 4)) ]");
    shell("for i in $(find fine -name init.json); do f=$(sed -n 's/.*\"from\": "
          "\"\\(.*\\)\",/\\1/p' $i); "
          "grep -q $(sha256sum < $f/model.safetensors | cut -d ' ' -f 1) $i || exit 1; done");
    oa_comparison_free(&k);
    shell("rm -r fine");
    set_option(&o, "compare.vary", "together");
    o.compare_vary_seeds = 5; /* the default */
    o.compare_tune_per = OA_TUNE_PER_ONCE;
    assert_int_equal(hold(&o, attentions, 2, "fine", &k), OA_OK);
    said_once("Every run starts from the run of the same attention and seed in pre. Trials of the "
              "tuning start from the first one, too.");
    shell("[ $(grep -l 'pre/runs/attention-02/seed-1\"' fine/tune/attention-01/*/*/init.json | wc "
          "-l) = 2 ]");
    shell("[ $(find fine -name init.json | wc -l) = $((6 + 6)) ]");
    oa_comparison_free(&k);
    shell("rm -r fine");
}

/* Side by side, on more threads: the same models. */
static void jobs_and_threads(void **state)
{
    (void)state;
    static const char *const attentions[] = { "random", "softmax" };
    struct oa_options o = options("classify", 3, 3);
    struct oa_comparison k;
    set_option(&o, "train.init", "pre");
    assert_int_equal(hold(&o, attentions, 2, "fine", &k), OA_OK);
    oa_comparison_free(&k);
    oa_context *one = context;
    context = oa_open(&(struct oa_settings){ .threads = 4 });
    o.compare_jobs = 4;
    assert_int_equal(hold(&o, attentions, 2, "beside", &k), OA_OK);
    oa_comparison_free(&k);
    oa_close(context);
    context = one;
    shell("for m in $(cd fine && find runs -name model.safetensors); do cmp fine/$m beside/$m || "
          "exit 1; done");
    shell("rm -r fine beside");
}

/* ---- what is refused ---- */

static void refused(const struct oa_options *o, const char *attention, enum oa_error code,
                    const char *part)
{
    struct oa_comparison k;
    assert_int_equal(hold(o, &attention, 1, "fine", &k), code);
    oa_comparison_free(&k);
    expect_failure(context, code, part);
    assert_int_not_equal(access("fine", F_OK), 0);
}

static void refusals(void **state)
{
    (void)state;
    struct oa_options o = options("classify", 2, 2);
    set_option(&o, "train.init", "pre");
    refused(&o, "dense", OA_ARGUMENT,
            "train.init = pre: that comparison has no run of \"dense\" to start from; it has "
            "\"softmax\", \"random\", "
            "\"random(frozen, init=normal, sigma=0)\"");
    shell("cp -r pre kept && mv pre/runs/attention-03 away");
    refused(&o, "softmax", OA_ARGUMENT,
            "sigma=0)\"; --compare.uniform_baseline off leaves the uniform baseline out");
    shell("mv away pre/runs/attention-03 && rm pre/results.json");
    refused(&o, "softmax", OA_ARGUMENT,
            "train.init = pre: that comparison has not ended (no results.json)");
    shell("touch pre/results.json && rm pre/runs/attention-01/seed-2/result.json");
    refused(&o, "softmax", OA_ARGUMENT, "the run pre/runs/attention-01/seed-2 has not ended");
    shell("cp kept/runs/attention-01/seed-1/result.json pre/runs/attention-01/seed-2/");
    refused(&o, "softmax", OA_FORMAT, "seed-2/model.safetensors are not those of its result.json");
    shell("rm pre/runs/attention-01/seed-2/model.safetensors");
    refused(&o, "softmax", OA_IO,
            "pre/runs/attention-01/seed-2 has ended, but its model.safetensors is missing");
    shell("sed 's/\"steps\":6/\"steps\":7/' kept/runs/attention-01/seed-2/result.json > "
          "pre/runs/attention-01/seed-2/result.json");
    refused(&o, "softmax", OA_FORMAT, "seed-2/result.json was changed after it was written");
    shell("rm -r pre && mv kept pre && sed -i s/random/rundom/ pre/contest.json");
    refused(&o, "softmax", OA_FORMAT, "pre/contest.json was changed after it was written");
    shell("sed -i s/rundom/random/ pre/contest.json");
    set_option(&o, "data.tokenizer", "byte");
    refused(&o, "softmax", OA_ARGUMENT, "its tokenizer differs from data.tokenizer = byte");
}

/* A rate at which everything diverges. */
static void what_diverged_starts_nothing(void **state)
{
    (void)state;
    static const char *const softmax[] = { "softmax" };
    struct oa_options o = options("mlm", 6, 1);
    struct oa_comparison k;
    o.train_lr = 1000;
    o.train_clip = 0;
    o.compare_uniform_baseline = false;
    assert_int_equal(hold(&o, softmax, 1, "diverged", &k), OA_OK);
    assert_true(k.entries[0].runs[0].failed);
    oa_comparison_free(&k);
    o = options("classify", 2, 1);
    set_option(&o, "train.init", "diverged");
    refused(&o, "softmax", OA_ARGUMENT, "no run of that comparison has a model to start from");
    shell("cp -r pre/runs/attention-02 diverged/runs/attention-02"); /* one that did not, which
                                                                        makes it a comparison */
    refused(&o, "softmax", OA_ARGUMENT, "no run of that comparison has a model to start from");
    shell("cp pre/runs/attention-01/seed-1/model.safetensors diverged/runs/attention-01/seed-1/");
    refused(&o, "softmax", OA_ARGUMENT,
            "the run diverged/runs/attention-01/seed-1 diverged, so no run can start");
}

/* Another comparison of the same options is another start: it is told by the models. */
static void another_comparison_is_another_start(void **state)
{
    (void)state;
    static const char *const attentions[] = { "softmax", "random" };
    struct oa_options o = options("mlm", 7, 2), fine = options("classify", 2, 2);
    struct oa_comparison k;
    assert_int_equal(hold(&o, attentions, 2, "other", &k), OA_OK);
    oa_comparison_free(&k);
    set_option(&fine, "train.init", "pre");
    assert_int_equal(hold(&fine, attentions, 2, "fine", &k), OA_OK);
    oa_comparison_free(&k);
    set_option(&fine, "train.init", "other");
    assert_int_equal(hold(&fine, attentions, 2, "fine", &k), OA_ARGUMENT);
    oa_comparison_free(&k);
    expect_failure(context, OA_ARGUMENT, "fine/contest.json: first values was sha256:");
    shell("rm -r other/runs/attention-01/seed-1 && cp -r pre/runs/attention-01/seed-1 "
          "other/runs/attention-01/");
    assert_int_equal(hold(&fine, attentions, 2, "fine", &k),
                     OA_ARGUMENT); /* the first run is the same */
    oa_comparison_free(&k);
    expect_failure(context, OA_ARGUMENT, "/result.json: first values was sha256:");
    shell("mv pre moved");
    set_option(&fine, "train.init", "moved");
    assert_int_equal(hold(&fine, attentions, 2, "fine", &k),
                     OA_OK); /* where it lies is no matter */
    oa_comparison_free(&k);
    shell("mv moved pre");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_starts_from_its_own),
        cmocka_unit_test(the_sentence_tells_what_starts_from_what),
        cmocka_unit_test(trials_and_sources_of_chance),
        cmocka_unit_test(jobs_and_threads),
        cmocka_unit_test(refusals),
        cmocka_unit_test(what_diverged_starts_nothing),
        cmocka_unit_test(another_comparison_is_another_start),
    };
    threads_only("jobs_*");
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
