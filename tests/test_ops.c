/* SPDX-License-Identifier: Apache-2.0
 * Every op's gradient against central differences, in f64: the loss is Σ weight·y with fixed random
 * weights, and each element of the input and of every parameter is moved by ±h. And the values of
 * what a Transformer has around its attention, against closed forms. Engines have their own test.
 */
#include "testing.h"

#include "ops/ops.h"

#include <math.h>
#include <string.h>

enum { ROWS = 6, COLS = 8, HEADS = 2, LENGTH = 3 };

struct fixture {
    oa_context *c;
    struct oa_device *d;
    struct oa_store store;
    oa_tape tape;
    double x[ROWS * COLS], weight[ROWS * COLS * 4];
    int32_t ids[ROWS], target[ROWS], lengths[ROWS / LENGTH];
    double cosine[LENGTH * 2], sine[LENGTH * 2];
};
typedef oa_tensor *op(struct fixture *f, oa_tensor *x);

static struct oa_parameter *parameter(struct fixture *f, const char *name, int dims, long a, long b,
                                      long e)
{
    struct oa_parameter p = { .dims = dims,
                              .dim = { a, b, e },
                              .trainable = true,
                              .matrix = true,
                              .decay = dims > 1,
                              .init = OA_INIT_NORMAL,
                              .scale = 0.7 };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(&f->store, &p);
}

static void setup(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->c = oa_open(&(struct oa_settings){ .threads = 2 });
    assert_int_equal(oa_device_open(f->c, OA_PRECISION_F64, false, &f->d), OA_OK);
    oa_store_init(&f->store, f->d);
    oa_tape_init(&f->tape, f->d);
    struct oa_stream s = oa_stream_named(3, "test");
    for (int i = 0; i < ROWS * COLS; i++)
        f->x[i] = oa_random_normal(s, (uint64_t)i);
    for (int i = 0; i < ROWS * COLS * 4; i++)
        f->weight[i] = oa_random_normal(s, (uint64_t)(1000 + i));
    for (int i = 0; i < ROWS; i++) {
        f->ids[i] = (i * 3) % 5;
        f->target[i] = i == 2 ? -1 : (i * 2) % 5;
    }
    f->lengths[0] = 2;
    f->lengths[1] = 3;
    for (int i = 0; i < LENGTH * 2; i++) {
        f->cosine[i] = cos(i);
        f->sine[i] = sin(i);
    }
    parameter(f, "w", 2, 5, COLS, 0);
    parameter(f, "b", 1, 5, 0, 0);
    parameter(f, "heads.w", 3, HEADS, 3, COLS / HEADS);
    parameter(f, "full.w", 3, HEADS, 3, COLS);
    parameter(f, "heads.b", 2, HEADS, 3, 0);
    parameter(f, "gain", 1, COLS, 0, 0);
    parameter(f, "bias", 1, COLS, 0, 0);
    parameter(f, "temperature", 1, HEADS, 0, 0);
    parameter(f, "diagonal", 2, HEADS, COLS / HEADS, 0);
    parameter(f, "position", 2, LENGTH, COLS, 0);
    assert_int_equal(oa_store_allocate(&f->store, 1, true), OA_OK);
}

static void teardown(struct fixture *f)
{
    assert_int_equal(oa_status(f->c), OA_OK);
    oa_tape_free(&f->tape);
    oa_store_free(&f->store);
    oa_device_close(f->d);
    oa_close(f->c);
}

static struct oa_parameter *get(struct fixture *f, const char *name)
{
    return oa_store_find(&f->store, name);
}

static double loss_of(struct fixture *f, op *build, oa_tensor **in, oa_tensor **out)
{
    oa_tape_reset(&f->tape, true, true, oa_stream_named(5, "step"));
    /* a copy, because some ops work in place */
    double *x = oa_tape_take(&f->tape, sizeof f->x);
    memcpy(x, f->x, sizeof f->x);
    *in = oa_tensor_from(&f->tape, x, ROWS, COLS, COLS, true);
    *out = build(f, *in);
    assert_non_null(*out);
    double sum = 0;
    for (long i = 0; i < (*out)->rows * (*out)->cols; i++)
        sum += f->weight[i] * ((double *)(*out)->data)[i];
    return sum;
}

