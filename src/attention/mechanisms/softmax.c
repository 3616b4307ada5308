/* SPDX-License-Identifier: Apache-2.0
 * Softmax attention. Vaswani et al., Attention is all you need, 2017, arXiv 1706.03762.
 *
 *     S = τ (X W_Q)(X W_K)ᵀ,  τ = 1/√K,      O = softmax(S) (X W_V)        for each head
 *
 * Shapes: x [T, D] (keys and values of [S, D] in cross-attention), q [T, H·K], k [S, H·K],
 * v [S, H·V], o [T, H·V]. Cost: H·T·S·(2K + 2V + 5) FLOPs without projections; memory O(T): S is
 * never stored. */
#include "attention/mechanism.h"

static const struct oa_argument arguments[] = { OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
                                                OA_KV_ARGUMENT,
                                                OA_QKNORM_ARGUMENT,
                                                OA_LOGITS_HEAD_ARGUMENTS,
                                                OA_RELATIVE_ARGUMENTS,
                                                { .key = NULL } };

const struct oa_mechanism oa_mechanism_softmax = {
    .name = "softmax",
    .title = "Softmax attention",
    .citation = "Vaswani et al. 2017, arXiv 1706.03762",
    .formula = "S = (x W_Q)(x W_K)ᵀ / √K;  O = softmax(S) (x W_V)",
    .mistakes = "Many: masks are added as −10⁹ or −10¹⁰. Two such masks overflow half precision "
                "to −∞, and −∞ − (−∞) is NaN.\n"
                "Many: a row without a visible key becomes the plain average of the values, or "
                "NaN; here it is 0.",
    .cost = "O(n²(K + V)) time, O(n) memory",
    .state = "keys and values: t(K + V)",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_CAN_MIX | OA_HAS_QUERIES | OA_HAS_WEIGHTS | OA_DROPS |
           OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .forward = oa_part_forward,
    .part = oa_dot_part,
    .flops = oa_dot_flops,
    .state_numbers = oa_dot_state,
    .scores = oa_dot_scores,
    .weights = oa_softmax_weights,
};
