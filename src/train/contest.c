/* SPDX-License-Identifier: Apache-2.0
 * A contest: N attentions × S seeds under one budget. All runs share text, tokenizer and options; batches and the first
 * values of shared tensors depend on the seed and on names only (named random streams), so runs of one seed differ by
 * the attention and by nothing else. Runs are ordered seed by seed. A run that is done leaves result.json in its
 * folder, one that was interrupted its checkpoint: starting the same contest again goes on from there.
 *
 * Equal budgets: tokens: as many steps; params: the feed-forward width is chosen so that the number of trainable
 * parameters is that of the first attention; flops, time: as many steps as the first attention's budget pays for. */
#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALIBRATION_STEPS = 24 };

struct contest {
    oa_context *c;
    const struct oa_contest_request *r;
    struct oa_contest *out;
    struct oa_workload workload;
    long *steps, *ffn; /* of each attention: what makes the budgets equal */
};

static struct oa_options entry_options(const struct contest *t, int entry, int seed)
{
    struct oa_options o = *t->r->options;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", t->out->entries[entry].attention);
    o.train_seed += seed;
    o.train_steps = t->steps[entry];
    o.model_ffn = t->ffn[entry];
    return o;
}

/* ---- entries ---- */

static enum oa_error canonical(struct contest *t, const char *text, char **out)
{
    struct oa_spec spec;
    struct oa_text printed;
    enum oa_error e = oa_spec_parse(t->c, text, &spec);
    oa_text_init(&printed, t->c);
    if (e == OA_OK) {
        oa_spec_print(&spec, &printed);
        *out = oa_copy_text(t->c, printed.s ? printed.s : "");
        if (!*out)
            e = OA_NO_MEMORY;
        else if (strlen(*out) >= OA_OPTION_TEXT)
            e = oa_fail(t->c, OA_ARGUMENT, "the attention \"%.60s…\" is longer than %d characters", *out,
                        OA_OPTION_TEXT - 1);
    }
    oa_text_free(&printed);
    oa_spec_free(&spec);
    return e;
}

static enum oa_error check_distinct(struct contest *t, int last)
{
    for (int i = 0; i < last; i++)
        if (strcmp(t->out->entries[i].attention, t->out->entries[last].attention) == 0)
            return oa_fail(t->c, OA_ARGUMENT, "the attention \"%s\" takes part twice", t->out->entries[i].attention);
    return OA_OK;
}

/* Parameters of each entry, from the plan device: this also refuses impossible combinations before anything runs. */
static enum oa_error make_entries(struct contest *t)
{
    struct oa_contest *out = t->out;
    int count = t->r->count, seeds = (int)t->r->options->compare_seeds;
    out->entries = oa_alloc(t->c, (size_t)count * sizeof *out->entries);
    t->steps = oa_alloc(t->c, (size_t)count * sizeof *t->steps);
    t->ffn = oa_alloc(t->c, (size_t)count * sizeof *t->ffn);
    if (!out->entries || !t->steps || !t->ffn)
        return OA_NO_MEMORY;
    out->seeds = seeds;
    while (out->count < count) {
        int i = out->count++;
        struct oa_entry *e = &out->entries[i];
        e->runs = oa_alloc(t->c, (size_t)seeds * sizeof *e->runs);
        if (!e->runs)
            return OA_NO_MEMORY;
        OA_TRY(canonical(t, t->r->attentions[i], &e->attention));
        OA_TRY(check_distinct(t, i));
        t->steps[i] = t->r->options->train_steps;
        t->ffn[i] = t->r->options->model_ffn ? t->r->options->model_ffn : 4 * t->r->options->model_width;
    }
    return OA_OK;
}

static enum oa_error plan_entry(struct contest *t, int entry, struct oa_plan *plan)
{
    struct oa_options o = entry_options(t, entry, 0);
    OA_TRY(oa_plan_make(t->c, &o, oa_tokenizer_size(t->workload.tokenizer), plan));
    t->out->entries[entry].trainable = plan->trainable;
    t->out->entries[entry].frozen = plan->frozen;
    return OA_OK;
}

/* ---- equal budgets ---- */

/* Parameters grow linearly with the feed-forward width: two plans give the line, a third checks it. */
static enum oa_error equal_params(struct contest *t, int entry, double wanted)
{
    struct oa_plan narrow, wide;
    long ffn = t->ffn[0];
    t->ffn[entry] = ffn;
    OA_TRY(plan_entry(t, entry, &narrow));
    t->ffn[entry] = ffn + 1;
    OA_TRY(plan_entry(t, entry, &wide));
    double width = (double)ffn + (wanted - narrow.trainable) / (wide.trainable - narrow.trainable);
    if (width < 1)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "--equal params: \"%s\" has more parameters than \"%s\" even with the narrowest feed-forward layer; "
            "put it first, or shrink its tables",
            t->out->entries[entry].attention, t->out->entries[0].attention);
    t->ffn[entry] = lround(width);
    return plan_entry(t, entry, &narrow);
}

