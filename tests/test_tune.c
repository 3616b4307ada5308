/* SPDX-License-Identifier: Apache-2.0
 * Tuning before a comparison: what compare.tune means, the split of the text, the seeds, the
 * choice, and trials and runs against the same trainings made alone, on files that were cut by
 * hand. */
#include "results_reader.h"
#include "setups.h"

#include "compare/comparison_session.h"
#include "report/report.h"

#include <math.h>

enum { LENGTH = 9000 }; /* bytes of the text */
static const char text_file[] = "test_tune_text.txt", train_file[] = "test_tune_train.txt",
                  judge_file[] = "test_tune_judge.txt", folder[] = "test_tune_folder";
static char text[LENGTH + 1];

static void write_part(const char *path, size_t from, size_t to)
{
    FILE *f = fopen(path, "w");
    assert_int_equal(fwrite(text + from, 1, to - from, f), to - from);
    assert_int_equal(fclose(f), 0);
}

/* Words that follow no order of a few lines, so that each part of the text is another. */
static int make_text(void **state)
{
    (void)state;
    static const char *const words[] = { "the ",  "quick ", "fox ",   "jumps\n",
                                         "over ", "lazy ",  "dogs; ", "zebras " };
    uint32_t x = 1;
    size_t n = 0;
    while (n < LENGTH) {
        x = x * 1664525 + 1013904223;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", words[x >> 29]);
    }
    write_part(text_file, 0, LENGTH);
    return 0;
}

static struct oa_options options(void)
{
    struct oa_options o = small_model(text_file, 12);
    o.train_batch = 2;
    o.train_log_every = 4;
    o.train_eval_every = 5;
    o.compare_seeds = 2;
    o.compare_tune_per = OA_TUNE_PER_ONCE;
    o.compare_tune_extend = 0;
    o.compare_tune_seeds = 2;
    o.compare_tune_fraction = 0.2;
    snprintf(o.compare_tune, sizeof o.compare_tune,
             "train.lr=0.003,0.01 ; train.min_lr = 0.5,0.05");
    return o;
}

static oa_context *open_context(void)
{
    return oa_open(&(struct oa_settings){ .threads = 1 });
}

static enum oa_error hold(oa_context *c, const struct oa_options *o, struct oa_comparison *k)
{
    static const char *const attentions[] = { "softmax", "random" };
    struct oa_comparison_request r = {
        .options = o, .attentions = attentions, .count = 2, .folder = folder
    };
    return oa_comparison_run(c, &r, k);
}

static void expect_sentence(oa_context *c, const char *part)
{
    const char *sentence;
    oa_last_error(c, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not say \"%s\"", sentence, part);
    oa_clear_error(c);
}

/* ---- the grid ---- */

static void test_cells(void **state)
{
    (void)state;
    static const char *const names[] = { "train.lr=0.001,train.optimizer=sgd",
                                         "train.lr=0.001,train.optimizer=adamw",
                                         "train.lr=0.0001,train.optimizer=sgd",
                                         "train.lr=0.0001,train.optimizer=adamw" };
    oa_context *c = open_context();
    struct oa_grid g;
    struct oa_options o;
    struct oa_text t;
    char name[OA_GRID_NAME];
    assert_int_equal(oa_grid_parse(c, " train.lr = 1e-3 ,1E-4;train.optimizer=sgd,adamw\n", &g),
                     OA_OK);
    assert_int_equal(g.options, 2);
    assert_int_equal(g.cells, 4);
    assert_true(g.option[0].number);
    assert_false(g.option[1].number);
    for (int cell = 0; cell < 4; cell++) {
        assert_string_equal(oa_grid_name(&g, cell, name), names[cell]);
        oa_options_default(&o);
        assert_int_equal(oa_grid_apply(c, &g, cell, &o), OA_OK);
        assert_true(o.train_lr == (cell < 2 ? 0.001 : 0.0001));
        assert_int_equal(o.train_optimizer, cell % 2 ? OA_OPTIMIZER_ADAMW : OA_OPTIMIZER_SGD);
    }
    oa_text_init(&t, c);
    oa_grid_text(&g, &t);
    assert_string_equal(t.s, "train.lr=0.001,0.0001;train.optimizer=sgd,adamw");
    oa_text_free(&t);
    assert_int_equal(oa_grid_parse(c, " ", &g), OA_OK);
    assert_int_equal(g.options + g.cells, 0);
    oa_close(c);
}

