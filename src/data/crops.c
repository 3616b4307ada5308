/* SPDX-License-Identifier: Apache-2.0
 * Rows of partly hidden text: where each begins, its random stream, and the rows of each batch. */
#include "data/masking.h"

enum oa_error oa_crops_open(oa_context *c, const struct oa_hiding *how,
                            const struct oa_tokens *tokens, int rows, long length, uint64_t seed,
                            struct oa_crops *out)
{
    *out = (struct oa_crops){ .context = c,
                              .how = how,
                              .tokens = tokens,
                              .rows = rows,
                              .length = length,
                              .places = oa_stream_named(seed, "batch"),
                              .noise = oa_stream_named(seed, "mask") };
    if (rows < 1 || length < 1)
        return oa_fail(c, OA_ARGUMENT,
                       "a batch needs at least 1 row of 1 token of text, not %d rows of %ld tokens",
                       rows, length);
    out->text = oa_alloc(c, (size_t)length * sizeof *out->text);
    return oa_status(c);
}

static enum oa_error fill_crop_row(const struct oa_crops *c, int row, uint64_t start, long count,
                                   struct oa_stream noise)
{
    struct oa_crop crop = { c->text, count, noise };
    OA_TRY(oa_tokens_read(c->context, c->tokens, start, (size_t)count, c->text));
    c->how->fill_row(c, row, &crop);
    return OA_OK;
}

/* ---- training ---- */

enum oa_error oa_crops_random(void *self, uint64_t step, long accumulate, long micro,
                              struct oa_batch *out)
{
    const struct oa_crops *c = self;
    (void)accumulate;
    if (c->tokens->count < (size_t)c->length)
        return oa_fail(c->context, OA_SHAPE,
                       "the %s has %zu tokens and a row needs %ld: give more text (data.train) or "
                       "a smaller model.context",
                       c->tokens->name ? c->tokens->name : "text", c->tokens->count, c->length);
    uint64_t starts = c->tokens->count - (size_t)c->length + 1;
    for (int r = 0; r < c->rows; r++) {
        uint64_t row = (uint64_t)(micro * c->rows + r);
        uint64_t start = oa_random_below(oa_stream_child(c->places, step), row, starts);
        OA_TRY(fill_crop_row(c, r, start, c->length,
                             oa_stream_child(oa_stream_child(c->noise, step), row)));
    }
    *out = c->how->batch_of(c, c->rows);
    return OA_OK;
}

/* ---- validation ---- */

static long window_tokens(const struct oa_crops *c, uint64_t i)
{
    uint64_t start = i * (uint64_t)c->length;
    return oa_min(c->length, (long)(c->tokens->count - start));
}

enum oa_error oa_crops_cover(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                             struct oa_cover *out)
{
    struct oa_crops *c = self;
    uint64_t length = (uint64_t)c->length, targets = 0;
    uint64_t all =
        c->tokens->count / length + (c->tokens->count % length >= (uint64_t)c->how->least);
    (void)tok;
    for (c->windows = 0; c->windows < all; c->windows++) {
        uint64_t more = (uint64_t)c->how->targets(c, window_tokens(c, c->windows));
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
        OA_TRY(fill_crop_row(c, r, window * (uint64_t)c->length, window_tokens(c, window),
                             oa_stream_child(oa_stream_child(c->noise, 0), window)));
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
    *id = oa_tokenizer_find(tok, piece);
    return *id >= 0 ? OA_OK
                    : oa_fail(c, OA_FORMAT,
                              "the tokenizer lacks the token \"%s\", which the task needs; use the "
                              "tokenizer of the run",
                              piece);
}
