/* SPDX-License-Identifier: Apache-2.0
 * Writing safetensors, byte for byte like the reference writer: tensors sorted by type, larger
 * elements first for alignment, then by name; the header padded with spaces to a multiple of 8. */
#include "base/context.h"
#include "base/json_write.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define HEADER_LIMIT 100000000u

/* ---- checks ---- */

static enum oa_error array_check(oa_context *c, const char *path, const struct oa_array *a)
{
    size_t bytes = oa_type_size(a->type);
    bool fits = true;
    for (int i = 0; i < a->dims; i++)
        fits = fits && a->dim[i] >= 0 && !__builtin_mul_overflow(bytes, (size_t)a->dim[i], &bytes);
    if (!fits || bytes != a->bytes)
        return oa_fail(c, OA_SHAPE, "%s: tensor %s has %zu bytes, but its type and shape need %zu",
                       path, a->name, a->bytes, bytes);
    if (strcmp(a->name, "__metadata__") == 0)
        return oa_fail(c, OA_ARGUMENT, "%s: __metadata__ is not allowed as the name of a tensor",
                       path);
    return OA_OK;
}

/* The reference's order of types. */
static const int type_place[OA_TYPES] = {
    [OA_I64] = 0, [OA_F64] = 1,  [OA_F32] = 2, [OA_I32] = 3,
    [OA_F16] = 4, [OA_BF16] = 5, [OA_U8] = 6,  [OA_BOOL] = 7,
};

static int by_type_then_name(const void *x, const void *y)
{
    const struct oa_array *a = *(const struct oa_array *const *)x,
                          *b = *(const struct oa_array *const *)y;
    int places = type_place[a->type] - type_place[b->type];
    return places ? places : strcmp(a->name, b->name);
}

/* ---- the header ---- */

