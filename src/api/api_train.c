/* SPDX-License-Identifier: Apache-2.0
 * train: one run into a folder. */
#include "api/api.h"

#include <math.h>
#include <string.h>

/* Options that may change when a run goes on. Of the text the checkpoint knows a fingerprint, so its path may. */
static bool may_change(const struct oa_option_row *row)
{
    static const char *const free_to[] = { "data.train",       "data.valid",        "train.steps",
                                           "train.eval_every", "train.eval_tokens", "train.checkpoint_every",
                                           "train.log_every" };
    char key[64];
    if (strcmp(row->section, "generate") == 0 || strcmp(row->section, "compare") == 0)
        return true;
    snprintf(key, sizeof key, "%s.%s", row->section, row->name);
    for (size_t i = 0; i < sizeof free_to / sizeof *free_to; i++)
        if (strcmp(key, free_to[i]) == 0)
            return true;
    return false;
}

static enum oa_error check_row(oa_context *c, const char *folder, const struct oa_option_row *row,
                               const struct oa_options *before, const struct oa_options *now)
{
    struct oa_text a, b;
    char key[64];
    snprintf(key, sizeof key, "%s.%s", row->section, row->name);
    oa_text_init(&a, c);
    oa_text_init(&b, c);
    oa_options_get(c, before, key, &a);
    oa_options_get(c, now, key, &b);
    enum oa_error e = oa_status(c);
    if (e == OA_OK && strcmp(a.s ? a.s : "", b.s ? b.s : "") != 0)
        e = oa_fail(c, OA_ARGUMENT,
                    "%s was begun with %s = %s, and now it is %s: a run goes on with the options it began with; leave "
                    "the option out, or train into a new folder",
                    folder, key, a.s ? a.s : "", b.s ? b.s : "");
    oa_text_free(&a);
    oa_text_free(&b);
    return e;
}

static enum oa_error check_same(const oa_config *config, const char *folder)
{
    const struct oa_option_row *row;
    oa_config before = { .context = config->context };
    oa_options_default(&before.options);
    OA_TRY(oa_config_read_run(&before, folder));
    for (int i = 0; (row = oa_option_at(i)); i++)
        if (!may_change(row))
            OA_TRY(check_row(config->context, folder, row, &before.options, &config->options));
    if (before.options.train_steps != config->options.train_steps)
        oa_log(config->context, 0, "%s: train.steps was %ld and is now %ld: the learning rate follows the new schedule",
               folder, before.options.train_steps, config->options.train_steps);
    return OA_OK;
}

static enum oa_error check_folder(const oa_config *config, const char *folder, int resume)
{
    char path[OA_PATH];
    OA_TRY(oa_path(config->context, path, folder, "config.json"));
    if (!oa_file_exists(path))
        return OA_OK;
    if (!resume)
        return oa_fail(config->context, OA_ARGUMENT,
                       "%s holds a run already; --resume goes on with it, another --out begins a new one", folder);
    return check_same(config, folder);
}

/* ---- the result ---- */

struct outcome {
    const struct oa_options *options;
    const char *folder, *unit;
    const struct oa_run *run;
    struct oa_scores scores;
};

static void outcome_text(const struct outcome *o, struct oa_text *t)
{
    const struct oa_run *run = o->run;
    oa_text_printf(t, "run             %s\n", o->folder);
    oa_text_printf(t, "attention       %s\n", o->options->model_attention);
    oa_text_printf(t, "steps           %ld, %.0f tokens\n", run->steps, run->tokens);
    oa_text_printf(t, "time            %.1f s, %.0f tokens/s\n", run->seconds, run->tokens_per_second);
    oa_text_printf(t, "memory          %.1f MiB\n", run->peak_memory / 1048576);
    if (isfinite(o->scores.loss))
        oa_scores_text(&o->scores, o->unit, t);
    else
        oa_text_printf(t, "loss            not known: there is no validation text\n");
}

static json_t *outcome_json(const struct outcome *o)
{
    const struct oa_run *run = o->run;
    json_t *root =
        json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "run", o->folder, "attention",
                  o->options->model_attention, "seed", (json_int_t)run->seed, "steps", (json_int_t)run->steps,
                  "training_tokens", run->tokens, "seconds", run->seconds, "tokens_per_second", run->tokens_per_second,
                  "flops", run->flops, "peak_memory", run->peak_memory);
    oa_scores_json(&o->scores, root);
    return root;
}

static enum oa_error report(oa_context *c, const struct outcome *o, const struct oa_output *out)
{
    struct oa_text t;
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_json_add(&t, outcome_json(o));
    else
        outcome_text(o, &t);
    return oa_emit(out, &t);
}

static enum oa_error run(const oa_config *config, const char *folder, int resume, struct oa_scores *scores,
                         const struct oa_output *out, struct oa_workload *work, struct oa_run *result)
{
    struct oa_train_request request = { .options = &config->options,
                                        .workload = work,
                                        .folder = folder,
                                        .resume = resume != 0,
                                        .keep = true,
                                        .title = config->options.model_attention };
    OA_TRY(oa_spec_check(config->context, config->options.model_attention)); /* before a long text is read */
    OA_TRY(oa_workload_open(config->context, &config->options, work));
    OA_TRY(oa_train_run(config->context, &request, result));
    struct outcome o = { .options = &config->options,
                         .folder = folder,
                         .unit = oa_tokenizer_kind_name(work->tokenizer),
                         .run = result,
                         .scores = oa_scores_of(result, 0) };
    if (scores)
        *scores = o.scores;
    return report(config->context, &o, out);
}

enum oa_error oa_train(const oa_config *config, const char *folder, int resume, struct oa_scores *scores,
                       const struct oa_output *out)
{
    struct oa_workload work = { 0 };
    struct oa_run result = { 0 };
    OA_TRY(oa_status(config->context));
    OA_TRY(check_folder(config, folder, resume));
    enum oa_error e = run(config, folder, resume, scores, out, &work, &result);
    oa_run_free(&result);
    oa_workload_close(&work);
    return e;
}
