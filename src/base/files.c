/* SPDX-License-Identifier: Apache-2.0
 *
 * Files: read whole (gzip unpacked), written so that a crash at any moment leaves the old file or the new one.
 */
#include "base/context.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define PIECE ((size_t)1 << 30) /* bytes a call of read or write at most */

/* ---- errors -------------------------------------------------------------------------------------------------- */

static const char *remedy(int code)
{
    switch (code) {
    case ENOENT:
        return "check that the path is spelled right and the folder exists";
    case EACCES:
    case EPERM:
        return "change its permissions or choose another place";
    case ENOSPC:
    case EDQUOT:
        return "free some space or choose another place";
    case EROFS:
        return "choose a place that can be written to";
    case EISDIR:
        return "give the name of a file in it";
    case ENOTDIR:
        return "a part of the path is a file, not a folder";
    case ENAMETOOLONG:
        return "choose a shorter name";
    case EMFILE:
    case ENFILE:
        return "raise the limit of open files (ulimit -n)";
    case EFBIG:
        return "raise the limit of the file size (ulimit -f) or choose another file system";
    default:
        return "check the disk";
    }
}

enum oa_error oa_fail_system(oa_context *c, int code, const char *what, const char *path)
{
    return oa_fail(c, OA_IO, "cannot %s %s: %s; %s", what, path, strerror(code), remedy(code));
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* What was read so far. */
struct content {
    char *data;
    size_t length, capacity;
};

static bool make_room(oa_context *c, struct content *t)
{
    if (t->length + 1 < t->capacity)
        return true;
    size_t capacity = 2 * t->capacity;
    char *data = oa_grow(c, t->data, t->length, capacity);
    if (!data)
        return false;
    t->data = data;
    t->capacity = capacity;
    return true;
}

static enum oa_error fail_unpack(oa_context *c, gzFile gz, const char *path, size_t length)
{
    int code, system = errno;
    const char *reason = gzerror(gz, &code);
    if (code == Z_ERRNO)
        return oa_fail_system(c, system, "read", path);
    return oa_fail(c, OA_FORMAT, "%s: the gzip data is damaged or cut off after %zu unpacked bytes (%s); get it again",
                   path, length, code == Z_BUF_ERROR ? "unexpected end of file" : reason);
}

/* zlib hands out a plain file as it is. */
static enum oa_error read_content(oa_context *c, gzFile gz, const char *path, struct content *t)
{
    for (;;) {
        if (!make_room(c, t))
            return OA_NO_MEMORY;
        size_t room = t->capacity - t->length - 1;
        int n = gzread(gz, t->data + t->length, (unsigned)(room < PIECE ? room : PIECE));
        if (n < 0)
            return fail_unpack(c, gz, path, t->length);
        if (n == 0)
            break;
        t->length += (size_t)n;
    }
    int code;
    gzerror(gz, &code);
    if (code != Z_OK && code != Z_STREAM_END)
        return fail_unpack(c, gz, path, t->length);
    t->data[t->length] = 0;
    return OA_OK;
}

/* An open file, ready to be unpacked; *size is how much room to make first. */
static enum oa_error open_packed(oa_context *c, const char *path, gzFile *gz, size_t *size)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return oa_fail_system(c, errno, "read", path);
    if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
        close(fd);
        return oa_fail_system(c, EISDIR, "read", path);
    }
    *size = S_ISREG(about.st_mode) ? (size_t)about.st_size + 2 : 1 << 16;
    *gz = gzdopen(fd, "rb");
    if (*gz) {
        gzbuffer(*gz, 1 << 17);
        return OA_OK;
    }
    close(fd);
    return oa_fail(c, OA_NO_MEMORY, "out of memory for reading %s", path);
}

