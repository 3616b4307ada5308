/* SPDX-License-Identifier: Apache-2.0
 * Rows of a text of which a part is hidden: where they begin, and which stream hides. */
#include "data/masking.h"

enum oa_error oa_crops_open(oa_context *c, const struct oa_tokens *tokens, int rows, long length, uint64_t seed,
                            struct oa_crops *out)
{
    *out = (struct oa_crops){ c, tokens, rows, length, oa_stream_named(seed, "batch"), oa_stream_named(seed, "mask") };
    if (rows < 1 || length < 1)
        return oa_fail(c, OA_ARGUMENT, "a batch of %d rows of %ld tokens of text is empty; both are at least 1", rows,
                       length);
    return OA_OK;
}

static const char *name_of(const struct oa_crops *c)
{
    return c->tokens->name ? c->tokens->name : "text";
}

enum oa_error oa_crops_check(const struct oa_crops *c)
{
    if (c->tokens->count >= (size_t)c->length)
        return OA_OK;
    return oa_fail(c->context, OA_SHAPE,
                   "the %s has %zu tokens, but a row needs %ld: give more text (data.train) or a smaller model.context",
                   name_of(c), c->tokens->count, c->length);
}

struct oa_crop oa_crops_random(const struct oa_crops *c, uint64_t step, uint64_t row)
{
    uint64_t starts = c->tokens->count - (size_t)c->length + 1;
    uint64_t start = oa_random_below(oa_stream_child(c->places, step), row, starts);
    return (struct oa_crop){ c->tokens->ids + start, c->length, oa_stream_child(oa_stream_child(c->noise, step), row) };
}

uint64_t oa_crops_windows(const struct oa_crops *c, long least)
{
    uint64_t length = (uint64_t)c->length, whole = c->tokens->count / length, left = c->tokens->count % length;
    return whole + (left >= (uint64_t)least);
}

/* Steps of training are numbered from 1: what validation hides is that of a step 0. */
struct oa_crop oa_crops_window(const struct oa_crops *c, uint64_t i)
{
    uint64_t start = i * (uint64_t)c->length;
    return (struct oa_crop){ c->tokens->ids + start, oa_min(c->length, (long)(c->tokens->count - start)),
                             oa_stream_child(oa_stream_child(c->noise, 0), i) };
}

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

enum oa_error oa_find_special(oa_context *c, const struct oa_tokenizer *tok, const char *piece, int32_t *id)
{
    *id = oa_tokenizer_find(tok, piece);
    return *id >= 0 ? OA_OK
                    : oa_fail(c, OA_FORMAT,
                              "the tokenizer has no token \"%s\", which the task needs: it is another run's", piece);
}
