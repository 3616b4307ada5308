/* SPDX-License-Identifier: Apache-2.0
 * The plan device: computes nothing and counts. A training step that runs on it, with dry arenas,
 * says what the real one costs: FLOPs (a multiply-add is 2) and bytes read and written by each
 * operation as if no cache outlived it. Elementwise work counts its bytes; its few FLOPs an element
 * are counted as one. */
#include "device/cpu/cpu_logits.h"
#include "device/cpu/cpu_panels.h"

static void work(struct oa_device *d, double flops, double bytes)
{
    d->flops += flops;
    d->computed += flops;
    d->bytes += bytes;
}

static double act(const struct oa_device *d, double elements)
{
    return elements * (double)d->numbers.act_size;
}

static double real(const struct oa_device *d, double elements)
{
    return elements * (double)d->numbers.real_size;
}

/* ---- memory: there is none ---- */

static void nothing(struct oa_device *d)
{
    (void)d;
}

/* Addresses only have to differ from NULL and be aligned. */
static void *allocate(struct oa_device *d, size_t bytes)
{
    (void)d, (void)bytes;
    return (void *)(uintptr_t)OA_ALIGN;
}

static void release(struct oa_device *d, void *memory)
{
    (void)d, (void)memory;
}

static void copy(struct oa_device *d, size_t bytes, const void *x, void *y)
{
    (void)d, (void)bytes, (void)x, (void)y;
}

static void fill(struct oa_device *d, size_t bytes, int byte, void *x)
{
    (void)d, (void)bytes, (void)byte, (void)x;
}

/* ---- what is too little to be counted ---- */

static void constant(struct oa_device *d, long n, double value, void *x)
{
    (void)d, (void)n, (void)value, (void)x;
}

static void normals(struct oa_device *d, long n, double scale, struct oa_stream stream, void *x)
{
    (void)d, (void)n, (void)scale, (void)stream, (void)x;
}

static void mixture(struct oa_device *d, const struct oa_mixture_weights *a)
{
    (void)d, (void)a;
}

static void relative(struct oa_device *d, const struct oa_relative *a)
{
    (void)d, (void)a;
}

static void head_factors(struct oa_device *d, const struct oa_head_factors *a)
{
    (void)d, (void)a;
}

static bool finite(struct oa_device *d, bool act, long rows, long cols, const void *x, long ldx)
{
    (void)d, (void)act, (void)rows, (void)cols, (void)x, (void)ldx;
    return true;
}

/* ---- what is counted ---- */

static void zero(struct oa_device *d, size_t bytes, void *x)
{
    (void)x;
    work(d, 0, (double)bytes);
}

static void convert(struct oa_device *d, long n, const void *x, void *y)
{
    (void)x, (void)y;
    work(d, 0, act(d, (double)n) + real(d, (double)n));
}

static void map2(struct oa_device *d, long n, const void *x, void *y)
{
    (void)x, (void)y;
    work(d, (double)n, act(d, 2 * (double)n));
}

static void map3(struct oa_device *d, long n, const void *x, const void *y, void *z)
{
    (void)x, (void)y, (void)z;
    work(d, (double)n, act(d, 3 * (double)n));
}

static void packed_operand(struct oa_device *d, const struct oa_gemm *g)
{
    size_t mark = oa_arena_mark(&d->scratch), bytes = oa_packed_bytes(d, g);
    if (bytes)
        oa_arena_take(&d->scratch, bytes);
    oa_arena_release(&d->scratch, mark);
}

static void gemm(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b,
                 void *c)
{
    (void)a, (void)b, (void)c;
    packed_operand(d, g);
    double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    double out = (g->real_out ? real(d, m * n) : act(d, m * n)) * (g->accumulate ? 2 : 1);
    work(d, 2 * m * n * k, act(d, m * k + k * n) + out);
}

/* What is packed for decoding is no part of a plan. */
static size_t weights_bytes(struct oa_device *d, const struct oa_gemm *g)
{
    (void)d, (void)g;
    return 0;
}

static void pack_weights(struct oa_device *d, const struct oa_gemm *g, const void *b, void *packed)
{
    (void)d, (void)g, (void)b, (void)packed;
}

static void add_bias(struct oa_device *d, long rows, long cols, const void *bias, void *y, long ldy)
{
    (void)bias, (void)y, (void)ldy;
    work(d, (double)rows * (double)cols, act(d, 2 * (double)rows * (double)cols));
}

