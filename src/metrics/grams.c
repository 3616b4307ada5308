/* SPDX-License-Identifier: Apache-2.0
 * n-grams of several texts, order by order: an n-gram is the pair of the id of its first n-1 units
 * and its last unit, so each order costs one table lookup per position. */
#include "metrics/metrics_parts.h"

bool oa_grams_begin(struct oa_arena *a, const struct oa_text_ids *text, struct oa_grams *out)
{
    *out = (struct oa_grams){ .arena = a, .text = text };
    out->count = oa_arena_take(a, (size_t)text->texts * sizeof *out->count);
    out->gram = oa_arena_take(a, (size_t)text->texts * sizeof *out->gram);
    if (!out->count || !out->gram)
        return false;
    for (int t = 0; t < text->texts; t++) {
        out->gram[t] = oa_arena_take(a, ((size_t)text->length[t] + 1) * sizeof **out->gram);
        if (!out->gram[t])
            return false;
        memset(out->gram[t], 0, ((size_t)text->length[t] + 1) * sizeof **out->gram);
        out->count[t] = text->length[t] + 1; /* order 0: the empty n-gram at every position */
    }
    out->mark = oa_arena_mark(a);
    return true;
}

static bool count_occurrences(struct oa_grams *g)
{
    size_t all = (size_t)g->text->texts * (size_t)g->distinct;
    g->times = oa_arena_take(g->arena, all * sizeof *g->times + 1);
    if (!g->times)
        return false;
    memset(g->times, 0, all * sizeof *g->times);
    for (int t = 0; t < g->text->texts; t++)
        for (long i = 0; i < g->count[t]; i++)
            g->times[t * (size_t)g->distinct + (size_t)g->gram[t][i]]++;
    return true;
}

bool oa_grams_longer(struct oa_grams *g)
{
    struct oa_pair_ids pairs;
    long total = 0;
    oa_arena_release(g->arena, g->mark);
    for (int t = 0; t < g->text->texts; t++)
        total += g->count[t];
    if (!oa_pair_ids_begin(g->arena, total, &pairs))
        return false;
    for (int t = 0; t < g->text->texts; t++) {
        const int32_t *unit = g->text->id[t];
        g->count[t] -= g->count[t] > 0;
        for (long i = 0; i < g->count[t]; i++)
            g->gram[t][i] =
                oa_pair_id(&pairs, (uint32_t)g->gram[t][i], (uint32_t)unit[i + g->order]);
    }
    g->order++;
    g->distinct = pairs.count;
    return count_occurrences(g);
}

long oa_grams_shared(const struct oa_grams *g, int first, int last)
{
    long shared = 0;
    for (int32_t i = 0; i < g->distinct; i++) {
        int32_t most = 0;
        for (int t = first; t < last; t++) {
            int32_t times = g->times[t * (size_t)g->distinct + (size_t)i];
            most = times > most ? times : most;
        }
        shared += g->times[i] < most ? g->times[i] : most;
    }
    return shared;
}
