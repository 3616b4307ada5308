/* SPDX-License-Identifier: Apache-2.0
 * Private to src/serve: what its files share. */
#ifndef ORTHANT_SERVE_SERVER_H
#define ORTHANT_SERVE_SERVER_H

#include "serve/http_server.h"
#include "serve/long_requests.h"
#include "serve/serve.h"
#include "serve/slots.h"

#include <jansson.h>

enum { OA_SERVE_BUCKETS = 12 }; /* of the histogram of durations */

struct oa_serve_counts {
    double prompt_tokens, completion_tokens, requests, failures, steps, rows;
    double seconds, bucket[OA_SERVE_BUCKETS]; /* of completions; bucket: at most 2^i hundredths */
};

/* Upper bounds, in bytes, without what long requests use (long_requests.h). */
struct oa_serve_memory {
    size_t weights;  /* with their packed copies */
    size_t states;   /* of all sequences */
    size_t prefixes; /* the prefix cache */
    size_t passes;   /* activations, logits */
};

struct oa_server {
    oa_context *context;
    struct oa_served_model *model;
    int models;
    struct oa_http *http;
    struct oa_slots slots;
    struct oa_jobs jobs;
    struct oa_serve_memory memory;
    struct oa_completion *completions; /* under way, oldest first */
    unsigned long long made;           /* completions so far, for their ids */
    double started;                    /* seconds since 1970 */
    struct oa_serve_counts counts;
};

/* ---- routes.c ---- */
bool oa_route_known(const char *path, bool *post, bool *open);
void oa_route(struct oa_server *s, struct oa_exchange *x);

/* ---- replies.c ---- */
/* The value, or the failure that is recorded in the context, which is cleared; decrefs the value.
 */
void oa_reply_json(struct oa_server *s, struct oa_exchange *x, json_t *value);
/* The recorded failure, which is cleared. */
void oa_reply_failure(struct oa_server *s, struct oa_exchange *x);
json_t *oa_failure_json(oa_context *c, int *status); /* the same, not cleared */
void oa_reply_failed(struct oa_server *s, struct oa_exchange *x, int status, json_t *failure);
void oa_reply_event(struct oa_exchange *x, const json_t *value); /* of a stream; not decref'd */
json_t *oa_bytes_json(oa_context *c, const char *bytes, size_t length); /* as UTF-8 */

/* ---- request_fields.c: members of a request's object; bad ones are OA_ARGUMENT ---- */
enum oa_error oa_request_parse(oa_context *c, struct oa_exchange *x, json_t **out);
/* Refuses members that are not among `names`, which blanks separate. */
enum oa_error oa_request_check_names(oa_context *c, const json_t *request, const char *names);
enum oa_error oa_request_model(struct oa_server *s, const json_t *request,
                               struct oa_served_model **out);
/* The same; OA_ARGUMENT if it writes no text token by token. */
enum oa_error oa_request_language_model(struct oa_server *s, const json_t *request,
                                        struct oa_served_model **out);
/* These leave *out as it is where the member is missing or null. */
enum oa_error oa_request_integer(oa_context *c, const json_t *request, const char *name, long least,
                                 long most, long *out);
enum oa_error oa_request_real(oa_context *c, const json_t *request, const char *name, double least,
                              double most, double *out);
enum oa_error oa_request_text(oa_context *c, const json_t *request, const char *name,
                              const char **out);
enum oa_error oa_request_object(oa_context *c, const json_t *request, const char *name,
                                const json_t **out);
enum oa_error oa_request_flag(oa_context *c, const json_t *request, const char *name, bool *out);
/* The ids of a text, or a list of ids. name: the subject of error messages. */
enum oa_error oa_request_ids(struct oa_served_model *m, const char *name, const json_t *value,
                             struct oa_ids *out);

/* ---- completion.c ---- */
void oa_completion_begin(struct oa_server *s, struct oa_exchange *x, json_t *request);
/* One piece of work on those under way; false: there was none. */
bool oa_completions_step(struct oa_server *s);

/* ---- score_route.c ---- */
void oa_score_begin(struct oa_server *s, struct oa_exchange *x, json_t *request);

/* ---- other routes ---- */
void oa_answer_tokenize(struct oa_server *s, struct oa_exchange *x, json_t *request);
void oa_answer_detokenize(struct oa_server *s, struct oa_exchange *x, json_t *request);
void oa_answer_tokenizer_info(struct oa_server *s, struct oa_exchange *x, json_t *request);
void oa_answer_classify(struct oa_server *s, struct oa_exchange *x, json_t *request);
void oa_answer_embeddings(struct oa_server *s, struct oa_exchange *x, json_t *request);
void oa_answer_translate(struct oa_server *s, struct oa_exchange *x, json_t *request);
void oa_answer_attention(struct oa_server *s, struct oa_exchange *x, json_t *request);
void oa_answer_metrics(struct oa_server *s, struct oa_exchange *x, json_t *request);

#endif
