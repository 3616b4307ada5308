/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking over the tiles of S and filling them with logits; see cpu_logits.h. What is visible (mechanisms: support,
 * causality, lengths) is decided here and nowhere else in the logits engine: a key is skipped, never masked by adding
 * a large negative number, so an empty row stays empty and 0·∞ does not arise.
 */
#include "base/bugs.h"
#include "device/cpu/cpu.h"
#include "device/cpu/cpu_logits.h"
#include "kernels/attention_tile.h"

#include <math.h>
#include <string.h>

enum {
    EMPTY_STEP = 64, /* keys that are asked for at a time when a support knows its empty tiles */
    COUNTED = 256,   /* blocks of queries of a head that a plan looks at */
    LOT = 2,         /* tiles of keys that all blocks of queries at work meet before others */
    FEW_KEYS = 128,  /* for which heads are not worth being copied on tiles */
    AHEAD = 8        /* rows that are fetched ahead of packing: a row of [B·T, H·K] is alone in its page */
};

/* ---- memory --------------------------------------------------------------------------------------------------- */

void *oa_tiles_take(struct oa_tiles *t, long n, size_t size)
{
    void *memory = oa_arena_take(t->scratch, (size_t)n * size);
    t->failed |= !memory;
    return memory;
}

/* Numbers of a row of both sides of the FOLD that has most. */
static long longest_fold(const struct oa_logits *a)
{
    long n = 1;
    for (int c = 0; c < a->parts; c++)
        if (a->part[c].kind == OA_PART_FOLD)
            n = oa_max(n, a->part[c].width + a->part[c].folds);
    return n;
}

long oa_tiles_query_block(const struct oa_device *d, const struct oa_logits *a, long key_block)
{
    return oa_attention_on_tiles(d, a, key_block) ? OA_ATTENTION_ROWS : oa_tile_round(d->cpu->kernels.query_block);
}

void oa_tiles_open(struct oa_tiles *t, struct oa_device *d, const struct oa_logits *a, const struct oa_worker *w,
                   long key_block)
{
    *t = (struct oa_tiles){ .d = d, .a = a, .gemm = d->cpu->gemm[w->index], .scratch = w->scratch };
    t->support = oa_support_functions(&a->support);
    t->key_block = oa_tile_round(oa_min(key_block, a->shape.keys));
    t->on_tiles = oa_attention_on_tiles(d, a, t->key_block);
    t->query_block = oa_tile_round(oa_min(oa_tiles_query_block(d, a, t->key_block), a->shape.queries));
    int32_t *bounds = oa_tiles_take(t, 4 * t->query_block, sizeof *bounds);
    if (!t->on_tiles) {
        t->s = oa_tiles_take(t, t->query_block * t->key_block, d->numbers.real_size);
        t->part = oa_tiles_take(t, t->query_block * t->key_block, d->numbers.real_size);
    }
    t->fold = oa_tiles_take(t, longest_fold(a), d->numbers.real_size);
    if (t->failed)
        return;
    t->low = bounds;
    t->high = bounds + t->query_block;
    t->tile_low = bounds + 2 * t->query_block;
    t->tile_high = bounds + 3 * t->query_block;
}

/* One number, then twice as many each time. */
void oa_real_fill(const struct oa_device *d, long n, double value, void *x)
{
    if (n > 0)
        oa_real_set(d, x, 0, value);
    for (long done = 1; done < n; done *= 2)
        memcpy(oa_real_at(d, x, done), x, (size_t)oa_min(done, n - done) * d->numbers.real_size);
}

void oa_zero_rows(void *x, size_t row_bytes, size_t bytes, long rows)
{
    for (long i = 0; i < rows; i++)
        memset((char *)x + (size_t)i * row_bytes, 0, bytes);
}

/* ---- operands ------------------------------------------------------------------------------------------------- */

static long rows_of(const int32_t *lengths, long b, long length)
{
    return oa_max(OA_BUG(EMPTY_ROW_AVERAGED), oa_real_length(lengths, b, length));
}

void oa_tiles_head(struct oa_tiles *t, long b, long h)
{
    t->b = b;
    t->h = h;
    t->queries = rows_of(t->a->shape.query_lengths, b, t->a->shape.queries);
    t->keys = rows_of(t->a->shape.key_lengths, b, t->a->shape.keys);
}

