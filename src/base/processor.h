/* SPDX-License-Identifier: Apache-2.0
 * The processor: instruction sets, cores available to this process, caches, memory. */
#ifndef ORTHANT_BASE_PROCESSOR_H
#define ORTHANT_BASE_PROCESSOR_H

#include "base/base.h"

/* Each includes the ones before it. */
enum oa_isa { OA_ISA_REF, OA_ISA_AVX2, OA_ISA_AVX512, OA_ISA_AMX };
struct oa_cpu {
    char name[64];
    /* Present, and enabled by the operating system. */
    bool avx2, fma, f16c, avx512, avx512_bf16, amx_bf16;
    bool prefetches_early; /* prefetches sequential lines so well that software prefetch costs time
                            */
    int cores;             /* usable at once, ≥ 1: the least of the three below, rounded up */
    int online;            /* of the machine */
    int affinity;          /* allowed by sched_setaffinity(2), cpusets */
    double quota;          /* CPU seconds per second that the cgroup allows; 0: no limit */
    char quota_file[160];  /* the cgroup file with that limit */
    size_t l1, l2, l3, memory; /* bytes; 0 = unknown */
};
void oa_cpu_detect(struct oa_cpu *cpu);
/* How many of `threads` can run at once; a fraction under a cgroup quota. */
double oa_cpu_concurrency(const struct oa_cpu *cpu, int threads);
enum oa_isa oa_cpu_isa(const struct oa_cpu *cpu); /* the best that this processor has */
const char *oa_isa_name(enum oa_isa isa);         /* "ref", "avx2", "avx512", "amx" */

const struct oa_cpu *oa_context_cpu(const oa_context *c);
enum oa_isa oa_context_isa(const oa_context *c); /* after --isa */

#endif
