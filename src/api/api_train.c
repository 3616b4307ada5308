/* SPDX-License-Identifier: Apache-2.0
 * train: one run into a folder. */
#include "api/api.h"
#include "base/file_copies.h"
#include "base/folder_lock.h"
#include "compare/comparison_folder.h"
#include "train/best.h"
#include "train/initial.h"
#include "train/run_scores.h"

#include <math.h>
#include <string.h>

static enum oa_error check_same_run(const oa_config *config, const char *folder)
{
    oa_config before = { .context = config->context };
    oa_options_default(&before.options);
    OA_TRY(oa_config_read_run(&before, folder));
    OA_TRY(oa_same_options(config->context, folder, &before.options, &config->options));
    double was = before.options.train_seconds, is = config->options.train_seconds;
    if (was != is)
        oa_log(config->context, 0,
               "%s: train.seconds was %g and is now %g: the learning rate follows the new schedule",
               folder, was, is);
    else if (is <= 0 && before.options.train_steps != config->options.train_steps)
        oa_log(config->context, 0,
               "%s: train.steps was %ld and is now %ld: the learning rate follows the new schedule",
               folder, before.options.train_steps, config->options.train_steps);
    return OA_OK;
}

/* A folder with options and a tokenizer alone, left by a start that failed before its first step,
 * has no run. */
static enum oa_error check_train_folder(const oa_config *config, const char *folder, int resume)
{
    char path[OA_PATH];
    oa_context *c = config->context;
    OA_TRY(oa_comparison_check_outside(c, folder));
    OA_TRY(oa_initial_check(c, &config->options, folder));
    if (config->overwrite && resume)
        return oa_fail(c, OA_ARGUMENT, "--resume and --overwrite exclude each other");
    if (config->overwrite)
        return oa_overwrite_check(c, folder, &oa_run_folder);
    OA_TRY(oa_folder_check_kind(c, folder, &oa_run_folder, &oa_comparison_folder));
    if (!oa_folder_has_run(c, folder)) {
        if (resume)
            oa_log(c, 0, "%s contains no checkpoint to resume from: the run starts at step 1",
                   folder);
        return OA_OK;
    }
    if (!resume)
        return oa_fail(c, OA_ARGUMENT,
                       "%s contains a run already: give --resume to continue it, another --out to "
                       "start a new one, or --overwrite to remove it",
                       folder);
    OA_TRY(oa_path(c, path, folder, "model.safetensors"));
    if (oa_file_exists(path) && !oa_folder_has_checkpoint(c, folder))
        return oa_fail(
            c, OA_ARGUMENT,
            "%s contains a finished model and no checkpoint to resume from: train into a "
            "new folder, or remove %s to start again",
            folder, path);
    return check_same_run(config, folder);
}

/* ---- the result ---- */

struct outcome {
    const struct oa_options *options;
    const char *folder;
    const struct oa_workload *work;
    const struct oa_run *run;
    double targets; /* of the validation data */
    struct oa_started started;
    struct oa_scores scores;
};

static void add_validated_text(const struct outcome *o, struct oa_text *t)
{
    bool tokens = oa_predicts_tokens(o->work), text = !oa_reads_examples(o->work);
    if (isfinite(o->scores.loss)) {
        oa_text_printf(t, "validated       %.0f of the %.0f %s of the validation %s%s\n",
                       o->scores.tokens, o->targets, tokens ? "tokens" : "examples",
                       text ? "text" : "data",
                       o->run->best_step ? ", on which the model was selected: optimistic" : "");
        oa_scores_text(&o->scores, o->work, t);
    } else
        oa_text_printf(t, "loss            unknown: there %s\n",
                       text ? "is no validation text" : "are no validation examples");
}

