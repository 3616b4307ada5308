/* SPDX-License-Identifier: Apache-2.0
 * Requests that are refused before their body is read. */
#include "serve/http_parts.h"

#include <stdlib.h>
#include <string.h>

struct http_refusal {
    int status;
    const char *type, *code, *sentence;
};

static enum MHD_Result refuse_request(struct oa_exchange *x, const struct http_refusal *r)
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
    pthread_mutex_lock(&x->http->lock);
    x->http->counts.refused++;
    pthread_mutex_unlock(&x->http->lock);
    return oa_http_respond(x, r->status, response);
}

/* Compares in a time that does not depend on where the keys differ. */
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
    const char *const names[] = { "localhost", "127.0.0.1", "[::1]", x->http->settings.host };
    if (!x->http->loopback || !host)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0 && (!host[length] || host[length] == ':'))
            return true;
    }
    return false;
}

static enum MHD_Result count_length(void *lengths, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    (void)kind, (void)value;
    *(int *)lengths +=
        strcasecmp(name, "Content-Length") == 0 || strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
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
    int lengths = 0;
    if (!has_right_host(x))
        return &host;
    /* A proxy may go by the other length, and take the end of a body for the next request (RFC
     * 9112, 6.3). */
    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, count_length, &lengths);
    if (lengths > 1)
        return &twice;
    if (!x->http->settings.known(url, &post, &open))
        return &unknown;
    if (strcmp(method, post ? "POST" : "GET") != 0 && (post || strcmp(method, "HEAD") != 0))
        return &verb;
    if (!open && !has_key(x))
        return &key;
    const char *length =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Content-Length");
    return length && strtoull(length, NULL, 10) > x->http->settings.body ? &large : NULL;
}

enum MHD_Result oa_http_check_head(struct oa_exchange *x, const char *url, const char *method)
{
    const struct http_refusal *r = find_refusal(x, url, method);
    return r ? refuse_request(x, r) : MHD_YES;
}
