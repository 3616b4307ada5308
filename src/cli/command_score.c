/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The files of an option; "-" is the standard input. */
static int files_of(struct call *call, const char *name, const char **files)
{
    int count = flag_values(call, name, files);
    for (int i = 0; i < count; i++)
        if (strcmp(files[i], "-") == 0)
            files[i] = "/dev/stdin";
    return count;
}

static bool stdin_once(struct call *call, const char *const *a, int as, const char *const *b,
                       int bs)
{
    int count = 0;
    for (int i = 0; i < as; i++)
        count += strcmp(a[i], "/dev/stdin") == 0;
    for (int i = 0; i < bs; i++)
        count += strcmp(b[i], "/dev/stdin") == 0;
    return count <= 1 || wrong_use(call, "standard input, \"-\", can be read only once") == OA_OK;
}

static bool score_number(struct call *call, const char *name, long low, long high, int *out)
{
    long n = 0;
    if (!flag_number(call, name, low, high, &n))
        return false;
    *out = (int)n;
    return true;
}

static bool read_numbers(struct call *call, struct oa_score_request *r)
{
    long seed = 0;
    if (!score_number(call, "decimals", 1, 12, &r->decimals) ||
        !score_number(call, "max-order", 1, 16, &r->bleu_order) ||
        !score_number(call, "char-order", 1, 16, &r->chrf_characters) ||
        !score_number(call, "word-order", 0, 16, &r->chrf_words) ||
        !score_number(call, "beta", 1, 1000, &r->chrf_beta) ||
        !flag_number(call, "samples", 1, 10000000, &r->samples) ||
        !flag_number(call, "seed", 0, LONG_MAX, &seed))
        return false;
    r->seed = (uint64_t)seed;
    return true;
}

static bool read_smooth_value(struct call *call, struct oa_score_request *r)
{
    const char *text = flag_value(call, "smooth-value");
    char *end;
    if (!text)
        return true;
    r->bleu_smooth_value = strtod(text, &end);
    if (end != text && !*end && r->bleu_smooth_value > 0 && r->bleu_smooth_value <= 1e6)
        return true;
    return wrong_use(call, "--smooth-value is \"%.40s\"; give a number above 0, at most 1e6",
                     text) == OA_OK;
}

static void read_switches(struct call *call, struct oa_score_request *r)
{
    const struct {
        const char *name;
        int *out;
    } switches[] = { { "sentence-level", &r->sentence_level },
                     { "lowercase", &r->lowercase },
                     { "effective-order", &r->bleu_effective_order },
                     { "force", &r->bleu_force },
                     { "whitespace", &r->chrf_whitespace },
                     { "eps-smoothing", &r->chrf_eps_smoothing },
                     { "normalized", &r->ter_normalized },
                     { "no-punct", &r->ter_no_punctuation },
                     { "asian-support", &r->ter_asian },
                     { "case-sensitive", &r->ter_case_sensitive },
                     { "stemmer", &r->rouge_stemmer } };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        *switches[i].out = flag_given(call, switches[i].name);
    r->bleu_tokenize = flag_value(call, "tokenize");
    r->bleu_smooth = flag_value(call, "smooth-method");
    r->rouge_newline = flag_value(call, "newline");
    r->f1_average = flag_value(call, "average");
    r->f1_positive = flag_value(call, "positive");
}

/* One of the three ways to resample, or none. */
static bool read_resampling_flags(struct call *call, struct oa_score_request *r)
{
    static const char *const ways[] = { "confidence", "paired-bs", "paired-ar" };
    for (int i = 0; i < 3; i++) {
        if (!flag_given(call, ways[i]))
            continue;
        if (r->resample)
            return wrong_use(call, "give one of --%s and --%s, not both", r->resample, ways[i]) ==
                   OA_OK;
        r->resample = ways[i];
    }
    return r->resample ||
           allow_none(call, "seed", "it needs --confidence, --paired-bs or --paired-ar");
}

static enum oa_error score_files(struct call *call, struct oa_score_request *r)
{
    if (!want_words(call, 1, 8, "one to eight metrics, such as bleu or f1"))
        return OA_ARGUMENT;
    if (r->references == 0 || r->hypotheses == 0)
        return wrong_use(call, "score needs --ref FILE (references) and --hyp FILE (hypotheses)");
    if (!stdin_once(call, r->reference, r->references, r->hypothesis, r->hypotheses) ||
        !read_numbers(call, r) || !read_smooth_value(call, r) || !read_resampling_flags(call, r))
        return OA_ARGUMENT;
    r->metric = (const char *const *)call->word;
    r->metrics = call->words;
    read_switches(call, r);
    return oa_score(call->context, r, &call->out);
}

static enum oa_error run_score(struct call *call)
{
    struct oa_score_request r = { 0 };
    const char **reference = want_memory((size_t)call->givens + 1, sizeof *reference);
    const char **hypothesis = want_memory((size_t)call->givens + 1, sizeof *hypothesis);
    r.references = files_of(call, "ref", reference);
    r.hypotheses = files_of(call, "hyp", hypothesis);
    r.reference = reference;
    r.hypothesis = hypothesis;
    enum oa_error e = score_files(call, &r);
    free(reference);
    free(hypothesis);
    return e;
}

