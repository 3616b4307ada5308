/* SPDX-License-Identifier: Apache-2.0
 * The attention engines as ops: they collect pointers for the device's structs and keep what
 * backward needs. */
#include "ops/ops.h"

#include <string.h>

/* ---- logits ---- */

struct logits {
    struct oa_logits a;
    struct oa_part_tensors part[OA_MAX_PARTS];
    struct oa_mixture mixture;
    struct oa_relative_bias relative;
    oa_tensor *v, *o;
};

static struct oa_mixture_weights weights_of(const struct logits *l)
{
    const struct oa_mixture *m = &l->mixture;
    struct oa_mixture_weights w = { .kind = m->kind,
                                    .heads = l->a.shape.heads,
                                    .parts = l->a.parts };
    memcpy(w.weight, m->weight, sizeof w.weight);
    w.theta = m->theta ? m->theta->value : NULL;
    return w;
}

static void fill_alpha(const oa_tape *t, const struct logits *l, void *alpha)
{
    struct oa_mixture_weights w = weights_of(l);
    w.alpha = alpha;
    t->device->ops->mixture(t->device, &w);
}

static void theta_gradient(const oa_tape *t, const struct logits *l)
{
    struct oa_mixture_weights w = weights_of(l);
    if (!l->a.dalpha)
        return;
    w.dalpha = l->a.dalpha;
    w.dtheta = l->mixture.theta->gradient;
    t->device->ops->mixture_gradient(t->device, &w);
}

static void ask_gradients(oa_tape *t, struct logits *l)
{
    for (int c = 0; c < l->a.parts; c++) {
        const struct oa_part_tensors *p = &l->part[c];
        struct oa_part *a = &l->a.part[c];
        a->dq = p->q_table ? p->q_table->gradient : oa_gradient_begin(t, p->q);
        a->dk = p->k_table ? p->k_table->gradient : oa_gradient_begin(t, p->k);
        a->dbias = p->bias ? p->bias->gradient : NULL;
        a->dtable = p->table ? p->table->gradient : NULL;
    }
    l->a.dv = oa_gradient_begin(t, l->v);
    l->a.distances.dbias = l->relative.bias ? l->relative.bias->gradient : NULL;
}

static void end_gradients(oa_tape *t, struct logits *l)
{
    oa_gradient_end(t, l->v, l->a.dv);
    for (int c = l->a.parts - 1; c >= 0; c--) {
        const struct oa_part_tensors *p = &l->part[c];
        if (!p->k_table)
            oa_gradient_end(t, p->k, l->a.part[c].dk);
        if (!p->q_table)
            oa_gradient_end(t, p->q, l->a.part[c].dq);
    }
}

static void logits_backward(oa_tape *t, void *saved)
{
    struct logits *l = saved;
    struct oa_device *d = t->device;
    l->a.d_o = oa_gradient_of(t, l->o);
    if (!l->a.d_o)
        return;
    if (l->mixture.theta && l->mixture.theta->gradient) {
        size_t bytes = (size_t)(l->a.shape.heads * l->a.parts) * d->numbers.real_size;
        l->a.dalpha = oa_tape_take(t, bytes);
        if (!l->a.dalpha)
            return;
        d->ops->zero(d, bytes, l->a.dalpha);
    }
    ask_gradients(t, l);
    d->ops->logits_gradient(d, &l->a);
    theta_gradient(t, l);
    end_gradients(t, l);
}

static struct oa_part part_of(const struct oa_part_tensors *p)
{
    struct oa_part a = { .kind = p->kind, .scale = p->scale, .width = p->width };
    if (p->q) {
        a.q = p->q->data;
        a.ldq = p->q->ld;
    }
    if (p->k) {
        a.k = p->k->data;
        a.ldk = p->k->ld;
        a.folds = p->kind == OA_PART_FOLD ? p->k->cols / (p->q->cols / p->width) : 0;
    }
    if (p->q_table) {
        a.q_table = true;
        a.q = p->q_table->act;
        a.ldq = p->width;
        a.q_head_stride = p->q_table->dim[1] * p->width;
    }
    if (p->k_table) {
        a.k_table = true;
        a.k = p->k_table->act;
        a.ldk = p->width;
        a.k_head_stride = p->k_table->dims == 3 ? p->k_table->dim[1] * p->width : 0;
        a.table_length = p->k_table->dim[p->k_table->dims - 2];
    }
    if (p->bias) {
        a.bias = p->bias->value;
        a.bias_head_stride = p->bias->dims == 2 ? p->bias->dim[1] : 0;
    }
    if (p->table) {
        a.table = p->table->value;
        a.table_length = p->table->dim[2];
    }
    return a;
}

