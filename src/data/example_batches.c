/* SPDX-License-Identifier: Apache-2.0
 * Batches of examples, padded to their longest row, for training and validation. */
#include "data/example_epochs.h"

#include <string.h>

struct oa_example_batches {
    oa_context *context;
    const struct oa_examples *examples;
    struct oa_epochs epochs;
    struct oa_division cover; /* of the last cover */
    uint8_t *chosen;          /* [examples] 1: part of the last cover */
    struct oa_example_extent extent;
    int32_t *input, *target, *words, *segments, *lengths; /* of a decoder, or of an encoder alone */
    int32_t *source, *source_words, *source_lengths;
    uint8_t *pixels;
    int32_t *label;
    double *value;
};

/* ---- opening ---- */

static bool has_decoder(const struct oa_examples *e)
{
    return e->target.start != NULL;
}

static long longest_row(const struct oa_examples *e)
{
    return oa_max(e->source.longest, has_decoder(e) ? e->target.longest - 1 : 0);
}

static enum oa_error check_batching(oa_context *c, const struct oa_examples *e,
                                    const struct oa_example_batching *how)
{
    const char *name = e->rows ? e->rows->name : "given";
    if (e->count == 0)
        return oa_fail(c, OA_SHAPE, "no %s examples", name);
    if (e->count >= UINT32_MAX)
        return oa_fail(c, OA_UNSUPPORTED, "%zu %s examples are too many; the limit is %u", e->count,
                       name, UINT32_MAX);
    if (how->tokens < 0 || (how->tokens == 0 && how->rows < 1))
        return oa_fail(c, OA_ARGUMENT, "train.batch = %ld must be at least 1", how->rows);
    if (how->tokens && longest_row(e) > how->tokens)
        return oa_fail(c, OA_ARGUMENT,
                       "train.batch_tokens = %ld is too small: the longest of the %s examples has "
                       "%ld tokens; raise it or cut examples (data.long)",
                       how->tokens, name, longest_row(e));
    return OA_OK;
}

static struct oa_example_extent find_extent(const struct oa_examples *e,
                                            const struct oa_example_batching *how)
{
    long input = has_decoder(e) ? e->target.longest - 1 : oa_padded_length(how, e->source.longest);
    long source = has_decoder(e) ? e->source.longest : 0;
    long rows = oa_min(how->tokens ? how->tokens : how->rows, (long)e->count);
    struct oa_example_extent x = { .rows = rows, .length = input, .source_length = source };
    x.places = how->tokens ? (size_t)how->tokens : (size_t)rows * (size_t)input;
    x.source_places = source == 0   ? 0
                      : how->tokens ? (size_t)how->tokens
                                    : (size_t)rows * (size_t)source;
    return x;
}

static bool take_array(oa_context *c, bool wanted, int32_t **out, size_t count)
{
    *out = wanted ? oa_alloc(c, count * sizeof **out) : NULL;
    return !wanted || *out;
}

static bool allocate_batch(struct oa_example_batches *b)
{
    const struct oa_examples *e = b->examples;
    bool decoder = has_decoder(e), words = e->source.words != NULL;
    size_t rows = (size_t)b->extent.rows, places = b->extent.places,
           sources = b->extent.source_places;
    b->chosen = oa_alloc(b->context, e->count);
    b->value = e->value ? oa_alloc(b->context, rows * sizeof *b->value) : NULL;
    b->pixels = e->patch ? oa_alloc(b->context, places * e->patch) : NULL;
    return b->chosen && (!e->value || b->value) && (!e->patch || b->pixels) &&
           take_array(b->context, true, &b->input, places) &&
           take_array(b->context, decoder || e->goal, &b->target, places) &&
           take_array(b->context, words, &b->words, places) &&
           take_array(b->context, e->split != NULL, &b->segments, places) &&
           take_array(b->context, true, &b->lengths, rows) &&
           take_array(b->context, decoder, &b->source, sources) &&
           take_array(b->context, decoder && words, &b->source_words, sources) &&
           take_array(b->context, decoder, &b->source_lengths, rows) &&
           take_array(b->context, e->label != NULL, &b->label, rows);
}

