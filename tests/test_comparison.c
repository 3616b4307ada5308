/* SPDX-License-Identifier: Apache-2.0
 * What a comparison trusts: checksums, fingerprints that every deciding option enters, results
 * that follow from their options even where the checksum was made anew, and seeds that make a
 * difference. */
#include "compare/comparison.h"
#include "setups.h"

#include "base/checksum.h"
#include "compare/run_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char text_file[] = "test_comparison_text.txt";
static const char folder[] = "test_comparison_folder";

static int make_text(void **state)
{
    (void)state;
    return write_foxes_and_cats(text_file, 200);
}

static struct oa_options options(void)
{
    struct oa_options o = small_model(text_file, 4);
    o.model_dropout = 0.1;
    o.train_batch = 2;
    o.train_log_every = 2;
    o.compare_seeds = 2;
    return o;
}

static oa_context *open_context(const char *isa)
{
    return oa_open(&(struct oa_settings){ .threads = 1, .isa = isa });
}

static enum oa_error comparison(oa_context *c, const struct oa_options *o)
{
    static const char *const attentions[] = { "softmax", "random" };
    struct oa_comparison_request r = {
        .options = o, .attentions = attentions, .count = 2, .folder = folder
    };
    struct oa_comparison k;
    enum oa_error e = oa_comparison_run(c, &r, &k);
    oa_comparison_free(&k);
    return e;
}

static void expect_sentence(oa_context *c, const char *part)
{
    const char *sentence;
    oa_last_error(c, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not say \"%s\"", sentence, part);
    oa_clear_error(c);
}

/* ---- checksums ---- */

/* printf '{"a":[1,2.5],"b":"x"}' | sha256sum */
static const char known_checksum[] =
    "5cefae54a95b31dc660d6cbbb2198f0811fc70ee37b1cc85b1989870cd293ffb";

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void test_checksums(void **state)
{
    (void)state;
    static const char path[] = "test_comparison_checksum.json";
    oa_context *c = open_context(NULL);
    json_t *back, *object = json_pack("{s:s, s:[i, f]}", "b", "x", "a", 1, 2.5);
    assert_int_equal(oa_checksummed_write(c, path, object), OA_OK);
    assert_string_equal(json_string_value(json_object_get(object, "seal")), known_checksum);
    assert_int_equal(oa_checksummed_read(c, path, "mend it", &back), OA_OK);
    json_object_del(object, "seal");
    assert_true(json_equal(object, back));
    json_decref(object);
    json_decref(back);

    char text[256];
    snprintf(text, sizeof text, "{ \"b\": \"x\",\n \"seal\": \"%s\", \"a\": [1, 2.5] }\n",
             known_checksum);
    write_text(path, text); /* another order and blanks are the same content */
    assert_int_equal(oa_checksummed_read(c, path, "mend it", &back), OA_OK);
    json_decref(back);
    snprintf(text, sizeof text, "{\"a\":[1,2.6],\"b\":\"x\",\"seal\":\"%s\"}", known_checksum);
    write_text(path, text);
    assert_int_equal(oa_checksummed_read(c, path, "mend it", &back), OA_FORMAT);
    expect_sentence(c, "was changed after it was written");
    static const char *const no_checksum[] = { "{\"a\":1}", "[1]", "{\"a\":1,\"seal\":7}" };
    for (size_t i = 0; i < sizeof no_checksum / sizeof *no_checksum; i++) {
        write_text(path, no_checksum[i]);
        assert_int_equal(oa_checksummed_read(c, path, "mend it", &back), OA_FORMAT);
        expect_sentence(c, "mend it");
    }
    write_text(path, "{\"a\":1,\"a\":2}");
    assert_int_equal(oa_checksummed_read(c, path, "mend it", &back), OA_FORMAT);
    expect_sentence(c, "test_comparison_checksum.json:1:");
    oa_close(c);
    remove(path);
}

/* ---- fingerprints ---- */

