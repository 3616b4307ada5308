/* SPDX-License-Identifier: Apache-2.0
 * Pipes. The other end may stay silent for ever, so waiting is done in intervals, and the stop flag
 * is polled between them. */
#include "base/context.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLL_MILLISECONDS = 100 };

enum oa_error oa_poll_briefly(oa_context *c, const char *path, int fd, short events, bool *ready)
{
    struct pollfd end = { .fd = fd, .events = events };
    int signal = oa_stop_requested(c);
    *ready = false;
    if (signal)
        return oa_fail(c, OA_INTERRUPTED, "stopped by signal %d while waiting for %s", signal,
                       path);
    *ready = poll(&end, 1, POLL_MILLISECONDS) > 0;
    return OA_OK;
}

/* ---- reading ---- */

struct pipe_copy {
    oa_context *context;
    const char *path;
    int from, to;
};

/* *length: 0 at the end of the file. Until a writer opens the pipe, poll reports nothing to read.
 */
static enum oa_error pipe_read(const struct pipe_copy *s, char *piece, size_t room, size_t *length)
{
    ssize_t n;
    bool ready;
    do {
        OA_TRY(oa_poll_briefly(s->context, s->path, s->from, POLLIN, &ready));
        n = ready ? read(s->from, piece, room) : -1;
    } while (n < 0 && (!ready || errno == EINTR || errno == EAGAIN));
    *length = n > 0 ? (size_t)n : 0;
    return n < 0 ? oa_fail_system(s->context, errno, "read", s->path) : OA_OK;
}

static enum oa_error pipe_copy_all(const struct pipe_copy *s)
{
    char piece[1 << 16];
    uint64_t limit = oa_read_limit(s->path), copied = 0;
    size_t length;
    do {
        OA_TRY(pipe_read(s, piece, sizeof piece, &length));
        OA_TRY(oa_write_all(s->context, s->to, s->path, piece, length, copied));
        copied += length;
        if (copied > limit)
            return oa_fail_read_limit(s->context, s->path, limit);
    } while (length);
    if (lseek(s->to, 0, SEEK_SET) != 0)
        return oa_fail_system(s->context, errno, "read", s->path);
    return OA_OK;
}

/* Replaces *fd by a memfd with the content. */
static enum oa_error pipe_to_memory(oa_context *c, const char *path, int *fd)
{
    struct pipe_copy s = {
        .context = c, .path = path, .from = *fd, .to = memfd_create("orthant", MFD_CLOEXEC)
    };
    enum oa_error e = s.to < 0 ? oa_fail_system(c, errno, "read", path) : pipe_copy_all(&s);
    close(s.from);
    if (e != OA_OK && s.to >= 0)
        close(s.to);
    *fd = s.to;
    return e;
}

enum oa_error oa_input_open(oa_context *c, const char *path, const char *remedy, int *fd)
{
    struct stat about;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for a writer */
    int code = *fd < 0 || fstat(*fd, &about) != 0 ? errno : S_ISDIR(about.st_mode) ? EISDIR : 0;
    if (code == 0)
        return S_ISREG(about.st_mode) ? OA_OK : pipe_to_memory(c, path, fd);
    if (*fd >= 0)
        close(*fd);
    return oa_fail(c, OA_IO, "cannot read %s: %s; %s", path, strerror(code),
                   remedy ? remedy : oa_errno_remedy(code));
}

/* ---- writing ---- */

enum oa_error oa_special_open(oa_context *c, const char *path, int *fd)
{
    struct stat about;
    bool pipe = stat(path, &about) == 0 && S_ISFIFO(about.st_mode), ready;
    while ((*fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0 && pipe &&
           errno == ENXIO) /* no reader yet */
        OA_TRY(oa_poll_briefly(c, path, -1, 0, &ready));
    return *fd < 0 ? oa_fail_system(c, errno, "write", path) : OA_OK;
}
