/* SPDX-License-Identifier: Apache-2.0
 * Token ids that stay in their files and are read row by row: a corpus may be larger than memory.
 *
 * Files are read with pread, not mapped: a file that was truncated or is on a failing disk gives an
 * error with its name and place, where a mapping would end the process. The page cache of the
 * system contains what was read recently. */
#ifndef ORTHANT_DATA_TOKEN_STORE_H
#define ORTHANT_DATA_TOKEN_STORE_H

#include "tokenizers/text.h"
#include "tokenizers/tokenizer.h"

struct oa_token_store;
/* The ids of all files, one file after another. Every file must have the bytes of its ids. They
 * must be tokens of `tok`, which is checked when they are read. Files and `tok` are not used after
 * this call. */
enum oa_error oa_token_store_open(const struct oa_tokenizer *tok, const struct oa_id_file *files,
                                  int count, struct oa_token_store **out);
/* One more owner; returns its argument. Owners are counted by one thread. */
struct oa_token_store *oa_token_store_share(struct oa_token_store *s);
void oa_token_store_release(struct oa_token_store *s); /* NULL: nothing */
uint64_t oa_token_store_count(const struct oa_token_store *s);
/* Of a packed corpus: how many documents each file has. Their starts are in FILE.documents, where
 * the file is FILE.bin: 64 bits each, counted from the first id of the file. */
void oa_token_store_add_documents(struct oa_token_store *s, const uint64_t *documents);
struct oa_store_file {
    const char *path;
    uint64_t first, count; /* ids of the files before, and of this one */
    uint64_t documents;    /* 0: not known */
};
int oa_token_store_files(const struct oa_token_store *s);
struct oa_store_file oa_token_store_file(const struct oa_token_store *s, int i);
/* Ids at … at + n - 1. Any thread, each with a context of its own. OA_FORMAT: the
 * tokenizer lacks an id; OA_IO: a file cannot be read, or has changed since it was opened. */
enum oa_error oa_token_store_read(oa_context *c, struct oa_token_store *s, uint64_t at, size_t n,
                                  int32_t *out);

/* ---- files that are read in place, and written ---- */

struct stat;
struct oa_new_file;
struct oa_running_digest;
/* Reads `bytes` bytes at `offset`. OA_IO: the file has fewer, or cannot be read. */
enum oa_error oa_read_at(oa_context *c, int fd, const char *path, uint64_t offset, void *to,
                         size_t bytes);
/* OA_IO: the file was changed or replaced since `about` was taken. */
enum oa_error oa_check_unchanged(oa_context *c, int fd, const char *path, const struct stat *about);
/* Appends ids of `width` bytes each to a file, and to a digest of it (NULL: none). */
enum oa_error oa_new_file_add_ids(struct oa_new_file *f, struct oa_running_digest *digest,
                                  const int32_t *id, size_t n, int width);

#endif
