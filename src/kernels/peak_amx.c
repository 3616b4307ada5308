/* SPDX-License-Identifier: Apache-2.0
 *
 * The bf16 peak of AMX: twelve products of tiles a round, into four tiles of sums; without loads, and with the loads
 * that the innermost loop of a matrix product has (tile_product.h).
 */
#include "kernels/tile_amx.h"

#include "kernels/kernel_bench.h"

static float finish(float x)
{
    _Alignas(64) float sums[256];
    tile_store(0, sums, 64L);
    tiles_end();
    return sums[0] + x;
}

static void begin(void)
{
    tiles_begin();
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    tile_zero(4);
    tile_zero(5);
    tile_zero(6);
    tile_zero(7);
}

float oa_peak_amx(long rounds, float x)
{
    begin();
    for (long r = 0; r < rounds * (PEAK_CHAINS / 4); r++) {
        tile_multiply(0, 4, 6);
        tile_multiply(1, 4, 7);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
    return finish(x);
}

float oa_peak_amx_loads(long rounds, float x)
{
    _Alignas(64) static const uint16_t tiles[4][512];
    begin();
    for (long r = 0; r < rounds * (PEAK_CHAINS / 4); r++) {
        tile_load(4, tiles[0], 64L);
        tile_load(6, tiles[1], 64L);
        tile_multiply(0, 4, 6);
        tile_load(7, tiles[2], 64L);
        tile_multiply(1, 4, 7);
        tile_load(5, tiles[3], 64L);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
    return finish(x);
}
