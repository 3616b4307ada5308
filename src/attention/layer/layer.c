/* SPDX-License-Identifier: Apache-2.0
 * The attention layer: groups of heads, each with its mechanism, between a value projection and an
 * output projection.
 *
 *     v_g = x_kv W_V⁽ᵍ⁾ᵀ,   o = [mechanism_0(x, v_0) | mechanism_1(x, v_1) | …],   y = o W_Oᵀ + b
 *
 * Shapes: x [B·T, D], memory [B·S, D], value.weight [H_g·V, D], o [B·T, ΣH·V],
 * output.weight [D, ΣH·V], y [B·T, D]. Padding rows are zeroed by selection on input and output, so
 * that their content, even NaN, affects no result or gradient. */
#include "attention/mechanism.h"

#include <math.h>
#include <string.h>

/* ---- helpers for mechanisms ---- */

bool oa_keys_from_memory(const struct oa_group *g, const struct oa_layer_input *in)
{
    return in->memory || g->shape.cross;
}

oa_tensor *oa_key_input(const struct oa_group *g, const struct oa_layer_input *in)
{
    return oa_keys_from_memory(g, in) ? in->memory : in->x;
}

struct oa_attention_shape oa_group_shape(const struct oa_group *g, const struct oa_layer_input *in)
{
    bool apart = g->shape.cross || in->first > 0; /* queries and keys have their own lengths */
    return (struct oa_attention_shape){ .batch = in->batch,
                                        .queries = in->queries,
                                        .keys = apart ? in->keys : in->queries,
                                        .first = in->first,
                                        .heads = g->shape.heads,
                                        .key_heads = g->key_heads,
                                        .value_width = g->shape.value_width,
                                        .causal = g->shape.causal,
                                        .logit_cap = g->shape.logit_cap,
                                        .key_lengths = in->lengths,
                                        .query_lengths = apart ? in->query_lengths : in->lengths };
}

long oa_group_length(const struct oa_group *g)
{
    return oa_max(g->shape.length, g->shape.memory_length);
}

struct oa_parameter *oa_group_parameter(struct oa_group *g, const char *name,
                                        const struct oa_parameter *p)
{
    struct oa_parameter named = *p;
    snprintf(named.name, sizeof named.name, "%s%s", g->prefix, name);
    return oa_store_add(g->store, &named);
}

struct oa_layer_shape oa_equal_heads_shape(long width, long heads, long length)
{
    long each = width % heads ? 0 : width / heads;
    return (struct oa_layer_shape){ .width = width,
                                    .heads = heads,
                                    .head_width = each,
                                    .value_width = each,
                                    .length = length,
                                    .memory_length = length };
}

/* ---- checks ---- */

static enum oa_error layer_check_shape(oa_context *c, const struct oa_layer_shape *s)
{
    if (s->causal && s->cross)
        return oa_fail(
            c, OA_ARGUMENT,
            "cross-attention cannot be causal: the memory is complete before the first query");
    if (s->width < 1 || s->heads < 1)
        return oa_fail(c, OA_SHAPE,
                       "attention layer of width %ld with %ld heads: both must be at least 1",
                       s->width, s->heads);
    return OA_OK;
}

static enum oa_error group_check(oa_context *c, const struct oa_group *g)
{
    bool queries = g->mechanism->can & OA_HAS_QUERIES;
    char sentence[512];
    if (g->shape.value_width < 1 || (queries && g->shape.head_width < 1))
        return oa_fail(c, OA_ARGUMENT,
                       "%s: heads of width %ld with values of width %ld; both must be at least 1: "
                       "the model width %ld must be divisible by its %d heads",
                       g->mechanism->name, g->shape.head_width, g->shape.value_width,
                       g->shape.width, g->layer_heads);
    if (oa_atom_mode_clash(g->atom, g->shape.causal, g->shape.cross, sentence, sizeof sentence))
        return oa_fail(c, OA_UNSUPPORTED, "%s", sentence);
    if (g->mechanism->check)
        OA_TRY(g->mechanism->check(c, g));
    if (g->shape.logit_cap == 0 || oa_atom_capabilities(g->atom) & OA_DROPS)
        return OA_OK;
    return oa_fail(c, OA_UNSUPPORTED,
                   "model.logit_cap applies to logits of a softmax, and %s has none: use 0, or an "
                   "attention with a softmax",
                   g->mechanism->name);
}

