/* SPDX-License-Identifier: Apache-2.0
 * Files read whole (gzip unpacked), and folders. */
#include "base/context.h"
#include "base/gzip_reason.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- names ---- */

enum oa_error oa_path(oa_context *c, char out[OA_PATH], const char *folder, const char *name)
{
    int n = snprintf(out, OA_PATH, "%s/%s", folder, name);
    if (n < 0 || n >= OA_PATH)
        return oa_fail(c, OA_IO, "%s/%s: the path is longer than %d bytes", folder, name,
                       OA_PATH - 1);
    return OA_OK;
}

/* ---- errors ---- */

const char *oa_errno_remedy(int code)
{
    switch (code) {
    case ENOENT:
        return "check the spelling of the path and that the folder exists";
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
    return oa_fail(c, OA_IO, "cannot %s %s: %s; %s", what, path, strerror(code),
                   oa_errno_remedy(code));
}

/* ---- reading ---- */

uint64_t oa_read_limit(const char *path)
{
    const uint64_t least = (uint64_t)1 << 28, ratio = 64;
    struct stat about;
    uint64_t size = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
    return size > least / ratio ? size * ratio : least;
}

enum oa_error oa_fail_read_limit(oa_context *c, const char *path, uint64_t limit)
{
    return oa_fail(
        c, OA_UNSUPPORTED,
        "%s yields more than %.0f MiB, the limit (256 MiB for pipes and devices; for "
        "compressed data that or 64 times the file's size); store the content as a plain file",
        path, (double)limit / 1048576);
}

enum oa_error oa_reading_stopped(oa_context *c, const char *path, size_t done)
{
    int signal = done < OA_READING_PIECE ? 0 : oa_stop_requested(c);
    return signal
               ? oa_fail(c, OA_INTERRUPTED, "stopped by signal %d while reading %s", signal, path)
               : OA_OK;
}

/* A file read so far. */
struct file_content {
    char *data;
    size_t length, capacity;
    uint64_t limit;
};

static bool content_make_room(oa_context *c, struct file_content *t)
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

const char *oa_gzip_reason(const char *message)
{
    const char *colon = strncmp(message, "<fd:", 4) == 0 ? strstr(message, ": ") : NULL;
    return colon ? colon + 2 : message;
}

static enum oa_error fail_gzip(oa_context *c, gzFile gz, const char *path, size_t length)
{
    int code, system = errno;
    const char *reason = gzerror(gz, &code);
    if (code == Z_ERRNO)
        return oa_fail_system(c, system, "read", path);
    if (code == Z_MEM_ERROR)
        return oa_fail(c, OA_NO_MEMORY, "out of memory for reading %s", path);
    return oa_fail(c, OA_FORMAT,
                   "%s: gzip data damaged or truncated after %zu unpacked bytes (%s); copy or "
                   "download it again",
                   path, length,
                   code == Z_BUF_ERROR ? "unexpected end of file" : oa_gzip_reason(reason));
}

/* zlib passes plain files through. */
static enum oa_error read_content(oa_context *c, gzFile gz, const char *path,
                                  struct file_content *t)
{
    for (;;) {
        if (!content_make_room(c, t))
            return OA_NO_MEMORY;
        size_t room = t->capacity - t->length - 1;
        OA_TRY(oa_reading_stopped(c, path, t->length));
        int n = gzread(gz, t->data + t->length,
                       (unsigned)(room < OA_READING_PIECE ? room : OA_READING_PIECE));
        if (n < 0)
            return fail_gzip(c, gz, path, t->length);
        if (n == 0)
            break;
        t->length += (size_t)n;
        if (t->length > t->limit)
            return oa_fail_read_limit(c, path, t->limit);
    }
    int code;
    gzerror(gz, &code);
    if (code != Z_OK && code != Z_STREAM_END)
        return fail_gzip(c, gz, path, t->length);
    t->data[t->length] = 0;
    return OA_OK;
}

/* *size: initial capacity. */
static enum oa_error gzip_open(oa_context *c, const char *path, gzFile *gz, size_t *size)
{
    struct stat about;
    int fd;
    OA_TRY(oa_input_open(c, path, NULL, &fd));
    *size = fstat(fd, &about) == 0 ? (size_t)about.st_size + 2 : 1 << 16;
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
    struct file_content t = { .limit = oa_read_limit(path) };
    OA_TRY(gzip_open(c, path, &gz, &t.capacity));
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

/* ---- folders ---- */

static enum oa_error make_directory(oa_context *c, const char *path)
{
    struct stat about;
    if (mkdir(path, 0777) == 0)
        return OA_OK;
    int code = errno;
    if (code == EEXIST && stat(path, &about) != 0 && errno == ENOENT)
        return oa_fail(c, OA_IO, "cannot create the folder %s: dangling symbolic link; remove it",
                       path);
    if (stat(path, &about) == 0)
        return S_ISDIR(about.st_mode) ? OA_OK
                                      : oa_fail_system(c, ENOTDIR, "create the folder", path);
    return oa_fail_system(c, code, "create the folder", path);
}

enum oa_error oa_directory_make(oa_context *c, const char *path)
{
    char *part = oa_copy_text(c, path);
    if (!part)
        return OA_NO_MEMORY;
    enum oa_error e = OA_OK;
    for (char *slash = part[0] ? strchr(part + 1, '/') : NULL; slash && e == OA_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        e = make_directory(c, part);
        *slash = '/';
    }
    if (e == OA_OK)
        e = make_directory(c, part);
    oa_free(part);
    return e;
}

enum oa_error oa_fail_folder(oa_context *c, const char *folder)
{
    return errno == ENOMEM
               ? oa_fail(c, OA_NO_MEMORY, "out of memory for reading the folder %s", folder)
               : oa_fail_system(c, errno, "read the folder", folder);
}

bool oa_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool oa_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}
