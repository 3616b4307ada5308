/* SPDX-License-Identifier: Apache-2.0
 * score: files in, scores out. */
#include "api/score.h"

#include <math.h>
#include <string.h>

enum { MANY_TOKENISED = 100 }; /* lines, from which on sacreBLEU warns */

/* All files of a request. */
struct sides {
    struct oa_lines *reference, *hypothesis;
    const struct oa_line **references; /* lines of each reference */
    const struct score_plan *plan;
};

/* ---- files ---- */

static void close_files(struct oa_lines *files, int count)
{
    for (int i = 0; files && i < count; i++)
        oa_lines_free(&files[i]);
    oa_free(files);
}

static enum oa_error open_files(oa_context *c, const char *const *path, int count,
                                struct oa_lines **out)
{
    *out = oa_alloc(c, (size_t)count * sizeof **out);
    if (!*out)
        return OA_NO_MEMORY;
    for (int i = 0; i < count; i++)
        OA_TRY(oa_lines_read(c, path[i], &(*out)[i]));
    return OA_OK;
}

static enum oa_error same_count(oa_context *c, const struct oa_lines *first,
                                const struct oa_lines *other)
{
    if (first->count == other->count)
        return OA_OK;
    return oa_fail(c, OA_SHAPE,
                   "%s has %ld lines, but %s has %ld: lines must correspond; use an empty line "
                   "where a text is missing",
                   first->name, first->count, other->name, other->count);
}

static enum oa_error open_sides(oa_context *c, struct sides *s)
{
    const struct oa_score_request *r = s->plan->request;
    OA_TRY(open_files(c, r->reference, r->references, &s->reference));
    OA_TRY(open_files(c, r->hypothesis, r->hypotheses, &s->hypothesis));
    s->references = oa_alloc(c, (size_t)r->references * sizeof *s->references);
    if (!s->references)
        return OA_NO_MEMORY;
    for (int i = 0; i < r->references; i++) {
        s->references[i] = s->reference[i].line;
        OA_TRY(same_count(c, &s->reference[0], &s->reference[i]));
    }
    for (int i = 0; i < r->hypotheses; i++)
        OA_TRY(same_count(c, &s->reference[0], &s->hypothesis[i]));
    return OA_OK;
}

static enum oa_error no_empty_line(oa_context *c, const struct oa_lines *lines)
{
    for (long i = 0; i < lines->count; i++)
        if (lines->line[i].length == 0)
            return oa_fail(c, OA_FORMAT, "%s: line %ld is empty; a label is expected", lines->name,
                           i + 1);
    return OA_OK;
}

/* ---- segments ---- */

static void add_version(struct score_row *row, const char *package)
{
    oa_text_printf(&row->signature, "|version:%s+orthant.%s", package, oa_version());
}

static int score_decimals(const struct score_plan *p, int usual)
{
    return p->request->decimals ? p->request->decimals : usual;
}

static bool is_sacrebleus(const struct oa_metric *m)
{
    return m == &oa_bleu || m == &oa_chrf || m == &oa_ter;
}

struct resampling_fields {
    char s[64];
};

/* "|bs:1000|seed:12345", or nothing. */
static struct resampling_fields resampling_fields_of(const struct score_plan *p)
{
    struct resampling_fields f = { "" };
    if (p->resample != SCORE_PLAIN)
        snprintf(f.s, sizeof f.s, "|%s:%ld|seed:%llu", p->resample == SCORE_PAIRED_AR ? "ar" : "bs",
                 p->samples, (unsigned long long)p->request->seed);
    return f;
}

static void name_segments(const struct score_plan *p, const struct oa_metric *m,
                          struct score_row *row)
{
    oa_metric_title(m, &p->options, &row->title);
    oa_metric_signature(m, &p->options, p->request->references, resampling_fields_of(p).s,
                        &row->signature);
    row->decimals = score_decimals(p, is_sacrebleus(m) ? 1 : 4);
}

static void add_score_part(struct score_row *row, const char *name, double value)
{
    row->part[row->parts].name = name;
    row->part[row->parts++].value = value;
}

