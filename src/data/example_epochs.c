/* SPDX-License-Identifier: Apache-2.0
 * Epochs of examples: rows are sorted by length, permuted within buckets of length and cut into
 * batches, which are permuted. A function of (seed, epoch). */
#include "data/example_epochs.h"

#include "base/reserve.h"
#include "data/data.h"

#include <stdlib.h>
#include <string.h>

/* Length buckets are about 1/24 wide, and rows of a bucket are reshuffled each epoch: narrower
 * buckets pad less, wider ones mix more rows. */
enum { FINENESS = 24 };

/* ---- divisions ---- */

enum oa_error oa_division_open(oa_context *c, size_t rows, struct oa_division *out)
{
    *out = (struct oa_division){ 0 };
    out->row = oa_alloc(c, rows * sizeof *out->row);
    out->start = oa_alloc(c, (rows + 1) * sizeof *out->start);
    out->turn = oa_alloc(c, rows * sizeof *out->turn);
    return out->row && out->start && out->turn ? OA_OK : OA_NO_MEMORY;
}

void oa_division_close(struct oa_division *d)
{
    oa_free(d->row);
    oa_free(d->start);
    oa_free(d->turn);
}

long oa_padded_length(const struct oa_example_batching *how, long length)
{
    long padded = 0;
    while (how->alike && padded < length)
        padded += 1 + padded / FINENESS;
    return how->alike ? oa_min(padded, how->alike) : length;
}

/* Cuts the first `count` rows into batches. */
static void cut_batches(const struct oa_epochs *e, struct oa_division *d, size_t count)
{
    long longest = 0;
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        size_t row = d->row[i];
        long length =
            oa_max(oa_source_length(e->examples, row), oa_target_length(e->examples, row));
        bool other = i > begin && e->how.alike &&
                     oa_padded_length(&e->how, length) != oa_padded_length(&e->how, longest);
        longest = oa_max(longest, length);
        if (other || (e->how.tokens ? (i - begin + 1) * (size_t)longest > (size_t)e->how.tokens
                                    : i - begin + 1 > (size_t)e->how.rows)) {
            d->start[++d->batches] = begin = i;
            longest = length;
        }
    }
    d->start[++d->batches] = count;
}

void oa_division_chosen(const struct oa_epochs *e, const uint8_t *mark, struct oa_division *d)
{
    size_t count = 0;
    for (size_t i = 0; i < e->examples->count; i++)
        if (mark[e->sorted[i]])
            d->row[count++] = e->sorted[i];
    d->batches = 0;
    cut_batches(e, d, count);
    for (size_t i = 0; i < d->batches; i++)
        d->turn[i] = (uint32_t)i;
}

/* ---- an epoch ---- */

void oa_permute(struct oa_stream s, uint32_t *item, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)oa_random_below(s, i, i);
        uint32_t other = item[k];
        item[k] = item[i - 1];
        item[i - 1] = other;
    }
}

/* Permutes within each run of rows of the same key. */
static void permute_runs(const struct oa_epochs *e, struct oa_stream s, uint32_t *row)
{
    for (size_t from = 0, to; from < e->examples->count; from = to) {
        for (to = from + 1; to < e->examples->count && e->key[row[to]] == e->key[row[from]]; to++)
            ;
        oa_permute(oa_stream_child(s, from), row + from, to - from);
    }
}

static void make_epoch(const struct oa_epochs *e, uint64_t epoch, struct oa_division *d)
{
    struct oa_stream s = oa_stream_child(e->stream, epoch);
    memcpy(d->row, e->sorted, e->examples->count * sizeof *d->row);
    permute_runs(e, oa_stream_child(s, 0), d->row);
    d->batches = 0;
    cut_batches(e, d, e->examples->count);
    for (size_t i = 0; i < d->batches; i++)
        d->turn[i] = (uint32_t)i;
    oa_permute(oa_stream_child(s, 1), d->turn, d->batches);
    d->epoch = epoch;
    d->made = true;
}

/* ---- lengths ---- */

