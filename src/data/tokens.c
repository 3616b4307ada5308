/* SPDX-License-Identifier: Apache-2.0
 * Token ids of a text, in memory or in files. */
#include "base/new_file.h"
#include "data/data.h"

#include <string.h>

enum oa_error oa_tokens_read(oa_context *c, const struct oa_tokens *t, uint64_t at, size_t n,
                             int32_t *out)
{
    if (t->ids) {
        memcpy(out, t->ids + at, n * sizeof *out);
        return OA_OK;
    }
    for (int i = 0; i < t->spans && n; i++) {
        const struct oa_token_span *span = &t->span[i];
        if (at >= span->count) {
            at -= span->count;
            continue;
        }
        uint64_t left = span->count - at;
        size_t some = left < n ? (size_t)left : n;
        if (span->ids)
            memcpy(out, span->ids + span->from + at, some * sizeof *out);
        else
            OA_TRY(oa_token_store_read(c, span->store, span->from + at, some, out));
        out += some;
        n -= some;
        at = 0;
    }
    return n ? oa_fail(c, OA_INTERNAL, "%zu tokens are read past the end of the %s", n, t->name)
             : OA_OK;
}

struct oa_tokens oa_tokens_part(const struct oa_tokens *t, uint64_t at, uint64_t n,
                                const char *name)
{
    struct oa_tokens part = { .marked = t->marked, .count = n, .name = name };
    if (t->ids)
        part.ids = t->ids + at;
    for (int i = 0; i < t->spans; i++) {
        struct oa_token_span span = t->span[i];
        uint64_t skipped = at < span.count ? at : span.count, left = span.count - skipped;
        span.from += skipped;
        span.count = left < n ? left : n;
        part.span[part.spans++] = span;
        at -= skipped;
        n -= span.count;
    }
    return part;
}

void oa_tokens_append(struct oa_tokens *t, const struct oa_tokens *from, uint64_t at, uint64_t n)
{
    struct oa_tokens part = oa_tokens_part(from, at, n, from->name);
    if (part.ids)
        part.span[part.spans++] = (struct oa_token_span){ part.ids, NULL, 0, n };
    for (int i = 0; i < part.spans; i++)
        if (part.span[i].count && t->spans < OA_SPANS)
            t->span[t->spans++] = part.span[i];
    t->marked |= from->marked;
    t->count += n;
}

static enum oa_error digest_of_texts(oa_context *c, const struct oa_tokens *text, int count,
                                     const struct oa_corpus_part *part, struct oa_digest *out)
{
    struct oa_running_digest *digest = oa_digest_begin(c);
    if (!digest)
        return OA_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        uint64_t weight = part ? (uint64_t)part[i].weight : 0;
        oa_digest_add(digest, text[i].digest.hex, sizeof text[i].digest.hex);
        oa_digest_add(digest, &weight, sizeof weight);
    }
    *out = oa_digest_end(digest);
    oa_free(digest);
    return OA_OK;
}

enum oa_error oa_tokens_join(oa_context *c, struct oa_tokens *text, int count,
                             const struct oa_corpus_part *part, struct oa_tokens *out)
{
    bool counted = true;
    *out = (struct oa_tokens){ .name = text[0].name };
    OA_TRY(digest_of_texts(c, text, count, part, &out->digest));
    for (int i = 0; i < count; i++) {
        if (part) {
            struct oa_corpus_part *p = &out->part[out->parts++];
            *p = part[i];
            p->from = out->count;
            p->count = text[i].count;
        }
        counted = counted && (text[i].characters || !text[i].count);
        out->characters += text[i].characters;
        out->bytes += text[i].bytes;
        oa_tokens_append(out, &text[i], 0, text[i].count);
        text[i] = (struct oa_tokens){ 0 };
    }
    if (!counted)
        out->characters = out->bytes = 0;
    return OA_OK;
}

enum oa_error oa_tokens_sample_digest(oa_context *c, struct oa_tokens *t)
{
    int32_t block[OA_SAMPLE_IDS];
    uint64_t count = t->count, blocks = (count + OA_SAMPLE_IDS - 1) / OA_SAMPLE_IDS;
    if (blocks > OA_SAMPLE_BLOCKS)
        blocks = OA_SAMPLE_BLOCKS;
    struct oa_running_digest *digest = oa_digest_begin(c);
    if (!digest)
        return OA_NO_MEMORY;
    oa_digest_add(digest, &count, sizeof count);
    enum oa_error e = OA_OK;
    for (uint64_t i = 0; i < blocks && e == OA_OK; i++) {
        size_t n = count < OA_SAMPLE_IDS ? (size_t)count : OA_SAMPLE_IDS;
        uint64_t at = i * n;
        if (i == blocks - 1)
            at = count - n;
        else if (blocks == OA_SAMPLE_BLOCKS)
            at = (count - n) / (blocks - 1) * i;
        e = oa_tokens_read(c, t, at, n, block);
        if (e == OA_OK)
            oa_digest_add(digest, block, n * sizeof *block);
    }
    t->digest = oa_digest_end(digest);
    oa_free(digest);
    return e;
}
