/* SPDX-License-Identifier: Apache-2.0
 * State updates: attention as a state S [r, V] that every token changes and then reads,
 *
 *     S ← γ_t ⊙ S                           decay, of rows of S (FIXED, HEAD: one number for all)
 *     S ← S + k_t v_tᵀ                      plain sums, or
 *     S ← S + β_t k_t (v_t − Sᵀ k_t)ᵀ       the delta rule: replaces the value of k_t in S
 *     o_t = scale·Sᵀ q_t
 *
 * (Sun et al. 2023, arXiv 2307.08621; Yang et al. 2024, arXiv 2312.06635 and 2406.06484; delta with
 * decay: arXiv 2412.06464). Chunk by chunk, so that the matrix units have work. With
 * b_t = Σ_{l ≤ t} ln γ_l in the chunk, S_0 the state before it and u_t the vector that token t adds
 * to S with its key (v_t, or β_t(v_t − Sᵀk_t)),
 *
 *     S_t = e^{b_t} ⊙ S_0 + Σ_{j ≤ t} (e^{b_t − b_j} ⊙ k_j) u_jᵀ
 *     o_t = (e^{b_t} ⊙ q_t)ᵀ S_0 + Σ_{j ≤ t} P_tj u_j,    P_tj = q_tᵀ(e^{b_t − b_j} ⊙ k_j)
 *     (I + A) U = β(V − (e^b ⊙ K) S_0),    A_tj = β_t k_tᵀ(e^{b_t − b_j} ⊙ k_j) for j < t
 *
 * with q scaled: the WY form of the product of the factors I − β k kᵀ. Exponents of pairs are b_t −
 * b_j ≤ 0. For decays by channel they do not factor over a whole chunk without overflow: rows are
 * in blocks of 16, and decays are relative to the row before the block for pairs with earlier
 * blocks, and are multiplied pair by pair inside. No bit of row t depends on a later token. The
 * delta rule can overflow, and a zero of P times infinity is not 0: its products end at the row
 * itself.
 *
 * Backward, chunks from the last to the first, with dS the gradient of the state after the chunk
 * (states before chunks and U of all of them: a forward pass again):
 *
 *     dU = Pᵀ dO + (e^{b_C − b} ⊙ K) dS,    dP = dO Uᵀ, j ≤ t
 *     dR = (I + A)⁻ᵀ dU,   W = β dR (dU without β),   da = −W Uᵀ, j < t (of A without β)
 *     dv = W,   d(logit of β_t) = (dR_t·u_t)(1 − β_t)
 *     dq_t = e^{b_t} ⊙ S_0 dO_t + Σ_j dP_tj e^{b_t − b_j} ⊙ k_j
 *     dk_t = −e^{b_t} ⊙ S_0 W_t + Σ_j da_tj e^{b_t − b_j} ⊙ k_j                              (left)
 *          + e^{b_C − b_t} ⊙ dS u_t + Σ_i e^{b_i − b_t} ⊙ (dP_it q_i + da_it k_i)        (right)
 *     dS_0 = e^{b_C} ⊙ dS + (e^b ⊙ Q)ᵀ dO − (e^b ⊙ K)ᵀ W
 *
 * b_t multiplies what is to its left and divides what is to its right: db = q ⊙ dq + k ⊙ dk_left −
 * k ⊙ dk_right, where P_tt, which has no decay, is left out of both; b_C adds Σ_t k ⊙ e^{b_C − b} ⊙
 * dS u_t + e^{b_C} ⊙ Σ_V S_0 dS; and d ln γ_l is the sum of db over t ≥ l.
 *
 * All numbers inside are reals. An item is a (b,h). Memory a worker: O(chunk·(r + V + chunk) +
 * r·V), backward T·V + T·r·V/chunk more. */
#include "device/cpu/cpu_recurrence.h"

#include "device/cpu/cpu_logits.h"

#include <string.h>