static void test_grids_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "train.lr", "\"train.lr\" is not an option with values" },
        { "train.lr=1,2;", "\"\" is not an option with values" },
        { "train.rate=1,2", "unknown option \"train.rate\"" },
        { "train.lr=1,fast", "train.lr is \"fast\"; give a number" },
        { "train.lr=1,-1", "train.lr is \"-1\"; give a number" },
        { "train.lr=1,", "train.lr is \"\"" },
        { "train.schedule=cosine,linaer", "did you mean \"linear\"" },
        { "train.lr=1e-3,0.001", "train.lr has the value 0.001 twice" },
        { "train.lr=1,2;train.lr=3,4", "names train.lr twice" },
        { "train.lr=0.1", "only one value: give more, or --train.lr 0.1 instead" },
        { "train.seed=1,2", "train.seed cannot be tuned: it pairs the runs" },
        { "train.steps=1,2", "train.steps cannot be tuned: it is the budget" },
        { "train.seconds=1,2", "is the budget" },
        { "train.clock=wall,processor", "is the budget" },
        { "train.batch=1,2", "changes the tokens of a step" },
        { "train.accumulate=1,2", "changes the tokens of a step" },
        { "model.context=8,16", "changes the tokens of a step" },
        { "train.eval_every=1,2", "what is measured" },
        { "train.eval_tokens=1,2", "what is measured" },
        { "train.final_tokens=1,2", "what is measured" },
        { "train.log_every=1,2", "what is measured" },
        { "model.attention=softmax,random",
          "model.attention cannot be tuned: it is neither a number" },
        { "model.scale_embedding=on,off",
          "model.scale_embedding cannot be tuned: it is neither a number" },
        { "data.valid_fraction=0.1,0.2", "is the same for all runs" },
        { "train.checkpoint_every=1,2", "is the same for all runs" },
        { "generate.top_k=1,2", "is the same for all runs" },
        { "compare.seeds=1,2", "is the same for all runs" },
        { "train.lr=1,2;train.clip=1,2;train.beta1=0,0.9;train.beta2=0,0.9;train.min_lr=0,1",
          "more than 4 options" },
        { "train.warmup=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,"
          "29,30,31,32,33",
          "more than 32 values" },
        { "train.warmup=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17;train.lr=1,2,3,4,5,6,7,8,9,10,11,"
          "12,13,14,15,16,17",
          "289 combinations exceed the limit of 256" },
    };
    oa_context *c = open_context();
    struct oa_grid g;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(oa_grid_parse(c, cases[i].text, &g), OA_ARGUMENT);
        expect_sentence(c, "compare.tune");
        oa_grid_parse(c, cases[i].text, &g);
        expect_sentence(c, cases[i].sentence);
    }
    oa_close(c);
}

static void expect_refused(oa_context *c, const struct oa_options *o, const char *sentence)
{
    struct oa_comparison k;
    assert_int_equal(hold(c, o, &k), OA_ARGUMENT);
    expect_sentence(c, sentence);
    oa_comparison_free(&k);
    assert_false(oa_file_exists(folder));
}

/* Nothing of these is found out after hours: no folder is made. */
static void test_comparisons_that_are_refused(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = options();
    remove_folder(folder);
    o.compare_tune_fraction = 0.001;
    expect_refused(
        c, &o,
        "leaves 9 tokens of the training text to validate on, but a row of model.context needs 17");
    o.compare_tune_fraction = 0.9;
    o.model_context = 810;
    expect_refused(c, &o, "leaves 809 tokens of the training text to train on");
    o = options();
    o.compare_equal = OA_EQUAL_TIME;
    expect_refused(c, &o, "needs compare.tune_steps");
    o = options();
    *o.compare_tune = 0;
    expect_refused(c, &o, "compare.tune_fraction has no effect without compare.tune");
    o.compare_tune_fraction = 0.1;
    expect_refused(c, &o, "compare.tune_seeds has no effect");
    o.compare_tune_seeds = 1;
    o.compare_tune_steps = 3;
    expect_refused(c, &o, "compare.tune_steps has no effect");
    o.compare_tune_steps = 0;
    expect_refused(c, &o, "compare.tune_per has no effect");
    o.compare_tune_per = OA_TUNE_PER_SEED;
    expect_refused(c, &o, "compare.tune_extend has no effect");
    o = options();
    snprintf(o.compare_tune, sizeof o.compare_tune, "model.ffn=32,64");
    expect_refused(c, &o, "model.ffn=32 changes the number of parameters of \"softmax\"");
    snprintf(o.compare_tune, sizeof o.compare_tune, "train.optimizer=adamw,sgd");
    o.compare_equal = OA_EQUAL_FLOPS;
    expect_refused(c, &o, "train.optimizer=sgd changes the number of FLOPs a step of \"softmax\"");
    oa_close(c);
}

/* ---- the split ---- */

static void expect_text(oa_context *c, const struct oa_workload *w, const struct oa_tokens *tokens,
                        size_t from, size_t to)
{
    struct oa_text t;
    oa_text_init(&t, c);
    assert_int_equal(tokens->count, to - from); /* a character is a token here */
    assert_int_equal(tokens->characters, to - from);
    assert_int_equal(tokens->bytes, to - from);
    assert_int_equal(oa_tokenizer_decode(w->tokenizer, tokens->ids, tokens->count, &t), OA_OK);
    assert_memory_equal(t.s, text + from, to - from);
    oa_text_free(&t);
}

/* Of 9000 characters the last 1800 judge the comparison, and of the 7200 before them the last 720
 * judge its trials. */
