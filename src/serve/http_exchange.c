/* SPDX-License-Identifier: Apache-2.0
 * Requests and their answers. A request that is complete is suspended and queued; the answer
 * resumes it. */
#include "serve/http_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { PIECE_BYTES = 1 << 16 };

/* ---- the thread of libmicrohttpd ---- */

static struct oa_exchange *begin_exchange(struct oa_http *h, struct MHD_Connection *connection,
                                          const char *url)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct oa_exchange *x = info->socket_context ? calloc(1, sizeof *x) : NULL;
    if (!x)
        return NULL;
    x->http = h;
    x->connection = connection;
    x->client = info->socket_context;
    snprintf(x->path, sizeof x->path, "%s", url);
    pthread_mutex_lock(&h->lock);
    bool ended = h->ended;
    if (!ended) {
        x->client->since = oa_clock();
        h->exchanges++;
        h->counts.requests++;
    }
    pthread_mutex_unlock(&h->lock);
    if (!ended)
        return x;
    free(x);
    return NULL;
}

static bool add_body(struct oa_exchange *x, const char *data, size_t length)
{
    if (length > x->http->settings.body - x->length)
        return false;
    if (x->length + length + 1 > x->room) {
        size_t room = 2 * (x->length + length) + 4096;
        char *body = realloc(x->body, room);
        if (!body)
            return false;
        x->body = body;
        x->room = room;
    }
    memcpy(x->body + x->length, data, length);
    x->length += length;
    x->body[x->length] = 0;
    return true;
}

static void queue_exchange(struct oa_http *h, struct oa_exchange *x)
{
    pthread_mutex_lock(&h->lock);
    x->queued = true;
    x->complete = oa_clock();
    x->client->computing = x->suspended = true;
    MHD_suspend_connection(x->connection);
    *(h->last ? &h->last->next : &h->first) = x;
    h->last = x;
    pthread_cond_signal(&h->queued);
    pthread_mutex_unlock(&h->lock);
}

static ssize_t on_piece_wanted(void *argument, uint64_t at, char *out, size_t room)
{
    struct oa_exchange *x = argument;
    (void)at;
    pthread_mutex_lock(&x->http->lock);
    size_t length = x->out_length - x->sent;
    length = length < room ? length : room;
    if (length)
        memcpy(out, x->out + x->sent, length);
    x->sent += length;
    bool end = !length && x->ended;
    x->suspended = !length && !end;
    if (x->suspended)
        MHD_suspend_connection(x->connection);
    pthread_mutex_unlock(&x->http->lock);
    return end ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)length;
}

enum MHD_Result oa_http_respond(struct oa_exchange *x, int status, struct MHD_Response *response)
{
    pthread_mutex_lock(&x->http->lock);
    bool ending = x->http->ending;
    pthread_mutex_unlock(&x->http->lock);
    if (ending) /* or a client that keeps its connection would go on asking a server that ends */
        MHD_add_response_header(response, "Connection", "close");
    enum MHD_Result done = MHD_queue_response(x->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return done;
}

static enum MHD_Result send_answer(struct oa_exchange *x)
{
    pthread_mutex_lock(&x->http->lock);
    bool pieces = x->pieces;
    int status = x->status;
    pthread_mutex_unlock(&x->http->lock);
    struct MHD_Response *response =
        pieces ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BYTES, on_piece_wanted,
                                                   x, NULL)
               : MHD_create_response_from_buffer(x->out_length, x->out, MHD_RESPMEM_PERSISTENT);
    if (!response || !status)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", x->type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    return oa_http_respond(x, status, response);
}

enum MHD_Result oa_http_on_request(void *http, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *data,
                                   size_t *length, void **exchange)
{
    struct oa_exchange *x = *exchange;
    (void)version;
    if (!x) {
        *exchange = x = begin_exchange(http, connection, url);
        return x ? oa_http_check_head(x, url, method) : MHD_NO;
    }
    if (*length) {
        bool added = add_body(x, data, *length);
        *length = 0;
        return added ? MHD_YES : MHD_NO;
    }
    if (x->queued)
        return send_answer(x);
    queue_exchange(http, x);
    return MHD_YES;
}

static void free_exchange(struct oa_exchange *x)
{
    x->http->exchanges--;
    free(x->body);
    free(x->out);
    free(x);
}

/* The exchange is freed by whichever of the two threads needs it last. */
void oa_http_on_completed(void *http, struct MHD_Connection *connection, void **exchange,
                          enum MHD_RequestTerminationCode how)
{
    struct oa_http *h = http;
    struct oa_exchange *x = *exchange;
    (void)connection, (void)how;
    *exchange = NULL;
    if (!x)
        return;
    pthread_mutex_lock(&h->lock);
    x->gone = true;
    x->client->computing = false;
    x->client->answered |= x->ended;
    x->client->since = oa_clock();
    if (!x->queued || x->ended)
        free_exchange(x);
    pthread_mutex_unlock(&h->lock);
}

/* ---- the thread that computes ---- */

