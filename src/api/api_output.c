/* SPDX-License-Identifier: Apache-2.0
 * Text on its way to the caller's sink. */
#include "api/api.h"

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
