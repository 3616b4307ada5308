/* SPDX-License-Identifier: Apache-2.0
 * Text on its way to the caller's sink. */
#include "api/api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool oa_wants_text(const struct oa_output *out)
{
    return out && out->sink;
}

bool oa_wants_json(const struct oa_output *out)
{
    return oa_wants_text(out) && out->json;
}

enum oa_error oa_emit(const struct oa_output *out, struct oa_text *text)
{
    enum oa_error e = oa_status(text->context);
    if (e == OA_OK && text->length && oa_wants_text(out))
        out->sink(out->argument, text->s, text->length);
    oa_text_free(text);
    return e;
}

void oa_json_add(struct oa_text *text, json_t *value)
{
    char *s = value ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(value);
    if (!s) {
        oa_fail(text->context, OA_NO_MEMORY, "out of memory for the JSON of a result");
        return;
    }
    oa_text_add(text, s, strlen(s));
    oa_text_add(text, "\n", 1);
    free(s);
}

json_t *oa_json_bytes(oa_context *c, const char *bytes, size_t length)
{
    struct oa_text clean;
    uint32_t code;
    oa_text_init(&clean, c);
    for (size_t i = 0; i < length;) {
        int n = oa_utf8_decode(bytes + i, length - i, &code);
        oa_text_add(&clean, n ? bytes + i : "\xef\xbf\xbd", n ? (size_t)n : 3);
        i += n ? (size_t)n : 1;
    }
    json_t *string = json_stringn(clean.s ? clean.s : "", clean.length);
    oa_text_free(&clean);
    return string;
}

json_t *oa_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}
