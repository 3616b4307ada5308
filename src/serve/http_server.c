/* SPDX-License-Identifier: Apache-2.0
 * HTTP by libmicrohttpd, whose thread calls the functions on_… . A request that is complete is
 * suspended and queued; the answer resumes it. One lock guards queue, clients and answers; it is
 * held for copies only.
 *
 * No client keeps others out: a head, a body and the taking of an answer have `timeout` seconds
 * each, and where seven eighths of the connections are in use, a new one has another closed that
 * does not wait for an answer: of those that never had one, if there are any, the one that did
 * nothing for the longest time. */
#include "serve/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PATH_ROOM = 64, PIECE = 1 << 16, BACKLOG = 1024, OTHER_FILES = 64 };

struct http_client { /* a connection */
    struct http_client *next, *before;
    int fd;
    double since;   /* of what it is doing */
    bool computing; /* its request is queued or being answered: no deadline */
    bool answered;  /* a request before */
    bool cut;
};

struct oa_exchange {
    struct oa_http *http;
    struct MHD_Connection *connection;
    struct http_client *client;
    struct oa_exchange *next; /* in the queue, later among those with news */
    char path[PATH_ROOM];
    char *body;
    size_t length, room;
    double complete; /* when it was */
    bool queued;     /* or taken from the queue */
    /* the answer */
    int status; /* 0: not yet */
    const char *type;
    char *out;
    size_t out_length, out_room, sent;
    bool pieces, ended, waiting; /* waiting: suspended until there is something to send */
    bool news;                   /* to be resumed by oa_http_send */
    bool gone;                   /* the client */
};

struct oa_http {
    oa_context *context;
    struct oa_http_settings settings;
    struct MHD_Daemon *daemon;
    bool loopback;
    char address[NI_MAXHOST + NI_MAXSERV + 16];
    pthread_mutex_t lock;
    pthread_cond_t queued;
    struct oa_exchange *first, *last; /* the queue */
    struct oa_exchange *news;
    struct http_client *clients;
    long exchanges; /* that exist */
    bool ending;    /* every answer is the last one of its connection */
    bool ended;     /* nothing more is taken */
    struct oa_http_counts counts;
};

/* ---- clients ---- */

static void cut_client(struct oa_http *h, struct http_client *k)
{
    if (!k->cut)
        shutdown(k->fd, SHUT_RDWR);
    h->counts.cut += !k->cut;
    k->cut = true;
}

/* Clients that had an answer keep their connections longer than those that never asked. */
static bool goes_before(const struct http_client *a, const struct http_client *b)
{
    return a->answered != b->answered ? b->answered : a->since <= b->since;
}

static void make_room_for_client(struct oa_http *h)
{
    struct http_client *first = NULL;
    if (h->counts.open < h->settings.connections - h->settings.connections / 8)
        return;
    for (struct http_client *k = h->clients; k; k = k->next)
        if (!k->computing && !k->cut && (!first || goes_before(k, first)))
            first = k;
    if (first)
        cut_client(h, first);
}

static void add_client(struct oa_http *h, struct http_client *k)
{
    pthread_mutex_lock(&h->lock);
    make_room_for_client(h);
    k->next = h->clients;
    if (h->clients)
        h->clients->before = k;
    h->clients = k;
    h->counts.open++;
    h->counts.accepted++;
    pthread_mutex_unlock(&h->lock);
}

static void remove_client(struct oa_http *h, struct http_client *k)
{
    pthread_mutex_lock(&h->lock);
    *(k->before ? &k->before->next : &h->clients) = k->next;
    if (k->next)
        k->next->before = k->before;
    h->counts.open--;
    pthread_mutex_unlock(&h->lock);
    free(k);
}

static void on_connection(void *argument, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct oa_http *h = argument;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context)
            remove_client(h, *context);
        *context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_client *k = calloc(1, sizeof *k);
    *context = k; /* NULL: its requests are dropped */
    if (!k)
        return;
    k->fd = info->connect_fd;
    k->since = oa_clock();
    add_client(h, k);
}

