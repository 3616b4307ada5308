/* SPDX-License-Identifier: Apache-2.0
 * Private to src/device: the functions of the CPU device, file by file, and how they cut work. */
#ifndef ORTHANT_DEVICE_CPU_H
#define ORTHANT_DEVICE_CPU_H

#include "device/device.h"

/* Address of element i of an array of `size`-byte elements; NULL stays NULL (operands that are not there). */
static inline void *oa_at(const void *x, size_t size, long i)
{
    return x ? (char *)(uintptr_t)x + (size_t)i * size : NULL;
}

static inline void *oa_act_at(const struct oa_device *d, const void *x, long i)
{
    return oa_at(x, d->kernels.act_size, i);
}

static inline void *oa_real_at(const struct oa_device *d, const void *x, long i)
{
    return oa_at(x, d->kernels.real_size, i);
}

static inline double oa_real_get(const struct oa_device *d, const void *x, long i)
{
    return d->kernels.real == OA_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static inline void oa_real_set(const struct oa_device *d, void *x, long i, double value)
{
    if (d->kernels.real == OA_F64)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

static inline long oa_min(long a, long b)
{
    return a < b ? a : b;
}

static inline long oa_max(long a, long b)
{
    return a > b ? a : b;
}

/* Number of blocks of `block` that cover n. */
static inline long oa_blocks(long n, long block)
{
    return (n + block - 1) / block;
}

/* Rows an item of elementwise work handles: about 16 K elements, so that an item is worth handing out and stays in the
 * L1 and L2 caches. Depends on the shape only. */
static inline long oa_item_rows(long cols)
{
    return oa_max(1, 16384 / oa_max(1, cols));
}

/* Dropout addresses elements row by row, each row starting at a block of the generator: row i, column j is element
 * i·oa_dropout_stride(cols) + j. */
static inline uint64_t oa_dropout_stride(long cols)
{
    return (uint64_t)(cols + 3) / 4 * 4;
}

/* Rows of logits that exist at a time in linear_loss: at most 64 M elements. */
static inline long oa_loss_rows(const struct oa_linear_loss *a)
{
    return oa_max(1, oa_min(a->rows, 64L * 1024 * 1024 / a->vocabulary));
}

/* Polynomials of degree 2 of rows of this width (kernels.h: quadratic). */
static inline long oa_quadratic_features(long width, const double c[3])
{
    return (c[0] != 0) + (c[1] != 0) * width + width * (width + 1) / 2;
}

/* How far a Gaussian band reaches beyond its largest weight (cpu_band.c derives 9.2 σ), and its taps. */
static inline long oa_band_reach(double sigma)
{
    return (long)(9.2 * sigma) + 2;
}

static inline long oa_band_taps(const struct oa_band *a)
{
    return a->taps ? a->taps : oa_min(a->shape.keys, 2 * oa_band_reach(a->sigma) + 1);
}

/* Keys that a causal query looks back on, itself included: the band ends at the query, and lies around a centre that
 * may be before it. */
static inline long oa_band_span(const struct oa_band *a)
{
    long behind = a->offset < 0 ? (long)(1 - a->offset) : 0;
    return a->taps ? a->before + 1 : oa_band_reach(a->sigma) + behind + 1;
}

/* Scratch of the backward pass: one row of sums for each (b,h), where tokens share their logits. */
static inline size_t oa_band_shared_bytes(const struct oa_band *a)
{
    bool wanted = a->dlogits && !a->tokens && a->taps > 0;
    return wanted ? (size_t)(a->shape.batch * a->shape.heads * a->taps) * sizeof(double) : 0;
}

/* cpu_basic.c */
void oa_cpu_zero(struct oa_device *d, size_t bytes, void *x);
void oa_cpu_act_from_real(struct oa_device *d, long n, const void *x, void *y);
void oa_cpu_real_from_act(struct oa_device *d, long n, const void *x, void *y);
void oa_cpu_add(struct oa_device *d, long n, const void *x, const void *y, void *sum);
void oa_cpu_gelu(struct oa_device *d, long n, const void *x, void *y);
void oa_cpu_gelu_gradient(struct oa_device *d, long n, const void *x, const void *dy, void *dx);
void oa_cpu_gelu_exact(struct oa_device *d, long n, const void *x, void *y);
void oa_cpu_gelu_exact_gradient(struct oa_device *d, long n, const void *x, const void *dy, void *dx);
void oa_cpu_relu(struct oa_device *d, long n, const void *x, void *y);
void oa_cpu_relu_gradient(struct oa_device *d, long n, const void *x, const void *dy, void *dx);

/* cpu_rows.c */
void oa_cpu_add_bias(struct oa_device *d, long rows, long cols, const void *bias, void *y, long ldy);
void oa_cpu_column_sums(struct oa_device *d, long rows, long cols, const void *x, long ldx, void *sums);
void oa_cpu_feature(struct oa_device *d, enum oa_feature f, int degree, long rows, long width, const void *x, long ldx,
                    void *y, long ldy);
void oa_cpu_feature_gradient(struct oa_device *d, enum oa_feature f, int degree, long rows, long width, const void *x,
                             long ldx, const void *dy, long lddy, void *dx, long lddx);
void oa_cpu_select_rows(struct oa_device *d, long rows, long cols, long length, const int32_t *lengths, const void *x,
                        long ldx, void *y, long ldy);
void oa_cpu_scale_columns(struct oa_device *d, long rows, long cols, const void *factor, const void *x, long ldx,
                          void *y, long ldy);
void oa_cpu_scale_columns_gradient(struct oa_device *d, long rows, long cols, const void *x, long ldx, const void *dy,
                                   long lddy, void *dfactor);
void oa_cpu_rotate(struct oa_device *d, long tokens, long length, long heads, long width, const void *cosine,
                   const void *sine, double sign, void *x, long ldx);

/* cpu_features.c */
void oa_cpu_place(struct oa_device *d, long tokens, long length, long heads, long width, const double *angles,
                  const void *x, void *y);
void oa_cpu_place_gradient(struct oa_device *d, long tokens, long length, long heads, long width, const double *angles,
                           const void *x, const void *dy, void *dx);
void oa_cpu_product(struct oa_device *d, long n, double a, const void *x, const void *y, void *z);

/* cpu_random_statistics.c, cpu_random_features.c */
void oa_cpu_random_statistics(struct oa_device *d, const struct oa_random_statistics *a);
void oa_cpu_moments_change(struct oa_device *d, const struct oa_moments_change *a); /* cpu_moments.c */
void oa_cpu_random_features(struct oa_device *d, const struct oa_random_features *a);
void oa_cpu_random_features_gradient(struct oa_device *d, const struct oa_random_features *a);

/* cpu_gemm.c */
void oa_cpu_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b, void *c);

/* cpu_norm.c */
void oa_cpu_residual_norm(struct oa_device *d, const struct oa_residual_norm *a);
void oa_cpu_residual_norm_gradient(struct oa_device *d, const struct oa_residual_norm *a);

/* cpu_embedding.c */
void oa_cpu_embed(struct oa_device *d, const struct oa_embedding *a);
void oa_cpu_embed_gradient(struct oa_device *d, const struct oa_embedding *a);

/* cpu_loss.c */
void oa_cpu_linear_loss(struct oa_device *d, const struct oa_linear_loss *a);

/* cpu_update.c */
void oa_cpu_adamw(struct oa_device *d, long n, const struct oa_adamw *h, void *w, void *m, void *v, const void *g);
void oa_cpu_sgd(struct oa_device *d, long n, double lr, double momentum, double weight_decay, double gradient_scale,
                void *w, void *m, const void *g);
void oa_cpu_adafactor(struct oa_device *d, const struct oa_adafactor *a); /* cpu_adafactor.c */
void oa_cpu_axpy(struct oa_device *d, long n, double a, const void *x, void *y);
double oa_cpu_sum_squares(struct oa_device *d, long n, const void *x);

/* cpu_logits.c, cpu_tables.c, cpu_linear_attention.c, cpu_pattern.c, cpu_band.c: the attention engines */
void oa_cpu_logits(struct oa_device *d, const struct oa_logits *a);
void oa_cpu_logits_gradient(struct oa_device *d, const struct oa_logits *a);
void oa_cpu_linear_attention(struct oa_device *d, const struct oa_linear_attention *a);
void oa_cpu_linear_attention_gradient(struct oa_device *d, const struct oa_linear_attention *a);
/* cpu_pieces.c: whether the engine runs over the pieces of the support; the two passes. For the plan device: the bytes
 * of their copies, taken of the device's scratch and given back; oa_tiles_pairs over the pieces. */
bool oa_pieces_wanted(const struct oa_logits *a);
void oa_pieces_forward(struct oa_device *d, const struct oa_logits *a);
void oa_pieces_gradient(struct oa_device *d, const struct oa_logits *a);
double oa_pieces_copies(struct oa_device *d, const struct oa_logits *a, bool gradient);
double oa_pieces_pairs(struct oa_device *d, const struct oa_logits *a);
void oa_cpu_polynomial(struct oa_device *d, const struct oa_polynomial *a); /* cpu_polynomial.c */
void oa_cpu_polynomial_gradient(struct oa_device *d, const struct oa_polynomial *a);
void oa_cpu_pattern(struct oa_device *d, const struct oa_pattern_attention *a);
void oa_cpu_pattern_gradient(struct oa_device *d, const struct oa_pattern_attention *a);
void oa_cpu_band(struct oa_device *d, const struct oa_band *a);
void oa_cpu_band_gradient(struct oa_device *d, const struct oa_band *a);

/* Parts of linear attention: the denominator after its policy; one token with a state (cpu_linear_step.c). */
double oa_guarded_denominator(enum oa_denominator policy, double epsilon, double den);
bool oa_linear_step_wanted(const struct oa_linear_attention *a);
void oa_linear_step(struct oa_device *d, const struct oa_linear_attention *a);

/* cpu_length.c */
void oa_cpu_project_length(struct oa_device *d, const struct oa_length_projection *a);
void oa_cpu_project_length_gradient(struct oa_device *d, const struct oa_length_projection *a);

/* cpu_transform.c */
void oa_cpu_transform(struct oa_device *d, const struct oa_transform *a);
void oa_cpu_transform_gradient(struct oa_device *d, const struct oa_transform *a);

/* cpu_mixer.c */
void oa_cpu_mask_rows(struct oa_device *d, long rows, long cols, const int32_t *high, const void *x, void *y);
void oa_cpu_mask_rows_gradient(struct oa_device *d, long rows, long cols, const int32_t *high, const void *dy,
                               void *dx);
void oa_cpu_add_position_bias(struct oa_device *d, long rows, long cols, long length, const void *bias, void *y,
                              long ldy);
void oa_cpu_position_sums(struct oa_device *d, long rows, long cols, long length, const void *x, long ldx, void *sums);
void oa_cpu_mixer_steps(struct oa_device *d, const struct oa_mixer_steps *a); /* cpu_mixer_steps.c */

/* cpu_gate.c */
void oa_cpu_gate(struct oa_device *d, long rows, long cols, const void *x, void *y);
void oa_cpu_gate_gradient(struct oa_device *d, long rows, long cols, const void *x, const void *dy, void *dx);

#endif
