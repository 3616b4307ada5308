/* SPDX-License-Identifier: Apache-2.0
 * Checks of a comparison before anything is trained: options that have another meaning or no effect
 * in a comparison, or would weaken its verdicts; entries and baseline; limits on seeds and time.
 * Also the metadata recorded next to the runs. */
#include "compare/comparison_session.h"
#include "device/device_list.h"
#include "train/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- options ---- */

/* Runs that learn from a teacher start from it, and have all learned on as many tokens. */
static enum oa_error check_distillation(const struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    if (!*o->distil_teacher)
        return OA_OK;
    if (strcmp(o->distil_teacher, o->train_init) != 0)
        return oa_fail(t->c, OA_ARGUMENT,
                       "distil.teacher = %s, but train.init = %s: runs of a comparison learn from "
                       "the run that they start from; give --init %s",
                       o->distil_teacher, *o->train_init ? o->train_init : "\"\"",
                       o->distil_teacher);
    if (o->distil_learn != OA_LEARN_OUTPUT)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "distil.learn = attention is the first stage alone: leave it out, and choose "
            "its length with distil.attention_steps");
    if (o->compare_equal == OA_EQUAL_PARAMS)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.equal = params cannot be combined with distil.teacher: it changes "
                       "model.ffn, and tensors of the teacher would not fit; use tokens");
    if (o->compare_equal != OA_EQUAL_TOKENS)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "compare.equal = %s cannot be combined with distil.teacher: the attention of "
            "the teacher has no first stage and the others have one, which this budget "
            "does not count; use tokens, which are those of the second stage, and read "
            "those of the first in the report",
            oa_option_word("compare.equal", (int)o->compare_equal).s);
    if (*o->compare_tune)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "compare.tune cannot be combined with distil.teacher: trials are runs of the "
            "second stage alone, and what is best for them need not be after the first; "
            "leave it out, or compare several settings as comparisons of their own");
    return OA_OK;
}

static enum oa_error check_time_options(const struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    if (*o->train_pace)
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.pace repeats a single run: use it with orthant train");
    OA_TRY(check_distillation(t));
    OA_TRY(oa_check_training_data(t->c, o));
    if (oa_comparison_by_time(t) && o->compare_jobs > 1)
        oa_log(t->c, 0,
               "compare.jobs = %ld has no effect with --equal time, which trains one run at a time",
               o->compare_jobs);
    if (o->train_seconds > 0 && !oa_comparison_by_time(t))
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.seconds = %s needs --equal time, but compare.equal is %s",
                       oa_real_text(o->train_seconds).s,
                       oa_option_word("compare.equal", (int)o->compare_equal).s);
    return OA_OK;
}

/* The seed of a source that does not follow train.seed; -1: it does. */
static long fixed_seed(const struct oa_options *o, enum oa_chance s)
{
    return s == OA_CHANCE_INIT      ? o->train_seed_init
           : s == OA_CHANCE_ORDER   ? o->train_seed_order
           : s == OA_CHANCE_DROPOUT ? o->train_seed_dropout
                                    : -1;
}

/* A source of randomness that does not follow the seed makes intervals narrower than they seem. */
static void log_fixed_sources(const struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    bool dropout = o->model_dropout > 0 || o->model_attention_dropout > 0;
    for (enum oa_chance s = OA_CHANCE_INIT; s <= OA_CHANCE_DROPOUT; s++)
        if (fixed_seed(o, s) >= 0 && (s != OA_CHANCE_DROPOUT || dropout))
            oa_log(
                t->c, 0,
                "train.seed_%s = %ld: %s will be the same with every seed, and not in the spread",
                oa_chance_name(s), fixed_seed(o, s), oa_chance_title(s));
}

static enum oa_error check_seed_options(const struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    long seeds = o->compare_until_resolved ? o->compare_max_seeds : o->compare_seeds;
    if (o->train_seed > OA_LAST_SEED - seeds + 1)
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.seed = %ld with %ld seeds exceeds %ld, the largest seed that JSON "
                       "readers keep exact: give a smaller train.seed",
                       o->train_seed, seeds, OA_LAST_SEED);
    if (seeds > 1 && o->train_seed_init >= 0 && o->train_seed_order >= 0)
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.seed_init and train.seed_order fix all that the %ld seeds are to "
                       "vary: leave one of them out",
                       seeds);
    if (seeds > 1)
        log_fixed_sources(t);
    return OA_OK;
}

