/* SPDX-License-Identifier: Apache-2.0
 * Local (sliding-window) attention. Child et al., Generating long sequences with sparse
 * Transformers, 2019, arXiv 1904.10509; Beltagy, Peters, Cohan, Longformer, 2020, arXiv 2004.05150.
 *
 *     S = τ (X W_Q)(X W_K)ᵀ over the keys j = i − δt,  0 ≤ t < window if causal, else |t| ≤ window
 *
 * δ is the dilation. Everything else as softmax.c; with a window of the whole sequence it is the
 * same function. Cost: O(n·window·(K + V)); the engine skips tiles outside the window. */
#include "attention/mechanism.h"
#include "device/support.h"

static const struct oa_argument arguments[] = {
    { "window", OA_VALUE_INT, "128", NULL, 1, 1 << 30,
      "visible keys of a causal query; otherwise keys on each side" },
    { "dilation", OA_VALUE_INT, "1", NULL, 1, 1 << 30,
      "distance between neighbouring keys of the window" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_KV_ARGUMENT,
    OA_QKNORM_ARGUMENT,
    OA_LOGITS_HEAD_ARGUMENTS,
    OA_RELATIVE_ARGUMENTS,
    { .key = NULL }
};

static enum oa_error local_parameters(struct oa_group *g)
{
    g->support =
        oa_support_local(oa_atom_int(g->atom, "window", 0), oa_atom_int(g->atom, "dilation", 1));
    return OA_OK;
}

const struct oa_mechanism oa_mechanism_local = {
    .name = "local",
    .title = "Local attention",
    .citation = "Child et al. 2019, arXiv 1904.10509; Beltagy et al. 2020, arXiv 2004.05150",
    .formula = "softmax attention over j = i − dilation·t, |t| ≤ window (causal: 0 ≤ t < window)",
    .caveats = "One layer sees no further than its window; L layers reach L·(window − 1)·dilation "
               "tokens back in a causal stack, L·window·dilation to each side otherwise.",
    .mistakes = "Long Range Arena: its Local is block-local attention with blocks of 20, does not "
                "slide, and pads a whole block more when the length divides.\n"
                "fast-transformers: the window of c keys has one more to the right than to the "
                "left when c is even.",
    .cost = "O(n·window·(K + V)) time, O(n) memory",
    .state = "the last (window − 1)·dilation keys and values",
    .can = OA_CAN_CAUSAL | OA_HAS_QUERIES | OA_ORDER | OA_LINEAR_TIME | OA_HAS_WEIGHTS | OA_DROPS |
           OA_POSITIVE | OA_AVERAGES,
    .self_only = "positions of one sequence, since its window is around the query",
    .arguments = arguments,
    .parameters = local_parameters,
    .forward = oa_part_forward,
    .part = oa_dot_part,
    .flops = oa_dot_flops,
    .state_numbers = oa_dot_state,
    .scores = oa_dot_scores,
    .weights = oa_softmax_weights,
};
