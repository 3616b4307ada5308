/* SPDX-License-Identifier: Apache-2.0
 *
 * The attention engines of the CPU device against plain loops in double: outputs and every gradient, in all precisions,
 * over awkward sizes, masks and mixtures; gradients in f64 also against central differences; and the same bits for any
 * number of threads. Padded rows hold NaN throughout.
 */
#include "testing.h"

#include "device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors: the device's numbers and the same as doubles ----------------------------------------------------- */

struct tensor {
    long n;
    enum oa_type type;
    void *data;
    double *value;
};

static void put(struct tensor *t, long i, double x)
{
    if (t->type == OA_F64)
        ((double *)t->data)[i] = x;
    else if (t->type == OA_F32)
        ((float *)t->data)[i] = (float)x;
    else
        ((uint16_t *)t->data)[i] = oa_float_to_bf16((float)x);
}

static double get(const struct tensor *t, long i)
{
    if (t->type == OA_F64)
        return ((const double *)t->data)[i];
    return t->type == OA_F32 ? (double)((const float *)t->data)[i]
                             : (double)oa_bf16_to_float(((const uint16_t *)t->data)[i]);
}

static void set(struct tensor *t, long i, double x)
{
    put(t, i, x);
    t->value[i] = get(t, i);
}

static struct tensor filled(long n, enum oa_type type, double x)
{
    struct tensor t = { n, type, NULL, malloc((size_t)(n + 1) * sizeof(double)) };
    t.data = aligned_alloc(64, ((size_t)n * oa_type_size(type) + 127) / 64 * 64);
    for (long i = 0; i < n; i++)
        set(&t, i, x);
    return t;
}

static uint64_t draws;

static struct tensor drawn(long n, enum oa_type type, double scale)
{
    struct tensor t = filled(n, type, 0);
    for (long i = 0; i < n; i++)
        set(&t, i, scale * oa_random_normal((struct oa_stream){ 7, draws }, (uint64_t)i));
    draws++;
    return t;
}

static void drop(struct tensor *t)
{
    free(t->data);
    free(t->value);
    *t = (struct tensor){ 0 };
}

static double norm_of(const struct tensor *t)
{
    double sum = 0;
    for (long i = 0; i < t->n; i++)
        sum += isnan(t->value[i]) ? 0 : t->value[i] * t->value[i];
    return sqrt(sum);
}

/* ‖got − want‖ / (‖want‖ + floor): some gradients are 0 in theory, so the floor is a twentieth of the norm of dO. */
static double distance(const struct tensor *got, const struct tensor *want, const struct tensor *d_o)
{
    double difference = 0;
    for (long i = 0; i < want->n; i++) {
        double e = get(got, i) - want->value[i];
        difference += e * e;
    }
    return sqrt(difference) / (norm_of(want) + 0.05 * norm_of(d_o) + 1e-12);
}

static double tolerance(enum oa_precision p)
{
    return p == OA_PRECISION_F64 ? 1e-12 : p == OA_PRECISION_F32 ? 2e-5 : 3e-2;
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

static oa_context *context;
static struct oa_device *devices[3]; /* one a precision */

static struct oa_device *open_device(oa_context *c, enum oa_precision p)
{
    struct oa_device *d;
    assert_int_equal(oa_device_open(c, p, false, &d), OA_OK);
    return d;
}

static int open_all(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    for (int p = 0; p < 3; p++)
        devices[p] = open_device(context, (enum oa_precision)p);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int p = 0; p < 3; p++)
        oa_device_close(devices[p]);
    oa_close(context);
    return 0;
}

/* ---- supports --------------------------------------------------------------------------------------------------- */

static long reach(const struct oa_support *s)
{
    return s->parameter[0] * s->parameter[1];
}

static void window_range(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1,
                         long *low, long *high)
{
    (void)head;
    *low = i0 - reach(s) < 0 ? 0 : i0 - reach(s);
    *high = i1 + reach(s) > a->keys ? a->keys : i1 + reach(s);
}

static void window_row(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long *low,
                       long *high)
{
    window_range(s, a, head, i, i + 1, low, high);
}

/* parameter: window, dilation */
static bool window_visible(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long j)
{
    (void)a, (void)head;
    long offset = labs(i - j);
    return offset <= reach(s) && offset % s->parameter[1] == 0;
}

static const struct oa_support window = {
    .name = "window", .parameter = { 9, 1 }, .range = window_range, .row = window_row, .visible = window_visible
};
static const struct oa_support dilated = {
    .name = "dilated", .parameter = { 5, 3 }, .range = window_range, .visible = window_visible
};

/* Blocks of 16 keys, seen by a hash of head, block of queries and block of keys; rows without any key exist. */
static bool hashed_visible(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long j)
{
    (void)s, (void)a;
    unsigned h = (unsigned)(head * 31 + i / 16 * 7 + j / 16 * 13 + 5) * 2654435761u;
    return (h >> 24) % 3 == 0;
}

static void full_range(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1,
                       long *low, long *high)
{
    (void)s, (void)head, (void)i0, (void)i1;
    *low = 0;
    *high = a->keys;
}

static bool hashed_empty(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1,
                         long j0, long j1)
{
    for (long i = i0; i < i1; i++)
        for (long j = j0; j < j1; j++)
            if (hashed_visible(s, a, head, i, j))
                return false;
    return true;
}

static const struct oa_support hashed = {
    .name = "hashed", .range = full_range, .empty = hashed_empty, .visible = hashed_visible
};

/* ---- the logits engine: a case, its tensors ---------------------------------------------------------------------- */

/* parts: D product, B product with a bias a head, K table of keys a head with bias, k one table for all heads with one
 * bias, T table of logits, F the same but frozen. */
struct logits_case {
    const char *parts;
    long batch, queries, keys, heads, width, value_width;
    bool causal, lengths, alpha;
    const struct oa_support *support;
    double keep;
    long query_block, key_block; /* 0 = the device's */
};

struct part_tensors {
    struct tensor q, k, bias, table, dq, dk, dbias, dtable;
    struct tensor want_dq, want_dk, want_dbias, want_dtable;
};

struct logits_run {
    const struct logits_case *c;
    struct oa_device *d;
    struct oa_logits a;
    int32_t lengths[8];
    struct part_tensors part[OA_MAX_PARTS];
    struct tensor alpha, dalpha, v, dv, o, d_o, lse;
    struct tensor want_dalpha, want_dv, want_o, want_lse;
};

static bool is_table(char kind)
{
    return kind == 'T' || kind == 'F';
}

static bool is_key_table(char kind)
{
    return kind == 'K' || kind == 'k';
}

enum { SPARE = 3 }; /* columns of a leading dimension beyond the heads' */

/* NaN in padded rows of a [batch·length, ld] tensor. */
static void poison(struct tensor *t, long ld, long length, const int32_t *lengths, long batch)
{
    for (long b = 0; lengths && b < batch; b++)
        for (long i = lengths[b]; i < length; i++)
            for (long c = 0; c < ld; c++)
                put(t, (b * length + i) * ld + c, NAN);
}

static struct tensor make_rows(const struct logits_run *r, long length, long width, const int32_t *lengths)
{
    long ld = r->c->heads * width + SPARE;
    struct tensor t = drawn(r->c->batch * length * ld, r->d->kernels.act, 1);
    poison(&t, ld, length, lengths, r->c->batch);
    return t;
}

static struct tensor zeros_like(const struct tensor *t, double x)
{
    return filled(t->n, t->type, x);
}

