/* SPDX-License-Identifier: Apache-2.0
 * A run as JSON, and back. */
#include "compare/run_items.h"

#include "base/checksum.h"
#include "base/json_read.h"
#include "base/safetensors.h"
#include "train/run_scores.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char result_remedy[] = "remove the file to train that run again";
static const char other_comparison[] =
    "the run belongs to another comparison; give another --out, or remove the run's folder";

static const struct {
    const char *key;
    size_t offset;
} fields[] = {
    { "tokens", offsetof(struct oa_run, tokens) },
    { "valid_loss", offsetof(struct oa_run, valid_loss) },
    { "valid_tokens", offsetof(struct oa_run, valid_tokens) },
    { "perplexity", offsetof(struct oa_run, perplexity) },
    { "bits_per_character", offsetof(struct oa_run, bits_per_character) },
    { "bits_per_byte", offsetof(struct oa_run, bits_per_byte) },
    { "seconds", offsetof(struct oa_run, seconds) },
    { "processor_seconds", offsetof(struct oa_run, processor_seconds) },
    { "seconds_per_step", offsetof(struct oa_run, seconds_per_step) },
    { "tokens_per_second", offsetof(struct oa_run, tokens_per_second) },
    { "flops", offsetof(struct oa_run, flops) },
    { "flops_per_step", offsetof(struct oa_run, flops_per_step) },
    { "peak_memory", offsetof(struct oa_run, peak_memory) },
};
enum { FIELDS = sizeof fields / sizeof *fields, MACHINE = sizeof((struct oa_run *)0)->machine };

static double *run_field(struct oa_run *run, int i)
{
    return (double *)(void *)((char *)run + fields[i].offset);
}

static double json_value_or_nan(json_t *x)
{
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

/* After the loss a point has the task's other measures. */
static json_t *curve_points_json(const struct oa_measure *measures, const struct oa_run *run)
{
    json_t *curve = json_array();
    for (int i = 0; i < run->points; i++) {
        const struct oa_curve_point *p = &run->curve[i];
        json_t *point = json_array();
        json_array_append_new(point, json_integer(p->step));
        json_array_append_new(point, oa_json_number(p->seconds));
        json_array_append_new(point, oa_json_number(p->tokens));
        json_array_append_new(point, oa_json_number(p->train_loss));
        for (int m = 0; m < oa_measures_count(measures); m++)
            json_array_append_new(point, oa_json_number(oa_point_measured(p, m)));
        json_array_append_new(curve, point);
    }
    return curve;
}

static json_t *run_result_json(const struct oa_measure *measures, const struct oa_run *run,
                               json_t *fingerprint)
{
    json_t *o = json_object();
    json_object_set(o, "fingerprint", fingerprint);
    json_object_set_new(o, "machine", json_string(run->machine));
    json_object_set_new(o, "weights", json_string(run->weights));
    json_object_set_new(o, "seed", json_integer((json_int_t)run->seed));
    json_object_set_new(o, "steps", json_integer(run->steps));
    for (int i = 0; i < FIELDS; i++)
        json_object_set_new(o, fields[i].key,
                            oa_json_number(*run_field((struct oa_run *)(uintptr_t)run, i)));
    if (oa_measures_count(measures) > 1)
        json_object_set_new(o, "scores", oa_run_scores_json(measures, run->scores));
    if (run->test.made)
        json_object_set_new(o, "test", oa_run_test_json(measures, &run->test));
    if (run->attention_tokens > 0) {
        json_object_set_new(o, "attention_tokens", oa_json_number(run->attention_tokens));
        json_object_set_new(o, "attention_loss", oa_json_number(run->attention_loss));
    }
    if (run->averaged)
        json_object_set_new(o, "averaged", json_integer(run->averaged));
    json_object_set_new(o, "failed", json_boolean(run->failed));
    json_object_set_new(o, "failure", json_string(run->failure));
    json_object_set_new(o, "curve", curve_points_json(measures, run));
    oa_parts_write(run, o);
    return o;
}

enum oa_error oa_run_save(oa_context *c, const char *folder, json_t *fingerprint,
                          const struct oa_measure *measures, const struct oa_run *run)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "result.json"));
    json_t *o = run_result_json(measures, run, fingerprint);
    enum oa_error e = oa_checksummed_write(c, path, o);
    json_decref(o);
    return e;
}

