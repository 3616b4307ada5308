/* SPDX-License-Identifier: Apache-2.0
 *
 * The checksum of a safetensors file: SHA-256 of the header as canonical JSON (keys sorted, no
 * white space, without the checksum itself) and, behind it, the CRC-32 of the tensors' bytes in
 * eight hexadecimal digits. The header, short, gets the strong digest; the bytes, many, the one
 * that runs at the speed of memory.
 */
#include "base/context.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The header without its checksum; the caller's is left as it is. */
static json_t *without_checksum(json_t *header)
{
    json_t *copy = json_copy(header),
           *metadata = json_copy(json_object_get(header, "__metadata__"));
    json_object_del(metadata, OA_CHECKSUM_KEY);
    json_object_set_new(copy, "__metadata__", metadata);
    return copy;
}

enum oa_error oa_tensors_checksum(oa_context *c, json_t *header, unsigned long crc,
                                  struct oa_digest *out)
{
    json_t *plain = without_checksum(header);
    char *json = json_dumps(plain, JSON_COMPACT | JSON_SORT_KEYS);
    struct oa_text text;
    oa_text_init(&text, c);
    if (json)
        oa_text_printf(&text, "%s%08lx", json, crc);
    else
        oa_fail(c, OA_NO_MEMORY, "out of memory for the checksum of a file");
    if (oa_status(c) == OA_OK)
        *out = oa_digest_of(text.s, text.length);
    oa_text_free(&text);
    free(json);
    json_decref(plain);
    return oa_status(c);
}
