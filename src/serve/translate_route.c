/* SPDX-License-Identifier: Apache-2.0
 * /v1/translate: the outputs of an encoder-decoder for texts, by beam search, as `translate`. Texts
 * are translated one by one. */
#include "serve/request_inputs.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "tasks/tasks.h"
#include "tasks/writer.h"

#define TRANSLATE_MEMBERS "model input beam length_penalty max_tokens"

static enum oa_error open_translator(struct oa_server *s, const json_t *request,
                                     struct oa_served_model **m, struct oa_writer *w)
{
    struct oa_options o;
    OA_TRY(oa_request_check_names(s->context, request, TRANSLATE_MEMBERS));
    OA_TRY(oa_request_model(s, request, m));
    const struct oa_task *task = oa_task_find((*m)->options->data_task);
    if (!task || !oa_task_writes(task) || !(*m)->model->form.encoder)
        return oa_fail(s->context, OA_ARGUMENT,
                       "%s was trained for the task \"%s\"; this path needs a run of translate, "
                       "summarize or dialogue",
                       (*m)->name, (*m)->options->data_task);
    o = *(*m)->options;
    OA_TRY(oa_request_integer(s->context, request, "beam", 1, 256, &o.decode_beam));
    OA_TRY(oa_request_real(s->context, request, "length_penalty", 0, 10, &o.decode_length_penalty));
    OA_TRY(
        oa_request_integer(s->context, request, "max_tokens", 1, 1000000000, &o.decode_max_tokens));
    OA_TRY(oa_inputs_check(s->context, request));
    return oa_writer_open((*m)->model, (*m)->tokenizer, &o, 1, w);
}

static enum oa_error translate_coded(const struct oa_served_model *m, struct oa_writer *w,
                                     const struct oa_examples *coded, size_t index, json_t *data)
{
    struct oa_hypothesis found = { 0 };
    struct oa_text text;
    const struct oa_source_ids source = { coded->source.ids, coded->source.words,
                                          coded->source.start[1] };
    OA_TRY(oa_writer_write(w, &source, 1, &found));
    oa_text_init(&text, m->model->context);
    enum oa_error e = oa_writer_text(w, &found, &text);
    if (e == OA_OK)
        oa_json_append(m->model->context, data,
                       json_pack("{s:I, s:o, s:o, s:b}", "index", (json_int_t)index, "text",
                                 oa_bytes_json(m->model->context, text.s, text.length), "log_p",
                                 oa_json_number(found.score), "ended", !found.cut));
    oa_text_free(&text);
    oa_hypotheses_free(&found, 1);
    return e;
}

static enum oa_error translate_one(const struct oa_served_model *m, struct oa_writer *w,
                                   const json_t *value, size_t index, json_t *data)
{
    struct oa_examples coded;
    const struct oa_task *task = oa_task_find(m->options->data_task);
    struct oa_example_layout layout = oa_example_layout_of(m->options, task);
    if (!json_is_string(value) || !json_string_length(value))
        return oa_fail(m->model->context, OA_ARGUMENT, "input %zu must be a text, not empty",
                       index);
    layout.refuse_long = false;
    const struct oa_input_text text = { json_string_value(value), json_string_length(value) };
    enum oa_error e = oa_source_encode(m->tokenizer, &layout, "input", &text, 1, &coded);
    if (e == OA_OK)
        e = translate_coded(m, w, &coded, index, data);
    oa_examples_close(&coded);
    return e;
}

void oa_answer_translate(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    struct oa_served_model *m;
    struct oa_writer w = { 0 };
    json_t *data = json_array();
    enum oa_error e = open_translator(s, request, &m, &w);
    for (size_t i = 0; e == OA_OK && i < oa_inputs_count(request); i++)
        e = translate_one(m, &w, oa_inputs_at(request, i), i, data);
    if (w.model)
        oa_writer_close(&w);
    oa_inputs_reply(s, x, e, m, data, 0);
}
