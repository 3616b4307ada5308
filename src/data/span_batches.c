/* SPDX-License-Identifier: Apache-2.0
 * Span corruption (Raffel et al. 2020): source is a text without some spans, target the spans. */
#include "data/masking.h"

enum { LEAST = 2 }; /* tokens of which one is hidden */

struct span_batches {
    struct oa_crops crops; /* first: see spans_of() */
    double share, mean;
    struct oa_span_counts whole; /* of a full row */
    int32_t begin, end, *sentinel;
    int32_t *source, *input, *target, *source_lengths, *lengths, *work;
    uint8_t *mark;
};

static struct oa_span_counts counts_of(const struct span_batches *b, long tokens)
{
    return oa_span_count(b->share, b->mean, tokens);
}

static const struct span_batches *spans_of(const struct oa_crops *crops)
{
    return (const struct span_batches *)crops;
}

/* ---- a row ---- */

static void write_source(const struct span_batches *b, const struct oa_crop *crop, int32_t *source)
{
    long n = 0, span = 0;
    for (long t = 0; t < crop->count; t++)
        if (!b->mark[t])
            source[n++] = crop->ids[t];
        else if (!b->mark[t - 1]) /* a row begins with text */
            source[n++] = b->sentinel[span++];
    source[n++] = b->end;
    while (n < b->whole.source)
        source[n++] = 0;
}

static void write_target(const struct span_batches *b, const struct oa_crop *crop, int32_t *target)
{
    long n = 0, span = 0;
    for (long t = 0; t < crop->count; t++) {
        if (!b->mark[t])
            continue;
        if (!b->mark[t - 1])
            target[n++] = b->sentinel[span++];
        target[n++] = crop->ids[t];
    }
    target[n++] = b->sentinel[span];
    while (n < b->whole.target)
        target[n++] = OA_IGNORED;
}

static void fill_span_row(const struct oa_crops *crops, int r, const struct oa_crop *crop)
{
    const struct span_batches *b = spans_of(crops);
    struct oa_span_counts counts = counts_of(b, crop->count);
    int32_t *input = b->input + r * b->whole.target, *target = b->target + r * b->whole.target;
    oa_mark_spans(crop->noise, &counts, crop->count, b->mark, b->work);
    write_source(b, crop, b->source + r * b->whole.source);
    write_target(b, crop, target);
    input[0] = b->begin;
    for (long t = 1; t < b->whole.target; t++)
        input[t] = t < counts.target ? target[t - 1] : 0;
    b->source_lengths[r] = (int32_t)counts.source;
    b->lengths[r] = (int32_t)counts.target;
}

static struct oa_batch span_batch(const struct oa_crops *crops, int rows)
{
    const struct span_batches *b = spans_of(crops);
    bool whole = true;
    for (int r = 0; r < rows; r++)
        whole =
            whole && b->lengths[r] == b->whole.target && b->source_lengths[r] == b->whole.source;
    return (struct oa_batch){ .rows = rows,
                              .length = (int)b->whole.target,
                              .input = b->input,
                              .target = b->target,
                              .lengths = whole ? NULL : b->lengths,
                              .source_length = (int)b->whole.source,
                              .source = b->source,
                              .source_lengths = whole ? NULL : b->source_lengths };
}

/* ---- the kind ---- */

static long span_targets(const struct oa_crops *crops, long tokens)
{
    return counts_of(spans_of(crops), tokens).target;
}

/* Sentinels are targets too. */
static const struct oa_hiding hiding = { LEAST, span_targets, fill_span_row, span_batch };

static void span_amount(void *self, uint64_t step, long accumulate, struct oa_amount *out)
{
    struct span_batches *b = self;
    *out = (struct oa_amount){ 0 };
    for (long r = 0; r < b->crops.rows * accumulate; r++) {
        struct oa_span_counts counts =
            counts_of(b, oa_crops_units(&b->crops, step, accumulate, (uint64_t)r));
        out->targets += (double)counts.target;
        out->tokens += (double)(counts.source + counts.target);
    }
}

static void close_span_batches(void *self)
{
    struct span_batches *b = self;
    int32_t *lists[] = { b->sentinel,       b->source,  b->input, b->target,
                         b->source_lengths, b->lengths, b->work };
    oa_crops_close(&b->crops);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        oa_free(lists[i]);
    oa_free(b->mark);
    oa_free(b);
}

static const struct oa_batches_kind span_batches_kind = {
    span_amount, oa_crops_random,    oa_crops_cover,  oa_crops_window,
    NULL,        close_span_batches, oa_crops_reading
};

/* ---- opening ---- */

static enum oa_error find_span_tokens(oa_context *c, const struct oa_tokenizer *tok,
                                      struct span_batches *b)
{
    OA_TRY(oa_find_special(c, tok, "<s>", &b->begin));
    OA_TRY(oa_find_special(c, tok, "</s>", &b->end));
    b->sentinel = oa_alloc(c, ((size_t)b->whole.spans + 1) * sizeof *b->sentinel);
    for (long i = 0; b->sentinel && i <= b->whole.spans; i++) {
        char name[OA_SENTINEL];
        oa_sentinel_name(i, name);
        OA_TRY(oa_find_special(c, tok, name, &b->sentinel[i]));
    }
    return oa_status(c);
}

static int32_t *allocate_ids(oa_context *c, long rows, long length)
{
    return oa_alloc(c, (size_t)rows * (size_t)length * sizeof(int32_t));
}

static enum oa_error make_span_batches(oa_context *c, const struct oa_tokens *tokens,
                                       const struct oa_spanning *how, struct span_batches *b)
{
    b->share = how->share;
    b->mean = how->mean;
    b->whole = counts_of(b, how->tokens);
    struct oa_text_batching rows = { how->rows, (int)how->tokens, how->seed, how->order,
                                     how->borders };
    OA_TRY(oa_crops_open(c, &hiding, tokens, &rows, &b->crops));
    OA_TRY(find_span_tokens(c, how->tokenizer, b));
    b->source = allocate_ids(c, how->rows, b->whole.source);
    b->input = allocate_ids(c, how->rows, b->whole.target);
    b->target = allocate_ids(c, how->rows, b->whole.target);
    b->source_lengths = allocate_ids(c, how->rows, 1);
    b->lengths = allocate_ids(c, how->rows, 1);
    b->work = allocate_ids(c, 2, how->tokens);
    b->mark = oa_alloc(c, (size_t)how->tokens);
    return oa_status(c);
}

enum oa_error oa_span_batches_open(oa_context *c, const struct oa_tokens *tokens,
                                   const struct oa_spanning *how, struct oa_batches **out)
{
    *out = NULL;
    if (how->tokens < LEAST)
        return oa_fail(c, OA_ARGUMENT,
                       "rows of %ld tokens are too short to hide a span; raise model.context, and "
                       "model.source_context if it is set",
                       how->tokens);
    struct span_batches *b = oa_alloc(c, sizeof *b);
    if (!b)
        return OA_NO_MEMORY;
    enum oa_error e = make_span_batches(c, tokens, how, b);
    if (e == OA_OK)
        return oa_batches_wrap(c, &span_batches_kind, b, out);
    close_span_batches(b);
    return e;
}
