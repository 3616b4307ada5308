/* SPDX-License-Identifier: Apache-2.0
 * Stacks of blocks: an encoder and a decoder that reads it, against plain loops; for every
 * mechanism that padding says nothing, that a decoder with a memory gives token by token what it
 * gives at once; and gradients through both stacks against differences. All in f64. */
#include "testing.h"

#include "model/stack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BATCH = 3,
    LENGTH = 9,
    MEMORY = 7,
    WIDTH = 8,
    HEADS = 2,
    HEAD = WIDTH / HEADS,
    FFN = 12,
    LAYERS = 2,
    WORDS = 5
};

static oa_context *context;
static struct oa_device *device;

/* An encoder over MEMORY tokens and a decoder over LENGTH. */
struct pair {
    struct oa_spec self[2], cross; /* of the encoder, of the decoder */
    struct oa_store store;
    struct oa_stack encoder, decoder;
    struct oa_parameter *table; /* [WORDS, WIDTH]: the output layer */
    oa_tape tape;
    double source[BATCH * MEMORY * WIDTH], target[BATCH * LENGTH * WIDTH];
    int32_t lengths[BATCH];
};

static void fill(double *x, long n, uint64_t seed)
{
    struct oa_stream s = oa_stream_named(seed, "test_stack");
    for (long i = 0; i < n; i++)
        x[i] = oa_random_normal(s, (uint64_t)i);
}

/* Values that no reading of the initial ones alone would get right: scales are not 1, shifts not 0.
 */
static void disturb(struct oa_store *s)
{
    for (int i = 0; i < s->count; i++) {
        struct oa_parameter *p = s->parameter[i];
        double *x = p->value;
        struct oa_stream stream = oa_stream_named((uint64_t)i, "disturbed");
        for (long k = 0; p->trainable && k < p->count; k++)
            x[k] += 0.3 * oa_random_normal(stream, (uint64_t)k);
    }
    oa_store_refresh(s);
}

/* false: these cannot be what they should be here; the sentence is forgotten. */
static bool open_pair(struct pair *p, const char *encoder, const char *decoder, const char *cross)
{
    struct oa_stack_shape e = { .role = "encoder",
                                .attention = &p->self[0],
                                .layers = LAYERS,
                                .width = WIDTH,
                                .heads = HEADS,
                                .ffn = FFN,
                                .length = MEMORY,
                                .bias = OA_BIASES_ALL,
                                .epsilon = 1e-5,
                                .gain = true,
                                .first_norm = true,
                                .residual_scale = 1 };
    struct oa_stack_shape d = e;
    d.role = "decoder";
    d.attention = &p->self[1];
    d.cross = &p->cross;
    d.length = LENGTH;
    d.memory_length = MEMORY;
    d.causal = true;
    memset(p, 0, sizeof *p);
    oa_store_init(&p->store, device);
    oa_tape_init(&p->tape, device);
    oa_spec_parse(context, encoder, &p->self[0]);
    oa_spec_parse(context, decoder, &p->self[1]);
    oa_spec_parse(context, cross, &p->cross);
    assert_int_equal(oa_status(context), OA_OK);
    p->table = oa_add_matrix(&p->store, "table", WORDS, WIDTH, 1);
    if (oa_stack_open(context, &e, &p->store, &p->encoder) == OA_OK &&
        oa_stack_open(context, &d, &p->store, &p->decoder) == OA_OK) {
        assert_int_equal(oa_store_allocate(&p->store, 5, true), OA_OK);
        disturb(&p->store);
    }
    fill(p->source, BATCH * MEMORY * WIDTH, 1);
    fill(p->target, BATCH * LENGTH * WIDTH, 2);
    memcpy(p->lengths, (int32_t[]){ MEMORY, 4, 1 }, sizeof p->lengths);
    bool good = oa_status(context) == OA_OK;
    oa_clear_error(context);
    return good;
}

static void close_pair(struct pair *p)
{
    oa_stack_close(&p->encoder);
    oa_stack_close(&p->decoder);
    for (int i = 0; i < 2; i++)
        oa_spec_free(&p->self[i]);
    oa_spec_free(&p->cross);
    oa_tape_free(&p->tape);
    oa_store_free(&p->store);
}

