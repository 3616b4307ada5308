/* SPDX-License-Identifier: Apache-2.0
 * kernels: the work of one core. Pure functions on pointers: no threads, no allocation, no tensors.
 *
 * One table per precision. `act` is the type activations and matrix operands are stored in, `real`
 * the type of sums, statistics, parameters, gradients of parameters and optimiser state:
 *
 *     precision   act    real
 *     f32         f32    f32
 *     bf16        bf16   f32      (matrix units are fed bf16, sums are f32)
 *     f64         f64    f64      (plain C: for gradient checks and --precision f64)
 *
 * The isa levels: ref, avx2, avx512 choose among the files of that name; amx is avx512 with bf16
 * products on tiles, our own (gemm_amx.c) and those of oneDNN (base/processor.c requests the
 * permission of the operating system). bf16 products are also our own where vectors multiply pairs
 * (gemm_avx512bf16.c); oneDNN computes all others.
 *
 * Everything exists in plain C (ref_*.c), the reference, and a faster version overwrites a pointer
 * of the table where the processor has the instructions. Pointers marked act/real below point to
 * elements of these types. Matrices are row-major with a leading dimension (elements from one row
 * to the next). x may equal y where both are of one type and the comment has "in place". Sums are
 * computed in a fixed order that depends on sizes only. */
#ifndef ORTHANT_KERNELS_H
#define ORTHANT_KERNELS_H

#include "base/base.h"
#include "base/processor.h"

struct oa_attention_tile; /* kernels/attention_tile.h */
struct oa_attention_sums;
struct oa_attention_gradient;
struct oa_softmax_pairs;

/* C [m, n] = (accumulate ? C : 0) + op(A) [m, k] · op(B) [k, n], A and B of type act, C real or act
 * (bf16: rounded once at the end). ta: A is stored [k, m]; tb: B is stored [n, k]. accumulate needs
 * real_out. k = 0 gives zeros. */
struct oa_gemm {
    long m, n, k;
    long lda, ldb, ldc;
    bool ta, tb, accumulate, real_out;
    /* Batch invariance: each group of so many rows of C has the bits of a product of its own. 0:
     * not needed. Kernels are given 0 or 1; the device cuts larger groups. */
    long invariant_rows;
    /* For gemm_part: k of the matrix that was packed, of which B is some steps of 32 (0: k). */
    long packed_k;
    bool packed_a; /* for gemm_part: A was packed by gemm_pack_left */
    bool packed;   /* for devices: B was packed by pack_weights (operations.def) */
};
enum {
    OA_PANEL = 32,       /* rows of A or columns of B that products on tiles take at a time */
    OA_PART_DEPTH = 1536 /* largest k for which packed operands of a part are reused by the next */
};
/* A block of a matrix: rows i … i + rows − 1, columns j … j + cols − 1; i and j are multiples of
 * OA_PANEL. */
struct oa_gemm_part {
    long i, rows, j, cols;
    unsigned long product; /* parts with the same number, not 0, have the same operands, which are
                              packed once */
};
/* State of matrix products between calls (oneDNN primitives by shape, a scratch pad): one per
 * worker. */
struct oa_gemm_state;

struct oa_adamw {
    double lr, beta1, beta2, epsilon, weight_decay; /* decoupled: w ← w − lr·weight_decay·w */
    double correction1, correction2;                /* 1 − beta1^t, 1 − beta2^t */
    double gradient_scale;                          /* clipping: g is multiplied by it first */
};

enum oa_feature { OA_FEATURE_ELU, OA_FEATURE_RELU, OA_FEATURE_COS, OA_FEATURE_POWER };
/* Features of random projections t (random_features below). */
enum oa_random_feature { OA_RANDOM_EXP, OA_RANDOM_HYPERBOLIC, OA_RANDOM_TRIG, OA_RANDOM_RELU };

