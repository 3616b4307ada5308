/* SPDX-License-Identifier: Apache-2.0
 * Arguments of the operations of a device (operations.def). The structs are in host memory; what
 * they point to is in the device's memory, the int32_t of lengths, ids and words too. `act` and
 * `real` are the types of the kernels' table (kernels.h); shape letters as in device.h. */
#ifndef ORTHANT_DEVICE_OPERATIONS_H
#define ORTHANT_DEVICE_OPERATIONS_H

#include "device/support.h"
#include "kernels/kernels.h"

/* ---- elementwise functions ---- one list of kinds each: the enum, the names that a meter reports
 * and the CPU's table of kernels follow from it. Kind GELU is computed by the kernels gelu and
 * gelu_gradient (kernels.h), and so on. */

#define OA_UNARY_KINDS(KIND)                                                                       \
    KIND(GELU, gelu)                                                                               \
    KIND(GELU_EXACT, gelu_exact) KIND(RELU, relu) KIND(RELU2, relu2) KIND(SILU, silu)
#define OA_BINARY_KINDS(KIND) KIND(ADD, add) KIND(PRODUCT, product)
#define KIND(id, name) OA_UNARY_##id,
enum oa_unary { OA_UNARY_KINDS(KIND) };
#undef KIND
#define KIND(id, name) OA_BINARY_##id,
enum oa_binary { OA_BINARY_KINDS(KIND) };
#undef KIND
extern const char *const oa_unary_names[],
    *const oa_unary_gradient_names[],
        *const oa_gated_names[], *const oa_gated_gradient_names[],
                                     *const oa_binary_names[]; /* by kind: "gelu", "gelu_gradient",
                                                                  "gelu_gated", "add" */

/* ---- logits engine: S = Σ_c α_c S_c, softmax over the visible keys, O = P V ---- */

enum oa_part_kind {
    OA_PART_DOT, /* S_ij = scale·q_i·k_j + bias_j: softmax attention; the dense synthesizer (keys
                    are a table) */
    OA_PART_TABLE, /* S_ij = table[h][i][j]: the random synthesizer */
    OA_PART_FOLD, /* S_ij = q_i[j mod width]·k_i[⌊j/width⌋], both rows of the query: the factorized
                     dense synthesizer */
};
/* One addend of the logits. Gradients: pointers that are NULL are not wanted. Act gradients are
 * overwritten, real ones are added to. */
struct oa_logits_part {
    enum oa_part_kind kind;
    long width;   /* DOT: K; FOLD: width of q, a */
    double scale; /* DOT: τ */
    const void
        *q; /* act [B·T, ≥ H·width]; or, q_table (DOT), act [H][N][width] for all batch items */
    long ldq;
    bool q_table;
    long q_head_stride; /* elements between the tables of two heads */
    void *dq;      /* act, same leading dimension; or, q_table, real like the table, added to */
    const void *k; /* DOT: act [B·S, ≥ H·width]; or, k_table, act [H or 1][N][width] for all batch
                    * items; FOLD: act [B·T, ≥ H·folds] */
    long ldk;
    long folds; /* FOLD: width of k, b; keys ≤ a·b */
    bool k_table;
    long k_head_stride; /* elements between the tables of two heads; 0 = one table for all heads */
    void *dk;           /* act like k, overwritten; or, k_table, real like the table, added to */
    const void *bias;   /* DOT, may be NULL: real [H or 1][N] */
    long bias_head_stride;
    void *dbias;       /* real */
    const void *table; /* TABLE: real [H][N][N] */
    long table_length; /* N */
    void *dtable;      /* real */
};

/* Relative positions: what is added to the logits of a pair by its distance d = position of the key
 * − position of the query (formulas: cpu_relative.c). */
