/* SPDX-License-Identifier: Apache-2.0
 * FLOPs and bytes of a training step, operation by operation, against sums that are written out
 * here for a small model: a multiply-add is two FLOPs, a softmax five a logit, and each operand is
 * read or written once. */
#include "testing.h"

#include "train/step_side.h"

enum {
    LAYERS = 2,
    D = 8,
    H = 2,
    K = D / H,
    T = 6,
    ROWS = 3,
    VOCABULARY = 11,
    F = 4 * D,
    N = ROWS * T
};

static double no_seconds(void)
{
    return 0;
}

struct counted {
    oa_context *c;
    struct oa_options o;
    struct oa_step_side side;
    double act, real; /* bytes */
};

/* block: options of the model, key=value, or NULL */
static void count_block(struct counted *x, const char *attention, enum oa_precision precision,
                        const char *const *block)
{
    struct oa_model_form form = oa_language_model_form(VOCABULARY);
    struct oa_step_clocks clocks;
    *x = (struct counted){ .c = oa_open(&(struct oa_settings){ .threads = 1 }),
                           .act = precision == OA_PRECISION_BF16  ? 2
                                  : precision == OA_PRECISION_F64 ? 8
                                                                  : 4,
                           .real = precision == OA_PRECISION_F64 ? 8 : 4 };
    oa_options_default(&x->o);
    x->o.model_layers = LAYERS;
    x->o.model_width = D;
    x->o.model_heads = H;
    x->o.model_context = T;
    x->o.train_batch = ROWS;
    x->o.train_precision = precision;
    snprintf(x->o.model_attention, sizeof x->o.model_attention, "%s", attention);
    for (; block && *block; block += 2)
        assert_int_equal(oa_options_set(x->c, &x->o, block[0], block[1]), OA_OK);
    struct oa_step_shape shape = oa_language_model_step_shape(&x->o);
    assert_int_equal(oa_step_side_open(x->c, &x->o, &form, true, no_seconds, &x->side), OA_OK);
    oa_step_side_run(&x->side, &x->o, &shape.typical, 1, &clocks);
}

static void count_step(struct counted *x, const char *attention, enum oa_precision precision)
{
    count_block(x, attention, precision, NULL);
}

static void close_counted(struct counted *x)
{
    oa_step_side_close(&x->side);
    oa_close(x->c);
}

/* backward: −1 both. */
static void expect_counts(const struct counted *x, const char *op, const char *place, int backward,
                          double flops, double bytes)
{
    double f = 0, b = 0;
    for (int i = 0; i < x->side.meter.rows; i++) {
        const struct oa_metered *r = &x->side.meter.row[i];
        if (strcmp(r->op, op) != 0 || (place && strcmp(r->place, place) != 0) ||
            (backward >= 0 && r->backward != backward))
            continue;
        f += r->flops;
        b += r->bytes;
    }
    if (f != flops || b != bytes)
        fail_msg("%s of %s at %s, backward %d: %.17g FLOPs instead of %.17g, %.17g bytes instead "
                 "of %.17g",
                 op, x->o.model_attention, place ? place : "all places", backward, f, flops, b,
                 bytes);
}

/* Keys that causal queries see in all, one by one: those of the last `window` positions, the
 * query's own among them. */
static double pairs_seen(int window)
{
    double pairs = 0;
    for (int row = 0; row < ROWS; row++)
        for (int head = 0; head < H; head++)
            for (int i = 0; i < T; i++)
                for (int j = 0; j <= i; j++)
                    pairs += i - j < window;
    return pairs;
}

/* Of x [m, k] times weights [k, n]: products forward; backward dX = dY·Wᵀ, and dW, in real, added
 * to what is there. */
static void expect_linears(const struct counted *x, const char *place, int count,
                           const int sizes[][2])
{
    double flops = 0, forward = 0, backward = 0;
    for (int i = 0; i < count; i++) {
        double k = sizes[i][0], n = sizes[i][1];
        flops += LAYERS * 2.0 * N * k * n;
        forward += LAYERS * x->act * (N * k + k * n + N * n);
        backward += LAYERS * (x->act * (N * n + k * n + N * k) + x->act * (N * n + N * k) +
                              2 * x->real * k * n);
    }
    expect_counts(x, "gemm", place, 0, flops, forward);
    expect_counts(x, "gemm", place, 1, 2 * flops, backward);
}

/* What is the same for every attention. */
static void expect_rest(const struct counted *x)
{
    static const int ffn[][2] = { { D, F }, { F, D } };
    double n = (double)N * D, hidden = (double)N * F, v = VOCABULARY, logits = N * v;
    expect_linears(x, "ffn", 2, ffn);
    expect_counts(x, "embed", NULL, -1, n, x->act * n + x->real * n);
    expect_counts(x, "gelu", NULL, -1, LAYERS * hidden, LAYERS * 2 * x->act * hidden);
    expect_counts(x, "gelu_gradient", NULL, -1, LAYERS * hidden, LAYERS * 3 * x->act * hidden);
    /* x, branch → sum, normalised; the first has no branch */
    expect_counts(x, "residual_norm", NULL, -1, (2 * LAYERS + 1) * 8 * n,
                  x->act * n * (4 * 2 * LAYERS + 2));
    /* logits; softmax, read and written once; dX; dW of the embedding, in real and added to */
    double bytes = x->act * (n + v * D) + x->real * logits + 2 * x->real * logits +
                   x->act * (logits + v * D + n) + x->act * (logits + n) + 2 * x->real * v * D;
    expect_counts(x, "linear_loss", NULL, -1, 3 * 2 * n * v + 5 * logits, bytes);
}

