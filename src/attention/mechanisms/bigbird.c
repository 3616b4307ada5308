/* SPDX-License-Identifier: Apache-2.0
 * BigBird (ITC). Zaheer et al., Big Bird: Transformers for longer sequences, NeurIPS 2020, arXiv
 * 2007.14062. Softmax attention over blocks of b×b pairs, P = ⌈N/b⌉ per side. Block (p, q) is
 * visible if it is
 *
 *     global   p or q is one of the first ⌈g/2⌉ or last ⌊g/2⌋ blocks
 *     window   |p − q| ≤ ⌊w/2⌋
 *     random   q is one of r other blocks of row p, drawn without replacement per head and row
 *
 * The pattern is the frozen parameter block.layout [H, P, P], drawn from the stream of its name. In
 * a causal stack it is restricted to j ≤ i. Global tokens use the same projections as all others.
 *
 * Cost: O(n·b·(w + r + g)·(K + V)). */
#include "attention/supports/block_layout.h"

#include <stdlib.h>

static const struct oa_argument arguments[] = {
    { "block", OA_VALUE_INT, "64", NULL, 1, 1 << 20, "tokens of a block" },
    { "random", OA_VALUE_INT, "3", NULL, 0, 1 << 20, "r, random blocks of each row of blocks" },
    { "window", OA_VALUE_INT, "3", NULL, 1, (1 << 20) + 1, "w, blocks of the window; odd" },
    { "global", OA_VALUE_INT, "2", NULL, 0, 1 << 20, "g, global blocks: the first and last ones" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_QKNORM_ARGUMENT,
    OA_LOGITS_HEAD_ARGUMENTS,
    OA_RELATIVE_ARGUMENTS,
    { .key = NULL }
};

enum { RANDOM, WINDOW, GLOBAL };

static bool bigbird_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    long window = oa_atom_int(a, "window", 3);
    if (window % 2 == 1)
        return false;
    snprintf(sentence, size, "window=%ld must be odd; use %ld or %ld.", window, window - 1,
             window + 1);
    return true;
}

/* ---- the layout ---- */

static bool bigbird_is_global(const struct oa_parameter *p, long block)
{
    long g = p->fill_argument[GLOBAL];
    return block < (g + 1) / 2 || block >= p->dim[1] - g / 2;
}

/* Draws r of the other blocks. others: scratch for a row. */
static void bigbird_draw_row(const struct oa_parameter *p, struct oa_stream s, long row, double *on,
                             long *others)
{
    long count = 0;
    for (long q = 0; q < p->dim[2]; q++) {
        on[q] = bigbird_is_global(p, row) || bigbird_is_global(p, q) ||
                labs(row - q) <= p->fill_argument[WINDOW] / 2;
        if (on[q] == 0)
            others[count++] = q;
    }
    long drawn = oa_min(p->fill_argument[RANDOM], count);
    oa_shuffle_first(s, others, count, drawn);
    for (long k = 0; k < drawn; k++)
        on[others[k]] = 1;
}

static enum oa_error bigbird_draw(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                  double *out)
{
    struct oa_stream stream = oa_stream_named(seed, p->stream);
    long *others = oa_alloc(c, (size_t)p->dim[2] * sizeof *others);
    for (long h = 0; others && h < p->dim[0]; h++) {
        struct oa_stream head = oa_stream_child(stream, (uint64_t)h);
        for (long row = 0; row < p->dim[1] && !oa_stop_requested(c); row++)
            bigbird_draw_row(p, oa_stream_child(head, (uint64_t)row), row,
                             out + (h * p->dim[1] + row) * p->dim[2], others);
    }
    oa_free(others);
    return oa_status(c);
}

static enum oa_error bigbird_parameters(struct oa_group *g)
{
    return oa_layout_parameters(
        g, &(struct oa_parameter){
               .fill = bigbird_draw,
               .fill_argument = { [RANDOM] = oa_atom_int(g->atom, "random", 3),
                                  [WINDOW] = oa_atom_int(g->atom, "window", 3),
                                  [GLOBAL] = oa_atom_int(g->atom, "global", 2) } });
}

const struct oa_mechanism oa_mechanism_bigbird = {
    .name = "bigbird",
    .title = "BigBird: random, window and global blocks",
    .citation = "Zaheer et al. 2020 (NeurIPS), arXiv 2007.14062",
    .formula = "softmax attention over blocks: |p − q| ≤ ⌊w/2⌋, r random q for each p, and g "
               "global p and q, the first ⌈g/2⌉ and the last ⌊g/2⌋",
    .caveats = "The random blocks are drawn once from the seed and stay. In a causal stack random "
               "blocks and the last global block may be in the future, where they have no effect. "
               "Up to (⌊w/2⌋ + 1 + r + g)·b tokens every block is visible.",
    .mistakes = "The authors' code: the table of random blocks has slices that are off by one, as "
                "its own comments say. Here each row of blocks gets exactly r others (fewer when "
                "there are no more).",
    .cost = "O(n·b·(w + r + g)·(K + V)) time, O(n) memory, (N/b)² frozen 0 or 1 a head",
    .state = "t(K + V): any token may be in a random block",
    .can = OA_CAN_CAUSAL | OA_HAS_QUERIES | OA_BOUND_LENGTH | OA_ORDER | OA_LINEAR_TIME |
           OA_HAS_WEIGHTS | OA_DROPS | OA_POSITIVE | OA_AVERAGES,
    .self_only = "positions of one sequence, since its window is around the query",
    .arguments = arguments,
    .clash = bigbird_clash,
    .parameters = bigbird_parameters,
    .length = oa_layout_length,
    .forward = oa_layout_forward,
    .part = oa_dot_part,
    .flops = oa_layout_flops,
    .state_numbers = oa_dot_state,
    .scores = oa_dot_scores,
    .weights = oa_layout_weights,
};
