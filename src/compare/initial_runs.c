/* SPDX-License-Identifier: Apache-2.0
 * Another comparison that runs start from, found in its folder: contest.json lists its attentions,
 * result.json of a run has the digest of the weights with which it ended. Both carry checksums, and
 * the model must have these weights. */
#include "compare/initial_runs.h"

#include "base/checksum.h"
#include "compare/comparison_session.h"
#include "compare/run_result.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the comparison ---- */

static const char repeat[] = "run that comparison again";

static bool folder_has_file(const char *folder, const char *name)
{
    char path[OA_PATH];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < OA_PATH && oa_file_exists(path);
}

bool oa_is_comparison_folder(const char *folder)
{
    return *folder && folder_has_file(folder, "contest.json") &&
           !folder_has_file(folder, "config.json");
}

/* Its members, to be passed on (json_decref). */
static enum oa_error read_initial_members(oa_context *c, const char *folder, json_t **members)
{
    char path[OA_PATH];
    json_t *root;
    *members = NULL;
    if (!folder_has_file(folder, "results.json"))
        return oa_fail(
            c, OA_ARGUMENT,
            "train.init = %s: that comparison has not ended (no results.json): finish it "
            "with the command that began it",
            folder);
    OA_TRY(oa_path(c, path, folder, "contest.json"));
    OA_TRY(oa_checksummed_read(c, path, repeat, &root));
    *members = json_incref(json_object_get(root, "members"));
    json_decref(root);
    return OA_OK;
}

static const char *member_name(const json_t *members, size_t i)
{
    const char *name = json_string_value(json_object_get(json_array_get(members, i), "attention"));
    return name ? name : "";
}

/* ---- its runs ---- */

