/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operations over flat arrays, cut into runs of equal length. */
#include "base/safetensors.h"
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum {
    RUN = 16384
}; /* elements an item: inside the L2 cache, long enough to be worth handing out */

enum kind {
    ZERO,
    TO_ACT,
    TO_REAL,
    ADD,
    GELU,
    GELU_GRADIENT,
    GELU_EXACT,
    GELU_EXACT_GRADIENT,
    RELU,
    RELU_GRADIENT
};

struct flat {
    struct oa_device *d;
    enum kind kind;
    long n;
    const void *x, *y;
    void *out;
};

static void run(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct flat *f = argument;
    const struct oa_kernels *k = &f->d->cpu->kernels;
    long first = item * RUN, n = oa_min(RUN, f->n - first);
    const void *x = oa_act_at(f->d, f->x, first), *y = oa_act_at(f->d, f->y, first);
    void *out = oa_act_at(f->d, f->out, first);
    switch (f->kind) {
    case ZERO:
        memset((char *)f->out + first, 0, (size_t)n);
        break;
    case TO_ACT:
        k->act_from_real(n, oa_real_at(f->d, f->x, first), out);
        break;
    case TO_REAL:
        k->real_from_act(n, x, oa_real_at(f->d, f->out, first));
        break;
    case ADD:
        k->add(n, x, y, out);
        break;
    case GELU:
        k->gelu(n, x, out);
        break;
    case GELU_GRADIENT:
        k->gelu_gradient(n, x, y, out);
        break;
    case GELU_EXACT:
        k->gelu_exact(n, x, out);
        break;
    case GELU_EXACT_GRADIENT:
        k->gelu_exact_gradient(n, x, y, out);
        break;
    case RELU:
        k->relu(n, x, out);
        break;
    case RELU_GRADIENT:
        k->relu_gradient(n, x, y, out);
        break;
    }
}

static void flat(struct oa_device *d, enum kind kind, long n, const void *x, const void *y,
                 void *out)
{
    struct flat f = { d, kind, n, x, y, out };
    oa_parallel(d->context, oa_blocks(n, RUN), run, &f);
}

void oa_cpu_zero(struct oa_device *d, size_t bytes, void *x)
{
    flat(d, ZERO, (long)bytes, NULL, NULL, x);
}

void oa_cpu_constant(struct oa_device *d, long n, double value, void *x)
{
    for (long i = 0; i < n; i++)
        oa_real_set(d, x, i, value);
}

struct draw {
    const struct oa_device *d;
    long n;
    double scale;
    struct oa_stream stream;
    void *x;
};

static void draw_run(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct draw *w = argument;
    long first = item * RUN;
    w->d->cpu->kernels.normals(oa_min(RUN, w->n - first), w->scale, w->stream, (uint64_t)first,
                               oa_real_at(w->d, w->x, first));
}

void oa_cpu_normals(struct oa_device *d, long n, double scale, struct oa_stream stream, void *x)
{
    struct draw w = { d, n, scale, stream, x };
    oa_parallel(d->context, oa_blocks(n, RUN), draw_run, &w);
}

void oa_cpu_act_from_real(struct oa_device *d, long n, const void *x, void *y)
{
    flat(d, TO_ACT, n, x, NULL, y);
}

void oa_cpu_real_from_act(struct oa_device *d, long n, const void *x, void *y)
{
    flat(d, TO_REAL, n, x, NULL, y);
}

void oa_cpu_add(struct oa_device *d, long n, const void *x, const void *y, void *sum)
{
    flat(d, ADD, n, x, y, sum);
}

void oa_cpu_gelu(struct oa_device *d, long n, const void *x, void *y)
{
    flat(d, GELU, n, x, NULL, y);
}

void oa_cpu_gelu_gradient(struct oa_device *d, long n, const void *x, const void *dy, void *dx)
{
    flat(d, GELU_GRADIENT, n, x, dy, dx);
}

void oa_cpu_gelu_exact(struct oa_device *d, long n, const void *x, void *y)
{
    flat(d, GELU_EXACT, n, x, NULL, y);
}

void oa_cpu_gelu_exact_gradient(struct oa_device *d, long n, const void *x, const void *dy,
                                void *dx)
{
    flat(d, GELU_EXACT_GRADIENT, n, x, dy, dx);
}

void oa_cpu_relu(struct oa_device *d, long n, const void *x, void *y)
{
    flat(d, RELU, n, x, NULL, y);
}

void oa_cpu_relu_gradient(struct oa_device *d, long n, const void *x, const void *dy, void *dx)
{
    flat(d, RELU_GRADIENT, n, x, dy, dx);
}

/* Slow, and only asked when something went wrong. */
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
