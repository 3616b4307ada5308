/* SPDX-License-Identifier: Apache-2.0
 * Element types, as safetensors names them, and the precisions made of them. */
#include "base/base.h"
#include "base/safetensors.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[OA_TYPES] = {
    [OA_F32] = { "F32", 4 }, [OA_BF16] = { "BF16", 2 }, [OA_F64] = { "F64", 8 },
    [OA_I32] = { "I32", 4 }, [OA_I64] = { "I64", 8 },   [OA_U8] = { "U8", 1 },
    [OA_F16] = { "F16", 2 }, [OA_BOOL] = { "BOOL", 1 },
};

size_t oa_type_size(enum oa_type t)
{
    return types[t].size;
}

const char *oa_type_name(enum oa_type t)
{
    return types[t].name;
}

/* ---- precisions ---- */

static const struct {
    const char *name;
    enum oa_type act, real;
} precisions[] = {
    [OA_PRECISION_F32] = { "f32", OA_F32, OA_F32 },
    [OA_PRECISION_BF16] = { "bf16", OA_BF16, OA_F32 },
    [OA_PRECISION_F64] = { "f64", OA_F64, OA_F64 },
};

struct oa_numbers oa_numbers_of(enum oa_precision p)
{
    return (struct oa_numbers){ .precision = p,
                                .act = precisions[p].act,
                                .real = precisions[p].real,
                                .act_size = types[precisions[p].act].size,
                                .real_size = types[precisions[p].real].size };
}

const char *oa_precision_name(enum oa_precision p)
{
    return precisions[p].name;
}

bool oa_precision_parse(const char *name, enum oa_precision *out)
{
    for (int p = 0; p < (int)(sizeof precisions / sizeof *precisions); p++)
        if (strcmp(name, precisions[p].name) == 0) {
            *out = (enum oa_precision)p;
            return true;
        }
    return false;
}

/* ---- elements of arrays ---- */

/* Exact: half precision has 10 bits of fraction, and subnormal numbers. */
static double half_value(uint16_t x)
{
    int exponent = x >> 10 & 31, fraction = x & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);
    return x & 0x8000 ? -size : size;
}

/* memcpy: tensors of a file may be unaligned. */
double oa_array_value(const struct oa_array *a, size_t i)
{
    const char *at = (const char *)a->data + i * oa_type_size(a->type);
    union {
        float f32;
        uint16_t bf16, f16;
        double f64;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
    } v;
    memcpy(&v, at, oa_type_size(a->type));
    switch (a->type) {
    case OA_F32:
        return (double)v.f32;
    case OA_BF16:
        return (double)oa_bf16_to_float(v.bf16);
    case OA_F64:
        return v.f64;
    case OA_I32:
        return (double)v.i32;
    case OA_I64:
        return (double)v.i64;
    case OA_F16:
        return half_value(v.f16);
    case OA_U8:
    case OA_BOOL:
        return (double)v.u8;
    default:
        return 0;
    }
}
