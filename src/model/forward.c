/* SPDX-License-Identifier: Apache-2.0
 * The forward pass of a model: hidden states, loss, outputs. */
#include "model/model.h"

#include <math.h>
#include <string.h>

/* ---- hidden states ---- */

/* A stack with its embedding parameters. */
struct embedded_stack {
    const struct oa_stack *stack;
    const struct oa_positions *positions;
    struct oa_parameter *embedding, *segment, *patch;
};

/* Linear embedding of image patches, added to the embedding of their id; NULL without patches. */
static oa_tensor *embed_patches(oa_tape *t, const struct embedded_stack *s,
                                const struct oa_sequences *in)
{
    long tokens = in->rows * in->length;
    if (!s->patch)
        return NULL;
    if (!in->pixels && !in->values && !t->device->dry) {
        oa_fail(t->device->context, OA_UNSUPPORTED, "the model reads images, and there is none");
        return NULL;
    }
    if (!in->values)
        return oa_linear(t, oa_patch_pixels(t, in->pixels, in->ids, tokens, s->patch->dim[1]),
                         s->patch, NULL);
    oa_tensor *x = oa_tensor_new(t, tokens, s->patch->dim[1]);
    if (!x)
        return NULL;
    x->wants_gradient = false;
    oa_acts_write(t->device, tokens * x->cols, in->values, x->data);
    return oa_linear(t, x, s->patch, NULL);
}

static const int32_t *zero_segments(oa_tape *t, long tokens)
{
    int32_t *out = oa_tape_take_host(t, (size_t)tokens * sizeof *out);
    if (out)
        memset(out, 0, (size_t)tokens * sizeof *out);
    return out;
}

static long count_input_tokens(const struct oa_sequences *in, const struct oa_stack_state *rows)
{
    long sum = 0;
    for (long b = 0; rows && b < in->rows; b++)
        sum += rows[b].queries;
    return rows ? sum : in->rows * in->length;
}

/* The tokens of a decoding batch, at the positions where their sequences end. */
static oa_tensor *embed_at_ends(oa_tape *t, const struct oa_sequences *in, const int32_t *segments,
                                const struct oa_embedding_tables *tables,
                                const struct oa_stack_state *state)
{
    long width = tables->table->dim[1];
    struct oa_device *d = t->device;
    oa_tensor *all = oa_tensor_new(t, count_input_tokens(in, state), width);
    for (long b = 0, at = 0; all && b < in->rows; at += state[b++].queries) {
        long n = state[b].queries;
        const oa_tensor *x = oa_embed(t, in->ids + at, segments ? segments + at : NULL, n, n,
                                      state[b].self[0]->tokens, tables, 0);
        if (!x)
            return NULL;
        d->ops->select_rows(d, n, width, n, NULL, x->data, x->ld,
                            oa_act_at(d, all->data, at * all->ld), all->ld);
    }
    return all;
}

/* Whether each row has one token, and all of them the same position. */
static bool ends_are_one(const struct oa_stack_state *state, long rows)
{
    for (long b = 0; b < rows; b++)
        if (state[b].queries != 1 || state[b].self[0]->tokens != state[0].self[0]->tokens)
            return false;
    return true;
}

static oa_tensor *forward_stack(oa_tape *t, const struct oa_model *m,
                                const struct embedded_stack *s, const struct oa_sequences *in,
                                const struct oa_memory *memory, const struct oa_stack_state *state,
                                bool batched)
{
    const struct oa_options *o = &m->options;
    const struct oa_positions *p = s->positions;
    long first = state ? state->self[0]->tokens : 0,
         tokens = count_input_tokens(in, batched ? state : NULL);
    const int32_t *segments = !s->segment                              ? NULL
                              : in->segments && s->segment->dim[0] > 1 ? in->segments
                                                                       : zero_segments(t, tokens);
    oa_tape_at(t, NULL, "embedding", -1);
    struct oa_embedding_tables tables = { s->embedding, p->table, s->segment,
                                          oa_embedding_factor(o), embed_patches(t, s, in) };
    oa_tensor *embedded = batched && p->table && !ends_are_one(state, in->rows)
                              ? embed_at_ends(t, in, segments, &tables, state)
                              : oa_embed(t, in->ids, segments, tokens, batched ? 1 : in->length,
                                         first, &tables, o->model_dropout);
    struct oa_stack_input x = { .x = embedded,
                                .memory = memory ? memory->x : NULL,
                                .batch = in->rows,
                                .length = in->length,
                                .memory_length = memory ? memory->length : 0,
                                .words = in->words,
                                .lengths = in->lengths,
                                .memory_lengths = memory ? memory->lengths : NULL,
                                .rotary = oa_positions_rotary(p, false),
                                .local_rotary = oa_positions_rotary(p, true),
                                .dropout = o->model_dropout,
                                .attention_dropout = o->model_attention_dropout,
                                .state = batched ? NULL : state,
                                .rows = batched ? state : NULL };
    return oa_stack_forward(t, s->stack, &x);
}