/* ---- opening ---- */

struct layer_opening {
    void (*refine)(void *argument, struct oa_group *g);
    void *argument;
};

struct oa_parameter *oa_group_matrix(struct oa_group *g, const char *name, long out, long in)
{
    struct oa_parameter w = { .dims = 2,
                              .dim = { out, in },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_NORMAL,
                              .scale = 1 / sqrt((double)in) };
    return oa_group_parameter(g, name, &w);
}

void oa_group_map(struct oa_group *g, const char *name, long out, bool biased,
                  struct oa_parameter **weight, struct oa_parameter **bias)
{
    char full[32];
    struct oa_parameter b = { .dims = 1, .dim = { out }, .trainable = true };
    snprintf(full, sizeof full, "%s.weight", name);
    *weight = oa_group_matrix(g, full, out, g->shape.width);
    snprintf(full, sizeof full, "%s.bias", name);
    if (biased)
        *bias = oa_group_parameter(g, full, &b);
}

void oa_value_parameters(struct oa_group *g)
{
    oa_group_map(g, "value", g->key_heads * g->shape.value_width, g->shape.bias, &g->value,
                 &g->value_bias);
}

static enum oa_error group_open(struct oa_group *g, const struct layer_opening *how);

static enum oa_error group_open_components(struct oa_group *g, const struct layer_opening *how)
{
    if (g->atom->children == 0)
        return OA_OK;
    g->component = oa_alloc(g->context, (size_t)g->atom->children * sizeof *g->component);
    if (!g->component)
        return OA_NO_MEMORY;
    for (int c = 0; c < g->atom->children; c++) {
        struct oa_group *child = &g->component[c];
        *child = (struct oa_group){ .mechanism = g->atom->child[c].mechanism,
                                    .atom = &g->atom->child[c],
                                    .shape = g->shape,
                                    .layer = g->layer,
                                    .first_head = g->first_head,
                                    .layer_heads = g->layer_heads,
                                    .store = g->store,
                                    .context = g->context,
                                    .no_value = true };
        snprintf(child->prefix, sizeof child->prefix, "%.100smix.%d.", g->prefix, c);
        g->components++;
        OA_TRY(group_open(child, how));
    }
    return OA_OK;
}

/* The order of registration is the order of the parameters in the flat arrays and in saved files.
 */
static enum oa_error group_open(struct oa_group *g, const struct layer_opening *how)
{
    g->key_heads =
        g->shape.core ? oa_core_key_heads(g) : oa_atom_int(g->atom, "kv", g->shape.heads);
    OA_TRY(oa_head_check(g->context, g));
    if (g->shape.core)
        OA_TRY(oa_core_check(g->context, g));
    if (how->refine)
        how->refine(how->argument, g);
    if (g->mechanism->head_width)
        g->shape.head_width = g->mechanism->head_width(g->atom);
    OA_TRY(group_check(g->context, g));
    OA_TRY(group_open_components(g, how));
    if (g->mechanism->can & OA_HAS_QUERIES)
        OA_TRY(oa_project_parameters(g));
    if (!g->no_value && !g->shape.core)
        oa_value_parameters(g);
    if (g->mechanism->parameters)
        OA_TRY(g->mechanism->parameters(g));
    OA_TRY(oa_relative_parameters(g));
    OA_TRY(oa_head_parameters(g));
    return oa_status(g->context);
}

static void layer_init_group(struct oa_layer *l, int index, int number, int first_head, int heads,
                             struct oa_store *store, const char *prefix)
{
    const struct oa_layer_spec *spec = &l->spec->layer[number % l->spec->layers];
    struct oa_group *g = &l->group[index];
    *g = (struct oa_group){ .mechanism = spec->group[index].atom.mechanism,
                            .atom = &spec->group[index].atom,
                            .shape = l->shape,
                            .layer = number,
                            .first_head = first_head,
                            .layer_heads = (int)l->shape.heads,
                            .store = store,
                            .context = l->context };
    g->no_value = (g->mechanism->can & OA_OWN_VALUES) && !oa_atom_flag(g->atom, "value");
    g->shape.heads = heads;
    if (l->groups > 1)
        snprintf(g->prefix, sizeof g->prefix, "%.90sgroup.%d.", prefix, index);
    else
        snprintf(g->prefix, sizeof g->prefix, "%.90s", prefix);
}

