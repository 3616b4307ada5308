/* SPDX-License-Identifier: Apache-2.0
 * The runs of a comparison, given to judge as a table, have the same statistics as in the
 * comparison's own results.json, to the last bit. */
#include "testing.h"

#include "printed.h"

#include "api/commands.h"

#define TABLE "test_judge.csv"
#define RUNS "test_judge_runs"

static json_t *compare(oa_context *c, const char *const *more)
{
    static const char *const attentions[] = { "softmax", "random(frozen)", "local(window=4)" };
    static const char *const small[] = { "data.train",
                                         SOURCE_DIR "/data/tinyshakespeare.txt",
                                         "model.layers",
                                         "1",
                                         "model.width",
                                         "16",
                                         "model.heads",
                                         "2",
                                         "model.context",
                                         "16",
                                         "train.batch",
                                         "4",
                                         "train.steps",
                                         "20",
                                         "train.lr",
                                         "0.02",
                                         "train.eval_every",
                                         "10",
                                         "train.final_tokens",
                                         "500",
                                         "train.eval_tokens",
                                         "500",
                                         "compare.seeds",
                                         "5",
                                         "compare.uniform_baseline",
                                         "off",
                                         NULL };
    oa_config *config = oa_config_new(c);
    set_options(config, small);
    set_options(config, more);
    assert_int_equal(oa_compare(config, attentions, 3, RUNS, &as_json), OA_OK);
    oa_config_free(config);
    return printed_json();
}

static void write_table(const json_t *results)
{
    size_t i, s;
    json_t *entry, *run;
    FILE *f = fopen(TABLE, "w");
    assert_non_null(f);
    fprintf(f, "model,seed,loss\n");
    json_array_foreach(json_object_get(results, "entries"), i, entry)
    {
        json_array_foreach(json_object_get(entry, "runs"), s, run)
        {
            fprintf(f, "\"%s\",%d,%.17g\n", json_string_value(json_object_get(entry, "attention")),
                    (int)json_integer_value(json_object_get(run, "seed")),
                    json_number_value(json_object_get(run, "valid_loss")));
        }
    }
    fclose(f);
}

static json_t *judge(oa_context *c, const char *file, double level, const char *const *options)
{
    struct oa_judge_request request = { .path = &file, .paths = 1, .level = level };
    oa_config *config = oa_config_new(c);
    set_options(config, options);
    assert_int_equal(oa_judge_runs(config, &request, NULL, &as_json), OA_OK);
    oa_config_free(config);
    return printed_json();
}

static void same(const json_t *a, const json_t *b, const char *key)
{
    json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
    if (!x || !y || !json_equal(x, y))
        fail_msg("%s: %s and %s", key, x ? json_dumps(x, JSON_ENCODE_ANY) : "none",
                 y ? json_dumps(y, JSON_ENCODE_ANY) : "none");
}

/* The estimate of the metric, which is the loss in one and the only measure in the other. */
static void the_same_statistics(const json_t *own, const json_t *judged)
{
    static const char *const keys[] = {
        "verdict",     "verdict_text",       "seeds_needed",
        "failed_runs", "difference_percent", "adjusted_difference"
    };
    size_t i;
    json_t *entry;
    /* Only runs of our own have results by item. */
    static const char *const of_items[] = { "over_seeds", "over_items", "items_state" };
    json_t *pair;
    json_array_foreach(json_object_get(own, "pairs"), i, pair) for (int k = 0; k < 3; k++)
    {
        json_object_del(pair, of_items[k]);
        json_object_del(json_array_get(json_object_get(judged, "pairs"), i), of_items[k]);
    }
    same(own, judged, "pairs");
    same(own, judged, "order");
    same(own, judged, "reference");
    same(own, judged, "margin");
    json_array_foreach(json_object_get(own, "entries"), i, entry)
    {
        json_t *theirs = json_array_get(json_object_get(judged, "entries"), i),
               *a = json_object_get(entry, "statistics"),
               *b = json_object_get(theirs, "statistics");
        same(entry, theirs, "attention");
        same(a, b, "loss");
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            same(a, b, keys[k]);
    }
    assert_true(json_array_size(json_object_get(own, "pairs")) == 3);
}

static void judged_as_compared(void **state)
{
    static const char *const questions[][8] = {
        { NULL },
        { "compare.baseline", "softmax", "compare.margin", "0.05", NULL },
        { "compare.sequential", "on", "compare.margin", "0.05", NULL },
        { "compare.test", "two-way", NULL }
    };
    (void)state;
    oa_context *c = open_context();
    assert_non_null(c);
    remove_folder(RUNS);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        json_t *own = compare(c, questions[i]);
        write_table(own);
        json_t *judged = judge(c, TABLE, 0, questions[i]);
        the_same_statistics(own, judged);
        json_decref(own);
        json_decref(judged);
    }
    oa_close(c);
}

/* SciPy 1.17.1: ttest_ind(adamw, sgd, equal_var=False) with its interval, t.interval of the means.
 */
static void samples_as_scipy(void **state)
{
    static const char *const options[] = { "compare.metric", "loss", NULL };
    static const double means[][3] = {
        { 2.6413666666666664, 2.5999150127678101, 2.6828183205655227 },
        { 2.5751199999999996, 2.5634188731173335, 2.5868211268826657 }
    };
    (void)state;
    oa_context *c = open_context();
    json_t *root = judge(c, SOURCE_DIR "/data/runs/speedrun.csv", 0, options);
    for (size_t i = 0; i < 2; i++) {
        json_t *entry = json_array_get(json_object_get(root, "entries"), i);
        close_to("mean", number_at(entry, "statistics.loss.mean"), means[i][0], 1e-14);
        close_to("low", number_at(entry, "statistics.loss.low"), means[i][1], 1e-13);
        close_to("high", number_at(entry, "statistics.loss.high"), means[i][2], 1e-13);
    }
    json_t *pair = json_array_get(json_object_get(root, "pairs"), 0);
    close_to("difference", number_at(pair, "difference.mean"), 0.066246666666666787, 1e-12);
    close_to("p", number_at(pair, "p"), 0.0082069978536936112, 1e-10);
    close_to("low", number_at(pair, "interval.low"), 0.024887807671306689, 1e-11);
    close_to("high", number_at(pair, "interval.high"), 0.10760552566202689, 1e-11);
    json_decref(root);
    root = judge(c, SOURCE_DIR "/data/runs/speedrun.csv", 0.01, options);
    pair = json_array_get(json_object_get(root, "pairs"), 0);
    close_to("low of 99 %", number_at(pair, "interval.low"), 0.0029665384788002125, 1e-10);
    close_to("high of 99 %", number_at(pair, "interval.high"), 0.12952679485453336, 1e-11);
    json_decref(root);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_as_scipy),
        cmocka_unit_test(judged_as_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
