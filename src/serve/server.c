/* SPDX-License-Identifier: Apache-2.0
 * The loop. On a stop request, everything that was accepted is answered first. */
#include "serve/server.h"

#include "data/turns.h"
#include "serve/completion.h"
#include "tasks/tasks.h"

#include <math.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { MIB = 1 << 20, LEAST_PREFIX_BYTES = 64 * MIB, RETURNED_BYTES = 64 << 10 };
static const double TIMEOUT_AT_END = 10; /* seconds for clients to take their last answers */

/* ---- opening ---- */

/* A token is read, so that the device packs the weights before the first request comes. */
static enum oa_error pack_served_weights(struct oa_served_model *m, int sequences)
{
    struct oa_decoding d;
    const int32_t id = 0;
    float *logits = oa_alloc(m->model->context, (size_t)m->model->vocabulary * sizeof *logits);
    enum oa_error e = oa_decoding_open(m->model, &d);
    if (e == OA_OK && logits)
        e = oa_decoding_read(&d, &id, 1, logits);
    oa_decoding_close(&d);
    oa_free(logits);
    OA_TRY(logits ? e : OA_NO_MEMORY);
    return oa_decoding_plan_memory(m->model, sequences, &m->most);
}

static enum oa_error open_served(oa_context *c, struct oa_served_model *m, int sequences)
{
    const struct oa_task *task = oa_task_find(m->options->data_task);
    oa_tape_init(&m->steps, m->model->device);
    m->end = oa_task_answer_end(task, m->tokenizer);
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
    return !m->row ? OA_NO_MEMORY : m->decodes ? pack_served_weights(m, sequences) : OA_OK;
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
    struct oa_serve_memory *memory = &s->memory;
    const size_t sequences = (size_t)how->sequences;
    size_t state = 0;
    long vocabulary = 1;
    for (int i = 0; i < s->models; i++) {
        struct oa_served_model *m = &s->model[i];
        OA_TRY(open_served(s->context, m, how->sequences));
        vocabulary = oa_max(vocabulary, m->model->vocabulary);
        memory->weights += m->model->store.arena.peak + m->model->store.packed.peak;
        memory->passes += m->most.pass;
        state = m->most.state > state ? m->most.state : state;
    }
    memory->states = sequences * state;
    memory->prefixes =
        (size_t)oa_max(LEAST_PREFIX_BYTES, (long)(oa_max(1, how->sequences / 4) * (long)state));
    memory->passes += sequences * (size_t)vocabulary * (2 * sizeof(float));
    OA_TRY(oa_slots_open(s->context, how->sequences, vocabulary, memory->prefixes, &s->slots));
    return oa_http_open(s->context, &http, &s->http);
}

/* The buffers of states double as they grow. This returns the old ones to the system; the heap
 * would otherwise grow to the size of all of them. */
static void return_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, RETURNED_BYTES);
#endif
}

static void log_memory(const struct oa_server *s, int sequences)
{
    const struct oa_serve_memory *m = &s->memory;
    const double weights = ceil((double)m->weights / MIB), states = ceil((double)m->states / MIB),
                 prefixes = ceil((double)m->prefixes / MIB), passes = ceil((double)m->passes / MIB);
    oa_log(s->context, 0,
           "memory: weights %.0f MiB; at most %.0f for the states of %d sequences, %.0f for stored "
           "beginnings of prompts, %.0f for a pass; in all %.0f MiB",
           weights, states, sequences, prefixes, passes, weights + states + prefixes + passes);
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

/* Computes the answers of accepted requests, and lets clients take them. */
static void finish_requests(struct oa_server *s)
{
    bool busy = true;
    oa_http_quiesce(s->http);
    for (double since = oa_clock(); busy || oa_clock() - since < TIMEOUT_AT_END;) {
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
    return_large_blocks();
    oa_jobs_open(&s, &s.jobs);
    enum oa_error e = open_server(&s, how);
    if (e == OA_OK) {
        if (s.memory.states)
            log_memory(&s, how->sequences);
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
    for (int i = 0; i < models; i++) {
        if (model[i].steps.device)
            oa_tape_free(&model[i].steps);
        oa_writable_close(model[i].writable);
        oa_free(model[i].row);
    }
    return e;
}
