/* SPDX-License-Identifier: Apache-2.0
 * Documents are cut into rows of their own, by the index files of the corpus: the number of rows
 * before every group of documents is in memory, and a row is searched within its group. */
#include "data/document_rows.h"
#include "base/little_endian.h"
#include "base/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_GROUP = 64, READ_STARTS = 8192 };

/* The tokens of one shard that belong to the text. */
struct shard_documents {
    char *path; /* of the index */
    uint64_t documents, tokens;
    uint64_t low, high; /* tokens of the shard: low … high - 1 */
    uint64_t base;      /* the first of them is token `base` of the text */
    struct stat about;
};

struct document_group {
    uint64_t rows;     /* of all groups before */
    uint64_t document; /* the first, of its shard */
    int shard;
};

struct oa_document_rows {
    oa_context *context;
    struct oa_row_rule rule;
    struct shard_documents *shard;
    int shards;
    struct document_group *group;
    size_t groups, capacity;
    uint64_t stride; /* documents of a group */
    uint64_t rows, units;
    uint8_t *bytes;  /* [8 · most] */
    uint64_t *start; /* [most + 1] */
    int fd, open;    /* the index that was read last; fd -1: none */
};

/* ---- an index ---- */

static enum oa_error open_index(struct oa_document_rows *d, int shard)
{
    struct shard_documents *s = &d->shard[shard];
    struct stat now;
    bool first = s->about.st_size == 0;
    if (d->fd >= 0 && d->open != shard) {
        close(d->fd);
        d->fd = -1;
    }
    if (d->fd < 0)
        d->fd = open(s->path, O_RDONLY | O_CLOEXEC);
    d->open = shard;
    if (d->fd < 0 || fstat(d->fd, &now) != 0)
        return oa_fail(d->context, OA_IO, "cannot read %s: %s; pack the corpus again", s->path,
                       strerror(errno));
    if (first)
        s->about = now;
    if ((uint64_t)now.st_size != 8 * s->documents)
        return oa_fail(d->context, OA_FORMAT,
                       "%s has %llu bytes, not the %llu of its %llu documents; pack the corpus "
                       "again",
                       s->path, (unsigned long long)now.st_size,
                       (unsigned long long)(8 * s->documents), (unsigned long long)s->documents);
    return oa_check_unchanged(d->context, d->fd, s->path, &s->about);
}

/* The starts of n documents from `document` on, and of the one after them, into d->start. */
static enum oa_error read_starts(struct oa_document_rows *d, int shard, uint64_t document,
                                 uint64_t n)
{
    const struct shard_documents *s = &d->shard[shard];
    uint64_t some = document + n < s->documents ? n + 1 : n, at = 8 * document;
    OA_TRY(open_index(d, shard));
    OA_TRY(oa_read_at(d->context, d->fd, s->path, at, d->bytes, 8 * some));
    d->start[n] = s->tokens;
    for (uint64_t i = 0; i < some; i++) {
        uint64_t x = oa_get_little_endian(d->bytes + 8 * i, 8);
        d->start[i] = x;
        bool misplaced = i ? x <= d->start[i - 1] : document == 0 && x != 0;
        if (misplaced || x >= s->tokens)
            return oa_fail(
                d->context, OA_FORMAT,
                "%s is damaged at byte %llu: document %llu begins at token %llu of %llu; "
                "pack the corpus again",
                s->path, (unsigned long long)(at + 8 * i), (unsigned long long)(document + i),
                (unsigned long long)x, (unsigned long long)s->tokens);
    }
    return OA_OK;
}

/* Document i of those that were read: its first token in the shard and its units, within the part
 * of the shard that belongs to the text. Returns its rows. */
static uint64_t clip_document(const struct oa_document_rows *d, const struct shard_documents *s,
                              uint64_t i, uint64_t *from, uint64_t *units)
{
    uint64_t to = d->start[i + 1] < s->high ? d->start[i + 1] : s->high,
             extra = (uint64_t)d->rule.extra, length = (uint64_t)d->rule.length;
    *from = d->start[i] > s->low ? d->start[i] : s->low;
    *units = to > *from + extra ? to - *from - extra : 0;
    bool rest = *units % length >= (uint64_t)d->rule.least;
    if (!rest)
        *units -= *units % length;
    return *units / length + (*units % length != 0);
}