/* The bucket of a length: 1 wide, from FINENESS on 2 wide, from 2·FINENESS on 3 … */
static uint64_t length_bucket(long length)
{
    uint64_t step = 0;
    for (long x = 0; x < length; x += 1 + x / FINENESS)
        step++;
    return step;
}

struct keyed {
    uint64_t key;
    uint32_t row;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return (x->key > y->key) - (x->key < y->key);
    return (x->row > y->row) - (x->row < y->row);
}

/* Sorted by the target's bucket, then by the source's, in descending order for every other target
 * bucket, so that neighbouring rows have similar sources also where the target's bucket changes. */
static enum oa_error sort_by_key(struct oa_epochs *e)
{
    size_t count = e->examples->count;
    struct keyed *all = oa_alloc(e->context, count * sizeof *all);
    e->sorted = oa_alloc(e->context, count * sizeof *e->sorted);
    e->key = oa_alloc(e->context, count * sizeof *e->key);
    for (size_t i = 0; all && e->sorted && e->key && i < count; i++) {
        uint64_t target = length_bucket(oa_target_length(e->examples, i)),
                 source = length_bucket(oa_source_length(e->examples, i));
        e->key[i] = target << 32 | (target & 1 ? UINT32_MAX - source : source);
        all[i] = (struct keyed){ e->key[i], (uint32_t)i };
    }
    if (all && e->sorted && e->key)
        qsort(all, count, sizeof *all, by_key);
    for (size_t i = 0; all && e->sorted && i < count; i++)
        e->sorted[i] = all[i].row;
    oa_free(all);
    return all && e->sorted && e->key ? OA_OK : OA_NO_MEMORY;
}

/* ---- the sequence of epochs ---- */

enum oa_error oa_epochs_open(oa_context *c, const struct oa_examples *examples,
                             const struct oa_example_batching *how, struct oa_epochs *out)
{
    *out = (struct oa_epochs){ .context = c, .examples = examples, .how = *how, .known = 1 };
    out->stream = oa_stream_named(how->seed, "examples");
    if (!oa_reserve(c, &out->first, &out->capacity, 1024, sizeof *out->first))
        return OA_NO_MEMORY;
    OA_TRY(sort_by_key(out));
    OA_TRY(oa_division_open(c, examples->count, &out->held[0]));
    return oa_division_open(c, examples->count, &out->held[1]);
}

void oa_epochs_close(struct oa_epochs *e)
{
    oa_division_close(&e->held[0]);
    oa_division_close(&e->held[1]);
    oa_free(e->sorted);
    oa_free(e->key);
    oa_free(e->first);
}

const struct oa_division *oa_epochs_at(struct oa_epochs *e, uint64_t epoch)
{
    struct oa_division *d = &e->held[epoch & 1];
    if (!d->made || d->epoch != epoch)
        make_epoch(e, epoch, d);
    return d;
}

/* The last known epoch that begins at or before batch `number`. */
static size_t last_epoch_before(const struct oa_epochs *e, uint64_t number)
{
    size_t low = 0, high = e->known;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (e->first[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const struct oa_division *oa_epochs_find(struct oa_epochs *e, uint64_t number, size_t *batch)
{
    uint64_t each =
        e->how.tokens ? 0 : (e->examples->count + (size_t)e->how.rows - 1) / (size_t)e->how.rows;
    /* With batches of so many tokens, epochs differ in their number of batches: each must be cut to
     * count them. */
    while (!each && e->first[e->known - 1] <= number) {
        size_t last = e->known - 1;
        if (!oa_reserve(e->context, &e->first, &e->capacity, e->known + 1, sizeof *e->first))
            return NULL;
        e->first[e->known] = e->first[last] + oa_epochs_at(e, last)->batches;
        e->known++;
    }
    uint64_t epoch = each ? number / each : last_epoch_before(e, number);
    const struct oa_division *d = oa_epochs_at(e, epoch);
    *batch = d->turn[number - (each ? epoch * each : e->first[epoch])];
    return d;
}
