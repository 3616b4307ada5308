/* SPDX-License-Identifier: Apache-2.0
 * Opens a packed corpus: the record and the tokenizer are read, ids stay in their shards. */
#include "data/packed_corpus.h"

#include "base/checksum.h"
#include "base/little_endian.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char remedy[] = "pack the corpus again";

bool oa_is_packed_corpus(const char *name)
{
    static const char *const records[] = { OA_CORPUS_RECORD, OA_PACKING_RECORD };
    char path[OA_PATH];
    struct stat about;
    if (stat(name, &about) != 0 || !S_ISDIR(about.st_mode))
        return false;
    for (int i = 0; i < 2; i++) {
        int n = snprintf(path, sizeof path, "%s/%s", name, records[i]);
        if (n > 0 && (size_t)n < sizeof path && oa_file_exists(path))
            return true;
    }
    return false;
}

bool oa_first_packed_corpus(oa_context *c, const char *files, char *folder)
{
    bool found = false;
    char *name, *list = oa_copy_text(c, files);
    for (char *rest = list; rest && !found;) {
        rest = oa_cut_name(rest, &name);
        found = oa_is_packed_corpus(name);
        if (found)
            snprintf(folder, OA_OPTION_TEXT, "%s", name);
    }
    oa_free(list);
    return found;
}

enum oa_error oa_packed_tokenizer(oa_context *c, const char *folder, struct oa_tokenizer **out)
{
    char path[OA_PATH];
    *out = NULL;
    OA_TRY(oa_path(c, path, folder, "tokenizer.json"));
    return oa_tokenizer_load(c, path, out);
}

static enum oa_error check_tokenizer(const struct oa_tokenizer *tok, const char *folder)
{
    oa_context *c = oa_tokenizer_context(tok);
    struct oa_tokenizer *own;
    OA_TRY(oa_packed_tokenizer(c, folder, &own));
    bool same = oa_tokenizers_agree(tok, own);
    oa_tokenizer_close(own);
    return same ? OA_OK
                : oa_fail(c, OA_ARGUMENT,
                          "%s was packed with another tokenizer: leave data.tokenizer out, or give "
                          "%s/tokenizer.json",
                          folder, folder);
}

/* ---- the record ---- */

struct corpus_record {
    json_t *json;
    const char *folder;
    struct oa_id_file *shard; /* paths are allocated */
    uint64_t *documents;      /* of each shard */
    int count;
};

/* Rejects names with "/" or a leading ".", so that a record cannot refer to files outside of its
 * folder. */
static bool is_shard_name(const char *name, const char *end)
{
    size_t n = strlen(name), tail = strlen(end);
    return n > tail && n < 64 && !strchr(name, '/') && name[0] != '.' &&
           strcmp(name + n - tail, end) == 0;
}

static enum oa_error add_shard_of_record(oa_context *c, const json_t *shard, int width,
                                         struct corpus_record *r)
{
    const char *name = json_string_value(json_object_get(shard, "file"));
    json_int_t tokens = json_integer_value(json_object_get(shard, "tokens")),
               documents = json_integer_value(json_object_get(shard, "documents"));
    char path[OA_PATH];
    if (!name || !is_shard_name(name, ".bin") || tokens < 1 || tokens > (json_int_t)1 << 56 ||
        documents < 1)
        return oa_fail(c, OA_FORMAT, "%s/" OA_CORPUS_RECORD ": shard %d is not valid; %s",
                       r->folder, r->count, remedy);
    OA_TRY(oa_path(c, path, r->folder, name));
    r->documents[r->count] = (uint64_t)documents;
    r->shard[r->count] = (struct oa_id_file){ oa_copy_text(c, path), 0, (uint64_t)tokens, width };
    return r->shard[r->count++].path ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error read_record(oa_context *c, const char *folder, struct corpus_record *r)
{
    char path[OA_PATH];
    *r = (struct corpus_record){ .folder = folder };
    OA_TRY(oa_path(c, path, folder, OA_CORPUS_RECORD));
    if (!oa_file_exists(path))
        return oa_fail(c, OA_ARGUMENT,
                       "%s is not packed completely: continue with the same 'orthant data pack'",
                       folder);
    OA_TRY(oa_checksummed_read(c, path, remedy, &r->json));
    const char *format = json_string_value(json_object_get(r->json, "format"));
    json_t *shards = json_object_get(r->json, "shards");
    int width = (int)json_integer_value(json_object_get(r->json, "width"));
    if (width != 2 && width != 4)
        return oa_fail(c, OA_FORMAT, "%s: the width of an id is %d bytes, not 2 or 4; %s", path,
                       width, remedy);
    if (!format || strcmp(format, OA_CORPUS_FORMAT) != 0)
        return oa_fail(c, OA_FORMAT, "%s: the format is \"%s\", not \"%s\"; %s", path,
                       format ? format : "", OA_CORPUS_FORMAT, remedy);
    r->shard = oa_alloc(c, (json_array_size(shards) + 1) * sizeof *r->shard);
    r->documents = oa_alloc(c, (json_array_size(shards) + 1) * sizeof *r->documents);
    if (!r->shard || !r->documents)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < json_array_size(shards); i++)
        OA_TRY(add_shard_of_record(c, json_array_get(shards, i), width, r));
    return r->count ? OA_OK : oa_fail(c, OA_FORMAT, "%s has no shards; %s", path, remedy);
}

