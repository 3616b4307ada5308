/* SPDX-License-Identifier: Apache-2.0
 * What a comparison says of itself beside its runs: the options that these share, what ran where,
 * how much text judges. */
#include "compare/comparison_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
        json_pack("{s:s, s:i, s:i, s:s, s:s, s:I, s:s, s:s}", "processor", cpu->name, "cores",
                  cpu->cores, "threads", oa_thread_count(c), "isa", oa_isa_name(oa_context_isa(c)),
                  "products", k.gemm_name ? k.gemm_name : "", "memory", (json_int_t)cpu->memory,
                  "orthant", oa_version(), "date", date);
    char *text = json_dumps(o, 0), *copy = text ? oa_copy_text(c, text) : NULL;
    free(text);
    json_decref(o);
    return copy;
}

/* Without what is tuned, of which each attention has its own. */
static char *shared_options(const struct comparison *t)
{
    struct oa_text text;
    struct oa_options settled = *t->r->options;
    oa_workload_settle(&t->workload, &settled);
    oa_text_init(&text, t->c);
    oa_options_json(&settled, &text);
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

enum oa_error oa_comparison_describe(struct comparison *t)
{
    t->out->options_json = shared_options(t);
    t->out->machine_json = machine_json(t->c);
    t->here.threads = oa_thread_count(t->c);
    t->here.clocked = oa_comparison_by_time(t);
    t->out->equal = t->r->options->compare_equal;
    struct oa_extent validation = oa_workload_side(&t->workload, OA_VALIDATION);
    t->out->characters = validation.characters;
    t->out->bytes = validation.bytes;
    t->out->valid_tokens = validation.targets;
    t->out->examples = t->workload.train.rows != NULL;
    double test = oa_workload_side(&t->workload, OA_TEST).targets;
    t->out->test_targets = t->out->examples ? test : fmax(0, test - 1);
    double limit = (double)t->r->options->train_eval_tokens;
    double all = t->out->examples ? validation.targets : validation.targets - 1;
    t->out->eval_tokens = limit > 0 ? fmin(limit, all) : all;
    return oa_status(t->c);
}