void oa_http_expire(struct oa_http *h)
{
    pthread_mutex_lock(&h->lock);
    double now = oa_clock();
    for (struct http_client *k = h->clients; k; k = k->next)
        if (!k->computing && now - k->since > h->settings.timeout)
            cut_client(h, k);
    pthread_mutex_unlock(&h->lock);
}

/* ---- what is refused without a look at the body ---- */

struct http_refusal {
    int status;
    const char *type, *code, *sentence;
};

/* A client that keeps its connection would otherwise go on asking a server that is to end. */
static void close_after_answer(struct oa_http *h, struct MHD_Response *response)
{
    pthread_mutex_lock(&h->lock);
    bool ending = h->ending;
    pthread_mutex_unlock(&h->lock);
    if (ending)
        MHD_add_response_header(response, "Connection", "close");
}

static enum MHD_Result refuse(struct oa_exchange *x, const struct http_refusal *r)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"error\": {\"message\": \"%s\", \"type\": \"%s\", \"param\": null, "
                     "\"code\": %s%s%s}}\n",
                     r->sentence, r->type, r->code ? "\"" : "", r->code ? r->code : "null",
                     r->code ? "\"" : "");
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)n, text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "application/json");
    if (r->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    close_after_answer(x->http, response);
    enum MHD_Result done = MHD_queue_response(x->connection, (unsigned)r->status, response);
    MHD_destroy_response(response);
    pthread_mutex_lock(&x->http->lock);
    x->http->counts.refused++;
    pthread_mutex_unlock(&x->http->lock);
    return done;
}

/* In a time that does not depend on where they differ. */
static bool is_right_key(const char *key, size_t length, const char *given)
{
    unsigned char differ = strlen(given) != length;
    for (size_t i = 0; i < length && given[i]; i++)
        differ |= (unsigned char)(key[i] ^ given[i]);
    return !differ && length;
}

static bool has_key(const struct oa_exchange *x)
{
    const char *given =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Authorization");
    bool found = false;
    if (!x->http->settings.keys)
        return true;
    if (!given || strncasecmp(given, "Bearer ", 7) != 0)
        return false;
    for (const char *line = x->http->settings.keys; *line;) {
        size_t length = strcspn(line, "\r\n");
        found |= is_right_key(line, length, given + 7);
        line += length + strspn(line + length, "\r\n");
    }
    return found;
}

/* Refuses DNS rebinding: the header Host of a page of another site has the name of that site. */
static bool has_right_host(const struct oa_exchange *x)
{
    const char *host = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Host");
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
    if (!x->http->loopback || !host)
        return true;
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0 && (!host[length] || host[length] == ':'))
            return true;
    }
    const char *configured = x->http->settings.host;
    size_t length = strlen(configured);
    return strncasecmp(host, configured, length) == 0 && (!host[length] || host[length] == ':');
}

static bool is_too_long(const struct oa_exchange *x)
{
    const char *length =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Content-Length");
    return length && strtoull(length, NULL, 10) > x->http->settings.body;
}

static enum MHD_Result count_length(void *lengths, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    (void)kind, (void)value;
    *(int *)lengths +=
        strcasecmp(name, "Content-Length") == 0 || strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* A proxy may believe the other one, and take the end of a body for the next request (RFC 9112,
 * 6.3). */
static bool has_two_lengths(const struct oa_exchange *x)
{
    int lengths = 0;
    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, count_length, &lengths);
    return lengths > 1;
}

