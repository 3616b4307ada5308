/* SPDX-License-Identifier: Apache-2.0
 * Completions under way: their choices go through the slots, their text to the client. A request of
 * /v1/score is a completion without text. */
#include "serve/completion.h"

#include <string.h>
#include <time.h>

enum { WAITING = 32 }; /* sequences of a request that wait for a slot before more prompts begin */

/* ---- beginning and ending ---- */

static void free_completion(struct oa_completion *of)
{
    for (int i = 0; of->choice && i < of->choices; i++) {
        struct oa_choice *c = &of->choice[i];
        oa_slots_remove(&of->server->slots, c);
        oa_text_free(&c->held);
        oa_text_free(&c->text);
        oa_free(c->score.top);
        oa_token_scores_free(&c->scores);
    }
    oa_free(of->choice);
    oa_free(of->windows);
    oa_completion_request_free(&of->request);
    json_decref(of->json);
    json_decref(of->failure);
    oa_free(of);
}

static enum oa_error open_completion_choices(struct oa_completion *of)
{
    struct oa_completion_request *r = &of->request;
    oa_context *c = of->server->context;
    of->choices = of->open = r->prompts * (int)r->n;
    of->choice = oa_alloc(c, (size_t)of->choices * sizeof *of->choice);
    for (int i = 0; of->choice && i < of->choices; i++) {
        struct oa_choice *k = &of->choice[i];
        k->of = of;
        k->index = i;
        k->prompt = &r->prompt[i / r->n];
        oa_text_init(&k->held, c);
        oa_text_init(&k->text, c);
    }
    return oa_status(c);
}

struct oa_completion *oa_completion_open(struct oa_server *s, struct oa_exchange *x, json_t *json,
                                         struct oa_completion_request *request)
{
    struct oa_completion *of = oa_alloc(s->context, sizeof *of), **last = &s->completions;
    if (of) {
        *of = (struct oa_completion){ .server = s,
                                      .exchange = x,
                                      .json = json_incref(json),
                                      .request = *request,
                                      .created = (double)time(NULL) };
        *request = (struct oa_completion_request){ 0 };
    }
    if (!of || open_completion_choices(of) != OA_OK) {
        oa_reply_failure(s, x);
        if (of)
            free_completion(of);
        return NULL;
    }
    while (*last)
        last = &(*last)->next;
    return *last = of;
}

void oa_completion_begin(struct oa_server *s, struct oa_exchange *x, json_t *json)
{
    struct oa_completion_request request;
    struct oa_completion *of = NULL;
    if (oa_completion_request_read(s, json, &request) == OA_OK)
        of = oa_completion_open(s, x, json, &request);
    else
        oa_reply_failure(s, x);
    oa_completion_request_free(&request);
    if (of)
        of->number = ++s->made;
}

void oa_choice_fail(struct oa_choice *c)
{
    if (!c->of->failed)
        c->of->failure = oa_failure_json(c->of->server->context, &c->of->status);
    c->of->failed = true;
}

/* ---- a token ---- */

static void finish_choice(struct oa_choice *c, const char *reason)
{
    c->finish = reason;
    c->of->open--;
}

/* Adds bytes to the text of the answer; last: completes it. */
static void add_choice_text(struct oa_choice *c, const char *bytes, size_t length, bool last)
{
    oa_characters_add(&c->sink, bytes, length, &c->text);
    if (last)
        oa_characters_end(&c->sink, &c->text);
}

static void end_at_length(struct oa_choice *c)
{
    finish_choice(c, "length");
    add_choice_text(c, c->held.s ? c->held.s : "", c->held.length, true);
}

enum oa_error oa_choice_use_sampler(struct oa_choice *c, struct oa_sampler *sampler)
{
    const struct oa_completion_request *r = &c->of->request;
    const struct oa_sampling how = { .temperature = r->temperature,
                                     .top_k = r->top_k,
                                     .top_p = r->top_p,
                                     .seed = (uint64_t)(r->seed + c->index % r->n) };
    c->sampler = sampler;
    return oa_sampler_set(sampler, &how);
}

/* Samples among the tokens that may be written; the score is of the distribution over all tokens.
 */
enum oa_error oa_choice_sample(struct oa_choice *c, float *logits, struct oa_arena *scratch)
{
    const struct oa_completion_request *r = &c->of->request;
    const struct oa_served_model *m = r->model;
    long vocabulary = m->model->vocabulary;
    double *own = NULL;
    if (r->tops >= 0) {
        own = oa_arena_take(scratch, (size_t)vocabulary * sizeof *own);
        if (!own)
            return OA_NO_MEMORY;
        for (long i = 0; i < vocabulary; i++)
            own[i] = (double)logits[i];
    }
    oa_writable_mask(m->writable, c->state, logits);
    OA_TRY(oa_sample(c->sampler, logits, (uint64_t)c->made, &c->token));
    return own ? oa_token_score_make(r, c->token, own, &c->score) : OA_OK;
}

/* The drawn token becomes held text, or ends the answer. */
static enum oa_error add_choice_token(struct oa_choice *c)
{
    struct oa_served_model *m = c->of->request.model;
    struct oa_server *s = c->of->server;
    struct oa_token_score score = c->score;
    size_t length;
    c->score = (struct oa_token_score){ 0 };
    if (c->of->request.tops >= 0)
        OA_TRY(oa_token_scores_append(c, &score));
    c->made++;
    s->counts.completion_tokens++;
    if (c->token == m->end) {
        finish_choice(c, "stop");
        add_choice_text(c, c->held.s ? c->held.s : "", c->held.length, true);
        return OA_OK;
    }
    c->state = oa_writable_after(m->writable, c->state, c->token);
    const char *text = oa_tokenizer_bytes(m->tokenizer, c->token, &length);
    oa_text_add(&c->held, text, length);
    return oa_status(s->context);
}

