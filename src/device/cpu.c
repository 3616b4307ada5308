/* SPDX-License-Identifier: Apache-2.0
 * The CPU device: its table, and its memory, which is the host's. */
#include "device/cpu.h"

#include <string.h>

static enum oa_error open_gemm_states(struct oa_device *d)
{
    int workers = oa_thread_count(d->context);
    d->gemm = oa_alloc(d->context, (size_t)workers * sizeof *d->gemm);
    if (!d->gemm)
        return oa_status(d->context);
    for (int i = 0; i < workers; i++) {
        d->gemm[i] = d->kernels.gemm_open(d->context, d->kernels.precision);
        if (!d->gemm[i])
            return oa_status(d->context);
    }
    return OA_OK;
}

static void close_gemm_states(struct oa_device *d)
{
    for (int i = 0; d->gemm && i < oa_thread_count(d->context); i++)
        if (d->gemm[i])
            d->kernels.gemm_close(d->gemm[i]);
    oa_free(d->gemm);
}

static void settle(struct oa_device *d)
{
    oa_scratch_share(d->context);
    if (d->gemm && d->kernels.gemm_share)
        d->kernels.gemm_share(d->gemm, oa_thread_count(d->context));
}

/* ---- memory ---- */

static void *allocate(struct oa_device *d, size_t bytes)
{
    return oa_alloc_raw(d->context, bytes);
}

static void release(struct oa_device *d, void *memory)
{
    (void)d;
    oa_free(memory);
}

/* Operations are done when they return. */
static void sync(struct oa_device *d)
{
    (void)d;
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
    .open = open_gemm_states,
    .close = close_gemm_states,
    .settle = settle,
    .allocate = allocate,
    .release = release,
    .sync = sync,
#define OA_DO(name, parameters, arguments) .name = oa_cpu_##name,
#define OA_ASK(type, name, parameters, arguments) .name = oa_cpu_##name,
#include "device/operations.def"
#undef OA_DO
#undef OA_ASK
};
