/* SPDX-License-Identifier: Apache-2.0
 * attend beyond the reference vectors: missing parameters are initialised, and invalid tensors are
 * errors that name them. */
#include "base/safetensors.h"
#include "testing.h"

#include "attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static oa_context *context;
static char in_path[64], out_path[64];

static int open_context(void **state)
{
    (void)state;
    snprintf(in_path, sizeof in_path, "attend-in-%ld.safetensors", (long)getpid());
    snprintf(out_path, sizeof out_path, "attend-out-%ld.safetensors", (long)getpid());
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    remove(in_path);
    remove(out_path);
    oa_close(context);
    return 0;
}

/* ---- input files ---- */

#define MOST 12
struct input {
    struct oa_array array[MOST];
    int count;
    const char *heads;
};

static void add(struct input *f, const char *name, enum oa_type type, int dims, long a, long b,
                long c)
{
    struct oa_array *t = &f->array[f->count++];
    assert_true(f->count <= MOST);
    long count = a * (dims > 1 ? b : 1) * (dims > 2 ? c : 1);
    *t = (struct oa_array){ .name = strdup(name), .type = type, .dims = dims, .dim = { a, b, c } };
    t->bytes = (size_t)count * oa_type_size(type);
    t->data = calloc((size_t)count + 1, oa_type_size(type));
    for (long i = 0; i < count && type == OA_F32; i++)
        ((float *)(uintptr_t)t->data)[i] =
            (float)oa_random_normal(oa_stream_named(1, name), (uint64_t)i);
}

static float *reals(const struct input *f, int i)
{
    return (float *)(uintptr_t)f->array[i].data;
}

static int32_t *integers(const struct input *f, int i)
{
    return (int32_t *)(uintptr_t)f->array[i].data;
}

/* x [2, 5, 8] as tensor 0, two heads. */
static struct input start(void)
{
    struct input f = { .heads = "2" };
    add(&f, "x", OA_F32, 3, 2, 5, 8);
    return f;
}

static enum oa_error attend(struct input *f, const char *spec, struct oa_attend_options o)
{
    const char *const metadata[] = { f->heads ? "heads" : NULL, f->heads, NULL };
    assert_int_equal(oa_tensors_write(context, in_path, f->array, f->count, metadata), OA_OK);
    o.spec = spec;
    o.in = in_path;
    o.out = out_path;
    remove(out_path);
    enum oa_error e = oa_attend(context, &o);
    for (int i = 0; i < f->count; i++) {
        free(f->array[i].name);
        free((void *)(uintptr_t)f->array[i].data);
    }
    f->count = 0;
    return e;
}

static void assert_rejected(struct input *f, const char *spec, struct oa_attend_options o,
                            const char *part)
{
    const char *sentence;
    assert_int_not_equal(attend(f, spec, o), OA_OK);
    oa_last_error(context, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" is not in: %s", part, sentence);
    oa_clear_error(context);
    assert_false(oa_file_exists(out_path));
}

static const struct oa_attend_options plain = { 0 };

/* The named result as doubles; freed by the caller. */
static double *result(const char *name, long *count)
{
    struct oa_tensors *out;
    assert_int_equal(oa_tensors_open(context, out_path, &out), OA_OK);
    const struct oa_array *t = oa_tensors_find(out, name);
    assert_non_null(t);
    *count = (long)(t->bytes / oa_type_size(t->type));
    double *values = calloc((size_t)*count, sizeof *values);
    for (long i = 0; i < *count; i++)
        values[i] = oa_array_value(t, (size_t)i);
    oa_tensors_close(out);
    return values;
}

static bool has_result(const char *name)
{
    struct oa_tensors *out;
    assert_int_equal(oa_tensors_open(context, out_path, &out), OA_OK);
    bool has = oa_tensors_find(out, name) != NULL;
    oa_tensors_close(out);
    return has;
}

/* ---- initial values and shapes ---- */

