/* SPDX-License-Identifier: Apache-2.0
 * Fields of results.json by name and type; a refusal names the field. */
#ifndef ORTHANT_RESULTS_FIELDS_H
#define ORTHANT_RESULTS_FIELDS_H

#include "report/results.h"

#include <math.h>
#include <string.h>

enum { PLACE = 96 }; /* bytes of "entries[12].runs[3].curve" */

static inline const char *type_name(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "text",  "a whole number",
                                         "a number",  "true",     "false", "null" };
    return value ? names[json_typeof(value)] : "nothing";
}

static inline enum oa_error refuse(oa_context *c, const char *place, const char *key,
                                   const char *wanted, const json_t *found)
{
    return oa_fail(c, OA_FORMAT, "results: %s%s%s: expected %s, found %s", place, *place ? "." : "",
                   key, wanted, type_name(found));
}

static inline enum oa_error get_number(oa_context *c, const json_t *object, const char *place,
                                       const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_number(value) || json_is_null(value)
               ? OA_OK
               : refuse(c, place, key, "a number or null", value);
}

static inline enum oa_error get_count(oa_context *c, const json_t *object, const char *place,
                                      const char *key, long *out)
{
    const json_t *value = json_object_get(object, key);
    *out = (long)json_integer_value(value); /* 0 for what is none */
    return json_is_integer(value) && *out >= 0
               ? OA_OK
               : refuse(c, place, key, "a whole number from 0", value);
}

static inline enum oa_error get_text(oa_context *c, const json_t *object, const char *place,
                                     const char *key, const char **out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_string_value(value);
    return *out ? OA_OK : refuse(c, place, key, "text", value);
}

static inline enum oa_error get_object(oa_context *c, const json_t *object, const char *place,
                                       const char *key, const json_t **out)
{
    *out = json_object_get(object, key);
    return json_is_object(*out) ? OA_OK : refuse(c, place, key, "an object", *out);
}

static inline enum oa_error get_array(oa_context *c, const json_t *object, const char *place,
                                      const char *key, const json_t **out)
{
    *out = json_object_get(object, key);
    return json_is_array(*out) ? OA_OK : refuse(c, place, key, "an array", *out);
}

#endif
