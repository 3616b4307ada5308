/* SPDX-License-Identifier: Apache-2.0
 * Continuous batching: sequences come and go at every step. */
#include "serve/slots.h"

#include "serve/completion.h"

enum oa_error oa_slots_open(oa_context *c, int count, long vocabulary, size_t prefix_bytes,
                            struct oa_slots *out)
{
    *out = (struct oa_slots){ .context = c, .count = count };
    oa_prefixes_open(c, prefix_bytes, &out->prefixes);
    out->slot = oa_alloc(c, (size_t)count * sizeof *out->slot);
    out->logits = oa_alloc(c, (size_t)count * (size_t)vocabulary * sizeof *out->logits);
    return out->slot && out->logits ? OA_OK : OA_NO_MEMORY;
}

static void close_slot(struct oa_slot *slot)
{
    oa_decoding_close(&slot->decoding);
    oa_sampler_close(slot->sampler);
    *slot = (struct oa_slot){ 0 };
}

void oa_slots_close(struct oa_slots *s)
{
    for (int i = 0; s->slot && i < s->count; i++)
        close_slot(&s->slot[i]);
    oa_prefixes_close(&s->prefixes);
    oa_free(s->slot);
    oa_free(s->logits);
    *s = (struct oa_slots){ 0 };
}

void oa_slots_add(struct oa_slots *s, struct oa_choice *choice)
{
    choice->next = NULL;
    *(s->last ? &s->last->next : &s->first) = choice;
    s->last = choice;
    choice->of->waiting++;
}

void oa_slots_remove(struct oa_slots *s, struct oa_choice *choice)
{
    struct oa_choice *before = NULL;
    for (int i = 0; i < s->count; i++)
        if (s->slot[i].choice == choice)
            s->slot[i].choice = NULL;
    for (struct oa_choice *c = s->first; c; before = c, c = c->next)
        if (c == choice) {
            *(before ? &before->next : &s->first) = c->next;
            if (s->last == c)
                s->last = before;
            choice->of->waiting--;
            return;
        }
}

void oa_slots_load(const struct oa_slots *s, int *running, int *waiting)
{
    *running = *waiting = 0;
    for (int i = 0; i < s->count; i++)
        *running += s->slot[i].choice != NULL;
    for (const struct oa_choice *c = s->first; c; c = c->next)
        ++*waiting;
}

/* ---- slots are taken ---- */

static enum oa_error open_slot(struct oa_slot *slot, struct oa_served_model *m)
{
    const struct oa_sampling greedy = { .top_p = 1 };
    if (slot->model == m) {
        if (m->decodes)
            oa_decoding_reset(&slot->decoding);
        return OA_OK;
    }
    close_slot(slot);
    if (m->decodes) {
        OA_TRY(oa_decoding_open(m->model, &slot->decoding));
        oa_decoding_share_tape(&slot->decoding, &m->steps);
    }
    OA_TRY(oa_sampler_open(m->model->context, &greedy, m->model->vocabulary, &slot->sampler));
    slot->model = m;
    return OA_OK;
}

static enum oa_error begin_slot(struct oa_slots *s, struct oa_slot *slot, struct oa_choice *choice)
{
    slot->read = slot->next = 0;
    OA_TRY(open_slot(slot, choice->of->request.model));
    OA_TRY(oa_choice_use_sampler(choice, slot->sampler));
    if (slot->model->decodes)
        OA_TRY(oa_prefixes_start(&s->prefixes, choice, &slot->decoding, &slot->plan));
    slot->read = slot->decoding.tokens;
    if (!slot->read || !oa_choice_scores_prompt(choice))
        OA_TRY(oa_choice_begin_scores(choice));
    slot->choice = choice;
    return OA_OK;
}

static bool is_reading(const struct oa_slot *slot)
{
    return slot->choice && slot->read < oa_choice_reads(slot->choice);
}

/* Whether nothing is gained by waiting until another choice of the request has read the prompt: the
 * prompt is too short for a stored prefix, and no scores are copied from that choice. */
static bool reads_for_itself(const struct oa_choice *c)
{
    const struct oa_completion_request *r = &c->of->request;
    return oa_choice_reads(c) <= OA_DECODING_CHUNK &&
           (oa_choice_scores_prompt(c) || !r->echo || r->tops < 0);
}

/* Number of sequences of its request that have a slot; -1: one of them reads its prompt, and this
 * one waits for it. */
static int running_with(const struct oa_slots *s, const struct oa_choice *c)
{
    int running = 0;
    bool reading = false;
    for (int i = 0; i < s->count; i++)
        if (s->slot[i].choice && s->slot[i].choice->of == c->of) {
            reading |= is_reading(&s->slot[i]);
            running++;
        }
    return reading && !reads_for_itself(c) ? -1 : running;
}

/* The oldest of the request that has the fewest slots, so that a request with many sequences does
 * not keep out small ones. NULL: none can begin. */