/* Weights of logits that are no softmax (weigh_tile). */
enum oa_weighing { OA_WEIGH_SIGMOID, OA_WEIGH_SPARSEMAX, OA_WEIGH_ENTMAX };

/* Rotary positions (Su et al. 2021) of one token: the first `turned` columns of each head turn in
 * pairs, (c, c + turned/2), or interleaved (2c, 2c + 1). cosine, sine: real [turned/2]. */
struct oa_rotation {
    long heads, width, turned; /* width: of a head */
    bool interleaved;
    const void *cosine, *sine;
};

/* A Kronecker product a row: column j of row i is q_i[l mod width]·k_i[⌊l/width⌋], l = first + j;
 * q, k act. */
struct oa_fold {
    long width, first;
    const void *q, *k;
    long ldq, ldk;
};

enum { OA_LANES = 16 };

struct oa_kernels {
    enum oa_precision precision;
    enum oa_isa isa; /* the highest that contributed */
    enum oa_type act, real;
    size_t act_size, real_size;
    const char *gemm_name; /* "onednn 2.6.3 avx512_core_bf16", "ref" */

    /* Block sizes, tuned together with the kernels. */
    long query_block, key_block; /* attention tiles: rows and columns of S; a tile of reals stays in
                                    the L2 cache */
    long row_block;              /* rows of activations handled together in elementwise work */
    long gemm_block;             /* rows of C one parallel item computes */

    /* ---- matrix products ---- */
    struct oa_gemm_state *(*gemm_open)(oa_context *c,
                                       enum oa_precision p); /* NULL + recorded error on failure */
    void (*gemm_close)(struct oa_gemm_state *s);
    /* Gives all states the primitives of each: it varies which worker runs which product, and a
     * worker could otherwise compile one long after the first step. NULL: no primitives. */
    void (*gemm_share)(struct oa_gemm_state *const *states, int count);
    void (*gemm)(struct oa_gemm_state *s, const struct oa_gemm *g, const void *a, const void *b,
                 void *c);
    /* With a packed operand (tiles; otherwise NULL): all of op(B) in the order in which the units
     * read it, packed once for all workers; then each computes parts of C, with the bits of gemm.
     */
    size_t (*gemm_packed_bytes)(const struct oa_gemm *g);
    /* A block of op(B): k by columns; packed is all of it. */
    void (*gemm_pack)(const struct oa_gemm *g, const struct oa_gemm_part *part, const void *b,
                      void *packed);
    /* A block of op(A): rows by k; packed has the bytes of an op(B) of so many columns. */
    void (*gemm_pack_left)(const struct oa_gemm *g, const struct oa_gemm_part *part, const void *a,
                           void *packed);
    void (*gemm_part)(
        struct oa_gemm_state *s, const struct oa_gemm *g, const struct oa_gemm_part *part,
        const void *a, const void *b, const void *packed,
        void *c); /* a, b, c: as for gemm; a block of c is written; packed may be NULL */

