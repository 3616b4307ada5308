/* SPDX-License-Identifier: Apache-2.0
 * A range of seeds in words. */
#include "report/report.h"

void oa_seeds_text(struct oa_seeds_range range, struct oa_text *out)
{
    if (range.low > OA_SEEDS_CAP)
        oa_text_printf(out, "more than %d", OA_SEEDS_CAP);
    else if (range.high > OA_SEEDS_CAP)
        oa_text_printf(out, "%d or more", range.low);
    else if (range.high > range.low)
        oa_text_printf(out, "%d–%d", range.low, range.high);
    else
        oa_text_printf(out, "%d", range.low);
}
