/* SPDX-License-Identifier: Apache-2.0
 * Fixed patterns. Raganato, Scherrer, Tiedemann, Fixed encoder self-attention patterns in
 * Transformer-based machine translation, Findings of EMNLP 2020, arXiv 2002.10260.
 *
 *     O_i = Σ_j w_ij (x_j W_V),   n = length of the sequence, i, j = 0 … n − 1
 *
 *     current    [j = i]
 *     previous   [j = i − 1]
 *     next       [j = i + 1]
 *     last       [j = n − 1]
 *     left       (j+1)³ / ((i−1)i/2)²           for j ≤ i − 2
 *     right      (n−j)³ / ((n−i−2)(n−i−1)/2)²   for j ≥ i + 2
 *     end        (j+1)³ / (n(n+1)/2)²
 *     start      (n−j)³ / (n(n+1)/2)²           causal: n = i + 1
 *
 * A row without keys is empty (edge=zero), attends to itself (self) or to the nearest end (clamp).
 * unit=word: the pattern is over words, and the tokens of a word share its weight. The weights sum
 * to 1; nothing is trained but W_V. Cost: O(nV) by shifts and running sums; memory O(V). */
#include "attention/mechanism.h"

#include <string.h>

static const struct oa_argument arguments[] = {
    { "", OA_VALUE_CHOICE, NULL, "current|previous|next|left|right|end|start|last", 0, 0,
      "which tokens are attended to" },
    { "edge", OA_VALUE_CHOICE, NULL, "zero|self|clamp", 0, 0,
      "a row without keys: empty, itself, or the nearest end" },
    { "unit", OA_VALUE_CHOICE, NULL, "token|word", 0, 0,
      "word: positions count words, whose tokens share the weight" },
    OA_GATE_ARGUMENT,
    { .key = NULL }
};

static enum oa_pattern_kind pattern_kind_of(const struct oa_group *g)
{
    return (enum oa_pattern_kind)oa_atom_value(g->atom, "")->number;
}

static enum oa_edge edge_of(const struct oa_group *g)
{
    return (enum oa_edge)oa_atom_value(g->atom, "edge")->number;
}

static bool by_words(const struct oa_group *g)
{
    return oa_atom_is(g->atom, "unit", "word");
}

static bool pattern_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                               size_t size)
{
    enum oa_pattern_kind kind = (enum oa_pattern_kind)oa_atom_value(a, "")->number;
    bool ahead = kind == OA_PATTERN_NEXT || kind == OA_PATTERN_RIGHT || kind == OA_PATTERN_END ||
                 kind == OA_PATTERN_LAST;
    (void)cross;
    if (causal && oa_atom_is(a, "unit", "word"))
        snprintf(sentence, size,
                 "pattern(unit=word) has no causal form: the tokens of a word share its weight, "
                 "and some of them are in the future; use unit=token in a causal stack");
    else if (causal && ahead)
        snprintf(sentence, size,
                 "pattern(next), (right), (end) and (last) look ahead and have no causal form; "
                 "current, previous, left and start have one");
    else
        return false;
    return true;
}

static enum oa_error pattern_parameters(struct oa_group *g)
{
    g->needs_words = by_words(g);
    return OA_OK;
}

static void pattern_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                            oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    oa_pattern_op(t, &shape, pattern_kind_of(g), edge_of(g), by_words(g) ? in->words : NULL, v, o);
}

/* Shifts copy a row; the others keep one running sum. */
static double pattern_flops(const struct oa_group *g, long queries, long keys)
{
    (void)keys;
    bool shift = pattern_kind_of(g) <= OA_PATTERN_NEXT || pattern_kind_of(g) == OA_PATTERN_LAST;
    return (shift ? 1.0 : 4.0) * (double)(g->shape.heads * queries * g->shape.value_width);
}

static double pattern_state_numbers(const struct oa_group *g, long t)
{
    (void)t;
    return (double)(g->shape.heads * g->shape.value_width * oa_pattern_state(pattern_kind_of(g)));
}

/* ---- oracle: the formulas above, term by term ---- */

static double pattern_cube(long x)
{
    return (double)x * (double)x * (double)x;
}

