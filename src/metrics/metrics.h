/* SPDX-License-Identifier: Apache-2.0
 * metrics: scores of texts, labels and numbers against references. Three families:
 *
 *     segments  BLEU, chrF, TER, ROUGE: statistics per segment, whose sum gives the corpus score
 *               python_text.c → bleu_tokens.c, ter_tokens.c → word_ids.c → grams.c, edits.c,
 *               subsequence.c → bleu.c, chrf.c, ter.c, rouge.c → segments.c → resampling.c
 *     labels    accuracy, F1, MCC: classes.c → confusion.c
 *     numbers   Pearson's and Spearman's r: correlation.c
 *
 * Each number equals that of a reference package (docs/metrics.md): sacreBLEU 2.6.0 (Post, "A call
 * for clarity in reporting BLEU scores", WMT 2018), rouge-score 0.1.2, scikit-learn 1.9.1 and
 * SciPy 1.17.1. Texts are UTF-8; a character is a code point, as in Python's str. */
#ifndef ORTHANT_METRICS_H
#define ORTHANT_METRICS_H

#include "base/base.h"

/* Borrowed text, not necessarily 0-terminated. */
struct oa_line {
    const char *s;
    size_t length;
};

/* ---- files ---- */

/* The lines of a file (gzip unpacked) without trailing white space, as sacreBLEU reads them.
 * OA_FORMAT: not UTF-8, or no lines. Free with oa_lines_free, also after an error. */
struct oa_lines {
    const char *name; /* of the file, borrowed */
    char *data, *respelled;
    struct oa_line *line;
    long count;
};
enum oa_error oa_lines_read(oa_context *c, const char *path, struct oa_lines *out);
void oa_lines_free(struct oa_lines *lines);
/* Normalises labels (oa_label_spell) and logs how many. */
enum oa_error oa_lines_respell(oa_context *c, struct oa_lines *lines);
/* The finite numbers on the lines [count], owned by the caller. OA_FORMAT: a line has none. */
enum oa_error oa_lines_numbers(oa_context *c, const struct oa_lines *lines, double **out);

/* ---- segments ---- */

enum oa_bleu_tokens { OA_TOKENS_13A, OA_TOKENS_INTL, OA_TOKENS_CHAR, OA_TOKENS_NONE };
enum oa_bleu_smooth { OA_SMOOTH_EXP, OA_SMOOTH_FLOOR, OA_SMOOTH_ADD_K, OA_SMOOTH_NONE };
enum oa_average { OA_AVERAGE_BINARY, OA_AVERAGE_MACRO, OA_AVERAGE_MICRO, OA_AVERAGE_WEIGHTED };
enum { OA_MOST_ORDER = 16, OA_MOST_STATISTICS = 6 * OA_MOST_ORDER };

/* Options of the metrics; each reads those with its name. oa_metric_defaults: those of the
 * packages. */
struct oa_metric_options {
    enum oa_bleu_tokens bleu_tokens; /* 13a */
    enum oa_bleu_smooth bleu_smooth; /* exp */
    double bleu_smooth_value;        /* of floor and add-k; 0: their defaults 0.1 and 1 */
    int bleu_order;                  /* 4; 1 … OA_MOST_ORDER */
    bool bleu_lowercase;
    bool bleu_effective_order; /* for single sentences: ignore orders without n-grams */
    int chrf_characters;       /* 6; 1 … OA_MOST_ORDER */
    int chrf_words;            /* 0; 2 is chrF++ */
    int chrf_beta;             /* 2; weight of recall */
    bool chrf_lowercase, chrf_whitespace, chrf_eps_smoothing;
    bool ter_normalized, ter_no_punctuation, ter_asian, ter_case_sensitive;
    bool ter_unsplit; /* most references have no spaces, so units are whole lines: signature only */
    bool rouge_stemmer;        /* Porter's, as NLTK has it */
    const char *rouge_newline; /* separates sentences besides line ends; NULL: only line ends do */
    enum oa_average f1_average;
};
void oa_metric_defaults(struct oa_metric_options *o);
enum oa_error oa_metric_check(oa_context *c, const struct oa_metric_options *o);

struct oa_segment {
    struct oa_line hypothesis;
    const struct oa_line *reference;
    int references; /* at least 1 */
};

