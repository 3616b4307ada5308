/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plan_card.h"

#include "print/print.h"

void oa_card_memory_text(const struct oa_listed_device *card, struct oa_text *out)
{
    char has[OA_NUMBER];
    oa_text_printf(out, "\nMemory of %s, %s: %s.\n", card->name, card->card,
                   oa_number_bytes(has, (double)card->memory));
}

void oa_card_excess_text(const struct oa_listed_device *card, const char *attention,
                         const struct oa_plan *plan, struct oa_text *out)
{
    char needs[OA_NUMBER];
    double bytes = plan->memory_parameters + plan->memory_activations + plan->memory_scratch;
    if (bytes > (double)card->memory)
        oa_text_printf(out,
                       "%s needs %s, more than that: make train.batch smaller and "
                       "train.accumulate larger, or the model smaller.\n",
                       attention, oa_number_bytes(needs, bytes));
}
