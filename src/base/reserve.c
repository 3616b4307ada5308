/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reserve.h"

#include <string.h>

bool oa_reserve(oa_context *c, void *array, size_t *capacity, size_t needed, size_t item_bytes)
{
    if (needed <= *capacity)
        return true;
    size_t wanted = *capacity * 2 > needed ? *capacity * 2 : needed;
    if (wanted < 16)
        wanted = 16;
    void *old;
    memcpy(&old, array, sizeof old); /* any kind of pointer */
    void *grown = oa_grow(c, old, *capacity * item_bytes, wanted * item_bytes);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
