/* SPDX-License-Identifier: Apache-2.0
 * State updates with decay and the delta rule as an op. */
#include "ops/ops.h"

struct recurrence_op {
    struct oa_recurrence a;
    oa_tensor *q, *k, *v, *decay, *beta, *o;
    struct oa_parameter *rate;
};

static void recurrence_backward(oa_tape *t, void *saved)
{
    struct recurrence_op *r = saved;
    r->a.d_o = oa_gradient_of(t, r->o);
    if (!r->a.d_o)
        return;
    r->a.dq = oa_gradient_begin(t, r->q);
    r->a.dk = oa_gradient_begin(t, r->k);
    r->a.dv = oa_gradient_begin(t, r->v);
    r->a.d_decay_logits = r->decay ? oa_gradient_begin(t, r->decay) : NULL;
    r->a.d_beta_logits = r->beta ? oa_gradient_begin(t, r->beta) : NULL;
    r->a.d_rate = r->rate ? r->rate->gradient : NULL;
    t->device->ops->recurrence_gradient(t->device, &r->a);
    if (r->beta)
        oa_gradient_end(t, r->beta, r->a.d_beta_logits);
    if (r->decay)
        oa_gradient_end(t, r->decay, r->a.d_decay_logits);
    oa_gradient_end(t, r->v, r->a.dv);
    oa_gradient_end(t, r->k, r->a.dk);
    oa_gradient_end(t, r->q, r->a.dq);
}

void oa_recurrence_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                      oa_tensor *k, oa_tensor *v, const struct oa_state_update *how, oa_tensor *o)
{
    bool decays = how->decay == OA_DECAY_HEAD || how->decay == OA_DECAY_CHANNEL;
    bool complete =
        q && k && v && o && (!decays || how->decay_logits) && (!how->delta || how->beta_logits);
    struct recurrence_op *r = complete ? oa_tape_take_host(t, sizeof *r) : NULL;
    if (!r)
        return;
    *r = (struct recurrence_op){ .q = q,
                                 .k = k,
                                 .v = v,
                                 .decay = how->decay_logits,
                                 .beta = how->beta_logits,
                                 .o = o,
                                 .rate = how->rate };
    r->a = (struct oa_recurrence){ .shape = *shape,
                                   .features = q->cols / shape->heads,
                                   .scale = how->scale,
                                   .q = q->data,
                                   .ldq = q->ld,
                                   .k = k->data,
                                   .ldk = k->ld,
                                   .v = v->data,
                                   .ldv = v->ld,
                                   .decay = how->decay,
                                   .rate = how->rate ? how->rate->value : NULL,
                                   .o = o->data,
                                   .ldo = o->ld };
    if (how->decay_logits) {
        r->a.decay_logits = how->decay_logits->data;
        r->a.ld_decay = how->decay_logits->ld;
    }
    if (how->beta_logits) {
        r->a.beta_logits = how->beta_logits->data;
        r->a.ld_beta = how->beta_logits->ld;
    }
    if (t->state) {
        r->a.state = oa_cache_numbers(t, shape->heads * r->a.features * shape->value_width,
                                      t->device->numbers.real_size);
        r->a.begun = t->state->tokens > 0;
        if (!r->a.state)
            return;
    }
    t->device->ops->recurrence(t->device, &r->a);
    oa_record(t, recurrence_backward, r);
}
