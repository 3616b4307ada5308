/* SPDX-License-Identifier: Apache-2.0
 * Right operands that are packed once for many products; see cpu_panels.h. */
#include "device/cpu/cpu_panels.h"

struct oa_panels oa_panels_take(const struct oa_device *d, struct oa_arena *scratch, long most,
                                long width, bool pair, bool *failed)
{
    const struct oa_kernels *k = &d->cpu->kernels;
    struct oa_panels p = { 0 };
    if (!k->gemm_part)
        return p;
    struct oa_gemm g = { .n = pair ? most : width, .k = pair ? width : most };
    p.step = k->gemm_packed_bytes(&(struct oa_gemm){ .n = OA_PANEL, .k = pair ? width : OA_PANEL });
    p.x = oa_arena_take(scratch, k->gemm_packed_bytes(&g));
    *failed |= !p.x;
    return p;
}

static void pack_into_panels(const struct oa_device *d, struct oa_panels *p, const void *x,
                             const struct oa_gemm *g)
{
    if (p->x)
        d->cpu->kernels.gemm_pack(g, &(struct oa_gemm_part){ .rows = g->k, .cols = g->n }, x, p->x);
    p->k = g->k;
}

void oa_panels_pair(const struct oa_device *d, struct oa_panels *p, const void *x, long ld,
                    long rows, long width)
{
    pack_into_panels(d, p, x, &(struct oa_gemm){ .n = rows, .k = width, .ldb = ld, .tb = true });
}

void oa_panels_rows(const struct oa_device *d, struct oa_panels *p, const void *x, long ld,
                    long rows, long width)
{
    pack_into_panels(d, p, x, &(struct oa_gemm){ .n = width, .k = rows, .ldb = ld });
}

bool oa_panels_serve(const struct oa_panels *p, const struct oa_gemm *g)
{
    return p->x && g->m >= OA_PANEL;
}

void oa_panels_multiply(const struct oa_device *d, struct oa_gemm_state *s, const struct oa_gemm *g,
                        const void *a, const void *b, const struct oa_panels *p, long first,
                        void *c)
{
    const struct oa_kernels *k = &d->cpu->kernels;
    struct oa_gemm part = *g;
    part.packed_k = p->k;
    if (oa_panels_serve(p, g))
        k->gemm_part(s, &part, &(struct oa_gemm_part){ .rows = g->m, .cols = g->n }, a, b,
                     (const char *)p->x + (size_t)(first / OA_PANEL) * p->step, c);
    else
        k->gemm(s, g, a, b, c);
}
