/* SPDX-License-Identifier: Apache-2.0
 * How fast the kernels are, and how fast the machine could be. */
#ifndef ORTHANT_KERNEL_BENCH_H
#define ORTHANT_KERNEL_BENCH_H

#include "kernels/kernels.h"

/* One version of one kernel on one core, with its data in the cache.
 * ns: for each element of the problem (rows · columns; of C for a product); rate: GFLOP/s of
 * products, else GB/s of operands read and written, by `unit`; speedup: over the plain C version;
 * worst_error: the largest error as a share of what kernel_cases.h allows. Strings are valid during
 * the call. */
typedef void oa_kernel_row(void *argument, const char *kernel, const char *precision,
                           const char *version, double ns, double rate, const char *unit,
                           double speedup, double worst_error);

/* Calls row() for every version of every kernel that this processor can run, f32 then bf16. Takes
 * some seconds; a requested stop ends it after the current kernel. */
void oa_kernels_bench(oa_context *c, oa_kernel_row *row, void *argument);

/* GFLOP/s, or GB/s read and written: of one core, and of all threads of the context, as many as can
 * run at once (base.h: oa_cpu_concurrency) added up; the best of many slices of a tenth of a
 * millisecond (of a copy, a dozen longer ones), since other programs can only slow them down; and
 * the median, the typical rate at the time of measurement. */
struct oa_peak_rate {
    double one, all, one_median, all_median;
    const char *how; /* what was run, in words */
};

/* Peak rates of the machine with the context's instruction set, by loops of nothing but these
 * instructions, on numbers like those of models. Takes about a second; a requested stop ends it,
 * and rates not measured are 0. */
struct oa_peak {
    struct oa_peak_rate f32, bf16; /* matrix arithmetic */
    struct oa_peak_rate loads; /* AMX: bf16 products with a tile loaded for each; all 0 elsewhere */
    struct oa_peak_rate copy;  /* memory */
};
void oa_kernels_peak(oa_context *c, struct oa_peak *out);

/* FLOPs a second at which a step in that precision could run, of one core or of all threads: with
 * AMX the peak of products with loads, because steps run at the clock of these. f64 has half of
 * f32's, since a vector holds half as many. */
double oa_peak_flops(const struct oa_peak *p, enum oa_precision precision, bool one);

/* AMX on a shared machine has two states, in which tiles are loaded at very different speeds:
 * "fast" and "slow", by the median with loads as a share of the best without; "changing" between;
 * "" where nothing was measured with loads. */
const char *oa_peak_state(const struct oa_peak *p);

/* Bytes per second that all threads of the context together read of `bytes` contiguous bytes, with
 * the widest loads of the processor; the best of some passes in several ways, by `clock`, in
 * seconds. Bytes that fit in a cache are read from there. 0 after a failure. */
double oa_reading_rate(oa_context *c, size_t bytes, double (*clock)(void));

/* Rounds of which each of some tries takes `seconds` or more: the least power of two.
 * take(argument, rounds) gives the seconds that so many take. One try is not enough: if it is
 * interrupted it seems to take long enough, and a measurement with so few rounds would mostly
 * measure the clock. */
long oa_enough_rounds(double (*take)(void *argument, long rounds), void *argument, double seconds);

/* The loops: each runs `rounds` times PEAK_CHAINS independent instructions and gives a number that
 * depends on them. */
enum { PEAK_CHAINS = 12, PEAK_TILE = 2 * 16 * 16 * 32 /* FLOPs of a product of tiles */ };
float oa_peak_avx2(long rounds, float x);
float oa_peak_avx512(long rounds, float x);
float oa_peak_avx512bf16(long rounds, float x);
float oa_peak_amx(long rounds, float x);
float oa_peak_amx_loads(long rounds,
                        float x); /* 2 × 2 tiles of sums: a load of a tile for each product */

/* Copies of whole lines, aligned, whose stores go past the caches: nothing reads a line to write
 * it. */
enum { COPY_AHEAD = 8192 /* prefetch distance in bytes */ };
void oa_copy_past_caches_avx2(const char *from, char *to, size_t bytes);
void oa_copy_past_caches_avx512(const char *from, char *to, size_t bytes);

/* How memory is read: rows at a time, and prefetch distance in bytes (0: none). */
struct oa_read_way {
    size_t rows, ahead;
};
uint64_t oa_read_avx2(const char *from, size_t bytes, struct oa_read_way way);
uint64_t oa_read_avx512(const char *from, size_t bytes, struct oa_read_way way);

#endif