static struct oa_choice *next_waiting(const struct oa_slots *s)
{
    struct oa_choice *best = NULL;
    const struct oa_completion *before = NULL;
    int fewest = s->count + 1;
    for (struct oa_choice *c = s->first; c; c = c->next) {
        int running = c->of == before ? -1 : running_with(s, c);
        before = c->of;
        if (running >= 0 && running < fewest) {
            fewest = running;
            best = c;
        }
    }
    return best;
}

static void fill_slots(struct oa_slots *s)
{
    for (int i = 0; i < s->count; i++) {
        if (s->slot[i].choice)
            continue;
        struct oa_choice *choice = next_waiting(s);
        if (!choice)
            return;
        oa_slots_remove(s, choice);
        if (begin_slot(s, &s->slot[i], choice) != OA_OK)
            oa_choice_fail(choice);
        oa_clear_error(s->context);
    }
}

struct drawing {
    struct oa_slot *const *slot; /* [rows] */
    float *logits;               /* [rows, vocabulary] */
    long vocabulary;
    enum oa_error *code; /* [rows] */
};

static void draw_row(void *argument, long i, const struct oa_worker *w)
{
    const struct drawing *d = argument;
    d->code[i] = oa_choice_sample(d->slot[i]->choice, d->logits + i * d->vocabulary, w->scratch);
}

/* Draws the next token of each sequence: sampling on all threads, text one after the other. */
static void give_slot_logits(struct oa_slots *s, struct oa_slot *const *slot, int rows)
{
    enum oa_error code[OA_MOST_SEQUENCES];
    struct drawing d = { slot, s->logits, slot[0]->model->model->vocabulary, code };
    oa_parallel(s->context, rows, draw_row, &d);
    for (int i = 0; i < rows; i++)
        if (code[i] != OA_OK)
            oa_choice_fail(slot[i]->choice);
    for (int i = 0; i < rows; i++) {
        oa_clear_error(s->context);
        if (code[i] != OA_OK || oa_choice_take(slot[i]->choice))
            slot[i]->choice = NULL;
    }
}

/* After a failed step the caches may be incomplete: the next sequence opens new ones. */
static void fail_slot(struct oa_slot *slot)
{
    oa_choice_fail(slot->choice);
    slot->choice = NULL;
    slot->model = NULL;
}

/* ---- prompts ---- */

struct prompt_reading {
    struct oa_choice *choice;
    long end;      /* position after those that are read */
    double *row;   /* [vocabulary] gets the logits of the last one */
    float *logits; /* the same, or NULL */
};

/* The token after the last one is scored when the state before it has been stored. */
static void read_row(void *argument, long position, const double *logits)
{
    const struct prompt_reading *r = argument;
    const struct oa_ids *prompt = r->choice->prompt;
    long vocabulary = r->choice->of->request.model->model->vocabulary;
    bool last = position + 1 == r->end;
    if (!last && oa_choice_scores_prompt(r->choice))
        (void)oa_token_scores_add(r->choice, prompt->id[position + 1], logits);
    for (long i = 0; last && i < vocabulary; i++)
        r->row[i] = logits[i];
    for (long i = 0; last && r->logits && i < vocabulary; i++)
        r->logits[i] = (float)logits[i];
}

/* Reads n tokens; logits: of the next one, or NULL. */
static enum oa_error read_tokens(struct oa_slots *s, struct oa_slot *slot, long n, float *logits)
{
    struct oa_choice *c = slot->choice;
    struct oa_served_model *m = slot->model;
    const int32_t *ids = c->prompt->id;
    struct prompt_reading r = { c, slot->read + n, m->row, m->decodes ? NULL : logits };
    bool scores = oa_choice_scores_prompt(c);
    const struct oa_logits_visitor visitor = { read_row, &r, scores ? slot->read : r.end - 1 };
    if (m->decodes)
        OA_TRY(oa_decoding_read_chunk(&slot->decoding, ids + slot->read, n, logits,
                                      scores ? &visitor : NULL));
    else
        OA_TRY(oa_model_visit_logits(m->tape, m->model, ids, n, &visitor));
    slot->read += n;
    if (m->decodes)
        OA_TRY(oa_prefixes_offer(&s->prefixes, c, &slot->decoding, &slot->plan, m->row));
    return scores && slot->read < (long)c->prompt->count
               ? oa_token_scores_add(c, ids[slot->read], m->row)
               : oa_status(s->context);
}

/* Reads a chunk; returns the number of its tokens. */
static long read_prompt(struct oa_slots *s, struct oa_slot *slot)
{
    struct oa_choice *c = slot->choice;
    long rest = oa_choice_reads(c) - slot->read,
         n = slot->model->decodes ? oa_min(OA_DECODING_CHUNK, rest) : rest;
    bool wants_token = n == rest && c->of->request.max_tokens > 0;
    if (read_tokens(s, slot, n, wants_token ? s->logits : NULL) != OA_OK)
        fail_slot(slot);
    else if (n == rest && oa_choice_end_prompt(c))
        slot->choice = NULL;
    else if (wants_token)
        give_slot_logits(s, &slot, 1);
    oa_clear_error(s->context);
    return n;
}

