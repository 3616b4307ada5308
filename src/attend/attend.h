/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of `orthant attend` share: attend.c (the course of it), attend_steps.c (the
 * decoding path), attend_input.c (tensors of the file, checked), attend_parameters.c (the layer
 * that they describe).
 */
#ifndef ORTHANT_ATTENTION_ATTEND_H
#define ORTHANT_ATTENTION_ATTEND_H

#include "attention/layer/single_layer.h"
#include "base/safetensors.h"

struct attend {
    oa_context *context;
    const struct oa_attend_options *options;
    struct oa_tensors *file;
    struct oa_arena arena; /* numbers on their way in and out */
    const struct oa_array *x, *memory, *dy, *word_ids;
    long batch, queries, keys, width, heads;
    int32_t *lengths, *words; /* NULL when they are not given */
    struct oa_single_layer rig;
};

/* Length of the sequence b of queries or of keys; padding lies beyond. */
long oa_attend_query_length(const struct attend *a, long b);
long oa_attend_key_length(const struct attend *a, long b);

/* attend_input.c */
enum oa_error oa_attend_read(
    struct attend *a); /* opens the file; x, memory, dy, lengths, word_ids, sizes, heads */
bool oa_attend_is_input(const char *name); /* is it one of these tensors? */

/* attend_steps.c: y, act [B·n, D], token by token; it lives in the arena. `whole` has the tensors
 * of all sequences. */
enum oa_error oa_attend_steps(struct attend *a, const struct oa_layer_input *whole, void **y);

/* attend_parameters.c */
enum oa_error
oa_attend_open_layer(struct attend *a); /* the layer, its store allocated and filled */
/* Biases that the file does not hold do not exist: they are 0 and have no gradient to show. */
bool oa_attend_exists(const struct attend *a, const struct oa_parameter *p);

#endif
