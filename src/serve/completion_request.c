/* SPDX-License-Identifier: Apache-2.0
 * The body of POST /v1/completions, with OpenAI's names and defaults. Penalties, best_of,
 * logit_bias and suffix are accepted with values that have no effect. */
#include "serve/completion.h"

#include "data/turns.h"

#include <string.h>

enum { USUAL_TOKENS = 16 };

#define MEMBERS                                                                                    \
    "model prompt max_tokens temperature top_p top_k seed n stop echo logprobs stream "            \
    "stream_options user metadata best_of presence_penalty frequency_penalty logit_bias suffix"

/* ---- prompts ---- */

/* An empty prompt begins a line, as in generate; where the vocabulary has no line end, id 0. */
static enum oa_error encode_prompt_text(struct oa_served_model *m, const char *name,
                                        const json_t *value, struct oa_ids *out)
{
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (m->end >= 0)
        return oa_turns_encode_prompt(m->tokenizer, text, length, out);
    if (length)
        return oa_request_ids(m, name, value, out);
    enum oa_error e = oa_tokenizer_encode(m->tokenizer, "\n", 1, out);
    if (e == OA_NO_MEMORY || (e == OA_OK && out->count))
        return e;
    oa_clear_error(m->model->context);
    return oa_ids_add(out, 0);
}

enum oa_error oa_prompt_read(struct oa_served_model *m, const json_t *value, int index,
                             struct oa_ids *out)
{
    long context = m->options->model_context;
    oa_context *c = m->model->context;
    char name[32];
    snprintf(name, sizeof name, "prompt %d", index);
    OA_TRY(json_is_string(value) ? encode_prompt_text(m, name, value, out)
                                 : oa_request_ids(m, name, value, out));
    if (out->count == 0)
        return oa_fail(c, OA_ARGUMENT, "%s has no tokens", name);
    if ((long)out->count > context)
        return oa_fail(c, OA_SHAPE,
                       "%s has %zu tokens; the model reads %ld (its context): shorten it", name,
                       out->count, context);
    return OA_OK;
}

static enum oa_error read_prompts(struct oa_completion_request *r, const json_t *value)
{
    oa_context *c = r->model->model->context;
    const json_t *first = json_array_get(value, 0);
    bool several = json_is_string(first) || json_is_array(first);
    int count = several ? (int)json_array_size(value) : 1;
    if (!value || (!json_is_string(value) && !json_is_array(value)))
        return oa_fail(c, OA_ARGUMENT,
                       "prompt must be a text, a list of token ids, or a list of these");
    if (count > OA_MOST_CHOICES)
        return oa_fail(c, OA_ARGUMENT, "%d prompts; at most %d in a request", count,
                       OA_MOST_CHOICES);
    r->prompt = oa_alloc(c, (size_t)count * sizeof *r->prompt);
    r->text = oa_alloc(c, (size_t)count * sizeof *r->text);
    if (!r->prompt || !r->text)
        return OA_NO_MEMORY;
    for (r->prompts = 0; r->prompts < count; r->prompts++)
        oa_ids_init(&r->prompt[r->prompts], c);
    for (int i = 0; i < count; i++) {
        const json_t *one = several ? json_array_get(value, (size_t)i) : value;
        r->text[i] = json_is_string(one) ? one : NULL;
        OA_TRY(oa_prompt_read(r->model, one, i, &r->prompt[i]));
    }
    return OA_OK;
}

/* ---- options ---- */

static enum oa_error read_stops(struct oa_completion_request *r, const json_t *value)
{
    oa_context *c = r->model->model->context;
    size_t count = json_is_array(value) ? json_array_size(value) : !json_is_null(value) && value;
    if (count > OA_MOST_STOPS)
        return oa_fail(c, OA_ARGUMENT, "%zu stop texts; at most %d", count, OA_MOST_STOPS);
    for (size_t i = 0; i < count; i++) {
        const json_t *stop = json_is_array(value) ? json_array_get(value, i) : value;
        const char *text = json_string_value(stop);
        if (!text || strlen(text) != json_string_length(stop) || !*text)
            return oa_fail(c, OA_ARGUMENT,
                           "stop must be a text, or a list of texts, not empty and without "
                           "zero bytes");
        r->stop[r->stops++] = text;
    }
    return OA_OK;
}

/* logprobs: a number, or true and false as some clients send. */
static enum oa_error read_tops(struct oa_completion_request *r, const json_t *json)
{
    const json_t *value = json_object_get(json, "logprobs");
    r->tops = -1;
    if (json_is_boolean(value)) {
        r->tops = json_is_true(value) ? 1 : -1;
        return OA_OK;
    }
    return oa_request_integer(r->model->model->context, json, "logprobs", 0, OA_MOST_TOPS,
                              &r->tops);
}

