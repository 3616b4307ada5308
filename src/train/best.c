/* SPDX-License-Identifier: Apache-2.0 */
#include "train/best.h"

#include <dirent.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define PATTERN "best-%09ld.safetensors"

/* ---- what can be done ---- */

bool oa_best_wanted(const struct oa_options *o)
{
    return o->train_keep_best || o->train_patience > 0;
}

static enum oa_error refuse(oa_context *c, const struct oa_options *o, const char *because)
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
        return refuse(
            c, o,
            "there is no validation text to choose by: give data.valid or data.valid_fraction > 0");
    if (o->train_eval_every == 0)
        return refuse(c, o, "there are no validations to choose from: give train.eval_every > 0");
    if (o->train_keep_best && !folder)
        return refuse(c, o, "the run has no folder to keep a model in");
    if (o->train_patience > 0 && (o->train_seconds > 0 || *o->train_pace))
        return oa_fail(c, OA_ARGUMENT,
                       "train.patience: a clock decides when the run ends (train.%s); give "
                       "train.steps instead",
                       o->train_seconds > 0 ? "seconds" : "pace");
    return OA_OK;
}

static enum oa_error path_of(oa_context *c, char out[OA_PATH], const char *folder, long step)
{
    char name[64];
    snprintf(name, sizeof name, PATTERN, step);
    return oa_path(c, out, folder, name);
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
                       "%s was begun with train.eval_tokens = %ld, and now it is %ld: losses on "
                       "other tokens cannot be "
                       "compared for the lowest; leave the option out",
                       folder, before->train_eval_tokens, o->train_eval_tokens);
    if (strcmp(o->compare_metric, before->compare_metric) != 0)
        return oa_fail(c, OA_ARGUMENT,
                       "%s was begun with compare.metric = \"%s\", and now it is \"%s\": the best "
                       "of one measure "
                       "cannot be compared with that of another; leave the option as it was",
                       folder, before->compare_metric, o->compare_metric);
    if (!o->train_keep_best || best->step == 0)
        return OA_OK;
    OA_TRY(path_of(c, path, folder, best->step));
    if (oa_file_exists(path))
        return OA_OK;
    return oa_fail(
        c, OA_ARGUMENT,
        "%s is missing, which held the best model so far: put it back, or train into a new folder",
        path);
}

/* ---- the best score ---- */

/* A score that does not exist is never the best. */
static bool is_better(const struct oa_best *best, double score, const struct oa_measure *m)
{
    if (best->step == 0)
        return !isnan(score);
    return oa_cost(m, score) < oa_cost(m, best->score);
}

bool oa_best_note(struct oa_best *best, long step, double score, const struct oa_measure *m)
{
    if (!is_better(best, score, m)) {
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

static void remove_step(oa_context *c, const char *folder, long step)
{
    char path[OA_PATH];
    if (path_of(c, path, folder, step) == OA_OK)
        unlink(path);
}

/* No checkpoint names a best model that was found and replaced since the newest one. */
enum oa_error oa_best_save(const struct oa_best_files *f, const struct oa_model *m,
                           const struct oa_tokenizer *tok, const struct oa_best *best, long before)
{
    char path[OA_PATH];
    OA_TRY(path_of(m->context, path, f->folder, best->step));
    OA_TRY(oa_model_save(m, tok, path, m->options.train_save_frozen));
    if (before > 0 && before != f->saved && before != best->step)
        remove_step(m->context, f->folder, before);
    return OA_OK;
}

enum oa_error oa_best_open(const struct oa_best_files *f, const struct oa_model *like,
                           const struct oa_tokenizer *tok, const struct oa_best *best,
                           struct oa_model **out)
{
    char path[OA_PATH];
    OA_TRY(path_of(like->context, path, f->folder, best->step));
    return oa_model_open_saved(like->device, path, &like->options, &like->form, tok, out);
}

static void keep_only(oa_context *c, const char *folder, long one, long other)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char same[64];
        long step;
        if (sscanf(e->d_name, PATTERN, &step) != 1 || step == one || step == other)
            continue;
        snprintf(same, sizeof same, PATTERN, step);
        if (strcmp(same, e->d_name) == 0)
            remove_step(c, folder, step);
    }
    if (d)
        closedir(d);
}

void oa_best_settle(oa_context *c, struct oa_best_files *f, const struct oa_best *best)
{
    keep_only(c, f->folder, best->step, f->saved);
    f->saved = best->step;
}

void oa_best_forget(oa_context *c, const char *folder)
{
    keep_only(c, folder, 0, 0);
}
