/* SPDX-License-Identifier: Apache-2.0
 * The generator of numpy.random.default_rng, on which sacreBLEU's intervals and p-values depend:
 * PCG64 (O'Neill, HMC-CS-2014-0905, XSL-RR of 128 bits) seeded by SeedSequence; bounded integers
 * after Lemire (ACM TOMACS 2019) and single bits from 32-bit halves. */
#include "metrics/metrics_parts.h"

__extension__ typedef unsigned __int128 wide;

/* ---- SeedSequence ---- */

enum { POOL = 4 };

/* hashmix: *k is multiplied by `step`. */
static uint32_t seed_hash(uint32_t value, uint32_t *k, uint32_t step)
{
    value ^= *k;
    *k *= step;
    value *= *k;
    return value ^ value >> 16;
}

static void fill_pool(uint64_t seed, uint32_t pool[POOL])
{
    const uint32_t step = 0x931e8875u;
    uint32_t k = 0x43b0d7e5u;
    pool[0] = seed_hash((uint32_t)seed, &k, step);
    pool[1] = seed_hash((uint32_t)(seed >> 32), &k, step);
    pool[2] = seed_hash(0, &k, step);
    pool[3] = seed_hash(0, &k, step);
    for (int from = 0; from < POOL; from++)
        for (int to = 0; to < POOL; to++)
            if (from != to) {
                uint32_t hash = seed_hash(pool[from], &k, step),
                         mix = 0xca01f9ddu * pool[to] - 0x4973f715u * hash;
                pool[to] = mix ^ mix >> 16;
            }
}

/* ---- PCG64 ---- */

static wide join_halves(const uint64_t x[2])
{
    return (wide)x[0] << 64 | x[1];
}

static void pcg_step(struct oa_numpy_random *r)
{
    static const uint64_t multiplier[2] = { 0x2360ed051fc65da4u, 0x4385df649fccf645u };
    wide state = join_halves(r->state) * join_halves(multiplier) + join_halves(r->increment);
    r->state[0] = (uint64_t)(state >> 64);
    r->state[1] = (uint64_t)state;
}

void oa_numpy_seed(struct oa_numpy_random *r, uint64_t seed)
{
    uint32_t pool[POOL];
    uint64_t word[4];
    fill_pool(seed, pool);
    uint32_t k = 0x8b51f9ddu;
    for (int i = 0; i < 4; i++) {
        uint32_t low = seed_hash(pool[2 * i % POOL], &k, 0x58f38dedu);
        word[i] = low | (uint64_t)seed_hash(pool[(2 * i + 1) % POOL], &k, 0x58f38dedu) << 32;
    }
    wide increment = join_halves(word + 2) << 1 | 1;
    *r = (struct oa_numpy_random){ .increment = { (uint64_t)(increment >> 64),
                                                  (uint64_t)increment } };
    pcg_step(r);
    wide state = join_halves(r->state) + join_halves(word);
    r->state[0] = (uint64_t)(state >> 64);
    r->state[1] = (uint64_t)state;
    pcg_step(r);
}

/* The low half of 64 bits first, then the high one. */
static uint32_t next_32(struct oa_numpy_random *r)
{
    if (r->holds) {
        r->holds = false;
        return r->held;
    }
    pcg_step(r);
    uint64_t mixed = r->state[0] ^ r->state[1];
    unsigned turn = (unsigned)(r->state[0] >> 58);
    uint64_t x = mixed >> turn | mixed << (-turn & 63);
    r->held = (uint32_t)(x >> 32);
    r->holds = true;
    return (uint32_t)x;
}

uint32_t oa_numpy_below(struct oa_numpy_random *r, uint32_t n)
{
    if (n <= 1)
        return 0;
    uint64_t product = (uint64_t)next_32(r) * n;
    if ((uint32_t)product < n) {
        uint32_t unfair = -n % n;
        while ((uint32_t)product < unfair)
            product = (uint64_t)next_32(r) * n;
    }
    return (uint32_t)(product >> 32);
}

bool oa_numpy_bit(struct oa_numpy_random *r)
{
    if (r->bits_left == 0) {
        r->bits = next_32(r);
        r->bits_left = 32;
    }
    bool bit = r->bits & 1;
    r->bits >>= 1;
    r->bits_left--;
    return bit;
}

/* ---- sums ---- */

static double rounded_sum(double x, double y, bool single)
{
    return oa_rounded(x + y, single);
}

/* NumPy's pairwise_sum: eight interleaved sums for up to 128 elements, longer arrays by halves. The
 * last digits of a mean depend on it. */
static double sum_block(const double *x, long n, bool single)
{
    double r[8], sum = 0;
    long i = 0;
    if (n >= 8) {
        memcpy(r, x, sizeof r);
        for (i = 8; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; k++)
                r[k] = rounded_sum(r[k], x[i + k], single);
        sum = rounded_sum(
            rounded_sum(rounded_sum(r[0], r[1], single), rounded_sum(r[2], r[3], single), single),
            rounded_sum(rounded_sum(r[4], r[5], single), rounded_sum(r[6], r[7], single), single),
            single);
    }
    for (; i < n; i++)
        sum = rounded_sum(sum, x[i], single);
    return sum;
}

static double pairwise_sum(const double *x, long n, bool single)
{
    if (n <= 128)
        return sum_block(x, n, single);
    long half = n / 2;
    half -= half % 8;
    return rounded_sum(pairwise_sum(x, half, single), pairwise_sum(x + half, n - half, single),
                       single);
}

double oa_numpy_mean(const double *x, long n, bool single)
{
    return oa_rounded(pairwise_sum(x, n, single) / (double)n, single);
}
