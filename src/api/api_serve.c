/* SPDX-License-Identifier: Apache-2.0
 * serve: opens runs and serves their models over HTTP. */
#include "api/api.h"
#include "serve/serve.h"

#include <string.h>

enum { SEQUENCES = 16, CONNECTIONS = 512, BODY = 8192 }; /* BODY: KiB */
static const double TIMEOUT = 30;                        /* seconds */

struct service {
    oa_context *context;
    const struct oa_serve_request *request;
    const struct oa_output *out;
    struct oa_trained *trained; /* [folders] */
    struct oa_served_model *model;
    char *keys;
};

static enum oa_error open_runs(struct service *s)
{
    const struct oa_serve_request *r = s->request;
    for (int i = 0; i < r->folders; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(r->folder[i], r->folder[k]) == 0)
                return oa_fail(s->context, OA_ARGUMENT, "%s is given twice", r->folder[i]);
    s->trained = oa_alloc(s->context, (size_t)r->folders * sizeof *s->trained);
    s->model = oa_alloc(s->context, (size_t)r->folders * sizeof *s->model);
    if (!s->trained || !s->model)
        return OA_NO_MEMORY;
    for (int i = 0; i < r->folders; i++) {
        struct oa_trained *t = &s->trained[i];
        OA_TRY(oa_trained_open_as(s->context, r->folder[i], r->precision, t));
        s->model[i] = (struct oa_served_model){ .name = r->folder[i],
                                                .options = &t->options,
                                                .tokenizer = t->tokenizer,
                                                .model = t->model,
                                                .tape = &t->tape,
                                                .labels = &t->labels,
                                                .specials = &t->specials };
    }
    return OA_OK;
}

static enum oa_error read_keys(struct service *s)
{
    size_t length;
    const char *path = s->request->key_file;
    if (!path)
        return OA_OK;
    OA_TRY(oa_file_read(s->context, path, &s->keys, &length));
    if (strlen(s->keys) == length && strspn(s->keys, "\r\n") < length)
        return OA_OK;
    return oa_fail(s->context, OA_FORMAT, "%s must be text with a key on each line", path);
}

static void print_address(void *argument, const char *address)
{
    const struct service *s = argument;
    struct oa_text text;
    json_t *models = json_array();
    oa_text_init(&text, s->context);
    for (int i = 0; i < s->request->folders; i++)
        json_array_append_new(models, oa_json_name(s->context, s->request->folder[i]));
    if (oa_wants_json(s->out)) {
        oa_json_line(&text, json_pack("{s:s, s:O}", "address", address, "models", models));
    } else {
        oa_text_printf(&text, "serving");
        for (int i = 0; i < s->request->folders; i++) {
            oa_text_printf(&text, "%s ", i ? "," : "");
            oa_name_add(&text, s->request->folder[i]);
        }
        oa_text_printf(&text, " at %s\n", address);
    }
    json_decref(models);
    (void)oa_emit(s->out, &text);
}

static enum oa_error serve(struct service *s)
{
    const struct oa_serve_request *r = s->request;
    OA_TRY(read_keys(s));
    OA_TRY(open_runs(s));
    const struct oa_serve_settings how = {
        .host = r->host ? r->host : "127.0.0.1",
        .port = r->port,
        .keys = s->keys,
        .sequences = r->sequences ? r->sequences : SEQUENCES,
        .connections = r->connections ? r->connections : CONNECTIONS,
        .body = (size_t)(r->body ? r->body : BODY) * 1024,
        .timeout = r->timeout > 0 ? r->timeout : TIMEOUT,
    };
    return oa_serve_models(s->context, s->model, r->folders, &how, print_address, s);
}

enum oa_error oa_serve(oa_context *c, const struct oa_serve_request *r, const struct oa_output *out)
{
    struct service s = { .context = c, .request = r, .out = out };
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_serve_request", r->reserved, 3));
    enum oa_error e = serve(&s);
    for (int i = 0; s.trained && i < r->folders; i++)
        oa_trained_close(&s.trained[i]);
    oa_free(s.trained);
    oa_free(s.model);
    oa_free(s.keys);
    return e;
}
