/* SPDX-License-Identifier: Apache-2.0
 * kernels: filling the table. Plain C first, then every version that the processor can run, weakest
 * to strongest, each of which overwrites the pointers it improves. Matrix products come last: those
 * of oneDNN where it may be used, then our own on packed operands. */
#include "kernels/kernels.h"

void oa_kernels_own(struct oa_kernels *k, enum oa_precision p, enum oa_isa isa,
                    const struct oa_cpu *cpu)
{
    enum oa_isa best = oa_cpu_isa(cpu);
    if (isa > best)
        isa = best;
    oa_kernels_ref(k, p);
    if (p == OA_PRECISION_F64)
        return;
#ifdef __x86_64__
    if (isa >= OA_ISA_AVX2)
        oa_kernels_avx2(k);
    if (isa >= OA_ISA_AVX512)
        oa_kernels_avx512(k);
    if (isa >= OA_ISA_AVX512 && cpu->avx512_bf16)
        oa_kernels_avx512bf16(k);
#endif
}

void oa_kernels_unpacked(struct oa_kernels *k, enum oa_precision p, enum oa_isa isa,
                         const struct oa_cpu *cpu)
{
    oa_kernels_own(k, p, isa, cpu);
#ifdef ORTHANT_ONEDNN
    oa_kernels_onednn(k, isa);
#endif
}

void oa_kernels_without_amx(struct oa_kernels *k, enum oa_precision p, enum oa_isa isa,
                            const struct oa_cpu *cpu)
{
    oa_kernels_unpacked(k, p, isa, cpu);
#ifdef __x86_64__
    if (isa >= OA_ISA_AVX512 && oa_cpu_isa(cpu) >= OA_ISA_AVX512 && cpu->avx512_bf16)
        oa_kernels_pairs(k);
#endif
}

void oa_kernels_init(struct oa_kernels *k, enum oa_precision p, enum oa_isa isa,
                     const struct oa_cpu *cpu)
{
    oa_kernels_without_amx(k, p, isa, cpu);
#ifdef __x86_64__
    if (isa >= OA_ISA_AMX && oa_cpu_isa(cpu) >= OA_ISA_AMX) {
        oa_kernels_amx(k);
        oa_kernels_gelu_amx(k);
    }
#endif
}
