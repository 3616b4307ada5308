/* SPDX-License-Identifier: Apache-2.0
 * Generates and scores the outputs of an encoder-decoder for a side, in batches of similar length.
 */
#include "tasks/example_task.h"
#include "tasks/writer.h"

#include <string.h>

/* ---- generation ---- */

struct writing {
    const struct oa_scoring *j;
    const struct oa_examples *examples;
    struct oa_writer writer;
    size_t *order; /* [rows] rows with a source that is not blank, by its length */
    long rows;
    struct oa_written *out;
};

static size_t source_length(const struct oa_examples *e, size_t row)
{
    return e->source.start[row + 1] - e->source.start[row];
}

static bool has_blank_source(const struct oa_examples *e, size_t row)
{
    size_t length;
    const char *source = oa_rows_cell(e->rows, row, 0, &length);
    return oa_is_blank(source, length);
}

/* A stable counting sort. A blank source gets an empty output, as in `orthant translate`. */
static enum oa_error sort_by_length(struct writing *w)
{
    const struct oa_examples *e = w->examples;
    size_t lengths = (size_t)e->source.longest + 2,
           *start = oa_alloc(w->j->context, lengths * sizeof *start);
    w->order = oa_alloc(w->j->context, (e->count + 1) * sizeof *w->order);
    if (!start || !w->order) {
        oa_free(start);
        return OA_NO_MEMORY;
    }
    for (size_t i = 0; i < e->count; i++)
        start[source_length(e, i) + 1] += !has_blank_source(e, i);
    for (size_t n = 1; n < lengths; n++)
        start[n] += start[n - 1];
    w->rows = (long)start[lengths - 1];
    for (size_t i = 0; i < e->count; i++) {
        bool blank = has_blank_source(e, i);
        if (!blank)
            w->order[start[source_length(e, i)]++] = i;
        else if (!(w->out->text[i] = oa_copy_text(w->j->context, "")))
            break;
    }
    oa_free(start);
    return oa_status(w->j->context);
}

static enum oa_error take_written(struct writing *w, size_t row, const struct oa_hypothesis *h)
{
    struct oa_text text;
    oa_text_init(&text, w->j->context);
    enum oa_error e = oa_writer_text(&w->writer, h, &text);
    if (e == OA_OK)
        w->out->text[row] = oa_copy_text(w->j->context, text.s ? text.s : "");
    oa_text_free(&text);
    return e == OA_OK && !w->out->text[row] ? OA_NO_MEMORY : e;
}

static enum oa_error write_some(struct writing *w, size_t first, int count)
{
    const struct oa_examples *e = w->examples;
    struct oa_hypothesis best[OA_SIDE_BY_SIDE];
    struct oa_source_ids source[OA_SIDE_BY_SIDE];
    for (int i = 0; i < count; i++) {
        size_t row = w->order[first + (size_t)i];
        size_t start = e->source.start[row];
        source[i] = (struct oa_source_ids){ e->source.ids + start, e->source.words + start,
                                            source_length(e, row) };
    }
    enum oa_error error = oa_writer_write(&w->writer, source, count, best);
    for (int i = 0; i < count && error == OA_OK; i++)
        error = take_written(w, w->order[first + (size_t)i], &best[i]);
    oa_hypotheses_free(best, count);
    return error;
}

static enum oa_error write_batches(struct writing *w)
{
    long count = w->rows;
    for (long i = 0; i < count; i += OA_SIDE_BY_SIDE) {
        if (w->j->progress && w->j->progress(w->j->argument, i, count))
            return OA_INTERRUPTED;
        OA_TRY(write_some(w, (size_t)i, (int)oa_min(OA_SIDE_BY_SIDE, count - i)));
    }
    return OA_OK;
}

static enum oa_error open_writing(struct writing *w)
{
    struct oa_model *m = w->j->model;
    w->out->text = oa_alloc(w->j->context, (w->examples->count + 1) * sizeof *w->out->text);
    if (!w->out->text)
        return OA_NO_MEMORY;
    w->out->count = (long)w->examples->count;
    OA_TRY(sort_by_length(w));
    return oa_writer_open(m, w->j->workload->tokenizer, &m->options, 1, &w->writer);
}

enum oa_error oa_write_side(const struct oa_scoring *j, struct oa_written *out)
{
    struct writing w = { .j = j, .out = out };
    w.examples = oa_workload_examples(j->workload, j->side);
    *out = (struct oa_written){ 0 };
    enum oa_error e = open_writing(&w);
    if (e == OA_OK)
        e = write_batches(&w);
    oa_writer_close(&w.writer);
    oa_free(w.order);
    return e;
}

void oa_written_free(struct oa_written *w)
{
    for (long i = 0; i < w->count; i++)
        oa_free(w->text[i]);
    oa_free(w->text);
    *w = (struct oa_written){ 0 };
}

/* ---- scores ---- */

/* A metric on some of the rows. */
struct text_scoring {
    const struct oa_scoring *j;
    const struct oa_written *w;
    const struct oa_metric *metric;
    struct oa_metric_options options;
    double factor;
    struct oa_items *items; /* NULL: not wanted */
    int measure;            /* of the task, of these items */
    const struct oa_rows *rows;
    const uint32_t *row; /* NULL: all rows */
    long count;
};

static size_t scored_row(const struct text_scoring *s, long i)
{
    return s->row ? s->row[i] : (size_t)i;
}

/* The references of a row are its cells after the source. Missing ones repeat the first, which
 * changes no score. */
