/* SPDX-License-Identifier: Apache-2.0
 * A generalised Feistel cipher on pairs (x, y), x < a, y < b, a·b >= n (Black and Rogaway: Ciphers
 * with arbitrary finite domains; CT-RSA 2002). Every round adds to one of the two a random function
 * of the other, modulo its size, which is invertible; so all rounds together are a permutation of
 * the a·b numbers. It is applied again as long as the result is not below n (cycle walking), which
 * ends because the cycle began below n. */
#include "base/permutation.h"

#include <math.h>

enum { ROUNDS = 8 };

static uint64_t encipher(struct oa_stream s, uint64_t i, uint64_t a, uint64_t b)
{
    uint64_t x = i % a, y = i / a;
    for (uint64_t round = 0; round < ROUNDS; round += 2) {
        x = (x + oa_random_below(s, round << 32 | y, a)) % a;
        y = (y + oa_random_below(s, (round + 1) << 32 | x, b)) % b;
    }
    return y * a + x;
}

uint64_t oa_permuted(struct oa_stream s, uint64_t i, uint64_t n)
{
    uint64_t a = (uint64_t)ceil(sqrt((double)n));
    uint64_t b = n / a + (n % a != 0);
    do
        i = encipher(s, i, a, b);
    while (i >= n);
    return i;
}
