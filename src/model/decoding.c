/* SPDX-License-Identifier: Apache-2.0
 *
 * The model reads a text token by token, and says what may come next. What attention needs of the tokens before is in
 * the states of the layers; a token costs the same products as in training and what attention does with its state.
 *
 * When the context is full the window slides: everything is forgotten, and the last half of the context is read again.
 * That costs half a context once in half a context of tokens, so about one more token for each; the model sees the last
 * context/2 to context tokens, and what it says is a function of the text alone.
 */
#include "model/model.h"

enum { CHUNK = 128 }; /* tokens read at a time where many wait: enough for the matrix units */

enum oa_error oa_decoding_open(struct oa_model *m, struct oa_decoding *out)
{
    *out = (struct oa_decoding){ .model = m };
    oa_tape_init(&out->tape, m->device);
    return oa_stack_state_open(&m->decoder, &out->state);
}

void oa_decoding_close(struct oa_decoding *s)
{
    if (!s->model)
        return;
    oa_stack_state_close(&s->model->decoder, &s->state);
    oa_tape_free(&s->tape);
    *s = (struct oa_decoding){ 0 };
}

void oa_decoding_reset(struct oa_decoding *s)
{
    s->tokens = s->end = 0;
    oa_stack_state_reset(&s->model->decoder, &s->state);
}

enum oa_error oa_decoding_copy(const struct oa_decoding *from, struct oa_decoding *to)
{
    OA_TRY(oa_stack_state_copy(&from->model->decoder, &from->state, &to->state));
    to->tokens = from->tokens;
    to->end = from->end;
    return OA_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

static void put_logits(struct oa_decoding *s, const oa_tensor *hidden, float *logits)
{
    const struct oa_model *m = s->model;
    const void *row = oa_model_logits(&s->tape, m, hidden, hidden->rows - 1, 1);
    struct oa_view v;
    if (!row)
        return;
    const void *host =
        oa_view_open(&v, m->device, row, (size_t)m->vocabulary * m->device->numbers.real_size, OA_VIEW_READ);
    for (long i = 0; host && i < m->vocabulary; i++)
        logits[i] = (float)oa_real_get(m->device, host, i);
    oa_view_close(&v);
}

/* logits NULL: those after these tokens are not wanted. */
static enum oa_error read_chunk(struct oa_decoding *s, const int32_t *ids, long n, float *logits)
{
    oa_tape_reset(&s->tape, false, false, (struct oa_stream){ 0 });
    const oa_tensor *hidden = oa_model_hidden(&s->tape, s->model, ids, 1, n, &s->state);
    OA_TRY(oa_status(s->model->context));
    s->tokens += n;
    if (logits)
        put_logits(s, hidden, logits);
    return oa_status(s->model->context);
}

enum oa_error oa_decoding_read(struct oa_decoding *s, const int32_t *ids, long n, float *logits)
{
    for (long i = 0; i < n; i += CHUNK) {
        long count = oa_min(CHUNK, n - i);
        OA_TRY(read_chunk(s, ids + i, count, i + count == n ? logits : NULL));
    }
    s->end += n;
    return OA_OK;
}

enum oa_error oa_decoding_continue(struct oa_decoding *s, const int32_t *ids, long n, float *logits)
{
    long context = s->model->options.model_context;
    if (s->tokens + n - s->end > context) {
        oa_decoding_reset(s);
        s->end = n - oa_min(n, (context + 1) / 2);
    }
    return oa_decoding_read(s, ids + s->end, n - s->end, logits);
}
