/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealed files: a JSON object that says in "seal" the SHA-256 of all the rest of it. The rest is
 * taken in one form, keys sorted, nothing between, real numbers with 17 digits, and files are
 * written in that form, so that
 *
 *     sed 's/"seal":"[0-9a-f]\{64\}",\{0,1\}//; s/,}$/}/' FILE | sha256sum
 *
 * gives the seal without this library. A seal guards against damage and against an edit that
 * forgets it; it is no signature, and whoever makes it anew after an edit is not noticed.
 */
#ifndef ORTHANT_SEAL_H
#define ORTHANT_SEAL_H

#include "base/base.h"

#include <jansson.h>

/* Adds the seal, in the place of an old one, and writes the file as oa_file_write does. The object
 * is the caller's. */
enum oa_error oa_sealed_write(oa_context *c, const char *path, json_t *object);
/* Reads it back without the seal; json_decref it. OA_FORMAT when it is no JSON object, has no seal
 * or another one than it should; `remedy` ends the sentence: "remove it to train that run again".
 */
enum oa_error oa_sealed_read(oa_context *c, const char *path, const char *remedy, json_t **out);

#endif
