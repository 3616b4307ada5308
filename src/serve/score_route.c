/* SPDX-License-Identifier: Apache-2.0
 * /v1/score: log-likelihoods of texts, by the function that evaluates models (oa_model_score). */
#include "serve/server.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "serve/request_inputs.h"

static enum oa_error score_one(struct oa_served_model *m, const struct oa_ids *ids, size_t index,
                               json_t *data)
{
    oa_context *c = m->model->context;
    double *nats = oa_alloc(c, (ids->count + 1) * sizeof *nats), sum = 0;
    enum oa_error e =
        nats ? oa_model_score(m->tape, m->model, ids->id, (long)ids->count, nats) : OA_NO_MEMORY;
    json_t *tokens = json_array();
    oa_json_append(c, tokens, json_null());
    for (size_t i = 0; e == OA_OK && i + 1 < ids->count; i++) {
        sum -= nats[i];
        oa_json_append(c, tokens, oa_json_number(-nats[i]));
    }
    oa_json_append(c, data,
                   json_pack("{s:I, s:o, s:I, s:o}", "index", (json_int_t)index, "log_p",
                             oa_json_number(sum), "tokens", (json_int_t)ids->count,
                             "token_logprobs", tokens));
    oa_free(nats);
    return e;
}

static enum oa_error score_inputs(struct oa_server *s, const json_t *request, json_t *data,
                                  struct oa_served_model **m)
{
    struct oa_ids ids;
    OA_TRY(oa_request_check_names(s->context, request, "model input"));
    OA_TRY(oa_request_model(s, request, m));
    if (!(*m)->writable)
        return oa_fail(s->context, OA_ARGUMENT,
                       "%s was trained for the task \"%s\"; scores need a language model",
                       (*m)->name, (*m)->options->data_task);
    OA_TRY(oa_inputs_check(s->context, request));
    for (size_t i = 0; i < oa_inputs_count(request); i++) {
        oa_ids_init(&ids, s->context);
        enum oa_error e = oa_request_ids(*m, "input", oa_inputs_at(request, i), &ids);
        if (e == OA_OK && !ids.count)
            e = oa_fail(s->context, OA_ARGUMENT, "input %zu has no tokens", i);
        if (e == OA_OK)
            e = score_one(*m, &ids, i, data);
        s->counts.prompt_tokens += (double)ids.count;
        oa_ids_free(&ids);
        OA_TRY(e);
    }
    return OA_OK;
}

void oa_answer_score(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    struct oa_served_model *m;
    json_t *data = json_array();
    enum oa_error e = score_inputs(s, request, data, &m);
    oa_inputs_reply(s, x, e, m, data, 0);
}
