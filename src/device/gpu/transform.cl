/* SPDX-License-Identifier: Apache-2.0
 * Structured projections (formulas: operations.h, cpu_transform.c). A group has `lanes` rows, one
 * after the other in shared memory: a butterfly of one row is one of all of them. Rows wider than
 * ROOM are in scratch, and each factor is a few launches (wide_…). */
#ifdef REAL_F64
enum { ROOM = 2048 };
#else
enum { ROOM = 4096 };
#endif

typedef struct {
    long width, out, factors, unit, mixes; /* D, K, f, b */
    long rows, heads, lanes, stride, columns_at, mix_at;
    ulong numbers, x, dx, y, dy;
    long ldx, ldy;
} transformed_rows;

FUNCTION GLOBAL const real *chain_numbers(transformed_rows a, long h)
{
    return AT(const real, a.numbers) + h * a.stride;
}

/* x ← H (s ∘ x), or with `transposed` Hᵀ (s ∘ x), of n = lanes·D elements; returns where the result
 * is, x or spare. All threads have written x before, and see the result after. */
FUNCTION LOCAL real *chain_factor(transformed_rows a, GLOBAL const real *numbers, long i,
                                  int transposed, int n, LOCAL real *x, LOCAL real *spare)
{
    int width = (int)a.width, unit = (int)a.unit;
    GLOBAL const real *q = numbers + a.mix_at;
    BARRIER;
    for (int e = THREAD; e < n; e += GROUP_SIZE)
        x[e] *= numbers[i * a.width + e % width];
    BARRIER;
    for (int step = unit; step < width; step *= 2) {
        uint inverse = 0xffffffffu / (uint)step + 1; /* p / step is the high word of p·inverse */
        for (int p = THREAD; p < n / 2; p += GROUP_SIZE) {
            int block = step == 1 ? p : (int)MULTIPLY_HIGH((uint)p, inverse), at = p + block * step;
            real u = x[at], v = x[at + step];
            x[at] = u + v;
            x[at + step] = u - v;
        }
        BARRIER;
    }
    if (!a.mixes)
        return x;
    for (int e = THREAD; e < n; e += GROUP_SIZE) {
        int r = e % unit; /* in the run, since D is a multiple of b */
        real sum = 0;
        for (int j = 0; j < unit; j++)
            sum += q[transposed ? r * unit + j : j * unit + r] * x[e - r + j];
        spare[e] = sum;
    }
    BARRIER;
    return spare;
}

/* GROUP(0): a block of rows, GROUP(1): a head. */
KERNEL void transform(transformed_rows a)
{
    SHARED real room[ROOM], other[ROOM];
    LOCAL real *x = room;
    long first = GROUP(0) * a.lanes, h = GROUP(1);
    int lanes = (int)least(a.lanes, a.rows - first), width = (int)a.width, out = (int)a.out;
    GLOBAL const real *numbers = chain_numbers(a, h), *last = numbers + a.factors * a.width;
    for (int e = THREAD; e < lanes * width; e += GROUP_SIZE)
        x[e] = load(AT(const act, a.x), (first + e / width) * a.ldx + e % width);
    for (long i = 0; i < a.factors; i++)
        x = chain_factor(a, numbers, i, 1, lanes * width, x, x == room ? other : room);
    BARRIER;
    for (int e = THREAD; e < lanes * out; e += GROUP_SIZE) {
        int col = (int)numbers[a.columns_at + e % out];
        store(AT(act, a.y), (first + e / out) * a.ldy + h * a.out + e % out,
              last[col] * x[e / out * width + col]);
    }
}

