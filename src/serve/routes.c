/* SPDX-License-Identifier: Apache-2.0
 * Which function answers which path. */
#include "serve/server.h"

#include <string.h>

extern const char oa_serve_page_html[]; /* embedded: serve_page.html */

static void answer_page(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    (void)s, (void)request;
    oa_exchange_answer(x, 200, "text/html; charset=utf-8", oa_serve_page_html,
                       strlen(oa_serve_page_html));
}

static void answer_health(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    (void)request;
    oa_reply_json(s, x, json_pack("{s:s}", "status", "ok"));
}

static const char *served_task(const struct oa_served_model *m)
{
    const struct oa_model_form *f = &m->model->form;
    return m->writable                                                       ? "completions"
           : f->encoder && f->decoder                                        ? "translate"
           : f->output == OA_OUTPUT_CLASSES || f->output == OA_OUTPUT_NUMBER ? "classify"
                                                                             : "embeddings";
}

static json_t *model_json(const struct oa_server *s, const struct oa_served_model *m)
{
    struct oa_text attention;
    oa_text_init(&attention, s->context);
    oa_stacks_print(&m->model->attention, &attention);
    json_t *o = json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:I, s:I, s:s}", "id", m->name, "object",
                          "model", "created", (json_int_t)s->started, "owned_by", "orthant",
                          "attention", attention.s ? attention.s : "", "serves", served_task(m),
                          "max_model_len", (json_int_t)m->options->model_context, "vocabulary",
                          (json_int_t)m->model->vocabulary, "precision",
                          oa_precision_name(m->model->device->numbers.precision));
    oa_text_free(&attention);
    return o;
}

static void answer_models(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    json_t *data = json_array();
    (void)request;
    for (int i = 0; i < s->models; i++)
        json_array_append_new(data, model_json(s, &s->model[i]));
    oa_reply_json(s, x, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static const struct {
    const char *path;
    bool post, open; /* open: without a key */
    oa_job_answer *answer;
    bool job; /* answered in turns with other work */
} routes[] = {
    { "/", false, true, answer_page, false },
    { "/health", false, true, answer_health, false },
    { "/metrics", false, false, oa_answer_metrics, false },
    { "/v1/models", false, false, answer_models, false },
    { "/v1/completions", true, false, oa_completion_begin, false },
    { "/v1/score", true, false, oa_score_begin, false },
    { "/v1/classify", true, false, oa_answer_classify, true },
    { "/v1/translate", true, false, oa_answer_translate, true },
    { "/v1/embeddings", true, false, oa_answer_embeddings, true },
    { "/v1/attention", true, false, oa_answer_attention, true },
    { "/tokenize", true, false, oa_answer_tokenize, false },
    { "/detokenize", true, false, oa_answer_detokenize, false },
    { "/tokenizer_info", false, false, oa_answer_tokenizer_info, false },
};

bool oa_route_known(const char *path, bool *post, bool *open)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(path, routes[i].path) == 0) {
            *post = routes[i].post;
            *open = routes[i].open;
            return true;
        }
    return false;
}

static void add_argument(void *request, const char *name, const char *value)
{
    json_t *text = json_string(value);
    json_object_set_new(request, name, text ? text : json_string("?")); /* text NULL: no UTF-8 */
}

/* The request of a GET is an object of the arguments in its address. */
static enum oa_error read_request(struct oa_server *s, struct oa_exchange *x, bool post,
                                  json_t **out)
{
    if (post)
        return oa_request_parse(s->context, x, out);
    *out = json_object();
    oa_exchange_visit_arguments(x, add_argument, *out);
    return OA_OK;
}

void oa_route(struct oa_server *s, struct oa_exchange *x)
{
    json_t *request = NULL;
    size_t i = 0;
    while (strcmp(oa_exchange_path(x), routes[i].path) != 0)
        i++;
    if (read_request(s, x, routes[i].post, &request) != OA_OK)
        oa_reply_failure(s, x);
    else if (routes[i].job)
        oa_jobs_add(&s->jobs, x, request, routes[i].answer);
    else
        routes[i].answer(s, x, request);
    json_decref(request);
    oa_clear_error(s->context);
}
