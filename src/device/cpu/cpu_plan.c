/* SPDX-License-Identifier: Apache-2.0
 * The plan device: computes nothing and counts. A training step that runs on it, with dry arenas,
 * counts the cost of the real one: FLOPs (a multiply-add is 2) and bytes read and written by each
 * operation as if no cache outlived it. An elementwise function counts one FLOP per element. */
#include "device/cpu/cpu_logits.h"
#include "device/cpu/cpu_panels.h"
#include "device/cpu/cpu_recurrence.h"

/* The parameters of the functions here are those of operations.def. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static void add_work(struct oa_device *d, double flops, double bytes)
{
    d->flops += flops;
    d->computed += flops;
    d->bytes += bytes;
}

static double act_bytes(const struct oa_device *d, double elements)
{
    return elements * (double)d->numbers.act_size;
}

static double real_bytes(const struct oa_device *d, double elements)
{
    return elements * (double)d->numbers.real_size;
}

/* n times some FLOPs, acts and reals read and written. */
static void add_elements(struct oa_device *d, long n, double flops, double acts, double reals)
{
    double each = (double)n;
    add_work(d, flops * each, act_bytes(d, acts * each) + real_bytes(d, reals * each));
}

static void take_if_any(struct oa_device *d, size_t bytes)
{
    if (bytes)
        oa_arena_take(&d->scratch, bytes);
}

static void take_scratch(struct oa_device *d, size_t bytes)
{
    size_t mark = oa_arena_mark(&d->scratch);
    take_if_any(d, bytes);
    oa_arena_release(&d->scratch, mark);
}

/* ---- memory: none ---- */

/* Addresses only have to differ from NULL and be aligned. */
static void *plan_allocate(struct oa_device *d, size_t bytes)
{
    return (void *)(uintptr_t)OA_ALIGN;
}

static void plan_release(struct oa_device *d, void *memory)
{
}

static void plan_upload(struct oa_device *d, size_t bytes, const void *host, void *x)
{
}

static void plan_download(struct oa_device *d, size_t bytes, const void *x, void *host)
{
}

static void plan_copy(struct oa_device *d, size_t bytes, const void *x, void *y)
{
}

static void plan_fill(struct oa_device *d, size_t bytes, int byte, void *x)
{
}

/* ---- too little to be counted ---- */

static void plan_constant(struct oa_device *d, long n, double value, void *x)
{
}

static void plan_normals(struct oa_device *d, long n, double scale, struct oa_stream stream,
                         void *x)
{
}

static void plan_mixture(struct oa_device *d, const struct oa_mixture_weights *a)
{
}

static void plan_relative(struct oa_device *d, const struct oa_relative *a)
{
}

static void plan_head_factors(struct oa_device *d, const struct oa_head_factors *a)
{
}

static bool plan_finite(struct oa_device *d, bool act, long rows, long cols, const void *x,
                        long ldx)
{
    return true;
}

/* ---- elements and rows ---- */

static void plan_soft_cap(struct oa_device *d, long n, double cap, void *x)
{
    add_elements(d, n, 3, 0, 2);
}

static void plan_zero(struct oa_device *d, size_t bytes, void *x)
{
    add_work(d, 0, (double)bytes);
}

static void plan_act_from_real(struct oa_device *d, long n, const void *x, void *y)
{
    add_elements(d, n, 0, 1, 1);
}

static void plan_real_from_act(struct oa_device *d, long n, const void *x, void *y)
{
    add_elements(d, n, 0, 1, 1);
}

static void plan_unary(struct oa_device *d, enum oa_unary kind, long n, const void *x, void *y)
{
    add_elements(d, n, 1, 2, 0);
}

static void plan_unary_gradient(struct oa_device *d, enum oa_unary kind, long n, const void *x,
                                const void *dy, void *dx)
{
    add_elements(d, n, 1, 3, 0);
}

static void plan_binary(struct oa_device *d, enum oa_binary kind, long n, double scale,
                        const void *x, const void *y, void *z)
{
    add_elements(d, n, 1, 3, 0);
}

static void plan_gemm(struct oa_device *d, const struct oa_gemm *g, const void *a, const void *b,
                      void *c)
{
    double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    double out =
        (g->real_out ? real_bytes(d, m * n) : act_bytes(d, m * n)) * (g->accumulate ? 2 : 1);
    take_scratch(d, g->packed ? 0 : oa_packed_bytes(d, g));
    add_work(d, 2 * m * n * k, act_bytes(d, m * k + k * n) + out);
}

