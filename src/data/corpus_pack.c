/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents → shards of token ids. PORTION bytes of documents are read at a time, encoded in
 * parallel and written in their order. The files do not depend on the portions and the number of
 * threads.
 *
 * After each shard OA_PACKING_RECORD stores the number of documents in the shards so far: an
 * interrupted packing skips as many documents and continues.
 */
#include "base/checksum.h"
#include "base/concurrent.h"
#include "base/folder_lock.h"
#include "base/json_write.h"
#include "base/little_endian.h"
#include "base/new_file.h"
#include "base/reserve.h"
#include "data/packed_corpus.h"
#include "data/repeats.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PORTION = 1 << 20, NAME = 32, MOST_THREADS = 64 };

/* A piece of a document, in the portion's text, and its ids. */
struct packed_piece {
    size_t from, length;
    bool ends;
    struct oa_ids ids;
    char place[256]; /* "FILE, line N", for messages */
};

struct shard_file {
    struct oa_new_file ids, documents;
    struct oa_running_digest *digest;
    char path[OA_PATH], index_path[OA_PATH];
    uint64_t count, begun; /* ids; documents that began */
    bool open;
};

struct packing {
    oa_context *c;
    const struct oa_pack_request *r;
    struct oa_tokenizer *tok;
    int32_t end; /* -1: none */
    int width;
    struct oa_documents *documents;
    json_t *shards;                            /* finished ones */
    uint64_t tokens, count, characters, bytes; /* of the shards; count: documents */
    uint64_t skip;                             /* documents of finished shards */
    struct oa_repeats *repeats;                /* of all documents that are read in one piece */
    bool continued;                            /* the piece before did not end its document */
    /* portion */
    struct oa_text text;
    struct packed_piece *piece;
    size_t pieces, room;
    struct oa_tokenizer **encoder; /* [threads]; a tokenizer is not thread-safe */
    oa_context **worker;           /* [threads] */
    int threads;
    bool inside; /* a document has begun and not ended */
    struct shard_file shard;
};

/* ---- the record ---- */

static enum oa_error no_memory(oa_context *c)
{
    return oa_fail(c, OA_NO_MEMORY, "out of memory for the record of a corpus");
}

/* Identifies the input: a packing is continued only if this is the same. */
static json_t *request_json(const struct packing *p, const struct oa_digest *tokenizer)
{
    json_t *files = json_array(), *sizes = json_array(), *changed = json_array();
    for (int i = 0; i < oa_documents_file_count(p->documents); i++) {
        const char *name = oa_documents_file(p->documents, i);
        struct stat about = { 0 };
        stat(name, &about);
        json_array_append_new(files, json_stringn_nocheck(name, strlen(name)));
        json_array_append_new(sizes, json_integer(about.st_size));
        json_array_append_new(changed, json_integer(about.st_mtim.tv_sec));
    }
    static const char *const kinds[] = { "auto", "files", "lines", "json" };
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:s, s:s, s:I}", "tokenizer", tokenizer->hex,
                     "files", files, "sizes", sizes, "changed", changed, "documents",
                     kinds[p->r->kind], "column", p->r->column, "end", p->r->end, "shard_ids",
                     (json_int_t)p->r->shard_ids);
}

static json_t *record_of(const struct packing *p, json_t *request)
{
    return json_pack("{s:s, s:O, s:i, s:I, s:I, s:I, s:I, s:I, s:O}", "format", OA_CORPUS_FORMAT,
                     "request", request, "width", p->width, "tokens", (json_int_t)p->tokens,
                     "documents", (json_int_t)p->count, "characters", (json_int_t)p->characters,
                     "bytes", (json_int_t)p->bytes, "empty_documents",
                     (json_int_t)oa_documents_empty(p->documents), "shards", p->shards);
}

static json_t *repeats_json(const struct packing *p)
{
    struct oa_repeats_sum sum = oa_repeats_count(p->repeats);
    return json_pack("{s:b, s:I, s:I, s:I, s:I}", "sampled", sum.sampled, "documents",
                     (json_int_t)sum.documents, "repeated", (json_int_t)sum.repeated, "bytes",
                     (json_int_t)sum.bytes, "repeated_bytes", (json_int_t)sum.repeated_bytes);
}

static enum oa_error write_packing_record(const struct packing *p, json_t *request,
                                          const char *name)
{
    char path[OA_PATH];
    json_t *record = record_of(p, request);
    if (record && strcmp(name, OA_CORPUS_RECORD) == 0)
        oa_json_set(p->c, record, "repeats", repeats_json(p));
    enum oa_error e = record ? oa_path(p->c, path, p->r->folder, name) : no_memory(p->c);
    if (e == OA_OK)
        e = oa_status(p->c);
    if (e == OA_OK)
        e = oa_checksummed_write(p->c, path, record);
    json_decref(record);
    return e;
}

