/* SPDX-License-Identifier: Apache-2.0
 * Attention on given queries, keys and values: against the reference vectors, against the layer
 * with projections that the test does, and against finite differences. */
#include "testing.h"

#include "base/safetensors.h"
#include <orthant/orthant.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, TOKENS = 7, HEADS = 4, WIDTH = 4, COLUMNS = HEADS * WIDTH };
enum { ROWS = BATCH * TOKENS, COUNT = ROWS * COLUMNS };

/* One call of a core and its gradients. */
struct call {
    double q[COUNT], k[COUNT], v[COUNT], o[COUNT], d_o[COUNT], dq[COUNT], dk[COUNT], dv[COUNT];
};

static void fill(double *x, long count, unsigned seed)
{
    srand(seed);
    for (long i = 0; i < count; i++)
        x[i] = (double)rand() / (double)RAND_MAX * 2 - 1;
}

static struct call *new_call(unsigned seed)
{
    struct call *c = calloc(1, sizeof *c);
    fill(c->q, COUNT, seed);
    fill(c->k, COUNT, seed + 1);
    fill(c->v, COUNT, seed + 2);
    fill(c->d_o, COUNT, seed + 3);
    return c;
}

static void assert_close(const double *a, const double *b, long count, double tolerance)
{
    double size = 0;
    for (long i = 0; i < count; i++)
        size = fmax(size, fabs(b[i]));
    for (long i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * (size + 1e-9)))
            fail_msg("element %ld is %.17g, not %.17g", i, a[i], b[i]);
}

static oa_core *open_core(oa_context *c, const char *spec, int causal)
{
    return oa_core_open(c, spec,
                        &(struct oa_core_form){ .heads = HEADS,
                                                .head_width = WIDTH,
                                                .length = TOKENS,
                                                .causal = causal,
                                                .precision = "f64",
                                                .seed = 5 });
}

static struct oa_core_input input_of(const struct call *c)
{
    return (
        struct oa_core_input){ .batch = BATCH, .queries = TOKENS, .q = c->q, .k = c->k, .v = c->v };
}

static double value_of(oa_core_pass *p, const struct oa_core_input *in, const double *d_o,
                       double *o)
{
    double sum = 0;
    assert_int_equal(oa_core_forward(p, in, o), OA_OK);
    for (long i = 0; i < in->batch * in->queries * COLUMNS; i++)
        sum += o[i] * d_o[i];
    return sum;
}

/* ---- reference vectors: projections and their gradients by the test ---- */

/* y [rows, out] = x wᵀ + b */
static double *project(const struct oa_array *x, const struct oa_array *w, const struct oa_array *b)
{
    long d = w->dim[1], out = w->dim[0], rows = (long)(x->bytes / sizeof(double)) / d;
    double *y = calloc((size_t)(rows * out), sizeof *y);
    for (long i = 0; i < rows * out; i++) {
        y[i] = b ? oa_array_value(b, (size_t)(i % out)) : 0;
        for (long c = 0; c < d; c++)
            y[i] += oa_array_value(x, (size_t)(i / out * d + c)) *
                    oa_array_value(w, (size_t)(i % out * d + c));
    }
    return y;
}

/* d(weight) = dyᵀ x against the file. */
static void check_weight_gradient(const struct oa_tensors *in, const char *name, const double *dy,
                                  const struct oa_array *x, double tolerance)
{
    const struct oa_array *g = oa_tensors_find(in, name);
    long d = x->dim[2], rows = x->dim[0] * x->dim[1];
    if (!g)
        return;
    long out = g->dim[0];
    double *sum = calloc((size_t)(out * d), sizeof *sum), *expected = calloc((size_t)(out * d), 8);
    for (long i = 0; i < out * d; i++) {
        expected[i] = oa_array_value(g, (size_t)i);
        for (long r = 0; r < rows; r++)
            if (dy[r * out + i / d] != 0) /* that of padding is 0, and x may be NaN there */
                sum[i] += dy[r * out + i / d] * oa_array_value(x, (size_t)(r * d + i % d));
    }
    assert_close(sum, expected, out * d, tolerance);
    free(sum);
    free(expected);
}

/* The attention's own parameters; false where the file has other shapes. */
static bool set_own(oa_core *core, const struct oa_tensors *in)
{
    struct oa_weights w;
    for (int i = 0; oa_core_weights(core, i, &w); i++) {
        const struct oa_array *a = oa_tensors_find(in, w.name);
        if (!a || (long)(a->bytes / (a->type == OA_I32 ? 4 : 8)) != w.count)
            return false;
        for (long j = 0; j < w.count; j++)
            ((double *)w.value)[j] = oa_array_value(a, (size_t)j);
    }
    oa_core_changed(core);
    return true;
}

