/* SPDX-License-Identifier: Apache-2.0
 * GGUF files that the package gguf 0.19.0 wrote (tests/golden-hf/gguf): blocks of every type
 * against what it makes of them, a model against the same one in a Hugging Face folder, and damaged
 * files. */
#include "api/api.h"
#include "base/safetensors.h"
#include "families/families.h"
#include "families/gguf_model.h"
#include "testing.h"

#include <math.h>
#include <unistd.h>

#define GOLDEN SOURCE_DIR "/tests/golden-hf/"
#define RUN "test_gguf_run"

static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

static void succeed(enum oa_error e)
{
    const char *why;
    oa_last_error(context, &why);
    if (e != OA_OK)
        fail_msg("%s", why);
}

static void blocks_of_every_type(void **state)
{
    struct oa_gguf *g;
    struct oa_tensors *wanted;
    (void)state;
    succeed(oa_gguf_open(context, GOLDEN "gguf/blocks.gguf", &g));
    succeed(oa_tensors_open(context, GOLDEN "gguf/blocks.safetensors", &wanted));
    int types = 0;
    for (int i = 0; i < 64; i++)
        types += oa_gguf_type_at(i) != NULL;
    assert_int_equal(oa_gguf_tensors(g), types);
    for (int i = 0; i < oa_gguf_tensors(g); i++) {
        const struct oa_gguf_tensor *t = oa_gguf_tensor_at(g, i);
        const struct oa_array *want = oa_tensors_find(wanted, t->name);
        float got[2 * 512];
        assert_string_equal(oa_gguf_type_at(t->type)->name, t->name);
        assert_int_equal(t->dims, 2);
        assert_int_equal(t->dim[0], 2);
        assert_int_equal(t->dim[1], 512);
        succeed(oa_gguf_read(g, t, got));
        for (size_t k = 0; k < 2 * 512; k++) {
            double right = oa_array_value(want, k);
            if (!(fabs((double)got[k] - right) <= 2e-7 * (fabs(right) + 1)))
                fail_msg("%s: value %zu is %g, not %g", t->name, k, (double)got[k], right);
        }
    }
    oa_tensors_close(wanted);
    oa_gguf_close(g);
}

/* Logits of the model of a folder of tests/golden-hf, as a GGUF file. The epsilon of norms is a
 * float there: 1e-5 less 3e-13. */
static void check_logits_of(const char *expected)
{
    struct oa_tensors *wanted, *got;
    double difference = 0, size = 0;
    succeed(oa_forward(context, RUN,
                       &(struct oa_forward_request){
                           .in = expected, .out = RUN "/out.safetensors", .precision = "f64" }));
    succeed(oa_tensors_open(context, expected, &wanted));
    succeed(oa_tensors_open(context, RUN "/out.safetensors", &got));
    const struct oa_array *a = oa_tensors_find(got, "logits"),
                          *b = oa_tensors_find(wanted, "expect.logits"),
                          *lengths = oa_tensors_find(wanted, "lengths");
    for (long i = 0; i < a->dim[0]; i++)
        for (long j = 0; j < (long)oa_array_value(lengths, (size_t)i) * a->dim[2]; j++) {
            size_t at = (size_t)(i * a->dim[1] * a->dim[2] + j);
            double x = oa_array_value(a, at), y = oa_array_value(b, at);
            difference += (x - y) * (x - y);
            size += y * y;
        }
    assert_true(size > 0 && sqrt(difference / size) < 1e-10);
    oa_tensors_close(wanted);
    oa_tensors_close(got);
}

static void check_logits(const char *name)
{
    char expected[256];
    snprintf(expected, sizeof expected, GOLDEN "%s/expect.safetensors", name);
    check_logits_of(expected);
}

static void model_equals_that_of_the_folder(void **state)
{
    struct oa_imported made;
    (void)state;
    assert_int_equal(system("rm -rf " RUN), 0);
    succeed(oa_import_model(context, GOLDEN "gguf/smollm2.gguf", RUN, NULL, &made));
    assert_string_equal(made.options.model_attention, "softmax(kv=1)");
    assert_true(made.tokenizer);
    check_logits("smollm2");
}