/* Sets the option to something that it is not; false when it has no other value. */
static bool change(oa_context *c, struct oa_options *o, const struct oa_option_row *row)
{
    char key[64], value[64];
    const char *second = row->choices ? strchr(row->choices, '|') + 1 : NULL;
    snprintf(key, sizeof key, "%s.%s", row->section, row->name);
    struct oa_options before = *o;
    switch (row->kind) {
    case OA_OPTION_INT:
        snprintf(value, sizeof value, "%ld", *(long *)(void *)((char *)o + row->offset) + 1);
        break;
    case OA_OPTION_REAL:
        snprintf(value, sizeof value, "%.17g", row->low + 0.37 * fmin(row->high - row->low, 1));
        break;
    case OA_OPTION_BOOL:
        snprintf(value, sizeof value, "%s", *(bool *)((char *)o + row->offset) ? "no" : "yes");
        break;
    case OA_OPTION_CHOICE:
        snprintf(value, sizeof value, "%.*s", (int)strcspn(second, "|"), second);
        if (oa_option_choice(key, value) == *(int *)(void *)((char *)o + row->offset))
            snprintf(value, sizeof value, "%.*s", (int)strcspn(row->choices, "|"), row->choices);
        break;
    case OA_OPTION_WORDS:
        snprintf(value, sizeof value, "other");
    }
    assert_int_equal(oa_options_set(c, o, key, value), OA_OK);
    return memcmp(&before, o, sizeof before) != 0;
}

static bool decides(const char *section, const char *name)
{
    bool task =
        strcmp(section, "data") == 0 &&
        (strcmp(name, "task") == 0 || strcmp(name, "mask_share") == 0 ||
         strcmp(name, "span_length") == 0 || strcmp(name, "bleu_tokenize") == 0 ||
         strcmp(name, "order") == 0 || strcmp(name, "mix") == 0 || strcmp(name, "documents") == 0);
    return task || strcmp(section, "decode") == 0 ||
           (strcmp(section, "distil") == 0 && strcmp(name, "teacher") != 0) ||
           (strcmp(section, "model") == 0 && strcmp(name, "preset") != 0) || /* the block is */
           (strcmp(section, "train") == 0 && !strstr(name, "checkpoint") &&
            !strstr(name, "save_") && strcmp(name, "tensorboard") != 0 &&
            strcmp(name, "init") != 0); /* its model's digest is compared */
}

static void test_every_deciding_option_is_in_the_fingerprint(void **state)
{
    (void)state;
    oa_context *c = open_context(NULL);
    struct oa_options o = options();
    struct oa_workload w;
    const struct oa_option_row *row;
    json_t *plain, *changed;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_fingerprint_make(c, &o, &w, &plain), OA_OK);
    for (int i = 0; (row = oa_option_at(i)); i++) {
        struct oa_options other = o;
        if (!change(c, &other, row))
            fail_msg("%s was not changed", row->key);
        assert_int_equal(oa_fingerprint_make(c, &other, &w, &changed), OA_OK);
        bool noticed = oa_fingerprint_check(c, "file", plain, changed, "mend it") == OA_ARGUMENT;
        if (noticed)
            expect_sentence(c, row->name);
        if (noticed != decides(row->section, row->name))
            fail_msg("%s.%s is %s", row->section, row->name, noticed ? "compared" : "passed over");
        json_decref(changed);
    }
    json_decref(plain);
    oa_workload_close(&w);
    oa_close(c);
}

/* Before BLEU's tokenizer could be chosen it was 13a: what was written then goes on as long as it
 * still is. */