static uint64_t number_in(const json_t *record, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(record, name));
}

/* Continues an interrupted packing. */
static enum oa_error read_packing_record(struct packing *p, json_t *request)
{
    char path[OA_PATH];
    json_t *record;
    OA_TRY(oa_path(p->c, path, p->r->folder, OA_PACKING_RECORD));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_checksummed_read(p->c, path, "remove the folder to pack again", &record));
    enum oa_error e = OA_OK;
    bool same = json_equal(json_object_get(record, "request"), request);
    if (!same && json_array_size(json_object_get(record, "shards")) == 0) {
        json_decref(record); /* nothing was packed yet */
        return OA_OK;
    }
    if (!same)
        e = oa_fail(
            p->c, OA_ARGUMENT,
            "%s has an interrupted packing of other files, of files that have changed since, or "
            "with another tokenizer: give the same to continue it, or remove the folder",
            p->r->folder);
    p->tokens = number_in(record, "tokens");
    p->skip = p->count = number_in(record, "documents");
    p->characters = number_in(record, "characters");
    p->bytes = number_in(record, "bytes");
    json_decref(p->shards);
    p->shards = json_incref(json_object_get(record, "shards"));
    json_decref(record);
    if (e == OA_OK)
        oa_log(p->c, 0, "continuing after %llu documents in %zu shards",
               (unsigned long long)p->skip, json_array_size(p->shards));
    return e;
}

/* ---- shards ---- */

static enum oa_error open_shard(struct packing *p)
{
    struct shard_file *s = &p->shard;
    char name[NAME];
    snprintf(name, sizeof name, "shard-%05zu.bin", json_array_size(p->shards));
    OA_TRY(oa_path(p->c, s->path, p->r->folder, name));
    snprintf(name, sizeof name, "shard-%05zu.documents", json_array_size(p->shards));
    OA_TRY(oa_path(p->c, s->index_path, p->r->folder, name));
    s->count = s->begun = 0;
    s->digest = oa_digest_begin(p->c);
    if (!s->digest)
        return OA_NO_MEMORY;
    s->documents = s->ids = (struct oa_new_file){ .context = p->c, .fd = -1 };
    s->open = true;
    OA_TRY(oa_new_file_open(&s->documents, p->c, s->index_path));
    return oa_new_file_open(&s->ids, p->c, s->path);
}

/* Discards the shard unless so_far is OA_OK. */
static enum oa_error close_shard(struct packing *p, enum oa_error so_far)
{
    struct shard_file *s = &p->shard;
    if (!s->open)
        return so_far;
    s->open = false;
    enum oa_error e = oa_new_file_finish(&s->documents, so_far);
    e = oa_new_file_finish(&s->ids, e);
    struct oa_digest digest = oa_digest_end(s->digest);
    oa_free(s->digest);
    if (e != OA_OK)
        return e;
    const char *name = strrchr(s->path, '/') + 1;
    json_t *shard = json_pack("{s:s, s:I, s:I, s:s}", "file", name, "tokens", (json_int_t)s->count,
                              "documents", (json_int_t)s->begun, "sha256", digest.hex);
    if (!shard || json_array_append_new(p->shards, shard) != 0)
        return no_memory(p->c);
    p->tokens += s->count;
    p->count += s->begun;
    return OA_OK;
}

static enum oa_error add_ids(struct packing *p, const int32_t *id, size_t n)
{
    p->shard.count += n;
    return oa_new_file_add_ids(&p->shard.ids, p->shard.digest, id, n, p->width);
}

static enum oa_error write_piece(struct packing *p, const struct packed_piece *piece,
                                 json_t *request)
{
    if (!p->shard.open)
        OA_TRY(open_shard(p));
    if (!p->inside) {
        uint8_t place[8];
        oa_put_little_endian(place, p->shard.count, sizeof place);
        p->inside = true;
        p->shard.begun++;
        OA_TRY(oa_new_file_add(&p->shard.documents, place, sizeof place));
    }
    OA_TRY(add_ids(p, piece->ids.id, piece->ids.count));
    p->characters += oa_text_characters(p->text.s + piece->from, piece->length);
    p->bytes += piece->length;
    if (!piece->ends)
        return OA_OK;
    p->inside = false;
    if (p->end >= 0)
        OA_TRY(add_ids(p, &p->end, 1));
    if (p->shard.count < p->r->shard_ids)
        return OA_OK;
    OA_TRY(close_shard(p, OA_OK));
    return write_packing_record(p, request, OA_PACKING_RECORD);
}