static void make_keys(struct logits_run *r, int p, char kind)
{
    const struct logits_case *c = r->c;
    struct oa_part *part = &r->a.part[p];
    struct part_tensors *t = &r->part[p];
    if (!is_key_table(kind)) {
        t->k = make_rows(r, c->keys, c->width, r->a.shape.key_lengths);
        part->ldk = c->heads * c->width + SPARE;
        t->dk = zeros_like(&t->k, NAN);
        return;
    }
    long n = c->keys + 2, tables = kind == 'k' ? 1 : c->heads;
    t->k = drawn(tables * n * c->width, r->d->kernels.act, 1);
    part->k_table = true;
    part->ldk = c->width;
    part->k_head_stride = kind == 'k' ? 0 : n * c->width;
    t->dk = filled(t->k.n, r->d->kernels.real, 0.5);
}

static void make_bias(struct logits_run *r, int p, char kind)
{
    long n = r->c->keys + 2;
    struct part_tensors *t = &r->part[p];
    if (kind == 'D')
        return;
    r->a.part[p].bias_head_stride = kind == 'k' ? 0 : n;
    t->bias = drawn((kind == 'k' ? 1 : r->c->heads) * n, r->d->kernels.real, 1);
    t->dbias = zeros_like(&t->bias, 0.5);
}

static void make_table(struct logits_run *r, int p, char kind)
{
    long n = (r->c->keys > r->c->queries ? r->c->keys : r->c->queries) + 3;
    struct part_tensors *t = &r->part[p];
    r->a.part[p].kind = OA_PART_TABLE;
    r->a.part[p].table_length = n;
    t->table = drawn(r->c->heads * n * n, r->d->kernels.real, 1);
    if (kind == 'T')
        t->dtable = zeros_like(&t->table, 0.5);
}

static void make_part(struct logits_run *r, int p, char kind)
{
    const struct logits_case *c = r->c;
    struct oa_part *part = &r->a.part[p];
    struct part_tensors *t = &r->part[p];
    if (is_table(kind)) {
        make_table(r, p, kind);
    } else {
        part->width = c->width;
        part->scale = p == 0 ? 1 / sqrt((double)c->width) : 0.7;
        part->ldq = c->heads * c->width + SPARE;
        t->q = make_rows(r, c->queries, c->width, r->a.shape.query_lengths);
        t->dq = zeros_like(&t->q, NAN);
        make_keys(r, p, kind);
        make_bias(r, p, kind);
    }
    part->q = t->q.data, part->dq = t->dq.data;
    part->k = t->k.data, part->dk = t->dk.data;
    part->bias = t->bias.data, part->dbias = t->dbias.data;
    part->table = t->table.data, part->dtable = t->dtable.data;
}

static void make_shape(struct logits_run *r)
{
    const struct logits_case *c = r->c;
    static const int cuts[] = { 3, 0, 1, 2 };
    r->a.shape = (struct oa_attention_shape){ .batch = c->batch,
                                              .queries = c->queries,
                                              .keys = c->keys,
                                              .heads = c->heads,
                                              .value_width = c->value_width,
                                              .causal = c->causal };
    if (!c->lengths)
        return;
    for (long b = 0; b < c->batch; b++) /* ¾, 0, ¼, ½ */
        r->lengths[b] = (int32_t)((c->keys * cuts[b % 4] + 3) / 4);
    r->a.shape.key_lengths = r->lengths;
    if (c->queries == c->keys)
        r->a.shape.query_lengths = r->lengths;
}

static void make_run(struct logits_run *r, const struct logits_case *c, struct oa_device *d)
{
    *r = (struct logits_run){ .c = c, .d = d };
    draws = 1;
    make_shape(r);
    r->a.support = c->support;
    r->a.parts = (int)strlen(c->parts);
    for (int p = 0; p < r->a.parts; p++)
        make_part(r, p, c->parts[p]);
    if (c->alpha) {
        r->alpha = drawn(c->heads * r->a.parts, d->kernels.real, 1);
        r->dalpha = zeros_like(&r->alpha, 0.5);
    }
    r->v = make_rows(r, c->keys, c->value_width, r->a.shape.key_lengths);
    r->dv = zeros_like(&r->v, NAN);
    r->d_o = make_rows(r, c->queries, c->value_width, r->a.shape.query_lengths);
    r->o = zeros_like(&r->d_o, NAN);
    r->lse = filled(c->batch * c->heads * c->queries, d->kernels.real, NAN);
    r->a.alpha = r->alpha.data, r->a.dalpha = r->dalpha.data;
    r->a.v = r->v.data, r->a.dv = r->dv.data, r->a.ldv = c->heads * c->value_width + SPARE;
    r->a.o = r->o.data, r->a.d_o = r->d_o.data, r->a.ldo = c->heads * c->value_width + SPARE;
    r->a.lse = r->lse.data;
    r->a.keep = c->keep == 0 ? 1 : c->keep;
    r->a.dropout = oa_stream_named(3, "dropout");
}

static void drop_run(struct logits_run *r)
{
    for (struct tensor *t = (struct tensor *)r->part; t < (struct tensor *)(r->part + OA_MAX_PARTS); t++)
        drop(t);
    for (struct tensor *t = &r->alpha; t <= &r->want_lse; t++)
        drop(t);
}

/* The block sizes of a device, changed for a case. */
static struct oa_kernels use_blocks(struct logits_run *r)
{
    struct oa_kernels before = r->d->kernels;
    if (r->c->query_block)
        r->d->kernels.query_block = r->c->query_block;
    if (r->c->key_block)
        r->d->kernels.key_block = r->c->key_block;
    return before;
}

static void forward(struct logits_run *r)
{
    struct oa_kernels before = use_blocks(r);
    r->d->ops->logits(r->d, &r->a);
    r->d->kernels = before;
}

static void backward(struct logits_run *r)
{
    struct oa_kernels before = use_blocks(r);
    r->d->ops->logits_gradient(r->d, &r->a);
    r->d->kernels = before;
}

/* ---- the logits engine in plain loops ------------------------------------------------------------------------------
 */

static long at(const struct logits_run *r, long b, long length, long i, long h, long width, long e)
{
    return (b * length + i) * (r->c->heads * width + SPARE) + h * width + e;
}

static bool visible(const struct logits_run *r, long b, long h, long i, long j)
{
    const struct oa_attention_shape *s = &r->a.shape;
    if ((s->key_lengths && j >= s->key_lengths[b]) || (s->query_lengths && i >= s->query_lengths[b]))
        return false;
    if (s->causal && j > i)
        return false;
    return !r->c->support || r->c->support->visible(r->c->support, s, h, i, j);
}

static long key_at(const struct logits_run *r, int p, long b, long h, long j, long e)
{
    const struct oa_part *part = &r->a.part[p];
    return part->k_table ? h * part->k_head_stride + j * part->width + e : at(r, b, r->c->keys, j, h, part->width, e);
}

static double logit(const struct logits_run *r, int p, long b, long h, long i, long j)
{
    const struct oa_part *part = &r->a.part[p];
    const struct part_tensors *t = &r->part[p];
    if (part->kind == OA_PART_TABLE)
        return t->table.value[(h * part->table_length + i) * part->table_length + j];
    double sum = 0;
    for (long e = 0; e < part->width; e++)
        sum += t->q.value[at(r, b, r->c->queries, i, h, part->width, e)] * t->k.value[key_at(r, p, b, h, j, e)];
    return part->scale * sum + (part->bias ? t->bias.value[h * part->bias_head_stride + j] : 0);
}

