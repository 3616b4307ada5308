/* SPDX-License-Identifier: Apache-2.0
 * The loop. A stop is deferred: what was accepted is answered first. */
#include "serve/server.h"

#include "data/turns.h"
#include "serve/completion.h"
#include "tasks/tasks.h"

#include <math.h>
#include <time.h>

enum { MIB = 1 << 20, LEAST_PREFIX_BYTES = 64 * MIB };
static const double PATIENCE = 10; /* seconds for clients to take their answers at the end */

/* ---- opening ---- */

/* Of models of answers: the token that ends one. */
static int32_t served_end(const struct oa_served_model *m)
{
    const struct oa_task *task = oa_task_find(m->options->data_task);
    bool answers = task && task->answer == OA_ANSWER_TOKENS && task->layout;
    return answers ? oa_tokenizer_find(m->tokenizer, OA_TURN_END) : -1;
}

static enum oa_error open_served(oa_context *c, struct oa_served_model *m)
{
    const struct oa_task *task = oa_task_find(m->options->data_task);
    oa_tape_init(&m->steps, m->model->device);
    m->end = served_end(m);
    m->decodes = oa_model_check_decoding(m->model) == OA_OK;
    oa_clear_error(c);
    bool aligned = task && task->answer == OA_ANSWER_TOKENS && task->layout && m->end < 0;
    if (!oa_is_language_model(&m->model->form) || aligned)
        return OA_OK;
    const struct oa_writing_rules rules = { .end = m->end,
                                            .spelt = m->end < 0,
                                            .specials = m->specials->name ? m->specials : NULL };
    OA_TRY(oa_writable_open(c, m->tokenizer, m->model->vocabulary, &rules, &m->writable));
    m->row = oa_alloc(c, (size_t)m->model->vocabulary * sizeof *m->row);
    return m->row ? OA_OK : OA_NO_MEMORY;
}

static void close_served(struct oa_served_model *m)
{
    if (m->steps.device)
        oa_tape_free(&m->steps);
    oa_writable_close(m->writable);
    oa_free(m->row);
}

static enum oa_error open_server(struct oa_server *s, const struct oa_serve_settings *how)
{
    const struct oa_http_settings http = { .host = how->host,
                                           .port = how->port,
                                           .keys = how->keys,
                                           .connections = how->connections,
                                           .body = how->body,
                                           .timeout = how->timeout,
                                           .known = oa_route_known };
    long vocabulary = 1, most = 0;
    for (int i = 0; i < s->models; i++) {
        struct oa_served_model *m = &s->model[i];
        OA_TRY(open_served(s->context, m));
        vocabulary = oa_max(vocabulary, m->model->vocabulary);
        if (m->writable && m->decodes)
            OA_TRY(oa_decoding_most_bytes(m->model, &m->state_bytes));
        most = oa_max(most, (long)m->state_bytes);
    }
    s->slot_bytes = how->sequences * most;
    s->prefix_bytes = oa_max(LEAST_PREFIX_BYTES, oa_max(1, how->sequences / 4) * most);
    OA_TRY(
        oa_slots_open(s->context, how->sequences, vocabulary, (size_t)s->prefix_bytes, &s->slots));
    return oa_http_open(s->context, &http, &s->http);
}

/* ---- serving ---- */

static void take_requests(struct oa_server *s, double seconds)
{
    struct oa_exchange *x = oa_http_next(s->http, seconds);
    for (; x; x = oa_http_next(s->http, 0))
        oa_route(s, x);
}

/* A step of everything under way; false: there was nothing. */
static bool step_requests(struct oa_server *s)
{
    bool jobs = oa_jobs_step(&s->jobs);
    return oa_completions_step(s) || jobs;
}

static void serve_until_stopped(struct oa_server *s)
{
    double expired = oa_clock();
    bool busy = false;
    while (!oa_stop_pending(s->context)) {
        take_requests(s, busy ? 0 : 0.1);
        busy = step_requests(s);
        if (oa_clock() - expired > 1) {
            oa_http_expire(s->http);
            expired = oa_clock();
        }
    }
}

/* Computes what was accepted, and lets clients take it. */
static void finish_requests(struct oa_server *s)
{
    bool busy = true;
    oa_http_quiesce(s->http);
    for (double since = oa_clock(); busy || oa_clock() - since < PATIENCE;) {
        take_requests(s, busy ? 0 : 0.02);
        busy = step_requests(s);
        if (busy)
            since = oa_clock();
        else if (oa_http_end_if_idle(s->http))
            return;
    }
}

enum oa_error oa_serve_models(oa_context *c, struct oa_served_model *model, int models,
                              const struct oa_serve_settings *how,
                              void (*ready)(void *argument, const char *address), void *argument)
{
    struct oa_server s = { .context = c, .model = model, .models = models };
    s.started = (double)time(NULL);
    oa_jobs_open(&s, &s.jobs);
    enum oa_error e = open_server(&s, how);
    if (e == OA_OK) {
        if (s.slot_bytes)
            oa_log(c, 0,
                   "states of %d sequences take at most %.0f MiB, stored beginnings of prompts "
                   "%.0f MiB",
                   how->sequences, ceil((double)s.slot_bytes / MIB),
                   ceil((double)s.prefix_bytes / MIB));
        ready(argument, oa_http_address(s.http));
        oa_context_defer_stop(c, true);
        serve_until_stopped(&s);
        finish_requests(&s);
        oa_context_defer_stop(c, false);
        e = oa_fail(c, OA_INTERRUPTED, "stopped by signal %d after %.0f requests, all answered",
                    oa_stop_pending(c), oa_http_count(s.http).requests);
    }
    oa_http_close(s.http);
    oa_slots_close(&s.slots);
    oa_jobs_close(&s.jobs);
    for (int i = 0; i < models; i++)
        close_served(&model[i]);
    return e;
}
