/* SPDX-License-Identifier: Apache-2.0
 *
 * The f32 peak of AVX-512: twelve chains of fused multiply-adds in registers, enough to hide their
 * latency; and memory read and copied by its vectors.
 */
#define READ_WORDS 64
#include "kernels/peak_numbers.h"
#include "kernels/peak_read.h"

#include <immintrin.h>

/* Two factors in turn whose product is −1: the numbers change with every multiply-add, and neither
 * grow nor settle. */
float oa_peak_avx512(long rounds, float x)
{
    float numbers[16 * (PEAK_CHAINS + 1)], inverse[16];
    __m512 chain[PEAK_CHAINS], one = _mm512_set1_ps(2 * x);
    fill_peak_numbers(numbers, 16 * (PEAK_CHAINS + 1));
    for (int i = 0; i < 16; i++)
        inverse[i] = -1 / numbers[i];
    __m512 factor = _mm512_loadu_ps(numbers), other = _mm512_loadu_ps(inverse);
    for (int i = 0; i < PEAK_CHAINS; i++)
        chain[i] = _mm512_loadu_ps(numbers + 16 * (i + 1));
    for (long r = 0; r < rounds; r += 2) {
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = _mm512_fmadd_ps(chain[i], factor, one);
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = _mm512_fmadd_ps(chain[i], other, one);
    }
    for (int i = 1; i < PEAK_CHAINS; i++)
        chain[0] = _mm512_add_ps(chain[0], chain[i]);
    return _mm512_cvtss_f32(chain[0]);
}

uint64_t oa_read_avx512(const char *from, size_t bytes, struct oa_read_way way)
{
    return read_words(from, bytes, way);
}

void oa_copy_past_caches_avx512(const char *from, char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch(from + i + COPY_AHEAD);
        _mm512_stream_si512((void *)(to + i), _mm512_load_si512((const void *)(from + i)));
    }
    _mm_sfence();
}
