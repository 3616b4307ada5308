/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizers/protobuf.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static enum oa_error damaged_message(const struct oa_message *m, const char *what)
{
    return oa_fail(m->context, OA_FORMAT, "%s: byte %zu: %s; fetch the file again", m->name,
                   (size_t)(m->at - m->file), what);
}

static enum oa_error read_field_varint(struct oa_message *m, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        uint8_t byte = (uint8_t)*m->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return OA_OK;
    }
    return damaged_message(m, "a number of the message does not end");
}

static enum oa_error read_field_fixed(struct oa_message *m, int bytes, uint64_t *value)
{
    *value = 0;
    if (m->end - m->at < bytes)
        return damaged_message(m, "the message ends within a number");
    for (int i = 0; i < bytes; i++)
        *value |= (uint64_t)(uint8_t)m->at[i] << 8 * i;
    m->at += bytes;
    return OA_OK;
}

static enum oa_error read_field_bytes(struct oa_message *m, struct oa_field *field)
{
    uint64_t length;
    OA_TRY(read_field_varint(m, &length));
    if (length > (uint64_t)(m->end - m->at))
        return damaged_message(m, "a field is longer than the message");
    field->bytes = true;
    field->start = m->at;
    field->length = (size_t)length;
    m->at += length;
    return OA_OK;
}

enum oa_error oa_message_next(struct oa_message *m, struct oa_field *field)
{
    uint64_t tag;
    *field = (struct oa_field){ 0 };
    if (m->at == m->end)
        return OA_OK;
    OA_TRY(read_field_varint(m, &tag));
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return damaged_message(m, "a field has no number");
    field->number = (int)(tag >> 3);
    switch (tag & 7) {
    case VARINT:
        return read_field_varint(m, &field->value);
    case FIXED64:
        return read_field_fixed(m, 8, &field->value);
    case FIXED32:
        return read_field_fixed(m, 4, &field->value);
    case BYTES:
        return read_field_bytes(m, field);
    default:
        return damaged_message(m, "a field has a type that is not read");
    }
}

struct oa_message oa_message_in(const struct oa_message *m, const struct oa_field *field)
{
    return (struct oa_message){ m->context, m->name, m->file, field->start,
                                field->start + field->length };
}

float oa_field_float(const struct oa_field *field)
{
    uint32_t bits = (uint32_t)field->value;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
