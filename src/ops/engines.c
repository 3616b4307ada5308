/* SPDX-License-Identifier: Apache-2.0
 * The attention engines as ops: fill the device's structs and save what backward needs. */
#include "ops/ops.h"

#include <string.h>

/* ---- logits ---- */

struct logits_op {
    struct oa_logits a;
    struct oa_part_tensors part[OA_MAX_PARTS];
    struct oa_mixture mixture;
    struct oa_logits_rule rule;
    oa_tensor *v, *o;
};

static struct oa_mixture_weights logits_mixture(const struct logits_op *l)
{
    const struct oa_mixture *m = &l->mixture;
    struct oa_mixture_weights w = { .kind = m->kind,
                                    .heads = l->a.shape.heads,
                                    .parts = l->a.parts };
    memcpy(w.weight, m->weight, sizeof w.weight);
    w.theta = m->theta ? m->theta->value : NULL;
    return w;
}

static void logits_begin_gradients(oa_tape *t, struct logits_op *l)
{
    for (int c = 0; c < l->a.parts; c++) {
        const struct oa_part_tensors *p = &l->part[c];
        struct oa_logits_part *a = &l->a.part[c];
        a->dq = p->q_table ? p->q_table->gradient : oa_gradient_begin(t, p->q);
        a->dk = p->k_table ? p->k_table->gradient : oa_gradient_begin(t, p->k);
        a->dbias = p->bias ? p->bias->gradient : NULL;
        a->dtable = p->table ? p->table->gradient : NULL;
    }
    l->a.dv = oa_gradient_begin(t, l->v);
    if (l->rule.forgetting)
        l->a.forgetting.dquery = l->a.forgetting.dkey = l->rule.forgetting->dsums;
    l->a.dsink = l->rule.sink ? l->rule.sink->gradient : NULL;
    l->a.distances.dbias = l->rule.relative.bias ? l->rule.relative.bias->gradient : NULL;
}

static void logits_end_gradients(oa_tape *t, struct logits_op *l)
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
    struct logits_op *l = saved;
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
    logits_begin_gradients(t, l);
    d->ops->logits_gradient(d, &l->a);
    if (l->a.dalpha) {
        struct oa_mixture_weights w = logits_mixture(l);
        w.dalpha = l->a.dalpha;
        w.dtheta = l->mixture.theta->gradient;
        d->ops->mixture_gradient(d, &w);
    }
    logits_end_gradients(t, l);
}

