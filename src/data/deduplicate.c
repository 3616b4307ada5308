/* SPDX-License-Identifier: Apache-2.0
 * Reads the documents twice: for their signatures, and to write those that are no duplicates. */
#include "base/checksum.h"
#include "base/folder_lock.h"
#include "base/json_write.h"
#include "base/new_file.h"
#include "data/duplicates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 5 }; /* of each kind */

struct deduplication {
    oa_context *c;
    const struct oa_dedup_request *r;
    struct oa_documents *documents;
    struct oa_signature_file *file;
    struct oa_duplicates found;
};

/* ---- the record ---- */

static void set_place(const struct deduplication *d, json_t *to, const char *file, const char *line,
                      const struct oa_signed_document *at)
{
    const char *name = oa_documents_file(d->documents, (int)at->file);
    oa_json_set(d->c, to, file, json_stringn_nocheck(name, strlen(name)));
    if (at->line)
        oa_json_set(d->c, to, line, json_integer((json_int_t)at->line));
}

/* Where duplicate i and the earlier document are. */
static enum oa_error describe_duplicate(const struct deduplication *d, uint32_t i, json_t **out)
{
    struct oa_signed_document later, earlier;
    bool exact = d->found.equal[i] == OA_EXACT;
    OA_TRY(oa_signature_file_read(d->file, i, 1, &later));
    OA_TRY(oa_signature_file_read(d->file, d->found.first[i], 1, &earlier));
    *out = json_pack("{s:s, s:f}", "kind", exact ? "exact" : "near", "similarity",
                     exact ? 1.0 : (double)d->found.equal[i] / OA_SIGNATURE_HASHES);
    set_place(d, *out, "file", "line", &later);
    set_place(d, *out, "of_file", "of_line", &earlier);
    return oa_status(d->c);
}

static enum oa_error add_examples(const struct deduplication *d, json_t *examples)
{
    int seen[2] = { 0, 0 };
    for (uint32_t i = 0; i < d->found.documents && seen[0] + seen[1] < 2 * EXAMPLES; i++) {
        json_t *example;
        if (d->found.first[i] == OA_NO_DUPLICATE ||
            ++seen[d->found.equal[i] == OA_EXACT] > EXAMPLES)
            continue;
        OA_TRY(describe_duplicate(d, i, &example));
        oa_json_append(d->c, examples, example);
    }
    return oa_status(d->c);
}

static enum oa_error make_record(const struct deduplication *d, json_t **out)
{
    struct oa_bands b = oa_bands_for(d->r->threshold);
    json_t *examples = json_array(), *record;
    enum oa_error e = add_examples(d, examples);
    record = json_pack(
        "{s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:i, s:o}", "format", OA_DEDUP_FORMAT, "files",
        oa_documents_file_count(d->documents), "documents", (json_int_t)d->found.documents,
        "empty_documents", (json_int_t)oa_documents_empty(d->documents), "exact",
        (json_int_t)d->found.exact, "near", (json_int_t)d->found.near, "kept",
        (json_int_t)(d->found.documents - d->found.exact - d->found.near), "threshold",
        d->r->threshold, "shingle", d->r->shingle, "examples", examples);
    if (!record)
        return oa_fail(d->c, OA_NO_MEMORY, "out of memory for the record of duplicates");
    if (d->r->threshold > 0) {
        oa_json_set(d->c, record, "hashes", json_integer(OA_SIGNATURE_HASHES));
        oa_json_set(d->c, record, "bands", json_integer(b.bands));
        oa_json_set(d->c, record, "rows", json_integer(b.rows));
        oa_json_set(d->c, record, "candidates_at_threshold",
                    json_real(oa_bands_probability(b, d->r->threshold)));
    }
    *out = record;
    return e == OA_OK ? oa_status(d->c) : e;
}

/* ---- writing ---- */

/* The text without the quotation marks of JSON around it. */
static enum oa_error add_json_text(const struct deduplication *d, const struct oa_document *piece,
                                   struct oa_new_file *to)
{
    json_t *value = json_stringn(piece->text, piece->length);
    if (!value)
        return oa_fail(d->c, OA_FORMAT,
                       "%s%s%.0llu: the document is not valid UTF-8, which JSON cannot store: "
                       "convert it first (iconv -c -t UTF-8 leaves such bytes out)",
                       piece->file, piece->line ? ", line " : "", (unsigned long long)piece->line);
    char *text = oa_json_dump(d->c, value, JSON_ENCODE_ANY);
    json_decref(value);
    if (!text)
        return OA_NO_MEMORY;
    enum oa_error e = oa_new_file_add(to, text + 1, strlen(text) - 2);
    oa_free(text);
    return e;
}

/* A JSON object as it is in its file; otherwise {"text": …}, which `begins` with this piece. */
static enum oa_error write_kept(const struct deduplication *d, const struct oa_document *piece,
                                bool begins, struct oa_new_file *to)
{
    static const char before[] = "{\"text\": \"", after[] = "\"}\n";
    if (piece->object) {
        OA_TRY(oa_new_file_add(to, piece->object, piece->object_length));
        return oa_new_file_add(to, "\n", 1);
    }
    if (begins)
        OA_TRY(oa_new_file_add(to, before, sizeof before - 1));
    OA_TRY(add_json_text(d, piece, to));
    return piece->ends ? oa_new_file_add(to, after, sizeof after - 1) : OA_OK;
}

