/* SPDX-License-Identifier: Apache-2.0
 * A device's memory seen from the host: arenas of it, views of it, single numbers. */
#include "device/device.h"

#include <string.h>

/* ---- arenas ---- */

static void *device_allocate(void *owner, size_t bytes)
{
    struct oa_device *d = owner;
    return d->ops->allocate(d, bytes);
}

static void device_release(void *owner, void *memory)
{
    struct oa_device *d = owner;
    d->ops->release(d, memory);
}

static void device_spoil(void *owner, void *memory, size_t bytes)
{
    struct oa_device *d = owner;
    d->ops->fill(d, bytes, 0xff, memory);
}

void oa_device_arena(struct oa_arena *a, struct oa_device *d)
{
    static const struct oa_memory_source source = { device_allocate, device_release, device_spoil };
    oa_arena_init_from(a, d->context, &source, d);
    a->dry = d->dry;
}

/* ---- views ---- */

static bool is_copy(const struct oa_view *v)
{
    return v->host && v->host != v->memory;
}

void *oa_view_open(struct oa_view *v, struct oa_device *d, const void *memory, size_t bytes,
                   unsigned use)
{
    *v = (struct oa_view){ .device = d, .memory = oa_at(memory, 1, 0), .bytes = bytes, .use = use };
    if (d->dry)
        return NULL;
    v->host = d->ops->shared ? v->memory : oa_alloc_raw(d->context, bytes);
    if (use & OA_VIEW_READ)
        oa_view_fetch(v);
    return v->host;
}

void oa_view_close(struct oa_view *v)
{
    if (v->use & OA_VIEW_WRITE)
        oa_view_store(v);
    if (is_copy(v))
        oa_free(v->host);
    *v = (struct oa_view){ 0 };
}

void oa_view_fetch(const struct oa_view *v)
{
    if (is_copy(v))
        v->device->ops->download(v->device, v->bytes, v->memory, v->host);
}

void oa_view_store(const struct oa_view *v)
{
    if (is_copy(v))
        v->device->ops->upload(v->device, v->bytes, v->host, v->memory);
}

/* ---- reals ---- */

double oa_real_read(struct oa_device *d, const void *x, long i)
{
    union {
        double f64;
        float f32;
    } room = { 0 };
    if (d->ops->shared)
        return oa_real_get(d, x, i);
    if (!d->dry) /* without a view, since oracles read many */
        d->ops->download(d, d->numbers.real_size, oa_real_at(d, x, i), &room);
    return oa_real_get(d, &room, 0);
}

void oa_real_write(struct oa_device *d, void *x, long i, double value)
{
    oa_reals_write(d, 1, &value, oa_real_at(d, x, i));
}

static size_t reals_size(const struct oa_device *d, long n)
{
    return (size_t)n * d->numbers.real_size;
}

void oa_reals_read(struct oa_device *d, long n, const void *x, double *out)
{
    struct oa_view v;
    const void *host = oa_view_open(&v, d, x, reals_size(d, n), OA_VIEW_READ);
    for (long i = 0; host && i < n; i++)
        out[i] = oa_real_get(d, host, i);
    oa_view_close(&v);
}

void oa_reals_read_floats(struct oa_device *d, long n, const void *x, float *out)
{
    struct oa_view v;
    const void *host = oa_view_open(&v, d, x, reals_size(d, n), OA_VIEW_READ);
    if (host && d->numbers.real == OA_F32)
        memcpy(out, host, (size_t)n * sizeof *out);
    for (long i = 0; host && d->numbers.real != OA_F32 && i < n; i++)
        out[i] = (float)oa_real_get(d, host, i);
    oa_view_close(&v);
}

void oa_reals_write(struct oa_device *d, long n, const double *values, void *x)
{
    struct oa_view v;
    void *host = oa_view_open(&v, d, x, reals_size(d, n), OA_VIEW_WRITE);
    for (long i = 0; host && i < n; i++)
        oa_real_set(d, host, i, values[i]);
    oa_view_close(&v);
}

/* ---- acts: the device makes them of reals ---- */

void oa_acts_upload(struct oa_device *d, long n, const void *host, void *act)
{
    void *room = d->ops->shared || d->dry ? NULL : d->ops->allocate(d, reals_size(d, n));
    if (room)
        d->ops->upload(d, reals_size(d, n), host, room);
    if (d->ops->shared || room)
        d->ops->act_from_real(d, n, room ? room : host, act);
    if (room)
        d->ops->release(d, room);
}

void oa_acts_download(struct oa_device *d, long n, const void *act, void *host)
{
    void *room = d->ops->shared || d->dry ? NULL : d->ops->allocate(d, reals_size(d, n));
    if (d->ops->shared || room)
        d->ops->real_from_act(d, n, act, room ? room : host);
    if (room) {
        d->ops->download(d, reals_size(d, n), room, host);
        d->ops->release(d, room);
    }
}

void oa_acts_read(struct oa_device *d, long n, const void *act, double *out)
{
    size_t mark = oa_arena_mark(&d->scratch);
    void *host = d->dry ? NULL : oa_arena_take(&d->scratch, reals_size(d, n));
    if (host)
        oa_acts_download(d, n, act, host);
    for (long i = 0; host && i < n; i++)
        out[i] = oa_real_get(d, host, i);
    oa_arena_release(&d->scratch, mark);
}

void oa_acts_write(struct oa_device *d, long n, const double *values, void *act)
{
    size_t mark = oa_arena_mark(&d->scratch);
    void *host = d->dry ? NULL : oa_arena_take(&d->scratch, reals_size(d, n));
    for (long i = 0; host && i < n; i++)
        oa_real_set(d, host, i, values[i]);
    if (host)
        oa_acts_upload(d, n, host, act);
    oa_arena_release(&d->scratch, mark);
}
