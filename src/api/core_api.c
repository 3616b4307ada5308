/* SPDX-License-Identifier: Apache-2.0
 * Attention on given queries, keys and values for programs. The caller's arrays, with any strides,
 * become contiguous tensors of each group of heads, and gradients go back the same way. With a
 * past, rows of zeros are put before the queries, since backward passes of the engines need as many
 * queries as keys; without a backward pass the logits engine needs no such rows. */
#include "api/layer_weights.h"
#include "attention/mechanism.h"

#include <string.h>

enum core_array { QUERY, KEY, VALUE };

struct oa_core {
    oa_context *context;
    struct oa_core_form form; /* with the defaults filled in */
    struct oa_single_layer single;
    struct oa_layer_views views;
};

struct oa_core_pass {
    oa_core *core;
    oa_tape tape;
    long batch, queries, keys;
    long before;                 /* rows of zeros before the queries */
    struct oa_core_heads *given; /* [groups], on the tape */
    oa_tensor *o;                /* NULL: there was no forward call since the last backward call */
};

/* ---- opening ---- */

static enum oa_error core_check_form(oa_context *c, const struct oa_core_form *f)
{
    OA_TRY(oa_check_reserved(c, "oa_core_form", f->reserved, 3));
    if (f->heads < 1 || f->key_heads < 1 || f->heads % f->key_heads)
        return oa_fail(c, OA_SHAPE,
                       "heads is %ld and key_heads is %ld: give positive numbers, the second a "
                       "divisor of the first",
                       f->heads, f->key_heads);
    if (f->head_width < 1 || f->value_width < 1 || f->length < 1 || f->key_length < 1)
        return oa_fail(c, OA_SHAPE,
                       "head_width %ld, value_width %ld, length %ld, key_length %ld: each must be "
                       "positive",
                       f->head_width, f->value_width, f->length, f->key_length);
    if (!f->cross && f->key_length != f->length)
        return oa_fail(c, OA_SHAPE, "key_length is %ld: give 0 without cross-attention",
                       f->key_length);
    if (!(f->logit_cap >= 0 && f->logit_cap < 1e30))
        return oa_fail(c, OA_ARGUMENT, "logit_cap is %g: give 0 or a positive number",
                       f->logit_cap);
    return OA_OK;
}

static enum oa_error core_open_layer(struct oa_core *core, const char *spec)
{
    struct oa_core_form *f = &core->form;
    enum oa_precision precision;
    f->key_heads = f->key_heads ? f->key_heads : f->heads;
    f->value_width = f->value_width ? f->value_width : f->head_width;
    f->key_length = f->key_length ? f->key_length : f->length;
    OA_TRY(oa_status(core->context));
    OA_TRY(core_check_form(core->context, f));
    if (!oa_precision_parse(f->precision ? f->precision : "f32", &precision))
        return oa_fail(core->context, OA_ARGUMENT,
                       "the precision is \"%s\"; choose f32, bf16 or f64", f->precision);
    if (f->bf16_arrays && precision != OA_PRECISION_BF16)
        return oa_fail(core->context, OA_ARGUMENT,
                       "arrays of bfloat16 with the precision \"%s\": choose bf16",
                       f->precision ? f->precision : "f32");
    OA_TRY(oa_single_layer_open(core->context, spec, precision, false, &core->single));
    if (core->single.spec.layers > 1)
        return oa_fail(core->context, OA_ARGUMENT, "the attention has %d layers; give one",
                       core->single.spec.layers);
    struct oa_layer_shape shape = { .width = f->heads * f->head_width,
                                    .heads = f->heads,
                                    .head_width = f->head_width,
                                    .value_width = f->value_width,
                                    .length = f->length,
                                    .memory_length = f->key_length,
                                    .causal = f->causal != 0,
                                    .cross = f->cross != 0,
                                    .core = true,
                                    .given_key_heads = f->key_heads,
                                    .logit_cap = f->logit_cap };
    OA_TRY(oa_single_layer_layer(&core->single, 0, &shape));
    return oa_layer_views_open(&core->views, &core->single, f->seed);
}

oa_core *oa_core_open(oa_context *c, const char *spec, const struct oa_core_form *form)
{
    struct oa_core *core = oa_alloc(c, sizeof *core);
    if (!core)
        return NULL;
    core->context = c;
    core->form = *form;
    if (core_open_layer(core, spec) == OA_OK)
        return core;
    oa_core_close(core);
    return NULL;
}

