/* SPDX-License-Identifier: Apache-2.0
 * eval: the scores of a trained model on given data, its test data or its validation data. */
#include "api/api.h"
#include "api/eval_stride.h"
#include "metrics/confusion.h"
#include "train/run_scores.h"

#include <math.h>
#include <string.h>

static enum oa_error score_side(struct oa_trained *t, const struct oa_workload *w,
                                enum oa_side side, struct oa_run *run)
{
    struct oa_evaluation e = { .tape = &t->tape,
                               .model = t->model,
                               .workload = w,
                               .side = side,
                               .title = "evaluating",
                               .judged = true,
                               .detailed = true };
    OA_TRY(w->task->batches(t->context, &t->options, w, side, 0, &e.batches));
    enum oa_error error = oa_batches_cover(e.batches, t->tokenizer, 0, &e.cover);
    if (error == OA_OK)
        error = oa_evaluate(&e, run);
    if (error == OA_OK && isnan(run->valid_loss))
        error = oa_fail(t->context, OA_INTERRUPTED,
                        "stopped by signal %d before the whole text was read",
                        oa_stop_requested(t->context));
    oa_batches_close(e.batches);
    return error;
}

/* ---- the answer ---- */

static void name_data(const char *files, const struct oa_workload *w, enum oa_side side,
                      struct oa_text *out)
{
    bool examples = oa_reads_examples(w);
    oa_text_printf(out, examples ? "data            " : "text            ");
    if (files)
        oa_name_add(out, files);
    else
        oa_text_printf(out, "its %s %s", side == OA_TEST ? "test" : "validation",
                       examples ? "data" : "text");
    if (examples)
        oa_text_printf(out, ", %zu examples", oa_workload_examples(w, side)->count);
}

static json_t *signatures_json(oa_context *c, const struct oa_workload *w, enum oa_side side)
{
    json_t *all = json_object();
    for (const struct oa_measure *m = w->task->measures; m->name; m++) {
        struct oa_text text;
        oa_text_init(&text, c);
        if (oa_measure_signature(w, side, m->name, &text) && text.s)
            oa_json_set(c, all, m->name, json_string(text.s));
        oa_text_free(&text);
    }
    return all;
}

static void add_signatures(const struct oa_workload *w, enum oa_side side, struct oa_text *out)
{
    for (const struct oa_measure *m = w->task->measures; m->name; m++) {
        size_t before = out->length;
        oa_text_printf(out, "signature       %s|", m->title);
        if (oa_measure_signature(w, side, m->name, out))
            oa_text_printf(out, "\n");
        else
            oa_text_cut(out, before);
    }
}

/* Was the model selected by these data (train.keep_best)? */
static bool selected_on(const struct oa_trained *t, enum oa_side side, const char *files)
{
    const struct oa_options *o = &t->options;
    return o->train_keep_best &&
           (files ? strcmp(files, o->data_valid) == 0 : side == OA_VALIDATION);
}

static json_t *answer_json(const struct oa_trained *t, const struct oa_workload *w,
                           enum oa_side side, const char *folder, const char *files,
                           const struct oa_scores *scores, const struct oa_run *run)
{
    json_t *root =
        json_pack("{s:o, s:o, s:s, s:s}", "run", oa_json_name(t->context, folder), "data",
                  oa_json_name(t->context, files), "attention", t->options.model_attention,
                  "tokenizer", oa_tokenizer_kind_name(t->tokenizer));
    oa_trained_json(t, root);
    json_object_set_new(root, "selected_on_validation", json_boolean(selected_on(t, side, files)));
    if (oa_reads_examples(w)) {
        oa_json_set(t->context, root, "task", json_string(w->task->name));
        oa_json_set(t->context, root, "examples",
                    json_integer((json_int_t)oa_workload_examples(w, side)->count));
    }
    if (oa_predicts_tokens(w))
        oa_json_set(t->context, root, "tokens", json_real(scores->tokens));
    oa_scores_json(t->context, scores, w, root);
    if (oa_task_writes(w->task))
        oa_json_set(t->context, root, "signatures", signatures_json(t->context, w, side));
    json_t *details = json_object();
    oa_parts_write(run, details);
    if (run->details.confusion)
        oa_confusion_json(t->context, run->details.confusion, 100, details);
    if (json_object_size(details))
        oa_json_set(t->context, root, "details", json_incref(details));
    json_decref(details);
    return root;
}

