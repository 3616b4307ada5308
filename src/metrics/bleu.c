/* SPDX-License-Identifier: Apache-2.0
 * BLEU (Papineni et al., ACL 2002), as sacreBLEU 2.6.0. Smoothing after Chen and Cherry (WMT 2014):
 * exp is their third method, that of mteval-v13a.pl, floor the first, add-k the second.
 *
 * Statistics of a segment: length of the hypothesis; length of the reference that is nearest to it;
 * for each order the matching n-grams; for each order all n-grams. */
#include "metrics/metrics_parts.h"

#include <math.h>

static int bleu_statistics(const struct oa_metric_options *o)
{
    return 2 + 2 * o->bleu_order;
}

/* ---- a segment ---- */

/* Closest reference length; the shorter one of a tie. */
static long nearest_length(const struct oa_text_ids *ids)
{
    long hypothesis = ids->length[0], nearest = ids->length[1];
    for (int r = 2; r < ids->texts; r++) {
        long length = ids->length[r], distance = labs(length - hypothesis),
             least = labs(nearest - hypothesis);
        if (distance < least || (distance == least && length < nearest))
            nearest = length;
    }
    return nearest;
}

static bool bleu_segment(const struct oa_metric_options *o, const struct oa_segment *s,
                         struct oa_arena *a, double *out)
{
    struct oa_text_ids ids;
    struct oa_grams grams;
    struct oa_word_list *words = oa_arena_take(a, (size_t)(1 + s->references) * sizeof *words);
    if (!words || !oa_bleu_words(o, a, s->hypothesis, &words[0]))
        return false;
    for (int r = 0; r < s->references; r++)
        if (!oa_bleu_words(o, a, s->reference[r], &words[1 + r]))
            return false;
    if (!oa_number_words(a, words, 1 + s->references, &ids) || !oa_grams_begin(a, &ids, &grams))
        return false;
    out[0] = (double)ids.length[0];
    out[1] = (double)nearest_length(&ids);
    for (int n = 0; n < o->bleu_order; n++) {
        if (!oa_grams_longer(&grams))
            return false;
        out[2 + n] = (double)oa_grams_shared(&grams, 1, grams.text->texts);
        out[2 + o->bleu_order + n] = (double)grams.count[0];
    }
    return true;
}

/* ---- the score ---- */

struct bleu_precisions {
    double percent[OA_MOST_ORDER];
    int orders; /* used in the mean */
};

static double smooth_value(const struct oa_metric_options *o)
{
    if (o->bleu_smooth_value > 0)
        return o->bleu_smooth_value;
    return o->bleu_smooth == OA_SMOOTH_FLOOR ? 0.1 : 1.0;
}

/* Smoothed precision, in per cent, of an order without matches; *halved: 2^(such orders so far). */
static double smoothed_precision(const struct oa_metric_options *o, double all, double *halved,
                                 bool single)
{
    if (o->bleu_smooth == OA_SMOOTH_FLOOR)
        return oa_rounded(oa_rounded(100 * smooth_value(o), single) / all, single);
    if (o->bleu_smooth != OA_SMOOTH_EXP)
        return 0;
    *halved *= 2;
    return oa_rounded(100 / oa_rounded(*halved * all, single), single);
}

static struct bleu_precisions precisions(const struct oa_metric_options *o, const double *sum,
                                         bool single)
{
    struct bleu_precisions p = { .orders = o->bleu_order };
    double halved = 1;
    for (int n = 0; n < o->bleu_order; n++) {
        double more = n > 0 && o->bleu_smooth == OA_SMOOTH_ADD_K ? smooth_value(o) : 0;
        double right = oa_rounded(sum[2 + n] + more, single);
        double all = oa_rounded(sum[2 + o->bleu_order + n] + more, single);
        if (all == 0)
            break;
        if (o->bleu_effective_order)
            p.orders = n + 1;
        p.percent[n] = right == 0 ? smoothed_precision(o, all, &halved, single)
                                  : oa_rounded(oa_rounded(100 * right, single) / all, single);
    }
    return p;
}

static double brevity_penalty(const double *sum)
{
    if (sum[0] >= sum[1])
        return 1;
    return sum[0] > 0 ? exp(1 - sum[1] / sum[0]) : 0;
}

static bool nothing_right(const struct oa_metric_options *o, const double *sum)
{
    for (int n = 0; n < o->bleu_order; n++)
        if (sum[2 + n] != 0)
            return false;
    return true;
}

static double bleu_score(const struct oa_metric_options *o, const double *sum, bool single)
{
    const double log_of_nothing = -9999999999;
    if (nothing_right(o, sum))
        return 0;
    struct bleu_precisions p = precisions(o, sum, single);
    double logs = 0;
    for (int n = 0; n < p.orders; n++)
        logs += p.percent[n] == 0 ? log_of_nothing : log(p.percent[n]);
    return brevity_penalty(sum) * exp(logs / p.orders);
}

/* ---- signature ---- */

static void bleu_signature(const struct oa_metric_options *o, struct oa_text *out)
{
    static const char *const tokens[] = { "13a", "intl", "char", "none" };
    static const char *const smooth[] = { "exp", "floor", "add-k", "none" };
    oa_text_printf(out, "case:%s|eff:%s|tok:%s|smooth:%s", o->bleu_lowercase ? "lc" : "mixed",
                   o->bleu_effective_order ? "yes" : "no", tokens[o->bleu_tokens],
                   smooth[o->bleu_smooth]);
    if (o->bleu_smooth == OA_SMOOTH_FLOOR || o->bleu_smooth == OA_SMOOTH_ADD_K)
        oa_text_printf(out, "[%.2f]", smooth_value(o));
    if (o->bleu_order != 4)
        oa_text_printf(out, "|order:%d", o->bleu_order);
}

static void bleu_details(const struct oa_metric_options *o, const double *sum, struct oa_text *out)
{
    struct bleu_precisions p = { .orders = 0 };
    if (!nothing_right(o, sum))
        p = precisions(o, sum, false);
    for (int n = 0; n < o->bleu_order; n++)
        oa_text_printf(out, "%s%.1f", n ? "/" : "", p.percent[n]);
    oa_text_printf(out, " (BP = %.3f ratio = %.3f hyp_len = %.0f ref_len = %.0f)",
                   brevity_penalty(sum), sum[1] > 0 ? sum[0] / sum[1] : 0.0, sum[0], sum[1]);
}

const struct oa_metric oa_bleu = {
    .name = "bleu",
    .package = "2.6.0",
    .heading = "BLEU",
    .statistics = bleu_statistics,
    .segment = bleu_segment,
    .score = bleu_score,
    .resampled = OA_RESAMPLED_FLOAT_SUMS,
    .signature = bleu_signature,
    .verbose = bleu_details,
};

long oa_tokenised_lines(const struct oa_line *hypothesis, long count)
{
    long tokenised = 0;
    for (long i = 0; i < count; i++) {
        struct oa_line h = hypothesis[i];
        tokenised += h.length >= 2 && memcmp(h.s + h.length - 2, " .", 2) == 0;
    }
    return tokenised;
}
