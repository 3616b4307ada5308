/* SPDX-License-Identifier: Apache-2.0 */
#include "model/stack.h"

#include <math.h>

/* ---- parameters ---- */

/* What is registered next: the store, and what names begin with. */
struct building {
    const struct oa_stack_shape *shape;
    struct oa_store *store;
    char prefix[96];
};

static const char *name_of(const struct building *b, const char *what, char out[160])
{
    snprintf(out, 160, "%s%s", b->prefix, what);
    return out;
}

/* A scale, and a shift in models with biases; NULL is what every op takes as "none". */
static void add_norm(const struct building *b, const char *what, struct oa_parameter **scale,
                     struct oa_parameter **shift)
{
    char weight[160], bias[160];
    snprintf(weight, sizeof weight, "%s%s.weight", b->prefix, what);
    snprintf(bias, sizeof bias, "%s%s.bias", b->prefix, what);
    *scale = oa_add_vector(b->store, weight, b->shape->width, OA_INIT_ONE);
    *shift = b->shape->bias ? oa_add_vector(b->store, bias, b->shape->width, OA_INIT_ZERO) : NULL;
}

static struct oa_parameter *add_bias(const struct building *b, const char *what, long n)
{
    char name[160];
    return b->shape->bias ? oa_add_vector(b->store, name_of(b, what, name), n, OA_INIT_ZERO) : NULL;
}

/* Of what a branch adds to the residual stream, so that the sum of all has the deviation of one.
 * Post-norm has it anyway. */
static double residual_scale(const struct oa_stack_shape *s)
{
    return s->post_norm ? 1 : 1 / sqrt((s->cross ? 3 : 2) * (double)s->layers);
}

static enum oa_error add_attention(oa_context *c, const struct building *b, int layer, bool cross,
                                   struct oa_layer *out)
{
    const struct oa_stack_shape *s = b->shape;
    char prefix[160];
    struct oa_layer_shape shape = { .width = s->width,
                                    .heads = s->heads,
                                    .head_width = s->width / s->heads,
                                    .value_width = s->width / s->heads,
                                    .length = s->length,
                                    .memory_length = cross ? s->memory_length : s->length,
                                    .causal = s->causal && !cross,
                                    .cross = cross,
                                    .bias = s->bias,
                                    .init_scale = residual_scale(s) };
    name_of(b, cross ? "cross_attention." : "attention.", prefix);
    return oa_layer_open(c, cross ? s->cross : s->attention, layer, &shape, b->store, prefix, out);
}

static void add_feed_forward(const struct building *b, struct oa_block *block)
{
    const struct oa_stack_shape *s = b->shape;
    double in = 1 / sqrt((double)s->width), out = residual_scale(s) / sqrt((double)s->ffn);
    char name[160];
    block->in = oa_add_matrix(b->store, name_of(b, "ffn.in.weight", name), s->ffn, s->width, in);
    block->in_bias = add_bias(b, "ffn.in.bias", s->ffn);
    block->out = oa_add_matrix(b->store, name_of(b, "ffn.out.weight", name), s->width, s->ffn, out);
    block->out_bias = add_bias(b, "ffn.out.bias", s->width);
}

static enum oa_error add_block(oa_context *c, struct building *b, int layer, struct oa_block *block)
{
    snprintf(b->prefix, sizeof b->prefix, "%s.layers.%d.", b->shape->role, layer);
    add_norm(b, "attention_norm", &block->attention_norm, &block->attention_norm_bias);
    OA_TRY(add_attention(c, b, layer, false, &block->attention));
    if (b->shape->cross) {
        add_norm(b, "cross_norm", &block->cross_norm, &block->cross_norm_bias);
        OA_TRY(add_attention(c, b, layer, true, &block->cross));
    }
    add_norm(b, "ffn_norm", &block->ffn_norm, &block->ffn_norm_bias);
    add_feed_forward(b, block);
    return oa_status(c);
}

enum oa_error oa_stack_open(oa_context *c, const struct oa_stack_shape *shape,
                            struct oa_store *store, struct oa_stack *out)
{
    *out = (struct oa_stack){ .context = c, .shape = *shape };
    struct building b = { .shape = &out->shape, .store = store };
    out->block = oa_alloc(c, (size_t)shape->layers * sizeof *out->block);
    if (!out->block)
        return OA_NO_MEMORY;
    for (int i = 0; i < shape->layers; i++)
        OA_TRY(add_block(c, &b, i, &out->block[i]));
    snprintf(b.prefix, sizeof b.prefix, "%s.", shape->role);
    if (!shape->post_norm)
        add_norm(&b, "norm", &out->norm, &out->norm_bias);
    return oa_status(c);
}

void oa_stack_close(struct oa_stack *s)
{
    for (long i = 0; s->block && i < s->shape.layers; i++) {
        oa_layer_close(&s->block[i].attention);
        oa_layer_close(&s->block[i].cross);
    }
    oa_free(s->block);
    *s = (struct oa_stack){ 0 };
}

/* ---- forward ---- */

/* The residual stream x and the newest branch, which is added where the next norm reads both. */
struct flow {
    const struct oa_stack *stack;
    const struct oa_stack_input *in;
    oa_tensor *x, *branch;
};

static oa_tensor *norm(oa_tape *t, struct flow *f, struct oa_parameter *scale,
                       struct oa_parameter *shift)
{
    return oa_residual_norm_op(t, f->x, f->branch, f->in->dropout, scale, shift, &f->x);
}

