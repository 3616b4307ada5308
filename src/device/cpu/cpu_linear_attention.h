/* SPDX-License-Identifier: Apache-2.0
 * Private to linear attention: shared by its three files. cpu_linear_attention.c has the formulas
 * and the forward pass, cpu_linear_gradient.c the backward pass, cpu_linear_chunks.c the functions
 * below. */
#ifndef ORTHANT_DEVICE_CPU_CPU_LINEAR_ATTENTION_H
#define ORTHANT_DEVICE_CPU_CPU_LINEAR_ATTENTION_H

#include "device/cpu/cpu.h"
#include "device/cpu/cpu_logits.h"
#include "device/cpu/cpu_panels.h"

struct oa_linear_call {
    struct oa_device *d;
    const struct oa_linear_attention *a;
    bool gradient; /* the backward pass */
};

/* One worker on one (b,h). */
struct oa_linear_work {
    struct oa_device *d;
    const struct oa_linear_attention *a;
    struct oa_gemm_state *gemm;
    struct oa_arena *scratch;
    bool failed;
    long b, h, queries, keys; /* that are not padding */
    long chunk;
    long wide; /* numbers from one row of features to the next: r, or where products read panels
                  whole ones */

    /* the chunk at work: first row, real rows of queries and keys, both filled up with zeros to
     * `padded` */
    long i0, rows, cols, padded;
    void *q, *k,
        *v;      /* act [chunk, wide], [chunk, wide], [chunk, V]: φ_q, φ_k, v; zeros from r on */
    void *n, *e; /* act [chunk, V], real [chunk]: N and e, within the two below */
    void *all_n, *all_e;   /* act [T, V], real [T], T filled up to whole chunks; only backward */
    void *den, *factor;    /* real [chunk] */
    void *tile, *tile_act; /* [chunk, chunk] */
    void *sum;             /* real [chunk, max(wide, V)] */
    void *ones;            /* real [chunk] */
    void *scaled;          /* act [chunk, V]: v or N times w->factor, with scales */
    void *dphi;            /* act [chunk, wide]: gradients of features that are computed here */
    int32_t *low, *high;
    void *scale, *seen; /* real [S]: c_j, m_j; NULL without scales */
    double start;       /* the scale of a state of earlier calls */
    bool copies; /* a later query head reads the same stored state, so that this one has a copy */

    /* S, z: real [r, V], real [r], act [wide, V]. Backward (turned) Sᵀ, then Gᵀ, [V, wide], so that
     * rows of features are packed once for the state and for the weights within the chunk, without
     * transposition. */
    bool turned;
    void *state, *z, *state_act;
    struct oa_panels panels; /* rows of features packed for products; NULL where not `turned` */
    const void *packed;      /* the packed ones: w->q or w->k, or NULL */
};

/* Operands of a chunk: its queries (QUERIES: their features as well), its keys with their values.
 * */
enum { OA_LINEAR_ROWS = 1, OA_LINEAR_QUERIES = 3, OA_LINEAR_KEYS = 4 };

/* Takes memory for (b,h) number `item` and sets its fields; w->failed without memory. */
void oa_linear_open(struct oa_linear_work *w, const struct oa_linear_call *f, long item,
                    const struct oa_worker *worker);
void *oa_linear_take(struct oa_linear_work *w, long n, size_t size); /* n numbers of scratch */

/* ---- chunks ---- */

/* Goes to the chunk at i0 and packs these operands. */
void oa_linear_go_to(struct oa_linear_work *w, long i0, int what);
bool oa_linear_last_chunk(const struct oa_linear_work *w);
/* Row i0 of the current head in x [B·T, …] or x [B·S, …], where a head has `width` columns. */
void *oa_linear_query_place(const struct oa_linear_work *w, const void *x, long ld, long width);
void *oa_linear_key_place(const struct oa_linear_work *w, const void *x, long ld, long width);
/* The same in its gradient; *ld becomes the leading dimension there, which differs if query heads
 * share it. */
void *oa_linear_key_gradient(const struct oa_linear_work *w, void *x, long width, long *ld);
long oa_linear_feature_columns(const struct oa_linear_attention *a); /* of a head in fq and fk */
/* Stores rows of w->sum, `next` apart, in x, then zeros up to row `all`; … as the gradient of
 * features computed from the rows x. */
void oa_linear_store(const struct oa_linear_work *w, long rows, long all, long width, long next,
                     void *x, long ld);
void oa_linear_store_features(const struct oa_linear_work *w, long rows, long all, const void *x,
                              long ld, void *dx, long lddx);

/* ---- products into reals: lengths and widths of packed operands follow from m, n, k ---- */

void oa_linear_product(struct oa_linear_work *w, long m, long n, long k, const void *a,
                       const void *b, void *c, bool accumulate);
void oa_linear_product_tb(struct oa_linear_work *w, long m, long n, long k, const void *a,
                          const void *b, void *c, bool accumulate);
void oa_linear_product_ta(struct oa_linear_work *w, long m, long n, long k, const void *a,
                          const void *b, void *c, bool accumulate);

/* … with rows of features of the chunk on the right, w->q or w->k: C [m, wide] += op(A)·features;
 * turned: A is stored [chunk, m]. */
void oa_linear_product_features(struct oa_linear_work *w, long m, bool turned, const void *a,
                                const void *features, void *c, bool accumulate);

/* ---- the state ---- */

void oa_linear_clear_state(struct oa_linear_work *w);
void oa_linear_keep_scale(
    struct oa_linear_work *w); /* the scale that S and z have after this call, next to them */
bool oa_linear_begun(
    const struct oa_linear_work *w); /* whether the state has keys before the chunk */
double oa_linear_state_scale(const struct oa_linear_work *w);
void oa_linear_add_keys(struct oa_linear_work *w);     /* S += φ_kᵀ V, z += Σ φ_k */
void oa_linear_add_all_keys(struct oa_linear_work *w); /* of all chunks, and rounds */
void oa_linear_add_queries(struct oa_linear_work *w);  /* G += φ_qᵀ N, g += Σ e φ_q */
void oa_linear_round_state(struct oa_linear_work *w);  /* to w->state_act */

/* ---- scales and denominators ---- */

void oa_linear_decay_pairs(struct oa_linear_work *w); /* w->tile: times e^{c_j − m_i} */
void oa_linear_decay_rows(struct oa_linear_work *w,
                          long width); /* w->sum, the product with S: to the scale of each row */
void oa_linear_decay_columns(struct oa_linear_work *w,
                             long width); /* w->sum, the product with G: times e^{c_j − M} */
double oa_linear_epsilon(const struct oa_linear_work *w,
                         long i); /* of row i of the chunk, at its scale */
void *oa_linear_denominators(
    const struct oa_linear_work *w); /* those of the chunk, real, saved for backward */

#endif
