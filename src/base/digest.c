/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 digests, by libmd. */
#include "base/new_file.h"
#include "base/safetensors.h"

#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>

struct oa_running_digest {
    SHA2_CTX sha;
};

struct oa_running_digest *oa_digest_begin(oa_context *c)
{
    struct oa_running_digest *d = oa_alloc(c, sizeof *d);
    if (d)
        SHA256Init(&d->sha);
    return d;
}

void oa_digest_add(struct oa_running_digest *d, const void *data, size_t bytes)
{
    SHA256Update(&d->sha, data, bytes);
}

struct oa_digest oa_digest_end(struct oa_running_digest *d)
{
    struct oa_digest digest;
    SHA256End(&d->sha, digest.hex);
    return digest;
}

struct oa_digest oa_digest_of(const void *data, size_t bytes)
{
    return oa_digest_of_arrays(&(struct oa_array){ .data = data, .bytes = bytes }, 1);
}

struct oa_digest oa_digest_of_arrays(const struct oa_array *arrays, int count)
{
    struct oa_digest digest;
    SHA2_CTX sha;
    SHA256Init(&sha);
    for (int i = 0; i < count; i++)
        SHA256Update(&sha, arrays[i].data, arrays[i].bytes);
    SHA256End(&sha, digest.hex);
    return digest;
}

enum oa_error oa_digest_of_file(oa_context *c, const char *path, struct oa_digest *out)
{
    uint8_t part[65536];
    SHA2_CTX sha;
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f)
        return oa_fail(c, OA_IO, "cannot open %s: %s", path, strerror(errno));
    SHA256Init(&sha);
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        SHA256Update(&sha, part, n);
    SHA256End(&sha, out->hex);
    bool failed = ferror(f) != 0;
    fclose(f);
    return failed ? oa_fail(c, OA_IO, "cannot read %s", path) : OA_OK;
}