static void add_precision_and_recall(struct score_row *row, double precision, double recall)
{
    add_score_part(row, "precision", precision);
    add_score_part(row, "recall", recall);
    oa_text_printf(&row->verbose, "(P = %.*f R = %.*f)", row->decimals, precision, row->decimals,
                   recall);
}

static void describe_segments(const struct oa_statistics *s, struct score_row *row)
{
    double sum[OA_MOST_STATISTICS], means[3];
    oa_statistics_sum(s, sum);
    if (s->metric->verbose)
        s->metric->verbose(s->options, sum, &row->verbose);
    if (is_sacrebleus(s->metric))
        return;
    oa_rouge_means(s, means);
    add_precision_and_recall(row, means[0], means[1]);
}

static enum oa_error resample(oa_context *c, const struct score_plan *p,
                              const struct oa_statistics *system, struct oa_resample *out)
{
    int count = p->request->hypotheses;
    uint64_t seed = p->request->seed;
    if (p->resample == SCORE_CONFIDENCE)
        return oa_bootstrap(c, system, p->samples, seed, out);
    if (p->resample == SCORE_PAIRED_BS)
        return oa_paired_bootstrap(c, system, count, p->samples, seed, out);
    if (p->resample == SCORE_PAIRED_AR)
        return oa_paired_randomisation(c, system, count, p->samples, seed, out);
    for (int k = 0; k < count; k++)
        out[k] = (struct oa_resample){ .score = oa_statistics_score(&system[k]),
                                       .mean = NAN,
                                       .half = NAN,
                                       .p = NAN,
                                       .strict_p = NAN };
    return OA_OK;
}

static void add_resamples(const struct score_plan *p, const struct oa_statistics *system,
                          const struct oa_resample *found, struct score_row *row)
{
    for (int k = 0; k < p->request->hypotheses && p->resample != SCORE_PLAIN; k++) {
        row[k].mean = found[k].mean;
        row[k].half = found[k].half;
        row[k].p = found[k].p;
        row[k].strict_p = is_sacrebleus(system[k].metric) ? found[k].strict_p : NAN;
        if (p->resample != SCORE_PAIRED_AR && isnan(found[k].half))
            oa_text_printf(&row[k].verbose,
                           "%s(no interval: the score of some resamples is not defined)",
                           row[k].verbose.length ? " " : "");
    }
}

static enum oa_error fill_rows(oa_context *c, const struct score_plan *p,
                               const struct oa_statistics *system, struct oa_resample *found,
                               struct score_row *row)
{
    OA_TRY(resample(c, p, system, found));
    for (int k = 0; k < p->request->hypotheses; k++) {
        name_segments(p, system[k].metric, &row[k]);
        describe_segments(&system[k], &row[k]);
        row[k].score = found[k].score;
    }
    add_resamples(p, system, found, row);
    return OA_OK;
}

/* Rows of all systems for a metric; line by line its text goes to `lines` instead. */
static enum oa_error score_segments(oa_context *c, const struct sides *s, const struct oa_metric *m,
                                    bool json, struct score_row *row, struct oa_text *lines)
{
    int systems = s->plan->request->hypotheses;
    struct oa_statistics *system = oa_alloc(c, (size_t)systems * sizeof *system);
    struct oa_resample *found = oa_alloc(c, (size_t)systems * sizeof *found);
    const struct oa_score_request *r = s->plan->request;
    enum oa_error e = system && found ? OA_OK : OA_NO_MEMORY;
    for (int k = 0; k < systems && e == OA_OK; k++)
        e = oa_statistics_take(c, m, &s->plan->options, s->hypothesis[k].line, s->references,
                               r->references, s->hypothesis[k].count, &system[k]);
    if (e == OA_OK && r->sentence_level) {
        name_segments(s->plan, m, row);
        score_report_lines(system, row, json, lines);
    } else if (e == OA_OK) {
        e = fill_rows(c, s->plan, system, found, row);
    }
    for (int k = 0; system && k < systems; k++)
        oa_statistics_free(&system[k]);
    oa_free(system);
    oa_free(found);
    return e;
}

/* ---- labels ---- */

static struct oa_line positive_label(const struct score_plan *p)
{
    const char *positive = p->positive_number.s[0] ? p->positive_number.s : p->request->f1_positive;
    return (struct oa_line){ positive, strlen(positive) };
}

