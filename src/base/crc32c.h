/* SPDX-License-Identifier: Apache-2.0
 * The checksum of TensorBoard's records. */
#ifndef ORTHANT_BASE_CRC32C_H
#define ORTHANT_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t oa_crc32c(const void *data, size_t count); /* Castagnoli (RFC 3720, appendix B.4) */
/* Rotated and offset, as the format requires, because a CRC of bytes that contain CRCs is weak. */
uint32_t oa_masked_crc32c(const void *data, size_t count);

#endif