static void plan_add_bias(struct oa_device *d, long rows, long cols, const void *bias, void *y,
                          long ldy)
{
    add_elements(d, rows * cols, 1, 2, 0);
}

static void plan_column_sums(struct oa_device *d, long rows, long cols, const void *x, long ldx,
                             void *sums)
{
    add_elements(d, rows * cols, 1, 1, 0);
}

static long feature_count(enum oa_feature f, int degree)
{
    return f == OA_FEATURE_POWER ? degree : 1;
}

static void plan_feature(struct oa_device *d, enum oa_feature f, int degree, long rows, long width,
                         const void *x, long ldx, void *y, long ldy)
{
    double count = (double)feature_count(f, degree);
    add_elements(d, rows * width, count, 1 + count, 0);
}

static void plan_feature_gradient(struct oa_device *d, enum oa_feature f, int degree, long rows,
                                  long width, const void *x, long ldx, const void *dy, long lddy,
                                  void *dx, long lddx)
{
    double count = (double)feature_count(f, degree);
    add_elements(d, rows * width, count, 2 + count, 0);
}

static void plan_place(struct oa_device *d, long tokens, long length, long heads, long width,
                       long first, double limit, const void *x, void *y)
{
    add_elements(d, tokens * heads * width, 2, 3, 0);
}

static void plan_place_gradient(struct oa_device *d, long tokens, long length, long heads,
                                long width, long first, double limit, const void *x, const void *dy,
                                void *dx)
{
    add_elements(d, tokens * heads * width, 2, 4, 0);
}

static void plan_select_rows(struct oa_device *d, long rows, long cols, long length,
                             const int32_t *lengths, const void *x, long ldx, void *y, long ldy)
{
    add_elements(d, rows * cols, 0, 2, 0);
}

static void plan_scale_columns(struct oa_device *d, long rows, long cols, const void *factor,
                               const void *x, long ldx, void *y, long ldy)
{
    add_elements(d, rows * cols, 1, 2, 0);
}

static void plan_scale_columns_gradient(struct oa_device *d, long rows, long cols, const void *x,
                                        long ldx, const void *dy, long lddy, void *dfactor)
{
    add_elements(d, rows * cols, 2, 2, 0);
}

static void plan_rotate(struct oa_device *d, const struct oa_rotated_rows *a)
{
    add_elements(d, a->tokens * a->rotation.heads * a->rotation.turned, 1, 2, 0);
}

static void plan_gated(struct oa_device *d, enum oa_unary kind, long n, const void *g,
                       const void *u, void *y)
{
    add_elements(d, n, 2, 3, 0);
}

static void plan_gated_gradient(struct oa_device *d, enum oa_unary kind, long n, const void *g,
                                const void *u, const void *dy, void *dg, void *du)
{
    add_elements(d, n, 4, 5, 0);
}

static void plan_gate(struct oa_device *d, long rows, long cols, const void *x, void *y)
{
    add_elements(d, rows * cols, 1, 3, 0);
}

static void plan_gate_gradient(struct oa_device *d, long rows, long cols, const void *x,
                               const void *dy, void *dx)
{
    add_elements(d, rows * cols, 2, 5, 0);
}

static void plan_forget_sums(struct oa_device *d, const struct oa_forget_sums *a)
{
    add_elements(d, a->batch * a->length * a->heads, 3, 1, 2);
}

static void plan_forget_sums_gradient(struct oa_device *d, const struct oa_forget_sums *a)
{
    add_elements(d, a->batch * a->length * a->heads, 4, 2, 1);
}

static void plan_repeat_heads(struct oa_device *d, const struct oa_head_repeat *a)
{
    add_elements(d, a->rows * (a->heads + a->key_heads) * a->width, 0, 1, 0);
}

static void plan_repeat_heads_gradient(struct oa_device *d, const struct oa_head_repeat *a)
{
    add_work(d, (double)(a->rows * (a->heads - a->key_heads) * a->width),
             act_bytes(d, (double)(a->rows * (a->heads + a->key_heads) * a->width)));
}

static void plan_head_gate(struct oa_device *d, const struct oa_head_gate *a)
{
    double each = a->kind == OA_HEAD_GATE_HEAD ? 2 : 3;
    add_elements(d, a->rows * a->heads * a->width, 1, each, 0);
}

