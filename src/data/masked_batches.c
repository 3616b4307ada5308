/* SPDX-License-Identifier: Apache-2.0
 * Masked text (Devlin et al. 2019): hidden tokens of each row are its targets. */
#include "data/masking.h"

#include <math.h>

enum { AROUND = 2 }; /* "[CLS]" and "[SEP]" */
enum { PLACES, FATES, TOKENS };

struct masked_batches {
    struct oa_crops crops; /* first: see masked_of() */
    double share;
    long length;
    int32_t cls, sep, mask;
    int32_t *ordinary; /* [ordinaries] tokens that are not special: random replacements are drawn
                          from them */
    size_t ordinaries;
    int32_t *input, *target, *lengths, *place;
};

long oa_masked_count(double share, long tokens)
{
    return oa_max(1, (long)nearbyint(share * (double)tokens));
}

long oa_masked_targets(double share, long length)
{
    return oa_masked_count(share, length - AROUND);
}

static const struct masked_batches *masked_of(const struct oa_crops *crops)
{
    return (const struct masked_batches *)crops;
}

/* ---- a row ---- */

static void fill_masked_row(const struct oa_crops *crops, int r, const struct oa_crop *crop)
{
    const struct masked_batches *b = masked_of(crops);
    int32_t *input = b->input + (long)r * b->length, *target = b->target + (long)r * b->length;
    for (long t = 0; t < b->length; t++) {
        input[t] = t >= 1 && t <= crop->count ? crop->ids[t - 1] : 0;
        target[t] = OA_IGNORED;
    }
    input[0] = b->cls;
    input[crop->count + 1] = b->sep;
    b->lengths[r] = (int32_t)(crop->count + AROUND);
    long chosen = oa_masked_count(b->share, crop->count);
    oa_choose_places(oa_stream_child(crop->noise, PLACES), crop->count, chosen, b->place);
    for (long i = 0; i < chosen; i++) {
        long t = b->place[i] + 1;
        target[t] = input[t];
        double fate = oa_random_uniform(oa_stream_child(crop->noise, FATES), (uint64_t)i);
        if (fate < 0.8)
            input[t] = b->mask;
        else if (fate < 0.9)
            input[t] = b->ordinary[oa_random_below(oa_stream_child(crop->noise, TOKENS),
                                                   (uint64_t)i, b->ordinaries)];
    }
}

static struct oa_batch masked_batch(const struct oa_crops *crops, int rows)
{
    const struct masked_batches *b = masked_of(crops);
    bool whole = true;
    for (int r = 0; r < rows; r++)
        whole = whole && b->lengths[r] == b->length;
    return (struct oa_batch){ .rows = rows,
                              .length = (int)b->length,
                              .input = b->input,
                              .target = b->target,
                              .lengths = whole ? NULL : b->lengths };
}

/* ---- the kind ---- */

static long masked_targets(const struct oa_crops *crops, long tokens)
{
    return oa_masked_count(masked_of(crops)->share, tokens);
}

static const struct oa_hiding hiding = { 1, masked_targets, fill_masked_row, masked_batch };

static void masked_amount(void *self, uint64_t step, long accumulate, struct oa_amount *out)
{
    struct masked_batches *b = self;
    *out = (struct oa_amount){ 0 };
    for (long r = 0; r < b->crops.rows * accumulate; r++) {
        long units = oa_crops_units(&b->crops, step, accumulate, (uint64_t)r);
        out->targets += (double)oa_masked_count(b->share, units);
        out->tokens += (double)(units + AROUND);
    }
}

static void close_masked_batches(void *self)
{
    struct masked_batches *b = self;
    oa_crops_close(&b->crops);
    oa_free(b->ordinary);
    oa_free(b->input);
    oa_free(b->target);
    oa_free(b->lengths);
    oa_free(b->place);
    oa_free(b);
}

static const struct oa_batches_kind masked_batches_kind = {
    masked_amount, oa_crops_random,      oa_crops_cover,  oa_crops_window,
    NULL,          close_masked_batches, oa_crops_reading
};

/* ---- opening ---- */

static enum oa_error find_masking_tokens(oa_context *c, const struct oa_tokenizer *tok,
                                         struct masked_batches *b)
{
    int32_t size = oa_tokenizer_size(tok);
    OA_TRY(oa_find_special(c, tok, "[CLS]", &b->cls));
    OA_TRY(oa_find_special(c, tok, "[SEP]", &b->sep));
    OA_TRY(oa_find_special(c, tok, "[MASK]", &b->mask));
    b->ordinary = oa_alloc(c, (size_t)size * sizeof *b->ordinary);
    for (int32_t id = 0; b->ordinary && id < size; id++)
        if (oa_tokenizer_piece(tok, id) && !oa_tokenizer_is_special(tok, id))
            b->ordinary[b->ordinaries++] = id;
    if (b->ordinary && !b->ordinaries)
        return oa_fail(c, OA_FORMAT,
                       "the tokenizer has special tokens only: nothing can be masked");
    return oa_status(c);
}

static enum oa_error make_masked_batches(oa_context *c, const struct oa_tokens *tokens,
                                         const struct oa_masking *how, struct masked_batches *b)
{
    size_t places = (size_t)how->rows * (size_t)how->length;
    b->share = how->share;
    b->length = how->length;
    struct oa_text_batching rows = { how->rows, (int)how->length - AROUND, how->seed, how->order,
                                     how->borders };
    OA_TRY(oa_crops_open(c, &hiding, tokens, &rows, &b->crops));
    OA_TRY(find_masking_tokens(c, how->tokenizer, b));
    b->input = oa_alloc(c, places * sizeof *b->input);
    b->target = oa_alloc(c, places * sizeof *b->target);
    b->lengths = oa_alloc(c, (size_t)how->rows * sizeof *b->lengths);
    b->place = oa_alloc(c, (size_t)how->length * sizeof *b->place);
    return oa_status(c);
}

enum oa_error oa_masked_batches_open(oa_context *c, const struct oa_tokens *tokens,
                                     const struct oa_masking *how, struct oa_batches **out)
{
    *out = NULL;
    if (how->length <= AROUND)
        return oa_fail(c, OA_ARGUMENT,
                       "model.context = %ld must be at least 3: a row is [CLS], text and [SEP]",
                       how->length);
    struct masked_batches *b = oa_alloc(c, sizeof *b);
    if (!b)
        return OA_NO_MEMORY;
    enum oa_error e = make_masked_batches(c, tokens, how, b);
    if (e == OA_OK)
        return oa_batches_wrap(c, &masked_batches_kind, b, out);
    close_masked_batches(b);
    return e;
}
