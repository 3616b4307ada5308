/* SPDX-License-Identifier: Apache-2.0
 * Operations on flat arrays and on columns (elements.cl). */
#include "device/gpu/gpu.h"

#include <math.h>

void oa_gpu_constant(struct oa_device *d, long n, double value, void *x)
{
    OA_GPU_EACH(d, set_constant, n, OA_GPU_LONG(n), OA_GPU_DOUBLE(value), OA_GPU_AT(x));
}

/* Drawn by the host, so that initial values have the same bits on every device. */
void oa_gpu_normals(struct oa_device *d, long n, double scale, struct oa_stream stream, void *x)
{
    enum { RUN = 65536 };
    size_t mark = oa_arena_mark(&d->scratch);
    long room = oa_min(n, RUN);
    double *draws = oa_arena_take(&d->scratch, (size_t)room * sizeof *draws);
    void *reals = oa_arena_take(&d->scratch, (size_t)room * d->numbers.real_size);
    for (long first = 0; draws && reals && first < n; first += RUN) {
        long count = oa_min(RUN, n - first);
        oa_random_normals(stream, (uint64_t)first, count, draws);
        for (long i = 0; i < count; i++)
            oa_real_set(d, reals, i, scale * draws[i]);
        oa_gpu_upload(d, (size_t)count * d->numbers.real_size, reals, oa_real_at(d, x, first));
    }
    oa_arena_release(&d->scratch, mark);
}

void oa_gpu_act_from_real(struct oa_device *d, long n, const void *x, void *y)
{
    OA_GPU_EACH(d, act_from_real, n, OA_GPU_LONG(n), OA_GPU_AT(x), OA_GPU_AT(y));
}

void oa_gpu_real_from_act(struct oa_device *d, long n, const void *x, void *y)
{
    OA_GPU_EACH(d, real_from_act, n, OA_GPU_LONG(n), OA_GPU_AT(x), OA_GPU_AT(y));
}

void oa_gpu_unary(struct oa_device *d, enum oa_unary kind, long n, const void *x, void *y)
{
    OA_GPU_EACH(d, unary, n, OA_GPU_LONG(kind), OA_GPU_LONG(n), OA_GPU_AT(x), OA_GPU_AT(y));
}

void oa_gpu_unary_gradient(struct oa_device *d, enum oa_unary kind, long n, const void *x,
                           const void *dy, void *dx)
{
    OA_GPU_EACH(d, unary_gradient, n, OA_GPU_LONG(kind), OA_GPU_LONG(n), OA_GPU_AT(x),
                OA_GPU_AT(dy), OA_GPU_AT(dx));
}

void oa_gpu_binary(struct oa_device *d, enum oa_binary kind, long n, double scale, const void *x,
                   const void *y, void *z)
{
    OA_GPU_EACH(d, binary, n, OA_GPU_LONG(kind == OA_BINARY_PRODUCT), OA_GPU_LONG(n),
                OA_GPU_DOUBLE(scale), OA_GPU_AT(x), OA_GPU_AT(y), OA_GPU_AT(z));
}

void oa_gpu_gated(struct oa_device *d, enum oa_unary kind, long n, const void *g, const void *u,
                  void *y)
{
    OA_GPU_EACH(d, gated, n, OA_GPU_LONG(kind), OA_GPU_LONG(n), OA_GPU_AT(g), OA_GPU_AT(u),
                OA_GPU_AT(y));
}

void oa_gpu_gated_gradient(struct oa_device *d, enum oa_unary kind, long n, const void *g,
                           const void *u, const void *dy, void *dg, void *du)
{
    OA_GPU_EACH(d, gated_gradient, n, OA_GPU_LONG(kind), OA_GPU_LONG(n), OA_GPU_AT(g), OA_GPU_AT(u),
                OA_GPU_AT(dy), OA_GPU_AT(dg), OA_GPU_AT(du));
}

/* ---- columns ---- */

void oa_gpu_add_bias(struct oa_device *d, long rows, long cols, const void *bias, void *y, long ldy)
{
    OA_GPU_EACH(d, add_bias, rows * cols, OA_GPU_LONG(rows), OA_GPU_LONG(cols), OA_GPU_AT(bias),
                OA_GPU_AT(y), OA_GPU_LONG(ldy));
}