static void column_sums(struct oa_device *d, long rows, long cols, const void *x, long ldx,
                        void *sums)
{
    (void)x, (void)ldx, (void)sums;
    work(d, (double)rows * (double)cols, act(d, (double)rows * (double)cols));
}

static void feature(struct oa_device *d, enum oa_feature f, int degree, long rows, long width,
                    const void *x, long ldx, void *y, long ldy)
{
    (void)x, (void)ldx, (void)y, (void)ldy;
    double n = (double)rows * (double)width, out = f == OA_FEATURE_POWER ? n * degree : n;
    work(d, out, act(d, n + out));
}

static void feature_gradient(struct oa_device *d, enum oa_feature f, int degree, long rows,
                             long width, const void *x, long ldx, const void *dy, long lddy,
                             void *dx, long lddx)
{
    double n = (double)rows * (double)width, out = f == OA_FEATURE_POWER ? n * degree : n;
    (void)x, (void)ldx, (void)dy, (void)lddy, (void)dx, (void)lddx;
    work(d, out, act(d, 2 * n + out));
}

static void place(struct oa_device *d, long tokens, long length, long heads, long width, long first,
                  double limit, const void *x, void *y)
{
    (void)length, (void)first, (void)limit, (void)x, (void)y;
    double n = (double)tokens * (double)(heads * width);
    work(d, 2 * n, act(d, 3 * n));
}

static void place_gradient(struct oa_device *d, long tokens, long length, long heads, long width,
                           long first, double limit, const void *x, const void *dy, void *dx)
{
    double n = (double)tokens * (double)(heads * width);
    (void)length, (void)first, (void)limit, (void)x, (void)dy, (void)dx;
    work(d, 2 * n, act(d, 4 * n));
}

static void product(struct oa_device *d, long n, double a, const void *x, const void *y, void *z)
{
    (void)a;
    map3(d, n, x, y, z);
}

static void random_statistics(struct oa_device *d, const struct oa_random_statistics *a)
{
    double pairs = (double)(a->batch * a->heads), K = (double)a->width;
    double rows = a->mean ? 0 : (double)(a->queries + a->keys);
    work(d, pairs * (2 * rows * K * K + 6 * (double)a->count * K * K), act(d, pairs * rows * K));
}

static void moments_change(struct oa_device *d, const struct oa_moments_change *a)
{
    double K = (double)a->width,
           rows = (double)(a->batch * a->heads) * (double)(a->rows[0] + a->rows[1]);
    work(d, rows * (2 * K * K + K), act(d, rows * K) + real(d, 6 * (double)a->heads * K * (K + 1)));
}

static void random_features(struct oa_device *d, const struct oa_random_features *a)
{
    double rows = (double)a->batch * (double)a->length * (double)a->heads, K = (double)a->width,
           r = (double)a->count;
    double both = a->kind == OA_RANDOM_HYPERBOLIC || a->kind == OA_RANDOM_TRIG ? 2 : 1;
    double metric = a->metric ? 2 * K * K : 0;
    size_t mark = oa_arena_mark(&d->scratch);
    bool failed = false;
    oa_random_panels(d, a, true, &failed);
    oa_arena_release(&d->scratch, mark);
    work(d, rows * (2 * r * K + both * r + metric), act(d, rows * (K + both * r)));
}

static void random_features_gradient(struct oa_device *d, const struct oa_random_features *a)
{
    random_features(d, a);
}

static void select_rows(struct oa_device *d, long rows, long cols, long length,
                        const int32_t *lengths, const void *x, long ldx, void *y, long ldy)
{
    (void)length, (void)lengths, (void)x, (void)ldx, (void)y, (void)ldy;
    work(d, 0, act(d, 2 * (double)rows * (double)cols));
}

static void scale_columns(struct oa_device *d, long rows, long cols, const void *factor,
                          const void *x, long ldx, void *y, long ldy)
{
    (void)factor, (void)ldx, (void)ldy;
    map2(d, rows * cols, x, y);
}

static void scale_columns_gradient(struct oa_device *d, long rows, long cols, const void *x,
                                   long ldx, const void *dy, long lddy, void *dfactor)
{
    (void)x, (void)ldx, (void)dy, (void)lddy, (void)dfactor;
    work(d, 2 * (double)rows * (double)cols, act(d, 2 * (double)rows * (double)cols));
}

static void rotate(struct oa_device *d, long tokens, long length, long heads, long width,
                   const void *cosine, const void *sine, double sign, void *x, long ldx)
{
    (void)length, (void)cosine, (void)sine, (void)sign, (void)ldx;
    map2(d, tokens * heads * width, x, x);
}

