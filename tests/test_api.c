/* SPDX-License-Identifier: Apache-2.0
 * The public functions as a program sees them: options, text to a sink, errors, and the attention
 * layer. */
#include "testing.h"

#include "api/commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct collected {
    char text[200000];
    size_t length;
};

static void collect(void *argument, const char *text, size_t length)
{
    struct collected *c = argument;
    assert_true(c->length + length < sizeof c->text);
    memcpy(c->text + c->length, text, length);
    c->length += length;
    c->text[c->length] = 0;
}

static struct collected seen;
static const struct oa_output output = { .sink = collect, .argument = &seen },
                              json = { .sink = collect, .argument = &seen, .json = 1 };

static const char *said(void)
{
    static char copy[sizeof seen.text];
    memcpy(copy, seen.text, seen.length + 1);
    seen.length = 0;
    seen.text[0] = 0;
    return copy;
}

static void test_options(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    oa_config *config = oa_config_new(c);
    struct oa_option o;
    int count = 0;
    for (; oa_option_describe(count, &o); count++) {
        char key[128];
        snprintf(key, sizeof key, "%s.%s", o.section, o.name);
        assert_int_equal(oa_config_get(config, key, &output), OA_OK);
        said();
        assert_int_equal(oa_config_set(config, key, o.fallback), OA_OK);
        assert_true(o.help[0] && o.fallback);
    }
    assert_true(count > 30);
    assert_false(oa_option_describe(count, &o) || oa_option_describe(-1, &o));
    assert_int_equal(oa_config_set(config, "model.layers", "7"), OA_OK);
    assert_int_equal(oa_config_get(config, "model.layers", &output), OA_OK);
    assert_string_equal(said(), "7");
    assert_int_equal(oa_config_write(config, &output), OA_OK);
    assert_non_null(strstr(said(), "layers: 7"));
    assert_int_equal(oa_config_write(config, &json), OA_OK);
    assert_non_null(strstr(said(), "\"layers\": 7"));

    const char *sentence;
    assert_int_equal(oa_config_set(config, "model.layer", "7"), OA_ARGUMENT);
    assert_int_equal(oa_last_error(c, &sentence), OA_ARGUMENT);
    assert_non_null(strstr(sentence, "model.layers"));
    /* A failure stays until it is cleared: the next call returns it and does nothing. */
    assert_int_equal(oa_doctor(c, &output), OA_ARGUMENT);
    assert_int_equal(seen.length, 0);
    oa_clear_error(c);
    assert_int_equal(oa_doctor(c, &output), OA_OK);
    assert_non_null(strstr(said(), oa_version()));
    assert_int_equal(oa_doctor(c, NULL), OA_OK);
    oa_config_free(config);
    oa_config_free(NULL);
    oa_close(c);
}

static void test_texts(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    oa_config *config = oa_config_new(c);
    const char *name, *title;
    int count = 0;
    for (; oa_mechanism_describe(count, &name, &title); count++)
        assert_true(name[0] && title[0]);
    assert_true(count >= 8);
    assert_int_equal(oa_list(c, &output), OA_OK);
    assert_non_null(strstr(said(), "softmax"));
    assert_int_equal(oa_explain(config, "random + softmax", &json), OA_OK);
    said();
    assert_int_not_equal(oa_explain(config, "sofmax", &output), OA_OK);
    assert_int_equal(seen.length, 0);
    oa_clear_error(c);
    oa_config_free(config);
    oa_close(c);
}

/* ---- the layer ---- */

enum { BATCH = 2, TOKENS = 5, WIDTH = 8, COUNT = BATCH * TOKENS * WIDTH };

static enum oa_error forward(oa_attention *a, long batch, long tokens, const int32_t *lengths,
                             const void *x, void *y)
{
    struct oa_attention_input in = { .batch = batch, .tokens = tokens, .lengths = lengths, .x = x };
    return oa_attention_forward(a, &in, y);
}

static enum oa_error step(oa_attention_state *s, long tokens, const void *x, void *y)
{
    struct oa_attention_input in = { .batch = 1, .tokens = tokens, .x = x };
    return oa_attention_step(s, &in, y);
}