enum oa_error oa_file_read(oa_context *c, const char *path, char **data, size_t *length)
{
    gzFile gz;
    struct content t = { NULL, 0, 0 };
    OA_TRY(open_packed(c, path, &gz, &t.capacity));
    t.data = oa_alloc_raw(c, t.capacity);
    enum oa_error e = t.data ? read_content(c, gz, path, &t) : OA_NO_MEMORY;
    gzclose(gz);
    if (e != OA_OK) {
        oa_free(t.data);
        return e;
    }
    *data = t.data;
    *length = t.length;
    return OA_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

static enum oa_error write_all(oa_context *c, int fd, const char *path, const char *data, size_t length, size_t before)
{
    for (size_t done = 0; done < length;) {
        size_t wanted = length - done < PIECE ? length - done : PIECE;
        ssize_t n = write(fd, data + done, wanted);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int code = errno;
            return oa_fail(c, OA_IO, "cannot write %s: %s after %zu bytes, with %zu more to write at least; %s", path,
                           strerror(code), before + done, length - done, remedy(code));
        }
        done += (size_t)n;
    }
    return OA_OK;
}

/* Renaming over a device or a pipe would destroy it (think of /dev/null), so these are written to directly. */
static bool is_special(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

enum oa_error oa_new_file_open(struct oa_new_file *f, oa_context *c, const char *path)
{
    *f = (struct oa_new_file){ .context = c, .path = path, .fd = -1 };
    if (is_special(path)) {
        f->fd = open(path, O_WRONLY | O_CLOEXEC);
        return f->fd < 0 ? oa_fail_system(c, errno, "write", path) : OA_OK;
    }
    size_t bytes = strlen(path) + sizeof ".tmp";
    f->temporary = oa_alloc(c, bytes);
    if (!f->temporary)
        return OA_NO_MEMORY;
    snprintf(f->temporary, bytes, "%s.tmp", path);
    f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd >= 0)
        return OA_OK;
    enum oa_error e = oa_fail_system(c, errno, "write", f->temporary);
    oa_free(f->temporary);
    f->temporary = NULL; /* not ours to remove */
    return e;
}

enum oa_error oa_new_file_add(struct oa_new_file *f, const void *data, size_t length)
{
    OA_TRY(write_all(f->context, f->fd, f->path, data, length, f->written));
    f->written += length;
    return OA_OK;
}

/* The name itself is on the disk only when its folder is. Some file systems cannot sync a folder: nothing to be done.
 */
static enum oa_error sync_folder(oa_context *c, const char *path)
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

static enum oa_error put_in_place(struct oa_new_file *f)
{
    if (fsync(f->fd) != 0)
        return oa_fail_system(f->context, errno, "write", f->path);
    int code = close(f->fd) == 0 ? 0 : errno;
    f->fd = -1;
    if (code)
        return oa_fail_system(f->context, code, "write", f->path);
    if (rename(f->temporary, f->path) != 0)
        return oa_fail_system(f->context, errno, "write", f->path);
    return OA_OK;
}

enum oa_error oa_new_file_finish(struct oa_new_file *f, enum oa_error so_far)
{
    enum oa_error e = so_far;
    if (e == OA_OK && f->temporary)
        e = put_in_place(f);
    if (f->fd >= 0)
        close(f->fd);
    if (e != OA_OK && f->temporary)
        unlink(f->temporary);
    else if (f->temporary)
        e = sync_folder(f->context, f->path);
    oa_free(f->temporary);
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
    enum oa_error e = write_all(c, fd, path, data, length, 0);
    if (close(fd) != 0 && e == OA_OK)
        e = oa_fail_system(c, errno, "write", path);
    return e;
}

/* ---- folders ------------------------------------------------------------------------------------------------- */

static enum oa_error make_one(oa_context *c, const char *path)
{
    struct stat about;
    if (mkdir(path, 0777) == 0)
        return OA_OK;
    int code = errno;
    if (stat(path, &about) == 0)
        return S_ISDIR(about.st_mode) ? OA_OK : oa_fail_system(c, ENOTDIR, "make the folder", path);
    return oa_fail_system(c, code, "make the folder", path);
}

enum oa_error oa_directory_make(oa_context *c, const char *path)
{
    char *part = oa_copy_text(c, path);
    if (!part)
        return OA_NO_MEMORY;
    enum oa_error e = OA_OK;
    for (char *slash = part[0] ? strchr(part + 1, '/') : NULL; slash && e == OA_OK; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        e = make_one(c, part);
        *slash = '/';
    }
    if (e == OA_OK)
        e = make_one(c, part);
    oa_free(part);
    return e;
}

bool oa_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}
