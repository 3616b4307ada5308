/* SPDX-License-Identifier: Apache-2.0
 * evidence: runs experiments, one after the other, and makes the page of their results. */
#include "api/api.h"
#include "base/folder_lock.h"

#include "evidence/evidence.h"

#include <string.h>

/* One call. */
struct gathering {
    oa_context *c;
    const struct oa_evidence_request *r;
    const char *page, *data, *sources; /* the request's, or their defaults */
    struct oa_experiments experiments;
    struct oa_judged *judged; /* [experiments] */
};

static enum oa_error experiment_folder(const struct gathering *g, const struct oa_experiment *e,
                                       char out[OA_PATH])
{
    return oa_path(g->c, out, g->r->folder ? g->r->folder : "evidence", e->name);
}

/* OA_ARGUMENT: no experiment has one of the names. */
static enum oa_error check_names(const struct gathering *g)
{
    const char *known[256];
    int count = 0;
    for (; count < g->experiments.count && count < 256; count++)
        known[count] = g->experiments.at[count].name;
    for (int i = 0; i < g->r->names; i++) {
        bool found = false;
        for (int k = 0; k < g->experiments.count; k++)
            found = found || strcmp(g->r->name[i], g->experiments.at[k].name) == 0;
        const char *near = oa_nearest(g->r->name[i], known, count);
        if (!found)
            return oa_fail(g->c, OA_ARGUMENT,
                           "there is no experiment \"%.60s\" in %s%s%s%s; --list shows them",
                           g->r->name[i], g->sources, near ? "; did you mean \"" : "",
                           near ? near : "", near ? "\"?" : "");
    }
    return OA_OK;
}

/* ---- the page ---- */

static enum oa_error write_text(oa_context *c, const char *path, struct oa_text *text)
{
    enum oa_error e = oa_status(c);
    if (e == OA_OK)
        e = oa_file_write(c, path, text->s, text->length);
    oa_text_free(text);
    return e;
}

/* "docs/evidence.md" without its ending: next to it are .json, and the folder of the charts. */
static void base_of(const char *page, char out[OA_PATH])
{
    snprintf(out, OA_PATH, "%s", page);
    char *dot = strrchr(out, '.'), *slash = strrchr(out, '/');
    if (dot && (!slash || dot > slash + 1))
        *dot = 0;
}

static enum oa_error write_charts(oa_context *c, const struct oa_judged *j, const char *charts)
{
    char path[OA_PATH], name[96];
    struct oa_text svg;
    static const struct {
        const char *suffix;
        bool (*draw)(const struct oa_judged *, struct oa_text *);
    } kinds[] = { { "", oa_evidence_intervals },
                  { "-over", oa_evidence_lines },
                  { "-map", oa_evidence_map } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        oa_text_init(&svg, c);
        snprintf(name, sizeof name, "%.70s%s.svg", j->experiment->name, kinds[i].suffix);
        OA_TRY(oa_path(c, path, charts, name));
        if (kinds[i].draw(j, &svg))
            OA_TRY(write_text(c, path, &svg));
    }
    return oa_status(c);
}

static void forget(struct gathering *g)
{
    for (int i = 0; g->judged && i < g->experiments.count; i++)
        oa_judged_free(&g->judged[i]);
}

static enum oa_error judge_experiments(struct gathering *g)
{
    forget(g);
    for (int i = 0; i < g->experiments.count; i++) {
        char folder[OA_PATH];
        OA_TRY(experiment_folder(g, &g->experiments.at[i], folder));
        OA_TRY(oa_judge(g->c, &g->experiments.at[i], folder, &g->judged[i]));
    }
    return OA_OK;
}

static enum oa_error check_page_name(const struct gathering *g)
{
    char base[OA_PATH];
    base_of(g->page, base);
    const char *ending = g->page + strlen(base);
    if (strcmp(ending, ".json") != 0 && strcmp(ending, ".csv") != 0)
        return OA_OK;
    return oa_fail(g->c, OA_ARGUMENT,
                   "--page %s: the page is Markdown, and a file of this name is written next to "
                   "it; give a name in .md",
                   g->page);
}

