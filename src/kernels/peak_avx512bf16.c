/* SPDX-License-Identifier: Apache-2.0
 * The bf16 peak of AVX512_BF16: twelve chains of VDPBF16PS, each two multiply-adds for every one of
 * sixteen floats. */
#include "kernels/kernel_bench.h"
#include "kernels/peak_numbers.h"

#include <immintrin.h>

float oa_peak_avx512bf16(long rounds, float x)
{
    float numbers[64], turned[32];
    __m512 chain[PEAK_CHAINS];
    fill_peak_numbers(numbers, 64);
    for (int i = 0; i < 32; i++)
        turned[i] = -numbers[i];
    /* Alternately added and subtracted, so that the sums do not grow. */
    __m512bh a = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(numbers), _mm512_loadu_ps(numbers + 16));
    __m512bh minus = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(turned), _mm512_loadu_ps(turned + 16));
    __m512bh b = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(numbers + 32), _mm512_loadu_ps(numbers + 48));
    for (int i = 0; i < PEAK_CHAINS; i++)
        chain[i] = _mm512_set1_ps((float)i + x);
    for (long r = 0; r < rounds; r += 2) {
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = _mm512_dpbf16_ps(chain[i], a, b);
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = _mm512_dpbf16_ps(chain[i], minus, b);
    }
    for (int i = 1; i < PEAK_CHAINS; i++)
        chain[0] = _mm512_add_ps(chain[0], chain[i]);
    return _mm512_cvtss_f32(chain[0]);
}
