/* SPDX-License-Identifier: Apache-2.0
 * distil: replaces the attention of a run, and trains the new model to imitate the run, its
 * teacher. First each new layer learns the output of the one that it replaces, in a run of its own
 * in OUT/attention; then the model learns the teacher's probabilities, in OUT. Both are training
 * runs, which can be stopped and resumed. */
#include "api/api.h"
#include "base/folder_lock.h"
#include "model/pretrained.h"
#include "print/print.h"
#include "train/initial.h"
#include "train/teacher.h"

#include <math.h>
#include <string.h>

#define DISTIL_FILE "distil.json"
#define FEW 0.005 /* share of the teacher's loss; an exchange that costs less counts as small */

enum distil_part { TEACHER, EXCHANGED, ATTENTION, OUTPUT, PARTS };

struct distilling {
    oa_context *c;
    const char *teacher, *out;
    char stage[OA_PATH];     /* the folder of the first stage */
    oa_config config;        /* with the teacher's options of the model */
    struct oa_workload work; /* of all parts: read once */
    struct oa_options part[PARTS];
    struct oa_run result[PARTS];
    struct oa_plan plan[PARTS];
    const char *unit, *counted; /* of the loss; what has one */
};

/* ---- options of the parts ---- */

/* The task, and options of the model that are not given, are those of the teacher. */
static enum oa_error distil_read_options(struct distilling *d, const oa_config *asked)
{
    oa_config with = *asked;
    struct oa_pretrained files;
    struct oa_options theirs;
    struct oa_model_form form;
    oa_options_default(&theirs);
    OA_TRY(oa_pretrained_find(d->c, d->teacher, &files));
    OA_TRY(oa_config_load(d->c, files.config, &theirs, &form));
    if (!asked->given.option[oa_option_number("data.task")])
        OA_TRY(oa_config_set(&with, "data.task", theirs.data_task));
    OA_TRY(oa_config_set(&with, "train.init", d->teacher));
    OA_TRY(oa_config_set(&with, "distil.teacher", d->teacher));
    return oa_config_begin_from(&with, false, &d->config);
}

/* Without steps: a model is opened and validated. */
static void distil_only_validate(struct oa_options *o)
{
    o->train_steps = 0;
    o->train_seconds = 0;
    o->train_only[0] = o->train_pace[0] = o->distil_teacher[0] = 0;
    o->train_keep_best = false;
    o->train_average = 0;
}

static enum oa_error distil_set_parts(struct distilling *d)
{
    struct oa_pretrained files;
    struct oa_options theirs;
    struct oa_model_form form;
    bool any;
    oa_context *c = d->c;
    for (int i = 0; i < PARTS; i++)
        d->part[i] = d->config.options;
    struct oa_options *first = &d->part[ATTENTION], *second = &d->part[OUTPUT];
    oa_options_default(&theirs);
    OA_TRY(oa_pretrained_find(c, d->teacher, &files));
    OA_TRY(oa_config_load(c, files.config, &theirs, &form));
    OA_TRY(oa_options_set(c, &d->part[TEACHER], "model.attention", theirs.model_attention));
    distil_only_validate(&d->part[TEACHER]);
    distil_only_validate(&d->part[EXCHANGED]);
    OA_TRY(oa_teacher_first_stage(c, first, &form, &any));
    if (!any)
        return oa_fail(c, OA_ARGUMENT,
                       "the student has the attention of the teacher in every layer, \"%s\": give "
                       "another one",
                       first->model_attention);
    second->distil_learn = OA_LEARN_OUTPUT;
    OA_TRY(oa_path(c, d->stage, d->out, "attention"));
    return oa_options_set(c, second, "train.init", d->stage);
}

/* ---- the folder ---- */

static enum oa_error distil_check_folder(const struct distilling *d)
{
    static const char *const others[] = { "model.safetensors", "log.jsonl", "contest.json" };
    char path[OA_PATH];
    OA_TRY(oa_directory_check(d->c, d->out));
    OA_TRY(oa_initial_check(d->c, &d->part[ATTENTION], d->out));
    if (oa_file_exists(d->stage))
        return OA_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        OA_TRY(oa_path(d->c, path, d->out, others[i]));
        if (oa_file_exists(path))
            return oa_fail(d->c, OA_ARGUMENT,
                           "%s exists and is not of a distillation; choose another folder", path);
    }
    return OA_OK;
}

/* ---- the parts ---- */

