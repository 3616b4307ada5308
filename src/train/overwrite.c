/* SPDX-License-Identifier: Apache-2.0 */
#include "train/overwrite.h"

#include "base/checksum.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what runs and comparisons are made of ---- */

/* A name: # stands for digits, a * at the beginning for anything. below: it is a folder. */
struct shape {
    const char *name;
    const struct shape *below;
};

#define LEFT_BY_A_KILL                                                                             \
    {                                                                                              \
        "*.#-#.tmp", NULL                                                                          \
    }
#define FILES_OF_A_RUN                                                                             \
    { "config.json", NULL }, { "tokenizer.json", NULL }, { "model.safetensors", NULL },            \
        { "log.jsonl", NULL }, { "log.jsonl.#", NULL }, { "pace.json", NULL },                     \
        { "events.out.tfevents.orthant", NULL }, { "checkpoint-#.safetensors", NULL },             \
        { "best-#.safetensors", NULL }, { "average-#.safetensors", NULL }, { "init.json", NULL },  \
        LEFT_BY_A_KILL

static const struct shape run[] = { FILES_OF_A_RUN, { ".lock", NULL }, { NULL, NULL } };
static const struct shape run_of_comparison[] = {
    FILES_OF_A_RUN, { "run.json", NULL }, { "result.json", NULL }, { ".lock", NULL }, { NULL, NULL }
};
static const struct shape seeds[] = { { "seed-#", run_of_comparison }, { NULL, NULL } };
static const struct shape attentions[] = { { "attention-#", seeds }, { NULL, NULL } };
static const struct shape sources[] = { { "init-#", run_of_comparison },
                                        { "order-#", run_of_comparison },
                                        { "dropout-#", run_of_comparison },
                                        { "split-#", run_of_comparison },
                                        { NULL, NULL } };
static const struct shape varied[] = { { "attention-#", sources }, { NULL, NULL } };
static const struct shape cells[] = { { "*", seeds }, { NULL, NULL } };
static const struct shape tuned[] = { { "attention-#", cells }, { NULL, NULL } };
static const struct shape comparison[] = { { "contest.json", NULL },
                                           { "spending.json", NULL },
                                           { "speed.json", NULL },
                                           { "results.json", NULL },
                                           { "report.html", NULL },
                                           { "report.md", NULL },
                                           { "report.svg", NULL },
                                           { "runs", attentions },
                                           { "vary", varied },
                                           { "tune", tuned },
                                           LEFT_BY_A_KILL,
                                           { ".lock", NULL },
                                           { NULL, NULL } };

static const struct {
    const struct shape *shape;
    const char *marker, *is;
} made[] = { [OA_MADE_RUN] = { run, "config.json", "run" },
             [OA_MADE_COMPARISON] = { comparison, "contest.json", "comparison" } };

static bool fits(const char *pattern, const char *name)
{
    if (*pattern == '*') {
        while (*name && !fits(pattern + 1, name))
            name++;
        return fits(pattern + 1, name);
    }
    if (*pattern == '#') {
        size_t digits = strspn(name, "0123456789");
        return digits > 0 && fits(pattern + 1, name + digits);
    }
    return *pattern == *name && (!*pattern || fits(pattern + 1, name + 1));
}

static const struct shape *shape_of(const struct shape *shapes, const char *name)
{
    for (; shapes->name; shapes++)
        if (fits(shapes->name, name))
            return shapes;
    return NULL;
}

/* ---- walking ---- */

/* Folders are opened one within the other and never through a link. */
struct walk {
    oa_context *c;
    enum oa_made what;
    bool remove; /* else everything is only looked at */
};

static enum oa_error visit(const struct walk *w, int folder, const char *path,
                           const struct shape *shapes);

