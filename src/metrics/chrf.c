/* SPDX-License-Identifier: Apache-2.0
 * chrF (Popović, WMT 2015), and with words chrF+ and chrF++ (Popović, WMT 2017), as
 * sacreBLEU 2.6.0.
 *
 * Statistics of a segment, for each order of characters and then of words: n-grams of the
 * hypothesis, of the reference, and matches. The reference with the best F counts. */
#include "metrics/metrics_parts.h"

static int chrf_orders(const struct oa_metric_options *o)
{
    return o->chrf_characters + o->chrf_words;
}

static int chrf_statistics(const struct oa_metric_options *o)
{
    return 3 * chrf_orders(o);
}

/* ---- the score ---- */

struct chrf_means {
    double precision, recall; /* sums over the orders that both texts have */
    double f;                 /* sum of F over all orders, epsilon where undefined */
    int orders;
    bool single;
};

static double f_score(double precision, double recall, double factor, bool single)
{
    double low = oa_rounded(oa_rounded(factor * precision, single) + recall, single);
    double high = oa_rounded(oa_rounded((1 + factor) * precision, single) * recall, single);
    return low > 0 ? oa_rounded(high / low, single) : 1e-16;
}

static void add_chrf_order(struct chrf_means *m, const double *three, double factor)
{
    const double epsilon = oa_rounded(1e-16, m->single);
    double precision = three[0] > 0 ? oa_rounded(three[2] / three[0], m->single) : epsilon;
    double recall = three[1] > 0 ? oa_rounded(three[2] / three[1], m->single) : epsilon;
    m->f = oa_rounded(m->f + f_score(precision, recall, factor, m->single), m->single);
    if (three[0] > 0 && three[1] > 0) {
        m->precision = oa_rounded(m->precision + precision, m->single);
        m->recall = oa_rounded(m->recall + recall, m->single);
        m->orders++;
    }
}

static double chrf_score(const struct oa_metric_options *o, const double *sum, bool single)
{
    const double factor = (double)o->chrf_beta * o->chrf_beta;
    struct chrf_means m = { .single = single };
    for (int i = 0; i < chrf_orders(o); i++)
        add_chrf_order(&m, sum + 3 * i, factor);
    if (o->chrf_eps_smoothing)
        return oa_rounded(oa_rounded(100 * m.f, single) / chrf_orders(o), single);
    if (m.precision + m.recall == 0)
        return 0;
    double f = f_score(oa_rounded(m.precision / m.orders, single),
                       oa_rounded(m.recall / m.orders, single), factor, single);
    return oa_rounded(100 * f, single);
}

/* ---- units of a segment ---- */

/* Code points, without white space unless o->chrf_whitespace. */
static bool chrf_characters(const struct oa_metric_options *o, struct oa_arena *a,
                            struct oa_line text, struct oa_word_list *out)
{
    uint32_t code;
    struct oa_line point;
    *out = (struct oa_word_list){ .word = oa_arena_take(a, (text.length + 1) * sizeof *out->word) };
    if (!out->word)
        return false;
    while ((point = oa_next_point(&text, &code)).length)
        if (o->chrf_whitespace || !oa_python_space(code))
            out->word[out->count++] = point;
    return true;
}

static bool is_punctuation(char c)
{
    return c > ' ' && c < 0x7f && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c);
}

static bool is_single(struct oa_line word)
{
    uint32_t code;
    oa_next_point(&word, &code);
    return word.length == 0;
}

/* Splits a punctuation mark from the end of a word, or else from its beginning: "(hi)" is "(hi" and
 * ")". */
static bool chrf_words(struct oa_arena *a, struct oa_line text, struct oa_word_list *out)
{
    struct oa_word_list plain;
    if (!oa_python_split(a, text, &plain))
        return false;
    *out = (struct oa_word_list){ .word = oa_arena_take(a, (2 * (size_t)plain.count + 1) *
                                                               sizeof *out->word) };
    if (!out->word)
        return false;
    for (long i = 0; i < plain.count; i++) {
        struct oa_line w = plain.word[i];
        size_t cut = 0;
        if (!is_single(w))
            cut = is_punctuation(w.s[w.length - 1]) ? w.length - 1 : is_punctuation(w.s[0]) ? 1 : 0;
        if (cut)
            out->word[out->count++] = (struct oa_line){ w.s, cut };
        out->word[out->count++] = (struct oa_line){ w.s + cut, w.length - cut };
    }
    return true;
}

