/* SPDX-License-Identifier: Apache-2.0 */
#include "train/arithmetic.h"

#include "device/device_list.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

int oa_arithmetic_name(oa_context *c, enum oa_precision precision, char out[OA_ARITHMETIC],
                       int *before)
{
    const char *isa = oa_isa_name(oa_context_isa(c));
    char device[OA_DEVICE_LABEL];
    struct oa_kernels k;
    oa_device_label(c, device);
    if (device[0])
        return *before = snprintf(out, OA_ARITHMETIC, "%s", device);
    oa_kernels_init(&k, precision, oa_context_isa(c), oa_context_cpu(c));
    int n = *before = snprintf(out, OA_ARITHMETIC, "%.100s, %s", oa_context_cpu(c)->name, isa);
    if (k.gemm_name && strcmp(k.gemm_name, isa) != 0)
        n += snprintf(out + n, OA_ARITHMETIC - (size_t)n, ", %.40s", k.gemm_name);
    return n;
}
