/* SPDX-License-Identifier: Apache-2.0
 * Random features (random_features.cl): Ω x and Ωᵀ du are matrix products, with fitted matrices
 * products of chunks. */
#include "device/gpu/gpu_chunks.h"

struct random_rows { /* of random_features.cl */
    long kind, first, by_head, same, length, heads, width, count;
    double scale, half_norm;
    const int32_t *lengths;
    const void *bias, *metric, *x;
    void *y, *top;
    const void *dy;
    void *dx, *u, *du, *sums, *products;
};

static struct random_rows random_rows_of(const struct oa_random_features *a)
{
    return (struct random_rows){ .kind = a->kind,
                                 .by_head = a->each,
                                 .same = a->same,
                                 .length = a->length,
                                 .heads = a->heads,
                                 .width = a->width,
                                 .count = a->count,
                                 .scale = a->scale,
                                 .half_norm = a->half_norm,
                                 .lengths = a->lengths,
                                 .bias = a->bias,
                                 .metric = a->metric,
                                 .x = a->x,
                                 .y = a->y,
                                 .top = a->top,
                                 .dy = a->dy,
                                 .dx = a->dx };
}

/* The matrix Ω of each (b,h). */
static struct oa_chunk_matrix gpu_fitted_omega(const struct oa_random_features *a)
{
    long size = a->count * a->width;
    return (struct oa_chunk_matrix){ .x = a->omega,
                                     .form = OA_CHUNK_ACTS,
                                     .ld = a->width,
                                     .batch = a->same ? 0 : a->heads * size,
                                     .sharing = 1,
                                     .head = size };
}

/* Rows of the (b,h) at work, `cols` wide, in scratch. */
static struct oa_chunk_matrix rows_by_head(const struct oa_random_features *a, const void *x,
                                           long form, long cols)
{
    return (struct oa_chunk_matrix){ .x = x,
                                     .form = form,
                                     .ld = cols,
                                     .sharing = 1,
                                     .pair = a->length * cols,
                                     .chunk = OA_GPU_CHUNK * cols,
                                     .rows = a->length };
}

/* The rows of x by head; those that are not padding. */
static struct oa_chunk_matrix tokens_by_head(const struct oa_random_features *a)
{
    long ld = a->heads * a->width;
    return (struct oa_chunk_matrix){ .x = a->x,
                                     .form = OA_CHUNK_ACTS,
                                     .ld = ld,
                                     .batch = a->length * ld,
                                     .sharing = 1,
                                     .head = a->width,
                                     .chunk = OA_GPU_CHUNK * ld,
                                     .lengths = a->lengths,
                                     .rows = a->length };
}

/* rows Ωᵀ into u, or backward du Ω into the products. */
static void multiply_device_omega(struct oa_device *d, const struct oa_random_features *a,
                                  const struct random_rows *r, long rows)
{
    bool backward = r->dx != NULL;
    if (!a->each) {
        struct oa_gemm g = { .m = rows,
                             .n = backward ? a->width : a->count,
                             .k = backward ? a->count : a->width,
                             .lda = backward ? a->count : a->width,
                             .ldb = a->width,
                             .ldc = backward ? a->width : a->count,
                             .tb = !backward,
                             .real_out = true };
        const void *x = oa_act_at(d, a->x, r->first * a->width);
        oa_gpu_gemm(d, &g, backward ? r->du : x, a->omega, backward ? r->products : r->u);
        return;
    }
    struct oa_chunk_product p = { .heads = a->heads,
                                  .chunks = oa_blocks(a->length, OA_GPU_CHUNK),
                                  .first = r->first / a->length,
                                  .m = OA_GPU_CHUNK,
                                  .n = backward ? a->width : a->count,
                                  .k = backward ? a->count : a->width,
                                  .scale = 1,
                                  .b = gpu_fitted_omega(a) };
    p.b.turned = !backward;
    p.a = backward ? rows_by_head(a, r->du, OA_CHUNK_ACTS, a->count) : tokens_by_head(a);
    p.c = backward ? rows_by_head(a, r->products, OA_CHUNK_REALS, a->width)
                   : rows_by_head(a, r->u, OA_CHUNK_REALS, a->count);
    oa_gpu_chunk_products(d, rows / a->length, &p);
}

static void forward_rows(struct oa_device *d, const struct oa_random_features *a,
                         struct random_rows *r, long rows)
{
    r->u = oa_gpu_take_reals(d, rows * a->count);
    multiply_device_omega(d, a, r, rows);
    OA_GPU_INDIRECT(d, random_features, rows, 1, OA_GPU_STRUCT(*r));
}

static void backward_rows(struct oa_device *d, const struct oa_random_features *a,
                          struct random_rows *r, long rows)
{
    r->du = oa_gpu_take_acts(d, rows * a->count);
    r->sums = oa_gpu_take_reals(d, rows);
    r->products = oa_gpu_take_reals(d, rows * a->width);
    OA_GPU_INDIRECT(d, random_features_gradient, rows, 1, OA_GPU_STRUCT(*r));
    multiply_device_omega(d, a, r, rows);
    OA_GPU_INDIRECT(d, random_features_input, oa_blocks(rows * a->width, OA_GPU_GROUP), 1,
                    OA_GPU_STRUCT(*r), OA_GPU_LONG(rows));
}

/* As many rows at once as there is room for; with fitted matrices all of a (b,h). */
static void run_random_rows(struct oa_device *d, const struct oa_random_features *a, bool backward)
{
    long all = a->batch * a->length * a->heads, unit = a->each ? a->length : 1,
         each = unit * oa_gpu_pairs_at_once(d, all / oa_max(1, unit),
                                            unit * (a->count + (backward ? a->width : 0)));
    for (long first = 0; first < all && !oa_status(d->context); first += each) {
        struct random_rows r = random_rows_of(a);
        size_t mark = oa_gpu_mark(d);
        r.first = first;
        if (!backward)
            r.dx = NULL;
        (backward ? backward_rows : forward_rows)(d, a, &r, oa_min(each, all - first));
        oa_gpu_give_back(d, mark);
    }
}

void oa_gpu_random_features(struct oa_device *d, const struct oa_random_features *a)
{
    run_random_rows(d, a, false);
}

void oa_gpu_random_features_gradient(struct oa_device *d, const struct oa_random_features *a)
{
    run_random_rows(d, a, true);
}
