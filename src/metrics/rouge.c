/* SPDX-License-Identifier: Apache-2.0
 * ROUGE (Lin, 2004), as Google's rouge-score 0.1.2: ROUGE-1 and -2 count n-grams, ROUGE-L the
 * longest common subsequence (LCS), ROUGE-Lsum the union LCS of each reference sentence with all
 * hypothesis sentences. The reference with the best F counts.
 *
 * Statistics of a segment: precision, recall, F, and 1; the score is the mean F. */
#include "metrics/metrics_parts.h"

enum { PRECISION, RECALL, F, ONE, NUMBERS };

static int rouge_statistics(const struct oa_metric_options *o)
{
    (void)o;
    return NUMBERS;
}

static double rouge_score(const struct oa_metric_options *o, const double *sum, bool single)
{
    (void)o;
    (void)single;
    return sum[F] / sum[ONE];
}

void oa_rouge_means(const struct oa_statistics *s, double out[3])
{
    double sum[OA_MOST_STATISTICS];
    oa_statistics_sum(s, sum);
    for (int i = 0; i < 3; i++)
        out[i] = sum[i] / sum[ONE];
}

/* ---- words ---- */

/* Runs of lower-case ASCII letters and digits; words of more than 3 are stemmed if asked for. */
static bool rouge_words(const struct oa_metric_options *o, struct oa_arena *a, struct oa_line text,
                        struct oa_word_list *out)
{
    struct oa_line lower = oa_python_lower(a, text);
    char *s = (char *)lower.s; /* in the arena, writable */
    *out = (struct oa_word_list){
        .word = s ? oa_arena_take(a, (lower.length / 2 + 1) * sizeof *out->word) : NULL
    };
    if (!out->word)
        return false;
    for (size_t i = 0; i < lower.length;) {
        size_t n = 0;
        while (i + n < lower.length &&
               ((s[i + n] >= 'a' && s[i + n] <= 'z') || (s[i + n] >= '0' && s[i + n] <= '9')))
            n++;
        if (n)
            out->word[out->count++] =
                (struct oa_line){ s + i, o->rouge_stemmer && n > 3 ? oa_porter_stem(s + i, n) : n };
        i += n + (n == 0);
    }
    return true;
}

/* ---- one reference ---- */

static void set_rouge(double *out, long shared, long found, long expected)
{
    double p = found ? (double)shared / (double)found : 0,
           r = expected ? (double)shared / (double)expected : 0;
    out[PRECISION] = p;
    out[RECALL] = r;
    out[F] = p + r > 0 ? 2 * p * r / (p + r) : 0;
    out[ONE] = 1;
}

static bool rouge_n(const struct oa_metric_options *o, struct oa_arena *a,
                    const struct oa_line *pair, int order, double *out)
{
    struct oa_word_list words[2];
    struct oa_text_ids ids;
    struct oa_grams g;
    if (!rouge_words(o, a, pair[0], &words[0]) || !rouge_words(o, a, pair[1], &words[1]) ||
        !oa_number_words(a, words, 2, &ids) || !oa_grams_begin(a, &ids, &g))
        return false;
    for (int n = 0; n < order; n++)
        if (!oa_grams_longer(&g))
            return false;
    set_rouge(out, oa_grams_shared(&g, 1, 2), g.count[0], g.count[1]);
    return true;
}

static bool rouge_l(const struct oa_metric_options *o, struct oa_arena *a,
                    const struct oa_line *pair, int order, double *out)
{
    (void)order;
    struct oa_word_list words[2];
    struct oa_text_ids ids;
    long shared;
    if (!rouge_words(o, a, pair[0], &words[0]) || !rouge_words(o, a, pair[1], &words[1]) ||
        !oa_number_words(a, words, 2, &ids) || !oa_longest_shared(a, &ids, &shared))
        return false;
    set_rouge(out, shared, ids.length[0], ids.length[1]);
    return true;
}

/* ---- sentence by sentence ---- */

/* The words of each sentence of a text; sentences are separated by line ends. */
static bool split_sentences(const struct oa_metric_options *o, struct oa_arena *a,
                            struct oa_line text, struct oa_word_list **out, int *count)
{
    const char *end = text.s + text.length;
    *count = 1;
    for (const char *s = text.s; s < end; s++)
        *count += *s == '\n';
    *out = oa_arena_take(a, (size_t)*count * sizeof **out);
    if (!*out)
        return false;
    for (int i = 0; i < *count; i++) {
        const char *next = i + 1 < *count ? memchr(text.s, '\n', (size_t)(end - text.s)) : end;
        if (!rouge_words(o, a, (struct oa_line){ text.s, (size_t)(next - text.s) }, &(*out)[i]))
            return false;
        text.s = next + 1;
    }
    return true;
}

/* Sentences of the hypothesis, then of the reference. */
struct summaries {
    struct oa_text_ids ids;
    int hypotheses; /* sentences */
    long words[2];
    int32_t *left[2]; /* [distinct]: occurrences of each word that are not yet counted */
};