/* task NULL: refused with the data. */
static enum oa_error check_items_option(const struct comparison_session *t,
                                        const struct oa_task *task, int metric)
{
    const struct oa_options *o = t->r->options;
    if (o->compare_items != OA_ITEMS_RANDOM || !task)
        return OA_OK;
    if (!oa_task_has_items(task, metric))
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.items = random needs a measure that is a mean over items, which %s "
                       "is not: give compare.items fixed, or another compare.metric",
                       task->measures[metric].name);
    if (o->compare_sequential || o->compare_until_resolved)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.items = random needs a number of seeds fixed in advance: leave out "
                       "compare.%s, whose intervals are over seeds",
                       o->compare_until_resolved ? "until_resolved" : "sequential");
    return OA_OK;
}

enum oa_error oa_comparison_check_options(struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    const struct oa_task *task = oa_task_find(o->data_task); /* NULL is refused with the data */
    int metric = 0;
    OA_TRY(check_time_options(t));
    if (task) {
        OA_TRY(oa_metric_choose(t->c, task, o->compare_metric, &metric));
        OA_TRY(oa_threshold_read(t->c, o, task, &t->out->threshold));
    }
    OA_TRY(check_items_option(t, task, metric));
    if (o->train_keep_best || o->train_patience > 0)
        return oa_fail(t->c, OA_ARGUMENT,
                       "train.%s selects by the validation text that the verdicts are about, and "
                       "makes budgets unequal: leave it out of a comparison",
                       o->train_keep_best ? "keep_best" : "patience");
    OA_TRY(oa_average_check(t->c, o, t->r->folder));
    OA_TRY(check_seed_options(t));
    return oa_comparison_tune_read(t);
}

/* ---- metadata recorded next to the runs ---- */

static char *machine_json(oa_context *c)
{
    const struct oa_cpu *cpu = oa_context_cpu(c);
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    struct oa_kernels k;
    oa_kernels_init(&k, OA_PRECISION_F32, oa_context_isa(c), cpu);
    char device[OA_DEVICE_LABEL];
    oa_device_label(c, device);
    json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:I, s:s, s:s}", "device",
                          device[0] ? device : "cpu", "processor", cpu->name, "cores", cpu->cores,
                          "threads", oa_thread_count(c), "isa", oa_isa_name(oa_context_isa(c)),
                          "products", k.gemm_name ? k.gemm_name : "", "memory",
                          (json_int_t)cpu->memory, "orthant", oa_version(), "date", date);
    char *text = json_dumps(o, 0), *copy = text ? oa_copy_text(c, text) : NULL;
    free(text);
    json_decref(o);
    return copy;
}

/* Without tuned options, of which each attention has its own. */
static char *shared_options_json(const struct comparison_session *t,
                                 const struct oa_options *settled)
{
    struct oa_text text;
    oa_text_init(&text, t->c);
    oa_options_json(settled, &text);
    json_t *sections = text.s ? json_loads(text.s, 0, NULL) : NULL;
    for (int i = 0; i < t->out->tuning.grid.options; i++) {
        const char *key = t->out->tuning.grid.option[i].key, *name = strchr(key, '.') + 1;
        char section[OA_GRID_KEY];
        snprintf(section, sizeof section, "%.*s", (int)(name - 1 - key), key);
        json_object_del(json_object_get(sections, section), name);
    }
    char *dump = json_dumps(sections, 0), *copy = oa_copy_text(t->c, dump ? dump : "{}");
    free(dump);
    json_decref(sections);
    oa_text_free(&text);
    return copy;
}

static bool is_tuned(const struct oa_grid *g, const char *key)
{
    for (int i = 0; i < g->options; i++)
        if (strcmp(g->option[i].key, key) == 0)
            return true;
    return false;
}

/* A dropout that is tuned may be above 0 in any run. */
static void record_fixed_sources(const struct oa_options *o, struct oa_comparison *out)
{
    const struct oa_grid *g = &out->tuning.grid;
    bool own = is_tuned(g, "model.attention_dropout");
    bool dropout = own || is_tuned(g, "model.dropout") || o->model_dropout > 0 ||
                   o->model_attention_dropout > 0;
    for (enum oa_chance s = OA_CHANCE_INIT; s <= OA_CHANCE_DROPOUT; s++) {
        out->source[s].seed = fixed_seed(o, s);
        out->source[s].fixed = fixed_seed(o, s) >= 0 && (s != OA_CHANCE_DROPOUT || dropout);
    }
    out->attention_dropout = own ? 0 : o->model_attention_dropout;
}

