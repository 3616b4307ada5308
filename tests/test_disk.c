/* SPDX-License-Identifier: Apache-2.0
 * What is on the disk of runs and models, attacked: every bit of a file with a checksum, every
 * number of a config.json, names and locks; and what is there is all that a reader needs: frozen
 * tensors of a saved model, run by `attend`, give the model's own rows. */
#include "base/folder_lock.h"
#include "base/safetensors.h"
#include "setups.h"

#include "api/api.h"
#include "device/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static oa_context *context;
static char notice[512]; /* the newest */

static void note(void *argument, int level, const char *line)
{
    (void)argument;
    if (level == 0)
        snprintf(notice, sizeof notice, "%s", line);
}

/* Every test runs in an empty folder of its own. */
static int enter_folder(void **state)
{
    *state = enter_own_folder();
    context = oa_open(&(struct oa_settings){ .threads = 1, .log = note });
    return *state && context ? 0 : -1;
}

static int leave_folder(void **state)
{
    oa_close(context);
    return leave_own_folder(*state);
}

static void expect_error(enum oa_error code, const char *part)
{
    expect_failure(context, code, part);
}

static void put(const char *path, const void *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    fclose(f);
}

static void get(const char *path, char **data, size_t *length)
{
    assert_int_equal(oa_file_read(context, path, data, length), OA_OK);
}

/* ---- a small run
 * -------------------------------------------------------------------------------------------------
 */

static struct oa_options options(const char *attention)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    snprintf(o.data_train, sizeof o.data_train, "text");
    o.model_layers = 1;
    o.model_width = 8;
    o.model_heads = 2;
    o.model_context = 8;
    o.train_batch = 2;
    o.train_steps = 2;
    o.train_eval_every = 0;
    return o;
}

static enum oa_error train(const struct oa_options *o, const char *folder, bool resume)
{
    struct oa_config config = { .context = context, .options = *o };
    put("text",
        "the quick brown fox jumps over the lazy dog; the dog sleeps on, as dogs do, and dreams of "
        "foxes.",
        96);
    return oa_train(&config, folder, resume, NULL, NULL);
}

/* ---- every bit
 * ----------------------------------------------------------------------------------------------------
 */

/* With one bit flipped the file must be refused, unless it reads as before: then only the
 * checksum's own name was hit. */
static void flip(const char *path, char *data, size_t length, size_t at, int bit, bool must_refuse)
{
    struct oa_tensors *f = NULL;
    data[at] = (char)(data[at] ^ 1 << bit);
    put("flipped", data, length);
    data[at] = (char)(data[at] ^ 1 << bit);
    enum oa_error e = oa_tensors_open(context, "flipped", &f);
    if (e == OA_OK && (must_refuse || oa_tensors_metadata(f, OA_CHECKSUM_KEY)))
        fail_msg("%s: bit %d of byte %zu is flipped, and nothing was noticed", path, bit, at);
    oa_tensors_close(f);
    oa_clear_error(context);
}

/* Of every byte of the header `bits` bits, and of every `stride`-th byte of the data one. */
static void flip_all(const char *path, int bits, size_t stride)
{
    size_t length;
    uint64_t header;
    char *data;
    get(path, &data, &length);
    memcpy(&header, data, 8);
    assert_non_null(strstr(data + 8, OA_CHECKSUM_KEY));
    size_t name = (size_t)(strstr(data + 8, OA_CHECKSUM_KEY) - data);
    for (size_t at = 0; at < 8 + header; at++)
        for (int i = 0; i < bits; i++) {
            bool of_name = at >= name && at < name + strlen(OA_CHECKSUM_KEY);
            flip(path, data, length, at, (int)(at + (size_t)i) % 8, !of_name);
        }
    for (size_t at = 8 + header; at < length; at += stride)
        flip(path, data, length, at, (int)(at % 8), true);
    oa_free(data);
}

