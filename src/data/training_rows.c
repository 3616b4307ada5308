/* SPDX-License-Identifier: Apache-2.0 */
#include "data/training_rows.h"

#include "base/permutation.h"
#include "data/corpus_mix.h"
#include "data/document_rows.h"

/* The rows of one corpus. */
struct corpus_rows {
    uint64_t from, count; /* tokens */
    uint64_t rows, units;
    struct oa_document_rows *documents; /* NULL: rows span documents */
    struct oa_stream order;
};

struct oa_text_rows {
    oa_context *context;
    const struct oa_tokens *tokens;
    struct oa_row_rule rule;
    struct corpus_rows corpus[OA_CORPORA];
    int corpora;
    struct oa_corpus_mix mixture; /* of more than one corpus */
    struct oa_stream places;
};

/* ---- opening ---- */

static enum oa_error open_corpus_rows(struct oa_text_rows *t, uint64_t from, uint64_t count)
{
    struct corpus_rows *k = &t->corpus[t->corpora];
    uint64_t length = (uint64_t)t->rule.length,
             units = count > (uint64_t)t->rule.extra ? count - (uint64_t)t->rule.extra : 0;
    *k = (struct corpus_rows){ .from = from, .count = count };
    k->order = oa_stream_child(oa_stream_named(t->rule.seed, "epoch"), (uint64_t)t->corpora++);
    bool last = units % length >= (uint64_t)t->rule.least;
    k->rows = units / length + last;
    k->units = last ? units : units - units % length;
    if (t->rule.borders == OA_BORDERS_JOINED)
        return OA_OK;
    struct oa_tokens part = oa_tokens_part(t->tokens, from, count, t->tokens->name);
    OA_TRY(oa_document_rows_open(t->context, &part, &t->rule, &k->documents));
    k->rows = oa_document_rows_count(k->documents);
    k->units = oa_document_rows_units(k->documents);
    return OA_OK;
}

static enum oa_error open_all_rows(struct oa_text_rows *t)
{
    const struct oa_tokens *tokens = t->tokens;
    if (!tokens->parts)
        OA_TRY(open_corpus_rows(t, 0, tokens->count));
    for (int i = 0; i < tokens->parts; i++)
        OA_TRY(open_corpus_rows(t, tokens->part[i].from, tokens->part[i].count));
    if (t->rule.order != OA_ORDER_EPOCH)
        return tokens->parts ? oa_fail(t->context, OA_ARGUMENT,
                                       "a mixture needs data.order = epoch, not random")
                             : OA_OK;
    for (int i = 0; i < t->corpora; i++)
        if (!t->corpus[i].rows)
            return oa_fail(t->context, OA_SHAPE, "the %s%s%s has %llu tokens, too few for a row",
                           tokens->name ? tokens->name : "text", tokens->parts ? " of " : "",
                           tokens->parts ? tokens->part[i].name : "",
                           (unsigned long long)t->corpus[i].count);
    return tokens->parts ? oa_corpus_mix_open(t->context, tokens->part, tokens->parts, &t->mixture)
                         : OA_OK;
}

enum oa_error oa_text_rows_open(oa_context *c, const struct oa_tokens *tokens,
                                const struct oa_row_rule *rule, struct oa_text_rows **out)
{
    struct oa_text_rows *t = oa_alloc(c, sizeof *t);
    *out = NULL;
    if (!t)
        return OA_NO_MEMORY;
    *t = (struct oa_text_rows){ .context = c, .tokens = tokens, .rule = *rule };
    t->places = oa_stream_named(rule->seed, "batch");
    enum oa_error e = open_all_rows(t);
    if (e == OA_OK)
        *out = t;
    else
        oa_text_rows_close(t);
    return e;
}

void oa_text_rows_close(struct oa_text_rows *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->corpora; i++)
        oa_document_rows_close(t->corpus[i].documents);
    oa_corpus_mix_close(&t->mixture);
    oa_free(t);
}

/* ---- rows ---- */

static enum oa_error corpus_row(const struct oa_text_rows *t, const struct corpus_rows *k,
                                uint64_t i, struct oa_text_row *out)
{
    uint64_t length = (uint64_t)t->rule.length, start = i * length, left = k->units - start;
    *out = (struct oa_text_row){ start, left < length ? (long)left : t->rule.length };
    if (k->documents)
        OA_TRY(oa_document_rows_at(k->documents, i, out));
    out->start += k->from;
    return OA_OK;
}

