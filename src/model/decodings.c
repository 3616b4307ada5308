/* SPDX-License-Identifier: Apache-2.0
 * Independent decodings of one model side by side: each has its own length, state and end. A step
 * is one product over all rows in each linear map (oa_model_hidden_rows). */
#include "model/model.h"

enum oa_error oa_decodings_read(oa_tape *t, struct oa_decoding *const *decoding, int rows,
                                const int32_t *ids, float *logits)
{
    struct oa_model *m = decoding[0]->model;
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    t->packs = &m->store;
    struct oa_stack_state *state = oa_tape_take_host(t, (size_t)rows * sizeof *state);
    if (!state)
        return OA_NO_MEMORY;
    for (int i = 0; i < rows; i++)
        state[i] = (struct oa_stack_state){ .self = decoding[i]->state.self };
    struct oa_sequences in = { .rows = rows, .length = 1, .ids = ids };
    oa_tensor *hidden = oa_model_hidden_rows(t, m, &in, state);
    OA_TRY(oa_status(m->context));
    t->invariant_rows = 1;
    enum oa_error e = oa_decoding_logits(t, m, hidden, 0, rows, logits, NULL);
    t->invariant_rows = 0;
    for (int i = 0; i < rows; i++) {
        decoding[i]->tokens++;
        decoding[i]->end++;
    }
    return e;
}
