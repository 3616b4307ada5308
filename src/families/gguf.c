/* SPDX-License-Identifier: Apache-2.0 */
#include "families/gguf.h"

#include "base/little_endian.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64, KINDS };
enum { MOST_KEYS = 65536, MOST_TENSORS = 1 << 20, MOST_NAME = 65535, BLOCKS = 4096 };
static const int size_of_kind[KINDS] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

struct value {
    char *key;
    int kind, of;           /* of: kind of the elements of an array */
    const uint8_t *at;      /* in the head: of a string its length, of an array its first element */
    uint64_t count;         /* of an array */
    const uint8_t **string; /* elements of an array of strings; else NULL */
    char *text;             /* of a string; NULL where it is very long */
};

struct oa_gguf {
    oa_context *context;
    char path[OA_PATH];
    int file;
    uint64_t size;
    uint8_t *head; /* of the file, up to the data of tensors */
    uint64_t have; /* bytes of it */
    struct value *value;
    struct oa_gguf_tensor *tensor;
    int values, tensors;
};

/* ---- the head ---- */

/* A place in the head, and whether something was beyond its end. */
struct cursor {
    const struct oa_gguf *g;
    uint64_t at;
    bool beyond;
};

static const uint8_t *take(struct cursor *p, uint64_t bytes)
{
    if (p->beyond || bytes > p->g->have - p->at) {
        p->beyond = true;
        return NULL;
    }
    p->at += bytes;
    return p->g->head + p->at - bytes;
}

static uint64_t take_number(struct cursor *p, int bytes)
{
    const uint8_t *at = take(p, (uint64_t)bytes);
    return at ? oa_get_little_endian(at, bytes) : 0;
}

static const uint8_t *take_string(struct cursor *p)
{
    const uint8_t *at = p->g->head + p->at;
    uint64_t length = take_number(p, 8);
    return take(p, length) || (!p->beyond && !length) ? at : NULL;
}

static char *copy_name(const struct oa_gguf *g, const uint8_t *string)
{
    uint64_t length = string ? oa_get_little_endian(string, 8) : 0;
    char *out = string && length <= MOST_NAME ? oa_alloc(g->context, length + 1) : NULL;
    if (out)
        memcpy(out, string + 8, length);
    return out;
}

