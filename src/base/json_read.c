/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_read.h"

#include "base/context.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES ((size_t)100000000) /* the limit of a safetensors header */

struct json_source {
    oa_context *context;
    const char *path, *text;
    size_t left, taken;
    enum oa_error error;
};

/* For json_load_callback: the next bytes, 0 at the end. */
static size_t json_next_bytes(void *buffer, size_t room, void *data)
{
    struct json_source *s = data;
    s->error = oa_reading_stopped(s->context, s->path, s->taken);
    if (s->error != OA_OK)
        return (size_t)-1;
    size_t n = s->left < room ? s->left : room;
    memcpy(buffer, s->text, n);
    s->text += n;
    s->left -= n;
    s->taken += n;
    return n;
}

enum oa_error oa_json_parse(oa_context *c, const char *path, const char *text, size_t length,
                            const char *remedy, json_t **out)
{
    struct json_source s = { .context = c, .path = path, .text = text, .left = length };
    json_error_t why;
    *out = NULL;
    if (length > MOST_BYTES)
        return oa_fail(c, OA_UNSUPPORTED, "%s has %zu bytes of JSON; the limit is %zu", path,
                       length, MOST_BYTES);
    *out = json_load_callback(json_next_bytes, &s, JSON_REJECT_DUPLICATES, &why);
    if (*out || s.error != OA_OK)
        return s.error;
    if (json_error_code(&why) == json_error_out_of_memory)
        return oa_fail(c, OA_NO_MEMORY, "out of memory for reading %s", path);
    char *shown = strstr(why.text, " near '");
    if (shown)
        *shown = 0;
    return oa_fail(c, OA_FORMAT, "%s:%d:%d: not valid JSON: %s%s%s", path, why.line, why.column,
                   why.text, remedy ? "; " : "", remedy ? remedy : "");
}

enum oa_error oa_json_read(oa_context *c, const char *path, const char *remedy, json_t **out)
{
    char *text;
    size_t length;
    *out = NULL;
    OA_TRY(oa_file_read(c, path, &text, &length));
    enum oa_error e = oa_json_parse(c, path, text, length, remedy, out);
    oa_free(text);
    return e;
}

json_t *oa_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}
