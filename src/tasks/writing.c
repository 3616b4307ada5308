/* SPDX-License-Identifier: Apache-2.0
 * What an encoder with a decoder writes: sources of like length side by side, each with its beam. */
#include "decode/beam.h"
#include "tasks/example_task.h"

#include <string.h>

enum { SIDE_BY_SIDE = 32 };

/* ---- the model as beam search asks it ---- */

struct reading {
    struct oa_decodings rows;
    struct oa_sequences sources;
};

static enum oa_error next(void *argument, int rows, const int *source, const int *parent, const int32_t *ids,
                          float *logits)
{
    struct reading *r = argument;
    (void)source; /* a new row is that of the source of the same number */
    if (parent[0] < 0)
        OA_TRY(oa_decodings_begin(&r->rows, rows, &r->sources));
    else
        OA_TRY(oa_decodings_choose(&r->rows, parent, rows));
    return oa_decodings_read(&r->rows, ids, logits);
}

/* ---- a side ---- */

struct writing {
    const struct oa_judging *j;
    const struct oa_examples *examples;
    struct oa_beam beam;
    struct reading reading;
    size_t *order; /* rows by the length of their sources */
    int32_t *ids, *lengths;
    struct oa_written *out;
};

static size_t length_of(const struct oa_examples *e, size_t row)
{
    return e->source.start[row + 1] - e->source.start[row];
}

/* By counting: rows of one length stay in their order. */
static enum oa_error sort(struct writing *w)
{
    const struct oa_examples *e = w->examples;
    size_t lengths = (size_t)e->source.longest + 2, *start = oa_alloc(w->j->context, lengths * sizeof *start);
    w->order = oa_alloc(w->j->context, e->count * sizeof *w->order);
    for (size_t i = 0; start && w->order && i < e->count; i++)
        start[length_of(e, i) + 1]++;
    for (size_t n = 1; start && n < lengths; n++)
        start[n] += start[n - 1];
    for (size_t i = 0; start && w->order && i < e->count; i++)
        w->order[start[length_of(e, i)]++] = i;
    oa_free(start);
    return start && w->order ? OA_OK : OA_NO_MEMORY;
}

static void fill(struct writing *w, size_t first, int count)
{
    const struct oa_examples *e = w->examples;
    long length = (long)length_of(e, w->order[first + (size_t)count - 1]);
    for (int r = 0; r < count; r++) {
        size_t row = w->order[first + (size_t)r], n = length_of(e, row);
        int32_t *to = w->ids + r * length;
        memset(to, 0, (size_t)length * sizeof *to);
        memcpy(to, e->source.ids + e->source.start[row], n * sizeof *to);
        w->lengths[r] = (int32_t)n;
    }
    w->reading.sources = (struct oa_sequences){ .rows = count, .length = length, .ids = w->ids, .lengths = w->lengths };
}

