/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checksum.h"
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#define KEY "seal"

/* The object's text in canonical form; free() it. NULL when out of memory. */
static char *json_canonical(const json_t *object)
{
    return json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
}

enum oa_error oa_checksummed_write(oa_context *c, const char *path, json_t *object)
{
    json_object_del(object, KEY);
    char *text = json_canonical(object);
    if (text) {
        struct oa_digest digest = oa_digest_of(text, strlen(text));
        json_object_set_new(object, KEY, json_string(digest.hex));
        free(text);
        text = json_canonical(object);
    }
    if (!text)
        return oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    enum oa_error e = oa_file_write(c, path, text, strlen(text));
    free(text);
    return e;
}

/* Takes the checksum out of the object and compares it with that of the rest. */
static enum oa_error json_verify_checksum(oa_context *c, const char *path, const char *remedy,
                                          json_t *object)
{
    json_t *stored = json_incref(json_object_get(object, KEY));
    json_object_del(object, KEY);
    char *text = json_canonical(object);
    struct oa_digest actual = oa_digest_of(text ? text : "", text ? strlen(text) : 0);
    free(text);
    enum oa_error e = OA_OK;
    if (!json_is_string(stored))
        e = oa_fail(c, OA_FORMAT, "%s: checksum missing; the file was not written by orthant; %s",
                    path, remedy);
    else if (strcmp(actual.hex, json_string_value(stored)) != 0)
        e = oa_fail(c, OA_FORMAT,
                    "%s was changed after it was written: it records the checksum %.16s…, its "
                    "content has %.16s…; %s",
                    path, json_string_value(stored), actual.hex, remedy);
    json_decref(stored);
    return e;
}

enum oa_error oa_checksummed_read(oa_context *c, const char *path, const char *remedy, json_t **out)
{
    OA_TRY(oa_json_read(c, path, remedy, out));
    enum oa_error e = json_verify_checksum(c, path, remedy, *out);
    if (e != OA_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return e;
}
