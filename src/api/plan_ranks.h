/* SPDX-License-Identifier: Apache-2.0
 * plan: the predicted step of several ranks is
 *
 *     arithmetic and memory traffic of a rank's share, as they are counted (train.h: oa_plan_rank)
 *   + max(sent, received)/bandwidth + (2 + log2 R)·latency + messages·overhead
 *
 * where nothing overlaps: the backward pass, the two rounds of the exchange (cluster/tree_sum.h)
 * and the gathering of losses follow each other. Ranks are as fast as this machine, and each has
 * the bandwidth of the network to itself. */
#ifndef ORTHANT_PLAN_RANKS_H
#define ORTHANT_PLAN_RANKS_H

#include "api/api.h"
#include "train/step_time.h"

enum { OA_RANK_PLANS = 64 };
struct oa_rank_plans {
    struct oa_rank_plan {
        long ranks;
        struct oa_plan plan;       /* of one of them */
        double computing, waiting; /* seconds of a step */
    } of[OA_RANK_PLANS];
    int count; /* 0: for one rank alone */
};
/* For 1 … cluster.ranks, as many of them as divide train.accumulate, at most OA_RANK_PLANS, the
 * largest of these. */
enum oa_error oa_rank_plans_make(oa_context *c, const struct oa_options *o,
                                 const struct oa_model_form *form,
                                 const struct oa_step_shape *shape,
                                 const struct oa_machine_rates *rates, struct oa_rank_plans *out);
void oa_rank_plans_text(oa_context *c, const char *attention, const struct oa_options *o,
                        const struct oa_rank_plans *p, int width, struct oa_text *out);
json_t *oa_rank_plans_json(oa_context *c, const struct oa_rank_plans *p);

#endif
