/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast the kernels are, and how fast the machine could be.
 */
#ifndef ORTHANT_KERNEL_BENCH_H
#define ORTHANT_KERNEL_BENCH_H

#include "kernels/kernels.h"

/* One version of one kernel on one core, with its data in the cache.
 * ns: for each element of the problem (rows · columns; of C for a product); rate: GFLOP/s of products, else GB/s of
 * operands read and written, by `unit`; speedup: over the plain C version; worst_error: the largest error as a share
 * of what kernel_cases.h allows. Strings are valid during the call. */
typedef void oa_kernel_row(void *argument, const char *kernel, const char *precision, const char *version, double ns,
                           double rate, const char *unit, double speedup, double worst_error);

/* Calls row() for every version of every kernel that this processor can run, f32 then bf16. Takes some seconds. */
void oa_kernels_bench(oa_context *c, oa_kernel_row *row, void *argument);

/* What the machine can do at most, by loops that do nothing else: the best of a dozen short runs, since other
 * programs can only slow them down. Takes about half a second. `all` is
 * all threads of the context, which is what everything else here can use. */
struct oa_peak {
    double f32_one, f32_all, bf16_one, bf16_all; /* matrix arithmetic, GFLOP/s */
    double copy_one, copy_all;                   /* memory: bytes read + bytes written by a large copy, GB/s */
    const char *f32_how, *bf16_how;              /* what was run, in words */
};
void oa_kernels_peak(oa_context *c, struct oa_peak *out);

/* The loops: each runs `rounds` times PEAK_CHAINS independent instructions and gives a number that depends on them. */
enum { PEAK_CHAINS = 12 };
float oa_peak_avx2(long rounds, float x);
float oa_peak_avx512(long rounds, float x);
float oa_peak_avx512bf16(long rounds, float x);

#endif
