/* SPDX-License-Identifier: Apache-2.0
 * Private to the logits engine: one worker goes through the tiles of S of one (batch item, head).
 *
 * S is never stored. Terms:
 *
 *     block            rows of queries, query_block of them
 *     tile             block × keys that it sees, at most key_block: a dense buffer of reals that
 *                      stays in the L2 cache. Its leading dimension is its width, which makes
 *                      products 10 to 20 % faster than a fixed leading dimension
 *     packed operand   a contiguous copy of rows of a (b,h), padded with rows of zeros to a
 * multiple of OA_TILE_GRANULE. Products of these are 10 to 20 % faster than of columns of [B·T,
 * H·K], have few different shapes (each costs oneDNN a compilation), and are not affected by NaN in
 * padded rows panel            OA_PANEL rows or columns of a packed operand in the order in which
 * the matrix units read them (cpu_panels.h) piece            one of disjoint parts of a sparse
 * support, dense in an order of rows of its own (cpu_pieces.c)
 *
 * Use:
 *
 *     oa_tiles_open(&t, …);
 *     oa_tiles_head(&t, b, h);                 then oa_tiles_pack_queries, oa_tiles_pack_keys
 *     if (oa_tiles_block(&t, i0, all keys))    rows i0 … i0 + query_block − 1
 *         while (oa_tiles_next(&t))
 *             factor = oa_tiles_logits(&t);    t.s has the tile of S
 */
#ifndef ORTHANT_DEVICE_CPU_CPU_LOGITS_H
#define ORTHANT_DEVICE_CPU_CPU_LOGITS_H

#include "device/cpu/cpu.h"
#include "device/support_functions.h"

#include <math.h>

enum {
    OA_TILE_GRANULE = 16,
    OA_PACKED_BLOCKS = 16 /* query blocks whose operands are packed at a time */
};

/* begin ≤ x < end; empty when begin ≥ end. */
struct oa_bounds {
    long begin, end;
};

static inline struct oa_bounds oa_bounds_cut(struct oa_bounds a, struct oa_bounds b)
{
    return (struct oa_bounds){ oa_max(a.begin, b.begin), oa_min(a.end, b.end) };
}

static inline long oa_bounds_length(struct oa_bounds s)
{
    return oa_max(0, s.end - s.begin);
}

/* Key j of query head h of batch item b in x, keys or values of `width` columns. */
static inline const void *oa_key_row(const struct oa_device *d, const struct oa_attention_shape *s,
                                     long b, long h, long j, long width, const void *x, long ld)
{
    long n = oa_key_head(s, h);
    long own = (n * s->key_head_rows + j) * width, packed = (b * s->keys + j) * ld + n * width;
    return oa_act_at(d, x, s->key_head_rows ? own : packed);
}

static inline long oa_tile_round(long n)
{
    return (n + OA_TILE_GRANULE - 1) / OA_TILE_GRANULE * OA_TILE_GRANULE;
}

/* Rows of a sequence from row `begin` on, copied (ld is the width) or in place. Where products read
 * their right operand in panels (gemm_pack), the rows are also packed in panels, once for all tiles
 * that need them. */
struct oa_packed {
    const void *x;
    long begin, width, ld;
    long rows;                /* with the zeros at the end */
    const void *pair, *tiles; /* op(B) of pair products, [width, rows]; of the others, [rows,
                                 width]; NULL: not packed */
};

/* The products for which rows are packed as right operands; a sum of both. */
enum oa_packed_side { OA_PACKED_PAIR = 1, OA_PACKED_TILES = 2 };

struct oa_tiles {
    struct oa_device *d;
    const struct oa_logits *a;
    const struct oa_support_functions *support; /* of a; NULL: every key is visible */
    struct oa_gemm_state *gemm;
    struct oa_arena *scratch;
    bool failed;   /* no memory (recorded): functions do nothing */
    bool on_tiles; /* cpu_attention_tiles.c computes the tiles */
    long query_block, key_block;

    /* the current (b,h): numbers of queries and keys that are not padding; the operands */
    long b, h, queries, keys;
    bool keys_packed; /* all visible keys of the (b,h) */
    struct oa_packed q[OA_MAX_PARTS], k[OA_MAX_PARTS], v,
        d_o; /* FOLD: q and k are rows of queries */

    /* the current query block: its real rows; the keys visible to any of them; to each row */
    struct oa_bounds rows, seen;
    long padded_rows;
    int32_t *low, *high;

