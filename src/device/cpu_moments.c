/* SPDX-License-Identifier: Apache-2.0
 *
 * Running averages of the first and second moments of queries and keys, for features that are fitted to them
 * (cpu_random_statistics.c). For each head and side
 *
 *     μ = (s/n) Σ x,   M = (s²/n) Xᵀ X   over the n real rows of the batch,   m ← m + w(μ − m) and so on.
 *
 * An item is a head of one side; it goes through the batch in order. 2·K² FLOPs a row.
 */
#include "device/cpu.h"

#include <string.h>

struct moments {
    struct oa_device *d;
    const struct oa_moments_update *a;
    double weight;
};

static long real_rows(const struct oa_moments_update *a, int side, long b)
{
    const int32_t *lengths = a->lengths[side];
    return lengths ? oa_max(0, oa_min(lengths[b], a->rows[side])) : a->rows[side];
}

/* Sums of rows and of their products over the batch; gives the number of rows. */
static long add_up(const struct moments *f, struct oa_gemm_state *gemm, int side, long h, void *sum, void *square)
{
    const struct oa_moments_update *a = f->a;
    long K = a->width, ld = a->heads * K, total = 0;
    for (long b = 0; b < a->batch; b++) {
        long n = real_rows(a, side, b);
        const void *x = oa_act_at(f->d, a->x[side], b * a->rows[side] * ld + h * K);
        struct oa_gemm g = {
            .m = K, .n = K, .k = n, .lda = ld, .ldb = ld, .ldc = K, .ta = true, .real_out = true, .accumulate = true
        };
        if (n == 0)
            continue;
        f->d->kernels.gemm(gemm, &g, x, x, square);
        f->d->kernels.column_sums(n, K, x, ld, sum);
        total += n;
    }
    return total;
}

static void move(const struct moments *f, long n, double factor, const void *to, void *average)
{
    for (long i = 0; i < n; i++) {
        double now = oa_real_get(f->d, average, i);
        oa_real_set(f->d, average, i, now + f->weight * (factor * oa_real_get(f->d, to, i) - now));
    }
}

static void side_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct moments *f = argument;
    const struct oa_moments_update *a = f->a;
    long K = a->width;
    size_t real = f->d->kernels.real_size;
    void *sum = oa_arena_take(worker->scratch, (size_t)K * real);
    void *square = oa_arena_take(worker->scratch, (size_t)(K * K) * real);
    if (!sum || !square)
        return;
    memset(sum, 0, (size_t)K * real);
    memset(square, 0, (size_t)(K * K) * real);
    long n = add_up(f, f->d->gemm[worker->index], (int)(item / a->heads), item % a->heads, sum, square);
    if (n == 0)
        return;
    move(f, K, a->scale / (double)n, sum, oa_real_at(f->d, a->mean, item * K));
    move(f, K * K, a->scale * a->scale / (double)n, square, oa_real_at(f->d, a->square, item * K * K));
}

void oa_cpu_update_moments(struct oa_device *d, const struct oa_moments_update *a)
{
    double n = oa_real_get(d, a->seen, 0) + 1;
    struct moments f = { d, a, 1 / n > a->least ? 1 / n : a->least };
    oa_parallel(d->context, 2 * a->heads, side_item, &f);
    oa_real_set(d, a->seen, 0, n);
}
