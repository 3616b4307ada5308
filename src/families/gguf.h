/* SPDX-License-Identifier: Apache-2.0
 * Files of GGUF, the format of llama.cpp, versions 2 and 3, little-endian: keys with values,
 * and tensors, many of them quantised. Everything in the file is checked against its size before it
 * is used. */
#ifndef ORTHANT_GGUF_H
#define ORTHANT_GGUF_H

#include "base/base.h"

struct oa_gguf;
enum oa_error oa_gguf_open(oa_context *c, const char *path, struct oa_gguf **out);
void oa_gguf_close(struct oa_gguf *g);
const char *oa_gguf_path(const struct oa_gguf *g);

/* Values by key. A key that is missing, or of another kind, gives the fallback. */
double oa_gguf_number(const struct oa_gguf *g, const char *key, double fallback);
/* Borrowed; ended by a zero. */
const char *oa_gguf_string(const struct oa_gguf *g, const char *key);
bool oa_gguf_has(const struct oa_gguf *g, const char *key);
/* Elements of an array of strings or numbers; 0: there is none. */
long oa_gguf_count(const struct oa_gguf *g, const char *key);
/* Element i of an array of strings, not ended by a zero. */
const char *oa_gguf_string_at(const struct oa_gguf *g, const char *key, long i, size_t *length);
double oa_gguf_number_at(const struct oa_gguf *g, const char *key, long i);

struct oa_gguf_tensor {
    const char *name;
    int dims;
    long dim[4]; /* outermost first, as in safetensors */
    int type;
    uint64_t offset; /* in the file */
};
int oa_gguf_tensors(const struct oa_gguf *g);
const struct oa_gguf_tensor *oa_gguf_tensor_at(const struct oa_gguf *g, int i);
/* All elements as float: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K.
 * OA_UNSUPPORTED names another type. */
enum oa_error oa_gguf_read(const struct oa_gguf *g, const struct oa_gguf_tensor *t, float *out);

/* gguf_blocks.c: a type of tensors. */
struct oa_gguf_type {
    const char *name;  /* NULL: not supported */
    int values, bytes; /* of a block */
    void (*read)(const uint8_t *block, float *out);
};
/* NULL: unknown. */
const struct oa_gguf_type *oa_gguf_type_at(int type);

#endif