    /* ---- conversions, elementwise ---- */
    void (*zero_past)(long n,
                      void *x); /* real x = 0, stored past the caches where that is faster */
    void (*act_from_real)(long n, const void *x, void *y);
    void (*real_from_act)(long n, const void *x, void *y);
    void (*add)(long n, const void *x, const void *y,
                void *sum); /* act + act → act, in place allowed */
    void (*add_scaled)(long n, double a, const void *x, const void *y,
                       void *z); /* act z = x + a·y; x NULL: a·y; in place allowed */
    void (*add_to_real)(long n, double a, const void *x, void *y); /* y real += a · x act */
    void (*axpy)(long n, double a, const void *x, void *y);        /* y real += a · x real */
    double (*dot)(long n, const void *x, const void *y); /* real · real, summed in double */
    void (*scale_rows)(long rows, long cols, const void *factor, void *x,
                       long ldx); /* real row i *= real factor[i] */
    void (*multiply)(long n, const void *factor, const void *x,
                     void *y); /* y act = x act · factor real, in place */
    void (*multiply_gradient)(long n, const void *x, const void *dy,
                              void *dfactor); /* real dfactor += x · dy (act) */
    void (*add_bias)(long rows, long cols, const void *bias, void *y,
                     long ldy); /* act rows += real bias */
    void (*column_sums)(long rows, long cols, const void *x, long ldx,
                        void *sums); /* real sums += column sums of act */
    void (*gelu)(long n, const void *x,
                 void *y); /* act; ½x(1 + tanh(√(2/π)(x + 0.044715x³))), Hendrycks & Gimpel */
    void (*gelu_gradient)(long n, const void *x, const void *dy,
                          void *dx);                    /* in place on dy allowed */
    void (*gelu_exact)(long n, const void *x, void *y); /* act; ½x(1 + erf(x/√2)) */
    void (*gelu_exact_gradient)(long n, const void *x, const void *dy, void *dx);
    void (*gate)(long n, const void *a, const void *b, void *y); /* act; y = a·σ(b) */
    void (*gate_gradient)(long n, const void *a, const void *b, const void *dy, void *da, void *db);
    void (*gate_swish)(long n, const void *a, const void *b, void *y); /* act; y = a·b·σ(b) */
    void (*gate_swish_gradient)(long n, const void *a, const void *b, const void *dy, void *da,
                                void *db);
    void (*relu)(long n, const void *x, void *y);
    void (*relu_gradient)(long n, const void *x, const void *dy, void *dx); /* relu'(0) = 0 */
    void (*relu2)(long n, const void *x, void *y); /* act; relu(x)² (So et al. 2021) */
    void (*relu2_gradient)(long n, const void *x, const void *dy, void *dx);
    void (*silu)(long n, const void *x, void *y); /* act; x·σ(x) */
    void (*silu_gradient)(long n, const void *x, const void *dy, void *dx);
    /* y = x·u/keep, u[i] = 1 when word (first+i)%4 of oa_random_block(s, (first+i)/4) < keep·2³²;
     * the backward pass is the same call on the gradient. In place. first is a multiple of 4. */
    void (*dropout)(long n, struct oa_stream s, uint64_t first, double keep, const void *x,
                    void *y);
    /* The same on rows of reals: element (i, j) takes word j%4 of block row_block0 + i·blocks_a_row
     * + j/4. In place. */
    void (*dropout_tile)(long rows, long cols, struct oa_stream s, uint64_t block0,
                         uint64_t blocks_a_row, double keep, void *x, long ldx);
    /* x = like ≠ 0 ? x/keep : 0, both reals: drops the elements that dropout set to 0 in `like`. In
     * place. */
    void (*dropout_alike)(long n, double keep, const void *like, void *x);
    /* Real x[i] = scale·oa_random_normal(s, first + i), the same bits in every version; first is
     * even. */
    void (*normals)(long n, double scale, struct oa_stream s, uint64_t first, void *x);
    /* Rotary positions of one token; sign = −1 is the inverse (and the backward pass). In place. */
    void (*rotate)(const struct oa_rotation *r, double sign, void *x);

    /* ---- norms ----  y = (x − mean)·rstd·gain + bias, rstd = 1/√(variance + ε); x, y act [rows,
     * cols], contiguous; gain and bias may be NULL. mean NULL: root mean square norm (Zhang &
     * Sennrich 2019), y = x·rstd·gain + bias with rstd = 1/√(mean of x² + ε). */
    void (*norm)(long rows, long cols, const void *x, const void *gain, const void *bias,
                 double epsilon, void *y, void *mean, void *rstd);
    /* dx act is overwritten; dgain, dbias real are added to (either may be NULL). */
    void (*norm_gradient)(long rows, long cols, const void *x, const void *gain, const void *mean,
                          const void *rstd, const void *dy, void *dx, void *dgain, void *dbias);

