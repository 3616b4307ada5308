/* SPDX-License-Identifier: Apache-2.0
 * The sources of chance: each follows its own seed and no other, and all together are what
 * train.seed gives. */
#include "testing.h"

#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char text_file[] = "test_chance_text.txt";
static oa_context *c;

static int open_all(void **state)
{
    (void)state;
    FILE *f = fopen(text_file, "w");
    for (int i = 0; i < 300; i++)
        fprintf(f, "%d the %s fox jumps over the %s dog; ", i, i % 3 ? "quick" : "slow",
                i % 5 ? "lazy" : "tired");
    c = oa_open(&(struct oa_settings){ .threads = 1 });
    return fclose(f);
}

static int close_all(void **state)
{
    (void)state;
    oa_close(c);
    return remove(text_file);
}

static struct oa_options options(void)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.data_train, sizeof o.data_train, "%s", text_file);
    snprintf(o.model_attention, sizeof o.model_attention, "softmax ; orthogonal");
    o.model_layers = 2;
    o.model_width = 16;
    o.model_heads = 2;
    o.model_context = 16;
    o.model_dropout = 0.3;
    o.train_batch = 2;
    o.train_steps = 3;
    o.train_warmup = 1;
    o.train_log_every = 1;
    return o;
}

static void put(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wb");
    fwrite(text, 1, n, f);
    assert_int_equal(fclose(f), 0);
}

static void expect_sentence(const char *part)
{
    const char *sentence;
    oa_last_error(c, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not say \"%s\"", sentence, part);
    oa_clear_error(c);
}

/* ---- the seeds ---- */

static void test_seeds_that_are_not_given_are_that_of_all(void **state)
{
    (void)state;
    struct oa_options o = options();
    o.train_seed = 7;
    for (int s = 0; s < OA_CHANCES; s++)
        assert_int_equal(oa_chance_seed(&o, s), s == OA_CHANCE_SPLIT ? 0 : 7);
    for (int s = 0; s < OA_CHANCES; s++) {
        struct oa_options other = o;
        oa_chance_set(&other, s, 40);
        for (int k = 0; k < OA_CHANCES; k++)
            assert_int_equal(oa_chance_seed(&other, k), k == s ? 40 : k == OA_CHANCE_SPLIT ? 0 : 7);
    }
    o.train_seed_order = 0; /* a seed like any other */
    assert_int_equal(oa_chance_seed(&o, OA_CHANCE_ORDER), 0);
}

/* ---- a training, put together from its parts ---- */

/* The loss of the first step: first values of one seed, a batch of another, masks of a third. */
static double first_loss(const struct oa_options *o, const struct oa_workload *w, long init,
                         long order, long dropout)
{
    struct oa_options plain = *o;
    struct oa_device *d;
    struct oa_model *m;
    struct oa_batches *batches;
    struct oa_batch batch;
    oa_tape tape;
    plain.train_seed = init;
    plain.train_seed_init = plain.train_seed_order = plain.train_seed_dropout = -1;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    assert_int_equal(oa_model_open(d, &plain,
                                   (struct oa_model_form[]){
                                       oa_language_model_form(oa_tokenizer_size(w->tokenizer)) },
                                   true, &m),
                     OA_OK);
    assert_int_equal(oa_batches_open(c, &w->corpus.train, 2, 16, (uint64_t)order, &batches), OA_OK);
    assert_int_equal(oa_batches_random(batches, 1, 1, 0, &batch), OA_OK);
    oa_tape_init(&tape, d);
    struct oa_stream step = oa_stream_child(oa_stream_named((uint64_t)dropout, "dropout"), 1);
    oa_tape_reset(&tape, true, true, oa_stream_child(step, 0));
    double scale = 1.0 / 32, loss = scale * oa_model_loss(&tape, m, &batch, scale);
    oa_tape_free(&tape);
    oa_batches_close(batches);
    oa_model_close(m);
    oa_device_close(d);
    return loss;
}

static struct oa_run train(const struct oa_options *o, const char *folder)
{
    struct oa_workload w;
    struct oa_run run;
    assert_int_equal(oa_workload_open(c, o, &w), OA_OK);
    struct oa_train_request r = { .options = o, .workload = &w, .folder = folder, .title = "test" };
    assert_int_equal(oa_train_run(c, &r, &run), OA_OK);
    oa_workload_close(&w);
    return run;
}

static double trained_loss(const struct oa_options *o, double *first)
{
    struct oa_run run = train(o, NULL);
    *first = run.curve[0].train_loss;
    double loss = run.valid_loss;
    oa_run_free(&run);
    return loss;
}

