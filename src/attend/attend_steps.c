/* SPDX-License-Identifier: Apache-2.0
 *
 * `orthant attend --steps`: y by the decoding path, each sequence by itself and one token at a
 * time.
 */
#include "attend/attend.h"

struct steps {
    struct attend *a;
    const struct oa_layer_input *whole; /* the tensors of all sequences */
    oa_tape tape;                       /* of one token */
    struct oa_state *state;
    void *y; /* act [B·n, D] */
};

static oa_tensor *rows_of(struct steps *s, const oa_tensor *x, long first, long count)
{
    const struct oa_device *d = s->a->rig.device;
    return x ? oa_tensor_from(&s->tape, oa_act_at(d, x->data, first * x->ld), count, x->cols, x->ld,
                              false)
             : NULL;
}

static enum oa_error step(struct steps *s, long b, long token)
{
    const struct attend *a = s->a;
    long row = b * a->queries + token;
    oa_tape_reset(&s->tape, false, false, (struct oa_stream){ 0 });
    struct oa_layer_input in = { .x = rows_of(s, s->whole->x, row, 1),
                                 .memory = rows_of(s, s->whole->memory, b * a->keys, a->keys),
                                 .batch = 1,
                                 .queries = 1,
                                 .keys = a->keys,
                                 .lengths = a->memory && a->lengths ? a->lengths + b : NULL,
                                 .state = s->state };
    const oa_tensor *y = oa_layer_forward(&s->tape, &a->rig.layer, &in);
    OA_TRY(oa_status(a->context));
    a->rig.device->ops->copy(a->rig.device, (size_t)a->width * a->rig.device->numbers.act_size,
                             y->data, oa_act_at(a->rig.device, s->y, row * a->width));
    return OA_OK;
}

static enum oa_error run(struct steps *s)
{
    struct attend *a = s->a;
    OA_TRY(oa_layer_state_open(&a->rig.layer, a->queries, &s->state));
    for (long b = 0; b < a->batch; b++) {
        oa_layer_state_reset(&a->rig.layer, s->state);
        for (long token = 0; token < oa_attend_query_length(a, b); token++)
            OA_TRY(step(s, b, token));
    }
    return OA_OK;
}

enum oa_error oa_attend_steps(struct attend *a, const struct oa_layer_input *whole, void **y)
{
    size_t bytes = (size_t)(a->batch * a->queries * a->width) * a->rig.device->numbers.act_size;
    struct steps s = { .a = a, .whole = whole, .y = oa_tape_take(&a->rig.tape, bytes) };
    *y = s.y;
    if (!s.y)
        return OA_NO_MEMORY;
    a->rig.device->ops->fill(a->rig.device, bytes, 0, s.y); /* rows of padding */
    oa_tape_init(&s.tape, a->rig.device);
    enum oa_error e = run(&s);
    oa_layer_state_close(&a->rig.layer, s.state);
    oa_tape_free(&s.tape);
    return e;
}
