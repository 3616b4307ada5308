/* SPDX-License-Identifier: Apache-2.0
 * Completions as OpenAI's objects. A token that is no whole text, such as half a character, is
 * "bytes:\xe2\x80" in the lists of tokens. */
#include "serve/completion.h"

#include "base/json_read.h"
#include "base/json_write.h"

#include <string.h>

static json_t *raw_token_json(oa_context *c, const char *bytes, size_t length)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_text_printf(&text, "bytes:");
    for (size_t i = 0; i < length; i++)
        oa_text_printf(&text, "\\x%02x", (unsigned)(unsigned char)bytes[i]);
    json_t *value = json_stringn(text.s ? text.s : "", text.length);
    oa_text_free(&text);
    return value;
}

json_t *oa_token_json(const struct oa_served_model *m, int32_t id)
{
    size_t length = 0;
    const char *bytes =
        id < oa_tokenizer_size(m->tokenizer) ? oa_tokenizer_bytes(m->tokenizer, id, &length) : NULL;
    json_t *value = json_stringn(bytes ? bytes : "", length); /* NULL: no UTF-8 */
    return value ? value : raw_token_json(m->model->context, bytes, length);
}

/* ---- logprobs ---- */

/* Tokens with the same text share a member, which has the larger log-probability. */
static void add_top_json(const struct oa_served_model *m, int32_t id, double log_p, json_t *tops)
{
    json_t *name = oa_token_json(m, id);
    size_t length = json_string_length(name);
    const char *text = json_string_value(name);
    const json_t *there = text ? json_object_getn(tops, text, length) : NULL;
    if (text && !(there && json_number_value(there) >= log_p))
        json_object_setn_new(tops, text, length, oa_json_number(log_p));
    json_decref(name);
}

/* The most likely tokens, and the token itself. */
static json_t *tops_json(const struct oa_served_model *m, const struct oa_token_score *t)
{
    json_t *tops = json_object();
    for (int i = 0; i < t->tops; i++)
        add_top_json(m, t->top[i].id, t->top[i].log_p, tops);
    add_top_json(m, t->id, t->log_p, tops);
    return tops;
}

/* Of the tokens from `first` that begin before character `end`. *next: the first after them. */
static json_t *scores_json(const struct oa_choice *c, size_t first, long end, size_t *next)
{
    const struct oa_served_model *m = c->of->request.model;
    json_t *tokens = json_array(), *logs = json_array(), *tops = json_array(),
           *offsets = json_array();
    size_t i = first;
    for (; i < c->scores.count && c->scores.token[i].offset < end; i++) {
        const struct oa_token_score *t = &c->scores.token[i];
        json_array_append_new(tokens, oa_token_json(m, t->id));
        json_array_append_new(logs, t->first ? json_null() : oa_json_number(t->log_p));
        json_array_append_new(tops, t->first ? json_null() : tops_json(m, t));
        json_array_append_new(offsets, json_integer(t->offset));
    }
    *next = i;
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", tokens, "token_logprobs", logs,
                     "top_logprobs", tops, "text_offset", offsets);
}

/* ---- objects ---- */

static json_t *completion_head(const struct oa_completion *of, json_t *choices)
{
    char id[40];
    snprintf(id, sizeof id, "cmpl-%llu", of->number);
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "id", id, "object", "text_completion", "created",
                     (json_int_t)of->created, "model", of->request.model->name, "choices", choices);
}

static void set_usage(const struct oa_completion *of, json_t *object)
{
    json_int_t prompt = 0, made = 0;
    for (int i = 0; i < of->request.prompts; i++)
        prompt += (json_int_t)of->request.prompt[i].count;
    for (int i = 0; i < of->choices; i++)
        made += of->choice[i].made;
    oa_json_set(of->server->context, object, "usage",
                json_pack("{s:I, s:I, s:I}", "prompt_tokens", prompt, "completion_tokens", made,
                          "total_tokens", prompt + made));
}

/* Text and tokens that were not sent before. A stop text and the tokens after it are left out. */
static json_t *choice_json(struct oa_choice *c)
{
    size_t from = c->sent;
    bool whole = c->finish && strcmp(c->finish, "length") == 0;
    long end =
        whole ? c->scores.characters + 1 : (long)oa_text_characters(c->text.s, c->text.length);
    json_t *scores = c->of->request.tops < 0 ? json_null()
                                             : scores_json(c, c->scores_sent, end, &c->scores_sent);
    c->sent = c->text.length;
    json_t *o = json_pack("{s:o, s:i, s:o}", "text",
                          json_stringn(c->text.s ? c->text.s + from : "", c->text.length - from),
                          "index", c->index, "logprobs", scores);
    oa_json_set(c->of->server->context, o, "finish_reason",
                c->finish ? json_string(c->finish) : json_null());
    return o;
}

json_t *oa_completion_json(const struct oa_completion *of)
{
    json_t *choices = json_array();
    for (int i = 0; i < of->choices; i++)
        oa_json_append(of->server->context, choices, choice_json(&of->choice[i]));
    json_t *o = completion_head(of, choices);
    set_usage(of, o);
    return o;
}

json_t *oa_choice_piece_json(struct oa_choice *c)
{
    bool more = c->text.length > c->sent || (c->finish && !c->finish_sent);
    if (!more)
        return NULL;
    c->finish_sent = c->finish != NULL;
    json_t *choices = json_array();
    oa_json_append(c->of->server->context, choices, choice_json(c));
    return completion_head(c->of, choices);
}

json_t *oa_completion_usage_json(const struct oa_completion *of)
{
    json_t *o = completion_head(of, json_array());
    set_usage(of, o);
    return o;
}