    /* ---- softmax over tiles of logits (Milakov & Gimelshein 2018; Dao et al. 2022) ---- s real
     * [rows, cols]; columns low[i] ≤ j < high[i] are visible to row i (none when low ≥ high); the
     * others may have any contents, NaN included, and are never read. A visible logit may be −∞
     * (weight 0). low < 0 and high > cols are taken as 0 and cols. Weights below the least normal
     * number may be given as 0. */
    /* Real x ← cap·tanh(factor·x/cap) [n]; slope real [n]: 1 − tanh², 0 where x is NaN; or NULL. */
    void (*soft_cap)(long n, double factor, double cap, void *x, void *slope);
    /* Online step: with t = scale·s, m' = max(m, max t), rescale = e^{m − m'}, z ← z·rescale + Σ
     * e^{t − m'}, m ← m', s ← e^{t − m'} (0 where not visible); m = −∞, z = 0 at first. m, z,
     * rescale real [rows]. A row without visible columns keeps m = −∞ and gets rescale = 1 and
     * zeros. */
    void (*softmax_tile)(long rows, long cols, double scale, const int32_t *low,
                         const int32_t *high, void *s, long lds, void *m, void *z, void *rescale);
    /* The same, with the weights rounded to tiles p act [⌈rows/16⌉][⌈cols/32⌉][16][32], padded with
     * columns of zeros; s is undefined afterwards. */
    void (*softmax_to_tiles)(long rows, long cols, double scale, const int32_t *low,
                             const int32_t *high, void *s, long lds, void *m, void *z,
                             void *rescale, void *p);
    /* The same, with the weights rounded to p act [rows, cols]; s is only read. */
    void (*softmax_to_act)(long rows, long cols, double scale, const int32_t *low,
                           const int32_t *high, const void *s, long lds, void *m, void *z,
                           void *rescale, void *p, long ldp);
    /* s ← e^{scale·s − lse[i]}, 0 where not visible or when lse[i] = −∞. */
    void (*softmax_again)(long rows, long cols, double scale, const int32_t *low,
                          const int32_t *high, const void *lse, void *s, long lds);
    /* ds act = scale · p·(dp − delta[i]); p, dp real; 0 where p is 0, whatever dp is. */
    void (*softmax_gradient)(long rows, long cols, double scale, const void *p, long ldp,
                             const void *dp, long lddp, const void *delta, void *ds, long ldds);
    /* softmax_again into p act, rounded, and softmax_gradient with scale 1 of the weights before
     * rounding; s is only read. */
    void (*softmax_again_gradient)(long rows, long cols, double scale, const int32_t *low,
                                   const int32_t *high, const void *lse, const void *s, long lds,
                                   const void *dp, long lddp, const void *delta, void *p, long ldp,
                                   void *ds, long ldds);
    /* s ← factor·(columns of f) where visible, with `add` s + the same; other elements do not
     * change. */
    void (*fold_tile)(const struct oa_fold *f, bool add, double factor, long rows, long cols,
                      const int32_t *low, const int32_t *high, void *s, long lds);
    /* Over the visible columns, real dq_i[l mod width] += ds_ij·k_i[⌊l/width⌋] and dk_i[⌊l/width⌋]
     * += ds_ij·q_i[l mod width]; ds act; rows of dq are `width` apart. */
    void (*fold_gradient)(const struct oa_fold *f, long rows, long cols, const int32_t *low,
                          const int32_t *high, const void *ds, long ldds, void *dq, void *dk,
                          long lddk);
    /* Weights of t = scale·s by a number r of each row, real [rows]: σ(t − r), max(0, t − r) or
     * max(0, t/2 − r)²; 0 where not visible and where t is −∞. */
    void (*weigh_tile)(enum oa_weighing w, long rows, long cols, double scale, const int32_t *low,
                       const int32_t *high, const void *r, void *s, long lds);
    /* Of such weights p: ds act = p(1 − p)·dp, or g·(dp − delta[i]) with g = 1 where p > 0
     * (SPARSEMAX) or √p (ENTMAX); 0 where p is 0, whatever dp is. */
    void (*weigh_gradient)(enum oa_weighing w, long rows, long cols, const void *p, long ldp,
                           const void *dp, long lddp, const void *delta, void *ds, long ldds);
    /* above[i] += Σ_j g·dp, below[i] += Σ_j g, with g of SPARSEMAX or ENTMAX; all real. */
    void (*weigh_sums)(enum oa_weighing w, long rows, long cols, const void *p, long ldp,
                       const void *dp, long lddp, void *above, void *below);
    /* softmax_again and softmax_gradient at once, in the order in which tiles read them. */
    void (*softmax_pairs)(const struct oa_softmax_pairs *x);
    /* Attention of a block of queries over a tile of keys where products run on tiles (NULL
     * elsewhere), with the bits of separate products, softmax and dropout. k: the table, for its
     * softmax. */
    void (*attention_tile)(struct oa_gemm_state *s, const struct oa_kernels *k,
                           const struct oa_attention_tile *x, const struct oa_attention_sums *sums);
    void (*attention_tile_gradient)(struct oa_gemm_state *s, const struct oa_kernels *k,
                                    const struct oa_attention_tile *x,
                                    const struct oa_attention_gradient *g);
    /* Rounds a tile for the matrix units: y act = x real. */
    void (*tile_to_act)(long rows, long cols, const void *x, long ldx, void *y, long ldy);
    void (*tile_to_real)(long rows, long cols, const void *x, long ldx, void *y, long ldy);
    /* y act = x real where low ≤ j < high, else 0; sums real [rows] += the row sums of these (may
     * be NULL). */
    void (*mask_tile)(long rows, long cols, const int32_t *low, const int32_t *high, const void *x,
                      long ldx, void *y, long ldy, void *sums);
    /* out[i] = Σ_j x[i][j]·y[i][j]; x, y act; out real. */
    void (*row_dots)(long rows, long cols, const void *x, long ldx, const void *y, long ldy,
                     void *out);
    /* out[i] = Σ_j x[i][j]·y[j]; x act; y, out real. */
    void (*row_dots_real)(long rows, long cols, const void *x, long ldx, const void *y, void *out);
    /* y[j] += Σ_i w[i]·x[i][j], row after row; x act; w, y real. Rows of weight 0 are not read. */
    void (*weigh_rows)(long rows, long cols, const void *w, const void *x, long ldx, void *y);

