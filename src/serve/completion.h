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
    struct oa_top_token *top; /* most likely first; where it is not among them, the token last */
};
struct oa_token_scores {
    struct oa_token_score *token;
    size_t count, room;
};

struct oa_choice {
    struct oa_completion *of;
    struct oa_choice *next; /* waiting for a slot */
    int index;
    const struct oa_ids *prompt;
    struct oa_sampler *sampler;
    uint8_t state;             /* of the text so far (decode/characters.h) */
    struct oa_text held;       /* may begin a stop text */
    struct oa_characters sink; /* said, but no whole character yet */
    struct oa_text said;       /* as UTF-8 */
    size_t sent;               /* of it, of a stream */
    struct oa_token_scores scores;
    size_t scores_sent;
    struct oa_characters counted; /* of the token bytes so far */
    long characters;
    int32_t token; /* the last one, not yet read */
    long made;
    const char *finish; /* "stop", "length"; NULL: under way */
    bool finish_sent;   /* of a stream */
};

struct oa_completion {
    struct oa_completion *next;
    struct oa_server *server;
    struct oa_exchange *exchange;
    json_t *json; /* the request: its texts are used */
    struct oa_completion_request request;
    struct oa_choice *choice; /* [prompts · n] */
    int choices, begun;       /* begun: prompts whose choices are under way */
    unsigned long long number;
    double created; /* time of the day */
    bool streaming, failed;
    json_t *failure; /* with `failed` */
    int status;
};

/* ---- completion_request.c ---- */
enum oa_error oa_completion_request_read(struct oa_server *s, const json_t *json,
                                         struct oa_completion_request *out);
void oa_completion_request_free(struct oa_completion_request *r);
/* The ids of the prompt of this number, at least one and as many as the context has. */
enum oa_error oa_prompt_read(struct oa_served_model *m, const json_t *value, int index,
                             struct oa_ids *out);

/* ---- completion.c: called by the slots ---- */
/* The logits [vocabulary] of the next token, which are changed. True: the choice has ended. */
bool oa_choice_take(struct oa_choice *c, float *logits);
/* With the failure in the context, which stays there; the choice is then in no slot. */
void oa_choice_fail(struct oa_choice *c);

/* ---- token_scores.c ---- */
/* Adds the score of a token; logits NULL: it has none. */
enum oa_error oa_token_scores_add(struct oa_choice *c, int32_t id, const double *logits);
void oa_token_scores_free(struct oa_token_scores *s);
/* Of the first prompt tokens of all choices of a prompt. */
enum oa_error oa_completion_score_prompt(struct oa_completion *of, int prompt);
long oa_count_characters(const char *utf8, size_t length);

/* ---- completion_json.c ---- */
json_t *oa_completion_json(const struct oa_completion *of);
/* What is new since the last call; NULL: nothing. */
json_t *oa_choice_piece_json(struct oa_choice *c);
json_t *oa_completion_usage_json(const struct oa_completion *of);
json_t *oa_token_json(const struct oa_served_model *m, int32_t id);

#endif
