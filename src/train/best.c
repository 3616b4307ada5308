/* SPDX-License-Identifier: Apache-2.0 */
#include "train/best.h"

#include <dirent.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "best";

/* ---- options ---- */

bool oa_best_wanted(const struct oa_options *o)
{
    return o->train_keep_best || o->train_patience > 0;
}

static enum oa_error refuse_best(oa_context *c, const struct oa_options *o, const char *because)
{
    return oa_fail(c, OA_ARGUMENT, "train.%s: %s", o->train_keep_best ? "keep_best" : "patience",
                   because);
}

enum oa_error oa_best_check(oa_context *c, const struct oa_options *o, bool validated,
                            const char *folder)
{
    if (!oa_best_wanted(o))
        return OA_OK;
    if (!validated)
        return refuse_best(
            c, o,
            "there is no validation text to select by: give data.valid or data.valid_fraction > 0");
    if (o->train_eval_every == 0)
        return refuse_best(c, o,
                           "the best model is selected at validations: give train.eval_every > 0");
    if (o->train_keep_best && !folder)
        return refuse_best(c, o, "the run has no folder to save a model in");
    if (o->train_patience > 0 && (o->train_seconds > 0 || *o->train_pace))
        return oa_fail(
            c, OA_ARGUMENT,
            "train.patience cannot be combined with train.%s, where the clock ends the run: "
            "give train.steps instead",
            o->train_seconds > 0 ? "seconds" : "pace");
    return OA_OK;
}

enum oa_error oa_best_accept(oa_context *c, const struct oa_options *o,
                             const struct oa_options *before, const struct oa_best *best,
                             const char *folder)
{
    char path[OA_PATH];
    if (!oa_best_wanted(o))
        return OA_OK;
    if (o->train_eval_tokens != before->train_eval_tokens)
        return oa_fail(c, OA_ARGUMENT,
                       "%s was begun with train.eval_tokens = %ld, but it is %ld now: losses on "
                       "different tokens are not comparable; leave the option out",
                       folder, before->train_eval_tokens, o->train_eval_tokens);
    if (strcmp(o->compare_metric, before->compare_metric) != 0)
        return oa_fail(c, OA_ARGUMENT,
                       "%s was begun with compare.metric = \"%s\", but it is \"%s\" now: scores in "
                       "different measures are not comparable; leave the option as it was",
                       folder, before->compare_metric, o->compare_metric);
    if (!o->train_keep_best || best->step == 0)
        return OA_OK;
    OA_TRY(oa_step_file_path(c, path, folder, prefix, best->step));
    if (oa_file_exists(path))
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "%s, the best model so far, is missing: put it back, or train into a new folder",
                   path);
}

/* ---- the best score ---- */

/* A score that does not exist is never the best. */
bool oa_best_note(struct oa_best *best, long step, double score, const struct oa_measure *m)
{
    if (best->step == 0 ? isnan(score) : !(oa_cost(m, score) < oa_cost(m, best->score))) {
        best->stale++;
        return false;
    }
    *best = (struct oa_best){ .step = step, .score = score };
    return true;
}

bool oa_best_over(const struct oa_best *best, const struct oa_options *o)
{
    return o->train_patience > 0 && best->stale >= o->train_patience;
}

/* ---- files ---- */

static void remove_best_of_step(oa_context *c, const char *folder, long step)
{
    char path[OA_PATH];
    if (oa_step_file_path(c, path, folder, prefix, step) == OA_OK)
        unlink(path);
}

/* No checkpoint names a best model that was found and replaced since the newest one. */
enum oa_error oa_best_save(const struct oa_best_files *f, const struct oa_model *m,
                           const struct oa_tokenizer *tok, const struct oa_best *best, long before)
{
    char path[OA_PATH];
    OA_TRY(oa_step_file_path(m->context, path, f->folder, prefix, best->step));
    OA_TRY(oa_model_save(m, tok, path, m->options.train_save_frozen));
    if (before > 0 && before != f->saved && before != best->step)
        remove_best_of_step(m->context, f->folder, before);
    return OA_OK;
}

enum oa_error oa_best_open(const struct oa_best_files *f, const struct oa_model *like,
                           const struct oa_tokenizer *tok, const struct oa_best *best,
                           struct oa_model **out)
{
    char path[OA_PATH];
    OA_TRY(oa_step_file_path(like->context, path, f->folder, prefix, best->step));
    return oa_model_open_saved(like->device, path, &like->options, &like->form, tok, out);
}

static void remove_other_bests(oa_context *c, const char *folder, long one, long other)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        long step = oa_step_file_step(prefix, e->d_name);
        if (step >= 0 && step != one && step != other)
            remove_best_of_step(c, folder, step);
    }
    if (d)
        closedir(d);
}

void oa_best_settle(oa_context *c, struct oa_best_files *f, const struct oa_best *best)
{
    remove_other_bests(c, f->folder, best->step, f->saved);
    f->saved = best->step;
}

void oa_best_forget(oa_context *c, const char *folder)
{
    remove_other_bests(c, folder, 0, 0);
}