static void check_own_gradients(oa_core *core, const struct oa_tensors *in)
{
    struct oa_weights w;
    char name[200];
    for (int i = 0; oa_core_weights(core, i, &w); i++) {
        snprintf(name, sizeof name, "expect.grad.%s", w.name);
        const struct oa_array *a = oa_tensors_find(in, name);
        double size = 0;
        for (long j = 0; a && j < w.count; j++)
            size = fmax(size, fabs(oa_array_value(a, (size_t)j)));
        for (long j = 0; a && w.gradient && j < w.count; j++)
            assert_true(fabs(((double *)w.gradient)[j] - oa_array_value(a, (size_t)j)) <=
                        1e-9 * (1e-3 + size));
    }
}

struct projected {
    const struct oa_array *x, *keys, *output;
    double *q, *k, *v, *o, *d_o, *dq, *dk, *dv;
    int32_t *lengths;
};

static bool project_file(const struct oa_tensors *in, struct projected *p)
{
    const struct oa_array *query = oa_tensors_find(in, "query.weight"),
                          *key = oa_tensors_find(in, "key.weight"),
                          *value = oa_tensors_find(in, "value.weight"),
                          *memory = oa_tensors_find(in, "memory"),
                          *lengths = oa_tensors_find(in, "lengths");
    *p = (struct projected){ .x = oa_tensors_find(in, "x"),
                             .output = oa_tensors_find(in, "output.weight") };
    p->keys = memory ? memory : p->x;
    if (!value || !p->output || (query && !key) || oa_tensors_find(in, "global.query.weight"))
        return false;
    p->v = project(p->keys, value, oa_tensors_find(in, "value.bias"));
    p->q = query ? project(p->x, query, oa_tensors_find(in, "query.bias")) : NULL;
    p->k = key ? project(p->keys, key, oa_tensors_find(in, "key.bias")) : NULL;
    if (lengths)
        p->lengths = calloc((size_t)lengths->dim[0], sizeof *p->lengths);
    for (long b = 0; lengths && b < lengths->dim[0]; b++)
        p->lengths[b] = (int32_t)oa_array_value(lengths, (size_t)b);
    return true;
}

static void free_projected(struct projected *p)
{
    free(p->q), free(p->k), free(p->v), free(p->o), free(p->d_o);
    free(p->dq), free(p->dk), free(p->dv), free(p->lengths);
}

/* y = o W_Oᵀ + b of the rows that are no padding, and dO = dy W_O. */
static void check_output(const struct oa_tensors *in, struct projected *p, bool cross)
{
    const struct oa_array *y = oa_tensors_find(in, "expect.y"), *dy = oa_tensors_find(in, "dy"),
                          *b = oa_tensors_find(in, "output.bias");
    long d = p->output->dim[0], cols = p->output->dim[1], T = p->x->dim[1], rows = p->x->dim[0] * T;
    for (long i = 0; i < rows; i++) {
        bool padded = p->lengths && !cross && i % T >= p->lengths[i / T];
        for (long c = 0; c < d; c++) {
            double sum = b && !padded ? oa_array_value(b, (size_t)c) : 0;
            for (long e = 0; e < cols; e++) {
                double w = oa_array_value(p->output, (size_t)(c * cols + e));
                sum += p->o[i * cols + e] * w;
                p->d_o[i * cols + e] += padded ? 0 : oa_array_value(dy, (size_t)(i * d + c)) * w;
            }
            assert_true(fabs(sum - oa_array_value(y, (size_t)(i * d + c))) < 1e-10);
        }
    }
}

/* 1 if the file's attention has a core, which then gives the file's results. */
static int check_file(oa_context *c, const char *path)
{
    struct oa_tensors *in;
    struct projected p;
    assert_int_equal(oa_tensors_open(c, path, &in), OA_OK);
    const struct oa_array *w = oa_tensors_find(in, "query.weight"),
                          *k = oa_tensors_find(in, "key.weight");
    long heads = atol(oa_tensors_metadata(in, "heads"));
    bool cross = oa_tensors_find(in, "memory") != NULL, has = project_file(in, &p);
    oa_core *core = NULL;
    if (has) {
        long V = p.output->dim[1] / heads, K = w ? w->dim[0] / heads : V,
             longest = p.x->dim[1] > p.keys->dim[1] ? p.x->dim[1] : p.keys->dim[1];
        core = oa_core_open(c, oa_tensors_metadata(in, "spec"),
                            &(struct oa_core_form){
                                .heads = heads,
                                .key_heads = k ? k->dim[0] / K : 0,
                                .head_width = K,
                                .value_width = V,
                                .length = longest,
                                .causal = strcmp(oa_tensors_metadata(in, "causal"), "true") == 0,
                                .cross = cross,
                                .precision = "f64" });
        oa_clear_error(c);
    }
    has = core && set_own(core, in);
    if (has) {
        size_t nq = (size_t)(p.x->dim[0] * p.x->dim[1]),
               nk = (size_t)(p.keys->dim[0] * p.keys->dim[1]), most = 8 * (nq + nk) * 1024;
        p.o = calloc(1, most), p.d_o = calloc(1, most);
        p.dq = calloc(1, most), p.dk = calloc(1, most), p.dv = calloc(1, most);
        oa_core_pass *pass = oa_core_pass_open(core);
        struct oa_core_input given = { .batch = p.x->dim[0],
                                       .queries = p.x->dim[1],
                                       .keys = p.keys->dim[1],
                                       .q = p.q,
                                       .k = p.k,
                                       .v = p.v,
                                       .lengths = p.lengths };
        assert_int_equal(oa_core_forward(pass, &given, p.o), OA_OK);
        check_output(in, &p, cross);
        oa_core_zero_gradients(core);
        assert_int_equal(oa_core_backward(pass, p.d_o, p.dq, p.dk, p.dv), OA_OK);
        check_weight_gradient(in, "expect.grad.query.weight", p.dq, p.x, 1e-9);
        check_weight_gradient(in, "expect.grad.key.weight", p.dk, p.keys, 1e-9);
        check_weight_gradient(in, "expect.grad.value.weight", p.dv, p.keys, 1e-9);
        check_own_gradients(core, in);
        oa_core_pass_close(pass);
    }
    oa_core_close(core);
    free_projected(&p);
    oa_tensors_close(in);
    return has;
}

