/* SPDX-License-Identifier: Apache-2.0
 * Jobs take turns with the loop. */
#include "serve/long_requests.h"

#include "base/concurrent.h"
#include "serve/server.h"

/* PLACES: most running jobs of a path, as each has the activations of a pass in memory. Short ones,
 * whose body has at most SHORT_BODY bytes, are counted apart: they never wait for long ones. */
enum { PLACES = 2, SHORT_BODY = 512 };

struct oa_job {
    struct oa_job *next;
    struct oa_jobs *jobs;
    struct oa_exchange *exchange;
    json_t *request;
    oa_job_answer *answer;
    pthread_t thread;
    bool is_short, started, ended;
};

/* ---- turns ---- */

/* Gives the turn to a job (NULL: the loop), and waits until it is the turn of `me` again. */
static void pass_turn(struct oa_jobs *k, struct oa_job *to, struct oa_job *me)
{
    pthread_mutex_lock(&k->lock);
    k->current = to;
    pthread_cond_broadcast(&k->turned);
    while (k->current != me)
        pthread_cond_wait(&k->turned, &k->lock);
    pthread_mutex_unlock(&k->lock);
}

/* If the client has left, a failure is recorded, with which the job ends in its next turn. */
static void end_turn(void *argument)
{
    struct oa_jobs *k = argument;
    struct oa_job *j = k->current;
    if (!j)
        return;
    pass_turn(k, NULL, j);
    if (oa_exchange_is_abandoned(j->exchange))
        oa_fail(k->server->context, OA_INTERRUPTED, "the client has left");
}

static void answer_job(struct oa_job *j)
{
    struct oa_server *s = j->jobs->server;
    j->answer(s, j->exchange, j->request);
    oa_clear_error(s->context);
    j->ended = true;
}

static void *run_job(void *argument)
{
    struct oa_job *j = argument;
    struct oa_jobs *k = j->jobs;
    answer_job(j);
    pthread_mutex_lock(&k->lock);
    k->current = NULL;
    pthread_cond_broadcast(&k->turned);
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* If no thread can be started, the loop answers the whole request. */
static void start_job(struct oa_jobs *k, struct oa_job *j)
{
    j->started = true;
    pthread_mutex_lock(&k->lock);
    k->current = j;
    pthread_mutex_unlock(&k->lock);
    if (oa_thread_start(&j->thread, run_job, j) == 0) {
        pthread_mutex_lock(&k->lock);
        while (k->current)
            pthread_cond_wait(&k->turned, &k->lock);
        pthread_mutex_unlock(&k->lock);
        return;
    }
    j->started = false;
    k->current = NULL;
    answer_job(j);
}

/* ---- the loop ---- */

void oa_jobs_open(struct oa_server *s, struct oa_jobs *out)
{
    *out = (struct oa_jobs){ .server = s };
    pthread_mutex_init(&out->lock, NULL);
    pthread_cond_init(&out->turned, NULL);
    oa_context_on_pause(s->context, end_turn, out);
}

void oa_jobs_close(struct oa_jobs *k)
{
    oa_context_on_pause(k->server->context, NULL, NULL);
    pthread_cond_destroy(&k->turned);
    pthread_mutex_destroy(&k->lock);
}

void oa_jobs_add(struct oa_jobs *k, struct oa_exchange *x, json_t *request, oa_job_answer *answer)
{
    struct oa_job **last = &k->first, *j = oa_alloc(k->server->context, sizeof *j);
    size_t length;
    if (!j) {
        oa_reply_failure(k->server, x);
        return;
    }
    oa_exchange_body(x, &length);
    *j = (struct oa_job){ .jobs = k,
                          .exchange = x,
                          .request = json_incref(request),
                          .answer = answer,
                          .is_short = length <= SHORT_BODY };
    while (*last)
        last = &(*last)->next;
    *last = j;
}

static bool has_place(const struct oa_jobs *k, const struct oa_job *j)
{
    int running = 0;
    for (const struct oa_job *other = k->first; other; other = other->next)
        running += other->started && other->answer == j->answer && other->is_short == j->is_short;
    return running < PLACES;
}

bool oa_jobs_step(struct oa_jobs *k)
{
    bool any = k->first != NULL;
    struct oa_job **at = &k->first;
    while (*at) {
        struct oa_job *j = *at;
        if (j->started)
            pass_turn(k, j, NULL);
        else if (has_place(k, j))
            start_job(k, j);
        if (!j->ended) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        if (j->started)
            pthread_join(j->thread, NULL);
        json_decref(j->request);
        oa_free(j);
    }
    return any;
}
