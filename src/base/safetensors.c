/* SPDX-License-Identifier: Apache-2.0
 * Reading safetensors (github.com/huggingface/safetensors):
 *
 *     8 bytes: N, little-endian | N bytes: JSON, first byte '{', padded with spaces | data
 *     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …,
 *      "__metadata__": {"key": "text"}}
 *
 * Offsets count from the end of the JSON; the tensors cover the data exactly once. The file is
 * read, not mapped: truncating a mapped file would kill the program, and changing it would
 * invalidate the checksum. Files are untrusted: any violation is refused, and the data is read only
 * after the header was validated. */
#include "base/context.h"
#include "base/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are used in the byte order of the file, which is little-endian"
#endif

#define HEADER_LIMIT 100000000u
#define MAX_DIMS ((int)(sizeof(((struct oa_array *)0)->dim) / sizeof(long)))

struct oa_tensors {
    char *bytes;           /* the header; of a pipe the whole file */
    char *data, *own_data; /* the tensors; own_data NULL: inside `bytes` */
    size_t length;         /* of the file */
    json_t *header;
    struct oa_array *arrays;        /* in the order of their bytes */
    const struct oa_array **sorted; /* by name */
    int count;
};

struct tensors_reading {
    oa_context *context;
    const char *path;
    int fd; /* of a regular file; otherwise -1 */
    struct oa_tensors *file;
    const char *data; /* the bytes after the header */
    size_t data_length;
};

#define REFUSE(r, ...) oa_fail((r)->context, OA_FORMAT, __VA_ARGS__)

/* ---- the bytes ---- */

static enum oa_error tensors_read_at(struct tensors_reading *r, char *out, size_t length, size_t at)
{
    for (size_t done = 0; done < length;) {
        size_t left = length - done;
        OA_TRY(oa_reading_stopped(r->context, r->path, done));
        ssize_t n = pread(r->fd, out + done, left < OA_READING_PIECE ? left : OA_READING_PIECE,
                          (off_t)(at + done));
        if (n < 0 && errno != EINTR)
            return oa_fail_system(r->context, errno, "read", r->path);
        if (n == 0)
            return oa_fail(r->context, OA_IO,
                           "cannot read %s: it was truncated meanwhile; copy or download it again",
                           r->path);
        done += n > 0 ? (size_t)n : 0;
    }
    return OA_OK;
}

/* Of a regular file reads the length of the header only; of a pipe everything. */
static enum oa_error tensors_open_file(struct tensors_reading *r)
{
    struct oa_tensors *f = r->file;
    struct stat about;
    if (stat(r->path, &about) != 0 || !S_ISREG(about.st_mode))
        return oa_file_read(r->context, r->path, &f->bytes, &f->length);
    OA_TRY(oa_input_open(r->context, r->path, NULL, &r->fd));
    if (fstat(r->fd, &about) != 0)
        return oa_fail_system(r->context, errno, "read", r->path);
    f->length = (size_t)about.st_size;
    f->bytes = oa_alloc(r->context, 8);
    return !f->bytes ? OA_NO_MEMORY : f->length < 8 ? OA_OK : tensors_read_at(r, f->bytes, 8, 0);
}

/* Of a regular file reads the `n` bytes of the header, and allocates memory for the data. */
static enum oa_error tensors_read_header(struct tensors_reading *r, size_t n)
{
    struct oa_tensors *f = r->file;
    r->data_length = f->length - 8 - n;
    if (r->fd < 0) {
        f->data = f->bytes + 8 + n;
        return OA_OK;
    }
    char *grown = oa_grow(r->context, f->bytes, 8, 8 + n);
    f->bytes = grown ? grown : f->bytes;
    if (grown)
        f->data = f->own_data = oa_alloc_raw(r->context, r->data_length);
    return f->data ? tensors_read_at(r, f->bytes + 8, n, 8) : OA_NO_MEMORY;
}

static enum oa_error tensors_parse_header(struct tensors_reading *r)
{
    struct oa_tensors *f = r->file;
    uint64_t n;
    if (f->length < 8)
        return REFUSE(r, "%s: %zu bytes are too few for a safetensors file", r->path, f->length);
    memcpy(&n, f->bytes, 8);
    if (n > HEADER_LIMIT)
        return REFUSE(r, "%s: not a safetensors file (header of %llu bytes; the limit is %u)",
                      r->path, (unsigned long long)n, HEADER_LIMIT);
    if (n > f->length - 8)
        return REFUSE(r, "%s: truncated: the header has %llu bytes, the whole file %zu", r->path,
                      (unsigned long long)n, f->length);
    OA_TRY(tensors_read_header(r, (size_t)n));
    if (n == 0 || f->bytes[8] != '{')
        return REFUSE(r, "%s: not a safetensors file (the header must begin with '{')", r->path);
    r->data = f->data;
    return oa_json_parse(r->context, r->path, f->bytes + 8, (size_t)n, "in the safetensors header",
                         &f->header);
}