static long seed_of_folder(const char *name)
{
    char *end;
    if (strncmp(name, "seed-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    long seed = strtol(name + 5, &end, 10);
    return *end ? -1 : seed;
}

static int compare_initial_seeds(const void *a, const void *b)
{
    const struct oa_initial_run *x = a, *y = b;
    return (x->seed > y->seed) - (x->seed < y->seed);
}

static enum oa_error add_initial_run(oa_context *c, const char *folder, long seed,
                                     struct oa_initial_run **list, int *count)
{
    struct oa_initial_run *more = oa_alloc(c, ((size_t)*count + 1) * sizeof *more);
    if (!more)
        return OA_NO_MEMORY;
    if (*count)
        memcpy(more, *list, (size_t)*count * sizeof *more);
    oa_free(*list);
    *list = more;
    struct oa_initial_run *p = &more[(*count)++];
    p->seed = seed;
    int n = snprintf(p->folder, sizeof p->folder, "%s/seed-%ld", folder, seed);
    return n < (int)sizeof p->folder
               ? OA_OK
               : oa_fail(c, OA_ARGUMENT,
                         "train.init: the path %.60s… of a run is longer than %d bytes", folder,
                         OA_OPTION_TEXT - 1);
}

/* Folders of runs of the member with that place, by seed; none is no error. */
static enum oa_error list_initial_runs(oa_context *c, const char *comparison, size_t place,
                                       struct oa_initial_run **list, int *count)
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
        if (seed_of_folder(f->d_name) >= 0)
            e = add_initial_run(c, folder, seed_of_folder(f->d_name), list, count);
    if (e == OA_OK && errno && !absent)
        e = oa_fail_folder(c, folder);
    if (d)
        closedir(d);
    if (*count)
        qsort(*list, (size_t)*count, sizeof **list, compare_initial_seeds);
    return e;
}

static enum oa_error check_initial_run(oa_context *c, const struct oa_initial_run *p)
{
    char path[OA_PATH];
    struct oa_run run = { 0 };
    json_t *result;
    OA_TRY(oa_path(c, path, p->folder, "result.json"));
    if (!oa_file_exists(path))
        return oa_fail(c, OA_ARGUMENT,
                       "train.init: the run %s has not ended: finish its comparison with the "
                       "command that began it",
                       p->folder);
    OA_TRY(oa_checksummed_read(c, path, repeat, &result));
    const char *weights = json_string_value(json_object_get(result, "weights"));
    enum oa_error e = OA_OK;
    if (json_is_true(json_object_get(result, "failed")))
        e = oa_fail(c, OA_ARGUMENT,
                    "train.init: the run %s diverged, so no run can start from it: leave its "
                    "attention out, or repeat that comparison with other options",
                    p->folder);
    else if (!folder_has_file(p->folder, "model.safetensors"))
        e = oa_fail(c, OA_IO, "train.init: %s has ended, but its model.safetensors is missing: %s",
                    p->folder, repeat);
    else
        e = oa_run_weights(c, p->folder, &run);
    if (e == OA_OK && (!weights || strcmp(weights, run.weights) != 0))
        e = oa_fail(c, OA_FORMAT,
                    "train.init: the weights of %s/model.safetensors are not those of its "
                    "result.json",
                    p->folder);
    json_decref(result);
    return e;
}

/* ---- an attention ---- */

/* The runs of the attention that are in the folder. */
static enum oa_error find_initial_runs(oa_context *c, const char *folder, const char *attention,
                                       const char *advice, struct oa_initial_run **out, int *count)
{
    json_t *members;
    struct oa_member m;
    *out = NULL;
    *count = 0;
    OA_TRY(read_initial_members(c, folder, &members));
    int place = oa_comparison_file_find(members, attention, &m);
    enum oa_error e = place < 0 ? OA_OK : list_initial_runs(c, folder, (size_t)place, out, count);
    if (e == OA_OK && *count == 0) {
        struct oa_text there;
        oa_text_init(&there, c);
        for (size_t i = 0; i < json_array_size(members); i++)
            oa_text_printf(&there, "%s\"%s\"", i ? ", " : "", member_name(members, i));
        e = oa_fail(c, OA_ARGUMENT,
                    "train.init = %s: that comparison has no run of \"%s\" to start from; it has "
                    "%s%s",
                    folder, attention, there.length ? there.s : "none", advice);
        oa_text_free(&there);
    }
    json_decref(members);
    return e;
}

enum oa_error oa_initial_runs_check(oa_context *c, const char *folder, const char *attention,
                                    const char *advice)
{
    struct oa_initial_run *runs;
    int count;
    enum oa_error e = find_initial_runs(c, folder, attention, advice, &runs, &count);
    oa_free(runs);
    return e;
}

enum oa_error oa_initial_runs_read(oa_context *c, const char *folder, const char *attention,
                                   const char *advice, struct oa_initial_run **out, int *count)
{
    OA_TRY(find_initial_runs(c, folder, attention, advice, out, count));
    for (int i = 0; i < *count; i++)
        OA_TRY(check_initial_run(c, &(*out)[i]));
    return OA_OK;
}

/* Of the member with that place: its first run that has a model; "" where there is none. */
static enum oa_error first_run_with_model(oa_context *c, const char *folder, size_t place,
                                          char out[OA_OPTION_TEXT])
{
    struct oa_initial_run *runs;
    int count;
    enum oa_error e = list_initial_runs(c, folder, place, &runs, &count);
    for (int i = 0; e == OA_OK && !*out && i < count; i++)
        if (folder_has_file(runs[i].folder, "model.safetensors"))
            snprintf(out, OA_OPTION_TEXT, "%s", runs[i].folder);
    oa_free(runs);
    return e;
}

enum oa_error oa_initial_runs_first(oa_context *c, struct oa_options *o)
{
    json_t *members;
    char first[OA_OPTION_TEXT] = "";
    OA_TRY(read_initial_members(c, o->train_init, &members));
    enum oa_error e = OA_OK;
    for (size_t i = 0; e == OA_OK && !*first && i < json_array_size(members); i++)
        e = first_run_with_model(c, o->train_init, i, first);
    if (e == OA_OK && !*first)
        e = oa_fail(c, OA_ARGUMENT,
                    "train.init = %s: no run of that comparison has a model to start from",
                    o->train_init);
    snprintf(o->train_init, sizeof o->train_init, "%s", first);
    json_decref(members);
    return e;
}

const struct oa_initial_run *oa_initial_run_of(const struct oa_entry *e, long seed)
{
    for (int i = 0; i < e->initial_run_count; i++)
        if (e->initial_runs[i].seed == seed)
            return &e->initial_runs[i];
    return e->initial_runs;
}

/* ---- the comparison that starts from it ---- */

enum oa_error oa_comparison_name_initial_run(struct comparison_session *t)
{
    t->asked = *t->r->options;
    if (!oa_is_comparison_folder(t->asked.train_init))
        return OA_OK;
    t->out->initial_comparison = oa_copy_text(t->c, t->asked.train_init);
    OA_TRY(oa_status(t->c));
    return oa_initial_runs_first(t->c, &t->asked);
}

enum oa_error oa_comparison_read_initial_runs(struct comparison_session *t)
{
    for (int i = 0; t->out->initial_comparison && i < t->out->count; i++) {
        struct oa_entry *e = &t->out->entries[i];
        const char *advice =
            e->uniform ? "; --compare.uniform_baseline off leaves the uniform baseline out" : "";
        OA_TRY(oa_initial_runs_read(t->c, t->out->initial_comparison, e->attention, advice,
                                    &e->initial_runs, &e->initial_run_count));
        for (int r = 0; r < e->initial_run_count; r++) {
            struct oa_options o = t->asked;
            struct oa_workload w = t->workload; /* refuses another tokenizer */
            snprintf(o.train_init, sizeof o.train_init, "%s", e->initial_runs[r].folder);
            OA_TRY(oa_workload_start(t->c, &o, &w));
            e->initial_runs[r].model = w.start;
        }
    }
    return OA_OK;
}

void oa_comparison_set_initial_run(const struct comparison_session *t, int entry,
                                   struct oa_options *o)
{
    const struct oa_initial_run *p = oa_initial_run_of(&t->out->entries[entry], o->train_seed);
    if (p)
        snprintf(o->train_init, sizeof o->train_init, "%s", p->folder);
}

/* ---- in words ---- */

/* "of 4, 5 from that of 1"; nothing where each has its own. */
static void add_shared_seeds(const struct oa_entry *e, int seeds, struct oa_text *out)
{
    const char *before = "of ";
    bool none = oa_runs_made(e, seeds) == 0;
    for (int s = 0; s < seeds; s++) {
        long seed = (long)e->runs[s].seed;
        if ((e->runs[s].absent && !none) || oa_initial_run_of(e, seed)->seed == seed)
            continue;
        oa_text_printf(out, "%s%ld", before, seed);
        before = ", ";
    }
    if (*before == ',')
        oa_text_printf(out, " from that of %ld", e->initial_runs[0].seed);
}

/* Once where it is the same for all attentions. */
static void add_shared_seeds_of_all(const struct oa_comparison *k, int seeds, struct oa_text *out)
{
    struct oa_text first, other;
    bool alike = true;
    oa_text_init(&first, out->context);
    oa_text_init(&other, out->context);
    add_shared_seeds(&k->entries[0], seeds, &first);
    for (int i = 1; i < k->count; i++) {
        oa_text_cut(&other, 0);
        add_shared_seeds(&k->entries[i], seeds, &other);
        alike = alike && strcmp(first.s ? first.s : "", other.s ? other.s : "") == 0;
    }
    for (int i = 0; i < (alike ? 1 : k->count); i++) {
        oa_text_cut(&other, 0);
        add_shared_seeds(&k->entries[i], seeds, &other);
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

void oa_initial_runs_sentence(const struct oa_comparison *k, int seeds, struct oa_text *out)
{
    struct oa_text shared;
    if (!k->initial_comparison)
        return;
    oa_text_init(&shared, out->context);
    add_shared_seeds_of_all(k, seeds, &shared);
    oa_text_printf(out, "Every run starts from the run of the same attention%s in %s",
                   shared.length ? "" : " and seed", k->initial_comparison);
    if (shared.length)
        oa_text_printf(out,
                       ", and of the same seed where there is one, else of the first (%s): runs "
                       "that share an initial run show less spread",
                       shared.s);
    oa_text_printf(out, ".%s",
                   !k->tuning.grid.options ? ""
                   : k->tuning.per_seed
                       ? " Trials of the tuning of a seed start from the same run as that seed's."
                       : " Trials of the tuning start from the first one, too.");
    oa_text_free(&shared);
}
