/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading safetensors (huggingface/safetensors):
 *
 *     8 bytes: N, little-endian | N bytes: JSON, first byte '{', spaces may follow | the tensors'
 * bytes
 *     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …, "__metadata__":
 * {"key": "text"}}
 *
 * Offsets count from the end of the JSON; the tensors cover all bytes exactly once. The file is
 * read, not mapped: one that is cut while it is in use would end the program, and one that is
 * changed would not be what its checksum was compared with. Nothing is believed: a file that breaks
 * a rule is refused with its name and the rule, and the bytes of its tensors are read only when the
 * header fits them.
 */
#include "base/context.h"
#include "base/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are used as they lie in the file, which is little-endian"
#endif

#define HEADER_LIMIT 100000000u
#define MAX_DIMS ((int)(sizeof(((struct oa_array *)0)->dim) / sizeof(long)))

struct oa_tensors {
    char *bytes;           /* the header; of a pipe everything */
    char *data, *own_data; /* of the tensors; NULL where it is in `bytes` */
    size_t length;         /* of the file */
    json_t *header;
    struct oa_array *arrays;        /* in the order of their bytes */
    const struct oa_array **sorted; /* by name */
    int count;
};

/* What the functions that check a file need for a sentence. */
struct tensors_reading {
    oa_context *context;
    const char *path;
    int fd; /* of a plain file; otherwise -1 */
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
                           "cannot read %s: it became shorter while it was read; get it again",
                           r->path);
        done += n > 0 ? (size_t)n : 0;
    }
    return OA_OK;
}

/* Of a plain file only the number of bytes of the header; what else can be read (a pipe) is read
 * whole. */
static enum oa_error open_bytes(struct tensors_reading *r)
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

/* Of a plain file `n` more bytes, and room for those that follow them, which are read when the
 * header was found right.
 */
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

static enum oa_error parse_header(struct tensors_reading *r)
{
    struct oa_tensors *f = r->file;
    uint64_t n;
    if (f->length < 8)
        return REFUSE(r, "%s: %zu bytes are too few for a safetensors file", r->path, f->length);
    memcpy(&n, f->bytes, 8);
    if (n > HEADER_LIMIT)
        return REFUSE(
            r, "%s: not a safetensors file (its header would have %llu bytes; the limit is %u)",
            r->path, (unsigned long long)n, HEADER_LIMIT);
    if (n > f->length - 8)
        return REFUSE(r, "%s: cut off: the header has %llu bytes, the whole file %zu", r->path,
                      (unsigned long long)n, f->length);
    OA_TRY(tensors_read_header(r, (size_t)n));
    if (n == 0 || f->bytes[8] != '{')
        return REFUSE(r, "%s: not a safetensors file (the header must begin with '{')", r->path);
    r->data = f->data;
    return oa_json_parse(r->context, r->path, f->bytes + 8, (size_t)n,
                         "this is the header of the tensors", &f->header);
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
                   "%s: tensor %s has the type %s; only F32, BF16, F64, I32, I64 and U8 can be "
                   "read, so convert it first",
                   r->path, a->name, name);
}

/* Sets dims, dim and bytes. A product beyond the range of size_t is refused, not wrapped. */
static enum oa_error read_shape(struct tensors_reading *r, json_t *entry, struct oa_array *a)
{
    json_t *shape = json_object_get(entry, "shape"), *side;
    size_t i;
    if (!json_is_array(shape))
        return REFUSE(r, "%s: tensor %s has no shape", r->path, a->name);
    if (json_array_size(shape) > (size_t)MAX_DIMS)
        return oa_fail(r->context, OA_UNSUPPORTED,
                       "%s: tensor %s has %zu dimensions; %d at most can be read", r->path, a->name,
                       json_array_size(shape), MAX_DIMS);
    a->dims = (int)json_array_size(shape);
    a->bytes = oa_type_size(a->type);
    json_array_foreach(shape, i, side)
    {
        if (!json_is_integer(side) || json_integer_value(side) < 0)
            return REFUSE(r, "%s: side %zu of tensor %s is not a whole number from 0 on", r->path,
                          i, a->name);
        a->dim[i] = (long)json_integer_value(side);
        if (__builtin_mul_overflow(a->bytes, (size_t)a->dim[i], &a->bytes))
            return REFUSE(r, "%s: the shape of tensor %s is too large for any memory", r->path,
                          a->name);
    }
    return OA_OK;
}