static enum oa_error write_evidence_page(struct gathering *g)
{
    char base[OA_PATH], path[OA_PATH + 8];
    struct oa_text text;
    OA_TRY(judge_experiments(g));
    base_of(g->page, base);
    const char *slash = strrchr(base, '/');
    OA_TRY(oa_directory_make(g->c, base));
    for (int i = 0; i < g->experiments.count; i++)
        OA_TRY(write_charts(g->c, &g->judged[i], base));
    snprintf(path, sizeof path, "%s.json", base);
    json_t *root = oa_evidence_json(g->judged, g->experiments.count);
    if (!root)
        return oa_fail(g->c, OA_NO_MEMORY, "%s: out of memory", path);
    oa_text_init(&text, g->c);
    oa_json_add(&text, root);
    OA_TRY(write_text(g->c, path, &text));
    snprintf(path, sizeof path, "%s.csv", base);
    oa_text_init(&text, g->c);
    oa_evidence_csv(g->judged, g->experiments.count, &text);
    OA_TRY(write_text(g->c, path, &text));
    oa_text_init(&text, g->c);
    oa_evidence_markdown(g->judged, g->experiments.count, slash ? slash + 1 : base, &text);
    return write_text(g->c, g->page, &text);
}

/* ---- running ---- */

/* Options that an experiment leaves out have their plain defaults, and none is the task's. */
static struct oa_config complete_config(const struct gathering *g, const struct oa_options *o)
{
    struct oa_config config = { .context = g->c, .options = *o, .declared = true };
    for (int i = 0; i < OA_MOST_OPTIONS; i++)
        config.given.option[i] = true;
    return config;
}

static enum oa_error has_ended(const struct gathering *g, const struct oa_experiment *e,
                               const struct oa_variant *v, const char *folder, bool *ended)
{
    json_t *record;
    OA_TRY(oa_record_read(g->c, folder, e, v, &record));
    *ended = record && oa_record_complete(record, &v->options);
    json_decref(record);
    return OA_OK;
}

/* A comparison that starts from the runs of another one needs these runs, not only the record. */
static enum oa_error set_initial_comparison(const struct gathering *g,
                                            const struct oa_experiment *e,
                                            const struct oa_variant *v, const char *folder,
                                            struct oa_options *o)
{
    char path[OA_PATH], file[OA_PATH];
    if (v->from < 0)
        return OA_OK;
    const char *from = e->variants[v->from].name;
    OA_TRY(oa_variant_path(g->c, folder, &e->variants[v->from], "", path));
    OA_TRY(oa_path(g->c, file, path, "contest.json"));
    if (!oa_file_exists(file))
        return oa_fail(g->c, OA_IO,
                       "%s: the comparison %s starts from the runs of %s, and these are not there: "
                       "there is no %s; remove %s.json next to that folder to run them again",
                       e->name, v->name, from, file, from);
    return oa_options_set(g->c, o, "train.init", path);
}

static enum oa_error run_variant(const struct gathering *g, const struct oa_experiment *e,
                                 const struct oa_variant *v, const char *folder)
{
    struct oa_options o;
    char comparison[OA_PATH];
    bool ended;
    OA_TRY(has_ended(g, e, v, folder, &ended));
    if (ended)
        return OA_OK;
    OA_TRY(oa_variant_options(g->c, e, v, g->data, &o));
    OA_TRY(set_initial_comparison(g, e, v, folder, &o));
    /* Data may have changed since the last comparison began. */
    OA_TRY(oa_declare(g->c, e, g->data, folder));
    OA_TRY(oa_variant_path(g->c, folder, v, "", comparison));
    oa_log(g->c, 0, "%s: %s", e->name, oa_experiment_plain(e) ? "its comparison" : v->name);
    struct oa_config config = complete_config(g, &o);
    enum oa_error code = oa_compare(&config, NULL, 0, comparison, NULL);
    if (code == OA_DIVERGED) { /* a comparison in which nothing can be judged is a result */
        oa_clear_error(g->c);
        code = OA_OK;
    }
    return code == OA_OK ? oa_record_write(g->c, folder, v) : code;
}

