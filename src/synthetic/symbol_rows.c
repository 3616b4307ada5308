/* SPDX-License-Identifier: Apache-2.0 */
#include "synthetic/symbol_rows.h"

#include <math.h>

long oa_row_draw(const long *size, long alphabet, struct oa_dice *dice, struct oa_example *e)
{
    e->words = oa_dice_between(dice, size[OA_LEAST], size[OA_MOST]);
    for (long i = 0; i < e->words; i++)
        e->room[i] = (int32_t)oa_dice_below(dice, alphabet);
    return e->words;
}

double oa_row_count(const long *size, long alphabet)
{
    double count = 0;
    for (long n = size[OA_LEAST]; n <= size[OA_MOST] && isfinite(count); n++)
        count += pow((double)alphabet, (double)n);
    return count;
}
