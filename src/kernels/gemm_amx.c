/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products in bf16 on the tiles of the processor. Single rows, of which tiles would move all of B for one
 * product, go to the product for AVX-512 (vector_gemm_row.h).
 */
#include "kernels/tile_amx.h"

#include "kernels/tile_product.h"

struct oa_gemm_state {
    struct oa_kernels own; /* for what tiles are not used for */
    struct oa_gemm_state *own_state;
    struct tile_room room;
};

static void gemm_close(struct oa_gemm_state *s)
{
    if (!s)
        return;
    if (s->own_state)
        s->own.gemm_close(s->own_state);
    oa_free(s->room.a);
    oa_free(s);
}

static struct oa_gemm_state *gemm_open(oa_context *c, enum oa_precision p)
{
    struct oa_gemm_state *s = oa_alloc(c, sizeof *s);
    void *memory = s ? oa_alloc(c, tile_room_bytes) : NULL;
    if (memory) {
        s->room = tile_room(memory);
        oa_kernels_own(&s->own, p, OA_ISA_AVX512, oa_context_cpu(c));
        s->own_state = s->own.gemm_open(c, p);
    }
    if (s && !s->own_state) {
        gemm_close(s);
        return NULL;
    }
    return s;
}

static void gemm_part(struct oa_gemm_state *s, const struct oa_gemm *g, const struct oa_gemm_part *part, const void *a,
                      const void *b, const void *packed, void *c)
{
    multiply_part(&s->room, g, part, a, b, packed, c);
}

static void gemm(struct oa_gemm_state *s, const struct oa_gemm *g, const void *a, const void *b, void *c)
{
    if (g->m > 1 && g->k > 0)
        multiply_part(&s->room, g, &(struct oa_gemm_part){ 0, g->m, 0, g->n }, a, b, NULL, c);
    else
        s->own.gemm(s->own_state, g, a, b, c);
}

void oa_kernels_amx(struct oa_kernels *k)
{
    if (k->precision != OA_PRECISION_BF16)
        return;
    k->gemm_open = gemm_open;
    k->gemm_close = gemm_close;
    k->gemm_share = NULL;
    k->gemm = gemm;
    k->gemm_packed_bytes = gemm_packed_bytes;
    k->gemm_pack = gemm_pack;
    k->gemm_part = gemm_part;
    k->isa = OA_ISA_AMX;
    k->gemm_name = "orthant amx";
}