/* All bits of a small file, and one of every byte of the headers that training writes. */
static void every_bit_is_under_the_checksum(void **state)
{
    (void)state;
    struct oa_options o = options("softmax");
    float numbers[3] = { 1, -2, 0 };
    struct oa_array arrays[] = { { "a", OA_F32, 2, { 1, 2 }, numbers, 8, NULL, NULL },
                                 { "b", OA_F32, 1, { 1 }, numbers, 4, NULL, NULL } };
    const char *metadata[] = { "name", "value", NULL };
    assert_int_equal(oa_tensors_write_checksummed(context, "small", arrays, 2, metadata), OA_OK);
    flip_all("small", 8, 1);
    assert_int_equal(train(&o, "run", false), OA_OK);
    flip_all("run/model.safetensors", 1, 97);
    flip_all("run/checkpoint-000000002.safetensors", 1, 197);
}

/* The recipe of docs/interop.md, carried out with python3's json, hashlib and zlib on this very
 * file. */
static void the_checksum_is_as_documented(void **state)
{
    (void)state;
    float numbers[3] = { 1, -2, 0 };
    struct oa_array arrays[] = { { "b", OA_F32, 1, { 1 }, numbers, 4, NULL, NULL },
                                 { "a", OA_F32, 2, { 1, 2 }, numbers, 8, NULL, NULL } };
    const char *metadata[] = { "name", "v\u00e4lue \"quoted\"", NULL };
    struct oa_tensors *f;
    assert_int_equal(oa_tensors_write_checksummed(context, "small", arrays, 2, metadata), OA_OK);
    assert_int_equal(oa_tensors_open(context, "small", &f), OA_OK);
    assert_string_equal(oa_tensors_metadata(f, OA_CHECKSUM_KEY),
                        "e2af798c7d15c7adc9257c1c99e59fc2515a6cfd63dac3ec016e9fcf5268d595");
    oa_tensors_close(f);
}

/* A checkpoint without a checksum is none; a model without one is somebody else's, and is read. */
static void files_of_others_are_read(void **state)
{
    (void)state;
    struct oa_options o = options("softmax");
    struct oa_tensors *f;
    assert_int_equal(train(&o, "run", false), OA_OK);
    assert_int_equal(oa_tensors_open(context, "run/model.safetensors", &f), OA_OK);
    struct oa_array arrays[64];
    int count = oa_tensors_count(f);
    for (int i = 0; i < count; i++)
        arrays[i] = *oa_tensors_at(f, i);
    assert_int_equal(oa_tensors_write(context, "plain", arrays, count, NULL), OA_OK);
    oa_tensors_close(f);
    assert_int_equal(rename("plain", "run/model.safetensors"), 0);
    const struct oa_eval_request request = { .files = "text" };
    assert_int_equal(oa_eval(context, "run", &request, NULL, NULL), OA_OK);

    size_t length;
    char *data;
    get("run/checkpoint-000000002.safetensors", &data, &length);
    *strstr(data + 8, OA_CHECKSUM_KEY) ^= 1;
    put("run/checkpoint-000000002.safetensors", data, length);
    oa_free(data);
    assert_int_equal(unlink("run/model.safetensors"), 0);
    assert_int_equal(train(&o, "run", true), OA_FORMAT);
    expect_error(OA_FORMAT, "checksum missing: the checkpoint");
}

/* ---- every number of config.json
 * ----------------------------------------------------------------------------------
 */

static const char *const hostile[] = { "0",     "-1",    "2147483648", "9223372036854775807",
                                       "1e308", "NaN",   "nan",        "\"nan\"",
                                       "\"\"",  "\"x\"", "null",       "[1]" };

/* config.json with another value of one key; `text` is the file as it was. */
static void write_config(const char *text, const char *section, const char *key, const char *value)
{
    char *out = malloc(strlen(text) + 64);
    const char *at = strstr(strstr(text, section), key), *end;
    assert_non_null(at);
    at += strlen(key);
    end = at + strcspn(at, ",}");
    sprintf(out, "%.*s%s%s", (int)(at - text), text, value, end);
    put("run/config.json", out, strlen(out));
    free(out);
}