    /* the current tile: its keys; those visible to each row, counted from the first key of the tile
     * */
    struct oa_bounds cols;
    long padded_cols;
    int32_t *tile_low, *tile_high;
    void *s, *part; /* real [padded_rows, padded_cols]: logits; one part of a mixture; NULL where
                       the kernels on tiles compute logits */
    void *slope;    /* with a soft cap, real like s: its derivative; NULL: not wanted */
};

/* Rows of a block of queries in tiles of at most key_block keys; work is cut at multiples of these.
 * */
long oa_tiles_query_block(const struct oa_device *d, const struct oa_logits *a, long key_block);
/* Takes the buffers for every pass; tiles have at most key_block keys. */
void oa_tiles_open(struct oa_tiles *t, struct oa_device *d, const struct oa_logits *a,
                   const struct oa_worker *w, long key_block);
/* n elements of scratch; t->failed when there is no memory. */
void *oa_tiles_take(struct oa_tiles *t, long n, size_t size);

void oa_tiles_head(struct oa_tiles *t, long b, long h);
/* Packs rows of columns h·width … of the current batch item of x [B·length, …]; rows from `real` on
 * become zeros. */
struct oa_packed oa_tiles_pack(struct oa_tiles *t, const void *x, long ld, long length,
                               struct oa_bounds rows, long real, long width);
/* The same of the values. */
struct oa_packed oa_tiles_pack_values(struct oa_tiles *t, struct oa_bounds rows, long real);
/* Prefetches rows of acts into the L2 cache, before they are read or written. */
void oa_tiles_fetch(const struct oa_tiles *t, const void *x, long ld, long rows, long width);
void oa_tiles_pack_queries(struct oa_tiles *t, struct oa_bounds rows, bool gradient);
void oa_tiles_pack_keys(struct oa_tiles *t, struct oa_bounds cols, bool gradient);
/* To be called before the queries `rows` of a head. On tiles, if they take several groups of
 * blocks, packs all keys of `cols` visible to them once; oa_tiles_pack_keys then does nothing. Not
 * with a support, with which each group sees few keys, and different ones. */
void oa_tiles_pack_all_keys(struct oa_tiles *t, struct oa_bounds rows, struct oa_bounds cols,
                            bool gradient);
/* Packs both sides of the parts whose queries and keys are tables. */
void oa_tiles_pack_tables(struct oa_tiles *t, struct oa_bounds rows, struct oa_bounds cols);

/* The keys visible to any of rows i0 … i1-1, by support, causality and length; begin is a multiple
 * of OA_TILE_GRANULE. */
struct oa_bounds oa_tiles_seen(const struct oa_tiles *t, long i0, long i1);
/* Keys of a block of keys, which all current blocks of queries go through before the next block of
 * keys: as many whole tiles as stay in the L2 cache, packed and with their sums. All of `seen` with
 * a support, with which blocks of queries see few keys, and different ones, and for weights other
 * than a softmax. */
long oa_tiles_keys_at_once(const struct oa_tiles *t, struct oa_bounds seen);
/* The largest number of rows of the current blocks of queries. */
long oa_tiles_rows_at_once(const struct oa_tiles *t);
/* Goes to the block of queries at i0, and of the keys to those `within`. False: none of them is
 * visible. */
bool oa_tiles_block(struct oa_tiles *t, long i0, struct oa_bounds within);
/* Goes to the first or next tile of the block. False: there is none. */
bool oa_tiles_next(struct oa_tiles *t);
/* For supports whose rows are not intervals: invisible logits of t->s between the bounds become −∞.
 * */
void oa_tiles_hide(struct oa_tiles *t);

/* Pairs, visible or not, in all tiles of a forward pass over a->shape with a->support without
 * padding; where cpu_attention_tiles.c computes the tiles, in the groups of OA_PANEL rows that it
 * computes. */
double oa_tiles_pairs(struct oa_device *d, const struct oa_logits *a);

/* Computes t->s: the logits are the returned factor times t->s. */
double oa_tiles_logits(struct oa_tiles *t);
/* The same in t->s or in place, rows *ld apart: the logits are *factor times the result. Only to be
 * read, and only where visible. */