static void keep_keys(oa_tape *t, struct logits *l, const struct oa_support *support)
{
    const struct oa_horizon *h = support ? &support->horizon : NULL;
    for (int c = 0; c < l->a.parts; c++)
        if (l->part[c].kind == OA_PART_DOT && !l->part[c].k_table)
            l->part[c].k = oa_keep_keys_apart(t, &l->a.shape, h, l->part[c].k);
    l->v = oa_keep_keys_apart(t, &l->a.shape, h, l->v);
}

static void take_support(oa_tape *t, struct logits *l, const struct oa_support *support)
{
    long blocks = l->a.shape.heads * support->parameter[1] * support->parameter[2];
    l->a.support = *support;
    l->a.support.layout =
        oa_tape_lend(t, support->layout, (size_t)blocks * sizeof *support->layout);
}

/* ---- relative positions ---- */

/* Positions of the rows that a state keeps, where they are not those of the rows. Returns how many
 * tokens there are. */
static long place_rows(oa_tape *t, struct logits *l, const struct oa_horizon *h)
{
    struct oa_attention_shape *s = &l->a.shape;
    long tokens = t->state ? t->state->tokens + s->queries : 0;
    if (!t->state || !h || !oa_rows_apart(h, tokens, s->keys))
        return oa_max(s->first + s->queries, s->keys);
    int32_t *positions = oa_tape_note(t, (size_t)(s->queries + s->keys) * sizeof *positions);
    if (!positions)
        return tokens;
    for (long i = 0; i < s->queries; i++)
        positions[i] = (int32_t)(t->state->tokens + i);
    oa_row_positions(h, tokens, s->keys, positions + s->queries);
    l->a.distances.query = oa_tape_lend(t, positions, (size_t)s->queries * sizeof *positions);
    l->a.distances.key =
        oa_tape_lend(t, positions + s->queries, (size_t)s->keys * sizeof *positions);
    return tokens;
}

static void take_distances(oa_tape *t, struct logits *l, const struct oa_horizon *h)
{
    const struct oa_relative_bias *r = &l->relative;
    struct oa_relative a = { .kind = r->kind,
                             .heads = l->a.shape.heads,
                             .causal = l->a.shape.causal };
    if (r->kind == OA_RELATIVE_NONE)
        return;
    a.length = place_rows(t, l, h);
    a.buckets = r->buckets;
    a.distance = r->distance;
    a.bias = r->bias ? r->bias->value : NULL;
    a.table =
        oa_tape_take(t, (size_t)(a.heads * (2 * a.length - 1)) * t->device->numbers.real_size);
    a.bucket = r->bias ? oa_tape_take(t, (size_t)(2 * a.length - 1) * sizeof *a.bucket) : NULL;
    if (!a.table || (r->bias && !a.bucket) || oa_status(t->context) != OA_OK)
        return;
    t->device->ops->relative(t->device, &a);
    l->a.distances.table = a.table;
    l->a.distances.length = a.length;
    l->a.distances.bucket = a.bucket;
    l->a.distances.buckets = a.buckets;
}

void oa_logits_op(oa_tape *t, const struct oa_attention_shape *shape,
                  const struct oa_support *support, int parts, const struct oa_part_tensors *part,
                  const struct oa_mixture *mixture, const struct oa_relative_bias *relative,
                  oa_tensor *v, double dropout, oa_tensor *o)
{
    size_t real = t->device->numbers.real_size;
    struct logits *l = (v || t->state) && o ? oa_tape_note(t, sizeof *l) : NULL;
    void *lse =
        l ? oa_tape_take(t, (size_t)(shape->batch * shape->heads * shape->queries) * real) : NULL;
    void *alpha = lse && mixture ? oa_tape_take(t, (size_t)(shape->heads * parts) * real) : NULL;
    if (!lse || (mixture && !alpha))
        return;
    *l =
        (struct logits){ .v = v, .o = o, .mixture = mixture ? *mixture : (struct oa_mixture){ 0 } };
    if (relative)
        l->relative = *relative;
    l->a = (struct oa_logits){
        .shape = *shape, .parts = parts, .o = o->data, .ldo = o->ld, .lse = lse
    };
    if (support)
        take_support(t, l, support);
    memcpy(l->part, part, (size_t)parts * sizeof *part);
    if (t->state)
        keep_keys(t, l, support);
    take_distances(t, l, support ? &support->horizon : NULL);
    if (oa_status(t->context) != OA_OK)
        return;
    l->a.v = l->v->data;
    l->a.ldv = l->v->ld;
    for (int c = 0; c < parts; c++)
        l->a.part[c] = part_of(&l->part[c]);
    if (mixture) {
        fill_alpha(t, l, alpha);
        l->a.alpha = alpha;
    }
    struct oa_dropout site = oa_dropout_site(t, dropout);
    l->a.keep = site.keep;
    l->a.dropout = site.stream;
    t->device->ops->logits(t->device, &l->a);
    oa_record(t, logits_backward, l);
}

