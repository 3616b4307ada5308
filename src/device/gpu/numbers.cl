/* SPDX-License-Identifier: Apache-2.0
 * Types of the device's precision, random numbers and sums of a group: before every program. The
 * device defines ACT_BF16 or REAL_F64, or neither. */
#define GROUP_SIZE 128

#ifdef REAL_F64
typedef double real;
#else
typedef float real;
#endif

FUNCTION uint bf16_bits(float x)
{
    uint bits = AS_UINT(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (bits >> 16) | 0x40u;
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

#ifdef ACT_BF16
typedef ushort act;

FUNCTION real load(GLOBAL const act *x, long i)
{
    return AS_FLOAT((uint)x[i] << 16);
}

FUNCTION void store(GLOBAL act *x, long i, real value)
{
    x[i] = (act)bf16_bits(value);
}

FUNCTION real rounded(real value) /* what load finds after store */
{
    return AS_FLOAT(bf16_bits(value) << 16);
}
#else
typedef real act;

FUNCTION real load(GLOBAL const act *x, long i)
{
    return x[i];
}

FUNCTION void store(GLOBAL act *x, long i, real value)
{
    x[i] = value;
}

FUNCTION real rounded(real value)
{
    return value;
}
#endif

FUNCTION long least(long a, long b)
{
    return a < b ? a : b;
}

FUNCTION long most(long a, long b)
{
    return a > b ? a : b;
}

/* ⌊a/b⌋ of a ≥ 0, b > 0: a division of 64 bits is several times as slow as one of 32. */
FUNCTION long quotient(long a, long b)
{
    return a <= 0xffffffffL && b <= 0xffffffffL ? (long)((uint)a / (uint)b) : a / b;
}

FUNCTION real sigmoid(real x)
{
    return 1 / (1 + exp(-x));
}

/* Rows of sequence b that are not padding; lengths NULL: all. */
FUNCTION long real_length(GLOBAL const int *lengths, long b, long length)
{
    return lengths ? most(0, least(lengths[b], length)) : length;
}

/* ---- random numbers: base/random.c ---- */

typedef struct {
    ulong key, id;
} stream;

typedef struct {
    stream from;
    double limit, grow;
} dropout;

FUNCTION uint random_word(stream s, ulong index, int which)
{
    uint c0 = (uint)index, c1 = (uint)(index >> 32), c2 = (uint)s.id, c3 = (uint)(s.id >> 32);
    uint k0 = (uint)s.key, k1 = (uint)(s.key >> 32);
    for (int round = 0; round < 10; round++) {
        uint a_high = MULTIPLY_HIGH(0xd2511f53u, c0), a_low = 0xd2511f53u * c0;
        uint b_high = MULTIPLY_HIGH(0xcd9e8d57u, c2), b_low = 0xcd9e8d57u * c2;
        c0 = b_high ^ c1 ^ k0;
        c1 = b_low;
        c2 = a_high ^ c3 ^ k1;
        c3 = a_low;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return which == 0 ? c0 : which == 1 ? c1 : which == 2 ? c2 : c3;
}

/* x after dropout, as element i of the stream. */
FUNCTION real drop(dropout d, ulong i, real x)
{
    if (d.limit >= 4294967296.0)
        return x;
    return random_word(d.from, i / 4, (int)(i % 4)) < d.limit ? x * (real)d.grow : 0;
}

/* Rows begin at a block of the generator each. */
FUNCTION ulong dropout_stride(long cols)
{
    return (ulong)(cols + 3) / 4 * 4;
}

/* ---- sums over the threads of a group; room has GROUP_SIZE elements; all threads get the sum ----
 */

FUNCTION real group_sum(LOCAL real *room, real x)
{
    room[THREAD] = x;
    BARRIER;
    for (int width = GROUP_SIZE / 2; width > 0; width /= 2) {
        if (THREAD < width)
            room[THREAD] += room[THREAD + width];
        BARRIER;
    }
    real sum = room[0];
    BARRIER;
    return sum;
}

FUNCTION real group_max(LOCAL real *room, real x)
{
    room[THREAD] = x;
    BARRIER;
    for (int width = GROUP_SIZE / 2; width > 0; width /= 2) {
        if (THREAD < width && !(room[THREAD] >= room[THREAD + width]))
            room[THREAD] = room[THREAD + width];
        BARRIER;
    }
    real largest = room[0];
    BARRIER;
    return largest;
}

#ifdef REAL_F64
#define group_sum_double group_sum
#else
FUNCTION double group_sum_double(LOCAL double *room, double x)
{
    room[THREAD] = x;
    BARRIER;
    for (int width = GROUP_SIZE / 2; width > 0; width /= 2) {
        if (THREAD < width)
            room[THREAD] += room[THREAD + width];
        BARRIER;
    }
    double sum = room[0];
    BARRIER;
    return sum;
}
#endif