static void test_each_seed_has_its_source(void **state)
{
    (void)state;
    struct oa_options o = options();
    struct oa_workload w;
    double first;
    o.train_seed = 9;
    o.train_seed_init = 3;
    o.train_seed_order = 4;
    o.train_seed_dropout = 5;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    trained_loss(&o, &first);
    assert_true(first == first_loss(&o, &w, 3, 4, 5));
    assert_true(first != first_loss(&o, &w, 9, 4, 5));
    assert_true(first != first_loss(&o, &w, 3, 9, 5));
    assert_true(first != first_loss(&o, &w, 3, 4, 9));
    oa_workload_close(&w);
}

/* With all three given nothing follows train.seed; and three times 9 is train.seed 9. */
static void test_together_they_are_the_seed_of_all(void **state)
{
    (void)state;
    struct oa_options o = options();
    double first, other, reference;
    o.train_seed = 9;
    reference = trained_loss(&o, &first);
    o.train_seed_init = o.train_seed_order = o.train_seed_dropout = 9;
    o.train_seed = 1;
    assert_true(trained_loss(&o, &other) == reference && other == first);
    o.train_seed = 2;
    assert_true(trained_loss(&o, &other) == reference && other == first);
    o.train_seed_dropout = -1;
    assert_true(trained_loss(&o, &other) != reference && other != first);
}

static void test_dropout_without_dropout(void **state)
{
    (void)state;
    struct oa_options o = options();
    double first, other;
    o.model_dropout = 0;
    double reference = trained_loss(&o, &first);
    o.train_seed_dropout = 17;
    assert_true(trained_loss(&o, &other) == reference && other == first);
}

/* Frozen tensors that were left out of a file come from the seed of the initial values again. */
static void test_a_saved_model_knows_its_seed(void **state)
{
    (void)state;
    static const char folder[] = "test_chance_folder";
    struct oa_options o = options();
    struct oa_workload w;
    struct oa_device *d;
    struct oa_model *made, *read;
    o.train_seed = 9;
    o.train_seed_init = 3;
    o.train_steps = 0;
    o.train_save_frozen = false;
    struct oa_run run = train(&o, folder);
    oa_run_free(&run);
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    assert_int_equal(oa_model_open(d, &o,
                                   (struct oa_model_form[]){
                                       oa_language_model_form(oa_tokenizer_size(w.tokenizer)) },
                                   false, &made),
                     OA_OK);
    assert_int_equal(oa_model_open_saved(d, "test_chance_folder/model.safetensors", &o, &made->form,
                                         w.tokenizer, &read),
                     OA_OK);
    assert_true(made->store.total > made->store.live);
    assert_int_equal(made->store.total, read->store.total);
    assert_memory_equal(made->store.values, read->store.values,
                        (size_t)made->store.total * sizeof(float));
    oa_model_close(read);
    o.train_seed_init = 4;
    assert_int_equal(oa_model_open_saved(d, "test_chance_folder/model.safetensors", &o, &made->form,
                                         w.tokenizer, &read),
                     OA_FORMAT);
    expect_sentence("the model was trained with seed = 3, but config.json has 4");
    oa_model_close(made);
    oa_device_close(d);
    oa_workload_close(&w);
    assert_int_equal(system("rm -rf test_chance_folder"), 0);
}

/* ---- the split ---- */

static struct oa_corpus corpus_of(const char *spec, const char *files, double fraction,
                                  uint64_t seed)
{
    struct oa_tokenizer *tok;
    struct oa_corpus corpus;
    assert_int_equal(oa_tokenizer_open(c, spec, files, NULL, &tok), OA_OK);
    assert_int_equal(oa_corpus_open_split(c, tok, files, NULL, fraction, seed, &corpus), OA_OK);
    oa_tokenizer_close(tok);
    return corpus;
}

static const char poem[] = "zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich";

/* The character at which the validation text begins, found by comparing; -1: the corpus is no cut
 * of the poem. */
static long place_in_poem(const struct oa_corpus *corpus)
{
    size_t length = strlen(poem), v = corpus->valid.count;
    for (size_t from = 0; from + v <= length; from++) {
        char rest[sizeof poem];
        memcpy(rest, poem, from);
        memcpy(rest + from, poem + from + v, length - from - v);
        bool same = corpus->train.count == length - v;
        for (size_t i = 0; same && i < v; i++)
            same = corpus->valid.ids[i] == (uint8_t)poem[from + i];
        for (size_t i = 0; same && i < length - v; i++)
            same = corpus->train.ids[i] == (uint8_t)rest[i];
        if (!same)
            continue;
        assert_string_equal(corpus->valid.digest.hex, oa_digest_of(poem + from, v).hex);
        assert_string_equal(corpus->train.digest.hex, oa_digest_of(rest, length - v).hex);
        assert_int_equal(corpus->valid.bytes, v);
        assert_int_equal(corpus->train.bytes, length - v);
        return (long)oa_text_characters(poem, from);
    }
    return -1;
}

