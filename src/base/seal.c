/* SPDX-License-Identifier: Apache-2.0 */
#include "base/seal.h"
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

static char *canonical(const json_t *object)
{
    return json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
}

static enum oa_error add_seal(oa_context *c, const char *path, json_t *object)
{
    json_object_del(object, "seal");
    char *text = canonical(object);
    if (!text)
        return oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    struct oa_digest digest = oa_digest_of(text, strlen(text));
    free(text);
    json_object_set_new(object, "seal", json_string(digest.hex));
    return OA_OK;
}

enum oa_error oa_sealed_write(oa_context *c, const char *path, json_t *object)
{
    OA_TRY(add_seal(c, path, object));
    char *text = canonical(object);
    if (!text)
        return oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    enum oa_error e = oa_file_write(c, path, text, strlen(text));
    free(text);
    return e;
}

static enum oa_error check_seal(oa_context *c, const char *path, const char *remedy, json_t *object)
{
    json_t *given = json_incref(json_object_get(object, "seal"));
    enum oa_error e = OA_OK;
    if (!json_is_string(given)) {
        e = oa_fail(c, OA_FORMAT, "%s has no seal: it was not written by this program; %s", path,
                    remedy);
    } else {
        json_object_del(object, "seal");
        char *text = canonical(object);
        struct oa_digest digest = oa_digest_of(text ? text : "", text ? strlen(text) : 0);
        free(text);
        if (strcmp(digest.hex, json_string_value(given)) != 0)
            e = oa_fail(c, OA_FORMAT,
                        "%s was changed after it was written: its seal is %.16s… and its content "
                        "gives %.16s…; %s",
                        path, json_string_value(given), digest.hex, remedy);
    }
    json_decref(given);
    return e;
}

enum oa_error oa_sealed_read(oa_context *c, const char *path, const char *remedy, json_t **out)
{
    OA_TRY(oa_json_read(c, path, remedy, out));
    enum oa_error e = check_seal(c, path, remedy, *out);
    if (e == OA_OK)
        return OA_OK;
    json_decref(*out);
    *out = NULL;
    return e;
}
