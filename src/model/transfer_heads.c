/* SPDX-License-Identifier: Apache-2.0 */
#include "model/transfer_heads.h"

#include <stddef.h>
#include <string.h>

/* Parameters of a group with a part for each head, or for each head of keys and values. */
static const struct {
    size_t member;
    bool keys, logits; /* logits: of a mixture its components have it */
} head_parameter[] = {
#define MEMBER(name) offsetof(struct oa_group, name)
    { MEMBER(query), false, true },       { MEMBER(query_bias), false, true },
    { MEMBER(key), true, true },          { MEMBER(key_bias), true, true },
    { MEMBER(temperature), false, true }, { MEMBER(diagonal), false, true },
    { MEMBER(value), true, false },       { MEMBER(value_bias), true, false },
    { MEMBER(relative), false, false },   { MEMBER(sink), false, false },
    { MEMBER(forget), false, false },     { MEMBER(forget_bias), false, false },
    { MEMBER(gate), false, false },       { MEMBER(gate_bias), false, false },
    { MEMBER(query_conv), false, false }, { MEMBER(key_conv), true, false },
    { MEMBER(value_conv), true, false },
#undef MEMBER
};
enum { HEAD_PARAMETERS = sizeof head_parameter / sizeof *head_parameter };

static struct oa_parameter *head_parameter_of(const struct oa_group *g, int role)
{
    struct oa_parameter *p;
    memcpy(&p, (const char *)g + head_parameter[role].member, sizeof p);
    return p;
}

static long head_parts(const struct oa_group *g, int role)
{
    return head_parameter[role].keys ? g->key_heads : g->shape.heads;
}

/* ---- sources ---- */

static const struct oa_group *group_of_head(const struct oa_layer *l, long head)
{
    for (int i = 0; i < l->groups; i++)
        if (head >= l->group[i].first_head &&
            head < l->group[i].first_head + l->group[i].shape.heads)
            return &l->group[i];
    return NULL;
}

static int components_with(const struct oa_group *g, int role, const struct oa_group *before)
{
    int count = 0;
    for (int i = 0; i < g->components && &g->component[i] != before; i++)
        count += head_parameter_of(&g->component[i], role) != NULL;
    return count;
}

/* The component of the mixture `g` that a component of the mechanism `like` is taken from. */
static const struct oa_group *component_like(const struct oa_group *g, int role,
                                             const struct oa_mechanism *like)
{
    const struct oa_group *first = NULL;
    for (int i = 0; i < g->components; i++) {
        const struct oa_group *c = &g->component[i];
        if (!head_parameter_of(c, role))
            continue;
        if (c->mechanism == like)
            return c;
        first = first ? first : c;
    }
    return first;
}

/* Of a mixture made of one mechanism the first component that has the parameter takes it. */
static const struct oa_group *source_group(const struct oa_fitting *f, long head)
{
    const struct oa_group *there = group_of_head(f->layer, head);
    bool component = f->group != f->owner;
    if (!there || !head_parameter[f->role].logits || (!component && !there->components))
        return there;
    if (there->components)
        return component_like(there, f->role, f->group->mechanism);
    return components_with(f->owner, f->role, f->group) == 0 ? there : NULL;
}

/* What one head of the group is taken from. */
static const struct oa_parameter *head_source(const struct oa_fitting *f, long head, long *first)
{
    const struct oa_group *g = source_group(f, head);
    const struct oa_parameter *from = g ? head_parameter_of(g, f->role) : NULL, *to = f->to;
    if (!from || from->dims != to->dims || from->expand || to->expand ||
        memcmp(from->dim + 1, to->dim + 1, (size_t)(to->dims - 1) * sizeof *to->dim) != 0)
        return NULL;
    long parts = head_parts(g, f->role), rows = oa_fitting_part_rows(f);
    if (from->dim[0] != parts * rows)
        return NULL;
    *first = rows * ((head - g->first_head) / (g->shape.heads / parts));
    return from;
}

long oa_fitting_parts(const struct oa_fitting *f)
{
    return head_parts(f->group, f->role);
}

long oa_fitting_part_rows(const struct oa_fitting *f)
{
    return f->to->dim[0] / oa_fitting_parts(f);
}

/* Query heads that share a key head here must have shared it there. */
const struct oa_parameter *oa_fitting_source(const struct oa_fitting *f, long part, long *first)
{
    long heads = f->group->shape.heads / oa_fitting_parts(f), other;
    long head = f->group->first_head + part * heads;
    const struct oa_parameter *from = head_source(f, head, first);
    for (long i = 1; from && i < heads; i++)
        if (head_source(f, head + i, &other) != from || other != *first)
            return NULL;
    return from;
}