/* Rows begin … end-1 of a matrix of `width` columns, followed by zeros; where they are if none are wanted and that is
 * allowed. */
static struct oa_packed pack(struct oa_tiles *t, const void *x, long ld, struct oa_span rows, long width, bool in_place)
{
    size_t size = t->d->numbers.act_size, bytes = (size_t)width * size;
    long n = oa_span_length(rows), padded = oa_tile_round(n);
    if ((ld == width || in_place) && padded == n)
        return (struct oa_packed){ .x = x, .begin = rows.begin, .width = width, .ld = ld, .rows = padded };
    char *to = oa_tiles_take(t, padded * width, size);
    if (t->failed)
        return (struct oa_packed){ 0 };
    for (long i = 0; i < n; i++) {
        for (size_t line = 0; line < bytes; line += OA_ALIGN)
            __builtin_prefetch((const char *)oa_at(x, size, (i + AHEAD) * ld) + line);
        memcpy(to + (size_t)i * bytes, oa_at(x, size, i * ld), bytes);
    }
    memset(to + (size_t)n * bytes, 0, (size_t)(padded - n) * bytes);
    return (struct oa_packed){ .x = to, .begin = rows.begin, .width = width, .ld = width, .rows = padded };
}

/* op(B) of shape g in panels. */
static const void *panels(struct oa_tiles *t, const struct oa_gemm *g, const void *b)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    void *to = oa_tiles_take(t, (long)k->gemm_packed_bytes(g), 1);
    if (to)
        k->gemm_pack(g, &(struct oa_gemm_part){ .rows = g->k, .cols = g->n }, b, to);
    return to;
}

static void pack_panels(struct oa_tiles *t, struct oa_packed *p, int sides)
{
    if (!t->d->cpu->kernels.gemm_part || t->failed || p->rows == 0)
        return;
    if (sides & OA_PACKED_PAIR)
        p->pair = panels(t, &(struct oa_gemm){ .n = p->rows, .k = p->width, .ldb = p->ld, .tb = true }, p->x);
    if (sides & OA_PACKED_TILES)
        p->tiles = panels(t, &(struct oa_gemm){ .n = p->width, .k = p->rows, .ldb = p->ld }, p->x);
}

/* Rows of columns h·width … of the batch item at work of x [B·length, …]; rows from `real` on are packed as zeros. */
static struct oa_packed pack_head(struct oa_tiles *t, const void *x, long ld, long length, struct oa_span rows,
                                  long real, long width, bool in_place)
{
    struct oa_span kept = { rows.begin, oa_max(rows.begin, oa_min(rows.end, real)) };
    long first = (t->b * length + rows.begin) * ld + t->h * width, heads = t->a->shape.heads;
    if (OA_BUG(HEADS_AND_TOKENS_SWAPPED))
        return pack(t, oa_act_at(t->d, x, ((t->b * heads + t->h) * length + rows.begin) * width), width, kept, width,
                    false);
    return pack(t, oa_act_at(t->d, x, first), ld, kept, width, in_place);
}

struct oa_packed oa_tiles_pack(struct oa_tiles *t, const void *x, long ld, long length, struct oa_span rows, long real,
                               long width)
{
    return pack_head(t, x, ld, length, rows, real, width, false);
}

/* Row 0 of a table of queries is that of position 0. */
static const void *query_table(const struct oa_tiles *t, const struct oa_part *p)
{
    return oa_act_at(t->d, p->q, t->a->shape.first * p->width);
}

static struct oa_packed pack_table(struct oa_tiles *t, const void *x, long head_stride, struct oa_span rows, long real,
                                   long width)
{
    struct oa_span kept = { rows.begin, oa_max(rows.begin, oa_min(rows.end, real)) };
    return pack(t, oa_act_at(t->d, x, t->h * head_stride + rows.begin * width), OA_BUG(ONE_ROW_FOR_ALL) ? 0 : width,
                kept, width, false);
}

void oa_tiles_pack_tables(struct oa_tiles *t, struct oa_span rows, struct oa_span cols)
{
    for (int c = 0; c < t->a->parts; c++) {
        const struct oa_part *p = &t->a->part[c];
        if (!p->q_table || !p->k_table)
            continue;
        t->q[c] = pack_table(t, query_table(t, p), p->q_head_stride, rows, t->queries, p->width);
        t->k[c] = pack_table(t, p->k, p->k_head_stride, cols, t->keys, p->width);
    }
}

