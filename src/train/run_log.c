/* SPDX-License-Identifier: Apache-2.0
 * log.jsonl, one object a line, and the loss curve that is made from it. A run that goes on first cuts away the lines
 * that are newer than its checkpoint, so that the log reads as if nothing had happened. */
#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum oa_error oa_curve_reserve(oa_context *c, struct oa_run *run, int capacity)
{
    if (capacity <= run->capacity)
        return OA_OK;
    size_t one = sizeof *run->curve;
    void *grown = oa_grow(c, run->curve, (size_t)run->capacity * one, (size_t)capacity * one);
    if (!grown)
        return OA_NO_MEMORY;
    run->curve = grown;
    run->capacity = capacity;
    return OA_OK;
}

static enum oa_error add_point(oa_context *c, struct oa_run *run, const struct oa_log_line *line)
{
    if (run->points == run->capacity)
        OA_TRY(oa_curve_reserve(c, run, 2 * run->capacity + 16));
    run->curve[run->points++] = (struct oa_curve_point){ .step = line->step,
                                                         .seconds = line->seconds,
                                                         .tokens = line->tokens,
                                                         .train_loss = line->loss,
                                                         .valid_loss = line->valid_loss };
    return OA_OK;
}

enum oa_error oa_log_add(oa_context *c, const char *folder, const struct oa_log_line *line, struct oa_run *run)
{
    OA_TRY(add_point(c, run, line));
    if (!folder)
        return OA_OK;
    char path[OA_PATH], text[512], valid[64] = "";
    if (!isnan(line->valid_loss))
        snprintf(valid, sizeof valid, ", \"valid_loss\": %.17g", line->valid_loss);
    int n = snprintf(text, sizeof text,
                     "{\"step\": %ld, \"loss\": %.17g%s, \"lr\": %.9g, \"gradient_norm\": %.9g, \"seconds\": %.6f, "
                     "\"tokens\": %.0f}\n",
                     line->step, line->loss, valid, line->lr, line->gradient_norm, line->seconds, line->tokens);
    OA_TRY(oa_path(c, path, folder, "log.jsonl"));
    return oa_file_append(c, path, text, (size_t)n);
}

static double number(json_t *o, const char *key)
{
    json_t *x = json_object_get(o, key);
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

/* Parses one line into the curve; false when it is newer than `step` or not whole. */
static bool keep_line(oa_context *c, const char *text, size_t length, long step, struct oa_run *run)
{
    json_t *o = json_loadb(text, length, 0, NULL);
    if (!json_is_object(o)) {
        json_decref(o);
        return false;
    }
    struct oa_log_line line = { .step = (long)number(o, "step"),
                                .loss = number(o, "loss"),
                                .valid_loss = number(o, "valid_loss"),
                                .seconds = number(o, "seconds"),
                                .tokens = number(o, "tokens") };
    json_decref(o);
    return line.step <= step && add_point(c, run, &line) == OA_OK;
}

enum oa_error oa_log_rewind(oa_context *c, const char *folder, long step, struct oa_run *run)
{
    char path[OA_PATH], *text;
    size_t length, kept = 0;
    OA_TRY(oa_path(c, path, folder, "log.jsonl"));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_file_read(c, path, &text, &length));
    for (char *end; (end = memchr(text + kept, '\n', length - kept)); kept = (size_t)(end - text) + 1)
        if (!keep_line(c, text + kept, (size_t)(end - text) - kept, step, run))
            break;
    enum oa_error e = kept < length ? oa_file_write(c, path, text, kept) : OA_OK;
    oa_free(text);
    return e;
}
