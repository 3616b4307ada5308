/* SPDX-License-Identifier: Apache-2.0
 * compare: a comparison, its statistics, and its report in three forms. */
#include "api/api.h"
#include "api/api_until.h"
#include "api/attention_names.h"
#include "base/folder_lock.h"
#include "compare/dispatch.h"

#include <string.h>

/* Frees the text. */
static enum oa_error write_report_file(oa_context *c, const char *folder, const char *name,
                                       struct oa_text *text)
{
    char path[OA_PATH];
    enum oa_error e = oa_status(c);
    if (e == OA_OK)
        e = oa_path(c, path, folder, name);
    if (e == OA_OK)
        e = oa_file_write(c, path, text->s, text->length);
    oa_text_free(text);
    return e;
}

static enum oa_error write_reports(oa_context *c, const char *folder, const struct oa_comparison *k,
                                   const struct oa_summary *s)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_report_json(k, s, &text);
    OA_TRY(write_report_file(c, folder, "results.json", &text));
    oa_report_html(k, s, &text);
    OA_TRY(write_report_file(c, folder, "report.html", &text));
    oa_report_svg(k, s, &text);
    OA_TRY(write_report_file(c, folder, "report.svg", &text));
    oa_report_markdown(k, s, &text);
    return write_report_file(c, folder, "report.md", &text);
}

static enum oa_error print_report(oa_context *c, const char *folder, const struct oa_comparison *k,
                                  const struct oa_summary *s, const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, c);
    if (oa_wants_json(out)) {
        oa_report_json(k, s, &text);
    } else if (oa_wants_text(out)) {
        oa_report_table(k, s, out->width, &text);
        oa_text_printf(&text, "\nreport   ");
        oa_name_add(&text, folder);
        oa_text_printf(&text, "/report.html\nresults  ");
        oa_name_add(&text, folder);
        oa_text_printf(&text, "/results.json\n");
    }
    return oa_emit(out, &text);
}

/* A comparison in which every attention had failures has failed, whatever its report looks like. */
static enum oa_error check_judged(oa_context *c, const struct oa_comparison *k,
                                  const struct oa_summary *s)
{
    const struct oa_entry *first = &k->entries[0];
    const struct oa_run *example = first->runs;
    int failed = 0, made = 0;
    if (s->reference >= 0)
        return OA_OK;
    for (int i = 0; i < k->count; i++)
        for (int seed = 0; seed < k->seeds; seed++) {
            failed += k->entries[i].runs[seed].failed;
            made += !k->entries[i].runs[seed].absent;
        }
    while (!example->failed)
        example++;
    return oa_fail(c, OA_DIVERGED,
                   "no attention can be judged: %d of %d runs diverged; %s, seed %llu: %s", failed,
                   made, first->attention, (unsigned long long)example->seed, example->failure);
}

static enum oa_error report_comparison(oa_context *c, const char *folder,
                                       const struct oa_comparison *k, const struct oa_output *out)
{
    struct oa_summary s;
    OA_TRY(oa_summary_make(c, k, &s));
    enum oa_error e = write_reports(c, folder, k, &s);
    if (e == OA_OK)
        e = print_report(c, folder, k, &s, out);
    if (e == OA_OK)
        e = check_judged(c, k, &s);
    oa_summary_free(&s);
    return e;
}

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

static struct oa_comparison_request comparison_request(const oa_config *config,
                                                       const struct oa_names *n, const char *folder)
{
    return (struct oa_comparison_request){ .options = &config->options,
                                           .attentions = n->name,
                                           .count = n->count,
                                           .cluster = oa_context_cluster(config->context),
                                           .folder = folder,
                                           .overwrite = config->overwrite };
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
        e = report_comparison(c, folder, &comparison, out);
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
            "compare.ranks = %ld needs several ranks, started by mpirun or srun, but there is "
            "one",
            o->compare_ranks);
    if (o->train_accumulate % o->compare_ranks)
        return oa_fail(
            config->context, OA_ARGUMENT,
            "train.accumulate = %ld is not a multiple of compare.ranks = %ld: change one of "
            "them",
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
