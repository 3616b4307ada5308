/* SPDX-License-Identifier: Apache-2.0
 * Random features φ(x) of each head (Choromanski et al. 2021, arXiv 2009.14794, and its kin): u = x
 * Ωᵀ by the matrix units, then t = s·u + bias and a function of it, element by element (kernels.h:
 * random_features).
 *
 * Exponentials are taken relative to the largest feature of the row: the row holds φ·e^{−top} ≤ 1,
 * and
 *
 *     top = max_r t_r + c·|s·x|²,   c = −½ (positive features), ½ (trigonometric ones), 0
 *
 * is kept next to it. Of queries top cancels in the attention; of keys the engine puts it back
 * relative to other keys. No ε is added, so that nothing depends on which scale was taken.
 *
 * Backward: with g = φ∘dφ the gradient of log φ, u gets s·g (and so on, by kernel), and |s·x|² gets
 * c·Σg, whether top counts as a constant (positive features: it cancels) or carries the norm itself
 * (trigonometric ones):
 *
 *     dx = Ωᵀ du + 2c·s²·(Σ g)·x          (with a metric P: P x)
 *
 * [B·T, H·K] → [B·T, H·r]; 2·r_0·K FLOPs a row and head. An item is a (b, h) and a block of rows.
 */
#include "device/cpu/cpu_logits.h"
#include "device/cpu/cpu_panels.h"

#include <string.h>

enum { ROWS = 64 };

struct random_features_run {
    struct oa_device *d;
    const struct oa_random_features *a;
    struct oa_panels omega; /* of all heads: as columns of products forward, as rows backward */
};

/* One item: rows of one head, and buffers. */
struct random_features_work {
    struct oa_device *d;
    const struct oa_random_features *a;
    const struct oa_panels *omega;
    struct oa_gemm_state *gemm;
    long wide; /* numbers from one row of u and du to the next: r_0, or where products read panels
                  whole ones */
    long b, h, i0, rows, real; /* rows of the block, and those that are not padding */
    void *u, *du;              /* real [ROWS, wide], act [ROWS, wide] */
    void *dx, *px;             /* real [ROWS, K], act [ROWS, K] */
    void *sums;                /* real [ROWS] */
};

static long feature_outputs(const struct oa_random_features *a)
{
    return a->kind == OA_RANDOM_HYPERBOLIC || a->kind == OA_RANDOM_TRIG ? 2 * a->count : a->count;
}

static bool open_random_work(struct random_features_work *w, const struct random_features_run *c,
                             long item, const struct oa_worker *worker)
{
    const struct oa_random_features *a = c->a;
    long blocks = oa_blocks(a->length, ROWS), pair = item / blocks;
    size_t act = c->d->numbers.act_size, real = c->d->numbers.real_size;
    *w = (struct random_features_work){ .d = c->d,
                                        .a = a,
                                        .omega = &c->omega,
                                        .gemm = c->d->cpu->gemm[worker->index],
                                        .b = pair / a->heads };
    w->wide = c->omega.x ? oa_round_up(a->count, OA_PANEL) : a->count;
    w->h = pair % a->heads;
    w->i0 = item % blocks * ROWS;
    w->rows = oa_min(ROWS, a->length - w->i0);
    long length = oa_real_length(a->lengths, w->b, a->length);
    w->real = oa_max(0, oa_min(w->rows, length - w->i0));
    w->u = oa_arena_take(worker->scratch, (size_t)(ROWS * w->wide) * real);
    w->du = oa_arena_take(worker->scratch, (size_t)(ROWS * w->wide) * act);
    w->dx = oa_arena_take(worker->scratch, (size_t)(ROWS * a->width) * real);
    w->px = oa_arena_take(worker->scratch, (size_t)(ROWS * a->width) * act);
    w->sums = oa_arena_take(worker->scratch, ROWS * real);
    return w->u && w->du && w->dx && w->px && w->sums;
}

/* The rows of the item in a matrix of `width` columns a head. */
static void *random_block_rows(const struct random_features_work *w, const void *x, long width)
{
    return oa_act_at(w->d, x, (w->b * w->a->length + w->i0) * w->a->heads * width + w->h * width);
}

static long batch_head(const struct random_features_work *w)
{
    return w->b * w->a->heads + w->h;
}

/* Which statistics are those of the item. */
static long fitted_head(const struct random_features_work *w)
{
    return w->a->same ? w->h : batch_head(w);
}

static const void *head_omega(const struct random_features_work *w)
{
    return oa_act_at(w->d, w->a->omega,
                     w->a->each ? fitted_head(w) * w->a->count * w->a->width : 0);
}

/* P x, or x itself. */
static const void *in_metric(const struct random_features_work *w, const void *x, long *ld)
{
    long K = w->a->width;
    *ld = w->a->heads * K;
    if (!w->a->metric)
        return x;
    struct oa_gemm g = { .m = w->real, .n = K, .k = K, .lda = *ld, .ldb = K, .ldc = K };
    w->d->cpu->kernels.gemm(w->gemm, &g, x, oa_act_at(w->d, w->a->metric, fitted_head(w) * K * K),
                            w->px);
    *ld = K;
    return w->px;
}

