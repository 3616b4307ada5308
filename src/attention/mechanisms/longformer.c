/* SPDX-License-Identifier: Apache-2.0
 *
 * Longformer. Beltagy, Peters, Cohan, Longformer: the long-document Transformer, 2020, arXiv
 * 2004.05150. The first g tokens are global:
 *
 *     i ≥ g:  softmax attention over window(i) ∪ { 0 … g−1 }        with W_Q, W_K, W_V; the window
 * as in local.c i < g:  softmax attention over all keys                       with W_Q^g, W_K^g,
 * W_V^g of their own
 *
 * In a causal stack both are cut to j ≤ i. With `shared` the global tokens have no projections of
 * their own. Learned ones begin as copies of the local ones; frozen ones are draws of their own.
 * t_h and Λ_h serve both.
 *
 * Two calls of the logits engine: one for all rows, in which the global ones see nothing; one for
 * the g first rows as queries, whose result takes their place. Shapes: global.query.weight,
 * global.key.weight [H·K, D], global.value.weight [H·V, D]. Cost: O(n·(window + g)·(K + V)), and
 * the projections of all tokens as global keys and values.
 */
#include "attention/attention.h"
#include "device/support.h"

#include <string.h>

static const struct oa_argument arguments[] = {
    { "window", OA_VALUE_INT, "128", NULL, 1, 1 << 30,
      "keys a causal query sees; keys to each side otherwise" },
    { "global", OA_VALUE_INT, "1", NULL, 0, 1 << 30,
      "first tokens, which see all and are seen by all; 0 is local" },
    { "shared", OA_VALUE_FLAG, "0", NULL, 0, 0, "global tokens have no projections of their own" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_RELATIVE_ARGUMENTS,
    { .key = NULL }
};

enum { QUERY, KEY, VALUE, QUERY_BIAS, KEY_BIAS, VALUE_BIAS };

/* Are there no projections but those of all tokens? */
static bool is_shared(const struct oa_group *g)
{
    return oa_atom_flag(g->atom, "shared") || oa_atom_int(g->atom, "global", 1) == 0;
}

static long global_tokens(const struct oa_group *g, long queries)
{
    long count = oa_atom_int(g->atom, "global", 1);
    return count < queries ? count : queries;
}

/* ---- parameters ---- */

/* The same stream gives the same draw. */
static void begin_as(struct oa_parameter *copy, const struct oa_parameter *p)
{
    if (copy && p && p->trainable)
        memcpy(copy->stream, p->stream, sizeof copy->stream);
}

/* The group as the global tokens see it: the same, with their projections. */
static struct oa_group global_group(const struct oa_group *g)
{
    struct oa_group other = *g;
    other.query = g->parameter[QUERY];
    other.key = g->parameter[KEY];
    other.value = g->parameter[VALUE];
    other.query_bias = g->parameter[QUERY_BIAS];
    other.key_bias = g->parameter[KEY_BIAS];
    other.value_bias = g->parameter[VALUE_BIAS];
    return other;
}

static enum oa_error longformer_parameters(struct oa_group *g)
{
    g->support = oa_support_longformer(oa_atom_int(g->atom, "window", 0),
                                       oa_atom_int(g->atom, "global", 1), true);
    if (is_shared(g))
        return OA_OK;
    struct oa_group other = *g;
    other.query_bias = other.key_bias = other.value_bias = NULL;
    snprintf(other.prefix, sizeof other.prefix, "%.110sglobal.", g->prefix);
    OA_TRY(oa_project_weights(&other));
    oa_value_parameters(&other);
    begin_as(other.query, g->query);
    begin_as(other.key, g->key);
    begin_as(other.value, g->value);
    g->parameter[QUERY] = other.query;
    g->parameter[KEY] = other.key;
    g->parameter[VALUE] = other.value;
    g->parameter[QUERY_BIAS] = other.query_bias;
    g->parameter[KEY_BIAS] = other.key_bias;
    g->parameter[VALUE_BIAS] = other.value_bias;
    return oa_status(g->context);
}

/* ---- forward ---- */

static void run_local(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                      oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    struct oa_part_tensors part;
    const struct oa_support support = oa_support_longformer(
        oa_atom_int(g->atom, "window", 0), oa_atom_int(g->atom, "global", 1), false);
    oa_dot_part(t, g, in, &part);
    const struct oa_relative_bias relative = oa_group_relative(g);
    if (oa_status(t->context) == OA_OK)
        oa_logits_op(t, &shape, &support, 1, &part, NULL, &relative, v, in->dropout, o);
}

/* The first rows as queries; all rows as keys, like cross-attention of a sequence with itself, or
 * in a causal layer the first rows again. While decoding, those of them that are new, if any. */
static void run_global(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                       oa_tensor *o)
{
    struct oa_group other = global_group(g);
    struct oa_layer_input rows = *in;
    struct oa_attention_shape shape = oa_group_shape(g, in);
    struct oa_part_tensors part;
    long past = t->state ? t->state->tokens : 0;
    shape.queries = rows.queries = global_tokens(g, past + in->queries) - past;
    if (rows.queries <= 0)
        return;
    rows.x = oa_leading_rows(t, in->x, in->queries, rows.queries);
    rows.memory = g->shape.causal ? NULL : in->x;
    rows.keys = shape.keys = g->shape.causal ? rows.queries : in->queries;
    if (oa_status(t->context) != OA_OK)
        return;
    oa_dot_part(t, &other, &rows, &part);
    oa_tensor *v = oa_linear(t, oa_key_input(&other, &rows), other.value, other.value_bias);
    oa_tensor *result =
        oa_tensor_new(t, in->batch * rows.queries, g->shape.heads * g->shape.value_width);
    /* The first g tokens are all in a window of g + 1, which tells decoding how many there will be.
     */
    const struct oa_relative_bias relative = oa_group_relative(g);
    const struct oa_support window = oa_support_local(oa_atom_int(g->atom, "global", 1) + 1, 1),
                            all = { 0 };
    if (oa_status(t->context) != OA_OK)
        return;
    oa_logits_op(t, &shape, g->shape.causal ? &window : &all, 1, &part, NULL, &relative, v,
                 in->dropout, result);
    oa_put_leading_rows(t, o, in->queries, rows.queries, result);
}

static void longformer_forward(oa_tape *t, const struct oa_group *g,
                               const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    if (is_shared(g)) {
        oa_part_forward(t, g, in, v, o);
        return;
    }
    run_local(t, g, in, v, o);
    run_global(t, g, in, o);
}

/* With the projections that the layer does not know of. */
static double longformer_flops(const struct oa_group *g, long queries, long keys)
{
    double sum = oa_dot_flops(g, queries, keys),
           heads = 2 * (double)(g->shape.heads * g->shape.width);
    long first = global_tokens(g, queries), rows = g->shape.causal ? first : keys;
    if (is_shared(g))
        return sum;
    return sum +
           heads * (double)(g->shape.head_width * (first + rows) + g->shape.value_width * rows);
}

/* Global rows keep what they need of themselves. */
static double longformer_state_numbers(const struct oa_group *g, long t)
{
    long each = g->shape.heads * (g->shape.head_width + g->shape.value_width);
    return oa_dot_state(g, t) + (is_shared(g) ? 0 : (double)(each * global_tokens(g, t)));
}

/* ---- oracle ---- */

static enum oa_error longformer_scores(const struct oa_group *g, const struct oa_oracle *in,
                                       double *s)
{
    long each = in->queries * in->keys, count = global_tokens(g, in->queries);
    OA_TRY(oa_dot_scores(g, in, s));
    if (is_shared(g))
        return OA_OK;
    struct oa_group other = global_group(g);
    double *global = oa_alloc(g->context, (size_t)(g->shape.heads * each) * sizeof *global);
    if (!global)
        return OA_NO_MEMORY;
    enum oa_error e = oa_dot_scores(&other, in, global);
    for (long h = 0; h < g->shape.heads; h++)
        memcpy(s + h * each, global + h * each, (size_t)(count * in->keys) * sizeof *s);
    oa_free(global);
    return e;
}

/* Rows that are global mix values of their own. */
static double longformer_values(const struct oa_group *g, const double *x, long i, long column)
{
    if (is_shared(g) || i >= oa_atom_int(g->atom, "global", 1))
        return oa_oracle_value(g, g->value, g->value_bias, x, column);
    return oa_oracle_value(g, g->parameter[VALUE], g->parameter[VALUE_BIAS], x, column);
}

const struct oa_mechanism oa_mechanism_longformer = {
    .name = "longformer",
    .title = "Longformer: window and global tokens",
    .citation = "Beltagy et al. 2020, arXiv 2004.05150",
    .formula = "softmax attention over window(i) ∪ {0 … g−1}; rows i < g over all keys, with "
               "projections of their own",
    .caveats =
        "Without `shared` there are a second W_Q, W_K and W_V for the g global rows alone, and the "
        "map of those "
        "rows mixes global values. In a causal stack global tokens see only what is before them.",
    .mistakes = "Long Range Arena: an even window has w/2 neighbours at the right and w/2 − 1 at "
                "the left, and "
                "the comment says the opposite.",
    .cost = "O(n·(window + g)·(K + V)) time, O(n) memory",
    .state = "the keys and values of the first g tokens and of the last window − 1; without "
             "`shared`, global ones of "
             "the first "
             "g again",
    .can = OA_CAN_CAUSAL | OA_HAS_QUERIES | OA_ORDER | OA_LINEAR_TIME | OA_HAS_WEIGHTS | OA_DROPS |
           OA_POSITIVE | OA_AVERAGES,
    .self_only = "positions of one sequence, since its window is around the query",
    .arguments = arguments,
    .parameters = longformer_parameters,
    .forward = longformer_forward,
    .part = oa_dot_part,
    .flops = longformer_flops,
    .state_numbers = longformer_state_numbers,
    .scores = longformer_scores,
    .weights = oa_softmax_weights,
    .values = longformer_values,
};