static const struct http_refusal *find_refusal(const struct oa_exchange *x, const char *url,
                                               const char *method)
{
    static const struct http_refusal host = { MHD_HTTP_FORBIDDEN, "invalid_request_error", NULL,
                                              "the header Host names another machine" },
                                     unknown = { MHD_HTTP_NOT_FOUND, "invalid_request_error", NULL,
                                                 "there is no such path; docs/serve.md "
                                                 "lists them" },
                                     verb = { MHD_HTTP_METHOD_NOT_ALLOWED, "invalid_request_error",
                                              NULL, "this path has another method: GET or POST" },
                                     key = { MHD_HTTP_UNAUTHORIZED, "authentication_error",
                                             "invalid_api_key",
                                             "a key of --api-key-file is needed: Authorization: "
                                             "Bearer KEY" },
                                     twice = { MHD_HTTP_BAD_REQUEST, "invalid_request_error", NULL,
                                               "the length of the body is given twice" },
                                     large = { MHD_HTTP_CONTENT_TOO_LARGE, "invalid_request_error",
                                               NULL, "the body is larger than --body allows" };
    bool post, open;
    if (!has_right_host(x))
        return &host;
    if (has_two_lengths(x))
        return &twice;
    if (!x->http->settings.known(url, &post, &open))
        return &unknown;
    if (strcmp(method, post ? "POST" : "GET") != 0 && (post || strcmp(method, "HEAD") != 0))
        return &verb;
    if (!open && !has_key(x))
        return &key;
    return is_too_long(x) ? &large : NULL;
}

/* ---- requests ---- */

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
    x->client->computing = x->waiting = true;
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
    x->waiting = !length && !end;
    if (x->waiting)
        MHD_suspend_connection(x->connection);
    pthread_mutex_unlock(&x->http->lock);
    return end ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)length;
}

static enum MHD_Result send_answer(struct oa_exchange *x)
{
    pthread_mutex_lock(&x->http->lock);
    bool pieces = x->pieces;
    int status = x->status;
    pthread_mutex_unlock(&x->http->lock);
    struct MHD_Response *response =
        pieces
            ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, on_piece_wanted, x, NULL)
            : MHD_create_response_from_buffer(x->out_length, x->out, MHD_RESPMEM_PERSISTENT);
    if (!response || !status)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", x->type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    close_after_answer(x->http, response);
    enum MHD_Result done = MHD_queue_response(x->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return done;
}

static enum MHD_Result on_request(void *argument, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version,
                                  const char *data, size_t *length, void **context)
{
    struct oa_exchange *x = *context;
    (void)version;
    if (!x) {
        *context = x = begin_exchange(argument, connection, url);
        if (!x)
            return MHD_NO;
        const struct http_refusal *r = find_refusal(x, url, method);
        return r ? refuse(x, r) : MHD_YES;
    }
    if (*length) {
        bool added = add_body(x, data, *length);
        *length = 0;
        return added ? MHD_YES : MHD_NO;
    }
    if (x->queued)
        return send_answer(x);
    queue_exchange(argument, x);
    return MHD_YES;
}

static void free_exchange(struct oa_exchange *x)
{
    x->http->exchanges--;
    free(x->body);
    free(x->out);
    free(x);
}

/* The last of both sides frees it. */
static void on_completed(void *argument, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode how)
{
    struct oa_http *h = argument;
    struct oa_exchange *x = *context;
    (void)connection, (void)how;
    *context = NULL;
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

/* ---- the side that computes ---- */

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

/* With the lock held. What there is no memory for is left out, and the connection then ends. */
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
    if (x->waiting && !x->gone)
        MHD_resume_connection(x->connection);
    x->waiting = false;
}

static void add_news(struct oa_exchange *x)
{
    if (x->news)
        return;
    x->news = true;
    x->next = x->http->news;
    x->http->news = x;
}

static void forget_news(struct oa_exchange *x)
{
    struct oa_exchange **at = &x->http->news;
    while (x->news && *at != x)
        at = &(*at)->next;
    if (x->news)
        *at = x->next;
    x->news = false;
}

void oa_http_send(struct oa_http *h)
{
    pthread_mutex_lock(&h->lock);
    for (; h->news; h->news = h->news->next) {
        h->news->news = false;
        resume_exchange(h->news);
    }
    pthread_mutex_unlock(&h->lock);
}

/* With the lock held: the side that computes has no more to say. */
static void finish_exchange(struct oa_exchange *x)
{
    forget_news(x);
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
    add_news(x);
    pthread_mutex_unlock(&x->http->lock);
}

void oa_exchange_add(struct oa_exchange *x, const char *text, size_t length)
{
    pthread_mutex_lock(&x->http->lock);
    if (!x->gone)
        add_out(x, text, length);
    add_news(x);
    pthread_mutex_unlock(&x->http->lock);
}