void oa_gpu_add_partial_sums(struct oa_device *d, long chunks, long cols, const void *partial,
                             void *sums)
{
    OA_GPU_EACH(d, add_partial_sums, cols, OA_GPU_LONG(chunks), OA_GPU_LONG(cols),
                OA_GPU_AT(partial), OA_GPU_AT(sums));
}

void oa_gpu_column_sums(struct oa_device *d, long rows, long cols, const void *x, long ldx,
                        void *sums)
{
    long chunks = oa_blocks(rows, OA_GPU_ROWS_A_SUM);
    size_t mark = oa_gpu_mark(d);
    void *partial = oa_gpu_take_reals(d, chunks * cols);
    if (!partial)
        return;
    OA_GPU_GROUPS(d, column_sums, oa_blocks(cols, OA_GPU_GROUP), chunks, OA_GPU_LONG(rows),
                  OA_GPU_LONG(cols), OA_GPU_LONG(OA_GPU_ROWS_A_SUM), OA_GPU_AT(x), OA_GPU_LONG(ldx),
                  OA_GPU_AT(partial));
    oa_gpu_add_partial_sums(d, chunks, cols, partial, sums);
    oa_gpu_give_back(d, mark);
}

/* ---- reals ---- */

void oa_gpu_axpby(struct oa_device *d, long n, double a, const void *x, double b, void *y)
{
    OA_GPU_EACH(d, axpby, n, OA_GPU_LONG(n), OA_GPU_DOUBLE(a), OA_GPU_AT(x), OA_GPU_DOUBLE(b),
                OA_GPU_AT(y));
}

void oa_gpu_axpy(struct oa_device *d, long n, double a, const void *x, void *y)
{
    oa_gpu_axpby(d, n, a, x, 1, y);
}

void oa_gpu_round_bf16(struct oa_device *d, long n, void *x)
{
    OA_GPU_EACH(d, round_bf16, n, OA_GPU_LONG(n), OA_GPU_AT(x));
}

void oa_gpu_soft_cap(struct oa_device *d, long n, double cap, void *x)
{
    OA_GPU_EACH(d, soft_cap, n, OA_GPU_LONG(n), OA_GPU_DOUBLE(cap), OA_GPU_AT(x));
}

double oa_gpu_sum_doubles(struct oa_device *d, long n, const void *x)
{
    size_t mark = oa_arena_mark(&d->scratch), bytes = (size_t)n * sizeof(double);
    double *host = oa_arena_take(&d->scratch, bytes), sum = 0;
    if (host)
        oa_gpu_download(d, bytes, x, host);
    for (long i = 0; host && i < n; i++)
        sum += host[i];
    oa_arena_release(&d->scratch, mark);
    return oa_status(d->context) ? NAN : sum;
}

double oa_gpu_sum_squares(struct oa_device *d, long n, const void *x)
{
    long runs = oa_blocks(n, OA_SQUARES_RUN);
    size_t mark = oa_gpu_mark(d);
    void *sums = oa_gpu_take(d, (size_t)runs * sizeof(double));
    if (!sums)
        return NAN;
    OA_GPU_GROUPS(d, square_runs, runs, 1, OA_GPU_LONG(n), OA_GPU_LONG(OA_SQUARES_RUN),
                  OA_GPU_AT(x), OA_GPU_AT(sums));
    oa_gpu_give_back(d, mark);
    return oa_gpu_sum_doubles(d, runs, sums);
}

bool oa_gpu_finite(struct oa_device *d, bool act, long rows, long cols, const void *x, long ldx)
{
    size_t mark = oa_gpu_mark(d), host_mark = oa_arena_mark(&d->scratch);
    size_t bytes = (size_t)rows * sizeof(int32_t);
    int32_t *wrong = oa_gpu_take(d, bytes), *host = oa_arena_take(&d->scratch, bytes);
    bool finite = true;
    if (wrong && host) {
        OA_GPU_GROUPS(d, not_finite, rows, 1, OA_GPU_LONG(act), OA_GPU_LONG(cols), OA_GPU_AT(x),
                      OA_GPU_LONG(ldx), OA_GPU_AT(wrong));
        oa_gpu_download(d, bytes, wrong, host);
    }
    for (long i = 0; wrong && host && i < rows; i++)
        finite = finite && host[i] == 0;
    oa_gpu_give_back(d, mark);
    oa_arena_release(&d->scratch, host_mark);
    return finite;
}
