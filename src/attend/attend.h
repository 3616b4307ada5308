/* SPDX-License-Identifier: Apache-2.0
 * Private to `orthant attend`: attend.c (the passes and their results), attend_input.c (the input
 * tensors of the file), attend_parameters.c (the layer that its parameters describe). */
#ifndef ORTHANT_ATTENTION_ATTEND_H
#define ORTHANT_ATTENTION_ATTEND_H

#include "attention/layer/single_layer.h"
#include "base/safetensors.h"

struct oa_attend_run {
    oa_context *context;
    const struct oa_attend_options *options;
    struct oa_tensors *file;
    struct oa_arena arena; /* of doubles and integers from the file */
    const struct oa_array *x, *memory, *dy, *word_ids;
    long batch, queries, keys, width, heads;
    int32_t *lengths, *words; /* NULL = not given */
    struct oa_single_layer single;
};

/* Queries and keys of sequence b without padding. */
long oa_attend_query_length(const struct oa_attend_run *a, long b);
long oa_attend_key_length(const struct oa_attend_run *a, long b);

/* attend_input.c */
/* Opens the file and reads x, memory, dy, lengths, word_ids and the number of heads. */
enum oa_error oa_attend_read(struct oa_attend_run *a);
bool oa_attend_is_input(const char *name); /* is it one of these tensors? */

/* "2, 5, 8"; −1 is "at least 1". */
void oa_attend_print_sizes(int dims, const long *dim, char *out, size_t size);

/* attend_parameters.c */
/* Opens the layer, and allocates and fills its store. */
enum oa_error oa_attend_open_layer(struct oa_attend_run *a);
/* False for a bias that is not in the file: it is 0 and its gradient is not written. */
bool oa_attend_has_parameter(const struct oa_attend_run *a, const struct oa_parameter *p);

#endif
