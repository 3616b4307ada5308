/* SPDX-License-Identifier: Apache-2.0
 * Learning-rate schedules and update rules over the flat arrays of the store: parameters with
 * weight decay come first. */
#include "train/muon.h"
#include "train/train.h"

#include <math.h>

/* Share of the peak after the warm-up; x goes from 0 to 1 over the rest of the run. */
static double schedule_share(const struct oa_options *o, long step, double x)
{
    double decay = 0; /* from 1 to 0 */
    switch (o->train_schedule) {
    case OA_SCHEDULE_INVERSE_SQRT:
        return sqrt(fmax(1, (double)o->train_warmup) / (double)step);
    case OA_SCHEDULE_CONSTANT:
        return 1;
    case OA_SCHEDULE_TRAPEZOID:
        decay = o->train_cooldown > 0 ? fmin(1, (1 - x) / o->train_cooldown) : 1;
        break;
    case OA_SCHEDULE_LINEAR:
        decay = 1 - x;
        break;
    case OA_SCHEDULE_COSINE:
        decay = 0.5 * (1 + cos(acos(-1) * x));
        break;
    }
    return o->train_min_lr + (1 - o->train_min_lr) * decay;
}

double oa_learning_rate_at(const struct oa_options *o, long step, double x)
{
    if (step <= o->train_warmup)
        return o->train_lr * (double)step / (double)o->train_warmup;
    return o->train_lr * schedule_share(o, step, x);
}

double oa_learning_rate(const struct oa_options *o, long step)
{
    double rest = (double)(o->train_steps - o->train_warmup);
    return oa_learning_rate_at(o, step,
                               rest > 0 ? fmin(1, (double)(step - o->train_warmup) / rest) : 1);
}

enum oa_error oa_optimizer_check(oa_context *c, const struct oa_options *o)
{
    if (o->train_optimizer != OA_OPTIMIZER_MUON || o->train_lr > 0)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "train.lr = 0 with train.optimizer muon: train.lr is the rate of tensors that "
                   "adamw updates, and the schedule is a fraction of it; give a rate above 0");
}

struct update {
    struct oa_store *s;
    const struct oa_tree_sum *sum; /* NULL: of one rank */
    const struct oa_options *o;
    long step;
    double lr, scale;
};

/* Parameters [first, end), whose moments begin at element `at`. */
typedef void stretch_rule(const struct update *u, double weight_decay, long first, long end,
                          long at);

/* The copies that products read are made with the update, unless values are sharded. */
static bool updates_copies(const struct oa_store *s, const struct oa_tree_sum *sum)
{
    return s->acts != s->values && !(sum && sum->scattered);
}

static void adamw_stretch(const struct update *u, double weight_decay, long first, long end,
                          long at)
{
    const struct oa_options *o = u->o;
    struct oa_store *s = u->s;
    struct oa_device *d = s->device;
    struct oa_adamw h = { .lr = u->lr,
                          .beta1 = o->train_beta1,
                          .beta2 = o->train_beta2,
                          .epsilon = o->train_epsilon,
                          .weight_decay = weight_decay,
                          .correction1 = 1 - pow(o->train_beta1, (double)u->step),
                          .correction2 = 1 - pow(o->train_beta2, (double)u->step),
                          .gradient_scale = u->scale };
    void *copy = updates_copies(s, u->sum) ? oa_act_at(d, s->acts, first) : NULL;
    d->ops->adamw(d, end - first, &h, oa_real_at(d, s->values, first),
                  oa_real_at(d, s->moment1, at), oa_real_at(d, s->moment2, at),
                  oa_real_at(d, s->gradients, first), copy);
}

static void sgd_stretch(const struct update *u, double weight_decay, long first, long end, long at)
{
    struct oa_store *s = u->s;
    struct oa_device *d = s->device;
    d->ops->sgd(d, end - first, u->lr, u->o->train_beta1, weight_decay, u->scale,
                oa_real_at(d, s->values, first), oa_real_at(d, s->moment1, at),
                oa_real_at(d, s->gradients, first));
}

static void lion_stretch(const struct update *u, double weight_decay, long first, long end, long at)
{
    struct oa_store *s = u->s;
    struct oa_device *d = s->device;
    struct oa_lion h = { .lr = u->lr,
                         .beta1 = u->o->train_beta1,
                         .beta2 = u->o->train_beta2,
                         .weight_decay = weight_decay,
                         .gradient_scale = u->scale };
    d->ops->lion(d, end - first, &h, oa_real_at(d, s->values, first), oa_real_at(d, s->moment1, at),
                 oa_real_at(d, s->gradients, first));
}

