/* SPDX-License-Identifier: Apache-2.0
 * The kernel engine: attention whose weights are products of feature maps (Katharopoulos et al.
 * 2020), in O(n):
 *
 *     O_i = φ_q,iᵀ S / den_i,  den_i = φ_q,i·z (and a policy),  S = Σ_j φ_k,j v_jᵀ,  z = Σ_j φ_k,j,
 *
 * with sums over all real keys, or in the causal form over j ≤ i. That form goes chunk by chunk: S
 * and z at the start of the chunk serve all its rows, and the terms of its own keys are an explicit
 * masked product of chunk × chunk. S and z are reals throughout; S is rounded to `act` once a chunk
 * as the operand of a product, z never is.
 *
 * Backward, with N_i = dO_i/den_i and e_i = −(dO_i·O_i)/den_i (0 where a clamp holds the
 * denominator fixed), since dO_i·dO_i/dnumerator gives N_i, and the quotient rule gives e_i as the
 * gradient of den_i:
 *
 *     dφ_q,i = S_i N_i + e_i z_i
 *     dφ_k,j = G_j v_j + g_j,   dv_j = G_jᵀ φ_k,j
 *     with G_j = Σ_i φ_q,i N_iᵀ and g_j = Σ_i e_i φ_q,i over the i that see j
 *
 * S runs forward a second time for dφ_q, G runs in reverse for dφ_k and dv. Recovering S_i by
 * subtracting from the final state would lose all digits of early terms. Inside a chunk, with
 * M_ij = N_i·v_j + e_i for j ≤ i and A = φ_q φ_kᵀ:
 *
 *     dφ_q += M φ_k,   dφ_k += Mᵀ φ_q,   dv += Aᵀ N.
 *
 * Exponential features come with a logarithmic scale c_j of each key: φ_k,j is e^{c_j} times what
 * is stored. Row i is then relative to the largest scale that it sees, m_i = max_{j ≤ i} c_j
 * (without causality: of all keys), which cancels in O_i: the weight of pair (i, j) gets e^{c_j −
 * m_i} ≤ 1. With M the m of the last row of a chunk, S and z are stored relative to M of the chunk
 * before, G and g relative to M of the chunk that reads them. Every exponent is ≤ 0, and no bit of
 * row i depends on a later key.
 *
 * [B·T, H·r] × [B·S, H·r] × [B·S, H·V] → [B·T, H·V]; per row and head 4rV + 2·chunk·(r + V) FLOPs
 * forward. An item is a (b,h); memory a worker O(chunk·(r + V) + r·V), backward T·V more for N. */
#include "device/cpu/cpu_linear_attention.h"

#include <math.h>

double oa_guarded_denominator(enum oa_denominator p, double epsilon, double den)
{
    switch (p) {
    case OA_DENOMINATOR_ADD:
        return den + epsilon;
    case OA_DENOMINATOR_SIGN:
        return fabs(den) >= epsilon ? den : den < 0 ? -epsilon : epsilon;
    case OA_DENOMINATOR_CLAMP:
        return den < epsilon ? epsilon : den;
    case OA_DENOMINATOR_CONSTANT:
        return epsilon;
    default:
        return den;
    }
}

/* e^{scale of the state − m_i}; also called where there is no state yet. */
static double state_share(const struct oa_linear_work *w, long i)
{
    if (!w->scale || !w->a->shape.causal || !oa_linear_begun(w))
        return 1;
    return exp(oa_linear_state_scale(w) - oa_real_get(w->d, w->seen, w->i0 + i));
}

