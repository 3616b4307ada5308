/* SPDX-License-Identifier: Apache-2.0
 * Which spans of a row are hidden: the rule of random_spans_noise_mask (t5/data/preprocessors.py,
 * Raffel et al. 2020). */
#include "data/masking.h"

#include <math.h>
#include <string.h>

enum { TEXT, HIDDEN };

/* At least 1 span, and no more than there are tokens to separate them. */
struct oa_span_counts oa_span_count(double share, double mean, long tokens)
{
    long hidden = oa_min(oa_max((long)nearbyint(share * (double)tokens), 1), tokens - 1);
    long spans =
        oa_min(oa_max((long)nearbyint((double)hidden / mean), 1), oa_min(hidden, tokens - hidden));
    return (struct oa_span_counts){ hidden, spans, tokens - hidden + spans + 1,
                                    hidden + spans + 1 };
}

/* Linear search: neither length decreases with the number of tokens. */
long oa_span_tokens(double share, double mean, long source, long target)
{
    long tokens = 1;
    for (;; tokens++) {
        struct oa_span_counts next = oa_span_count(share, mean, tokens + 1);
        if (next.source > source || next.target > target)
            return tokens > 1 ? tokens : 0;
    }
}

/* A uniform random composition of `items` into `parts` of at least one: cuts parts − 1 of the items
 * − 1 gaps. length [parts] */
static void random_composition(struct oa_stream s, long items, long parts, uint8_t *cut,
                               int32_t *length, int32_t *work)
{
    memset(cut, 0, (size_t)items);
    oa_choose_places(s, items - 1, parts - 1, work);
    for (long i = 0; i < parts - 1; i++)
        cut[work[i] + 1] = 1;
    long part = 0;
    length[0] = 0;
    for (long i = 0; i < items; i++) {
        if (cut[i])
            length[++part] = 0;
        length[part]++;
    }
}

void oa_mark_spans(struct oa_stream s, const struct oa_span_counts *counts, long tokens,
                   uint8_t *mark, int32_t *work)
{
    int32_t *text = work, *hidden = text + counts->spans, *places = hidden + counts->spans;
    random_composition(oa_stream_child(s, TEXT), tokens - counts->hidden, counts->spans, mark, text,
                       places);
    random_composition(oa_stream_child(s, HIDDEN), counts->hidden, counts->spans, mark, hidden,
                       places);
    for (long i = 0; i < counts->spans; i++) {
        memset(mark, 0, (size_t)text[i]);
        memset(mark + text[i], 1, (size_t)hidden[i]);
        mark += text[i] + hidden[i];
    }
}

void oa_sentinel_name(long i, char out[OA_SENTINEL])
{
    snprintf(out, OA_SENTINEL, "<extra_id_%ld>", i);
}