/* Short sequences are read where they are on tiles: queries meet few keys, and keys go to panels from the L2 cache. */
static bool stay(const struct oa_tiles *t)
{
    return t->on_tiles && t->a->shape.keys <= FEW_KEYS;
}

void oa_tiles_pack_queries(struct oa_tiles *t, struct oa_span rows, bool gradient)
{
    const struct oa_logits *a = t->a;
    for (int c = 0; c < a->parts; c++) {
        const struct oa_part *p = &a->part[c];
        if (p->q_table)
            t->q[c] = pack_table(t, query_table(t, p), p->q_head_stride, rows, t->queries, p->width);
        else if (p->q)
            t->q[c] = pack_head(t, p->q, p->ldq, a->shape.queries, rows, t->queries, p->width, stay(t));
        if (p->kind == OA_PART_FOLD)
            t->k[c] = oa_tiles_pack(t, p->k, p->ldk, a->shape.queries, rows, t->queries, p->folds);
        if (gradient && p->kind == OA_PART_DOT && !t->on_tiles)
            pack_panels(t, &t->q[c], OA_PACKED_TILES);
    }
    if (gradient) {
        t->d_o = pack_head(t, a->d_o, a->ldo, a->shape.queries, rows, t->queries, a->shape.value_width, stay(t));
        if (!t->on_tiles)
            pack_panels(t, &t->d_o, OA_PACKED_TILES);
    }
}

void oa_tiles_pack_keys(struct oa_tiles *t, struct oa_span cols, bool gradient)
{
    const struct oa_logits *a = t->a;
    for (int c = 0; c < a->parts; c++) {
        const struct oa_part *p = &a->part[c];
        if (p->kind != OA_PART_DOT)
            continue;
        t->k[c] = p->k_table ? pack_table(t, p->k, p->k_head_stride, cols, t->keys, p->width)
                             : pack_head(t, p->k, p->ldk, a->shape.keys, cols, t->keys, p->width, stay(t));
        pack_panels(t, &t->k[c], gradient ? OA_PACKED_PAIR | OA_PACKED_TILES : OA_PACKED_PAIR);
    }
    t->v = pack_head(t, a->v, a->ldv, a->shape.keys, cols, t->keys, a->shape.value_width, stay(t));
    pack_panels(t, &t->v, gradient ? OA_PACKED_PAIR : OA_PACKED_TILES);
}

/* ---- what is visible ------------------------------------------------------------------------------------------ */

struct oa_span oa_tiles_seen(const struct oa_tiles *t, long i0, long i1)
{
    const struct oa_logits *a = t->a;
    long first = a->shape.first;
    struct oa_span seen = { 0, a->shape.causal ? oa_min(t->keys, first + i1) : t->keys }, range = seen;
    if (t->support)
        t->support->range(&a->support, &a->shape, t->h, first + i0, first + i1, &range.begin, &range.end);
    seen = oa_span_cut(seen, range);
    seen.begin = seen.begin / OA_TILE_GRANULE * OA_TILE_GRANULE;
    return seen;
}

long oa_tiles_keys_at_once(const struct oa_tiles *t, struct oa_span seen)
{
    return t->support ? oa_max(1, oa_span_length(seen)) : LOT * t->key_block;
}

long oa_tiles_rows_at_once(const struct oa_tiles *t)
{
    return oa_min(OA_PACKED_BLOCKS * t->d->cpu->kernels.query_block, oa_tile_round(t->a->shape.queries));
}

static struct oa_span row_sees(const struct oa_tiles *t, long i)
{
    const struct oa_logits *a = t->a;
    struct oa_span sees = t->seen, row = sees;
    long position = a->shape.first + i - (OA_BUG(DECODING_SHIFT) && a->shape.first > 0);
    if (t->support && t->support->row)
        t->support->row(&a->support, &a->shape, t->h, position, &row.begin, &row.end);
    if (a->shape.causal && !OA_BUG(CAUSAL_MASK_DROPPED))
        row.end = oa_min(row.end, position + 1);
    return oa_span_cut(sees, row);
}