static void test_older_comparisons_have_bleu_by_13a(void **state)
{
    (void)state;
    oa_context *c = open_context(NULL);
    struct oa_options o = options();
    struct oa_workload w;
    json_t *older, *now;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    snprintf(o.data_task, sizeof o.data_task, "translate");
    w.bleu_tokenize = OA_BLEU_TOKENIZE_13A;
    assert_int_equal(oa_fingerprint_make(c, &o, &w, &older), OA_OK);
    assert_int_equal(json_object_del(older, "data.bleu_tokenize"), 0);
    assert_int_equal(oa_fingerprint_make(c, &o, &w, &now), OA_OK);
    assert_int_equal(oa_fingerprint_check(c, "file", older, now, "mend it"), OA_OK);
    json_decref(now);
    w.bleu_tokenize = OA_BLEU_TOKENIZE_CHAR;
    assert_int_equal(oa_fingerprint_make(c, &o, &w, &now), OA_OK);
    assert_int_equal(oa_fingerprint_check(c, "file", older, now, "mend it"), OA_ARGUMENT);
    expect_sentence(c, "file: data.bleu_tokenize was 13a, but it is char now; mend it");
    json_decref(now);
    json_decref(older);
    oa_workload_close(&w);
    oa_close(c);
}

/* What was written before an option was there goes on where the option has its default. */
static void test_options_that_came_later(void **state)
{
    (void)state;
    oa_context *c = open_context(NULL);
    struct oa_options o = options();
    struct oa_workload w;
    json_t *older, *now;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_fingerprint_make(c, &o, &w, &older), OA_OK);
    assert_int_equal(json_object_del(older, "train.seed_init"), 0);
    assert_int_equal(oa_fingerprint_make(c, &o, &w, &now), OA_OK);
    assert_int_equal(oa_fingerprint_check(c, "file", older, now, "mend it"), OA_OK);
    json_decref(now);
    o.train_seed_init = 5;
    assert_int_equal(oa_fingerprint_make(c, &o, &w, &now), OA_OK);
    assert_int_equal(oa_fingerprint_check(c, "file", older, now, "mend it"), OA_ARGUMENT);
    expect_sentence(c, "file: train.seed_init was -1, but it is 5 now; mend it");
    o.train_seed_init = -1;
    json_decref(now);
    snprintf(w.start.hex, sizeof w.start.hex, "12ab");
    assert_int_equal(oa_fingerprint_make(c, &o, &w, &now), OA_OK);
    assert_int_equal(oa_fingerprint_check(c, "file", older, now, "mend it"), OA_ARGUMENT);
    expect_sentence(c, "file: first values was not given, but it is sha256:12ab now; mend it");
    json_object_del(older, "training text"); /* no option: nothing stands in for it */
    assert_int_equal(oa_fingerprint_check(c, "file", older, now, "mend it"), OA_ARGUMENT);
    json_decref(now);
    json_decref(older);
    oa_clear_error(c);
    oa_workload_close(&w);
    oa_close(c);
}

/* The loss of each version in double precision and plain C, where only libm may move it. Whoever
 * makes another number of it on purpose raises OA_NUMBERS_VERSION and writes the new pair here. */
static void test_the_version_of_the_numbers(void **state)
{
    (void)state;
    static const double loss[] = { [1] = 3.242763194957719, [2] = 3.242763194957719 };
    oa_context *c = open_context("ref");
    struct oa_options o = options();
    struct oa_workload w;
    struct oa_run run;
    o.train_precision = OA_PRECISION_F64;
    snprintf(o.model_attention, sizeof o.model_attention, "softmax:1 | random:1");
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(
        oa_train_run(c, &(struct oa_train_request){ .options = &o, .workload = &w }, &run), OA_OK);
    assert_true(OA_NUMBERS_VERSION < sizeof loss / sizeof *loss);
    if (fabs(run.valid_loss - loss[OA_NUMBERS_VERSION]) > 1e-10)
        fail_msg("the loss of version %d was %.15f and is now %.15f: raise OA_NUMBERS_VERSION",
                 OA_NUMBERS_VERSION, loss[OA_NUMBERS_VERSION], run.valid_loss);
    oa_run_free(&run);
    oa_workload_close(&w);
    oa_close(c);
}

/* ---- results that were edited, with a new checksum ---- */

