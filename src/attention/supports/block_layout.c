/* SPDX-License-Identifier: Apache-2.0
 * Block layouts (sparsity patterns) as parameters; see block_layout.h. Engines read integers, while
 * the store has reals, which a file may replace: the integers are updated before each use,
 * O(n/b·m/b). */
#include "attention/supports/block_layout.h"

#include "device/support.h"

static long layout_blocks(const struct oa_group *g, long length)
{
    long block = oa_atom_int(g->atom, "block", 64);
    return (length + block - 1) / block;
}

/* Plans visit every block, so that large layouts take long. */
static enum oa_error layout_check_size(const struct oa_group *g, long P, long Q)
{
    double blocks = (double)g->shape.heads * (double)P * (double)Q;
    if (!g->store->device->dry || blocks <= 1 << 26)
        return OA_OK;
    return oa_fail(g->context, OA_SHAPE,
                   "%s: a layout of %ld heads × %ld × %ld blocks of %ld tokens has %.3g entries, "
                   "more than 67 million; use a larger block= or a smaller model.context",
                   g->mechanism->name, g->shape.heads, P, Q, oa_atom_int(g->atom, "block", 64),
                   blocks);
}

enum oa_error oa_layout_parameters(struct oa_group *g, const struct oa_parameter *p)
{
    struct oa_parameter layout = *p;
    long P = layout_blocks(g, g->shape.length),
         Q = layout_blocks(g, g->shape.cross ? g->shape.memory_length : g->shape.length);
    OA_TRY(layout_check_size(g, P, Q));
    layout.dims = 3;
    layout.dim[0] = g->shape.heads;
    layout.dim[1] = P;
    layout.dim[2] = Q;
    layout.init = OA_INIT_CUSTOM;
    layout.bits = true;
    g->parameter[0] = oa_group_parameter(g, "block.layout", &layout);
    /* Not zeroed, so that a wrong shape is refused before pages are touched; filled before use. */
    g->layout = g->parameter[0]
                    ? oa_alloc_raw(g->context, (size_t)g->parameter[0]->count * sizeof *g->layout)
                    : NULL;
    g->support = oa_support_layout(oa_atom_int(g->atom, "block", 64), P, Q, g->layout);
    return oa_status(g->context);
}

long oa_layout_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument)
{
    return axis(argument, "block.layout", -2) * oa_atom_int(a, "block", 64);
}

long oa_layout_memory_length(const struct oa_atom *a, oa_stored_axis *axis, const void *argument)
{
    return axis(argument, "block.layout", -1) * oa_atom_int(a, "block", 64);
}

/* ---- values ---- */

/* The initial values, where the store has none: on the plan device, in explain. */
static void layout_generate(const struct oa_group *g)
{
    const struct oa_parameter *p = g->parameter[0];
    double *values = oa_alloc(g->context, (size_t)p->count * sizeof *values);
    if (values && p->fill(g->context, p, g->store->seed, values) == OA_OK) {
        for (long i = 0; i < p->count; i++)
            g->layout[i] = (int32_t)values[i];
    }
    oa_free(values);
}

static enum oa_error layout_read(const struct oa_group *g)
{
    const struct oa_parameter *p = g->parameter[0];
    if (g->store->device->dry || !p->value)
        layout_generate(g);
    else
        for (long i = 0; i < p->count; i++)
            g->layout[i] = (int32_t)oa_parameter_at(g, p, i);
    OA_TRY(oa_status(g->context));
    if (g->layout[0] < 0)
        return oa_fail(g->context, OA_IO,
                       "%s: layout file \"%s\" not found, and tensor %s not given",
                       g->mechanism->name, p->source, p->name);
    return OA_OK;
}

/* ---- use ---- */

static enum oa_error layout_check_lengths(const struct oa_group *g, long queries, long keys)
{
    const struct oa_parameter *p = g->parameter[0];
    long block = oa_atom_int(g->atom, "block", 64);
    if (queries <= p->dim[1] * block && keys <= p->dim[2] * block)
        return OA_OK;
    return oa_fail(g->context, OA_SHAPE,
                   "%s: %ld queries and %ld keys exceed the layout of %ld × %ld blocks of %ld",
                   g->mechanism->name, queries, keys, p->dim[1], p->dim[2], block);
}

void oa_layout_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                       oa_tensor *v, oa_tensor *o)
{
    long past = t->state ? t->state->tokens : 0, queries = past + in->queries;
    if (layout_check_lengths(g, queries, g->shape.cross ? in->keys : queries) != OA_OK)
        return;
    if (past > 0 || layout_read(g) == OA_OK) /* decoding: at the first token */
        oa_part_forward(t, g, in, v, o);
}

/* 0 beyond the layout (explain at other lengths). */
double oa_layout_flops(const struct oa_group *g, long queries, long keys)
{
    const struct oa_parameter *p = g->parameter[0];
    long block = oa_atom_int(g->atom, "block", 64);
    if (queries > p->dim[1] * block || keys > p->dim[2] * block || layout_read(g) != OA_OK)
        return 0;
    return oa_dot_flops(g, queries, keys);
}

enum oa_error oa_layout_weights(const struct oa_group *g, const struct oa_oracle *in,
                                double *weights)
{
    OA_TRY(layout_check_lengths(g, in->queries, in->keys));
    OA_TRY(layout_read(g));
    return oa_softmax_weights(g, in, weights);
}
