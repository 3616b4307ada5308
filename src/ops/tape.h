/* SPDX-License-Identifier: Apache-2.0
 * Nodes of the tape; private to ops/ (tape.c, trace.c). */
#ifndef ORTHANT_OPS_TAPE_H
#define ORTHANT_OPS_TAPE_H

#include "ops/ops.h"

struct oa_node {
    struct oa_node *before;
    oa_backward *backward;
    void *saved;
    oa_tensor *made;        /* tensors allocated since the node before, newest first */
    const oa_tensor *wrote; /* the lent tensor (or view of one) that it wrote, or NULL */
    struct oa_trace trace;
};

/* Runs backward of one node, and frees its tensors for reuse. */
void oa_node_run(oa_tape *t, struct oa_node *n);

#endif
