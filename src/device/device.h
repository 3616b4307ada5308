/* SPDX-License-Identifier: Apache-2.0
 * device: memory, and operations on whole tensors that lie in it. The second and last dispatch
 * table; what is computed above it does not depend on hardware.
 *
 * `cpu` computes, cutting work into items by size and running them on the context's threads;
 * `plan` computes nothing and counts FLOPs and bytes, so a training step that runs on it (with dry
 * arenas) gives the cost of the real one. A new device is a folder of its own here with its table,
 * which oa_context_set_device selects.
 *
 * An address of a device's memory is for arithmetic only (oa_at) and must not be dereferenced: the
 * memory is read and written by operations, by copies (upload, download) and through views, which
 * are free where the device shares the host's memory. tests/guarded.c is a device whose addresses
 * cannot be dereferenced.
 *
 * Shape letters, everywhere: B batch, T queries (rows of one sequence), S keys, D model width, H
 * heads, K query/key width of a head, V value width of a head, N longest length (of tables).
 * Activations are row-major [B·T, columns] with a leading dimension; head h of a projection is the
 * columns h·K … h·K+K−1. */
#ifndef ORTHANT_DEVICE_H
#define ORTHANT_DEVICE_H

#include "base/base.h"
#include "base/processor.h"
#include "device/operations.h"

struct oa_device {
    oa_context *context;
    const struct oa_device_ops *ops;
    struct oa_numbers numbers; /* types and sizes of what it computes on */
    struct oa_arena scratch; /* the host's, of the calling thread: sums, blocks of logits; released
                                after each op */
    bool dry;                /* the plan device: there is no memory */
    /* Counted by the plan device: FLOPs (a multiply-add is 2), bytes read and written; FLOPs with
     * those of pairs in tiles that are computed and then masked. */
    double flops, bytes, computed;
    struct oa_cpu_state *cpu;          /* of `cpu` and `plan` (cpu.h); NULL elsewhere */
    int number;                        /* of several cards */
    bool host_processor;               /* it computes on the host's processor */
    void *own;                         /* data of another device */
    struct oa_meter *meter;            /* counts operations (wrappers/meter.h), or NULL */
    struct oa_access_tracker *tracker; /* reports addresses (wrappers/access_tracker.h), or NULL */
};

struct oa_device_ops {
    const char *name;
    bool dry;    /* no memory: addresses only have to differ from NULL */
    bool shared; /* its memory is the host's: host and device use the same addresses */
    /* Required. */
    enum oa_error (*open)(struct oa_device *d);
    void (*close)(struct oa_device *d); /* after an open that failed, too */
    /* Aligned, NOT zeroed; NULL after a recorded failure. */
    void *(*allocate)(struct oa_device *d, size_t bytes);
    void (*release)(struct oa_device *d, void *memory);
    /* Optional, NULL where there is nothing to do. settle: oa_device_settle. sync: waits until all
     * operations are done, for clocks; operations with a result wait by themselves. */
    void (*settle)(struct oa_device *d);
    void (*sync)(struct oa_device *d);
    /* Required but for the optional ones at the end of the list. */
#define OA_DO(name, parameters, arguments) void(*name) parameters;
#define OA_ASK(type, name, parameters, arguments) type(*name) parameters;
#include "device/operations.def"
};

extern const struct oa_device_ops oa_device_cpu, oa_device_plan, oa_device_opencl, oa_device_cuda;

/* Sums of squares are sums over runs of so many elements, added in their order, so that ranks with
 * some of the runs each get the same sum together. */
enum { OA_SQUARES_RUN = 65536 };

/* dry: `plan`; else the device of oa_context_set_device, or `cpu`. A device that lacks a required
 * operation is refused. */
enum oa_error oa_device_open(oa_context *c, enum oa_precision p, bool dry, struct oa_device **out);
void oa_device_close(struct oa_device *d);
/* After a first step: gives every worker the scratch and the primitives that any of them needed, so
 * that later steps allocate nothing, whichever worker runs which item. */
void oa_device_settle(struct oa_device *d);
void oa_device_sync(struct oa_device *d); /* all operations are done on return */

/* ---- addresses ---- */

/* Address of element i of an array of `size`-byte elements; NULL stays NULL (operands that are not
 * there). */
static inline void *oa_at(const void *x, size_t size, long i)
{
    return x ? (char *)(uintptr_t)x + (size_t)i * size : NULL;
}

static inline void *oa_act_at(const struct oa_device *d, const void *x, long i)
{
    return oa_at(x, d->numbers.act_size, i);
}

static inline void *oa_real_at(const struct oa_device *d, const void *x, long i)
{
    return oa_at(x, d->numbers.real_size, i);
}

/* ---- memory (device_memory.c) ---- */

/* An arena of the device's memory; a dry one on the plan device. */
void oa_device_arena(struct oa_arena *a, struct oa_device *d);

/* The device's bytes for the host to read and write: the memory itself where it is shared, else a
 * copy. */
enum oa_view_use { OA_VIEW_READ = 1, OA_VIEW_WRITE = 2 };
struct oa_view {
    struct oa_device *device;
    void *memory, *host;
    size_t bytes;
    unsigned use;
};
/* Returns v->host; NULL after a recorded failure, and on the plan device. OA_VIEW_READ: it has the
 * device's bytes; OA_VIEW_WRITE: it is written back by close. Close in any case. */
void *oa_view_open(struct oa_view *v, struct oa_device *d, const void *memory, size_t bytes,
                   unsigned use);
void oa_view_close(struct oa_view *v);
/* For open views: copies from the device; copies to it. */
void oa_view_fetch(const struct oa_view *v);
void oa_view_store(const struct oa_view *v);

/* Reals of the host, in the device's type. */
static inline double oa_real_get(const struct oa_device *d, const void *host, long i)
{
    return d->numbers.real == OA_F64 ? ((const double *)host)[i] : (double)((const float *)host)[i];
}

static inline void oa_real_set(const struct oa_device *d, void *host, long i, double value)
{
    if (d->numbers.real == OA_F64)
        ((double *)host)[i] = value;
    else
        ((float *)host)[i] = (float)value;
}

/* Numbers of the device as doubles: reals, one or n, and acts. On the plan device nothing is read
 * or written. */
double oa_real_read(struct oa_device *d, const void *x, long i);
void oa_real_write(struct oa_device *d, void *x, long i, double value);
void oa_reals_read(struct oa_device *d, long n, const void *x, double *out);
void oa_reals_read_floats(struct oa_device *d, long n, const void *x, float *out);
void oa_reals_write(struct oa_device *d, long n, const double *values, void *x);
void oa_acts_read(struct oa_device *d, long n, const void *act, double *out);
void oa_acts_write(struct oa_device *d, long n, const double *values, void *act);
/* The device's acts and the host's reals. */
void oa_acts_upload(struct oa_device *d, long n, const void *host, void *act);
void oa_acts_download(struct oa_device *d, long n, const void *act, void *host);

#endif
