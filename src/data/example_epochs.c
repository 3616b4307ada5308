/* SPDX-License-Identifier: Apache-2.0
 *
 * Epochs of examples: permuted, sorted by length part by part, cut into batches, and these permuted. All of it is a
 * function of (seed, epoch).
 */
#include "data/example_epochs.h"

#include "data/tokenizer_parts.h"

#include <stdlib.h>

/* Parts of so many batches: with 29,000 pairs (Multi30k) and 64 rows, sorting in such parts pads about as little as
 * sorting all, and which rows meet in a batch changes from epoch to epoch. */
enum { POOL_BATCHES = 100 };

/* ---- divisions ------------------------------------------------------------------------------------------------- */

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

static int by_key(const void *a, const void *b)
{
    const struct oa_keyed_row *x = a, *y = b;
    if (x->key != y->key)
        return (x->key > y->key) - (x->key < y->key);
    return (x->place > y->place) - (x->place < y->place);
}

static uint64_t key_of(const struct oa_examples *e, size_t row)
{
    return (uint64_t)oa_target_length(e, row) << 32 | (uint64_t)oa_source_length(e, row);
}

static void sort(const struct oa_epochs *e, struct oa_keyed_row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        row[i].key = key_of(e->examples, row[i].row);
        row[i].place = (uint32_t)i;
    }
    qsort(row, count, sizeof *row, by_key);
}

/* Do `rows` rows, of which the longest has so many tokens, make more than a batch? */
static bool too_many(const struct oa_epochs *e, size_t rows, long longest)
{
    return e->how.tokens ? rows * (size_t)longest > (size_t)e->how.tokens : rows > (size_t)e->how.rows;
}

/* Rows `from` … `to` - 1 as batches behind those that are there. */
static void cut(const struct oa_epochs *e, struct oa_division *d, size_t from, size_t to)
{
    long longest = 0;
    size_t begin = from;
    for (size_t i = from; i < to; i++) {
        size_t row = d->row[i].row;
        long length = oa_max(oa_source_length(e->examples, row), oa_target_length(e->examples, row));
        longest = oa_max(longest, length);
        if (too_many(e, i - begin + 1, longest)) {
            d->start[++d->batches] = begin = i;
            longest = length;
        }
    }
    if (to > begin)
        d->start[++d->batches] = to;
}

void oa_division_sorted(const struct oa_epochs *e, size_t count, struct oa_division *d)
{
    d->batches = 0;
    sort(e, d->row, count);
    cut(e, d, 0, count);
    for (size_t i = 0; i < d->batches; i++)
        d->turn[i] = i;
}

/* ---- an epoch -------------------------------------------------------------------------------------------------- */

void oa_permute_rows(struct oa_stream s, struct oa_keyed_row *row, size_t count)
{
    for (size_t i = 0; i < count; i++)
        row[i].row = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)oa_random_below(s, i, i);
        struct oa_keyed_row other = row[k];
        row[k] = row[i - 1];
        row[i - 1] = other;
    }
}

static void permute_batches(struct oa_stream s, size_t *turn, size_t count)
{
    for (size_t i = 0; i < count; i++)
        turn[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)oa_random_below(s, i, i), other = turn[k];
        turn[k] = turn[i - 1];
        turn[i - 1] = other;
    }
}

static void make(const struct oa_epochs *e, uint64_t epoch, struct oa_division *d)
{
    struct oa_stream s = oa_stream_child(e->stream, epoch);
    size_t count = e->examples->count;
    oa_permute_rows(oa_stream_child(s, 0), d->row, count);
    d->batches = 0;
    for (size_t from = 0; from < count; from += e->pool) {
        size_t to = count - from > e->pool ? from + e->pool : count;
        sort(e, d->row + from, to - from);
        cut(e, d, from, to);
    }
    permute_batches(oa_stream_child(s, 1), d->turn, d->batches);
    d->epoch = epoch;
    d->made = true;
}

/* ---- the sequence of epochs ------------------------------------------------------------------------------------ */

static size_t pool_of(const struct oa_examples *e, const struct oa_example_batching *how)
{
    size_t tokens = 0, rows = (size_t)how->rows;
    for (size_t i = 0; i < e->count && how->tokens; i++)
        tokens += (size_t)oa_max(oa_source_length(e, i), oa_target_length(e, i));
    if (how->tokens)
        rows = 1 + (size_t)((double)how->tokens * (double)e->count / (double)tokens);
    return rows < e->count / POOL_BATCHES + 1 ? rows * POOL_BATCHES : e->count;
}

enum oa_error oa_epochs_open(oa_context *c, const struct oa_examples *examples, const struct oa_example_batching *how,
                             struct oa_epochs *out)
{
    *out = (struct oa_epochs){ .context = c, .examples = examples, .how = *how, .known = 1 };
    out->stream = oa_stream_named(how->seed, "examples");
    out->pool = pool_of(examples, how);
    if (!oa_reserve(c, &out->first, &out->capacity, 1024, sizeof *out->first))
        return OA_NO_MEMORY;
    OA_TRY(oa_division_open(c, examples->count, &out->held[0]));
    return oa_division_open(c, examples->count, &out->held[1]);
}

void oa_epochs_close(struct oa_epochs *e)
{
    oa_division_close(&e->held[0]);
    oa_division_close(&e->held[1]);
    oa_free(e->first);
}

const struct oa_division *oa_epochs_at(struct oa_epochs *e, uint64_t epoch)
{
    struct oa_division *d = &e->held[epoch & 1];
    if (!d->made || d->epoch != epoch)
        make(e, epoch, d);
    return d;
}

/* The last epoch known that begins at or before batch `number`. */
static size_t last_before(const struct oa_epochs *e, uint64_t number)
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

/* Where tokens are counted, epochs have different numbers of batches, which are found by dividing them. */
static enum oa_error learn(struct oa_epochs *e)
{
    size_t epoch = e->known - 1;
    if (!oa_reserve(e->context, &e->first, &e->capacity, e->known + 1, sizeof *e->first))
        return OA_NO_MEMORY;
    e->first[e->known] = e->first[epoch] + oa_epochs_at(e, epoch)->batches;
    e->known++;
    return OA_OK;
}

const struct oa_division *oa_epochs_find(struct oa_epochs *e, uint64_t number, size_t *batch)
{
    uint64_t each = e->how.tokens ? 0 : (e->examples->count + (size_t)e->how.rows - 1) / (size_t)e->how.rows;
    while (!each && e->first[e->known - 1] <= number)
        if (learn(e) != OA_OK)
            return NULL;
    uint64_t epoch = each ? number / each : last_before(e, number);
    const struct oa_division *d = oa_epochs_at(e, epoch);
    *batch = d->turn[number - (each ? epoch * each : e->first[epoch])];
    return d;
}
