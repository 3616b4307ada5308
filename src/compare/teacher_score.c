/* SPDX-License-Identifier: Apache-2.0
 * The score of the run that all attentions of a comparison start from, before any training, of
 * which the report gives the share that each attention retains. */
#include "compare/comparison_session.h"
#include "compare/initial_runs.h"
#include "model/pretrained.h"
#include "train/initial.h"

/* The options of its runs with the attention of the teacher, and without steps. */
static enum oa_error teacher_options(const struct comparison_session *t, struct oa_options *o)
{
    struct oa_pretrained files;
    struct oa_options theirs;
    struct oa_model_form form;
    OA_TRY(oa_pretrained_find(t->c, o->train_init, &files));
    oa_options_default(&theirs);
    OA_TRY(oa_config_load(t->c, files.config, &theirs, &form));
    o->train_steps = 0;
    o->train_seconds = 0;
    o->train_only[0] = o->train_pace[0] = o->distil_teacher[0] = 0;
    o->train_lora = 0;
    o->train_keep_best = false;
    o->train_average = 0;
    return oa_options_set(t->c, o, "model.attention", theirs.model_attention);
}

/* *all: has the run every tensor of that model? */
static enum oa_error teacher_fits(const struct comparison_session *t, const struct oa_options *o,
                                  bool *all)
{
    struct oa_device *d;
    struct oa_model *to = NULL;
    struct oa_initial i;
    OA_TRY(oa_device_open(t->c, o->train_precision, true, &d));
    enum oa_error e = oa_model_describe(d, o, &t->workload.form, &to);
    if (e == OA_OK) {
        e = oa_initial_open(to, &t->workload, false, &i);
        *all = e == OA_OK && i.transfer.taken == i.transfer.count;
        oa_initial_close(&i);
    }
    oa_model_close(to);
    oa_device_close(d);
    return e;
}

enum oa_error oa_comparison_evaluate_teacher(struct comparison_session *t)
{
    struct oa_comparison *k = t->out;
    struct oa_options o = t->asked;
    bool all;
    struct oa_run run = { 0 };
    if (!o.train_init[0] || k->initial_comparison)
        return OA_OK;
    OA_TRY(teacher_options(t, &o));
    OA_TRY(teacher_fits(t, &o, &all));
    if (!all)
        return OA_OK;
    const struct oa_train_request r = { .options = &o,
                                        .workload = &t->workload,
                                        .title = "teacher" };
    enum oa_error e = oa_train_run(t->c, &r, &run);
    if (e == OA_OK) {
        k->teacher = oa_copy_text(t->c, o.train_init);
        k->teacher_score = oa_run_score(k, &run);
        k->teacher_loss = run.valid_loss;
    }
    oa_run_free(&run);
    return e == OA_OK ? oa_status(t->c) : e;
}