static enum oa_error keep(struct writing *w, size_t row, const struct oa_hypothesis *h)
{
    struct oa_text text;
    oa_text_init(&text, w->j->context);
    OA_TRY(oa_tokenizer_decode(w->j->workload->tokenizer, h->ids, (size_t)h->count, &text));
    w->out->text[row] = oa_copy_text(w->j->context, text.s ? text.s : "");
    oa_text_free(&text);
    return w->out->text[row] ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error write_some(struct writing *w, size_t first, int count)
{
    struct oa_hypothesis best[SIDE_BY_SIDE];
    int longest[SIDE_BY_SIDE];
    fill(w, first, count);
    for (int i = 0; i < count; i++)
        longest[i] = (int)w->j->model->options.model_context - 1;
    enum oa_error e = oa_beam_search(w->j->context, &w->beam, count, longest, next, &w->reading, best);
    for (int i = 0; i < count && e == OA_OK; i++)
        e = keep(w, w->order[first + (size_t)i], &best[i]);
    oa_hypotheses_free(best, count);
    return e;
}

static enum oa_error write_all(struct writing *w)
{
    long count = (long)w->examples->count;
    for (long i = 0; i < count; i += SIDE_BY_SIDE) {
        if (w->j->progress && w->j->progress(w->j->argument, i, count))
            return OA_INTERRUPTED;
        OA_TRY(write_some(w, (size_t)i, (int)oa_min(SIDE_BY_SIDE, count - i)));
    }
    return OA_OK;
}

static enum oa_error special(const struct writing *w, const char *name, int32_t *id)
{
    *id = oa_tokenizer_find(w->j->workload->tokenizer, name);
    return *id >= 0
               ? OA_OK
               : oa_fail(w->j->context, OA_FORMAT, "the tokenizer has no token \"%s\": it is not this model's", name);
}

static enum oa_error open_writing(struct writing *w)
{
    const struct oa_options *o = &w->j->model->options;
    w->beam = (struct oa_beam){ .width = (int)o->decode_beam,
                                .best = 1,
                                .length_penalty = o->decode_length_penalty,
                                .patient = o->decode_patient,
                                .vocabulary = w->j->model->vocabulary };
    OA_TRY(special(w, "<s>", &w->beam.begin));
    OA_TRY(special(w, "</s>", &w->beam.end));
    size_t places = (size_t)(SIDE_BY_SIDE * w->examples->source.longest);
    w->ids = oa_alloc(w->j->context, places * sizeof *w->ids);
    w->lengths = oa_alloc(w->j->context, SIDE_BY_SIDE * sizeof *w->lengths);
    w->out->text = oa_alloc(w->j->context, (w->examples->count + 1) * sizeof *w->out->text);
    if (!w->ids || !w->lengths || !w->out->text)
        return OA_NO_MEMORY;
    w->out->count = (long)w->examples->count;
    OA_TRY(sort(w));
    return oa_decodings_open(w->j->model, SIDE_BY_SIDE * w->beam.width, &w->reading.rows);
}

enum oa_error oa_write_side(const struct oa_judging *j, struct oa_written *out)
{
    struct writing w = { .j = j, .out = out };
    w.examples = oa_workload_examples(j->workload, j->side);
    *out = (struct oa_written){ 0 };
    enum oa_error e = open_writing(&w);
    if (e == OA_OK)
        e = write_all(&w);
    oa_decodings_close(&w.reading.rows);
    oa_free(w.order);
    oa_free(w.ids);
    oa_free(w.lengths);
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

/* The references of a row are its cells behind the source; of a row that has fewer than others the first is repeated,
 * which changes no score. */
static void references_of(const struct oa_rows *rows, int references, long count, struct oa_line *out)
{
    for (int r = 0; r < references; r++)
        for (long i = 0; i < count; i++) {
            int cell = r + 1 < oa_rows_cells(rows, (size_t)i) ? r + 1 : 1;
            struct oa_line *line = &out[r * count + i];
            line->s = oa_rows_cell(rows, (size_t)i, cell, &line->length);
        }
}

static int most_references(const struct oa_rows *rows)
{
    int most = 1;
    for (size_t i = 0; i < rows->count; i++)
        most = oa_rows_cells(rows, i) - 1 > most ? oa_rows_cells(rows, i) - 1 : most;
    return most;
}

static enum oa_error take(const struct oa_judging *j, const struct oa_written *w, const struct oa_metric *metric,
                          struct oa_line *lines, const struct oa_line **reference, int references, double *score)
{
    struct oa_metric_options options;
    struct oa_statistics s = { 0 };
    oa_metric_defaults(&options);
    for (int r = 0; r < references; r++)
        reference[r] = lines + (r + 1) * w->count;
    for (long i = 0; i < w->count; i++)
        lines[i] = (struct oa_line){ w->text[i], strlen(w->text[i]) };
    OA_TRY(oa_statistics_take(j->context, metric, &options, lines, reference, references, w->count, &s));
    *score = oa_statistics_score(&s);
    oa_statistics_free(&s);
    return OA_OK;
}

enum oa_error oa_written_score(const struct oa_judging *j, const struct oa_written *w, const struct oa_metric *metric,
                               double factor, double *score)
{
    const struct oa_rows *rows = oa_workload_examples(j->workload, j->side)->rows;
    int references = most_references(rows);
    struct oa_line *lines = oa_alloc(j->context, (size_t)(references + 1) * (size_t)w->count * sizeof *lines);
    const struct oa_line **reference = oa_alloc(j->context, (size_t)references * sizeof *reference);
    enum oa_error e = OA_NO_MEMORY;
    if (lines && reference) {
        references_of(rows, references, w->count, lines + w->count);
        e = take(j, w, metric, lines, reference, references, score);
    }
    *score *= factor;
    oa_free(lines);
    oa_free(reference);
    return e;
}
