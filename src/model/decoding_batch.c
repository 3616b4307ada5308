/* SPDX-License-Identifier: Apache-2.0
 * Batched decoding. A row has a slot with its self-attention state, and one with the
 * cross-attention state of its source. Rows of one source share the latter, unless it also depends
 * on the row's tokens (a convolution of queries): then both states are in one slot. Sources are
 * encoded one by one: results do not depend on the lengths of others. */
#include "model/source.h"

enum oa_error oa_decoding_batch_open(struct oa_model *m, int most, struct oa_decoding_batch *out)
{
    size_t count = (size_t)most;
    *out = (struct oa_decoding_batch){ .model = m, .most = most };
    oa_tape_init(&out->tape, m->device);
    out->tape.packs = &m->store;
    oa_source_init(&out->source, m->context);
    OA_TRY(oa_model_check_decoding(m));
    out->slot = oa_alloc(m->context, count * sizeof *out->slot);
    out->row = oa_alloc(m->context, count * sizeof *out->row);
    out->self = oa_alloc(m->context, count * sizeof *out->self);
    out->cross = oa_alloc(m->context, count * sizeof *out->cross);
    out->next = oa_alloc(m->context, count * sizeof *out->next);
    out->source_length = oa_alloc(m->context, count * sizeof *out->source_length);
    OA_TRY(oa_status(m->context));
    for (int i = 0; i < most; i++)
        OA_TRY(oa_stack_state_open(&m->decoder, &out->slot[i]));
    return OA_OK;
}

void oa_decoding_batch_close(struct oa_decoding_batch *r)
{
    if (!r->model)
        return;
    for (int i = 0; r->slot && i < r->most; i++)
        oa_stack_state_close(&r->model->decoder, &r->slot[i]);
    oa_free(r->slot);
    oa_free(r->row);
    oa_free(r->self);
    oa_free(r->cross);
    oa_free(r->next);
    oa_free(r->source_length);
    if (r->memory)
        r->model->device->ops->release(r->model->device, r->memory);
    oa_source_free(&r->source);
    oa_tape_free(&r->tape);
    *r = (struct oa_decoding_batch){ 0 };
}

static void batch_set_views(struct oa_decoding_batch *r)
{
    for (int i = 0; i < r->rows; i++)
        r->row[i] = (struct oa_stack_state){ .self = r->slot[r->self[i]].self,
                                             .cross = r->slot[r->cross[i]].cross,
                                             .queries = 1,
                                             .memory_length = r->source_length[r->cross[i]] };
}

static enum oa_error batch_check_rows(const struct oa_decoding_batch *r, int rows)
{
    if (rows < 1 || rows > r->most)
        return oa_fail(r->model->context, OA_INTERNAL,
                       "decoding batch of %d rows; the capacity is 1 to %d", rows, r->most);
    return OA_OK;
}

static enum oa_error batch_set_sources(struct oa_decoding_batch *r,
                                       const struct oa_sequences *source)
{
    oa_source_clear(&r->source);
    if (!source != !r->model->form.encoder)
        return oa_fail(r->model->context, OA_INTERNAL, "decoding batch: %s",
                       source ? "the model reads no sources" : "sources are missing");
    for (int i = 0; source && i < r->rows; i++) {
        long first = i * source->length;
        r->source_length[i] = source->lengths ? source->lengths[i] : source->length;
        OA_TRY(oa_source_add(r->model, &r->source, source->ids + first,
                             source->words ? source->words + first : NULL, r->source_length[i]));
    }
    return OA_OK;
}

enum oa_error oa_decoding_batch_begin(struct oa_decoding_batch *r, int rows,
                                      const struct oa_sequences *source)
{
    OA_TRY(batch_check_rows(r, rows));
    r->rows = rows;
    r->tokens = 0;
    for (int i = 0; i < rows; i++) {
        r->self[i] = r->cross[i] = i;
        oa_stack_state_reset(&r->model->decoder, &r->slot[i]);
    }
    OA_TRY(batch_set_sources(r, source));
    batch_set_views(r);
    return OA_OK;
}

/* ---- reading ---- */