enum oa_relative_kind { OA_RELATIVE_NONE, OA_RELATIVE_ALIBI, OA_RELATIVE_T5 };
struct oa_relative {
    enum oa_relative_kind kind;
    long heads, length; /* H; |d| < length */
    bool causal;        /* T5: all buckets are of d ≤ 0; otherwise half of them of d > 0 */
    long buckets, distance;
    const void *bias; /* T5: real [H, buckets] */
    void *table;      /* real [H, 2·length − 1], overwritten: entry d + length − 1 */
    int32_t *bucket;  /* T5: [2·length − 1], overwritten: the bucket of d */
};

struct oa_distances { /* such a table as an addend of the logits; zeros: none */
    const void *table;
    long length;                /* real [H, 2·length − 1] */
    const int32_t *query, *key; /* [T], [S]: positions; NULL, both: first + i and j */
    const int32_t *bucket;      /* [2·length − 1] */
    long buckets;
    void *dbias; /* real [H, buckets], added to; NULL: not wanted */
};

/* How a row of logits S over its visible keys V becomes weights (docs/attention.md, Head options):
 * softmax; softmax with a logit b of the head whose own weight is dropped; σ(S − ln |V|); max(0, S
 * − τ); max(0, S/2 − τ)², τ such that the row sums to 1. */
enum oa_normaliser {
    OA_NORMALISE_SOFTMAX,
    OA_NORMALISE_SINK,
    OA_NORMALISE_SIGMOID,
    OA_NORMALISE_SPARSEMAX,
    OA_NORMALISE_ENTMAX
};

/* Forget gates: c_i of each token and head is the sum of ln σ(z_l) over l ≤ i. Kept as two reals
 * whose sum it is, because c grows with the length while differences count. */
struct oa_forget_sums {
    long batch, length, heads; /* B, T, H */
    const void *z;             /* act [B·T, H], contiguous */
    void *total;               /* decoding: real [2·H], c of the last token, in and out; or NULL */
    void *sums;                /* real [B·T, 2·H]: both reals of head 0, of head 1, … */
    const void *dsums;         /* real [B·T, H] */
    void *dz;                  /* act, like z, overwritten */
};

struct oa_forgetting {         /* c_i − c_j as an addend of the logits; zeros: none */
    const void *query, *key;   /* real [B·query_rows, 2·H], [B·key_rows, 2·H]: such sums */
    long query_rows, key_rows; /* of a sequence */
    void *dquery, *dkey;       /* real [B·query_rows, H] …, added to; NULL: not wanted */
};

#define OA_MAX_PARTS 6
struct oa_logits {
    struct oa_attention_shape shape;
    struct oa_support support; /* zeros = every key */
    int parts;
    struct oa_logits_part part[OA_MAX_PARTS];
    const void *alpha;               /* real [H, parts]: weights of the parts; NULL = 1 */
    void *dalpha;                    /* real [H, parts], added to: Σ_ij dS_ij S^c_ij */
    struct oa_distances distances;   /* added to the sum of the parts, with weight 1 */
    struct oa_forgetting forgetting; /* the same */
    const void *v;                   /* act [B·S, ≥ H·V] */
    long ldv;
    void *dv; /* act, overwritten (0 at padded keys) */
    void *o;  /* act [B·T, ≥ H·V] */
    long ldo;
    const void *d_o; /* act, gradient of o, same leading dimension */
    enum oa_normaliser normaliser;
    const void *sink; /* SINK: real [H] */
    void *dsink;      /* real [H], added to; NULL: not wanted */
    /* real [B, H, T], written by forward, read by backward: of each row log Σ exp (−∞: empty row),
     * with the sink; SIGMOID: ln |V|; SPARSEMAX, ENTMAX: τ. */
    void *lse;
    double keep; /* dropout of P: the probability to keep; 1 = none */
    struct oa_stream dropout;
};

/* α of a mixture (docs/attention.md: mix), real [H, parts]: softmax of θ [H, parts]; (1 − σ, σ) of
 * one θ; given numbers; or 1 for all. With g = dα: softmax dθ_c += α_c (g_c − Σ α g); sigmoid dθ +=
 * σ(1 − σ)(g_1 − g_0), over all heads. */