static void plan_head_gate_gradient(struct oa_device *d, const struct oa_head_gate *a)
{
    double each = a->kind == OA_HEAD_GATE_HEAD ? 3 : 5;
    add_elements(d, a->rows * a->heads * a->width, 2, each, 0);
}

static void plan_mask_rows(struct oa_device *d, long rows, long cols, const int32_t *high,
                           const void *x, void *y)
{
    add_elements(d, rows * cols, 0, 1, 1);
}

static void plan_mask_rows_gradient(struct oa_device *d, long rows, long cols, const int32_t *high,
                                    const void *dy, void *dx)
{
    add_elements(d, rows * cols, 1, 0, 3);
}

static void plan_add_position_bias(struct oa_device *d, long rows, long cols, long length,
                                   const void *bias, void *y, long ldy)
{
    add_elements(d, rows * cols, 1, 2, 0);
}

static void plan_position_sums(struct oa_device *d, long rows, long cols, long length,
                               const void *x, long ldx, void *sums)
{
    add_elements(d, rows * cols, 1, 1, 0);
}

/* ---- random features ---- */

static void plan_random_statistics(struct oa_device *d, const struct oa_random_statistics *a)
{
    double pairs = (double)(a->batch * a->heads), K = (double)a->width;
    double rows = a->mean ? 0 : (double)(a->queries + a->keys);
    add_work(d, pairs * (2 * rows * K * K + 6 * (double)a->count * K * K),
             act_bytes(d, pairs * rows * K));
}

static void plan_moments_change(struct oa_device *d, const struct oa_moments_change *a)
{
    double K = (double)a->width,
           rows = (double)(a->batch * a->heads) * (double)(a->rows[0] + a->rows[1]);
    add_work(d, rows * (2 * K * K + K),
             act_bytes(d, rows * K) + real_bytes(d, 6 * (double)a->heads * K * (K + 1)));
}

static void plan_move_moments(struct oa_device *d, const struct oa_moments_move *a)
{
    add_elements(d, a->means + a->squares, 2, 0, 3);
}

static void plan_random_features(struct oa_device *d, const struct oa_random_features *a)
{
    double rows = (double)a->batch * (double)a->length * (double)a->heads, K = (double)a->width,
           r = (double)a->count;
    double both = a->kind == OA_RANDOM_HYPERBOLIC || a->kind == OA_RANDOM_TRIG ? 2 : 1;
    double metric = a->metric ? 2 * K * K : 0;
    size_t mark = oa_arena_mark(&d->scratch);
    bool failed = false;
    oa_random_panels(d, a, true, &failed);
    oa_arena_release(&d->scratch, mark);
    add_work(d, rows * (2 * r * K + both * r + metric), act_bytes(d, rows * (K + both * r)));
}

/* ---- a Transformer ---- */

/* Layer norm: 8 and 12 an element. Root mean square norm: a square and its sum, two factors (one
 * without gain); backward x·rstd, dy·gain, two sums of products and three for dx. */
static double norm_flops(const struct oa_residual_norm *a, bool gradient)
{
    if (!a->y)
        return 1;
    if (a->mean)
        return gradient ? 12 : 8;
    return gradient ? (a->gain ? 9 : 6) : (a->gain ? 4 : 3);
}

static void plan_residual_norm(struct oa_device *d, const struct oa_residual_norm *a)
{
    double scaled = a->branch && a->scale != 1;
    add_elements(d, a->rows * a->cols, norm_flops(a, false) + scaled,
                 (a->branch ? 3 : 1) + (a->y ? 1 : 0), 0);
}

static void plan_residual_norm_gradient(struct oa_device *d, const struct oa_residual_norm *a)
{
    long blocks = oa_blocks(a->rows, oa_item_rows(a->cols));
    take_scratch(d, (size_t)(blocks * 2 * a->cols) * d->numbers.real_size);
    double scaled = a->dbranch && a->scale != 1;
    add_elements(d, a->rows * a->cols, norm_flops(a, true) + scaled,
                 (a->dbranch ? 3 : 2) + (a->y ? 2 : 0), 0);
}

static void plan_embed(struct oa_device *d, const struct oa_embedding *a)
{
    add_elements(d, a->tokens * a->width, 1, a->rest ? 2 : 1, 1);
}

static void plan_embed_gradient(struct oa_device *d, const struct oa_embedding *a)
{
    add_elements(d, a->tokens * a->width, 1, a->drest ? 2 : 1, 2);
}