    /* ---- feature maps of linear attention ---- act x [rows, width] → act y [rows, width·(POWER:
     * degree)]: elu: x + 1 for x > 0, else e^x; relu; cos; power: [x, x², … x^degree]. gradient: dx
     * act overwritten. */
    void (*feature)(enum oa_feature f, int degree, long rows, long width, const void *x, long ldx,
                    void *y, long ldy);
    void (*feature_gradient)(enum oa_feature f, int degree, long rows, long width, const void *x,
                             long ldx, const void *dy, long lddy, void *dx, long lddx);

    /* Positions as angles: of one token, act x [heads, width] → act y [heads, 2·width], y_h =
     * [relu(x_h)·sine, relu(x_h)·cosine]. gradient: dx act overwritten. */
    void (*place)(long heads, long width, double cosine, double sine, const void *x, void *y);
    void (*place_gradient)(long heads, long width, double cosine, double sine, const void *x,
                           const void *dy, void *dx);
    /* Polynomials of degree 2: act x [rows, width] → act y [rows, (c0 ≠ 0) + (c1 ≠ 0)·width +
     * width(width+1)/2] = [c0, c1·x, c2·(x_a x_b for a ≤ b, row by row, times √2 where a < b)]:
     * y·y' = c0² + c1² x·x' + c2² (x·x')². */
    void (*quadratic)(long rows, long width, const double c[3], const void *x, long ldx, void *y,
                      long ldy);
    void (*quadratic_gradient)(long rows, long width, const double c[3], const void *x, long ldx,
                               const void *dy, long lddy, void *dx, long lddx);
    void (*product)(long n, double a, const void *x, const void *y, void *z); /* act z = a·x·y */

