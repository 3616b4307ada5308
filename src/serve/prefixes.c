/* SPDX-License-Identifier: Apache-2.0
 * Stored prefixes of prompts; the least recently used are removed first. */
#include "serve/prefixes.h"

#include "serve/completion.h"

#include <string.h>

struct oa_prefix {
    struct oa_prefix *next;
    struct oa_served_model *model;
    struct oa_ids ids; /* of the tokens in the states */
    struct oa_decoding decoding;
    bool scored;                   /* the members that follow are set */
    long tops;                     /* most likely tokens that the scores have */
    struct oa_token_scores scores; /* [ids] */
    double *logits;                /* [vocabulary] of the next token */
    size_t bytes;
};

static void free_prefix(struct oa_prefix *x)
{
    oa_ids_free(&x->ids);
    oa_decoding_close(&x->decoding);
    oa_token_scores_free(&x->scores);
    oa_free(x->logits);
    oa_free(x);
}

void oa_prefixes_open(oa_context *c, size_t most_bytes, struct oa_prefixes *out)
{
    *out = (struct oa_prefixes){ .context = c, .most_bytes = most_bytes };
    for (int i = 0; i < OA_RECENT_TEXTS; i++)
        oa_ids_init(&out->recent[i].ids, c);
}

static void remove_prefix(struct oa_prefixes *p, struct oa_prefix **at)
{
    struct oa_prefix *x = *at;
    *at = x->next;
    p->count--;
    p->bytes -= x->bytes;
    free_prefix(x);
}

void oa_prefixes_close(struct oa_prefixes *p)
{
    while (p->stored)
        remove_prefix(p, &p->stored);
    for (int i = 0; i < OA_RECENT_TEXTS; i++)
        oa_ids_free(&p->recent[i].ids);
    *p = (struct oa_prefixes){ 0 };
}

/* ---- a text begins ---- */

static long common_tokens(const struct oa_ids *a, const struct oa_ids *b)
{
    long n = 0, most = (long)oa_min(a->count, b->count);
    while (n < most && a->id[n] == b->id[n])
        n++;
    return n;
}

/* Also adds the text to the recent ones. */
static enum oa_error plan_storing(struct oa_prefixes *p, const struct oa_choice *c,
                                  struct oa_prefix_plan *plan)
{
    const struct oa_served_model *m = c->of->request.model;
    const long most = (oa_choice_reads(c) - 1) / OA_DECODING_CHUNK * OA_DECODING_CHUNK;
    long common = 0;
    *plan = (struct oa_prefix_plan){ .last = most };
    if (!most)
        return OA_OK;
    for (int i = 0; i < OA_RECENT_TEXTS; i++)
        if (p->recent[i].model == m)
            common = oa_max(common, common_tokens(c->prompt, &p->recent[i].ids));
    plan->shared = oa_min(most, common / OA_DECODING_CHUNK * OA_DECODING_CHUNK);
    struct oa_recent_text *recent = &p->recent[p->next];
    p->next = (p->next + 1) % OA_RECENT_TEXTS;
    recent->model = m;
    recent->ids.count = 0;
    return oa_ids_append(&recent->ids, c->prompt->id, (size_t)most);
}

/* Whether the choice can go on from there. */
static bool prefix_serves(const struct oa_prefix *x, const struct oa_choice *c)
{
    size_t n = x->ids.count;
    return x->model == c->of->request.model && (long)n < oa_choice_reads(c) &&
           memcmp(x->ids.id, c->prompt->id, n * sizeof *x->ids.id) == 0 &&
           (!oa_choice_scores_prompt(c) || (x->scored && x->tops >= c->of->request.tops));
}

static struct oa_prefix *longest_prefix(struct oa_prefixes *p, const struct oa_choice *c)
{
    struct oa_prefix **best = NULL;
    for (struct oa_prefix **at = &p->stored; *at; at = &(*at)->next)
        if (prefix_serves(*at, c) && (!best || (*at)->ids.count > (*best)->ids.count))
            best = at;
    if (!best)
        return NULL;
    struct oa_prefix *x = *best;
    *best = x->next;
    x->next = p->stored;
    return p->stored = x;
}

