/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

uint32_t oa_crc32c(const void *data, size_t count)
{
    const uint8_t *b = data;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < count; i++) {
        crc ^= b[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0); /* Castagnoli, reflected */
    }
    return ~crc;
}

uint32_t oa_masked_crc32c(const void *data, size_t count)
{
    uint32_t crc = oa_crc32c(data, count);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