static double *output_of(const char *spec, uint64_t seed)
{
    long count;
    struct input f = start();
    assert_int_equal(attend(&f, spec, (struct oa_attend_options){ .seed = seed }), OA_OK);
    double *y = result("y", &count);
    assert_int_equal(count, 2 * 5 * 8);
    return y;
}

static void missing_parameters_are_initialised_from_the_seed(void **state)
{
    (void)state;
    static const char *const texts[] = { "softmax", "orthogonal", "random(frozen, normal)",
                                         "random + dense", "linear" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double *a = output_of(texts[i], 3), *b = output_of(texts[i], 3),
               *other = output_of(texts[i], 4);
        assert_memory_equal(a, b, 80 * sizeof *a);
        assert_memory_not_equal(a, other, 80 * sizeof *a);
        free(a);
        free(b);
        free(other);
    }
}

/* A layer of a model and attend have the same initial values, since streams go by parameter names.
 */
static void biases_exist_if_the_file_has_one(void **state)
{
    (void)state;
    struct input f = start();
    add(&f, "dy", OA_F32, 3, 2, 5, 8);
    add(&f, "value.bias", OA_F32, 1, 8, 0, 0);
    assert_int_equal(attend(&f, "softmax", plain), OA_OK);
    assert_true(has_result("grad.value.bias") && has_result("grad.query.weight"));
    assert_false(has_result("grad.query.bias") || has_result("grad.output.bias") ||
                 has_result("weights"));
    f = start();
    assert_int_equal(attend(&f, "softmax", plain), OA_OK);
    assert_false(has_result("grad.x"));
}

static void frozen_parameters_have_no_gradient(void **state)
{
    (void)state;
    struct input f = start();
    add(&f, "dy", OA_F32, 3, 2, 5, 8);
    assert_int_equal(attend(&f, "orthogonal(temperature) + random(frozen)", plain), OA_OK);
    assert_true(has_result("grad.mix.0.query.temperature") && has_result("grad.mix.theta"));
    assert_false(has_result("grad.mix.0.query.weight") || has_result("grad.mix.1.random.logits"));
}

static void widths_and_lengths_follow_stored_tensors(void **state)
{
    (void)state;
    long count;
    struct input f = start();
    add(&f, "group.0.random.logits", OA_F32, 3, 1, 9, 9);
    add(&f, "group.1.dense.logits.weight", OA_F32, 3, 1, 6, 4); /* every mechanism has its own N */
    assert_int_equal(attend(&f, "random | dense", plain), OA_OK);
    f = start();
    add(&f, "query.weight", OA_F32, 2, 2 * 3, 8, 0);  /* heads of 3 */
    add(&f, "output.weight", OA_F32, 2, 8, 2 * 5, 0); /* values of 5 */
    add(&f, "dy", OA_F32, 3, 2, 5, 8);
    assert_int_equal(attend(&f, "softmax", plain), OA_OK);
    free(result("grad.key.weight", &count));
    assert_int_equal(count, 6 * 8);
    free(result("grad.value.weight", &count));
    assert_int_equal(count, 10 * 8);
    f = start();
    f.heads = NULL;
    assert_int_equal(attend(&f, "softmax", (struct oa_attend_options){ .heads = 4, .weights = 1 }),
                     OA_OK);
    free(result("weights", &count));
    assert_int_equal(count, 2 * 4 * 5 * 5);
}

/* ---- errors ---- */

