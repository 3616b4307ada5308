/* SPDX-License-Identifier: Apache-2.0
 * Functions of vectors, over the layer of vector_avx2.h or vector_avx512.h (included first). */
#ifndef ORTHANT_KERNELS_VECTOR_MATH_H
#define ORTHANT_KERNELS_VECTOR_MATH_H

#include "base/base.h"

#include <math.h>

#define LOWEST_EXP                                                                                 \
    (-87.3365f) /* e^x is a denormal below: returned as 0, since denormals cost hundreds of cycles \
                 */

/* e^x within 1 ulp: 2ⁿ·e^r with n = round(x/ln 2), |r| ≤ ½ln 2, ln 2 in two pieces, and e^r = 1 + r
 * + r²·(minimax polynomial, relative error 3·10⁻⁹). −∞ gives 0, +∞ and all above 88.73 give +∞, NaN
 * stays NaN. */
INLINE v_float v_exp(v_float x)
{
    v_float in = v_min(v_set(89), x); /* NaN stays */
    v_float n = v_round(v_mul(in, v_set(1.44269504f)));
    v_float r = v_fnma(n, v_set(0.693145752f), in);
    r = v_fnma(n, v_set(1.42860677e-6f), r);
    v_float p = v_fma(v_set(1.38145401768e-3f), r, v_set(8.36874510894e-3f));
    p = v_fma(p, r, v_set(4.16683907835e-2f));
    p = v_fma(p, r, v_set(0.16666520399f));
    p = v_fma(p, r, v_set(0.499999934321f));
    p = v_fma(p, r, v_set(1));
    p = v_fma(p, r, v_set(1));
    return v_keep(v_not_less(x, v_set(LOWEST_EXP)), v_times_power2(p, n));
}

#define LOG2_E 1.4426950408889634

/* 2^x within 1 ulp, for exponents that contain the factor log₂ e: 2^⌊x⌋·2^f with f = x − ⌊x⌋ in [0,
 * 1) and 2^f = 1 + f·(minimax polynomial, relative error 2·10⁻⁹). Denormal results are 0, −∞ gives
 * 0, NaN stays; +∞ gives NaN. *there: lanes that are not 0. */
INLINE v_float v_exp2_there(v_float x, v_mask *there)
{
    v_float f = v_fraction(x);
    v_float p = v_fma(v_set(2.16129159449e-4f), f, v_set(1.24678461736e-3f));
    p = v_fma(p, f, v_set(9.67545159361e-3f));
    p = v_fma(p, f, v_set(5.54852806079e-2f));
    p = v_fma(p, f, v_set(0.240229305554f));
    p = v_fma(p, f, v_set(0.693147044443f));
    p = v_fma(p, f, v_set(1));
    *there = v_not_less(x, v_set(-126));
    return v_keep(*there, v_times_power2(p, x));
}

INLINE v_float v_exp2(v_float x)
{
    v_mask there;
    return v_exp2_there(x, &there);
}

/* sin(x + turn·π/2). Cody & Waite: x − n·π/2 with π/2 in two floats is exact to 10⁻¹⁰ as long as n
 * < 2¹⁶; beyond, the C library does it. Then the polynomials of Cephes (Moshier) on |r| ≤ π/4. */
INLINE v_float v_sine_small(v_float x, int turn)
{
    v_float n = v_round(v_mul(x, v_set(0.636619772f)));
    v_float r = v_fnma(n, v_set(-4.37113883e-8f), v_fnma(n, v_set(1.57079637f), x));
    v_float r2 = v_mul(r, r);
    v_float s = v_fma(v_fma(v_set(-1.9515295891e-4f), r2, v_set(8.3321608736e-3f)), r2,
                      v_set(-1.6666654611e-1f));
    s = v_fma(v_mul(s, r2), r, r);
    v_float c = v_fma(v_fma(v_set(2.443315711809948e-5f), r2, v_set(-1.388731625493765e-3f)), r2,
                      v_set(4.166664568298827e-2f));
    c = v_fma(v_mul(c, r2), r2, v_fma(v_set(-0.5f), r2, v_set(1)));
    v_int quadrant = v_add_int(v_to_int(n), turn);
    v_float value = v_select(v_has_bit(quadrant, 1), c, s);
    return v_select(v_has_bit(quadrant, 2), v_sub(v_set(0), value), value);
}

static __attribute__((noinline, unused)) v_float v_sine_large(v_float x, int turn)
{
    float lane[W];
    v_store(lane, x, W);
    for (int i = 0; i < W; i++)
        lane[i] = turn ? cosf(lane[i]) : sinf(lane[i]);
    return v_load(lane, W);
}

INLINE v_float v_sine(v_float x, int turn) /* turn: 0 sin, 1 cos */
{
    if (v_any(v_less(v_set(65536), v_abs(x))))
        return v_sine_large(x, turn);
    return v_sine_small(x, turn);
}

/* ---- Philox4x32-10, W/2 blocks at a time: the words of oa_random_block ---- */

struct v_philox {
    v_long key0[10], key1[10], id_low, id_high;
};

INLINE void v_philox_init(struct v_philox *p, struct oa_stream s)
{
    for (uint32_t round = 0; round < 10; round++) {
        p->key0[round] = v_set_long((uint32_t)s.key + round * 0x9e3779b9u);
        p->key1[round] = v_set_long((uint32_t)(s.key >> 32) + round * 0xbb67ae85u);
    }
    p->id_low = v_set_long((uint32_t)s.id);
    p->id_high = v_set_long(s.id >> 32);
}

/* The four words of the W/2 blocks from number `block` on. A lane of 64 bits has one block, in the
 * order of v_block_numbers, in its lower half; the upper half is undefined. */
INLINE void v_blocks(const struct v_philox *p, uint64_t block, v_long out[4])
{
    v_long c0 = v_block_numbers(block), c1 = v_high_half(c0), c2 = p->id_low, c3 = p->id_high;
    v_long m0 = v_set_long(0xd2511f53u), m1 = v_set_long(0xcd9e8d57u);
    for (int round = 0; round < 10; round++) {
        v_long a = v_multiply_low(m0, c0), b = v_multiply_low(m1, c2);
        c0 = v_xor3(v_high_half(b), c1, p->key0[round]);
        c1 = b;
        c2 = v_xor3(v_high_half(a), c3, p->key1[round]);
        c3 = a;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The same 2W words in the order of the stream. */
INLINE void v_random(const struct v_philox *p, uint64_t block, v_int out[2])
{
    v_long c[4];
    v_blocks(p, block, c);
    v_words(c[0], c[1], c[2], c[3], out);
}

#endif
