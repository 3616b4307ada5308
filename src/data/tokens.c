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
    for (int i = 0; i < OA_SPANS && n; i++) {
        if (at >= t->span[i].count) {
            at -= t->span[i].count;
            continue;
        }
        uint64_t left = t->span[i].count - at;
        size_t some = left < n ? (size_t)left : n;
        OA_TRY(oa_token_store_read(c, t->store, t->span[i].from + at, some, out));
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
    struct oa_tokens part = { .store = t->store, .count = n, .name = name };
    if (t->ids)
        part.ids = t->ids + at;
    for (int i = 0; i < OA_SPANS && !t->ids; i++) {
        uint64_t have = t->span[i].count, skipped = at < have ? at : have, left = have - skipped;
        part.span[i].from = t->span[i].from + skipped;
        part.span[i].count = left < n ? left : n;
        at -= skipped;
        n -= part.span[i].count;
    }
    return part;
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
