/* SPDX-License-Identifier: Apache-2.0
 * Nodes of the tape. Private to ops/: tape.c makes and runs them, trace.c looks at them. */
#ifndef ORTHANT_OPS_TAPE_H
#define ORTHANT_OPS_TAPE_H

#include "ops/ops.h"

struct oa_node {
    struct oa_node *before;
    oa_backward *backward;
    void *saved;
    oa_tensor *made;        /* the tensors made since the node before, newest first */
    const oa_tensor *wrote; /* what it wrote of a lent tensor, or NULL */
    struct oa_trace trace;
};

/* Backward of one node, and what it leaves becomes room for others. */
void oa_node_run(oa_tape *t, struct oa_node *n);

#endif