static enum oa_error step_time(struct contest *t, int entry, double *seconds)
{
    struct oa_options o = entry_options(t, entry, 0);
    struct oa_run run;
    o.train_steps = CALIBRATION_STEPS;
    o.train_eval_tokens = o.model_context;
    struct oa_train_request r = { .options = &o, .workload = &t->workload, .title = "timing a step" };
    enum oa_error e = oa_train_run(t->c, &r, &run);
    *seconds = run.seconds_per_step;
    oa_run_free(&run);
    return e;
}

/* Steps that the budget of the first attention (`first` a step) pays for, at `cost` a step. */
static long affordable(const struct contest *t, double first, double cost)
{
    return (long)fmax(1, round((double)t->steps[0] * first / cost));
}

static enum oa_error equalise(struct contest *t)
{
    const char *equal = t->r->options->compare_equal;
    struct oa_plan first, plan;
    double first_time = 0, time;
    OA_TRY(plan_entry(t, 0, &first));
    if (strcmp(equal, "time") == 0)
        OA_TRY(step_time(t, 0, &first_time));
    for (int i = 1; i < t->out->count; i++) {
        OA_TRY(plan_entry(t, i, &plan));
        if (strcmp(equal, "params") == 0)
            OA_TRY(equal_params(t, i, first.trainable));
        if (strcmp(equal, "flops") == 0)
            t->steps[i] = affordable(t, first.flops, plan.flops);
        if (strcmp(equal, "time") == 0) {
            OA_TRY(step_time(t, i, &time));
            t->steps[i] = affordable(t, first_time, time);
        }
    }
    return OA_OK;
}

/* ---- the contest's own file: what it is, so that going on goes on with the same thing ---- */

static json_t *contest_json(const struct contest *t)
{
    json_t *root = json_object(), *names = json_array(), *steps = json_array(), *ffn = json_array();
    for (int i = 0; i < t->out->count; i++) {
        json_array_append_new(names, json_string(t->out->entries[i].attention));
        json_array_append_new(steps, json_integer(t->steps[i]));
        json_array_append_new(ffn, json_integer(t->ffn[i]));
    }
    json_object_set_new(root, "attentions", names);
    json_object_set_new(root, "options", json_loads(t->out->options_json, 0, NULL));
    json_object_set_new(root, "steps", steps);
    json_object_set_new(root, "ffn", ffn);
    return root;
}

static enum oa_error save_contest(const struct contest *t, const char *path)
{
    json_t *root = contest_json(t);
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    json_decref(root);
    if (!text)
        return oa_fail(t->c, OA_NO_MEMORY, "%s: out of memory", path);
    enum oa_error e = oa_file_write(t->c, path, text, strlen(text));
    free(text);
    return e;
}

static bool same(json_t *a, json_t *b, const char *key)
{
    return json_equal(json_object_get(a, key), json_object_get(b, key));
}

static enum oa_error go_on(struct contest *t, const char *path)
{
    char *text;
    size_t length;
    OA_TRY(oa_file_read(t->c, path, &text, &length));
    json_t *old = json_loadb(text, length, 0, NULL), *new = contest_json(t);
    oa_free(text);
    enum oa_error e = OA_OK;
    if (!old || !same(old, new, "attentions") || !same(old, new, "options"))
        e = oa_fail(
            t->c, OA_ARGUMENT,
            "%s: another contest was begun in this folder (other attentions or options); give another --out, or "
            "remove the folder",
            path);
    for (int i = 0; e == OA_OK && i < t->out->count; i++) {
        struct oa_plan plan;
        t->steps[i] = (long)json_integer_value(json_array_get(json_object_get(old, "steps"), (size_t)i));
        t->ffn[i] = (long)json_integer_value(json_array_get(json_object_get(old, "ffn"), (size_t)i));
        e = plan_entry(t, i, &plan);
    }
    json_decref(old);
    json_decref(new);
    return e;
}

static enum oa_error settle_budgets(struct contest *t)
{
    char path[OA_PATH];
    OA_TRY(oa_path(t->c, path, t->r->folder, "contest.json"));
    if (oa_file_exists(path))
        return go_on(t, path);
    OA_TRY(equalise(t));
    return save_contest(t, path);
}

/* ---- the runs ---- */

static enum oa_error run_folder(const struct contest *t, int entry, int seed, char out[OA_PATH])
{
    char name[64];
    snprintf(name, sizeof name, "runs/attention-%02d/seed-%ld", entry + 1, t->r->options->train_seed + seed);
    return oa_path(t->c, out, t->r->folder, name);
}

