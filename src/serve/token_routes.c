/* SPDX-License-Identifier: Apache-2.0
 * /tokenize, /detokenize and /tokenizer_info, in the form of vLLM's, which evaluation harnesses
 * read. */
#include "serve/server.h"

#include "base/json_write.h"

#include <string.h>

/* The model that is named; else the first one, if all have the same tokenizer. */
static enum oa_error find_tokenizer(struct oa_server *s, const json_t *request,
                                    struct oa_served_model **out)
{
    const json_t *name = json_object_get(request, "model");
    if (name && !json_is_null(name))
        return oa_request_model(s, request, out);
    *out = &s->model[0];
    for (int i = 1; i < s->models; i++)
        if (!oa_tokenizers_agree(s->model[0].tokenizer, s->model[i].tokenizer))
            return oa_fail(s->context, OA_ARGUMENT,
                           "%s and %s have different tokenizers: name a model", s->model[0].name,
                           s->model[i].name);
    return OA_OK;
}

/* ---- tokenize ---- */

static enum oa_error tokenize(struct oa_server *s, const json_t *request, json_t **out)
{
    struct oa_served_model *m;
    struct oa_ids ids, all;
    bool specials = false;
    OA_TRY(oa_request_check_names(s->context, request, "model prompt add_special_tokens"));
    OA_TRY(find_tokenizer(s, request, &m));
    OA_TRY(oa_request_flag(s->context, request, "add_special_tokens", &specials));
    const json_t *prompt = json_object_get(request, "prompt");
    if (!json_is_string(prompt))
        return oa_fail(s->context, OA_ARGUMENT, "prompt must be a text");
    oa_ids_init(&ids, s->context);
    oa_ids_init(&all, s->context);
    enum oa_error e = oa_request_ids(m, "prompt", prompt, &ids);
    if (e == OA_OK && specials)
        e = oa_tokenizer_add_specials(m->tokenizer, &ids, NULL, &all, NULL);
    const struct oa_ids *found = specials ? &all : &ids;
    json_t *list = json_array();
    for (size_t i = 0; e == OA_OK && i < found->count; i++)
        oa_json_append(s->context, list, json_integer(found->id[i]));
    *out = json_pack("{s:o, s:I, s:I}", "tokens", list, "count", (json_int_t)found->count,
                     "max_model_len", (json_int_t)m->options->model_context);
    oa_ids_free(&ids);
    oa_ids_free(&all);
    return e;
}

void oa_answer_tokenize(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    json_t *out = NULL;
    (void)tokenize(s, request, &out);
    oa_reply_json(s, x, out);
}

/* ---- detokenize ---- */

static enum oa_error detokenize(struct oa_server *s, const json_t *request, json_t **out)
{
    struct oa_served_model *m;
    struct oa_ids ids;
    struct oa_text text;
    OA_TRY(oa_request_check_names(s->context, request, "model tokens"));
    OA_TRY(find_tokenizer(s, request, &m));
    const json_t *tokens = json_object_get(request, "tokens");
    if (!json_is_array(tokens))
        return oa_fail(s->context, OA_ARGUMENT, "tokens must be a list of token ids");
    oa_ids_init(&ids, s->context);
    oa_text_init(&text, s->context);
    enum oa_error e = oa_request_ids(m, "tokens", tokens, &ids);
    if (e == OA_OK && ids.count)
        e = oa_tokenizer_decode(m->tokenizer, ids.id, ids.count, &text);
    if (e == OA_OK)
        *out = json_pack("{s:o}", "prompt", oa_bytes_json(s->context, text.s, text.length));
    oa_ids_free(&ids);
    oa_text_free(&text);
    return e;
}

void oa_answer_detokenize(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    json_t *out = NULL;
    (void)detokenize(s, request, &out);
    oa_reply_json(s, x, out);
}

/* ---- tokenizer_info ---- */

/* The token before a text: one that ends texts, or the line end that an empty prompt becomes. */
static json_t *boundary_json(const struct oa_served_model *m)
{
    static const char *const names[] = { "<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>",
                                         "[SEP]" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (oa_tokenizer_find(m->tokenizer, names[i]) >= 0)
            return json_string(names[i]);
    return json_string("\n");
}

void oa_answer_tokenizer_info(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    struct oa_served_model *m;
    if (oa_request_check_names(s->context, request, "model") != OA_OK ||
        find_tokenizer(s, request, &m) != OA_OK) {
        oa_reply_failure(s, x);
        return;
    }
    oa_reply_json(s, x,
                  json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:n, s:n}", "model", m->name,
                            "tokenizer_class", oa_tokenizer_kind_name(m->tokenizer), "vocab_size",
                            (json_int_t)m->model->vocabulary, "model_max_length",
                            (json_int_t)m->options->model_context, "eos_token", boundary_json(m),
                            "bos_token", boundary_json(m), "pad_token", "chat_template"));
}
