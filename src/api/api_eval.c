/* SPDX-License-Identifier: Apache-2.0
 * eval: how well a trained model predicts a text. */
#include "api/api.h"

#include <math.h>

static enum oa_error open_text(const struct oa_trained *t, const char *files, struct oa_corpus *corpus)
{
    const struct oa_options *o = &t->options;
    if (files)
        return oa_corpus_open(t->context, t->tokenizer, files, NULL, 0, corpus);
    OA_TRY(oa_corpus_open_split(t->context, t->tokenizer, o->data_train, o->data_valid, o->data_valid_fraction,
                                oa_chance_seed(o, OA_CHANCE_SPLIT), corpus));
    if (!corpus->valid.count)
        return oa_fail(t->context, OA_ARGUMENT, "the run has no validation text of its own; give --data FILE");
    return OA_OK;
}

static enum oa_error cover(struct oa_trained *t, const struct oa_tokens *tokens, struct oa_scores *scores)
{
    struct oa_batches *batches;
    struct oa_cover windows;
    struct oa_run run = { 0 };
    OA_TRY(
        oa_batches_open(t->context, tokens, (int)t->options.train_batch, (int)t->options.model_context, 0, &batches));
    enum oa_error e = oa_batches_cover(batches, t->tokenizer, 0, &windows);
    if (e == OA_OK)
        e = oa_evaluate_tokens(&t->tape, t->model, batches, &windows, "evaluating", &run);
    if (e == OA_OK && isnan(run.valid_loss))
        e = oa_fail(t->context, OA_INTERRUPTED, "stopped by signal %d before the whole text was read",
                    oa_stop_requested(t->context));
    oa_batches_close(batches);
    *scores = oa_scores_of(&run, (double)windows.targets);
    return e;
}

static enum oa_error report(const struct oa_trained *t, const char *folder, const char *files,
                            const struct oa_scores *scores, const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, t->context);
    const char *name = files ? files : "its validation text", *unit = oa_tokenizer_kind_name(t->tokenizer);
    if (oa_wants_json(out)) {
        json_t *root = json_pack("{s:s, s:s?, s:s, s:s, s:f}", "run", folder, "data", files, "attention",
                                 t->options.model_attention, "tokenizer", unit, "tokens", scores->tokens);
        oa_scores_json(scores, root);
        oa_json_add(&text, root);
    } else {
        oa_text_printf(&text, "run             ");
        oa_name_add(&text, folder);
        oa_text_printf(&text, "\ntext            ");
        oa_name_add(&text, name);
        oa_text_printf(&text, ", %.0f tokens predicted\n", scores->tokens);
        oa_scores_text(scores, unit, &text);
    }
    return oa_emit(out, &text);
}

static enum oa_error evaluate(struct oa_trained *t, const char *folder, const char *files, struct oa_scores *scores,
                              struct oa_corpus *corpus, const struct oa_output *out)
{
    OA_TRY(oa_trained_open(t->context, folder, t));
    OA_TRY(open_text(t, files, corpus));
    OA_TRY(cover(t, files ? &corpus->train : &corpus->valid, scores));
    return report(t, folder, files, scores, out);
}

enum oa_error oa_eval(oa_context *c, const char *folder, const char *files, struct oa_scores *scores,
                      const struct oa_output *out)
{
    struct oa_trained t = { .context = c };
    struct oa_corpus corpus = { 0 };
    struct oa_scores local;
    OA_TRY(oa_status(c));
    enum oa_error e = evaluate(&t, folder, files, scores ? scores : &local, &corpus, out);
    oa_corpus_close(&corpus);
    oa_trained_close(&t);
    return e;
}