/* GROUP(0): a block of rows. Heads are added in their order. */
KERNEL void transform_gradient(transformed_rows a)
{
    SHARED real room[ROOM], other[ROOM], sum[ROOM];
    LOCAL real *x = room;
    long first = GROUP(0) * a.lanes;
    int lanes = (int)least(a.lanes, a.rows - first), width = (int)a.width, out = (int)a.out;
    for (int e = THREAD; e < lanes * width; e += GROUP_SIZE)
        sum[e] = 0;
    for (long h = 0; h < a.heads; h++) {
        GLOBAL const real *numbers = chain_numbers(a, h);
        for (int e = THREAD; e < lanes * width; e += GROUP_SIZE)
            x[e] = 0;
        BARRIER;
        for (int e = THREAD; e < lanes * out; e += GROUP_SIZE)
            x[e / out * width + (int)numbers[a.columns_at + e % out]] =
                load(AT(const act, a.dy), (first + e / out) * a.ldy + h * a.out + e % out);
        for (long i = a.factors; i > 0; i--)
            x = chain_factor(a, numbers, i, 0, lanes * width, x, x == room ? other : room);
        BARRIER;
        for (int e = THREAD; e < lanes * width; e += GROUP_SIZE)
            sum[e] += numbers[e % width] * x[e];
        BARRIER;
    }
    for (int e = THREAD; e < lanes * width; e += GROUP_SIZE)
        store(AT(act, a.dx), (first + e / width) * a.ldx + e % width, sum[e]);
}

/* ---- wide rows: a thread has an element of real [rows, D]; `h` is the head ---- */

KERNEL void wide_rows_in(transformed_rows a, GLOBAL real *x)
{
    long r = quotient(ITEM, a.width);
    if (r < a.rows)
        x[ITEM] = load(AT(const act, a.x), r * a.ldx + ITEM % a.width);
}

KERNEL void wide_rows_out(transformed_rows a, long h, GLOBAL const real *x)
{
    GLOBAL const real *numbers = chain_numbers(a, h);
    long r = quotient(ITEM, a.out), l = ITEM - r * a.out;
    if (r >= a.rows)
        return;
    long col = (long)numbers[a.columns_at + l];
    store(AT(act, a.y), r * a.ldy + h * a.out + l,
          numbers[a.factors * a.width + col] * x[r * a.width + col]);
}

/* x: zeros before. */
KERNEL void wide_gradient_in(transformed_rows a, long h, GLOBAL real *x)
{
    long r = quotient(ITEM, a.out), l = ITEM - r * a.out;
    if (r < a.rows)
        x[r * a.width + (long)chain_numbers(a, h)[a.columns_at + l]] =
            load(AT(const act, a.dy), r * a.ldy + h * a.out + l);
}

/* sum += s_0 ∘ x; or, last, dx = that sum. */
KERNEL void wide_gradient_sum(transformed_rows a, long h, long last, GLOBAL const real *x,
                              GLOBAL real *sum)
{
    long r = quotient(ITEM, a.width), c = ITEM - r * a.width;
    if (r >= a.rows)
        return;
    real s = (h ? sum[ITEM] : 0) + chain_numbers(a, h)[c] * x[ITEM];
    sum[ITEM] = s;
    if (last)
        store(AT(act, a.dx), r * a.ldx + c, s);
}

KERNEL void wide_diagonal(transformed_rows a, long h, long i, GLOBAL real *x)
{
    if (ITEM < a.rows * a.width)
        x[ITEM] *= chain_numbers(a, h)[i * a.width + ITEM % a.width];
}

KERNEL void wide_butterflies(transformed_rows a, long step, GLOBAL real *x)
{
    long at = ITEM + quotient(ITEM, step) * step;
    if (ITEM >= a.rows * a.width / 2)
        return;
    real u = x[at], v = x[at + step];
    x[at] = u + v;
    x[at + step] = u - v;
}

KERNEL void wide_mix(transformed_rows a, long h, long transposed, GLOBAL const real *x,
                     GLOBAL real *y)
{
    GLOBAL const real *q = chain_numbers(a, h) + a.mix_at;
    long r = ITEM % a.unit;
    real sum = 0;
    if (ITEM >= a.rows * a.width)
        return;
    for (long j = 0; j < a.unit; j++)
        sum += q[transposed ? r * a.unit + j : j * a.unit + r] * x[ITEM - r + j];
    y[ITEM] = sum;
}
