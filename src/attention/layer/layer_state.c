/* SPDX-License-Identifier: Apache-2.0
 * Decoding state of a layer: an oa_state for each group of heads (ops/state.c). */
#include "attention/layer.h"

static enum oa_error layer_needs_all_error(const struct oa_layer *l, const struct oa_group *g)
{
    struct oa_text name;
    oa_text_init(&name, l->context);
    oa_atom_print(g->atom, &name);
    enum oa_error e = oa_fail(l->context, OA_UNSUPPORTED, "%s%s cannot decode token by token: %s",
                              name.s ? name.s : g->mechanism->name,
                              l->shape.cross ? " as cross-attention" : "", g->needs_all);
    oa_text_free(&name);
    return e;
}

enum oa_error oa_layer_check_decoding(const struct oa_layer *l)
{
    if (!l->shape.causal && !l->shape.cross)
        return oa_fail(l->context, OA_UNSUPPORTED,
                       "decoding token by token needs causal self-attention");
    for (int g = 0; g < l->groups; g++)
        if (l->group[g].needs_all)
            return layer_needs_all_error(l, &l->group[g]);
    return OA_OK;
}

enum oa_error oa_layer_state_open(const struct oa_layer *l, long length, struct oa_state **out)
{
    *out = NULL;
    OA_TRY(oa_layer_check_decoding(l));
    struct oa_state *s = oa_alloc(l->context, (size_t)l->groups * sizeof *s);
    if (!s)
        return OA_NO_MEMORY;
    for (int g = 0; g < l->groups; g++)
        oa_state_open(&s[g], l->group[g].store->device, length);
    *out = s;
    return OA_OK;
}

void oa_layer_state_close(const struct oa_layer *l, struct oa_state *s)
{
    for (int g = 0; s && g < l->groups; g++)
        oa_state_close(&s[g]);
    oa_free(s);
}

void oa_layer_state_reset(const struct oa_layer *l, struct oa_state *s)
{
    for (int g = 0; g < l->groups; g++)
        oa_state_reset(&s[g]);
}

enum oa_error oa_layer_state_copy(const struct oa_layer *l, const struct oa_state *from,
                                  struct oa_state *to)
{
    for (int g = 0; g < l->groups; g++)
        OA_TRY(oa_state_copy(&from[g], &to[g]));
    return OA_OK;
}

bool oa_layer_state_follows_queries(const struct oa_layer *l)
{
    for (int g = 0; g < l->groups; g++)
        if (l->group[g].query_conv && l->group[g].query_conv->dim[1] > 1)
            return true;
    return false;
}

double oa_layer_state_numbers(const struct oa_layer *l, const struct oa_state *s)
{
    double sum = 0;
    for (int g = 0; g < l->groups; g++)
        sum += oa_state_numbers(&s[g]);
    return sum;
}

size_t oa_layer_state_bytes(const struct oa_layer *l, const struct oa_state *s)
{
    size_t sum = 0;
    for (int g = 0; g < l->groups; g++)
        sum += oa_state_bytes(&s[g]);
    return sum;
}

enum oa_error oa_layer_state_check(const struct oa_layer *l, const struct oa_layer_input *in)
{
    const struct oa_state *s = in->rows ? in->rows[0].state : in->state;
    if ((in->batch != 1 && (!in->rows || in->memory)) || (in->lengths && !l->shape.cross))
        return oa_fail(l->context, OA_INTERNAL,
                       "decoding needs one sequence per state without padding, not %ld%s",
                       in->batch, in->lengths ? " with lengths" : "");
    for (long b = 0; b < in->batch; b++) {
        const struct oa_state *row = in->rows ? in->rows[b].state : in->state;
        if (l->shape.cross && row->tokens != s->tokens)
            return oa_fail(l->context, OA_INTERNAL,
                           "sequences of a decoding batch with sources must have equal lengths, "
                           "not %ld and %ld tokens",
                           s->tokens, row->tokens);
        long tokens = row->tokens + (in->rows ? in->rows[b].queries : in->queries);
        if (tokens > row->length)
            return oa_fail(l->context, OA_SHAPE,
                           "the decoding state has room for %ld tokens, not %ld", row->length,
                           tokens);
    }
    return OA_OK;
}
