/* SPDX-License-Identifier: Apache-2.0
 * The decoder: registers its parameters, runs forward. First values: matrices N(0, 1/inputs), those that write to the
 * residual stream scaled by 1/√(2·layers) (GPT-2), embeddings N(0, 0.02²). */
#include "model/model.h"

#include "device/cpu.h"

#include <math.h>
#include <string.h>

#define EMBEDDING_DEVIATION 0.02

static long ffn_width(const struct oa_options *o)
{
    return o->model_ffn ? o->model_ffn : 4 * o->model_width;
}

/* ---- parameters ---- */

static struct oa_parameter *add(struct oa_model *m, const char *name, long rows, long cols, double deviation)
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { rows, cols },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_NORMAL,
                              .scale = deviation };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(&m->store, &p);
}

static struct oa_parameter *add_vector(struct oa_model *m, const char *prefix, const char *name, long n,
                                       enum oa_init init)
{
    struct oa_parameter p = { .dims = 1, .dim = { n }, .trainable = true, .init = init };
    snprintf(p.name, sizeof p.name, "%s%s", prefix, name);
    return oa_store_add(&m->store, &p);
}

/* `bias` vectors exist only in models with biases; the result is then NULL, which every op takes as "none". */
static struct oa_parameter *add_bias(struct oa_model *m, const char *prefix, const char *name, long n)
{
    return m->options.model_bias ? add_vector(m, prefix, name, n, OA_INIT_ZERO) : NULL;
}

/* Sinusoids of Vaswani et al. 2017, scaled to the deviation of the embeddings they are added to. */
static enum oa_error fill_sinusoids(oa_context *c, const struct oa_parameter *p, uint64_t seed, double *out)
{
    (void)c, (void)seed;
    for (long t = 0; t < p->dim[0]; t++)
        for (long i = 0; i < p->dim[1]; i++) {
            double angle = (double)t / pow(10000, (double)(i / 2 * 2) / (double)p->dim[1]);
            out[t * p->dim[1] + i] = EMBEDDING_DEVIATION * sqrt(2) * (i % 2 ? cos(angle) : sin(angle));
        }
    return OA_OK;
}

/* cos and sin of t·10000^(−2i/K) (Su et al. 2021); fill_argument[0]: 1 = sine. */
static enum oa_error fill_rotary(oa_context *c, const struct oa_parameter *p, uint64_t seed, double *out)
{
    (void)c, (void)seed;
    for (long t = 0; t < p->dim[0]; t++)
        for (long i = 0; i < p->dim[1]; i++) {
            double angle = (double)t * pow(10000, -(double)i / (double)p->dim[1]);
            out[t * p->dim[1] + i] = p->fill_argument[0] ? sin(angle) : cos(angle);
        }
    return OA_OK;
}

static struct oa_parameter *add_frozen(struct oa_model *m, const char *name, long rows, long cols, long argument,
                                       enum oa_error (*fill)(oa_context *, const struct oa_parameter *, uint64_t,
                                                             double *))
{
    struct oa_parameter p = {
        .dims = 2, .dim = { rows, cols }, .init = OA_INIT_CUSTOM, .fill = fill, .fill_argument = { argument }
    };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(&m->store, &p);
}

static enum oa_error add_positions(struct oa_model *m)
{
    const struct oa_options *o = &m->options;
    long head = o->model_width / o->model_heads;
    if (strcmp(o->model_position, "learned") == 0)
        m->position = add(m, "position.weight", o->model_context, o->model_width, EMBEDDING_DEVIATION);
    else if (strcmp(o->model_position, "sinusoidal") == 0)
        m->position = add_frozen(m, "position.weight", o->model_context, o->model_width, 0, fill_sinusoids);
    else if (strcmp(o->model_position, "rotary") == 0) {
        if (head % 2)
            return oa_fail(m->context, OA_SHAPE,
                           "rotary positions turn pairs of channels, and a head is %ld wide: choose model.width and "
                           "model.heads so that width / heads is even",
                           head);
        m->cosine = add_frozen(m, "rotary.cosine", o->model_context, head / 2, 0, fill_rotary);
        m->sine = add_frozen(m, "rotary.sine", o->model_context, head / 2, 1, fill_rotary);
    }
    return oa_status(m->context);
}

static enum oa_error add_block(struct oa_model *m, int layer)
{
    const struct oa_options *o = &m->options;
    struct oa_block *b = &m->block[layer];
    long d = o->model_width, f = ffn_width(o);
    double residual = 1 / sqrt(2 * (double)o->model_layers);
    char prefix[96], name[160];
    snprintf(prefix, sizeof prefix, "decoder.layers.%d.", layer);
    b->attention_norm = add_vector(m, prefix, "attention_norm.weight", d, OA_INIT_ONE);
    b->attention_norm_bias = add_bias(m, prefix, "attention_norm.bias", d);
    struct oa_layer_shape shape = { .width = d,
                                    .heads = o->model_heads,
                                    .head_width = d / o->model_heads,
                                    .value_width = d / o->model_heads,
                                    .length = o->model_context,
                                    .memory_length = o->model_context,
                                    .causal = true,
                                    .bias = o->model_bias,
                                    .init_scale = residual };
    snprintf(name, sizeof name, "%sattention.", prefix);
    OA_TRY(oa_layer_open(m->context, &m->spec, layer, &shape, &m->store, name, &b->attention));
    b->ffn_norm = add_vector(m, prefix, "ffn_norm.weight", d, OA_INIT_ONE);
    b->ffn_norm_bias = add_bias(m, prefix, "ffn_norm.bias", d);
    snprintf(name, sizeof name, "%sffn.in.weight", prefix);
    b->in = add(m, name, f, d, 1 / sqrt((double)d));
    b->in_bias = add_bias(m, prefix, "ffn.in.bias", f);
    snprintf(name, sizeof name, "%sffn.out.weight", prefix);
    b->out = add(m, name, d, f, residual / sqrt((double)f));
    b->out_bias = add_bias(m, prefix, "ffn.out.bias", d);
    return oa_status(m->context);
}

