/* SPDX-License-Identifier: Apache-2.0
 * Each pass reads all signatures in order and finds documents that agree in one band (or in the
 * digest) through a hash table. Where the table is too small for all documents, a band takes
 * several passes, each over a part of the keys. */
#include "data/duplicates.h"

#include <math.h>
#include <string.h>

enum { AT_ONCE = 256, BY_DIGEST = -1, LEAST_SLOTS = 1 << 16, DOCUMENT_BYTES = 5 };

struct oa_bands oa_bands_for(double threshold)
{
    struct oa_bands best = { 1, OA_SIGNATURE_HASHES };
    for (int rows = 2; rows <= OA_SIGNATURE_HASHES; rows++) {
        struct oa_bands b = { rows, OA_SIGNATURE_HASHES / rows };
        if (oa_bands_probability(b, threshold) >= 0.95)
            best = b;
    }
    return best;
}

double oa_bands_probability(struct oa_bands b, double similarity)
{
    return 1 - pow(1 - pow(similarity, b.rows), b.bands);
}

struct band_entry {
    uint64_t key;
    uint32_t document;
    bool used;
};

struct matching {
    oa_context *context;
    const struct oa_signature_file *file;
    struct oa_bands bands;
    double least; /* equal values of a near duplicate */
    struct oa_duplicates *out;
    struct band_entry *entry; /* [slots] open addressing, linear probing */
    uint64_t slots, used;
    int band;             /* of this pass; BY_DIGEST */
    uint64_t part, parts; /* of the keys */
};

static uint64_t band_key(const struct matching *m, const struct oa_signature *s)
{
    uint64_t key;
    if (m->band == BY_DIGEST) {
        memcpy(&key, s->digest, sizeof key);
        return key;
    }
    key = 0x9e3779b97f4a7c15;
    for (int i = 0; i < m->bands.rows; i++) {
        key = (key ^ s->min[m->band * m->bands.rows + i]) * 0xbf58476d1ce4e5b9;
        key ^= key >> 29;
    }
    return key ^ key >> 32;
}

/* Compares document `at` with an earlier one of its bucket. */
static enum oa_error compare_signatures(struct matching *m, uint32_t at,
                                        const struct oa_signature *s, uint32_t earlier)
{
    struct oa_signed_document other;
    int equal = 0;
    OA_TRY(oa_signature_file_read(m->file, earlier, 1, &other));
    if (m->band == BY_DIGEST) {
        if (memcmp(other.signature.digest, s->digest, sizeof s->digest) != 0)
            return OA_OK;
        m->out->first[at] = earlier;
        m->out->equal[at] = OA_EXACT;
        return OA_OK;
    }
    for (int i = 0; i < OA_SIGNATURE_HASHES; i++)
        equal += s->min[i] == other.signature.min[i];
    if (equal >= m->least) {
        m->out->first[at] = earlier;
        m->out->equal[at] = (uint8_t)equal;
    }
    return OA_OK;
}

/* Entries of one key are in the order of documents, so the first that matches is the earliest. */
static enum oa_error match_document(struct matching *m, uint32_t at, const struct oa_signature *s)
{
    uint64_t key = band_key(m, s), slot = (key >> 32) * m->slots >> 32;
    uint32_t *first = &m->out->first[at];
    int met = 0;
    if (((uint64_t)(uint32_t)key * m->parts) >> 32 != m->part)
        return OA_OK;
    for (; m->entry[slot].used; slot = slot + 1 == m->slots ? 0 : slot + 1) {
        const struct band_entry *e = &m->entry[slot];
        if (e->key != key)
            continue;
        met++;
        if (e->document < *first)
            OA_TRY(compare_signatures(m, at, s, e->document));
    }
    if (met == OA_MOST_COMPARED || (m->band == BY_DIGEST && *first != OA_NO_DUPLICATE))
        return OA_OK;
    m->entry[slot] = (struct band_entry){ key, at, true };
    m->used++;
    return OA_OK;
}