/* 63 characters, of which 0.9 train: ⌊56.7⌋ = 56, so that 7 are taken from one of the places 0
 * … 56. */
static void test_the_block_lies_anywhere(void **state)
{
    (void)state;
    int seen[57] = { 0 }, places = 0;
    put("test_chance_poem.txt", poem, strlen(poem));
    assert_int_equal(oa_text_characters(poem, strlen(poem)), 63);
    for (uint64_t seed = 0; seed <= 1000; seed++) {
        struct oa_corpus corpus = corpus_of("byte", "test_chance_poem.txt", 0.1, seed);
        long place = place_in_poem(&corpus);
        assert_true(place >= 0 && place <= 56);
        assert_true(seed > 0 || place == 56);
        assert_int_equal(corpus.valid.characters, 7);
        assert_int_equal(corpus.train.characters, 56);
        seen[place] += seed > 0; /* 0 is no draw */
        oa_corpus_close(&corpus);
    }
    for (int i = 0; i < 57; i++)
        places += seen[i] > 0 && seen[i] < 50; /* 1000/57 = 18 each */
    assert_int_equal(places, 57);
    remove("test_chance_poem.txt");
}

static void test_ids_are_cut_alike(void **state)
{
    (void)state;
    uint16_t ids[100];
    bool moved = false;
    for (int i = 0; i < 100; i++)
        ids[i] = (uint16_t)i;
    put("test_chance_ids.bin", (const char *)ids, sizeof ids);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct oa_corpus corpus = corpus_of("ids:100", "test_chance_ids.bin", 0.2, seed);
        int32_t from = corpus.valid.ids[0];
        assert_int_equal(corpus.valid.count, 20);
        assert_int_equal(corpus.train.count, 80);
        assert_true(seed > 0 || from == 80);
        moved = moved || from != 80;
        for (int i = 0; i < 20; i++)
            assert_int_equal(corpus.valid.ids[i], from + i);
        for (int i = 0; i < 80; i++)
            assert_int_equal(corpus.train.ids[i], i < from ? i : i + 20);
        oa_corpus_close(&corpus);
    }
    assert_true(moved);
    remove("test_chance_ids.bin");
}

static void test_a_split_without_a_cut_is_refused(void **state)
{
    (void)state;
    struct oa_options o = options();
    struct oa_workload w;
    o.data_split_seed = 3;
    o.data_valid_fraction = 0;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_ARGUMENT);
    expect_sentence("data.split_seed = 3 has no effect: data.valid_fraction = 0 holds nothing out");
    o.data_valid_fraction = 0.1;
    snprintf(o.data_valid, sizeof o.data_valid, "%s", text_file);
    assert_int_equal(oa_workload_open(c, &o, &w), OA_ARGUMENT);
    expect_sentence("data.valid names a file of its own");
}

/* A run reads the split that its options say. */
static void test_a_workload_follows_its_split(void **state)
{
    (void)state;
    struct oa_options o = options();
    struct oa_workload end, other;
    assert_int_equal(oa_workload_open(c, &o, &end), OA_OK);
    o.train_seed = 5;
    o.train_seed_init = o.train_seed_order = o.train_seed_dropout = 6;
    assert_int_equal(oa_workload_open(c, &o, &other), OA_OK);
    assert_string_equal(end.corpus.valid.digest.hex, other.corpus.valid.digest.hex);
    oa_workload_close(&other);
    o.data_split_seed = 1;
    assert_int_equal(oa_workload_open(c, &o, &other), OA_OK);
    assert_string_not_equal(end.corpus.valid.digest.hex, other.corpus.valid.digest.hex);
    assert_string_not_equal(end.corpus.train.digest.hex, other.corpus.train.digest.hex);
    assert_int_equal(end.corpus.valid.characters, other.corpus.valid.characters);
    oa_workload_close(&end);
    oa_workload_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds_that_are_not_given_are_that_of_all),
        cmocka_unit_test(test_each_seed_has_its_source),
        cmocka_unit_test(test_together_they_are_the_seed_of_all),
        cmocka_unit_test(test_dropout_without_dropout),
        cmocka_unit_test(test_a_saved_model_knows_its_seed),
        cmocka_unit_test(test_the_block_lies_anywhere),
        cmocka_unit_test(test_ids_are_cut_alike),
        cmocka_unit_test(test_a_split_without_a_cut_is_refused),
        cmocka_unit_test(test_a_workload_follows_its_split),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
