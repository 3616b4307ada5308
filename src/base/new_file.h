/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are written piece by piece: one that takes the place of the old one only when it is
 * complete and on the disk, and the digest of what goes through. What is in memory as a whole goes
 * by oa_file_write and oa_digest_of.
 */
#ifndef ORTHANT_BASE_NEW_FILE_H
#define ORTHANT_BASE_NEW_FILE_H

#include "base/base.h"

struct oa_new_file {
    oa_context *context;
    const char *path; /* borrowed */
    char *place;      /* path, or what it is a symbolic link to */
    char *temporary;  /* NULL: a device or pipe, which is written to directly */
    int fd;
    size_t written;
};
enum oa_error oa_new_file_open(struct oa_new_file *f, oa_context *c, const char *path);
enum oa_error oa_new_file_add(struct oa_new_file *f, const void *data, size_t length);
/* so_far: how writing went. Unless it is OA_OK the old file stays. Returns the first failure. */
enum oa_error oa_new_file_finish(struct oa_new_file *f, enum oa_error so_far);

/* The SHA-256 of bytes that come in pieces: that of all of them one after another (oa_digest_of).
 */
struct oa_running_digest;
struct oa_running_digest *
oa_digest_begin(oa_context *c); /* NULL after a recorded failure; oa_free it */
void oa_digest_add(struct oa_running_digest *d, const void *data, size_t bytes);
struct oa_digest oa_digest_end(struct oa_running_digest *d); /* no more is added after that */

#endif
