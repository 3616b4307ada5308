/* SPDX-License-Identifier: Apache-2.0
 * A saved model: it is read back to the bit, and refused by name when a tensor is missing, is not
 * the model's, or has another shape. */
#include "base/safetensors.h"
#include "testing.h"

#include "model/model.h"

#include <stdlib.h>
#include <string.h>

static const char path[] = "test_model_files.safetensors",
                  altered[] = "test_model_files_altered.safetensors";

struct opened {
    oa_context *c;
    struct oa_options options;
    struct oa_tokenizer *tokenizer;
    struct oa_device *device;
    struct oa_model *model;
};

static struct opened open_model(void)
{
    struct opened o = { .c = oa_open(&(struct oa_settings){ .threads = 1 }) };
    oa_options_default(&o.options);
    o.options.model_layers = 2;
    o.options.model_width = 16;
    o.options.model_heads = 2;
    o.options.model_context = 8;
    assert_int_equal(oa_tokenizer_open(o.c, "byte", NULL, NULL, &o.tokenizer), OA_OK);
    assert_int_equal(oa_device_open(o.c, OA_PRECISION_F32, false, &o.device), OA_OK);
    assert_int_equal(oa_model_open(o.device, &o.options,
                                   (struct oa_model_form[]){ oa_language_model_form(256) }, false,
                                   &o.model),
                     OA_OK);
    return o;
}

static void close_model(struct opened *o)
{
    oa_model_close(o->model);
    oa_tokenizer_close(o->tokenizer);
    oa_device_close(o->device);
    oa_close(o->c);
}

static void reads_back(void **state)
{
    (void)state;
    struct opened o = open_model();
    struct oa_model *again;
    const struct oa_store *s = &o.model->store;
    static float values[2][16384];
    size_t bytes = (size_t)s->updated * sizeof values[0][0];
    assert_true(bytes <= sizeof values[0]);
    o.device->ops->download(o.device, bytes, s->values, values[0]);
    for (long i = 0; i < s->updated; i++) /* other values than the seed gives */
        values[0][i] = values[0][i] * 3 + (float)i;
    o.device->ops->upload(o.device, bytes, values[0], s->values);
    assert_int_equal(oa_model_save(o.model, o.tokenizer, path, false), OA_OK);
    assert_int_equal(oa_model_open_saved(o.device, path, &o.options,
                                         (struct oa_model_form[]){ oa_language_model_form(256) },
                                         o.tokenizer, &again),
                     OA_OK);
    o.device->ops->download(o.device, bytes, again->store.values, values[1]);
    assert_memory_equal(values[0], values[1], bytes);
    oa_model_close(again);
    close_model(&o);
}

/* Writes the saved tensors but the `without`-th, and after those as many extra ones; a row fewer of
 * the `cut`-th. */
static void alter(oa_context *c, int without, int extra, int cut)
{
    static float more[4] = { 1, 2, 3, 4 };
    struct oa_tensors *f;
    assert_int_equal(oa_tensors_open(c, path, &f), OA_OK);
    int n = oa_tensors_count(f), count = 0;
    struct oa_array *arrays = malloc(((size_t)n + 1) * sizeof *arrays);
    for (int i = 0; i < n; i++)
        if (i != without)
            arrays[count++] = *oa_tensors_at(f, i);
    if (extra)
        arrays[count++] = (struct oa_array){ .name = (char *)(uintptr_t) "decoder.extra",
                                             .type = OA_F32,
                                             .dims = 1,
                                             .dim = { 4 },
                                             .data = more,
                                             .bytes = 16 };
    if (cut >= 0) {
        arrays[cut].bytes -= arrays[cut].bytes / (size_t)arrays[cut].dim[0];
        arrays[cut].dim[0]--;
    }
    assert_int_equal(oa_tensors_write(c, altered, arrays, count, NULL), OA_OK);
    free(arrays);
    oa_tensors_close(f);
}

static void refused(struct opened *o, const char *name)
{
    const char *why;
    struct oa_model *again;
    assert_int_not_equal(
        oa_model_open_saved(o->device, altered, &o->options,
                            (struct oa_model_form[]){ oa_language_model_form(256) }, o->tokenizer,
                            &again),
        OA_OK);
    oa_last_error(o->c, &why);
    assert_non_null(strstr(why, name));
    oa_clear_error(o->c);
}

static void others_are_refused(void **state)
{
    (void)state;
    struct opened o = open_model();
    assert_int_equal(oa_model_save(o.model, o.tokenizer, path, false), OA_OK);
    struct oa_tensors *f;
    assert_int_equal(oa_tensors_open(o.c, path, &f), OA_OK);
    int count = oa_tensors_count(f);
    assert_true(count > 10);
    for (int i = 0; i < count; i++) {
        const char *name = oa_tensors_at(f, i)->name;
        alter(o.c, i, 0, -1);
        refused(&o, name);
        alter(o.c, -1, 0, i);
        refused(&o, name);
    }
    alter(o.c, -1, 1, -1);
    refused(&o, "decoder.extra");
    oa_tensors_close(f);
    close_model(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reads_back),
                                        cmocka_unit_test(others_are_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