static void invalid_inputs_are_rejected(void **state)
{
    (void)state;
    struct input f = { .heads = "2" };
    add(&f, "memory", OA_F32, 3, 2, 5, 8);
    assert_rejected(&f, "softmax", plain, "tensor x is missing");
    f = start();
    add(&f, "memory", OA_F32, 3, 2, 5, 6);
    assert_rejected(&f, "softmax", plain,
                    "tensor memory is [2, 5, 6]; expected [B, m, d] = [2, at least 1, 8]");
    f = start();
    add(&f, "dy", OA_F32, 3, 2, 4, 8);
    assert_rejected(&f, "softmax", plain, "tensor dy is [2, 4, 8]; expected [B, n, d] = [2, 5, 8]");
    f = start();
    add(&f, "lengths", OA_F32, 1, 2, 0, 0);
    assert_rejected(&f, "softmax", plain, "tensor lengths is of type F32; expected I32");
    f = start();
    f.array[0].type = OA_I32;
    assert_rejected(&f, "softmax", plain, "tensor x is of type I32; expected F32, F64 or BF16");
    f = start();
    add(&f, "lengths", OA_I32, 1, 2, 0, 0);
    integers(&f, 1)[1] = 6;
    assert_rejected(&f, "softmax", plain, "lengths[1] is 6; expected 0 to 5, the length of x");
    f = start();
    f.heads = NULL;
    assert_rejected(&f, "softmax", plain, "number of heads missing");
    f = start();
    f.heads = "two";
    assert_rejected(&f, "softmax", plain, "the number of heads is two");
    f = start();
    f.heads = "3";
    assert_rejected(&f, "softmax", plain, "the model width 8 must be divisible by its 3 heads");
}

static void invalid_parameters_are_rejected(void **state)
{
    (void)state;
    struct input f = start();
    add(&f, "query.weight", OA_F32, 2, 8, 4, 0);
    assert_rejected(&f, "softmax", plain, "tensor query.weight is [8, 4]; expected [8, 8]");
    f = start();
    add(&f, "query.wieght", OA_F32, 2, 8, 8, 0);
    assert_rejected(&f, "softmax", plain, "unknown tensor query.wieght for");
    f = start();
    add(&f, "query.bias", OA_F32, 1, 8, 0, 0);
    assert_rejected(&f, "orthogonal", plain, "unknown tensor query.bias");
    f = start();
    add(&f, "key.weight", OA_F32, 2, 8, 8, 0);
    assert_rejected(&f, "softmax(tie)", plain, "unknown tensor key.weight");
    f = start();
    add(&f, "expect.anything", OA_F32, 1, 8, 0, 0);
    assert_int_equal(attend(&f, "softmax", plain), OA_OK);
    f = start();
    add(&f, "random.logits", OA_F32, 3, 2, 4, 4);
    assert_rejected(&f, "random", plain, "5 tokens is longer than the tables of random, N = 4");
    f = start();
    add(&f, "random.logits", OA_F32, 3, 2, 7, 9);
    assert_rejected(&f, "random", plain, "tensor random.logits is [2, 7, 9]; expected [2, 9, 9]");
    f = start();
    add(&f, "output.bias", OA_I32, 1, 8, 0, 0);
    assert_rejected(&f, "softmax", plain, "tensor output.bias is of type I32");
}

/* Statistics of training are not made from the seed, so a causal layer needs them in the file. */
static void causal_fits_need_stored_statistics(void **state)
{
    (void)state;
    const struct oa_attend_options causal = { .causal = true };
    struct input f = start();
    assert_rejected(&f, "performer(kernel=sderf)", causal, "needs frozen statistics");
    f = start();
    add(&f, "features.mean", OA_F32, 3, 2, 2, 4);
    assert_rejected(&f, "performer(kernel=sderf)", causal, "needs frozen statistics");
    f = start();
    add(&f, "features.mean", OA_F32, 3, 2, 2, 4);
    add(&f, "features.square", OA_F32, 3, 2, 2, 16);
    f.array[2].dims = 4;
    f.array[2].dim[2] = f.array[2].dim[3] = 4;
    assert_int_equal(attend(&f, "performer(kernel=favor++)", causal), OA_OK);
    f = start();
    add(&f, "features.mean", OA_F32, 3, 2, 2, 4);
    assert_rejected(&f, "performer(kernel=favor+)", plain, "unknown tensor features.mean");
}