static oa_tensor *encode(struct pair *p, const double *x, long batch, long length,
                         const int32_t *lengths)
{
    struct oa_stack_input in = { .x = oa_tensor_from(&p->tape, x, batch * length, WIDTH, WIDTH,
                                                     true),
                                 .batch = batch,
                                 .length = length,
                                 .lengths = lengths };
    oa_tensor *y = oa_stack_forward(&p->tape, &p->encoder, &in);
    if (oa_status(context) != OA_OK) {
        const char *sentence;
        oa_last_error(context, &sentence);
        fail_msg("%s", sentence);
    }
    return y;
}

static oa_tensor *decode(struct pair *p, oa_tensor *memory, long first, long batch, long length,
                         const struct oa_stack_state *state)
{
    struct oa_stack_input in = { .x = oa_tensor_from(&p->tape, p->target + first * WIDTH,
                                                     batch * length, WIDTH, WIDTH, true),
                                 .memory = memory,
                                 .batch = batch,
                                 .length = length,
                                 .memory_length = MEMORY,
                                 .memory_lengths = p->lengths,
                                 .state = state };
    oa_tensor *y = oa_stack_forward(&p->tape, &p->decoder, &in);
    if (oa_status(context) != OA_OK) {
        const char *sentence;
        oa_last_error(context, &sentence);
        fail_msg("%s", sentence);
    }
    return y;
}

static void reset(struct pair *p, bool record)
{
    oa_tape_reset(&p->tape, record, false, (struct oa_stream){ 0 });
}

/* ---- plain loops
 * ------------------------------------------------------------------------------------------------
 */

static const double *value(const struct pair *p, const char *prefix, const char *name)
{
    char whole[160];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    const struct oa_parameter *q = oa_store_find(&p->store, whole);
    if (!q)
        fail_msg("%s is missing", whole);
    return q->value;
}

static void plain_norm(const struct pair *p, const char *prefix, const char *name, long rows,
                       const double *x, double *y)
{
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const double *scale = value(p, prefix, weight), *shift = value(p, prefix, bias);
    for (long r = 0; r < rows; r++) {
        double mean = 0, variance = 0;
        for (long i = 0; i < WIDTH; i++)
            mean += x[r * WIDTH + i] / WIDTH;
        for (long i = 0; i < WIDTH; i++)
            variance += pow(x[r * WIDTH + i] - mean, 2) / WIDTH;
        for (long i = 0; i < WIDTH; i++)
            y[r * WIDTH + i] =
                (x[r * WIDTH + i] - mean) / sqrt(variance + 1e-5) * scale[i] + shift[i];
    }
}

static void plain_linear(const struct pair *p, const char *prefix, const char *name, long rows,
                         long in, long out, const double *x, double *y)
{
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const double *w = value(p, prefix, weight), *b = value(p, prefix, bias);
    for (long r = 0; r < rows; r++)
        for (long o = 0; o < out; o++) {
            y[r * out + o] = b[o];
            for (long i = 0; i < in; i++)
                y[r * out + o] += w[o * in + i] * x[r * in + i];
        }
}

/* softmax(q kᵀ/√K) v of one head of one sequence, written into its columns of o. */
static void plain_head(long h, long queries, long keys, bool causal, const double *q,
                       const double *k, const double *v, double *o)
{
    for (long i = 0; i < queries; i++) {
        double weight[LENGTH], sum = 0;
        long seen = causal ? i + 1 : keys;
        for (long j = 0; j < seen; j++) {
            double s = 0;
            for (long c = h * HEAD; c < (h + 1) * HEAD; c++)
                s += q[i * WIDTH + c] * k[j * WIDTH + c];
            sum += weight[j] = exp(s / sqrt(HEAD));
        }
        for (long c = h * HEAD; c < (h + 1) * HEAD; c++) {
            o[i * WIDTH + c] = 0;
            for (long j = 0; j < seen; j++)
                o[i * WIDTH + c] += weight[j] / sum * v[j * WIDTH + c];
        }
    }
}

