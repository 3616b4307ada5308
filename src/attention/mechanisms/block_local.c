/* SPDX-License-Identifier: Apache-2.0
 * Block-local attention: a sequence is cut into blocks of `size` tokens, and tokens see their own
 * block only. The "Local" attention of Long Range Arena: Tay et al. 2020, arXiv 2011.04006.
 *
 *     S = τ (X W_Q)(X W_K)ᵀ over the keys j with ⌊j/size⌋ = ⌊i/size⌋
 *
 * Everything else as softmax.c; with a block of the whole sequence it is the same function. A last
 * block that is not full is a smaller one. Cost: O(n·size·(K + V)). */
#include "attention/mechanism.h"
#include "device/support.h"

static const struct oa_argument arguments[] = { { "size", OA_VALUE_INT, "64", NULL, 1, 1 << 30,
                                                  "tokens of a block" },
                                                OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
                                                OA_KV_ARGUMENT,
                                                OA_QKNORM_ARGUMENT,
                                                OA_LOGITS_HEAD_ARGUMENTS,
                                                OA_RELATIVE_ARGUMENTS,
                                                { .key = NULL } };

static enum oa_error block_local_parameters(struct oa_group *g)
{
    g->support = oa_support_blocks(oa_atom_int(g->atom, "size", 0));
    return OA_OK;
}

const struct oa_mechanism oa_mechanism_block_local = {
    .name = "block-local",
    .title = "Block-local attention",
    .citation = "Tay et al. 2020, Long Range Arena, arXiv 2011.04006",
    .formula = "softmax attention inside blocks of `size` tokens: ⌊j/size⌋ = ⌊i/size⌋",
    .caveats = "No information crosses a border between blocks, however many such layers there "
               "are: alternate with another attention.",
    .mistakes = "Long Range Arena: padding is mishandled, and a whole block is added when the "
                "length divides.",
    .cost = "O(n·size·(K + V)) time, O(n) memory",
    .state = "the keys and values of the current block: (t mod size)(K + V)",
    .can = OA_CAN_CAUSAL | OA_HAS_QUERIES | OA_ORDER | OA_LINEAR_TIME | OA_HAS_WEIGHTS | OA_DROPS |
           OA_POSITIVE | OA_AVERAGES,
    .self_only = "positions of one sequence, which share a block",
    .arguments = arguments,
    .parameters = block_local_parameters,
    .forward = oa_part_forward,
    .part = oa_dot_part,
    .flops = oa_dot_flops,
    .state_numbers = oa_dot_state,
    .scores = oa_dot_scores,
    .weights = oa_softmax_weights,
};
