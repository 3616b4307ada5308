/* SPDX-License-Identifier: Apache-2.0
 * Private to state updates: cpu_recurrence.c has the formulas and the forward pass,
 * cpu_recurrence_gradient.c the backward pass, cpu_recurrence_chunks.c the functions below. */
#ifndef ORTHANT_DEVICE_CPU_CPU_RECURRENCE_H
#define ORTHANT_DEVICE_CPU_CPU_RECURRENCE_H

#include "device/cpu/cpu.h"

enum {
    OA_RECURRENCE_CHUNK = 64,
    OA_RECURRENCE_BLOCK = 16 /* rows of a chunk whose decays by channel are multiplied one by one */
};

struct oa_recurrence_call {
    struct oa_device *d;
    const struct oa_recurrence *a;
    void *d_rate; /* backward, HEAD: real [B, H] */
};

/* One worker on one (b,h). All buffers are reals; rows that are not real tokens are zeros. */
struct oa_recurrence_work {
    struct oa_device *d;
    const struct oa_recurrence *a;
    const struct oa_kernels *k; /* of reals */
    struct oa_gemm_state *gemm;
    struct oa_arena *scratch;
    bool failed;
    long b, h, tokens; /* that are not padding */
    long r, v;         /* r, V */
    long decays;       /* numbers of a row of decays: 1, or r */

    /* the current chunk: first row, real rows, rows padded to whole blocks */
    long i0, rows, padded;
    void *q, *key, *value;  /* [chunk, r], [chunk, r], [chunk, V]; q with the scale */
    void *log_decay, *sums; /* [chunk, decays]: ln γ, and b, their sums from the chunk's start */
    void *beta;             /* [chunk] */
    void *query_left, *key_left, *key_right; /* [chunk, r]: q e^b, k e^b, k e^{b_C − b} */
    void *pairs, *key_pairs;                 /* [padded, padded]: P; −A */
    void *u;                                 /* [chunk, V] */
    void *state;                             /* [r, V]: S before the chunk */
    void *tile, *rows_sum;                   /* [chunk, chunk]; [chunk, max(r, V)] */
    void *row, *zeros, *ones, *factor;       /* [max(r, V)], [r], [r], [max(chunk, r)] */
    void *block_q, *block_k, *block_keys, *block_left, *block_right; /* CHANNEL: [block, r] …,
                                                                        block_keys and _right
                                                                        [chunk, r] */
    int32_t *low, *below, *through;                                  /* [chunk]: 0; i; i + 1 */
};

void oa_recurrence_open(struct oa_recurrence_work *w, const struct oa_recurrence_call *f, long item,
                        const struct oa_worker *worker);
void *oa_recurrence_take(struct oa_recurrence_work *w, long n); /* n reals of scratch */
/* Real c [m, n] (+)= op(a) op(b); leading dimensions are those of dense operands unless given. */
void oa_recurrence_product(struct oa_recurrence_work *w, const struct oa_gemm *g, const void *a,
                           const void *b, void *c);

/* Row i0 of the current head in x [B·T, …] with `width` columns a head. */
void *oa_recurrence_place(const struct oa_recurrence_work *w, const void *x, long ld, long width);
/* Of row i of the chunk, in x with one column a head. */
double oa_recurrence_logit(const struct oa_recurrence_work *w, const void *x, long ld, long i);
/* Real rows of the chunk as reals, then zeros. */
void oa_recurrence_load(const struct oa_recurrence_work *w, const void *x, long ld, long width,
                        void *to);
/* Rows of the chunk into x, zeros at padded tokens. */
void oa_recurrence_store(const struct oa_recurrence_work *w, const void *rows, long ld, long width,
                         void *x);
/* Goes to the chunk at i0 and reads operands, decays and β, padded to a multiple of `granule` rows;
 * oa_recurrence_go_to also computes the operands of products, pairs among them. */
void oa_recurrence_read(struct oa_recurrence_work *w, long i0, long granule);
void oa_recurrence_go_to(struct oa_recurrence_work *w, long i0);
/* x [padded, V] ← (I + A)⁻¹ x, or (I + A)⁻ᵀ x. */
void oa_recurrence_solve(struct oa_recurrence_work *w, bool transposed, void *x);
/* CHANNEL, a block at j0: e^{b − b_{j0−1}} of its rows into own, e^{b_{j0−1} − b} of those before
 * it into before; γ of its rows into decay. */
void oa_recurrence_block_decays(struct oa_recurrence_work *w, long j0, void *own, void *before);
void oa_recurrence_block_factors(struct oa_recurrence_work *w, long j0, void *decay);
/* w->u of the state before the chunk. */
void oa_recurrence_values(struct oa_recurrence_work *w);
/* w->state: past the chunk. */
void oa_recurrence_advance(struct oa_recurrence_work *w);
/* Rows of the chunk times e^b, or with `rest` e^{b_C − b}. CHANNEL: width is r. */
void oa_recurrence_decay_rows(struct oa_recurrence_work *w, bool rest, void *x, long width);
/* The r factors by which the state decays in the whole chunk, into w->factor. */
void oa_recurrence_state_decay(struct oa_recurrence_work *w);

#endif
