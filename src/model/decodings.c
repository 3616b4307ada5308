/* SPDX-License-Identifier: Apache-2.0
 *
 * Several decodings side by side, a token of each at a time. Their states are slots: a row has its
 * own, of the tokens it has read, and the one where its source was read, which it may share with
 * others. Sources are encoded one by one, so that what a row sees does not depend on the lengths of
 * others.
 */
#include "model/source.h"

enum oa_error oa_decodings_open(struct oa_model *m, int most, struct oa_decodings *out)
{
    size_t count = (size_t)most;
    *out = (struct oa_decodings){ .model = m, .most = most };
    oa_tape_init(&out->tape, m->device);
    out->tape.packs = &m->store;
    oa_source_init(&out->source, m->context);
    OA_TRY(oa_model_reads_on(m));
    out->slot = oa_alloc(m->context, count * sizeof *out->slot);
    out->row = oa_alloc(m->context, count * sizeof *out->row);
    out->self = oa_alloc(m->context, count * sizeof *out->self);
    out->cross = oa_alloc(m->context, count * sizeof *out->cross);
    out->kept = oa_alloc(m->context, count * sizeof *out->kept);
    out->source_length = oa_alloc(m->context, count * sizeof *out->source_length);
    OA_TRY(oa_status(m->context));
    for (int i = 0; i < most; i++)
        OA_TRY(oa_stack_state_open(&m->decoder, &out->slot[i]));
    return OA_OK;
}

void oa_decodings_close(struct oa_decodings *r)
{
    if (!r->model)
        return;
    for (int i = 0; r->slot && i < r->most; i++)
        oa_stack_state_close(&r->model->decoder, &r->slot[i]);
    oa_free(r->slot);
    oa_free(r->row);
    oa_free(r->self);
    oa_free(r->cross);
    oa_free(r->kept);
    oa_free(r->source_length);
    if (r->memory)
        r->model->device->ops->release(r->model->device, r->memory);
    oa_source_free(&r->source);
    oa_tape_free(&r->tape);
    *r = (struct oa_decodings){ 0 };
}

/* Rows as what reads on sees them. */
static void arrange(struct oa_decodings *r)
{
    for (int i = 0; i < r->rows; i++)
        r->row[i] = (struct oa_stack_state){ .self = r->slot[r->self[i]].self,
                                             .cross = r->slot[r->cross[i]].cross,
                                             .memory_length = r->source_length[r->cross[i]] };
}

static enum oa_error check_rows(const struct oa_decodings *r, int rows)
{
    if (rows < 1 || rows > r->most)
        return oa_fail(r->model->context, OA_INTERNAL,
                       "%d rows side by side, and there is room for 1 to %d", rows, r->most);
    return OA_OK;
}

static enum oa_error take_sources(struct oa_decodings *r, const struct oa_sequences *source)
{
    oa_source_clear(&r->source);
    if (!source != !r->model->form.encoder)
        return oa_fail(r->model->context, OA_INTERNAL, "sources are %s",
                       source ? "not read by this model" : "missing");
    for (int i = 0; source && i < r->rows; i++) {
        long first = i * source->length;
        r->source_length[i] = source->lengths ? source->lengths[i] : source->length;
        OA_TRY(oa_source_add(r->model, &r->source, source->ids + first,
                             source->words ? source->words + first : NULL, r->source_length[i]));
    }
    return OA_OK;
}

enum oa_error oa_decodings_begin(struct oa_decodings *r, int rows,
                                 const struct oa_sequences *source)
{
    OA_TRY(check_rows(r, rows));
    r->rows = rows;
    r->tokens = 0;
    for (int i = 0; i < rows; i++) {
        r->self[i] = r->cross[i] = i;
        oa_stack_state_reset(&r->model->decoder, &r->slot[i]);
    }
    OA_TRY(take_sources(r, source));
    arrange(r);
    return OA_OK;
}

/* ---- reading ---- */

/* What is read, and where what follows it is wanted. */
struct reading {
    const int32_t *ids;
    float *logits;
    double *sums;
};

static enum oa_error step(struct oa_decodings *r, const struct reading *what)
{
    struct oa_sequences in = { .rows = r->rows, .length = 1, .ids = what->ids };
    const oa_tensor *hidden = oa_model_hidden_rows(&r->tape, r->model, &in, r->row);
    OA_TRY(oa_status(r->model->context));
    if (!what->logits)
        return OA_OK;
    r->tape.invariant_rows = 1;
    enum oa_error e =
        oa_decoding_logits(&r->tape, r->model, hidden, 0, r->rows, what->logits, what->sums);
    r->tape.invariant_rows = 0;
    return e;
}