/* ---- opening ---- */

/* The document of the first token that belongs to the text. */
static enum oa_error first_document(struct oa_document_rows *d, int shard, uint64_t *document)
{
    uint64_t high = d->shard[shard].documents;
    *document = 0;
    while (high - *document > 1) {
        uint64_t middle = *document + (high - *document) / 2;
        OA_TRY(read_starts(d, shard, middle, 1));
        if (d->start[0] <= d->shard[shard].low)
            *document = middle;
        else
            high = middle;
    }
    return OA_OK;
}

static enum oa_error scan_shard(struct oa_document_rows *d, int shard)
{
    const struct shard_documents *s = &d->shard[shard];
    uint64_t in_group = 0, done;
    OA_TRY(first_document(d, shard, &done));
    for (uint64_t some; done < s->documents; done += some) {
        some = s->documents - done < READ_STARTS ? s->documents - done : READ_STARTS;
        OA_TRY(read_starts(d, shard, done, some));
        if (d->start[0] >= s->high)
            break;
        for (uint64_t i = 0; i < some; i++) {
            uint64_t from, units, rows = clip_document(d, s, i, &from, &units);
            if (!rows && !in_group)
                continue;
            if (!in_group) {
                if (!oa_reserve(d->context, &d->group, &d->capacity, d->groups + 1,
                                sizeof *d->group))
                    return OA_NO_MEMORY;
                d->group[d->groups++] = (struct document_group){ d->rows, done + i, shard };
            }
            in_group = (in_group + 1) % d->stride;
            d->rows += rows;
            d->units += units;
        }
    }
    return OA_OK;
}

static enum oa_error add_shard_documents(struct oa_document_rows *d, const struct oa_store_file *f,
                                         const struct oa_token_span *span, uint64_t base)
{
    uint64_t low = span->from > f->first ? span->from - f->first : 0,
             high = span->from + span->count - f->first;
    size_t stem = strlen(f->path) - strlen(".bin");
    struct shard_documents *s = &d->shard[d->shards];
    *s = (struct shard_documents){ .documents = f->documents,
                                   .tokens = f->count,
                                   .low = low,
                                   .high = high < f->count ? high : f->count,
                                   .base = base + f->first + low - span->from };
    s->path = oa_alloc(d->context, stem + sizeof ".documents");
    if (!s->path)
        return OA_NO_MEMORY;
    memcpy(s->path, f->path, stem);
    memcpy(s->path + stem, ".documents", sizeof ".documents");
    d->shards++;
    return OA_OK;
}

/* The files of the store that have tokens of the span. */
static enum oa_error add_span_documents(struct oa_document_rows *d, const struct oa_tokens *tokens,
                                        const struct oa_token_span *span, uint64_t base)
{
    for (int i = 0; i < oa_token_store_files(span->store); i++) {
        struct oa_store_file f = oa_token_store_file(span->store, i);
        if (f.first + f.count <= span->from || f.first >= span->from + span->count)
            continue;
        if (!f.documents)
            return oa_fail(d->context, OA_ARGUMENT,
                           "data.documents = separate: %s of the %s has no documents; pack the "
                           "text with 'orthant data pack'",
                           f.path, tokens->name ? tokens->name : "text");
        OA_TRY(add_shard_documents(d, &f, span, base));
    }
    return OA_OK;
}

