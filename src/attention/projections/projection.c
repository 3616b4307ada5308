/* SPDX-License-Identifier: Apache-2.0
 * Queries and keys (docs/attention.md, Projections), the same for every mechanism that has them:
 *
 *     q = s t_h Λ_h norm(x W_Q),   k = s norm(x W_K),   s = √(D/K) for scale=jl, else 1
 *
 * W_Q, W_K are learned, from normal initial values or random matrices (init), or frozen random
 * matrices (generator.c) without bias. With `tie` keys use W_Q; the trainable scalar t_h and
 * diagonal Λ_h apply to queries only. norm is that of qknorm, with a gain each for queries and
 * keys, or the identity. Rotary positions come last: they commute with s and t_h, but not with Λ_h.
 *
 * Frozen projections that are chains of fast transforms (SRHT, HD3, permutation) are stored and run
 * as such.
 *
 * Shapes: query.weight [H·K, D], key.weight [N·K, D]; t [H]; Λ [H, K]; q [B·T, H·K],
 * k [B·S, N·K], N = H without `kv`. */
#include "attention/language/language.h"
#include "attention/mechanism.h"
#include "attention/projections/chains.h"
#include "attention/random_projection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

static const struct oa_argument *projection_argument(const struct oa_group *g, const char *key)
{
    const struct oa_argument *a = g->mechanism->arguments;
    while (strcmp(a->key, key) != 0)
        a++;
    return a;
}

/* Removes the first occurrence of `word`, with the number and the dot after it. */
static void cut_number(char *text, const char *word)
{
    char *at = strstr(text, word);
    if (!at)
        return;
    char *end = at + strlen(word);
    end += strspn(end, "0123456789");
    end += *end == '.';
    memmove(at, end, strlen(end) + 1);
}

/* With share=layers the stream's name has no layer number; with slice no group, since all heads of
 * the layer take columns of one matrix. */
static void projection_name_stream(const struct oa_group *g, const char *name, char *out,
                                   size_t size)
{
    snprintf(out, size, "init/%s%s", g->prefix, name);
    if (oa_atom_is(g->atom, "share", "layers") && !oa_atom_is(g->atom, "qk", "learned"))
        cut_number(out, "layers.");
    if (oa_atom_is(g->atom, "qk", "slice") || oa_atom_is(g->atom, "init", "slice"))
        cut_number(out, "group.");
}

enum { KIND, WIDTH, HEADS, HEAD_WIDTH, FIRST_HEAD, LAYER_HEADS };

/* The value of qk or init; the order of their words differs between mechanisms. OA_PROJECTIONS:
 * init is normal, or the mechanism does not have it. */
static enum oa_projection projection_kind(const struct oa_group *g, const char *key)
{
    char word[32];
    if (!oa_atom_value_exists(g->atom, key))
        return OA_PROJECTIONS;
    oa_choice_at(projection_argument(g, key)->choices, (int)oa_atom_value(g->atom, key)->number,
                 word, sizeof word);
    return oa_projection_of(word);
}

static struct oa_projection_shape projection_shape(const struct oa_group *g,
                                                   enum oa_projection kind, long heads)
{
    return (struct oa_projection_shape){ .kind = kind,
                                         .d = g->shape.width,
                                         .heads = heads,
                                         .width = g->shape.head_width,
                                         .first_head = g->first_head,
                                         .layer_heads = g->layer_heads };
}

/* The shape stored by projection_draw. */
static struct oa_projection_shape drawn_shape(const struct oa_parameter *p)
{
    const long *a = p->fill_argument;
    return (struct oa_projection_shape){ .kind = (enum oa_projection)a[KIND],
                                         .d = a[WIDTH],
                                         .heads = a[HEADS],
                                         .width = a[HEAD_WIDTH],
                                         .first_head = a[FIRST_HEAD],
                                         .layer_heads = a[LAYER_HEADS] };
}

static enum oa_error projection_fill_matrix(oa_context *c, const struct oa_parameter *p,
                                            uint64_t seed, double *out)
{
    struct oa_projection_shape shape = drawn_shape(p);
    return oa_generate_projection(c, &shape, oa_stream_named(seed, p->stream), out);
}

