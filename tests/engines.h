/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the attention engines share: tensors that hold the device's numbers and the
 * same as doubles, how far two may be apart, and a device of each precision. Padded rows and
 * columns to spare hold NaN throughout.
 */
#ifndef ORTHANT_ENGINES_H
#define ORTHANT_ENGINES_H

#include "testing.h"

#include "device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors: the device's numbers and the same as doubles
 * ------------------------------------------------------- */

struct tensor {
    long n;
    enum oa_type type;
    void *data;
    double *value;
};

static inline void put(struct tensor *t, long i, double x)
{
    if (t->type == OA_F64)
        ((double *)t->data)[i] = x;
    else if (t->type == OA_F32)
        ((float *)t->data)[i] = (float)x;
    else
        ((uint16_t *)t->data)[i] = oa_float_to_bf16((float)x);
}

static inline double get(const struct tensor *t, long i)
{
    if (t->type == OA_F64)
        return ((const double *)t->data)[i];
    return t->type == OA_F32 ? (double)((const float *)t->data)[i]
                             : (double)oa_bf16_to_float(((const uint16_t *)t->data)[i]);
}

static inline void set(struct tensor *t, long i, double x)
{
    put(t, i, x);
    t->value[i] = get(t, i);
}

static inline struct tensor filled(long n, enum oa_type type, double x)
{
    struct tensor t = { n, type, NULL, malloc((size_t)(n + 1) * sizeof(double)) };
    t.data = aligned_alloc(64, ((size_t)n * oa_type_size(type) + 127) / 64 * 64);
    for (long i = 0; i < n; i++)
        set(&t, i, x);
    return t;
}

static uint64_t draws;

static inline struct tensor drawn(long n, enum oa_type type, double scale)
{
    struct tensor t = filled(n, type, 0);
    for (long i = 0; i < n; i++)
        set(&t, i, scale * oa_random_normal((struct oa_stream){ 7, draws }, (uint64_t)i));
    draws++;
    return t;
}

static inline void drop(struct tensor *t)
{
    free(t->data);
    free(t->value);
    *t = (struct tensor){ 0 };
}

static inline double norm_of(const struct tensor *t)
{
    double sum = 0;
    for (long i = 0; i < t->n; i++)
        sum += isnan(t->value[i]) ? 0 : t->value[i] * t->value[i];
    return sqrt(sum);
}

/* ‖got − want‖ / (‖want‖ + floor): some gradients are 0 in theory, so the floor is a twentieth of
 * the norm of dO. */
static inline double distance(const struct tensor *got, const struct tensor *want,
                              const struct tensor *d_o)
{
    double difference = 0;
    for (long i = 0; i < want->n; i++) {
        double e = get(got, i) - want->value[i];
        difference += e * e;
    }
    return sqrt(difference) / (norm_of(want) + 0.05 * norm_of(d_o) + 1e-12);
}

static inline double tolerance(enum oa_precision p)
{
    return p == OA_PRECISION_F64 ? 1e-12 : p == OA_PRECISION_F32 ? 2e-5 : 3e-2;
}

/* ---- rows with columns to spare
 * ---------------------------------------------------------------------------------- */

enum { SPARE = 3 }; /* columns of a leading dimension beyond the heads' */

/* NaN in padded rows of a [batch·length, ld] tensor. */
static inline void poison(struct tensor *t, long ld, long length, const int32_t *lengths,
                          long batch)
{
    for (long b = 0; lengths && b < batch; b++)
        for (long i = lengths[b]; i < length; i++)
            for (long c = 0; c < ld; c++)
                put(t, (b * length + i) * ld + c, NAN);
}

static inline struct tensor zeros_like(const struct tensor *t, double x)
{
    return filled(t->n, t->type, x);
}

/* Zeros in the columns of the heads; the spare ones are not written and stay NaN in both. */
static inline struct tensor want_rows(const struct tensor *t)
{
    return t->data ? filled(t->n, OA_F64, 0) : (struct tensor){ 0 };
}

static inline void compare_bits(const struct tensor *a, const struct tensor *b)
{
    assert_int_equal(a->n, b->n);
    if (a->n)
        assert_memory_equal(a->data, b->data, (size_t)a->n * oa_type_size(a->type));
}

/* ---- devices
 * -----------------------------------------------------------------------------------------------------
 */

static oa_context *context;
static struct oa_device *devices[3]; /* one a precision */

static inline struct oa_device *open_device(oa_context *c, enum oa_precision p)
{
    struct oa_device *d;
    assert_int_equal(oa_device_open(c, p, false, &d), OA_OK);
    return d;
}

static inline int open_all(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    for (int p = 0; p < 3; p++)
        devices[p] = open_device(context, (enum oa_precision)p);
    return 0;
}

static inline int close_all(void **state)
{
    (void)state;
    for (int p = 0; p < 3; p++)
        oa_device_close(devices[p]);
    oa_close(context);
    return 0;
}

#endif