static void start(struct oa_decodings *r)
{
    oa_tape_reset(&r->tape, false, false, (struct oa_stream){ 0 });
}

static enum oa_error room_for_memory(struct oa_decodings *r, size_t bytes)
{
    struct oa_device *d = r->model->device;
    if (bytes <= r->memory_bytes)
        return OA_OK;
    if (r->memory)
        d->ops->release(d, r->memory);
    r->memory = d->ops->allocate(d, bytes);
    r->memory_bytes = r->memory ? bytes : 0;
    return oa_status(r->model->context);
}

/* One after the other, so that the tape holds what one needs. */
static enum oa_error encode_sources(struct oa_decodings *r)
{
    struct oa_device *d = r->model->device;
    long width = r->model->options.model_width, at = 0;
    OA_TRY(room_for_memory(r, r->source.ids.count * (size_t)width * d->numbers.act_size));
    for (int i = 0; i < r->rows; at += r->source_length[i++]) {
        struct oa_memory memory;
        start(r);
        OA_TRY(oa_source_read(&r->tape, r->model, &r->source, at, r->source_length[i], &memory));
        d->ops->select_rows(d, memory.x->rows, width, memory.x->rows, NULL, memory.x->data,
                            memory.x->ld, oa_act_at(d, r->memory, at * width), width);
    }
    return oa_status(r->model->context);
}

/* All rows take their first token together. */
static enum oa_error first_step(struct oa_decodings *r, const struct reading *what)
{
    long width = r->model->options.model_width, at = 0;
    OA_TRY(encode_sources(r));
    start(r);
    for (int i = 0; i < r->rows; at += r->source_length[i++])
        r->row[i].memory =
            oa_tensor_from(&r->tape, oa_act_at(r->model->device, r->memory, at * width),
                           r->source_length[i], width, width, false);
    enum oa_error e = step(r, what);
    for (int i = 0; i < r->rows; i++)
        r->row[i].memory = NULL;
    return e;
}

enum oa_error oa_decodings_read(struct oa_decodings *r, const int32_t *ids, float *logits,
                                double *sums)
{
    const struct reading what = { ids, logits, sums };
    start(r);
    OA_TRY(r->model->form.encoder && r->tokens == 0 ? first_step(r, &what) : step(r, &what));
    r->tokens++;
    return OA_OK;
}

/* ---- choosing ---- */

/* A slot that no row has, new rows 0 … made−1 and those whose first heir is still to come included.
 */
static int free_slot(const struct oa_decodings *r, int made)
{
    for (int slot = 0; slot < r->most; slot++) {
        bool taken = false;
        for (int i = 0; i < made; i++)
            taken |= r->kept[i] == slot;
        if (!taken)
            return slot;
    }
    return -1;
}

/* The first heir of a row takes its states, the others copies. kept: slots of the new rows; −1: not
 * yet. */
static enum oa_error give_states(struct oa_decodings *r, const int *from, int rows)
{
    for (int i = 0; i < rows; i++) {
        r->kept[i] = r->self[from[i]];
        for (int j = 0; j < i; j++)
            if (from[j] == from[i])
                r->kept[i] = -1;
    }
    for (int i = 0; i < rows; i++) {
        if (r->kept[i] >= 0)
            continue;
        int slot = free_slot(r, rows), was = r->self[from[i]];
        struct oa_stack_state source = { .self = r->slot[was].self },
                              target = { .self = r->slot[slot].self };
        OA_TRY(oa_stack_state_copy(&r->model->decoder, &source, &target));
        r->kept[i] = slot;
    }
    return OA_OK;
}

enum oa_error oa_decodings_choose(struct oa_decodings *r, const int *from, int rows)
{
    OA_TRY(check_rows(r, rows));
    for (int i = 0; i < rows; i++)
        if (from[i] < 0 || from[i] >= r->rows)
            return oa_fail(r->model->context, OA_INTERNAL, "row %d of %d is chosen", from[i],
                           r->rows);
    OA_TRY(give_states(r, from, rows));
    for (int i = 0; i < rows; i++)
        r->self[i] = r->kept[i];
    for (int i = 0; i < rows; i++)
        r->kept[i] = r->cross[from[i]];
    for (int i = 0; i < rows; i++)
        r->cross[i] = r->kept[i];
    r->rows = rows;
    arrange(r);
    return OA_OK;
}
