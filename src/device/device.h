/* SPDX-License-Identifier: Apache-2.0
 *
 * device: operations on whole tensors. The second and last dispatch table; nothing above it mentions hardware.
 *
 * Two devices fill the table: `cpu` computes, cutting work into items by size and running them on the context's
 * threads; `plan` computes nothing and counts FLOPs and bytes, so a training step that runs on it (with dry arenas)
 * says what the real one will cost. `act` and `real` are the types of the kernels' table (kernels.h).
 *
 * Shape letters, everywhere: B batch, T queries (rows of one sequence), S keys, D model width, H heads,
 * K query/key width of a head, V value width of a head, N longest length (of tables). Activations are row-major
 * [B·T, columns] with a leading dimension; head h of a projection is the columns h·K … h·K+K−1.
 */
#ifndef ORTHANT_DEVICE_H
#define ORTHANT_DEVICE_H

#include "kernels/kernels.h"

struct oa_device {
    oa_context *context;
    const struct oa_device_ops *ops;
    struct oa_kernels kernels;
    struct oa_gemm_state **gemm; /* one a worker */
    struct oa_arena scratch;     /* of the calling thread: partial sums, blocks of logits; released after each op */
    bool dry;                    /* the plan device: pointers are not to be touched */
    double flops, bytes;         /* counted by the plan device: multiply-add = 2; bytes read and written */
    double computed;             /* the same FLOPs with the invisible pairs of tiles, which are computed all the same */
};

enum oa_error oa_device_open(oa_context *c, enum oa_precision p, bool dry, struct oa_device **out);
void oa_device_close(struct oa_device *d);
/* After a first step: every worker gets the scratch and the primitives that any of them needed, so that the steps that
 * follow allocate nothing whichever worker meets which item. */
void oa_device_settle(struct oa_device *d);

/* ---- attention: what all engines share ----------------------------------------------------------------------- */

struct oa_attention_shape {
    long batch, queries, keys, heads; /* B, T, S, H */
    long value_width;                 /* V */
    /* Key j is seen by query i only if j ≤ first + i. Backward passes need first = 0 and queries = keys. */
    bool causal;
    long first;                   /* position of the first query: decoding, where earlier tokens are keys only */
    long summaries;               /* so many keys in front are summaries of forgotten blocks (struct oa_horizon) */
    const int32_t *key_lengths;   /* [B] true lengths, 0 … keys; keys beyond are padding. NULL = no padding */
    const int32_t *query_lengths; /* [B] rows of queries beyond get 0 and send no gradient. NULL = all are real */
};

/* How far back the causal queries of a support look, which says what decoding may forget. `span`: a query sees no key
 * that many positions before it, nor any further back (0: it may see all), but the first tokens, `sinks` of them,
 * always. Or `block`: nor any before its own block of that size (0: there are none), but the last tokens of each,
 * `summary` of them (fewer than block), always. What a query sees of the rest depends on differences of positions only,
 * modulo `block`. Sinks and summaries then stand in front of the rest; for a support with summaries a shape says how
 * many do, and the rest begins behind them with a block. */
struct oa_horizon {
    long span, sinks, block, summary;
};

/* Rows of a sequence in an order of their own: sequence r of `sequences` has, of each `stride` rows, `take` from
 * first + r on. {1, 1, 0, 1} is all of them as they stand, {l, l, 0, 1} the l residue classes modulo l. */
struct oa_row_order {
    long sequences, stride, first, take;
};
struct oa_piece;

/* Which keys a query may see, beside causality and padding: sparse supports are iterated by tiles, never as n×n.
 * NULL = all. Positions of queries begin at `first` of the shape. Implementations: attention/support_*.c. */
