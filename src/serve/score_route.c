/* SPDX-License-Identifier: Apache-2.0
 * /v1/score: log-likelihoods of texts, by the function that evaluates models (oa_model_score). A
 * step scores one window of one text; requests take turns, and decoding steps are between. */
#include "serve/server.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "serve/request_inputs.h"

struct oa_score_job {
    struct oa_score_job *next;
    struct oa_exchange *exchange;
    json_t *request, *data;
    struct oa_served_model *model;
    struct oa_ids ids; /* of the text that is being scored; empty: it is yet to be encoded */
    double *nats;      /* [ids - 1] */
    size_t input;      /* its number */
    long scored;       /* of ids but the first */
};

static void free_scoring(struct oa_score_job *j)
{
    oa_ids_free(&j->ids);
    oa_free(j->nats);
    json_decref(j->request);
    oa_free(j);
}

static enum oa_error check_score_request(struct oa_server *s, const json_t *request,
                                         struct oa_served_model **m)
{
    OA_TRY(oa_request_check_names(s->context, request, "model input"));
    OA_TRY(oa_request_model(s, request, m));
    if (!(*m)->writable)
        return oa_fail(s->context, OA_ARGUMENT,
                       "%s was trained for the task \"%s\"; scores need a language model",
                       (*m)->name, (*m)->options->data_task);
    return oa_inputs_check(s->context, request);
}

void oa_score_begin(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    struct oa_served_model *m;
    struct oa_score_job *j = NULL, **last = &s->scorings;
    if (check_score_request(s, request, &m) == OA_OK)
        j = oa_alloc(s->context, sizeof *j);
    if (!j) {
        oa_reply_failure(s, x);
        return;
    }
    *j = (struct oa_score_job){
        .exchange = x, .request = json_incref(request), .data = json_array(), .model = m
    };
    oa_ids_init(&j->ids, s->context);
    while (*last)
        last = &(*last)->next;
    *last = j;
}

static enum oa_error begin_scored_text(struct oa_server *s, struct oa_score_job *j)
{
    char name[32];
    snprintf(name, sizeof name, "input %zu", j->input);
    j->scored = 0;
    OA_TRY(oa_request_ids(j->model, name, oa_inputs_at(j->request, j->input), &j->ids));
    if (!j->ids.count)
        return oa_fail(s->context, OA_ARGUMENT, "input %zu has no tokens", j->input);
    s->counts.prompt_tokens += (double)j->ids.count;
    j->nats = oa_alloc(s->context, j->ids.count * sizeof *j->nats);
    return j->nats ? OA_OK : OA_NO_MEMORY;
}

static void end_scored_text(struct oa_server *s, struct oa_score_job *j)
{
    oa_context *c = s->context;
    double sum = 0;
    json_t *tokens = json_array();
    oa_json_append(c, tokens, json_null());
    for (size_t i = 0; i + 1 < j->ids.count; i++) {
        sum -= j->nats[i];
        oa_json_append(c, tokens, oa_json_number(-j->nats[i]));
    }
    oa_json_append(c, j->data,
                   json_pack("{s:I, s:o, s:I, s:o}", "index", (json_int_t)j->input, "log_p",
                             oa_json_number(sum), "tokens", (json_int_t)j->ids.count,
                             "token_logprobs", tokens));
    oa_free(j->nats);
    j->nats = NULL;
    oa_ids_free(&j->ids);
    oa_ids_init(&j->ids, c);
    j->input++;
}

static enum oa_error score_next_window(struct oa_server *s, struct oa_score_job *j)
{
    struct oa_served_model *m = j->model;
    if (!j->ids.count)
        OA_TRY(begin_scored_text(s, j));
    long rest = (long)j->ids.count - 1 - j->scored, n = oa_min(m->options->model_context, rest);
    OA_TRY(oa_model_score(m->tape, m->model, j->ids.id + j->scored, n + 1, j->nats + j->scored));
    j->scored += n;
    if (n == rest)
        end_scored_text(s, j);
    return OA_OK;
}

bool oa_score_step(struct oa_server *s)
{
    struct oa_score_job *j = s->scorings, **last = &s->scorings;
    if (!j)
        return false;
    enum oa_error e = score_next_window(s, j);
    *last = j->next;
    j->next = NULL;
    if (e != OA_OK || j->input == oa_inputs_count(j->request)) {
        oa_inputs_reply(s, j->exchange, e, j->model, j->data, 0);
        free_scoring(j);
    } else {
        while (*last)
            last = &(*last)->next;
        *last = j;
    }
    oa_clear_error(s->context);
    return true;
}
