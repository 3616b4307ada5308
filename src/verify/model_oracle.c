/* SPDX-License-Identifier: Apache-2.0
 * A Transformer by loops in double, one sequence at a time without padding. It takes the parameters
 * from the model and the maps of attentions from their oracles, which other subjects verify. */
#include "verify/model_case.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

struct model_oracle {
    struct oa_model_case *m;
    double condition;
};

/* A sequence of n tokens. */
struct oracle_sequence {
    const int32_t *ids, *segments, *words;
    long n;
};

static double *oracle_array(const struct model_oracle *o, long count)
{
    return oa_model_case_array(o->m, count);
}

static const double *oracle_values(const struct model_oracle *o, const struct oa_parameter *p)
{
    double *out = p ? oracle_array(o, p->count) : NULL;
    if (out)
        oa_reals_read(o->m->device, p->count, p->value, out);
    return out;
}

/* ---- layers ---- */

/* x + table[ids] · factor, row by row; table NULL: x stays. */
static void add_table_rows(double *x, const double *table, const int32_t *index, long n, long D,
                           double factor)
{
    for (long i = 0; table && i < n * D; i++)
        x[i] += factor * table[(index ? index[i / D] : i / D) * D + i % D];
}

static double *oracle_embedding(const struct model_oracle *o, const struct oracle_sequence *s,
                                const struct oa_parameter *table,
                                const struct oa_positions *positions)
{
    const struct oa_model *model = o->m->model;
    long D = model->options.model_width;
    double *x = oracle_array(o, s->n * D),
           factor = (model->options.model_scale_embedding ? sqrt((double)D) : 1) *
                    model->options.model_embedding_scale;
    const double *e = oracle_values(o, table), *p = oracle_values(o, positions->table),
                 *segment = oracle_values(o, model->segment);
    if (!x || !e)
        return NULL;
    memset(x, 0, (size_t)(s->n * D) * sizeof *x);
    add_table_rows(x, e, s->ids, s->n, D, factor);
    add_table_rows(x, p, NULL, s->n, D, 1);
    for (long i = 0; segment && i < s->n * D; i++)
        x[i] += segment[(s->segments ? s->segments[i / D] : 0) * D + i % D];
    return x;
}

/* (x − mean)/√(variance + ε) · gain + bias, row by row; root mean square norm: without the mean. */
static double *oracle_norm(const struct model_oracle *o, const double *x, long n,
                           const struct oa_norm *norm)
{
    const struct oa_options *options = &o->m->model->options;
    bool rms = options->model_norm_kind == OA_NORM_RMS;
    long D = options->model_width;
    double *y = oracle_array(o, n * D);
    const double *g = oracle_values(o, norm->gain), *b = oracle_values(o, norm->bias);
    for (long i = 0; y && i < n; i++) {
        double mean = 0, variance = 0;
        for (long c = 0; c < D && !rms; c++)
            mean += x[i * D + c] / (double)D;
        for (long c = 0; c < D; c++)
            variance += (x[i * D + c] - mean) * (x[i * D + c] - mean) / (double)D;
        for (long c = 0; c < D; c++)
            y[i * D + c] = (x[i * D + c] - mean) / sqrt(variance + options->model_norm_epsilon) *
                               (g ? g[c] : 1) +
                           (b ? b[c] : 0);
    }
    return y;
}

/* x Wᵀ + b */
static double *oracle_linear(const struct model_oracle *o, const double *x, long n,
                             const struct oa_parameter *weight, const struct oa_parameter *bias)
{
    long out = weight->dim[0], in = weight->dim[1];
    double *y = oracle_array(o, n * out);
    const double *w = oracle_values(o, weight), *b = oracle_values(o, bias);
    for (long i = 0; y && w && i < n * out; i++) {
        y[i] = b ? b[i % out] : 0;
        for (long c = 0; c < in; c++)
            y[i] += x[i / out * in + c] * w[i % out * in + c];
    }
    return y;
}

