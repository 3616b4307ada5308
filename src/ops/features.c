/* SPDX-License-Identifier: Apache-2.0
 * Feature maps of kernel attention as ops. A contiguous [B·T, H·K] is also [B·T·H, K], so that maps
 * shared by all heads are one operation. */
#include "ops/ops.h"

#include <math.h>

#define MOMENTS_WEIGHT 0.01 /* of a step in the running average, from step 100 on */

struct feature_op {
    oa_tensor *x, *y, *other; /* other: the second factor of a product */
    long length, heads;
    double a;   /* factor of a product; limit of positions */
    long first; /* position of the first row */
    const struct oa_parameter *w;
    long index;
    struct oa_residual_norm norm;
    struct oa_random_features random;
};

static struct feature_op *features_new(oa_tape *t, oa_tensor *x, long cols)
{
    oa_tensor *y = x ? oa_tensor_new(t, x->rows, cols) : NULL;
    struct feature_op *f = y ? oa_tape_take_host(t, sizeof *f) : NULL;
    if (f)
        *f = (struct feature_op){ .x = x, .y = y };
    return f;
}

/* ---- positions as angles ---- */

static void position_features_backward(oa_tape *t, void *saved)
{
    const struct feature_op *f = saved;
    const void *dy = oa_gradient_of(t, f->y);
    void *dx = dy ? oa_gradient_begin(t, f->x) : NULL;
    if (dx)
        t->device->ops->place_gradient(t->device, f->x->rows, f->length, f->heads,
                                       f->x->cols / f->heads, f->first, f->a, f->x->data, dy, dx);
    oa_gradient_end(t, f->x, dx);
}

oa_tensor *oa_position_features(oa_tape *t, oa_tensor *x, long length, long heads, double limit)
{
    struct feature_op *f = features_new(t, x, x ? 2 * x->cols : 0);
    if (!f)
        return NULL;
    f->length = length;
    f->heads = heads;
    f->first = t->state ? t->state->tokens : 0;
    f->a = limit;
    t->device->ops->place(t->device, x->rows, length, heads, x->cols / heads, f->first, limit,
                          x->data, f->y->data);
    oa_record(t, position_features_backward, f);
    return f->y;
}

/* ---- norms of the rows of heads ---- */

static void head_norm_backward(oa_tape *t, void *saved)
{
    struct feature_op *f = saved;
    f->norm.dy = oa_gradient_of(t, f->y);
    f->norm.dx = f->norm.dy ? oa_gradient_begin(t, f->x) : NULL;
    f->norm.dgain = f->w ? f->w->gradient : NULL;
    if (f->norm.dx)
        t->device->ops->residual_norm_gradient(t->device, &f->norm);
    oa_gradient_end(t, f->x, f->norm.dx);
}

/* row/√(Σ row² + ε) is a root mean square norm with ε/K and gain 1/√K. */
static const void *unit_norm_gain(oa_tape *t, long cols)
{
    void *gain = oa_tape_take(t, (size_t)cols * t->device->numbers.real_size);
    if (gain)
        t->device->ops->constant(t->device, cols, 1 / sqrt((double)cols), gain);
    return gain;
}

oa_tensor *oa_head_norm(oa_tape *t, oa_tensor *x, long heads, enum oa_head_norm_kind kind,
                        double epsilon, const struct oa_parameter *gain)
{
    struct oa_device *d = t->device;
    struct feature_op *f = features_new(t, x, x ? x->cols : 0);
    long rows = f ? x->rows * heads : 0, cols = f ? x->cols / heads : 0;
    size_t bytes = (size_t)rows * d->numbers.real_size;
    void *rstd = f ? oa_tape_take(t, bytes) : NULL,
         *mean = rstd && kind == OA_HEAD_NORM_LAYER ? oa_tape_take(t, bytes) : NULL;
    const void *unit = rstd && kind == OA_HEAD_NORM_UNIT ? unit_norm_gain(t, cols) : NULL;
    if (!rstd || oa_status(t->context) != OA_OK)
        return NULL;
    f->w = gain;
    f->norm =
        (struct oa_residual_norm){ .rows = rows,
                                   .cols = cols,
                                   .x = x->data,
                                   .sum = x->data,
                                   .gain = gain ? gain->value : unit,
                                   .epsilon =
                                       kind == OA_HEAD_NORM_UNIT ? epsilon / (double)cols : epsilon,
                                   .dropout = { .keep = 1 },
                                   .y = f->y->data,
                                   .mean = mean,
                                   .rstd = rstd };
    d->ops->residual_norm(d, &f->norm);
    oa_record(t, head_norm_backward, f);
    return f->y;
}

