/* SPDX-License-Identifier: Apache-2.0
 * The CPU device: its table, and its memory, which is the host's. */
#include "device/cpu/cpu.h"

#include <string.h>

enum oa_error oa_cpu_state_open(struct oa_device *d)
{
    oa_context *c = d->context;
    d->cpu = oa_alloc(c, sizeof *d->cpu);
    if (d->cpu)
        oa_kernels_init(&d->cpu->kernels, d->numbers.precision, oa_context_isa(c),
                        oa_context_cpu(c));
    return oa_status(c);
}

static enum oa_error cpu_open(struct oa_device *d)
{
    int workers = oa_thread_count(d->context);
    OA_TRY(oa_cpu_state_open(d));
    d->cpu->gemm = oa_alloc(d->context, (size_t)workers * sizeof *d->cpu->gemm);
    if (!d->cpu->gemm)
        return oa_status(d->context);
    for (int i = 0; i < workers; i++) {
        d->cpu->gemm[i] = d->cpu->kernels.gemm_open(d->context, d->cpu->kernels.precision);
        if (!d->cpu->gemm[i])
            return oa_status(d->context);
    }
    return OA_OK;
}

void oa_cpu_state_close(struct oa_device *d)
{
    for (int i = 0; d->cpu && d->cpu->gemm && i < oa_thread_count(d->context); i++)
        if (d->cpu->gemm[i])
            d->cpu->kernels.gemm_close(d->cpu->gemm[i]);
    if (d->cpu)
        oa_free(d->cpu->gemm);
    oa_free(d->cpu);
}

static void cpu_settle(struct oa_device *d)
{
    oa_scratch_share(d->context);
    if (d->cpu->kernels.gemm_share)
        d->cpu->kernels.gemm_share(d->cpu->gemm, oa_thread_count(d->context));
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