static void residual_norm(struct oa_device *d, const struct oa_residual_norm *a)
{
    double n = (double)a->rows * (double)a->cols;
    work(d, 8 * n, act(d, (a->branch ? 4 : 2) * n));
}

static void residual_norm_gradient(struct oa_device *d, const struct oa_residual_norm *a)
{
    double n = (double)a->rows * (double)a->cols;
    size_t mark = oa_arena_mark(&d->scratch);
    oa_arena_take(&d->scratch, (size_t)(oa_blocks(a->rows, oa_item_rows(a->cols)) * 2 * a->cols) *
                                   d->numbers.real_size);
    oa_arena_release(&d->scratch, mark);
    work(d, 12 * n, act(d, (a->dbranch ? 5 : 4) * n));
}

static double rest_of(struct oa_device *d, const struct oa_embedding *a, const void *rest)
{
    return rest ? act(d, (double)a->tokens * (double)a->width) : 0;
}

static void embed(struct oa_device *d, const struct oa_embedding *a)
{
    double n = (double)a->tokens * (double)a->width;
    work(d, n, act(d, n) + real(d, n) + rest_of(d, a, a->rest));
}

static void embed_gradient(struct oa_device *d, const struct oa_embedding *a)
{
    double n = (double)a->tokens * (double)a->width;
    work(d, n, act(d, n) + real(d, 2 * n) + rest_of(d, a, a->drest));
}

static void patches(struct oa_device *d, const struct oa_patches *a)
{
    double n = (double)a->tokens * (double)a->count;
    work(d, 2 * n, act(d, n) + n);
}

static void choose_rows(struct oa_device *d, const struct oa_row_choice *a)
{
    work(d, 0, act(d, 2 * (double)a->count * (double)a->cols));
}

static void choose_rows_gradient(struct oa_device *d, const struct oa_row_choice *a)
{
    work(d, 0, act(d, ((double)a->rows + (double)a->count) * (double)a->cols));
}

static void mean_rows(struct oa_device *d, const struct oa_row_means *a)
{
    double n = (double)a->batch * (double)a->length * (double)a->cols;
    work(d, n, act(d, n));
}

static double linear_loss(struct oa_device *d, const struct oa_linear_loss *a)
{
    long most = oa_loss_rows(a), v = a->vocabulary, w = a->width;
    size_t mark = oa_arena_mark(&d->scratch), cells = (size_t)(most * v);
    oa_arena_take(&d->scratch, cells * d->numbers.real_size);
    if (a->dx)
        oa_arena_take(&d->scratch, cells * d->numbers.act_size);
    oa_arena_take(&d->scratch, (size_t)most * sizeof(double));
    for (long first = 0; first < a->rows; first += most) {
        long rows = oa_min(most, a->rows - first);
        gemm(d, &(struct oa_gemm){ .m = rows, .n = v, .k = w, .real_out = true }, NULL, NULL, NULL);
        work(d, 5 * (double)rows * (double)v, real(d, 2 * (double)rows * (double)v));
        if (!a->dx)
            continue;
        gemm(d, &(struct oa_gemm){ .m = rows, .n = w, .k = v }, NULL, NULL, NULL);
        gemm(d,
             &(struct oa_gemm){ .m = v, .n = w, .k = rows, .real_out = true, .accumulate = true },
             NULL, NULL, NULL);
    }
    oa_arena_release(&d->scratch, mark);
    return 0;
}

static const struct oa_support every = { 0 };

/* Pairs (query, key) that are looked at, over the batch and all heads. */
static double visible_pairs(const struct oa_attention_shape *s, const struct oa_support *support)
{
    double sum = 0;
    for (long h = 0; h < s->heads; h++)
        sum += oa_support_pairs(support, s, h);
    return sum * (double)s->batch;
}

static double values(const struct oa_attention_shape *s)
{
    return (double)(s->batch * s->heads * s->value_width);
}

/* FLOPs of the parts of the logits and of the softmax; `gradient`: what the backward pass adds to
 * recomputing them. */
