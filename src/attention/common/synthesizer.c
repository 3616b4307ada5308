/* SPDX-License-Identifier: Apache-2.0
 * Shared by the Dense Synthesizers. The input in_h of head h is all of the token's x, or
 * (input=slice) its D/H channels at the head's number in the layer. */
#include "attention/common/synthesizer.h"

#include <math.h>

static bool synthesizer_slices(const struct oa_group *g)
{
    return oa_atom_is(g->atom, "input", "slice");
}

long oa_synthesizer_input_width(const struct oa_group *g)
{
    return synthesizer_slices(g) ? g->shape.width / g->layer_heads : g->shape.width;
}

enum oa_error oa_synthesizer_check(oa_context *c, const struct oa_group *g)
{
    if (!synthesizer_slices(g) || g->shape.width % g->layer_heads == 0)
        return OA_OK;
    return oa_fail(c, OA_SHAPE,
                   "%s gives each of the %d heads a slice of the model width, but %ld does not "
                   "divide by %d; change one, or use %s(input=full)",
                   g->mechanism->name, g->layer_heads, g->shape.width, g->layer_heads,
                   g->mechanism->name);
}

struct oa_parameter *oa_synthesizer_weight(struct oa_group *g, const char *name, long out)
{
    long in = oa_synthesizer_input_width(g);
    struct oa_parameter p = { .dims = 3,
                              .dim = { g->shape.heads, out, in },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_UNIFORM,
                              .scale = sqrt(6 / (double)(in + out)) };
    return oa_group_parameter(g, name, &p);
}

oa_tensor *oa_synthesizer_map(oa_tape *t, const struct oa_group *g, oa_tensor *x,
                              struct oa_parameter *w, struct oa_parameter *b)
{
    return oa_head_linear(t, x, w, b, synthesizer_slices(g),
                          g->first_head * oa_synthesizer_input_width(g));
}

double oa_synthesizer_value(const struct oa_group *g, const struct oa_parameter *w,
                            const struct oa_parameter *b, const double *x, long head, long at)
{
    long in = w->dim[2], row = head * w->dim[1] + at;
    double sum = b ? oa_parameter_at(g, b, row) : 0;
    if (synthesizer_slices(g))
        x += (g->first_head + head) * in;
    for (long c = 0; c < in; c++)
        sum += x[c] * oa_parameter_at(g, w, row * in + c);
    return sum;
}