oa_tensor *oa_model_encode(oa_tape *t, struct oa_model *m, const struct oa_sequences *source)
{
    struct embedded_stack s = { &m->encoder, &m->source_positions, m->source_embedding, NULL,
                                NULL };
    return forward_stack(t, m, &s, source, NULL, NULL, false);
}

oa_tensor *oa_model_hidden(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                           const struct oa_memory *memory, const struct oa_stack_state *state)
{
    struct embedded_stack s = { oa_model_stack(m), &m->positions, m->embedding, m->segment,
                                m->patch };
    return forward_stack(t, m, &s, in, memory, state, false);
}

oa_tensor *oa_model_hidden_rows(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                                const struct oa_stack_state *rows)
{
    struct embedded_stack s = { oa_model_stack(m), &m->positions, m->embedding, m->segment,
                                m->patch };
    t->invariant_rows = count_input_tokens(in, rows) > 1 ? 1 : 0;
    oa_tensor *hidden = forward_stack(t, m, &s, in, NULL, rows, true);
    t->invariant_rows = 0;
    return hidden;
}

/* ---- a batch ---- */

static enum oa_error batch_check_lengths(oa_context *c, const char *what, const int32_t *lengths,
                                         long rows, long length, long most)
{
    if (length < 1 || length > most)
        return oa_fail(c, OA_SHAPE, "batch with %ss of %ld tokens; the model reads 1 to %ld", what,
                       length, most);
    for (long i = 0; lengths && i < rows; i++)
        if (lengths[i] < 1 || lengths[i] > length)
            return oa_fail(c, OA_SHAPE,
                           "row %ld of a batch has a %s of %ld tokens; expected 1 to %ld", i + 1,
                           what, (long)lengths[i], length);
    return OA_OK;
}

/* On the plan device data pointers may be NULL. */
static enum oa_error batch_check(const struct oa_model *m, const struct oa_batch *b)
{
    const struct oa_options *o = &m->options;
    OA_TRY(
        batch_check_lengths(m->context, "text", b->lengths, b->rows, b->length, o->model_context));
    if (m->form.encoder && m->form.decoder)
        OA_TRY(batch_check_lengths(m->context, "source", b->source_lengths, b->rows,
                                   b->source_length, oa_model_source_context(o)));
    if (m->form.segments && !b->segments && !m->device->dry)
        return oa_fail(m->context, OA_INTERNAL, "the model needs segments, but the batch has none");
    if (m->form.patch && !b->pixels && !m->device->dry)
        return oa_fail(m->context, OA_INTERNAL,
                       "the model reads image patches, but the batch has no pixels");
    for (long i = 0; m->form.output == OA_OUTPUT_CLASSES && b->label && i < b->rows; i++)
        if (b->label[i] < OA_IGNORED || b->label[i] >= m->form.classes)
            return oa_fail(m->context, OA_SHAPE,
                           "row %ld of a batch has class %ld; the model has classes 0 to %ld",
                           i + 1, (long)b->label[i], m->form.classes - 1);
    return OA_OK;
}

/* For the plan device: all rows are full. */
static const int32_t *planned_lengths(oa_tape *t, long rows, long length)
{
    int32_t *lengths = oa_tape_take_host(t, (size_t)rows * sizeof *lengths);
    for (long i = 0; lengths && i < rows; i++)
        lengths[i] = (int32_t)length;
    return lengths;
}

oa_tensor *oa_model_batch_hidden(oa_tape *t, struct oa_model *m, const struct oa_batch *b)
{
    struct oa_sequences in = { .rows = b->rows,
                               .length = b->length,
                               .ids = b->input,
                               .lengths = b->lengths,
                               .segments = b->segments,
                               .words = b->words,
                               .pixels = b->pixels };
    struct oa_sequences source = { .rows = b->rows,
                                   .length = b->source_length,
                                   .ids = b->source,
                                   .lengths = b->source_lengths,
                                   .words = b->source_words };
    if (b->planned_padding) {
        in.lengths = planned_lengths(t, b->rows, b->length);
        source.lengths = b->source_length ? planned_lengths(t, b->rows, b->source_length) : NULL;
    }
    struct oa_memory memory = { .length = b->source_length, .lengths = source.lengths };
    if (batch_check(m, b) != OA_OK)
        return NULL;
    if (!m->form.encoder || !m->form.decoder)
        return oa_model_hidden(t, m, &in, NULL, NULL);
    memory.x = oa_model_encode(t, m, &source);
    return memory.x ? oa_model_hidden(t, m, &in, &memory, NULL) : NULL;
}