/* Precision of sums and scores of resamples, to match sacreBLEU's digits. */
enum oa_resampled { OA_RESAMPLED_DOUBLE, OA_RESAMPLED_FLOAT_SUMS, OA_RESAMPLED_FLOAT };

/* A metric of segments, a const table in its own file. The score is a function of summed
 * statistics:
 *
 *     bleu    Papineni et al., ACL 2002       0 … 100
 *     chrf    Popović, WMT 2015 and 2017      0 … 100
 *     ter     Snover et al., AMTA 2006        edits per reference word in per cent, 0 is best
 *     rouge1, rouge2, rougeL, rougeLsum       Lin, 2004: F, 0 … 1, mean over segments */
struct oa_metric {
    const char *name;    /* on command lines: "bleu" */
    const char *heading; /* in tables: "BLEU"; NULL: printed by `title` */
    const char *package; /* version of the reference package: "2.6.0" */
    bool less_is_better;
    bool mean; /* the score is the mean over the segments of the score of each alone */
    /* Statistics per segment, at most OA_MOST_STATISTICS. */
    int (*statistics)(const struct oa_metric_options *o);
    /* The statistics of one segment; false: no memory, noted in the arena's context. */
    bool (*segment)(const struct oa_metric_options *o, const struct oa_segment *s,
                    struct oa_arena *a, double *out);
    /* The score of summed statistics. single: computed in float, as NumPy does for resamples. */
    double (*score)(const struct oa_metric_options *o, const double *sum, bool single);
    enum oa_resampled resampled;
    void (*title)(const struct oa_metric_options *o, struct oa_text *out); /* "chrF2++" */
    void (*signature)(const struct oa_metric_options *o,
                      struct oa_text *out); /* "case:mixed|eff:no|…" */
    void (*verbose)(const struct oa_metric_options *o, const double *sum,
                    struct oa_text *out); /* NULL: no details */
    /* For labels and numbers, instead of `segment` and `score`: the score of these rows. NULL: the
     * metric has sums. NaN: undefined, or no memory, noted in the arena's context. */
    double (*score_of_rows)(const struct oa_metric_options *o, const double *const *row, long count,
                            struct oa_arena *scratch);
};
extern const struct oa_metric oa_bleu, oa_chrf, oa_ter, oa_rouge1, oa_rouge2, oa_rouge_l,
    oa_rouge_lsum;
const struct oa_metric *oa_metric_find(const char *name); /* NULL: there is none */
void oa_metric_title(const struct oa_metric *m, const struct oa_metric_options *o,
                     struct oa_text *out);

/* Statistics of every segment. Free with oa_statistics_free. */
struct oa_statistics {
    const struct oa_metric *metric;
    const struct oa_metric_options *options;
    long count;
    int numbers;
    double *row;  /* [count, numbers] */
    double whole; /* score of all rows of a metric of rows */
};
/* hypothesis [count], reference [references][count]. Parallel; the same bits for any number of
 * threads. OA_INTERRUPTED after a stop request. */
enum oa_error oa_statistics_take(oa_context *c, const struct oa_metric *m,
                                 const struct oa_metric_options *o,
                                 const struct oa_line *hypothesis,
                                 const struct oa_line *const *reference, int references, long count,
                                 struct oa_statistics *out);
void oa_statistics_free(struct oa_statistics *s);
void oa_statistics_sum(const struct oa_statistics *s, double *sum); /* in segment order */
double oa_statistics_score(const struct oa_statistics *s);          /* of the corpus */

/* Means of precision, recall and F of a ROUGE metric. */
void oa_rouge_means(const struct oa_statistics *s, double out[3]);

/* Counts of characters that tell whether words are separated by spaces. Initialise to 0. */
struct oa_spacing {
    double unspaced, ascii, all; /* characters without white space */
};
void oa_spacing_add(struct oa_spacing *s, struct oa_line line);
/* Most of the text has no spaces between words, so BLEU should count characters. */
bool oa_is_unspaced(const struct oa_spacing *s);
/* Less than half of the text is a-z and digits, which is all that ROUGE reads. */
bool oa_is_unread_by_rouge(const struct oa_spacing *s);

/* "nrefs:1|case:mixed|…|version:2.6.0+orthant.0.1.0". between: fields after the first, such as
 * "|bs:1000|seed:1", or "". */
