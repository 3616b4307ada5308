/* SPDX-License-Identifier: Apache-2.0
 * Edits of TER: insertions, deletions, substitutions and shifts of a run of words cost 1 each. A
 * greedy search for shifts with Tercom's limits makes every choice in the order of sacreBLEU's
 * lib_ter.py, since the count depends on it. Distances are computed in a band around the diagonal.
 */
#include "metrics/metrics_parts.h"

#include <math.h>

enum {
    LONGEST_SHIFT = 10,
    FARTHEST_SHIFT = 50,
    BEAM = 25,
    MOST_CANDIDATES = 1000,
    INFINITE = 1 << 29
};
enum operation { NONE, KEEP, SUBSTITUTE, INSERT, DELETE };

/* A row of the distance matrix: columns first … last-1 of 0 … reference words. */
struct distance_row {
    long first, last;
    int32_t *cost;
    uint8_t *operation;
};

/* State of the search for the shifts of a hypothesis. */
struct ter_search {
    int32_t *words; /* the hypothesis after the shifts so far */
    const int32_t *reference;
    long hypothesis_length, reference_length;
    struct distance_row *row; /* [hypothesis_length + 1]: distances of the prefixes of `words` */
    struct distance_row trial[2];
    int32_t *shifted; /* `words` after the shift being tried */
    /* Alignment: for each reference word the last hypothesis word at or before it, -1: none; and
     * prefix sums of errors on each side. */
    long *aligned, *wrong_reference, *wrong_hypothesis;
    long candidates;
};

/* ---- the matrix ---- */

/* The columns of row i that are in the band. */
static void band_columns(const struct ter_search *s, long i, long *first, long *last)
{
    double ratio = (double)s->reference_length / (double)s->hypothesis_length;
    long beam = BEAM < ratio / 2 ? (long)ceil(ratio / 2 + BEAM) : BEAM;
    long diagonal = (long)floor((double)i * ratio), end = s->reference_length + 1;
    *first = diagonal > beam ? diagonal - beam : 0;
    *last = i < s->hypothesis_length && diagonal + beam < end ? diagonal + beam : end;
}

static int32_t cost_at(const struct distance_row *r, long j)
{
    return j >= r->first && j < r->last ? r->cost[j - r->first] : INFINITE;
}

static void offer_cost(struct distance_row *r, long j, int32_t cost, enum operation operation)
{
    if (r->cost[j - r->first] > cost) {
        r->cost[j - r->first] = cost;
        r->operation[j - r->first] = (uint8_t)operation;
    }
}

/* Computes row i, whose hypothesis word is `word`; ties keep the first operation. */
static void fill_distance_row(const struct ter_search *s, long i, int32_t word,
                              const struct distance_row *before, struct distance_row *now)
{
    band_columns(s, i, &now->first, &now->last);
    for (long j = now->first; j < now->last; j++) {
        now->cost[j - now->first] = INFINITE;
        now->operation[j - now->first] = NONE;
        if (j > 0) {
            bool same = word == s->reference[j - 1];
            offer_cost(now, j, cost_at(before, j - 1) + !same, same ? KEEP : SUBSTITUTE);
        }
        offer_cost(now, j, cost_at(before, j) + 1, DELETE);
        if (j > 0)
            offer_cost(now, j, cost_at(now, j - 1) + 1, INSERT);
    }
}

/* Recomputes the rows after words from `from` on changed. */
static void fill_distance_rows(struct ter_search *s, long from)
{
    for (long i = from + 1; i <= s->hypothesis_length; i++)
        fill_distance_row(s, i, s->words[i - 1], &s->row[i - 1], &s->row[i]);
}

static long current_distance(const struct ter_search *s)
{
    return cost_at(&s->row[s->hypothesis_length], s->reference_length);
}

