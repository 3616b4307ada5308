/* SPDX-License-Identifier: Apache-2.0
 * Alignments of the words of a target to those of its source, by cross-attention. */
#ifndef ORTHANT_INSPECT_ALIGNMENT_H
#define ORTHANT_INSPECT_ALIGNMENT_H

#include "inspect/inspect.h"

/* A matrix of weights between the tokens of a target and those of its source. */
struct oa_alignment {
    oa_context *context;
    long targets, sources;
    double *weight; /* [targets, sources] */
};
/* The mean over the heads of the cross-attention of the last decoder layer but one (or of the only
 * layer), as in the unsupervised alignments of Garg et al. 2019 (arXiv 1909.02074, section 4.2).
 * Row t has the weights with which token t + 1 of `target` was predicted. The tape is reset; close
 * also after an error. OA_UNSUPPORTED: the mechanism of the layer has no map. */
enum oa_error oa_alignment_open(oa_tape *t, struct oa_model *m, const struct oa_sequences *target,
                                const struct oa_sequences *source, struct oa_alignment *out);
void oa_alignment_close(struct oa_alignment *a);

/* link [words of the target]: the source word with the largest sum of weights over the tokens of
 * both, the first of equal ones; −1: all weights are 0. target_word [targets], source_word
 * [sources]: the word of each token, from 0; −1: none. */
enum oa_error oa_alignment_link(const struct oa_alignment *a, const int32_t *target_word,
                                const int32_t *source_word, long words, int32_t *link);

#endif