static void test_the_split(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = options();
    struct oa_workload w;
    struct oa_corpus held;
    o.data_valid_fraction = 0.2;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_corpus_hold_out(c, w.tokenizer, &w.corpus.train, 0.1, &held), OA_OK);
    expect_text(c, &w, &held.train, 0, 6480);
    expect_text(c, &w, &held.valid, 6480, 7200);
    expect_text(c, &w, &w.corpus.valid, 7200, 9000);
    assert_string_not_equal(held.train.digest.hex, held.valid.digest.hex);
    assert_string_not_equal(held.train.digest.hex, w.corpus.train.digest.hex);
    /* 7200 · 0.9001 = 6480.72 */
    assert_int_equal(oa_corpus_hold_out(c, w.tokenizer, &w.corpus.train, 0.0999, &held), OA_OK);
    assert_int_equal(held.train.count, 6480);
    assert_int_equal(held.valid.count, 720);
    oa_workload_close(&w);
    oa_close(c);
}

/* ---- seeds ---- */

static void test_seeds_are_apart(void **state)
{
    (void)state;
    static const long most = 9007199254740991, firsts[] = { 0,
                                                            1,
                                                            17,
                                                            1000000,
                                                            4503599627370496,
                                                            most - 1000100,
                                                            most - 1000000,
                                                            most - 999999,
                                                            most - 50,
                                                            most };
    const struct oa_option_row *row;
    long seeds = 0;
    for (int i = 0; (row = oa_option_at(i)); i++)
        if (strcmp(row->section, "compare") == 0 && strcmp(row->name, "seeds") == 0)
            seeds = (long)row->high; /* no comparison has more */
    assert_true(seeds >= 1000);
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
        for (int i = 0; i < 400; i++) { /* the first and the last of 1000 tunings of 100 seeds */
            int number = i < 200 ? i : 100000 - 400 + i;
            long seed = oa_trial_seed(firsts[f], number);
            assert_true(seed >= 0 && seed <= most);
            assert_false(seed >= firsts[f] && seed < firsts[f] + seeds);
            for (int other = 0; other < i; other++)
                assert_true(oa_trial_seed(firsts[f], other < 200 ? other : 100000 - 400 + other) !=
                            seed);
        }
}

/* ---- the choice ---- */

static void make_trials(oa_context *c, const char *grid, const double *losses, int seeds,
                        struct oa_run *trials, struct oa_entry *entry, struct oa_comparison *k)
{
    static struct oa_tuned tuned;
    tuned = (struct oa_tuned){ .trials = trials, .chosen = -1 };
    *entry = (struct oa_entry){ .attention = (char *)(uintptr_t) "a", .tuned = &tuned };
    *k = (struct oa_comparison){ .entries = entry, .count = 1, .tuning.seeds = seeds };
    assert_int_equal(oa_grid_parse(c, grid, &k->tuning.grid), OA_OK);
    tuned.grid = k->tuning.grid;
    for (int i = 0; i < k->tuning.grid.cells * seeds; i++)
        trials[i] =
            (struct oa_run){ .valid_loss =
                                 isinf(losses[i]) ? 0.001 : losses[i], /* before it diverged */
                             .failed = isinf(losses[i]),
                             .steps = 10 + i,
                             .flops = 100 + i,
                             .seconds = 1,
                             .processor_seconds = 2 };
}

static void test_choices(void **state)
{
    (void)state;
    static const double bad = INFINITY;
    static const struct {
        double losses[6]; /* of values 1, 2, 3 with two seeds each */
        int best;
    } cases[] = {
        { { 3, 3, 2, 2, 4, 4 }, 1 },           { { 2, 2, 2, 2, 2, 2 }, 0 },
        { { 1, 9, 4, 4, 2, 5 }, 2 },           { { 1, bad, 4, 4, 5, 5 }, 1 },
        { { bad, bad, bad, 1, 5, 5 }, 2 },     { { bad, 1, bad, 1, bad, bad }, -1 },
        { { (double)NAN, 1, 4, 4, 4, 4 }, 1 }, { { 4, 4, 3, 5, 2, 6 }, 0 },
        { { 4, 4, 3, 5, 2, 5.5 }, 2 },
    };
    oa_context *c = open_context();
    struct oa_run trials[6];
    struct oa_entry entry;
    struct oa_comparison k;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_trials(c, "train.lr=1,2,3", cases[i].losses, 2, trials, &entry, &k);
        assert_int_equal(oa_trial_best(&k, entry.tuned), cases[i].best);
    }
    make_trials(c, "train.lr=1,2,3", cases[3].losses, 2, trials, &entry, &k);
    struct oa_trial_cost cost = { .runs = 1, .steps = 0.5 };
    oa_trial_cost_sum(&k, 0, &cost);
    assert_true(isnan(oa_trial_mean(&k, entry.tuned, 0, 0)) &&
                oa_trial_mean(&k, entry.tuned, 2, 0) == 5);
    assert_int_equal(cost.runs, 7);
    assert_int_equal(cost.failed, 1);
    assert_true(cost.steps == 75.5 && cost.flops == 615 && cost.seconds == 6 &&
                cost.processor_seconds == 12);
    oa_close(c);
}