/* ---- one frozen map for all heads ---- */

static void sketch_backward(oa_tape *t, void *saved)
{
    const struct feature_op *f = saved;
    struct oa_device *d = t->device;
    const void *dy = oa_gradient_of(t, f->y);
    void *dx = dy ? oa_gradient_begin(t, f->x) : NULL;
    long K = f->w->dim[1], s = f->w->dim[2];
    struct oa_gemm g = {
        .m = f->x->rows * f->heads, .n = K, .k = s, .lda = s, .ldb = s, .ldc = K, .tb = true
    };
    if (dx)
        d->ops->gemm(d, &g, dy, oa_act_at(d, f->w->act, f->index * K * s), dx);
    oa_gradient_end(t, f->x, dx);
}

oa_tensor *oa_sketch(oa_tape *t, oa_tensor *x, long heads, const struct oa_parameter *w, long index)
{
    struct oa_device *d = t->device;
    long K = w->dim[1], s = w->dim[2];
    struct feature_op *f = features_new(t, x, heads * s);
    if (!f)
        return NULL;
    f->heads = heads;
    f->w = w;
    f->index = index;
    struct oa_gemm g = { .m = x->rows * heads, .n = s, .k = K, .lda = K, .ldb = s, .ldc = s };
    g.invariant_rows = t->invariant_rows * heads;
    d->ops->gemm(d, &g, x->data, oa_act_at(d, w->act, index * K * s), f->y->data);
    oa_record(t, sketch_backward, f);
    return f->y;
}

/* ---- products ---- */

static void product_gradient(oa_tape *t, const struct feature_op *f, const void *dy, oa_tensor *to,
                             const oa_tensor *factor)
{
    void *dx = oa_gradient_begin(t, to);
    if (dx)
        t->device->ops->binary(t->device, OA_BINARY_PRODUCT, to->rows * to->cols, f->a, dy,
                               factor->data, dx);
    oa_gradient_end(t, to, dx);
}

static void product_backward(oa_tape *t, void *saved)
{
    const struct feature_op *f = saved;
    const void *dy = oa_gradient_of(t, f->y);
    if (!dy)
        return;
    product_gradient(t, f, dy, f->x, f->other);
    product_gradient(t, f, dy, f->other, f->x);
}

oa_tensor *oa_product(oa_tape *t, oa_tensor *x, oa_tensor *y, double a)
{
    struct feature_op *f = y ? features_new(t, x, y->cols) : NULL;
    if (!f)
        return NULL;
    f->other = y;
    f->a = a;
    t->device->ops->binary(t->device, OA_BINARY_PRODUCT, x->rows * x->cols, a, x->data, y->data,
                           f->y->data);
    oa_record(t, product_backward, f);
    return f->y;
}

/* ---- random features ---- */

/* Memory for the statistics of `pairs` (batch item, head), one allocation: turned Ω and metric of
 * both sides, then the bias. Decoding with running moments computes them once. */
static bool statistics_memory(oa_tape *t, bool kept, long pairs, struct oa_random_statistics *a,
                              bool *made)
{
    size_t act = t->device->numbers.act_size, real = t->device->numbers.real_size;
    size_t turned = (size_t)(pairs * a->count * a->width) * act,
           metric = (size_t)(pairs * a->width * a->width) * act;
    turned = (turned + real - 1) / real * real;
    metric = (metric + real - 1) / real * real;
    size_t bytes = 2 * (turned + metric) + (size_t)(pairs * a->count) * real;
    *made = false;
    char *memory = kept && t->state ? oa_cache_computed(t, bytes, made) : oa_tape_take(t, bytes);
    for (int side = 0; side < 2; side++) {
        a->turned[side] = oa_at(memory, 1, (long)(turned * (size_t)side));
        a->metric[side] = oa_at(memory, 1, (long)(2 * turned + metric * (size_t)side));
    }
    a->bias = oa_at(memory, 1, (long)(2 * (turned + metric)));
    return memory || t->device->dry;
}

