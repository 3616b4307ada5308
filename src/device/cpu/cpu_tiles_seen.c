/* SPDX-License-Identifier: Apache-2.0
 * Goes through the tiles of S; see cpu_logits.h. Visibility (support, causality, lengths) is
 * decided only here in the logits engine: invisible keys are skipped, never masked by adding a
 * large negative number, so that an empty row stays empty and 0·∞ does not occur. */
#include "device/cpu/cpu_logits.h"

#include <math.h>

enum {
    EMPTY_STEP = 64, /* keys per test for empty tiles of a support */
    COUNTED = 256,   /* blocks of queries per head that the plan counts */
    KEY_TILES = 2    /* tiles of a block of keys (oa_tiles_keys_at_once) */
};

struct oa_bounds oa_tiles_seen(const struct oa_tiles *t, long i0, long i1)
{
    const struct oa_logits *a = t->a;
    long first = a->shape.first;
    struct oa_bounds seen = { 0, a->shape.causal ? oa_min(t->keys, first + i1) : t->keys },
                     range = seen;
    if (t->support)
        t->support->range(&a->support, &a->shape, t->h, first + i0, first + i1, &range.begin,
                          &range.end);
    seen = oa_bounds_cut(seen, range);
    seen.begin = seen.begin / OA_TILE_GRANULE * OA_TILE_GRANULE;
    return seen;
}

long oa_tiles_keys_at_once(const struct oa_tiles *t, struct oa_bounds seen)
{
    bool all = t->support || oa_weighs(t->a);
    return all ? oa_max(1, oa_bounds_length(seen)) : KEY_TILES * t->key_block;
}

long oa_tiles_rows_at_once(const struct oa_tiles *t)
{
    return oa_min(OA_PACKED_BLOCKS * t->d->cpu->kernels.query_block,
                  oa_tile_round(t->a->shape.queries));
}

static struct oa_bounds row_sees(const struct oa_tiles *t, long i)
{
    const struct oa_logits *a = t->a;
    struct oa_bounds sees = t->seen, row = sees;
    long position = a->shape.first + i;
    if (t->support && t->support->row)
        t->support->row(&a->support, &a->shape, t->h, position, &row.begin, &row.end);
    if (a->shape.causal)
        row.end = oa_min(row.end, position + 1);
    return oa_bounds_cut(sees, row);
}

static void go_to_block(struct oa_tiles *t, long i0, struct oa_bounds within)
{
    t->rows = (struct oa_bounds){ i0, oa_max(i0, oa_min(i0 + t->query_block, t->queries)) };
    t->padded_rows = oa_tile_round(oa_bounds_length(t->rows));
    t->seen = oa_bounds_cut(oa_tiles_seen(t, t->rows.begin, t->rows.end), within);
    t->cols = (struct oa_bounds){ t->seen.begin, t->seen.begin };
}

bool oa_tiles_block(struct oa_tiles *t, long i0, struct oa_bounds within)
{
    go_to_block(t, i0, within);
    long rows = oa_bounds_length(t->rows);
    if (rows == 0 || oa_bounds_length(t->seen) == 0)
        return false;
    for (long i = 0; i < t->padded_rows; i++) {
        struct oa_bounds sees = i < rows ? row_sees(t, i0 + i) : (struct oa_bounds){ 0, 0 };
        t->low[i] = (int32_t)sees.begin;
        t->high[i] = (int32_t)sees.end;
    }
    return true;
}

/* End of the step of a row of tiles that begins at j. */
static long step_end(const struct oa_tiles *t, long j)
{
    return oa_min((j / EMPTY_STEP + 1) * EMPTY_STEP, t->seen.end);
}

static bool step_empty(const struct oa_tiles *t, long j)
{
    const struct oa_logits *a = t->a;
    long first = a->shape.first;
    return t->support->empty(&a->support, &a->shape, t->h, first + t->rows.begin,
                             first + t->rows.end, j, step_end(t, j));
}

/* The next tile: as many keys as fit, or, with a support with empty tiles, up to the next of these.
 * */
static struct oa_bounds next_cols(const struct oa_tiles *t)
{
    long j = t->cols.end, end = oa_min(j + t->key_block, t->seen.end);
    if (!t->support || !t->support->empty)
        return (struct oa_bounds){ j, end };
    while (j < t->seen.end && step_empty(t, j))
        j = step_end(t, j);
    long last = oa_min(j + t->key_block, t->seen.end), e = j;
    while (e < last && !step_empty(t, e))
        e = step_end(t, e);
    return (struct oa_bounds){ j, oa_min(e, last) };
}

