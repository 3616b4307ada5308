/* SPDX-License-Identifier: Apache-2.0
 * Which words of a source the words of a target were made of, by cross-attention. */
#ifndef ORTHANT_INSPECT_ALIGNMENT_H
#define ORTHANT_INSPECT_ALIGNMENT_H

#include "inspect/inspect.h"

/* A matrix of weights between the tokens of a target and those of its source. */
struct oa_alignment {
    oa_context *context;
    long targets, sources;
    double *weight; /* [targets, sources] */
};
/* The mean over the heads of the cross-attention of the last decoder layer but one (of the only one
 * where there is one), from which Garg et al. 2019 (arXiv 1909.02074, section 4.2) read alignments
 * that nobody trained. Row t is what was looked at when token t + 1 of `target` was expected. The
 * tape is used up; close also after an error. A layer whose mechanism has no map is refused. */
enum oa_error oa_alignment_open(oa_tape *t, struct oa_model *m, const struct oa_sequences *target,
                                const struct oa_sequences *source, struct oa_alignment *out);
void oa_alignment_close(struct oa_alignment *a);

/* link [words of the target] the word of the source that has the most weight with each, all its
 * tokens together; the first of equal ones; −1: it has none with any. target_word [targets],
 * source_word [sources]: the word of each token, from 0, or −1 where it is of none. */
enum oa_error oa_alignment_link(const struct oa_alignment *a, const int32_t *target_word,
                                const int32_t *source_word, long words, int32_t *link);

#endif
