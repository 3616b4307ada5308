/* SPDX-License-Identifier: Apache-2.0
 *
 * spending.json: what a comparison with compare.until_resolved has taken so far, over all calls for
 * its folder, with a checksum.
 */
#ifndef ORTHANT_SPENDING_H
#define ORTHANT_SPENDING_H

#include "compare/comparison.h"

struct oa_spending {
    double clock;    /* seconds on the clock on the wall, of whole commands */
    double rounds;   /* of these, in rounds that trained something */
    double training; /* seconds of training without validation, of the runs made in these rounds */
};
/* Nothing was written yet: zeros. OA_FORMAT when the file was changed. */
enum oa_error oa_spending_read(oa_context *c, const char *folder, struct oa_spending *out);
enum oa_error oa_spending_write(oa_context *c, const char *folder,
                                const struct oa_spending *spending);

#endif
