/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizers/zstd_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

struct oa_zstd_file {
    oa_context *context;
    const char *path;
    int fd;
    ZSTD_DStream *stream;
    ZSTD_inBuffer in;
    bool inside; /* a frame has begun and not ended */
    uint64_t read, unpacked;
    char buffer[1 << 17];
};

enum oa_error oa_zstd_open(oa_context *c, int fd, const char *path, struct oa_zstd_file **out)
{
    struct oa_zstd_file *z = oa_alloc(c, sizeof *z);
    *out = NULL;
    if (!z) {
        close(fd);
        return OA_NO_MEMORY;
    }
    z->context = c;
    z->path = path;
    z->fd = fd;
    z->in.src = z->buffer;
    z->stream = ZSTD_createDStream();
    if (!z->stream) {
        oa_zstd_close(z);
        return oa_fail(c, OA_NO_MEMORY, "out of memory for reading %s", path);
    }
    *out = z;
    return OA_OK;
}

static enum oa_error zstd_damaged(const struct oa_zstd_file *z, const char *reason)
{
    return oa_fail(z->context, OA_FORMAT,
                   "%s: zstd data damaged or truncated after %llu bytes of text: %s (byte %llu of "
                   "the file)",
                   z->path, (unsigned long long)z->unpacked, reason,
                   (unsigned long long)oa_zstd_offset(z));
}

/* Refills an empty input buffer; it stays empty at the end of the file. */
static enum oa_error fill_zstd_input(struct oa_zstd_file *z)
{
    ssize_t n;
    do
        n = read(z->fd, z->buffer, sizeof z->buffer);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return oa_fail(z->context, OA_IO, "cannot read %s: %s", z->path, strerror(errno));
    z->in.size = (size_t)n;
    z->in.pos = 0;
    z->read += (uint64_t)n;
    return OA_OK;
}

enum oa_error oa_zstd_read(struct oa_zstd_file *z, char *out, size_t size, size_t *length)
{
    ZSTD_outBuffer to = { .dst = out, .size = size };
    *length = 0;
    while (to.pos == 0) {
        if (z->in.pos == z->in.size)
            OA_TRY(fill_zstd_input(z));
        if (z->in.size == 0 && !z->inside)
            break;
        size_t code = ZSTD_decompressStream(z->stream, &to, &z->in);
        if (ZSTD_isError(code))
            return zstd_damaged(z, ZSTD_getErrorName(code));
        if (z->in.size == 0 && to.pos == 0)
            return zstd_damaged(z, "unexpected end of file");
        z->inside = code != 0;
    }
    *length = to.pos;
    z->unpacked += to.pos;
    return OA_OK;
}

uint64_t oa_zstd_offset(const struct oa_zstd_file *z)
{
    return z->read - (z->in.size - z->in.pos);
}

uint64_t oa_zstd_unpacked(const struct oa_zstd_file *z)
{
    return z->unpacked;
}

void oa_zstd_close(struct oa_zstd_file *z)
{
    if (!z)
        return;
    ZSTD_freeDStream(z->stream);
    close(z->fd);
    oa_free(z);
}
