/* SPDX-License-Identifier: Apache-2.0
 *
 * report: what was measured, made readable. Numbers go in as plain structs, text comes out: a terminal table, Markdown,
 * JSON, SVG, HTML. Nothing here measures, trains or touches a file; the caller writes the text where it belongs.
 *
 *     struct oa_summary s;
 *     OA_TRY(oa_summary_make(c, &contest, &s));
 *     oa_report_table(&contest, &s, 132, &text);
 *     oa_report_json(&contest, &s, &text);
 *     oa_report_html(&contest, &s, &text);
 *     oa_summary_free(&s);
 *
 * Functions that add to a struct oa_text record a failure (out of memory) in its context and otherwise cannot fail.
 * Subjects: statistics, the summary of a contest, numbers, tables, a contest as text, charts, pages.
 */
#ifndef ORTHANT_REPORT_H
#define ORTHANT_REPORT_H

#include "base/base.h"
#include "train/contest.h"

/* ---- statistics (student.c, statistics.c) -------------------------------------------------------------------- */

double oa_mean(const double *x, int n);
double oa_deviation(const double *x, int n); /* of a sample: divided by n - 1; NaN when n < 2 */

double oa_beta_cdf(double x, double a,
                   double b);              /* P(X <= x) of Beta(a, b): the regularised incomplete beta function */
double oa_t_cdf(double t, double df);      /* P(T <= t), Student's t with df > 0 degrees of freedom */
double oa_t_quantile(double p, double df); /* the t with P(T <= t) = p, 0 < p < 1 */
/* P(|T| > critical) for a noncentral t: the power of a two-sided t test. */
double oa_t_power(double noncentrality, double df, double critical);

/* The mean of a sample with its 95 % interval: mean - half … mean + half. */
struct oa_estimate {
    int n;
    double mean, sd, half; /* sd and half are NaN when n < 2, mean when n < 1 */
};
struct oa_estimate oa_estimate_of(const double *x, int n);
/* Two-sided p-value of "the mean is 0" (a paired t test when x are differences). NaN when n < 2; without any spread it
 * is 1 for a mean of exactly 0 and 0 for any other. */
double oa_t_test(const struct oa_estimate *e);
/* Holm's step-down adjustment. adjusted[i] >= p[i]; factor[i] (may be NULL) is what the step multiplied p[i] with:
 * p[i] had to be below level / factor[i]. Values that are NaN take no part. */
void oa_holm(const double *p, int n, double *adjusted, int *factor);

#define OA_SEEDS_CAP 1000 /* beyond it a number of seeds is only "more than" */
/* The smallest n for which a paired t test at `level` detects a true difference equal to the observed mean, with the
 * observed deviation, with a probability of 80 %. OA_SEEDS_CAP + 1 when it is larger than OA_SEEDS_CAP. */
int oa_seeds_needed(double mean, double sd, double level);

/* ---- the summary of a contest (summary.c, conclusion.c) ------------------------------------------------------ */

enum oa_verdict {
    OA_VERDICT_BEST,       /* lowest loss, and every other attention without failures is worse */
    OA_VERDICT_LOWEST,     /* lowest loss, but not everything else can be told from it (or there is nothing else) */
    OA_VERDICT_WORSE,      /* Holm-corrected p < 0.05, and the interval of the difference excludes 0 */
    OA_VERDICT_UNRESOLVED, /* the data do not say */
    OA_VERDICT_ONE_SEED,   /* no interval can be given */
    OA_VERDICT_FAILED      /* a run of this attention failed; it takes no part in the tests */
};
const char *oa_verdict_name(enum oa_verdict v); /* "best", "lowest loss", "worse", "not resolved", … */
const char *oa_budget_name(const char *equal);  /* what the runs had the same of: "training tokens", … */

/* What is said about one attention. Means are over its runs that did not fail, NaN when there are none. */
struct oa_standing {
    enum oa_verdict verdict;
    int failed;                    /* runs */
    struct oa_estimate loss;       /* validation loss, nats a token */
    struct oa_estimate difference; /* to the reference, paired over the seeds that both finished; n = 0: none */
    double percent;                /* difference.mean in percent of the reference's loss on those seeds */
    double p, holm;                /* two-sided paired t test against the reference; Holm-corrected. NaN: not tested */
    int seeds_needed;              /* of an unresolved entry, to have it resolved; 0: does not apply */
    double perplexity;             /* exp(loss.mean) */
    double bits_per_character, bits_per_byte;
    double seconds, seconds_per_step, tokens_per_second, tokens, steps;
    double flops, flops_per_step, peak_memory;
    bool front_speed, front_parameters; /* nothing is better in loss and in tokens/s (trainable parameters) */
};

struct oa_summary {
    struct oa_standing *entries; /* in the order of the contest's entries */
    int *order;                  /* entry numbers by rising loss; entries with failures come last */
    int count, seeds;
    int reference;    /* the entry with the lowest mean loss of those without failures; -1: all failed */
    char *conclusion; /* one or two sentences of plain text */
};
enum oa_error oa_summary_make(oa_context *c, const struct oa_contest *contest, struct oa_summary *out);
void oa_summary_free(struct oa_summary *s);
char *oa_conclusion(oa_context *c, const struct oa_contest *k, const struct oa_summary *s); /* from the verdicts */

/* ---- numbers as people read them (numbers.c) ----------------------------------------------------------------- */