static const char first_result[] = "test_comparison_folder/runs/attention-01/seed-1/result.json";
static const char second_result[] = "test_comparison_folder/runs/attention-01/seed-2/result.json";

static json_t *read_result(oa_context *c, const char *path)
{
    json_t *root;
    assert_int_equal(oa_checksummed_read(c, path, "", &root), OA_OK);
    return root;
}

static void test_results_must_make_sense(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        double value; /* NaN: null */
        const char *sentence;
    } edits[] = {
        { "valid_loss", 0.001, "perplexity is" },
        { "valid_loss", -1, "valid_loss is -1" },
        { "valid_loss", NAN, "valid_loss is nan" },
        { "perplexity", 2, "perplexity is 2, but must be" },
        { "bits_per_character", -2, "bits_per_character is -2" },
        { "bits_per_byte", NAN, "bits_per_byte is nan" },
        { "steps", 5, "steps is 5, but must be 4" },
        { "tokens", 1e6, "tokens is 1000000, but must be 128" },
        { "seed", 7, "seed is 7, but must be 1" },
        { "flops", 1, "flops is 1, but must be" },
        { "flops_per_step", -1, "flops_per_step is -1" },
        { "seconds", -3, "seconds is -3" },
        { "seconds_per_step", NAN, "seconds_per_step is nan" },
        { "tokens_per_second", -3, "tokens_per_second is -3" },
        { "peak_memory", -1, "peak_memory is -1" },
    };
    oa_context *c = open_context(NULL);
    struct oa_options o = options();
    remove_folder(folder);
    assert_int_equal(comparison(c, &o), OA_OK);
    json_t *good = read_result(c, first_result);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        json_t *edited = json_copy(good), *old = json_object_get(good, edits[i].key);
        json_t *value = isnan(edits[i].value)  ? json_null()
                        : json_is_integer(old) ? json_integer((json_int_t)edits[i].value)
                                               : json_real(edits[i].value);
        json_object_set_new(edited, edits[i].key, value);
        assert_int_equal(oa_checksummed_write(c, first_result, edited), OA_OK);
        assert_int_equal(comparison(c, &o), OA_FORMAT);
        expect_sentence(c, edits[i].sentence);
        json_decref(edited);
    }
    assert_int_equal(oa_checksummed_write(c, first_result, good), OA_OK);
    assert_int_equal(comparison(c, &o), OA_OK);
    json_decref(good);
    oa_close(c);
    remove_folder(folder);
}

static void edit_last_point(json_t *result, size_t column, json_t *value)
{
    json_t *curve = json_object_get(result, "curve");
    json_array_set_new(json_array_get(curve, json_array_size(curve) - 1), column, value);
}

static void test_curves_must_make_sense(void **state)
{
    (void)state;
    oa_context *c = open_context(NULL);
    struct oa_options o = options();
    remove_folder(folder);
    assert_int_equal(comparison(c, &o), OA_OK);
    json_t *result = read_result(c, first_result);
    double loss = json_number_value(json_object_get(result, "valid_loss"));
    edit_last_point(result, 4, json_real(loss - 1));
    assert_int_equal(oa_checksummed_write(c, first_result, result), OA_OK);
    assert_int_equal(comparison(c, &o), OA_FORMAT);
    expect_sentence(c, "the last validation loss of the curve");
    edit_last_point(result, 4, json_real(loss));
    edit_last_point(result, 0, json_integer(3));
    oa_checksummed_write(c, first_result, result);
    assert_int_equal(comparison(c, &o), OA_FORMAT);
    expect_sentence(c, "the last step of the curve is 3");
    edit_last_point(result, 0, json_integer(2));
    oa_checksummed_write(c, first_result, result);
    assert_int_equal(comparison(c, &o), OA_FORMAT);
    expect_sentence(c, "step 2 of the curve follows step 2");
    edit_last_point(result, 0, json_integer(4));
    edit_last_point(result, 3, json_real(0.5)); /* a training loss: only the log can know */
    oa_checksummed_write(c, first_result, result);
    assert_int_equal(comparison(c, &o), OA_FORMAT);
    expect_sentence(c, "the curve of this result differs from line");
    json_decref(result);
    oa_close(c);
    remove_folder(folder);
}

