/* SPDX-License-Identifier: Apache-2.0
 * The parts of a model by its form: embeddings, stacks, classifier. */
#include "model/model.h"

#include <math.h>
#include <string.h>

long oa_model_source_context(const struct oa_options *o)
{
    return o->model_source_context ? o->model_source_context : o->model_context;
}

/* ---- parameters ---- */

static enum oa_error model_check_shape(struct oa_model *m)
{
    const struct oa_options *o = &m->options;
    long vocabulary = m->form.vocabulary;
    OA_TRY(oa_check_heads(m->context, o));
    if (o->model_vocabulary && o->model_vocabulary < vocabulary)
        return oa_fail(m->context, OA_ARGUMENT,
                       "model.vocabulary = %ld is less than the %ld tokens of the tokenizer: use "
                       "at least that, or 0",
                       o->model_vocabulary, vocabulary);
    m->vocabulary = m->form.vocabulary = o->model_vocabulary ? o->model_vocabulary : vocabulary;
    return OA_OK;
}

static struct oa_parameter *model_add_embedding(struct oa_model *m, const char *name, long rows)
{
    return oa_add_matrix(&m->store, name, rows, m->options.model_width,
                         oa_embedding_deviation(&m->options));
}

static struct oa_stack_shape model_stack_shape(const struct oa_model *m, enum oa_stack_role role)
{
    const struct oa_options *o = &m->options;
    return (struct oa_stack_shape){ .role = oa_stack_name(role),
                                    .attention = &m->attention.spec[role],
                                    .layers = o->model_layers,
                                    .width = o->model_width,
                                    .heads = o->model_heads,
                                    .ffn = oa_ffn_width(o),
                                    .head_width = o->model_head_width,
                                    .length = o->model_context,
                                    .bias = o->model_bias,
                                    .place = o->model_norm,
                                    .norm = o->model_norm_kind,
                                    .epsilon = o->model_norm_epsilon,
                                    .gain = o->model_norm_gain,
                                    .embedding_norm = o->model_embedding_norm,
                                    .first_norm = o->model_first_norm,
                                    .activation = o->model_activation,
                                    .gated = o->model_ffn_gate,
                                    .parallel = o->model_parallel,
                                    .residual_scale = o->model_residual_scale,
                                    .logit_cap = o->model_logit_cap,
                                    .qknorm_epsilon = o->model_qknorm_epsilon };
}

/* The encoder of an encoder-decoder. */
static enum oa_error model_add_source_encoder(struct oa_model *m)
{
    const struct oa_options *o = &m->options;
    struct oa_stack_shape shape = model_stack_shape(m, OA_STACK_ENCODER);
    shape.length = oa_model_source_context(o);
    if (o->model_encoder_layers)
        shape.layers = o->model_encoder_layers;
    if (o->model_encoder_heads)
        shape.heads = o->model_encoder_heads;
    if (o->model_encoder_ffn)
        shape.ffn = o->model_encoder_ffn;
    m->source_embedding = o->model_share_embeddings
                              ? m->embedding
                              : model_add_embedding(m, "source_embedding.weight", m->vocabulary);
    OA_TRY(oa_positions_open(m->context, o, shape.length, "encoder.", &m->store,
                             &m->source_positions));
    return oa_stack_open(m->context, &shape, &m->store, &m->encoder);
}

static enum oa_error model_add_decoder(struct oa_model *m)
{
    struct oa_stack_shape shape = model_stack_shape(m, OA_STACK_DECODER);
    shape.causal = true;
    if (m->form.encoder) {
        shape.cross = &m->attention.spec[OA_STACK_CROSS];
        shape.memory_length = oa_model_source_context(&m->options);
    }
    return oa_stack_open(m->context, &shape, &m->store, &m->decoder);
}

static void model_add_head(struct oa_model *m)
{
    const struct oa_options *o = &m->options;
    struct oa_store *s = &m->store;
    bool biases = o->model_bias == OA_BIASES_ALL;
    m->head = oa_add_matrix(s, "head.weight", o->model_width, o->model_width,
                            1 / sqrt((double)o->model_width));
    if (biases)
        m->head_bias = oa_add_vector(s, "head.bias", o->model_width, OA_INIT_ZERO);
    m->head_norm = (struct oa_norm){ .rms = o->model_norm_kind == OA_NORM_RMS,
                                     .epsilon = o->model_norm_epsilon };
    if (o->model_head_norm && o->model_norm_gain)
        m->head_norm.gain = oa_add_vector(s, "head.norm.weight", o->model_width, OA_INIT_ONE);
    if (m->head_norm.gain && !m->head_norm.rms && biases)
        m->head_norm.bias = oa_add_vector(s, "head.norm.bias", o->model_width, OA_INIT_ZERO);
}