/* Columns of the current tile that are computed for rows i … end − 1, a group: the panels that
 * contain visible keys of any of them. */
static long group_cols(const struct oa_tiles *t, long i, long end)
{
    struct oa_bounds see = oa_bounds_cut(oa_tiles_seen(t, i, oa_min(end, t->rows.end)), t->cols);
    if (oa_bounds_length(see) == 0)
        return 0;
    long first = (see.begin - t->cols.begin) / OA_PANEL * OA_PANEL;
    return oa_min(oa_round_up(see.end - t->cols.begin, OA_PANEL),
                  oa_tile_round(oa_bounds_length(t->cols))) -
           first;
}

/* Pairs of the current tile: all, or per group of rows those that the kernels of
 * cpu_attention_tiles.c compute. */
static double tile_pairs(const struct oa_tiles *t)
{
    double pairs = 0;
    if (!t->on_tiles)
        return (double)(t->padded_rows * oa_tile_round(oa_bounds_length(t->cols)));
    for (long i = 0; i < t->padded_rows; i += OA_PANEL) {
        long rows = oa_min(OA_PANEL, t->padded_rows - i), first = t->rows.begin + i;
        pairs += (double)(rows * group_cols(t, first, first + rows));
    }
    return pairs;
}

/* With twice COUNTED blocks of queries or more, a regular sample of them is counted, because a
 * million tokens have too many tiles. */
double oa_tiles_pairs(struct oa_device *d, const struct oa_logits *a)
{
    struct oa_tiles t = { .d = d, .a = a, .queries = a->shape.queries, .keys = a->shape.keys };
    t.support = oa_support_functions_of(&a->support);
    double pairs = 0, counted = 0;
    t.key_block = oa_tile_round(oa_min(d->cpu->kernels.key_block, t.keys));
    t.on_tiles = oa_attention_on_tiles(d, a, t.key_block);
    t.query_block = oa_tile_round(oa_min(oa_tiles_query_block(d, a, t.key_block), t.queries));
    long blocks = oa_blocks(t.queries, t.query_block), step = oa_max(1, blocks / COUNTED);
    for (t.h = 0; t.h < a->shape.heads; t.h++) {
        for (long b = step / 2; b < blocks && !oa_stop_requested(d->context);
             b += step, counted++) {
            go_to_block(&t, b * t.query_block, (struct oa_bounds){ 0, t.keys });
            for (t.cols = next_cols(&t); oa_bounds_length(t.cols) > 0; t.cols = next_cols(&t))
                pairs += tile_pairs(&t);
        }
    }
    double all = (double)(blocks * a->shape.heads);
    return counted > 0 ? pairs * (all / counted) * (double)a->shape.batch : 0;
}

static int32_t within_tile(long key, struct oa_bounds cols)
{
    return (int32_t)(oa_max(cols.begin, oa_min(key, cols.end)) - cols.begin);
}

bool oa_tiles_next(struct oa_tiles *t)
{
    struct oa_bounds cols = next_cols(t);
    if (oa_bounds_length(cols) == 0)
        return false; /* and does not move */
    t->cols = cols;
    t->padded_cols = oa_tile_round(oa_bounds_length(t->cols));
    for (long i = 0; i < t->padded_rows; i++) {
        t->tile_low[i] = within_tile(t->low[i], t->cols);
        t->tile_high[i] = within_tile(t->high[i], t->cols);
    }
    return true;
}

static void hide_in_row(struct oa_tiles *t, long i)
{
    const struct oa_support_functions *f = t->support;
    const struct oa_support *s = &t->a->support;
    long row = t->a->shape.first + t->rows.begin + i, from = t->cols.begin,
         last = from + t->tile_high[i];
    for (long j = from + t->tile_low[i], end; j < last; j = end) {
        end = f->alike ? f->alike(s, &t->a->shape, t->h, row, j, last) : j + 1;
        if (!f->visible(s, &t->a->shape, t->h, row, j))
            oa_real_fill(t->d, end - j, -INFINITY,
                         oa_real_at(t->d, t->s, i * t->padded_cols + j - from));
    }
}

void oa_tiles_hide(struct oa_tiles *t)
{
    const struct oa_support_functions *f = t->support;
    const struct oa_support *s = &t->a->support;
    long first = t->a->shape.first + t->rows.begin, end = t->a->shape.first + t->rows.end;
    if (!f || f->row || !f->visible)
        return;
    if (f->full && f->full(s, &t->a->shape, t->h, first, end, t->cols.begin, t->cols.end))
        return;
    for (long i = 0; i < oa_bounds_length(t->rows); i++)
        hide_in_row(t, i);
}