/* ---- between the hidden states and the output layer ---- */

oa_tensor *oa_model_pool(oa_tape *t, const struct oa_model *m, oa_tensor *hidden, long rows,
                         long length, const int32_t *lengths)
{
    if (m->options.model_pool == OA_POOL_MEAN)
        return oa_mean_rows(t, hidden, length, lengths);
    bool last = m->options.model_pool == OA_POOL_LAST;
    int32_t *index = oa_tape_take_host(t, (size_t)rows * sizeof *index);
    for (long i = 0; index && i < rows; i++)
        index[i] = (int32_t)(i * length + (!last ? 0 : (lengths ? lengths[i] : length) - 1));
    return index ? oa_choose_rows(t, hidden, index, rows) : NULL;
}

oa_tensor *oa_model_head(oa_tape *t, const struct oa_model *m, oa_tensor *hidden)
{
    static const enum oa_unary activation[] = { [OA_HEAD_GELU] = OA_UNARY_GELU,
                                                [OA_HEAD_GELU_EXACT] = OA_UNARY_GELU_EXACT,
                                                [OA_HEAD_RELU] = OA_UNARY_RELU,
                                                [OA_HEAD_SILU] = OA_UNARY_SILU };
    enum oa_head kind = m->options.model_head;
    oa_tensor *same;
    if (hidden && m->options.model_scale_output) {
        oa_tape_at(t, NULL, "the scale of the output", -1);
        hidden = oa_scale_heads(t, hidden, 1, 1 / sqrt((double)m->options.model_width), NULL, NULL);
    }
    if (!hidden || !m->head)
        return hidden;
    oa_tape_at(t, NULL, "the head", -1);
    oa_tensor *x = oa_linear(t, hidden, m->head, m->head_bias);
    x = kind == OA_HEAD_TANH ? oa_tanh(t, x) : oa_activate(t, x, activation[kind]);
    return m->options.model_head_norm ? oa_residual_norm_op(t, x, NULL, 0, 1, &m->head_norm, &same)
                                      : x;
}

static oa_tensor *forward_pooled(oa_tape *t, const struct oa_model *m, oa_tensor *hidden,
                                 const struct oa_batch *b)
{
    return oa_model_head(t, m, oa_model_pool(t, m, hidden, b->rows, b->length, b->lengths));
}

/* ---- loss ---- */

/* The rows with a target, and their targets; NULL: none. */
static oa_tensor *select_target_rows(oa_tape *t, oa_tensor *hidden, const int32_t *all,
                                     const int32_t **targets)
{
    size_t bytes = (size_t)hidden->rows * sizeof(int32_t);
    int32_t *index = oa_tape_take_host(t, bytes), *chosen = oa_tape_take_host(t, bytes);
    long count = 0;
    for (int32_t i = 0; index && chosen && i < hidden->rows; i++)
        if (all[i] >= 0) {
            index[count] = i;
            chosen[count++] = all[i];
        }
    *targets = chosen;
    return count ? oa_choose_rows(t, hidden, index, count) : NULL;
}

/* The same of a batch; the plan device has no targets, only their number. */
static oa_tensor *select_loss_rows(oa_tape *t, oa_tensor *hidden, const struct oa_batch *b,
                                   const int32_t **targets)
{
    if (b->target)
        return select_target_rows(t, hidden, b->target, targets);
    return oa_choose_rows(t, hidden, NULL, b->planned_targets ? b->planned_targets : hidden->rows);
}

oa_tensor *oa_model_targets(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            const int32_t **targets)
{
    oa_tensor *hidden = oa_model_batch_hidden(t, m, batch);
    if (hidden)
        hidden = select_target_rows(t, hidden, batch->target, targets);
    return oa_model_head(t, m, hidden);
}

