/* SPDX-License-Identifier: Apache-2.0
 * Checks a request for scores, and refuses options without effect. */
#include "api/score.h"

#include <string.h>

/* ---- words ---- */

/* Index of a word in a list that ends with NULL; 0 for the word NULL. */
static enum oa_error choose(oa_context *c, const char *what, const char *word,
                            const char *const *list, int *index)
{
    int count = 0;
    while (list[count])
        count++;
    for (*index = 0; word && *index < count; ++*index)
        if (strcmp(list[*index], word) == 0)
            return OA_OK;
    if (!word) {
        *index = 0;
        return OA_OK;
    }
    const char *near = oa_nearest(word, list, count);
    return oa_fail(c, OA_ARGUMENT, "there is no %s \"%.40s\"%s%s%s", what, word,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* Tokenizers of sacreBLEU that need a dictionary or a trained model. */
static enum oa_error refuse_models(oa_context *c, const char *name)
{
    static const char *const other[] = { "zh",        "ja-mecab",  "ko-mecab", "spm", "flores101",
                                         "flores200", "spBLEU-1K", "ja",       "ko",  NULL };
    for (int i = 0; name && other[i]; i++)
        if (strcmp(other[i], name) == 0)
            return oa_fail(c, OA_ARGUMENT,
                           "the tokenizer %s of sacreBLEU needs a dictionary, a trained model or "
                           "rules of one language, which are not included; use char for text "
                           "without blanks between words, or tokenise first and use none",
                           name);
    return OA_OK;
}

/* ---- metrics ---- */

static const char *const names[] = { "bleu",   "chrf",      "ter",       "rouge",    "rouge1",
                                     "rouge2", "rougeL",    "rougeLsum", "accuracy", "f1",
                                     "mcc",    "confusion", "pearson",   "spearman", NULL };

static enum oa_error add_score_item(oa_context *c, struct score_plan *p, enum score_kind kind,
                                    const char *name)
{
    const struct oa_metric *m = kind == SCORE_SEGMENTS ? oa_metric_find(name) : NULL;
    for (int i = 0; i < p->items; i++)
        if (p->item[i].kind == kind && p->item[i].metric == m)
            return oa_fail(c, OA_ARGUMENT, "the metric %s is given twice", name);
    p->item[p->items++] = (struct score_item){ kind, m };
    return OA_OK;
}

static enum oa_error add_metric(oa_context *c, struct score_plan *p, const char *name)
{
    static const struct {
        const char *name;
        enum score_kind kind;
    } others[] = { { "accuracy", SCORE_ACCURACY }, { "f1", SCORE_F1 },
                   { "mcc", SCORE_MCC },           { "confusion", SCORE_CONFUSION },
                   { "pearson", SCORE_PEARSON },   { "spearman", SCORE_SPEARMAN } };
    int index;
    OA_TRY(choose(c, "metric", name, names, &index));
    if (strcmp(name, "rouge") == 0) {
        OA_TRY(add_score_item(c, p, SCORE_SEGMENTS, "rouge1"));
        OA_TRY(add_score_item(c, p, SCORE_SEGMENTS, "rouge2"));
        OA_TRY(add_score_item(c, p, SCORE_SEGMENTS, "rougeL"));
        return p->request->rouge_newline ? add_score_item(c, p, SCORE_SEGMENTS, "rougeLsum")
                                         : OA_OK;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].name, name) == 0)
            return add_score_item(c, p, others[i].kind, name);
    return add_score_item(c, p, SCORE_SEGMENTS, name);
}

static bool has_segments(const struct score_plan *p, const char *family)
{
    for (int i = 0; i < p->items; i++)
        if (p->item[i].kind == SCORE_SEGMENTS &&
            strncmp(p->item[i].metric->name, family, strlen(family)) == 0)
            return true;
    return false;
}

static bool has_kind(const struct score_plan *p, enum score_kind kind)
{
    for (int i = 0; i < p->items; i++)
        if (p->item[i].kind == kind)
            return true;
    return false;
}