void oa_metric_signature(const struct oa_metric *m, const struct oa_metric_options *o,
                         int references, const char *between, struct oa_text *out);

/* The number of hypotheses that end with " .": tokenised text, which distorts BLEU. */
long oa_tokenised_lines(const struct oa_line *hypothesis, long count);

/* ---- resampling ---- */

/* sacreBLEU's tests with NumPy's default_rng(seed): the same digits. */
struct oa_resample {
    double score;
    double mean,
        half; /* mean of the resamples, half-width of the 95 % interval; NaN: not computed */
    /* Against the baseline; NaN: the baseline, or undefined. 1 where no statistics differ. With few
     * segments resamples tie with the observed difference: then only p is valid. */
    double p;        /* share of resamples with a difference at least as large, up to rounding */
    double strict_p; /* sacreBLEU's: share of larger differences */
};
/* 95 % bootstrap interval (Koehn, EMNLP 2004) from `samples` resamples of the segments. */
enum oa_error oa_bootstrap(oa_context *c, const struct oa_statistics *s, long samples,
                           uint64_t seed, struct oa_resample *out);
/* Each of the systems [count] against the first, on the same segments. Two-sided p: the difference
 * of a resample deviates from the observed one by at least the observed one (Noreen, 1989). out
 * [count]. */
enum oa_error oa_paired_bootstrap(oa_context *c, const struct oa_statistics *system, int count,
                                  long samples, uint64_t seed, struct oa_resample *out);
/* Approximate randomisation (Riezler and Maxwell, 2005): segments are exchanged at random; with at
 * most 13 differing segments p is exact over all exchanges. No intervals. */
enum oa_error oa_paired_randomisation(oa_context *c, const struct oa_statistics *system, int count,
                                      long trials, uint64_t seed, struct oa_resample *out);

/* ---- labels ---- */

/* All labels in byte order, with counts. Free with oa_classes_free. */
struct oa_class {
    struct oa_line label;
    long expected, found, both; /* lines with it in the reference, the hypothesis, both */
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
/* Multiclass Matthews correlation (Gorodkin, 2004), -1 … 1. Undefined where one side has a single
 * class: 0, as in scikit-learn, and *defined false. */
double oa_mcc(const struct oa_classes *k, bool *defined);

struct oa_f1 {
    double precision, recall, f1; /* 0 … 1 */
    int no_precision, no_recall;  /* classes never found, never expected: 0, as in scikit-learn */
};
struct oa_f1 oa_f1_of_class(const struct oa_class *k); /* one against the rest */
int oa_line_order(struct oa_line x, struct oa_line y); /* as memcmp */
/* binary: of the class `positive`; OA_ARGUMENT, as in scikit-learn, where it does not occur or
 * there are more than two classes. macro: mean over classes; weighted: by their support; micro: of
 * the sums, equal to accuracy. */
enum oa_error oa_f1_of(oa_context *c, const struct oa_classes *k, enum oa_average average,
                       struct oa_line positive, struct oa_f1 *out);

/* Rows for resampling by these metrics: out [systems] of the hypotheses [systems][count]. positive:
 * for binary F1 (options->f1_average). Free with oa_statistics_free, also after an error. */
extern const struct oa_metric oa_label_accuracy, oa_label_f1, oa_label_mcc;
enum oa_error oa_label_statistics(oa_context *c, const struct oa_metric *m,
                                  const struct oa_metric_options *o,
                                  const struct oa_line *const *hypothesis, int systems,
                                  const struct oa_line *reference, long count,
                                  struct oa_line positive, struct oa_statistics *out);

/* ---- numbers ---- */

/* -1 … 1; NaN where one side is constant. OA_ARGUMENT: fewer than 2 numbers. */
enum oa_error oa_pearson(oa_context *c, const double *x, const double *y, long n, double *r);
/* Pearson's r of the ranks; ties have their mean rank. */
enum oa_error oa_spearman(oa_context *c, const double *x, const double *y, long n, double *r);
/* Pairs of numbers as rows for resampling by these metrics. Free with oa_statistics_free, also
 * after an error. */
extern const struct oa_metric oa_pearson_of_rows, oa_spearman_of_rows;
enum oa_error oa_number_statistics(oa_context *c, const struct oa_metric *m, const double *x,
                                   const double *y, long n, struct oa_statistics *out);

#endif