static double logits_flops(const struct oa_logits *a, bool gradient)
{
    double pairs = visible_pairs(&a->shape, &a->support), flops = 0;
    bool shared = !a->distances.table,
         wanted =
             a->distances.dbias; /* shared: one map P for the whole batch (given logits only) */
    for (int p = 0; p < a->parts; p++) {
        const struct oa_part *part = &a->part[p];
        shared &= oa_part_given(part);
        wanted |= part->dq || part->dk || part->dtable;
        if (part->kind == OA_PART_DOT)
            flops += pairs * 2 * (double)part->width * (gradient ? 2 : 1);
        if (part->kind == OA_PART_FOLD)
            flops += pairs * 2 * (gradient ? 2 : 1);
    }
    if (a->distances.table && (!gradient || a->distances.dbias))
        flops += pairs;
    double v = (double)a->shape.value_width, once = shared ? (double)a->shape.batch : 1;
    return (flops + 5 * pairs) / once + pairs * 2 * v * (gradient && wanted ? 2 : 1);
}

/* Keys of a head that are read: one query alone reads what it sees, more of them together all there
 * are. */
static double keys_read(const struct oa_logits *a)
{
    const struct oa_attention_shape *s = &a->shape;
    return s->queries == 1 ? visible_pairs(s, &a->support) / (double)(s->batch * s->heads)
                           : (double)s->keys;
}

static double logits_bytes(const struct oa_device *d, const struct oa_logits *a)
{
    double t = (double)a->shape.queries, s = keys_read(a), elements = values(&a->shape) * (t + s),
           tables = 0;
    for (int p = 0; p < a->parts; p++) {
        const struct oa_part *part = &a->part[p];
        if (oa_part_given(part) && part->kind == OA_PART_DOT)
            elements += (double)(a->shape.heads * part->width) * (t + s);
        else if (part->kind == OA_PART_DOT)
            elements += (double)(a->shape.batch * a->shape.heads * part->width) * (t + s);
        else if (part->kind == OA_PART_FOLD)
            elements += (double)(a->shape.batch * a->shape.heads * (part->width + part->folds)) * t;
        else
            tables += (double)a->shape.heads * t * s;
    }
    return act(d, elements) + real(d, tables);
}

/* The pairs of tiles that are not visible, and the copies of pieces, each written and read once. */
static void tile_work(struct oa_device *d, const struct oa_logits *a, double flops, bool gradient)
{
    double visible = visible_pairs(&a->shape, &a->support);
    bool pieces = oa_pieces_wanted(a);
    if (oa_tables_shared(a) || visible == 0)
        return;
    d->computed += flops * ((pieces ? oa_pieces_pairs(d, a) : oa_tiles_pairs(d, a)) / visible - 1);
    if (pieces)
        work(d, 0, 2 * oa_pieces_copies(d, a, gradient));
}

static void logits(struct oa_device *d, const struct oa_logits *a)
{
    double flops = logits_flops(a, false);
    work(d, flops, logits_bytes(d, a));
    tile_work(d, a, flops, false);
}

static void logits_gradient(struct oa_device *d, const struct oa_logits *a)
{
    double flops = logits_flops(a, false) + logits_flops(a, true);
    size_t mark = oa_arena_mark(&d->scratch);
    if (!oa_tables_shared(a) && oa_shared_wanted(a))
        oa_arena_take(&d->scratch, oa_shared_bytes(d, a));
    if (oa_distances_bytes(d, a))
        oa_arena_take(&d->scratch, oa_distances_bytes(d, a));
    oa_arena_release(&d->scratch, mark);
    work(d, flops, 2.5 * logits_bytes(d, a));
    tile_work(d, a, flops, true);
}

/* Chunked form: inside a chunk of c rows c·(r + V), with the state r·V a row, each counted for both
 * products; and features of rows, made here. */
static double linear_flops(const struct oa_linear_attention *a)
{
    const struct oa_attention_shape *s = &a->shape;
    double r = (double)a->features, v = (double)s->value_width, chunk = s->causal ? 64 : 0;
    double rows = (double)(s->batch * s->heads) * ((double)s->queries + (double)s->keys) / 2;
    return rows * (4 * r * (v + 1) + chunk * (r + v) + (a->squared_width ? 2 * r : 0));
}

static double linear_bytes(const struct oa_device *d, const struct oa_linear_attention *a)
{
    const struct oa_attention_shape *s = &a->shape;
    double rows = (double)(s->batch * s->heads) * ((double)s->queries + (double)s->keys);
    double state = (double)(s->batch * s->heads * (a->features * s->value_width + a->features + 1));
    return act(d, rows * (double)((a->squared_width ? a->squared_width : a->features) +
                                  s->value_width)) +
           (a->state ? real(d, 2 * state) : 0);
}

static void linear_attention(struct oa_device *d, const struct oa_linear_attention *a)
{
    work(d, linear_flops(a), linear_bytes(d, a));
}