/* Adds to x what attention to `memory` (itself: normed) makes of normed x. */
static void plain_attention(const struct pair *p, const char *prefix, const char *norm,
                            const char *attention, long n, const double *memory, long m,
                            bool causal, double *x)
{
    double y[LENGTH * WIDTH], q[LENGTH * WIDTH], k[LENGTH * WIDTH], v[LENGTH * WIDTH],
        o[LENGTH * WIDTH];
    char inner[96];
    snprintf(inner, sizeof inner, "%s%s.", prefix, attention);
    plain_norm(p, prefix, norm, n, x, y);
    plain_linear(p, inner, "query", n, WIDTH, WIDTH, y, q);
    plain_linear(p, inner, "key", m, WIDTH, WIDTH, memory ? memory : y, k);
    plain_linear(p, inner, "value", m, WIDTH, WIDTH, memory ? memory : y, v);
    for (long h = 0; h < HEADS; h++)
        plain_head(h, n, m, causal, q, k, v, o);
    plain_linear(p, inner, "output", n, WIDTH, WIDTH, o, y);
    for (long i = 0; i < n * WIDTH; i++)
        x[i] += y[i];
}

static void plain_feed_forward(const struct pair *p, const char *prefix, long n, double *x)
{
    double y[LENGTH * WIDTH], hidden[LENGTH * FFN];
    plain_norm(p, prefix, "ffn_norm", n, x, y);
    plain_linear(p, prefix, "ffn.in", n, WIDTH, FFN, y, hidden);
    for (long i = 0; i < n * FFN; i++) {
        double z = hidden[i];
        hidden[i] = z / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (z + 0.044715 * z * z * z)));
    }
    plain_linear(p, prefix, "ffn.out", n, FFN, WIDTH, hidden, y);
    for (long i = 0; i < n * WIDTH; i++)
        x[i] += y[i];
}

/* x becomes what the stack makes of one sequence of n rows. */
static void plain_stack(const struct pair *p, const char *role, const double *memory, long m,
                        long n, double *x)
{
    char prefix[64];
    bool decoder = memory;
    for (int layer = 0; layer < LAYERS; layer++) {
        snprintf(prefix, sizeof prefix, "%s.layers.%d.", role, layer);
        plain_attention(p, prefix, "attention_norm", "attention", n, NULL, n, decoder, x);
        if (decoder)
            plain_attention(p, prefix, "cross_norm", "cross_attention", n, memory, m, false, x);
        plain_feed_forward(p, prefix, n, x);
    }
    snprintf(prefix, sizeof prefix, "%s.", role);
    double y[LENGTH * WIDTH];
    plain_norm(p, prefix, "norm", n, x, y);
    memcpy(x, y, (size_t)(n * WIDTH) * sizeof *x);
}

static void assert_rows(const char *what, const double *a, const double *b, long rows,
                        double tolerance)
{
    for (long i = 0; i < rows * WIDTH; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i]))))
            fail_msg("%s, row %ld: %.17g where it must be %.17g", what, i / WIDTH, a[i], b[i]);
}

static void stacks_equal_plain_loops(void **state)
{
    static struct pair p;
    (void)state;
    assert_true(open_pair(&p, "softmax", "softmax", "softmax"));
    reset(&p, false);
    oa_tensor *memory = encode(&p, p.source, BATCH, MEMORY, p.lengths),
              *y = decode(&p, memory, 0, BATCH, LENGTH, NULL);
    for (long b = 0; b < BATCH; b++) {
        double e[LENGTH * WIDTH], d[LENGTH * WIDTH];
        long m = p.lengths[b];
        memcpy(e, p.source + b * MEMORY * WIDTH, (size_t)(m * WIDTH) * sizeof *e);
        memcpy(d, p.target + b * LENGTH * WIDTH, sizeof d);
        plain_stack(&p, "encoder", NULL, 0, m, e);
        plain_stack(&p, "decoder", e, m, LENGTH, d);
        assert_rows("encoder", (const double *)memory->data + b * MEMORY * WIDTH, e, m, 1e-12);
        assert_rows("decoder", (const double *)y->data + b * LENGTH * WIDTH, d, LENGTH, 1e-12);
    }
    close_pair(&p);
}