/* ---- linear attention ---- */

struct linear_attention {
    struct oa_linear_attention a;
    oa_tensor *fq, *fk, *v, *o;
};

static void linear_attention_backward(oa_tape *t, void *saved)
{
    struct linear_attention *l = saved;
    l->a.d_o = oa_gradient_of(t, l->o);
    if (!l->a.d_o)
        return;
    l->a.dfq = oa_gradient_begin(t, l->fq);
    l->a.dfk = oa_gradient_begin(t, l->fk);
    l->a.dv = oa_gradient_begin(t, l->v);
    t->device->ops->linear_attention_gradient(t->device, &l->a);
    oa_gradient_end(t, l->v, l->a.dv);
    oa_gradient_end(t, l->fk, l->a.dfk);
    oa_gradient_end(t, l->fq, l->a.dfq);
}

/* Decoding: S, z and their scale. Without keys all are in the state: those of the memory, at the
 * first call. */
static void keep_sums(oa_tape *t, struct linear_attention *l)
{
    long r = l->a.features, each = r * l->a.shape.value_width + r + 1;
    l->a.state = oa_keep_numbers(t, l->a.shape.heads * each, t->device->numbers.real_size);
    l->a.begun = l->a.shape.causal ? t->state->tokens > 0 : !l->fk;
    l->a.shape.keys = l->fk ? l->fk->rows : 0;
}

/* What the three ops share; `how` has the fields in which they differ. */
static void run_linear_attention(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *fq,
                                 oa_tensor *fk, oa_tensor *v, const struct oa_linear_attention *how,
                                 oa_tensor *o)
{
    bool there = fq && ((fk && v) || t->state) && o;
    struct linear_attention *l = there ? oa_tape_note(t, sizeof *l) : NULL;
    void *den = l ? oa_tape_take(t, (size_t)(shape->batch * shape->heads * shape->queries) *
                                        t->device->numbers.real_size)
                  : NULL;
    if (!den)
        return;
    *l = (struct linear_attention){ .fq = fq, .fk = fk, .v = v, .o = o };
    l->a = *how;
    l->a.shape = *shape;
    l->a.features = fq->cols / shape->heads;
    if (how->squared_width)
        l->a.features = oa_quadratic_features(how->squared_width, how->squared);
    l->a.fq = fq->data;
    l->a.ldfq = fq->ld;
    l->a.fk = fk ? fk->data : NULL;
    l->a.ldfk = fk ? fk->ld : 0;
    l->a.v = v ? v->data : NULL;
    l->a.ldv = v ? v->ld : 0;
    l->a.o = o->data;
    l->a.ldo = o->ld;
    l->a.den = den;
    if (t->state)
        keep_sums(t, l);
    if (oa_status(t->context) != OA_OK)
        return;
    t->device->ops->linear_attention(t->device, &l->a);
    oa_record(t, linear_attention_backward, l);
}

void oa_scaled_linear_attention_op(oa_tape *t, const struct oa_attention_shape *shape,
                                   oa_tensor *fq, oa_tensor *fk, const void *query_scale,
                                   const void *key_scale, oa_tensor *v, enum oa_denominator policy,
                                   double epsilon, oa_tensor *o)
{
    const struct oa_linear_attention how = {
        .query_scale = query_scale, .key_scale = key_scale, .policy = policy, .epsilon = epsilon
    };
    run_linear_attention(t, shape, fq, fk, v, &how, o);
}

