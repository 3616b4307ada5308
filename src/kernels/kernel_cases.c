/* SPDX-License-Identifier: Apache-2.0
 * The cases of all subjects as one list, problems made of them, and the tables to solve them with.
 */
#include "kernels/kernel_case_tools.h"

static const struct kernel_case_list *const lists[] = {
    &oa_cases_products, &oa_cases_rows,       &oa_cases_activations, &oa_cases_norm,
    &oa_cases_softmax,  &oa_cases_features,   &oa_cases_transforms,  &oa_cases_random,
    &oa_cases_updates,  &oa_cases_recurrence,
};

const struct kernel_case *oa_kernel_case(int i)
{
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        if (i < lists[l]->count)
            return &lists[l]->cases[i];
        i -= lists[l]->count;
    }
    return NULL;
}

void oa_kernel_problem(struct kernel_problem *p, const struct kernel_case *c, long rows, long cols,
                       long depth, int variant, bool awkward)
{
    *p = (struct kernel_problem){
        .what = c, .rows = c->matrix ? rows : 1, .cols = cols, .depth = depth
    };
    p->variant = variant;
    p->awkward = awkward;
    p->seed = (uint64_t)(rows * 1000003 + cols * 1009 + depth * 31 + variant);
    for (const struct case_operand_kind *k = c->operand; k->extent; k++) {
        long ld = k->extent == OPERAND_COLUMN ? p->rows : p->cols;
        case_put(p, k->type, k->role, k->fill, k->extent == OPERAND_TILE ? p->rows : 1, ld,
                 ld + k->more);
    }
    if (c->shape)
        c->shape(p);
}

kernel_slot *oa_kernel_slot(const struct oa_kernels *k, const struct kernel_case *c)
{
    return *(kernel_slot *const *)((const char *)k + c->slot);
}

int oa_kernel_versions(oa_context *c, enum oa_precision p,
                       struct kernel_version out[KERNEL_VERSIONS])
{
    int count = 0;
    const struct oa_cpu *cpu = oa_context_cpu(c);
    struct oa_kernels k;
    oa_kernels_ref(&k, p);
    out[count++] = (struct kernel_version){ "ref", k };
#ifdef __x86_64__
    if (oa_cpu_isa(cpu) >= OA_ISA_AVX2) {
        oa_kernels_avx2(&k);
        out[count++] = (struct kernel_version){ "avx2", k };
    }
    if (oa_cpu_isa(cpu) >= OA_ISA_AVX512) {
        oa_kernels_avx512(&k);
        out[count++] = (struct kernel_version){ "avx512", k };
    }
    if (p == OA_PRECISION_BF16 && oa_cpu_isa(cpu) >= OA_ISA_AVX512 && cpu->avx512_bf16) {
        oa_kernels_avx512bf16(&k);
        out[count++] = (struct kernel_version){ "avx512bf16", k };
    }
#endif
    if (p == OA_PRECISION_BF16 && cpu->avx512_bf16) { /* the versions that the best one replaces */
        oa_kernels_unpacked(&k, p, oa_cpu_isa(cpu), cpu);
        out[count++] = (struct kernel_version){ k.gemm_name, k };
        oa_kernels_without_amx(&k, p, oa_cpu_isa(cpu), cpu);
        out[count++] = (struct kernel_version){ k.gemm_name, k };
    }
    oa_kernels_init(&k, p, oa_cpu_isa(cpu), cpu);
    out[count++] = (struct kernel_version){ k.gemm_name, k };
    return count;
}

bool oa_kernel_seen(const struct kernel_version *versions, int version, const struct kernel_case *c)
{
    for (int i = 0; i < version; i++)
        if (oa_kernel_slot(&versions[i].table, c) == oa_kernel_slot(&versions[version].table, c))
            return true;
    return false;
}