/* Parameters and what updates them: w, m and v are read and written, g is read; bf16 has a copy of
 * w besides. Matrices begin at multiples of what is in a line of the cache, so that some numbers
 * are nobody's. */
static void expect_optimiser(const struct counted *x, double parameters)
{
    const struct oa_store *s = &x->side.model->store;
    assert_true((double)s->trainable == parameters);
    double updated = 0;
    for (int i = 0; i < x->side.meter.rows; i++)
        if (strcmp(x->side.meter.row[i].op, "adamw") == 0)
            updated += x->side.meter.row[i].flops / 15;
    assert_true(updated >= parameters && updated < parameters + 16 * (8 * LAYERS + 4));
    double copy = x->act < x->real ? x->act : 0;
    expect_counts(x, "adamw", NULL, -1, 15 * updated, (7 * x->real + copy) * updated);
    expect_counts(x, "sum_squares", NULL, -1, 2 * updated, x->real * updated);
    expect_counts(x, "zero", "optimiser", -1, 0, x->real * updated);
}

static const double others =
    VOCABULARY * D + T * D + LAYERS * (2 * D * F + 2 * D) + D; /* than those of attentions */
static const enum oa_precision precisions[] = { OA_PRECISION_F32, OA_PRECISION_BF16,
                                                OA_PRECISION_F64 };

/* Backward: P once more; dP, dV, dQ and dK; the operands once, their gradients, and the sums. */
static void expect_logits(const struct counted *x, double pairs, double score_flops,
                          double operands)
{
    double forward = pairs * (score_flops + 5 + 2 * K);
    expect_counts(x, "logits", "attention", 0, LAYERS * forward, LAYERS * operands);
    expect_counts(x, "logits_gradient", "attention", 1,
                  LAYERS * (forward + pairs * (2 * score_flops + 5 + 2 * 2 * K)),
                  LAYERS * 2.5 * operands);
}

static void softmax_and_its_windows_are_counted(void **state)
{
    static const struct {
        const char *attention;
        int window;
    } attentions[] = { { "softmax", T },
                       { "local(window=2)", 2 },
                       { "local(window=4)", 4 },
                       { "local(window=1)", 1 } };
    static const int projections[][2] = { { D, D }, { D, D }, { D, D }, { D, D } };
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct counted x;
        count_step(&x, attentions[i / 3].attention, precisions[i % 3]);
        expect_rest(&x);
        expect_linears(&x, "attention", 4, projections);
        expect_logits(&x, pairs_seen(attentions[i / 3].window), 2 * K,
                      x.act * 4 * N * D); /* Q, K, V, O */
        expect_optimiser(&x, others + LAYERS * 4 * D * D);
        close_counted(&x);
    }
}

/* The random synthesizer: logits are a table [T, T] a head. */
static void random_tables_are_counted(void **state)
{
    static const int projections[][2] = { { D, D }, { D, D } };
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct counted x;
        count_step(&x, "random", precisions[i]);
        expect_rest(&x);
        expect_linears(&x, "attention", 2, projections);
        /* One map for the whole batch: softmax once a head, and the values of every sequence. */
        double pairs = pairs_seen(T), once = pairs / ROWS,
               operands = x.act * 2 * N * D + x.real * H * T * T;
        expect_counts(&x, "logits", "attention", 0, LAYERS * (5 * once + 2 * K * pairs),
                      LAYERS * operands);
        expect_counts(&x, "logits_gradient", "attention", 1,
                      LAYERS * (2 * 5 * once + (2 + 4) * K * pairs), LAYERS * 2.5 * operands);
        expect_optimiser(&x, others + LAYERS * (2 * D * D + H * T * T));
        close_counted(&x);
    }
}

/* φ(x) = elu(x) + 1 of queries and keys; the state is [K, K + 1]. Chunks are counted as of 64
 * tokens. */
static void linear_attention_is_counted(void **state)
{
    static const int projections[][2] = { { D, D }, { D, D }, { D, D }, { D, D } };
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct counted x;
        count_step(&x, "linear", precisions[i]);
        double n = (double)N * D, forward = (double)N * H * (4 * K * (K + 1) + 64 * (K + K));
        expect_rest(&x);
        expect_linears(&x, "attention", 4, projections);
        expect_counts(&x, "feature", "attention", 0, LAYERS * 2 * n, LAYERS * 2 * 2 * x.act * n);
        expect_counts(&x, "feature_gradient", "attention", 1, LAYERS * 2 * n,
                      LAYERS * 2 * 3 * x.act * n);
        expect_counts(&x, "linear_attention", "attention", 0, LAYERS * forward,
                      LAYERS * x.act * 4 * n);
        expect_counts(&x, "linear_attention_gradient", "attention", 1, LAYERS * 2.5 * forward,
                      LAYERS * 2.5 * x.act * 4 * n);
        expect_optimiser(&x, others + LAYERS * 4 * D * D);
        close_counted(&x);
    }
}

