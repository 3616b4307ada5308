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
    return count <= 1 ||
           wrong_use(call, "the standard input, \"-\", can be read once only") == OA_OK;
}

static bool whole(struct call *call, const char *name, long low, long high, int *out)
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
    if (!whole(call, "decimals", 1, 12, &r->decimals) ||
        !whole(call, "max-order", 1, 16, &r->bleu_order) ||
        !whole(call, "char-order", 1, 16, &r->chrf_characters) ||
        !whole(call, "word-order", 0, 16, &r->chrf_words) ||
        !whole(call, "beta", 1, 1000, &r->chrf_beta) ||
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
static bool read_resampling(struct call *call, struct oa_score_request *r)
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
           allow_none(call, "seed",
                      "nothing is drawn without --confidence, --paired-bs or --paired-ar");
}

static enum oa_error score(struct call *call, struct oa_score_request *r)
{
    if (!want_words(call, 1, 8, "one to eight metrics, such as bleu or f1"))
        return OA_ARGUMENT;
    if (r->references == 0 || r->hypotheses == 0)
        return wrong_use(
            call,
            "score needs --ref FILE, what was expected, and --hyp FILE, what is to be scored");
    if (!stdin_once(call, r->reference, r->references, r->hypothesis, r->hypotheses) ||
        !read_numbers(call, r) || !read_smooth_value(call, r) || !read_resampling(call, r))
        return OA_ARGUMENT;
    r->metric = (const char *const *)call->word;
    r->metrics = call->words;
    read_switches(call, r);
    return oa_score(call->context, r, &call->out);
}

static enum oa_error run(struct call *call)
{
    struct oa_score_request r = { 0 };
    const char **reference = want_memory((size_t)call->givens + 1, sizeof *reference);
    const char **hypothesis = want_memory((size_t)call->givens + 1, sizeof *hypothesis);
    r.references = files_of(call, "ref", reference);
    r.hypotheses = files_of(call, "hyp", hypothesis);
    r.reference = reference;
    r.hypothesis = hypothesis;
    enum oa_error e = score(call, &r);
    free(reference);
    free(hypothesis);
    return e;
}

static const struct flag flags[] = {
    { .name = "ref",
      .argument = "FILE",
      .help = "what was expected, line by line; again for more references" },
    { .name = "hyp",
      .argument = "FILE",
      .help = "what is to be scored; again for more systems, the baseline first" },
    { .name = "decimals",
      .argument = "N",
      .help = "digits behind the point, 1 to 12 (default 1 for bleu, chrf and ter, 4 for others)" },
    { .name = "sentence-level",
      .help = "a score for each line instead of one for all; of one metric" },
    { .name = "tokenize",
      .argument = "NAME",
      .help = "bleu: 13a, intl (Unicode), char, or none for text that is tokenised (default: char "
              "where most of the "
              "references has no spaces between words, else 13a)",
      .words = "13a|intl|char|none" },
    { .name = "smooth-method",
      .argument = "NAME",
      .help = "bleu: where no n-gram of an order is right, exp (default), floor, add-k or none",
      .words = "exp|floor|add-k|none" },
    { .name = "smooth-value",
      .argument = "X",
      .help = "bleu: of floor (default 0.1) and add-k (default 1)" },
    { .name = "max-order",
      .argument = "N",
      .help = "bleu: the longest n-gram (default 4); BLEU-1 is 1" },
    { .name = "effective-order",
      .help = "bleu: leave out orders that a text is too short for; --sentence-level does" },
    { .name = "force", .help = "bleu: no notice of text that looks tokenised" },
    { .name = "lowercase", .help = "bleu, chrf: lower case before anything else" },
    { .name = "char-order",
      .argument = "N",
      .help = "chrf: the longest n-gram of characters (default 6)" },
    { .name = "word-order",
      .argument = "N",
      .help = "chrf: the longest n-gram of words (default 0); 2 is chrF++" },
    { .name = "beta",
      .argument = "N",
      .help = "chrf: how much more recall counts than precision (default 2)" },
    { .name = "whitespace", .help = "chrf: white space counts as characters" },
    { .name = "eps-smoothing",
      .help = "chrf: as chrF++.py, NLTK and Moses instead of by effective order" },
    { .name = "normalized", .help = "ter: split off punctuation, resolve &quot; and the like" },
    { .name = "no-punct", .help = "ter: without punctuation" },
    { .name = "asian-support",
      .help = "ter: --normalized and --no-punct also know ideographs and their punctuation" },
    { .name = "case-sensitive", .help = "ter: upper and lower case differ" },
    { .name = "stemmer", .help = "rouge: compare Porter's stems of words" },
    { .name = "newline",
      .argument = "TEXT",
      .help = "rouge: what stands for a line end between sentences, such as <n>; with it rouge has "
              "rougeLsum, too" },
    { .name = "average",
      .argument = "NAME",
      .help = "f1: binary (default), macro, micro or weighted",
      .words = "binary|macro|micro|weighted" },
    { .name = "positive",
      .argument = "LABEL",
      .help = "f1: the label of the binary one (default 1)" },
    { .name = "confidence", .help = "a 95 % interval by bootstrap resampling" },
    { .name = "paired-bs", .help = "each system against the first by paired bootstrap resampling" },
    { .name = "paired-ar", .help = "each system against the first by approximate randomisation" },
    { .name = "samples", .argument = "N", .help = "resamples (default 1000; --paired-ar 10000)" },
    { .name = "seed", .argument = "N", .fallback = "12345", .help = "of the resamples" },
    { .name = NULL },
};

