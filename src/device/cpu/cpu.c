/* SPDX-License-Identifier: Apache-2.0
 * The CPU device: its table, and its memory, which is the host's. */
#include "device/cpu/cpu.h"

#include <string.h>

enum oa_error oa_cpu_state_open(struct oa_device *d)
{
    oa_context *c = d->context;
    enum oa_precision p = d->numbers.precision;
    d->cpu = oa_alloc(c, sizeof *d->cpu);
    if (!d->cpu)
        return oa_status(c);
    oa_kernels_init(&d->cpu->kernels, p, oa_context_isa(c), oa_context_cpu(c));
    oa_kernels_init(&d->cpu->real_kernels, p == OA_PRECISION_BF16 ? OA_PRECISION_F32 : p,
                    oa_context_isa(c), oa_context_cpu(c));
    return OA_OK;
}

/* One state a worker, or NULL after a recorded failure; those there are may be closed. */
static struct oa_gemm_state **open_gemm_states(oa_context *c, const struct oa_kernels *k)
{
    int workers = oa_thread_count(c);
    struct oa_gemm_state **states = oa_alloc(c, (size_t)workers * sizeof *states);
    for (int i = 0; states && i < workers && oa_status(c) == OA_OK; i++)
        states[i] = k->gemm_open(c, k->precision);
    return states;
}

static void close_gemm_states(oa_context *c, const struct oa_kernels *k,
                              struct oa_gemm_state **states)
{
    for (int i = 0; states && i < oa_thread_count(c); i++)
        if (states[i])
            k->gemm_close(states[i]);
    oa_free(states);
}

static enum oa_error cpu_open(struct oa_device *d)
{
    OA_TRY(oa_cpu_state_open(d));
    struct oa_cpu_state *s = d->cpu;
    s->gemm = open_gemm_states(d->context, &s->kernels);
    s->real_gemm = s->kernels.act == s->kernels.real
                       ? s->gemm
                       : open_gemm_states(d->context, &s->real_kernels);
    return oa_status(d->context);
}

void oa_cpu_state_close(struct oa_device *d)
{
    struct oa_cpu_state *s = d->cpu;
    if (s && s->real_gemm != s->gemm)
        close_gemm_states(d->context, &s->real_kernels, s->real_gemm);
    if (s)
        close_gemm_states(d->context, &s->kernels, s->gemm);
    oa_free(s);
}

static void cpu_settle(struct oa_device *d)
{
    oa_scratch_share(d->context);
    if (d->cpu->kernels.gemm_share)
        d->cpu->kernels.gemm_share(d->cpu->gemm, oa_thread_count(d->context));
    if (d->cpu->real_gemm != d->cpu->gemm && d->cpu->real_kernels.gemm_share)
        d->cpu->real_kernels.gemm_share(d->cpu->real_gemm, oa_thread_count(d->context));
}

/* ---- memory ---- */

static void *cpu_allocate(struct oa_device *d, size_t bytes)
{
    return oa_alloc_raw(d->context, bytes);
}

static void cpu_release(struct oa_device *d, void *memory)
{
    (void)d;
    oa_free(memory);
}

void oa_cpu_upload(struct oa_device *d, size_t bytes, const void *host, void *x)
{
    oa_cpu_copy(d, bytes, host, x);
}

void oa_cpu_download(struct oa_device *d, size_t bytes, const void *x, void *host)
{
    oa_cpu_copy(d, bytes, x, host);
}

void oa_cpu_copy(struct oa_device *d, size_t bytes, const void *x, void *y)
{
    (void)d;
    if (bytes)
        memcpy(y, x, bytes);
}

void oa_cpu_fill(struct oa_device *d, size_t bytes, int byte, void *x)
{
    (void)d;
    memset(x, byte, bytes);
}

const struct oa_device_ops oa_device_cpu = {
    .name = "cpu",
    .shared = true,
    .open = cpu_open,
    .close = oa_cpu_state_close,
    .settle = cpu_settle,
    .allocate = cpu_allocate,
    .release = cpu_release,
#define OA_DO(name, parameters, arguments) .name = oa_cpu_##name,
#define OA_ASK(type, name, parameters, arguments) .name = oa_cpu_##name,
#include "device/operations.def"
};