static enum oa_error projection_fill_chains(oa_context *c, const struct oa_parameter *p,
                                            uint64_t seed, double *out)
{
    struct oa_projection_shape shape = drawn_shape(p);
    return oa_generate_chains(c, &shape, oa_stream_named(seed, p->stream), out);
}

/* False: the projection is stored as a matrix. */
static bool projection_chain(const struct oa_parameter *p, struct oa_chain *chain)
{
    struct oa_projection_shape shape = drawn_shape(p);
    return p->fill == projection_fill_chains && oa_projection_chain(&shape, chain);
}

static void projection_draw(const struct oa_group *g, enum oa_projection kind, long heads,
                            const char *name, struct oa_parameter *p)
{
    const long arguments[] = {
        [KIND] = (long)kind,
        [WIDTH] = g->shape.width,
        [HEADS] = heads,
        [HEAD_WIDTH] = g->shape.head_width,
        [FIRST_HEAD] = g->first_head,
        [LAYER_HEADS] = g->layer_heads,
    };
    p->init = OA_INIT_CUSTOM;
    p->fill = projection_fill_matrix;
    memcpy(p->fill_argument, arguments, sizeof arguments);
    projection_name_stream(g, name, p->stream, sizeof p->stream);
}

/* Stores a chain instead of its matrix: "query.weight" becomes "query.transform" [H, numbers of a
 * chain]; files have the matrix. */
static void projection_as_chain(const struct oa_chain *chain, struct oa_parameter *p, char *name,
                                size_t size)
{
    p->fill = projection_fill_chains;
    p->expand = projection_fill_matrix;
    memcpy(p->expanded, p->dim, sizeof p->expanded);
    p->matrix = false;
    p->dim[0] /= chain->out;
    p->dim[1] = oa_chain_numbers(chain);
    snprintf(name + strcspn(name, "."), size - strcspn(name, "."), ".transform");
}

static struct oa_parameter *projection_add_weight(struct oa_group *g, enum oa_projection kind,
                                                  long heads, const char *name)
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { heads * g->shape.head_width, g->shape.width },
                              .matrix = true,
                              .init = OA_INIT_NORMAL,
                              .scale = 1 / sqrt((double)g->shape.width) };
    char full[32];
    struct oa_chain chain;
    struct oa_projection_shape shape = projection_shape(g, kind, heads);
    snprintf(full, sizeof full, "%s", name);
    enum oa_projection drawn = kind == OA_PROJECTION_LEARNED ? projection_kind(g, "init") : kind;
    p.trainable = p.decay = kind == OA_PROJECTION_LEARNED;
    if (drawn != OA_PROJECTIONS)
        projection_draw(g, drawn, heads, name, &p);
    if (!g->stored_weights && oa_projection_chain(&shape, &chain))
        projection_as_chain(&chain, &p, full, sizeof full);
    return oa_group_parameter(g, full, &p);
}

static struct oa_parameter *projection_add_bias(struct oa_group *g, long heads, const char *name)
{
    struct oa_parameter p = { .dims = 1,
                              .dim = { heads * g->shape.head_width },
                              .trainable = true };
    return oa_group_parameter(g, name, &p);
}

enum oa_error oa_project_weights(struct oa_group *g)
{
    enum oa_projection kind = projection_kind(g, "qk"), initial = projection_kind(g, "init");
    bool learned = kind == OA_PROJECTION_LEARNED, tie = oa_atom_flag(g->atom, "tie");
    struct oa_projection_shape shape =
        projection_shape(g, learned ? initial : kind, g->shape.heads);
    if (shape.kind != OA_PROJECTIONS)
        OA_TRY(oa_projection_check(g->context, &shape));
    g->query = projection_add_weight(g, kind, g->shape.heads, "query.weight");
    g->key = tie ? NULL : projection_add_weight(g, kind, g->key_heads, "key.weight");
    if (learned && g->shape.bias)
        g->query_bias = projection_add_bias(g, g->shape.heads, "query.bias");
    if (learned && g->shape.bias && !tie)
        g->key_bias = projection_add_bias(g, g->key_heads, "key.bias");
    return oa_status(g->context);
}