static void row_f1(const struct score_plan *p, const struct oa_f1 *f, struct score_row *row)
{
    row->score = f->f1;
    add_precision_and_recall(row, f->precision, f->recall);
    if (f->no_precision || f->no_recall)
        oa_text_printf(
            &row->verbose,
            " (no division: %d without a hypothesis, %d without a reference; counted as 0)",
            f->no_precision, f->no_recall);
    oa_text_printf(&row->title, "F1");
    if (p->options.f1_average == OA_AVERAGE_BINARY) {
        oa_text_printf(&row->signature, "|average:binary|positive:");
        oa_name_add(&row->signature, positive_label(p).s);
    } else {
        oa_text_printf(&row->signature, "|average:%s", p->request->f1_average);
    }
}

/* Lines of both sides as labels: none is empty, whole numbers have one spelling. */
static enum oa_error take_labels(oa_context *c, const struct sides *s, int system)
{
    OA_TRY(oa_lines_respell(c, &s->reference[0]));
    OA_TRY(oa_lines_respell(c, &s->hypothesis[system]));
    OA_TRY(no_empty_line(c, &s->reference[0]));
    return no_empty_line(c, &s->hypothesis[system]);
}

static enum oa_error score_confusion(oa_context *c, const struct sides *s, struct score_row *row)
{
    OA_TRY(take_labels(c, s, 0));
    OA_TRY(oa_confusion_count(c, s->hypothesis[0].line, s->reference[0].line, s->reference[0].count,
                              &row->confusion));
    row->decimals = score_decimals(s->plan, 4);
    oa_text_printf(&row->title, "confusion");
    oa_text_printf(&row->signature, "n:%ld|classes:%d", s->reference[0].count,
                   row->confusion.classes);
    add_version(row, "1.9.1");
    return OA_OK;
}

static enum oa_error score_labels(oa_context *c, const struct sides *s, enum score_kind kind,
                                  int system, struct score_row *row)
{
    struct oa_classes k = { .count = 0 };
    struct oa_f1 f1;
    enum oa_error e = take_labels(c, s, system);
    if (e == OA_OK)
        e = oa_classes_count(c, s->hypothesis[system].line, s->reference[0].line,
                             s->reference[0].count, &k);
    if (e == OA_OK && kind == SCORE_F1)
        e = oa_f1_of(c, &k, s->plan->options.f1_average, positive_label(s->plan), &f1);
    row->decimals = score_decimals(s->plan, 4);
    oa_text_printf(&row->signature, "n:%ld|classes:%d%s", k.lines, k.count,
                   resampling_fields_of(s->plan).s);
    if (e == OA_OK && kind == SCORE_F1) {
        row_f1(s->plan, &f1, row);
    } else if (e == OA_OK && kind == SCORE_MCC) {
        bool defined;
        row->score = oa_mcc(&k, &defined);
        oa_text_printf(&row->title, "MCC");
        if (!defined)
            oa_text_printf(&row->verbose,
                           "(not defined: one side has a single label; counted as 0)");
    } else if (e == OA_OK) {
        row->score = oa_accuracy(&k);
        oa_text_printf(&row->title, "accuracy");
        oa_text_printf(&row->verbose, "(%ld of %ld)", k.right, k.lines);
    }
    add_version(row, "1.9.1");
    oa_classes_free(&k);
    return e;
}

/* ---- numbers ---- */

static enum oa_error correlate(oa_context *c, const struct sides *s, enum score_kind kind,
                               int system, double *r)
{
    double *x = NULL, *y = NULL;
    enum oa_error e = oa_lines_numbers(c, &s->hypothesis[system], &x);
    if (e == OA_OK)
        e = oa_lines_numbers(c, &s->reference[0], &y);
    if (e == OA_OK)
        e = (kind == SCORE_PEARSON ? oa_pearson : oa_spearman)(c, x, y, s->reference[0].count, r);
    oa_free(x);
    oa_free(y);
    return e;
}