static void reference_vectors_hold(void **state)
{
    static const struct {
        const char *path;
        int with_core;
    } folders[] = { { SOURCE_DIR "/tests/golden", 67 },
                    { SOURCE_DIR "/tests/golden-relative", 31 },
                    { SOURCE_DIR "/tests/golden-heads", 29 } };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        int count = 0;
        DIR *d = opendir(folders[f].path);
        assert_non_null(d);
        for (struct dirent *e; (e = readdir(d));) {
            char path[1024];
            if (!strstr(e->d_name, ".safetensors"))
                continue;
            snprintf(path, sizeof path, "%s/%s", folders[f].path, e->d_name);
            count += check_file(c, path);
        }
        closedir(d);
        assert_int_equal(count, folders[f].with_core);
    }
    oa_close(c);
}

/* ---- every mechanism ---- */

/* Whether this program may open it; the others are refused with a reason. */
static bool has_core(const char *name)
{
    static const char *const none[] = { "orthogonal", "dense",     "factorized-dense",
                                        "mix",        "lightconv", "dynamicconv",
                                        "mixer",      "longformer" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcmp(none[i], name) == 0)
            return false;
    return true;
}

/* The derivative along a random direction of q, k and v, against central differences. */
static void check_gradient(oa_core *core, struct oa_core_input in, struct call *c)
{
    oa_core_pass *p = oa_core_pass_open(core);
    const double h = 1e-5;
    struct call *up = new_call(50), *down = new_call(50);
    double slope = 0;
    long keys = in.keys ? in.keys : in.queries;
    value_of(p, &in, c->d_o, c->o);
    assert_int_equal(oa_core_backward(p, c->d_o, c->dq, c->dk, c->dv), OA_OK);
    for (long i = 0; i < in.batch * keys * COLUMNS; i++) {
        bool query = i < in.batch * in.queries * COLUMNS;
        slope += (query ? c->dq[i] * up->q[i] : 0) + c->dk[i] * up->k[i] + c->dv[i] * up->v[i];
    }
    for (long i = 0; i < COUNT; i++) {
        down->q[i] = c->q[i] - h * up->q[i], up->q[i] = c->q[i] + h * up->q[i];
        down->k[i] = c->k[i] - h * up->k[i], up->k[i] = c->k[i] + h * up->k[i];
        down->v[i] = c->v[i] - h * up->v[i], up->v[i] = c->v[i] + h * up->v[i];
    }
    in.q = up->q, in.k = up->k, in.v = up->v;
    double above = value_of(p, &in, c->d_o, up->o);
    in.q = down->q, in.k = down->k, in.v = down->v;
    double below = value_of(p, &in, c->d_o, down->o);
    assert_true(fabs((above - below) / (2 * h) - slope) < 1e-6 * (1 + fabs(slope)));
    free(up);
    free(down);
    oa_core_pass_close(p);
}

/* Rows of single queries with the keys so far are those of the whole, with and without a pass. */
static void check_past(oa_core *core, const struct call *c)
{
    oa_core_pass *p = oa_core_pass_open(core);
    double whole[COUNT], one[COUNT];
    struct oa_core_input in = input_of(c);
    in.batch = 1;
    assert_int_equal(oa_core_forward(p, &in, whole), OA_OK);
    for (int no_backward = 0; no_backward < 2; no_backward++)
        for (long t = 0; t < TOKENS; t += 1 + no_backward) {
            long queries = 1 + no_backward < TOKENS - t ? 1 + no_backward : TOKENS - t;
            in.queries = queries;
            in.keys = t + queries;
            in.q = c->q + t * COLUMNS;
            in.no_backward = no_backward;
            assert_int_equal(oa_core_forward(p, &in, one), OA_OK);
            assert_close(one, whole + t * COLUMNS, queries * COLUMNS, 1e-12);
        }
    oa_core_pass_close(p);
}

