/* SPDX-License-Identifier: Apache-2.0
 * serve: models over HTTP, in the form of OpenAI's completions.
 *
 *     http_server.c  reads requests (a thread of its own)
 *     server.c       the loop: takes requests, one step of everything under way, again
 *     routes.c       from a path to the function that answers it
 *     completion_request.c → completion.c → slots.c → completion_json.c
 *
 * One thread computes at a time: the one that calls oa_serve_models, or that of a job whose turn it
 * is (long_requests.h). What else is computed at the same time does not change the bits of an
 * answer. docs/serve.md is for users. */
#ifndef ORTHANT_SERVE_H
#define ORTHANT_SERVE_H

#include "data/examples.h"
#include "decode/writable.h"
#include "model/model.h"

struct oa_served_model { /* all borrowed */
    const char *name;    /* by which requests select it */
    const struct oa_options *options;
    struct oa_tokenizer *tokenizer;
    struct oa_model *model;
    oa_tape *tape;
    const struct oa_labels *labels, *specials; /* of classes; of the training text */
    /* made by oa_serve_models */
    oa_tape steps;                /* of passes over chunks and over several sequences */
    struct oa_writable *writable; /* NULL: it writes no text token by token */
    int32_t end;                  /* the token that ends an answer; −1: none */
    double *row;                  /* [vocabulary] scratch */
    bool decodes;                 /* token by token */
    struct oa_decoding_memory most;
};

struct oa_serve_settings {
    const char *host;
    int port;
    const char *keys; /* text: a key per line; NULL: none is needed */
    int sequences;    /* most that are decoded at the same time */
    long connections;
    size_t body;    /* bytes */
    double timeout; /* seconds */
};

/* Serves until a stop is requested, answers what was accepted until then, and returns
 * OA_INTERRUPTED. ready: called with the address when clients can connect. Before that the
 * memory that sequences can take is logged. */
enum oa_error oa_serve_models(oa_context *c, struct oa_served_model *model, int models,
                              const struct oa_serve_settings *s,
                              void (*ready)(void *argument, const char *address), void *argument);

#endif