/* ---- documents ---- */

/* The first token of document `i` of the shard. */
static enum oa_error document_start(oa_context *c, int fd, const char *path, uint64_t i,
                                    uint64_t *start)
{
    uint8_t b[8];
    OA_TRY(oa_read_at(c, fd, path, i * sizeof b, b, sizeof b));
    *start = oa_get_little_endian(b, sizeof b);
    return OA_OK;
}

/* The start of the first document of the shard at or after `at`; the shard's end if there is none.
 */
static enum oa_error next_document(oa_context *c, const struct corpus_record *r, int shard,
                                   uint64_t at, uint64_t *start)
{
    char path[OA_PATH + 16];
    size_t stem = strlen(r->shard[shard].path) - strlen(".bin");
    snprintf(path, sizeof path, "%.*s.documents", (int)stem, r->shard[shard].path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return oa_fail(c, OA_IO, "%s cannot be opened; %s", path, remedy);
    uint64_t low = 0, high = r->documents[shard];
    enum oa_error e = OA_OK;
    while (low < high && e == OA_OK) {
        uint64_t middle = low + (high - low) / 2;
        e = document_start(c, fd, path, middle, start);
        if (*start < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->documents[shard])
        *start = r->shard[shard].count;
    else if (e == OA_OK)
        e = document_start(c, fd, path, low, start);
    close(fd);
    return e;
}

/* The start of the first document at or after `at` of all tokens. */
static enum oa_error cut_at_document(oa_context *c, const struct corpus_record *r, uint64_t at,
                                     uint64_t *cut)
{
    uint64_t first = 0;
    for (int i = 0; i < r->count; i++) {
        if (at < first + r->shard[i].count) {
            OA_TRY(next_document(c, r, i, at - first, cut));
            *cut += first;
            return OA_OK;
        }
        first += r->shard[i].count;
    }
    *cut = first;
    return OA_OK;
}

/* ---- opening ---- */

static enum oa_error packed_side(oa_context *c, struct oa_token_store *store, uint64_t from,
                                 uint64_t count, const char *name, struct oa_tokens *out)
{
    *out = (struct oa_tokens){ .span = { { NULL, oa_token_store_share(store), from, count } },
                               .spans = 1,
                               .marked = true,
                               .count = count,
                               .name = name };
    return oa_tokens_sample_digest(c, out);
}

static enum oa_error split_packed(const struct oa_tokenizer *tok, const struct corpus_record *r,
                                  double fraction, const char *name, struct oa_tokens *train,
                                  struct oa_tokens *valid)
{
    oa_context *c = oa_tokenizer_context(tok);
    struct oa_token_store *store;
    OA_TRY(oa_token_store_open(tok, r->shard, r->count, &store));
    oa_token_store_add_documents(store, r->documents);
    uint64_t all = oa_token_store_count(store), cut = all;
    enum oa_error e = OA_OK;
    if (fraction > 0)
        e = cut_at_document(c, r, (uint64_t)floor((double)all * (1 - fraction)), &cut);
    if (e == OA_OK && fraction > 0 && (cut == 0 || cut == all)) {
        cut = (uint64_t)floor((double)all * (1 - fraction));
        oa_log(c, 0,
               "%s has too few documents to hold out whole ones: the validation text begins within "
               "a document",
               r->folder);
    }
    if (e == OA_OK)
        e = packed_side(c, store, 0, cut, name, train);
    if (e == OA_OK && cut < all)
        e = packed_side(c, store, cut, all - cut, "validation text", valid);
    oa_token_store_release(store);
    return e;
}

enum oa_error oa_packed_corpus_open(const struct oa_tokenizer *tok, const char *folder,
                                    double fraction, const char *name, struct oa_tokens *train,
                                    struct oa_tokens *valid)
{
    struct corpus_record r = { 0 };
    enum oa_error e = check_tokenizer(tok, folder);
    if (e == OA_OK)
        e = read_record(oa_tokenizer_context(tok), folder, &r);
    if (e == OA_OK)
        e = split_packed(tok, &r, fraction, name, train, valid);
    for (int i = 0; i < r.count; i++)
        oa_free(r.shard[i].path);
    oa_free(r.shard);
    oa_free(r.documents);
    json_decref(r.json);
    return e;
}
