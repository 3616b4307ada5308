/* SPDX-License-Identifier: Apache-2.0
 * eval: how well a trained model does on data: others, its test set, or what it was validated on. */
#include "api/api.h"

#include <math.h>

static enum oa_error cover(struct oa_trained *t, const struct oa_workload *w, enum oa_side side, struct oa_run *run)
{
    struct oa_evaluation e = {
        .tape = &t->tape, .model = t->model, .workload = w, .side = side, .title = "evaluating", .judged = true
    };
    OA_TRY(w->task->batches(t->context, &t->options, w, side, 0, &e.batches));
    enum oa_error error = oa_batches_cover(e.batches, t->tokenizer, 0, &e.cover);
    if (error == OA_OK)
        error = oa_evaluate(&e, run);
    if (error == OA_OK && isnan(run->valid_loss))
        error = oa_fail(t->context, OA_INTERRUPTED, "stopped by signal %d before the whole text was read",
                        oa_stop_requested(t->context));
    oa_batches_close(e.batches);
    return error;
}

/* ---- the answer ---- */

static void measures_text(const struct oa_task *task, const struct oa_run *run, struct oa_text *out)
{
    for (int i = 1; task->measures[i].name; i++)
        oa_text_printf(out, "%-15s %.*f %s\n", task->measures[i].name, task->measures[i].decimals, run->scores[i],
                       task->measures[i].unit);
}

static void measures_json(const struct oa_task *task, const struct oa_run *run, json_t *object)
{
    for (int i = 1; task->measures[i].name; i++)
        json_object_set_new(object, task->measures[i].name, oa_json_number(run->scores[i]));
}

static enum oa_error report(const struct oa_trained *t, const struct oa_task *task, const char *folder,
                            const char *files, const struct oa_run *run, const struct oa_scores *scores,
                            const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, t->context);
    const char *name = files ? files : "its validation text", *unit = oa_tokenizer_kind_name(t->tokenizer);
    if (oa_wants_json(out)) {
        json_t *root = json_pack("{s:s, s:s?, s:s, s:s, s:f}", "run", folder, "data", files, "attention",
                                 t->options.model_attention, "tokenizer", unit, "tokens", scores->tokens);
        oa_scores_json(scores, root);
        measures_json(task, run, root);
        oa_json_add(&text, root);
    } else {
        oa_text_printf(&text, "run             ");
        oa_name_add(&text, folder);
        oa_text_printf(&text, "\ntext            ");
        oa_name_add(&text, name);
        oa_text_printf(&text, ", %.0f tokens predicted\n", scores->tokens);
        oa_scores_text(scores, unit, &text);
        measures_text(task, run, &text);
    }
    return oa_emit(out, &text);
}

static enum oa_error evaluate(struct oa_trained *t, const char *folder, const char *files, struct oa_scores *scores,
                              struct oa_workload *w, const struct oa_output *out)
{
    enum oa_side side;
    struct oa_run run = { 0 };
    OA_TRY(oa_trained_open(t->context, folder, t));
    OA_TRY(oa_workload_open_measured(t->context, &t->options, t->tokenizer, files, w, &side));
    OA_TRY(cover(t, w, side, &run));
    *scores = oa_scores_of(&run, run.valid_tokens);
    return report(t, w->task, folder, files, &run, scores, out);
}

enum oa_error oa_eval(oa_context *c, const char *folder, const char *files, struct oa_scores *scores,
                      const struct oa_output *out)
{
    struct oa_trained t = { .context = c };
    struct oa_workload w = { 0 };
    struct oa_scores local;
    OA_TRY(oa_status(c));
    enum oa_error e = evaluate(&t, folder, files, scores ? scores : &local, &w, out);
    oa_workload_close(&w);
    oa_trained_close(&t);
    return e;
}