/* Steps of one token and two, of two sequences, the arrays with strides, give the rows of the
 * whole; so do those of a copy with the sequences exchanged. NULL where the attention needs all
 * tokens. */
static void check_steps(oa_context *c, oa_core *core, const struct call *x, const char *spec)
{
    static const long step[] = { 1, 2, 1, 3 }, exchanged[BATCH] = { 1, 0 };
    const char *sentence;
    oa_core_state *s = oa_core_state_open(core, BATCH), *other = oa_core_state_open(core, BATCH);
    if (!s) {
        assert_int_equal(oa_last_error(c, &sentence), OA_UNSUPPORTED);
        if (!strstr(sentence, "cannot decode token by token"))
            fail_msg("%s: %s", spec, sentence);
        oa_clear_error(c);
        return;
    }
    oa_core_pass *p = oa_core_pass_open(core);
    double whole[COUNT], rows[COUNT], turned[COUNT];
    struct oa_core_input in = input_of(x);
    assert_int_equal(oa_core_forward(p, &in, whole), OA_OK);
    for (int again = 0; again < 2; again++, oa_core_state_reset(s))
        for (long t = 0, i = 0; t < TOKENS; t += step[i++]) {
            const long stride[3] = { TOKENS * COLUMNS, COLUMNS, WIDTH };
            in.queries = step[i];
            in.q = x->q + t * COLUMNS, in.k = x->k + t * COLUMNS, in.v = x->v + t * COLUMNS;
            memcpy(in.q_stride, stride, sizeof stride);
            memcpy(in.k_stride, stride, sizeof stride);
            memcpy(in.v_stride, stride, sizeof stride);
            assert_int_equal(oa_core_state_copy(s, exchanged, other), OA_OK);
            assert_int_equal(oa_core_step(s, &in, rows), OA_OK);
            for (long b = 0; b < BATCH; b++)
                assert_close(rows + b * step[i] * COLUMNS, whole + (b * TOKENS + t) * COLUMNS,
                             step[i] * COLUMNS, 1e-11);
            in.q = x->q + (TOKENS + t) * COLUMNS, in.k = x->k + (TOKENS + t) * COLUMNS;
            in.v = x->v + (TOKENS + t) * COLUMNS;
            in.q_stride[0] = in.k_stride[0] = in.v_stride[0] = -TOKENS * COLUMNS;
            assert_int_equal(oa_core_step(other, &in, turned), OA_OK);
            for (long b = 0, n = step[i] * COLUMNS; b < BATCH; b++)
                assert_memory_equal(turned + b * n, rows + (1 - b) * n, n * sizeof *rows);
        }
    oa_core_pass_close(p);
    oa_core_state_close(s), oa_core_state_close(other);
}

static void every_mechanism_has_gradients_and_a_past(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    const char *name, *title, *sentence;
    struct call *call = new_call(1);
    int with_core = 0;
    for (int i = 0; oa_mechanism_describe(i, &name, &title); i++)
        for (int causal = 0; causal < 2; causal++) {
            const char *spec = strcmp(name, "mix") == 0      ? "random + softmax"
                               : strcmp(name, "taylor") == 0 ? "taylor(width=4)"
                                                             : name;
            oa_core *core = open_core(c, spec, causal);
            if (core) {
                assert_true(has_core(name));
                check_gradient(core, input_of(call), call);
                if (causal) {
                    struct oa_core_input in = input_of(call);
                    in.queries = 3, in.keys = TOKENS;
                    check_past(core, call);
                    check_steps(c, core, call, spec);
                    check_gradient(core, in, call);
                }
                with_core++;
            } else {
                assert_int_equal(oa_last_error(c, &sentence), OA_UNSUPPORTED);
                bool mode = strcmp(name, "linformer") == 0 && causal;
                assert_true(mode || !has_core(name));
                assert_true(mode || strstr(sentence, "has no core") != NULL);
                oa_clear_error(c);
            }
            oa_core_close(core);
        }
    assert_int_equal(with_core, 2 * 17 - 1);
    free(call);
    oa_close(c);
}