static void zero_padding(const struct random_features_work *w, void *x, long width)
{
    size_t act = w->d->numbers.act_size;
    for (long i = w->real; i < w->rows; i++)
        memset(oa_act_at(w->d, x, i * w->a->heads * width), 0, (size_t)width * act);
}

static void random_features_rows(struct random_features_work *w, void *x, void *y, void *top)
{
    const struct oa_random_features *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    long r = feature_outputs(a), ldx = a->heads * a->width, ldp;
    struct oa_gemm g = { .m = w->real,
                         .n = a->count,
                         .k = a->width,
                         .lda = ldx,
                         .ldb = a->width,
                         .ldc = w->wide,
                         .tb = true,
                         .real_out = true };
    oa_panels_multiply(w->d, w->gemm, &g, x, head_omega(w), w->omega, 0, w->u);
    k->random_features(a->kind, w->real, a->count, a->scale,
                       a->bias ? oa_real_at(w->d, a->bias, fitted_head(w) * a->count) : NULL, w->u,
                       w->wide, y, a->heads * r, top);
    const void *px = in_metric(w, x, &ldp);
    k->row_dots(w->real, a->width, x, ldx, px, ldp, w->sums);
    k->axpy(w->real, a->half_norm * a->scale * a->scale, w->sums, top);
}

static void random_features_item(void *argument, long item, const struct oa_worker *worker)
{
    struct random_features_work w;
    if (!open_random_work(&w, argument, item, worker))
        return;
    const struct oa_random_features *a = w.a;
    long r = feature_outputs(a);
    void *y = random_block_rows(&w, a->y, r),
         *top = oa_real_at(w.d, a->top, batch_head(&w) * a->length + w.i0);
    if (w.real > 0)
        random_features_rows(&w, random_block_rows(&w, a->x, a->width), y, top);
    for (long i = w.real; i < w.rows; i++)
        oa_real_set(w.d, top, i, 0);
    zero_padding(&w, y, r);
}

/* dx = du Ω. Panels of Ω end with zeros, and so do the rows of du for them. */
static void multiply_omega(const struct random_features_work *w)
{
    long K = w->a->width, r = w->a->count;
    struct oa_gemm g = {
        .m = w->real, .n = K, .k = r, .lda = w->wide, .ldb = K, .ldc = K, .real_out = true
    };
    size_t act = w->d->numbers.act_size;
    if (oa_panels_serve(w->omega, &g))
        g.k = w->wide;
    oa_zero_rows(oa_act_at(w->d, w->du, r), (size_t)w->wide * act, (size_t)(w->wide - r) * act,
                 w->real);
    oa_panels_multiply(w->d, w->gemm, &g, w->du, head_omega(w), w->omega, 0, w->dx);
}

static void random_features_gradient_rows(struct random_features_work *w, void *x, void *dx)
{
    const struct oa_random_features *a = w->a;
    const struct oa_kernels *k = &w->d->cpu->kernels;
    long r = feature_outputs(a), ld = a->heads * r, ldx = a->heads * a->width, ldp;
    k->random_features_gradient(a->kind, w->real, a->count, a->scale, random_block_rows(w, a->y, r),
                                ld, random_block_rows(w, a->dy, r), ld, w->du, w->wide, w->sums);
    multiply_omega(w);
    const void *px = in_metric(w, x, &ldp);
    for (long i = 0; i < w->real; i++)
        k->add_to_real(a->width,
                       2 * a->half_norm * a->scale * a->scale * oa_real_get(w->d, w->sums, i),
                       oa_act_at(w->d, px, i * ldp), oa_real_at(w->d, w->dx, i * a->width));
    k->tile_to_act(w->real, a->width, w->dx, a->width, dx, ldx);
}

static void random_features_gradient_item(void *argument, long item, const struct oa_worker *worker)
{
    struct random_features_work w;
    if (!open_random_work(&w, argument, item, worker))
        return;
    long K = w.a->width;
    void *dx = random_block_rows(&w, w.a->dx, K);
    if (w.real > 0)
        random_features_gradient_rows(&w, random_block_rows(&w, w.a->x, K), dx);
    zero_padding(&w, dx, K);
}

struct oa_panels oa_random_panels(struct oa_device *d, const struct oa_random_features *a,
                                  bool forward, bool *failed)
{
    if (a->each || a->length < OA_PANEL)
        return (struct oa_panels){ 0 };
    return oa_panels_take(d, &d->scratch, a->count, a->width, forward, failed);
}

static void run_random_features(struct oa_device *d, const struct oa_random_features *a,
                                bool forward, oa_task *task)
{
    struct random_features_run c = { .d = d, .a = a };
    size_t mark = oa_arena_mark(&d->scratch);
    bool failed = false;
    c.omega = oa_random_panels(d, a, forward, &failed);
    (forward ? oa_panels_pair : oa_panels_rows)(d, &c.omega, a->omega, a->width, a->count,
                                                a->width);
    if (!failed)
        oa_parallel(d->context, a->batch * a->heads * oa_blocks(a->length, ROWS), task, &c);
    oa_arena_release(&d->scratch, mark);
}

void oa_cpu_random_features(struct oa_device *d, const struct oa_random_features *a)
{
    run_random_features(d, a, true, random_features_item);
}

void oa_cpu_random_features_gradient(struct oa_device *d, const struct oa_random_features *a)
{
    run_random_features(d, a, false, random_features_gradient_item);
}
