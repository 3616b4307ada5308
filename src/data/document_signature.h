/* SPDX-License-Identifier: Apache-2.0
 * Signatures of documents, by which exact and near duplicates are found.
 *
 * digest: SHA-256 of the text with every run of white space as one space and none at the ends; the
 * first 16 bytes. min: MinHash (Broder 1997) of the set of its shingles, the runs of W consecutive
 * words; the share of equal values of two documents estimates the Jaccard similarity of their sets,
 * with a standard deviation of sqrt(s (1 - s) / 128). A word is a run of letters, marks, digits and
 * underscores without regard to case, or one character of a script that is written without spaces.
 * A document of fewer than W words has one shingle, all of them. */
#ifndef ORTHANT_DATA_DOCUMENT_SIGNATURE_H
#define ORTHANT_DATA_DOCUMENT_SIGNATURE_H

#include "base/base.h"

enum { OA_SIGNATURE_HASHES = 128, OA_MOST_SHINGLE = 32 };

struct oa_signature {
    uint8_t digest[16];
    uint32_t words; /* at most UINT32_MAX; 0: not comparable by min */
    uint32_t min[OA_SIGNATURE_HASHES];
};

struct oa_signature_maker;
/* shingle: words of a shingle; 0: only the digest. */
enum oa_error oa_signature_begin(oa_context *c, int shingle, struct oa_signature_maker **out);
/* The next piece, which ends after a character. Any thread. */
void oa_signature_add(struct oa_signature_maker *m, const char *text, size_t length);
void oa_signature_end(struct oa_signature_maker *m, struct oa_signature *out); /* any thread */
void oa_signature_close(struct oa_signature_maker *m);                         /* NULL: nothing */

#endif
