/* SPDX-License-Identifier: Apache-2.0
 * Private to src/serve: what the files of the HTTP server share, which are compiled with
 * libmicrohttpd.
 *
 *     http_server.c    the listening socket, opening and closing
 *     http_clients.c   connections, and which of them are closed
 *     http_refusals.c  requests that are refused before their body is read
 *     http_exchange.c  requests and their answers
 *
 * The thread of libmicrohttpd calls the functions oa_http_on_… . One lock guards queue, clients and
 * answers; it is held for copies only. */
#ifndef ORTHANT_SERVE_HTTP_PARTS_H
#define ORTHANT_SERVE_HTTP_PARTS_H

#include "serve/http_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>

enum { OA_HTTP_PATH_BYTES = 64 }; /* longer paths are cut: none of ours is */

struct http_client { /* a connection */
    struct http_client *next, *before;
    int fd;
    double since;   /* when what it is doing began */
    bool computing; /* its request is queued or being answered: no deadline */
    bool answered;  /* a request before */
    bool cut;
};

struct oa_exchange {
    struct oa_http *http;
    struct MHD_Connection *connection;
    struct http_client *client;
    struct oa_exchange *next; /* in the queue, later in the list `unsent` */
    char path[OA_HTTP_PATH_BYTES];
    char *body;
    size_t length, room;
    double complete; /* when its last byte was read */
    bool queued;     /* or taken from the queue */

    int status; /* of the answer; 0: not known yet */
    const char *type;
    char *out;
    size_t out_length, out_room, sent;
    bool pieces;    /* sent in pieces, with chunked encoding */
    bool ended;     /* the answer is complete */
    bool suspended; /* until there is something to send */
    bool unsent;    /* in the list of these: oa_http_send resumes it */
    bool gone;      /* the client */
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
    struct oa_exchange *unsent;       /* those that have new pieces */
    struct http_client *clients;
    long exchanges; /* begun and not yet freed */
    bool ending;    /* every answer is the last one of its connection */
    bool ended;     /* no request is begun any more */
    struct oa_http_counts counts;
};

/* ---- http_clients.c ---- */
void oa_http_on_connection(void *http, struct MHD_Connection *connection, void **client,
                           enum MHD_ConnectionNotificationCode what);

/* ---- http_refusals.c ---- */
/* Answers a request that its head alone has refused. */
enum MHD_Result oa_http_check_head(struct oa_exchange *x, const char *url, const char *method);

/* ---- http_exchange.c ---- */
enum MHD_Result oa_http_on_request(void *http, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *data,
                                   size_t *length, void **exchange);
void oa_http_on_completed(void *http, struct MHD_Connection *connection, void **exchange,
                          enum MHD_RequestTerminationCode how);
/* Sends a response, which is destroyed. */
enum MHD_Result oa_http_respond(struct oa_exchange *x, int status, struct MHD_Response *response);

#endif
