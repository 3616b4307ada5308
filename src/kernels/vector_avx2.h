/* SPDX-License-Identifier: Apache-2.0
 * Eight floats at a time: the thin layer between vector_template.h and AVX2 with FMA. The functions
 * and their contracts are those of vector_avx512.h. */
#ifndef ORTHANT_KERNELS_VECTOR_H
#define ORTHANT_KERNELS_VECTOR_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline, unused))

enum { W = 8 };
#define VECTOR_ISA OA_ISA_AVX2
#define VECTOR_NAME "orthant avx2" /* of its matrix products */
#define TILE_M 4                   /* rows and vectors of C in the innermost loop of a product */
#define TILE_V 3
typedef __m256 v_float;
typedef __m256i v_int;  /* 8 words of 32 bits */
typedef __m256i v_long; /* 4 words of 64 bits */
typedef __m256 v_mask;  /* all bits of a lane set, or none */

/* ---- memory ---- */

INLINE __m256i v_first_int(long lanes)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE v_mask v_first(long lanes)
{
    return _mm256_castsi256_ps(v_first_int(lanes));
}

INLINE v_float v_load(const float *p, long lanes)
{
    return lanes == W ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, v_first_int(lanes));
}

INLINE void v_store(float *p, v_float x, long lanes)
{
    if (lanes == W)
        _mm256_storeu_ps(p, x);
    else
        _mm256_maskstore_ps(p, v_first_int(lanes), x);
}

/* Stores past the caches; p is aligned. v_settle_past() before another thread reads it. */
INLINE void v_store_past(float *p, v_float x)
{
    _mm256_stream_ps(p, x);
}

INLINE void v_settle_past(void)
{
    _mm_sfence();
}

INLINE v_float v_load_bf16(const uint16_t *p, long lanes)
{
    __m128i half;
    if (lanes == W) {
        half = _mm_loadu_si128((const __m128i *)p);
    } else if (lanes == 4) { /* packing for products */
        half = _mm_loadl_epi64((const __m128i *)p);
    } else {
        uint16_t end[W] = { 0 };
        memcpy(end, p, (size_t)lanes * sizeof *p);
        half = _mm_loadu_si128((const __m128i *)end);
    }
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

INLINE void v_store_bf16(uint16_t *p, v_float x, long lanes)
{
    __m256i u = _mm256_castps_si256(x), high = _mm256_srli_epi32(u, 16);
    __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd), 16);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    __m256i word = _mm256_blendv_epi8(rounded, quiet, nan);
    __m128i half =
        _mm_packus_epi32(_mm256_castsi256_si128(word), _mm256_extracti128_si256(word, 1));
    if (lanes == W) {
        _mm_storeu_si128((__m128i *)p, half);
    } else {
        uint16_t end[W];
        _mm_storeu_si128((__m128i *)end, half);
        memcpy(p, end, (size_t)lanes * sizeof *p);
    }
}

/* ---- arithmetic ---- */

INLINE v_float v_set(float x)
{
    return _mm256_set1_ps(x);
}

INLINE v_float v_add(v_float a, v_float b)
{
    return _mm256_add_ps(a, b);
}

INLINE v_float v_sub(v_float a, v_float b)
{
    return _mm256_sub_ps(a, b);
}

INLINE v_float v_mul(v_float a, v_float b)
{
    return _mm256_mul_ps(a, b);
}

INLINE v_float v_div(v_float a, v_float b)
{
    return _mm256_div_ps(a, b);
}

INLINE v_float v_sqrt(v_float a)
{
    return _mm256_sqrt_ps(a);
}

INLINE v_float v_fma(v_float a, v_float b, v_float c)
{
    return _mm256_fmadd_ps(a, b, c);
}

INLINE v_float v_fnma(v_float a, v_float b, v_float c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

INLINE v_float v_max(v_float a, v_float b)
{
    return _mm256_max_ps(a, b);
}

INLINE v_float v_min(v_float a, v_float b)
{
    return _mm256_min_ps(a, b);
}

INLINE v_float v_abs(v_float a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

/* x0 x0 x1 x1 … of the first half. */
INLINE v_float v_doubled(v_float a)
{
    return _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}

INLINE v_float v_swapped(v_float a) /* neighbours */
{
    return _mm256_permute_ps(a, 0xb1);
}

INLINE v_float v_round(v_float a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE v_float v_fraction(v_float a)
{
    return _mm256_sub_ps(a, _mm256_floor_ps(a));
}

/* In two steps, since 2¹²⁸ is not a float. */
INLINE v_float v_times_power2(v_float x, v_float n)
{
    __m256i whole = _mm256_cvttps_epi32(_mm256_floor_ps(_mm256_min_ps(_mm256_set1_ps(128), n)));
    __m256i half = _mm256_srai_epi32(whole, 1), rest = _mm256_sub_epi32(whole, half);
    __m256i bias = _mm256_set1_epi32(127);
    __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    __m256i second = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}

INLINE v_float v_inverse(v_float a)
{
    return _mm256_div_ps(_mm256_set1_ps(1), a);
}

/* ---- masks ---- */

INLINE v_mask v_less(v_float a, v_float b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

INLINE v_mask v_not_less(v_float a, v_float b)
{
    return _mm256_cmp_ps(a, b, _CMP_NLT_UQ);
}

INLINE v_mask v_not_equal(v_float a, v_float b)
{
    return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
}

INLINE v_float v_keep(v_mask m, v_float x)
{
    return _mm256_and_ps(m, x);
}

INLINE v_float v_select(v_mask m, v_float yes, v_float no)
{
    return _mm256_blendv_ps(no, yes, m);
}

INLINE bool v_any(v_mask m)
{
    return _mm256_movemask_ps(m) != 0;
}

/* ---- integers ---- */

INLINE v_int v_to_int(v_float x)
{
    return _mm256_cvtps_epi32(x);
}

INLINE v_int v_add_int(v_int a, int b)
{
    return _mm256_add_epi32(a, _mm256_set1_epi32(b));
}

INLINE v_mask v_has_bit(v_int a, int bit)
{
    __m256i b = _mm256_set1_epi32(bit);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(a, b), b));
}

INLINE v_mask v_at_most(v_int a, uint32_t limit)
{
    __m256i b = _mm256_set1_epi32((int)limit);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(a, b), b));
}