static double value_of(oa_attention *a, const float *x, const float *dy, const int32_t *lengths)
{
    float y[COUNT];
    double sum = 0;
    assert_int_equal(forward(a, BATCH, TOKENS, lengths, x, y), OA_OK);
    for (int i = 0; i < COUNT; i++)
        sum += (double)y[i] * (double)dy[i];
    return sum;
}

static void fill(float *x, int count, unsigned seed)
{
    srand(seed);
    for (int i = 0; i < count; i++)
        x[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
}

/* Directional derivatives along a random direction against central differences. */
static void check_layer(oa_context *c, const char *spec, int causal)
{
    struct oa_attention_form form = {
        .width = WIDTH, .heads = 2, .length = 6, .causal = causal, .seed = 3
    };
    oa_attention *a = oa_attention_open(c, spec, &form);
    assert_non_null(a);
    const float h = 1e-2f;
    float x[COUNT], dy[COUNT], dx[COUNT], direction[COUNT], moved[COUNT];
    fill(x, COUNT, 1);
    fill(dy, COUNT, 2);
    fill(direction, COUNT, 3);
    value_of(a, x, dy, NULL);
    oa_attention_zero_gradients(a);
    assert_int_equal(oa_attention_backward(a, dy, dx, NULL), OA_OK);
    double slope = 0, scale = 0;
    for (int i = 0; i < COUNT; i++)
        slope += (double)dx[i] * (double)direction[i];
    for (int i = 0; i < COUNT; i++)
        moved[i] = x[i] + h * direction[i];
    double up = value_of(a, moved, dy, NULL);
    for (int i = 0; i < COUNT; i++)
        moved[i] = x[i] - h * direction[i];
    double down = value_of(a, moved, dy, NULL);
    assert_true(fabs((up - down) / (2 * (double)h) - slope) < 2e-2 * (1 + fabs(slope)));

    struct oa_weights w;
    for (int i = 0; oa_attention_weights(a, i, &w); i++) {
        if (!w.gradient)
            continue;
        float *value = w.value, before = value[0];
        scale = *(float *)w.gradient;
        value[0] = before + h;
        oa_attention_changed(a);
        up = value_of(a, x, dy, NULL);
        value[0] = before - h;
        oa_attention_changed(a);
        down = value_of(a, x, dy, NULL);
        value[0] = before;
        oa_attention_changed(a);
        assert_true(fabs((up - down) / (2 * (double)h) - scale) < 2e-2 * (1 + fabs(scale)));
    }
    oa_attention_close(a);
}

static void test_gradients(void **state)
{
    static const char *const specs[] = { "softmax",         "random + softmax",
                                         "dense(shared)",   "linear",
                                         "local(window=2)", "pattern(previous) | softmax",
                                         "orthogonal" };
    (void)state;
    oa_context *c = oa_open(NULL);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        check_layer(c, specs[i], 1);
    oa_close(c);
}

static void test_padding(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_attention_form form = { .width = WIDTH, .heads = 2, .length = TOKENS };
    oa_attention *a = oa_attention_open(c, "softmax", &form);
    const int32_t lengths[BATCH] = { 3, 5 };
    float x[COUNT], dirty[COUNT], y[COUNT], z[COUNT];
    fill(x, COUNT, 1);
    memcpy(dirty, x, sizeof x);
    for (int i = 3 * WIDTH; i < TOKENS * WIDTH; i++)
        dirty[i] = NAN;
    assert_int_equal(forward(a, BATCH, TOKENS, lengths, x, y), OA_OK);
    assert_int_equal(forward(a, BATCH, TOKENS, lengths, dirty, z), OA_OK);
    assert_memory_equal(y, z, sizeof y);
    for (int i = 3 * WIDTH; i < TOKENS * WIDTH; i++)
        assert_true(y[i] == 0);
    oa_attention_close(a);
    oa_close(c);
}

/* Weights of (0.001)^16 and less are no numbers of single precision. */
static void test_tiny_weights(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_attention_form form = { .width = WIDTH, .heads = 2, .length = TOKENS, .causal = 1 };
    oa_attention *a = oa_attention_open(c, "polynomial(degree=16)", &form);
    float x[COUNT], y[COUNT], dx[COUNT];
    fill(x, COUNT, 1);
    for (int i = 0; i < COUNT; i++)
        x[i] *= (float)pow(0.1, i % (TOKENS * WIDTH) / WIDTH);
    assert_int_equal(forward(a, BATCH, TOKENS, NULL, x, y), OA_OK);
    assert_int_equal(oa_attention_backward(a, y, dx, NULL), OA_OK);
    for (int i = 0; i < COUNT; i++)
        assert_true(isfinite(y[i]) && isfinite(dx[i]));
    oa_attention_close(a);
    oa_close(c);
}

static void test_misuse(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_attention_form form = { .width = WIDTH, .heads = 2, .length = TOKENS };
    static const char *const bad[] = { "sofmax", "softmax ; linear", "random(frozen" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(oa_attention_open(c, bad[i], &form));
        assert_int_not_equal(oa_last_error(c, NULL), OA_OK);
        oa_clear_error(c);
    }
    struct oa_attention_form odd = { .width = WIDTH, .heads = 3, .length = TOKENS };
    assert_null(oa_attention_open(c, "softmax", &odd));
    oa_clear_error(c);
    float x[COUNT] = { 0 };
    oa_attention *a = oa_attention_open(c, "softmax", &form);
    assert_int_equal(oa_attention_backward(a, x, NULL, NULL), OA_ARGUMENT);
    oa_clear_error(c);
    assert_int_equal(forward(a, 1, TOKENS + 1, NULL, x, x), OA_SHAPE);
    oa_clear_error(c);
    assert_int_equal(forward(a, 1, 1, NULL, x, x), OA_OK);
    assert_int_equal(oa_attention_backward(a, x, NULL, NULL), OA_OK);
    assert_int_equal(oa_attention_backward(a, x, NULL, NULL), OA_ARGUMENT);
    oa_attention_close(a);
    oa_attention_close(NULL);
    oa_close(c);
    oa_close(NULL);
}

/* Steps and chunks are the rows of the whole, between forward and backward calls of the layer, and
 * on a branch. */
static void check_steps(oa_context *c, const char *spec)
{
    struct oa_attention_form form = {
        .width = WIDTH, .heads = 2, .length = TOKENS, .causal = 1, .seed = 3
    };
    oa_attention *a = oa_attention_open(c, spec, &form);
    oa_attention_state *s = oa_attention_state_open(a), *branch = oa_attention_state_open(a);
    float x[COUNT], y[COUNT], z[COUNT];
    fill(x, COUNT, 1);
    assert_int_equal(forward(a, 1, TOKENS, NULL, x, y), OA_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(step(s, 2, x, z), OA_OK);
        assert_int_equal(oa_attention_state_copy(s, branch), OA_OK);
        assert_int_equal(step(s, 1, x, z + (size_t)2 * WIDTH), OA_OK); /* another third token */
        for (long t = 2; t < TOKENS; t++)
            assert_int_equal(step(branch, 1, x + t * WIDTH, z + t * WIDTH), OA_OK);
        for (int i = 0; i < TOKENS * WIDTH; i++)
            assert_true(fabsf(y[i] - z[i]) <= 1e-5F * (1 + fabsf(y[i])));
        oa_attention_state_reset(s);
    }
    assert_int_equal(step(branch, 1, x, z), OA_SHAPE);
    oa_clear_error(c);
    assert_int_equal(oa_attention_backward(a, y, NULL, NULL), OA_OK);
    oa_attention_state_close(branch);
    oa_attention_state_close(s);
    oa_attention_state_close(NULL);
    oa_attention_close(a);
}

static void test_steps(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    check_steps(c, "softmax");
    check_steps(c, "linear:1 | random + softmax:1");
    struct oa_attention_form form = { .width = WIDTH, .heads = 2, .length = TOKENS };
    oa_attention *a = oa_attention_open(c, "softmax", &form);
    assert_null(oa_attention_state_open(a));
    const char *sentence;
    assert_int_equal(oa_last_error(c, &sentence), OA_UNSUPPORTED);
    assert_non_null(strstr(sentence, "needs causal self-attention"));
    oa_attention_close(a);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),      cmocka_unit_test(test_texts),
        cmocka_unit_test(test_gradients),    cmocka_unit_test(test_padding),
        cmocka_unit_test(test_tiny_weights), cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