/* The distance of `shifted`, which equals `words` before `from`. */
static long distance_shifted(struct ter_search *s, long from)
{
    const struct distance_row *before = &s->row[from];
    for (long i = from + 1; i <= s->hypothesis_length; i++) {
        fill_distance_row(s, i, s->shifted[i - 1], before, &s->trial[i & 1]);
        before = &s->trial[i & 1];
    }
    return cost_at(before, s->reference_length);
}

/* ---- the alignment ---- */

/* Traces the matrix back into the alignment. */
static void trace_alignment(struct ter_search *s)
{
    long i = s->hypothesis_length, j = s->reference_length;
    while (i > 0 || j > 0) {
        enum operation operation = s->row[i].operation[j - s->row[i].first];
        if (operation != DELETE) {
            s->aligned[j - 1] = i - 1;
            s->wrong_reference[j] = operation != KEEP;
            j--;
        }
        if (operation != INSERT) {
            s->wrong_hypothesis[i] = operation != KEEP;
            i--;
        }
    }
    for (i = 1; i <= s->hypothesis_length; i++)
        s->wrong_hypothesis[i] += s->wrong_hypothesis[i - 1];
    for (j = 1; j <= s->reference_length; j++)
        s->wrong_reference[j] += s->wrong_reference[j - 1];
}

/* ---- shifts ---- */

struct shift {
    long gain, length, start, target;
};

/* Tercom's order: largest gain, then longest, then earliest start, then earliest target. */
static bool is_better_shift(const struct shift *a, const struct shift *b)
{
    if (b->length == 0)
        return true;
    if (a->gain != b->gain)
        return a->gain > b->gain;
    if (a->length != b->length)
        return a->length > b->length;
    return a->start != b->start ? a->start < b->start : a->target < b->target;
}

static int32_t *append_words(int32_t *out, const int32_t *words, long first, long last)
{
    return last > first
               ? (int32_t *)mempcpy(out, words + first, (size_t)(last - first) * sizeof *out)
               : out;
}

/* Writes the shifted words to `out`. Returns the first index that may differ. */
static long move_run(const struct ter_search *s, const struct shift *m, int32_t *out)
{
    long end = m->start + m->length, n = s->hypothesis_length;
    long target = m->target > end ? m->target : m->target + m->length; /* a target within the run */
    if (m->target < m->start) {
        out = append_words(out, s->words, 0, m->target);
        out = append_words(out, s->words, m->start, end);
        out = append_words(out, s->words, m->target, m->start);
        append_words(out, s->words, end, n);
        return m->target;
    }
    target = target < n ? target : n;
    out = append_words(out, s->words, 0, m->start);
    out = append_words(out, s->words, end, target);
    out = append_words(out, s->words, m->start, end);
    append_words(out, s->words, target, n);
    return m->start;
}

/* Tries all targets for the run of `length` words at `start`, which is at `there` in the reference.
 */
static void try_targets(struct ter_search *s, long start, long there, long length,
                        struct shift *best)
{
    long last = -1;
    for (long offset = -1; offset < length && there + offset < s->reference_length; offset++) {
        struct shift m = { .length = length, .start = start };
        m.target = there + offset < 0 ? 0 : s->aligned[there + offset] + 1;
        if (m.target == last)
            continue;
        last = m.target;
        m.gain = current_distance(s) - distance_shifted(s, move_run(s, &m, s->shifted));
        s->candidates++;
        if (is_better_shift(&m, best))
            *best = m;
    }
}

/* Tries the runs from `start` on that are in the reference at `there`, if both have errors and the
 * run is not already aligned there. False: MOST_CANDIDATES was reached. */
static bool try_runs(struct ter_search *s, long start, long there, struct shift *best)
{
    for (long length = 1; length <= LONGEST_SHIFT; length++) {
        if (start + length > s->hypothesis_length || there + length > s->reference_length ||
            s->words[start + length - 1] != s->reference[there + length - 1])
            return true;
        if (s->wrong_hypothesis[start + length] == s->wrong_hypothesis[start] ||
            s->wrong_reference[there + length] == s->wrong_reference[there] ||
            (s->aligned[there] >= start && s->aligned[there] < start + length))
            continue;
        try_targets(s, start, there, length, best);
        if (s->candidates >= MOST_CANDIDATES)
            return false;
    }
    return true;
}

