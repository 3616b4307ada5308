/* SPDX-License-Identifier: Apache-2.0 */
#include "model/stack.h"

#include <math.h>
#include <string.h>

_Static_assert((int)OA_ACTIVATION_GELU == (int)OA_UNARY_GELU &&
                   (int)OA_ACTIVATION_GELU_EXACT == (int)OA_UNARY_GELU_EXACT &&
                   (int)OA_ACTIVATION_RELU == (int)OA_UNARY_RELU &&
                   (int)OA_ACTIVATION_RELU2 == (int)OA_UNARY_RELU2 &&
                   (int)OA_ACTIVATION_SILU == (int)OA_UNARY_SILU,
               "words of model.activation in the order of OA_UNARY_KINDS");

/* ---- parameters ---- */

struct oa_parameter *oa_add_matrix(struct oa_store *s, const char *name, long rows, long cols,
                                   double deviation)
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { rows, cols },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_NORMAL,
                              .scale = deviation };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(s, &p);
}

struct oa_parameter *oa_add_vector(struct oa_store *s, const char *name, long n, enum oa_init init)
{
    struct oa_parameter p = { .dims = 1, .dim = { n }, .trainable = true, .init = init };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(s, &p);
}

struct stack_builder {
    const struct oa_stack_shape *shape;
    struct oa_store *store;
    char prefix[96];
};

static const char *stack_name_of(const struct stack_builder *b, const char *what, char out[160])
{
    snprintf(out, 160, "%s%s", b->prefix, what);
    return out;
}

static void stack_add_norm(const struct stack_builder *b, const char *what, struct oa_norm *out)
{
    const struct oa_stack_shape *s = b->shape;
    char weight[160], bias[160];
    snprintf(weight, sizeof weight, "%s%s.weight", b->prefix, what);
    snprintf(bias, sizeof bias, "%s%s.bias", b->prefix, what);
    *out = (struct oa_norm){ .rms = s->norm == OA_NORM_RMS, .epsilon = s->epsilon };
    if (s->gain)
        out->gain = oa_add_vector(b->store, weight, s->width, OA_INIT_ONE);
    if (s->gain && !out->rms && s->bias == OA_BIASES_ALL)
        out->bias = oa_add_vector(b->store, bias, s->width, OA_INIT_ZERO);
}

/* Where both exist, that of the output is WHAT.out. */
static void stack_add_branch_norms(const struct stack_builder *b, const char *what, bool in,
                                   struct oa_branch_norms *out)
{
    enum oa_norm_place place = b->shape->place;
    char second[64];
    snprintf(second, sizeof second, "%s%s", what, place == OA_NORM_BOTH ? ".out" : "");
    out->reads = in && (place == OA_NORM_PRE || place == OA_NORM_BOTH);
    out->writes = place != OA_NORM_PRE;
    if (out->reads)
        stack_add_norm(b, what, &out->in);
    if (out->writes)
        stack_add_norm(b, second, &out->out);
}

static struct oa_parameter *stack_add_bias(const struct stack_builder *b, const char *what, long n)
{
    char name[160];
    return b->shape->bias == OA_BIASES_ALL
               ? oa_add_vector(b->store, stack_name_of(b, what, name), n, OA_INIT_ZERO)
               : NULL;
}

/* Scale of the initial output matrices of branches, so that the sum of all branches has the
 * standard deviation of one (GPT-2). Branches that end with a norm do not need it. */
static double initial_branch_scale(const struct oa_stack_shape *s)
{
    return s->place != OA_NORM_PRE ? 1 : 1 / sqrt((s->cross ? 3 : 2) * (double)s->layers);
}

static long stack_head_width(const struct oa_stack_shape *s)
{
    return s->head_width ? s->head_width : s->width / s->heads;
}

static enum oa_error stack_add_attention(oa_context *c, const struct stack_builder *b, int layer,
                                         bool cross, struct oa_layer *out)
{
    const struct oa_stack_shape *s = b->shape;
    char prefix[160];
    struct oa_layer_shape shape = { .width = s->width,
                                    .heads = s->heads,
                                    .head_width = stack_head_width(s),
                                    .value_width = stack_head_width(s),
                                    .length = s->length,
                                    .memory_length = cross ? s->memory_length : s->length,
                                    .causal = s->causal && !cross,
                                    .cross = cross,
                                    .bias = s->bias != OA_BIASES_NONE,
                                    .plain_output = s->bias == OA_BIASES_QKV,
                                    .logit_cap = s->logit_cap,
                                    .qknorm_epsilon = s->qknorm_epsilon,
                                    .init_scale = initial_branch_scale(s) };
    stack_name_of(b, cross ? "cross_attention." : "attention.", prefix);
    return oa_layer_open(c, cross ? s->cross : s->attention, layer, &shape, b->store, prefix, out);
}