struct oa_support {
    const char *name;
    long parameter[4];
    struct oa_horizon horizon;
    const int32_t *layout;
    /* Keys that queries i0 ≤ i < i1 of a head can see at all lie in [*low, *high). */
    void (*range)(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1,
                  long *low, long *high);
    /* True when no pair of the tile i0…i1−1 × j0…j1−1 is visible: the tile is skipped. May be NULL (= never). */
    bool (*empty)(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1, long j0,
                  long j1);
    /* True when all pairs of the tile are visible: it needs no look at each. May be NULL (= never). */
    bool (*full)(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1, long j0,
                 long j1);
    /* The visible keys of row i, when they are one interval; NULL when they are not, then `visible` decides pair by
     * pair. Causality and padding are applied by the engine on top. */
    void (*row)(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long *low,
                long *high);
    bool (*visible)(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long j);
    /* Number of visible pairs of a head, for FLOP counts (causality included, padding not). */
    double (*pairs)(const struct oa_support *s, const struct oa_attention_shape *a, long head);
    /* The same pairs of a sequence with itself as a union of disjoint pieces 0, 1, …, where the tiles of the whole
     * would be nearly empty: each piece is dense in an order of its own; piece 0 in that of the sequence. False: there
     * is no such piece. NULL: no such union. */
    bool (*piece)(const struct oa_support *s, const struct oa_attention_shape *a, int number, struct oa_piece *out);
};
/* Its support has `row`, with bounds that do not fall from row to row, and speaks of rows in their new order. Causality
 * is the engine's in piece 0 only. Queries and keys have equally many sequences. */
struct oa_piece {
    struct oa_row_order queries, keys;
    struct oa_support support;
};

/* ---- logits engine: S = Σ_c α_c S_c, softmax over the visible keys, O = P V (mechanisms.md §1.4) --------------- */

enum oa_part_kind {
    OA_PART_DOT,   /* S_ij = scale·q_i·k_j + bias_j: softmax attention; the dense synthesizer (keys are a table) */
    OA_PART_TABLE, /* S_ij = table[h][i][j]: the random synthesizer */
    OA_PART_FOLD, /* S_ij = q_i[j mod width]·k_i[⌊j/width⌋], both rows of the query: the factorized dense synthesizer */
};
/* One addend of the logits. Gradients: pointers that are NULL are not wanted. Act gradients are overwritten, real ones
 * are added to. */