enum oa_mixture_kind { OA_MIX_NONE, OA_MIX_SOFTMAX, OA_MIX_SIGMOID, OA_MIX_FIXED };
struct oa_mixture_weights {
    enum oa_mixture_kind kind;
    long heads;
    int parts;
    double weight[OA_MAX_PARTS]; /* FIXED */
    const void *theta;           /* real */
    void *alpha;                 /* real, overwritten by the forward pass */
    const void *dalpha;          /* real */
    void *dtheta;                /* real, added to */
};

/* ---- kernel engine: O_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / (φ(q_i)·Σ_j φ(k_j)), O(n) ---- */

enum oa_denominator {
    OA_DENOMINATOR_ADD,
    OA_DENOMINATOR_SIGN,
    OA_DENOMINATOR_CLAMP,
    OA_DENOMINATOR_NONE,
    OA_DENOMINATOR_CONSTANT /* ε, whatever the sum */
};
/* ADD: den + ε. SIGN: sign(den)·max(|den|, ε), sign(0) = +1. CLAMP: max(den, ε). A denominator of
 * exactly 0 gives 0. Where a clamp is active the denominator sends no gradient. */
struct oa_linear_attention {
    struct oa_attention_shape shape;
    long features; /* r, the width of φ of a head */
    /* real [B, H, S]: φ(k_j) = e^{key_scale[j]}·fk_j (exponential features would overflow; the
     * state has the scale of the largest key so far). Denominators are then relative to the largest
     * key that the row sees. NULL = 0. Constant for the gradient. */
    const void *key_scale;
    /* real [B, H, T]: φ(q_i) = e^{query_scale[i]}·fq_i. It cancels except in epsilon: with it
     * epsilon is relative to the denominator without scales, NULL: to the relative denominator. */
    const void *query_scale;
    const void *fq, *fk; /* act [B·T, H·r], [B·S, H·r]: φ(q), φ(k); padded rows are never read */
    long ldfq, ldfk;
    /* squared_width > 0: fq and fk hold q and k, rows of this width of a head, and dfq, dfk are
     * their gradients. Their r features are the polynomials of degree 2 with coefficients `squared`
     * (kernels.h: quadratic), made chunk by chunk and never stored. Not with scales. */
    long squared_width;
    double squared[3];
    void *dfq, *dfk; /* act, overwritten, same leading dimensions (0 at padded rows) */
    const void *v;
    long ldv;
    void *dv;
    void *o;
    long ldo;
    const void *d_o;
    void *den; /* real [B, H, T]: denominator after its policy, saved for backward */
    enum oa_denominator policy;
    double epsilon;
    /* Decoding: real [B, H, r·V + r + 1], S, z and their logarithmic scale. On entry of the keys of
     * earlier calls, if there are any (begun); on return with the shape's keys, the new ones. NULL:
     * no state. */
    void *state;
    bool begun;
};

/* ---- rows of heads, mapped one by one (docs/attention.md: linear): formulas in cpu_row_maps.c
 * ----
 */

enum oa_row_map_kind { OA_ROW_UNIT, OA_ROW_SILU_UNIT, OA_ROW_RMS, OA_ROW_HEDGEHOG };
struct oa_row_map {
    enum oa_row_map_kind kind;
    long tokens, heads, width; /* x [tokens, heads·width]; HEDGEHOG: y [tokens, heads·2·width] */
    double epsilon;            /* of UNIT, SILU_UNIT and RMS, under the root */
    const void *gain;          /* RMS: real [width] */
    const void *x;             /* act, as all rows here */
    long ldx;
    void *y;
    long ldy;
    const void *dy; /* like y */
    void *dx;       /* like x, overwritten */
    void *dgain;    /* real, added to; NULL: not wanted */
};

/* ---- causal convolution of each column, then z·σ(z): formulas in cpu_causal_conv.c ---- */

