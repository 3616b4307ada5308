/* SPDX-License-Identifier: Apache-2.0
 * The language model: an embedding, a decoder, and the embedding again as its output layer. */
#include "model/model.h"

static long ffn_width(const struct oa_options *o)
{
    return o->model_ffn ? o->model_ffn : 4 * o->model_width;
}

/* ---- parameters ---- */

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

static enum oa_error build(struct oa_model *m, long vocabulary)
{
    const struct oa_options *o = &m->options;
    OA_TRY(check_shape(m, vocabulary));
    OA_TRY(oa_stack_parse(m->context, o->model_attention, OA_STACK_DECODER, &m->spec));
    m->embedding = oa_add_matrix(&m->store, "embedding.weight", m->vocabulary, o->model_width, OA_EMBEDDING_DEVIATION);
    OA_TRY(oa_positions_open(m->context, o, &m->store, &m->positions));
    struct oa_stack_shape decoder = { .role = "decoder",
                                      .attention = &m->spec,
                                      .layers = o->model_layers,
                                      .width = o->model_width,
                                      .heads = o->model_heads,
                                      .ffn = ffn_width(o),
                                      .length = o->model_context,
                                      .causal = true,
                                      .bias = o->model_bias };
    return oa_stack_open(m->context, &decoder, &m->store, &m->decoder);
}

enum oa_error oa_model_describe(struct oa_device *d, const struct oa_options *options, long vocabulary,
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
    enum oa_error e = build(m, vocabulary);
    if (e != OA_OK) {
        oa_model_close(m);
        *out = NULL;
    }
    return e;
}

enum oa_error oa_model_open(struct oa_device *d, const struct oa_options *options, long vocabulary, bool training,
                            struct oa_model **out)
{
    OA_TRY(oa_model_describe(d, options, vocabulary, out));
    enum oa_error e = oa_store_allocate(&(*out)->store, oa_chance_seed(options, OA_CHANCE_INIT), training);
    if (e != OA_OK) {
        oa_model_close(*out);
        *out = NULL;
    }
    return e;
}

void oa_model_close(struct oa_model *m)
{
    if (!m)
        return;
    oa_stack_close(&m->decoder);
    oa_spec_free(&m->spec);
    oa_store_free(&m->store);
    oa_free(m);
}

/* ---- forward ---- */

oa_tensor *oa_model_hidden(oa_tape *t, struct oa_model *m, const int32_t *ids, long rows, long length,
                           const struct oa_stack_state *state)
{
    const struct oa_options *o = &m->options;
    const struct oa_positions *p = &m->positions;
    long first = state ? state->self[0]->tokens : 0;
    oa_tape_at(t, NULL, "embedding", -1);
    oa_tensor *x = oa_embed(t, ids, rows * length, length, first, m->embedding, p->table, o->model_dropout);
    struct oa_stack_input in = { .x = x,
                                 .batch = rows,
                                 .length = length,
                                 .cosine = p->cosine ? p->cosine->value : NULL,
                                 .sine = p->sine ? p->sine->value : NULL,
                                 .dropout = o->model_dropout,
                                 .attention_dropout = o->model_attention_dropout,
                                 .state = state };
    return oa_stack_forward(t, &m->decoder, &in);
}

double oa_model_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch, double scale)
{
    oa_tensor *h = oa_model_hidden(t, m, batch->input, batch->rows, batch->length, NULL);
    oa_tape_at(t, NULL, "the output layer", -1);
    return oa_linear_loss_op(t, h, m->embedding, batch->target, scale);
}

enum oa_error oa_model_after_step(const struct oa_model *m, long step)
{
    return oa_stack_after_step(&m->decoder, step);
}
