/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checksum.h"
#include "base/json_read.h"
#include "base/json_write.h"

#include <string.h>

#define KEY "seal"

enum { CANONICAL = JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17) };

enum oa_error oa_checksummed_write(oa_context *c, const char *path, json_t *object)
{
    json_object_del(object, KEY);
    char *text = oa_json_dump(c, object, CANONICAL);
    if (!text)
        return OA_NO_MEMORY;
    struct oa_digest digest = oa_digest_of(text, strlen(text));
    oa_free(text);
    oa_json_set(c, object, KEY, json_string(digest.hex));
    text = oa_json_dump(c, object, CANONICAL);
    enum oa_error e = oa_status(c);
    if (e == OA_OK)
        e = oa_file_write(c, path, text, strlen(text));
    oa_free(text);
    return e;
}

/* Takes the checksum out of the object and compares it with that of the rest. */
static enum oa_error json_verify_checksum(oa_context *c, const char *path, const char *remedy,
                                          json_t *object)
{
    json_t *stored = json_incref(json_object_get(object, KEY));
    json_object_del(object, KEY);
    char *text = oa_json_dump(c, object, CANONICAL);
    struct oa_digest actual = oa_digest_of(text ? text : "", text ? strlen(text) : 0);
    enum oa_error e = text ? OA_OK : OA_NO_MEMORY;
    oa_free(text);
    if (text && !json_is_string(stored))
        e = oa_fail(c, OA_FORMAT, "%s: checksum missing; the file was not written by orthant; %s",
                    path, remedy);
    else if (text && strcmp(actual.hex, json_string_value(stored)) != 0)
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