static double moved(struct fixture *f, op *build, double *at, double h)
{
    oa_tensor *in, *out;
    double keep = *at;
    *at = keep + h;
    double up = loss_of(f, build, &in, &out);
    *at = keep - h;
    double down = loss_of(f, build, &in, &out);
    *at = keep;
    return (up - down) / (2 * h);
}

static void compare(struct fixture *f, op *build, double *values, const double *gradient, long n,
                    const char *what)
{
    for (long i = 0; i < n; i++) {
        double numeric = moved(f, build, &values[i], 1e-6);
        if (fabs(numeric - gradient[i]) > 1e-7 * (1 + fabs(numeric)))
            fail_msg("%s[%ld]: backward %.12g, differences %.12g", what, i, gradient[i], numeric);
    }
}

static void check(op *build)
{
    struct fixture f;
    setup(&f);
    oa_tensor *in, *out;
    oa_store_zero_gradients(&f.store);
    loss_of(&f, build, &in, &out);
    out->gradient =
        oa_tape_take(&f.tape, sizeof f.weight); /* a copy: some backward passes work in place */
    memcpy(out->gradient, f.weight, sizeof f.weight);
    oa_tape_backward(&f.tape);
    static double dx[ROWS * COLS], dw[4096];
    if (in->gradient)
        memcpy(dx, in->gradient, sizeof dx);
    else
        memset(dx, 0, sizeof dx);
    memcpy(dw, f.store.gradients, (size_t)f.store.updated * sizeof(double));
    compare(&f, build, f.x, dx, ROWS * COLS, "x");
    compare(&f, build, f.store.values, dw, f.store.updated, "parameters");
    teardown(&f);
}

static oa_tensor *linear(struct fixture *f, oa_tensor *x)
{
    return oa_linear(&f->tape, x, get(f, "w"), get(f, "b"));
}

static oa_tensor *head_linear_slice(struct fixture *f, oa_tensor *x)
{
    return oa_head_linear(&f->tape, x, get(f, "heads.w"), get(f, "heads.b"), true, 0);
}

static oa_tensor *head_linear_full(struct fixture *f, oa_tensor *x)
{
    return oa_head_linear(&f->tape, x, get(f, "full.w"), get(f, "heads.b"), false, 0);
}

static oa_tensor *gelu(struct fixture *f, oa_tensor *x)
{
    return oa_gelu(&f->tape, x);
}

static oa_tensor *relu(struct fixture *f, oa_tensor *x)
{
    return oa_relu(&f->tape, x);
}

static oa_tensor *elu(struct fixture *f, oa_tensor *x)
{
    return oa_feature(&f->tape, x, OA_FEATURE_ELU, 1, HEADS);
}

static oa_tensor *cosine(struct fixture *f, oa_tensor *x)
{
    return oa_feature(&f->tape, x, OA_FEATURE_COS, 1, HEADS);
}

static oa_tensor *power(struct fixture *f, oa_tensor *x)
{
    return oa_feature(&f->tape, x, OA_FEATURE_POWER, 3, HEADS);
}

static oa_tensor *rotate(struct fixture *f, oa_tensor *x)
{
    return oa_rotate(&f->tape, oa_scale_heads(&f->tape, x, HEADS, 1, NULL, NULL), LENGTH, HEADS,
                     &(struct oa_rotary){ .cosine = f->cosine, .sine = f->sine });
}

static oa_tensor *select_rows(struct fixture *f, oa_tensor *x)
{
    return oa_select_rows(&f->tape, x, LENGTH, f->lengths);
}

