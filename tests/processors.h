/* SPDX-License-Identifier: Apache-2.0
 * What products do on processors that are not at hand. */
#ifndef ORTHANT_TEST_PROCESSORS_H
#define ORTHANT_TEST_PROCESSORS_H

#include "testing.h"

#include "kernels/kernels.h"

/* On a processor that looks ahead, or on one that must be asked. */
static struct oa_gemm_state *open_on(oa_context *context, const struct oa_kernels *k,
                                     bool prefetches_early)
{
    struct oa_cpu *cpu = (struct oa_cpu *)oa_context_cpu(context);
    bool here = cpu->prefetches_early;
    cpu->prefetches_early = prefetches_early;
    struct oa_gemm_state *s = k->gemm_open(context, k->precision);
    cpu->prefetches_early = here;
    assert_non_null(s);
    return s;
}

#endif