static void close_example_batches(void *self)
{
    struct oa_example_batches *b = self;
    if (!b)
        return;
    int32_t *const arrays[] = { b->input,        b->target,         b->words,
                                b->segments,     b->lengths,        b->source,
                                b->source_words, b->source_lengths, b->label };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        oa_free(arrays[i]);
    oa_free(b->pixels);
    oa_free(b->value);
    oa_epochs_close(&b->epochs);
    oa_division_close(&b->cover);
    oa_free(b->chosen);
    oa_free(b);
}

enum oa_error oa_example_batches_open(oa_context *c, const struct oa_examples *examples,
                                      const struct oa_example_batching *how,
                                      struct oa_example_batches **out)
{
    *out = NULL;
    OA_TRY(check_batching(c, examples, how));
    struct oa_example_batches *b = oa_alloc(c, sizeof *b);
    if (!b)
        return OA_NO_MEMORY;
    b->context = c;
    b->examples = examples;
    b->extent = find_extent(examples, how);
    enum oa_error error = oa_epochs_open(c, examples, how, &b->epochs);
    if (error == OA_OK)
        error = oa_division_open(c, examples->count, &b->cover);
    if (error == OA_OK && !allocate_batch(b))
        error = OA_NO_MEMORY;
    if (error != OA_OK)
        close_example_batches(b);
    else
        *out = b;
    return error;
}

struct oa_example_extent oa_example_batches_extent(const struct oa_example_batches *b)
{
    return b->extent;
}

/* ---- filling ---- */

/* What the rows of a batch are padded to. */
struct batch_shape {
    long rows, input, source;
};

static struct batch_shape padded_batch_shape(const struct oa_example_batches *b,
                                             const struct oa_division *d, size_t batch)
{
    const struct oa_examples *e = b->examples;
    const struct oa_example_batching *how = &b->epochs.how;
    struct batch_shape s = { .rows = (long)(d->start[batch + 1] - d->start[batch]) };
    for (size_t i = d->start[batch]; i < d->start[batch + 1]; i++) {
        long source = oa_source_length(e, d->row[i]);
        s.input = oa_max(s.input, has_decoder(e) ? oa_target_length(e, d->row[i])
                                                 : oa_padded_length(how, source));
        s.source = oa_max(s.source, has_decoder(e) ? source : 0);
    }
    return s;
}

/* n values, then `rest` up to `length`. */
static void fill_padded(int32_t *to, const int32_t *from, long n, long length, int32_t rest)
{
    for (long t = 0; t < length; t++)
        to[t] = t < n ? from[t] : rest;
}

static void fill_source(const struct oa_id_lists *s, size_t row, long r, long length, int32_t *ids,
                        int32_t *words, int32_t *lengths)
{
    long n = (long)(s->start[row + 1] - s->start[row]);
    fill_padded(ids + r * length, s->ids + s->start[row], n, length, 0);
    if (words)
        fill_padded(words + r * length, s->words + s->start[row], n, length, 0);
    lengths[r] = (int32_t)n;
}

static void fill_target(struct oa_example_batches *b, size_t row, long r, long length)
{
    const struct oa_id_lists *s = &b->examples->target;
    const int32_t *ids = s->ids + s->start[row];
    long n = oa_target_length(b->examples, row);
    fill_padded(b->input + r * length, ids, n, length, 0);
    fill_padded(b->target + r * length, ids + 1, n, length, OA_IGNORED);
    if (b->words)
        fill_padded(b->words + r * length, s->words + s->start[row], n, length, 0);
    b->lengths[r] = (int32_t)n;
}

