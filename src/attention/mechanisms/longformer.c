/* SPDX-License-Identifier: Apache-2.0
 * Longformer. Beltagy, Peters, Cohan, Longformer: the long-document Transformer, 2020, arXiv
 * 2004.05150. The first g tokens are global:
 *
 *     i ≥ g:  softmax attention over window(i) ∪ {0 … g−1}, with W_Q, W_K, W_V
 *     i < g:  softmax attention over all keys, with projections W_Q^g, W_K^g, W_V^g
 *
 * The window is that of local.c. In a causal stack both are restricted to j ≤ i. With `shared`
 * global tokens use W_Q, W_K, W_V. Learned global projections are initialised as copies of the
 * local ones; frozen ones are drawn independently. t_h and Λ_h are shared.
 *
 * Two calls of the logits engine: all rows, with global ones masked; then the first g rows as
 * queries, whose result replaces theirs.
 *
 * Shapes: global.query.weight, global.key.weight [H·K, D], global.value.weight [H·V, D].
 * Cost: O(n·(window + g)·(K + V)), and projecting all tokens to global keys and values. */
#include "attention/mechanism.h"
#include "device/support.h"

#include <string.h>

static const struct oa_argument arguments[] = {
    { "window", OA_VALUE_INT, "128", NULL, 1, 1 << 30,
      "visible keys of a causal query; otherwise keys on each side" },
    { "global", OA_VALUE_INT, "1", NULL, 0, 1 << 30,
      "g: number of global tokens, the first ones; 0: local" },
    { "shared", OA_VALUE_FLAG, "0", NULL, 0, 0, "global tokens have no projections of their own" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_QKNORM_ARGUMENT,
    OA_LOGITS_HEAD_ARGUMENTS,
    OA_RELATIVE_ARGUMENTS,
    { .key = NULL }
};

enum { QUERY, KEY, VALUE, QUERY_BIAS, KEY_BIAS, VALUE_BIAS };

/* No projections for global tokens. */
static bool longformer_is_shared(const struct oa_group *g)
{
    return oa_atom_flag(g->atom, "shared") || oa_atom_int(g->atom, "global", 1) == 0;
}

static long longformer_global_tokens(const struct oa_group *g, long queries)
{
    long count = oa_atom_int(g->atom, "global", 1);
    return count < queries ? count : queries;
}

/* ---- parameters ---- */

/* The same random stream gives the same initial values. */
static void longformer_copy_stream(struct oa_parameter *copy, const struct oa_parameter *p)
{
    if (copy && p && p->trainable)
        memcpy(copy->stream, p->stream, sizeof copy->stream);
}

/* The group with the projections of global tokens. */
static struct oa_group longformer_global_group(const struct oa_group *g)
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
    if (longformer_is_shared(g))
        return OA_OK;
    struct oa_group other = *g;
    other.query_bias = other.key_bias = other.value_bias = NULL;
    snprintf(other.prefix, sizeof other.prefix, "%.110sglobal.", g->prefix);
    OA_TRY(oa_project_weights(&other));
    oa_value_parameters(&other);
    longformer_copy_stream(other.query, g->query);
    longformer_copy_stream(other.key, g->key);
    longformer_copy_stream(other.value, g->value);
    g->parameter[QUERY] = other.query;
    g->parameter[KEY] = other.key;
    g->parameter[VALUE] = other.value;
    g->parameter[QUERY_BIAS] = other.query_bias;
    g->parameter[KEY_BIAS] = other.key_bias;
    g->parameter[VALUE_BIAS] = other.value_bias;
    return oa_status(g->context);
}

/* ---- forward ---- */

static void longformer_run_local(oa_tape *t, const struct oa_group *g,
                                 const struct oa_layer_input *in, const struct oa_logits_rule *rule,
                                 oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    struct oa_part_tensors part;
    const struct oa_support support = oa_support_longformer(
        oa_atom_int(g->atom, "window", 0), oa_atom_int(g->atom, "global", 1), false);
    oa_dot_part(t, g, in, &part);
    if (oa_status(t->context) == OA_OK)
        oa_logits_op(t, &shape, &support, 1, &part, NULL, rule, v, in->dropout, o);
}

/* Queries: the first rows (in decoding, the new ones among them). Keys: all rows, as in
 * cross-attention of a sequence with itself, or in a causal layer the first rows. */
