/* SPDX-License-Identifier: Apache-2.0
 * Decoding: every mechanism of the registry that has a causal form (or a meaning as cross-attention), token by token
 * and in chunks, gives the rows of the whole sequence; states are copied, reused and as small as is claimed; tables end
 * where they end. */
#include "testing.h"

#include "attention_case.h"

static oa_context *context;

/* ---- the list of attentions ------------------------------------------------------------------------------------- */

#define MOST 512
static char specs[MOST][120];
static int spec_count;

static void add_spec(const char *text)
{
    struct oa_spec spec;
    if (oa_spec_parse(context, text, &spec) == OA_OK) {
        assert_true(spec_count < MOST);
        snprintf(specs[spec_count++], sizeof specs[0], "%s", text);
    }
    oa_spec_free(&spec);
    oa_clear_error(context);
}

/* The mechanism with one option set to something else. */
static void add_values(const struct oa_mechanism *m, const struct oa_argument *a)
{
    char text[120];
    bool divisor = strcmp(a->key, "a") == 0 || strcmp(a->key, "b") == 0; /* of every length */
    bool longest = strcmp(a->key, "length") == 0;                        /* at least the longest sequence */
    if (a->kind == OA_VALUE_FLAG)
        snprintf(text, sizeof text, "%s(%s)", m->name, a->key);
    if (a->kind == OA_VALUE_INT)
        snprintf(text, sizeof text, "%s(%s=%d)", m->name, a->key, divisor ? 1 : longest ? 80 : 3);
    if (a->kind == OA_VALUE_FLAG || a->kind == OA_VALUE_INT)
        add_spec(text);
    for (const char *w = a->kind == OA_VALUE_CHOICE ? a->choices : ""; *w; w += *w == '|') {
        int n = (int)strcspn(w, "|");
        snprintf(text, sizeof text, "%s(%s%s%.*s)", m->name, a->key, a->key[0] ? "=" : "", n, w);
        add_spec(text);
        w += n;
    }
}

static const char *const combinations[] = {
    "softmax(tie, temperature, diagonal)",
    "local(window=2, dilation=2, qk=slice)",
    "local(window=1)",
    "local(window=4):1 | softmax:1",
    "block-local(size=5)",
    "cosformer(length=80, qk=haar, tie, diagonal)",
    "polynomial(degree=4, bias=1)",
    "linear(map=power, degree=3, tie)",
    "performer(kernel=hyperbolic, draw=iid, features=7)",
    "performer(kernel=trig):1 | cosformer:1",
    "dense(input=full, hidden=3, shared, bias)",
    "factorized-random + factorized-dense",
    "mix(softmax, factorized-random(rank=2), alpha=sigmoid)",
    "random + softmax + dense + orthogonal(tie)",
    "dense:1 | mixer(hidden=9):1",
    "gaussian(offset=-1, sigma=0.3, renormalise)",
    "gaussian(offset=3, sigma=0.3)",
    "gaussian(offset=-2.5, sigma=0.2)",
    "lightconv(width=1)",
    "lightconv(width=4, glu)",
    "dynamicconv(width=5, glu, renormalise)",
    "pattern(left, edge=clamp)",
    "pattern(left, edge=self)",
    "pattern(previous, edge=clamp)",
    "pattern(previous, edge=self):1 | pattern(left):1",
    "sparse(fixed, stride=3, summary=2)",
    "sparse(stride=4, heads=split)",
    "longformer(window=2, global=3)",
    "longformer(window=1, global=2, shared)",
    "longformer(window=2, qk=slice):1 | linear:1",
    "block-sparse(block=2, from=fixed)",
    "bigbird(block=2, random=1, window=1, global=1)",
    "linformer(rank=3, share=kv)",
    "mixer(hidden=30, value)",
    "mixer(hidden=3)",
};

