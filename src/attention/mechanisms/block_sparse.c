/* SPDX-License-Identifier: Apache-2.0
 * Block-sparse attention. Gray, Radford, Kingma, GPU kernels for block-sparse weights, 2017; Child
 * et al. 2019, arXiv 1904.10509. Softmax attention over blocks of b×b pairs that are on or off as a
 * whole:
 *
 *     query i sees key j  ⇔  L[h][⌊i/b⌋][⌊j/b⌋] = 1
 *
 * layout=FILE gives L as text (block_layout.h), which is stored as block.layout [H, P, Q];
 * from=strided, fixed or local pools the key sets of `sparse` (with its defaults) or of `local`
 * (window = b) over N tokens: a block is on if any pair in it is, so that at least their keys are
 * visible. A sequence shorter than N uses the leading blocks; the last may be smaller. All
 * blocks on is softmax.c.
 *
 * Cost: b² pairs for each block that is on. The engine skips tiles whose blocks are all off. */
#include "attention/supports/block_layout.h"
#include "device/support.h"

static const struct oa_argument arguments[] = {
    { "block", OA_VALUE_INT, "64", NULL, 1, 1 << 20, "tokens of a block" },
    { "layout", OA_VALUE_TEXT, NULL, NULL, 0, 0,
      "a text file of 0 and 1: which blocks each head sees" },
    { "from", OA_VALUE_CHOICE, NULL, "strided|fixed|local", 0, 0,
      "pooled from the key sets of sparse, or of local" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_KV_ARGUMENT,
    OA_QKNORM_ARGUMENT,
    OA_LOGITS_HEAD_ARGUMENTS,
    OA_RELATIVE_ARGUMENTS,
    { .key = NULL }
};

static bool has_layout(const struct oa_atom *a)
{
    return oa_atom_value(a, "layout")->given;
}

static bool block_sparse_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    if (!has_layout(a) || !oa_atom_value(a, "from")->given)
        return false;
    snprintf(sentence, size,
             "layout= and from= both choose the blocks that are on; give one of them.");
    return true;
}

static bool block_sparse_mode_clash(const struct oa_atom *a, bool causal, bool cross,
                                    char *sentence, size_t size)
{
    (void)causal;
    if (!cross || has_layout(a))
        return false;
    snprintf(sentence, size,
             "block-sparse(from=…) is for self-attention only: strided, fixed and local are about "
             "the distance of positions of one sequence; as cross-attention give a layout=FILE");
    return true;
}

static enum oa_error block_sparse_parameters(struct oa_group *g)
{
    long block = oa_atom_int(g->atom, "block", 64), N = oa_group_length(g);
    if (has_layout(g->atom))
        return oa_layout_parameters(
            g, &(struct oa_parameter){ .fill = oa_layout_from_file,
                                       .source = oa_atom_value(g->atom, "layout")->text,
                                       .stored = true });
    if (oa_atom_is(g->atom, "from", "local"))
        g->support = oa_support_pooled_local(block, N, block, g->shape.causal);
    else
        g->support = oa_support_pooled_sparse(block, N, oa_atom_is(g->atom, "from", "fixed"));
    return OA_OK;
}

static long block_sparse_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument)
{
    return has_layout(a) ? oa_layout_length(a, axis, argument) : 0;
}

static long memory_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument)
{
    return has_layout(a) ? oa_layout_memory_length(a, axis, argument) : 0;
}

static void block_sparse_forward(oa_tape *t, const struct oa_group *g,
                                 const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    (g->layout ? oa_layout_forward : oa_part_forward)(t, g, in, v, o);
}

static double block_sparse_flops(const struct oa_group *g, long queries, long keys)
{
    return (g->layout ? oa_layout_flops : oa_dot_flops)(g, queries, keys);
}

static enum oa_error block_sparse_weights(const struct oa_group *g, const struct oa_oracle *in,
                                          double *out)
{
    return (g->layout ? oa_layout_weights : oa_softmax_weights)(g, in, out);
}

const struct oa_mechanism oa_mechanism_block_sparse = {
    .name = "block-sparse",
    .title = "Block-sparse attention",
    .citation = "Gray et al. 2017; Child et al. 2019, arXiv 1904.10509",
    .formula = "softmax attention over the keys with L[h][⌊i/b⌋][⌊j/b⌋] = 1",
    .caveats = "from=strided has every block on while √N, rounded up, is at most 2b − 1 and b "
               "divides N: which is softmax. Rows of blocks that are off everywhere give 0. "
               "A layout file is stored with the saved model.",
    .cost = "O(b²·(K + V)) time for each block that is on, O(n) memory",
    .state = "keys and values: t(K + V), any block may be on",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_BOUND_LENGTH | OA_ORDER |
           OA_HAS_WEIGHTS | OA_DROPS | OA_POSITIVE | OA_AVERAGES,
    .arguments = arguments,
    .clash = block_sparse_clash,
    .mode_clash = block_sparse_mode_clash,
    .parameters = block_sparse_parameters,
    .length = block_sparse_length,
    .memory_length = memory_length,
    .forward = block_sparse_forward,
    .part = oa_dot_part,
    .flops = block_sparse_flops,
    .state_numbers = oa_dot_state,
    .scores = oa_dot_scores,
    .weights = block_sparse_weights,
};