static void values_that_are_not_finite_are_rejected(void **state)
{
    (void)state;
    struct input f = start();
    reals(&f, 0)[8 * 5 + 3] = NAN;
    assert_rejected(&f, "softmax", plain, "x[1, 0, 3] is not finite");
    f = start();
    add(&f, "memory", OA_F32, 3, 2, 3, 8);
    reals(&f, 1)[47] = INFINITY;
    assert_rejected(&f, "softmax", plain, "memory[1, 2, 7] is not finite");
    f = start();
    add(&f, "value.weight", OA_F32, 2, 8, 8, 0);
    reals(&f, 1)[5] = NAN;
    assert_rejected(&f, "softmax", plain, "element 5 of value.weight is not finite");
    f = start();
    add(&f, "dy", OA_F32, 3, 2, 5, 8);
    reals(&f, 1)[0] = NAN;
    assert_rejected(&f, "softmax", plain, "dy[0, 0, 0] is not finite");
}

static void overflow_writes_no_file(void **state)
{
    (void)state;
    struct input f = start();
    for (int i = 0; i < 2 * 5 * 8; i++)
        reals(&f, 0)[i] = 1e38f;
    assert_rejected(&f, "softmax", plain, "of result y is not finite");
    f = start();
    add(&f, "dy", OA_F32, 3, 2, 5, 8);
    for (int i = 0; i < 2 * 5 * 8; i++)
        reals(&f, 1)[i] = 3e38f;
    assert_rejected(&f, "softmax", plain, "of result grad.");
}

static void invalid_word_numbers_are_rejected(void **state)
{
    (void)state;
    struct input f = start();
    assert_rejected(&f, "pattern(unit=word)", plain,
                    "needs the word numbers of the tokens (word_ids)");
    f = start();
    add(&f, "word_ids", OA_I32, 2, 2, 5, 0);
    assert_rejected(&f, "pattern", plain, "unknown tensor word_ids");
    f = start();
    add(&f, "word_ids", OA_I32, 2, 2, 5, 0);
    integers(&f, 1)[7] = 2;
    assert_rejected(&f, "pattern(unit=word)", plain,
                    "word_ids[1, 2] is 2; word numbers must start at 0 and increase by 0 or 1");
    f = start();
    add(&f, "word_ids", OA_I32, 2, 2, 5, 0);
    assert_int_equal(attend(&f, "pattern(unit=word)", plain), OA_OK);
}

static void unsupported_combinations_are_rejected(void **state)
{
    (void)state;
    struct input f = start();
    assert_rejected(&f, "local ; softmax", plain,
                    "attend runs one layer; \"local ; softmax\" has 2");
    f = start();
    assert_rejected(&f, "sofmax", plain, "did you mean softmax?");
    f = start();
    assert_rejected(&f, "softmax", (struct oa_attend_options){ .precision = "f16" },
                    "expected f32, bf16 or f64");
    f = start();
    assert_rejected(&f, "pattern(next)", (struct oa_attend_options){ .causal = 1 },
                    "no causal form");
    f = start();
    add(&f, "memory", OA_F32, 3, 2, 3, 8);
    assert_rejected(&f, "softmax", (struct oa_attend_options){ .causal = 1 },
                    "cross-attention cannot be causal");
    f = start();
    add(&f, "memory", OA_F32, 3, 2, 3, 8);
    assert_rejected(&f, "local", plain, "local is for self-attention only");
    f = start();
    assert_rejected(&f, NULL, plain, "needs an attention");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_parameters_are_initialised_from_the_seed),
        cmocka_unit_test(biases_exist_if_the_file_has_one),
        cmocka_unit_test(frozen_parameters_have_no_gradient),
        cmocka_unit_test(widths_and_lengths_follow_stored_tensors),
        cmocka_unit_test(invalid_inputs_are_rejected),
        cmocka_unit_test(invalid_parameters_are_rejected),
        cmocka_unit_test(causal_fits_need_stored_statistics),
        cmocka_unit_test(values_that_are_not_finite_are_rejected),
        cmocka_unit_test(overflow_writes_no_file),
        cmocka_unit_test(invalid_word_numbers_are_rejected),
        cmocka_unit_test(unsupported_combinations_are_rejected),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