bool oa_choice_take(struct oa_choice *c)
{
    if (add_choice_token(c) != OA_OK) {
        oa_choice_fail(c);
        return true;
    }
    if (!c->finish) { /* text that cannot begin a stop text is no longer held back */
        const struct oa_completion_request *r = &c->of->request;
        int found;
        size_t settled = oa_before_stop(c->held.s, c->held.length, r->stop, r->stops, &found);
        add_choice_text(c, c->held.s, settled, found >= 0);
        memmove(c->held.s, c->held.s + settled, c->held.length - settled);
        oa_text_cut(&c->held, c->held.length - settled);
        if (found >= 0)
            finish_choice(c, "stop");
    }
    if (!c->finish && c->made >= c->of->request.max_tokens)
        end_at_length(c);
    return c->finish != NULL || c->of->failed;
}

/* ---- a prompt ---- */

static void begin_text(struct oa_choice *c)
{
    const struct oa_completion_request *r = &c->of->request;
    const json_t *given = r->text[c->index / r->n];
    const char *text = json_string_value(given);
    size_t length = json_string_length(given);
    bool valid;
    c->state = OA_CHARACTER_WHOLE;
    for (size_t i = 0; i < length && r->model->end < 0; i++)
        c->state = oa_character_after(c->state, (uint8_t)text[i], &valid);
    if (!r->echo)
        return;
    if (text)
        add_choice_text(c, text, length, true);
    if (text && oa_ids_are_joined(r->model->tokenizer, text, length))
        add_choice_text(c, " ", 1, true);
    for (size_t i = 0; !text && i < c->prompt->count; i++) {
        const char *bytes = oa_tokenizer_bytes(r->model->tokenizer, c->prompt->id[i], &length);
        add_choice_text(c, bytes, length, false);
    }
    oa_characters_end(&c->sink, &c->text);
    c->scores.counted = (struct oa_characters){ 0 };
    c->scores.characters = (long)oa_text_characters(c->text.s, c->text.length);
}

long oa_choice_reads(const struct oa_choice *c)
{
    return oa_min((long)c->prompt->count, c->of->request.model->options->model_context);
}

bool oa_choice_end_prompt(struct oa_choice *c)
{
    if (!c->of->request.scores)
        begin_text(c);
    if (c->of->request.max_tokens == 0)
        end_at_length(c);
    return c->finish != NULL;
}

/* Queues the choices of a prompt, or ends them if nothing is to be computed. */
static void begin_prompt(struct oa_completion *of, int prompt)
{
    const struct oa_completion_request *r = &of->request;
    of->server->counts.prompt_tokens += (double)oa_choice_reads(&of->choice[prompt * r->n]);
    for (long i = 0; i < r->n; i++) {
        struct oa_choice *c = &of->choice[prompt * r->n + i];
        if (r->max_tokens || r->scores || (r->echo && r->tops >= 0))
            oa_slots_add(&of->server->slots, c);
        else
            oa_choice_end_prompt(c);
    }
}

/* ---- answers ---- */

static void count_duration(struct oa_serve_counts *k, double seconds)
{
    double limit = 0.01;
    k->requests++;
    k->seconds += seconds;
    for (int i = 0; i < OA_SERVE_BUCKETS; i++, limit *= 2)
        k->bucket[i] += seconds <= limit;
}

static void send_pieces(struct oa_completion *of)
{
    if (!of->streaming)
        oa_exchange_begin(of->exchange, "text/event-stream");
    of->streaming = true;
    for (int i = 0; i < of->choices; i++) {
        json_t *piece = oa_choice_piece_json(&of->choice[i]);
        if (piece)
            oa_reply_event(of->exchange, piece);
        json_decref(piece);
    }
}

static void end_stream(struct oa_completion *of)
{
    if (of->failed) {
        oa_reply_event(of->exchange, of->failure);
        of->server->counts.failures++;
    }
    if (!of->failed && of->request.include_usage) {
        json_t *usage = oa_completion_usage_json(of);
        oa_reply_event(of->exchange, usage);
        json_decref(usage);
    }
    oa_exchange_add(of->exchange, "data: [DONE]\n\n", 14);
    oa_exchange_end(of->exchange);
}

/* Sends new text of a stream, or the whole answer when it is complete; true: it is. */
static bool deliver(struct oa_completion *of)
{
    bool ended = of->failed || of->open == 0,
         stream = of->request.stream && (!of->failed || of->streaming);
    if (of->streaming && oa_exchange_is_gone(of->exchange)) {
        oa_exchange_end(of->exchange);
        return true;
    }
    if (stream && !of->failed)
        send_pieces(of);
    if (!ended)
        return false;
    if (!of->request.scores)
        count_duration(&of->server->counts, oa_exchange_seconds(of->exchange));
    if (stream)
        end_stream(of);
    else if (of->failed)
        oa_reply_failed(of->server, of->exchange, of->status, json_incref(of->failure));
    else
        oa_reply_json(of->server, of->exchange,
                      of->request.scores ? oa_score_reply_json(of) : oa_completion_json(of));
    return true;
}

bool oa_completions_step(struct oa_server *s)
{
    bool did = s->completions != NULL;
    for (struct oa_completion *of = s->completions; of; of = of->next)
        while (of->begun < of->request.prompts && of->waiting < WAITING)
            begin_prompt(of, of->begun++);
    did |= oa_slots_step(&s->slots);
    for (struct oa_completion **at = &s->completions; *at;) {
        struct oa_completion *one = *at;
        if (deliver(one)) {
            *at = one->next;
            free_completion(one);
        } else {
            at = &one->next;
        }
    }
    oa_http_send(s->http);
    return did;
}