static int edge_of(oa_context *c, const char *grid, int chosen, int option)
{
    static const double losses[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    struct oa_run trials[16];
    struct oa_entry entry;
    struct oa_comparison k;
    make_trials(c, grid, losses, 1, trials, &entry, &k);
    return oa_trial_edge(&k, entry.tuned, chosen, option);
}

/* An option is idle where no value of it changes a loss, whatever the others are; then it is at no
 * edge. */
static void test_idle_options(void **state)
{
    (void)state;
    static const struct {
        double losses[8];
        bool idle[2];
    } cases[] = {
        { { 3, 4, 5, 3, 4, 5 }, { true, false } },
        { { 3, 3, 3, 5, 5, 5 }, { false, true } },
        { { 2, 2, 2, 2, 2, 2 }, { true, true } },
        { { 3, 4, 5, 3, 4, 5.5 }, { false, false } },
        { { 3, 3, 3, 5, 5, 4 }, { false, false } },
        { { INFINITY, 4, 5, INFINITY, 4, 5 }, { true, false } },
    };
    oa_context *c = open_context();
    struct oa_run trials[6];
    struct oa_entry entry;
    struct oa_comparison k;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_trials(c, "train.beta2=0.8,0.9;train.lr=1,2,3", cases[i].losses, 1, trials, &entry,
                    &k);
        for (int option = 0; option < 2; option++) {
            assert_int_equal(oa_trial_idle(&k, entry.tuned, option), cases[i].idle[option]);
            assert_int_equal(oa_trial_edge(&k, entry.tuned, 0, option),
                             cases[i].idle[option] ? 0 : -1);
        }
    }
    oa_close(c);
}

/* Values that are tried as 3e-4, 1e-3, 3e-3 go on as 1e-2; by hand. */
static void test_next_values(void **state)
{
    (void)state;
    static const struct {
        const char *grid, *below, *above; /* "": there is none */
    } cases[] = {
        { "train.lr=3e-4,1e-3,3e-3", "0.0001", "0.01" },
        { "train.lr=0.003,0.0003,0.001", "0.0001", "0.01" }, /* in any order */
        { "train.lr=1e-3,3e-3,1e-2", "0.0003", "0.03" },
        { "train.lr=1e-3,2e-3,4e-3,8e-3", "0.0005", "0.016" },
        { "train.lr=1e-3,3e-3", "0.000333333", "0.009" },
        { "train.lr=1,2,3", "0", "4" }, /* 0 is in its range */
        { "train.lr=1,2,4", "0.5", "8" },
        { "train.lr=10,700", "0.142857", "" },       /* 49000 is above 1000 */
        { "model.dropout=0,0.1,0.2", "", "0.3" },    /* below 0 there is nothing */
        { "model.dropout=0.1,0.15", "0.05", "0.2" }, /* no ratio */
        { "train.beta2=0.9,0.99", "0.81", "" },      /* 1.08 is above 1 */
        { "train.warmup=9,10", "8", "11" },          /* whole numbers */
        { "train.warmup=5,20", "1", "80" },          /* 1.25 */
        { "train.warmup=1,2", "", "4" },             /* 0.5 rounds to 1, which is tried */
        { "train.schedule=cosine,linear", "", "" },
    };
    oa_context *c = open_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int up = 0; up < 2; up++) {
            struct oa_grid g;
            char value[OA_GRID_VALUE] = "";
            const char *expected = up ? cases[i].above : cases[i].below;
            assert_int_equal(oa_grid_parse(c, cases[i].grid, &g), OA_OK);
            bool there = oa_grid_next(c, &g, 0, up, value);
            if (there != (*expected != 0) || (there && strcmp(value, expected) != 0))
                fail_msg("%s: %s, expected \"%s\"", cases[i].grid, there ? value : "none",
                         expected);
        }
    oa_close(c);
}

/* Loss of the made-up trials: lowest at a rate of 0.1 and a clip of 1. */
static double made_up_loss(const struct oa_grid *g, int cell)
{
    double rate, clip;
    assert_true(oa_parse_real(oa_grid_value(g, cell, 0), &rate));
    assert_true(oa_parse_real(oa_grid_value(g, cell, 1), &clip));
    return 2 + fabs(log10(rate / 0.1)) + fabs(clip - 1);
}

static void make_absent(struct oa_tuned *u, int *made)
{
    for (int cell = 0; cell < u->grid.cells; cell++)
        if (u->trials[cell].absent) {
            u->trials[cell] = (struct oa_run){ .valid_loss = made_up_loss(&u->grid, cell) };
            ++*made;
        }
}

static int extensions(oa_context *c, int limit, const char *wanted, struct oa_tuned *u, int *made)
{
    struct oa_comparison k = { .count = 1, .seeds = 1, .tuning = { .seeds = 1, .extend = limit } };
    int added = 1, values = 0;
    struct oa_text t;
    *made = 0;
    assert_int_equal(oa_grid_parse(c, "train.lr=3e-4,1e-3,3e-3;train.clip=1,2", &k.tuning.grid),
                     OA_OK);
    assert_int_equal(oa_tuned_open(c, &k, u), OA_OK);
    assert_false(oa_tuned_made(&k, u));
    while (added) {
        make_absent(u, made);
        assert_true(oa_tuned_made(&k, u));
        assert_int_equal(oa_trial_extend(c, &k, u, &added), OA_OK);
        values += added;
    }
    u->chosen = oa_trial_best(&k, u);
    for (int cell = 0; cell < u->grid.cells; cell++) /* each is still where its values are */
        assert_true(u->trials[cell].valid_loss == made_up_loss(&u->grid, cell));
    oa_text_init(&t, c);
    oa_grid_text(&u->grid, &t);
    assert_string_equal(t.s, wanted);
    oa_text_free(&t);
    return values;
}