static void linear_attention_gradient(struct oa_device *d, const struct oa_linear_attention *a)
{
    work(d, 2.5 * linear_flops(a), 2.5 * linear_bytes(d, a));
}

static void polynomial(struct oa_device *d, const struct oa_polynomial *a)
{
    double pairs = visible_pairs(&a->shape, &every), K = (double)a->width,
           V = (double)a->shape.value_width;
    double rows =
        (double)(a->shape.batch * a->shape.heads) * (double)(a->shape.queries + a->shape.keys);
    work(d, pairs * (2 * K + 2 * V + 2), act(d, rows * (K + V)));
}

static void polynomial_gradient(struct oa_device *d, const struct oa_polynomial *a)
{
    double pairs = visible_pairs(&a->shape, &every), K = (double)a->width,
           V = (double)a->shape.value_width;
    polynomial(d, a);
    work(d, pairs * (4 * K + 2 * V + 3), 0);
}

static void pattern(struct oa_device *d, const struct oa_pattern_attention *a)
{
    double n = values(&a->shape) * (double)a->shape.queries;
    work(d, 4 * n, act(d, 2 * n));
}

static void band(struct oa_device *d, const struct oa_band *a)
{
    double n = values(&a->shape) * (double)a->shape.queries, taps = (double)oa_band_taps(a);
    work(d, 2 * n * taps, act(d, 2 * n));
}

static void band_gradient(struct oa_device *d, const struct oa_band *a)
{
    size_t mark = oa_arena_mark(&d->scratch), bytes = oa_band_shared_bytes(a);
    if (bytes)
        oa_arena_take(&d->scratch, bytes);
    oa_arena_release(&d->scratch, mark);
    for (int pass = 0; pass < (a->dlogits ? 2 : 1); pass++)
        band(d, a);
}

static void gate(struct oa_device *d, long rows, long cols, const void *x, void *y)
{
    (void)x, (void)y;
    work(d, (double)rows * (double)cols, act(d, 3 * (double)rows * (double)cols));
}

static void gate_gradient(struct oa_device *d, long rows, long cols, const void *x, const void *dy,
                          void *dx)
{
    (void)x, (void)dy, (void)dx;
    work(d, 2 * (double)rows * (double)cols, act(d, 5 * (double)rows * (double)cols));
}

static void project_length(struct oa_device *d, const struct oa_length_projection *a)
{
    double columns = (double)(a->batch * a->heads * a->width),
           tables = a->head_stride ? (double)a->heads : 1;
    double weights = tables * (double)(a->length * a->rank);
    work(d, 2 * columns * (double)a->length * (double)a->rank,
         act(d, columns * (double)(a->length + a->rank) + weights));
}

static void project_length_gradient(struct oa_device *d, const struct oa_length_projection *a)
{
    if (a->dx)
        project_length(d, a);
    if (a->dw)
        project_length(d, a);
}

static void transform(struct oa_device *d, const struct oa_transform *a)
{
    double rows = (double)a->rows, heads = (double)a->heads;
    work(d, oa_transform_flops(a),
         act(d, rows * ((double)a->chain.width + heads * (double)a->chain.out)));
}

static void mask_rows(struct oa_device *d, long rows, long cols, const int32_t *high, const void *x,
                      void *y)
{
    (void)high;
    convert(d, rows * cols, x, y);
}

static void mask_rows_gradient(struct oa_device *d, long rows, long cols, const int32_t *high,
                               const void *dy, void *dx)
{
    (void)high, (void)dy, (void)dx;
    work(d, (double)rows * (double)cols, real(d, 3 * (double)rows * (double)cols));
}

static void add_position_bias(struct oa_device *d, long rows, long cols, long length,
                              const void *bias, void *y, long ldy)
{
    (void)length;
    add_bias(d, rows, cols, bias, y, ldy);
}

static void position_sums(struct oa_device *d, long rows, long cols, long length, const void *x,
                          long ldx, void *sums)
{
    (void)length;
    column_sums(d, rows, cols, x, ldx, sums);
}

static void mixer_steps(struct oa_device *d, const struct oa_mixer_steps *a)
{
    double channels = (double)a->tokens * (double)a->channels, units = (double)a->units;
    work(d, 2 * channels * units,
         act(d, 2 * (double)a->tokens * units + 2 * channels) + real(d, channels * units));
}

