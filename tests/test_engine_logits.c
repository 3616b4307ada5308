/* SPDX-License-Identifier: Apache-2.0
 *
 * The logits engine against plain loops in double: outputs and every gradient, in all precisions,
 * over awkward sizes, masks and mixtures; gradients in f64 also against central differences; and
 * the same bits for any number of threads.
 */
#include "engines.h"

#include "device/cpu/cpu.h"

/* ---- supports
 * ----------------------------------------------------------------------------------------------------
 */

/* A support and, apart from the engine's, what it means. */
struct sight {
    const char *name;
    struct oa_support support;
    bool (*sees)(const struct oa_support *s, bool causal, long head, long i, long j);
};

/* parameter: window, dilation */
static bool in_window(const struct oa_support *s, bool causal, long head, long i, long j)
{
    (void)head;
    long step = s->parameter[1], offset = i - j;
    if (offset % step)
        return false;
    return causal ? offset >= 0 && offset < s->parameter[0] * step
                  : labs(offset) <= s->parameter[0] * step;
}

/* Blocks of 16 keys, seen by a hash of head, block of queries and block of keys; rows without any
 * key exist. */
static bool is_hashed(const struct oa_support *s, bool causal, long head, long i, long j)
{
    (void)s, (void)causal;
    unsigned h = (unsigned)(head * 31 + i / 16 * 7 + j / 16 * 13 + 5) * 2654435761u;
    return (h >> 24) % 3 == 0;
}

enum { HASHED = 9 }; /* blocks of a side */
static int32_t hashes[2 * HASHED * HASHED];

static const struct sight
    window = { "window", { .form = OA_SUPPORT_WINDOW, .parameter = { 9, 1 } }, in_window },
    dilated = { "dilated", { .form = OA_SUPPORT_DILATED, .parameter = { 5, 3 } }, in_window },
    hashed = { "hashed",
               { .form = OA_SUPPORT_LAYOUT, .parameter = { 16, HASHED, HASHED }, .layout = hashes },
               is_hashed };

static void fill_hashes(void)
{
    for (long h = 0; h < 2; h++)
        for (long p = 0; p < HASHED; p++)
            for (long q = 0; q < HASHED; q++)
                hashes[(h * HASHED + p) * HASHED + q] = is_hashed(NULL, false, h, p * 16, q * 16);
}

/* ---- a case, its tensors
 * ----------------------------------------------------------------------------------------- */

/* parts: D product, B product with a bias a head, K table of keys a head with bias, k one table for
 * all heads with one bias, T table of logits, F the same but frozen. */
