/* SPDX-License-Identifier: Apache-2.0
 * How many documents of a stream repeat an earlier one, up to white space, in fixed memory: counted
 * for documents whose hash is in a sample, which is halved whenever it grows too large (distinct
 * sampling, Gibbons 2001). The result does not depend on the order of documents. */
#ifndef ORTHANT_DATA_REPEATS_H
#define ORTHANT_DATA_REPEATS_H

#include "base/base.h"

struct oa_repeats;
enum oa_error oa_repeats_open(oa_context *c, struct oa_repeats **out);
void oa_repeats_close(struct oa_repeats *r); /* NULL: nothing */
void oa_repeats_add(struct oa_repeats *r, const char *text, size_t length);

struct oa_repeats_sum {
    uint64_t documents, repeated; /* of the sample */
    uint64_t bytes, repeated_bytes;
    bool sampled; /* false: of all documents */
};
struct oa_repeats_sum oa_repeats_count(const struct oa_repeats *r);

#endif