void oa_exchange_end(struct oa_exchange *x)
{
    struct oa_http *h = x->http;
    pthread_mutex_lock(&h->lock);
    finish_exchange(x);
    pthread_mutex_unlock(&h->lock);
}

/* ---- opening and closing ---- */

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static enum oa_error refuse_open_address(const struct oa_http *h)
{
    if (h->loopback || h->settings.keys)
        return OA_OK;
    return oa_fail(h->context, OA_ARGUMENT,
                   "--host %s lets other machines use the models: give --api-key-file, a file with "
                   "a key on each line",
                   h->settings.host);
}

/* Listens on the first address of the host. */
static enum oa_error listen_at(struct oa_http *h, const struct addrinfo *a, int *fd)
{
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    h->loopback = is_loopback(a->ai_addr);
    OA_TRY(refuse_open_address(h));
    *fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) != 0 ||
        bind(*fd, a->ai_addr, a->ai_addrlen) != 0 || listen(*fd, BACKLOG) != 0 ||
        getsockname(*fd, (struct sockaddr *)&bound, &size) != 0)
        return oa_fail(h->context, OA_IO, "cannot listen on %s, port %d: %s; choose another --port",
                       h->settings.host, h->settings.port, strerror(errno));
    getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = strchr(host, ':') != NULL;
    snprintf(h->address, sizeof h->address, "http://%s%s%s:%s", six ? "[" : "", host,
             six ? "]" : "", port);
    return OA_OK;
}

static enum oa_error open_socket(struct oa_http *h, int *fd)
{
    char port[16];
    struct addrinfo *found,
        hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    snprintf(port, sizeof port, "%d", h->settings.port);
    int bad = getaddrinfo(h->settings.host, port, &hints, &found);
    if (bad)
        return oa_fail(h->context, OA_ARGUMENT, "--host %s: %s", h->settings.host,
                       gai_strerror(bad));
    enum oa_error e = listen_at(h, found, fd);
    freeaddrinfo(found);
    return e;
}

/* A connection is a file: raises the limit of the process as far as it may. */
static void allow_files(struct oa_http *h)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    rlim_t wanted = (rlim_t)(h->settings.connections + OTHER_FILES);
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < wanted && limit.rlim_cur > 2 * OTHER_FILES)
        h->settings.connections = (long)limit.rlim_cur - OTHER_FILES;
}

static enum oa_error start_http(struct oa_http *h)
{
    int fd = -1;
    enum oa_error e = open_socket(h, &fd);
    if (e != OA_OK) {
        if (fd >= 0)
            close(fd);
        return e;
    }
    allow_files(h);
    h->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
                                 NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
                                 MHD_OPTION_CONNECTION_LIMIT, (unsigned)h->settings.connections,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(h->settings.timeout + 1),
                                 MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
                                 MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (h->daemon)
        return OA_OK;
    close(fd);
    return oa_fail(h->context, OA_IO, "the HTTP server did not start: %s", strerror(errno));
}

enum oa_error oa_http_open(oa_context *c, const struct oa_http_settings *s, struct oa_http **out)
{
    pthread_condattr_t monotonic;
    struct oa_http *h = oa_alloc(c, sizeof *h);
    *out = h;
    if (!h)
        return OA_NO_MEMORY;
    h->context = c;
    h->settings = *s;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&h->queued, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return start_http(h);
}

const char *oa_http_address(struct oa_http *h)
{
    return h->address;
}

void oa_http_quiesce(struct oa_http *h)
{
    MHD_socket fd = MHD_quiesce_daemon(h->daemon);
    pthread_mutex_lock(&h->lock);
    h->ending = true;
    pthread_mutex_unlock(&h->lock);
    if (fd != MHD_INVALID_SOCKET)
        close(fd);
}

void oa_http_close(struct oa_http *h)
{
    struct oa_exchange *x;
    if (!h)
        return;
    while (h->daemon && (x = oa_http_next(h, 0)))
        oa_exchange_answer(x, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain", "", 0);
    if (h->daemon)
        MHD_stop_daemon(h->daemon);
    pthread_cond_destroy(&h->queued);
    pthread_mutex_destroy(&h->lock);
    oa_free(h);
}