static void add_tested_text(const struct outcome *o, struct oa_text *t)
{
    const struct oa_tested *test = &o->run->test;
    const struct oa_measure *m = o->work->task->measures;
    if (!test->made)
        return;
    oa_text_printf(t, "tested          %.0f %s of the test %s, not used for any selection\n",
                   test->targets, oa_predicts_tokens(o->work) ? "tokens" : "examples",
                   oa_reads_examples(o->work) ? "data" : "text");
    oa_text_printf(t, "test loss       %.4f %s\n", test->loss, m->unit);
    if (oa_predicts_tokens(o->work))
        oa_text_printf(t, "test perplexity %.4f a token\n", test->perplexity);
    if (isfinite(test->bits_per_byte))
        oa_text_printf(t, "test bits       %.4f a character, %.4f a byte\n",
                       test->bits_per_character, test->bits_per_byte);
    for (int i = 1; m[i].name; i++)
        if (isfinite(test->scores[i]))
            oa_text_printf(t, "test %-10s %.*f %s\n", m[i].name, m[i].decimals, test->scores[i],
                           m[i].unit);
}

/* Epochs and padding, where options make them known; by default rows begin anywhere in the text. */
static void add_reading_text(const struct outcome *o, struct oa_text *t)
{
    const struct oa_reading *r = &o->run->reading;
    double rows = 0;
    for (int i = 0; i < r->corpora; i++)
        rows += (double)r->corpus[i].rows;
    for (int i = 0; i < r->corpora && o->options->data_order == OA_ORDER_EPOCH; i++) {
        const struct oa_corpus_reading *k = &r->corpus[i];
        oa_text_printf(t, "read            ");
        if (k->name[0]) {
            oa_name_add(t, k->name);
            oa_text_printf(t, ": %.2f %% of the rows, ",
                           rows > 0 ? 100 * (double)k->rows / rows : 0);
        }
        oa_text_printf(t, "%.4g epochs of %llu tokens\n", k->epochs, (unsigned long long)k->tokens);
    }
    if (r->corpora && o->options->data_documents == OA_BORDERS_SEPARATE)
        oa_text_printf(t, "padding         %.1f %% of the places of all rows\n", 100 * r->padding);
}

static json_t *reading_json(oa_context *c, const struct oa_reading *r)
{
    json_t *corpora = json_array();
    for (int i = 0; i < r->corpora; i++) {
        const struct oa_corpus_reading *k = &r->corpus[i];
        json_t *one = json_pack("{s:I, s:I, s:f}", "tokens", (json_int_t)k->tokens, "rows_read",
                                (json_int_t)k->rows, "epochs", k->epochs);
        if (k->name[0])
            oa_json_set(c, one, "name", oa_json_name(c, k->name));
        json_array_append_new(corpora, one);
    }
    return json_pack("{s:o, s:f}", "corpora", corpora, "padding", r->padding);
}

static void add_outcome_text(const struct outcome *o, struct oa_text *t)
{
    const struct oa_run *run = o->run;
    oa_text_printf(t, "run             ");
    oa_name_add(t, o->folder);
    oa_text_printf(t, "\nattention       ");
    oa_name_add(t, o->options->model_attention);
    if (o->options->train_init[0]) {
        oa_text_printf(t, "\nstarted from    ");
        oa_name_add(t, o->options->train_init);
        oa_text_printf(t, ": %d of %d tensors (" OA_INITIAL_FILE ")", o->started.taken,
                       o->started.count);
    }
    oa_text_printf(t, "\nsteps           %ld, %.0f tokens", run->steps, run->tokens);
    if (o->options->train_patience > 0 && run->steps < o->options->train_steps)
        oa_text_printf(t, ", stopped early of %ld", o->options->train_steps);
    oa_text_printf(t, "\n");
    add_reading_text(o, t);
    oa_text_printf(t, "time            %.1f s, %.1f s of processor time, %.0f tokens/s\n",
                   run->seconds, run->processor_seconds, run->tokens_per_second);
    oa_text_printf(t, "memory          %.1f MiB\n", run->peak_memory / 1048576);
    if (run->best_step)
        oa_text_printf(
            t, "kept            the model of step %ld, best of the validations every %ld steps\n",
            run->best_step, o->options->train_eval_every);
    if (run->averaged)
        oa_text_printf(t,
                       "kept            the mean of the weights at the last %d of the validations "
                       "every %ld steps\n",
                       run->averaged, o->options->train_eval_every);
    add_validated_text(o, t);
    add_tested_text(o, t);
}

