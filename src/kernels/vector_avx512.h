/* SPDX-License-Identifier: Apache-2.0
 * Sixteen floats at a time: the thin layer between vector_template.h and AVX-512 (F, BW, DQ, VL).
 * vector_avx2.h is the same with eight. Loads and stores take the number of lanes: W everywhere but
 * at the end of a row; lanes beyond it are read as zeros and not written. Sums across lanes have a
 * fixed order. */
#ifndef ORTHANT_KERNELS_VECTOR_H
#define ORTHANT_KERNELS_VECTOR_H

#include "kernels/turn_avx512.h"

#include <stdbool.h>
#include <stdint.h>

enum { W = 16 };
#define VECTOR_ISA OA_ISA_AVX512
#define VECTOR_NAME "orthant avx512"
#define VECTOR_TILES /* bf16: with what attention on tiles needs (vector_attention.h) */
#define TILE_M 12
#define TILE_V 2
typedef __m512 v_float;
typedef __m512i v_int;  /* 16 words of 32 bits */
typedef __m512i v_long; /* 8 words of 64 bits */
typedef __mmask16 v_mask;

/* ---- memory ---- */

INLINE v_mask v_first(long lanes)
{
    return (v_mask)((1u << lanes) - 1);
}

INLINE v_float v_load(const float *p, long lanes)
{
    return lanes == W ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(v_first(lanes), p);
}

INLINE void v_store(float *p, v_float x, long lanes)
{
    if (lanes == W)
        _mm512_storeu_ps(p, x);
    else
        _mm512_mask_storeu_ps(p, v_first(lanes), x);
}

/* Stores past the caches; p is aligned. v_settle_past() before another thread reads it. */
INLINE void v_store_past(float *p, v_float x)
{
    _mm512_stream_ps(p, x);
}

INLINE void v_settle_past(void)
{
    _mm_sfence();
}

INLINE v_float v_load_bf16(const uint16_t *p, long lanes)
{
    __m256i half = lanes == W ? _mm256_loadu_si256((const __m256i *)p)
                              : _mm256_maskz_loadu_epi16(v_first(lanes), p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/* Bit for bit oa_float_to_bf16. */
INLINE __m256i v_round_bf16(v_float x)
{
    __m512i u = _mm512_castps_si512(x), high = _mm512_srli_epi32(u, 16);
    __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    __m512i rounded = _mm512_srli_epi32(
        _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd), 16);
    v_mask nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40)));
}

INLINE void v_store_bf16(uint16_t *p, v_float x, long lanes)
{
#ifdef __AVX512BF16__
    /* One instruction, but it treats denormals as 0: vectors with denormals use several. */
    bool denormals = _mm512_fpclass_ps_mask(x, 0x20) != 0;
    __m256i half =
        __builtin_expect(denormals, 0) ? v_round_bf16(x) : (__m256i)_mm512_cvtneps_pbh(x);
#else
    __m256i half = v_round_bf16(x);
#endif
    if (lanes == W)
        _mm256_storeu_si256((__m256i *)p, half);
    else
        _mm256_mask_storeu_epi16(p, v_first(lanes), half);
}

typedef __m512i v_row; /* 32 numbers in bf16 */

INLINE v_row v_load_row(const uint16_t *p, long lanes)
{
    return _mm512_maskz_loadu_epi16((__mmask32)((1ull << lanes) - 1), p);
}

INLINE void v_row_floats(v_row x, v_float out[2])
{
    for (int half = 0; half < 2; half++) {
        __m512i wide = _mm512_cvtepu16_epi32(half ? _mm512_extracti64x4_epi64(x, 1)
                                                  : _mm512_castsi512_si256(x));
        out[half] = _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
    }
}

/* Column j of 16 rows in out[j]. */
INLINE void v_turned_rows(v_row x[16], v_float out[32])
{
    turn_words(x);
    for (int j = 0; j < 16; j++) {
        out[2 * j] = _mm512_castsi512_ps(_mm512_slli_epi32(x[j], 16));
        out[2 * j + 1] =
            _mm512_castsi512_ps(_mm512_and_si512(x[j], _mm512_set1_epi32((int)0xffff0000u)));
    }
}

