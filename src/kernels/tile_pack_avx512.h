/* SPDX-License-Identifier: Apache-2.0
 * Around the products of tile_product.h, by vectors of AVX-512: operands are packed into panels,
 * and sums are stored in C. */
#include "kernels/tile_finish.h"
#include "kernels/turn_avx512.h"

#include <stdbool.h>
#include <stdint.h>

#define TILE_INLINE INLINE
#define fetch(address) _mm_prefetch((address), _MM_HINT_T1)
#define fetch_to_write(address) __asm__ volatile("prefetchw %0" ::"m"(*(const char *)(address)))

/* ---- packing ---- */

INLINE __mmask32 first32(long n)
{
    return n >= 32 ? 0xffffffffu : n <= 0 ? 0 : (1u << n) - 1;
}

INLINE void put_tile(__m512i w[16], bool turned, char *out)
{
    if (turned)
        turn_words(w);
    for (int i = 0; i < 16; i++)
        _mm512_store_si512(out + 64 * i, w[i]);
}

enum { AHEAD = 128 }; /* numbers along k that are fetched ahead: four steps */

INLINE void pack_along_masked(long width, __mmask32 mask, const uint16_t *x, long ld, bool turned,
                              char *out)
{
    for (int t = 0; t < 2; t++) {
        __m512i w[16];
        for (int i = 0; i < 16; i++) {
            w[i] = 16 * t + i < width ? _mm512_maskz_loadu_epi16(mask, x + (16 * t + i) * ld)
                                      : _mm512_setzero_si512();
            fetch((const char *)(x + (16 * t + i) * ld + AHEAD));
        }
        put_tile(w, turned, out + 1024 * t);
    }
}

/* Two tiles from rows x[i·ld], i < width, of `depth` numbers along k. */
INLINE void pack_along(long width, long depth, const uint16_t *x, long ld, bool turned, char *out)
{
    if (width >= 32 && depth >= 32)
        pack_along_masked(32, 0xffffffffu, x, ld, turned, out);
    else
        pack_along_masked(width, first32(depth), x, ld, turned, out);
}

INLINE void pack_across_masked(__mmask32 mask, long depth, const uint16_t *x, long ld, bool turned,
                               char *out)
{
    const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40,
                                         8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    __m512i w[2][16];
    for (int i = 0; i < 16; i++) {
        __m512i even = _mm512_maskz_loadu_epi16(2 * i < depth ? mask : 0, x + 2 * i * ld);
        __m512i odd = _mm512_maskz_loadu_epi16(2 * i + 1 < depth ? mask : 0, x + (2 * i + 1) * ld);
        fetch((const char *)(x + (2 * i + 32) * ld));
        fetch((const char *)(x + (2 * i + 33) * ld));
        w[0][i] = _mm512_permutex2var_epi16(even, low, odd);
        w[1][i] = _mm512_permutex2var_epi16(even, high, odd);
    }
    put_tile(w[0], turned, out);
    put_tile(w[1], turned, out + 1024);
}

/* Two tiles from rows x[p·ld], p < depth, of `width` numbers across. */
INLINE void pack_across(long width, long depth, const uint16_t *x, long ld, bool turned, char *out)
{
    if (width >= 32 && depth >= 32)
        pack_across_masked(0xffffffffu, 32, x, ld, turned, out);
    else
        pack_across_masked(first32(width), depth, x, ld, turned, out);
}

/* ---- C ---- */

/* Stores a row of 32 sums in C, those of the mask, as bf16, as reals, or added to reals. */
INLINE void finish_row(__mmask32 mask, __m512 x, __m512 y, bool real, bool add, void *c)
{
    __mmask16 left = (__mmask16)mask, right = (__mmask16)(mask >> 16);
    float *to = c;
    if (!real) {
        _mm512_mask_storeu_epi16(c, mask, (__m512i)_mm512_cvtne2ps_pbh(y, x));
        return;
    }
    if (add) {
        x = _mm512_add_ps(_mm512_maskz_loadu_ps(left, to), x);
        y = _mm512_add_ps(_mm512_maskz_loadu_ps(right, to + 16), y);
    }
    _mm512_mask_storeu_ps(to, left, x);
    _mm512_mask_storeu_ps(to + 16, right, y);
}

/* Rows of 32 sums whose lines of C are whole and aligned: nothing is read to store them. */
INLINE void finish_past(const float *sums, long rows, bool real, char *c, size_t next)
{
    for (; rows > 0; rows--, sums += 32, c += next) {
        __m512 x = _mm512_load_ps(sums), y = _mm512_load_ps(sums + 16);
        if (real) {
            _mm512_stream_ps((float *)(void *)c, x);
            _mm512_stream_ps((float *)(void *)c + 16, y);
        } else {
            _mm512_stream_si512((void *)c, (__m512i)_mm512_cvtne2ps_pbh(y, x));
        }
    }
}

/* Orders what finish_rows stored past the caches before all later stores. */
INLINE void finish_ordered(void)
{
    _mm_sfence();
}

/* Stores rows of sums from `first` on in C, and prefetches the lines to their right. Whole rows of
 * bf16 have their own code: fewer instructions leave more room for products of tiles. */
INLINE void finish_rows(const struct tile_finish *f, long first, long rows)
{
    const float *sums = f->sums + first * 32;
    char *c = f->c + (size_t)first * f->next;
    __mmask32 mask = first32(f->cols);
    size_t next = f->next;
    if (f->past && f->cols >= 32) {
        finish_past(sums, rows, f->real, c, next);
        return;
    }
    if (!f->real && f->cols >= 32)
        for (; rows > 0; rows--, sums += 32, c += next) {
            fetch_to_write(c + 64);
            _mm512_storeu_si512(
                c, (__m512i)_mm512_cvtne2ps_pbh(_mm512_load_ps(sums + 16), _mm512_load_ps(sums)));
        }
    for (; rows > 0; rows--, sums += 32, c += next) {
        fetch_to_write(c + 128);
        fetch_to_write(c + 192);
        finish_row(mask, _mm512_load_ps(sums), _mm512_load_ps(sums + 16), f->real, f->add, c);
    }
}

/* Adds sums [rows, 32] to the first `wide` of two blocks [rows, 16] that are `block` numbers apart.
 */
INLINE void add_sums(const float *sums, long rows, long wide, float *to, long block)
{
    for (long j = 0; j < wide; j++)
        for (long i = 0; i < rows; i++) {
            float *at = to + j * block + i * 16;
            _mm512_store_ps(
                at, _mm512_add_ps(_mm512_load_ps(at), _mm512_load_ps(sums + i * 32 + j * 16)));
        }
}