static bool only_segments(const struct score_plan *p)
{
    for (int i = 0; i < p->items; i++)
        if (p->item[i].kind != SCORE_SEGMENTS)
            return false;
    return true;
}

/* ---- options ---- */

static enum oa_error read_options(oa_context *c, const struct oa_score_request *r,
                                  struct score_plan *p)
{
    static const char *const tokens[] = { "13a", "intl", "char", "none", NULL };
    static const char *const smooth[] = { "exp", "floor", "add-k", "none", NULL };
    static const char *const average[] = { "binary", "macro", "micro", "weighted", NULL };
    struct oa_metric_options *o = &p->options;
    int token, method, mean;
    OA_TRY(refuse_models(c, r->bleu_tokenize));
    OA_TRY(choose(c, "tokenizer", r->bleu_tokenize, tokens, &token));
    OA_TRY(choose(c, "smoothing", r->bleu_smooth, smooth, &method));
    OA_TRY(choose(c, "average", r->f1_average, average, &mean));
    oa_metric_defaults(o);
    o->bleu_tokens = (enum oa_bleu_tokens)token;
    o->bleu_smooth = (enum oa_bleu_smooth)method;
    o->bleu_smooth_value = r->bleu_smooth_value;
    o->bleu_order = r->bleu_order ? r->bleu_order : o->bleu_order;
    o->bleu_lowercase = o->chrf_lowercase = r->lowercase;
    o->bleu_effective_order = r->bleu_effective_order || r->sentence_level;
    o->chrf_characters = r->chrf_characters ? r->chrf_characters : o->chrf_characters;
    o->chrf_words = r->chrf_words;
    o->chrf_beta = r->chrf_beta ? r->chrf_beta : o->chrf_beta;
    o->chrf_whitespace = r->chrf_whitespace;
    o->chrf_eps_smoothing = r->chrf_eps_smoothing;
    o->ter_normalized = r->ter_normalized;
    o->ter_no_punctuation = r->ter_no_punctuation;
    o->ter_asian = r->ter_asian;
    o->ter_case_sensitive = r->ter_case_sensitive;
    o->rouge_stemmer = r->rouge_stemmer;
    o->rouge_newline = r->rouge_newline;
    o->f1_average = (enum oa_average)mean;
    return oa_metric_check(c, o);
}

/* Refuses options that no metric uses. */
static enum oa_error check_idle(oa_context *c, const struct score_plan *p)
{
    const struct oa_score_request *r = p->request;
    bool bleu = r->bleu_tokenize || r->bleu_smooth || r->bleu_smooth_value != 0 || r->bleu_order ||
                r->bleu_effective_order || r->bleu_force;
    bool chrf = r->chrf_characters || r->chrf_words || r->chrf_beta || r->chrf_whitespace ||
                r->chrf_eps_smoothing;
    bool ter = r->ter_normalized || r->ter_no_punctuation || r->ter_asian || r->ter_case_sensitive;
    const struct {
        bool given, used;
        const char *what, *without;
    } idle[] = {
        { bleu, has_segments(p, "bleu"), "options of BLEU have", "bleu" },
        { chrf, has_segments(p, "chrf"), "options of chrF have", "chrf" },
        { ter, has_segments(p, "ter"), "options of TER have", "ter" },
        { r->rouge_stemmer || r->rouge_newline, has_segments(p, "rouge"), "options of ROUGE have",
          "rouge" },
        { r->f1_average || r->f1_positive, has_kind(p, SCORE_F1), "options of F1 have", "f1" },
        { r->lowercase, has_segments(p, "bleu") || has_segments(p, "chrf"), "lower case has",
          "bleu or chrf (ter and rouge ignore case anyway)" },
        { r->bleu_smooth_value != 0,
          p->options.bleu_smooth == OA_SMOOTH_FLOOR || p->options.bleu_smooth == OA_SMOOTH_ADD_K,
          "a smoothing value has", "the smoothing method floor or add-k" },
        { r->ter_asian, r->ter_normalized || r->ter_no_punctuation, "Asian support of TER has",
          "normalisation or removal of punctuation" },
        { r->f1_positive, p->options.f1_average == OA_AVERAGE_BINARY, "a positive label has",
          "the binary F1" },
    };
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (idle[i].given && !idle[i].used)
            return oa_fail(c, OA_ARGUMENT, "%s no effect without %s", idle[i].what,
                           idle[i].without);
    return OA_OK;
}