static enum oa_error layer_open_groups(struct oa_layer *l, int number, struct oa_store *store,
                                       const char *prefix, const struct layer_opening *how,
                                       int *count)
{
    const struct oa_layer_spec *spec = &l->spec->layer[number % l->spec->layers];
    OA_TRY(oa_spec_heads(l->context, spec, (int)l->shape.heads, count));
    l->group = oa_alloc(l->context, (size_t)spec->groups * sizeof *l->group);
    if (!l->group)
        return OA_NO_MEMORY;
    l->groups = spec->groups;
    for (int g = 0, head = 0; g < l->groups; head += count[g++]) {
        layer_init_group(l, g, number, head, count[g], store, prefix);
        OA_TRY(group_open(&l->group[g], how));
    }
    return OA_OK;
}

/* Width of the concatenated values of all heads. */
static long layer_values_width(const struct oa_layer *l)
{
    long sum = 0;
    for (int g = 0; g < l->groups; g++)
        sum += l->group[g].shape.heads * l->group[g].shape.value_width;
    return sum;
}

static enum oa_error layer_open_output(struct oa_layer *l, struct oa_store *store,
                                       const char *prefix)
{
    long in = layer_values_width(l), D = l->shape.width;
    double scale = l->shape.init_scale > 0 ? l->shape.init_scale : 1;
    struct oa_parameter w = { .dims = 2,
                              .dim = { D, in },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_NORMAL,
                              .scale = scale / sqrt((double)in) };
    struct oa_parameter b = { .dims = 1, .dim = { D }, .trainable = true };
    snprintf(w.name, sizeof w.name, "%.90soutput.weight", prefix);
    snprintf(b.name, sizeof b.name, "%.90soutput.bias", prefix);
    l->output = oa_store_add(store, &w);
    if (l->shape.bias && !l->shape.plain_output)
        l->output_bias = oa_store_add(store, &b);
    return oa_status(l->context);
}

enum oa_error oa_layer_open_refined(oa_context *c, const struct oa_spec *spec, int number,
                                    const struct oa_layer_shape *shape, struct oa_store *store,
                                    const char *prefix,
                                    void (*refine)(void *argument, struct oa_group *g),
                                    void *argument, struct oa_layer *out)
{
    struct layer_opening how = { refine, argument };
    *out = (struct oa_layer){ .shape = *shape, .spec = spec, .context = c };
    OA_TRY(layer_check_shape(c, shape));
    int *count = oa_alloc(c, (size_t)spec->layer[number % spec->layers].groups * sizeof *count);
    if (!count)
        return OA_NO_MEMORY;
    enum oa_error e = layer_open_groups(out, number, store, prefix, &how, count);
    oa_free(count);
    return e == OA_OK && !shape->core ? layer_open_output(out, store, prefix) : e;
}

enum oa_error oa_layer_open(oa_context *c, const struct oa_spec *spec, int number,
                            const struct oa_layer_shape *shape, struct oa_store *store,
                            const char *prefix, struct oa_layer *out)
{
    return oa_layer_open_refined(c, spec, number, shape, store, prefix, NULL, NULL, out);
}

void oa_layer_close(struct oa_layer *l)
{
    for (int g = 0; l->group && g < l->groups; g++) {
        oa_free(l->group[g].component);
        oa_free(l->group[g].layout);
    }
    oa_free(l->group);
    *l = (struct oa_layer){ 0 };
}

/* ---- forward ---- */

/* The states of the first sequence, or NULL. */
static struct oa_state *input_first_state(const struct oa_layer_input *in)
{
    return in->rows ? in->rows[0].state : in->state;
}

