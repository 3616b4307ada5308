/* SPDX-License-Identifier: Apache-2.0
 * What a stack keeps of the tokens it has read: a state for each of its attention layers. */
#include "model/stack.h"

enum oa_error oa_stack_reads_on(const struct oa_stack *s)
{
    for (long i = 0; i < s->shape.layers; i++) {
        OA_TRY(oa_layer_reads_on(&s->block[i].attention));
        if (s->shape.cross)
            OA_TRY(oa_layer_reads_on(&s->block[i].cross));
    }
    return OA_OK;
}

enum oa_error oa_stack_state_open(const struct oa_stack *s, struct oa_stack_state *out)
{
    size_t bytes = (size_t)s->shape.layers * sizeof *out->self;
    *out = (struct oa_stack_state){ .self = oa_alloc(s->context, bytes) };
    if (s->shape.cross)
        out->cross = oa_alloc(s->context, bytes);
    OA_TRY(oa_status(s->context));
    for (long i = 0; i < s->shape.layers; i++) {
        OA_TRY(oa_layer_state_open(&s->block[i].attention, s->shape.length, &out->self[i]));
        if (out->cross)
            OA_TRY(oa_layer_state_open(&s->block[i].cross, s->shape.length, &out->cross[i]));
    }
    return OA_OK;
}

void oa_stack_state_close(const struct oa_stack *s, struct oa_stack_state *state)
{
    for (long i = 0; i < s->shape.layers; i++) {
        if (state->self)
            oa_layer_state_close(&s->block[i].attention, state->self[i]);
        if (state->cross)
            oa_layer_state_close(&s->block[i].cross, state->cross[i]);
    }
    oa_free(state->self);
    oa_free(state->cross);
    *state = (struct oa_stack_state){ 0 };
}

void oa_stack_state_reset(const struct oa_stack *s, const struct oa_stack_state *state)
{
    for (long i = 0; i < s->shape.layers; i++) {
        oa_layer_state_reset(&s->block[i].attention, state->self[i]);
        if (state->cross)
            oa_layer_state_reset(&s->block[i].cross, state->cross[i]);
    }
}

enum oa_error oa_stack_state_copy(const struct oa_stack *s, const struct oa_stack_state *from,
                                  const struct oa_stack_state *to)
{
    for (long i = 0; i < s->shape.layers; i++) {
        OA_TRY(oa_layer_state_copy(&s->block[i].attention, from->self[i], to->self[i]));
        if (from->cross)
            OA_TRY(oa_layer_state_copy(&s->block[i].cross, from->cross[i], to->cross[i]));
    }
    return OA_OK;
}