static double alpha_of(const struct logits_run *r, long h, int p)
{
    return r->a.alpha ? r->alpha.value[h * r->a.parts + p] : 1;
}

static double mask(const struct logits_run *r, long b, long h, long i, long j)
{
    const struct oa_attention_shape *s = &r->a.shape;
    uint64_t row = (uint64_t)((b * s->heads + h) * s->queries + i);
    uint32_t word[4];
    if (r->a.keep >= 1)
        return 1;
    oa_random_block(r->a.dropout, row * (uint64_t)((s->keys + 3) / 4) + (uint64_t)j / 4, word);
    return word[j % 4] < r->a.keep * 4294967296.0 ? 1 / r->a.keep : 0;
}

/* Row i of P; returns lse. */
static double weights(const struct logits_run *r, long b, long h, long i, double *p)
{
    double top = -INFINITY, sum = 0;
    for (long j = 0; j < r->c->keys; j++) {
        p[j] = 0;
        for (int c = 0; c < r->a.parts && visible(r, b, h, i, j); c++)
            p[j] += alpha_of(r, h, c) * logit(r, c, b, h, i, j);
        if (visible(r, b, h, i, j))
            top = fmax(top, p[j]);
    }
    for (long j = 0; j < r->c->keys; j++) {
        p[j] = visible(r, b, h, i, j) ? exp(p[j] - top) : 0;
        sum += p[j];
    }
    for (long j = 0; j < r->c->keys && sum > 0; j++)
        p[j] /= sum;
    return sum > 0 ? top + log(sum) : -INFINITY;
}

static void want_part(struct logits_run *r, int p, long b, long h, long i, long j, double ds)
{
    const struct oa_part *part = &r->a.part[p];
    struct part_tensors *t = &r->part[p];
    double alpha = alpha_of(r, h, p);
    if (r->a.dalpha)
        r->want_dalpha.value[h * r->a.parts + p] += ds * logit(r, p, b, h, i, j);
    if (part->kind == OA_PART_TABLE) {
        if (part->dtable)
            t->want_dtable.value[(h * part->table_length + i) * part->table_length + j] += alpha * ds;
        return;
    }
    for (long e = 0; e < part->width; e++) {
        long q = at(r, b, r->c->queries, i, h, part->width, e), k = key_at(r, p, b, h, j, e);
        t->want_dq.value[q] += alpha * part->scale * ds * t->k.value[k];
        t->want_dk.value[k] += alpha * part->scale * ds * t->q.value[q];
    }
    if (part->bias)
        t->want_dbias.value[h * part->bias_head_stride + j] += alpha * ds;
}

static double row_product(const struct logits_run *r, const struct tensor *x, long b, long i, long h, long j)
{
    double sum = 0;
    long v = r->c->value_width;
    for (long e = 0; e < v; e++)
        sum += x->value[at(r, b, r->c->queries, i, h, v, e)] * r->v.value[at(r, b, r->c->keys, j, h, v, e)];
    return sum;
}

static void want_row(struct logits_run *r, long b, long h, long i, double *p)
{
    long v = r->c->value_width, rows = r->c->queries, keys = r->c->keys;
    double delta = 0;
    r->want_lse.value[(b * r->c->heads + h) * rows + i] = weights(r, b, h, i, p);
    for (long j = 0; j < keys; j++) {
        if (p[j] == 0)
            continue;
        double kept = p[j] * mask(r, b, h, i, j);
        for (long e = 0; e < v; e++) {
            r->want_o.value[at(r, b, rows, i, h, v, e)] += kept * r->v.value[at(r, b, keys, j, h, v, e)];
            r->want_dv.value[at(r, b, keys, j, h, v, e)] += kept * r->d_o.value[at(r, b, rows, i, h, v, e)];
        }
        delta += kept * row_product(r, &r->d_o, b, i, h, j);
    }
    for (long j = 0; j < keys; j++)
        for (int c = 0; c < r->a.parts && p[j] != 0; c++)
            want_part(r, c, b, h, i, j, p[j] * (mask(r, b, h, i, j) * row_product(r, &r->d_o, b, i, h, j) - delta));
}

/* Zeros in the columns of the heads; the spare ones are not written and stay NaN in both. */
static struct tensor want_rows(const struct tensor *t)
{
    return t->data ? filled(t->n, OA_F64, 0) : (struct tensor){ 0 };
}

static struct tensor want_sums(const struct tensor *t)
{
    return t->data ? filled(t->n, OA_F64, 0.5) : (struct tensor){ 0 };
}

static void want_all(struct logits_run *r)
{
    double *p = malloc((size_t)(r->c->keys + 1) * sizeof *p);
    r->want_o = want_rows(&r->o);
    r->want_dv = want_rows(&r->dv);
    r->want_lse = want_rows(&r->lse);
    r->want_dalpha = want_sums(&r->dalpha);
    for (int c = 0; c < r->a.parts; c++) {
        struct part_tensors *t = &r->part[c];
        t->want_dq = want_rows(&t->dq);
        t->want_dk = r->a.part[c].k_table ? want_sums(&t->dk) : want_rows(&t->dk);
        t->want_dbias = want_sums(&t->dbias);
        t->want_dtable = want_sums(&t->dtable);
    }
    for (long b = 0; b < r->c->batch; b++)
        for (long h = 0; h < r->c->heads; h++)
            for (long i = 0; i < r->c->queries; i++)
                want_row(r, b, h, i, p);
    free(p);
}

/* ---- comparing ------------------------------------------------------------------------------------------------------
 */

static void fail_case(const struct logits_run *r, const char *what, double error)
{
    const struct logits_case *c = r->c;
    fail_msg("%s: %s is off by %g: parts %s B %ld T %ld S %ld H %ld K %ld V %ld%s%s%s support %s keep %g",
             oa_precision_name(r->d->kernels.precision), what, error, c->parts, c->batch, c->queries, c->keys, c->heads,
             c->width, c->value_width, c->causal ? " causal" : "", c->lengths ? " lengths" : "",
             c->alpha ? " alpha" : "", c->support ? c->support->name : "-", c->keep);
}

static void check(const struct logits_run *r, const char *what, const struct tensor *got, const struct tensor *want)
{
    if (!want->n)
        return;
    double error = distance(got, want, &r->d_o);
    if (!(error <= tolerance(r->d->kernels.precision)))
        fail_case(r, what, error);
}

/* As check, of a tensor with leading dimension: the spare columns must still hold NaN. */
static void check_rows(const struct logits_run *r, const char *what, struct tensor *got, const struct tensor *want,
                       long width)
{
    long ld = r->c->heads * width + SPARE;
    for (long i = 0; i < want->n; i++)
        if (i % ld >= ld - SPARE) {
            if (!isnan(get(got, i)))
                fail_case(r, "a column that belongs to nobody", get(got, i));
            put(got, i, 0);
        }
    check(r, what, got, want);
}

static void check_lse(const struct logits_run *r)
{
    for (long i = 0; i < r->lse.n; i++) {
        double got = get(&r->lse, i), want = r->want_lse.value[i];
        bool same =
            want == -INFINITY ? got == want : fabs(got - want) <= tolerance(r->d->kernels.precision) * (1 + fabs(want));
        if (!same)
            fail_case(r, "lse", got - want);
    }
}