/* They have rows as the folder has them, biases (qwen2) and norms of heads (qwen3). */
static void models_of_qwen(void **state)
{
    static const char *const names[] = { "qwen2", "qwen3" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct oa_imported made;
        char path[256];
        assert_int_equal(system("rm -rf " RUN), 0);
        snprintf(path, sizeof path, GOLDEN "gguf/%s.gguf", names[i]);
        succeed(oa_import_model(context, path, RUN, NULL, &made));
        assert_string_equal(made.family->type, names[i]);
        assert_false(made.tokenizer);
        check_logits(names[i]);
    }
    assert_int_equal(system("rm -rf " RUN), 0);
}

/* Its matrices are turned, queries, keys and values are one, and it has a table of positions. */
static void model_of_gpt2(void **state)
{
    struct oa_imported made;
    (void)state;
    succeed(oa_import_model(context, GOLDEN "gguf/gpt2.gguf", RUN, NULL, &made));
    assert_string_equal(made.family->type, "gpt2");
    assert_true(made.options.model_tie_output);
    assert_int_equal(made.options.model_context, 64);
    check_logits("gpt2");
    assert_int_equal(system("rm -rf " RUN), 0);
}

/* Gains are whole in the file; logits are over the root of the width of a head, so that they are
 * not those of the folder (models.py). */
static void model_of_gemma2(void **state)
{
    struct oa_imported made;
    (void)state;
    succeed(oa_import_model(context, GOLDEN "gguf/gemma2.gguf", RUN, NULL, &made));
    assert_string_equal(made.family->type, "gemma2");
    assert_string_equal(made.options.model_attention, "local(window=4, kv=2) ; softmax(kv=2)");
    assert_true(made.options.model_logit_cap == 5 && made.options.model_output_cap == 8);
    check_logits_of(GOLDEN "gguf/gemma2.safetensors");
    assert_int_equal(system("rm -rf " RUN), 0);
}

/* The models of 27B have 46 layers, and another scale in llama.cpp: 4608/32, not 128. */
static void scale_of_gemma2_27b(void **state)
{
    static const struct {
        long layers, scalar;
    } cases[] = { { 2, 12 }, { 46, 9 } };
    char *bytes;
    size_t length;
    (void)state;
    succeed(oa_file_read(context, GOLDEN "gguf/gemma2.gguf", &bytes, &length));
    char *key = memmem(bytes, length, "gemma2.block_count", strlen("gemma2.block_count"));
    assert_non_null(key);
    for (int i = 0; i < 2; i++) {
        struct oa_gguf *g;
        json_t *config;
        key[strlen("gemma2.block_count") + 4] = (char)cases[i].layers; /* behind its type */
        succeed(oa_file_write(context, "test_gguf_27b.gguf", bytes, length));
        succeed(oa_gguf_open(context, "test_gguf_27b.gguf", &g));
        succeed(oa_gguf_config(context, g, &config));
        assert_int_equal(json_integer_value(json_object_get(config, "num_hidden_layers")),
                         cases[i].layers);
        assert_int_equal(json_integer_value(json_object_get(config, "query_pre_attn_scalar")),
                         cases[i].scalar);
        json_decref(config);
        oa_gguf_close(g);
    }
    oa_free(bytes);
    remove("test_gguf_27b.gguf");
}

static void tokenizer_equals_that_of_the_folder(void **state)
{
    static const char text[] = "O Romeo, 12345 and\n\n a caf\xc3\xa9 <|im_start|>";
    struct oa_tokenizer *a, *b;
    struct oa_ids x, y;
    (void)state;
    succeed(oa_tokenizer_load(context, RUN "/tokenizer.json", &a));
    succeed(oa_tokenizer_load(context, GOLDEN "smollm2/tokenizer.json", &b));
    oa_ids_init(&x, context);
    oa_ids_init(&y, context);
    succeed(oa_tokenizer_encode(a, text, sizeof text - 1, &x));
    succeed(oa_tokenizer_encode(b, text, sizeof text - 1, &y));
    assert_true(x.count > 10);
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.id, y.id, x.count * sizeof *x.id);
    oa_ids_free(&x);
    oa_ids_free(&y);
    oa_tokenizer_close(a);
    oa_tokenizer_close(b);
    assert_int_equal(system("rm -rf " RUN), 0);
}

/* A vocabulary of Llama's kind: the ids are those of the package sentencepiece 0.2.3 on the model
 * from which the file was made ("bpe" of tests/tokenizers/model_vectors.json). */
