/* SPDX-License-Identifier: Apache-2.0
 * Feature maps of linear attention, positions as angles, maps of rows and causal convolutions
 * (formulas: kernels.h, cpu_features.c, cpu_row_maps.c, cpu_causal_conv.c). */

/* The kinds of oa_feature, in their order. */
enum { ELU, RELU, COS, POWER };

FUNCTION real feature_value(long kind, real x)
{
    switch (kind) {
    case ELU:
        return x > 0 ? x + 1 : exp(x);
    case RELU:
        return x <= 0 ? 0 : x;
    default:
        return cos(x);
    }
}

FUNCTION real times_feature_slope(long kind, real x, real dy)
{
    switch (kind) {
    case ELU:
        return x > 0 ? dy : exp(x) * dy;
    case RELU:
        return x > 0 ? dy : 0;
    default:
        return -sin(x) * dy;
    }
}

/* A thread has an element of x; POWER: y = [x, x², …]. */
KERNEL void feature(long kind, long degree, long rows, long width, GLOBAL const act *x, long ldx,
                    GLOBAL act *y, long ldy)
{
    long i = ITEM / width, j = ITEM % width;
    if (i >= rows)
        return;
    real v = load(x, i * ldx + j), power = v;
    if (kind != POWER)
        store(y, i * ldy + j, feature_value(kind, v));
    for (long p = 0; kind == POWER && p < degree; p++, power *= v)
        store(y, i * ldy + p * width + j, power);
}

KERNEL void feature_gradient(long kind, long degree, long rows, long width, GLOBAL const act *x,
                             long ldx, GLOBAL const act *dy, long lddy, GLOBAL act *dx, long lddx)
{
    long i = ITEM / width, j = ITEM % width;
    if (i >= rows)
        return;
    real v = load(x, i * ldx + j), power = 1, sum = 0;
    if (kind != POWER)
        sum = times_feature_slope(kind, v, load(dy, i * lddy + j));
    for (long p = 0; kind == POWER && p < degree; p++, power *= v)
        sum += (real)(p + 1) * power * load(dy, i * lddy + p * width + j);
    store(dx, i * lddx + j, sum);
}

/* ---- positions as angles ---- */

typedef struct {
    long tokens, length, heads, width, first;
    double limit;
    ulong x, y, dy, dx;
} placed_rows;

/* π t/(2·limit) of element e, in double as on the host. */
FUNCTION double angle_of(placed_rows a, long e)
{
    long token = e / (a.heads * a.width);
    return 3.14159265358979323846 * (double)(a.first + token % a.length) / (2 * a.limit);
}

/* y of a head = [sin·relu(x), cos·relu(x)]; a thread has an element of x. */
KERNEL void place(placed_rows a)
{
    long row = ITEM / a.width, j = ITEM % a.width, at = row * 2 * a.width + j;
    if (row >= a.tokens * a.heads)
        return;
    double angle = angle_of(a, ITEM);
    real v = load(AT(const act, a.x), ITEM), r = v <= 0 ? 0 : v;
    store(AT(act, a.y), at, (real)sin(angle) * r);
    store(AT(act, a.y), at + a.width, (real)cos(angle) * r);
}

KERNEL void place_gradient(placed_rows a)
{
    long row = ITEM / a.width, j = ITEM % a.width, at = row * 2 * a.width + j;
    if (row >= a.tokens * a.heads)
        return;
    double angle = angle_of(a, ITEM);
    real sum = (real)sin(angle) * load(AT(const act, a.dy), at) +
               (real)cos(angle) * load(AT(const act, a.dy), at + a.width);
    store(AT(act, a.dx), ITEM, load(AT(const act, a.x), ITEM) > 0 ? sum : 0);
}

/* ---- maps of rows of heads ---- */

/* The kinds of oa_row_map, in their order. */
enum { UNIT, SILU_UNIT, RMS, HEDGEHOG };

typedef struct {
    long kind, heads, width, ldx, ldy;
    double epsilon;
    ulong gain, x, y, dy, dx;
} row_map;

/* s of element j of a row at x. */
FUNCTION real mapped_source(row_map a, long x, long j)
{
    real v = load(AT(const act, a.x), x + j);
    return a.kind == SILU_UNIT ? rounded(v * sigmoid(v)) : v;
}