void oa_core_close(oa_core *core)
{
    if (!core)
        return;
    oa_layer_views_close(&core->views);
    oa_single_layer_close(&core->single);
    oa_free(core);
}

oa_core_pass *oa_core_pass_open(oa_core *core)
{
    struct oa_core_pass *p = oa_alloc(core->context, sizeof *p);
    if (!p)
        return NULL;
    p->core = core;
    oa_tape_init(&p->tape, core->single.device);
    return p;
}

void oa_core_pass_close(oa_core_pass *p)
{
    if (!p)
        return;
    oa_tape_free(&p->tape);
    oa_free(p);
}

/* ---- arrays and tensors ---- */

/* One array of a group: its heads in the caller's array and in the tensor, rows of a sequence. */
struct core_block {
    const struct oa_group *group;
    enum core_array array;
    long all_heads, heads, width; /* of the caller's array; of the tensor; of a row of a head */
    long rows, before;            /* of a sequence of the tensor; zeros among them, at its begin */
};

static struct core_block core_block_of(const struct oa_core_pass *p, int group,
                                       enum core_array array)
{
    const struct oa_core_form *f = &p->core->form;
    const struct oa_group *g = &p->core->single.layer.group[group];
    bool query = array == QUERY;
    return (struct core_block){ .group = g,
                                .array = array,
                                .all_heads = query ? f->heads : f->key_heads,
                                .heads = query ? g->shape.heads : g->key_heads,
                                .width = array == VALUE ? f->value_width : f->head_width,
                                .rows = query ? p->before + p->queries : p->keys,
                                .before = query ? p->before : 0 };
}

/* Whether the tensor has the elements of a contiguous array, in its order. */
static bool core_block_is_whole(const struct core_block *b)
{
    return b->heads == b->all_heads && b->before == 0 &&
           b->group->shape.heads == b->group->layer_heads;
}

/* ---- elements of the caller's arrays: reals, or acts of bfloat16 ---- */

static size_t core_element_size(const struct oa_core *core)
{
    const struct oa_numbers *n = &core->single.device->numbers;
    return core->form.bf16_arrays ? n->act_size : n->real_size;
}

static void core_upload(const struct oa_core *core, long n, const void *from, void *act)
{
    struct oa_device *d = core->single.device;
    if (core->form.bf16_arrays)
        d->ops->upload(d, (size_t)n * d->numbers.act_size, from, act);
    else
        oa_acts_upload(d, n, from, act);
}

static void core_download(const struct oa_core *core, long n, const void *act, void *to)
{
    struct oa_device *d = core->single.device;
    if (core->form.bf16_arrays)
        d->ops->download(d, (size_t)n * d->numbers.act_size, act, to);
    else
        oa_acts_download(d, n, act, to);
}

/* ---- gathering and scattering ---- */

/* The head of the caller's array that is number `head` of the tensor. */
static long core_block_head(const struct oa_core_pass *p, const struct core_block *b, long head)
{
    return b->array == QUERY ? b->group->first_head + head
                             : oa_core_key_head(&p->core->single.layer, b->group, head);
}

/* Copies the rows of the caller's array in the order of the tensor. */
static void core_gather(const struct oa_core_pass *p, const struct core_block *b, const void *from,
                        const long stride[3], char *to)
{
    size_t size = core_element_size(p->core), row = (size_t)b->width * size;
    for (long i = 0; i < p->batch * b->rows; i++) {
        long sequence = i / b->rows, token = i % b->rows - b->before;
        const char *at =
            (const char *)from + (sequence * stride[0] + token * stride[1]) * (long)size;
        for (long h = 0; h < b->heads; h++, to += row) {
            if (token < 0)
                memset(to, 0, row);
            else
                memcpy(to, at + core_block_head(p, b, h) * stride[2] * (long)size, row);
        }
    }
}

static void core_add_row(bool doubles, long n, const void *from, void *to)
{
    for (long c = 0; c < n && doubles; c++)
        ((double *)to)[c] += ((const double *)from)[c];
    for (long c = 0; c < n && !doubles; c++)
        ((float *)to)[c] += ((const float *)from)[c];
}