static void what_reads_the_input_is_refused(void **state)
{
    static const struct {
        const char *spec, *reason;
    } refused[] = { { "softmax(tie)", "softmax(tie) has no core" },
                    { "linear(scale=jl)", "(scale=jl) has no core" },
                    { "softmax(forget)", "functions of the token's input" },
                    { "local(gate=head)", "local(gate) has no core" },
                    { "linear(decay=head)", "(decay=head) has no core" },
                    { "linear(decay=head)", "decay=fixed has a core" },
                    { "linear(decay=channel)", "(decay=channel) has no core" },
                    { "linear(update=delta)", "its steps" },
                    { "softmax(qk=haar)", "qk=learned has a core" },
                    { "mix(softmax, random)", "mixture" },
                    { "dense", "dense has no core" },
                    { "longformer", "add `shared`" },
                    { "softmax(kv=2)", "given with 4 heads" },
                    { "taylor(width=8)", "are given with 4" },
                    { "softmax ; linear", "2 layers" } };
    (void)state;
    oa_context *c = oa_open(NULL);
    const char *sentence;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_null(open_core(c, refused[i].spec, 1));
        oa_last_error(c, &sentence);
        if (!strstr(sentence, refused[i].reason))
            fail_msg("%s: %s", refused[i].spec, sentence);
        oa_clear_error(c);
    }
    static const char *const kept[] = { "orthogonal(qk=learned)", "longformer(shared)",
                                        "longformer(global=0)", "linear(decay=fixed)",
                                        "softmax(temperature, diagonal, qknorm=rms)" };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        oa_core *core = open_core(c, kept[i], 1);
        assert_non_null(core);
        oa_core_close(core);
    }
    oa_close(c);
}

/* ---- heads, strides, padding ---- */

/* Gradients of wider values replace what the caller's array had, in every element and no more. */
static void gradients_of_wide_values_are_written_whole(void **state)
{
    enum { VALUES = 10, WIDE = ROWS * HEADS * VALUES };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct call *x = new_call(1);
    double v[WIDE], o[WIDE], d_o[WIDE], dv[2][WIDE + 1];
    oa_core *core = oa_core_open(c, "softmax:2 | linear:2",
                                 &(struct oa_core_form){ .heads = HEADS,
                                                         .head_width = WIDTH,
                                                         .value_width = VALUES,
                                                         .length = TOKENS,
                                                         .precision = "f64" });
    oa_core_pass *p = oa_core_pass_open(core);
    struct oa_core_input in = input_of(x);
    fill(v, WIDE, 7);
    fill(d_o, WIDE, 8);
    in.v = v;
    for (int before = 0; before < 2; before++) {
        for (long i = 0; i <= WIDE; i++)
            dv[before][i] = 7 * before;
        assert_int_equal(oa_core_forward(p, &in, o), OA_OK);
        assert_int_equal(oa_core_backward(p, d_o, x->dq, x->dk, dv[before]), OA_OK);
    }
    assert_memory_equal(dv[0], dv[1], WIDE * sizeof(double));
    assert_true(dv[0][WIDE] == 0 && dv[1][WIDE] == 7);
    double in_value = 0, in_output = 0; /* o is linear in v: v·dv = o·dO */
    for (long i = 0; i < WIDE; i++)
        in_value += v[i] * dv[1][i], in_output += o[i] * d_o[i];
    assert_true(fabs(in_value - in_output) < 1e-12 * (1 + fabs(in_output)));
    oa_core_pass_close(p);
    oa_core_close(core);
    free(x);
    oa_close(c);
}

/* The first two heads of keys and values, and each of them for two heads of queries, given once and
 * given twice. */
static void check_shared_heads(oa_context *c, const char *spec, int causal)
{
    struct call *twice = new_call(1), *once = new_call(1);
    struct oa_core_form form = { .heads = HEADS,
                                 .key_heads = 2,
                                 .head_width = WIDTH,
                                 .length = TOKENS,
                                 .causal = causal,
                                 .precision = "f64",
                                 .seed = 5 };
    for (long i = 0; i < COUNT; i++) { /* [row, head, column] */
        long from = i / COLUMNS * COLUMNS / 2 + i % COLUMNS / WIDTH / 2 * WIDTH + i % WIDTH;
        twice->k[i] = once->k[from], twice->v[i] = once->v[from];
    }
    oa_core *wide = open_core(c, spec, causal), *narrow = oa_core_open(c, spec, &form);
    oa_core_pass *p = oa_core_pass_open(wide), *s = oa_core_pass_open(narrow);
    struct oa_core_input in = input_of(twice), small = input_of(once);
    value_of(p, &in, twice->d_o, twice->o);
    value_of(s, &small, once->d_o, once->o);
    assert_close(once->o, twice->o, COUNT, 1e-13);
    assert_int_equal(oa_core_backward(p, twice->d_o, twice->dq, twice->dk, twice->dv), OA_OK);
    assert_int_equal(oa_core_backward(s, once->d_o, once->dq, once->dk, once->dv), OA_OK);
    assert_close(once->dq, twice->dq, COUNT, 1e-12);
    double sum[2][COUNT / 2] = { { 0 } };
    for (long i = 0; i < COUNT; i++) {
        long to = i / COLUMNS * COLUMNS / 2 + i % COLUMNS / WIDTH / 2 * WIDTH + i % WIDTH;
        sum[0][to] += twice->dk[i], sum[1][to] += twice->dv[i];
    }
    assert_close(once->dk, sum[0], COUNT / 2, 1e-12);
    assert_close(once->dv, sum[1], COUNT / 2, 1e-12);
    oa_core_pass_close(p), oa_core_pass_close(s);
    oa_core_close(wide), oa_core_close(narrow);
    free(twice), free(once);
}

