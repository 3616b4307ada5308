/* SPDX-License-Identifier: Apache-2.0
 * swap: heads that are grouped in another way, with masks that hide nothing more, are the same
 * function, whose logits are those of transformers in float64 (tests/golden-hf). Then, row by row
 * and bit by bit, what is taken, what is not, and what is printed. */
#include "api/api.h"
#include "base/safetensors.h"
#include "setups.h"

#include <math.h>
#include <string.h>

#define GOLDEN SOURCE_DIR "/tests/golden-hf/"

static oa_context *context;
static char *own;

static int open_context(void **state)
{
    (void)state;
    own = enter_own_folder();
    context = oa_open(NULL);
    return own && context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return leave_own_folder(own);
}

static void succeed(enum oa_error e)
{
    const char *why;
    oa_last_error(context, &why);
    if (e != OA_OK) {
        print_error("%s\n", why);
        oa_clear_error(context);
        fail();
    }
}

static char printed[65536];

static void keep_text(void *argument, const char *text, size_t length)
{
    (void)argument;
    size_t n = strlen(printed);
    snprintf(printed + n, sizeof printed - n, "%.*s", (int)length, text);
}

static void swap(const char *run, const char *attention, const char *out, int json)
{
    printed[0] = 0;
    struct oa_output to = { .sink = keep_text, .json = json };
    succeed(oa_swap(context, run, attention, out, &to));
}

static void expect_printed(const char *part)
{
    if (!strstr(printed, part))
        fail_msg("\"%s\" is not in:\n%s", part, printed);
}

/* ---- the same function ---- */

static const struct {
    const char *model, *attention;
} same[] = {
    { "gpt2", "softmax:1 | local(window=64)" },
    { "gpt2", "softmax:1 | softmax:3 ; softmax" },
    { "opt", "local(window=64):1 | softmax" },
    { "gpt_neox", "softmax:1 | local(window=64):1 | softmax" },
    /* keys of two heads each: shared as before, and repeated */
    { "llama", "local(window=64, kv=2):2 | softmax" },
    { "llama", "softmax(kv=1):2 | local(window=64, kv=1)" },
    { "llama", "softmax:1 | local(window=64):1 | softmax(kv=1)" },
    { "llama", "softmax" },
    { "qwen2", "softmax:1 | local(window=64):1 | softmax(kv=1)" },
    { "qwen3", "local(window=64, qknorm=rms):1 | softmax(qknorm=rms)" },
    { "gemma2", "local(window=4):1 | local(window=4) ; softmax:3 | softmax" },
};

static double distance_to_logits(const char *made, const char *expected)
{
    struct oa_tensors *a, *b;
    double difference = 0, size = 0;
    succeed(oa_tensors_open(context, made, &a));
    succeed(oa_tensors_open(context, expected, &b));
    const struct oa_array *x = oa_tensors_find(a, "logits"),
                          *y = oa_tensors_find(b, "expect.logits"),
                          *lengths = oa_tensors_find(b, "lengths");
    long T = y->dim[1], V = y->dim[2];
    for (long i = 0; i < y->dim[0] * T; i++)
        for (long j = 0; i % T < (long)oa_array_value(lengths, (size_t)(i / T)) && j < V; j++) {
            double u = oa_array_value(x, (size_t)(i * V + j)),
                   v = oa_array_value(y, (size_t)(i * V + j));
            difference += (u - v) * (u - v);
            size += v * v;
        }
    oa_tensors_close(a);
    oa_tensors_close(b);
    assert_true(size > 0);
    return sqrt(difference / size);
}

static void heads_keep_their_function(void **state)
{
    (void)state;
    char folder[300], expected[400];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        snprintf(folder, sizeof folder, GOLDEN "%s", same[i].model);
        snprintf(expected, sizeof expected, "%s/expect.safetensors", folder);
        succeed(oa_import(context, folder, "run", NULL, NULL));
        swap("run", same[i].attention, "swapped", 0);
        if (strstr(printed, "(not there)") || strstr(printed, "in part"))
            fail_msg("%s, %s:\n%s", same[i].model, same[i].attention, printed);
        succeed(oa_forward(context, "swapped",
                           &(struct oa_forward_request){
                               .in = expected, .out = "out.safetensors", .precision = "f64" }));
        double d = distance_to_logits("out.safetensors", expected);
        if (!(d < 1e-10))
            fail_msg("%s, %s: logits differ by %g", same[i].model, same[i].attention, d);
        remove_folder("run");
        remove_folder("swapped");
    }
}