static enum oa_error write_listed(const struct deduplication *d, uint32_t i, struct oa_new_file *to)
{
    json_t *one;
    OA_TRY(describe_duplicate(d, i, &one));
    char *text = oa_json_dump(d->c, one, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(one);
    if (!text)
        return OA_NO_MEMORY;
    enum oa_error e = oa_new_file_add(to, text, strlen(text));
    oa_free(text);
    return e == OA_OK ? oa_new_file_add(to, "\n", 1) : e;
}

static enum oa_error write_documents(const struct deduplication *d, struct oa_documents *again,
                                     struct oa_new_file *text, struct oa_new_file *list)
{
    struct oa_document piece;
    uint64_t number = 0, all = oa_documents_bytes(again);
    bool begins = true;
    for (;;) {
        OA_TRY(oa_documents_next(again, &piece));
        if (!piece.text || number >= d->found.documents)
            break;
        bool kept = d->found.first[number] == OA_NO_DUPLICATE;
        if (kept)
            OA_TRY(write_kept(d, &piece, begins, text));
        else if (begins)
            OA_TRY(write_listed(d, (uint32_t)number, list));
        begins = piece.ends;
        number += piece.ends;
        if (oa_stop_requested(d->c))
            return oa_fail(d->c, OA_INTERRUPTED,
                           "stopped by signal %d while writing documents; nothing was written",
                           oa_stop_requested(d->c));
        if (d->r->progress && all && number % 1024 == 0)
            d->r->progress(d->r->argument, "writing",
                           (long)(oa_documents_bytes_read(again) * 1000 / all), 1000);
    }
    return number == d->found.documents && !piece.text
               ? OA_OK
               : oa_fail(d->c, OA_IO,
                         "the files changed while they were read: at first they had %u documents",
                         d->found.documents);
}

static enum oa_error write_outputs(const struct deduplication *d)
{
    char text_path[OA_PATH], list_path[OA_PATH];
    struct oa_new_file text, list;
    struct oa_documents *again;
    OA_TRY(oa_path(d->c, text_path, d->r->folder, OA_DEDUP_TEXT));
    OA_TRY(oa_path(d->c, list_path, d->r->folder, OA_DEDUP_LIST));
    OA_TRY(oa_documents_open(d->c, d->r->files, d->r->kind, d->r->column, &again));
    enum oa_error e = oa_new_file_open(&text, d->c, text_path);
    if (e == OA_OK) {
        e = oa_new_file_open(&list, d->c, list_path);
        if (e == OA_OK)
            e = oa_new_file_finish(&list, write_documents(d, again, &text, &list));
        e = oa_new_file_finish(&text, e);
    }
    oa_documents_close(again);
    return e;
}

/* ---- the command ---- */

static enum oa_error lock_output(const struct deduplication *d, struct oa_lock **lock)
{
    if (!d->r->folder)
        return OA_OK;
    OA_TRY(oa_folder_lock(d->c, d->r->folder, lock));
    return oa_folder_has_files(d->r->folder)
               ? oa_fail(d->c, OA_ARGUMENT, "%s has other files: choose another folder",
                         d->r->folder)
               : OA_OK;
}

/* Removes the files of an incomplete output. */
static void discard_outputs(const struct deduplication *d)
{
    static const char *const names[] = { OA_DEDUP_TEXT, OA_DEDUP_LIST };
    char path[OA_PATH];
    for (int i = 0; i < 2; i++)
        if (snprintf(path, sizeof path, "%s/%s", d->r->folder, names[i]) < OA_PATH)
            remove(path);
}

static enum oa_error deduplicate_documents(struct deduplication *d, json_t **record)
{
    const struct oa_dedup_request *r = d->r;
    const char *temporary = r->folder ? r->folder : getenv("TMPDIR");
    char path[OA_PATH];
    int shingle = r->threshold > 0 ? r->shingle : 0;
    OA_TRY(oa_signature_file_make(d->c, d->documents, shingle,
                                  temporary && *temporary ? temporary : "/tmp", r->progress,
                                  r->argument, &d->file));
    if (oa_signature_file_count(d->file) == 0)
        return oa_fail(d->c, OA_ARGUMENT, "%s has no text", r->files);
    OA_TRY(oa_duplicates_find(d->c, d->file, r->threshold, r->memory, r->progress, r->argument,
                              &d->found));
    OA_TRY(make_record(d, record));
    if (!r->folder)
        return OA_OK;
    enum oa_error e = write_outputs(d);
    if (e == OA_OK)
        e = oa_path(d->c, path, d->r->folder, OA_DEDUP_RECORD);
    if (e == OA_OK)
        e = oa_checksummed_write(d->c, path, *record);
    if (e != OA_OK)
        discard_outputs(d);
    return e;
}

enum oa_error oa_deduplicate(oa_context *c, const struct oa_dedup_request *r, json_t **record)
{
    struct deduplication d = { .c = c, .r = r };
    struct oa_lock *lock = NULL;
    *record = NULL;
    enum oa_error e = oa_documents_open(c, r->files, r->kind, r->column, &d.documents);
    if (e == OA_OK)
        e = lock_output(&d, &lock);
    if (e == OA_OK)
        e = deduplicate_documents(&d, record);
    oa_duplicates_free(&d.found);
    oa_signature_file_close(d.file);
    oa_documents_close(d.documents);
    oa_folder_unlock(lock);
    return e;
}
