/* SPDX-License-Identifier: Apache-2.0
 * /v1/score: log-likelihoods of texts, as completions without text. A text longer than the context
 * is scored in adjacent windows, as in evaluation: each is a prompt with the token after it. */
#include "serve/completion.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "serve/request_inputs.h"

/* Adds the windows of a text to the prompts. */
static enum oa_error add_windows(struct oa_completion_request *r, const struct oa_ids *ids,
                                 size_t *windows)
{
    oa_context *c = r->model->model->context;
    long count = (long)ids->count, context = r->model->options->model_context;
    *windows = count > 1 ? (size_t)((count - 2) / context + 1) : 1;
    size_t old = (size_t)r->prompts * sizeof *r->prompt;
    struct oa_ids *prompt = oa_grow(c, r->prompt, old, old + *windows * sizeof *r->prompt);
    if (!prompt)
        return OA_NO_MEMORY;
    r->prompt = prompt;
    for (long first = 0; first == 0 || first + 1 < count; first += context) {
        struct oa_ids *window = &prompt[r->prompts++];
        oa_ids_init(window, c);
        OA_TRY(oa_ids_append(window, ids->id + first, (size_t)oa_min(count - first, context + 1)));
    }
    return OA_OK;
}

static enum oa_error read_scored_text(struct oa_completion_request *r, const json_t *json,
                                      size_t input, size_t *windows)
{
    struct oa_ids ids;
    char name[32];
    oa_context *c = r->model->model->context;
    snprintf(name, sizeof name, "input %zu", input);
    oa_ids_init(&ids, c);
    enum oa_error e = oa_request_ids(r->model, name, oa_inputs_at(json, input), &ids);
    if (e == OA_OK && !ids.count)
        e = oa_fail(c, OA_ARGUMENT, "%s has no tokens", name);
    if (e == OA_OK)
        e = add_windows(r, &ids, windows);
    oa_ids_free(&ids);
    return e;
}

static enum oa_error read_score_request(struct oa_server *s, const json_t *json,
                                        struct oa_completion_request *r, size_t **windows)
{
    *r = (struct oa_completion_request){ .n = 1, .tops = -1, .scores = true };
    *windows = NULL;
    OA_TRY(oa_request_check_names(s->context, json, "model input"));
    OA_TRY(oa_request_language_model(s, json, &r->model));
    OA_TRY(oa_inputs_check(s->context, json));
    *windows = oa_alloc(s->context, oa_inputs_count(json) * sizeof **windows);
    if (!*windows)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < oa_inputs_count(json); i++)
        OA_TRY(read_scored_text(r, json, i, &(*windows)[i]));
    return OA_OK;
}

void oa_score_begin(struct oa_server *s, struct oa_exchange *x, json_t *json)
{
    struct oa_completion_request request;
    struct oa_completion *of = NULL;
    size_t *windows;
    if (read_score_request(s, json, &request, &windows) == OA_OK)
        of = oa_completion_open(s, x, json, &request);
    else
        oa_reply_failure(s, x);
    oa_completion_request_free(&request);
    if (of)
        of->windows = windows;
    else
        oa_free(windows);
}

/* ---- the answer ---- */

/* Of the choices of an input. */
static json_t *text_scores_json(const struct oa_completion *of, size_t input, int first)
{
    oa_context *c = of->server->context;
    double sum = 0;
    json_int_t count = 1;
    json_t *tokens = json_array();
    oa_json_append(c, tokens, json_null());
    for (size_t w = 0; w < of->windows[input]; w++) {
        const struct oa_token_scores *s = &of->choice[first + (int)w].scores;
        for (size_t i = 1; i < s->count; i++, count++) {
            sum += s->token[i].log_p;
            oa_json_append(c, tokens, oa_json_number(s->token[i].log_p));
        }
    }
    return json_pack("{s:I, s:o, s:I, s:o}", "index", (json_int_t)input, "log_p",
                     oa_json_number(sum), "tokens", count, "token_logprobs", tokens);
}

json_t *oa_score_reply_json(const struct oa_completion *of)
{
    oa_context *c = of->server->context;
    json_t *data = json_array();
    int first = 0;
    for (size_t i = 0; first < of->choices; first += (int)of->windows[i++])
        oa_json_append(c, data, text_scores_json(of, i, first));
    return json_pack("{s:s, s:s, s:o}", "object", "list", "model", of->request.model->name, "data",
                     data);
}