static bool units(const struct oa_metric_options *o, struct oa_arena *a, struct oa_line text,
                  struct oa_word_list *letters, struct oa_word_list *parts)
{
    if (o->chrf_lowercase)
        text = oa_python_lower(a, text);
    *parts = (struct oa_word_list){ .count = 0 };
    return text.s && chrf_characters(o, a, text, letters) &&
           (!o->chrf_words || chrf_words(a, text, parts));
}

/* ---- a segment ---- */

/* Counts of orders 1 … longest of one kind of unit; reference r at out + r · stride. */
static bool count_chrf_units(struct oa_arena *a, const struct oa_word_list *text, int texts,
                             int longest, int stride, double *out)
{
    struct oa_text_ids ids;
    struct oa_grams g;
    if (!oa_number_words(a, text, texts, &ids) || !oa_grams_begin(a, &ids, &g))
        return false;
    for (int n = 0; n < longest; n++) {
        if (!oa_grams_longer(&g))
            return false;
        for (int r = 1; r < texts; r++) {
            double *three = out + (r - 1) * stride + 3 * n;
            three[0] = g.count[r]
                           ? (double)g.count[0]
                           : 0; /* as sacreBLEU: no penalty where the reference has no n-grams */
            three[1] = (double)g.count[r];
            three[2] = (double)oa_grams_shared(&g, r, r + 1);
        }
    }
    return true;
}

static void take_best_reference(const struct oa_metric_options *o, const double *all,
                                int references, double *out)
{
    double best = -1;
    for (int r = 0; r < references; r++) {
        const double *of = all + r * chrf_statistics(o);
        double f = chrf_score(o, of, false);
        if (f > best)
            memcpy(out, of, (size_t)chrf_statistics(o) * sizeof *out);
        best = f > best ? f : best;
    }
}

static bool chrf_segment(const struct oa_metric_options *o, const struct oa_segment *s,
                         struct oa_arena *a, double *out)
{
    int texts = 1 + s->references, stride = chrf_statistics(o);
    struct oa_word_list *letters = oa_arena_take(a, (size_t)texts * sizeof *letters);
    struct oa_word_list *parts = oa_arena_take(a, (size_t)texts * sizeof *parts);
    double *all = oa_arena_take(a, (size_t)s->references * (size_t)stride * sizeof *all);
    if (!letters || !parts || !all)
        return false;
    for (int t = 0; t < texts; t++)
        if (!units(o, a, t ? s->reference[t - 1] : s->hypothesis, &letters[t], &parts[t]))
            return false;
    if (!count_chrf_units(a, letters, texts, o->chrf_characters, stride, all) ||
        !count_chrf_units(a, parts, texts, o->chrf_words, stride, all + 3 * o->chrf_characters))
        return false;
    take_best_reference(o, all, s->references, out);
    return true;
}

/* ---- signature ---- */

static void chrf_title(const struct oa_metric_options *o, struct oa_text *out)
{
    oa_text_printf(out, "chrF%d", o->chrf_beta);
    for (int i = 0; i < o->chrf_words; i++)
        oa_text_printf(out, "+");
}

static void chrf_signature(const struct oa_metric_options *o, struct oa_text *out)
{
    oa_text_printf(out, "case:%s|eff:%s|nc:%d|nw:%d|space:%s", o->chrf_lowercase ? "lc" : "mixed",
                   o->chrf_eps_smoothing ? "no" : "yes", o->chrf_characters, o->chrf_words,
                   o->chrf_whitespace ? "yes" : "no");
}

const struct oa_metric oa_chrf = {
    .name = "chrf",
    .package = "2.6.0",
    .statistics = chrf_statistics,
    .segment = chrf_segment,
    .score = chrf_score,
    .resampled = OA_RESAMPLED_FLOAT,
    .title = chrf_title,
    .signature = chrf_signature,
};