static void go_to_block(struct oa_tiles *t, long i0, struct oa_span within)
{
    t->rows = (struct oa_span){ i0, oa_max(i0, oa_min(i0 + t->query_block, t->queries)) };
    t->padded_rows = oa_tile_round(oa_span_length(t->rows));
    t->seen = oa_span_cut(oa_tiles_seen(t, t->rows.begin, t->rows.end), within);
    t->cols = (struct oa_span){ t->seen.begin, t->seen.begin };
}

bool oa_tiles_block(struct oa_tiles *t, long i0, struct oa_span within)
{
    go_to_block(t, i0, within);
    long rows = oa_span_length(t->rows);
    if (rows == 0 || oa_span_length(t->seen) == 0)
        return false;
    for (long i = 0; i < t->padded_rows; i++) {
        struct oa_span sees = i < rows ? row_sees(t, i0 + i) : (struct oa_span){ 0, 0 };
        t->low[i] = (int32_t)sees.begin;
        t->high[i] = (int32_t)sees.end;
    }
    return true;
}

/* End of the piece of a row of tiles that starts at j and is asked for at once. */
static long step_end(const struct oa_tiles *t, long j)
{
    return oa_min((j / EMPTY_STEP + 1) * EMPTY_STEP, t->seen.end);
}

static bool step_empty(const struct oa_tiles *t, long j)
{
    const struct oa_logits *a = t->a;
    long first = a->shape.first;
    return t->support->empty(&a->support, &a->shape, t->h, first + t->rows.begin, first + t->rows.end, j,
                             step_end(t, j));
}

/* The next tile: as many keys as fit; with a support that knows its empty tiles, up to the next of these. */
static struct oa_span next_cols(const struct oa_tiles *t)
{
    long j = t->cols.end, end = oa_min(j + t->key_block, t->seen.end);
    if (!t->support || !t->support->empty)
        return (struct oa_span){ j, end };
    while (j < t->seen.end && step_empty(t, j))
        j = step_end(t, j);
    long last = oa_min(j + t->key_block, t->seen.end), e = j;
    while (e < last && !step_empty(t, e))
        e = step_end(t, e);
    return (struct oa_span){ j, oa_min(e, last) };
}

/* Columns of the tile at work that are made for rows i … end − 1, a group: as many whole panels as hold what any of
 * them sees. */
static long group_cols(const struct oa_tiles *t, long i, long end)
{
    struct oa_span see = oa_span_cut(oa_tiles_seen(t, i, oa_min(end, t->rows.end)), t->cols);
    if (oa_span_length(see) == 0)
        return 0;
    long first = (see.begin - t->cols.begin) / OA_PANEL * OA_PANEL;
    return oa_min(oa_round_up(see.end - t->cols.begin, OA_PANEL), oa_tile_round(oa_span_length(t->cols))) - first;
}

/* Of the tile at work: all of it, or of each group of rows what the kernels of cpu_attention_tiles.c make. */
static double tile_pairs(const struct oa_tiles *t)
{
    double pairs = 0;
    if (!t->on_tiles)
        return (double)(t->padded_rows * oa_tile_round(oa_span_length(t->cols)));
    for (long i = 0; i < t->padded_rows; i += OA_PANEL) {
        long rows = oa_min(OA_PANEL, t->padded_rows - i), first = t->rows.begin + i;
        pairs += (double)(rows * group_cols(t, first, first + rows));
    }
    return pairs;
}

/* Of one block of queries. */
static double block_pairs(struct oa_tiles *t, long i0)
{
    double pairs = 0;
    go_to_block(t, i0, (struct oa_span){ 0, t->keys });
    for (t->cols = next_cols(t); oa_span_length(t->cols) > 0; t->cols = next_cols(t))
        pairs += tile_pairs(t);
    return pairs;
}

/* From twice COUNTED blocks of queries on, every so manyth stands for its neighbours: tiles of a million tokens are too
 * many to be walked one by one. */
