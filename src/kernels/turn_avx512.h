/* SPDX-License-Identifier: Apache-2.0
 * Transposes 16 × 16 words of 32 bits. */
#ifndef ORTHANT_KERNELS_TURN_AVX512_H
#define ORTHANT_KERNELS_TURN_AVX512_H

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline, unused))

/* Within each 128 bits the four vectors are transposed: afterwards lane group L of w[i] holds
 * element 4L + i of all. */
INLINE void turn_quads(__m512i w[4])
{
    __m512i a = _mm512_unpacklo_epi32(w[0], w[1]), b = _mm512_unpackhi_epi32(w[0], w[1]);
    __m512i c = _mm512_unpacklo_epi32(w[2], w[3]), d = _mm512_unpackhi_epi32(w[2], w[3]);
    w[0] = _mm512_unpacklo_epi64(a, c);
    w[1] = _mm512_unpackhi_epi64(a, c);
    w[2] = _mm512_unpacklo_epi64(b, d);
    w[3] = _mm512_unpackhi_epi64(b, d);
}

/* Within quads, then the quads. */
INLINE void turn_words(__m512i w[16])
{
    __m512i t[16];
    for (int i = 0; i < 16; i += 4)
        turn_quads(w + i);
    for (int i = 0; i < 4; i++) {
        __m512i a = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88),
                b = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88);
        __m512i c = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xdd),
                d = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xdd);
        t[i] = _mm512_shuffle_i32x4(a, b, 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(c, d, 0x88);
        t[i + 8] = _mm512_shuffle_i32x4(a, b, 0xdd);
        t[i + 12] = _mm512_shuffle_i32x4(c, d, 0xdd);
    }
    for (int i = 0; i < 16; i++)
        w[i] = t[i];
}

#endif