/* *full: the table has too few slots for this part of the keys. */
static enum oa_error run_matching_pass(struct matching *m, bool *full)
{
    struct oa_signed_document *d = oa_alloc(m->context, AT_ONCE * sizeof *d);
    uint64_t all = m->out->documents;
    enum oa_error e = d ? OA_OK : OA_NO_MEMORY;
    memset(m->entry, 0, m->slots * sizeof *m->entry);
    m->used = 0;
    *full = false;
    for (uint64_t at = 0; at < all && e == OA_OK && !*full; at += AT_ONCE) {
        size_t n = all - at < AT_ONCE ? (size_t)(all - at) : AT_ONCE;
        if (oa_stop_requested(m->context))
            e = oa_fail(m->context, OA_INTERRUPTED,
                        "stopped by signal %d while comparing documents; nothing was written",
                        oa_stop_requested(m->context));
        if (e == OA_OK)
            e = oa_signature_file_read(m->file, at, n, d);
        for (size_t i = 0; i < n && e == OA_OK && !*full; i++) {
            const uint32_t number = (uint32_t)(at + i);
            bool compared =
                m->band == BY_DIGEST || (d[i].signature.words && m->out->equal[number] != OA_EXACT);
            if (compared)
                e = match_document(m, number, &d[i].signature);
            *full = m->used > m->slots / 10 * 8;
        }
    }
    oa_free(d);
    return e;
}

static enum oa_error match_band(struct matching *m, int band)
{
    bool full = true;
    m->band = band;
    for (m->parts = 1 + m->out->documents / (m->slots / 10 * 7); full; m->parts *= full ? 2 : 1)
        for (m->part = 0, full = false; m->part < m->parts && !full; m->part++)
            OA_TRY(run_matching_pass(m, &full));
    return OA_OK;
}

static enum oa_error open_matching(struct matching *m, uint64_t memory)
{
    uint64_t n = m->out->documents, fixed = n * DOCUMENT_BYTES, wanted = n + n / 2 + LEAST_SLOTS,
             least = fixed + LEAST_SLOTS * sizeof *m->entry;
    if (memory < least)
        return oa_fail(m->context, OA_ARGUMENT,
                       "%llu documents need at least %.1f MiB of memory: increase --memory",
                       (unsigned long long)n, ceil((double)least / 104857.6) / 10);
    m->slots = (memory - fixed) / sizeof *m->entry;
    m->slots = m->slots < wanted ? m->slots : wanted;
    m->entry = oa_alloc(m->context, m->slots * sizeof *m->entry);
    m->out->first = oa_alloc(m->context, (n + 1) * sizeof *m->out->first);
    m->out->equal = oa_alloc(m->context, n + 1);
    return m->entry && m->out->first && m->out->equal ? OA_OK : OA_NO_MEMORY;
}

enum oa_error oa_duplicates_find(oa_context *c, const struct oa_signature_file *f, double threshold,
                                 uint64_t memory, oa_duplicates_progress *progress, void *argument,
                                 struct oa_duplicates *out)
{
    struct matching m = { .context = c,
                          .file = f,
                          .bands = oa_bands_for(threshold),
                          .least = threshold * OA_SIGNATURE_HASHES,
                          .out = out };
    int bands = threshold > 0 ? m.bands.bands : 0;
    *out = (struct oa_duplicates){ .documents = (uint32_t)oa_signature_file_count(f) };
    enum oa_error e = open_matching(&m, memory);
    for (uint32_t i = 0; i < out->documents && e == OA_OK; i++)
        out->first[i] = OA_NO_DUPLICATE;
    for (int band = BY_DIGEST; band < bands && e == OA_OK; band++) {
        e = match_band(&m, band);
        if (progress)
            progress(argument, "comparing", band + 2, bands + 1);
    }
    for (uint32_t i = 0; i < out->documents && e == OA_OK; i++) {
        out->exact += out->equal[i] == OA_EXACT;
        out->near += out->first[i] != OA_NO_DUPLICATE && out->equal[i] != OA_EXACT;
    }
    oa_free(m.entry);
    if (e != OA_OK)
        oa_duplicates_free(out);
    return e;
}

void oa_duplicates_free(struct oa_duplicates *d)
{
    oa_free(d->first);
    oa_free(d->equal);
    *d = (struct oa_duplicates){ 0 };
}
