/* SPDX-License-Identifier: Apache-2.0
 * Continuous batching: sequences come and go at every step. */
#include "serve/slots.h"

#include "serve/completion.h"

enum oa_error oa_slots_open(oa_context *c, int count, long vocabulary, struct oa_slots *out)
{
    *out = (struct oa_slots){ .context = c, .count = count };
    out->slot = oa_alloc(c, (size_t)count * sizeof *out->slot);
    out->logits = oa_alloc(c, (size_t)count * (size_t)vocabulary * sizeof *out->logits);
    return out->slot && out->logits ? OA_OK : OA_NO_MEMORY;
}

void oa_slots_close(struct oa_slots *s)
{
    for (int i = 0; s->slot && i < s->count; i++)
        oa_decoding_close(&s->slot[i].decoding);
    oa_free(s->slot);
    oa_free(s->logits);
    *s = (struct oa_slots){ 0 };
}

void oa_slots_add(struct oa_slots *s, struct oa_choice *choice)
{
    choice->next = NULL;
    *(s->last ? &s->last->next : &s->first) = choice;
    s->last = choice;
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

/* ---- a step ---- */

static enum oa_error open_slot(struct oa_slot *slot, struct oa_served_model *m)
{
    if (slot->model == m) {
        oa_decoding_reset(&slot->decoding);
        return OA_OK;
    }
    oa_decoding_close(&slot->decoding);
    slot->model = NULL;
    OA_TRY(oa_decoding_open(m->model, &slot->decoding));
    slot->model = m;
    return OA_OK;
}

static int running_of(const struct oa_slots *s, const struct oa_completion *of)
{
    int running = 0;
    for (int i = 0; i < s->count; i++)
        running += s->slot[i].choice && s->slot[i].choice->of == of;
    return running;
}

/* Of the request that has the fewest slots, the oldest on a tie: one that asks for much does not
 * keep out those that ask for little. */
static struct oa_choice *next_waiting(const struct oa_slots *s)
{
    struct oa_choice *best = NULL;
    const struct oa_completion *before = NULL;
    int fewest = s->count + 1;
    for (struct oa_choice *c = s->first; c; c = c->next) {
        int running = c->of == before ? fewest : running_of(s, c->of);
        before = c->of;
        if (running < fewest) {
            fewest = running;
            best = c;
        }
    }
    return best;
}

static void fill_slots(struct oa_slots *s)
{
    for (int i = 0; i < s->count && s->first; i++) {
        if (s->slot[i].choice)
            continue;
        struct oa_choice *choice = next_waiting(s);
        oa_slots_remove(s, choice);
        if (open_slot(&s->slot[i], choice->of->request.model) == OA_OK)
            s->slot[i].choice = choice;
        else
            oa_choice_fail(choice);
        oa_clear_error(s->context);
    }
}

static bool is_reading(const struct oa_slot *slot)
{
    return slot->decoding.tokens < (long)slot->choice->prompt->count;
}

static void give_logits(struct oa_slot *slot, float *logits)
{
    if (oa_choice_take(slot->choice, logits))
        slot->choice = NULL;
}

/* What a step that failed left in the caches is not used again. */
static void fail_slot(struct oa_slot *slot)
{
    oa_choice_fail(slot->choice);
    slot->choice = NULL;
    slot->model = NULL;
}

static void read_prompt_chunk(struct oa_slots *s, struct oa_slot *slot)
{
    const struct oa_ids *prompt = slot->choice->prompt;
    long at = slot->decoding.tokens, rest = (long)prompt->count - at,
         n = oa_min(OA_DECODING_CHUNK, rest);
    enum oa_error e =
        oa_decoding_read(&slot->decoding, prompt->id + at, n, n == rest ? s->logits : NULL);
    if (e != OA_OK)
        fail_slot(slot);
    else if (n == rest)
        give_logits(slot, s->logits);
    oa_clear_error(s->context);
}

/* A token of every sequence of a model that has read its prompt. */
static bool step_model(struct oa_slots *s, struct oa_served_model *m, const bool *reads)
{
    struct oa_slot *row[OA_MOST_SEQUENCES];
    struct oa_decoding *decoding[OA_MOST_SEQUENCES];
    int32_t ids[OA_MOST_SEQUENCES];
    int rows = 0;
    for (int i = 0; i < s->count; i++)
        if (s->slot[i].choice && s->slot[i].model == m && !reads[i]) {
            row[rows] = &s->slot[i];
            decoding[rows] = &s->slot[i].decoding;
            ids[rows++] = s->slot[i].choice->token;
        }
    if (!rows)
        return false;
    s->steps++;
    s->rows += rows;
    enum oa_error e = oa_decodings_read(&m->steps, decoding, rows, ids, s->logits);
    for (int i = 0; i < rows && e == OA_OK; i++)
        give_logits(row[i], s->logits + i * m->model->vocabulary);
    for (int i = 0; i < rows && e != OA_OK; i++)
        fail_slot(row[i]);
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
    bool did = false, reads[OA_MOST_SEQUENCES];
    fill_slots(s);
    for (int i = 0; i < s->count; i++) {
        reads[i] = s->slot[i].choice && is_reading(&s->slot[i]);
        did |= reads[i];
        if (reads[i])
            read_prompt_chunk(s, &s->slot[i]);
    }
    for (int i = 0; i < s->count; i++)
        if (is_first_of_its_model(s, i))
            did |= step_model(s, s->slot[i].model, reads);
    return did;
}