/* Opens the run, whatever config.json says: it must open or be refused with a sentence, and when it
 * opens, all that decides what the model computes is as it was trained. */
static void open_altered(const char *text, const char *section, const char *key, const char *value,
                         bool checksummed)
{
    struct oa_trained t;
    write_config(text, section, key, value);
    enum oa_error e = oa_trained_open(context, "run", &t);
    if (e == OA_OK && checksummed) {
        assert_int_equal(t.options.model_context, 8);
        assert_int_equal(t.options.train_seed, 1);
        assert_int_equal(t.options.model_position, OA_POSITION_LEARNED);
        assert_int_equal(t.model->vocabulary, oa_tokenizer_size(t.tokenizer));
    }
    oa_trained_close(&t);
    if (e != OA_OK) {
        const char *sentence;
        oa_last_error(context, &sentence);
        assert_true(strlen(sentence) > 20);
    }
    oa_clear_error(context);
}

static void try_every_number(const char *text, bool checksummed)
{
    const struct oa_option_row *row;
    for (size_t v = 0; v < sizeof hostile / sizeof *hostile; v++) {
        char section[64], key[64];
        open_altered(text, "", "\"vocabulary\": ", hostile[v], checksummed);
        for (int i = 0; (row = oa_option_at(i)); i++) {
            if (row->kind != OA_OPTION_INT && row->kind != OA_OPTION_REAL)
                continue;
            const char *name = oa_option_stored_key(row), *dot = strchr(name, '.');
            snprintf(section, sizeof section, "\"%.*s\": {", (int)(dot - name), name);
            snprintf(key, sizeof key, "\"%s\": ", dot + 1);
            open_altered(text, section, key, hostile[v], checksummed);
        }
    }
}

/* The metadata of its model's file would refuse another config.json first. */
static void drop_metadata(void)
{
    struct oa_tensors *f;
    struct oa_array arrays[64];
    assert_int_equal(oa_tensors_open(context, "run/model.safetensors", &f), OA_OK);
    int count = oa_tensors_count(f);
    for (int i = 0; i < count; i++)
        arrays[i] = *oa_tensors_at(f, i);
    assert_int_equal(oa_tensors_write(context, "plain", arrays, count, NULL), OA_OK);
    oa_tensors_close(f);
    assert_int_equal(rename("plain", "run/model.safetensors"), 0);
}

static void numbers_of_config_are_checked(void **state)
{
    (void)state;
    struct oa_options o = options("softmax");
    size_t length;
    assert_int_equal(train(&o, "run", false), OA_OK);
    char *text;
    get("run/config.json", &text, &length);
    try_every_number(text, true);

    drop_metadata(); /* the shapes must do */
    try_every_number(text, false);

    struct oa_trained t;
    write_config(text, "", "\"vocabulary\": ", "9223372036854775807");
    assert_int_equal(oa_trained_open(context, "run", &t), OA_FORMAT);
    oa_trained_close(&t);
    expect_error(OA_FORMAT, "\"vocabulary\" is 9223372036854775807, expected an integer "
                            "from 1 to 2147483647");
    write_config(text, "", "\"vocabulary\": ", "2147483647");
    assert_int_equal(oa_trained_open(context, "run", &t), OA_SHAPE);
    oa_trained_close(&t);
    expect_error(OA_SHAPE, "tensor embedding.weight");
    oa_free(text);
}

/* A layout of blocks is in the model's file; the one that config.json names is not opened, be it
 * right or wrong. */