static struct oa_logits_part logits_part(const struct oa_part_tensors *p)
{
    struct oa_logits_part a = { .kind = p->kind, .scale = p->scale, .width = p->width };
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

/* ---- relative positions ---- */

/* Sets positions of cached rows where they differ from row numbers. Returns the number of tokens.
 */
static long logits_set_positions(oa_tape *t, struct logits_op *l, const struct oa_horizon *h)
{
    struct oa_attention_shape *s = &l->a.shape;
    long tokens = t->state ? t->state->tokens + s->queries : 0;
    if (!t->state || !h || !oa_cache_has_gap(h, tokens, s->keys))
        return oa_max(s->first + s->queries, s->keys);
    int32_t *positions = oa_tape_take_host(t, (size_t)(s->queries + s->keys) * sizeof *positions);
    if (!positions)
        return tokens;
    for (long i = 0; i < s->queries; i++)
        positions[i] = (int32_t)(t->state->tokens + i);
    oa_cache_row_positions(h, tokens, s->keys, positions + s->queries);
    l->a.distances.query = oa_tape_upload(t, positions, (size_t)s->queries * sizeof *positions);
    l->a.distances.key =
        oa_tape_upload(t, positions + s->queries, (size_t)s->keys * sizeof *positions);
    return tokens;
}

/* c of the new tokens and of all keys; a state caches those of its cached keys. */
static void logits_set_forgetting(oa_tape *t, struct logits_op *l, const struct oa_horizon *h)
{
    const struct oa_forget_gates *f = l->rule.forgetting;
    struct oa_forgetting *a = &l->a.forgetting;
    if (!f)
        return;
    *a = (struct oa_forgetting){
        .query = f->sums, .key = f->sums, .query_rows = f->length, .key_rows = f->length
    };
    if (!t->state)
        return;
    long acts =
        2 * l->a.shape.heads * (long)(t->device->numbers.real_size / t->device->numbers.act_size);
    oa_tensor *rows = oa_tensor_from(t, f->sums, l->a.shape.queries, acts, acts, false);
    rows = oa_cache_rows(t, &l->a.shape, h, rows);
    a->key = rows ? rows->data : NULL;
}

static void logits_set_relative(oa_tape *t, struct logits_op *l, const struct oa_horizon *h)
{
    const struct oa_relative_bias *r = &l->rule.relative;
    struct oa_relative a = { .kind = r->kind,
                             .heads = l->a.shape.heads,
                             .causal = l->a.shape.causal };
    if (r->kind == OA_RELATIVE_NONE)
        return;
    a.length = logits_set_positions(t, l, h);
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

static void logits_run(oa_tape *t, const struct logits_op *l)
{
    struct oa_deferred *f = t->deferred;
    if (!f || !l->rule.last || f->attentions == OA_MAX_DEFERRED)
        oa_deferred_run(t);
    if (f && l->rule.last)
        f->attention[f->attentions++] = &l->a;
    else
        t->device->ops->logits(t->device, &l->a);
}

void oa_logits_op(oa_tape *t, const struct oa_attention_shape *shape,
                  const struct oa_support *support, int parts, const struct oa_part_tensors *part,
                  const struct oa_mixture *mixture, const struct oa_logits_rule *rule, oa_tensor *v,
                  double dropout, oa_tensor *o)
{
    size_t real = t->device->numbers.real_size;
    struct logits_op *l = (v || t->state) && o ? oa_tape_take_host(t, sizeof *l) : NULL;
    void *lse =
        l ? oa_tape_take(t, (size_t)(shape->batch * shape->heads * shape->queries) * real) : NULL;
    void *alpha = lse && mixture ? oa_tape_take(t, (size_t)(shape->heads * parts) * real) : NULL;
    if (!lse || (mixture && !alpha))
        return;
    *l = (struct logits_op){ .v = v,
                             .o = o,
                             .mixture = mixture ? *mixture : (struct oa_mixture){ 0 } };
    if (rule)
        l->rule = *rule;
    l->a = (struct oa_logits){
        .shape = *shape, .parts = parts, .o = o->data, .ldo = o->ld, .lse = lse
    };
    l->a.normaliser = l->rule.normaliser;
    l->a.sink = l->rule.sink ? l->rule.sink->value : NULL;
    const struct oa_horizon *h = support ? &support->horizon : NULL;
    if (support) {
        long blocks = shape->heads * support->parameter[1] * support->parameter[2];
        l->a.support = *support;
        l->a.support.layout =
            oa_tape_upload(t, support->layout, (size_t)blocks * sizeof *support->layout);
    }
    memcpy(l->part, part, (size_t)parts * sizeof *part);
    if (t->state) {
        for (int c = 0; c < parts; c++)
            if (part[c].kind == OA_PART_DOT && !part[c].k_table)
                l->part[c].k = oa_cache_rows_by_head(t, &l->a.shape, h, part[c].k);
        l->v = oa_cache_rows_by_head(t, &l->a.shape, h, v);
    }
    logits_set_forgetting(t, l, h);
    logits_set_relative(t, l, h);
    if (oa_status(t->context) != OA_OK)
        return;
    l->a.v = l->v->data;
    l->a.ldv = l->v->ld;
    for (int c = 0; c < parts; c++)
        l->a.part[c] = logits_part(&l->part[c]);
    if (mixture) {
        struct oa_mixture_weights w = logits_mixture(l);
        w.alpha = alpha;
        l->a.alpha = alpha;
        t->device->ops->mixture(t->device, &w);
    }
    struct oa_dropout site = oa_dropout_site(t, dropout);
    l->a.keep = site.keep;
    l->a.dropout = site.stream;
    logits_run(t, l);
    oa_record(t, logits_backward, l);
}

/* ---- linear attention ---- */

struct linear_attention_op {
    struct oa_linear_attention a;
    oa_tensor *fq, *fk, *v, *o;
};

static void linear_attention_backward(oa_tape *t, void *saved)
{
    struct linear_attention_op *l = saved;
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

/* how: the fields in which oa_scaled_… and oa_squared_… differ. */
static void linear_attention_run(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *fq,
                                 oa_tensor *fk, oa_tensor *v, const struct oa_linear_attention *how,
                                 oa_tensor *o)
{
    bool complete = fq && ((fk && v) || t->state) && o;
    struct linear_attention_op *l = complete ? oa_tape_take_host(t, sizeof *l) : NULL;
    void *den = l ? oa_tape_take(t, (size_t)(shape->batch * shape->heads * shape->queries) *
                                        t->device->numbers.real_size)
                  : NULL;
    if (!den)
        return;
    *l = (struct linear_attention_op){ .fq = fq, .fk = fk, .v = v, .o = o };
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
    if (t->state) {
        /* S, z and their scale. Without fk all keys are in the state (cross-attention). */
        long r = l->a.features, each = r * shape->value_width + r + 1;
        l->a.state = oa_cache_numbers(t, oa_key_heads(shape) * each, t->device->numbers.real_size);
        l->a.begun = shape->causal ? t->state->tokens > 0 : !fk;
        l->a.shape.keys = fk ? fk->rows : 0;
    }
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
    linear_attention_run(t, shape, fq, fk, v, &how, o);
}

void oa_squared_attention_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                             oa_tensor *k, oa_tensor *v, const double c[3],
                             enum oa_denominator policy, double epsilon, oa_tensor *o)
{
    const struct oa_linear_attention how = { .squared_width = q ? q->cols / shape->heads : 0,
                                             .squared = { c[0], c[1], c[2] },
                                             .policy = policy,
                                             .epsilon = epsilon };
    linear_attention_run(t, shape, q, k, v, &how, o);
}

void oa_linear_attention_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *fq,
                            oa_tensor *fk, oa_tensor *v, enum oa_denominator policy, double epsilon,
                            oa_tensor *o)
{
    oa_scaled_linear_attention_op(t, shape, fq, fk, NULL, NULL, v, policy, epsilon, o);
}

/* ---- polynomial weights ---- */

struct polynomial_op {
    struct oa_polynomial a;
    oa_tensor *q, *k, *v, *o;
};

static void polynomial_backward(oa_tape *t, void *saved)
{
    struct polynomial_op *p = saved;
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
        k = oa_cache_rows(t, &s, NULL, k);
        v = oa_cache_rows(t, &s, NULL, v);
    }
    struct polynomial_op *p = q && k && v && o ? oa_tape_take_host(t, sizeof *p) : NULL;
    void *den = p ? oa_tape_take(t, rows * t->device->numbers.real_size) : NULL;
    if (!den)
        return;
    *p = (struct polynomial_op){ .q = q, .k = k, .v = v, .o = o };
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

struct pattern_op {
    struct oa_pattern_attention a;
    oa_tensor *v, *o;
};

static void pattern_backward(oa_tape *t, void *saved)
{
    struct pattern_op *p = saved;
    p->a.d_o = oa_gradient_of(t, p->o);
    if (!p->a.d_o)
        return;
    p->a.dv = oa_gradient_begin(t, p->v);
    t->device->ops->pattern_gradient(t->device, &p->a);
    oa_gradient_end(t, p->v, p->a.dv);
}

void oa_pattern_op(oa_tape *t, const struct oa_attention_shape *shape, enum oa_pattern_kind pattern,
                   enum oa_edge edge, const int32_t *words, oa_tensor *v, oa_tensor *o)
{
    struct pattern_op *p = v && o ? oa_tape_take_host(t, sizeof *p) : NULL;
    if (!p)
        return;
    *p = (struct pattern_op){ .v = v, .o = o };
    p->a = (struct oa_pattern_attention){ .shape = *shape,
                                          .pattern = pattern,
                                          .edge = edge,
                                          .words = words,
                                          .v = v->data,
                                          .ldv = v->ld,
                                          .o = o->data,
                                          .ldo = o->ld };
    if (t->state) {
        long count = shape->heads * oa_pattern_state(pattern) * shape->value_width;
        p->a.shape.first = t->state->tokens;
        p->a.state = count ? oa_cache_numbers(t, count, sizeof *p->a.state) : NULL;
        if (count && !p->a.state)
            return;
    }
    t->device->ops->pattern(t->device, &p->a);
    oa_record(t, pattern_backward, p);
}