static void fill_encoder(struct oa_example_batches *b, size_t row, long r, long length)
{
    const struct oa_examples *e = b->examples;
    fill_source(&e->source, row, r, length, b->input, b->words, b->lengths);
    for (long t = 0; b->segments && t < length; t++)
        b->segments[r * length + t] = t >= e->split[row] && t < b->lengths[r];
    if (e->goal)
        fill_padded(b->target + r * length, e->goal + e->source.start[row], b->lengths[r], length,
                    OA_IGNORED);
    if (b->pixels) {
        const struct oa_id_lists *s = &b->examples->source;
        size_t patch = b->examples->patch, n = (s->start[row + 1] - s->start[row]) * patch,
               all = (size_t)length * patch;
        uint8_t *to = b->pixels + (size_t)r * all;
        memcpy(to, s->pixels + s->start[row] * patch, n);
        memset(to + n, 0, all - n);
    }
    if (b->label)
        b->label[r] = e->label[row];
    if (b->value)
        b->value[r] = e->value[row];
}

static void fill_example_batch(struct oa_example_batches *b, const struct oa_division *d,
                               size_t batch, struct oa_batch *out)
{
    struct batch_shape s = padded_batch_shape(b, d, batch);
    for (long r = 0; r < s.rows; r++) {
        size_t row = d->row[d->start[batch] + (size_t)r];
        if (!has_decoder(b->examples)) {
            fill_encoder(b, row, r, s.input);
            continue;
        }
        fill_target(b, row, r, s.input);
        fill_source(&b->examples->source, row, r, s.source, b->source, b->source_words,
                    b->source_lengths);
    }
    *out = (struct oa_batch){ .rows = (int)s.rows,
                              .length = (int)s.input,
                              .input = b->input,
                              .target = b->target,
                              .chosen = b->examples->goal != NULL,
                              .lengths = b->lengths,
                              .segments = b->segments,
                              .words = b->words,
                              .pixels = b->pixels,
                              .source_length = (int)s.source,
                              .source = b->source,
                              .source_lengths = b->source_lengths,
                              .source_words = b->source_words,
                              .label = b->label,
                              .value = b->value };
}

/* ---- training ---- */

static uint64_t batch_number(uint64_t step, long accumulate, long micro)
{
    return (step - 1) * (uint64_t)accumulate + (uint64_t)micro;
}

/* Targets of a row: tokens to predict (all or the chosen ones), or 1 where its class is known or it
 * has a number. */
static uint64_t targets_of(const struct oa_examples *e, size_t row)
{
    bool unknown = e->label && e->label[row] == OA_IGNORED;
    if (e->goals)
        return (uint64_t)e->goals[row];
    return has_decoder(e) ? (uint64_t)oa_target_length(e, row) : !unknown;
}

static uint64_t input_tokens_of(const struct oa_examples *e, size_t row)
{
    return (uint64_t)(oa_source_length(e, row) + oa_target_length(e, row));
}

static void example_amount(void *self, uint64_t step, long accumulate, struct oa_amount *out)
{
    struct oa_example_batches *b = self;
    *out = (struct oa_amount){ 0 };
    for (long micro = 0; micro < accumulate; micro++) {
        size_t batch;
        const struct oa_division *d =
            oa_epochs_find(&b->epochs, batch_number(step, accumulate, micro), &batch);
        for (size_t i = d ? d->start[batch] : 0; d && i < d->start[batch + 1]; i++) {
            out->targets += (double)targets_of(b->examples, d->row[i]);
            out->tokens += (double)input_tokens_of(b->examples, d->row[i]);
        }
    }
}

enum oa_error oa_example_batches_mean(oa_context *c, const struct oa_examples *e,
                                      const struct oa_example_batching *how,
                                      struct oa_example_mean *out)
{
    struct oa_epochs epochs;
    *out = (struct oa_example_mean){ 0 };
    if (e->count == 0)
        return OA_OK;
    OA_TRY(check_batching(c, e, how));
    enum oa_error error = oa_epochs_open(c, e, how, &epochs);
    if (error == OA_OK) {
        double batches = (double)oa_epochs_at(&epochs, 0)->batches;
        out->rows = (double)e->count / batches;
        for (size_t row = 0; row < e->count; row++)
            out->tokens += (double)input_tokens_of(e, row) / batches;
    }
    oa_epochs_close(&epochs);
    return error;
}

