/* SPDX-License-Identifier: Apache-2.0
 * JSON from untrusted files: size limit, and the stop flag polled while reading. (jansson limits
 * the depth to 2,048.) */
#ifndef ORTHANT_BASE_JSON_READ_H
#define ORTHANT_BASE_JSON_READ_H

#include "base/base.h"

#include <jansson.h>

/* json_decref *out. Errors have file, line and column, but not the text found there: through a link
 * it may be any file. remedy: end of the message, or NULL. */
enum oa_error oa_json_parse(oa_context *c, const char *path, const char *text, size_t length,
                            const char *remedy, json_t **out);
/* The same for a whole file, gunzipped. */
enum oa_error oa_json_read(oa_context *c, const char *path, const char *remedy, json_t **out);
/* null unless finite. */
json_t *oa_json_number(double x);

#endif