/* ---- row by row ---- */

static void rows_are(struct oa_tensors *a, const char *name, long first, long rows,
                     struct oa_tensors *b, const char *other, long at)
{
    const struct oa_array *x = oa_tensors_find(a, name), *y = oa_tensors_find(b, other);
    assert_non_null(x);
    assert_non_null(y);
    size_t row = x->bytes / (size_t)x->dim[0];
    assert_true(row == y->bytes / (size_t)y->dim[0]);
    if (memcmp((const char *)x->data + (size_t)first * row,
               (const char *)y->data + (size_t)at * row, (size_t)rows * row) != 0)
        fail_msg("%s: rows %ld to %ld are not those of %s", name, first, first + rows - 1, other);
}

#define LAYER "decoder.layers.0.attention."

/* Heads 1 and 2 of 4 get frozen projections, and are then learned again from these. */
static void what_is_frozen_stays_frozen(void **state)
{
    (void)state;
    struct oa_tensors *from, *to;
    succeed(oa_import(context, GOLDEN "gpt2", "run", NULL, NULL));
    swap("run", "softmax:1 | orthogonal:2 | softmax", "swapped", 0);
    expect_printed("group.1.query.weight, group.1.key.weight (frozen here and learnt there)");
    succeed(oa_tensors_open(context, "run/model.safetensors", &from));
    succeed(oa_tensors_open(context, "swapped/model.safetensors", &to));
    long K = oa_tensors_find(from, LAYER "query.weight")->dim[0] / 4;
    rows_are(to, LAYER "group.0.query.weight", 0, K, from, LAYER "query.weight", 0);
    rows_are(to, LAYER "group.2.query.weight", 0, K, from, LAYER "query.weight", 3 * K);
    rows_are(to, LAYER "group.2.key.bias", 0, K, from, LAYER "key.bias", 3 * K);
    rows_are(to, LAYER "group.1.value.weight", 0, 2 * K, from, LAYER "value.weight", K);
    rows_are(to, LAYER "output.weight", 0, 4 * K, from, LAYER "output.weight", 0);
    assert_null(oa_tensors_find(to, LAYER "group.1.query.weight")); /* of the seed */
    oa_tensors_close(from);
    oa_tensors_close(to);
    swap("swapped", "softmax", "back", 1);
    expect_printed("\"left_behind\": []");
    succeed(oa_tensors_open(context, "swapped/model.safetensors", &from));
    succeed(oa_tensors_open(context, "back/model.safetensors", &to));
    rows_are(to, LAYER "query.weight", 0, K, from, LAYER "group.0.query.weight", 0);
    const struct oa_array *w = oa_tensors_find(to, LAYER "query.weight");
    for (long i = K; i < 3 * K; i++) { /* orthonormal rows, which no learned ones are */
        double squares = 0;
        for (long j = 0; j < w->dim[1]; j++)
            squares += pow(oa_array_value(w, (size_t)(i * w->dim[1] + j)), 2);
        assert_true(fabs(squares - 1) < 1e-5);
    }
    rows_are(to, LAYER "query.weight", 3 * K, K, from, LAYER "group.2.query.weight", 0);
    oa_tensors_close(from);
    oa_tensors_close(to);
    remove_folder("swapped");
    remove_folder("back");
}