static void files_that_a_config_names_are_not_opened(void **state)
{
    (void)state;
    struct oa_options o = options("softmax");
    struct oa_trained t;
    char *text;
    size_t length;
    assert_int_equal(train(&o, "run", false), OA_OK);
    drop_metadata();
    get("run/config.json", &text, &length);
    put("fits", "1", 1);
    put("other", "secret", 6);
    static const char *const named[] = { "\"block-sparse(layout=fits)\"",
                                         "\"block-sparse(layout=other)\"",
                                         "\"block-sparse(layout=/dev/zero)\"" };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        write_config(text, "", "\"attention\": ", named[i]);
        assert_int_equal(oa_trained_open(context, "run", &t), OA_FORMAT);
        oa_trained_close(&t);
        expect_error(
            OA_FORMAT,
            "run/model.safetensors: tensor decoder.layers.0.attention.block.layout is missing");
    }
    oa_free(text);
}

/* Distances between keys that no sequence has cost nothing. */
static void numbers_of_an_attention_take_no_memory(void **state)
{
    (void)state;
    static const char *const attentions[] = { "sparse(stride=1073741824)",
                                              "sparse(fixed, stride=1073741824)",
                                              "local(window=1073741824, dilation=1073741824)",
                                              "longformer(window=1073741824, global=1073741824)",
                                              "block-local(size=1073741824)",
                                              "cosformer(length=1073741824)" };
    for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++) {
        struct oa_options o = options(attentions[i]);
        struct rusage used;
        assert_int_equal(train(&o, attentions[i], false), OA_OK);
        getrusage(RUSAGE_SELF, &used);
        assert_true(used.ru_maxrss < 1 << 20); /* KiB */
    }
}

/* ---- frozen tensors
 * ------------------------------------------------------------------------------------------------
 */

enum { B = 1, N = 6, D = 8 };

/* The model's own attention of layer 0 on x: y [N, D]. */
static void own_rows(struct oa_trained *t, const float *x, double *y)
{
    oa_tape_reset(&t->tape, false, false, oa_stream_named(1, "x"));
    struct oa_layer_input in = {
        .x = oa_tensor_from(&t->tape, x, N, D, D, false), .batch = B, .queries = N, .keys = N
    };
    oa_tensor *out = oa_layer_forward(&t->tape, &t->model->decoder.block[0].attention, &in);
    assert_int_equal(oa_status(context), OA_OK);
    for (long i = 0; i < N * D; i++)
        y[i] = oa_real_get(t->device, out->data, i);
}

/* in.safetensors: x, and what model.safetensors says of layer 0 under the names of the attention
 * language. */
static void write_input(const float *x)
{
    static const char prefix[] = "decoder.layers.0.attention.";
    struct oa_tensors *f;
    struct oa_array arrays[64] = {
        { "x", OA_F32, 3, { B, N, D }, x, sizeof(float) * B * N * D, NULL, NULL }
    };
    int count = 1;
    assert_int_equal(oa_tensors_open(context, "run/model.safetensors", &f), OA_OK);
    for (int i = 0; i < oa_tensors_count(f); i++) {
        const struct oa_array *a = oa_tensors_at(f, i);
        if (strncmp(a->name, prefix, strlen(prefix)) != 0)
            continue;
        arrays[count] = *a;
        arrays[count++].name = a->name + strlen(prefix);
    }
    assert_int_equal(oa_tensors_write(context, "in.safetensors", arrays, count, NULL), OA_OK);
    oa_tensors_close(f);
}

static double attend_apart(const char *attention, uint64_t seed, const double *y)
{
    struct oa_attend_options o = { .spec = attention,
                                   .in = "in.safetensors",
                                   .out = "out.safetensors",
                                   .heads = 2,
                                   .causal = 1,
                                   .seed = seed };
    struct oa_tensors *f;
    double apart = 0;
    assert_int_equal(oa_attend(context, &o), OA_OK);
    assert_int_equal(oa_tensors_open(context, "out.safetensors", &f), OA_OK);
    const struct oa_array *a = oa_tensors_find(f, "y");
    for (size_t i = 0; i < N * D; i++)
        apart = fmax(apart, fabs(oa_array_value(a, i) - y[i]));
    oa_tensors_close(f);
    return apart;
}

