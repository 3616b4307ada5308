/* SPDX-License-Identifier: Apache-2.0
 * Beam search (Graves 2012, Sutskever et al. 2014) with length normalisation (Wu et al. 2016;
 * Murray and Chiang 2018, without "length reward"). The 2·width most probable continuations of the
 * open sequences of a source are considered: of the first `width`, those with the end token are
 * finished; the first `width` without it stay open. log p is summed in double. */
#include "decode/beam.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64 }; /* logits */

/* An open sequence; its tokens are a row of the ids of its source. */
struct beam_open {
    double score;
    int row; /* in the last call of the model */
};

struct beam_candidate {
    double score;
    int parent; /* index among the open sequences of the source */
    int32_t id;
};

struct beam_source {
    struct beam_open *open;      /* [width] */
    int32_t *ids, *next;         /* [width][longest + 1] */
    int count;                   /* open sequences */
    int longest;                 /* most tokens */
    struct oa_hypothesis *ended; /* [best], ranked */
    int endings;                 /* finished sequences, including those not in `ended` */
};

struct beam_search {
    oa_context *c;
    const struct oa_beam *how;
    struct beam_source *source;
    int sources, length;              /* tokens of every open sequence */
    struct beam_candidate *candidate; /* [2·width + 1] */
    int *of, *parent;                 /* rows of the next call: source, row of the last call */
    int32_t *ids;                     /* rows of the next call: next token */
    float *logits;                    /* [rows][vocabulary] */
    double *sums;                     /* [rows] log Σ exp of these */
};

/* ---- ranks ---- */

static double hypothesis_rank(const struct oa_beam *how, double score, int tokens)
{
    return how->length_penalty == 0 ? score : score / pow(tokens, how->length_penalty);
}

/* Inserts a finished sequence among the best of its source, if it ranks high enough. */
static enum oa_error finish_hypothesis(struct beam_search *s, struct beam_source *x,
                                       const int32_t *ids, int count, double score, bool cut)
{
    struct oa_hypothesis h = { .count = count, .score = score, .cut = cut };
    int best = s->how->best, place = best;
    h.rank = hypothesis_rank(s->how, score, cut ? count : count + 1);
    x->endings++;
    while (place > 0 && (x->ended[place - 1].count < 0 || x->ended[place - 1].rank < h.rank))
        place--;
    if (place == best)
        return OA_OK;
    h.ids = oa_alloc(s->c, ((size_t)count + 1) * sizeof *h.ids);
    if (!h.ids)
        return OA_NO_MEMORY;
    memcpy(h.ids, ids, (size_t)count * sizeof *h.ids);
    oa_free(x->ended[best - 1].ids);
    memmove(&x->ended[place + 1], &x->ended[place], (size_t)(best - 1 - place) * sizeof h);
    x->ended[place] = h;
    return OA_OK;
}

/* ---- candidates ---- */

/* Keeps candidates sorted by score; ties stay in the order offered: by parent, then by id. */
static void offer_candidate(struct beam_candidate *best, int *count, int room,
                            struct beam_candidate x)
{
    int place = *count;
    while (place > 0 && best[place - 1].score < x.score)
        place--;
    if (place == room)
        return;
    if (*count < room)
        ++*count;
    memmove(&best[place + 1], &best[place], (size_t)(*count - 1 - place) * sizeof x);
    best[place] = x;
}

/* Logits up to this bound cannot enter the candidates; slightly lower than exact, since scores are
 * rounded. */
static float candidate_bound(const struct beam_search *s, int count, double score, double all)
{
    if (count < 2 * s->how->width)
        return -INFINITY;
    double worst = s->candidate[count - 1].score;
    return nextafterf(
        (float)(worst - score + all - 1e-12 * (fabs(worst) + fabs(score) + fabs(all))), -INFINITY);
}

static bool some_above(const float *logits, long n, float bound)
{
    int some = 0;
    for (long i = 0; i < n; i++)
        some |= !(logits[i] <= bound);
    return some;
}

