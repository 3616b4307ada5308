/* SPDX-License-Identifier: Apache-2.0
 * Reading files and the standard input, whole or line by line. While it waits, a stop that is asked for is noticed:
 * reads that a signal interrupts would be begun again by themselves. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BETWEEN_LOOKS = 200 };  /* milliseconds */
#define MOST ((size_t)1 << 28) /* bytes kept at a time: a device such as /dev/zero has no end */

/* False when a stop was asked for first. */
static bool wait_for(int fd)
{
    struct pollfd input = { .fd = fd, .events = POLLIN };
    while (!stop_asked())
        if (poll(&input, 1, BETWEEN_LOOKS) > 0)
            return true;
    return false;
}

static bool make_room(struct input *in)
{
    if (in->length > MOST) {
        errno = EFBIG;
        return false;
    }
    if (in->length + 1 < in->room)
        return true;
    size_t room = in->room ? 2 * in->room : 1 << 16;
    char *data = realloc(in->data, room);
    if (!data) {
        errno = ENOMEM;
        return false;
    }
    in->data = data;
    in->room = room;
    return true;
}

/* Bytes that were added; 0 at the end and when a stop was asked for, -1 after an error (errno; EFBIG: it has no end).
 */
static ssize_t read_more(struct input *in)
{
    ssize_t n;
    if (!make_room(in))
        return -1;
    do
        n = wait_for(in->fd) ? read(in->fd, in->data + in->length, in->room - in->length - 1) : 0;
    while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n > 0)
        in->length += (size_t)n;
    in->data[in->length] = 0;
    return n;
}

char *read_input(struct call *call, const char *path, size_t *length)
{
    bool standard = !path || strcmp(path, "-") == 0;
    const char *name = standard ? "the standard input" : path;
    struct input in = { .fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    ssize_t n = in.fd < 0 ? -1 : 1;
    while (n > 0)
        n = read_more(&in);
    int code = errno;
    if (!standard && in.fd >= 0)
        close(in.fd);
    if (n == 0) {
        *length = in.length;
        return in.data;
    }
    free(in.data);
    char sentence[512];
    snprintf(sentence, sizeof sentence, "cannot read %.400s: %s", name,
             code == EFBIG ? "it gives more than 256 MiB of text; cut it into parts" : strerror(code));
    print_error(sentence);
    call->said = true;
    return NULL;
}

bool read_line(struct input *in, const char **line, size_t *length)
{
    char *end;
    if (in->taken)
        memmove(in->data, in->data + in->taken, in->length - in->taken);
    in->length -= in->taken;
    in->taken = 0;
    while (!(end = in->length ? memchr(in->data, '\n', in->length) : NULL))
        if (read_more(in) <= 0)
            break;
    if (stop_asked() || (!end && !in->length))
        return false;
    *line = in->data;
    *length = end ? (size_t)(end - in->data) : in->length;
    in->taken = *length + (end != NULL);
    return true;
}

int next_line(void *input, const char **line, size_t *length)
{
    return read_line(input, line, length);
}

size_t bytes_left(int fd)
{
    struct stat about;
    off_t at = lseek(fd, 0, SEEK_CUR);
    bool plain = at >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    return plain && about.st_size > at ? (size_t)(about.st_size - at) : 0;
}