/* ---- portions ---- */

/* A part of the pieces, of about the same number of bytes for each worker. */
struct encoding_part {
    struct packing *p;
    size_t from, to;
    int worker;
    enum oa_error error;
};

static void *encode_part(void *argument)
{
    struct encoding_part *part = argument;
    struct packing *p = part->p;
    for (size_t i = part->from; i < part->to && part->error == OA_OK; i++) {
        struct packed_piece *piece = &p->piece[i];
        piece->ids.context = p->worker[part->worker];
        part->error =
            oa_tokenizer_encode_text(p->encoder[part->worker], piece->place,
                                     p->text.s + piece->from, piece->length, &piece->ids, NULL);
    }
    return NULL;
}

static enum oa_error encode_portion(struct packing *p)
{
    struct encoding_part part[MOST_THREADS];
    pthread_t thread[MOST_THREADS];
    bool started[MOST_THREADS] = { false };
    enum oa_error e = OA_OK;
    size_t at = 0;
    for (int w = 0; w < p->threads; w++) {
        size_t end = at, upto = p->text.length / (size_t)p->threads * (size_t)(w + 1);
        while (end < p->pieces && (w == p->threads - 1 || p->piece[end].from < upto))
            end++;
        part[w] = (struct encoding_part){ .p = p, .from = at, .to = end, .worker = w };
        at = end;
        started[w] = w && oa_thread_start(&thread[w], encode_part, &part[w]) == 0;
    }
    for (int w = 0; w < p->threads; w++)
        if (!started[w])
            encode_part(&part[w]);
    for (int w = 0; w < p->threads; w++) {
        if (started[w])
            pthread_join(thread[w], NULL);
        if (part[w].error != OA_OK && e == OA_OK)
            e = oa_fail_as(p->c, p->worker[w]);
    }
    return e;
}

static enum oa_error flush_portion(struct packing *p, json_t *request)
{
    enum oa_error e = encode_portion(p);
    for (size_t i = 0; i < p->pieces; i++) {
        if (e == OA_OK)
            e = write_piece(p, &p->piece[i], request);
        oa_ids_free(&p->piece[i].ids);
    }
    p->pieces = 0;
    oa_text_cut(&p->text, 0);
    return e;
}

static enum oa_error add_document_piece(struct packing *p, const struct oa_document *d)
{
    if (!oa_reserve(p->c, &p->piece, &p->room, p->pieces + 1, sizeof *p->piece))
        return OA_NO_MEMORY;
    struct packed_piece *piece = &p->piece[p->pieces++];
    *piece = (struct packed_piece){ .from = p->text.length, .length = d->length, .ends = d->ends };
    oa_ids_init(&piece->ids, p->c);
    if (d->line)
        snprintf(piece->place, sizeof piece->place, "%.200s, line %llu", d->file,
                 (unsigned long long)d->line);
    else
        snprintf(piece->place, sizeof piece->place, "%.200s", d->file);
    oa_text_add(&p->text, d->text, d->length);
    return oa_status(p->c);
}

static enum oa_error pack_all(struct packing *p, json_t *request)
{
    struct oa_document d;
    uint64_t skipped = 0;
    do {
        int signal = oa_stop_requested(p->c);
        if (signal)
            return oa_fail(p->c, OA_INTERRUPTED,
                           "stopped by signal %d after %zu shards; the same command continues",
                           signal, json_array_size(p->shards));
        OA_TRY(oa_documents_next(p->documents, &d));
        if (d.text && d.ends && !p->continued)
            oa_repeats_add(p->repeats, d.text, d.length);
        p->continued = d.text && !d.ends;
        if (d.text && skipped < p->skip) {
            skipped += d.ends;
            continue;
        }
        if (d.text)
            OA_TRY(add_document_piece(p, &d));
        if (d.text && p->text.length < PORTION)
            continue;
        OA_TRY(flush_portion(p, request));
        uint64_t all = oa_documents_bytes(p->documents);
        if (p->r->progress && all)
            p->r->progress(p->r->argument,
                           (long)(oa_documents_bytes_read(p->documents) * 1000 / all), 1000);
    } while (d.text);
    if (skipped < p->skip)
        return oa_fail(p->c, OA_FORMAT,
                       "%s: the files have %llu documents, fewer than the %llu of the interrupted "
                       "packing; they have changed: remove the folder to pack them again",
                       p->r->folder, (unsigned long long)skipped, (unsigned long long)p->skip);
    return OA_OK;
}

/* ---- opening ---- */