/* Offers the logits of a row, skipping blocks without one above the bound. False: NaN or +∞. */
static bool collect_row(struct beam_search *s, const struct beam_open *from, int parent, int *count)
{
    const float *logits = s->logits + (size_t)from->row * (size_t)s->how->vocabulary;
    double all = s->sums[from->row];
    float bound = candidate_bound(s, *count, from->score, all);
    for (long first = 0; first < s->how->vocabulary; first += BLOCK) {
        long n = s->how->vocabulary - first < BLOCK ? s->how->vocabulary - first : BLOCK;
        if (!(n == BLOCK ? some_above(logits + first, BLOCK, bound)
                         : some_above(logits + first, n, bound)))
            continue;
        for (long id = first; id < first + n; id++) {
            if (isnan(logits[id]) || (double)logits[id] == (double)INFINITY)
                return false;
            if (logits[id] > bound)
                offer_candidate(s->candidate, count, 2 * s->how->width,
                                (struct beam_candidate){ from->score + ((double)logits[id] - all),
                                                         parent, (int32_t)id });
        }
        bound = candidate_bound(s, *count, from->score, all);
    }
    return isfinite(all);
}

static enum oa_error collect_candidates(struct beam_search *s, const struct beam_source *x,
                                        int *count)
{
    *count = 0;
    for (int k = 0; k < x->count; k++)
        if (!collect_row(s, &x->open[k], k, count))
            return oa_fail(s->c, OA_DIVERGED, "the model's logits after %d tokens are not finite",
                           s->length);
    return OA_OK;
}

static int32_t *sequence_at(const struct beam_source *x, int32_t *ids, int k)
{
    return ids + (size_t)k * ((size_t)x->longest + 1);
}

/* Writes candidate k as sequence i of the next step. */
static int32_t *continue_sequence(struct beam_search *s, const struct beam_source *x,
                                  const struct beam_candidate *k, int i)
{
    int32_t *to = sequence_at(x, x->next, i);
    memcpy(to, sequence_at(x, x->ids, k->parent), (size_t)s->length * sizeof *to);
    to[s->length] = k->id;
    return to;
}

/* Finishes the best candidates: no sequence stays open. */
static enum oa_error finish_at_limit(struct beam_search *s, struct beam_source *x, int count)
{
    for (int i = 0; i < count && i < s->how->width; i++) {
        const struct beam_candidate *k = &s->candidate[i];
        bool cut = k->id != s->how->end;
        OA_TRY(
            finish_hypothesis(s, x, continue_sequence(s, x, k, 0), s->length + cut, k->score, cut));
    }
    x->count = 0;
    return OA_OK;
}

/* Extends the open sequences of a source by one token. At the greatest length they are finished
 * without the end token (cut) if no sequence has finished. */
static enum oa_error advance_source(struct beam_search *s, struct beam_source *x,
                                    struct beam_open *open)
{
    int count, kept = 0, width = s->how->width;
    bool full = s->length == x->longest;
    OA_TRY(collect_candidates(s, x, &count));
    if (s->length + 1 == s->how->limit)
        return finish_at_limit(s, x, count);
    for (int i = 0; i < count && kept < width; i++) {
        const struct beam_candidate *k = &s->candidate[i];
        const int32_t *ids = sequence_at(x, x->ids, k->parent);
        if (k->id != s->how->end) {
            if (full)
                continue;
            continue_sequence(s, x, k, kept);
            open[kept++] = (struct beam_open){ k->score, x->open[k->parent].row };
        } else if (i < width || full) {
            OA_TRY(finish_hypothesis(s, x, ids, s->length, k->score, false));
        }
    }
    bool cut = full && !x->endings;
    for (int k = 0; cut && k < x->count; k++)
        OA_TRY(
            finish_hypothesis(s, x, sequence_at(x, x->ids, k), s->length, x->open[k].score, true));
    int32_t *ids = x->ids;
    x->ids = x->next;
    x->next = ids;
    memcpy(x->open, open, (size_t)kept * sizeof *open);
    x->count = kept;
    return OA_OK;
}

/* Whether no open sequence can still rank among the best: log p only decreases, so the best
 * possible rank is that of its log p at the greatest length. */
static bool source_settled(const struct beam_search *s, const struct beam_source *x)
{
    const struct oa_hypothesis *last = &x->ended[s->how->best - 1];
    int limit = s->how->limit, most = x->longest + 1;
    if (!s->how->patient)
        return x->endings >= s->how->width;
    if (last->count < 0)
        return false;
    for (int k = 0; k < x->count; k++)
        if (hypothesis_rank(s->how, x->open[k].score, limit && limit < most ? limit : most) >
            last->rank)
            return false;
    return true;
}

/* ---- the search ---- */

