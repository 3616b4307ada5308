/* SPDX-License-Identifier: Apache-2.0
 * A trained language model for programs, which pass ids and numbers in arrays. */
#include "api/api.h"

#include <string.h>

struct oa_language_model {
    struct oa_trained trained;
    struct oa_text attention; /* canonical form */
};

struct oa_language_model_state {
    struct oa_language_model *model;
    struct oa_decoding decoding;
};

static oa_context *context_of(const oa_language_model *m)
{
    return m->trained.context;
}

/* ---- opening ---- */

oa_language_model *oa_language_model_open(oa_context *c, const char *folder)
{
    if (oa_status(c) != OA_OK)
        return NULL;
    struct oa_language_model *m = oa_alloc(c, sizeof *m);
    if (!m)
        return NULL;
    oa_text_init(&m->attention, c);
    if (oa_trained_open(c, folder, &m->trained) == OA_OK) {
        oa_stacks_print(&m->trained.model->attention, &m->attention);
        if (oa_status(c) == OA_OK)
            return m;
    }
    oa_language_model_close(m);
    return NULL;
}

void oa_language_model_close(oa_language_model *m)
{
    if (!m)
        return;
    oa_trained_close(&m->trained);
    oa_text_free(&m->attention);
    oa_free(m);
}

void oa_language_model_describe(const oa_language_model *m, struct oa_language_model_shape *out)
{
    const struct oa_options *o = &m->trained.options;
    *out = (struct oa_language_model_shape){ .vocabulary = m->trained.model->vocabulary,
                                             .context = o->model_context,
                                             .width = o->model_width,
                                             .layers = o->model_layers,
                                             .heads = o->model_heads,
                                             .attention = m->attention.s };
}

/* ---- tokens ---- */

static enum oa_error copy_ids(oa_context *c, const struct oa_ids *from, int32_t *ids, size_t room,
                              size_t *count)
{
    *count = (size_t)from->count;
    if (*count > room)
        return oa_fail(c, OA_SHAPE, "the text has %zu tokens, but the array has room for %zu",
                       *count, room);
    if (*count)
        memcpy(ids, from->id, *count * sizeof *ids);
    return OA_OK;
}

enum oa_error oa_language_model_encode(oa_language_model *m, const char *text, size_t length,
                                       int32_t *ids, size_t room, size_t *count)
{
    struct oa_ids found;
    *count = 0;
    OA_TRY(oa_status(context_of(m)));
    oa_ids_init(&found, context_of(m));
    enum oa_error e = oa_tokenizer_encode(m->trained.tokenizer, text, length, &found);
    if (e == OA_OK)
        e = copy_ids(context_of(m), &found, ids, room, count);
    oa_ids_free(&found);
    return e;
}

const char *oa_language_model_token(const oa_language_model *m, int32_t id, size_t *length)
{
    const struct oa_tokenizer *t = m->trained.tokenizer;
    *length = 0;
    if (id < 0 || id >= oa_tokenizer_size(t) || !oa_tokenizer_piece(t, id))
        return NULL;
    return oa_tokenizer_bytes(t, id, length);
}

static enum oa_error check_ids(const oa_language_model *m, const int32_t *ids, size_t count)
{
    OA_TRY(oa_status(context_of(m)));
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= m->trained.model->vocabulary)
            return oa_fail(context_of(m), OA_ARGUMENT, "token %zu has id %d; ids are 0 to %ld", i,
                           ids[i], m->trained.model->vocabulary - 1);
    return OA_OK;
}

/* ---- scores ---- */

enum oa_error oa_language_model_score(oa_language_model *m, const int32_t *ids, size_t count,
                                      double *nats)
{
    OA_TRY(check_ids(m, ids, count));
    return oa_model_score(&m->trained.tape, m->trained.model, ids, (long)count, nats);
}

/* ---- token by token ---- */

oa_language_model_state *oa_language_model_state_open(oa_language_model *m)
{
    if (oa_status(context_of(m)) != OA_OK)
        return NULL;
    struct oa_language_model_state *s = oa_alloc(context_of(m), sizeof *s);
    if (!s)
        return NULL;
    s->model = m;
    if (oa_decoding_open(m->trained.model, &s->decoding) == OA_OK)
        return s;
    oa_language_model_state_close(s);
    return NULL;
}

void oa_language_model_state_close(oa_language_model_state *s)
{
    if (!s)
        return;
    oa_decoding_close(&s->decoding);
    oa_free(s);
}

void oa_language_model_state_reset(oa_language_model_state *s)
{
    oa_decoding_reset(&s->decoding);
}

enum oa_error oa_language_model_state_copy(const oa_language_model_state *from,
                                           oa_language_model_state *to)
{
    OA_TRY(oa_status(context_of(from->model)));
    if (from->model != to->model)
        return oa_fail(context_of(from->model), OA_ARGUMENT,
                       "the states belong to different models");
    return oa_decoding_copy(&from->decoding, &to->decoding);
}

enum oa_error oa_language_model_step(oa_language_model_state *s, const int32_t *ids, size_t count,
                                     float *logits)
{
    long context = s->model->trained.options.model_context;
    OA_TRY(check_ids(s->model, ids, count));
    if (count < 1 || s->decoding.tokens + (long)count > context)
        return oa_fail(context_of(s->model), OA_SHAPE,
                       "%zu token%s after %ld: give at least one, and at most %ld in all (context)",
                       count, oa_plural((double)count), s->decoding.tokens, context);
    return oa_decoding_read(&s->decoding, ids, (long)count, logits);
}