static const struct flag flags[] = {
    { "ref", "FILE", .help = "reference, line by line; repeat for several references" },
    { "hyp", "FILE",
      .help = "hypothesis to score; repeat for several systems, the baseline first" },
    { "decimals", "N",
      .help = "digits after the decimal point, 1 to 12 (default 1 for bleu, chrf and ter, 4 for "
              "others)" },
    { "sentence-level", .help = "one score per line instead of one for all; a single metric only" },
    { "tokenize", "NAME",
      .help = "bleu: 13a, intl (Unicode), char, or none for tokenised text (default: char if "
              "most references have no spaces between words, else 13a)",
      .words = "13a|intl|char|none" },
    { "smooth-method", "NAME",
      .help = "bleu: smoothing of orders without a match: exp (default), floor, add-k or none",
      .words = "exp|floor|add-k|none" },
    { "smooth-value", "X", .help = "bleu: value of floor (default 0.1) or add-k (default 1)" },
    { "max-order", "N", .help = "bleu: longest n-gram (default 4)" },
    { "effective-order",
      .help = "bleu: omit orders that a text is too short for; implied by --sentence-level" },
    { "force", .help = "bleu: no notice about text that looks tokenised" },
    { "lowercase", .help = "bleu, chrf: convert to lower case first" },
    { "char-order", "N", .help = "chrf: longest n-gram of characters (default 6)" },
    { "word-order", "N", .help = "chrf: longest n-gram of words (default 0); 2 = chrF++" },
    { "beta", "N", .help = "chrf: weight of recall relative to precision (default 2)" },
    { "whitespace", .help = "chrf: count white space as characters" },
    { "eps-smoothing",
      .help = "chrf: smooth as chrF++.py, NLTK and Moses do, instead of by effective order" },
    { "normalized", .help = "ter: split off punctuation, resolve &quot; and the like" },
    { "no-punct", .help = "ter: remove punctuation" },
    { "asian-support",
      .help = "ter: apply --normalized and --no-punct to ideographs and their punctuation too" },
    { "case-sensitive", .help = "ter: distinguish upper and lower case" },
    { "stemmer", .help = "rouge: compare Porter stems of words" },
    { "newline", "TEXT", .help = "rouge: separator of sentences, such as <n>; adds rougeLsum" },
    { "average", "NAME", .help = "f1: binary (default), macro, micro or weighted",
      .words = "binary|macro|micro|weighted" },
    { "positive", "LABEL", .help = "f1: positive label of --average binary (default 1)" },
    { "confidence", .help = "95 % confidence interval by bootstrap resampling" },
    { "paired-bs", .help = "test each system against the first by paired bootstrap resampling" },
    { "paired-ar",
      .help = "test each system against the first by paired approximate randomisation" },
    { "samples", "N", .help = "resamples (default 1000; --paired-ar 10000)" },
    { "seed", "N", .help = "seed of the resampling; ignored without resampling",
      .fallback = "12345" },
    { .name = NULL },
};

const struct command command_score = {
    .name = "score",
    .sentence = "scores texts, labels or numbers against references: BLEU, chrF, TER, ROUGE, F1, "
                "correlations",
    .usage = "METRIC... --ref FILE [--ref FILE]... --hyp FILE [options]\n"
             "METRIC... --ref FILE --hyp BASELINE --hyp SYSTEM [--paired-bs | --paired-ar]",
    .text =
        "Metrics of texts: bleu, chrf and ter print what sacreBLEU 2.6.0 prints, digit for digit, "
        "with its signature and its JSON; rouge (rouge1, rouge2, rougeL, rougeLsum) is that of "
        "rouge-score 0.1.2, from 0 to 1, averaged over lines. BLEU expects detokenised text: the "
        "tokenizer is part of the metric. Higher is better, except for ter, which counts edits.\n"
        "Metrics of labels, one per line: accuracy, f1 and mcc as in scikit-learn, ignoring "
        "blanks around labels and with 10.0 equal to 10; confusion is the matrix with precision, "
        "recall, F1 and support of each class. Metrics of numbers, one per line: pearson and "
        "spearman as in SciPy.\n"
        "Lines of equal number belong together. Files are UTF-8, plain or gzip; - is standard "
        "input. Files with different numbers of lines are refused, and an empty line is an empty "
        "text.\n"
        "--confidence and the paired tests resample as sacreBLEU does with SACREBLEU_SEED, so "
        "that intervals are the same. p counts differences at least as large as that between the "
        "systems, and a star marks p below 0.05; sacreBLEU's own p, which leaves out equal "
        "differences, is printed next to it.",
    .examples =
        "$ orthant score bleu chrf --ref test.de --hyp output.de\n"
        "$ orthant score bleu --ref test.de --hyp base.de --hyp new.de --paired-bs\n"
        "$ orthant score rouge --stemmer --newline \"<n>\" --ref summaries.txt --hyp output.txt\n"
        "$ orthant score accuracy f1 mcc --average macro --ref labels.txt --hyp predicted.txt",
    .flags = flags,
    .see = "eval compare",
    .run = run_score,
};