struct oa_exchange *oa_http_next(struct oa_http *h, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&h->lock);
    if (!h->first && seconds > 0)
        pthread_cond_timedwait(&h->queued, &h->lock, &until);
    struct oa_exchange *x = h->first;
    if (x) {
        h->first = x->next;
        if (!h->first)
            h->last = NULL;
        x->next = NULL;
    }
    pthread_mutex_unlock(&h->lock);
    return x;
}

bool oa_http_end_if_idle(struct oa_http *h)
{
    pthread_mutex_lock(&h->lock);
    h->ended = h->exchanges == 0;
    bool ended = h->ended;
    pthread_mutex_unlock(&h->lock);
    return ended;
}

struct oa_http_counts oa_http_count(struct oa_http *h)
{
    pthread_mutex_lock(&h->lock);
    struct oa_http_counts counts = h->counts;
    pthread_mutex_unlock(&h->lock);
    return counts;
}

const char *oa_exchange_path(const struct oa_exchange *x)
{
    return x->path;
}

struct argument_visit {
    void (*visit)(void *argument, const char *name, const char *value);
    void *argument;
};

static enum MHD_Result visit_argument(void *cls, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    const struct argument_visit *v = cls;
    (void)kind;
    v->visit(v->argument, name, value ? value : "");
    return MHD_YES;
}

void oa_exchange_visit_arguments(struct oa_exchange *x,
                                 void (*visit)(void *argument, const char *name, const char *value),
                                 void *argument)
{
    struct argument_visit v = { visit, argument };
    MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, visit_argument, &v);
}

const char *oa_exchange_body(const struct oa_exchange *x, size_t *length)
{
    *length = x->length;
    return x->body ? x->body : "";
}

double oa_exchange_seconds(const struct oa_exchange *x)
{
    return oa_clock() - x->complete;
}

bool oa_exchange_is_gone(struct oa_exchange *x)
{
    pthread_mutex_lock(&x->http->lock);
    bool gone = x->gone;
    pthread_mutex_unlock(&x->http->lock);
    return gone;
}

bool oa_exchange_is_abandoned(struct oa_exchange *x)
{
    char byte;
    pthread_mutex_lock(&x->http->lock);
    bool gone = x->gone;
    if (!gone) {
        ssize_t n = recv(x->client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        gone = n == 0 || (n < 0 && errno == ECONNRESET);
    }
    pthread_mutex_unlock(&x->http->lock);
    return gone;
}

/* With the lock held. Without memory the text is left out. */
static void add_out(struct oa_exchange *x, const char *text, size_t length)
{
    if (x->sent == x->out_length)
        x->sent = x->out_length = 0;
    if (x->out_length + length > x->out_room) {
        size_t room = 2 * (x->out_length + length);
        char *out = realloc(x->out, room);
        if (!out)
            return;
        x->out = out;
        x->out_room = room;
    }
    memcpy(x->out + x->out_length, text, length);
    x->out_length += length;
}

static void resume_exchange(struct oa_exchange *x)
{
    if (x->suspended && !x->gone)
        MHD_resume_connection(x->connection);
    x->suspended = false;
}

static void mark_unsent(struct oa_exchange *x)
{
    if (x->unsent)
        return;
    x->unsent = true;
    x->next = x->http->unsent;
    x->http->unsent = x;
}

static void unmark_unsent(struct oa_exchange *x)
{
    struct oa_exchange **at = &x->http->unsent;
    while (x->unsent && *at != x)
        at = &(*at)->next;
    if (x->unsent)
        *at = x->next;
    x->unsent = false;
}

void oa_http_send(struct oa_http *h)
{
    pthread_mutex_lock(&h->lock);
    for (; h->unsent; h->unsent = h->unsent->next) {
        h->unsent->unsent = false;
        resume_exchange(h->unsent);
    }
    pthread_mutex_unlock(&h->lock);
}

/* With the lock held: the answer is complete. */
static void finish_exchange(struct oa_exchange *x)
{
    unmark_unsent(x);
    x->ended = true;
    if (x->gone) {
        free_exchange(x);
        return;
    }
    x->client->computing = false;
    x->client->since = oa_clock();
    resume_exchange(x);
}

void oa_exchange_answer(struct oa_exchange *x, int status, const char *type, const char *text,
                        size_t length)
{
    struct oa_http *h = x->http;
    pthread_mutex_lock(&h->lock);
    x->status = status;
    x->type = type;
    add_out(x, text, length);
    finish_exchange(x);
    pthread_mutex_unlock(&h->lock);
}

void oa_exchange_begin(struct oa_exchange *x, const char *type)
{
    pthread_mutex_lock(&x->http->lock);
    x->status = MHD_HTTP_OK;
    x->type = type;
    x->pieces = true;
    mark_unsent(x);
    pthread_mutex_unlock(&x->http->lock);
}

void oa_exchange_add(struct oa_exchange *x, const char *text, size_t length)
{
    pthread_mutex_lock(&x->http->lock);
    if (!x->gone)
        add_out(x, text, length);
    mark_unsent(x);
    pthread_mutex_unlock(&x->http->lock);
}

void oa_exchange_end(struct oa_exchange *x)
{
    struct oa_http *h = x->http;
    pthread_mutex_lock(&h->lock);
    finish_exchange(x);
    pthread_mutex_unlock(&h->lock);
}
