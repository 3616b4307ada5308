/* SPDX-License-Identifier: Apache-2.0
 * The causal token mixer, token by token (mixer.cl). */
#include "device/gpu/gpu.h"

void oa_gpu_mixer_steps(struct oa_device *d, const struct oa_mixer_steps *a)
{
    struct { /* mixed_tokens of mixer.cl */
        long first, tokens, channels, units, length;
        const void *in_weight, *in_bias, *out_weight, *out_bias, *x;
        void *y, *state;
        long ldx, ldy;
    } s = { a->first,      a->tokens,   a->channels, a->units, a->length, a->in_weight, a->in_bias,
            a->out_weight, a->out_bias, a->x,        a->y,     a->state,  a->ldx,       a->ldy };
    OA_GPU_INDIRECT(d, mixer_steps, a->channels, 1, OA_GPU_STRUCT(s));
}