static enum oa_error fail_io(oa_context *c, const char *what, const char *path)
{
    return oa_fail(c, OA_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static enum oa_error refuse(const struct walk *w, const char *path, const char *name)
{
    return oa_fail(w->c, OA_ARGUMENT,
                   "--overwrite: %s/%s is nothing that a %s consists of, so nothing was removed: "
                   "move it away, or give "
                   "another --out",
                   path, name, made[w->what].is);
}

static enum oa_error visit_folder(const struct walk *w, int folder, const char *path,
                                  const char *name, const struct shape *below)
{
    char inner[OA_PATH];
    OA_TRY(oa_path(w->c, inner, path, name));
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail_io(w->c, "open", inner);
    OA_TRY(visit(w, fd, inner, below));
    if (w->remove && unlinkat(folder, name, AT_REMOVEDIR) != 0)
        return fail_io(w->c, "remove", inner);
    return OA_OK;
}

/* The marker and the lock stay until the end. */
static bool stays(const struct walk *w, const struct shape *shapes, const char *name)
{
    return shapes == made[w->what].shape &&
           (strcmp(name, made[w->what].marker) == 0 || strcmp(name, ".lock") == 0);
}

static enum oa_error visit_entry(const struct walk *w, int folder, const char *path,
                                 const char *name, const struct shape *shapes)
{
    struct stat about;
    const struct shape *s = shape_of(shapes, name);
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_io(w->c, "read", path);
    if (!s || (s->below ? !S_ISDIR(about.st_mode) : !S_ISREG(about.st_mode)))
        return refuse(w, path, name);
    if (s->below)
        return visit_folder(w, folder, path, name, s->below);
    if (w->remove && !stays(w, shapes, name) && unlinkat(folder, name, 0) != 0)
        return fail_io(w->c, "remove", path);
    return OA_OK;
}

/* Takes the descriptor. */
static enum oa_error visit(const struct walk *w, int folder, const char *path,
                           const struct shape *shapes)
{
    enum oa_error e = OA_OK;
    DIR *d = fdopendir(folder);
    if (!d) {
        close(folder);
        return fail_io(w->c, "read", path);
    }
    for (struct dirent *entry; e == OA_OK && (errno = 0, entry = readdir(d));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            e = visit_entry(w, folder, path, entry->d_name, shapes);
    if (e == OA_OK && errno)
        e = fail_io(w->c, "read", path);
    closedir(d);
    return e;
}

static enum oa_error visit_all(const struct walk *w, const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? fail_io(w->c, "open", folder) : visit(w, fd, folder, made[w->what].shape);
}

/* ---- whose it is ---- */

static const char whose[] =
    "--overwrite: it is not known whose folder this is; remove it yourself, or give another --out";

static enum oa_error check_comparison(oa_context *c, const char *path)
{
    json_t *root;
    OA_TRY(oa_checksummed_read(c, path, whose, &root));
    bool ours = json_is_object(json_object_get(root, "fingerprint")) &&
                json_is_array(json_object_get(root, "members"));
    json_decref(root);
    return ours ? OA_OK : oa_fail(c, OA_ARGUMENT, "%s: %s", path, whose);
}

static enum oa_error check_run(oa_context *c, const char *path)
{
    struct oa_options o;
    struct oa_model_form form;
    oa_options_default(&o);
    return oa_config_load(c, path, &o, &form);
}

/* Or a failure was recorded. */
static bool holds_something(oa_context *c, const char *folder)
{
    bool found = false;
    DIR *d = opendir(folder);
    if (!d && errno == ENOENT)
        return false;
    while (d && !found) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e)
            break;
        found = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
                strcmp(e->d_name, ".lock") != 0 && !fits("*.#-#.tmp", e->d_name);
    }
    if (!found && errno)
        found = oa_fail_folder(c, folder) != OA_OK;
    if (d)
        closedir(d);
    return found;
}

static enum oa_error check_marker(oa_context *c, const char *folder, enum oa_made what)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, made[what].marker));
    if (!oa_file_exists(path))
        return oa_fail(c, OA_ARGUMENT,
                       "--overwrite: %s holds no %s, there is no %s in it, so nothing was removed: "
                       "give another --out",
                       folder, made[what].is, made[what].marker);
    return what == OA_MADE_RUN ? check_run(c, path) : check_comparison(c, path);
}

static enum oa_error has_marker(oa_context *c, const char *folder, enum oa_made what, bool *has)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, made[what].marker));
    *has = oa_file_exists(path);
    return OA_OK;
}

enum oa_error oa_folder_check_kind(oa_context *c, const char *folder, enum oa_made what)
{
    enum oa_made other = what == OA_MADE_RUN ? OA_MADE_COMPARISON : OA_MADE_RUN;
    bool own, others;
    OA_TRY(has_marker(c, folder, what, &own));
    OA_TRY(has_marker(c, folder, other, &others));
    if (own || !others)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "%s holds a %s, and a %s needs a folder of its own: give another --out", folder,
                   made[other].is, made[what].is);
}

/* Cuts a path down to the comparison whose runs, trials or varied runs it is among; false: there is
 * none. */
static bool cut_to_comparison(char path[PATH_MAX])
{
    static const char *const parts[] = { "runs", "vary", "tune" };
    for (char *slash; (slash = strrchr(path, '/')) && slash > path;) {
        char marker[PATH_MAX + 16];
        *slash = 0;
        snprintf(marker, sizeof marker, "%s/%s", path, made[OA_MADE_COMPARISON].marker);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (strcmp(slash + 1, parts[i]) == 0 && oa_file_exists(marker))
                return true;
    }
    return false;
}

enum oa_error oa_folder_check_outside(oa_context *c, const char *folder)
{
    char path[OA_PATH], real[PATH_MAX];
    OA_TRY(oa_path(c, path, folder, "run.json"));
    bool there = realpath(folder, real) != NULL, marked = oa_file_exists(path);
    bool below = there && cut_to_comparison(real);
    if (!marked && !below)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "%s belongs to a comparison%s%s, which alone trains there: the same 'orthant "
                   "compare' goes on with "
                   "it; to train a model further start a run of its own from it, with --init and "
                   "another --out",
                   folder, below ? ", " : " (run.json)", below ? real : "");
}

enum oa_error oa_overwrite_check(oa_context *c, const char *folder, enum oa_made what)
{
    if (!holds_something(c, folder))
        return OA_OK;
    OA_TRY(oa_status(c));
    OA_TRY(check_marker(c, folder, what));
    return visit_all(&(struct walk){ .c = c, .what = what }, folder);
}

enum oa_error oa_overwrite(oa_context *c, const char *folder, enum oa_made what)
{
    char path[OA_PATH];
    OA_TRY(oa_overwrite_check(c, folder, what));
    if (!holds_something(c, folder))
        return OA_OK;
    OA_TRY(oa_status(c));
    OA_TRY(visit_all(&(struct walk){ .c = c, .what = what, .remove = true }, folder));
    OA_TRY(oa_path(c, path, folder, made[what].marker));
    return unlink(path) == 0 ? OA_OK : fail_io(c, "remove", path);
}
