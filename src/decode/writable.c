/* SPDX-License-Identifier: Apache-2.0
 * A transition table, a byte per state and token: the next state, and whether the token may follow.
 */
#include "decode/writable.h"

#include "decode/characters.h"

#include <math.h>
#include <string.h>

/* Bits of a move: the next state; BROKEN: invalid UTF-8 after this state; NEVER: after any. */
enum { STATE = 0x0f, BROKEN = 0x40, NEVER = 0x80 };
enum { LANES = 16 }; /* elements of a vector */

struct oa_writable {
    long vocabulary;
    uint8_t *move; /* [OA_CHARACTER_STATES][vocabulary] */
};

/* Whether encoding the token's text as plain text gives the token, so that targets can contain it.
 */
static bool plain_text_has(oa_context *c, struct oa_tokenizer *tok, int32_t id)
{
    struct oa_ids ids;
    size_t length;
    bool has = false;
    const char *bytes = oa_tokenizer_bytes(tok, id, &length);
    oa_ids_init(&ids, c);
    if (oa_tokenizer_encode_text(tok, "special token", bytes, length, &ids, NULL) != OA_OK)
        oa_clear_error(c);
    for (size_t i = 0; i < ids.count; i++)
        has |= ids.id[i] == id;
    oa_ids_free(&ids);
    return has;
}

static bool may_be_written(oa_context *c, struct oa_tokenizer *tok,
                           const struct oa_writing_rules *rules, int32_t id)
{
    const char *piece = oa_tokenizer_piece(tok, id);
    if (id == rules->end || id == oa_tokenizer_unknown(tok))
        return true;
    if (rules->spelt &&
        (!rules->specials || oa_labels_find(rules->specials, piece, strlen(piece)) >= 0))
        return true;
    return plain_text_has(c, tok, id);
}

static uint8_t move_of(const struct oa_tokenizer *tok, const struct oa_writing_rules *rules,
                       uint8_t state, int32_t id)
{
    size_t length;
    const char *bytes = oa_tokenizer_bytes(tok, id, &length);
    bool valid = id != rules->end || state == OA_CHARACTER_WHOLE;
    for (size_t i = 0; i < length && id != rules->end; i++)
        state = oa_character_after(state, (uint8_t)bytes[i], &valid);
    return (uint8_t)(state | (valid ? 0 : BROKEN));
}

static void fill_moves(struct oa_writable *w, struct oa_tokenizer *tok,
                       const struct oa_writing_rules *rules, const uint8_t *special)
{
    oa_context *c = oa_tokenizer_context(tok);
    for (long id = 0; id < w->vocabulary; id++) {
        bool token = id < oa_tokenizer_size(tok) && oa_tokenizer_piece(tok, (int32_t)id);
        bool never = !token || (special[id] && !may_be_written(c, tok, rules, (int32_t)id));
        for (int s = 0; s < OA_CHARACTER_STATES; s++)
            w->move[s * w->vocabulary + id] =
                never ? NEVER | (uint8_t)s : move_of(tok, rules, (uint8_t)s, (int32_t)id);
    }
}

enum oa_error oa_writable_open(oa_context *c, struct oa_tokenizer *tok, long vocabulary,
                               const struct oa_writing_rules *rules, struct oa_writable **out)
{
    struct oa_writable *w = *out = oa_alloc(c, sizeof *w);
    uint8_t *special = oa_alloc(c, (size_t)oa_tokenizer_size(tok) + 1);
    if (w) {
        w->vocabulary = vocabulary;
        w->move = oa_alloc(c, OA_CHARACTER_STATES * (size_t)vocabulary);
    }
    if (w && w->move && special) {
        oa_tokenizer_mark_special(tok, special);
        fill_moves(w, tok, rules, special);
    }
    oa_free(special);
    return oa_status(c);
}

void oa_writable_close(struct oa_writable *w)
{
    if (w)
        oa_free(w->move);
    oa_free(w);
}

void oa_writable_mask(const struct oa_writable *w, uint8_t state, float *logits)
{
    const uint8_t *move = w->move + state * w->vocabulary;
    long first = 0;
    while (first < w->vocabulary &&
           ((move[first] & (NEVER | BROKEN)) || logits[first] == -INFINITY))
        first++;
    uint8_t refused = first < w->vocabulary ? NEVER | BROKEN : NEVER;
    long i = 0;
    for (; i + LANES <= w->vocabulary; i += LANES)
        for (int k = 0; k < LANES; k++)
            logits[i + k] = move[i + k] & refused ? -INFINITY : logits[i + k];
    for (; i < w->vocabulary; i++)
        logits[i] = move[i] & refused ? -INFINITY : logits[i];
}

uint8_t oa_writable_after(const struct oa_writable *w, uint8_t state, int32_t id)
{
    return w->move[state * w->vocabulary + id] & STATE;
}