static void check_run(struct logits_run *r)
{
    check_lse(r);
    check_rows(r, "o", &r->o, &r->want_o, r->c->value_width);
    check_rows(r, "dv", &r->dv, &r->want_dv, r->c->value_width);
    check(r, "dalpha", &r->dalpha, &r->want_dalpha);
    for (int c = 0; c < r->a.parts; c++) {
        struct part_tensors *t = &r->part[c];
        check_rows(r, "dq", &t->dq, &t->want_dq, r->c->width);
        if (r->a.part[c].k_table)
            check(r, "dk", &t->dk, &t->want_dk);
        else
            check_rows(r, "dk", &t->dk, &t->want_dk, r->c->width);
        check(r, "dbias", &t->dbias, &t->want_dbias);
        check(r, "dtable", &t->dtable, &t->want_dtable);
    }
}

static void run_case(const struct logits_case *c, enum oa_precision p)
{
    struct logits_run r;
    make_run(&r, c, devices[p]);
    want_all(&r);
    forward(&r);
    backward(&r);
    assert_int_equal(oa_status(context), OA_OK);
    check_run(&r);
    drop_run(&r);
}

static void run_case_everywhere(struct logits_case c)
{
    for (int p = 0; p < 3; p++) {
        c.query_block = c.key_block = 0;
        run_case(&c, (enum oa_precision)p);
        c.query_block = 16;
        c.key_block = 32;
        run_case(&c, (enum oa_precision)p);
    }
}

/* ---- tests of the logits engine
 * --------------------------------------------------------------------------------------- */

static void sizes(void **state)
{
    static const long lengths[] = { 1, 7, 65, 130 }, widths[] = { 1, 4, 5, 16, 64 };
    (void)state;
    for (int l = 0; l < 4; l++)
        for (int w = 0; w < 5; w++)
            for (int causal = 0; causal < 2; causal++)
                run_case_everywhere((struct logits_case){ .parts = "D",
                                                          .batch = 2,
                                                          .queries = lengths[l],
                                                          .keys = lengths[l],
                                                          .heads = 2,
                                                          .width = widths[w],
                                                          .value_width = widths[(w + 2) % 5],
                                                          .causal = causal });
}

static const char *const mixtures[] = { "D", "B", "K", "k", "T", "F", "DD", "DT", "KT", "TF", "kDB" };

static void parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++)
        for (int flags = 0; flags < 8; flags++)
            run_case_everywhere((struct logits_case){ .parts = mixtures[i],
                                                      .batch = 3,
                                                      .queries = 37,
                                                      .keys = 37,
                                                      .heads = 3,
                                                      .width = 5,
                                                      .value_width = 8,
                                                      .causal = flags & 1,
                                                      .lengths = flags & 2,
                                                      .alpha = flags & 4 });
}

static void supports(void **state)
{
    static const struct oa_support *const all[] = { &window, &dilated, &hashed };
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int flags = 0; flags < 8; flags++)
            run_case_everywhere((struct logits_case){ .parts = flags & 4 ? "DT" : "D",
                                                      .batch = 2,
                                                      .queries = 130,
                                                      .keys = 130,
                                                      .heads = 2,
                                                      .width = 8,
                                                      .value_width = 5,
                                                      .causal = flags & 1,
                                                      .lengths = flags & 2,
                                                      .alpha = flags & 4,
                                                      .support = all[i] });
    run_case_everywhere((struct logits_case){
        .parts = "T", .batch = 2, .queries = 100, .keys = 100, .heads = 2, .value_width = 5, .support = &hashed });
}

static void cross(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++)
        run_case_everywhere((struct logits_case){ .parts = mixtures[i],
                                                  .batch = 4,
                                                  .queries = 19,
                                                  .keys = 70,
                                                  .heads = 2,
                                                  .width = 4,
                                                  .value_width = 4,
                                                  .lengths = i % 2 });
    run_case_everywhere((struct logits_case){
        .parts = "D", .batch = 1, .queries = 70, .keys = 3, .heads = 1, .width = 4, .value_width = 4 });
}

static void dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++)
        run_case_everywhere((struct logits_case){ .parts = mixtures[i],
                                                  .batch = 2,
                                                  .queries = 37,
                                                  .keys = 37,
                                                  .heads = 2,
                                                  .width = 5,
                                                  .value_width = 8,
                                                  .lengths = i % 2,
                                                  .alpha = i % 3 == 0,
                                                  .causal = i % 4 == 1,
                                                  .keep = 0.7 });
    run_case_everywhere((struct logits_case){ .parts = "D",
                                              .batch = 2,
                                              .queries = 130,
                                              .keys = 130,
                                              .heads = 2,
                                              .width = 5,
                                              .value_width = 8,
                                              .support = &window,
                                              .keep = 0.7 });
}

/* With V = 1 and equal logits, O is the share of keys that were kept, over the keep rate. */
static void keep_rate(void **state)
{
    (void)state;
    struct logits_case c = {
        .parts = "D", .batch = 2, .queries = 300, .keys = 300, .heads = 2, .width = 1, .value_width = 1, .keep = 0.9
    };
    struct logits_run r;
    double mean = 0, pairs = 2 * 2 * 300 * 300;
    make_run(&r, &c, devices[OA_PRECISION_F64]);
    for (long i = 0; i < r.v.n; i++) {
        put(&r.v, i, 1);
        put(&r.part[0].q, i, 0);
    }
    forward(&r);
    for (long i = 0; i < 2 * 300; i++)
        for (long h = 0; h < 2; h++)
            mean += get(&r.o, i * (2 + SPARE) + h) / (2 * 2 * 300);
    assert_true(fabs(mean - 1) < 4 * sqrt(0.1 * 0.9 / pairs) / 0.9);
    drop_run(&r);
}

/* Σ o·dO, the function whose gradient backward gives. */
static double objective(struct logits_run *r)
{
    double sum = 0;
    forward(r);
    for (long i = 0; i < r->o.n; i++) {
        double o = get(&r->o, i), weight = get(&r->d_o, i);
        sum += isnan(o) || isnan(weight) ? 0 : o * weight;
    }
    return sum;
}

/* The derivative along a random direction of one input against the gradient. */
static void check_direction(struct logits_run *r, const char *what, struct tensor *x, const struct tensor *gradient,
                            double offset)
{
    const double step = 1e-5;
    if (!x->n || !gradient->n)
        return;
    struct tensor direction = drawn(x->n, OA_F64, 1);
    double slope = 0, ends[2];
    for (int sign = 0; sign < 2; sign++) {
        for (long i = 0; i < x->n; i++)
            if (!isnan(get(x, i)))
                put(x, i, x->value[i] + (sign ? step : -step) * direction.value[i]);
        ends[sign] = objective(r);
    }
    for (long i = 0; i < x->n; i++) {
        double g = get(gradient, i) - offset;
        if (!isnan(get(x, i))) {
            put(x, i, x->value[i]);
            slope += isnan(g) ? 0 : g * direction.value[i];
        }
    }
    double difference = (ends[1] - ends[0]) / (2 * step);
    if (!(fabs(difference - slope) <= 1e-6 * (1 + fabs(slope))))
        fail_case(r, what, difference - slope);
    drop(&direction);
}

static void differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++)
        for (int flags = 0; flags < 4; flags++) {
            struct logits_case c = { .parts = mixtures[i],
                                     .batch = 2,
                                     .queries = 33,
                                     .keys = 33,
                                     .heads = 2,
                                     .width = 4,
                                     .value_width = 3,
                                     .causal = flags & 1,
                                     .alpha = true,
                                     .lengths = flags & 1,
                                     .keep = flags & 2 ? 0.8 : 1,
                                     .query_block = 16,
                                     .key_block = 16 };
            struct logits_run r;
            make_run(&r, &c, devices[OA_PRECISION_F64]);
            forward(&r);
            backward(&r);
            check_direction(&r, "dv by differences", &r.v, &r.dv, 0);
            check_direction(&r, "dalpha by differences", &r.alpha, &r.dalpha, 0.5);
            for (int p = 0; p < r.a.parts; p++) {
                struct part_tensors *t = &r.part[p];
                check_direction(&r, "dq by differences", &t->q, &t->dq, 0);
                check_direction(&r, "dk by differences", &t->k, &t->dk, r.a.part[p].k_table ? 0.5 : 0);
                check_direction(&r, "dbias by differences", &t->bias, &t->dbias, 0.5);
                check_direction(&r, "dtable by differences", &t->table, &t->dtable, 0.5);
            }
            drop_run(&r);
        }
}

