/* SPDX-License-Identifier: Apache-2.0
 * Tensor files (safetensors): reading, writing, digests of tensors. */
#ifndef ORTHANT_BASE_SAFETENSORS_H
#define ORTHANT_BASE_SAFETENSORS_H

#include "base/base.h"

/* One tensor of a file; data row-major, little-endian. */
struct oa_array {
    char *name;
    enum oa_type type;
    int dims;
    long dim[8];
    const void *data;
    size_t bytes;
    /* For writing, instead of data: returns the bytes, valid until the next call; NULL after a
     * recorded failure. Called twice. */
    const void *(*make)(void *argument, const struct oa_array *a);
    void *argument;
};
/* An open file, fully validated: bounds, overlaps, gaps, duplicates, checksum if present. */
struct oa_tensors;
enum oa_error oa_tensors_open(oa_context *c, const char *path, struct oa_tensors **out);
void oa_tensors_close(struct oa_tensors *f);
int oa_tensors_count(const struct oa_tensors *f);
const struct oa_array *oa_tensors_at(const struct oa_tensors *f, int i);
const struct oa_array *oa_tensors_find(const struct oa_tensors *f, const char *name);
const char *oa_tensors_metadata(const struct oa_tensors *f, const char *key); /* NULL when absent */
/* Writes atomically and durably (as oa_file_write), streaming from the arrays. metadata: key,
 * value, …, NULL; or NULL. */
enum oa_error oa_tensors_write(oa_context *c, const char *path, const struct oa_array *arrays,
                               int count, const char *const *metadata);
/* The same with a checksum of the whole file in the metadata (docs/interop.md: The checksum). */
#define OA_CHECKSUM_KEY "orthant.seal"
enum oa_error oa_tensors_write_checksummed(oa_context *c, const char *path,
                                           const struct oa_array *arrays, int count,
                                           const char *const *metadata);
/* Element i as a double, whatever its type. */
double oa_array_value(const struct oa_array *a, size_t i);
/* Of the concatenated data of all arrays. */
struct oa_digest oa_digest_of_arrays(const struct oa_array *arrays, int count);

#endif