static enum oa_error check_shape(struct oa_model *m, long vocabulary)
{
    const struct oa_options *o = &m->options;
    if (o->model_width % o->model_heads)
        return oa_fail(m->context, OA_SHAPE,
                       "model.heads = %ld does not divide model.width = %ld: the heads share the width equally",
                       o->model_heads, o->model_width);
    if (o->model_vocabulary && o->model_vocabulary < vocabulary)
        return oa_fail(m->context, OA_SHAPE,
                       "model.vocabulary = %ld is less than the %ld tokens of the tokenizer: give at least that, or 0",
                       o->model_vocabulary, vocabulary);
    m->vocabulary = o->model_vocabulary ? o->model_vocabulary : vocabulary;
    return OA_OK;
}

static enum oa_error build(struct oa_model *m, long vocabulary, bool training)
{
    const struct oa_options *o = &m->options;
    OA_TRY(check_shape(m, vocabulary));
    OA_TRY(oa_spec_parse(m->context, o->model_attention, &m->spec));
    m->block = oa_alloc(m->context, (size_t)o->model_layers * sizeof *m->block);
    if (!m->block)
        return OA_NO_MEMORY;
    m->embedding = add(m, "embedding.weight", m->vocabulary, o->model_width, EMBEDDING_DEVIATION);
    OA_TRY(add_positions(m));
    for (int i = 0; i < o->model_layers; i++)
        OA_TRY(add_block(m, i));
    m->norm = add_vector(m, "decoder.", "norm.weight", o->model_width, OA_INIT_ONE);
    m->norm_bias = add_bias(m, "decoder.", "norm.bias", o->model_width);
    OA_TRY(oa_status(m->context));
    return oa_store_allocate(&m->store, (uint64_t)o->train_seed, training);
}

enum oa_error oa_model_open(struct oa_device *d, const struct oa_options *options, long vocabulary, bool training,
                            struct oa_model **out)
{
    struct oa_model *m = oa_alloc(d->context, sizeof *m);
    *out = m;
    if (!m)
        return OA_NO_MEMORY;
    m->context = d->context;
    m->device = d;
    m->options = *options;
    oa_store_init(&m->store, d);
    enum oa_error e = build(m, vocabulary, training);
    if (e != OA_OK) {
        oa_model_close(m);
        *out = NULL;
    }
    return e;
}

void oa_model_close(struct oa_model *m)
{
    if (!m)
        return;
    for (int i = 0; m->block && i < m->options.model_layers; i++)
        oa_layer_close(&m->block[i].attention);
    oa_free(m->block);
    oa_spec_free(&m->spec);
    oa_store_free(&m->store);
    oa_free(m);
}

/* ---- forward ---- */

static oa_tensor *feed_forward(oa_tape *t, const struct oa_block *b, oa_tensor *x)
{
    return oa_linear(t, oa_gelu(t, oa_linear(t, x, b->in, b->in_bias)), b->out, b->out_bias);
}

oa_tensor *oa_model_hidden(oa_tape *t, struct oa_model *m, const int32_t *ids, long rows, long length,
                           struct oa_state *const *layer)
{
    const struct oa_options *o = &m->options;
    double dropout = o->model_dropout;
    long first = layer ? layer[0]->tokens : 0;
    oa_tensor *x = oa_embed(t, ids, rows * length, length, first, m->embedding, m->position, dropout);
    oa_tensor *branch = NULL;
    struct oa_layer_input in = { .batch = rows,
                                 .queries = length,
                                 .keys = length,
                                 .dropout = o->model_attention_dropout,
                                 .cosine = m->cosine ? m->cosine->value : NULL,
                                 .sine = m->sine ? m->sine->value : NULL };
    for (int i = 0; i < o->model_layers; i++) {
        const struct oa_block *b = &m->block[i];
        in.x = oa_residual_norm_op(t, x, branch, dropout, b->attention_norm, b->attention_norm_bias, &x);
        in.state = layer ? layer[i] : NULL;
        branch = oa_layer_forward(t, &b->attention, &in);
        oa_tensor *y = oa_residual_norm_op(t, x, branch, dropout, b->ffn_norm, b->ffn_norm_bias, &x);
        branch = feed_forward(t, b, y);
    }
    return oa_residual_norm_op(t, x, branch, dropout, m->norm, m->norm_bias, &x);
}

double oa_model_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch, double scale)
{
    oa_tensor *h = oa_model_hidden(t, m, batch->input, batch->rows, batch->length, NULL);
    return oa_linear_loss_op(t, h, m->embedding, batch->target, scale);
}

enum oa_error oa_model_after_step(const struct oa_model *m, long step)
{
    for (long l = 0; l < m->options.model_layers; l++)
        OA_TRY(oa_layer_after_step(&m->block[l].attention, step));
    return oa_status(m->context);
}