enum oa_error oa_project_parameters(struct oa_group *g)
{
    if (!g->shape.core)
        OA_TRY(oa_project_weights(g));
    struct oa_parameter p = {
        .dims = 1, .dim = { g->shape.heads }, .trainable = true, .init = OA_INIT_ONE
    };
    if (oa_atom_flag(g->atom, "temperature"))
        g->temperature = oa_group_parameter(g, "query.temperature", &p);
    p.dims = 2;
    p.dim[1] = g->shape.head_width;
    if (oa_atom_flag(g->atom, "diagonal"))
        g->diagonal = oa_group_parameter(g, "query.diagonal", &p);
    return oa_status(g->context);
}

bool oa_project_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    if (oa_atom_value_exists(a, "init") && !oa_atom_is(a, "init", "normal") &&
        !oa_atom_is(a, "qk", "learned")) {
        snprintf(sentence, size,
                 "init applies to learned projections: a frozen one is drawn as set by qk.");
        return true;
    }
    if (!oa_atom_is(a, "share", "layers") || !oa_atom_is(a, "qk", "learned") ||
        oa_atom_is(a, "relative", "t5"))
        return false;
    snprintf(sentence, size,
             "share=layers applies to frozen projections and relative=t5 only: add qk=haar or "
             "another, or relative=t5.");
    return true;
}

/* ---- forward ---- */

static oa_tensor *projection_rotate(oa_tape *t, const struct oa_layer_input *in, oa_tensor *x,
                                    long length, long heads)
{
    return in->rotary.cosine ? oa_rotate(t, x, length, heads, &in->rotary) : x;
}

static oa_tensor *project_alone(oa_tape *t, oa_tensor *x, struct oa_parameter *w,
                                struct oa_parameter *b)
{
    struct oa_chain chain;
    return w && projection_chain(w, &chain) ? oa_transform_op(t, x, w, &chain)
                                            : oa_linear(t, x, w, b);
}

/* Projects the rows of all sequences of the batch at the first call; NULL after a failure. */
static const oa_tensor *project_all(oa_tape *t, struct oa_shared_rows *s, struct oa_parameter *w,
                                    struct oa_parameter *b)
{
    struct oa_shared_projection *p = s->first;
    while (p && p->w != w)
        p = p->next;
    if (p)
        return p->y;
    p = oa_tape_take_host(t, sizeof *p);
    if (!p)
        return NULL;
    long invariant_rows = t->invariant_rows;
    t->invariant_rows = s->invariant_rows;
    *p = (struct oa_shared_projection){ .w = w,
                                        .y = project_alone(t, s->x, w, b),
                                        .next = s->first };
    t->invariant_rows = invariant_rows;
    s->first = p;
    return p->y;
}

/* Decoding batches: weights are read from memory once for all sequences. */
static oa_tensor *project_rows(oa_tape *t, const struct oa_layer_input *in, oa_tensor *x,
                               struct oa_parameter *w, struct oa_parameter *b)
{
    struct oa_shared_rows *s = in->shared;
    bool shared = s && x && w && x->data == oa_act_at(t->device, s->x->data, s->row * s->x->ld);
    return shared ? oa_rows_from(t, project_all(t, s, w, b), s->row, in->queries)
                  : project_alone(t, x, w, b);
}

/* qknorm of rows of `heads` heads. */
static oa_tensor *projection_norm(oa_tape *t, const struct oa_group *g, oa_tensor *x, long heads,
                                  const struct oa_parameter *gain)
{
    enum oa_head_norm_kind kind = (enum oa_head_norm_kind)oa_atom_value(g->atom, "qknorm")->number;
    double epsilon = oa_qknorm_epsilon(g);
    if (oa_atom_is(g->atom, "qknorm", "joint"))
        return oa_head_norm(t, x, 1, OA_HEAD_NORM_RMS, epsilon, gain);
    return kind == OA_HEAD_NORM_NONE ? x : oa_head_norm(t, x, heads, kind, epsilon, gain);
}

