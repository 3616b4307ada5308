/* SPDX-License-Identifier: Apache-2.0
 * Gradients go to other ranks while the backward pass still makes others. A bucket of the flat
 * array (tree_sum.h) is handed out after the last node of the tape that touches one of its
 * parameters. An access tracker (device/wrappers/access_tracker.h) finds that node in each pass for
 * the next one, whose tape has the same nodes. The first pass, and one whose tape differs, hands
 * out nothing. The bits of the sum do not depend on it. */
#ifndef ORTHANT_HANDOUT_H
#define ORTHANT_HANDOUT_H

#include "cluster/tree_sum.h"
#include "device/wrappers/access_tracker.h"
#include "ops/ops.h"

struct oa_handout {
    struct oa_tree_sum *sum;
    const struct oa_store *store;
    struct oa_access_tracker tracker;
    struct oa_stretch *parameter; /* [count] in the order of the flat array */
    int count, node;              /* node of the pass, counted from its first, the newest */
    int *last,
        *seen; /* [buckets] the last node that touched each, -1: none: known, and of this pass */
    uint64_t signature; /* of the tape that `last` is of */
    bool handing;       /* buckets out, in this pass */
};

/* Of the gradients of `s`, whose sum `t` is; both stay. */
enum oa_error oa_handout_open(struct oa_store *s, struct oa_tree_sum *t, struct oa_handout *out);
void oa_handout_close(struct oa_handout *o);
/* oa_tape_backward, and in a rank's last micro-batch of a step, the exchange with it. */
void oa_handout_backward(struct oa_handout *o, oa_tape *tape);

#endif
