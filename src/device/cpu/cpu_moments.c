/* SPDX-License-Identifier: Apache-2.0
 * First and second moments of the queries and keys of a batch, relative to their running averages
 * m, M, to which features are fitted (cpu_random_statistics.c). For each head and side, over the n
 * real rows of the batch,
 *
 *     μ = (s/n) Σ x,   M' = (s²/n) Xᵀ X;   the changes get μ − m and M' − M added
 *
 * The averages are updated after the step, by the mean over its micro-batches. An item is a head of
 * one side and goes through the batch in order. 2·K² FLOPs per row. */
#include "device/cpu/cpu.h"

#include <string.h>

struct moments_call {
    struct oa_device *d;
    const struct oa_moments_change *a;
};

/* Sums of rows and of their products over the batch; gives the number of rows. */
static long sum_moments(const struct moments_call *f, struct oa_gemm_state *gemm, int side, long h,
                        void *sum, void *square)
{
    const struct oa_moments_change *a = f->a;
    long K = a->width, ld = a->heads * K, total = 0;
    for (long b = 0; b < a->batch; b++) {
        long n = oa_real_length(a->lengths[side], b, a->rows[side]);
        const void *x = oa_act_at(f->d, a->x[side], b * a->rows[side] * ld + h * K);
        struct oa_gemm g = { .m = K,
                             .n = K,
                             .k = n,
                             .lda = ld,
                             .ldb = ld,
                             .ldc = K,
                             .ta = true,
                             .real_out = true,
                             .accumulate = true };
        if (n == 0)
            continue;
        f->d->cpu->kernels.gemm(gemm, &g, x, x, square);
        f->d->cpu->kernels.column_sums(n, K, x, ld, sum);
        total += n;
    }
    return total;
}

static void add_moment_change(const struct moments_call *f, long n, double factor, const void *sum,
                              const void *average, void *change)
{
    for (long i = 0; i < n; i++) {
        double difference = factor * oa_real_get(f->d, sum, i) - oa_real_get(f->d, average, i);
        oa_real_set(f->d, change, i, oa_real_get(f->d, change, i) + difference);
    }
}

static void moments_side_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct moments_call *f = argument;
    const struct oa_moments_change *a = f->a;
    long K = a->width;
    size_t real = f->d->numbers.real_size;
    void *sum = oa_arena_take(worker->scratch, (size_t)K * real);
    void *square = oa_arena_take(worker->scratch, (size_t)(K * K) * real);
    if (!sum || !square)
        return;
    memset(sum, 0, (size_t)K * real);
    memset(square, 0, (size_t)(K * K) * real);
    long n = sum_moments(f, f->d->cpu->gemm[worker->index], (int)(item / a->heads), item % a->heads,
                         sum, square);
    if (n == 0)
        return;
    long first = item * K, square_first = first * K;
    add_moment_change(f, K, a->scale / (double)n, sum, oa_real_at(f->d, a->mean, first),
                      oa_real_at(f->d, a->mean_change, first));
    add_moment_change(f, K * K, a->scale * a->scale / (double)n, square,
                      oa_real_at(f->d, a->square, square_first),
                      oa_real_at(f->d, a->square_change, square_first));
}

void oa_cpu_moments_change(struct oa_device *d, const struct oa_moments_change *a)
{
    struct moments_call f = { d, a };
    oa_parallel(d->context, 2 * a->heads, moments_side_item, &f);
    oa_real_set(d, a->batches, 0, oa_real_get(d, a->batches, 0) + 1);
}

void oa_cpu_move_moments(struct oa_device *d, const struct oa_moments_move *a)
{
    double step = oa_real_get(d, a->seen, 0) + 1, batches = oa_real_get(d, a->batches, 0);
    if (batches == 0)
        return;
    double weight = (1 / step > a->least ? 1 / step : a->least) / batches;
    oa_cpu_axpy(d, a->means, weight, a->mean_change, a->mean);
    oa_cpu_axpy(d, a->squares, weight, a->square_change, a->square);
    oa_real_set(d, a->seen, 0, step);
}