struct oa_part {
    enum oa_part_kind kind;
    long width;    /* DOT: K; FOLD: width of q, a */
    double scale;  /* DOT: τ */
    const void *q; /* act [B·T, ≥ H·width]; or, q_table (DOT), act [H][N][width] for all batch items */
    long ldq;
    bool q_table;
    long q_head_stride; /* elements between the tables of two heads */
    void *dq;           /* act, same leading dimension; or, q_table, real like the table, added to */
    const void *k;      /* DOT: act [B·S, ≥ H·width]; or, k_table, act [H or 1][N][width] for all batch items;
                         * FOLD: act [B·T, ≥ H·folds] */
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

#define OA_MAX_PARTS 6
struct oa_logits {
    struct oa_attention_shape shape;
    const struct oa_support *support; /* NULL = every key */
    int parts;
    struct oa_part part[OA_MAX_PARTS];
    const void *alpha; /* real [H, parts]: weights of the parts; NULL = 1 */
    void *dalpha;      /* real [H, parts], added to: Σ_ij dS_ij S^c_ij */
    const void *v;     /* act [B·S, ≥ H·V] */
    long ldv;
    void *dv; /* act, overwritten (0 at padded keys) */
    void *o;  /* act [B·T, ≥ H·V] */
    long ldo;
    const void *d_o; /* act, gradient of o, same leading dimension */
    void *lse;   /* real [B, H, T]: log Σ exp of each row (−∞: empty row), written by forward, read by backward */
    double keep; /* dropout of P: the probability to keep; 1 = none */
    struct oa_stream dropout;
};

/* ---- kernel engine: O_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / (φ(q_i)·Σ_j φ(k_j)) (mechanisms.md §1.5), O(n) ------------- */

enum oa_denominator { OA_DENOMINATOR_ADD, OA_DENOMINATOR_SIGN, OA_DENOMINATOR_CLAMP, OA_DENOMINATOR_NONE };
/* ADD: den + ε. SIGN: sign(den)·max(|den|, ε), sign(0) = +1. CLAMP: max(den, ε). A denominator of exactly 0 gives 0.
 * Where a clamp is active the denominator sends no gradient. */
struct oa_linear_attention {
    struct oa_attention_shape shape;
    long features; /* r, the width of φ of a head */
    /* real [B, H, S]: φ(k_j) is e^{key_scale[j]} times what fk holds (exponential features, which would overflow: the
     * state is kept at the scale of the largest key so far). Denominators are then relative to the largest key that
     * the row sees. NULL = 0. Constant for the gradient. */
    const void *key_scale;
    /* real [B, H, T]: φ(q_i) is e^{query_scale[i]} times what fq holds. It cancels but for epsilon, which with it is
     * meant for the denominator as it would be without any scales. NULL: epsilon is for the relative denominator. */
    const void *query_scale;
    const void *fq, *fk; /* act [B·T, H·r], [B·S, H·r]: φ(q), φ(k); padded rows are never read */
    long ldfq, ldfk;
    /* squared_width > 0: fq and fk hold q and k, rows of this width of a head, and dfq, dfk are their gradients. Their
     * r features are the polynomials of degree 2 with coefficients `squared` (kernels.h: quadratic), made chunk by
     * chunk and never stored. Not with scales. */
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
    /* Decoding: real [B, H, r·V + r + 1], S, z and their logarithmic scale, of the keys of earlier calls where there
     * are any (begun), and on return of these as well. The shape's keys are the new ones. NULL: none. */
    void *state;
    bool begun;
};

/* ---- random features (mechanisms.md F): t = scale·Ω x + bias of each head, features by kernels.h ---------------- */

struct oa_random_features {
    enum oa_random_feature kind;
    long batch, length, heads, width, count; /* B, T, H, K, r_0; r = r_0 or 2·r_0 features */
    const int32_t *lengths;                  /* [B] rows beyond are padding: features 0. NULL = all are real */
    double scale;                            /* x is taken as scale·x */
    double half_norm;  /* log features have half_norm·|scale·x|² added: −½, ½ (trig), 0 (relu) */
    const void *omega; /* act [r_0, K] */
    /* Statistics of the data, each (b, h) has its own: omega then is act [B, H, r_0, K], bias real [B, H, r_0], metric
     * act [B, H, K, K] and |x|² is xᵀ metric x (NULL: the plain one). */
    bool each;
    bool same; /* each, but the same for all b: B is 1 in these three */
    const void *bias, *metric;
    const void *x; /* act [B·T, H·K] contiguous */
    void *y;       /* act [B·T, H·r] contiguous */
    void *top;     /* real [B, H, T]: logarithm of the scale of a row: φ is e^top·y */
    const void *dy;
    void *dx; /* act, overwritten; 0 at padded rows */
};

/* ---- features fitted to the data (cpu_random_statistics.c has the formulas) ---------------------------------------
 */

enum oa_random_fit { OA_FIT_FAVOR, OA_FIT_SDERF, OA_FIT_ADERF, OA_FIT_SADERF };
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
    const void *mean, *square; /* real [2, H, K], [2, H, K, K]: statistics that are given, with B = 1; NULL: of q, k */
    void *turned[2], *metric[2]; /* act [B, H, r_0, K]: Ω B; act [B, H, K, K]: P */
    void *bias;                  /* real [B, H, r_0] */
};

/* What is to move running averages m of the moments of scale·x, [0] of queries, [1] of keys: μ − m is added to the
 * changes, where μ are the moments over the real positions of this batch, and 1 to batches. A side without a real row
 * adds nothing. */
struct oa_moments_change {
    long batch, heads, width; /* B, H, K */
    long rows[2];             /* T, S */
    const int32_t *lengths[2];
    double scale;
    const void *x[2];                            /* act [B·rows, H·K] contiguous */
    const void *mean, *square;                   /* real [2, H, K], [2, H, K, K] */
    void *mean_change, *square_change, *batches; /* real, like these; [1] */
};

/* ---- polynomial weights: w_ij = (scale·q_i·k_j)^degree over visible keys, O_i = Σ w v_j / (Σ w + bias), O(n²) --- */

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

