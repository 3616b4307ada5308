/* SPDX-License-Identifier: Apache-2.0
 * Whether the steps of a plan fit into the memory of a card, without the memory that its driver
 * reserves. */
#ifndef ORTHANT_API_PLAN_CARD_H
#define ORTHANT_API_PLAN_CARD_H

#include "device/device_list.h"
#include "train/train.h"

void oa_card_memory_text(const struct oa_listed_device *card, struct oa_text *out);
/* Adds nothing if it fits. */
void oa_card_excess_text(const struct oa_listed_device *card, const char *attention,
                         const struct oa_plan *plan, struct oa_text *out);

#endif