/* One by one, which bounds the memory of the tape. */
static enum oa_error batch_encode_sources(struct oa_decoding_batch *r)
{
    struct oa_device *d = r->model->device;
    long width = r->model->options.model_width, at = 0;
    size_t bytes = r->source.ids.count * (size_t)width * d->numbers.act_size;
    if (bytes > r->memory_bytes) {
        if (r->memory)
            d->ops->release(d, r->memory);
        r->memory = d->ops->allocate(d, bytes);
        r->memory_bytes = r->memory ? bytes : 0;
    }
    OA_TRY(oa_status(r->model->context));
    for (int i = 0; i < r->rows; at += r->source_length[i++]) {
        struct oa_memory memory;
        oa_tape_reset(&r->tape, false, false, (struct oa_stream){ 0 });
        OA_TRY(oa_source_read(&r->tape, r->model, &r->source, at, r->source_length[i], &memory));
        d->ops->select_rows(d, memory.x->rows, width, memory.x->rows, NULL, memory.x->data,
                            memory.x->ld, oa_act_at(d, r->memory, at * width), width);
    }
    return oa_status(r->model->context);
}

/* The first step makes the cross-attention states of the sources. */
enum oa_error oa_decoding_batch_read(struct oa_decoding_batch *r, const int32_t *ids, float *logits,
                                     double *sums)
{
    struct oa_sequences in = { .rows = r->rows, .length = 1, .ids = ids };
    long width = r->model->options.model_width, at = 0;
    bool sources = r->model->form.encoder && r->tokens == 0;
    if (sources)
        OA_TRY(batch_encode_sources(r));
    oa_tape_reset(&r->tape, false, false, (struct oa_stream){ 0 });
    for (int i = 0; sources && i < r->rows; at += r->source_length[i++])
        r->row[i].memory =
            oa_tensor_from(&r->tape, oa_act_at(r->model->device, r->memory, at * width),
                           r->source_length[i], width, width, false);
    oa_tensor *hidden = oa_model_hidden_rows(&r->tape, r->model, &in, r->row);
    for (int i = 0; i < r->rows; i++)
        r->row[i].memory = NULL;
    OA_TRY(oa_status(r->model->context));
    r->tape.invariant_rows = 1;
    enum oa_error e =
        logits ? oa_decoding_logits(&r->tape, r->model, hidden, 0, r->rows, logits, sums) : OA_OK;
    r->tape.invariant_rows = 0;
    r->tokens += e == OA_OK;
    return e;
}

/* ---- selecting rows ---- */

/* A slot that none of the new rows 0 … rows−1 has. */
static int batch_free_slot(const struct oa_decoding_batch *r, int rows)
{
    for (int slot = 0; slot < r->most; slot++) {
        bool taken = false;
        for (int i = 0; i < rows; i++)
            taken |= r->next[i] == slot;
        if (!taken)
            return slot;
    }
    return -1;
}

static bool batch_shares_cross(const struct oa_decoding_batch *r)
{
    const struct oa_stack *s = &r->model->decoder;
    for (long i = 0; s->shape.cross && i < s->shape.layers; i++)
        if (oa_layer_state_follows_queries(&s->block[i].cross))
            return false;
    return true;
}

/* The first continuation of a row takes its slot, further ones get copies. next: slots of the new
 * rows; −1: not yet assigned. */
static enum oa_error batch_assign_slots(struct oa_decoding_batch *r, const int *from, int rows)
{
    for (int i = 0; i < rows; i++) {
        r->next[i] = r->self[from[i]];
        for (int j = 0; j < i; j++)
            if (from[j] == from[i])
                r->next[i] = -1;
    }
    for (int i = 0; i < rows; i++) {
        if (r->next[i] >= 0)
            continue;
        int slot = batch_free_slot(r, rows), was = r->self[from[i]];
        struct oa_stack_state source = { .self = r->slot[was].self },
                              target = { .self = r->slot[slot].self };
        if (!batch_shares_cross(r)) {
            source.cross = r->slot[was].cross;
            target.cross = r->slot[slot].cross;
            r->source_length[slot] = r->source_length[was];
        }
        OA_TRY(oa_stack_state_copy(&r->model->decoder, &source, &target));
        r->next[i] = slot;
    }
    return OA_OK;
}

enum oa_error oa_decoding_batch_choose(struct oa_decoding_batch *r, const int *from, int rows)
{
    OA_TRY(batch_check_rows(r, rows));
    for (int i = 0; i < rows; i++)
        if (from[i] < 0 || from[i] >= r->rows)
            return oa_fail(r->model->context, OA_INTERNAL, "decoding batch: row %d of %d selected",
                           from[i], r->rows);
    OA_TRY(batch_assign_slots(r, from, rows));
    for (int i = 0; i < rows; i++)
        r->self[i] = r->next[i];
    for (int i = 0; i < rows; i++)
        r->next[i] = batch_shares_cross(r) ? r->cross[from[i]] : r->self[i];
    for (int i = 0; i < rows; i++)
        r->cross[i] = r->next[i];
    r->rows = rows;
    batch_set_views(r);
    return OA_OK;
}