static enum oa_error group_check_input(const struct oa_group *g, const struct oa_layer_input *in)
{
    long N = oa_group_length(g), longest = in->rows ? 0 : in->queries;
    if (in->state)
        longest += in->state->tokens;
    for (long b = 0; in->rows && b < in->batch; b++)
        longest = oa_max(longest, in->rows[b].queries + in->rows[b].state->tokens);
    if ((in->memory || in->core) && in->keys > longest)
        longest = in->keys;
    for (long b = 0; in->rows && b < in->batch; b++)
        if (in->rows[b].memory)
            longest = oa_max(longest, in->rows[b].keys);
    if (g->mechanism->can & OA_BOUND_LENGTH && longest > N)
        return oa_fail(g->context, OA_SHAPE,
                       "a sequence of %ld tokens is longer than the tables of %s, N = %ld", longest,
                       g->mechanism->name, N);
    if (g->needs_words && !in->words && !g->store->device->dry)
        return oa_fail(g->context, OA_ARGUMENT,
                       "%s(unit=word) needs the word numbers of the tokens (word_ids)",
                       g->mechanism->name);
    for (int c = 0; c < g->components; c++)
        OA_TRY(group_check_input(&g->component[c], in));
    return OA_OK;
}

static enum oa_error layer_check_input(const struct oa_layer *l, const struct oa_layer_input *in)
{
    const struct oa_state *state = input_first_state(in);
    bool read = state && state->tokens > 0; /* the memory was read by an earlier call */
    bool given = in->rows ? in->rows[0].memory != NULL : in->memory != NULL;
    if (!l->shape.core && l->shape.cross != given && !(read && l->shape.cross))
        return oa_fail(l->context, OA_INTERNAL, "attention layer: memory is %s",
                       given ? "given" : "missing");
    for (int g = 0; g < l->groups; g++)
        OA_TRY(group_check_input(&l->group[g], in));
    return state ? oa_layer_state_check(l, in) : OA_OK;
}

oa_tensor *oa_rows_from(oa_tape *t, const oa_tensor *x, long first, long count)
{
    return x ? oa_tensor_from(t, oa_act_at(t->device, x->data, first * x->ld), count, x->cols,
                              x->ld, false)
             : NULL;
}

/* The input of sequence b of a decoding batch. */
static struct oa_layer_input batch_row_input(const struct oa_group *g,
                                             const struct oa_layer_input *in, long b,
                                             struct oa_shared_rows *shared)
{
    struct oa_layer_input one = *in;
    one.batch = 1;
    one.rows = NULL;
    one.shared = shared;
    one.state = in->rows[b].state;
    one.memory = in->rows[b].memory;
    one.queries = in->rows[b].queries;
    one.keys = g->shape.cross ? in->rows[b].keys : one.queries;
    shared->row = in->rows[b].first;
    return one;
}

/* Decoding batch: runs the mechanism sequence by sequence, each with its state; projections are
 * shared. */
static void group_run_batch(oa_tape *t, const struct oa_group *g, int index,
                            const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    struct oa_shared_rows shared = { .x = in->x, .invariant_rows = t->invariant_rows };
    struct oa_deferred together;
    long *before = oa_tape_take_host(t, (size_t)in->batch * sizeof *before); /* states are shared */
    for (long b = 0; before && b < in->batch; b++)
        before[b] = in->rows[b].state[index].tokens;
    oa_deferred_begin(t, &together);
    for (long b = 0; b < in->batch && oa_status(t->context) == OA_OK; b++) {
        struct oa_layer_input one = batch_row_input(g, in, b, &shared);
        const long first = shared.row, count = one.queries;
        one.x = oa_rows_from(t, in->x, first, count);
        t->invariant_rows = one.memory ? 0 : shared.invariant_rows;
        oa_tensor *values = one.memory && g->value
                                ? oa_linear(t, one.memory, g->value, g->value_bias)
                                : oa_rows_from(t, v, first, count);
        oa_state_begin(t, &one.state[index]);
        g->mechanism->forward(t, g, &one, values, oa_rows_from(t, o, first, count));
    }
    oa_deferred_end(t);
    t->invariant_rows = shared.invariant_rows;
    for (long b = 0; before && b < in->batch; b++)
        in->rows[b].state[index].tokens = before[b] + in->rows[b].queries;
    oa_state_begin(t, NULL);
}

