/* SPDX-License-Identifier: Apache-2.0
 * Tiles of the processor. Written in assembly, since the intrinsics of compilers do not declare all
 * memory that these instructions read and write (gcc 12 drops stores to the configuration). */
#include "kernels/tile_pack_avx512.h"

/* Follows each load and product. While another program has the other hyperthread of the core, tile
 * instructions alone run at a quarter of their speed; with nops between them matrix products are up
 * to a quarter faster, and on an otherwise idle core no slower. */
#define TILE_ROOM "; nop; nop; nop; nop; nop; nop; nop; nop"

#define TILES ((void)0)
#define tile_zero(t) __asm__ volatile("tilezero %%tmm" #t ::: "memory")
#define tile_load(t, from, row)                                                                    \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t TILE_ROOM ::"r"(from), "r"(row) : "memory")
#define tile_store(t, to, row)                                                                     \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"(row) : "memory")
#define tile_multiply(c, a, b)                                                                     \
    __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c TILE_ROOM ::: "memory")

struct tile_shapes {
    uint8_t palette, start, none[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* All eight tiles are whole. The configuration is a thread's, and oneDNN sets its own: begin
 * before, end after use. */
INLINE void tiles_begin(void)
{
    static const struct tile_shapes shapes = { .palette = 1,
                                               .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
                                               .rows = { 16, 16, 16, 16, 16, 16, 16, 16 } };
    __asm__ volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
}

INLINE void tiles_end(void)
{
    __asm__ volatile("tilerelease" ::: "memory");
}

#include "kernels/tile_multiply.h"
