/* SPDX-License-Identifier: Apache-2.0
 * The source of a decoding with an encoder-decoder. */
#ifndef ORTHANT_MODEL_SOURCE_H
#define ORTHANT_MODEL_SOURCE_H

#include "model/model.h"

void oa_source_init(struct oa_source *s, oa_context *c);
void oa_source_free(struct oa_source *s);
void oa_source_clear(struct oa_source *s);
enum oa_error oa_source_copy(const struct oa_source *from, struct oa_source *to);
/* Appends a source; refuses lengths that the model cannot read. words: word numbers, for all
 * sources or none (NULL). */
enum oa_error oa_source_add(const struct oa_model *m, struct oa_source *s, const int32_t *ids,
                            const int32_t *words, long n);
/* Encodes the n tokens from `first` on, on the tape. */
enum oa_error oa_source_read(oa_tape *t, struct oa_model *m, const struct oa_source *s, long first,
                             long n, struct oa_memory *out);

#endif
