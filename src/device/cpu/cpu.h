/* SPDX-License-Identifier: Apache-2.0
 * Private to src/device/cpu: the functions of the CPU device, oa_cpu_NAME for each of
 * operations.def, and how they cut work. */
#ifndef ORTHANT_DEVICE_CPU_CPU_H
#define ORTHANT_DEVICE_CPU_CPU_H

#include "base/processor.h"
#include "device/device.h"
#include "kernels/kernels.h"

/* Kernels, and the state of their matrix products. */
struct oa_cpu_state {
    struct oa_kernels kernels; /* of the device's precision and the context's instruction set */
    struct oa_gemm_state *
        *gemm; /* one per worker; NULL on the plan device, which only needs block sizes */
    unsigned long products; /* number of products cut into parts so far */
    /* For engines that compute only in reals: the kernels above, or those of f32 where acts are
     * bf16. */
    struct oa_kernels real_kernels;
    struct oa_gemm_state **real_gemm;
};
enum oa_error oa_cpu_state_open(struct oa_device *d); /* d->cpu, without states */
void oa_cpu_state_close(
    struct oa_device *d); /* with states, where there are any; after an open that failed, too */

/* Rows an item of elementwise work handles: about 16 K elements, so that an item is worth handing
 * out and stays in the L1 and L2 caches. Depends on the shape only. */
static inline long oa_item_rows(long cols)
{
    return oa_max(1, 16384 / oa_max(1, cols));
}

/* Rows of sequence b that are not padding; lengths NULL: all. */
static inline long oa_real_length(const int32_t *lengths, long b, long length)
{
    return lengths ? oa_max(0, oa_min(lengths[b], length)) : length;
}

/* Dropout addresses elements row by row, each row starting at a block of the generator: row i,
 * column j is element i·oa_dropout_stride(cols) + j. */
static inline uint64_t oa_dropout_stride(long cols)
{
    return (uint64_t)(cols + 3) / 4 * 4;
}

/* cpu_loss.c: how linear_loss cuts its rows. */
struct oa_loss_plan {
    long rows; /* of a block, whose logits exist at a time; blocks are equal */
    long ld;   /* elements from one row of logits to the next */
    size_t logits_weights, dx_weights; /* bytes of W packed for these products; 0: not packed */
};
struct oa_loss_plan oa_loss_plan_of(struct oa_device *d, const struct oa_linear_loss *a);

/* Scratch of the backward pass: the gradient of the gain by each item of rows. */
static inline size_t oa_row_map_partials(const struct oa_device *d, const struct oa_row_map *a)
{
    long items = oa_blocks(a->tokens, oa_item_rows(a->heads * a->width));
    return (size_t)(items * a->width) * d->numbers.real_size;
}

/* Scratch of the backward pass: one row of sums for each (b,h), where tokens share their logits. */
static inline size_t oa_band_shared_bytes(const struct oa_band *a)
{
    bool wanted = a->dlogits && !a->tokens && a->taps > 0;
    return wanted ? (size_t)(a->shape.batch * a->shape.heads * a->taps) * sizeof(double) : 0;
}

#define OA_DO(name, parameters, arguments) void oa_cpu_##name parameters;
#define OA_ASK(type, name, parameters, arguments) type oa_cpu_##name parameters;
#include "device/operations.def"

/* cpu_key_heads.c: gradients of keys or values where query heads share a head of them (key_heads of
 * the shape). The engines write the gradients of each query head, act rows of H·width columns, into
 * the device's scratch; then they are added up. */
static inline bool oa_shares_key_heads(const struct oa_attention_shape *s)
{
    return oa_key_heads(s) < s->heads;
}

/* The leading dimension of the gradient that an engine writes, where that of x is `ld`. */
static inline long oa_key_gradient_ld(const struct oa_attention_shape *s, long width, long ld)
{
    return oa_shares_key_heads(s) ? s->heads * width : ld;
}

size_t oa_key_gradient_bytes(const struct oa_device *d, const struct oa_attention_shape *s,
                             long width);
/* Where the engine writes the gradient x (NULL: not wanted): x itself, or scratch. */
void *oa_key_gradient_open(struct oa_device *d, const struct oa_attention_shape *s, long width,
                           void *x);
/* Adds up the gradients written there into x. */
void oa_key_gradient_close(struct oa_device *d, const struct oa_attention_shape *s, long width,
                           const void *written, void *x, long ld);

/* cpu_gemm_packed.c: a product of which one operand is packed first. The bytes of the device's
 * scratch that it needs; 0: the product is not computed in this way. */
size_t oa_packed_bytes(const struct oa_device *d, const struct oa_gemm *g);
void oa_packed_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b,
                    void *c);
/* With a B that pack_weights made. */
void oa_weights_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a,
                     const void *packed, void *c);

/* cpu_pieces.c: whether the engine runs over the pieces of the support; the two passes. For the
 * plan device: the bytes of their copies, taken from the device's scratch and released;
 * oa_tiles_pairs over the pieces. */
bool oa_pieces_wanted(const struct oa_logits *a);
void oa_pieces_forward(struct oa_device *d, const struct oa_logits *a);
void oa_pieces_gradient(struct oa_device *d, const struct oa_logits *a);
double oa_pieces_copies(struct oa_device *d, const struct oa_logits *a, bool gradient);
double oa_pieces_pairs(struct oa_device *d, const struct oa_logits *a);

/* Parts of linear attention: the denominator after its policy; one token with a state
 * (cpu_linear_step.c). */
double oa_guarded_denominator(enum oa_denominator policy, double epsilon, double den);
bool oa_linear_step_wanted(const struct oa_linear_attention *a);
void oa_linear_step(struct oa_device *d, const struct oa_linear_attention *a);

#endif
