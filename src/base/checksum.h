/* SPDX-License-Identifier: Apache-2.0
 * JSON files with a checksum: the key "seal" has the SHA-256 of the rest of the object in canonical
 * form (keys sorted, no white space, real numbers with 17 digits). Files are written in that form,
 * so that
 *
 *     sed 's/"seal":"[0-9a-f]\{64\}",\{0,1\}//; s/,}$/}/' FILE | sha256sum
 *
 * prints it. It detects damage and careless edits, but is not a signature. */
#ifndef ORTHANT_BASE_CHECKSUM_H
#define ORTHANT_BASE_CHECKSUM_H

#include "base/base.h"

#include <jansson.h>

/* Sets the checksum in `object`, which stays the caller's, and writes the file as oa_file_write
 * does. */
enum oa_error oa_checksummed_write(oa_context *c, const char *path, json_t *object);
/* Reads the object back, without the checksum; json_decref it. OA_FORMAT: no JSON object, or the
 * checksum is missing or wrong. remedy: ends the message, e.g. "remove it to train that run again".
 */
enum oa_error oa_checksummed_read(oa_context *c, const char *path, const char *remedy,
                                  json_t **out);

#endif