/* Adds the tensor's reals to an array of reals in the order of the caller's. */
static void core_scatter(const struct oa_core_pass *p, const struct core_block *b, const char *from,
                         char *to)
{
    const struct oa_device *d = p->core->single.device;
    size_t row = (size_t)b->width * d->numbers.real_size;
    for (long i = 0; i < p->batch * b->rows; i++) {
        long token = i % b->rows - b->before, place = i / b->rows * (b->rows - b->before) + token;
        for (long h = 0; h < b->heads && token >= 0; h++)
            core_add_row(d->numbers.real == OA_F64, b->width, from + (size_t)h * row,
                         to + (size_t)(place * b->all_heads + core_block_head(p, b, h)) * row);
        from += (size_t)b->heads * row;
    }
}

/* The tensor of an array of a group; NULL where there is none, and after a failure. */
static oa_tensor *core_take(struct oa_core_pass *p, int group, enum core_array array,
                            const void *from, const long given[3], bool gradient)
{
    struct oa_device *d = p->core->single.device;
    const struct core_block b = core_block_of(p, group, array);
    long cols = b.heads * b.width, rows = p->batch * b.rows, all = b.all_heads * b.width;
    long dense[3] = { (b.rows - b.before) * all, all, b.width };
    bool contiguous = (given[0] == 0 && given[1] == 0 && given[2] == 0) ||
                      memcmp(given, dense, sizeof dense) == 0;
    if (array != VALUE && !(b.group->mechanism->can & OA_HAS_QUERIES))
        return NULL;
    void *act = oa_tape_take(&p->tape, (size_t)(rows * cols) * d->numbers.act_size);
    const void *elements = from;
    if (act && !(contiguous && core_block_is_whole(&b))) {
        size_t size = core_element_size(p->core);
        bool direct = d->ops->shared && size == d->numbers.act_size;
        char *room = direct ? act : oa_tape_take_host(&p->tape, (size_t)(rows * cols) * size);
        if (room)
            core_gather(p, &b, from, contiguous ? dense : given, room);
        elements = direct ? NULL : room;
    }
    if (act && elements)
        core_upload(p->core, rows * cols, elements, act);
    return act ? oa_tensor_from(&p->tape, act, rows, cols, cols, gradient) : NULL;
}

/* Adds the gradient of a tensor to reals; of a whole block it is written to elements. */
static void core_give(struct oa_core_pass *p, const struct core_block *b, const oa_tensor *x,
                      void *to)
{
    struct oa_device *d = p->core->single.device;
    if (!x || !x->gradient)
        return;
    if (core_block_is_whole(b)) {
        core_download(p->core, x->rows * x->cols, x->gradient, to);
        return;
    }
    void *reals = oa_tape_take_host(&p->tape, (size_t)(x->rows * x->cols) * d->numbers.real_size);
    if (reals) {
        oa_acts_download(d, x->rows * x->cols, x->gradient, reals);
        core_scatter(p, b, reals, to);
    }
}

/* The gradient of an array, contiguous. Sums over repeated heads are rounded to bfloat16 once. */
static void core_give_array(struct oa_core_pass *p, enum core_array array, void *to)
{
    struct oa_device *d = p->core->single.device;
    const struct core_block first = core_block_of(p, 0, array);
    long count = p->batch * (first.rows - first.before) * first.all_heads * first.width;
    bool rounds = p->core->form.bf16_arrays && !core_block_is_whole(&first);
    void *out =
        to && rounds ? oa_tape_take_host(&p->tape, (size_t)count * d->numbers.real_size) : to;
    if (!out)
        return;
    memset(out, 0, (size_t)count * (rounds ? d->numbers.real_size : core_element_size(p->core)));
    for (int g = 0; g < p->core->single.layer.groups; g++) {
        const struct core_block b = core_block_of(p, g, array);
        const struct oa_core_heads *x = &p->given[g];
        core_give(p, &b, array == QUERY ? x->query : array == KEY ? x->key : x->value, out);
    }
    void *act = rounds ? oa_tape_take(&p->tape, (size_t)count * d->numbers.act_size) : NULL;
    if (act) {
        oa_acts_upload(d, count, out, act);
        core_download(p->core, count, act, to);
    }
}

/* ---- forward ---- */