/* Deviations of first values: 1/inputs, and of what writes to the residual stream, 1/branches. */
static void initial_values_follow_the_branches(void **state)
{
    static struct pair p;
    (void)state;
    assert_true(open_pair(&p, "softmax", "softmax", "softmax"));
    double two = oa_store_find(&p.store, "encoder.layers.1.ffn.out.weight")->scale;
    double three = oa_store_find(&p.store, "decoder.layers.1.ffn.out.weight")->scale;
    assert_true(fabs(two - 1 / sqrt(2 * LAYERS * FFN)) < 1e-15);
    assert_true(fabs(three - 1 / sqrt(3 * LAYERS * FFN)) < 1e-15);
    assert_true(fabs(oa_store_find(&p.store, "decoder.layers.0.ffn.in.weight")->scale -
                     1 / sqrt(WIDTH)) < 1e-15);
    close_pair(&p);
}

/* ---- padding
 * ----------------------------------------------------------------------------------------------------
 */

/* Rows of real tokens, with NaN in the padding of the input, are those of each sequence alone. */
static void check_padding(struct pair *p, const char *name)
{
    double together[BATCH * MEMORY * WIDTH];
    double *source = p->source;
    for (long b = 0; b < BATCH; b++)
        for (long i = p->lengths[b] * WIDTH; i < MEMORY * WIDTH; i++)
            source[b * MEMORY * WIDTH + i] = NAN;
    reset(p, false);
    memcpy(together, encode(p, source, BATCH, MEMORY, p->lengths)->data, sizeof together);
    for (long b = 0; b < BATCH; b++) {
        reset(p, false);
        const double *alone = encode(p, source + b * MEMORY * WIDTH, 1, p->lengths[b], NULL)->data;
        assert_rows(name, together + b * MEMORY * WIDTH, alone, p->lengths[b], 1e-9);
    }
}

static void padding_changes_no_result(void **state)
{
    static struct pair p;
    const struct oa_mechanism *m;
    int tried = 0;
    (void)state;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        char spec[96];
        /* a mixture needs components, a layout a choice of one, sets of keys blocks that fit into a
         * short sequence */
        snprintf(spec, sizeof spec, "%s",
                 strcmp(m->name, "mix") == 0            ? "softmax + random"
                 : strcmp(m->name, "block-sparse") == 0 ? "block-sparse(block=2, from=local)"
                 : strcmp(m->name, "bigbird") == 0      ? "bigbird(block=2, random=1)"
                                                        : m->name);
        if (open_pair(&p, spec, "softmax", "softmax")) {
            check_padding(&p, m->name);
            tried++;
        }
        close_pair(&p);
    }
    assert_int_equal(tried, 25);
}

/* ---- token by token
 * --------------------------------------------------------------------------------------------- */

/* The states of a decoder read the memory of sequence b once, and then know it. */
static void check_steps(struct pair *p, const char *name, long b)
{
    double whole[LENGTH * WIDTH], memory[MEMORY * WIDTH];
    struct oa_stack_state state;
    int32_t *lengths = p->lengths;
    int32_t all[BATCH];
    memcpy(all, lengths, sizeof all);
    reset(p, false);
    memcpy(memory, encode(p, p->source + b * MEMORY * WIDTH, 1, MEMORY, &all[b])->data,
           sizeof memory);
    lengths[0] = all[b];
    reset(p, false);
    oa_tensor *m = oa_tensor_from(&p->tape, memory, MEMORY, WIDTH, WIDTH, false);
    memcpy(whole, decode(p, m, b * LENGTH, 1, LENGTH, NULL)->data, sizeof whole);
    assert_int_equal(oa_stack_state_open(&p->decoder, &state), OA_OK);
    for (long i = 0; i < LENGTH; i++) {
        reset(p, false);
        m = oa_tensor_from(&p->tape, memory, MEMORY, WIDTH, WIDTH, false);
        const double *y = decode(p, m, b * LENGTH + i, 1, 1, &state)->data;
        assert_rows(name, y, whole + i * WIDTH, 1, 1e-9);
    }
    oa_stack_state_close(&p->decoder, &state);
    memcpy(lengths, all, sizeof all);
}

static void steps_equal_the_whole(void **state)
{
    static struct pair p;
    const struct oa_mechanism *m;
    int tried = 0;
    (void)state;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "%s",
                 strcmp(m->name, "mix") == 0            ? "softmax + random"
                 : strcmp(m->name, "block-sparse") == 0 ? "block-sparse(block=2, from=local)"
                                                        : m->name);
        if (m->can & OA_CAN_CROSS && open_pair(&p, "softmax", "softmax", spec)) {
            check_steps(&p, m->name, 1);
            tried++;
        }
        if (m->can & OA_CAN_CROSS)
            close_pair(&p);
    }
    assert_true(tried >= 14);
}

