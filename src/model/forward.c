/* SPDX-License-Identifier: Apache-2.0
 * A batch through a model: what its stacks make of the tokens, and what that costs beside what was
 * expected. */
#include "model/model.h"

#include <math.h>
#include <string.h>

/* ---- hidden states ---- */

static double embedding_factor(const struct oa_options *o)
{
    return o->model_scale_embedding ? sqrt((double)o->model_width) : 1;
}

/* A stack with what its tokens are embedded by. */
struct side {
    const struct oa_stack *stack;
    const struct oa_positions *positions;
    struct oa_parameter *embedding, *segment, *patch;
};

/* What patches have beside the embedding of their id. */
static oa_tensor *pixels(oa_tape *t, const struct side *s, const struct oa_sequences *in)
{
    if (!s->patch)
        return NULL;
    oa_tensor *x = oa_patches(t, in->pixels, in->ids, in->rows * in->length, s->patch->dim[1]);
    return oa_linear(t, x, s->patch, NULL);
}

static oa_tensor *run(oa_tape *t, const struct oa_model *m, const struct side *s,
                      const struct oa_sequences *in, const struct oa_memory *memory,
                      const struct oa_stack_state *state, bool side_by_side)
{
    const struct oa_options *o = &m->options;
    const struct oa_positions *p = s->positions;
    long first = state ? state->self[0]->tokens : 0;
    oa_tape_at(t, NULL, "embedding", -1);
    struct oa_embedding_tables tables = { s->embedding, p->table, s->segment, embedding_factor(o),
                                          pixels(t, s, in) };
    struct oa_stack_input x = { .x = oa_embed(t, in->ids, in->segments, in->rows * in->length,
                                              in->length, first, &tables, o->model_dropout),
                                .memory = memory ? memory->x : NULL,
                                .batch = in->rows,
                                .length = in->length,
                                .memory_length = memory ? memory->length : 0,
                                .words = in->words,
                                .lengths = in->lengths,
                                .memory_lengths = memory ? memory->lengths : NULL,
                                .cosine = p->cosine ? p->cosine->value : NULL,
                                .sine = p->sine ? p->sine->value : NULL,
                                .dropout = o->model_dropout,
                                .attention_dropout = o->model_attention_dropout,
                                .state = side_by_side ? NULL : state,
                                .rows = side_by_side ? state : NULL,
                                .watch = m->watch };
    return oa_stack_forward(t, s->stack, &x);
}

oa_tensor *oa_model_encode(oa_tape *t, struct oa_model *m, const struct oa_sequences *source)
{
    struct side s = { &m->encoder, &m->source_positions, m->source_embedding, NULL, NULL };
    return run(t, m, &s, source, NULL, NULL, false);
}

oa_tensor *oa_model_hidden(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                           const struct oa_memory *memory, const struct oa_stack_state *state)
{
    struct side s = { oa_model_stack(m), &m->positions, m->embedding, m->segment, m->patch };
    return run(t, m, &s, in, memory, state, false);
}

oa_tensor *oa_model_hidden_rows(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                                const struct oa_stack_state *rows)
{
    struct side s = { oa_model_stack(m), &m->positions, m->embedding, m->segment, m->patch };
    t->invariant_rows = in->rows > 1 ? 1 : 0;
    oa_tensor *hidden = run(t, m, &s, in, NULL, rows, true);
    t->invariant_rows = 0;
    return hidden;
}

/* ---- a batch ---- */

static enum oa_error check_lengths(oa_context *c, const char *what, const int32_t *lengths,
                                   long rows, long length, long most)
{
    if (length < 1 || length > most)
        return oa_fail(c, OA_SHAPE,
                       "a batch has %ss of %ld tokens, and the model was made for 1 to %ld", what,
                       length, most);
    for (long i = 0; lengths && i < rows; i++)
        if (lengths[i] < 1 || lengths[i] > length)
            return oa_fail(
                c, OA_SHAPE,
                "row %ld of a batch has a %s of %ld tokens, and there is room for 1 to %ld", i + 1,
                what, (long)lengths[i], length);
    return OA_OK;
}

static enum oa_error check_labels(const struct oa_model *m, const struct oa_batch *b)
{
    for (long i = 0; m->form.output == OA_OUTPUT_CLASSES && b->label && i < b->rows; i++)
        if (b->label[i] < OA_IGNORED || b->label[i] >= m->form.classes)
            return oa_fail(m->context, OA_SHAPE,
                           "row %ld of a batch has the class %ld, and the model knows 0 to %ld",
                           i + 1, (long)b->label[i], m->form.classes - 1);
    return OA_OK;
}

/* The plan device is given shapes alone. */
static enum oa_error check_batch(const struct oa_model *m, const struct oa_batch *b)
{
    const struct oa_options *o = &m->options;
    OA_TRY(check_lengths(m->context, "text", b->lengths, b->rows, b->length, o->model_context));
    if (m->form.encoder && m->form.decoder)
        OA_TRY(check_lengths(m->context, "source", b->source_lengths, b->rows, b->source_length,
                             oa_model_source_context(o)));
    if (m->form.segments && !b->segments && !m->device->dry)
        return oa_fail(m->context, OA_INTERNAL,
                       "the model tells segments apart, and the batch has none");
    if (m->form.patch && !b->pixels && !m->device->dry)
        return oa_fail(m->context, OA_INTERNAL,
                       "the model reads patches of pictures, and the batch has no pixels");
    return check_labels(m, b);
}