static enum oa_error core_check_tokens(const struct oa_core *core, long queries, long keys)
{
    const struct oa_core_form *f = &core->form;
    if (!f->cross && !f->causal && keys != queries)
        return oa_fail(core->context, OA_SHAPE,
                       "%ld queries and %ld keys: give as many, or open a form that is causal or "
                       "cross",
                       queries, keys);
    if (f->causal && keys < queries)
        return oa_fail(core->context, OA_SHAPE,
                       "%ld queries are more than the %ld keys of a causal form", queries, keys);
    for (int g = 0; g < core->single.layer.groups; g++)
        if (f->causal && keys > queries && core->single.layer.group[g].query_conv)
            return oa_fail(core->context, OA_UNSUPPORTED,
                           "a convolution of queries (conv) reads earlier queries, and with a past "
                           "of %ld keys they are missing: give the whole sequence",
                           keys - queries);
    if (keys < 1 || keys > f->key_length || queries > f->length)
        return oa_fail(core->context, OA_SHAPE,
                       "%ld queries and %ld keys: give 1 to %ld and 1 to %ld", queries, keys,
                       f->length, f->key_length);
    return OA_OK;
}

static enum oa_error core_check_input(const struct oa_core *core, const struct oa_core_input *in,
                                      long keys)
{
    const struct oa_layer *l = &core->single.layer;
    OA_TRY(oa_status(core->context));
    OA_TRY(oa_check_reserved(core->context, "oa_core_input", in->reserved, 4));
    if (in->batch < 1 || in->queries < 1)
        return oa_fail(core->context, OA_SHAPE, "%ld sequences of %ld queries: give at least one",
                       in->batch, in->queries);
    OA_TRY(core_check_tokens(core, in->queries, keys));
    for (long i = 0; in->lengths && i < in->batch; i++)
        if (in->lengths[i] < 0 || in->lengths[i] > keys)
            return oa_fail(core->context, OA_SHAPE, "lengths[%ld] is %d: give 0 to %ld", i,
                           in->lengths[i], keys);
    bool queries = false;
    for (int g = 0; g < l->groups; g++)
        queries |= (l->group[g].mechanism->can & OA_HAS_QUERIES) != 0;
    if (!in->v || (queries && (!in->q || !in->k)))
        return oa_fail(core->context, OA_ARGUMENT, "%s is NULL", !in->v ? "v" : !in->q ? "q" : "k");
    return OA_OK;
}

/* Whether all groups run on the logits engine, which can begin with a later query. */
static bool core_begins_later(const struct oa_core *core)
{
    for (int g = 0; g < core->single.layer.groups; g++)
        if (core->single.layer.group[g].mechanism->forward != oa_part_forward)
            return false;
    return true;
}

/* The lengths of the keys, which the backward call reads too, and those of the queries. */
static void core_take_lengths(struct oa_core_pass *p, const int32_t *lengths, long first,
                              struct oa_layer_input *out)
{
    int32_t *both =
        lengths ? oa_tape_take_host(&p->tape, 2 * (size_t)p->batch * sizeof *both) : NULL;
    for (long b = 0; both && b < p->batch; b++) {
        both[b] = lengths[b];
        both[p->batch + b] = (int32_t)oa_max(0, lengths[b] - first);
    }
    out->lengths = both;
    out->query_lengths = both && first > 0 ? both + p->batch : NULL;
}

static void core_take_input(struct oa_core_pass *p, const struct oa_core_input *in)
{
    bool gradient = !in->no_backward;
    int groups = p->core->single.layer.groups;
    p->given = oa_tape_take_host(&p->tape, (size_t)groups * sizeof *p->given);
    for (int g = 0; p->given && g < groups; g++)
        p->given[g] = (struct oa_core_heads){
            .query = core_take(p, g, QUERY, in->q, in->q_stride, gradient),
            .key = core_take(p, g, KEY, in->k, in->k_stride, gradient),
            .value = core_take(p, g, VALUE, in->v, in->v_stride, gradient),
        };
}

static void core_give_output(const struct oa_core_pass *p, const oa_tensor *out, char *o)
{
    const struct oa_device *d = p->core->single.device;
    long rows = p->before + p->queries;
    size_t size = core_element_size(p->core);
    for (long b = 0; b < (p->before ? p->batch : 1); b++)
        core_download(p->core, (p->before ? p->queries : out->rows) * out->cols,
                      oa_act_at(d, out->data, (b * rows + p->before) * out->cols),
                      o + (size_t)(b * p->queries * out->cols) * size);
}