/* ---- given weights: fixed patterns (mechanisms.md P1), O(n) by shifts and prefix sums -------------------------- */

enum oa_pattern {
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
    enum oa_pattern pattern;
    enum oa_edge edge;
    const int32_t *words; /* [B·S] word numbers: patterns over words (unit=word); NULL = over tokens */
    const void *v;
    long ldv;
    void *dv;
    void *o;
    long ldo;
    const void *d_o;
    /* Decoding: [B, H, oa_pattern_state(pattern), V] of the tokens of earlier calls, zeros at first. Keys are the new
     * tokens, from position `first`. NULL: none. */
    double *state;
};
/* Rows of V numbers that the causal form of a pattern keeps. */
int oa_pattern_state(enum oa_pattern p);

/* ---- weights over a band of keys (mechanisms.md P2, C2, C3): formulas in cpu_band.c ------------------------------ */

struct oa_band {
    struct oa_attention_shape shape;
    long taps, before; /* tap k of row i is key i + k − before; taps = 0: a Gaussian around i + offset */
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

/* ---- projection along the length (mechanisms.md C1): Y = W[:m]ᵀ X for each (b,h) ------------------------------- */

struct oa_length_projection {
    long batch, length, heads, width, rank; /* B, m, H, c, k */
    const int32_t *lengths;                 /* [B] rows beyond are padding: they count as zeros. NULL = all are real */
    const void *x;                          /* act [B·m, H·c] */
    long ldx;
    void *dx;         /* act, overwritten */
    const void *w;    /* act [H or 1, N, k] */
    long head_stride; /* elements between the matrices of two heads; 0 = one for all */
    void *dw;         /* real, added to */
    void *y;          /* act [B·k, H·c] */
    long ldy;
    const void *dy; /* act */
};

/* ---- structured projections (mechanisms.md O2: SRHT, HD3, permutations): y_h = x U_h for each head, with the chain
 *
 *     U_h = s_0 H s_1 H … H s_f P,   H = H_{2^a} ⊗ Q / √(2^a),  D = 2^a·b, b odd
 *
 * of diagonals s_i, Hadamard matrices of entries ±1 and a selection P of K columns. Q [b, b] is orthogonal; where b = 1
 * it is left out. O(f·D·(log D + b)) a row instead of D·K. The numbers of a head, real: s_0 … s_f (1/√(2^a) in s_0 …
 * s_{f−1}), the columns that P keeps, and Q column by column. ---- */

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

/* ---- token mixing, causal, one token after the other (mechanisms.md X1): formulas in cpu_mixer_steps.c ---------- */

struct oa_mixer_steps {
    long first, tokens;                /* position of the first token, how many come */
    long channels, units, length;      /* C, D_S, N */
    const void *in_weight, *in_bias;   /* act [D_S, N], real [D_S] */
    const void *out_weight, *out_bias; /* act [N, D_S], real [N] */
    const void *x;                     /* act [tokens, ≥ C] */
    long ldx;
    void *y; /* act [tokens, ≥ C] */
    long ldy;
    void *state; /* real [C, D_S]: hidden units, those whose time is past after gelu; zeros at first */
};

/* ---- the rest of a Transformer ------------------------------------------------------------------------------- */

struct oa_dropout {
    double keep; /* 1 = none */
    struct oa_stream stream;
};

/* sum = x + dropout(branch) (branch may be NULL: sum = x, and need not be stored when it is x); y = norm(sum). */
struct oa_residual_norm {
    long rows, cols;
    const void *x, *branch;
    struct oa_dropout dropout;
    void *sum;               /* act */
    const void *gain, *bias; /* real; bias may be NULL */
    double epsilon;
    void *y, *mean, *rstd; /* act; real [rows] */
    /* backward: dy of y, dsum of sum from later uses (may be NULL) → dx (overwritten), dbranch (NULL when no branch) */
    const void *dy, *dsum;
    void *dx, *dbranch, *dgain, *dbias;
};

/* y[t] = dropout(table[id[t]] + position[t mod T]); position may be NULL. */
struct oa_embedding {
    long tokens, length, width, vocabulary; /* length = T */
    const int32_t *ids;
    const void *table, *position; /* real */
    struct oa_dropout dropout;
    void *y; /* act */
    const void *dy;
    void *dtable, *dposition; /* real, added to; dposition may be NULL */
};

/* loss = −Σ log softmax(x Wᵀ)[target] over rows with target ≥ 0; logits exist for a block of rows only. With dx given
 * the gradient of scale·loss is made in the same pass. */
struct oa_linear_loss {
    long rows, width, vocabulary;
    const void *x, *w;     /* act [rows, D], act [vocabulary, D] */
    const int32_t *target; /* [rows], < 0 = ignored */
    double scale;          /* usually 1 / number of targets of the whole step */
    void *dx, *dw;         /* act, overwritten; real, added to. NULL: no gradient */
    double *loss;          /* receives the sum over the rows, in nats, unscaled */
};

/* One parameter's Adafactor update (cpu_adafactor.c has the formulas). */
struct oa_adafactor {
    long rows, cols;
    bool factored; /* matrices; vectors keep a full second moment */
    double lr, decay, weight_decay, gradient_scale;
    void *w, *v, *update; /* real [rows·cols]; v holds rows + cols numbers when factored; update is scratch */
    const void *g;
};

struct oa_device_ops {
    const char *name;
    void (*zero)(struct oa_device *d, size_t bytes, void *x);
    void (*act_from_real)(struct oa_device *d, long n, const void *x, void *y);
    void (*real_from_act)(struct oa_device *d, long n, const void *x, void *y);
    void (*add)(struct oa_device *d, long n, const void *x, const void *y, void *sum); /* act */
    /* C = op(A) op(B) as kernels.h; big products are cut into items by rows and columns of C. */
    void (*gemm)(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b, void *c);
    void (*add_bias)(struct oa_device *d, long rows, long cols, const void *bias, void *y, long ldy);
    void (*column_sums)(struct oa_device *d, long rows, long cols, const void *x, long ldx, void *sums);
    void (*gelu)(struct oa_device *d, long n, const void *x, void *y);
    void (*gelu_gradient)(struct oa_device *d, long n, const void *x, const void *dy, void *dx);
    void (*relu)(struct oa_device *d, long n, const void *x, void *y);
    void (*relu_gradient)(struct oa_device *d, long n, const void *x, const void *dy, void *dx);
    void (*feature)(struct oa_device *d, enum oa_feature f, int degree, long rows, long width, const void *x, long ldx,
                    void *y, long ldy);
    void (*feature_gradient)(struct oa_device *d, enum oa_feature f, int degree, long rows, long width, const void *x,
                             long ldx, const void *dy, long lddy, void *dx, long lddx);
    /* Positions as angles (kernels.h: place): token i stands at i mod length; angles: double [length], cosine and sine
     * are taken of them. */
    void (*place)(struct oa_device *d, long tokens, long length, long heads, long width, const double *angles,
                  const void *x, void *y);
    void (*place_gradient)(struct oa_device *d, long tokens, long length, long heads, long width, const double *angles,
                           const void *x, const void *dy, void *dx);
    void (*product)(struct oa_device *d, long n, double a, const void *x, const void *y, void *z); /* act z = a·x·y */
    void (*random_statistics)(struct oa_device *d, const struct oa_random_statistics *a);
    void (*moments_change)(struct oa_device *d, const struct oa_moments_change *a);
    void (*random_features)(struct oa_device *d, const struct oa_random_features *a);
    void (*random_features_gradient)(struct oa_device *d, const struct oa_random_features *a);
    /* y row = x row, or zeros where the row is padding: row b·length + t with t ≥ lengths[b]. By selection: NaN in
     * padding does not matter. */
    void (*select_rows)(struct oa_device *d, long rows, long cols, long length, const int32_t *lengths, const void *x,
                        long ldx, void *y, long ldy);
    /* y row = x row · factor (real [cols]); the gradient of factor is added to dfactor. */
    void (*scale_columns)(struct oa_device *d, long rows, long cols, const void *factor, const void *x, long ldx,
                          void *y, long ldy);
    void (*scale_columns_gradient)(struct oa_device *d, long rows, long cols, const void *x, long ldx, const void *dy,
                                   long lddy, void *dfactor);
    /* Rotary positions of every token, in place; tables real [length, width/2]; sign −1 = backward. */
    void (*rotate)(struct oa_device *d, long tokens, long length, long heads, long width, const void *cosine,
                   const void *sine, double sign, void *x, long ldx);
    void (*residual_norm)(struct oa_device *d, const struct oa_residual_norm *a);
    void (*residual_norm_gradient)(struct oa_device *d, const struct oa_residual_norm *a);
    void (*embed)(struct oa_device *d, const struct oa_embedding *a);
    void (*embed_gradient)(struct oa_device *d, const struct oa_embedding *a);
    void (*linear_loss)(struct oa_device *d, const struct oa_linear_loss *a);
    void (*logits)(struct oa_device *d, const struct oa_logits *a);
    void (*logits_gradient)(struct oa_device *d, const struct oa_logits *a);
    void (*linear_attention)(struct oa_device *d, const struct oa_linear_attention *a);
    void (*linear_attention_gradient)(struct oa_device *d, const struct oa_linear_attention *a);
    void (*polynomial)(struct oa_device *d, const struct oa_polynomial *a);
    void (*polynomial_gradient)(struct oa_device *d, const struct oa_polynomial *a);
    void (*pattern)(struct oa_device *d, const struct oa_pattern_attention *a);
    void (*pattern_gradient)(struct oa_device *d, const struct oa_pattern_attention *a);
    void (*band)(struct oa_device *d, const struct oa_band *a);
    void (*band_gradient)(struct oa_device *d, const struct oa_band *a);
    /* y = a·σ(b) for rows x = [a | b]; all contiguous. */
    void (*gate)(struct oa_device *d, long rows, long cols, const void *x, void *y);
    void (*gate_gradient)(struct oa_device *d, long rows, long cols, const void *x, const void *dy, void *dx);
    void (*project_length)(struct oa_device *d, const struct oa_length_projection *a);
    void (*project_length_gradient)(struct oa_device *d, const struct oa_length_projection *a);
    void (*transform)(struct oa_device *d, const struct oa_transform *a);
    void (*transform_gradient)(struct oa_device *d, const struct oa_transform *a);
    /* Token mixing (cpu_mixer.c). y act [rows, cols] = x real where j < high[i], else 0; dx real += dy real there. */
    void (*mask_rows)(struct oa_device *d, long rows, long cols, const int32_t *high, const void *x, void *y);
    void (*mask_rows_gradient)(struct oa_device *d, long rows, long cols, const int32_t *high, const void *dy,
                               void *dx);
    /* Row i of y += bias[i mod length]; sums[i mod length] += the sum of row i of x. */
    void (*add_position_bias)(struct oa_device *d, long rows, long cols, long length, const void *bias, void *y,
                              long ldy);
    void (*position_sums)(struct oa_device *d, long rows, long cols, long length, const void *x, long ldx, void *sums);
    void (*gelu_exact)(struct oa_device *d, long n, const void *x, void *y);
    void (*gelu_exact_gradient)(struct oa_device *d, long n, const void *x, const void *dy, void *dx); /* in place */
    void (*mixer_steps)(struct oa_device *d, const struct oa_mixer_steps *a);
    void (*adamw)(struct oa_device *d, long n, const struct oa_adamw *h, void *w, void *m, void *v, const void *g);
    void (*sgd)(struct oa_device *d, long n, double lr, double momentum, double weight_decay, double gradient_scale,
                void *w, void *m, const void *g);
    void (*adafactor)(struct oa_device *d, const struct oa_adafactor *a);
    void (*axpy)(struct oa_device *d, long n, double a, const void *x, void *y); /* real y += a·x */
    double (*sum_squares)(struct oa_device *d, long n, const void *x);
};

extern const struct oa_device_ops oa_device_cpu, oa_device_plan;

#endif