/* Numbers index[0] … index[15] of 32. */
INLINE v_float v_pick_float(const v_float x[2], const int32_t *index)
{
    return _mm512_permutex2var_ps(x[0], _mm512_loadu_si512(index), x[1]);
}

/* The smallest |x| that is not 0; infinity if all are 0. NaN may be ignored. */
INLINE float v_least_size(v_float x)
{
    v_float size = _mm512_abs_ps(x);
    v_mask some = _mm512_cmp_ps_mask(size, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    return _mm512_mask_reduce_min_ps(some, size);
}

#ifdef __AVX512BF16__
typedef __m512bh v_pairs; /* 32 numbers */

INLINE v_pairs v_load_pairs(const uint16_t *p, long lanes)
{
    __mmask32 first = (__mmask32)((1ull << lanes) - 1);
    return (v_pairs)(lanes == 2 * W ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi16(first, p));
}

/* a[2i]·b[2i] + a[2i+1]·b[2i+1] + c[i]; denormals are 0. */
INLINE v_float v_fma_pairs(v_pairs a, v_pairs b, v_float c)
{
    return _mm512_dpbf16_ps(c, a, b);
}
#endif

/* 32 numbers; denormals may become 0. */
INLINE __m512i v_two_bf16(v_float left, v_float right)
{
#ifdef __AVX512BF16__
    return (__m512i)_mm512_cvtne2ps_pbh(right, left);
#else
    return _mm512_inserti64x4(_mm512_castsi256_si512(v_round_bf16(left)), v_round_bf16(right), 1);
#endif
}

INLINE void v_store_two_bf16(uint16_t *p, v_float left, v_float right)
{
    _mm512_storeu_si512(p, v_two_bf16(left, right));
}

/* 32 pairs, even[…] before odd[…]; and both rows of 32 as they are, one after the other, where
 * `rows` is not NULL. */
INLINE void v_store_pairs_bf16(uint16_t *p, const v_float even[2], const v_float odd[2],
                               uint16_t *rows, long next)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    for (int i = 0; i < 2; i++) {
        __m512i x = v_two_bf16(even[i], odd[i]);
        _mm512_storeu_si512(p + 32 * i, _mm512_permutexvar_epi16(order, x));
        if (rows) {
            _mm256_storeu_si256((__m256i *)(rows + 16 * i), _mm512_castsi512_si256(x));
            _mm256_storeu_si256((__m256i *)(rows + 16 * i + next), _mm512_extracti64x4_epi64(x, 1));
        }
    }
}

/* ---- arithmetic ---- */

INLINE v_float v_set(float x)
{
    return _mm512_set1_ps(x);
}

INLINE v_float v_add(v_float a, v_float b)
{
    return _mm512_add_ps(a, b);
}

INLINE v_float v_sub(v_float a, v_float b)
{
    return _mm512_sub_ps(a, b);
}

INLINE v_float v_mul(v_float a, v_float b)
{
    return _mm512_mul_ps(a, b);
}

INLINE v_float v_div(v_float a, v_float b)
{
    return _mm512_div_ps(a, b);
}

INLINE v_float v_sqrt(v_float a)
{
    return _mm512_sqrt_ps(a);
}

INLINE v_float v_fma(v_float a, v_float b, v_float c) /* a·b + c */
{
    return _mm512_fmadd_ps(a, b, c);
}

INLINE v_float v_fnma(v_float a, v_float b, v_float c) /* c − a·b */
{
    return _mm512_fnmadd_ps(a, b, c);
}

/* When one operand is NaN, max and min give b. */
INLINE v_float v_max(v_float a, v_float b)
{
    return _mm512_max_ps(a, b);
}

INLINE v_float v_min(v_float a, v_float b)
{
    return _mm512_min_ps(a, b);
}