enum oa_error oa_core_forward(oa_core_pass *p, const struct oa_core_input *in, void *o)
{
    oa_core *core = p->core;
    long keys = in->keys ? in->keys : in->queries,
         past = core->form.causal ? keys - in->queries : 0;
    OA_TRY(core_check_input(core, in, keys));
    bool later = in->no_backward && core_begins_later(core);
    oa_tape_reset(&p->tape, !in->no_backward, false, (struct oa_stream){ 0 });
    p->o = NULL;
    p->batch = in->batch;
    p->queries = in->queries;
    p->keys = keys;
    p->before = later ? 0 : past;
    core_take_input(p, in);
    struct oa_layer_input taken = { .core = p->given,
                                    .first = later ? past : 0,
                                    .batch = in->batch,
                                    .queries = p->before + in->queries,
                                    .keys = keys };
    core_take_lengths(p, in->lengths, taken.first, &taken);
    OA_TRY(oa_status(core->context));
    oa_tensor *out = oa_layer_forward(&p->tape, &core->single.layer, &taken);
    OA_TRY(oa_status(core->context));
    core_give_output(p, out, o);
    p->o = in->no_backward ? NULL : out;
    return oa_status(core->context);
}

/* ---- backward ---- */

/* d_o, with zeros for the rows before the queries. */
static void core_take_gradient(struct oa_core_pass *p, const void *d_o)
{
    struct oa_device *d = p->core->single.device;
    long count = p->o->rows * p->o->cols;
    size_t size = core_element_size(p->core), row = (size_t)p->o->cols * size;
    const void *elements = d_o;
    if (p->before) {
        char *room = oa_tape_take_host(&p->tape, (size_t)count * size), *to = room;
        for (long b = 0; room && b < p->batch; b++) {
            memset(to, 0, (size_t)p->before * row);
            to += (size_t)p->before * row;
            memcpy(to, (const char *)d_o + (size_t)(b * p->queries) * row,
                   (size_t)p->queries * row);
            to += (size_t)p->queries * row;
        }
        elements = room;
    }
    p->o->gradient = oa_tape_take(&p->tape, (size_t)count * d->numbers.act_size);
    if (elements && p->o->gradient)
        core_upload(p->core, count, elements, p->o->gradient);
}

enum oa_error oa_core_backward(oa_core_pass *p, const void *d_o, void *dq, void *dk, void *dv)
{
    oa_core *core = p->core;
    OA_TRY(oa_status(core->context));
    if (!p->o)
        return oa_fail(core->context, OA_ARGUMENT,
                       "backward needs a forward call before it, without no_backward");
    core_take_gradient(p, d_o);
    OA_TRY(oa_status(core->context));
    oa_tape_backward(&p->tape);
    OA_TRY(oa_status(core->context));
    p->o = NULL;
    oa_view_fetch(&core->views.gradients);
    core_give_array(p, QUERY, dq);
    core_give_array(p, KEY, dk);
    core_give_array(p, VALUE, dv);
    return oa_status(core->context);
}

/* ---- decoding ---- */

struct oa_core_state {
    struct oa_core_pass pass; /* of the last step; its tape */
    long batch;
    struct oa_state **sequence; /* [batch], each with one for each group of heads */
};

oa_core_state *oa_core_state_open(oa_core *core, long batch)
{
    if (batch < 1) {
        oa_fail(core->context, OA_SHAPE, "batch is %ld: give at least 1", batch);
        return NULL;
    }
    if (core->form.cross) {
        oa_fail(core->context, OA_UNSUPPORTED,
                "a cross form has no decoding state: its keys are those of every call");
        return NULL;
    }
    struct oa_core_state *s = oa_alloc(core->context, sizeof *s);
    if (!s)
        return NULL;
    s->pass.core = core;
    s->batch = batch;
    oa_tape_init(&s->pass.tape, core->single.device);
    s->sequence = oa_alloc(core->context, (size_t)batch * sizeof *s->sequence);
    enum oa_error e = s->sequence ? OA_OK : OA_NO_MEMORY;
    for (long b = 0; e == OA_OK && b < batch; b++)
        e = oa_layer_state_open(&core->single.layer, core->form.length, &s->sequence[b]);
    if (e == OA_OK)
        return s;
    oa_core_state_close(s);
    return NULL;
}

