/* SPDX-License-Identifier: Apache-2.0
 * Log-probabilities of tokens. That of a token and those of the most likely ones use one
 * normalising sum, so they are comparable to the last bit. */
#include "serve/completion.h"

#include "base/reserve.h"

#include <math.h>
#include <string.h>

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
    t->log_p = -oa_token_nats(&sum, logits[t->id]);
    if (most <= 0)
        return OA_OK;
    t->top = oa_alloc(r->model->model->context, (size_t)most * sizeof *t->top);
    if (!t->top)
        return OA_NO_MEMORY;
    t->tops = find_tops(logits, vocabulary, most, t->top);
    for (int i = 0; i < t->tops; i++)
        t->top[i].log_p = -oa_token_nats(&sum, t->top[i].log_p);
    return OA_OK;
}

enum oa_error oa_token_score_make(const struct oa_completion_request *r, int32_t id,
                                  const double *logits, struct oa_token_score *out)
{
    *out = (struct oa_token_score){ .id = id, .first = !logits };
    return logits ? set_log_p(r, logits, out) : OA_OK;
}

enum oa_error oa_token_scores_append(struct oa_choice *c, const struct oa_token_score *score)
{
    const struct oa_completion_request *r = &c->of->request;
    oa_context *context = r->model->model->context;
    struct oa_token_scores *s = &c->scores;
    struct oa_text text;
    size_t length;
    if (!oa_reserve(context, &s->token, &s->room, s->count + 1, sizeof *s->token)) {
        oa_free(score->top);
        return OA_NO_MEMORY;
    }
    s->token[s->count] = *score;
    s->token[s->count++].offset = s->characters;
    if (r->scores)
        return OA_OK;
    const char *bytes = oa_tokenizer_bytes(r->model->tokenizer, score->id, &length);
    oa_text_init(&text, context);
    oa_characters_add(&s->counted, bytes, length, &text);
    s->characters += (long)oa_text_characters(text.s, text.length);
    oa_text_free(&text);
    return oa_status(context);
}

enum oa_error oa_token_scores_add(struct oa_choice *c, int32_t id, const double *logits)
{
    struct oa_token_score score;
    OA_TRY(oa_token_score_make(&c->of->request, id, logits, &score));
    return oa_token_scores_append(c, &score);
}

enum oa_error oa_token_scores_copy(oa_context *c, const struct oa_token_scores *from, size_t count,
                                   long tops, struct oa_token_scores *to)
{
    if (!oa_reserve(c, &to->token, &to->room, to->count + count, sizeof *to->token))
        return OA_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct oa_token_score *t = &to->token[to->count];
        *t = from->token[i];
        t->tops = (int)oa_min(t->tops, oa_max(tops, 0));
        t->top = t->tops ? oa_alloc(c, (size_t)t->tops * sizeof *t->top) : NULL;
        if (t->tops && !t->top)
            return OA_NO_MEMORY;
        for (int k = 0; k < t->tops; k++)
            t->top[k] = from->token[i].top[k];
        to->count++;
    }
    to->counted = from->counted;
    to->characters = from->characters;
    return OA_OK;
}

size_t oa_token_scores_bytes(const struct oa_token_scores *s)
{
    size_t sum = s->room * sizeof *s->token;
    for (size_t i = 0; i < s->count; i++)
        sum += (size_t)s->token[i].tops * sizeof *s->token[i].top;
    return sum;
}

/* ---- prompts ---- */

bool oa_choice_scores_prompt(const struct oa_choice *c)
{
    const struct oa_completion_request *r = &c->of->request;
    return r->scores || (r->echo && r->tops >= 0 && c->index % r->n == 0);
}

enum oa_error oa_choice_begin_scores(struct oa_choice *c)
{
    const struct oa_completion_request *r = &c->of->request;
    const struct oa_choice *first = c - c->index % r->n;
    if (oa_choice_scores_prompt(c))
        return oa_token_scores_add(c, c->prompt->id[0], NULL);
    if (!r->echo || r->tops < 0)
        return OA_OK;
    return oa_token_scores_copy(c->of->server->context, &first->scores, c->prompt->count, r->tops,
                                &c->scores);
}
