/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"

#include "base/json_read.h"

static void json_check(oa_context *c, int failed)
{
    if (failed)
        oa_fail(c, OA_NO_MEMORY, "no memory left to write JSON");
}

char *oa_json_dump(oa_context *c, const json_t *value, size_t flags)
{
    size_t n = value ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = n ? oa_alloc(c, n + 1) : NULL;
    if (text && json_dumpb(value, text, n, flags) == n)
        return text;
    oa_free(text);
    json_check(c, true);
    return NULL;
}

void oa_json_set(oa_context *c, json_t *object, const char *key, json_t *value)
{
    json_check(c, json_object_set_new(object, key, value));
}

void oa_json_append(oa_context *c, json_t *array, json_t *value)
{
    json_check(c, json_array_append_new(array, value));
}

json_t *oa_json_numbers(oa_context *c, const double *x, long n)
{
    json_t *list = json_array();
    for (long i = 0; i < n; i++)
        oa_json_append(c, list, oa_json_number(x[i]));
    return list;
}
