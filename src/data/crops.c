/* SPDX-License-Identifier: Apache-2.0
 * Rows of partly hidden text: where each begins, its random stream, and the rows of each batch. */
#include "data/masking.h"

enum oa_error oa_crops_open(oa_context *c, const struct oa_hiding *how,
                            const struct oa_tokens *tokens, const struct oa_text_batching *rows,
                            struct oa_crops *out)
{
    struct oa_row_rule rule = { .length = rows->length,
                                .least = how->least,
                                .order = rows->order,
                                .borders = rows->borders,
                                .seed = rows->seed };
    *out = (struct oa_crops){ .context = c,
                              .how = how,
                              .tokens = tokens,
                              .rows = rows->rows,
                              .length = rows->length,
                              .noise = oa_stream_named(rows->seed, "mask") };
    if (rows->rows < 1 || rows->length < 1)
        return oa_fail(c, OA_ARGUMENT,
                       "a batch needs at least 1 row of 1 token of text, not %d rows of %d tokens",
                       rows->rows, rows->length);
    out->text = oa_alloc(c, (size_t)rows->length * sizeof *out->text);
    if (!out->text)
        return OA_NO_MEMORY;
    return oa_text_rows_open(c, tokens, &rule, &out->cut);
}

void oa_crops_close(struct oa_crops *c)
{
    oa_text_rows_close(c->cut);
    oa_free(c->text);
}

static enum oa_error fill_crop_row(const struct oa_crops *c, int r, const struct oa_text_row *row,
                                   struct oa_stream noise)
{
    struct oa_crop crop = { c->text, row->units, noise };
    OA_TRY(oa_tokens_read(c->context, c->tokens, row->start, (size_t)row->units, c->text));
    c->how->fill_row(c, r, &crop);
    return OA_OK;
}

/* ---- training ---- */

enum oa_error oa_crops_random(void *self, uint64_t step, long accumulate, long micro,
                              struct oa_batch *out)
{
    const struct oa_crops *c = self;
    for (int r = 0; r < c->rows; r++) {
        uint64_t row = (uint64_t)(micro * c->rows + r);
        struct oa_text_row place;
        OA_TRY(oa_text_rows_drawn(c->cut, step, (uint64_t)(c->rows * accumulate), row, &place));
        OA_TRY(fill_crop_row(c, r, &place, oa_stream_child(oa_stream_child(c->noise, step), row)));
    }
    *out = c->how->batch_of(c, c->rows);
    return OA_OK;
}

/* A row that cannot be found counts as full: the error comes with the batch. */
long oa_crops_units(struct oa_crops *c, uint64_t step, long accumulate, uint64_t row)
{
    struct oa_text_row place = { 0, c->length };
    if (!oa_text_rows_full(c->cut))
        oa_text_rows_drawn(c->cut, step, (uint64_t)(c->rows * accumulate), row, &place);
    return place.units;
}

void oa_crops_reading(const void *self, uint64_t steps, long accumulate, struct oa_reading *out)
{
    const struct oa_crops *c = self;
    oa_text_rows_reading(c->cut, steps * (uint64_t)(c->rows * accumulate), out);
}

/* ---- validation ---- */

enum oa_error oa_crops_cover(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                             struct oa_cover *out)
{
    struct oa_crops *c = self;
    uint64_t targets = 0, all = oa_text_rows_count(c->cut);
    (void)tok;
    for (c->windows = 0; c->windows < all; c->windows++) {
        struct oa_text_row row;
        OA_TRY(oa_text_rows_at(c->cut, c->windows, &row));
        uint64_t more = (uint64_t)c->how->targets(c, row.units);
        if (limit && c->windows && targets + more > limit)
            break;
        targets += more;
    }
    *out = (struct oa_cover){ .batches = oa_blocks((long)c->windows, c->rows), .targets = targets };
    return OA_OK;
}

enum oa_error oa_crops_window(void *self, long i, struct oa_batch *out)
{
    const struct oa_crops *c = self;
    long first = i * c->rows, rows = oa_min(c->rows, (long)c->windows - first);
    if (i < 0 || rows < 1)
        return oa_fail(c->context, OA_ARGUMENT, "batch %ld is out of range: there are %ld", i,
                       oa_blocks((long)c->windows, c->rows));
    for (int r = 0; r < rows; r++) {
        /* Training steps count from 1; validation uses the random stream of step 0. */
        uint64_t window = (uint64_t)(first + r);
        struct oa_text_row place;
        OA_TRY(oa_text_rows_at(c->cut, window, &place));
        OA_TRY(fill_crop_row(c, r, &place, oa_stream_child(oa_stream_child(c->noise, 0), window)));
    }
    *out = c->how->batch_of(c, (int)rows);
    return OA_OK;
}

/* ---- used by masked tokens and by spans ---- */

void oa_choose_places(struct oa_stream s, long n, long count, int32_t *place)
{
    for (long i = 0; i < n; i++)
        place[i] = (int32_t)i;
    for (long i = 0; i < count; i++) {
        long other = i + (long)oa_random_below(s, (uint64_t)i, (uint64_t)(n - i));
        int32_t drawn = place[other];
        place[other] = place[i];
        place[i] = drawn;
    }
}

enum oa_error oa_find_special(oa_context *c, const struct oa_tokenizer *tok, const char *piece,
                              int32_t *id)
{
    *id = oa_tokenizer_find_special(tok, piece);
    return *id >= 0 ? OA_OK
                    : oa_fail(c, OA_FORMAT,
                              "the tokenizer lacks the token \"%s\", which the task needs; use the "
                              "tokenizer of the run",
                              piece);
}
