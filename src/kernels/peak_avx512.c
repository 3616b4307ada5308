/* SPDX-License-Identifier: Apache-2.0
 * The peaks of AVX-512 (peak_vectors.h). */
#include "kernels/vector_avx512.h"

#define READ_WORDS 64
#define copy_vector(from, to)                                                                      \
    _mm512_stream_si512((void *)(to), _mm512_load_si512((const void *)(from)))

#include "kernels/peak_vectors.h"

float oa_peak_avx512(long rounds, float x)
{
    return run_multiply_adds(rounds, x);
}

uint64_t oa_read_avx512(const char *from, size_t bytes, struct oa_read_way way)
{
    return read_words(from, bytes, way);
}

void oa_copy_past_caches_avx512(const char *from, char *to, size_t bytes)
{
    copy_past_caches(from, to, bytes);
}