/* ---- runs that go on ---- */

static void test_runs_go_on_as_they_began(void **state)
{
    (void)state;
    oa_context *c = open_context(NULL);
    char begun[sizeof((struct oa_run *)0)->machine];
    json_t *mine = json_pack("{s:s}", "train.lr", "0.1"),
           *other = json_pack("{s:s}", "train.lr", "0.2");
    remove_folder(folder);
    assert_int_equal(oa_run_begin(c, folder, other, "a", begun), OA_OK);
    assert_int_equal(oa_run_begin(c, folder, mine, "a", begun),
                     OA_OK); /* nothing was trained yet */
    write_text("test_comparison_folder/checkpoint-000000001.safetensors", "");
    assert_int_equal(oa_run_begin(c, folder, mine, "b", begun), OA_OK);
    assert_string_equal(begun, "a");
    assert_int_equal(oa_run_begin(c, folder, other, "b", begun), OA_ARGUMENT);
    expect_sentence(
        c, "run.json: train.lr was 0.1, but it is 0.2 now; the run belongs to another comparison");
    json_decref(mine);
    json_decref(other);
    oa_close(c);
    remove_folder(folder);
}

/* ---- seeds ---- */

/* The second seed ends as the first did, as it would if nothing followed the seed. */
static void test_seeds_must_differ(void **state)
{
    (void)state;
    oa_context *c = open_context(NULL);
    struct oa_options o = options();
    remove_folder(folder);
    assert_int_equal(comparison(c, &o), OA_OK);
    json_t *first = read_result(c, first_result), *second = read_result(c, second_result);
    assert_false(json_equal(json_object_get(first, "weights"), json_object_get(second, "weights")));
    json_object_set(first, "seed", json_object_get(second, "seed"));
    json_object_set(first, "fingerprint", json_object_get(second, "fingerprint"));
    remove("test_comparison_folder/runs/attention-01/seed-2/log.jsonl");
    remove("test_comparison_folder/runs/attention-01/seed-2/model.safetensors");
    remove("test_comparison_folder/runs/attention-01/seed-2/items.safetensors");
    oa_checksummed_write(c, second_result, first);
    assert_int_equal(comparison(c, &o), OA_INTERNAL);
    expect_sentence(c, "softmax: seeds 1 and 2 ended with the same model, bit for bit");
    json_object_set(first, "weights",
                    json_object_get(second, "weights")); /* a coincidence of losses is none */
    oa_checksummed_write(c, second_result, first);
    assert_int_equal(comparison(c, &o), OA_OK);
    json_decref(first);
    json_decref(second);
    oa_close(c);
    remove_folder(folder);
}

static void test_seeds_that_hold_everything_are_refused(void **state)
{
    (void)state;
    oa_context *c = open_context(NULL);
    struct oa_options o = options();
    o.train_seed_init = 1;
    o.train_seed_order = 1;
    remove_folder(folder);
    assert_int_equal(comparison(c, &o), OA_ARGUMENT);
    expect_sentence(c, "fix all that the 2 seeds are to "
                       "vary");
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_every_deciding_option_is_in_the_fingerprint),
        cmocka_unit_test(test_options_that_came_later),
        cmocka_unit_test(test_older_comparisons_have_bleu_by_13a),
        cmocka_unit_test(test_the_version_of_the_numbers),
        cmocka_unit_test(test_results_must_make_sense),
        cmocka_unit_test(test_curves_must_make_sense),
        cmocka_unit_test(test_runs_go_on_as_they_began),
        cmocka_unit_test(test_seeds_must_differ),
        cmocka_unit_test(test_seeds_that_hold_everything_are_refused),
    };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