static json_t *outcome_json(oa_context *c, const struct outcome *o)
{
    const struct oa_run *run = o->run;
    bool tokens = oa_predicts_tokens(o->work);
    json_t *root =
        json_pack("{s:o, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "run",
                  oa_json_name(c, o->folder), "attention", o->options->model_attention, "seed",
                  (json_int_t)run->seed, "steps", (json_int_t)run->steps, "training_tokens",
                  run->tokens, "seconds", run->seconds, "processor_seconds", run->processor_seconds,
                  tokens ? "validation_tokens" : "validation_examples", o->scores.tokens,
                  tokens ? "validation_text_tokens" : "validation_data_examples", o->targets,
                  "tokens_per_second", run->tokens_per_second, "flops", run->flops, "peak_memory",
                  run->peak_memory);
    oa_json_set(c, root, "averaged", run->averaged ? json_integer(run->averaged) : json_null());
    oa_json_set(c, root, "best_step", run->best_step ? json_integer(run->best_step) : json_null());
    oa_json_set(c, root, "selected_on_validation", json_boolean(run->best_step > 0));
    if (o->options->train_init[0])
        oa_json_set(c, root, "started_from",
                    json_pack("{s:o, s:i, s:i}", "run", oa_json_name(c, o->options->train_init),
                              "tensors_taken", o->started.taken, "tensors", o->started.count));
    if (run->reading.corpora)
        oa_json_set(c, root, "reading", reading_json(c, &run->reading));
    if (oa_reads_examples(o->work))
        oa_json_set(c, root, "task", json_string(o->work->task->name));
    oa_scores_json(c, &o->scores, o->work, root);
    oa_json_set(c, root, "test", oa_run_test_json(o->work->task->measures, &run->test));
    return root;
}

static enum oa_error report_outcome(oa_context *c, const struct outcome *o,
                                    const struct oa_output *out)
{
    struct oa_text t;
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_json_add(&t, outcome_json(c, o));
    else
        add_outcome_text(o, &t);
    return oa_emit(out, &t);
}

static enum oa_error log_model_size(const oa_config *config, const struct oa_workload *work)
{
    struct oa_plan plan;
    OA_TRY(oa_plan_workload(config->context, &config->options, work, &plan));
    oa_log(config->context, 2,
           "%s: %.0f trained and %.0f frozen parameters, vocabulary %ld, %.0f training %s",
           config->options.model_attention, plan.trainable, plan.frozen, plan.vocabulary,
           oa_workload_side(work, OA_TRAINING).targets,
           oa_predicts_tokens(work) ? "tokens" : "examples");
    return OA_OK;
}

static enum oa_error check_train_ranks(const oa_config *config)
{
    long asked = config->options.cluster_ranks,
         there = oa_rank_count(oa_context_cluster(config->context));
    if (asked == 0 || asked == there)
        return OA_OK;
    return oa_fail(
        config->context, OA_ARGUMENT,
        "cluster.ranks = %ld, but there %s %ld: start as many, mpirun -n %ld orthant train …",
        asked, there == 1 ? "is" : "are", there, asked);
}

