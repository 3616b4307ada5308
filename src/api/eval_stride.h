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
    /* The guide's mean: of a window it has the mean over its targets, and weighs it by the number
     * of its tokens that no earlier window has, less 1. */
    double guide;
    uint64_t bytes, characters; /* of the targets; 0: token ids without text */
};
/* Window k has the tokens from k·stride on, `context` of them or what is left, of which those that
 * no earlier window has are targets; without an earlier window in it, its first token is none.
 * OA_INTERRUPTED when a stop is requested. */
enum oa_error oa_eval_stride(struct oa_trained *t, const struct oa_tokens *tokens, long context,
                             long stride, struct oa_stride_loss *out);

#endif
