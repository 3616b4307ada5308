/* SPDX-License-Identifier: Apache-2.0
 * The listening socket; opening and closing. */
#include "serve/http_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024, OTHER_FILES = 64 }; /* OTHER_FILES: open files that are no connections */

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

/* Listens on the first address of the host. */
static enum oa_error listen_at(struct oa_http *h, const struct addrinfo *a, int *fd)
{
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    h->loopback = is_loopback(a->ai_addr);
    if (!h->loopback && !h->settings.keys)
        return oa_fail(h->context, OA_ARGUMENT,
                       "--host %s lets other machines use the models: give --api-key-file, a file "
                       "with a key on each line",
                       h->settings.host);
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
    h->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, oa_http_on_request,
        h, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)h->settings.connections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(h->settings.timeout + 1), MHD_OPTION_NOTIFY_COMPLETED, oa_http_on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, oa_http_on_connection, h, MHD_OPTION_END);
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