static enum oa_error list_shards(struct oa_document_rows *d, const struct oa_tokens *tokens)
{
    uint64_t base = 0, documents = 0;
    size_t files = 0;
    for (int i = 0; i < tokens->spans; i++)
        files += tokens->span[i].store ? (size_t)oa_token_store_files(tokens->span[i].store) : 0;
    d->shard = oa_alloc(d->context, (files + 1) * sizeof *d->shard);
    if (!d->shard)
        return OA_NO_MEMORY;
    for (int i = 0; i < tokens->spans; i++) {
        if (tokens->span[i].count && !tokens->span[i].store)
            return oa_fail(d->context, OA_ARGUMENT,
                           "data.documents = separate: a part of the %s has no documents; pack it "
                           "with 'orthant data pack'",
                           tokens->name ? tokens->name : "text");
        if (tokens->span[i].count)
            OA_TRY(add_span_documents(d, tokens, &tokens->span[i], base));
        base += tokens->span[i].count;
    }
    for (int i = 0; i < d->shards; i++)
        documents += d->shard[i].documents;
    d->stride = documents / OA_DOCUMENT_GROUPS + 1;
    if (d->stride < LEAST_GROUP)
        d->stride = LEAST_GROUP;
    return OA_OK;
}

static enum oa_error fill_document_rows(struct oa_document_rows *d, const struct oa_tokens *tokens)
{
    if (!tokens->spans)
        return oa_fail(d->context, OA_ARGUMENT,
                       "data.documents = separate: the %s has no documents; pack it with 'orthant "
                       "data pack'",
                       tokens->name ? tokens->name : "text");
    OA_TRY(list_shards(d, tokens));
    size_t most = d->stride > READ_STARTS ? (size_t)d->stride : READ_STARTS;
    d->bytes = oa_alloc(d->context, 8 * (most + 1));
    d->start = oa_alloc(d->context, (most + 1) * sizeof *d->start);
    if (!d->bytes || !d->start)
        return OA_NO_MEMORY;
    for (int i = 0; i < d->shards; i++)
        OA_TRY(scan_shard(d, i));
    return OA_OK;
}

enum oa_error oa_document_rows_open(oa_context *c, const struct oa_tokens *tokens,
                                    const struct oa_row_rule *rule, struct oa_document_rows **out)
{
    struct oa_document_rows *d = oa_alloc(c, sizeof *d);
    *out = NULL;
    if (!d)
        return OA_NO_MEMORY;
    *d = (struct oa_document_rows){ .context = c, .rule = *rule, .fd = -1 };
    enum oa_error e = fill_document_rows(d, tokens);
    if (e == OA_OK)
        *out = d;
    else
        oa_document_rows_close(d);
    return e;
}

void oa_document_rows_close(struct oa_document_rows *d)
{
    if (!d)
        return;
    if (d->fd >= 0)
        close(d->fd);
    for (int i = 0; i < d->shards; i++)
        oa_free(d->shard[i].path);
    oa_free(d->shard);
    oa_free(d->group);
    oa_free(d->bytes);
    oa_free(d->start);
    oa_free(d);
}

/* ---- rows ---- */

uint64_t oa_document_rows_count(const struct oa_document_rows *d)
{
    return d->rows;
}

uint64_t oa_document_rows_units(const struct oa_document_rows *d)
{
    return d->units;
}

static const struct document_group *group_of_row(const struct oa_document_rows *d, uint64_t row)
{
    size_t low = 0, high = d->groups;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->group[middle].rows <= row)
            low = middle;
        else
            high = middle;
    }
    return &d->group[low];
}

enum oa_error oa_document_rows_at(struct oa_document_rows *d, uint64_t i, struct oa_text_row *row)
{
    const struct document_group *g = group_of_row(d, i);
    const struct shard_documents *s = &d->shard[g->shard];
    uint64_t left = s->documents - g->document, n = left < d->stride ? left : d->stride,
             length = (uint64_t)d->rule.length, before = g->rows;
    OA_TRY(read_starts(d, g->shard, g->document, n));
    for (uint64_t k = 0; k < n; k++) {
        uint64_t from, units, rows = clip_document(d, s, k, &from, &units);
        if (i < before + rows) {
            uint64_t at = (i - before) * length;
            row->start = s->base + from - s->low + at;
            row->units = units - at < length ? (long)(units - at) : d->rule.length;
            return OA_OK;
        }
        before += rows;
    }
    return oa_fail(d->context, OA_INTERNAL, "row %llu is not in its group of documents",
                   (unsigned long long)i);
}