struct oa_causal_conv {
    long batch, length, cols, taps; /* W */
    const void *w;                  /* real [cols, W] */
    const void *x;                  /* act [B·length, cols] */
    long ldx;
    void *z, *y; /* act [B·length, cols], contiguous: before and after z·σ(z) */
    const void *dy;
    void *dx, *dw; /* act like x, overwritten; real, added to. NULL: not wanted */
    void *state; /* decoding, B = 1: act [W − 1, cols], the rows before x; updated. NULL: zeros */
};

/* ---- state updates (docs/attention.md: linear with decay or update=delta): formulas in
 * cpu_recurrence.c. Causal; keys are the queries' tokens ---- */

enum oa_decay { OA_DECAY_NONE, OA_DECAY_FIXED, OA_DECAY_HEAD, OA_DECAY_CHANNEL };
struct oa_recurrence {
    struct oa_attention_shape shape;
    long features;         /* r */
    double scale;          /* of the outputs */
    const void *q, *k, *v; /* act [B·T, H·r], [B·T, H·r], [B·T, H·V]; padded rows are never read */
    long ldq, ldk, ldv;
    enum oa_decay decay;
    /* HEAD: act [B·T, H], ln γ = −e^rate·ln(1 + e^x); CHANNEL: act [B·T, H·r], ln γ = ln σ(x)/16;
     * FIXED, of head h: γ = 1 − 2^(−5−h). */
    const void *decay_logits;
    long ld_decay;
    const void *rate;        /* HEAD: real [H] */
    const void *beta_logits; /* act [B·T, H], β = σ(x): the delta rule; NULL: plain sums */
    long ld_beta;
    void *o;
    long ldo;
    const void *d_o;
    /* act, like what they are gradients of, overwritten (0 at padded rows); NULL: not wanted */
    void *dq, *dk, *dv, *d_decay_logits, *d_beta_logits;
    void *d_rate; /* real [H], added to */
    void *state;  /* decoding: real [B, H, r, V], read if begun and updated; NULL: none */
    bool begun;
};

/* Polynomials of degree 2 of rows of this width (kernels.h: quadratic). */
static inline long oa_quadratic_features(long width, const double c[3])
{
    return (c[0] != 0) + (c[1] != 0) * width + width * (width + 1) / 2;
}

/* ---- random features (docs/attention.md: performer): t = scale·Ω x + bias of each head, features
 * by kernels.h */

struct oa_random_features {
    enum oa_random_feature kind;
    long batch, length, heads, width, count; /* B, T, H, K, r_0; r = r_0 or 2·r_0 features */
    const int32_t *lengths; /* [B] rows beyond are padding: features 0. NULL = all are real */
    double scale;           /* x is taken as scale·x */
    double half_norm; /* log features have half_norm·|scale·x|² added: −½, ½ (trig), 0 (relu) */
    const void *omega; /* act [r_0, K] */
    /* Statistics of the data, each (b, h) has its own: omega then is act [B, H, r_0, K], bias real
     * [B, H, r_0], metric act [B, H, K, K] and |x|² is xᵀ metric x (NULL: the plain one). */
    bool each;
    bool same; /* each, but the same for all b: B is 1 in these three */
    const void *bias, *metric;
    const void *x; /* act [B·T, H·K] contiguous */
    void *y;       /* act [B·T, H·r] contiguous */
    void *top;     /* real [B, H, T]: logarithm of the scale of a row: φ is e^top·y */
    const void *dy;
    void *dx; /* act, overwritten; 0 at padded rows */
};

/* ---- features fitted to the data (cpu_random_statistics.c has the formulas) ---- */