static void shared_heads_are_repeated_heads(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    check_shared_heads(c, "softmax", 1);
    check_shared_heads(c, "linear", 1);
    check_shared_heads(c, "gaussian", 0);
    check_shared_heads(c, "linformer(rank=3)", 0);
    check_shared_heads(c, "softmax:2 | local(window=2):2", 1);
    check_shared_heads(c, "softmax:3 | linear:1", 1);
    check_shared_heads(c, "linformer(rank=3):2 | softmax:2", 0); /* one given head for two */
    oa_close(c);
}

/* Groups are the rows of their mechanisms alone. */
static void groups_read_their_heads(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    static const char *const specs[] = { "softmax:1 | linear:3", "softmax", "linear" };
    struct call *call[3];
    for (int i = 0; i < 3; i++) {
        call[i] = new_call(1);
        oa_core *core = open_core(c, specs[i], 1);
        oa_core_pass *p = oa_core_pass_open(core);
        struct oa_core_input in = input_of(call[i]);
        value_of(p, &in, call[i]->d_o, call[i]->o);
        assert_int_equal(oa_core_backward(p, call[i]->d_o, call[i]->dq, call[i]->dk, call[i]->dv),
                         OA_OK);
        oa_core_pass_close(p);
        oa_core_close(core);
    }
    for (long i = 0; i < COUNT; i++) {
        const struct call *alone = call[i % COLUMNS < WIDTH ? 1 : 2];
        assert_true(fabs(call[0]->o[i] - alone->o[i]) < 1e-13);
        assert_true(fabs(call[0]->dq[i] - alone->dq[i]) < 1e-13);
        assert_true(fabs(call[0]->dk[i] - alone->dk[i]) < 1e-13);
        assert_true(fabs(call[0]->dv[i] - alone->dv[i]) < 1e-13);
    }
    for (int i = 0; i < 3; i++)
        free(call[i]);
    oa_close(c);
}

/* ---- arrays of bfloat16 ---- */

static uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float float_of(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return x;
}

struct rounded { /* q, k, v and d_o; results o, dq, dk and dv */
    uint16_t given[4][COUNT], result[4][COUNT];
    float same[4][COUNT], out[4][COUNT];
};

/* Arrays of bfloat16 are those of float that have its numbers; results are rounded once. */
static void check_bf16_arrays(oa_context *c, const char *spec, long key_heads, long queries)
{
    struct rounded *r = calloc(1, sizeof *r);
    double x[COUNT];
    for (int i = 0; i < 4; i++) {
        fill(x, COUNT, 1 + (unsigned)i);
        for (long j = 0; j < COUNT; j++)
            r->same[i][j] = float_of(r->given[i][j] = bf16_of((float)x[j]));
    }
    for (int bf16 = 0; bf16 < 2; bf16++) {
        struct oa_core_form form = { .heads = HEADS,
                                     .key_heads = key_heads,
                                     .head_width = WIDTH,
                                     .length = TOKENS,
                                     .causal = 1,
                                     .precision = "bf16",
                                     .seed = 5,
                                     .bf16_arrays = bf16 };
        oa_core *core = oa_core_open(c, spec, &form);
        oa_core_pass *p = oa_core_pass_open(core);
        const void *in[4];
        void *out[4];
        for (int i = 0; i < 4; i++) {
            in[i] = bf16 ? (void *)r->given[i] : (void *)r->same[i];
            out[i] = bf16 ? (void *)r->result[i] : (void *)r->out[i];
        }
        struct oa_core_input input = {
            .batch = BATCH, .queries = queries, .keys = TOKENS, .q = in[0], .k = in[1], .v = in[2]
        };
        assert_int_equal(oa_core_forward(p, &input, out[0]), OA_OK);
        assert_int_equal(oa_core_backward(p, in[3], out[1], out[2], out[3]), OA_OK);
        oa_core_pass_close(p);
        oa_core_close(core);
    }
    for (int i = 0; i < 4; i++)
        for (long j = 0; j < COUNT; j++)
            if (r->result[i][j] != bf16_of(r->out[i][j]))
                fail_msg("%s: element %ld of array %d is %g, not %g", spec, j, i,
                         (double)float_of(r->result[i][j]), (double)r->out[i][j]);
    free(r);
}

