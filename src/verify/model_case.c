/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/model_case.h"

#include <math.h>
#include <string.h>

enum { N = 7 }; /* model.context: one more than the rows have */

/* Norms of branches have a large epsilon: of rows that are nearly 0 they are otherwise too curved
 * for central differences. */
static const struct oa_case_form forms[] = {
    { "encoder of classes, CLS", OA_STACK_ENCODER, OA_MODE_BOTH, true, false, OA_OUTPUT_CLASSES,
      true, true, "model.bias=true model.head=tanh" },
    { "encoder of masked tokens", OA_STACK_ENCODER, OA_MODE_BOTH, true, false, OA_OUTPUT_TOKENS,
      false, true,
      "model.norm=post model.position=none model.embedding_norm=true model.activation=gelu-exact "
      "model.norm_epsilon=1e-3 model.bias=true model.output_bias=true model.head=gelu-exact "
      "model.head_norm=true model.segments=3" },
    { "encoder of an encoder-decoder", OA_STACK_ENCODER, OA_MODE_BOTH, true, true, OA_OUTPUT_TOKENS,
      false, true,
      "train.label_smoothing=0.1 model.share_embeddings=false model.encoder_layers=1 "
      "model.encoder_ffn=24 "
      "model.norm=branch model.norm_kind=rms model.norm_epsilon=0.01 model.activation=relu2 "
      "model.position=rotary model.rotary_pairing=interleaved model.encoder_rotary_base=30 "
      "model.local_rotary_base=20" },
    { "decoder of an encoder-decoder", OA_STACK_DECODER, OA_MODE_CAUSAL, true, true,
      OA_OUTPUT_TOKENS, false, true,
      "train.label_smoothing=0.2 model.scale_embedding=true model.position=sinusoidal-halves "
      "model.embedding_scale=0.7 model.residual_scale=0.5 model.scale_output=true" },
    { "cross-attention", OA_STACK_CROSS, OA_MODE_CROSS, true, true, OA_OUTPUT_TOKENS, false, true,
      "model.norm=post model.bias=true model.ffn_gate=true" },
    { "decoder of tokens", OA_STACK_DECODER, OA_MODE_CAUSAL, false, true, OA_OUTPUT_TOKENS, false,
      false,
      "train.label_smoothing=0.1 model.norm_kind=rms model.activation=silu model.ffn_gate=true "
      "model.position=rotary model.rotary_share=0.5 model.bias=qkv "
      "model.first_norm=false model.tie_output=false "
      "model.output_cap=3" },
    { "decoder of classes, last", OA_STACK_DECODER, OA_MODE_CAUSAL, false, true, OA_OUTPUT_CLASSES,
      false, true,
      "model.pool=last model.norm=both model.norm_kind=rms model.norm_gain=false "
      "model.norm_epsilon=0.01 model.parallel=true" },
    { "encoder of a number, mean", OA_STACK_ENCODER, OA_MODE_BOTH, true, false, OA_OUTPUT_NUMBER,
      false, true,
      "model.pool=mean model.norm=both model.norm_epsilon=0.01 model.activation=relu "
      "model.ffn_gate=true model.head=silu model.head_norm=true model.first_norm=false" },
};

const struct oa_case_form *oa_case_form_at(int i)
{
    return i < (int)(sizeof forms / sizeof *forms) ? &forms[i] : NULL;
}

double *oa_model_case_array(struct oa_model_case *m, long count)
{
    return oa_arena_take(&m->arena, (size_t)(count + 1) * sizeof(double));
}

bool oa_model_case_is_static(const struct oa_model_case *m)
{
    return m->model->store.live == m->model->store.updated;
}

/* ---- the batch ---- */

/* Random ids below `below`. */
static int32_t *random_ids(struct oa_model_case *m, const char *name, long count, long below)
{
    int32_t *out = oa_arena_take(&m->arena, (size_t)count * sizeof *out);
    struct oa_stream s = oa_stream_named(13, name);
    for (long i = 0; out && i < count; i++)
        out[i] = (int32_t)oa_random_below(s, (uint64_t)i, (uint64_t)below);
    return out;
}

/* Words of one and of two tokens. */
static int32_t *word_numbers(struct oa_model_case *m, long length)
{
    int32_t *out = random_ids(m, "words", OA_CASE_ROWS * length, 2);
    for (long i = 0; out && i < OA_CASE_ROWS * length; i++)
        out[i] = (int32_t)(i % length * 2 / 3);
    return out;
}

/* The first row has the full length, each next one two less. */
static int32_t *row_lengths(struct oa_model_case *m, long length)
{
    int32_t *out = random_ids(m, "lengths", OA_CASE_ROWS, 2);
    for (long r = 0; out && r < OA_CASE_ROWS; r++)
        out[r] = (int32_t)(length - 2 * r);
    return out;
}