/* ---- one tensor ---- */

static enum oa_error tensors_read_type(struct tensors_reading *r, json_t *entry, struct oa_array *a)
{
    const char *name = json_string_value(json_object_get(entry, "dtype"));
    if (!name)
        return REFUSE(r, "%s: tensor %s has no dtype", r->path, a->name);
    for (int t = 0; t < OA_TYPES; t++) {
        if (strcmp(name, oa_type_name((enum oa_type)t)) == 0) {
            a->type = (enum oa_type)t;
            return OA_OK;
        }
    }
    return oa_fail(r->context, OA_UNSUPPORTED,
                   "%s: tensor %s has the unsupported type %s; convert it to F32, F16, BF16, F64, "
                   "I32, I64 or U8",
                   r->path, a->name, name);
}

/* Sets dims, dim and bytes. */
static enum oa_error tensors_read_shape(struct tensors_reading *r, json_t *entry,
                                        struct oa_array *a)
{
    json_t *shape = json_object_get(entry, "shape"), *side;
    size_t i;
    if (!json_is_array(shape))
        return REFUSE(r, "%s: tensor %s has no shape", r->path, a->name);
    if (json_array_size(shape) > (size_t)MAX_DIMS)
        return oa_fail(r->context, OA_UNSUPPORTED,
                       "%s: tensor %s has %zu dimensions; the limit is %d", r->path, a->name,
                       json_array_size(shape), MAX_DIMS);
    a->dims = (int)json_array_size(shape);
    a->bytes = oa_type_size(a->type);
    json_array_foreach(shape, i, side)
    {
        if (!json_is_integer(side) || json_integer_value(side) < 0)
            return REFUSE(r, "%s: dimension %zu of tensor %s is not a non-negative integer",
                          r->path, i, a->name);
        a->dim[i] = (long)json_integer_value(side);
        if (__builtin_mul_overflow(a->bytes, (size_t)a->dim[i], &a->bytes))
            return REFUSE(r, "%s: the size of tensor %s overflows", r->path, a->name);
    }
    return OA_OK;
}

static enum oa_error tensors_read_offsets(struct tensors_reading *r, json_t *entry,
                                          struct oa_array *a)
{
    json_t *offsets = json_object_get(entry, "data_offsets");
    json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return REFUSE(r, "%s: tensor %s lacks data_offsets [begin, end]", r->path, a->name);
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (uint64_t)end > r->data_length)
        return REFUSE(r,
                      "%s: tensor %s has data_offsets %lld to %lld of %zu bytes of data; the file "
                      "is truncated or damaged",
                      r->path, a->name, (long long)begin, (long long)end, r->data_length);
    if ((size_t)(end - begin) != a->bytes)
        return REFUSE(r, "%s: tensor %s has %lld bytes, but its type and shape need %zu", r->path,
                      a->name, (long long)(end - begin), a->bytes);
    a->data = r->data + begin;
    return OA_OK;
}

static enum oa_error tensors_read_entry(struct tensors_reading *r, const char *name, json_t *entry,
                                        struct oa_array *a)
{
    a->name = oa_copy_text(r->context, name);
    if (!a->name)
        return OA_NO_MEMORY;
    if (!json_is_object(entry))
        return REFUSE(r, "%s: the entry of tensor %s is not a JSON object", r->path, name);
    OA_TRY(tensors_read_type(r, entry, a));
    OA_TRY(tensors_read_shape(r, entry, a));
    return tensors_read_offsets(r, entry, a);
}

/* ---- all tensors ---- */

static int array_by_data(const void *x, const void *y)
{
    const struct oa_array *a = x, *b = y;
    if (a->data != b->data)
        return (const char *)a->data < (const char *)b->data ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int array_by_name(const void *x, const void *y)
{
    const struct oa_array *const *a = x, *const *b = y;
    return strcmp((*a)->name, (*b)->name);
}

static enum oa_error tensors_check_metadata(struct tensors_reading *r)
{
    const char *key;
    json_t *value, *metadata = json_object_get(r->file->header, "__metadata__");
    if (metadata && !json_is_object(metadata))
        return REFUSE(r, "%s: __metadata__ is not a JSON object", r->path);
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return REFUSE(r, "%s: metadata \"%s\" is not a string", r->path, key);
    }
    return OA_OK;
}

