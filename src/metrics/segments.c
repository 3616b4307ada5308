/* SPDX-License-Identifier: Apache-2.0
 * The table of segment metrics, their options, and the statistics of all segments of a corpus,
 * computed in parallel. */
#include "metrics/metrics_parts.h"

enum { SEGMENTS = 16 }; /* per parallel item */

/* ---- the table ---- */

const struct oa_metric *oa_metric_find(const char *name)
{
    static const struct oa_metric *const metrics[] = {
        &oa_bleu, &oa_chrf, &oa_ter, &oa_rouge1, &oa_rouge2, &oa_rouge_l, &oa_rouge_lsum,
    };
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i]->name, name) == 0)
            return metrics[i];
    return NULL;
}

void oa_metric_title(const struct oa_metric *m, const struct oa_metric_options *o,
                     struct oa_text *out)
{
    if (m->heading)
        oa_text_printf(out, "%s", m->heading);
    else
        m->title(o, out);
}

void oa_metric_signature(const struct oa_metric *m, const struct oa_metric_options *o,
                         int references, const char *between, struct oa_text *out)
{
    oa_text_printf(out, "nrefs:%d%s|", references, between);
    m->signature(o, out);
    oa_text_printf(out, "|version:%s+orthant.%s", m->package, oa_version());
}

void oa_metric_defaults(struct oa_metric_options *o)
{
    *o = (struct oa_metric_options){ .bleu_order = 4, .chrf_characters = 6, .chrf_beta = 2 };
}

static enum oa_error check_option_range(oa_context *c, const char *what, int value, int low,
                                        int high)
{
    if (value >= low && value <= high)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT, "the %s is %d; it must be from %d to %d", what, value, low,
                   high);
}

enum oa_error oa_metric_check(oa_context *c, const struct oa_metric_options *o)
{
    OA_TRY(check_option_range(c, "longest n-gram of BLEU", o->bleu_order, 1, OA_MOST_ORDER));
    OA_TRY(check_option_range(c, "longest n-gram of characters of chrF", o->chrf_characters, 1,
                              OA_MOST_ORDER));
    OA_TRY(
        check_option_range(c, "longest n-gram of words of chrF", o->chrf_words, 0, OA_MOST_ORDER));
    OA_TRY(check_option_range(c, "beta of chrF", o->chrf_beta, 1, 1000));
    if (!(o->bleu_smooth_value >= 0 && o->bleu_smooth_value <= 1e6))
        return oa_fail(c, OA_ARGUMENT,
                       "the smoothing value of BLEU is %s; it must be above 0 and at most 1e6",
                       oa_real_text(o->bleu_smooth_value).s);
    if (o->rouge_newline && !*o->rouge_newline)
        return oa_fail(c, OA_ARGUMENT,
                       "the sentence separator of ROUGE is empty; give a text such as <n>");
    return OA_OK;
}

/* ---- statistics ---- */

struct segment_work {
    oa_context *context;
    const struct oa_line *hypothesis;
    const struct oa_line *const *reference;
    int references;
    const struct oa_statistics *out;
};

static bool one_segment(const struct segment_work *w, long i, struct oa_arena *a)
{
    struct oa_line *reference = oa_arena_take(a, (size_t)w->references * sizeof *reference);
    if (!reference)
        return false;
    for (int r = 0; r < w->references; r++)
        reference[r] = w->reference[r][i];
    struct oa_segment s = { .hypothesis = w->hypothesis[i],
                            .reference = reference,
                            .references = w->references };
    return w->out->metric->segment(w->out->options, &s, a, w->out->row + i * w->out->numbers);
}

static void some_segments(void *argument, long item, const struct oa_worker *worker)
{
    const struct segment_work *w = argument;
    long end = (item + 1) * SEGMENTS < w->out->count ? (item + 1) * SEGMENTS : w->out->count;
    for (long i = item * SEGMENTS; i < end && !oa_stop_requested(w->context); i++) {
        size_t mark = oa_arena_mark(worker->scratch);
        bool done = one_segment(w, i, worker->scratch);
        oa_arena_release(worker->scratch, mark);
        if (!done)
            return;
    }
}

enum oa_error oa_statistics_take(oa_context *c, const struct oa_metric *m,
                                 const struct oa_metric_options *o,
                                 const struct oa_line *hypothesis,
                                 const struct oa_line *const *reference, int references, long count,
                                 struct oa_statistics *out)
{
    *out = (struct oa_statistics){ .metric = m, .options = o, .count = count };
    OA_TRY(oa_metric_check(c, o));
    if (count < 1 || references < 1)
        return oa_fail(c, OA_ARGUMENT, "%s needs at least one segment and one reference", m->name);
    out->numbers = m->statistics(o);
    out->row = oa_alloc(c, (size_t)count * (size_t)out->numbers * sizeof *out->row);
    if (!out->row)
        return OA_NO_MEMORY;
    struct segment_work w = { c, hypothesis, reference, references, out };
    oa_parallel(c, (count + SEGMENTS - 1) / SEGMENTS, some_segments, &w);
    if (oa_stop_requested(c))
        return oa_fail(c, OA_INTERRUPTED, "stopped by signal %d before all segments were scored",
                       oa_stop_requested(c));
    return oa_status(c);
}

enum oa_error oa_statistics_of_rows(oa_context *c, struct oa_statistics *s)
{
    struct oa_arena scratch;
    oa_arena_init(&scratch, c, false);
    const double **row = oa_arena_take(&scratch, (size_t)s->count * sizeof *row);
    for (long i = 0; row && i < s->count; i++)
        row[i] = s->row + i * s->numbers;
    if (row)
        s->whole = s->metric->score_of_rows(s->options, row, s->count, &scratch);
    oa_arena_free(&scratch);
    return oa_status(c);
}

void oa_statistics_free(struct oa_statistics *s)
{
    oa_free(s->row);
    s->row = NULL;
}

void oa_statistics_sum(const struct oa_statistics *s, double *sum)
{
    memset(sum, 0, (size_t)s->numbers * sizeof *sum);
    for (long i = 0; i < s->count; i++)
        for (int k = 0; k < s->numbers; k++)
            sum[k] += s->row[i * s->numbers + k];
}

double oa_statistics_score(const struct oa_statistics *s)
{
    double sum[OA_MOST_STATISTICS];
    if (s->metric->score_of_rows)
        return s->whole;
    oa_statistics_sum(s, sum);
    return s->metric->score(s->options, sum, false);
}