static enum oa_error read_array(struct oa_gguf *g, struct cursor *p, struct value *v)
{
    v->of = (int)take_number(p, 4);
    v->count = take_number(p, 8);
    v->at = g->head + p->at;
    if (v->of < 0 || v->of >= KINDS || v->of == ARRAY || p->beyond)
        return OA_FORMAT;
    if (v->of != STRING)
        return v->count <= g->have && take(p, v->count * (uint64_t)size_of_kind[v->of]) ? OA_OK
                                                                                        : OA_FORMAT;
    if (v->count > g->have / 8)
        return OA_FORMAT;
    v->string = oa_alloc(g->context, (v->count + 1) * sizeof *v->string);
    for (uint64_t i = 0; v->string && i < v->count; i++)
        if (!(v->string[i] = take_string(p)))
            return OA_FORMAT;
    return v->string ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error read_value(struct oa_gguf *g, struct cursor *p, struct value *v)
{
    v->key = copy_name(g, take_string(p));
    v->kind = (int)take_number(p, 4);
    v->at = g->head + p->at;
    if (!v->key || v->kind < 0 || v->kind >= KINDS)
        return OA_FORMAT;
    if (v->kind == ARRAY)
        return read_array(g, p, v);
    if (v->kind != STRING)
        return take(p, (uint64_t)size_of_kind[v->kind]) ? OA_OK : OA_FORMAT;
    if (!take_string(p))
        return OA_FORMAT;
    v->text = copy_name(g, v->at);
    return oa_status(g->context);
}

static enum oa_error read_tensor(struct oa_gguf *g, struct cursor *p, struct oa_gguf_tensor *t)
{
    t->name = copy_name(g, take_string(p));
    t->dims = (int)take_number(p, 4);
    if (!t->name || t->dims < 1 || t->dims > 4)
        return OA_FORMAT;
    for (int i = t->dims - 1; i >= 0; i--) { /* innermost first */
        uint64_t n = take_number(p, 8);
        if (n < 1 || n > 1u << 30)
            return OA_FORMAT;
        t->dim[i] = (long)n;
    }
    t->type = (int)take_number(p, 4);
    t->offset = take_number(p, 8);
    return p->beyond ? OA_FORMAT : OA_OK;
}

static long elements_of(const struct oa_gguf_tensor *t)
{
    long n = 1;
    for (int i = 0; i < t->dims; i++)
        if (__builtin_mul_overflow(n, t->dim[i], &n) || n > 1L << 40)
            return -1;
    return n;
}

/* Of types that are not known the size is not either. */
static enum oa_error place_tensor(struct oa_gguf *g, uint64_t begin, struct oa_gguf_tensor *t)
{
    const struct oa_gguf_type *type = oa_gguf_type_at(t->type);
    long n = elements_of(t);
    uint64_t bytes = 0;
    if (n < 0 || (type && t->dim[t->dims - 1] % type->values))
        return OA_FORMAT;
    if (type)
        bytes = (uint64_t)(n / type->values) * (uint64_t)type->bytes;
    if (t->offset > g->size - begin || bytes > g->size - begin - t->offset)
        return oa_fail(g->context, OA_FORMAT,
                       "%s is truncated: tensor %s ends beyond the %llu bytes of the file", g->path,
                       t->name, (unsigned long long)g->size);
    t->offset += begin;
    return OA_OK;
}

static enum oa_error read_head(struct oa_gguf *g, struct cursor *p)
{
    uint64_t version = (take(p, 4), take_number(p, 4)), tensors = take_number(p, 8),
             keys = take_number(p, 8);
    if (version < 2 || version > 3)
        return oa_fail(g->context, OA_UNSUPPORTED, "%s is GGUF of version %llu; 2 and 3 are read",
                       g->path, (unsigned long long)version);
    if (keys > MOST_KEYS || tensors > MOST_TENSORS)
        return OA_FORMAT;
    g->value = oa_alloc(g->context, (keys + 1) * sizeof *g->value);
    g->tensor = oa_alloc(g->context, (tensors + 1) * sizeof *g->tensor);
    if (!g->value || !g->tensor)
        return OA_NO_MEMORY;
    while (g->values < (int)keys)
        OA_TRY(read_value(g, p, &g->value[g->values++]));
    while (g->tensors < (int)tensors)
        OA_TRY(read_tensor(g, p, &g->tensor[g->tensors++]));
    double alignment = oa_gguf_number(g, "general.alignment", 32);
    if (!(alignment >= 1 && alignment <= 1 << 20))
        return OA_FORMAT;
    uint64_t step = (uint64_t)alignment, begin = (p->at + step - 1) / step * step;
    for (int i = 0; i < g->tensors; i++)
        OA_TRY(begin <= g->size ? place_tensor(g, begin, &g->tensor[i]) : OA_FORMAT);
    return OA_OK;
}

/* ---- the file ---- */

static enum oa_error read_gguf_bytes(const struct oa_gguf *g, uint64_t at, size_t n, uint8_t *out)
{
    for (size_t done = 0; done < n;) {
        ssize_t some = pread(g->file, out + done, n - done, (off_t)(at + done));
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return oa_fail(g->context, OA_IO, "cannot read %s at byte %llu: %s", g->path,
                           (unsigned long long)(at + done),
                           some ? strerror(errno) : "it became shorter");
        done += (size_t)some;
    }
    return OA_OK;
}

static enum oa_error open_file(struct oa_gguf *g)
{
    struct stat about;
    g->file = open(g->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (g->file < 0 || fstat(g->file, &about) != 0)
        return oa_fail(g->context, OA_IO, "cannot open %s: %s", g->path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return oa_fail(g->context, OA_IO, "%s is no regular file", g->path);
    g->size = (uint64_t)about.st_size;
    return OA_OK;
}

static void free_head(struct oa_gguf *g)
{
    for (int i = 0; i < g->values; i++) {
        oa_free(g->value[i].key);
        oa_free(g->value[i].string);
        oa_free(g->value[i].text);
    }
    for (int i = 0; i < g->tensors; i++)
        oa_free((void *)(uintptr_t)g->tensor[i].name);
    oa_free(g->value);
    oa_free(g->tensor);
    oa_free(g->head);
    g->value = NULL;
    g->tensor = NULL;
    g->head = NULL;
    g->values = g->tensors = 0;
}

/* The head has no size of its own: it is read in growing portions until all of it is there. */
static enum oa_error find_head(struct oa_gguf *g)
{
    uint8_t magic[4] = { 0 };
    OA_TRY(g->size >= 24 ? read_gguf_bytes(g, 0, 4, magic) : OA_OK);
    if (memcmp(magic, "GGUF", 4) != 0)
        return oa_fail(g->context, OA_FORMAT, "%s is no GGUF file", g->path);
    for (uint64_t portion = 1 << 22;; portion *= 4) {
        struct cursor p = { .g = g };
        g->have = portion < g->size ? portion : g->size;
        g->head = oa_alloc(g->context, g->have + 8);
        if (!g->head)
            return OA_NO_MEMORY;
        OA_TRY(read_gguf_bytes(g, 0, g->have, g->head));
        enum oa_error e = read_head(g, &p);
        if (oa_status(g->context) != OA_OK || e == OA_OK)
            return e;
        if (!p.beyond || g->have == g->size)
            return oa_fail(g->context, OA_FORMAT, "%s is not a valid GGUF file (at byte %llu)",
                           g->path, (unsigned long long)p.at);
        free_head(g);
    }
}

enum oa_error oa_gguf_open(oa_context *c, const char *path, struct oa_gguf **out)
{
    struct oa_gguf *g = *out = oa_alloc(c, sizeof *g);
    if (!g)
        return OA_NO_MEMORY;
    g->context = c;
    g->file = -1;
    snprintf(g->path, sizeof g->path, "%s", path);
    OA_TRY(open_file(g));
    return find_head(g);
}

void oa_gguf_close(struct oa_gguf *g)
{
    if (!g)
        return;
    if (g->file >= 0)
        close(g->file);
    free_head(g);
    oa_free(g);
}

const char *oa_gguf_path(const struct oa_gguf *g)
{
    return g->path;
}

/* ---- values ---- */

static const struct value *gguf_value(const struct oa_gguf *g, const char *key)
{
    for (int i = 0; i < g->values; i++)
        if (g->value[i].key && strcmp(g->value[i].key, key) == 0)
            return &g->value[i];
    return NULL;
}

static double number_of_kind(int kind, const uint8_t *at)
{
    uint64_t bits = size_of_kind[kind] ? oa_get_little_endian(at, size_of_kind[kind]) : 0;
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    switch (kind) {
    case I8:
        return (int8_t)bits;
    case I16:
        return (int16_t)bits;
    case I32:
        return (int32_t)bits;
    case I64:
        return (double)(int64_t)bits;
    case F32:
        memcpy(&f, &low, sizeof f);
        return (double)f;
    case F64:
        memcpy(&d, &bits, sizeof d);
        return d;
    default:
        return (double)bits;
    }
}

bool oa_gguf_has(const struct oa_gguf *g, const char *key)
{
    return gguf_value(g, key) != NULL;
}

double oa_gguf_number(const struct oa_gguf *g, const char *key, double fallback)
{
    const struct value *v = gguf_value(g, key);
    return v && v->kind != STRING && v->kind != ARRAY ? number_of_kind(v->kind, v->at) : fallback;
}

const char *oa_gguf_string(const struct oa_gguf *g, const char *key)
{
    const struct value *v = gguf_value(g, key);
    return v ? v->text : NULL;
}

long oa_gguf_count(const struct oa_gguf *g, const char *key)
{
    const struct value *v = gguf_value(g, key);
    return v && v->kind == ARRAY ? (long)v->count : 0;
}

const char *oa_gguf_string_at(const struct oa_gguf *g, const char *key, long i, size_t *length)
{
    const struct value *v = gguf_value(g, key);
    *length = 0;
    if (!v || v->kind != ARRAY || v->of != STRING || i < 0 || (uint64_t)i >= v->count)
        return NULL;
    *length = (size_t)oa_get_little_endian(v->string[i], 8);
    return (const char *)v->string[i] + 8;
}

double oa_gguf_number_at(const struct oa_gguf *g, const char *key, long i)
{
    const struct value *v = gguf_value(g, key);
    if (!v || v->kind != ARRAY || v->of == STRING || i < 0 || (uint64_t)i >= v->count)
        return 0;
    return number_of_kind(v->of, v->at + (uint64_t)i * (uint64_t)size_of_kind[v->of]);
}

/* ---- tensors ---- */

int oa_gguf_tensors(const struct oa_gguf *g)
{
    return g->tensors;
}

const struct oa_gguf_tensor *oa_gguf_tensor_at(const struct oa_gguf *g, int i)
{
    return &g->tensor[i];
}

enum oa_error oa_gguf_read(const struct oa_gguf *g, const struct oa_gguf_tensor *t, float *out)
{
    const struct oa_gguf_type *type = oa_gguf_type_at(t->type);
    if (!type)
        return oa_fail(g->context, OA_UNSUPPORTED,
                       "%s: tensor %s has the type %d of ggml; F32, F16, BF16, Q4_0, Q4_1, Q5_0, "
                       "Q5_1, Q8_0, Q4_K, Q5_K and Q6_K are read",
                       g->path, t->name, t->type);
    long blocks = elements_of(t) / type->values;
    uint8_t *some = oa_alloc(g->context, (size_t)BLOCKS * (size_t)type->bytes);
    enum oa_error e = some ? OA_OK : OA_NO_MEMORY;
    for (long done = 0, n; e == OA_OK && done < blocks; done += n) {
        n = blocks - done < BLOCKS ? blocks - done : BLOCKS;
        e = read_gguf_bytes(g, t->offset + (uint64_t)done * (uint64_t)type->bytes,
                            (size_t)n * (size_t)type->bytes, some);
        for (long i = 0; e == OA_OK && i < n; i++)
            type->read(some + i * type->bytes, out + (done + i) * type->values);
    }
    oa_free(some);
    return e;
}
