/* SPDX-License-Identifier: Apache-2.0
 * The weights of the parts of a mixture (operations.h has the formulas); heads × parts is a handful
 * of numbers. */
#include "device/cpu/cpu.h"

#include <math.h>

static void head_weights(const struct oa_device *d, const struct oa_mixture_weights *m, long head,
                         double *alpha)
{
    double sum = 0, top = -INFINITY;
    for (int c = 0; c < m->parts; c++) {
        alpha[c] = m->kind == OA_MIX_FIXED ? m->weight[c] : 1;
        if (m->kind == OA_MIX_SOFTMAX)
            top = fmax(top, alpha[c] = oa_real_get(d, m->theta, head * m->parts + c));
    }
    if (m->kind == OA_MIX_SIGMOID) {
        alpha[1] = 1 / (1 + exp(-oa_real_get(d, m->theta, 0))); /* σ(θ) */
        alpha[0] = 1 - alpha[1];
    }
    for (int c = 0; c < m->parts && m->kind == OA_MIX_SOFTMAX; c++)
        sum += alpha[c] = exp(alpha[c] - top);
    for (int c = 0; c < m->parts && m->kind == OA_MIX_SOFTMAX; c++)
        alpha[c] /= sum;
}

void oa_cpu_mixture(struct oa_device *d, const struct oa_mixture_weights *m)
{
    double head[OA_MAX_PARTS];
    for (long h = 0; h < m->heads; h++) {
        head_weights(d, m, h, head);
        for (int c = 0; c < m->parts; c++)
            oa_real_set(d, m->alpha, h * m->parts + c, head[c]);
    }
}

static void add_theta_gradient(const struct oa_device *d, void *x, long i, double addend)
{
    oa_real_set(d, x, i, oa_real_get(d, x, i) + addend);
}

void oa_cpu_mixture_gradient(struct oa_device *d, const struct oa_mixture_weights *m)
{
    for (long h = 0; h < m->heads; h++) {
        double alpha[OA_MAX_PARTS], g[OA_MAX_PARTS], mean = 0;
        head_weights(d, m, h, alpha);
        for (int c = 0; c < m->parts; c++)
            mean += alpha[c] * (g[c] = oa_real_get(d, m->dalpha, h * m->parts + c));
        for (int c = 0; c < m->parts && m->kind == OA_MIX_SOFTMAX; c++)
            add_theta_gradient(d, m->dtheta, h * m->parts + c, alpha[c] * (g[c] - mean));
        if (m->kind == OA_MIX_SIGMOID)
            add_theta_gradient(d, m->dtheta, 0, alpha[0] * alpha[1] * (g[1] - g[0]));
    }
}
