/* SPDX-License-Identifier: Apache-2.0
 *
 * What a decoder that reads on knows of its source (decoding.c).
 */
#ifndef ORTHANT_MODEL_SOURCE_H
#define ORTHANT_MODEL_SOURCE_H

#include "model/model.h"

/* Appends a source; refused are those that the model cannot read. */
enum oa_error oa_source_add(const struct oa_model *m, struct oa_ids *source, const int32_t *ids, long n);
/* What the encoder makes of one, on the tape. */
enum oa_error oa_source_read(oa_tape *t, struct oa_model *m, const int32_t *ids, long n, struct oa_memory *out);

#endif
