/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a comparison: its results.json (docs/results.md), without members that pages of
 * evidence do not show, under a checksum. So a page can be made again from small files, without the
 * data and without the runs.
 */
#include "base/checksum.h"
#include "base/json_read.h"
#include "evidence/reading.h"
#include "report/until.h"

#include <math.h>
#include <string.h>

/* ---- the file ---- */

static const char remedy[] = "remove it to have it made again from the files of the comparison";

enum oa_error oa_variant_path(oa_context *c, const char *folder, const struct oa_variant *v,
                              const char *ending, char out[OA_PATH])
{
    char name[128], former[OA_PATH];
    snprintf(name, sizeof name, "%.90s%.30s", v->name, ending);
    OA_TRY(oa_path(c, out, folder, name));
    if (!v->only || oa_file_exists(out))
        return OA_OK;
    snprintf(name, sizeof name, OA_ONLY_VARIANT_FORMER "%.30s", ending);
    OA_TRY(oa_path(c, former, folder, name));
    if (oa_file_exists(former))
        memcpy(out, former, OA_PATH);
    return OA_OK;
}

/* Members of an entry and of a run that are long and not shown. */
static void leave_out(json_t *root)
{
    size_t i, r;
    json_t *entry, *run;
    json_object_del(root, "vary");
    json_array_foreach(json_object_get(root, "entries"), i, entry)
    {
        json_object_del(entry, "trajectory");
        json_object_del(json_object_get(entry, "tuning"), "cells");
        json_object_del(json_object_get(entry, "tuning"), "by_seed");
        json_array_foreach(json_object_get(entry, "runs"), r, run)
        {
            json_object_del(run, "curve");
            json_object_del(run, "examples");
            json_object_del(run, "breakdown");
        }
    }
}

enum oa_error oa_record_write(oa_context *c, const char *folder, const struct oa_variant *v)
{
    char results[OA_PATH], path[OA_PATH];
    json_t *root;
    OA_TRY(oa_variant_path(c, folder, v, "/results.json", results));
    OA_TRY(oa_variant_path(c, folder, v, ".json", path));
    OA_TRY(oa_json_read(c, results, NULL, &root));
    leave_out(root);
    enum oa_error e = oa_record_claim(c, folder, v, root);
    if (e == OA_OK)
        e = oa_checksummed_write(c, path, root);
    json_decref(root);
    return e;
}

enum oa_error oa_record_read(oa_context *c, const char *folder, const struct oa_experiment *e,
                             const struct oa_variant *v, json_t **out)
{
    char path[OA_PATH];
    *out = NULL;
    OA_TRY(oa_variant_path(c, folder, v, ".json", path));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_checksummed_read(c, path, remedy, out));
    enum oa_error code = oa_record_check(c, folder, e, v, path, *out);
    if (code == OA_OK)
        return OA_OK;
    json_decref(*out);
    *out = NULL;
    return code;
}

bool oa_record_complete(const json_t *record, const struct oa_options *o)
{
    const char *ending =
        json_string_value(json_object_get(json_object_get(record, "until_resolved"), "ending"));
    json_int_t seeds = json_integer_value(json_object_get(record, "seeds"));
    if (!ending)
        return seeds >= o->compare_seeds;
    if (strcmp(ending, oa_ending_name(OA_ENDING_SEEDS)) == 0)
        return seeds >= o->compare_max_seeds;
    return strcmp(ending, oa_ending_name(OA_ENDING_RESOLVED)) == 0;
}

/* ---- what is in it ---- */

static const json_t *entry_at(const json_t *record, int entry)
{
    return json_array_get(json_object_get(record, "entries"), (size_t)entry);
}

int oa_record_entry(const json_t *record, const char *attention)
{
    bool uniform = strcmp(attention, OA_CLAIMED_UNIFORM) == 0;
    for (int i = 0; entry_at(record, i); i++) {
        const char *name = json_string_value(json_object_get(entry_at(record, i), "attention"));
        bool is_uniform = json_is_true(json_object_get(entry_at(record, i), "floor"));
        if (uniform ? is_uniform : !is_uniform && name && strcmp(name, attention) == 0)
            return i;
    }
    return -1;
}

static const json_t *measure_at(const json_t *record)
{
    const char *metric = json_string_value(json_object_get(record, "metric"));
    const json_t *list = json_object_get(record, "measures");
    for (size_t i = 0; metric && i < json_array_size(list); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
        if (name && strcmp(name, metric) == 0)
            return json_array_get(list, i);
    }
    return NULL;
}

/* Shares in percent differ by percentage points. */
static const char *difference_unit(const json_t *measure)
{
    const char *unit = json_string_value(json_object_get(measure, "unit"));
    return !unit ? "" : strcmp(unit, "%") == 0 ? "% points" : unit;
}

