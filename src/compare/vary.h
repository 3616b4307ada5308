/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the spread comes from (Bouthillier et al. 2021, arXiv 2103.03098): beside the runs of a
 * comparison, whose seeds vary initial values, batch order and dropout together, runs in which one
 * source alone has other seeds than in the first run. They lie in vary/attention-NN/SOURCE-SEED,
 * carry checksums, are continued like all others, and take no part in verdicts. The floor is not
 * varied.
 */
#ifndef ORTHANT_VARY_H
#define ORTHANT_VARY_H

#include "compare/comparison_parts.h"

/* Reads compare.vary into out->vary, and refuses what cannot be varied. Writes nothing. */
enum oa_error oa_vary_choose(struct comparison *t);
void oa_vary_expect(struct comparison *t); /* all these runs, in t->overall */
/* Makes the runs of compare.vary, or reads them; after the others. */
enum oa_error oa_comparison_vary(struct comparison *t);

#endif
