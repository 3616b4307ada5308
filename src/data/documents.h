/* SPDX-License-Identifier: Apache-2.0
 * A stream of documents from text files, in bounded memory. */
#ifndef ORTHANT_DATA_DOCUMENTS_H
#define ORTHANT_DATA_DOCUMENTS_H

#include "base/base.h"

/* What is a document. AUTO: a JSON object per line where the name ends in .jsonl or .ndjson (also
 * gzipped), otherwise the file. */
enum oa_document_kind {
    OA_DOCUMENTS_AUTO,
    OA_DOCUMENTS_FILES,
    OA_DOCUMENTS_LINES,
    OA_DOCUMENTS_JSON
};

/* By name; NULL: "auto". */
enum oa_error oa_document_kind_read(oa_context *c, const char *name, enum oa_document_kind *out);

struct oa_documents;
/* files: separated by commas; patterns (*.txt.gz) and "@LIST", a file with a name on each line, are
 * expanded, patterns in the order of names. column: the member of a JSON object that has the text.
 */
enum oa_error oa_documents_open(oa_context *c, const char *files, enum oa_document_kind kind,
                                const char *column, struct oa_documents **out);
void oa_documents_close(struct oa_documents *d);

/* A longer line is rejected, since it would have to be in memory as a whole. */
enum { OA_DOCUMENT_LINE = 64 << 20 };
/* A longer document comes in pieces, which end with a line if there is a line end. */
enum { OA_DOCUMENT_PIECE = 16 << 20 };
struct oa_document {
    const char *text; /* valid until the next call */
    size_t length;
    bool ends; /* the document ends with this piece */
    const char *file;
    int file_index;
    uint64_t line;      /* of the file; 0: the file is the document */
    const char *object; /* the JSON object that has the text, as it is in the file; or NULL */
    size_t object_length;
};
/* The next piece; out->text is NULL at the end. Empty documents, and blank lines, are left out. */
enum oa_error oa_documents_next(struct oa_documents *d, struct oa_document *out);

int oa_documents_file_count(const struct oa_documents *d);
const char *oa_documents_file(const struct oa_documents *d, int i);
/* The size of all files on disk in bytes, and how much of it was read. */
uint64_t oa_documents_bytes(const struct oa_documents *d);
uint64_t oa_documents_bytes_read(const struct oa_documents *d);
uint64_t oa_documents_empty(const struct oa_documents *d); /* left out so far */

#endif
