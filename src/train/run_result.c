/* SPDX-License-Identifier: Apache-2.0
 * A finished run as JSON, and back: what a contest keeps of it when it goes on after an interruption. */
#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *key;
    size_t offset;
} fields[] = {
    { "tokens", offsetof(struct oa_run, tokens) },
    { "valid_loss", offsetof(struct oa_run, valid_loss) },
    { "perplexity", offsetof(struct oa_run, perplexity) },
    { "bits_per_character", offsetof(struct oa_run, bits_per_character) },
    { "bits_per_byte", offsetof(struct oa_run, bits_per_byte) },
    { "seconds", offsetof(struct oa_run, seconds) },
    { "seconds_per_step", offsetof(struct oa_run, seconds_per_step) },
    { "tokens_per_second", offsetof(struct oa_run, tokens_per_second) },
    { "flops", offsetof(struct oa_run, flops) },
    { "flops_per_step", offsetof(struct oa_run, flops_per_step) },
    { "peak_memory", offsetof(struct oa_run, peak_memory) },
};
enum { FIELDS = sizeof fields / sizeof *fields };

static double *field(struct oa_run *run, int i)
{
    return (double *)(void *)((char *)run + fields[i].offset);
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static double value(json_t *x)
{
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static json_t *curve_json(const struct oa_run *run)
{
    json_t *curve = json_array();
    for (int i = 0; i < run->points; i++) {
        const struct oa_curve_point *p = &run->curve[i];
        json_t *point = json_array();
        json_array_append_new(point, json_integer(p->step));
        json_array_append_new(point, number(p->seconds));
        json_array_append_new(point, number(p->tokens));
        json_array_append_new(point, number(p->train_loss));
        json_array_append_new(point, number(p->valid_loss));
        json_array_append_new(curve, point);
    }
    return curve;
}

enum oa_error oa_run_save(oa_context *c, const struct oa_run *run, const char *path)
{
    json_t *o = json_object();
    json_object_set_new(o, "seed", json_integer((json_int_t)run->seed));
    json_object_set_new(o, "steps", json_integer(run->steps));
    for (int i = 0; i < FIELDS; i++)
        json_object_set_new(o, fields[i].key, number(*field((struct oa_run *)(uintptr_t)run, i)));
    json_object_set_new(o, "failed", json_boolean(run->failed));
    json_object_set_new(o, "failure", json_string(run->failure));
    json_object_set_new(o, "curve", curve_json(run));
    char *text = json_dumps(o, JSON_REAL_PRECISION(17));
    json_decref(o);
    if (!text)
        return oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    enum oa_error e = oa_file_write(c, path, text, strlen(text));
    free(text);
    return e;
}

static enum oa_error read_curve(oa_context *c, json_t *curve, struct oa_run *run)
{
    size_t n = json_array_size(curve);
    OA_TRY(oa_curve_reserve(c, run, (int)n));
    for (size_t i = 0; i < n; i++) {
        json_t *p = json_array_get(curve, i);
        run->curve[run->points++] = (struct oa_curve_point){ .step = (long)value(json_array_get(p, 0)),
                                                             .seconds = value(json_array_get(p, 1)),
                                                             .tokens = value(json_array_get(p, 2)),
                                                             .train_loss = value(json_array_get(p, 3)),
                                                             .valid_loss = value(json_array_get(p, 4)) };
    }
    return OA_OK;
}

enum oa_error oa_run_load(oa_context *c, struct oa_run *run, const char *path)
{
    char *text;
    size_t length;
    json_error_t where;
    *run = (struct oa_run){ 0 };
    OA_TRY(oa_file_read(c, path, &text, &length));
    json_t *o = json_loadb(text, length, 0, &where);
    oa_free(text);
    if (!json_is_object(o)) {
        json_decref(o);
        return oa_fail(c, OA_FORMAT, "%s: not the result of a run; remove it to train that run again", path);
    }
    run->seed = (uint64_t)json_integer_value(json_object_get(o, "seed"));
    run->steps = (long)json_integer_value(json_object_get(o, "steps"));
    for (int i = 0; i < FIELDS; i++)
        *field(run, i) = value(json_object_get(o, fields[i].key));
    run->failed = json_is_true(json_object_get(o, "failed"));
    const char *failure = json_string_value(json_object_get(o, "failure"));
    snprintf(run->failure, sizeof run->failure, "%s", failure ? failure : "");
    enum oa_error e = read_curve(c, json_object_get(o, "curve"), run);
    json_decref(o);
    return e;
}

void oa_run_free(struct oa_run *run)
{
    oa_free(run->curve);
    run->curve = NULL;
    run->points = run->capacity = 0;
}
