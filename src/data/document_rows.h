/* SPDX-License-Identifier: Apache-2.0
 * Rows that end where their document ends (data.documents = separate). */
#ifndef ORTHANT_DATA_DOCUMENT_ROWS_H
#define ORTHANT_DATA_DOCUMENT_ROWS_H

#include "data/training_rows.h"

/* The rows of the documents in `tokens`, one document after another. The indices of documents are
 * read once; memory does not grow with their number (OA_DOCUMENT_GROUPS). */
struct oa_document_rows;
enum { OA_DOCUMENT_GROUPS = 1 << 16 };
/* OA_ARGUMENT: some of the tokens have no documents. OA_IO, OA_FORMAT: an index cannot be read, or
 * is damaged. `tokens` is not used after this call, but its stores are. */
enum oa_error oa_document_rows_open(oa_context *c, const struct oa_tokens *tokens,
                                    const struct oa_row_rule *rule, struct oa_document_rows **out);
void oa_document_rows_close(struct oa_document_rows *d);
uint64_t oa_document_rows_count(const struct oa_document_rows *d);
uint64_t oa_document_rows_units(const struct oa_document_rows *d); /* of all rows */
/* Row i; row->start is counted from the first token. */
enum oa_error oa_document_rows_at(struct oa_document_rows *d, uint64_t i, struct oa_text_row *row);

#endif
