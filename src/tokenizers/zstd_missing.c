/* SPDX-License-Identifier: Apache-2.0
 * Compiled instead of zstd_file.c in a build without libzstd. */
#include "tokenizers/zstd_file.h"

#include <unistd.h>

enum oa_error oa_zstd_open(oa_context *c, int fd, const char *path, struct oa_zstd_file **out)
{
    close(fd);
    *out = NULL;
    return oa_fail(c, OA_UNSUPPORTED,
                   "%s is zstd data, and this program was built without libzstd: unpack the file "
                   "(unzstd), or install libzstd-dev and build again",
                   path);
}

/* Without a file that opens, none of these is called. */
enum oa_error oa_zstd_read(struct oa_zstd_file *z, char *out, size_t size, size_t *length)
{
    (void)z, (void)out, (void)size;
    *length = 0;
    return OA_OK;
}

uint64_t oa_zstd_offset(const struct oa_zstd_file *z)
{
    (void)z;
    return 0;
}

uint64_t oa_zstd_unpacked(const struct oa_zstd_file *z)
{
    (void)z;
    return 0;
}

void oa_zstd_close(struct oa_zstd_file *z)
{
    (void)z;
}
