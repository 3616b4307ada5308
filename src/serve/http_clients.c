/* SPDX-License-Identifier: Apache-2.0
 * Connections. No client keeps others out: a head, a body and the taking of an answer have
 * `timeout` seconds each, and where seven eighths of the connections are in use, a new one has
 * another closed that does not wait for an answer: of those that never had one, if there are any,
 * the one that did nothing for the longest time. */
#include "serve/http_parts.h"

#include <stdlib.h>
#include <sys/socket.h>

static void cut_client(struct oa_http *h, struct http_client *k)
{
    if (!k->cut)
        shutdown(k->fd, SHUT_RDWR);
    h->counts.cut += !k->cut;
    k->cut = true;
}

static void make_room_for_client(struct oa_http *h)
{
    struct http_client *victim = NULL;
    if (h->counts.open < h->settings.connections - h->settings.connections / 8)
        return;
    for (struct http_client *k = h->clients; k; k = k->next) {
        if (k->computing || k->cut)
            continue;
        if (!victim ||
            (k->answered != victim->answered ? victim->answered : k->since <= victim->since))
            victim = k;
    }
    if (victim)
        cut_client(h, victim);
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

void oa_http_on_connection(void *http, struct MHD_Connection *connection, void **client,
                           enum MHD_ConnectionNotificationCode what)
{
    struct oa_http *h = http;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*client)
            remove_client(h, *client);
        *client = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_client *k = calloc(1, sizeof *k);
    *client = k; /* NULL: its requests are dropped */
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