static void moments_accumulate(oa_tape *t, const struct oa_random_statistics *a,
                               const struct oa_attention_shape *shape,
                               const struct oa_running_moments *kept)
{
    struct oa_moments_change u = { .batch = shape->batch,
                                   .heads = shape->heads,
                                   .width = a->width,
                                   .rows = { shape->queries, shape->keys },
                                   .lengths = { shape->query_lengths, shape->key_lengths },
                                   .scale = a->scale,
                                   .x = { a->q, a->k },
                                   .mean = kept->mean->value,
                                   .square = kept->square->value,
                                   .mean_change = kept->mean->change,
                                   .square_change = kept->square->change,
                                   .batches = kept->seen->change };
    t->device->ops->moments_change(t->device, &u);
}

void oa_running_moments_update(struct oa_device *d, const struct oa_running_moments *kept)
{
    struct oa_moments_move a = { .means = kept->mean->count,
                                 .squares = kept->square->count,
                                 .least = MOMENTS_WEIGHT,
                                 .mean = kept->mean->value,
                                 .square = kept->square->value,
                                 .seen = kept->seen->value,
                                 .mean_change = kept->mean->change,
                                 .square_change = kept->square->change,
                                 .batches = kept->seen->change };
    d->ops->move_moments(d, &a);
}

void oa_random_statistics_op(oa_tape *t, const struct oa_attention_shape *shape,
                             enum oa_random_fit kind, oa_tensor *q, oa_tensor *k,
                             const struct oa_parameter *omega,
                             const struct oa_running_moments *kept,
                             struct oa_random_features how[2])
{
    if (!q || !k || !omega)
        return;
    bool made;
    struct oa_random_statistics a = { .kind = kind,
                                      .batch = kept ? 1 : shape->batch,
                                      .queries = shape->queries,
                                      .keys = shape->keys,
                                      .heads = shape->heads,
                                      .width = omega->dim[1],
                                      .count = omega->dim[0],
                                      .query_lengths = shape->query_lengths,
                                      .key_lengths = shape->key_lengths,
                                      .scale = how[0].scale,
                                      .q = q->data,
                                      .k = k->data,
                                      .omega = omega->value };
    a.mean = kept ? kept->mean->value : NULL;
    a.square = kept ? kept->square->value : NULL;
    if (!statistics_memory(t, kept, a.batch * a.heads, &a, &made))
        return;
    for (int side = 0; side < 2; side++) {
        how[side].each = true;
        how[side].same = kept;
        how[side].count = a.count;
        how[side].omega = a.turned[side];
        how[side].metric = a.metric[side];
        how[side].bias = a.bias;
    }
    if (!made)
        t->device->ops->random_statistics(t->device, &a);
    if (kept && t->train && t->record)
        moments_accumulate(t, &a, shape, kept);
}

static void random_backward(oa_tape *t, void *saved)
{
    struct feature_op *f = saved;
    f->random.dy = oa_gradient_of(t, f->y);
    f->random.dx = f->random.dy ? oa_gradient_begin(t, f->x) : NULL;
    if (f->random.dx)
        t->device->ops->random_features_gradient(t->device, &f->random);
    oa_gradient_end(t, f->x, f->random.dx);
}

oa_tensor *oa_random_features_op(oa_tape *t, oa_tensor *x, long length, long heads,
                                 const int32_t *lengths, const struct oa_parameter *omega,
                                 const struct oa_random_features *how, void **top)
{
    bool both = how->kind == OA_RANDOM_HYPERBOLIC || how->kind == OA_RANDOM_TRIG;
    long count = omega ? omega->dim[0] : how->count;
    struct feature_op *f = features_new(t, x, heads * count * (both ? 2 : 1));
    *top = f ? oa_tape_take(t, (size_t)(x->rows * heads) * t->device->numbers.real_size) : NULL;
    if (!*top)
        return NULL;
    f->random = *how;
    f->random.batch = x->rows / length;
    f->random.length = length;
    f->random.heads = heads;
    f->random.width = x->cols / heads;
    f->random.count = count;
    f->random.lengths = lengths;
    if (omega)
        f->random.omega = omega->act;
    f->random.x = x->data;
    f->random.y = f->y->data;
    f->random.top = *top;
    t->device->ops->random_features(t->device, &f->random);
    oa_record(t, random_backward, f);
    return f->y;
}
