/* SPDX-License-Identifier: Apache-2.0
 * Learning-rate schedules and update rules over the flat arrays of the store: parameters with weight decay come first.
 */
#include "train/train.h"

#include "device/cpu.h"

#include <math.h>
#include <string.h>

static double decayed(const struct oa_options *o, double share)
{
    return o->train_min_lr + (1 - o->train_min_lr) * share;
}

/* Share of the peak after the warm-up; x goes from 0 to 1 over the rest of the run. */
static double schedule(const struct oa_options *o, long step, double x)
{
    if (strcmp(o->train_schedule, "cosine") == 0)
        return decayed(o, 0.5 * (1 + cos(acos(-1) * x)));
    if (strcmp(o->train_schedule, "linear") == 0)
        return decayed(o, 1 - x);
    if (strcmp(o->train_schedule, "inverse-sqrt") == 0)
        return sqrt(fmax(1, (double)o->train_warmup) / (double)step);
    return 1;
}

double oa_learning_rate(const struct oa_options *o, long step)
{
    if (step <= o->train_warmup)
        return o->train_lr * (double)step / (double)o->train_warmup;
    double rest = (double)(o->train_steps - o->train_warmup);
    double x = rest > 0 ? fmin(1, (double)(step - o->train_warmup) / rest) : 1;
    return o->train_lr * schedule(o, step, x);
}

/* Calls `update` for the stretch with weight decay and the stretch without. */
static void adamw(struct oa_store *s, struct oa_adamw *h, long first, long end)
{
    struct oa_device *d = s->device;
    d->ops->adamw(d, end - first, h, oa_real_at(d, s->values, first), oa_real_at(d, s->moment1, first),
                  oa_real_at(d, s->moment2, first), oa_real_at(d, s->gradients, first));
}

static void sgd(struct oa_store *s, const struct oa_options *o, double lr, double weight_decay, double scale,
                long first, long end)
{
    struct oa_device *d = s->device;
    d->ops->sgd(d, end - first, lr, o->train_beta1, weight_decay, scale, oa_real_at(d, s->values, first),
                oa_real_at(d, s->moment1, first), oa_real_at(d, s->gradients, first));
}

static void adafactor(struct oa_store *s, const struct oa_options *o, long step, double lr, double scale)
{
    struct oa_device *d = s->device;
    for (int i = 0; i < s->count; i++) {
        const struct oa_parameter *p = s->parameter[i];
        if (!p->trainable)
            continue;
        long offset = (long)(((char *)p->value - (char *)s->values) / (long)d->kernels.real_size);
        long cols = p->dims > 1 ? p->dim[p->dims - 1] : p->count;
        struct oa_adafactor a = { .rows = p->count / cols,
                                  .cols = cols,
                                  .factored = p->dims > 1,
                                  .lr = lr,
                                  .decay = 1 - pow((double)step, -0.8),
                                  .weight_decay = p->decay ? o->train_weight_decay : 0,
                                  .gradient_scale = scale,
                                  .w = p->value,
                                  .g = p->gradient,
                                  .v = oa_real_at(d, s->moment2, offset),
                                  .update = oa_real_at(d, s->moment1, offset) };
        d->ops->adafactor(d, &a);
    }
}

void oa_optimizer_step(struct oa_store *s, const struct oa_options *o, long step, double gradient_scale)
{
    double lr = oa_learning_rate(o, step);
    if (strcmp(o->train_optimizer, "sgd") == 0) {
        sgd(s, o, lr, o->train_weight_decay, gradient_scale, 0, s->decayed);
        sgd(s, o, lr, 0, gradient_scale, s->decayed, s->updated);
    } else if (strcmp(o->train_optimizer, "adafactor") == 0) {
        adafactor(s, o, step, lr, gradient_scale);
    } else {
        struct oa_adamw h = { .lr = lr,
                              .beta1 = o->train_beta1,
                              .beta2 = o->train_beta2,
                              .epsilon = o->train_epsilon,
                              .weight_decay = o->train_weight_decay,
                              .correction1 = 1 - pow(o->train_beta1, (double)step),
                              .correction2 = 1 - pow(o->train_beta2, (double)step),
                              .gradient_scale = gradient_scale };
        adamw(s, &h, 0, s->decayed);
        h.weight_decay = 0;
        adamw(s, &h, s->decayed, s->updated);
    }
    oa_store_refresh(s);
}