void oa_squared_attention_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                             oa_tensor *k, oa_tensor *v, const double c[3],
                             enum oa_denominator policy, double epsilon, oa_tensor *o)
{
    const struct oa_linear_attention how = { .squared_width = q ? q->cols / shape->heads : 0,
                                             .squared = { c[0], c[1], c[2] },
                                             .policy = policy,
                                             .epsilon = epsilon };
    run_linear_attention(t, shape, q, k, v, &how, o);
}

void oa_linear_attention_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *fq,
                            oa_tensor *fk, oa_tensor *v, enum oa_denominator policy, double epsilon,
                            oa_tensor *o)
{
    oa_scaled_linear_attention_op(t, shape, fq, fk, NULL, NULL, v, policy, epsilon, o);
}

/* ---- polynomial weights ---- */

struct polynomial {
    struct oa_polynomial a;
    oa_tensor *q, *k, *v, *o;
};

static void polynomial_backward(oa_tape *t, void *saved)
{
    struct polynomial *p = saved;
    p->a.d_o = oa_gradient_of(t, p->o);
    if (!p->a.d_o)
        return;
    p->a.dq = oa_gradient_begin(t, p->q);
    p->a.dk = oa_gradient_begin(t, p->k);
    p->a.dv = oa_gradient_begin(t, p->v);
    t->device->ops->polynomial_gradient(t->device, &p->a);
    oa_gradient_end(t, p->v, p->a.dv);
    oa_gradient_end(t, p->k, p->a.dk);
    oa_gradient_end(t, p->q, p->a.dq);
}

void oa_polynomial_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                      oa_tensor *k, oa_tensor *v, int degree, double scale, double bias,
                      oa_tensor *o)
{
    size_t rows = (size_t)(shape->batch * shape->heads * shape->queries);
    struct oa_attention_shape s = *shape;
    if (t->state) {
        k = oa_keep_keys(t, &s, NULL, k);
        v = oa_keep_keys(t, &s, NULL, v);
    }
    struct polynomial *p = q && k && v && o ? oa_tape_note(t, sizeof *p) : NULL;
    void *den = p ? oa_tape_take(t, rows * t->device->numbers.real_size) : NULL;
    if (!den)
        return;
    *p = (struct polynomial){ .q = q, .k = k, .v = v, .o = o };
    p->a = (struct oa_polynomial){ .shape = s,
                                   .width = q->cols / shape->heads,
                                   .degree = degree,
                                   .scale = scale,
                                   .bias = bias,
                                   .q = q->data,
                                   .ldq = q->ld,
                                   .k = k->data,
                                   .ldk = k->ld,
                                   .v = v->data,
                                   .ldv = v->ld,
                                   .o = o->data,
                                   .ldo = o->ld,
                                   .den = den };
    t->device->ops->polynomial(t->device, &p->a);
    oa_record(t, polynomial_backward, p);
}

/* ---- patterns ---- */

struct pattern {
    struct oa_pattern_attention a;
    oa_tensor *v, *o;
};

static void pattern_backward(oa_tape *t, void *saved)
{
    struct pattern *p = saved;
    p->a.d_o = oa_gradient_of(t, p->o);
    if (!p->a.d_o)
        return;
    p->a.dv = oa_gradient_begin(t, p->v);
    t->device->ops->pattern_gradient(t->device, &p->a);
    oa_gradient_end(t, p->v, p->a.dv);
}

static bool keep_pattern(oa_tape *t, struct oa_pattern_attention *a)
{
    long count = a->shape.heads * oa_pattern_state(a->pattern) * a->shape.value_width;
    a->shape.first = t->state->tokens;
    a->state = count ? oa_keep_numbers(t, count, sizeof *a->state) : NULL;
    return a->state || count == 0;
}

void oa_pattern_op(oa_tape *t, const struct oa_attention_shape *shape, enum oa_pattern pattern,
                   enum oa_edge edge, const int32_t *words, oa_tensor *v, oa_tensor *o)
{
    struct pattern *p = v && o ? oa_tape_note(t, sizeof *p) : NULL;
    if (!p)
        return;
    *p = (struct pattern){ .v = v, .o = o };
    p->a = (struct oa_pattern_attention){ .shape = *shape,
                                          .pattern = pattern,
                                          .edge = edge,
                                          .words = words,
                                          .v = v->data,
                                          .ldv = v->ld,
                                          .o = o->data,
                                          .ldo = o->ld };
    if (t->state && !keep_pattern(t, &p->a))
        return;
    t->device->ops->pattern(t->device, &p->a);
    oa_record(t, pattern_backward, p);
}
