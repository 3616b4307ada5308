/* SPDX-License-Identifier: Apache-2.0
 * Atomic writes: a temporary file in the same folder is written, synced and renamed over the old
 * file, so that a crash leaves the old file or the new one. */
#include "base/context.h"
#include "base/folder_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 30) /* most bytes per write(2) */

enum oa_error oa_write_all(oa_context *c, int fd, const char *path, const char *data, size_t length,
                           size_t before)
{
    for (size_t done = 0; done < length;) {
        size_t wanted = length - done < PIECE ? length - done : PIECE;
        ssize_t n = write(fd, data + done, wanted);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            bool ready;
            OA_TRY(oa_poll_briefly(c, path, fd, POLLOUT, &ready));
            continue;
        }
        if (n < 0) {
            int code = errno;
            return oa_fail(
                c, OA_IO,
                "cannot write %s: %s after %zu bytes, with at least %zu left to write; %s", path,
                strerror(code), before + done, length - done, oa_errno_remedy(code));
        }
        done += (size_t)n;
    }
    return OA_OK;
}

/* ---- names ---- */

/* Sets `place`: a symbolic link stays, and its target is replaced. */
static enum oa_error new_file_resolve(struct oa_new_file *f)
{
    struct stat about;
    bool link = lstat(f->path, &about) == 0 && S_ISLNK(about.st_mode);
    char *target = link ? realpath(f->path, NULL) : NULL;
    if (link && !target)
        return oa_fail(f->context, OA_IO, "cannot write %s: dangling symbolic link (%s); remove it",
                       f->path, strerror(errno));
    f->place = oa_copy_text(f->context, target ? target : f->path);
    free(target);
    return f->place ? OA_OK : OA_NO_MEMORY;
}

/* Creates NAME.PID-N.tmp with the first free N. O_EXCL and O_NOFOLLOW: names are predictable, and
 * an existing file or link must not be opened. */
static int new_file_temporary(struct oa_new_file *f, size_t room)
{
    enum { NAMES = 10000 };
    for (int n = 0; n < NAMES; n++) {
        snprintf(f->temporary, room, "%s.%ld-%d.tmp", f->place, (long)getpid(), n);
        int fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool is_temporary_name(const char *name)
{
    long pid;
    int n, end = 0;
    const char *tail = strrchr(name, '.');
    if (!tail || strcmp(tail, ".tmp") != 0)
        return false;
    while (tail > name && strchr("0123456789-", tail[-1]))
        tail--;
    return tail > name && tail[-1] == '.' && sscanf(tail, "%ld-%d.tmp%n", &pid, &n, &end) == 2 &&
           end && !tail[end];
}

void oa_folder_remove_temporaries(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (is_temporary_name(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

/* ---- a new file ---- */

enum oa_error oa_new_file_open(struct oa_new_file *f, oa_context *c, const char *path)
{
    *f = (struct oa_new_file){ .context = c, .path = path, .fd = -1 };
    struct stat about;
    /* Renaming over a device or pipe (/dev/null) would replace it: write to it directly. */
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return oa_special_open(c, path, &f->fd);
    OA_TRY(new_file_resolve(f));
    size_t room = strlen(f->place) + 64;
    f->temporary = oa_alloc(c, room);
    if (!f->temporary)
        return OA_NO_MEMORY;
    f->fd = new_file_temporary(f, room);
    if (f->fd >= 0)
        return OA_OK;
    enum oa_error e = oa_fail_system(c, errno, "write", path);
    oa_free(f->temporary);
    f->temporary = NULL; /* not ours to remove */
    return e;
}

enum oa_error oa_new_file_add(struct oa_new_file *f, const void *data, size_t length)
{
    OA_TRY(oa_write_all(f->context, f->fd, f->path, data, length, f->written));
    f->written += length;
    return OA_OK;
}

/* Makes the rename durable. EINVAL: the file system cannot sync folders. */
static enum oa_error sync_parent_folder(oa_context *c, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = oa_copy_text(c, slash ? path : ".");
    if (!folder)
        return OA_NO_MEMORY;
    if (slash)
        folder[slash == path ? 1 : slash - path] = 0;
    enum oa_error e = OA_OK;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        if (fsync(fd) != 0 && errno != EINVAL)
            e = oa_fail_system(c, errno, "sync the folder", folder);
        close(fd);
    }
    oa_free(folder);
    return e;
}

static enum oa_error new_file_rename(struct oa_new_file *f)
{
    if (fsync(f->fd) != 0)
        return oa_fail_system(f->context, errno, "write", f->path);
    int code = close(f->fd) == 0 ? 0 : errno;
    f->fd = -1;
    if (code)
        return oa_fail_system(f->context, code, "write", f->path);
    if (rename(f->temporary, f->place) != 0)
        return oa_fail_system(f->context, errno, "write", f->path);
    return OA_OK;
}

enum oa_error oa_new_file_finish(struct oa_new_file *f, enum oa_error so_far)
{
    enum oa_error e = so_far;
    if (e == OA_OK && f->temporary)
        e = new_file_rename(f);
    if (f->fd >= 0)
        close(f->fd);
    if (e != OA_OK && f->temporary)
        unlink(f->temporary);
    else if (f->temporary)
        e = sync_parent_folder(f->context, f->place);
    oa_free(f->temporary);
    oa_free(f->place);
    return e;
}

enum oa_error oa_file_write(oa_context *c, const char *path, const void *data, size_t length)
{
    struct oa_new_file f;
    enum oa_error e = oa_new_file_open(&f, c, path);
    if (e == OA_OK)
        e = oa_new_file_add(&f, data, length);
    return oa_new_file_finish(&f, e);
}

enum oa_error oa_file_append(oa_context *c, const char *path, const void *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return oa_fail_system(c, errno, "write", path);
    enum oa_error e = oa_write_all(c, fd, path, data, length, 0);
    if (close(fd) != 0 && e == OA_OK)
        e = oa_fail_system(c, errno, "write", path);
    return e;
}
