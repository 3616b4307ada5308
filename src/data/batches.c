/* SPDX-License-Identifier: Apache-2.0
 * Token ids → batches [rows, length] of language models. */
#include "data/training_rows.h"

#include <string.h>

struct text_batches {
    oa_context *context;
    const struct oa_tokens *tokens;
    struct oa_text_rows *cut;
    int rows, length;
    bool joined;
    uint64_t targets, windows; /* of the last cover */
    long last;                 /* targets of its last window */
    int32_t *input, *target, *lengths;
    int32_t *row; /* [length + 1] */
};

/* Row r: inputs are the tokens of `row`, targets the token after each; then padding. */
static enum oa_error fill_text_row(struct text_batches *b, int r, const struct oa_text_row *row)
{
    int32_t *input = b->input + (size_t)r * (size_t)b->length,
            *target = b->target + (size_t)r * (size_t)b->length;
    OA_TRY(oa_tokens_read(b->context, b->tokens, row->start, (size_t)row->units + 1, b->row));
    memcpy(input, b->row, (size_t)row->units * sizeof *input);
    memcpy(target, b->row + 1, (size_t)row->units * sizeof *target);
    for (long t = row->units; t < b->length; t++) {
        input[t] = 0;
        target[t] = OA_IGNORED;
    }
    b->lengths[r] = (int32_t)row->units;
    return OA_OK;
}

static struct oa_batch text_batch(const struct text_batches *b, int rows)
{
    bool full = true;
    for (int r = 0; r < rows; r++)
        full = full && b->lengths[r] == b->length;
    return (struct oa_batch){ .rows = rows,
                              .length = b->length,
                              .input = b->input,
                              .target = b->target,
                              .lengths = full ? NULL : b->lengths };
}

/* ---- training ---- */

/* A row that cannot be found counts as full: the error comes with the batch. */
static void text_amount(void *self, uint64_t step, long accumulate, struct oa_amount *out)
{
    struct text_batches *b = self;
    uint64_t rows = (uint64_t)b->rows * (uint64_t)accumulate;
    out->targets = (double)rows * (double)b->length;
    for (uint64_t r = 0; r < rows && !oa_text_rows_full(b->cut); r++) {
        struct oa_text_row row = { 0, b->length };
        if (oa_text_rows_drawn(b->cut, step, rows, r, &row) == OA_OK)
            out->targets -= (double)(b->length - row.units);
    }
    out->tokens = out->targets;
}

static enum oa_error draw_text_batch(void *self, uint64_t step, long accumulate, long micro,
                                     struct oa_batch *out)
{
    struct text_batches *b = self;
    uint64_t rows = (uint64_t)b->rows * (uint64_t)accumulate;
    for (int r = 0; r < b->rows; r++) {
        struct oa_text_row row;
        OA_TRY(oa_text_rows_drawn(b->cut, step, rows,
                                  (uint64_t)micro * (uint64_t)b->rows + (uint64_t)r, &row));
        OA_TRY(fill_text_row(b, r, &row));
    }
    *out = text_batch(b, b->rows);
    return OA_OK;
}

static void text_reading(const void *self, uint64_t steps, long accumulate, struct oa_reading *out)
{
    const struct text_batches *b = self;
    oa_text_rows_reading(b->cut, steps * (uint64_t)b->rows * (uint64_t)accumulate, out);
}

/* ---- validation ---- */

static uint64_t batches_of(const struct text_batches *b)
{
    return (b->windows + (uint64_t)b->rows - 1) / (uint64_t)b->rows;
}

/* Adds the text of the targets of the row. */
static enum oa_error count_row_text(struct text_batches *b, const struct oa_tokenizer *tok,
                                    const struct oa_text_row *row, struct oa_cover *out)
{
    bool text = strcmp(oa_tokenizer_kind_name(tok), "ids") != 0;
    OA_TRY(oa_tokens_read(b->context, b->tokens, row->start + 1, (size_t)row->units, b->row));
    for (long i = 0; i < row->units; i++) {
        size_t n;
        const char *bytes = oa_tokenizer_bytes(tok, b->row[i], &n);
        if (!bytes)
            return oa_fail(b->context, OA_INTERNAL, "token id %d of the %s is not in the tokenizer",
                           (int)b->row[i], b->tokens->name ? b->tokens->name : "text");
        bool mark = b->tokens->marked && oa_tokenizer_is_special(tok, b->row[i]);
        out->bytes += text && !mark ? n : 0;
        out->characters += text && !mark ? oa_text_characters(bytes, n) : 0;
    }
    return OA_OK;
}

static enum oa_error cover_text(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                                struct oa_cover *out)
{
    struct text_batches *b = self;
    uint64_t all = oa_text_rows_units(b->cut), done = 0;
    b->targets = limit && limit < all ? limit : all;
    *out = (struct oa_cover){ .targets = b->targets };
    for (b->windows = 0; done < b->targets; b->windows++) {
        struct oa_text_row row;
        OA_TRY(oa_text_rows_at(b->cut, b->windows, &row));
        if ((uint64_t)row.units > b->targets - done)
            row.units = (long)(b->targets - done);
        OA_TRY(count_row_text(b, tok, &row, out));
        done += (uint64_t)row.units;
        b->last = row.units;
    }
    out->batches = (long)batches_of(b);
    return OA_OK;
}

