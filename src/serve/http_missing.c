/* SPDX-License-Identifier: Apache-2.0
 * Compiled instead of the HTTP server in a build without libmicrohttpd. */
#include "serve/http_server.h"

enum oa_error oa_http_open(oa_context *c, const struct oa_http_settings *s, struct oa_http **out)
{
    (void)s;
    *out = NULL;
    return oa_fail(c, OA_UNSUPPORTED,
                   "this program was built without libmicrohttpd, which reads HTTP: install "
                   "libmicrohttpd-dev and build again");
}

/* As oa_http_open fails, only oa_http_close is ever called. */
void oa_http_close(struct oa_http *h)
{
    (void)h;
}

const char *oa_http_address(struct oa_http *h)
{
    (void)h;
    return "";
}

struct oa_exchange *oa_http_next(struct oa_http *h, double seconds)
{
    (void)h, (void)seconds;
    return NULL;
}

void oa_http_quiesce(struct oa_http *h)
{
    (void)h;
}

bool oa_http_end_if_idle(struct oa_http *h)
{
    (void)h;
    return true;
}

void oa_http_expire(struct oa_http *h)
{
    (void)h;
}

struct oa_http_counts oa_http_count(struct oa_http *h)
{
    (void)h;
    return (struct oa_http_counts){ 0 };
}

const char *oa_exchange_path(const struct oa_exchange *x)
{
    (void)x;
    return "";
}

void oa_exchange_visit_arguments(struct oa_exchange *x,
                                 void (*visit)(void *argument, const char *name, const char *value),
                                 void *argument)
{
    (void)x, (void)visit, (void)argument;
}

const char *oa_exchange_body(const struct oa_exchange *x, size_t *length)
{
    (void)x;
    *length = 0;
    return "";
}

double oa_exchange_seconds(const struct oa_exchange *x)
{
    (void)x;
    return 0;
}

bool oa_exchange_is_gone(struct oa_exchange *x)
{
    (void)x;
    return true;
}

bool oa_exchange_is_abandoned(struct oa_exchange *x)
{
    (void)x;
    return true;
}

void oa_exchange_answer(struct oa_exchange *x, int status, const char *type, const char *text,
                        size_t length)
{
    (void)x, (void)status, (void)type, (void)text, (void)length;
}

void oa_exchange_begin(struct oa_exchange *x, const char *type)
{
    (void)x, (void)type;
}

void oa_exchange_add(struct oa_exchange *x, const char *text, size_t length)
{
    (void)x, (void)text, (void)length;
}

void oa_exchange_end(struct oa_exchange *x)
{
    (void)x;
}