static enum oa_error refuse_unsupported(oa_context *c, const json_t *json, long n)
{
    double presence = 0, frequency = 0;
    long best = n;
    const json_t *bias = NULL;
    const char *suffix = "";
    OA_TRY(oa_request_real(c, json, "presence_penalty", -2, 2, &presence));
    OA_TRY(oa_request_real(c, json, "frequency_penalty", -2, 2, &frequency));
    OA_TRY(oa_request_object(c, json, "logit_bias", &bias));
    OA_TRY(oa_request_text(c, json, "suffix", &suffix));
    OA_TRY(oa_request_integer(c, json, "best_of", 1, OA_MOST_CHOICES, &best));
    if (presence != 0 || frequency != 0)
        return oa_fail(c, OA_UNSUPPORTED,
                       "presence_penalty and frequency_penalty are not supported: leave them 0");
    if (best != n)
        return oa_fail(c, OA_UNSUPPORTED, "best_of is not supported: leave it out, or equal to n");
    if (json_object_size(bias))
        return oa_fail(c, OA_UNSUPPORTED, "logit_bias is not supported: leave it out");
    if (*suffix)
        return oa_fail(c, OA_UNSUPPORTED, "suffix is not supported: leave it out");
    return OA_OK;
}

static enum oa_error read_completion_options(struct oa_completion_request *r, const json_t *json)
{
    oa_context *c = r->model->model->context;
    const json_t *stream = NULL;
    r->temperature = r->top_p = 1;
    r->n = 1;
    OA_TRY(oa_request_real(c, json, "temperature", 0, 1e6, &r->temperature));
    OA_TRY(oa_request_real(c, json, "top_p", 0, 1, &r->top_p));
    OA_TRY(oa_request_integer(c, json, "top_k", 0, 1000000000, &r->top_k));
    OA_TRY(oa_request_integer(c, json, "n", 1, OA_MOST_CHOICES, &r->n));
    OA_TRY(oa_request_integer(c, json, "seed", 0, OA_LAST_SEED - OA_MOST_CHOICES, &r->seed));
    OA_TRY(oa_request_flag(c, json, "echo", &r->echo));
    OA_TRY(oa_request_flag(c, json, "stream", &r->stream));
    OA_TRY(oa_request_object(c, json, "stream_options", &stream));
    if (stream) {
        OA_TRY(oa_request_check_names(c, stream, "include_usage"));
        OA_TRY(oa_request_flag(c, stream, "include_usage", &r->include_usage));
    }
    OA_TRY(read_tops(r, json));
    OA_TRY(read_stops(r, json_object_get(json, "stop")));
    return refuse_unsupported(c, json, r->n);
}

/* Without max_tokens as many as there is room for, at most 16. */
static enum oa_error read_length(struct oa_completion_request *r, const json_t *json)
{
    oa_context *c = r->model->model->context;
    long context = r->model->options->model_context, longest = 0, given = -1;
    for (int i = 0; i < r->prompts; i++)
        longest = oa_max(longest, (long)r->prompt[i].count);
    OA_TRY(oa_request_integer(c, json, "max_tokens", 0, 1000000000, &given));
    r->max_tokens = given >= 0 ? given : oa_min(USUAL_TOKENS, context - longest);
    if (longest + r->max_tokens > context)
        return oa_fail(c, OA_SHAPE,
                       "a prompt of %ld tokens and max_tokens %ld are more than the context of the "
                       "model, %ld: shorten one of them",
                       longest, r->max_tokens, context);
    if (r->prompts * r->n > OA_MOST_CHOICES)
        return oa_fail(c, OA_ARGUMENT, "%d prompts with n = %ld; at most %d choices in a request",
                       r->prompts, r->n, OA_MOST_CHOICES);
    return r->max_tokens > 1 ? oa_model_check_decoding(r->model->model) : OA_OK;
}

enum oa_error oa_completion_request_read(struct oa_server *s, const json_t *json,
                                         struct oa_completion_request *out)
{
    *out = (struct oa_completion_request){ 0 };
    OA_TRY(oa_request_check_names(s->context, json, MEMBERS));
    OA_TRY(oa_request_language_model(s, json, &out->model));
    OA_TRY(read_completion_options(out, json));
    OA_TRY(read_prompts(out, json_object_get(json, "prompt")));
    return read_length(out, json);
}

void oa_completion_request_free(struct oa_completion_request *r)
{
    for (int i = 0; i < r->prompts; i++)
        oa_ids_free(&r->prompt[i]);
    oa_free(r->prompt);
    oa_free(r->text);
    *r = (struct oa_completion_request){ 0 };
}
