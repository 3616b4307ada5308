/* SPDX-License-Identifier: Apache-2.0
 * The causal token mixer, token by token (formulas: cpu_mixer_steps.c). A group has a channel, a
 * thread every GROUP_SIZE-th hidden unit of it. */

typedef struct {
    long first, tokens, channels, units, length;
    ulong in_weight, in_bias, out_weight, out_bias, x, y, state;
    long ldx, ldy;
} mixed_tokens;

FUNCTION long first_unit(mixed_tokens a, long position)
{
    return least(a.units, (position * a.units + a.length - 1) / a.length);
}

FUNCTION real hidden_unit(real u)
{
    real v = rounded(u);
    return rounded((real)0.5 * v * (1 + erf(v * (real)0.70710678118654752440)));
}

KERNEL void mixer_steps(mixed_tokens a)
{
    SHARED real room[GROUP_SIZE];
    GLOBAL real *units = AT(real, a.state) + GROUP(0) * a.units;
    for (long t = 0; t < a.tokens; t++) {
        long p = a.first + t, low = first_unit(a, p), high = first_unit(a, p + 1);
        real x = load(AT(const act, a.x), t * a.ldx + GROUP(0)), sum = 0;
        for (long u = THREAD; u < a.units; u += GROUP_SIZE) {
            real v = units[u];
            if (u >= low)
                v += x * load(AT(const act, a.in_weight), u * a.length + p);
            if (u >= low && u < high)
                v = hidden_unit(v + AT(const real, a.in_bias)[u]);
            units[u] = v;
            if (u < high)
                sum += load(AT(const act, a.out_weight), p * a.units + u) * v;
        }
        sum = group_sum(room, sum);
        if (THREAD == 0)
            store(AT(act, a.y), t * a.ldy + GROUP(0), sum + AT(const real, a.out_bias)[p]);
    }
}