static double oracle_activation(enum oa_activation kind, double x)
{
    switch (kind) {
    case OA_ACTIVATION_GELU_EXACT:
        return 0.5 * x * erfc(-x / sqrt(2));
    case OA_ACTIVATION_RELU:
        return fmax(x, 0);
    case OA_ACTIVATION_RELU2:
        return fmax(x, 0) * fmax(x, 0);
    case OA_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case OA_ACTIVATION_GELU:
        break;
    }
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* ---- attention ---- */

/* The encoder outputs that cross-attention reads. */
struct oracle_memory {
    const double *x;
    long n;
};

static void raise_oracle_condition(struct model_oracle *o, const struct oa_layer *l,
                                   const double *map, long queries, long keys)
{
    double *row = oracle_array(o, queries), worst = 1;
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

/* Adds m->noise to the weights of groups that have sizes. */
static void disturb_oracle_map(const struct model_oracle *o, const struct oa_layer *l,
                               const struct oa_oracle *in, double *map)
{
    long pairs = in->queries * in->keys;
    for (int i = 0; i < l->groups; i++) {
        const struct oa_group *g = &l->group[i];
        long count = g->shape.heads * pairs;
        double *sizes = g->mechanism->sizes ? oracle_array(o, count) : NULL;
        struct oa_stream s = oa_stream_child(oa_stream_named(15, g->prefix), o->m->draw);
        if (!sizes || g->mechanism->sizes(g, in, sizes) != OA_OK)
            continue;
        for (long j = 0; j < count; j++)
            map[g->first_head * pairs + j] +=
                o->m->noise * sizes[j] * oa_random_normal(s, (uint64_t)j);
    }
}

static oa_tensor *oracle_tensor(const struct model_oracle *o, const double *x, long rows, long D)
{
    struct oa_device *d = o->m->device;
    void *act = oa_tape_take(&o->m->tape, (size_t)(rows * D) * d->numbers.act_size);
    if (!act)
        return NULL;
    oa_acts_write(d, rows * D, x, act);
    return oa_tensor_from(&o->m->tape, act, rows, D, D, false);
}

/* Has the layer nothing but windows? */
static bool oracle_is_local(const struct oa_layer *l)
{
    int local = 0;
    for (int i = 0; i < l->groups; i++)
        local += strcmp(l->group[i].mechanism->name, "local") == 0;
    return local == l->groups;
}

/* The output of a layer without an oracle, for one sequence. */
static double *layer_output(struct model_oracle *o, const struct oa_layer *l,
                            const struct oa_oracle *in, const struct oa_positions *positions)
{
    long D = l->shape.width;
    oa_tape *t = &o->m->tape;
    struct oa_layer_input x = {
        .batch = 1, .queries = in->queries, .keys = in->keys, .words = in->words
    };
    double *y = oracle_array(o, in->queries * D);
    if (in->cosine)
        x.rotary = oa_positions_rotary(positions, oracle_is_local(l));
    oa_tape_reset(t, false, false, oa_stream_named(1, "oracle"));
    x.x = oracle_tensor(o, in->x, in->queries, D);
    x.memory = in->memory ? oracle_tensor(o, in->memory, in->keys, D) : NULL;
    const oa_tensor *out = y ? oa_layer_forward(t, l, &x) : NULL;
    if (!out)
        return NULL;
    oa_acts_read(o->m->device, in->queries * D, out->data, y);
    return y;
}

static double *oracle_attention(struct model_oracle *o, const struct oa_layer *l, const double *x,
                                const struct oracle_sequence *s, const struct oracle_memory *memory,
                                const struct oa_positions *positions)
{
    long keys = memory ? memory->n : s->n, D = l->shape.width;
    struct oa_oracle in = { .x = x,
                            .memory = memory ? memory->x : NULL,
                            .queries = s->n,
                            .keys = keys,
                            .length = keys,
                            .words = memory ? NULL : s->words };
    bool own = o->m->model->options.model_local_rotary_base > 0 && oracle_is_local(l);
    if (!memory && positions->cosine) {
        in.cosine = oracle_values(o, own ? positions->local_cosine : positions->cosine);
        in.sine = oracle_values(o, own ? positions->local_sine : positions->sine);
        in.turned = 2 * positions->cosine->dim[1];
        in.interleaved = o->m->model->options.model_rotary_pairing == OA_PAIRS_INTERLEAVED;
    }
    if (oa_layer_without_map(l))
        return layer_output(o, l, &in, positions);
    double *map = oracle_array(o, l->shape.heads * s->n * keys), *y = oracle_array(o, s->n * D);
    if (!map || !y || oa_layer_weights(l, &in, map) != OA_OK)
        return NULL;
    if (o->m->noise > 0)
        disturb_oracle_map(o, l, &in, map);
    if (oa_layer_apply_map(l, &in, map, y) != OA_OK)
        return NULL;
    raise_oracle_condition(o, l, map, s->n, keys);
    return y;
}

/* ---- stacks ---- */

struct oracle_branch {
    const struct oa_branch_norms *norms;
    const struct oa_layer *attention; /* NULL: feed-forward */
    const struct oracle_memory *memory;
};

static double *oracle_feed_forward(const struct model_oracle *o, const struct oa_block *block,
                                   const double *x, long n)
{
    enum oa_activation kind = o->m->model->options.model_activation;
    double *h = oracle_linear(o, x, n, block->in, block->in_bias);
    const double *gate = block->gate ? oracle_linear(o, x, n, block->gate, block->gate_bias) : NULL;
    for (long i = 0; h && i < n * block->in->dim[0]; i++)
        h[i] = gate ? oracle_activation(kind, gate[i]) * h[i] : oracle_activation(kind, h[i]);
    return h ? oracle_linear(o, h, n, block->out, block->out_bias) : NULL;
}

/* f(x) with the norms of x and of f(x) at their place; NULL after a failure. */
static double *oracle_branch_output(struct model_oracle *o, const struct oa_block *block,
                                    const struct oracle_branch *b, const double *x,
                                    const struct oracle_sequence *s,
                                    const struct oa_positions *positions)
{
    enum oa_norm_place place = o->m->model->options.model_norm;
    bool begins = b->attention && !b->memory &&
                  (block == o->m->model->encoder.block || block == o->m->model->decoder.block),
         none = begins && !o->m->model->options.model_first_norm;
    if ((place == OA_NORM_PRE || place == OA_NORM_BOTH) && !none)
        x = oracle_norm(o, x, s->n, &b->norms->in);
    double *f = !x             ? NULL
                : b->attention ? oracle_attention(o, b->attention, x, s, b->memory, positions)
                               : oracle_feed_forward(o, block, x, s->n);
    return f && (place == OA_NORM_BOTH || place == OA_NORM_BRANCH)
               ? oracle_norm(o, f, s->n, &b->norms->out)
               : f;
}

/* x + scale·f, or norm(x + scale·f). */
static double *oracle_residual(const struct model_oracle *o, const struct oracle_branch *b,
                               double *x, const double *f, long n)
{
    const struct oa_options *options = &o->m->model->options;
    for (long i = 0; f && i < n * options->model_width; i++)
        x[i] += options->model_residual_scale * f[i];
    return !f                                    ? NULL
           : options->model_norm == OA_NORM_POST ? oracle_norm(o, x, n, &b->norms->out)
                                                 : x;
}

static double *oracle_block(struct model_oracle *o, const struct oa_block *k, double *x,
                            const struct oracle_sequence *s, const struct oracle_memory *memory,
                            const struct oa_positions *positions)
{
    struct oracle_branch self = { &k->attention_norm, &k->attention, NULL },
                         cross = { &k->cross_norm, &k->cross, memory },
                         feed_forward = { &k->ffn_norm, NULL, NULL };
    bool parallel = o->m->model->options.model_parallel;
    const double *f = oracle_branch_output(o, k, &self, x, s, positions), *branch = NULL;
    if (f && parallel)
        branch = oracle_branch_output(o, k, &feed_forward, x, s, positions);
    x = oracle_residual(o, &self, x, f, s->n);
    if (x && memory) {
        f = oracle_branch_output(o, k, &cross, x, s, positions);
        x = oracle_residual(o, &cross, x, f, s->n);
    }
    if (x && !parallel)
        branch = oracle_branch_output(o, k, &feed_forward, x, s, positions);
    return x ? oracle_residual(o, &feed_forward, x, branch, s->n) : NULL;
}

static double *oracle_stack(struct model_oracle *o, const struct oa_stack *stack, double *x,
                            const struct oracle_sequence *s, const struct oracle_memory *memory,
                            const struct oa_positions *positions)
{
    const struct oa_options *options = &o->m->model->options;
    if (options->model_embedding_norm)
        x = oracle_norm(o, x, s->n, &stack->embedding_norm);
    for (long i = 0; x && i < stack->shape.layers; i++)
        x = oracle_block(o, &stack->block[i], x, s, memory, positions);
    return x && options->model_norm != OA_NORM_POST ? oracle_norm(o, x, s->n, &stack->norm) : x;
}

/* ---- losses ---- */

/* norm(f(x Wᵀ + b)), or x where the model has no such layer. */
static double *oracle_head(const struct model_oracle *o, double *x, long n)
{
    static const enum oa_activation activation[] = { [OA_HEAD_GELU] = OA_ACTIVATION_GELU,
                                                     [OA_HEAD_GELU_EXACT] =
                                                         OA_ACTIVATION_GELU_EXACT,
                                                     [OA_HEAD_RELU] = OA_ACTIVATION_RELU,
                                                     [OA_HEAD_SILU] = OA_ACTIVATION_SILU };
    const struct oa_model *model = o->m->model;
    enum oa_head kind = model->options.model_head;
    if (!x || kind == OA_HEAD_NONE)
        return x;
    double *y = oracle_linear(o, x, n, model->head, model->head_bias);
    for (long i = 0; y && i < n * model->options.model_width; i++)
        y[i] = kind == OA_HEAD_TANH ? tanh(y[i]) : oracle_activation(activation[kind], y[i]);
    return y && model->options.model_head_norm ? oracle_norm(o, y, n, &model->head_norm) : y;
}

/* −Σ q log p of one row of logits, q = (1 − ε)·target + ε/V. */
static double oracle_cross_entropy(const double *logits, long count, long target, double smoothing)
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

static double oracle_token_loss(const struct model_oracle *o, double *hidden, const int32_t *target,
                                long n, double smoothing)
{
    const struct oa_model *model = o->m->model;
    const struct oa_options *options = &model->options;
    for (long i = 0; options->model_scale_output && i < n * options->model_width; i++)
        hidden[i] /= sqrt((double)options->model_width);
    const double *x = oracle_head(o, hidden, n);
    double *logits =
        x ? oracle_linear(o, x, n, options->model_tie_output ? model->embedding : model->output,
                          model->output_bias)
          : NULL;
    double sum = 0, cap = options->model_output_cap;
    for (long i = 0; logits && cap > 0 && i < n * model->vocabulary; i++)
        logits[i] = cap * tanh(logits[i] / cap);
    for (long t = 0; logits && t < n; t++)
        if (target[t] != OA_IGNORED)
            sum += oracle_cross_entropy(logits + t * model->vocabulary, model->vocabulary,
                                        target[t], smoothing);
    return sum;
}

/* The first row, the last, or the mean of all. */
static double *oracle_pooled(const struct model_oracle *o, const double *hidden, long n)
{
    long D = o->m->model->options.model_width;
    double *out = oracle_array(o, D);
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

static double oracle_class_loss(const struct model_oracle *o, const double *hidden, long n,
                                long row, double smoothing)
{
    const struct oa_model *model = o->m->model;
    const double *x = oracle_head(o, oracle_pooled(o, hidden, n), 1);
    const double *logits = x ? oracle_linear(o, x, 1, model->output, model->output_bias) : NULL;
    if (!logits)
        return NAN;
    if (o->m->batch.value)
        return (logits[0] - o->m->batch.value[row]) * (logits[0] - o->m->batch.value[row]);
    return oracle_cross_entropy(logits, model->form.classes, o->m->batch.label[row], smoothing);
}

static double oracle_row_loss(struct model_oracle *o, long row, double smoothing)
{
    const struct oa_model *model = o->m->model;
    const struct oa_batch *b = &o->m->batch;
    long at = row * b->length, from = row * b->source_length;
    struct oracle_sequence s = { b->input + at, b->segments ? b->segments + at : NULL,
                                 b->words ? b->words + at : NULL,
                                 b->lengths ? b->lengths[row] : b->length };
    struct oracle_memory memory = { NULL, 0 };
    if (b->source) {
        struct oracle_sequence source = { b->source + from, NULL,
                                          b->source_words ? b->source_words + from : NULL,
                                          b->source_lengths ? b->source_lengths[row]
                                                            : b->source_length };
        double *x = oracle_embedding(o, &source, model->source_embedding, &model->source_positions);
        memory.x =
            x ? oracle_stack(o, &model->encoder, x, &source, NULL, &model->source_positions) : NULL;
        memory.n = source.n;
        if (!memory.x)
            return NAN;
    }
    double *x = oracle_embedding(o, &s, model->embedding, &model->positions);
    x = x ? oracle_stack(o, oa_model_stack(model), x, &s, memory.x ? &memory : NULL,
                         &model->positions)
          : NULL;
    if (!x)
        return NAN;
    return b->target ? oracle_token_loss(o, x, b->target + at, s.n, smoothing)
                     : oracle_class_loss(o, x, s.n, row, smoothing);
}

double oa_model_oracle(struct oa_model_case *m, double smoothing, double *condition)
{
    struct model_oracle o = { .m = m };
    double sum = 0;
    *condition = 1;
    for (long row = 0; row < m->batch.rows; row++) {
        size_t mark = oa_arena_mark(&m->arena);
        o.condition = 1;
        sum += oracle_row_loss(&o, row, smoothing);
        *condition = fmax(*condition, o.condition);
        oa_arena_release(&m->arena, mark);
    }
    return oa_status(m->context) == OA_OK ? sum : (double)NAN;
}
