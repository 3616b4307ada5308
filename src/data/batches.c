/* SPDX-License-Identifier: Apache-2.0
 * Token ids → batches [rows, length]: random crops for training, windows end to end for validation.
 */
#include "data/data.h"

#include <string.h>

struct text_batches {
    oa_context *context;
    const struct oa_tokens *tokens;
    int rows, length;
    struct oa_stream stream;
    uint64_t targets; /* of the last cover */
    int32_t *input, *target;
    int32_t *row; /* [length + 1] */
};

/* Row r: inputs are the `n` tokens from `start`, targets the token after each; then padding. */
static enum oa_error fill_text_row(struct text_batches *b, int r, uint64_t start, int n)
{
    int32_t *input = b->input + (size_t)r * (size_t)b->length,
            *target = b->target + (size_t)r * (size_t)b->length;
    OA_TRY(oa_tokens_read(b->context, b->tokens, start, (size_t)n + 1, b->row));
    memcpy(input, b->row, (size_t)n * sizeof *input);
    memcpy(target, b->row + 1, (size_t)n * sizeof *target);
    for (int t = n; t < b->length; t++) {
        input[t] = 0;
        target[t] = OA_IGNORED;
    }
    return OA_OK;
}

/* ---- random crops ---- */

static void crop_amount(void *self, uint64_t step, long accumulate, struct oa_amount *out)
{
    const struct text_batches *b = self;
    (void)step;
    out->targets = out->tokens = (double)b->rows * (double)b->length * (double)accumulate;
}

static enum oa_error random_text_crops(void *self, uint64_t step, long accumulate, long micro,
                                       struct oa_batch *out)
{
    struct text_batches *b = self;
    (void)accumulate;
    size_t needed = (size_t)b->length + 1;
    if (b->tokens->count < needed)
        return oa_fail(b->context, OA_SHAPE,
                       "the %s has %zu tokens; a row of %d tokens and the next one need %zu: give "
                       "more text (data.train) or a smaller model.context",
                       b->tokens->name ? b->tokens->name : "text", b->tokens->count, b->length,
                       needed);
    struct oa_stream of_step = oa_stream_child(b->stream, step);
    for (int r = 0; r < b->rows; r++) {
        uint64_t row = (uint64_t)micro * (uint64_t)b->rows + (uint64_t)r;
        uint64_t start = oa_random_below(of_step, row, b->tokens->count - (size_t)b->length);
        OA_TRY(fill_text_row(b, r, start, b->length));
    }
    *out = (struct oa_batch){
        .rows = b->rows, .length = b->length, .input = b->input, .target = b->target
    };
    return OA_OK;
}

/* ---- validation ---- */

static uint64_t divide_up(uint64_t x, uint64_t by)
{
    return (x + by - 1) / by;
}

static enum oa_error cover_text(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                                struct oa_cover *out)
{
    struct text_batches *b = self;
    uint64_t all = b->tokens->count - 1;
    bool text = strcmp(oa_tokenizer_kind_name(tok), "ids") != 0;
    b->targets = limit && limit < all ? limit : all;
    *out = (struct oa_cover){ .targets = b->targets };
    out->batches = (long)divide_up(divide_up(b->targets, (uint64_t)b->length), (uint64_t)b->rows);
    for (uint64_t done = 0, some; done < b->targets; done += some) {
        some = b->targets - done < (uint64_t)b->length ? b->targets - done : (uint64_t)b->length;
        OA_TRY(oa_tokens_read(b->context, b->tokens, done + 1, (size_t)some, b->row));
        for (uint64_t i = 0; i < some; i++) {
            size_t n;
            const char *bytes = oa_tokenizer_bytes(tok, b->row[i], &n);
            if (!bytes)
                return oa_fail(b->context, OA_INTERNAL,
                               "token id %d of the %s is not in the tokenizer", (int)b->row[i],
                               b->tokens->name ? b->tokens->name : "text");
            bool mark = b->tokens->store && oa_tokenizer_is_special(tok, b->row[i]);
            out->bytes += text && !mark ? n : 0;
            out->characters += text && !mark ? oa_text_characters(bytes, n) : 0;
        }
    }
    return OA_OK;
}

static enum oa_error text_window(void *self, long i, struct oa_batch *out)
{
    struct text_batches *b = self;
    uint64_t length = (uint64_t)b->length, windows = divide_up(b->targets, length);
    uint64_t first = (uint64_t)i * (uint64_t)b->rows;
    if (i < 0 || first >= windows)
        return oa_fail(b->context, OA_ARGUMENT, "batch %ld is out of range: there are %llu", i,
                       (unsigned long long)divide_up(windows, (uint64_t)b->rows));
    int rows = windows - first < (uint64_t)b->rows ? (int)(windows - first) : b->rows;
    for (int r = 0; r < rows; r++) {
        uint64_t start = (first + (uint64_t)r) * length, left = b->targets - start;
        OA_TRY(fill_text_row(b, r, start, left < length ? (int)left : b->length));
    }
    *out = (struct oa_batch){
        .rows = rows, .length = b->length, .input = b->input, .target = b->target
    };
    return OA_OK;
}

/* ---- opening ---- */

static void close_text_batches(void *self)
{
    struct text_batches *b = self;
    oa_free(b->input);
    oa_free(b->target);
    oa_free(b->row);
    oa_free(b);
}

static const struct oa_batches_kind text_batches_kind = { crop_amount, random_text_crops,
                                                          cover_text,  text_window,
                                                          NULL,        close_text_batches };

enum oa_error oa_batches_open(oa_context *c, const struct oa_tokens *tokens, int rows, int length,
                              uint64_t seed, struct oa_batches **out)
{
    *out = NULL;
    if (rows < 1 || length < 1)
        return oa_fail(c, OA_ARGUMENT,
                       "a batch needs at least 1 row of 1 token, not %d rows of %d tokens", rows,
                       length);
    if (tokens->count < 2)
        return oa_fail(c, OA_SHAPE,
                       "the %s has %zu tokens; at least 2 are needed, an input and a target",
                       tokens->name ? tokens->name : "text", tokens->count);
    struct text_batches *b = oa_alloc(c, sizeof *b);
    if (!b)
        return OA_NO_MEMORY;
    size_t bytes = (size_t)rows * (size_t)length * sizeof(int32_t);
    *b = (struct text_batches){ .context = c,
                                .tokens = tokens,
                                .rows = rows,
                                .length = length,
                                .stream = oa_stream_named(seed, "batch"),
                                .input = oa_alloc(c, bytes),
                                .target = oa_alloc(c, bytes),
                                .row = oa_alloc(c, ((size_t)length + 1) * sizeof *b->row) };
    if (b->input && b->target && b->row)
        return oa_batches_wrap(c, &text_batches_kind, b, out);
    close_text_batches(b);
    return OA_NO_MEMORY;
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