static enum oa_error read_offsets(struct tensors_reading *r, json_t *entry, struct oa_array *a)
{
    json_t *offsets = json_object_get(entry, "data_offsets");
    json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return REFUSE(r, "%s: tensor %s has no pair of data_offsets", r->path, a->name);
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (uint64_t)end > r->data_length)
        return REFUSE(r,
                      "%s: tensor %s lies at bytes %lld to %lld, but the file has %zu; it is cut "
                      "off or damaged",
                      r->path, a->name, (long long)begin, (long long)end, r->data_length);
    if ((size_t)(end - begin) != a->bytes)
        return REFUSE(r, "%s: tensor %s has %lld bytes, but its type and shape need %zu", r->path,
                      a->name, (long long)(end - begin), a->bytes);
    a->data = r->data + begin;
    return OA_OK;
}

static enum oa_error read_tensor(struct tensors_reading *r, const char *name, json_t *entry,
                                 struct oa_array *a)
{
    a->name = oa_copy_text(r->context, name);
    if (!a->name)
        return OA_NO_MEMORY;
    if (!json_is_object(entry))
        return REFUSE(r, "%s: tensor %s is not described by a JSON object", r->path, name);
    OA_TRY(tensors_read_type(r, entry, a));
    OA_TRY(read_shape(r, entry, a));
    return read_offsets(r, entry, a);
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
            return REFUSE(r, "%s: the metadata \"%s\" is not a text", r->path, key);
    }
    return OA_OK;
}

static enum oa_error read_tensors(struct tensors_reading *r)
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
        OA_TRY(read_tensor(r, name, entry, a));
    }
    return OA_OK;
}

/* In the order of their bytes each tensor begins where the one before ends. */
static enum oa_error check_cover(struct tensors_reading *r)
{
    struct oa_tensors *f = r->file;
    const char *end = r->data;
    qsort(f->arrays, (size_t)f->count, sizeof *f->arrays, array_by_data);
    for (int i = 0; i < f->count; i++) {
        const struct oa_array *a = &f->arrays[i];
        if (a->data != (const void *)end)
            return REFUSE(r, "%s: tensor %s begins at byte %td, but %s byte %td", r->path, a->name,
                          (const char *)a->data - r->data,
                          (const char *)a->data < end ? "the one before it ends at"
                                                      : "nothing covers",
                          end - r->data);
        end += a->bytes;
    }
    if (end != r->data + r->data_length)
        return REFUSE(r, "%s: the tensors end at byte %td, but the file has %zu", r->path,
                      end - r->data, r->data_length);
    return OA_OK;
}

/* A file that carries a checksum must still say what it said when it was written. */
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
        return REFUSE(r,
                      "%s: the contents do not match the checksum they were written with: the file "
                      "was altered",
                      r->path);
    return OA_OK;
}

static void sort_names(struct oa_tensors *f)
{
    for (int i = 0; i < f->count; i++)
        f->sorted[i] = &f->arrays[i];
    qsort(f->sorted, (size_t)f->count, sizeof *f->sorted, array_by_name);
}

static enum oa_error tensors_read_file(struct tensors_reading *r)
{
    OA_TRY(open_bytes(r));
    OA_TRY(parse_header(r));
    OA_TRY(tensors_check_metadata(r));
    OA_TRY(read_tensors(r));
    OA_TRY(check_cover(r));
    if (r->fd >= 0)
        OA_TRY(tensors_read_at(r, r->file->own_data, r->data_length,
                               r->file->length - r->data_length));
    OA_TRY(tensors_check_checksum(r));
    sort_names(r->file);
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

/* ---- questions ---- */

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
