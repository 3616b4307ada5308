/* SPDX-License-Identifier: Apache-2.0
 * compare: a comparison and its report. */
#include "api/api.h"
#include "api/api_until.h"
#include "api/attention_names.h"
#include "api/comparison_report.h"
#include "base/folder_lock.h"
#include "base/json_read.h"
#include "compare/dispatch.h"
#include "report/power.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* A configuration may be shared with other commands, which use its model.attention. */
static void log_ignored_attention(const oa_config *config, const struct oa_names *n)
{
    struct oa_options plain;
    const char *own = config->options.model_attention;
    oa_options_default(&plain);
    bool ignored = strcmp(own, plain.model_attention) != 0;
    for (int i = 0; i < n->count; i++)
        ignored = ignored && strcmp(own, n->name[i]) != 0;
    if (ignored)
        oa_log(config->context, 0,
               "model.attention = %s is ignored: give it with --attention to compare it", own);
}

/* Of a paired difference, in the last report of the folder; NaN: there is none. */
static double last_deviation(oa_context *c, const char *folder)
{
    char path[OA_PATH];
    json_t *root = NULL;
    double deviation = NAN;
    if (oa_path(c, path, folder, "results.json") == OA_OK && oa_file_exists(path) &&
        oa_json_read(c, path, NULL, &root) == OA_OK) {
        const json_t *value = json_object_get(json_object_get(root, "family"), "deviation");
        deviation = json_is_number(value) ? json_number_value(value) : NAN;
    }
    json_decref(root);
    oa_clear_error(c); /* it is written again */
    return deviation;
}

static void announce(oa_context *c, const struct oa_comparison *k, const char *folder,
                     bool declared)
{
    struct oa_text line;
    oa_text_init(&line, c);
    oa_power_announcement(k, last_deviation(c, folder), declared, &line);
    if (line.length)
        oa_log(c, 2, "%s", line.s);
    oa_text_free(&line);
}

static void announce_given(oa_context *c, const struct oa_comparison *k, const char *folder)
{
    announce(c, k, folder, false);
}

static void announce_declared(oa_context *c, const struct oa_comparison *k, const char *folder)
{
    announce(c, k, folder, true);
}

static struct oa_comparison_request comparison_request(const oa_config *config,
                                                       const struct oa_names *n, const char *folder)
{
    return (struct oa_comparison_request){ .options = &config->options,
                                           .attentions = n->name,
                                           .count = n->count,
                                           .cluster = oa_context_cluster(config->context),
                                           .folder = folder,
                                           .overwrite = config->overwrite,
                                           .announce = config->declared ? announce_declared
                                                                        : announce_given };
}

/* Names the attentions, warns, and locks the folder. */
static enum oa_error prepare_comparison(const oa_config *config, const char *const *attentions,
                                        int count, const char *folder, struct oa_names *n,
                                        struct oa_lock **lock)
{
    oa_context *c = config->context;
    OA_TRY(oa_directory_check(c, folder));
    OA_TRY(oa_names_open(config, attentions, count, n));
    log_ignored_attention(config, n);
    for (int i = 0; i < n->count; i++)
        OA_TRY(oa_attention_warn(c, n->name[i], oa_options_stacks(&config->options),
                                 &config->options));
    oa_config_say_preset(config);
    oa_remarks(c, &config->options);
    return oa_folder_lock(c, folder, lock);
}

/* On the first rank. */
static enum oa_error compare_locked(const oa_config *config, const char *const *attentions,
                                    int count, const char *folder, const struct oa_output *out)
{
    oa_context *c = config->context;
    struct oa_names names = { 0 };
    struct oa_lock *lock = NULL;
    struct oa_comparison comparison = { 0 };
    double began = oa_clock();
    enum oa_error e = prepare_comparison(config, attentions, count, folder, &names, &lock);
    e = oa_cluster_agree(oa_context_cluster(c), e);
    if (e == OA_OK) {
        struct oa_comparison_request request = comparison_request(config, &names, folder);
        e = config->options.compare_until_resolved
                ? oa_comparison_until(c, &request, began, &comparison)
                : oa_comparison_run(c, &request, &comparison);
    }
    if (e == OA_OK)
        e = oa_report_comparison(c, folder, &comparison, out);
    oa_comparison_free(&comparison);
    oa_folder_unlock(lock);
    oa_names_free(&names);
    return e;
}

static enum oa_error check_compare_ranks(const oa_config *config, const struct oa_cluster *cluster)
{
    const struct oa_options *o = &config->options;
    if (o->compare_ranks > 1 && !cluster)
        return oa_fail(
            config->context, OA_ARGUMENT,
            "compare.ranks = %ld needs several ranks, started by mpirun or srun, but there is one",
            o->compare_ranks);
    if (o->train_accumulate % o->compare_ranks)
        return oa_fail(
            config->context, OA_ARGUMENT,
            "train.accumulate = %ld is not a multiple of compare.ranks = %ld: change one of them",
            o->train_accumulate, o->compare_ranks);
    if (!cluster || o->compare_equal != OA_EQUAL_TIME)
        return OA_OK;
    return oa_fail(config->context, OA_ARGUMENT,
                   "--equal time trains runs one after another on one machine: start one rank, "
                   "or give --equal flops");
}

enum oa_error oa_compare_check(const oa_config *config, const char *folder)
{
    struct oa_names names;
    oa_config all;
    OA_TRY(check_compare_ranks(config, oa_context_cluster(config->context)));
    OA_TRY(oa_config_begin_from(config, false, &all));
    enum oa_error e = oa_names_open(&all, NULL, 0, &names);
    if (e == OA_OK) {
        struct oa_comparison_request request = comparison_request(&all, &names, folder);
        request.cluster = NULL; /* other ranks take no part */
        e = oa_comparison_check(config->context, &request);
    }
    oa_names_free(&names);
    return e;
}

/* The first of several ranks runs the comparison, the others train its runs. */
enum oa_error oa_compare(const oa_config *config, const char *const *attentions, int count,
                         const char *folder, const struct oa_output *out)
{
    struct oa_cluster *cluster = oa_context_cluster(config->context);
    struct oa_work told = { .command = "compare",
                            .folder = folder,
                            .overwrite = config->overwrite,
                            .attentions = attentions,
                            .count = count };
    OA_TRY(oa_status(config->context));
    OA_TRY(oa_same_program(cluster, &config->options, &told));
    OA_TRY(oa_cluster_agree(cluster, check_compare_ranks(config, cluster)));
    OA_TRY(oa_cluster_split(cluster, config->options.compare_ranks));
    oa_config all;
    OA_TRY(oa_cluster_agree(cluster, oa_config_begin_from(config, false, &all)));
    return oa_rank_of(cluster) > 0 ? oa_worker_rank_run(cluster, &all.options)
                                   : compare_locked(&all, attentions, count, folder, out);
}
