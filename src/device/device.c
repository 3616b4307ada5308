/* SPDX-License-Identifier: Apache-2.0
 * Opening and closing a device. */
#include "device/device.h"

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

enum oa_error oa_device_open(oa_context *c, enum oa_precision p, bool dry, struct oa_device **out)
{
    struct oa_device *d = oa_alloc(c, sizeof *d);
    *out = d;
    if (!d)
        return oa_status(c);
    d->context = c;
    d->dry = dry;
    d->ops = dry ? &oa_device_plan : &oa_device_cpu;
    oa_kernels_init(&d->kernels, p, oa_context_isa(c), oa_context_cpu(c));
    oa_arena_init(&d->scratch, c, dry);
    return dry ? OA_OK : open_gemm_states(d);
}

void oa_device_close(struct oa_device *d)
{
    if (!d)
        return;
    for (int i = 0; d->gemm && i < oa_thread_count(d->context); i++)
        if (d->gemm[i])
            d->kernels.gemm_close(d->gemm[i]);
    oa_free(d->gemm);
    oa_arena_free(&d->scratch);
    oa_free(d);
}

void oa_device_settle(struct oa_device *d)
{
    oa_scratch_share(d->context);
    if (d->gemm && d->kernels.gemm_share)
        d->kernels.gemm_share(d->gemm, oa_thread_count(d->context));
}
