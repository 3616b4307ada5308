/* SPDX-License-Identifier: Apache-2.0
 * /v1/classify: classes or numbers of texts, or of pairs of texts, one by one, as `classify`. */
#include "serve/request_inputs.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "tasks/tasks.h"

#include <math.h>

static enum oa_error read_texts(struct oa_served_model *m, const json_t *value, size_t index,
                                struct oa_input_text *text, int *texts)
{
    /* what an imported model was trained on is not known */
    bool either = !m->options->data_train[0], pair = m->model->form.segments;
    pair = pair || (either && json_is_array(value));
    *texts = pair ? 2 : 1;
    for (int i = 0; i < *texts; i++) {
        const json_t *one = pair ? json_array_get(value, (size_t)i) : value;
        if (!json_is_string(one) || (pair && json_array_size(value) != 2))
            return oa_fail(m->model->context, OA_ARGUMENT, "input %zu must be %s", index,
                           pair ? "a pair of texts, [\"a\", \"b\"], in a list" : "a text");
        text[i] = (struct oa_input_text){ json_string_value(one), json_string_length(one) };
    }
    return OA_OK;
}

static enum oa_error compute_outputs(oa_tape *t, struct oa_served_model *m,
                                     const struct oa_examples *texts,
                                     const struct oa_example_layout *layout, double *out)
{
    struct oa_example_batching how = { .rows = 1, .alike = layout->source_limit };
    struct oa_example_batches *kind;
    struct oa_batches *b;
    struct oa_batch batch;
    struct oa_cover cover;
    OA_TRY(oa_example_batches_open(m->model->context, texts, &how, &kind));
    OA_TRY(oa_batches_wrap(m->model->context, &oa_example_batches_kind, kind, &b));
    enum oa_error e = oa_batches_cover(b, m->tokenizer, 0, &cover);
    if (e == OA_OK)
        e = oa_batches_window(b, 0, &batch);
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    if (e == OA_OK)
        e = oa_model_outputs_batch_invariant(t, m->model, &batch, out);
    oa_batches_close(b);
    return e;
}

static json_t *class_json(const struct oa_served_model *m, size_t index, const double *out)
{
    long n = m->model->form.classes, best = oa_likeliest(out, n);
    json_t *scores = json_object();
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += exp(out[i] - out[best]);
    for (long i = 0; i < n; i++)
        oa_json_set(m->model->context, scores, m->labels->name[i],
                    oa_json_number(exp(out[i] - out[best]) / sum));
    return json_pack("{s:I, s:s, s:o}", "index", (json_int_t)index, "label", m->labels->name[best],
                     "scores", scores);
}

static enum oa_error classify_one(oa_tape *t, struct oa_served_model *m, const json_t *value,
                                  size_t index, json_t *data)
{
    oa_context *c = m->model->context;
    struct oa_input_text text[2];
    struct oa_examples coded;
    int texts;
    bool classes = m->model->form.output == OA_OUTPUT_CLASSES;
    struct oa_example_layout layout =
        oa_example_layout_of(m->options, oa_task_find(m->options->data_task));
    OA_TRY(read_texts(m, value, index, text, &texts));
    layout.refuse_long = false;
    double *out = oa_alloc(c, (size_t)oa_max(1, m->model->form.classes) * sizeof *out);
    enum oa_error e =
        out ? oa_source_encode(m->tokenizer, &layout, "input", text, texts, &coded) : OA_NO_MEMORY;
    if (e == OA_OK)
        e = compute_outputs(t, m, &coded, &layout, out);
    if (out)
        oa_examples_close(&coded);
    if (e == OA_OK)
        oa_json_append(c, data,
                       classes ? class_json(m, index, out)
                               : json_pack("{s:I, s:o}", "index", (json_int_t)index, "number",
                                           oa_json_number(*out)));
    oa_free(out);
    return e;
}

static enum oa_error check_classifier(const struct oa_served_model *m)
{
    const struct oa_task *task = oa_task_find(m->options->data_task);
    const struct oa_model_form *f = &m->model->form;
    bool labels = f->output == OA_OUTPUT_CLASSES || f->output == OA_OUTPUT_NUMBER;
    if (!task || !task->layout || !labels || f->patch)
        return oa_fail(m->model->context, OA_ARGUMENT,
                       "%s was trained for the task \"%s\"%s; this path needs a run of classify or "
                       "regress on texts",
                       m->name, m->options->data_task, f->patch ? " on images" : "");
    if (f->output == OA_OUTPUT_CLASSES && !m->labels->count)
        return oa_fail(m->model->context, OA_FORMAT, "%s: " OA_NO_LABELS, m->name);
    return OA_OK;
}

static enum oa_error classify_inputs(struct oa_server *s, const json_t *request, json_t *data,
                                     struct oa_served_model **m)
{
    OA_TRY(oa_request_check_names(s->context, request, "model input"));
    OA_TRY(oa_request_model(s, request, m));
    OA_TRY(check_classifier(*m));
    OA_TRY(oa_inputs_check(s->context, request));
    oa_tape tape;
    oa_tape_init(&tape, (*m)->model->device);
    enum oa_error e = OA_OK;
    for (size_t i = 0; e == OA_OK && i < oa_inputs_count(request); i++)
        e = classify_one(&tape, *m, oa_inputs_at(request, i), i, data);
    oa_tape_free(&tape);
    return e;
}

void oa_answer_classify(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    struct oa_served_model *m;
    json_t *data = json_array();
    enum oa_error e = classify_inputs(s, request, data, &m);
    oa_inputs_reply(s, x, e, m, data, 0);
}