/* The digest of the tensors' bytes in the order of the file, without names and metadata. */
enum oa_error oa_run_weights(oa_context *c, const char *folder, struct oa_run *run)
{
    char path[OA_PATH];
    struct oa_tensors *file;
    OA_TRY(oa_path(c, path, folder, "model.safetensors"));
    OA_TRY(oa_tensors_open(c, path, &file));
    int count = oa_tensors_count(file);
    struct oa_array *arrays = oa_alloc(c, ((size_t)count + 1) * sizeof *arrays);
    for (int i = 0; arrays && i < count; i++)
        arrays[i] = *oa_tensors_at(file, i);
    if (arrays)
        snprintf(run->weights, sizeof run->weights, "%s", oa_digest_of_arrays(arrays, count).hex);
    oa_free(arrays);
    oa_tensors_close(file);
    return oa_status(c);
}

/* ---- reading ---- */

static enum oa_error read_curve_json(oa_context *c, const json_t *curve,
                                     const struct oa_measure *measures, struct oa_run *run)
{
    size_t n = json_array_size(curve);
    OA_TRY(oa_curve_reserve(c, run, (int)n));
    for (size_t i = 0; i < n; i++) {
        json_t *p = json_array_get(curve, i);
        struct oa_curve_point *point = &run->curve[run->points++];
        *point = (struct oa_curve_point){ .step = (long)json_value_or_nan(json_array_get(p, 0)),
                                          .seconds = json_value_or_nan(json_array_get(p, 1)),
                                          .tokens = json_value_or_nan(json_array_get(p, 2)),
                                          .train_loss = json_value_or_nan(json_array_get(p, 3)),
                                          .valid_loss = json_value_or_nan(json_array_get(p, 4)) };
        oa_scores_clear(point->scores);
        for (int m = 1; m < oa_measures_count(measures); m++)
            point->scores[m] = json_value_or_nan(json_array_get(p, 4 + (size_t)m));
    }
    return OA_OK;
}

static void copy_json_text(const json_t *o, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(o, key));
    snprintf(out, size, "%s", text ? text : "");
}