/* w->sum: numerators; w->den: the terms of the keys of the chunk in the denominators. */
static void finish_chunk_rows(struct oa_linear_work *w)
{
    const struct oa_linear_attention *a = w->a;
    long all = oa_min(w->chunk, a->shape.queries - w->i0);
    void *saved = oa_linear_denominators(w);
    oa_real_fill(w->d, all, 0, saved);
    w->d->cpu->kernels.row_dots_real(w->rows, a->features, w->q, w->wide, w->z, w->factor);
    for (long i = 0; i < w->rows; i++) {
        double den =
            oa_real_get(w->d, w->den, i) + state_share(w, i) * oa_real_get(w->d, w->factor, i);
        oa_real_set(w->d, saved, i,
                    oa_guarded_denominator(a->policy, oa_linear_epsilon(w, i), den));
        den = oa_real_get(w->d, saved, i);
        oa_real_set(w->d, w->factor, i, den == 0 ? 0 : 1 / den);
    }
    w->d->cpu->kernels.scale_rows(w->rows, a->shape.value_width, w->factor, w->sum,
                                  a->shape.value_width);
    oa_linear_store(w, w->rows, all, a->shape.value_width, a->shape.value_width,
                    oa_linear_query_place(w, a->o, a->ldo, a->shape.value_width), a->ldo);
}

static void causal_forward(struct oa_linear_work *w)
{
    long v = w->a->shape.value_width;
    for (long i0 = 0; i0 < w->a->shape.queries; i0 += w->chunk) {
        oa_linear_go_to(w, i0, OA_LINEAR_QUERIES | OA_LINEAR_KEYS);
        oa_real_fill(w->d, w->padded, 0, w->den);
        oa_linear_product_tb(w, w->padded, w->padded, w->wide, w->q, w->k, w->tile, false);
        oa_linear_decay_pairs(w);
        w->d->cpu->kernels.mask_tile(w->padded, w->padded, w->low, w->high, w->tile, w->padded,
                                     w->tile_act, w->padded, w->den);
        if (oa_linear_begun(w)) {
            oa_linear_round_state(w);
            oa_linear_product(w, w->padded, v, w->wide, w->q, w->state_act, w->sum, false);
            oa_linear_decay_rows(w, v);
        }
        oa_linear_product(w, w->padded, v, w->padded, w->tile_act, w->v, w->sum,
                          oa_linear_begun(w));
        finish_chunk_rows(w);
        if (!oa_linear_last_chunk(w) || w->a->state)
            oa_linear_add_keys(w);
    }
}

static void full_forward(struct oa_linear_work *w)
{
    oa_linear_add_all_keys(w);
    for (long i0 = 0; i0 < w->a->shape.queries; i0 += w->chunk) {
        oa_linear_go_to(w, i0, OA_LINEAR_QUERIES);
        oa_real_fill(w->d, w->padded, 0, w->den);
        oa_linear_product(w, w->padded, w->a->shape.value_width, w->wide, w->q, w->state_act,
                          w->sum, false);
        finish_chunk_rows(w);
    }
}

static void linear_item(void *argument, long item, const struct oa_worker *worker)
{
    struct oa_linear_work w;
    oa_linear_open(&w, argument, item, worker);
    if (w.failed)
        return;
    if (w.a->shape.causal)
        causal_forward(&w);
    else
        full_forward(&w);
    if (w.a->state)
        oa_linear_keep_scale(&w);
}

/* With a state, the query heads that share a head of keys run one after the other; the last one
 * stores the state. */
static void linear_state_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct oa_linear_call *f = argument;
    long each = f->a->shape.heads / oa_key_heads(&f->a->shape);
    for (long h = item * each; h < (item + 1) * each; h++) {
        size_t mark = oa_arena_mark(worker->scratch);
        linear_item(argument, h, worker);
        oa_arena_release(worker->scratch, mark);
    }
}

void oa_cpu_linear_attention(struct oa_device *d, const struct oa_linear_attention *a)
{
    struct oa_linear_call f = { .d = d, .a = a };
    if (oa_linear_step_wanted(a))
        oa_linear_step(d, a);
    else if (a->state)
        oa_parallel(d->context, a->shape.batch * oa_key_heads(&a->shape), linear_state_item, &f);
    else
        oa_parallel(d->context, a->shape.batch * a->shape.heads, linear_item, &f);
}