static void distil_log_plan(const struct distilling *d, enum distil_part part)
{
    const struct oa_plan *p = &d->plan[part];
    char flops[OA_NUMBER], memory[OA_NUMBER];
    double steps = (double)d->part[part].train_steps;
    if (part < ATTENTION)
        return;
    oa_log(
        d->c, 0, "%s: %ld steps, %.0f trained parameters, %sFLOP, %s of memory",
        part == ATTENTION ? "attention" : "output", d->part[part].train_steps, p->trainable,
        oa_number_si(flops, steps * p->flops),
        oa_number_bytes(memory, p->memory_parameters + p->memory_activations + p->memory_scratch));
}

static enum oa_error distil_open_work(struct distilling *d, enum distil_part part)
{
    const struct oa_options *o = &d->part[part];
    if (part != TEACHER)
        return oa_workload_start(d->c, o, &d->work); /* train.init differs */
    OA_TRY(oa_workload_open(d->c, o, &d->work));
    if (oa_workload_side(&d->work, OA_VALIDATION).targets == 0)
        return oa_fail(d->c, OA_ARGUMENT,
                       "distil compares losses on a validation text: give data.valid, or "
                       "data.valid_fraction above 0");
    return OA_OK;
}

static enum oa_error distil_run_part(struct distilling *d, enum distil_part part)
{
    static const char *const titles[] = { "teacher", "exchanged", "attention", "output" };
    const struct oa_options *o = &d->part[part];
    struct oa_workload *w = &d->work;
    struct oa_train_request r = { .options = o,
                                  .workload = w,
                                  .folder = part == ATTENTION ? d->stage
                                            : part == OUTPUT  ? d->out
                                                              : NULL,
                                  .resume = true,
                                  .keep = part >= ATTENTION,
                                  .title = titles[part],
                                  .run = part + 1,
                                  .runs = PARTS };
    OA_TRY(distil_open_work(d, part));
    OA_TRY(oa_plan_workload(d->c, o, w, &d->plan[part]));
    if (part == TEACHER) /* errors of the last part appear now, and not hours later */
        OA_TRY(oa_plan_workload(d->c, &d->part[OUTPUT], w, &d->plan[OUTPUT]));
    distil_log_plan(d, part);
    bool one = w->task->answer == OA_ANSWER_CLASS || w->task->answer == OA_ANSWER_NUMBER;
    d->counted = one ? "examples" : "tokens";
    d->unit = w->task->measures ? w->task->measures->unit : "nats a token";
    return oa_train_run(d->c, &r, &d->result[part]);
}

/* ---- the record ---- */

/* The recovered share of the loss that the exchange of the attention cost; NaN: it cost nothing. */
static double distil_recovered(const struct distilling *d, enum distil_part part)
{
    double teacher = d->result[TEACHER].valid_loss, before = d->result[EXCHANGED].valid_loss;
    return before > teacher ? (before - d->result[part].valid_loss) / (before - teacher)
                            : (double)NAN;
}

static json_t *stage_json(const struct distilling *d, enum distil_part part)
{
    const struct oa_run *run = &d->result[part];
    double recovered = distil_recovered(d, part);
    return json_pack("{s:f, s:o, s:I, s:f, s:f, s:f, s:f}", "loss", run->valid_loss, "recovered",
                     isfinite(recovered) ? json_real(recovered) : json_null(), "steps",
                     (json_int_t)run->steps, "tokens", run->tokens, "trained_parameters",
                     d->plan[part].trainable, "flops", (double)run->steps * d->plan[part].flops,
                     "seconds", run->seconds);
}

static json_t *distil_json(const struct distilling *d)
{
    return json_pack(
        "{s:o, s:o, s:s, s:s, s:f, s:f, s:f, s:o, s:o}", "run", oa_json_name(d->c, d->out),
        "teacher", oa_json_name(d->c, d->teacher), "attention", d->config.options.model_attention,
        "unit", d->unit, "validation_tokens", d->result[OUTPUT].valid_tokens, "teacher_loss",
        d->result[TEACHER].valid_loss, "exchanged_loss", d->result[EXCHANGED].valid_loss,
        "after_attention", stage_json(d, ATTENTION), "after_output", stage_json(d, OUTPUT));
}

static enum oa_error distil_save(const struct distilling *d)
{
    char path[OA_PATH];
    struct oa_text text;
    OA_TRY(oa_path(d->c, path, d->out, DISTIL_FILE));
    oa_text_init(&text, d->c);
    oa_json_add(&text, distil_json(d));
    enum oa_error e = oa_status(d->c);
    if (e == OA_OK)
        e = oa_file_write(d->c, path, text.s, text.length);
    oa_text_free(&text);
    return e;
}

