/* SPDX-License-Identifier: Apache-2.0
 * Private to linear attention and state updates on the GPU: tokens in chunks, and products of the
 * matrices that each (b,h) has for each chunk (chunks.cl), of all chunks at once. */
#ifndef ORTHANT_DEVICE_GPU_GPU_CHUNKS_H
#define ORTHANT_DEVICE_GPU_GPU_CHUNKS_H

#include "device/gpu/gpu.h"

enum { OA_GPU_CHUNK = 64 };

enum oa_chunk_form { OA_CHUNK_REALS, OA_CHUNK_ACTS, OA_CHUNK_SQUARED };

/* Element (row, col) of (b,h), number `pair` of those at work, in a chunk: x[b·batch +
 * ⌊h/sharing⌋·head + pair·… + chunk·… + row·ld + col] times factor[row]. With `rows` the rows are
 * tokens, so many of a sequence; those beyond its length are zeros and not read. */
struct oa_chunk_matrix {
    const void *x;
    long form, turned /* as an operand: transposed */, ld, batch, head, sharing, pair, chunk;
    const int32_t *lengths;
    long rows;
    const void *factor; /* real [pairs, chunks, CHUNK]; NULL: 1 */
};

enum { OA_CHUNK_THROUGH = 1, OA_CHUNK_BELOW = 2 }; /* masks: j ≤ i, j < i */

/* Of each chunk C [m, n] = last_factor_i e^{column_exponent_j − row_exponent_i} (factor_i scale
 * (A B + outer_row_i outer_column_j) + own_a own_b), zeros where it is masked; without
 * exponents, factors … these are 1, and the outer product is 0. Those of rows are real [pairs,
 * chunks, CHUNK], outer_column has the strides of b. */
struct oa_chunk_product {
    long heads, chunks, first; /* H; chunks of a (b,h); the first (b,h) of those at work */
    long m, n, k, own_k, mask;
    long ordered;    /* row i of own_a ends at i */
    long accumulate; /* C of reals is added to */
    double scale;
    struct oa_chunk_matrix a, b, own_a, own_b, c;
    const void *outer_row, *outer_column, *factor, *last_factor, *row_exponent, *column_exponent;
    const void *pairs, *coefficients; /* SQUARED: int32_t [r, 2], real [r] */
};

/* Real [rows, cols] of each chunk in memory of the device; `spare` more after the chunks of a pair.
 */
struct oa_chunk_matrix oa_chunk_scratch(const void *x, long rows, long cols, long chunks,
                                        long spare);
struct oa_chunk_matrix oa_chunk_turned(struct oa_chunk_matrix m);
struct oa_chunk_matrix oa_chunk_times(struct oa_chunk_matrix m, const void *factor);

void oa_gpu_chunk_products(struct oa_device *d, long pairs, const struct oa_chunk_product *p);
/* The scan of chunks.cl over x [pairs, chunks + 1, size]. */
void oa_gpu_chunk_scan(struct oa_device *d, long pairs, long chunks, long size, bool backward,
                       bool begun, const void *decay, long decays, long run, void *x);
/* How many (b,h) to compute at once, if each takes so many reals of scratch. */
long oa_gpu_pairs_at_once(const struct oa_device *d, long pairs, long reals);

#endif
