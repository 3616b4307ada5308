/* SPDX-License-Identifier: Apache-2.0
 * Private to the logits engine on the GPU device: arguments of the kernels of logits.cl, and the
 * pieces of sparse supports. */
#ifndef ORTHANT_DEVICE_GPU_GPU_LOGITS_H
#define ORTHANT_DEVICE_GPU_GPU_LOGITS_H

#include "device/gpu/gpu.h"
#include "device/support_functions.h"

enum {
    OA_GPU_TILE = 64,            /* TILE of logits.cl */
    OA_GPU_CHUNK = 128,          /* CHUNK of logits.cl */
    OA_GPU_BAND_BYTES = 64 << 20 /* of logits that are stored for some blocks of queries */
};

struct oa_gpu_part { /* part of logits.cl */
    long kind, width;
    double scale;
    const void *q;
    long ldq, q_table, q_head_stride;
    const void *k;
    long ldk, folds, k_table, k_head_stride;
    const void *bias;
    long bias_head_stride;
    const void *table;
    long table_length;
};

struct oa_gpu_attention { /* attention of logits.cl */
    long batch, queries, keys, heads, key_heads, value_width, causal, first, summaries,
        key_head_rows;
    double cap;
    const int32_t *key_lengths, *query_lengths;
    long form, parameter[4];
    const void *layout, *alpha, *distances;
    long distance_length;
    const void *query_position, *key_position, *forget_query, *forget_key;
    long forget_query_rows, forget_key_rows;
    const void *v;
    long ldv;
    void *o;
    long ldo;
    const void *d_o;
    long normaliser;
    const void *sink;
    void *lse, *delta;
    struct oa_gpu_dropout drop;
    struct oa_row_order query_order, key_order;
    long query_rows, key_rows, merge;
    long degree;
    double bias;
    long parts;
    void *more;
    struct oa_gpu_part first_part;
};

/* POLYNOMIAL of logits.cl, after the normalisers of operations.h. */
enum { OA_GPU_NORMALISE_POLYNOMIAL = OA_NORMALISE_ENTMAX + 1 };

struct oa_gpu_part oa_gpu_part_of(const struct oa_logits_part *p);
/* Takes memory where there are several parts. */
struct oa_gpu_attention oa_gpu_attention_of(struct oa_device *d, const struct oa_logits *a);

static inline long oa_gpu_query_blocks(const struct oa_gpu_attention *x)
{
    return x->batch * x->heads * oa_blocks(x->queries, OA_GPU_TILE);
}

static inline long oa_gpu_key_tiles(const struct oa_gpu_attention *x)
{
    return oa_blocks(x->keys, OA_GPU_TILE);
}

/* Blocks of queries whose logits are stored at a time. */
long oa_gpu_band_blocks(const struct oa_device *d, const struct oa_gpu_attention *x);

/* Whether the support is walked piece by piece (cpu_pieces.c: with the same masks of dropout);
 * piece `number` of x, false if there is none. */
bool oa_gpu_pieces_wanted(const struct oa_logits *a);
bool oa_gpu_piece(const struct oa_logits *a, const struct oa_gpu_attention *x, int number,
                  struct oa_gpu_attention *piece);

/* O and lse, or den, of an attention. */
void oa_gpu_attend(struct oa_device *d, const struct oa_gpu_attention *x);
/* Gradients of a, whose attention is x. */
void oa_gpu_attend_gradient(struct oa_device *d, const struct oa_logits *a,
                            struct oa_gpu_attention *x);

#endif