static enum oa_error model_register(struct oa_model *m)
{
    const struct oa_options *o = &m->options;
    bool both = m->form.encoder && m->form.decoder;
    OA_TRY(oa_check_form(m->context, &m->form, o));
    OA_TRY(model_check_shape(m));
    OA_TRY(
        oa_stacks_parse(m->context, o->model_attention, oa_form_stacks(&m->form), &m->attention));
    m->embedding = model_add_embedding(m, "embedding.weight", m->vocabulary);
    if (m->form.segments || o->model_segments)
        m->segment =
            model_add_embedding(m, "segment.weight", o->model_segments ? o->model_segments : 2);
    if (m->form.patch)
        /* LeCun normal initialisation, as in flax and timm. */
        m->patch = oa_add_matrix(&m->store, "patch.weight", o->model_width, m->form.patch,
                                 1 / sqrt((double)m->form.patch));
    if (both)
        OA_TRY(model_add_source_encoder(m));
    OA_TRY(oa_positions_open(m->context, o, o->model_context, both ? "decoder." : "", &m->store,
                             &m->positions));
    if (m->form.decoder) {
        OA_TRY(model_add_decoder(m));
    } else {
        struct oa_stack_shape shape = model_stack_shape(m, OA_STACK_ENCODER);
        OA_TRY(oa_stack_open(m->context, &shape, &m->store, &m->encoder));
    }
    if (o->model_head != OA_HEAD_NONE)
        model_add_head(m);
    if (m->form.output == OA_OUTPUT_TOKENS) {
        m->output = o->model_tie_output ? m->embedding
                                        : oa_add_matrix(&m->store, "output.weight", m->vocabulary,
                                                        o->model_width, OA_EMBEDDING_DEVIATION);
        if (o->model_output_bias)
            m->output_bias = oa_add_vector(&m->store, "output.bias", m->vocabulary, OA_INIT_ZERO);
    } else if (m->form.output != OA_OUTPUT_STATES) {
        /* A linear map of the pooled row, always with a bias. */
        long outputs = m->form.output == OA_OUTPUT_CLASSES ? m->form.classes : 1;
        m->output = oa_add_matrix(&m->store, "classifier.weight", outputs, o->model_width,
                                  OA_EMBEDDING_DEVIATION);
        m->output_bias = oa_add_vector(&m->store, "classifier.bias", outputs, OA_INIT_ZERO);
    }
    return oa_status(m->context);
}

enum oa_error oa_model_describe(struct oa_device *d, const struct oa_options *options,
                                const struct oa_model_form *form, struct oa_model **out)
{
    struct oa_model *m = oa_alloc(d->context, sizeof *m);
    *out = m;
    if (!m)
        return OA_NO_MEMORY;
    m->context = d->context;
    m->device = d;
    m->options = *options;
    m->form = *form;
    oa_store_init(&m->store, d);
    enum oa_error e = model_register(m);
    if (e != OA_OK) {
        oa_model_close(m);
        *out = NULL;
    }
    return e;
}

static enum oa_error model_allocate(struct oa_device *d, const struct oa_options *options,
                                    const struct oa_model_form *form, bool training, bool sharded,
                                    struct oa_model **out)
{
    OA_TRY(oa_model_describe(d, options, form, out));
    (*out)->store.sharded = sharded;
    enum oa_error e = training ? oa_model_hold_others(*out) : OA_OK;
    if (e == OA_OK)
        e = oa_store_allocate(&(*out)->store, oa_chance_seed(options, OA_CHANCE_INIT), training);
    if (e != OA_OK) {
        oa_model_close(*out);
        *out = NULL;
    }
    return e;
}

enum oa_error oa_model_open(struct oa_device *d, const struct oa_options *options,
                            const struct oa_model_form *form, bool training, struct oa_model **out)
{
    return model_allocate(d, options, form, training, false, out);
}

enum oa_error oa_model_open_sharded(struct oa_device *d, const struct oa_options *options,
                                    const struct oa_model_form *form, struct oa_model **out)
{
    return model_allocate(d, options, form, true, true, out);
}

void oa_model_close(struct oa_model *m)
{
    if (!m)
        return;
    oa_stack_close(&m->encoder);
    oa_stack_close(&m->decoder);
    oa_stacks_free(&m->attention);
    oa_store_free(&m->store);
    oa_free(m);
}

const struct oa_stack *oa_model_stack(const struct oa_model *m)
{
    return m->form.decoder ? &m->decoder : &m->encoder;
}

enum oa_error oa_model_after_step(const struct oa_model *m, long step)
{
    OA_TRY(oa_stack_after_step(&m->encoder, step));
    return oa_stack_after_step(&m->decoder, step);
}
