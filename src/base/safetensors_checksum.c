/* SPDX-License-Identifier: Apache-2.0
 * The checksum of a safetensors file: SHA-256 of the header as canonical JSON (keys sorted, no
 * white space, without the checksum itself) followed by the CRC-32 of the data in eight hexadecimal
 * digits. CRC-32 for the data, since it runs at the speed of memory. */
#include "base/context.h"
#include "base/json_write.h"

#include <jansson.h>
#include <string.h>

enum oa_error oa_tensors_checksum(oa_context *c, json_t *header, unsigned long crc,
                                  struct oa_digest *out)
{
    json_t *plain = json_copy(header);
    json_t *metadata = json_copy(json_object_get(header, "__metadata__"));
    json_object_del(metadata, OA_CHECKSUM_KEY);
    oa_json_set(c, plain, "__metadata__", metadata);
    char *json = oa_json_dump(c, plain, JSON_COMPACT | JSON_SORT_KEYS);
    struct oa_text text;
    oa_text_init(&text, c);
    if (json)
        oa_text_printf(&text, "%s%08lx", json, crc);
    if (oa_status(c) == OA_OK)
        *out = oa_digest_of(text.s, text.length);
    oa_text_free(&text);
    oa_free(json);
    json_decref(plain);
    return oa_status(c);
}