double oa_tiles_pairs(struct oa_device *d, const struct oa_logits *a)
{
    struct oa_tiles t = { .d = d, .a = a, .queries = a->shape.queries, .keys = a->shape.keys };
    t.support = oa_support_functions(&a->support);
    double pairs = 0, counted = 0;
    t.key_block = oa_tile_round(oa_min(d->cpu->kernels.key_block, t.keys));
    t.on_tiles = oa_attention_on_tiles(d, a, t.key_block);
    t.query_block = oa_tile_round(oa_min(oa_tiles_query_block(d, a, t.key_block), t.queries));
    long blocks = oa_blocks(t.queries, t.query_block), step = oa_max(1, blocks / COUNTED);
    for (t.h = 0; t.h < a->shape.heads; t.h++) {
        for (long b = step / 2; b < blocks && !oa_stop_requested(d->context); b += step, counted++)
            pairs += block_pairs(&t, b * t.query_block);
    }
    double all = (double)(blocks * a->shape.heads);
    return counted > 0 ? pairs * (all / counted) * (double)a->shape.batch : 0;
}

static int32_t within_tile(long key, struct oa_span cols)
{
    return (int32_t)(oa_max(cols.begin, oa_min(key, cols.end)) - cols.begin);
}

bool oa_tiles_next(struct oa_tiles *t)
{
    struct oa_span cols = next_cols(t);
    if (oa_span_length(cols) == 0)
        return false; /* and stays where it is */
    t->cols = cols;
    t->padded_cols = oa_tile_round(oa_span_length(t->cols));
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
    long row = t->a->shape.first + t->rows.begin + i, from = t->cols.begin, last = from + t->tile_high[i];
    for (long j = from + t->tile_low[i], end; j < last; j = end) {
        end = f->alike ? f->alike(s, &t->a->shape, t->h, row, j, last) : j + 1;
        if (!f->visible(s, &t->a->shape, t->h, row, j))
            oa_real_fill(t->d, end - j, -INFINITY, oa_real_at(t->d, t->s, i * t->padded_cols + j - from));
    }
}

/* Supports whose rows are not intervals: what is between the bounds and not visible gets a logit of −∞. */
static void hide_invisible(struct oa_tiles *t)
{
    const struct oa_support_functions *f = t->support;
    const struct oa_support *s = &t->a->support;
    long first = t->a->shape.first + t->rows.begin, end = t->a->shape.first + t->rows.end;
    if (!f || f->row || !f->visible)
        return;
    if (f->full && f->full(s, &t->a->shape, t->h, first, end, t->cols.begin, t->cols.end))
        return;
    for (long i = 0; i < oa_span_length(t->rows); i++)
        hide_in_row(t, i);
}

/* ---- products ------------------------------------------------------------------------------------------------- */

static const void *packed_row(const struct oa_tiles *t, struct oa_packed p, long row)
{
    return oa_act_at(t->d, p.x, (row - p.begin) * p.ld);
}

/* Panels of p from row `row` on, `bytes` a step of rows; NULL where there are none or the row lies within a step. */
static const void *panels_from(const void *panels, long row, size_t bytes)
{
    return panels && row % OA_PANEL == 0 ? (const char *)panels + (size_t)(row / OA_PANEL) * bytes : NULL;
}

static void multiply(struct oa_tiles *t, const struct oa_gemm *g, const void *a, const void *b, const void *panels,
                     void *c)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    if (panels)
        k->gemm_part(t->gemm, g, &(struct oa_gemm_part){ .rows = g->m, .cols = g->n }, a, b, panels, c);
    else
        k->gemm(t->gemm, g, a, b, c);
}

/* The right operand of a pair product, rows from `row` on. */
static const void *pair_panels(const struct oa_tiles *t, const struct oa_packed *p, long row)
{
    if (!p->pair)
        return NULL;
    size_t bytes = t->d->cpu->kernels.gemm_packed_bytes(&(struct oa_gemm){ .n = OA_PANEL, .k = p->width });
    return panels_from(p->pair, row - p->begin, bytes);
}

/* … of the others, k rows. What follows them in the last step of k may be anything, NaN as well, unless it is zeros. */
static const void *tile_panels(const struct oa_tiles *t, const struct oa_packed *p, long row, long k)
{
    if (!p->tiles || (k % OA_PANEL && row - p->begin + k < p->rows))
        return NULL;
    size_t bytes = t->d->cpu->kernels.gemm_packed_bytes(&(struct oa_gemm){ .n = OA_PANEL, .k = OA_PANEL });
    return panels_from(p->tiles, row - p->begin, bytes);
}