enum oa_random_fit { OA_FIT_FAVOR, OA_FIT_SDERF, OA_FIT_ADERF, OA_FIT_SADERF };
/* In host memory, in double, for the CPU's operation and for oracles. */
struct oa_moments { /* [0] of queries, [1] of keys: means of x and of x xᵀ */
    long width;
    double *mean[2], *square[2];
};
/* log f(ω, x) = ωᵀAω + ωᵀB x − ½ xᵀP x; matrices [K, K]; work has OA_FIT_WORK·K² doubles. */
enum { OA_FIT_WORK = 6 };
struct oa_exponents {
    double *a, *b[2], *p[2], *work;
};
void oa_fit_exponents(enum oa_random_fit kind, const struct oa_moments *m, struct oa_exponents *e);
struct oa_random_statistics {
    enum oa_random_fit kind;
    long batch, queries, keys, heads, width, count; /* B, T, S, H, K, r_0 */
    const int32_t *query_lengths, *key_lengths;
    double scale;
    const void *q, *k, *omega; /* act [B·T, H·K], [B·S, H·K] contiguous; real [r_0, K] */
    const void *mean, *square; /* real [2, H, K], [2, H, K, K]: statistics that are given, with B =
                                  1; NULL: of q, k */
    void *turned[2], *metric[2]; /* act [B, H, r_0, K]: Ω B; act [B, H, K, K]: P */
    void *bias;                  /* real [B, H, r_0] */
};

/* Changes of running averages m of the moments of scale·x, [0] of queries, [1] of keys: μ − m is
 * added to the changes, where μ are the moments over the real positions of this batch, and 1 to
 * batches. A side without real rows adds nothing. */
struct oa_moments_change {
    long batch, heads, width; /* B, H, K */
    long rows[2];             /* T, S */
    const int32_t *lengths[2];
    double scale;
    const void *x[2];                            /* act [B·rows, H·K] contiguous */
    const void *mean, *square;                   /* real [2, H, K], [2, H, K, K] */
    void *mean_change, *square_change, *batches; /* real, like these; [1] */
};

/* After a step: the averages move towards the mean of the changes of its micro-batches, by the
 * fraction max(least, 1/steps so far). A step without micro-batches does not count. */
struct oa_moments_move {
    long means, squares; /* numbers in mean, in square */
    double least;
    void *mean, *square, *seen;                        /* real; seen [1]: steps so far */
    const void *mean_change, *square_change, *batches; /* as moments_change leaves them */
};

/* ---- polynomial weights: w_ij = (scale·q_i·k_j)^degree over visible keys, O_i = Σ w v_j / (Σ w +
 * bias), O(n²) */

struct oa_polynomial {
    struct oa_attention_shape shape;
    long width; /* K */
    int degree; /* even */
    double scale, bias;
    const void *q, *k, *v;
    long ldq, ldk, ldv;
    void *dq, *dk, *dv; /* act, overwritten (0 at padded rows); NULL: not wanted */
    void *o;
    long ldo;
    const void *d_o;
    void *den; /* real [B, H, T], written by forward, read by backward */
};

/* ---- given weights: fixed patterns (docs/attention.md: pattern), O(n) by shifts and prefix sums
 * ---- */

enum oa_pattern_kind {
    OA_PATTERN_CURRENT,
    OA_PATTERN_PREVIOUS,
    OA_PATTERN_NEXT,
    OA_PATTERN_LEFT,
    OA_PATTERN_RIGHT,
    OA_PATTERN_END,
    OA_PATTERN_START,
    OA_PATTERN_LAST
};
enum oa_edge { OA_EDGE_ZERO, OA_EDGE_SELF, OA_EDGE_CLAMP };
struct oa_pattern_attention {
    struct oa_attention_shape shape;
    enum oa_pattern_kind pattern;
    enum oa_edge edge;
    const int32_t
        *words; /* [B·S] word numbers: patterns over words (unit=word); NULL = over tokens */
    const void *v;
    long ldv;
    void *dv;
    void *o;
    long ldo;
    const void *d_o;
    /* Decoding: [B, H, oa_pattern_state(pattern), V] of the tokens of earlier calls, zeros at
     * first. Keys are the new tokens, from position `first`. NULL: none. */
    double *state;
};
/* Rows of V numbers that the causal form of a pattern keeps. */
int oa_pattern_state(enum oa_pattern_kind p);

