/* SPDX-License-Identifier: Apache-2.0
 * Decoding token by token, with the caches of the attention layers (oa_state).
 *
 * When the context is full, the caches are cleared and the last half of the context is read again,
 * which about doubles the cost per token. The model then sees the last context/2 to context tokens,
 * and its output is a function of the text alone. */
#include "model/source.h"

enum oa_error oa_model_check_decoding(const struct oa_model *m)
{
    if (!m->form.decoder || m->form.output != OA_OUTPUT_TOKENS)
        return oa_fail(m->context, OA_UNSUPPORTED,
                       "the model is of architecture %s with output %s: only decoders of tokens "
                       "decode token by token",
                       oa_architecture_name(&m->form), oa_output_name(m->form.output));
    return oa_stack_check_decoding(&m->decoder);
}

enum oa_error oa_decoding_open(struct oa_model *m, struct oa_decoding *out)
{
    *out = (struct oa_decoding){ .model = m };
    oa_tape_init(&out->tape, m->device);
    out->tape.packs = &m->store;
    oa_source_init(&out->source, m->context);
    OA_TRY(oa_model_check_decoding(m));
    return oa_stack_state_open(&m->decoder, &out->state);
}

void oa_decoding_close(struct oa_decoding *s)
{
    if (!s->model)
        return;
    oa_stack_state_close(&s->model->decoder, &s->state);
    oa_tape_free(&s->tape);
    oa_source_free(&s->source);
    *s = (struct oa_decoding){ 0 };
}

void oa_decoding_reset(struct oa_decoding *s)
{
    s->tokens = s->end = 0;
    oa_stack_state_reset(&s->model->decoder, &s->state);
}

enum oa_error oa_decoding_source(struct oa_decoding *s, const int32_t *ids, const int32_t *words,
                                 long n)
{
    oa_decoding_reset(s);
    oa_source_clear(&s->source);
    return oa_source_add(s->model, &s->source, ids, words, n);
}

enum oa_error oa_decoding_copy(const struct oa_decoding *from, struct oa_decoding *to)
{
    OA_TRY(oa_source_copy(&from->source, &to->source));
    OA_TRY(oa_stack_state_copy(&from->model->decoder, &from->state, &to->state));
    to->tokens = from->tokens;
    to->end = from->end;
    return OA_OK;
}

void oa_decoding_share_tape(struct oa_decoding *s, oa_tape *t)
{
    t->packs = &s->model->store;
    s->shared = t;
}

size_t oa_decoding_bytes(const struct oa_decoding *s)
{
    return oa_stack_state_bytes(&s->model->decoder, &s->state);
}

/* ---- appending tokens ---- */

/* Where the device can write floats of the host, they are the logits; else copied from its own
 * memory. */
enum oa_error oa_decoding_logits(oa_tape *t, const struct oa_model *m, oa_tensor *hidden,
                                 long first, long rows, float *logits, double *sums)
{
    hidden = oa_model_head(t, m, hidden);
    struct oa_device *d = m->device;
    const void *made = logits;
    OA_TRY(oa_status(m->context));
    if (d->ops->shared && d->numbers.real == OA_F32)
        oa_model_write_logits(t, m, hidden, first, rows, logits);
    else
        made = oa_model_logits(t, m, hidden, first, rows);
    OA_TRY(oa_status(m->context));
    if (sums)
        d->ops->log_sums(d, rows, m->vocabulary, made, sums);
    if (made != logits)
        oa_reals_read_floats(d, rows * m->vocabulary, made, logits);
    return oa_status(m->context);
}

enum oa_error oa_decoding_read_chunk(struct oa_decoding *s, const int32_t *ids, long n,
                                     float *logits, const struct oa_logits_visitor *visitor)
{
    oa_tape *t = s->shared ? s->shared : &s->tape;
    if (n <= OA_DECODING_TOGETHER && !s->model->form.encoder)
        return oa_decodings_read(t, &(struct oa_decoding_piece){ s, ids, n, logits, visitor }, 1);
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    struct oa_sequences in = { .rows = 1, .length = n, .ids = ids };
    struct oa_memory memory = { .length = (long)s->source.ids.count };
    if (s->model->form.encoder && s->tokens == 0)
        OA_TRY(oa_source_read(t, s->model, &s->source, 0, memory.length, &memory));
    oa_tensor *hidden =
        oa_model_hidden(t, s->model, &in, s->model->form.encoder ? &memory : NULL, &s->state);
    OA_TRY(oa_status(s->model->context));
    if (visitor)
        OA_TRY(oa_model_visit_hidden(t, s->model, hidden, s->tokens, visitor));
    s->tokens += n;
    s->end += n;
    return logits ? oa_decoding_logits(t, s->model, hidden, hidden->rows - 1, 1, logits, NULL)
                  : OA_OK;
}