enum oa_error oa_prefixes_start(struct oa_prefixes *p, struct oa_choice *c, struct oa_decoding *to,
                                struct oa_prefix_plan *plan)
{
    OA_TRY(plan_storing(p, c, plan));
    const struct oa_prefix *x = longest_prefix(p, c);
    if (!x)
        return OA_OK;
    size_t n = x->ids.count;
    OA_TRY(oa_decoding_copy(&x->decoding, to));
    p->reused += (double)n;
    if (!oa_choice_scores_prompt(c))
        return OA_OK;
    OA_TRY(oa_token_scores_copy(p->context, &x->scores, n, c->of->request.tops, &c->scores));
    return oa_token_scores_add(c, c->prompt->id[n], x->logits);
}

/* ---- storing ---- */

static enum oa_error fill_prefix(oa_context *c, const struct oa_choice *choice,
                                 const struct oa_decoding *from, const double *logits,
                                 struct oa_prefix *x)
{
    const struct oa_completion_request *r = &choice->of->request;
    size_t row = (size_t)r->model->model->vocabulary * sizeof *logits;
    x->model = r->model;
    oa_ids_init(&x->ids, c);
    OA_TRY(oa_ids_append(&x->ids, choice->prompt->id, (size_t)from->tokens));
    OA_TRY(oa_decoding_open(from->model, &x->decoding));
    OA_TRY(oa_decoding_copy(from, &x->decoding));
    x->bytes = oa_decoding_bytes(&x->decoding) + x->ids.capacity * sizeof *x->ids.id;
    x->scored = oa_choice_scores_prompt(choice);
    if (!x->scored)
        return OA_OK;
    x->tops = r->tops;
    OA_TRY(oa_token_scores_copy(c, &choice->scores, x->ids.count, r->tops, &x->scores));
    x->logits = oa_alloc_raw(c, row);
    if (!x->logits)
        return OA_NO_MEMORY;
    memcpy(x->logits, logits, row);
    x->bytes += oa_token_scores_bytes(&x->scores) + row;
    return OA_OK;
}

/* Removes the prefix that the new one replaces, and the least recently used ones until there is
 * room.
 */
static void make_prefix_room(struct oa_prefixes *p, const struct oa_prefix *x)
{
    for (struct oa_prefix **at = &p->stored; *at;) {
        const struct oa_prefix *y = *at;
        bool same = y->model == x->model && y->ids.count == x->ids.count &&
                    common_tokens(&y->ids, &x->ids) == (long)x->ids.count;
        if (same)
            remove_prefix(p, at);
        else
            at = &(*at)->next;
    }
    while (p->stored && (p->count == OA_MOST_PREFIXES || p->bytes + x->bytes > p->most_bytes)) {
        struct oa_prefix **last = &p->stored;
        while ((*last)->next)
            last = &(*last)->next;
        remove_prefix(p, last);
    }
}

static bool is_stored(const struct oa_prefixes *p, const struct oa_choice *c, long tokens)
{
    for (const struct oa_prefix *x = p->stored; x; x = x->next)
        if ((long)x->ids.count == tokens && prefix_serves(x, c))
            return true;
    return false;
}

enum oa_error oa_prefixes_offer(struct oa_prefixes *p, struct oa_choice *c,
                                const struct oa_decoding *from, const struct oa_prefix_plan *plan,
                                const double *logits)
{
    long tokens = from->tokens;
    if ((tokens != plan->shared && tokens != plan->last) || is_stored(p, c, tokens))
        return OA_OK;
    struct oa_prefix *x = oa_alloc(p->context, sizeof *x);
    enum oa_error e = x ? fill_prefix(p->context, c, from, logits, x) : OA_NO_MEMORY;
    if (e == OA_OK)
        make_prefix_room(p, x);
    if (e != OA_OK || x->bytes > p->most_bytes) {
        if (x)
            free_prefix(x);
        return e;
    }
    x->next = p->stored;
    p->stored = x;
    p->count++;
    p->bytes += x->bytes;
    return OA_OK;
}