/* The next slot in turn that has to read its prompt and is not in the next pass already; NULL:
 * none.
 */
static struct oa_slot *next_reading(struct oa_slots *s)
{
    for (int i = 0; i < s->count; i++) {
        struct oa_slot *slot = &s->slot[s->turn];
        s->turn = (s->turn + 1) % s->count;
        if (is_reading(slot) && !slot->next)
            return slot;
    }
    return NULL;
}

static void read_slot_prompts(struct oa_slots *s, bool *did)
{
    struct oa_slot *slot;
    for (long tokens = 0; tokens < OA_DECODING_CHUNK && (slot = next_reading(s));) {
        long rest = oa_choice_reads(slot->choice) - slot->read;
        if (slot->model->decodes && rest <= OA_DECODING_TOGETHER) {
            tokens += slot->next = rest;
            continue;
        }
        tokens += read_prompt(s, slot);
        fill_slots(s);
        *did = true;
    }
}

/* ---- a step ---- */

/* A pass over sequences of a model. */
struct slots_pass {
    struct oa_slot *slot[OA_MOST_SEQUENCES];
    struct oa_decoding_piece piece[OA_MOST_SEQUENCES];
    struct oa_logits_visitor visitor[OA_MOST_SEQUENCES];
    int pieces;
};

static void score_next(void *argument, long position, const double *logits)
{
    struct oa_choice *c = argument;
    if (position + 1 < (long)c->prompt->count)
        (void)oa_token_scores_add(c, c->prompt->id[position + 1], logits);
}

/* Adds the last part of its prompt, or the token that was drawn. logits: room for those of the next
 * token. */
static void add_to_pass(struct slots_pass *p, struct oa_slot *slot, float *logits)
{
    struct oa_choice *c = slot->choice;
    struct oa_logits_visitor *visitor = &p->visitor[p->pieces];
    struct oa_decoding_piece *piece = &p->piece[p->pieces];
    *visitor = (struct oa_logits_visitor){ score_next, c, slot->read };
    *piece = (struct oa_decoding_piece){ &slot->decoding, &c->token, 1, logits, NULL };
    if (slot->next) {
        piece->ids = c->prompt->id + slot->read;
        piece->count = slot->next;
        piece->logits = c->of->request.max_tokens > 0 ? logits : NULL;
        piece->visitor = oa_choice_scores_prompt(c) ? visitor : NULL;
    }
    p->slot[p->pieces++] = slot;
}

/* Ends the prompts that were read, and draws a token for each sequence that has logits. */
static void take_pass(struct oa_slots *s, const struct slots_pass *p)
{
    struct oa_slot *row[OA_MOST_SEQUENCES];
    int rows = 0;
    for (int i = 0; i < p->pieces; i++) {
        struct oa_slot *slot = p->slot[i];
        bool ended = slot->next && oa_choice_end_prompt(slot->choice);
        slot->read += slot->next;
        slot->next = 0;
        if (ended)
            slot->choice = NULL;
        else
            row[rows++] = slot;
    }
    if (rows)
        give_slot_logits(s, row, rows);
}

/* A pass over the sequences of a model that have read their prompt, or read its rest in this pass.
 * False: there are none. */
static bool step_model(struct oa_slots *s, struct oa_served_model *m)
{
    struct slots_pass p = { .pieces = 0 };
    float *logits = s->logits;
    for (int i = 0; i < s->count; i++) {
        struct oa_slot *slot = &s->slot[i];
        if (!slot->choice || slot->model != m || (is_reading(slot) && !slot->next))
            continue;
        add_to_pass(&p, slot, logits);
        if (p.piece[p.pieces - 1].logits)
            logits += m->model->vocabulary;
    }
    if (!p.pieces)
        return false;
    s->steps++;
    s->rows += p.pieces;
    enum oa_error e = oa_decodings_read(&m->steps, p.piece, p.pieces);
    if (e == OA_OK)
        take_pass(s, &p);
    for (int i = 0; i < p.pieces && e != OA_OK; i++)
        fail_slot(p.slot[i]);
    oa_clear_error(s->context);
    return true;
}

static bool is_first_of_its_model(const struct oa_slots *s, int i)
{
    for (int k = 0; k < i; k++)
        if (s->slot[k].model == s->slot[i].model)
            return false;
    return s->slot[i].model != NULL;
}

bool oa_slots_step(struct oa_slots *s)
{
    bool did = false;
    fill_slots(s);
    read_slot_prompts(s, &did);
    for (int i = 0; i < s->count; i++)
        if (is_first_of_its_model(s, i))
            did |= step_model(s, s->slot[i].model);
    return did;
}