static enum oa_error train_opened(const oa_config *config, const char *folder, int resume,
                                  struct oa_scores *scores, const struct oa_output *out,
                                  struct oa_workload *work, struct oa_run *result)
{
    struct oa_cluster *cluster = oa_context_cluster(config->context);
    struct oa_train_request request = { .options = &config->options,
                                        .workload = work,
                                        .cluster = cluster,
                                        .folder = folder,
                                        .resume = resume != 0,
                                        .overwrite = config->overwrite,
                                        .keep = true,
                                        .title = config->options.model_attention };
    struct oa_started started;
    OA_TRY(oa_cluster_agree(cluster, check_train_ranks(config)));
    OA_TRY(oa_check_training_data(config->context, &config->options));
    /* before a long text is read */
    OA_TRY(oa_attention_warn(config->context, config->options.model_attention,
                             oa_options_stacks(&config->options), &config->options));
    oa_config_say_preset(config);
    oa_remarks(config->context, &config->options);
    if (config->options.compare_metric[0] && !oa_best_wanted(&config->options))
        oa_log(config->context, 0,
               "compare.metric has no effect without train.keep_best or train.patience");
    OA_TRY(oa_same_everywhere(cluster, &config->options, work,
                              oa_workload_open(config->context, &config->options, work)));
    OA_TRY(log_model_size(config, work));
    OA_TRY(oa_initial_log(config->context, &config->options, work, config->options.model_attention,
                          &started));
    OA_TRY(oa_train_run(config->context, &request, result));
    if (oa_rank_of(cluster) != 0)
        return OA_OK;
    struct outcome o = { .options = &config->options,
                         .folder = folder,
                         .work = work,
                         .run = result,
                         .targets = oa_workload_side(work, OA_VALIDATION).targets,
                         .started = started,
                         .scores = oa_scores_of(work, result) };
    if (scores)
        *scores = o.scores;
    return report_outcome(config->context, &o, out);
}

static enum oa_error open_train_folder(const oa_config *config, const char *folder, int resume,
                                       struct oa_lock **lock)
{
    OA_TRY(oa_directory_check(config->context, folder));
    if (resume && !oa_file_exists(folder))
        return oa_fail(
            config->context, OA_ARGUMENT,
            "--resume: there is no folder %s: leave --resume out to start a run there, or "
            "make the folder first where a script always gives --resume",
            folder);
    OA_TRY(oa_folder_lock(config->context, folder, lock));
    enum oa_error e = check_train_folder(config, folder, resume);
    if (e == OA_OK)
        return OA_OK;
    oa_folder_unlock(*lock);
    *lock = NULL;
    return e;
}

/* Takes recorded options of a resumed run that the caller did not give: older programs had other
 * defaults. */
static enum oa_error take_recorded_options(oa_config *config, const char *folder)
{
    static const char *const keys[] = { "data.train", "data.stratify", "train.warmup" };
    oa_config before = { .context = config->context };
    struct oa_text value;
    if (!oa_folder_has_run(config->context, folder))
        return OA_OK;
    oa_options_default(&before.options);
    OA_TRY(oa_config_read_run(&before, folder));
    oa_text_init(&value, config->context);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        oa_text_cut(&value, 0);
        oa_options_get(config->context, &before.options, keys[i], &value);
        if (!config->given.option[oa_option_number(keys[i])] && value.s)
            oa_options_set(config->context, &config->options, keys[i], value.s);
    }
    oa_text_free(&value);
    return oa_status(config->context);
}

enum oa_error oa_train(const oa_config *asked, const char *folder, int resume,
                       struct oa_scores *scores, const struct oa_output *out)
{
    oa_config with = *asked, run;
    const oa_config *config = &with;
    struct oa_workload work = { 0 };
    struct oa_run result = { 0 };
    struct oa_lock *lock = NULL;
    struct oa_cluster *cluster = oa_context_cluster(config->context);
    struct oa_work told = {
        .command = "train", .folder = folder, .resume = resume != 0, .overwrite = config->overwrite
    };
    OA_TRY(oa_status(config->context));
    if (resume && !asked->overwrite)
        OA_TRY(take_recorded_options(&with, folder));
    OA_TRY(oa_same_program(cluster, &config->options, &told));
    enum oa_error e =
        oa_rank_of(cluster) == 0 ? open_train_folder(config, folder, resume, &lock) : OA_OK;
    e = oa_cluster_agree(cluster, e); /* the others leave the folder alone */
    if (e == OA_OK)
        e = oa_cluster_agree(cluster, oa_config_begin_from(config, true, &run));
    oa_copies_use(config->context, resume && !config->overwrite ? folder : NULL, false);
    if (e == OA_OK)
        e = train_opened(&run, folder, resume, scores, out, &work, &result);
    oa_copies_use(config->context, NULL, false);
    oa_run_free(&result);
    oa_workload_close(&work);
    oa_folder_unlock(lock);
    return e;
}
