/* SPDX-License-Identifier: Apache-2.0
 * GELU, SiLU and their derivatives in bf16 by look-up: a table has the results of the vector
 * version for all 65,536 numbers, so that the bits are the same. Only on processors with AMX: there
 * a gather of 16 numbers was measured to take half of the time of computing GELU; on others it may
 * take longer. */
#include "kernels/kernels.h"
#include "kernels/vector_avx512.h"

#include <pthread.h>

enum { NUMBERS = 1 << 16 };

struct activation_table {
    uint16_t
        value[NUMBERS + 1]; /* the last one is read together with the one before it, and not used */
    float slope[NUMBERS];
};
static struct activation_table gelu_table, silu_table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

typedef void table_function(long n, const void *x, void *y);
typedef void table_derivative(long n, const void *x, const void *dy, void *dx);

/* The derivative is that of the version for floats: the same operations, before dy is multiplied
 * and all is rounded. */
static void fill_activation_table(struct activation_table *t, table_function *act,
                                  table_derivative *real)
{
    enum { RUN = 256 };
    static float x[RUN], ones[RUN];
    static uint16_t number[RUN];
    for (int first = 0; first < NUMBERS; first += RUN) {
        for (int i = 0; i < RUN; i++) {
            number[i] = (uint16_t)(first + i);
            x[i] = oa_bf16_to_float(number[i]);
            ones[i] = 1;
        }
        act(RUN, number, t->value + first);
        real(RUN, x, ones, t->slope + first);
    }
}

static void fill_activation_tables(void)
{
    struct oa_kernels act = { .precision = OA_PRECISION_BF16 },
                      real = { .precision = OA_PRECISION_F32 };
    oa_kernels_avx512bf16(&act);
    oa_kernels_avx512(&real);
    fill_activation_table(&gelu_table, act.gelu, real.gelu_gradient);
    fill_activation_table(&silu_table, act.silu, real.silu_gradient);
}

enum {
    AHEAD = 1024
}; /* prefetch distance in numbers: gathers leave the hardware prefetcher no room */

INLINE __m512i load_indices(const uint16_t *x, long lanes)
{
    return _mm512_cvtepu16_epi32(lanes == W ? _mm256_loadu_si256((const __m256i *)x)
                                            : _mm256_maskz_loadu_epi16(v_first(lanes), x));
}

INLINE void table_value_lanes(const struct activation_table *t, const uint16_t *x, uint16_t *y,
                              long lanes)
{
    __m256i found = _mm512_cvtepi32_epi16(
        _mm512_i32gather_epi32(load_indices(x, lanes), t->value, sizeof *t->value));
    if (lanes == W)
        _mm256_storeu_si256((__m256i *)y, found);
    else
        _mm256_mask_storeu_epi16(y, v_first(lanes), found);
}

INLINE void value_by_table(const struct activation_table *t, long n, const uint16_t *x, uint16_t *y)
{
    long i = 0;
    for (; i + W <= n; i += W) {
        __builtin_prefetch(x + i + AHEAD);
        table_value_lanes(t, x + i, y + i, W);
    }
    if (i < n)
        table_value_lanes(t, x + i, y + i, n - i);
}

INLINE void table_gradient_lanes(const struct activation_table *t, const uint16_t *x,
                                 const uint16_t *dy, uint16_t *dx, long lanes)
{
    v_float s = _mm512_i32gather_ps(load_indices(x, lanes), t->slope, sizeof *t->slope);
    v_store_bf16(dx, v_mul(v_load_bf16(dy, lanes), s), lanes);
}

INLINE void gradient_by_table(const struct activation_table *t, long n, const uint16_t *x,
                              const uint16_t *dy, uint16_t *dx)
{
    long i = 0;
    for (; i + W <= n; i += W) {
        __builtin_prefetch(x + i + AHEAD);
        __builtin_prefetch(dy + i + AHEAD);
        table_gradient_lanes(t, x + i, dy + i, dx + i, W);
    }
    if (i < n)
        table_gradient_lanes(t, x + i, dy + i, dx + i, n - i);
}

static void gelu_by_table(long n, const void *x, void *y)
{
    value_by_table(&gelu_table, n, x, y);
}

static void gelu_gradient_by_table(long n, const void *x, const void *dy, void *dx)
{
    gradient_by_table(&gelu_table, n, x, dy, dx);
}

static void silu_by_table(long n, const void *x, void *y)
{
    value_by_table(&silu_table, n, x, y);
}

static void silu_gradient_by_table(long n, const void *x, const void *dy, void *dx)
{
    gradient_by_table(&silu_table, n, x, dy, dx);
}

void oa_kernels_gelu_amx(struct oa_kernels *k)
{
    if (k->precision != OA_PRECISION_BF16)
        return;
    pthread_once(&once, fill_activation_tables);
    k->gelu = gelu_by_table;
    k->gelu_gradient = gelu_gradient_by_table;
    k->silu = silu_by_table;
    k->silu_gradient = silu_gradient_by_table;
}