const void *oa_tiles_logits_in_place(struct oa_tiles *t, double *factor, long *ld);
/* The columns of a FOLD in the current tile. */
struct oa_fold oa_tiles_fold(const struct oa_tiles *t, int part);
/* α of a part. */
double oa_tiles_alpha(const struct oa_tiles *t, int part);
/* Attention dropout of a tile of reals: masks are addressed by (b, h, i, j). */
void oa_tiles_dropout(struct oa_tiles *t, void *x);

/* The random words of the current tile: block0 and blocks_a_row of dropout_tile. */
void oa_tiles_dropout_blocks(const struct oa_tiles *t, uint64_t *block0, uint64_t *blocks_a_row);

/* A tile of reals as an operand of a product, in the buffer `act` when the types differ. */
const void *oa_tiles_act(struct oa_tiles *t, const void *tile, void *act);

/* Products of the current tile with packed operands; all results are real, and overwritten without
 * `accumulate`:
 *
 *     pair   tile         += rows · keysᵀ
 *     keys   c [rows, …]  += tile · keys
 *     rows   c [cols, …]  += tileᵀ · rows */
void oa_tiles_pair_product(struct oa_tiles *t, struct oa_packed rows, struct oa_packed keys,
                           void *tile, bool accumulate);
void oa_tiles_keys_product(struct oa_tiles *t, const void *tile, struct oa_packed keys, void *c,
                           bool accumulate);
void oa_tiles_rows_product(struct oa_tiles *t, const void *tile, struct oa_packed rows, void *c,
                           bool accumulate);

void oa_real_fill(const struct oa_device *d, long n, double value, void *x);
/* Zeros in rows of columns of a matrix. */
void oa_zero_rows(void *x, size_t row_bytes, size_t bytes, long rows);

/* Weights other than a softmax, which need a number of the whole row before its first weight. */
static inline bool oa_weighs(const struct oa_logits *a)
{
    return a->normaliser >= OA_NORMALISE_SIGMOID;
}

static inline enum oa_weighing oa_weighing_of(const struct oa_logits *a)
{
    static const enum oa_weighing kinds[] = { [OA_NORMALISE_SIGMOID] = OA_WEIGH_SIGMOID,
                                              [OA_NORMALISE_SPARSEMAX] = OA_WEIGH_SPARSEMAX,
                                              [OA_NORMALISE_ENTMAX] = OA_WEIGH_ENTMAX };
    return kinds[a->normaliser];
}

/* Whether the sum of a row of weights is fixed, so that their gradients need a sum of the row. */
static inline bool oa_weighs_sums(const struct oa_logits *a)
{
    return a->normaliser >= OA_NORMALISE_SPARSEMAX;
}

/* Scratch of the backward pass. */
static inline size_t oa_deltas_bytes(const struct oa_device *d, const struct oa_logits *a)
{
    long rows = a->shape.batch * a->shape.heads * a->shape.queries;
    return oa_weighs_sums(a) ? (size_t)rows * d->numbers.real_size : 0;
}

/* cpu_logits_weights.c: ln |V| or τ of the rows of the current block, real [padded_rows], from its
 * tiles; goes back to the first tile of the block. */
void oa_weights_open_block(struct oa_tiles *t, struct oa_bounds within, void *numbers);
/* τ of a row of n logits times `factor`, −∞ where not visible; x [n]: scratch. */
double oa_row_threshold(const struct oa_device *d, const struct oa_logits *a, const void *row,
                        long n, double factor, double *x);
/* t->s, logits divided by `factor`, become weights. */
void oa_weights_tile(struct oa_tiles *t, double factor, const void *numbers);

/* cpu_sink.c: adds the sink to a softmax that was computed without it; its gradient. */
void oa_sink_join(struct oa_device *d, const struct oa_logits *a);
void oa_sink_gradient(struct oa_device *d, const struct oa_logits *a);
static inline double oa_sink_logit(const struct oa_device *d, const struct oa_logits *a, long h)
{
    return a->normaliser == OA_NORMALISE_SINK ? oa_real_get(d, a->sink, h) : -INFINITY;
}

/* Whether a softmax with running maximum m and sum z has no keys, or only the sink. */
static inline bool oa_softmax_is_empty(double m, double z, double sink)
{
    return z == 0 || (m == sink && z == 1);
}

/* Whether the logits do not depend on the input: a table, or the product of two. */
static inline bool oa_part_given(const struct oa_logits_part *p)
{
    return p->kind == OA_PART_TABLE ||
           (p->kind == OA_PART_DOT && p->q_table && p->k_table && p->k_head_stride && !p->bias);
}

