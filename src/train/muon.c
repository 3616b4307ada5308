/* SPDX-License-Identifier: Apache-2.0
 * Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon): momentum whose singular values are
 * moved towards 1. For a matrix W [m, n] with gradient G:
 *
 *     M ← μM + (1−μ)G      U = (1−μ)G + μM      (Nesterov)
 *     X ← U / max(‖U‖, 1e-7), then five times X ← aX + (bA + cA²)X with A = XXᵀ
 *     W ← (1 − lr·weight_decay) W − lr·f(m, n)·X
 *
 * Where m > n, A = XᵀX and X ← aX + X(bA + cA²), which is the same for the transpose. The
 * published implementation keeps X and A in bf16; train.muon_rounding chooses. All products run on
 * the device, each cut by its shape alone, so the bits do not depend on threads or ranks. */
#include "train/muon.h"

#include <math.h>
#include <string.h>

enum { ITERATIONS = 5 };
static const double quintic[3] = { 3.4445, -4.7750, 2.0315 };
#define LEAST_NORM 1e-7
#define FIRST_MOMENTUM 0.85

bool oa_is_muon_matrix(const struct oa_parameter *p)
{
    return p->trainable && p->matrix && p->dims == 2 && strstr(p->name, ".layers.");
}

/* A matrix that is made orthogonal, and what that needs; s is its shorter side. */
struct orthogonalisation {
    struct oa_device *d;
    bool rounds; /* acts to bf16, where they are not bf16 anyhow */
    long rows, cols, side;
    void *x, *gram, *polynomial; /* act [rows·cols], [s·s], [s·s] */
    void *real, *product;        /* real [rows·cols] each */
};

static void set_acts(const struct orthogonalisation *k, long n, const void *real, void *act)
{
    k->d->ops->act_from_real(k->d, n, real, act);
    if (k->rounds)
        k->d->ops->round_bf16(k->d, n, act);
}

/* X from the reals in k->real. */
static void normalise_direction(const struct orthogonalisation *k)
{
    struct oa_device *d = k->d;
    long n = k->rows * k->cols;
    set_acts(k, n, k->real, k->x);
    d->ops->real_from_act(d, n, k->x, k->real);
    double norm = sqrt(d->ops->sum_squares(d, n, k->real));
    if (k->rounds || d->numbers.act == OA_BF16)
        norm = (double)oa_bf16_to_float(oa_float_to_bf16((float)norm));
    d->ops->axpby(d, n, 1 / fmax(norm, LEAST_NORM), k->real, 0, k->product);
    set_acts(k, n, k->product, k->x);
}

/* out = a·x + b·(product), through reals. */
static void combine_product(const struct orthogonalisation *k, long n, double a, const void *x,
                            double b, void *out)
{
    k->d->ops->real_from_act(k->d, n, x, k->real);
    k->d->ops->axpby(k->d, n, a, k->real, b, k->product);
    set_acts(k, n, k->product, out);
}

static void newton_schulz_step(const struct orthogonalisation *k)
{
    struct oa_device *d = k->d;
    long s = k->side, m = k->rows, n = k->cols;
    bool tall = m > n;
    struct oa_gemm gram = { .m = s,
                            .n = s,
                            .k = tall ? m : n,
                            .lda = n,
                            .ldb = n,
                            .ldc = s,
                            .ta = tall,
                            .tb = !tall,
                            .real_out = true };
    struct oa_gemm square = {
        .m = s, .n = s, .k = s, .lda = s, .ldb = s, .ldc = s, .real_out = true
    };
    struct oa_gemm apply = {
        .m = m, .n = n, .k = s, .lda = tall ? n : s, .ldb = tall ? s : n, .ldc = n, .real_out = true
    };
    d->ops->gemm(d, &gram, k->x, k->x, k->product);
    set_acts(k, s * s, k->product, k->gram);
    d->ops->gemm(d, &square, k->gram, k->gram, k->product);
    combine_product(k, s * s, quintic[1], k->gram, quintic[2], k->polynomial);
    d->ops->gemm(d, &apply, tall ? k->x : k->polynomial, tall ? k->polynomial : k->x, k->product);
    combine_product(k, m * n, quintic[0], k->x, 1, k->x);
}

static bool take_matrices(struct oa_arena *a, struct orthogonalisation *k)
{
    const struct oa_numbers *types = &k->d->numbers;
    size_t n = (size_t)(k->rows * k->cols), square = (size_t)(k->side * k->side);
    k->x = oa_arena_take(a, n * types->act_size);
    k->gram = oa_arena_take(a, square * types->act_size);
    k->polynomial = oa_arena_take(a, square * types->act_size);
    k->real = oa_arena_take(a, n * types->real_size);
    k->product = oa_arena_take(a, n * types->real_size);
    return k->x && k->gram && k->polynomial && k->real && k->product;
}

void oa_muon_update(struct oa_store *s, const struct oa_options *o, const struct oa_parameter *p,
                    void *momentum, long step, double lr, double scale)
{
    struct oa_device *d = s->device;
    struct orthogonalisation k = { .d = d, .rows = p->dim[0], .cols = p->dim[1] };
    double warm = fmin(1, (double)(step - 1) / fmax(1, (double)o->train_muon_warmup));
    double mu = o->train_muon_warmup ? (1 - warm) * FIRST_MOMENTUM + warm * o->train_muon_momentum
                                     : o->train_muon_momentum;
    double factor = o->train_muon_scale == OA_MUON_SCALE_MATCH_RMS
                        ? 0.2 * sqrt((double)oa_max(k.rows, k.cols))
                        : sqrt(fmax(1, (double)k.rows / (double)k.cols));
    size_t mark = oa_arena_mark(&s->work);
    k.rounds = o->train_muon_rounding == OA_MUON_ROUNDING_BF16 && d->numbers.act != OA_BF16;
    k.side = oa_min(k.rows, k.cols);
    if (take_matrices(&s->work, &k)) {
        d->ops->axpby(d, p->count, (1 - mu) * scale, p->gradient, mu, momentum);
        d->ops->axpby(d, p->count, (1 - mu) * scale, p->gradient, 0, k.real);
        d->ops->axpby(d, p->count, mu, momentum, 1, k.real);
        normalise_direction(&k);
        for (int i = 0; i < ITERATIONS; i++)
            newton_schulz_step(&k);
        d->ops->real_from_act(d, p->count, k.x, k.real);
        d->ops->axpby(d, p->count, -lr * factor, k.real,
                      1 - lr * (p->decay ? o->train_weight_decay : 0), p->value);
    }
    oa_arena_release(&s->work, mark);
}