static enum oa_error tensors_read_entries(struct tensors_reading *r)
{
    struct oa_tensors *f = r->file;
    const char *name;
    json_t *entry;
    size_t n = json_object_size(f->header);
    f->arrays = oa_alloc(r->context, n * sizeof *f->arrays);
    f->sorted = oa_alloc(r->context, n * sizeof *f->sorted);
    if (!f->arrays || !f->sorted)
        return OA_NO_MEMORY;
    json_object_foreach(f->header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        struct oa_array *a = &f->arrays[f->count++];
        OA_TRY(tensors_read_entry(r, name, entry, a));
    }
    return OA_OK;
}

/* The tensors cover the data without gap or overlap. */
static enum oa_error tensors_check_cover(struct tensors_reading *r)
{
    struct oa_tensors *f = r->file;
    const char *end = r->data;
    qsort(f->arrays, (size_t)f->count, sizeof *f->arrays, array_by_data);
    for (int i = 0; i < f->count; i++) {
        const struct oa_array *a = &f->arrays[i];
        if (a->data != (const void *)end)
            return REFUSE(r, "%s: tensor %s begins at byte %td, %s byte %td", r->path, a->name,
                          (const char *)a->data - r->data,
                          (const char *)a->data < end ? "inside the one that ends at"
                                                      : "with a gap after",
                          end - r->data);
        end += a->bytes;
    }
    if (end != r->data + r->data_length)
        return REFUSE(r, "%s: the tensors end at byte %td of %zu bytes of data", r->path,
                      end - r->data, r->data_length);
    return OA_OK;
}

static enum oa_error tensors_check_checksum(struct tensors_reading *r)
{
    const char *written = oa_tensors_metadata(r->file, OA_CHECKSUM_KEY);
    struct oa_digest now;
    if (!written)
        return OA_OK;
    unsigned long crc = crc32_z(0, NULL, 0);
    for (size_t at = 0; at < r->data_length; at += OA_READING_PIECE) {
        size_t left = r->data_length - at;
        OA_TRY(oa_reading_stopped(r->context, r->path, at));
        crc = crc32_z(crc, (const unsigned char *)r->data + at,
                      left < OA_READING_PIECE ? left : OA_READING_PIECE);
    }
    OA_TRY(oa_tensors_checksum(r->context, r->file->header, crc, &now));
    if (strcmp(written, now.hex) != 0)
        return REFUSE(r, "%s: the content does not match the checksum: the file was altered",
                      r->path);
    return OA_OK;
}

static enum oa_error tensors_read_file(struct tensors_reading *r)
{
    OA_TRY(tensors_open_file(r));
    OA_TRY(tensors_parse_header(r));
    OA_TRY(tensors_check_metadata(r));
    OA_TRY(tensors_read_entries(r));
    OA_TRY(tensors_check_cover(r));
    if (r->fd >= 0)
        OA_TRY(tensors_read_at(r, r->file->own_data, r->data_length,
                               r->file->length - r->data_length));
    OA_TRY(tensors_check_checksum(r));
    struct oa_tensors *f = r->file;
    for (int i = 0; i < f->count; i++)
        f->sorted[i] = &f->arrays[i];
    qsort(f->sorted, (size_t)f->count, sizeof *f->sorted, array_by_name);
    return OA_OK;
}

enum oa_error oa_tensors_open(oa_context *c, const char *path, struct oa_tensors **out)
{
    struct tensors_reading r = {
        .context = c, .path = path, .fd = -1, .file = oa_alloc(c, sizeof *r.file)
    };
    if (!r.file)
        return OA_NO_MEMORY;
    enum oa_error e = tensors_read_file(&r);
    if (r.fd >= 0)
        close(r.fd);
    if (e == OA_OK)
        *out = r.file;
    else
        oa_tensors_close(r.file);
    return e;
}

void oa_tensors_close(struct oa_tensors *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->count; i++)
        oa_free(f->arrays[i].name);
    oa_free(f->arrays);
    oa_free(f->sorted);
    json_decref(f->header);
    oa_free(f->own_data);
    oa_free(f->bytes);
    oa_free(f);
}

/* ---- queries ---- */

int oa_tensors_count(const struct oa_tensors *f)
{
    return f->count;
}

const struct oa_array *oa_tensors_at(const struct oa_tensors *f, int i)
{
    return i >= 0 && i < f->count ? &f->arrays[i] : NULL;
}

const struct oa_array *oa_tensors_find(const struct oa_tensors *f, const char *name)
{
    const struct oa_array key = { .name = (char *)name }, *at = &key;
    const struct oa_array **found =
        bsearch(&at, f->sorted, (size_t)f->count, sizeof *f->sorted, array_by_name);
    return found ? *found : NULL;
}

const char *oa_tensors_metadata(const struct oa_tensors *f, const char *key)
{
    return json_string_value(json_object_get(json_object_get(f->header, "__metadata__"), key));
}
