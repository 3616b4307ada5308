/* SPDX-License-Identifier: Apache-2.0
 * A comparison that another one starts from, as it is found in its folder. Its own files say what
 * is there: contest.json which attentions, result.json of a run with which weights it ended; all
 * carry checksums, and the model must have these weights. */
#include "compare/parents.h"

#include "base/checksum.h"
#include "compare/comparison_parts.h"
#include "compare/run_result.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the comparison ---- */

static bool has(const char *folder, const char *name)
{
    char path[OA_PATH];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < OA_PATH && oa_file_exists(path);
}

bool oa_parents_comparison(const char *folder)
{
    return *folder && has(folder, "contest.json") && !has(folder, "config.json");
}

/* Its members, to be passed on (json_decref). */
static enum oa_error open_comparison(oa_context *c, const char *folder, json_t **members)
{
    char path[OA_PATH];
    json_t *root;
    *members = NULL;
    if (!has(folder, "results.json"))
        return oa_fail(c, OA_ARGUMENT,
                       "train.init = %s: that comparison has not ended, there is no results.json; "
                       "the command that began "
                       "it goes on with it",
                       folder);
    OA_TRY(oa_path(c, path, folder, "contest.json"));
    OA_TRY(oa_checksummed_read(c, path, "hold that comparison again", &root));
    *members = json_incref(json_object_get(root, "members"));
    json_decref(root);
    return OA_OK;
}

static const char *name_of(const json_t *members, size_t i)
{
    const char *name = json_string_value(json_object_get(json_array_get(members, i), "attention"));
    return name ? name : "";
}

/* ---- its runs ---- */

