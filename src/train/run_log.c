/* SPDX-License-Identifier: Apache-2.0
 * log.jsonl, one object a line, and the loss curve that is made from it. A resumed run first
 * cuts away the lines that are newer than its checkpoint. */
#include "train/train.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
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

static enum oa_error add_curve_point(oa_context *c, struct oa_run *run,
                                     const struct oa_log_line *line)
{
    if (run->points == run->capacity)
        OA_TRY(oa_curve_reserve(c, run, 2 * run->capacity + 16));
    struct oa_curve_point *p = &run->curve[run->points++];
    *p = (struct oa_curve_point){ .step = line->step,
                                  .seconds = line->seconds,
                                  .tokens = line->tokens,
                                  .train_loss = line->loss,
                                  .valid_loss = line->valid_loss };
    memcpy(p->scores, line->scores, sizeof p->scores);
    return OA_OK;
}

enum { LINE = 1280, VALID = 640, RANKS = 128, EPOCHS = 256 };

/* ", \"valid_loss\": 1.5, \"accuracy\": 81.25" */
static void print_log_validation(const struct oa_log_line *line, char out[VALID])
{
    int n = 0;
    out[0] = 0;
    if (!isnan(line->valid_loss))
        n = snprintf(out, VALID, ", \"valid_loss\": %.17g", line->valid_loss);
    for (int i = 1; i < oa_measures_count(line->measures); i++)
        if (!isnan(line->scores[i]))
            n += snprintf(out + n, (size_t)(VALID - n), ", \"%.24s\": %.17g",
                          line->measures[i].name, line->scores[i]);
}

static size_t print_log_line(const struct oa_log_line *line, char out[LINE])
{
    char valid[VALID], ranks[RANKS] = "", epochs[EPOCHS] = "";
    int n = 0;
    print_log_validation(line, valid);
    if (line->rate > 0) /* of several ranks */
        snprintf(ranks, RANKS,
                 ", \"tokens_per_second\": %.6g, \"communication\": %.4f, "
                 "\"communication_hidden\": %.4f",
                 line->rate, line->waiting, line->hidden);
    for (int i = 0; i < line->corpora; i++)
        n += snprintf(epochs + n, (size_t)(EPOCHS - n), "%s%.6g%s", i ? ", " : ", \"epochs\": [",
                      line->epochs[i], i == line->corpora - 1 ? "]" : "");
    n = snprintf(out, LINE,
                 "{\"step\": %ld, \"loss\": %.17g%s, \"lr\": %.9g, \"gradient_norm\": %.9g, "
                 "\"seconds\": %.6f, \"tokens\": %.0f%s%s}\n",
                 line->step, line->loss, valid, line->lr, line->gradient_norm, line->seconds,
                 line->tokens, epochs, ranks);
    return (size_t)n;
}

enum oa_error oa_log_add(oa_context *c, const char *folder, const struct oa_log_line *line,
                         struct oa_run *run)
{
    OA_TRY(add_curve_point(c, run, line));
    if (!folder)
        return OA_OK;
    char path[OA_PATH], text[LINE];
    size_t length = print_log_line(line, text);
    OA_TRY(oa_path(c, path, folder, "log.jsonl"));
    return oa_file_append(c, path, text, length);
}