/* The best rate is above the grid, the best clip is its smallest value: 0 comes next, and is worse.
 */
static void test_grids_extend(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_tuned u = { .chosen = -1 };
    int made;
    assert_int_equal(extensions(c, 0, "train.lr=0.0003,0.001,0.003;train.clip=1,2", &u, &made), 0);
    assert_int_equal(made, 6);
    assert_int_equal(
        extensions(c, 1, "train.lr=0.0003,0.001,0.003,0.01;train.clip=1,2,0.5", &u, &made), 2);
    assert_int_equal(made, 12);
    assert_int_equal(
        extensions(c, 3, "train.lr=0.0003,0.001,0.003,0.01,0.03,0.1;train.clip=1,2,0.5", &u, &made),
        4);
    assert_int_equal(made, 18);
    assert_int_equal(extensions(c, 9,
                                "train.lr=0.0003,0.001,0.003,0.01,0.03,0.1,0.3;train.clip=1,2,0.5",
                                &u, &made),
                     5); /* 0.3 is worse: the end */
    assert_int_equal(made, 21);
    assert_string_equal(oa_grid_value(&u.grid, u.chosen, 0), "0.1");
    assert_string_equal(oa_grid_value(&u.grid, u.chosen, 1), "1");
    oa_free(u.trials);
    oa_close(c);
}

static void test_edges(void **state)
{
    (void)state;
    oa_context *c = open_context();
    static const char order[] = "train.lr=3e-3,1e-3,1e-2";
    assert_int_equal(edge_of(c, order, 0, 0), 0);
    assert_int_equal(edge_of(c, order, 1, 0), -1);
    assert_int_equal(edge_of(c, order, 2, 0), 1);
    assert_int_equal(edge_of(c, "train.lr=0,1000", 0, 0), 0); /* there is nothing beyond */
    assert_int_equal(edge_of(c, "train.lr=0,1000", 1, 0), 0);
    assert_int_equal(edge_of(c, "train.warmup=9,10", 1, 0), 1); /* by number, not by text */
    assert_int_equal(edge_of(c, "train.warmup=9,10", 0, 0), -1);
    assert_int_equal(edge_of(c, "train.schedule=linear,cosine", 1, 0), 0);
    assert_int_equal(edge_of(c, "train.lr=1,2,3;train.clip=1,2", 3, 0), 0); /* lr 2, clip 2 */
    assert_int_equal(edge_of(c, "train.lr=1,2,3;train.clip=1,2", 3, 1), 1);
    oa_close(c);
}

/* ---- a comparison against trainings made alone ---- */

/* The loss of one training on two files with the tokenizer of a run: nothing here knows of
 * comparisons. */
static double alone(oa_context *c, struct oa_options o, const char *train, const char *valid,
                    double fraction)
{
    struct oa_workload w;
    struct oa_run run;
    snprintf(o.data_train, sizeof o.data_train, "%s", train);
    snprintf(o.data_valid, sizeof o.data_valid, "%s", valid);
    snprintf(o.data_tokenizer, sizeof o.data_tokenizer,
             "%s/runs/attention-01/seed-1/tokenizer.json", folder);
    o.data_valid_fraction = fraction;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(
        oa_train_run(c, &(struct oa_train_request){ .options = &o, .workload = &w }, &run), OA_OK);
    double loss = run.valid_loss;
    oa_run_free(&run);
    oa_workload_close(&w);
    return loss;
}

static const double rates[] = { 0.003, 0.003, 0.01, 0.01 }, ends[] = { 0.5, 0.05, 0.5, 0.05 };

static void expect_trials(oa_context *c, const struct oa_comparison *k, int entry, long steps)
{
    double best = INFINITY;
    int chosen = -1;
    for (int cell = 0; cell < 4; cell++) {
        double losses[2];
        for (int s = 0; s < 2; s++) {
            struct oa_options o = options();
            snprintf(o.model_attention, sizeof o.model_attention, "%s",
                     k->entries[entry].attention);
            o.train_lr = rates[cell];
            o.train_min_lr = ends[cell];
            o.train_seed = 1000001 + s;
            o.train_steps = steps;
            o.train_eval_every = 0;
            losses[s] = alone(c, o, train_file, judge_file, 0);
            const struct oa_run *trial = &k->entries[entry].tuned->trials[2 * cell + s];
            assert_true(trial->valid_loss == losses[s]);
            assert_int_equal(trial->seed, 1000001 + s);
            assert_int_equal(trial->steps, steps);
        }
        if ((losses[0] + losses[1]) / 2 < best) {
            best = (losses[0] + losses[1]) / 2;
            chosen = cell;
        }
    }
    assert_int_equal(k->entries[entry].tuned->chosen, chosen);
}

