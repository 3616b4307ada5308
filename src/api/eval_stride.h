/* SPDX-License-Identifier: Apache-2.0
 * The loss of a text in windows that overlap, averaged as Hugging Face's guide "Perplexity of
 * fixed-length models" averages it. */
#ifndef ORTHANT_API_EVAL_STRIDE_H
#define ORTHANT_API_EVAL_STRIDE_H

#include "api/api.h"

struct oa_stride_loss {
    long windows;
    uint64_t targets;
    double sum; /* nats of all targets, each once */
    /* The guide's mean: the means over the targets of each window, weighted by the number of its
     * tokens that no earlier window has, less 1. */
    double guide;
    uint64_t bytes, characters; /* of the targets; 0: token ids without text */
};
/* Window k is the `context` tokens from k·stride on, or as many as are left. Its targets are those
 * that no earlier window has, but not the first token of the window. OA_INTERRUPTED when a stop is
 * requested. */
enum oa_error oa_eval_stride(struct oa_trained *t, const struct oa_tokens *tokens, long context,
                             long stride, struct oa_stride_loss *out);

#endif