/* attend has another seed than the training had, so what it does not find in the file it cannot
 * guess. */
static void saved_models_are_whole(void **state)
{
    (void)state;
    static const char *const frozen[] = { "orthogonal",
                                          "orthogonal(qk=srht, tie)",
                                          "softmax(qk=hd3)",
                                          "local(window=3, qk=permutation)",
                                          "longformer(window=2, qk=hd3)",
                                          "performer",
                                          "performer(ensemble=hd3, qk=srht)",
                                          "polysketch",
                                          "fixed-random",
                                          "bigbird(block=2)",
                                          "orthogonal(qk=srht):1 | performer(qk=slice):1" };
    float x[N * D];
    double y[N * D];
    for (int i = 0; i < N * D; i++)
        x[i] = (float)oa_random_normal(oa_stream_named(3, "x"), (uint64_t)i);
    for (size_t i = 0; i < sizeof frozen / sizeof *frozen; i++) {
        struct oa_options o = options(frozen[i]);
        struct oa_trained t;
        assert_int_equal(system("rm -rf run"), 0);
        assert_int_equal(train(&o, "run", false), OA_OK);
        assert_int_equal(oa_trained_open(context, "run", &t), OA_OK);
        own_rows(&t, x, y);
        oa_trained_close(&t);
        write_input(x);
        double apart = attend_apart(frozen[i], 77, y);
        if (!(apart < 2e-6))
            fail_msg("%s: attend on the saved tensors is %g away from the model", frozen[i], apart);
    }
}

/* Left out, frozen tensors are made again: the same rows. What the file holds is used; a matrix
 * that is not the seed's is refused where only its transform is run. */
static void frozen_tensors_can_be_left_out(void **state)
{
    (void)state;
    struct oa_options o = options("orthogonal(qk=srht):1 | orthogonal:1");
    struct oa_trained t;
    struct oa_tensors *f;
    float x[N * D];
    double with[N * D], without[N * D];
    for (int i = 0; i < N * D; i++)
        x[i] = (float)oa_random_normal(oa_stream_named(3, "x"), (uint64_t)i);
    assert_int_equal(train(&o, "run", false), OA_OK);
    assert_int_equal(oa_tensors_open(context, "run/model.safetensors", &f), OA_OK);
    assert_non_null(oa_tensors_find(f, "decoder.layers.0.attention.group.0.query.weight"));
    assert_non_null(oa_tensors_find(f, "decoder.layers.0.attention.group.1.query.weight"));
    oa_tensors_close(f);
    assert_int_equal(oa_trained_open(context, "run", &t), OA_OK);
    own_rows(&t, x, with);
    oa_trained_close(&t);
    o.train_save_frozen = false;
    assert_int_equal(train(&o, "bare", false), OA_OK);
    assert_int_equal(oa_tensors_open(context, "bare/model.safetensors", &f), OA_OK);
    assert_null(oa_tensors_find(f, "decoder.layers.0.attention.group.0.query.weight"));
    assert_null(oa_tensors_find(f, "decoder.layers.0.attention.group.1.query.weight"));
    oa_tensors_close(f);
    assert_int_equal(oa_trained_open(context, "bare", &t), OA_OK);
    own_rows(&t, x, without);
    oa_trained_close(&t);
    assert_memory_equal(with, without, sizeof with);
}

/* model.safetensors with element 0 of one tensor changed, and without metadata, as another program
 * would write it. */