static void adamw(struct oa_device *d, long n, const struct oa_adamw *h, void *w, void *m, void *v,
                  const void *g, void *copy)
{
    (void)h, (void)w, (void)m, (void)v, (void)g;
    work(d, 15 * (double)n, real(d, 7 * (double)n) + (copy ? act(d, (double)n) : 0));
}

static void sgd(struct oa_device *d, long n, double lr, double momentum, double weight_decay,
                double gradient_scale, void *w, void *m, const void *g)
{
    (void)lr, (void)momentum, (void)weight_decay, (void)gradient_scale, (void)w, (void)m, (void)g;
    work(d, 6 * (double)n, real(d, 5 * (double)n));
}

static void adafactor(struct oa_device *d, const struct oa_adafactor *a)
{
    double n = (double)a->rows * (double)a->cols;
    work(d, 12 * n, real(d, 7 * n));
}

static void axpy(struct oa_device *d, long n, double a, const void *x, void *y)
{
    (void)a, (void)x, (void)y;
    work(d, 2 * (double)n, real(d, 3 * (double)n));
}

static void log_sums(struct oa_device *d, long rows, long cols, const void *x, double *sums)
{
    (void)x;
    for (long i = 0; i < rows; i++)
        sums[i] = 0;
    work(d, 4 * (double)rows * (double)cols, real(d, (double)rows * (double)cols));
}

static double sum_squares(struct oa_device *d, long n, const void *x)
{
    (void)x;
    work(d, 2 * (double)n, real(d, (double)n));
    return 1;
}

static void move_moments(struct oa_device *d, const struct oa_moments_move *a)
{
    axpy(d, a->means, 1, a->mean_change, a->mean);
    axpy(d, a->squares, 1, a->square_change, a->square);
}

const struct oa_device_ops oa_device_plan = {
    .name = "plan",
    .dry = true,
    .open = oa_cpu_part_open,
    .close = oa_cpu_part_close,
    .settle = nothing,
    .allocate = allocate,
    .release = release,
    .sync = nothing,
    .upload = copy,
    .download = copy,
    .copy = copy,
    .fill = fill,
    .zero = zero,
    .constant = constant,
    .normals = normals,
    .act_from_real = convert,
    .real_from_act = convert,
    .add = map3,
    .gemm = gemm,
    .weights_bytes = weights_bytes,
    .pack_weights = pack_weights,
    .add_bias = add_bias,
    .column_sums = column_sums,
    .gelu = map2,
    .gelu_gradient = map3,
    .relu = map2,
    .relu_gradient = map3,
    .feature = feature,
    .feature_gradient = feature_gradient,
    .place = place,
    .place_gradient = place_gradient,
    .product = product,
    .random_statistics = random_statistics,
    .moments_change = moments_change,
    .move_moments = move_moments,
    .random_features = random_features,
    .random_features_gradient = random_features_gradient,
    .select_rows = select_rows,
    .scale_columns = scale_columns,
    .scale_columns_gradient = scale_columns_gradient,
    .relative = relative,
    .head_factors = head_factors,
    .head_factors_gradient = head_factors,
    .rotate = rotate,
    .residual_norm = residual_norm,
    .residual_norm_gradient = residual_norm_gradient,
    .embed = embed,
    .embed_gradient = embed_gradient,
    .patches = patches,
    .choose_rows = choose_rows,
    .choose_rows_gradient = choose_rows_gradient,
    .mean_rows = mean_rows,
    .mean_rows_gradient = mean_rows,
    .linear_loss = linear_loss,
    .mixture = mixture,
    .mixture_gradient = mixture,
    .logits = logits,
    .logits_gradient = logits_gradient,
    .linear_attention = linear_attention,
    .linear_attention_gradient = linear_attention_gradient,
    .polynomial = polynomial,
    .polynomial_gradient = polynomial_gradient,
    .pattern = pattern,
    .pattern_gradient = pattern,
    .band = band,
    .band_gradient = band_gradient,
    .gate = gate,
    .gate_gradient = gate_gradient,
    .project_length = project_length,
    .project_length_gradient = project_length_gradient,
    .transform = transform,
    .transform_gradient = transform,
    .mask_rows = mask_rows,
    .mask_rows_gradient = mask_rows_gradient,
    .add_position_bias = add_position_bias,
    .position_sums = position_sums,
    .gelu_exact = map2,
    .gelu_exact_gradient = map3,
    .mixer_steps = mixer_steps,
    .adamw = adamw,
    .sgd = sgd,
    .adafactor = adafactor,
    .axpy = axpy,
    .log_sums = log_sums,
    .sum_squares = sum_squares,
    .finite = finite,
};
