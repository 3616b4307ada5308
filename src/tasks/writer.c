/* SPDX-License-Identifier: Apache-2.0
 * Batched beam search with an encoder-decoder. */
#include "tasks/writer.h"

#include "decode/characters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum oa_error find_writer_token(struct oa_model *m, const struct oa_tokenizer *tokenizer,
                                       const char *name, int32_t *id)
{
    *id = oa_tokenizer_find(tokenizer, name);
    return *id >= 0
               ? OA_OK
               : oa_fail(m->context, OA_FORMAT,
                         "the tokenizer lacks the token \"%s\": it does not belong to this model",
                         name);
}

static enum oa_error read_suppressed(oa_context *c, const char *list, long vocabulary,
                                     struct oa_writer *w)
{
    w->suppressed = oa_alloc(c, (strlen(list) + 1) * sizeof *w->suppressed);
    if (!w->suppressed)
        return OA_NO_MEMORY;
    for (const char *at = list; *at;) {
        char *end;
        long id = strtol(at, &end, 10);
        if (end == at || id < 0 || id >= vocabulary || (*end && *end != ','))
            return oa_fail(c, OA_ARGUMENT,
                           "decode.suppress = %.60s: expected ids from 0 to %ld, separated by "
                           "commas",
                           list, vocabulary - 1);
        w->suppressed[w->suppressed_count++] = (int32_t)id;
        at = end + (*end == ',');
    }
    return OA_OK;
}

/* For w->tokenizer. */
static enum oa_error read_constraints(oa_context *c, const struct oa_options *decode,
                                      long vocabulary, struct oa_writer *w)
{
    w->first = -1;
    w->force_end = decode->decode_force_end;
    w->renormalise = decode->decode_renormalise;
    if (*decode->decode_first_token) {
        w->first = oa_tokenizer_find(w->tokenizer, decode->decode_first_token);
        if (w->first < 0)
            return oa_fail(c, OA_ARGUMENT,
                           "decode.first_token = %.60s is no token of the tokenizer",
                           decode->decode_first_token);
    }
    return read_suppressed(c, decode->decode_suppress, vocabulary, w);
}

enum oa_error oa_writer_check(oa_context *c, const struct oa_options *decode,
                              struct oa_tokenizer *tokenizer, long vocabulary)
{
    struct oa_writer w = { .tokenizer = tokenizer };
    enum oa_error e = read_constraints(c, decode, vocabulary, &w);
    oa_free(w.suppressed);
    return e;
}

enum oa_error oa_writer_open(struct oa_model *m, struct oa_tokenizer *tokenizer,
                             const struct oa_options *decode, int best, struct oa_writer *out)
{
    size_t places = OA_SIDE_BY_SIDE * (size_t)oa_model_source_context(&m->options);
    size_t rows = OA_SIDE_BY_SIDE * (size_t)decode->decode_beam;
    *out = (struct oa_writer){ .model = m, .tokenizer = tokenizer };
    out->beam = (struct oa_beam){ .width = (int)decode->decode_beam,
                                  .best = best,
                                  .length_penalty = decode->decode_length_penalty,
                                  .patient = decode->decode_optimal_stopping,
                                  .vocabulary = m->vocabulary,
                                  .limit = (int)decode->decode_max_tokens };
    OA_TRY(find_writer_token(m, tokenizer, m->options.model_begin_token, &out->beam.begin));
    OA_TRY(find_writer_token(m, tokenizer, m->options.model_end_token, &out->beam.end));
    OA_TRY(read_constraints(m->context, decode, m->vocabulary, out));
    out->ids = oa_alloc(m->context, places * sizeof *out->ids);
    out->words = oa_alloc(m->context, places * sizeof *out->words);
    out->lengths = oa_alloc(m->context, OA_SIDE_BY_SIDE * sizeof *out->lengths);
    out->state = oa_alloc(m->context, rows);
    out->before = oa_alloc(m->context, rows);
    if (!out->ids || !out->words || !out->lengths || !out->state || !out->before)
        return OA_NO_MEMORY;
    const struct oa_writing_rules rules = { .end = out->beam.end };
    OA_TRY(oa_writable_open(m->context, tokenizer, m->vocabulary, &rules, &out->writable));
    return oa_decoding_batch_open(m, OA_SIDE_BY_SIDE * out->beam.width, &out->rows);
}

void oa_writer_close(struct oa_writer *w)
{
    oa_decoding_batch_close(&w->rows);
    oa_writable_close(w->writable);
    oa_free(w->suppressed);
    oa_free(w->state);
    oa_free(w->before);
    oa_free(w->ids);
    oa_free(w->words);
    oa_free(w->lengths);
}

/* ---- model callback of beam search ---- */

static void follow_states(struct oa_writer *w, int rows, const int *parent, const int32_t *ids)
{
    uint8_t *before = w->state;
    w->state = w->before;
    w->before = before;
    for (int r = 0; r < rows; r++)
        w->state[r] = parent[r] < 0 ? OA_CHARACTER_WHOLE
                                    : oa_writable_after(w->writable, before[parent[r]], ids[r]);
}