    /* ---- structured projections ---- OA_LANES rows of activations interleaved, so that operations
     * across the columns of a row are vector arithmetic: real x [n, OA_LANES], lane t is row t. */
    /* y[r_i] = column i of act x [rows ≤ OA_LANES, n], 0 in the lanes beyond; r_i = index[i], or i
     * without an index. */
    void (*lanes_in)(long rows, long n, const int32_t *index, const void *x, long ldx, void *y);
    /* Column i of act y [rows, n] = factor[r_i]·x[r_i]; factor real, NULL = 1. */
    void (*lanes_out)(long rows, long n, const int32_t *index, const void *factor, const void *x,
                      void *y, long ldy);
    /* y = (H ⊗ I_unit)(factor ∘ x), H the Hadamard matrix of n/unit (a power of two) with entries
     * ±1; in place. */
    void (*hadamard)(long n, long unit, const void *factor, const void *x, void *y);
    /* Each run of b rows of x times real q [b, b]: y_i = Σ_j q[j][i] x_j, or with `transposed` Σ_j
     * q[i][j] x_j. */
    void (*mix_runs)(long n, long b, bool transposed, const void *q, const void *x, void *y);

    /* t = scale·u + bias, u real [rows, width], bias real [width] (NULL = 0) → act y [rows, width
     * or 2·width], and real top[rows], which is subtracted from the logarithm of the features of a
     * row so that the largest feature is 1:
     *
     *     exp         e^{t − top}, top = max t
     *     hyperbolic  [e^{t − top}, e^{−t − top}], top = max |t|
     *     trig        [cos t, sin t]/√width, top = 0
     *     relu        relu(t)/√width + 10⁻³, top = 0
     *
     * Gradient, from y and dy: act du [rows, width] overwritten; real sums[rows] = Σ y·dy (relu:
     * 0).
     */
    void (*random_features)(enum oa_random_feature f, long rows, long width, double scale,
                            const void *bias, const void *u, long ldu, void *y, long ldy,
                            void *top);
    void (*random_features_gradient)(enum oa_random_feature f, long rows, long width, double scale,
                                     const void *y, long ldy, const void *dy, long lddy, void *du,
                                     long lddu, void *sums);
    /* Real x[i][j] *= e^{column[j] − row[i]} where low[i] ≤ j < high[i]; other elements do not
     * change. column, row real. */
    void (*decay_tile)(long rows, long cols, const int32_t *low, const int32_t *high,
                       const void *column, const void *row, void *x, long ldx);
    /* State updates (cpu_recurrence.c). y real = scale·ln σ(x), x act; dx act =
     * dy·scale·(1 − σ(x)), dy real. */
    void (*log_sigmoid)(long n, double scale, const void *x, void *y);
    void (*log_sigmoid_gradient)(long n, double scale, const void *x, const void *dy, void *dx);
    void (*exp_difference)(long n, const void *a, const void *b,
                           void *y); /* reals: y = e^{a − b} */
    /* Real x [n, cols] ← (I − L)⁻¹ x, or with `transposed` (I − L)⁻ᵀ x; L: the part of a [n, n]
     * below its diagonal, the rest is never read. */
    void (*solve_unit_lower)(long n, long cols, bool transposed, const void *a, long lda, void *x,
                             long ldx);
    /* Reals q, k [rows, width], decays D [rows, width]: p_ij = Σ_c q_ic k_jc Π_{l=j+1…i} D_lc for j
     * ≤ i, and, unless a is NULL, a_ij likewise with k_i for j < i; other elements of p and a do
     * not change. Gradient of the pairs j < i: dq_i += Σ_j dp_ij w_ij k_j, dleft_i += Σ_j da_ij
     * w_ij k_j, dright_j += Σ_i w_ij (dp_ij q_i + da_ij k_i), w_ij the product of decays. work
     * [width]. */
    void (*decay_pairs)(long rows, long width, const void *decay, const void *q, const void *k,
                        void *p, void *a, long ld, void *work);
    void (*decay_pairs_gradient)(long rows, long width, const void *decay, const void *q,
                                 const void *k, const void *dp, const void *da, long ld, void *dq,
                                 void *dleft, void *dright, void *work);
    /* Real x ← x^degree; gradient: real x ← degree·x^{degree − 1}·g. degree ≥ 1; x has contiguous
     * rows of a tile. */
    void (*power)(long n, int degree, void *x);
    void (*power_gradient)(long n, int degree, const void *g, void *x);

