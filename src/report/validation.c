/* SPDX-License-Identifier: Apache-2.0
 * How much of the validation text a loss is of. Every token but the first can be predicted. */
#include "report/report.h"

#include <math.h>
#include <string.h>

double oa_validation_used(const struct oa_comparison *k)
{
    for (int e = 0; e < k->count; e++)
        for (int r = 0; r < k->seeds; r++)
            if (oa_run_finished(k, &k->entries[e].runs[r]))
                return k->entries[e].runs[r].valid_tokens;
    return NAN;
}

/* Classes and numbers are one an example. */
static bool tokens_are_predicted(const struct oa_comparison *k)
{
    return !k->measures || strstr(k->measures[0].unit, "token") != NULL;
}

const char *oa_validation_unit(const struct oa_comparison *k)
{
    return tokens_are_predicted(k) ? "validation tokens" : "validation examples";
}

void oa_validation_text(const struct oa_comparison *k, double used, struct oa_text *out)
{
    double all = k->examples ? k->valid_tokens : k->valid_tokens - 1;
    const char *of =
        tokens_are_predicted(k) ? "targets of the validation examples" : "validation examples";
    if (k->examples && used >= all)
        oa_text_printf(out, "all %.0f %s", all, of);
    else if (k->examples && isfinite(used))
        oa_text_printf(out, "%.0f of the %.0f %s", used, all, of);
    else if (used >= all)
        oa_text_printf(out, "all %.0f tokens of the validation text but its first", all);
    else if (isfinite(used) && isfinite(all))
        oa_text_printf(out, "%.0f of the %.0f tokens of the validation text", used,
                       k->valid_tokens);
    else
        oa_text_printf(out, "an unknown part of the validation text");
}

void oa_validation_sentence(const struct oa_comparison *k, struct oa_text *out)
{
    double used = oa_validation_used(k);
    if (isnan(used))
        return;
    oa_text_printf(out, " Losses are measured on ");
    oa_validation_text(k, used, out);
    oa_text_printf(out, ".");
}
