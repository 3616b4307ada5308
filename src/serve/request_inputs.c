/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/request_inputs.h"

#include "base/json_write.h"

enum { MOST_INPUTS = 4096 };

static bool has_several(const json_t *input)
{
    const json_t *first = json_array_get(input, 0);
    return json_is_string(first) || json_is_array(first);
}

enum oa_error oa_inputs_check(oa_context *c, const json_t *request)
{
    const json_t *input = json_object_get(request, "input");
    if (!json_is_string(input) && (!json_is_array(input) || !json_array_size(input)))
        return oa_fail(c, OA_ARGUMENT, "input must be a text, a list of ids, or a list of these");
    if (json_array_size(input) > MOST_INPUTS && has_several(input))
        return oa_fail(c, OA_ARGUMENT, "%zu inputs; at most %d in a request",
                       json_array_size(input), MOST_INPUTS);
    return OA_OK;
}

size_t oa_inputs_count(const json_t *request)
{
    const json_t *input = json_object_get(request, "input");
    return has_several(input) ? json_array_size(input) : 1;
}

const json_t *oa_inputs_at(const json_t *request, size_t i)
{
    const json_t *input = json_object_get(request, "input");
    return has_several(input) ? json_array_get(input, i) : input;
}

void oa_inputs_reply(struct oa_server *s, struct oa_exchange *x, enum oa_error e,
                     const struct oa_served_model *m, json_t *data, long tokens)
{
    if (e != OA_OK) {
        json_decref(data);
        oa_reply_failure(s, x);
        return;
    }
    s->counts.prompt_tokens += (double)tokens;
    json_t *root = json_pack("{s:s, s:s, s:o}", "object", "list", "model", m->name, "data", data);
    if (tokens)
        oa_json_set(s->context, root, "usage",
                    json_pack("{s:I, s:I}", "prompt_tokens", (json_int_t)tokens, "total_tokens",
                              (json_int_t)tokens));
    oa_reply_json(s, x, root);
}
