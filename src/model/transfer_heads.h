/* SPDX-License-Identifier: Apache-2.0
 * Transfer by head: rows of queries, keys and values are those of the same heads of the pretrained
 * layer, however the heads of both layers are grouped. */
#ifndef ORTHANT_MODEL_TRANSFER_HEADS_H
#define ORTHANT_MODEL_TRANSFER_HEADS_H

#include "model/transfer.h"

/* After matching by name: replaces the fit of parameters with a part for each head. Other
 * parameters of a group that names do not match are taken where all its heads were in one group
 * there. */
void oa_transfer_match_heads(struct oa_transfer *t);
/* Of an item with OA_FIT_HEADS: parts that it has, f->rows of which are taken; rows of a part. */
long oa_fitting_parts(const struct oa_fitting *f);
long oa_fitting_part_rows(const struct oa_fitting *f);
/* The parameter that part `part` is taken from, and *first, the first row there; NULL: it is not
 * taken. */
const struct oa_parameter *oa_fitting_source(const struct oa_fitting *f, long part, long *first);

#endif
