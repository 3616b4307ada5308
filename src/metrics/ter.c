/* SPDX-License-Identifier: Apache-2.0
 * Translation edit rate (Snover et al., AMTA 2006), as sacreBLEU 2.6.0, which follows Tercom.
 *
 * Statistics of a segment: edits to the closest reference; mean length of the references. */
#include "metrics/metrics_parts.h"

static int ter_statistics(const struct oa_metric_options *o)
{
    (void)o;
    return 2;
}

/* The words, each followed by a blank. */
static struct oa_line join_words(struct oa_arena *a, const struct oa_word_list *words)
{
    struct oa_line text = { .length = 0 };
    size_t room = 1;
    for (long i = 0; i < words->count; i++)
        room += words->word[i].length + 1;
    char *out = oa_arena_take(a, room);
    text.s = out;
    for (long i = 0; out && i < words->count; i++) {
        memcpy(out + text.length, words->word[i].s, words->word[i].length);
        text.length += words->word[i].length;
        out[text.length++] = ' ';
    }
    return text;
}

/* sacreBLEU normalises references twice, which matters: "it's\tme" becomes "it's me" first, since
 * 's must be followed by a blank, and "it 's me" only then. */
static bool ter_reference_words(const struct oa_metric_options *o, struct oa_arena *a,
                                struct oa_line text, struct oa_word_list *out)
{
    if (!oa_ter_words(o, a, text, out))
        return false;
    if (!o->ter_normalized)
        return true;
    text = join_words(a, out);
    return text.s && oa_ter_words(o, a, text, out);
}

static bool ter_segment(const struct oa_metric_options *o, const struct oa_segment *s,
                        struct oa_arena *a, double *out)
{
    struct oa_text_ids ids;
    long best = LONG_MAX, lengths = 0, edits;
    struct oa_word_list *words = oa_arena_take(a, (size_t)(1 + s->references) * sizeof *words);
    if (!words || !oa_ter_words(o, a, s->hypothesis, &words[0]))
        return false;
    for (int r = 0; r < s->references; r++)
        if (!ter_reference_words(o, a, s->reference[r], &words[1 + r]))
            return false;
    if (!oa_number_words(a, words, 1 + s->references, &ids))
        return false;
    for (int r = 1; r < ids.texts; r++) {
        if (!oa_ter_edits(a, &ids, r, &edits))
            return false;
        best = edits < best ? edits : best;
        lengths += ids.length[r];
    }
    out[0] = (double)best;
    out[1] = (double)lengths / s->references;
    return true;
}

static double ter_score(const struct oa_metric_options *o, const double *sum, bool single)
{
    (void)o;
    if (sum[1] > 0)
        return oa_rounded(100 * oa_rounded(sum[0] / sum[1], single), single);
    return sum[0] > 0 ? 100 : 0;
}

static void ter_signature(const struct oa_metric_options *o, struct oa_text *out)
{
    oa_text_printf(out, "case:%s|tok:tercom|norm:%s|punct:%s|asian:%s%s",
                   o->ter_case_sensitive ? "mixed" : "lc", o->ter_normalized ? "yes" : "no",
                   o->ter_no_punctuation ? "no" : "yes", o->ter_asian ? "yes" : "no",
                   o->ter_unsplit ? "|units:unsplit" : "");
}

const struct oa_metric oa_ter = {
    .name = "ter",
    .package = "2.6.0",
    .heading = "TER",
    .less_is_better = true,
    .statistics = ter_statistics,
    .segment = ter_segment,
    .score = ter_score,
    .resampled = OA_RESAMPLED_FLOAT,
    .signature = ter_signature,
};