/* ---- weights over a band of keys (docs/attention.md: gaussian, lightconv, dynamicconv): formulas
 * in cpu_band.c */

struct oa_band {
    struct oa_attention_shape shape;
    long taps,
        before; /* tap k of row i is key i + k − before; taps = 0: a Gaussian around i + offset */
    double offset, sigma;
    bool renormalise;   /* sum only over the keys that are there */
    bool tokens;        /* a row of logits for each token, not for each head */
    const void *logits; /* real [H, taps]; or, tokens, act [B·T, ≥ H·taps] */
    long ldlogits;
    void *dlogits; /* real, added to; or, tokens, act, overwritten */
    const void *v;
    long ldv;
    void *dv;
    void *o;
    long ldo;
    const void *d_o;
};

/* How far a Gaussian band reaches beyond its largest weight (cpu_band.c derives 9.2 σ), and its
 * taps. */
static inline long oa_band_reach(double sigma)
{
    return (long)(9.2 * sigma) + 2;
}

static inline long oa_band_taps(const struct oa_band *a)
{
    return a->taps ? a->taps : oa_min(a->shape.keys, 2 * oa_band_reach(a->sigma) + 1);
}

/* Distance from a causal query to its first key, counting both: the band ends at the query, and its
 * centre may be before it. */
static inline long oa_band_span(const struct oa_band *a)
{
    long behind = a->offset < 0 ? (long)(1 - a->offset) : 0;
    return a->taps ? a->before + 1 : oa_band_reach(a->sigma) + behind + 1;
}

/* ---- projection along the length (docs/attention.md: linformer): Y = W[:m]ᵀ X for each (b,h) ----
 */

struct oa_length_projection {
    long batch, length, heads, width, rank; /* B, m, H, c, k */
    const int32_t
        *lengths;  /* [B] rows beyond are padding: they count as zeros. NULL = all are real */
    const void *x; /* act [B·m, H·c] */
    long ldx;
    void *dx;         /* act, overwritten */
    const void *w;    /* act [H or 1, N, k] */
    long head_stride; /* elements between the matrices of two heads; 0 = one for all */
    void *dw;         /* real, added to */
    void *y;          /* act [B·k, H·c] */
    long ldy;
    const void *dy; /* act */
};

/* ---- structured projections (docs/attention.md, Projections: SRHT, HD3, permutations): y_h = x
 * U_h for each head, with the chain
 *
 *     U_h = s_0 H s_1 H … H s_f P,   H = H_{2^a} ⊗ Q / √(2^a),  D = 2^a·b, b odd
 *
 * of diagonals s_i, Hadamard matrices of entries ±1 and a selection P of K columns. Q [b, b] is
 * orthogonal; where b = 1 it is left out. O(f·D·(log D + b)) a row instead of D·K. The numbers of a
 * head, real: s_0 … s_f (1/√(2^a) in s_0 … s_{f−1}), the columns that P keeps, and Q column by
 * column. ---- */

struct oa_chain {
    long width, out; /* D, K */
    int factors;     /* f; 0: a permutation with signs */
};

static inline long oa_chain_unit(const struct oa_chain *c) /* b */
{
    return c->width / (c->width & -c->width);
}

static inline bool oa_chain_mixes(const struct oa_chain *c)
{
    return c->factors > 0 && oa_chain_unit(c) > 1;
}

static inline long oa_chain_columns_at(const struct oa_chain *c)
{
    return (c->factors + 1) * c->width;
}

static inline long oa_chain_mix_at(const struct oa_chain *c)
{
    return oa_chain_columns_at(c) + c->out;
}

static inline long oa_chain_numbers(const struct oa_chain *c)
{
    long b = oa_chain_unit(c);
    return oa_chain_mix_at(c) + (oa_chain_mixes(c) ? b * b : 0);
}