INLINE v_float v_abs(v_float a)
{
    return _mm512_abs_ps(a);
}

/* x0 x0 x1 x1 … of the first half. */
INLINE v_float v_doubled(v_float a)
{
    const __m512i order = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(order, a);
}

INLINE v_float v_swapped(v_float a) /* neighbours */
{
    return _mm512_permute_ps(a, 0xb1);
}

INLINE v_float v_round(v_float a) /* to the nearest integer */
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE v_float v_fraction(v_float a) /* a − ⌊a⌋ */
{
    return _mm512_reduce_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

INLINE v_float v_times_power2(v_float x, v_float n) /* x·2^⌊n⌋ where −126 ≤ n */
{
    return _mm512_scalef_ps(x, n);
}

INLINE v_float v_inverse(v_float a) /* 1/a to an ulp or two for 1 ≤ a < 2¹²⁶ */
{
    v_float y = _mm512_rcp14_ps(a);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(a, y, _mm512_set1_ps(1)), y, y);
}

/* ---- masks ---- */

INLINE v_mask v_less(v_float a, v_float b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

INLINE v_mask v_not_less(v_float a, v_float b) /* true also for NaN */
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ);
}

INLINE v_mask v_not_equal(v_float a, v_float b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}

/* Lanes begin ≤ i < end, where both may be out of range. */
INLINE v_mask v_between(long begin, long end)
{
    uint32_t above = begin >= W ? 0 : begin <= 0 ? 0xffffu : 0xffffu << begin;
    return (v_mask)(above & (end >= W ? 0xffffu : end <= 0 ? 0 : (1u << end) - 1));
}

INLINE v_float v_keep(v_mask m, v_float x) /* m ? x : 0 */
{
    return _mm512_maskz_mov_ps(m, x);
}

INLINE v_float v_select(v_mask m, v_float yes, v_float no)
{
    return _mm512_mask_mov_ps(no, m, yes);
}

INLINE bool v_any(v_mask m)
{
    return m != 0;
}

/* ---- integers ---- */

INLINE v_int v_to_int(v_float x) /* nearest */
{
    return _mm512_cvtps_epi32(x);
}

INLINE v_int v_add_int(v_int a, int b)
{
    return _mm512_add_epi32(a, _mm512_set1_epi32(b));
}

INLINE v_mask v_has_bit(v_int a, int bit)
{
    return _mm512_test_epi32_mask(a, _mm512_set1_epi32(bit));
}

INLINE v_mask v_at_most(v_int a, uint32_t limit) /* unsigned */
{
    return _mm512_cmple_epu32_mask(a, _mm512_set1_epi32((int)limit));
}

/* ---- transposition ---- */

INLINE void v_quads(v_float x[4])
{
    __m512i w[4];
    for (int i = 0; i < 4; i++)
        w[i] = _mm512_castps_si512(x[i]);
    turn_quads(w);
    for (int i = 0; i < 4; i++)
        x[i] = _mm512_castsi512_ps(w[i]);
}

INLINE void v_turned(v_float x[16])
{
    __m512i w[16];
    for (int i = 0; i < 16; i++)
        w[i] = _mm512_castps_si512(x[i]);
    turn_words(w);
    for (int i = 0; i < 16; i++)
        x[i] = _mm512_castsi512_ps(w[i]);
}
#define v_turn v_turned

/* Stores the first `count` groups of 128 bits at p, p + step, … */
INLINE void v_store_quads(float *p, v_float x, long step, long count)
{
    if (count > 0)
        _mm_storeu_ps(p, _mm512_castps512_ps128(x));
    if (count > 1)
        _mm_storeu_ps(p + step, _mm512_extractf32x4_ps(x, 1));
    if (count > 2)
        _mm_storeu_ps(p + 2 * step, _mm512_extractf32x4_ps(x, 2));
    if (count > 3)
        _mm_storeu_ps(p + 3 * step, _mm512_extractf32x4_ps(x, 3));
}

/* ---- across lanes ---- */