static void plan_patches(struct oa_device *d, const struct oa_patch_rows *a)
{
    double n = (double)a->tokens * (double)a->count;
    add_work(d, 2 * n, act_bytes(d, n) + n);
}

static void plan_choose_rows(struct oa_device *d, const struct oa_row_choice *a)
{
    add_elements(d, a->count * a->cols, 0, 2, 0);
}

static void plan_choose_rows_gradient(struct oa_device *d, const struct oa_row_choice *a)
{
    add_elements(d, (a->rows + a->count) * a->cols, 0, 1, 0);
}

static void plan_mean_rows(struct oa_device *d, const struct oa_row_means *a)
{
    add_elements(d, a->batch * a->length * a->cols, 1, 1, 0);
}

static double plan_linear_loss(struct oa_device *d, const struct oa_linear_loss *a)
{
    struct oa_loss_plan p = oa_loss_plan_of(d, a);
    long v = a->vocabulary, w = a->width;
    size_t mark = oa_arena_mark(&d->scratch);
    size_t logits = (size_t)(p.rows * p.ld) * d->numbers.real_size;
    take_if_any(d, p.logits_weights);
    take_if_any(d, p.dx_weights);
    oa_arena_take(&d->scratch, logits);
    oa_arena_take(&d->scratch, (size_t)p.rows * sizeof(double));
    take_if_any(d, a->soft_x ? logits : 0);
    for (long first = 0; first < a->rows; first += p.rows) {
        long rows = oa_min(p.rows, a->rows - first);
        if (a->soft_x) {
            plan_gemm(d,
                      &(struct oa_gemm){ .m = rows, .n = v, .k = a->soft_width, .real_out = true },
                      NULL, NULL, NULL);
            /* the teacher's softmax and logarithms of both sums, difference, product, sum */
            add_work(d, (a->dx ? 14 : 12) * (double)rows * (double)v,
                     real_bytes(d, (a->dx ? 4 : 3) * (double)rows * (double)v));
        }
        plan_gemm(d,
                  &(struct oa_gemm){
                      .m = rows, .n = v, .k = w, .real_out = true, .packed = p.logits_weights },
                  NULL, NULL, NULL);
        /* soft cap: the tanh and two factors; backward its derivative, and times it */
        double cap = a->cap > 0 ? (a->dx ? 6 : 3) : 0;
        add_work(d, (5 + cap) * (double)rows * (double)v,
                 real_bytes(d, 2 * (double)rows * (double)v));
        if (!a->dx)
            continue;
        plan_gemm(d, &(struct oa_gemm){ .m = rows, .n = w, .k = v, .packed = p.dx_weights }, NULL,
                  NULL, NULL);
        plan_gemm(d,
                  &(struct oa_gemm){
                      .m = v, .n = w, .k = rows, .ta = true, .real_out = true, .accumulate = true },
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

static double value_cells(const struct oa_attention_shape *s)
{
    return (double)(s->batch * s->heads * s->value_width);
}

/* FLOPs of the parts of the logits and of the softmax; `gradient`: of the backward pass in addition
 * to recomputing them. Weights whose sum is fixed compute the logits and dP twice. */
static double logits_flops(const struct oa_logits *a, bool gradient)
{
    double pairs = visible_pairs(&a->shape, &a->support), flops = 0;
    bool shared = !a->distances.table && !a->forgetting.query &&
                  a->normaliser == OA_NORMALISE_SOFTMAX && a->shape.logit_cap == 0,
         wanted =
             a->distances.dbias ||
             a->forgetting.dquery; /* shared: one map P for the whole batch (given logits only) */
    for (int p = 0; p < a->parts; p++) {
        const struct oa_logits_part *part = &a->part[p];
        shared &= oa_part_given(part);
        wanted |= part->dq || part->dk || part->dtable;
        if (part->kind == OA_PART_DOT)
            flops += pairs * 2 * (double)part->width * (gradient || oa_weighs_sums(a) ? 2 : 1);
        if (part->kind == OA_PART_FOLD)
            flops += pairs * 2 * (gradient ? 2 : 1);
    }
    if (a->distances.table && (!gradient || a->distances.dbias))
        flops += pairs;
    if (a->forgetting.query)
        flops += 2 * pairs;
    if (a->shape.logit_cap >
        0) /* the tanh and two factors; backward its derivative, and times it */
        flops += 3 * pairs;
    double v = (double)a->shape.value_width, once = shared ? (double)a->shape.batch : 1;
    double products = gradient && wanted ? (oa_weighs_sums(a) ? 3 : 2) : 1;
    return (flops + 5 * pairs) / once + pairs * 2 * v * products;
}

/* Keys of a head that are read: one query reads those visible to it, several read all. */
static double keys_read(const struct oa_logits *a)
{
    const struct oa_attention_shape *s = &a->shape;
    return s->queries == 1 ? visible_pairs(s, &a->support) / (double)(s->batch * s->heads)
                           : (double)s->keys;
}

static double logits_bytes(const struct oa_device *d, const struct oa_logits *a)
{
    double t = (double)a->shape.queries, s = keys_read(a),
           elements = value_cells(&a->shape) * t + value_cells(&a->shape) * s *
                                                       (double)oa_key_heads(&a->shape) /
                                                       (double)a->shape.heads,
           tables = 0;
    for (int p = 0; p < a->parts; p++) {
        const struct oa_logits_part *part = &a->part[p];
        if (oa_part_given(part) && part->kind == OA_PART_DOT)
            elements += (double)(a->shape.heads * part->width) * (t + s);
        else if (part->kind == OA_PART_DOT)
            elements += (double)(a->shape.batch * part->width) *
                        ((double)a->shape.heads * t + (double)oa_key_heads(&a->shape) * s);
        else if (part->kind == OA_PART_FOLD)
            elements += (double)(a->shape.batch * a->shape.heads * (part->width + part->folds)) * t;
        else
            tables += (double)a->shape.heads * t * s;
    }
    return act_bytes(d, elements) + real_bytes(d, tables);
}

/* The pairs of tiles that are not visible, and the copies of pieces, each written and read once. */
static void add_tile_work(struct oa_device *d, const struct oa_logits *a, double flops,
                          bool gradient)
{
    double visible = visible_pairs(&a->shape, &a->support);
    bool pieces = oa_pieces_wanted(a);
    if (oa_tables_shared(a) || visible == 0)
        return;
    d->computed += flops * ((pieces ? oa_pieces_pairs(d, a) : oa_tiles_pairs(d, a)) / visible - 1);
    if (pieces)
        add_work(d, 0, 2 * oa_pieces_copies(d, a, gradient));
}

static void plan_logits(struct oa_device *d, const struct oa_logits *a)
{
    double flops = logits_flops(a, false);
    add_work(d, flops, logits_bytes(d, a));
    add_tile_work(d, a, flops, false);
}

static void plan_logits_gradient(struct oa_device *d, const struct oa_logits *a)
{
    double flops = logits_flops(a, false) + logits_flops(a, true);
    size_t mark = oa_arena_mark(&d->scratch);
    if (!oa_tables_shared(a) && oa_shared_wanted(a))
        oa_arena_take(&d->scratch, oa_shared_bytes(d, a));
    if (oa_distances_bytes(d, a))
        oa_arena_take(&d->scratch, oa_distances_bytes(d, a));
    if (!oa_tables_shared(a) && !oa_pieces_wanted(a))
        oa_key_gradients_take(d, a);
    if (oa_deltas_bytes(d, a))
        oa_arena_take(&d->scratch, oa_deltas_bytes(d, a));
    oa_arena_release(&d->scratch, mark);
    add_work(d, flops, 2.5 * logits_bytes(d, a));
    add_tile_work(d, a, flops, true);
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
    double rows = (double)s->batch * (double)(s->heads * s->queries + oa_key_heads(s) * s->keys);
    double state =
        (double)(s->batch * oa_key_heads(s) * (a->features * s->value_width + a->features + 1));
    return act_bytes(d, rows * (double)((a->squared_width ? a->squared_width : a->features) +
                                        s->value_width)) +
           (a->state ? real_bytes(d, 2 * state) : 0);
}

static void plan_linear_attention(struct oa_device *d, const struct oa_linear_attention *a)
{
    add_work(d, linear_flops(a), linear_bytes(d, a));
}

/* Scratch of gradients of keys and values that query heads share. */
static void take_key_gradients(struct oa_device *d, const struct oa_attention_shape *s, long width,
                               void *dk, void *dv)
{
    size_t mark = oa_arena_mark(&d->scratch);
    oa_key_gradient_open(d, s, width, dk);
    oa_key_gradient_open(d, s, s->value_width, dv);
    oa_arena_release(&d->scratch, mark);
}

static void plan_linear_attention_gradient(struct oa_device *d, const struct oa_linear_attention *a)
{
    take_key_gradients(d, &a->shape, a->squared_width ? a->squared_width : a->features, a->dfk,
                       a->dv);
    add_work(d, 2.5 * linear_flops(a), 2.5 * linear_bytes(d, a));
}

/* Of a row in its chunk: pairs and their products, the state read and updated; the delta rule adds
 * pairs of keys, the solution, and the state read by keys. Decays by channel multiply rows. */
static double recurrence_flops(const struct oa_recurrence *a)
{
    const struct oa_attention_shape *s = &a->shape;
    double r = (double)a->features, v = (double)s->value_width,
           chunk = (double)oa_min(OA_RECURRENCE_CHUNK, s->queries);
    double each = 2 * chunk * (r + v) + 4 * r * v;
    if (a->beta_logits)
        each += chunk * (2 * r + v) + 2 * r * v;
    if (a->decay == OA_DECAY_CHANNEL)
        each += 12 * r;
    return (double)(s->batch * s->heads * s->queries) * each;
}

static double recurrence_bytes(const struct oa_device *d, const struct oa_recurrence *a)
{
    const struct oa_attention_shape *s = &a->shape;
    double r = (double)a->features, v = (double)s->value_width,
           rows = (double)(s->batch * s->heads * s->queries),
           logits = (a->decay == OA_DECAY_CHANNEL ? r : a->decay == OA_DECAY_HEAD) +
                    (a->beta_logits != NULL);
    double state = a->state ? 2 * (double)(s->batch * s->heads) * r * v : 0;
    return act_bytes(d, rows * (2 * r + 2 * v + logits)) + real_bytes(d, state);
}

static void plan_recurrence(struct oa_device *d, const struct oa_recurrence *a)
{
    add_work(d, recurrence_flops(a), recurrence_bytes(d, a));
}

static void plan_recurrence_gradient(struct oa_device *d, const struct oa_recurrence *a)
{
    if (a->d_rate)
        take_scratch(d, (size_t)(a->shape.batch * a->shape.heads) * d->numbers.real_size);
    add_work(d, 3 * recurrence_flops(a), 2.5 * recurrence_bytes(d, a));
}

static void plan_map_rows(struct oa_device *d, const struct oa_row_map *a)
{
    add_elements(d, a->tokens * a->heads * a->width, a->kind == OA_ROW_HEDGEHOG ? 8 : 4,
                 a->kind == OA_ROW_HEDGEHOG ? 3 : 2, 0);
}

static void plan_map_rows_gradient(struct oa_device *d, const struct oa_row_map *a)
{
    if (a->dgain)
        take_scratch(d, oa_row_map_partials(d, a));
    add_elements(d, a->tokens * a->heads * a->width, a->kind == OA_ROW_HEDGEHOG ? 10 : 8,
                 a->kind == OA_ROW_HEDGEHOG ? 5 : 3, 0);
}

static void plan_causal_conv(struct oa_device *d, const struct oa_causal_conv *a)
{
    add_elements(d, a->batch * a->length * a->cols, 2 * (double)a->taps + 2, 3, 0);
}

static void plan_causal_conv_gradient(struct oa_device *d, const struct oa_causal_conv *a)
{
    add_elements(d, a->batch * a->length * a->cols, 4 * (double)a->taps + 4, 4, 0);
}

static void plan_polynomial(struct oa_device *d, const struct oa_polynomial *a)
{
    double pairs = visible_pairs(&a->shape, &every), K = (double)a->width,
           V = (double)a->shape.value_width;
    double rows = (double)a->shape.batch * (double)(a->shape.heads * a->shape.queries +
                                                    oa_key_heads(&a->shape) * a->shape.keys);
    add_work(d, pairs * (2 * K + 2 * V + 2), act_bytes(d, rows * (K + V)));
}

static void plan_polynomial_gradient(struct oa_device *d, const struct oa_polynomial *a)
{
    take_key_gradients(d, &a->shape, a->width, a->dk, a->dv);
    double pairs = visible_pairs(&a->shape, &every), K = (double)a->width,
           V = (double)a->shape.value_width;
    plan_polynomial(d, a);
    add_work(d, pairs * (4 * K + 2 * V + 3), 0);
}

static void plan_pattern(struct oa_device *d, const struct oa_pattern_attention *a)
{
    double n = value_cells(&a->shape) * (double)a->shape.queries;
    add_work(d, 4 * n, act_bytes(d, 2 * n));
}

static void plan_band(struct oa_device *d, const struct oa_band *a)
{
    double n = value_cells(&a->shape) * (double)a->shape.queries, taps = (double)oa_band_taps(a);
    add_work(d, 2 * n * taps, act_bytes(d, 2 * n));
}

static void plan_band_gradient(struct oa_device *d, const struct oa_band *a)
{
    take_scratch(d, oa_band_shared_bytes(a));
    for (int pass = 0; pass < (a->dlogits ? 2 : 1); pass++)
        plan_band(d, a);
}

static void plan_project_length(struct oa_device *d, const struct oa_length_projection *a)
{
    double columns = (double)(a->batch * a->heads * a->width),
           tables = a->head_stride ? (double)a->heads : 1;
    double weights = tables * (double)(a->length * a->rank);
    add_work(d, 2 * columns * (double)a->length * (double)a->rank,
             act_bytes(d, columns * (double)(a->length + a->rank) + weights));
}

static void plan_project_length_gradient(struct oa_device *d, const struct oa_length_projection *a)
{
    if (a->dx)
        plan_project_length(d, a);
    if (a->dw)
        plan_project_length(d, a);
}

static void plan_transform(struct oa_device *d, const struct oa_transform *a)
{
    double rows = (double)a->rows, heads = (double)a->heads;
    add_work(d, oa_transform_flops(a),
             act_bytes(d, rows * ((double)a->chain.width + heads * (double)a->chain.out)));
}

static void plan_mixer_steps(struct oa_device *d, const struct oa_mixer_steps *a)
{
    double channels = (double)a->tokens * (double)a->channels, units = (double)a->units;
    add_work(d, 2 * channels * units,
             act_bytes(d, 2 * (double)a->tokens * units + 2 * channels) +
                 real_bytes(d, channels * units));
}

/* ---- updates ---- */

static void plan_adamw(struct oa_device *d, long n, const struct oa_adamw *h, void *w, void *m,
                       void *v, const void *g, void *copy)
{
    add_elements(d, n, 15, copy ? 1 : 0, 7);
}

static void plan_sgd(struct oa_device *d, long n, double lr, double momentum, double weight_decay,
                     double gradient_scale, void *w, void *m, const void *g)
{
    add_elements(d, n, 6, 0, 5);
}

static void plan_adafactor(struct oa_device *d, const struct oa_adafactor *a)
{
    add_elements(d, a->rows * a->cols, 12, 0, 7);
}

static void plan_lion(struct oa_device *d, long n, const struct oa_lion *h, void *w, void *m,
                      const void *g)
{
    add_elements(d, n, 9, 0, 5);
}

static void plan_axpby(struct oa_device *d, long n, double a, const void *x, double b, void *y)
{
    add_elements(d, n, 3, 0, b == 0 ? 2 : 3);
}

static void plan_round_bf16(struct oa_device *d, long n, void *x)
{
    add_elements(d, n, 0, 0, 2);
}

static void plan_axpy(struct oa_device *d, long n, double a, const void *x, void *y)
{
    add_elements(d, n, 2, 0, 3);
}

static void plan_log_sums(struct oa_device *d, long rows, long cols, const void *x, double *sums)
{
    for (long i = 0; i < rows; i++)
        sums[i] = 0;
    add_elements(d, rows * cols, 4, 0, 1);
}

static double plan_sum_squares(struct oa_device *d, long n, const void *x)
{
    add_elements(d, n, 2, 0, 1);
    return 1;
}

/* ---- the table ---- */

/* Gradients that cost what the forward pass does. */
#define plan_random_features_gradient plan_random_features
#define plan_head_factors_gradient plan_head_factors
#define plan_mean_rows_gradient plan_mean_rows
#define plan_mixture_gradient plan_mixture
#define plan_pattern_gradient plan_pattern
#define plan_transform_gradient plan_transform

const struct oa_device_ops oa_device_plan = {
    .name = "plan",
    .dry = true,
    .open = oa_cpu_state_open,
    .close = oa_cpu_state_close,
    .allocate = plan_allocate,
    .release = plan_release,
#define OA_REQUIRED_OPERATIONS
#define OA_DO(name, parameters, arguments) .name = plan_##name,
#define OA_ASK(type, name, parameters, arguments) .name = plan_##name,
#include "device/operations.def"
};