static void expect_runs(oa_context *c, const struct oa_comparison *k, int entry)
{
    for (int s = 0; s < 2; s++) {
        struct oa_options o = options();
        snprintf(o.model_attention, sizeof o.model_attention, "%s", k->entries[entry].attention);
        o.train_lr = rates[k->entries[entry].tuned->chosen];
        o.train_min_lr = ends[k->entries[entry].tuned->chosen];
        o.train_seed = 1 + s;
        assert_true(k->entries[entry].runs[s].valid_loss == alone(c, o, text_file, "", 0.1));
    }
}

static json_t *read_json(const char *format, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, format, folder, name);
    json_t *root = json_load_file(path, 0, NULL);
    if (!root)
        fail_msg("%s is no JSON", path);
    return root;
}

static double number_in(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* The cost of an attention in results.json, from what its run folders say. */
static void expect_cost(const json_t *cost, const struct oa_grid *g, int place)
{
    double steps = 0, flops = 0, processor = 0, seconds = 0;
    for (int i = 0; i < 8; i++) {
        char name[OA_GRID_NAME], run[OA_GRID_NAME + 64];
        snprintf(run, sizeof run, "attention-%02d/%s/seed-%d", place, oa_grid_name(g, i / 2, name),
                 1000001 + i % 2);
        json_t *result = read_json("%s/tune/%s/result.json", run);
        steps += number_in(result, "steps");
        flops += number_in(result, "flops");
        processor += number_in(result, "processor_seconds");
        seconds += number_in(result, "seconds");
        json_decref(result);
    }
    assert_int_equal(json_integer_value(json_object_get(cost, "runs")), 8);
    assert_true(number_in(cost, "steps") == steps && number_in(cost, "flops") == flops);
    assert_true(number_in(cost, "processor_seconds") == processor &&
                number_in(cost, "seconds") == seconds);
}

static void expect_results(const json_t *root, const struct oa_comparison *k)
{
    const json_t *tuning = json_object_get(root, "tuning");
    double flops = 0;
    assert_string_equal(json_string_value(json_object_get(tuning, "grid")),
                        "train.lr=0.003,0.01;train.min_lr=0.5,0.05");
    assert_true(number_in(tuning, "train_tokens") == 6480 &&
                number_in(tuning, "valid_tokens") == 1620);
    assert_true(number_in(tuning, "seeds") == 2 && number_in(tuning, "fraction") == 0.2);
    for (int i = 0; i < k->count; i++) {
        const json_t *own =
            json_object_get(json_array_get(json_object_get(root, "entries"), (size_t)i), "tuning");
        const json_t *values = json_object_get(own, "values"),
                     *cells = json_object_get(own, "cells");
        int chosen = k->entries[i].tuned->chosen;
        assert_true(number_in(own, "chosen") == chosen);
        assert_true(number_in(values, "train.lr") == rates[chosen] &&
                    number_in(values, "train.min_lr") == ends[chosen]);
        for (int cell = 0; cell < 4; cell++)
            assert_true(number_in(json_array_get(cells, (size_t)cell), "loss") ==
                        (k->entries[i].tuned->trials[2 * cell].valid_loss +
                         k->entries[i].tuned->trials[2 * cell + 1].valid_loss) /
                            2);
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(own, "edges"), "train.lr")),
            rates[chosen] == 0.01 ? "largest" : "smallest");
        expect_cost(json_object_get(own, "cost"), &k->tuning.grid, i + 1);
        flops += number_in(json_object_get(own, "cost"), "flops");
    }
    assert_true(number_in(json_object_get(tuning, "cost"), "runs") == 8 * k->count);
    assert_true(number_in(json_object_get(tuning, "cost"), "flops") == flops);
    const json_t *train = json_object_get(json_object_get(root, "options"), "train");
    assert_null(json_object_get(train, "lr"));
    assert_null(json_object_get(train, "min_lr"));
    assert_true(number_in(train, "beta1") == 0.9);
}

/* results.json does not have what was measured on each item. */
static void forget_items(struct oa_comparison *k)
{
    for (int i = 0; i < k->count; i++)
        for (int s = 0; s < k->seeds; s++) {
            oa_items_free(&k->entries[i].runs[s].items);
            k->entries[i].runs[s].items = (struct oa_items){ 0 };
        }
}

/* results.json read back makes the same file and the same page. */
static void expect_round_trip(oa_context *c, const char *json, const char *page)
{
    struct oa_comparison back;
    struct oa_summary s;
    struct oa_text t;
    assert_int_equal(oa_comparison_from_json(c, json, &back), OA_OK);
    assert_int_equal(oa_summary_make(c, &back, &s), OA_OK);
    oa_text_init(&t, c);
    oa_report_json(&back, &s, &t);
    assert_string_equal(t.s, json);
    oa_text_free(&t);
    oa_report_html(&back, &s, &t);
    assert_string_equal(t.s, page);
    oa_text_free(&t);
    oa_summary_free(&s);
    oa_comparison_free(&back);
}