static struct shift best_shift(struct ter_search *s)
{
    struct shift best = { .length = 0 };
    trace_alignment(s);
    for (long start = 0; start < s->hypothesis_length; start++) {
        long first = start > FARTHEST_SHIFT ? start - FARTHEST_SHIFT : 0;
        for (long there = first; there < s->reference_length && there <= start + FARTHEST_SHIFT;
             there++)
            if (!try_runs(s, start, there, &best))
                return best;
    }
    return best;
}

/* ---- search ---- */

static bool allocate_row(struct oa_arena *a, long width, struct distance_row *r)
{
    r->cost = oa_arena_take(a, (size_t)width * sizeof *r->cost);
    r->operation = oa_arena_take(a, (size_t)width);
    return r->cost && r->operation;
}

static bool allocate_rows(struct oa_arena *a, struct ter_search *s)
{
    long widest = 0, first, last;
    s->row = oa_arena_take(a, (size_t)(s->hypothesis_length + 1) * sizeof *s->row);
    if (!s->row || !allocate_row(a, s->reference_length + 1, &s->row[0]))
        return false;
    s->row[0].first = 0;
    s->row[0].last = s->reference_length + 1;
    for (long j = 0; j <= s->reference_length; j++) {
        s->row[0].cost[j] = (int32_t)j;
        s->row[0].operation[j] = INSERT;
    }
    for (long i = 1; i <= s->hypothesis_length; i++) {
        band_columns(s, i, &first, &last);
        widest = last - first > widest ? last - first : widest;
        if (!allocate_row(a, last - first, &s->row[i]))
            return false;
    }
    return allocate_row(a, widest, &s->trial[0]) && allocate_row(a, widest, &s->trial[1]);
}

static bool begin_search(struct oa_arena *a, struct ter_search *s, const int32_t *words)
{
    size_t hypothesis = (size_t)s->hypothesis_length + 1,
           reference = (size_t)s->reference_length + 1;
    s->words = oa_arena_take(a, hypothesis * sizeof *s->words);
    s->shifted = oa_arena_take(a, hypothesis * sizeof *s->shifted);
    s->aligned = oa_arena_take(a, reference * sizeof *s->aligned);
    s->wrong_reference = oa_arena_take(a, reference * sizeof *s->wrong_reference);
    s->wrong_hypothesis = oa_arena_take(a, hypothesis * sizeof *s->wrong_hypothesis);
    if (!s->words || !s->shifted || !s->aligned || !s->wrong_reference || !s->wrong_hypothesis ||
        !allocate_rows(a, s))
        return false;
    s->wrong_reference[0] = s->wrong_hypothesis[0] = 0;
    memcpy(s->words, words, (hypothesis - 1) * sizeof *words);
    return true;
}

bool oa_ter_edits(struct oa_arena *a, const struct oa_text_ids *ids, int r, long *edits)
{
    struct ter_search s = { .reference = ids->id[r],
                            .hypothesis_length = ids->length[0],
                            .reference_length = ids->length[r] };
    long shifts = 0;
    *edits = s.hypothesis_length ? s.hypothesis_length : s.reference_length;
    if (s.hypothesis_length == 0 || s.reference_length == 0)
        return true;
    if (!begin_search(a, &s, ids->id[0]))
        return false;
    fill_distance_rows(&s, 0);
    for (;;) {
        struct shift best = best_shift(&s);
        if (s.candidates >= MOST_CANDIDATES || best.length == 0 || best.gain <= 0)
            break;
        long from = move_run(&s, &best, s.shifted);
        memcpy(s.words, s.shifted, (size_t)s.hypothesis_length * sizeof *s.words);
        fill_distance_rows(&s, from);
        shifts++;
    }
    *edits = shifts + current_distance(&s);
    return true;
}
