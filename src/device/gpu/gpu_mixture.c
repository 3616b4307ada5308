/* SPDX-License-Identifier: Apache-2.0
 * Weights of the parts of a mixture (mixture.cl). */
#include "device/gpu/gpu.h"

struct mixture_weights { /* of mixture.cl */
    long kind, heads, parts;
    double weight[OA_MAX_PARTS];
    const void *theta;
    void *alpha;
    const void *dalpha;
    void *dtheta;
};

static struct mixture_weights mixture_arguments(const struct oa_mixture_weights *m)
{
    struct mixture_weights x = { .kind = m->kind,
                                 .heads = m->heads,
                                 .parts = m->parts,
                                 .theta = m->theta,
                                 .alpha = m->alpha,
                                 .dalpha = m->dalpha,
                                 .dtheta = m->dtheta };
    for (int c = 0; c < OA_MAX_PARTS; c++)
        x.weight[c] = m->weight[c];
    return x;
}

void oa_gpu_mixture(struct oa_device *d, const struct oa_mixture_weights *m)
{
    struct mixture_weights x = mixture_arguments(m);
    OA_GPU_INDIRECT(d, mixture, oa_blocks(m->heads, OA_GPU_GROUP), 1, OA_GPU_STRUCT(x));
}

void oa_gpu_mixture_gradient(struct oa_device *d, const struct oa_mixture_weights *m)
{
    struct mixture_weights x = mixture_arguments(m);
    OA_GPU_INDIRECT(d, mixture_gradient, oa_blocks(m->heads, OA_GPU_GROUP), 1, OA_GPU_STRUCT(x));
}