const struct command command_score = {
    .name = "score",
    .sentence = "scores texts, labels or numbers against references: BLEU, chrF, TER, ROUGE, F1, "
                "correlations",
    .usage = "METRIC... --ref FILE [--ref FILE]... --hyp FILE [options]\n"
             "METRIC... --ref FILE --hyp BASELINE --hyp SYSTEM [--paired-bs | --paired-ar]",
    .text =
        "Metrics of texts: bleu, chrf and ter give what sacreBLEU 2.6.0 prints, digit for digit, "
        "with its signature "
        "and its JSON; rouge (rouge1, rouge2, rougeL, rougeLsum) what rouge-score 0.1.2 gives, "
        "from 0 to 1, as "
        "means over lines. BLEU is of detokenised text: the tokenizer is part of the metric. "
        "Higher is better, but "
        "for ter, which counts edits.\n"
        "Metrics of labels, one on a line: accuracy, f1 and mcc as scikit-learn has them, where "
        "blanks around a label "
        "do "
        "not count and 10.0 is 10; confusion "
        "is the matrix with precision, recall, F1 and support of each class. Of numbers, one on a "
        "line: pearson and spearman as SciPy.\n"
        "Line i of each file belongs together. Files are UTF-8, plain or gzip; - is the standard "
        "input. Files with "
        "different numbers of lines are refused, and an empty line is an empty text.\n"
        "--confidence and the paired tests draw as sacreBLEU does with SACREBLEU_SEED, so that "
        "intervals are the same, "
        "too. p counts differences that are at least as large as the one between the systems, and "
        "a star marks those "
        "below 0.05; sacreBLEU's own figure, which leaves out equal differences, is printed next "
        "to it.",
    .examples =
        "$ orthant score bleu chrf --ref test.de --hyp output.de\n"
        "$ orthant score bleu --ref test.de --hyp base.de --hyp new.de --paired-bs\n"
        "$ orthant score rouge --stemmer --newline \"<n>\" --ref summaries.txt --hyp output.txt\n"
        "$ orthant score accuracy f1 mcc --average macro --ref labels.txt --hyp predicted.txt",
    .flags = flags,
    .see = "eval compare",
    .run = run,
};