static oa_tensor *scale(struct fixture *f, oa_tensor *x)
{
    return oa_scale_heads(&f->tape, x, HEADS, 1.3, get(f, "temperature"), get(f, "diagonal"));
}

static struct oa_norm layer_norm(struct fixture *f, bool bias)
{
    return (struct oa_norm){ .gain = get(f, "gain"),
                             .bias = bias ? get(f, "bias") : NULL,
                             .epsilon = 1e-5 };
}

static oa_tensor *norm(struct fixture *f, oa_tensor *x)
{
    oa_tensor *sum;
    struct oa_norm norm = layer_norm(f, true);
    return oa_residual_norm_op(&f->tape, x, NULL, 0, 1, &norm, &sum);
}

/* Branch and residual both come from x, the sum goes on into a second norm: gradients add up on
 * every way. */
static oa_tensor *residual(struct fixture *f, oa_tensor *x)
{
    oa_tensor *sum, *last;
    oa_tensor *branch = oa_gelu(&f->tape, x);
    struct oa_norm first = layer_norm(f, false), second = layer_norm(f, true);
    oa_tensor *y = oa_residual_norm_op(&f->tape, x, branch, 0.4, 1, &first, &sum);
    return oa_residual_norm_op(&f->tape, sum, oa_relu(&f->tape, y), 0, 1, &second, &last);
}

static oa_tensor *embed(struct fixture *f, oa_tensor *x)
{
    (void)x;
    return oa_embed(&f->tape, f->ids, NULL, ROWS, LENGTH, 0,
                    &(struct oa_embedding_tables){
                        .table = get(f, "w"), .position = get(f, "position"), .factor = 1 },
                    0.3);
}

static oa_tensor *several(struct fixture *f, oa_tensor *x)
{
    oa_tensor *sum, *back = oa_scale_heads(&f->tape, x, HEADS, 2, NULL, get(f, "diagonal"));
    struct oa_norm norm = layer_norm(f, false);
    oa_tensor *y = oa_residual_norm_op(&f->tape, back, x, 0, 1, &norm, &sum);
    return oa_residual_norm_op(&f->tape, x, y, 0, 1, &norm, &sum);
}

static oa_tensor *rms(struct fixture *f, oa_tensor *x)
{
    oa_tensor *sum;
    struct oa_norm norm = layer_norm(f, false), plain = { .rms = true, .epsilon = 1e-3 };
    norm.rms = true;
    oa_tensor *y = oa_residual_norm_op(&f->tape, x, oa_gelu(&f->tape, x), 0.4, 0.7, &norm, &sum);
    return oa_residual_norm_op(&f->tape, sum, y, 0, 1, &plain, &sum);
}

/* A sum alone, of a branch that is scaled and dropped. */
static oa_tensor *scaled_sum(struct fixture *f, oa_tensor *x)
{
    oa_tensor *sum;
    oa_tensor *y = oa_residual_norm_op(&f->tape, x, oa_gelu(&f->tape, x), 0.4, -1.3, NULL, &sum);
    return oa_activate(&f->tape, y, OA_UNARY_SILU);
}

static oa_tensor *gated(struct fixture *f, oa_tensor *x)
{
    oa_tensor *up = oa_activate(&f->tape, x, OA_UNARY_RELU2);
    return oa_gated(&f->tape, oa_gated(&f->tape, x, up, OA_UNARY_SILU), x, OA_UNARY_GELU_EXACT);
}

/* Half of each head, as neighbours. */
static oa_tensor *rotated_pairs(struct fixture *f, oa_tensor *x)
{
    struct oa_rotary half = { f->cosine, f->sine, 2, true };
    return oa_rotate(&f->tape, oa_scale_heads(&f->tape, x, HEADS, 1, NULL, NULL), LENGTH, HEADS,
                     &half);
}

#define GRADIENT_TEST(name)                                                                        \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        check(name);                                                                               \
    }
