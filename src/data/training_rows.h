/* SPDX-License-Identifier: Apache-2.0
 * Running text in rows, and their order in training (data.order, data.mix, data.documents). */
#ifndef ORTHANT_DATA_TRAINING_ROWS_H
#define ORTHANT_DATA_TRAINING_ROWS_H

#include "data/data.h"

/* How a text is cut. A unit is a token that the row has: an input of a language model, whose target
 * is the token after it (extra 1), or a token of a text of which a part is hidden (extra 0). */
struct oa_row_rule {
    long length; /* units of a full row */
    long extra;  /* tokens after the last unit that the row needs */
    long least;  /* units of the shortest row; shorter ones are left out */
    enum oa_data_order order;
    enum oa_document_borders borders;
    uint64_t seed;
};
struct oa_text_row {
    uint64_t start; /* reads the tokens start … start + units + extra - 1 */
    long units;
};

struct oa_text_rows;
/* The tokens are borrowed. OA_ARGUMENT: documents are to be separate, and the text has none. */
enum oa_error oa_text_rows_open(oa_context *c, const struct oa_tokens *tokens,
                                const struct oa_row_rule *rule, struct oa_text_rows **out);
void oa_text_rows_close(struct oa_text_rows *t);

/* Row `row`, from 0, of the `step_rows` rows of step `step`, from 1. A function of (seed, step,
 * row), computed in constant time and memory:
 *
 *     OA_ORDER_RANDOM  joined: from a uniformly random token; separate: a uniformly random row
 *     OA_ORDER_EPOCH   row (step - 1)·step_rows + row of endless epochs, each a random permutation
 *                      of all rows; in a mixture, each corpus has epochs of its own
 *
 * OA_SHAPE: the text is shorter than a row where rows begin anywhere. */
enum oa_error oa_text_rows_drawn(struct oa_text_rows *t, uint64_t step, uint64_t step_rows,
                                 uint64_t row, struct oa_text_row *out);
/* Whether all rows that are drawn are full. */
bool oa_text_rows_full(const struct oa_text_rows *t);

/* All rows, one after another: validation. */
uint64_t oa_text_rows_count(const struct oa_text_rows *t);
uint64_t oa_text_rows_units(const struct oa_text_rows *t);
enum oa_error oa_text_rows_at(struct oa_text_rows *t, uint64_t i, struct oa_text_row *out);

/* How much `rows` rows of training read of each corpus; see oa_batches_reading. */
void oa_text_rows_reading(const struct oa_text_rows *t, uint64_t rows, struct oa_reading *out);

#endif
