/* SPDX-License-Identifier: Apache-2.0
 * The table's functions for products in bf16 on packed operands. Products of fewer rows than a tile
 * has use the kernels without packing, because packing all of B would not pay. Included after the
 * innermost loops. */
#include "base/processor.h"
#include "kernels/tile_product.h"

enum { LEAST_ROWS = 16 };

struct oa_gemm_state {
    oa_context *context;
    struct oa_kernels other; /* for a few rows: oneDNN's, or where there is none ours */
    struct oa_gemm_state *other_state;
    struct tile_room room;
};

#include "kernels/tile_attention.h"

static void tile_gemm_close(struct oa_gemm_state *s)
{
    if (!s)
        return;
    if (s->other_state)
        s->other.gemm_close(s->other_state);
    oa_free(s->room.a);
    oa_free(s);
}

static struct oa_gemm_state *tile_gemm_open(oa_context *c, enum oa_precision p)
{
    struct oa_gemm_state *s = oa_alloc(c, sizeof *s);
    void *memory = s ? oa_alloc_raw(c, tile_room_bytes) : NULL;
    if (memory) {
        s->context = c;
        s->room = tile_room(memory);
        s->room.prefetches_early = oa_context_cpu(c)->prefetches_early;
        oa_kernels_unpacked(&s->other, p, oa_context_isa(c), oa_context_cpu(c));
        s->other_state = s->other.gemm_open(c, p);
    }
    if (s && !s->other_state) {
        tile_gemm_close(s);
        return NULL;
    }
    return s;
}

static void tile_gemm_share(struct oa_gemm_state *const *states, int count)
{
    const struct oa_kernels *k = &states[0]->other;
    struct oa_gemm_state **other =
        k->gemm_share ? oa_alloc(states[0]->context, (size_t)count * sizeof *other) : NULL;
    for (int i = 0; other && i < count; i++)
        other[i] = states[i]->other_state;
    if (other)
        k->gemm_share(other, count);
    oa_free(other);
}

/* Not with a few rows, with which tiles would be mostly empty. */
static bool suits_tiles(const struct oa_gemm *g)
{
    return g->m >= LEAST_ROWS && g->k > 0 && !g->invariant_rows;
}

static void tile_gemm(struct oa_gemm_state *s, const struct oa_gemm *g, const void *a,
                      const void *b, void *c)
{
    if (suits_tiles(g))
        multiply_part(&s->room, g, &(struct oa_gemm_part){ 0, g->m, 0, g->n, 0 }, a, b, NULL, c);
    else
        s->other.gemm(s->other_state, g, a, b, c);
}

static void use_packed_products(struct oa_kernels *k, enum oa_isa isa, const char *name)
{
    if (k->precision != OA_PRECISION_BF16)
        return;
    k->gemm_open = tile_gemm_open;
    k->gemm_close = tile_gemm_close;
    k->gemm_share = tile_gemm_share;
    k->gemm = tile_gemm;
    use_parts(k);
    k->isa = isa;
    k->gemm_name = name;
}