/* cpu_attention_tiles.c: whether it computes the tiles of an attention, of at most key_block keys
 * (t->on_tiles). */
bool oa_attention_on_tiles(const struct oa_device *d, const struct oa_logits *a, long key_block);
/* Whether the logits are computed there too, or before, in t->s. */
bool oa_attention_makes_logits(const struct oa_logits *a);
/* Elements from one row of dS to the next. */
static inline long oa_gradient_ld(const struct oa_tiles *t)
{
    return t->on_tiles ? oa_round_up(t->padded_cols, OA_PANEL) : t->padded_cols;
}
/* Adds the current tile: forward; backward, where g->d_o is set here. */
void oa_attention_add_tile(struct oa_tiles *t, const struct oa_attention_sums *sums);
void oa_attention_add_gradient(struct oa_tiles *t, struct oa_attention_gradient *g);
/* Sums of keys as struct oa_attention_gradient has them: stored times factor real [width] (NULL: 1)
 * in x act [rows, width]; or added times a number to x real [rows, width], with `row`, real
 * [width], as scratch. */
void oa_attention_store(const struct oa_tiles *t, const void *sums, long rows, long width,
                        const void *factor, void *x, long ld);
void oa_attention_add(const struct oa_tiles *t, const void *sums, long rows, long width,
                      double factor, void *row, void *x);

/* cpu_logits_gradient.c: takes the scratch of the backward pass for gradients of keys and values
 * that query heads share; for the plan device. */
void oa_key_gradients_take(struct oa_device *d, const struct oa_logits *a);

/* cpu_logits_row.c: whether it computes an attention of one query; n of them. */
bool oa_row_wanted(const struct oa_logits *a);
void oa_row_forward(struct oa_device *d, long n, const struct oa_logits *const *a);

/* cpu_relative.c: adds factor · the bias of their distances to the logits `s` of row i, keys begin
 * … begin+n−1. */
void oa_distances_add(struct oa_device *d, const struct oa_logits *a, long h, long i, long begin,
                      long n, double factor, void *s);
void oa_tiles_add_distances(struct oa_tiles *t,
                            double factor); /* to the current tile; nothing without a table */
/* Gradient of the biases of buckets. sums: oa_distances_bytes of doubles (0: not wanted), zeros at
 * first, one set per block of queries; dS: act, of the current tile; room: scratch for a row and a
 * column of it in reals. */
size_t oa_distances_bytes(const struct oa_device *d, const struct oa_logits *a);
void oa_tiles_distance_gradient(struct oa_tiles *t, const void *ds, void *room, double *sums);
void oa_distances_finish(struct oa_device *d, const struct oa_logits *a,
                         const double *sums); /* adds them to dbias */

/* cpu_forget.c: adds factor · (c_i − c_j) to the logits of the current tile; to the n logits of the
 * only query from key `begin` on. */
void oa_tiles_add_forgetting(struct oa_tiles *t, double factor);
void oa_forgetting_row(struct oa_device *d, const struct oa_logits *a, long b, long h, long begin,
                       long n, void *s);

/* cpu_logits_shared.c: gradients of keys and biases that are parameters, each (b,h) into sums of
 * its own. */
struct oa_shared {
    struct oa_device *d;
    const struct oa_logits *a;
    void *sums; /* real, of oa_shared_bytes; NULL: sums go to the gradients themselves */
};
bool oa_shared_wanted(const struct oa_logits *a); /* cpu_logits_gradient.c */
size_t oa_shared_bytes(const struct oa_device *d, const struct oa_logits *a);
void oa_shared_clear(const struct oa_shared *s, long b, long h);
/* The sums of a (b,h) for dk [S, K] and dbias [S]. */
void *oa_shared_keys(const struct oa_shared *s, long b, long h, int part);
void *oa_shared_bias(const struct oa_shared *s, long b, long h, int part);
void oa_shared_add(const struct oa_shared *s); /* adds the sums to the gradients */

/* cpu_tables.c: every part is given and the batch items have the same keys, so that one P serves
 * the whole batch. */
bool oa_tables_shared(const struct oa_logits *a);
void oa_tables_forward(struct oa_device *d, const struct oa_logits *a);
void oa_tables_gradient(struct oa_device *d, const struct oa_logits *a);

#endif