static bool count_words(struct oa_arena *a, struct summaries *s)
{
    size_t bytes = ((size_t)s->ids.distinct + 1) * sizeof **s->left;
    for (int side = 0; side < 2; side++) {
        s->words[side] = 0;
        s->left[side] = oa_arena_take(a, bytes);
        if (!s->left[side])
            return false;
        memset(s->left[side], 0, bytes);
    }
    for (int t = 0; t < s->ids.texts; t++) {
        int side = t >= s->hypotheses;
        s->words[side] += s->ids.length[t];
        for (long i = 0; i < s->ids.length[t]; i++)
            s->left[side][s->ids.id[t][i]]++;
    }
    return true;
}

static bool open_summaries(const struct oa_metric_options *o, struct oa_arena *a,
                           const struct oa_line *pair, struct summaries *s)
{
    struct oa_word_list *hypothesis, *reference;
    int references;
    if (!split_sentences(o, a, pair[0], &hypothesis, &s->hypotheses) ||
        !split_sentences(o, a, pair[1], &reference, &references))
        return false;
    struct oa_word_list *all = oa_arena_take(a, (size_t)(s->hypotheses + references) * sizeof *all);
    if (!all)
        return false;
    memcpy(all, hypothesis, (size_t)s->hypotheses * sizeof *all);
    memcpy(all + s->hypotheses, reference, (size_t)references * sizeof *all);
    return oa_number_words(a, all, s->hypotheses + references, &s->ids) && count_words(a, s);
}

/* Adds the words of reference sentence t that are in the union of its LCS with the hypothesis
 * sentences; no word counts more often than it occurs in either text. */
static bool hits_of(struct oa_arena *a, struct summaries *s, int t, long *hits)
{
    size_t mark = oa_arena_mark(a);
    bool *marked = oa_arena_take(a, (size_t)s->ids.length[t] + 1);
    if (!marked)
        return false;
    memset(marked, 0, (size_t)s->ids.length[t] + 1);
    for (int h = 0; h < s->hypotheses; h++)
        if (!oa_mark_shared(a, &s->ids, t, h, marked))
            return false;
    for (long i = 0; i < s->ids.length[t]; i++) {
        int32_t word = s->ids.id[t][i];
        bool hit = marked[i] && s->left[0][word] > 0 && s->left[1][word] > 0;
        s->left[0][word] -= hit;
        s->left[1][word] -= hit;
        *hits += hit;
    }
    oa_arena_release(a, mark);
    return true;
}

static bool rouge_lsum(const struct oa_metric_options *o, struct oa_arena *a,
                       const struct oa_line *pair, int order, double *out)
{
    (void)order;
    struct summaries s;
    long hits = 0;
    if (!open_summaries(o, a, pair, &s))
        return false;
    for (int t = s.hypotheses; t < s.ids.texts; t++)
        if (!hits_of(a, &s, t, &hits))
            return false;
    set_rouge(out, hits, s.words[0], s.words[1]);
    return true;
}

/* ---- a segment ---- */

/* Scores a pair of hypothesis and reference. order: of the n-grams of rouge_n. */
typedef bool pair_score(const struct oa_metric_options *o, struct oa_arena *a,
                        const struct oa_line *pair, int order, double *out);

static bool best_reference(const struct oa_metric_options *o, const struct oa_segment *s,
                           struct oa_arena *a, pair_score *of, int order, double *out)
{
    double now[NUMBERS];
    out[F] = -1;
    for (int r = 0; r < s->references; r++) {
        size_t mark = oa_arena_mark(a);
        struct oa_line pair[2] = { s->hypothesis, s->reference[r] };
        if ((o->rouge_newline && (!oa_replace(a, &pair[0], o->rouge_newline, "\n") ||
                                  !oa_replace(a, &pair[1], o->rouge_newline, "\n"))) ||
            !of(o, a, pair, order, now))
            return false;
        if (now[F] > out[F])
            memcpy(out, now, sizeof now);
        oa_arena_release(a, mark);
    }
    return true;
}

static void rouge_signature(const struct oa_metric_options *o, struct oa_text *out)
{
    oa_text_printf(out, "tok:rouge-score|stem:%s", o->rouge_stemmer ? "porter" : "no");
}

/* clang-format off */
#define ROUGE(id, word, title, of, order)                                                          \
    static bool id##_segment(const struct oa_metric_options *o, const struct oa_segment *s,        \
                             struct oa_arena *a, double *out)                                      \
    {                                                                                              \
        return best_reference(o, s, a, of, order, out);                                            \
    }                                                                                              \
    const struct oa_metric oa_##id = { .name = word, .heading = title, .package = "0.1.2",         \
        .mean = true, .statistics = rouge_statistics, .segment = id##_segment, .score = rouge_score,             \
        .resampled = OA_RESAMPLED_DOUBLE, .signature = rouge_signature };
ROUGE(rouge1, "rouge1", "ROUGE-1", rouge_n, 1)
ROUGE(rouge2, "rouge2", "ROUGE-2", rouge_n, 2)
ROUGE(rouge_l, "rougeL", "ROUGE-L", rouge_l, 0)
ROUGE(rouge_lsum, "rougeLsum", "ROUGE-Lsum", rouge_lsum, 0)
/* clang-format on */
