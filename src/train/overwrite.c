/* SPDX-License-Identifier: Apache-2.0 */
#include "train/overwrite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- runs ---- */

static enum oa_error check_run_marker(oa_context *c, const char *path)
{
    struct oa_options o;
    struct oa_model_form form;
    oa_options_default(&o);
    return oa_config_load(c, path, &o, &form);
}

const struct oa_folder_name oa_run_names[] = { { "config.json", NULL },
                                               { "tokenizer.json", NULL },
                                               { "model.safetensors", NULL },
                                               { "log.jsonl", NULL },
                                               { "log.jsonl.#", NULL },
                                               { "pace.json", NULL },
                                               { "events.out.tfevents.orthant", NULL },
                                               { "checkpoint-#.safetensors", NULL },
                                               { "best-#.safetensors", NULL },
                                               { "average-#.safetensors", NULL },
                                               { "init.json", NULL },
                                               { "layout-#.txt", NULL },
                                               { OA_TEMPORARY_NAME, NULL },
                                               { ".lock", NULL },
                                               { NULL, NULL } };
const struct oa_folder_kind oa_run_folder = { "run", "config.json", oa_run_names,
                                              check_run_marker };

/* ---- names ---- */

static bool name_matches(const char *pattern, const char *name)
{
    if (*pattern == '*') {
        while (*name && !name_matches(pattern + 1, name))
            name++;
        return name_matches(pattern + 1, name);
    }
    if (*pattern == '#') {
        size_t digits = strspn(name, "0123456789");
        return digits > 0 && name_matches(pattern + 1, name + digits);
    }
    return *pattern == *name && (!*pattern || name_matches(pattern + 1, name + 1));
}

static const struct oa_folder_name *find_folder_name(const struct oa_folder_name *names,
                                                     const char *name)
{
    while (names && names->name) {
        if (name_matches(names->name, name))
            return names;
        names++;
        names = names->name ? names : names->below;
    }
    return NULL;
}

/* ---- walking ---- */

/* Folders are opened one within the other and never through a link. */
struct folder_walk {
    oa_context *c;
    const struct oa_folder_kind *kind;
    bool remove; /* else everything is only checked */
};

static enum oa_error walk_folder(const struct folder_walk *w, int folder, const char *path,
                                 const struct oa_folder_name *names);

static enum oa_error fail_to(oa_context *c, const char *what, const char *path)
{
    return oa_fail(c, OA_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static enum oa_error walk_subfolder(const struct folder_walk *w, int folder, const char *path,
                                    const char *name, const struct oa_folder_name *below)
{
    char inner[OA_PATH];
    OA_TRY(oa_path(w->c, inner, path, name));
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail_to(w->c, "open", inner);
    OA_TRY(walk_folder(w, fd, inner, below));
    if (w->remove && unlinkat(folder, name, AT_REMOVEDIR) != 0)
        return fail_to(w->c, "remove", inner);
    return OA_OK;
}

static enum oa_error walk_entry(const struct folder_walk *w, int folder, const char *path,
                                const char *name, const struct oa_folder_name *names)
{
    struct stat about;
    const struct oa_folder_name *n = find_folder_name(names, name);
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_to(w->c, "read", path);
    if (!n || (n->below ? !S_ISDIR(about.st_mode) : !S_ISREG(about.st_mode)))
        return oa_fail(
            w->c, OA_ARGUMENT,
            "--overwrite: %s/%s does not belong to a %s, so nothing was removed: move it "
            "away, or give another --out",
            path, name, w->kind->title);
    if (n->below)
        return walk_subfolder(w, folder, path, name, n->below);
    bool last = names == w->kind->names &&
                (strcmp(name, w->kind->marker) == 0 || strcmp(name, ".lock") == 0);
    if (w->remove && !last && unlinkat(folder, name, 0) != 0)
        return fail_to(w->c, "remove", path);
    return OA_OK;
}

/* Takes the descriptor. */
static enum oa_error walk_folder(const struct folder_walk *w, int folder, const char *path,
                                 const struct oa_folder_name *names)
{
    enum oa_error e = OA_OK;
    DIR *d = fdopendir(folder);
    if (!d) {
        close(folder);
        return fail_to(w->c, "read", path);
    }
    for (struct dirent *entry; e == OA_OK && (errno = 0, entry = readdir(d));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            e = walk_entry(w, folder, path, entry->d_name, names);
    if (e == OA_OK && errno)
        e = fail_to(w->c, "read", path);
    closedir(d);
    return e;
}

static enum oa_error walk_from(oa_context *c, const char *folder, const struct oa_folder_kind *kind,
                               bool remove)
{
    struct folder_walk w = { c, kind, remove };
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? fail_to(c, "open", folder) : walk_folder(&w, fd, folder, kind->names);
}

/* ---- the folder ---- */

/* Other files than a lock and temporary ones; also true after a recorded failure. */
static bool folder_has_files(oa_context *c, const char *folder)
{
    bool found = false;
    DIR *d = opendir(folder);
    if (!d && errno == ENOENT)
        return false;
    for (struct dirent *e; d && !found && (errno = 0, e = readdir(d));)
        found = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
                strcmp(e->d_name, ".lock") != 0 && !name_matches(OA_TEMPORARY_NAME, e->d_name);
    if (!found && errno)
        found = oa_fail_folder(c, folder) != OA_OK;
    if (d)
        closedir(d);
    return found;
}

enum oa_error oa_folder_check_kind(oa_context *c, const char *folder,
                                   const struct oa_folder_kind *own,
                                   const struct oa_folder_kind *other)
{
    char mine[OA_PATH], theirs[OA_PATH];
    OA_TRY(oa_path(c, mine, folder, own->marker));
    OA_TRY(oa_path(c, theirs, folder, other->marker));
    if (oa_file_exists(mine) || !oa_file_exists(theirs))
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "%s contains a %s, and a %s needs a folder of its own: give another --out",
                   folder, other->title, own->title);
}

enum oa_error oa_overwrite_check(oa_context *c, const char *folder,
                                 const struct oa_folder_kind *kind)
{
    char path[OA_PATH];
    if (!folder_has_files(c, folder))
        return OA_OK;
    OA_TRY(oa_status(c));
    OA_TRY(oa_path(c, path, folder, kind->marker));
    if (!oa_file_exists(path))
        return oa_fail(c, OA_ARGUMENT,
                       "--overwrite: %s contains no %s (no %s), so nothing was removed: give "
                       "another --out",
                       folder, kind->title, kind->marker);
    OA_TRY(kind->check_marker(c, path));
    return walk_from(c, folder, kind, false);
}

enum oa_error oa_overwrite(oa_context *c, const char *folder, const struct oa_folder_kind *kind)
{
    char path[OA_PATH];
    OA_TRY(oa_overwrite_check(c, folder, kind));
    if (!folder_has_files(c, folder))
        return OA_OK;
    OA_TRY(oa_status(c));
    OA_TRY(walk_from(c, folder, kind, true));
    OA_TRY(oa_path(c, path, folder, kind->marker));
    return unlink(path) == 0 ? OA_OK : fail_to(c, "remove", path);
}