static void expect_reports(oa_context *c, struct oa_comparison *k)
{
    struct oa_summary s;
    struct oa_text json, page;
    forget_items(k);
    assert_int_equal(oa_summary_make(c, k, &s), OA_OK);
    assert_non_null(
        strstr(s.conclusion,
               "Tuned for each attention: train.lr and train.min_lr, the best of 4 settings"));
    assert_non_null(strstr(s.conclusion, "(24 runs with "));
    oa_text_init(&json, c);
    oa_text_init(&page, c);
    oa_report_json(k, &s, &json);
    oa_report_html(k, &s, &page);
    json_t *root = json_loads(json.s, 0, NULL);
    expect_results(root, k);
    json_decref(root);
    expect_round_trip(c, json.s, page.s);
    oa_text_free(&json);
    oa_text_free(&page);
    oa_summary_free(&s);
}

/* 9000 characters: 8100 train, of which the last 1620 judge trials. */
static void test_against_trainings_made_alone(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = options();
    struct oa_comparison k;
    remove_folder(folder);
    write_part(train_file, 0, 6480);
    write_part(judge_file, 6480, 8100);
    assert_int_equal(hold(c, &o, &k), OA_OK);
    assert_int_equal(k.count, 3); /* the floor is tuned, too */
    for (int entry = 0; entry < k.count; entry++) {
        expect_trials(c, &k, entry, 12);
        expect_runs(c, &k, entry);
    }
    expect_reports(c, &k);
    oa_comparison_free(&k);
    oa_close(c);
    remove_folder(folder);
}

/* ---- each seed tunes for itself ---- */

/* The grid, the choice and the run of one seed, from trainings made alone. */
static void expect_own_tuning(oa_context *c, const struct oa_comparison *k, int entry, int seed)
{
    static const double tried[] = { 0.003, 0.01, 0.0333333, 0.111111 };
    struct oa_options o = options();
    const struct oa_tuned *u = oa_tuned_of(k, entry, seed);
    double best = INFINITY;
    int chosen = -1, cells = 2;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", k->entries[entry].attention);
    for (int cell = 0; cell < cells; cell++) {
        o.train_lr = tried[cell];
        o.train_seed = 1000001 + seed;
        o.train_eval_every = 0;
        double loss = alone(c, o, train_file, judge_file, 0);
        assert_true(u->trials[cell].valid_loss == loss);
        assert_int_equal(u->trials[cell].seed, 1000001 + seed);
        if (loss < best) {
            best = loss;
            chosen = cell;
        }
        if (cell == cells - 1 && chosen == cell && cells < 4) /* at the edge: one more */
            cells++;
    }
    assert_int_equal(u->chosen, chosen);
    assert_int_equal(u->grid.cells, cells);
    o = options();
    snprintf(o.model_attention, sizeof o.model_attention, "%s", k->entries[entry].attention);
    o.train_lr = tried[chosen];
    o.train_seed = 1 + seed;
    assert_true(k->entries[entry].runs[seed].valid_loss == alone(c, o, text_file, "", 0.1));
}

static struct oa_options nested_options(void)
{
    struct oa_options o = options();
    o.compare_tune_per = OA_TUNE_PER_SEED;
    o.compare_tune_extend = 2;
    o.compare_tune_seeds = 1;
    o.compare_seeds = 3;
    snprintf(o.compare_tune, sizeof o.compare_tune, "train.lr=0.003,0.01");
    return o;
}

static void test_each_seed_tunes_for_itself(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = nested_options();
    struct oa_comparison k;
    struct oa_summary s;
    struct oa_text json, page;
    remove_folder(folder);
    write_part(train_file, 0, 6480);
    write_part(judge_file, 6480, 8100);
    assert_int_equal(hold(c, &o, &k), OA_OK);
    for (int entry = 0; entry < k.count; entry++)
        for (int seed = 0; seed < 3; seed++)
            expect_own_tuning(c, &k, entry, seed);
    forget_items(&k);
    assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
    oa_text_init(&json, c);
    oa_text_init(&page, c);
    oa_report_json(&k, &s, &json);
    oa_report_html(&k, &s, &page);
    expect_round_trip(c, json.s, page.s);
    oa_text_free(&json);
    oa_text_free(&page);
    oa_summary_free(&s);
    oa_comparison_free(&k);
    oa_close(c);
    remove_folder(folder);
}

/* With several seeds for each cell no two tunings of a comparison share one. */
static void test_tunings_have_seeds_of_their_own(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = nested_options();
    struct oa_comparison k;
    remove_folder(folder);
    o.compare_tune_extend = 0;
    o.compare_tune_seeds = 2;
    o.compare_seeds = 2;
    assert_int_equal(hold(c, &o, &k), OA_OK);
    for (int entry = 0; entry < k.count; entry++)
        for (int seed = 0; seed < 2; seed++)
            for (int i = 0; i < 4; i++) /* two rates, each with two seeds */
                assert_int_equal(oa_tuned_of(&k, entry, seed)->trials[i].seed,
                                 1000001 + 2 * seed + i % 2);
    oa_comparison_free(&k);
    oa_close(c);
    remove_folder(folder);
}