/* Rotation is in place. With `tie` queries and keys share one product; if only the queries have
 * factors, keys are copied (scaled by s) before rotation, because the gradient of the factors needs
 * the unrotated product. */
void oa_project(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                oa_tensor **q, oa_tensor **k)
{
    bool elsewhere = oa_keys_from_memory(g, in);
    long H = g->shape.heads, N = g->key_heads, keys = elsewhere ? in->keys : in->queries;
    bool tie = !g->key && !in->core, one = tie && !elsewhere,
         factors = g->temperature || g->diagonal;
    double s = oa_atom_is(g->atom, "scale", "jl")
                   ? sqrt((double)g->shape.width / (double)g->shape.head_width)
                   : 1;
    *q = in->core ? in->core->query : project_rows(t, in, in->x, g->query, g->query_bias);
    if (in->core)
        *k = in->core->key;
    else
        *k = one ? *q
                 : project_rows(t, in, oa_key_input(g, in), tie ? g->query : g->key,
                                tie ? g->query_bias : g->key_bias);
    if (g->query_conv) {
        *q = oa_causal_conv_op(t, *q, in->queries, g->query_conv, true);
        *k = oa_causal_conv_op(t, *k, keys, g->key_conv, !g->shape.cross);
        one = false;
    }
    one = one && !g->query_norm; /* with gains of their own they differ */
    *q = projection_norm(t, g, *q, H, g->query_norm);
    *k = one ? *q : projection_norm(t, g, *k, N, g->key_norm);
    if (s != 1 || (one && factors && in->rotary.cosine))
        *k = oa_scale_heads(t, *k, N, s, NULL, NULL);
    if (one && !factors) {
        *q = *k = projection_rotate(t, in, *k, keys, N);
        return;
    }
    if (s != 1 || factors)
        *q = oa_scale_heads(t, *q, H, s, g->temperature, g->diagonal);
    *q = projection_rotate(t, in, *q, in->queries, H);
    *k = projection_rotate(t, in, *k, keys, N);
}

static double project_flops(const struct oa_parameter *w, long rows)
{
    struct oa_chain chain;
    if (projection_chain(w, &chain))
        return oa_transform_flops(
            &(struct oa_transform){ .chain = chain, .rows = rows, .heads = w->dim[0] });
    return 2 * (double)rows * (double)w->count;
}

double oa_project_flops(const struct oa_group *g, long queries, long keys)
{
    bool one = g->key == NULL && !g->shape.cross;
    const struct oa_parameter *key = g->key ? g->key : g->query;
    double each =
        oa_atom_value(g->atom, "qknorm")->number > 0 ? 8 * (double)g->shape.head_width : 0;
    double norms = each * (double)(g->shape.heads * queries + g->key_heads * keys);
    return norms + project_flops(g->query, queries) + (one ? 0 : project_flops(key, keys));
}

/* ---- as a matrix ---- */

enum oa_error oa_project_matrix(const struct oa_group *g, const struct oa_parameter *w,
                                double *matrix)
{
    struct oa_chain chain;
    if (!projection_chain(w, &chain)) {
        for (long i = 0; i < w->count; i++)
            matrix[i] = oa_parameter_at(g, w, i);
        return OA_OK;
    }
    long n = oa_chain_numbers(&chain);
    double *numbers = oa_alloc(g->context, (size_t)(n + chain.width) * sizeof *numbers);
    if (!numbers)
        return OA_NO_MEMORY;
    for (long h = 0; h < w->dim[0]; h++) {
        for (long i = 0; i < n; i++)
            numbers[i] = oa_parameter_at(g, w, h * n + i);
        for (long l = 0; l < chain.out; l++)
            oa_chain_column(&chain, numbers, l, numbers + n,
                            matrix + (h * chain.out + l) * chain.width);
    }
    oa_free(numbers);
    return OA_OK;
}
