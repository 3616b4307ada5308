/* SPDX-License-Identifier: Apache-2.0
 * Comparisons in which single sources of chance vary: which runs are made, that each differs from
 * the first by its source alone, that they are found again, and what is refused. */
#include "compare/comparison.h"
#include "setups.h"

#include "base/checksum.h"
#include "compare/run_result.h"

#include <math.h>
#include <sys/stat.h>

static const char text_file[] = "test_vary_text.txt";
static const char folder[] = "test_vary_folder";

static int make_text(void **state)
{
    (void)state;
    FILE *f = fopen(text_file, "w");
    for (int i = 0; i < 300; i++)
        fprintf(f, "%d the %s fox jumps over the %s dog; ", i, i % 3 ? "quick" : "slow",
                i % 5 ? "lazy" : "tired");
    return fclose(f);
}

static struct oa_options options(const char *vary)
{
    struct oa_options o = small_model(text_file, 4);
    snprintf(o.compare_vary, sizeof o.compare_vary, "%s", vary);
    o.model_dropout = 0.2;
    o.train_batch = 2;
    o.train_log_every = 2;
    o.compare_seeds = 2;
    o.compare_vary_seeds = 3;
    return o;
}

static int lines;
static void count_lines(void *argument, int level, const char *line)
{
    (void)argument;
    lines += level == 1 && strstr(line, ": step ") != NULL;
}

static oa_context *open_context(void)
{
    return oa_open(&(struct oa_settings){ .threads = 1, .log = count_lines });
}

static enum oa_error comparison(oa_context *c, const struct oa_options *o, struct oa_comparison *k)
{
    static const char *const attentions[] = { "softmax", "random" };
    struct oa_comparison_request r = {
        .options = o, .attentions = attentions, .count = 2, .folder = folder
    };
    return oa_comparison_run(c, &r, k);
}

static void expect_refusal(oa_context *c, const struct oa_options *o, const char *part)
{
    struct oa_comparison k;
    const char *sentence;
    struct stat about;
    assert_int_equal(comparison(c, o, &k), OA_ARGUMENT);
    oa_last_error(c, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not say \"%s\"", sentence, part);
    oa_clear_error(c);
    oa_comparison_free(&k);
    assert_int_not_equal(stat(folder, &about), 0);
}

static json_t *result_of(oa_context *c, const char *run)
{
    char path[256];
    json_t *root;
    snprintf(path, sizeof path, "%s/%s/result.json", folder, run);
    assert_int_equal(oa_checksummed_read(c, path, "", &root), OA_OK);
    return root;
}

/* The keys in which two fingerprints differ, with blanks between. */
static void differing(json_t *a, json_t *b, char out[256])
{
    const char *key;
    json_t *value, *x = json_object_get(a, "fingerprint"), *y = json_object_get(b, "fingerprint");
    out[0] = 0;
    assert_int_equal(json_object_size(x), json_object_size(y));
    json_object_foreach(x, key, value)
    {
        if (!json_equal(value, json_object_get(y, key)))
            snprintf(out + strlen(out), 256 - strlen(out), "%s%s", *out ? ", " : "", key);
    }
}

static const struct {
    enum oa_chance source;
    const char *first, *second; /* folders of the second and third value */
    const char *differs;
} sources[] = {
    { OA_CHANCE_INIT, "init-2", "init-3", "train.seed_init" },
    { OA_CHANCE_ORDER, "order-2", "order-3", "train.seed_order" },
    { OA_CHANCE_DROPOUT, "dropout-2", "dropout-3", "train.seed_dropout" },
    { OA_CHANCE_SPLIT, "split-1", "split-2", "training text, validation text" },
};

static void expect_run(oa_context *c, const struct oa_comparison *k, int i, int entry, int value)
{
    char name[64], keys[256];
    snprintf(name, sizeof name, "runs/attention-%02d/seed-1", entry + 1);
    json_t *first = result_of(c, name);
    snprintf(name, sizeof name, "vary/attention-%02d/%s", entry + 1,
             value == 1 ? sources[i].first : sources[i].second);
    json_t *run = result_of(c, name);
    const struct oa_varied *v = oa_varied_of(&k->vary, entry, sources[i].source);
    differing(first, run, keys);
    assert_string_equal(keys, sources[i].differs);
    assert_true(v[value].score == json_number_value(json_object_get(run, "valid_loss")));
    assert_true(v[0].score == k->entries[entry].runs[0].valid_loss);
    assert_true(v[value].score != v[0].score && v[1].score != v[2].score);
    json_decref(first);
    json_decref(run);
}

static int count_folders(const char *below)
{
    char command[128];
    int count;
    snprintf(command, sizeof command, "ls -d %s/%s/* | wc -l", folder, below);
    FILE *p = popen(command, "r");
    assert_int_equal(fscanf(p, "%d", &count), 1);
    pclose(p);
    return count;
}

