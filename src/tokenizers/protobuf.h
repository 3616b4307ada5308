/* SPDX-License-Identifier: Apache-2.0
 * Fields of a message in the wire format of Protocol Buffers, one after the other. Private to
 * tokenizers/. */
#ifndef ORTHANT_PROTOBUF_H
#define ORTHANT_PROTOBUF_H

#include "base/base.h"

struct oa_message {
    oa_context *context;
    const char *name; /* of the file, for messages */
    const char *file; /* its first byte */
    const char *at, *end;
};
/* A field: a number (varint, 32 or 64 bits), or bytes. */
struct oa_field {
    int number;
    bool bytes;
    uint64_t value;    /* not of bytes */
    const char *start; /* of bytes */
    size_t length;     /* of bytes */
};
/* The next field; *field.number is 0 at the end. OA_FORMAT: the message is damaged. */
enum oa_error oa_message_next(struct oa_message *m, struct oa_field *field);
/* The message in a field of bytes. */
struct oa_message oa_message_in(const struct oa_message *m, const struct oa_field *field);
float oa_field_float(const struct oa_field *field); /* of 32 bits */

#endif