static int collect(void **state)
{
    (void)state;
    const struct oa_mechanism *m;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    for (int i = 0; context && (m = oa_mechanism_at(i)); i++) {
        add_spec(strcmp(m->name, "taylor") == 0 ? "taylor(width=4)" : m->name);
        for (const struct oa_argument *a = m->arguments; a->key; a++)
            add_values(m, a);
    }
    for (size_t i = 0; i < sizeof combinations / sizeof combinations[0]; i++)
        add_spec(combinations[i]);
    return spec_count > 100 ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void check(const struct attention_case *a)
{
    const char *sentence;
    if (oa_last_error(a->context, &sentence) != OA_OK)
        fail_msg("%s (mode %d): %s", a->setup.spec, a->setup.mode, sentence);
}

/* Tokens first … first+count−1 of item b: their rows of y. */
static enum oa_error step(struct attention_case *a, struct oa_state *s, long b, long first, long count, double *y)
{
    oa_tape *t = &a->tape;
    long D = a->D, half = D / a->setup.heads / 2;
    oa_tape_reset(t, false, false, oa_stream_named(1, "step"));
    struct oa_layer_input in = { .batch = 1, .queries = count, .keys = a->S, .state = s };
    in.x = oa_tensor_from(t, attention_acts(a, a->x + (b * a->T + first) * D, count * D), count, D, D, false);
    if (a->memory) {
        in.memory = oa_tensor_from(t, attention_acts(a, a->memory + b * a->S * D, a->S * D), a->S, D, D, false);
        in.lengths = a->lengths ? a->lengths + b : NULL;
    }
    in.cosine = a->cosine ? attention_reals(a, a->cosine, a->N * half) : NULL;
    in.sine = a->sine ? attention_reals(a, a->sine, a->N * half) : NULL;
    oa_tensor *out = oa_layer_forward(t, &a->layer, &in);
    OA_TRY(oa_status(a->context));
    attention_read(a, out->data, count * D, y + (b * a->T + first) * D);
    return oa_status(a->context);
}

static void steps(struct attention_case *a, struct oa_state *s, long b, long from, long chunk, double *y)
{
    for (long t = from; t < a->T; t += chunk) {
        if (step(a, s, b, t, t + chunk < a->T ? chunk : a->T - t, y) != OA_OK)
            check(a);
    }
}

static double difference(const double *a, const double *b, long count)
{
    double size = 0, error = 0;
    for (long i = 0; i < count; i++) {
        size += a[i] * a[i];
        error += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sqrt(error) / (sqrt(size) + 1e-12);
}

static void assert_rows(const struct attention_case *a, const char *what, const double *want, const double *got,
                        double allowed)
{
    for (long b = 0; b < a->B; b++) {
        double error = difference(want + b * a->T * a->D, got + b * a->T * a->D, a->T * a->D);
        if (!(error <= allowed))
            fail_msg(
                "%s (mode %d, precision %d, item %ld): %s differs from the whole sequence by %.3g; %.3g is allowed",
                a->setup.spec, a->setup.mode, a->setup.precision, b, what, error, allowed);
    }
}

/* Features of both signs have denominators near 0, and bf16 rounds logits in sketches and powers (test_golden.c). */
static double allowed(const struct attention_case *a)
{
    static const double each[] = { [OA_PRECISION_F32] = 2e-5, [OA_PRECISION_BF16] = 3e-2, [OA_PRECISION_F64] = 1e-12 };
    double e = each[a->setup.precision];
    bool signs = strstr(a->setup.spec, "cos)") || strstr(a->setup.spec, "power") || strstr(a->setup.spec, "trig");
    return signs ? 1000 * e : e;
}

static void agree(struct attention_case *a)
{
    static const long chunks[] = { 1, 2, 5, 64 };
    long rows = a->B * a->T * a->D;
    double *whole = random_numbers("", rows), *y = random_numbers("", rows);
    struct oa_state *s;
    a->no_gradients = true;
    attention_run(a);
    check(a);
    memcpy(whole, a->y, (size_t)rows * sizeof *whole);
    oa_layer_state_open(&a->layer, a->T, &s);
    check(a);
    for (size_t c = 0; c < sizeof chunks / sizeof chunks[0]; c++) {
        for (long b = 0; b < a->B; b++) {
            oa_layer_state_reset(&a->layer, s);
            steps(a, s, b, 0, chunks[c], y);
        }
        assert_rows(a, chunks[c] == 1 ? "one token at a time" : "a chunk at a time", whole, y, allowed(a));
    }
    oa_layer_state_close(&a->layer, s);
    free(whole);
    free(y);
}

/* ---- for all ------------------------------------------------------------------------------------------------------
 */

typedef void property(struct attention_case *a);

static bool needs_all(const struct oa_layer *l)
{
    for (int g = 0; g < l->groups; g++)
        if (l->group[g].needs_all)
            return true;
    return false;
}

static int for_all(struct attention_setup setup, enum attention_mode mode, property *p)
{
    int cases = 0;
    for (int i = 0; i < spec_count; i++) {
        struct attention_case a;
        setup.spec = specs[i];
        setup.mode = mode;
        if (attention_open(context, &setup, &a) == OA_OK && !needs_all(&a.layer)) {
            p(&a);
            cases++;
        }
        attention_close(&a);
        oa_clear_error(context);
    }
    return cases;
}

static void in_f64(void **state)
{
    (void)state;
    struct attention_setup setup = { .precision = OA_PRECISION_F64, .queries = 23, .keys = 7, .length = 25 };
    int causal = for_all(setup, CAUSAL, agree);
    setup.padding = true;
    setup.bias = true;
    setup.batch = 3;
    int cross = for_all(setup, CROSS, agree);
    setup = (struct attention_setup){ .precision = OA_PRECISION_F64, .queries = 19, .length = 19, .rotary = true };
    for_all(setup, CAUSAL, agree);
    print_message("%d causal and %d cross-attentions\n", causal, cross);
    assert_true(causal > 100 && cross > 50);
}

static void in_f32(void **state)
{
    (void)state;
    struct attention_setup setup = { .precision = OA_PRECISION_F32, .queries = 75, .keys = 70, .length = 80 };
    for_all(setup, CAUSAL, agree);
    for_all(setup, CROSS, agree);
}

static void in_bf16(void **state)
{
    (void)state;
    struct attention_setup setup = { .precision = OA_PRECISION_BF16, .queries = 20, .keys = 9, .length = 20 };
    for_all(setup, CAUSAL, agree);
    for_all(setup, CROSS, agree);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_f64), cmocka_unit_test(in_f32), cmocka_unit_test(in_bf16) };
    return cmocka_run_group_tests(tests, collect, close_context);
}