/* The part with weight decay and the part without. */
static void update_shard(const struct update *u, stretch_rule *rule,
                         const struct oa_tree_shard *shard)
{
    long cut = oa_max(shard->first, oa_min(shard->end, u->s->decayed));
    rule(u, u->o->train_weight_decay, shard->first, cut, shard->at);
    rule(u, 0, cut, shard->end, shard->at + cut - shard->first);
}

static void update_shards(const struct update *u, stretch_rule *rule)
{
    if (!u->sum || !u->sum->scattered)
        update_shard(u, rule, &(struct oa_tree_shard){ 0, u->s->updated, 0 });
    for (int i = 0; u->sum && i < u->sum->shards; i++)
        update_shard(u, rule, &u->sum->shard[i]);
}

/* Index of its first element in the flat arrays. */
static long parameter_offset(const struct oa_store *s, const struct oa_parameter *p)
{
    return (long)(((char *)p->value - (char *)s->values) / (long)s->device->numbers.real_size);
}

static void update_adafactor(const struct update *u)
{
    struct oa_store *s = u->s;
    struct oa_device *d = s->device;
    for (int i = 0; i < s->count; i++) {
        const struct oa_parameter *p = s->parameter[i];
        if (!p->trainable)
            continue;
        long offset = parameter_offset(s, p);
        long cols = p->dims > 1 ? p->dim[p->dims - 1] : p->count;
        struct oa_adafactor a = { .rows = p->count / cols,
                                  .cols = cols,
                                  .factored = p->dims > 1,
                                  .lr = u->lr,
                                  .decay = 1 - pow((double)u->step, -0.8),
                                  .weight_decay = p->decay ? u->o->train_weight_decay : 0,
                                  .gradient_scale = u->scale,
                                  .w = p->value,
                                  .g = p->gradient,
                                  .v = oa_real_at(d, s->moment2, offset),
                                  .update = oa_real_at(d, s->moment1, offset) };
        d->ops->adafactor(d, &a);
    }
}

/* Matrices of blocks by Muon; embeddings, output layers and vectors by AdamW. */
static void update_muon(const struct update *u)
{
    struct oa_store *s = u->s;
    const struct oa_options *o = u->o;
    double lr = o->train_muon_lr * (u->lr / o->train_lr);
    for (int i = 0; i < s->count; i++) {
        const struct oa_parameter *p = s->parameter[i];
        long first = p->trainable ? parameter_offset(s, p) : 0;
        if (oa_is_muon_matrix(p))
            oa_muon_update(s, o, p, oa_real_at(s->device, s->moment1, first), u->step, lr,
                           u->scale);
        else if (p->trainable)
            adamw_stretch(u, p->decay ? o->train_weight_decay : 0, first, first + p->count, first);
    }
}

long oa_optimizer_update(struct oa_store *s, const struct oa_tree_sum *sum,
                         const struct oa_options *o, long step, double lr, double gradient_scale)
{
    struct update u = { s, sum, o, step, lr, gradient_scale };
    switch (o->train_optimizer) {
    case OA_OPTIMIZER_ADAMW:
        update_shards(&u, adamw_stretch);
        break;
    case OA_OPTIMIZER_SGD:
        update_shards(&u, sgd_stretch);
        break;
    case OA_OPTIMIZER_LION:
        update_shards(&u, lion_stretch);
        break;
    case OA_OPTIMIZER_ADAFACTOR:
        update_adafactor(&u);
        break;
    case OA_OPTIMIZER_MUON:
        update_muon(&u);
        break;
    }
    return o->train_optimizer == OA_OPTIMIZER_ADAMW && updates_copies(s, sum) ? s->updated : 0;
}

void oa_optimizer_step_at(struct oa_store *s, const struct oa_options *o, long step, double lr,
                          double gradient_scale)
{
    oa_store_refresh_from(s, oa_optimizer_update(s, NULL, o, step, lr, gradient_scale));
}

void oa_optimizer_step(struct oa_store *s, const struct oa_options *o, long step,
                       double gradient_scale)
{
    oa_optimizer_step_at(s, o, step, oa_learning_rate(o, step), gradient_scale);
}
