/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics: how good texts, labels and numbers are beside those that were expected. Three families:
 *
 *     segments: BLEU, chrF, TER, ROUGE        statistics of every segment, added up, give the score
 * of a corpus; python_text.c → bleu_tokens.c, ter_tokens.c → word_ids.c → grams.c, edits.c,
 * subsequence.c → bleu.c, chrf.c, ter.c, rouge.c → segments.c → resampling.c (numpy_random.c,
 * numpy_sums.c) labels: accuracy, F1, MCC               classes.c → confusion.c numbers: Pearson's
 * and Spearman's r     correlation.c
 *
 * Each number equals that of the package that people quote, as docs/metrics.md lists with what was
 * tried: sacreBLEU 2.6.0 (Post, "A call for clarity in reporting BLEU scores", WMT 2018),
 * rouge-score 0.1.2, scikit-learn 1.9.1 and SciPy 1.17.1. Texts are UTF-8; where packages work on
 * Python's strings, a character is a code point here too.
 */
#ifndef ORTHANT_METRICS_H
#define ORTHANT_METRICS_H

#include "base/base.h"

/* A piece of text that is borrowed; it need not end with a 0. */
struct oa_line {
    const char *s;
    size_t length;
};

/* ---- files ---- */

/* The lines of a file (gzip unpacked), each without its end and the white space before that, as
 * sacreBLEU reads them: so CRLF is an end, too. A last line need not end. Bytes that are no UTF-8
 * are refused with file and line; a file without a line with its name. oa_lines_free it, also after
 * a failure. */
struct oa_lines {
    const char *name; /* of the file, borrowed */
    char *data, *respelled;
    struct oa_line *line;
    long count;
};
enum oa_error oa_lines_read(oa_context *c, const char *path, struct oa_lines *out);
void oa_lines_free(struct oa_lines *lines);
/* For labels: whole numbers are those numbers however they were written (oa_whole_number), which a
 * notice tells. */
enum oa_error oa_lines_respell(oa_context *c, struct oa_lines *lines);
/* The numbers on the lines [count], to be freed; a line that holds none that is finite is refused
 * with its place. */
enum oa_error oa_lines_numbers(oa_context *c, const struct oa_lines *lines, double **out);

/* ---- segments ---- */

enum oa_bleu_tokens { OA_TOKENS_13A, OA_TOKENS_INTL, OA_TOKENS_CHAR, OA_TOKENS_NONE };
enum oa_bleu_smooth { OA_SMOOTH_EXP, OA_SMOOTH_FLOOR, OA_SMOOTH_ADD_K, OA_SMOOTH_NONE };
enum oa_average { OA_AVERAGE_BINARY, OA_AVERAGE_MACRO, OA_AVERAGE_MICRO, OA_AVERAGE_WEIGHTED };
enum { OA_MOST_ORDER = 16, OA_MOST_STATISTICS = 6 * OA_MOST_ORDER };

/* What a metric of segments is asked for; each reads what has its name. oa_metric_defaults: what
 * the packages do. */
struct oa_metric_options {
    enum oa_bleu_tokens bleu_tokens; /* 13a */
    enum oa_bleu_smooth bleu_smooth; /* exp */
    double bleu_smooth_value;        /* of floor (0.1) and add-k (1); 0 = these */
    int bleu_order;                  /* 4; 1 … OA_MOST_ORDER */
    bool bleu_lowercase;
    bool bleu_effective_order; /* for single sentences: stop at the longest n-gram that there is */
    int chrf_characters;       /* 6; 1 … OA_MOST_ORDER */
    int chrf_words;            /* 0; 2 is chrF++ */
    int chrf_beta;             /* 2; weight of recall */
    bool chrf_lowercase, chrf_whitespace, chrf_eps_smoothing;
    bool ter_normalized, ter_no_punctuation, ter_asian, ter_case_sensitive;
    bool rouge_stemmer; /* Porter's, as NLTK has it */
    const char
        *rouge_newline; /* what stands for a line end between sentences, or NULL: line ends alone */
    enum oa_average f1_average;
};
void oa_metric_defaults(struct oa_metric_options *o);
enum oa_error oa_metric_check(oa_context *c,
                              const struct oa_metric_options *o); /* ranges, by name */

struct oa_segment {
    struct oa_line hypothesis;
    const struct oa_line *reference;
    int references; /* at least 1 */
};

/* In what the sums and the scores of resamples are kept, to have sacreBLEU's digits. */
enum oa_resampled { OA_RESAMPLED_DOUBLE, OA_RESAMPLED_FLOAT_SUMS, OA_RESAMPLED_FLOAT };