static enum oa_error text_window(void *self, long i, struct oa_batch *out)
{
    struct text_batches *b = self;
    uint64_t first = (uint64_t)i * (uint64_t)b->rows, left = b->windows - first;
    if (i < 0 || first >= b->windows)
        return oa_fail(b->context, OA_ARGUMENT, "batch %ld is out of range: there are %llu", i,
                       (unsigned long long)batches_of(b));
    int rows = left < (uint64_t)b->rows ? (int)left : b->rows;
    for (int r = 0; r < rows; r++) {
        struct oa_text_row row;
        OA_TRY(oa_text_rows_at(b->cut, first + (uint64_t)r, &row));
        if (first + (uint64_t)r == b->windows - 1)
            row.units = b->last;
        OA_TRY(fill_text_row(b, r, &row));
    }
    *out = text_batch(b, rows);
    if (b->windows == 1) /* a text shorter than the context, which can be long */
        out->length = b->last;
    if (b->joined || b->windows == 1) /* the padding of the last window is after all targets */
        out->lengths = NULL;
    return OA_OK;
}

/* ---- opening ---- */

static void close_text_batches(void *self)
{
    struct text_batches *b = self;
    oa_text_rows_close(b->cut);
    oa_free(b->input);
    oa_free(b->target);
    oa_free(b->lengths);
    oa_free(b->row);
    oa_free(b);
}

static const struct oa_batches_kind text_batches_kind = {
    text_amount, draw_text_batch, cover_text, text_window, NULL, close_text_batches, text_reading
};

static enum oa_error fill_text_batches(struct text_batches *b, const struct oa_row_rule *rule)
{
    size_t bytes = (size_t)b->rows * (size_t)b->length * sizeof(int32_t);
    b->input = oa_alloc(b->context, bytes);
    b->target = oa_alloc(b->context, bytes);
    b->lengths = oa_alloc(b->context, (size_t)b->rows * sizeof *b->lengths);
    b->row = oa_alloc(b->context, ((size_t)b->length + 1) * sizeof *b->row);
    if (!b->input || !b->target || !b->lengths || !b->row)
        return OA_NO_MEMORY;
    return oa_text_rows_open(b->context, b->tokens, rule, &b->cut);
}

enum oa_error oa_text_batches_open(oa_context *c, const struct oa_tokens *tokens,
                                   const struct oa_text_batching *how, struct oa_batches **out)
{
    struct oa_row_rule rule = { .length = how->length,
                                .extra = 1,
                                .least = 1,
                                .order = how->order,
                                .borders = how->borders,
                                .seed = how->seed };
    *out = NULL;
    if (how->rows < 1 || how->length < 1)
        return oa_fail(c, OA_ARGUMENT,
                       "a batch needs at least 1 row of 1 token, not %d rows of %d tokens",
                       how->rows, how->length);
    if (tokens->count < 2)
        return oa_fail(c, OA_SHAPE,
                       "the %s has %zu tokens; at least 2 are needed, an input and a target",
                       tokens->name ? tokens->name : "text", tokens->count);
    struct text_batches *b = oa_alloc(c, sizeof *b);
    if (!b)
        return OA_NO_MEMORY;
    *b = (struct text_batches){ .context = c,
                                .tokens = tokens,
                                .rows = how->rows,
                                .length = how->length,
                                .joined = how->borders == OA_BORDERS_JOINED };
    enum oa_error e = fill_text_batches(b, &rule);
    if (e == OA_OK)
        return oa_batches_wrap(c, &text_batches_kind, b, out);
    close_text_batches(b);
    return e;
}

enum oa_error oa_batches_open(oa_context *c, const struct oa_tokens *tokens, int rows, int length,
                              uint64_t seed, struct oa_batches **out)
{
    struct oa_text_batching how = { .rows = rows, .length = length, .seed = seed };
    return oa_text_batches_open(c, tokens, &how, out);
}

/* ---- any kind, through its table ---- */

enum oa_error oa_batches_wrap(oa_context *c, const struct oa_batches_kind *kind, void *self,
                              struct oa_batches **out)
{
    *out = oa_alloc(c, sizeof **out);
    if (*out)
        **out = (struct oa_batches){ kind, self };
    else
        kind->close(self);
    return *out ? OA_OK : OA_NO_MEMORY;
}

void oa_batches_close(struct oa_batches *b)
{
    if (!b)
        return;
    b->kind->close(b->self);
    oa_free(b);
}

void oa_batches_amount(struct oa_batches *b, uint64_t step, long accumulate, struct oa_amount *out)
{
    b->kind->amount(b->self, step, accumulate, out);
}

enum oa_error oa_batches_random(struct oa_batches *b, uint64_t step, long accumulate, long micro,
                                struct oa_batch *out)
{
    return b->kind->random(b->self, step, accumulate, micro, out);
}

void oa_batches_reading(const struct oa_batches *b, uint64_t steps, long accumulate,
                        struct oa_reading *out)
{
    *out = (struct oa_reading){ 0 };
    if (b->kind->reading)
        b->kind->reading(b->self, steps, accumulate, out);
}

enum oa_error oa_batches_cover(struct oa_batches *b, const struct oa_tokenizer *tok, uint64_t limit,
                               struct oa_cover *out)
{
    return b->kind->cover(b->self, tok, limit, out);
}

enum oa_error oa_batches_window(struct oa_batches *b, long i, struct oa_batch *out)
{
    return b->kind->window(b->self, i, out);
}

const uint32_t *oa_batches_examples(const struct oa_batches *b, long i)
{
    return b->kind->examples ? b->kind->examples(b->self, i) : NULL;
}