void oa_core_state_close(oa_core_state *s)
{
    if (!s)
        return;
    for (long b = 0; s->sequence && b < s->batch; b++)
        oa_layer_state_close(&s->pass.core->single.layer, s->sequence[b]);
    oa_free(s->sequence);
    oa_tape_free(&s->pass.tape);
    oa_free(s);
}

void oa_core_state_reset(oa_core_state *s)
{
    for (long b = 0; b < s->batch; b++)
        oa_layer_state_reset(&s->pass.core->single.layer, s->sequence[b]);
}

enum oa_error oa_core_state_copy(const oa_core_state *from, const long *from_row, oa_core_state *to)
{
    const struct oa_layer *l = &to->pass.core->single.layer;
    for (long b = 0; b < to->batch; b++)
        if (from == to || from->pass.core != to->pass.core || from_row[b] < 0 ||
            from_row[b] >= from->batch)
            return oa_fail(l->context, OA_ARGUMENT,
                           "sequence %ld of a state of %ld: give 0 to %ld, of another state of the "
                           "same core",
                           from_row[b], from->batch, from->batch - 1);
    for (long b = 0; b < to->batch; b++)
        OA_TRY(oa_layer_state_copy(l, from->sequence[from_row[b]], to->sequence[b]));
    return OA_OK;
}

/* One sequence: a pass without a past, which reads and extends the state. */
static void core_step_one(struct oa_core_state *s, const struct oa_core_input *in, long b, char *o)
{
    struct oa_core_pass *p = &s->pass;
    size_t size = core_element_size(p->core);
    const long *stride[] = { in->q_stride, in->k_stride, in->v_stride };
    const void *const all[] = { in->q, in->k, in->v };
    struct oa_core_input one = *in;
    const void **row[] = { &one.q, &one.k, &one.v };
    one.batch = 1;
    one.no_backward = 1;
    for (int i = 0; i < 3; i++) {
        const struct core_block block = core_block_of(p, 0, (enum core_array)i);
        bool dense = !stride[i][0] && !stride[i][1] && !stride[i][2];
        long step = dense ? p->queries * block.all_heads * block.width : stride[i][0];
        if (all[i])
            *row[i] = (const char *)all[i] + b * step * (long)size;
    }
    oa_tape_reset(&p->tape, false, false, (struct oa_stream){ 0 });
    core_take_input(p, &one);
    struct oa_layer_input taken = { .core = p->given,
                                    .batch = 1,
                                    .queries = p->queries,
                                    .keys = p->keys,
                                    .state = s->sequence[b] };
    if (oa_status(p->core->context) != OA_OK)
        return;
    oa_tensor *out = oa_layer_forward(&p->tape, &p->core->single.layer, &taken);
    if (oa_status(p->core->context) == OA_OK)
        core_give_output(p, out, o + (size_t)(b * out->rows * out->cols) * size);
}

enum oa_error oa_core_step(oa_core_state *s, const struct oa_core_input *in, void *o)
{
    struct oa_core_pass *p = &s->pass;
    oa_context *c = p->core->context;
    OA_TRY(core_check_input(p->core, in, in->keys ? in->keys : in->queries));
    if (in->batch != s->batch || (in->keys && in->keys != in->queries) || in->lengths)
        return oa_fail(c, OA_SHAPE,
                       "a step of %ld sequences with %ld queries, %ld keys and %s: give %ld "
                       "sequences, as many keys as queries, and no lengths",
                       in->batch, in->queries, in->keys, in->lengths ? "lengths" : "no lengths",
                       s->batch);
    p->batch = 1;
    p->queries = p->keys = in->queries;
    p->before = 0;
    for (long b = 0; b < s->batch && oa_status(c) == OA_OK; b++)
        core_step_one(s, in, b, o);
    return oa_status(c);
}

/* ---- parameters ---- */

int oa_core_weights(oa_core *core, int i, struct oa_weights *out)
{
    return oa_layer_views_weights(&core->views, &core->single.store, i, out);
}

void oa_core_changed(oa_core *core)
{
    oa_layer_views_changed(&core->views, &core->single.store);
}

void oa_core_zero_gradients(oa_core *core)
{
    oa_layer_views_zero_gradients(&core->views, &core->single.store);
}
