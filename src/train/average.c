/* SPDX-License-Identifier: Apache-2.0 */
#include "train/average.h"
#include "base/safetensors.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION "1"
static const char prefix[] = "average";

/* ---- options ---- */

bool oa_average_wanted(const struct oa_options *o)
{
    return o->train_average > 1;
}

static enum oa_error refuse_average(oa_context *c, const struct oa_options *o, const char *because)
{
    return oa_fail(c, OA_ARGUMENT, "train.average = %ld: %s", o->train_average, because);
}

enum oa_error oa_average_check(oa_context *c, const struct oa_options *o, const char *folder)
{
    if (!oa_average_wanted(o))
        return OA_OK;
    if (o->train_eval_every == 0)
        return refuse_average(c, o,
                              "weights are averaged at validations: give train.eval_every > 0");
    if (o->train_keep_best)
        return refuse_average(
            c, o, "train.keep_best selects the final model, too: leave one of them out");
    return folder ? OA_OK : refuse_average(c, o, "the run has no folder to save weights in");
}

/* ---- which steps ---- */

/* Can a mean that is made at step `end` or later need the weights of the multiple `step`? */
static bool in_average_window(const struct oa_options *o, long step, long end)
{
    long every = o->train_eval_every;
    return step <= end && end / every - step / every < o->train_average;
}

/* The first multiple in the mean of a run that ends at `end`, whose own weights are in it, too. */
static long first_averaged_step(const struct oa_options *o, long end)
{
    long every = o->train_eval_every,
         last = (end - 1) / every; /* the newest multiple before the end */
    return oa_max(1, last - (o->train_average - 1) + 1) * every;
}

int oa_average_count(const struct oa_options *o, long end)
{
    long first = first_averaged_step(o, end);
    return 1 + (int)(first < end ? (end - 1 - first) / o->train_eval_every + 1 : 0);
}

/* ---- files ---- */

static void view_weights(struct oa_view *v, const struct oa_model *m, unsigned use)
{
    oa_view_open(v, m->device, m->store.values,
                 (size_t)m->store.updated * m->device->numbers.real_size, use);
}

static enum oa_error save_weights(const struct oa_model *m, long step, const char *folder)
{
    char path[OA_PATH], number[32];
    struct oa_view v;
    snprintf(number, sizeof number, "%ld", step);
    const char *metadata[] = { "orthant.average", VERSION, "step", number, NULL };
    OA_TRY(oa_step_file_path(m->context, path, folder, prefix, step));
    view_weights(&v, m, OA_VIEW_READ);
    struct oa_array a = { .name = (char *)(uintptr_t) "values",
                          .type = m->device->numbers.real,
                          .dims = 1,
                          .dim = { m->store.updated },
                          .data = v.host,
                          .bytes = v.bytes };
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_tensors_write_checksummed(m->context, path, &a, 1, metadata);
    oa_view_close(&v);
    return e;
}

/* Weights of that step with a valid checksum; close the file. */
static enum oa_error open_weights(oa_context *c, const char *folder, long step,
                                  struct oa_tensors **out)
{
    char path[OA_PATH];
    OA_TRY(oa_step_file_path(c, path, folder, prefix, step));
    if (!oa_file_exists(path))
        return oa_fail(
            c, OA_ARGUMENT,
            "%s is missing: train.average needs its weights for the mean; put it back, or "
            "train into a new folder",
            path);
    OA_TRY(oa_tensors_open(c, path, out));
    const char *version = oa_tensors_metadata(*out, "orthant.average"),
               *number = oa_tensors_metadata(*out, "step");
    if (version && strcmp(version, VERSION) == 0 && number && strtol(number, NULL, 10) == step &&
        oa_tensors_metadata(*out, OA_CHECKSUM_KEY) && oa_tensors_find(*out, "values"))
        return OA_OK;
    oa_tensors_close(*out);
    return oa_fail(
        c, OA_FORMAT,
        "%s does not contain the weights of step %ld: it was altered or is another run's", path,
        step);
}

