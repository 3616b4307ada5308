/* SPDX-License-Identifier: Apache-2.0
 *
 * The f32 peak of AVX-512: twelve chains of fused multiply-adds in registers, enough to hide their latency; and memory
 * read by its vectors.
 */
#define READ_WORDS 64
#include "kernels/peak_read.h"

#include <immintrin.h>

float oa_peak_avx512(long rounds, float x)
{
    __m512 chain[PEAK_CHAINS], half = _mm512_set1_ps(x), one = _mm512_set1_ps(2 * x);
    for (int i = 0; i < PEAK_CHAINS; i++)
        chain[i] = _mm512_set1_ps((float)i);
    for (long r = 0; r < rounds; r++)
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = _mm512_fmadd_ps(chain[i], half, one);
    for (int i = 1; i < PEAK_CHAINS; i++)
        chain[0] = _mm512_add_ps(chain[0], chain[i]);
    return _mm512_cvtss_f32(chain[0]);
}

uint64_t oa_read_avx512(const char *from, size_t bytes, struct oa_read_way way)
{
    return read_words(from, bytes, way);
}
