/* SPDX-License-Identifier: Apache-2.0
 * Projection along the length (Linformer: Wang et al. 2020): the m rows of a sequence become k
 * rows,
 *
 *     Y = W[:m]ᵀ X   ⇒   dX = W[:m] dY,   dW[:m] += X dYᵀ
 *
 * for each (b,h), with a W of each head or one W for all. Rows of padding count as zeros by
 * selection: they are never read, and get no gradient. dX and Y have an item for each (b,h); dW, a
 * sum over the batch (and the heads that share it), one for each block of its rows, which goes
 * through them in order.
 *
 * X [B·m, H·c], W [H or 1, N, k], Y [B·k, H·c]; 2·m·k·c FLOPs a (b,h) forward, twice that backward.
 */
#include "device/cpu/cpu.h"

#include <string.h>

enum { BLOCK = 64 }; /* rows of dW of an item */

struct length_call {
    struct oa_device *d;
    const struct oa_length_projection *a;
    long blocks; /* of the rows of dW */
};

static long projected_rows(const struct oa_length_projection *a, long b)
{
    return oa_real_length(a->lengths, b, a->length);
}

/* Row j of (b,h) of X or dX. */
static void *long_row(const struct length_call *f, const void *x, long b, long h, long j)
{
    return oa_act_at(f->d, x, (b * f->a->length + j) * f->a->ldx + h * f->a->width);
}

static void *short_rows(const struct length_call *f, const void *y, long b, long h)
{
    return oa_act_at(f->d, y, b * f->a->rank * f->a->ldy + h * f->a->width);
}

static void project_length_item(void *argument, long item, const struct oa_worker *w)
{
    const struct length_call *f = argument;
    const struct oa_length_projection *a = f->a;
    long b = item / a->heads, h = item % a->heads;
    struct oa_gemm g = { .m = a->rank,
                         .n = a->width,
                         .k = projected_rows(a, b),
                         .lda = a->rank,
                         .ldb = a->ldx,
                         .ldc = a->ldy,
                         .ta = true };
    f->d->cpu->kernels.gemm(f->d->cpu->gemm[w->index], &g,
                            oa_act_at(f->d, a->w, h * a->head_stride), long_row(f, a->x, b, h, 0),
                            short_rows(f, a->y, b, h));
}

static void length_input_item(void *argument, long item, const struct oa_worker *w)
{
    const struct length_call *f = argument;
    const struct oa_length_projection *a = f->a;
    long b = item / a->heads, h = item % a->heads, rows = projected_rows(a, b);
    struct oa_gemm g = {
        .m = rows, .n = a->width, .k = a->rank, .lda = a->rank, .ldb = a->ldy, .ldc = a->ldx
    };
    if (rows > 0)
        f->d->cpu->kernels.gemm(f->d->cpu->gemm[w->index], &g,
                                oa_act_at(f->d, a->w, h * a->head_stride),
                                short_rows(f, a->dy, b, h), long_row(f, a->dx, b, h, 0));
    for (long j = rows; j < a->length; j++)
        memset(long_row(f, a->dx, b, h, j), 0, (size_t)a->width * f->d->numbers.act_size);
}

static void add_length_product(const struct length_call *f, struct oa_gemm_state *state, long b,
                               long h, long first)
{
    const struct oa_length_projection *a = f->a;
    struct oa_gemm g = { .m = oa_min(BLOCK, projected_rows(a, b) - first),
                         .n = a->rank,
                         .k = a->width,
                         .lda = a->ldx,
                         .ldb = a->ldy,
                         .ldc = a->rank,
                         .tb = true,
                         .real_out = true,
                         .accumulate = true };
    if (g.m > 0)
        f->d->cpu->kernels.gemm(state, &g, long_row(f, a->x, b, h, first),
                                short_rows(f, a->dy, b, h),
                                oa_real_at(f->d, a->dw, h * a->head_stride + first * a->rank));
}

static void length_weight_item(void *argument, long item, const struct oa_worker *w)
{
    const struct length_call *f = argument;
    const struct oa_length_projection *a = f->a;
    long own = item / f->blocks, end = a->head_stride ? own + 1 : a->heads;
    for (long b = 0; b < a->batch; b++) {
        for (long h = own; h < end; h++)
            add_length_product(f, f->d->cpu->gemm[w->index], b, h, item % f->blocks * BLOCK);
    }
}

void oa_cpu_project_length(struct oa_device *d, const struct oa_length_projection *a)
{
    struct length_call f = { .d = d, .a = a };
    oa_parallel(d->context, a->batch * a->heads, project_length_item, &f);
}

void oa_cpu_project_length_gradient(struct oa_device *d, const struct oa_length_projection *a)
{
    struct length_call f = { .d = d, .a = a, .blocks = oa_blocks(a->length, BLOCK) };
    if (a->dx)
        oa_parallel(d->context, a->batch * a->heads, length_input_item, &f);
    if (a->dw)
        oa_parallel(d->context, (a->head_stride ? a->heads : 1) * f.blocks, length_weight_item, &f);
}