/* Gradients that are not asked for change nothing in the others. */
static void unwanted(void **state)
{
    (void)state;
    for (int skip = 0; skip < 4; skip++) {
        struct logits_case c = { .parts = skip == 3 ? "T" : "DK",
                                 .batch = 2,
                                 .queries = 37,
                                 .keys = 37,
                                 .heads = 2,
                                 .width = 5,
                                 .value_width = 8,
                                 .query_block = 16,
                                 .key_block = 16 };
        struct logits_run r;
        make_run(&r, &c, devices[OA_PRECISION_F32]);
        want_all(&r);
        if (skip == 0) {
            r.a.dv = NULL;
            memset(r.want_dv.value, 0, (size_t)r.want_dv.n * sizeof(double)), r.want_dv.n = 0;
        } else if (skip == 1) {
            r.a.part[0].dq = NULL, r.part[0].want_dq.n = 0;
            r.a.part[1].dk = NULL, r.part[1].want_dk.n = 0;
        } else if (skip == 2) {
            r.a.part[0].dk = NULL, r.part[0].want_dk.n = 0;
            r.a.part[1].dbias = NULL, r.part[1].want_dbias.n = 0;
        } else {
            r.a.part[0].dtable = NULL, r.part[0].want_dtable.n = 0;
        }
        forward(&r);
        backward(&r);
        check_run(&r);
        drop_run(&r);
    }
}

/* Extreme logits: the softmax must neither overflow nor lose the small ones. */
static void extremes(void **state)
{
    (void)state;
    struct logits_case c = { .parts = "D",
                             .batch = 1,
                             .queries = 65,
                             .keys = 65,
                             .heads = 1,
                             .width = 2,
                             .value_width = 4,
                             .query_block = 16,
                             .key_block = 16 };
    for (int p = 0; p < 3; p++) {
        struct logits_run r;
        make_run(&r, &c, devices[p]);
        for (long i = 0; i < r.part[0].q.n; i++)
            set(&r.part[0].q, i, r.part[0].q.value[i] > 0 ? 64 : -64);
        want_all(&r);
        forward(&r);
        backward(&r);
        check_rows(&r, "o", &r.o, &r.want_o, 4);
        check_rows(&r, "dv", &r.dv, &r.want_dv, 4);
        drop_run(&r);
    }
}

/* ---- linear attention
 * --------------------------------------------------------------------------------------------------- */

struct linear_case {
    long batch, queries, keys, heads, features, value_width;
    bool causal, lengths, positive;
    bool scaled;       /* keys have logarithmic scales, which rise and fall over 200 */
    bool full_queries; /* with lengths: only keys are padded */
    enum oa_denominator policy;
    double epsilon;
};

struct linear_run {
    const struct linear_case *c;
    struct oa_device *d;
    struct oa_linear_attention a;
    int32_t lengths[8];
    struct tensor fq, fk, v, o, d_o, den, dfq, dfk, dv, scale;
    struct tensor want_o, want_dfq, want_dfk, want_dv;
};

static struct tensor linear_rows(const struct linear_run *r, long length, long width, const int32_t *lengths,
                                 bool positive)
{
    long ld = r->c->heads * width + SPARE;
    struct tensor t = drawn(r->c->batch * length * ld, r->d->kernels.act, 1);
    for (long i = 0; i < t.n && positive; i++)
        set(&t, i, 0.25 + fabs(t.value[i])); /* dφ grows as 1/φ */
    poison(&t, ld, length, lengths, r->c->batch);
    return t;
}

static void make_linear(struct linear_run *r, const struct linear_case *c, struct oa_device *d)
{
    *r = (struct linear_run){ .c = c, .d = d };
    draws = 1000;
    r->a.shape = (struct oa_attention_shape){ .batch = c->batch,
                                              .queries = c->queries,
                                              .keys = c->keys,
                                              .heads = c->heads,
                                              .value_width = c->value_width,
                                              .causal = c->causal };
    if (c->lengths) {
        for (long b = 0; b < c->batch; b++)
            r->lengths[b] = (int32_t)(c->keys * (3 - b % 4) / 3);
        r->a.shape.key_lengths = r->lengths;
        r->a.shape.query_lengths = c->queries == c->keys && !c->full_queries ? r->lengths : NULL;
    }
    const int32_t *queries = r->a.shape.query_lengths, *keys = r->a.shape.key_lengths;
    r->fq = linear_rows(r, c->queries, c->features, queries, c->positive);
    r->fk = linear_rows(r, c->keys, c->features, keys, c->positive);
    r->v = linear_rows(r, c->keys, c->value_width, keys, false);
    r->d_o = linear_rows(r, c->queries, c->value_width, queries, false);
    r->o = zeros_like(&r->d_o, NAN);
    r->dfq = zeros_like(&r->fq, NAN);
    r->dfk = zeros_like(&r->fk, NAN);
    r->dv = zeros_like(&r->v, NAN);
    r->den = filled(c->batch * c->heads * c->queries, d->kernels.real, NAN);
    if (c->scaled) {
        r->scale = filled(c->batch * c->heads * c->keys, d->kernels.real, 0);
        for (long i = 0; i < r->scale.n; i++)
            set(&r->scale, i, 100 * sin(0.03 * (double)i) + (double)(i % 3));
        r->a.key_scale = r->scale.data;
    }
    r->a.features = c->features;
    r->a.fq = r->fq.data, r->a.fk = r->fk.data, r->a.dfq = r->dfq.data, r->a.dfk = r->dfk.data;
    r->a.ldfq = r->a.ldfk = c->heads * c->features + SPARE;
    r->a.v = r->v.data, r->a.dv = r->dv.data, r->a.o = r->o.data, r->a.d_o = r->d_o.data;
    r->a.ldv = r->a.ldo = c->heads * c->value_width + SPARE;
    r->a.den = r->den.data;
    r->a.policy = c->policy;
    r->a.epsilon = c->epsilon;
}

static void drop_linear(struct linear_run *r)
{
    for (struct tensor *t = &r->fq; t <= &r->want_dv; t++)
        drop(t);
}

static long linear_at(const struct linear_run *r, long b, long length, long i, long h, long width, long e)
{
    return (b * length + i) * (r->c->heads * width + SPARE) + h * width + e;
}

static double scale_of(const struct linear_run *r, long b, long h, long j)
{
    return r->c->scaled ? r->scale.value[(b * r->c->heads + h) * r->c->keys + j] : 0;
}

/* e^{c_j − the largest c of `keys` keys} */
static double decay(const struct linear_run *r, long b, long h, long j, long keys)
{
    double most = -INFINITY;
    for (long l = 0; l < keys && r->c->scaled; l++)
        most = fmax(most, scale_of(r, b, h, l));
    return r->c->scaled ? exp(scale_of(r, b, h, j) - most) : 1;
}