/* The recorded error, with the experiment and variant before it. */
static enum oa_error name_variant_in_error(oa_context *c, const struct oa_experiment *e,
                                           const struct oa_variant *v)
{
    const char *why;
    enum oa_error code = oa_last_error(c, &why);
    char *sentence = code == OA_OK || code == OA_NO_MEMORY ? NULL : oa_copy_text(c, why);
    if (!sentence)
        return code;
    oa_clear_error(c);
    oa_fail(c, code, "%s%s%s: %s", e->path, oa_experiment_plain(e) ? "" : ": variant ",
            oa_experiment_plain(e) ? "" : v->name, sentence);
    oa_free(sentence);
    return code;
}

/* Before anything is declared: can the comparisons be run, and was none begun? One that starts from
 * another is checked when that has ended: its tokenizer and initial values come from there. */
static enum oa_error check_comparisons(const struct gathering *g, const struct oa_experiment *e,
                                       const char *folder)
{
    char comparison[OA_PATH];
    for (int i = 0; i < e->variant_count; i++) {
        const struct oa_variant *v = &e->variants[i];
        struct oa_config config;
        struct oa_options o;
        OA_TRY(oa_variant_path(g->c, folder, v, "/contest.json", comparison));
        if (oa_file_exists(comparison))
            OA_TRY(oa_declared_at_all(g->c, e, folder, comparison));
        if (v->from >= 0)
            continue;
        OA_TRY(oa_variant_options(g->c, e, v, g->data, &o));
        config = complete_config(g, &o);
        OA_TRY(oa_path(g->c, comparison, folder, v->name));
        if (oa_compare_check(&config, comparison) != OA_OK)
            return name_variant_in_error(g->c, e, v);
    }
    return OA_OK;
}

/* Before anything is declared: OA_IO if files that will be read do not exist. */
static enum oa_error check_data(const struct gathering *g, const struct oa_experiment *e)
{
    struct oa_options o;
    char folder[OA_PATH];
    OA_TRY(experiment_folder(g, e, folder));
    for (int v = 0; v < e->variant_count; v++) {
        bool ended;
        OA_TRY(has_ended(g, e, &e->variants[v], folder, &ended));
        if (!ended)
            OA_TRY(oa_variant_options(g->c, e, &e->variants[v], g->data, &o));
    }
    return OA_OK;
}

static enum oa_error run_experiment(const struct gathering *g, const struct oa_experiment *e)
{
    char folder[OA_PATH];
    struct oa_lock *lock;
    struct oa_declared declared;
    OA_TRY(experiment_folder(g, e, folder));
    OA_TRY(oa_directory_check(g->c, folder));
    enum oa_error code = oa_declared_check(g->c, e, folder, &declared);
    json_decref(declared.changed);
    if (code == OA_OK && !*declared.date)
        code = check_comparisons(g, e, folder);
    OA_TRY(code);
    OA_TRY(oa_folder_lock(g->c, folder, &lock));
    code = oa_declare(g->c, e, g->data, folder);
    for (int v = 0; v < e->variant_count && code == OA_OK; v++)
        code = run_variant(g, e, &e->variants[v], folder);
    oa_folder_unlock(lock);
    return code;
}

/* Data of an experiment that was named must exist; without names, experiments without data are
 * reported and not run. */