static void layer_run_group(oa_tape *t, const struct oa_layer *l, int index,
                            const struct oa_layer_input *all, oa_tensor *o, long column)
{
    const struct oa_group *g = &l->group[index];
    struct oa_layer_input own = *all, *in = &own;
    own.core = all->core ? &all->core[index] : NULL;
    oa_tensor *v = g->value ? oa_linear(t, oa_key_input(g, in), g->value, g->value_bias) : NULL;
    if (own.core)
        v = own.core->value;
    oa_tensor *view =
        l->groups == 1 ? o : oa_columns(t, o, column, g->shape.heads * g->shape.value_width);
    oa_tensor *heads =
        g->gate ? oa_tensor_new(t, view ? view->rows : 0, view ? view->cols : 0) : view;
    if (in->rows) {
        group_run_batch(t, g, index, in, v, heads);
    } else {
        oa_state_begin(t, in->state ? &in->state[index] : NULL);
        if (oa_status(t->context) == OA_OK)
            g->mechanism->forward(t, g, in, v, heads);
        oa_tape_wrote(t, heads);
        oa_state_begin(t, NULL);
        if (in->state)
            in->state[index].tokens += in->queries;
    }
    if (g->gate) {
        oa_gate_heads(t, g, in->x, heads, view);
        oa_tape_wrote(t, view);
    }
}

/* Uploads lengths and words, and zeroes the padding of the memory or of x. Decoding reads the
 * memory at the first call only. */
static struct oa_layer_input layer_mask_input(oa_tape *t, const struct oa_layer_input *in)
{
    struct oa_layer_input real = *in;
    real.lengths = oa_tape_upload(t, in->lengths, (size_t)in->batch * sizeof *in->lengths);
    real.query_lengths =
        oa_tape_upload(t, in->query_lengths, (size_t)in->batch * sizeof *in->query_lengths);
    real.words =
        oa_tape_upload(t, in->words, (size_t)(in->batch * in->queries) * sizeof *in->words);
    if (input_first_state(in) && input_first_state(in)->tokens > 0)
        real.memory = NULL;
    else if (in->lengths && in->memory)
        real.memory = oa_select_rows(t, in->memory, in->keys, real.lengths);
    else if (in->lengths && !in->memory && !in->core)
        real.x = oa_select_rows(t, in->x, in->queries, real.lengths);
    return real;
}

oa_tensor *oa_layer_forward(oa_tape *t, const struct oa_layer *l, const struct oa_layer_input *in)
{
    if (oa_status(t->context) != OA_OK || layer_check_input(l, in) != OA_OK)
        return NULL;
    struct oa_layer_input real = layer_mask_input(t, in);
    if (in->core && in->lengths)
        real.core = oa_core_select(t, l, &real);
    long rows = in->rows ? in->x->rows : in->batch * in->queries;
    oa_tensor *o = oa_tensor_new(t, rows, layer_values_width(l));
    long column = 0;
    for (int g = 0; g < l->groups && oa_status(t->context) == OA_OK; g++) {
        layer_run_group(t, l, g, &real, o, column);
        column += l->group[g].shape.heads * l->group[g].shape.value_width;
    }
    if (oa_status(t->context) != OA_OK)
        return NULL;
    oa_tensor *y = l->shape.core ? o : oa_linear(t, o, l->output, l->output_bias);
    if (l->shape.core ? l->shape.cross || !in->lengths : in->memory || !in->lengths)
        return y;
    return oa_select_rows(t, y, in->queries, in->first > 0 ? real.query_lengths : real.lengths);
}

/* ---- training ---- */

enum oa_error oa_layer_after_step(const struct oa_layer *l, long step)
{
    for (int g = 0; g < l->groups; g++) {
        if (l->group[g].mechanism->after_step)
            OA_TRY(l->group[g].mechanism->after_step(&l->group[g], step));
    }
    return OA_OK;
}

/* ---- cost ---- */

static double group_projection_flops(const struct oa_group *g, long queries, long keys)
{
    double sum = g->mechanism->can & OA_HAS_QUERIES ? oa_project_flops(g, queries, keys) : 0;
    for (int c = 0; c < g->components; c++)
        sum += group_projection_flops(&g->component[c], queries, keys);
    if (g->value)
        sum += 2 * (double)keys * (double)g->value->count;
    return sum;
}

double oa_layer_flops(const struct oa_layer *l, long queries, long keys)
{
    double sum = 2 * (double)queries * (double)l->output->count;
    for (int g = 0; g < l->groups; g++) {
        sum += group_projection_flops(&l->group[g], queries, keys);
        sum += l->group[g].mechanism->flops(&l->group[g], queries, keys);
        sum += oa_gate_flops(&l->group[g], queries) + oa_forget_flops(&l->group[g], queries);
    }
    return sum;
}
