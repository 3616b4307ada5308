/* SPDX-License-Identifier: Apache-2.0
 * Values of results.json. Private to report/. */
#ifndef ORTHANT_REPORT_RESULTS_VALUES_H
#define ORTHANT_REPORT_RESULTS_VALUES_H

#include "base/base.h"
#include "base/json_read.h"

#include <jansson.h>
#include <math.h>

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
