/* SPDX-License-Identifier: Apache-2.0
 * Members of the object of a request. Unknown ones are refused: ignoring a misspelt option would
 * spoil a measurement. */
#include "serve/server.h"

#include "base/json_write.h"

#include <math.h>
#include <string.h>

enum oa_error oa_request_parse(oa_context *c, struct oa_exchange *x, json_t **out)
{
    size_t length;
    json_error_t why;
    const char *body = oa_exchange_body(x, &length);
    *out = json_loadb(body, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!*out)
        return oa_fail(c, OA_FORMAT, "the body is not JSON: line %d, column %d: %.100s", why.line,
                       why.column, why.text);
    if (json_is_object(*out))
        return OA_OK;
    return oa_fail(c, OA_FORMAT, "the body is not a JSON object");
}

static bool is_among(const char *names, const char *name)
{
    size_t length;
    for (const char *at = names; *at; at += length + (at[length] == ' ')) {
        length = strcspn(at, " ");
        if (length == strlen(name) && memcmp(at, name, length) == 0)
            return true;
    }
    return false;
}

enum oa_error oa_request_check_names(oa_context *c, const json_t *request, const char *names)
{
    json_t *object = (json_t *)(uintptr_t)request; /* jansson's iterators are not const */
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
        if (!is_among(names, json_object_iter_key(at)))
            return oa_fail(c, OA_ARGUMENT, "unexpected member \"%.60s\"; expected are: %s",
                           json_object_iter_key(at), names);
    return OA_OK;
}

enum oa_error oa_request_model(struct oa_server *s, const json_t *request,
                               struct oa_served_model **out)
{
    const json_t *value = json_object_get(request, "model");
    const char *name = json_string_value(value);
    *out = &s->model[0];
    if ((!value || json_is_null(value)) && s->models == 1)
        return OA_OK;
    for (int i = 0; name && i < s->models; i++)
        if (strcmp(name, s->model[i].name) == 0) {
            *out = &s->model[i];
            return OA_OK;
        }
    if (!name)
        return oa_fail(s->context, OA_ARGUMENT,
                       "model must be the name of one of the models that /v1/models lists");
    return oa_fail(s->context, OA_ARGUMENT,
                   "there is no model \"%.80s\"; /v1/models lists them, the first is \"%s\"", name,
                   s->model[0].name);
}

enum oa_error oa_request_language_model(struct oa_server *s, const json_t *request,
                                        struct oa_served_model **out)
{
    OA_TRY(oa_request_model(s, request, out));
    if ((*out)->writable)
        return OA_OK;
    return oa_fail(s->context, OA_ARGUMENT,
                   "%s was trained for the task \"%s\"; this path needs a language model",
                   (*out)->name, (*out)->options->data_task);
}

static const json_t *given_member(const json_t *request, const char *name)
{
    const json_t *value = json_object_get(request, name);
    return json_is_null(value) ? NULL : value;
}

enum oa_error oa_request_integer(oa_context *c, const json_t *request, const char *name, long least,
                                 long most, long *out)
{
    const json_t *value = given_member(request, name);
    double x = json_number_value(value);
    if (!value)
        return OA_OK;
    if (!json_is_number(value) || x != floor(x) || x < (double)least || x > (double)most)
        return oa_fail(c, OA_ARGUMENT, "%s must be a whole number from %ld to %ld", name, least,
                       most);
    *out = (long)x;
    return OA_OK;
}

enum oa_error oa_request_real(oa_context *c, const json_t *request, const char *name, double least,
                              double most, double *out)
{
    const json_t *value = given_member(request, name);
    double x = json_number_value(value);
    if (!value)
        return OA_OK;
    if (!json_is_number(value) || !(x >= least && x <= most))
        return oa_fail(c, OA_ARGUMENT, "%s must be a number from %g to %g", name, least, most);
    *out = x;
    return OA_OK;
}

enum oa_error oa_request_flag(oa_context *c, const json_t *request, const char *name, bool *out)
{
    const json_t *value = given_member(request, name);
    if (value && !json_is_boolean(value))
        return oa_fail(c, OA_ARGUMENT, "%s must be true or false", name);
    if (value)
        *out = json_is_true(value);
    return OA_OK;
}

enum oa_error oa_request_text(oa_context *c, const json_t *request, const char *name,
                              const char **out)
{
    const json_t *value = given_member(request, name);
    if (value && !json_is_string(value))
        return oa_fail(c, OA_ARGUMENT, "%s must be a text", name);
    if (value)
        *out = json_string_value(value);
    return OA_OK;
}

enum oa_error oa_request_object(oa_context *c, const json_t *request, const char *name,
                                const json_t **out)
{
    const json_t *value = given_member(request, name);
    if (value && !json_is_object(value))
        return oa_fail(c, OA_ARGUMENT, "%s must be an object", name);
    if (value)
        *out = value;
    return OA_OK;
}

static enum oa_error refuse_id(struct oa_served_model *m, const char *name, size_t i,
                               const json_t *value)
{
    char *given = oa_json_dump(m->model->context, value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!given)
        return OA_NO_MEMORY;
    enum oa_error e = oa_fail(m->model->context, OA_ARGUMENT,
                              "%s: element %zu, %.40s, is no token; ids are 0 to %ld", name, i,
                              given, m->model->vocabulary - 1);
    oa_free(given);
    return e;
}

static enum oa_error read_id_list(struct oa_served_model *m, const char *name, const json_t *list,
                                  struct oa_ids *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        json_int_t id = json_integer_value(value);
        if (!json_is_integer(value) || id < 0 || id >= m->model->vocabulary)
            return refuse_id(m, name, i, value);
        OA_TRY(oa_ids_add(out, (int32_t)id));
    }
    return OA_OK;
}

enum oa_error oa_request_ids(struct oa_served_model *m, const char *name, const json_t *value,
                             struct oa_ids *out)
{
    if (json_is_array(value))
        return read_id_list(m, name, value, out);
    if (!json_is_string(value))
        return oa_fail(m->model->context, OA_ARGUMENT, "%s must be a text or a list of token ids",
                       name);
    const char *text = json_string_value(value);
    const struct oa_text_source source = { name, text, json_string_length(value) };
    return oa_tokenizer_encode_part(m->tokenizer, &source, text, source.length, out);
}