static void fill_model_case_batch(struct oa_model_case *m)
{
    const struct oa_case_form *f = m->form;
    bool both = f->encoder && f->decoder;
    long places = OA_CASE_ROWS * OA_CASE_LENGTH, sources = OA_CASE_ROWS * OA_CASE_SOURCE;
    m->input = random_ids(m, "input", places, OA_CASE_VOCABULARY);
    m->target =
        f->output == OA_OUTPUT_TOKENS ? random_ids(m, "target", places, OA_CASE_VOCABULARY) : NULL;
    m->segments = f->segments ? random_ids(m, "segments", places, 2) : NULL;
    m->words = word_numbers(m, OA_CASE_LENGTH);
    m->source = both ? random_ids(m, "source", sources, OA_CASE_VOCABULARY) : NULL;
    m->source_words = both ? word_numbers(m, OA_CASE_SOURCE) : NULL;
    m->batch = (struct oa_batch){ .rows = OA_CASE_ROWS,
                                  .length = OA_CASE_LENGTH,
                                  .input = m->input,
                                  .target = m->target,
                                  .segments = m->segments,
                                  .words = m->words,
                                  .source = m->source,
                                  .source_words = m->source_words,
                                  .source_length = both ? OA_CASE_SOURCE : 0 };
    m->batch.lengths = f->padding ? row_lengths(m, OA_CASE_LENGTH) : NULL;
    m->batch.source_lengths = both ? row_lengths(m, OA_CASE_SOURCE) : NULL;
    m->batch.label = f->output == OA_OUTPUT_CLASSES
                         ? random_ids(m, "label", OA_CASE_ROWS, OA_CASE_CLASSES)
                         : NULL;
    double *value = f->output == OA_OUTPUT_NUMBER ? oa_model_case_array(m, OA_CASE_ROWS) : NULL;
    for (long r = 0; value && r < OA_CASE_ROWS; r++)
        value[r] = 0.5 * (double)r - 0.3;
    m->batch.value = value;
    for (long i = 0; m->target && i < places; i++) { /* in padding, and the second of each row */
        long row = i / OA_CASE_LENGTH, t = i % OA_CASE_LENGTH;
        if (t == 1 || t >= OA_CASE_LENGTH - 2 * row)
            m->target[i] = OA_IGNORED;
    }
}

/* ---- the model ---- */

/* "key=value key=value" */
static enum oa_error set_form_options(oa_context *c, const char *text, struct oa_options *o)
{
    while (*text) {
        char key[64], value[32];
        int read = 0;
        if (sscanf(text, "%63[^=]=%31[^ ]%n", key, value, &read) != 2)
            return oa_fail(c, OA_INTERNAL, "invalid options of a model form: %s", text);
        OA_TRY(oa_options_set(c, o, key, value));
        text += read + strspn(text + read, " ");
    }
    return OA_OK;
}

/* Has every group a softmax? Then its logits can be capped. */
static bool case_can_cap(const struct oa_spec *s)
{
    for (int l = 0; l < s->layers; l++)
        for (int g = 0; g < s->layer[l].groups; g++)
            if (!(oa_atom_capabilities(&s->layer[l].group[g].atom) & OA_DROPS))
                return false;
    return true;
}

static enum oa_error open_case_model(struct oa_model_case *m, const char *spec)
{
    struct oa_options o;
    const struct oa_case_form *f = m->form;
    struct oa_model_form form = { .encoder = f->encoder,
                                  .decoder = f->decoder,
                                  .output = f->output,
                                  .vocabulary = OA_CASE_VOCABULARY,
                                  .segments = f->segments };
    form.classes = f->output == OA_OUTPUT_CLASSES ? OA_CASE_CLASSES : 0;
    oa_options_default(&o);
    snprintf(o.model_attention, sizeof o.model_attention, "%s: %s", oa_stack_name(f->role), spec);
    o.model_layers = 2;
    o.model_heads = oa_case_heads(&m->label.single.spec.layer[0]);
    o.model_width = 4 * o.model_heads;
    o.model_ffn = 10;
    o.model_context = N;
    OA_TRY(set_form_options(m->context, f->options, &o));
    if (f->output == OA_OUTPUT_CLASSES && case_can_cap(&m->label.single.spec))
        o.model_logit_cap = 1.5;
    return oa_model_open(m->device, &o, &form, true, &m->model);
}

/* Initial values are special (zeros, ones): trainable ones become random. */
static void fill_model_case_parameters(struct oa_model_case *m)
{
    struct oa_store *store = &m->model->store;
    for (int i = 0; i < store->count; i++) {
        struct oa_parameter *p = store->parameter[i];
        struct oa_stream s = oa_stream_named(12, p->name);
        for (long j = 0; p->trainable && j < p->count; j++)
            oa_real_write(m->device, p->value, j,
                          (p->init == OA_INIT_ONE) + 0.4 * oa_random_normal(s, (uint64_t)j));
    }
    oa_store_refresh(store);
}

enum oa_error oa_model_case_open(oa_context *c, const char *spec, const struct oa_case_form *form,
                                 enum oa_precision precision, struct oa_model_case *m)
{
    *m = (struct oa_model_case){ .context = c, .form = form };
    m->label.setup = (struct oa_setup){ .spec = spec, .mode = form->mode, .precision = precision };
    oa_arena_init(&m->arena, c, false);
    OA_TRY(oa_spec_parse(c, spec, &m->label.single.spec));
    OA_TRY(oa_device_open(c, precision, false, &m->device));
    oa_tape_init(&m->tape, m->device);
    OA_TRY(open_case_model(m, spec));
    fill_model_case_batch(m);
    OA_TRY(oa_status(c));
    fill_model_case_parameters(m);
    if (oa_model_case_is_static(m))
        return OA_OK;
    oa_model_case_loss(m, true, true); /* statistics that training updates get values of a step */
    OA_TRY(oa_status(c));
    return oa_model_after_step(m->model, 1);
}

void oa_model_case_close(struct oa_model_case *m)
{
    oa_model_close(m->model);
    if (m->device)
        oa_tape_free(&m->tape);
    oa_device_close(m->device);
    oa_spec_free(&m->label.single.spec);
    oa_arena_free(&m->arena);
}

double oa_model_case_loss(struct oa_model_case *m, bool gradient, bool train)
{
    oa_store_zero_gradients(&m->model->store);
    oa_tape_reset(&m->tape, gradient, train, oa_stream_named(1, "step"));
    double loss = oa_model_loss(&m->tape, m->model, &m->batch, 1);
    if (gradient && oa_status(m->context) == OA_OK)
        oa_tape_backward(&m->tape);
    return oa_status(m->context) == OA_OK ? loss : (double)NAN;
}