static enum oa_error score_numbers(oa_context *c, const struct sides *s, enum score_kind kind,
                                   int system, struct score_row *row)
{
    OA_TRY(correlate(c, s, kind, system, &row->score));
    row->decimals = score_decimals(s->plan, 4);
    oa_text_printf(&row->title, "%s", kind == SCORE_PEARSON ? "Pearson" : "Spearman");
    oa_text_printf(&row->signature, "n:%ld%s", s->reference[0].count,
                   resampling_fields_of(s->plan).s);
    if (isnan(row->score))
        oa_text_printf(&row->verbose, "(not defined: one side is constant)");
    add_version(row, "1.17.1");
    return OA_OK;
}

/* ---- resampling of labels and numbers ---- */

static const struct oa_metric *metric_of_rows(enum score_kind kind)
{
    return kind == SCORE_ACCURACY  ? &oa_label_accuracy
           : kind == SCORE_F1      ? &oa_label_f1
           : kind == SCORE_MCC     ? &oa_label_mcc
           : kind == SCORE_PEARSON ? &oa_pearson_of_rows
                                   : &oa_spearman_of_rows;
}

static enum oa_error number_rows_of_systems(oa_context *c, const struct sides *s,
                                            enum score_kind kind, struct oa_statistics *system)
{
    double *x = NULL, *y = NULL;
    enum oa_error e = oa_lines_numbers(c, &s->reference[0], &y);
    for (int k = 0; k < s->plan->request->hypotheses && e == OA_OK; k++) {
        e = oa_lines_numbers(c, &s->hypothesis[k], &x);
        if (e == OA_OK)
            e = oa_number_statistics(c, metric_of_rows(kind), x, y, s->reference[0].count,
                                     &system[k]);
        oa_free(x);
        x = NULL;
    }
    oa_free(y);
    return e;
}

static enum oa_error label_rows_of_systems(oa_context *c, const struct sides *s,
                                           enum score_kind kind, struct oa_statistics *system)
{
    int systems = s->plan->request->hypotheses;
    const struct oa_line **hypothesis = oa_alloc(c, (size_t)systems * sizeof *hypothesis);
    if (!hypothesis)
        return OA_NO_MEMORY;
    for (int k = 0; k < systems; k++)
        hypothesis[k] = s->hypothesis[k].line;
    enum oa_error e = oa_label_statistics(c, metric_of_rows(kind), &s->plan->options, hypothesis,
                                          systems, s->reference[0].line, s->reference[0].count,
                                          positive_label(s->plan), system);
    oa_free(hypothesis);
    return e;
}

/* Adds means, intervals and p to rows that have scores. */
static enum oa_error resample_values(oa_context *c, const struct sides *s, enum score_kind kind,
                                     struct score_row *row)
{
    int systems = s->plan->request->hypotheses;
    struct oa_statistics *system = oa_alloc(c, (size_t)systems * sizeof *system);
    struct oa_resample *found = oa_alloc(c, (size_t)systems * sizeof *found);
    enum oa_error e = OA_NO_MEMORY;
    if (system && found)
        e = (kind >= SCORE_PEARSON ? number_rows_of_systems : label_rows_of_systems)(c, s, kind,
                                                                                     system);
    if (e == OA_OK)
        e = resample(c, s->plan, system, found);
    if (e == OA_OK)
        add_resamples(s->plan, system, found, row);
    for (int k = 0; system && k < systems; k++)
        oa_statistics_free(&system[k]);
    oa_free(system);
    oa_free(found);
    return e;
}

/* ---- all of it ---- */

static enum oa_error score_one_item(oa_context *c, const struct sides *s,
                                    const struct score_item *item, bool json, struct score_row *row,
                                    struct oa_text *lines)
{
    int systems = s->plan->request->hypotheses;
    if (item->kind == SCORE_SEGMENTS)
        return score_segments(c, s, item->metric, json, row, lines);
    if (item->kind == SCORE_CONFUSION)
        return score_confusion(c, s, row);
    for (int k = 0; k < systems; k++)
        OA_TRY((item->kind >= SCORE_PEARSON ? score_numbers : score_labels)(c, s, item->kind, k,
                                                                            &row[k]));
    return s->plan->resample == SCORE_PLAIN ? OA_OK : resample_values(c, s, item->kind, row);
}

static bool has_metric(const struct score_plan *p, const char *family)
{
    for (int i = 0; i < p->items; i++)
        if (p->item[i].metric && strncmp(p->item[i].metric->name, family, strlen(family)) == 0)
            return true;
    return false;
}

