/* SPDX-License-Identifier: Apache-2.0
 * Sparse Transformer. Child, Gray, Radford, Sutskever, Generating long sequences with sparse
 * Transformers, 2019, arXiv 1904.10509. Softmax attention over two key sets, with stride l (about
 * √n) and c summary columns:
 *
 *     strided:  A1_i = { j : i − l < j ≤ i }           A2_i = { j ≤ i : l divides i − j }
 *     fixed:    A1_i = { j ≤ i : ⌊j/l⌋ = ⌊i/l⌋ }       A2_i = { j ≤ i : j mod l ≥ l − c }
 *
 * Without causality the sets are made symmetric. heads=merged: every head sees A1 ∪ A2;
 * heads=split: heads 0, 2, … see A1, the others A2, and two of them reach every earlier token in
 * two hops. A1 has l keys, as in the authors' code; the paper's has one more. Rows that see nothing
 * (fixed, split: before the first summary) give 0.
 *
 * Cost: pairs·(2K + 2V + 5), pairs about 2n√n for l = √n. Summary columns and strides cross every
 * tile, so the engine runs over pieces (support_sparse.c): A1 in the order of the sequence, A2
 * among rows of the same residue modulo l, or over the summary columns gathered next to each other.
 * Decoding with fixed caches the current stride and the summary columns of earlier ones, for every
 * head; with strided all keys, because each is used again. */
#include "attention/mechanism.h"
#include "device/support.h"

static const struct oa_argument arguments[] = {
    { "", OA_VALUE_CHOICE, NULL, "strided|fixed", 0, 0, "which pair of key sets" },
    { "stride", OA_VALUE_INT, NULL, NULL, 1, 1 << 30, "l (default ⌈√N⌉)" },
    { "summary", OA_VALUE_INT, "1", NULL, 1, 1 << 30,
      "c of fixed: summary columns at the end of each stride" },
    { "heads", OA_VALUE_CHOICE, NULL, "merged|split", 0, 0,
      "both key sets in every head, or one of them alternately" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_KV_ARGUMENT,
    OA_QKNORM_ARGUMENT,
    OA_LOGITS_HEAD_ARGUMENTS,
    OA_RELATIVE_ARGUMENTS,
    { .key = NULL }
};

static bool sparse_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    if (oa_atom_is(a, "", "fixed") || !oa_atom_value(a, "summary")->given)
        return false;
    snprintf(sentence, size, "summary belongs to fixed; strided has no summary columns.");
    return true;
}

static enum oa_error sparse_parameters(struct oa_group *g)
{
    long stride = oa_atom_int(g->atom, "stride", oa_default_stride(oa_group_length(g)));
    g->support = oa_support_sparse(oa_atom_is(g->atom, "", "fixed"), stride,
                                   oa_atom_int(g->atom, "summary", 1),
                                   oa_atom_is(g->atom, "heads", "split"));
    return OA_OK;
}

static bool sparse_length_counts(const struct oa_group *g)
{
    return !oa_atom_value(g->atom, "stride")->given;
}

const struct oa_mechanism oa_mechanism_sparse = {
    .name = "sparse",
    .title = "Sparse Transformer",
    .citation = "Child et al. 2019, arXiv 1904.10509",
    .formula =
        "softmax attention over A1 ∪ A2, both with j ≤ i;  strided: i − l < j ≤ i, l divides i − "
        "j;  fixed: ⌊j/l⌋ = ⌊i/l⌋, j mod l ≥ l − c;  not causal: made symmetric",
    .caveats = "Rows of the far sets are copied into an order in which they are dense; at 512 "
               "tokens that and small tiles left 5 % of softmax's time to save, 11 % with fixed "
               "(docs/benchmarks.md). With fixed and heads=split, rows before the first summary "
               "column see nothing in every other head and give 0.",
    .mistakes =
        "The paper: {max(0, i − l) … i} has l + 1 keys; its own code has l, and so has this.\n"
        "The paper: in j mod l ∈ {l − c … l} the value l never occurs. Long Range Arena "
        "takes j mod l = 0 for it; the authors' code, and this, do not.",
    .cost = "O(n√n·(K + V)) time, O(n) memory",
    .state = "keys and values: strided t(K + V), fixed (t mod l + c·⌊t/l⌋)(K + V)",
    .can = OA_CAN_CAUSAL | OA_HAS_QUERIES | OA_ORDER | OA_HAS_WEIGHTS | OA_DROPS | OA_POSITIVE |
           OA_AVERAGES,
    .self_only = "positions of one sequence, whose distance decides",
    .arguments = arguments,
    .clash = sparse_clash,
    .parameters = sparse_parameters,
    .forward = oa_part_forward,
    .part = oa_dot_part,
    .flops = oa_dot_flops,
    .state_numbers = oa_dot_state,
    .scores = oa_dot_scores,
    .weights = oa_softmax_weights,
    .length_counts = sparse_length_counts,
};