    /* ---- loss ---- one row: logits real [n] → −Σ q_i log softmax_i, where q is 1 at the target
     * or, with `smoothing` ε (Szegedy et al. 2016, §7), ε/n everywhere and 1 − ε more at the
     * target; the row becomes the gradient, softmax − q, act [n] in `d`, times scale. d may be NULL
     * (no gradient), or the memory of logits. Also accurate for n = 1 and for logits of ±1e4. */
    double (*cross_entropy)(long n, const void *logits, long target, double smoothing, double scale,
                            void *d);
    /* log Σ e^x of real [n], which are numbers or −∞; −∞ when all are that. */
    double (*log_sum)(long n, const void *x);

    /* ---- optimisers ---- all real [n] */
    void (*adamw)(long n, const struct oa_adamw *h, void *w, void *m, void *v, const void *g);
    void (*sgd)(long n, double lr, double momentum, double weight_decay, double gradient_scale,
                void *w, void *m,
                const void *g); /* m ← momentum·m + g; w ← w − lr·(m + weight_decay·w) */
    double (*sum_squares)(long n,
                          const void *x); /* in double; NaN or ∞ anywhere shows in the result */
};

/* Fills the table for a precision with the best versions up to `isa`. f64 and OA_ISA_REF are the
 * plain C ones. */
void oa_kernels_init(struct oa_kernels *k, enum oa_precision p, enum oa_isa isa,
                     const struct oa_cpu *cpu);

/* The same without our products on AMX. */
void oa_kernels_without_amx(struct oa_kernels *k, enum oa_precision p, enum oa_isa isa,
                            const struct oa_cpu *cpu);

/* The same without our products on packed operands: oneDNN's, where there is one, which may use
 * AMX. */
void oa_kernels_unpacked(struct oa_kernels *k, enum oa_precision p, enum oa_isa isa,
                         const struct oa_cpu *cpu);

/* The same without oneDNN, too. */
void oa_kernels_own(struct oa_kernels *k, enum oa_precision p, enum oa_isa isa,
                    const struct oa_cpu *cpu);

/* The parts, each overwriting the pointers it improves; called by oa_kernels_init, and one by one
 * by tests. */
void oa_kernels_ref(struct oa_kernels *k, enum oa_precision p);
void oa_kernels_avx2(struct oa_kernels *k); /* f32 and bf16 */
void oa_kernels_avx2_bf16(struct oa_kernels *k);
void oa_kernels_avx512(struct oa_kernels *k); /* f32 and bf16 */
void oa_kernels_avx512_bf16(struct oa_kernels *k);
void oa_kernels_avx512bf16(
    struct oa_kernels *k); /* bf16 only: stores in bf16 by the instruction for it */
void oa_kernels_pairs(
    struct oa_kernels *k); /* bf16 only: products of pairs by vectors, packed as for tiles */
void oa_kernels_amx(struct oa_kernels *k); /* bf16 only: products on the processor's tiles */
void oa_kernels_gelu_amx(
    struct oa_kernels *k); /* bf16 only: GELU and SiLU by look-up, with the bits of avx512bf16 */
void oa_kernels_onednn(struct oa_kernels *k, enum oa_isa isa);

#endif
