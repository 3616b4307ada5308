/* SPDX-License-Identifier: Apache-2.0
 *
 * The f32 peak of AVX2: twelve chains of fused multiply-adds in registers, enough to hide their
 * latency; and memory read and copied by its vectors.
 */
#define READ_WORDS 32
#include "kernels/peak_numbers.h"
#include "kernels/peak_read.h"

#include <immintrin.h>

/* Two factors in turn whose product is −1: the numbers change with every multiply-add, and neither
 * grow nor settle. */
float oa_peak_avx2(long rounds, float x)
{
    float numbers[8 * (PEAK_CHAINS + 1)], inverse[8];
    __m256 chain[PEAK_CHAINS], one = _mm256_set1_ps(2 * x);
    fill_peak_numbers(numbers, 8 * (PEAK_CHAINS + 1));
    for (int i = 0; i < 8; i++)
        inverse[i] = -1 / numbers[i];
    __m256 factor = _mm256_loadu_ps(numbers), other = _mm256_loadu_ps(inverse);
    for (int i = 0; i < PEAK_CHAINS; i++)
        chain[i] = _mm256_loadu_ps(numbers + 8 * (i + 1));
    for (long r = 0; r < rounds; r += 2) {
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = _mm256_fmadd_ps(chain[i], factor, one);
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = _mm256_fmadd_ps(chain[i], other, one);
    }
    for (int i = 1; i < PEAK_CHAINS; i++)
        chain[0] = _mm256_add_ps(chain[0], chain[i]);
    return _mm256_cvtss_f32(chain[0]);
}

uint64_t oa_read_avx2(const char *from, size_t bytes, struct oa_read_way way)
{
    return read_words(from, bytes, way);
}

void oa_copy_past_caches_avx2(const char *from, char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 32) {
        __builtin_prefetch(from + i + COPY_AHEAD);
        _mm256_stream_si256((void *)(to + i), _mm256_load_si256((const void *)(from + i)));
    }
    _mm_sfence();
}