void oa_tiles_pair_product(struct oa_tiles *t, struct oa_packed rows, struct oa_packed keys, void *tile,
                           bool accumulate)
{
    struct oa_gemm g = { .m = t->padded_rows,
                         .n = t->padded_cols,
                         .k = rows.width,
                         .lda = rows.ld,
                         .ldb = keys.ld,
                         .ldc = t->padded_cols,
                         .tb = true,
                         .accumulate = accumulate,
                         .real_out = true };
    multiply(t, &g, packed_row(t, rows, t->rows.begin), packed_row(t, keys, t->cols.begin),
             pair_panels(t, &keys, t->cols.begin), tile);
}

void oa_tiles_keys_product(struct oa_tiles *t, const void *tile, struct oa_packed keys, void *c, bool accumulate)
{
    struct oa_gemm g = { .m = t->padded_rows,
                         .n = keys.width,
                         .k = t->padded_cols,
                         .lda = t->padded_cols,
                         .ldb = keys.ld,
                         .ldc = keys.width,
                         .accumulate = accumulate,
                         .real_out = true,
                         .packed_k = keys.rows };
    multiply(t, &g, tile, packed_row(t, keys, t->cols.begin), tile_panels(t, &keys, t->cols.begin, g.k), c);
}

void oa_tiles_rows_product(struct oa_tiles *t, const void *tile, struct oa_packed rows, void *c, bool accumulate)
{
    struct oa_gemm g = { .m = t->padded_cols,
                         .n = rows.width,
                         .k = t->padded_rows,
                         .lda = t->padded_cols,
                         .ldb = rows.ld,
                         .ldc = rows.width,
                         .ta = true,
                         .accumulate = accumulate,
                         .real_out = true,
                         .packed_k = rows.rows };
    multiply(t, &g, tile, packed_row(t, rows, t->rows.begin), tile_panels(t, &rows, t->rows.begin, g.k), c);
}

const void *oa_tiles_act(struct oa_tiles *t, const void *tile, void *act)
{
    const struct oa_kernels *k = &t->d->cpu->kernels;
    if (k->act == k->real)
        return tile;
    k->act_from_real(t->padded_rows * t->padded_cols, tile, act);
    return act;
}

/* ---- logits --------------------------------------------------------------------------------------------------- */

double oa_tiles_alpha(const struct oa_tiles *t, int part)
{
    return t->a->alpha ? oa_real_get(t->d, t->a->alpha, t->h * t->a->parts + part) : 1;
}

/* Every row of s += factor · a row of reals that starts at `row`, `step` elements further for the next one. */
static void add_rows(struct oa_tiles *t, double factor, const void *row, long step, void *s)
{
    for (long i = 0; i < oa_span_length(t->rows); i++)
        t->d->cpu->kernels.axpy(oa_span_length(t->cols), factor, oa_real_at(t->d, row, i * step),
                                oa_real_at(t->d, s, i * t->padded_cols));
}

static void add_bias(struct oa_tiles *t, const struct oa_part *p, double factor)
{
    if (p->bias)
        add_rows(t, factor, oa_real_at(t->d, p->bias, t->h * p->bias_head_stride + t->cols.begin), 0, t->s);
}

static const void *table_corner(const struct oa_tiles *t, const struct oa_part *p)
{
    long n = OA_BUG(TABLE_CUT_FLAT) ? t->a->shape.keys : p->table_length, row = t->a->shape.first + t->rows.begin;
    return oa_real_at(t->d, p->table, (t->h * n + row) * n + t->cols.begin);
}

void oa_tiles_fold_row(struct oa_tiles *t, int part, long i)
{
    const struct oa_part *p = &t->a->part[part];
    long row = t->rows.begin + i;
    t->d->cpu->kernels.real_from_act(p->width, packed_row(t, t->q[part], row), t->fold);
    t->d->cpu->kernels.real_from_act(p->folds, packed_row(t, t->k[part], row), oa_real_at(t->d, t->fold, p->width));
}

bool oa_tiles_fold_next(const struct oa_tiles *t, int part, struct oa_fold_run *run)
{
    long width = t->a->part[part].width, j = run->n ? run->j + run->n : t->cols.begin;
    *run = (struct oa_fold_run){ .j = j, .fold = j / width, .first = j % width };
    if (OA_BUG(TILED_TWICE))
        run->fold = j % t->a->part[part].folds;
    run->n = oa_max(0, oa_min(OA_BUG(TILED_TWICE) ? 1 : width - run->first, t->cols.end - j));
    return run->n > 0;
}

