/* SPDX-License-Identifier: Apache-2.0
 * A layer without projections, on given queries, keys and values: which attentions have one, and
 * how heads of keys and values are shared.
 *
 * Shapes: query [B·T, H·K], key [B·S, N·K], value [B·S, N·V] of each group; o [B·T, ΣH·V]. */
#include "attention/mechanism.h"

/* ---- checks ---- */

/* Options that need the input x of the layer; `word` NULL: with any value but the default. */
static const struct core_exclusion {
    const char *key, *word, *reason;
} core_exclusions[] = {
    { "tie", NULL, "it gives keys the projection of the queries" },
    { "scale", "jl", "it is a factor of projections" },
    { "forget", NULL, "its gates are functions of the token's input" },
    { "gate", NULL, "its gates are functions of the token's input" },
    { "decay", "head", "its decays are functions of the token's input; decay=fixed has a core" },
    { "decay", "channel", "its decays are functions of the token's input; decay=fixed has a core" },
    { "update", "delta", "its steps are functions of the token's input" },
};

static enum oa_error core_check_options(oa_context *c, const struct oa_atom *a)
{
    for (size_t i = 0; i < sizeof core_exclusions / sizeof *core_exclusions; i++) {
        const struct core_exclusion *x = &core_exclusions[i];
        const struct oa_value *v = oa_atom_value(a, x->key);
        if (v->number > 0 && (!x->word || oa_atom_is(a, x->key, x->word)))
            return oa_fail(
                c, OA_UNSUPPORTED, "%s(%s%s%s) has no core on queries, keys and values: %s",
                a->mechanism->name, x->key, x->word ? "=" : "", x->word ? x->word : "", x->reason);
    }
    return OA_OK;
}

/* Why the mechanism itself has no core, or NULL. */
static const char *core_lack(const struct oa_group *g)
{
    const struct oa_atom *a = g->atom;
    if (a->children > 0)
        return "every part of a mixture has queries and keys of its own";
    if (a->mechanism->reads_input)
        return "it is a function of the token's input";
    if (oa_atom_value_exists(a, "qk") && !oa_atom_is(a, "qk", "learned"))
        return "its frozen projections are projections of the token's input; qk=learned has a core";
    if (oa_atom_is(a, "unit", "word"))
        return "it needs the word numbers of the tokens; use unit=token";
    if (oa_atom_int(a, "global", 0) > 0 && !oa_atom_flag(a, "shared") &&
        oa_atom_value_exists(a, "shared"))
        return "its global tokens have projections of their own; add `shared`";
    return NULL;
}

enum oa_error oa_core_check(oa_context *c, const struct oa_group *g)
{
    const char *lack = core_lack(g);
    if (lack)
        return oa_fail(c, OA_UNSUPPORTED, "%s has no core on queries, keys and values: %s",
                       g->mechanism->name, lack);
    long width = g->mechanism->head_width ? g->mechanism->head_width(g->atom) : g->shape.head_width;
    if (width != g->shape.head_width)
        return oa_fail(c, OA_SHAPE,
                       "%s has queries and keys of width %ld, but they are given with %ld",
                       g->mechanism->name, width, g->shape.head_width);
    long kv = oa_atom_int(g->atom, "kv", g->key_heads);
    if (kv != g->key_heads)
        return oa_fail(c, OA_ARGUMENT,
                       "%s(kv=%ld): its %ld heads are given with %ld heads of keys and values",
                       g->mechanism->name, kv, g->shape.heads, g->key_heads);
    return core_check_options(c, g->atom);
}

/* ---- heads of keys and values ---- */

long oa_core_key_heads(const struct oa_group *g)
{
    long given = g->shape.given_key_heads ? g->shape.given_key_heads : g->layer_heads;
    long share = g->layer_heads / given; /* query heads of one head of keys */
    bool whole = g->first_head % share == 0 && g->shape.heads % share == 0;
    return whole && oa_atom_value_exists(g->atom, "kv") ? g->shape.heads / share : g->shape.heads;
}

long oa_core_key_head(const struct oa_layer *l, const struct oa_group *g, long head)
{
    long given = l->shape.given_key_heads ? l->shape.given_key_heads : l->shape.heads;
    return (g->first_head + head * (g->shape.heads / g->key_heads)) * given / l->shape.heads;
}

/* ---- padding ---- */

const struct oa_core_heads *oa_core_select(oa_tape *t, const struct oa_layer *l,
                                           const struct oa_layer_input *in)
{
    const int32_t *queries = in->first > 0 ? in->query_lengths : in->lengths;
    struct oa_core_heads *out = oa_tape_take_host(t, (size_t)l->groups * sizeof *out);
    for (int g = 0; out && g < l->groups; g++) {
        out[g] = in->core[g];
        if (out[g].query && !l->shape.cross)
            out[g].query = oa_select_rows(t, out[g].query, in->queries, queries);
        if (out[g].key)
            out[g].key = oa_select_rows(t, out[g].key, in->keys, in->lengths);
        out[g].value = oa_select_rows(t, out[g].value, in->keys, in->lengths);
    }
    return out;
}