static double kernel(const struct linear_run *r, long b, long h, long i, long j)
{
    double sum = 0;
    long f = r->c->features;
    for (long e = 0; e < f; e++)
        sum += r->fq.value[linear_at(r, b, r->c->queries, i, h, f, e)] *
               r->fk.value[linear_at(r, b, r->c->keys, j, h, f, e)];
    return sum;
}

static double with_policy(const struct linear_case *c, double den, bool *active)
{
    *active = (c->policy == OA_DENOMINATOR_SIGN && fabs(den) < c->epsilon) ||
              (c->policy == OA_DENOMINATOR_CLAMP && den < c->epsilon);
    if (*active)
        return den < 0 && c->policy == OA_DENOMINATOR_SIGN ? -c->epsilon : c->epsilon;
    return c->policy == OA_DENOMINATOR_ADD ? den + c->epsilon : den;
}

/* w_ij = a_ij/den: O_i = Σ w_ij v_j; da_ij = (dO_i·v_j − [den follows] dO_i·O_i)/den. */
static void want_linear_row(struct linear_run *r, long b, long h, long i, long keys, double *a)
{
    const struct linear_case *c = r->c;
    long v = c->value_width, f = c->features;
    double den = 0, along = 0;
    bool active;
    for (long j = 0; j < keys; j++) {
        a[j] = kernel(r, b, h, i, j) * decay(r, b, h, j, keys);
        den += a[j];
    }
    den = with_policy(c, den, &active);
    for (long j = 0; j < keys && den != 0; j++)
        for (long e = 0; e < v; e++) {
            double w = a[j] / den, d_o = r->d_o.value[linear_at(r, b, c->queries, i, h, v, e)];
            double value = r->v.value[linear_at(r, b, c->keys, j, h, v, e)];
            r->want_o.value[linear_at(r, b, c->queries, i, h, v, e)] += w * value;
            r->want_dv.value[linear_at(r, b, c->keys, j, h, v, e)] += w * d_o;
            along += active ? 0 : w * value * d_o;
        }
    for (long j = 0; j < keys && den != 0; j++) {
        double da = -along / den;
        for (long e = 0; e < v; e++)
            da += r->d_o.value[linear_at(r, b, c->queries, i, h, v, e)] *
                  r->v.value[linear_at(r, b, c->keys, j, h, v, e)] / den;
        da *= decay(r, b, h, j, keys);
        for (long e = 0; e < f; e++) {
            long q = linear_at(r, b, c->queries, i, h, f, e), k = linear_at(r, b, c->keys, j, h, f, e);
            r->want_dfq.value[q] += da * r->fk.value[k];
            r->want_dfk.value[k] += da * r->fq.value[q];
        }
    }
}

static void want_linear(struct linear_run *r)
{
    const struct oa_attention_shape *s = &r->a.shape;
    double *a = malloc((size_t)(s->keys + 1) * sizeof *a);
    r->want_o = want_rows(&r->o);
    r->want_dfq = want_rows(&r->dfq);
    r->want_dfk = want_rows(&r->dfk);
    r->want_dv = want_rows(&r->dv);
    for (long b = 0; b < s->batch; b++)
        for (long h = 0; h < s->heads; h++)
            for (long i = 0; i < (s->query_lengths ? s->query_lengths[b] : s->queries); i++) {
                long keys = s->key_lengths ? s->key_lengths[b] : s->keys;
                want_linear_row(r, b, h, i, s->causal && i + 1 < keys ? i + 1 : keys, a);
            }
    free(a);
}

static void check_linear(const struct linear_run *r, const char *what, const struct tensor *got,
                         const struct tensor *want, long width)
{
    const struct linear_case *c = r->c;
    long ld = c->heads * width + SPARE;
    for (long i = 0; i < got->n; i++)
        if (i % ld >= ld - SPARE)
            put((struct tensor *)(uintptr_t)got, i, 0);
    double error = distance(got, want, &r->d_o);
    if (!(error <= tolerance(r->d->kernels.precision)))
        fail_msg("%s: linear attention, %s is off by %g: B %ld T %ld S %ld H %ld r %ld V %ld%s%s policy %d",
                 oa_precision_name(r->d->kernels.precision), what, error, c->batch, c->queries, c->keys, c->heads,
                 c->features, c->value_width, c->causal ? " causal" : "", c->lengths ? " lengths" : "", c->policy);
}

static void run_linear(const struct linear_case *c, enum oa_precision p)
{
    struct linear_run r;
    make_linear(&r, c, devices[p]);
    want_linear(&r);
    r.d->ops->linear_attention(r.d, &r.a);
    r.d->ops->linear_attention_gradient(r.d, &r.a);
    check_linear(&r, "o", &r.o, &r.want_o, c->value_width);
    check_linear(&r, "dfq", &r.dfq, &r.want_dfq, c->features);
    check_linear(&r, "dfk", &r.dfk, &r.want_dfk, c->features);
    check_linear(&r, "dv", &r.dv, &r.want_dv, c->value_width);
    drop_linear(&r);
}

/* One key or one feature: the weights do not depend on φ, and dφ = 0 is the difference of two equal large numbers, of
 * which fewer digits than those of f64 leave rounding noise only. */
static bool only_noise(const struct linear_case *c, int p)
{
    return p != OA_PRECISION_F64 && (c->keys == 1 || c->features == 1);
}

static void linear_sizes(void **state)
{
    static const long lengths[] = { 1, 7, 65, 130, 200 }, widths[] = { 1, 4, 5, 16, 64 };
    (void)state;
    for (int l = 0; l < 5; l++)
        for (int w = 0; w < 5; w++)
            for (int flags = 0; flags < 4; flags++)
                for (int p = 0; p < 3; p++) {
                    struct linear_case c = { .batch = 2,
                                             .queries = lengths[l],
                                             .keys = lengths[l],
                                             .heads = 2,
                                             .features = widths[w],
                                             .value_width = widths[(w + 3) % 5],
                                             .causal = flags & 1,
                                             .lengths = flags & 2,
                                             .positive = true,
                                             .epsilon = 1e-6 };
                    if (!only_noise(&c, p))
                        run_linear(&c, (enum oa_precision)p);
                }
}

static void linear_policies(void **state)
{
    (void)state;
    for (int policy = 0; policy < 4; policy++)
        for (int flags = 0; flags < 4; flags++) {
            struct linear_case c = { .batch = 4,
                                     .queries = 70,
                                     .keys = flags & 2 ? 40 : 70,
                                     .heads = 1,
                                     .features = 3,
                                     .value_width = 4,
                                     .causal = flags & 1 && !(flags & 2),
                                     .lengths = true,
                                     .positive = policy == OA_DENOMINATOR_NONE || policy == OA_DENOMINATOR_ADD,
                                     .policy = (enum oa_denominator)policy,
                                     .epsilon = 5 };
            run_linear(&c, OA_PRECISION_F64); /* signed features: only a double knows which side of a clamp it is on */
            if (c.positive)
                run_linear(&c, OA_PRECISION_F32);
        }
}

static void linear_scales(void **state)
{
    (void)state;
    for (int flags = 0; flags < 8; flags++)
        for (int p = 0; p < 3; p++)
            run_linear(&(struct linear_case){ .batch = 3,
                                              .queries = 150,
                                              .keys = 150,
                                              .heads = 2,
                                              .features = 6,
                                              .value_width = 5,
                                              .causal = flags & 1,
                                              .lengths = flags & 2,
                                              .full_queries = flags & 4,
                                              .positive = true,
                                              .scaled = true,
                                              .policy = OA_DENOMINATOR_CLAMP,
                                              .epsilon = 1e-30 },
                       (enum oa_precision)p);
}