/* What a branch reads: the norm of the stream; post-norm, the stream. */
static oa_tensor *before(oa_tape *t, struct flow *f, const char *place, int layer,
                         struct oa_parameter *scale, struct oa_parameter *shift)
{
    if (f->stack->shape.post_norm)
        return f->x;
    oa_tape_at(t, f->stack->shape.role, place, layer);
    return norm(t, f, scale, shift);
}

/* What it adds: with post-norm the norm of the sum is the stream that goes on. */
static void behind(oa_tape *t, struct flow *f, const char *place, int layer,
                   struct oa_parameter *scale, struct oa_parameter *shift, oa_tensor *branch)
{
    f->branch = branch;
    if (!f->stack->shape.post_norm)
        return;
    oa_tape_at(t, f->stack->shape.role, place, layer);
    f->x = norm(t, f, scale, shift);
}

/* All sequences side by side in one layer. */
static const struct oa_layer_row *rows_of(oa_tape *t, const struct oa_stack_input *in, int layer,
                                          bool cross)
{
    struct oa_layer_row *r = in->rows ? oa_tape_take_host(t, (size_t)in->batch * sizeof *r) : NULL;
    for (long b = 0; r && b < in->batch; b++)
        r[b] =
            (struct oa_layer_row){ cross ? in->rows[b].cross[layer] : in->rows[b].self[layer],
                                   in->rows[b].memory_length, cross ? in->rows[b].memory : NULL };
    return r;
}

static oa_tensor *attend(oa_tape *t, const struct flow *f, const struct oa_layer *l,
                         const struct oa_layer_input *in)
{
    oa_tensor *y = oa_layer_forward(t, l, in);
    if (y && f->in->watch)
        f->in->watch->seen(f->in->watch->argument, f->stack, l, in, y);
    return y;
}

static void self_attention(oa_tape *t, struct flow *f, int layer)
{
    const struct oa_block *b = &f->stack->block[layer];
    const struct oa_stack_input *in = f->in;
    struct oa_layer_input a = { .batch = in->batch,
                                .queries = in->length,
                                .keys = in->length,
                                .lengths = in->lengths,
                                .words = in->words,
                                .dropout = in->attention_dropout,
                                .cosine = in->cosine,
                                .sine = in->sine,
                                .state = in->state ? in->state->self[layer] : NULL,
                                .rows = rows_of(t, in, layer, false) };
    a.x = before(t, f, "attention_norm", layer, b->attention_norm, b->attention_norm_bias);
    oa_tape_at(t, f->stack->shape.role, "attention", layer);
    oa_tensor *y = attend(t, f, &b->attention, &a);
    behind(t, f, "attention_norm", layer, b->attention_norm, b->attention_norm_bias, y);
}

static void cross_attention(oa_tape *t, struct flow *f, int layer)
{
    const struct oa_block *b = &f->stack->block[layer];
    const struct oa_stack_input *in = f->in;
    struct oa_layer_input a = { .memory = in->memory,
                                .batch = in->batch,
                                .queries = in->length,
                                .keys = in->memory_length,
                                .lengths = in->memory_lengths,
                                .query_lengths = in->lengths,
                                .dropout = in->attention_dropout,
                                .state = in->state ? in->state->cross[layer] : NULL,
                                .rows = rows_of(t, in, layer, true) };
    a.x = before(t, f, "cross_norm", layer, b->cross_norm, b->cross_norm_bias);
    oa_tape_at(t, f->stack->shape.role, "cross_attention", layer);
    oa_tensor *y = attend(t, f, &b->cross, &a);
    behind(t, f, "cross_norm", layer, b->cross_norm, b->cross_norm_bias, y);
}

static void feed_forward(oa_tape *t, struct flow *f, int layer)
{
    const struct oa_block *b = &f->stack->block[layer];
    oa_tensor *x = before(t, f, "ffn_norm", layer, b->ffn_norm, b->ffn_norm_bias);
    oa_tape_at(t, f->stack->shape.role, "ffn", layer);
    oa_tensor *y =
        oa_linear(t, oa_gelu(t, oa_linear(t, x, b->in, b->in_bias)), b->out, b->out_bias);
    behind(t, f, "ffn_norm", layer, b->ffn_norm, b->ffn_norm_bias, y);
}

oa_tensor *oa_stack_forward(oa_tape *t, const struct oa_stack *s, const struct oa_stack_input *in)
{
    struct flow f = { .stack = s, .in = in, .x = in->x };
    for (int i = 0; i < s->shape.layers; i++) {
        self_attention(t, &f, i);
        if (s->shape.cross)
            cross_attention(t, &f, i);
        feed_forward(t, &f, i);
    }
    if (s->shape.post_norm)
        return f.x;
    oa_tape_at(t, s->shape.role, "norm", -1);
    return norm(t, &f, s->norm, s->norm_bias);
}

const struct oa_group *oa_stack_by_words(const struct oa_stack *s)
{
    for (long i = 0; i < s->shape.layers; i++)
        for (int g = 0; g < s->block[i].attention.groups; g++)
            if (s->block[i].attention.group[g].needs_words)
                return &s->block[i].attention.group[g];
    return NULL;
}

enum oa_error oa_stack_after_step(const struct oa_stack *s, long step)
{
    for (long i = 0; i < s->shape.layers; i++) {
        OA_TRY(oa_layer_after_step(&s->block[i].attention, step));
        if (s->shape.cross)
            OA_TRY(oa_layer_after_step(&s->block[i].cross, step));
    }
    return OA_OK;
}