static long seed_of(const char *name)
{
    char *end;
    if (strncmp(name, "seed-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    long seed = strtol(name + 5, &end, 10);
    return *end ? -1 : seed;
}

static int by_seed(const void *a, const void *b)
{
    const struct oa_parent *x = a, *y = b;
    return (x->seed > y->seed) - (x->seed < y->seed);
}

static enum oa_error add_run(oa_context *c, const char *folder, long seed, struct oa_parent **list,
                             int *count)
{
    struct oa_parent *more = oa_alloc(c, ((size_t)*count + 1) * sizeof *more);
    if (!more)
        return OA_NO_MEMORY;
    if (*count)
        memcpy(more, *list, (size_t)*count * sizeof *more);
    oa_free(*list);
    *list = more;
    struct oa_parent *p = &more[(*count)++];
    p->seed = seed;
    int n = snprintf(p->folder, sizeof p->folder, "%s/seed-%ld", folder, seed);
    return n < (int)sizeof p->folder
               ? OA_OK
               : oa_fail(c, OA_ARGUMENT,
                         "train.init: the path %.60s… of a run there is longer than %d bytes",
                         folder, OA_OPTION_TEXT - 1);
}

/* Folders of runs of the member with that place, by seed; none is no error. */
static enum oa_error list_runs(oa_context *c, const char *comparison, size_t place,
                               struct oa_parent **list, int *count)
{
    char folder[OA_PATH], name[32];
    enum oa_error e = OA_OK;
    *list = NULL;
    *count = 0;
    snprintf(name, sizeof name, "runs/attention-%02zu", place + 1);
    OA_TRY(oa_path(c, folder, comparison, name));
    DIR *d = opendir(folder);
    bool absent = !d && errno == ENOENT;
    for (struct dirent *f; d && e == OA_OK && (errno = 0, f = readdir(d));)
        if (seed_of(f->d_name) >= 0)
            e = add_run(c, folder, seed_of(f->d_name), list, count);
    if (e == OA_OK && errno && !absent)
        e = oa_fail_folder(c, folder);
    if (d)
        closedir(d);
    if (*count)
        qsort(*list, (size_t)*count, sizeof **list, by_seed);
    return e;
}

/* The model is the one that the result is about. */
static enum oa_error check_weights(oa_context *c, const struct oa_parent *p, const char *weights)
{
    struct oa_run run = { 0 };
    if (!has(p->folder, "model.safetensors"))
        return oa_fail(c, OA_IO,
                       "train.init: %s ended, and its model.safetensors is not there: hold that "
                       "comparison again",
                       p->folder);
    OA_TRY(oa_run_weights(c, p->folder, &run));
    if (weights && strcmp(weights, run.weights) == 0)
        return OA_OK;
    return oa_fail(c, OA_FORMAT,
                   "train.init: %s/model.safetensors is not the model of the result.json beside it",
                   p->folder);
}

static enum oa_error check_run(oa_context *c, const struct oa_parent *p)
{
    char path[OA_PATH];
    json_t *result;
    OA_TRY(oa_path(c, path, p->folder, "result.json"));
    if (!oa_file_exists(path))
        return oa_fail(c, OA_ARGUMENT,
                       "train.init: the run %s has not ended: the command that began its "
                       "comparison goes on with it",
                       p->folder);
    OA_TRY(oa_checksummed_read(c, path, "hold that comparison again", &result));
    enum oa_error e = OA_OK;
    if (json_is_true(json_object_get(result, "failed")))
        e = oa_fail(c, OA_ARGUMENT,
                    "train.init: the run %s diverged, so nothing can start from it: leave its "
                    "attention out, or hold "
                    "that comparison with other options",
                    p->folder);
    else
        e = check_weights(c, p, json_string_value(json_object_get(result, "weights")));
    json_decref(result);
    return e;
}

/* ---- an attention ---- */

static enum oa_error refuse(oa_context *c, const char *folder, const json_t *members,
                            const char *attention, const char *advice)
{
    struct oa_text there;
    oa_text_init(&there, c);
    for (size_t i = 0; i < json_array_size(members); i++)
        oa_text_printf(&there, "%s\"%s\"", i ? ", " : "", name_of(members, i));
    enum oa_error e = oa_fail(
        c, OA_ARGUMENT,
        "train.init = %s: that comparison has no run of \"%s\" to start from; there are %s%s",
        folder, attention, there.length ? there.s : "none", advice);
    oa_text_free(&there);
    return e;
}

/* The runs of the attention, as they lie there. */
static enum oa_error find_runs(oa_context *c, const char *folder, const char *attention,
                               const char *advice, struct oa_parent **out, int *count)
{
    json_t *members;
    struct oa_member m;
    *out = NULL;
    *count = 0;
    OA_TRY(open_comparison(c, folder, &members));
    int place = oa_comparison_file_find(members, attention, &m);
    enum oa_error e = place < 0 ? OA_OK : list_runs(c, folder, (size_t)place, out, count);
    if (e == OA_OK && *count == 0)
        e = refuse(c, folder, members, attention, advice);
    json_decref(members);
    return e;
}

enum oa_error oa_parents_check(oa_context *c, const char *folder, const char *attention,
                               const char *advice)
{
    struct oa_parent *runs;
    int count;
    enum oa_error e = find_runs(c, folder, attention, advice, &runs, &count);
    oa_free(runs);
    return e;
}

enum oa_error oa_parents_read(oa_context *c, const char *folder, const char *attention,
                              const char *advice, struct oa_parent **out, int *count)
{
    OA_TRY(find_runs(c, folder, attention, advice, out, count));
    for (int i = 0; i < *count; i++)
        OA_TRY(check_run(c, &(*out)[i]));
    return OA_OK;
}

/* Of the member with that place: its first run that has a model; "" where there is none. */
static enum oa_error first_of(oa_context *c, const char *folder, size_t place,
                              char out[OA_OPTION_TEXT])
{
    struct oa_parent *runs;
    int count;
    enum oa_error e = list_runs(c, folder, place, &runs, &count);
    *out = 0;
    for (int i = 0; e == OA_OK && !*out && i < count; i++)
        if (has(runs[i].folder, "model.safetensors"))
            snprintf(out, OA_OPTION_TEXT, "%s", runs[i].folder);
    oa_free(runs);
    return e;
}

enum oa_error oa_parents_first(oa_context *c, struct oa_options *o)
{
    json_t *members;
    char first[OA_OPTION_TEXT] = "";
    OA_TRY(open_comparison(c, o->train_init, &members));
    enum oa_error e = OA_OK;
    for (size_t i = 0; e == OA_OK && !*first && i < json_array_size(members); i++)
        e = first_of(c, o->train_init, i, first);
    if (e == OA_OK && !*first)
        e = oa_fail(c, OA_ARGUMENT,
                    "train.init = %s: no run of that comparison has a model to start from",
                    o->train_init);
    snprintf(o->train_init, sizeof o->train_init, "%s", first);
    json_decref(members);
    return e;
}

const struct oa_parent *oa_parent_of(const struct oa_entry *e, long seed)
{
    for (int i = 0; i < e->parent_count; i++)
        if (e->parents[i].seed == seed)
            return &e->parents[i];
    return e->parents;
}

/* ---- of the comparison that starts from it ---- */

enum oa_error oa_comparison_parents_named(struct comparison *t)
{
    t->asked = *t->r->options;
    if (!oa_parents_comparison(t->asked.train_init))
        return OA_OK;
    t->out->parent = oa_copy_text(t->c, t->asked.train_init);
    OA_TRY(oa_status(t->c));
    return oa_parents_first(t->c, &t->asked);
}

/* That the tokenizers are one says the workload. */
static enum oa_error digest(struct comparison *t, struct oa_parent *p)
{
    struct oa_options o = t->asked;
    struct oa_workload w = t->workload;
    snprintf(o.train_init, sizeof o.train_init, "%s", p->folder);
    OA_TRY(oa_workload_start(t->c, &o, &w));
    p->model = w.start;
    return OA_OK;
}

enum oa_error oa_comparison_parents(struct comparison *t)
{
    for (int i = 0; t->out->parent && i < t->out->count; i++) {
        struct oa_entry *e = &t->out->entries[i];
        const char *advice = e->floor ? "; --compare.floor off leaves the uniform average out" : "";
        OA_TRY(oa_parents_read(t->c, t->out->parent, e->attention, advice, &e->parents,
                               &e->parent_count));
        for (int r = 0; r < e->parent_count; r++)
            OA_TRY(digest(t, &e->parents[r]));
    }
    return OA_OK;
}

const struct oa_parent *oa_comparison_parent(const struct comparison *t, int entry, long seed)
{
    return oa_parent_of(&t->out->entries[entry], seed);
}

void oa_comparison_begin_from(const struct comparison *t, int entry, struct oa_options *o)
{
    const struct oa_parent *p = oa_comparison_parent(t, entry, o->train_seed);
    if (p)
        snprintf(o->train_init, sizeof o->train_init, "%s", p->folder);
}

/* ---- in words ---- */

/* "of 4, 5 from that of 1"; nothing where each has its own. */
static void add_strangers(const struct oa_entry *e, int seeds, struct oa_text *out)
{
    const char *before = "of ";
    int made = oa_runs_made(e, seeds);
    for (int s = 0; s < (made ? made : seeds); s++) {
        long seed = (long)e->runs[s].seed;
        if (oa_parent_of(e, seed)->seed == seed)
            continue;
        oa_text_printf(out, "%s%ld", before, seed);
        before = ", ";
    }
    if (*before == ',')
        oa_text_printf(out, " from that of %ld", e->parents[0].seed);
}

/* The same of all attentions is said once. */
static void add_all_strangers(const struct oa_comparison *k, int seeds, struct oa_text *out)
{
    struct oa_text first, other;
    bool alike = true;
    oa_text_init(&first, out->context);
    oa_text_init(&other, out->context);
    add_strangers(&k->entries[0], seeds, &first);
    for (int i = 1; i < k->count; i++) {
        oa_text_cut(&other, 0);
        add_strangers(&k->entries[i], seeds, &other);
        alike = alike && strcmp(first.s ? first.s : "", other.s ? other.s : "") == 0;
    }
    for (int i = 0; i < (alike ? 1 : k->count); i++) {
        oa_text_cut(&other, 0);
        add_strangers(&k->entries[i], seeds, &other);
        if (!other.length)
            continue;
        oa_text_printf(out, "%s", out->length ? "; " : "");
        if (!alike)
            oa_text_printf(out, "%s: ", oa_entry_name(&k->entries[i]));
        oa_text_printf(out, "%s", other.s);
    }
    oa_text_free(&first);
    oa_text_free(&other);
}

void oa_parents_sentence(const struct oa_comparison *k, int seeds, struct oa_text *out)
{
    struct oa_text strangers;
    if (!k->parent)
        return;
    oa_text_init(&strangers, out->context);
    add_all_strangers(k, seeds, &strangers);
    oa_text_printf(out, "Every run starts from the run of the same attention%s in %s",
                   strangers.length ? "" : " and seed", k->parent);
    if (strangers.length)
        oa_text_printf(out,
                       ", and of the same seed where it is there, else of the first one (%s): what "
                       "these share by "
                       "luck is not in their spread",
                       strangers.s);
    oa_text_printf(out, ".%s",
                   k->tuning.grid.options ? " Trials of the tuning start from the first one, too."
                                          : "");
    oa_text_free(&strangers);
}