static double forward_token_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *b,
                                 oa_tensor *hidden, struct oa_targets *targets)
{
    targets->id = b->target;
    targets->cap = m->options.model_output_cap;
    bool few = m->form.encoder || b->chosen;
    struct oa_soft_targets soft;
    if (targets->soft && few) {
        const int32_t *same;
        soft = *targets->soft;
        soft.x = select_loss_rows(t, soft.x, b, &same);
        if (!soft.x)
            return 0;
        targets->soft = &soft;
    }
    if (few) /* masked tokens or padding: logits of few rows are needed */
        hidden = select_loss_rows(t, hidden, b, &targets->id);
    hidden = oa_model_head(t, m, hidden);
    oa_tape_at(t, NULL, "the output layer", -1);
    return oa_linear_loss_op(t, hidden, m->output, m->output_bias, targets);
}

static double forward_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                           struct oa_targets *targets)
{
    oa_tensor *hidden = oa_model_batch_hidden(t, m, batch);
    if (!hidden)
        return 0;
    if (m->form.output == OA_OUTPUT_TOKENS)
        return forward_token_loss(t, m, batch, hidden, targets);
    if (m->form.output == OA_OUTPUT_CLASSES)
        targets->id = batch->label;
    else
        targets->value = batch->value;
    oa_tape_at(t, NULL, "pooling", -1);
    hidden = forward_pooled(t, m, hidden, batch);
    oa_tape_at(t, NULL, "the output layer", -1);
    return oa_linear_loss_op(t, hidden, m->output, m->output_bias, targets);
}

double oa_model_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch, double scale)
{
    struct oa_targets targets = { .smoothing = t->train ? m->options.train_label_smoothing : 0,
                                  .scale = scale };
    return forward_loss(t, m, batch, &targets);
}

double oa_model_taught_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            double scale, const struct oa_soft_targets *soft)
{
    struct oa_targets targets = { .scale = scale, .soft = soft };
    return soft->x ? forward_loss(t, m, batch, &targets) : 0;
}

/* ---- losses of the rows of a batch ---- */

double oa_model_row_losses(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                           struct oa_row_loss *out)
{
    long length = m->form.output == OA_OUTPUT_TOKENS ? batch->length : 1;
    struct oa_targets targets = { .scale = 1 };
    targets.losses = oa_tape_take_host(t, (size_t)(batch->rows * length) * sizeof *targets.losses);
    if (!targets.losses)
        return 0;
    memset(out, 0, (size_t)batch->rows * sizeof *out);
    double sum = forward_loss(t, m, batch, &targets);
    for (int i = 0; i < batch->rows && m->form.output != OA_OUTPUT_TOKENS; i++)
        out[i] = (struct oa_row_loss){ targets.losses[i], !batch->label || batch->label[i] >= 0 };
    if (oa_status(m->context) != OA_OK || m->form.output != OA_OUTPUT_TOKENS)
        return sum;
    /* `losses` has every position, or only those with a target: see forward_token_loss. */
    bool few = m->form.encoder || batch->chosen;
    for (long i = 0, at = 0; i < (long)batch->rows * length; i++) {
        bool target = batch->target[i] >= 0;
        out[i / length].sum += target ? targets.losses[at] : 0;
        out[i / length].targets += target;
        at += target || !few;
    }
    return sum;
}

/* ---- outputs ---- */

static enum oa_error forward_read_outputs(oa_tape *t, struct oa_model *m,
                                          const struct oa_batch *batch, oa_tensor *hidden,
                                          double *out)
{
    oa_tensor *pooled = hidden ? forward_pooled(t, m, hidden, batch) : NULL;
    const void *rows = pooled ? oa_model_logits(t, m, pooled, 0, pooled->rows) : NULL;
    OA_TRY(oa_status(m->context));
    long count = batch->rows * m->output->dim[0];
    struct oa_view v;
    const void *host = oa_view_open(&v, m->device, rows,
                                    (size_t)count * m->device->numbers.real_size, OA_VIEW_READ);
    for (long i = 0; host && i < count; i++)
        out[i] = oa_real_get(m->device, host, i);
    oa_view_close(&v);
    return oa_status(m->context);
}

enum oa_error oa_model_outputs(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                               double *out)
{
    return forward_read_outputs(t, m, batch, oa_model_batch_hidden(t, m, batch), out);
}

enum oa_error oa_model_outputs_batch_invariant(oa_tape *t, struct oa_model *m,
                                               const struct oa_batch *batch, double *out)
{
    t->invariant_rows = batch->length;
    oa_tensor *hidden = oa_model_batch_hidden(t, m, batch);
    t->invariant_rows = 1;
    enum oa_error e = forward_read_outputs(t, m, batch, hidden, out);
    t->invariant_rows = 0;
    return e;
}
