/* SPDX-License-Identifier: Apache-2.0 */
#include "base/protobuf.h"

#include "base/little_endian.h"

const char *oa_varint_read(struct oa_message *m, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        uint8_t byte = *m->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return NULL;
    }
    return "a number of the message does not end";
}

static const char *read_fixed(struct oa_message *m, int bytes, uint64_t *value)
{
    if (m->end - m->at < bytes)
        return "the message ends within a number";
    *value = oa_get_little_endian(m->at, bytes);
    m->at += bytes;
    return NULL;
}

static const char *read_length_delimited(struct oa_message *m, struct oa_message *bytes)
{
    uint64_t length;
    const char *why = oa_varint_read(m, &length);
    if (why)
        return why;
    if (length > (uint64_t)(m->end - m->at))
        return "a field is longer than the message";
    *bytes = (struct oa_message){ m->at, m->at + length };
    m->at += length;
    return NULL;
}

const char *oa_message_next(struct oa_message *m, struct oa_field *field)
{
    uint64_t tag;
    *field = (struct oa_field){ .number = 0 };
    if (m->at == m->end)
        return NULL;
    const char *why = oa_varint_read(m, &tag);
    if (why)
        return why;
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return "a field has no number";
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum oa_wire)(tag & 7);
    switch (field->type) {
    case OA_WIRE_VARINT:
        return oa_varint_read(m, &field->value);
    case OA_WIRE_64:
        return read_fixed(m, 8, &field->value);
    case OA_WIRE_32:
        return read_fixed(m, 4, &field->value);
    case OA_WIRE_BYTES:
        return read_length_delimited(m, &field->bytes);
    default:
        return "a field has a type that is not read";
    }
}