static enum oa_error report_eval(const struct oa_trained *t, const struct oa_workload *w,
                                 enum oa_side side, const char *folder, const char *files,
                                 const struct oa_scores *scores, const struct oa_run *run,
                                 const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, t->context);
    if (oa_wants_json(out)) {
        oa_json_add(&text, answer_json(t, w, side, folder, files, scores, run));
    } else {
        oa_text_printf(&text, "run             ");
        oa_name_add(&text, folder);
        oa_text_printf(&text, "\n");
        name_data(files, w, side, &text);
        if (oa_predicts_tokens(w))
            oa_text_printf(&text, ", %.0f tokens predicted", scores->tokens);
        oa_text_printf(&text, "%s\n",
                       selected_on(t, side, files) ? ", on which the model was selected: optimistic"
                                                   : "");
        oa_scores_text(scores, w, &text);
        add_signatures(w, side, &text);
        if (run->details.confusion) {
            oa_text_printf(&text, "\nBy class, in %%. ");
            oa_confusion_text(t->context, run->details.confusion, 100, 2, &text);
        }
    }
    return oa_emit(out, &text);
}

/* ---- windows that overlap ---- */

static enum oa_error report_stride(const struct oa_trained *t, const struct oa_workload *w,
                                   enum oa_side side, const char *folder,
                                   const struct oa_eval_request *r, const struct oa_stride_loss *l,
                                   const struct oa_scores *s, const struct oa_output *out)
{
    struct oa_text text;
    double mean = l->sum / (double)l->targets;
    oa_text_init(&text, t->context);
    if (oa_wants_json(out)) {
        const struct oa_run none = { 0 };
        json_t *root = answer_json(t, w, side, folder, r->files, s, &none);
        oa_json_set(t->context, root, "stride", json_integer(r->stride));
        oa_json_set(t->context, root, "context", json_integer(t->options.model_context));
        oa_json_set(t->context, root, "windows", json_integer(l->windows));
        oa_json_set(t->context, root, "token_loss", json_real(mean));
        oa_json_set(t->context, root, "token_perplexity", json_real(exp(mean)));
        oa_json_add(&text, root);
        return oa_emit(out, &text);
    }
    oa_text_printf(&text, "run             ");
    oa_name_add(&text, folder);
    oa_text_printf(&text, "\n");
    name_data(r->files, w, side, &text);
    oa_text_printf(&text, ", %.0f tokens predicted\n", s->tokens);
    oa_text_printf(&text, "windows         %ld of up to %ld tokens, which begin %ld apart\n",
                   l->windows, t->options.model_context, r->stride);
    oa_scores_text(s, w, &text);
    oa_text_printf(&text,
                   "by token        %.4f nats, perplexity %.4f: every token weighs the same\n",
                   mean, exp(mean));
    return oa_emit(out, &text);
}

/* Bits are of the sum over all targets, each once. */
static enum oa_error evaluate_stride(struct oa_trained *t, const struct oa_workload *w,
                                     enum oa_side side, const char *folder,
                                     const struct oa_eval_request *r, struct oa_scores *scores,
                                     const struct oa_output *out)
{
    struct oa_stride_loss l;
    const struct oa_tokens *tokens = side == OA_TRAINING     ? &w->corpus.train
                                     : side == OA_VALIDATION ? &w->corpus.valid
                                                             : &w->corpus.test;
    if (tokens->count < 2)
        return oa_fail(t->context, OA_SHAPE,
                       "the text has %zu tokens; at least 2 are needed, the first of which has "
                       "nothing before it",
                       tokens->count);
    OA_TRY(oa_eval_stride(t, tokens, t->options.model_context, r->stride, &l));
    struct oa_run run = { .valid_loss = l.guide,
                          .perplexity = exp(l.guide),
                          .bits_per_character =
                              l.characters ? l.sum / log(2) / (double)l.characters : (double)NAN,
                          .bits_per_byte = l.bytes ? l.sum / log(2) / (double)l.bytes : (double)NAN,
                          .valid_tokens = (double)l.targets };
    struct oa_scores got = oa_scores_of(w, &run);
    got.measures = 1;
    if (scores)
        *scores = got;
    return report_stride(t, w, side, folder, r, &l, &got, out);
}

