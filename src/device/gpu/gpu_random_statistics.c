/* SPDX-License-Identifier: Apache-2.0
 * Moments of queries and keys on the device (random_features.cl), and what is fitted to them on the
 * host, in double (oa_fit_exponents; formulas: cpu_random_statistics.c). */
#include "device/gpu/gpu_chunks.h"

#include <string.h>

/* ---- moments ---- */

struct moment_parts { /* of random_features.cl */
    long batch, heads, length, all, chunks, size;
    double factor;
    const int32_t *lengths;
    const void *parts;
};

/* Sums of rows x [B·length, H·K] over chunks, and of x xᵀ, in scratch of the device. */
static void sum_moment_chunks(struct oa_device *d, const struct moment_parts *m, long width,
                              const void *x, void *sums, void *squares)
{
    long ld = m->heads * width, items = m->batch * m->heads * m->chunks;
    struct oa_chunk_product p = { .heads = m->heads,
                                  .chunks = m->chunks,
                                  .m = width,
                                  .n = width,
                                  .k = OA_GPU_CHUNK,
                                  .scale = 1,
                                  .a = { .x = x,
                                         .form = OA_CHUNK_ACTS,
                                         .ld = ld,
                                         .batch = m->length * ld,
                                         .sharing = 1,
                                         .head = width,
                                         .chunk = OA_GPU_CHUNK * ld,
                                         .lengths = m->lengths,
                                         .rows = m->length } };
    p.b = p.a;
    p.c = oa_chunk_scratch(sums, 1, width, m->chunks, 0);
    OA_GPU_INDIRECT(d, chunk_column_sums, oa_blocks(items * width, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(p), OA_GPU_LONG(items), OA_GPU_AT(NULL));
    p.a.turned = true;
    p.c = oa_chunk_scratch(squares, width, width, m->chunks, 0);
    oa_gpu_chunk_products(d, m->batch * m->heads, &p);
}

static void change_moments(struct oa_device *d, const struct oa_moments_change *a, int side)
{
    long k = a->width, first = side * a->heads * k;
    struct moment_parts m = { .batch = a->batch,
                              .heads = a->heads,
                              .length = a->rows[side],
                              .all = true,
                              .chunks = oa_blocks(a->rows[side], OA_GPU_CHUNK),
                              .lengths = a->lengths[side] };
    long items = a->batch * a->heads * m.chunks;
    size_t mark = oa_gpu_mark(d);
    void *sums = oa_gpu_take_reals(d, items * k), *squares = oa_gpu_take_reals(d, items * k * k);
    sum_moment_chunks(d, &m, k, a->x[side], sums, squares);
    m.parts = sums;
    m.size = k;
    m.factor = a->scale;
    OA_GPU_INDIRECT(d, moment_changes, oa_blocks(a->heads * k, OA_GPU_GROUP), 1, OA_GPU_STRUCT(m),
                    OA_GPU_AT(oa_real_at(d, a->mean, first)),
                    OA_GPU_AT(oa_real_at(d, a->mean_change, first)));
    m.parts = squares;
    m.size = k * k;
    m.factor = a->scale * a->scale;
    OA_GPU_INDIRECT(d, moment_changes, oa_blocks(a->heads * k * k, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(m), OA_GPU_AT(oa_real_at(d, a->square, first * k)),
                    OA_GPU_AT(oa_real_at(d, a->square_change, first * k)));
    oa_gpu_give_back(d, mark);
}

void oa_gpu_moments_change(struct oa_device *d, const struct oa_moments_change *a)
{
    for (int side = 0; side < 2; side++)
        change_moments(d, a, side);
    OA_GPU_EACH(d, count_step, 1, OA_GPU_AT(NULL), OA_GPU_AT(a->batches));
}

static void move_average(struct oa_device *d, const struct oa_moments_move *a, long n,
                         const void *change, void *average)
{
    OA_GPU_EACH(d, moments_moved, n, OA_GPU_LONG(n), OA_GPU_DOUBLE(a->least), OA_GPU_AT(a->seen),
                OA_GPU_AT(a->batches), OA_GPU_AT(change), OA_GPU_AT(average));
}

void oa_gpu_move_moments(struct oa_device *d, const struct oa_moments_move *a)
{
    move_average(d, a, a->means, a->mean_change, a->mean);
    move_average(d, a, a->squares, a->square_change, a->square);
    OA_GPU_EACH(d, count_step, 1, OA_GPU_AT(a->batches), OA_GPU_AT(a->seen));
}

/* ---- fits ---- */

/* In host memory; moments of all (b,h): means [B·H, K], squares [B·H, K, K]. */
struct fitted_statistics {
    struct oa_device *d;
    const struct oa_random_statistics *a;
    void *omega; /* real [r_0, K] */
    double *mean[2], *square[2];
    void *turned[2], *metric[2], *bias; /* real, to be uploaded */
};

static void *take_fitted(struct oa_device *d, long n, size_t size)
{
    return oa_arena_take(&d->scratch, (size_t)n * size);
}

static bool open_fits(struct fitted_statistics *f)
{
    const struct oa_random_statistics *a = f->a;
    long pairs = a->batch * a->heads, k = a->width;
    size_t real = f->d->numbers.real_size;
    f->omega = take_fitted(f->d, a->count * k, real);
    f->bias = take_fitted(f->d, pairs * a->count, real);
    bool there = f->omega && f->bias;
    for (int side = 0; side < 2; side++) {
        f->mean[side] = take_fitted(f->d, pairs * k, sizeof(double));
        f->square[side] = take_fitted(f->d, pairs * k * k, sizeof(double));
        f->turned[side] = take_fitted(f->d, pairs * a->count * k, real);
        f->metric[side] = take_fitted(f->d, pairs * k * k, real);
        there = there && f->mean[side] && f->square[side] && f->turned[side] && f->metric[side];
    }
    if (there)
        oa_gpu_download(f->d, (size_t)(a->count * k) * real, a->omega, f->omega);
    return there && !oa_status(f->d->context);
}

/* Of one side of the data. */
static void measure_moments(struct fitted_statistics *f, int side)
{
    const struct oa_random_statistics *a = f->a;
    struct oa_device *d = f->d;
    long k = a->width, pairs = a->batch * a->heads;
    struct moment_parts m = { .batch = a->batch,
                              .heads = a->heads,
                              .length = side ? a->keys : a->queries,
                              .lengths = side ? a->key_lengths : a->query_lengths };
    m.chunks = oa_blocks(m.length, OA_GPU_CHUNK);
    size_t mark = oa_gpu_mark(d);
    void *sums = oa_gpu_take_reals(d, pairs * m.chunks * k),
         *squares = oa_gpu_take_reals(d, pairs * m.chunks * k * k),
         *means = oa_gpu_take(d, (size_t)(pairs * k * k) * sizeof(double));
    sum_moment_chunks(d, &m, k, side ? a->k : a->q, sums, squares);
    for (int square = 0; square < 2; square++) {
        m.size = square ? k * k : k;
        m.parts = square ? squares : sums;
        m.factor = square ? a->scale * a->scale : a->scale;
        OA_GPU_INDIRECT(d, moment_means, oa_blocks(pairs * m.size, OA_GPU_GROUP), 1,
                        OA_GPU_STRUCT(m), OA_GPU_AT(means));
        oa_gpu_download(d, (size_t)(pairs * m.size) * sizeof(double), means,
                        square ? f->square[side] : f->mean[side]);
    }
    oa_gpu_give_back(d, mark);
}

/* Those that are given: n reals from number `first` of x on. */
static void read_moments(struct oa_device *d, long first, long n, const void *x, double *to)
{
    size_t mark = oa_arena_mark(&d->scratch), bytes = (size_t)n * d->numbers.real_size;
    void *reals = oa_arena_take(&d->scratch, bytes);
    if (reals)
        oa_gpu_download(d, bytes, oa_real_at(d, x, first), reals);
    for (long i = 0; reals && i < n; i++)
        to[i] = oa_real_get(d, reals, i);
    oa_arena_release(&d->scratch, mark);
}

/* Rows of Ω B and, of the last side, ωᵀAω; P. */
static void store_fit(const struct fitted_statistics *f, const struct oa_exponents *e, int side,
                      long pair)
{
    long k = f->a->width, count = f->a->count;
    for (long r = 0; r < count; r++) {
        double bias = 0;
        for (long j = 0; j < k; j++) {
            double sum = 0, square = 0;
            for (long i = 0; i < k; i++) {
                double w = oa_real_get(f->d, f->omega, r * k + i);
                sum += w * e->b[side][i * k + j];
                square += w * e->a[i * k + j];
            }
            bias += square * oa_real_get(f->d, f->omega, r * k + j);
            oa_real_set(f->d, f->turned[side], (pair * count + r) * k + j, sum);
        }
        oa_real_set(f->d, f->bias, pair * count + r, bias);
    }
    for (long i = 0; i < k * k; i++)
        oa_real_set(f->d, f->metric[side], pair * k * k + i, e->p[side][i]);
}

/* A (b,h). */
static void fit_item(void *argument, long pair, const struct oa_worker *worker)
{
    const struct fitted_statistics *f = argument;
    long k = f->a->width, kk = k * k;
    double *m = oa_arena_take(worker->scratch, (size_t)((5 + OA_FIT_WORK) * kk) * sizeof *m);
    if (!m)
        return;
    memset(m, 0, (size_t)(5 * kk) * sizeof *m);
    struct oa_moments moments = { k,
                                  { f->mean[0] + pair * k, f->mean[1] + pair * k },
                                  { f->square[0] + pair * kk, f->square[1] + pair * kk } };
    struct oa_exponents e = { m, { m + kk, m + 2 * kk }, { m + 3 * kk, m + 4 * kk }, m + 5 * kk };
    oa_fit_exponents(f->a->kind, &moments, &e);
    for (int side = 0; side < 2; side++)
        store_fit(f, &e, side, pair);
}

/* n reals of the host become acts of the device. */
static void upload_acts(struct oa_device *d, long n, const void *host, void *x)
{
    size_t mark = oa_gpu_mark(d);
    void *reals = oa_gpu_take_reals(d, n);
    if (!reals)
        return;
    oa_gpu_upload(d, (size_t)n * d->numbers.real_size, host, reals);
    oa_gpu_act_from_real(d, n, reals, x);
    oa_gpu_give_back(d, mark);
}

static void upload_fits(const struct fitted_statistics *f)
{
    const struct oa_random_statistics *a = f->a;
    long pairs = a->batch * a->heads, k = a->width;
    for (int side = 0; side < 2; side++) {
        upload_acts(f->d, pairs * a->count * k, f->turned[side], a->turned[side]);
        upload_acts(f->d, pairs * k * k, f->metric[side], a->metric[side]);
    }
    oa_gpu_upload(f->d, (size_t)(pairs * a->count) * f->d->numbers.real_size, f->bias, a->bias);
}

void oa_gpu_random_statistics(struct oa_device *d, const struct oa_random_statistics *a)
{
    struct fitted_statistics f = { .d = d, .a = a };
    long k = a->width, n = a->heads * k;
    size_t mark = oa_arena_mark(&d->scratch);
    if (open_fits(&f)) {
        for (int side = 0; side < 2; side++) {
            if (a->mean) {
                read_moments(d, side * n, n, a->mean, f.mean[side]);
                read_moments(d, side * n * k, n * k, a->square, f.square[side]);
            } else
                measure_moments(&f, side);
        }
        if (!oa_status(d->context))
            oa_parallel(d->context, a->batch * a->heads, fit_item, &f);
        upload_fits(&f);
    }
    oa_arena_release(&d->scratch, mark);
}
