/* SPDX-License-Identifier: Apache-2.0
 * data pack: text files → a packed corpus. */
#include "api/api.h"
#include "data/packed_corpus.h"

#include <string.h>

static void show_pack_progress(void *bar, long done, long all)
{
    oa_bar_log(bar, done, all);
}

/* A tokenizer that is made from text reads the files as they are, so they must be plain text. */
static enum oa_error make_pack_tokenizer(oa_context *c, const struct oa_pack_files *r,
                                         enum oa_document_kind kind, struct oa_tokenizer **out)
{
    struct oa_documents *documents;
    struct oa_text list;
    if (oa_file_exists(r->tokenizer))
        return oa_tokenizer_load(c, r->tokenizer, out);
    OA_TRY(oa_documents_open(c, r->files, kind, "text", &documents));
    oa_text_init(&list, c);
    enum oa_error e = OA_OK;
    for (int i = 0; i < oa_documents_file_count(documents) && e == OA_OK; i++) {
        const char *name = oa_documents_file(documents, i);
        bool json = kind == OA_DOCUMENTS_JSON || oa_name_ends(name, ".jsonl") ||
                    oa_name_ends(name, ".ndjson");
        if ((json && strcmp(r->tokenizer, "byte") != 0) || strchr(name, ','))
            e = oa_fail(c, OA_ARGUMENT,
                        "%s: tokenizer \"%s\" would be made from %s: give a tokenizer.json "
                        "('orthant tokenizer train' makes one from text), or byte",
                        name, r->tokenizer, json ? "JSON" : "a file whose name has a comma");
        oa_text_printf(&list, "%s%s", i ? "," : "", name);
    }
    if (e == OA_OK && (e = oa_status(c)) == OA_OK)
        e = oa_tokenizer_open(c, r->tokenizer, list.s, NULL, out);
    oa_text_free(&list);
    oa_documents_close(documents);
    return e;
}

/* Repeated text is learned by heart, and counts more than once in a validation. */
static void add_repeats(const json_t *repeats, struct oa_text *t)
{
    double documents = (double)json_integer_value(json_object_get(repeats, "documents")),
           repeated = (double)json_integer_value(json_object_get(repeats, "repeated")),
           bytes = (double)json_integer_value(json_object_get(repeats, "bytes")),
           again = (double)json_integer_value(json_object_get(repeats, "repeated_bytes"));
    if (again > 0.01 * bytes)
        oa_text_printf(
            t,
            "repeated: %.1f %% of the documents and %.1f %% of the text equal an earlier "
            "document%s; 'orthant data dedup' leaves such documents out\n",
            100 * repeated / documents, 100 * again / bytes,
            json_is_true(json_object_get(repeats, "sampled")) ? " (by a sample)" : "");
}

static enum oa_error report_packed(oa_context *c, const json_t *record, const char *folder,
                                   const struct oa_output *out)
{
    struct oa_text t;
    oa_text_init(&t, c);
    if (oa_wants_json(out)) {
        oa_json_add(&t, json_deep_copy(record));
        return oa_emit(out, &t);
    }
    long tokens = (long)json_integer_value(json_object_get(record, "tokens")),
         documents = (long)json_integer_value(json_object_get(record, "documents")),
         empty = (long)json_integer_value(json_object_get(record, "empty_documents")),
         bytes = (long)json_integer_value(json_object_get(record, "bytes"));
    size_t shards = json_array_size(json_object_get(record, "shards"));
    oa_name_add(&t, folder);
    oa_text_printf(&t,
                   ": %ld tokens of %ld document%s in %zu shard%s; %.3f bytes of text a token\n",
                   tokens, documents, oa_plural((double)documents), shards,
                   oa_plural((double)shards), (double)bytes / (double)tokens);
    if (empty)
        oa_text_printf(&t, "left out: %ld empty document%s\n", empty, oa_plural((double)empty));
    add_repeats(json_object_get(record, "repeats"), &t);
    oa_text_printf(&t, "train on it: orthant train --data.train ");
    oa_name_add(&t, folder);
    oa_text_printf(&t, "\n");
    return oa_emit(out, &t);
}

enum oa_error oa_pack(oa_context *c, const struct oa_pack_files *r, const char *folder,
                      const struct oa_output *out)
{
    struct oa_pack_request request = { .files = r->files,
                                       .column = r->column ? r->column : "text",
                                       .end = r->end ? r->end : OA_END_OF_DOCUMENT,
                                       .shard_ids =
                                           r->shard_tokens ? r->shard_tokens : (uint64_t)64 << 20,
                                       .folder = folder,
                                       .progress = show_pack_progress };
    struct oa_tokenizer *tok;
    struct oa_bar bar;
    json_t *record;
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_pack_files", r->reserved, 4));
    OA_TRY(oa_document_kind_read(c, r->documents, &request.kind));
    OA_TRY(oa_directory_check(c, folder));
    OA_TRY(make_pack_tokenizer(c, r, request.kind, &tok));
    oa_bar_open(&bar, c, "packing");
    request.argument = &bar;
    enum oa_error e = oa_corpus_pack(c, tok, &request, &record);
    oa_tokenizer_close(tok);
    if (e == OA_OK)
        e = report_packed(c, record, folder, out);
    json_decref(record);
    return e;
}
