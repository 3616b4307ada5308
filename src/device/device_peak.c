/* SPDX-License-Identifier: Apache-2.0
 * See device_peak.h. */
#include "device/device_peak.h"
#include "base/compare_doubles.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 9, DRAWS = 1 << 16, LARGE = 8192, SMALL = 512 };

struct peak_buffers {
    struct oa_device *d;
    long n; /* of the matrices [n, n] */
    void *a, *b, *product;
};

/* Random numbers, repeated: zeros would let some cards run faster than any data does. */
static void fill_acts(struct oa_device *d, long n, void *x)
{
    double *draws = oa_alloc(d->context, DRAWS * sizeof *draws);
    if (!draws)
        return;
    oa_random_normals(oa_stream_named(1, "peak"), 0, DRAWS, draws);
    oa_acts_write(d, oa_min(DRAWS, n), draws, x);
    for (long filled = DRAWS; filled < n; filled *= 2)
        d->ops->copy(d, (size_t)oa_min(filled, n - filled) * d->numbers.act_size, x,
                     oa_act_at(d, x, filled));
    oa_free(draws);
}

static void multiply_matrices(const struct peak_buffers *p)
{
    long n = p->n;
    p->d->ops->gemm(p->d, &(struct oa_gemm){ .m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n },
                    p->a, p->b, p->product);
}

static void copy_matrix(const struct peak_buffers *p)
{
    p->d->ops->copy(p->d, (size_t)(p->n * p->n) * p->d->numbers.act_size, p->a, p->product);
}

static double median_seconds(const struct peak_buffers *p,
                             void (*run)(const struct peak_buffers *p))
{
    double seconds[RUNS];
    run(p);
    for (int i = 0; i < RUNS; i++) {
        oa_device_sync(p->d);
        double start = oa_clock();
        run(p);
        oa_device_sync(p->d);
        seconds[i] = oa_clock() - start;
    }
    qsort(seconds, RUNS, sizeof *seconds, oa_compare_doubles);
    return seconds[RUNS / 2];
}

bool oa_device_peak_measure(oa_context *c, enum oa_precision p, struct oa_device_peak *out)
{
    struct peak_buffers x = { .n = LARGE };
    struct oa_arena arena;
    if (oa_context_device_kind(c) == OA_DEVICE_CPU || oa_device_open(c, p, false, &x.d) != OA_OK) {
        oa_device_close(x.d);
        return false;
    }
    if (x.d->ops == &oa_device_cpu || x.d->host_processor)
        x.n = SMALL;
    oa_device_arena(&arena, x.d);
    size_t bytes = (size_t)(x.n * x.n) * x.d->numbers.act_size;
    x.a = oa_arena_take(&arena, bytes);
    x.b = oa_arena_take(&arena, bytes);
    x.product = oa_arena_take(&arena, bytes);
    bool other = x.a && x.b && x.product && x.d->ops != &oa_device_cpu;
    if (other) {
        fill_acts(x.d, x.n * x.n, x.a);
        fill_acts(x.d, x.n * x.n, x.b);
        out->flops =
            2.0 * (double)x.n * (double)x.n * (double)x.n / median_seconds(&x, multiply_matrices);
        out->bytes = 2.0 * (double)bytes / median_seconds(&x, copy_matrix);
        snprintf(out->name, sizeof out->name, "%s:%d", x.d->ops->name, x.d->number);
    }
    oa_arena_free(&arena);
    oa_device_close(x.d);
    return other && oa_status(c) == OA_OK;
}
