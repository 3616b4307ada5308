/* SPDX-License-Identifier: Apache-2.0
 * GELU and its derivative in bf16 by look-up: there are 65,536 numbers, and what the vector version
 * makes of each of them is kept, so that the bits are the same. Only on processors with AMX: there
 * a gather of 16 numbers was measured to take half of the time of computing them; on others it may
 * take longer. */
#include "kernels/kernels.h"
#include "kernels/vector_avx512.h"

#include <pthread.h>

enum { NUMBERS = 1 << 16 };

static uint16_t value[NUMBERS + 1]; /* the last is read with the one before it, and not used */
static float slope[NUMBERS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The derivative is that of the version for floats: the same operations, before dy is multiplied
 * and all is rounded. */
static void fill_gelu_tables(void)
{
    enum { RUN = 256 };
    static float x[RUN], ones[RUN];
    static uint16_t number[RUN];
    struct oa_kernels act = { .precision = OA_PRECISION_BF16 },
                      real = { .precision = OA_PRECISION_F32 };
    oa_kernels_avx512bf16(&act);
    oa_kernels_avx512(&real);
    for (int first = 0; first < NUMBERS; first += RUN) {
        for (int i = 0; i < RUN; i++) {
            number[i] = (uint16_t)(first + i);
            x[i] = oa_bf16_to_float(number[i]);
            ones[i] = 1;
        }
        act.gelu(RUN, number, value + first);
        real.gelu_gradient(RUN, x, ones, slope + first);
    }
}

INLINE __m512i load_indices(const uint16_t *x, long lanes)
{
    return _mm512_cvtepu16_epi32(lanes == W ? _mm256_loadu_si256((const __m256i *)x)
                                            : _mm256_maskz_loadu_epi16(v_first(lanes), x));
}

INLINE void gelu_table_lanes(const uint16_t *x, uint16_t *y, long lanes)
{
    __m256i found =
        _mm512_cvtepi32_epi16(_mm512_i32gather_epi32(load_indices(x, lanes), value, sizeof *value));
    if (lanes == W)
        _mm256_storeu_si256((__m256i *)y, found);
    else
        _mm256_mask_storeu_epi16(y, v_first(lanes), found);
}

static void gelu_by_table(long n, const void *x, void *y)
{
    const uint16_t *from = x;
    uint16_t *to = y;
    long i = 0;
    for (; i + W <= n; i += W)
        gelu_table_lanes(from + i, to + i, W);
    if (i < n)
        gelu_table_lanes(from + i, to + i, n - i);
}

INLINE void gelu_gradient_table_lanes(const uint16_t *x, const uint16_t *dy, uint16_t *dx,
                                      long lanes)
{
    v_float s = _mm512_i32gather_ps(load_indices(x, lanes), slope, sizeof *slope);
    v_store_bf16(dx, v_mul(v_load_bf16(dy, lanes), s), lanes);
}

static void gelu_gradient_by_table(long n, const void *x, const void *dy, void *dx)
{
    const uint16_t *from = x, *gradient = dy;
    uint16_t *to = dx;
    long i = 0;
    for (; i + W <= n; i += W)
        gelu_gradient_table_lanes(from + i, gradient + i, to + i, W);
    if (i < n)
        gelu_gradient_table_lanes(from + i, gradient + i, to + i, n - i);
}

void oa_kernels_gelu_amx(struct oa_kernels *k)
{
    if (k->precision != OA_PRECISION_BF16)
        return;
    pthread_once(&once, fill_gelu_tables);
    k->gelu = gelu_by_table;
    k->gelu_gradient = gelu_gradient_by_table;
}
