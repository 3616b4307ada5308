/* SPDX-License-Identifier: Apache-2.0
 * Private to src/serve: a request for completions and what becomes of it. Prompt p has the choices
 * p·n … p·n + n − 1. */
#ifndef ORTHANT_SERVE_COMPLETION_H
#define ORTHANT_SERVE_COMPLETION_H

#include "decode/characters.h"
#include "decode/decode.h"
#include "serve/server.h"

enum { OA_MOST_STOPS = 16, OA_MOST_TOPS = 100, OA_MOST_CHOICES = 1024 };

struct oa_completion_request {
    struct oa_served_model *model;
    struct oa_ids *prompt; /* [prompts] */
    const json_t **text;   /* [prompts] as given, of the request; NULL: given as ids */
    int prompts;
    long max_tokens, n, top_k, seed;
    long tops; /* most likely tokens to report; −1: no log-probabilities */
    double temperature, top_p;
    bool echo, stream, include_usage;
    bool scores; /* of /v1/score: log-probabilities without text */
    const char *stop[OA_MOST_STOPS];
    int stops;
};

struct oa_top_token {
    int32_t id;
    double log_p;
};
struct oa_token_score {
    int32_t id;
    bool first;               /* of the prompt: it has no probability */
    double log_p;             /* in nats */
    long offset;              /* characters before it in the text of the choice */
    int tops;                 /* of top */
    struct oa_top_token *top; /* most likely first */
};
struct oa_token_scores {
    struct oa_token_score *token;
    size_t count, room;
    struct oa_characters counted; /* of the token bytes so far */
    long characters;
};

struct oa_choice {
    struct oa_completion *of;
    struct oa_choice *next; /* waiting for a slot */
    int index;
    const struct oa_ids *prompt;
    struct oa_sampler *sampler; /* of its slot */
    uint8_t state;              /* of the text so far (decode/characters.h) */
    struct oa_text held;        /* may begin a stop text */
    struct oa_characters sink;  /* bytes of an incomplete character */
    struct oa_text text;        /* of the answer so far, UTF-8 */
    size_t sent;                /* bytes of it, in a stream */
    struct oa_token_scores scores;
    size_t scores_sent;
    int32_t token;               /* the last one, not yet read */
    struct oa_token_score score; /* of that token, until it is appended to scores */
    long made;
    const char *finish; /* "stop", "length"; NULL: under way */
    bool finish_sent;   /* in a stream */
};

struct oa_completion {
    struct oa_completion *next;
    struct oa_server *server;
    struct oa_exchange *exchange;
    json_t *json; /* the request: its texts are used */
    struct oa_completion_request request;
    struct oa_choice *choice; /* [prompts · n] */
    int choices, open;        /* open: choices that have not ended */
    int begun, waiting;       /* prompts whose choices are under way; choices without a slot */
    size_t *windows;          /* of /v1/score: prompts of each input; else NULL */
    unsigned long long number;
    double created; /* seconds since 1970 */
    bool streaming, failed;
    json_t *failure; /* with `failed` */
    int status;
};

/* ---- completion_request.c ---- */
enum oa_error oa_completion_request_read(struct oa_server *s, const json_t *json,
                                         struct oa_completion_request *out);
void oa_completion_request_free(struct oa_completion_request *r);
/* The ids of a prompt: at least one, at most as many as the model's context. index: for messages.
 */
enum oa_error oa_prompt_read(struct oa_served_model *m, const json_t *value, int index,
                             struct oa_ids *out);

/* ---- completion.c ---- */
/* Takes over *request, which is cleared; answers the client if it fails. */
struct oa_completion *oa_completion_open(struct oa_server *s, struct oa_exchange *x, json_t *json,
                                         struct oa_completion_request *request);

/* Tokens of the prompt that are read: at most as many as the context has. */
long oa_choice_reads(const struct oa_choice *c);
/* Called by the slots when the prompt was read. True: the choice has ended, as no token is wanted.
 */
bool oa_choice_end_prompt(struct oa_choice *c);
/* Draws with this sampler from now on. */
enum oa_error oa_choice_use_sampler(struct oa_choice *c, struct oa_sampler *sampler);
/* Draws the next token and makes its score from logits [vocabulary], which are changed. On any
 * thread, for several choices at the same time; a failure of one does not affect the others. */
enum oa_error oa_choice_sample(struct oa_choice *c, float *logits, struct oa_arena *scratch);
/* The token that was drawn becomes text. True: the choice has ended. */
bool oa_choice_take(struct oa_choice *c);
/* Fails its completion with the failure in the context, which stays recorded. The caller takes the
 * choice out of its slot. */
void oa_choice_fail(struct oa_choice *c);

/* ---- token_scores.c ---- */
/* The score of a token; logits NULL: the first of a prompt. `offset` is set when it is appended. */
enum oa_error oa_token_score_make(const struct oa_completion_request *r, int32_t id,
                                  const double *logits, struct oa_token_score *out);
/* Appends a score and takes ownership of it, also on failure. */
enum oa_error oa_token_scores_append(struct oa_choice *c, const struct oa_token_score *score);
/* Makes a score and appends it. */
enum oa_error oa_token_scores_add(struct oa_choice *c, int32_t id, const double *logits);
/* Appends `count` scores, each with at most `tops`. */
enum oa_error oa_token_scores_copy(oa_context *c, const struct oa_token_scores *from, size_t count,
                                   long tops, struct oa_token_scores *to);
size_t oa_token_scores_bytes(const struct oa_token_scores *s);
void oa_token_scores_free(struct oa_token_scores *s);
/* Whether reading the prompt gives scores. Of several choices of a prompt the first computes them,
 * before the others get a slot, and the others copy them. */
bool oa_choice_scores_prompt(const struct oa_choice *c);
enum oa_error oa_choice_begin_scores(struct oa_choice *c);

/* ---- completion_json.c ---- */
json_t *oa_completion_json(const struct oa_completion *of);
/* Text and scores since the last call; NULL: none. */
json_t *oa_choice_piece_json(struct oa_choice *c);
json_t *oa_completion_usage_json(const struct oa_completion *of);
json_t *oa_score_reply_json(const struct oa_completion *of); /* of /v1/score */
json_t *oa_token_json(const struct oa_served_model *m, int32_t id);

#endif