enum oa_error oa_decoding_read(struct oa_decoding *s, const int32_t *ids, long n, float *logits)
{
    for (long i = 0; i < n; i += OA_DECODING_CHUNK) {
        long count = oa_min(OA_DECODING_CHUNK, n - i);
        OA_TRY(oa_decoding_read_chunk(s, ids + i, count, i + count == n ? logits : NULL, NULL));
    }
    return OA_OK;
}

enum oa_error oa_decoding_continue(struct oa_decoding *s, const int32_t *ids, long n, float *logits)
{
    long context = s->model->options.model_context;
    if (s->tokens + n - s->end > context && s->model->form.encoder)
        return oa_fail(s->model->context, OA_SHAPE,
                       "the text exceeds the context of the model, %ld tokens", context);
    if (s->tokens + n - s->end > context) {
        oa_decoding_reset(s);
        s->end = n - oa_min(n, (context + 1) / 2);
    }
    return oa_decoding_read(s, ids + s->end, n - s->end, logits);
}

/* ---- memory ---- */

static void ignore_logits(void *argument, long position, const double *logits)
{
    (void)argument, (void)position, (void)logits;
}

static const int32_t planned_ids[OA_DECODING_CHUNK];
static const struct oa_logits_visitor everything = { ignore_logits, NULL, 0 };

/* A pass in which as many sequences read a piece of a prompt as a chunk has room for, and the
 * others one token. */
static enum oa_error plan_pass(struct oa_model *plan, oa_tape *t, struct oa_decoding *s,
                               struct oa_decoding_piece *piece, int sequences)
{
    static float row[1]; /* nothing is written on the plan device */
    long most = oa_min(OA_DECODING_TOGETHER, plan->options.model_context);
    for (int i = 0; i < sequences; i++) {
        bool reads = (i + 1) * OA_DECODING_TOGETHER <= OA_DECODING_CHUNK;
        OA_TRY(oa_decoding_open(plan, &s[i]));
        piece[i] = (struct oa_decoding_piece){ &s[i], planned_ids, reads ? most : 1, row,
                                               reads ? &everything : NULL };
    }
    return oa_decodings_read(t, piece, sequences);
}

static enum oa_error plan_memory(struct oa_model *plan, int sequences,
                                 struct oa_decoding_memory *out)
{
    struct oa_decoding *s = oa_alloc(plan->context, (size_t)(sequences + 1) * sizeof *s);
    struct oa_decoding_piece *piece = oa_alloc(plan->context, (size_t)sequences * sizeof *piece);
    enum oa_error e = s && piece ? oa_decoding_open(plan, &s[0]) : OA_NO_MEMORY;
    for (long rest = plan->options.model_context, n; e == OA_OK && rest > 0; rest -= n) {
        n = oa_min(OA_DECODING_CHUNK, rest);
        e = oa_decoding_read_chunk(&s[0], planned_ids, n, NULL, &everything);
    }
    out->state = e == OA_OK ? oa_decoding_bytes(&s[0]) : 0;
    if (e == OA_OK)
        e = plan_pass(plan, &s[0].tape, s + 1, piece, sequences);
    if (e == OA_OK)
        out->pass = s[0].tape.arena.peak + s[0].tape.nodes.peak + plan->device->scratch.peak;
    for (int i = 0; s && i <= sequences; i++)
        oa_decoding_close(&s[i]);
    oa_free(s);
    oa_free(piece);
    return e;
}

enum oa_error oa_decoding_plan_memory(const struct oa_model *m, int sequences,
                                      struct oa_decoding_memory *out)
{
    struct oa_device *d;
    struct oa_model *plan = NULL;
    *out = (struct oa_decoding_memory){ 0 };
    OA_TRY(oa_device_open(m->context, m->device->numbers.precision, true, &d));
    enum oa_error e = oa_model_open(d, &m->options, &m->form, false, &plan);
    if (e == OA_OK)
        e = plan_memory(plan, sequences, out);
    oa_model_close(plan);
    oa_device_close(d);
    return e;
}
