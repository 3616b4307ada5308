/* SPDX-License-Identifier: Apache-2.0
 * /v1/embeddings: the last hidden states of a text, pooled: their mean, the first or the last one.
 * Encoders read the text between the special tokens of the tokenizer. */
#include "serve/request_inputs.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/little_endian.h"
#include "print/print.h"
#include "tasks/tasks.h"

#include <string.h>

enum pooling_kind { POOL_MEAN, POOL_FIRST, POOL_LAST };

struct embedding_options {
    struct oa_served_model *model;
    enum pooling_kind pooling;
    bool base64;
    oa_tape tape; /* of the passes */
};

static enum oa_error read_embedding_options(struct oa_server *s, const json_t *request,
                                            struct embedding_options *out)
{
    const char *pooling = "mean", *format = "float";
    OA_TRY(oa_request_check_names(s->context, request, "model input pooling encoding_format user"));
    OA_TRY(oa_request_model(s, request, &out->model));
    OA_TRY(oa_request_text(s->context, request, "pooling", &pooling));
    OA_TRY(oa_request_text(s->context, request, "encoding_format", &format));
    if (out->model->model->form.patch)
        return oa_fail(s->context, OA_UNSUPPORTED, "%s reads images, not texts", out->model->name);
    if (strcmp(pooling, "mean") != 0 && strcmp(pooling, "cls") != 0 && strcmp(pooling, "last") != 0)
        return oa_fail(s->context, OA_ARGUMENT, "pooling is \"%.20s\"; expected mean, cls or last",
                       pooling);
    if (strcmp(format, "float") != 0 && strcmp(format, "base64") != 0)
        return oa_fail(s->context, OA_ARGUMENT,
                       "encoding_format is \"%.20s\"; expected float or base64", format);
    out->pooling = !strcmp(pooling, "mean")  ? POOL_MEAN
                   : !strcmp(pooling, "cls") ? POOL_FIRST
                                             : POOL_LAST;
    out->base64 = strcmp(format, "base64") == 0;
    return oa_inputs_check(s->context, request);
}

/* The source of an encoder-decoder, as `translate` reads it. */
static enum oa_error encode_embedded_source(struct oa_served_model *m, const char *name,
                                            const json_t *value, const struct oa_task *task,
                                            struct oa_ids *out)
{
    struct oa_examples coded;
    struct oa_example_layout layout = oa_example_layout_of(m->options, task);
    const struct oa_input_text text = { json_string_value(value), json_string_length(value) };
    layout.refuse_long = true;
    enum oa_error e = oa_source_encode(m->tokenizer, &layout, name, &text, 1, &coded);
    if (e == OA_OK)
        e = oa_ids_append(out, coded.source.ids, (size_t)coded.source.start[1]);
    oa_examples_close(&coded);
    return e;
}

static enum oa_error encode_input(struct oa_served_model *m, size_t index, const json_t *value,
                                  struct oa_ids *out)
{
    char name[32];
    struct oa_ids plain;
    oa_context *c = m->model->context;
    const struct oa_task *task = oa_task_find(m->options->data_task);
    snprintf(name, sizeof name, "input %zu", index);
    if (json_is_string(value) && task && task->layout && m->model->form.encoder &&
        m->model->form.decoder)
        return encode_embedded_source(m, name, value, task, out);
    long most = m->model->form.encoder && m->model->form.decoder
                    ? oa_model_source_context(m->options)
                    : m->options->model_context;
    oa_ids_init(&plain, c);
    enum oa_error e = oa_request_ids(m, name, value, &plain);
    if (e == OA_OK && json_is_string(value) && m->model->form.encoder)
        e = oa_tokenizer_add_specials(m->tokenizer, &plain, NULL, out, NULL);
    else if (e == OA_OK)
        e = oa_ids_append(out, plain.id, plain.count);
    oa_ids_free(&plain);
    OA_TRY(e);
    if (out->count == 0 || (long)out->count > most)
        return oa_fail(c, OA_SHAPE, "%s has %zu tokens; the model reads 1 to %ld", name, out->count,
                       most);
    return OA_OK;
}

static enum oa_error pool_states(struct embedding_options *o, const struct oa_ids *ids, double *out)
{
    struct oa_served_model *m = o->model;
    struct oa_sequences in = { .rows = 1, .length = (long)ids->count, .ids = ids->id };
    struct oa_device *d = m->model->device;
    const struct oa_model_form *f = &m->model->form;
    oa_tape_reset(&o->tape, false, false, (struct oa_stream){ 0 });
    const oa_tensor *h = f->encoder && f->decoder
                             ? oa_model_encode(&o->tape, m->model, &in)
                             : oa_model_hidden(&o->tape, m->model, &in, NULL, NULL);
    double *row = h ? oa_tape_take_host(&o->tape, (size_t)h->cols * sizeof *row) : NULL;
    OA_TRY(oa_status(m->model->context));
    long first = o->pooling == POOL_LAST ? h->rows - 1 : 0,
         end = o->pooling == POOL_FIRST ? 1 : h->rows;
    for (long t = first; t < end; t++) {
        oa_acts_read(d, h->cols, oa_act_at(d, h->data, t * h->ld), row);
        for (long k = 0; k < h->cols; k++)
            out[k] += row[k];
    }
    for (long k = 0; k < h->cols; k++)
        out[k] /= (double)(end - first);
    return oa_status(m->model->context);
}

/* float32, little-endian (RFC 4648). */
static json_t *base64_json(oa_context *c, const double *x, long n)
{
    struct oa_text text;
    unsigned char *raw = oa_alloc(c, (size_t)n * 4);
    oa_text_init(&text, c);
    for (long i = 0; raw && i < n; i++) {
        float value = (float)x[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        oa_put_little_endian(raw + i * 4, bits, 4);
    }
    if (raw)
        oa_base64_text(&text, raw, (size_t)n * 4);
    json_t *value = json_stringn(text.s ? text.s : "", text.length);
    oa_text_free(&text);
    oa_free(raw);
    return value;
}

static enum oa_error embed_one(struct embedding_options *o, const json_t *value, size_t index,
                               json_t *data, long *tokens)
{
    struct oa_ids ids;
    oa_context *c = o->model->model->context;
    long width = o->model->options->model_width;
    double *out = oa_alloc(c, (size_t)width * sizeof *out);
    oa_ids_init(&ids, c);
    enum oa_error e = out ? encode_input(o->model, index, value, &ids) : OA_NO_MEMORY;
    if (e == OA_OK)
        e = pool_states(o, &ids, out);
    if (e == OA_OK)
        oa_json_append(
            c, data,
            json_pack("{s:s, s:I, s:o}", "object", "embedding", "index", (json_int_t)index,
                      "embedding",
                      o->base64 ? base64_json(c, out, width) : oa_json_numbers(c, out, width)));
    *tokens += (long)ids.count;
    oa_ids_free(&ids);
    oa_free(out);
    return e;
}

void oa_answer_embeddings(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    struct embedding_options o = { 0 };
    json_t *data = json_array();
    long tokens = 0;
    enum oa_error e = read_embedding_options(s, request, &o);
    if (e == OA_OK)
        oa_tape_init(&o.tape, o.model->model->device);
    for (size_t i = 0; e == OA_OK && i < oa_inputs_count(request); i++)
        e = embed_one(&o, oa_inputs_at(request, i), i, data, &tokens);
    if (o.tape.device)
        oa_tape_free(&o.tape);
    oa_inputs_reply(s, x, e, o.model, data, tokens);
}
