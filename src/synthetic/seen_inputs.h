/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to synthetic: which inputs were drawn already, by 64 bits of each. Equal inputs are
 * always noticed; two others that share their bits, once in 10^19 pairs, cost one more draw.
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
bool oa_seen_add(struct oa_seen *s, const char *input,
                 size_t length); /* false: it is there already */

#endif