static void arrays_of_bfloat16_are_those_of_float(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    check_bf16_arrays(c, "softmax", HEADS, TOKENS);
    check_bf16_arrays(c, "linear", 2, TOKENS - 2);
    check_bf16_arrays(c, "softmax:3 | local(window=2):1", 2, TOKENS);
    assert_null(oa_core_open(
        c, "softmax",
        &(struct oa_core_form){ .heads = 4, .head_width = 4, .length = 3, .bf16_arrays = 1 }));
    const char *sentence;
    assert_int_equal(oa_last_error(c, &sentence), OA_ARGUMENT);
    assert_non_null(strstr(sentence, "choose bf16"));
    oa_close(c);
}

static void strides_are_those_of_the_caller(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct call *dense = new_call(1), *turned = new_call(1);
    oa_core *core = open_core(c, "local(window=3)", 1);
    oa_core_pass *p = oa_core_pass_open(core);
    struct oa_core_input in = input_of(dense), other = input_of(turned);
    for (long i = 0; i < COUNT; i++) { /* [batch, head, token, column]; v reversed in tokens */
        long b = i / (TOKENS * COLUMNS), h = i / WIDTH % HEADS, t = i / COLUMNS % TOKENS;
        turned->q[((b * HEADS + h) * TOKENS + t) * WIDTH + i % WIDTH] = dense->q[i];
        turned->k[((h * BATCH + b) * TOKENS + t) * WIDTH + i % WIDTH] = dense->k[i];
        turned->v[(b * TOKENS + TOKENS - 1 - t) * COLUMNS + i % COLUMNS] = dense->v[i];
    }
    const long q[3] = { HEADS * TOKENS * WIDTH, WIDTH, TOKENS * WIDTH },
               k[3] = { TOKENS * WIDTH, WIDTH, BATCH * TOKENS * WIDTH },
               v[3] = { TOKENS * COLUMNS, -COLUMNS, WIDTH };
    memcpy(other.q_stride, q, sizeof q);
    memcpy(other.k_stride, k, sizeof k);
    memcpy(other.v_stride, v, sizeof v);
    other.v = turned->v + (TOKENS - 1) * COLUMNS;
    value_of(p, &in, dense->d_o, dense->o);
    value_of(p, &other, dense->d_o, turned->o);
    assert_memory_equal(dense->o, turned->o, sizeof dense->o);
    oa_core_pass_close(p);
    oa_core_close(core);
    free(dense), free(turned);
    oa_close(c);
}

/* Padding may be NaN, its rows are 0, and the rest is the sequence alone; also after a past. */
static void check_padding(oa_context *c, const char *spec, int no_backward)
{
    const int32_t lengths[BATCH] = { 4, 7 };
    struct call *x = new_call(1);
    double alone[COUNT], one[COUNT];
    oa_core *core = open_core(c, spec, 1);
    oa_core_pass *p = oa_core_pass_open(core);
    struct oa_core_input in = input_of(x);
    in.batch = 1, in.queries = 4;
    assert_int_equal(oa_core_forward(p, &in, alone), OA_OK);
    for (long i = 4 * COLUMNS; i < TOKENS * COLUMNS; i++)
        x->q[i] = x->k[i] = x->v[i] = NAN;
    in = input_of(x);
    in.lengths = lengths;
    in.no_backward = no_backward;
    assert_int_equal(oa_core_forward(p, &in, x->o), OA_OK);
    assert_close(x->o, alone, 4 * COLUMNS, 1e-13);
    for (long i = 4 * COLUMNS; i < TOKENS * COLUMNS; i++)
        assert_true(x->o[i] == 0);
    if (!no_backward) {
        assert_int_equal(oa_core_backward(p, x->d_o, x->dq, x->dk, x->dv), OA_OK);
        for (long i = 0; i < COUNT; i++)
            assert_true(isfinite(x->dq[i]) && isfinite(x->dk[i]) && isfinite(x->dv[i]));
    }
    in.batch = 1, in.queries = 5, in.keys = TOKENS, in.q = x->q + 2 * COLUMNS; /* 2 real ones */
    assert_int_equal(oa_core_forward(p, &in, one), OA_OK);
    assert_close(one, alone + 2 * COLUMNS, 2 * COLUMNS, 1e-13);
    for (long i = 2 * COLUMNS; i < 5 * COLUMNS; i++)
        assert_true(one[i] == 0);
    oa_core_pass_close(p);
    oa_core_close(core);
    free(x);
}

static void padding_is_not_read(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    for (int no_backward = 0; no_backward < 2; no_backward++) {
        check_padding(c, "softmax", no_backward);
        check_padding(c, "linear", no_backward);
        check_padding(c, "gaussian", no_backward);
    }
    oa_close(c);
}

/* ---- misuse ---- */

