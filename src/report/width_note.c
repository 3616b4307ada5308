/* SPDX-License-Identifier: Apache-2.0
 * What --equal params changed. */
#include "report/notes.h"

#include <math.h>

void oa_report_widths(const struct oa_comparison *k, struct oa_text *out)
{
    const char *before = "Parameters were made equal by the width of the feed-forward layers:";
    bool changed = false;
    for (int i = 0; i < k->count; i++)
        changed = changed || k->entries[i].ffn != k->entries[0].ffn;
    if (k->equal != OA_EQUAL_PARAMS || !changed)
        return;
    for (int i = 0; i < k->count; i++) {
        double change = 100 * ((double)k->entries[i].ffn / (double)k->entries[0].ffn - 1);
        oa_text_printf(out, "%s %s %ld", before, oa_entry_name(&k->entries[i]), k->entries[i].ffn);
        if (k->entries[i].ffn != k->entries[0].ffn)
            oa_text_printf(out, " (%s%.*f %%)", change < 0 ? "−" : "+", fabs(change) < 10,
                           fabs(change));
        before = ",";
    }
    oa_text_printf(out, ".\n");
}