static double linear_objective(struct linear_run *r)
{
    double sum = 0;
    r->d->ops->linear_attention(r->d, &r->a);
    for (long i = 0; i < r->o.n; i++) {
        double o = get(&r->o, i), weight = get(&r->d_o, i);
        sum += isnan(o) || isnan(weight) ? 0 : o * weight;
    }
    return sum;
}

static void check_linear_direction(struct linear_run *r, struct tensor *x, const struct tensor *gradient)
{
    const double step = 1e-5;
    struct tensor direction = drawn(x->n, OA_F64, 1);
    double slope = 0, ends[2];
    for (int sign = 0; sign < 2; sign++) {
        for (long i = 0; i < x->n; i++)
            put(x, i, x->value[i] + (sign ? step : -step) * direction.value[i]);
        ends[sign] = linear_objective(r);
    }
    for (long i = 0; i < x->n; i++) {
        put(x, i, x->value[i]);
        slope += isnan(get(gradient, i)) ? 0 : get(gradient, i) * direction.value[i];
    }
    assert_true(fabs((ends[1] - ends[0]) / (2 * step) - slope) <= 1e-5 * (1 + fabs(slope)));
    drop(&direction);
}

static void linear_differences(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        struct linear_case c = { .batch = 2,
                                 .queries = 90,
                                 .keys = 90,
                                 .heads = 2,
                                 .features = 5,
                                 .value_width = 4,
                                 .causal = causal,
                                 .positive = true,
                                 .epsilon = 1e-6 };
        struct linear_run r;
        make_linear(&r, &c, devices[OA_PRECISION_F64]);
        linear_objective(&r);
        r.d->ops->linear_attention_gradient(r.d, &r.a);
        check_linear_direction(&r, &r.fq, &r.dfq);
        check_linear_direction(&r, &r.fk, &r.dfk);
        check_linear_direction(&r, &r.v, &r.dv);
        drop_linear(&r);
    }
}

/* ---- fixed patterns
 * -------------------------------------------------------------------------------------------------------- */

/* Weight of unit j for unit i of n, by the formulas. */
static double pattern_weight(enum oa_pattern p, bool causal, long n, long i, long j)
{
    double sum = 0, m = (double)(causal ? i + 1 : n);
    switch (p) {
    case OA_PATTERN_CURRENT:
        return j == i;
    case OA_PATTERN_PREVIOUS:
        return j == i - 1;
    case OA_PATTERN_NEXT:
        return j == i + 1;
    case OA_PATTERN_LAST:
        return j == n - 1;
    case OA_PATTERN_LEFT:
        for (long l = 0; l <= i - 2; l++)
            sum += pow((double)(l + 1), 3);
        return j <= i - 2 ? pow((double)(j + 1), 3) / sum : 0;
    case OA_PATTERN_RIGHT:
        for (long l = i + 2; l < n; l++)
            sum += pow((double)(n - l), 3);
        return j >= i + 2 ? pow((double)(n - j), 3) / sum : 0;
    case OA_PATTERN_END:
        return pow((double)(j + 1), 3) / pow((double)n * (double)(n + 1) / 2, 2);
    case OA_PATTERN_START:
        return (double)j < m ? pow(m - (double)j, 3) / pow(m * (m + 1) / 2, 2) : 0;
    }
    return 0;
}

static double pattern_with_edges(const struct oa_pattern_attention *a, long n, long i, long j)
{
    bool right = a->pattern == OA_PATTERN_NEXT || a->pattern == OA_PATTERN_RIGHT;
    double sum = 0;
    for (long l = 0; l < n; l++)
        sum += pattern_weight(a->pattern, a->shape.causal, n, i, l);
    if (sum > 0 || a->edge == OA_EDGE_ZERO)
        return pattern_weight(a->pattern, a->shape.causal, n, i, j);
    return j == (a->edge == OA_EDGE_SELF ? i : right ? n - 1 : 0);
}

/* Words of 1, 2, 3, 1, 2, 3 … tokens. */
static long word_of(long i)
{
    static const long starts[] = { 0, 1, 1, 2, 2, 2 };
    return i / 6 * 3 + starts[i % 6];
}

static long tokens_of_word(long w, long length)
{
    long count = 0;
    for (long i = 0; i < length; i++)
        count += word_of(i) == w;
    return count;
}

static double token_weight(const struct oa_pattern_attention *a, long length, long i, long j)
{
    if (!a->words)
        return pattern_with_edges(a, length, i, j);
    long n = word_of(length - 1) + 1;
    return pattern_with_edges(a, n, word_of(i), word_of(j)) / (double)tokens_of_word(word_of(j), length);
}

struct pattern_run {
    struct oa_pattern_attention a;
    struct oa_device *d;
    int32_t lengths[4], *words;
    struct tensor v, dv, o, d_o, want_o, want_dv;
};

static void want_pattern(struct pattern_run *r, long b, long length)
{
    long n = r->a.shape.keys, v = r->a.shape.value_width, heads = r->a.shape.heads;
    for (long i = 0; i < length; i++)
        for (long j = 0; j < length; j++) {
            double w = token_weight(&r->a, length, i, j);
            for (long e = 0; e < heads * v && w != 0; e++) {
                long row = (b * n + i) * r->a.ldo + e, col = (b * n + j) * r->a.ldv + e;
                r->want_o.value[row] += w * r->v.value[col];
                r->want_dv.value[col] += w * r->d_o.value[row];
            }
        }
}

static void make_pattern(struct pattern_run *r, long n, enum oa_precision p, enum oa_pattern pattern, enum oa_edge edge,
                         bool causal, bool words)
{
    *r = (struct pattern_run){ .d = devices[p] };
    long lengths[] = { n, 0, n * 2 / 3, 1 }, heads = 2, width = 3, ld = heads * width + SPARE;
    draws = 77;
    r->words = malloc(sizeof *r->words * (size_t)(4 * n));
    for (long b = 0; b < 4; b++) {
        r->lengths[b] = (int32_t)(lengths[b] < n ? lengths[b] : n);
        for (long i = 0; i < n; i++)
            r->words[b * n + i] = i < lengths[b] ? (int32_t)word_of(i) : -77;
    }
    r->v = drawn(4 * n * ld, r->d->kernels.act, 1);
    r->d_o = drawn(4 * n * ld, r->d->kernels.act, 1);
    poison(&r->v, ld, n, r->lengths, 4);
    poison(&r->d_o, ld, n, r->lengths, 4);
    r->o = zeros_like(&r->d_o, NAN);
    r->dv = zeros_like(&r->v, NAN);
    r->want_o = want_rows(&r->o);
    r->want_dv = want_rows(&r->dv);
    r->a = (struct oa_pattern_attention){ .shape = { .batch = 4,
                                                     .queries = n,
                                                     .keys = n,
                                                     .heads = heads,
                                                     .value_width = width,
                                                     .causal = causal,
                                                     .key_lengths = r->lengths,
                                                     .query_lengths = r->lengths },
                                          .pattern = pattern,
                                          .edge = edge,
                                          .words = words ? r->words : NULL,
                                          .v = r->v.data,
                                          .ldv = ld,
                                          .dv = r->dv.data,
                                          .o = r->o.data,
                                          .ldo = ld,
                                          .d_o = r->d_o.data };
}

static void drop_pattern(struct pattern_run *r)
{
    for (struct tensor *t = &r->v; t <= &r->want_dv; t++)
        drop(t);
    free(r->words);
}

