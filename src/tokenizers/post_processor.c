/* SPDX-License-Identifier: Apache-2.0
 * `post_processor` of a tokenizer.json: the special tokens around a text, or around two, and the
 * type of each id (which text it is of). Encoding does not apply it; callers add the special
 * tokens. */
#include "tokenizers/tokenizer_parts.h"

struct post_texts {
    const struct oa_tokenizer *tok;
    const struct oa_ids *text, *pair; /* pair NULL: one text */
    struct oa_ids *out, *types;
};

static enum oa_error malformed_post(const struct post_texts *p, const char *what)
{
    return oa_fail(p->tok->context, OA_FORMAT, "the tokenizer's post_processor: %s", what);
}

static enum oa_error add_typed(const struct post_texts *p, int32_t id, int32_t type)
{
    OA_TRY(oa_ids_add(p->out, id));
    return p->types ? oa_ids_add(p->types, type) : OA_OK;
}

static enum oa_error add_all(const struct post_texts *p, const struct oa_ids *ids, int32_t type)
{
    for (size_t i = 0; i < ids->count; i++)
        OA_TRY(add_typed(p, ids->id[i], type));
    return OA_OK;
}

static enum oa_error add_special_id(const struct post_texts *p, const json_t *id, int32_t type)
{
    json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
    if (n < 0 || n >= p->tok->vocabulary.size)
        return malformed_post(p, "the id of a special token is not one of the vocabulary");
    return add_typed(p, (int32_t)n, type);
}

/* ---- templates ---- */

/* A part of a template: {"Sequence": …} or {"SpecialToken": …} with "id" and "type_id". */
static enum oa_error add_template_part(const struct post_texts *p, const json_t *part,
                                       const json_t *specials)
{
    const json_t *sequence = json_object_get(part, "Sequence"),
                 *special = json_object_get(part, "SpecialToken");
    const json_t *body = sequence ? sequence : special;
    const char *id = json_string_value(json_object_get(body, "id"));
    json_int_t type = json_integer_value(json_object_get(body, "type_id"));
    if (!id || type < 0 || type > INT32_MAX)
        return malformed_post(p, "a part of the template has no \"id\" or \"type_id\"");
    if (sequence && strcmp(id, "A") == 0)
        return add_all(p, p->text, (int32_t)type);
    if (sequence && strcmp(id, "B") == 0 && p->pair)
        return add_all(p, p->pair, (int32_t)type);
    const json_t *ids = json_object_get(json_object_get(specials, id), "ids");
    if (sequence || !json_is_array(ids))
        return malformed_post(p, "the template has a text or special token that is not there");
    for (size_t i = 0; i < json_array_size(ids); i++)
        OA_TRY(add_special_id(p, json_array_get(ids, i), (int32_t)type));
    return OA_OK;
}

/* BERT: [CLS] A [SEP] B [SEP], with type 1 from B on. RoBERTa: <s> A </s> </s> B </s>, all 0. */
static enum oa_error apply_fixed(const struct post_texts *p, const json_t *post, bool roberta)
{
    const json_t *begin = json_array_get(json_object_get(post, "cls"), 1),
                 *end = json_array_get(json_object_get(post, "sep"), 1);
    OA_TRY(add_special_id(p, begin, 0));
    OA_TRY(add_all(p, p->text, 0));
    OA_TRY(add_special_id(p, end, 0));
    if (!p->pair)
        return OA_OK;
    if (roberta)
        OA_TRY(add_special_id(p, end, 0));
    OA_TRY(add_all(p, p->pair, !roberta));
    return add_special_id(p, end, !roberta);
}

/* The step of a Sequence that adds ids (*count: how many do). NULL: none. */
static const json_t *adding_step(const json_t *post, int *count)
{
    const char *type = json_string_value(json_object_get(post, "type"));
    const json_t *steps = json_object_get(post, "processors"), *found = NULL;
    if (!type || strcmp(type, "ByteLevel") == 0)
        return NULL;
    if (strcmp(type, "Sequence") != 0) {
        ++*count;
        return post;
    }
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);
        const char *inner = json_string_value(json_object_get(step, "type"));
        bool adds = inner && strcmp(inner, "ByteLevel") != 0;
        found = adds ? step : found;
        *count += adds;
    }
    return found;
}

enum oa_error oa_tokenizer_add_specials(const struct oa_tokenizer *tok, const struct oa_ids *text,
                                        const struct oa_ids *pair, struct oa_ids *out,
                                        struct oa_ids *types)
{
    struct post_texts p = { tok, text, pair, out, types };
    int count = 0;
    const json_t *step = adding_step(json_object_get(tok->frame, "post_processor"), &count);
    const char *type = json_string_value(json_object_get(step, "type"));
    if (!step) {
        OA_TRY(add_all(&p, p.text, 0));
        return p.pair ? add_all(&p, p.pair, 1) : OA_OK;
    }
    if (count == 1 && strcmp(type, "TemplateProcessing") == 0) {
        const json_t *parts = json_object_get(step, p.pair ? "pair" : "single");
        if (!json_is_array(parts))
            return malformed_post(&p, "the template is no array");
        for (size_t i = 0; i < json_array_size(parts); i++)
            OA_TRY(add_template_part(&p, json_array_get(parts, i),
                                     json_object_get(step, "special_tokens")));
        return OA_OK;
    }
    if (count == 1 && strcmp(type, "BertProcessing") == 0)
        return apply_fixed(&p, step, false);
    if (count == 1 && strcmp(type, "RobertaProcessing") == 0)
        return apply_fixed(&p, step, true);
    return oa_fail(tok->context, OA_UNSUPPORTED,
                   "the tokenizer's post_processor %s is not supported; supported are "
                   "TemplateProcessing, BertProcessing, RobertaProcessing and ByteLevel",
                   count == 1 ? type : "with several steps");
}
