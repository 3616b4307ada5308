/* SPDX-License-Identifier: Apache-2.0
 * Values of results.json. Private to report/. */
#ifndef ORTHANT_REPORT_RESULTS_VALUES_H
#define ORTHANT_REPORT_RESULTS_VALUES_H

#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <utf8proc.h>

static inline json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* jansson refuses what is not UTF-8, e.g. a sentence that was cut in the middle of a letter: such bytes become "?". */
static inline json_t *text(const char *s)
{
    if (!s)
        return json_null();
    json_t *value = json_string(s);
    if (value)
        return value;
    char *copy = strdup(s);
    for (utf8proc_ssize_t i = 0, n; copy && copy[i]; i += n > 0 ? n : 1) {
        utf8proc_int32_t code;
        n = utf8proc_iterate((const utf8proc_uint8_t *)copy + i, -1, &code);
        if (n <= 0)
            copy[i] = '?';
    }
    value = copy ? json_string(copy) : NULL;
    free(copy);
    return value;
}

static inline void set(oa_context *c, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        oa_fail(c, OA_NO_MEMORY, "no memory left for the results");
}

static inline void append(oa_context *c, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        oa_fail(c, OA_NO_MEMORY, "no memory left for the results");
}

#endif