/* 1/n of the row of the group. */
FUNCTION real inverse_norm(row_map a, long x, LOCAL real *room)
{
    real sum = 0;
    for (long j = THREAD; j < a.width; j += GROUP_SIZE) {
        real v = mapped_source(a, x, j);
        sum += v * v;
    }
    sum = group_sum(room, sum);
    return 1 / sqrt((a.kind == RMS ? sum / (real)a.width : sum) + (real)a.epsilon);
}

/* A group has a row of a head. */
KERNEL void map_rows(row_map a)
{
    SHARED real room[GROUP_SIZE];
    long token = GROUP(0) / a.heads, h = GROUP(0) % a.heads, x = token * a.ldx + h * a.width,
         y = token * a.ldy + h * a.width;
    real inverse = inverse_norm(a, x, room);
    for (long j = THREAD; j < a.width; j += GROUP_SIZE)
        store(AT(act, a.y), y + j,
              mapped_source(a, x, j) * inverse * (a.gain ? AT(const real, a.gain)[j] : 1));
}

/* HEDGEHOG: softmax of the row or, GROUP(1) = 1, of the row times −1. */
KERNEL void hedgehog_rows(row_map a)
{
    SHARED real room[GROUP_SIZE];
    long token = GROUP(0) / a.heads, h = GROUP(0) % a.heads, x = token * a.ldx + h * a.width,
         y = token * a.ldy + (2 * h + GROUP(1)) * a.width;
    real sign = GROUP(1) ? -1 : 1, top = -INFINITY, sum = 0;
    for (long j = THREAD; j < a.width; j += GROUP_SIZE)
        top = fmax(top, sign * load(AT(const act, a.x), x + j));
    top = group_max(room, top);
    for (long j = THREAD; j < a.width; j += GROUP_SIZE)
        sum += exp(sign * load(AT(const act, a.x), x + j) - top);
    sum = 1 / group_sum(room, sum);
    for (long j = THREAD; j < a.width; j += GROUP_SIZE)
        store(AT(act, a.y), y + j, sum * exp(sign * load(AT(const act, a.x), x + j) - top));
}

KERNEL void hedgehog_rows_gradient(row_map a)
{
    SHARED real room[GROUP_SIZE];
    long token = GROUP(0) / a.heads, h = GROUP(0) % a.heads, x = token * a.ldx + h * a.width,
         y = token * a.ldy + 2 * h * a.width;
    GLOBAL const act *p = AT(const act, a.y), *dy = AT(const act, a.dy);
    real one = 0, two = 0;
    for (long j = THREAD; j < a.width; j += GROUP_SIZE) {
        one += load(p, y + j) * load(dy, y + j);
        two += load(p, y + a.width + j) * load(dy, y + a.width + j);
    }
    one = group_sum(room, one);
    two = group_sum(room, two);
    for (long j = THREAD; j < a.width; j += GROUP_SIZE)
        store(AT(act, a.dx), x + j,
              load(p, y + j) * (load(dy, y + j) - one) -
                  load(p, y + a.width + j) * (load(dy, y + a.width + j) - two));
}

KERNEL void map_rows_gradient(row_map a)
{
    SHARED real room[GROUP_SIZE];
    long token = GROUP(0) / a.heads, h = GROUP(0) % a.heads, x = token * a.ldx + h * a.width,
         y = token * a.ldy + h * a.width;
    GLOBAL const act *dy = AT(const act, a.dy);
    GLOBAL const real *gain = AT(const real, a.gain);
    real inverse = inverse_norm(a, x, room), along = 0;
    for (long j = THREAD; j < a.width; j += GROUP_SIZE)
        along += mapped_source(a, x, j) * inverse * load(dy, y + j) * (a.gain ? gain[j] : 1);
    along = group_sum(room, along);
    if (a.kind == RMS)
        along /= (real)a.width;
    for (long j = THREAD; j < a.width; j += GROUP_SIZE) {
        real d = load(dy, y + j) * (a.gain ? gain[j] : 1), v = load(AT(const act, a.x), x + j);
        d = inverse * (d - mapped_source(a, x, j) * inverse * along);
        if (a.kind == SILU_UNIT) {
            real s = sigmoid(v);
            d *= s * (1 + (s == 0 || 1 - s == 0 ? 0 : v * (1 - s)));
        }
        store(AT(act, a.dx), x + j, d);
    }
}

