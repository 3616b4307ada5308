/* SPDX-License-Identifier: Apache-2.0
 * Error messages of zlib. */
#ifndef ORTHANT_BASE_GZIP_REASON_H
#define ORTHANT_BASE_GZIP_REASON_H

/* A message of gzerror() without the prefix "<fd:3>: " of files opened by descriptor. */
const char *oa_gzip_reason(const char *message);

#endif
