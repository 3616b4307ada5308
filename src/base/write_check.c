/* SPDX-License-Identifier: Apache-2.0
 * Checks before long work that its result can be written. Nothing is created; the answer may be out
 * of date when the work is done. */
#include "base/context.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Cuts the last name off `path` in place; "." when there is none. */
static const char *parent_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    slash[slash == path ? 1 : 0] = 0;
    return path;
}

static enum oa_error check_writable_folder(oa_context *c, const char *folder, const char *path)
{
    struct stat about;
    if (stat(folder, &about) != 0)
        return oa_fail_system(c, errno, "write", path);
    if (!S_ISDIR(about.st_mode))
        return oa_fail_system(c, ENOTDIR, "write", path);
    return access(folder, W_OK | X_OK) == 0 ? OA_OK : oa_fail_system(c, errno, "write", path);
}

enum oa_error oa_file_check(oa_context *c, const char *path)
{
    struct stat about;
    bool exists = stat(path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
        return oa_fail_system(c, EISDIR, "write", path);
    if (exists && !S_ISREG(about.st_mode)) /* a device or a pipe is written to as it is */
        return access(path, W_OK) == 0 ? OA_OK : oa_fail_system(c, errno, "write", path);
    char *copy = oa_copy_text(c, path);
    if (!copy)
        return OA_NO_MEMORY;
    enum oa_error e = check_writable_folder(c, parent_folder(copy), path);
    oa_free(copy);
    return e;
}

enum oa_error oa_directory_check(oa_context *c, const char *path)
{
    char *copy = oa_copy_text(c, path);
    if (!copy)
        return OA_NO_MEMORY;
    const char *existing = copy; /* the nearest ancestor that exists */
    while (access(existing, F_OK) != 0 && errno == ENOENT && strcmp(existing, ".") != 0 &&
           strcmp(existing, "/") != 0)
        existing = parent_folder(copy);
    enum oa_error e = check_writable_folder(c, existing, path);
    oa_free(copy);
    return e;
}
