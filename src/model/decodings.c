/* SPDX-License-Identifier: Apache-2.0
 * Independent decodings of one model in one pass: each has its own length, state and end. A step is
 * one product over all their tokens in each linear map (oa_model_hidden_rows); logits are computed
 * only for the tokens where they are wanted. */
#include "model/model.h"

enum { ROWS = 64 }; /* of logits at a time: bounds memory with large vocabularies */

/* Token number `token` of a piece, whose logits are wanted. */
struct wanted_token {
    const struct oa_decoding_piece *piece;
    long token;
};

/* The tokens whose logits are wanted; index [count]: their rows in the pass. */
static long find_wanted(const struct oa_decoding_piece *piece, int pieces, int32_t *index,
                        struct wanted_token *wanted)
{
    long count = 0, row = 0;
    for (int i = 0; i < pieces; i++) {
        const struct oa_decoding_piece *p = &piece[i];
        for (long token = 0; token < p->count; token++, row++) {
            bool last = p->logits && token == p->count - 1,
                 visited = p->visitor && p->decoding->tokens + token >= p->visitor->first;
            if (!last && !visited)
                continue;
            wanted[count] = (struct wanted_token){ p, token };
            index[count++] = (int32_t)row;
        }
    }
    return count;
}

static void give_logits(struct oa_device *d, long vocabulary, const struct wanted_token *w,
                        const void *logits, double *row)
{
    const struct oa_decoding_piece *p = w->piece;
    const struct oa_logits_visitor *v = p->visitor;
    long position = p->decoding->tokens + w->token;
    if (p->logits && w->token == p->count - 1)
        oa_reals_read_floats(d, vocabulary, logits, p->logits);
    if (!v || position < v->first)
        return;
    oa_reals_read(d, vocabulary, logits, row);
    v->visit(v->argument, position, row);
}

static enum oa_error give_all_logits(oa_tape *t, const struct oa_model *m, oa_tensor *hidden,
                                     const struct wanted_token *wanted, long count)
{
    hidden = oa_model_head(t, m, hidden);
    double *row = oa_tape_take_host(t, (size_t)m->vocabulary * sizeof *row);
    OA_TRY(oa_status(m->context));
    for (long i = 0; i < count; i += ROWS) {
        long rows = oa_min(ROWS, count - i);
        const void *logits = oa_model_logits(t, m, hidden, i, rows);
        OA_TRY(oa_status(m->context));
        for (long k = 0; k < rows; k++)
            give_logits(m->device, m->vocabulary, &wanted[i + k],
                        oa_real_at(m->device, logits, k * m->vocabulary), row);
    }
    return oa_status(m->context);
}

/* Hidden states of all tokens of the pieces, one after the other. */
static oa_tensor *pieces_hidden(oa_tape *t, struct oa_model *m,
                                const struct oa_decoding_piece *piece, int pieces, long tokens)
{
    struct oa_stack_state *state = oa_tape_take_host(t, (size_t)pieces * sizeof *state);
    int32_t *ids = oa_tape_take_host(t, (size_t)tokens * sizeof *ids);
    if (!state || !ids)
        return NULL;
    for (int i = 0, at = 0; i < pieces; i++) {
        state[i] = (struct oa_stack_state){ .self = piece[i].decoding->state.self,
                                            .queries = piece[i].count };
        for (long k = 0; k < piece[i].count; k++)
            ids[at++] = piece[i].ids[k];
    }
    const struct oa_sequences in = { .rows = pieces, .ids = ids };
    return oa_model_hidden_rows(t, m, &in, state);
}

enum oa_error oa_decodings_read(oa_tape *t, const struct oa_decoding_piece *piece, int pieces)
{
    struct oa_model *m = piece[0].decoding->model;
    long tokens = 0;
    for (int i = 0; i < pieces; i++)
        tokens += piece[i].count;
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    t->packs = &m->store;
    oa_tensor *hidden = pieces_hidden(t, m, piece, pieces, tokens);
    int32_t *index = oa_tape_take_host(t, (size_t)tokens * sizeof *index);
    struct wanted_token *wanted = oa_tape_take_host(t, (size_t)tokens * sizeof *wanted);
    OA_TRY(oa_status(m->context));
    long count = find_wanted(piece, pieces, index, wanted);
    if (count && count < tokens)
        hidden = oa_choose_rows(t, hidden, index, count);
    t->invariant_rows = count > 1 ? 1 : 0;
    enum oa_error e = count ? give_all_logits(t, m, hidden, wanted, count) : OA_OK;
    t->invariant_rows = 0;
    for (int i = 0; i < pieces; i++) {
        piece[i].decoding->tokens += piece[i].count;
        piece[i].decoding->end += piece[i].count;
    }
    return e;
}