static void distil_add_row(const struct distilling *d, struct oa_table *t, enum distil_part part)
{
    static const char *const names[] = { "teacher", "exchanged, nothing learned", "after attention",
                                         "after output" };
    char number[OA_NUMBER];
    double recovered = distil_recovered(d, part);
    oa_table_cell(t, "%s", names[part]);
    oa_table_cell(t, "%.4f", d->result[part].valid_loss);
    if (part > EXCHANGED && isfinite(recovered))
        oa_table_cell(t, "%.1f %%", 100 * recovered);
    else
        oa_table_cell(t, "%s", "–");
    for (int i = 0; part < ATTENTION && i < 3; i++)
        oa_table_cell(t, "%s", "–");
    if (part < ATTENTION)
        return;
    oa_table_cell(t, "%ld", d->result[part].steps);
    oa_table_cell(t, "%s", oa_number_si(number, d->result[part].tokens));
    oa_table_cell(t, "%.1f", d->result[part].seconds);
}

/* A note where shares mean little or nothing. The cost of an exchange is noise if it is below the
 * standard error of a mean of so many losses with a deviation as large as their mean. */
static void distil_note(const struct distilling *d, struct oa_text *text)
{
    double teacher = d->result[TEACHER].valid_loss,
           lost = d->result[EXCHANGED].valid_loss - teacher,
           noise = fmax(FEW, 1 / sqrt(d->result[TEACHER].valid_tokens)) * teacher;
    if (lost <= 0)
        oa_text_printf(text, "\nThe exchange cost nothing: there is nothing to recover (–).\n");
    else if (lost < noise)
        oa_text_printf(
            text, "\nThe exchange cost %.4f only: shares of so little are mostly noise.\n", lost);
}

static enum oa_error distil_report(const struct distilling *d, const struct oa_output *out)
{
    static const struct oa_column columns[] = {
        { "model", false, false }, { "loss", true, false },   { "recovered", true, false },
        { "steps", true, false },  { "tokens", true, false }, { "seconds", true, false }
    };
    struct oa_text text;
    struct oa_table table;
    oa_text_init(&text, d->c);
    if (oa_wants_json(out)) {
        oa_json_add(&text, distil_json(d));
        return oa_emit(out, &text);
    }
    oa_text_printf(&text, "run             ");
    oa_name_add(&text, d->out);
    oa_text_printf(&text, "\nteacher         ");
    oa_name_add(&text, d->teacher);
    oa_text_printf(&text, "\nattention       ");
    oa_name_add(&text, d->config.options.model_attention);
    oa_text_printf(&text, "\nvalidated       %.0f %s, loss in %s\n\n",
                   d->result[OUTPUT].valid_tokens, d->counted, d->unit);
    oa_table_init(&table, d->c, columns, 6);
    for (int part = 0; part < PARTS; part++)
        distil_add_row(d, &table, part);
    oa_table_text(&table, 0, &text);
    oa_table_free(&table);
    distil_note(d, &text);
    return oa_emit(out, &text);
}

/* ---- the command ---- */

static enum oa_error distil_run(struct distilling *d)
{
    struct oa_lock *lock = NULL;
    OA_TRY(oa_check_training_data(d->c, &d->config.options));
    OA_TRY(oa_attention_warn(d->c, d->config.options.model_attention,
                             oa_options_stacks(&d->config.options), &d->config.options));
    OA_TRY(distil_set_parts(d));
    OA_TRY(distil_check_folder(d));
    OA_TRY(oa_folder_lock(d->c, d->out, &lock));
    enum oa_error e = OA_OK;
    for (int part = 0; e == OA_OK && part < PARTS; part++)
        e = distil_run_part(d, part);
    if (e == OA_OK)
        e = distil_save(d);
    oa_folder_unlock(lock);
    return e;
}

enum oa_error oa_distil(const oa_config *config, const char *teacher, const char *folder,
                        const struct oa_output *out)
{
    OA_TRY(oa_status(config->context));
    struct distilling *d = oa_alloc(config->context, sizeof *d);
    if (!d)
        return OA_NO_MEMORY;
    d->c = config->context;
    d->teacher = teacher;
    d->out = folder;
    enum oa_error e = distil_read_options(d, config);
    if (e == OA_OK)
        e = distil_run(d);
    if (e == OA_OK)
        e = distil_report(d, out);
    for (int i = 0; i < PARTS; i++)
        oa_run_free(&d->result[i]);
    oa_workload_close(&d->work);
    oa_free(d);
    return e;
}
