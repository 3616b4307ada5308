/* SPDX-License-Identifier: Apache-2.0
 * Building JSON. After a failed allocation jansson omits the value and goes on; these functions
 * record OA_NO_MEMORY. A NULL from json_pack or json_object is such a failure. */
#ifndef ORTHANT_BASE_JSON_WRITE_H
#define ORTHANT_BASE_JSON_WRITE_H

#include "base/base.h"

#include <jansson.h>

/* Each owns the value, and records OA_NO_MEMORY if it could not be added. */
void oa_json_set(oa_context *c, json_t *object, const char *key, json_t *value);
void oa_json_append(oa_context *c, json_t *array, json_t *value);
/* [x[0], …], null for numbers that are not finite. */
json_t *oa_json_numbers(oa_context *c, const double *x, long n);
/* The text of a value, by jansson's flags; oa_free it. NULL after a recorded OA_NO_MEMORY, unlike
 * json_dumps, which goes on after an allocation that failed within a text. */
char *oa_json_dump(oa_context *c, const json_t *value, size_t flags);

#endif