static void alter(const char *tensor)
{
    struct oa_tensors *f;
    struct oa_array arrays[64];
    float changed[D * D];
    assert_int_equal(oa_tensors_open(context, "run/model.safetensors", &f), OA_OK);
    int count = oa_tensors_count(f);
    for (int i = 0; i < count; i++) {
        arrays[i] = *oa_tensors_at(f, i);
        if (strcmp(arrays[i].name, tensor) != 0)
            continue;
        assert_true(arrays[i].bytes <= sizeof changed);
        memcpy(changed, arrays[i].data, arrays[i].bytes);
        changed[0] += 0.5F;
        arrays[i].data = changed;
    }
    assert_int_equal(oa_tensors_write(context, "plain", arrays, count, NULL), OA_OK);
    oa_tensors_close(f);
    assert_int_equal(rename("plain", "run/model.safetensors"), 0);
}

static void frozen_tensors_are_taken_from_the_file(void **state)
{
    (void)state;
    struct oa_trained t;
    struct oa_options o = options("orthogonal");
    o.train_precision = OA_PRECISION_BF16;
    assert_int_equal(train(&o, "run", false), OA_OK);
    alter("decoder.layers.0.attention.query.weight");
    assert_int_equal(oa_trained_open(context, "run", &t), OA_OK);
    struct oa_parameter *p =
        oa_store_find(&t.model->store, "decoder.layers.0.attention.query.weight");
    uint16_t act = ((uint16_t *)p->act)[0];
    assert_int_equal(
        act, oa_float_to_bf16(((float *)p->value)[0])); /* the copy that is computed with, too */
    oa_trained_close(&t);

    o = options("orthogonal(qk=srht)");
    assert_int_equal(system("rm -rf run"), 0);
    assert_int_equal(train(&o, "run", false), OA_OK);
    alter("decoder.layers.0.attention.query.weight");
    assert_int_equal(oa_trained_open(context, "run", &t), OA_FORMAT);
    oa_trained_close(&t);
    expect_error(OA_FORMAT, "differs from the matrix of seed 1");
}

/* ---- names and locks
 * -----------------------------------------------------------------------------------------------
 */

static void input_is_not_overwritten(void **state)
{
    (void)state;
    float x[N * D] = { 1 };
    struct oa_array array = { "x", OA_F32, 3, { B, N, D }, x, sizeof x, NULL, NULL };
    struct oa_attend_options o = { .spec = "softmax", .in = "y.tmp", .out = "y", .heads = 2 };
    struct oa_tensors *f;
    assert_int_equal(oa_tensors_write(context, "y.tmp", &array, 1, NULL), OA_OK);
    assert_int_equal(oa_attend(context, &o), OA_OK);
    assert_int_equal(oa_tensors_open(context, "y.tmp", &f), OA_OK);
    assert_non_null(oa_tensors_find(f, "x"));
    oa_tensors_close(f);
    assert_int_equal(link("y.tmp", "other-name"), 0);
    o.out = "other-name";
    assert_int_equal(oa_attend(context, &o), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "are the same file");
    put("text", "some text", 9);
    assert_int_equal(oa_tokenizer_make(context, "char", "y.tmp,text", "text", NULL), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "text is one of the input texts");
}

static void links_are_kept_and_not_guessed(void **state)
{
    (void)state;
    char guess[64];
    size_t length;
    put("precious", "1", 1);
    snprintf(guess, sizeof guess, "f.%ld-0.tmp", (long)getpid());
    assert_int_equal(symlink("precious", guess), 0);
    assert_int_equal(oa_file_write(context, "f", "22", 2), OA_OK);
    assert_int_equal(symlink("f", "link"), 0);
    assert_int_equal(oa_file_write(context, "link", "333", 3), OA_OK);
    char *f, *precious;
    get("f", &f, &length);
    assert_string_equal(f, "333");
    get("precious", &precious, &length);
    assert_string_equal(precious, "1");
    oa_free(f);
    oa_free(precious);
    assert_int_equal(unlink("f"), 0);
    assert_int_equal(oa_file_write(context, "link", "333", 3), OA_IO);
    expect_error(OA_IO, "dangling symbolic link");
}

