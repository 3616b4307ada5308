/* SPDX-License-Identifier: Apache-2.0
 *
 * The bf16 peak of AVX512_BF16: twelve chains of VDPBF16PS, each two multiply-adds for every one of sixteen floats.
 */
#include "kernels/kernel_bench.h"

#include <immintrin.h>

float oa_peak_avx512bf16(long rounds, float x)
{
    __m512 chain[PEAK_CHAINS];
    __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(x), _mm512_set1_ps(x)), b = a;
    for (int i = 0; i < PEAK_CHAINS; i++)
        chain[i] = _mm512_set1_ps((float)i);
    for (long r = 0; r < rounds; r++)
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = _mm512_dpbf16_ps(chain[i], a, b);
    for (int i = 1; i < PEAK_CHAINS; i++)
        chain[0] = _mm512_add_ps(chain[0], chain[i]);
    return _mm512_cvtss_f32(chain[0]);
}
