/* SPDX-License-Identifier: Apache-2.0
 * Softmax attention whose query and key projections are frozen random orthonormal matrices, drawn
 * once and never trained. No publication of exactly this was found; the matrices: Mezzadri, How to
 * generate random matrices from the classical compact groups, 2007, arXiv math-ph/0609050;
 * Choromanski, Rowland, Weller, The unreasonable effectiveness of structured random orthogonal
 * embeddings, 2017, arXiv 1703.00864.
 *
 *     S = τ s² (X U)(X T)ᵀ,  UᵀU = TᵀT = I,  τ = 1/√K,  s = 1 or √(D/K)      O = softmax(S) (X W_V)
 *
 * Shapes and cost as softmax.c; the weight gradients of queries and keys are not needed. U and T
 * are drawn from the seed (generator.c), so that a saved model need not contain them. */
#include "attention/mechanism.h"

static const struct oa_argument arguments[] = { OA_PROJECTION_ARGUMENTS(OA_QK_HAAR),
                                                OA_KV_ARGUMENT,
                                                OA_QKNORM_ARGUMENT,
                                                OA_LOGITS_HEAD_ARGUMENTS,
                                                OA_RELATIVE_ARGUMENTS,
                                                { .key = NULL } };

const struct oa_mechanism oa_mechanism_orthogonal = {
    .name = "orthogonal",
    .title = "Frozen random orthogonal projections",
    .citation = "no publication found; the matrices after Mezzadri 2007, arXiv math-ph/0609050, "
                "and Choromanski et al. 2017, arXiv 1703.00864",
    .formula = "S = (x U)(x T)ᵀ / √K, U and T frozen, UᵀU = TᵀT = I (but for qk=gaussian);  O = "
               "softmax(S) (x W_V)",
    .caveats = "With independent U and T the logits are a random bilinear form of mean zero, which "
               "depends on content but does not measure similarity. With `tie` they do, and are "
               "largest for the token itself: with rows of squared norm D, as after layer norm, √K "
               "on average, 8 at K = 64.",
    .mistakes = "Performer in JAX, TensorFlow and PyTorch, fast-transformers: Q of a Householder "
                "QR without the signs of R is not uniform. Its first entry is always negative, "
                "with mean −Γ(D/2)/(√π Γ((D+1)/2)); two such matrices give E[U Tᵀ] ≠ 0, so the "
                "first coordinates attend to themselves.\n"
                "xFormers: multiplies the rows of Q by those signs; the columns are meant.\n"
                "PolySketchFormer: samples the columns of a Hadamard matrix with replacement; "
                "where one comes twice, UᵀU ≠ I.",
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