static void expect_failure(oa_context *c, enum oa_error e, enum oa_error expected, const char *word)
{
    const char *sentence = "";
    assert_int_equal(e, expected);
    oa_last_error(c, &sentence);
    if (!strstr(sentence, word))
        fail_msg("%s", sentence);
    oa_clear_error(c);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct call *x = new_call(1);
    oa_core *core = open_core(c, "softmax", 0), *causal = open_core(c, "softmax", 1),
            *conv = open_core(c, "linear(conv=2)", 1);
    oa_core_pass *p = oa_core_pass_open(core), *s = oa_core_pass_open(causal),
                 *v = oa_core_pass_open(conv);
    struct oa_core_input in = input_of(x);
    expect_failure(c, oa_core_backward(p, x->d_o, NULL, NULL, NULL), OA_ARGUMENT, "forward call");
    in.keys = TOKENS - 1;
    expect_failure(c, oa_core_forward(p, &in, x->o), OA_SHAPE, "7 queries and 6 keys");
    expect_failure(c, oa_core_forward(s, &in, x->o), OA_SHAPE, "more than the 6 keys");
    in.queries = in.keys = TOKENS + 1;
    expect_failure(c, oa_core_forward(p, &in, x->o), OA_SHAPE, "give 1 to 7");
    in.queries = 3, in.keys = TOKENS;
    expect_failure(c, oa_core_forward(v, &in, x->o), OA_UNSUPPORTED, "past of 4 keys");
    in = input_of(x);
    in.k = NULL;
    expect_failure(c, oa_core_forward(p, &in, x->o), OA_ARGUMENT, "k is NULL");
    in = input_of(x);
    in.lengths = (const int32_t[]){ 3, 8 };
    expect_failure(c, oa_core_forward(p, &in, x->o), OA_SHAPE, "lengths[1] is 8");
    in.lengths = (const int32_t[]){ -1, 7 };
    expect_failure(c, oa_core_forward(p, &in, x->o), OA_SHAPE, "lengths[0] is -1: give 0 to 7");
    in = input_of(x);
    assert_null(oa_core_state_open(core, 2));
    expect_failure(c, OA_UNSUPPORTED, OA_UNSUPPORTED, "needs causal");
    assert_null(oa_core_state_open(causal, 0));
    expect_failure(c, OA_SHAPE, OA_SHAPE, "batch is 0");
    oa_core_state *steps = oa_core_state_open(causal, 1);
    expect_failure(c, oa_core_step(steps, &in, x->o), OA_SHAPE, "give 1 sequences");
    expect_failure(c, oa_core_state_copy(steps, (const long[]){ 0 }, steps), OA_ARGUMENT,
                   "another");
    in.batch = 1;
    assert_int_equal(oa_core_step(steps, &in, x->o), OA_OK);
    expect_failure(c, oa_core_step(steps, &in, x->o), OA_SHAPE, "room for 7 tokens");
    oa_core_state_close(steps);
    in = input_of(x);
    in.no_backward = 1;
    assert_int_equal(oa_core_forward(p, &in, x->o), OA_OK);
    expect_failure(c, oa_core_backward(p, x->d_o, NULL, NULL, NULL), OA_ARGUMENT, "no_backward");
    assert_null(oa_core_open(
        c, "softmax",
        &(struct oa_core_form){ .heads = 4, .key_heads = 3, .head_width = 4, .length = 3 }));
    expect_failure(c, OA_SHAPE, OA_SHAPE, "key_heads is 3");
    assert_null(oa_core_open(
        c, "linear",
        &(struct oa_core_form){ .heads = 4, .head_width = 4, .length = 3, .logit_cap = 5 }));
    expect_failure(c, OA_OK, OA_OK, "logit_cap");
    oa_core *cross =
        oa_core_open(c, "softmax",
                     &(struct oa_core_form){
                         .heads = 4, .head_width = 4, .length = 7, .key_length = 9, .cross = 1 });
    oa_core_pass *w = oa_core_pass_open(cross);
    in = input_of(x);
    in.keys = 10;
    expect_failure(c, oa_core_forward(w, &in, x->o), OA_SHAPE,
                   "7 queries and 10 keys: give 1 to 7 and 1 to 9");
    oa_core_pass_close(w);
    oa_core_close(cross);
    oa_core_pass_close(p), oa_core_pass_close(s), oa_core_pass_close(v), oa_core_pass_close(NULL);
    oa_core_close(core), oa_core_close(causal), oa_core_close(conv), oa_core_close(NULL);
    free(x);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_vectors_hold),
        cmocka_unit_test(every_mechanism_has_gradients_and_a_past),
        cmocka_unit_test(what_reads_the_input_is_refused),
        cmocka_unit_test(gradients_of_wide_values_are_written_whole),
        cmocka_unit_test(shared_heads_are_repeated_heads),
        cmocka_unit_test(groups_read_their_heads),
        cmocka_unit_test(arrays_of_bfloat16_are_those_of_float),
        cmocka_unit_test(strides_are_those_of_the_caller),
        cmocka_unit_test(padding_is_not_read),
        cmocka_unit_test(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