static enum oa_error random_example_batch(void *self, uint64_t step, long accumulate, long micro,
                                          struct oa_batch *out)
{
    struct oa_example_batches *b = self;
    size_t batch;
    const struct oa_division *d =
        oa_epochs_find(&b->epochs, batch_number(step, accumulate, micro), &batch);
    if (!d)
        return OA_NO_MEMORY;
    fill_example_batch(b, d, batch, out);
    return OA_OK;
}

double oa_example_batches_padding(struct oa_example_batches *b, uint64_t epoch)
{
    const struct oa_division *d = oa_epochs_at(&b->epochs, epoch);
    double places = 0, tokens = 0;
    for (size_t i = 0; i < d->batches; i++) {
        struct batch_shape s = padded_batch_shape(b, d, i);
        places += (double)s.rows * (double)(s.input + s.source);
    }
    for (size_t row = 0; row < b->examples->count; row++)
        tokens += (double)input_tokens_of(b->examples, row);
    return 1 - tokens / places;
}

/* ---- validation ---- */

/* Marks the rows to evaluate: all, or a random subset with at most `limit` targets, at least one.
 */
static void choose_covered_rows(struct oa_example_batches *b, uint64_t limit)
{
    const struct oa_examples *e = b->examples;
    uint32_t *order = b->cover.row;
    uint64_t targets = 0;
    memset(b->chosen, 0, e->count);
    for (size_t i = 0; i < e->count; i++)
        order[i] = (uint32_t)i;
    oa_permute(oa_stream_named(0, "cover"), order, e->count);
    for (size_t i = 0; i < e->count; i++) {
        targets += targets_of(e, order[i]);
        if (limit && targets > limit && i > 0)
            break;
        b->chosen[order[i]] = 1;
    }
}

static enum oa_error count_text(struct oa_example_batches *b, const struct oa_tokenizer *tok,
                                size_t row, struct oa_cover *out)
{
    const struct oa_examples *e = b->examples;
    const struct oa_id_lists *s = e->goal ? &e->source : &e->target;
    const int32_t *targets = e->goal ? e->goal : s->ids;
    for (size_t i = s->start[row] + (e->goal ? 0 : 1); i < s->start[row + 1]; i++) {
        size_t n;
        if (targets[i] == OA_IGNORED)
            continue;
        const char *bytes = oa_tokenizer_bytes(tok, targets[i], &n);
        if (!bytes)
            return oa_fail(b->context, OA_INTERNAL,
                           "token id %d of the %s examples is not in the tokenizer",
                           (int)targets[i], e->rows->name);
        if (oa_tokenizer_is_special(tok, targets[i]))
            continue;
        out->bytes += n;
        out->characters += oa_text_characters(bytes, n);
    }
    return OA_OK;
}

static enum oa_error cover_examples(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                                    struct oa_cover *out)
{
    struct oa_example_batches *b = self;
    choose_covered_rows(b, limit);
    oa_division_chosen(&b->epochs, b->chosen, &b->cover);
    *out = (struct oa_cover){ .batches = (long)b->cover.batches };
    for (size_t i = 0; i < b->cover.start[b->cover.batches]; i++) {
        size_t row = b->cover.row[i];
        out->targets += targets_of(b->examples, row);
        if (has_decoder(b->examples) || b->examples->goal)
            OA_TRY(count_text(b, tok, row, out));
    }
    return OA_OK;
}

static enum oa_error example_window(void *self, long i, struct oa_batch *out)
{
    struct oa_example_batches *b = self;
    if (i < 0 || (size_t)i >= b->cover.batches)
        return oa_fail(b->context, OA_ARGUMENT, "batch %ld is out of range: there are %zu", i,
                       b->cover.batches);
    fill_example_batch(b, &b->cover, (size_t)i, out);
    return OA_OK;
}

static const uint32_t *window_examples(const void *self, long i)
{
    const struct oa_example_batches *b = self;
    return b->cover.row + b->cover.start[i];
}

const struct oa_batches_kind oa_example_batches_kind = { example_amount,
                                                         random_example_batch,
                                                         cover_examples,
                                                         example_window,
                                                         window_examples,
                                                         close_example_batches,
                                                         NULL };