struct logits_case {
    const char *parts;
    long batch, queries, keys, heads, width, value_width;
    bool causal, lengths, alpha;
    const struct sight *support; /* NULL: all keys are seen */
    double keep;
    double cap;                  /* of logits; 0: none */
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

static struct tensor make_rows(const struct logits_run *r, long length, long width,
                               const int32_t *lengths)
{
    long ld = r->c->heads * width + SPARE;
    struct tensor t = drawn(r->c->batch * length * ld, r->d->numbers.act, 1);
    poison(&t, ld, length, lengths, r->c->batch);
    return t;
}

static void make_keys(struct logits_run *r, int p, char kind)
{
    const struct logits_case *c = r->c;
    struct oa_logits_part *part = &r->a.part[p];
    struct part_tensors *t = &r->part[p];
    if (!is_key_table(kind)) {
        t->k = make_rows(r, c->keys, c->width, r->a.shape.key_lengths);
        part->ldk = c->heads * c->width + SPARE;
        t->dk = zeros_like(&t->k, NAN);
        return;
    }
    long n = c->keys + 2, tables = kind == 'k' ? 1 : c->heads;
    t->k = drawn(tables * n * c->width, r->d->numbers.act, 1);
    part->k_table = true;
    part->ldk = c->width;
    part->k_head_stride = kind == 'k' ? 0 : n * c->width;
    t->dk = filled(t->k.n, r->d->numbers.real, 0.5);
}

static void make_bias(struct logits_run *r, int p, char kind)
{
    long n = r->c->keys + 2;
    struct part_tensors *t = &r->part[p];
    if (kind == 'D')
        return;
    r->a.part[p].bias_head_stride = kind == 'k' ? 0 : n;
    t->bias = drawn((kind == 'k' ? 1 : r->c->heads) * n, r->d->numbers.real, 1);
    t->dbias = zeros_like(&t->bias, 0.5);
}

static void make_table(struct logits_run *r, int p, char kind)
{
    long n = (r->c->keys > r->c->queries ? r->c->keys : r->c->queries) + 3;
    struct part_tensors *t = &r->part[p];
    r->a.part[p].kind = OA_PART_TABLE;
    r->a.part[p].table_length = n;
    t->table = drawn(r->c->heads * n * n, r->d->numbers.real, 1);
    if (kind == 'T')
        t->dtable = zeros_like(&t->table, 0.5);
}

static void make_part(struct logits_run *r, int p, char kind)
{
    const struct logits_case *c = r->c;
    struct oa_logits_part *part = &r->a.part[p];
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
                                              .logit_cap = c->cap,
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
    if (c->support)
        r->a.support = c->support->support;
    r->a.parts = (int)strlen(c->parts);
    for (int p = 0; p < r->a.parts; p++)
        make_part(r, p, c->parts[p]);
    if (c->alpha) {
        r->alpha = drawn(c->heads * r->a.parts, d->numbers.real, 1);
        r->dalpha = zeros_like(&r->alpha, 0.5);
    }
    r->v = make_rows(r, c->keys, c->value_width, r->a.shape.key_lengths);
    r->dv = zeros_like(&r->v, NAN);
    r->d_o = make_rows(r, c->queries, c->value_width, r->a.shape.query_lengths);
    r->o = zeros_like(&r->d_o, NAN);
    r->lse = filled(c->batch * c->heads * c->queries, d->numbers.real, NAN);
    r->a.alpha = r->alpha.data, r->a.dalpha = r->dalpha.data;
    r->a.v = r->v.data, r->a.dv = r->dv.data, r->a.ldv = c->heads * c->value_width + SPARE;
    r->a.o = r->o.data, r->a.d_o = r->d_o.data, r->a.ldo = c->heads * c->value_width + SPARE;
    r->a.lse = r->lse.data;
    r->a.keep = c->keep == 0 ? 1 : c->keep;
    r->a.dropout = oa_stream_named(3, "dropout");
}

static void drop_run(struct logits_run *r)
{
    for (struct tensor *t = (struct tensor *)r->part; t < (struct tensor *)(r->part + OA_MAX_PARTS);
         t++)
        drop(t);
    for (struct tensor *t = &r->alpha; t <= &r->want_lse; t++)
        drop(t);
}

/* The block sizes of a device, changed for a case. */
static struct oa_kernels use_blocks(struct logits_run *r)
{
    struct oa_kernels before = r->d->cpu->kernels;
    if (r->c->query_block)
        r->d->cpu->kernels.query_block = r->c->query_block;
    if (r->c->key_block)
        r->d->cpu->kernels.key_block = r->c->key_block;
    return before;
}

static void forward(struct logits_run *r)
{
    struct oa_kernels before = use_blocks(r);
    r->d->ops->logits(r->d, &r->a);
    r->d->cpu->kernels = before;
}

static void backward(struct logits_run *r)
{
    struct oa_kernels before = use_blocks(r);
    r->d->ops->logits_gradient(r->d, &r->a);
    r->d->cpu->kernels = before;
}

/* ---- the same in plain loops
 * ------------------------------------------------------------------------------------- */

static long at(const struct logits_run *r, long b, long length, long i, long h, long width, long e)
{
    return (b * length + i) * (r->c->heads * width + SPARE) + h * width + e;
}

static bool visible(const struct logits_run *r, long b, long h, long i, long j)
{
    const struct oa_attention_shape *s = &r->a.shape;
    if ((s->key_lengths && j >= s->key_lengths[b]) ||
        (s->query_lengths && i >= s->query_lengths[b]))
        return false;
    if (s->causal && j > i)
        return false;
    return !r->c->support || r->c->support->sees(&r->c->support->support, s->causal, h, i, j);
}

static long key_at(const struct logits_run *r, int p, long b, long h, long j, long e)
{
    const struct oa_logits_part *part = &r->a.part[p];
    return part->k_table ? h * part->k_head_stride + j * part->width + e
                         : at(r, b, r->c->keys, j, h, part->width, e);
}

static double logit(const struct logits_run *r, int p, long b, long h, long i, long j)
{
    const struct oa_logits_part *part = &r->a.part[p];
    const struct part_tensors *t = &r->part[p];
    if (part->kind == OA_PART_TABLE)
        return t->table.value[(h * part->table_length + i) * part->table_length + j];
    double sum = 0;
    for (long e = 0; e < part->width; e++)
        sum += t->q.value[at(r, b, r->c->queries, i, h, part->width, e)] *
               t->k.value[key_at(r, p, b, h, j, e)];
    return part->scale * sum + (part->bias ? t->bias.value[h * part->bias_head_stride + j] : 0);
}

static double alpha_of(const struct logits_run *r, long h, int p)
{
    return r->a.alpha ? r->alpha.value[h * r->a.parts + p] : 1;
}

/* The sum of all parts; *slope: the derivative of the capped sum by it. */
static double whole_logit(const struct logits_run *r, long b, long h, long i, long j, double *slope)
{
    double sum = 0, cap = r->c->cap;
    for (int c = 0; c < r->a.parts; c++)
        sum += alpha_of(r, h, c) * logit(r, c, b, h, i, j);
    *slope = cap > 0 ? 1 - tanh(sum / cap) * tanh(sum / cap) : 1;
    return cap > 0 ? cap * tanh(sum / cap) : sum;
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
    double top = -INFINITY, sum = 0, slope;
    for (long j = 0; j < r->c->keys; j++) {
        p[j] = visible(r, b, h, i, j) ? whole_logit(r, b, h, i, j, &slope) : 0;
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
    const struct oa_logits_part *part = &r->a.part[p];
    struct part_tensors *t = &r->part[p];
    double alpha = alpha_of(r, h, p);
    if (r->a.dalpha)
        r->want_dalpha.value[h * r->a.parts + p] += ds * logit(r, p, b, h, i, j);
    if (part->kind == OA_PART_TABLE) {
        if (part->dtable)
            t->want_dtable.value[(h * part->table_length + i) * part->table_length + j] +=
                alpha * ds;
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

static double row_product(const struct logits_run *r, const struct tensor *x, long b, long i,
                          long h, long j)
{
    double sum = 0;
    long v = r->c->value_width;
    for (long e = 0; e < v; e++)
        sum += x->value[at(r, b, r->c->queries, i, h, v, e)] *
               r->v.value[at(r, b, r->c->keys, j, h, v, e)];
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
            r->want_o.value[at(r, b, rows, i, h, v, e)] +=
                kept * r->v.value[at(r, b, keys, j, h, v, e)];
            r->want_dv.value[at(r, b, keys, j, h, v, e)] +=
                kept * r->d_o.value[at(r, b, rows, i, h, v, e)];
        }
        delta += kept * row_product(r, &r->d_o, b, i, h, j);
    }
    for (long j = 0; j < keys; j++) {
        double slope,
            ds = p[j] * (mask(r, b, h, i, j) * row_product(r, &r->d_o, b, i, h, j) - delta);
        if (p[j] != 0)
            whole_logit(r, b, h, i, j, &slope);
        for (int c = 0; c < r->a.parts && p[j] != 0; c++)
            want_part(r, c, b, h, i, j, ds * slope);
    }
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

/* ---- comparing
 * ---------------------------------------------------------------------------------------------------
 */

static void fail_case(const struct logits_run *r, const char *what, double error)
{
    const struct logits_case *c = r->c;
    fail_msg("%s: %s is off by %g: parts %s B %ld T %ld S %ld H %ld K %ld V %ld%s%s%s support %s "
             "keep %g",
             oa_precision_name(r->d->numbers.precision), what, error, c->parts, c->batch,
             c->queries, c->keys, c->heads, c->width, c->value_width, c->causal ? " causal" : "",
             c->lengths ? " lengths" : "", c->alpha ? " alpha" : "",
             c->support ? c->support->name : "-", c->keep);
}

static void check(const struct logits_run *r, const char *what, const struct tensor *got,
                  const struct tensor *want)
{
    if (!want->n)
        return;
    double error = distance(got, want, &r->d_o);
    if (!(error <= tolerance(r->d->numbers.precision)))
        fail_case(r, what, error);
}

/* As check, of a tensor with leading dimension: the spare columns must still hold NaN. */
static void check_rows(const struct logits_run *r, const char *what, struct tensor *got,
                       const struct tensor *want, long width)
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
        bool same = want == -INFINITY
                        ? got == want
                        : fabs(got - want) <= tolerance(r->d->numbers.precision) * (1 + fabs(want));
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

/* ---- tests
 * -------------------------------------------------------------------------------------------------------
 */

static void logits_are_their_definition_at_all_sizes(void **state)
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

static const char *const mixtures[] = {
    "D", "B", "K", "k", "T", "F", "DD", "DT", "KT", "TF", "kDB"
};

static void all_mixtures_of_parts_are_their_definition(void **state)
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

static void all_supports_are_their_definition(void **state)
{
    static const struct sight *const all[] = { &window, &dilated, &hashed };
    (void)state;
    fill_hashes();
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
    run_case_everywhere((struct logits_case){ .parts = "T",
                                              .batch = 2,
                                              .queries = 100,
                                              .keys = 100,
                                              .heads = 2,
                                              .value_width = 5,
                                              .support = &hashed });
}

static void queries_and_keys_may_differ_in_number(void **state)
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
    run_case_everywhere((struct logits_case){ .parts = "D",
                                              .batch = 1,
                                              .queries = 70,
                                              .keys = 3,
                                              .heads = 1,
                                              .width = 4,
                                              .value_width = 4 });
}

static void dropout_is_its_definition(void **state)
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

/* A cap near the logits: s becomes cap·tanh(s/cap). */
static void capped_logits_are_their_definition(void **state)
{
    static const long lengths[] = { 5, 37, 130 };
    (void)state;
    for (int i = 0; i < 12; i++)
        run_case_everywhere((struct logits_case){ .parts = i % 2 ? "D" : "DB",
                                                  .batch = 2,
                                                  .queries = lengths[i % 3],
                                                  .keys = lengths[i % 3],
                                                  .heads = 2,
                                                  .width = 16,
                                                  .value_width = 8,
                                                  .lengths = i % 4 == 1,
                                                  .causal = i % 4 < 2,
                                                  .keep = i < 6 ? 0 : 0.7,
                                                  .cap = 1.5 });
}

/* With V = 1 and equal logits, O is the share of keys that were kept, over the keep rate. */
static void dropout_keeps_the_expected_share(void **state)
{
    (void)state;
    struct logits_case c = { .parts = "D",
                             .batch = 2,
                             .queries = 300,
                             .keys = 300,
                             .heads = 2,
                             .width = 1,
                             .value_width = 1,
                             .keep = 0.9 };
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
static void check_direction(struct logits_run *r, const char *what, struct tensor *x,
                            const struct tensor *gradient, double offset)
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

static void gradients_are_differences(void **state)
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
                check_direction(&r, "dk by differences", &t->k, &t->dk,
                                r.a.part[p].k_table ? 0.5 : 0);
                check_direction(&r, "dbias by differences", &t->bias, &t->dbias, 0.5);
                check_direction(&r, "dtable by differences", &t->table, &t->dtable, 0.5);
            }
            drop_run(&r);
        }
}

