/* SPDX-License-Identifier: Apache-2.0
 * Weights of the parts of a mixture (formulas: operations.h). One thread has a head; of SIGMOID,
 * one adds up all heads. */
enum { MIX_NONE, MIX_SOFTMAX, MIX_SIGMOID, MIX_FIXED, MAX_PARTS = 6 };

typedef struct {
    long kind, heads, parts;
    double weight[MAX_PARTS];
    ulong theta, alpha, dalpha, dtheta;
} mixture_weights;

FUNCTION void head_weights(mixture_weights m, long h, real *alpha)
{
    GLOBAL const real *theta = AT(const real, m.theta);
    real sum = 0, top = -INFINITY;
    for (int c = 0; c < MAX_PARTS; c++)
        alpha[c] = m.kind == MIX_FIXED ? (real)m.weight[c] : 1;
    if (m.kind == MIX_SIGMOID) {
        alpha[1] = sigmoid(theta[0]);
        alpha[0] = 1 - alpha[1];
    }
    if (m.kind != MIX_SOFTMAX)
        return;
    for (int c = 0; c < m.parts; c++)
        top = max(top, theta[h * m.parts + c]);
    for (int c = 0; c < m.parts; c++)
        sum += alpha[c] = exp(theta[h * m.parts + c] - top);
    for (int c = 0; c < m.parts; c++)
        alpha[c] /= sum;
}

KERNEL void mixture(mixture_weights m)
{
    real alpha[MAX_PARTS];
    if (ITEM >= m.heads)
        return;
    head_weights(m, ITEM, alpha);
    for (int c = 0; c < m.parts; c++)
        AT(real, m.alpha)[ITEM * m.parts + c] = alpha[c];
}

KERNEL void mixture_gradient(mixture_weights m)
{
    real alpha[MAX_PARTS], mean = 0, sum = 0;
    long h = ITEM;
    if (h >= m.heads)
        return;
    GLOBAL const real *g = AT(const real, m.dalpha) + h * m.parts;
    head_weights(m, h, alpha);
    for (int c = 0; c < m.parts; c++)
        mean += alpha[c] * g[c];
    for (int c = 0; c < m.parts && m.kind == MIX_SOFTMAX; c++)
        AT(real, m.dtheta)[h * m.parts + c] += alpha[c] * (g[c] - mean);
    if (m.kind != MIX_SIGMOID || h > 0)
        return;
    for (long i = 0; i < m.heads; i++)
        sum += g[i * m.parts + 1] - g[i * m.parts];
    AT(real, m.dtheta)[0] += alpha[0] * alpha[1] * sum;
}