GRADIENT_TEST(linear)
GRADIENT_TEST(head_linear_slice)
GRADIENT_TEST(head_linear_full)
GRADIENT_TEST(gelu)
GRADIENT_TEST(relu)
GRADIENT_TEST(elu)
GRADIENT_TEST(cosine)
GRADIENT_TEST(rms)
GRADIENT_TEST(scaled_sum)
GRADIENT_TEST(gated)
GRADIENT_TEST(rotated_pairs)
GRADIENT_TEST(power)
GRADIENT_TEST(rotate)
GRADIENT_TEST(select_rows)
GRADIENT_TEST(scale)
GRADIENT_TEST(norm)
GRADIENT_TEST(residual)
GRADIENT_TEST(embed)
GRADIENT_TEST(several)

/* ---- values in closed form ---- */

/* The op's output for the fixture's x. */
static const double *values_of(struct fixture *f, op *build)
{
    oa_tensor *in, *out;
    loss_of(f, build, &in, &out);
    return out->data;
}

static void assert_value(double got, double want)
{
    if (!(fabs(got - want) <= 1e-13 * (1 + fabs(want))))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* x and Φ(x) of the normal law, from tables. */
static const double phi[][2] = { { 0, 0.5 },
                                 { 0.5, 0.69146246127401310364 },
                                 { 1, 0.84134474606854294859 },
                                 { 2, 0.97724986805182079280 },
                                 { 3, 0.99865010196836990547 },
                                 { -1, 0.15865525393145705141 },
                                 { -2, 0.02275013194817920720 },
                                 { -3, 0.00134989803163009453 } };

/* Hendrycks & Gimpel 2016: x·Φ(x), of which the feed-forward layer takes the form with tanh (1 +
 * tanh u = 2σ(2u)), off by less than 5e-4, and token mixing the exact one. */
static void test_gelu_values(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    double exact[8];
    for (int i = 0; i < 8; i++)
        f.x[i] = phi[i][0];
    f.d->ops->unary(f.d, OA_UNARY_GELU_EXACT, 8, f.x, exact);
    const double *y = values_of(&f, gelu);
    for (int i = 0; i < 8; i++) {
        double x = phi[i][0], u = sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
        assert_value(exact[i], x * phi[i][1]);
        assert_value(y[i], x / (1 + exp(-2 * u)));
        assert_true(fabs(y[i] - exact[i]) < 5e-4);
    }
    teardown(&f);
}

/* A row of half +a, half −a about m has the variance a²; 1e-5 is added under the root (Ba et al.
 * 2016). */
static void test_norm_values(void **state)
{
    (void)state;
    static const double sizes[] = { 1e-4, 1e-3, 3e-3, 0.1, 1, 100 };
    struct fixture f;
    setup(&f);
    for (int i = 0; i < ROWS * COLS; i++)
        f.x[i] = 0.25 * (i / COLS) + (i % 2 ? -1 : 1) * sizes[i / COLS];
    const double *y = values_of(&f, norm), *gain = get(&f, "gain")->value,
                 *bias = get(&f, "bias")->value;
    for (int i = 0; i < ROWS * COLS; i++) {
        double a = sizes[i / COLS], unit = (i % 2 ? -1 : 1) * a / sqrt(a * a + 1e-5);
        if (!(fabs(y[i] - (gain[i % COLS] * unit + bias[i % COLS])) < 1e-11))
            fail_msg("row %d: %.15g, expected %.15g", i / COLS, y[i],
                     gain[i % COLS] * unit + bias[i % COLS]);
    }
    teardown(&f);
}

/* Channels j and j + K/2 of a head are a pair, which turns by the angle of its position: here t
 * radians for pair 0 and 2t for pair 1. A turn and its length: (1, 0) → (cos, sin), (0, 1) → (−sin,
 * cos). */
static void test_rotate_values(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    for (int i = 0; i < LENGTH * 2; i++) {
        f.cosine[i] = cos((i / 2) * (1 + i % 2));
        f.sine[i] = sin((i / 2) * (1 + i % 2));
    }
    for (int i = 0; i < ROWS * COLS; i++)
        f.x[i] = (i % COLS < 4) == (i % 4 < 2); /* head 0: (1, 0), head 1: (0, 1) */
    const double *y = values_of(&f, rotate);
    for (int t = 0; t < ROWS; t++)
        for (int j = 0; j < 2; j++) {
            double angle = (t % LENGTH) * (1 + j);
            const double *row = y + (long)t * COLS + j;
            assert_value(row[0], cos(angle));
            assert_value(row[2], sin(angle));
            assert_value(row[4], -sin(angle));
            assert_value(row[6], cos(angle));
        }
    teardown(&f);
}

static oa_tensor *embed_from_one(struct fixture *f, oa_tensor *x)
{
    (void)x;
    return oa_embed(&f->tape, f->ids, NULL, ROWS, 2, 1,
                    &(struct oa_embedding_tables){
                        .table = get(f, "w"), .position = get(f, "position"), .factor = 1 },
                    0);
}

/* Sequences of 2 tokens that begin at position 1. */
static void test_embed_values(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    const double *y = values_of(&f, embed_from_one), *w = get(&f, "w")->value,
                 *position = get(&f, "position")->value;
    for (int i = 0; i < ROWS * COLS; i++)
        assert_value(y[i], w[f.ids[i / COLS] * COLS + i % COLS] +
                               position[(1 + i / COLS % 2) * COLS + i % COLS]);
    teardown(&f);
}

/* Logits are x itself in the first columns when w is the unit matrix: −log softmax of the target,
 * summed over the rows that have one. */
static void test_loss_values(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    double *w = get(&f, "w")->value, want = 0;
    for (int i = 0; i < 5 * COLS; i++)
        w[i] = i / COLS == i % COLS;
    for (int t = 0; t < ROWS; t++) {
        double sum = 0;
        for (int k = 0; k < 5; k++)
            sum += exp(f.x[t * COLS + k]);
        want += f.target[t] < 0 ? 0 : log(sum) - f.x[t * COLS + f.target[t]];
    }
    oa_tape_reset(&f.tape, true, true, oa_stream_named(5, "step"));
    oa_tensor *in = oa_tensor_from(&f.tape, f.x, ROWS, COLS, COLS, true);
    assert_value(oa_linear_loss_op(&f.tape, in, get(&f, "w"), NULL,
                                   &(struct oa_targets){ .id = f.target, .scale = 0.1 }),
                 want); /* the scale is the gradient's */
    memset(w, 0, 5 * COLS * sizeof *w);
    assert_value(oa_linear_loss_op(&f.tape, in, get(&f, "w"), NULL,
                                   &(struct oa_targets){ .id = f.target, .scale = 1 }),
                 (ROWS - 1) * log(5));
    teardown(&f);
}

/* q = (1 − ε) at the target and ε/V everywhere: log Σ e^x − (1 − ε) x_t − ε mean x. Numbers:
 * squared differences. */
static void test_smoothed_and_squared_loss(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    double *w = get(&f, "w")->value, *bias = get(&f, "position")->value, want = 0, squares = 0,
           value[ROWS];
    for (int t = 0; t < ROWS; t++) {
        double sum = 0, mean = 0, x[5];
        for (int k = 0; k < 5; k++) {
            x[k] = bias[k];
            for (int j = 0; j < COLS; j++)
                x[k] += w[k * COLS + j] * f.x[t * COLS + j];
            sum += exp(x[k]);
            mean += x[k] / 5;
        }
        want += f.target[t] < 0 ? 0 : log(sum) - 0.7 * x[f.target[t]] - 0.3 * mean;
        value[t] = 0.5 * t;
        squares += (x[0] - value[t]) * (x[0] - value[t]);
    }
    oa_tape_reset(&f.tape, false, true, oa_stream_named(5, "step"));
    oa_tensor *in = oa_tensor_from(&f.tape, f.x, ROWS, COLS, COLS, false);
    struct oa_targets targets = { .id = f.target, .smoothing = 0.3, .scale = 1 },
                      values = { .value = value, .scale = 1 };
    assert_value(oa_linear_loss_op(&f.tape, in, get(&f, "w"), get(&f, "position"), &targets), want);
    struct oa_parameter row = *get(&f, "w");
    row.dim[0] = 1;
    assert_value(oa_linear_loss_op(&f.tape, in, &row, get(&f, "position"), &values), squares);
    teardown(&f);
}

/* The loss makes its gradients in the forward pass: checked on its own. */
static double loss_value(struct fixture *f, oa_tensor **in)
{
    oa_tape_reset(&f->tape, true, true, oa_stream_named(5, "step"));
    *in = oa_tensor_from(&f->tape, f->x, ROWS, COLS, COLS, true);
    return oa_linear_loss_op(&f->tape, *in, get(f, "w"), NULL,
                             &(struct oa_targets){ .id = f->target, .scale = 1 });
}

static void test_linear_loss(void **state)
{
    (void)state;
    struct fixture f;
    oa_tensor *in;
    setup(&f);
    oa_store_zero_gradients(&f.store);
    loss_value(&f, &in);
    double dx[ROWS * COLS], dw[5 * COLS], *w = get(&f, "w")->value;
    memcpy(dx, in->gradient, sizeof dx);
    memcpy(dw, get(&f, "w")->gradient, sizeof dw);
    for (int i = 0; i < ROWS * COLS + 5 * COLS; i++) {
        double *at = i < ROWS * COLS ? &f.x[i] : &w[i - ROWS * COLS], keep = *at, h = 1e-6;
        *at = keep + h;
        double up = loss_value(&f, &in);
        *at = keep - h;
        double down = loss_value(&f, &in);
        *at = keep;
        double got = i < ROWS * COLS ? dx[i] : dw[i - ROWS * COLS];
        assert_true(fabs((up - down) / (2 * h) - got) < 1e-8);
    }
    for (int j = 0; j < COLS; j++)
        assert_true(dx[2 * COLS + j] == 0); /* an ignored row sends nothing */
    teardown(&f);
}

/* The plan device takes exactly the memory that the CPU takes. */
static size_t memory_of_a_step(bool dry)
{
    struct fixture f;
    memset(&f, 0, sizeof f);
    f.c = oa_open(NULL);
    assert_int_equal(oa_device_open(f.c, OA_PRECISION_BF16, dry, &f.d), OA_OK);
    oa_store_init(&f.store, f.d);
    oa_tape_init(&f.tape, f.d);
    parameter(&f, "w", 2, 5, COLS, 0);
    parameter(&f, "gain", 1, COLS, 0, 0);
    assert_int_equal(oa_store_allocate(&f.store, 1, true), OA_OK);
    oa_tape_reset(&f.tape, true, true, oa_stream_named(1, "s"));
    for (int i = 0; i < ROWS; i++)
        f.target[i] = 1;
    oa_tensor *sum,
        *x = oa_embed(&f.tape, f.ids, NULL, ROWS, LENGTH, 0,
                      &(struct oa_embedding_tables){ .table = get(&f, "w"), .factor = 1 }, 0.1);
    struct oa_norm norm = layer_norm(&f, false);
    oa_tensor *y = oa_residual_norm_op(&f.tape, x, oa_gelu(&f.tape, x), 0.1, 1, &norm, &sum);
    oa_linear_loss_op(&f.tape, y, get(&f, "w"), NULL,
                      &(struct oa_targets){ .id = f.target, .scale = 1 });
    oa_tape_backward(&f.tape);
    size_t bytes = f.tape.arena.peak + f.store.arena.peak + f.d->scratch.peak;
    teardown(&f);
    return bytes;
}

static void test_plan_counts_memory(void **state)
{
    (void)state;
    assert_int_equal(memory_of_a_step(true), memory_of_a_step(false));
}

/* More than the caches have, which goes past them: whole lines or not, and nothing next to it. */
static void zero_clears_large_arrays(void **state)
{
    (void)state;
    const size_t bytes = (40 << 20) + 12, around = 64;
    for (size_t from = around; from <= around + 4; from += 4) {
        oa_context *c = oa_open(&(struct oa_settings){ .threads = 3 });
        struct oa_device *d;
        assert_int_equal(oa_device_open(c, OA_PRECISION_BF16, false, &d), OA_OK);
        char *x = oa_alloc(c, bytes + 2 * around);
        memset(x, 1, bytes + 2 * around);
        d->ops->zero(d, bytes, x + from);
        for (size_t i = 0; i < bytes + 2 * around; i++)
            if (x[i] != (i < from || i >= from + bytes))
                fail_msg("byte %zu is %d", i, x[i]);
        oa_free(x);
        oa_device_close(d);
        oa_close(c);
    }
}

/* First values of a tensor that several workers fill are the stream's, number by number, whatever
 * computes them. */
static void test_initial_values(void **state)
{
    (void)state;
    for (enum oa_precision p = OA_PRECISION_F32; p <= OA_PRECISION_F64; p++) {
        struct fixture f;
        memset(&f, 0, sizeof f);
        f.c = oa_open(&(struct oa_settings){ .threads = 3 });
        assert_int_equal(oa_device_open(f.c, p, false, &f.d), OA_OK);
        oa_store_init(&f.store, f.d);
        const struct oa_parameter *w = parameter(&f, "w", 2, 257, 201, 0);
        assert_int_equal(oa_store_allocate(&f.store, 6, false), OA_OK);
        struct oa_stream s = oa_stream_named(6, "init/w");
        for (long i = 0; i < w->count; i++) {
            double x = 0.7 * oa_random_normal(s, (uint64_t)i);
            assert_true(oa_real_get(f.d, w->value, i) == (p == OA_PRECISION_F64 ? x : (float)x));
        }
        oa_store_free(&f.store);
        oa_device_close(f.d);
        oa_close(f.c);
    }
}

/* Bytes the backward pass of a chain adds to what the forward pass took. */
static size_t backward_memory(int links)
{
    struct fixture f;
    setup(&f);
    oa_tape_reset(&f.tape, true, true, oa_stream_named(1, "s"));
    oa_tensor *y = oa_tensor_from(&f.tape, f.x, ROWS, COLS, COLS, true);
    for (int i = 0; i < links; i++)
        y = oa_gelu(&f.tape, y);
    y->gradient = f.weight;
    size_t forward = oa_arena_mark(&f.tape.arena);
    oa_tape_backward(&f.tape);
    size_t bytes = oa_arena_mark(&f.tape.arena) - forward;
    teardown(&f);
    return bytes;
}

/* Values and gradients of newer tensors are room for the gradients of older ones. */
static void test_backward_needs_no_memory(void **state)
{
    (void)state;
    assert_int_equal(backward_memory(40), backward_memory(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_head_linear_slice),
        cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_head_linear_full),
        cmocka_unit_test(test_relu),
        cmocka_unit_test(test_elu),
        cmocka_unit_test(test_cosine),
        cmocka_unit_test(test_rms),
        cmocka_unit_test(test_scaled_sum),
        cmocka_unit_test(test_gated),
        cmocka_unit_test(test_rotated_pairs),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_rotate),
        cmocka_unit_test(test_select_rows),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_embed),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_gelu_values),
        cmocka_unit_test(test_norm_values),
        cmocka_unit_test(test_rotate_values),
        cmocka_unit_test(test_embed_values),
        cmocka_unit_test(test_loss_values),
        cmocka_unit_test(test_linear_loss),
        cmocka_unit_test(test_smoothed_and_squared_loss),
        cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_plan_counts_memory),
        cmocka_unit_test(zero_clears_large_arrays),
        cmocka_unit_test(test_backward_needs_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