static int number_open_rows(struct beam_search *s)
{
    int rows = 0;
    for (int i = 0; i < s->sources; i++) {
        struct beam_source *x = &s->source[i];
        for (int k = 0; k < x->count; k++, rows++) {
            s->of[rows] = i;
            s->parent[rows] = s->length ? x->open[k].row : -1;
            s->ids[rows] = s->length ? sequence_at(x, x->ids, k)[s->length - 1] : s->how->begin;
            x->open[k].row = rows;
        }
    }
    return rows;
}

static enum oa_error run_beam_steps(struct beam_search *s, oa_beam_model *model, void *argument,
                                    struct beam_open *open)
{
    for (int rows; (rows = number_open_rows(s)) > 0; s->length++) {
        if (oa_stop_requested(s->c))
            return oa_fail(s->c, OA_INTERRUPTED, "stopped by signal %d", oa_stop_requested(s->c));
        OA_TRY(model(argument, rows, s->of, s->parent, s->ids, s->logits, s->sums));
        for (int i = 0; i < s->sources; i++) {
            struct beam_source *x = &s->source[i];
            if (x->count)
                OA_TRY(advance_source(s, x, open));
            if (x->count && source_settled(s, x))
                x->count = 0;
        }
    }
    return OA_OK;
}

static enum oa_error open_source(struct beam_search *s, struct beam_source *x, int longest,
                                 struct oa_hypothesis *out)
{
    size_t width = (size_t)s->how->width, ids = width * ((size_t)longest + 1) * sizeof(int32_t);
    *x = (struct beam_source){ .longest = longest, .ended = out, .count = 1 };
    for (int k = 0; k < s->how->best; k++)
        out[k] = (struct oa_hypothesis){ .count = -1 };
    x->open = oa_alloc(s->c, width * sizeof *x->open);
    x->ids = oa_alloc(s->c, ids);
    x->next = oa_alloc(s->c, ids);
    return x->open && x->ids && x->next ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error run_beam_search(struct beam_search *s, const int *longest,
                                     oa_beam_model *model, void *argument,
                                     struct oa_hypothesis *out)
{
    size_t rows = (size_t)s->sources * (size_t)s->how->width;
    struct beam_open *open = oa_alloc(s->c, (size_t)s->how->width * sizeof *open);
    s->candidate = oa_alloc(s->c, (2 * (size_t)s->how->width + 1) * sizeof *s->candidate);
    s->of = oa_alloc(s->c, rows * sizeof *s->of);
    s->parent = oa_alloc(s->c, rows * sizeof *s->parent);
    s->ids = oa_alloc(s->c, rows * sizeof *s->ids);
    s->logits = oa_alloc(s->c, rows * (size_t)s->how->vocabulary * sizeof *s->logits);
    s->sums = oa_alloc(s->c, rows * sizeof *s->sums);
    s->source = oa_alloc(s->c, (size_t)s->sources * sizeof *s->source);
    enum oa_error e =
        open && s->candidate && s->of && s->parent && s->ids && s->logits && s->sums && s->source
            ? OA_OK
            : OA_NO_MEMORY;
    for (int i = 0; i < s->sources && e == OA_OK; i++)
        e = open_source(s, &s->source[i], longest[i], out + (size_t)i * (size_t)s->how->best);
    if (e == OA_OK)
        e = run_beam_steps(s, model, argument, open);
    oa_free(open);
    return e;
}

enum oa_error oa_beam_search(oa_context *c, const struct oa_beam *how, int sources,
                             const int *longest, oa_beam_model *model, void *argument,
                             struct oa_hypothesis *out)
{
    struct beam_search s = { .c = c, .how = how, .sources = sources };
    memset(out, 0, (size_t)sources * (size_t)how->best * sizeof *out);
    enum oa_error e = run_beam_search(&s, longest, model, argument, out);
    for (int i = 0; i < sources && s.source; i++) {
        oa_free(s.source[i].open);
        oa_free(s.source[i].ids);
        oa_free(s.source[i].next);
    }
    oa_free(s.source);
    oa_free(s.candidate);
    oa_free(s.of);
    oa_free(s.parent);
    oa_free(s.ids);
    oa_free(s.logits);
    oa_free(s.sums);
    return e;
}

void oa_hypotheses_free(struct oa_hypothesis *h, int count)
{
    for (int i = 0; i < count; i++) {
        oa_free(h[i].ids);
        h[i].ids = NULL;
    }
}