static json_t *array_describe(oa_context *c, const struct oa_array *a, size_t begin)
{
    json_t *shape = json_array();
    for (int i = 0; i < a->dims; i++)
        oa_json_append(c, shape, json_integer(a->dim[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", oa_type_name(a->type), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)(begin + a->bytes));
}

static enum oa_error header_add_metadata(oa_context *c, const char *path, json_t *header,
                                         const char *const *pairs)
{
    if (!pairs || !pairs[0])
        return OA_OK;
    json_t *metadata = json_object();
    oa_json_set(c, header, "__metadata__", metadata);
    for (; pairs[0]; pairs += 2) {
        if (json_object_set_new(metadata, pairs[0], json_string(pairs[1])) != 0)
            return oa_fail(c, OA_ARGUMENT, "%s: the metadata \"%s\" is not UTF-8 text", path,
                           pairs[0]);
    }
    return OA_OK;
}

static enum oa_error header_add_tensors(oa_context *c, const char *path, json_t *header,
                                        const struct oa_array *const *sorted, int count)
{
    size_t begin = 0;
    for (int i = 0; i < count; i++) {
        const struct oa_array *a = sorted[i];
        OA_TRY(array_check(c, path, a));
        if (json_object_get(header, a->name))
            return oa_fail(c, OA_ARGUMENT, "%s: two tensors have the name %s", path, a->name);
        if (json_object_set_new(header, a->name, array_describe(c, a, begin)) != 0)
            return oa_fail(c, OA_ARGUMENT, "%s: the tensor name \"%s\" is not UTF-8 text", path,
                           a->name);
        begin += a->bytes;
    }
    return OA_OK;
}

static const void *array_bytes(const struct oa_array *a)
{
    return a->make ? a->make(a->argument, a) : a->data;
}

static enum oa_error tensors_add_checksum(oa_context *c, json_t *header,
                                          const struct oa_array *const *sorted, int count)
{
    struct oa_digest checksum;
    unsigned long crc = crc32_z(0, NULL, 0);
    for (int i = 0; i < count; i++) {
        const void *bytes = array_bytes(sorted[i]);
        OA_TRY(oa_status(c));
        crc = sorted[i]->bytes ? crc32_z(crc, bytes, sorted[i]->bytes) : crc;
    }
    if (!json_object_get(header, "__metadata__"))
        oa_json_set(c, header, "__metadata__", json_object());
    OA_TRY(oa_tensors_checksum(c, header, crc, &checksum));
    oa_json_set(c, json_object_get(header, "__metadata__"), OA_CHECKSUM_KEY,
                json_string(checksum.hex));
    return oa_status(c);
}

/* Length, JSON, padding. */
static enum oa_error header_print(oa_context *c, const char *path, json_t *header,
                                  struct oa_text *out)
{
    char *json = oa_json_dump(c, header, JSON_COMPACT);
    if (!json)
        return OA_NO_MEMORY;
    size_t length = strlen(json);
    uint64_t padded = (length + 7) / 8 * 8;
    oa_text_add(out, (const char *)&padded, 8);
    oa_text_add(out, json, length);
    oa_text_add(out, "       ", (size_t)padded - length);
    oa_free(json);
    if (padded > HEADER_LIMIT)
        return oa_fail(c, OA_UNSUPPORTED, "%s: header of %llu bytes; the format allows %u", path,
                       (unsigned long long)padded, HEADER_LIMIT);
    return out->length == 8 + padded ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error tensors_make_header(oa_context *c, const char *path,
                                         const struct oa_array *const *sorted, int count,
                                         const char *const *metadata, bool checksummed,
                                         struct oa_text *out)
{
    json_t *header = json_object();
    enum oa_error e = header_add_metadata(c, path, header, metadata);
    if (e == OA_OK)
        e = header_add_tensors(c, path, header, sorted, count);
    if (e == OA_OK && checksummed)
        e = tensors_add_checksum(c, header, sorted, count);
    if (e == OA_OK)
        e = header_print(c, path, header, out);
    json_decref(header);
    return e;
}

/* ---- the file ---- */

static enum oa_error tensors_write_file(oa_context *c, const char *path,
                                        const struct oa_text *header,
                                        const struct oa_array *const *sorted, int count)
{
    struct oa_new_file f;
    enum oa_error e = oa_new_file_open(&f, c, path);
    if (e == OA_OK)
        e = oa_new_file_add(&f, header->s, header->length);
    for (int i = 0; i < count && e == OA_OK; i++) {
        const void *bytes = array_bytes(sorted[i]);
        e = oa_status(c);
        e = e == OA_OK ? oa_new_file_add(&f, bytes, sorted[i]->bytes) : e;
    }
    return oa_new_file_finish(&f, e);
}

static enum oa_error tensors_write(oa_context *c, const char *path, const struct oa_array *arrays,
                                   int count, const char *const *metadata, bool checksummed)
{
    const struct oa_array **sorted = oa_alloc(c, (size_t)count * sizeof *sorted);
    if (!sorted)
        return OA_NO_MEMORY;
    for (int i = 0; i < count; i++)
        sorted[i] = &arrays[i];
    qsort(sorted, (size_t)count, sizeof *sorted, by_type_then_name);
    struct oa_text header;
    oa_text_init(&header, c);
    enum oa_error e = tensors_make_header(c, path, sorted, count, metadata, checksummed, &header);
    if (e == OA_OK)
        e = tensors_write_file(c, path, &header, sorted, count);
    oa_text_free(&header);
    oa_free(sorted);
    return e;
}

enum oa_error oa_tensors_write(oa_context *c, const char *path, const struct oa_array *arrays,
                               int count, const char *const *metadata)
{
    return tensors_write(c, path, arrays, count, metadata, false);
}

enum oa_error oa_tensors_write_checksummed(oa_context *c, const char *path,
                                           const struct oa_array *arrays, int count,
                                           const char *const *metadata)
{
    return tensors_write(c, path, arrays, count, metadata, true);
}