static void longformer_run_global(oa_tape *t, const struct oa_group *g,
                                  const struct oa_layer_input *in,
                                  const struct oa_logits_rule *rule, oa_tensor *o)
{
    struct oa_group other = longformer_global_group(g);
    struct oa_layer_input rows = *in;
    struct oa_attention_shape shape = oa_group_shape(g, in);
    struct oa_part_tensors part;
    long past = t->state ? t->state->tokens : 0;
    shape.queries = rows.queries = longformer_global_tokens(g, past + in->queries) - past;
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
    /* A window of g + 1 has the first g tokens, and bounds the cache. */
    const struct oa_support window = oa_support_local(oa_atom_int(g->atom, "global", 1) + 1, 1),
                            all = { 0 };
    if (oa_status(t->context) != OA_OK)
        return;
    oa_logits_op(t, &shape, g->shape.causal ? &window : &all, 1, &part, NULL, rule, v, in->dropout,
                 result);
    oa_put_leading_rows(t, o, in->queries, rows.queries, result);
}

static void longformer_forward(oa_tape *t, const struct oa_group *g,
                               const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    if (longformer_is_shared(g)) {
        oa_part_forward(t, g, in, v, o);
        return;
    }
    const struct oa_logits_rule rule = oa_group_rule(t, g, in);
    longformer_run_local(t, g, in, &rule, v, o);
    longformer_run_global(t, g, in, &rule, o);
}

/* Including the global projections, which the layer does not count. */
static double longformer_flops(const struct oa_group *g, long queries, long keys)
{
    double sum = oa_dot_flops(g, queries, keys),
           heads = 2 * (double)(g->shape.heads * g->shape.width);
    long first = longformer_global_tokens(g, queries), rows = g->shape.causal ? first : keys;
    if (longformer_is_shared(g))
        return sum;
    return sum +
           heads * (double)(g->shape.head_width * (first + rows) + g->shape.value_width * rows);
}

static double longformer_state_numbers(const struct oa_group *g, long t)
{
    long each = g->shape.heads * (g->shape.head_width + g->shape.value_width);
    if (g->forget) /* of the global keys again */
        each += 2 * g->shape.heads *
                (long)(g->store->device->numbers.real_size / g->store->device->numbers.act_size);
    return oa_dot_state(g, t) +
           (longformer_is_shared(g) ? 0 : (double)(each * longformer_global_tokens(g, t)));
}

/* ---- oracle ---- */

static enum oa_error longformer_scores(const struct oa_group *g, const struct oa_oracle *in,
                                       double *s)
{
    long each = in->queries * in->keys, count = longformer_global_tokens(g, in->queries);
    OA_TRY(oa_dot_scores(g, in, s));
    if (longformer_is_shared(g))
        return OA_OK;
    struct oa_group other = longformer_global_group(g);
    double *global = oa_alloc(g->context, (size_t)(g->shape.heads * each) * sizeof *global);
    if (!global)
        return OA_NO_MEMORY;
    enum oa_error e = oa_dot_scores(&other, in, global);
    for (long h = 0; h < g->shape.heads; h++)
        memcpy(s + h * each, global + h * each, (size_t)(count * in->keys) * sizeof *s);
    oa_free(global);
    return e;
}

/* Global rows have their own values. */
static double longformer_values(const struct oa_group *g, const double *x, long i, long column)
{
    if (longformer_is_shared(g) || i >= oa_atom_int(g->atom, "global", 1))
        return oa_oracle_value(g, g->value, g->value_bias, x, column);
    return oa_oracle_value(g, g->parameter[VALUE], g->parameter[VALUE_BIAS], x, column);
}

const struct oa_mechanism oa_mechanism_longformer = {
    .name = "longformer",
    .title = "Longformer: window and global tokens",
    .citation = "Beltagy et al. 2020, arXiv 2004.05150",
    .formula = "softmax attention over window(i) ∪ {0 … g−1}; rows i < g over all keys, with "
               "projections of their own",
    .caveats = "Without `shared` there are a second W_Q, W_K and W_V for the g global rows alone, "
               "and the map of those rows mixes global values. In a causal stack global tokens see "
               "only what is before them.",
    .mistakes = "Long Range Arena: an even window has w/2 neighbours at the right and w/2 − 1 at "
                "the left, and the comment says the opposite.",
    .cost = "O(n·(window + g)·(K + V)) time, O(n) memory",
    .state = "the keys and values of the first g tokens and of the last window − 1; without "
             "`shared`, global ones of the first g again",
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
