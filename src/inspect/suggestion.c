/* SPDX-License-Identifier: Apache-2.0
 * Which attention could be tried instead: heads that a fixed attention covers are replaced by it.
 * How a model trains with it is for a comparison to show. */
#include "inspect/inspect.h"

#include <string.h>

bool oa_head_replaceable(const struct oa_layer_view *v, long head)
{
    const struct oa_head_facts *f = &v->head[head];
    struct oa_text own;
    oa_text_init(&own, v->layer->context);
    oa_atom_print(oa_view_group(v, head)->atom, &own);
    bool other = own.s && strcmp(own.s, f->nearest) != 0;
    oa_text_free(&own);
    if (!other || !f->nearest[0] || f->covered < OA_REPLACEABLE)
        return false;
    return !v->layer->shape.cross || (strcmp(f->nearest, OA_UNIFORM_ATTENTION) == 0 &&
                                      oa_mechanism_find("random")->can & OA_CAN_CROSS);
}

long oa_replaceable_heads(const struct oa_layer_view *v)
{
    long count = 0;
    for (long h = 0; h < v->layer->shape.heads; h++)
        count += oa_head_replaceable(v, h);
    return count;
}

void oa_view_attention(const struct oa_layer_view *v, struct oa_text *out)
{
    const struct oa_layer *l = v->layer;
    for (int g = 0; g < l->groups; g++) {
        oa_text_printf(out, "%s", g ? " | " : "");
        oa_atom_print(l->group[g].atom, out);
        if (l->groups > 1)
            oa_text_printf(out, ":%ld", l->group[g].shape.heads);
    }
}

static void add_suggested_attention(const struct oa_layer_view *v, long head, struct oa_text *out)
{
    oa_text_cut(out, 0);
    if (oa_head_replaceable(v, head))
        oa_text_printf(out, "%s", v->head[head].nearest);
    else
        oa_atom_print(oa_view_group(v, head)->atom, out);
}

/* The number of heads with the suggested attention `what` of this head; 0: an earlier one has it.
 */
static long heads_like(const struct oa_layer_view *v, long head, const char *what)
{
    struct oa_text other;
    long count = 0;
    oa_text_init(&other, v->layer->context);
    for (long h = 0; h < v->layer->shape.heads; h++) {
        add_suggested_attention(v, h, &other);
        bool same = other.s && strcmp(other.s, what) == 0;
        if (same && h < head) {
            count = 0;
            break;
        }
        count += same;
    }
    oa_text_free(&other);
    return count;
}

void oa_view_suggestion(const struct oa_layer_view *v, struct oa_text *out)
{
    struct oa_text text;
    const char *between = "";
    oa_text_init(&text, v->layer->context);
    for (long h = 0; h < v->layer->shape.heads; h++) {
        add_suggested_attention(v, h, &text);
        long count = text.s ? heads_like(v, h, text.s) : 0;
        if (count == 0)
            continue;
        oa_text_printf(out, "%s%s", between, text.s);
        if (count < v->layer->shape.heads)
            oa_text_printf(out, ":%ld", count);
        between = " | ";
    }
    oa_text_free(&text);
}

static bool add_role(const struct oa_inspection *what, enum oa_stack_role role, const char *before,
                     struct oa_text *out)
{
    bool any = false;
    for (int i = 0; i < what->layers; i++) {
        const struct oa_layer_view *v = &what->layer[i];
        bool of_role = v->layer->shape.cross
                           ? role == OA_STACK_CROSS
                           : strcmp(v->stack->shape.role, oa_stack_name(role)) == 0;
        if (!of_role)
            continue;
        oa_text_printf(out, "%s", any ? " ; " : before);
        oa_view_suggestion(v, out);
        any = true;
    }
    return any;
}

bool oa_inspection_suggestion(const struct oa_inspection *what, struct oa_text *out)
{
    bool one = true, any = false; /* one: there is a single stack */
    long replaceable = 0;
    for (int i = 0; i < what->layers; i++) {
        const struct oa_layer_view *v = &what->layer[i];
        one &= !i || (v->stack == what->layer[0].stack && !v->layer->shape.cross);
        replaceable += oa_replaceable_heads(v);
    }
    if (replaceable == 0)
        return false;
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        char before[48];
        snprintf(before, sizeof before, "%s%s: ", any ? " & " : "",
                 oa_stack_name((enum oa_stack_role)role));
        any |= add_role(what, (enum oa_stack_role)role, one ? "" : before, out);
    }
    return true;
}