static void test_each_varies_alone(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = options("each");
    struct oa_comparison k, again;
    remove_folder(folder);
    assert_int_equal(comparison(c, &o, &k), OA_OK);
    assert_int_equal(k.count, 3);
    for (int i = 0; i < OA_CHANCES; i++)
        for (int entry = 0; entry < 2; entry++)
            for (int value = 1; value < 3; value++)
                expect_run(c, &k, i, entry, value);
    assert_int_equal(count_folders("vary"), 2); /* the floor is not varied */
    assert_int_equal(count_folders("vary/*"), 2 * OA_CHANCES * 2);

    lines = 0;
    assert_int_equal(comparison(c, &o, &again), OA_OK);
    assert_int_equal(lines, 0); /* everything was there */
    for (int i = 0; i < 2; i++)
        for (int s = 0; s < OA_CHANCES; s++)
            assert_memory_equal(oa_varied_of(&k.vary, i, s), oa_varied_of(&again.vary, i, s),
                                3 * sizeof(struct oa_varied));
    oa_comparison_free(&k);
    oa_comparison_free(&again);
    oa_close(c);
}

/* Of the folder that the test above left: the runs that are missing are made, and give the same;
 * others are used. */
static void test_it_goes_on(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = options("order, dropout");
    struct oa_comparison k;
    json_t *before = result_of(c, "vary/attention-02/order-3");
    double loss = json_number_value(json_object_get(before, "valid_loss"));
    json_decref(before);
    assert_int_equal(system("rm -r test_vary_folder/vary/attention-02/order-3"), 0);
    lines = 0;
    assert_int_equal(comparison(c, &o, &k), OA_OK);
    assert_true(lines > 0);
    assert_true(oa_varied_of(&k.vary, 1, OA_CHANCE_ORDER)[2].score == loss);
    assert_false(k.vary.varied[OA_CHANCE_INIT] || k.vary.varied[OA_CHANCE_SPLIT]);
    oa_comparison_free(&k);

    o.compare_vary_seeds = 4; /* one more of each */
    assert_int_equal(comparison(c, &o, &k), OA_OK);
    assert_int_equal(count_folders("vary/attention-01"), 10);
    assert_true(oa_varied_of(&k.vary, 1, OA_CHANCE_ORDER)[2].score == loss);
    oa_comparison_free(&k);

    snprintf(o.compare_vary, sizeof o.compare_vary,
             "together"); /* the extra runs are in nobody's way */
    o.compare_vary_seeds = 5;
    assert_int_equal(comparison(c, &o, &k), OA_OK);
    assert_int_equal(k.vary.values, 0);
    oa_comparison_free(&k);

    char path[] = "test_vary_folder/vary/attention-01/order-2/result.json";
    FILE *f = fopen(path, "r+");
    assert_int_equal(fseek(f, 40, SEEK_SET), 0);
    fputc('#', f);
    fclose(f);
    o = options("order");
    assert_int_equal(comparison(c, &o, &k), OA_FORMAT);
    oa_clear_error(c);
    oa_comparison_free(&k);
    oa_close(c);
    remove_folder(folder);
}

static void test_no_dropout_needs_no_runs(void **state)
{
    (void)state;
    oa_context *c = open_context();
    struct oa_options o = options("dropout,init");
    struct oa_comparison k;
    o.model_dropout = 0;
    remove_folder(folder);
    assert_int_equal(comparison(c, &o, &k), OA_OK);
    assert_true(k.vary.idle[OA_CHANCE_DROPOUT] && !k.vary.varied[OA_CHANCE_DROPOUT] &&
                k.vary.varied[OA_CHANCE_INIT]);
    assert_int_equal(count_folders("vary/attention-01"), 2);
    oa_comparison_free(&k);
    oa_close(c);
    remove_folder(folder);
}

static void test_refusals(void **state)
{
    (void)state;
    oa_context *c = open_context();
    static const char *const words[][2] = {
        { "", "unknown source \"\"" },
        { "inits", "unknown source \"inits\": give init, order, dropout or split" },
        { "init,", "unknown source \"\"" },
        { "init order", "unknown source \"init order\"" },
        { "init,order,init", "names init twice" },
    };
    remove_folder(folder);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct oa_options o = options(words[i][0]);
        expect_refusal(c, &o, words[i][1]);
    }
    struct oa_options o = options("together");
    expect_refusal(c, &o, "compare.vary_seeds = 3 has no effect");
    o = options("init");
    o.compare_equal = OA_EQUAL_TIME;
    expect_refusal(c, &o, "the clock is a source of spread that cannot");
    o = options("each");
    snprintf(o.data_valid, sizeof o.data_valid, "%s", text_file);
    expect_refusal(c, &o, "data.valid names the validation text, so the split cannot vary");
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_varies_alone),
        cmocka_unit_test(test_it_goes_on),
        cmocka_unit_test(test_no_dropout_needs_no_runs),
        cmocka_unit_test(test_refusals),
    };
    int failed = cmocka_run_group_tests(tests, make_text, NULL);
    remove(text_file);
    return failed;
}
