/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step_side.h"

#include "base/concurrent.h"

#include <math.h>

enum oa_error oa_step_side_open(oa_context *c, const struct oa_options *o,
                                const struct oa_model_form *form, bool dry, double (*clock)(void),
                                struct oa_step_side *s)
{
    OA_TRY(oa_device_open(c, o->train_precision, dry, &s->device));
    OA_TRY(oa_model_open(s->device, o, form, true, &s->model));
    oa_tape_init(&s->tape, s->device);
    oa_meter_open(&s->meter, s->device, clock);
    return oa_shards_open(s->model, NULL, &s->sum, &s->shards);
}

void oa_step_side_close(struct oa_step_side *s)
{
    if (s->device && s->device->meter) {
        oa_meter_close(&s->meter);
        oa_tape_free(&s->tape);
        oa_shards_close(&s->shards);
        oa_tree_sum_close(&s->sum);
    }
    oa_model_close(s->model);
    oa_device_close(s->device);
}

void oa_step_side_run(struct oa_step_side *s, const struct oa_options *o,
                      const struct oa_batch *batch, double scale, struct oa_step_clocks *out)
{
    oa_context *c = s->device->context;
    struct oa_step_clocks start = { oa_clock(), oa_context_clock(c), oa_thread_clock() };
    oa_step_once(s->model, o, batch, scale, &s->tape, NULL, &s->shards);
    oa_device_sync(s->device);
    *out = (struct oa_step_clocks){ oa_clock() - start.wall, oa_context_clock(c) - start.processor,
                                    oa_thread_clock() - start.caller };
}

double oa_step_held_up(const struct oa_step_clocks *sum)
{
    return sum->wall > 0 ? fmax(0, 1 - sum->caller / sum->wall) : 0;
}