/* Unnormalised ξ_ij over n positions. */
static double pattern_term(enum oa_pattern_kind kind, long i, long j, long n)
{
    switch (kind) {
    case OA_PATTERN_CURRENT:
        return j == i;
    case OA_PATTERN_PREVIOUS:
        return j == i - 1;
    case OA_PATTERN_NEXT:
        return j == i + 1;
    case OA_PATTERN_LAST:
        return j == n - 1;
    case OA_PATTERN_LEFT:
        return j <= i - 2 ? pattern_cube(j + 1) : 0;
    case OA_PATTERN_RIGHT:
        return j >= i + 2 ? pattern_cube(n - j) : 0;
    case OA_PATTERN_END:
        return pattern_cube(j + 1);
    case OA_PATTERN_START:
        return j < n ? pattern_cube(n - j) : 0;
    }
    return 0;
}

/* The token that an empty row attends to, or −1. */
static long edge_target(enum oa_pattern_kind kind, enum oa_edge edge, long i, long n)
{
    if (edge == OA_EDGE_SELF)
        return i;
    if (edge == OA_EDGE_CLAMP)
        return kind == OA_PATTERN_PREVIOUS || kind == OA_PATTERN_LEFT ? 0 : n - 1;
    return -1;
}

static double row_sum(const struct oa_group *g, long i, long n)
{
    double sum = 0;
    for (long l = 0; l < n; l++)
        sum += pattern_term(pattern_kind_of(g), i, l, n);
    return sum;
}

static double pattern_weight(const struct oa_group *g, long i, long j, long n, double sum)
{
    if (sum > 0)
        return pattern_term(pattern_kind_of(g), i, j, n) / sum;
    return edge_target(pattern_kind_of(g), edge_of(g), i, n) == j ? 1 : 0;
}

static double word_weight(const struct oa_group *g, const struct oa_oracle *in, long i, long j,
                          double sum)
{
    long tokens = 0;
    for (long l = 0; l < in->length; l++)
        tokens += in->words[l] == in->words[j];
    return pattern_weight(g, in->words[i], in->words[j], in->words[in->length - 1] + 1, sum) /
           (double)tokens;
}

static enum oa_error pattern_weights(const struct oa_group *g, const struct oa_oracle *in,
                                     double *w)
{
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++) {
            bool words = by_words(g) && i < in->length;
            long n = words ? in->words[in->length - 1] + 1 : g->shape.causal ? i + 1 : in->length;
            double sum = row_sum(g, words ? in->words[i] : i, n);
            for (long j = 0; j < in->keys; j++, w++) {
                bool seen = i < in->length && oa_oracle_visible(g, in, h, i, j);
                *w = !seen   ? 0
                     : words ? word_weight(g, in, i, j, sum)
                             : pattern_weight(g, i, j, n, sum);
            }
        }
    }
    return OA_OK;
}

const struct oa_mechanism oa_mechanism_pattern = {
    .name = "pattern",
    .title = "Fixed pattern",
    .citation = "Raganato, Scherrer, Tiedemann 2020 (Findings of EMNLP), arXiv 2002.10260",
    .formula =
        "O_i = Σ_j w_ij (x_j W_V), n tokens, causal: n = i + 1;  current, previous, next, last: "
        "w_ij = 1 for j = i, i − 1, i + 1, n − 1;  left: w_ij = (j + 1)³/((i − 1)i/2)² for j ≤ i − "
        "2;  right: w_ij = (n − j)³/((n − i − 2)(n − i − 1)/2)² for j ≥ i + 2;  end: w_ij = (j + "
        "1)³/(n(n + 1)/2)²;  start: w_ij = (n − j)³/(n(n + 1)/2)²;  a row without keys: 0, or w_ii "
        "= 1 (edge=self), or 1 at the nearest end (edge=clamp);  unit=word: i, j, n count "
        "words, and the tokens of a word share its weight",
    .caveats = "The map does not depend on the text: use it with learned heads. "
               "Empty rows at the ends are 0 unless edge=self or edge=clamp.",
    .mistakes =
        "A port: the previous token of the first is index −1, which wraps around to the last token "
        "of the sequence.\n"
        "Common: (j + 1)³ is computed in half precision, where it overflows from j = 40, or in "
        "single "
        "precision, where it stops being exact at j = 256. Here weights are computed in double.",
    .cost = "O(nV) time, O(V) memory",
    .state = "current: nothing; previous: V; left: 3V; start: 4V",
    .can = OA_CAN_CAUSAL | OA_ORDER | OA_LINEAR_TIME | OA_HAS_WEIGHTS | OA_POSITIVE | OA_AVERAGES,
    .self_only =
        "positions of one sequence, since its weights are those of places around the query",
    .arguments = arguments,
    .mode_clash = pattern_mode_clash,
    .parameters = pattern_parameters,
    .forward = pattern_forward,
    .flops = pattern_flops,
    .state_numbers = pattern_state_numbers,
    .weights = pattern_weights,
};