/* State updates in chunks, here of all T tokens, a multiply-add each: Q·Kᵀ and its product with the
 * vectors that tokens add, Q·S and Kᵀ·U; the delta rule has K·Kᵀ, the solution of a triangle by
 * half of its products, and K·S besides. The gradient is three times that. */
static void state_updates_are_counted(void **state)
{
    (void)state;
    for (int delta = 0; delta < 2; delta++)
        for (int i = 0; i < 3; i++) {
            struct counted x;
            count_step(&x,
                       delta ? "linear(map=unit, update=delta)" : "linear(map=unit, decay=fixed)",
                       precisions[i]);
            double plain = 2 * T * K + 2 * T * K + 2 * K * K + 2 * K * K,
                   more = 2 * T * K + T * K + 2 * K * K,
                   forward = (double)N * H * (plain + (delta ? more : 0)),
                   bytes = x.act * N * (4 * D + (delta ? H : 0)); /* Q, K, V, O, β */
            expect_counts(&x, "recurrence", "attention", 0, LAYERS * forward, LAYERS * bytes);
            expect_counts(&x, "recurrence_gradient", "attention", 1, LAYERS * 3 * forward,
                          LAYERS * 2.5 * bytes);
            close_counted(&x);
        }
}

/* A Llama block with caps: root mean square norm (4 and 9 FLOPs an element), SwiGLU (2 and 4), half
 * of each head turned, an output layer of its own; a cap takes 3 FLOPs, and 3 more backward. */
static void a_block_of_another_kind_is_counted(void **state)
{
    static const char *const block[] = { "model.norm_kind",
                                         "rms",
                                         "model.activation",
                                         "silu",
                                         "model.ffn_gate",
                                         "true",
                                         "model.position",
                                         "rotary",
                                         "model.rotary_share",
                                         "0.5",
                                         "model.tie_output",
                                         "false",
                                         "model.logit_cap",
                                         "30",
                                         "model.output_cap",
                                         "15",
                                         NULL };
    static const int ffn[][2] = { { D, F }, { D, F }, { F, D } };
    static const int projections[][2] = { { D, D }, { D, D }, { D, D }, { D, D } };
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct counted x;
        count_block(&x, "softmax", precisions[i], block);
        double n = (double)N * D, hidden = (double)N * F, v = VOCABULARY, logits = N * v;
        expect_linears(&x, "ffn", 3, ffn);
        expect_linears(&x, "attention", 4, projections);
        expect_counts(&x, "silu_gated", NULL, 0, LAYERS * 2 * hidden, LAYERS * 3 * x.act * hidden);
        expect_counts(&x, "silu_gated_gradient", NULL, 1, LAYERS * 4 * hidden,
                      LAYERS * 5 * x.act * hidden);
        expect_counts(&x, "residual_norm", NULL, -1, (2 * LAYERS + 1) * 4 * n,
                      x.act * n * (4 * 2 * LAYERS + 2));
        expect_counts(&x, "residual_norm_gradient", NULL, -1, (2 * LAYERS + 1) * 9 * n,
                      x.act * n * (5 * 2 * LAYERS + 4));
        expect_counts(&x, "rotate", NULL, -1, LAYERS * 2 * 2 * n / 2, LAYERS * 2 * 2 * x.act * n);
        double bytes = x.act * (n + v * D) + x.real * logits + 2 * x.real * logits +
                       x.act * (logits + v * D + n) + x.act * (logits + n) + 2 * x.real * v * D;
        expect_counts(&x, "linear_loss", NULL, -1, 3 * 2 * n * v + 11 * logits, bytes);
        double pairs = pairs_seen(T), forward = pairs * (2 * K + 5 + 3 + 2 * K);
        expect_counts(&x, "logits", "attention", 0, LAYERS * forward, LAYERS * x.act * 4 * n);
        expect_counts(&x, "logits_gradient", "attention", 1,
                      LAYERS * (forward + pairs * (2 * 2 * K + 5 + 3 + 2 * 2 * K)),
                      LAYERS * 2.5 * x.act * 4 * n);
        expect_optimiser(&x, 2 * VOCABULARY * D + LAYERS * (3 * D * F + 2 * D + 4 * D * D) + D);
        close_counted(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_and_its_windows_are_counted),
        cmocka_unit_test(random_tables_are_counted),
        cmocka_unit_test(linear_attention_is_counted),
        cmocka_unit_test(state_updates_are_counted),
        cmocka_unit_test(a_block_of_another_kind_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