static oa_tensor *batch_hidden(oa_tape *t, struct oa_model *m, const struct oa_batch *b)
{
    struct oa_sequences in = { .rows = b->rows,
                               .length = b->length,
                               .ids = b->input,
                               .lengths = b->lengths,
                               .segments = m->form.segments ? b->segments : NULL,
                               .words = b->words,
                               .pixels = b->pixels };
    struct oa_sequences source = { .rows = b->rows,
                                   .length = b->source_length,
                                   .ids = b->source,
                                   .lengths = b->source_lengths,
                                   .words = b->source_words };
    struct oa_memory memory = { .length = b->source_length, .lengths = b->source_lengths };
    if (check_batch(m, b) != OA_OK)
        return NULL;
    if (!m->form.encoder || !m->form.decoder)
        return oa_model_hidden(t, m, &in, NULL, NULL);
    memory.x = oa_model_encode(t, m, &source);
    return memory.x ? oa_model_hidden(t, m, &in, &memory, NULL) : NULL;
}

/* ---- a row of each sequence ---- */

static int32_t last_of(const struct oa_batch *b, int row)
{
    return b->lengths ? b->lengths[row] - 1 : b->length - 1;
}

static oa_tensor *one_row_each(oa_tape *t, oa_tensor *hidden, const struct oa_batch *b, bool last)
{
    int32_t *index = oa_tape_take_host(t, (size_t)b->rows * sizeof *index);
    for (int i = 0; index && i < b->rows; i++)
        index[i] = i * b->length + (last ? last_of(b, i) : 0);
    return index ? oa_choose_rows(t, hidden, index, b->rows) : NULL;
}

static oa_tensor *pool(oa_tape *t, const struct oa_model *m, oa_tensor *hidden,
                       const struct oa_batch *b)
{
    if (m->options.model_pool == OA_POOL_MEAN)
        return oa_mean_rows(t, hidden, b->length, b->lengths);
    return one_row_each(t, hidden, b, m->options.model_pool == OA_POOL_LAST);
}

/* ---- loss ---- */

/* The rows that have a target, and in *targets these: with masked words, or padding, few may. NULL:
 * none has. */
static oa_tensor *rows_with_targets(oa_tape *t, oa_tensor *hidden, const int32_t *all,
                                    const int32_t **targets)
{
    size_t bytes = (size_t)hidden->rows * sizeof(int32_t);
    int32_t *index = oa_tape_take_host(t, bytes), *kept = oa_tape_take_host(t, bytes);
    long count = 0;
    for (int32_t i = 0; index && kept && i < hidden->rows; i++)
        if (all[i] >= 0) {
            index[count] = i;
            kept[count++] = all[i];
        }
    *targets = kept;
    return count ? oa_choose_rows(t, hidden, index, count) : NULL;
}

oa_tensor *oa_model_targets(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            const int32_t **targets)
{
    oa_tensor *hidden = batch_hidden(t, m, batch);
    return hidden ? rows_with_targets(t, hidden, batch->target, targets) : NULL;
}

static double token_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *b,
                         oa_tensor *hidden, struct oa_targets *targets)
{
    targets->id = b->target;
    if (m->form.encoder && b->target)
        hidden = rows_with_targets(t, hidden, b->target, &targets->id);
    else if (m->form.encoder) /* the plan device */
        hidden =
            oa_choose_rows(t, hidden, NULL, b->planned_targets ? b->planned_targets : hidden->rows);
    return oa_linear_loss_op(t, hidden, m->embedding, NULL, targets);
}

double oa_model_loss(oa_tape *t, struct oa_model *m, const struct oa_batch *batch, double scale)
{
    oa_tensor *hidden = batch_hidden(t, m, batch);
    struct oa_targets targets = { .smoothing = t->train ? m->options.train_label_smoothing : 0,
                                  .scale = scale };
    if (!hidden)
        return 0;
    oa_tape_at(t, NULL, "the output layer", -1);
    if (m->form.output == OA_OUTPUT_TOKENS)
        return token_loss(t, m, batch, hidden, &targets);
    if (m->form.output == OA_OUTPUT_CLASSES)
        targets.id = batch->label;
    else
        targets.value = batch->value;
    return oa_linear_loss_op(t, pool(t, m, hidden, batch), m->classifier, m->classifier_bias,
                             &targets);
}

/* ---- outputs ---- */

static enum oa_error read_outputs(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                                  oa_tensor *hidden, double *out)
{
    oa_tensor *pooled = hidden ? pool(t, m, hidden, batch) : NULL;
    const void *rows = pooled ? oa_model_logits(t, m, pooled, 0, pooled->rows) : NULL;
    OA_TRY(oa_status(m->context));
    long count = batch->rows * m->classifier->dim[0];
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
    return read_outputs(t, m, batch, batch_hidden(t, m, batch), out);
}

enum oa_error oa_model_outputs_batch_invariant(oa_tape *t, struct oa_model *m,
                                               const struct oa_batch *batch, double *out)
{
    t->invariant_rows = batch->length;
    oa_tensor *hidden = batch_hidden(t, m, batch);
    t->invariant_rows = 1;
    enum oa_error e = read_outputs(t, m, batch, hidden, out);
    t->invariant_rows = 0;
    return e;
}