/* A branch goes its own way and leaves the other alone. */
static void copies_are_independent(void **state)
{
    static struct pair p;
    struct oa_stack_state one, two;
    double first[WIDTH];
    (void)state;
    assert_true(open_pair(&p, "softmax", "linear", "softmax"));
    assert_int_equal(oa_stack_state_open(&p.decoder, &one), OA_OK);
    assert_int_equal(oa_stack_state_open(&p.decoder, &two), OA_OK);
    reset(&p, false);
    double memory[MEMORY * WIDTH];
    memcpy(memory, encode(&p, p.source, 1, MEMORY, NULL)->data, sizeof memory);
    oa_tensor *m = oa_tensor_from(&p.tape, memory, MEMORY, WIDTH, WIDTH, false);
    decode(&p, m, 0, 1, 3, &one);
    assert_int_equal(oa_stack_state_copy(&p.decoder, &one, &two), OA_OK);
    decode(&p, m, 6, 1, 1, &two); /* another token */
    memcpy(first, decode(&p, m, 3, 1, 1, &one)->data, sizeof first);
    oa_stack_state_reset(&p.decoder, &two);
    decode(&p, m, 0, 1, 3, &two);
    assert_rows("a branch", decode(&p, m, 3, 1, 1, &two)->data, first, 1, 0);
    oa_stack_state_close(&p.decoder, &one);
    oa_stack_state_close(&p.decoder, &two);
    close_pair(&p);
}

/* ---- gradients
 * --------------------------------------------------------------------------------------------------
 */

static double loss(struct pair *p, bool record)
{
    static const int32_t target[BATCH * LENGTH] = { 0, 1, 2, 3,  4, 1, 1, 0, 2, 3, 1,
                                                    4, 0, 0, -1, 2, 4, 1, 3, 3, 2, 1 };
    reset(p, record);
    oa_tensor *memory = encode(p, p->source, BATCH, MEMORY, p->lengths);
    return oa_linear_loss_op(&p->tape, decode(p, memory, 0, BATCH, LENGTH, NULL), p->table, NULL,
                             &(struct oa_targets){ .id = target, .scale = 1 });
}

static double slope(struct pair *p, struct oa_parameter *q, long i)
{
    double *x = (double *)q->value + i, kept = *x, step = 1e-5, up, down;
    *x = kept + step;
    oa_store_refresh(&p->store);
    up = loss(p, false);
    *x = kept - step;
    oa_store_refresh(&p->store);
    down = loss(p, false);
    *x = kept;
    oa_store_refresh(&p->store);
    return (up - down) / (2 * step);
}

static void gradients_reach_both_stacks(void **state)
{
    static struct pair p;
    (void)state;
    assert_true(open_pair(&p, "softmax ; linear", "random + softmax", "softmax"));
    oa_store_zero_gradients(&p.store);
    loss(&p, true);
    oa_tape_backward(&p.tape);
    for (int i = 0; i < p.store.count; i++) {
        struct oa_parameter *q = p.store.parameter[i];
        long at[2] = { 0, q->count / 2 + q->count / 3 };
        for (int k = 0; q->trainable && k < 2; k++) {
            double exact = ((const double *)q->gradient)[at[k]], numeric = slope(&p, q, at[k]);
            if (!(fabs(exact - numeric) <= 1e-6 * (1 + fabs(exact))))
                fail_msg("%s[%ld]: the gradient is %.12g, differences say %.12g", q->name, at[k],
                         exact, numeric);
        }
    }
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_equal_plain_loops),
        cmocka_unit_test(initial_values_follow_the_branches),
        cmocka_unit_test(padding_changes_no_result),
        cmocka_unit_test(steps_equal_the_whole),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(gradients_reach_both_stacks),
    };
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    assert_int_equal(oa_device_open(context, OA_PRECISION_F64, false, &device), OA_OK);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    oa_device_close(device);
    oa_close(context);
    return failed;
}
