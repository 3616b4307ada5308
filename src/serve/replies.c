/* SPDX-License-Identifier: Apache-2.0
 * Answers: JSON, events of a stream, failures in OpenAI's form. */
#include "serve/server.h"

#include "base/json_write.h"
#include "decode/characters.h"

#include <stdlib.h>
#include <string.h>

enum { PAUSE_BYTES = 1 << 16 };

json_t *oa_bytes_json(oa_context *c, const char *bytes, size_t length)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_characters_text(bytes ? bytes : "", length, &text);
    json_t *value = json_stringn(text.s ? text.s : "", text.length);
    oa_text_free(&text);
    return value;
}

static int failure_status(enum oa_error e)
{
    switch (e) {
    case OA_ARGUMENT:
    case OA_SHAPE:
    case OA_FORMAT:
    case OA_UNSUPPORTED:
        return 400;
    case OA_NO_MEMORY:
        return 503;
    default:
        return 500;
    }
}

json_t *oa_failure_json(oa_context *c, int *status)
{
    const char *sentence = NULL;
    enum oa_error e = oa_last_error(c, &sentence);
    *status = failure_status(e);
    return json_pack("{s: {s:s, s:s, s:n, s:n}}", "error", "message",
                     e == OA_OK || !sentence ? "the request failed" : sentence, "type",
                     *status == 400 ? "invalid_request_error" : "server_error", "param", "code");
}

struct reply_text {
    struct oa_text text;
    size_t paused; /* length at the last pause */
};

static int add_reply_text(const char *piece, size_t length, void *argument)
{
    struct reply_text *r = argument;
    oa_text_add(&r->text, piece, length);
    if (r->text.length - r->paused >= PAUSE_BYTES) {
        r->paused = r->text.length;
        oa_pause(r->text.context);
    }
    return oa_status(r->text.context) == OA_OK ? 0 : -1;
}

static void reply_status(struct oa_server *s, struct oa_exchange *x, int status, json_t *value)
{
    struct reply_text r = { .paused = 0 };
    static const char none[] = "{\"error\": {\"message\": \"out of memory\", "
                               "\"type\": \"server_error\", \"param\": null, \"code\": null}}";
    oa_text_init(&r.text, s->context);
    if (value && json_dump_callback(value, add_reply_text, &r, JSON_COMPACT) == 0)
        oa_exchange_answer(x, status, "application/json", r.text.s, r.text.length);
    else
        oa_exchange_answer(x, 503, "application/json", none, strlen(none));
    oa_clear_error(s->context);
    oa_text_free(&r.text);
    json_decref(value);
}

void oa_reply_json(struct oa_server *s, struct oa_exchange *x, json_t *value)
{
    if (oa_status(s->context) == OA_OK) {
        reply_status(s, x, 200, value);
        return;
    }
    json_decref(value);
    oa_reply_failure(s, x);
}

void oa_reply_failed(struct oa_server *s, struct oa_exchange *x, int status, json_t *failure)
{
    s->counts.failures++;
    reply_status(s, x, status, failure);
}

void oa_reply_failure(struct oa_server *s, struct oa_exchange *x)
{
    int status;
    json_t *value = oa_failure_json(s->context, &status);
    oa_clear_error(s->context);
    oa_reply_failed(s, x, status, value);
}

void oa_reply_event(struct oa_exchange *x, const json_t *value)
{
    static const char head[] = "data: ", tail[] = "\n\n";
    enum { HEAD = sizeof head - 1, TAIL = sizeof tail - 1 };
    size_t length = json_dumpb(value, NULL, 0, JSON_COMPACT);
    char *event = malloc(HEAD + length + TAIL);
    if (!event)
        return;
    memcpy(event, head, HEAD);
    json_dumpb(value, event + HEAD, length, JSON_COMPACT);
    memcpy(event + HEAD + length, tail, TAIL);
    oa_exchange_add(x, event, HEAD + length + TAIL);
    free(event);
}