static void stack_add_ffn(const struct stack_builder *b, struct oa_block *block)
{
    const struct oa_stack_shape *s = b->shape;
    double in = 1 / sqrt((double)s->width), out = initial_branch_scale(s) / sqrt((double)s->ffn);
    char name[160];
    block->in =
        oa_add_matrix(b->store, stack_name_of(b, "ffn.in.weight", name), s->ffn, s->width, in);
    block->in_bias = stack_add_bias(b, "ffn.in.bias", s->ffn);
    if (s->gated) {
        block->gate = oa_add_matrix(b->store, stack_name_of(b, "ffn.gate.weight", name), s->ffn,
                                    s->width, in);
        block->gate_bias = stack_add_bias(b, "ffn.gate.bias", s->ffn);
    }
    block->out =
        oa_add_matrix(b->store, stack_name_of(b, "ffn.out.weight", name), s->width, s->ffn, out);
    block->out_bias = stack_add_bias(b, "ffn.out.bias", s->width);
}

static enum oa_error stack_add_block(oa_context *c, struct stack_builder *b, int layer,
                                     struct oa_block *block)
{
    snprintf(b->prefix, sizeof b->prefix, "%s.layers.%d.", b->shape->role, layer);
    stack_add_branch_norms(b, "attention_norm", layer > 0 || b->shape->first_norm,
                           &block->attention_norm);
    OA_TRY(stack_add_attention(c, b, layer, false, &block->attention));
    if (b->shape->cross) {
        stack_add_branch_norms(b, "cross_norm", true, &block->cross_norm);
        OA_TRY(stack_add_attention(c, b, layer, true, &block->cross));
    }
    stack_add_branch_norms(b, "ffn_norm", true, &block->ffn_norm);
    stack_add_ffn(b, block);
    return oa_status(c);
}