static double log_number(json_t *o, const char *key)
{
    json_t *x = json_object_get(o, key);
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

/* False when the line is not whole. */
static bool parse_log_line(const char *text, size_t length, const struct oa_measure *measures,
                           struct oa_log_line *line)
{
    json_t *o = json_loadb(text, length, 0, NULL);
    bool whole = json_is_integer(json_object_get(o, "step"));
    if (whole)
        *line = (struct oa_log_line){ .step = (long)json_integer_value(json_object_get(o, "step")),
                                      .loss = log_number(o, "loss"),
                                      .valid_loss = log_number(o, "valid_loss"),
                                      .lr = log_number(o, "lr"),
                                      .gradient_norm = log_number(o, "gradient_norm"),
                                      .seconds = log_number(o, "seconds"),
                                      .tokens = log_number(o, "tokens"),
                                      .rate = log_number(o, "tokens_per_second"),
                                      .waiting = log_number(o, "communication"),
                                      .hidden = log_number(o, "communication_hidden"),
                                      .measures = measures };
    const json_t *epochs = json_object_get(o, "epochs");
    for (size_t i = 0; whole && i < json_array_size(epochs) && i < OA_CORPORA; i++)
        line->epochs[line->corpora++] = json_number_value(json_array_get(epochs, i));
    for (int i = 1; whole && i < OA_MEASURES; i++)
        line->scores[i] =
            i < oa_measures_count(measures) ? log_number(o, measures[i].name) : (double)NAN;
    json_decref(o);
    return whole;
}

static enum oa_error read_log_file(oa_context *c, const char *folder, char path[OA_PATH],
                                   char **text, size_t *length)
{
    *text = NULL;
    *length = 0;
    OA_TRY(oa_path(c, path, folder, "log.jsonl"));
    return oa_file_exists(path) ? oa_file_read(c, path, text, length) : OA_OK;
}

/* Fills the curve from the whole lines up to `step`; returns the bytes of these. */
static size_t replay_lines(oa_context *c, const char *text, size_t length, long step,
                           const struct oa_measure *measures, struct oa_run *run)
{
    size_t kept = 0;
    for (const char *end; kept < length && (end = memchr(text + kept, '\n', length - kept));
         kept = (size_t)(end - text) + 1) {
        struct oa_log_line line;
        if (!parse_log_line(text + kept, (size_t)(end - text) - kept, measures, &line) ||
            line.step > step || add_curve_point(c, run, &line) != OA_OK)
            break;
    }
    return kept;
}

enum oa_error oa_log_read(oa_context *c, const char *folder, const struct oa_measure *measures,
                          struct oa_run *run)
{
    char path[OA_PATH], *text;
    size_t length;
    OA_TRY(read_log_file(c, folder, path, &text, &length));
    replay_lines(c, text, length, LONG_MAX, measures, run);
    oa_free(text);
    return oa_status(c);
}

static enum oa_error free_log_name(oa_context *c, const char *folder, char out[OA_PATH])
{
    enum { MOST = 10000 };
    char name[32];
    for (int i = 1; i < MOST; i++) {
        snprintf(name, sizeof name, "log.jsonl.%d", i);
        OA_TRY(oa_path(c, out, folder, name));
        if (!oa_file_exists(out))
            return OA_OK;
    }
    return oa_fail(c, OA_IO, "%s contains %d old logs (log.jsonl.1 …): remove some", folder,
                   MOST - 1);
}

enum oa_error oa_log_put_aside(oa_context *c, const char *folder)
{
    char path[OA_PATH], aside[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "log.jsonl"));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(free_log_name(c, folder, aside));
    if (rename(path, aside) != 0)
        return oa_fail(c, OA_IO, "cannot rename %s to %s: %s", path, aside, strerror(errno));
    oa_log(c, 0,
           "%s: there is no checkpoint to resume from, so the run starts again at step 1; the "
           "log of the lost steps is now %s",
           folder, aside);
    return OA_OK;
}

enum oa_error oa_log_rewind(oa_context *c, const char *folder, long step,
                            const struct oa_measure *measures, struct oa_run *run)
{
    char path[OA_PATH], *text;
    size_t length;
    OA_TRY(read_log_file(c, folder, path, &text, &length));
    size_t kept = replay_lines(c, text, length, step, measures, run);
    enum oa_error e = kept < length ? oa_file_write(c, path, text, kept) : OA_OK;
    oa_free(text);
    return e;
}

enum oa_error oa_log_complete(oa_context *c, const char *folder,
                              const struct oa_log_line *validated, struct oa_run *run)
{
    char path[OA_PATH], *text, printed[LINE];
    size_t length;
    struct oa_log_line line;
    struct oa_text changed;
    struct oa_curve_point *newest = &run->curve[run->points - 1];
    newest->valid_loss = validated->valid_loss;
    memcpy(newest->scores, validated->scores, sizeof newest->scores);
    OA_TRY(oa_path(c, path, folder, "log.jsonl"));
    OA_TRY(oa_file_read(c, path, &text, &length));
    const char *before = length ? memrchr(text, '\n', length - 1) : NULL;
    size_t start = before ? (size_t)(before - text) + 1 : 0; /* of the last line */
    enum oa_error e = OA_OK;
    oa_text_init(&changed, c);
    if (parse_log_line(text + start, length - start, validated->measures, &line)) {
        line.valid_loss = validated->valid_loss;
        memcpy(line.scores, validated->scores, sizeof line.scores);
        oa_text_add(&changed, text, start);
        oa_text_add(&changed, printed, print_log_line(&line, printed));
        e = oa_status(c) == OA_OK ? oa_file_write(c, path, changed.s, changed.length)
                                  : oa_status(c);
    }
    oa_text_free(&changed);
    oa_free(text);
    return e;
}
