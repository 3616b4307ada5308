/* SPDX-License-Identifier: Apache-2.0
 * Factors, gates and repetitions of heads (formulas: operations.h, cpu_head_gate.c). */

typedef struct {
    long cols, width;
    double scale;
    ulong temperature, diagonal, factor, dfactor, dtemperature, ddiagonal;
} factored_heads;

KERNEL void head_factors(factored_heads a)
{
    if (ITEM >= a.cols)
        return;
    real f = (real)a.scale;
    if (a.temperature)
        f *= AT(const real, a.temperature)[ITEM / a.width];
    if (a.diagonal)
        f *= AT(const real, a.diagonal)[ITEM];
    AT(real, a.factor)[ITEM] = f;
}

/* A group has a head. */
KERNEL void head_factors_gradient(factored_heads a)
{
    SHARED real room[GROUP_SIZE];
    long first = GROUP(0) * a.width, end = least(a.cols, first + a.width);
    real temperature = a.temperature ? AT(const real, a.temperature)[GROUP(0)] : 1, sum = 0;
    for (long i = first + THREAD; i < end; i += GROUP_SIZE) {
        real g = (real)a.scale * AT(const real, a.dfactor)[i];
        sum += a.diagonal ? g * AT(const real, a.diagonal)[i] : g;
        if (a.ddiagonal)
            AT(real, a.ddiagonal)[i] += g * temperature;
    }
    sum = group_sum(room, sum);
    if (a.dtemperature && THREAD == 0)
        AT(real, a.dtemperature)[GROUP(0)] += sum;
}

/* ---- gates ---- */

typedef struct {
    long rows, heads, width, each, swish; /* each: one gate for a head, not for a channel */
    ulong x, z, y, dy, dx, dz;
    long ldx, ldy;
} gated_heads;

/* A thread has an element. */
KERNEL void head_gate(gated_heads a)
{
    long cols = a.heads * a.width, i = ITEM / cols, j = ITEM % cols;
    if (i >= a.rows)
        return;
    real z = load(AT(const act, a.z), a.each ? i * a.heads + quotient(j, a.width) : ITEM);
    real v = load(AT(const act, a.x), i * a.ldx + j);
    store(AT(act, a.y), i * a.ldy + j, (a.swish ? v * z : v) * sigmoid(z));
}

/* One gate for each channel; a thread has an element. */
KERNEL void channel_gate_gradient(gated_heads a)
{
    long cols = a.heads * a.width, i = ITEM / cols, j = ITEM % cols;
    if (i >= a.rows)
        return;
    real z = load(AT(const act, a.z), ITEM), s = sigmoid(z);
    real v = load(AT(const act, a.x), i * a.ldx + j), d = load(AT(const act, a.dy), i * a.ldy + j);
    real slope = s * (1 - s);
    store(AT(act, a.dx), i * a.ldx + j, d * (a.swish ? z * s : s));
    store(AT(act, a.dz), ITEM, d * v * (a.swish ? s + z * slope : slope));
}

/* One gate for a head; a group has a head of a row. */
KERNEL void head_gate_gradient(gated_heads a)
{
    SHARED real room[GROUP_SIZE];
    long i = quotient(GROUP(0), a.heads), h = GROUP(0) - i * a.heads;
    long x = i * a.ldx + h * a.width, y = i * a.ldy + h * a.width;
    real s = sigmoid(load(AT(const act, a.z), GROUP(0))), sum = 0;
    for (long c = THREAD; c < a.width; c += GROUP_SIZE) {
        real d = load(AT(const act, a.dy), y + c);
        sum += d * load(AT(const act, a.x), x + c);
        store(AT(act, a.dx), x + c, d * s);
    }
    sum = group_sum(room, sum);
    if (THREAD == 0)
        store(AT(act, a.dz), GROUP(0), s * (1 - s) * sum);
}

/* ---- repeated heads: a thread has an element of the result ---- */

typedef struct {
    long rows, heads, key_heads, width;
    ulong x;
    long ldx;
    ulong y, dy, dx;
} repeated_heads;

KERNEL void repeat_heads(repeated_heads a)
{
    long cols = a.heads * a.width, i = quotient(ITEM, cols), j = ITEM - i * cols;
    if (i >= a.rows)
        return;
    long h = quotient(j, a.width), n = quotient(h * a.key_heads, a.heads);
    AT(act, a.y)[ITEM] = AT(const act, a.x)[i * a.ldx + n * a.width + j - h * a.width];
}

KERNEL void repeat_heads_gradient(repeated_heads a)
{
    long cols = a.key_heads * a.width, i = quotient(ITEM, cols), j = ITEM - i * cols;
    long each = a.heads / a.key_heads, n = quotient(j, a.width), c = j - n * a.width;
    real sum = 0;
    if (i >= a.rows)
        return;
    for (long h = n * each; h < (n + 1) * each; h++)
        sum += load(AT(const act, a.dy), (i * a.heads + h) * a.width + c);
    store(AT(act, a.dx), i * a.ldx + j, sum);
}