/* ---- files and resampling ---- */

static enum oa_error check_sides(oa_context *c, const struct score_plan *p)
{
    const struct oa_score_request *r = p->request;
    if (r->references < 1 || r->hypotheses < 1)
        return oa_fail(c, OA_ARGUMENT, "score needs a reference file and a hypothesis file");
    if (r->references > 1 && !only_segments(p))
        return oa_fail(c, OA_ARGUMENT,
                       "labels and numbers have one reference, but %d files are given",
                       r->references);
    if (r->sentence_level && (p->items != 1 || !only_segments(p)))
        return oa_fail(
            c, OA_ARGUMENT,
            "sentence-level scores need a single metric: bleu, chrf, ter, rouge1, rouge2, rougeL "
            "or rougeLsum");
    if (r->sentence_level && r->hypotheses > 1)
        return oa_fail(c, OA_ARGUMENT, "sentence-level scores need one system, but %d are given",
                       r->hypotheses);
    if (r->decimals && (r->decimals < 1 || r->decimals > 12))
        return oa_fail(c, OA_ARGUMENT, "%d decimals: give 1 to 12", r->decimals);
    return oa_check_reserved(c, "oa_score_request", r->reserved, 4);
}

static enum oa_error plan_resampling(oa_context *c, struct score_plan *p)
{
    static const char *const kinds[] = { "", "confidence", "paired-bs", "paired-ar", NULL };
    const struct oa_score_request *r = p->request;
    int kind;
    OA_TRY(choose(c, "resampling", r->resample, kinds, &kind));
    p->resample = (enum score_resample)kind;
    p->samples = r->samples ? r->samples : p->resample == SCORE_PAIRED_AR ? 10000 : 1000;
    if (r->samples && !kind)
        return oa_fail(c, OA_ARGUMENT, "samples have no effect without resampling");
    if (p->samples < 1 || p->samples > 10000000)
        return oa_fail(c, OA_ARGUMENT, "%ld resamples: give 1 to 10000000", p->samples);
    if (has_kind(p, SCORE_CONFUSION) && (kind || r->hypotheses > 1))
        return oa_fail(
            c, OA_ARGUMENT,
            "a confusion matrix needs one hypothesis file, no other metric and no resampling");
    if (kind && r->sentence_level)
        return oa_fail(c, OA_ARGUMENT,
                       "%s resamples the corpus score: leave out sentence-level scores",
                       kinds[kind]);
    if (p->resample == SCORE_CONFIDENCE && r->hypotheses > 1)
        return oa_fail(c, OA_ARGUMENT,
                       "for several systems use paired-bs, which gives intervals and compares");
    if (kind > SCORE_CONFIDENCE && r->hypotheses < 2)
        return oa_fail(
            c, OA_ARGUMENT,
            "%s compares systems: give at least two hypothesis files, the baseline first",
            kinds[kind]);
    return OA_OK;
}

enum oa_error score_plan_make(oa_context *c, const struct oa_score_request *r,
                              struct score_plan *out)
{
    const char *positive = r->f1_positive ? r->f1_positive : "1";
    *out = (struct score_plan){ .request = r };
    if (!oa_whole_number(positive, strlen(positive), &out->positive_number))
        out->positive_number.s[0] = 0;
    if (r->metrics < 1 || r->metrics > SCORE_MOST / 4)
        return oa_fail(c, OA_ARGUMENT, "%d metrics given; give 1 to %d", r->metrics,
                       SCORE_MOST / 4);
    for (int i = 0; i < r->metrics; i++)
        OA_TRY(add_metric(c, out, r->metric[i]));
    OA_TRY(read_options(c, r, out));
    OA_TRY(check_idle(c, out));
    OA_TRY(check_sides(c, out));
    return plan_resampling(c, out);
}
