/* SPDX-License-Identifier: Apache-2.0
 *
 * A Transformer as its papers have it, by loops in double: a sequence at a time, of its true
 * length, so that there is no padding that anything could be done wrong with. Of the model it takes
 * the numbers of parameters, and the maps of attentions from their oracles, which subjects of their
 * own prove.
 */
#include "verify/model_case.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

struct oracle {
    struct oa_model_case *m;
    double condition;
};

/* A sequence of n tokens. */
struct sequence {
    const int32_t *ids, *segments, *words;
    long n;
};

static double *room(const struct oracle *o, long count)
{
    return oa_model_case_room(o->m, count);
}

static const double *values(const struct oracle *o, const struct oa_parameter *p)
{
    double *out = p ? room(o, p->count) : NULL;
    if (out)
        oa_reals_read(o->m->device, p->count, p->value, out);
    return out;
}

/* ---- layers ---- */

/* x + table[ids] · factor, row by row; table NULL: x stays. */
static void add_rows(double *x, const double *table, const int32_t *index, long n, long D,
                     double factor)
{
    for (long i = 0; table && i < n * D; i++)
        x[i] += factor * table[(index ? index[i / D] : i / D) * D + i % D];
}

static double *embed(const struct oracle *o, const struct sequence *s,
                     const struct oa_parameter *table, const struct oa_positions *positions)
{
    const struct oa_model *model = o->m->model;
    long D = model->options.model_width;
    double *x = room(o, s->n * D),
           factor = model->options.model_scale_embedding ? sqrt((double)D) : 1;
    const double *e = values(o, table), *p = values(o, positions->table),
                 *segment = values(o, model->segment);
    if (!x || !e)
        return NULL;
    memset(x, 0, (size_t)(s->n * D) * sizeof *x);
    add_rows(x, e, s->ids, s->n, D, factor);
    add_rows(x, p, NULL, s->n, D, 1);
    if (s->segments)
        add_rows(x, segment, s->segments, s->n, D, 1);
    return x;
}

/* (x − mean)/√(variance + 10⁻⁵) · gain + bias, row by row. */
static double *norm(const struct oracle *o, const double *x, long n,
                    const struct oa_parameter *gain, const struct oa_parameter *bias)
{
    long D = gain->count;
    double *y = room(o, n * D);
    const double *g = values(o, gain), *b = values(o, bias);
    for (long i = 0; y && g && i < n; i++) {
        double mean = 0, variance = 0;
        for (long c = 0; c < D; c++)
            mean += x[i * D + c] / (double)D;
        for (long c = 0; c < D; c++)
            variance += (x[i * D + c] - mean) * (x[i * D + c] - mean) / (double)D;
        for (long c = 0; c < D; c++)
            y[i * D + c] = (x[i * D + c] - mean) / sqrt(variance + 1e-5) * g[c] + (b ? b[c] : 0);
    }
    return y;
}