/* ---- matching ---- */

static struct oa_fitting *fitting_of(const struct oa_transfer *t, const struct oa_parameter *p)
{
    for (int i = 0; i < t->count; i++)
        if (t->item[i].to == p)
            return &t->item[i];
    return NULL;
}

static void fit_by_head(struct oa_fitting *f)
{
    long parts = oa_fitting_parts(f), first = 0, taken = 0;
    const struct oa_parameter *one = NULL;
    bool whole = true;
    for (long i = 0; i < parts; i++) {
        const struct oa_parameter *from = oa_fitting_source(f, i, &first);
        if (from && !one)
            one = from;
        taken += from != NULL;
        whole = whole && from && from == one && first == i * oa_fitting_part_rows(f);
    }
    if (!taken)
        return;
    f->from = one;
    f->rows = taken;
    f->fit = whole && one->dim[0] == f->to->dim[0] ? OA_FIT_ALL : OA_FIT_HEADS;
}

/* Frozen parameters are not taken by head: where no name matched, records the reason. */
static void explain_frozen(struct oa_fitting *f)
{
    const struct oa_group *there = source_group(f, f->group->first_head);
    const struct oa_parameter *from = there ? head_parameter_of(there, f->role) : NULL;
    if (f->from || !from)
        return;
    f->from = from;
    f->fit = oa_parameter_is_learned(from) ? OA_FIT_LEARNT : OA_FIT_DRAWN;
}

static void match_group_heads(struct oa_transfer *t, const struct oa_layer *there,
                              const struct oa_group *owner, const struct oa_group *g)
{
    for (int role = 0; role < HEAD_PARAMETERS; role++) {
        const struct oa_parameter *p = head_parameter_of(g, role);
        struct oa_fitting *f = p ? fitting_of(t, p) : NULL;
        if (!f)
            continue;
        f->layer = there;
        f->owner = owner;
        f->group = g;
        f->role = role;
        if (oa_parameter_is_learned(p))
            fit_by_head(f);
        else
            explain_frozen(f);
    }
}

/* Other learned parameters, where one group there has all heads of g. */
static void match_group_others(struct oa_transfer *t, const struct oa_layer *there,
                               const struct oa_group *g)
{
    const struct oa_group *from = group_of_head(there, g->first_head);
    size_t prefix = strlen(g->prefix);
    char name[320];
    if (!from || from != group_of_head(there, g->first_head + g->shape.heads - 1))
        return;
    for (int i = 0; i < t->count; i++) {
        struct oa_fitting *f = &t->item[i];
        if (f->group || f->from || !oa_parameter_is_learned(f->to) ||
            strncmp(f->to->name, g->prefix, prefix) != 0)
            continue;
        bool norm = f->to == g->query_norm || f->to == g->key_norm;
        snprintf(name, sizeof name, "%s%s", from->prefix, f->to->name + prefix);
        const struct oa_parameter *p = oa_store_find(&t->from->store, name);
        if (!p || (!norm && from->mechanism != g->mechanism) || p->dims != f->to->dims ||
            memcmp(p->dim, f->to->dim, (size_t)p->dims * sizeof *p->dim) != 0)
            continue;
        f->from = p;
        f->fit = OA_FIT_ALL;
    }
}

static void match_layer_heads(struct oa_transfer *t, const struct oa_layer *there,
                              const struct oa_layer *here)
{
    for (int i = 0; i < here->groups; i++) {
        const struct oa_group *g = &here->group[i];
        match_group_heads(t, there, g, g);
        for (int c = 0; c < g->components; c++)
            match_group_heads(t, there, g, &g->component[c]);
        match_group_others(t, there, g);
    }
}

static void match_stack_heads(struct oa_transfer *t, const struct oa_stack *there,
                              const struct oa_stack *here)
{
    long layers = there->block && here->block ? oa_min(there->shape.layers, here->shape.layers) : 0;
    for (long i = 0; i < layers; i++) {
        match_layer_heads(t, &there->block[i].attention, &here->block[i].attention);
        if (there->shape.cross && here->shape.cross)
            match_layer_heads(t, &there->block[i].cross, &here->block[i].cross);
    }
}

void oa_transfer_match_heads(struct oa_transfer *t)
{
    match_stack_heads(t, &t->from->encoder, &t->to->encoder);
    match_stack_heads(t, &t->from->decoder, &t->to->decoder);
}
