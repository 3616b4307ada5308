/* SPDX-License-Identifier: Apache-2.0
 * Text on its way to the caller's sink. */
#include "api/api.h"
#include "decode/characters.h"
#include "print/print.h"

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
    if (e == OA_OK && out)
        e = oa_check_reserved(text->context, "oa_output", out->reserved, 2);
    if (e == OA_OK && text->length && oa_wants_text(out))
        out->sink(out->argument, text->s, text->length);
    oa_text_free(text);
    return e;
}

void oa_name_add(struct oa_text *text, const char *name)
{
    for (size_t n; *name; name += n + (name[n] == '\n')) {
        n = strcspn(name, "\n");
        oa_text_add(text, name, n);
        if (name[n])
            oa_text_add(text, "\\x0a", 4);
    }
}

void oa_json_add(struct oa_text *text, json_t *value)
{
    oa_json_text(value, text);
    json_decref(value);
}

void oa_json_line(struct oa_text *text, json_t *value)
{
    oa_json_line_text(value, text);
    json_decref(value);
}

json_t *oa_json_bytes(oa_context *c, const char *bytes, size_t length)
{
    struct oa_text clean;
    oa_text_init(&clean, c);
    oa_characters_text(bytes, length, &clean);
    json_t *string = json_stringn(clean.s ? clean.s : "", clean.length);
    oa_text_free(&clean);
    return string;
}

json_t *oa_json_name(oa_context *c, const char *name)
{
    return name ? oa_json_bytes(c, name, strlen(name)) : json_null();
}
