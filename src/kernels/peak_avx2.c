/* SPDX-License-Identifier: Apache-2.0
 * The peaks of AVX2 (peak_vectors.h). */
#include "kernels/vector_avx2.h"

#define READ_WORDS 32
#define copy_vector(from, to)                                                                      \
    _mm256_stream_si256((void *)(to), _mm256_load_si256((const void *)(from)))

#include "kernels/peak_vectors.h"

float oa_peak_avx2(long rounds, float x)
{
    return run_multiply_adds(rounds, x);
}

uint64_t oa_read_avx2(const char *from, size_t bytes, struct oa_read_way way)
{
    return read_words(from, bytes, way);
}

void oa_copy_past_caches_avx2(const char *from, char *to, size_t bytes)
{
    copy_past_caches(from, to, bytes);
}