static double recorded_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

struct oa_record_measure oa_record_measure_of(const json_t *record)
{
    const json_t *m = measure_at(record);
    if (!m) /* of a language model the loss alone */
        return (struct oa_record_measure){
            .name = "loss", .unit = "nats a token", .decimals = 4, .best = NAN
        };
    return (struct oa_record_measure){ .name = json_string_value(json_object_get(m, "name")),
                                       .unit = difference_unit(m),
                                       .decimals =
                                           (int)json_integer_value(json_object_get(m, "decimals")),
                                       .higher =
                                           json_is_true(json_object_get(m, "higher_is_better")),
                                       .best = recorded_number(m, "best") };
}

static struct oa_estimate record_estimate(const json_t *object)
{
    struct oa_estimate e = { .n = (int)json_integer_value(json_object_get(object, "n")),
                             .mean = recorded_number(object, "mean") };
    e.sd = recorded_number(object, "sd");
    e.half = recorded_number(object, "high") - e.mean;
    return e;
}

/* The first measure, the loss, is not among "scores". */
static bool about_loss(const json_t *record)
{
    return strcmp(oa_record_measure_of(record).name, "loss") == 0;
}

struct oa_estimate oa_record_score(const json_t *record, int entry)
{
    const json_t *s = json_object_get(entry_at(record, entry), "statistics");
    if (about_loss(record))
        return record_estimate(json_object_get(s, "loss"));
    return record_estimate(
        json_object_get(json_object_get(s, "scores"), oa_record_measure_of(record).name));
}

int oa_record_runs(const json_t *record, int entry)
{
    return (int)json_array_size(json_object_get(entry_at(record, entry), "runs"));
}

static const json_t *recorded_run(const json_t *record, int entry, int run, json_int_t *seed)
{
    const json_t *r = json_array_get(json_object_get(entry_at(record, entry), "runs"), (size_t)run);
    *seed = json_integer_value(json_object_get(r, "seed"));
    return json_is_true(json_object_get(r, "failed")) ? NULL : r;
}

double oa_record_loss(const json_t *record, int entry, int run, json_int_t *seed)
{
    return recorded_number(recorded_run(record, entry, run, seed), "valid_loss");
}

double oa_record_run(const json_t *record, int entry, int run, json_int_t *seed)
{
    const json_t *r = recorded_run(record, entry, run, seed);
    return about_loss(record)
               ? recorded_number(r, "valid_loss")
               : recorded_number(json_object_get(r, "scores"), oa_record_measure_of(record).name);
}

int oa_record_whole(const json_t *record)
{
    const json_t *baseline = json_object_get(record, "baseline");
    return json_is_integer(baseline) ? (int)json_integer_value(baseline)
                                     : oa_record_entry(record, "softmax");
}

/* ---- speeds ---- */

static int read_rounds(const json_t *record, int entry, double out[OA_MOST_ROUNDS])
{
    const json_t *list = json_object_get(entry_at(record, entry), "step_seconds");
    int n = 0;
    for (; n < OA_MOST_ROUNDS && (size_t)n < json_array_size(list); n++)
        out[n] = json_number_value(json_array_get(list, (size_t)n));
    return n;
}

struct oa_range oa_record_speed(const json_t *record, int a, int b)
{
    double mine[OA_MOST_ROUNDS], theirs[OA_MOST_ROUNDS];
    int n = read_rounds(record, a, mine);
    return oa_ratio_of(theirs, mine, read_rounds(record, b, theirs) == n ? n : 0);
}

/* ---- cost ---- */

/* Members that a diverged run lacks count as 0. */
static void record_add_cost(const json_t *object, double runs, struct oa_record_cost *sum)
{
    double flops = recorded_number(object, "flops"),
           seconds = recorded_number(object, "processor_seconds");
    sum->runs += runs;
    sum->flops += isfinite(flops) ? flops : 0;
    sum->processor_seconds += isfinite(seconds) ? seconds : 0;
}

struct oa_record_cost oa_record_cost_of(const json_t *record)
{
    const json_t *tuning = json_object_get(json_object_get(record, "tuning"), "cost");
    struct oa_record_cost sum = { 0 };
    size_t i, r;
    json_t *entry, *run;
    json_array_foreach(json_object_get(record, "entries"), i, entry)
    {
        json_array_foreach(json_object_get(entry, "runs"), r, run)
        {
            record_add_cost(run, 1, &sum);
        }
    }
    if (json_is_object(tuning))
        record_add_cost(tuning, recorded_number(tuning, "runs"), &sum);
    return sum;
}