/* A metric of segments: a const table in its own file. Scores are sums' functions, so any set of
 * segments has one.
 *
 * bleu     Papineni et al., ACL 2002           0 … 100
 * chrf     Popović, WMT 2015 and 2017          0 … 100
 * ter      Snover et al., AMTA 2006            edits per word of the references in per cent: 0 is
 * best, no upper end rouge1, rouge2, rougeL, rougeLsum Lin, 2004                           F, 0 …
 * 1; mean over segments */
struct oa_metric {
    const char *name;    /* as a command line has it: "bleu" */
    const char *heading; /* as papers have it: "BLEU"; NULL: title says it */
    const char *package; /* the version whose numbers these are: "2.6.0" */
    bool less_is_better;
    int (*statistics)(const struct oa_metric_options
                          *o); /* how many numbers a segment has, OA_MOST_STATISTICS at most */
    /* The numbers of one segment; false when memory is short, which the arena's context then knows.
     */
    bool (*segment)(const struct oa_metric_options *o, const struct oa_segment *s,
                    struct oa_arena *a, double *out);
    /* The score of summed statistics. single: in float, as NumPy computes resamples (a formula, two
     * precisions). */
    double (*score)(const struct oa_metric_options *o, const double *sum, bool single);
    enum oa_resampled resampled;
    void (*title)(const struct oa_metric_options *o, struct oa_text *out); /* "chrF2++" */
    void (*signature)(const struct oa_metric_options *o,
                      struct oa_text *out); /* "case:mixed|eff:no|…" */
    void (*verbose)(const struct oa_metric_options *o, const double *sum,
                    struct oa_text *out); /* NULL: nothing more */
    /* Of what has no sums, labels and numbers: the score of these rows instead of the two functions
     * above; NULL: it has sums. NaN where it is not defined, or without memory, which the arena's
     * context knows. */
    double (*score_of_rows)(const struct oa_metric_options *o, const double *const *row, long count,
                            struct oa_arena *scratch);
};
extern const struct oa_metric oa_bleu, oa_chrf, oa_ter, oa_rouge1, oa_rouge2, oa_rouge_l,
    oa_rouge_lsum;
const struct oa_metric *oa_metric_find(const char *name); /* NULL: there is none */
void oa_metric_title(const struct oa_metric *m, const struct oa_metric_options *o,
                     struct oa_text *out);

/* Statistics of every segment, row-major [count, numbers]; oa_statistics_free them. */
struct oa_statistics {
    const struct oa_metric *metric;
    const struct oa_metric_options *options;
    long count;
    int numbers;
    double *row;
    double whole; /* score of all rows, where the metric is of rows */
};
/* hypothesis [count], reference [references][count]. Runs on all threads; the same bits for any
 * number of them. A stop that is asked for ends it with OA_INTERRUPTED. */
enum oa_error oa_statistics_take(oa_context *c, const struct oa_metric *m,
                                 const struct oa_metric_options *o,
                                 const struct oa_line *hypothesis,
                                 const struct oa_line *const *reference, int references, long count,
                                 struct oa_statistics *out);
void oa_statistics_free(struct oa_statistics *s);
void oa_statistics_sum(const struct oa_statistics *s,
                       double *sum);                       /* in the order of the segments */
double oa_statistics_score(const struct oa_statistics *s); /* of the corpus */

/* Precision and recall behind the F of a ROUGE metric: out [3] = precision, recall, F, means over
 * the corpus. */
void oa_rouge_means(const struct oa_statistics *s, double out[3]);

/* What the words of a text can be found by. Zeroed at first; lines are added one by one. */
struct oa_spacing {
    double unspaced, ascii, all; /* characters */
};
void oa_spacing_add(struct oa_spacing *s, struct oa_line line);
/* Has most of it no spaces between words, so that BLEU's tokenizers that split at them (13a, intl,
 * none) find none? */
bool oa_is_unspaced(const struct oa_spacing *s);
/* Is less than half of it letters from a to z and digits, which are all that ROUGE reads? */
bool oa_is_unread_by_rouge(const struct oa_spacing *s);

/* "nrefs:1|case:mixed|…|version:2.6.0+orthant.0.1.0", as `score` prints it. between: fields after
 * the first, such as
 * "|bs:1000|seed:1", or "". */
void oa_metric_signature(const struct oa_metric *m, const struct oa_metric_options *o,
                         int references, const char *between, struct oa_text *out);

/* Hypothesis lines that end with a full stop that stands alone, as in tokenised text: many spoil
 * BLEU. */
long oa_tokenised_lines(const struct oa_line *hypothesis, long count);

/* ---- resampling ---- */

