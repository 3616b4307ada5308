/* SPDX-License-Identifier: Apache-2.0
 * The attention map of a layer by the oracles of its mechanisms, and its output recomputed from
 * that map: A V through the output projection, which verifies that the map is the one the layer
 * used. */
#include "attention/common/state_update.h"
#include "attention/mechanism.h"

#include <math.h>
#include <string.h>

enum oa_error oa_layer_weights(const struct oa_layer *l, const struct oa_oracle *in, double *map)
{
    long each = in->queries * in->keys;
    for (int i = 0; i < l->groups; i++) {
        const struct oa_group *g = &l->group[i];
        if (g->mechanism->weights)
            OA_TRY(g->mechanism->weights(g, in, map + g->first_head * each));
        else
            memset(map + g->first_head * each, 0, (size_t)(g->shape.heads * each) * sizeof *map);
    }
    return oa_status(l->context);
}

const struct oa_group *oa_layer_without_map(const struct oa_layer *l)
{
    for (int i = 0; i < l->groups; i++)
        if (!l->group[i].mechanism->weights)
            return &l->group[i];
    return NULL;
}

/* ---- A V ---- */

static double *layer_map_parameter(const struct oa_layer *l, const struct oa_parameter *p)
{
    double *out = oa_alloc(l->context, (size_t)p->count * sizeof *out);
    if (out)
        oa_reals_read(l->group[0].store->device, p->count, p->value, out);
    return out;
}

/* y [n, out] = x [n, in] Wᵀ + b; b may be NULL. */
static enum oa_error layer_map_project(const struct oa_layer *l, const struct oa_parameter *w,
                                       const struct oa_parameter *b, const double *x, long n,
                                       double *y)
{
    long out = w->dim[0], in = w->dim[1];
    double *matrix = layer_map_parameter(l, w),
           *bias = matrix && b ? layer_map_parameter(l, b) : NULL;
    enum oa_error e = matrix && (!b || bias) ? OA_OK : OA_NO_MEMORY;
    for (long i = 0; i < n && e == OA_OK; i++) {
        for (long r = 0; r < out; r++) {
            double sum = bias ? bias[r] : 0;
            for (long c = 0; c < in; c++)
                sum += x[i * in + c] * matrix[r * in + c];
            y[i * out + r] = sum;
        }
    }
    oa_free(matrix);
    oa_free(bias);
    return e;
}

/* A head's row o [V] through output.norm. */
static void layer_map_norm(const struct oa_group *g, double *o)
{
    long V = g->shape.value_width;
    double sum = 0;
    for (long c = 0; c < V; c++)
        sum += o[c] * o[c];
    for (long c = 0; c < V; c++)
        o[c] *=
            oa_parameter_at(g, g->output_norm, c) / sqrt(sum / (double)V + OA_OUTPUT_NORM_EPSILON);
}

/* Row i of a group: o = Σ_j A_ij v_j, normalised and times its gate; values [S, N·V]. */
static void layer_map_mix_row(const struct oa_group *g, const struct oa_oracle *in,
                              const double *map, const double *values, long i, double *o)
{
    const double *x = in->x + i * g->shape.width;
    long V = g->shape.value_width, H = g->shape.heads, N = g->key_heads;
    for (long c = 0; c < H * V; c++) {
        const double *row = map + (c / V * in->queries + i) * in->keys;
        const double *column = values + c / V * N / H * V + c % V;
        o[c] = 0;
        for (long j = 0; j < in->keys; j++)
            if (row[j] != 0)
                o[c] += row[j] * column[j * N * V];
    }
    for (long c = 0; c < H * V && g->output_norm; c += V)
        layer_map_norm(g, o + c);
    for (long c = 0; c < H * V; c++)
        o[c] *= oa_oracle_gate(g, x, c);
}

/* Values of row i, for mechanisms with their own. */
static void layer_map_values(const struct oa_group *g, const double *source,
                             const struct oa_oracle *in, long i, double *values)
{
    long columns = g->shape.heads * g->shape.value_width;
    for (long j = 0; j < in->keys; j++)
        for (long c = 0; c < columns; c++)
            values[j * columns + c] = g->mechanism->values(g, source + j * g->shape.width, i, c);
}

static enum oa_error layer_map_group(const struct oa_layer *l, const struct oa_group *g,
                                     const struct oa_oracle *in, const double *map, double *o,
                                     long stride)
{
    const double *source = in->memory ? in->memory : in->x;
    double *values = oa_alloc(
        l->context, (size_t)(in->keys * g->shape.heads * g->shape.value_width) * sizeof *values);
    enum oa_error e = values ? OA_OK : OA_NO_MEMORY;
    if (e == OA_OK && !g->mechanism->values)
        e = layer_map_project(l, g->value, g->value_bias, source, in->keys, values);
    if (e == OA_OK && g->value_conv)
        oa_oracle_conv(g, g->value_conv, in->keys, g->value_conv->dim[0], g->shape.value_width,
                       values);
    for (long i = 0; i < in->queries && e == OA_OK; i++) {
        if (g->mechanism->values)
            layer_map_values(g, source, in, i, values);
        layer_map_mix_row(g, in, map, values, i, o + i * stride);
    }
    oa_free(values);
    return e;
}

enum oa_error oa_layer_apply_map(const struct oa_layer *l, const struct oa_oracle *in,
                                 const double *map, double *y)
{
    long columns = l->output->dim[1], first = 0;
    double *o = oa_alloc(l->context, (size_t)(in->queries * columns) * sizeof *o);
    enum oa_error e = o ? OA_OK : OA_NO_MEMORY;
    for (int i = 0; i < l->groups && e == OA_OK; i++) {
        const struct oa_group *g = &l->group[i];
        e = layer_map_group(l, g, in, map + g->first_head * in->queries * in->keys, o + first,
                            columns);
        first += g->shape.heads * g->shape.value_width;
    }
    if (e == OA_OK)
        e = layer_map_project(l, l->output, l->output_bias, o, in->queries, y);
    oa_free(o);
    return e;
}