static void check_pattern(struct pattern_run *r, const char *what, struct tensor *got, const struct tensor *want)
{
    for (long i = 0; i < got->n; i++)
        if (i % r->a.ldo >= r->a.ldo - SPARE) {
            assert_true(isnan(get(got, i)));
            put(got, i, 0);
        }
    double error = distance(got, want, &r->d_o);
    if (!(error <= tolerance(r->d->kernels.precision)))
        fail_msg("%s: pattern %d edge %d%s%s n %ld: %s is off by %g", oa_precision_name(r->d->kernels.precision),
                 r->a.pattern, r->a.edge, r->a.shape.causal ? " causal" : "", r->a.words ? " words" : "",
                 r->a.shape.keys, what, error);
}

static void run_pattern(long n, enum oa_precision p, enum oa_pattern pattern, enum oa_edge edge, bool causal,
                        bool words)
{
    struct pattern_run r;
    make_pattern(&r, n, p, pattern, edge, causal, words);
    for (long b = 0; b < 4; b++)
        want_pattern(&r, b, r.lengths[b]);
    r.d->ops->pattern(r.d, &r.a);
    r.d->ops->pattern_gradient(r.d, &r.a);
    check_pattern(&r, "o", &r.o, &r.want_o);
    check_pattern(&r, "dv", &r.dv, &r.want_dv);
    drop_pattern(&r);
}

static bool has_causal_form(enum oa_pattern p)
{
    return p == OA_PATTERN_CURRENT || p == OA_PATTERN_PREVIOUS || p == OA_PATTERN_LEFT || p == OA_PATTERN_START;
}

static void patterns(void **state)
{
    static const long lengths[] = { 1, 2, 3, 7, 40 };
    (void)state;
    for (int l = 0; l < 5; l++)
        for (int p = 0; p < 3; p++)
            for (int pattern = 0; pattern <= OA_PATTERN_LAST; pattern++)
                for (int edge = 0; edge < 3; edge++)
                    for (int flags = 0; flags < 4; flags++)
                        if (!(flags & 1) || has_causal_form((enum oa_pattern)pattern))
                            run_pattern(lengths[l], (enum oa_precision)p, (enum oa_pattern)pattern, (enum oa_edge)edge,
                                        flags & 1, flags & 2);
}

/* Long sequences: cubic weights reach 7·10¹⁰, in f32 the causal start must still be right. */
static void long_patterns(void **state)
{
    enum { N = 4096 };
    (void)state;
    struct pattern_run r;
    make_pattern(&r, N, OA_PRECISION_F32, OA_PATTERN_START, OA_EDGE_ZERO, true, false);
    r.d->ops->pattern(r.d, &r.a);
    r.d->ops->pattern_gradient(r.d, &r.a);
    for (long i = 0; i < N; i += 455)
        for (long e = 0; e < 6; e++) {
            double o = 0, dv = 0, scale = 0;
            for (long j = 0; j < N; j++) {
                double z = pow((double)(j + 1) * (double)(j + 2) / 2, 2), w = pow((double)(labs(i - j) + 1), 3);
                if (j <= i)
                    o += w / pow((double)(i + 1) * (double)(i + 2) / 2, 2) * r.v.value[j * r.a.ldv + e];
                if (j >= i)
                    dv += w / z * r.d_o.value[j * r.a.ldo + e];
                scale += j >= i ? w / z : 0;
            }
            assert_true(fabs(get(&r.o, i * r.a.ldo + e) - o) <= 1e-7 + 1e-6 * fabs(o));
            assert_true(fabs(get(&r.dv, i * r.a.ldv + e) - dv) <= 1e-6 * scale);
        }
    drop_pattern(&r);
}

/* ---- threads
 * ----------------------------------------------------------------------------------------------------------------- */

static void compare_bits(const struct tensor *a, const struct tensor *b)
{
    assert_int_equal(a->n, b->n);
    if (a->n)
        assert_memory_equal(a->data, b->data, (size_t)a->n * oa_type_size(a->type));
}

static void compare_runs(const struct logits_run *a, const struct logits_run *b)
{
    const struct tensor *x = &a->alpha, *y = &b->alpha;
    for (; x <= &a->lse; x++, y++)
        compare_bits(x, y);
    x = &a->part[0].q, y = &b->part[0].q;
    for (; x < (const struct tensor *)(a->part + a->a.parts); x++, y++)
        if (x->type != OA_F64 || a->d->kernels.precision == OA_PRECISION_F64)
            compare_bits(x, y);
}

static void same_bits_logits(const struct logits_case *c, enum oa_precision p)
{
    static const int threads[] = { 1, 2, 3, 7 };
    struct logits_run runs[4];
    oa_context *contexts[4];
    struct oa_device *own[4];
    for (int i = 0; i < 4; i++) {
        contexts[i] = oa_open(&(struct oa_settings){ .threads = threads[i] });
        own[i] = open_device(contexts[i], p);
        make_run(&runs[i], c, own[i]);
        forward(&runs[i]);
        backward(&runs[i]);
    }
    for (int i = 1; i < 4; i++)
        compare_runs(&runs[0], &runs[i]);
    for (int i = 0; i < 4; i++) {
        drop_run(&runs[i]);
        oa_device_close(own[i]);
        oa_close(contexts[i]);
    }
}

static void same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++)
        for (int p = 0; p < 2; p++) {
            struct logits_case c = { .parts = mixtures[i],
                                     .batch = 3,
                                     .queries = 67,
                                     .keys = 67,
                                     .heads = 2,
                                     .width = 5,
                                     .value_width = 8,
                                     .causal = i % 2,
                                     .lengths = i % 3 == 0,
                                     .alpha = true,
                                     .query_block = 16,
                                     .key_block = 32 };
            same_bits_logits(&c, (enum oa_precision)p);
            c.batch = 5;
            same_bits_logits(&c, (enum oa_precision)p);
        }
}

static void same_bits_linear(void **state)
{
    static const int threads[] = { 1, 7 };
    (void)state;
    struct linear_case c = { .batch = 3,
                             .queries = 130,
                             .keys = 130,
                             .heads = 3,
                             .features = 16,
                             .value_width = 8,
                             .causal = true,
                             .positive = true,
                             .epsilon = 1e-6 };
    struct linear_run runs[2];
    oa_context *contexts[2];
    struct oa_device *own[2];
    for (int i = 0; i < 2; i++) {
        contexts[i] = oa_open(&(struct oa_settings){ .threads = threads[i] });
        own[i] = open_device(contexts[i], OA_PRECISION_BF16);
        make_linear(&runs[i], &c, own[i]);
        own[i]->ops->linear_attention(own[i], &runs[i].a);
        own[i]->ops->linear_attention_gradient(own[i], &runs[i].a);
    }
    for (int t = 0; t < 9; t++)
        compare_bits(&runs[0].fq + t, &runs[1].fq + t);
    for (int i = 0; i < 2; i++) {
        drop_linear(&runs[i]);
        oa_device_close(own[i]);
        oa_close(contexts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(parts),
        cmocka_unit_test(supports),
        cmocka_unit_test(cross),
        cmocka_unit_test(dropped),
        cmocka_unit_test(keep_rate),
        cmocka_unit_test(differences),
        cmocka_unit_test(unwanted),
        cmocka_unit_test(extremes),
        cmocka_unit_test(linear_sizes),
        cmocka_unit_test(linear_policies),
        cmocka_unit_test(linear_scales),
        cmocka_unit_test(linear_differences),
        cmocka_unit_test(patterns),
        cmocka_unit_test(long_patterns),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(same_bits_linear),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