/* Groups of one name need not have the same heads. */
static void heads_not_names(void **state)
{
    (void)state;
    struct oa_tensors *from, *to;
    swap("run", "softmax:1 | softmax:1 | softmax:2", "one", 0);
    swap("one", "softmax:2 | softmax:1 | softmax:1", "two", 0);
    succeed(oa_tensors_open(context, "run/model.safetensors", &from));
    succeed(oa_tensors_open(context, "two/model.safetensors", &to));
    long K = oa_tensors_find(from, LAYER "query.weight")->dim[0] / 4;
    rows_are(to, LAYER "group.0.key.weight", 0, 2 * K, from, LAYER "key.weight", 0);
    rows_are(to, LAYER "group.1.key.weight", 0, K, from, LAYER "key.weight", 2 * K);
    rows_are(to, LAYER "group.2.key.weight", 0, K, from, LAYER "key.weight", 3 * K);
    oa_tensors_close(from);
    oa_tensors_close(to);
    remove_folder("one");
    remove_folder("two");
}

/* The component with queries takes them; of two only the first. */
static void mixtures(void **state)
{
    (void)state;
    struct oa_tensors *from, *to;
    swap("run", "softmax:1 | random + softmax", "mixed", 0);
    expect_printed("group.1.mix.0.random.logits");
    succeed(oa_tensors_open(context, "run/model.safetensors", &from));
    succeed(oa_tensors_open(context, "mixed/model.safetensors", &to));
    long K = oa_tensors_find(from, LAYER "query.weight")->dim[0] / 4;
    rows_are(to, LAYER "group.1.mix.1.query.weight", 0, 3 * K, from, LAYER "query.weight", K);
    rows_are(to, LAYER "group.1.mix.1.key.bias", 0, 3 * K, from, LAYER "key.bias", K);
    rows_are(to, LAYER "group.1.value.bias", 0, 3 * K, from, LAYER "value.bias", K);
    oa_tensors_close(to);
    swap("mixed", "softmax", "back", 0);
    succeed(oa_tensors_open(context, "back/model.safetensors", &to));
    rows_are(to, LAYER "query.weight", 0, 4 * K, from, LAYER "query.weight", 0);
    rows_are(to, LAYER "value.weight", 0, 4 * K, from, LAYER "value.weight", 0);
    oa_tensors_close(to);
    oa_tensors_close(from);
    remove_folder("mixed");
    remove_folder("back");
}

/* A key head for four query heads that had two: nothing is taken, and this is printed. */
static void shared_keys_that_were_not(void **state)
{
    (void)state;
    succeed(oa_import(context, GOLDEN "llama", "pairs", NULL, NULL));
    swap("pairs", "softmax(kv=1)", "one", 0);
    expect_printed("key.weight, value.weight (of another shape there)");
    expect_printed("left behind     decoder.layers.0.attention.key.weight");
    remove_folder("one");
    swap("pairs", "softmax(kv=1):2 | softmax(kv=1, gate=head)", "gated", 1);
    expect_printed("\"tensor\": \"decoder.layers.0.attention.group.1.gate.weight\"");
    expect_printed("\"because\": \"not there\"");
    remove_folder("gated");
}

static void swap_refusals(void **state)
{
    (void)state;
    assert_int_equal(oa_swap(context, "run", "sofmax", "x", NULL), OA_ARGUMENT);
    expect_failure(context, OA_ARGUMENT, "softmax");
    assert_int_not_equal(oa_swap(context, "run", "softmax:5 | local", "x", NULL), OA_OK);
    expect_failure(context, OA_ARGUMENT, "heads do not fit");
    assert_int_not_equal(oa_swap(context, "run", "softmax", "run", NULL), OA_OK);
    expect_failure(context, OA_ARGUMENT, "run/model.safetensors exists; choose another folder");
    assert_int_not_equal(oa_swap(context, "run", "raganato", "x", NULL), OA_OK);
    oa_clear_error(context);
    assert_int_not_equal(oa_swap(context, "nowhere", "softmax", "x", NULL), OA_OK);
    expect_failure(context, OA_IO, "nowhere");
    assert_int_not_equal(access("x", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_keep_their_function), cmocka_unit_test(what_is_frozen_stays_frozen),
        cmocka_unit_test(heads_not_names),           cmocka_unit_test(mixtures),
        cmocka_unit_test(shared_keys_that_were_not), cmocka_unit_test(swap_refusals),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