/* contest.json of a program that knew neither compare.tune_per nor tune_extend. */
static void test_older_folders_go_on(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = nested_options();
    struct oa_comparison k;
    remove_folder(folder);
    o.compare_tune_per = OA_TUNE_PER_ONCE;
    o.compare_tune_extend = 0;
    assert_int_equal(hold(c, &o, &k), OA_OK);
    oa_comparison_free(&k);
    json_t *root = read_json("%s/%s", "contest.json"),
           *fingerprint = json_object_get(root, "fingerprint");
    assert_int_equal(json_object_del(fingerprint, "compare.tune_per"), 0);
    assert_int_equal(json_object_del(fingerprint, "compare.tune_extend"), 0);
    assert_int_equal(
        oa_comparison_file_write(c, folder, fingerprint, json_object_get(root, "members")), OA_OK);
    json_decref(root);
    o = nested_options();
    o.compare_seeds = 4;
    assert_int_equal(system("rm test_tune_folder/speed.json"), 0); /* it has the fingerprint, too */
    assert_int_equal(hold(c, &o, &k), OA_OK);
    assert_false(k.tuning.per_seed);
    assert_int_equal(k.tuning.extend, 0);
    for (int i = 0; i < k.count; i++)
        assert_int_equal(k.entries[i].tuned->grid.cells, 2);
    assert_non_null(strstr(k.options_json, "\"tune_per\": \"once\""));
    oa_comparison_free(&k);
    assert_int_equal(system("[ $(find test_tune_folder/tune -name result.json | wc -l) = 6 ]"), 0);
    oa_close(c);
    remove_folder(folder);
}

/* What was begun with one value of compare.tune_per is not continued with the other. */
static void test_other_tunings_are_refused(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = nested_options();
    struct oa_comparison k;
    remove_folder(folder);
    o.compare_seeds = 1;
    assert_int_equal(hold(c, &o, &k), OA_OK);
    oa_comparison_free(&k);
    o.compare_tune_per = OA_TUNE_PER_ONCE;
    assert_int_equal(hold(c, &o, &k), OA_ARGUMENT);
    expect_sentence(c, "compare.tune_per was seed, but it is once now");
    oa_comparison_free(&k);
    o = nested_options();
    o.compare_tune_extend = 3;
    assert_int_equal(hold(c, &o, &k), OA_ARGUMENT);
    expect_sentence(c, "compare.tune_extend was 2, but it is 3 now");
    oa_comparison_free(&k);
    oa_close(c);
    remove_folder(folder);
}

/* Equal FLOPs give random more steps than softmax; with compare.tune_steps in proportion. */
static void test_steps_of_trials(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = options();
    struct oa_comparison k;
    for (int round = 0; round < 2; round++) {
        remove_folder(folder);
        o.compare_equal = OA_EQUAL_FLOPS;
        snprintf(o.compare_tune, sizeof o.compare_tune, "train.lr=0.003,0.01");
        o.train_steps = 40;
        o.compare_tune_steps = round ? 20 : 0;
        assert_int_equal(hold(c, &o, &k), OA_OK);
        assert_true(k.entries[1].runs[0].steps > 40);
        for (int i = 0; i < k.count; i++) {
            long steps = k.entries[i].runs[0].steps;
            assert_int_equal(k.entries[i].tuned->trials[3].steps,
                             round ? lround(20 * (double)steps / 40) : steps);
        }
        oa_comparison_free(&k);
    }
    remove_folder(folder);
    oa_close(c);
}

/* ---- what contest.json remembers ---- */

static void test_the_choice_is_recorded(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = options();
    struct oa_comparison k;
    remove_folder(folder);
    assert_int_equal(hold(c, &o, &k), OA_OK);
    json_t *root = read_json("%s/%s", "contest.json");
    json_t *member = json_array_get(json_object_get(root, "members"), 0),
           *tuned = json_object_get(member, "tuned");
    char rate[32];
    snprintf(rate, sizeof rate, "%g", rates[k.entries[0].tuned->chosen]);
    assert_string_equal(json_string_value(json_object_get(tuned, "train.lr")), rate);
    oa_comparison_free(&k);
    json_object_set_new(tuned, "train.lr",
                        json_string(strcmp(rate, "0.01") == 0 ? "0.003" : "0.01"));
    assert_int_equal(system("rm -rf test_tune_folder/runs"), 0);
    assert_int_equal(oa_comparison_file_write(c, folder, json_object_get(root, "fingerprint"),
                                              json_object_get(root, "members")),
                     OA_OK);
    assert_int_equal(hold(c, &o, &k), OA_FORMAT);
    expect_sentence(c, "for \"softmax\", but by the runs in tune the best is");
    oa_comparison_free(&k);
    json_decref(root);
    oa_close(c);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_grids_that_are_refused),
        cmocka_unit_test(test_comparisons_that_are_refused),
        cmocka_unit_test(test_the_split),
        cmocka_unit_test(test_seeds_are_apart),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_idle_options),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_next_values),
        cmocka_unit_test(test_grids_extend),
        cmocka_unit_test(test_against_trainings_made_alone),
        cmocka_unit_test(test_each_seed_tunes_for_itself),
        cmocka_unit_test(test_tunings_have_seeds_of_their_own),
        cmocka_unit_test(test_older_folders_go_on),
        cmocka_unit_test(test_other_tunings_are_refused),
        cmocka_unit_test(test_steps_of_trials),
        cmocka_unit_test(test_the_choice_is_recorded),
    };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
