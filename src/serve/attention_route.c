/* SPDX-License-Identifier: Apache-2.0
 * /v1/attention: the attention maps of a language model on a prompt, as `inspect --json` has
 * them. */
#include "inspect/inspect.h"
#include "serve/completion.h"

#include "base/json_read.h"
#include "base/json_write.h"

#include <math.h>

enum { MOST_WEIGHTS = 1 << 20 }; /* of an answer: layers · heads · tokens² */

static enum oa_error check_has_maps(const struct oa_served_model *m)
{
    const struct oa_stack *s = oa_model_stack(m->model);
    for (int i = 0; i < s->shape.layers; i++)
        for (int g = 0; g < s->block[i].attention.groups; g++)
            if (s->block[i].attention.group[g].mechanism->weights)
                return OA_OK;
    return oa_fail(m->model->context, OA_UNSUPPORTED,
                   "%s has no attention map: no head of %s weighs tokens",
                   s->block[0].attention.group[0].mechanism->name, m->name);
}

static enum oa_error check_map_size(const struct oa_served_model *m, const struct oa_ids *ids)
{
    double maps = (double)m->options->model_layers * (double)m->options->model_heads,
           tokens = (double)ids->count;
    if (maps * tokens * tokens <= MOST_WEIGHTS)
        return OA_OK;
    return oa_fail(m->model->context, OA_SHAPE,
                   "the prompt has %zu tokens; %.0f maps of an answer have room for %.0f: shorten "
                   "it, or use 'orthant inspect'",
                   ids->count, maps, floor(sqrt(MOST_WEIGHTS / maps)));
}

static enum oa_error map_prompt(struct oa_server *s, const json_t *request, struct oa_ids *ids,
                                json_t **out)
{
    struct oa_served_model *m;
    struct oa_inspection what;
    OA_TRY(oa_request_check_names(s->context, request, "model prompt"));
    OA_TRY(oa_request_language_model(s, request, &m));
    OA_TRY(check_has_maps(m));
    OA_TRY(oa_prompt_read(m, json_object_get(request, "prompt"), 0, ids));
    OA_TRY(check_map_size(m, ids));
    s->counts.prompt_tokens += (double)ids->count;
    const struct oa_sequences in = { .rows = 1, .length = (long)ids->count, .ids = ids->id };
    oa_tape tape;
    oa_tape_init(&tape, m->model->device);
    enum oa_error e = oa_inspect_model(&tape, m->model, &in, NULL, &what);
    oa_tape_free(&tape);
    if (e == OA_OK) {
        json_t *tokens = json_array();
        for (size_t i = 0; i < ids->count; i++)
            oa_json_append(s->context, tokens, oa_token_json(m, ids->id[i]));
        *out = json_pack("{s:s, s:s, s:o, s:o}", "object", "attention", "model", m->name, "tokens",
                         tokens, "layers", oa_inspection_layers_json(&what));
    }
    oa_inspection_close(&what);
    return e;
}

void oa_answer_attention(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    struct oa_ids ids;
    json_t *out = NULL;
    oa_ids_init(&ids, s->context);
    (void)map_prompt(s, request, &ids, &out);
    oa_reply_json(s, x, out);
    oa_ids_free(&ids);
}