static void vocabulary_of_sentencepiece(void **state)
{
    (void)state;
    static const char text[] = "The café of  Rome\n";
    static const int32_t expected[] = { 337, 282, 370, 384, 198, 172, 339, 366, 366, 401, 363, 13 };
    struct oa_gguf *g;
    struct oa_tokenizer *tok;
    struct oa_ids ids;
    struct oa_text back;
    char *json;
    oa_ids_init(&ids, context);
    oa_text_init(&back, context);
    succeed(oa_gguf_open(context, GOLDEN "gguf/sentencepiece.gguf", &g));
    succeed(oa_gguf_tokenizer(context, g, &json));
    succeed(oa_tokenizer_parse(context, "sentencepiece.gguf", json, strlen(json), &tok));
    succeed(oa_tokenizer_encode(tok, text, sizeof text - 1, &ids));
    assert_int_equal(ids.count, sizeof expected / sizeof *expected);
    assert_memory_equal(ids.id, expected, sizeof expected);
    succeed(oa_tokenizer_decode(tok, ids.id, ids.count, &back));
    assert_string_equal(back.s, text);
    oa_text_free(&back);
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
    oa_free(json);
    oa_gguf_close(g);
}

/* ---- damaged files ---- */

static void put(const char *path, const char *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

/* Reads all of it; a failure must have a sentence. */
static enum oa_error try_file(const char *path)
{
    struct oa_gguf *g;
    struct oa_array *arrays = NULL;
    json_t *config = NULL;
    char *tokenizer = NULL;
    const char *why;
    int count = 0;
    enum oa_error e = oa_gguf_open(context, path, &g);
    if (e == OA_OK)
        e = oa_gguf_config(context, g, &config);
    if (e == OA_OK)
        e = oa_gguf_tokenizer(context, g, &tokenizer);
    if (e == OA_OK)
        e = oa_gguf_arrays(context, g, &arrays, &count);
    oa_gguf_arrays_free(arrays, count);
    json_decref(config);
    oa_free(tokenizer);
    oa_gguf_close(g);
    assert_int_equal(oa_last_error(context, &why), e);
    assert_true(e == OA_OK || strlen(why) > 10);
    oa_clear_error(context);
    return e;
}

static void damaged_files_are_refused(void **state)
{
    static const char path[] = "test_gguf_damaged.gguf";
    char *good, *bad;
    size_t length;
    (void)state;
    succeed(oa_file_read(context, GOLDEN "gguf/smollm2.gguf", &good, &length));
    bad = malloc(length);
    assert_non_null(bad);
    for (int i = 0; i < tries(400); i++) {
        /* the last tensor is padded */
        size_t cut = (size_t)oa_random_below(oa_stream_named(1, "cut"), (uint64_t)i, length - 32);
        put(path, good, i ? cut : length - 33);
        assert_int_not_equal(try_file(path), OA_OK);
    }
    /* Any byte of the head, which has 10 kB: read, or refused, and never beyond the memory. */
    for (int i = 0; i < tries(3000); i++) {
        struct oa_stream s = oa_stream_named(2, "flip");
        memcpy(bad, good, length);
        for (int k = 0; k < 1 + i % 3; k++)
            bad[oa_random_below(s, (uint64_t)(8 * i + 2 * k), 10000)] ^=
                (char)(1 + oa_random_below(s, (uint64_t)(8 * i + 2 * k + 1), 255));
        put(path, bad, length);
        try_file(path);
    }
    put(path, "GGUF\3\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0\0\0\0\0", 24);
    assert_int_equal(try_file(path), OA_FORMAT);
    put(path, "GGUF\1\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 24);
    assert_int_equal(try_file(path), OA_UNSUPPORTED);
    put(path, "safetensors, not GGUF of any kind", 33);
    assert_int_equal(try_file(path), OA_FORMAT);
    free(bad);
    oa_free(good);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_every_type),
        cmocka_unit_test(model_equals_that_of_the_folder),
        cmocka_unit_test(tokenizer_equals_that_of_the_folder),
        cmocka_unit_test(models_of_qwen),
        cmocka_unit_test(model_of_gpt2),
        cmocka_unit_test(model_of_gemma2),
        cmocka_unit_test(scale_of_gemma2_27b),
        cmocka_unit_test(vocabulary_of_sentencepiece),
        cmocka_unit_test(damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