static enum oa_error describe_comparison(struct comparison_session *t)
{
    struct oa_comparison *out = t->out;
    struct oa_extent validation = oa_workload_side(&t->workload, OA_VALIDATION);
    double test = oa_workload_side(&t->workload, OA_TEST).targets;
    double limit = (double)t->r->options->train_eval_tokens;
    struct oa_options settled = *t->r->options;
    oa_workload_settle(&t->workload, &settled);
    if (out->tuning.older) {
        settled.compare_tune_per = OA_TUNE_PER_ONCE;
        settled.compare_tune_extend = 0;
    }
    record_fixed_sources(&settled, out);
    out->options_json = shared_options_json(t, &settled);
    out->machine_json = machine_json(t->c);
    t->here.threads = oa_thread_count(t->c);
    t->here.clocked = oa_comparison_by_time(t);
    out->equal = t->r->options->compare_equal;
    out->characters = validation.characters;
    out->bytes = validation.bytes;
    out->valid_tokens = validation.targets;
    out->examples = t->workload.train.rows != NULL;
    out->test_targets = out->examples ? test : fmax(0, test - 1);
    double all = out->examples ? validation.targets : validation.targets - 1;
    out->eval_tokens = limit > 0 ? fmin(limit, all) : all;
    return oa_status(t->c);
}

/* ---- entries ---- */

static enum oa_error canonical_attention(struct comparison_session *t, const char *text, char **out)
{
    OA_TRY(oa_stacks_canonical(t->c, text, t->workload.task->stacks, out));
    if (strlen(*out) < OA_OPTION_TEXT)
        return OA_OK;
    return oa_fail(t->c, OA_ARGUMENT, "the attention \"%.60s…\" is longer than %d characters", *out,
                   OA_OPTION_TEXT - 1);
}

/* Whether the uniform baseline is to be added: it is wanted, and not among the attentions. */
static bool adds_uniform(struct comparison_session *t)
{
    bool given = false;
    for (int i = 0; i < t->r->count; i++) {
        char *spec = NULL;
        if (canonical_attention(t, t->r->attentions[i], &spec) != OA_OK)
            return false; /* list_entries reports it */
        given = given || strcmp(spec, OA_UNIFORM_ATTENTION) == 0;
        oa_free(spec);
    }
    return t->r->options->compare_uniform_baseline && !given;
}

static enum oa_error fill_comparison_entry(struct comparison_session *t, int i, int count)
{
    const struct oa_options *o = t->r->options;
    struct oa_entry *e = &t->out->entries[i];
    e->runs = oa_alloc(t->c, (size_t)t->out->seeds * sizeof *e->runs);
    if (!e->runs)
        return OA_NO_MEMORY;
    for (int s = 0; s < t->out->seeds; s++)
        e->runs[s] = (struct oa_run){ .seed = (uint64_t)(o->train_seed + s), .absent = true };
    OA_TRY(canonical_attention(t, i < t->r->count ? t->r->attentions[i] : OA_UNIFORM_ATTENTION,
                               &e->attention));
    for (int k = 0; k < i; k++)
        if (strcmp(t->out->entries[k].attention, e->attention) == 0)
            return oa_fail(t->c, OA_ARGUMENT, "the attention \"%s\" is given twice", e->attention);
    e->uniform =
        o->compare_uniform_baseline && count > 1 && strcmp(e->attention, OA_UNIFORM_ATTENTION) == 0;
    t->steps[i] = o->train_steps;
    t->ffn[i] = o->model_ffn ? o->model_ffn : 4 * o->model_width;
    return OA_OK;
}

/* Every attention in canonical form, once, and after them the uniform baseline. */
static enum oa_error list_entries(struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    struct oa_comparison *out = t->out;
    int count = t->r->count + adds_uniform(t);
    long seeds = o->compare_until_resolved ? o->compare_max_seeds : o->compare_seeds;
    out->entries = oa_alloc(t->c, (size_t)count * sizeof *out->entries);
    t->steps = oa_alloc(t->c, (size_t)count * sizeof *t->steps);
    t->ffn = oa_alloc(t->c, (size_t)count * sizeof *t->ffn);
    t->place = oa_alloc(t->c, (size_t)count * sizeof *t->place);
    t->ended = oa_alloc(t->c, (size_t)count * (size_t)seeds * sizeof *t->ended);
    if (!out->entries || !t->steps || !t->ffn || !t->place || !t->ended)
        return OA_NO_MEMORY;
    out->seeds = (int)seeds;
    while (out->count < count) {
        int i = out->count++;
        OA_TRY(fill_comparison_entry(t, i, count));
    }
    return OA_OK;
}

