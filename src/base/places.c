/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a result can be written where it is wanted, asked before the work that makes it. Nothing
 * is touched. The answer may be out of date when the work is done; writing then fails as it would
 * have.
 */
#include "base/context.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of a path, in the same memory. */
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
    bool there = stat(path, &about) == 0;
    if (there && S_ISDIR(about.st_mode))
        return oa_fail_system(c, EISDIR, "write", path);
    if (there && !S_ISREG(about.st_mode)) /* a device or a pipe is written to as it is */
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
    const char *there = copy; /* the nearest folder that exists: the others will be made in it */
    while (access(there, F_OK) != 0 && errno == ENOENT && strcmp(there, ".") != 0 &&
           strcmp(there, "/") != 0)
        there = parent_folder(copy);
    enum oa_error e = check_writable_folder(c, there, path);
    oa_free(copy);
    return e;
}