enum oa_error oa_stack_open(oa_context *c, const struct oa_stack_shape *shape,
                            struct oa_store *store, struct oa_stack *out)
{
    *out = (struct oa_stack){ .context = c, .shape = *shape };
    struct stack_builder b = { .shape = &out->shape, .store = store };
    out->block = oa_alloc(c, (size_t)shape->layers * sizeof *out->block);
    if (!out->block)
        return OA_NO_MEMORY;
    for (int i = 0; i < shape->layers; i++)
        OA_TRY(stack_add_block(c, &b, i, &out->block[i]));
    snprintf(b.prefix, sizeof b.prefix, "%s.", shape->role);
    if (shape->embedding_norm)
        stack_add_norm(&b, "embedding_norm", &out->embedding_norm);
    if (shape->place != OA_NORM_POST)
        stack_add_norm(&b, "norm", &out->norm);
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

/* The residual stream x, and the newest branch, which is added to it where x is read next. */
struct residual_stream {
    const struct oa_stack *stack;
    const struct oa_stack_input *in;
    oa_tensor *x, *branch;
};

/* The norm of the sum of both, or without a norm the sum. */
static oa_tensor *stream_read(oa_tape *t, struct residual_stream *f, const struct oa_norm *norm)
{
    oa_tensor *branch = f->branch;
    f->branch = NULL;
    if (!branch && !norm)
        return f->x;
    return oa_residual_norm_op(t, f->x, branch, f->in->dropout, f->stack->shape.residual_scale,
                               norm, &f->x);
}

static oa_tensor *branch_input(oa_tape *t, struct residual_stream *f, const char *place, int layer,
                               const struct oa_branch_norms *n)
{
    oa_tape_at(t, f->stack->shape.role, place, layer);
    return stream_read(t, f, n->reads ? &n->in : NULL);
}

/* Adds a branch, or its norm. Post-norm: the norm of the sum becomes the stream. */
static void branch_output(oa_tape *t, struct residual_stream *f, const char *place, int layer,
                          const struct oa_branch_norms *n, oa_tensor *branch)
{
    oa_tensor *same;
    oa_tape_at(t, f->stack->shape.role, place, layer);
    if (f->stack->shape.place == OA_NORM_POST) {
        f->branch = branch;
        f->x = stream_read(t, f, &n->out);
        return;
    }
    if (f->branch) /* of a parallel layer */
        stream_read(t, f, NULL);
    f->branch = n->writes ? oa_residual_norm_op(t, branch, NULL, 0, 1, &n->out, &same) : branch;
}

/* Per-sequence states of one layer for a decoding batch. */
static const struct oa_layer_row *stack_layer_rows(oa_tape *t, const struct oa_stack_input *in,
                                                   int layer, bool cross)
{
    struct oa_layer_row *r = in->rows ? oa_tape_take_host(t, (size_t)in->batch * sizeof *r) : NULL;
    for (long b = 0, first = 0; r && b < in->batch; first += in->rows[b++].queries)
        r[b] = (struct oa_layer_row){ cross ? in->rows[b].cross[layer] : in->rows[b].self[layer],
                                      first, in->rows[b].queries, in->rows[b].memory_length,
                                      cross ? in->rows[b].memory : NULL };
    return r;
}

static oa_tensor *stack_attend(oa_tape *t, const struct residual_stream *f,
                               const struct oa_layer *l, const struct oa_layer_input *in)
{
    oa_tensor *y = oa_layer_forward(t, l, in);
    if (y && t->hook)
        t->hook->after(t->hook->argument, f->stack, l, in, y);
    return y;
}

bool oa_layer_is_local(const struct oa_layer *l)
{
    for (int i = 0; i < l->groups; i++)
        if (strcmp(l->group[i].mechanism->name, "local") != 0)
            return false;
    return true;
}

static oa_tensor *stack_self_attention(oa_tape *t, const struct residual_stream *f, int layer,
                                       oa_tensor *x)
{
    const struct oa_stack_input *in = f->in;
    struct oa_layer_input a = { .x = x,
                                .batch = in->batch,
                                .queries = in->length,
                                .keys = in->length,
                                .lengths = in->lengths,
                                .words = in->words,
                                .dropout = in->attention_dropout,
                                .rotary = oa_layer_is_local(&f->stack->block[layer].attention)
                                              ? in->local_rotary
                                              : in->rotary,
                                .state = in->state ? in->state->self[layer] : NULL,
                                .rows = stack_layer_rows(t, in, layer, false) };
    oa_tape_at(t, f->stack->shape.role, "attention", layer);
    return stack_attend(t, f, &f->stack->block[layer].attention, &a);
}

static oa_tensor *stack_cross_attention(oa_tape *t, const struct residual_stream *f, int layer,
                                        oa_tensor *x)
{
    const struct oa_stack_input *in = f->in;
    struct oa_layer_input a = { .x = x,
                                .memory = in->memory,
                                .batch = in->batch,
                                .queries = in->length,
                                .keys = in->memory_length,
                                .lengths = in->memory_lengths,
                                .query_lengths = in->lengths,
                                .dropout = in->attention_dropout,
                                .state = in->state ? in->state->cross[layer] : NULL,
                                .rows = stack_layer_rows(t, in, layer, true) };
    oa_tape_at(t, f->stack->shape.role, "cross_attention", layer);
    return stack_attend(t, f, &f->stack->block[layer].cross, &a);
}

static oa_tensor *stack_feed_forward(oa_tape *t, const struct residual_stream *f, int layer,
                                     oa_tensor *x)
{
    const struct oa_block *b = &f->stack->block[layer];
    enum oa_unary kind = (enum oa_unary)f->stack->shape.activation;
    oa_tape_at(t, f->stack->shape.role, "ffn", layer);
    oa_tensor *h = oa_linear(t, x, b->in, b->in_bias);
    h = b->gate ? oa_gated(t, oa_linear(t, x, b->gate, b->gate_bias), h, kind)
                : oa_activate(t, h, kind);
    return oa_linear(t, h, b->out, b->out_bias);
}

/* In a parallel block both branches read the stream before either is added. */
static void stack_block_forward(oa_tape *t, struct residual_stream *f, int layer)
{
    const struct oa_block *b = &f->stack->block[layer];
    bool parallel = f->stack->shape.parallel;
    oa_pause(t->context);
    oa_tensor *x = branch_input(t, f, "attention_norm", layer, &b->attention_norm);
    oa_tensor *same = parallel ? branch_input(t, f, "ffn_norm", layer, &b->ffn_norm) : NULL;
    oa_tensor *y = stack_self_attention(t, f, layer, x);
    branch_output(t, f, "attention_norm", layer, &b->attention_norm, y);
    if (f->stack->shape.cross) {
        x = branch_input(t, f, "cross_norm", layer, &b->cross_norm);
        y = stack_cross_attention(t, f, layer, x);
        branch_output(t, f, "cross_norm", layer, &b->cross_norm, y);
    }
    oa_pause(t->context);
    x = parallel ? same : branch_input(t, f, "ffn_norm", layer, &b->ffn_norm);
    y = stack_feed_forward(t, f, layer, x);
    branch_output(t, f, "ffn_norm", layer, &b->ffn_norm, y);
}

oa_tensor *oa_stack_forward(oa_tape *t, const struct oa_stack *s, const struct oa_stack_input *in)
{
    struct residual_stream f = { .stack = s, .in = in, .x = in->x };
    if (s->shape.embedding_norm) {
        oa_tape_at(t, s->shape.role, "embedding_norm", -1);
        f.x = stream_read(t, &f, &s->embedding_norm);
    }
    for (int i = 0; i < s->shape.layers; i++)
        stack_block_forward(t, &f, i);
    if (s->shape.place == OA_NORM_POST)
        return f.x;
    oa_tape_at(t, s->shape.role, "norm", -1);
    return stream_read(t, &f, &s->norm);
}

const struct oa_group *oa_stack_needs_words(const struct oa_stack *s)
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

/* ---- decoding states ---- */

enum oa_error oa_stack_check_decoding(const struct oa_stack *s)
{
    for (long i = 0; i < s->shape.layers; i++) {
        OA_TRY(oa_layer_check_decoding(&s->block[i].attention));
        if (s->shape.cross)
            OA_TRY(oa_layer_check_decoding(&s->block[i].cross));
    }
    return OA_OK;
}

enum oa_error oa_stack_state_open(const struct oa_stack *s, struct oa_stack_state *out)
{
    size_t bytes = (size_t)s->shape.layers * sizeof *out->self;
    *out = (struct oa_stack_state){ .self = oa_alloc(s->context, bytes) };
    if (s->shape.cross)
        out->cross = oa_alloc(s->context, bytes);
    OA_TRY(oa_status(s->context));
    for (long i = 0; i < s->shape.layers; i++) {
        OA_TRY(oa_layer_state_open(&s->block[i].attention, s->shape.length, &out->self[i]));
        if (out->cross)
            OA_TRY(oa_layer_state_open(&s->block[i].cross, s->shape.length, &out->cross[i]));
    }
    return OA_OK;
}

void oa_stack_state_close(const struct oa_stack *s, struct oa_stack_state *state)
{
    for (long i = 0; i < s->shape.layers; i++) {
        if (state->self)
            oa_layer_state_close(&s->block[i].attention, state->self[i]);
        if (state->cross)
            oa_layer_state_close(&s->block[i].cross, state->cross[i]);
    }
    oa_free(state->self);
    oa_free(state->cross);
    *state = (struct oa_stack_state){ 0 };
}

void oa_stack_state_reset(const struct oa_stack *s, const struct oa_stack_state *state)
{
    for (long i = 0; i < s->shape.layers; i++) {
        oa_layer_state_reset(&s->block[i].attention, state->self[i]);
        if (state->cross)
            oa_layer_state_reset(&s->block[i].cross, state->cross[i]);
    }
}

size_t oa_stack_state_bytes(const struct oa_stack *s, const struct oa_stack_state *state)
{
    size_t sum = 0;
    for (long i = 0; i < s->shape.layers; i++) {
        sum += oa_layer_state_bytes(&s->block[i].attention, state->self[i]);
        if (state->cross)
            sum += oa_layer_state_bytes(&s->block[i].cross, state->cross[i]);
    }
    return sum;
}

enum oa_error oa_stack_state_copy(const struct oa_stack *s, const struct oa_stack_state *from,
                                  const struct oa_stack_state *to)
{
    for (long i = 0; i < s->shape.layers; i++) {
        OA_TRY(oa_layer_state_copy(&s->block[i].attention, from->self[i], to->self[i]));
        if (from->cross)
            OA_TRY(oa_layer_state_copy(&s->block[i].cross, from->cross[i], to->cross[i]));
    }
    return OA_OK;
}