/* x Wᵀ + b */
static double *linear(const struct oracle *o, const double *x, long n,
                      const struct oa_parameter *weight, const struct oa_parameter *bias)
{
    long out = weight->dim[0], in = weight->dim[1];
    double *y = room(o, n * out);
    const double *w = values(o, weight), *b = values(o, bias);
    for (long i = 0; y && w && i < n * out; i++) {
        y[i] = b ? b[i % out] : 0;
        for (long c = 0; c < in; c++)
            y[i] += x[i / out * in + c] * w[i % out * in + c];
    }
    return y;
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* ---- attention ---- */

/* A memory that a sequence attends to, and its length; of self-attention NULL. */
struct memory {
    const double *x;
    long n;
};

static void raise_condition(struct oracle *o, const struct oa_layer *l, const double *map,
                            long queries, long keys)
{
    double *row = room(o, queries), worst = 1;
    for (int i = 0; row && i < l->groups; i++) {
        memset(row, 0, (size_t)queries * sizeof *row);
        if (oa_atom_divides_signed(l->group[i].atom))
            oa_raise_conditions(&l->group[i], map + l->group[i].first_head * queries * keys,
                                queries, keys, row);
        for (long t = 0; t < queries; t++)
            worst = fmax(worst, row[t]);
    }
    o->condition *= worst;
}

static oa_tensor *tensor(const struct oracle *o, const double *x, long rows, long D)
{
    struct oa_device *d = o->m->device;
    void *act = oa_tape_take(&o->m->tape, (size_t)(rows * D) * d->numbers.act_size);
    if (!act)
        return NULL;
    oa_acts_write(d, rows * D, x, act);
    return oa_tensor_from(&o->m->tape, act, rows, D, D, false);
}

/* A layer of which no map is known makes its output itself, of this one sequence. */
static double *by_layer(struct oracle *o, const struct oa_layer *l, const struct oa_oracle *in,
                        long D)
{
    oa_tape *t = &o->m->tape;
    struct oa_layer_input x = {
        .batch = 1, .queries = in->queries, .keys = in->keys, .words = in->words
    };
    double *y = room(o, in->queries * D);
    oa_tape_reset(t, false, false, oa_stream_named(1, "oracle"));
    x.x = tensor(o, in->x, in->queries, D);
    x.memory = in->memory ? tensor(o, in->memory, in->keys, D) : NULL;
    const oa_tensor *out = y ? oa_layer_forward(t, l, &x) : NULL;
    if (!out)
        return NULL;
    oa_acts_read(o->m->device, in->queries * D, out->data, y);
    return y;
}

static double *attend(struct oracle *o, const struct oa_layer *l, const double *x,
                      const struct sequence *s, const struct memory *memory,
                      const struct oa_positions *positions)
{
    long keys = memory ? memory->n : s->n, D = l->shape.width;
    struct oa_oracle in = { .x = x,
                            .memory = memory ? memory->x : NULL,
                            .queries = s->n,
                            .keys = keys,
                            .length = keys,
                            .words = memory ? NULL : s->words };
    if (!memory && positions->cosine) {
        in.cosine = values(o, positions->cosine);
        in.sine = values(o, positions->sine);
    }
    if (oa_layer_without_map(l))
        return by_layer(o, l, &in, D);
    double *map = room(o, l->shape.heads * s->n * keys), *y = room(o, s->n * D);
    if (!map || !y || oa_layer_weights(l, &in, map) != OA_OK ||
        oa_layer_apply_map(l, &in, map, y) != OA_OK)
        return NULL;
    raise_condition(o, l, map, s->n, keys);
    return y;
}

/* ---- stacks ---- */

struct branch {
    const struct oa_parameter *gain, *bias;
    const struct oa_layer *attention; /* NULL: feed-forward */
    const struct memory *memory;
};

static double *branch_of(struct oracle *o, const struct oa_block *block, const struct branch *b,
                         const double *x, const struct sequence *s,
                         const struct oa_positions *positions)
{
    if (b->attention)
        return attend(o, b->attention, x, s, b->memory, positions);
    double *h = linear(o, x, s->n, block->in, block->in_bias);
    for (long i = 0; h && i < s->n * block->in->dim[0]; i++)
        h[i] = gelu(h[i]);
    return h ? linear(o, h, s->n, block->out, block->out_bias) : NULL;
}

/* x + f(norm x), or norm(x + f(x)). */
static double *residual(struct oracle *o, const struct oa_stack *stack,
                        const struct oa_block *block, const struct branch *b, double *x,
                        const struct sequence *s, const struct oa_positions *positions)
{
    bool post = stack->shape.post_norm;
    const double *in = post ? x : norm(o, x, s->n, b->gain, b->bias);
    const double *f = in ? branch_of(o, block, b, in, s, positions) : NULL;
    for (long i = 0; f && i < s->n * stack->shape.width; i++)
        x[i] += f[i];
    return f && post ? norm(o, x, s->n, b->gain, b->bias) : f ? x : NULL;
}

static double *through(struct oracle *o, const struct oa_stack *stack, double *x,
                       const struct sequence *s, const struct memory *memory,
                       const struct oa_positions *positions)
{
    for (long i = 0; x && i < stack->shape.layers; i++) {
        const struct oa_block *k = &stack->block[i];
        struct branch self = { k->attention_norm, k->attention_norm_bias, &k->attention, NULL },
                      cross = { k->cross_norm, k->cross_norm_bias, &k->cross, memory },
                      feed_forward = { k->ffn_norm, k->ffn_norm_bias, NULL, NULL };
        x = residual(o, stack, k, &self, x, s, positions);
        if (x && memory)
            x = residual(o, stack, k, &cross, x, s, positions);
        if (x)
            x = residual(o, stack, k, &feed_forward, x, s, positions);
    }
    return x && !stack->shape.post_norm ? norm(o, x, s->n, stack->norm, stack->norm_bias) : x;
}

/* ---- losses ---- */

/* −Σ q log p of one row of logits, q = (1 − ε)·target + ε/V. */
static double cross_entropy(const double *logits, long count, long target, double smoothing)
{
    double top = -INFINITY, sum = 0, loss = 0;
    for (long i = 0; i < count; i++)
        top = fmax(top, logits[i]);
    for (long i = 0; i < count; i++)
        sum += exp(logits[i] - top);
    for (long i = 0; i < count; i++)
        loss -= ((i == target ? 1 - smoothing : 0) + smoothing / (double)count) *
                (logits[i] - top - log(sum));
    return loss;
}

static double token_losses(const struct oracle *o, const double *hidden, const int32_t *target,
                           long n, double smoothing)
{
    const struct oa_model *model = o->m->model;
    const double *logits = linear(o, hidden, n, model->embedding, NULL);
    double sum = 0;
    for (long t = 0; logits && t < n; t++)
        if (target[t] != OA_IGNORED)
            sum += cross_entropy(logits + t * model->vocabulary, model->vocabulary, target[t],
                                 smoothing);
    return sum;
}

/* The first row, the last, or the mean of all. */
static double *pooled(const struct oracle *o, const double *hidden, long n)
{
    long D = o->m->model->options.model_width;
    double *out = room(o, D);
    for (long c = 0; out && c < D; c++) {
        double sum = 0;
        for (long t = 0; t < n; t++)
            sum += hidden[t * D + c] / (double)n;
        out[c] = o->m->model->options.model_pool == OA_POOL_MEAN   ? sum
                 : o->m->model->options.model_pool == OA_POOL_LAST ? hidden[(n - 1) * D + c]
                                                                   : hidden[c];
    }
    return out;
}

static double class_loss(const struct oracle *o, const double *hidden, long n, long row,
                         double smoothing)
{
    const struct oa_model *model = o->m->model;
    const double *x = pooled(o, hidden, n);
    const double *logits = x ? linear(o, x, 1, model->classifier, model->classifier_bias) : NULL;
    if (!logits)
        return NAN;
    if (o->m->batch.value)
        return (logits[0] - o->m->batch.value[row]) * (logits[0] - o->m->batch.value[row]);
    return cross_entropy(logits, model->form.classes, o->m->batch.label[row], smoothing);
}

static double row_loss(struct oracle *o, long row, double smoothing)
{
    const struct oa_model *model = o->m->model;
    const struct oa_batch *b = &o->m->batch;
    long at = row * b->length, from = row * b->source_length;
    struct sequence s = { b->input + at, b->segments ? b->segments + at : NULL,
                          b->words ? b->words + at : NULL,
                          b->lengths ? b->lengths[row] : b->length };
    struct memory memory = { NULL, 0 };
    if (b->source) {
        struct sequence source = { b->source + from, NULL,
                                   b->source_words ? b->source_words + from : NULL,
                                   b->source_lengths ? b->source_lengths[row] : b->source_length };
        double *x = embed(o, &source, model->source_embedding, &model->source_positions);
        memory.x =
            x ? through(o, &model->encoder, x, &source, NULL, &model->source_positions) : NULL;
        memory.n = source.n;
        if (!memory.x)
            return NAN;
    }
    double *x = embed(o, &s, model->embedding, &model->positions);
    x = x ? through(o, oa_model_stack(model), x, &s, memory.x ? &memory : NULL, &model->positions)
          : NULL;
    if (!x)
        return NAN;
    return b->target ? token_losses(o, x, b->target + at, s.n, smoothing)
                     : class_loss(o, x, s.n, row, smoothing);
}

double oa_model_oracle(struct oa_model_case *m, double smoothing, double *condition)
{
    struct oracle o = { .m = m };
    double sum = 0;
    *condition = 1;
    for (long row = 0; row < m->batch.rows; row++) {
        size_t mark = oa_arena_mark(&m->arena);
        o.condition = 1;
        sum += row_loss(&o, row, smoothing);
        *condition = fmax(*condition, o.condition);
        oa_arena_release(&m->arena, mark);
    }
    return oa_status(m->context) == OA_OK ? sum : (double)NAN;
}