static enum oa_error read_run_json(oa_context *c, const char *path, const json_t *o,
                                   const struct oa_measure *measures, struct oa_run *run)
{
    run->seed = (uint64_t)json_integer_value(json_object_get(o, "seed"));
    run->steps = (long)json_integer_value(json_object_get(o, "steps"));
    for (int i = 0; i < FIELDS; i++)
        *run_field(run, i) = json_value_or_nan(json_object_get(o, fields[i].key));
    oa_run_scores_read(measures, json_object_get(o, "scores"), run->scores);
    oa_run_test_read(measures, json_object_get(o, "test"), &run->test);
    run->attention_tokens = json_number_value(json_object_get(o, "attention_tokens"));
    run->attention_loss = json_number_value(json_object_get(o, "attention_loss"));
    run->averaged = (int)json_integer_value(json_object_get(o, "averaged"));
    run->failed = json_is_true(json_object_get(o, "failed"));
    copy_json_text(o, "failure", run->failure, sizeof run->failure);
    copy_json_text(o, "machine", run->machine, sizeof run->machine);
    copy_json_text(o, "weights", run->weights, sizeof run->weights);
    OA_TRY(read_curve_json(c, json_object_get(o, "curve"), measures, run));
    return oa_parts_read(c, path, o, run);
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The first point at which the two differ; -1: none. */
static int first_different_point(const struct oa_run *a, const struct oa_run *b)
{
    int points = a->points < b->points ? a->points : b->points;
    for (int i = 0; i < points; i++) {
        const struct oa_curve_point *p = &a->curve[i], *q = &b->curve[i];
        bool same = p->step == q->step && same_number(p->train_loss, q->train_loss);
        for (int m = 0; m < OA_MEASURES; m++)
            same = same && same_number(oa_point_measured(p, m), oa_point_measured(q, m));
        if (!same)
            return i;
    }
    return a->points == b->points ? -1 : points;
}

/* The log, if it is still there, has the losses of the result. */
static enum oa_error check_against_log(oa_context *c, const char *folder, const char *path,
                                       const struct oa_measure *measures, const struct oa_run *run)
{
    char log[OA_PATH];
    struct oa_run logged = { 0 };
    OA_TRY(oa_path(c, log, folder, "log.jsonl"));
    if (!oa_file_exists(log))
        return OA_OK;
    enum oa_error e = oa_log_read(c, folder, measures, &logged);
    int differs = first_different_point(run, &logged);
    if (e == OA_OK && differs >= 0)
        e = oa_fail(c, OA_FORMAT, "%s: the curve of this result differs from line %d of %s; %s",
                    path, differs + 1, log, result_remedy);
    oa_run_free(&logged);
    return e;
}

/* A run with a time budget is repeated from its pace, which has the number of steps. */
static enum oa_error check_against_pace(oa_context *c, const char *folder, const char *path,
                                        const struct oa_run *run)
{
    char pace[OA_PATH];
    long steps;
    OA_TRY(oa_path(c, pace, folder, OA_PACE_FILE));
    if (!oa_file_exists(pace))
        return OA_OK;
    OA_TRY(oa_pace_steps(c, pace, &steps));
    if (run->failed || steps == run->steps)
        return OA_OK;
    return oa_fail(c, OA_FORMAT, "%s: the run has %ld steps, but %s has %ld; %s", path, run->steps,
                   pace, steps, result_remedy);
}

/* The model, if it is still there, has the weights of the result. */
static enum oa_error check_against_model(oa_context *c, const char *folder, const char *path,
                                         const struct oa_run *run)
{
    char model[OA_PATH];
    struct oa_run other_run = { 0 };
    OA_TRY(oa_path(c, model, folder, "model.safetensors"));
    if (run->failed || !oa_file_exists(model))
        return OA_OK;
    OA_TRY(oa_run_weights(c, folder, &other_run));
    if (strcmp(run->weights, other_run.weights) == 0)
        return OA_OK;
    return oa_fail(
        c, OA_FORMAT,
        "%s: %s is not the model of this result: its weights are sha256:%.16s…, not %.16s…; "
        "remove the run's folder to train it again",
        path, model, other_run.weights, run->weights);
}

/* The model cannot be used without its options. */
static enum oa_error check_run_config(oa_context *c, const char *folder)
{
    char path[OA_PATH];
    struct oa_options o;
    struct oa_model_form form;
    OA_TRY(oa_path(c, path, folder, "config.json"));
    oa_options_default(&o);
    return oa_file_exists(path) ? oa_config_load(c, path, &o, &form) : OA_OK;
}

/* Older programs did not record all measures. */
static enum oa_error check_has_metric(oa_context *c, const char *path, const json_t *root,
                                      const struct oa_options *o, const struct oa_task *task)
{
    int metric;
    OA_TRY(oa_metric_choose(c, task, o->compare_metric, &metric));
    const char *name = task->measures[metric].name;
    if (metric == 0 || json_object_get(json_object_get(root, "scores"), name))
        return OA_OK;
    return oa_fail(c, OA_FORMAT, "%s: result lacks metric %s; %s", path, name, result_remedy);
}

/* A run with test data has its scores on them. */
static enum oa_error check_has_test(oa_context *c, const char *path, const json_t *fingerprint,
                                    const struct oa_run *run)
{
    bool wanted = json_object_get(fingerprint, OA_TEST_DATA) && !run->failed;
    if (wanted == run->test.made)
        return OA_OK;
    return oa_fail(c, OA_FORMAT, "%s: result %s scores on the test data; %s", path,
                   wanted ? "lacks" : "has unexpected", result_remedy);
}

enum oa_error oa_run_load(oa_context *c, const char *folder, const json_t *fingerprint,
                          const struct oa_options *o, const struct oa_task *task,
                          struct oa_run *run, bool *found)
{
    char path[OA_PATH];
    json_t *root;
    OA_TRY(oa_path(c, path, folder, "result.json"));
    *found = oa_file_exists(path);
    if (!*found)
        return OA_OK;
    *run = (struct oa_run){ 0 };
    OA_TRY(oa_checksummed_read(c, path, result_remedy, &root));
    enum oa_error e = oa_fingerprint_check(c, path, json_object_get(root, "fingerprint"),
                                           fingerprint, other_comparison);
    if (e == OA_OK)
        e = check_has_metric(c, path, root, o, task);
    if (e == OA_OK)
        e = read_run_json(c, path, root, task->measures, run);
    json_decref(root);
    OA_TRY(e);
    OA_TRY(oa_run_check(c, path, o, task, run));
    OA_TRY(check_has_test(c, path, fingerprint, run));
    OA_TRY(check_against_log(c, folder, path, task->measures, run));
    OA_TRY(check_against_pace(c, folder, path, run));
    OA_TRY(check_against_model(c, folder, path, run));
    OA_TRY(check_run_config(c, folder));
    OA_TRY(oa_run_items_load(c, folder, task->measures, run));
    return oa_run_check_begun(c, folder, fingerprint);
}

/* ---- beginning ---- */

bool oa_run_trained(oa_context *c, const char *folder, int depth)
{
    bool found = false;
    DIR *d = opendir(folder);
    if (!d && (errno == ENOENT || errno == ENOTDIR))
        return false;
    for (struct dirent *e; d && !found && (errno = 0, e = readdir(d));) {
        char below[OA_PATH];
        found = strcmp(e->d_name, "result.json") == 0 ||
                strcmp(e->d_name, "model.safetensors") == 0 ||
                strncmp(e->d_name, "checkpoint-", 11) == 0;
        if (!found && depth > 0 && e->d_name[0] != '.' &&
            snprintf(below, sizeof below, "%s/%s", folder, e->d_name) < OA_PATH)
            found = oa_run_trained(c, below, depth - 1);
    }
    if (!found && errno)
        found = oa_fail_folder(c, folder) != OA_OK;
    if (d)
        closedir(d);
    return found;
}

static enum oa_error check_run_json(oa_context *c, const char *path, const json_t *fingerprint,
                                    char *begun)
{
    json_t *before;
    if (!oa_file_exists(path))
        return oa_fail(
            c, OA_FORMAT,
            "%s is missing, so the origin of the checkpoints and models next to it is unknown; %s",
            path, other_comparison);
    OA_TRY(oa_checksummed_read(c, path, "remove the run's folder to train it again", &before));
    enum oa_error e = oa_fingerprint_check(c, path, json_object_get(before, "fingerprint"),
                                           fingerprint, other_comparison);
    copy_json_text(before, "machine", begun, MACHINE);
    json_decref(before);
    return e;
}

enum oa_error oa_run_check_begun(oa_context *c, const char *folder, const json_t *fingerprint)
{
    char path[OA_PATH], begun[MACHINE];
    OA_TRY(oa_path(c, path, folder, "run.json"));
    return oa_file_exists(path) ? check_run_json(c, path, fingerprint, begun) : OA_OK;
}

enum oa_error oa_run_begin(oa_context *c, const char *folder, json_t *fingerprint,
                           const char *machine, char *begun)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "run.json"));
    if (oa_run_trained(c, folder, 0))
        return check_run_json(c, path, fingerprint, begun);
    snprintf(begun, MACHINE, "%s", machine);
    OA_TRY(oa_directory_make(c, folder));
    json_t *root = json_pack("{s:O, s:s}", "fingerprint", fingerprint, "machine", machine);
    enum oa_error e = oa_checksummed_write(c, path, root);
    json_decref(root);
    return e;
}