/* Gradients that are not asked for change nothing in the others. */
static void gradients_do_not_depend_on_which_are_wanted(void **state)
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
static void extreme_logits_neither_overflow_nor_vanish(void **state)
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

/* ---- threads
 * -----------------------------------------------------------------------------------------------------
 */

static void compare_runs(const struct logits_run *a, const struct logits_run *b)
{
    const struct tensor *x = &a->alpha, *y = &b->alpha;
    for (; x <= &a->lse; x++, y++)
        compare_bits(x, y);
    x = &a->part[0].q, y = &b->part[0].q;
    for (; x < (const struct tensor *)(a->part + a->a.parts); x++, y++)
        if (x->type != OA_F64 || a->d->numbers.precision == OA_PRECISION_F64)
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

static void threads_do_not_change_bits(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_their_definition_at_all_sizes),
        cmocka_unit_test(all_mixtures_of_parts_are_their_definition),
        cmocka_unit_test(all_supports_are_their_definition),
        cmocka_unit_test(queries_and_keys_may_differ_in_number),
        cmocka_unit_test(dropout_is_its_definition),
        cmocka_unit_test(capped_logits_are_their_definition),
        cmocka_unit_test(dropout_keeps_the_expected_share),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(gradients_do_not_depend_on_which_are_wanted),
        cmocka_unit_test(extreme_logits_neither_overflow_nor_vanish),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    threads_only("same_bits");
    return cmocka_run_group_tests(tests, open_all, close_all);
}