static void references_of(const struct text_scoring *s, int references, struct oa_line *out)
{
    for (int r = 0; r < references; r++)
        for (long i = 0; i < s->count; i++) {
            int cell = r + 1 < oa_rows_cells(s->rows, scored_row(s, i)) ? r + 1 : 1;
            struct oa_line *line = &out[r * s->count + i];
            line->s = oa_rows_cell(s->rows, scored_row(s, i), cell, &line->length);
        }
}

static int most_references(const struct oa_rows *rows)
{
    int most = 1;
    for (size_t i = 0; i < rows->count; i++)
        most = oa_rows_cells(rows, i) - 1 > most ? oa_rows_cells(rows, i) - 1 : most;
    return most;
}

/* Where the score is a mean over the rows. */
static enum oa_error add_written_items(const struct text_scoring *s,
                                       const struct oa_statistics *statistics)
{
    if (!s->items || !s->metric->mean)
        return OA_OK;
    OA_TRY(oa_items_begin(s->j->context, s->items, s->measure));
    for (long i = 0; i < s->count; i++) {
        const double *row = statistics->row + i * statistics->numbers;
        oa_items_add(s->items, s->measure, (long)scored_row(s, i),
                     s->factor * s->metric->score(&s->options, row, false), 1);
    }
    return OA_OK;
}

static enum oa_error score_lines(const struct text_scoring *s, struct oa_line *lines,
                                 const struct oa_line **reference, int references, double *score)
{
    struct oa_statistics statistics = { 0 };
    for (int r = 0; r < references; r++)
        reference[r] = lines + (r + 1) * s->count;
    for (long i = 0; i < s->count; i++)
        lines[i] =
            (struct oa_line){ s->w->text[scored_row(s, i)], strlen(s->w->text[scored_row(s, i)]) };
    OA_TRY(oa_statistics_take(s->j->context, s->metric, &s->options, lines, reference, references,
                              s->count, &statistics));
    *score = s->factor * oa_statistics_score(&statistics);
    enum oa_error e = add_written_items(s, &statistics);
    oa_statistics_free(&statistics);
    return e;
}

static enum oa_error score_written_rows(const struct text_scoring *s, double *score)
{
    int references = most_references(s->rows);
    struct oa_line *lines =
        oa_alloc(s->j->context, (size_t)(references + 1) * (size_t)s->count * sizeof *lines);
    const struct oa_line **reference =
        oa_alloc(s->j->context, (size_t)references * sizeof *reference);
    enum oa_error e = OA_NO_MEMORY;
    if (lines && reference) {
        references_of(s, references, lines + s->count);
        e = score_lines(s, lines, reference, references, score);
    }
    oa_free(lines);
    oa_free(reference);
    return e;
}

static void set_metric(const struct oa_workload *w, struct oa_metric_options *out)
{
    oa_metric_defaults(out);
    if (w->bleu_tokenize != OA_BLEU_TOKENIZE_AUTO)
        out->bleu_tokens = (enum oa_bleu_tokens)(w->bleu_tokenize - OA_BLEU_TOKENIZE_13A);
}

bool oa_measure_signature(const struct oa_workload *w, enum oa_side side, const char *measure,
                          struct oa_text *out)
{
    struct oa_metric_options o;
    bool unigrams = strcmp(measure, "bleu1") == 0;
    const struct oa_metric *m = unigrams ? &oa_bleu : oa_metric_find(measure);
    if (!m || !oa_task_writes(w->task))
        return false;
    set_metric(w, &o);
    o.bleu_order = unigrams ? 1 : o.bleu_order;
    oa_metric_signature(m, &o, most_references(oa_workload_examples(w, side)->rows), "", out);
    return true;
}

static struct text_scoring text_scoring_of(const struct oa_scoring *j, const struct oa_written *w,
                                           const struct oa_metric *metric, double factor)
{
    const struct oa_rows *rows = oa_workload_examples(j->workload, j->side)->rows;
    struct text_scoring s = {
        .j = j, .w = w, .metric = metric, .factor = factor, .rows = rows, .count = w->count
    };
    set_metric(j->workload, &s.options);
    return s;
}

enum oa_error oa_written_score(const struct oa_scoring *j, const struct oa_written *w,
                               const struct oa_metric *metric, int bleu_order, double factor,
                               int measure, double scores[OA_MEASURES])
{
    struct text_scoring s = text_scoring_of(j, w, metric, factor);
    s.options.bleu_order = bleu_order;
    s.items = j->items;
    s.measure = measure;
    return score_written_rows(&s, &scores[measure]);
}

/* ---- parts and examples ---- */

static enum oa_error score_written_part(void *argument, const uint32_t *entry, long count,
                                        double *score)
{
    struct text_scoring *s = argument;
    s->row = entry;
    s->count = count;
    return score_written_rows(s, score);
}

static void print_written(void *argument, long entry, struct oa_text *out)
{
    const struct text_scoring *s = argument;
    oa_text_printf(out, "%s", s->w->text[entry]);
}

enum oa_error oa_written_details(const struct oa_scoring *j, const struct oa_written *w,
                                 const struct oa_metric *metric, double factor, const char *measure)
{
    struct text_scoring s = text_scoring_of(j, w, metric, factor);
    struct oa_scored_rows rows = { oa_workload_examples(j->workload, j->side), NULL, w->count };
    if (!j->details)
        return OA_OK;
    OA_TRY(oa_details_by_length(j->context, &rows, measure, score_written_part, &s, j->details));
    return oa_details_examples(j->context, &rows, print_written, &s, j->details);
}