/* Removes weights that no mean needs; ends [count]: steps from which the run may be resumed. */
static void remove_unneeded(oa_context *c, const char *folder, const struct oa_options *o,
                            const long *ends, int count)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[OA_PATH];
        long step = oa_step_file_step(prefix, e->d_name);
        bool needed = step < 0;
        for (int i = 0; i < count && !needed; i++)
            needed = step % o->train_eval_every == 0 && in_average_window(o, step, ends[i]);
        if (!needed && oa_step_file_path(c, path, folder, prefix, step) == OA_OK)
            unlink(path);
    }
    if (d)
        closedir(d);
}

void oa_average_forget(oa_context *c, const char *folder)
{
    remove_unneeded(c, folder, NULL, NULL, 0);
}

enum oa_error oa_average_note(const struct oa_model *m, long step, const char *folder)
{
    const struct oa_options *o = &m->options;
    long ends[OA_CHECKPOINTS + 1];
    if (!oa_average_wanted(o) || step % o->train_eval_every != 0)
        return OA_OK;
    OA_TRY(save_weights(m, step, folder));
    int count = oa_folder_checkpoints(m->context, folder, ends);
    if (count < 0)
        return oa_status(m->context);
    ends[count++] = step;
    remove_unneeded(m->context, folder, o, ends, count);
    return OA_OK;
}

enum oa_error oa_average_accept(oa_context *c, const struct oa_options *o,
                                const struct oa_options *before, long step, const char *folder)
{
    if (!oa_average_wanted(o))
        return OA_OK;
    if (o->train_eval_every != before->train_eval_every)
        return oa_fail(c, OA_ARGUMENT,
                       "%s was begun with train.eval_every = %ld, but it is %ld now: train.average "
                       "averages the weights at these steps; leave the option out",
                       folder, before->train_eval_every, o->train_eval_every);
    for (long s = o->train_eval_every; s <= step; s += o->train_eval_every) {
        struct oa_tensors *f;
        if (!in_average_window(o, s, step))
            continue;
        OA_TRY(open_weights(c, folder, s, &f));
        oa_tensors_close(f);
    }
    return OA_OK;
}

/* ---- the mean ---- */

static enum oa_error add_saved_weights(const struct oa_model *m, const char *folder, long step,
                                       double *sum)
{
    struct oa_tensors *f;
    OA_TRY(open_weights(m->context, folder, step, &f));
    const struct oa_array *a = oa_tensors_find(f, "values");
    bool fits = a->dims == 1 && a->dim[0] == m->store.updated && a->type == m->device->numbers.real;
    for (long i = 0; fits && i < m->store.updated; i++)
        sum[i] += oa_array_value(a, (size_t)i);
    oa_tensors_close(f);
    return fits ? OA_OK
                : oa_fail(m->context, OA_FORMAT,
                          "the weights of step %ld in %s are of another model", step, folder);
}

enum oa_error oa_average_take(struct oa_model *m, long end, const char *folder, int *count)
{
    const struct oa_options *o = &m->options;
    double *sum = oa_alloc(m->context, ((size_t)m->store.updated + 1) * sizeof *sum);
    enum oa_error e = sum ? OA_OK : OA_NO_MEMORY;
    *count = oa_average_count(o, end);
    for (long s = first_averaged_step(o, end); e == OA_OK && s < end; s += o->train_eval_every)
        e = add_saved_weights(m, folder, s, sum);
    if (e == OA_OK) { /* the weights as they are now are the last ones of the mean */
        struct oa_view v;
        view_weights(&v, m, OA_VIEW_READ | OA_VIEW_WRITE);
        for (long i = 0; v.host && i < m->store.updated; i++)
            oa_real_set(m->device, v.host, i,
                        (sum[i] + oa_real_get(m->device, v.host, i)) / *count);
        oa_view_close(&v);
        oa_store_refresh(&m->store);
    }
    oa_free(sum);
    return e == OA_OK ? oa_status(m->context) : e;
}
