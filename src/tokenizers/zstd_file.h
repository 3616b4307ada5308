/* SPDX-License-Identifier: Apache-2.0
 * Reads zstd data from a file. Without libzstd at build time every file is refused. */
#ifndef ORTHANT_ZSTD_FILE_H
#define ORTHANT_ZSTD_FILE_H

#include "base/base.h"

struct oa_zstd_file;
/* Takes over the descriptor, also after a failure. path: for messages, borrowed. OA_UNSUPPORTED:
 * built without libzstd. */
enum oa_error oa_zstd_open(oa_context *c, int fd, const char *path, struct oa_zstd_file **out);
/* Unpacks at most `size` bytes; *length is 0 at the end. OA_FORMAT: damaged or truncated. */
enum oa_error oa_zstd_read(struct oa_zstd_file *z, char *out, size_t size, size_t *length);
uint64_t oa_zstd_offset(const struct oa_zstd_file *z);   /* bytes read from the file */
uint64_t oa_zstd_unpacked(const struct oa_zstd_file *z); /* bytes unpacked so far */
void oa_zstd_close(struct oa_zstd_file *z);

#endif
