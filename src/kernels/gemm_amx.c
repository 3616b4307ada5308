/* SPDX-License-Identifier: Apache-2.0
 * Matrix products in bf16 on the tiles of the processor. */
#include "kernels/tile_amx.h"

#include "kernels/tile_table.h"

void oa_kernels_amx(struct oa_kernels *k)
{
    use_packed_products(k, OA_ISA_AMX, "orthant amx");
}