/* w->rows_sum += P U of the rows of a block at i0, of which row i reads rows j ≤ i only. */
static void add_block_pairs(struct oa_recurrence_work *w, long i0)
{
    long n = w->padded, v = w->v;
    void *rows = oa_real_at(w->d, w->rows_sum, i0 * v);
    struct oa_gemm g = { .m = OA_RECURRENCE_BLOCK, .n = v, .k = i0, .lda = n, .accumulate = true };
    if (i0 > 0)
        oa_recurrence_product(w, &g, oa_real_at(w->d, w->pairs, i0 * n), w->u, rows);
    for (long i = i0; i < i0 + OA_RECURRENCE_BLOCK; i++)
        for (long j = i0; j <= i; j++)
            w->k->axpy(v, oa_real_get(w->d, w->pairs, i * n + j), oa_real_at(w->d, w->u, j * v),
                       oa_real_at(w->d, w->rows_sum, i * v));
}

static void recurrence_outputs(struct oa_recurrence_work *w)
{
    long n = w->padded, v = w->v;
    oa_recurrence_product(w, &(struct oa_gemm){ .m = n, .n = v, .k = w->r }, w->query_left,
                          w->state, w->rows_sum);
    if (w->a->beta_logits)
        for (long i0 = 0; i0 < n; i0 += OA_RECURRENCE_BLOCK)
            add_block_pairs(w, i0);
    else
        oa_recurrence_product(w, &(struct oa_gemm){ .m = n, .n = v, .k = n, .accumulate = true },
                              w->pairs, w->u, w->rows_sum);
    oa_recurrence_store(w, w->rows_sum, w->a->ldo, v, w->a->o);
}

/* y [V] += Σ_c x_c S_c. */
static void read_state_rows(struct oa_recurrence_work *w, const void *x, void *y)
{
    for (long c = 0; c < w->r; c++)
        w->k->axpy(w->v, oa_real_get(w->d, x, c), oa_real_at(w->d, w->state, c * w->v), y);
}

/* One token with a state, as in decoding: the recurrence itself. */
static void recurrence_step_item(void *argument, long item, const struct oa_worker *worker)
{
    struct oa_recurrence_work w;
    oa_recurrence_open(&w, argument, item, worker);
    if (w.failed)
        return;
    oa_recurrence_read(&w, 0, 1);
    oa_recurrence_state_decay(&w);
    w.k->scale_rows(w.r, w.v, w.factor, w.state, w.v);
    if (w.a->beta_logits) {
        oa_real_fill(w.d, w.v, 0, w.u);
        read_state_rows(&w, w.key, w.u);
        w.k->axpy(w.v, -1, w.u, w.value);
        w.k->scale_rows(1, w.v, w.beta, w.value, w.v);
    }
    for (long c = 0; c < w.r; c++)
        w.k->axpy(w.v, oa_real_get(w.d, w.key, c), w.value, oa_real_at(w.d, w.state, c * w.v));
    oa_real_fill(w.d, w.v, 0, w.rows_sum);
    read_state_rows(&w, w.q, w.rows_sum);
    oa_recurrence_store(&w, w.rows_sum, w.a->ldo, w.v, w.a->o);
}

static void recurrence_item(void *argument, long item, const struct oa_worker *worker)
{
    struct oa_recurrence_work w;
    oa_recurrence_open(&w, argument, item, worker);
    for (long i0 = 0; !w.failed && i0 < w.a->shape.queries; i0 += OA_RECURRENCE_CHUNK) {
        oa_recurrence_go_to(&w, i0);
        if (w.rows > 0) {
            oa_recurrence_values(&w);
            recurrence_outputs(&w);
            oa_recurrence_advance(&w);
        } else
            oa_recurrence_store(&w, w.rows_sum, w.a->ldo, w.v, w.a->o);
    }
}

void oa_cpu_recurrence(struct oa_device *d, const struct oa_recurrence *a)
{
    struct oa_recurrence_call f = { .d = d, .a = a };
    bool step = a->state && a->shape.queries == 1;
    oa_parallel(d->context, a->shape.batch * a->shape.heads,
                step ? recurrence_step_item : recurrence_item, &f);
}
