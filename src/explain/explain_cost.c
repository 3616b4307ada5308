/* SPDX-License-Identifier: Apache-2.0
 * Cost of one layer: a forward and a backward pass, and decoding of a sequence, run on the plan
 * device with dry arenas. */
#include "explain/explain.h"

#include <math.h>

static void *dry_rows(struct oa_arena *a, const struct oa_explanation *s)
{
    return oa_arena_take(a, (size_t)(s->shape.length * s->shape.width) *
                                s->single.device->numbers.act_size);
}

static void count_layer_pass(struct oa_explanation *s, struct oa_arena *inputs,
                             struct oa_explained_cost *out)
{
    oa_tape *t = &s->single.tape;
    long n = s->shape.length, width = s->shape.width;
    double before = s->single.device->flops, computed = s->single.device->computed;
    oa_tape_reset(t, true, false, (struct oa_stream){ 0 });
    struct oa_layer_input in = { .x = oa_tensor_from(t, dry_rows(inputs, s), n, width, width, true),
                                 .batch = 1,
                                 .queries = n,
                                 .keys = n };
    if (s->mode == OA_MODE_CROSS)
        in.memory = oa_tensor_from(t, dry_rows(inputs, s), n, width, width, true);
    oa_tensor *y = oa_layer_forward(t, &s->single.layer, &in);
    if (!y)
        return;
    out->forward = s->single.device->flops - before;
    y->gradient = dry_rows(inputs, s);
    oa_tape_backward(t);
    out->training = s->single.device->flops - before;
    out->computed = s->single.device->computed - computed;
    out->memory = (double)(t->arena.peak + s->single.device->scratch.peak);
}

/* The next `count` tokens of a sequence that is decoded. */
static void decode_tokens(struct oa_explanation *s, struct oa_arena *inputs, struct oa_state *state,
                          long count)
{
    oa_tape *t = &s->single.tape;
    long width = s->shape.width;
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    struct oa_layer_input in = { .x = oa_tensor_from(t, dry_rows(inputs, s), count, width, width,
                                                     false),
                                 .batch = 1,
                                 .queries = count,
                                 .keys = count,
                                 .state = state };
    oa_layer_forward(t, &s->single.layer, &in);
}

static void decode_in_halves(struct oa_explanation *s, struct oa_arena *inputs,
                             struct oa_explained_cost *out)
{
    long n = s->shape.length, half = n / 2;
    struct oa_state *state = NULL;
    if (oa_layer_state_open(&s->single.layer, n, &state) != OA_OK) {
        if (oa_status(s->context) == OA_UNSUPPORTED)
            oa_clear_error(s->context);
        return;
    }
    if (half > 0)
        decode_tokens(s, inputs, state, half);
    out->state_half = oa_layer_state_numbers(&s->single.layer, state);
    decode_tokens(s, inputs, state, n - half);
    out->state = oa_layer_state_numbers(&s->single.layer, state);
    oa_layer_state_close(&s->single.layer, state);
}

/* One pass of softmax attention in the place of the layer. */
static enum oa_error count_softmax(const struct oa_explanation *s, struct oa_explained_cost *out)
{
    struct oa_explanation softmax = { .context = s->context, .shape = s->shape, .mode = s->mode };
    struct oa_explained_cost cost = { 0 };
    struct oa_arena inputs;
    oa_arena_init(&inputs, s->context, true);
    if (oa_single_layer_open(s->context, "softmax", OA_PRECISION_F32, true, &softmax.single) ==
            OA_OK &&
        oa_explanation_open_mode(&softmax, softmax.mode) == OA_OK &&
        oa_store_allocate(&softmax.single.store, 1, true) == OA_OK)
        count_layer_pass(&softmax, &inputs, &cost);
    out->softmax = cost.computed;
    oa_arena_free(&inputs);
    oa_explanation_close(&softmax);
    return oa_status(s->context);
}

enum oa_error oa_explanation_cost(struct oa_explanation *s, struct oa_explained_cost *out)
{
    struct oa_arena inputs;
    *out = (struct oa_explained_cost){ .state = NAN };
    s->single.device->scratch.peak = 0; /* of the layers before this one */
    oa_arena_init(&inputs, s->context, true);
    if (oa_store_allocate(&s->single.store, 1, true) == OA_OK) {
        count_layer_pass(s, &inputs, out);
        count_softmax(s, out);
        if (s->mode == OA_MODE_CAUSAL)
            decode_in_halves(s, &inputs, out);
    }
    oa_arena_free(&inputs);
    if (oa_stop_requested(s->context))
        return oa_fail(s->context, OA_INTERRUPTED, "explain was stopped");
    return oa_status(s->context);
}
