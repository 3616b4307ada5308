/* SPDX-License-Identifier: Apache-2.0
 * Fields of a message in the wire format of Protocol Buffers, one after another. */
#ifndef ORTHANT_BASE_PROTOBUF_H
#define ORTHANT_BASE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct oa_message {
    const uint8_t *at, *end; /* the part that was not read yet */
};
enum oa_wire { OA_WIRE_VARINT = 0, OA_WIRE_64 = 1, OA_WIRE_BYTES = 2, OA_WIRE_32 = 5 };
struct oa_field {
    uint32_t number; /* 0: the message has ended */
    enum oa_wire type;
    uint64_t value;          /* not of OA_WIRE_BYTES */
    struct oa_message bytes; /* of OA_WIRE_BYTES: a text, or a message */
};
/* Reads the next field. NULL, or what is wrong with the message at m->at. */
const char *oa_message_next(struct oa_message *m, struct oa_field *field);
/* The same of a number in base 128, as in a packed list. */
const char *oa_varint_read(struct oa_message *m, uint64_t *value);

static inline float oa_float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double oa_double_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
