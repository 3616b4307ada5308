/* SPDX-License-Identifier: Apache-2.0
 * Whole numbers in files: the least significant byte first. bytes: 1 to 8. */
#ifndef ORTHANT_BASE_LITTLE_ENDIAN_H
#define ORTHANT_BASE_LITTLE_ENDIAN_H

#include <stdint.h>

static inline uint64_t oa_get_little_endian(const uint8_t *from, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)from[i] << 8 * i;
    return x;
}

static inline void oa_put_little_endian(uint8_t *to, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(x >> 8 * i);
}

#endif