/* The id that must follow; -1: none. */
static int32_t forced_token(const struct oa_writer *w)
{
    long tokens = w->rows.tokens, limit = w->beam.limit, most = w->model->options.model_context;
    if (w->force_end && tokens == (limit && limit < most ? limit : most))
        return w->beam.end;
    return tokens == 1 ? w->first : -1;
}

/* log Σ exp of what may be written. */
static double writable_sum(const float *row, long n)
{
    double top = -INFINITY, sum = 0;
    for (long i = 0; i < n; i++)
        top = fmax(top, (double)row[i]);
    for (long i = 0; i < n; i++)
        sum += exp((double)row[i] - top);
    return top + log(sum);
}

static void constrain_row(const struct oa_writer *w, float *row, double *sum)
{
    long n = w->model->vocabulary;
    int32_t forced = forced_token(w);
    if (oa_tokenizer_kind_of(w->tokenizer) == OA_TOKENIZER_IDS) /* no token is special there */
        row[w->beam.begin] = -INFINITY;
    for (int i = 0; i < w->suppressed_count; i++)
        row[w->suppressed[i]] = -INFINITY;
    for (long i = 0; forced >= 0 && i < n; i++)
        row[i] = i == forced ? 0 : -INFINITY;
    if (forced >= 0)
        *sum = 0;
    else if (w->renormalise)
        *sum = writable_sum(row, n);
}

/* An oa_beam_model. Logits of tokens that may not follow are -∞; without decode.renormalise `sums`
 * are over all tokens, so that log p is the model's. */
static enum oa_error next_logits(void *argument, int rows, const int *source, const int *parent,
                                 const int32_t *ids, float *logits, double *sums)
{
    struct oa_writer *w = argument;
    oa_context *c = w->model->context;
    (void)source; /* the first call has row i for source i */
    if (oa_stop_requested(c))
        return oa_fail(c, OA_INTERRUPTED, "stopped by signal %d", oa_stop_requested(c));
    if (parent[0] < 0)
        OA_TRY(oa_decoding_batch_begin(&w->rows, rows, &w->sources));
    else
        OA_TRY(oa_decoding_batch_choose(&w->rows, parent, rows));
    OA_TRY(oa_decoding_batch_read(&w->rows, ids, logits, sums));
    follow_states(w, rows, parent, ids);
    for (int r = 0; r < rows; r++) {
        float *row = logits + (size_t)r * (size_t)w->model->vocabulary;
        oa_writable_mask(w->writable, w->state[r], row);
        constrain_row(w, row, &sums[r]);
    }
    return OA_OK;
}

static void pad_row(int32_t *to, const int32_t *from, size_t count, size_t length)
{
    memcpy(to, from, count * sizeof *to);
    memset(to + count, 0, (length - count) * sizeof *to);
}

static void fill_sources(struct oa_writer *w, const struct oa_source_ids *source, int count)
{
    size_t length = 0;
    for (int r = 0; r < count; r++)
        length = source[r].count > length ? source[r].count : length;
    for (int r = 0; r < count; r++) {
        pad_row(w->ids + (size_t)r * length, source[r].ids, source[r].count, length);
        pad_row(w->words + (size_t)r * length, source[r].words, source[r].count, length);
        w->lengths[r] = (int32_t)source[r].count;
    }
    w->sources = (struct oa_sequences){ .rows = count,
                                        .length = (long)length,
                                        .ids = w->ids,
                                        .words = w->words,
                                        .lengths = w->lengths };
}

enum oa_error oa_writer_write(struct oa_writer *w, const struct oa_source_ids *source, int count,
                              struct oa_hypothesis *out)
{
    int longest[OA_SIDE_BY_SIDE];
    memset(out, 0, (size_t)(count * w->beam.best) * sizeof *out);
    fill_sources(w, source, count);
    for (int i = 0; i < count; i++)
        longest[i] = (int)w->model->options.model_context - 1;
    return oa_beam_search(w->model->context, &w->beam, count, longest, next_logits, w, out);
}

/* ---- texts ---- */

enum oa_error oa_writer_text(const struct oa_writer *w, const struct oa_hypothesis *h,
                             struct oa_text *out)
{
    struct oa_text bytes;
    size_t from = out->length;
    oa_text_init(&bytes, w->model->context);
    enum oa_error e = oa_tokenizer_decode(w->tokenizer, h->ids, (size_t)h->count, &bytes);
    if (oa_tokenizer_kind_of(w->tokenizer) == OA_TOKENIZER_IDS && bytes.length)
        bytes.length--; /* the blank after the last id */
    oa_characters_text(bytes.s, bytes.length, out);
    oa_text_free(&bytes);
    oa_text_one_line(out, from, false);
    return e == OA_OK ? oa_status(w->model->context) : e;
}