static void temporaries_of_killed_writers_are_removed(void **state)
{
    (void)state;
    static const char *const leftovers[] = { "a.safetensors.12-0.tmp", ".x.999999-9999.tmp" };
    static const char *const kept[] = { "a.tmp",      "notes.12.tmp", "a.12-0.tmp.old",
                                        "b.12-x.tmp", ".12-0",        "12-0.tmp" };
    for (int i = 0; i < 2; i++)
        put(leftovers[i], "1", 1);
    for (int i = 0; i < 6; i++)
        put(kept[i], "1", 1);
    oa_folder_remove_temporaries(".");
    for (int i = 0; i < 2; i++)
        assert_false(oa_file_exists(leftovers[i]));
    for (int i = 0; i < 6; i++)
        assert_true(oa_file_exists(kept[i]));
}

static void folders_are_locked(void **state)
{
    (void)state;
    struct oa_lock *first, *second;
    char who[64];
    snprintf(who, sizeof who, "(process %ld on ", (long)getpid());
    assert_int_equal(oa_folder_lock(context, "a/b/c/", &first), OA_OK);
    assert_int_equal(oa_folder_lock(context, "a/b/c", &second), OA_IO);
    expect_error(OA_IO, who);
    assert_null(second);
    oa_folder_unlock(first);
    assert_false(oa_file_exists("a")); /* it was made for the lock, and nothing came into it */
    assert_int_equal(oa_folder_lock(context, "a/b", &first), OA_OK);
    put("a/b/kept", "1", 1);
    oa_folder_unlock(first);
    assert_true(oa_file_exists("a/b/kept"));
    assert_false(oa_file_exists("a/b/.lock"));
}

/* The lock file of a process that was killed is no lock. */
static void locks_of_dead_processes_are_released(void **state)
{
    (void)state;
    struct oa_lock *lock;
    pid_t child = fork();
    if (child == 0)
        _exit(oa_folder_lock(context, "a", &lock) == OA_OK ? 0 : 1); /* without unlocking */
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(oa_file_exists("a/.lock"));
    assert_int_equal(oa_folder_lock(context, "a", &lock), OA_OK);
    oa_folder_unlock(lock);
}

/* ---- when checkpoints are written
 * ---------------------------------------------------------------------------------
 */

static void checkpoints_cost_less_than_a_hundredth(void **state)
{
    (void)state;
    assert_true(oa_checkpoint_wait(5, 0.1) == 300);
    assert_true(oa_checkpoint_wait(5, 3) == 300);
    assert_true(oa_checkpoint_wait(5, 7) == 700);
    assert_true(oa_checkpoint_wait(0.01, 0) == 0.6);
}

/* More than 256 MiB, and more than 64 times its size, is what a file may not give. */
static void reading_is_bounded(void **state)
{
    (void)state;
    put("small", "1", 1);
    assert_true(oa_read_limit("small") == 256 << 20);
    assert_true(oa_read_limit("/dev/null") == 256 << 20);
    assert_int_equal(truncate("small", 1L << 32), 0);
    assert_true(oa_read_limit("small") == 64UL << 32);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(every_bit_is_under_the_checksum),
        IN_FOLDER(the_checksum_is_as_documented),
        IN_FOLDER(files_of_others_are_read),
        IN_FOLDER(numbers_of_config_are_checked),
        IN_FOLDER(files_that_a_config_names_are_not_opened),
        IN_FOLDER(numbers_of_an_attention_take_no_memory),
        IN_FOLDER(saved_models_are_whole),
        IN_FOLDER(frozen_tensors_can_be_left_out),
        IN_FOLDER(frozen_tensors_are_taken_from_the_file),
        IN_FOLDER(input_is_not_overwritten),
        IN_FOLDER(links_are_kept_and_not_guessed),
        IN_FOLDER(temporaries_of_killed_writers_are_removed),
        IN_FOLDER(folders_are_locked),
        IN_FOLDER(locks_of_dead_processes_are_released),
        IN_FOLDER(checkpoints_cost_less_than_a_hundredth),
        IN_FOLDER(reading_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