static enum oa_error open_encoders(struct packing *p, const char *tokenizer)
{
    p->threads = oa_thread_count(p->c) < MOST_THREADS ? oa_thread_count(p->c) : MOST_THREADS;
    p->encoder = oa_alloc(p->c, (size_t)p->threads * sizeof(struct oa_tokenizer *));
    p->worker = oa_alloc(p->c, (size_t)p->threads * sizeof(oa_context *));
    if (!p->encoder || !p->worker)
        return OA_NO_MEMORY;
    for (int i = 0; i < p->threads; i++) {
        p->worker[i] = oa_context_clone(p->c, 1, NULL, NULL);
        if (!p->worker[i])
            return oa_status(p->c);
        if (oa_tokenizer_load(p->worker[i], tokenizer, &p->encoder[i]) != OA_OK)
            return oa_fail_as(p->c, p->worker[i]);
    }
    return OA_OK;
}

/* Neither a finished corpus nor anything else is overwritten. */
static enum oa_error check_folder(const struct packing *p)
{
    char corpus[OA_PATH], begun[OA_PATH];
    OA_TRY(oa_path(p->c, corpus, p->r->folder, OA_CORPUS_RECORD));
    OA_TRY(oa_path(p->c, begun, p->r->folder, OA_PACKING_RECORD));
    if (oa_file_exists(corpus))
        return oa_fail(p->c, OA_ARGUMENT, "%s has a packed corpus: choose another folder",
                       p->r->folder);
    return oa_file_exists(begun) || !oa_folder_has_files(p->r->folder)
               ? OA_OK
               : oa_fail(p->c, OA_ARGUMENT, "%s has other files: choose another folder",
                         p->r->folder);
}

static enum oa_error pack_into_folder(struct packing *p)
{
    char path[OA_PATH];
    struct oa_digest digest;
    if (*p->r->end)
        OA_TRY(oa_tokenizer_add_special(p->tok, p->r->end, &p->end));
    p->width = oa_tokenizer_size(p->tok) <= 65536 ? 2 : 4;
    OA_TRY(check_folder(p));
    OA_TRY(oa_tokenizer_digest(p->c, p->tok, &digest));
    json_t *request = request_json(p, &digest);
    enum oa_error e = request ? read_packing_record(p, request) : no_memory(p->c);
    if (e == OA_OK)
        e = write_packing_record(p, request, OA_PACKING_RECORD);
    if (e == OA_OK)
        e = oa_path(p->c, path, p->r->folder, "tokenizer.json");
    if (e == OA_OK)
        e = oa_tokenizer_save(p->c, p->tok, path);
    if (e == OA_OK)
        e = open_encoders(p, path);
    if (e == OA_OK)
        e = close_shard(p, pack_all(p, request));
    if (e == OA_OK && p->count == 0)
        e = oa_fail(p->c, OA_ARGUMENT, "%s has no text", p->r->files);
    if (e == OA_OK && json_object_del(request, "changed") == 0) /* needed to continue only */
        e = write_packing_record(p, request, OA_CORPUS_RECORD);
    if (e == OA_OK && oa_path(p->c, path, p->r->folder, OA_PACKING_RECORD) == OA_OK)
        remove(path);
    json_decref(request);
    return e;
}

static void close_packing(struct packing *p)
{
    for (int i = 0; i < p->threads; i++) {
        oa_tokenizer_close(p->encoder ? p->encoder[i] : NULL);
        if (p->worker && p->worker[i])
            oa_close(p->worker[i]);
    }
    oa_free(p->encoder);
    oa_free(p->worker);
    oa_free(p->piece);
    oa_text_free(&p->text);
    oa_repeats_close(p->repeats);
    oa_documents_close(p->documents);
    json_decref(p->shards);
}

enum oa_error oa_corpus_pack(oa_context *c, struct oa_tokenizer *tok,
                             const struct oa_pack_request *r, json_t **record)
{
    struct packing p = { .c = c, .r = r, .tok = tok, .end = -1, .shards = json_array() };
    struct oa_lock *lock = NULL;
    char path[OA_PATH];
    *record = NULL;
    oa_text_init(&p.text, c);
    enum oa_error e = oa_documents_open(c, r->files, r->kind, r->column, &p.documents);
    if (e == OA_OK)
        e = oa_repeats_open(c, &p.repeats);
    if (e == OA_OK)
        e = oa_folder_lock(c, r->folder, &lock);
    if (e == OA_OK)
        e = pack_into_folder(&p);
    if (e == OA_OK)
        e = oa_path(c, path, r->folder, OA_CORPUS_RECORD);
    if (e == OA_OK)
        e = oa_checksummed_read(c, path, "pack the corpus again", record);
    close_packing(&p);
    oa_folder_unlock(lock);
    return e;
}