/* Tests of sacreBLEU with the generator of NumPy's default_rng(seed), so that all digits are the
 * same. */
struct oa_resample {
    double score;
    double mean, half; /* mean of the resamples, half of the 95 % interval; NaN: not asked for */
    /* Against the baseline; NaN: it is the baseline, or nothing was compared. Both are 1 where no
     * segment's statistics differ. Only p is valid where a difference can be reproduced exactly, as
     * that of a few segments. */
    double
        p; /* share of resamples with a difference at least as large; equal up to rounding counts */
    double strict_p; /* sacreBLEU's figure: share of those above, ties left out */
};
/* A 95 % interval by bootstrap (Koehn, EMNLP 2004): `samples` corpora drawn from the segments. */
enum oa_error oa_bootstrap(oa_context *c, const struct oa_statistics *s, long samples,
                           uint64_t seed, struct oa_resample *out);
/* Each of the systems [count] against the first, on the same segments. p is two-sided: the
 * difference of a resample strays from the one that was seen by at least as much as that one does
 * from 0 (Noreen, 1989). out [count]. */
enum oa_error oa_paired_bootstrap(oa_context *c, const struct oa_statistics *system, int count,
                                  long samples, uint64_t seed, struct oa_resample *out);
/* Approximate randomisation (Riezler and Maxwell, 2005): segments change sides at random; where at
 * most 13 of them differ, p is of all exchanges, exactly. No intervals. */
enum oa_error oa_paired_randomisation(oa_context *c, const struct oa_statistics *system, int count,
                                      long trials, uint64_t seed, struct oa_resample *out);

/* ---- labels ---- */

/* Every label that occurs, in the order of its bytes, with its counts. oa_classes_free. */
struct oa_class {
    struct oa_line label;
    long expected, found, both; /* lines where the reference, the hypothesis, both have it */
};
struct oa_classes {
    struct oa_class *item;
    int count;
    long lines, right;
};
enum oa_error oa_classes_count(oa_context *c, const struct oa_line *hypothesis,
                               const struct oa_line *reference, long count, struct oa_classes *out);
void oa_classes_free(struct oa_classes *k);
double oa_accuracy(const struct oa_classes *k); /* 0 … 1 */
/* Matthews' correlation of any number of classes (Gorodkin, 2004), -1 … 1; where one side has a
 * single class it is not defined: 0 then, as in scikit-learn, and *defined false. */
double oa_mcc(const struct oa_classes *k, bool *defined);

struct oa_f1 {
    double precision, recall, f1; /* 0 … 1 */
    int no_precision,
        no_recall; /* classes never found, never expected: theirs count as 0 (scikit-learn) */
};
struct oa_f1 oa_f1_of_class(const struct oa_class *k); /* against all others */
int oa_line_order(struct oa_line x, struct oa_line y); /* below 0, 0, above 0: by bytes */
/* binary: of one class, `positive`; all others are the rest. A label that does not occur, or more
 * than two classes, is refused as scikit-learn does. macro: the plain mean over classes; weighted:
 * by how often each is expected; micro: of the sums, which is the accuracy. */
enum oa_error oa_f1_of(oa_context *c, const struct oa_classes *k, enum oa_average average,
                       struct oa_line positive, struct oa_f1 *out);

/* Labels as rows that can be resampled by one of these: out [systems], of the hypotheses
 * [systems][count]. positive: of the binary F1 (options->f1_average). To be freed by
 * oa_statistics_free, also after a failure. */
extern const struct oa_metric oa_label_accuracy, oa_label_f1, oa_label_mcc;
enum oa_error oa_label_statistics(oa_context *c, const struct oa_metric *m,
                                  const struct oa_metric_options *o,
                                  const struct oa_line *const *hypothesis, int systems,
                                  const struct oa_line *reference, long count,
                                  struct oa_line positive, struct oa_statistics *out);

/* ---- numbers ---- */

/* -1 … 1; NaN where one side is constant: no correlation is defined then. Fewer than 2 numbers are
 * refused. */
enum oa_error oa_pearson(oa_context *c, const double *x, const double *y, long n, double *r);
/* Pearson's of the ranks; equal numbers share the mean of their ranks. */
enum oa_error oa_spearman(oa_context *c, const double *x, const double *y, long n, double *r);
/* Pairs of numbers as rows that can be resampled by one of these. oa_statistics_free, also after a
 * failure. */
extern const struct oa_metric oa_pearson_of_rows, oa_spearman_of_rows;
enum oa_error oa_number_statistics(oa_context *c, const struct oa_metric *m, const double *x,
                                   const double *y, long n, struct oa_statistics *out);

#endif