/* ---- transposition ---- */

INLINE void v_quads(v_float x[4])
{
    v_float a = _mm256_unpacklo_ps(x[0], x[1]), b = _mm256_unpackhi_ps(x[0], x[1]);
    v_float c = _mm256_unpacklo_ps(x[2], x[3]), d = _mm256_unpackhi_ps(x[2], x[3]);
    x[0] = _mm256_shuffle_ps(a, c, 0x44);
    x[1] = _mm256_shuffle_ps(a, c, 0xee);
    x[2] = _mm256_shuffle_ps(b, d, 0x44);
    x[3] = _mm256_shuffle_ps(b, d, 0xee);
}

INLINE void v_store_quads(float *p, v_float x, long step, long count)
{
    if (count > 0)
        _mm_storeu_ps(p, _mm256_castps256_ps128(x));
    if (count > 1)
        _mm_storeu_ps(p + step, _mm256_extractf128_ps(x, 1));
}

/* ---- across lanes ---- */

INLINE float v_sum(v_float x)
{
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

INLINE __m128 v_half_sum(v_float x)
{
    return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
}

/* sums[i] += v_sum(x[i]), with the bits of that. */
INLINE void v_add_four_sums(const v_float x[4], float *sums)
{
    __m128 a = v_half_sum(x[0]), b = v_half_sum(x[1]), c = v_half_sum(x[2]), d = v_half_sum(x[3]);
    a = _mm_add_ps(_mm_movelh_ps(a, b), _mm_movehl_ps(b, a));
    c = _mm_add_ps(_mm_movelh_ps(c, d), _mm_movehl_ps(d, c));
    a = _mm_add_ps(_mm_shuffle_ps(a, c, 0x88), _mm_shuffle_ps(a, c, 0xdd));
    _mm_storeu_ps(sums, _mm_add_ps(_mm_loadu_ps(sums), a));
}

INLINE float v_largest(v_float x)
{
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}

/* ---- sums in double ---- */

struct v_double {
    __m256d low, high;
};

INLINE struct v_double v_double_zero(void)
{
    return (struct v_double){ _mm256_setzero_pd(), _mm256_setzero_pd() };
}

INLINE struct v_double v_double_fma(v_float x, v_float y, struct v_double sum)
{
    __m256d x0 = _mm256_cvtps_pd(_mm256_castps256_ps128(x)),
            x1 = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
    __m256d y0 = _mm256_cvtps_pd(_mm256_castps256_ps128(y)),
            y1 = _mm256_cvtps_pd(_mm256_extractf128_ps(y, 1));
    return (struct v_double){ _mm256_fmadd_pd(x0, y0, sum.low), _mm256_fmadd_pd(x1, y1, sum.high) };
}

INLINE double v_double_sum(struct v_double x)
{
    __m256d b = _mm256_add_pd(x.low, x.high);
    __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
    return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
}

/* ---- words of 64 bits, for random numbers ---- */

INLINE v_long v_set_long(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

INLINE v_long v_block_numbers(uint64_t first)
{
    return _mm256_add_epi64(v_set_long(first), _mm256_setr_epi64x(0, 2, 1, 3));
}

INLINE v_long v_multiply_low(v_long a, v_long b)
{
    return _mm256_mul_epu32(a, b);
}

INLINE v_long v_high_half(v_long a)
{
    return _mm256_srli_epi64(a, 32);
}

INLINE v_long v_xor3(v_long a, v_long b, v_long c)
{
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

INLINE v_long v_joined(v_long low, v_long high)
{
    return _mm256_blend_epi32(low, _mm256_slli_epi64(high, 32), 0xaa);
}

INLINE void v_words(v_long c0, v_long c1, v_long c2, v_long c3, v_int out[2])
{
    __m256i first = v_joined(c0, c1), second = v_joined(c2, c3);
    out[0] = _mm256_unpacklo_epi64(first, second);
    out[1] = _mm256_unpackhi_epi64(first, second);
}

typedef __m256d v_real;
typedef uint64_t v_bits __attribute__((vector_size(32)));

INLINE v_real v_root(v_real x)
{
    return _mm256_sqrt_pd(x);
}

INLINE v_real v_pick(const double *table, v_bits index)
{
    return _mm256_i64gather_pd(table, (__m256i)index, 8);
}

INLINE v_float v_narrowed_pairs(v_real even, v_real odd)
{
    __m128 low = _mm256_cvtpd_ps(_mm256_unpacklo_pd(even, odd)),
           high = _mm256_cvtpd_ps(_mm256_unpackhi_pd(even, odd));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

#endif
