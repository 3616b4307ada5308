/* SPDX-License-Identifier: Apache-2.0
 * Duplicates among documents: of each document, the first earlier one that equals it up to white
 * space, or whose estimated Jaccard similarity is at least a threshold (document_signature.h).
 *
 * Candidates for a near duplicate are found by locality-sensitive hashing: the values of a
 * signature are cut into bands of `rows` values, and two documents are compared where they agree in
 * a whole band, which happens with probability 1 − (1 − s^rows)^bands at similarity s. */
#ifndef ORTHANT_DATA_DUPLICATES_H
#define ORTHANT_DATA_DUPLICATES_H

#include "data/document_signature.h"
#include "data/documents.h"

#include <jansson.h>

/* A document is compared with at most OA_MOST_COMPARED earlier ones that agree with it in a band,
 * the first ones, so that the time stays linear. */
enum { OA_MOST_COMPARED = 64 };

struct oa_bands {
    int rows, bands;
};
/* The most rows with which documents at the threshold are candidates in at least 95 of 100 cases.
 */
struct oa_bands oa_bands_for(double threshold);
double oa_bands_probability(struct oa_bands b, double similarity);

/* ---- the signatures of all documents (signature_file.c) ---- */

struct oa_signature_file;
struct oa_signed_document {
    struct oa_signature signature;
    uint32_t file;
    uint64_t line; /* 0: the file is the document */
};
typedef void oa_duplicates_progress(void *argument, const char *stage, long done, long all);
/* Reads the documents to the end, on all threads of the context, into a temporary file without a
 * name in `folder`. */
enum oa_error oa_signature_file_make(oa_context *c, struct oa_documents *d, int shingle,
                                     const char *folder, oa_duplicates_progress *progress,
                                     void *argument, struct oa_signature_file **out);
void oa_signature_file_close(struct oa_signature_file *f); /* NULL: nothing */
uint64_t oa_signature_file_count(const struct oa_signature_file *f);
/* Documents at … at + n - 1. */
enum oa_error oa_signature_file_read(const struct oa_signature_file *f, uint64_t at, size_t n,
                                     struct oa_signed_document *out);

/* ---- finding them (duplicates.c) ---- */

#define OA_NO_DUPLICATE UINT32_MAX
struct oa_duplicates {
    uint32_t documents;
    uint32_t *first; /* [documents] the earlier document; OA_NO_DUPLICATE: none */
    uint8_t *equal;  /* [documents] values of the signature that are equal to those of first;
                        OA_EXACT: a duplicate by digest */
    uint64_t exact, near;
};
enum { OA_EXACT = 255 };
/* threshold 0: exact duplicates only. memory: most bytes, of which 5 are for a document; the result
 * does not depend on it. OA_ARGUMENT: too little memory. */
enum oa_error oa_duplicates_find(oa_context *c, const struct oa_signature_file *f, double threshold,
                                 uint64_t memory, oa_duplicates_progress *progress, void *argument,
                                 struct oa_duplicates *out);
void oa_duplicates_free(struct oa_duplicates *d);

/* ---- the whole command (deduplicate.c) ---- */

#define OA_DEDUP_RECORD "dedup.json"     /* checksummed; the folder is complete if it is there */
#define OA_DEDUP_TEXT "documents.jsonl"  /* the documents that are no duplicates */
#define OA_DEDUP_LIST "duplicates.jsonl" /* the duplicates, each with the earlier document */
#define OA_DEDUP_FORMAT "orthant.dedup/1"

struct oa_dedup_request {
    const char *files, *column; /* as of oa_documents_open */
    enum oa_document_kind kind;
    double threshold; /* 0: exact duplicates only */
    int shingle;      /* words */
    uint64_t memory;
    const char *folder; /* NULL: nothing is written */
    oa_duplicates_progress *progress;
    void *argument;
};
/* *record: counts and examples, what OA_DEDUP_RECORD has; json_decref it. */
enum oa_error oa_deduplicate(oa_context *c, const struct oa_dedup_request *r, json_t **record);

#endif
