/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to synthetic: a set of 64-bit hashes of the inputs drawn so far. Repetitions are always
 * detected; a hash collision, once in 10^19 pairs, costs one more draw.
 */
#ifndef ORTHANT_SEEN_INPUTS_H
#define ORTHANT_SEEN_INPUTS_H

#include "base/base.h"

struct oa_seen {
    uint64_t *mark; /* 0: free */
    uint64_t mask;  /* places - 1 */
};
enum oa_error oa_seen_open(oa_context *c, long most,
                           struct oa_seen *out); /* room for `most` inputs */
void oa_seen_close(struct oa_seen *s);
bool oa_seen_add(struct oa_seen *s, const char *input, size_t length); /* false: a repetition */

#endif
