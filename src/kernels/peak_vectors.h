/* SPDX-License-Identifier: Apache-2.0
 * The f32 peak of the vectors of an instruction set, and memory read and copied by them. Included
 * after the layer (vector_avx2.h, vector_avx512.h) and after
 *
 *     READ_WORDS              bytes of a vector
 *     copy_vector(from, to)   copies one, aligned, past the caches
 */
#include "kernels/peak_numbers.h"
#include "kernels/peak_read.h"

/* PEAK_CHAINS chains of fused multiply-adds in registers, enough to hide their latency. Two
 * alternating factors have the product −1: the numbers change with every step, and neither grow nor
 * converge. */
static float run_multiply_adds(long rounds, float x)
{
    float numbers[W * (PEAK_CHAINS + 1)], inverse[W];
    v_float chain[PEAK_CHAINS], one = v_set(2 * x);
    fill_peak_numbers(numbers, W * (PEAK_CHAINS + 1));
    for (int i = 0; i < W; i++)
        inverse[i] = -1 / numbers[i];
    v_float factor = v_load(numbers, W), other = v_load(inverse, W);
    for (int i = 0; i < PEAK_CHAINS; i++)
        chain[i] = v_load(numbers + W * (i + 1), W);
    for (long r = 0; r < rounds; r += 2) {
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = v_fma(chain[i], factor, one);
        for (int i = 0; i < PEAK_CHAINS; i++)
            chain[i] = v_fma(chain[i], other, one);
    }
    for (int i = 1; i < PEAK_CHAINS; i++)
        chain[0] = v_add(chain[0], chain[i]);
    return v_sum(chain[0]);
}

static void copy_past_caches(const char *from, char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += READ_WORDS) {
        __builtin_prefetch(from + i + COPY_AHEAD);
        copy_vector(from + i, to + i);
    }
    _mm_sfence();
}
