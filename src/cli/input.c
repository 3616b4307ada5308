/* SPDX-License-Identifier: Apache-2.0
 * Reads files and standard input, whole or line by line. It polls for a stop while waiting, since
 * SA_RESTART restarts an interrupted read. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BETWEEN_LOOKS = 200 }; /* milliseconds */
#define MOST                                                                                       \
    ((size_t)1 << 28) /* bytes in memory at a time: a device such as /dev/zero has no end */

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

/* Bytes that were added; 0 at the end and when a stop was asked for, -1 after an error (errno;
 * EFBIG: too much is held). */
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
    struct input in = { .fd = standard ? STDIN_FILENO
                                       : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
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
             code == EFBIG ? "it gives more than 256 MiB of text; cut it into parts"
                           : strerror(code));
    print_error(sentence);
    call->reported = true;
    return NULL;
}

static int refuse_line(struct input *in)
{
    char sentence[256];
    if (errno == EFBIG)
        snprintf(sentence, sizeof sentence,
                 "line %llu of the standard input is longer than 256 MiB; cut it into parts",
                 in->lines + 1);
    else
        snprintf(sentence, sizeof sentence, "cannot read the standard input, line %llu: %.120s",
                 in->lines + 1, strerror(errno));
    print_error(sentence);
    in->call->reported = true;
    return -1;
}

/* Bytes that were searched for a line end are not searched again. */
int next_line(void *input, const char **line, size_t *length)
{
    struct input *in = input;
    size_t searched = in->taken;
    char *end = NULL;
    ssize_t n = 1;
    while (n > 0 &&
           !(end = in->length > searched ? memchr(in->data + searched, '\n', in->length - searched)
                                         : NULL)) {
        searched = in->length - in->taken;
        if (in->taken)
            memmove(in->data, in->data + in->taken, searched);
        in->length = searched;
        in->taken = 0;
        n = read_more(in);
    }
    if (n < 0)
        return refuse_line(in);
    if (stop_asked() || (!end && in->length == in->taken))
        return 0;
    *line = in->data + in->taken;
    *length = (size_t)((end ? end : in->data + in->length) - *line);
    in->taken += *length + (end != NULL);
    in->lines++;
    return 1;
}

size_t bytes_left(int fd)
{
    struct stat about;
    off_t at = lseek(fd, 0, SEEK_CUR);
    bool plain = at >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    return plain && about.st_size > at ? (size_t)(about.st_size - at) : 0;
}
