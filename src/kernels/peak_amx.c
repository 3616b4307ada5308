/* SPDX-License-Identifier: Apache-2.0
 * The bf16 peak of AMX: twelve products of tiles a round, into four tiles of sums; without loads,
 * and with the loads that the innermost loop of a matrix product has (tile_product.h). */
#include "kernels/tile_amx.h"

#include "kernels/kernel_bench.h"
#include "kernels/peak_numbers.h"

#include <string.h>

enum { TILE_NUMBERS = 512, SETS = 4 }; /* of four tiles each: 16 KiB, which the L1 cache holds */

struct peak_tiles {
    _Alignas(64) uint16_t tile[4 * SETS][TILE_NUMBERS];
};

static float finish_tiles(float x)
{
    _Alignas(64) float sums[256];
    tile_store(0, sums, 64L);
    tiles_end();
    return sums[0] + x;
}

/* The upper halves of floats are bf16. */
static void begin_tiles(struct peak_tiles *operands)
{
    float numbers[TILE_NUMBERS];
    fill_peak_numbers(numbers, TILE_NUMBERS);
    for (int t = 0; t < 4 * SETS; t++)
        for (int i = 0; i < TILE_NUMBERS; i++) {
            uint32_t bits;
            memcpy(&bits, &numbers[(i + 37 * t) % TILE_NUMBERS], sizeof bits);
            operands->tile[t][i] = (uint16_t)(bits >> 16);
        }
    tiles_begin();
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    tile_load(4, operands->tile[0], 64L);
    tile_load(5, operands->tile[1], 64L);
    tile_load(6, operands->tile[2], 64L);
    tile_load(7, operands->tile[3], 64L);
}

float oa_peak_amx(long rounds, float x)
{
    struct peak_tiles operands;
    begin_tiles(&operands);
    for (long r = 0; r < rounds * (PEAK_CHAINS / 4); r++) {
        tile_multiply(0, 4, 6);
        tile_multiply(1, 4, 7);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
    return finish_tiles(x);
}

float oa_peak_amx_loads(long rounds, float x)
{
    struct peak_tiles operands;
    begin_tiles(&operands);
    for (long r = 0; r < rounds * (PEAK_CHAINS / 4); r++) {
        uint16_t(*set)[TILE_NUMBERS] = &operands.tile[4 * (r % SETS)];
        tile_load(4, set[0], 64L);
        tile_load(6, set[1], 64L);
        tile_multiply(0, 4, 6);
        tile_load(7, set[2], 64L);
        tile_multiply(1, 4, 7);
        tile_load(5, set[3], 64L);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
    return finish_tiles(x);
}