int oa_comparison_attention_count(const struct comparison_session *t)
{
    int count = 0;
    for (int i = 0; i < t->out->count; i++)
        count += !t->out->entries[i].uniform;
    return count;
}

static enum oa_error check_declared_family(struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    bool uniform = false;
    for (int i = 0; i < t->out->count; i++)
        uniform = uniform || t->out->entries[i].uniform;
    if (o->compare_family == OA_FAMILY_BASELINE && !*o->compare_baseline)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.family = baseline needs compare.baseline: give it, too");
    if (o->compare_family == OA_FAMILY_UNIFORM && !uniform)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.family = uniform needs the uniform baseline: leave out "
                       "compare.uniform_baseline = off");
    return OA_OK;
}

static enum oa_error find_baseline(struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    char *spec = NULL;
    t->out->margin = o->compare_margin;
    t->out->family = o->compare_family;
    t->out->test = o->compare_test;
    t->out->random_items = o->compare_items == OA_ITEMS_RANDOM;
    t->out->sequential = o->compare_until_resolved || o->compare_sequential;
    if (!*o->compare_baseline)
        return OA_OK;
    OA_TRY(canonical_attention(t, o->compare_baseline, &spec));
    for (int i = 0; i < t->out->count; i++)
        if (strcmp(t->out->entries[i].attention, spec) == 0)
            t->out->baseline = i + 1;
    if (!t->out->baseline)
        oa_fail(t->c, OA_ARGUMENT,
                "the baseline \"%s\" is not among the attentions; add --attention \"%s\"", spec,
                spec);
    else if (oa_comparison_attention_count(t) == 1)
        oa_fail(t->c, OA_ARGUMENT,
                "the baseline \"%s\" is the only attention: add another --attention to compare "
                "with it",
                spec);
    oa_free(spec);
    return oa_status(t->c);
}

/* ---- limits of compare.until_resolved ---- */

/* "90s", "1.5 h" in seconds; 0: not a time. */
static double parse_duration(const char *text)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 } };
    char *end;
    double value = strtod(text, &end);
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++)
        if (strcmp(end, units[i].name) == 0 && value > 0 && value < 1e9)
            return value * units[i].seconds;
    return 0;
}

static enum oa_error check_limits(const struct comparison_session *t)
{
    enum { LEAST_SEEDS = 3 };
    const struct oa_options *o = t->r->options;
    if (oa_comparison_attention_count(t) == 1)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.until_resolved needs at least two attentions: add another "
                       "--attention, or leave it out");
    if (o->compare_seeds < LEAST_SEEDS)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "compare.seeds = %ld is too few for compare.until_resolved: give %d or more, to "
            "estimate the spread",
            o->compare_seeds, LEAST_SEEDS);
    if (o->compare_max_seeds < o->compare_seeds)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.max_seeds = %ld is less than compare.seeds = %ld, which each "
                       "attention gets at least",
                       o->compare_max_seeds, o->compare_seeds);
    if (oa_comparison_by_time(t) && o->train_seconds <= 0 && t->out->baseline != 1)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.until_resolved with --equal time: the first attention sets the "
                       "time of the others and so needs every seed; give train.seconds, or make "
                       "the first attention the baseline");
    return OA_OK;
}

static enum oa_error set_limits_of_comparison(struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    struct oa_options plain;
    oa_options_default(&plain);
    if (!o->compare_until_resolved) {
        if (!*o->compare_budget && o->compare_max_seeds == plain.compare_max_seeds)
            return OA_OK;
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.%s has no effect without compare.until_resolved: give it, too",
                       *o->compare_budget ? "budget" : "max_seeds");
    }
    OA_TRY(check_limits(t));
    t->out->until.least = (int)o->compare_seeds;
    t->out->until.most = (int)o->compare_max_seeds;
    t->out->until.budget = parse_duration(o->compare_budget);
    if (*o->compare_budget && t->out->until.budget <= 0)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.budget = \"%s\" is not a time: give a number above 0 and its unit, "
                       "s, min or h, as in 90s, 30min, 2h",
                       o->compare_budget);
    return OA_OK;
}

enum oa_error oa_comparison_set_up(struct comparison_session *t)
{
    OA_TRY(describe_comparison(t));
    OA_TRY(list_entries(t));
    OA_TRY(check_declared_family(t));
    OA_TRY(find_baseline(t));
    return set_limits_of_comparison(t);
}