struct oa_transform {
    struct oa_chain chain;
    long rows, heads;
    const void *numbers; /* real [H, oa_chain_numbers] */
    const void *x;       /* act [rows, D] */
    long ldx;
    void *dx; /* act, overwritten */
    void *y;  /* act [rows, H·K] */
    long ldy;
    const void *dy; /* act */
};

double oa_transform_flops(const struct oa_transform *a);

/* ---- token mixing, causal, one token after the other (docs/attention.md: mixer): formulas in
 * cpu_mixer_steps.c */

struct oa_mixer_steps {
    long first, tokens;                /* position of the first token, how many come */
    long channels, units, length;      /* C, D_S, N */
    const void *in_weight, *in_bias;   /* act [D_S, N], real [D_S] */
    const void *out_weight, *out_bias; /* act [N, D_S], real [N] */
    const void *x;                     /* act [tokens, ≥ C] */
    long ldx;
    void *y; /* act [tokens, ≥ C] */
    long ldy;
    void *state; /* real [C, D_S]: hidden units, after gelu from their time on; zeros at first */
};

/* ---- the rest of a Transformer ---- */

struct oa_dropout {
    double keep; /* 1 = none */
    struct oa_stream stream;
};

/* f[c] = scale·temperature[c / width]·diagonal[c], either NULL = 1; with df: dtemperature[c /
 * width] += scale·diagonal[c]·df[c], ddiagonal[c] += scale·temperature[c / width]·df[c], where they
 * are not NULL. All real. */
struct oa_head_factors {
    long cols, width;
    double scale;
    const void *temperature, *diagonal;
    void *factor; /* overwritten by the forward pass */
    const void *dfactor;
    void *dtemperature, *ddiagonal;
};

/* The gates of heads: y = x·g, for head h of each row g = σ(z_h) (HEAD), or channel by channel σ(z)
 * (CHANNEL) or z·σ(z) (SWISH). With dy: dx, dz. */
enum oa_head_gate_kind {
    OA_HEAD_GATE_NONE,
    OA_HEAD_GATE_HEAD,
    OA_HEAD_GATE_CHANNEL,
    OA_HEAD_GATE_SWISH
};
struct oa_head_gate {
    enum oa_head_gate_kind kind;
    long rows, heads, width; /* H, V */
    const void *x;           /* act [rows, ≥ H·V] */
    long ldx;
    const void *z; /* act [rows, H] or [rows, H·V], contiguous */
    void *y;       /* act [rows, ≥ H·V] */
    long ldy;
    const void *dy; /* like y */
    void *dx, *dz;  /* act, like x and z, overwritten */
};

/* The heads of a row, to their places in a cache: head h of x goes to y + h·step. */
struct oa_head_put {
    long heads, width;
    const void *x; /* act [heads·width] */
    void *y;       /* act */
    long step;     /* ≥ width, in elements */
};

/* y = rows of N heads repeated for H: head h is number ⌊h·N/H⌋ of x. dx: sums over the heads. */
struct oa_head_repeat {
    long rows, heads, key_heads, width; /* H, N */
    const void *x;                      /* act [rows, ≥ N·width] */
    long ldx;
    void *y;        /* act [rows, H·width], contiguous */
    const void *dy; /* like y */
    void *dx;       /* act, like x, overwritten */
};

/* Rotary positions of every token, in place; tables real [length, turned/2]. */
struct oa_rotated_rows {
    struct oa_rotation rotation; /* with the angles of position 0 */
    long tokens, length;
    double sign; /* −1: backward */
    void *x;     /* act [tokens, ≥ heads·width] */
    long ldx;
};

/* sum = x + scale·dropout(branch) (branch may be NULL: sum = x, and need not be stored when it is
 * x); y = norm(sum), unless y is NULL. */
struct oa_residual_norm {
    long rows, cols;
    const void *x, *branch;
    struct oa_dropout dropout;
    double scale;
    void *sum;               /* act */
    const void *gain, *bias; /* real; may be NULL */
    double epsilon;
    void *y, *mean, *rstd; /* act; real [rows]; mean NULL: root mean square norm */
    /* backward: dy of y, dsum of sum from later uses (may be NULL; without y it is all) → dx
     * (overwritten), dbranch (NULL when no branch) */
    const void *dy, *dsum;
    void *dx, *dbranch, *dgain, *dbias;
};