uint64_t oa_text_rows_count(const struct oa_text_rows *t)
{
    uint64_t rows = 0;
    for (int i = 0; i < t->corpora; i++)
        rows += t->corpus[i].rows;
    return rows;
}

uint64_t oa_text_rows_units(const struct oa_text_rows *t)
{
    uint64_t units = 0;
    for (int i = 0; i < t->corpora; i++)
        units += t->corpus[i].units;
    return units;
}

enum oa_error oa_text_rows_at(struct oa_text_rows *t, uint64_t i, struct oa_text_row *out)
{
    int k = 0;
    while (k < t->corpora - 1 && i >= t->corpus[k].rows)
        i -= t->corpus[k++].rows;
    return corpus_row(t, &t->corpus[k], i, out);
}

/* ---- training ---- */

static enum oa_error random_text_row(struct oa_text_rows *t, struct oa_stream s, uint64_t row,
                                     struct oa_text_row *out)
{
    const struct oa_row_rule *rule = &t->rule;
    uint64_t needed = (uint64_t)(rule->length + rule->extra), count = t->tokens->count,
             rows = oa_text_rows_count(t);
    if (rule->borders == OA_BORDERS_SEPARATE && rows)
        return oa_text_rows_at(t, oa_random_below(s, row, rows), out);
    if (rule->borders == OA_BORDERS_SEPARATE)
        return oa_fail(t->context, OA_SHAPE, "the documents of the %s are too short for a row",
                       t->tokens->name ? t->tokens->name : "text");
    if (count < needed)
        return oa_fail(t->context, OA_SHAPE,
                       "the %s has %llu tokens; a row of %ld tokens%s need%s %llu: give more text "
                       "(data.train) or a smaller model.context",
                       t->tokens->name ? t->tokens->name : "text", (unsigned long long)count,
                       rule->length, rule->extra ? " and the next one" : "", rule->extra ? "" : "s",
                       (unsigned long long)needed);
    *out = (struct oa_text_row){ oa_random_below(s, row, count - needed + 1), rule->length };
    return OA_OK;
}

enum oa_error oa_text_rows_drawn(struct oa_text_rows *t, uint64_t step, uint64_t step_rows,
                                 uint64_t row, struct oa_text_row *out)
{
    if (t->rule.order == OA_ORDER_RANDOM)
        return random_text_row(t, oa_stream_child(t->places, step), row, out);
    uint64_t number = (step - 1) * step_rows + row;
    int k = t->tokens->parts ? oa_corpus_mix_turn(&t->mixture, number, &number) : 0;
    const struct corpus_rows *corpus = &t->corpus[k];
    uint64_t epoch = number / corpus->rows;
    return corpus_row(
        t, corpus,
        oa_permuted(oa_stream_child(corpus->order, epoch), number % corpus->rows, corpus->rows),
        out);
}

bool oa_text_rows_full(const struct oa_text_rows *t)
{
    return t->rule.order == OA_ORDER_RANDOM && t->rule.borders == OA_BORDERS_JOINED;
}

/* ---- what was read ---- */

void oa_text_rows_reading(const struct oa_text_rows *t, uint64_t rows, struct oa_reading *out)
{
    double padded = 0;
    *out = (struct oa_reading){ .corpora = t->corpora };
    for (int i = 0; i < t->corpora; i++) {
        const struct corpus_rows *k = &t->corpus[i];
        struct oa_corpus_reading *r = &out->corpus[i];
        r->rows = t->tokens->parts && t->rule.order == OA_ORDER_EPOCH
                      ? oa_corpus_mix_rows(&t->mixture, i, rows)
                      : rows;
        double read = (double)r->rows * (double)t->rule.length, /* with padding */
            whole =
                oa_text_rows_full(t) ? (double)k->units : (double)k->rows * (double)t->rule.length;
        r->epochs = whole > 0 ? read / whole : 0;
        padded += read - r->epochs * (double)k->units;
        r->tokens = k->count;
        if (t->tokens->parts)
            snprintf(r->name, sizeof r->name, "%s", t->tokens->part[i].name);
    }
    out->padding = rows ? padded / ((double)rows * (double)t->rule.length) : 0;
}