/* 13a, unless the references have no words that it could find. */
static void choose_tokens(oa_context *c, struct score_plan *p, const struct sides *s)
{
    struct oa_spacing spacing = { 0 };
    bool bleu = !p->request->bleu_tokenize && has_metric(p, "bleu"), rouge = has_metric(p, "rouge");
    bool ter = has_metric(p, "ter") && !(p->options.ter_normalized && p->options.ter_asian);
    for (int r = 0; (bleu || rouge || ter) && r < p->request->references; r++)
        for (long i = 0; i < s->reference[r].count; i++)
            oa_spacing_add(&spacing, s->reference[r].line[i]);
    if (bleu && oa_is_unspaced(&spacing)) {
        p->options.bleu_tokens = OA_TOKENS_CHAR;
        oa_log(c, 0,
               "most of %s has no spaces between words: BLEU is of characters (tok:char); "
               "--tokenize 13a for words",
               s->reference[0].name);
    }
    if (ter && oa_is_unspaced(&spacing)) {
        p->options.ter_unsplit = true;
        oa_log(c, 0,
               "most of %s has no spaces between words: TER counts whole lines (units:unsplit); "
               "--normalized --asian-support splits ideographs",
               s->reference[0].name);
    }
    if (rouge && oa_is_unread_by_rouge(&spacing))
        oa_log(c, 0,
               "ROUGE ignores all but letters a to z and digits, as rouge-score does, and thus "
               "most of %s: use chrf or bleu",
               s->reference[0].name);
}

/* In text that is already tokenised full stops are words; its BLEU is not comparable with that of
 * detokenised text. */
static void warn_of_tokens(oa_context *c, const struct sides *s)
{
    const struct score_plan *p = s->plan;
    if (!has_metric(p, "bleu") || p->request->bleu_force)
        return;
    for (int k = 0; k < p->request->hypotheses; k++) {
        long lines = oa_tokenised_lines(s->hypothesis[k].line, s->hypothesis[k].count);
        if (lines >= MANY_TOKENISED)
            oa_log(c, 0,
                   "%ld lines of %s end in a tokenised full stop (' .'), but BLEU expects "
                   "detokenised text; --force turns this notice off",
                   lines, s->hypothesis[k].name);
    }
}

static enum oa_error score_all(oa_context *c, struct score_plan *p, struct sides *s, bool json,
                               struct score_row *row, struct oa_text *text)
{
    int systems = p->request->hypotheses;
    OA_TRY(open_sides(c, s));
    choose_tokens(c, p, s);
    warn_of_tokens(c, s);
    for (int i = 0; i < p->items; i++)
        OA_TRY(score_one_item(c, s, &p->item[i], json, row + i * systems, text));
    for (int i = 0; i < p->items * systems; i++)
        row[i].system = s->hypothesis[i % systems].name;
    if (p->request->sentence_level)
        return OA_OK;
    if (systems > 1)
        score_report_systems(p, row, systems, json, text);
    else
        score_report(row, p->items, json, text);
    return OA_OK;
}

enum oa_error oa_score(oa_context *c, const struct oa_score_request *r, const struct oa_output *out)
{
    struct score_plan plan;
    struct sides sides = { .plan = &plan };
    struct oa_text text;
    OA_TRY(oa_status(c));
    OA_TRY(score_plan_make(c, r, &plan));
    int rows = plan.items * r->hypotheses;
    struct score_row *row = oa_alloc(c, (size_t)rows * sizeof *row);
    for (int i = 0; row && i < rows; i++)
        score_row_begin(&row[i], c);
    oa_text_init(&text, c);
    enum oa_error e =
        row ? score_all(c, &plan, &sides, oa_wants_json(out), row, &text) : OA_NO_MEMORY;
    for (int i = 0; row && i < rows; i++)
        score_row_free(&row[i]);
    oa_free(row);
    close_files(sides.reference, plan.request->references);
    close_files(sides.hypothesis, plan.request->hypotheses);
    oa_free(sides.references);
    if (e == OA_OK)
        return oa_emit(out, &text);
    oa_text_free(&text);
    return e;
}