/* A run that diverges is a result and is reported as one; any other failure ends the contest. */
static enum oa_error train(struct contest *t, int entry, int seed, const char *folder, struct oa_run *run)
{
    struct oa_options o = entry_options(t, entry, seed);
    struct oa_train_request r = { .options = &o,
                                  .workload = &t->workload,
                                  .folder = folder,
                                  .resume = true,
                                  .title = t->out->entries[entry].attention,
                                  .run = seed * t->out->count + entry + 1,
                                  .runs = (long)t->out->count * t->out->seeds };
    enum oa_error e = oa_train_run(t->c, &r, run);
    if (e != OA_DIVERGED)
        return e;
    const char *why;
    oa_last_error(t->c, &why);
    run->failed = true;
    run->seed = (uint64_t)o.train_seed;
    snprintf(run->failure, sizeof run->failure, "%s", why);
    oa_clear_error(t->c);
    oa_log(t->c, 0, "%s, seed %ld: %s", t->out->entries[entry].attention, o.train_seed, run->failure);
    return OA_OK;
}

static enum oa_error one_run(struct contest *t, int entry, int seed)
{
    char folder[OA_PATH], path[OA_PATH];
    struct oa_run *run = &t->out->entries[entry].runs[seed];
    OA_TRY(run_folder(t, entry, seed, folder));
    OA_TRY(oa_path(t->c, path, folder, "result.json"));
    if (oa_file_exists(path))
        return oa_run_load(t->c, run, path);
    OA_TRY(train(t, entry, seed, folder, run));
    return oa_run_save(t->c, run, path);
}

static enum oa_error all_runs(struct contest *t)
{
    for (int seed = 0; seed < t->out->seeds; seed++)
        for (int entry = 0; entry < t->out->count; entry++)
            OA_TRY(one_run(t, entry, seed));
    return OA_OK;
}

/* ---- what ran where ---- */

static char *machine_json(oa_context *c)
{
    const struct oa_cpu *cpu = oa_context_cpu(c);
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    struct oa_kernels k;
    oa_kernels_init(&k, OA_PRECISION_F32, oa_context_isa(c), cpu);
    json_t *o =
        json_pack("{s:s, s:i, s:i, s:s, s:s, s:I, s:s, s:s}", "processor", cpu->name, "cores", cpu->cores, "threads",
                  oa_thread_count(c), "isa", oa_isa_name(oa_context_isa(c)), "products", k.gemm_name ? k.gemm_name : "",
                  "memory", (json_int_t)cpu->memory, "orthant", oa_version(), "date", date);
    char *text = json_dumps(o, 0), *copy = text ? oa_copy_text(c, text) : NULL;
    free(text);
    json_decref(o);
    return copy;
}

static enum oa_error describe(struct contest *t)
{
    struct oa_text options;
    oa_text_init(&options, t->c);
    oa_options_json(t->r->options, &options);
    t->out->options_json = oa_copy_text(t->c, options.s ? options.s : "{}");
    oa_text_free(&options);
    t->out->machine_json = machine_json(t->c);
    snprintf(t->out->equal, sizeof t->out->equal, "%.15s", t->r->options->compare_equal);
    t->out->characters = (double)t->workload.corpus.valid.characters;
    t->out->bytes = (double)t->workload.corpus.valid.bytes;
    t->out->valid_tokens = (double)t->workload.corpus.valid.count;
    return oa_status(t->c);
}

static enum oa_error hold(struct contest *t)
{
    OA_TRY(oa_workload_open(t->c, t->r->options, &t->workload));
    if (!t->workload.corpus.valid.count)
        return oa_fail(t->c, OA_ARGUMENT,
                       "a contest needs validation text: give data.valid or data.valid_fraction > 0");
    OA_TRY(describe(t));
    OA_TRY(make_entries(t));
    OA_TRY(oa_directory_make(t->c, t->r->folder));
    OA_TRY(settle_budgets(t));
    return all_runs(t);
}

enum oa_error oa_contest_run(oa_context *c, const struct oa_contest_request *r, struct oa_contest *out)
{
    struct contest t = { .c = c, .r = r, .out = out };
    *out = (struct oa_contest){ 0 };
    enum oa_error e = r->count > 0 ? hold(&t) : oa_fail(c, OA_ARGUMENT, "a contest needs at least one --attention");
    oa_workload_close(&t.workload);
    oa_free(t.steps);
    oa_free(t.ffn);
    return e;
}

void oa_contest_free(struct oa_contest *contest)
{
    for (int i = 0; i < contest->count; i++) {
        for (int s = 0; contest->entries[i].runs && s < contest->seeds; s++)
            oa_run_free(&contest->entries[i].runs[s]);
        oa_free(contest->entries[i].runs);
        oa_free(contest->entries[i].attention);
    }
    oa_free(contest->entries);
    oa_free(contest->options_json);
    oa_free(contest->machine_json);
    *contest = (struct oa_contest){ 0 };
}
