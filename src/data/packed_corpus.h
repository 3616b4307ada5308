/* SPDX-License-Identifier: Apache-2.0
 * Packed corpora: folders of token ids in shards, with an index of documents (docs/corpora.md). */
#ifndef ORTHANT_DATA_PACKED_CORPUS_H
#define ORTHANT_DATA_PACKED_CORPUS_H

#include "data/data.h"
#include "data/documents.h"

#include <jansson.h>

#define OA_CORPUS_RECORD "corpus.json" /* checksummed; the corpus is complete if it is there */
#define OA_CORPUS_FORMAT "orthant.corpus/1"
#define OA_PACKING_RECORD "packing.json" /* the same while it is being written */
#define OA_END_OF_DOCUMENT "<|endoftext|>"

/* ---- writing (corpus_pack.c) ---- */

struct oa_pack_request {
    const char *files, *column; /* as of oa_documents_open */
    enum oa_document_kind kind;
    const char *end;    /* special token after each document, added if need be; "": none */
    uint64_t shard_ids; /* a shard ends with the first document that reaches it */
    const char *folder;
    void (*progress)(void *argument, long done, long all); /* thousandths of the files' bytes */
    void *argument;
};
/* Packs the documents into r->folder on all threads of the context, in memory that does not depend
 * on their number. An interrupted packing (OA_INTERRUPTED) is continued by the same call. *record:
 * what OA_CORPUS_RECORD has; json_decref it. `tok` gets the end token. */
enum oa_error oa_corpus_pack(oa_context *c, struct oa_tokenizer *tok,
                             const struct oa_pack_request *r, json_t **record);

/* ---- reading (packed_corpus.c) ---- */

/* Whether `name` is the folder of a packed corpus, complete or not. */
bool oa_is_packed_corpus(const char *name);
/* The first packed corpus of a list of files, in *folder (OA_OPTION_TEXT); false: none. */
bool oa_first_packed_corpus(oa_context *c, const char *files, char *folder);
/* The tokenizer.json of the folder. */
enum oa_error oa_packed_tokenizer(oa_context *c, const char *folder, struct oa_tokenizer **out);
/* Splits the corpus before the first document at or after the first ⌊tokens · (1 − fraction)⌋
 * tokens, or there if no document follows: train, then valid. fraction 0: valid stays empty.
 * OA_ARGUMENT: `tok` is another tokenizer than that of the folder. */
enum oa_error oa_packed_corpus_open(const struct oa_tokenizer *tok, const char *folder,
                                    double fraction, const char *name, struct oa_tokens *train,
                                    struct oa_tokens *valid);

#endif