INLINE float v_sum(v_float x)
{
    __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

/* sums[i] += v_sum(x[i]), with the bits of that. */
INLINE void v_add_four_sums(const v_float x[4], float *sums)
{
    v_float a = _mm512_add_ps(_mm512_mask_blend_ps(0xff00, x[0], x[1]),
                              _mm512_shuffle_f32x4(x[0], x[1], 0x4e));
    v_float b = _mm512_add_ps(_mm512_mask_blend_ps(0xff00, x[2], x[3]),
                              _mm512_shuffle_f32x4(x[2], x[3], 0x4e));
    v_float c = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
    c = _mm512_add_ps(c, _mm512_permute_ps(c, 0x4e));
    c = _mm512_add_ps(c, _mm512_permute_ps(c, 0xb1));
    __m128 each = _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, c));
    _mm_storeu_ps(sums, _mm_add_ps(_mm_loadu_ps(sums), each));
}

INLINE float v_largest(v_float x) /* no NaN in x */
{
    __m256 a = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}

/* ---- sums in double ---- */

struct v_double {
    __m512d low, high;
};

INLINE struct v_double v_double_zero(void)
{
    return (struct v_double){ _mm512_setzero_pd(), _mm512_setzero_pd() };
}

INLINE struct v_double v_double_fma(v_float x, v_float y, struct v_double sum)
{
    __m512d x0 = _mm512_cvtps_pd(_mm512_castps512_ps256(x)),
            x1 = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
    __m512d y0 = _mm512_cvtps_pd(_mm512_castps512_ps256(y)),
            y1 = _mm512_cvtps_pd(_mm512_extractf32x8_ps(y, 1));
    return (struct v_double){ _mm512_fmadd_pd(x0, y0, sum.low), _mm512_fmadd_pd(x1, y1, sum.high) };
}

INLINE double v_double_sum(struct v_double x)
{
    __m512d a = _mm512_add_pd(x.low, x.high);
    __m256d b = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
    return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
}

/* ---- words of 64 bits, for random numbers ---- */

INLINE v_long v_set_long(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

/* first + the order of the blocks of v_words. */
INLINE v_long v_block_numbers(uint64_t first)
{
    return _mm512_add_epi64(v_set_long(first), _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
}

INLINE v_long v_multiply_low(v_long a, v_long b) /* the product of the lower halves, 64 bits */
{
    return _mm512_mul_epu32(a, b);
}

INLINE v_long v_high_half(v_long a)
{
    return _mm512_srli_epi64(a, 32);
}

INLINE v_long v_xor3(v_long a, v_long b, v_long c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

/* The lower halves of both: 64 bits. */
INLINE v_long v_joined(v_long low, v_long high)
{
    return _mm512_mask_blend_epi32(0xaaaa, low, _mm512_slli_epi64(high, 32));
}

/* Words c0 … c3 of W/2 blocks (lower halves) → 2W words in the order of the stream. */
INLINE void v_words(v_long c0, v_long c1, v_long c2, v_long c3, v_int out[2])
{
    __m512i first = v_joined(c0, c1), second = v_joined(c2, c3);
    out[0] = _mm512_unpacklo_epi64(first, second);
    out[1] = _mm512_unpackhi_epi64(first, second);
}

/* ---- doubles for normal_lanes.h, one a block, in the order of v_block_numbers ---- */

typedef __m512d v_real;
typedef uint64_t v_bits __attribute__((vector_size(64)));

INLINE v_real v_root(v_real x)
{
    return _mm512_sqrt_pd(x);
}

INLINE v_real v_pick(const double *table, v_bits index)
{
    return _mm512_i64gather_pd((__m512i)index, table, 8);
}

/* Two numbers of each block → W floats in the order of the stream. */
INLINE v_float v_narrowed_pairs(v_real even, v_real odd)
{
    __m256 low = _mm512_cvtpd_ps(_mm512_unpacklo_pd(even, odd)),
           high = _mm512_cvtpd_ps(_mm512_unpackhi_pd(even, odd));
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

#endif
