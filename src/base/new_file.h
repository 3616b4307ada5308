/* SPDX-License-Identifier: Apache-2.0
 * Files and digests of data that comes in pieces; for data in memory there are oa_file_write and
 * oa_digest_of. The new file replaces the old one when it is complete and synced. */
#ifndef ORTHANT_BASE_NEW_FILE_H
#define ORTHANT_BASE_NEW_FILE_H

#include "base/base.h"

struct oa_new_file {
    oa_context *context;
    const char *path; /* borrowed */
    char *place;      /* path, or the target of the symbolic link */
    char *temporary;  /* NULL: a device or pipe, written to directly */
    int fd;
    size_t written;
};
enum oa_error oa_new_file_open(struct oa_new_file *f, oa_context *c, const char *path);
enum oa_error oa_new_file_add(struct oa_new_file *f, const void *data, size_t length);
/* so_far: result of writing; unless OA_OK the old file stays. Returns the first failure. */
enum oa_error oa_new_file_finish(struct oa_new_file *f, enum oa_error so_far);

/* SHA-256 of the concatenation of all pieces. */
struct oa_running_digest;
/* NULL after a recorded failure; oa_free it. */
struct oa_running_digest *oa_digest_begin(oa_context *c);
void oa_digest_add(struct oa_running_digest *d, const void *data, size_t bytes);
struct oa_digest oa_digest_end(struct oa_running_digest *d); /* once, after the last piece */

#endif
