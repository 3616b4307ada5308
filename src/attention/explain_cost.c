/* SPDX-License-Identifier: Apache-2.0
 *
 * What one layer costs to run: a forward and a backward pass, and a sequence token by token, on the counting device
 * with dry arenas, so that what is said is what would happen.
 */
#include "attention/explain.h"

#include <math.h>
#include <string.h>

static void *dry_rows(struct oa_arena *a, const struct oa_shown *s)
{
    return oa_arena_take(a, (size_t)(s->shape.length * s->shape.width) * s->device->kernels.act_size);
}

static void pass(struct oa_shown *s, oa_tape *t, struct oa_arena *inputs, const int32_t *words,
                 struct oa_show_cost *out)
{
    long n = s->shape.length, width = s->shape.width;
    double before = s->device->flops, computed = s->device->computed;
    oa_tape_reset(t, true, false, (struct oa_stream){ 0 });
    struct oa_layer_input in = { .x = oa_tensor_from(t, dry_rows(inputs, s), n, width, width, true),
                                 .batch = 1,
                                 .queries = n,
                                 .keys = n,
                                 .words = words };
    oa_tensor *y = oa_layer_forward(t, &s->layer, &in);
    if (!y)
        return;
    out->forward = s->device->flops - before;
    y->gradient = dry_rows(inputs, s);
    oa_tape_backward(t);
    out->training = s->device->flops - before;
    out->computed = s->device->computed - computed;
    out->memory = (double)(t->arena.peak + s->device->scratch.peak);
}

/* The next `count` tokens of a sequence that is decoded. */
static void decode(struct oa_shown *s, oa_tape *t, struct oa_arena *inputs, struct oa_state *state, long count)
{
    long width = s->shape.width;
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    struct oa_layer_input in = { .x = oa_tensor_from(t, dry_rows(inputs, s), count, width, width, false),
                                 .batch = 1,
                                 .queries = count,
                                 .keys = count,
                                 .state = state };
    oa_layer_forward(t, &s->layer, &in);
}

/* In two halves. */
static void decode_all(struct oa_shown *s, oa_tape *t, struct oa_arena *inputs, struct oa_show_cost *out)
{
    long n = s->shape.length, half = n / 2;
    struct oa_state *state = NULL;
    if (oa_layer_state_open(&s->layer, n, &state) != OA_OK) {
        if (oa_status(s->context) == OA_UNSUPPORTED)
            oa_clear_error(s->context);
        return;
    }
    if (half > 0)
        decode(s, t, inputs, state, half);
    out->state_half = oa_layer_state_numbers(&s->layer, state);
    decode(s, t, inputs, state, n - half);
    out->state = oa_layer_state_numbers(&s->layer, state);
    oa_layer_state_close(&s->layer, state);
}

/* One pass of softmax attention in the place of the layer. */
static enum oa_error count_softmax(const struct oa_shown *s, struct oa_show_cost *out)
{
    struct oa_shown softmax = { .context = s->context, .device = s->device, .shape = s->shape };
    struct oa_show_cost cost = { 0 };
    struct oa_arena inputs;
    oa_tape tape;
    oa_tape_init(&tape, s->device);
    oa_arena_init(&inputs, s->context, true);
    if (oa_spec_parse(s->context, "softmax", &softmax.spec) == OA_OK &&
        oa_show_mode(&softmax, s->can[OA_MODE_CAUSAL] ? OA_MODE_CAUSAL : OA_MODE_BOTH) == OA_OK &&
        oa_store_allocate(&softmax.store, 1, true) == OA_OK)
        pass(&softmax, &tape, &inputs, NULL, &cost);
    out->softmax = cost.computed;
    oa_tape_free(&tape);
    oa_arena_free(&inputs);
    softmax.device = NULL; /* borrowed */
    oa_show_close(&softmax);
    return oa_status(s->context);
}

enum oa_error oa_show_cost(struct oa_shown *s, struct oa_show_cost *out)
{
    oa_tape tape;
    struct oa_arena inputs;
    size_t bytes = (size_t)s->shape.length * sizeof(int32_t);
    int32_t *words = oa_alloc(s->context, bytes);
    *out = (struct oa_show_cost){ .state = NAN };
    if (!words)
        return OA_NO_MEMORY;
    memset(words, 0, bytes);
    oa_tape_init(&tape, s->device);
    oa_arena_init(&inputs, s->context, true);
    if (oa_store_allocate(&s->store, 1, true) == OA_OK) {
        pass(s, &tape, &inputs, words, out);
        count_softmax(s, out);
        if (s->can[OA_MODE_CAUSAL])
            decode_all(s, &tape, &inputs, out);
    }
    oa_tape_free(&tape);
    oa_arena_free(&inputs);
    oa_free(words);
    return oa_status(s->context);
}
