/* SPDX-License-Identifier: Apache-2.0
 * HTTP by libmicrohttpd, in a thread of its own: it reads requests, refuses those that can be
 * refused without a model, and queues the others for the thread that computes. The functions
 * declared here are called by the thread that computes. http_missing.c is compiled instead of
 * http_server.c, http_clients.c, http_refusals.c and http_exchange.c in a build without
 * libmicrohttpd. */
#ifndef ORTHANT_SERVE_HTTP_SERVER_H
#define ORTHANT_SERVE_HTTP_SERVER_H

#include "base/base.h"

struct oa_http_settings {
    const char *host; /* name or address */
    int port;         /* 0: any free one */
    const char *keys; /* text: a key per line, of which a request must have one; NULL: none */
    long connections; /* most at a time */
    size_t body;      /* most bytes of a request's body */
    double timeout;   /* seconds for the head of a request, for its body, for taking the answer */
    bool (*known)(const char *path, bool *post, bool *open); /* open: without a key */
};

struct oa_http;
struct oa_exchange; /* a request and its answer */

enum oa_error oa_http_open(oa_context *c, const struct oa_http_settings *s, struct oa_http **out);
void oa_http_close(struct oa_http *h);          /* drops what was not answered */
const char *oa_http_address(struct oa_http *h); /* "http://127.0.0.1:8080" */
/* The next complete request, after at most `seconds`; NULL: none. */
struct oa_exchange *oa_http_next(struct oa_http *h, double seconds);
/* Accepts no more connections; requests of those that are open are still queued, and the answer of
 * each is the last of its connection. */
void oa_http_quiesce(struct oa_http *h);
/* Whether no request is queued, being read, or being answered; if so, no more are accepted. */
bool oa_http_end_if_idle(struct oa_http *h);
/* Cuts off clients that exceed the timeout; to be called about every second. */
void oa_http_expire(struct oa_http *h);

struct oa_http_counts {
    long open;                               /* connections */
    double accepted, requests, refused, cut; /* since the start; cut: connections closed by us */
};
struct oa_http_counts oa_http_count(struct oa_http *h);

const char *oa_exchange_path(const struct oa_exchange *x);
/* Those of the address, ?name=value&…; value "" where there is none. */
void oa_exchange_visit_arguments(struct oa_exchange *x,
                                 void (*visit)(void *argument, const char *name, const char *value),
                                 void *argument);
const char *oa_exchange_body(const struct oa_exchange *x, size_t *length);
double oa_exchange_seconds(const struct oa_exchange *x); /* since it was complete */
bool oa_exchange_is_gone(struct oa_exchange *x);         /* the client has closed a stream */
/* The client has closed its side of the connection before its answer was complete. */
bool oa_exchange_is_abandoned(struct oa_exchange *x);
/* Answers it. The exchange is then no longer the caller's. type: a literal. */
void oa_exchange_answer(struct oa_exchange *x, int status, const char *type, const char *text,
                        size_t length);
/* Or in pieces: begin, add any number of pieces, end, after which it is no longer the caller's.
 * Pieces are sent by oa_http_send, and with the end. */
void oa_exchange_begin(struct oa_exchange *x, const char *type);
void oa_exchange_add(struct oa_exchange *x, const char *text, size_t length);
void oa_exchange_end(struct oa_exchange *x);
/* Sends the new pieces of all exchanges. Called once a step, so that the HTTP thread wakes once. */
void oa_http_send(struct oa_http *h);

#endif