/* 1/n of each row of a head, for the gradient of the gain; a group has a row. */
KERNEL void row_inverses(row_map a, GLOBAL real *inverse)
{
    SHARED real room[GROUP_SIZE];
    real own = inverse_norm(a, GROUP(0) / a.heads * a.ldx + GROUP(0) % a.heads * a.width, room);
    if (THREAD == 0)
        inverse[GROUP(0)] = own;
}

/* partial [chunks, width]: Σ dy ⊙ x/n over `run` rows of heads; a thread has a column. */
KERNEL void row_gain_gradient(row_map a, long rows, long run, GLOBAL const real *inverse,
                              GLOBAL real *partial)
{
    long j = ITEM, first = GROUP(1) * run, end = least(rows, first + run);
    real sum = 0;
    if (j >= a.width)
        return;
    for (long i = first; i < end; i++) {
        long token = i / a.heads, h = i % a.heads;
        sum += load(AT(const act, a.dy), token * a.ldy + h * a.width + j) *
               load(AT(const act, a.x), token * a.ldx + h * a.width + j) * inverse[i];
    }
    partial[GROUP(1) * a.width + j] = sum;
}

/* ---- causal convolutions ---- */

typedef struct {
    long batch, length, cols, taps, ldx;
    ulong w, x, z, y, dy, dx, state;
} causal_conv_rows;

/* The weight as an act. */
FUNCTION real tap_of(causal_conv_rows a, long c, long u)
{
    return rounded(AT(const real, a.w)[c * a.taps + u]);
}

/* Column c of row t of sequence b, t < 0: of the state. */
FUNCTION real conv_input(causal_conv_rows a, long b, long t, long c)
{
    if (t >= 0)
        return load(AT(const act, a.x), (b * a.length + t) * a.ldx + c);
    return a.state ? load(AT(const act, a.state), (a.taps - 1 + t) * a.cols + c) : 0;
}

/* z_t = Σ_u w_u x_{t−W+1+u}, y = z σ(z). A thread has an element. */
KERNEL void causal_conv(causal_conv_rows a)
{
    long c = ITEM % a.cols, row = ITEM / a.cols;
    real z = 0;
    if (row >= a.batch * a.length)
        return;
    for (long u = 0; u < a.taps; u++)
        z += tap_of(a, c, u) * conv_input(a, row / a.length, row % a.length - a.taps + 1 + u, c);
    z = rounded(z);
    store(AT(act, a.z), ITEM, z);
    store(AT(act, a.y), ITEM, z * sigmoid(z));
}

/* The last W − 1 rows become the state; a thread has a column. */
KERNEL void causal_conv_state(causal_conv_rows a)
{
    for (long i = 0; ITEM < a.cols && i < a.taps - 1; i++)
        store(AT(act, a.state), i * a.cols + ITEM,
              conv_input(a, 0, a.length - (a.taps - 1) + i, ITEM));
}

FUNCTION real conv_slope(causal_conv_rows a, long row, long c)
{
    real z = load(AT(const act, a.z), row * a.cols + c), s = sigmoid(z);
    return load(AT(const act, a.dy), row * a.cols + c) *
           (s + (s == 0 || 1 - s == 0 ? 0 : z * s * (1 - s)));
}

/* dx_t = Σ_u w_u dz_{t+W−1−u} */
KERNEL void causal_conv_gradient(causal_conv_rows a)
{
    long c = ITEM % a.cols, row = ITEM / a.cols, t = row % a.length;
    real sum = 0;
    if (row >= a.batch * a.length)
        return;
    for (long u = 0; u < a.taps; u++)
        if (t + a.taps - 1 - u < a.length)
            sum += tap_of(a, c, u) * conv_slope(a, row + a.taps - 1 - u, c);
    store(AT(act, a.dx), row * a.ldx + c, sum);
}

/* partial [chunks, cols, W]: dw_u = Σ_t dz_t x_{t−W+1+u} over `run` rows; a thread has a weight. */
KERNEL void causal_conv_weight_gradient(causal_conv_rows a, long run, GLOBAL real *partial)
{
    long u = ITEM / a.cols, c = ITEM % a.cols, first = GROUP(1) * run,
         end = least(a.batch * a.length, first + run);
    real sum = 0;
    if (u >= a.taps)
        return;
    for (long row = first; row < end; row++) {
        long t = row % a.length - a.taps + 1 + u;
        if (t >= 0)
            sum += conv_slope(a, row, c) * conv_input(a, row / a.length, t, c);
    }
    partial[(GROUP(1) * a.cols + c) * a.taps + u] = sum;
}
