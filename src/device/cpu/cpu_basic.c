/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operations on flat arrays. An item is a run of ITEM elements, which fits in the L2
 * cache and is worth a thread's while. */
#include "base/safetensors.h"
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum {
    ITEM = 16384,
    PAST = 32 << 20 /* bytes of zeros that evict what caches have, and are evicted before use */
};

typedef void unary_kernel(long n, const void *x, void *y);
typedef void binary_kernel(long n, const void *x, const void *y, void *z);

/* One of the four kernels is not NULL. */
struct flat_arrays {
    struct oa_device *d;
    long n;
    const void *x, *y;
    void *out;
    size_t x_size, out_size; /* bytes of an element; y has those of x */
    void (*nullary)(long n, void *x);
    unary_kernel *unary;
    binary_kernel *binary;
    void (*scaled)(long n, double scale, const void *x, const void *y, void *z);
    double scale;
};

static void flat_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct flat_arrays *f = argument;
    long first = item * ITEM, n = oa_min(ITEM, f->n - first);
    const void *x = oa_at(f->x, f->x_size, first), *y = oa_at(f->y, f->x_size, first);
    void *out = oa_at(f->out, f->out_size, first);
    if (f->nullary)
        f->nullary(n, out);
    else if (f->unary)
        f->unary(n, x, out);
    else if (f->binary)
        f->binary(n, x, y, out);
    else
        f->scaled(n, f->scale, x, y, out);
}

static void run_flat(struct flat_arrays f)
{
    oa_parallel(f.d->context, oa_blocks(f.n, ITEM), flat_item, &f);
}

static void zero_bytes(long n, void *x)
{
    memset(x, 0, (size_t)n);
}

void oa_cpu_zero(struct oa_device *d, size_t bytes, void *x)
{
    size_t real = d->numbers.real_size;
    bool past = bytes >= PAST && bytes % real == 0;
    run_flat((struct flat_arrays){ .d = d,
                                   .n = (long)(past ? bytes / real : bytes),
                                   .out = x,
                                   .out_size = past ? real : 1,
                                   .nullary = past ? d->cpu->kernels.zero_past : zero_bytes });
}

void oa_cpu_constant(struct oa_device *d, long n, double value, void *x)
{
    for (long i = 0; i < n; i++)
        oa_real_set(d, x, i, value);
}

struct normal_draw {
    const struct oa_device *d;
    long n;
    double scale;
    struct oa_stream stream;
    void *x;
};

static void normals_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct normal_draw *w = argument;
    long first = item * ITEM;
    w->d->cpu->kernels.normals(oa_min(ITEM, w->n - first), w->scale, w->stream, (uint64_t)first,
                               oa_real_at(w->d, w->x, first));
}

void oa_cpu_normals(struct oa_device *d, long n, double scale, struct oa_stream stream, void *x)
{
    struct normal_draw w = { d, n, scale, stream, x };
    oa_parallel(d->context, oa_blocks(n, ITEM), normals_item, &w);
}

void oa_cpu_act_from_real(struct oa_device *d, long n, const void *x, void *y)
{
    run_flat((struct flat_arrays){ d, n, x, NULL, y, d->numbers.real_size, d->numbers.act_size,
                                   .unary = d->cpu->kernels.act_from_real });
}

void oa_cpu_real_from_act(struct oa_device *d, long n, const void *x, void *y)
{
    run_flat((struct flat_arrays){ d, n, x, NULL, y, d->numbers.act_size, d->numbers.real_size,
                                   .unary = d->cpu->kernels.real_from_act });
}

void oa_cpu_unary(struct oa_device *d, enum oa_unary kind, long n, const void *x, void *y)
{
#define KIND(id, name) d->cpu->kernels.name,
    unary_kernel *const kernel[] = { OA_UNARY_KINDS(KIND) };
#undef KIND
    run_flat((struct flat_arrays){ d, n, x, NULL, y, d->numbers.act_size, d->numbers.act_size,
                                   .unary = kernel[kind] });
}

void oa_cpu_unary_gradient(struct oa_device *d, enum oa_unary kind, long n, const void *x,
                           const void *dy, void *dx)
{
#define KIND(id, name) d->cpu->kernels.name##_gradient,
    binary_kernel *const kernel[] = { OA_UNARY_KINDS(KIND) };
#undef KIND
    run_flat((struct flat_arrays){ d, n, x, dy, dx, d->numbers.act_size, d->numbers.act_size,
                                   .binary = kernel[kind] });
}

void oa_cpu_binary(struct oa_device *d, enum oa_binary kind, long n, double scale, const void *x,
                   const void *y, void *z)
{
    struct flat_arrays f = {
        d, n, x, y, z, d->numbers.act_size, d->numbers.act_size, .scale = scale
    };
    if (kind == OA_BINARY_ADD)
        f.binary = d->cpu->kernels.add;
    else
        f.scaled = d->cpu->kernels.product;
    run_flat(f);
}

/* Slow; called only after a failure. */
bool oa_cpu_finite(struct oa_device *d, bool act, long rows, long cols, const void *x, long ldx)
{
    struct oa_array a = { .type = act ? d->cpu->kernels.act : d->cpu->kernels.real,
                          .dims = 1,
                          .dim = { rows * ldx },
                          .data = x };
    for (long i = 0; i < rows; i++)
        for (long c = 0; c < cols; c++)
            if (!isfinite(oa_array_value(&a, (size_t)(i * ldx + c))))
                return false;
    return true;
}