/* s += factor · a FOLD: a fold of the row is k_i[fold] times a piece of q_i. */
static void add_fold(struct oa_tiles *t, int c, double factor)
{
    struct oa_device *d = t->d;
    long width = t->a->part[c].width;
    for (long i = 0; i < oa_span_length(t->rows); i++) {
        oa_tiles_fold_row(t, c, i);
        for (struct oa_fold_run run = { 0 }; oa_tiles_fold_next(t, c, &run);)
            d->cpu->kernels.axpy(run.n, factor * oa_real_get(d, t->fold, width + run.fold),
                                 oa_real_at(d, t->fold, run.first),
                                 oa_real_at(d, t->s, i * t->padded_cols + run.j - t->cols.begin));
    }
}

/* What the product or the table of a part is multiplied by. */
static double part_factor(const struct oa_tiles *t, int c)
{
    const struct oa_part *p = &t->a->part[c];
    return oa_tiles_alpha(t, c) * (p->kind == OA_PART_DOT ? p->scale : 1);
}

/* s += part / base */
static void add_part(struct oa_tiles *t, int c, double base)
{
    const struct oa_part *p = &t->a->part[c];
    double factor = part_factor(t, c) / base;
    if (p->kind == OA_PART_TABLE) {
        add_rows(t, factor, table_corner(t, p), p->table_length, t->s);
        return;
    }
    if (p->kind == OA_PART_FOLD) {
        add_fold(t, c, factor);
        return;
    }
    oa_tiles_pair_product(t, t->q[c], t->k[c], t->part, false);
    t->d->cpu->kernels.axpy(t->padded_rows * t->padded_cols, factor, t->part, t->s);
    add_bias(t, p, oa_tiles_alpha(t, c) / base);
}

/* s = the first part / base, where base is its factor: no pass over the tile. */
static void put_first_part(struct oa_tiles *t, double base)
{
    const struct oa_part *p = &t->a->part[0];
    size_t size = t->d->numbers.real_size;
    if (p->kind == OA_PART_DOT) {
        oa_tiles_pair_product(t, t->q[0], t->k[0], t->s, false);
        add_bias(t, p, oa_tiles_alpha(t, 0) / base);
        return;
    }
    for (long i = 0; i < oa_span_length(t->rows); i++)
        memcpy(oa_real_at(t->d, t->s, i * t->padded_cols), oa_real_at(t->d, table_corner(t, p), i * p->table_length),
               (size_t)oa_span_length(t->cols) * size);
}

/* The factor of the first part is left to the softmax, which multiplies by one anyway, and the others are divided by
 * it. Not when it is so small that they would grow large, nor below 0, where hide_invisible's −∞ would become +∞. */
double oa_tiles_logits(struct oa_tiles *t)
{
    const double least = 1e-6;
    double base = part_factor(t, 0);
    int first = base > least && t->a->part[0].kind != OA_PART_FOLD;
    if (first)
        put_first_part(t, base);
    else
        memset(t->s, 0, (size_t)(t->padded_rows * t->padded_cols) * t->d->numbers.real_size);
    base = first ? base : 1;
    for (int c = first; c < t->a->parts; c++)
        add_part(t, c, base);
    oa_tiles_add_distances(t, 1 / base);
    hide_invisible(t);
    return base;
}

void oa_tiles_dropout_blocks(const struct oa_tiles *t, uint64_t *block0, uint64_t *blocks_a_row)
{
    const struct oa_attention_shape *s = &t->a->shape;
    uint64_t row = (uint64_t)((t->b * s->heads + t->h) * s->queries + t->rows.begin);
    *blocks_a_row = oa_dropout_stride(s->keys) / 4;
    *block0 = row * *blocks_a_row + (uint64_t)t->cols.begin / 4;
}

void oa_tiles_dropout(struct oa_tiles *t, void *x)
{
    uint64_t block0, blocks_a_row;
    if (t->a->keep >= 1)
        return;
    oa_tiles_dropout_blocks(t, &block0, &blocks_a_row);
    t->d->cpu->kernels.dropout_tile(t->padded_rows, t->padded_cols, t->a->dropout, block0, blocks_a_row, t->a->keep, x,
                                    t->padded_cols);
}