static enum oa_error run_all(struct gathering *g)
{
    for (int i = 0; i < g->experiments.count; i++) {
        const struct oa_experiment *e = &g->experiments.at[i];
        const char *sentence;
        bool wanted = g->r->names == 0;
        for (int n = 0; n < g->r->names; n++)
            wanted = wanted || strcmp(g->r->name[n], e->name) == 0;
        if (!wanted)
            continue;
        enum oa_error code = check_data(g, e);
        if (code == OA_IO && g->r->names == 0) {
            oa_last_error(g->c, &sentence);
            oa_log(g->c, 0, "not run: %s", sentence);
            oa_clear_error(g->c);
            continue;
        }
        OA_TRY(code);
        OA_TRY(run_experiment(g, e));
        OA_TRY(write_evidence_page(g));
    }
    return OA_OK;
}

/* ---- what is printed ---- */

static void add_verdict_table(const struct gathering *g, int limit, struct oa_text *out)
{
    static const struct oa_column columns[] = { { .title = "experiment" },
                                                { .title = "claim", .shorten = true },
                                                { .title = "comparisons", .right = true },
                                                { .title = "processor time", .right = true },
                                                { .title = "verdict" } };
    struct oa_table t;
    char time[OA_NUMBER];
    oa_table_init(&t, out->context, columns, 5);
    for (int i = 0; i < g->experiments.count; i++) {
        const struct oa_judged *j = &g->judged[i];
        oa_table_cell(&t, "%s", j->experiment->name);
        oa_table_cell(&t, "%s", oa_claim_text(j->experiment, "title"));
        oa_table_cell(&t, "%d of %d", oa_judged_records(j), j->experiment->variant_count);
        oa_table_cell(&t, "%s", oa_number_seconds(time, oa_judged_cost(j).processor_seconds));
        oa_table_cell(&t, "%s", oa_judged_words(j));
    }
    oa_table_text(&t, limit, out);
    oa_table_free(&t);
}

static void log_changes(const struct gathering *g)
{
    for (int i = 0; i < g->experiments.count; i++) {
        const struct oa_declared *d = &g->judged[i].declared;
        size_t n = json_array_size(d->changed);
        if (n)
            oa_log(g->c, 0,
                   "%s: %s%s of its claim changed since it was declared on %s, as the page shows",
                   g->experiments.at[i].path, json_string_value(json_array_get(d->changed, 0)),
                   n > 1 ? " and more" : "", d->date);
    }
}

static enum oa_error print_evidence(const struct gathering *g, const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, g->c);
    if (oa_wants_json(out)) {
        oa_json_add(&text, oa_evidence_json(g->judged, g->experiments.count));
    } else if (oa_wants_text(out)) {
        add_verdict_table(g, out->width, &text);
        if (!g->r->list)
            oa_text_printf(&text, "\npage     %s\n", g->page);
    }
    return oa_emit(out, &text);
}

static enum oa_error gather_evidence(struct gathering *g, const struct oa_output *out)
{
    OA_TRY(oa_experiments_read(g->c, g->sources, &g->experiments));
    OA_TRY(check_names(g));
    g->judged = oa_alloc(g->c, (size_t)g->experiments.count * sizeof *g->judged);
    if (!g->judged)
        return OA_NO_MEMORY;
    if (!g->r->list) {
        OA_TRY(oa_file_check(g->c, g->page));
        if (!g->r->no_run)
            OA_TRY(run_all(g));
        OA_TRY(write_evidence_page(g));
    } else {
        OA_TRY(judge_experiments(g));
    }
    log_changes(g);
    return print_evidence(g, out);
}

enum oa_error oa_evidence(oa_context *c, const struct oa_evidence_request *r,
                          const struct oa_output *out)
{
    struct gathering g = { .c = c,
                           .r = r,
                           .page = r->page ? r->page : "docs/evidence.md",
                           .data = r->data ? r->data : "data",
                           .sources = r->experiments ? r->experiments : "experiments" };
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_evidence_request", r->reserved, 4));
    OA_TRY(check_page_name(&g));
    enum oa_error e = gather_evidence(&g, out);
    forget(&g);
    oa_free(g.judged);
    oa_experiments_free(&g.experiments);
    return e;
}