/* y[t] = dropout(factor·table[id[t]] + position[t mod T] + segment[segments[t]] + rest[t]);
 * position, segment and rest may be NULL. */
struct oa_embedding {
    long tokens, length, width, vocabulary; /* length = T */
    double factor;
    const int32_t *ids, *segments;
    const void *table, *position, *segment; /* real */
    const void *rest;                       /* act [tokens, width] */
    struct oa_dropout dropout;
    void *y; /* act */
    const void *dy;
    void *dtable, *dposition, *dsegment; /* real, added to; dposition and dsegment may be NULL */
    void *drest;                         /* act [tokens, width], overwritten; may be NULL */
};

/* y[t] = pixels[t]/127.5 − 1 where ids[t] is 0, and zeros elsewhere. */
struct oa_patch_rows {
    long tokens, count;
    const uint8_t *pixels; /* [tokens, count] */
    const int32_t *ids;
    void *y; /* act [tokens, count] */
};

/* y row i = x row index[i]; the gradient puts each row back where it came from, and zeros where
 * none did: no row is taken twice. */
struct oa_row_choice {
    long rows, count, cols; /* of x, of y */
    const int32_t *index;   /* [count] */
    const void *x, *dy;     /* act, contiguous */
    void *y, *dx;           /* act, overwritten */
};

/* y[b] = mean of the first lengths[b] rows of x[b] (NULL: of all). By selection: what is in the
 * others does not matter, and they get no gradient. */
struct oa_row_means {
    long batch, length, cols;
    const int32_t *lengths;
    const void *x, *dy; /* act, contiguous */
    void *y, *dx;       /* act, overwritten */
};

/* Returns −Σ q log softmax(x Wᵀ + bias) over rows with target ≥ 0, in nats, with q as in
 * cross_entropy (kernels.h); or, with values, Σ (x Wᵀ + bias − value)² (vocabulary is 1). Logits
 * exist for a block of rows only. With dx the gradient of scale·loss is computed in the same pass.
 */
struct oa_linear_loss {
    long rows, width, vocabulary;
    const void *x, *w;       /* act [rows, D], act [vocabulary, D] */
    const void *bias;        /* real [vocabulary]; NULL: none */
    const int32_t *target;   /* [rows], < 0 = ignored */
    const double *value;     /* [rows]; NULL: there are targets */
    double cap;              /* logits z are cap·tanh(z/cap); 0: z */
    double smoothing, scale; /* scale: usually 1 / number of targets of the whole step */
    void *dx, *dw, *dbias;   /* act, overwritten; real, added to. NULL: no gradient */
    double *losses;          /* host [rows]: of each row, 0 of an ignored one; NULL: not wanted */
    /* A teacher: the loss of a row is hard·(that above) + soft·KL(p‖softmax), p the softmax of
     * soft_x soft_wᵀ + soft_bias, capped by soft_cap; no smoothing. soft_x NULL: none. */
    const void *soft_x, *soft_w, *soft_bias; /* act [rows, E], act [vocabulary, E], real or NULL */
    long soft_width;                         /* E */
    double soft_cap, hard, soft;
};

/* A Lion update over flat arrays (operations.def has the formulas). */
struct oa_lion {
    double lr, beta1, beta2, weight_decay, gradient_scale;
};

/* One parameter's Adafactor update (cpu_adafactor.c has the formulas). */
struct oa_adafactor {
    long rows, cols;
    bool factored; /* matrices; vectors keep a full second moment */
    double lr, decay, weight_decay, gradient_scale;
    void *w, *v, *update; /* real [rows·cols]; v holds rows + cols numbers when factored; update is
                             scratch */
    const void *g;
};

#endif