/* A context below that of the model: windows are shorter, and the model is the same. */
static enum oa_error apply_eval_windows(struct oa_trained *t, const char *folder,
                                        const struct oa_eval_request *r)
{
    const struct oa_task *task = oa_task_find(t->options.data_task);
    bool reads_text = task && !task->layout && oa_is_language_model(&t->model->form);
    long context = r->context ? r->context : t->options.model_context;
    if ((r->stride || r->context) && !reads_text)
        return oa_fail(t->context, OA_ARGUMENT,
                       "%s has no effect: %s is no language model of running text",
                       r->stride ? "stride" : "context", folder);
    if (context < 1 || context > t->options.model_context)
        return oa_fail(t->context, OA_ARGUMENT,
                       "a context of %ld tokens: the model of %s was made for 1 to %ld", context,
                       folder, t->options.model_context);
    if (r->stride && context < 2)
        return oa_fail(t->context, OA_ARGUMENT,
                       "stride needs a context of at least 2 tokens, not %ld", context);
    if (r->stride && (r->stride < 1 || r->stride > context))
        return oa_fail(t->context, OA_ARGUMENT,
                       "a stride of %ld tokens: give 1 to %ld, the context", r->stride, context);
    t->options.model_context = context;
    return OA_OK;
}

static enum oa_error apply_eval_request(struct oa_trained *t, const char *folder,
                                        const struct oa_eval_request *r)
{
    const struct oa_task *task = oa_task_find(t->options.data_task);
    if (r->columns && (!task || !task->layout))
        return oa_fail(t->context, OA_ARGUMENT,
                       "columns have no effect: %s was trained on running text", folder);
    if (!r->unknown_labels)
        return OA_OK;
    if (t->model->form.output != OA_OUTPUT_CLASSES)
        return oa_fail(
            t->context, OA_ARGUMENT,
            "unknown_labels has no effect: %s was trained for the task \"%s\", which has no labels",
            folder, t->options.data_task);
    return oa_options_set(t->context, &t->options, "data.unknown_labels", r->unknown_labels);
}

/* The data that the run names. Another person may have made its folder: only plain files are
 * opened, and no message quotes their contents where they do not fit the task. */
static enum oa_error open_named(struct oa_trained *t, const char *folder,
                                const struct oa_measured_data *data, struct oa_workload *w,
                                enum oa_side *side)
{
    const struct oa_options *o = &t->options;
    OA_TRY(oa_plain_files_check(t->context, o->data_train));
    OA_TRY(oa_plain_files_check(t->context, o->data_valid));
    OA_TRY(oa_plain_files_check(t->context, o->data_test));
    enum oa_error e =
        oa_workload_open_measured(t->context, o, t->tokenizer, &t->model->form, data, w, side);
    if (e != OA_FORMAT && e != OA_ARGUMENT && e != OA_SHAPE)
        return e;
    oa_clear_error(t->context);
    return oa_fail(t->context, OA_FORMAT,
                   "the data in %s/config.json (data.train \"%.200s\", data.valid \"%.200s\") do "
                   "not fit the task %s; give the files with --data to see why",
                   folder, o->data_train, o->data_valid, o->data_task);
}

static enum oa_error evaluate(struct oa_trained *t, const char *folder,
                              const struct oa_eval_request *r, struct oa_scores *scores,
                              struct oa_workload *w, const struct oa_output *out)
{
    enum oa_side side;
    OA_TRY(oa_trained_open(t->context, folder, t));
    OA_TRY(oa_trained_check_output(t, folder));
    OA_TRY(apply_eval_request(t, folder, r));
    OA_TRY(apply_eval_windows(t, folder, r));
    const struct oa_measured_data data = { r->files, r->columns };
    if (r->files)
        OA_TRY(oa_workload_open_measured(t->context, &t->options, t->tokenizer, &t->model->form,
                                         &data, w, &side));
    else
        OA_TRY(open_named(t, folder, &data, w, &side));
    if (r->stride)
        return evaluate_stride(t, w, side, folder, r, scores, out);
    struct oa_run run = { 0 };
    enum oa_error e = score_side(t, w, side, &run);
    struct oa_scores got = oa_scores_of(w, &run);
    if (e == OA_OK)
        e = report_eval(t, w, side, folder, r->files, &got, &run, out);
    if (scores)
        *scores = got;
    oa_run_free(&run);
    return e;
}

enum oa_error oa_eval(oa_context *c, const char *folder, const struct oa_eval_request *request,
                      struct oa_scores *scores, const struct oa_output *out)
{
    static const struct oa_eval_request nothing = { 0 };
    const struct oa_eval_request *r = request ? request : &nothing;
    struct oa_trained t = { .context = c };
    struct oa_workload w = { 0 };
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_eval_request", r->reserved, 2));
    enum oa_error e = evaluate(&t, folder, r, scores, &w, out);
    oa_workload_close(&w);
    oa_trained_close(&t);
    return e;
}