/* Each writes into `out`, which holds OA_NUMBER bytes, and returns it. What is not finite becomes "–". */
#define OA_NUMBER 48
char *oa_number(char *out, double x, int digits);          /* significant digits, no exponent where avoidable */
char *oa_number_signed(char *out, double x, int decimals); /* +0.0123, −0.0123 with a true minus, 0.0000 */
char *oa_number_si(char *out, double x);                   /* 950, 2048, 12.3k, 4.56M, 7.89G */
char *oa_number_bytes(char *out, double x);                /* 950 B, 12.3 KiB, 4.56 GiB */
char *oa_number_seconds(char *out, double x);              /* 12 µs, 3.4 ms, 5.6 s, 2 min 5 s, 3 h 4 min */

/* ---- tables of text cells (cells.c) -------------------------------------------------------------------------- */

struct oa_column {
    const char *title; /* "\n" begins a second line */
    bool right;        /* numbers: aligned to the right */
    bool shorten;      /* may be cut with "…" when the table is too wide */
};
struct oa_table {
    oa_context *context;
    const struct oa_column *columns; /* borrowed */
    int width;                       /* columns */
    long count, capacity;            /* cells */
    char **cells;                    /* row after row */
};
void oa_table_init(struct oa_table *t, oa_context *c, const struct oa_column *columns, int width);
void oa_table_free(struct oa_table *t);
/* The next cell: rows fill from left to right. */
void oa_table_cell(struct oa_table *t, const char *format, ...) OA_PRINTF(2, 3);
/* Aligned plain text, two blanks between columns, no trailing blanks; at most `limit` columns wide as far as the
 * columns that may be shortened allow (0 = no limit). Width is counted as a terminal shows UTF-8. */
void oa_table_text(const struct oa_table *t, int limit, struct oa_text *out);
void oa_table_markdown(const struct oa_table *t, struct oa_text *out);
void oa_table_html(const struct oa_table *t, const char *caption, struct oa_text *out);
void oa_markdown_text(struct oa_text *out, const char *text); /* escaped */
int oa_text_width(const char *utf8);                          /* terminal columns */
/* Adds the text, with "…" in the place of its middle when it is wider: two specs often differ only at their end. */
void oa_text_add_short(struct oa_text *out, const char *utf8, int width);

/* ---- a contest as text (contest_table.c, results_write.c, results_read.c, contest_page.c) -------------------- */

void oa_report_table(const struct oa_contest *k, const struct oa_summary *s, int limit, struct oa_text *out);
void oa_report_markdown(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
/* docs/results.md describes the file. The same contest gives the same bytes. */
void oa_report_json(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);
enum oa_error oa_contest_from_json(oa_context *c, const char *json, struct oa_contest *out);
void oa_report_html(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out);

/* ---- charts (svg.c, axes.c, line_chart.c, point_chart.c, interval_chart.c)
 * ------------------------------------------- */

#define OA_COLORS 8 /* a colour-blind safe palette; series beyond it repeat the colours with another dash */

struct oa_series {
    const char *name; /* NULL: no label (e.g. the single seeds behind a mean) */
    const double *x, *y;
    int count;        /* points; those that are not finite are left out */
    int color;        /* 0, 1, … */
    bool faint, dots; /* faint: thin and pale; dots: the points are marked */
    bool loose;       /* no line joins the points */
};
struct oa_line_chart {
    const char *title, *description; /* for screen readers; the title is not drawn */
    const char *x_label, *y_label;   /* with units */
    bool x_log, y_log;
    double y_top; /* larger values are cut off; 0: nothing is */
    const struct oa_series *series;
    int count;
    int width, height; /* pixels; 0: 960 x 420. Below 560 the lines have no labels at their ends */
    bool standalone;   /* a whole .svg file instead of a piece of HTML: carries its own style */
};
void oa_svg_lines(const struct oa_line_chart *chart, struct oa_text *out);

struct oa_point {
    const char *name;
    double x, y, half; /* half NaN: without an interval around y */
    int color;
    bool front; /* on the Pareto front: ringed, joined by a line */
};
struct oa_point_chart {
    const char *title, *description, *x_label, *y_label;
    bool x_log, x_low_is_better; /* low y is better always */
    const struct oa_point *points;
    int count;
    int width, height; /* 0: 470 x 400 */
    bool standalone;
};
void oa_svg_points(const struct oa_point_chart *chart, struct oa_text *out);

struct oa_span {
    const char *name, *note, *verdict; /* note and verdict stand at the right; a narrow chart has no notes */
    double mean, half;                 /* half NaN: only the mean is drawn */
    int color;
};
struct oa_interval_chart {
    const char *title, *description, *x_label;
    const struct oa_span *spans;
    int count;
    int width; /* 0: 960; below 560 the name stands above its interval */
    bool standalone;
};
void oa_svg_intervals(const struct oa_interval_chart *chart, struct oa_text *out); /* with a line at 0 */

/* ---- pages (page.c) ------------------------------------------------------------------------------------------ */

void oa_html_text(struct oa_text *out, const char *text); /* escaped for content, attributes and SVG */
/* A self-contained page with the style of all Orthant reports; what comes between is the content of <main>. Headings:
 * <p class="above">, <h1>, <h2>; panels: <figure><figcaption>…</figcaption> chart </figure>, <div class="panel">. */
void oa_html_begin(struct oa_text *out, const char *title);
void oa_html_end(struct oa_text *out);

#endif
