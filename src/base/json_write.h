/* SPDX-License-Identifier: Apache-2.0
 * Building JSON. jansson leaves out what found no memory and goes on; these record it. A value that
 * is NULL, of json_pack or json_object, is one that found no memory. */
#ifndef ORTHANT_BASE_JSON_WRITE_H
#define ORTHANT_BASE_JSON_WRITE_H

#include "base/base.h"

#include <jansson.h>

/* Each takes the value, and records OA_NO_MEMORY unless it became a part. */
void oa_json_set(oa_context *c, json_t *object, const char *key, json_t *value);
void oa_json_append(oa_context *c, json_t *array, json_t *value);
/* [x[0], …], null for what is not finite. */
json_t *oa_json_numbers(oa_context *c, const double *x, long n);
/* The text of a value, by jansson's flags; oa_free it. NULL after a recorded OA_NO_MEMORY. Unlike
 * json_dumps, which writes on after an allocation that failed within a text. */
char *oa_json_dump(oa_context *c, const json_t *value, size_t flags);

#endif
