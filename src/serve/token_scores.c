/* SPDX-License-Identifier: Apache-2.0
 * Log-probabilities of tokens. That of a token and those of the most likely ones are made from one
 * sum: the token is the most likely one exactly where its number is the largest. */
#include "serve/completion.h"

#include <math.h>
#include <string.h>

long oa_count_characters(const char *utf8, size_t length)
{
    long count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)utf8[i] & 0xc0) != 0x80;
    return count;
}

void oa_token_scores_free(struct oa_token_scores *s)
{
    for (size_t i = 0; i < s->count; i++)
        oa_free(s->token[i].top);
    oa_free(s->token);
    *s = (struct oa_token_scores){ 0 };
}

/* The `most` largest logits, ties by id, by insertion: most is small. */
static int find_tops(const double *logits, long vocabulary, int most, struct oa_top_token *top)
{
    int count = 0;
    for (long id = 0; id < vocabulary; id++) {
        if (count == most && !(logits[id] > top[count - 1].log_p))
            continue;
        int at = count < most ? count++ : count - 1;
        for (; at > 0 && logits[id] > top[at - 1].log_p; at--)
            top[at] = top[at - 1];
        top[at] = (struct oa_top_token){ (int32_t)id, logits[id] };
    }
    return count;
}

static enum oa_error set_log_p(const struct oa_completion_request *r, const double *logits,
                               struct oa_token_score *t)
{
    long vocabulary = r->model->model->vocabulary;
    int most = (int)oa_min(r->tops, vocabulary);
    const struct oa_log_sum sum = oa_log_sum_of(logits, vocabulary);
    bool among = false;
    t->log_p = -oa_token_nats(&sum, logits[t->id]);
    t->top = oa_alloc(r->model->model->context, ((size_t)most + 1) * sizeof *t->top);
    if (!t->top)
        return OA_NO_MEMORY;
    t->tops = most ? find_tops(logits, vocabulary, most, t->top) : 0;
    for (int i = 0; i < t->tops; i++) {
        among |= t->top[i].id == t->id;
        t->top[i].log_p = -oa_token_nats(&sum, t->top[i].log_p);
    }
    if (!among)
        t->top[t->tops++] = (struct oa_top_token){ t->id, t->log_p };
    return OA_OK;
}

static struct oa_token_score *new_score(oa_context *c, struct oa_token_scores *s)
{
    if (s->count == s->room) {
        size_t room = 2 * s->room + 16;
        struct oa_token_score *token =
            oa_grow(c, s->token, s->room * sizeof *token, room * sizeof *token);
        if (!token)
            return NULL;
        s->token = token;
        s->room = room;
    }
    return &s->token[s->count];
}

enum oa_error oa_token_scores_add(struct oa_choice *c, int32_t id, const double *logits)
{
    const struct oa_completion_request *r = &c->of->request;
    oa_context *context = r->model->model->context;
    struct oa_token_score *t = new_score(context, &c->scores);
    struct oa_text text;
    size_t length;
    if (!t)
        return OA_NO_MEMORY;
    *t = (struct oa_token_score){ .id = id, .first = !logits, .offset = c->characters };
    if (logits)
        OA_TRY(set_log_p(r, logits, t));
    c->scores.count++;
    const char *bytes = oa_tokenizer_bytes(r->model->tokenizer, id, &length);
    oa_text_init(&text, context);
    oa_characters_add(&c->counted, bytes, length, &text);
    c->characters += oa_count_characters(text.s, text.length);
    oa_text_free(&text);
    return oa_status(context);
}

/* ---- prompts ---- */

struct scored_prompt {
    struct oa_completion *of;
    const struct oa_ids *ids;
    int first; /* choice */
};

static void score_prompt_token(void *argument, long position, const double *logits)
{
    const struct scored_prompt *p = argument;
    for (long i = 0; i < p->of->request.n; i++)
        (void)oa_token_scores_add(&p->of->choice[p->first + i], p->ids->id[position + 1], logits);
}

enum oa_error oa_completion_score_prompt(struct oa_completion *of, int prompt)
{
    struct oa_completion_request *r = &of->request;
    struct scored_prompt p = { of, &r->prompt[prompt], prompt * (int)r->n };
    for (long i = 0; i < r->n; i++)
        OA_TRY(oa_token_scores_add(&of->choice[p.first + i], p.ids->id[0], NULL));
    if (p.ids->count == 1)
        return OA_OK;
    OA_TRY(oa_model_visit_logits(r->model->tape, r->model->model, p.ids->id, (long)p.ids->count - 1,
                                 &(struct oa_logits_visitor){ score_prompt_token, &p, 0 }));
    return oa_status(r->model->model->context);
}
