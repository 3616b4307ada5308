/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011):
 * ten rounds that map a 128-bit counter and a 64-bit key to 128 random bits. Here
 *
 *     counter = (index: words 0 and 1, low first | id of the stream: words 2 and 3),  key = seed.
 *
 * Use of block b (about 25 ns):
 *
 *     uniform  indices 4b … 4b+3   one word each: (x + ½)·2⁻³²
 *     normal   indices 2b, 2b+1    Box–Muller of two 52-bit uniforms (normal_lanes.h)
 *     below    indices 2b, 2b+1    upper half of a 64-bit word times n; bias below n·2⁻⁶⁴
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#define ROUNDS 10

/* ---- streams ---- */

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * 2014). */
static uint64_t random_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* FNV-1a over the bytes of the name, then mixed: with FNV alone the last letters reach only the low
 * bits. */
struct oa_stream oa_stream_named(uint64_t seed, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const unsigned char *s = (const unsigned char *)name; *s; s++)
        h = (h ^ *s) * 0x100000001b3u;
    return (struct oa_stream){ .key = seed, .id = random_mix(h) };
}

/* The odd constant of splitmix64 separates child 0 from its parent, and child(child(s, 1), 2) from
 * child(child(s, 2), 1). */
struct oa_stream oa_stream_child(struct oa_stream parent, uint64_t number)
{
    uint64_t id = random_mix(parent.id + 0x9e3779b97f4a7c15u) + number;
    return (struct oa_stream){ .key = parent.key, .id = random_mix(id) };
}

/* ---- Philox ---- */

void oa_random_block(struct oa_stream s, uint64_t index, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = (uint32_t)s.id,
             c3 = (uint32_t)(s.id >> 32);
    uint32_t k0 = (uint32_t)s.key, k1 = (uint32_t)(s.key >> 32);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c0, b = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The first (half = 0) or second 64 bits of a block. */
static uint64_t wide_word(const uint32_t block[4], unsigned half)
{
    return (uint64_t)block[2 * half + 1] << 32 | block[2 * half];
}

/* ---- distributions ---- */

double oa_random_uniform(struct oa_stream s, uint64_t index)
{
    uint32_t block[4];
    oa_random_block(s, index / 4, block);
    return ((double)block[index % 4] + 0.5) * 0x1p-32;
}

#include "base/normal_plain.h"

double oa_random_normal(struct oa_stream s, uint64_t index)
{
    uint32_t block[4];
    double even, odd;
    oa_random_block(s, index / 2, block);
    lanes_normal(wide_word(block, 0), wide_word(block, 1), &even, &odd);
    return index % 2 ? odd : even;
}

void oa_random_normals(struct oa_stream s, uint64_t first, long n, double *out)
{
    uint32_t block[4];
    double pair[2];
    for (long i = 0; i < n; i += 2) {
        oa_random_block(s, (first + (uint64_t)i) / 2, block);
        lanes_normal(wide_word(block, 0), wide_word(block, 1), pair, pair + 1);
        memcpy(out + i, pair, (size_t)oa_min(2, n - i) * sizeof *out);
    }
}

/* The upper 64 bits of a·b: 0 … b-1 for uniform a (Lemire, ACM TOMACS 2019, without rejection). */
static uint64_t random_multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t carry = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (carry >> 32);
}

uint64_t oa_random_below(struct oa_stream s, uint64_t index, uint64_t n)
{
    uint32_t block[4];
    oa_random_block(s, index / 2, block);
    return random_multiply_high(wide_word(block, index % 2), n);
}

void oa_shuffle_first(struct oa_stream s, long *item, long n, long k)
{
    for (long i = 0; i < k; i++) {
        long other = i + (long)oa_random_below(s, (uint64_t)i, (uint64_t)(n - i)),
             drawn = item[other];
        item[other] = item[i];
        item[i] = drawn;
    }
}
